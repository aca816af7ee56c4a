"""``Record``: a block of named fields, each an exact layout over bits, repeated over a tensor of any shape.

Quantised weights are stored so: the codes of a block beside its scales, the high bits of the codes apart from the low
ones. Bits count from the least significant of the first byte on; an element's bits are together unless it has planes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from itertools import product as coordinates
from typing import Any

from ..algebra.composition import composition
from ..errors import NotExpressible, Overlap, ShapeError, shown
from ..immutable import Immutable, NamedTuple
from ..integers.inttuple import as_int
from ..integers.nested import flatten, product
from ..layout.layout import Layout
from ..layout.strided_index import strided_index
from .factors import checked_axes, per_dim
from .format import Format

MAX_BITS = 1 << 20
"""The most bits that one record may have: its layout is proven bit by bit."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_ELEMENT = r"[a-z]+(\d+)[a-z0-9_]*"


class BitPlane(NamedTuple):
    """``bits`` bits of every element, from bit ``low`` on, which lie together at ``layout(coordinate)``.

    ``layout`` counts bits and has one mode per axis. It speaks of the elements from ``start`` on.
    """

    layout: Layout
    low: int
    bits: int
    start: tuple[int, ...]

    @property
    def whole(self) -> Layout:
        """The layout with one more mode: the bits of one element, the least significant first."""
        mine = self.layout
        return Layout((*mine.shape, self.bits), (*mine.stride, 1), offset=mine.offset)


class RecordField(NamedTuple):
    """One field: its elements over the block, ``shape`` of them, in one plane or several.

    ``element`` is the name of a type, and ``zero`` the stored integer that means 0.
    """

    name: str
    element: str
    planes: tuple[BitPlane, ...]
    zero: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """How many elements the block has along each axis."""
        ends = [[a + n for a, n in zip(p.start, p.layout.extents)] for p in self.planes]
        return tuple([max(along) for along in zip(*ends)])

    @property
    def bits(self) -> int:
        """The width of one element."""
        return element_width(self.element)

    def bit_places(self) -> list[int]:
        """The place of every bit in the record: those of an element after each other, elements in row-major order."""
        shape, width = self.shape, self.bits
        found = [0] * (product(shape) * width)
        for plane in self.planes:
            places = iter(strided_index(plane.whole))
            for coordinate in _coordinates(plane):
                number = 0
                for c, n in zip(coordinate, shape):
                    number = number * n + c
                first = number * width + plane.low
                found[first : first + plane.bits] = islice(places, plane.bits)
        return found


