"""Files repacked in little memory: the same bits as in memory, whatever is killed, full, cut off or changed."""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relayout as rl
from relayout.cli.main import relayout
from relayout.dialects import read as reading
from relayout.files import tuning
from relayout.files.file_pool import FilePool
from relayout.files.jobs import changes, staging
from relayout.files.jobs.journal import Journal
from relayout.files.jobs.rules import Rule, read_rules
from relayout.files.jobs.thread_pool import run_unordered
from relayout.files.registry import open_source
from relayout.files.sizes import format_size, parse_size
from relayout.files.tuning import FileTuning

WORDS = {"uint8": "U8", "float32": "F32", "float16": "F16", "int16": "I16", "uint16": "BF16"}


def write_safetensors(path: Path, tensors: Mapping[str, np.ndarray[Any, Any]], metadata: Any = None) -> None:
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, x in tensors.items():
        header[name] = {
            "dtype": WORDS[x.dtype.name],
            "shape": list(x.shape),
            "data_offsets": [len(data), len(data) + x.nbytes],
        }
        data += x.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def stored(path: Path, name: str) -> bytes:
    """The bytes of one tensor of a file."""
    return b"".join([s.file.read_bytes()[s.start : s.start + s.size] for s in open_source(path)[name].segments])


def noise(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    """Any bits."""
    kind = np.dtype(dtype)
    made = np.random.default_rng(seed).integers(0, 256, (*shape, kind.itemsize), dtype=np.uint8)
    return made.view(kind).reshape(shape)


@pytest.fixture
def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks, steps, pieces and journal lines for little data."""
    small = FileTuning(
        part_bytes=4096,
        step_bytes=512,
        min_thread_bytes=1,
        read_call_bytes=64,
        write_call_bytes=64,
        writeback_bytes=256,
        journal_batch_bytes=1,
    )
    monkeypatch.setattr(tuning, "ACTIVE", small)


def little(data: int, jobs: int = 1) -> int:
    """So much memory that there is room for so many bytes of data."""
    return tuning.ACTIVE.process_bytes + jobs * data


# ---- the same as in memory -------------------------------------------------------------------------------

CASES = [
    ((1, 9, 9, 40), "uint8", "htp:R4Crouton"),
    ((3, 17, 13, 40), "float16", "htp:R4Crouton"),
    ((2, 20, 9, 11), "float32", "onednn:nChw16c"),
    ((4, 33, 7, 5), "int16", "format:0 3 1 2"),
    ((70, 90), "float32", "format:1 0"),
    ((70, 90), "float64", "format:0 1 / 0,8 1,8 fill 7"),
    ((65, 3, 33), "uint8", "format:2 1 0 / 0,4"),
    ((158,), "uint8", "format:0 / 0,8"),
    ((6, 50), "uint8", "a b -> b a"),
]


@pytest.mark.usefixtures("cut_small")
@pytest.mark.parametrize(
    ("shape", "order"),
    [((61, 32, 3, 3), (2, 3, 1, 0)), ((97, 89), (1, 0)), ((64, 128), (1, 0)), ((13, 17, 5), (2, 1, 0))],
)
def test_tiles_read_every_byte_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    x = noise(shape, "uint32")
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(tuning, "ACTIVE", tuning.ACTIVE._replace(part_bytes=1024, read_call_bytes=8))
    counted, read = [], FilePool.read

    def counting(self: FilePool, segments: Any, starts: Any, out: Any) -> None:
        counted.append(out.size)
        read(self, segments, starts, out)

    monkeypatch.setattr(FilePool, "read", counting)
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to=f"format:{' '.join(map(str, order))}", jobs=1)
    assert np.array_equal(np.load(tmp_path / "y.npy"), x.transpose(order))
    assert len(counted) >= tuning.ACTIVE.min_tiles
    assert sum(counted) == x.nbytes


@pytest.mark.usefixtures("cut_small")
@pytest.mark.parametrize("room", [700, 20_000, 1 << 22])
@pytest.mark.parametrize(("shape", "dtype", "to"), CASES)
@pytest.mark.filterwarnings("ignore:.* is made for elements")
def test_npy_there_and_back(tmp_path: Path, shape: tuple[int, ...], dtype: str, to: str, room: int) -> None:
    x = noise(shape, dtype)
    np.save(tmp_path / "x.npy", x)
    row = x.nbytes // 4 if room == 700 else 0
    want = rl.repack(x, to)
    report = rl.repack_file(
        tmp_path / "x.npy", tmp_path / "y.npy", to=to, max_memory=little(4 * (room + row), 2), jobs=2, verify=True
    )
    got = np.load(tmp_path / "y.npy")
    assert got.shape == want.shape
    assert got.tobytes() == want.tobytes()
    assert report.total == got.nbytes
    assert rl.verify(tmp_path / "x.npy", tmp_path / "y.npy")
    rl.repack_file(tmp_path / "y.npy", tmp_path / "z.npy", to=rl.Layout.row_major(shape))
    back = np.load(tmp_path / "z.npy")
    assert back.shape == shape
    assert back.tobytes() == x.tobytes()
    assert sorted(p.name for p in tmp_path.glob("*.part*")) == []


@pytest.mark.usefixtures("cut_small")
@pytest.mark.parametrize(
    ("shape", "to"),
    [
        ((512, 640), "format:1 0"),
        ((64, 48, 80), "format:2 1 0"),
        ((20, 18, 16, 40), "format:3 2 1 0"),
        ((500, 630), "format:1 0 / 0,8 1,4"),
        ((4, 96, 160, 3), "format:0 3 1 2"),
    ],
)
def test_nothing_is_read_more_than_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], to: str
) -> None:
    x = noise(shape, "uint8")
    np.save(tmp_path / "x.npy", x)
    read, count = FilePool.read, [0]

    def counted(files: FilePool, segments: Any, starts: Any, out: Any) -> None:
        count[0] += out.size
        read(files, segments, starts, out)

    monkeypatch.setattr(FilePool, "read", counted)
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to=to, max_memory=little(x.nbytes // 4), jobs=1)
    assert x.nbytes <= count[0] <= 2 * x.nbytes
    assert np.load(tmp_path / "y.npy").tobytes() == rl.repack(x, to).tobytes()


def test_a_layout_with_an_offset_and_gaps_is_filled(tmp_path: Path) -> None:
    x = noise((5, 6), "uint8")
    layout = rl.Layout((5, 6), (10, 1), offset=3)
    np.save(tmp_path / "x.npy", x)
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to=layout, fill=9)
    want = rl.plan(rl.Layout.row_major(5, 6), layout, "uint8", fill=9)(x.reshape(-1))
    assert np.load(tmp_path / "y.npy").tobytes() == want.tobytes()


def test_safetensors(tmp_path: Path) -> None:
    tensors = {"conv": noise((1, 9, 9, 40), "uint8"), "half": noise((3, 5), "uint16"), "bias": noise((7,), "float32")}
    write_safetensors(tmp_path / "in.safetensors", tensors, {"format": "pt"})
    out = tmp_path / "out.safetensors"
    report = rl.repack_file(tmp_path / "in.safetensors", out, to="htp:R4Crouton", only="conv", verify=True)
    assert [row.kept for row in sorted(report.rows)] == [True, False, True]
    assert stored(out, "conv") == rl.repack(tensors["conv"], "htp:R4Crouton").tobytes()
    assert stored(out, "half") == tensors["half"].tobytes()
    found = open_source(out)
    assert found.metadata == {"format": "pt"}
    assert found["half"].element.name == "bfloat16"
    # What is packed starts from its record, and its names of dimensions are known.
    back = tmp_path / "back.safetensors"
    rl.repack_file(out, back, to="nchw", only="conv")
    assert stored(back, "conv") == np.ascontiguousarray(tensors["conv"].transpose(0, 3, 1, 2)).tobytes()
    assert rl.verify(tmp_path / "in.safetensors", back)


@pytest.mark.filterwarnings("ignore:.* is made for elements")
def test_raw_files(tmp_path: Path) -> None:
    x = noise((2, 9, 9, 40), "float16")
    packed = rl.repack(x, "htp:R4Crouton")
    (tmp_path / "x.bin").write_bytes(packed.tobytes())
    out = tmp_path / "y.npy"
    rl.repack_file(tmp_path / "x.bin", out, src="htp:R4Crouton", shape=x.shape, src_dtype="float16")
    assert np.load(out).tobytes() == x.tobytes()
    rl.repack_file(out, tmp_path / "z.bin", to="htp:R4Crouton")
    assert (tmp_path / "z.bin").read_bytes() == packed.tobytes()
    assert rl.verify(out, tmp_path / "z.bin")


def test_npz_and_zarr(tmp_path: Path) -> None:
    x, y = noise((1, 9, 9, 40), "uint8"), noise((3,), "float32")
    np.savez(tmp_path / "in.npz", x=x, y=y)
    rl.repack_file(tmp_path / "in.npz", tmp_path / "out.npz", to="htp:R4Crouton", only="x", verify=True)
    with np.load(tmp_path / "out.npz") as found:
        assert found["x"].tobytes() == rl.repack(x, "htp:R4Crouton").tobytes()
        assert found["y"].tobytes() == y.tobytes()
    for _ in range(2):
        rl.repack_file(tmp_path / "out.npz", tmp_path / "out.zarr", to="nhwc", only="x", force=True)
        assert stored(tmp_path / "out.zarr", "x") == x.tobytes()
    assert rl.verify(tmp_path / "in.npz", tmp_path / "out.zarr")


@pytest.mark.filterwarnings("ignore:copied unchanged")
def test_what_is_copied_is_the_same_for_other_readers(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    from safetensors.numpy import load_file

    turned = np.arange(12.0).reshape(3, 4).T
    np.savez(tmp_path / "in.npz", x=noise((1, 9, 9, 40), "uint8"), turned=turned)
    chunked = zarr.create_group(tmp_path / "in.zarr")
    chunked.create_array("x", data=noise((1, 9, 9, 40), "uint8"), compressors=None)
    chunked.create_array("turned", data=turned, chunks=(3, 2), compressors=None)
    for source in ("in.npz", "in.zarr"):
        made = [tmp_path / f"{source}.{kind}" for kind in ("safetensors", "npz", "zarr")]
        for out in made:
            report = rl.repack_file(tmp_path / source, out, to="htp:R4Crouton", verify=True)
            assert [row.name for row in report.rows if row.kept] == ["turned"]
            assert rl.verify(tmp_path / source, out)
        np.testing.assert_array_equal(load_file(made[0])["turned"], turned)
        np.testing.assert_array_equal(np.load(made[1])["turned"], turned)
        np.testing.assert_array_equal(zarr.open_group(made[2], mode="r")["turned"][...], turned)


def test_what_is_recorded_cannot_be_contradicted(tmp_path: Path) -> None:
    x = noise((1, 9, 9, 40), "uint8")
    np.save(tmp_path / "x.npy", x)
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to="htp:R4Crouton")
    with pytest.raises(rl.BadFile, match="recorded as htp:R4Crouton"):
        rl.repack_file(tmp_path / "y.npy", tmp_path / "z.npy", src="nchw", to="nhwc")
    rl.repack_file(tmp_path / "y.npy", tmp_path / "z.npy", src="htp:R4Crouton", to="nhwc")
    assert np.array_equal(np.load(tmp_path / "z.npy"), x)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "bias.npy", noise((7,), "uint8"))
    with pytest.raises(rl.NotExpressible, match=r"'bias' \(rank 1, and htp:R4Crouton has rank 4\)"):
        rl.repack_file(tmp_path / "bias.npy", tmp_path / "y.npy", to="htp:R4Crouton")
    with pytest.raises(rl.ShapeError, match=r"no tensor .* is selected"):
        rl.repack_file(tmp_path / "bias.npy", tmp_path / "y.npy", to="htp:R4Crouton", except_="*", only="*")
    with pytest.raises(rl.ParseError):
        rl.repack_file(tmp_path / "bias.npy", tmp_path / "y.npy", to="format:0 0")
    with pytest.raises(rl.ShapeError, match="needs 40 bytes"):
        rl.repack_file(tmp_path / "bias.npy", tmp_path / "y.npy", src="format:0 / 0,8", shape=(33,), to="format:0")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bias.npy"]


# ---- types and rules -------------------------------------------------------------------------------------


def test_types_are_converted(tmp_path: Path) -> None:
    x = np.linspace(-3, 3, 9 * 50, dtype=np.float32).reshape(9, 50)
    np.save(tmp_path / "x.npy", x)
    means = rl.ScaleOffset(0.05, 128, "quint8")
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to="format:1 0 / 0,8", dtype=means, verify=True)
    want = rl.repack(x, "format:1 0 / 0,8", element=means)
    assert np.load(tmp_path / "y.npy").tobytes() == want.tobytes()
    assert open_source(tmp_path / "y.npy")["y"].interface == means
    assert rl.verify(tmp_path / "x.npy", tmp_path / "y.npy")
    rl.repack_file(tmp_path / "x.npy", tmp_path / "h.npy", dtype="float16")
    assert np.array_equal(np.load(tmp_path / "h.npy"), x.astype(np.float16))


@pytest.mark.usefixtures("cut_small")
@pytest.mark.parametrize("to", [None, "format:1 0", "format:1 0 / 0,8"])
@pytest.mark.parametrize("room", [700, 20_000])
def test_a_value_that_does_not_fit_is_named_with_its_place(tmp_path: Path, to: str | None, room: int) -> None:
    x = np.zeros((90, 70), np.float32)
    x[77, 33] = 1e6
    np.savez(tmp_path / "x.npz", fine=x[:50], x=x)
    with pytest.raises(rl.NotExpressible, match=r"tensor 'x': 1000000.0 at \(77, 33\) .* Nothing is left") as refused:
        rl.repack_file(tmp_path / "x.npz", tmp_path / "y.npz", to=to, dtype="int16", max_memory=little(room), jobs=1)
    assert refused.value.hint.endswith("--except x")
    assert not list(tmp_path.glob("y*"))
    np.savez(tmp_path / "z.npz", fine=x[:50].astype(np.int16), x=np.zeros((90, 70), np.int16))
    told = rl.verify(tmp_path / "x.npz", tmp_path / "z.npz", max_memory=little(room))
    assert (told.tensor, told.reason) == ("x", "1000000.0 at (77, 33) has no place in int16: outside -32768 to 32767.")


def test_rules(tmp_path: Path) -> None:
    tensors = {
        "conv.weight": noise((6, 5, 3, 3), "uint8"),
        "fc.weight": np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16),
        "fc.keep": noise((4,), "float32"),
        "other": noise((4, 4), "float32"),
    }
    write_safetensors(tmp_path / "in.safetensors", tensors)
    (tmp_path / "rules.toml").write_text("""
        [[rule]]
        name = "conv.*"
        permute = "OIHW -> HWIO"
        [[rule]]
        name = "*.keep"
        keep = true
        [[rule]]
        name = "fc.*"
        to = "format:1 0"
        dtype = "quint8"
        scale = [0.01, 0.02, 0.03, 0.04]
        offset = 128
        axis = 0
    """)
    out = tmp_path / "out.safetensors"
    report = rl.repack_file(tmp_path / "in.safetensors", out, rules=tmp_path / "rules.toml", verify=True)
    assert {row.name for row in report.rows if row.kept} == {"fc.keep", "other"}
    found = open_source(out)
    assert found["conv.weight"].shape == (3, 3, 5, 6)
    assert found["conv.weight"].axes == "hwio"
    moved = np.ascontiguousarray(tensors["conv.weight"].transpose(2, 3, 1, 0))
    assert stored(out, "conv.weight") == moved.tobytes()
    means = rl.ScaleOffset([0.01, 0.02, 0.03, 0.04], 128, "quint8", 0)
    assert stored(out, "fc.weight") == np.ascontiguousarray(means.encode(tensors["fc.weight"]).T).tobytes()
    assert rl.verify(tmp_path / "in.safetensors", out, rules=tmp_path / "rules.toml")
    assert not rl.verify(tmp_path / "in.safetensors", out)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]]\nto = 'nchw'", "at least a name"),
        ("[[rule]]\nname = 'x'\nlayout = 'nchw'", "no .*layout"),
        ("[[rule]]\nname = 'x'\npermute = 3", "permute is a text"),
        ("[[rules]]\nname = 'x'", "expected .*rule"),
        ("rule = [", "cannot be read"),
        ("[[rule]]\nname = 'x'\npermute = 'AB -> AC'", "two orders"),
        ("[[rule]]\nname = 'x'\nkeep = 'false'", "keep is true or false"),
        ("[[rule]]\nname = 'x'\nshape = '1,2'", "shape is a list"),
        ("[[rule]]\nname = 'x'\npermute = 'ABC -> CBA'", "3 dimensions"),
    ],
)
def test_wrong_rules(tmp_path: Path, text: str, message: str) -> None:
    np.save(tmp_path / "x.npy", noise((3, 4), "uint8"))
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(rl.LayoutError, match=message):
        rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", rules=tmp_path / "rules.toml")


def test_a_pattern_that_fits_nothing_is_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", conv=noise((1, 9, 9, 40), "uint8"), bias=noise((3,), "float32"))
    rules = [{"name": "conv*"}, {"name": "fc*", "keep": True}]
    out = tmp_path / "y.npz"
    with pytest.warns(UserWarning, match="no tensor has a name like 'cnov', 'biass', 'fc\\*'") as warned:
        rl.repack_file(tmp_path / "x.npz", out, to="nchw", only=["conv", "cnov"], except_="biass", rules=rules)
    assert len(warned) == 1


@pytest.mark.filterwarnings("ignore:copied unchanged")
def test_row_major_is_a_layout_and_the_usual_one(tmp_path: Path) -> None:
    tensors = {"conv": noise((1, 9, 9, 40), "uint8"), "other": noise((1, 3, 3, 40), "uint8")}
    np.savez(tmp_path / "x.npz", **tensors)
    rl.repack_file(tmp_path / "x.npz", tmp_path / "packed.safetensors", to="htp:R4Crouton", axes="nhwc")
    rules = [{"name": "conv", "to": "row-major"}]
    rl.repack_file(tmp_path / "packed.safetensors", tmp_path / "y.npz", to="nchw", rules=rules)
    rl.repack_file(tmp_path / "packed.safetensors", tmp_path / "z.npz")
    found, plain = np.load(tmp_path / "y.npz"), np.load(tmp_path / "z.npz")
    assert {name: x.shape for name, x in found.items()} == {"conv": (1, 9, 9, 40), "other": (1, 40, 3, 3)}
    for name, x in tensors.items():
        assert np.array_equal(plain[name], x)


def test_the_first_rule_that_fits_counts() -> None:
    rules = read_rules(Rule(to="nchw"), [{"name": "a*", "to": "nhwc"}, {"name": "ab", "from": "x"}], None, ["ac"])
    assert rules.find("ab") == Rule("a*", to="nhwc")
    assert rules.find("b") == Rule(to="nchw")
    assert rules.find("ac") is None


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", noise((1, 9, 9, 40), "uint8"))
    report = rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to="htp:R4Crouton", dry_run=True)
    (row,) = report.rows
    assert (row.bytes_before, row.bytes_after, round(row.padding, 3)) == (3240, 16384, 0.802)
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


# ---- verify ----------------------------------------------------------------------------------------------


def test_verify_finds_the_element(tmp_path: Path) -> None:
    x = noise((1, 9, 9, 40), "uint8")
    np.save(tmp_path / "x.npy", x)
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to="htp:R4Crouton")
    y = np.load(tmp_path / "y.npy")
    y[0, 1, 0, 1, 0, 3, 2] ^= 1
    np.save(tmp_path / "y.npy", y)
    found = rl.verify(tmp_path / "x.npy", tmp_path / "y.npy")
    assert found.coordinate == (0, 8, 3, 34)
    assert found.values == (x[0, 8, 3, 34], x[0, 8, 3, 34] ^ 1)
    assert str(found).startswith("tensor 'x' differs at (0, 8, 3, 34): ")
    # Padding does not count.
    y[0, 1, 0, 1, 0, 3, 2] ^= 1
    y[0, 1, 1, 1, 7, 7, 31] ^= 1
    np.save(tmp_path / "y.npy", y)
    assert rl.verify(tmp_path / "x.npy", tmp_path / "y.npy")


@pytest.mark.usefixtures("cut_small")
@pytest.mark.parametrize("places", [[(7, 60)], [(299, 0), (3, 390)], [(5, 380), (6, 0)], [(200, 1), (200, 2)]])
def test_verify_finds_the_first_element(tmp_path: Path, places: list[tuple[int, int]]) -> None:
    x = noise((300, 400), "uint8")
    np.save(tmp_path / "x.npy", x)
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to="format:1 0")
    y = np.load(tmp_path / "y.npy")
    for row, column in places:
        y[column, row] ^= 1
    np.save(tmp_path / "y.npy", y)
    found = rl.verify(tmp_path / "x.npy", tmp_path / "y.npy", max_memory=little(30_000))
    assert found.coordinate == min(places)


def test_verify_tells_numbers_of_other_bits(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1, 0x7FC00000], np.uint32).view(np.float32))
    np.save(tmp_path / "y.npy", np.array([1, 0x7FC00001], np.uint32).view(np.float32))
    found = rl.verify(tmp_path / "x.npy", tmp_path / "y.npy")
    assert str(found) == "tensor 'x' differs at (1,): nan and nan, of other bits"


def test_verify_tells_of_other_tensors_and_shapes(tmp_path: Path) -> None:
    a, b = noise((2, 3), "uint8"), noise((3, 2), "uint8")
    write_safetensors(tmp_path / "a.safetensors", {"a": a, "b": b})
    write_safetensors(tmp_path / "b.safetensors", {"a": b, "b": b})
    write_safetensors(tmp_path / "c.safetensors", {"a": a, "b": b, "c": b})
    told = str(rl.verify(tmp_path / "a.safetensors", tmp_path / "b.safetensors"))
    assert "its shapes are (2, 3) and (3, 2); give the rules (--map)" in told
    assert "only in" in str(rl.verify(tmp_path / "a.safetensors", tmp_path / "c.safetensors"))


# ---- what goes wrong -------------------------------------------------------------------------------------


def a_file(tmp_path: Path) -> tuple[Path, Path, bytes]:
    """A source, a destination, and what it should hold."""
    x = noise((4, 33, 20, 40), "uint8")
    np.save(tmp_path / "x.npy", x)
    reference = tmp_path / "reference.npy"
    rl.repack_file(tmp_path / "x.npy", reference, to="htp:R4Crouton")
    return tmp_path / "x.npy", tmp_path / "y.npy", reference.read_bytes()


def in_child(do: Callable[[], object]) -> int:
    """What a fork ends with."""
    child = os.fork()
    if not child:
        try:
            do()
        except BaseException as error:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(3 if isinstance(error, rl.LayoutError) else 4)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def kill_at(moment: int) -> None:
    """End this process without warning at its so manyth call that writes, forces to the disk, renames or removes."""
    calls = itertools.count(1)  # its threads count together: each call has a number of its own

    def deadly(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **words: Any) -> Any:
            if next(calls) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **words)

        return counted

    names = "pwrite write fsync fdatasync ftruncate posix_fallocate rename replace unlink"
    for name in names.split():
        setattr(os, name, deadly(getattr(os, name)))


def test_a_text_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    read = reading.read

    def counted(text: str, *words: Any) -> Any:
        texts.append(text)
        return read(text, *words)

    monkeypatch.setattr(reading, "read", counted)
    np.savez(tmp_path / "x.npz", **{f"x{k}": noise((1, 9 + k, 9, 40), "uint8") for k in range(3)})
    rl.repack_file(tmp_path / "x.npz", tmp_path / "y.npz", to="format:0 1 2 3 / 1,8 2,8 3,32", verify=True)
    assert texts == ["format:0 1 2 3 / 1,8 2,8 3,32"]


@pytest.mark.usefixtures("cut_small")
@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment_and_resumed(tmp_path: Path, seed: int) -> None:
    source, out, want = a_file(tmp_path)
    chance = random.Random(seed)
    kills = 0
    for _ in range(60):
        moment = chance.randint(1, 60)

        def run(moment: int = moment) -> None:
            kill_at(moment)
            rl.repack_file(source, out, to="htp:R4Crouton", resume=True, jobs=2, max_memory=little(1 << 16, 2))

        status = in_child(run)
        if out.exists():
            assert out.read_bytes() == want
        if status == 0:
            break
        assert os.WIFSIGNALED(status), f"a run ended with {os.waitstatus_to_exitcode(status)}"
        kills += 1
    else:  # how far a run gets before its end depends on its threads
        rl.repack_file(source, out, to="htp:R4Crouton", resume=True, jobs=2, max_memory=little(1 << 16, 2))
    assert kills
    assert out.read_bytes() == want
    assert json.loads((tmp_path / "y.npy.relayout.json").read_text())
    assert not list(tmp_path.glob("*.part*"))


def test_what_exists_is_told_by_the_name_that_was_given(tmp_path: Path) -> None:
    source, _, _ = a_file(tmp_path)
    for k in range(8):
        out = tmp_path / f"{k}.npy"
        rl.repack_file(source, out, to="htp:R4Crouton")
        with pytest.raises(rl.BadFile, match="exists") as refused:
            rl.repack_file(source, out, to="htp:R4Crouton")
        assert refused.value.operands["file"] == out


def test_a_folder_takes_the_place_of_a_link_and_of_a_file(tmp_path: Path) -> None:
    source, _, _ = a_file(tmp_path)
    rl.repack_file(source, tmp_path / "other.zarr", to="htp:R4Crouton")
    (tmp_path / "link.zarr").symlink_to(tmp_path / "other.zarr")
    (tmp_path / "file.zarr").write_bytes(b"old")
    for out in (tmp_path / "link.zarr", tmp_path / "file.zarr"):
        with pytest.raises(rl.BadFile, match="exists"):
            rl.repack_file(source, out, to="format:3 2 1 0")
        rl.repack_file(source, out, to="format:3 2 1 0", force=True)
        assert rl.verify(source, out)
        assert not out.is_symlink()
    assert rl.open(tmp_path / "other.zarr")["x"].layout == rl.parse("htp:R4Crouton", shape=rl.open(source)["x"].shape)
    assert not list(tmp_path.glob("*.part*"))


def test_an_old_folder_that_cannot_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, _, _ = a_file(tmp_path)
    out = tmp_path / "y.zarr"
    rl.repack_file(source, out, to="htp:R4Crouton")

    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(staging, "rmtree", refused)
        with pytest.raises(rl.BadFile, match=r"y.zarr is whole, and .*y.zarr.part.old what was there before"):
            rl.repack_file(source, out, to="format:3 2 1 0", force=True)
    assert rl.verify(source, out)
    rl.repack_file(source, out, to="format:3 2 1 0", resume=True)
    assert not list(tmp_path.glob("*.part*"))


def test_an_old_file_is_never_seen_with_a_new_record(tmp_path: Path) -> None:
    source, out, _ = a_file(tmp_path)
    record = tmp_path / "y.npy.relayout.json"

    def seen() -> tuple[bytes, bytes | None]:
        return out.read_bytes(), record.read_bytes() if record.exists() else None

    targets = ("htp:R4Crouton", "nchw", None)
    whole = {}
    for to in targets:
        rl.repack_file(source, out, to=to, axes="nhwc", force=True)
        whole[to] = seen()
    assert len(set(whole.values())) == 3
    for old, new in [(a, b) for a in targets for b in targets if a != b]:
        for moment in range(1, 40):
            rl.repack_file(source, out, to=old, axes="nhwc", force=True)
            assert seen() == whole[old]

            def run(moment: int = moment, new: str | None = new) -> None:
                kill_at(moment)
                rl.repack_file(source, out, to=new, axes="nhwc", force=True)

            status = in_child(run)
            assert not out.exists() or seen() in (whole[old], whole[new])
            if status == 0:
                break
        assert status == 0


def unfinished(source: Path, out: Path, **options: Any) -> rl.Cancelled:
    """A run that is stopped half-way."""
    with pytest.raises(rl.Cancelled) as stopped:
        rl.repack_file(
            source, out, **{"to": "htp:R4Crouton", "jobs": 1, **options}, progress=lambda done, total: done < total / 2
        )
    return stopped.value


@pytest.mark.usefixtures("cut_small")
def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    source, out, want = a_file(tmp_path)
    error = unfinished(source, out)
    assert "y.npy.part is unfinished" in error.message
    assert not out.exists()
    with pytest.raises(rl.BadFile, match="did not finish"):
        rl.repack_file(source, out, to="htp:R4Crouton", jobs=1)
    report = rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, resume=True)
    assert 0 < report.resumed < report.total
    assert out.read_bytes() == want
    with pytest.raises(rl.BadFile, match="exists"):
        rl.repack_file(source, out, to="htp:R4Crouton", jobs=1)
    assert out.read_bytes() == want


@pytest.mark.parametrize("name", ["y.npy", "y.npz", "y.zarr", "y.safetensors", "y.onnx"])
def test_what_is_done_is_done(tmp_path: Path, name: str) -> None:
    source, out = a_file(tmp_path)[0], tmp_path / name
    assert rl.repack_file(source, out, to="htp:R4Crouton").resumed == 0
    before = {file: (file.read_bytes(), file.stat().st_ino) for file in [out, *out.rglob("*")] if file.is_file()}
    report = rl.repack_file(source, out, to="htp:R4Crouton", resume=True)
    assert report.resumed == report.total > 0
    assert {file: (file.read_bytes(), file.stat().st_ino) for file in before} == before
    for options in ({"to": "nchw"}, {"fill": 3}):
        with pytest.raises(rl.BadFile, match="exists"):
            rl.repack_file(source, out, **{"to": "htp:R4Crouton", **options}, resume=True)
    # The first byte of the data is another.
    (segment,) = open_source(out)[next(iter(open_source(out)))].segments
    with segment.file.open("r+b") as file:
        file.seek(segment.start)
        first = file.read(1)[0]
        file.seek(segment.start)
        file.write(bytes([first ^ 1]))
    with pytest.raises(rl.BadFile, match="exists"):
        rl.repack_file(source, out, to="htp:R4Crouton", resume=True)


@pytest.mark.usefixtures("cut_small")
def test_another_source_or_option_is_refused(tmp_path: Path) -> None:
    source, out, want = a_file(tmp_path)
    unfinished(source, out)
    for options, what in (
        ({"to": "nchw"}, "options"),
        ({"fill": 3}, "options"),
    ):
        with pytest.raises(rl.BadFile, match=f"differs in its {what}"):
            rl.repack_file(source, out, **{"to": "htp:R4Crouton", "jobs": 1, **options}, resume=True)
    assert rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, resume=True).resumed
    out.unlink()
    Path(f"{out}.relayout.json").unlink()
    unfinished(source, out)
    data = bytearray(source.read_bytes())
    data[-1] ^= 1
    source.write_bytes(data)
    with pytest.raises(rl.BadFile, match="differs in its source"):
        rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, resume=True)
    rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, force=True)
    assert out.read_bytes() != want


@pytest.mark.usefixtures("cut_small")
def test_an_unfinished_file_that_was_touched_is_refused(tmp_path: Path) -> None:
    source, out, want = a_file(tmp_path)
    unfinished(source, out)
    part = tmp_path / "y.npy.part"
    os.truncate(part, 100)
    with pytest.raises(rl.BadFile, match="not as the run"):
        rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, resume=True)
    (tmp_path / "y.npy.part.journal").write_text('{"relayout": 1}\n')
    with pytest.raises(rl.BadFile, match="no journal of this version"):
        rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, resume=True)
    (tmp_path / "y.npy.part.journal").unlink()
    with pytest.raises(rl.BadFile, match="did not finish"):
        rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, resume=True)
    rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, force=True)
    assert out.read_bytes() == want


@pytest.mark.usefixtures("cut_small")
@pytest.mark.parametrize("options", [{"jobs": 2}, {"jobs": 3, "max_memory": "2GiB"}, {"max_memory": "1025MiB"}])
def test_other_jobs_and_memory_go_on(tmp_path: Path, options: dict[str, Any]) -> None:
    source, out, want = a_file(tmp_path)
    unfinished(source, out)
    report = rl.repack_file(source, out, **{"to": "htp:R4Crouton", "jobs": 1, **options}, resume=True)
    assert 0 < report.resumed < report.total
    assert out.read_bytes() == want


@pytest.mark.usefixtures("cut_small")
def test_less_memory_than_the_parts_were_cut_for_is_refused(tmp_path: Path) -> None:
    source, out, want = a_file(tmp_path)
    unfinished(source, out, max_memory=little(1 << 16))
    with pytest.raises(rl.LimitExceeded, match="were cut for 65536 bytes"):
        rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, max_memory=little(1 << 15), resume=True)
    rl.repack_file(source, out, to="htp:R4Crouton", jobs=8, max_memory=little(1 << 16), resume=True)
    assert out.read_bytes() == want


@pytest.mark.usefixtures("cut_small")
def test_a_source_changed_with_its_time_restored_is_refused(tmp_path: Path) -> None:
    source, out, _ = a_file(tmp_path)
    unfinished(source, out)
    before = source.stat()
    with source.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (source.stat().st_mtime_ns, source.stat().st_size) == (before.st_mtime_ns, before.st_size)
    with pytest.raises(rl.BadFile, match="differs in its source"):
        rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, resume=True)


@pytest.mark.parametrize("text", ["my notes", "my notes\nof a journey\n", "{}\n"])
@pytest.mark.parametrize("options", [{}, {"resume": True}, {"force": True}, {"resume": True, "force": True}])
def test_a_journal_of_somebody_else_is_refused(tmp_path: Path, text: str, options: dict[str, bool]) -> None:
    source, out, _ = a_file(tmp_path)
    journal = tmp_path / "y.npy.part.journal"
    journal.write_text(text)
    with pytest.raises(rl.BadFile, match="no journal of relayout"):
        rl.repack_file(source, out, to="htp:R4Crouton", **options)
    assert journal.read_text() == text
    assert not out.exists()


# ---- everything is written, and the names are left -------------------------------------------------------


def written_not_renamed(source: Path, out: Path) -> Path:
    """A run that was killed when all was written, before the first file got its name; its unfinished file."""

    def run() -> None:
        staging.StagedFiles.finish = lambda self: os._exit(9)  # type: ignore[method-assign,assignment]
        rl.repack_file(source, out, to="htp:R4Crouton")

    assert os.waitstatus_to_exitcode(in_child(run)) == 9
    part = Path(f"{out}.part")
    assert part.exists()
    assert Path(f"{out}.part.journal").read_text().endswith("\ndone\n")
    return part


def data_file(place: Path) -> Path:
    """The file with the most bytes: the place itself, or in that folder."""
    return max([place, *place.rglob("*")], key=lambda file: file.stat().st_size if file.is_file() else -1)


@pytest.mark.parametrize("name", ["y.npy", "y.npz", "y.zarr", "y.safetensors", "y.onnx"])
def test_a_run_that_was_written_is_only_renamed(tmp_path: Path, name: str) -> None:
    source, out = a_file(tmp_path)[0], tmp_path / name
    rl.repack_file(source, tmp_path / f"want_{name}", to="htp:R4Crouton")
    written_not_renamed(source, out)
    for options in ({}, {"verify": True}):
        rl.repack_file(source, out, to="htp:R4Crouton", resume=True, **options)
        assert data_file(out).read_bytes() == data_file(tmp_path / f"want_{name}").read_bytes()
        assert not list(tmp_path.glob("*.part*"))


@pytest.mark.parametrize("name", ["y.npy", "y.npz", "y.zarr", "y.safetensors", "y.onnx"])
@pytest.mark.parametrize("verify", [False, True])
def test_written_files_that_were_removed_or_cut_are_refused(tmp_path: Path, name: str, verify: bool) -> None:
    source, out = a_file(tmp_path)[0], tmp_path / name
    for damage in ("cut", "removed"):
        part = data_file(written_not_renamed(source, out))
        if damage == "cut":
            os.truncate(part, 1000)
        else:
            part.unlink()
        with pytest.raises(rl.BadFile, match="is not as the run that did not finish left it"):
            rl.repack_file(source, out, to="htp:R4Crouton", resume=True, verify=verify)
        assert not out.exists()
        rl.repack_file(source, out, to="htp:R4Crouton", force=True, verify=True)
        for file in (out, Path(f"{out}.relayout.json")):
            staging._remove(file)


@pytest.mark.parametrize("name", ["y.npy", "y.npz", "y.zarr", "y.safetensors", "y.onnx"])
def test_written_files_are_verified_when_that_is_asked_for(tmp_path: Path, name: str) -> None:
    source, out = a_file(tmp_path)[0], tmp_path / name
    part = data_file(written_not_renamed(source, out))
    with part.open("r+b") as file:
        file.seek(part.stat().st_size // 2)
        file.write(bytes(4096))
    with pytest.raises(rl.LayoutMismatch, match="what was written is not what was read"):
        rl.repack_file(source, out, to="htp:R4Crouton", resume=True, verify=True)
    assert not out.exists()


def test_an_old_file_does_not_count_as_the_one_that_was_written(tmp_path: Path) -> None:
    source, out, want = a_file(tmp_path)
    rl.repack_file(source, out, to="htp:R4Crouton")
    old = bytearray(want)
    old[5000:9000] = bytes(4000)
    written_not_renamed(source, tmp_path / "z.npy")
    (tmp_path / "z.npy.part").unlink()
    (tmp_path / "z.npy").write_bytes(old)
    with pytest.raises(rl.LayoutMismatch, match="what was written is not what was read"):
        rl.repack_file(source, tmp_path / "z.npy", to="htp:R4Crouton", resume=True)


def test_two_runs_do_not_meet(tmp_path: Path) -> None:
    source, out, _ = a_file(tmp_path)
    journal = Journal(tmp_path / "y.npy.part.journal")
    (tmp_path / "y.npy.part").write_bytes(b"being written")
    for force in (True, False):
        with pytest.raises(rl.BadFile, match="another run"):
            rl.repack_file(source, out, to="htp:R4Crouton", force=force)
    assert (tmp_path / "y.npy.part").read_bytes() == b"being written"
    journal.close()


def test_a_run_that_begins_when_another_ends_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out, want = a_file(tmp_path)
    lock, journal = fcntl.flock, tmp_path / "y.npy.part.journal"

    def locked_late(file: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        journal.unlink()
        rl.repack_file(source, out, to="htp:R4Crouton")
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", locked_late)
    with pytest.raises(rl.BadFile, match="exists"):
        rl.repack_file(source, out, to="format:3 2 1 0")
    assert out.read_bytes() == want
    assert not list(tmp_path.glob("*.part*"))


def test_a_journal_that_was_removed_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, path = fcntl.flock, tmp_path / "journal"

    def locked_late(file: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        path.unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", locked_late)
    journal = Journal(path)
    with pytest.raises(rl.BadFile, match="another run"):
        Journal(path)
    journal.close()


def test_the_source_is_never_the_destination(tmp_path: Path) -> None:
    source, _, _ = a_file(tmp_path)
    before = source.read_bytes()
    with pytest.raises(rl.BadFile, match="is the source"):
        rl.repack_file(source, source, to="htp:R4Crouton", force=True)
    (tmp_path / "link.npy").symlink_to(source)
    with pytest.raises(rl.BadFile, match="is the source"):
        rl.repack_file(source, tmp_path / "link.npy", to="htp:R4Crouton", force=True)
    assert source.read_bytes() == before
    for name in ("y.bin.part", "y.bin.part.journal"):
        raw = tmp_path / name
        raw.write_bytes(bytes(8 * 8 * 32))
        with pytest.raises(rl.BadFile, match="is the source"):
            rl.repack_file(raw, tmp_path / "y.bin", src_dtype="uint8", shape=(1, 8, 8, 32), force=True)
        assert raw.read_bytes() == bytes(8 * 8 * 32)


def test_a_file_larger_than_may_be_written_is_found_first(tmp_path: Path) -> None:
    source, out, _ = a_file(tmp_path)
    before = source.read_bytes()

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        rl.repack_file(source, out, to="htp:R4Crouton")

    assert os.WEXITSTATUS(in_child(run)) == 3
    assert sorted(p.name for p in tmp_path.glob("y.npy*")) == []
    assert source.read_bytes() == before


@pytest.mark.usefixtures("cut_small")
def test_a_disk_that_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out, want = a_file(tmp_path)
    write, left = os.pwrite, [12]

    def full(*args: Any) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*args)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(rl.BadFile, match=r"No space left .*y.npy.part is unfinished") as error:
        rl.repack_file(source, out, to="htp:R4Crouton", jobs=1)
    assert not out.exists()
    monkeypatch.setattr(os, "pwrite", write)
    assert rl.repack_file(source, out, to="htp:R4Crouton", jobs=1, resume=True).resumed
    assert out.read_bytes() == want
    total = sum([path.stat().st_size for path in tmp_path.glob("y.npy*")])
    assert error.value.hint == f"make room for {total / 1024:.1f} KiB in all, or choose another place"


@pytest.mark.parametrize(("code", "fails"), [(errno.EOPNOTSUPP, False), (errno.ENOSPC, True)])
def test_room_is_set_aside_where_that_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, fails: bool
) -> None:
    source, out, want = a_file(tmp_path)

    def refuse(*_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    if fails:
        with pytest.raises(rl.BadFile, match="Nothing is left of"):
            rl.repack_file(source, out, to="htp:R4Crouton")
        assert not list(tmp_path.glob("y.npy*"))
    else:
        rl.repack_file(source, out, to="htp:R4Crouton")
        assert out.read_bytes() == want


@pytest.mark.usefixtures("cut_small")
def test_a_source_that_is_cut_off(tmp_path: Path) -> None:
    source, out, _ = a_file(tmp_path)
    size = source.stat().st_size
    with pytest.raises(rl.BadFile, match="was longer when"):
        rl.repack_file(
            source, out, to="htp:R4Crouton", jobs=1, progress=lambda done, total: os.truncate(source, size // 4)
        )
    assert not out.exists()
    with pytest.raises(rl.BadFile):
        rl.repack_file(source, out, to="htp:R4Crouton", force=True)


def test_a_source_that_changes_meanwhile(tmp_path: Path) -> None:
    source, out, _ = a_file(tmp_path)
    with pytest.raises(rl.BadFile, match=r"changed while it was read. Nothing is left"):
        rl.repack_file(source, out, to="htp:R4Crouton", progress=lambda done, total: os.utime(source, ns=(1, 1)))
    assert not list(tmp_path.glob("y.npy*"))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    source, _, _ = a_file(tmp_path)
    with pytest.raises(rl.BadFile, match="there is no folder"):
        rl.repack_file(source, tmp_path / "nowhere" / "y.npy", to="htp:R4Crouton")


def test_a_wrong_copy_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out, _ = a_file(tmp_path)
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda number, data, at: write(number, bytes(len(data)), at))
    with pytest.raises(rl.LayoutMismatch, match="not what was read"):
        rl.repack_file(source, out, to="htp:R4Crouton", verify=True)
    assert not list(tmp_path.glob("y*"))


def test_a_record_that_is_stale_does_not_stay(tmp_path: Path) -> None:
    source, out, _ = a_file(tmp_path)
    rl.repack_file(source, out, to="htp:R4Crouton")
    rl.repack_file(source, out, to=rl.Layout.row_major(4, 33, 20, 40), force=True)
    assert not (tmp_path / "y.npy.relayout.json").exists()
    assert np.array_equal(np.load(out), np.load(source))


# ---- threads ---------------------------------------------------------------------------------------------


def test_every_item_is_done_once() -> None:
    done: list[int] = []
    assert sorted(run_unordered(3, done.append, range(200))) == sorted(done) == list(range(200))
    assert list(run_unordered(2, done.append, [])) == []


def test_an_error_ends_it() -> None:
    done: list[int] = []

    def do(x: int) -> None:
        if x == 20:
            raise OSError("the twentieth")
        done.append(x)

    with pytest.raises(OSError, match="the twentieth"):
        list(run_unordered(2, do, range(1000)))
    assert set(range(19)) <= set(done) < set(range(40))


def test_threads_do_not_run_far_ahead_and_stop() -> None:
    done: list[int] = []
    before = set(threading.enumerate())
    with closing(run_unordered(2, done.append, range(1000))) as finished:
        for _ in zip(range(10), finished):
            pass
    assert 10 <= len(done) <= 20
    assert set(threading.enumerate()) <= before


# ---- memory ----------------------------------------------------------------------------------------------

PEAK = """
import sys
import relayout as rl
rl.repack_file(sys.argv[1], sys.argv[2], to=sys.argv[3], max_memory="64MiB")
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.parametrize("to", ["htp:R4Crouton", "format:0 3 1 2"])
def test_memory_is_bounded(tmp_path: Path, to: str) -> None:
    shape = (512, 64, 128, 64)
    source = tmp_path / "x.npy"
    made = np.lib.format.open_memmap(source, "w+", np.uint8, shape)
    made[:] = np.arange(64, dtype=np.uint8)
    made.flush()
    del made
    run = [sys.executable, "-c", PEAK, str(source), str(tmp_path / "y.npy"), to]
    peak = int(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    assert peak < 64 << 10, f"{peak >> 10} MiB"
    x, y = np.load(source, mmap_mode="r"), np.load(tmp_path / "y.npy", mmap_mode="r")
    assert np.array_equal(y[300], rl.repack(x[300:301], to)[0])


def test_too_little_memory_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", noise((3000, 3001), "uint8"))
    with pytest.raises(rl.LimitExceeded, match="too few for 4 jobs"):
        rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to="format:1 0", max_memory="50MiB", jobs=4)
    # Columns that interleave cannot be cut.
    layout = rl.Layout((3000, 3001), (1, 2999 + 3))
    gapped = rl.Layout((3000, 3001), (4, 3000 * 4 + 8))
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to=layout, max_memory="128MiB", jobs=1)
    with pytest.raises(rl.LimitExceeded, match=r"cannot be cut .* Nothing is left of"):
        rl.repack_file(tmp_path / "x.npy", tmp_path / "z.npy", to=gapped, max_memory="60MiB", jobs=1)
    assert not list(tmp_path.glob("z.npy*"))


