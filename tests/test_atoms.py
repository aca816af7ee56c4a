"""The atoms: the registry, and every layout of NVIDIA's against formulas that are written here on their own.

The formulas are those of the PTX ISA (``groupID = lane >> 2`` and so on), of Triton's recorded layouts
(``ttg_vectors/operands.txt``) and of CUTLASS's traits. ``gpu_checks.py`` runs the instructions on a device.
"""

from __future__ import annotations

from importlib import import_module
from itertools import product

import pytest

import relayout as rl
from relayout.hardware import Atom, Operand, tma_box
from relayout.hardware import atoms as registry
from relayout.hardware.atom import check_atom
from relayout.testing import ConformanceError, conformance
from triton_vectors import vectors

PER_REGISTER = {"f64": 1, "tf32": 1, "f16": 2, "bf16": 2, "s4": 8, "u4": 8, "b1": 32}
"""How many elements of a type PTX's fragments count per register; the others are bytes."""


def elements_per_register(atom: Atom, element: str) -> int:
    return 8 if "kind::mxf4" in atom.name else PER_REGISTER.get(element, 4)


def judged_by(judge: str, prefix: str) -> list[Atom]:
    return [atom for name, atom in rl.atoms.items() if name.startswith(prefix) and judge in atom.judges]


# ---- PTX's formulas --------------------------------------------------------------------------------------


def ptx_fragment(rows: int, lane: int, i: int, per_register: int) -> tuple[int, int]:
    """The row (or column) and the k of element i of A (or B), by groupID and threadID_in_group."""
    register, within = divmod(i, per_register)
    group, thread = lane >> 2, lane % 4
    row = group + 8 * (register % 2) if rows == 16 else group
    half = register // 2 if rows == 16 else register
    return row, thread * per_register + within + half * 4 * per_register


