"""Files made to hurt: every one is refused with an error that says which, what and the way out, and costs nothing."""

from __future__ import annotations

import copy
import json
import os
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import relayout as rl
from clock import LOOPS_PER_SECOND, loops_of
from file_support import field, gguf_bytes, onnx_bytes, store, text, valid_files
from relayout.files.record import LayoutRecord
from relayout.files.zip_archives import _LOCAL

HUGE = 1 << 62


def all_of(path: Path, **raw: Any) -> list[np.ndarray]:
    return [x.numpy() for x in rl.open(path, **raw).values()]


def refused(path: Path, *words: str, tensor: Any = ..., **raw: Any) -> rl.BadFile:
    """The refusal of a file, which allocates little and names the file and the way out."""
    tracemalloc.start()
    try:
        with pytest.raises(rl.BadFile) as found:
            all_of(path, **raw)
        assert tracemalloc.get_traced_memory()[1] < 80 << 20
    finally:
        tracemalloc.stop()
    error = found.value
    assert error.code == "RL011"
    assert error.hint
    assert error.file is not None
    assert Path(error.file).name.split(".")[0] in str(error)
    for word in words:
        assert word in error.message
    if tensor is not ...:
        assert error.tensor == tensor
    return error


# ---- safetensors -----------------------------------------------------------------------------------------


def safetensors(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head) if length is None else length) + head + data)
    return path


def told(shape: Any, first: Any, last: Any, dtype: Any = "U8") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


