"""Which scene shows what is asked for: layouts, records, shardings, comparisons, operations, banks, a tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

from ..algebra.linear import LinearLayout
from ..ask.banks import Banks
from ..ask.every_shape import FormatComparison
from ..ask.record_comparison import RecordComparison
from ..ask.sectors import Sectors
from ..dialects.read import as_record
from ..dialects.resolve import resolve
from ..dialects.shardings import as_sharding
from ..errors import ShapeError, shown
from ..format.record import Record
from ..hardware.atoms import as_atom
from ..integers.inttuple import as_int
from ..layout.comparison import Comparison, compare
from ..sharding.comparison import ShardingComparison, compare_shardings
from ..sharding.sharding import Sharding
from .atom_scenes import atom_scene
from .bank_scenes import banks_scene
from .cells import VIEWS
from .drawing import Drawing
from .operations import operation_scene
from .record_scenes import comparison_scene, record_title, records_scene
from .scene import Scene
from .scenes import difference_scene, layouts_scene
from .sector_scenes import sectors_scene
from .sharding_scenes import DrawnSharding, sharding_difference_scene, shardings_scene
from .subjects import look_at, subjects_of
from .threads import linear_scene, threads_scene
from .words import title_line


def drawing_of(
    x: Any,
    others: Sequence[Any],
    *,
    shape: Any,
    axes: str | None,
    dtype: Any,
    look: Mapping[str, Any],
    view: str,
    tile: Any,
) -> Drawing:
    """The picture that ``draw`` describes; ``look`` has its words for how layouts are drawn."""
    if view not in VIEWS:
        raise ShapeError(f"there is no view {shown(view)}.", hint=f"one of {', '.join(VIEWS)}", got=view)
    given = {
        **look,
        "path": look["path"] or None,
        "strides": look["strides"] or None,
        "view": None if view == VIEWS[0] else view,
        "tile": tile,
        "others": others,
    }
    if isinstance(x, FunctionType):
        _refuse("an operation", {**given, "others": None})
        operands = [subjects_of([y], shape, axes, dtype)[0].layout if isinstance(y, str) else y for y in others]
        return Drawing(lambda limit: operation_scene(x, operands, limit))
    if isinstance(x, Banks):
        _refuse("what an access costs", {**given, "shape": shape, "axes": axes, "dtype": dtype})
        return Drawing(lambda limit: banks_scene(x, limit))
    if isinstance(x, Sectors):
        _refuse("what an access costs", {**given, "shape": shape, "axes": axes, "dtype": dtype})
        return Drawing(lambda limit: sectors_scene(x, limit))
    if isinstance(x, LinearLayout):
        _refuse("a LinearLayout", given)
        return Drawing(lambda limit: linear_scene(x, limit))
    atom = as_atom(x)
    if atom is not None:
        _refuse("an atom", {**given, "shape": shape, "axes": axes, "dtype": dtype})
        return Drawing(lambda limit: atom_scene(atom, limit))
    shardings = [as_sharding(y, shape) for y in (x, *others)]
    if isinstance(x, ShardingComparison) or any(sharding is not None for sharding in shardings):
        _refuse("a sharding", {**given, "axes": axes, "dtype": dtype, "others": None})
        return _shardings_drawing([x, *others], shardings, shape)
    if isinstance(x, Comparison | FormatComparison):
        _refuse("a comparison", {name: given[name] for name in ("color", "view", "tile", "others")})
        shape = x.shape if shape is None and isinstance(x, FormatComparison) else shape
        compared = subjects_of([x.a, x.b], shape, axes, dtype)
        differing = look_at(compared, **look)
        if isinstance(x, Comparison):
            return Drawing(lambda limit: difference_scene(x, compared, differing, limit))
        if shape is None:
            return Drawing(lambda limit: _with_note(str(x), layouts_scene(compared, differing, view, limit)))
        verdict = compare(x.a.layout(shape), x.b.layout(shape))
        return Drawing(lambda limit: difference_scene(verdict, compared, differing, limit))
    if tile is None and not others and not _said(given):
        tile = _tile_of_threads(x, shape, dtype)
    records = [as_record(y) for y in (x, *others)]
    if isinstance(x, RecordComparison) or any(record is not None for record in records):
        _refuse("a record", {**given, "shape": shape, "axes": axes, "dtype": dtype, "others": None, "width": None})
        return _records_drawing([x, *others], records, look["width"])
    subjects = subjects_of([x, *others], shape, axes, dtype)
    if tile is not None:
        _refuse("a tile of threads", {**given, "tile": None})
        return Drawing(lambda limit: threads_scene(subjects[0], tile, limit))
    chosen = look_at(subjects, **look)
    return Drawing(lambda limit: layouts_scene(subjects, chosen, view, limit))


def _shardings_drawing(things: Sequence[Any], shardings: Sequence[Sharding | None], shape: Any) -> Drawing:
    if isinstance(things[0], ShardingComparison) and len(things) == 1:
        verdict = things[0]
        told = verdict if shape is None else compare_shardings(verdict.a.at(shape), verdict.b.at(shape))
        titles = [title_line(str(s)) for s in (verdict.a, verdict.b)]
        return Drawing(lambda limit: sharding_difference_scene(told, titles, limit))
    sized = next((s.shape for s in shardings if s is not None and s.shape is not None), None)
    drawn = []
    for x, s in zip(things, shardings):
        if s is None:
            raise ShapeError(
                f"{shown(x)} is no sharding, and stands beside one.", hint="draw shardings beside shardings", got=x
            )
        placed = s if s.shape is not None or sized is None else s.at(sized)
        drawn.append(DrawnSharding(title_line(x if isinstance(x, str) else str(s)), placed))
    return Drawing(lambda limit: shardings_scene(drawn, limit))


def _records_drawing(things: Sequence[Any], records: Sequence[Record | None], width: int | None) -> Drawing:
    if width is not None and as_int(width, "a width") < 1:
        raise ShapeError(f"a line has no {width} bytes.", hint="give a width of 1 or more", width=width)
    if isinstance(things[0], RecordComparison) and len(things) == 1:
        verdict = things[0]
        return Drawing(lambda limit: comparison_scene(verdict, width, limit))
    drawn = [(record_title(x, record), record) for x, record in zip(things, records) if record is not None]
    if len(drawn) < len(things):
        other = next(x for x, record in zip(things, records) if record is None)
        raise ShapeError(
            f"{shown(other)} is no record, and stands beside one.", hint="draw records beside records", got=other
        )
    return Drawing(lambda limit: records_scene(drawn, width, limit, ()))


def _with_note(note: str, scene: Scene) -> Scene:
    return replace(scene, notes=[note, *scene.notes])


def _tile_of_threads(x: Any, shape: Any, dtype: Any) -> tuple[int, ...] | None:
    """The tile that threads hold, of a text whose notation tells that they do; None for anything else."""
    if not isinstance(x, str) or as_record(x) is not None:
        return None
    operand = resolve(x, element=dtype)
    if not operand.threads or (operand.shape is None and shape is None):
        return None
    tile = operand.shape if shape is None else operand.at(shape).shape
    return tile if tile is not None and len(tile) <= 2 else None


def _said(given: Mapping[str, Any]) -> list[str]:
    """The arguments that were given."""
    return [name for name, value in given.items() if value or (value is not None and isinstance(value, int | str))]


def _refuse(what: str, given: Mapping[str, Any]) -> None:
    """Refuse arguments that would say nothing."""
    if said := _said(given):
        raise ShapeError(f"{what} is drawn without {', '.join(said)}.", hint="leave it out", given=said)
