"""What a reader finds in an artefact, as values: moves, buffers, other steps, times, and what could not be read.

A reader yields them in the order of the file, made by ``making.make_side`` and ``making.make_move``; everything else
that an audit says is worked out from these values, once for all readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..elements.types import Element
from ..layout.layout import Layout


class Place(NamedTuple):
    """Where in which file: the line, counted from 1 (0 where the file has none), and the artefact's own name of it."""

    file: str
    line: int = 0
    name: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else f"{self.file}: {self.name}" if self.name else self.file


class Side(NamedTuple):
    """One side of a move, or a buffer: how the artefact writes its layout, and what that means.

    ``layout`` is anything that ``compare`` takes (a layout, a linear layout of threads, a format where the shape is not
    known, a sharding), over the logical coordinates; None where the text is not understood, and ``why`` then says why.
    ``memory`` names the memory space, empty for the usual one. ``reserved`` counts the bytes that memory is reserved
    for, where the artefact says more than the layout.
    """

    text: str
    layout: Any = None
    element: Element | None = None
    memory: str = ""
    why: str = ""
    reserved: int | None = None

    @property
    def stored_bytes(self) -> int | None:
        """The bytes of memory that it takes, padding included; None where nothing tells."""
        if self.reserved is not None:
            return self.reserved
        if not isinstance(self.layout, Layout) or self.element is None:
            return None
        return -(-self.layout.storage_size * self.element.bits // 8)

    @property
    def logical_bytes(self) -> int | None:
        """The bytes of the elements alone; None where nothing tells."""
        if not isinstance(self.layout, Layout) or self.element is None:
            return None
        return -(-self.layout.size * self.element.bits // 8)

    @property
    def padding(self) -> float:
        """The share of the stored bytes that no element has, from 0 to 1; 0 where nothing tells."""
        stored, logical = self.stored_bytes, self.logical_bytes
        return max(0.0, 1 - logical / stored) if stored and logical is not None else 0.0


@dataclass(frozen=True, slots=True)
class Move:
    """One operation that brings a tensor from one layout, or one memory, to another; or only seems to.

    ``op`` is the artefact's own word, ``kind`` one of ``kinds.KINDS``, ``shape`` that of the target. ``bytes`` are
    those that are written, padding included: 0 where nothing is, None where nothing tells. ``time`` is in seconds,
    summed over all ``count`` runs, and None where the file has none. ``reads`` and ``writes`` name the values that go
    in and come out, for the flow of data; a name is unique in its file. ``remarks`` are for people, ``details`` numbers
    for JSON.
    """

    place: Place
    op: str
    kind: str
    source: Side
    target: Side
    shape: tuple[int, ...]
    bytes: int | None
    time: float | None = None
    count: int = 1
    reads: str = ""
    writes: str = ""
    remarks: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def total_bytes(self) -> int:
        """The bytes of all runs; 0 where nothing tells."""
        return (self.bytes or 0) * self.count


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor that has memory of its own: a parameter, a constant, a shared buffer, a tensor of a checkpoint.

    ``role`` is ``"constant"`` for what never changes, ``"parameter"`` for what comes in from outside, ``"shared"`` or
    another word of the artefact's. ``value`` is its name in the flow of data.
    """

    place: Place
    side: Side
    shape: tuple[int, ...]
    role: str = ""
    value: str = ""
    remarks: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """An operation that moves nothing: what share moving has is told against these, and data flows through them.

    ``elementwise`` says that the outputs have the layout of the inputs, whatever it is, so that a move before it could
    as well come after it; ``inputs`` then are those of the outputs' shape, and ``broadcast`` the others.
    ``bytes`` are those read and written, ``time`` is in seconds; None where nothing tells. What leaves the program is
    the input of a step that is not elementwise. ``count`` operations that touch no moved value may be one step.
    """

    place: Place
    op: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    elementwise: bool = False
    bytes: int | None = None
    time: float | None = None
    count: int = 1
    broadcast: tuple[str, ...] = ()


class Timing(NamedTuple):
    """The seconds that all runs of the operation of this name took, as a profile tells for another artefact."""

    place: Place
    op: str
    time: float
    runs: int = 1

    @property
    def of_one_run(self) -> float:
        """The seconds of one run, on average: a graph is one run, and its bytes are those of one."""
        return self.time / max(self.runs, 1)


class Trouble(NamedTuple):
    """Something that could not be read, or that contradicts itself, and where."""

    place: Place
    message: str


Found = Move | Buffer | Step | Timing | Trouble
"""What readers yield."""
