"""What every container of tensors comes down to: named runs of bytes, and what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from glob import escape
from operator import mul
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from ..elements.types import Element
from ..errors import BadFile, LayoutError, shown
from .record import LayoutRecord

if TYPE_CHECKING:
    from ..elements.interface import Interface
    from ..layout.layout import Layout
    from .zarr_arrays import EncodedChunks


FROM_TORCH = "save its tensors first: safetensors.torch.save_file(torch.load(file), 'model.safetensors')"
"""The way out of files that PyTorch pickled."""


class Segment(NamedTuple):
    """``size`` bytes of a file, from ``start`` on."""

    file: Path
    start: int
    size: int


class StoredTensor(NamedTuple):
    """One tensor of a file, as stored: a row-major array of ``shape``, whose bytes are the segments in order.

    ``record`` tells which logical tensor that array holds; without one it is the array itself. ``inline`` has the bytes
    where the file keeps them in another form, and there are no segments then. ``packing`` names the quantised type of
    whose blocks these are the bytes. ``layout_from_container`` says that nothing is recorded in the file, and
    that ``record`` tells how the container itself keeps the array: in Fortran order, or in chunks that are blocks.
    ``chunks`` are those that must be decoded, and there are no segments then. ``undecided`` are the layouts that the
    array may have, where the file tells that it is not row-major and does not tell which.
    """

    name: str
    element: Element
    shape: tuple[int, ...]
    segments: tuple[Segment, ...]
    record: LayoutRecord | None = None
    inline: bytes | None = None
    packing: str | None = None
    layout_from_container: bool = False
    chunks: EncodedChunks | None = None
    undecided: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The bytes of the stored array."""
        return nbytes(self.element, self.shape)

    @property
    def interface(self) -> Interface:
        """What the stored elements mean; a record that contradicts the stored type is refused."""
        from ..elements.interface import Plain

        return Plain(self.element) if self.record is None else self._consult(self.record.interface_of)

    @property
    def layout(self) -> Layout:
        """Where the stored array has the logical elements; a record that contradicts its size is refused."""
        from ..layout.layout import Layout

        if self.undecided:
            file = self.segments[0].file if self.segments else None
            what = f"it is stored as {' or '.join(self.undecided)}: the file does not tell."
            raise bad_file(file, what, "say which as its source layout", self.name)
        return Layout.row_major(self.shape) if self.record is None else self._consult(self.record.stored_layout)

    @property
    def axes(self) -> str | None:
        """The names of the logical dimensions."""
        return None if self.record is None else self.record.axes

    def _consult(self, ask: Any) -> Any:
        try:
            return ask(self.element, self.size)
        except BadFile:
            raise
        except LayoutError as error:
            file = self.segments[0].file if self.segments else None
            raise BadFile(
                f"{file or 'the file'}: the relayout record of {self.name!r} is wrong: {error.message}",
                hint="write the file again, or take the record out",
                file=file,
                tensor=self.name,
            ) from None


class Source(Mapping[str, StoredTensor]):
    """An opened container: its tensors by name, and the ``metadata`` that is not ours."""

    __slots__ = ("_entries", "kind", "metadata", "path")

    def __init__(self, path: Path, kind: str, entries: Mapping[str, StoredTensor], metadata: Mapping[str, Any]) -> None:
        self.path, self.kind = path, kind
        self.metadata = dict(metadata)
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> StoredTensor:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def close(self) -> None:
        """Forget the tensors; entries that were taken out stay valid."""
        self._entries = {}

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that holds tensors, in the order of first use."""
        entries = self._entries.values()
        encoded = [file for entry in entries if entry.chunks is not None for file in entry.chunks.files]
        return tuple(dict.fromkeys([s.file for entry in entries for s in entry.segments] + encoded))

    def __repr__(self) -> str:
        return f"<{self.kind} {shown(str(self.path))}, {len(self)} tensor{'s' * (len(self) != 1)}>"


class PlannedTensor(NamedTuple):
    """A tensor to be written: a row-major array of ``shape``, and the record that tells what it holds."""

    name: str
    element: Element
    shape: tuple[int, ...]
    record: LayoutRecord | None = None


class Checksum(NamedTuple):
    """The CRC-32 of ``size`` bytes from ``start`` on belongs, in four bytes, at each of the places ``at``."""

    file: Path
    start: int
    size: int
    at: tuple[int, ...]


class Destination(NamedTuple):
    """What is to be written, all known in advance: each file's full size, and its bytes that are no tensor's.

    ``entries`` are the places of the tensors. ``checksums`` are those that only the finished data tell;
    ``write_checksums`` puts them in.
    """

    files: dict[Path, tuple[int, dict[int, bytes]]]
    entries: dict[str, tuple[Segment, ...]]
    checksums: tuple[Checksum, ...] = ()


def nbytes(element: Element, shape: tuple[int, ...]) -> int:
    """The bytes of a packed array."""
    return -(-reduce(mul, shape, 1) * element.bits // 8)


def with_tensor(error: LayoutError, tensor: str) -> LayoutError:
    """The error with the name of its tensor, and the way to do without it."""
    if error.operands.get("tensor") is not None:
        return error
    hint = f"{error.hint}; or leave this tensor as it is: --except {quote(escape(tensor))}"
    return type(error)(f"tensor {tensor!r}: {error.message}", hint=hint, **{**error.operands, "tensor": tensor})


def bad_file(file: Path | None, what: str, hint: str, tensor: str | None = None) -> BadFile:
    """The error that names a file, a tensor in it, what is wrong and the way out."""
    where = f"{file}: " + ("" if tensor is None else f"tensor {shown(tensor)}: ")
    return BadFile(f"{where}{what}", hint=hint, file=file, tensor=tensor)
