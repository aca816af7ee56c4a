"""The readers of artefacts by name and by content: those of this package, and those that other packages add.

Another package adds one by an entry point in the group ``relayout.audits`` that names an ``AuditReader``;
``relayout.testing`` checks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

from ..errors import BadFile, LayoutError, UnknownName, shown
from ..plugins import entry_points_of, load_entry, near_or_known
from .artefact import Artefact
from .move import Found

BUILT_IN = {
    "checkpoint": "checkpoints",
    "hlo": "hlo",
    "stablehlo": "stablehlo",
    "torch": "torch_graph",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "tensorrt": "tensorrt",
    "tvm": "tvm",
    "mil": "mil",
    "triton": "triton_ir",
    "mlir": "mlir",
    "onednn": "onednn",
}
"""The modules of this package that have ``READER``, by the kind of artefact that it reads."""

ENTRY_POINTS = "relayout.audits"
"""The group of entry points that other packages name their readers in."""


class AuditReader(Protocol):
    """What reads one kind of artefact.

    ``kind`` is its name, ``title`` what people call it, and ``EXAMPLES`` are short texts of that kind (none for what is
    not text). ``recognises`` looks at ``artefact.head``, ``opening`` or ``path`` and nothing else, and claims only what
    no other reader does. ``read`` yields what it finds in one pass, in the order of the file, and keeps no more than a
    line's worth: a file of 100 MB is read in seconds and bounded memory. What it cannot read it yields as ``Trouble``
    and goes on; an error of ours that it raises ends the artefact with a trouble. With ``BRACES`` true, a text of lines
    that ends inside braces is told to be cut.
    """

    kind: str
    title: str
    EXAMPLES: tuple[str, ...]

    def recognises(self, artefact: Artefact) -> bool: ...
    def read(self, artefact: Artefact) -> Iterator[Found]: ...


def reader_names() -> list[str]:
    """Every kind of artefact: the built-in ones, then those of other packages."""
    return [*BUILT_IN, *[name for name in _entry_points() if name not in BUILT_IN]]


def reader_named(kind: Any) -> AuditReader:
    """The reader of that kind."""
    if isinstance(kind, str) and kind in BUILT_IN:
        found: AuditReader = import_module(f".{BUILT_IN[kind]}", __package__).READER
        return found
    points = _entry_points()
    if isinstance(kind, str) and kind in points:
        loaded: AuditReader = load_entry(points[kind], "reader", kind=kind)
        return loaded
    raise UnknownName(
        f"there is no kind of artefact {shown(kind)}.", hint=near_or_known(kind, reader_names()), name=kind
    )


def recognise(artefact: Artefact) -> AuditReader:
    """The reader that takes what is in an artefact, or where it is mixed all that do, as one; refused where none does.

    Those of other packages are asked only about what none of our own takes.
    """
    found = [reader for reader in map(reader_named, BUILT_IN) if reader.recognises(artefact)]
    if not found:
        others = [reader_named(name) for name in reader_names() if name not in BUILT_IN]
        found = [reader for reader in others if reader.recognises(artefact)]
    if not found:
        raise BadFile(
            f"{artefact.name}: no reader knows what it is.",
            hint=f"say what it is by --kind or kind=: {', '.join(reader_names())}",
            file=artefact.path,
        )
    return found[0] if len(found) == 1 else MixedReader(found)


class MixedReader:
    """Reads an artefact that is of several kinds, as the output of a program with several logs is: each reader in
    turn."""

    EXAMPLES: tuple[str, ...] = ()

    def __init__(self, readers: Sequence[AuditReader]) -> None:
        self.readers = tuple(readers)
        self.kind = " and ".join([reader.kind for reader in readers])
        self.title = " and ".join([reader.title for reader in readers])

    def recognises(self, artefact: Artefact) -> bool:
        return all(reader.recognises(artefact) for reader in self.readers)

    def read(self, artefact: Artefact) -> Iterator[Found]:
        for reader in self.readers:
            try:
                yield from reader.read(artefact)
            except LayoutError as error:
                yield artefact.trouble(f"as {reader.kind}: {error.message}")


def _entry_points() -> dict[str, Any]:
    return {point.name: point for point in entry_points_of(ENTRY_POINTS)}
