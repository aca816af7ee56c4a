"""Apple Core AI's arrays: strides of which one dimension's counts blocks of ``factor`` elements that lie together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import NotExpressible, ShapeError, shown
from ..integers.inttuple import as_int
from ..integers.nested import product
from ..layout.layout import Layout, as_layout
from .format import in_box_of


class InterleaveLayout(NamedTuple):
    """Dimension ``dimension`` is stored in blocks of ``factor`` elements, with stride 1 inside a block."""

    dimension: int
    factor: int


class _CoreAIFields(NamedTuple):
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    interleave: InterleaveLayout | None


class Description(_CoreAIFields):
    """A layout in Core AI's words. The stride of the interleaved dimension is from block to block.

    ``reserved`` is the size of its memory where that is more than the words say, else 0. ``offset`` is where a view
    begins in the memory of its array; sizes count from there, and a view reserves nothing.
    """

    reserved: int
    offset: int

    def __new__(
        cls,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        interleave: InterleaveLayout | None,
        reserved: int = 0,
        offset: int = 0,
    ) -> Description:
        self = super().__new__(cls, shape, strides, interleave)
        self.reserved = reserved
        self.offset = offset
        return self

    def __eq__(self, other: object) -> bool:
        extra = self.reserved, self.offset
        return isinstance(other, Description) and (*self, *extra) == (*other, other.reserved, other.offset)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = _CoreAIFields.__hash__

    @property
    def minimum_elements(self) -> int:
        """The elements up to the last one used."""
        return layout(*self).max_offset + 1 if product(self.shape) else 0

    @property
    def allocation_elements(self) -> int:
        """The elements of whole blocks and whole outermost steps, aligned: what Core AI allocates."""
        if not product(self.shape):
            return self.reserved
        counts = list(self.shape)
        if self.interleave is not None:
            counts[self.interleave.dimension] = -(-counts[self.interleave.dimension] // self.interleave.factor)
        steps = [s * n for s, n in zip(self.strides, counts)]
        return max([self.reserved, layout(*self).storage_size, *steps])


def layout(shape: Sequence[int], strides: Sequence[int], interleave: Any = None) -> Layout:
    """``(i_d / f) * strides[d] + i_d % f + sum(i_k * strides[k])``, where ``interleave`` is (d, f) or None."""
    sizes, steps = tuple(_integers(shape, "shape")), tuple(_integers(strides, "strides"))
    if len(sizes) != len(steps):
        raise ShapeError(
            f"shape {sizes} and strides {steps} differ in length.",
            hint="one stride per dimension",
            shape=sizes,
            strides=steps,
        )
    if interleave is None:
        return Layout(sizes, steps)
    pair = _integers(interleave, "interleave")
    if len(pair) != 2 or not 0 <= pair[0] < len(sizes) or pair[1] < 1:
        raise ShapeError(
            f"interleave {tuple(pair)} does not fit the shape {sizes}.",
            hint="write (dimension, factor): a dimension of the array and a factor >= 1",
            interleave=interleave,
            shape=sizes,
        )
    dimension, factor = pair
    blocks: list[Any] = list(sizes)
    nested: list[Any] = list(steps)
    blocks[dimension] = (factor, -(-sizes[dimension] // factor))
    nested[dimension] = (1, steps[dimension])
    return Layout(tuple(blocks), tuple(nested), extents=sizes)


def packed(shape: Sequence[int], interleave: Any = None, alignments: Sequence[int] | None = None) -> Layout:
    """Apple's default strides: ``interleave`` has one factor per dimension, at most one over 1.

    It may also be an ``InterleaveLayout``. ``alignments``, in elements, are one for the total and one for the stride of
    each dimension; the box holds the total where the strides do not give it.
    """
    sizes = _integers(shape, "shape")
    factors = _factors(interleave, len(sizes))
    align = [1] * (len(sizes) + 1) if alignments is None else _integers(alignments, "alignments")
    large = [d for d, f in enumerate(factors) if f > 1]
    if len(factors) != len(sizes) or len(align) != len(sizes) + 1 or min([*factors, *align]) < 1 or len(large) > 1:
        raise ShapeError(
            f"interleave {factors} and alignments {align} do not fit the shape {sizes}.",
            hint="one factor per dimension, at most one over 1; one alignment more than dimensions",
            shape=sizes,
        )
    if any(n % f or f > n for n, f in zip(sizes, factors)):
        raise ShapeError(
            f"the factors {factors} do not divide the shape {sizes}, or it is empty.",
            hint="pad the dimension, or use layout() with strides of your own",
            shape=sizes,
        )
    strides = [0] * len(sizes)
    running = product(tuple(factors))
    for d in range(len(sizes) - 1, -1, -1):
        strides[d] = -(-running // align[d + 1]) * align[d + 1]
        running = strides[d] * (sizes[d] // factors[d])
    x = layout(sizes, strides, InterleaveLayout(large[0], factors[large[0]]) if large else None)
    total = -(-running // align[0]) * align[0]
    return x if total == running else _in_box_of(total, x)


def _integers(x: Any, what: str) -> list[int]:
    if not hasattr(x, "__iter__"):
        raise ShapeError(f"{what} is a list of integers, got {shown(x)}.", hint=f"write {what}=[...]", got=x)
    return [as_int(n, what) for n in x]


def _factors(interleave: Any, rank: int) -> list[int]:
    """One factor per dimension."""
    if interleave is None:
        return [1] * rank
    if not isinstance(interleave, InterleaveLayout):
        return _integers(interleave, "interleave")
    if interleave.dimension not in range(rank):
        raise ShapeError(
            f"{interleave} does not fit an array of {rank} dimensions.",
            hint="name a dimension of the array",
            interleave=interleave,
        )
    return [interleave.factor if d == interleave.dimension else 1 for d in range(rank)]


def _in_box_of(total: int, x: Layout) -> Layout:
    """``x``, whose first dimension goes on outside the window until the box takes ``total`` elements."""
    if x.rank == 0:
        raise ShapeError(
            f"an array without dimensions has one element, not {total}.", hint="give it the shape [1]", total=total
        )
    first = x._mode(0)
    sizes, strides = list(first.sizes), list(first.strides)
    if total % strides[-1]:
        return in_box_of(total, x)
    sizes[-1] = total // strides[-1]
    shape = sizes[0] if len(sizes) == 1 else tuple(sizes)
    stride = strides[0] if len(strides) == 1 else tuple(strides)
    return Layout((shape, *x.shape[1:]), (stride, *x.stride[1:]), extents=x.extents)


def describe(x: Layout) -> Description:
    """``x`` in Core AI's words, with the offset of a view; refused with the reason where it has none."""
    x = as_layout(x, "describe")
    if x.has_basis or x.offset < 0 or x.swizzle is not None:
        raise _cannot(x, "an array does not start below 0, and has no swizzle")
    offset = x.offset
    strides: list[int] = []
    steps = [x.storage_size]
    interleave = None
    for d in range(x.rank):
        sizes, digits, origin, extent = x._mode(d)
        kept = 2 if len(sizes) > 1 and digits[0] == 1 and sizes[0] else 1
        if len(sizes) == kept + 1 and origin + extent <= product(sizes[:kept]):
            sizes = sizes[:kept]
        if len(sizes) != kept or (kept == 2 and interleave is not None):
            raise _cannot(x, "one dimension at most is interleaved, in blocks of consecutive elements")
        if kept == 2:
            interleave = InterleaveLayout(d, sizes[0])
        blocks, inside = divmod(origin, product(sizes[: kept - 1]))
        if inside:
            raise _cannot(x, f"dimension {d} starts inside a block, at its element {inside}")
        offset += blocks * digits[kept - 1]
        strides.append(digits[kept - 1])
        steps.append(sizes[-1] * digits[kept - 1])
    if any(s < 0 for s in strides):
        raise _cannot(x, "strides are not negative")
    elements = max(steps) if x.padded_size and offset == 0 and not any(x.origin) else 0
    return _describe_array(x.extents, tuple(strides), interleave, elements, offset)


