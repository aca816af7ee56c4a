"""Audits of ONNX models and profiles, judged by ONNX Runtime's own results and sizes, and by onnx's inference."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import relayout as rl
from relayout.auditing.audit import audit
from relayout.auditing.onnx_shapes import OnnxValues
from relayout.files.onnx_graph import is_model, read_graph
from relayout.files.onnx_nchwc import blocked_parts
from relayout.files.protobuf import encode_field

DATA = Path(__file__).parent / "data" / "audit"
JUDGE = json.loads((DATA / "onnx_judge.json").read_text())
OPTIMISED = ("plain", "cnn", "quantised", "open_blocks", "split_blocks")


def profile(name: str) -> dict[str, dict]:
    events = json.loads((DATA / f"{name}.ort.profile.json").read_text())
    return {e["name"].removesuffix("_kernel_time"): e["args"] for e in events if e["cat"] == "Node"}


def values_of(name: str) -> tuple[OnnxValues, list]:
    graph = read_graph(DATA / name)
    shapes = {name: t.shape for name, t in graph.tensors.items()}
    numbers = {name: t.numbers for name, t in graph.tensors.items() if t.numbers is not None}
    values = OnnxValues(graph, blocked_parts(graph.nodes, shapes, numbers).values)
    for node in graph.nodes:
        values.infer(node)
    return values, graph.nodes


@pytest.mark.parametrize("name", OPTIMISED)
def test_the_shapes_are_those_that_the_runtime_had(name: str) -> None:
    values, nodes = values_of(f"{name}.ort.onnx")
    seen = profile(name)
    assert {node.name for node in nodes} == set(seen)
    for node in nodes:
        ((_, sizes),) = seen[node.name]["output_type_shape"][0].items()
        assert tuple([1 if n == "N" else n for n in values.shape(node.outputs[0]) or ()]) == tuple(sizes), node


def test_the_shapes_and_types_are_those_that_onnx_infers() -> None:
    values, nodes = values_of("shapes.onnx")
    names = {"FLOAT": "float32", "BOOL": "bool", "INT64": "int64", "FLOAT16": "float16", "INT8": "int8"}
    checked = 0
    for name, (kind, sizes) in JUDGE["shapes"].items():
        found = values.of(name)
        assert getattr(found.element, "name", None) == names[kind], name
        mine = [None if isinstance(n, str) and n.startswith("?") else n for n in found.shape or ()]
        assert mine == [None if isinstance(n, str) and n.startswith("unk") else n for n in sizes], name
        checked += 1
    assert checked == sum([len(node.outputs) for node in nodes])


@pytest.mark.parametrize("name", ["plain", "cnn", "quantised"])
def test_the_bytes_are_those_that_the_runtime_wrote(name: str) -> None:
    seen = profile(name)
    found = audit(DATA / f"{name}.ort.onnx")
    assert not found.troubles
    assert found.moves
    for move in found.moves:
        assert move.bytes in (0, int(seen[move.place.name]["output_size"]))
        assert move.bytes or move.kind == "same bytes"


@pytest.mark.parametrize("told", JUDGE["reorders"], ids=lambda t: f"{t['op']}-{t['channels']}-{t['last']}")
def test_reorders_go_where_the_runtime_puts_the_numbers(told: dict, tmp_path: Path) -> None:
    """The model holds a convolution of 20 channels after it or before it, which proves the blocks of 16."""
    last, channels = told["last"], told["channels"]
    out = told["op"] == "ReorderOutput"
    padded = -(-channels // 16) * 16
    graph = [
        *([_node("Conv", ["i", "w"], ["x"], domain=True)] if out else []),
        _node(told["op"], ["x"], ["y"], domain=True, channels_last=last, **({"channels": channels} if out else {})),
        *([] if out else [_node("Conv", ["y", "w"], ["z"], domain=True)]),
        _node("Conv", ["plain", "proof"], ["unused"], domain=True),
    ]
    weights = [("w", [padded, 8, 1, 1] if out else [16, padded, 1, 1]), ("proof", [16, 12, 1, 1])]
    source = [1, 2, 3, channels] if last and not out else [1, channels, 2, 3]
    infos = [("i", [1, 8, 2, 3])] if out else [("x", source)]
    path = tmp_path / "one.onnx"
    path.write_bytes(_model(graph, weights, infos))
    (move,) = audit(path).moves
    a, b = move.source.layout, move.target.layout
    result = np.zeros(b.storage_size, int)
    for c in itertools.product(*[range(n) for n in a.extents]):
        result[b(c)] = a(c) + 1
    assert result.tolist() == told["out"]
    unmoved = told["out"] == list(range(1, len(told["out"]) + 1))
    assert move.kind == ("same bytes" if unmoved else "rearranges")


def _node(op: str, inputs: list[str], outputs: list[str], domain: bool = False, **integers: int) -> bytes:
    parts = [encode_field(1, x) for x in inputs] + [encode_field(2, x) for x in outputs]
    parts += [encode_field(3, f"{op} of {inputs[0]}"), encode_field(4, op)]
    for name, value in integers.items():
        parts.append(encode_field(5, encode_field(1, name) + encode_field(3, value) + encode_field(20, 2)))
    return b"".join([*parts, encode_field(7, "com.microsoft.nchwc" if domain else "")])


def _model(nodes: list[bytes], weights: list[tuple[str, list[int]]], infos: list[tuple[str, list[int]]]) -> bytes:
    graph = b"".join([encode_field(1, node) for node in nodes])
    for name, sizes in weights:
        tensor = b"".join([encode_field(1, n) for n in sizes]) + encode_field(2, 1) + encode_field(8, name)
        graph += encode_field(5, tensor + encode_field(9, bytes(4 * int(np.prod(sizes)))))
    for name, sizes in infos:
        dims = b"".join([encode_field(1, encode_field(1, n)) for n in sizes])
        graph += encode_field(
            11, encode_field(1, name) + encode_field(2, encode_field(1, encode_field(1, 1) + encode_field(2, dims)))
        )
    return encode_field(1, 8) + encode_field(7, graph)


def _floats(path: Path, name: str) -> tuple[np.ndarray, rl.Tensor]:
    """The numbers of a tensor in the order of the file, and the tensor."""
    file = rl.open(path)
    (segment,) = file.source[name].segments
    return np.frombuffer(path.read_bytes()[segment.start : segment.start + segment.size], np.float32), file[name]


@pytest.mark.parametrize(
    ("name", "original", "shape", "layout"),
    [
        ("reorder", "first", (16, 3, 3, 3), "tvm:OIHW16o"),
        ("reorder_token_1", "second", (20, 16, 1, 1), "tvm:OIHW16i16o"),
        ("reorder_token_3", "third", (32, 20, 1, 1), "tvm:OIHW16i16o"),
        ("reorder_token_6", "depthwise", (32, 1, 3, 3), "tvm:OIHW16o"),
    ],
)
def test_inspect_tells_where_the_runtime_put_the_weights(name: str, original: str, shape: tuple, layout: str) -> None:
    """The bytes of the saved model against the weights of the original, coordinate by coordinate."""
    values, _ = _floats(DATA / "cnn.onnx", original)
    values = values.reshape(shape)
    stored, blocked = _floats(DATA / "cnn.ort.onnx", name)
    there = rl.parse(layout, shape=blocked.shape)
    assert rl.compare(blocked.layout, there)
    assert not rl.compare(there, rl.Layout.row_major(blocked.shape))
    for c in itertools.product(*[range(n) for n in blocked.shape]):
        assert stored[there(c)] == (values[c] if all(i < n for i, n in zip(c, shape)) else 0)


def test_the_graph_proves_the_size_of_blocks_or_names_both() -> None:
    found = {b.place.name: b.side.text for b in audit(DATA / "open_blocks.ort.onnx").buffers if b.role == "constant"}
    assert set(found.values()) == {"OIHW8o or OIHW16o", "OIHW8i8o or OIHW16i16o"}
    split = {b.side.text for b in audit(DATA / "split_blocks.ort.onnx").buffers if len(b.shape) == 4}
    assert {"OIHW16o", "OIHW16i16o"} <= split
    with pytest.raises(rl.BadFile, match=r"tvm:OIHW8o or tvm:OIHW16o"):
        _ = rl.open(DATA / "open_blocks.ort.onnx")["reorder"]


@pytest.mark.parametrize(
    ("channels", "sizes", "blocks"),
    [
        (24, [24, 3, 1, 1], (8,)),
        (32, [32, 3, 1, 1], (8, 16)),
        (20, [32, 3, 1, 1], (16,)),
        (28, [32, 3, 1, 1], (8, 16)),
        (32, [32, 9, 1, 1], (16,)),
        (20, [24, 9, 1, 1], ()),
    ],
)
def test_every_part_of_the_graph_narrows_the_blocks(channels: int, sizes: list, blocks: tuple, tmp_path: Path) -> None:
    nodes = [
        _node("Conv", ["x", "w"], ["y"], domain=True),
        _node("ReorderOutput", ["y"], ["z"], domain=True, channels=channels),
    ]
    path = tmp_path / "model.onnx"
    path.write_bytes(_model(nodes, [("w", sizes)], [("x", [1, sizes[1], 2, 2])]))
    graph = read_graph(path)
    assert blocked_parts(graph.nodes, {"w": tuple(sizes)}).blocks == blocks
    (move,) = audit(path).moves
    assert move.kind == ("rearranges" if blocks else "undecided")


def test_pairs_are_found_across_elementwise_nodes() -> None:
    plain = audit(DATA / "plain.onnx")
    names = [(plain.moves[p.first].place.name, plain.moves[p.second].place.name, p.alone) for p in plain.pairs]
    assert names == [("to_nhwc", "back_to_nchw", True)]
    kinds = {m.place.name: m.kind for m in plain.moves}
    assert kinds["free_transpose"] == kinds["reshape"] == "same bytes"
    assert "weights: pack once" in next(m for m in plain.moves if m.place.name == "weights_transpose").remarks
    for name in ("plain", "cnn", "open_blocks"):
        found = audit(DATA / f"{name}.ort.onnx")
        (pair,) = found.pairs
        assert (found.moves[pair.first].op, found.moves[pair.second].op) == ("ReorderOutput", "ReorderInput")


@pytest.mark.parametrize("name", ["plain", "cnn", "quantised"])
def test_a_profile_gives_its_times_to_the_model(name: str) -> None:
    model = audit(DATA / f"{name}.ort.onnx", times=DATA / f"{name}.ort.profile.json")
    events = json.loads((DATA / f"{name}.ort.profile.json").read_text())
    for move in model.moves:
        spent = [e["dur"] for e in events if e["name"] == f"{move.place.name}_kernel_time"]
        assert len(spent) == 3
        assert move.time == pytest.approx(sum(spent) / 3e6)
    whole = sum([e["dur"] for e in events if e["cat"] == "Node"])
    assert (model.totals.time or 0) + (model.totals.step_time or 0) == pytest.approx(whole / 3e6)


@pytest.mark.parametrize("name", ["plain", "cnn", "quantised"])
def test_a_profile_alone_says_what_every_possible_move_has_in_common(name: str) -> None:
    alone = {m.place.name: m for m in audit(DATA / f"{name}.ort.profile.json").moves}
    for move in audit(DATA / f"{name}.ort.onnx").moves:
        found = alone[move.place.name]
        assert found.kind in (move.kind, "undecided")
        assert found.count == 3
        assert found.bytes == move.bytes
        if found.source.layout is not None and move.op.startswith("Reorder"):
            assert rl.compare(found.source.layout, move.source.layout)
    assert alone


def test_sizes_that_the_model_leaves_open() -> None:
    (first, _, _) = audit(DATA / "open_blocks.ort.onnx").moves
    assert (first.shape, first.bytes, first.kind) == ((-1, 32, 8, 8), None, "rearranges")
    assert "8192 bytes for each N" in first.remarks


def test_what_is_cut_off_gives_what_comes_before(tmp_path: Path) -> None:
    data = (DATA / "plain.onnx").read_bytes()
    path = tmp_path / "cut.onnx"
    for size in (300, 700, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        found = audit(path)
        assert found.troubles
        assert "cut off" in found.troubles[0].message
        assert size < 700 or len(found.moves) > 2
    text = (DATA / "cnn.ort.profile.json").read_text()
    path = tmp_path / "cut.json"
    path.write_text(text[: len(text) // 2])
    found = audit(path)
    assert found.moves
    assert "ends inside an object" in found.troubles[-1].message
    path.write_text(text.replace('"cat": "Session"', '"cat" "Session"', 1))
    assert audit(path).moves
    assert audit(path).troubles


def test_a_profile_is_read_in_any_shape_of_json(tmp_path: Path) -> None:
    events = json.loads((DATA / "cnn.ort.profile.json").read_text())
    wanted = audit(DATA / "cnn.ort.profile.json")
    for text in (json.dumps(events), json.dumps(events, indent=2)):
        path = tmp_path / "profile.json"
        path.write_text(text)
        found = audit(path)
        assert not found.troubles
        assert [(m.kind, m.bytes, m.time) for m in found.moves] == [(m.kind, m.bytes, m.time) for m in wanted.moves]


def test_only_models_are_taken_for_models() -> None:
    assert all(is_model(path.read_bytes()[:4096]) for path in DATA.glob("*.onnx"))
    assert not any(is_model(head) for head in (b"", b"\x08", b"\x08\x08\x12", b"{}", bytes(64), b"\x93NUMPY"))


def test_weights_in_blocks_are_repacked_from_where_they_are(tmp_path: Path) -> None:
    names = {"reorder": "first", "reorder_token_1": "second", "reorder_token_3": "third"}
    for to, file in (("row-major", "rows.onnx"), ("tvm:OIHW8i8o", "eights.onnx"), ("row-major", "rows.safetensors")):
        rl.repack_file(DATA / "cnn.ort.onnx", tmp_path / file, to=to)
        made = rl.open(tmp_path / file)
        for name, original in names.items():
            values = rl.open(DATA / "cnn.onnx")[original].numpy()
            padded = rl.repack(made[name], "row-major").numpy()
            assert (padded[tuple(slice(n) for n in values.shape)] == values).all()
            assert padded.sum() == values.sum()
    rl.repack_file(DATA / "cnn.ort.onnx", tmp_path / "one.onnx", to="row-major", only="reorder")
    assert rl.open(tmp_path / "one.onnx").source["reorder_token_1"].record.layout == "tvm:OIHW16i16o"


def test_blocks_of_an_unknown_size_are_repacked_from_what_is_said(tmp_path: Path) -> None:
    source = DATA / "open_blocks.ort.onnx"
    with pytest.raises(rl.BadFile, match="the file does not tell"):
        rl.repack_file(source, tmp_path / "rows.safetensors", to="row-major", only="reorder_token_1")
    told = {"to": "row-major", "src": "tvm:OIHW16i16o", "only": "reorder_token_1"}
    rl.repack_file(source, tmp_path / "rows.safetensors", **told)
    expected = (np.arange(32 * 32) * 7 % 97 - 48).reshape(32, 32, 1, 1)
    assert (rl.open(tmp_path / "rows.safetensors")["reorder_token_1"].numpy() == expected).all()


def test_what_is_broadcast_is_read_too(tmp_path: Path) -> None:
    """Of a pair whose middle something else reads only the second move can go; an open size tells no bytes."""
    onnx = pytest.importorskip("onnx")
    make = onnx.helper
    nodes = [
        make.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1], name="there"),
        make.make_node("Transpose", ["t"], ["u"], perm=[0, 2, 1], name="back"),
        make.make_node("Add", ["t", "large"], ["s"], name="sum"),
    ]
    for some, alone in ((nodes, False), (nodes[:2], True)):
        for batch in (1, "N"):
            shapes = {"x": [batch, 4, 6], "large": [3, 6, 4], "u": [batch, 4, 6], "s": [3, 6, 4]}
            value = {name: make.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()}
            outputs = [value["u"], *([] if alone else [value["s"]])]
            onnx.save(
                make.make_model(make.make_graph(some, "g", [value["x"], value["large"]], outputs)), tmp_path / "m"
            )
            found = rl.audit(tmp_path / "m")
            assert [pair.alone for pair in found.pairs] == [alone]
            assert [saving.bytes for saving in found.savings] == [(2 if alone else 1) * 96 if batch == 1 else 0]
