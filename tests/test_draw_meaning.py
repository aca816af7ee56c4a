"""What a picture tells by colours, arrows and groups: differences, units of memory, strides, and a legend for each."""

from __future__ import annotations

import re
from itertools import product as cartesian
from typing import Any

import numpy as np
import pytest

import relayout as rl
from drawn import in_every_form, table
from relayout import Layout
from relayout.drawing.scene import PADDING, PLAIN, PaneAxis
from support import value
from test_draw_judged import coordinates

PAIRS = [
    ("(64,64):(64,1)", "(64,64):(1,64)", None),
    ("(6,8):(8,1)", "(6,8):(1,6)", None),
    ("htp:R4Crouton", "htp:R4Flat", (1, 16, 16, 64)),
    ("nChw8c", "onednn:nhwc", (1, 16, 8, 40)),
    ("AB4a4b", "(30,70):(70,1)", (30, 70)),
    ("((2,50),4):((1,3),200)", "(100,4):(1,200)", None),
    ("Sw<3,3,3> o 0 o (8,64):(64,1)", "(8,64):(64,1)", None),
]


# ---- comparisons -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b", "shape"), PAIRS)
@pytest.mark.parametrize("part", [None, ...])
def test_only_what_differs_has_a_colour(a: str, b: str, shape: Any, part: Any) -> None:
    verdict = rl.compare(a, b, shape=shape)
    both = [verdict.a, verdict.b]
    assert verdict.coordinate is not None
    first = tuple(int(x) for x in verdict.coordinate)
    scene = rl.draw(verdict, part=part).scene()
    for mine, other, pane in zip(both, reversed(both), scene.panes, strict=True):
        for grid in pane.grids:
            for k, c in enumerate(coordinates(pane, grid.fixed)):
                inside = all(x < n for x, n in zip(c, mine.extents, strict=True))
                tint = grid.tints[k]
                assert (tint == PADDING) == (not inside)
                if inside:
                    assert (tint == PLAIN) == (value(mine, c) == value(other, c))
                    assert (k in grid.marked) == (c == first), "the first difference is drawn and marked"
        assert any(grid.marked for grid in pane.grids)
    assert [entry.words for entry in scene.legend].count("placed alike") == 1


@pytest.mark.parametrize(("a", "b", "shape"), PAIRS)
def test_a_large_comparison_is_drawn_where_it_begins_to_differ(a: str, b: str, shape: Any) -> None:
    verdict = rl.compare(a, b, shape=shape)
    drawing = rl.draw(verdict)
    told = "around the first difference" in " ".join(drawing.scene().notes)
    cells = sum(len(grid.texts) for grid in drawing.scene().panes[0].grids)
    assert told == (cells < verdict.a.size)
    assert cells <= 24 * 24, "digits that can be read"
    whole = rl.draw(verdict, part=...).scene(1 << 20)
    assert not any("around" in note for note in whole.notes)
    assert sum(tint != PADDING for grid in whole.panes[0].grids for tint in grid.tints) == verdict.a.size


def test_a_difference_far_away_is_seen_with_what_is_before_it() -> None:
    a, b = Layout((100, 300), (300, 1)), Layout(((50, 2), 300), ((300, 15001), 1))
    (pane, _) = rl.draw(rl.compare(a, b)).scene().panes
    (grid,) = pane.grids
    assert {"49", "50"} <= set(pane.rows.labels)
    tints = np.array(grid.tints).reshape(pane.rows.count, pane.columns.count)
    rows = np.array(list(map(int, pane.rows.labels)))
    assert ((tints == PLAIN) == (rows < 50)[:, None]).all()


def test_what_somebody_chose_is_drawn() -> None:
    verdict = rl.compare(Layout((4, 64, 64), (4096, 64, 1)), Layout((4, 64, 64), (4096, 1, 64)))
    marked = rl.draw(verdict, mark=(0, 60, 60)).scene()
    assert sum(len(grid.marked) for grid in marked.panes[0].grids) == 2
    (pane, _) = rl.draw(verdict, at={0: 3}).scene().panes
    assert [grid.fixed for grid in pane.grids] == [(3, None, None)]
    (pane, _) = rl.draw(verdict, part=(2, slice(40, 44), slice(50, 53))).scene().panes
    assert (pane.rows.labels, pane.columns.labels) == (("40", "41", "42", "43"), ("50", "51", "52"))


