"""Workloads drawn by a seed, written as the tables of the benchmarks are: nobody can tune to them.

Ranks 2 to 6, elements of 1 to 16 bytes, permutations, formats of the catalog and blocks nested at random; sizes that
are powers of two, even, odd and prime, skinny and square, whole blocks and not; in both directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import exp, log, prod
from random import Random
from statistics import mean
from typing import Any

import relayout as rl

ELEMENTS = {"u8": 1, "f16": 2, "f32": 4, "f64": 8, "complex128": 16}
BLOCKS = (2, 3, 4, 6, 7, 8, 12, 16, 32, 64)
LONGEST = 1 << 22


def draw_workloads(count: int, seed: int, low: int, high: int) -> list[str]:
    """So many workloads, each with a target of ``low`` to ``high`` bytes."""
    rng = Random(seed)
    found: list[str] = []
    while len(found) < count:
        made = rng.choice((_permutation, _permutation, _named, _nested))(rng, len(found), low, high)
        if made is not None:
            found.append(made)
    return found


def _permutation(rng: Random, number: int, low: int, high: int) -> str | None:
    rank = rng.choice((2, 2, 3, 4, 5, 6))
    source, target = [rng.sample(range(rank), rank) for _ in range(2)]
    if rng.random() < 0.7:
        source = list(range(rank))
    if source == target:
        return None
    ends = [f"perm:{','.join(map(str, order))}" for order in (source, target)]
    return _written(rng, f"permutation {number}", rank, ends, None, low, high)


def _named(rng: Random, number: int, low: int, high: int) -> str | None:
    name, rank, bits = rng.choice(_catalog())
    ends = ["row", name]
    if rng.random() < 0.5:
        ends.reverse()
    return _written(rng, f"{name} {number}", rank, ends, bits, low, high)


def _nested(rng: Random, number: int, low: int, high: int) -> str | None:
    rank = rng.choice((2, 2, 3, 4))
    rests = rng.sample(range(rank), rank)
    blocks = [f"{rng.randrange(rank)},{rng.choice(BLOCKS)}" for _ in range(rng.randint(1, 4))]
    ends = ["row", f"{' '.join(map(str, rests))} / {' '.join(blocks)}"]
    if rng.random() < 0.5:
        ends.reverse()
    return _written(rng, f"blocks {number}", rank, ends, None, low, high)


@cache
def _catalog() -> list[tuple[str, int, int | None]]:
    """The names of formats that are for whole bytes and of rank 2 to 6, with the width that they are made for."""
    found = []
    for name in rl.catalog.names():
        for bits, form in rl.catalog.entry(name).forms.items():
            width = bits or getattr(form, "element_bits", None)
            if isinstance(form, rl.Format) and 2 <= form.rank <= 6 and (width is None or width in (8, 16, 32, 64)):
                found.append((name, form.rank, width))
    return found


def _written(
    rng: Random, name: str, rank: int, ends: Sequence[str], bits: int | None, low: int, high: int
) -> str | None:
    """The workload with a type and a shape; None where no shape that was tried has a target of that size."""
    fitting = [word for word, size in ELEMENTS.items() if bits is None or size * 8 == bits]
    word = rng.choice(fitting)
    for _ in range(20):
        shape = _shape(rng, rank, rng.uniform(log(low), log(high)), ELEMENTS[word])
        try:
            target = _target_bytes(ends, shape, ELEMENTS[word])
        except rl.LayoutError:
            continue
        if low <= target <= high:
            return f"{name};{word};{'x'.join(map(str, shape))};{ends[0]};{ends[1]}"
    return None


def _shape(rng: Random, rank: int, logarithm: float, itemsize: int) -> tuple[int, ...]:
    """Sizes of about ``exp(logarithm)`` bytes in all, of a kind each, some of them small."""
    elements = exp(logarithm) / itemsize
    weights = [rng.choice((0.15, 0.5, 1, 1, 1)) for _ in range(rank)]
    sizes = [min(elements ** (w / sum(weights)), LONGEST) for w in weights]
    return tuple([_round(rng, n) for n in sizes])


def _round(rng: Random, n: float) -> int:
    """A size near ``n``: a power of two, even, odd or prime."""
    kind = rng.choice(("power", "even", "odd", "prime"))
    size = max(round(n * rng.uniform(0.8, 1.25)), 2)
    if kind == "power":
        return 1 << max(round(log(n, 2)), 1)
    if kind == "even":
        return size + size % 2
    size |= 1
    while kind == "prime" and any(size % k == 0 for k in range(3, int(size**0.5) + 1, 2)):
        size += 2
    return size


def _target_bytes(ends: Sequence[str], shape: tuple[int, ...], itemsize: int) -> int:
    """The bytes of the target with its padding; an image that most of would be padding is refused."""
    sizes = []
    for end in ends:
        if end == "row" or end.startswith("perm:"):
            sizes.append(prod(shape) * itemsize)
        else:
            form: Any = rl.parse(end, dtype=f"uint{8 * itemsize}" if itemsize <= 8 else "complex128")
            sizes.append(form.layout(shape).storage_size * itemsize)
    if max(sizes) > 2 * prod(shape) * itemsize:
        raise rl.ShapeError("most of it is padding.", hint="draw another shape")
    return sizes[1]


def tell_spread(rows: Sequence[tuple[float, str]], what: str) -> Iterator[str]:
    """The geometric mean of ratios, their 5th percentile, and the ten worst with their shapes."""
    ordered = sorted(rows)
    values = [value for value, _ in ordered]
    middle = exp(mean([log(value) for value in values]))
    low = values[min(len(values) // 20, len(values) - 1)]
    yield f"{what}, {len(values)} rows: geometric mean {middle:.3f}, 5th percentile {low:.2f}, worst {values[0]:.2f}"
    for value, name in ordered[:10]:
        yield f"  {value:.2f}  {name}"
