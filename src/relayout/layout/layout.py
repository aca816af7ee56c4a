"""``Layout``: an exact function from logical coordinates to memory offsets, as an immutable value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import NotExpressible, OutOfBounds, ShapeError, shown
from ..immutable import Immutable, NamedTuple
from ..integers.inttuple import BadCoordinate, as_int, as_shape, coord_error, coord_value, rank_error, split
from ..integers.nested import depth as nested_depth
from ..integers.nested import flatten, is_plain_pair, product, running_products, unflatten
from .basis import Basis, as_coordinate, drop_zero_terms
from .candle_members import CandleMembers
from .checks import checked_offset, checked_stride, checked_swizzle, checked_window, compact
from .modes import Mode, digit_sum
from .queries import Queries
from .swizzle import Swizzle
from .views import Views


class Coordinates(NamedTuple):
    """The three ways to name one element: by its number, by one number per mode, and nested like the shape."""

    integer: int
    modes: tuple[int, ...]
    natural: Any


class Layout(Views, Queries, CandleMembers, Immutable):
    """A function from logical coordinates to offsets, in elements.

    The *box* is ``shape``; the *window* is the range ``[origin, origin + extents)`` of it, one per top-level mode, that
    logical coordinates run over (all of it by default). The value at ``c`` is
    ``swizzle(offset + sum(mode_d(origin_d + c_d)))``. Without strides the layout is compact column-major, as in CuTe,
    where a mode of size 1 has stride 0; the row-major one of numpy, torch and Candle is ``Layout.row_major(shape)``.

    >>> Layout((3, 4), (4, 1))(1, 1)
    5
    """

    __slots__ = ("_rest", "shape", "stride")
    shape: Any
    stride: Any
    _rest: tuple[Any, tuple[int, ...] | None, tuple[int, ...] | None, Swizzle | None]

    def __new__(
        cls,
        shape: Any,
        stride: Any = None,
        *,
        offset: int | Basis = 0,
        extents: Any = None,
        origin: Any = None,
        swizzle: Swizzle | tuple[int, int, int] | None = None,
    ) -> Layout:
        self = _new(cls)
        if stride is None:
            shape, stride = compact(shape)
        elif not is_plain_pair(shape, stride):
            shape = as_shape(shape)
            stride = checked_stride(shape, stride)
        _set_shape(self, shape)
        _set_stride(self, stride)
        if offset.__class__ is int and not offset and extents is origin is swizzle is None:
            _set_rest(self, PLAIN)
            return self
        start = drop_zero_terms(checked_offset(offset, stride), flatten(stride))
        window = (None, None) if extents is origin is None else checked_window(shape, extents, origin)
        _set_rest(self, _shared_rest(start, *window, None if swizzle is None else checked_swizzle(swizzle, stride)))
        return self

    @staticmethod
    def _make(
        shape: Any,
        stride: Any,
        offset: Any = 0,
        origin: tuple[int, ...] | None = None,
        extents: tuple[int, ...] | None = None,
        swizzle: Swizzle | None = None,
    ) -> Layout:
        """A layout from parts already known to fit together."""
        self = _new(Layout)
        _set_shape(self, shape)
        _set_stride(self, stride)
        if offset.__class__ is not int:
            offset = drop_zero_terms(offset, flatten(stride))
        _set_rest(self, _shared_rest(offset, origin, extents, swizzle))
        return self

    @staticmethod
    def _plain(shape: Any, stride: Any) -> Layout:
        """A layout of nothing but a shape and a stride known to fit together."""
        self = _new(Layout)
        _set_shape(self, shape)
        _set_stride(self, stride)
        _set_rest(self, PLAIN)
        return self

    @property
    def offset(self) -> Any:
        """Where coordinate 0 of the box lies, in elements."""
        return self._rest[0]

    @property
    def swizzle(self) -> Swizzle | None:
        """The permutation of addresses that is applied last."""
        return self._rest[3]

    @property
    def _origin(self) -> tuple[int, ...] | None:
        return self._rest[1]

    @property
    def _extents(self) -> tuple[int, ...] | None:
        return self._rest[2]

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout._make, self._key()

    @classmethod
    def row_major(cls, *shape: Any) -> Layout:
        """The rightmost coordinate is the fastest; strides as numpy, torch, Candle and Mojo give them."""
        sizes = as_shape(shape[0] if len(shape) == 1 else shape)
        running = 1
        strides = []
        for s in reversed(flatten(sizes)):
            strides.append(running)
            running *= s
        return cls._make(sizes, unflatten(iter(strides[::-1]), sizes))

    @classmethod
    def col_major(cls, *shape: Any) -> Layout:
        """The leftmost coordinate is the fastest, as in ``Layout(shape)``."""
        return cls(shape[0] if len(shape) == 1 else shape)

    @classmethod
    def parse(cls, text: str, dialect: str | None = None, shape: Any = None) -> Layout:
        """The layout that ``text`` writes down; a notation without shapes needs one."""
        from ..dialects.resolve import parse

        return as_layout(parse(text, dialect, shape), "Layout.parse without a shape")

    def to(self, dialect: str, *, padded: bool = False, dtype: Any = None) -> str:
        """This layout in the words of ``dialect``; see ``render``."""
        from ..dialects.render import render

        return render(self, dialect, padded=padded, dtype=dtype)

    # ---- parts -------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def depth(self) -> int:
        return nested_depth(self.shape)

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """The size of the box along each top-level mode."""
        shape = self.shape
        return tuple([product(s) for s in shape]) if isinstance(shape, tuple) else (shape,)

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of logical coordinates along each top-level mode."""
        return self.padded_shape if self._extents is None else self._extents

    @property
    def origin(self) -> tuple[int, ...]:
        """Where the window starts inside the box, for each top-level mode."""
        return (0,) * self.rank if self._origin is None else self._origin

    @property
    def windowed(self) -> bool:
        """Whether logical coordinates run over a part of the box only."""
        return self._extents is not None

    @property
    def size(self) -> int:
        """The number of logical coordinates."""
        return product(self.shape if self._extents is None else self._extents)

    @property
    def box(self) -> Layout:
        """The layout of the whole box: this one without its window."""
        return Layout._make(self.shape, self.stride, self.offset, swizzle=self.swizzle)

    @property
    def padded_size(self) -> int:
        """The number of elements of the box."""
        return product(self.shape)

    @property
    def cosize(self) -> int:
        """CuTe's: one more than the distance between the lowest and the highest offset of the unswizzled box."""
        reach = 1
        for s, d in zip(flatten(self.shape), flatten(self.stride), strict=True):
            if s == 0:
                return 0
            reach += (s - 1) * abs(d)
        return reach

    @property
    def has_basis(self) -> bool:
        """Whether the strides point along coordinates instead of memory."""
        return any(isinstance(d, Basis) for d in flatten(self.stride))

    def __len__(self) -> int:
        return self.rank

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, k: Any) -> Layout:
        """Mode ``k``, without offset and swizzle: ``L(c)`` is ``swizzle(offset + sum(L[d](c[d])))``.

        A nested mode that has a window stays one mode: its shape is a tuple of one.
        """
        if isinstance(k, slice | tuple):
            raise ShapeError(f"L[k] is mode k, got {shown(k)}.", hint="L.view[...] indexes and slices", got=k)
        k = self._dim(k)
        shape, stride = (self.shape[k], self.stride[k]) if isinstance(self.shape, tuple) else (self.shape, self.stride)
        if self._extents is None:
            return Layout._plain(shape, stride)
        mode = self._mode(k)
        if not mode.windowed:
            return Layout._plain(shape, stride)
        if isinstance(shape, tuple):
            shape, stride = (shape,), (stride,)
        return Layout._make(shape, stride, 0, (mode.origin,), (mode.extent,))

    def __iter__(self) -> Iterator[Layout]:
        if self._extents is None and self.shape.__class__ is tuple:
            return map(Layout._plain, self.shape, self.stride)
        return map(self.__getitem__, range(self.rank))

    def _mode(self, k: int) -> Mode:
        """Mode ``k`` as flat sizes and strides with its window."""
        shape, stride = (self.shape[k], self.stride[k]) if isinstance(self.shape, tuple) else (self.shape, self.stride)
        _, origin, extents, _ = self._rest
        start = 0 if origin is None else origin[k]
        if shape.__class__ is int:
            return Mode((shape,), (stride,), start, shape if extents is None else extents[k])
        return Mode(flatten(shape), flatten(stride), start, product(shape) if extents is None else extents[k])

    def with_offset(self, offset: int | Basis) -> Layout:
        """This layout at another offset."""
        return Layout._make(
            self.shape,
            self.stride,
            checked_offset(offset, self.stride),
            self._origin,
            self._extents,
            self.swizzle,
        )

    def with_swizzle(self, swizzle: Swizzle | None) -> Layout:
        """This layout under another swizzle, or under none."""
        checked = None if swizzle is None else checked_swizzle(swizzle, self.stride)
        return Layout._make(self.shape, self.stride, self.offset, self._origin, self._extents, checked)

    def _apply_swizzle(self, swizzle: Swizzle) -> Layout:
        """This layout with its offsets swizzled; one that has a swizzle is refused, for two are no layout."""
        if self.swizzle is not None:
            raise NotExpressible(
                f"{self} has a swizzle already.",
                hint="ComposedLayout(outer, L) applies a second one exactly",
                layout=self,
                swizzle=swizzle,
            )
        return self.with_swizzle(swizzle)

    def copy(self) -> Layout:
        """The layout itself: it is immutable, so it needs no copies."""
        return self

    # ---- the function ------------------------------------------------------------------------------------

    def __call__(self, *coord: Any) -> Any:
        """The offset of a coordinate: an integer, one entry per mode, nested like the shape, or one entry per leaf."""
        c = coord[0] if len(coord) == 1 else coord
        offset, origin, _, swizzle = self._rest
        if origin is None:
            try:
                total = offset + coord_value(c, self.shape, self.stride)
            except BadCoordinate as bad:
                nested = self._nest(c)
                if nested is c:
                    raise bad.as_error(c, self.shape) from None
                return self(nested)
        else:
            total = offset
            for k, x in enumerate(self._mode_coordinate(c)):
                mode = self._mode(k)
                total += digit_sum(mode.sizes, mode.strides, mode.origin + x)
        if total.__class__ is int:
            return total if swizzle is None else swizzle(total)
        return as_coordinate(total, (*flatten(self.stride), offset))

    def _nest(self, coord: Any) -> Any:
        """A coordinate of one integer per leaf nested like the shape; any other as it is."""
        if not isinstance(coord, tuple | list) or len(coord) == self.rank:
            return coord
        if len(coord) != len(flatten(self.shape)) or any(isinstance(x, tuple | list) for x in coord):
            return coord
        return unflatten(iter(coord), self.shape)

    def _mode_coordinate(self, coord: Any) -> tuple[int, ...]:
        """``coord`` as one integer per mode, each inside the window."""
        extents = self.extents
        if not isinstance(coord, tuple | list):
            i = rest = as_int(coord, "a coordinate")
            entries = []
            for n in extents:
                if n == 0 or rest < 0:
                    raise coord_error(i, extents)
                rest, digit = divmod(rest, n)
                entries.append(digit)
            if rest:
                raise coord_error(i, extents)
            return tuple(entries)
        coord = self._nest(coord)
        if len(coord) != len(extents):
            raise rank_error(coord, extents)
        shapes = self.shape if isinstance(self.shape, tuple) else (self.shape,)
        try:
            folded = tuple([_fold_coordinate(c, s) for c, s in zip(coord, shapes)])
        except BadCoordinate as bad:
            raise bad.as_error(coord, self.shape) from None
        for x, n in zip(folded, extents, strict=True):
            if not 0 <= x < n:
                raise coord_error(coord, extents)
        return folded

    def coordinates(self, coord: Any) -> Coordinates:
        """All three names of the element at ``coord``, itself in any of the three forms."""
        modes = self._mode_coordinate(coord)
        integer, weight = 0, 1
        for x, n in zip(modes, self.extents, strict=True):
            integer += x * weight
            weight *= n
        return Coordinates(integer, modes, self._natural(modes))

    def _natural(self, modes: tuple[int, ...]) -> Any:
        if not isinstance(self.shape, tuple):
            return modes[0]
        return tuple([split(x, s) for x, s in zip(modes, self.shape, strict=True)])

    # ---- as a value --------------------------------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.stride, *self._rest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        words = [repr(self.shape), repr(self.stride)]
        if self.offset != 0:
            words.append(f"offset={self.offset!r}")
        if self._extents is not None:
            words.append(f"extents={self._extents!r}")
            if any(self.origin):
                words.append(f"origin={self._origin!r}")
        if self.swizzle is not None:
            words.append(f"swizzle={self.swizzle!r}")
        return f"Layout({', '.join(words)})"

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __str__(self) -> str:
        return self.to("mojo")

    def _dim(self, dim: Any) -> int:
        """``dim`` counted from the start; negative ones count from the end."""
        d = as_int(dim, "a dimension")
        if not -self.rank <= d < self.rank:
            raise OutOfBounds(
                f"dimension {d} of a layout of rank {self.rank} does not exist.",
                hint=f"dimensions run from {-self.rank} to {self.rank - 1}"
                if self.rank
                else "a rank-0 layout has none",
                dim=d,
                rank=self.rank,
            )
        return d % self.rank


PLAIN: tuple[Any, None, None, None] = (0, None, None, None)
"""Offset, origin, extents and swizzle of a layout that has none of them; such layouts share this very tuple."""

_new = object.__new__
_set_shape, _set_stride, _set_rest = (vars(Layout)[name].__set__ for name in ("shape", "stride", "_rest"))


def _fold_coordinate(coord: Any, shape: Any) -> int:
    """A coordinate of one mode as an integer."""
    if isinstance(coord, tuple | list):
        return coord_value(coord, shape, running_products(shape))  # type: ignore[no-any-return]
    return as_int(coord, "a coordinate")


def _shared_rest(*rest: Any) -> Any:
    return PLAIN if rest == PLAIN and type(rest[0]) is int else rest


def as_layout(x: Any, operation: str) -> Layout:
    """``x`` itself if it is a layout, else an error that says so."""
    if isinstance(x, Layout):
        return x
    hint = "rl.parse(text) makes one" if isinstance(x, str) else "Layout(shape, stride), or format.layout(shape)"
    raise ShapeError(f"{operation} takes a layout, got {shown(x)}.", hint=hint, got=x)
