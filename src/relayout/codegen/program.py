"""What a target language is asked to write: one function between two operands, or the place of an element in one."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..elements.interface import Interface
from ..elements.types import Element
from ..layout.layout import Layout
from .loop_nest import LoopNest
from .operands import DigitOperand
from .values import Definition, Monomial


class PackFunction(NamedTuple):
    """A function that moves all elements of ``source`` to their places in ``target``.

    ``fill`` are the bytes of one stored element, or of eight that share bytes, for places beside the elements.
    ``conversion`` is what stored values mean on both sides, where that differs.
    ``sizes`` are the arguments of a function for any size, and ``about`` says in words what it does. ``names`` are the
    dimensions', and ``layouts`` both layouts where the shape is known.
    """

    name: str
    about: tuple[str, ...]
    element: Element
    target_element: Element
    conversion: tuple[Interface, Interface] | None
    extents: tuple[Monomial, ...]
    sizes: tuple[str, ...]
    source: DigitOperand
    target: DigitOperand
    fill: bytes
    nest: LoopNest
    definitions: tuple[Definition, ...]
    names: tuple[str, ...]
    layouts: tuple[Layout, Layout] | None


class IndexFunctions(NamedTuple):
    """Where the element of a coordinate lies, which element lies at a place, and all of them in memory's order."""

    name: str
    title: str
    names: tuple[str, ...]
    extents: tuple[Monomial, ...]
    sizes: tuple[str, ...]
    operand: DigitOperand
    definitions: tuple[Definition, ...]
    no_inverse: str
    """Why no place tells its element; empty where each does."""
    nest: LoopNest | None
    """The loops through all elements in the order of memory; None where no loops run through it forwards."""


class CheckedSize(NamedTuple):
    """One run of a self-test: the sizes, the bytes of both memories, and the checksum of what must come out."""

    sizes: tuple[int, ...]
    source: int
    target: int
    checksum: int


class Target(Protocol):
    """A language: its name, a line about it, the suffix of its files, what no function may be called, and its texts."""

    name: str
    about: str
    suffix: str
    reserved: frozenset[str]

    def write_pack(self, functions: list[PackFunction]) -> str: ...

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str: ...

    def write_index(self, functions: IndexFunctions) -> str: ...