def test_differences_of_blocks_have_the_colours_of_their_blocks() -> None:
    (tiled, flat) = rl.draw(rl.compare("AB4a4b", "(16,16):(16,1)", shape=(16, 16))).scene().panes
    assert (tiled.scale, flat.scale) == ("categories", "ramp")
    tints = np.array(tiled.grids[0].tints).reshape(16, 16)
    blocks = [[set(tints[r : r + 4, c : c + 4].ravel()) - {PLAIN} for c in range(0, 16, 4)] for r in range(0, 16, 4)]
    for r, c in cartesian(range(4), range(4)):
        assert len(blocks[r][c]) <= 1
        for down, right in ((1, 0), (0, 1)):
            if r + down < 4 and c + right < 4 and blocks[r][c]:
                assert blocks[r][c] != blocks[r + down][c + right]


# ---- legends ---------------------------------------------------------------------------------------------


def test_every_meaning_of_colours_has_a_line_of_the_legend() -> None:
    for drawing in (
        rl.draw("AB4a4b", "(7,6):(6,1)", shape=(7, 6)),
        rl.draw("AB4a4b", "(7,6):(6,1)", shape=(7, 6), view="both"),
        rl.draw(rl.compare("AB4a4b", "(7,6):(6,1)", shape=(7, 6))),
    ):
        scene = drawing.scene()
        for whose, scale in (("first", "categories"), ("second", "ramp")):
            (entry,) = [entry for entry in scene.legend if entry.words.startswith(f"{whose} layout")]
            assert entry.scale == scale
        for form in (drawing.svg(), drawing.html(), drawing.tikz(), drawing.ansi()):
            assert ("first layout" in form, "second layout" in form) == (True, True)


def test_one_meaning_is_everybodys() -> None:
    alike = rl.draw("(4,6):(6,1)", "(4,6):(1,4)").scene().legend
    assert [entry.words.startswith("memory") for entry in alike] == [True]
    assert rl.draw("AB2a2b", "AB4a4b", shape=(8, 8)).scene().legend == []
    window = Layout(((4, 2), 8), ((1, 32), 4), extents=(7, 8))
    hatched = [x.words for x in rl.draw("AB4a4b", window, shape=(7, 8)).scene().legend if PADDING in x.tints]
    assert hatched == ["first layout: padding", "second layout: outside the window"]


# ---- swizzles --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dtype", "size"), [("3,3,3", "float16", 8), ("3,4,3", "uint8", 16), ("3,2,3", None, 4)]
)
def test_a_swizzle_is_coloured_by_what_it_exchanges(text: str, dtype: str | None, size: int) -> None:
    columns = 8 * size
    plain, swizzled = f"(8,{columns}):({columns},1)", f"Sw<{text}> o 0 o (8,{columns}):({columns},1)"
    for drawing, pane_of, alone in (
        (rl.draw(swizzled, dtype=dtype), 0, True),
        (rl.draw(plain, swizzled, dtype=dtype), 1, 0),
    ):
        scene = drawing.scene()
        tints = np.array(scene.panes[pane_of].grids[0].tints).reshape(8, 8, size)
        assert (tints == tints[:, :, :1]).all(), "a unit has one colour"
        units = tints[:, :, 0]
        assert all(len(set(row)) == 8 for row in units), "the units of a row have different colours"
        assert all(len(set(column)) == 8 for column in units.T), (
            "and so have those below each other: they are exchanged"
        )
        if not alone:
            before = np.array(scene.panes[0].grids[0].tints).reshape(8, 8, size)[:, :, 0]
            assert all(len(set(column)) == 1 for column in before.T), "which they are not without the swizzle"
        (entry,) = scene.legend
        said = f"16 bytes{'' if dtype else f' if an element has {128 // size} bits'}"
        assert entry.words == f"a colour for each {size} elements, {said}"


