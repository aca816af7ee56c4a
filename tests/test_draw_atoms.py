"""Pictures of instructions: A and B around C, cell by cell against formulas, and where they stand."""

from __future__ import annotations

import re

import pytest

import relayout as rl
from relayout.drawing.places import arrange
from relayout.drawing.scene import SVG_CELLS
from relayout.drawing.terminal import render_text

NAME = "mma.m16n8k16.f32.f16.f16.f32"


def test_cells_name_the_holders():
    """The texts of A, B and C, by PTX's groupID and threadID_in_group."""
    b, a, c = rl.draw(rl.atoms[NAME]).scene(SVG_CELLS).panes
    for m in range(16):
        for k in range(16):
            thread, value = m % 8 * 4 + k % 8 // 2, k % 2 + 2 * (m // 8) + 4 * (k // 8)
            assert a.grids[0].texts[16 * m + k] == f"T{thread}\nV{value}"
        for n in range(8):
            assert c.grids[0].texts[8 * m + n] == f"T{m % 8 * 4 + n // 2}\nV{n % 2 + 2 * (m // 8)}"
    for k in range(16):
        for n in range(8):
            assert b.grids[0].texts[8 * k + n] == f"T{4 * n + k % 8 // 2}\nV{k % 2 + 2 * (k // 8)}"
    assert (a.rows.name, a.columns.name, b.rows.name, b.columns.name) == ("m", "k", "k", "n")


def test_rows_of_a_and_columns_of_b_run_on_in_c():
    for subject in (
        rl.atoms[NAME],
        rl.tile_mma(NAME, (2, 1), (None, 16, None)),
        rl.atoms["wgmma.m64n8k8.f32.tf32.tf32"],
    ):
        placed = arrange(rl.draw(subject).scene(SVG_CELLS))
        b, a, c = placed.grids
        assert (b.x + b.place.left, b.place.width) == (c.x + c.place.left, c.place.width)
        assert (a.y + a.place.top, a.place.height) == (c.y + c.place.top, c.place.height)
        assert b.y + b.place.bottom < c.y + c.place.top
        assert a.x + a.place.right < c.x + c.place.left
        assert placed.width >= c.x + c.place.right
        assert placed.height >= c.y + c.place.bottom


def test_in_a_text_columns_of_b_stand_above_those_of_c():
    lines = str(rl.draw(rl.atoms[NAME])).splitlines()
    heads = [line for line in lines if "n→" in line]
    assert len(heads) == 2
    assert heads[0].rindex("7") == heads[1].rindex("7")
    first = next(line for line in lines if line.lstrip().startswith("0 |") and line.count("|") == 2)
    assert re.findall(r"T\d+V\d+", first)[:3] == ["T0V0", "T0V1", "T1V0"]
    narrow = render_text(rl.draw(rl.atoms[NAME]).scene(SVG_CELLS), 80).splitlines()
    assert max(map(len, narrow)) <= 80


def test_other_forms(tmp_path):
    drawing = rl.draw(rl.atoms[NAME])
    svg, tikz, page = drawing.svg(), drawing.tikz(), drawing.html()
    assert svg.count(">T31<") == 8 + 4 + 4
    assert tikz.count("{T31\\\\V0}") == 3
    assert 'class="panes around"' in page
    assert rl.atoms[NAME]._repr_svg_() == svg
    assert rl.draw("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").svg() == svg
    with pytest.raises(rl.UnknownName, match="near it are"):
        rl.draw("mma.m16n8k16")


@pytest.mark.parametrize(
    "name", ["v_mfma_f32_32x32x4_2b_f16", "v_mfma_f64_4x4x4_4b_f64", "v_wmma_f32_16x16x16_f16_w32", "tdpbf16ps"]
)
def test_every_vendors_cells_name_the_holders(name):
    """Each cell against the formulas of coordinates, of the first block where there are several."""
    atom = rl.atoms[name]
    panes = dict(zip("BAC", rl.draw(name).scene(SVG_CELLS).panes, strict=True))
    for which, pane in panes.items():
        operand = atom.operand(which)
        columns = operand.tile[0] if which == "B" else operand.tile[1]
        cells = {}
        for thread in range(atom.threads):
            for value in range(operand.layout.extents[1]):
                first, second, *block = operand.coordinate(thread, value)
                if block in ([], [0]):
                    row, column = (second, first) if which == "B" else (first, second)
                    words = [f"T{thread}"] * (atom.threads > 1) + [f"V{value}"] * (operand.layout.extents[1] > 1)
                    cells.setdefault(row * columns + column, "\n".join(words))
        assert [re.sub(r" \+\d+", "", text) for text in pane.grids[0].texts] == [cells[k] for k in sorted(cells)]
    assert (f"block 0 of {atom.blocks}" in str(rl.draw(atom))) == (atom.blocks > 1)


def test_a_sparse_a_has_columns_of_what_is_kept():
    b, a, _ = rl.draw("v_smfmac_f32_16x16x32_f16").scene(SVG_CELLS).panes
    assert (a.columns.name, a.title, b.rows.name, b.title) == ("j", "A: f16 16 x 16", "k", "B: f16 32 x 16")


def test_copies_show_what_is_read_and_what_arrives():
    scene = rl.draw(rl.atoms["ldmatrix.x1.trans"]).scene(SVG_CELLS)
    src, dst = scene.panes
    assert src.grids[0].texts[8 * 3 + 5] == "T3\nV5"
    assert dst.grids[0].texts[8 * 3 + 5] == "T21\nV1"  # row 3, column 5: lane 4 * 5 + 3 // 2, the upper half
    box = rl.draw(rl.atoms["cp.async.bulk.tensor.swizzle_128B"]).scene(SVG_CELLS).panes[1]
    assert box.grids[0].texts[8 * 5 : 8 * 6] == [f"V{40 + (k ^ 5)}" for k in range(8)]
    memory = rl.draw(rl.atoms["tcgen05.ld.16x64b.x1"]).scene(SVG_CELLS).panes[1]
    assert memory.grids[0].texts[:4] == ["T0", "T2", "T4", "T6"]


def test_accumulators_of_tensor_memory_name_lanes():
    c = rl.draw(rl.atoms["tcgen05.mma.cta_group::1.kind::f16.m64n16k16"]).scene(SVG_CELLS).panes[2]
    assert c.grids[0].texts[16 * 17 + 3] == "L33\nV3"


def test_threads_of_a_quad_pair_have_the_numbers_of_their_lanes():
    """As in CuTe's picture of SM70_8x8x4_F32F16F16F32_NT."""
    _, a, c = rl.draw(rl.atoms["mma.m8n8k4.col.row.f32.f16.f16.f32"]).scene(SVG_CELLS).panes
    assert a.grids[0].texts[4 * 4 :: 4][0] == "T16\nV0"
    assert [text.split()[0] for text in c.grids[0].texts[:8]] == ["T0", "T0", "T2", "T2", "T0", "T0", "T2", "T2"]
    assert c.grids[0].texts[8 * 4] == "T16\nV0"


def test_what_is_too_large_or_says_nothing_is_refused():
    with pytest.raises(rl.LimitExceeded):
        rl.draw(rl.atoms["wgmma.m64n256k16.f32.f16.f16"]).svg()
    with pytest.raises(rl.ShapeError, match="an atom is drawn without"):
        rl.draw(rl.atoms[NAME], tile=(16, 8))
