"""Reading files that may be hostile: every length is held against the file's size, and capped, before it is used."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any

from ..elements.types import Element
from ..errors import LayoutError, shown
from .contents import Segment, StoredTensor, bad_file, nbytes
from .record import MAX_RANK, LayoutRecord
from .store_url import StoreUrl

HEADER_LIMIT = 32 << 20
"""No header, index or other text in a file has more bytes."""

PIECES_LIMIT = 5_000_000
"""No JSON has more brackets, colons and commas: each may cost a hundred times its byte once it is read."""

TRUNCATED = "copy the file again: it was cut off or damaged"


class OpenFile:
    """A regular file, open for reading, and its size."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = -1
        if isinstance(path, StoreUrl):
            if not path.is_file():
                raise bad_file(path, "there is no such object.", "name one that exists and may be read")
            self.size = path.stat().st_size
            return
        try:
            # Opening a pipe would wait for its writer.
            self.descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise bad_file(path, f"it cannot be opened: {reason}.", "name a file that exists and may be read") from None
        found = os.fstat(self.descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(self.descriptor)
            raise bad_file(path, "it is no regular file.", "name a file, not a folder, a pipe or a device")
        self.size = found.st_size

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def read(self, start: int, size: int, what: str = "its header") -> bytes:
        """Exactly those bytes; refused where they are more than a header has, or than the file."""
        if size > HEADER_LIMIT:
            raise bad_file(
                self.path, f"{what} has {size} bytes, and the limit is {HEADER_LIMIT}.", "write smaller files"
            )
        if start < 0 or size < 0 or start + size > self.size:
            raise bad_file(self.path, f"{what} ends at byte {start + size}, and the file at {self.size}.", TRUNCATED)
        parts = []
        while size:
            part = self._read_some(start, size)
            if not part:
                raise bad_file(self.path, f"{what} ends at byte {start}: the file became shorter.", TRUNCATED)
            parts.append(part)
            start, size = start + len(part), size - len(part)
        return b"".join(parts)

    def _read_some(self, start: int, size: int) -> bytes:
        if isinstance(self.path, StoreUrl):
            return self.path.read_range(start, size)
        os.lseek(self.descriptor, start, os.SEEK_SET)
        return os.read(self.descriptor, size)


def read_text(path: Path) -> bytes:
    """All of a small file."""
    with OpenFile(path) as file:
        return file.read(0, file.size, "it")


MAX_DIGITS = 4300
"""No number of a header is longer: Python's own limit, which a program may change."""


def strict_json(data: bytes, file: Path, what: str = "the header") -> Any:
    """JSON in UTF-8, in which no key is twice and every number is one."""
    import json

    hint = "write the file again with the tool that made it"

    pieces = sum([data.count(mark) for mark in b"[{:,"])
    if pieces > PIECES_LIMIT:
        raise bad_file(file, f"{what} has {pieces} brackets, colons and commas; the limit is {PIECES_LIMIT}.", hint)

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise bad_file(file, f"{what} has {shown(twice)} twice.", hint)
        return found

    def no_number(name: str) -> Any:
        raise bad_file(file, f"{what} has {name}, which is no JSON.", hint)

    def integer(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise bad_file(file, f"{what} has a number of {len(digits)} digits, which is no JSON of ours.", hint)
        return int(digits)

    try:
        text = data.decode("utf-8")
        found = json.loads(text, object_pairs_hook=distinct, parse_constant=no_number, parse_int=integer)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()  # refuses half of a character
        return found
    except RecursionError:
        raise bad_file(file, f"{what} is nested too deeply.", hint) from None
    except LayoutError:
        raise
    except ValueError as error:
        raise bad_file(file, f"{what} is no JSON: {shown(str(error))}.", hint) from None


def checked_shape(shape: Any, element: Element, file: Path, name: str) -> tuple[int, ...]:
    """A shape whose array can exist, were its empty dimensions not empty."""
    hint = "write the file again with the tool that made it"
    fits = isinstance(shape, Sequence) and not isinstance(shape, str | bytes) and len(shape) <= MAX_RANK
    if not fits or any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in shape):
        raise bad_file(file, f"its shape is {shown(shape)}.", hint, name)
    sizes = tuple(shape)
    if nbytes(element, tuple([n or 1 for n in sizes]) if 0 in sizes else sizes) >= 1 << 63:
        raise bad_file(file, f"no memory is as large as its shape {shown(sizes)}.", hint, name)
    return sizes


def check_disjoint(entries: Iterable[StoredTensor], file: Path) -> None:
    """Refuse tensors that share bytes."""
    spans = sorted([(s.start, s.start + s.size, e.name) for e in entries for s in e.segments if s.size])
    for (_, end, one), (start, _, other) in pairwise(spans):
        if start < end:
            raise bad_file(
                file, f"it shares bytes with {shown(other)}.", "write the file again: each tensor has its own", one
            )


def sibling(namer: Path, name: Any) -> Path:
    """The file of that name next to another file, which names it; nothing outside that folder.

    Links are followed only to the folder, or to the one where the naming file itself is linked to, as caches do.
    """
    hint = "put the files into one folder and name them without a path"
    if not isinstance(name, str) or not name or "\0" in name or len(name) > 4096:
        raise bad_file(namer, f"it names the file {shown(name)}.", hint)
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts or "\\" in name or ":" in name:
        raise bad_file(namer, f"it names {shown(name)}, outside its folder.", hint)
    try:
        found = (namer.parent / relative).resolve()
        homes = (namer.parent.resolve(), namer.resolve().parent)
    except (OSError, RuntimeError, ValueError) as error:
        raise bad_file(namer, f"it names {shown(name)}, which leads nowhere: {error}.", hint) from None
    if not any(found.is_relative_to(home) for home in homes):
        raise bad_file(namer, f"it names {shown(name)}, a link that leaves its folder.", hint)
    return found


def parse_records(x: Any, file: Path, names: Iterable[str]) -> dict[str, LayoutRecord]:
    """The records of a file's tensors, by name; one of no tensor is refused."""
    hint = "take the relayout entry out, or write the file again with relayout"
    if not isinstance(x, dict):
        raise bad_file(file, "its relayout entry is no JSON object.", hint)
    known = set(names)
    found = {}
    for name, told in x.items():
        if name not in known:
            raise bad_file(file, "it has a relayout record, and is not there.", hint, name)
        found[name] = parse_record(told, file, name)
    return found


def with_records_json(entries: dict[str, StoredTensor], text: Any, file: Path) -> dict[str, StoredTensor]:
    """The entries with the records of the one text that tells them all, if there is one."""
    if text is None:
        return entries
    if not isinstance(text, str):
        raise bad_file(file, "its relayout entry is no text.", "take it out, or write the file again with relayout")
    told = strict_json(text.encode(), file, "the relayout entry")
    return with_records(entries, parse_records(told, file, entries))


def pop_object(metadata: dict[str, Any], key: str, of: type = object) -> dict[str, Any]:
    """The object of such values that another container left under a key, or its JSON where metadata are texts.

    It is taken out; anything else stays.
    """
    import json

    found = metadata.get(key)
    try:
        found = json.loads(found) if isinstance(found, str) else found
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(value, of) for value in found.values()):
        return {}
    del metadata[key]
    return dict(found)


