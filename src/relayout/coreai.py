"""Apple Core AI's arrays: strides of which one dimension's counts blocks of ``factor`` elements that lie together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .errors import NotExpressible, ShapeError
from .inttuple import as_int
from .layout import Layout
from .nested import product


class InterleaveLayout(NamedTuple):
    """Dimension ``dimension`` is stored in blocks of ``factor`` elements, with stride 1 inside a block."""

    dimension: int
    factor: int


class Description(NamedTuple):
    """A layout in Core AI's words. The stride of the interleaved dimension is from block to block."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    interleave: InterleaveLayout | None

    @property
    def minimum_elements(self) -> int:
        """The elements up to the last one used."""
        return _layout_of(self).max_offset + 1 if product(self.shape) else 0

    @property
    def allocation_elements(self) -> int:
        """The elements of whole outermost steps, which is what Core AI allocates."""
        counts = list(self.shape)
        if self.interleave is not None:
            counts[self.interleave.dimension] = -(-counts[self.interleave.dimension] // self.interleave.factor)
        return max([self.minimum_elements, *[s * n for s, n in zip(self.strides, counts)]])


def layout(shape: Sequence[int], strides: Sequence[int], interleave: Any = None) -> Layout:
    """``(i_d / f) * strides[d] + i_d % f + sum(i_k * strides[k])``, where ``interleave`` is (d, f) or None."""
    sizes = tuple([as_int(n, "shape") for n in shape])
    steps = tuple([as_int(s, "strides") for s in strides])
    if len(sizes) != len(steps):
        raise ShapeError(
            f"shape {sizes} and strides {steps} differ in length.",
            hint="one stride per dimension",
            shape=sizes,
            strides=steps,
        )
    if interleave is None:
        return Layout(sizes, steps)
    dimension, factor = (as_int(x, "interleave") for x in interleave)
    if not 0 <= dimension < len(sizes) or factor < 1:
        raise ShapeError(
            f"interleaving dimension {dimension} by {factor} does not fit the shape {sizes}.",
            hint="name a dimension of the array and a factor >= 1",
            interleave=interleave,
            shape=sizes,
        )
    blocks: list[Any] = list(sizes)
    nested: list[Any] = list(steps)
    blocks[dimension] = (factor, -(-sizes[dimension] // factor))
    nested[dimension] = (1, steps[dimension])
    return Layout(tuple(blocks), tuple(nested), extents=sizes)


def _layout_of(description: Description) -> Layout:
    return layout(*description)


def packed(
    shape: Sequence[int], interleave: Sequence[int] | None = None, alignments: Sequence[int] | None = None
) -> Layout:
    """Apple's default strides: ``interleave`` has one factor per dimension, at most one over 1.

    ``alignments``, in elements, are one for the total and one for the stride of each dimension.
    """
    sizes = [as_int(n, "shape") for n in shape]
    factors = [as_int(f, "interleave") for f in (interleave or [1] * len(sizes))]
    align = [as_int(a, "alignments") for a in (alignments or [1] * (len(sizes) + 1))]
    large = [d for d, f in enumerate(factors) if f > 1]
    if len(factors) != len(sizes) or len(align) != len(sizes) + 1 or min([*factors, *align]) < 1 or len(large) > 1:
        raise ShapeError(
            f"interleave {factors} and alignments {align} do not fit the shape {sizes}.",
            hint="one factor per dimension, at most one over 1; one alignment more than dimensions",
            shape=sizes,
        )
    if any(n % f or f > n for n, f in zip(sizes, factors)):
        raise ShapeError(
            f"the factors {factors} do not divide the shape {sizes}.", hint="pad the dimension", shape=sizes
        )
    strides = [0] * len(sizes)
    running = product(tuple(factors))
    for d in range(len(sizes) - 1, -1, -1):
        strides[d] = -(-running // align[d + 1]) * align[d + 1]
        running = strides[d] * (sizes[d] // factors[d])
    return layout(sizes, strides, InterleaveLayout(large[0], factors[large[0]]) if large else None)


def describe(x: Layout) -> Description:
    """``x`` in Core AI's words; refused with the reason where it has none."""
    if x.offset != 0 or x.swizzle is not None or any(x.origin):
        raise _cannot(x, "an array starts at 0, at the first element of a block, and has no swizzle")
    strides: list[int] = []
    interleave = None
    for d in range(x.rank):
        mode = x._mode(d)
        if len(mode.sizes) == 1:
            strides.append(mode.strides[0])
        elif len(mode.sizes) == 2 and mode.strides[0] == 1 and interleave is None:
            interleave = InterleaveLayout(d, mode.sizes[0])
            strides.append(mode.strides[1])
        else:
            raise _cannot(x, "one dimension at most is interleaved, in blocks of consecutive elements")
    if any(s < 0 for s in strides):
        raise _cannot(x, "strides are not negative")
    return Description(x.extents, tuple(strides), interleave)


def equivalents(x: Layout) -> list[Description]:
    """Every form of the same array: interleaved, with the block as a last dimension, and plain; each proven."""
    forms = [describe(x)]
    shape, strides, interleave = forms[0]
    if interleave is None:
        return forms
    d, factor = interleave
    if shape[d] % factor == 0:
        split = (*shape[:d], shape[d] // factor, *shape[d + 1 :], factor)
        expected = x.reshape(*shape[:d], shape[d] // factor, factor, *shape[d + 1 :])
        form = Description(split, (*strides, 1), None)
        order = [*range(d + 1), *range(d + 2, len(shape) + 1), d + 1]
        if _layout_of(form).equivalent(expected.permute(order)):
            forms.append(form)
    plain = Description(shape, (*strides[:d], 1, *strides[d + 1 :]), None)
    if _layout_of(plain).equivalent(x):
        forms.append(plain)
    return forms


def _cannot(x: Layout, why: str) -> NotExpressible:
    return NotExpressible(
        f"Core AI cannot hold {x}: {why}.",
        hint="repack it, or take a view on block boundaries",
        dialect="coreai",
        layout=x,
    )