def _describe_array(
    shape: tuple[int, ...], strides: tuple[int, ...], interleave: InterleaveLayout | None, elements: int, offset: int
) -> Description:
    """These words, for an array that takes so many elements from the offset on."""
    words = Description(shape, strides, interleave, 0, offset)
    if elements <= words.allocation_elements:
        return words
    return Description(shape, strides, interleave, elements, offset)


def equivalents(x: Layout) -> list[Description]:
    """Every form of the same array: interleaved, with the block as a last dimension, and plain; each proven."""
    first = describe(x)
    shape, strides, interleave = first
    forms = [first]
    if interleave is None:
        return forms
    array = layout(shape, strides, interleave)
    elements = first.allocation_elements
    d, factor = interleave
    if shape[d] % factor == 0:
        split = (*shape[:d], shape[d] // factor, *shape[d + 1 :], factor)
        expected = array.reshape(*shape[:d], shape[d] // factor, factor, *shape[d + 1 :])
        form = _describe_array(split, (*strides, 1), None, elements, first.offset)
        order = [*range(d + 1), *range(d + 2, len(shape) + 1), d + 1]
        if layout(*form).equivalent(expected.permute(order)):
            forms.append(form)
    step = strides[d] if factor == 1 else 1
    plain = _describe_array(shape, (*strides[:d], step, *strides[d + 1 :]), None, elements, first.offset)
    if layout(*plain).equivalent(array):
        forms.append(plain)
    return forms


def _cannot(x: Layout, why: str) -> NotExpressible:
    return NotExpressible(
        f"Core AI cannot hold {x}: {why}.",
        hint="repack it, or take a view on block boundaries",
        dialect="coreai",
        layout=x,
    )
