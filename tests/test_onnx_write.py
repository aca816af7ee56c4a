"""Weights written back into ONNX models, judged by the ``onnx`` package, by numpy and by onnxruntime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relayout as rl
from file_support import field, onnx_bytes
from relayout.cli.main import relayout
from relayout.elements.types import element
from relayout.files.contents import PlannedTensor
from relayout.files.registry import container_named, open_source

onnx = pytest.importorskip("onnx")
helper, numpy_helper = onnx.helper, onnx.numpy_helper
RNG = np.random.default_rng(0)
WEIGHTS = {
    "conv": RNG.standard_normal((8, 3, 5, 7)).astype(np.float32),
    "bias": RNG.standard_normal(8).astype(np.float32),
    "dense": RNG.standard_normal((8, 10)).astype(np.float32),
    "inline": RNG.standard_normal((10, 6)).astype(np.float32),
}


def branch(name: str, value: float) -> Any:
    held = numpy_helper.from_array(np.full(6, value, np.float32), f"of_{name}")
    out = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [6])
    return helper.make_graph([helper.make_node("Identity", [f"of_{name}"], [name])], name, [], [out], [held])


def model() -> Any:
    """A model that runs, with weights of all kinds, and much besides them."""
    inline = numpy_helper.from_array(WEIGHTS["inline"], "of the constant")
    inline.doc_string = "said of the constant"
    nodes = [
        helper.make_node("Constant", [], ["inline"], value=inline, doc_string="a node"),
        helper.make_node("Constant", [], ["number"], value_float=2.0),
        helper.make_node("Conv", ["x", "conv", "bias"], ["a"]),
        helper.make_node("GlobalAveragePool", ["a"], ["b"]),
        helper.make_node("Flatten", ["b"], ["c"]),
        helper.make_node("Gemm", ["c", "dense"], ["d"]),
        helper.make_node("MatMul", ["d", "inline"], ["e"]),
        helper.make_node("Mul", ["e", "number"], ["f"]),
        helper.make_node("If", ["yes"], ["g"], then_branch=branch("g1", 1), else_branch=branch("g2", 2)),
        helper.make_node("Add", ["f", "g"], ["y"]),
        helper.make_node("Cast", ["counts"], ["z"], to=onnx.TensorProto.INT32),
    ]
    held = [numpy_helper.from_array(WEIGHTS[name], name) for name in ("conv", "bias", "dense")]
    held[0].doc_string = "said of the weights"
    held += [
        numpy_helper.from_array(np.array(True), "yes"),
        helper.make_tensor("counts", onnx.TensorProto.INT64, [3], [1, -2, 1 << 40]),
        helper.make_tensor("words", onnx.TensorProto.STRING, [2], [b"one", b"two"]),
    ]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 9, 9])
    outs = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 6])]
    outs.append(helper.make_tensor_value_info("z", onnx.TensorProto.INT32, [3]))
    known = [helper.make_tensor_value_info("dense", onnx.TensorProto.FLOAT, [8, 10])]
    graph = helper.make_graph(nodes, "net", [x], outs, held, doc_string="a graph", value_info=known)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="me")
    helper.set_model_props(made, {"author": "a", "größe": "1"})
    return made


def tensors(made: Any) -> dict[str, Any]:
    found = {t.name: t for t in made.graph.initializer}
    return found | {n.output[0]: n.attribute[0].t for n in made.graph.node if n.attribute and n.attribute[0].t.dims}


def without_weights(made: Any) -> Any:
    """The model without what a repack may change."""
    rest = onnx.ModelProto()
    rest.CopyFrom(made)
    for tensor in tensors(rest).values():
        for name in ("dims", "data_type", "raw_data", "int64_data", "float_data", "external_data", "data_location"):
            tensor.ClearField(name)
    props = {p.key: p.value for p in rest.metadata_props if p.key != "relayout"}
    rest.ClearField("metadata_props")
    rest.graph.ClearField("value_info")
    return rest, props


def save(path: Path, external: bool = False, threshold: int = 0) -> Any:
    location = f"{path.name}.weights"
    onnx.save(model(), path, save_as_external_data=external, location=location, size_threshold=threshold)
    return model()


@pytest.mark.parametrize("external", [False, True])
def test_weights_are_written_back_into_the_model_and_out_of_it_again(tmp_path: Path, external: bool) -> None:
    before = save(tmp_path / "m.onnx", external)
    options: dict[str, Any] = {"verify": True, "only": ["conv", "dense", "inline"]}
    rules = [{"name": "conv", "to": "onednn:hwio"}, {"name": "dense", "to": "format:1 0"}]
    rules.append({"name": "inline", "to": "format:0 1 / 0,16 1,4"})
    rl.repack_file(tmp_path / "m.onnx", tmp_path / "o.onnx", rules=rules, **options)
    after = onnx.load(tmp_path / "o.onnx")
    onnx.checker.check_model(str(tmp_path / "o.onnx"))
    found = {name: numpy_helper.to_array(t) for name, t in tensors(after).items()}
    np.testing.assert_array_equal(found["conv"], WEIGHTS["conv"].transpose(2, 3, 1, 0))
    np.testing.assert_array_equal(found["dense"], WEIGHTS["dense"].T)
    blocks = np.pad(WEIGHTS["inline"], ((0, 6), (0, 2))).reshape(1, 16, 2, 4).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(found["inline"], blocks)
    np.testing.assert_array_equal(found["bias"], WEIGHTS["bias"])
    assert found["counts"].tolist() == [1, -2, 1 << 40]
    assert without_weights(after) == without_weights(before)
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in after.graph.value_info}
    assert shapes == {"dense": [10, 8]}
    assert (tmp_path / "o.onnx.data").exists() == external
    told = json.loads({p.key: p.value for p in after.metadata_props}["relayout"])
    assert set(told) == {"conv", "dense", "inline"}
    assert (told["conv"]["shape"], told["conv"]["axes"]) == ([8, 3, 5, 7], "oihw")
    assert rl.verify(tmp_path / "m.onnx", tmp_path / "o.onnx")
    # Other programs that save it again keep the record.
    onnx.save(after, tmp_path / "again.onnx")
    rl.repack_file(tmp_path / "again.onnx", tmp_path / "back.onnx")
    back = onnx.load(tmp_path / "back.onnx")
    assert {p.key: p.value for p in back.metadata_props} == {"author": "a", "größe": "1"}
    for tensor in before.graph.initializer:
        if tensor.name == "counts":
            tensor.CopyFrom(numpy_helper.from_array(np.array([1, -2, 1 << 40]), "counts"))
    assert back == before


def test_a_way_there_and_back_gives_the_bytes_of_the_file(tmp_path: Path) -> None:
    made = model()
    del made.graph.initializer[-2]  # numbers of varying length become raw data
    del made.graph.node[-1], made.graph.output[-1]
    onnx.save(made, tmp_path / "m.onnx")
    rl.repack_file(tmp_path / "m.onnx", tmp_path / "o.onnx", to="onednn:hwio", only="conv")
    rl.repack_file(tmp_path / "o.onnx", tmp_path / "b.onnx")
    assert (tmp_path / "o.onnx").read_bytes() != (tmp_path / "m.onnx").read_bytes()
    assert (tmp_path / "b.onnx").read_bytes() == (tmp_path / "m.onnx").read_bytes()


def test_a_model_that_came_back_runs_as_before(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    save(tmp_path / "m.onnx", external=True, threshold=1024)  # it finds no external data of constants
    rl.repack_file(tmp_path / "m.onnx", tmp_path / "o.onnx", to="onednn:hwio", only="conv")
    rl.repack_file(tmp_path / "o.onnx", tmp_path / "b.onnx", verify=True)
    x = RNG.standard_normal((1, 3, 9, 9)).astype(np.float32)
    made = []
    for name in ("m.onnx", "b.onnx"):
        session = runtime.InferenceSession(str(tmp_path / name), providers=["CPUExecutionProvider"])
        made.append([y.tobytes() for y in session.run(None, {"x": x})])
    assert made[0] == made[1]


def test_a_repacked_model_shows_its_layouts(tmp_path: Path) -> None:
    save(tmp_path / "m.onnx")
    words = [str(tmp_path / "m.onnx"), str(tmp_path / "o.onnx"), "--to", "onednn:hwio", "--only", "conv"]
    assert CliRunner().invoke(relayout, ["repack", *words]).exit_code == 0
    shown = CliRunner().invoke(relayout, ["inspect", str(tmp_path / "o.onnx"), "--json"])
    (row,) = [row for row in json.loads(shown.output)["result"]["tensors"] if row["name"] == "conv"]
    assert (row["shape"], row["axes"], row["layout"]) == ([8, 3, 5, 7], "oihw", "onednn:hwio")


def test_a_run_that_was_stopped_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from relayout.files import tuning

    save(tmp_path / "m.onnx", external=True)
    monkeypatch.setattr(tuning, "ACTIVE", tuning.ACTIVE._replace(part_bytes=256, journal_batch_bytes=256))
    options: dict[str, Any] = {"to": "onednn:hwio", "only": "conv", "jobs": 1}
    (tmp_path / "whole").mkdir()
    rl.repack_file(tmp_path / "m.onnx", tmp_path / "whole" / "o.onnx", **options)
    stop: dict[str, Any] = {"progress": lambda done, total: done < total // 2, **options}
    with pytest.raises(rl.Cancelled):
        rl.repack_file(tmp_path / "m.onnx", tmp_path / "o.onnx", **stop)
    left = {path.name for path in tmp_path.glob("o.onnx*")}
    assert left == {"o.onnx.part", "o.onnx.data.part", "o.onnx.part.journal"}
    report = rl.repack_file(tmp_path / "m.onnx", tmp_path / "o.onnx", resume=True, verify=True, **options)
    assert report.resumed > 0
    for name in ("o.onnx", "o.onnx.data"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("file", ["o.onnx.part", "o.onnx.data.part"])
@pytest.mark.parametrize("damage", ["cut", "removed", "zeroed"])
def test_a_model_that_was_written_is_renamed_only_whole(tmp_path: Path, file: str, damage: str) -> None:
    """The run before ended when all was written, and nothing renamed; then somebody was at its files."""
    save(tmp_path / "m.onnx", external=True)
    options: dict[str, Any] = {"to": "onednn:hwio", "only": "conv"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "relayout.files.jobs.staging.StagedFiles.finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            rl.repack_file(tmp_path / "m.onnx", tmp_path / "o.onnx", **options)
    part = tmp_path / file
    data = part.read_bytes()
    if damage == "removed":
        part.unlink()
    else:
        part.write_bytes(data[:100] if damage == "cut" else bytes(len(data)))
    with pytest.raises((rl.BadFile, rl.LayoutMismatch), match=r"not as the run|not what was read"):
        rl.repack_file(tmp_path / "m.onnx", tmp_path / "o.onnx", resume=True, verify=True, **options)
    assert not (tmp_path / "o.onnx").exists()
    rl.repack_file(tmp_path / "m.onnx", tmp_path / "o.onnx", force=True, verify=True, **options)
    assert not list(tmp_path.glob("*.part*"))


def test_types_that_a_model_has_no_word_for_are_bits(tmp_path: Path) -> None:
    """Version 8 of the format lacks 4-bit integers; the record names them."""
    save(tmp_path / "m.onnx")
    rules = [{"name": "dense", "dtype": "qint4", "scale": 0.5, "offset": 0}]
    rl.repack_file(tmp_path / "m.onnx", tmp_path / "o.onnx", rules=rules, verify=True)
    onnx.checker.check_model(str(tmp_path / "o.onnx"))
    (dense,) = [t for t in onnx.load(tmp_path / "o.onnx").graph.initializer if t.name == "dense"]
    assert (list(dense.dims), dense.data_type) == ([8, 5], onnx.TensorProto.UINT8)
    codes = np.clip(np.rint(WEIGHTS["dense"] / 0.5), -8, 7)
    np.testing.assert_array_equal(rl.open(tmp_path / "o.onnx")["dense"].numpy(), codes * 0.5)


def test_tensors_of_other_files_are_a_model_of_initializers(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.arange(12.0).reshape(3, 4), b=np.arange(5, dtype=np.int8))
    rl.repack_file(tmp_path / "x.npz", tmp_path / "x.onnx", to="format:1 0", only="a")
    made = onnx.load(tmp_path / "x.onnx")
    onnx.checker.check_model(made)
    found = {t.name: numpy_helper.to_array(t).tolist() for t in made.graph.initializer}
    assert found == {"a": np.arange(12.0).reshape(3, 4).T.tolist(), "b": [0, 1, 2, 3, 4]}
    assert rl.verify(tmp_path / "x.npz", tmp_path / "x.onnx")


def test_what_protocol_buffers_cannot_hold_is_beside_the_model(tmp_path: Path) -> None:
    large = PlannedTensor("x", element("uint8"), (1 << 20, 1 << 20))
    made = container_named("onnx").plan(tmp_path / "x.onnx", [large, PlannedTensor("y", element("uint8"), (4096,))])
    assert [path.name for path in made.files] == ["x.onnx.data", "x.onnx"]
    assert made.files[tmp_path / "x.onnx"][0] < 1000
    assert [made.entries[name][0].start for name in "xy"] == [0, 1 << 40]
    with pytest.raises(rl.BadFile, match="name"):
        container_named("onnx").plan(tmp_path / "a:b.onnx", [large])


def test_external_data_that_are_no_weights_go_into_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = model()
    held = made.graph.node[8].attribute[0].g.initializer[0]
    (tmp_path / "d").write_bytes(b"before" + held.raw_data)
    onnx.external_data_helper.set_external_data(held, "d", offset=6, length=len(held.raw_data))
    held.ClearField("raw_data")
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    (tmp_path / "other").mkdir()
    rl.repack_file(tmp_path / "m.onnx", tmp_path / "other" / "o.onnx", to="onednn:hwio", only="conv")
    after = onnx.load(tmp_path / "other" / "o.onnx")
    assert numpy_helper.to_array(after.graph.node[8].attribute[0].g.initializer[0]).tolist() == [2.0] * 6
    monkeypatch.setattr("relayout.files.onnx_rewrite.HEADER_LIMIT", 23)
    with pytest.raises(rl.BadFile, match="beside the model"):
        rl.repack_file(tmp_path / "m.onnx", tmp_path / "n.onnx", to="onednn:hwio", only="conv")
    assert not list(tmp_path.glob("n.onnx*"))


def test_a_model_that_changes_under_its_plan_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "m.onnx")
    source = open_source(tmp_path / "m.onnx")
    planned = [PlannedTensor(e.name, e.element, e.shape, e.record) for e in source.values()]
    other = model()
    other.graph.initializer[0].dims[:] = [8, 5, 3, 7]
    onnx.save(other, tmp_path / "m.onnx")
    with pytest.raises(rl.BadFile, match="changed"):
        container_named("onnx").plan_into(tmp_path / "o.onnx", planned, source)
    source = open_source(tmp_path / "m.onnx")
    with pytest.raises(rl.BadFile, match="not those of the model"):
        container_named("onnx").plan_into(tmp_path / "o.onnx", planned[1:], source)


def test_graphs_in_graphs_without_end_are_refused(tmp_path: Path) -> None:
    inner = b""
    for _ in range(200):
        inner = field(1, field(5, field(6, inner)))
    weights = field(5, field(1, 1) + field(2, 2) + field(8, b"x") + field(9, b"1"))
    (tmp_path / "x.onnx").write_bytes(field(1, 8) + field(7, inner + weights))
    with pytest.raises(rl.BadFile, match="nested"):
        rl.repack_file(tmp_path / "x.onnx", tmp_path / "y.onnx")


def test_a_model_with_too_much_besides_weights_is_refused(tmp_path: Path) -> None:
    words = field(2, 8) + field(8, b"words") + field(6, bytes(33 << 20))
    (tmp_path / "x.onnx").write_bytes(onnx_bytes(words))
    with pytest.raises(rl.BadFile, match="besides its weights"):
        rl.repack_file(tmp_path / "x.onnx", tmp_path / "y.onnx")


def test_the_data_of_a_model_that_is_replaced_go_with_it(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "inside.onnx")
    onnx.save(model(), tmp_path / "outside.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    out = tmp_path / "out.onnx"
    rl.repack_file(tmp_path / "outside.onnx", out)
    assert (tmp_path / "out.onnx.data").exists()
    rl.repack_file(tmp_path / "inside.onnx", out, force=True)
    assert not (tmp_path / "out.onnx.data").exists()
    assert np.array_equal(numpy_helper.to_array(onnx.load(out).graph.initializer[0]), WEIGHTS["conv"])
    (tmp_path / "new.onnx.data").write_bytes(b"somebody's")
    with pytest.raises(rl.BadFile, match=r"new.onnx.data exists"):
        rl.repack_file(tmp_path / "inside.onnx", tmp_path / "new.onnx")
    assert (tmp_path / "new.onnx.data").read_bytes() == b"somebody's"
