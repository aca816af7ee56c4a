"""Arrays that zarr-python reads and writes: with codecs, in shards, in any store that it knows by a path or a URL."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from math import prod
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from ..elements.types import ELEMENTS, Element
from ..errors import BadFile, shown
from ..missing import missing_package
from . import tuning
from .store_url import patiently

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .contents import StoredTensor

MAX_CHUNK_BYTES = 1 << 31
"""No chunk that is decoded has more bytes: all of it is in memory."""


def import_zarr() -> Any:
    """The package zarr, version 3."""
    try:
        import zarr
    except ImportError:
        raise missing_package("zarr") from None
    return zarr


class EncodedChunks(NamedTuple):
    """The chunks of an array, one after another in row-major order of the grid, as if each were stored decoded."""

    store: str
    path: str
    element: Element
    shape: tuple[int, ...]
    chunk: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many chunks there are along each dimension."""
        return tuple([-(-n // c) for n, c in zip(self.shape, self.chunk)])

    @property
    def chunk_bytes(self) -> int:
        """The bytes of a decoded chunk; those at an edge are as large as the others."""
        return prod(self.chunk) * self.element.bytes

    @property
    def files(self) -> list[Path]:
        """The files of a store that is a folder."""
        folder = Path(self.store) / self.path
        return [] if "://" in self.store else sorted([file for file in folder.rglob("*") if file.is_file()])

    def read(self, starts: Sequence[int], out: NDArray[np.uint8]) -> None:
        """Fill ``out`` with runs of these bytes, one after another and all of one length."""
        length, size = out.size // len(starts), self.chunk_bytes
        for k, start in enumerate(starts):
            for number in range(start // size, -(-(start + length) // size)):
                low, high = max(start, number * size), min(start + length, (number + 1) * size)
                data = _DECODED.get(self, number)
                out[k * length + low - start : k * length + high - start] = data[low - number * size :][: high - low]

    def decode(self, number: int) -> NDArray[np.uint8]:
        """A chunk by its number; behind the edge of the array it holds zeros."""
        import numpy as np

        at = np.unravel_index(number, self.counts) if self.counts else ()
        box = tuple([slice(int(k) * c, min((int(k) + 1) * c, n)) for k, c, n in zip(at, self.chunk, self.shape)])
        array = open_array(self.store, self.path)
        try:
            found = patiently(lambda: np.asarray(array[box]), self.store)
        except (ValueError, RuntimeError, TypeError, KeyError, FileNotFoundError) as error:
            raise BadFile(
                f"{self.store}: a chunk of {shown(self.path)} cannot be decoded: {shown(str(error))}.",
                hint="copy the array again: it is damaged, or its codec is not installed",
                file=self.store,
                tensor=self.path,
            ) from None
        little = found.astype(found.dtype.newbyteorder("<"), copy=False)
        if little.shape == self.chunk:
            return np.ascontiguousarray(little).reshape(-1).view(np.uint8)
        whole = np.zeros(self.chunk, little.dtype)
        whole[tuple([slice(0, n) for n in little.shape])] = little
        return whole.reshape(-1).view(np.uint8)


class _DecodedChunks:
    """The chunks that were decoded last, for all threads of a process, within so many bytes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[tuple[EncodedChunks, int], NDArray[np.uint8]] = OrderedDict()
        self._bytes = 0

    def get(self, chunks: EncodedChunks, number: int) -> NDArray[np.uint8]:
        """A chunk, decoded now or before."""
        key = chunks, number
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        data = chunks.decode(number)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = data
                self._bytes += data.size
            while self._bytes > tuning.ACTIVE.decoded_bytes and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].size
        return data

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0


_DECODED = _DecodedChunks()

forget_decoded_chunks = _DECODED.clear


def decoding_bytes(tensors: Iterable[StoredTensor], threads: int) -> int:
    """The memory that so many threads need to decode chunks, besides what they make of them."""
    largest = max([tensor.chunks.chunk_bytes for tensor in tensors if tensor.chunks is not None], default=0)
    return tuning.ACTIVE.decoded_bytes + 2 * threads * largest if largest else 0


def open_array(store: str, path: str) -> Any:
    """An array, opened once a process: an answer of a store costs a journey."""
    key = store, path
    if key not in _ARRAYS:
        if len(_ARRAYS) >= 64:
            _ARRAYS.clear()
        zarr = import_zarr()
        _ARRAYS[key] = patiently(lambda: zarr.open_array(store, path=path or None, mode="r", zarr_format=3), store)
    return _ARRAYS[key]


_ARRAYS: dict[tuple[str, str], Any] = {}


def encoded_chunks(array: Any, store: str, path: str) -> EncodedChunks:
    """The chunks of an array of zarr-python; in shards those inside them."""
    name = array.metadata.data_type.to_json(zarr_format=3)
    kind = ELEMENTS.get(name) if isinstance(name, str) else None
    what = None
    if kind is None or kind.bits % 8 or kind.underlying != kind:
        what = f"its data type is {shown(name)}."
    elif prod(array.chunks) * kind.bytes > MAX_CHUNK_BYTES:
        what = f"its chunks have {prod(array.chunks) * kind.bytes} bytes."
    if what is not None or kind is None:
        hint = "use numbers of whole bytes, and chunks of less than 2 GiB"
        raise BadFile(f"{store}: array {shown(path)}: {what}", hint=hint, file=store, tensor=path)
    _ARRAYS[store, path] = array
    return EncodedChunks(store, path, kind, tuple(array.shape), tuple(array.chunks))
