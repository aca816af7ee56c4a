"""Bad memory is refused with a clear error, and nothing outside the buffer is read or written.

Accesses run in a child process between pages that may not be touched, and so do crafted descriptions.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from crafted import CAPSULES, Producer
from relayout import Layout
from relayout.elements.interface import ScaleOffset
from relayout.engine.logical import from_logical
from relayout.tensors.make import empty, tensor
from relayout.tensors.tensor import Tensor
from support import coordinates, layouts, value

# ---- too small, at either end --------------------------------------------------------------------------------


@given(layouts(window=True, offset=True, swizzle=True, negative=True), st.integers(0, 40), st.integers(-20, 20))
def test_a_tensor_is_made_exactly_when_it_stays_inside(layout: Layout, count: int, moved: int) -> None:
    layout = layout.with_offset(layout.offset + moved)
    try:
        places = [value(layout, c) for c in coordinates(layout)]
        inside = min(places) >= 0 and max(places) < count
    except ValueError:
        inside = False
    arena = np.full(count + 200, 77, np.uint8)
    middle = arena[100 : 100 + count]
    if not inside:
        with pytest.raises((rl.OutOfBounds, rl.ShapeError)):
            Tensor(middle, layout)
    else:
        t = Tensor(middle, layout)
        for c in coordinates(layout):
            t[c] = 1
        assert t.numpy().sum() == t.size
        if layout.is_injective():
            t[...] = 2
    assert (arena[:100] == 77).all()
    assert (arena[100 + count :] == 77).all()


@pytest.mark.parametrize(
    "layout",
    [
        Layout(5),
        Layout(2, 4),
        Layout(2, -1),
        Layout(1, offset=4),
        Layout(1, offset=-1),
        Layout((2, 2), (3, 1)),
        Layout(2, 2**64),
        Layout(2, 2**64 - 2**64 + 2**62),
        Layout((2**40, 2**40), (2**40, 1)),
        Layout(3, 2**63),
        Layout(2, -(2**63), offset=2**63),
        Layout(((2, 4),), ((1, 4),), extents=(3,)),
    ],
)
def test_too_small(layout: Layout) -> None:
    with pytest.raises(rl.OutOfBounds, match="and the memory has 4"):
        Tensor(bytearray(4), layout, "uint8")


def test_a_window_may_lie_in_memory_that_its_box_leaves() -> None:
    t = Tensor(bytearray(b"abcd"), Layout(((2, 4),), ((1, 10),), offset=-10, extents=(2,), origin=(2,)), "uint8")
    assert bytes(t.numpy()) == b"ab"
    t[...] = [1, 2]
    assert t.raw.tolist() == [1, 2, 99, 100]


# ---- storage that is no memory for elements ------------------------------------------------------------------


def misaligned() -> Any:
    return np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float32)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tensor(np.zeros(4, np.int16), Layout(4), "float16"), "holds int16, not float16"),
        (lambda: Tensor(np.zeros(4, np.uint8), Layout(1), "float32"), "holds uint8, not float32"),
        (lambda: Tensor(np.zeros(4, np.int8), Layout(4), ScaleOffset(1, 0, "quint8")), "holds int8, not quint8"),
        (lambda: tensor(np.zeros(4, np.int8), "uint8"), "holds int8, not uint8"),
        (lambda: tensor(np.zeros(4, ">f4")), "byte order"),
        (lambda: Tensor(np.zeros(4, ">i2"), Layout(4)), "byte order"),
        (lambda: Tensor(bytearray(8), Layout(2), np.dtype(">f4")), "other order"),
        (lambda: tensor(misaligned()), "not aligned"),
        (lambda: Tensor(memoryview(bytearray(17))[1:], Layout(4), "float32"), "not aligned"),
        (lambda: tensor(np.zeros(3, object)), "no element type"),
        (lambda: tensor(np.zeros(3, "U4")), "no element type"),
        (lambda: tensor(np.zeros(3, [("a", "i4")])), "no element type"),
        (lambda: tensor(np.zeros(3, "datetime64[s]")), "no element type"),
        (lambda: tensor(np.zeros(3, np.longdouble)), "no element type"),
        (lambda: tensor(np.zeros(3, [("a", "i1"), ("b", "i4")])["b"]), "no whole numbers of elements"),
        (lambda: tensor(np.ma.masked_array([1, 2], [0, 1])), "masked"),
        (lambda: Tensor(np.zeros((4, 4))[:, ::2], Layout(4)), "does not lie together"),
        (lambda: Tensor(np.zeros((4, 4)).T, Layout(4)), "does not lie together"),
        (lambda: Tensor([1, 2, 3], Layout(3), "uint8"), "no memory"),
        (lambda: Tensor("abc", Layout(3), "uint8"), "no memory that can be read"),
        (lambda: Tensor(7, Layout(3), "uint8"), "no memory that can be read"),
        (lambda: Tensor(None, Layout(3)), "pass the dtype"),
        (lambda: Tensor(memoryview(bytes(8))[::2], Layout(3), "uint8"), "no memory that can be read"),
        (lambda: Tensor(bytes(8), Layout(3), "int128"), "128"),
        (lambda: Tensor(bytes(8), Layout(3), "float7"), "no element type"),
        (lambda: Tensor(bytes(8), rl.make_identity_layout((2, 2)), "uint8"), "coordinates, not places"),
        (lambda: tensor([1, 2, 3]), "is no array"),
        (lambda: tensor(b"abc"), "is no array"),
        (lambda: tensor(memoryview(bytes(8)).cast("P")), "nothing that numpy reads"),
        (lambda: from_logical([[1], [2, 3]], Layout(3)), "nested lists"),
        (lambda: from_logical([object()], Layout(1)), "no element type"),
    ],
)
def test_refused_storage(make: Any, words: str) -> None:
    with pytest.raises(rl.LayoutError, match=words) as caught:
        make()
    assert caught.value.hint


def test_read_only_storage_is_never_written() -> None:
    frozen = np.arange(4.0)
    frozen.setflags(write=False)
    for storage in (frozen, frozen.tobytes(), memoryview(frozen.tobytes())):
        t = Tensor(storage, Layout((2, 2)), "float64")
        for refused in (
            lambda t=t: t.__setitem__((0, 0), 1),
            lambda t=t: t.fill(1),
            lambda t=t: t[0].copy_from([1, 2]),
            lambda t=t: t.get_raw(0, 0).view.__setitem__(0, 1),
            lambda t=t: t.numpy().fill(1),
            lambda t=t: t.raw.fill(1),
        ):
            with pytest.raises((rl.ShapeError, TypeError, ValueError), match="read-only"):
                refused()
        assert t.numpy().tolist() == [[0, 2], [1, 3]]
        with pytest.raises(rl.NotExpressible, match="read-only"):
            t.__dlpack__()


def test_what_dlpack_readers_would_crash_on() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for t, words in (
        (tensor(x[::-1]), "negative strides"),
        (tensor(x).broadcast_to(4, 2, 3), "read-only"),
        (from_logical(np.zeros((4, 4)), "0 1 / 0,2 1,2"), "no strides"),
        (tensor(np.zeros(4, np.uint8), ScaleOffset(1, 0, "quint8")), "quantised"),
        (Tensor(bytearray(4), Layout(8), "int4"), "no strides"),
    ):
        with pytest.raises(rl.NotExpressible, match=words):
            np.from_dlpack(t)
    assert np.shares_memory(np.from_dlpack(tensor(x.T)), x)
    assert tensor(x).__dlpack_device__() == (1, 0)
    # numpy 2.0 does not know the word.
    with pytest.raises((rl.NotExpressible, TypeError), match=r"DLPack does not hold it|keyword"):
        tensor(x).__dlpack__(dl_device=(2, 0), copy=False)


def test_indices_that_name_nothing() -> None:
    t = tensor(np.zeros((2, 3)))
    for key in ((2, 0), (0, 3), (-3, 0), (0, -4), 2, (..., 3), 2**70):
        with pytest.raises(IndexError):
            t[key]
        with pytest.raises(rl.OutOfBounds):
            t[key] = 1
    for key in ((0, 0, 0), 1.5, "a", True, [0, 1], np.array([0, 1]), (..., ...)):
        with pytest.raises(rl.ShapeError):
            t[key]
    for coordinate in ((0,), (0, slice(None)), (0, 0, 0), ()):
        with pytest.raises(rl.ShapeError, match="one index per dimension"):
            t.get_raw(coordinate)


# ---- __array_interface__ -------------------------------------------------------------------------------------


class Crafted:
    def __init__(self, **words: Any) -> None:
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (4,), "data": bytearray(16), **words}


@pytest.mark.parametrize(
    "words",
    [
        {"shape": (17,)},
        {"shape": (2, 9)},
        {"shape": (-1,)},
        {"shape": (-1, -4)},
        {"shape": (2**62, 2**62)},
        {"shape": (2**64 + 4,)},
        {"shape": "abc"},
        {"shape": 4},
        {"shape": (4.0,)},
        {"strides": (6,)},
        {"strides": (-1,)},
        {"strides": (2**63,)},
        {"strides": (1, 1)},
        {"strides": ("a",)},
        {"offset": -1},
        {"offset": 13},
        {"offset": 2**64},
        {"offset": "x"},
        {"typestr": "|u17"},
        {"typestr": ">f4", "shape": (1,)},
        {"typestr": "|O", "shape": (1,)},
        {"typestr": "|V4", "shape": (1,)},
        {"typestr": "<f8", "shape": (3,)},
        {"typestr": None},
        {"data": (0, False)},
        {"data": (4096, False)},
        {"data": None},
        {"data": "abcd"},
        {"data": 5},
        {"mask": np.ones(4, bool)},
        {"shape": None},
    ],
)
def test_crafted_array_interfaces(words: dict[str, Any]) -> None:
    with pytest.raises(rl.ShapeError):
        tensor(Crafted(**words))


def test_an_array_interface_over_a_buffer() -> None:
    data = bytearray(range(16))
    t = tensor(Crafted(data=data, shape=(2, 3), strides=(6, -2), offset=4))
    assert t.numpy().tolist() == [[4, 2, 0], [10, 8, 6]]
    assert np.shares_memory(t.numpy(), np.frombuffer(data, np.uint8))
    assert tensor(Crafted(shape=(0, 5), offset=99, data=b"")).shape == (0, 5)
    assert tensor(Crafted(typestr="<u4", shape=(4,))).shape == (4,)


# ---- in a child process --------------------------------------------------------------------------------------


def run(script: str) -> str:
    """What a child process prints; it must end well."""
    here = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {here!r})\n" + textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="pages are protected by mprotect")
def test_between_pages_that_may_not_be_touched() -> None:
    """Random layouts over memory that ends where a forbidden page begins, and begins where one ends."""
    out = run("""
        import ctypes, mmap, random
        import numpy as np
        import relayout as rl
        from relayout import Layout
        from relayout.tensors.tensor import Tensor

        page = mmap.PAGESIZE
        pages = mmap.mmap(-1, 3 * page)
        everything = np.frombuffer(pages, np.uint8)
        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for k in (0, 2):
            if protect(everything.ctypes.data + k * page, page, 0):
                raise SystemExit("mprotect failed")
        rng = random.Random(3)
        made = refused = 0
        for _ in range(1500):
            depths = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
            shape = tuple(tuple(rng.choice([1, 2, 3, 4]) for _ in range(depth)) for depth in depths)
            stride = tuple(tuple(rng.choice([-7, -1, 0, 1, 2, 3, 8, 24]) for _ in m) for m in shape)
            box = [int(np.prod(m)) for m in shape]
            origin = [rng.randrange(n) for n in box]
            extents = [rng.randint(1, n - o) for n, o in zip(box, origin)]
            dtype = rng.choice(["uint8", "float32", "int4", "uint6", "bfloat16", "complex64"])
            swizzle = rng.choice([None, None, (2, 0, 3)])
            bits = rl.elements.types.element(dtype).bits
            layout = Layout(shape, stride, origin=origin, extents=extents, offset=rng.randint(0, 60), swizzle=swizzle)
            count = rng.randint(1, 200)
            size = -(-count * bits // 8)
            size += -size % 8 if bits > 8 else 0
            start = rng.choice([page, 2 * page - size])
            try:
                t = Tensor(memoryview(pages)[start : start + size], layout, dtype)
            except rl.LayoutError:
                refused += 1
                continue
            made += 1
            t.numpy()
            for c in [tuple(rng.randrange(n) for n in t.shape) for _ in range(3)]:
                t[c] = 1
                t[c]
                bytes(t.get_raw(c).view)
            if layout.is_injective():
                t[...] = 1
                t.copy_from(t.flip())
                t.fill(0)
            t.flip(0)[..., 1:].stored()
        print(made, refused)
    """)
    made, refused = map(int, out.split())
    assert min(made, refused) > 200


def test_crafted_capsules() -> None:
    out = run("""
        import relayout as rl
        from relayout.tensors.make import tensor
        from crafted import CAPSULES, Producer

        for name, words in CAPSULES.items():
            try:
                tensor(Producer(**words)).numpy().sum()
            except rl.ShapeError as error:
                if error.hint:
                    print(name)
    """)
    assert out.splitlines() == list(CAPSULES)


@pytest.mark.parametrize("name", CAPSULES)
def test_a_crafted_capsule_is_refused_before_it_is_read(name: str) -> None:
    with pytest.raises(rl.ShapeError):
        tensor(Producer(**CAPSULES[name]))


def test_capsules_that_fit_together() -> None:
    t = tensor(Producer(shape=(2, 3), strides=(8, 2), offset=1))
    assert t.numpy().tolist() == [[1, 3, 5], [9, 11, 13]]
    assert not t.writable, "an unversioned capsule does not say that it may be written"
    assert tensor(Producer(shape=(0, 3), data=0)).shape == (0, 3)
    assert tensor(Producer(shape=(2, 2))).numpy().tolist() == [[0, 1], [2, 3]]
    assert tensor(Producer(shape=())).numpy() == 0
    brain = tensor(Producer(dtype=(4, 16, 1, 0)))
    assert (brain.dtype, brain.get_raw(1).view.tobytes()) == ("bfloat16", b"\2\3")


def test_overlapping_destinations_and_aliased_sources() -> None:
    memory = np.arange(8, dtype=np.int32)
    t = Tensor(memory, Layout((2, 4), (2, 1)))
    with pytest.raises(rl.Overlap, match="same place") as caught:
        t[...] = 1
    a, b = caught.value.coordinates
    assert t.layout(a) == t.layout(b)
    assert memory.tolist() == list(range(8))
    whole = Tensor(memory, Layout(8))
    whole[1:] = whole[:-1]
    assert memory.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
    whole.copy_from(memory[::-1])
    assert memory.tolist() == [6, 5, 4, 3, 2, 1, 0, 0]
    assert empty(Layout(0), "uint8").fill(3).size == 0
