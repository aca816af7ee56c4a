"""torch's distributed checkpoints, read and written without torch, nothing executed; torch itself is the judge."""

from __future__ import annotations

import os
import pickle
import random
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from file_support import dcp_folder
from relayout.files import pickles
from relayout.files.pickles import PickledDict, PickledName, PickledObject, read_pickle
from relayout.files.registry import open_source

WHOLE = [{"name": "*", "deal": "replicate"}]


def arrays_of(path: Path) -> dict[str, Any]:
    with rl.open(path) as file:
        return {name: np.array(tensor.numpy()) for name, tensor in file.items()}


def save_in_parts(folder: Path, tensors: dict[str, Any], cuts: dict[str, list[tuple[Any, Any]]]) -> None:
    """A checkpoint whose tensors are saved in boxes ``(offsets, sizes)``, by torch's own classes."""
    import torch
    from torch.distributed.checkpoint.filesystem import _StorageInfo
    from torch.distributed.checkpoint.metadata import (
        ChunkStorageMetadata,
        Metadata,
        MetadataIndex,
        TensorProperties,
        TensorStorageMetadata,
    )

    folder.mkdir()
    state, places = {}, {}
    for k, (name, x) in enumerate(tensors.items()):
        chunks = []
        for n, (offsets, sizes) in enumerate(cuts[name]):
            file = folder / f"__{k}_{n % 2}.distcp"
            at = file.stat().st_size if file.exists() else 0
            part = x[tuple(slice(o, o + s) for o, s in zip(offsets, sizes))].clone()
            with file.open("ab") as out:
                torch.save(part, out)
                size = out.tell() - at
            chunks.append(ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes)))
            places[MetadataIndex(name, torch.Size(offsets), n)] = _StorageInfo(file.name, at, size)
        state[name] = TensorStorageMetadata(TensorProperties(dtype=x.dtype), x.size(), chunks)
    planner = {name: (name,) for name in tensors}
    with (folder / ".metadata").open("wb") as out:
        pickle.dump(Metadata(state, planner, places), out)


def grid(shape: tuple[int, ...], cuts: list[list[int]]) -> list[tuple[Any, Any]]:
    """The boxes between the cuts of each dimension."""
    from itertools import pairwise, product

    edges = [list(pairwise([0, *cut, n])) for cut, n in zip(cuts, shape)]
    return [(tuple(a for a, _ in box), tuple(b - a for a, b in box)) for box in product(*edges)]


def test_what_torch_saves_is_read_as_torch_reads_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    torch.manual_seed(0)
    tensors = {
        "rows": torch.randn(7, 5),
        "columns": torch.randn(6, 8),
        "tiles": torch.arange(96).reshape(4, 6, 4),
        "uneven": torch.randn(5, 7).to(torch.bfloat16),
        "small": torch.tensor(3.5),
        "none": torch.zeros(0, 3),
    }
    cuts = {
        "rows": grid((7, 5), [[3, 4], []]),
        "columns": grid((6, 8), [[], [2, 4, 6]]),
        "tiles": grid((4, 6, 4), [[2], [3], [2]]),
        "uneven": grid((5, 7), [[2], [3, 6]]),
        "small": [((), ())],
        "none": [((0, 0), (0, 3))],
    }
    save_in_parts(tmp_path / "ckpt", tensors, cuts)
    loaded = {name: torch.zeros_like(x) for name, x in tensors.items()}
    dcp.load(loaded, checkpoint_id=tmp_path / "ckpt", no_dist=True)
    for name, x in arrays_of(tmp_path / "ckpt").items():
        assert torch.equal(loaded[name], tensors[name])
        assert x.tolist() == tensors[name].tolist()
    rl.reshard(tmp_path / "ckpt", tmp_path / "one", verify=True)
    assert rl.verify(tmp_path / "ckpt", tmp_path / "one")
    got = arrays_of(tmp_path / "one")
    assert all(got[name].tolist() == tensors[name].tolist() for name in tensors)


