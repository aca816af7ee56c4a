"""An ONNX model as a graph: its nodes, the types of its values, and no weights.

Payloads are stepped over. A model that is cut off or broken gives what comes before that place.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..elements.types import ELEMENTS, Element
from ..errors import BadFile
from .contents import bad_file
from .onnx_nodes import OnnxNode, read_node, to_signed
from .onnx_tensors import DIMS, HINT, NAME, RAW, TYPE, TYPES
from .protobuf import BYTES, VARINT, Field, Message
from .reading import OpenFile

# Numbers of fields.
_GRAPH = 7
_NODE, _INITIALIZER, _INPUT_INFO, _OUTPUT_INFO, _VALUE_INFO = 1, 5, 11, 12, 13
_INT32_DATA, _INT64_DATA = 5, 7

_SMALL = 64
"""No shape, permutation or list of axes has more numbers; longer tensors are weights."""

_MAX_LEVEL = 32
"""Bodies in bodies are read so deep."""

Size = int | str | None
"""A number, the name of one that the model leaves open, or nothing."""


class ValueType(NamedTuple):
    """The elements and the sizes of a value; None where the model does not tell them."""

    element: Element | None
    shape: tuple[Size, ...] | None


class GraphTensor(NamedTuple):
    """What a tensor says of itself, and its numbers where they are a few integers."""

    name: str
    element: Element | None
    shape: tuple[int, ...]
    numbers: tuple[int, ...] | None


class OnnxGraph(NamedTuple):
    """The graph of a model; ``tensors`` are its initializers and constants by name.

    The nodes of a body come before the node that it belongs to, which reads what the body gives. ``problem`` tells
    where reading ended, if that was before the end.
    """

    nodes: list[OnnxNode]
    tensors: dict[str, GraphTensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: dict[str, ValueType]
    problem: str | None


def is_model(head: bytes) -> bool:
    """Whether a file that begins so is an ONNX model: a version, and after texts alone a graph."""
    at = 0
    if head[:1] != b"\x08":
        return False
    while at < len(head):
        number, wire = head[at] >> 3, head[at] & 7
        if number == _GRAPH and wire == BYTES:
            return True
        size, at = _varint(head, at + 1)
        if size is None or (number, wire) not in {(1, 0), (2, 2), (3, 2), (4, 2), (5, 0), (6, 2), (8, 2), (14, 2)}:
            return False
        at += size if wire == BYTES else 0
    return False


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    value = 0
    for k in range(10):
        if at + k >= len(data):
            break
        value |= (data[at + k] & 0x7F) << 7 * k
        if data[at + k] < 0x80:
            return value, at + k + 1
    return None, at


def read_graph(path: Path) -> OnnxGraph:
    """The main graph of the model at ``path``; BadFile where there is none."""
    found = OnnxGraph([], {}, (), (), {}, None)
    inputs: list[str] = []
    outputs: list[str] = []
    known, problem = False, None
    with OpenFile(path) as file:
        model = Message(file, partial=True)
        try:
            for part in model.fields(0, file.size):
                if part.number == _GRAPH and part.wire == BYTES:
                    known = True
                    for inner in model.fields(part.start, part.end):
                        if inner.wire == BYTES:
                            _read_part(model, inner, found, inputs, outputs)
        except BadFile as error:
            problem = error.message
    if not known:
        raise bad_file(path, "it has no graph: it is no ONNX model.", HINT)
    given = tuple([name for name in inputs if name not in found.tensors])
    return found._replace(inputs=given, outputs=tuple(outputs), problem=problem or model.problem)


def _read_part(
    model: Message, part: Field, found: OnnxGraph, inputs: list[str], outputs: list[str], level: int = 0
) -> None:
    """One field of the graph."""
    if part.number == _NODE:
        node = read_node(model, part)
        given: list[str] = []
        for body in node.bodies if level < _MAX_LEVEL else ():
            for inner in model.fields(body.start, body.end):
                if inner.wire == BYTES:
                    _read_part(model, inner, found, [], given, level + 1)
        found.nodes.append(node._replace(inputs=(*node.inputs, *given)))
        if node.constant is not None:
            found.tensors[node.outputs[0]] = _tensor(model, node.constant)._replace(name=node.outputs[0])
    elif part.number == _INITIALIZER:
        tensor = _tensor(model, part)
        found.tensors[tensor.name] = tensor
    elif part.number in (_INPUT_INFO, _OUTPUT_INFO, _VALUE_INFO):
        name, kind = _value_info(model, part)
        found.types[name] = kind
        if part.number != _VALUE_INFO:
            (inputs if part.number == _INPUT_INFO else outputs).append(name)


def _tensor(model: Message, part: Field) -> GraphTensor:
    name, kind = "", 0
    dims: list[int] = []
    raw: Field | None = None
    held: list[Field] = []
    for field in model.fields(part.start, part.end):
        if field.number == DIMS:
            dims.extend([field.value] if field.wire == VARINT else model.varints(field.start, field.end))
        elif field.number == TYPE and field.wire == VARINT:
            kind = field.value
        elif field.number == NAME and field.wire == BYTES:
            name = model.text(field)
        elif field.number == RAW and field.wire == BYTES:
            raw = field
        elif field.number in (_INT32_DATA, _INT64_DATA) and len(held) <= _SMALL:
            held.append(field)
    element = ELEMENTS.get(TYPES.get(kind, ""))
    integers = element is not None and element.name in ("int32", "int64")
    numbers = _numbers(model, raw, held, element.bytes) if integers and element is not None else None
    return GraphTensor(name, element, tuple(dims), numbers)


def _numbers(model: Message, raw: Field | None, held: list[Field], width: int) -> tuple[int, ...] | None:
    """The integers of a tensor that has a few."""
    if raw is not None:
        if raw.end - raw.start > _SMALL * width:
            return None
        data = model.bytes(raw)
        steps = range(0, len(data), width)
        return tuple([int.from_bytes(data[k : k + width], "little", signed=True) for k in steps])
    if sum([f.end - f.start for f in held]) > _SMALL * 10:
        return None
    every = [n for f in held for n in ([f.value] if f.wire == VARINT else model.varints(f.start, f.end))]
    return tuple([to_signed(n) for n in every])


def _value_info(model: Message, part: Field) -> tuple[str, ValueType]:
    """The name and the type of a value."""
    name, kind = "", ValueType(None, None)
    for field in model.fields(part.start, part.end):
        if field.number == 1 and field.wire == BYTES:
            name = model.text(field)
        elif field.number == 2 and field.wire == BYTES:
            for inner in model.fields(field.start, field.end):
                kind = _tensor_type(model, inner) if inner.number == 1 and inner.wire == BYTES else kind
    return name, kind


def _tensor_type(model: Message, part: Field) -> ValueType:
    element, shape = None, None
    for field in model.fields(part.start, part.end):
        if field.number == 1 and field.wire == VARINT:
            element = ELEMENTS.get(TYPES.get(field.value, ""))
        elif field.number == 2 and field.wire == BYTES:
            dims = [f for f in model.fields(field.start, field.end) if f.number == 1 and f.wire == BYTES]
            shape = tuple([_size(model, dim) for dim in dims])
    return ValueType(element, shape)


def _size(model: Message, part: Field) -> Size:
    size: Size = None
    for field in model.fields(part.start, part.end):
        if field.number == 1 and field.wire == VARINT:
            size = to_signed(field.value)
        elif field.number == 2 and field.wire == BYTES:
            size = model.text(field)
    return None if size == "" or (isinstance(size, int) and size < 0) else size
