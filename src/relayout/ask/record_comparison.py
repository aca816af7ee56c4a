"""Two records compared: every bit of every field has the same place and the same meaning, or the first that has not.

Where one record begins is a polynomial in the numbers of groups of blocks, linear in each. So records that agree for
two numbers of common groups along each axis agree for every shape that both can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cartesian
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import LimitExceeded, ShapeError, shown
from ..format.format import Format
from ..format.record import Record, RecordField
from ..integers.nested import product
from ..layout.layout import Layout
from ..layout.ranges import ENUMERATION_LIMIT

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RecordComparison(NamedTuple):
    """The verdict on two records; it is truthy when they are the same for every shape that both can have.

    ``meaning`` says what differs beside the places: axes, fields that only one has, element types, zeros, values. Where
    places differ, ``field`` is the first field with such a bit, ``coordinate`` the element in that field of a tensor of
    ``shape``, ``bit`` the bit of the element, and ``places`` are its two places in bits from the first byte on.
    """

    a: Record
    b: Record
    meaning: str | None = None
    field: str | None = None
    coordinate: tuple[int, ...] | None = None
    bit: int | None = None
    places: tuple[int, int] | None = None
    shape: tuple[int, ...] | None = None

    def __bool__(self) -> bool:
        return self.equivalent

    @property
    def equivalent(self) -> bool:
        return self.meaning is None and self.same_places

    @property
    def same_places(self) -> bool:
        """Whether both have the same fields, of elements as wide, and every bit lies at the same place."""
        if self.places is not None or self.a.axes != self.b.axes:
            return False
        mine, theirs = [{f.name: (f.bits, _stands_for(x, f)) for f in x.fields} for x in (self.a, self.b)]
        return mine == theirs

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __str__(self) -> str:
        if self.places is None:
            if self.meaning is not None:
                return f"{'every bit has the same place, but ' if self.same_places else ''}{self.meaning}"
            return "the same record" if self.a.block == self.b.block else "the same for every shape that both can have"
        where = " and ".join([f"{at // 8}.{at % 8}" for at in self.places])
        sizes = " x ".join(map(str, self.shape or ()))
        first = f"for the shape {sizes}: bit {self.bit} of {self.field} {self.coordinate} is at {where} (byte.bit)"
        return first if self.meaning is None else f"{self.meaning}; {first}"


def compare_records(a: Record, b: Record, shape: Any = None, limit: int = ENUMERATION_LIMIT) -> RecordComparison:
    """Whether two records are the same: for tensors of ``shape``, or for every shape that both can have.

    Axes meet by name: shape and coordinates are in the order of the first record's.
    """
    if set(a.axes) == set(b.axes):
        b = b.aligned(a.axes)
    meaning = "; ".join(_other_meanings(a, b, shape)) or None
    if a.axes != b.axes:
        return RecordComparison(a, b, meaning)
    common = [field.name for field in a.fields if any(field.name == other.name for other in b.fields)]
    common = [name for name in common if _stands_for(a, a[name]) == _stands_for(b, b[name])]
    if shape is None and not _alike(a, b) and not all(_is_polynomial(x.order) for x in (a, b)):
        raise LimitExceeded(
            "an order that aligns, or has digits above a rest, is no polynomial: nothing proves that it is another one "
            "for every shape.",
            hint="pass shape=(...)",
            a=a,
        )
    given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for sizes in [given] if shape is not None else _deciding_shapes(a, b):
        if (bits := max(8 * x.size_of(sizes) for x in (a, b))) > limit * 8:
            raise LimitExceeded(
                f"{bits} bits are over the limit of {8 * limit}.", hint="compare for a smaller shape", limit=limit
            )
        for name in common:
            found = _first_difference(a, b, name, sizes)
            if found is not None:
                return RecordComparison(a, b, meaning, name, *found, sizes)
    return RecordComparison(a, b, meaning)


def _deciding_shapes(a: Record, b: Record) -> list[tuple[int, ...]]:
    """Shapes that tell any two records apart whose order aligns nothing, from the smallest on."""
    common = [lcm(m, n) for m, n in zip(_group(a), _group(b))]
    grids = sorted(cartesian((1, 2, 3), repeat=a.rank), key=lambda grid: (product(grid), grid))
    return [tuple([n * g for n, g in zip(common, grid)]) for grid in (grids[:1] if _alike(a, b) else grids)]


def _is_polynomial(order: Format | None) -> bool:
    return order is None or (order._unaligned and not any(f.rests for f in order.factors))


def _alike(a: Record, b: Record) -> bool:
    """Whether the records of both follow each other in the same way."""
    return (a.block, a.nbytes, a.order) == (b.block, b.nbytes, b.order)


def _group(record: Record) -> tuple[int, ...]:
    """The elements of the records that the order takes together, along each axis."""
    records = (1,) * record.rank if record.order is None else record.order.block_shape[:-1]
    return tuple([n * m for n, m in zip(record.block, records)])


# ---- what is told beside the places --------------------------------------------------------------------------


def _other_meanings(a: Record, b: Record, shape: Any) -> Iterator[str]:
    if a.axes != b.axes:
        yield f"their axes are {a.axes} and {b.axes}"
    elif shape is not None and a.size_of(shape) != b.size_of(shape):
        yield f"they take {a.size_of(shape)} and {b.size_of(shape)} bytes"
    names = [[field.name for field in x.fields] for x in (a, b)]
    for which, mine, others in (("first", *names), ("second", *names[::-1])):
        only = [name for name in mine if name not in others]
        if only:
            yield f"only the {which} has {', '.join(only)}"
    for name in [name for name in names[0] if name in names[1]]:
        kinds = [field_type(x[name]) for x in (a, b)]
        if kinds[0] != kinds[1]:
            yield f"{name} is {kinds[0]} and {kinds[1]}"
        wide = [_stands_for(x, x[name]) for x in (a, b)]
        if a.axes == b.axes and wide[0] != wide[1]:
            yield f"one {name} stands for {' and '.join([' x '.join(map(str, n)) for n in wide])} elements"
    values = [(x.value or "unsaid").replace(" ", "") for x in (a, b)]
    if values[0] != values[1]:
        yield f"the value is {values[0]} and {values[1]}"


def field_type(field: RecordField) -> str:
    """The element type less the integer that means 0, as a record's text has it."""
    return f"{field.element}-{field.zero}" if field.zero else field.element


