"""``<file>.relayout.json``: the records, and foreign metadata, of files that have no room for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import shown
from .contents import Destination, PlannedTensor, bad_file
from .reading import parse_records, read_text, strict_json
from .record import LayoutRecord


def sidecar_path(path: Path) -> Path:
    """The sidecar's name."""
    return path.with_name(path.name + ".relayout.json")


def read_sidecar(path: Path, names: Iterable[str]) -> tuple[dict[str, LayoutRecord], dict[str, Any]]:
    """The records of a file's tensors and its metadata; neither, if it has no sidecar.

    A file of one tensor may have been renamed: its one record is that tensor's, whatever its name.
    """
    beside, known = sidecar_path(path), list(names)
    if not beside.exists():
        return {}, {}
    told = strict_json(read_text(beside), beside, "the sidecar")
    if not isinstance(told, dict) or set(told) - {"relayout", "metadata"}:
        raise bad_file(beside, f"it is {shown(told)}.", "a sidecar is an object with relayout and metadata")
    records, metadata = told.get("relayout", {}), told.get("metadata", {})
    if not isinstance(metadata, dict):
        raise bad_file(beside, f"its metadata are {shown(metadata)}.", "metadata are an object")
    if isinstance(records, dict) and len(records) == len(known) == 1:
        records = dict(zip(known, records.values()))
    return parse_records(records, beside, known), metadata


def with_sidecar(
    destination: Destination, path: Path, planned: Iterable[PlannedTensor], metadata: Mapping[str, Any] | None
) -> Destination:
    """A destination with the sidecar of its file, if there are records or metadata for one."""
    records = {p.name: p.record.to_json() for p in planned if p.record is not None}
    if not records and not metadata:
        return destination
    told: dict[str, Any] = {"relayout": records}
    if metadata:
        told["metadata"] = dict(metadata)
    text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    return destination._replace(files={**destination.files, sidecar_path(path): (len(text), {0: text})})
