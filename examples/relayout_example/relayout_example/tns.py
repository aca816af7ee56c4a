"""``.tns``: lines of text that say what follows, then the bytes of the tensors.

    tns 1 000000000152
    {"metadata": {"made": "by hand"}}
    {"name": "x", "dtype": "float32", "shape": [3, 4], "record": null}

The number is that of the bytes of the header. Every tensor begins at the next multiple of 64 bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from relayout.elements.types import ELEMENTS
from relayout.files.container import Container, begins_with
from relayout.files.contents import Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from relayout.files.reading import (
    TRUNCATED,
    OpenFile,
    checked_shape,
    contiguous_tensor,
    parse_record,
    strict_json,
)

MAGIC = b"tns 1 "
DIGITS = 12
FIRST_LINE = len(MAGIC) + DIGITS + 1
ALIGNMENT = 64
HINT = "write the file again with relayout_example"


class Tns(Container):
    """Any tensors, with their records and with metadata of any JSON."""

    name = "tns"
    suffixes = (".tns",)

    def recognises(self, path: Path) -> bool:
        return begins_with(path, MAGIC)

    def read(self, path: Path) -> Source:
        with OpenFile(path) as file:
            first = file.read(0, min(FIRST_LINE, file.size))
            if not first.startswith(MAGIC) or not first.endswith(b"\n") or not first[len(MAGIC) : -1].isdigit():
                raise bad_file(path, f"it begins with {first!r}.", HINT)
            at = int(first[len(MAGIC) :])
            if at < FIRST_LINE:
                raise bad_file(path, f"its header has {at} bytes.", HINT)
            head, *lines = file.read(FIRST_LINE, at - FIRST_LINE).splitlines() or [b""]
            told = strict_json(head, path, "the line of metadata")
            if not isinstance(told, dict) or not isinstance(told.get("metadata"), dict):
                raise bad_file(path, "its first line tells no metadata.", HINT)
            tensors: dict[str, StoredTensor] = {}
            for line in lines:
                tensor = _tensor(file, _aligned(at), strict_json(line, path, "a line of the header"))
                if tensor.name in tensors:
                    raise bad_file(path, "it is there twice.", HINT, tensor.name)
                tensors[tensor.name] = tensor
                at = tensor.segments[0].start + tensor.segments[0].size
            if at != file.size:
                raise bad_file(path, f"its tensors end at byte {at}, and the file at {file.size}.", TRUNCATED)
        return Source(path, self.name, tensors, told["metadata"])

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        lines = [json.dumps({"metadata": dict(metadata or {})})]
        for p in planned:
            record = None if p.record is None else p.record.to_json()
            lines.append(
                json.dumps({"name": p.name, "dtype": p.element.name, "shape": list(p.shape), "record": record})
            )
        text = "".join([f"{line}\n" for line in lines]).encode()
        at = FIRST_LINE + len(text)
        header = MAGIC + f"{at:0{DIGITS}}\n".encode() + text
        places: dict[str, tuple[Segment, ...]] = {}
        for p in planned:
            if p.name in places:
                raise bad_file(path, "the name is taken.", "rename the tensor", p.name)
            segment = Segment(path, _aligned(at), nbytes(p.element, p.shape))
            places[p.name] = (segment,)
            at = segment.start + segment.size
        return Destination({path: (at, {0: header})}, places)


CONTAINER = Tns()


def _aligned(at: int) -> int:
    return -(-at // ALIGNMENT) * ALIGNMENT


def _tensor(file: OpenFile, start: int, told: Any) -> StoredTensor:
    """What a line says of the tensor that begins there; every word of it is held against the file."""
    if not isinstance(told, dict) or set(told) != {"name", "dtype", "shape", "record"}:
        raise bad_file(file.path, "a line of its header tells no tensor.", HINT)
    name, dtype = told["name"], told["dtype"]
    if not isinstance(name, str) or not isinstance(dtype, str) or dtype not in ELEMENTS:
        raise bad_file(file.path, "a line of its header has no name, or no type.", HINT)
    element = ELEMENTS[dtype]
    shape = checked_shape(told["shape"], element, file.path, name)
    tensor = contiguous_tensor(file, start, nbytes(element, shape), name, element, shape)
    return tensor if told["record"] is None else tensor._replace(record=parse_record(told["record"], file.path, name))