def _stands_for(record: Record, field: RecordField) -> tuple[int, ...]:
    """How many elements of the tensor one element of the field stands for, along each axis."""
    return tuple([n // m for n, m in zip(record.block, field.shape)])


# ---- places ----------------------------------------------------------------------------------------------------


def _first_difference(
    a: Record, b: Record, name: str, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], int, tuple[int, int]] | None:
    """The first element, row-major, and its lowest bit with different places, with both places."""
    import numpy as np

    width = min(a[name].bits, b[name].bits)
    mine, theirs = [bit_places(x, name, shape)[..., :width] for x in (a, b)]
    different = np.flatnonzero((mine != theirs).reshape(-1))
    if not different.size:
        return None
    *where, bit = [int(n) for n in np.unravel_index(different[0], mine.shape)]
    at = (*where, bit)
    return tuple(where), bit, (int(mine[at]), int(theirs[at]))


def bit_places(record: Record, name: str, shape: Any) -> NDArray[Any]:
    """The place of every bit of a field in a tensor of that shape: one axis for each dimension, then the bits."""
    import numpy as np

    field, grid = record[name], record.grid(shape)
    batch = len(grid) - record.rank
    room = 8 * record.nbytes
    rows = (*grid, room)
    stored = Layout.row_major(rows) if record.order is None else record.order.batched(batch).layout(rows)
    if stored.windowed:
        raise ShapeError(
            f"the order {record.order} takes whole groups of records, and a tensor of shape {shown(shape)} has none.",
            hint=f"give multiples of {_group(record)}",
            shape=shape,
        )
    inside = np.array(field.bit_places(), np.int64).reshape(*field.shape, field.bits)
    table = stored.offsets().reshape(*grid, room)[..., inside]
    pairs = [axis for d in range(record.rank) for axis in (batch + d, len(grid) + d)]
    ordered = table.transpose(*range(batch), *pairs, table.ndim - 1)
    sizes = [n * m for n, m in zip(grid[batch:], field.shape)]
    return ordered.reshape(*grid[:batch], *sizes, field.bits)
