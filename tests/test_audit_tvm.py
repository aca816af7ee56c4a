"""Audits of TVM's modules, judged by where TVM's own index maps put every element, and by numpy."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import relayout as rl
from relayout.auditing.audit import audit

DATA = Path(__file__).parent / "data" / "audit"
JUDGE = json.loads((DATA / "tvm_judge.json").read_text())


@pytest.mark.parametrize("name", JUDGE)
def test_index_maps_are_read_as_tvm_evaluates_them(name: str) -> None:
    told = JUDGE[name]
    layout = rl.parse(told["map"], shape=tuple(told["shape"]))
    places = np.arange(int(np.prod(told["stored"]))).reshape(told["stored"])
    for c, index in zip(product(*[range(n) for n in told["shape"]]), told["places"], strict=True):
        assert layout(c) == places[tuple(index)]
    assert layout.storage_size == places.size


def test_maps_that_are_none_are_refused() -> None:
    for text in ("lambda i, j: (i * j,)", "lambda i: (k,)", "lambda", "lambda i: (i // 0,)"):
        with pytest.raises(rl.LayoutError):
            rl.parse(text, shape=(2, 3))
    with pytest.raises(rl.LayoutError, match="2 indices"):
        rl.parse("lambda i, j: (j, i)", shape=(2, 3, 4))


def moved(move) -> np.ndarray:
    """For every place of the target the place of the source that its element comes from."""
    source, target = move.source.layout, move.target.layout
    found = np.full(target.storage_size, -1)
    for c in product(*[range(n) for n in target.extents]):
        found[target(c)] = source(c)
    return found


def test_a_module_of_relax() -> None:
    found = audit(DATA / "blocks.tvmscript")
    assert not found.troubles
    moves = {m.place.name: m for m in found.moves}
    x = np.arange(8 * 8 * 32).reshape(1, 8, 8, 32)
    assert (moved(moves["a"]) == x.transpose(0, 3, 1, 2).ravel()).all()
    x = np.arange(32 * 8 * 8)
    assert (moved(moves["b"]) == x.reshape(1, 2, 16, 8, 8).transpose(0, 1, 3, 4, 2).ravel()).all()
    assert (moved(moves["d"]) == x.reshape(1, 2, 8, 8, 16).transpose(0, 1, 4, 2, 3).ravel()).all()
    w = np.arange(64 * 32 * 9).reshape(4, 16, 2, 16, 3, 3)
    assert (moved(moves["k"]) == w.transpose(0, 2, 4, 5, 3, 1).ravel()).all()
    assert [(found.moves[p.first].place.name, found.moves[p.second].place.name) for p in found.pairs] == [("b", "d")]
    assert "weights: pack once" in moves["k"].remarks
    assert (moves["q"].kind, moves["u"].kind) == ("same bytes", "same bytes")
    assert (moves["p"].kind, moves["p"].shape, moves["p"].bytes) == ("rearranges", (-1, 6, 4), None)


def test_a_module_of_relay() -> None:
    found = audit(DATA / "relay.tvm.txt")
    moves = {m.place.name: m for m in found.moves}
    x = np.arange(32 * 8 * 8)
    assert (moved(moves["%0"]) == x.reshape(1, 2, 16, 8, 8).transpose(0, 1, 3, 4, 2).ravel()).all()
    w = np.arange(32 * 32).reshape(2, 16, 2, 16)
    assert (moved(moves["%1"]) == w.transpose(0, 2, 3, 1).ravel()).all()
    assert (moved(moves["%6"]) == x.reshape(1, 2, 8, 8, 16).transpose(0, 2, 3, 1, 4).ravel()).all()
    assert moves["transpose"].kind == "same bytes"
    assert [(found.moves[p.first].place.name, found.moves[p.second].place.name) for p in found.pairs] == [("%3", "%5")]


def test_what_is_not_told_is_undecided() -> None:
    text = (DATA / "blocks.tvmscript").read_text()
    assert {m.kind for m in audit(text.replace("c // 16", "c * h")).moves if m.place.name == "b"} == {"undecided"}
    assert {m.kind for m in audit(text.replace("(1, 8, 8, 32), ", "ndim=4, ")).moves if m.place.name == "a"} == {
        "undecided"
    }
    assert {m.kind for m in audit(text.replace("[0, 3, 1, 2]", "[0, 3, 3, 2]")).moves if m.place.name == "a"} == {
        "undecided"
    }
    assert len(audit(text[: text.index("            d:")]).moves) == 2


def test_weights_and_pairs_are_found_where_a_size_has_a_name() -> None:
    """Maps as people write them, a size declared before the attributes, and blocks that are undone."""
    found = rl.audit(
        "@I.ir_module\nclass Module:\n    @R.function\n"
        '    def main(x: R.Tensor(("n", 32, 8), dtype="float32"), w: R.Tensor((16, 32), dtype="float32")):\n'
        "        n = T.int64()\n"
        '        R.func_attr({"num_input": 1})\n'
        '        a: R.Tensor((n, 2, 8, 16), dtype="float32") = R.layout_transform(x, '
        "index_map=lambda i, j, k: (i, j // 16, k, j % 16), pad_value=None)\n"
        '        b: R.Tensor((n, 32, 8), dtype="float32") = R.layout_transform(a, '
        "index_map=lambda i, j, k, l: (i, j * 16 + l, k))\n"
        '        c: R.Tensor((32, 16), dtype="float32") = R.permute_dims(w, axes=[1, 0])\n'
        "        return (b, c)\n"
    )
    assert [move.kind for move in found.moves] == ["rearranges"] * 3
    assert [(pair.first, pair.second, pair.alone) for pair in found.pairs] == [(0, 1, True)]
    assert found.moves[2].remarks == ("weights: pack once",)
