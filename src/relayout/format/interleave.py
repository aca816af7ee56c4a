"""Apple Core AI's arrays: strides of which one dimension's counts blocks of ``factor`` elements that lie together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import NotExpressible, ShapeError, shown
from ..immutable import Immutable, NamedTuple
from ..integers.inttuple import as_int
from ..integers.nested import product
from ..layout.layout import Layout, as_layout
from .format import in_box_of


class InterleaveLayout(Immutable):
    """Dimension ``dimension`` is stored in blocks of ``factor`` elements, with stride 1 inside a block.

    It is a layout of arrays of any shape that have the dimension, by Core AI's default strides; a last block that the
    size does not fill is padded. Two are equal if both numbers are.
    """

    __slots__ = ("dimension", "factor")
    dimension: int
    factor: int

    def __new__(cls, dimension: int, factor: int) -> InterleaveLayout:
        self = super().__new__(cls)
        for name, value, least in (("dimension", dimension, 0), ("factor", factor, 1)):
            number = as_int(value, f"the {name} of an interleave layout")
            if number < least:
                raise ShapeError(
                    f"the {name} of an interleave layout is {number}, and is at least {least}.",
                    hint="dimensions count from 0, and a block has at least one element",
                    dimension=dimension,
                    factor=factor,
                )
            object.__setattr__(self, name, number)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return InterleaveLayout, (self.dimension, self.factor)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InterleaveLayout):
            return NotImplemented
        return (self.dimension, self.factor) == (other.dimension, other.factor)

    def __hash__(self) -> int:
        return hash((InterleaveLayout, self.dimension, self.factor))

    def __repr__(self) -> str:
        return f"InterleaveLayout(dimension={self.dimension}, factor={self.factor})"

    def __str__(self) -> str:
        """As Swift writes it, and as the dialect ``coreai`` reads it."""
        return f"InterleaveLayout(dimension: {self.dimension}, factor: {self.factor})"

    def layout(self, shape: Any) -> Layout:
        """The layout of an array of that shape, with Core AI's default strides."""
        return packed(shape, self)

    def stored_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of the stored array without interleaving: blocks counted, and the block as a last dimension."""
        return (*_blocks(_integers(shape, "shape"), self), self.factor)


class NDArrayDescriptor(NamedTuple):
    """A layout in Core AI's words. The stride of the interleaved dimension is from block to block.

    ``scalar_type`` is the name of the elements' type, None where nothing tells it. ``reserved`` is the size of the
    memory where that is more than the words say, else 0. ``offset`` is where a view begins in the memory of its array;
    sizes count from there, and a view reserves nothing.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    interleave_layout: InterleaveLayout | None = None
    scalar_type: str | None = None
    reserved: int = 0
    offset: int = 0

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def layout(self) -> Layout:
        """What the words say, in a box of what is reserved."""
        said = self._said
        return _in_box_of(self.reserved, said) if self.reserved else said.with_offset(self.offset)

    @property
    def _said(self) -> Layout:
        return layout(self.shape, self.strides, self.interleave_layout)

    @property
    def minimum_elements(self) -> int:
        """The elements up to the last one used."""
        return self._said.max_offset + 1 if product(self.shape) else 0

    @property
    def allocation_elements(self) -> int:
        """The elements of whole blocks and whole outermost steps, aligned: what Core AI allocates."""
        if not product(self.shape):
            return self.reserved
        steps = [s * n for s, n in zip(self.strides, _blocks(self.shape, self.interleave_layout))]
        return max([self.reserved, self._said.storage_size, *steps])