@pytest.mark.parametrize(
    ("header", "size", "word"),
    [
        ({"x": told([4], 0, 4), "y": told([4], 2, 6)}, 6, "overlaps"),
        ({"x": told([4], 0, 4), "y": told([4], 0, 4)}, 4, "overlaps"),
        ({"x": told([4], 0, 4), "y": told([4], 5, 9)}, 9, "hole"),
        ({"x": told([4], 0, 4)}, 9, "the file at"),
        ({"x": told([4], 0, 4)}, 3, "the file at"),
        ({"x": told([HUGE, 4], 0, HUGE * 4)}, 4, "no memory is as large"),
        ({"x": told([0, HUGE, HUGE], 0, 0)}, 0, "no memory is as large"),
        ({"x": told([HUGE // 2], HUGE, HUGE + HUGE // 2)}, 4, "the file at"),
        ({"x": told([4], 4, 0)}, 4, "needs 4 bytes"),
        ({"x": told([4], 10**4299, 10**4299 + 4)}, 4, "data_offsets"),
        ({"x": told([10**4299], 0, 4)}, 4, "no memory is as large"),
        ({"x": told([10**4299] * 9, 0, 4)}, 4, "no memory is as large"),
        ({"x": told([4], -4, 0)}, 4, "data_offsets"),
        ({"x": told([4], 0, 4.0)}, 4, "data_offsets"),
        ({"x": told([4], False, 4)}, 4, "data_offsets"),
        ({"x": told([-4], 0, 4)}, 4, "shape"),
        ({"x": told([True], 0, 1)}, 1, "shape"),
        ({"x": told(["4"], 0, 4)}, 4, "shape"),
        ({"x": told("4", 0, 4)}, 4, "shape"),
        ({"x": told([1] * 65, 0, 1)}, 1, "shape"),
        ({"x": told([1], 0, 1, "U9")}, 1, "dtype"),
        ({"x": told([1], 0, 1, ["U8"])}, 1, "dtype"),
        ({"x": told([1], 0, 1, "F32")}, 1, "needs 4 bytes"),
        ({"x": {**told([1], 0, 1), "more": 1}}, 1, "says"),
        ({"x": [1]}, 1, "says"),
        ([1], 0, "no JSON object"),
        ({"__metadata__": {"a": 1}}, 0, "__metadata__"),
        ({"__metadata__": ["a"]}, 0, "__metadata__"),
        (b'{"x": 1, "x": 2}', 0, "twice"),
        (b'{"x": NaN}', 0, "NaN"),
        (b'{"\xff": 1}', 0, "no JSON"),
        (b'{"\\ud800": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}}', 0, "no JSON"),
        (b"[" * 200_000, 0, "deep"),
        (b'{"x":' * 200_000, 0, "deep"),
        (b'{"x": 1' + b"0" * 10_000 + b"}", 0, "no JSON"),
        (b"", 0, "no JSON"),
    ],
)
def test_headers_of_safetensors(tmp_path: Path, header: Any, size: int, word: str) -> None:
    refused(safetensors(tmp_path / "x.safetensors", header, bytes(size)), word)


def test_an_error_names_the_tensor(tmp_path: Path) -> None:
    error = refused(safetensors(tmp_path / "x.safetensors", {"layer.w": told([9], 0, 4)}, bytes(4)), tensor="layer.w")
    assert "tensor 'layer.w': (9,) of uint8 needs 9 bytes, and it has 4." in error.message


@pytest.mark.parametrize("length", [HUGE, (1 << 64) - 1, 100_000_000, 33 << 20, 1000])
def test_headers_that_are_said_to_be_long(tmp_path: Path, length: int) -> None:
    refused(safetensors(tmp_path / "x.safetensors", b"{}", length=length))


def test_a_header_of_100_mb_is_not_read(tmp_path: Path) -> None:
    path = safetensors(tmp_path / "x.safetensors", b"{", length=100 << 20)
    os.truncate(path, 101 << 20)
    refused(path, "the limit is")


@pytest.mark.parametrize("piece", [b"[],", b'"a":1,', b"{},", b"1,"])
def test_a_header_of_millions_of_pieces_is_not_parsed(tmp_path: Path, piece: bytes) -> None:
    refused(safetensors(tmp_path / "x.safetensors", b"{" + piece * 5_100_000), "the limit is")


def test_files_that_are_cut_short(tmp_path: Path) -> None:
    for kind, path in valid_files(tmp_path).items():
        target = next(tmp_path.glob("s-*")) if kind == "shards" else path
        whole = target.read_bytes()
        for size in {0, 1, 7, 8, 20, len(whole) // 2, len(whole) - 1}:
            target.write_bytes(whole[:size])
            refused(path)
        target.write_bytes(whole)
        assert len(rl.open(path)) == 1 + (kind not in ("npy", "raw"))


# ---- paths -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../x.safetensors",
        "/etc/passwd",
        "a/../../x.safetensors",
        "",
        "link",
        "folder/x.safetensors",
        "\0",
        "C:x",
        "..\\x",
        5,
        None,
    ],
)
def test_an_index_names_files_of_its_folder_only(tmp_path: Path, name: Any) -> None:
    store(tmp_path / "x.safetensors", {"x": np.arange(3)})
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "x.safetensors")
    (folder / "folder").symlink_to(tmp_path, target_is_directory=True)
    index = folder / "m.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"x": name}}))
    refused(index)


@pytest.mark.parametrize(
    "index", [[], {}, {"weight_map": []}, {"weight_map": {"y": "x.safetensors"}}, {"weight_map": {}}]
)
def test_an_index_and_its_files_agree(tmp_path: Path, index: Any) -> None:
    store(tmp_path / "x.safetensors", {"x": np.arange(3)})
    path = tmp_path / "m.safetensors.index.json"
    path.write_text(json.dumps(index))
    if index == {"weight_map": {}}:
        assert len(rl.open(path)) == 0
    else:
        refused(path)
    path.write_text(json.dumps({"weight_map": {"x": "x.safetensors", "y": "x.safetensors"}}))
    refused(path, tensor="y")


def external(location: str, **more: str) -> bytes:
    pairs = {"location": location, **more}
    told = b"".join([field(13, field(1, k.encode()) + field(2, v.encode())) for k, v in pairs.items()])
    return onnx_bytes(field(1, 4) + field(2, 2) + field(8, b"x") + field(14, 1) + told)


@pytest.mark.parametrize(
    "location", ["../secret", "/etc/hostname", "link", "sub/../../secret", "missing", "", "folder/secret"]
)
def test_external_data_stay_in_the_folder(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret").write_bytes(b"0123")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path, target_is_directory=True)
    (folder / "x.onnx").write_bytes(external(location))
    refused(folder / "x.onnx")


@pytest.mark.parametrize(
    "more", [{"offset": "3"}, {"length": "9"}, {"offset": "-1"}, {"offset": "9" * 30}, {"offset": "٣"}]
)
def test_external_data_stay_in_their_file(tmp_path: Path, more: dict[str, str]) -> None:
    (tmp_path / "d").write_bytes(b"0123")
    (tmp_path / "x.onnx").write_bytes(external("d"))
    assert rl.open(tmp_path / "x.onnx")["x"].numpy().tolist() == list(b"0123")
    (tmp_path / "x.onnx").write_bytes(external("d", **more))
    refused(tmp_path / "x.onnx")


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "loop.npy").symlink_to(tmp_path / "loop.npy")
    for name in ("folder.npy", "pipe.npy", "loop.npy", "missing.npy", "nul\0.npy"):
        refused(tmp_path / name)


# ---- numpy -----------------------------------------------------------------------------------------------


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    width = 2 if version == 1 else 4
    return b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(width, "little") + header.encode() + data


def header(descr: str = "'|u1'", order: str = "False", shape: str = "(2,)") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\3\4" * 10,
        npy(header(), b"123"),
        npy(header(), b"1"),
        npy(header(), b"12", version=4),
        npy(header("'|O'"), bytes(16)),
        npy(header("'>i2'"), bytes(4)),
        npy(header("'<U1'"), bytes(8)),
        npy(header("[('a', '<i2')]"), bytes(4)),
        npy(header("1"), bytes(4)),
        npy(header(shape="(-2,)"), bytes(2)),
        npy(header(shape="[2]"), bytes(2)),
        npy(header(shape="2"), bytes(2)),
        npy(header(shape="(True, 2)"), bytes(2)),
        npy(header(shape=f"(0, {HUGE}, {HUGE})")),
        npy(header(shape=f"({HUGE},)"), bytes(2)),
        npy(header(shape="(1,)" + "*9"), bytes(2)),
        npy(header(shape=f"(0x{'f' * 9000},)"), bytes(2)),
        npy(header(shape=f"({'9' * 4300},)"), bytes(2)),
        npy(header(shape=f"(0b{'1' * 9000},)"), bytes(2)),
        npy(header(shape=f"(0o{'7' * 9000},)"), bytes(2)),
        npy(header("'\\e'"), bytes(2)),
        npy(header(order="1"), bytes(2)),
        npy("__import__('os').abort()"),
        npy("(" * 60_000),
        npy("-" * 60_000 + "1"),
        npy("{'descr': '|u1'}"),
        npy("{[]: 1}"),
        npy("\0"),
        b"\x93NUMPY\2\0" + struct.pack("<I", (1 << 32) - 1) + b"{}",
    ],
)
def test_headers_of_npy(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    refused(tmp_path / "x.npy")
    if content.startswith(b"\x93NUMPY"):
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.writestr("x.npy", content)
        refused(tmp_path / "x.npz")


def test_big_endian_arrays_tell_the_way_out(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3, dtype=">f4"))
    assert "astype('<f4')" in refused(tmp_path / "x.npy", "big-endian").hint


