"""NaN on its way into quantised integers: refused by every engine, at the same coordinate, or stored as the limit."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout.engine.gpu.build import kernels
from relayout.native import native

Q = rl.ScaleOffset(0.5, 3, "quint8")
S = rl.ScaleOffset(0.5, 3, "quint8", nan="saturate")
SHAPE = (3, 20, 5, 7)


def with_nans(dtype: Any, *places: tuple[int, ...], shape: tuple[int, ...] = SHAPE) -> np.ndarray[Any, Any]:
    x = np.linspace(-20, 20, math.prod(shape)).reshape(shape).astype(dtype)
    for place in places:
        x[place] = math.nan
    return x


def refused_at(call: Any, *args: Any, **kwargs: Any) -> tuple[int, ...]:
    with pytest.raises(rl.NotExpressible, match="no stored value means NaN") as found:
        call(*args, **kwargs)
    place: tuple[int, ...] = found.value.counterexample
    assert f"nan at {place} " in found.value.message
    return place


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("to", ["onednn:nhwc", "onednn:nChw8c", "row-major", "format:3 0 1 2"])
def test_a_repack_names_the_first_nan(dtype: Any, to: str) -> None:
    for place in ((0, 0, 0, 0), (2, 19, 4, 6), (1, 7, 2, 3)):
        x = with_nans(dtype, place, (2, 19, 4, 6))
        assert refused_at(rl.repack, x, to, axes="nchw", element=Q) == place
        clean = np.nan_to_num(x, nan=1000.0)
        got = rl.repack(x, to, axes="nchw", element=S)
        assert got.tobytes() == rl.repack(clean, to, axes="nchw", element=Q).tobytes()


ROWS = rl.Layout.row_major(SHAPE)
COLUMNS = rl.Layout.col_major(SHAPE)
BY_CHANNEL = rl.ScaleOffset([0.5, 1, 2], 3, "quint8", axis=0)
SWIZZLED = rl.Layout((32, 8), (8, 1), swizzle=rl.Swizzle(2, 0, 3))


@pytest.mark.parametrize(
    ("target", "means", "way"),
    [
        (COLUMNS, Q, "native"),
        (COLUMNS, BY_CHANNEL, "encoded"),
        (SWIZZLED, Q, "encoded"),
        (COLUMNS, rl.ScaleOffset(0.5, 3, "quint4"), "encoded"),
    ],
    ids=str,
)
def test_every_way_refuses(target: rl.Layout, means: rl.ScaleOffset, way: str) -> None:
    source = rl.Layout.row_major(target.extents)
    plan = rl.plan(source, target, "float32", means)
    assert plan.way.name == (way if native is not None else "encoded")
    place = tuple([n // 2 for n in target.extents])
    x = with_nans(np.float32, place, tuple([n - 1 for n in target.extents]), shape=target.extents)
    assert refused_at(plan, x) == place
    assert refused_at(plan, x, np.zeros(-(-target.storage_size * means.element.bits // 8), np.uint8)) == place
    assert refused_at(plan, x, progress=lambda done, total: None) == place
    assert plan(np.nan_to_num(x)).size


def test_many_threads_and_parts_tell_the_first() -> None:
    shape = (64, 64, 512)
    x = with_nans(np.float32, (41, 3, 500), (63, 63, 511), shape=shape)
    target = rl.Layout.col_major(shape)
    for threads in (1, 3):
        plan = rl.plan(rl.Layout.row_major(shape), target, "float32", Q, threads=threads)
        assert refused_at(plan, x) == (41, 3, 500)
        assert refused_at(plan, x, progress=lambda done, total: None) in {(41, 3, 500), (63, 63, 511)}
    (local,) = plan.blocks(1 << 30)
    assert refused_at(local.plan(), x.reshape(-1), np.zeros(x.size, np.uint8)) == (41, 3, 500)


def test_what_is_no_element_is_not_looked_at() -> None:
    pitched = np.full((6, 10), math.nan, np.float32)
    pitched[:, :7] = 1.0
    assert rl.repack(pitched[:, :7], "1 0", element=Q).tolist() == [[5] * 6] * 7
    strided = with_nans(np.float32, (0, 1), (2, 3), shape=(4, 4))
    assert (rl.repack(strided[:, ::2], "1 0", element=Q) == rl.repack(strided[:, ::2], "1 0", element=S)).all()
    assert refused_at(rl.repack, strided[:, 1::2], "1 0", element=Q) == (0, 0)


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "bfloat16"])
def test_narrow_floats(kind: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = (np.arange(12) % 8).reshape(3, 4).astype(getattr(ml_dtypes, kind))
    assert rl.repack(x, "1 0", element=Q).tolist() == (np.arange(12) % 8 * 2 + 3).reshape(3, 4).T.tolist()
    x[1, 2] = math.nan
    assert refused_at(rl.repack, x, "1 0", element=Q) == (1, 2)
    assert rl.repack(x, "1 0", element=S)[2, 1] == 255


def test_tensors_and_their_blocks() -> None:
    x = with_nans(np.float32, (2, 9, 1, 1))
    t = rl.tensor(x)
    assert refused_at(rl.repack, t, "onednn:nChw8c", axes="nchw", element=Q) == (2, 9, 1, 1)
    out = rl.full(rl.parse("onednn:nChw8c", shape=SHAPE), 0.0, Q)
    assert refused_at(rl.repack, x, out.layout, out=out) == (2, 9, 1, 1)
    assert refused_at(out.copy_from, t) == (2, 9, 1, 1)


def test_integers_and_codes_have_no_nan() -> None:
    x = np.arange(12, dtype=np.int16).reshape(3, 4)
    assert rl.repack(x, "1 0", element=Q).tolist() == rl.repack(x, "1 0", element=S).tolist()
    codes = rl.Tensor(x.astype(np.uint8), rl.Layout.row_major((3, 4)), S)
    other = rl.ScaleOffset(2.0, 0, "qint8")
    assert rl.repack(codes, "1 0", element=other).stored().tolist() == np.rint((x - 3) * 0.25).tolist()


@pytest.mark.parametrize("jobs", [1, 3])
def test_files_name_the_tensor_and_the_place_in_it(tmp_path: Path, jobs: int) -> None:
    shape = (400, 30, 101)
    np.savez(tmp_path / "x.npz", a=with_nans(np.float32, (399, 29, 100), shape=shape), b=np.ones((2, 3)))
    rules: list[dict[str, Any]] = [{"name": "*", "dtype": "quint8", "scale": 0.5, "offset": 3}]
    with pytest.raises(rl.NotExpressible, match=r"tensor 'a': nan at \(399, 29, 100\)"):
        rl.repack_file(tmp_path / "x.npz", tmp_path / "y.npz", rules=rules, jobs=jobs)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
    rules[0].update(dtype=rl.ScaleOffset(0.5, 3, "quint8", nan="saturate"), scale=None, offset=None)
    rl.repack_file(tmp_path / "x.npz", tmp_path / "y.npz", rules=rules, jobs=jobs, verify=True)
    assert np.load(tmp_path / "y.npz")["a"][-1, -1, -1] == 255


def test_a_device_that_nobody_waits_for_refuses_before() -> None:
    plan = rl.plan(ROWS, COLUMNS, "float32", Q)
    with pytest.raises(rl.NotExpressible, match="could be refused") as found:
        kernels(plan, (16, 16))
    assert "nan='saturate'" in found.value.hint
    assert kernels(rl.plan(ROWS, COLUMNS, "float32", S), (16, 16))
    assert kernels(rl.plan(ROWS, COLUMNS, "int16", Q), (16, 16))


PURE = """
import numpy as np, relayout as rl
x = np.ones((3, 20), np.float32)
x[1, 7] = x[2, 3] = np.nan
for kind in (rl.ScaleOffset(0.5, 3, "quint8"), rl.ScaleOffset([1, 2, 4], 3, "quint8", axis=0)):
    plan = rl.plan(rl.Layout.row_major((3, 20)), rl.Layout.col_major((3, 20)), "float32", kind)
    for call in (lambda: plan(x), lambda: rl.repack(x, "1 0", element=kind)):
        try:
            call()
        except rl.NotExpressible as error:
            print(plan.way.name, error.counterexample)
print(rl.repack(x, "1 0", element=rl.ScaleOffset(0.5, 3, "quint8", nan="saturate"))[7].tolist())
"""


def test_without_the_compiled_core_it_is_the_same() -> None:
    asked = {**os.environ, "RELAYOUT_NATIVE": "0"}
    done = subprocess.run([sys.executable, "-c", PURE], env=asked, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["encoded (1, 7)"] * 4 + ["[5, 255, 5]"]
