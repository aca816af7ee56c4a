"""URLs of stores where paths of files stand: what is there is read through fsspec, a range at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from os import PathLike
from pathlib import Path, PosixPath
from typing import Any, NamedTuple, TypeVar

from ..errors import BadFile, ShapeError, shown
from ..missing import missing_package

T = TypeVar("T")

TRIES = 6
"""How often a store is asked for the same thing before its answer is an error."""

FIRST_WAIT = 0.1
"""How many seconds pass before it is asked again; each time twice as many."""


class ObjectStatus(NamedTuple):
    """What is known of an object without reading it, by the names that a file's has."""

    st_size: int
    st_ino: int
    st_dev: int = -1
    st_mtime_ns: int = 0
    st_ctime_ns: int = 0


class StoreUrl(PosixPath):
    """The URL of an object, or of a store, such as ``s3://bucket/model.zarr``; nothing of it is on this machine."""

    def __str__(self) -> str:
        return super().__str__().replace(":/", "://", 1)

    def _ask(self, ask: Callable[[Any, str], T]) -> T:
        """The answer of the file system that fsspec has for the scheme."""
        try:
            import fsspec
        except ImportError:
            raise missing_package("fsspec") from None
        try:
            system, path = fsspec.core.url_to_fs(str(self))
        except (ImportError, ValueError) as error:
            what = f"{self}: no package opens it: {shown(str(error))}."
            raise BadFile(what, hint="install s3fs, gcsfs, adlfs or the like", file=self) from None
        return patiently(lambda: ask(system, path), self)

    def _info(self) -> dict[str, Any] | None:
        """What the store tells of the object, or None if there is none.

        Not by ``isfile``, which takes a store that does not answer for one without the object.
        """
        try:
            return self._ask(lambda system, path: dict(system.info(path)))
        except FileNotFoundError:
            return None

    def exists(self, *_: Any, **__: Any) -> bool:
        """Whether there is such an object."""
        return self._info() is not None

    def is_file(self, *_: Any, **__: Any) -> bool:
        """Whether there is such an object."""
        return (self._info() or {}).get("type") == "file"

    def is_dir(self, *_: Any, **__: Any) -> bool:
        """No: an object is named, or a Zarr, which zarr-python opens."""
        return False

    def is_symlink(self) -> bool:
        """No."""
        return False

    def resolve(self, strict: bool = False) -> StoreUrl:
        """Itself."""
        return self

    def stat(self, *_: Any, **__: Any) -> Any:
        """Its size, and a number that changes when the object does."""
        found = self._info()
        if found is None or found.get("type") != "file":
            return ObjectStatus(0, 0)
        told = [
            str(found.get(key)) for key in ("ETag", "etag", "LastModified", "mtime", "created", "generation", "size")
        ]
        return ObjectStatus(int(found["size"]), int.from_bytes(sha256(repr(told).encode()).digest()[:8], "little"))

    def read_range(self, start: int, size: int) -> bytes:
        """Bytes of the object; fewer where it ends."""
        if not size:
            return b""
        return self._ask(lambda system, path: bytes(system.cat_file(path, start=start, end=start + size)))

    def write_parts(self, parts: Callable[[], Iterable[Any]], block: int) -> None:
        """Write the object from its first byte to its last; it is there when it is whole, and not before.

        ``parts`` begins anew where the store failed on the way.
        """

        def put(system: Any, path: str) -> None:
            file = system.open(path, "wb", block_size=block)
            try:
                for part in parts():
                    file.write(part)
            except BaseException:
                getattr(file, "discard", file.close)()
                raise
            file.close()

        self._ask(put)

    def remove(self) -> None:
        """Take the object away."""
        self._ask(lambda system, path: system.rm_file(path))


def as_path(x: Any) -> Path:
    """The path of a file, or the URL of a store, which has a scheme; anything else is refused."""
    if not isinstance(x, str | PathLike):
        raise ShapeError(f"a file is named by its path, got {shown(x)}.", hint="pass a text or a pathlib.Path", got=x)
    if isinstance(x, StoreUrl):
        return x
    return StoreUrl(x) if isinstance(x, str) and "://" in x else Path(x)


def patiently(ask: Callable[[], T], where: object) -> T:
    """What a store answers; one that cannot just now is asked again, and an error that stays is ``BadFile``."""
    for number in range(TRIES - 1):
        try:
            return ask()
        except FileNotFoundError:
            raise
        except OSError:
            time.sleep(FIRST_WAIT * 2**number)
    try:
        return ask()
    except OSError as error:
        what = f"{where}: its store does not answer: {error}."
        raise BadFile(what, hint="try again later, with resume", file=where) from None
