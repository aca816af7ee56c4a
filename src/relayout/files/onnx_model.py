"""An ONNX model as far as it holds weights: its tensors by name, where they are, and the operators that read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .contents import StoredTensor, bad_file
from .onnx_nchwc import blocked_parts
from .onnx_nodes import OnnxNode, axes_of_weights, read_node
from .onnx_tensors import HINT, read_pair, read_tensor
from .protobuf import BYTES, VARINT, Field, Message
from .reading import with_records_json
from .record import LayoutRecord

# Numbers of fields.
IR_VERSION, GRAPH, PROPERTIES, NODE, INITIALIZER = 1, 7, 14, 1, 5

_SPLIT_RANK = 5
"""The dimensions of a tensor of images whose blocks of channels are a dimension of their own."""

RECORDS = "relayout"
"""The key of ``metadata_props`` that has the records of all tensors, as JSON."""


class OnnxModel(NamedTuple):
    """The tensors of the main graph, all ``metadata_props``, and the name of each tensor by the byte it begins at."""

    entries: dict[str, StoredTensor]
    metadata: dict[str, str]
    names: dict[int, str]
    nodes: list[OnnxNode]
    ir_version: int
    numbers: dict[str, tuple[int, ...]]

    def with_records(self, path: Path) -> dict[str, StoredTensor]:
        """The tensors with what their operators, and the records in the model at ``path``, say of their layouts."""
        entries = dict(self.entries)
        implied = self.implied_layouts({name: entry.shape for name, entry in entries.items()})
        for name, record in implied.records.items():
            entries[name] = entries[name]._replace(record=record)
        for name, texts in implied.undecided.items():
            entries[name] = entries[name]._replace(undecided=texts)
        return with_records_json(entries, self.metadata.get(RECORDS), path)

    def implied_layouts(self, shapes: Mapping[str, tuple[int, ...]]) -> ImpliedLayouts:
        """The layouts and the names of dimensions that operators give to weights of these shapes."""
        axes = axes_of_weights(self.nodes, shapes)
        records = {name: LayoutRecord(shapes[name], "row-major", names) for name, names in axes.items()}
        nchwc = blocked_parts(self.nodes, shapes, self.numbers)
        undecided: dict[str, tuple[str, ...]] = {}
        for name in nchwc.filters:
            records.pop(name, None)
            texts = tuple([f"tvm:{text}" for text in nchwc.texts(name)])
            if len(texts) == 1:
                records[name] = LayoutRecord(shapes[name], texts[0], "oihw")
            else:
                undecided[name] = texts or ("blocks of channels that no size agrees with",)
        return ImpliedLayouts(records, undecided)


class ImpliedLayouts(NamedTuple):
    """What operators say of weights: their layouts, or those that are all possible."""

    records: dict[str, LayoutRecord]
    undecided: dict[str, tuple[str, ...]]


def read_model(model: Message) -> OnnxModel:
    """The weights of a model: initializers and ``Constant`` tensors of the main graph, but for those of strings."""
    path = model.file.path
    found = OnnxModel({}, {}, {}, [], 0, {})
    known, ir_version = False, 0

    def add(part: Field, name: str | None = None) -> None:
        entry = read_tensor(model, part, name)
        if entry is None:
            return
        if entry.name in found.entries:
            raise bad_file(path, "the model has it twice.", HINT, entry.name)
        found.entries[entry.name] = entry
        found.names[part.start] = entry.name
        if entry.element.name == "int64" and entry.shape == (_SPLIT_RANK,):
            found.numbers[entry.name] = _numbers(model, entry)

    for part in model.fields(0, model.file.size):
        if part.number == IR_VERSION and part.wire == VARINT:
            ir_version = part.value
        elif part.number == PROPERTIES and part.wire == BYTES:
            key, value = read_pair(model, part)
            found.metadata[key] = value
        elif part.number == GRAPH and part.wire == BYTES:
            known = True
            for inner in model.fields(part.start, part.end):
                if inner.number == INITIALIZER and inner.wire == BYTES:
                    add(inner)
                elif inner.number == NODE and inner.wire == BYTES:
                    node = read_node(model, inner)
                    found.nodes.append(node)
                    if node.constant is not None:
                        add(node.constant, node.outputs[0])
    if not known:
        raise bad_file(path, "it has no graph: it is no ONNX model.", HINT)
    return found._replace(ir_version=ir_version)


def _numbers(model: Message, entry: StoredTensor) -> tuple[int, ...]:
    """The 64-bit integers of a tensor in the model's own file; none where they are in another."""
    data = entry.inline or b""
    if entry.segments and entry.segments[0].file == model.file.path:
        data = model.file.read(entry.segments[0].start, entry.segments[0].size)
    return tuple([int.from_bytes(data[k : k + 8], "little", signed=True) for k in range(0, len(data), 8)])
