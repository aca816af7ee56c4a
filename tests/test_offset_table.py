"""Offset tables, native and pure, against a plain Python loop."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relayout import native as native_module
from relayout.layout import offset_table as module
from relayout.layout.offset_table import offset_table
from relayout.native import native, native_available

KERNELS = [pytest.param(None, id="pure")]
if native_available():
    KERNELS.append(pytest.param(native, id="native"))


@pytest.fixture(params=KERNELS, scope="class")
def kernel(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "native", request.param)
        yield


def swizzled(x, swizzle):
    if swizzle is None:
        return x
    bits, base, shift = swizzle
    field = x & (((1 << bits) - 1) << (base + max(0, shift)))
    return x ^ (field >> shift if shift >= 0 else field << -shift)


def loop(dims, start, swizzle):
    values = [[i * dim[1] for i in range(dim[0])] if isinstance(dim, tuple) else dim.tolist() for dim in dims]
    return [swizzled(start + sum(point), swizzle) for point in itertools.product(*values)]


offsets = st.integers(-(2**40), 2**40)
pairs = st.tuples(st.integers(0, 5), st.one_of(st.integers(-9, 9), offsets))
tables = st.lists(offsets, max_size=5).map(lambda values: np.array(values, np.int64))
swizzles = st.tuples(st.integers(0, 6), st.integers(0, 12), st.integers(-20, 20))


long_pairs = st.tuples(st.sampled_from([1, 2, 3, 40, 1023, 2048, 2049, 5000]), st.sampled_from([-7, 0, 1, 3, 64]))
long_tables = st.sampled_from([1, 2, 1500, 3000]).map(lambda n: np.arange(n)[::-1] ** 2)


@pytest.mark.usefixtures("kernel")
class TestEveryKernel:
    @given(
        st.lists(st.one_of(pairs, tables), max_size=5),
        offsets,
        st.none() | swizzles,
    )
    def test_equals_the_loop(self, dims, start, swizzle):
        table = offset_table(dims, start, swizzle)
        assert table.dtype == np.int64
        assert table.shape == (math.prod(dim[0] if isinstance(dim, tuple) else len(dim) for dim in dims),)
        assert table.tolist() == loop(dims, start, swizzle)

    @given(
        st.lists(st.one_of(long_pairs, long_tables), min_size=1, max_size=4).filter(
            lambda dims: math.prod(dim[0] if isinstance(dim, tuple) else dim.size for dim in dims) <= 50_000
        ),
        st.none() | swizzles,
    )
    def test_long_dims_equal_the_loop(self, dims, swizzle):
        assert offset_table(dims, 11, swizzle).tolist() == loop(dims, 11, swizzle)

    @pytest.mark.parametrize("shift", [-3, 0, 3])
    def test_swizzle_of_every_sign(self, shift):
        dims = [(64, 64), (64, 1)]
        assert offset_table(dims, 0, (3, 3, shift)).tolist() == loop(dims, 0, (3, 3, shift))

    def test_no_dims_is_the_start(self):
        assert offset_table([], 9, None).tolist() == [9]
        assert offset_table([], 0b1000, (1, 0, 3)).tolist() == [0b1001]

    def test_a_zero_size_is_empty_however_large_the_rest(self):
        assert offset_table([(2**62, 1), (0, 5), (2**62, 1)], 3, None).tolist() == []

    def test_values_reach_both_ends_of_int64(self):
        assert offset_table([(2, 2**63 - 1)], 0, None).tolist() == [0, 2**63 - 1]
        assert offset_table([(2, -(2**63))], 0, None).tolist() == [0, -(2**63)]
        assert offset_table([(2, -1)], 1 - 2**63, None).tolist() == [1 - 2**63, -(2**63)]

    def test_arrays_may_be_strided_narrow_or_read_only(self):
        strided = np.arange(10)[::3]
        narrow = np.array([5, -6], np.int32)
        narrow.flags.writeable = False
        assert offset_table([strided, narrow], 0, None).tolist() == loop([strided, narrow], 0, None)

    def test_an_array_that_may_lose_values_is_refused(self):
        with pytest.raises(TypeError):
            offset_table([np.array([0.5])], 0, None)

    def test_a_negative_size_is_refused(self):
        with pytest.raises(ValueError, match="negative"):
            offset_table([(-2, 1), (-3, 1)], 0, None)

    @pytest.mark.parametrize("swizzle", [(-1, 0, 0), (1, -1, 0), (3, 40, 40), (3, 40, -40), (64, 0, 0)])
    def test_a_swizzle_past_63_bits_is_refused(self, swizzle):
        with pytest.raises(ValueError, match="63 bits"):
            offset_table([(4, 1)], 0, swizzle)

    def test_a_swizzle_of_no_bits_is_the_identity(self):
        assert offset_table([(4, 1)], 0, (0, 99, -99)).tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize("dims", [[(2048, 4096), (4096, 1)], [(4096, 1), (2048, 4096)]])
    def test_eight_million_offsets(self, dims):
        table = offset_table(dims, 0, (3, 4, 3))
        assert table[::99_991].tolist() == [
            swizzled(i // dims[1][0] * dims[0][1] + i % dims[1][0] * dims[1][1], (3, 4, 3))
            for i in range(0, table.size, 99_991)
        ]
        assert np.array_equal(np.bincount(table), np.ones(table.size))


@pytest.mark.skipif(not native_available(), reason="needs the compiled kernel")
class TestNative:
    @pytest.mark.parametrize("dims", [[], [(3, 1)], [(4, 1), (0, 1)], [(2**62, 1), (2**62, 1)], [(5, 1)]])
    def test_a_wrong_product_is_refused(self, dims):
        with pytest.raises(ValueError, match="multiply"):
            native.fill_offsets(np.empty(4, np.int64), dims, 0, 0, 0, 0)

    def test_a_negative_size_is_refused(self):
        with pytest.raises(ValueError, match="negative"):
            native.fill_offsets(np.empty(4, np.int64), [(-2, 1), (-2, 1)], 0, 0, 0, 0)

    @pytest.mark.parametrize("swizzle", [(64, 0, 0), (1, 2**31 - 1, 1), (1, 0, -(2**31)), (-1, 0, 0)])
    def test_a_swizzle_past_63_bits_is_refused(self, swizzle):
        with pytest.raises(ValueError, match="63 bits"):
            native.fill_offsets(np.empty(4, np.int64), [(4, 1)], 0, *swizzle)

    @pytest.mark.parametrize(
        "out",
        [
            np.empty(4, np.int32),
            np.empty((2, 2), np.int64),
            np.empty(8, np.int64)[::2],
            np.empty(4, ">i8"),
            [0] * 4,
        ],
        ids=["narrow", "2-D", "strided", "big-endian", "list"],
    )
    def test_an_output_that_would_be_copied_is_refused(self, out):
        with pytest.raises(TypeError):
            native.fill_offsets(out, [(4, 1)], 0, 0, 0, 0)

    def test_a_read_only_output_is_refused(self):
        out = np.zeros(4, np.int64)
        out.flags.writeable = False
        with pytest.raises(TypeError):
            native.fill_offsets(out, [(4, 1)], 0, 0, 0, 0)

    @pytest.mark.parametrize("dim", [(4, 2**63), (4,), ("4", 1), [4, 1], np.zeros(4), np.zeros((2, 2), np.int64), None])
    def test_a_dim_of_another_kind_is_refused(self, dim):
        with pytest.raises(TypeError):
            native.fill_offsets(np.empty(4, np.int64), [dim], 0, 0, 0, 0)


def test_without_the_extension_there_is_no_kernel(monkeypatch):
    monkeypatch.delenv("RELAYOUT_NATIVE", raising=False)
    monkeypatch.setitem(sys.modules, "relayout._native", None)
    assert native_module._load() is None


def test_the_environment_requires_the_kernel(monkeypatch):
    monkeypatch.setenv("RELAYOUT_NATIVE", "1")
    monkeypatch.setitem(sys.modules, "relayout._native", None)
    with pytest.raises(ImportError, match=r"relayout\._native"):
        native_module._load()


def test_the_environment_turns_the_kernel_off(monkeypatch):
    monkeypatch.setenv("RELAYOUT_NATIVE", "0")
    assert native_module._load() is None


def test_import_leaves_numpy_out():
    code = "import sys, relayout.layout.offset_table; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
