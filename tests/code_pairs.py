"""Random pairs of layouts, and the bytes that generated code must make of them: the judge of every target language.

    python tests/code_pairs.py --target c --count 300 --seed 7

Pairs are drawn by a seed: layouts with windows, gaps, swizzles and steps backwards; formats whose sizes are arguments;
names of the catalog; padding with fills; elements of 1 to 128 bits; conversions. What must come out is told by the plan
that ``repack`` runs, and for elements that are moved bit by bit by numpy's own indices as well. A target's runner, in
``code_runners.py``, runs many texts at once. What a target refuses to say is counted under its reason.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

import relayout as rl
from relayout.codegen import lower_pack
from relayout.elements.interface import Plain
from relayout.elements.subbyte import pack, unpack
from relayout.elements.types import element as element_of
from relayout.elements.types import storage_dtype
from relayout.engine.fill import fill_bytes
from relayout.integers.nested import flatten

REFUSED = b"refused"
"""What a runner gives for a function that cannot take the sizes, and says so."""


class Pair(NamedTuple):
    """One function to call, the operands it was made of, the bytes it reads and those it must write.

    ``sizes`` are the arguments of a function for any size. ``expected`` is None where a value must be refused.
    """

    name: str
    source: Any
    target: Any
    element: Any
    dst_element: Any
    shape: tuple[int, ...] | None
    sizes: tuple[int, ...]
    fill: Any
    inverse: bool
    given: bytes
    length: int
    expected: bytes | None

    def text(self, target: str) -> str:
        """The function in a language, ``name``; the way back of the opposite pair where it is ``inverse``."""
        words: dict[str, Any] = {"target": target, "shape": self.shape, "axes": None}
        if not self.inverse:
            more = {"dst_element": self.dst_element, "name": self.name, "fill": self.fill}
            return rl.code(self.source, self.target, self.element, **words, **more)
        name = self.name.removesuffix("_inverse")
        element = self.dst_element or self.element
        back = self.dst_element and self.element
        return rl.code(self.target, self.source, element, **words, dst_element=back, name=name, inverse=True)

    def __str__(self) -> str:
        kinds = f"{self.element}" if self.dst_element is None else f"{self.element} as {self.dst_element}"
        ways = " by the way back" if self.inverse else ""
        return f"{self.name}: {kinds} from {self.source} to {self.target} at {self.shape or self.sizes}{ways}"


# ---- the judge -------------------------------------------------------------------------------------------


def places(layout: rl.Layout) -> Any:
    """The offset of every element, by mixed-radix digits of numpy's indices."""
    total = np.full(layout.extents, layout.offset, np.int64)
    for d in range(layout.rank):
        shape = layout.shape[d] if isinstance(layout.shape, tuple) else layout.shape
        stride = layout.stride[d] if isinstance(layout.stride, tuple) else layout.stride
        rest = np.arange(layout.extents[d]) + layout.origin[d]
        own = np.zeros_like(rest)
        for n, step in zip(flatten((shape,)), flatten((stride,))):
            own += rest % n * step
            rest = rest // n
        total += own.reshape([-1 if k == d else 1 for k in range(layout.rank)])
    swizzle = layout.swizzle
    if swizzle is not None:
        read = total & swizzle.source_mask
        total = total ^ (read >> swizzle.shift if swizzle.shift >= 0 else read << -swizzle.shift)
    return total


def by_places(source: rl.Layout, target: rl.Layout, memory: Any, fill: Any = 0) -> Any:
    out = np.full(target.storage_size, fill, memory.dtype)
    if source.size:
        out[places(target)] = memory[places(source)]
    return out


