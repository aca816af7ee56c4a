"""The algebra in pictures: operands and result, with every element in the colour of the tile or copy it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import algebra
from ..composed import ComposedLayout
from ..composition import composition
from ..errors import LimitExceeded, NotExpressible, ShapeError, shown
from ..layout import Layout
from .panes import Cell, Logical, Look, Subject, Tint, step_of, text_of
from .scene import CATEGORIES, PLAIN, Meaning, Pane, Scale, Scene

DIVIDES = (algebra.logical_divide, algebra.zipped_divide, algebra.tiled_divide, algebra.flat_divide)
PRODUCTS = (
    algebra.logical_product,
    algebra.zipped_product,
    algebra.tiled_product,
    algebra.flat_product,
    algebra.blocked_product,
    algebra.raked_product,
)


def operation_scene(operation: Callable[..., Any], operands: Sequence[Any], limit: int) -> Scene:
    """The picture of ``operation(*operands)``."""
    kinds: dict[Callable[..., Any], Callable[..., Scene]] = {
        **dict.fromkeys(DIVIDES, _divide),
        **dict.fromkeys(PRODUCTS, _product),
        composition: _compose,
    }
    if operation not in kinds:
        drawn = ", ".join([f.__name__ for f in kinds])
        raise ShapeError(f"{shown(operation)} is not drawn as an operation.", hint=f"one of {drawn}", got=operation)
    if len(operands) != 2 or not isinstance(operands[0], Layout):
        raise ShapeError(
            f"{operation.__name__} is drawn for a layout and what it is combined with, got {len(operands)} operands.",
            hint=f"draw(rl.{operation.__name__}, a, b)",
        )
    return kinds[operation](operation, operands[0], operands[1], limit)


def _divide(operation: Callable[..., Any], a: Layout, tiler: Any, limit: int) -> Scene:
    result = operation(a, tiler)
    tiles = algebra.zipped_divide(a, tiler)
    part = _parts(tiles, limit)
    one = tiler if isinstance(tiler, Layout) else tiles[0]
    panes = [
        _pane(f"A = {a}", a, limit, part),
        _pane(f"B = {tiler}" if one is tiler else f"tile {shown(tiler)}", one, limit, {}, "\u00f7"),
        _pane(f"{operation.__name__} = {result}", result, limit, part, "="),
    ]
    return Scene(panes, [], ["Each tile has a colour; the first one is outlined."])


def _product(operation: Callable[..., Any], a: Layout, b: Any, limit: int) -> Scene:
    result = operation(a, b)
    copies = algebra.zipped_product(a, b)
    part = _parts(copies, limit)
    panes = [_pane(f"A = {a}", a, limit, part)]
    if isinstance(b, Layout):
        tint: Tint = lambda cell: b.coordinates(cell.coordinate).integer % CATEGORIES  # noqa: E731
        panes.append(_drawn(f"B = {b}", b, limit, tint, "categories", lambda cell: -1, lambda cell: False, "\u00d7"))
    panes.append(_pane(f"{operation.__name__} = {result}", result, limit, part, "="))
    return Scene(panes, [], ["Each copy of A has a colour; the first one is outlined."])


def _compose(operation: Callable[..., Any], a: Layout, b: Any, limit: int) -> Scene:
    if not isinstance(b, Layout):
        raise ShapeError("a composition is drawn for two layouts.", hint="draw(rl.composition, a, b)", got=b)
    result: Layout | ComposedLayout
    try:
        result = operation(a, b)
    except NotExpressible:
        result = ComposedLayout(a, b)
    _bounded(max(a.size, b.size), limit)
    low, high = a.min_offset, a.max_offset

    def tint(value: Callable[[Cell], int]) -> Tint:
        return lambda cell: min(max(step_of(value(cell), low, high), 0), 11)

    def pane(title: str, layout: Any, value: Callable[[Cell], int], joint: str = "") -> Pane:
        return _drawn(title, layout, limit, tint(value), "ramp", value, lambda cell: False, joint)

    word = "A after B" if isinstance(result, ComposedLayout) else "composition"
    panes = [
        pane(f"A = {a}", a, lambda cell: int(cell.offset)),
        pane(f"B = {b}", b, lambda cell: int(result(cell.coordinate)), "\u2218"),
        pane(f"{word} = {result}", result, lambda cell: int(cell.offset), "="),
    ]
    return Scene(panes, [Meaning(None, "memory, from the lowest address to the highest")], [])


# ---- panes -----------------------------------------------------------------------------------------------


def _parts(pairs: Layout, limit: int) -> dict[int, int]:
    """The number of the tile or copy that each offset belongs to, of a layout of pairs (inside, number)."""
    _bounded(pairs.size, limit)
    inside, outside = pairs.extents
    found: dict[int, int] = {}
    for number in range(outside):
        for k in range(inside):
            found.setdefault(pairs(k, number), number)
    return found


def _pane(title: str, layout: Layout, limit: int, part: dict[int, int], joint: str = "") -> Pane:
    """A layout whose offsets are coloured by the part they belong to; the first part is outlined."""

    def tint(cell: Cell) -> int:
        number = part.get(cell.offset)
        return PLAIN if number is None else number % CATEGORIES

    def outlined(cell: Cell) -> bool:
        return part.get(cell.offset) == 0

    return _drawn(title, layout, limit, tint, "categories", lambda cell: int(cell.offset), outlined, joint)


def _drawn(
    title: str,
    layout: Layout | ComposedLayout,
    limit: int,
    tint: Tint,
    scale: Scale,
    key: Callable[[Cell], int],
    outlined: Callable[[Cell], bool],
    joint: str,
) -> Pane:
    drawn = Logical(Subject(layout, title), Look(), limit)
    return drawn.pane(text_of(None, drawn), tint, scale, key, outlined, joint)


def _bounded(count: int, limit: int) -> None:
    if count > limit:
        raise LimitExceeded(
            f"an operation on {count} elements is over the {limit} that this form draws.",
            hint="draw it with smaller operands: the pattern is the same",
            limit=limit,
        )
