"""The algebra in pictures: operands and result, with every element in the colour of the tile or copy it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..algebra import tiling
from ..algebra.composed import ComposedLayout
from ..algebra.composition import composition
from ..errors import LimitExceeded, NotExpressible, ShapeError, shown
from ..integers.nested import product
from ..layout.layout import Layout
from .cells import BLOCKS, MEMORY, step_of, text_of
from .panes import Cell, LogicalGrids, Look, Subject, Tint
from .scene import CATEGORIES, HTML_CELLS, PLAIN, STEPS, LegendEntry, Pane, Scale, Scene
from .words import title_line

DIVIDES = (tiling.logical_divide, tiling.zipped_divide, tiling.tiled_divide, tiling.flat_divide)
PRODUCTS = (
    tiling.logical_product,
    tiling.zipped_product,
    tiling.tiled_product,
    tiling.flat_product,
    tiling.blocked_product,
    tiling.raked_product,
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
        raise ShapeError(
            f"{operation.__name__} is not drawn as an operation.", hint=f"draw its result; or one of {drawn}"
        )
    if len(operands) != 2 or not isinstance(operands[0], Layout):
        raise ShapeError(
            f"{operation.__name__} is drawn for a layout and what it is combined with, got {len(operands)} operands.",
            hint=f"draw(rl.{operation.__name__}, a, b)",
        )
    return kinds[operation](operation, operands[0], operands[1], limit)


def _divide(operation: Callable[..., Any], a: Layout, tiler: Any, limit: int) -> Scene:
    result = operation(a, tiler)
    tiles = tiling.zipped_divide(a, tiler)
    one = tiler if isinstance(tiler, Layout) else tiles[0]
    shown_as = _Parts(tiles, limit)
    panes = [
        shown_as.pane(f"A = {a}", a),
        _plain_pane(f"B = {tiler}" if one is tiler else f"tile {_tiler(tiler)}", one, limit, "\u00f7"),
        shown_as.pane(f"{operation.__name__} = {result}", result, "="),
    ]
    return Scene(panes, [], ["The first tile is marked."])


def _tiler(tiler: Any) -> str:
    """A tiler as the command line reads it: ``<3:3, 4>`` mode by mode, or the sizes alone."""
    if isinstance(tiler, tuple) and any(isinstance(part, Layout) for part in tiler):
        return f"<{', '.join([_tiler(part) for part in tiler])}>"
    return tiler.to("cute") if isinstance(tiler, Layout) else shown(tiler)


def _product(operation: Callable[..., Any], a: Layout, b: Any, limit: int) -> Scene:
    result = operation(a, b)
    shown_as = _Parts(tiling.zipped_product(a, b), limit)
    panes = [shown_as.pane(f"A = {a}", a)]
    if isinstance(b, Layout):
        panes.append(shown_as.numbers(f"B = {b}", b, "\u00d7"))
    panes.append(shown_as.pane(f"{operation.__name__} = {result}", result, "="))
    return Scene(panes, [], ["The first copy is marked."])


def _compose(operation: Callable[..., Any], a: Layout, b: Any, limit: int) -> Scene:
    if not isinstance(b, Layout):
        raise ShapeError("a composition is drawn for two layouts.", hint="draw(rl.composition, a, b)", got=b)
    result: Layout | ComposedLayout
    try:
        result = operation(a, b)
    except NotExpressible:
        result = ComposedLayout(a, b)
    _check_limit(max(a.size, b.size), limit)
    low, high = (0, 0) if a.has_basis else (a.min_offset, a.max_offset)
    keys = _Keys()

    def pane(title: str, layout: Any, value: Callable[[Cell], Any], joint: str = "") -> Pane:
        tint: Tint = lambda cell: PLAIN if a.has_basis else step_of(value(cell), low, high)  # noqa: E731
        return _layout_pane(title, layout, limit, tint, "ramp", lambda cell: keys.of(value(cell)), joint=joint)

    word = "A after B" if isinstance(result, ComposedLayout) else "composition"
    panes = [
        pane(f"A = {a}", a, lambda cell: cell.offset),
        pane(f"B = {b}", b, lambda cell: result(b.coordinates(cell.coordinate).integer), "\u2218"),
        pane(f"{word} = {result}", result, lambda cell: cell.offset, "="),
    ]
    legend = [] if a.has_basis else [LegendEntry(tuple(range(STEPS)), MEMORY, "ramp")]
    return Scene(panes, legend, [])


# ---- panes -----------------------------------------------------------------------------------------------


class _Keys:
    """Numbers for places, whatever they are: the same place has the same number in every pane."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def of(self, place: Any) -> int:
        return self._known.setdefault(place, len(self._known))


class _Parts:
    """The tiles or copies of ``pairs``, a layout of pairs (inside, number): every offset in the colour of its part."""

    def __init__(self, pairs: Layout, limit: int) -> None:
        _check_limit(pairs.size, limit)
        self._limit, self._keys = limit, _Keys()
        inside, outside = pairs.extents
        self._part: dict[Any, int] = {}
        for number in range(outside):
            for k in range(inside):
                self._part.setdefault(pairs(k, number), number)
        modes = pairs.shape[1] if isinstance(pairs.shape, tuple) else 1
        self._sizes = [product(n) for n in modes] if isinstance(modes, tuple) else [outside]

    def pane(self, title: str, layout: Layout, joint: str = "") -> Pane:
        """A layout in the colours of the parts that its offsets belong to; the first part is outlined."""

        def tint(cell: Cell) -> int:
            number = self._part.get(cell.offset)
            return PLAIN if number is None else self._tint(number)

        def in_first(cell: Cell) -> bool:
            return self._part.get(cell.offset) == 0

        key: Callable[[Cell], int] = lambda cell: self._keys.of(cell.offset)  # noqa: E731
        return _layout_pane(title, layout, self._limit, tint, "categories", key, in_first, joint)

    def numbers(self, title: str, layout: Layout, joint: str) -> Pane:
        """A layout whose elements are the parts, each in its colour."""
        tint: Tint = lambda cell: self._tint(layout.coordinates(cell.coordinate).integer)  # noqa: E731
        return _layout_pane(title, layout, self._limit, tint, "categories", lambda cell: -1, joint=joint)

    def _tint(self, number: int) -> int:
        """A colour for a part; those beside it, in a row of parts or a grid, have others."""
        if len(self._sizes) == 1:
            return number % CATEGORIES
        total = 0
        for size in self._sizes[:-1]:
            number, place = divmod(number, size)
            total += 3 * place
        return (total + number) % BLOCKS


def _plain_pane(title: str, layout: Layout, limit: int, joint: str) -> Pane:
    """A layout without colours."""
    return _layout_pane(title, layout, limit, lambda cell: PLAIN, "categories", lambda cell: -1, joint=joint)


def _layout_pane(
    title: str,
    layout: Layout | ComposedLayout,
    limit: int,
    tint: Tint,
    scale: Scale,
    key: Callable[[Cell], int],
    outlined: Callable[[Cell], bool] = lambda cell: False,
    joint: str = "",
) -> Pane:
    drawn = LogicalGrids(Subject(layout, title_line(title)), Look(), limit)
    return drawn.pane(text_of(None, drawn), tint, scale, key, outlined, joint)


def _check_limit(count: int, limit: int) -> None:
    if count > limit:
        raise LimitExceeded(
            f"an operation on {count} elements is over the {limit} that this form draws.",
            hint=f"a page (.html) draws {HTML_CELLS}; or take smaller operands: the pattern is the same",
            limit=limit,
        )
