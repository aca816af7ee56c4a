"""Which way small calls take: how many functions they call, and that tensors move their data by the engine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import relayout as rl
from relayout import Layout, native_available
from relayout.engine import plan, ways
from relayout.tensors import gather

compiled = pytest.mark.skipif(not native_available(), reason="numpy copies where the compiled core is not there")

IMAGE = np.arange(2048, dtype=np.uint8).reshape(1, 8, 8, 32)
MATRIX = np.arange(64, dtype=np.float32).reshape(8, 8)
TENSOR = rl.from_logical(IMAGE, "htp:R4Crouton")
OTHER = rl.from_logical(IMAGE, "htp:R4Crouton2x2")
COLUMNS = Layout((8, 8), (1, 8))


def calls_of(function: Callable[[], Any]) -> int:
    """How many functions of Python are called once everything has been seen before."""
    function()
    function()
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before, collects = sys.getprofile(), gc.isenabled()
    # A collection in the middle of the call would add the finalizers of whatever else this process has made.
    gc.disable()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return count - 1


# With the calls that compare a layout to an equal one: something else in this process may have been looked up by that.
@compiled
@pytest.mark.parametrize(
    ("most", "call"),
    [
        (4, lambda: rl.repack(IMAGE, "htp:R4Crouton")),
        (4, lambda: rl.repack(IMAGE.transpose(0, 3, 1, 2), "htp:R4Crouton", axes="nchw")),
        (9, lambda: rl.repack(MATRIX, COLUMNS)),
        (18, lambda: rl.repack(MATRIX.reshape(-1), COLUMNS, src=Layout((8, 8), (8, 1)))),
        (28, lambda: rl.repack(TENSOR, "nhwc")),
        (33, TENSOR.numpy),
        (50, lambda: TENSOR.copy_from(IMAGE)),
        (52, lambda: TENSOR.copy_from(OTHER)),
        (34, lambda: TENSOR[0, 1, 2, 3]),
    ],
)
def test_a_call_that_was_made_before_is_short(most: int, call: Callable[[], Any]) -> None:
    assert 0 < calls_of(call) <= most


@compiled
@pytest.mark.parametrize("shape", [(1, 16, 16, 32), (2, 13, 21, 50)])
def test_the_data_of_tensors_moves_by_the_engine(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(0, 255, shape, np.uint8)
    t, other = rl.from_logical(x, "htp:R4Crouton"), rl.from_logical(x, "nhwc", axes="nhwc")
    with (
        patch.object(plan, "plan_of_elements", wraps=plan.plan_of_elements) as planned,
        patch.object(ways, "copy_scattered", wraps=ways.copy_scattered) as scattered,
        patch.object(gather, "slabs", side_effect=AssertionError("by the offsets of all elements")),
        patch.object(gather, "views", side_effect=AssertionError("by numpy")),
    ):
        assert np.array_equal(t.numpy(), x)
        assert planned.call_count == 1
        t.copy_from(x[..., ::-1])
        assert planned.call_count == 2
        t.copy_from(other)
        assert planned.call_count == 3
        lower = t[:, 1:, :, :16]
        assert np.array_equal(lower.numpy(), x[:, 1:, :, :16])
        t[:, 3:9, 2:] = x[:, 3:9, 2:] ^ 255
        assert planned.call_count + scattered.call_count == 5
    x[:, 3:9, 2:] ^= 255
    assert np.array_equal(t.numpy(), x)


@compiled
def test_scattered_blocks_are_read_written_and_filled_by_the_engine() -> None:
    x = np.random.default_rng(0).integers(0, 255, (2, 24, 24, 64), np.uint8)
    t = rl.from_logical(x, "htp:R4Crouton")
    view, beside = t[:, 9:20, 3:], x.copy()
    assert view.blocks is not None
    assert view.blocks.start is None
    with (
        patch.object(ways, "copy_scattered", wraps=ways.copy_scattered) as scattered,
        patch.object(gather, "slabs", side_effect=AssertionError("by the offsets of all elements")),
    ):
        assert np.array_equal(view.numpy(), x[:, 9:20, 3:])
        view.fill(7)
        beside[:, 9:20, 3:] = 7
        assert np.array_equal(t.numpy(), beside)
        view.copy_from(x[:, 9:20, 3:])
        assert scattered.call_count == 3
    assert np.array_equal(t.numpy(), x)
    assert bool((t.raw == rl.from_logical(x, "htp:R4Crouton").raw).all())


@pytest.mark.parametrize("key", [np.s_[0], np.s_[..., 3], np.s_[:, 1:, ::2], np.s_[:, :, ::-1, 2:5], np.s_[0, 1:2]])
def test_names_follow_a_slice(key: Any) -> None:
    names = np.array(["n", "h", "w", "c"])
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        keys[at : at + 1] = [slice(None)] * (5 - len(keys))
    keys += [slice(None)] * (4 - len(keys))
    kept = [name for name, k in zip(names, keys) if isinstance(k, slice)]
    assert TENSOR[key].axes == "".join(kept)
    assert TENSOR.permute(3, 0, 2, 1)[key].shape == IMAGE.transpose(3, 0, 2, 1)[key].shape
    assert np.array_equal(TENSOR[key].numpy(), TENSOR.numpy()[key])


def test_new_dimensions_take_the_names_away() -> None:
    assert TENSOR[:, None].axes is None
    assert TENSOR.permute(0, 3, -3, 2).axes == "nchw"
    assert TENSOR.transpose(1, -1).axes == "ncwh"


@pytest.mark.parametrize("size", [16, 32])
def test_values_at_any_address_are_written(size: int) -> None:
    """Fewer by numpy, and more by the engine where they are aligned."""
    want = np.random.default_rng(size).random((size, 2 * size)).astype(np.float32)
    room = np.zeros((size, 2 * size), {"names": ["x"], "formats": ["f4"], "offsets": [2], "itemsize": 8})
    room["x"] = want
    for values in (room["x"], np.frombuffer(b"?" + want.tobytes("F"), np.float32, offset=1).reshape(want.T.shape).T):
        assert not values.flags.aligned
        t = rl.tensor(np.zeros_like(want))
        assert np.array_equal(t.copy_from(values).numpy(), want)
        t[: size // 2] = values[size // 2 :]
        assert np.array_equal(t.numpy()[: size // 2], want[size // 2 :])