def ptx_accumulator(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + 8 * (i // 2), (lane % 4) * 2 + i % 2


def test_every_mma_of_a_warp_is_as_ptx_says():
    found = [atom for atom in judged_by("PTX's formulas", "mma.") if atom.threads == 32]
    assert len(found) == 58 + 50 + 25 + 3
    seen = set()
    for atom in found:
        m, n, k = atom.shape
        for which, rows in (("A", m), ("B", n)):
            operand = atom.operand(which)
            per_register = elements_per_register(atom, operand.element)
            assert operand.layout.extents == (32, rows * k // 32)
            key = (operand.layout, rows, k, per_register)
            if key in seen:
                continue
            seen.add(key)
            for lane, i in product(range(32), range(rows * k // 32)):
                assert operand.coordinate(lane, i) == ptx_fragment(rows, lane, i, per_register), (atom.name, which)
        for which in ("C", "D"):
            operand = atom.operand(which)
            assert operand.layout.extents == (32, m * n // 32)
            for lane, i in product(range(32), range(m * n // 32)):
                assert operand.coordinate(lane, i) == ptx_accumulator(lane, i), (atom.name, which)


def test_mma_of_a_quad_pair_is_as_ptx_says():
    found = [atom for atom in judged_by("PTX's formulas", "mma.m8n8k4") if atom.threads == 8]
    assert len(found) == 12
    for atom in found:
        assert atom.lanes is not None
        orders = [word for word in atom.name.split(".") if word in ("row", "col")] or ["row", "col"]
        a_col, b_row = orders[0] == "col", orders[1] == "row"
        for t in range(8):
            lane = atom.lanes(t)
            high = 4 if lane >= 16 else 0
            for i in range(4):
                row, k = (i + high, lane % 4) if a_col else (lane % 4 + high, i)
                assert atom.operand("A").coordinate(t, i) == (row, k), atom.name
                n, k = (i + high, lane % 4) if b_row else (lane % 4 + high, i)
                assert atom.operand("B").coordinate(t, i) == (n, k), atom.name
            for which in ("C", "D"):
                operand = atom.operand(which)
                for i in range(8):
                    row, n = lane % 4 + high, i
                    if operand.element == "f32":
                        row, n = (lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)
                    assert operand.coordinate(t, i) == (row, n), (atom.name, which)


def test_sparse_mma_has_its_indices_where_a_device_reads_them():
    """An H200 says for each four bits of a register which row and which part along k they are about.

    Measured by turning one at a time; A, B and C are as in a dense product with half of k for A.
    """
    found = judged_by("an H200", "mma.sp.")
    assert len(found) == 28
    for atom in found:
        m, n, k = atom.shape
        a, b, e = (atom.operand(which) for which in "ABE")
        width = elements_per_register(atom, a.element)
        for lane, i in product(range(32), range(m * k // 64)):
            assert a.coordinate(lane, i) == ptx_fragment(m, lane, i, width), atom.name
        for lane, i in product(range(32), range(n * k // 32)):
            assert b.coordinate(lane, i) == ptx_fragment(n, lane, i, width), atom.name
        for lane, i in product(range(32), range(m * n // 32)):
            assert atom.operand("C").coordinate(lane, i) == ptx_accumulator(lane, i), atom.name
        parts = k // {1: 2, 8: 8}.get(width, 4)
        together = e.tile[1] // parts
        assert e.layout.extents[1] * {"u2": 2, "u4": 4}[e.element] == 32
        for lane, i in product(range(32), range(8 * together)):
            four, within = divmod(i, together)
            if width <= 2:
                row, part = lane // 4 + 8 * (four // 4), four % 4 + 4 * (lane % 4 % (parts // 4))
            else:
                row, part = lane // 4 + 8 * (lane % 2), four + (8 * (lane % 4 // 2) if parts == 16 else 0)
            assert e.coordinate(lane, i) == (row, together * part + within), atom.name


def test_every_wgmma_is_as_ptx_says():
    found = judged_by("PTX's formulas", "wgmma.")
    assert len(found) == (2 + 1 + 1 + 8) * 32 + 5 * 18
    seen = set()
    for atom in found:
        _, n, k = atom.shape
        key = (n, k, atom.A, atom.C)
        if key in seen:
            continue
        seen.add(key)
        assert atom.C == atom.D
        assert atom.C.extents == (128, n // 2)
        for thread, i in product(range(0, 128, 11), range(n // 2)):
            warp, lane = divmod(thread, 32)
            row = 16 * warp + (lane >> 2) + 8 * ((i >> 1) % 2)
            assert atom.operand("C").coordinate(thread, i) == (row, 8 * (i // 4) + (lane % 4) * 2 + i % 2), atom.name
        if n > 16:
            continue
        per_register = k // 8
        assert atom.A.extents == (128, 64 * k // 128)
        for thread, i in product(range(128), range(64 * k // 128)):
            warp, lane = divmod(thread, 32)
            row, column = ptx_fragment(16, lane, i, per_register)
            assert atom.operand("A").coordinate(thread, i) == (16 * warp + row, column), atom.name


@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_and_stmatrix_are_as_ptx_says(count):
    """Lane l of matrix i has two elements of row l / 4 from column 2 (l % 4) on, or with .trans of that column."""
    for trans in ("", ".trans"):
        load, store = rl.atoms[f"ldmatrix.x{count}{trans}"], rl.atoms[f"stmatrix.x{count}{trans}"]
        assert (load.src, load.dst) == (store.dst, store.src)
        assert load.dst.extents == (32, 32 * count)
        for lane, bit in product(range(32), range(32 * count)):
            matrix, half, within = bit // 32, bit % 32 // 16, bit % 16
            row, column = lane // 4, 2 * (lane % 4) + half
            if trans:
                row, column = column, row
            assert load.operand("dst").coordinate(lane, bit) == (16 * column + within, 8 * matrix + row)
        for lane in range(8 * count):
            assert load.operand("src").coordinate(lane, 37) == (37, lane)


def test_movmatrix_transposes():
    atom = rl.atoms["movmatrix.trans"]
    for lane, bit in product(range(32), range(32)):
        half, within = divmod(bit, 16)
        row, column = lane // 4, 2 * (lane % 4) + half
        assert atom.operand("src").coordinate(lane, bit) == (16 * column + within, row)
        assert atom.operand("dst").coordinate(lane, bit) == (16 * row + within, column)


# ---- Triton ----------------------------------------------------------------------------------------------


def triton_tile(place: tuple[int, ...], bases: dict[str, list[tuple[int, ...]]], thread: int, value: int) -> bool:
    """Whether Triton's bases put a value of a thread at a place."""
    row = column = 0
    numbers = {"register": value, "lane": thread % 32, "warp": thread // 32}
    for name, given in bases.items():
        for bit, (down, along) in enumerate(given):
            if numbers.get(name, 0) >> bit & 1:
                row, column = row ^ down, column ^ along
    return (row, column) == place


def triton_bases(atom: Atom, which: str) -> dict[str, list[tuple[int, ...]]]:
    m, n, k = atom.shape
    if atom.threads == 128:
        parent = f"versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, {n}, 16]"
        if which == "A":
            parent = parent.replace(f", {n}, ", ", 256, ")
    else:
        parent = f"versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [{m}, {n}]"
    text, shape = f"#ttg.nvidia_mma<{{{parent}}}>", (m, n)
    if which in "AB":
        width = elements_per_register(atom, atom.operand(which).element)
        text = f"#ttg.dot_op<{{opIdx = {'AB'.index(which)}, parent = {text}, kWidth = {width}}}>"
        shape = (m, k) if which == "A" else (k, n)
    return next(vector.bases for vector in vectors("operands") if (vector.text, vector.shape) == (text, shape))


def test_triton_has_the_same_layouts():
    found = [*judged_by("Triton's linear layouts", "mma."), *judged_by("Triton's linear layouts", "wgmma.")]
    assert len(found) > 150
    seen = set()
    for atom in found:
        for which in "ABC" if atom.threads == 32 else "AC":
            operand = atom.operand(which)
            if (operand.layout, operand.element, which) in seen:
                continue
            seen.add((operand.layout, operand.element, which))
            bases = triton_bases(atom, which)
            threads, values = operand.layout.extents
            for thread, value in product(range(0, threads, 3), range(values)):
                place = operand.coordinate(thread, value)
                at = (place[1], place[0]) if which == "B" else place
                assert triton_tile(at, bases, thread, value), (atom.name, which, thread, value)


def test_bytes_of_blackwells_ldmatrix_and_stmatrix():
    """Triton counts a register's bytes along rows, four for a load and two for a store, and 8 columns further next.

    CUTLASS's traits put bytes 2 and 3 of a load's first register, and 0 and 1 of its second one, in the other's place,
    as its copy exchanges them.
    """
    for count in (1, 2):
        operand = rl.atoms[f"ldmatrix.m16n16.x{count}.trans.b8"].operand("dst")
        for lane, byte in product(range(32), range(8 * count)):
            matrix, register, within = byte // 8, byte // 4 % 2, byte % 4
            row, column = 4 * (lane % 4) + within, lane // 4 + 8 * register
            assert operand.coordinate(lane, 8 * byte) == (8 * column, 16 * matrix + row)
            exchanged = {(0, 2): 4, (0, 3): 5, (1, 0): 2, (1, 1): 3}.get((register, within), 4 * register + within)
            cutlass = rl.Layout(((4, 8), (8, 2, 2, 2 * count)), ((256, 8), (1, 128, 64, 1024)))
            addresses = rl.Layout(((2, 2, 4, 2), 128), ((128, 1024, 256, 2048), 1))
            assert cutlass(lane, 8 * (8 * matrix + exchanged)) == addresses(16 * matrix + row, 8 * column)
    for count in (1, 2, 4):
        operand = rl.atoms[f"stmatrix.m16n8.x{count}.trans.b8"].operand("src")
        for lane, byte in product(range(32), range(4 * count)):
            row, column = 2 * (lane % 4) + byte % 2, lane // 4 + 8 * (byte // 2 % 2)
            assert operand.coordinate(lane, 8 * byte) == (8 * column, 8 * (byte // 4) + row)


# ---- scales, tensor memory, boxes ------------------------------------------------------------------------


def test_scales_are_as_cutlass_has_them():
    """CUTLASS counts every element along k; the scales of one vector are its values of stride 0."""
    found = judged_by("CUTLASS's traits", "mma.")
    assert len(found) == 28
    for atom in found:
        _, _, k = atom.shape
        parts = atom.operand("SFA").tile[1]
        assert parts == int(atom.name.partition("scale_vec::")[2][0])
        rows = rl.Layout(((2, 2, 8), k), ((8, 0, 1), 16))
        columns = rl.Layout(((4, 8), k), ((0, 1), 8))
        for lane, at in product(range(32), range(0, k, 4)):
            scale = at // (k // parts)
            assert atom.operand("SFA").coordinate(lane, scale) == (rows(lane, at) % 16, scale)
            assert atom.operand("SFB").coordinate(lane, scale) == (columns(lane, at) % 8, scale)


def tensor_memory_lane(name: str, m: int, n: int, columns: int) -> tuple[int, int, int]:
    """The CTA, the lane and the column of (m, n): CUTLASS's (M, N) to addresses of stride 1 and 128."""
    if "cta_group::2" in name:
        half = 128 if ".m256" in name else 64
        cta, m = divmod(m, half)
        if half == 64:
            return cta, m + 64 * (n // columns), n % columns
        return cta, m, n
    if ".ws." in name:
        height = 64 if ".m64" in name else 32
        return 0, m + height * (n // columns), n % columns
    if ".m64" in name:
        return 0, m % 16 + 32 * (m // 16), n
    return 0, m, n


def test_accumulators_in_tensor_memory_are_as_cutlass_has_them():
    found = judged_by("CUTLASS's traits", "tcgen05.mma")
    assert len(found) == 4 * (8 + 8 + 16 + 16 + 3 + 3)
    for atom in found:
        if "kind::f16" not in atom.name or atom.shape[1] > 64:
            assert atom.D in {other.D for other in found if "kind::f16" in other.name}
            continue
        lanes, columns = atom.D.extents
        seen = set()
        for lane, column in product(range(lanes), range(columns)):
            m, n = atom.operand("D").coordinate(lane, column)
            cta, at = divmod(atom.lanes(lane) if atom.lanes else lane, 128)
            assert tensor_memory_lane(atom.name, m, n, columns) == (cta, at, column), atom.name
            seen.add((m, n))
        assert len(seen) == atom.shape[0] * atom.shape[1]


def test_accumulators_in_tensor_memory_are_as_triton_has_them():
    """Triton's bases go from the row and the column of tensor memory to the element; unused rows go to 0."""
    known = {(vector.text, vector.shape): vector for name in ("kernels", "random") for vector in vectors(name)}
    found = judged_by("Triton's linear layouts", "tcgen05.mma")
    assert len(found) == 4 * 5
    for atom in found:
        m, n, _ = atom.shape
        vector = known[f"#ttng.tensor_memory_encoding<blockM = {m}, blockN = {n}, colStride = 1>", (m, n)]
        for lane, column in product(range(0, atom.threads, 3), range(0, n, 5)):
            place = [0, 0]
            for name, number in (("row", atom.lanes(lane) if atom.lanes else lane), ("col", column)):
                for bit, basis in enumerate(vector.bases[name]):
                    if number >> bit & 1:
                        place = [a ^ b for a, b in zip(place, basis)]
            assert atom.operand("D").coordinate(lane, column) == tuple(place), atom.name


def test_loads_of_tensor_memory_are_as_tritons_bases_have_them():
    """The rows and columns of a bit of the lane, and of a bit of the register, as Triton writes them."""
    lanes = {
        "32x32b": [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0)],
        "16x64b": [(8, 0), (0, 1), (1, 0), (2, 0), (4, 0)],
        "16x128b": [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)],
        "16x256b": [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)],
    }
    registers = {"32x32b": [], "16x64b": [], "16x128b": [(8, 0)], "16x256b": [(0, 1), (8, 0)]}
    columns = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8}
    names = rl.atoms.search("tcgen05.ld.*")
    assert len(names) == 8 + 8 + 7 + 6 + 8
    for name in names:
        _, _, shape, times = name.split(".")
        repeats = int(times[1:])
        operand = rl.atoms[name].operand("dst")
        assert rl.atoms[name.replace(".ld.", ".st.")].src == operand.layout
        count = operand.layout.extents[1] // 32
        for lane, register in product(range(32), [r for r in range(count) if r < 8 or r % 7 == 0]):
            if shape == "16x32bx2":
                row, column = lane % 16, register + lane // 16 * repeats
            else:
                row = column = 0
                for bit, (down, along) in enumerate(lanes[shape]):
                    row, column = row + (lane >> bit & 1) * down, column + (lane >> bit & 1) * along
                for bit, (down, along) in enumerate(registers[shape]):
                    row, column = row + (register >> bit & 1) * down, column + (register >> bit & 1) * along
                column += (register >> len(registers[shape])) * columns[shape]
            assert operand.coordinate(lane, 32 * register + 5) == (32 * column + 5, row), name


def test_swizzles_of_boxes_exchange_pieces_by_the_row():
    """A piece of 16 (or 32) bytes goes to the one whose number is its own XOR the row's, of 128 bytes."""
    pieces = {"32B": (16, 2), "64B": (16, 4), "128B": (16, 8), "128B_ATOM_32B": (32, 4)}
    for name, (piece, count) in pieces.items():
        atom = rl.atoms[f"cp.async.bulk.tensor.swizzle_{name}"]
        span = piece * count
        for byte, row in product(range(span), range(8)):
            at = byte + span * row
            turn = at // 128 % count
            want = at // span * span + (at % span // piece ^ turn) * piece + at % piece
            assert atom.dst(0, at) == want, name
    assert rl.atoms["cp.async.bulk.tensor.swizzle_NONE"].dst(0, 77) == 77


def test_boxes():
    assert tma_box((64, 8), "float16", "CU_TENSOR_MAP_SWIZZLE_128B") == rl.Layout((64, 8), swizzle=(3, 3, 3))
    assert tma_box((32, 4, 2), "uint8", "32B") == rl.Layout((32, 4, 2), swizzle=(1, 4, 3))
    assert tma_box((16, 4, 2), "uint16", "64B") == rl.Layout((16, 4, 2), (1, 32, 128), swizzle=(2, 3, 3))
    assert tma_box((256, 3), "float32") == rl.Layout((256, 3))
    assert rl.compare(tma_box((64, 8), "float16", "128B"), rl.catalog.get("smem:MN_SW128", 16)).equivalent
    for box, element, swizzle in (
        ((64, 8), "float32", "128B"),
        ((257, 8), "float16", "NONE"),
        ((7, 8), "float16", "NONE"),
        ((), "float16", "NONE"),
        ((8,) * 6, "float16", "NONE"),
        ((32, 8), "uint4", "NONE"),
    ):
        with pytest.raises(rl.ShapeError, match="cannot be copied"):
            tma_box(box, element, swizzle)
    for swizzle in ("256B", 5):
        with pytest.raises(rl.UnknownName, match="32B, 64B, 128B"):
            tma_box((64, 8), "float16", swizzle)
    with pytest.raises(rl.ShapeError):
        tma_box(None, "float16")


# ---- the registry ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32;", "mma.m16n8k16.f32.f16.f16.f32"),
        ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "mma.m8n8k4.f32.f16.f16.f32"),
        ("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32", "mma.m8n8k4.col.row.f32.f16.f16.f32"),
        ("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32", "mma.m16n8k32.s32.s8.u8.s32"),
        (
            "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32",
            "mma.m16n8k32.kind::f8f6f4.f32.e2m1.e3m2.f32",
        ),
        (
            "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
            "mma.sp.m16n8k32.f32.f16.f16.f32",
        ),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16", "wgmma.m64n8k16.f32.bf16.bf16"),
        ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "ldmatrix.x4.trans"),
        ("ldmatrix.sync.aligned.m16n16.x1.trans.shared::cta.b8", "ldmatrix.m16n16.x1.trans.b8"),
        ("movmatrix.sync.aligned.m8n8.trans.b16", "movmatrix.trans"),
        ("tcgen05.ld.sync.aligned.16x256b.x2.b32", "tcgen05.ld.16x256b.x2"),
    ],
)
def test_an_atom_is_found_by_the_name_that_ptx_writes_in_full(full, short):
    assert rl.atoms[full] is rl.atoms[short]
    assert rl.atoms[short].name == short


def test_an_unknown_atom_lists_near_ones():
    with pytest.raises(rl.UnknownName, match=r"near it are mma\.m16n8k16\.f32\.f16\.f16\.f32") as told:
        _ = rl.atoms["mma.m16n8k16.f32.f16.f16"]
    assert isinstance(told.value, KeyError)
    assert "mma.m16n8k16" not in rl.atoms
    assert rl.atoms.get("nothing") is None
    with pytest.raises(rl.UnknownName, match="it has D, A, B, C"):
        _ = rl.atoms["mma.m16n8k16.f32.f16.f16.f32"].SFA
    with pytest.raises(rl.UnknownName):
        _ = rl.atoms[5]


def test_the_registry_is_a_mapping():
    assert len(rl.atoms) == len(list(rl.atoms)) == len(set(rl.atoms))
    assert all(atom.name == name for name, atom in rl.atoms.items())
    assert rl.atoms.search("mma.m8n8k4.f64*") == ["mma.m8n8k4.f64.f64.f64.f64"]
    assert rl.atoms.search("TF32")
    with pytest.raises(rl.ShapeError, match="a pattern is a text"):
        rl.atoms.search(5)


def test_every_atom_is_whole_and_judged():
    for atom in rl.atoms.values():
        check_atom(atom)
        assert atom.judges, atom.name
        assert atom.source, atom.name
        for operand in atom.operands:
            for tile in operand.tiles:
                assert tile in rl.catalog.ENTRIES, (atom.name, tile)


def test_an_atom_that_does_not_fit_is_refused():
    atom = rl.atoms["mma.m16n8k16.f32.f16.f16.f32"]
    a = atom.operand("A")
    with pytest.raises(rl.ShapeError, match="no mode of 64 threads"):
        check_atom(atom._replace(threads=64))
    with pytest.raises(rl.ShapeError, match="leaves the 128 places"):
        check_atom(atom._replace(operands=(a._replace(tile=(16, 8)),)))


def test_one_of_every_table_conforms():
    for table in registry.TABLES:
        conformance(next(iter(import_module(f"relayout.hardware.{table}").atoms())))
    conformance("mma.m16n8k16.f32.f16.f16.f32")


@pytest.mark.parametrize(
    ("change", "law"),
    [
        ({"threads": 16}, "Every layout has a mode of threads"),
        ({"shape": (16, 8, 8)}, "The operands of a product have the sides"),
        ({"lanes": rl.Layout(16)}, "each has a lane of its own"),
        ({"judges": ()}, "It has a name, an architecture, a source and a judge"),
        ({"operands": (Operand("A", rl.Layout((32, 8), (0, 1)), (16, 16), "f16"),)}, "is held by some thread"),
    ],
)
def test_an_atom_that_breaks_a_law_is_told_which(change, law):
    with pytest.raises(ConformanceError, match=law):
        conformance(rl.atoms["mma.m16n8k16.f32.f16.f16.f32"]._replace(**change))


def test_atoms_of_another_package(monkeypatch):
    mine = rl.atoms["mma.m16n8k16.f32.f16.f16.f32"]._replace(name="mine")

    class Point:
        name = "mine"

        def __init__(self, table):
            self.table = table

        def load(self):
            return self.table

    def given(table):
        registry._all_atoms.cache_clear()
        monkeypatch.setattr(registry, "_entry_points", lambda: [Point(table)])

    try:
        given(lambda: [mine])
        assert rl.atoms["mine"] is mine
        assert "mine" in list(rl.atoms)
        given(lambda: [mine._replace(threads=31)])
        with pytest.raises(rl.ShapeError, match="no mode of 31 threads"):
            _ = rl.atoms["mine"]
        given(None)
        with pytest.raises(rl.ShapeError, match="cannot be loaded"):
            _ = rl.atoms["mine"]
    finally:
        registry._all_atoms.cache_clear()
