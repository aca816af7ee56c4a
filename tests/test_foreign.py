"""Arrays of torch and jax: wrapped, written and handed over without a copy, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout import Layout
from relayout.ask.guards import check, describe
from relayout.elements.interface import ScaleOffset
from relayout.engine.logical import from_logical
from relayout.tensors.make import tensor
from relayout.tensors.tensor import Tensor

TYPES = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "int64"]
TYPES += ["uint8", "bool", "complex64"]


class Foreign:
    """A library that only has DLPack, over a numpy array or a tensor."""

    def __init__(self, x: Any, copies: bool = False) -> None:
        self.x, self.copies = x, copies

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()

    def __dlpack__(self, **words: Any) -> Any:
        return self.x.__dlpack__(**{**words, "copy": True} if self.copies else words)


@pytest.mark.parametrize("name", ["float32", "int8", "complex128", "bfloat16", "float8_e5m2", "float8_e8m0fnu"])
def test_any_library_with_dlpack(name: str) -> None:
    ours = from_logical(np.array([[1, 2, 4], [8, 16, 32]]), Layout((2, 3), (1, 4)), name)
    t = tensor(Foreign(ours))
    assert (t.dtype, t.layout.stride) == (name, (1, 4))
    assert t.numpy().ctypes.data == ours.raw.ctypes.data
    assert [t[c] for c in np.ndindex(2, 3)] == [1, 2, 4, 8, 16, 32]


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="copies are not told by older capsules")
def test_a_library_that_hands_out_copies_is_refused() -> None:
    assert np.from_dlpack(Foreign(np.zeros(3), copies=True)).shape == (3,)
    with pytest.raises(rl.ShapeError, match="hands out a copy"):
        tensor(Foreign(np.zeros(3), copies=True))


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def jax() -> Any:
    return pytest.importorskip("jax")


@pytest.mark.parametrize("name", TYPES)
def test_torch_there_and_back(torch: Any, name: str) -> None:
    x = torch.arange(24).reshape(4, 6).to(getattr(torch, name)).t()[1:]
    t = tensor(x)
    assert (t.dtype, t.shape, t.layout.stride) == (name, (5, 4), (1, 6))
    assert t.numpy().ctypes.data == x.data_ptr()
    assert complex(t[2, 3]) == complex(x[2, 3].to(torch.complex128))
    if t.writable:
        t[0, 0] = 1
        assert complex(x[0, 0].to(torch.complex128)) == 1
    back = torch.from_dlpack(t)
    assert (back.dtype, back.data_ptr(), back.stride()) == (x.dtype, x.data_ptr(), x.stride())


def test_torch_memory_as_storage(torch: Any) -> None:
    x = torch.zeros(2048, dtype=torch.uint8)
    crouton = Tensor(x, rl.parse("htp:R4Crouton", shape=(1, 3, 5, 30)), ScaleOffset(0.5, 10, "quint8"))
    if crouton.writable:
        crouton[0, 2, 4, 29] = 3
        assert int(x[(2 * 8 + 4) * 32 + 29]) == 16
    with pytest.raises(rl.ShapeError, match="does not lie together"):
        Tensor(torch.zeros(4, 4).t(), Layout(16))


def test_what_torch_does_not_hand_out(torch: Any) -> None:
    for x in (
        torch.zeros(3, requires_grad=True),
        torch.zeros(3, dtype=torch.complex64).conj(),
        torch.zeros(3).to_sparse(),
        torch.zeros(3, device="meta"),
    ):
        with pytest.raises(rl.ShapeError, match="hands out no memory"):
            tensor(x)


def test_torch_values_that_memory_does_not_hold(torch: Any) -> None:
    """DLPack hands out the memory of a negated tensor without the sign."""
    x = torch.tensor([1 + 2j, 3 + 4j]).conj().imag
    assert x.is_neg()
    assert np.from_dlpack(x).tolist() == [2, 4] != x.tolist()
    for call in (tensor, lambda x: rl.repack(x, Layout(2)), lambda x: rl.from_logical(x, Layout(2))):
        with pytest.raises(rl.ShapeError, match="resolve_neg"):
            call(x)
        assert np.asarray(call(x.resolve_neg())).tolist() == [-2, -4]
    with pytest.raises(rl.ShapeError, match=r"4 bits in lanes of 2.*torch.uint8"):
        tensor(torch.zeros(3, dtype=torch.uint8).view(torch.float4_e2m1fn_x2))


def test_what_torch_must_not_get(torch: Any) -> None:
    """torch ends the process on negative strides, and writes through read-only memory."""
    frozen = np.arange(4.0)
    frozen.setflags(write=False)
    for t in (tensor(np.arange(4.0)[::-1]), tensor(frozen), tensor(np.zeros(3)).broadcast_to(2, 3)):
        with pytest.raises(rl.NotExpressible):
            torch.from_dlpack(t)


def test_torch_guards(torch: Any) -> None:
    x = torch.zeros(1, 8, 6, 4).to(memory_format=torch.channels_last)
    check(x, "torch:channels_last")
    check(x, "nhwc", axes="nchw")
    check(torch.zeros(1, 6, 4, 8), "nhwc", axes="nhwc")
    assert describe(x).startswith("torch tensor 1x8x6x4 float32, strides (192, 1, 32, 8) = ")
    with pytest.raises(rl.LayoutMismatch, match=r"got torch tensor 1x8x6x4 float32, strides \(192, 1, 32, 8\)"):
        check(x, "torch:contiguous_format")
    check(torch.zeros(5, 6, device="meta"), "ab")
    check(torch.zeros(5, 6, requires_grad=True)[1:], "ab")


def test_values_from_torch(torch: Any) -> None:
    x = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
    t = from_logical(x, "0 1 / 1,2")
    assert t.dtype == "bfloat16"
    assert t.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    t[...] = torch.ones(2, 3)
    t[0] = torch.tensor([7, 8, 9])
    assert t.numpy().tolist() == [[7, 8, 9], [1, 1, 1]]


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int8"])
def test_jax_there_and_back(jax: Any, name: str) -> None:
    x = jax.numpy.arange(6, dtype=name).reshape(2, 3)
    t = tensor(x)
    assert (t.dtype, t.numpy().ctypes.data, t[1, 2]) == (name, x.unsafe_buffer_pointer(), 5)
    assert not t.writable
    with pytest.raises(rl.ShapeError, match="read-only"):
        t[0, 0] = 1
    ours = from_logical(np.arange(6).reshape(2, 3), Layout.row_major(2, 3), name)
    theirs = jax.dlpack.from_dlpack(ours)
    assert str(theirs.dtype) == name
    assert theirs.unsafe_buffer_pointer() == ours.raw.ctypes.data, "memory on a multiple of 64 bytes is not copied"
    check(x, "ab")
