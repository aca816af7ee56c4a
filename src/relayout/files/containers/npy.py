"""``.npy`` files: versions 1 to 3, in C and in Fortran order."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...elements.types import ELEMENTS, Element, storage_dtype
from ...errors import shown
from ...layout.layout import Layout
from ..container import Container, begins_with
from ..contents import Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from ..reading import OpenFile, checked_shape, contiguous_tensor, with_records
from ..record import LayoutRecord
from ..sidecar import read_sidecar, with_sidecar

MAGIC = b"\x93NUMPY"
ALIGNMENT = 64
HEADER_LIMIT = 10_000
"""No header is longer; numpy itself reads no longer ones."""

_NATIVE = {"b1": "bool", "c8": "complex64", "c16": "complex128"}
for _bits in (1, 2, 4, 8):
    _NATIVE |= {f"i{_bits}": f"int{8 * _bits}", f"u{_bits}": f"uint{8 * _bits}"}
for _bits in (2, 4, 8):
    _NATIVE[f"f{_bits}"] = f"float{8 * _bits}"
# What numpy writes for types of other packages: their bits, and no name.
_NATIVE |= {"V1": "uint8", "V2": "uint16"}


class Npy(Container):
    """One array, its record in a sidecar."""

    name = "npy"
    suffixes = (".npy",)
    single = True

    def recognises(self, path: Path) -> bool:
        return begins_with(path, MAGIC)

    def read(self, path: Path) -> Source:
        """The one tensor, named as the file is."""
        with OpenFile(path) as file:
            entry = read_array(file, 0, file.size, path.stem)
        records, metadata = read_sidecar(path, [entry.name])
        return Source(path, self.name, with_records({entry.name: entry}, records), metadata)

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        """One tensor, and its record in a sidecar."""
        if len(planned) != 1:
            raise bad_file(path, f"a .npy file holds one tensor, not {len(planned)}.", "write .npz or .safetensors")
        stored = with_numpy_dtype(planned[0])
        header = npy_header(stored.element, stored.shape)
        size = nbytes(stored.element, stored.shape)
        whole = Destination(
            {path: (len(header) + size, {0: header})}, {stored.name: (Segment(path, len(header), size),)}
        )
        return with_sidecar(whole, path, [stored], metadata)


CONTAINER = Npy()


def read_array(file: OpenFile, start: int, size: int, name: str) -> StoredTensor:
    """The array in ``size`` bytes of a file from ``start`` on, header included."""
    hint = "write it again with numpy.save(file, numpy.ascontiguousarray(x))"
    first = file.read(start, min(12, size))
    if len(first) < 12 or first[:6] != MAGIC or first[6] not in (1, 2, 3) or first[7]:
        raise bad_file(file.path, f"it begins with {first[:8]!r}: that is no .npy of version 1 to 3.", hint, name)
    width = 2 if first[6] == 1 else 4
    length = int.from_bytes(first[8 : 8 + width], "little")
    data = 8 + width + length
    if length > HEADER_LIMIT or data > size:
        raise bad_file(file.path, f"its header has {length} bytes, and the file {size}.", hint, name)
    text = file.read(start + 8 + width, length)
    descr, fortran, shape = _header(text, first[6], file.path, name)
    kind = _element_of(descr, file.path, name)
    sizes = checked_shape(shape, kind, file.path, name)
    stored = sizes[::-1] if fortran else sizes
    entry = contiguous_tensor(file, start + data, size - data, name, kind, stored)
    if fortran and len(sizes) > 1:
        entry = entry._replace(record=LayoutRecord.of(Layout.col_major(sizes), sizes), layout_from_container=True)
    return entry


def _header(text: bytes, version: int, file: Path, name: str) -> tuple[Any, bool, Any]:
    """Type, order and shape as the header says them."""
    hint = "write it again with numpy.save"
    if b"\\" in text:
        raise bad_file(file, "its header has escapes.", hint, name)
    try:
        told = ast.literal_eval(text.decode("utf-8" if version == 3 else "latin-1").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        raise bad_file(file, "its header is no dictionary of Python.", hint, name) from None
    if not isinstance(told, dict) or set(told) != {"descr", "fortran_order", "shape"}:
        raise bad_file(file, f"its header is {shown(told)}.", hint, name)
    if not isinstance(told["fortran_order"], bool) or not isinstance(told["shape"], tuple):
        raise bad_file(file, f"its header is {shown(told)}.", hint, name)
    return told["descr"], told["fortran_order"], told["shape"]


def _element_of(descr: Any, file: Path, name: str) -> Element:
    if isinstance(descr, str) and len(descr) <= 8:
        found = _NATIVE.get(descr[1:])
        if found is not None and (descr[0] in "<|=" or (descr[0] == ">" and ELEMENTS[found].bits == 8)):
            return ELEMENTS[found]
        if found is not None and descr[0] == ">":
            raise bad_file(
                file,
                f"its elements are big-endian ({descr}).",
                f"numpy.save(file, x.astype('<{descr[1:]}')) turns the bytes round",
                name,
            )
    raise bad_file(
        file,
        f"its elements are {shown(descr)}, no numbers of one type.",
        "save each field, or each number, as an array of its own",
        name,
    )


# ---- writing ---------------------------------------------------------------------------------------------


def npy_header(kind: Element, shape: tuple[int, ...]) -> bytes:
    """The header of an array in C order; the data behind it begins at a multiple of 64 bytes."""
    descr = storage_dtype(kind).newbyteorder("<").str
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    spaces = -(len(text) + 11) % ALIGNMENT
    length = len(text) + spaces + 1
    return MAGIC + b"\1\0" + length.to_bytes(2, "little") + text + b" " * spaces + b"\n"


def with_numpy_dtype(p: PlannedTensor) -> PlannedTensor:
    """What numpy reads: types that it lacks become the unsigned integers of their bits, and the record names them."""
    kind = p.element.underlying
    return p if kind.name in _NATIVE.values() and kind == p.element else with_bits_dtype(p)


def with_bits_dtype(p: PlannedTensor) -> PlannedTensor:
    """The bits as unsigned integers, or as bytes where there are none so wide; the record names the type."""
    from ...elements.interface import Plain

    kind = p.element
    record = p.record or LayoutRecord.of(Layout.row_major(p.shape), p.shape, Plain(kind.underlying))
    if record.interface is None:
        record = record._replace(interface={"element": kind.underlying.name})
    if kind.bits in (8, 16, 32, 64):
        return p._replace(element=ELEMENTS[f"uint{kind.bits}"], record=record)
    whole = p.shape[-1] * kind.bits if p.shape else 1
    shape = (*p.shape[:-1], whole // 8) if whole % 8 == 0 else (nbytes(kind, p.shape),)
    return p._replace(element=ELEMENTS["uint8"], shape=shape, record=record)
