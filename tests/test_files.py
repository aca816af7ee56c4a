"""Files of tensors, judged by the libraries that own the formats."""

from __future__ import annotations

import io
import json
import resource
import warnings
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import relayout as rl
from file_support import field, onnx_bytes, store
from relayout.elements.types import element
from relayout.files.contents import PlannedTensor
from relayout.files.record import LayoutRecord
from relayout.files.registry import container_of, open_source, plan_destination
from relayout.testing.container_samples import write_destination

KINDS = ["x.npy", "x.npz", "x.safetensors", "x.safetensors.index.json", "x.zarr", "x.bin"]
IMAGE = (np.arange(9 * 9 * 40) % 251).astype(np.uint8).reshape(1, 9, 9, 40)


def same(found: rl.Tensor, expected: np.ndarray) -> bool:
    return found.shape == expected.shape and found.stored().tobytes() == np.ascontiguousarray(expected).tobytes()


# ---- every kind that is written --------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_a_packed_tensor_comes_back_with_its_layout(tmp_path: Path, name: str) -> None:
    packed = rl.repack(IMAGE, "htp:R4Crouton")
    means = rl.ScaleOffset(0.5, 3, "quint8")
    record = LayoutRecord.of("htp:R4Crouton", IMAGE.shape, means, axes="nhwc", fill=31)
    path = store(tmp_path / name, {"x": packed}, {"x": record}, {"made": "by hand"})
    with rl.open(path) as file:
        assert list(file) == ["x"]
        assert len(file) == 1
        assert file.metadata == {"made": "by hand"}
        assert file.source["x"].record == record
        found = file["x"]
        assert found.interface == means
        assert found.axes == "nhwc"
        assert found.layout == rl.parse("htp:R4Crouton", shape=IMAGE.shape)
        assert same(found, IMAGE)
        assert not found.writable
    assert same(found, IMAGE)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2fnuz", "bool", "complex64", "complex128", "int64"]
)
def test_every_type_comes_back(tmp_path: Path, name: str, dtype: str) -> None:
    kind = getattr(ml_dtypes, dtype, None) or dtype
    x = (np.arange(15) % 2).astype(kind).reshape(3, 5)
    found = rl.open(store(tmp_path / name, {"x": x}))["x"]
    assert found.dtype == dtype
    assert same(found, x)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("shape", [(2, 3), (4, 5), ()])
def test_elements_below_a_byte_are_packed(tmp_path: Path, name: str, shape: tuple[int, ...]) -> None:
    x = rl.from_logical(np.resize([1, -2, 3], shape), rl.Layout.row_major(shape), "int4")
    plan = plan_destination(tmp_path / name, None, [PlannedTensor("x", element("int4"), shape)])
    write_destination(plan, {"x": x.raw.tobytes()})
    found = rl.open(tmp_path / name)["x"]
    assert found.dtype == "int4"
    assert found.numpy().tolist() == x.numpy().tolist()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)])
def test_scalars_and_empty_arrays(tmp_path: Path, name: str, shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    assert same(rl.open(store(tmp_path / name, {"x": x}))["x"], x)


@pytest.mark.parametrize("name", ["x.npz", "x.safetensors", "x.safetensors.index.json", "x.zarr"])
def test_several_tensors_are_mapped_in_place(tmp_path: Path, name: str) -> None:
    arrays = {"one/b": np.arange(7, dtype=np.uint8), "a": np.arange(6.0), "ä": np.arange(5, dtype=np.int16)}
    file = rl.open(store(tmp_path / name, arrays))
    assert set(file) == set(arrays)
    for key, x in arrays.items():
        assert same(file[key], x)
        assert np.shares_memory(file[key].raw, file[key].raw)


def test_the_same_tensors_make_the_same_files(tmp_path: Path) -> None:
    x = {"x": np.arange(4)}
    for name in KINDS[:3]:
        assert store(tmp_path / name, x).read_bytes() == store(tmp_path / "again" / name, x).read_bytes()


# ---- numpy -----------------------------------------------------------------------------------------------


@given(
    x=hnp.arrays(
        st.sampled_from(["u1", "<i2", "<f4", "<f8", "?", "<c16"]), hnp.array_shapes(min_dims=0, min_side=0, max_side=4)
    ),
    fortran=st.booleans(),
    version=st.sampled_from([(1, 0), (2, 0), (3, 0)]),
)
def test_numpys_files(tmp_path_factory: Any, x: np.ndarray, fortran: bool, version: tuple[int, int]) -> None:
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.asarray(x, order="F" if fortran else "C"), version=version)
    assert same(rl.open(path)["x"], x)
    np.savez(path.with_suffix(".npz"), x=np.asarray(x, order="F" if fortran else "C"), y=x)
    both = rl.open(path.with_suffix(".npz"))
    assert same(both["x"], x)
    assert same(both["y"], x)
    np.testing.assert_array_equal(np.load(store(path, {"x": x})), x)
    np.testing.assert_array_equal(np.load(store(path.with_suffix(".npz"), {"x": x}))["x"], x)


