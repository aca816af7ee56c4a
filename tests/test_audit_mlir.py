"""MLIR of linalg and IREE: the judges are MLIR's own parser, which counted the operations, and IREE's runtime, whose
packed memory was recorded (``record_audit_mlir.py``).
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from relayout.auditing.audit import Audit, audit
from relayout.auditing.kinds import OTHER_MEMORY, REARRANGES, SAME_BYTES, UNDECIDED
from relayout.auditing.mlir import COPIES, ENCODES, PACKS, RESHAPES, UNPACKS
from relayout.auditing.mlir_text import Aliases, attribute, integers, joined_lines, read_operation, read_shaped
from relayout.auditing.move import Move

DATA = Path(__file__).parent / "data" / "audit"
COUNTED = json.loads((DATA / "mlir_judge.json").read_text())


def of(name: str) -> Audit:
    return audit(DATA / name)


@pytest.mark.parametrize("name", COUNTED)
def test_every_operation_that_the_parser_counts_is_read(name: str) -> None:
    found = of(name)
    assert found.kind == "mlir"
    assert not found.troubles
    for op in (*PACKS, *UNPACKS, *ENCODES, *COPIES, *RESHAPES, "linalg.transpose"):
        assert len([move for move in found.moves if move.op == op]) == COUNTED[name].get(op, 0), op


@pytest.mark.parametrize("case", json.loads((DATA / "mlir_packed.json").read_text()))
def test_packs_put_elements_where_iree_puts_them(case: dict[str, object]) -> None:
    shape, values = tuple(case["shape"]), case["values"]  # type: ignore[arg-type, var-annotated]
    sizes = "x".join(map(str, shape))
    text = f"%p = linalg.pack %x {case['attributes']} into %y : tensor<{sizes}xf32> -> tensor<4xf32>"
    (move,) = audit(f"func.func @f() {{\n{text}\n}}\n").moves
    assert move.bytes == 4 * len(values)  # type: ignore[arg-type]
    layout = move.target.layout
    for number, at in enumerate(product(*map(range, shape)), 1):
        assert values[layout(*at)] == number  # type: ignore[index]


def moves(*lines: str) -> tuple[Move, ...]:
    return audit("\n".join(["func.func @f(%x: tensor<4x6xf32>) {", *lines, "}", ""])).moves


def test_linalg_in_its_own_words() -> None:
    found = of("mlir_linalg.mlir")
    kinds = [(move.op, move.kind) for move in found.moves]
    assert kinds == [
        ("linalg.transpose", UNDECIDED),
        ("linalg.generic", REARRANGES),
        ("linalg.pack", REARRANGES),
        ("linalg.unpack", REARRANGES),
        ("linalg.pack", REARRANGES),
        ("tensor.expand_shape", SAME_BYTES),
        ("memref.copy", REARRANGES),
        ("memref.copy", UNDECIDED),
        ("memref.copy", SAME_BYTES),
        ("memref.copy", OTHER_MEMORY),
    ]
    pack, unpack = found.moves[2:4]
    assert (pack.place.name, pack.bytes, pack.shape) == ("%pack", 7 * 4 * 8 * 8 * 4, (7, 4, 8, 8))
    assert f"undone by {unpack.place.line}" in pack.remarks
    assert len(found.pairs) == 1
    assert found.moves[4].remarks[0] == "sizes not known"
    assert "open" in found.moves[7].remarks[0]


def test_what_iree_makes_of_a_matmul() -> None:
    found = of("mlir_iree_packed.mlir")
    # 100 x 72 weights in tiles of 16 columns: five of them, the last with 8.
    weights = next(move for move in found.moves if move.shape == (5, 100, 16, 1))
    assert weights.bytes == 5 * 100 * 16 * 4
    assert "padding 10 %" in weights.remarks
    # IREE leaves one generic that copies a tensor to another of the same layout.
    assert [move.kind for move in found.moves if move.op == "linalg.generic"] == [SAME_BYTES]


def test_encodings_are_read_once_they_are_resolved() -> None:
    found = of("mlir_iree_encodings.mlir")
    resolved = [move for move in found.moves if move.op == "stream.tensor.encode"]
    assert [move.bytes for move in resolved] == [5 * 100 * 16 * 4, 4 * 100 * 16 * 4, 4 * 5 * 16 * 16 * 4]
    assert {move.kind for move in resolved} == {REARRANGES}
    for move in of("mlir_iree_flow.mlir").moves:
        assert move.kind == UNDECIDED
        assert "a later pass chooses it" in move.remarks[0]


def test_generics_are_moves_only_where_they_yield_their_input() -> None:
    head = (
        "%1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], "
        'iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%0 : tensor<6x4xf32>) {'
    )
    end = ["} -> tensor<6x4xf32>"]
    block = "^bb0(%in: f32, %out: f32):"
    (move,) = moves(head, block, "linalg.yield %in : f32", *end)
    assert (move.kind, move.bytes, move.reads.split()[-1], move.writes.split()[-1]) == (REARRANGES, 96, "%x", "%1")
    assert not moves(head, block, "%2 = arith.negf %in : f32", "linalg.yield %2 : f32", *end)
    assert not moves(head, block, "linalg.yield %out : f32", *end)
    assert not moves(head.replace("(d1, d0)", "(d0, d0)"), block, "linalg.yield %in : f32", *end)
    # The same permutation on both sides moves nothing.
    same = head.replace("-> (d0, d1)>", "-> (d1, d0)>").replace("6x4", "4x6")
    (move,) = moves(same, block, "linalg.yield %in : f32", "} -> tensor<4x6xf32>")
    assert move.kind == SAME_BYTES


def test_transposes_of_memrefs_follow_their_strides() -> None:
    text = "linalg.transpose ins(%a : memref<4x6xf32{}>) outs(%b : memref<6x4xf32{}>) permutation = [1, 0]"
    assert moves(text.format("", ""))[0].kind == REARRANGES
    assert moves(text.format("", ", strided<[1, 6]>"))[0].kind == SAME_BYTES
    assert moves(text.format(", strided<[1, 4]>", ""))[0].kind == SAME_BYTES
    assert moves(text.format(", strided<[?, 1]>", ""))[0].kind == UNDECIDED


def test_weights_are_packed_once() -> None:
    pack = "%1 = linalg.pack %c inner_dims_pos = [0] inner_tiles = [2] into %y : tensor<4x6xf32> -> tensor<2x6x2xf32>"
    (move,) = moves("%c = arith.constant dense<[[1.0]]> : tensor<4x6xf32>", pack)
    assert "weights: pack once" in move.remarks
    (move,) = moves("%c = util.global.load immutable @w : tensor<4x6xf32>", pack.replace("linalg", "tensor"))
    assert (move.op, move.remarks) == ("tensor.pack", ("weights: pack once",))
    (move,) = moves(pack.replace("[2]", "[%n]"))
    assert move.kind == UNDECIDED
    assert "no number" in move.remarks[0]


def test_packs_in_the_generic_form() -> None:
    (move,) = moves(
        '%1 = "linalg.pack"(%x, %y) <{inner_dims_pos = array<i64: 0>, operandSegmentSizes = array<i32: 1, 1, 0, 0>, '
        "outer_dims_perm = array<i64: 1, 0>, static_inner_tiles = array<i64: 2>}> "
        ": (tensor<4x6xf32>, tensor<6x2x2xf32>) -> tensor<6x2x2xf32>"
    )
    assert move.target.text == "outer_dims_perm = [1, 0] inner_dims_pos = [0] inner_tiles = [2]"
    assert (move.kind, move.bytes) == (REARRANGES, 96)


def test_reshapes_copies_and_transfers() -> None:
    kinds = [
        move.kind
        for move in moves(
            "%1 = flow.tensor.reshape %x : tensor<4x6xf32> -> tensor<24xf32>",
            "%2 = tensor.collapse_shape %y [[0, 1]] : tensor<?x6xf32> into tensor<?xf32>",
            "%3 = flow.tensor.clone %x : tensor<4x6xf32>",
            '%4 = flow.tensor.transfer %x : tensor<4x6xf32> to "device_b"',
            "linalg.copy ins(%a : memref<4x6xf32>) outs(%b : memref<4x6xf32, strided<[8, 1]>>)",
        )
    ]
    assert kinds == [SAME_BYTES, SAME_BYTES, SAME_BYTES, OTHER_MEMORY, REARRANGES]


def test_of_several_dumps_the_last_is_read() -> None:
    pack = "%1 = linalg.pack %c inner_dims_pos = [0] inner_tiles = [2] into %y : tensor<4x6xf32> -> tensor<2x6x2xf32>"
    one = f"// -----// IR Dump After A (a) //----- //\nfunc.func @f() {{\n{pack}\n}}\n"
    found = audit(one + one.replace("After A", "After B"))
    assert [(move.place.line, move.count) for move in found.moves] == [(7, 1)]


def test_what_is_cut_or_broken_is_read_as_far_as_it_goes() -> None:
    for name in ("mlir_linalg.mlir", "mlir_iree_packed.mlir"):
        text = (DATA / name).read_text()
        whole = audit(text)
        for size in range(400, len(text) - 3, 401):
            found = audit(text[:size], kind="mlir")
            assert len(found.moves) <= len(whole.moves)
            assert found.troubles, size
    broken = (DATA / "mlir_linalg.mlir").read_text().replace("inner_dims_pos = [0, 1]", "inner_dims_pos = [0, 7]", 1)
    found = audit(broken)
    assert [move.kind for move in found.moves].count(UNDECIDED) == 3


def test_lines_and_attributes() -> None:
    text = (
        '%a:2 = x.y %b#1, %c {k = 1 : i32, s = ":"} : '
        "(tensor<2x?xf32, #e<{q = 0 : index}>>, i1) -> (i8, i16) loc(#loc4)"
    )
    operation = read_operation(3, text)
    assert operation is not None
    assert (operation.results, operation.name, operation.operands) == (("%a",), "x.y", ("%b#1", "%c"))
    assert operation.types == (("tensor<2x?xf32, #e<{q = 0 : index}>>", "i1"), ("i8", "i16"))
    shaped = read_shaped(operation.types[0][0])
    assert shaped is not None
    assert (shaped.sizes, shaped.element, shaped.rest, shaped.shape) == (
        (2, None),
        "f32",
        ("#e<{q = 0 : index}>",),
        None,
    )
    assert attribute("{order = array<i32: 1, 0>, x = [1]}", "order") == "array<i32: 1, 0>"
    assert integers("array<i32: 1, 0>") == integers("[1, 0]") == (1, 0)
    assert integers("[%n]") is None
    aliases = Aliases()
    assert aliases.see("#a = #x.y<{p = [1]}> // why")
    assert aliases.see("#b = #x.z<#a>")
    assert aliases.write_out("tensor<4xf32, #b>") == "tensor<4xf32, #x.z<#x.y<{p = [1]}>>>"
    lines = [(1, "%1 = x.y %a"), (2, "  : tensor<4xf32,"), (3, "  #a>"), (4, "// CHECK: <"), (5, "return")]
    assert list(joined_lines(lines)) == [(1, "%1 = x.y %a : tensor<4xf32, #a>"), (5, "return")]
