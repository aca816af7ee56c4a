"""Advice on layouts of shared memory, held against counts, spaces and bounds that these tests enumerate themselves."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout import Layout, Swizzle
from relayout.ask.advising.demand import Demand, widest_vectors
from relayout.ask.advising.xor_search import MatrixSearch, swizzle_chain
from relayout.hardware.registry import architecture_named

GFX942_B128 = [
    [*range(4), *range(20, 24)],
    [*range(32, 36), *range(52, 56)],
    [*range(4, 8), *range(16, 20)],
    [*range(36, 40), *range(48, 52)],
    [*range(8, 12), *range(28, 32)],
    [*range(40, 44), *range(60, 64)],
    [*range(12, 16), *range(24, 28)],
    [*range(44, 48), *range(56, 60)],
]
"""As measured by amd-shark-ai."""


def phases(instruction: str, arch: str, addresses: list[int]) -> list[list[int]]:
    """The lanes that are served together, by the tables of measurements."""
    if arch == "gfx942":
        size = {"b32": 32, "b64": 16, "b128": 8}[instruction.rpartition("_")[2]]
        if instruction == "ds_read_b128":
            return GFX942_B128
        return [list(range(k, k + size)) for k in range(0, 64, size)]
    width = 16 if "matrix" in instruction else int(instruction.rpartition("b")[2]) // 8
    size = 8 if "matrix" in instruction else min(32, 128 // width)
    if instruction.startswith("ld.") and size < 32:
        for apart in (1, 2):
            if all(addresses[t] == addresses[t ^ apart] for t in range(32)):
                size *= 2
                break
    return [list(range(k, k + size)) for k in range(0, 32, size)]


def brute(layout: Any, threads: Layout, bits: int, instruction: str, arch: str = "sm90") -> int | None:
    """The wavefronts, lane by lane and word by word; None where a vector does not lie together and aligned."""
    width = 16 if "matrix" in instruction else int(instruction.rpartition("b")[2]) // 8
    lanes, vector = 64 if arch == "gfx942" else 32, 8 * width // bits
    count, values = threads.extents
    total = 0
    for warp in range(0, count, lanes):
        for value in range(0, values, vector):
            addresses = []
            for t in range(lanes):
                places = [layout(int(threads(warp + t, value + k))) for k in range(vector)]
                if places != list(range(places[0], places[0] + vector)) or places[0] * bits // 8 % width:
                    return None
                addresses.append(places[0] * bits // 8)
            for phase in phases(instruction, arch, addresses):
                words: dict[int, set[int]] = {}
                for t in phase:
                    for word in range(addresses[t] // 4, -(-(addresses[t] + width) // 4)):
                        words.setdefault(word % 32, set()).add(word)
                total += max(map(len, words.values()))
    return total


# Threads over a tile of R rows and C columns, whose element (r, c) has the number r + R*c.


def along_rows(rows: int, columns: int, vector: int, lanes: int = 32) -> Layout:
    """Lanes take vectors along a row, row after row."""
    across = columns // vector
    if across >= lanes:
        return Layout((lanes, (vector, across // lanes, rows)), (vector * rows, (rows, vector * rows * lanes, 1)))
    deep = lanes // across
    return Layout(((across, deep), (vector, rows // deep)), ((vector * rows, 1), (rows, deep)))


def along_columns(rows: int, columns: int, vector: int, lanes: int = 32) -> Layout:
    """Lanes take vectors of a row each, one row below the other."""
    across = columns // vector
    if rows >= lanes:
        return Layout((lanes, (vector, rows // lanes, across)), (1, (rows, lanes, vector * rows)))
    wide = lanes // rows
    return Layout(((rows, wide), (vector, across // wide)), ((1, vector * rows), (rows, wide * vector * rows)))


def in_blocks(rows: int, columns: int, tall: int, wide: int) -> Layout:
    """Lanes take a block of single elements, column by column of it."""
    counts = rows // tall, columns // wide
    return Layout(((tall, wide), (1, *counts)), ((1, rows), (0, tall, wide * rows)))


def test_a_transpose_needs_five_bits_or_a_column() -> None:
    """The two answers that everybody writes for a tile of 32 x 32 words."""
    accesses = [("st.shared.b32", along_rows(32, 32, 1)), ("ld.shared.b32", along_columns(32, 32, 1))]
    advice = rl.advise((32, 32), "float32", accesses)
    assert advice.layout == Layout((32, 32), (32, 1), swizzle=Swizzle(5, 0, 5))
    assert (advice.wavefronts, advice.bytes, advice.proof) == (64, 4096, "bound")
    best = {other.kind: other for other in advice.alternatives}
    assert best["padding"].layout == Layout((32, 32), (33, 1))
    assert best["padding"].bytes == 32 * 33 * 4
    assert best["none"].wavefronts == 32 + 32 * 32
    assert [(row.wavefronts, row.ideal, row.bare) for row in advice.rows] == [(32, 32, 32), (32, 32, 1024)]


@pytest.mark.parametrize("rows", [64, 128])
def test_tiles_of_64_halves_are_swizzled_as_everywhere(rows: int) -> None:
    """128-byte rows under ldmatrix: CUTLASS's Swizzle<3,3,3>, the 128-byte mode of TMA."""
    accesses = [("cp.async.b128", along_rows(rows, 64, 8)), ("ldmatrix.x4", along_columns(rows, 64, 8))]
    advice = rl.advise((rows, 64), "float16", accesses)
    assert advice.layout == Layout((rows, 64), (64, 1), swizzle=Swizzle(3, 3, 3))
    assert advice.wavefronts == advice.ideal == 2 * rows * 64 * 2 // 128
    assert {other.kind: other.words for other in advice.alternatives}["padding"] == "rows padded by 8"