def test_what_is_written_is_what_torch_loads(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    kinds = ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
    rng = np.random.default_rng(1)
    arrays = {f"a.{kind}": rng.integers(0, 2, (3, 5)).astype(kind) for kind in kinds}
    arrays |= {
        "scalar": np.array(2.5, "float32"),
        "empty": np.zeros((0, 4), "float32"),
        "naïve name": np.ones(3, "int8"),
    }
    np.savez(tmp_path / "x.npz", **arrays)
    rl.reshard(tmp_path / "x.npz", tmp_path / "ckpt", to="dcp", verify=True)
    loaded = {name: torch.zeros(x.shape, dtype=getattr(torch, x.dtype.name)) for name, x in arrays.items()}
    dcp.load(loaded, checkpoint_id=tmp_path / "ckpt", no_dist=True)
    for name, x in arrays.items():
        assert loaded[name].tolist() == x.tolist()
    assert {name: x.tolist() for name, x in arrays_of(tmp_path / "ckpt").items()} == {
        name: x.tolist() for name, x in arrays.items()
    }


def test_large_tensors_are_written_in_parts_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("relayout.files.dcp_writing.PART_BYTES", 100)
    x = np.arange(11 * 6, dtype="float32").reshape(11, 6)
    np.save(tmp_path / "x.npy", x)
    rl.reshard(tmp_path / "x.npy", tmp_path / "ckpt", to="dcp", verify=True)
    assert len(open_source(tmp_path / "ckpt")["x"].segments) == 3
    loaded = {"x": torch.zeros(11, 6)}
    dcp.load(loaded, checkpoint_id=tmp_path / "ckpt", no_dist=True)
    assert loaded["x"].tolist() == x.tolist()
    monkeypatch.setattr("relayout.files.dcp_writing.PART_BYTES", 20)
    with pytest.raises(rl.BadFile, match="a row of it has 24 bytes"):
        rl.reshard(tmp_path / "x.npy", tmp_path / "other", to="dcp")


# ---- what is refused -----------------------------------------------------------------------------------------


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch executed",)


def test_nothing_in_a_pickle_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for protocol in range(2, 6):
        found = read_pickle(pickle.dumps({"x": Evil(), "y": [1, (2.5, None)]}, protocol), tmp_path)
        assert isinstance(found, PickledDict)
        evil = found.get("x")
        assert isinstance(evil, PickledObject)
        assert evil.of == PickledName(os.system.__module__, "system")
        assert found.get("y") == [1, [2.5, None]]
    folder = dcp_folder(tmp_path / "ckpt")
    contents = [pickle.dumps(Evil()), pickle.dumps({"state_dict_metadata": Evil()})]
    for content in (*contents, b"cos\nsystem\n(S'touch executed'\ntR."):
        (folder / ".metadata").write_bytes(content)
        with pytest.raises(rl.BadFile, match="not the metadata"):
            rl.open(folder)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no end|damaged"),
        (b"\x80\x02", "no end|damaged"),
        (b"\x80\x02.", "no end"),
        (b"\x80\x02K\x01K\x02.", "no end"),
        (b"(" * 10 + b".", "no end"),
        (b")" + b"\x85" * 300 + b".", "nested more than"),
        (b"(K\x01" + b"l" * 5 + b".", "mark is missing"),
        (b"\x80\x02K\x01K\x02b.", "is missing"),
        (b"\x80\x02]K\x01K\x02s.", "no dictionary"),
        (b"\x80\x02K\x01K\x02\x93.", "no text"),
        (b"\x80\x02h\x05.", "damaged"),
        (b"\x80\x02ios\nsystem\n.", "no opcode of a checkpoint"),
        (b"\x80\x02\x82\x01.", "no opcode of a checkpoint"),
        (b"\x80\x04\x8e" + struct.pack("<Q", 1 << 60) + b".", "damaged"),
        (b"I" + b"9" * 5000 + b"\n.", "damaged"),
    ],
)
def test_broken_pickles_are_refused(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(rl.BadFile, match=words):
        read_pickle(data, tmp_path)


def test_a_pickle_that_nests_itself_or_goes_on_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles, "MAX_OPCODES", 1000)
    with pytest.raises(rl.BadFile, match="opcodes"):
        read_pickle(b"\x80\x02" + b"K\x010" * 600 + b"K\x01.", tmp_path)
    endless: list[Any] = []
    endless.append(endless)
    found = read_pickle(pickle.dumps(endless, 2), tmp_path)
    assert len(found) == 1