def parse_record(x: Any, file: Path, name: str) -> LayoutRecord:
    """One record, with an error that names the file and the tensor."""
    try:
        return LayoutRecord.from_json(x)
    except LayoutError as error:
        raise bad_file(
            file,
            f"its relayout record is wrong: {error.message}",
            "take the record out, or write the file again with relayout",
            name,
        ) from None


def with_records(entries: dict[str, StoredTensor], records: dict[str, LayoutRecord]) -> dict[str, StoredTensor]:
    """The entries with their records."""
    return entries | {
        name: entries[name]._replace(record=record, layout_from_container=False) for name, record in records.items()
    }


def contiguous_tensor(
    file: OpenFile, start: int, size: int, name: str, element: Element, shape: tuple[int, ...]
) -> StoredTensor:
    """A tensor in one piece; its bytes are held against its shape and against the file."""
    needed = nbytes(element, shape)
    if size != needed:
        raise bad_file(
            file.path, f"{shown(shape)} of {element.name} needs {needed} bytes, and it has {size}.", TRUNCATED, name
        )
    if start < 0 or start + size > file.size:
        raise bad_file(file.path, f"it ends at byte {start + size}, and the file at {file.size}.", TRUNCATED, name)
    return StoredTensor(name, element, shape, (Segment(file.path, start, size),))
