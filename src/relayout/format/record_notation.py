"""The text of a record: ``record nk 1,32 bytes 18: d float16 @0; qs uint4-8 @2 (1,(16,2)):(0,(8,4)); value d*qs``.

A field is its name, its element type less the integer that means 0, and where its elements lie: ``@byte`` or
``@byte.bit``, then for several a layout in bits with one mode for each axis. Planes are parted by ``|`` and say which
bits they hold, ``bits 0-3``, and from which element on, ``from (0,3)``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..errors import ParseError, ShapeError
from ..layout.layout import Layout
from .format import Format

if TYPE_CHECKING:
    from .record import BitPlane, Record, RecordField

_HEAD = re.compile(r"\s*record +([A-Za-z]+) +(\d+(?:,\d+)*) +bytes +(\d+)(?: +order +([^:]+?))? *:")
_FIELD = re.compile(r"\s*([A-Za-z_]\w*) +([a-z]\w*)(?:-(\d+))? +(@.*?)\s*")
_PLANE = re.compile(
    r"\s*@(\d{1,9})(?:\.([0-7]))?(?: +([\d(),]+):([-\d(),]+))?(?: +bits +(\d+)-(\d+))?(?: +from +\(([\d,]+)\))?\s*"
)


def read_record(text: str) -> Record:
    """The record that ``text`` writes down; refused with the place where it is none."""
    from .record import Record

    if not isinstance(text, str):
        raise ShapeError(f"parse takes a text, got {text!r}.", hint="pass a str", got=text)
    head = _HEAD.match(text)
    if head is None:
        raise _wrong("it begins otherwise.", text, 0)
    axes, block, nbytes, order = head.groups()
    fields, value, at = [], None, head.end()
    for part in re.split(r"[;\n]", text[at:]):
        words = part.strip()
        if words.startswith("value "):
            value = words[6:].strip()
        elif words:
            fields.append(_field(part, text, at, len(axes)))
        at += len(part) + 1
    try:
        placed = None if order is None else Format.parse(order)
        return Record(axes, [int(n) for n in block.split(",")], int(nbytes), fields, order=placed, value=value)
    except ShapeError as error:
        raise ParseError(error.message, text=text, position=0, hint=error.hint) from None


def _field(part: str, text: str, at: int, rank: int) -> tuple[Any, ...]:
    match = _FIELD.fullmatch(part)
    if match is None:
        raise _wrong("no field.", text, at)
    name, element, zero, places = match.groups()
    planes = []
    for place in places.split("|"):
        found = _PLANE.fullmatch(place)
        if found is None:
            raise _wrong("no place of a field.", text, at + match.start(4) + places.index(place))
        byte, bit, shape, stride, first, last, start = found.groups()
        offset = 8 * int(byte) + int(bit or 0)
        layout = _layout(shape or _tuple(["1"] * rank), stride or _tuple(["0"] * rank), offset, text, at)
        plane: tuple[Any, ...] = (layout,)
        if first is not None:
            plane = (layout, int(first), int(last) - int(first) + 1)
            plane += () if start is None else (tuple([int(n) for n in start.split(",")]),)
        planes.append(plane)
    return name, element, planes, int(zero or 0)


def _layout(shape: str, stride: str, offset: int, text: str, at: int) -> Layout:
    from ast import literal_eval

    try:
        sizes, steps = literal_eval(shape), literal_eval(stride)
        return Layout(*[x if isinstance(x, tuple) else (x,) for x in (sizes, steps)], offset=offset)
    except (SyntaxError, ShapeError):
        raise _wrong("no layout of a field.", text, at) from None


def _wrong(what: str, text: str, position: int) -> ParseError:
    hint = "as in record nk 1,32 bytes 18: d float16 @0; qs uint4 @2 (1,(16,2)):(0,(8,4))"
    return ParseError(f"not a record: {what}", text=text, position=position, hint=hint)


def write_record(record: Record) -> str:
    """The text of a record, in one line."""
    order = "" if record.order is None else f" order {record.order}"
    head = f"record {record.axes} {','.join(map(str, record.block))} bytes {record.nbytes}{order}: "
    parts = [_field_text(field) for field in record.fields]
    return head + "; ".join(parts + ([] if record.value is None else [f"value {record.value}"]))


def _field_text(field: RecordField) -> str:
    zero = f"-{field.zero}" if field.zero else ""
    return f"{field.name} {field.element}{zero} {' | '.join([_plane_text(p, field) for p in field.planes])}"


def _plane_text(plane: BitPlane, field: RecordField) -> str:
    layout = plane.layout
    byte, bit = divmod(layout.offset, 8)
    text = f"@{byte}.{bit}" if bit else f"@{byte}"
    if any(n != 1 for n in layout.extents):
        text += f" {_tuple(layout.shape)}:{_tuple(layout.stride)}"
    if plane.bits != field.bits or any(plane.start):
        text += f" bits {plane.low}-{plane.low + plane.bits - 1}"
    return text + (f" from {_tuple(plane.start)}" if any(plane.start) else "")


def _tuple(x: Any) -> str:
    """A nested tuple as Python reads it, without spaces."""
    if not isinstance(x, tuple | list):
        return str(x)
    return f"({','.join([_tuple(n) for n in x])}{',' if len(x) == 1 else ''})"
