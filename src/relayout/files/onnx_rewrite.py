"""ONNX models with other weights: the bytes of the new model in parts, all but the data of its tensors.

A model is a tree of messages. A part is written again where a tensor under it changes its length; everything else is
kept as the bytes that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from .contents import Destination, PlannedTensor, Segment, bad_file, nbytes
from .onnx_model import GRAPH, INITIALIZER, PROPERTIES, RECORDS, OnnxModel
from .onnx_tensors import DIMS, EXTERNAL, HINT, LOCATION, NAME, RAW, TYPE, TYPED, TYPES, read_pair, read_tensor
from .protobuf import BYTES, VARINT, Field, Message, encode_field, field_head
from .reading import HEADER_LIMIT, OpenFile

MODEL_LIMIT = (1 << 31) - 1
"""No message of Protocol Buffers is longer: the data of a larger model are in a file of their own."""

MAX_DEPTH = 100
"""No message is nested more deeply; Protocol Buffers itself reads none that is."""

_TYPE_NUMBERS = {name: number for number, name in TYPES.items()}

_INSIDE = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
"""By the number of a field the message in it, of all messages that tensors are in."""

# Fields of a graph that declare the type of a value, and theirs.
_INPUT, _VALUE_INFO, _VALUE_NAME, _VALUE_TYPE = 11, 13, 1, 2
_DATA = {RAW, EXTERNAL, LOCATION, *TYPED}
_CHANGED = {DIMS, TYPE, *_DATA}


class Span(NamedTuple):
    """Bytes of the old model, kept."""

    start: int
    end: int


class Hole(NamedTuple):
    """Bytes that the data of a tensor go to."""

    name: str
    size: int


Part: TypeAlias = bytes | Span | Hole


class ModelWriter:
    """Puts models together, and the file of external data beside: ``external`` says which tensors are in that."""

    def __init__(self, path: Path, planned: Mapping[str, PlannedTensor], external: Iterable[str]) -> None:
        self.path, self.planned, self.external = path, planned, set(external)
        self.data_path = path.with_name(path.name + ".data")
        self.data_size = 0
        self.entries: dict[str, tuple[Segment, ...]] = {}

    def tensor(self, name: str, others: list[tuple[int, Part]]) -> list[Part]:
        """A tensor with its new type, shape and data; ``others`` are its other fields, by their numbers."""
        p = self.planned[name]
        size = nbytes(p.element, p.shape)
        head = b"".join([encode_field(DIMS, n) for n in p.shape]) + encode_field(TYPE, _TYPE_NUMBERS[p.element.name])
        before: list[Part] = [part for number, part in others if number < RAW]
        after: list[Part] = [part for number, part in others if number >= RAW]
        if name not in self.external:
            return [head, *before, field_head(RAW, size), Hole(name, size), *after]
        start = self._external_place(size)
        self.entries[name] = (Segment(self.data_path, start, size),)
        places = {"location": self.data_path.name, "offset": str(start), "length": str(size)}
        told = [encode_pair(EXTERNAL, key, value) for key, value in places.items()]
        return [head, *before, *after, b"".join(told) + encode_field(LOCATION, 1)]

    def _external_place(self, size: int) -> int:
        """A place in the file of external data; ONNX wants those that are mapped at multiples of a page."""
        name = self.data_path.name
        if ":" in name or "\\" in name or not name.isprintable():
            what = "the file of its external data cannot have a name after this one."
            raise bad_file(self.path, what, "choose a name of plain letters")
        unit = 4096 if size >= 4096 else 64
        start = -(-self.data_size // unit) * unit if size else self.data_size
        self.data_size = start + size
        return start

    def destination(self, parts: list[Part], old: Message | None = None) -> Destination:
        """The files of a model that has those parts."""
        kept = sum([_size(part) for part in parts if not isinstance(part, Hole)])
        if kept > HEADER_LIMIT:
            what = f"the model has {kept} bytes besides its weights, and the limit is {HEADER_LIMIT}."
            raise bad_file(self.path, what, "keep weights as initializers of the main graph")
        pieces: dict[int, bytes] = {}
        at, run = 0, bytearray()
        for part in parts:
            if isinstance(part, Hole):
                pieces[at - len(run)] = bytes(run)
                run.clear()
                self.entries[part.name] = (Segment(self.path, at, part.size),)
            elif isinstance(part, Span):
                run += b"" if old is None else old.bytes(Field(0, BYTES, 0, *part))
            else:
                run += part
            at += _size(part)
        pieces[at - len(run)] = bytes(run)
        files: dict[Path, tuple[int, dict[int, bytes]]] = {self.path: (at, {k: x for k, x in pieces.items() if x})}
        if self.external:
            files = {self.data_path: (self.data_size, {}), **files}
        return Destination(files, {name: self.entries[name] for name in self.planned})


def message(number: int, parts: list[Part]) -> list[Part]:
    """A field that is a message of those parts."""
    return [field_head(number, sum([_size(part) for part in parts])), *parts]


def encode_pair(number: int, key: str, value: str) -> bytes:
    """A field that is an entry of two texts."""
    return encode_field(number, encode_field(1, key) + encode_field(2, value))


def _size(part: Part) -> int:
    if isinstance(part, Hole):
        return part.size
    return part.end - part.start if isinstance(part, Span) else len(part)


def total_size(parts: Iterable[Part]) -> int:
    """The bytes of all parts."""
    return sum([_size(part) for part in parts])


class Rewriting:
    """The parts of a model that has other tensors, and the record of them."""

    def __init__(self, message: Message, model: OnnxModel, writer: ModelWriter, records: str | None) -> None:
        self.message, self.model, self.writer, self.records = message, model, writer, records
        self._moved = 0

    def parts(self) -> list[Part]:
        """All parts. The record is before the graph: without it the tensors are not what they seem."""
        return self._message("model", Span(0, self.message.file.size), 0)

    def _message(self, kind: str, span: Span, depth: int) -> list[Part]:
        if depth > MAX_DEPTH:
            raise bad_file(self.message.file.path, f"it is nested more than {MAX_DEPTH} deep.", HINT)
        found: list[Part] = []
        at, recorded = span.start, False
        for field in self.message.fields(span.start, span.end):
            inside = _INSIDE[kind].get(field.number) if field.wire == BYTES else None
            if kind == "model" and field.number == GRAPH and self.records is not None and not recorded:
                found.append(encode_pair(PROPERTIES, RECORDS, self.records))
                recorded = True
            parts = self._field(kind, field, inside, depth)
            found += [Span(at, field.end)] if parts is None else parts
            at = field.end
        return found

    def _field(self, kind: str, field: Field, inside: str | None, depth: int) -> list[Part] | None:
        """The parts of a field, or None if it stays as it is."""
        if inside == "tensor":
            return self._tensor(field)
        if inside is not None:
            parts = self._message(inside, Span(field.start, field.end), depth + 1)
            changed = kind == "model" or any(not isinstance(part, Span) for part in parts)
            return message(field.number, parts) if changed else None
        if kind == "model" and field.number == PROPERTIES and field.wire == BYTES:
            return [] if read_pair(self.message, field)[0] == RECORDS else None
        if kind == "graph" and depth == 1 and field.number in (_INPUT, _VALUE_INFO) and field.wire == BYTES:
            return self._value_info(field)
        return None

    def _tensor(self, part: Field) -> list[Part] | None:
        """A tensor of ours with its new data; those of another one, if they are external, go into the model."""
        name = self.model.names.get(part.start)
        others: list[tuple[int, Part]] = []
        external, at = False, part.start
        for field in self.message.fields(part.start, part.end):
            external = external or (field.number == LOCATION and field.wire == VARINT and field.value == 1)
            if field.number not in (_DATA if name is None else _CHANGED):
                others.append((field.number, Span(at, field.end)))
            at = field.end
        if name is not None:
            return message(part.number, self.writer.tensor(name, others))
        return message(part.number, [kept for _, kept in others] + self._data(part)) if external else None

    def _data(self, part: Field) -> list[Part]:
        """The external data of a tensor that is no weight of the main graph."""
        entry = read_tensor(self.message, part)
        if entry is None:
            return []
        self._moved += entry.size
        if self._moved > HEADER_LIMIT:
            what = (
                f"tensors that are no weights of the main graph have more than {HEADER_LIMIT} bytes beside the model."
            )
            raise bad_file(self.message.file.path, what, "make them initializers of the main graph", entry.name)
        found: list[Part] = [field_head(RAW, entry.size)]
        for segment in entry.segments:
            with OpenFile(segment.file) as file:
                found.append(file.read(segment.start, segment.size, "a tensor"))
        return found

    def _value_info(self, part: Field) -> list[Part] | None:
        """The declaration of a value, with the type and the shape that its initializer has."""
        found: list[Part] = []
        name, at = "", part.start
        for field in self.message.fields(part.start, part.end):
            if field.number == _VALUE_NAME and field.wire == BYTES:
                name = self.message.text(field)
            if field.number != _VALUE_TYPE:
                found.append(Span(at, field.end))
            at = field.end
        old, new = self.model.entries.get(name), self.writer.planned.get(name)
        if old is None or new is None or (old.shape, old.element) == (new.shape, new.element):
            return None
        dims = b"".join([encode_field(1, encode_field(1, n)) for n in new.shape])
        tensor = encode_field(1, _TYPE_NUMBERS[new.element.name]) + encode_field(2, dims)
        return message(part.number, [*found, encode_field(_VALUE_TYPE, encode_field(1, tensor))])


def new_model(writer: ModelWriter, ir_version: int, opset: int, properties: Mapping[str, str]) -> list[Part]:
    """A model of initializers alone; its data come last, so that one that is cut off is none."""
    graph: list[Part] = [encode_field(2, "weights")]
    for name in writer.planned:
        graph += message(INITIALIZER, writer.tensor(name, [(NAME, encode_field(NAME, name))]))
    head = encode_field(1, ir_version) + encode_field(2, "relayout") + encode_field(8, encode_field(2, opset))
    told = [encode_pair(PROPERTIES, key, value) for key, value in properties.items()]
    return [head + b"".join(told), *message(GRAPH, graph)]