def test_sizes() -> None:
    texts = {5: 5, "5": 5, "1GiB": 1 << 30, "500 MB": 500_000_000, "64M": 64 << 20, "1.5k": 1536}
    assert {text: parse_size(text) for text in texts} == texts
    assert [format_size(x) for x in (5, 2048, 3 << 29)] == ["5 bytes", "2.0 KiB", "1.5 GiB"]
    with pytest.raises(rl.ShapeError, match="no number of bytes"):
        parse_size("many")


def test_a_change_tells_its_padding(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", noise((0, 3), "uint8"))
    entry = open_source(tmp_path / "x.npy")["x"]
    assert changes.copy_unchanged(entry).padding == 0
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to="format:1 0")
    assert np.load(tmp_path / "y.npy").shape == (3, 0)


def processor_time(do: Callable[[], object]) -> float:
    """The least that it took of several times, of the processors and of nobody else."""
    times = []
    for _ in range(3):
        started = time.process_time()
        do()
        times.append(time.process_time() - started)
    return min(times)


def test_to_verify_takes_no_longer_than_to_repack(tmp_path: Path) -> None:
    source, out = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(source, noise((8, 64, 64, 256), "float32"))
    made = processor_time(lambda: rl.repack_file(source, out, to="format:0 3 1 2", force=True))
    assert processor_time(lambda: rl.verify(source, out)) < 2.5 * made