def test_archives(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.zeros(1000))
    assert "numpy.savez" in refused(path, "compressed", tensor="x").hint
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "text")
    refused(path, "no .npy")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy(header(), b"12"))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("x.npy", npy(header(), b"34"))
    refused(path, "twice")
    store(path, {"x": np.arange(3), "y": np.arange(3)})
    whole = bytearray(path.read_bytes())
    second = whole.index(b"PK\1\2", whole.index(b"PK\1\2") + 1)
    whole[second + 42 : second + 46] = bytes(4)
    path.write_bytes(whole)
    refused(path, "shares bytes")
    whole[: _LOCAL.size] = bytes(_LOCAL.size)
    path.write_bytes(whole)
    refused(path, "not where")


# ---- GGUF, ONNX, Zarr ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
        b"GGML" + struct.pack("<IQQ", 3, 0, 0),
        b"GGUF" + struct.pack("<IQQ", 3, HUGE, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 0, HUGE),
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, HUGE),
        gguf_bytes([("x", (4,), 0, 0)], bytes(15)),
        gguf_bytes([("x", (4,), 0, HUGE)], bytes(16)),
        gguf_bytes([("x", (4,), 0, 8)], bytes(24)),
        gguf_bytes([("x", (HUGE, HUGE), 24, 0)], bytes(16)),
        gguf_bytes([("x", (HUGE, HUGE, 0), 24, 0)], bytes(16)),
        gguf_bytes([("x", (4,), 24, 0), ("x", (4,), 24, 32)], bytes(64)),
        gguf_bytes([("x", (64,), 24, 0), ("y", (4,), 24, 32)], bytes(64)),
        gguf_bytes([("x", (4,), 99, 0)], bytes(64)),
        gguf_bytes([("x", (33,), 8, 0)], bytes(64)),
        gguf_bytes([("x", (), 8, 0)], bytes(64)),
        gguf_bytes([("x", (1,) * 9, 24, 0)], bytes(64)),
        gguf_bytes([], b"", text("k") + struct.pack("<I", 13), 1),
        gguf_bytes([], b"", text("k") + struct.pack("<IIQ", 9, 8, HUGE), 1),
        gguf_bytes([], b"", text("k") + struct.pack("<IIQ", 9, 4, 1 << 20), 1),
        gguf_bytes([], b"", text("k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 9, 1),
        gguf_bytes([], b"", (text("k") + struct.pack("<IB", 0, 1)) * 2, 2),
        gguf_bytes([], b"", text("general.alignment") + struct.pack("<II", 4, 0), 1),
        gguf_bytes([], b"", text("relayout") + struct.pack("<II", 4, 0), 1),
        gguf_bytes([], b"", text("relayout") + struct.pack("<I", 8) + text('{"z": {}}'), 1),
        gguf_bytes([], b"", struct.pack("<Q", 1) + b"\xff" + struct.pack("<IB", 0, 1), 1),
    ],
)
def test_headers_of_gguf(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    refused(tmp_path / "x.gguf")


X = field(8, b"x")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 20,
        field(1, 8),
        b"\x3b\x3c",
        b"\x00\x01",
        onnx_bytes(X + field(1, 4) + field(2, 2) + field(9, b"123")),
        onnx_bytes(X + field(1, 4) + field(2, 99)),
        onnx_bytes(X + field(1, 4) + field(2, 77) + field(9, b"1234")),
        onnx_bytes(X + field(1, 4) + field(9, b"1234")),
        onnx_bytes(X + field(1, HUGE) + field(1, HUGE) + field(2, 2)),
        onnx_bytes(X + field(1, 0) + field(1, HUGE) + field(1, HUGE) + field(2, 2)),
        onnx_bytes(X + field(1, (1 << 64) - 1) + field(2, 2)),
        onnx_bytes(X + field(1, b"\x01" * 65) + field(2, 2) + field(9, b"1")),
        onnx_bytes(X + field(1, 2) + field(2, 7) + field(7, b"\x01")),
        onnx_bytes(X + field(1, 1) + field(2, 7) + field(7, b"\x01\x02")),
        onnx_bytes(X + field(1, 1) + field(2, 7) + field(7, b"\x81")),
        onnx_bytes(X + field(1, 2) + field(2, 1) + field(4, bytes(4))),
        onnx_bytes(X + field(1, 2) + field(2, 1)),
        onnx_bytes(X + field(1, HUGE) + field(2, 7)),
        onnx_bytes(*[X + field(1, 1) + field(2, 2) + field(9, b"1")] * 2),
        onnx_bytes(field(8, b"\xff") + field(1, 1) + field(2, 2) + field(9, b"1")),
        onnx_bytes() + field(14, field(1, b"relayout") + field(2, b"[]")),
        field(7, b"\x2a\xff\xff\xff\xff\x0f"),
    ],
)
def test_onnx_messages(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.onnx").write_bytes(content)
    refused(tmp_path / "x.onnx")


def test_messages_of_many_fields_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relayout.files.protobuf.MAX_FIELDS", 1000)
    (tmp_path / "x.onnx").write_bytes(onnx_bytes() + field(1, 8) * 2000)
    refused(tmp_path / "x.onnx", "more than 1000 fields")


def changed(node: dict[str, Any], **entries: Any) -> dict[str, Any]:
    return {**node, **entries}


def transposed(order: Any) -> dict[str, Any]:
    return {"name": "transpose", "configuration": {"order": order}}


ZARR: list[Callable[[dict[str, Any]], Any]] = [
    lambda node: [],
    lambda node: changed(node, zarr_format=2),
    lambda node: changed(node, node_type="tree"),
    lambda node: changed(node, attributes=[]),
    lambda node: changed(node, attributes={"relayout": {"version": 2}}),
    lambda node: changed(node, shape=[HUGE]),
    lambda node: changed(node, shape=[HUGE, HUGE, 0]),
    lambda node: changed(node, shape=None),
    lambda node: changed(node, data_type="int16"),
    lambda node: changed(node, data_type={"name": "struct"}),
    lambda node: changed(node, data_type="int4"),
    lambda node: changed(node, data_type="quint8"),
    lambda node: changed(node, codecs=[]),
    lambda node: changed(node, codecs=[{"name": "bytes", "configuration": {"endian": "big"}}]),
    lambda node: changed(node, codecs=[{"name": "bytes"}]),
    lambda node: changed(node, codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}]),
    lambda node: changed(node, storage_transformers=[{"name": "x"}]),
    lambda node: changed(node, codecs=[transposed([0, 0]), *node["codecs"]]),
    lambda node: changed(node, codecs=[transposed([0, 2]), *node["codecs"]]),
    lambda node: changed(node, codecs=[transposed([True, False]), *node["codecs"]]),
    lambda node: changed(node, codecs=[transposed("C"), *node["codecs"]]),
    lambda node: changed(node, codecs=[{"name": "transpose", "configuration": 1}, *node["codecs"]]),
    lambda node: changed(node, chunk_grid={"name": "rectangular"}),
    lambda node: changed(node, chunk_grid={"name": "regular", "configuration": {"chunk_shape": [0, 4]}}),
    lambda node: changed(node, chunk_grid={"name": "regular", "configuration": {"chunk_shape": [4]}}),
    lambda node: changed(node, chunk_grid={"name": "regular", "configuration": {"chunk_shape": [1, 1]}}),
    lambda node: changed(node, chunk_key_encoding={"name": "other"}),
    lambda node: changed(node, chunk_key_encoding={"name": "default", "configuration": {"separator": "/../"}}),
]