def test_units_that_are_smaller_than_16_bytes_or_asked_for() -> None:
    (entry,) = rl.draw("Sw<3,0,3> o 0 o (8,8):(8,1)", dtype="float32").scene().legend
    assert entry.words == "a colour for each element, 4 bytes"
    (entry,) = rl.draw("Sw<3,0,3> o 0 o (8,8):(8,1)").scene().legend
    assert entry.words == "a colour for each element, what is exchanged", "no element has 16 bytes"
    scene = rl.draw("(2,16):(16,1)", color="unit", dtype="float32").scene()
    assert scene.panes[0].grids[0].tints == [k // 4 for k in range(32)]
    (entry,) = rl.draw("(2,16):(16,1)", color="unit").scene().legend
    assert entry.words == "a colour for each 8 elements, 16 bytes if an element has 16 bits"
    tensor = rl.tensor(np.zeros((2, 4)))
    assert rl.draw(tensor, color="unit").scene().panes[0].grids[0].tints == [0, 0, 1, 1, 2, 2, 3, 3]


# ---- strides and groups ----------------------------------------------------------------------------------


def steps_of(axis: PaneAxis) -> list[tuple[int, int, int]]:
    """The arrows of an axis: the coordinates where they start and end, and what they add."""
    return [(axis.first + a * axis.step, axis.first + b * axis.step, int(text)) for a, b, text in axis.strides]


def test_strides_as_on_mojos_page() -> None:
    """Figures 1, 3, 4 and 6: one step for each mode, from the first element to the next, or to the next group."""
    for text, down, across in (
        ("4:1", [], [(0, 1, 1)]),
        ("(2,4):(4,1)", [(0, 1, 4)], [(0, 1, 1)]),
        ("(2,4):(1,2)", [(0, 1, 1)], [(0, 1, 2)]),
        ("((4,2)):((1,4))", [], [(0, 1, 1), (0, 4, 4)]),
    ):
        (pane,) = rl.draw(text, strides=True).scene().panes
        assert (steps_of(pane.rows), steps_of(pane.columns)) == (down, across)


@pytest.mark.parametrize("part", [None, (slice(3, 9), slice(2, 11))])
@pytest.mark.parametrize(
    "layout",
    [
        Layout(((2, 3, 2), (4, 3)), ((5, -100, 1000), (7, 300))),
        Layout(((4, 3), (1, 12)), ((100000, 1), (9, 64)), extents=(11, 12)),
        Layout((12, 12), (0, 2**70)),
        Layout(((3, 4), 12), ((1, 50), 4), origin=(2, 0), extents=(10, 12)),
    ],
)
def test_a_step_adds_its_stride(layout: Layout, part: Any) -> None:
    drawing = rl.draw(layout, strides=True, part=part)
    (pane,) = drawing.scene().panes
    for d, axis in ((0, pane.rows), (1, pane.columns)):
        assert axis.strides, "there is a step along every dimension"
        for start, end, added in steps_of(axis):
            a, b = [(x, 3) if d == 0 else (3, x) for x in (start, end)]
            assert value(layout, b) - value(layout, a) == added
    texts = [text for axis in (pane.rows, pane.columns) for _, _, text in axis.strides]
    assert (
        re.findall(r'class="stride[^"]*"[^>]*>([^<]*)<', drawing.svg())
        == texts[len(pane.rows.strides) :] + texts[: len(pane.rows.strides)]
    )
    line = next(line for line in drawing.text().splitlines() if line.startswith("strides: "))
    assert re.findall(r"[+-]\d+", line) == texts
    assert len(re.findall(r"\\node\[stride", drawing.tikz())) == len(texts)
    for form in in_every_form(drawing):
        assert table(form) == table(in_every_form(rl.draw(layout, part=part))[0])


def test_strides_that_no_picture_tells() -> None:
    swizzled = rl.draw(Layout((8, 8), (8, 1), swizzle=(3, 0, 3)), strides=True).scene()
    assert any("before the swizzle" in note for note in swizzled.notes)
    composed = rl.ComposedLayout(Layout((2, 2), (1, 4)), Layout(4, 1))
    with pytest.raises(rl.ShapeError, match="no strides"):
        rl.draw(composed, strides=True)
    with pytest.raises(rl.ShapeError, match="strides"):
        rl.draw("((4,8),2):((16,1),8)", tile=(8, 8), strides=True)


def test_nested_modes_are_groups_though_their_strides_merge() -> None:
    (nested,) = rl.draw("((4,2)):((1,4))").scene().panes
    (flat,) = rl.draw("8:1").scene().panes
    assert nested.grids[0].texts == flat.grids[0].texts == [str(k) for k in range(8)]
    assert (nested.columns.rules, set(flat.columns.rules)) == ((1, 0, 0, 0, 1, 0, 0, 0, 1), {0})
    tints = nested.grids[0].tints
    assert (len(set(tints[:4])), len(set(tints[4:])), tints[3] != tints[4]) == (1, 1, True)
    assert rl.draw("((4,2)):((1,4))").text().splitlines()[-1] == "  | 0 1 2 3 | 4 5 6 7"
    (ones,) = rl.draw("((1,8),(8,1)):((5,1),(8,3))").scene().panes
    assert {*ones.rows.rules, *ones.columns.rules} == {0}, "a mode of one is no group"
