"""Core AI's form: ``shape=[8, 6], strides=[24, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)``.

Without an interleaved dimension it ends in ``interleaveLayout=nil`` (or leaves that out). Core AI prints no offset, for
an array starts at 0; a view of one has a word more, ``offset=24``, in elements. The form of the hardware constraints,
``shape=[8, 6], interleave=[4, 1], alignments=[1, 1, 1]``, has Apple's default strides instead. It is strict (the factor
divides the size) and is written by the style ``coreai:strict``. Its shape may be left out.

A call of Swift's reads the same, ``NDArray(shape: [8, 6], scalarType: .float16, strides: [24, 4])``; without strides
it is row-major. An ``InterleaveLayout`` without strides has Apple's default ones, and alone it is for every shape.
"""

from __future__ import annotations

import re
from typing import Any

from ..elements.types import ELEMENTS, Element
from ..errors import ShapeError
from ..format import interleave as coreai
from ..format.format import Format
from ..immutable import NamedTuple
from ..layout.layout import Layout
from .refusal import cannot, require_layout
from .scan import Scanner

EXAMPLES = (
    "shape=[3, 4], strides=[4, 1] interleaveLayout=nil",
    "shape=[6, 3],\nstrides=[12, 4]\ninterleaveLayout=InterleaveLayout(dimension: 0, factor: 4)",
    "shape=[8, 3], interleave=[4, 1], alignments=[1, 1, 8]",
    "interleave=[1, 2]",
    "shape=[4, 6], strides=[24, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4) offset=24",
    "NDArray(shape: [6, 3], scalarType: .float16, interleaveLayout: .init(dimension: 0, factor: 4))",
    "InterleaveLayout(dimension: 0, factor: 4)",
)
"""Texts that it reads, one for each way to write."""


_OWN_NAMES = {
    "float4e2m1fn": "float4_e2m1fn",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e5m2": "float8_e5m2",
    "float8e8m0fn": "float8_e8m0fnu",
}
_SHARED_NAMES = re.compile(r"bool|int([2-7]|8|16|32|64|128)|uint([1-7]|8|16|32|64|128)|b?float16|float(32|64)")
SCALAR_TYPES = {name: x for name, x in ELEMENTS.items() if _SHARED_NAMES.fullmatch(name)} | {
    name: ELEMENTS[own] for name, own in _OWN_NAMES.items()
}
"""Core AI's scalar types by its names, but for the complex ones."""


class Constraints(NamedTuple):
    """What the hardware asks of an array of any shape: one factor per dimension, and alignments in elements."""

    interleave: tuple[int, ...] | None
    alignments: tuple[int, ...] | None

    def layout(self, shape: Any) -> Layout:
        return coreai.packed(shape, (1,) * len(shape) if self.interleave is None else self.interleave, self.alignments)


def parse(text: str) -> Layout | Constraints | coreai.InterleaveLayout:
    scan = Scanner(
        text, "coreai", "shape=[8, 6], strides=[24, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)"
    )
    alone = _interleave(scan)
    found = _array(scan) if alone is None else alone
    scan.end()
    return found


def _array(scan: Scanner) -> Layout | Constraints | coreai.InterleaveLayout:
    """An array, or arrays of any shape: fields, as they are or in a call."""
    called = scan.accept("NDArray")
    if called:
        scan.expect("(")
    found = _fields(scan)
    if called:
        scan.expect(")")
    return found


def _fields(scan: Scanner) -> Layout | Constraints | coreai.InterleaveLayout:
    shape = scan.sizes(_read_list(scan, "shape"))
    typed = _accept_field(scan, "scalarType")
    if typed:
        _scalar_type(scan)
    strides = _read_list(scan, "strides")
    if shape is not None and strides is not None:
        interleave = _interleave_layout(scan)
        return coreai.layout(shape, strides, interleave).with_offset(_offset(scan))
    interleave = _interleave_layout(scan) if strides is None else None
    if interleave is not None:
        return interleave if shape is None else interleave.layout(shape)
    constraints = Constraints(_read_list(scan, "interleave"), _read_list(scan, "alignments"))
    if constraints == (None, None) and (shape is None or not typed):
        scan.fail("strides=[...]" if shape is not None else "shape=[...]")
    return constraints if shape is None else constraints.layout(shape)


def element(text: str) -> Element | None:
    """The type that a text has behind ``scalarType``."""
    named = re.search(r"\bscalarType\s*[:=]\s*\.?(\w+)", text)
    return None if named is None else SCALAR_TYPES.get(named.group(1))


def _accept_field(scan: Scanner, name: str) -> bool:
    """Whether ``name=`` or ``name:``, or before a list the name alone, comes next; then it is behind."""
    at = scan.position
    if scan.accept(name) and (scan.accept("=") or scan.accept(":") or scan.peek() == "["):
        return True
    scan.position = at
    return False