@pytest.mark.parametrize("change", ZARR)
def test_nodes_of_zarr(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = store(tmp_path / "x.zarr", {"x": np.arange(12, dtype=np.int32).reshape(3, 4)})
    file = path / "x" / "zarr.json"
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    refused(path)


def test_links_and_depth_in_zarr(tmp_path: Path) -> None:
    path = store(tmp_path / "x.zarr", {"x": np.arange(3)})
    chunk = path / "x" / "c" / "0"
    chunk.rename(tmp_path / "away")
    chunk.symlink_to(tmp_path / "away")
    refused(path, "link")
    chunk.unlink()
    chunk.mkdir()
    refused(path, "link")
    chunk.rmdir()
    chunk.parent.rmdir()
    (tmp_path / "far").mkdir()
    (tmp_path / "away").rename(tmp_path / "far" / "0")
    chunk.parent.symlink_to(tmp_path / "far", target_is_directory=True)
    refused(path, "link")
    (path / "x" / "zarr.json").rename(tmp_path / "zarr.json")
    (path / "x" / "zarr.json").symlink_to(tmp_path / "zarr.json")
    refused(path, "link")
    refused(store(tmp_path / "deep.zarr", {"/".join("x" * 20): np.arange(3)}), "deep")


@pytest.mark.parametrize("fill", [None, "x", "0xffffff", "0x", "NaN", 1 << 40, 1.5, [1], [0, 0], {"a": 1}, True])
def test_fill_values_that_are_none(tmp_path: Path, fill: Any) -> None:
    path = store(tmp_path / "x.zarr", {"x": np.arange(3, dtype=np.int16)})
    (path / "x" / "c" / "0").unlink()
    file = path / "x" / "zarr.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "fill_value": fill}))
    if fill is True:
        assert rl.open(path)["x"].numpy().tolist() == [1, 1, 1]
    else:
        refused(path, "fill value", tensor="x")


def test_chunks_left_out_do_not_fill_the_memory(tmp_path: Path) -> None:
    names = [f"x{k}" for k in range(9)]
    path = store(tmp_path / "x.zarr", {name: np.zeros(4 << 20, np.uint8) for name in names})
    for name in names:
        (path / name / "c" / "0").unlink()
    refused(path, "1 of its chunks were left out", tensor="x8")
    file = path / "x0" / "zarr.json"
    node = json.loads(file.read_text()) | {"shape": [1 << 40]}
    node["chunk_grid"]["configuration"]["chunk_shape"] = [1 << 40]
    file.write_text(json.dumps(node))
    refused(path, "were left out", tensor="x0")


def test_a_zarr_of_version_2_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    refused(tmp_path / "x.zarr", "Zarr v2")


def test_a_record_of_an_array_that_was_chunked_anew(tmp_path: Path) -> None:
    record = {"x": LayoutRecord.of("mojo:((4, 4):(1, 4))", (4, 4))}
    path = store(tmp_path / "x.zarr", {"x": np.arange(16).reshape(4, 4)}, record)
    file = path / "x" / "zarr.json"
    node = json.loads(file.read_text())
    node["chunk_grid"]["configuration"]["chunk_shape"] = [2, 2]
    file.write_text(json.dumps(node))
    for at in ("0/0", "0/1", "1/0", "1/1"):
        chunk = path / "x" / "c" / at
        chunk.parent.mkdir(exist_ok=True)
        chunk.write_bytes(bytes(32))
    refused(path, "cut anew")


# ---- records ---------------------------------------------------------------------------------------------

GOOD = {"version": 1, "shape": [3, 4], "layout": "mojo:((3, 4):(4, 1))"}


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {**GOOD, "version": 2},
        {**GOOD, "version": True},
        {**GOOD, "more": 1},
        {**GOOD, "shape": [HUGE, HUGE]},
        {**GOOD, "shape": [-3, 4]},
        {**GOOD, "shape": [3.0, 4]},
        {**GOOD, "shape": [1] * 65},
        {**GOOD, "layout": 5},
        {**GOOD, "layout": "(" * 16_000},
        {**GOOD, "layout": "(" * 20_000},
        {**GOOD, "layout": "no such layout"},
        {**GOOD, "layout": f"mojo:((3, 4):({'9' * 5000}, 1))"},
        {**GOOD, "layout": f"mojo:(({'9' * 4000}, {'9' * 4000}):(4, 1))"},
        {**GOOD, "layout": f"mojo:(12:1) offset {'9' * 4300}"},
        {**GOOD, "layout": f"((12, {'9' * 4200}):(1, {'9' * 4200}))"},
        {**GOOD, "layout": "mojo:((3, 4):(0, 1))"},
        {**GOOD, "layout": f"mojo:((3, 4):({HUGE}, 1))"},
        {**GOOD, "shape": [1 << 40], "layout": f"mojo:({1 << 40}:0) offset 11"},
        {**GOOD, "axes": "hh"},
        {**GOOD, "axes": "h"},
        {**GOOD, "axes": 3},
        {**GOOD, "fill": "0x"},
        {**GOOD, "fill": "0x" + "f" * 40},
        {**GOOD, "fill": [1]},
        {**GOOD, "fill": 10**400},
        {**GOOD, "interface": "float32"},
        {**GOOD, "interface": {"element": "float33"}},
        {**GOOD, "interface": {"element": "int32"}},
        {**GOOD, "interface": {"element": "float64"}},
        {**GOOD, "interface": {"element": "quint8", "scale": 1.0}},
        {**GOOD, "interface": {"element": "float32", "scale": 1.0, "offset": 0}},
        {**GOOD, "interface": {"element": "float32", "axis": 0}},
        {**GOOD, "interface": {"element": "float32", "scale": "1", "offset": 0}},
        {**GOOD, "interface": {"element": "float32", "scale": 1.0, "offset": 0.5}},
        {**GOOD, "interface": {"element": "float32", "scale": 1.0, "offset": 0, "axis": -1}},
        {**GOOD, "interface": {"element": ["float32"]}},
    ],
)
def test_records(tmp_path: Path, record: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    words = {"x": told([3, 4], 0, 48, "F32"), "__metadata__": {"relayout": json.dumps({"x": record})}}
    refused(safetensors(tmp_path / "x.safetensors", words, x.tobytes()))
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "x.npy.relayout.json").write_text(json.dumps({"relayout": {"x": record}}))
    refused(tmp_path / "x.npy")