def test_many_tensors_take_as_long_each_as_few(tmp_path: Path) -> None:
    few, many = tmp_path / "few.safetensors", tmp_path / "many.safetensors"
    for path, count in ((few, 2_000), (many, 16_000)):
        write_safetensors(path, {f"x{k}": np.empty(0, np.uint8) for k in range(count)})

    def inspect(path: Path) -> None:
        assert CliRunner().invoke(relayout, ["inspect", str(path)]).exit_code == 0

    assert processor_time(lambda: inspect(many)) < 8 * 2 * processor_time(lambda: inspect(few))


@pytest.mark.usefixtures("cut_small")
def test_the_first_of_many_differences_is_told_whatever_thread_finds_it(tmp_path: Path) -> None:
    arrays = {f"x{k}": noise((40, 50), "uint8", k) for k in range(6)}
    write_safetensors(tmp_path / "x.safetensors", arrays)
    for name in ("x5", "x3", "x2"):
        arrays[name] = arrays[name].copy()
        arrays[name][[7, 31, 39], [11, 2, 49]] ^= 1
    write_safetensors(tmp_path / "y.safetensors", arrays)
    for _ in range(20):
        found = rl.verify(tmp_path / "x.safetensors", tmp_path / "y.safetensors")
        assert (found.tensor, found.coordinate) == ("x2", (7, 11))


def test_axes_of_another_rank_leave_a_tensor_as_it_is(tmp_path: Path) -> None:
    weights = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)
    np.savez(tmp_path / "x.npz", conv=weights, bias=np.ones(2, np.float32))
    with pytest.warns(UserWarning, match=r"copied unchanged: 'bias' \(rank 1, and the axes oihw are 4\)"):
        rl.repack_file(tmp_path / "x.npz", tmp_path / "y.safetensors", axes="oihw")
    with rl.open(tmp_path / "y.safetensors") as file:
        assert (file["conv"].axes, file["bias"].axes) == ("oihw", None)
        assert np.array_equal(file["conv"].numpy(), weights)
        assert file["bias"].numpy().tolist() == [1, 1]
