"""``rl.open``: the tensors of a file, over its mapped pages."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..elements.memory import allocate_bytes
from ..elements.types import storage_dtype
from ..errors import LayoutError, UnknownName, shown
from ..tensors.tensor import Tensor
from . import tuning
from .contents import Segment, Source, StoredTensor, bad_file
from .file_pool import FilePool
from .reading import TRUNCATED, OpenFile
from .store_url import StoreUrl

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TensorFile(Mapping[str, Tensor]):
    """Tensors by name, made when they are asked for; read-only.

    Each lies in the file's mapped pages, without a copy, if it is in one piece and aligned to its type; else, and if it
    is small and in one of very many files, in memory of its own. Tensors stay valid after ``close``. A file that
    another program cuts short while it is mapped ends the process, as everywhere.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._pages: dict[Path, NDArray[np.uint8]] = {}
        self._maps_small = len(source.files) <= tuning.ACTIVE.max_mapped_files
        self.closed = False

    @property
    def metadata(self) -> dict[str, Any]:
        """What the file says of itself, but for the records of layouts."""
        return self.source.metadata

    def __getitem__(self, name: str) -> Tensor:
        if self.closed:
            raise bad_file(self.source.path, "it was closed.", "take tensors out before, or open it again", name)
        if name not in self.source:
            raise self._unknown(name)
        return self._tensor(self.source[name])

    def _unknown(self, name: Any) -> UnknownName:
        from difflib import get_close_matches

        near = get_close_matches(str(name), self.source)
        hint = f"did you mean {' or '.join(near)}?" if near else "list(file) has the names of its tensors"
        return UnknownName(f"{self.source.path} has no tensor {shown(name)}.", hint=hint, name=name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.source)

    def __len__(self) -> int:
        return len(self.source)

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Forget the file; its pages go when the last tensor does."""
        self.closed = True
        self._pages = {}

    def __repr__(self) -> str:
        return repr(self.source)

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import file_html

        return file_html(self)

    def _tensor(self, entry: StoredTensor) -> Tensor:
        interface, layout = entry.interface, entry.layout
        data = self._bytes(entry)
        kind = interface.element
        if kind.bits % 8 == 0 and data.size and data.ctypes.data % storage_dtype(kind).alignment:
            data = _copy_aligned(data)
        data.flags.writeable = False
        try:
            return Tensor(data.data, layout, interface, axes=entry.axes)
        except LayoutError as error:
            hint = "take the relayout record out, or write the file again"
            raise bad_file(self.source.path, f"it is not as told: {error.message}", hint, entry.name) from None

    def _bytes(self, entry: StoredTensor) -> NDArray[np.uint8]:
        import numpy as np

        if entry.inline is not None:
            return np.frombuffer(entry.inline, np.uint8)
        if (
            len(entry.segments) == 1
            and not isinstance(entry.segments[0].file, StoreUrl)
            and (self._maps_small or entry.size > tuning.ACTIVE.min_mapped_bytes)
        ):
            return self._segment(entry.segments[0])
        data = allocate_bytes(entry.size, zeroed=False)
        try:
            with FilePool() as files:
                files.read_tensor(entry, [0], data)
        except OSError as error:
            what = f"it cannot be read: {error.strerror}."
            raise bad_file(self.source.path, what, "look at the permissions and the disk", entry.name) from None
        return data

    def _segment(self, segment: Segment) -> NDArray[np.uint8]:
        pages = self._pages.get(segment.file)
        if pages is None:
            pages = self._pages[segment.file] = _map_file(segment.file)
        if segment.start + segment.size > pages.size:
            raise bad_file(segment.file, f"it has {pages.size} bytes now.", TRUNCATED)
        return pages[segment.start : segment.start + segment.size]


def _map_file(path: Path) -> NDArray[np.uint8]:
    """A file's pages, which cannot be written."""
    import numpy as np

    with OpenFile(path) as file:
        if not file.size:
            return np.empty(0, np.uint8)
        try:
            return np.frombuffer(mmap.mmap(file.descriptor, file.size, access=mmap.ACCESS_READ), np.uint8)
        except (OSError, ValueError, OverflowError) as error:
            raise bad_file(
                path, f"it cannot be mapped into memory: {shown(error)}.", "read it on another machine"
            ) from None


def _copy_aligned(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes copied to memory that is aligned for every type."""
    copy = allocate_bytes(data.size, zeroed=False)
    copy[:] = data
    return copy