@pytest.mark.parametrize("sidecar", ["", "[]", '{"more": 1}', '{"relayout": []}', '{"metadata": []}', "[" * 100_000])
def test_sidecars(tmp_path: Path, sidecar: str) -> None:
    np.save(tmp_path / "x.npy", np.arange(3))
    (tmp_path / "x.npy.relayout.json").write_text(sidecar)
    refused(tmp_path / "x.npy")


# ---- fuzz ------------------------------------------------------------------------------------------------

KINDS = ["npy", "npz", "safetensors", "shards", "raw", "gguf", "onnx"]
quietly = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """Puts a valid file of a kind, and those that belong to it, into a folder."""
    folder = tmp_path_factory.mktemp("valid")
    names = {kind: path.name for kind, path in valid_files(folder).items()}
    contents = {file.name: file.read_bytes() for file in folder.iterdir()}

    def put_valid(kind: str, where: Path) -> Path:
        for name, content in contents.items():
            if name.startswith("s" if kind == "shards" else names[kind]):
                (where / name).write_bytes(content)
        return where / names[kind]

    return put_valid


def survives(path: Path) -> None:
    """Tensors, or a refusal of our own."""
    try:
        file = rl.open(path)
        for name in file:
            found = file[name]
            if found.size <= 1 << 16:
                found.numpy()
    except rl.LayoutError as error:
        assert error.code


