"""Guards: what passes, what is refused, what the message says, and that the repack it names mends it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import relayout as rl
import relayout_pytest
from relayout import Layout
from relayout.ask import guards
from relayout.ask.guards import check, describe, expects, guard, guards_on
from relayout.elements.interface import ScaleOffset
from relayout.engine.logical import from_logical
from relayout.tensors.block_table import BlockTable
from relayout.tensors.make import tensor
from relayout.tensors.tensor import Tensor
from support import coordinates, layouts, value

NHWC = np.zeros((1, 6, 5, 4), np.float32)


def mended(mismatch: pytest.ExceptionInfo[rl.LayoutMismatch], x: Any) -> Any:
    """What the code in the hint makes of ``x``."""
    code = re.search(r"rl\.from_logical\(.*\)(?= repacks it)", mismatch.value.hint)
    assert code is not None, mismatch.value.hint
    call = code.group().replace("rl.from_logical", "from_logical")
    return eval(call, {"from_logical": from_logical, "rl": rl, "x": x})


@pytest.mark.parametrize(
    ("x", "wanted", "axes"),
    [
        (NHWC, "nhwc", "nhwc"),
        (NHWC, "nchw", None),
        (NHWC, "htp:R4Flat", None),
        (NHWC, Layout.row_major(1, 6, 5, 4), None),
        (NHWC, rl.Format(4, [(0, 0), (1, 0), (2, 0), (3, 0)]), None),
        (NHWC, "torch:channels_last", "nhwc"),
        (NHWC.transpose(0, 3, 1, 2), "torch:channels_last", None),
        (NHWC.transpose(0, 3, 1, 2), "nhwc", "nchw"),
        (NHWC[:, 1:, ::1][:, :, :], "numpy:shape=(1, 5, 5, 4), strides=(480, 80, 16, 4), itemsize=4", None),
        (np.zeros((3, 5)).T, "ba", None),
        (np.zeros((3, 5)), "ab", None),
        (np.zeros((0, 5)), "ba", None),
        (np.float32(3), Layout(()), None),
        (bytes(12), "numpy:shape=(12,), strides=(1,), itemsize=1", None),
        (np.zeros((5, 4))[::-1], Layout((5, 4), (-4, 1)), None),
    ],
)
def test_passes(x: Any, wanted: Any, axes: str | None) -> None:
    assert check(x, wanted, axes=axes) is x


def test_tensors_pass() -> None:
    x = np.arange(1 * 9 * 9 * 40, dtype=np.uint8).reshape(1, 9, 9, 40)
    t = from_logical(x, "htp:R4Crouton")
    assert check(t, "htp:R4Crouton") is t
    assert check(t, "htp:Crouton") is t
    check(t[:, 8:], "htp:R4Crouton")
    check(t[:, :, 8:, 32:], "htp:R4Crouton")
    check(t.permute(0, 3, 1, 2), "htp:R4Crouton")
    check(from_logical(x, "nhwc", axes="nhwc"), "nhwc")
    check(from_logical(x, "nhwc", axes="nhwc").permute(0, 3, 1, 2), "nhwc")


@pytest.mark.parametrize(
    ("x", "wanted", "axes", "coordinate", "words"),
    [
        (
            NHWC.transpose(0, 3, 1, 2),
            "nchw",
            None,
            (0, 1, 0, 0),
            r"numpy array 1x4x6x5 float32, strides \(120, 1, 20, 4\) = .*cudnn:NHWC.*; expected nchw, "
            r"at \(0, 1, 0, 0\) it is 1 from the start, expected 30",
        ),
        (NHWC, "nchw", "nhwc", (0, 1, 0, 0), r"it is 20 from the start, expected 5\."),
        (NHWC, "torch:channels_last", None, (0, 1, 0, 0), "expected torch:channels_last"),
        (NHWC, "htp:Crouton", None, (0, 1, 0, 0), r"it is 20 from the start, expected 64\."),
        (NHWC.astype(np.uint8), "htp:R4Crouton", None, (0, 1, 0, 0), "= htp:R4Flat"),
        (NHWC[:, ::2], "nhwc", "nhwc", (0, 1, 0, 0), "it is 40 from the start, expected 20"),
        (NHWC, Layout((1, 6, 5, 4), (0, 4, 24, 1)), None, (0, 1, 0, 0), "expected 4"),
        (np.zeros((4, 4)).T, "ab", None, (1, 0), "it is 1 from the start, expected 4"),
        (np.zeros((4, 4)), "ba", None, (1, 0), "it is 4 from the start, expected 1"),
    ],
)
def test_a_mismatch_names_what_came_and_the_repack_that_mends_it(
    x: Any, wanted: Any, axes: str | None, coordinate: Any, words: str
) -> None:
    with pytest.raises(rl.LayoutMismatch, match=words) as caught:
        check(x, wanted, axes=axes)
    assert caught.value.coordinate == coordinate
    assert caught.value.expected == wanted
    repacked = mended(caught, x)
    assert check(repacked, wanted, axes=axes) is repacked
    assert (repacked.numpy() == x).all()


@given(layouts(tuples_only=True, window=True), layouts(tuples_only=True, window=True))
def test_the_first_differing_coordinate_is_the_first(a: Layout, b: Layout) -> None:
    t = Tensor(np.zeros(max(value(a, c) for c in coordinates(a)) + 1, np.int8), a)
    if a.extents != b.extents:
        with pytest.raises(rl.LayoutMismatch, match="which has the shape"):
            check(t, b)
        return
    start = (0,) * a.rank
    order = sorted(coordinates(a), key=lambda c: c[::-1])
    moved = [(value(a, c) - value(a, start), value(b, c) - value(b, start)) for c in order]
    where = next((k for k, (x, y) in enumerate(moved) if x != y), None)
    if where is None:
        check(t, b)
    else:
        with pytest.raises(rl.LayoutMismatch, match=f"it is {moved[where][0]} from the start") as caught:
            check(t, b)
        assert caught.value.coordinate == order[where]


def test_other_data_than_expected() -> None:
    for x, wanted, axes, words in (
        (NHWC, "htp:R4Crouton", None, "for elements of 8 bits, not 32"),
        (NHWC[0], "nhwc", None, "which has 4 dimensions"),
        (NHWC, Layout((1, 5, 5, 4)), None, r"which has the shape \(1, 5, 5, 4\)"),
        (NHWC, "nhwc", "oihw", "whose axes are nchw"),
        (tensor(NHWC, axes="abcd"), "nhwc", None, "whose axes are nchw"),
    ):
        with pytest.raises(rl.LayoutMismatch, match=words):
            check(x, wanted, axes=axes)
    for x, wanted, words in (
        ([1, 2], "ab", "no array"),
        ("ab", "ab", "no array"),
        (NHWC, 5, "got 5"),
        (NHWC, "no such thing", "no dialect"),
        (NHWC.astype(np.int64), "htp:Crouton", "width"),
    ):
        with pytest.raises(rl.LayoutError, match=words):
            check(x, wanted)  # type: ignore[arg-type]


def test_letters_in_another_order_than_the_axes_are_refused_for_unnamed_data() -> None:
    """For oneDNN ``nhwc`` names the order in memory of n, c, h, w; ``acdb``, of abstract letters, only means that."""
    nchw = NHWC.transpose(0, 3, 1, 2)
    for x in (NHWC, nchw):
        with pytest.raises(rl.AmbiguousAxes, match=r"n=1 c=. h=. w=. .* or n=1 h=. w=. c=. ") as caught:
            check(x, "nhwc")
        assert "axes='nchw' or axes='nhwc'" in caught.value.hint
    check(NHWC, "nhwc", axes="nhwc")
    check(nchw, "nhwc", axes="nchw")
    check(nchw, "onednn:nhwc")
    check(nchw, "acdb")
    check(nchw, rl.parse("nhwc"))
    with pytest.raises(rl.LayoutMismatch):
        check(NHWC, "onednn:nhwc")


def test_blocks_behind_a_table() -> None:
    crouton = rl.parse("htp:R4Crouton")
    assert isinstance(crouton, rl.Format)
    memory = np.zeros(4 * 2048, np.uint8)
    layout = crouton.layout((1, 16, 16, 32))
    apart = Tensor(memory, layout, axes="nhwc", blocks=BlockTable([4096, 0, 6144, 2048], 2048))
    check(apart, "htp:R4Crouton")
    for wanted in ("nhwc", layout, rl.Format(4, crouton.pairs, axes="nhwc")):
        with pytest.raises(rl.LayoutMismatch, match="blocks of 2048, behind a table") as caught:
            check(apart, wanted)
        repacked = mended(caught, apart)
        check(repacked, wanted)
    finer = Tensor(memory, layout, blocks=BlockTable(np.arange(8)[::-1] * 1024, 1024))
    with pytest.raises(rl.LayoutMismatch, match="blocks of 1024"):
        check(finer, "htp:R4Crouton")
    check(Tensor(memory, layout, blocks=BlockTable.consecutive(8, 1024)), rl.Format(4, crouton.pairs))


def test_description() -> None:
    assert describe(NHWC).startswith("numpy array 1x6x5x4 float32, strides (120, 20, 4, 1) = htp:R4Flat")
    t = from_logical(NHWC, "htp:R4Crouton", ScaleOffset(1, 0, "quint8"))
    assert describe(t).startswith("tensor 1x6x5x4 (nhwc) quint8, ((1, (8, 1)")
    assert describe(np.float64(2)).startswith("numpy array scalar float64")
    assert describe(memoryview(bytes(3))) == "builtins memoryview 3, strides 1"


# ---- the decorator -------------------------------------------------------------------------------------------


@expects(x="htp:R4Flat", w="htp:weights", out="htp:R4Crouton")
def convolve(x: Any, w: Any = None, *, out: Any = None) -> Any:
    """A kernel."""
    return x, w, out


def test_arguments_are_checked_before_the_call() -> None:
    assert convolve.__doc__ == "A kernel."
    assert convolve(NHWC) == (NHWC, None, None)
    w = from_logical(np.zeros((3, 3, 32, 32), np.uint8), "htp:weights")
    out = from_logical(np.zeros((1, 6, 5, 4), np.uint8), "htp:R4Crouton")
    assert convolve(NHWC, w, out=out)[2] is out
    with pytest.raises(
        rl.LayoutMismatch, match=r"convolve\(x=\.\.\.\): got numpy array 1x4x6x5 .* expected htp:R4Flat"
    ):
        convolve(NHWC.transpose(0, 3, 1, 2))
    with pytest.raises(rl.LayoutMismatch, match=r"convolve\(w=\.\.\.\): got tensor"):
        convolve(NHWC, from_logical(np.zeros((3, 3, 32, 32), np.uint8), "0 1 2 3"))
    with pytest.raises(rl.LayoutMismatch, match=r"convolve\(out=\.\.\.\)"):
        convolve(NHWC, out=np.zeros((1, 6, 5, 4), np.uint8))
    with pytest.raises(TypeError):
        convolve(NHWC, w, out)  # type: ignore[misc]


def test_what_is_returned_is_checked_as_out() -> None:
    @expects(out="ab")
    def transposed(x: Any) -> Any:
        return x.T

    transposed(np.zeros((3, 4)).T)
    with pytest.raises(rl.LayoutMismatch, match=r"transposed\(out=\.\.\.\)"):
        transposed(np.zeros((3, 4)))


def test_stars_defaults_and_what_is_awaited_are_checked() -> None:
    bad = NHWC.transpose(0, 3, 1, 2)

    @expects(x="htp:R4Flat", y="htp:R4Flat", z="htp:R4Flat", out="htp:R4Flat")
    async def kernel(*x: Any, y: Any = bad, **z: Any) -> Any:
        return (*x, y, *z.values())[-1]

    assert asyncio.run(kernel(NHWC, None, y=NHWC, z=NHWC)) is NHWC
    for name, args, words in (
        ("x", (NHWC, bad), {"y": NHWC}),
        ("y", (NHWC,), {}),
        ("z", (), {"y": None, "more": bad}),
        ("out", (), {"y": None, "more": None}),
    ):
        with pytest.raises(rl.LayoutError) as caught:
            asyncio.run(kernel(*args, **words))
        assert name == "out" or f"kernel({name}=...)" in str(caught.value)


def test_mistakes_in_the_decorator_show_at_once() -> None:
    with pytest.raises(rl.ShapeError, match="no parameter y"):
        expects(y="htp:R4Flat")(lambda x: x)
    with pytest.raises(rl.LayoutError, match="no dialect"):
        expects(x="what?")(lambda x: x)
    with pytest.raises(rl.LayoutError, match="got 5"):
        expects(x=5)(lambda x: x)  # type: ignore[arg-type]
    assert expects(x="htp:Crouton")(lambda x: x)(from_logical(NHWC, "htp:Crouton")).size == 120


def test_guards_may_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = NHWC.transpose(0, 3, 1, 2)
    monkeypatch.setattr("relayout.ask.guards._forced", None)
    monkeypatch.setenv("RELAYOUT_GUARDS", "0")
    assert not guards_on()
    assert convolve(bad)[0] is bad
    guard(True)
    with pytest.raises(rl.LayoutMismatch):
        convolve(bad)
    guard(None)
    monkeypatch.delenv("RELAYOUT_GUARDS")
    assert guards_on()
    guard(False)
    assert convolve(bad)[0] is bad
    guard(None)


# ---- the pytest plugin ---------------------------------------------------------------------------------------

SUITE = """
import numpy as np, pytest
import relayout as rl
from relayout.ask.guards import expects, guards_on

