"""What a self-test compares: bytes that every language makes alike, and the checksum of what must come of them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ..dialects.resolve import Resolved
from ..elements.interface import Interface, ScaleOffset
from ..elements.subbyte import pack, unpack
from ..elements.types import storage_dtype
from ..errors import LimitExceeded, NotExpressible, ShapeError
from ..format.format import Format
from .lower_convert import convert_routines
from .program import CheckedSize, PackFunction
from .statements import BOOL

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_ELEMENTS = 1 << 24
"""The most that a self-test has in one memory."""

MIXER = 2654435761
WEIGHT = 0x9E3779B97F4A7C15


def sample_bytes(count: int, codes: bytes) -> NDArray[Any]:
    """The first bytes of every test: samples of ``codes``, or bytes below 128, so that no wide float is NaN."""
    import numpy as np

    if codes:
        size = len(codes) // 8
        chosen = np.arange(-(-count // size), dtype=np.uint32) * np.uint32(MIXER) >> np.uint32(29)
        found: NDArray[Any] = np.frombuffer(codes, np.uint8).reshape(8, size)[chosen].reshape(-1)[:count]
        return found
    return (np.arange(count, dtype=np.uint32) * np.uint32(MIXER) >> np.uint32(25)).astype(np.uint8)


def checksum(data: NDArray[Any]) -> int:
    """The sum of all bytes, each times a number that its place gives, modulo 2**64."""
    import numpy as np

    place = np.arange(data.size, dtype=np.uint64)
    return int((data.astype(np.uint64) * (place * np.uint64(WEIGHT) >> np.uint64(32) | np.uint64(1))).sum())


def checked_runs(function: PackFunction, source: Resolved, target: Resolved) -> list[CheckedSize]:
    """The runs of a function's test: the one shape, or a handful around the blocks of both formats."""
    if not function.sizes:
        return [_run(function, source, target, ())]
    return [_run(function, source.at(sizes), target.at(sizes), sizes) for sizes in _handful(function, source, target)]


def sample_codes(function: PackFunction) -> bytes:
    """Eight samples, each one element or eight that share bytes, where bytes at random could be refused; else nothing.

    They hold numbers that both sides store.
    """
    import numpy as np

    if function.conversion is None or convert_routines("", *function.conversion)[-1].result != BOOL:
        return b""
    first, second = map(_one_channel, function.conversion)
    if isinstance(second, ScaleOffset) and first.element.name in ("float32", "float64"):
        return b""
    found = []
    for number in (*range(8), -1, -2, 0.5, 16, 0.25, 64):
        try:
            code = np.asarray(first.encode(np.array([number])))
            second.encode(first.decode(code))
        except (NotExpressible, ShapeError):
            continue
        found.append(code.astype(storage_dtype(first.element)).view(np.uint8))
    every = [found[k % len(found)] for k in range(8)] if found else []
    bits = function.element.bits
    if bits < 8:
        every = [pack(np.concatenate([*every[k:], *every[:k]]) & ((1 << bits) - 1), f"uint{bits}") for k in range(8)]
    return b"".join([code.tobytes() for code in every])


def _one_channel(x: Interface) -> Interface:
    return x if x.axis is None or not isinstance(x, ScaleOffset) else x.channel(0)


def _handful(function: PackFunction, source: Resolved, target: Resolved) -> list[tuple[int, ...]]:
    """Shapes below, at and above the blocks, and one that tiles of the nest do not divide; small ones, at any rank."""
    blocks = [x.format.block_shape for x in (source, target) if isinstance(x.format, Format)]
    largest = [max(sizes) for sizes in zip(*blocks)]
    found = [
        tuple([1] * len(largest)),
        tuple(largest),
        tuple([n + 1 for n in largest]),
        tuple([n + 2 for n in largest]),
    ]
    found.append(tuple([max(2 * n - 1, 2 + d) for d, n in enumerate(largest)]))
    found.append(tuple([n * (2 + d % 2) for d, n in enumerate(largest)]))
    past = _past_tiles(function, largest)
    if max(past, default=0) > 2:
        found.append(past)
    return [sizes for sizes in dict.fromkeys(found) if prod(sizes) <= MAX_ELEMENTS >> 4] or found[:1]


def _past_tiles(function: PackFunction, blocks: list[int]) -> tuple[int, ...]:
    """Two whole tiles and a part of one along every axis that is cut into some; 2 along the others."""
    tiles = dict.fromkeys(function.sizes, 0)
    for level in function.nest.levels:
        names = function.nest.axes[level.axis].axis.extent.names
        if names and level.place.known:
            tiles[names[-1]] = max(tiles[names[-1]], level.place.number)
    return tuple([2 * n + 3 if n > block else 2 for n, block in zip(tiles.values(), blocks)])


def _run(function: PackFunction, source: Resolved, target: Resolved, sizes: tuple[int, ...]) -> CheckedSize:
    import numpy as np

    first, second = source.placed, target.placed
    for layout in (first, second):
        if layout.storage_size > MAX_ELEMENTS:
            raise LimitExceeded(
                f"a test with {layout.storage_size} elements is over the limit of {MAX_ELEMENTS}.",
                hint="leave test away, or take a smaller shape",
                limit=MAX_ELEMENTS,
            )
    kind, to = function.element.underlying, function.target_element.underlying
    counts = first.storage_size, second.storage_size
    read = sample_bytes(-(-counts[0] * kind.bits // 8), sample_codes(function))
    codes: Any = unpack(read, kind, counts[0]) if kind.bits < 8 else read.view(f"V{kind.bits // 8}")
    placed: Any
    if to.bits < 8:
        placed = np.tile(unpack(np.frombuffer(function.fill, np.uint8), f"uint{to.bits}", 8), counts[1] // 8 + 1)
    else:
        placed = np.frombuffer(function.fill * max(counts[1], 1), f"V{to.bits // 8}")
    placed = placed[: counts[1]].copy()
    if first.size:
        moved = codes[first.offsets()]
        if function.conversion is not None:
            decode, encode = function.conversion[0].decode, function.conversion[1].encode
            made = np.asarray(encode(decode(np.ascontiguousarray(moved).view(storage_dtype(kind)))))
            moved = made.astype(storage_dtype(to), copy=False).view(placed.dtype)
        elif kind.bits < 8:
            moved = moved.view(np.uint8)
        placed[second.offsets()] = moved
    if to.bits < 8:
        placed &= (1 << to.bits) - 1
    written = pack(placed, f"uint{to.bits}") if to.bits < 8 else placed.view(np.uint8)
    lengths = -(-counts[0] * kind.bits // 8), -(-counts[1] * to.bits // 8)
    return CheckedSize(sizes, lengths[0], lengths[1], checksum(written))