@pytest.mark.parametrize("kind", KINDS)
@quietly
@given(data=st.data())
def test_mutated_files(tmp_path: Path, templates: Any, kind: str, data: st.DataObject) -> None:
    path = templates(kind, tmp_path)
    target = path
    if kind in ("npy", "raw", "shards") and data.draw(st.booleans()):
        target = next(tmp_path.glob("s-*")) if kind == "shards" else path.with_name(path.name + ".relayout.json")
    content = bytearray(target.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(content) - 1, 0)))
        size = data.draw(st.sampled_from([0, 1, 1, 2, 8]))
        content[at : at + size] = data.draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from(
                    [
                        b"\0" * 8,
                        b"\xff" * 8,
                        b"\xff" * 4,
                        b"\x7f",
                        b"-1",
                        b"9" * 20,
                        b"[",
                        b"{",
                        b'"',
                        b"null",
                        b"../",
                        b"1e9",
                        b"(",
                        b"\\ud800",
                    ]
                ),
            )
        )
    target.write_bytes(content)
    survives(path)


@pytest.mark.parametrize("kind", KINDS)
@quietly
@given(content=st.binary(max_size=200))
def test_random_bytes(tmp_path: Path, templates: Any, kind: str, content: bytes) -> None:
    path = templates(kind, tmp_path)
    start = {"npy": b"\x93NUMPY", "gguf": b"GGUF\3\0\0\0", "npz": b"PK\5\6"}.get(kind, b"")
    path.write_bytes(start + content)
    survives(path)


