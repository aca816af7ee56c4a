"""A file, a folder or a text that is audited: its first bytes, and its lines one after another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path

from ..errors import BadFile, LimitExceeded, ShapeError, shown
from .move import Place, Trouble

HEAD_BYTES = 1 << 16
"""How much is looked at to tell what kind of artefact it is."""

LONGEST_LINE = 1 << 24
"""Longer lines are cut into several, which have the number of the first."""

CHUNK = 1 << 20
"""How many characters are read from a file at once."""

WHOLE_BYTES = 1 << 28
"""The most that is read at once, of an artefact that is not made of lines."""


class Artefact:
    """What a reader reads. ``path`` is None for a text; ``name`` is what messages and places call it."""

    def __init__(self, path: Path | None, text: str | None = None, name: str = "") -> None:
        self.path, self._text = path, text
        self.counts_braces, self.open_braces = False, 0
        self.name = name or (str(path) if path is not None else "text")

    @cached_property
    def head(self) -> bytes:
        """The first bytes; none of a folder."""
        if self.path is None:
            return (self._text or "")[:HEAD_BYTES].encode(errors="replace")
        if self.path.is_dir():
            return b""
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    @cached_property
    def opening(self) -> str:
        """The first bytes as text; empty where they are none."""
        return "" if b"\0" in self.head else self.head.decode(errors="replace")

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines without their ends, numbered from 1, as they are read; bytes that are no text are replaced.

        Where ``counts_braces`` is set, ``open_braces`` has those that are open: none after all lines of a whole text.
        """
        self.open_braces = 0
        for number, line in self._with_numbers():
            if self.counts_braces and ("{" in line or "}" in line):
                self.open_braces += count_open(line)
            yield number, line

    def _with_numbers(self) -> Iterator[tuple[int, str]]:
        if self.path is None:
            yield from enumerate((self._text or "").splitlines(), 1)
            return
        with self.path.open(encoding="utf-8", errors="replace", newline=None) as file:
            number, whole = 0, True
            while line := file.readline(LONGEST_LINE):
                number += whole
                whole = line.endswith("\n")
                yield number, line.rstrip("\n")

    def read_bytes(self) -> bytes:
        """All of it, for what is not made of lines; refused over a limit."""
        if self.path is None:
            return (self._text or "").encode()
        size = self.path.stat().st_size
        if size > WHOLE_BYTES:
            raise LimitExceeded(
                f"{self.name} has {size} bytes, and what is no file of lines is read up to {WHOLE_BYTES}.",
                hint="dump a smaller part of the program",
                limit=WHOLE_BYTES,
            )
        return self.path.read_bytes()

    def read_text(self) -> str:
        """All of it as text, for what is not made of lines, as JSON is; refused over a limit."""
        return self.read_bytes().decode(errors="replace")

    def place(self, line: int = 0, name: str = "") -> Place:
        """A place in it."""
        return Place(self.name, line, name)

    def trouble(self, message: str, line: int = 0, name: str = "") -> Trouble:
        """Something at a place that could not be read."""
        return Trouble(self.place(line, name), message)


def count_open(line: str) -> int:
    """How many more braces a line opens than it closes, outside of quotes.

    >>> count_open('func @main(%0: f32 {name = "}"}) {')
    1
    """
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", line) if '"' in line else line
    return outside.count("{") - outside.count("}")


def open_artefact(x: str | PathLike[str]) -> Artefact:
    """The artefact at a path, or the text itself where it has several lines or can be no path."""
    if isinstance(x, str) and ("\n" in x or len(x) > 4096):
        return Artefact(None, x)
    if not isinstance(x, str | PathLike):
        raise ShapeError(f"an audit is of a path or of a text, got {shown(x)}.", hint="pass the name of a file", got=x)
    path = Path(x)
    try:
        there = path.exists()
    except (OSError, ValueError):
        there = False
    if not there:
        raise BadFile(f"{x}: there is no such file.", hint="name a file, or pass a text of several lines", file=path)
    return Artefact(path)
