"""Audits of OpenVINO models, judged by OpenVINO's own shapes and bytes, and by the names that it gives to reorders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import relayout as rl
from relayout.auditing.audit import audit

DATA = Path(__file__).parent / "data" / "audit"
JUDGE = json.loads((DATA / "openvino_judge.json").read_text())


@pytest.mark.parametrize("name", JUDGE)
def test_shapes_and_bytes_are_those_of_openvino(name: str) -> None:
    found = audit(DATA / f"{name}.openvino.xml")
    assert not found.troubles
    assert found.moves
    for move in found.moves:
        shape, size = JUDGE[name][move.place.name]
        assert list(move.shape) == shape
        assert move.bytes in (0, size)
        assert move.bytes or (move.kind == "same bytes" and "not executed" in move.remarks)
        if found_name := re.fullmatch(r".*?_([a-d]+)_([a-d]+)_.*", move.place.name if move.op == "Reorder" else ""):
            assert found_name.groups() == (move.source.text, move.target.text)


def test_a_reorder_that_is_not_executed_is_proven_to_move_nothing() -> None:
    moves = {m.place.name: m for m in audit(DATA / "plain.avx512.openvino.xml").moves}
    fake = moves["x_abcd_acdb_fake"]
    assert (fake.kind, fake.bytes) == ("same bytes", 0)
    assert rl.compare(fake.source.layout, fake.target.layout)
    # 16 numbers in the last dimension: the layouts have other names, and nothing moves although it is executed.
    assert moves["Constant_3506_abcd_acdb_add1"].kind == "same bytes"


def test_without_times_nothing_is_known_to_be_left_out(tmp_path: Path) -> None:
    text = re.sub(r'execTimeMcs="\d+"', 'execTimeMcs="not_executed"', (DATA / "plain.avx512.openvino.xml").read_text())
    moves = {m.place.name: m for m in audit(text).moves}
    assert not any("not executed" in m.remarks for m in moves.values())
    assert moves["x_abcd_acdb_fake"].kind == "undecided"
    assert moves["pool_acdb_abcd_reshape"].kind == "same bytes"


def test_times_are_those_of_the_file() -> None:
    text = (DATA / "cnn.sse.openvino.xml").read_text()
    times = [int(t) for t in re.findall(r'execTimeMcs="(\d+)"', text)]
    totals = audit(DATA / "cnn.sse.openvino.xml").totals
    assert (totals.time or 0) + (totals.step_time or 0) == pytest.approx(sum(times) / 1e6)


def test_an_order_that_is_not_told_is_named_as_open() -> None:
    (move,) = audit(DATA / "cnn.sse.openvino.xml").moves
    assert (move.op, move.kind, move.source.text, move.source.layout) == ("Transpose", "rearranges", "aBcd8b", None)


def test_an_ir_has_the_moves_of_the_model_that_it_is_from() -> None:
    ir, model = audit(DATA / "plain.ir.xml"), audit(DATA / "plain.onnx")
    seen = {m.place.name: m for m in ir.moves}
    for move in model.moves:
        assert (seen[move.place.name].kind, seen[move.place.name].bytes) == (move.kind, move.bytes)
        assert seen[move.place.name].source.layout == move.source.layout
    assert len(ir.pairs) == len(model.pairs) == 1
    line = (DATA / "plain.ir.xml").read_text().splitlines()[seen["to_nhwc"].place.line - 1]
    assert 'name="to_nhwc" type="Transpose"' in line


def test_an_ir_without_its_weights_tells_what_shapes_tell(tmp_path: Path) -> None:
    path = tmp_path / "alone.xml"
    path.write_text((DATA / "plain.ir.xml").read_text())
    moves = {m.place.name: m for m in audit(path).moves}
    assert moves["to_nhwc"].kind == "rearranges"
    assert moves["to_nhwc"].source.layout is None
    assert "its order is in the .bin file" in moves["to_nhwc"].remarks
    assert moves["weights_transpose"].source.layout is not None


def test_what_is_cut_off_gives_what_comes_before() -> None:
    text = (DATA / "cnn.avx512.openvino.xml").read_text()
    found = audit(text[: text.index("<edges>")])
    assert "no XML" in found.troubles[0].message
    assert [m.kind for m in found.moves] == ["undecided", "undecided"]
    assert audit(text.replace('type="Reorder">', 'type="Reorder"')).troubles
    bomb = '<!DOCTYPE n [<!ENTITY a "xxxxxxxxxx">' + "".join(
        [f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(12)]
    )
    found = audit(f'<?xml version="1.0"?>\n{bomb}]>\n<net name="&m;" version="11"><layers>\n</layers></net>\n')
    assert not found.moves