def places(x: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything inside of JSON."""
    yield at
    for key in x if isinstance(x, dict) else range(len(x)) if isinstance(x, list) else ():
        yield from places(x[key], (*at, key))


def put(x: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    copied = copy.deepcopy(x)
    inner = copied
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return copied


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(
        [-1, 0, 1, 2, 3, HUGE, 1 << 64, 1e300, -0.5, "x", "", "../x", "mojo:(12:1)", "htp:R4Crouton", "NHWC"]
    ),
    st.text(max_size=8),
    st.lists(st.sampled_from([0, 1, 3, 4, 12, -1, HUGE, None, "a"]), max_size=4),
    st.dictionaries(st.sampled_from(["name", "configuration", "x", "element", "scale"]), st.integers(0, 3), max_size=3),
)


@quietly
@given(data=st.data(), kind=st.sampled_from(["header", "record", "index", "zarr", "group", "sidecar"]))
def test_mutated_json(tmp_path: Path, data: st.DataObject, kind: str) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    means = rl.ScaleOffset([1.0, 2.0, 3.0], [0, 0, 0], "qint32", axis=0)
    record = LayoutRecord.of("mojo:((3, 4):(4, 1))", (3, 4), means, axes="hw", fill=2)
    words: dict[str, Any] = {"x": told([3, 4], 0, 48, "I32"), "__metadata__": {"a": "b"}}
    recorded = {"x": record.to_json()}

    def mutated(tree: Any) -> Any:
        at = data.draw(st.sampled_from(sorted(places(tree), key=str)))
        return put(tree, at, data.draw(ODD))

    path = tmp_path / "x.safetensors"
    if kind == "header":
        safetensors(path, mutated(words), x.tobytes())
    elif kind == "record":
        words["__metadata__"]["relayout"] = json.dumps(mutated(recorded))
        safetensors(path, words, x.tobytes())
    elif kind == "index":
        safetensors(path, words, x.tobytes())
        path = tmp_path / "x.safetensors.index.json"
        path.write_text(json.dumps(mutated({"metadata": {}, "weight_map": {"x": "x.safetensors"}})))
    elif kind == "sidecar":
        path = tmp_path / "x.bin"
        path.write_bytes(x.tobytes())
        path.with_name("x.bin.relayout.json").write_text(json.dumps(mutated({"relayout": recorded, "metadata": {}})))
    else:
        path = store(tmp_path / "x.zarr", {"x": x})
        file = path / "x" / "zarr.json" if kind == "zarr" else path / "zarr.json"
        file.write_text(json.dumps(mutated(json.loads(file.read_text()))))
    survives(path)


LETTERS = "()[]{}:,;/*+-. 0123456789abcdxyzNHWCT<>="


@quietly
@given(layout=st.text(LETTERS, max_size=60), shape=st.lists(st.integers(0, 12), max_size=4))
def test_any_text_as_a_layout(tmp_path: Path, layout: str, shape: list[int]) -> None:
    record = {"version": 1, "shape": shape, "layout": layout}
    words = {"x": told([12], 0, 12), "__metadata__": {"relayout": json.dumps({"x": record})}}
    survives(safetensors(tmp_path / "x.safetensors", words, bytes(12)))


@pytest.mark.parametrize(
    "text", ["a ->" + "Q" * 60 + ".", "(" + "q " * 60 + "-> a", "a -> " + "(q" * 60, "a ->" + " " * 5000 + "!"]
)
def test_rules_that_take_long_to_read(tmp_path: Path, text: str) -> None:
    """Patterns whose words could be cut in very many ways."""
    path = store(tmp_path / "x.safetensors", {"x": np.arange(3)})

    def refuse() -> None:
        with pytest.raises(rl.ParseError):
            rl.repack_file(path, tmp_path / "y.safetensors", rules=[{"name": "*", "to": text}])

    assert loops_of(refuse) < 2 * LOOPS_PER_SECOND


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "..\\evil", "C:evil"])
def test_no_name_leads_out_of_an_archive(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "x.npz", **{name: np.arange(3)})
    with pytest.raises(rl.BadFile, match="leads out of the archive"):
        rl.open(tmp_path / "x.npz")
    header = {name: {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}}
    text = json.dumps(header).encode()
    (tmp_path / "x.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"abc")
    with pytest.raises(rl.BadFile, match="lead out of the archive"):
        rl.repack_file(tmp_path / "x.safetensors", tmp_path / "y.npz")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["x.npz", "x.safetensors"]


@pytest.mark.parametrize("name", ["a/b", "a..b", "...", "a b", "layers.0.w"])
def test_other_names_stay_in_an_archive(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "x.npz", **{name: np.arange(3)})
    rl.repack_file(tmp_path / "x.npz", tmp_path / "y.npz")
    assert np.load(tmp_path / "y.npz")[name].tolist() == [0, 1, 2]