def _read_list(scan: Scanner, name: str) -> tuple[int, ...] | None:
    """``name=[...]`` or ``name: [...]``, and a comma, if it comes next."""
    if not _accept_field(scan, name):
        return None
    values = scan.bracketed_integers()
    scan.accept(",")
    return values


def _scalar_type(scan: Scanner) -> None:
    scan.accept(".")
    scan.peek()
    at = scan.position
    if scan.name() not in SCALAR_TYPES:
        scan.fail("a scalar type of Core AI, such as .float16", at)
    scan.accept(",")


def _interleave_layout(scan: Scanner) -> coreai.InterleaveLayout | None:
    """``interleaveLayout=...``, if it comes next; None for ``nil``."""
    if not _accept_field(scan, "interleaveLayout") or scan.accept("nil"):
        return None
    found = _interleave(scan)
    return scan.fail("InterleaveLayout(dimension: 0, factor: 4) or nil") if found is None else found


def _interleave(scan: Scanner) -> coreai.InterleaveLayout | None:
    """``InterleaveLayout(dimension: 0, factor: 4)``, if it comes next, with Swift's colons or Python's equals signs."""
    if not any(map(scan.accept, ("NDArray.InterleaveLayout", "InterleaveLayout", ".init"))):
        return None
    numbers = []
    for opening, name in (("(", "dimension"), (",", "factor")):
        scan.expect(opening)
        if not _accept_field(scan, name):
            scan.fail(f"{name}:")
        numbers.append(scan.integer())
    scan.expect(")")
    return coreai.InterleaveLayout(*numbers)


def _offset(scan: Scanner) -> int:
    """``offset=24``, where a view begins, if it comes next; else 0."""
    scan.accept(",")
    if not scan.accept("offset"):
        return 0
    if not scan.accept(":"):
        scan.expect("=")
    scan.peek()
    at = scan.position
    offset = scan.integer()
    return offset if offset >= 0 else scan.fail("an offset >= 0: a view lies inside its array", at)


def render(x: Layout | Format, dtype: Any = None) -> str:
    layout = require_layout(x, "coreai")
    described = coreai.describe(layout)
    shape, strides, interleave, *_ = described
    tail = max([1, *[s for s, n in zip(strides, shape) if n > 1]])
    written = coreai.layout(shape, strides, interleave).with_offset(described.offset)
    _check_room(layout, written, "coreai", tail)
    words = "nil" if interleave is None else str(interleave)
    start = f" offset={described.offset}" if described.offset else ""
    return f"shape={list(shape)}, strides={list(strides)} interleaveLayout={words}{start}"


def _strict(x: Layout | Format, dtype: Any = None) -> str:
    """The hardware constraints that give these strides: an alignment of the stride itself where there is a gap."""
    description = coreai.describe(require_layout(x, "coreai:strict"))
    if description.offset:
        why = f"an allocation starts at 0, and this view at {description.offset}"
        raise cannot(x, "coreai:strict", why, "use coreai, which has a word for the offset")
    shape, strides, interleave, *_ = description
    factors = [1] * len(shape)
    if interleave is not None:
        factors[interleave.dimension] = interleave.factor
    alignments = [1] * (len(shape) + 1)
    running = 1 if interleave is None else interleave.factor
    for d in range(len(shape) - 1, -1, -1):
        alignments[d + 1] = 1 if strides[d] == running else max(strides[d], 1)
        running = strides[d] * -(-shape[d] // factors[d])
    if description.reserved > running:
        alignments[0] = description.reserved
    try:
        packed = coreai.packed(shape, factors, alignments)
        same = coreai.describe(packed) == description
    except ShapeError as error:
        raise cannot(x, "coreai:strict", error.message.rstrip("."), "use coreai, which has explicit strides") from None
    if not same:
        why = "its strides grow towards the first dimension, and leave room for what is inside"
        raise cannot(x, "coreai:strict", why, "use coreai, which has explicit strides")
    _check_room(require_layout(x, "coreai:strict"), packed, "coreai:strict")
    return f"shape={list(shape)}, interleave={factors}, alignments={alignments}"


def _check_room(layout: Layout, written: Layout, dialect: str, tail: int = 1) -> None:
    """Refuse more elements behind the last one than ``tail``, one largest step, which is what a pitch leaves there."""
    room = layout.storage_size - written.storage_size
    if room >= tail:
        why = f"its shape and strides do not say that {room} more elements are reserved"
        strict = "" if written.offset else "alignments may: coreai:strict; or "
        raise cannot(layout, dialect, why, f"{strict}keep the mojo form, which has the window")


STYLES = {"strict": _strict}
