"""The commands of the algebra: ``compose``, ``divide``, ``product``, ``invert``, ``complement``, ``coalesce``."""

from __future__ import annotations

from typing import Any

import click

from ..algebra import coalescing, inverses, tiling
from ..algebra.composition import composition
from ..dialects.tilers import parse_integers, parse_layout, parse_tiler
from ..layout.layout import Layout
from .answers import Answer, Command
from .arguments import as_sizes, layout, shape_option, text_argument, to_option


def _answer(found: Layout, dialect: str | None) -> Answer:
    text = str(found) if dialect is None else found.to(dialect)
    return Answer({"layout": found, "text": text}, [text])


@click.command(cls=Command)
@text_argument("a")
@text_argument("b")
@shape_option()
@to_option()
def compose(a: str, b: str, shape: Any, dialect: str | None) -> Answer:
    """A after B: the layout that sends c to A(B(c)), or a counterexample why there is none.

    B is a layout, a number n (which means n:1), or a tiler: 4,8 or <4:1, 8:2> compose mode by mode.
    """
    return _answer(composition(layout(a, shape), parse_tiler(b)), dialect)


@click.command(cls=Command)
@text_argument("a")
@text_argument("b")
@click.option(
    "--form",
    type=click.Choice(["logical", "zipped", "tiled", "flat"]),
    default="logical",
    help="How the modes are gathered; logical keeps them where they are.",
)
@shape_option()
@to_option()
def divide(a: str, b: str, form: str, shape: Any, dialect: str | None) -> Answer:
    """A cut by the tiler B into (tile, rest).

    B is a layout, or a tiler that cuts mode by mode: 4,8 or <4:1, 8:2>, where _ leaves a mode alone.
    """
    return _answer(getattr(tiling, f"{form}_divide")(layout(a, shape), parse_tiler(b)), dialect)


@click.command(cls=Command)
@text_argument("a")
@text_argument("b")
@click.option(
    "--form",
    type=click.Choice(["logical", "zipped", "tiled", "flat", "blocked", "raked"]),
    default="logical",
    help="How the modes are gathered; blocked and raked join them one by one.",
)
@shape_option()
@to_option()
def product(a: str, b: str, form: str, shape: Any, dialect: str | None) -> Answer:
    """The block A repeated by B as (block, grid)."""
    other = parse_layout(b) if form in ("blocked", "raked") else parse_tiler(b)
    return _answer(getattr(tiling, f"{form}_product")(layout(a, shape), other), dialect)


@click.command(cls=Command)
@text_argument()
@click.option(
    "--side",
    type=click.Choice(["right", "left"]),
    default="right",
    help="right: L(R(i)) = i as far as L has no holes. left: N(L(i)) = i for every i.",
)
@shape_option()
@to_option()
def invert(text: str, side: str, shape: Any, dialect: str | None) -> Answer:
    """The inverse of a layout: from offsets back to the numbers of its elements."""
    inverse = inverses.right_inverse if side == "right" else inverses.left_inverse
    return _answer(inverse(layout(text, shape)), dialect)


@click.command(cls=Command)
@text_argument()
@click.option(
    "--size",
    callback=as_sizes,
    metavar="SIZES",
    help="How many offsets to fill; by default its cosize.",
)
@shape_option()
@to_option()
def complement(text: str, size: Any, shape: Any, dialect: str | None) -> Answer:
    """What a layout leaves out: offsets that, added to those of the layout, repeat none of them."""
    return _answer(inverses.complement(layout(text, shape), size), dialect)


@click.command(cls=Command)
@text_argument()
@click.option("--profile", help="The modes to coalesce each by itself, as in 1,1.")
@shape_option()
@to_option()
def coalesce(text: str, profile: str | None, shape: Any, dialect: str | None) -> Answer:
    """The shortest flat layout with the same values at the same integers."""
    modes = None if profile is None else parse_integers(profile, "a profile")
    return _answer(coalescing.coalesce(layout(text, shape), modes), dialect)
