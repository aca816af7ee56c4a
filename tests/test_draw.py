"""Pictures before they are rendered: which cells there are, what they say, which colours they have, where they stop."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations, pairwise
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from clock import LOOPS_PER_SECOND, loops_of
from relayout.drawing.colours import DARK, LIGHT, Theme
from relayout.drawing.drawing import Drawing
from relayout.drawing.scene import HTML_CELLS, PADDING, PLAIN, SVG_CELLS, Grid, LegendEntry, Pane, Scene

TILED = rl.Layout(((3, 2), (2, 2)), ((1, 6), (3, 12)))


def only(drawing: Drawing) -> tuple[Pane, Grid]:
    (pane,) = drawing.scene().panes
    (grid,) = pane.grids
    return pane, grid


def table(pane: Pane, grid: Grid) -> list[list[str]]:
    wide = pane.columns.count
    return [grid.texts[k : k + wide] for k in range(0, len(grid.texts), wide)]


# ---- cells -----------------------------------------------------------------------------------------------


def test_cells_are_offsets():
    pane, grid = only(rl.draw(TILED))
    # each 3x2 tile is column-major, and the tiles follow each other column by column
    tiles = np.arange(24).reshape(2, 2, 2, 3).transpose(1, 3, 0, 2).reshape(6, 4)
    assert table(pane, grid) == [[str(n) for n in row] for row in tiles.tolist()]
    assert pane.rows.labels == tuple("012345")
    assert pane.rows.rules == (1, 0, 0, 1, 0, 0, 1)
    assert pane.columns.rules == (1, 0, 1, 0, 1)


@pytest.mark.parametrize(
    ("cells", "first", "last"), [("coordinate", "0,0", "5,3"), ("block", "0,0", "1,1"), ("none", "", "")]
)
def test_cells_say_what_is_asked(cells, first, last):
    _, grid = only(rl.draw(TILED, cells=cells))
    assert (grid.texts[0], grid.texts[-1]) == (first, last)


def test_values_of_arrays_and_tensors():
    x = np.array([[1.5, -2.0], [3.25, 1e-9]])
    for drawn in (rl.draw(x.T), rl.draw(rl.tensor(x.T))):
        _, grid = only(drawn)
        assert grid.texts == ["1.5", "3.25", "-2", "1e-09"]
    _, grid = only(rl.draw(x, color="value"))
    assert grid.tints[1] == 0  # -2 is the lowest
    assert grid.tints[2] == 11  # 3.25 the highest
    with pytest.raises(rl.ShapeError, match="no values"):
        rl.draw(TILED, cells="value").text()


def test_padding_is_what_blocks_have_left():
    pane, grid = only(rl.draw("nChw8c", shape=(1, 5, 1, 3), rows="c", columns="w"))
    assert (pane.rows.count, pane.columns.count) == (8, 3)
    assert [tint == PADDING for tint in grid.tints] == [False] * 15 + [True] * 9
    assert grid.keys[15:] == [-1] * 9
    assert grid.texts[15:] == [str(8 * w + c) for c in range(5, 8) for w in range(3)]


def test_padding_in_front_has_no_label():
    layout = rl.Format.parse("0 / 0,4").layout((5,), left_pad=(1,))
    pane, grid = only(rl.draw(layout))
    assert pane.columns.labels == ("", "0", "1", "2", "3", "4", "5", "6")
    assert [tint == PADDING for tint in grid.tints] == [True, *[False] * 5, True, True]


def test_formats_that_differ_are_drawn_for_a_shape_that_tells() -> None:
    verdict = rl.compare("nChw8c", "nhwc")
    drawn = [[int(text) for text in pane.grids[0].texts if text] for pane in rl.draw(verdict).scene().panes]
    layouts = [x.layout(verdict.shape) for x in (verdict.a, verdict.b)]
    assert all(set(texts) >= set(layout.offsets().ravel().tolist()) for texts, layout in zip(drawn, layouts))
    wide = rl.draw(verdict, shape=(1, 20, 2, 2)).scene()
    assert [pane.layout.extents for pane in wide.panes if pane.layout] == [(1, 20, 2, 2)] * 2
    assert str(rl.compare("nChw8c", "nhwc", shape=(1, 20, 2, 2))) in wide.notes
    alike = rl.draw(rl.compare("nChw8c", "aBcd8b")).scene()
    assert [pane.title.startswith("one block of") for pane in alike.panes] == [True, True]
    assert "the same function for every shape" in alike.notes


def test_dimensions_that_stand_still_make_slices():
    (pane,) = rl.draw("nhwc", shape=(2, 5, 3, 4), rows="w", columns="h").scene().panes
    assert (pane.rows.name, pane.columns.name) == ("w", "h")
    assert [grid.caption for grid in pane.grids] == [f"n={n} c={c}" for n in range(2) for c in range(5)]
    offsets = np.arange(120).reshape(2, 3, 4, 5)
    for grid in pane.grids:
        n, c, _, _ = grid.fixed
        assert grid.texts == [str(x) for x in offsets[n, :, :, c].T.ravel()]
    (pane,) = rl.draw("nhwc", shape=(2, 5, 3, 4), at={"n": 1, "c": 4}).scene().panes
    assert [grid.fixed for grid in pane.grids] == [(1, 4, None, None)]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_cell_is_the_layout_at_its_labels(data):
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    strides = data.draw(st.lists(st.integers(-9, 9), min_size=len(sizes), max_size=len(sizes)))
    layout = rl.Layout(tuple(sizes), tuple(strides), offset=data.draw(st.integers(-3, 3)))
    (pane,) = rl.draw(layout).scene().panes
    seen = set()
    for grid in pane.grids:
        for k, text in enumerate(grid.texts):
            r, c = divmod(k, pane.columns.count)
            places = {pane.rows.dim: r, pane.columns.dim: c}
            coordinate = tuple([places[d] if x is None else x for d, x in enumerate(grid.fixed)])
            assert text == str(layout(coordinate))
            seen.add(coordinate)
    assert len(seen) == layout.size


def test_coordinates_as_values():
    _, grid = only(rl.draw(rl.make_identity_layout((2, 3))))
    assert grid.texts == ["0,0", "0,1", "0,2", "1,0", "1,1", "1,2"]
    assert set(grid.tints) == {PLAIN}


def test_compositions_are_drawn_too():
    a, b = rl.Layout((6, 2), (1, 7)), rl.Layout((3, 2), (2, 3))
    _, grid = only(rl.draw(rl.ComposedLayout(a, b)))
    assert grid.texts == [str(a(2 * r + 3 * c)) for r in range(3) for c in range(2)]


# ---- colours ---------------------------------------------------------------------------------------------


def test_neighbouring_blocks_differ_in_colour():
    pane, grid = only(rl.draw(rl.Layout(((2, 6), (3, 6)), ((1, 6), (2, 36)))))
    wide = pane.columns.count
    tints = np.array(grid.tints).reshape(-1, wide)
    blocks = tints[::2, ::3]
    assert (np.kron(blocks, np.ones((2, 3), int)) == tints).all()
    assert (blocks[1:] != blocks[:-1]).all()
    assert (blocks[:, 1:] != blocks[:, :-1]).all()


def test_memory_order_is_a_ramp():
    pane, grid = only(rl.draw(rl.Layout((4, 6), (1, 4))))
    assert pane.scale == "ramp"
    offsets = [int(text) for text in grid.texts]
    assert all((x - y) * (grid.tints[i] - grid.tints[j]) >= 0 for (i, x), (j, y) in combinations(enumerate(offsets), 2))
    assert (min(grid.tints), max(grid.tints)) == (0, 11)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_palettes_suit_every_eye(theme: Theme):
    """Machado's simulation of the three kinds of colour blindness; distances in OKLab; contrast as WCAG counts it."""
    kinds = {
        "all colours": np.eye(3),
        "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
        "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    }
    for matrix in kinds.values():
        seen = [np.clip(np.array(matrix) @ _linear(colour), 0, 1) for colour in theme.categories]
        apart = min(np.linalg.norm(_oklab(a) - _oklab(b)) for a, b in combinations(seen, 2))
        assert apart > 0.055
        steps = [_oklab(np.clip(np.array(matrix) @ _linear(colour), 0, 1))[0] for colour in theme.ramp]
        assert all((b - a) * (steps[-1] - steps[0]) > 0 for a, b in pairwise(steps))
    for colour in (*theme.categories, *theme.ramp, theme.paper):
        assert _contrast(colour, theme.ink) > 4.5
    assert _contrast(theme.paper, theme.faint) > 4.5


def _linear(colour: str) -> np.ndarray:
    c = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _oklab(linear: np.ndarray) -> np.ndarray:
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    mixed = np.array(
        [
            [0.2104542553, 0.793617785, -0.0040720468],
            [1.9779984951, -2.428592205, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.808675766],
        ]
    )
    return mixed @ np.cbrt(cones @ linear)


def _contrast(a: str, b: str) -> float:
    low, high = sorted([_linear(x) @ [0.2126, 0.7152, 0.0722] for x in (a, b)])
    return (high + 0.05) / (low + 0.05)


# ---- memory, marks, paths --------------------------------------------------------------------------------


def test_memory_shows_who_lives_where():
    layout = rl.Layout((2, 3), (4, 1))
    logical, memory = rl.draw(layout, view="both").scene().panes
    (grid,) = memory.grids
    assert grid.texts == ["0,0", "0,1", "0,2", "", "1,0", "1,1", "1,2"]
    assert [tint == PADDING for tint in grid.tints] == [False, False, False, True, False, False, False]
    by_key = dict(zip(logical.grids[0].keys, logical.grids[0].tints))
    assert all(tint == by_key[key] for tint, key in zip(grid.tints, grid.keys) if key >= 0)


def test_memory_of_shared_and_negative_places():
    (memory,) = rl.draw(rl.Layout((2, 2), (0, 1)), view="memory").scene().panes
    assert memory.grids[0].texts == ["0,0+", "0,1+"]
    (memory,) = rl.draw(rl.Layout(3, -1), view="memory", width=4).scene().panes
    assert memory.rows.labels == ("-4", "0")
    assert memory.grids[0].texts[:5] == ["", "", "2", "1", "0"]


def test_path_visits_cells_in_the_order_of_memory():
    _, grid = only(rl.draw(TILED, path=True))
    assert [int(grid.texts[k]) for k in grid.path] == list(range(24))


def test_marks_in_every_pane():
    scene = rl.draw("nhwc", "nchw", shape=(1, 2, 3, 4), mark=[(0, 1, 2, 3), (0, 0, 0, 0)]).scene()
    for pane in scene.panes:
        found = {grid.keys[k] for grid in pane.grids for k in grid.marked}
        assert found == {0, 23}
    with pytest.raises(rl.OutOfBounds):
        rl.draw(TILED, mark=(6, 0))


def test_formats_meet_by_the_names_of_their_axes():
    one, other = rl.draw("nhwc", "nchw", shape=(1, 2, 3, 4)).scene().panes
    assert [pane.names for pane in (one, other)] == [("n", "c", "h", "w")] * 2
    assert one.grids[0].keys == other.grids[0].keys


def test_differences_are_coloured_and_the_first_is_marked():
    a, b = rl.Layout((4, 8), (8, 1)), rl.Layout((4, 8), (8, 1), swizzle=(1, 0, 3))
    scene = rl.draw(rl.compare(a, b)).scene()
    for pane in scene.panes:
        (grid,) = pane.grids
        different = [a(r, c) != b(r, c) for r, c in cartesian(range(4), range(8))]
        assert [tint != PLAIN for tint in grid.tints] == different
        assert [grid.texts[k] for k in grid.marked] == [str(pane.layout(*rl.compare(a, b).coordinate))]
    assert scene.notes == ["different at (1, 0): 8 and 9"]
    assert rl.draw(rl.compare(a, a)).scene().notes == ["the same function"]
    assert "different domains" in rl.draw(rl.compare(a, rl.Layout(3, 1))).scene().notes[0]


# ---- threads and operations ------------------------------------------------------------------------------


def test_threads_and_values_of_an_mma_atom():
    """The accumulator of m16n8: PTX says row = lane / 4 (+ 8 for values 2, 3) and column = lane % 4 * 2 + value % 2."""
    atom = rl.Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))
    pane, grid = only(rl.draw(atom, tile=(16, 8)))
    expected = [[""] * 8 for _ in range(16)]
    for lane, value in cartesian(range(32), range(4)):
        expected[lane // 4 + 8 * (value // 2)][lane % 4 * 2 + value % 2] = f"T{lane}\nV{value}"
    assert table(pane, grid) == expected


def test_linear_layouts_show_lanes_and_registers():
    bases = {"register": [(0, 1), (8, 0)], "lane": [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]}
    linear = rl.LinearLayout(bases, {"m": 16, "n": 8})
    by_cute = rl.draw(rl.Layout(((4, 8), (2, 2)), ((32, 1), (16, 8))), tile=(16, 8))
    assert only(rl.draw(linear))[1].texts == only(by_cute)[1].texts


def test_threads_outside_the_tile_are_refused():
    with pytest.raises(rl.ShapeError, match="thread 1 holds value 0 at 8, outside the tile of 4"):
        rl.draw(rl.Layout((2, 2), (8, 1)), tile=(2, 2)).text()


@pytest.mark.parametrize("name", ["logical_divide", "zipped_divide", "tiled_divide", "flat_divide"])
def test_tiles_of_a_division_have_one_colour(name):
    a, tiler = rl.Layout((4, 6), (6, 1)), (2, 3)
    scene = rl.draw(getattr(rl, name), a, tiler).scene()
    whole, result = scene.panes[0], scene.panes[-1]
    (grid,) = whole.grids
    tints = np.array(grid.tints).reshape(4, 6)
    for r, c in cartesian(range(4), range(6)):
        same = {int(tints[x, y]) for x, y in cartesian(range(4), range(6)) if (x // 2, y // 3) == (r // 2, c // 3)}
        assert len(same) == 1
    assert len(set(grid.tints)) == 4
    assert {int(grid.texts[k]) for k in grid.marked} == {0, 1, 2, 6, 7, 8}
    by_offset = dict(zip(grid.keys, grid.tints))
    for part in result.grids:
        assert part.tints == [by_offset[key] for key in part.keys]
    assert result.title == f"{name} = {getattr(rl, name)(a, tiler)}"


def test_tilers_are_written_as_they_are_typed():
    by_modes = (rl.Layout(3, 3), rl.Layout((2, 4), (1, 8)))
    _, tile, _ = rl.draw(rl.zipped_divide, "(9,(4,8)):(59,(13,1))", by_modes).scene().panes
    assert tile.title == "tile <3:3, (2,4):(1,8)>"
    assert rl.draw(rl.zipped_divide, "(4,6):(6,1)", (2, 3)).scene().panes[1].title == "tile (2, 3)"


@pytest.mark.parametrize("name", ["logical_product", "blocked_product", "raked_product"])
def test_copies_of_a_product_have_one_colour(name):
    a, b = rl.Layout((2, 2), (1, 2)), rl.Layout((2, 3), (3, 1))
    scene = rl.draw(getattr(rl, name), a, b).scene()
    copies = {}
    for grid in scene.panes[-1].grids:
        for text, tint in zip(grid.texts, grid.tints):
            copies.setdefault(tint, set()).add(int(text))
    assert sorted(map(sorted, copies.values())) == [list(range(4 * k, 4 * k + 4)) for k in range(6)]


def test_a_composition_links_by_place():
    a, b = rl.Layout(20, 2), rl.Layout((5, 4), (4, 1))
    first, second, result = rl.draw(rl.composition, a, b).scene().panes
    places = dict(zip(first.grids[0].keys, first.grids[0].texts))
    assert len(places) == 20
    assert second.grids[0].keys == result.grids[0].keys
    assert [places[key] for key in result.grids[0].keys] == result.grids[0].texts == [str(2 * n) for n in range(20)]
    assert [pane.joint for pane in (first, second, result)] == ["", "\u2218", "="]
    broken = rl.draw(rl.composition, rl.Layout((6, 2), (1, 7)), rl.Layout((3, 2), (2, 3))).scene()
    assert broken.panes[-1].grids[0].texts[-1] == "8"


def test_other_functions_are_no_operation():
    with pytest.raises(rl.ShapeError, match=r"^complement is not drawn as an operation. Hint: draw its result"):
        rl.draw(rl.complement, TILED).text()


def test_a_picture_over_the_limit_names_the_form_that_holds_it():
    threads = rl.draw(rl.Layout((80, 80)), tile=(80, 80))
    tiles = rl.draw(rl.logical_divide, rl.Layout(6400), rl.Layout(4))
    for drawing in (threads, tiles):
        with pytest.raises(rl.LimitExceeded, match=r"\.html\) (holds|draws) 65536"):
            drawing.svg()
        assert drawing.scene(65536).panes


# ---- limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 7, 64, SVG_CELLS, HTML_CELLS])
@pytest.mark.parametrize("shape", [(1, 224, 224, 64), (3, 5, 7, 11), (1, 1, 1, 10**9)])
def test_more_cells_than_the_limit_become_chunks(limit, shape):
    scene = rl.draw("htp:R4Crouton", shape=shape).scene(limit)
    (pane,) = scene.panes
    assert 0 < pane.cells <= limit
    layout = rl.parse("htp:R4Crouton", shape=shape)
    for grid in pane.grids:
        r, c = pane.rows, pane.columns
        for k, text in enumerate(grid.texts):
            place = grid_place(r, c, k)
            coordinate = tuple([place[d] if x is None else x for d, x in enumerate(grid.fixed)])
            if all(0 <= x < n for x, n in zip(coordinate, layout.extents)):
                assert text == str(layout(coordinate))
    if pane.rows.step * pane.columns.step > 1:
        assert f"chunk of {pane.rows.step} x {pane.columns.step} elements" in scene.notes[0]


def grid_place(rows, columns, k):
    r, c = divmod(k, columns.count)
    return {rows.dim: rows.first + r * rows.step, columns.dim: columns.first + c * columns.step}


def test_chunks_of_several_blocks_have_no_blocks_colour():
    """A chunk of one block shows which; of several it shows the order of memory, from its lowest to its highest."""
    blocks = rl.draw("AB8a8b", shape=(64, 64)).scene(64)
    assert (blocks.panes[0].scale, blocks.panes[0].rows.step) == ("categories", 8)
    chunks = rl.draw("AB8a8b", shape=(64, 64)).scene(16).panes[0]
    assert (chunks.scale, chunks.rows.step) == ("ramp", 16)
    assert chunks.grids[0].tints == sorted(chunks.grids[0].tints)
    assert rl.draw("AB8a8b", shape=(64, 64), part=np.s_[::16, ::16]).scene(16).panes[0].scale == "categories"


def test_chunks_are_whole_blocks_where_they_fit():
    (pane,) = rl.draw("htp:R4Crouton", shape=(1, 224, 224, 64), rows="h", columns="w", at={"c": 0}).scene().panes
    assert (pane.rows.step, pane.columns.step, pane.cells) == (8, 8, 28 * 28)


def test_nothing_to_draw():
    scene = rl.draw(rl.Layout((0, 3), (3, 1))).scene()
    assert scene.panes[0].cells == 0
    for form in ("svg", "text", "ansi", "tikz", "html"):
        assert getattr(rl.draw(rl.Layout((0, 3), (3, 1))), form)()


def test_scalars_have_one_cell():
    _, grid = only(rl.draw(rl.Layout((), ())))
    assert grid.texts == ["0"]


# ---- refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"rows": 2}, "no dimension 2"),
        ({"rows": "h"}, "no dimension 'h'"),
        ({"rows": 0, "columns": 0}, "runs down, across, or stands still"),
        ({"at": {0: 9}}, "no coordinate 9 in dimension 0"),
        ({"cells": "colour"}, "cells cannot show 'colour'"),
        ({"color": "red"}, "cells cannot be coloured by 'red'"),
        ({"view": "sideways"}, "no view 'sideways'"),
    ],
)
def test_bad_words_are_refused(words, message):
    with pytest.raises(rl.ShapeError, match=re.escape(message)):
        rl.draw(TILED, **words).text()


def test_formats_need_a_shape_or_have_a_block():
    pane = rl.draw("htp:R4Crouton").scene().panes[0]
    assert pane.title == "one block of htp:R4Crouton"
    for text in ("nhwc", "0 1 / 0,2@rest"):
        with pytest.raises(rl.ShapeError, match="drawn for a shape"):
            rl.draw(text)


def test_unknown_endings_are_refused(tmp_path):
    with pytest.raises(rl.ShapeError, match=r"no picture has the ending '\.bmp'"):
        rl.draw(TILED).save(tmp_path / "x.bmp")
    assert list(tmp_path.iterdir()) == []
    for ending in ("svg", "html", "tex", "txt", "ans"):
        rl.draw(TILED).save(tmp_path / f"x.{ending}")
        assert (tmp_path / f"x.{ending}").stat().st_size > 100


# ---- SVG -------------------------------------------------------------------------------------------------


def test_svg_is_well_formed_and_says_every_offset():
    root = ElementTree.fromstring(rl.draw(TILED, mark=(1, 1), path=True, view="both").svg())
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text") if "class" not in node.attrib]
    assert sorted(map(int, texts[:24])) == list(range(24))
    assert sorted(texts[24:]) == sorted([f"{r},{c}" for r in range(6) for c in range(4)])


def test_svg_escapes_what_users_write():
    (pane,) = rl.draw(rl.Layout((2, 2), (2, 1))).scene().panes
    words = "<script>&\"'</title>]]>"
    rows = dataclasses.replace(pane.rows, name=words, labels=(words, words))
    grid = dataclasses.replace(pane.grids[0], texts=[words] * 4, caption=words)
    wild = dataclasses.replace(pane, title=words, rows=rows, grids=[grid], joint=words)
    svg = Drawing(lambda limit: Scene([wild], [LegendEntry((0,), words)], [words])).svg()
    root = ElementTree.fromstring(svg)
    assert sorted({node.tag.partition("}")[2] for node in root.iter()}) == [
        *("defs", "g", "path", "pattern", "rect", "style", "svg", "text", "title")
    ]
    assert "".join(root.itertext()).count(words) == 13, "a title twice, 4 cells, 2 labels, and the rest"


def test_a_picture_of_1024_cells_is_small_and_quick():
    drawing = rl.draw(rl.Layout(((8, 4), (8, 4)), ((1, 64), (8, 256))))
    assert len(drawing.svg()) < 100_000
    assert loops_of(drawing.svg, runs=5) < 0.05 * LOOPS_PER_SECOND, "with a tracer; without it is a tenth of that"
