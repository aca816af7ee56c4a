"""What the page asks about: texts from its fields, read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from ..dialects.resolve import Resolved, resolve
from ..dialects.tilers import parse_integers
from ..elements.types import element
from ..errors import LayoutError, LimitExceeded, ShapeError, shown
from ..format.format import Format
from ..integers.nested import product

TEXT_LIMIT = 4096
"""The longest text of a field."""

_EXAMPLE_SIZE = 1024
"""An example shape has at most that many elements, unless one block has more."""


class FieldError(LayoutError):
    """An error that one field of the page is to blame for."""

    def __init__(self, field: str, error: LayoutError) -> None:
        super().__init__(error.message)
        self.field = field
        self.error = error


@contextmanager
def blame_field(field: str) -> Iterator[None]:
    """Errors inside are this field's, unless another is to blame already."""
    try:
        yield
    except FieldError:
        raise
    except LayoutError as error:
        raise FieldError(field, error) from error


@dataclass(frozen=True, slots=True)
class State:
    """The fields of the page, as they are in its address; an empty one was not filled in."""

    a: str = ""
    b: str = ""
    do: str = ""
    shape: str = ""
    axes: str = ""
    dtype: str = ""
    rows: str = ""
    columns: str = ""
    at: str = ""
    cells: str = ""
    color: str = ""
    view: str = ""
    path: str = ""
    strides: str = ""
    whole: str = ""
    width: str = ""
    tile: str = ""
    access: str = ""
    arch: str = ""
    target: str = ""
    inverse: str = ""
    test: str = ""

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The shape that was filled in: ``1,8,8,32`` or ``1x8x8x32``."""
        with blame_field("shape"):
            return _sizes(self.shape, "a shape")

    @property
    def tile_sizes(self) -> tuple[int, ...] | None:
        with blame_field("tile"):
            return _sizes(self.tile, "the shape of a tile")

    @property
    def line(self) -> int | None:
        """How many addresses of the memory are in a line."""
        with blame_field("width"):
            if self.width.strip() and not (re.fullmatch(r"\s*\d{1,4}\s*", self.width) and int(self.width)):
                raise ShapeError(f"{shown(self.width)} addresses make no line.", hint="a number, as in 32")
            return int(self.width) if self.width.strip() else None

    @property
    def fixed(self) -> dict[int, int]:
        """The dimensions that stand still, as in ``0:3,2:1``."""
        pairs = [re.fullmatch(r"(\d{1,3}):(\d{1,300})", pair, re.ASCII) for pair in self.at.split(",")]
        return {int(pair[1]): int(pair[2]) for pair in pairs if pair}

    def dimension(self, field: str) -> int | None:
        """The dimension that a field says, by its number."""
        text = str(getattr(self, field)).strip()
        return int(text) if re.fullmatch(r"\d{1,3}", text) else None


def _sizes(text: str, what: str) -> tuple[int, ...] | None:
    if not text.strip():
        return None
    found = parse_integers(text.replace("x", ","), what)
    return found if isinstance(found, tuple) else (found,)


def state_of(raw: Any) -> State:
    """The state of a question; what is no text, too long or unknown is refused."""
    if not isinstance(raw, dict):
        raise ShapeError(f"a state is an object, got {shown(raw)}.", hint="send the fields of the page")
    known = {field.name for field in fields(State)}
    for name, text in raw.items():
        if name not in known or not isinstance(text, str):
            raise ShapeError(f"{shown(name)} is no field with a text.", hint=f"one of {', '.join(sorted(known))}")
        if len(text) > TEXT_LIMIT:
            raise LimitExceeded(
                f"{name} has {len(text)} characters, more than {TEXT_LIMIT}.", hint="shorten it", limit=TEXT_LIMIT
            )
    return State(**raw)


# ---- reading ---------------------------------------------------------------------------------------------


def operand_in(state: State, field: str) -> Resolved:
    """What the text of a field means."""
    with blame_field("dtype"):
        bits_of(state)
    with blame_field(field):
        text = getattr(state, field)
        if not text.strip():
            raise ShapeError("nothing is written here yet.", hint="write a layout, or pick one from the catalog")
        return resolve(text, element=state.dtype or None)


def look_at_threads(state: State) -> State:
    """The state in which a text that deals elements to threads is looked at as their tile; any other as it is."""
    if state.do not in ("", "look") or not state.a.strip():
        return state
    try:
        operand = operand_in(state, "a")
    except LayoutError:
        return state
    tile = state.sizes or operand.shape
    if not operand.threads or tile is None or len(tile) > 2:
        return state
    return replace(state, do="threads", tile=",".join(map(str, tile)))


def bits_of(state: State) -> int | None:
    """The width of an element, where a type was filled in."""
    return element(state.dtype).bits if state.dtype else None


def example_shape(fmt: Format) -> tuple[int, ...]:
    """A shape that shows what a format does: a block or two along each blocked dimension, a few elements elsewhere."""
    sizes = [
        block if block > 1 else 1 if fmt.axes and fmt.axes[d] in "nb" else 4 for d, block in enumerate(fmt.block_shape)
    ]
    for d, block in enumerate(fmt.block_shape):
        if block > 1 and 2 * product(tuple(sizes)) <= _EXAMPLE_SIZE:
            sizes[d] *= 2
    return tuple(sizes)


def shape_for(state: State, *operands: Resolved) -> tuple[tuple[int, ...] | None, bool]:
    """The shape to draw for, and whether it is an example: that of the field, of a layout, or one of our choice."""
    sizes = state.sizes
    if sizes is not None:
        return sizes, False
    for x in operands:
        if x.layout is not None:
            return x.shape, False
    for x in operands:
        if isinstance(x.format, Format):
            return example_shape(x.format), True
    return None, False
