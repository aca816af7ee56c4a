"""Pictures of anything, judged cell by cell by an evaluator of their own; and what once was drawn wrongly."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import product as cartesian
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import relayout as rl
from clock import LOOPS_PER_SECOND, loops_of
from drawn import in_every_form, in_svg, table
from relayout import Layout
from relayout.drawing.places import geometry, steps
from relayout.drawing.scene import CATEGORIES, PADDING, PLAIN, STEPS, Pane
from relayout.drawing.words import fold
from support import value

FORMS = ("svg", "html", "text", "ansi", "tikz")
SIZES = st.sampled_from([0, 1, 1, 2, 3, 4, 5, 7, 300, 10**9, 2**70])
STRIDES = st.sampled_from([0, 1, 2, 3, 8, 64, 1000, -1, -7, 2**70, -(2**65)])


@st.composite
def any_layouts(draw: Any) -> Layout:
    """Layouts of every rank up to 8, flat and nested, with windows, swizzles, sizes of 0 and of more than a word."""
    modes = []
    for _ in range(draw(st.integers(0, draw(st.sampled_from([2, 3, 8]))))):
        sizes = draw(st.lists(SIZES, min_size=1, max_size=draw(st.integers(1, 3))))
        modes.append((tuple(sizes), tuple([draw(STRIDES) for _ in sizes])))
    words: dict[str, Any] = {"offset": draw(st.sampled_from([0, 0, 5, -3]))}
    box = [int(np.prod(np.array(sizes, dtype=object))) for sizes, _ in modes]
    if draw(st.booleans()):
        origin = [draw(st.integers(0, max(n - 1, 0))) for n in box]
        words |= {"origin": origin, "extents": [draw(st.integers(0, n - o)) for n, o in zip(box, origin, strict=True)]}
    if draw(st.booleans()) and all(d >= 0 for _, strides in modes for d in strides) and words["offset"] >= 0:
        words["swizzle"] = draw(st.sampled_from([(1, 0, 2), (2, 1, 3), (3, 0, -3)]))
    return Layout(tuple([s for s, _ in modes]), tuple([d for _, d in modes]), **words)


def looks(draw: Any, layout: Layout) -> dict[str, Any]:
    """Any options that the layout can be drawn with."""
    words: dict[str, Any] = {}
    free = list(draw(st.permutations(range(layout.rank))))
    for name in ("rows", "columns"):
        if free and draw(st.booleans()):
            words[name] = free.pop()
    fixed = [d for d in free if layout.extents[d] and draw(st.booleans())]
    words["at"] = {d: draw(st.integers(0, layout.extents[d] - 1)) for d in fixed}
    words["part"] = tuple(
        [
            slice(None)
            if d in fixed or draw(st.booleans())
            else slice(draw(st.integers(0, n)), draw(st.integers(0, n)), draw(st.integers(1, 5)))
            for d, n in enumerate(layout.extents)
        ]
    )
    if layout.size:
        words["mark"] = [tuple([draw(st.integers(0, n - 1)) for n in layout.extents])]
    words["cells"] = draw(st.sampled_from([None, "offset", "coordinate", "block", "none"]))
    words["color"] = draw(st.sampled_from([None, "block", "memory", "coordinate", "row", "column", "none"]))
    words["path"] = draw(st.booleans())
    words["width"] = draw(st.sampled_from([None, 1, 5, 64]))
    return words


def coordinates(pane: Pane, fixed: tuple[int | None, ...]) -> list[tuple[int, ...]]:
    """What the axes and the fixed coordinates say each cell is."""
    found = []
    for r, c in cartesian(range(pane.rows.count), range(pane.columns.count)):
        places = {axis.dim: axis.first + k * axis.step for axis, k in ((pane.rows, r), (pane.columns, c))}
        found.append(tuple([places[d] if x is None else x for d, x in enumerate(fixed)]))
    return found


def judge(layout: Layout, pane: Pane, words: dict[str, Any]) -> None:
    """Every cell of a logical pane: is it asked for, and is what it shows true?"""
    asked = [
        range(*key.indices(n)) if n < 2**62 else None for key, n in zip(words["part"], layout.extents, strict=True)
    ]
    tints = {"categories": CATEGORIES, "ramp": STEPS}[pane.scale]
    captions = set()
    for grid in pane.grids:
        places = coordinates(pane, grid.fixed)
        assert len(places) == len(grid.texts) == len(grid.tints) == len(grid.keys)
        captions.add(grid.caption)
        inside = [all(0 <= x < n for x, n in zip(c, layout.extents, strict=True)) for c in places]
        offsets = [value(layout.box, tuple([x + o for x, o in zip(c, layout.origin, strict=True)])) for c in places]
        for c, here, text, tint, key, offset in zip(
            places, inside, grid.texts, grid.tints, grid.keys, offsets, strict=True
        ):
            for d, x in enumerate(c):
                assert words["at"].get(d, x) == x
                assert asked[d] is None or not here or x in asked[d]
            assert (tint == PADDING) == (not here) == (key == -1)
            assert -2 <= tint < tints
            if words["cells"] in (None, "offset"):
                assert text == str(offset)
            if words["cells"] == "coordinate" and here:
                assert text == ",".join(map(str, c))
        for mark in words.get("mark", ()):
            steps = {axis.dim: axis.step for axis in (pane.rows, pane.columns)}
            chunks = [range(x, x + steps.get(d, 1)) for c in places for d, x in enumerate(c)]
            rank = layout.rank
            for k in grid.marked:
                assert all(x in r for x, r in zip(mark, chunks[rank * k : rank * k + rank], strict=True))
            assert grid.marked or mark not in places, "what is drawn and marked is outlined"
        if words["path"]:
            assert [offsets[k] for k in grid.path] == sorted(
                [x for x, here in zip(offsets, inside, strict=True) if here]
            )
    assert len(captions) == len(pane.grids), "slices have different captions"


def judge_memory(layout: Layout, pane: Pane, words: dict[str, Any]) -> None:
    (grid,) = pane.grids
    homes: dict[int, list[tuple[int, ...]]] = {}
    for c in cartesian(*[range(n) for n in layout.extents]):
        homes.setdefault(value(layout, c), []).append(c)
    tints = {"categories": CATEGORIES, "ramp": STEPS}[pane.scale]
    for k, (text, tint) in enumerate(zip(grid.texts, grid.tints, strict=True)):
        row, column = divmod(k, pane.columns.count)
        found = homes.pop(int(pane.rows.labels[row]) + int(pane.columns.labels[column]), [])
        assert text == (",".join(map(str, found[0])) + "+" * (len(found) > 1) if found else "")
        assert (tint in (PADDING, PLAIN)) if not found else -1 <= tint < tints
        shown = [c for c in found if all(c[d] == n for d, n in words["at"].items())]
        shown = [
            c
            for c in shown
            if all(x in range(*p.indices(n)) for x, p, n in zip(c, words["part"], layout.extents, strict=True))
        ]
        assert shown or tint in (PADDING, PLAIN), "what was not asked for has no colour"
    assert not homes


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_drawn_is_true(data: Any) -> None:
    layout = data.draw(any_layouts())
    words = looks(data.draw, layout)
    view = data.draw(st.sampled_from(["logical", "memory", "both"]))
    drawing = rl.draw(layout, view=view, **words)
    scene = drawing.scene(data.draw(st.sampled_from([1, 40, 500])))
    for pane in scene.panes:
        if pane.kind == "memory":
            judge_memory(layout, pane, words)
        else:
            judge(layout, pane, words)


@given(st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_every_form_takes_everything(data: Any) -> None:
    layout = data.draw(any_layouts())
    view = data.draw(st.sampled_from(["logical", "memory", "both"]))
    drawing = rl.draw(layout, view=view, **looks(data.draw, layout))
    for form in FORMS:
        assert loops_of(getattr(drawing, form)) < 5 * LOOPS_PER_SECOND, "with a tracer; without it is under two"


# ---- values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int4", "uint4", "int8", "uint64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64"],
)
@pytest.mark.parametrize("target", ["0 1", "1 0 / 0,2 1,3"])
def test_values_of_every_type(dtype: str, target: str) -> None:
    numbers = np.array([[0, 1, 1, 0], [1, 0, 1, 1], [0, 1, 1, 1]])
    tensor = rl.from_logical(numbers, rl.Format.parse(target), dtype)
    (pane,) = rl.draw(tensor).scene().panes
    inside = [text for tint, text in zip(pane.grids[0].tints, pane.grids[0].texts, strict=True) if tint != PADDING]
    words = {"bool": ("False", "True"), "complex64": ("0+0j", "1+0j")}.get(dtype, ("0", "1"))
    assert inside == [words[n] for n in numbers.ravel()]


def test_quantised_values_are_what_they_mean() -> None:
    tensor = rl.from_logical(
        np.array([[0.0, 0.5], [1.5, -1.0]]), Layout.col_major(2, 2), rl.ScaleOffset(0.5, 3, "uint8")
    )
    (pane,) = rl.draw(tensor).scene().panes
    assert pane.grids[0].texts == ["0", "0.5", "1.5", "-1"]


def test_colours_of_values_that_are_no_numbers_or_have_no_end() -> None:
    (pane,) = (
        rl.draw(np.array([[1.0, np.nan, np.inf], [-np.inf, 2.0, 1.7e308], [0, 5e-324, -1.7e308]]), color="value")
        .scene()
        .panes
    )
    tints = pane.grids[0].tints
    assert (tints[1], tints[2], tints[3]) == (PLAIN, STEPS - 1, 0)
    assert (tints[5], tints[8]) == (STEPS - 1, 0), "the lowest and the highest that are finite"
    with pytest.raises(rl.ShapeError, match="no order"):
        rl.draw(np.array([1j, 2]), color="value").text()


def test_values_of_large_tensors_are_read_where_they_are_drawn() -> None:
    x = np.arange(10**6).reshape(1000, 1000)
    for tensor in (x.T, rl.from_logical(x, rl.Format.parse("0 1 / 0,8 1,8"))):
        (pane,) = rl.draw(tensor).scene().panes
        logical = np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)
        (grid,) = pane.grids
        assert grid.texts == [str(logical[c]) if max(c) < 1000 else "" for c in coordinates(pane, grid.fixed)]


# ---- what was drawn wrongly ------------------------------------------------------------------------------


def test_slices_have_captions_where_padding_makes_up_for_them() -> None:
    (pane,) = rl.draw(Layout((2, 3, (4, 2)), (100, 10, (1, 50)), extents=(2, 3, 2))).scene().panes
    assert [grid.caption for grid in pane.grids] == ["[0, :, :]", "[1, :, :]"]


def test_memory_has_the_colours_of_a_part_and_none_for_the_rest() -> None:
    logical, memory = rl.draw(Layout.row_major(4, 4), part=(slice(2, 4),), view="both").scene().panes
    assert memory.grids[0].tints[:8] == [PLAIN] * 8
    assert memory.grids[0].tints[8:] == logical.grids[0].tints


def test_chunks_of_a_part_are_of_that_part() -> None:
    (pane,) = rl.draw(Layout.row_major(10**4, 10), part=(slice(1, 10**4, 3), slice(5, 6))).scene(100).panes
    assert all(int(label) % 3 == 1 for label in pane.rows.labels)
    assert (pane.rows.count, pane.rows.step) == (53, 3 * 64)


def test_chunks_begin_with_an_element() -> None:
    """A window that starts in the middle of a block: no chunk shows what is before it."""
    a = Layout(((8, 1000),), ((1, 8),), extents=(7990,), origin=(3,))
    b = Layout(((8, 1000),), ((1, 9),), extents=(7990,), origin=(3,))
    scene = rl.draw(rl.compare(a, b), mark=4321).scene(64)
    for layout, pane in zip((a, b), scene.panes, strict=True):
        (grid,) = pane.grids
        assert grid.texts == [str(layout(int(label))) for label in pane.columns.labels if int(label) < 7990]
        found = sorted([int(pane.columns.labels[k]) for k in grid.marked])
        assert len(found) == 2, "the chunks of the first difference, and of the mark"
        assert all(first <= x < first + pane.columns.step for first, x in zip(found, (5, 4321), strict=True))
    assert "begins with" in scene.legend[0].words


def test_layouts_compared_without_their_dimensions() -> None:
    a, b = Layout.row_major(4, 6), Layout(24, 1)
    scene = rl.draw(rl.compare(a, b, flat=True)).scene()
    matrix, line = [pane.grids[0] for pane in scene.panes]
    order = [r + 4 * c for r, c in cartesian(range(4), range(6))]
    assert [tint != PLAIN for tint in matrix.tints] == [6 * (n % 4) + n // 4 != n for n in order]
    assert [tint != PLAIN for tint in line.tints] == [6 * (n % 4) + n // 4 != n for n in range(24)]
    assert matrix.keys == order


@pytest.mark.parametrize("tiler", [(2, 2), (2, 3), (1, 2), (4, 1)])
@pytest.mark.parametrize("shape", [(16, 16), (16, 12), (8, 18), (12, 24)])
def test_tiles_beside_each_other_differ_in_colour(shape: tuple[int, int], tiler: tuple[int, int]) -> None:
    if any(n % t for n, t in zip(shape, tiler, strict=True)):
        pytest.skip("not whole tiles")
    whole = rl.draw(rl.logical_divide, Layout.row_major(*shape), tiler).scene().panes[0]
    tints = np.array(whole.grids[0].tints).reshape(shape)
    tiles = tints[:: tiler[0], :: tiler[1]]
    assert (np.kron(tiles, np.ones(tiler, int)) == tints).all()
    assert (tiles[1:] != tiles[:-1]).all()
    assert (tiles[:, 1:] != tiles[:, :-1]).all()
    assert (tiles[1:, 1:] != tiles[:-1, :-1]).all()


def test_operations_on_coordinates() -> None:
    grid = rl.make_identity_layout((4, 6))
    whole, _, result = rl.draw(rl.zipped_divide, grid, (2, 3)).scene().panes
    assert whole.grids[0].texts == [f"{r},{c}" for r, c in cartesian(range(4), range(6))]
    tints = dict(zip(whole.grids[0].texts, whole.grids[0].tints, strict=True))
    assert [tints[text] for text in result.grids[0].texts] == result.grids[0].tints
    *_, result = rl.draw(rl.composition, grid, Layout(4, 2)).scene().panes
    assert sorted([text for part in result.grids for text in part.texts]) == ["0,0", "0,1", "2,0", "2,1"]


def test_elements_of_a_composition_whose_result_has_more_dimensions() -> None:
    a, b = Layout((6, 2), (8, 2)), Layout(12, 1)
    first, second, result = rl.draw(rl.composition, a, b).scene().panes
    places = dict(zip(first.grids[0].keys, first.grids[0].texts, strict=True))
    assert [places[key] for key in second.grids[0].keys] == [str(n % 6 * 8 + n // 6 * 2) for n in range(12)]
    assert sorted(result.grids[0].keys) == sorted(second.grids[0].keys)


def test_places_below_zero_are_linked_too() -> None:
    first, _, last = rl.draw(rl.logical_divide, Layout(8, -1), (4,)).scene().panes
    assert min(first.grids[0].keys) >= 0
    assert set(first.grids[0].keys) == set(last.grids[0].keys)


def test_several_at_one_place_are_explained() -> None:
    assert any("same address" in note for note in rl.draw(Layout((2, 2), (0, 1)), view="memory").scene().notes)
    assert any("same place" in note for note in rl.draw(Layout((2, 2), (0, 1)), tile=(1, 2)).scene().notes)
    assert rl.draw(Layout((2, 2), (2, 1)), view="memory").scene().notes == []


def test_what_is_hatched_has_its_name() -> None:
    """A window is only a domain: that the rest of its blocks is padding is known from formats and allocations."""
    crouton = rl.parse("htp:R4Crouton", shape=(1, 8, 8, 32))
    owner = rl.from_logical(np.zeros((1, 3, 5, 30), np.uint8), rl.parse("htp:R4Crouton"))
    for drawn, words in [
        (rl.draw(crouton.view[0, 2:5, 1:6, 0]), "outside the window"),
        (rl.draw(str(crouton.view[0, 2:5, 1:6, 0])), "outside the window"),
        (rl.draw("htp:R4Crouton", shape=(1, 3, 5, 30)), "padding"),
        (rl.draw("bf16[7,6]{1,0:T(4,4)(2,1)}"), "padding"),
        (rl.draw(owner), "padding"),
        (rl.draw(owner[:, 1:]), "outside the window"),
        (rl.draw(Layout((2, 2), (3, 1)), view="memory"), "no element"),
    ]:
        assert [meaning.words for meaning in drawn.scene().legend if PADDING in meaning.tints] == [words]
        assert {pane.outside for pane in drawn.scene().panes} == {words}


def test_one_element_needs_no_legend() -> None:
    assert rl.draw(Layout(2, 1)).scene().legend != []
    assert [rl.draw(x).scene().legend for x in (Layout(()), Layout((1, 1)), Layout((0, 4)))] == [[], [], []]


@pytest.mark.parametrize(
    ("things", "words", "message"),
    [
        ((rl.logical_divide, Layout(8), Layout(2)), {"cells": "none"}, "an operation is drawn without cells"),
        ((rl.logical_divide, Layout(8), Layout(2)), {"rows": 0}, "an operation is drawn without rows"),
        ((Layout((2, 2)),), {"tile": (2, 2), "view": "both"}, "a tile of threads is drawn without view"),
        ((Layout((2, 2)), Layout(3)), {"tile": (2, 2)}, "a tile of threads is drawn without others"),
        ((rl.LinearLayout({"lane": [(1,)]}, {"m": 2}),), {"mark": 0}, "a LinearLayout is drawn without mark"),
        ((rl.compare(Layout(2), Layout(2)),), {"color": "row"}, "a comparison is drawn without color"),
        ((Layout((2, 2)),), {"at": {0: 1.5}}, "a coordinate must be an integer"),
        ((Layout((2, 2)),), {"at": [0]}, "at is a dict"),
        ((Layout((2, 2)),), {"axes": "h"}, "axes 'h' do not name 2 dimensions"),
        ((Layout((2, 2)),), {"axes": "h\x1b"}, "do not name 2 dimensions"),
        ((Layout((2, 2)),), {"width": 0}, "has no 0 addresses"),
        ((Layout((2, 2)),), {"cells": "value"}, "no values"),
        ((Layout((2, 2)),), {"color": "value"}, "no values"),
        ((Layout((2, 2)),), {"cells": "colour"}, "cells cannot show 'colour'"),
    ],
)
def test_what_would_say_nothing_is_refused_at_once(things: Any, words: dict[str, Any], message: str) -> None:
    with pytest.raises(rl.ShapeError, match=message):
        rl.draw(*things, **words)


def test_long_and_wild_titles_are_tamed() -> None:
    text = f"(({','.join(['2'] * 900)})):(({','.join(['1'] * 900)}))"
    (pane,) = rl.draw(text).scene().panes
    assert len(pane.title) <= 400
    (pane,) = rl.draw("(4,8):\x0b\n(8,1)").scene().panes
    assert pane.title == "(4,8): (8,1)"
    for unprinted in ("\x1b", "\x00", "\x9b", "\u202e", "\ufffe", "\ud800"):  # commands of terminals; no XML
        wild = rl.draw(f"(4,8):(8,1) // {unprinted}[31mred")
        assert unprinted not in wild.ansi().replace("\x1b[", "") + wild.text() + wild.tikz() + wild.html()
        assert ElementTree.fromstring(wild.svg()).findtext("{*}title") == "(4,8):(8,1) // [31mred"


@pytest.mark.parametrize(
    "draw",
    [
        lambda: rl.draw(np.ones((256, 256)), color="value"),
        lambda: rl.draw(Layout.row_major(10**5, 1, 1), rows=1, columns=2),
        lambda: rl.draw(rl.compare(Layout.row_major(256, 256), Layout((256, 256), (256, 1), swizzle=(3, 3, 3)))),
        lambda: rl.draw(Layout.row_major(256, 256), view="both"),
        lambda: rl.draw(Layout.row_major(*[9] * 8), path=True),
        lambda: rl.draw(rl.logical_divide, Layout.row_major(256, 256), (8, 8)),
    ],
)
def test_the_largest_pages_are_quick_and_small(draw: Any) -> None:
    drawing = draw()
    assert loops_of(drawing.html) < 5 * LOOPS_PER_SECOND, "with a tracer; without it is under two"
    assert len(drawing.html()) < 4_000_000


def test_a_picture_prints_itself() -> None:
    drawing = rl.draw("(2,2):(2,1)")
    assert repr(drawing) == str(drawing) == drawing.text()


# ---- the look --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "words", "running"),
    [
        ((4, 1), {}, (0, 1)),
        ((1, 4), {}, (0, 1)),
        ((4,), {}, (None, 0)),
        ((2, 1, 3), {}, (0, 2)),
        ((1, 2, 3, 1), {}, (1, 2)),
        ((2, 3, 4), {"columns": 0}, (2, 0)),
        ((2, 3, 4), {"at": {2: 0}}, (0, 1)),
    ],
)
def test_dimensions_run_in_their_order(shape: tuple[int, ...], words: Any, running: tuple[int | None, int]) -> None:
    (pane,) = rl.draw(Layout.row_major(*shape), **words).scene().panes
    assert (pane.rows.dim, pane.columns.dim) == running


def test_arrows_go_from_cell_to_cell_beside_the_texts() -> None:
    layout = Layout(((2, 2, 2), (2, 2, 2)), ((2, 8, 32), (1, 4, 16)))
    (pane,) = rl.draw(layout, path=True).scene().panes
    place = geometry(pane)
    (grid,) = pane.grids
    found = list(steps(place, grid))
    assert len(found) == 63
    for n, (x, y, u, v) in enumerate(found):
        for a, b, number in ((x, y, n), (u, v, n + 1)):
            row, column = next(k for k in cartesian(range(8), range(8)) if layout(k) == number)
            left, top = a - place.left - place.width * column, b - place.top - place.height * row
            assert 0 <= left <= place.width
            assert 0 <= top <= place.height
            wide, high = abs(left - place.width / 2), abs(top - place.height / 2)
            assert wide > 3.5 * len(str(number)) or high > 5, "no arrow ends on a text"
    drawn = re.findall(r'class="path(?: far)?" d="([^"]*)"', rl.draw(layout, path=True).svg())
    assert sum(path.count("M") for path in drawn) == 63


def test_every_row_has_its_label() -> None:
    (grid,) = in_svg(rl.draw(Layout.row_major(10**12, 2), part=(slice(10**11, 10**11 + 9),)).svg())
    assert [cell.row for cell in grid[::2]] == [str(10**11 + k) for k in range(9)]


@pytest.mark.parametrize("width", [1, 5, 12, 40, 200])
@pytest.mark.parametrize("text", ["((2,2),(3,30)):((1,1000),(2,40))", "a note of several words, folded", "x" * 50, ""])
def test_texts_are_folded_after_commas_and_words(text: str, width: int) -> None:
    lines = fold(text, width)
    assert max(map(len, lines), default=0) <= width
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    if width == 12:
        assert all(line[-1] in ",)" for line in lines if "(" in line), "numbers stay whole"
    assert fold(text, 200) == ([text] if text else [])
    assert all(line.startswith("  ") for line in fold(text, width, "  ")[1:] if width > 2)


@pytest.mark.parametrize(
    ("layout", "starts"),
    [
        (Layout(100, 3), [0, 32, 64, 96]),
        (Layout((2, (8, 10)), (1, (2, 200))), [0, 24, 48, 72]),
        (Layout((3, 70), (70, 1)), [0, 32, 64]),
    ],
)
def test_long_grids_are_cut_where_the_page_ends(layout: Layout, starts: list[int]) -> None:
    drawing = rl.draw(layout, mark=99 if layout.rank == 1 else (1, 69))
    rows = 1 if layout.rank == 1 else layout.extents[0]
    parts = in_svg(drawing.svg())
    assert [int(part[0].column) for part in parts] == starts
    for seen in in_every_form(rl.draw(layout)):
        expected = [[value(layout, (r, c)[2 - layout.rank :]) for c in range(layout.extents[-1])] for r in range(rows)]
        assert table(seen) == [[str(x) for x in row] for row in expected]
    root = ElementTree.fromstring(drawing.svg())
    assert int(root.get("width", 0)) <= 1148
    assert drawing.svg().count('class="mark"') == 1
    assert len(in_svg(rl.draw(Layout((9, 70), (70, 1))).svg())) == 1, "what is high stays whole"


def test_many_layouts_share_the_room() -> None:
    scene = rl.draw(*[Layout.row_major(64, 64)] * 40).scene()
    assert len(scene.panes) == 40
    assert 1000 < sum(pane.cells for pane in scene.panes) <= 4 * 4096
    assert "chunk" in scene.notes[0]
    assert rl.draw(*[Layout.row_major(64, 64)] * 4).scene().notes == []
