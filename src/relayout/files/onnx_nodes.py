"""The nodes of an ONNX graph, as far as they tell of weights: constants, and the dimensions operators give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .protobuf import BYTES, VARINT, Field, Message

# Numbers of fields.
_INPUT, _OUTPUT, _OPERATOR, _ATTRIBUTE = 1, 2, 4, 5
_NAME, _INTEGER, _TENSOR = 1, 3, 5

_SPACE = {3: "w", 4: "hw", 5: "dhw"}
"""The names of the spatial dimensions of weights by their rank."""


class OnnxNode(NamedTuple):
    """A node: what it computes, the names of what goes in and comes out, and the tensor of a constant."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    transposed: bool
    constant: Field | None


def read_node(model: Message, part: Field) -> OnnxNode:
    """The node in those bytes."""
    texts: dict[int, list[str]] = {_INPUT: [], _OUTPUT: [], _OPERATOR: []}
    attributes: list[Field] = []
    for field in model.fields(part.start, part.end):
        if field.number in texts and field.wire == BYTES:
            texts[field.number].append(model.text(field))
        elif field.number == _ATTRIBUTE and field.wire == BYTES:
            attributes.append(field)
    operator = texts[_OPERATOR][-1] if texts[_OPERATOR] else ""
    constant, transposed = None, False
    if operator in ("Constant", "Gemm"):
        for attribute in attributes:
            name, number, tensor = _attribute(model, attribute)
            transposed = transposed or (operator == "Gemm" and name == "transB" and number != 0)
            if operator == "Constant" and name == "value" and texts[_OUTPUT]:
                constant = tensor
    return OnnxNode(operator, tuple(texts[_INPUT]), tuple(texts[_OUTPUT]), transposed, constant)


def _attribute(model: Message, part: Field) -> tuple[str, int, Field | None]:
    """The name of an attribute, and its integer or its tensor."""
    name, number, tensor = "", 0, None
    for field in model.fields(part.start, part.end):
        if field.number == _NAME and field.wire == BYTES:
            name = model.text(field)
        elif field.number == _INTEGER and field.wire == VARINT:
            number = field.value
        elif field.number == _TENSOR and field.wire == BYTES:
            tensor = field
    return name, number, tensor


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
    if place != 1:
        return None
    if node.operator == "Conv" and rank in _SPACE:
        return "oi" + _SPACE[rank]
    if node.operator == "ConvTranspose" and rank in _SPACE:
        return "io" + _SPACE[rank]
    if node.operator in ("MatMul", "Gemm") and rank == 2:
        return "oi" if node.transposed else "io"
    return None
