"""Atoms tiled over threads and values, against an enumeration of what a TiledMMA means and against what CuTe prints."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

import relayout as rl

SIDES = {"A": (0, 2), "B": (1, 2), "C": (0, 1), "D": (0, 1)}
NAME = "mma.m16n8k16.f32.f16.f16.f32"
VECTORS = Path(__file__).parent / "cute_vectors"


def whereabouts(atom: Any, grid: rl.Layout, permutation: Any, which: str) -> dict[tuple[int, int], tuple[int, ...]]:
    """(thread, value) to the coordinate in the tile, one atom at a time.

    Atoms are counted along m, n and k; after all that the grid has come further ones, of the same threads. The order of
    values is that of the atom's own, then of the further ones along the first side, then along the second.
    """
    operand, sides = atom.operand(which), SIDES[which]
    counts = grid.extents
    reach = [n * c for n, c in zip(atom.shape, counts)]
    orders = [n if p is None else p for n, p in zip(reach, permutation)]
    orders = [(lambda x: x, p) if isinstance(p, int) else (p, p.size) for p in orders]
    rests = [orders[d][1] // reach[d] for d in sides]
    lanes = atom.lanes or rl.Layout(atom.threads)
    found = {}
    for at in product(*map(range, counts)):
        number = grid(*at)
        for t, v in product(*map(range, operand.layout.extents)):
            thread = thread_of(atom, number, lanes(t))
            inside = operand.coordinate(t, v)
            for further in product(*map(range, rests)):
                whole = []
                for side, d in enumerate(sides):
                    index = inside[side] + atom.shape[d] * (at[d] + counts[d] * further[side])
                    whole.append(orders[d][0](index))
                value = v + operand.layout.extents[1] * (further[0] + rests[0] * further[1])
                found[thread, value] = tuple(whole)
    return found


def thread_of(atom: Any, number: int, lane: int) -> int:
    """The thread of an atom's lane: whole warps follow each other, quad pairs fill a warp first."""
    if atom.threads == 8:
        return lane + 4 * (number % 4) + 32 * (number // 4)
    return lane + atom.threads * number


CASES = [
    (NAME, (1, 1, 1), (None, None, None)),
    (NAME, (2, 2, 1), (None, None, None)),
    (NAME, (2, 2), (None, 32, None)),
    (NAME, rl.Layout((2, 2, 1), (2, 1, 4)), (64, 32, 32)),
    (NAME, (1, 4, 2), (32, rl.Layout((8, 4), (4, 1)), None)),
    (NAME, (2, 1, 1), (None, rl.Layout((2, 4, 2), (1, 4, 2)), None)),
    ("mma.m16n8k8.f32.tf32.tf32.f32", (4,), (None, 16, rl.Layout((2, 4), (4, 1)))),
    ("mma.m8n8k4.col.row.f32.f16.f16.f32", rl.Layout((2, 2), (2, 1)), (rl.Layout((4, 4, 2), (1, 8, 4)), 32, 4)),
    ("mma.m8n8k4.f32.f16.f16.f16", (4, 4), (None, None, None)),
    ("mma.m8n8k4.f64.f64.f64.f64", (2, 4), (rl.Layout((2, 8), (8, 1)), None, 16)),
    ("wgmma.m64n16k16.f32.f16.f16", (2,), (None, 32, 32)),
]


@pytest.mark.parametrize(("name", "grid", "permutation"), CASES)
def test_every_value_of_every_thread_is_where_its_atom_has_it(name, grid, permutation):
    atom, tile = rl.atoms[name], rl.tile_mma(name, grid, permutation)
    layout = grid if isinstance(grid, rl.Layout) else rl.Layout(grid)
    for _ in range(3 - layout.rank):
        layout = rl.append(layout, rl.Layout(1, 0))
    for which in "ABCD":
        operand = tile.operand(which)
        if operand.where == "shared memory":
            assert operand.layout == rl.Layout((tile.threads, operand.layout.shape[1]), (0, operand.layout.stride[1]))
            continue
        want = whereabouts(atom, layout, permutation, which)
        assert set(want) == set(product(*map(range, operand.layout.extents)))
        assert all(operand.coordinate(*key) == place for key, place in want.items()), which


def test_the_values_of_cutes_documentation():
    """The example of its page on MMA atoms: T0's values of A before and after the permutation of m."""
    quads = rl.Layout((2, 2), (2, 1))
    plain = rl.tile_mma("mma.m8n8k4.col.row.f32.f16.f16.f32", quads, (32, 32, 4))
    rows = [0, 1, 2, 3, 16, 17, 18, 19]
    assert [plain.operand("A").coordinate(0, v) for v in range(8)] == [(row, 0) for row in rows]
    order = rl.Layout((4, 4, 2), (1, 8, 4))
    permuted = rl.tile_mma("mma.m8n8k4.col.row.f32.f16.f16.f32", quads, (order, 32, 4))
    assert [permuted.operand("A").coordinate(0, v) for v in range(8)] == [(row, 0) for row in range(8)]


def printed(text: str) -> Any:
    """A layout as CuTe prints it; one trait of 1-bit elements nests a stride once more than its shape."""
    return rl.parse(text.replace("((_16,_8))", "(_16,_8)").replace("_", ""))


def same_function(a: rl.Layout, b: rl.Layout) -> bool:
    return a.size == b.size and a.extents == b.extents and bool(rl.compare(a, b))


def test_atoms_are_as_cutes_traits_print_them():
    """``atoms.txt``: ALayout, BLayout and CLayout of every trait that has PTX's name."""
    lines = [line.split("\t") for line in (VECTORS / "atoms.txt").read_text().splitlines()]
    assert len(lines) == 77
    for name, *texts in lines:
        for which, text in zip("ABC", texts):
            assert same_function(rl.atoms[name].operand(which).layout, printed(text)), (name, which)


def test_tiles_are_as_cutes_tiled_mma_prints_them():
    """``tiles.txt``: get_layoutA_TV, B and C of a TiledMMA, with the layout of its atoms and its permutations.

    Atoms along k add to the same C, as partition_C has it; get_layoutC_TV runs on past the tile there.
    """
    lines = [line.split("\t") for line in (VECTORS / "tiles.txt").read_text().splitlines()]
    assert len(lines) == 11
    for what, *texts in lines:
        name, grid, orders = what.split(" | ")
        given = [None if x == "_" else int(x) if x.isdigit() else rl.parse(x) for x in orders.split()]
        tile = rl.tile_mma(name, rl.parse(grid), tuple(given))
        for which, text in zip("ABC" if rl.parse(grid).extents[2] == 1 else "AB", texts):
            assert same_function(tile.operand(which).layout, printed(text)), (what, which)


def test_scales_follow_their_rows():
    name = "mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    tile = rl.tile_mma(name, (2, 2), (None, None, 128))
    assert tile.operand("SFA").tile == (32, 8)
    for thread, value in product(range(128), range(8)):
        warp, lane = divmod(thread, 32)
        row = 16 * (warp % 2) + lane // 4 + 8 * (lane % 2)
        assert tile.operand("SFA").coordinate(thread, value) == (row, value)
        assert tile.operand("SFB").coordinate(thread, value) == (8 * (warp // 2) + lane // 4, value)
    with pytest.raises(rl.NotExpressible, match="parts them"):
        rl.tile_mma(name, (1, 1), (None, None, rl.Layout((2, 32), (32, 1))))


def test_what_is_kept_of_a_sparse_a_follows_its_rows():
    tile = rl.tile_mma("v_smfmac_f32_32x32x16_f16", (2,), (None, None, 32))
    assert (tile.shape, tile.operand("A").tile, tile.operand("E").tile) == ((64, 32, 32), (64, 16), (64, 16))
    for thread, value in product(range(128), range(8)):
        row = 32 * (thread // 64) + thread % 32
        kept = value % 4 + 4 * (thread % 64 // 32) + 8 * (value // 4)
        assert tile.operand("A").coordinate(thread, value) == tile.operand("E").coordinate(thread, value) == (row, kept)


def test_threads_with_holes_have_lanes():
    one = rl.tile_mma("mma.m8n8k4.f32.f16.f16.f32")
    assert [one.lanes(t) for t in range(8)] == [0, 1, 2, 3, 16, 17, 18, 19]
    apart = rl.tile_mma(NAME, rl.Layout((2,), (2,)))
    assert (apart.threads, apart.lanes(31), apart.lanes(32)) == (64, 31, 64)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("mma.m16n8k16", (1, 1, 1)), rl.UnknownName, "near it are"),
        ((5,), rl.UnknownName, "no atom named 5"),
        ((NAME, rl.Layout((2, 2), (1, 2), swizzle=(1, 0, 1))), rl.ShapeError, "does not deal atoms"),
        ((NAME, "(2,2)"), rl.ShapeError, "must be an integer"),
        ((NAME, (1, 1), (rl.Layout((3, 16), (16, 1)), None, None)), rl.NotExpressible, "no layout is"),
        ((NAME, (1, 1, 1, 1)), rl.ShapeError, "does not deal atoms"),
        ((NAME, (0, 1, 1)), rl.ShapeError, "does not deal atoms"),
        ((NAME, rl.Layout((2, 2), (1, 1))), rl.ShapeError, "does not deal atoms"),
        ((NAME, (2, 2), (None, None)), rl.ShapeError, "an entry for m, n and k"),
        ((NAME, (2, 2), (48, None, None)), rl.ShapeError, "no multiple of the 32"),
        ((NAME, (2, 2), (0, None, None)), rl.ShapeError, "no multiple of the 32"),
        ((NAME, (2, 2), (rl.Layout((16, 2), (1, 32)), None, None)), rl.ShapeError, "does not reach every one"),
        ((NAME, (2, 2), (rl.Layout(32, 0), None, None)), rl.ShapeError, "does not reach every one"),
        (("ldmatrix.x4",), rl.NotExpressible, "no product of matrices"),
        (("tcgen05.mma.cta_group::1.kind::f16.m128n16k16",), rl.NotExpressible, "lanes of tensor memory"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        rl.tile_mma(*arguments)
