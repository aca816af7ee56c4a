"""Arrays of Dask repacked lazily: chunk by chunk what numpy's rearrangement of the whole gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl

da = pytest.importorskip("dask.array", reason="NO CLUSTER TESTS: dask is not installed")


def cut(total: int, edges: list[int]) -> tuple[int, ...]:
    """A size in parts that end at these places."""
    ends = sorted({min(edge, total) for edge in edges} | {total})
    return tuple([b - a for a, b in zip([0, *ends], ends) if b > a]) or (0,)


def quietly(*args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rl.repack(*args, **options)


@settings(max_examples=40)
@given(st.data())
def test_chunks_become_what_the_whole_does(data: Any) -> None:
    text = data.draw(
        st.sampled_from(
            [
                "format:0 1 / 0,4 1,8",
                "format:1 0 / 1,3 0,2 1,2",
                "format:1 0",
                "format:0 1 / 1,8@1 0,4@2 1,4@16 0,2@1 1,2@8 0,2@8",
            ]
        )
    )
    shape = tuple(data.draw(st.lists(st.integers(1, 70), min_size=2, max_size=2)))
    chunks = tuple([cut(n, data.draw(st.lists(st.integers(1, n), max_size=4))) for n in shape])
    x = np.random.default_rng(0).integers(0, 1 << 16, shape).astype(np.uint16)
    whole = rl.repack(x, text)
    lazy = quietly(da.from_array(x, chunks=chunks), text)
    assert lazy.shape == whole.shape
    assert lazy.dtype == whole.dtype
    assert np.array_equal(lazy.compute(scheduler="sync"), whole)
    back = quietly(lazy, "format:0 1", src=text, shape=shape)
    assert back.shape == shape
    assert np.array_equal(back.compute(scheduler="sync"), x)


def test_a_crouton_has_chunks_of_whole_blocks() -> None:
    x = np.random.default_rng(1).integers(0, 256, (2, 33, 40, 70), np.uint8)
    lazy = rl.repack(da.from_array(x, chunks=(1, 16, 40, 32)), "htp:R4Crouton")
    padded = np.full((2, 40, 40, 96), rl.catalog.get("htp:R4Crouton").fill, np.uint8)
    padded[:, :33, :, :70] = x
    judge = padded.reshape(2, 5, 8, 5, 8, 3, 32).transpose(0, 1, 3, 5, 2, 4, 6)
    assert lazy.chunks == ((1, 1), (2, 2, 1), (5,), (1, 1, 1), (8,), (8,), (32,))
    assert np.array_equal(lazy.compute(scheduler="sync"), judge)


def test_a_rechunk_is_named() -> None:
    x = da.zeros((64, 64), chunks=(10, 64), dtype=np.float32)
    with pytest.warns(UserWarning, match=r"chunks of \(10, 64\) cut blocks of \(8, 4\): rechunked to \(16, 64\) first"):
        lazy = rl.repack(x, "format:0 1 / 0,8 1,4")
    assert lazy.shape == (8, 16, 8, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rl.repack(x.rechunk((16, 64)), "format:0 1 / 0,8 1,4")


def test_fill_types_and_axes() -> None:
    x = np.random.default_rng(2).standard_normal((3, 5)).astype(np.float32)
    lazy = rl.repack(da.from_array(x), "format:0 1 / 0,4 1,4", fill=7, element="float16")
    judge = np.full((4, 8), 7, np.float16)
    judge[:3, :5] = x.astype(np.float16)
    assert np.array_equal(lazy.compute(scheduler="sync"), judge.reshape(1, 4, 2, 4).transpose(0, 2, 1, 3))
    image = np.random.default_rng(3).integers(0, 256, (1, 32, 8, 8), np.uint8)
    lazy = rl.repack(da.from_array(image, chunks=(1, 32, 8, 8)), "htp:R4Crouton", axes="nchw")
    assert np.array_equal(lazy.compute(scheduler="sync"), rl.repack(image, "htp:R4Crouton", axes="nchw"))


def test_what_cannot_be_cut() -> None:
    x = da.zeros((8, 8), chunks=4, dtype=np.float32)
    with pytest.raises(rl.NotExpressible, match="layout of one shape"):
        rl.repack(x, "(8,8):(1,8)")
    with pytest.raises(rl.ShapeError, match="lazily"):
        rl.repack(x, "format:1 0", out=np.zeros(64, np.float32))
    with pytest.raises(rl.ShapeError, match="rank"):
        rl.repack(x, "htp:R4Crouton")
    with pytest.raises(rl.ShapeError, match="needs its format"):
        rl.repack(x, "format:1 0", src="format:0 1 / 0,2 1,2")
    with pytest.raises(rl.ShapeError, match="is stored as"):
        rl.repack(x, "format:1 0", src="format:0 1 / 0,2 1,2", shape=(8, 8))