def test_fortran_order_is_a_layout_over_the_same_bytes(tmp_path: Path) -> None:
    x = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    np.save(tmp_path / "x.npy", x)
    found = rl.open(tmp_path / "x.npy")["x"]
    assert found.layout == rl.Layout.col_major(2, 3, 4)
    assert found.raw.tolist() == x.ravel("K").tolist()
    assert open_source(tmp_path / "x.npy")["x"].shape == (4, 3, 2)


def test_an_archive_is_sound_small_and_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = {"x": np.arange(100), "y": np.arange(3.0)}
    for _ in range(2):
        path = store(tmp_path / "x.npz", arrays)
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            assert archive.namelist() == ["x.npy", "y.npy"]
        for key, x in arrays.items():
            np.testing.assert_array_equal(np.load(path)[key], x)
            assert same(rl.open(path)[key], x)
            assert open_source(path)[key].segments[0].start % 64 == 0
        # From here on every archive counts as too large for 32 bits.
        monkeypatch.setattr("relayout.files.containers.npz.MANY", 1)


def test_a_renamed_file_keeps_its_record(tmp_path: Path) -> None:
    record = LayoutRecord.of("mojo:((2, 3):(1, 2))", (2, 3))
    store(tmp_path / "x.npy", {"x": np.arange(6)}, {"x": record})
    for suffix in ("", ".relayout.json"):
        (tmp_path / f"x.npy{suffix}").rename(tmp_path / f"y.npy{suffix}")
    assert rl.open(tmp_path / "y.npy")["y"].numpy().tolist() == [[0, 2, 4], [1, 3, 5]]


