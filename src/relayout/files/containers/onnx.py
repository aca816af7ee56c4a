"""The weights of an ONNX model: initializers and constants, in the file itself or in files next to it.

They are written back into the model that they are from; those of other files become a model of initializers alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...elements.interface import Plain
from ...layout.layout import Layout
from ..container import Container
from ..contents import Destination, PlannedTensor, Source, bad_file
from ..onnx_model import RECORDS, OnnxModel, read_model
from ..onnx_rewrite import MODEL_LIMIT, ModelWriter, Part, Rewriting, new_model, total_size
from ..onnx_tensors import HINT, TYPES
from ..protobuf import Message
from ..reading import HEADER_LIMIT, OpenFile
from ..record import LayoutRecord
from .npy import with_bits_dtype
from .safetensors import texts

IR_VERSION, OPSET = 8, 17
"""Those of new models, but for types that came later."""

_SINCE = {"uint4": 10, "int4": 10, "float4_e2m1fn": 11, "float8_e8m0fnu": 12, "uint2": 13, "int2": 13}
_SINCE |= dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"), 9)
"""The version of the format that types of elements came with."""


class Onnx(Container):
    """The initializers and the constants of a model, their records in its ``metadata_props``."""

    name = "onnx"
    suffixes = (".onnx",)

    def read(self, path: Path) -> Source:
        """All initializers and ``Constant`` tensors of the main graph by name, but for those of strings.

        Weights of operators that say what their dimensions are have names for them. Metadata are the model's
        ``metadata_props``.
        """
        with OpenFile(path) as file:
            model = read_model(Message(file))
        metadata = {key: value for key, value in model.metadata.items() if key != RECORDS}
        return Source(path, self.name, model.with_records(path), metadata)

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        """A model of initializers alone."""
        stored = _by_name(path, [_storable(p, max(_SINCE.values())) for p in planned])
        version = max([_SINCE.get(p.element.name, 0) for p in stored.values()] + [IR_VERSION])
        properties = texts(metadata) | _records_json(path, stored, {})

        def make(writer: ModelWriter) -> list[Part]:
            return new_model(writer, version, OPSET, properties)

        writer, parts = _fit(path, stored, set(), make)
        return writer.destination(parts)

    def plan_into(self, path: Path, planned: Sequence[PlannedTensor], source: Source) -> Destination:
        """The model of ``source`` with these weights in place of its own, and everything else as it was.

        Weights are external where they were, in one file, and all are where the model would be too large.
        """
        if source.kind != self.name:
            return self.plan(path, planned, source.metadata)
        with OpenFile(source.path) as file:
            message = Message(file)
            model = read_model(message)
            if model.with_records(source.path) != dict(source):
                raise bad_file(source.path, "it was changed while it was read.", "start again")
            stored = _by_name(path, [_kept_or_storable(p, model) for p in planned])
            if stored.keys() != model.entries.keys():
                raise bad_file(path, "its weights are not those of the model.", "give each of them a tensor")
            implied = model.implied_layouts({name: p.shape for name, p in stored.items()}).records
            records = _records_json(path, stored, implied).get(RECORDS)
            external = {name for name, e in model.entries.items() if e.segments and e.segments[0].file != source.path}

            def make(writer: ModelWriter) -> list[Part]:
                return Rewriting(message, model, writer, records).parts()

            writer, parts = _fit(path, stored, external, make)
            return writer.destination(parts, message)


CONTAINER = Onnx()


def _by_name(path: Path, planned: Sequence[PlannedTensor]) -> dict[str, PlannedTensor]:
    found = {p.name: p for p in planned}
    if len(found) < len(planned) or "" in found:
        raise bad_file(path, "two tensors have one name, or one has none.", "rename the tensor", "")
    return found


def _storable(p: PlannedTensor, version: int) -> PlannedTensor:
    """The tensor in a type that models of this version have."""
    known = p.element.name in TYPES.values() and _SINCE.get(p.element.name, 0) <= version
    return p if known else with_bits_dtype(p)


def _kept_or_storable(p: PlannedTensor, model: OnnxModel) -> PlannedTensor:
    """The tensor in the type that it has in the model, or in one that the model's version has."""
    old = model.entries.get(p.name)
    return p if old is not None and old.element == p.element else _storable(p, model.ir_version)


def _records_json(
    path: Path, stored: Mapping[str, PlannedTensor], implied: Mapping[str, LayoutRecord]
) -> dict[str, str]:
    """The property that has the records; what the operators say themselves is not said again."""
    told = [
        (p, p.record or LayoutRecord(p.shape, "row-major")) for p in stored.values() if p.record or p.name in implied
    ]
    records = {p.name: record.to_json() for p, record in told if not _is_plain(p, record, implied.get(p.name))}
    if not records:
        return {}
    text = json.dumps(records, ensure_ascii=False, allow_nan=False)
    if len(text.encode()) > HEADER_LIMIT:
        raise bad_file(path, f"its records would have more than {HEADER_LIMIT} bytes.", "write .safetensors")
    return {RECORDS: text}


def _is_plain(p: PlannedTensor, record: LayoutRecord, implied: LayoutRecord | None) -> bool:
    """Whether a reader without the record sees the same tensor."""
    if (record.shape, record.axes, record.fill) != (p.shape, implied and implied.axes, None):
        return False
    seen = Layout.row_major(p.shape) if implied is None else implied.tensor_layout(p.element)
    return record.interface_of(p.element) == Plain(p.element) and record.tensor_layout(p.element).equivalent(seen)


def _fit(
    path: Path, stored: dict[str, PlannedTensor], external: set[str], make: Callable[[ModelWriter], list[Part]]
) -> tuple[ModelWriter, list[Part]]:
    """The parts of a model that Protocol Buffers can hold: with those external data, else with all."""
    for outside in (external, set(stored)):
        writer = ModelWriter(path, stored, outside)
        parts = make(writer)
        if total_size(parts) <= MODEL_LIMIT:
            return writer, parts
    raise bad_file(path, f"the model would have more than {MODEL_LIMIT} bytes without its weights.", HINT)
