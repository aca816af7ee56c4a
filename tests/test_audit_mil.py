"""Audits of Core ML's MIL, judged by coremltools' own shapes and orders, and by numpy."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from relayout.auditing.audit import audit

DATA = Path(__file__).parent / "data" / "audit"
JUDGE = json.loads((DATA / "mil_judge.json").read_text())


@pytest.mark.parametrize("name", ["coremltools.mil.txt", "model.mil"])
def test_transposes_move_what_numpy_moves(name: str) -> None:
    moves = {m.place.name: m for m in audit(DATA / name).moves}
    for key, told in JUDGE.items():
        move = moves[key]
        x = np.arange(int(np.prod(told["from"]))).reshape(told["from"]).transpose(told["order"])
        assert list(move.shape) == told["to"] == list(x.shape)
        seen = np.full(x.size, -1)
        for c in product(*[range(n) for n in move.target.layout.extents]):
            seen[move.target.layout(c)] = move.source.layout(c)
        assert (seen == x.ravel()).all()
        assert move.kind == ("same bytes" if (x.ravel() == np.arange(x.size)).all() else "rearranges")


@pytest.mark.parametrize("name", ["coremltools.mil.txt", "model.mil"])
def test_the_pair_across_elementwise_operations_is_found(name: str) -> None:
    found = audit(DATA / name)
    pairs = [(found.moves[p.first].place.name, found.moves[p.second].place.name, p.alone) for p in found.pairs]
    assert pairs == [("to_nhwc", "back_to_nchw", True)]
    assert not found.troubles
    lines = (DATA / name).read_text().splitlines()
    assert all(move.place.name in lines[move.place.line - 1] for move in found.moves)


def test_the_compiled_program_has_its_weights() -> None:
    found = audit(DATA / "model.mil")
    weights = {b.place.name: (b.shape, b.side.stored_bytes) for b in found.buffers if b.role == "constant"}
    assert weights["conv_weight_0"] == ((16, 8, 3, 3), 16 * 8 * 9 * 2)
    assert "weights: pack once" in next(m for m in found.moves if m.place.name == "fc_t").remarks


def test_what_is_not_told_is_undecided_or_open() -> None:
    text = (DATA / "model.mil").read_text()
    kinds = {m.place.name: m.kind for m in audit(text.replace("val = tensor<int32, [4]>([0, 2, 3, 1])", "")).moves}
    assert kinds["to_nhwc"] == "undecided"
    assert kinds["to_nchw"] == "rearranges"
    found = audit(text.replace("[1, 12, 12, 8]", "[?, 12, 12, 8]").replace("[1, 8, 12, 12]", "[?, 8, 12, 12]"))
    first = found.moves[0]
    assert (first.kind, first.shape, first.bytes) == ("rearranges", (-1, 8, 12, 12), None)
    assert f"{12 * 12 * 8 * 2} bytes for each step of an open size" in first.remarks
    assert len(audit(text[: text.index("back_to_nchw")]).moves) == 2


def test_the_types_of_all_parameters_are_read() -> None:
    found = audit(
        "program(1.0)\n{\n    func main<ios16>(tensor<fp32, [1, ?, 6]> x, tensor<fp16, [1, 8, 4, 4]> y) {\n"
        "            tensor<fp16, [128]> z = reshape(shape = s, x = y);\n        } -> (z);\n}\n"
    )
    assert [(buffer.place.name, buffer.shape) for buffer in found.buffers] == [("x", (1, -1, 6)), ("y", (1, 8, 4, 4))]
    assert [(move.kind, move.bytes) for move in found.moves] == [("same bytes", 0)]