def test_numpy_writes_no_name_for_other_packages_types(tmp_path: Path) -> None:
    x = np.arange(3).astype(ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", x)
    assert rl.open(tmp_path / "x.npy")["x"].numpy().tolist() == x.view(np.uint16).tolist()
    told = {"x": LayoutRecord.of("mojo:(3:1)", (3,), rl.Plain("bfloat16")).to_json()}
    (tmp_path / "x.npy.relayout.json").write_text(json.dumps({"relayout": told}))
    assert rl.open(tmp_path / "x.npy")["x"].numpy().tolist() == [0, 1, 2]


def test_a_closed_file_says_so(tmp_path: Path) -> None:
    with rl.open(store(tmp_path / "x.npy", {"x": np.arange(3)})) as file:
        kept = file["x"]
    assert kept.numpy().tolist() == [0, 1, 2]
    with pytest.raises(rl.BadFile, match="was closed"):
        file["x"]
    store(tmp_path / "m.npz", {"conv.weight": np.arange(3), "conv.bias": np.arange(3)})
    with rl.open(tmp_path / "m.npz") as file:
        with pytest.raises(KeyError, match=r"m.npz has no tensor 'conv.wieght'\. Hint: did you mean conv.weight"):
            file["conv.wieght"]
        assert "x" not in file
        assert file.get("x") is None


def test_raw_files_are_as_told(tmp_path: Path) -> None:
    path = tmp_path / "dump.bin"
    path.write_bytes(np.arange(6, dtype=np.int16).tobytes())
    assert rl.open(path, dtype="int16", shape=(2, 3))["dump"].numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    column = rl.open(path, dtype="int16", shape=(2, 3), layout="mojo:((2, 3):(1, 2))")["dump"]
    assert column.numpy().tolist() == [[0, 2, 4], [1, 3, 5]]
    packed = rl.repack(IMAGE, "htp:R4Crouton")
    path.write_bytes(packed.tobytes())
    assert same(rl.open(path, dtype="uint8", shape=IMAGE.shape, layout="htp:R4Crouton")["dump"], IMAGE)
    for wrong in ({"dtype": "int16"}, {"shape": (2, 3)}, {"dtype": "int16", "shape": (2, 4)}, {}):
        with pytest.raises(rl.BadFile):
            rl.open(path, **wrong)


def test_raw_files_that_are_not_as_told(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(bytes(400))
    with pytest.raises(rl.BadFile, match="needs 404 bytes, and 400 are stored") as refusal:
        rl.open(tmp_path / "x.bin", dtype="float32", shape=(101,))
    assert refusal.value.hint == "say the dtype, the shape and the layout that it has"
    assert "record" not in refusal.value.message


# ---- safetensors -----------------------------------------------------------------------------------------

TORCH = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "float32", "int64", "bool", "uint8", "uint16"]


def test_their_safetensors_are_read(tmp_path: Path) -> None:
    torch, judge = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    tensors = {name: (torch.arange(6) % 2).to(getattr(torch, name)).reshape(2, 3) for name in TORCH}
    judge.save_file(tensors, tmp_path / "x.safetensors", metadata={"format": "pt"})
    file = rl.open(tmp_path / "x.safetensors")
    assert file.metadata == {"format": "pt"}
    assert set(file) == set(tensors)
    for name, x in tensors.items():
        assert file[name].dtype == name
        assert file[name].stored().tobytes() == x.view(torch.uint8).numpy().tobytes()


def test_they_read_our_safetensors(tmp_path: Path) -> None:
    judge, numpys = pytest.importorskip("safetensors.torch"), pytest.importorskip("safetensors.numpy")
    safe_open = pytest.importorskip("safetensors").safe_open
    plain = {"w": np.arange(6.0).reshape(2, 3), "i": np.arange(3, dtype=np.uint8), "s": np.float32(3).reshape(())}
    narrow = {
        "b": np.arange(6).astype(ml_dtypes.bfloat16),
        "e": np.arange(6).astype(ml_dtypes.float8_e4m3fn),
        "p": rl.repack(IMAGE, "htp:R4Crouton"),
    }
    record = {"p": LayoutRecord.of("htp:R4Crouton", IMAGE.shape)}
    path = store(tmp_path / "x.safetensors", plain | narrow, record, {"format": "pt", "note": "ä"})
    found = judge.load_file(path)
    for name, x in (plain | narrow).items():
        theirs = found[name].contiguous()
        assert tuple(theirs.shape) == x.shape
        assert bytes(theirs.flatten().view(pytest.importorskip("torch").uint8).numpy()) == x.tobytes()
    path = store(tmp_path / "y.safetensors", plain)
    for name, x in numpys.load_file(path).items():
        np.testing.assert_array_equal(x, plain[name])
    with safe_open(tmp_path / "x.safetensors", "np") as file:
        words = file.metadata()
    assert words["format"] == "pt"
    assert words["note"] == "ä"
    assert json.loads(words["relayout"])["p"]["layout"] == "htp:R4Crouton"


def test_shards_are_cut_and_listed_as_others_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numpys = pytest.importorskip("safetensors.numpy")
    monkeypatch.setattr("relayout.files.containers.shards.SHARD_BYTES", 100)
    arrays = {f"t{k}": np.arange(10, dtype=np.float32) + k for k in range(5)}
    path = store(tmp_path / "model.safetensors.index.json", arrays)
    index = json.loads(path.read_text())
    assert index["metadata"]["total_size"] == 200
    assert set(index["weight_map"].values()) == {f"model-0000{k}-of-00003.safetensors" for k in (1, 2, 3)}
    for name, file in index["weight_map"].items():
        np.testing.assert_array_equal(numpys.load_file(tmp_path / file)[name], arrays[name])
    for opened in (rl.open(path), rl.open(tmp_path)):
        for name, x in arrays.items():
            assert same(opened[name], x)


def test_what_an_index_says_of_itself_survives(tmp_path: Path) -> None:
    path = store(tmp_path / "m.safetensors.index.json", {"x": np.arange(6)}, metadata={"format": "pt"})
    index = json.loads(path.read_text())
    index["metadata"]["total_parameters"] = 6
    path.write_text(json.dumps(index))
    out = tmp_path / "out" / "n.safetensors.index.json"
    out.parent.mkdir()
    rl.repack_file(path, out, dtype="int16", verify=True)
    assert json.loads(out.read_text())["metadata"] == {"total_size": 12, "total_parameters": 6}
    assert open_source(out)["x"].element.name == "int16"
    assert open_source(out.with_name("n-00001-of-00001.safetensors")).metadata == {"format": "pt"}


def test_more_files_than_may_be_open(tmp_path: Path) -> None:
    path = store(tmp_path / "x.zarr", {f"x{k}": np.full((3, 2), k, np.int32) for k in range(150)})
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 80, before[1]))
    try:
        tensors = dict(rl.open(path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert all(tensors[f"x{k}"].numpy().max() == k for k in range(150))
    file = rl.open(path)
    (path / "x7" / "c" / "0" / "0").unlink()
    with pytest.raises(rl.BadFile, match="tensor 'x7': it cannot be read: No such file"):
        file["x7"]


def test_a_cache_of_links_is_read(tmp_path: Path) -> None:
    """As Hugging Face keeps them: the index and the shards are links into one folder of blobs."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    store(tmp_path / "blobs" / "m.safetensors.index.json", {"x": np.arange(3)})
    for file in (tmp_path / "blobs").iterdir():
        (tmp_path / "snapshot" / file.name).symlink_to(file)
    assert same(rl.open(tmp_path / "snapshot" / "m.safetensors.index.json")["x"], np.arange(3))


# ---- Zarr ------------------------------------------------------------------------------------------------


def test_they_read_our_zarr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr("relayout.files.containers.zarr.CHUNK_BYTES", 100)
    shapes = {"a": (4, 6, 5), "layers/0/w": (7, 11), "prime": (101, 3), "scalar": (), "none": (0, 3), "tiny": (2, 2)}
    arrays: dict[str, Any] = {name: np.arange(np.prod(s)).reshape(s).astype("f4") for name, s in shapes.items()}
    arrays |= {"flag": np.array([True, False]), "z": np.array([1j, 2])}
    path = store(tmp_path / "x.zarr", arrays, None, {"format": "pt"})
    group = zarr.open_group(path, mode="r")
    assert dict(group.attrs) == {"format": "pt"}
    file = rl.open(path)
    assert set(file) == set(arrays)
    for name, x in arrays.items():
        np.testing.assert_array_equal(group[name][...], x)
        assert same(file[name], x)


@given(
    shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=7),
    chunk=st.lists(st.integers(1, 8), min_size=3, max_size=3),
    keys=st.sampled_from([("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")]),
    order=st.permutations(range(3)),
)
def test_their_zarr_is_read_chunks_and_all(
    tmp_path_factory: Any, shape: Any, chunk: Any, keys: Any, order: Any
) -> None:
    zarr = pytest.importorskip("zarr")
    path = tmp_path_factory.mktemp("zarr") / "x.zarr"
    x = np.arange(1, 1 + np.prod(shape), dtype=np.int32).reshape(shape)
    made = zarr.create_array(
        path,
        shape=shape,
        chunks=tuple(chunk[: len(shape)]),
        dtype="i4",
        compressors=None,
        filters=[zarr.codecs.TransposeCodec(order=[d for d in order if d < len(shape)])],
        attributes={"unit": "m"},
        chunk_key_encoding={"name": keys[0], "separator": keys[1]},
    )
    made[...] = x
    file = rl.open(path)
    assert file.metadata == {"unit": "m"}
    assert same(file["x"], x)


@pytest.mark.parametrize("chunks", [(2, 8), (3, 3), (6, 8)])
@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("uint8", 7),
        ("int16", -5),
        ("uint64", 2**64 - 1),
        ("bool", True),
        ("float16", 1.5),
        ("float32", float("nan")),
        ("float64", float("-inf")),
        ("complex64", 1 + 2j),
        ("complex128", complex(float("nan"), 1)),
    ],
)
def test_chunks_that_were_left_out_hold_the_fill_value(tmp_path: Path, dtype: str, fill: Any, chunks: Any) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=3)
    for name in ("some", "none"):
        made = {"shape": (6, 8), "chunks": chunks, "dtype": dtype, "compressors": None, "fill_value": fill}
        group.create_array(name, **made)
    group["some"][0:2, 0:3] = 1
    assert not list((tmp_path / "x.zarr" / "none").glob("c*"))
    rl.repack_file(tmp_path / "x.zarr", tmp_path / "y.npz", to="format:1 0")
    with np.load(tmp_path / "y.npz") as found:
        for name in ("some", "none"):
            theirs = group[name][:]
            assert rl.open(tmp_path / "x.zarr")[name].numpy().tobytes() == theirs.tobytes()
            assert found[name].tobytes() == theirs.T.tobytes()


def test_fill_values_by_their_bits(tmp_path: Path) -> None:
    path = store(tmp_path / "x.zarr", {"x": np.arange(4, dtype=np.float32)})
    (path / "x" / "c" / "0").unlink()
    node = json.loads((path / "x" / "zarr.json").read_text())
    (path / "x" / "zarr.json").write_text(json.dumps({**node, "fill_value": "0x7fc00001"}))
    assert rl.open(path)["x"].raw.view(np.uint32).tolist() == [0x7FC00001] * 4


def test_chunks_of_blocks_are_a_crouton(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(
        tmp_path / "x.zarr", shape=IMAGE.shape, chunks=(1, 8, 8, 32), dtype="u1", compressors=None, fill_value=31
    )
    made[...] = IMAGE
    found = rl.open(tmp_path / "x.zarr")["x"]
    assert rl.compare(found.layout, rl.parse("htp:R4Crouton", shape=IMAGE.shape))
    assert found.raw.tobytes() == rl.repack(IMAGE, "htp:R4Crouton").tobytes()


def test_what_arrays_say_of_themselves_survives(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(tmp_path / "a.zarr", attributes={"title": "t"})
    words = {"compressors": None, "attributes": {"unit": "m"}}
    group.create_array("x", data=np.arange(3), dimension_names=["time"], **words)
    inner = group.create_group("inner", attributes={"scale": 2.5})
    inner.create_array("y", data=np.arange(6).reshape(2, 3), chunks=(2, 2), dimension_names=["row", None], **words)
    group.create_group("hollow", attributes={"k": 1})
    for before, after in pairwise(["a.zarr", "b.safetensors", "c.npz", "c.zarr", "d.zarr"]):
        rl.repack_file(tmp_path / before, tmp_path / after)
    again = zarr.open_group(tmp_path / "d.zarr", mode="r")
    assert dict(again.attrs) == {"title": "t", "relayout.arrays": {"hollow": {"k": 1}}}
    assert dict(again["x"].attrs) == dict(again["inner/y"].attrs) == {"unit": "m"}
    assert dict(again["inner"].attrs) == {"scale": 2.5}
    assert again["x"].metadata.dimension_names == ("time",)
    assert again["inner/y"].metadata.dimension_names == ("row", None)


def test_names_of_dimensions_come_back_with_the_dimensions(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    names = {"dimension_names": ["n", "h", "w", "c"]}
    zarr.create_array(tmp_path / "a.zarr", data=np.zeros((1, 9, 9, 40), np.uint8), compressors=None, **names)
    rl.repack_file(tmp_path / "a.zarr", tmp_path / "b.zarr", to="format:3 2 1 0")
    rl.repack_file(tmp_path / "b.zarr", tmp_path / "c.zarr")
    found = [zarr.open_group(tmp_path / f"{name}.zarr", mode="r")["a"] for name in "bc"]
    assert [x.metadata.dimension_names for x in found] == [None, ("n", "h", "w", "c")]
    assert [x.shape for x in found] == [(40, 9, 9, 1), (1, 9, 9, 40)]


def test_names_of_dimensions_wait_for_theirs_beside_those_of_others(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(tmp_path / "a.zarr")
    for name in "xy":
        group.create_array(name, data=np.zeros((2, 3)), compressors=None, dimension_names=["row", "column"])
    rl.repack_file(tmp_path / "a.zarr", tmp_path / "b.zarr", to="format:1 0", only="x")
    rl.repack_file(tmp_path / "b.zarr", tmp_path / "c.zarr")
    found = zarr.open_group(tmp_path / "c.zarr", mode="r")
    assert [found[name].metadata.dimension_names for name in "xy"] == [("row", "column")] * 2
    assert dict(found.attrs) == {}


@pytest.mark.parametrize("names", [[5, 6], [["row"], "column"], ["row"]])
def test_what_are_no_names_of_dimensions_is_no_reason_to_fail(tmp_path: Path, names: list[Any]) -> None:
    zarr = pytest.importorskip("zarr")
    store(tmp_path / "a.safetensors", {"x": np.ones((2, 3))}, None, {"relayout.dimensions": {"x": names}})
    rl.repack_file(tmp_path / "a.safetensors", tmp_path / "b.zarr")
    found = zarr.open_group(tmp_path / "b.zarr", mode="r")
    assert np.array_equal(found["x"][...], np.ones((2, 3)))
    assert dict(found.attrs) == {"relayout.dimensions": {"x": names}}


@pytest.mark.parametrize("words", ["[]", '{"x": 5}', '{"x": "no"}', "{", "7"])
def test_words_of_strangers_stay_words(tmp_path: Path, words: str) -> None:
    strange = {"relayout.arrays": words, "relayout.dimensions": words}
    store(tmp_path / "a.safetensors", {"x": np.arange(3)}, None, strange)
    rl.repack_file(tmp_path / "a.safetensors", tmp_path / "b.zarr")
    assert open_source(tmp_path / "b.zarr").metadata == strange


NAMES = st.one_of(
    st.text(max_size=12),
    st.text("ab/.\\:\0 _c0", max_size=6),
    st.sampled_from(["__metadata__", "c", "x.npy", "zarr.json"]),
)


def test_files_of_pytorch_are_told_the_way(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    for name in ("pytorch_model.bin", "model.pt"):
        torch.save({"w": torch.ones(3)}, tmp_path / name)
        with pytest.raises(rl.BadFile, match="PyTorch") as refused:
            rl.open(tmp_path / name)
        assert "safetensors.torch.save_file" in refused.value.hint


def test_a_folder_of_two_indexes_is_asked_for_one(tmp_path: Path) -> None:
    for stem in "ab":
        store(tmp_path / f"{stem}.safetensors.index.json", {"x": np.arange(3)})
    with pytest.raises(rl.BadFile, match="2 indexes") as refused:
        rl.open(tmp_path)
    assert "a.safetensors.index.json, " in refused.value.hint


@pytest.mark.parametrize("out", ["x.npz", "x.safetensors", "x.safetensors.index.json", "x.zarr"])
@given(names=st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_names_come_back_or_are_refused(tmp_path_factory: Any, out: str, names: list[str]) -> None:
    path = tmp_path_factory.mktemp("names") / out
    arrays = {name: np.full((2, k + 1), k, np.uint8) for k, name in enumerate(names)}
    try:
        store(path, arrays)
    except rl.BadFile as refusal:
        assert refusal.tensor in names
        return
    found = rl.open(path)
    assert set(found) == set(names)
    for name, x in arrays.items():
        assert np.array_equal(found[name].numpy(), x)


# ---- GGUF and ONNX ---------------------------------------------------------------------------------------


def test_gguf_is_read(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "x.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("general.name", "name")
    writer.add_array("tokenizer.ggml.tokens", ["a", "ä", "b"])
    writer.add_array("numbers", [1, 2, 3])
    writer.add_float32("rope", 0.5)
    record = LayoutRecord.of("mojo:((3, 4):(1, 3))", (3, 4))
    writer.add_string("relayout", json.dumps({"f64": record.to_json()}))
    arrays = {
        f"{kind}": np.arange(12).astype(kind).reshape(4, 3) for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8")
    }
    arrays["f64"] = np.arange(12.0).reshape(3, 4)
    for name, x in arrays.items():
        writer.add_tensor(name, x)
    brain = np.arange(6).astype(ml_dtypes.bfloat16)
    writer.add_tensor("brain", brain.view(np.uint8).reshape(1, 12), raw_dtype=gguf.GGMLQuantizationType.BF16)
    blocks = gguf.quants.quantize(
        np.linspace(-1, 1, 128, dtype=np.float32).reshape(2, 64), gguf.GGMLQuantizationType.Q8_0
    )
    writer.add_tensor("blocks", blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = rl.open(path)
    assert file.metadata["general.name"] == "name"
    assert file.metadata["tokenizer.ggml.tokens"] == ["a", "ä", "b"]
    assert file.metadata["numbers"] == [1, 2, 3]
    assert file.metadata["rope"] == 0.5
    for name, x in arrays.items():
        expected = x.reshape(4, 3).T if name == "f64" else x
        assert same(file[name], expected)
    assert file["brain"].dtype == "bfloat16"
    assert file["brain"].numpy().astype(int).ravel().tolist() == list(range(6))
    assert same(file["blocks"], blocks)
    for tensor in gguf.GGUFReader(path).tensors:
        assert file[tensor.name].raw.tobytes() == tensor.data.tobytes()


def test_block_sizes_are_ggufs_own() -> None:
    gguf = pytest.importorskip("gguf")
    from relayout.files.containers.gguf import _BLOCKS, _PLAIN

    theirs = {int(kind): (kind.name, *sizes) for kind, sizes in gguf.GGML_QUANT_SIZES.items() if kind <= max(_BLOCKS)}
    assert set(theirs) <= {*_BLOCKS, *_PLAIN}
    assert theirs.items() >= {kind: blocks for kind, blocks in _BLOCKS.items() if kind in theirs}.items()


@pytest.mark.filterwarnings("ignore:copied unchanged")
def test_gguf_is_repacked(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "x.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("general.name", "ä")
    conv = np.arange(1 * 9 * 9 * 40, dtype=np.float32).reshape(1, 9, 9, 40)
    kind = gguf.GGMLQuantizationType.Q8_0
    blocks = gguf.quants.quantize(np.linspace(-1, 1, 256, dtype=np.float32).reshape(1, 2, 2, 64), kind)
    writer.add_tensor("conv", conv)
    writer.add_tensor("blocks", blocks, raw_dtype=kind)
    writer.add_tensor("bias", np.ones(3, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    before = path.read_bytes()
    out = tmp_path / "y.safetensors"
    with pytest.warns(UserWarning, match=r"'blocks' \(blocks of Q8_0, seen as their bytes\)"):
        rl.repack_file(path, out, to="onednn:nchw", axes="nhwc", verify=True)
    assert path.read_bytes() == before
    assert rl.verify(path, out)
    found = rl.open(out)
    assert found["conv"].raw.tobytes() == conv.transpose(0, 3, 1, 2).tobytes()
    assert found["blocks"].raw.tobytes() == blocks.tobytes()
    assert found.metadata["general.name"] == "ä"
    with pytest.raises(rl.NotExpressible, match="tensor 'blocks': it is blocks of Q8_0"):
        rl.repack_file(path, tmp_path / "z.npz", to="onednn:nchw", only="blocks")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rl.repack_file(path, tmp_path / "z.npz")
    assert {name: x.shape for name, x in np.load(tmp_path / "z.npz").items()} == {
        "conv": conv.shape,
        "blocks": blocks.shape,
        "bias": (3,),
    }
    assert json.loads(found.metadata["gguf.types"]) == {"blocks": "Q8_0"}


ONNX = ["FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64"]
ONNX += ["COMPLEX64", "COMPLEX128", "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2", "INT4", "UINT4", "FLOAT4E2M1"]


def model_of(onnx: Any, tensors: list[Any]) -> Any:
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], initializer=tensors))
    onnx.helper.set_model_props(model, {"author": "a"})
    return model


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("kind", ONNX)
def test_onnx_initializers_are_read(tmp_path: Path, kind: str, raw: bool) -> None:
    onnx = pytest.importorskip("onnx")
    number = onnx.TensorProto.DataType.Value(kind)
    x = (np.arange(15) % 3).reshape(3, 5).astype(onnx.helper.tensor_dtype_to_np_dtype(number))
    made = onnx.numpy_helper.from_array(x, "x")
    if not raw:
        values = x.astype(complex if "COMPLEX" in kind else float).ravel()
        made = onnx.helper.make_tensor("x", number, x.shape, values if x.dtype.kind in "fcV" else values.astype(int))
    assert made.data_type == number
    onnx.save(model_of(onnx, [made]), tmp_path / "x.onnx")
    file = rl.open(tmp_path / "x.onnx")
    assert file.metadata == {"author": "a"}
    found = file["x"].numpy()
    assert found.astype(complex).tolist() == onnx.numpy_helper.to_array(made).astype(complex).tolist()


def test_onnx_external_data_are_mapped(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    arrays = {"x": np.arange(2000.0), "y": np.arange(6, dtype=np.int32).reshape(2, 3)}
    model = model_of(onnx, [onnx.numpy_helper.from_array(x, name) for name, x in arrays.items()])
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    file = rl.open(tmp_path / "m.onnx")
    for name, x in arrays.items():
        assert same(file[name], x)
    assert {s.file.name for e in file.source.values() for s in e.segments} == {"m.data"}


@pytest.mark.filterwarnings("ignore:copied unchanged")
@pytest.mark.parametrize("external", [True, False])
def test_onnx_is_repacked(tmp_path: Path, external: bool) -> None:
    onnx = pytest.importorskip("onnx")
    conv = np.arange(8 * 3 * 4 * 4, dtype=np.float32).reshape(8, 3, 4, 4)
    arrays = {"conv": conv, "bias": np.arange(5.0), "one": np.array(3.0)}
    made = [onnx.numpy_helper.from_array(x, name) for name, x in arrays.items()]
    made.append(onnx.helper.make_tensor("typed", onnx.TensorProto.INT64, (1, 1, 2, 3), list(range(6))))
    model = model_of(onnx, made)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=external, location="m.data", size_threshold=0)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    out = tmp_path / "out.npz"
    with pytest.warns(UserWarning, match="'bias' .rank 1"):
        rl.repack_file(tmp_path / "m.onnx", out, to="nhwc", axes="nchw", verify=True)
    with np.load(out) as found:
        assert found["conv"].tobytes() == conv.transpose(0, 2, 3, 1).tobytes()
        assert found["typed"].tobytes() == np.arange(6).reshape(1, 1, 2, 3).transpose(0, 2, 3, 1).tobytes()
        assert np.array_equal(found["bias"], arrays["bias"])
        assert found["one"] == 3
    assert rl.verify(tmp_path / "m.onnx", out)
    assert rl.open(out).metadata == {"author": "a"}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name.startswith("m.")} == before


def test_onnx_records_travel_in_metadata_props(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = model_of(onnx, [onnx.numpy_helper.from_array(np.arange(6), "x")])
    told = {"x": LayoutRecord.of("mojo:((2, 3):(1, 2))", (2, 3)).to_json()}
    onnx.helper.set_model_props(model, {"relayout": json.dumps(told)})
    onnx.save(model, tmp_path / "x.onnx")
    assert rl.open(tmp_path / "x.onnx")["x"].numpy().tolist() == [[0, 2, 4], [1, 3, 5]]


def test_onnx_fields_that_are_not_packed(tmp_path: Path) -> None:
    typed = field(1, 2) + field(2, 6) + field(8, b"x") + field(5, 3) + field(5, (1 << 64) - 1)
    floats = (
        field(1, 2)
        + field(2, 1)
        + field(8, b"f")
        + b"\x25"
        + np.float32(1).tobytes()
        + b"\x25"
        + np.float32(2).tobytes()
    )
    (tmp_path / "x.onnx").write_bytes(onnx_bytes(typed, floats))
    file = rl.open(tmp_path / "x.onnx")
    assert file["x"].numpy().tolist() == [3, -1]
    assert file["f"].numpy().tolist() == [1.0, 2.0]


# ---- records ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [0, 31, -1.5, float("nan"), float("-inf"), ml_dtypes.bfloat16(2.5), np.float16("nan")]
)
def test_fills_are_kept_to_the_bit(value: Any) -> None:
    dtype = value.dtype.name if hasattr(value, "dtype") else "float64"
    record = LayoutRecord.of("mojo:(2:1)", (2,), fill=value)
    again = LayoutRecord.from_json(json.loads(json.dumps(record.to_json(), allow_nan=False)))
    assert again == record
    found = np.asarray(again.fill_value(element(dtype))).astype(
        element(dtype).name if dtype != "bfloat16" else value.dtype
    )
    assert found.tobytes() == np.asarray(value, found.dtype).tobytes()


@pytest.mark.parametrize("means", [rl.Plain("bfloat16"), rl.ScaleOffset([0.1, 0.2], [1, 2], "quint8", axis=0)])
def test_interfaces_are_kept(means: Any) -> None:
    record = LayoutRecord.of("mojo:(2:1)", (2,), means)
    again = LayoutRecord.from_json(json.loads(json.dumps(record.to_json())))
    assert again.interface_of(means.element.underlying) == means


def test_a_record_that_contradicts_the_file_is_refused(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.int32)
    for record in (
        LayoutRecord.of("mojo:((2, 3):(3, 2))", (2, 3)),
        LayoutRecord.of("mojo:((2, 2):(2, 1))", (2, 2)),
        LayoutRecord.of("mojo:((2, 3):(3, 1))", (3, 2)),
        LayoutRecord.of("mojo:((2, 3):(3, -1)) offset 1", (2, 3)),
        LayoutRecord.of("mojo:(6:1)", (6,), rl.Plain("float32")),
        LayoutRecord.of("nonsense", (6,)),
        LayoutRecord.of("mojo:(6:1)", (6,), rl.ScaleOffset([0.5], [1], "qint32", axis=0)),
    ):
        path = store(tmp_path / "x.safetensors", {"x": x}, {"x": record})
        with pytest.raises(rl.BadFile, match=r"x\.safetensors") as refusal:
            rl.open(path)["x"]
        assert refusal.value.tensor == "x"
        assert refusal.value.hint


def test_kinds_are_told_by_name(tmp_path: Path) -> None:
    kinds = [container_of(name).name for name in [*KINDS, "x.gguf", "x.onnx"]]
    assert kinds == ["npy", "npz", "safetensors", "shards", "zarr", "raw", "gguf", "onnx"]
    with pytest.raises(rl.BadFile, match="does not tell"):
        rl.open(tmp_path / "x.txt")
    with pytest.raises(rl.BadFile, match="are read, not written"):
        plan_destination("x.gguf", None, [])
    assert "3 tensors" in repr(open_source(store(tmp_path / "x.npz", dict.fromkeys("abc", np.arange(2)))))


OUTSIDE = ["../evil", "a/../../evil", "/evil", "..", "..\\evil", "\\evil", "C:\\evil", "c:evil"]
"""Names of members that a tool which unpacks an archive might write outside of its folder."""


@pytest.mark.parametrize("name", OUTSIDE)
def test_members_that_lead_out_of_an_archive_are_not_read(tmp_path: Path, name: str) -> None:
    array = io.BytesIO()
    np.save(array, np.arange(3))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr(f"{name}.npy", array.getvalue())
    with pytest.raises(rl.BadFile, match="leads out of the archive"):
        rl.open(tmp_path / "x.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]


@pytest.mark.parametrize(
    ("name", "tensors"),
    [
        ("x.npy", ["a", "b"]),
        ("x.bin", []),
        ("x.npz", ["a", "a"]),
        *[("x.npz", [name]) for name in OUTSIDE],
        ("x.safetensors", ["a", "a"]),
        ("x.safetensors", ["__metadata__"]),
        ("x.safetensors.index.json", ["a", "a"]),
        ("x.zarr", ["a", "a"]),
        ("x.zarr", ["../a"]),
        ("x.zarr", [""]),
        ("x.zarr", ["a/b", "a"]),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, name: str, tensors: list[str]) -> None:
    with pytest.raises(rl.BadFile):
        plan_destination(tmp_path / name, None, [PlannedTensor(t, element("uint8"), (1,)) for t in tensors])


def onnx_model(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """A model with weights of every kind of operator that names dimensions, and what is in it."""
    onnx = pytest.importorskip("onnx")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    rng = np.random.default_rng(0)
    shapes = {
        "conv": (8, 3, 5, 7),
        "line": (8, 3, 5),
        "up": (3, 8, 2, 2),
        "product": (6, 10),
        "gemm": (6, 10),
        "turned": (10, 6),
        "both": (6, 6),
        "added": (6, 10),
    }
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    constant = helper.make_node("Constant", [], ["inline"], value=numpy_helper.from_array(arrays["product"], "other"))
    nodes = [
        constant,
        helper.make_node("Conv", ["x", "conv"], ["a"]),
        helper.make_node("Conv", ["x1", "line"], ["b"]),
        helper.make_node("ConvTranspose", ["x", "up"], ["c"]),
        helper.make_node("MatMul", ["y", "product"], ["d"]),
        helper.make_node("MatMul", ["y", "inline"], ["e"]),
        helper.make_node("Gemm", ["y", "gemm"], ["f"]),
        helper.make_node("Gemm", ["y", "turned"], ["g"], transB=1),
        helper.make_node("MatMul", ["y", "both"], ["h"]),
        helper.make_node("Gemm", ["y", "both"], ["i"], transB=1),
        helper.make_node("Add", ["y", "added"], ["j"]),
    ]
    words = helper.make_tensor("words", onnx.TensorProto.STRING, [2], [b"one", b"two"])
    held = [words, *[numpy_helper.from_array(x, name) for name, x in arrays.items()]]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [], [], held)), path)
    return {**arrays, "inline": arrays["product"]}


def test_onnx_constants_are_read_and_texts_are_left_out(tmp_path: Path) -> None:
    arrays = onnx_model(tmp_path / "x.onnx")
    with rl.open(tmp_path / "x.onnx") as file:
        assert set(file) == set(arrays)
        for name, x in arrays.items():
            np.testing.assert_array_equal(np.asarray(file[name]), x)


def test_onnx_operators_name_the_dimensions_of_weights(tmp_path: Path) -> None:
    arrays = onnx_model(tmp_path / "x.onnx")
    axes = {name: entry.axes for name, entry in open_source(tmp_path / "x.onnx").items()}
    assert axes == {
        "conv": "oihw",
        "line": "oiw",
        "up": "iohw",
        "product": "io",
        "inline": "io",
        "gemm": "io",
        "turned": "oi",
        "both": None,
        "added": None,
    }
    rl.repack_file(tmp_path / "x.onnx", tmp_path / "y.npz", to="onednn:hwio", only=["conv", "up"])
    made = np.load(tmp_path / "y.npz")
    np.testing.assert_array_equal(made["conv"], arrays["conv"].transpose(2, 3, 1, 0))
    np.testing.assert_array_equal(made["up"], arrays["up"].transpose(2, 3, 0, 1))
    np.testing.assert_array_equal(made["gemm"], arrays["gemm"])
    assert rl.verify(tmp_path / "x.onnx", tmp_path / "y.npz")