def layout(shape: Sequence[int], strides: Sequence[int], interleave_layout: Any = None) -> Layout:
    """``(i_d / f) * strides[d] + i_d % f + sum(i_k * strides[k])``; ``interleave_layout`` may be a pair (d, f)."""
    sizes, steps = tuple(_integers(shape, "shape")), tuple(_integers(strides, "strides"))
    if len(sizes) != len(steps):
        raise ShapeError(
            f"shape {sizes} and strides {steps} differ in length.",
            hint="one stride per dimension",
            shape=sizes,
            strides=steps,
        )
    if interleave_layout is None:
        return Layout(sizes, steps)
    d, factor = _fitting(interleave_layout, sizes)
    blocks: list[Any] = list(sizes)
    nested: list[Any] = list(steps)
    blocks[d] = (factor, -(-sizes[d] // factor))
    nested[d] = (1, steps[d])
    return Layout(tuple(blocks), tuple(nested), extents=sizes)


def packed(shape: Sequence[int], interleave: Any = None, alignments: Sequence[int] | None = None) -> Layout:
    """Apple's default strides: each holds what is inside it, whole blocks counted, and is aligned.

    ``interleave`` is an ``InterleaveLayout``, whose last block may be padded; or the hardware's list, one factor per
    dimension, at most one over 1, which divides its size. ``alignments``, in elements, are one for the total and one
    for the stride of each dimension; the box holds the total where the strides do not give it.
    """
    sizes = _integers(shape, "shape")
    strict = not isinstance(interleave, InterleaveLayout | None)
    factors = _factors(interleave, sizes)
    align = [1] * (len(sizes) + 1) if alignments is None else _integers(alignments, "alignments")
    large = [d for d, f in enumerate(factors) if f > 1]
    if len(factors) != len(sizes) or len(align) != len(sizes) + 1 or min([*factors, *align]) < 1 or len(large) > 1:
        raise ShapeError(
            f"interleave {factors} and alignments {align} do not fit the shape {sizes}.",
            hint="one factor per dimension, at most one over 1; one alignment more than dimensions",
            shape=sizes,
        )
    if strict and any(n % f or f > n for n, f in zip(sizes, factors)):
        raise ShapeError(
            f"the factors {factors} do not divide the shape {sizes}, or it is empty.",
            hint="InterleaveLayout(dimension, factor) pads the last block; the hardware's list of factors does not",
            shape=sizes,
        )
    strides = [0] * len(sizes)
    running = product(tuple(factors))
    for d in range(len(sizes) - 1, -1, -1):
        strides[d] = -(-running // align[d + 1]) * align[d + 1]
        running = strides[d] * -(-sizes[d] // factors[d])
    blocks = interleave if not strict else (large[0], factors[large[0]]) if large else None
    x = layout(sizes, strides, blocks)
    total = -(-running // align[0]) * align[0]
    return x if total == running else _in_box_of(total, x)


def _integers(x: Any, what: str) -> list[int]:
    if not hasattr(x, "__iter__"):
        raise ShapeError(f"{what} is a list of integers, got {shown(x)}.", hint=f"write {what}=[...]", got=x)
    return [as_int(n, what) for n in x]


def _fitting(interleave_layout: Any, sizes: Sequence[int]) -> tuple[int, int]:
    """The dimension and the factor of an interleave that such an array may have."""
    x = interleave_layout
    pair = [x.dimension, x.factor] if isinstance(x, InterleaveLayout) else _integers(x, "interleave_layout")
    if len(pair) != 2 or not 0 <= pair[0] < len(sizes) or pair[1] < 1:
        raise ShapeError(
            f"interleave {tuple(pair)} does not fit the shape {tuple(sizes)}.",
            hint="write (dimension, factor): a dimension of the array and a factor >= 1",
            interleave=interleave_layout,
            shape=tuple(sizes),
        )
    return pair[0], pair[1]


def _blocks(sizes: Sequence[int], interleave: InterleaveLayout | None) -> list[int]:
    """The sizes, blocks counted instead of elements along the interleaved dimension."""
    counts = list(sizes)
    if interleave is not None:
        d, factor = _fitting(interleave, sizes)
        counts[d] = -(-counts[d] // factor)
    return counts


def _factors(interleave: Any, sizes: Sequence[int]) -> list[int]:
    """One factor per dimension."""
    if interleave is None:
        return [1] * len(sizes)
    if not isinstance(interleave, InterleaveLayout):
        return _integers(interleave, "interleave")
    d, factor = _fitting(interleave, sizes)
    return [factor if k == d else 1 for k in range(len(sizes))]


def _in_box_of(total: int, x: Layout) -> Layout:
    """``x``, whose first dimension goes on outside the window until the box takes ``total`` elements."""
    if x.rank == 0:
        raise ShapeError(
            f"an array without dimensions has one element, not {total}.", hint="give it the shape [1]", total=total
        )
    first = x._mode(0)
    sizes, strides = list(first.sizes), list(first.strides)
    if not strides[-1] or total % strides[-1]:
        return in_box_of(total, x)
    sizes[-1] = total // strides[-1]
    shape = sizes[0] if len(sizes) == 1 else tuple(sizes)
    stride = strides[0] if len(strides) == 1 else tuple(strides)
    return Layout((shape, *x.shape[1:]), (stride, *x.stride[1:]), extents=x.extents)


def describe(x: Layout, scalar_type: str | None = None) -> NDArrayDescriptor:
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
    words = NDArrayDescriptor(x.extents, tuple(strides), interleave, scalar_type, 0, offset)
    return _reserving(words, elements)


def _reserving(words: NDArrayDescriptor, elements: int) -> NDArrayDescriptor:
    """These words, for an array that takes so many elements from the offset on."""
    return words if elements <= words.allocation_elements else words._replace(reserved=elements)


def equivalents(x: Layout, scalar_type: str | None = None) -> list[NDArrayDescriptor]:
    """Every form of the same array: interleaved, with the block as a last dimension, and plain; each proven."""
    first = describe(x, scalar_type)
    interleave = first.interleave_layout
    forms = [first]
    if interleave is None:
        return forms
    shape, strides = first.shape, first.strides
    array = layout(shape, strides, interleave)
    elements = first.allocation_elements
    d, factor = interleave.dimension, interleave.factor
    bare = first._replace(interleave_layout=None, reserved=0)
    if shape[d] % factor == 0:
        form = bare._replace(shape=interleave.stored_shape(shape), strides=(*strides, 1))
        expected = array.reshape(*shape[:d], shape[d] // factor, factor, *shape[d + 1 :])
        order = [*range(d + 1), *range(d + 2, len(shape) + 1), d + 1]
        if form._said.equivalent(expected.permute(order)):
            forms.append(_reserving(form, elements))
    step = strides[d] if factor == 1 else 1
    plain = bare._replace(strides=(*strides[:d], step, *strides[d + 1 :]))
    if plain._said.equivalent(array):
        forms.append(_reserving(plain, elements))
    return forms


def _cannot(x: Layout, why: str) -> NotExpressible:
    return NotExpressible(
        f"Core AI cannot hold {x}: {why}.",
        hint="repack it, or take a view on block boundaries",
        dialect="coreai",
        layout=x,
    )
