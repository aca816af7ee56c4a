"""Packed elements to test repacks with: digits in any order, named orders, and what a copy should leave in memory."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

import relayout as rl

BITS = (1, 2, 4, 8)
ORDERS = {
    8: ("0 1 / 0,4", "0 1 / 1,8@1 0,4@2 1,8@8 0,2@1 0,2@8", "1 0 / 1,2 0,4 0,8@1 0,2@8", "0 1 / 1,8@1 1,8@8", "1 0"),
    4: (
        "0 1 / 0,8",
        "0 1 / 1,2@1 1,4@2",
        "0 1 / 1,8@1 0,4@2 1,4@16 0,2@1 1,2@8 0,2@8",
        "1 0 / 1,4 0,2 0,8@1 0,4@8",
        "1 0 / 0,16@1 0,2@16",
        "1 0 / 0,2@8 1,8 0,8@1 0,2@16",
        "1 0 / 1,8 0,4@2 0,4@32 0,2@1 0,4@8",
        "0 1",
        "1 0",
    ),
    2: ("0 1 / 0,16", "1 0 / 0,32@1 0,4@32", "1 0 / 1,16 0,4@1 0,4@4", "0 1", "1 0"),
    1: ("0 1 / 0,32", "1 0 / 0,32", "0 1", "1 0"),
}
"""Formats of axes (k, n), by the bits of an element."""


def codes_of(data: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """The elements of packed bytes, the lowest bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return (np.asarray(data).reshape(-1).view(np.uint8)[:, None] >> shifts & np.uint8((1 << bits) - 1)).reshape(-1)


def expected(x: NDArray[Any], out: NDArray[Any], plan: rl.Plan, bits: int) -> NDArray[np.uint8]:
    """What a copy leaves in memory, element by element."""
    codes = codes_of(out, bits).copy()
    codes[plan.target.offsets().reshape(-1)] = codes_of(x, bits)[plan.source.offsets().reshape(-1)]
    return codes


def random_side(sizes: list[int], rnd: random.Random, gaps: bool) -> tuple[list[int], int]:
    """Strides of the digits in a random order, some of them running down from an offset."""
    strides, offset, step = [0] * len(sizes), 0, 1
    for k in rnd.sample(range(len(sizes)), len(sizes)):
        if gaps and step >= 64 and rnd.random() < 0.2:
            step += rnd.choice([8, 16, 64, 3])
        down = rnd.random() < 0.15
        strides[k] = -step if down else step
        offset += (sizes[k] - 1) * step if down else 0
        step *= sizes[k]
    return strides, offset


def random_plan(rnd: random.Random, bits: int) -> rl.Plan:
    """Two layouts of three dimensions whose digits lie in any order; one digit may be no power of 2."""
    sizes: list[int] = []
    while prod(sizes) < 4096 * 8 // bits:
        sizes.append(rnd.choice([2, 2, 4, 8, 16]))
    if rnd.random() < 0.5:
        sizes[rnd.randrange(len(sizes))] = rnd.choice([3, 5, 6, 12])
    cuts = sorted(rnd.sample(range(1, len(sizes)), 2))
    layouts = []
    for gaps in (True, rnd.random() < 0.3):
        strides, offset = random_side(sizes, rnd, gaps)
        modes = [[tuple(numbers[a:b]) for a, b in zip([0, *cuts], [*cuts, None])] for numbers in (sizes, strides)]
        layouts.append(rl.Layout(tuple(modes[0]), tuple(modes[1]), offset=offset))
    return rl.plan(layouts[0], layouts[1], f"uint{bits}", threads=rnd.choice([1, 2]))


def named_plan(rnd: random.Random, bits: int) -> rl.Plan:
    """Two orders that kernels have, at a shape that fits, or that leaves some over."""
    one, two = rnd.sample(ORDERS[bits], 2)
    shape = rnd.choice([128, 256, 384]), rnd.choice([128, 192, 512])
    return rl.plan(one, two, f"uint{bits}", shape=shape)
