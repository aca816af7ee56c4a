"""Raw binary files: bytes, and what the caller or a sidecar says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...dialects.resolve import resolve
from ...elements.types import ELEMENTS, element
from ...errors import LayoutError, shown
from ...layout.layout import Layout
from ..container import Container
from ..contents import FROM_TORCH, Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from ..reading import OpenFile
from ..record import LayoutRecord
from ..sidecar import read_sidecar, sidecar_path, with_sidecar
from .npy import with_bits_dtype


class RawFile(Container):
    """One tensor's bytes, and a sidecar or a caller that tells what they are."""

    name = "raw"
    suffixes = (".bin", ".raw", ".dat")
    single = True

    def read(self, path: Path, dtype: Any = None, shape: Any = None, layout: Any = None) -> Source:
        """The one tensor: of that type, logical shape and layout (row-major if none), else as its sidecar says."""
        name = path.stem
        with OpenFile(path) as file:
            size = file.size
            first = file.read(0, min(size, 4))
        records, metadata = read_sidecar(path, [name])
        record = records.get(name)
        said = dtype is not None or shape is not None or layout is not None
        if said:
            if record is not None:
                raise bad_file(path, "its sidecar tells what it holds.", "leave out dtype, shape and layout", name)
            record = _record_of(path, dtype, shape, layout)
        if record is None and first == b"PK\3\4":
            raise bad_file(path, "it is a zip archive, as PyTorch writes them.", FROM_TORCH)
        if record is None or record.interface is None:
            hint = (
                f"say the dtype and the shape, and the layout if it has one; or put a record into {sidecar_path(path)}"
            )
            raise bad_file(path, "nothing tells what it holds.", hint, name)
        kind = ELEMENTS[record.interface["element"]].underlying
        stored = kind if kind.bits % 8 == 0 else ELEMENTS["uint8"]
        if size % stored.bytes:
            raise bad_file(path, f"its {size} bytes are no whole number of {stored.name}.", "look at the dtype", name)
        entry = StoredTensor(name, stored, (size // stored.bytes,), (Segment(path, 0, size),), record)
        if said:
            _check_size(path, record, entry)
        _ = entry.layout
        return Source(path, self.name, {name: entry}, metadata)

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        """One tensor's bytes, and the sidecar that tells what they are."""
        if len(planned) != 1:
            raise bad_file(path, f"a raw file holds one tensor, not {len(planned)}.", "write .npz or .safetensors")
        told = with_bits_dtype(planned[0])
        size = nbytes(told.element, told.shape)
        return with_sidecar(
            Destination({path: (size, {})}, {told.name: (Segment(path, 0, size),)}), path, [told], metadata
        )


CONTAINER = RawFile()


def _check_size(path: Path, record: LayoutRecord, entry: StoredTensor) -> None:
    """Refuse what the caller says if the bytes are not as many."""
    try:
        record.stored_layout(entry.element, entry.size)
    except LayoutError as error:
        raise bad_file(path, error.message, "say the dtype, the shape and the layout that it has", entry.name) from None


def _record_of(path: Path, dtype: Any, shape: Any, layout: Any) -> LayoutRecord:
    from ...elements.encoding import named_encoding
    from ...elements.interface import Plain

    if isinstance(layout, str):
        meant = resolve(layout, element=dtype)
        dtype = meant.element if dtype is None else dtype
        shape = meant.layout.extents if shape is None and meant.layout is not None else shape
    if dtype is None or shape is None:
        missing = "dtype" if dtype is None else "shape"
        raise bad_file(
            path, f"a raw file does not tell its {missing}.", f"say the {missing}, or open it with a sidecar"
        )
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    try:
        interface = named_encoding(dtype) or Plain(element(dtype))
        return LayoutRecord.from_json(
            LayoutRecord.of(Layout.row_major(sizes) if layout is None else layout, sizes, interface).to_json()
        )
    except LayoutError as error:
        raise bad_file(path, f"dtype {shown(dtype)} and shape {shown(shape)}: {error.message}", error.hint) from None
