"""Languages that print the tree of statements: what they all write of it, each by its own ``text``."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .lower import layout_module, pack_module
from .program import CheckedSize, IndexFunctions, PackFunction
from .statements import Module


class TreeTarget(ABC):
    """A target whose texts are modules of statements, printed; ``turns`` and ``streams`` are those of a pack module."""

    turns = False
    streams = False

    @abstractmethod
    def text(self, module: Module) -> str:
        """A module as the language writes it."""

    @abstractmethod
    def no_inverse(self, reason: str) -> str:
        """The comment behind the functions of a layout, on why none leads from a place to a coordinate."""

    def write_pack(self, functions: list[PackFunction]) -> str:
        return self.text(pack_module(functions, None, self.turns, self.streams))

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        return self.text(pack_module(functions, runs, self.turns, self.streams))

    def write_index(self, functions: IndexFunctions) -> str:
        text = self.text(layout_module(functions))
        return text + self.no_inverse(functions.no_inverse) if functions.no_inverse else text