def byte_count(count: int, bits: int) -> int:
    return -(-count * bits // 8)


def expected_bytes(pair: Pair, source: rl.Layout, target: rl.Layout, fill: Any) -> bytes | None:
    """What ``plan`` writes, checked against numpy's indices where no value changes; None where it refuses a value."""
    to = pair.dst_element or pair.element
    filled = fill_bytes(Plain(to) if isinstance(to, str) else to, fill)
    out = bytearray((filled * (pair.length + 1))[: pair.length])
    if rest := target.storage_size * kind_of(to).bits % 8:
        out[-1] &= (1 << rest) - 1
    plan = rl.plan(source, target, pair.element, pair.dst_element, fill=fill)
    try:
        plan(memoryview(pair.given), out)
    except rl.NotExpressible:
        if pair.dst_element is None:
            raise
        return None
    kind = kind_of(pair.element)
    if pair.dst_element is None and kind.bits < 8:
        codes = unpack(np.frombuffer(pair.given, np.uint8), f"uint{kind.bits}", source.storage_size)
        moved = by_places(source, target, codes, unpack(np.frombuffer(filled, np.uint8), f"uint{kind.bits}", 1)[0])
        assert pack(moved, f"uint{kind.bits}").tobytes() == out, pair
    elif pair.dst_element is None:
        memory = np.frombuffer(pair.given, f"V{kind.bits // 8}")
        assert by_places(source, target, memory, np.frombuffer(filled, memory.dtype)[0]).tobytes() == out, pair
    return bytes(out)


def kind_of(meaning: Any) -> Any:
    """The type that elements of a name or an interface are stored as."""
    return element_of(meaning if isinstance(meaning, str) else meaning.element).underlying


# ---- pairs -----------------------------------------------------------------------------------------------

ELEMENTS = [
    "uint8",
    "uint8",
    "int8",
    "int16",
    "uint16",
    "float16",
    "bfloat16",
    "int32",
    "float32",
    "float32",
    "float64",
    "int64",
    "uint64",
    "complex64",
    "complex128",
    "bool",
    "float8_e4m3fn",
    "uint4",
    "uint4",
    "int4",
    "uint2",
    "uint1",
    "uint3",
    "uint6",
    "float4_e2m1fn",
]

PLAIN = [
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


NARROW = ["int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "bool"]


def random_layout(rng: Random, extents: tuple[int, ...], swizzled: bool = True) -> rl.Layout:
    """Digits of random sizes in random order, some backwards, with gaps, a window and a swizzle."""
    shapes, origins = [], []
    for n in extents:
        left = rng.choice([0, 0, 0, 1, 3])
        sizes = [rng.choice([2, 3, 4, 8]) for _ in range(rng.choice([0, 0, 1, 2]))]
        block = int(np.prod(sizes))
        sizes.append(max(-(-(n + left) // block), 1) + rng.choice([0, 0, 1]))
        if len(sizes) == 1:
            sizes[0], left = n, 0
        shapes.append(tuple(sizes))
        origins.append(left)
    digits = [(d, k) for d, sizes in enumerate(shapes) for k in range(len(sizes))]
    rng.shuffle(digits)
    if rng.random() < 0.4:
        digits.sort(key=lambda x: (-x[0], x[1]))
    strides: dict[tuple[int, int], int] = {}
    step, offset = 1, 0
    for d, k in digits:
        step *= rng.choice([1, 1, 1, 1, 2]) if step > 1 else 1
        n = shapes[d][k]
        backwards = rng.random() < 0.15
        strides[d, k] = -step if backwards else step
        offset += (n - 1) * step if backwards else 0
        step *= n
    stride = tuple([tuple([strides[d, k] for k in range(len(sizes))]) for d, sizes in enumerate(shapes)])
    offset += rng.choice([0, 0, 0, 5])
    layout = rl.Layout(tuple(shapes), stride, offset=offset, extents=extents, origin=tuple(origins))
    if swizzled and rng.random() < 0.2:
        layout = layout.with_swizzle(rl.Swizzle(2, rng.choice([0, 1]), rng.choice([2, 3, -2])))
    return layout


def random_format(rng: Random, rank: int) -> rl.Format:
    """Dimensions in some order, blocks of a few of them; some with a fill, aligned, or with digits in another order."""
    order = rng.sample(range(rank), rank)
    factors: list[Any] = [(d, 0) for d in order]
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        step = rng.choice([None] * 8 + [-1, "rest"])
        size = rng.choice([2, 3, 4, 8, 16])
        factor = (rng.randrange(rank), size) if step is None else (rng.randrange(rank), size, step)
        factors.append(factor)
    align = None
    if rng.random() < 0.1:
        align = [rng.choice([1, 4, 16]) for _ in range(len(factors))] + [1]
    try:
        return rl.Format(rank, factors, align=align, fill=rng.choice([None, None, 1]))
    except rl.LayoutError:
        return rl.Format(rank, [factor[:2] for factor in factors])


def random_sizes(rng: Random, blocks: tuple[int, ...]) -> tuple[int, ...]:
    """Below, at and above the blocks; rarely nothing at all, rarely long."""
    sizes = [rng.choice([1, 2, 3, block, block + 1, 2 * block, 2 * block + 3]) for block in blocks]
    if rng.random() < 0.04:
        sizes[rng.randrange(len(sizes))] = 0
    if rng.random() < 0.1:
        sizes[rng.randrange(len(sizes))] += 67
    while int(np.prod(sizes)) > 40_000:
        sizes[sizes.index(max(sizes))] //= 2
    return tuple(sizes)


def _interfaces(rng: Random) -> tuple[Any, Any]:
    """Two meanings of values, the second of which holds what the first does, as a rule."""
    quantised = rl.ScaleOffset(
        rng.choice([1.0, 0.1, 0.25, 0.003]), rng.choice([0, 3, -5, 31]), rng.choice(["uint8", "int8", "int16", "uint4"])
    )
    first, second = rng.sample([*PLAIN, *NARROW], 2)
    return rng.choice([("float32", quantised), (quantised, "float32"), (first, second), (first, second)])


def _is_held(number: float, kind: str) -> bool:
    """Whether a type of reals has a place for a number."""
    try:
        Plain(kind).encode(number)
    except rl.NotExpressible:
        return False
    return True


def _values(rng: Random, generator: Any, first: Any, second: Any, count: int) -> bytes:
    """Stored values of the first meaning; one in seven sets has one that the second may not hold."""
    if not isinstance(first, str):
        return bytes(generator.integers(0, 256, byte_count(count, first.element.bits), np.uint8).tobytes())
    kinds = [kind_of(first), kind_of(second)]
    high = min([100, *[kind.limits[1] for kind in kinds if kind.integral]], default=100)
    high = 7 if {first, second} & {*NARROW} and high > 7 else high  # type: ignore[arg-type]
    numbers: Any = generator.integers(0, high + 1, count)
    if not kinds[0].integral and not kinds[1].integral:
        numbers = generator.normal(0, 30, count)
    elif not isinstance(second, str):
        numbers = generator.normal(0, 20, count)
    elif not any(kind.name.startswith("uint") for kind in kinds):
        numbers = numbers - high // 2
    numbers = numbers.astype(np.int64 if kinds[0].integral else np.float64)
    if rng.random() < 0.15 and count:
        wrong = min(kinds[0].limits[1], rng.choice([120, 200, 250])) if kinds[0].integral else 0
        odd = wrong if kinds[0].integral else rng.choice([0.5, np.nan, np.inf, 1e30])
        numbers[rng.randrange(count)] = odd if kinds[0].integral or _is_held(odd, first) else 0.5
    with np.errstate(all="ignore"):
        stored = numbers.astype(storage_dtype(kinds[0])) if kinds[0].integral else Plain(first).encode(numbers)
    if kinds[0].bits < 8:
        stored = pack(stored.view(np.uint8) & ((1 << kinds[0].bits) - 1), f"uint{kinds[0].bits}")
    return bytes(np.ascontiguousarray(stored).tobytes())


def _operands(rng: Random) -> tuple[Any, Any, tuple[int, ...], bool, str | None]:
    """Two operands, the shape, whether it is an argument, and the element that a name asks for."""
    kind = rng.choice(["layouts", "layouts", "formats", "formats", "catalog"])
    if kind == "layouts":
        extents = tuple([rng.choice([1, 2, 3, 5, 7, 8, 12, 17]) for _ in range(rng.choice([1, 2, 2, 3, 4]))])
        return random_layout(rng, extents), random_layout(rng, extents), extents, False, None
    wanted = None
    if kind == "catalog":
        name = rng.choice(rl.catalog.names())
        wanted = rng.choice(["uint8", "int16", "float32"])
        try:
            found = rl.resolve(name, element=wanted).format
        except rl.ShapeError:  # it has no form for elements of that width
            return _operands(rng)
        if not isinstance(found, rl.Format) or isinstance(found.fill, str) or found.rank > 6:
            return _operands(rng)
        if found.element_bits in (8, 16, 32):
            wanted = {8: "uint8", 16: "int16", 32: "float32"}[found.element_bits]
        elif found.element_bits is not None:
            return _operands(rng)
        if found.fill is not None and not 0 <= float(found.fill) < 128:
            return _operands(rng)
        order = [(d, 0) for d in rng.sample(range(found.rank), found.rank)]
        operands = [rl.Format(found.rank, order, axes=found.axes), found]
        rng.shuffle(operands)
    else:
        rank = rng.choice([1, 2, 3, 4])
        operands = [random_format(rng, rank), random_format(rng, rank)]
    blocks = tuple([max(x.block_shape[d] for x in operands) for d in range(operands[0].rank)])
    return operands[0], operands[1], random_sizes(rng, blocks), rng.random() < 0.6, wanted


def draw_pairs(seed: int) -> Iterator[Pair]:
    """Pairs without end, by a seed."""
    rng, generator = Random(seed), np.random.default_rng(seed)
    k = 0
    while True:
        pair = _draw_pair(rng, generator, f"pair_{k}")
        if pair is not None:
            k += 1
            yield pair


def _draw_pair(rng: Random, generator: Any, name: str) -> Pair | None:
    source, target, shape, any_size, wanted = _operands(rng)
    element: Any = wanted or rng.choice(ELEMENTS)
    to = None
    if wanted is None and rng.random() < 0.2:
        element, to = _interfaces(rng)
    laid = [x if isinstance(x, rl.Layout) else x.layout(shape) for x in (source, target)]
    inverse = rng.random() < 0.15
    try:
        for layout in laid:
            rl.plan(layout, layout, "uint8")
    except rl.Overlap:
        return None
    bits = [kind_of(x).bits for x in (element, to or element)]
    fill = own = getattr(target, "fill", None)
    if not inverse and rng.random() < 0.2 and bits[1] >= 2:
        own, fill = 1, 1
    count = laid[0].storage_size
    if to is not None:
        given = _values(rng, generator, element, to, count)
    else:
        given = generator.integers(0, 2 if element == "bool" else 256, byte_count(count, bits[0]), np.uint8).tobytes()
    length = byte_count(laid[1].storage_size, bits[1])
    pair = Pair(
        f"{name}_inverse" if inverse else name,
        source,
        target,
        element,
        to,
        None if any_size else shape,
        shape if any_size else (),
        fill if own is not None and fill != getattr(target, "fill", None) else None,
        inverse,
        given,
        length,
        b"",
    )
    try:
        return pair._replace(expected=expected_bytes(pair, *laid, fill or 0))
    except rl.NotExpressible:
        return None


# ---- the run ---------------------------------------------------------------------------------------------


class Report(NamedTuple):
    """How many pairs came out right, what came out wrong, and why the target refused others."""

    moved: int
    wrong: list[str]
    refused: Counter[str]

    def __str__(self) -> str:
        lines = [f"{self.moved} pairs bit for bit, {len(self.wrong)} wrong, {self.refused.total()} refused"]
        lines += [f"  {count} x {reason}" for reason, count in self.refused.most_common()]
        return "\n".join([*lines, *self.wrong[:10]])


def judge(target: str, count: int, seed: int, folder: Path, batch: int = 100) -> Report:
    """Run so many pairs that the target can say; what it refuses is drawn anew, up to 40 times as many."""
    from code_runners import RUNNERS

    wrong: list[str] = []
    refused: Counter[str] = Counter()
    waiting: list[tuple[Pair, str]] = []
    moved = drawn = 0
    pairs = draw_pairs(seed)
    while moved + len(wrong) < count and drawn < 40 * count:
        while len(waiting) < min(batch, count - moved - len(wrong)) and drawn < 40 * count:
            pair = next(pairs)
            drawn += 1
            lower_pack.LARGE = (1 << 23) * (drawn % 2)  # every other target counts as a large one
            try:
                waiting.append((pair, pair.text(target)))
            except rl.NotExpressible as error:
                refused[re.sub(r"\d+", "N", error.message)[:70]] += 1
        found = RUNNERS[target].run([pair for pair, _ in waiting], [text for _, text in waiting], folder)
        for (pair, text), got in zip(waiting, found, strict=True):
            if got == REFUSED:
                refused["when it ran: sizes that need padding, or no code by the compiler"] += 1
            elif got == pair.expected:
                moved += 1
            else:
                wrong.append(f"{pair}\n{text}")
        waiting.clear()
    return Report(moved, wrong, refused)


def main() -> None:
    from code_runners import RUNNERS

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--target", choices=[*RUNNERS], action="append")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=100, help="texts of one compilation")
    asked = parser.parse_args()
    failed = False
    for target in asked.target or RUNNERS:
        missing = RUNNERS[target].missing()
        if missing:
            sys.stdout.write(f"{target}: not run, {missing}\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            report = judge(target, asked.count, asked.seed, Path(folder), asked.batch)
        sys.stdout.write(f"{target}: {report}\n")
        sys.stdout.flush()
        failed |= bool(report.wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
