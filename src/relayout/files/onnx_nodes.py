"""The nodes of an ONNX graph: what they compute, of what, and the dimensions that they give weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .protobuf import BYTES, VARINT, Field, Message

# Numbers of fields.
_INPUT, _OUTPUT, _NAME, _OPERATOR, _ATTRIBUTE, _DOMAIN = 1, 2, 3, 4, 5, 7
_ATTRIBUTE_NAME, _INTEGER, _TEXT, _TENSOR, _BODY, _INTEGERS, _BODIES = 1, 3, 4, 5, 6, 8, 11

_SPACE = {3: "w", 4: "hw", 5: "dhw"}
"""The names of the spatial dimensions of weights by their rank."""


class OnnxNode(NamedTuple):
    """A node: what it computes, the names of what goes in and comes out, and the tensor of a constant.

    ``attributes`` are its integers, lists of integers and texts; ``bodies`` are graphs of its own, as of ``If``.
    """

    name: str
    domain: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, int | str | tuple[int, ...]]
    constant: Field | None
    bodies: tuple[Field, ...] = ()

    def integer(self, name: str, default: int = 0) -> int:
        """An attribute that is one integer."""
        value = self.attributes.get(name, default)
        return value if isinstance(value, int) else default

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute that is a list of integers, if it is there."""
        value = self.attributes.get(name)
        return value if isinstance(value, tuple) else None


class _NodeAttribute(NamedTuple):
    name: str
    value: int | str | tuple[int, ...] | None
    tensor: Field | None
    bodies: tuple[Field, ...]


def read_node(model: Message, part: Field) -> OnnxNode:
    """The node in those bytes."""
    texts: dict[int, list[str]] = {n: [] for n in (_INPUT, _OUTPUT, _NAME, _OPERATOR, _DOMAIN)}
    found: list[_NodeAttribute] = []
    for field in model.fields(part.start, part.end):
        if field.number in texts and field.wire == BYTES:
            texts[field.number].append(model.text(field))
        elif field.number == _ATTRIBUTE and field.wire == BYTES:
            found.append(_attribute(model, field))
    name, operator, domain = ("".join(texts[n][-1:]) for n in (_NAME, _OPERATOR, _DOMAIN))
    constant = None
    if operator == "Constant" and texts[_OUTPUT]:
        constant = next((a.tensor for a in found if a.name == "value"), None)
    return OnnxNode(
        name,
        "" if domain == "ai.onnx" else domain,
        operator,
        tuple(texts[_INPUT]),
        tuple(texts[_OUTPUT]),
        {a.name: a.value for a in found if a.value is not None},
        constant,
        tuple([body for a in found for body in a.bodies]),
    )


def _attribute(model: Message, part: Field) -> _NodeAttribute:
    """The name of an attribute, and what it holds."""
    name, tensor = "", None
    bodies: list[Field] = []
    value: int | str | None = None
    integers: list[int] = []
    for field in model.fields(part.start, part.end):
        if field.number == _ATTRIBUTE_NAME and field.wire == BYTES:
            name = model.text(field)
        elif field.number == _INTEGER and field.wire == VARINT:
            value = to_signed(field.value)
        elif field.number == _TEXT and field.wire == BYTES:
            value = model.bytes(field).decode(errors="replace")
        elif field.number == _TENSOR and field.wire == BYTES:
            tensor = field
        elif field.number in (_BODY, _BODIES) and field.wire == BYTES:
            bodies.append(field)
        elif field.number == _INTEGERS:
            values = [field.value] if field.wire == VARINT else model.varints(field.start, field.end)
            integers.extend([to_signed(n) for n in values])
    return _NodeAttribute(name, tuple(integers) if integers else value, tensor, tuple(bodies))


def to_signed(n: int) -> int:
    """The integer that 64 bits in two's complement are."""
    return n - (1 << 64) if n >= 1 << 63 else n


def axes_of_weights(nodes: Iterable[OnnxNode], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The names of the dimensions of weights, where all operators that take one agree on them."""
    found: dict[str, set[str | None]] = {}
    for node in nodes:
        for place, name in enumerate(node.inputs):
            if name in shapes:
                found.setdefault(name, set()).add(_axes_of_input(node, place, len(shapes[name])))
    agreed = {name: next(iter(axes)) for name, axes in found.items() if len(axes) == 1}
    return {name: axes for name, axes in agreed.items() if axes is not None}


def _axes_of_input(node: OnnxNode, place: int, rank: int) -> str | None:
    """``o`` and ``i`` are the channels that come out and go in, of an input that has any."""
    if node.operator == "QLinearConv":
        return "oi" + _SPACE[rank] if place == 3 and rank in _SPACE else None
    if place != 1:
        return None
    if node.operator in ("Conv", "FusedConv", "ConvInteger") and rank in _SPACE:
        return "oi" + _SPACE[rank]
    if node.operator == "ConvTranspose" and rank in _SPACE:
        return "io" + _SPACE[rank]
    if node.operator in ("MatMul", "Gemm") and rank == 2:
        return "oi" if node.operator == "Gemm" and node.integer("transB") else "io"
    return None
