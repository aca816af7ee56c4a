"""What a self-test compares: bytes that every language makes alike, and the checksum of what must come of them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ..dialects.resolve import Resolved
from ..elements.subbyte import pack, unpack
from ..elements.types import storage_dtype
from ..errors import LimitExceeded
from ..format.format import Format
from .program import CheckedSize, PackFunction

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_ELEMENTS = 1 << 24
"""The most that a self-test has in one memory."""

MIXER = 2654435761
WEIGHT = 0x9E3779B97F4A7C15


def sample_bytes(count: int) -> NDArray[Any]:
    """The first bytes of every test: below 128, so that no float of several bytes is NaN."""
    import numpy as np

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
    return [_run(function, source.at(sizes), target.at(sizes), sizes) for sizes in _handful(source, target)]


def _handful(source: Resolved, target: Resolved) -> list[tuple[int, ...]]:
    """Shapes below, at and above the blocks; small ones, whatever the rank."""
    blocks = [x.format.block_shape for x in (source, target) if isinstance(x.format, Format)]
    largest = [max(sizes) for sizes in zip(*blocks)]
    found = [
        tuple([1] * len(largest)),
        tuple(largest),
        tuple([n + 1 for n in largest]),
        tuple([n + 2 for n in largest]),
    ]
    found.append(tuple([max(2 * n - 1, 2 + d) for d, n in enumerate(largest)]))
    return [sizes for sizes in dict.fromkeys(found) if prod(sizes) <= MAX_ELEMENTS >> 4] or found[:1]


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
    read = sample_bytes(-(-counts[0] * kind.bits // 8))
    codes: Any
    if kind.bits < 8:
        codes = unpack(read, f"uint{kind.bits}", counts[0])
        placed = np.tile(unpack(np.frombuffer(function.fill, np.uint8), f"uint{to.bits}", 8), counts[1] // 8 + 1)
    else:
        codes = read.view(f"V{kind.bits // 8}")
        placed = np.frombuffer(function.fill * max(counts[1], 1), f"V{to.bits // 8}")
    placed = placed[: counts[1]].copy()
    if first.size:
        moved = codes[first.offsets()]
        if function.conversion is not None:
            decode, encode = function.conversion[0].decode, function.conversion[1].encode
            moved = encode(decode(np.ascontiguousarray(moved).view(storage_dtype(kind)))).view(placed.dtype)
        placed[second.offsets()] = moved
    written = pack(placed, f"uint{to.bits}") if to.bits < 8 else placed.view(np.uint8)
    lengths = -(-counts[0] * kind.bits // 8), -(-counts[1] * to.bits // 8)
    return CheckedSize(sizes, lengths[0], lengths[1], checksum(written))
