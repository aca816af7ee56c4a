"""What a kind of file declares so that tensors are read from it and written to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .contents import Destination, bad_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from .contents import PlannedTensor, Source


class Container(Protocol):
    """A kind of file that holds tensors. A subclass in a module of its own declares it, and ``CONTAINER`` is its value.

    ``name`` is how it is called, and what a ``Source`` has as its ``kind``. A path that ends with one of ``suffixes``
    is such a file. Where ``single`` is true it holds one tensor, named as the file is. Those of other packages are
    found by an entry point in the group ``relayout.containers`` that leads to their value; ``relayout.testing``
    checks what is said here.
    """

    name: str
    suffixes: tuple[str, ...]
    single: bool = False

    def recognises(self, path: Path) -> bool:
        """Whether what is at ``path`` is such a file, or such a folder, whatever its name is."""
        return False

    def read(self, path: Path) -> Source:
        """What the file holds, and where; nothing but headers is read, and what is not exactly right is ``BadFile``."""
        ...

    def plan(
        self, path: Path, planned: Sequence[PlannedTensor], metadata: Mapping[str, Any] | None = None
    ) -> Destination:
        """The files that hold these tensors, with their sizes and all of their bytes that are no tensor's.

        What the container cannot hold is ``BadFile``. A container without this method is read and not written.
        """
        raise bad_file(path, f"{self.name} files are read, not written.", "write .safetensors or .npz")

    def plan_into(self, path: Path, planned: Sequence[PlannedTensor], source: Source) -> Destination:
        """The files that hold the tensors of ``source`` as they are planned, and what it says of itself besides.

        A container whose files hold more than tensors and metadata keeps the rest of a ``source`` of its own kind.
        """
        return self.plan(path, planned, source.metadata)

    @property
    def writable(self) -> bool:
        """Whether such files are written, too."""
        return type(self).plan is not Container.plan


def begins_with(path: Path, magic: bytes) -> bool:
    """Whether a regular file begins with these bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(magic)) == magic