class Record(Immutable):
    """Blocks of ``block`` elements of a tensor, stored in ``nbytes`` bytes each, as named fields.

    ``fields`` are ``(name, element, planes)`` with a fourth entry for the integer that means 0; a plane is a layout in
    bits, or ``(layout, low, bits)`` or ``(layout, low, bits, start)`` where an element's bits are apart. The records
    of a tensor lie one after the other, the last axis the fastest; ``order``, a format over the axes and the bits of a
    record, says it where it is not so. ``value`` is a formula of the fields: what one element of the tensor is worth.

    >>> q = Record("nk", (1, 32), 18, [("d", "float16", [Layout((1, 1), (0, 0))]),
    ...     ("qs", "uint4", [Layout((1, (16, 2)), (0, (8, 4)), offset=16)], 8)], value="d*qs")
    >>> print(q)
    record nk 1,32 bytes 18: d float16 @0; qs uint4-8 @2 (1,(16,2)):(0,(8,4)); value d*qs
    """

    __slots__ = ("axes", "block", "fields", "nbytes", "order", "value")
    axes: str
    block: tuple[int, ...]
    nbytes: int
    fields: tuple[RecordField, ...]
    order: Format | None
    value: str | None

    def __new__(
        cls,
        axes: str,
        block: Sequence[int],
        nbytes: int,
        fields: Sequence[Any],
        *,
        order: Format | None = None,
        value: str | None = None,
    ) -> Record:
        names = checked_axes(axes, len(axes) if isinstance(axes, str) else 0) or ""
        sizes = per_dim(block, "block", len(names))
        size = as_int(nbytes, "nbytes")
        if not names or 0 in sizes or not 0 < 8 * size <= MAX_BITS:
            raise ShapeError(
                f"a record of {shown(sizes)} elements in {size} bytes is none.",
                hint=f"name its axes, and give it sizes >= 1 and at most {MAX_BITS // 8} bytes",
                block=sizes,
                nbytes=size,
            )
        made = tuple([_checked_field(f, sizes) for f in fields])
        _check_apart(made, 8 * size)
        if order is not None and order.rank != len(names) + 1:
            raise ShapeError(
                f"the order {order} has rank {order.rank}, not {len(names) + 1}.",
                hint="one dimension for each axis, and one for the bits of a record",
                order=order,
            )
        self = super().__new__(cls)
        parts = {"axes": names, "block": sizes, "nbytes": size, "fields": made, "order": order, "value": value}
        for name, part in parts.items():
            object.__setattr__(self, name, part)
        return self

    @property
    def rank(self) -> int:
        return len(self.axes)

    def __getitem__(self, name: str) -> RecordField:
        """The field of that name."""
        for field in self.fields:
            if field.name == name:
                return field
        known = ", ".join([f.name for f in self.fields])
        raise ShapeError(f"there is no field {shown(name)}.", hint=f"the record has {known}", name=name)

    def aligned(self, axes: str) -> Record:
        """This record for tensors whose dimensions come in the order of ``axes``: every bit keeps its place.

        >>> print(Record.parse("record nk 1,8 bytes 1: q uint1 @0 (1,8):(0,1)").aligned("kn"))
        record kn 8,1 bytes 1 order 1 0 2: q uint1 @0 (8,1):(1,0)
        """
        if not isinstance(axes, str) or sorted(axes) != sorted(self.axes):
            raise ShapeError(
                f"the axes {shown(axes)} are not the axes {self.axes!r} of the record.",
                hint="give the same letters in your order",
                axes=axes,
            )
        if axes == self.axes:
            return self
        turn = [self.axes.index(axis) for axis in axes]
        place = [*[axes.index(axis) for axis in self.axes], self.rank]
        fields = [
            f._replace(
                planes=tuple([p._replace(layout=p.layout.permute(*turn), start=_pick(p.start, turn)) for p in f.planes])
            )
            for f in self.fields
        ]
        order = self.order or Format(self.rank + 1, [(d, 0) for d in range(self.rank + 1)])
        factors = [(place[f.dim], *written[1:]) for f, written in zip(order.factors, order.pairs)]
        turned = Format(order.rank, factors, align=order.align)
        return Record(axes, _pick(self.block, turn), self.nbytes, fields, order=turned, value=self.value)

    # ---- with a shape ------------------------------------------------------------------------------------

    def grid(self, shape: Any) -> tuple[int, ...]:
        """How many records a tensor has along each axis; dimensions in front of the axes count as they are."""
        sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
        batch = sizes[: max(0, len(sizes) - self.rank)]
        inner = per_dim(sizes[len(batch) :], "shape", self.rank, self.axes)
        for name, n, block in zip(self.axes, inner, self.block):
            if n % block:
                raise ShapeError(
                    f"{n} elements along {name} are no whole blocks of {block}.",
                    hint=f"pad the tensor to {-(-n // block) * block} along {name} before it is quantised",
                    shape=sizes,
                    block=self.block,
                )
        rests = tuple([n // block for n, block in zip(inner, self.block)])
        return (*per_dim(batch, "shape", len(batch)), *rests)

    def size_of(self, shape: Any) -> int:
        """The bytes of a tensor of that shape."""
        return product(self.grid(shape)) * self.nbytes

    def planes(self, name: str, shape: Any) -> tuple[BitPlane, ...]:
        """Where the bits of a field lie in a whole tensor: planes whose layouts run over all blocks.

        Each mode is one axis of the tensor, the elements of a block before the blocks. Refused where the order of the
        records parts bits of a field that step as one.
        """
        grid = self.grid(shape)
        batch = len(grid) - self.rank
        steps = self._record_steps(grid)
        found = []
        for plane in self[name].planes:
            inner = plane.layout
            if self.order is not None:
                inner = self._through_order(plane, grid)
            shapes = [*grid[:batch], *[(*_digits(n), g) for n, g in zip(inner.shape, grid[batch:])]]
            strides = [*steps[:batch], *[(*_digits(d), s) for d, s in zip(inner.stride, steps[batch:])]]
            layout = Layout(tuple(shapes), tuple(strides), offset=inner.offset)
            found.append(BitPlane(layout, plane.low, plane.bits, (*[0] * batch, *plane.start)))
        return tuple(found)

    def _record_steps(self, grid: tuple[int, ...]) -> list[int]:
        """The bits from one record to the next along each dimension of the grid."""
        if self.order is None:
            return [s * 8 * self.nbytes for s in flatten(Layout.row_major(grid).stride)]
        batch = len(grid) - self.rank
        placed = self.order.layout((*grid[batch:], 8 * self.nbytes))
        if any(isinstance(s, tuple) for s in placed.shape[:-1]) or placed.windowed:
            raise NotExpressible(
                f"the order {self.order} blocks the records themselves.",
                hint="unpack repacks them first",
                record=self,
            )
        outer = flatten(Layout.row_major(grid[:batch]).stride)
        return [s * placed.storage_size for s in outer] + list(placed.stride[:-1])

    def _through_order(self, plane: BitPlane, grid: tuple[int, ...]) -> Layout:
        """The layout of a plane inside its record, in the order that the records are stored in."""
        placed = self.order.layout((*grid[len(grid) - self.rank :], 8 * self.nbytes))  # type: ignore[union-attr]
        through = composition(placed[self.rank], plane.whole)
        bits = Layout(through.shape[-1], through.stride[-1])
        if not bits.equivalent(Layout(plane.bits, 1)):
            raise NotExpressible(
                f"the order {self.order} parts the bits of an element.", hint="unpack repacks it first", record=self
            )
        return Layout(through.shape[:-1], through.stride[:-1], offset=through.offset)

    # ---- data --------------------------------------------------------------------------------------------

    def unpack(self, data: Any, shape: Any) -> dict[str, Any]:
        """The stored elements of every field of a tensor of that shape, in logical order, bit for bit."""
        from ..engine.records import unpack

        return unpack(self, data, shape)

    def pack(self, fields: Any, shape: Any) -> Any:
        """The bytes of a tensor of that shape, from the stored elements of every field; ``unpack`` reversed."""
        from ..engine.records import pack

        return pack(self, fields, shape)

    def decode(self, data: Any, shape: Any) -> Any:
        """The values of a tensor of that shape in float32, each step rounded as the formula is written."""
        from ..engine.records import decode

        return decode(self, data, shape)

    # ---- as a value --------------------------------------------------------------------------------------

    @classmethod
    def parse(cls, text: str) -> Record:
        """The record that ``str`` writes as ``text``."""
        from .record_notation import read_record

        return read_record(text)

    def _key(self) -> tuple[Any, ...]:
        return self.axes, self.block, self.nbytes, self.fields, self.order, self.value

    def __reduce__(self) -> tuple[Any, ...]:
        return Record.parse, (str(self),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        """The record in one line: its axes, block and bytes, then its fields and its value."""
        from .record_notation import write_record

        return write_record(self)

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __repr__(self) -> str:
        return f"Record.parse({str(self)!r})"


def _pick(entries: tuple[int, ...], which: Sequence[int]) -> tuple[int, ...]:
    return tuple([entries[k] for k in which])


def element_width(name: str) -> int:
    """The width in bits that the name of an element type says: its first number."""
    match = re.fullmatch(_ELEMENT, name) if isinstance(name, str) else None
    if match is None:
        raise ShapeError(f"{shown(name)} names no type with a width.", hint="as in uint4 or float16", element=name)
    return int(match[1])


def _digits(x: Any) -> tuple[Any, ...]:
    return flatten(x) if isinstance(x, tuple) else (x,)


def _checked_field(field: Any, block: tuple[int, ...]) -> RecordField:
    """A field whose planes hold every bit of every element once, and whose elements divide the block."""
    name, element, planes, *zero = field
    if not isinstance(name, str) or not re.fullmatch(_NAME, name) or name == "value":
        raise ShapeError(f"{shown(name)} is no name of a field.", hint="letters, digits and _; not value", name=name)
    width = element_width(element)
    made = RecordField(name, element, tuple([_checked_plane(p, width, len(block)) for p in planes]), *zero)
    if not made.planes or any(n == 0 or b % n for n, b in zip(made.shape, block)):
        raise ShapeError(
            f"the field {name} has {shown(made.shape if made.planes else ())} elements in a block of {block}.",
            hint="a divisor of the block along each axis",
            field=made,
            block=block,
        )
    held = [(c, b) for p in made.planes for c in _coordinates(p) for b in range(p.low, p.low + p.bits)]
    if len(held) != product(made.shape) * width or len(set(held)) != len(held):
        raise ShapeError(
            f"the planes of {name} do not hold each of the {width} bits of its elements once.",
            hint="give every bit of every element one place",
            field=made,
        )
    return made


def _checked_plane(plane: Any, width: int, rank: int) -> BitPlane:
    given = plane if isinstance(plane, tuple) else (plane,)
    usual: tuple[Any, ...] = (None, 0, width, (0,) * rank)
    layout, low, bits, start = given + usual[len(given) :]
    if not isinstance(layout, Layout) or layout.rank != rank or layout.swizzle is not None or layout.windowed:
        raise ShapeError(
            f"{shown(layout)} is no layout of {rank} modes without window and swizzle.",
            hint="count bits, with one mode for each axis",
            layout=layout,
        )
    return BitPlane(layout, as_int(low, "low"), as_int(bits, "bits"), per_dim(start, "start", rank))


def _coordinates(plane: BitPlane) -> Iterator[tuple[int, ...]]:
    """The elements of the block that a plane speaks of."""
    return coordinates(*[range(a, a + n) for a, n in zip(plane.start, plane.layout.extents)])


def _check_apart(fields: tuple[RecordField, ...], room: int) -> None:
    """Refuse fields that leave the record, or share a bit; a name twice as well."""
    names = [f.name for f in fields]
    if not fields or len(set(names)) != len(names):
        raise ShapeError(f"the fields {names} are none, or one is there twice.", hint="name each once", fields=names)
    owner: dict[int, str] = {}
    for field in fields:
        for plane in field.planes:
            for address in strided_index(plane.whole):
                if not 0 <= address < room or address in owner:
                    other = f"is bit of {owner[address]} too" if address in owner else f"is outside of {room} bits"
                    raise Overlap(
                        f"bit {address} of {field.name} {other}.",
                        hint="every bit of a record belongs to one field at most",
                        field=field.name,
                        address=address,
                    )
                owner[address] = field.name
