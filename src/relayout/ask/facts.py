"""What is known of a layout, a format, a record or a sharding, fact by fact: for tables, JSON and the explorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import LayoutError
from ..format.format import Format
from ..format.record import Record
from ..integers.nested import product
from ..layout.layout import Layout

if TYPE_CHECKING:
    from ..sharding.sharding import Sharding

T = TypeVar("T")

_QUESTIONS = ("contiguous", "one_to_one", "without_holes")
"""The facts that are a yes or a no, and may be undecided."""


def unless_refused(question: Callable[[], T]) -> T | None:
    """The answer, or None where there is none or it would cost too much."""
    try:
        return question()
    except LayoutError:
        return None


def layout_facts(x: Layout, bits: int | None) -> dict[str, Any]:
    """What is known of a layout of elements of ``bits`` bits; None is undecided, or nothing to speak of."""
    injective = unless_refused(x.is_injective)
    room = unless_refused(lambda: x.storage_size)
    padding = room - x.size if injective and room is not None else None
    in_bytes = None if room is None or bits is None else -(-room * bits // 8)
    orders = [("row-major", x.is_contiguous), ("column-major", x.is_fortran_contiguous)]
    answers = [unless_refused(question) for _, question in orders]
    order = next((name for (name, _), yes in zip(orders, answers) if yes), None)
    facts = {
        "layout": str(x),
        "shape": x.extents,
        "box": x.padded_shape if x.windowed else None,
        "origin": x.origin if any(x.origin) else None,
        "strides": x.stride,
        "offset": x.offset or None,
        "swizzle": x.swizzle,
        "elements": x.size,
        "room": room,
        "bytes": in_bytes,
        "padding": padding,
        "waste": f"{padding / room:.1%}" if padding and room else None,
        "offsets": None if x.size == 0 else unless_refused(lambda: (x.min_offset, x.max_offset)),
        "contiguous": order or (False if answers == [False, False] else None),
        "one_to_one": injective,
        "without_holes": unless_refused(x.is_packed),
    }
    return facts if not x.has_basis else {name: value for name, value in facts.items() if name not in _QUESTIONS}


def format_facts(x: Format) -> dict[str, Any]:
    """What is known of a format before its shape is; None is nothing to speak of."""
    return {
        "format": str(x),
        "rank": x.rank,
        "axes": x.axes,
        "order": x.order,
        "block": x.block_shape if x.blocks else None,
        "block_size": product(x.block_shape) if x.blocks else None,
        "fill": x.fill,
        "element_bits": x.element_bits,
    }


def record_facts(x: Record, shape: Any = None) -> dict[str, Any]:
    """What is known of a record, with a shape of the tensor as well; None is nothing to speak of."""
    return {
        "record": str(x),
        "axes": x.axes,
        "block": x.block,
        "record_bytes": x.nbytes,
        "bits_for_each_element": f"{8 * x.nbytes / product(x.block):.6g}",
        "fields": [field.name for field in x.fields],
        "value": x.value,
        "order": x.order,
        "shape": shape,
        "records": None if shape is None else product(x.grid(shape)),
        "bytes": None if shape is None else x.size_of(shape),
    }


def sharding_facts(x: Sharding) -> dict[str, Any]:
    """What is known of a sharding, with a shape what devices hold as well; None is nothing to speak of."""
    known = x.mesh.devices is not None
    shapes = [] if x.shape is None or not known else sorted({x.local_shape(device) for device in x.devices})
    return {
        "sharding": str(x),
        "mesh": dict(x.mesh.axes),
        "devices": len(x.devices) if known else None,
        "shape": x.shape,
        "copies": x.replicas if known else None,
        "partition": x.is_partition() if known else None,
        "even": None if x.shape is None else x.is_even(),
        "local_shapes": [str(shape) for shape in shapes],
    }


def facts_as_text(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Label and text of every fact that there is; a question that is undecided is one."""
    there = [(label, x) for label, x in facts.items() if label in _QUESTIONS or (x is not None and x != [])]
    return [(label.replace("_", " "), _fact_text(label, x)) for label, x in there]


def _fact_text(label: str, value: Any) -> str:
    if label in _QUESTIONS and not isinstance(value, str):
        return "undecided" if value is None else "yes" if value else "no"
    if label == "offsets":
        return f"{value[0]} to {value[1]}"
    if isinstance(value, dict):
        return ", ".join([f"{name}={n}" for name, n in value.items()]) or "no axes"
    return ", ".join(value) if isinstance(value, list) else str(value)
