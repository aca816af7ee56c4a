"""Which of Triton's encodings a layout is: each one is tried, and named only if it is the same function."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from ..algebra.linear import LinearLayout
from ..errors import LayoutError, NotExpressible
from ..hardware.triton_distributed import BlockedEncoding
from ..hardware.triton_encoding import THREADS, TritonEncoding
from ..hardware.triton_linear import LinearEncoding
from ..hardware.triton_memory import (
    MemoryEncoding,
    NvmmaSharedEncoding,
    PaddedSharedEncoding,
    SharedLinearEncoding,
    SwizzledSharedEncoding,
)
from ..immutable import NamedTuple
from ..layout.layout import Layout
from .refusal import cannot

MOST_DIMENSIONS = 5
"""The most dimensions whose orders are all tried."""


def shared_encoding(layout: Layout, bits: int | None) -> MemoryEncoding:
    """The encoding of shared memory that a layout is: the first that fits of swizzled, nvmma, padded and linear."""
    sizes = layout.extents
    if not sizes or layout.has_basis or any(n < 1 or n & (n - 1) for n in sizes):
        raise cannot(layout, "ttg", "its sizes are powers of two", "pad the shape to powers of two")
    steps = [_BasisStep(layout(*unit), unit) for unit in _units(sizes)]
    if layout(*[0] * layout.rank) or any(step.place <= 0 for step in steps):
        raise cannot(
            layout, "ttg", "an encoding starts at 0 and counts every bit of a coordinate up", "shift or flip it first"
        )
    for candidate in _candidates(layout, bits, sorted(steps)):
        if _is(candidate, layout):
            return candidate
    raise cannot(
        layout,
        "ttg",
        "memory is filled without holes but for padding after so many elements, a power of two",
        "a layout with free places elsewhere has no encoding",
    )


class _BasisStep(NamedTuple):
    """Where the coordinate with one bit set lies."""

    place: int
    unit: tuple[int, ...]

    @property
    def dim(self) -> int:
        return next(d for d, x in enumerate(self.unit) if x)


def _units(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for d, n in enumerate(sizes):
        for k in range(n.bit_length() - 1):
            yield tuple([1 << k if e == d else 0 for e in range(len(sizes))])


def _is(encoding: MemoryEncoding, layout: Layout) -> bool:
    try:
        return encoding.layout(layout.extents).equivalent(layout)
    except LayoutError:
        return False


def _candidates(layout: Layout, bits: int | None, steps: list[_BasisStep]) -> Iterator[MemoryEncoding]:
    rank, sizes = layout.rank, layout.extents
    order = tuple(dict.fromkeys([*[step.dim for step in steps], *reversed(range(rank))]))
    if layout.swizzle is None or not steps:
        yield SwizzledSharedEncoding(1, 1, 1, order)
    elif layout.swizzle.parameters[2] > 0:
        width, base, shift = layout.swizzle.parameters
        per_phase = (1 << base + shift) // sizes[order[0]]
        if per_phase:
            yield SwizzledSharedEncoding(1 << base, per_phase, 1 << width, order)
    if bits is not None and bits >= 8 and rank >= 2:
        for swizzle in (128, 64, 32):
            for transposed in (False, True):
                yield NvmmaSharedEncoding(swizzle, transposed, bits, dims=rank)
    yield from _padded_candidates(rank, steps)
    try:
        yield SharedLinearEncoding(LinearLayout.from_layout(layout).invert().bases["offset"], (), rank)
    except LayoutError:
        return


def _padded_candidates(rank: int, steps: list[_BasisStep]) -> Iterator[MemoryEncoding]:
    """The padding that the places of the powers of two tell: what they are above the even count, step by step."""
    paddings, free = [], 0
    for k, step in enumerate(steps):
        more = step.place - (1 << k) - free
        if more < 0 or more & (more - 1):
            return
        if more:
            paddings.append((1 << k, more))
        free = 2 * (free + more)
    if paddings:
        yield PaddedSharedEncoding(tuple(paddings), tuple([step.unit for step in steps]), (), rank)


def linear_encoding(linear: LinearLayout) -> TritonEncoding:
    """The encoding whose bases are those of a linear layout, of threads or of offsets."""
    inputs, rank = set(linear.in_dims), len(linear.out_dims)
    bases = linear.bases
    try:
        if rank and inputs <= set(THREADS):
            groups = [bases.get(name, ()) for name in THREADS]
            crossing = any(sum(1 for x in basis if x) > 1 for basis in groups[2])
            found = LinearEncoding(groups[0], groups[1], groups[2], groups[3], rank, crossing or not _once(linear))
            told = found.own_shape
        elif rank and inputs <= {"offset", "block"}:
            shared = SharedLinearEncoding(bases.get("offset", ()), bases.get("block", ()), rank)
            found_shared, told = shared, shared.own_shape
            if told == tuple(linear.out_dims.values()):
                return found_shared
        else:
            raise NotExpressible(
                f"ttg has no encoding of {', '.join(linear.in_dims) or 'nothing'} to {rank} dimensions.",
                hint=f"the inputs are {', '.join(THREADS)}, or offset and block",
                x=linear,
            )
    except NotExpressible:
        raise
    except LayoutError as error:
        raise NotExpressible(
            f"ttg cannot hold this linear layout: {error.message}", hint=error.hint, x=linear
        ) from None
    if told != tuple(linear.out_dims.values()):
        raise NotExpressible(
            f"ttg cannot hold this linear layout: its bases reach {told} of {tuple(linear.out_dims.values())}.",
            hint="every output must be reached: is_surjective()",
            x=linear,
        )
    return found


def _once(linear: LinearLayout) -> bool:
    """Whether no step is there twice, zeros aside."""
    steps = [basis for group in linear.bases.values() for basis in group if any(basis)]
    return len(set(steps)) == len(steps)


def blocked_of(linear: LinearLayout) -> BlockedEncoding:
    """The blocked encoding that is this linear layout on its shape; refused where there is none."""
    shape, rank = tuple(linear.out_dims.values()), len(linear.out_dims)
    bases = linear.bases
    if set(linear.in_dims) == set(THREADS) and 1 <= rank <= MOST_DIMENSIONS:
        blocks = tuple([tuple(basis) for basis in bases["block"]])
        if not any(map(any, blocks)):
            for order in permutations(reversed(range(rank))):
                candidate = _blocked_candidate(bases, rank, order, len(blocks))
                if candidate is not None and candidate.linear(shape) == linear:
                    return candidate
    raise NotExpressible(
        "this linear layout is no blocked encoding.",
        hint="rl.render(x, 'ttg') writes it as #ttg.linear",
        x=linear,
    )


def _blocked_candidate(
    bases: dict[str, tuple[tuple[int, ...], ...]], rank: int, order: tuple[int, ...], blocks: int
) -> BlockedEncoding | None:
    """The blocked encoding with as many steps of each dimension as there are; repeats are of the one counted before."""
    counts = []
    for name in ("lane", "warp"):
        sizes, last = [1] * rank, order[0]
        for basis in bases[name]:
            last = next((d for d, x in enumerate(basis) if x), last)
            sizes[last] *= 2
        counts.append(tuple(sizes))
    own = [1] * rank
    for basis in bases["register"]:
        d = next((d for d, x in enumerate(basis) if x), None)
        if d is None or basis[d] != own[d]:
            break
        own[d] *= 2
    zeros: tuple[tuple[int, ...], ...] = ((0,) * rank,) * blocks
    try:
        return BlockedEncoding(tuple(own), counts[0], counts[1], order, zeros)
    except LayoutError:
        return None
