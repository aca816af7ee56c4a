"""Triton's IR: the judges are Triton's own compiler, which lowered every operation alone (``record_audit_triton.py``),
and the enumeration of every address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from relayout.auditing.audit import Audit, audit
from relayout.auditing.kinds import ACCESSES, REARRANGES, SAME_BYTES, UNDECIDED
from relayout.auditing.triton_types import RegisterTensor, SharedBuffer, permute_dims, read_type, reshape_dims
from relayout.hardware.counting import wavefronts
from relayout.hardware.shared_access import TRANSPOSING, shared_access

DATA = Path(__file__).parent / "data" / "audit"
SAMPLES = [path for path in sorted(DATA.glob("triton_*.ttgir")) if "located" not in path.name]
HEAD = 'module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "{}", "ttg.threads-per-warp" = {} : i32}} {{\n'


class Told(NamedTuple):
    """What Triton made of one operation: the bytes of shared memory, and instructions with their numbers."""

    what: str
    registers: str
    other: str
    target: str
    shared: int
    instructions: dict[str, int]

    @property
    def arch(self) -> str:
        return self.target.replace("cuda:", "sm").removeprefix("hip:")


@cache
def judged() -> list[Told]:
    found = []
    for line in (DATA / "triton_judge.tsv").read_text().splitlines():
        what, *rest = line.split("\t")
        if what != "shared":
            counts = dict([part.split("=") for part in rest[4].split()]) if rest[4] != "-" else {}
            numbers = {name: int(n) for name, n in counts.items()}
            found.append(Told(what, rest[0], rest[1], rest[2], int(rest[3]), numbers))
    return found


def line_of(told: Told) -> str:
    """A module with one operation."""
    head = HEAD.format(told.target, 64 if "gfx9" in told.target else 32)
    operation = {
        "convert": f"ttg.convert_layout %x : {told.registers} -> {told.other}",
        "load": f"ttg.local_load %x : {told.other} -> {told.registers}",
        "store": f"ttg.local_store %x, %m : {told.registers} -> {told.other}",
        "alloc": f"ttg.local_alloc : () -> {told.other}",
    }[told.what]
    return f"{head}tt.func @f() {{\n%y = {operation}\n}}\n}}\n"


def test_conversions_cost_what_triton_spends() -> None:
    seen = {}
    for told in judged():
        if told.what != "convert":
            continue
        (move,) = audit(line_of(told)).moves
        way = move.details["way"]
        seen[way] = seen.get(way, 0) + 1
        assert (way == "shared memory") == (told.shared > 0), told
        if way == "shuffles" and told.target.startswith("cuda"):
            assert told.instructions == {"shuffle": move.details["shuffles"]}, told
        free = way in ("nothing", "registers")
        assert free == (not told.instructions and not told.shared) or told.target.startswith("hip"), told
        assert move.kind == (SAME_BYTES if free else REARRANGES)
        assert (move.bytes == 0) == free
    assert seen["nothing"] > 5
    assert seen["shared memory"] > 50


def test_loads_and_stores_are_the_instructions_that_triton_takes() -> None:
    names = set()
    for told in judged():
        if told.what not in ("load", "store"):
            continue
        threads, memory = read_type(told.registers), read_type(told.other)
        assert isinstance(threads, RegisterTensor)
        assert isinstance(memory, SharedBuffer)
        # Triton was asked for the whole of what is a part in the kernel.
        writes = told.what == "store"
        cost = shared_access(threads.threads, memory.encoding, memory.shape, memory.bits, told.arch, writes)
        if told.arch in TRANSPOSING and "transposes" in cost.why:
            assert not told.instructions, "Triton loads by an intrinsic"
            continue
        name = re.sub(r"(?:ds_\w+|(?:ld|st)\.shared\.)b(\d+)", rf"{told.what}.b\1", cost.access)
        assert told.instructions.get(name) == cost.instructions, (told, cost)
        names.add(cost.access)
    assert {
        "ldmatrix.x4",
        "ldmatrix.x4.trans",
        "stmatrix.x4",
        "ds_read_b64",
        "st.shared.b128",
        "ld.shared.b32",
    } <= names


def enumerated(threads: RegisterTensor, memory: SharedBuffer, access: str, arch: str) -> Iterator[int]:
    """The wavefronts of each instruction of each warp, from the address of every element of every lane."""
    width = int(access.rpartition("b")[2]) // memory.bits
    layout = memory.encoding.layout(memory.shape)
    table = {at: layout(*at) for at in np.ndindex(memory.shape)}
    counts = threads.threads.in_dims
    for warp in range(counts["warp"]):
        groups: dict[int, list[int]] = {}
        for register in range(counts["register"]):
            lanes = range(counts["lane"])
            places = [threads.threads(register, lane, warp, 0) for lane in lanes]
            offsets = [table[at] for at in places]
            if all(offset % width == 0 for offset in offsets):
                groups[offsets[0]] = [offset * memory.bits // 8 for offset in offsets]
        yield from [int(wavefronts(np.array(addresses), access, arch)) for addresses in groups.values()]


def test_bank_conflicts_are_those_of_every_address() -> None:
    seen, conflicts = 0, 0
    for told in judged():
        if told.what not in ("load", "store") or told.arch not in ("sm80", "sm90", "gfx942"):
            continue
        threads, memory = read_type(told.registers), read_type(told.other)
        assert isinstance(threads, RegisterTensor)
        assert isinstance(memory, SharedBuffer)
        if "rotating" in memory.encoding.kind or getattr(memory.encoding, "rotating", False) or threads.bytes > 4096:
            continue
        cost = shared_access(
            threads.threads, memory.encoding, memory.shape, memory.bits, told.arch, told.what == "store"
        )
        if cost.wavefronts is None or "matrix" in cost.access:
            continue
        assert sum(enumerated(threads, memory, cost.access, told.arch)) == cost.wavefronts, told
        seen += 1
        conflicts += cost.conflicts or 0
    assert seen > 3
    assert conflicts > 0


@pytest.mark.parametrize(("swizzle", "expected"), [(8, 1.0), (1, 8.0)])
def test_ldmatrix_counts_the_rows_of_each_matrix(swizzle: int, expected: float) -> None:
    mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>"
    threads = read_type(f"tensor<128x64xf16, #ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 2}}>>")
    memory = read_type(
        "!ttg.memdesc<128x64xf16, #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = "
        f"{swizzle}, order = [1, 0]}}>, #ttg.shared_memory>"
    )
    assert isinstance(threads, RegisterTensor)
    assert isinstance(memory, SharedBuffer)
    cost = shared_access(threads.threads, memory.encoding, memory.shape, 16, "sm80", False)
    assert cost.access == "ldmatrix.x4"
    assert cost.wavefronts is not None
    assert cost.ideal == 4 * cost.instructions * 4
    # Rows of 128 bytes lie in the same banks, eight to a matrix.
    assert cost.wavefronts / cost.ideal == expected


def test_buffers_have_the_bytes_that_triton_reserves() -> None:
    padded = 0
    for told in judged():
        if told.what == "alloc":
            (buffer,) = audit(line_of(told)).buffers
            assert buffer.side.stored_bytes == told.shared, told
            padded += "padded" in told.other
    assert padded > 10


def test_the_whole_of_a_kernel() -> None:
    shared = dict([line.split("\t")[1:] for line in (DATA / "triton_judge.tsv").read_text().splitlines()[:5]])
    for path in SAMPLES:
        found = audit(path)
        text = path.read_text()
        assert not found.troubles
        assert found.kind == "triton"
        for word in ("ttg.convert_layout", "ttg.local_load", "ttg.local_store", "tt.trans ", "ttg.memdesc_trans"):
            lines = [k for k, line in enumerate(text.splitlines(), 1) if word in line]
            assert [move.place.line for move in found.moves if move.op == word.strip()] == lines
        assert len(found.buffers) == text.count("ttg.local_alloc")
        reserved = sum(buffer.side.stored_bytes or 0 for buffer in found.buffers)
        scratch = max([move.details.get("scratch_bytes", 0) for move in found.moves], default=0)
        # What lives at the same time shares nothing; Triton's allocation is between the largest and all of it.
        assert max([b.side.stored_bytes or 0 for b in found.buffers], default=0) <= int(shared[path.name])
        assert int(shared[path.name]) <= reserved + scratch


def of(name: str) -> Audit:
    return audit(DATA / f"triton_{name}")


def test_a_pipelined_matmul() -> None:
    found = of("matmul_sm80.ttgir")
    loads = [move for move in found.moves if move.op == "ttg.local_load"]
    assert {move.kind for move in loads} == {ACCESSES}
    assert all(move.remarks[0].endswith("no bank conflicts") for move in loads)
    assert [("in a loop" in move.remarks) for move in loads] == [False] * 2 + [True] * 8
    assert [buffer.remarks for buffer in found.buffers] == [("2 stages",)] * 2
    assert [buffer.side.stored_bytes for buffer in found.buffers] == [2 * 128 * 64 * 2] * 2
    assert found.totals.padding_bytes == 0
    last = found.moves[-1]
    assert (last.source.text, last.target.text, last.bytes) == ("#mma", "#blocked", 128 * 128 * 2)


def test_conflicts_that_amd_kernels_have() -> None:
    found = of("attention_gfx942.ttgir")
    worst = max(found.moves, key=lambda move: move.details.get("conflicts") or 0)
    # Lanes walk down rows of 128 bytes that nothing swizzles.
    assert (worst.op, worst.source.text) == ("ttg.local_load", "#shared1")
    assert worst.details["wavefronts"] == 16 * worst.details["ideal"]


def test_text_without_encodings_is_undecided() -> None:
    found = of("matmul_sm80.ttir")
    assert (found.kind, found.moves, found.troubles) == ("triton", (), ())
    (move,) = audit(
        "tt.func @f() {\n%1 = tt.trans %0 {order = array<i32: 1, 0>} : tensor<4x8xf16> -> tensor<8x4xf16>\n}\n"
    ).moves
    assert move.kind == UNDECIDED
    assert "no encoding" in move.remarks[0]


A = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
B = "#ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>"


def kernel(*lines: str) -> Audit:
    body = "\n".join([f"    {line}" for line in lines])
    return audit(f"#a = {A}\n#b = {B}\n{HEAD.format('cuda:90', 32)}  tt.func @f() {{\n{body}\n  }}\n}}\n")


def test_pairs_cancel_through_elementwise_operations() -> None:
    there = "ttg.convert_layout {} : tensor<64x64xf16, #a> -> tensor<64x64xf16, #b>"
    back = "ttg.convert_layout {} : tensor<64x64xf16, #b> -> tensor<64x64xf16, #a>"
    found = kernel(
        "%cst = arith.constant dense<1.0> : tensor<64x64xf16, #b>",
        f"%1 = {there.format('%0')}",
        "%2 = arith.addf %1, %cst : tensor<64x64xf16, #b>",
        f"%3 = {back.format('%2')}",
    )
    assert len(found.pairs) == 1
    assert found.moves[0].remarks[-1] == "undone by 8"
    other = kernel(f"%1 = {there.format('%0')}", "%2 = tt.load %1 : tensor<64x64xf16, #b>", f"%3 = {back.format('%2')}")
    assert not other.pairs


def test_moves_tell_the_line_of_the_kernel() -> None:
    lines = (Path(__file__).parent / "ttg_vectors" / "kernels.py").read_text().splitlines()
    found = of("located_sm90.ttgir")
    for move in found.moves:
        name, _, line = move.remarks[-1].partition(":")
        assert (name, move.details["source"]) == ("kernels.py", move.remarks[-1])
        assert "tl.reshape(both" in lines[int(line) - 1]
    assert [move.kind for move in found.moves] == [move.kind for move in of("interleave_sm90.ttgir").moves]
    # Two modules have the same names for different places.
    text = (DATA / "triton_located_sm90.ttgir").read_text()
    assert not any("source" in move.details for move in audit(text + text).moves)


def test_loops_with_known_bounds_count() -> None:
    convert = "%1 = ttg.convert_layout %0 : tensor<64x64xf16, #a> -> tensor<64x64xf16, #b>"
    found = kernel(
        "%c0 = arith.constant 0 : i32",
        "%c10 = arith.constant 10 : i32",
        "%c4 = arith.constant 4 : i32",
        "scf.for %i = %c0 to %c10 step %c4 : i32 {",
        convert,
        "}",
        "scf.for %i = %c0 to %n step %c4 : i32 {",
        convert.replace("%1", "%2"),
        "}",
        convert.replace("%1", "%3"),
    )
    assert [(move.count, "in a loop" in move.remarks) for move in found.moves] == [(3, False), (1, True), (1, False)]
    assert found.totals.bytes == 5 * 64 * 64 * 2


def test_views_are_proven_by_every_coordinate() -> None:
    tensor = read_type(f"tensor<16x32xf16, {A}>")
    assert isinstance(tensor, RegisterTensor)
    turned, flat = permute_dims(tensor.threads, (1, 0)), reshape_dims(tensor.threads, (8, 64))
    for register in range(tensor.threads.in_dims["register"]):
        for lane in range(32):
            row, column = tensor.threads(register, lane, 1, 0)
            assert turned(register, lane, 1, 0) == (column, row)
            assert flat(register, lane, 1, 0) == divmod(32 * row + column, 64)


def test_pointers_masks_and_old_words() -> None:
    for element, size in (("!tt.ptr<f16>", 8), ("i1", 1), ("i64", 8)):
        (move,) = kernel(
            f"%1 = ttg.convert_layout %0 : tensor<64x64x{element}, #a> -> tensor<64x64x{element}, #b>"
        ).moves
        assert (move.kind, move.bytes) == (REARRANGES, 64 * 64 * size)
    old = "%1 = triton_gpu.convert_layout %0 : tensor<64x64xf16, #a> -> tensor<64x64xf16, #a>"
    (move,) = kernel(old).moves
    assert (move.op, move.kind) == ("triton_gpu.convert_layout", SAME_BYTES)


def test_a_module_that_tells_no_target_has_no_conflicts_told() -> None:
    shared = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    memory = f"!ttg.memdesc<64x64xf16, {shared}, #ttg.shared_memory>"
    text = f"tt.func @f() {{\n%1 = ttg.local_load %0 : {memory} -> tensor<64x64xf16, {A}>\n}}\n"
    assert "depend on the target" in audit(text).moves[0].remarks[0]
    assert "cost not known" in audit(HEAD.format("hip:gfx1250", 32) + text).moves[0].remarks[0]


def test_what_is_cut_or_broken_is_read_as_far_as_it_goes() -> None:
    text = SAMPLES[0].read_text()
    whole = audit(text)
    for size in range(3000, len(text), 1499):
        found = audit(text[:size], kind="triton")
        assert found.moves[:-1] == tuple(whole.moves[: max(0, len(found.moves) - 1)]) or found.pairs != whole.pairs
        assert found.troubles
    broken = text.replace("#blocked1>\n", "#nothing>\n", 1).replace("maxPhase = 16", "maxPhase = 15", 1)
    found = audit(broken)
    assert len(found.moves) == len(whole.moves)
    assert any(move.kind == UNDECIDED for move in found.moves)
