"""Inference says only what is true: every name and format is compared with the layout, on its shape and its storage."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relayout as rl
from relayout import Format, Layout, catalog, coreai
from relayout.ask.inference.result import Inference
from relayout.cli.main import relayout as group
from relayout.elements.subbyte import pack
from relayout.errors import ShapeError, Undetermined
from relayout.format import named_formats
from relayout.format.entries import read_table

ml_dtypes = pytest.importorskip("ml_dtypes")
Array = np.ndarray[Any, Any]

XLA = (
    "T(8,128)",
    "T(8,128)(2,1)",
    "T(8,128)(4,1)",
    "T(4,128)",
    "T(2,128)(2,1)",
    "T(128)",
    "T(1024)",
    "T(256)",
    "T(64,128)(8,1)",
)
FORMATS = [
    (name, bits, form)
    for name, entry in read_table(named_formats.TABLE)[0].items()
    for bits, form in entry.forms.items()
    if isinstance(form, Format) and form.rank <= 5 and bits in (None, 8, 16, 32, 64)
]


def pitched(x: Array, pitch: int, whole: bool = True) -> Array:
    """The rows of ``x`` that far apart, with the gap behind the last one or without."""
    rows = x.reshape(-1, x.shape[-1])
    buffer = np.zeros((len(rows), pitch), x.dtype)
    buffer[:, : x.shape[-1]] = rows
    return buffer.reshape(-1)[: None if whole else buffer.size - pitch + x.shape[-1]]


def check_truth(found: Inference, x: Array, dump: Array) -> None:
    """All that was said holds: places by the data, names and formats by comparison."""
    bits = x.itemsize * 8
    for candidate in found.candidates:
        layout = candidate.layout
        assert (dump[layout.offsets()] == x).all()
        for name in candidate.names:
            widths = {getattr(form, "element_bits", None) or width for width, form in catalog.entry(name).forms.items()}
            assert widths & {None, bits}, name
            assert rl.compare(layout, name, shape=x.shape, dtype=f"uint{bits}"), name
            form = catalog.get(name, bits)
            same = form if isinstance(form, Layout) else form.layout(x.shape)
            assert same.storage_size == layout.storage_size
        if candidate.format is not None:
            assert rl.compare(layout, candidate.format)
            assert candidate.format.layout(x.shape).storage_size == layout.storage_size
    for dialect, text in found.texts.items():
        if isinstance(text, str):
            assert rl.compare(found.layout, rl.parse(text, dialect), shape=x.shape)


def test_a_pitch_has_no_name_of_packed_rows() -> None:
    x = np.arange(1, 13).reshape(3, 4)
    for dump, reserved in ((pitched(x, 6), 18), (pitched(x, 6, whole=False), 16)):
        found = rl.infer(x, dump)
        assert (found.names, found.format, found.pitch) == ((), None, (6, 1))
        assert found.layout.storage_size == reserved
        assert found.settled
        assert found.texts["torch"] == "size=(3, 4), stride=(6, 1), storage_offset=0"
        assert found.texts["numpy"] == "shape=(3, 4), strides=(48, 8), itemsize=8"
        assert found.texts["coreai"] == "shape=[3, 4], strides=[6, 1] interleaveLayout=nil"
        assert found.texts["candle"] == "Layout { shape: [3, 4], stride: [6, 1], start_offset: 0 }"
        assert found.texts["cute"] == "(3,4):(6,1)"
        assert found.texts["mlir"] == "memref<3x4xi64, strided<[6, 1]>>"
        check_truth(found, x, dump)


def test_core_ai_rows_that_are_aligned_are_not_tensorrt() -> None:
    layout = coreai.packed((1, 4, 5, 6), (1, 4, 1, 1), (1, 1, 1, 32, 1))
    x = np.arange(1, 121, dtype=np.int32).reshape(1, 4, 5, 6)
    dump = np.zeros(layout.storage_size, np.int32)
    dump[layout.offsets()] = x
    found = rl.infer(x, dump)
    assert found.names == ()
    assert "tensorrt" not in str(found)
    check_truth(found, x, dump)


def test_names_are_those_of_the_true_width() -> None:
    entry = catalog.ENTRIES["ascend:FRACTAL_NZ"]
    for bits, form in entry.forms.items():
        if not isinstance(form, Format) or bits not in (8, 16, 32):
            continue
        x = np.arange(1, 101).reshape(10, 10).astype(f"u{bits // 8}")
        layout = form.layout(x.shape)
        dump = np.zeros(layout.storage_size, x.dtype)
        dump[layout.offsets()] = x
        found = rl.infer(x, dump)
        assert "ascend:FRACTAL_NZ" in found.names
        check_truth(found, x, dump)


def test_a_real_dump_of_a_tpu_tiling() -> None:
    x = np.random.default_rng(0).standard_normal((50, 300)).astype(ml_dtypes.bfloat16)
    padded = np.pad(x, ((0, 6), (0, 84)))
    dump = padded.reshape(7, 4, 2, 3, 128).transpose(0, 3, 1, 4, 2).reshape(-1)
    for held in (dump, dump.tobytes()):
        found = rl.infer(x, held)
        assert found.texts["xla"] == "bf16[50,300]{1,0:T(8,128)(2,1)}"
        assert (found.padding, found.fill) == (56 * 384 - 15000, 0.0)
        check_truth(found, x, dump)


def test_hypotheses_are_ranked_by_mismatches() -> None:
    x = np.random.default_rng(1).integers(0, 9, (4, 6)).astype(np.uint8)
    dump = x.T.reshape(-1).copy()
    among = ["row-major", "column-major", Layout((4, 6), (6, 1)), "(4,6):(1,4)", "(4,6):(8,1)"]
    found = rl.infer(x, dump, among=among)
    assert [candidate.text for candidate in found.candidates[1:]] == ["(4,6):(1,4)"]
    assert found.layout.equivalent(Layout((4, 6), (1, 4)))
    with pytest.raises(Undetermined, match="none of 2 hypotheses") as error:
        rl.infer(x, dump, among=["(4,6):(8,1)", "row-major"])
    wrong = [
        int((x != dump.reshape(4, 6)).sum()),
        sum(i * 8 + j > 23 or dump[i * 8 + j] != x[i, j] for i, j in np.ndindex(4, 6)),
    ]
    ranked = error.value.candidates
    assert [candidate.mismatches for candidate in ranked] == sorted(wrong)
    plain = next(candidate for candidate in ranked if candidate.text == "row-major")
    first = next(c for c in np.ndindex(4, 6) if dump.reshape(4, 6)[c] != x[c])
    assert plain.mismatch.coordinate == first
    assert (plain.mismatch.expected, plain.mismatch.got) == (x[first], dump.reshape(4, 6)[first])
    for bad in ("row-major", []):
        with pytest.raises(ShapeError):
            rl.infer(x, dump, among=bad)  # type: ignore[arg-type]
    with pytest.raises(ShapeError):
        rl.infer(x, among=["row-major"])


@pytest.mark.parametrize("dtype", ["uint4", "int4", "uint2", "uint1", "float4_e2m1fn"])
def test_probes_of_packed_types(dtype: str) -> None:
    sent = rl.probes((9, 10), dtype)
    assert len(set(zip(*[p.astype(float).reshape(-1) for p in sent], strict=True))) == 90
    dumps = [pack(np.pad(p, ((0, 1), (0, 2))).T.copy(), dtype) for p in sent]
    found = rl.infer(sent, [d.tobytes() for d in dumps], dtype=dtype)
    assert found.layout == Layout((10, 12), (1, 10), extents=(9, 10))
    assert found.dtype == dtype
    with pytest.raises(ShapeError, match="several elements"):
        rl.infer(sent, [d.astype(np.int32) for d in dumps], dtype=dtype)


def test_the_command_tries_hypotheses(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.int16).reshape(4, 6) % 7
    np.save(tmp_path / "x.npy", x)
    x.T.tofile(tmp_path / "dump.bin")
    files = ["infer", str(tmp_path / "dump.bin"), "--like", str(tmp_path / "x.npy")]
    run = CliRunner().invoke(group, [*files, "--try", "row-major", "--try", "column-major"])
    assert run.exit_code == 0
    assert run.output.splitlines()[1].split()[:3] == ["column-major", "0", "fits"]
    run = CliRunner().invoke(group, [*files, "--try", "row-major"])
    assert run.exit_code == 1
    assert "(0, 1) is 1 and goes to 1, where the dump holds 6" in run.output
    run = CliRunner().invoke(group, [*files, "--json"])
    assert run.exit_code == 0, "what fits all data is an answer"
    assert len(run.output) < 3000
    told = json.loads(run.output)["result"]
    assert (told["layout"]["stride"], told["settled"]) == ([1, 4], False)


def _random_dump(random: np.random.Generator, kind: int) -> tuple[str | None, Layout, Array, Array]:
    """The name, the layout, the tensor and the dump of a named format, a pitched array or a tiling of XLA."""
    name = None
    if kind == 0:
        name, bits, form = FORMATS[random.integers(len(FORMATS))]
        bits = bits or int(random.choice([16, 32]))
        most = 5 if form.rank > 4 else 24
        layout = form.layout([int(random.integers(1, min(most, 2 * b + 3) + 1)) for b in form.block_shape])
    elif kind == 1:
        bits, rank = int(random.choice([16, 32])), int(random.integers(2, 5))
        shape = [int(n) for n in random.integers(2, 9, rank)]
        pitch = int(shape[-1] + random.integers(1, 20))
        strides = [pitch * math.prod(shape[d + 1 : -1]) for d in range(rank - 1)] + [1]
        layout = Layout((*shape[:-1], pitch), tuple(strides), extents=tuple(shape))
    else:
        bits, tiles = 16, XLA[random.integers(len(XLA))]
        layout = rl.parse(f"[{random.integers(2, 40)},{random.integers(2, 300)}]{{1,0:{tiles}}}")  # type: ignore[assignment]
    size = layout.size
    dtype: Any = np.dtype(f"u{bits // 8}")
    if size >= 1 << bits or random.random() < 0.3:
        values = random.standard_normal(size).astype(ml_dtypes.bfloat16).view(np.uint16).astype(dtype)
    else:
        values = random.permutation(size).astype(dtype) + dtype.type(1)
    x = values.reshape(layout.extents)
    dump = np.zeros(layout.storage_size, dtype)
    dump[layout.offsets()] = x
    return name, layout, x, dump


def test_two_hundred_random_dumps_get_no_false_name() -> None:
    random = np.random.default_rng(16)
    missed = 0
    for k in range(200):
        name, layout, x, dump = _random_dump(random, k % 3)
        try:
            found = rl.infer(x, dump)
        except Undetermined:
            missed += 1
            continue
        check_truth(found, x, dump)
        assert any(candidate.layout.equivalent(layout) for candidate in found.candidates)
        if found.settled and found.layout.storage_size == layout.storage_size and name is not None:
            widths = {form.element_bits for form in catalog.entry(name).forms.values() if isinstance(form, rl.Format)}
            assert (name in found.names) == bool(widths & {None, 8 * x.itemsize} or not widths), name
    assert missed == 0


def test_no_name_is_given_for_elements_of_another_width() -> None:
    for dtype, names in (("uint8", {"gptq:w8"}), ("float16", set()), ("float32", set())):
        x = np.arange(16 * 8).reshape(16, 8).astype(dtype)
        dealt = x.reshape(4, 4, 8).transpose(0, 2, 1).copy()
        found = rl.infer(x, dealt)
        assert names <= set(found.names)
        assert ("gptq:w8" in found.names) == bool(names)
        assert str(found.format) == "0 1 / 0,4"
        assert names or "gptq:w8 for elements of 8 bits" in found.related
    fours = rl.Format.parse("0 1 / 0,4")
    for bits, named in ((None, True), (8, True), (16, False)):
        assert ("gptq:w8" in catalog.find(fours, bits)) == named
        assert ("gptq:w8" in catalog.find(fours.layout((16, 8)), bits)) == named
    assert "gptq:w8" not in catalog.find(rl.Format.parse("0 1 / 0,4 element_bits 16"))
    assert "gptq:w8" in catalog.find(rl.Format.parse("0 1 / 0,4 element_bits 8"))


def test_hypotheses_meet_the_reference_by_the_names_of_its_axes(tmp_path: Path) -> None:
    x = np.arange(2 * 3 * 4 * 5, dtype=np.int16).reshape(2, 3, 4, 5)
    turned = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    for dump, right in ((x, "nchw"), (turned, "nhwc")):
        found = rl.infer(x, dump, among=["nchw", "nhwc"], axes="nchw")
        assert (dump.reshape(-1)[found.layout.offsets()] == x).all()
        assert len(found.candidates) == 1
        with pytest.raises(rl.AmbiguousAxes, match="nhwc names its dimensions"):
            rl.infer(x, dump, among=["nchw", "nhwc"])
        np.save(tmp_path / "x.npy", x)
        (tmp_path / "dump.bin").write_bytes(dump.tobytes())
        words = ["infer", str(tmp_path / "dump.bin"), "--like", str(tmp_path / "x.npy"), "--axes", "nchw"]
        run = CliRunner().invoke(group, [*words, "--try", "nchw", "--try", "nhwc"])
        assert run.output.splitlines()[1].split() == [right, "0", "fits"]
        assert CliRunner().invoke(group, words).exit_code == 2
    with pytest.raises(rl.ShapeError, match="for the formats of among"):
        rl.infer(x, x, axes="nchw")
