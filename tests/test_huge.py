"""Repacks of 5 GiB: offsets past 2^32, in bytes and in elements. They run when they are asked for."""

from __future__ import annotations

import os
from itertools import product
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout import Layout

pytestmark = pytest.mark.skipif(
    os.environ.get("RELAYOUT_HUGE") != "1", reason="11 GiB of memory and a minute: RELAYOUT_HUGE=1 runs it"
)

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
SIZE = 5 << 30
SLAB = 64 << 20
MATRIX = (73_133, 73_417)
IMAGES = (1786, 221, 223, 61)


@pytest.fixture(scope="module")
def memory() -> Bytes:
    """Random bytes, since a wrong address must not find the right ones."""
    made = np.empty(SIZE + SLAB, np.uint8)
    random = np.random.default_rng(5)
    for start in range(0, made.size, SLAB):
        made[start : start + SLAB] = np.frombuffer(random.bytes(SLAB), np.uint8)
    return made


def check_places(plan: rl.Plan, x: Bytes, y: Bytes) -> None:
    """The corners and some other elements are where both layouts say, the last ones past 2^32."""
    extents = plan.source.extents
    random = np.random.default_rng(6)
    places = [*product(*[(0, n - 1) for n in extents]), *random.integers(extents, size=(1000, len(extents))).tolist()]
    for place in places:
        assert x[plan.source(*place)] == y[plan.target(*place)], place
    assert min(plan.source.max_offset, plan.target.max_offset) > 1 << 32


def test_a_transpose(memory: Bytes) -> None:
    rows, columns = MATRIX
    x = memory[: rows * columns]
    plan = rl.plan(Layout.row_major(MATRIX), Layout.col_major(MATRIX), "uint8")
    y = plan(x)
    check_places(plan, x, y)
    before, after = x.reshape(rows, columns), y.reshape(columns, rows)
    step = 512
    for i, j in product(range(0, rows, step), range(0, columns, step)):
        assert np.array_equal(after[j : j + step, i : i + step], before[i : i + step, j : j + step].T), (i, j)


def check_croutons(images: Bytes, croutons: Bytes) -> None:
    """Image by image: pad, cut, transpose."""
    box = np.full((224, 224, 64), 31, np.uint8)
    stored = box.reshape(28, 8, 28, 8, 2, 32).transpose(0, 2, 4, 1, 3, 5)
    for n, (image, packed) in enumerate(zip(images, croutons)):
        box[:221, :223, :61] = image
        assert np.array_equal(packed, stored), n


def test_croutons_and_back(memory: Bytes) -> None:
    x = memory[: np.prod(IMAGES)]
    images = x.reshape(IMAGES)
    plan = rl.plan(Layout.row_major(IMAGES), "htp:R4Crouton", "uint8", fill=31)
    y = plan(x)
    croutons = y.reshape(len(images), 28, 28, 2, 8, 8, 32)
    check_places(plan, x, y)
    check_croutons(images, croutons)
    # There is no room for a third array: the croutons, which are known to be right now, are the judge of the way back.
    x.fill(0)
    rl.plan("htp:R4Crouton", Layout.row_major(IMAGES), "uint8")(y, out=x)
    check_croutons(images, croutons)
