"""``rl.banks`` and ``rl.sectors``: tiles and threads of every kind, judged element by element with plain Python."""

from __future__ import annotations

import json
from itertools import product as cartesian
from random import Random
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout.drawing.scene import PADDING
from relayout.errors import LayoutError, LimitExceeded, NotExpressible, OutOfBounds, Overlap, ShapeError

ROWS = [(lane, 0) for lane in range(32)]


def by_hand(addresses: list[int], size: int, lanes_at_once: int, banks: int = 32) -> int:
    """The wavefronts of one access: groups of lanes in order, each byte looked up by itself."""
    total = 0
    for first in range(0, len(addresses), lanes_at_once):
        words = {(a + byte) // 4 for a in addresses[first : first + lanes_at_once] for byte in range(size)}
        total += max(sum(word % banks == bank for word in words) for bank in range(banks))
    return total


def tiles() -> dict[str, Any]:
    """Tiles of 32 x 64 elements of 2 bytes, in all the forms that a layout has, each with its function."""
    plain = rl.Layout.row_major(32, 64)
    swizzled = plain.with_swizzle(rl.Swizzle(3, 3, 3))
    bits = {"dim0": [64 << k ^ 8 << k if k < 3 else 64 << k for k in range(5)], "dim1": [1 << k for k in range(6)]}
    columns = {name: [(column,) for column in group] for name, group in bits.items()}
    linear = rl.LinearLayout(columns, {"offset": 2048})
    return {
        "plain": (plain, plain),
        "column-major": (rl.Layout((32, 64)), rl.Layout((32, 64))),
        "padded": (rl.Layout((32, 64), (72, 1)), rl.Layout((32, 64), (72, 1))),
        "odd pitch": (rl.Layout((32, 64), (88, 1)), rl.Layout((32, 64), (88, 1))),
        "windowed": (rl.Layout.row_major(40, 64).view[3:35], rl.Layout.row_major(40, 64).view[3:35]),
        "nested window": (rl.parse("0 1 / 0,24 1,8", shape=(32, 64)), rl.parse("0 1 / 0,24 1,8", shape=(32, 64))),
        "swizzled": (swizzled, swizzled),
        "composed": (
            rl.ComposedLayout(rl.Swizzle(3, 3, 3), plain, 64),
            rl.ComposedLayout(rl.Swizzle(3, 3, 3), plain, 64),
        ),
        "linear": (linear, lambda r, c: linear(r, c)),
        "from offsets": (linear.invert(), lambda r, c: linear(r, c)),
        "text": ("(32,64):(64,1)", plain),
        "tensor": (rl.tensor(np.zeros((32, 64), np.float16)), plain),
    }


@pytest.mark.parametrize("form", tiles())
def test_every_form_of_a_tile_is_counted_as_its_function_says(form: str) -> None:
    tile, function = tiles()[form]
    rows = [(lane % 16, 8 * (lane // 16)) for lane in range(32)]
    if form == "column-major":
        with pytest.raises(LayoutError):
            rl.banks(tile, [[(r, c + k) for k in range(8)] for r, c in rows], "float16", "ldmatrix.x4")
        return
    values = [[(r, c + k) for k in range(8)] for r, c in rows]
    places = [2 * function(r, c) for r, c in rows]
    for access in ("ldmatrix.x4", "st.shared.b128"):
        found = rl.banks(tile, values, "float16", access)
        assert found.wavefronts == by_hand(places, 16, 8)
        assert found.ideal == 4
        assert found.conflicts == found.wavefronts - 4
        assert found.addresses.reshape(-1).tolist() == places


def test_random_threads_and_paddings_agree_with_a_plain_count() -> None:
    random = Random(3)
    for _ in range(60):
        pitch = random.randrange(16, 60)
        tile = rl.Layout((32, 16), (pitch, 1))
        order = list(cartesian(range(32), range(16)))
        random.shuffle(order)
        found = rl.banks(tile, [order[lane : lane + 1] for lane in range(64)], "float32", "st.shared.b32")
        places = [4 * (pitch * r + c) for r, c in order[:64]]
        assert found.counts.tolist() == [[by_hand(places[:32], 4, 32)], [by_hand(places[32:], 4, 32)]]
        assert found.wavefronts == sum(map(sum, found.counts.tolist()))
        worst = found.worst
        assert worst.wavefronts == found.counts.max()
        assert len(worst.words) == worst.wavefronts
        for word, lanes in worst.words.items():
            assert word % 32 == worst.bank
            assert all(places[32 * worst.warp + lane] // 4 == word for lane in lanes)


def test_a_layout_of_threads_and_the_list_of_its_coordinates_are_one() -> None:
    tile = rl.Layout((64, 32), (40, 1))
    _, threads = rl.make_layout_tv(rl.Layout.row_major(16, 8), rl.Layout.row_major(4, 4))
    listed = [[divmod(threads(t, v), 64)[::-1] for v in range(16)] for t in range(128)]
    assert threads.extents == (128, 16)
    for access in ("ld.shared.b32", "ld.shared.b64"):
        a, b = rl.banks(tile, threads, "float16", access), rl.banks(tile, listed, "float16", access)
        assert a.facts() == b.facts()
        assert np.array_equal(a.addresses, b.addresses)
        assert a.counts.shape == (4, 16 * 2 // a.access.bytes)
    written = rl.banks(tile, str(threads), "float16", "ld.shared.b32")
    assert written.facts() == rl.banks(tile, listed, "float16", "ld.shared.b32").facts()


def test_arrays_of_coordinates() -> None:
    tile = rl.Layout.row_major(32, 32)
    rows = np.stack([np.arange(32), np.zeros(32, int)], axis=1)
    assert rl.banks(tile, rows, "float32", "ld.shared.b32").wavefronts == 32
    pairs = np.stack([rows, rows + np.array([0, 1])], axis=1)
    assert pairs.shape == (32, 2, 2)
    assert rl.banks(tile, pairs, "float32", "ld.shared.b64").counts.shape == (1, 1)
    assert rl.banks(tile, pairs, "float32", "ld.shared.b32").counts.shape == (1, 2)
    assert rl.banks(rl.Layout(64), np.arange(32), "float32", "ld.shared.b32").wavefronts == 1
    for same in (list(rows), list(pairs[:, :1]), [tuple(row) for row in rows], list(32 * rows[:, 1] + rows[:, 0])):
        assert rl.banks(tile, same, "float32", "ld.shared.b32").wavefronts == 32


def test_triton_s_threads() -> None:
    bases = {"register": [(0, 1), (0, 2)], "lane": [(1, 0), (2, 0), (4, 0), (0, 4), (0, 8)], "warp": [(8, 0), (16, 0)]}
    threads = rl.LinearLayout(bases, {"dim0": 32, "dim1": 16})
    tile = rl.Layout.row_major(32, 16)
    found = rl.banks(tile, threads, "float32", "ld.shared.v4.f32")
    assert found.counts.shape == (4, 1)
    for warp in range(4):
        places = [4 * tile(*threads(register=0, lane=lane, warp=warp)) for lane in range(32)]
        assert found.addresses[warp, 0].tolist() == places
        assert found.counts[warp, 0] == by_hand(places, 16, 8)
    with pytest.raises(ShapeError, match="cover a tile of"):
        rl.banks(rl.Layout.row_major(16, 32), threads, "float32", "ld.shared.b32")


@pytest.mark.parametrize("access", ["ld.shared.b32", "ld.shared.b64", "st.shared.b64", "atom.shared.add.u32"])
def test_phases_add_up(access: str) -> None:
    random = Random(access)
    for _ in range(20):
        places = random.sample([(r, 2 * c) for r in range(16) for c in range(16)], 32)
        shared = [
            places[lane % random.choice([4, 32])] if not access.startswith("st") else places[lane] for lane in range(32)
        ]
        found = rl.banks(rl.Layout((16, 32), (34, 1)), shared, "float32", access)
        assert sum(phase.wavefronts for phase in found.phases()) == found.wavefronts
        assert found.worst.wavefronts == max(phase.wavefronts for phase in found.phases())


def test_atomics_at_one_word_take_turns() -> None:
    found = rl.banks(rl.Layout.row_major(32, 32), [(3, 0)] * 32, "int32", "atom.shared.add.u32")
    assert (found.wavefronts, found.ideal, found.worst.wavefronts) == (32, 1, 32)
    assert "bank 0 has 1 word: 96 of lanes 0-31" in str(found)
    assert "T0 +31" in rl.draw(found).text()


def test_the_known_swizzle_of_a_gemm_tile() -> None:
    """A tile of 64 x 64 halves: eight rows of a matrix lie in one bank group, and Swizzle<3,3,3> parts them."""
    rows = [(lane % 16 + 16 * warp, 8 * (lane // 16)) for warp in range(4) for lane in range(32)]
    plain = rl.Layout.row_major(64, 64)
    assert rl.banks(plain, rows, "float16", "ldmatrix.x4").wavefronts == 128
    parted = rl.banks(plain.with_swizzle(rl.Swizzle(3, 3, 3)), rows, "float16", "ldmatrix.x4")
    assert (parted.wavefronts, parted.ideal, parted.conflicts) == (16, 16, 0)
    assert rl.banks(rl.Layout((64, 64), (72, 1)), rows, "float16", "ldmatrix.x4").conflicts == 0


def test_it_tells_what_it_found() -> None:
    found = rl.banks(rl.Layout.row_major(32, 32), ROWS, "float32", "ld.shared.b32")
    assert str(found) == (
        "ld.shared.b32 on sm90: 32 wavefronts, ideal 1 (measured)\n"
        "worst phase: lanes 0-31: 32 wavefronts; bank 0 has 32 words: "
        "0 of lane 0, 32 of lane 1, 64 of lane 2, 96 of lane 3, ..."
    )
    free = rl.banks(rl.Layout((32, 32), (33, 1)), ROWS, "float32", "ld.shared.b32", "sm120")
    assert str(free) == "ld.shared.b32 on sm120: 1 wavefront, ideal 1 (documented)\nno conflicts"
    assert repr(free.wavefronts) == "1 (documented, not measured)"
    many = rl.banks(rl.Layout.row_major(64, 32), rl.Layout((64, 4), (1, 64)), "float32", "ld.shared.b64")
    assert str(many).startswith("ld.shared.b64 on sm90 by 2 warps, 2 accesses each: ")
    assert "worst phase: warp 0, access 0, lanes 0-15: 16 wavefronts; bank 0" in str(many)
    told = json.loads(json.dumps(many.facts()))
    assert told["worst"]["words"][1] == {"word": 32, "lanes": [1]}
    assert (told["warps"], told["accesses"], told["wavefronts"]) == (2, 2, int(many.wavefronts))
    assert told["each"] == many.counts.tolist()


def test_lanes_that_are_off_or_missing() -> None:
    tile = rl.Layout.row_major(32, 32)
    some = [(lane, 0) if lane % 2 else None for lane in range(32)]
    assert rl.banks(tile, some, "float32", "ld.shared.b32").wavefronts == 16
    assert rl.banks(tile, ROWS[:5], "float32", "ld.shared.b32").wavefronts == 5
    nobody = rl.banks(tile, [None] * 32, "float32", "ld.shared.b32")
    assert (nobody.wavefronts, nobody.ideal, nobody.conflicts) == (0, 0, 0)
    assert nobody.worst.words == {}
    assert rl.banks(tile, ROWS[:8], "float32", "ldmatrix.x1").counts.tolist() == [[8]]


def test_elements_below_a_byte() -> None:
    tile = rl.Layout.row_major(32, 64)
    found = rl.banks(tile, [[(lane, k) for k in range(8)] for lane in range(32)], "uint4", "ld.shared.b32")
    assert found.addresses[0, 0].tolist() == [32 * lane for lane in range(32)]
    assert found.wavefronts == by_hand([32 * lane for lane in range(32)], 4, 32)
    with pytest.raises(ShapeError, match="thread 1 begins in the middle of a byte"):
        rl.banks(rl.Layout((32, 8), (9, 1)), [(lane, 0) for lane in range(31)], "uint4", "ld.shared.b32")


TILE = rl.Layout.row_major(32, 32)


@pytest.mark.parametrize(
    ("tile", "threads", "element", "access", "error", "message"),
    [
        (TILE, rl.Layout((32, 3), (1, 32)), "float32", "ld.shared.b128", ShapeError, "3 values of float32 do not fill"),
        (TILE, rl.Layout((32, 1), (1, 0)), "float64", "ld.shared.b32", ShapeError, "float64 do not fill"),
        (
            TILE,
            rl.Layout((32, 4), (4, 1)),
            "float32",
            "ld.shared.b128",
            ShapeError,
            r"thread 0 lie at \(0, 32, 64, 96\)",
        ),
        (TILE, rl.Layout((32, 8), (32, 1)), "float16", "ldmatrix.x4", ShapeError, "the row that it points at"),
        (TILE, rl.Layout((64, 1), (32, 1)), "float32", "ld.shared.b32", OutOfBounds, "thread 32 has value 0 at 1024"),
        (TILE, [(lane, 32) for lane in range(32)], "float32", "ld.shared.b32", OutOfBounds, "thread 0 has"),
        (TILE, [(31, 31)], "float32", "ld.shared.b128", OutOfBounds, "past the end"),
        (TILE, [(0, 1)], "float32", "ld.shared.b128", ShapeError, "needs a multiple of 16"),
        (TILE, [(0, 0), (0, 0)], "float32", "st.shared.b32", Overlap, "by thread 0 and by thread 1"),
        (TILE, rl.Layout((64, 1), (0, 0)), "float32", "st.shared.b32", Overlap, "writes byte 0 twice"),
        (TILE, [(0, 0), (0, 1)], "float32", "st.shared.b64", Overlap, "by thread 0 and by thread 1"),
        (TILE, [], "float32", "ld.shared.b32", ShapeError, "no thread"),
        (TILE, rl.Layout((0, 1), (1, 1)), "float32", "ld.shared.b32", ShapeError, "no thread"),
        (TILE, rl.Layout((32, 0), (1, 1)), "float32", "ld.shared.b32", ShapeError, "no value"),
        (TILE, [[], []], "float32", "ld.shared.b32", ShapeError, "no coordinate"),
        (rl.Layout((0, 4)), [(0, 0)], "float32", "ld.shared.b32", ShapeError, "has no element"),
        (rl.Layout((0, 4)), "rows", "float32", "ld.shared.b32", ShapeError, "has no element"),
        (TILE, [(0,)], "float32", "ld.shared.b32", ShapeError, "no coordinate"),
        (TILE, [(0, 0.0)], "float32", "ld.shared.b32", ShapeError, "no coordinate"),
        (TILE, ["ab"], "float32", "ld.shared.b32", ShapeError, "no coordinate"),
        (TILE, [[(0, 0), (0, 1)], (0, 0)], "float32", "ld.shared.b32", ShapeError, "thread 1 has 1 values"),
        (TILE, rl.Layout((2, 2, 2)), "float32", "ld.shared.b32", ShapeError, "no layout of threads"),
        (TILE, rl.Layout((1 << 12, 1 << 12), (0, 0)), "float32", "ld.shared.b32", LimitExceeded, "over the limit"),
        (TILE, 7, "float32", "ld.shared.b32", ShapeError, "expected a layout"),
        (TILE, ROWS, "float33", "ld.shared.b32", ShapeError, "no element type"),
        (TILE, ROWS, None, "ld.shared.b32", ShapeError, "nothing tells the elements"),
        (TILE, ROWS, "float32", "ld.shared.b3", ShapeError, "did you mean"),
        ("nChw8c", ROWS, "float32", "ld.shared.b32", ShapeError, "no shape yet"),
        (rl.make_identity_layout((32, 32)), ROWS, "float32", "ld.shared.b32", ShapeError, "gives coordinates"),
        (rl.Layout((32, 32), (-32, 1)), [(1, 31)], "float32", "ld.shared.b32", OutOfBounds, "before the start"),
    ],
)
def test_what_does_not_fit_is_refused(
    tile: Any, threads: Any, element: Any, access: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rl.banks(tile, threads, element, access)


def test_reads_may_share_what_writes_may_not() -> None:
    shared = [(lane // 2, 0) for lane in range(32)]
    assert rl.banks(TILE, shared, "float32", "ld.shared.b32").wavefronts == 16
    with pytest.raises(Overlap):
        rl.banks(TILE, shared, "float32", "st.shared.b32")
    # stmatrix.x1 takes no address of the other lanes, so they race with nobody.
    rows = [(lane % 8, 0) for lane in range(32)]
    assert rl.banks(TILE, rows, "float32", "stmatrix.x1").wavefronts == 8


def test_a_format_takes_its_shape() -> None:
    found = rl.banks("0 1 / 0,8", [(lane, 0) for lane in range(32)], "float32", "ld.shared.b32", shape=(32, 32))
    layout = rl.parse("0 1 / 0,8", shape=(32, 32))
    assert found.addresses[0, 0].tolist() == [4 * layout(lane, 0) for lane in range(32)]


# ---- global memory ----------------------------------------------------------------------------------------


def moved(addresses: list[int], width: int) -> tuple[int, int, int]:
    """Sectors, lines and bytes, each byte looked up by itself."""
    touched = {a + byte for a in addresses for byte in range(width)}
    return len({b // 32 for b in touched}), len({b // 128 for b in touched}), len(touched)


def test_sectors_agree_with_a_plain_count() -> None:
    random = Random(5)
    for _ in range(60):
        pitch, base = random.randrange(16, 80), 4 * random.randrange(64)
        gmem = rl.Layout((64, 16), (pitch, 1))
        threads = [(random.randrange(64), random.randrange(16)) for _ in range(random.choice([32, 64, 40]))]
        found = rl.sectors(gmem, threads, "float32", base)
        for warp in range(len(found.counts)):
            places = [base + 4 * (pitch * r + c) for r, c in threads[32 * warp : 32 * warp + 32]]
            sectors, lines, useful = moved(places, 4)
            assert (found.counts[warp, 0], found.lines[warp, 0], found.useful[warp, 0]) == (sectors, lines, useful)
            assert found.ideals[warp, 0] == -(-useful // 32)
        assert 0 < found.efficiency <= 1


@pytest.mark.parametrize(
    ("element", "values", "base", "width", "sectors", "lines"),
    [
        ("float32", 4, 0, 16, 16, 4),
        ("float32", 4, 16, 16, 17, 5),
        ("float32", 4, 8, 8, 34 * 1, 0),
        ("float64", 1, 0, 8, 8, 2),
        ("float32", 1, 0, 4, 4, 1),
        ("float32", 1, 4, 4, 5, 2),
        ("float16", 1, 0, 2, 2, 1),
        ("uint4", 8, 0, 4, 4, 1),
    ],
)
def test_the_width_is_the_widest_that_fits(
    element: str, values: int, base: int, width: int, sectors: int, lines: int
) -> None:
    found = rl.sectors(rl.Layout(32 * values), rl.Layout((32, values), (values, 1)), element, base)
    assert found.width == width
    if lines:
        assert (found.sectors, int(found.lines.sum())) == (sectors, lines)
    else:
        assert found.counts.shape == (1, 2)


def test_sectors_tell_what_they_found() -> None:
    found = rl.sectors(rl.Layout.row_major(64, 64), [(lane, 0) for lane in range(32)], "float32")
    assert str(found) == (
        "4 bytes a lane: 32 sectors, ideal 4; 32 lines, ideal 1; 12% of the bytes are used\n"
        "worst access: lanes 0-31: 32 sectors in bytes 0 to 7939"
    )
    told = json.loads(json.dumps(found.facts()))
    assert (told["sectors"], told["ideal"], told["lines"], told["bytes"]) == (32, 4, 32, 128)
    nobody = rl.sectors(rl.Layout(64), [None] * 32, "float32")
    assert (nobody.sectors, nobody.efficiency) == (0, 1.0)
    assert "every lane is off" in str(nobody)
    big = rl.sectors(
        rl.Layout.row_major(1 << 20, 1 << 20), [(lane, 5) for lane in range(32)], "float32", access="ld.global.f32"
    )
    assert big.sectors == 32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rl.sectors(rl.Layout(64), [0], "float32", -4), OutOfBounds, "base -4"),
        (lambda: rl.sectors(rl.Layout(64), [0], "float32", 1.5), LayoutError, "base"),
        (lambda: rl.sectors(rl.Layout(64), [0], "float32", 2), ShapeError, "no access fits"),
        (lambda: rl.sectors(rl.Layout(64), [0], "float32", access="ld.shared.b32"), ShapeError, "no access to global"),
        (lambda: rl.sectors(rl.Layout(64), [0], "float32", access="ld.global.b24"), ShapeError, "no access to global"),
        (lambda: rl.sectors(rl.Layout(64), [1], "float32", access="ld.global.v2.f32"), ShapeError, "multiple of 8"),
        (lambda: rl.sectors(rl.Layout(64), [64], "float32"), OutOfBounds, "outside the tile"),
        (lambda: rl.sectors(rl.Layout(64), [0], "float32", 1 << 70), OutOfBounds, "outside memory"),
        (lambda: rl.sectors(rl.Layout(64, 1 << 50), [3], "float32"), OutOfBounds, "past the end"),
        (lambda: rl.sectors(rl.Layout((1 << 22, 2), (1 << 70, 1)), [(1, 0)], "float32"), OutOfBounds, "past the end"),
        (lambda: rl.sectors(rl.Layout(64), [0, 0], "float32", access="st.global.f32"), Overlap, "twice"),
    ],
)
def test_sectors_refuse_what_does_not_fit(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_disputed_accesses_are_refused() -> None:
    with pytest.raises(NotExpressible, match="rocRoller"):
        rl.banks(TILE, ROWS, "float32", "ds_write_b32", "gfx950")


# ---- pictures ---------------------------------------------------------------------------------------------


def test_the_picture_has_every_word_under_its_bank() -> None:
    tile = rl.Layout((32, 32), (34, 1))
    found = rl.banks(tile, ROWS, "float32", "ld.shared.b32")
    scene = rl.draw(found).scene()
    (pane,) = scene.panes
    (grid,) = pane.grids
    assert pane.columns.count == 32
    placed = {}
    for k, text in enumerate(grid.texts):
        if text:
            row, bank = divmod(k, 32)
            placed[text] = int(pane.rows.labels[row]) + 4 * bank
    assert placed == {f"T{lane}": 4 * 34 * lane for lane in range(32)}
    marked = {grid.texts[k] for k in grid.marked}
    assert marked == {f"T{lane}" for lane in range(32) if 34 * lane % 32 == 0}
    for form in (rl.draw(found).svg(), rl.draw(found).html(), rl.draw(found).tikz(), rl.draw(found).ansi()):
        assert "T31" in form
    assert "T31" in found._repr_html_()


def test_the_picture_of_many_phases_shows_the_worst() -> None:
    rows = [(lane % 16, 8 * (lane // 16)) for lane in range(64)]
    found = rl.banks(rl.Layout.row_major(64, 64), rows, "float16", "ds_read_b128", "gfx942")
    scene = rl.draw(found).scene()
    assert len(scene.panes) == 4
    assert "4 of 8 phases are not drawn." in scene.notes
    shared = rl.draw(rl.banks(TILE, [(0, 0)] * 32, "float32", "ld.shared.b32"))
    assert "T0 +31" in shared.text()
    with pytest.raises(ShapeError, match="drawn without"):
        rl.draw(found, view="memory")


def test_the_picture_of_sectors_shows_what_is_wasted() -> None:
    found = rl.sectors(rl.Layout((32, 32), (48, 1)), [(lane, 0) for lane in range(8)], "float32", base=16)
    (pane,) = rl.draw(found).scene().panes
    (grid,) = pane.grids
    placed = {}
    for k, text in enumerate(grid.texts):
        row, column = divmod(k, 32)
        byte = int(pane.rows.labels[row]) + 4 * column
        if text:
            placed[text] = byte
        sector_moves = any(byte // 32 == (16 + 4 * 48 * lane) // 32 for lane in range(8))
        assert (grid.tints[k] == PADDING) == (sector_moves and not text)
    assert placed == {f"T{lane}": 16 + 4 * 48 * lane for lane in range(8)}
    assert "nobody wants it" in rl.draw(found).svg()
    assert "nobody wants it" in found._repr_html_()
    everything = rl.draw(rl.sectors(rl.Layout(32), rl.Layout(32), "float32"))
    assert not everything.scene().legend
    assert "every lane is off" in rl.draw(rl.sectors(rl.Layout(32), [None] * 32, "float32")).text()


@pytest.mark.parametrize(
    "access",
    ["ld.global.v4.f32", "ld.global.nc.L1::no_allocate.L2::128B.v4.b32", "ld.relaxed.gpu.global.L1::evict_last.v2.f64"],
)
def test_accesses_to_global_memory_are_spelled_as_in_ptx(access: str) -> None:
    found = rl.sectors(rl.Layout(128), rl.Layout((32, 4), (4, 1)), "float32", access=access)
    assert (found.width, found.sectors) == (16, 16)
