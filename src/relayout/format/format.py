"""``Format``: a layout before the shape is known. The rests of all dimensions in some order, then fixed blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import NotExpressible, ParseError, ShapeError, shown
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..integers.nested import flatten, product
from ..layout.layout import Layout
from ..layout.modes import Mode
from .factors import (
    MAX_FACTORS,
    Factor,
    Written,
    checked_align,
    checked_axes,
    checked_factors,
    checked_fill,
    in_range,
    padding,
    per_dim,
    with_steps,
)
from .notation import read_format, write_format


class Format(Immutable):
    """How a tensor of any shape is laid out: factors ``(dim, size)``, slowest first; size 0 is the rest of a dimension.

    All rests come first, then the blocks. Within a dimension a factor further right is less significant, unless a
    third entry gives its place value; a negative one stores the digit backwards, its last value first. The place value
    ``"rest"`` is that of a digit above the rest: one step is all that the rest and the digits below it count, so that
    ``(0, 2, "rest")`` pairs the halves of dimension 0. ``axes`` names the dimensions; ``fill`` is the stored value of
    padding; ``indirect`` counts the factors that pick a block from a table; ``align`` rounds up, in elements, the total
    and then the stride of each factor; ``element_bits`` is the width of the elements the format is made for.

    >>> Format(2, [(0, 0), (1, 0), (0, 8), (1, 4)]).layout((10, 6))
    Layout(((8, 2), (4, 2)), ((4, 64), (1, 32)), extents=(10, 6))
    >>> Format(1, [(0, 0), (0, 2, "rest")]).layout(10).offsets().tolist()
    [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    """

    __slots__ = ("align", "axes", "element_bits", "factors", "fill", "indirect", "rank")
    rank: int
    factors: tuple[Factor, ...]
    axes: str | None
    fill: Any
    indirect: int | None
    align: tuple[int, ...] | None
    element_bits: int | None

    def __new__(
        cls,
        rank: int,
        factors: Sequence[Sequence[int | str]],
        *,
        axes: str | None = None,
        fill: Any = None,
        indirect: int | None = None,
        align: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> Format:
        rank = as_int(rank, "rank")
        checked = checked_factors(rank, factors)
        values = {
            "rank": rank,
            "factors": checked,
            "axes": checked_axes(axes, rank),
            "fill": checked_fill(fill),
            "indirect": None if indirect is None else in_range(indirect, "indirect", 0, len(checked)),
            "align": None if align is None else checked_align(align, len(checked)),
            "element_bits": None if element_bits is None else in_range(element_bits, "element_bits", 1, 4096),
        }
        if align is not None and any(f.rests for f in checked):
            raise ShapeError(
                "a format with alignments has no digits above a rest: an alignment may enlarge the rest.",
                hint="leave align out, or write the place value as a number",
                align=align,
            )
        self = super().__new__(cls)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_format, (self.rank, self.pairs, self._options())

    @property
    def order(self) -> tuple[int, ...]:
        """The dimensions in the order of their rests, slowest first."""
        return tuple([f.dim for f in self.factors[: self.rank]])

    @property
    def blocks(self) -> tuple[Factor, ...]:
        """The factors of fixed size, slowest first."""
        return self.factors[self.rank :]

    @property
    def block_shape(self) -> tuple[int, ...]:
        """The size of one block along each dimension."""
        return tuple([product(tuple([f.size for f in self.blocks if f.dim == d])) for d in range(self.rank)])

    @property
    def pairs(self) -> tuple[Written, ...]:
        """The factors as they are written: with a place value only where it is not the usual one."""
        usual = with_steps(self.rank, [f._replace(step=0) for f in self.factors])
        plain = [f == u and not f.rests for f, u in zip(self.factors, usual)]
        return tuple([(f.dim, f.size) if p else (f.dim, f.size, f.place) for f, p in zip(self.factors, plain)])

    # ---- other formats -----------------------------------------------------------------------------------

    def tile(self, *sizes: Sequence[int]) -> Format:
        """The innermost blocks cut into tiles ``(dim, size)``, slowest first: the tiles come last, each one whole.

        A dimension without a block is cut as it is, and padded; a block must be a multiple of its tile.

        >>> print(Format(2, [(0, 0), (1, 0)]).tile((0, 8), (1, 128)).tile((0, 2), (1, 1)))
        0 1 / 0,4 1,128 0,2
        """
        if any(len(p) == 3 for p in self.pairs) or not self._unaligned:
            raise NotExpressible(
                f"{self} has place values or alignments, which a tile would cut through.",
                hint="tile first, or write out all factors",
                format=self,
            )
        if any(not isinstance(size, tuple | list) or len(size) != 2 for size in sizes):
            raise ShapeError(f"tiles are pairs (dim, size), got {shown(sizes)}.", hint="no place values", tiles=sizes)
        factors = [[f.dim, f.size] for f in self.factors]
        tiles = checked_factors(self.rank, [*self.pairs[: self.rank], *sizes])[self.rank :]
        for dim, size, *_ in tiles:
            block = max(k for k, (d, _) in enumerate(factors) if d == dim)
            if factors[block][1] % size:
                raise ShapeError(
                    f"a tile of {size} does not divide the block of {factors[block][1]} along dimension {dim}.",
                    hint="a tile inside a block is not padded",
                    format=self,
                    tile=(dim, size),
                )
            factors[block][1] //= size
        fixed = max(self.rank, self.indirect or 0)
        kept = [f for k, f in enumerate(factors) if k < fixed or f[1] > 1]
        return Format(self.rank, [*kept, *[(f.dim, f.size) for f in tiles if f.size > 1]], **self._options())

    def aligned(self, axes: str) -> Format:
        """This format for tensors whose dimensions come in the order of ``axes``.

        >>> print(Format(4, [(0, 0), (1, 0), (2, 0), (3, 0)], axes="nhwc").aligned("nchw"))
        0 2 3 1 axes nchw

        A format without names takes them by position. Other letters are refused, never matched by position.
        """
        if self.axes is None:
            return self.renamed(axes)
        wanted = checked_axes(axes, self.rank)
        if wanted is None or set(axes) != set(self.axes):
            raise ShapeError(
                f"the axes {axes!r} are not the axes {self.axes!r} of the format.",
                hint=f"give the same letters in your order, or name them by position: x.renamed({axes!r})",
                axes=axes,
                format=self,
            )
        factors = [(axes.index(self.axes[f.dim]), *p[1:]) for f, p in zip(self.factors, self.pairs)]
        return Format(self.rank, factors, **{**self._options(), "axes": wanted})

    def batched(self, count: int = 1, axes: str | None = None) -> Format:
        """This format behind ``count`` more dimensions, which come first and are the slowest; ``axes`` names them.

        >>> print(Format(2, [(0, 0), (1, 0), (0, 32), (1, 32)]).batched(2))
        0 1 2 3 / 2,32 3,32
        """
        more = as_int(count, "count")
        if not 0 <= more <= MAX_FACTORS:
            raise ShapeError(
                f"a format gets 0 to {MAX_FACTORS} more dimensions, not {more}.", hint="count them", count=more
            )
        options = {**self._options(), "axes": axes + self.axes if axes and self.axes else None}
        if self.align is not None:
            options["align"] = (self.align[0], *[1] * more, *self.align[1:])
        if self.indirect is not None:
            options["indirect"] = self.indirect + more
        factors = [(f.dim + more, *p[1:]) for f, p in zip(self.factors, self.pairs)]
        return Format(self.rank + more, [*[(d, 0) for d in range(more)], *factors], **options)

    def renamed(self, axes: str | None) -> Format:
        """This format with other names for its dimensions, by position."""
        return Format(self.rank, self.pairs, **{**self._options(), "axes": axes})

    def plain(self) -> Format:
        """Only where elements lie: this format without fill, table and width, as no name of the catalog means it.

        >>> print(Format(2, [(0, 0), (1, 0), (1, 8)], fill=31, indirect=2, element_bits=8).plain())
        0 1 / 1,8
        """
        kept = {name: value for name, value in self._options().items() if name in ("axes", "align")}
        return Format(self.rank, self.pairs, **kept)

    @property
    def _unaligned(self) -> bool:
        return self.align is None or set(self.align) == {1}

    # ---- with a shape ------------------------------------------------------------------------------------

    def layout(self, shape: Any, *, left_pad: Any = None, right_pad: Any = None) -> Layout:
        """The layout of a tensor of that shape: the window is the tensor, the rest of the box is padding."""
        physical, strides = self._sizes_and_strides(shape, left_pad, right_pad)
        layout = self._assemble(physical, strides, shape, left_pad)
        total = self._aligned_total(physical, strides)
        return layout if layout.padded_size == 0 or total <= layout.storage_size else in_box_of(total, layout)

    def _aligned_total(self, physical: list[int], strides: list[int]) -> int:
        """The elements that the alignment of the whole asks for."""
        if self._unaligned or self.align is None:
            return 0
        end = physical[0] * strides[0] if physical else 1
        return -(-end // self.align[0]) * self.align[0]

    def padded_shape(self, shape: Any, *, left_pad: Any = None, right_pad: Any = None) -> tuple[int, ...]:
        """The shape of the box: padding in front and behind included, rounded up to whole blocks and alignments."""
        physical, _ = self._sizes_and_strides(shape, left_pad, right_pad)
        return tuple(
            [product(tuple([n for n, f in zip(physical, self.factors) if f.dim == d])) for d in range(self.rank)]
        )

    def physical_shape(self, shape: Any, *, left_pad: Any = None, right_pad: Any = None) -> tuple[int, ...]:
        """The shape of the stored array, one axis per factor, slowest first."""
        return tuple(self._sizes_and_strides(shape, left_pad, right_pad)[0])

    def split(self, shape: Any, *, left_pad: Any = None, right_pad: Any = None) -> tuple[Layout, Layout]:
        """The number of the block an element is in, and its place in the block: two layouts over the same coordinates.

        The cut is after the first ``indirect`` factors, or after the rests.
        """
        physical, strides = self._sizes_and_strides(shape, left_pad, right_pad)
        cut, elements = self._cut(physical, strides)
        outer = [d // elements if elements else 0 for d in strides[:cut]] + [0] * (len(strides) - cut)
        inner = [0] * cut + strides[cut:]
        return self._assemble(physical, outer, shape, left_pad), self._assemble(physical, inner, shape, left_pad)

    def _cut(self, physical: list[int], strides: list[int]) -> tuple[int, int]:
        """After how many factors the blocks begin, and how many elements each has; they divide all strides before."""
        cut = self.rank if self.indirect is None else self.indirect
        elements = strides[cut - 1] if cut else max(self._aligned_total(physical, strides), product(tuple(physical)))
        if elements and any(d % elements for d in strides[:cut]):
            raise NotExpressible(
                f"blocks of {elements} elements do not divide the aligned strides {strides[:cut]}.",
                hint="align to whole blocks",
                format=self,
                sizes=tuple(physical),
            )
        return cut, elements

    def _stored_shape(self, layout: Layout) -> tuple[int, ...]:
        """The shape of the stored array of a layout that this format gave: its ``physical_shape``."""
        return tuple(self._factors_in(layout)[0])

    def _stored_block_shape(self, layout: Layout) -> tuple[int, ...]:
        """The shape of the blocks that :meth:`split` numbers, of a layout that this format gave."""
        physical, strides = self._factors_in(layout)
        return tuple(physical[self._cut(physical, strides)[0] :])

    def _factors_in(self, layout: Layout) -> tuple[list[int], list[int]]:
        """The size and the stride of every factor, slowest first, in a layout that this format gave."""
        sizes, strides = [0] * len(self.factors), [0] * len(self.factors)
        for d, (shape, stride) in enumerate(zip(layout.shape, layout.stride)):
            for k, n, step in zip(self._factors_of(d), flatten(shape), flatten(stride)):
                sizes[k], strides[k] = n, abs(step)
        return sizes, strides

    def _sizes_and_strides(self, shape: Any, left_pad: Any, right_pad: Any) -> tuple[list[int], list[int]]:
        """The size and the stride of every factor, slowest first."""
        sizes = per_dim(shape, "shape", self.rank, self.axes)
        left, right = padding(left_pad, "left_pad", self.rank), padding(right_pad, "right_pad", self.rank)
        rests = [-(-(n + a + b) // block) for n, a, b, block in zip(sizes, left, right, self.block_shape)]
        physical = [f.size or rests[f.dim] for f in self.factors]
        strides = [0] * len(physical)
        align = self.align or (1,) * (len(physical) + 1)
        end = 1
        for k in range(len(physical) - 1, -2, -1):
            aligned = -(-end // align[k + 1]) * align[k + 1]
            inner = k + 1
            if inner < self.rank and strides[inner] and physical[inner] and aligned % strides[inner] == 0:
                physical[inner] = aligned // strides[inner]
            if k >= 0:
                strides[k] = aligned
                end = aligned * physical[k]
        return physical, strides

    def _factors_of(self, dim: int) -> list[int]:
        """Which factors are digits of a dimension, the fastest first; of those that step alike one of size 1 is."""
        own = [(abs(f.rests), abs(f.step), f.size != 1, -k) for k, f in enumerate(self.factors) if f.dim == dim]
        return [-key[-1] for key in sorted(own)]

    def _assemble(self, physical: list[int], strides: list[int], shape: Any, left_pad: Any) -> Layout:
        backwards = [f.backwards for f in self.factors]
        offset = sum([(n - 1) * stride for n, stride, back in zip(physical, strides, backwards) if back])
        strides = [-stride if back else stride for stride, back in zip(strides, backwards)]
        shapes: list[Any] = []
        steps: list[Any] = []
        for d in range(self.rank):
            own = self._factors_of(d)
            if len(own) == 1:
                shapes.append(physical[own[0]])
                steps.append(strides[own[0]])
            else:
                shapes.append(tuple([physical[k] for k in own]))
                steps.append(tuple([strides[k] for k in own]))
        extents = per_dim(shape, "shape", self.rank, self.axes)
        origin = padding(left_pad, "left_pad", self.rank)
        return Layout(tuple(shapes), tuple(steps), offset=offset, extents=extents, origin=origin)

    # ---- as a value --------------------------------------------------------------------------------------

    def equivalent(self, other: Format) -> bool:
        """Whether both give the same layout for every shape; names, fill, tables and widths do not count.

        Formats with alignments are equivalent only if they are written alike.
        """
        if not isinstance(other, Format):
            raise ShapeError(
                f"a format is compared with a format, got {shown(other)}.", hint="rl.parse(text) makes one"
            )
        return self._canonical() == other._canonical()

    def _canonical(self) -> tuple[Any, ...]:
        """The factors without those of size 1, neighbours that step as one merged; as they are under an alignment."""
        if not self._unaligned:
            return self.rank, self.factors, self.align
        kept = list(self.factors[: self.rank])
        for f in self.blocks:
            last = kept[-1] if len(kept) > self.rank else None
            above = (f.dim, f.size * f.step, f.size * f.rests)
            if last is not None and (last.dim, last.step, last.rests) == above:
                kept[-1] = f._replace(size=last.size * f.size)
            elif f.size != 1:
                kept.append(f)
        return self.rank, tuple(kept)

    def _options(self) -> dict[str, Any]:
        """What the format says beside its factors: the arguments of the constructor that are not None."""
        names = ("axes", "fill", "indirect", "align", "element_bits")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self.rank, self.factors, self.axes, self.indirect, self.align, self.element_bits))

    def __repr__(self) -> str:
        words = "".join([f", {name}={value!r}" for name, value in self._options().items()])
        return f"Format({self.rank}, {self.pairs!r}{words})"

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __str__(self) -> str:
        """The order of the rests, a slash, the blocks, then words: ``0 1 2 3 / 1,8 2,8 3,32 axes nhwc fill 31``."""
        return write_format(self.rank, self.pairs, self._options())

    def to(self, dialect: str, *, padded: bool = False, dtype: Any = None) -> str:
        """This format in the words of ``dialect``; see ``render``."""
        from ..dialects.render import render

        return render(self, dialect, padded=padded, dtype=dtype)

    @classmethod
    def parse(cls, text: str) -> Format:
        """The format that ``str`` writes as ``text``."""
        if not isinstance(text, str):
            raise ShapeError(f"parse takes a text, got {shown(text)}.", hint="pass a str", got=text)
        rank, factors, options = read_format(text)
        try:
            return cls(rank, factors, **options)
        except ShapeError as error:
            start = len(text) - len(text.lstrip())
            raise ParseError(error.message, text=text, position=start, hint=error.hint) from None


def _rebuild_format(rank: int, pairs: Any, words: dict[str, Any]) -> Format:
    return Format(rank, pairs, **words)


def format_of(layout: Layout) -> Format:
    """The format that gives ``layout`` for its extents: the slowest digit of every mode is its rest.

    Where that is none, digits above one with a longer stride are taken as such. Refused where the strides are not those
    of whole factors, slowest first, with the rests before the blocks.
    """
    modes = [layout._mode(d) for d in range(layout.rank)]
    if any(0 in mode.sizes[:-1] for mode in modes):
        raise NotExpressible(f"{layout} is no format: its blocks are empty.", hint="use its extents", layout=layout)
    last = [len(mode.sizes) - 1 for mode in modes]
    longest = [max(range(len(mode.sizes)), key=lambda k: (abs(mode.strides[k]), k), default=-1) for mode in modes]
    usual = _format_with_rests(modes, last)
    for fmt in (usual, _format_with_rests(modes, longest) if longest != last else usual):
        same = fmt.layout(layout.extents, left_pad=layout.origin)
        if layout.swizzle is None and same.equivalent(layout) and same.storage_size == layout.storage_size:
            return fmt
    verdict = usual.layout(layout.extents, left_pad=layout.origin).compare(layout)
    raise NotExpressible(
        f"{layout} is no format: the nearest one, {usual}, is {verdict}.",
        hint="a format has compact strides, all rests before its blocks, and no offset or swizzle",
        counterexample=verdict.coordinate,
        layout=layout,
    )


def _format_with_rests(modes: Sequence[Mode], rests: Sequence[int]) -> Format:
    """The format with the digits of these modes, the longest strides first; ``rests`` says which is each one's rest."""
    digits: list[tuple[int, bool, bool, Written]] = []
    for d, (mode, rest) in enumerate(zip(modes, rests)):
        if not mode.sizes:
            digits.append((0, False, True, (d, 0)))
        step = 1
        for k, (n, stride) in enumerate(zip(mode.sizes, mode.strides)):
            sign = "-" if stride < 0 and n > 1 else ""
            place = f"{sign}{step}rest" if k > rest else int(f"{sign}{step}")
            digits.append((-abs(stride), k != rest, n == 1, (d, 0) if k == rest else (d, n, place)))
            step = n * step if k != rest else 1
    factors = [factor for *_, factor in sorted(digits, key=lambda digit: digit[:3])]
    factors.sort(key=lambda factor: factor[1] != 0)
    return Format(len(modes), factors)


def in_box_of(total: int, layout: Layout) -> Layout:
    """``layout`` in a box of ``total`` elements: one more digit of its first dimension, outside the window."""
    if layout.rank == 0:
        raise NotExpressible(
            f"a scalar has one element, not {total}.", hint="give it a dimension of size 1", total=total
        )
    first = layout._mode(0)
    shape = ((*first.sizes, 2), *layout.shape[1:])
    stride = ((*first.strides, total - layout.storage_size), *layout.stride[1:])
    return Layout(shape, stride, offset=layout.offset, extents=layout.extents, origin=layout.origin)