@expects(x="htp:R4Flat")
def kernel(x):
    return x

def test_guards_are_on():
    assert guards_on()
    with pytest.raises(rl.LayoutMismatch):
        kernel(np.zeros((2, 3, 4, 5)).T)

def test_right(assert_layout):
    assert_layout(np.zeros((2, 3, 4, 5)), "htp:R4Flat")
    assert_layout(np.zeros((2, 3, 4, 5)).transpose(0, 3, 1, 2), "htp:R4Flat", axes="nchw")

def test_wrong(assert_layout):
    assert_layout(np.zeros((2, 3, 4, 5)).T, "htp:R4Flat")
"""


def test_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    monkeypatch.setenv("RELAYOUT_GUARDS", "0")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", "-p", "relayout_pytest", "-p", "no:cacheprovider", "-v", "-rN"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False)
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert "1 failed" in done.stdout
    assert "got numpy array 5x4x3x2 float64, strides (1, 5, 20, 60)" in done.stdout
    assert done.stdout.count("expected htp:R4Flat, at (1, 0, 0, 0) it is 1 from the start, expected 24") == 1


def test_what_the_plugin_does(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    for before in ("0", None):
        if before is None:
            monkeypatch.delenv("RELAYOUT_GUARDS", raising=False)
        else:
            monkeypatch.setenv("RELAYOUT_GUARDS", before)
        relayout_pytest.pytest_configure(pytestconfig)
        assert guards_on()
        relayout_pytest.pytest_unconfigure(pytestconfig)
        assert os.environ.get("RELAYOUT_GUARDS") == before
    relayout_pytest.fail_unless(NHWC, "htp:R4Flat")
    with pytest.raises(pytest.fail.Exception, match="expected torch:channels_last"):
        relayout_pytest.fail_unless(NHWC, "torch:channels_last")


# ---- types -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("float32")])
def test_a_type_is_checked(dtype: Any) -> None:
    assert check(NHWC, "htp:R4Flat", dtype=dtype) is NHWC
    for _ in range(2):
        with pytest.raises(rl.LayoutMismatch, match=r"float16.*; expected htp:R4Flat, of float32"):
            check(NHWC.astype(np.float16), "htp:R4Flat", dtype=dtype)
    assert check(tensor(NHWC), "htp:R4Flat", dtype=dtype)


def test_a_decorator_checks_types() -> None:
    @expects(x=("htp:R4Flat", "float32"), out=(Layout.row_major(1, 6, 5, 4), np.uint8))
    def kernel(x: Any, kind: Any) -> Any:
        return x.astype(kind)

    assert kernel(NHWC, np.uint8).dtype == np.uint8
    with pytest.raises(rl.LayoutMismatch, match=r"kernel\(x=\.\.\.\).*of float32"):
        kernel(NHWC.astype(np.float64), np.uint8)
    with pytest.raises(rl.LayoutMismatch, match=r"kernel\(out=\.\.\.\).*of uint8"):
        kernel(NHWC, np.int8)
    with pytest.raises(rl.LayoutError):
        expects(x=("htp:R4Flat", "nonsense"))(lambda x: x)


# ---- what passed once ------------------------------------------------------------------------------------


def test_what_passed_once_does_not_let_others_through() -> None:
    x = np.zeros((4, 4), np.float32)
    others = [x.T, x[:, ::2], x[::-1], np.asfortranarray(x), x.astype(np.float64).T, x.reshape(2, 8)]
    for _ in range(2):
        assert check(x, Layout.row_major(4, 4)) is x
        for other in others:
            with pytest.raises(rl.LayoutMismatch):
                check(other, Layout.row_major(4, 4))
        assert check(x.T, "ba") is not None
        with pytest.raises(rl.LayoutMismatch):
            check(x, "ba")
        for wanted in ("nhwc", "nchw"):
            assert check(NHWC, wanted, axes=wanted) is NHWC
        with pytest.raises(rl.LayoutMismatch):
            check(NHWC, "nhwc", axes="nchw")
        with pytest.raises(rl.AmbiguousAxes):
            check(NHWC, "nhwc")


@pytest.mark.parametrize("x", [NHWC, tensor(NHWC)], ids=["array", "tensor"])
def test_a_kind_that_passed_costs_little(x: Any) -> None:
    def first() -> None:
        guards._memo_of.cache_clear()
        check(x, "htp:R4Flat")

    def again() -> None:
        check(x, "htp:R4Flat")

    slow = min(timeit.repeat(first, number=20, repeat=5))
    assert min(timeit.repeat(again, number=20, repeat=5)) < slow / 4