def test_mutated_checkpoints_never_crash(tmp_path: Path) -> None:
    rng = random.Random(3)
    folder = dcp_folder(tmp_path / "ckpt")
    for file in list(folder.iterdir()):
        content = file.read_bytes()
        for _ in range(40):
            spoilt = bytearray(content)
            for _ in range(rng.randint(1, 4)):
                spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
            file.write_bytes(spoilt[: rng.choice([len(spoilt), rng.randrange(len(spoilt))])])
            with suppress(rl.LayoutError):
                arrays_of(folder)
        file.write_bytes(content)


BOXES = [
    ([((0, 0), (2, 4)), ((1, 0), (2, 4))], "overlap"),
    ([((0, 0), (2, 4))], "have 8 of 12 elements"),
    ([((0, 0), (2, 4)), ((2, 0), (2, 4))], "leaves the shape"),
]


@pytest.mark.parametrize(("boxes", "words"), BOXES, ids=["overlap", "missing", "outside"])
def test_parts_that_do_not_make_a_tensor_are_refused(tmp_path: Path, boxes: Any, words: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(3, 4)
    save_in_parts(tmp_path / "ckpt", {"x": x}, {"x": boxes})
    with pytest.raises(rl.BadFile, match=words) as refused:
        open_source(tmp_path / "ckpt")
    assert refused.value.tensor == "x"


def test_paths_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    folder = dcp_folder(tmp_path / "ckpt")
    file = folder / ".metadata"
    content = file.read_bytes()
    for name in (b"/etc/passwd.", b"../x.distcp."):
        file.write_bytes(content.replace(b"__0_0.distcp", name.ljust(12, b"x")[:12]))
        with pytest.raises(rl.BadFile, match=r"outside its folder|a link|opened"):
            open_source(folder)
    file.write_bytes(content.replace(b"FloatStorage", b"FloutStorage"))
    assert dict(open_source(folder))
    (folder / "__0_0.distcp").unlink()
    with pytest.raises(rl.BadFile, match="cannot be opened"):
        open_source(folder)


def test_an_audit_tells_pieces_gaps_and_overlaps(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    tensors = {"whole": torch.zeros(4, 6), "cut": torch.zeros(4, 6), "twice": torch.zeros(4, 6)}
    cuts = {
        "whole": [((0, 0), (2, 6)), ((2, 0), (2, 6))],
        "cut": [((0, 0), (2, 6)), ((2, 0), (2, 2))],
        "twice": [((0, 0), (3, 6)), ((2, 0), (2, 6))],
    }
    save_in_parts(tmp_path / "dcp", tensors, cuts)
    found = rl.audit(tmp_path / "dcp")
    assert [(buffer.place.name, buffer.details["pieces"]) for buffer in found.buffers] == [(name, 2) for name in cuts]
    assert [trouble.message for trouble in found.troubles] == [
        "no piece has [2:4, 2:6]: a gap",
        "two pieces have [2:3, 0:6]: an overlap",
    ]
    next((tmp_path / "dcp").glob("__0_1*")).write_bytes(b"")
    assert "ends before its piece" in rl.audit(tmp_path / "dcp").troubles[0].message


def test_an_audit_reads_the_offsets_of_safetensors(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    hf = pytest.importorskip("torch.distributed.checkpoint.hf_storage")
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    writer = hf.HuggingFaceStorageWriter(str(tmp_path / "hf"), save_distributed=True)
    dcp.save({"w": torch.zeros(4, 6), "b": torch.zeros(3)}, storage_writer=writer, no_dist=True)
    found = rl.audit(tmp_path / "hf")
    assert {buffer.place.name: buffer.shape for buffer in found.buffers} == {"w": (4, 6), "b": (3,)}
    assert not found.troubles


def test_the_recorded_checkpoints_are_those_of_two_ranks() -> None:
    data = Path(__file__).parent / "data" / "audit"
    for name in ("dcp", "hf"):
        found = rl.audit(data / f"checkpoint.{name}")
        pieces = {buffer.place.name: buffer.details["boxes"] for buffer in found.buffers}
        assert pieces == {
            "rows": ["[0:4, 0:8]", "[4:7, 0:8]"],
            "columns": ["[0:7, 0:4]", "[0:7, 4:8]"],
            "everywhere": ["[0:7, 0:8]"],
        }
        assert not found.troubles
    lost = rl.audit(data / "checkpoint.lost")
    told = [trouble.message for trouble in lost.troubles]
    assert told == ["no piece has [0:7, 0:4]: a gap", "no piece has [0:4, 0:8]: a gap"]