@pytest.mark.parametrize(("columns", "swizzle"), [(32, Swizzle(2, 3, 3)), (16, Swizzle(1, 3, 3))])
def test_narrower_tiles_have_the_narrower_swizzles(columns: int, swizzle: Swizzle) -> None:
    """TMA's 64-byte and 32-byte modes; a smaller shift serves as well, and costs as much."""
    accesses = [("cp.async.b128", along_rows(64, columns, 8)), ("ldmatrix.x4", along_columns(64, columns, 8))]
    advice = rl.advise((64, columns), "float16", accesses)
    theirs = Layout((64, columns), (columns, 1), swizzle=swizzle)
    cost = [brute(theirs, threads, 16, name.replace("cp.async", "st.shared")) for name, threads in accesses]
    assert advice.wavefronts == sum(x for x in cost if x is not None) == advice.ideal
    assert isinstance(advice.layout, Layout)
    assert advice.layout.swizzle is not None
    assert advice.layout.swizzle.bits == swizzle.bits


def test_a_tile_of_columns_read_transposed() -> None:
    """NVIDIA/cutlass#3172: 128 x 32 halves, column-major, read by ldmatrix.x4.trans.

    A lane gives a column of eight halves. Swizzle<3,3,4> adds bits 7 to 9, the low bits of the column's number, to
    those that choose a bank: that has no conflict.
    """
    rows, columns = 128, 32
    threads = Layout((32, (8, rows // 8)), (rows, (1, 8)))
    advice = rl.advise((rows, columns), "float16", [("ldmatrix.x4.trans", threads)])
    assert advice.wavefronts == advice.ideal == rows * columns * 2 // 128
    theirs = Layout((rows, columns), (1, rows), swizzle=Swizzle(3, 3, 4))
    assert brute(theirs, threads, 16, "ldmatrix.x4.trans") == advice.wavefronts
    assert brute(theirs.with_swizzle(None), threads, 16, "ldmatrix.x4.trans") == 8 * advice.wavefronts
    assert advice.layout == theirs.with_swizzle(Swizzle(3, 3, 4))


# ---- never worse than what the test enumerates -----------------------------------------------------------


SHAPES = [(16, 16), (8, 32), (32, 8), (16, 32), (24, 16), (16, 20), (12, 24)]


def some_accesses(rng: random.Random, rows: int, columns: int, bits: int) -> list[tuple[str, Layout]]:
    """One to four accesses of a tile: along rows, along columns, in blocks, with any width that fits."""
    found: list[tuple[str, Layout]] = []
    while len(found) < rng.randint(1, 4):
        width = rng.choice([bits, 32, 64, 128])
        vector = max(1, width // bits)
        ways: list[Callable[[], Layout]] = [
            lambda vector=vector: along_rows(rows, columns, vector),
            lambda vector=vector: along_columns(rows, columns, vector),
        ]
        if vector == 1:
            ways += [lambda: in_blocks(rows, columns, 8, 4), lambda: in_blocks(rows, columns, 4, 8)]
        threads = rng.choice(ways)()
        numbers = threads.offsets()
        whole = numbers.shape[0] == 32 and len(np.unique(numbers)) == numbers.size <= rows * columns
        if whole and numbers.max() < rows * columns:
            found.append((f"{rng.choice(['ld', 'st'])}.shared.b{vector * bits}", threads))
    return found


def small_space(rows: int, columns: int, vector: int, bits: int) -> Iterator[tuple[int, Any]]:
    """Layouts with their bytes: both orders, every padding, and every swizzle over bits of the tile."""
    for order in ("rows", "columns"):
        across, down = (columns, rows) if order == "rows" else (rows, columns)
        for pitch in range(across, across + 40):
            stride = (pitch, 1) if order == "rows" else (1, pitch)
            yield pitch * down * bits // 8, Layout((rows, columns), stride)
        stride = (columns, 1) if order == "rows" else (1, rows)
        top, low = (rows * columns - 1).bit_length(), vector.bit_length() - 1
        for first, more, shift in itertools.product(range(low, top), range(1, top), range(-top, top)):
            if more <= abs(shift) and first + more + abs(shift) <= top:
                layout = Layout((rows, columns), stride, swizzle=Swizzle(more, first, shift))
                yield max(rows * columns, layout.max_offset + 1) * bits // 8, layout


@pytest.mark.parametrize("seed", range(12))
def test_nothing_in_a_small_space_is_better(seed: int) -> None:
    rng = random.Random(seed)
    rows, columns = rng.choice(SHAPES)
    bits = rng.choice([16, 32])
    accesses = some_accesses(rng, rows, columns, bits)
    try:
        advice = rl.advise((rows, columns), f"float{bits}", accesses)
    except rl.NotExpressible:
        advice = None
    vector = max(int(name.rpartition("b")[2]) // bits for name, _ in accesses)
    space = list(small_space(rows, columns, vector, bits))
    for size, layout in [*rng.sample(space, 60), *space[:2], *space[40:44]]:
        counts = [brute(layout, threads, bits, name) for name, threads in accesses]
        if any(count is None for count in counts):
            continue
        assert advice is not None
        assert (advice.wavefronts, advice.bytes) <= (sum(x for x in counts if x is not None), size)
    if advice is not None:
        assert [row.wavefronts for row in advice.rows] == [brute(advice.layout, t, bits, n) for n, t in accesses]
        assert advice.least <= advice.wavefronts
        assert advice.ideal <= advice.least
        offsets = advice.layout.offsets()
        assert len(np.unique(offsets)) == rows * columns
        assert (offsets.max() + 1) * bits // 8 <= advice.bytes


def test_an_xor_matrix_where_no_swizzle_and_no_padding_serves() -> None:
    """Rows, columns, two kinds of blocks and all diagonals by XOR: five subspaces with one complement."""
    diagonals = [[(r, r ^ k) for k in range(32)] for r in range(32)]
    blocks = in_blocks(32, 32, 8, 4), in_blocks(32, 32, 4, 8)
    reads = [along_columns(32, 32, 1), *blocks]
    accesses: list[Any] = [("st.shared.b32", along_rows(32, 32, 1)), *[("ld.shared.b32", threads) for threads in reads]]
    accesses += [("ld.shared.b32", diagonals)]
    advice = rl.advise((32, 32), "float32", accesses)
    assert advice.best.kind == "xor"
    assert advice.wavefronts == advice.ideal == 5 * 32
    assert advice.bytes == 4096
    for name, threads in accesses[:-1]:
        assert brute(advice.layout, threads, 32, name) == 32
    for k in range(32):
        assert len({advice.layout(r, r ^ k) % 32 for r in range(32)}) == 32
    others = {other.kind: other.wavefronts for other in advice.alternatives}
    assert min(others["swizzle"], others["padding"]) > advice.wavefronts


def test_every_matrix_of_a_small_tile() -> None:
    """8 x 16 words with vectors of 16 bytes: three bits choose a bank, two are above them, so there are 64 matrices."""
    shape = 8, 16
    wide = ("ld.shared.b128", along_rows(*shape, 4))
    narrow = [in_blocks(*shape, tall, 32 // tall) for tall in (2, 4, 8)] + [along_rows(*shape, 1)]
    for chosen in itertools.combinations(narrow, 2):
        accesses = [wide, *[("ld.shared.b32", threads) for threads in chosen]]
        advice = rl.advise(shape, "float32", accesses, budget=8 * 16 * 4)
        assert advice.proof in ("bound", "exhaustive")
        for columns in itertools.product(range(0, 32, 4), repeat=2):

            def moved(number: int, columns: tuple[int, ...] = columns) -> int:
                place = number % 8 * 16 + number // 8
                return place ^ columns[0] * (place >> 5 & 1) ^ columns[1] * (place >> 6)

            counts = [brute(moved, threads, 32, name) for name, threads in accesses]
            assert advice.wavefronts <= sum(count for count in counts if count is not None)


def test_a_search_that_is_given_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relayout.ask.advising.xor_search.WORK_LIMIT", 1)
    rng = random.Random(0)
    shuffled = rng.sample([(r, c) for r in range(32) for c in range(32)], 1024)
    lanes = [shuffled[32 * k : 32 * k + 32] for k in range(32)]
    advice = rl.advise((32, 32), "float32", [("ld.shared.b32", lanes)])
    assert advice.proof == "undecided"
    assert "may be" in str(advice)
    assert "given up" in str(advice)
    assert advice.wavefronts > advice.least


def test_rows_padded_to_a_power_of_two_and_swizzled() -> None:
    """Rows of 20 halves: padded to 32, a chain of swizzles serves where no padding alone does."""
    wide = Layout(((2, 16), 8), ((128, 1), 16))
    narrow = Layout(((16, 2), 10), ((1, 16), 32))
    accesses = [("ld.shared.b128", wide), ("st.shared.b16", narrow)]
    advice = rl.advise((16, 20), "float16", accesses)
    assert (advice.best.kind, advice.wavefronts, advice.bytes) == ("xor", 24, 16 * 32 * 2)
    assert sum(brute(advice.layout, threads, 16, name) or 0 for name, threads in accesses) == 24
    for pitch in range(24, 96, 8):
        layout = Layout((16, 20), (pitch, 1))
        assert sum(brute(layout, threads, 16, name) or 0 for name, threads in accesses) >= 28


@pytest.mark.parametrize("seed", range(20))
def test_branch_and_bound_finds_what_all_matrices_have(seed: int) -> None:
    """Eight banks, the low bit of a word kept: all matrices of three columns are 64."""
    rng = random.Random(seed)
    low, high, top = 1, 3, 6
    patterns = []
    for _ in range(rng.randint(1, 4)):
        words = {0, *rng.sample(range(1 << top), rng.randint(2, 12))}
        patterns.append((np.array(sorted(words)), rng.randint(1, 3)))

    def cost(columns: tuple[int, ...]) -> int:
        total = 0
        for words, weight in patterns:
            banks: dict[int, int] = {}
            for word in words.tolist():
                bank = word & 7
                for k, column in enumerate(columns):
                    bank ^= column * (word >> high + k & 1)
                banks[bank] = banks.get(bank, 0) + 1
            total += weight * max(banks.values())
        return total

    best = min(cost(columns) for columns in itertools.product((0, 2, 4, 6), repeat=top - high))
    found = MatrixSearch(patterns, low, high, 10**9).run()
    assert found.columns is not None
    assert found.exhausted
    assert cost(found.columns) == found.best == best
    assert MatrixSearch(patterns, low, high, best).run().columns is None
    moved = np.arange(64)
    for swizzle in swizzle_chain(found.columns, high, 0):
        moved = swizzle(moved)
    for word, place in enumerate(moved.tolist()):
        wanted = word
        for k, column in enumerate(found.columns):
            wanted ^= column * (word >> high + k & 1)
        assert place == wanted


@pytest.mark.parametrize("seed", range(8))
def test_no_placement_of_vectors_is_below_the_bound(seed: int) -> None:
    """Five vectors of 16 bytes anywhere in six places, two of which are in the same banks."""
    rng = random.Random(seed)
    arch = architecture_named("sm90")
    wide = np.full((1, 32, 4), -1)
    wide[0, :5] = np.arange(20).reshape(5, 4)
    narrow = np.full((1, 32, 1), -1)
    chosen = rng.sample(range(20), rng.randint(4, 20))
    narrow[0, : len(chosen), 0] = [4 * (x // 4) for x in chosen] if seed % 2 else chosen
    demands = [
        Demand(arch.access("cp.async.b128"), arch, wide, 32),
        Demand(arch.access("ld.shared.b32"), arch, narrow, 32),
    ]
    vectors = widest_vectors(demands, 20)
    least = [demand.least(vectors) for demand in demands]
    for places in itertools.permutations([0, 1, 2, 3, 4, 9], 5):
        offsets = (np.array(places)[:, None] * 4 + np.arange(4)).ravel()
        for demand, bound in zip(demands, least):
            count = demand.wavefronts(offsets)
            assert count is not None
            assert count >= bound >= demand.ideal


def brute_lanes(layout: Any, lanes: list[tuple[int, int] | None], instruction: str) -> int:
    """The wavefronts of one instruction on words, lanes that are off (None) included, as measured on an H200.

    A lane that is off pairs with any; wide loads take a wavefront for each phase also where a phase is off; atomics
    serve lanes at one word one after another.
    """
    width = int(instruction.rpartition("b")[2]) // 8
    addresses = [None if lane is None else 4 * layout(*lane) for lane in lanes]
    size = min(32, 128 // width)
    if size < 32:
        for apart in (1, 2):
            partners = [{addresses[t], addresses[t ^ apart]} - {None} for t in range(32)]
            if all(len(pair) < 2 for pair in partners):
                size *= 2
                break
    counts = []
    for first in range(0, 32, size):
        banks: dict[int, list[int]] = {}
        for address in addresses[first : first + size]:
            for word in [] if address is None else range(address // 4, (address + width) // 4):
                banks.setdefault(word % 32, []).append(word)
        alone = instruction.startswith("atom")
        counts.append(max((len(words if alone else set(words)) for words in banks.values()), default=0))
    steady = len(counts) if width > 4 else 0
    return max(sum(counts), steady)


@pytest.mark.parametrize("seed", range(12))
def test_lanes_that_are_off_or_share_words(seed: int) -> None:
    """Random lanes, some off, some at one place: counts, the bound, and layouts that the test draws."""
    rng = random.Random(seed)
    accesses: list[tuple[str, list[tuple[int, int] | None]]] = []
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(["ld.shared.b32", "ld.shared.b64", "ld.shared.b128", "atom.shared.b32"])
        vector = int(name.rpartition("b")[2]) // 32
        places = [(rng.randrange(16), vector * rng.randrange(16 // vector)) for _ in range(rng.randint(2, 32))]
        lanes = [None if rng.random() < 0.2 else rng.choice(places) for _ in range(32)]
        if seed % 3 == 0:
            lanes = [lanes[t & ~1] for t in range(32)]
        lanes[0] = places[0]
        accesses.append((name, lanes))
    advice = rl.advise((16, 16), "float32", accesses)
    assert [row.wavefronts for row in advice.rows] == [brute_lanes(advice.layout, t, n) for n, t in accesses]
    assert [int(report.ideal) for report in advice.banks] == [row.ideal for row in advice.rows]
    widest = max(int(name.rpartition("b")[2]) // 32 for name, _ in accesses)
    for _ in range(40):
        order = rng.sample(range(256 // widest), 256 // widest)

        def anywhere(r: int, c: int, order: list[int] = order) -> int:
            return order[(16 * r + c) // widest] * widest + c % widest

        assert sum(brute_lanes(anywhere, lanes, name) for name, lanes in accesses) >= advice.least
    for pitch in range(16, 60, widest):
        total = sum(brute_lanes(Layout((16, 16), (pitch, 1)), lanes, name) for name, lanes in accesses)
        assert total >= advice.wavefronts
    for more, first, shift in itertools.product(range(1, 5), range(widest.bit_length() - 1, 5), range(1, 7)):
        if more <= shift and first + more + shift <= 8:
            layout = Layout((16, 16), (16, 1), swizzle=Swizzle(more, first, shift))
            assert sum(brute_lanes(layout, lanes, name) for name, lanes in accesses) >= advice.wavefronts


# ---- budgets, weights, bad input -------------------------------------------------------------------------


TRANSPOSE = [("st.shared.b32", along_rows(32, 32, 1)), ("ld.shared.b32", along_columns(32, 32, 1))]


def test_a_budget_keeps_paddings_out() -> None:
    """33 x 33 words need no room at all; less of it never makes anything better."""
    accesses = [("st.shared.b32", "rows"), ("ld.shared.b32", "columns")]
    free = rl.advise((33, 33), "float32", accesses)
    tile = 33 * 33 * 4
    for budget in (tile, tile + 33 * 4, 2 * tile):
        advice = rl.advise((33, 33), "float32", accesses, budget=budget)
        assert advice.bytes <= budget
        assert advice.wavefronts >= free.wavefronts
        assert all(other.bytes <= budget for other in advice.alternatives)


def test_weights_decide_between_accesses() -> None:
    """Where not all can be served, the one that runs more often is."""
    rows, columns = 8, 32
    reads = [along_rows(rows, columns, 1), *[in_blocks(rows, columns, *block) for block in ((8, 4), (4, 8), (2, 16))]]
    spread = Layout((32, (1, 8)), (8, (0, 1)))
    for threads in [*reads, spread]:
        accesses = [("ld.shared.b32", other, 100 if other is threads else 1) for other in [*reads, spread]]
        advice = rl.advise((rows, columns), "float32", accesses)
        assert next(row for row in advice.rows if row.weight == 100).wavefronts == 8
        assert advice.wavefronts == sum(row.weight * row.wavefronts for row in advice.rows)


def test_advice_tells_itself() -> None:
    advice = rl.advise((32, 32), "float32", TRANSPOSE)
    told = str(advice)
    for word in ("Swizzle<5,0,5> over row-major", "rows padded by 1", "ld.shared.b32", "1024", "4224", "fewer than 64"):
        assert word in told
    assert repr(advice) == "<advice: Swizzle<5,0,5> over row-major, 64 wavefronts, 4096 bytes>"
    assert [int(report.wavefronts) for report in advice.banks] == [32, 32]
    documented = rl.advise((32, 64), "float16", [("cp.async.b128", "rows")], arch="sm80")
    assert documented.rows[0].known == "documented"
    assert "documented, not measured" in str(documented)


def test_the_same_question_has_the_same_answer() -> None:
    accesses = [("cp.async.b128", "rows"), ("ld.shared.b32", "columns"), ("ld.shared.b16", "columns")]
    first, second = (rl.advise((64, 64), "float16", accesses) for _ in range(2))
    assert str(first) == str(second)


@pytest.mark.parametrize("bits", [4, 8, 16, 32, 64])
def test_every_width_of_elements(bits: int) -> None:
    """A tile of 64 rows of 128 bytes, written along rows and read down columns of 16 bytes."""
    kind = {4: "int4", 8: "int8", 16: "bfloat16", 32: "float32", 64: "float64"}[bits]
    columns = 1024 // bits
    advice = rl.advise((64, columns), kind, [("st.shared.b128", "rows"), ("ld.shared.b128", "columns")])
    low = (128 // bits).bit_length() - 1
    assert advice.layout == Layout((64, columns), (columns, 1), swizzle=Swizzle(3, low, 3))
    assert advice.wavefronts == advice.ideal == 128


def test_mfma_tiles() -> None:
    """gfx942 serves ds_read_b128 in phases that are no runs of lanes; the judge has them as measured."""
    write, read = along_rows(64, 64, 8, 64), along_columns(64, 64, 8, 64)
    advice = rl.advise((64, 64), "float16", [("ds_write_b128", write), ("ds_read_b128", read)], arch="gfx942")
    assert brute(advice.layout, write, 16, "ds_write_b128", "gfx942") == advice.rows[0].wavefronts == 64
    assert brute(advice.layout, read, 16, "ds_read_b128", "gfx942") == advice.rows[1].wavefronts == 64


BAD: list[tuple[type[rl.LayoutError], str, dict[str, Any]]] = [
    (rl.ShapeError, "needs the accesses", {"accesses": []}),
    (rl.ShapeError, "needs the accesses", {"accesses": "ldmatrix.x4"}),
    (rl.ShapeError, "with its threads", {"accesses": ["ldmatrix.x4"]}),
    (rl.ShapeError, "weight 0", {"accesses": [("ld.shared.b32", "rows", 0)]}),
    (rl.ShapeError, "weight 1000001", {"accesses": [("ld.shared.b32", "rows", 1000001)]}),
    (rl.UnknownName, "'colums'", {"accesses": [("ld.shared.b32", "colums")]}),
    (rl.ShapeError, "no integer|integer", {"accesses": [("ld.shared.b32", "rows", 1.5)]}),
    (rl.LayoutError, "ldmatrix.x3", {"accesses": [("ldmatrix.x3", "rows")]}),
    (rl.LayoutError, "sm91", {"arch": "sm91"}),
    (rl.ShapeError, "below the 4096 bytes", {"budget": 4095}),
    (rl.OutOfBounds, "outside the tile", {"accesses": [("ld.shared.b32", Layout((32, 32), (32, 2)))]}),
    (rl.OutOfBounds, "outside the tile", {"accesses": [("ld.shared.b32", [(32, 0)] * 32)]}),
    (rl.ShapeError, "do not fill", {"accesses": [("ld.shared.b128", Layout((32, 3), (1, 32)))]}),
    (rl.ShapeError, "do not fill", {"accesses": [("ld.shared.b16", "rows")]}),
    (rl.NotExpressible, "no order", {"accesses": [("ld.shared.b128", Layout((32, 4), (1, 33)))]}),
    (
        rl.NotExpressible,
        "no order",
        {"accesses": [("ld.shared.b64", "rows"), ("ld.shared.b64", Layout((32, (2, 16)), (32, (1, 2))))]},
    ),
    (rl.Overlap, "twice", {"accesses": [("st.shared.b32", Layout((32, 2), (1, 0)))]}),
    (rl.ShapeError, "no shape", {"shape": ()}),
    (rl.ShapeError, "no shape", {"shape": (0, 32)}),
    (rl.LimitExceeded, "more than the", {"shape": (2048, 1024)}),
    (rl.LimitExceeded, "dimensions", {"shape": (2, 2, 2, 2, 64)}),
    (rl.ShapeError, "no element type", {"element": "half"}),
]


@pytest.mark.parametrize(("error", "words", "change"), BAD)
def test_what_is_wrong_is_told(error: type[rl.LayoutError], words: str, change: dict[str, Any]) -> None:
    right: dict[str, Any] = {"shape": (32, 32), "element": "float32", "accesses": TRANSPOSE}
    with pytest.raises(error, match=words) as refused:
        rl.advise(**(right | change))
    assert refused.value.hint


def test_a_budget_without_room_to_align() -> None:
    """Rows of 12 bytes have to be padded to 16; a budget of the bare tile leaves no room for that."""
    accesses = [("ld.shared.b64", [(lane, 0) for lane in range(32)])]
    advice = rl.advise((32, 3), "float32", accesses)
    assert "none" not in [other.kind for other in advice.alternatives]
    assert advice.rows[0].bare is None
    assert isinstance(advice.layout, Layout)
    assert advice.layout.stride[0] % 2 == 0
    with pytest.raises(rl.NotExpressible, match="within 384 bytes"):
        rl.advise((32, 3), "float32", accesses, budget=32 * 3 * 4)


@pytest.mark.parametrize("seed", range(10))
def test_what_is_counted_in_classes_is_what_banks_counts(seed: int) -> None:
    """Any shape, element and machine: the best of every family costs what ``rl.banks`` counts, lane by lane."""
    rng = random.Random(seed)
    machines = {
        "sm90": ["ld.shared.b16", "ld.shared.b32", "ld.shared.b64", "ld.shared.b128", "ldmatrix.x2", "cp.async.16"],
        "gfx942": ["ds_read_b32", "ds_read_b64", "ds_read_b128", "ds_write_b64", "ds_write_b128"],
        "gfx950": ["ds_read_b32", "ds_read_b64", "ds_read_b128"],
        "gfx1100": ["ds_read_b32", "ds_read_b64", "ds_read_b128"],
    }
    asked = 0
    while asked < 4:
        arch = rng.choice(list(machines))
        shape = tuple([rng.choice([1, 2, 3, 8, 12, 16, 17, 32]) for _ in range(rng.randint(1, 3))])
        element = rng.choice(["int4", "int8", "float16", "float32", "float64"])
        words = [rng.choice(["rows", "columns"]) for _ in range(rng.randint(1, 3))]
        accesses = [(rng.choice(machines[arch]), word, rng.randint(1, 3)) for word in words]
        try:
            advice = rl.advise(shape, element, accesses, arch=arch)
        except rl.ShapeError:
            continue
        asked += 1
        for other in advice.alternatives:
            reports = [rl.banks(other.layout, word, element, name, arch) for name, word, _ in accesses]
            assert tuple(int(report.wavefronts) for report in reports) == other.rows
            assert [report.ideal for report in reports] == [row.ideal for row in advice.rows]
            offsets = other.layout.offsets()
            assert len(np.unique(offsets)) == offsets.size
            assert (offsets.max() + 1) * advice.element.bits <= 8 * other.bytes


def test_threads_of_tritons_layouts() -> None:
    """A ``LinearLayout`` from (register, lane) to the tile: what Triton prints for a blocked layout."""
    columns = rl.LinearLayout(
        {"register": [(0, 1), (0, 2), (0, 4)], "lane": [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]},
        {"row": 32, "column": 8},
    )
    rows = along_rows(32, 8, 1)
    advice = rl.advise((32, 8), "float32", [("st.shared.b32", rows), ("ld.shared.b128", columns)])
    assert brute(advice.layout, rows, 32, "st.shared.b32") == advice.rows[0].wavefronts
    assert brute(advice.layout, Layout((32, 8), (1, 32)), 32, "ld.shared.b128") == advice.rows[1].wavefronts
    assert advice.wavefronts == advice.ideal


def test_swizzles_may_break_runs_that_no_access_takes() -> None:
    """Loads of 16 bytes from two rows, and of 8 from every one: Swizzle<3,2,4> breaks 16 bytes in other rows only."""
    few = [[(lane % 2, 8 * (lane // 2) % 32 + k) for k in range(8)] for lane in range(32)]
    accesses = [("ds_read_b128", few), ("ds_read_b64", "columns")]
    swizzle = rl.Layout((16, 32), (32, 1)).with_swizzle(rl.Swizzle(3, 2, 4))
    counts = [int(rl.banks(swizzle, threads, "float16", name, "gfx1201").wavefronts) for name, threads in accesses]
    found = rl.advise((16, 32), "float16", accesses, arch="gfx1201")
    assert found.wavefronts <= sum(counts) == 12
    named = rl.advise((16, 32), "float16", [("ds_read_b128", [few[0][:1]] * 32), accesses[1]], arch="gfx1201")
    assert sum(int(found.wavefronts) for found in named.banks) == named.wavefronts
