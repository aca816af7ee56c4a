"""What commands take: texts of layouts in any notation, shapes, coordinates, tilers, and the options they share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

import click

from ..dialects.registry import dialect_names
from ..dialects.resolve import resolve
from ..dialects.shardings import SHARDING_DIALECTS
from ..elements.types import ELEMENTS
from ..format import catalog
from ..format.format import Format
from ..format.records import known_records
from ..layout.layout import Layout
from ..plugins import near_or_known

_SIZES = re.compile(r"\s*\(?\s*\d{1,4000}(\s*[,x]\s*\d{1,4000})*\s*,?\s*\)?\s*")


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def text_argument(name: str = "text", required: bool = True) -> Decorator:
    """The text of a layout; ``-`` is standard input. The shell completes names of the catalog and of notations."""

    def read(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        if value != "-":
            return value
        return sys.stdin.buffer.read(1 << 20).decode(errors="backslashreplace").strip()

    return click.argument(name, callback=read, shell_complete=layouts, required=required)


def layouts(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """How the text of a layout may go on, for the shell."""
    names = [*catalog.names(), *known_records()]
    return _with_prefix([*names, *[f"{dialect}:" for dialect in dialect_names()]], incomplete)


def layout_option(flag: str, name: str, what: str) -> Decorator:
    """The text of a layout, as an option."""
    return click.option(flag, name, shell_complete=layouts, metavar="LAYOUT", help=what)


def as_sizes(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """The callback of an option that is a shape: ``1,8,8,32`` or ``1x8x8x32``."""
    if value is None or value in ("", "()"):
        return None if value is None else ()
    if not _SIZES.fullmatch(value):
        raise click.BadParameter(f"{value!r} is no shape: write sizes as in 1,8,8,32.", ctx, param)
    return tuple([int(n) for n in re.findall(r"\d+", value)])


def shape_option() -> Decorator:
    what = "The tensor's shape, as in 1,8,8,32; formats need it."
    return click.option("--shape", callback=as_sizes, metavar="SIZES", help=what)


def axes_option() -> Decorator:
    return click.option("--axes", metavar="NAMES", help="The names of your tensor's dimensions in order, as in nchw.")


def dtype_option(
    flag: str = "--dtype", name: str = "dtype", what: str = "The type of the elements, as in float16."
) -> Decorator:
    """The name of an element type."""

    def check(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        if value is not None and value not in ELEMENTS:
            near = ", ".join(get_close_matches(value, ELEMENTS)) or "float32, uint8, bfloat16"
            raise click.BadParameter(f"there is no element type {value!r}; there are {near}, ...", ctx, param)
        return value

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return _with_prefix(ELEMENTS, incomplete)

    return click.option(flag, name, callback=check, shell_complete=complete, metavar="TYPE", help=what)


def as_fill(ctx: click.Context, param: click.Parameter, text: str | None) -> int | float | str | None:
    """A number, or ``qzero``."""
    if text is None or text == "qzero":
        return text
    for kind in (lambda x: int(x, 0), float):
        try:
            return kind(text)
        except ValueError:
            pass
    raise click.BadParameter(f"{text!r} is no number, and not qzero.", ctx, param_hint="--fill")


def fill_option() -> Decorator:
    return click.option("--fill", callback=as_fill, metavar="VALUE", help="The stored value of padding, or qzero.")


def to_option() -> Decorator:
    """The name of a notation."""

    def check(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        if value is not None and value.partition(":")[0] not in _notations():
            known = near_or_known(value, _notations())
            raise click.BadParameter(f"there is no notation {value!r}; {known}.", ctx, param)
        return value

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return _with_prefix(_notations(), incomplete)

    what = "The notation to answer in."
    return click.option("--to", "dialect", callback=check, shell_complete=complete, metavar="NOTATION", help=what)


def _notations() -> list[str]:
    """The notations of layouts, then those of shardings."""
    return [*dialect_names(), *SHARDING_DIALECTS]


def _with_prefix(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


# ---- layouts ---------------------------------------------------------------------------------------------


def subject(text: str, shape: Any = None, axes: str | None = None, dtype: Any = None) -> Layout | Format:
    """What the text writes down: with a shape its layout, in the order of ``axes``."""
    return resolve(text, shape=shape, axes=axes, element=dtype).description


def layout(text: str, shape: Any = None, axes: str | None = None, dtype: Any = None) -> Layout:
    """The layout of the text; a format needs the shape."""
    return resolve(text, shape=shape, axes=axes, element=dtype).placed
