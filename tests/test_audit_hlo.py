"""HLO texts: every move judged by XLA's own parser and by running it, tiles by enumeration after XLA's description."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relayout.auditing.audit import Audit, audit
from relayout.auditing.hlo_text import End, Instruction, read_hlo
from relayout.auditing.kinds import OTHER_MEMORY, REARRANGES, SAME_BYTES, UNDECIDED
from relayout.auditing.move import Move

FOLDER = Path(__file__).parent / "data" / "audit"
JUDGED: dict[str, dict[str, dict[str, Any]]] = json.loads((FOLDER / "hlo_judge.json").read_text())


def moves_of(text: str) -> dict[str, Move]:
    return {move.place.name: move for move in audit(text).moves}


def entry(*lines: str) -> str:
    return "HloModule m\n\nENTRY e {\n" + "".join([f"  {line}\n" for line in lines]) + "}\n"


@pytest.mark.parametrize("file", sorted(JUDGED))
def test_moves_are_those_that_xla_finds_and_change_bytes_where_running_them_does(file: str) -> None:
    found = audit(FOLDER / file)
    assert not found.troubles
    ours = {move.place.name: move for move in found.moves}
    assert set(ours) == set(JUDGED[file])
    for name, judged in JUDGED[file].items():
        move = ours[name]
        assert (move.op, move.source.text, move.target.text) == (judged["op"], judged["source"], judged["target"])
        if "changes" in judged:
            assert (move.kind == REARRANGES) == judged["changes"], name


def test_in_real_programs_copies_rearrange_and_transposes_do_not() -> None:
    ran = [move for file, moves in JUDGED.items() if "after" in file for move in moves.values() if "changes" in move]
    told = [move for file in JUDGED if "after" in file for move in audit(FOLDER / file).moves]
    for op in ("copy", "transpose"):
        assert any(move["op"] == op for move in ran)
        most = [move for move in told if move.op == op and move.kind == REARRANGES]
        assert bool(most) == any(move["changes"] for move in ran if move["op"] == op) == (op == "copy")


# ---- tiles: the description of openxla.org/xla/tiled_layout, one element after the other --------------------


def address(index: tuple[int, ...], shape: tuple[int, ...], order: list[int], tiles: list[list[int]]) -> int:
    """Where an element lies: each tile turns the array that is stored by then into tiles, and those into elements."""
    place, sizes = [index[d] for d in order[::-1]], [shape[d] for d in order[::-1]]
    for tile in tiles:
        keep = len(sizes) - len(tile)
        outer = [p // t for p, t in zip(place[keep:], tile)]
        inner = [p % t for p, t in zip(place[keep:], tile)]
        place = [*place[:keep], *outer, *inner]
        sizes = [*sizes[:keep], *[-(-n // t) for n, t in zip(sizes[keep:], tile)], *tile]
    at = 0
    for p, n in zip(place, sizes):
        at = at * n + p
    return at


def described(text: str) -> tuple[tuple[int, ...], list[int], list[list[int]]]:
    sizes, order, tiles = re.fullmatch(r"\w+\[([\d,]*)\]\{([\d,]*)(?::T([(\d,)]*))?.*\}", text).groups()  # type: ignore[union-attr]
    groups = [[int(n) for n in group.split(",")] for group in re.findall(r"\(([\d,]+)\)", tiles or "")]
    return tuple(map(int, sizes.split(","))), list(map(int, order.split(","))), groups


LAYOUTS = [
    "{1,0}",
    "{0,1}",
    "{1,0:T(8,128)}",
    "{0,1:T(8,128)}",
    "{1,0:T(8,128)(2,1)}",
    "{1,0:T(4,128)S(1)}",
    "{0,1:T(2,2)}",
]


@pytest.mark.parametrize("opcode", ["copy", "transpose", "reshape"])
@pytest.mark.parametrize("shape", [(16, 3), (5, 130), (8, 128), (1, 7)])
def test_tiles_are_decided_as_enumeration_does(opcode: str, shape: tuple[int, int]) -> None:
    result = {"copy": shape, "transpose": shape[::-1], "reshape": (shape[0] * shape[1], 1)}[opcode]
    for source, target in product(LAYOUTS, LAYOUTS):
        one, other = f"f32[{shape[0]},{shape[1]}]{source}", f"f32[{result[0]},{result[1]}]{target}"
        attribute = ", dimensions={1,0}" if opcode == "transpose" else ""
        move = moves_of(entry(f"p = {one} parameter(0)", f"ROOT r = {other} {opcode}(p){attribute}"))["r"]
        pairs = []
        for i, j in product(range(shape[0]), range(shape[1])):
            there = {"copy": (i, j), "transpose": (j, i), "reshape": (i * shape[1] + j, 0)}[opcode]
            pairs.append((address((i, j), *described(one)), address(there, *described(other))))
        stays = all(a == b for a, b in pairs)
        space = "S(1)" in source, "S(1)" in target
        expected = REARRANGES if not stays else SAME_BYTES if space[0] == space[1] else OTHER_MEMORY
        assert move.kind == expected, (one, other)


@pytest.mark.parametrize(
    ("source", "target", "stays"),
    [
        ("f32[1000,3001]{1,0:T(8,128)}", "f32[125,8,3001]{2,1,0:T(8,128)}", True),
        ("bf16[4096,3,513]{2,1,0:T(8,128)(2,1)}", "bf16[64,64,3,513]{3,2,1,0:T(8,128)(2,1)}", True),
        ("f32[1000,3000]{1,0:T(8,128)}", "f32[10,100,3000]{2,1,0:T(8,128)}", False),
        ("f32[1000,3000]{1,0:T(8,128)}", "f32[1000,30,100]{2,1,0:T(8,128)}", False),
    ],
)
def test_reshapes_of_large_padded_arrays_are_decided(source: str, target: str, stays: bool) -> None:
    move = moves_of(entry(f"p = {source} parameter(0)", f"ROOT r = {target} reshape(p)"))["r"]
    (one, *first), (other, *second) = described(source), described(target)
    places = np.random.default_rng(0).integers(0, int(np.prod(one)), 4000)
    coordinates = zip(zip(*np.unravel_index(places, one)), zip(*np.unravel_index(places, other)))
    assert all(address(a, one, *first) == address(b, other, *second) for a, b in coordinates) == stays
    assert move.kind == (SAME_BYTES if stays else REARRANGES)


def test_padding_of_tiled_parameters_is_what_whole_tiles_reserve() -> None:
    found = audit(FOLDER / "tpu.after.hlo")
    stored = {buffer.place.name: (buffer.side.stored_bytes, buffer.side.logical_bytes) for buffer in found.buffers}
    assert stored == {
        "p0": (24 * 384 * 2, 24 * 300 * 2),
        "p1": (32 * 256 // 2, 32 * 256 // 2),
        "p2": (8 * 128 * 4, 5 * 3 * 4),
    }
    assert found.totals.padding_bytes == sum([a - b for a, b in stored.values()])


def test_tpu_moves() -> None:
    found = {move.place.name: move for move in audit(FOLDER / "tpu.after.hlo").moves}
    assert found["copy-start.1"].kind == OTHER_MEMORY
    assert found["copy.1"].bytes == 256 * 128 // 2
    assert found["reshape.1"].kind == found["transpose.1"].kind == SAME_BYTES
    assert found["reshape.2"].kind == REARRANGES
    assert found["copy.9"].bytes == 0
    assert "read so by fusion fusion.1" in found["copy.9"].remarks
    assert found["copy.5"].count == 7
    assert found["copy.5"].total_bytes == 7 * 304 * 128 * 4


def test_the_pair_in_the_loop_cancels() -> None:
    found = audit(FOLDER / "tpu.after.hlo")
    pairs = [(found.moves[pair.first].place.name, found.moves[pair.second].place.name) for pair in found.pairs]
    assert pairs == [("copy.5", "copy.6")]
    assert found.savings[0].bytes == 7 * (304 * 128 + 24 * 384) * 4


def test_a_fusion_of_nothing_but_a_move_is_that_move() -> None:
    found = {move.place.name: move for move in audit(FOLDER / "gpu.after.hlo").moves}
    assert found["transpose.1"].bytes == 8 * 64 * 28 * 28 * 2
    assert "all that fusion wrapped_transpose does" in found["transpose.1"].remarks
    assert found["transpose.3"].bytes == 0
    assert "written so by fusion input_transpose_fusion" in found["transpose.3"].remarks


def test_parameters_tell_what_each_device_holds() -> None:
    before, after = (audit(FOLDER / f"sharded.{when}.hlo").buffers for when in ("before", "after"))
    assert [buffer.details["device_shape"] for buffer in before] == [[16, 128], [128, 128]]
    assert [buffer.details["device_bytes"] for buffer in before] == [16 * 128 * 4, 128 * 128 * 4]
    assert [list(buffer.shape) for buffer in after] == [[16, 128], [128, 128]]
    assert after[0].remarks == ("the part of each of 8 devices",)


def test_tuples_of_parameters_have_a_sharding_each() -> None:
    text = entry(
        "p = (f32[8,4]{1,0}, f32[6]{0}) parameter(0), sharding={{devices=[2,1]<=[2]}, {replicated}}",
        "ROOT g = f32[8,4]{1,0} get-tuple-element(p), index=0",
    )
    first, second = audit(text).buffers
    assert (first.place.name, first.details["device_shape"]) == ("p[0]", [4, 4])
    assert (second.place.name, second.remarks) == ("p[1]", ("every device holds all of it",))


def test_a_changed_sharding_is_an_exchange() -> None:
    text = entry(
        "p = f32[8,4]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}",
        'ROOT c = f32[8,4]{1,0} custom-call(p), custom_call_target="Sharding", sharding={devices=[1,2]<=[2]}',
    )
    (move,) = audit(text).moves
    assert (move.kind, move.bytes) == ("between devices", 2 * 4 * 2 * 4)  # each gets the other's half of its columns


def test_bitcast_convert_to_narrower_elements_keeps_bytes_if_they_are_last() -> None:
    lines = "p = f32[6,5]{1,0} parameter(0)", "ROOT b = s8[6,5,4]{%s} bitcast-convert(p)"
    assert moves_of(entry(lines[0], lines[1] % "2,1,0"))["b"].kind == SAME_BYTES
    assert moves_of(entry(lines[0], lines[1] % "1,0,2"))["b"].kind == REARRANGES
    x = np.arange(30, dtype="<f4").reshape(6, 5)
    assert x.view(np.int8).reshape(6, 5, 4).tobytes() == x.tobytes()


def test_elements_of_less_than_a_byte_take_one_unless_e_says_so() -> None:
    text = entry("p = s4[6,8]{1,0} parameter(0)", "ROOT c = s4[6,8]{1,0:E(4)} copy(p)")
    move = moves_of(text)["c"]
    assert (move.source.stored_bytes, move.target.stored_bytes, move.kind) == (48, 24, "same layout, other type")


def test_bounded_sizes_count_as_their_bounds() -> None:
    text = entry("p = f32[<=6,8]{1,0} parameter(0)", "ROOT c = f32[<=6,8]{0,1} copy(p)")
    assert moves_of(text)["c"].bytes == 6 * 8 * 4


def test_operands_with_shapes_comments_and_instructions_over_lines() -> None:
    text = """HloModule m
    %f (a: f32[4,8], /*index=1*/b: (f32[2], s32[])) -> f32[8,4] {
      %a = f32[4,8]{1,0} parameter(0) // of the first
      %b = (f32[2]{0}, /*index=1*/s32[]) parameter(1)
      %c = f32[4,8]{1,0} constant({
        {1, 2}, {3, 4}
      })
      %t = f32[8, 4] {0, 1}
        transpose(f32[4,8]{1,0} /*first*/ %a),
        dimensions={1,0}
      ROOT %u = f32[8,4]{1,0} copy(%t) }
    """
    found = audit(text)
    assert [(move.place.line, move.op, move.kind) for move in found.moves] == [
        (8, "transpose", SAME_BYTES),
        (11, "copy", REARRANGES),
    ]
    assert not found.troubles


def test_a_cut_text_gives_what_is_there_and_says_so() -> None:
    whole = (FOLDER / "tpu.after.hlo").read_text()
    cut = audit(whole[: whole.index("%copy.2 =") + 20])
    assert [move.place.name for move in cut.moves][:4] == ["copy.9", "copy.5", "copy.6", "copy-start.1"]
    assert "no line calls this computation" in cut.moves[0].remarks
    assert [trouble.message for trouble in cut.troubles] == ["the text ends inside this computation"]


@pytest.mark.parametrize("shape", ["f32[4,?]{1,0}", "f9[4,8]{1,0}", "f32[4,8]{1,1}", "token[]", "$shape[4]", ""])
def test_what_is_not_understood_is_undecided_and_says_why(shape: str) -> None:
    text = entry(f"p = {shape} parameter(0)", "q = f32[4,8]{1,0} parameter(1)", "ROOT c = f32[4,8]{1,0} copy(p)")
    for move in audit(text).moves:
        assert (move.kind, bool(move.remarks)) == (UNDECIDED, True)


def test_every_prefix_is_read_without_an_error() -> None:
    for file in ("tpu.after.hlo", "loop.after.hlo"):
        text = (FOLDER / file).read_text()
        for end in range(0, len(text), 97):
            found: Audit = audit("HloModule m\n" + text[:end], "hlo")
            assert len(found.moves) <= len(audit(text).moves) + 1


def test_lines_are_cut_alike_in_both_ways() -> None:
    """The quick cut of a printed line, and the slow one of the same line with a space too many."""
    for file in FOLDER.glob("*.hlo"):
        lines = file.read_text().splitlines()
        spaced = [re.sub(r"^(\s+(?:ROOT )?%?[\w.\-]+) = ", r"\1  =  ", line) for line in lines]
        quick, slow = (list(read_hlo(enumerate(x, 1))) for x in (lines, spaced))
        assert len([x for x in quick if isinstance(x, Instruction)]) > 2
        assert [x._replace(rest="") if isinstance(x, Instruction) else x for x in quick] == [
            x._replace(rest="") if isinstance(x, Instruction) else x for x in slow
        ]
        assert all(x.whole for x in quick if isinstance(x, End))


def test_what_the_program_brings_along_is_packed_once() -> None:
    found = moves_of(
        entry(
            "c = f32[2,3]{1,0} constant({ {1, 2, 3}, {4, 5, 6} })",
            "p = f32[2,3]{1,0} parameter(0)",
            "n = f32[2,3]{1,0} negate(p)",
            "a = f32[2,3]{0,1} copy(c)",
            "b = f32[2,3]{0,1} copy(n)",
            "ROOT s = f32[2,3]{0,1} add(a, b)",
        )
    )
    assert found["a"].remarks == ("weights: pack once",)
    assert found["b"].remarks == ()
