"""The figures of the source documents, read back from the pictures and compared with the documents' own numbers."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product as cartesian
from pathlib import Path

import numpy as np
import pytest

import relayout as rl
from drawn import Seen, in_every_form, in_svg, in_text, table
from relayout import Layout
from test_document_mojo import BLOCKED, ROW_MAJOR_3X4, TILED
from test_htp_page import CROUTON, walk

FIGURES = {
    "1: 1D layout (4:1)": ("(4:1)", [[0, 1, 2, 3]]),
    "2: 1D layout": ("(8:1)", [[0, 1, 2, 3, 4, 5, 6, 7]]),
    "3: 2D layout with strides": ("((2, 4):(4, 1))", [[0, 1, 2, 3], [4, 5, 6, 7]]),
    "4: 2D column-major layout with strides": ("((2, 4):(1, 2))", [[0, 2, 4, 6], [1, 3, 5, 7]]),
    "5: 1D vector layout": ("(8:1)", [[0, 1, 2, 3, 4, 5, 6, 7]]),
    "6: 1D layout with nested modes": ("(((4, 2):(1, 4)))", [[0, 1, 2, 3, 4, 5, 6, 7]]),
    "7: two 2D layouts, A": ("((4, 4):(4, 1))", [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]),
    "7: two 2D layouts, B": (
        "(((2, 2), (2, 2)):((1, 4), (2, 8)))",
        [[0, 2, 8, 10], [1, 3, 9, 11], [4, 6, 12, 14], [5, 7, 13, 15]],
    ),
    "8: 1D sparse layout (4:2)": ("(4:2)", [[0, 2, 4, 6]]),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_mojo_figures(figure: str) -> None:
    text, numbers = FIGURES[figure]
    for seen in in_every_form(rl.draw(text)):
        assert table(seen) == [[str(n) for n in row] for row in numbers]
        assert not any(cell.padding for cell in seen)
        rows = [str(r) for r in range(len(numbers))] if len(numbers) > 1 else [""]
        assert [(cell.row, cell.column) for cell in seen] == list(cartesian(rows, map(str, range(len(numbers[0])))))


def test_figure_7_sets_its_tiles_apart() -> None:
    lines = rl.draw(FIGURES["7: two 2D layouts, B"][0]).text().splitlines()
    assert [line[: line.index(" |", 4)] for line in lines[3:5]] == ["0 |  0  2", "1 |  1  3"]
    assert lines[2] == lines[5] == "--+-------+------"


def test_figure_8_leaves_every_other_place_empty() -> None:
    (memory,) = rl.draw("(4:2)", view="memory").scene().panes
    assert memory.grids[0].texts == ["0", "", "1", "", "2", "", "3"], "a size of 4, and a cosize of 7"


def printed(block: str) -> list[list[str]]:
    """The numbers of a table that the page prints, without its labels."""
    return [re.findall(r"\d+", line)[1:] for line in block.splitlines() if "|" in line]


@pytest.mark.parametrize(
    ("layout", "block"),
    [
        (Layout.row_major(3, 4), ROW_MAJOR_3X4),
        (rl.tile_to_shape(Layout.col_major(3, 2), (6, 10)), TILED),
        (Layout.col_major(3, 2), BLOCKED.split("Tiler:")[0]),
        (Layout.col_major(2, 5), BLOCKED.split("Tiler:")[1]),
    ],
)
def test_tables_that_the_mojo_page_prints(layout: Layout, block: str) -> None:
    for seen in in_every_form(rl.draw(layout)):
        assert table(seen) == printed(block)


def test_the_blocked_product_of_the_mojo_page() -> None:
    scene = rl.draw(rl.blocked_product, Layout.col_major(3, 2), Layout.col_major(2, 5)).scene()
    texts = [pane.grids[0].texts for pane in scene.panes]
    tables = [BLOCKED.split("Tiler:")[0], BLOCKED.split("Tiler:")[1], TILED]
    assert texts == [[n for row in printed(block) for n in row] for block in tables]


# ---- the HTP page ----------------------------------------------------------------------------------------


def test_the_crouton_of_1x3x5x30_with_its_padding() -> None:
    """One plane of channels: 3 x 5 elements in a chunk of 8 x 8, each 32 elements after its left neighbour."""
    drawing = rl.draw("R4CroutonLayout", shape=(1, 3, 5, 30), rows="h", columns="w", at={"c": 0})
    expected = [Seen(str(h), str(w), str(256 * h + 32 * w), not (h < 3 and w < 5)) for h in range(8) for w in range(8)]
    for seen in in_every_form(drawing):
        assert seen == expected


def test_the_memory_of_1x3x5x30_is_the_listing() -> None:
    (memory,) = rl.draw("R4CroutonLayout", shape=(1, 3, 5, 30), view="memory").scene().panes
    order = walk((1, 8, 8, 32), CROUTON)
    valid = [all(x < n for x, n in zip(c, (1, 3, 5, 30), strict=True)) for c in order]
    assert memory.grids[0].texts == [",".join(map(str, c)) if ok else "" for c, ok in zip(order, valid, strict=True)]


@pytest.mark.parametrize(("name", "pairs"), [("R4CroutonLayout", CROUTON), ("R4Crouton2x2Layout", None)])
def test_croutons_of_2x9x20x50(name: str, pairs: list[tuple[int, int]] | None) -> None:
    spatial = [(0, 0), (1, 0), (2, 0), (3, 0), (1, 4), (2, 4), (3, 32), (1, 2), (2, 2)]
    place = {c: k for k, c in enumerate(walk((2, 16, 24, 64), pairs or spatial))}
    for n, c in ((0, 0), (1, 49)):
        drawing = rl.draw(name, shape=(2, 9, 20, 50), rows="h", columns="w", at={"n": n, "c": c})
        expected = [
            Seen(str(h), str(w), str(place[n, h, w, c]), not (h < 9 and w < 20)) for h in range(16) for w in range(24)
        ]
        for seen in in_every_form(drawing):
            assert seen == expected


def test_the_order_inside_a_crouton_2x2_is_a_path_of_quads() -> None:
    """Channel 0 visits the four elements of a 2 x 2 quad, 128 apart in memory from the next quad."""
    (pane,) = (
        rl.draw("R4Crouton2x2Layout", shape=(1, 8, 8, 32), rows="h", columns="w", at={"c": 0}, path=True).scene().panes
    )
    visited = [divmod(k, 8) for k in pane.grids[0].path]
    assert visited[:8] == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    assert visited == [(2 * a + c, 2 * b + d) for a, b, c, d in cartesian(range(4), range(4), range(2), range(2))]


# ---- Core AI ---------------------------------------------------------------------------------------------

INTERLEAVED = (
    "shape=[8, 256, 256], strides=[262144, 1024, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)"
)


def test_the_interleave_example_of_core_ai() -> None:
    """The page's formula: (index[d] / f) * strides[d] + (index[d] % f) + the sum over the others."""
    drawing = rl.draw(INTERLEAVED, rows=0, columns=2, part=(slice(None), 3, slice(6)))
    expected = [[str(c // 4 * 262144 + c % 4 + 3 * 1024 + w * 4) for w in range(6)] for c in range(8)]
    for seen in in_every_form(drawing):
        assert table(seen) == expected
    (pane,) = drawing.scene().panes
    assert pane.rows.rules[4] == 1, "blocks of the factor's size are set apart"


def test_interleaved_channels_read_rgb_rgb() -> None:
    text = "shape=[3, 2, 4], strides=[24, 12, 3] interleaveLayout=InterleaveLayout(dimension: 0, factor: 3)"
    (memory,) = rl.draw(text, view="memory", width=24).scene().panes
    channels = "".join(["RGB"[int(cell[0])] for cell in memory.grids[0].texts])
    assert channels == "RGB" * 8


def test_a_side_by_side_has_both_layouts() -> None:
    (first, second) = in_svg(rl.draw(Layout.row_major(2, 4), Layout.col_major(2, 4)).svg())
    assert table(first) == np.arange(8).reshape(2, 4).astype(str).tolist()
    assert table(second) == np.arange(8).reshape(4, 2).T.astype(str).tolist()
    assert in_text(rl.draw(Layout.row_major(2, 4)).text()) == first


# ---- the gallery -----------------------------------------------------------------------------------------

DOCS = Path(__file__).parent.parent / "docs"


def test_the_gallery_is_what_its_code_draws() -> None:
    spec = spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[Path, str] = module.files()
    assert {path: path.read_text() for path in made} == made, "run python docs/make_gallery.py"
    pictures = sorted((DOCS / "gallery").glob("*.svg"))
    assert pictures == sorted(path for path in made if path.suffix == ".svg")
    assert sum(path.stat().st_size for path in pictures) < 450_000
    assert all(in_svg(path.read_text()) for path in pictures if path.stem != "chunks"), "every picture has cells"
    assert "gallery/two.svg" in (DOCS.parent / "README.md").read_text()
