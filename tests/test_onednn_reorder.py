"""oneDNN's tags against oneDNN itself: every tag of its header, and random ones, by a real reorder of real memory.

The library and its header come with the wheels ``onednn-cpu-gomp`` and ``onednn-devel-cpu-gomp``, or from the system.
"""

from __future__ import annotations

import ctypes
import random
import re
import sys
from collections.abc import Iterator, Sequence
from ctypes.util import find_library
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Format

CPU, IN_ORDER, F32, FROM, TO = 1, 1, 3, 1, 17
MAX_RANK = 12
HANDLE = ctypes.c_void_p
NO_TAGS = {"format_tag_undef", "format_tag_any", "format_tag_last"}


class Argument(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("memory", HANDLE))


class OneDNN:
    """The few functions of the C interface (version 3) that a reorder takes."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.engine = self.made("dnnl_engine_create", CPU, ctypes.c_size_t(0))
        self.stream = self.made("dnnl_stream_create", self.engine, IN_ORDER)
        library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} gave the status {status}")

    def made(self, name: str, *arguments: Any) -> HANDLE:
        handle = HANDLE()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def described(self, shape: Sequence[int], tag: int | str) -> HANDLE:
        """The descriptor of a tensor with a tag: one of the header's, by its number, or any other, by its letters."""
        dims = (ctypes.c_int64 * MAX_RANK)(*shape)
        if isinstance(tag, int):
            return self.made("dnnl_memory_desc_create_with_tag", len(shape), dims, F32, tag)
        return self.made("dnnl_memory_desc_create_with_string_tag", len(shape), dims, F32, tag.encode())

    def size(self, shape: Sequence[int], tag: int | str) -> int:
        """The bytes that a tensor with this tag takes."""
        target = self.described(shape, tag)
        size = int(self.library.dnnl_memory_desc_get_size(target))
        self.call("dnnl_memory_desc_destroy", target)
        return size

    def reordered(self, x: Any, tag: int | str) -> Any:
        """The memory, junk before, to which oneDNN reorders the row-major array ``x``."""
        target = self.described(x.shape, tag)
        memory = np.full(self.library.dnnl_memory_desc_get_size(target) // 4, -7, np.float32)
        source = self.made(
            "dnnl_memory_desc_create_with_strides",
            x.ndim,
            (ctypes.c_int64 * MAX_RANK)(*x.shape),
            F32,
            (ctypes.c_int64 * MAX_RANK)(*[s // 4 for s in x.strides]),
        )
        one = self.made("dnnl_memory_create", source, self.engine, HANDLE(x.ctypes.data))
        two = self.made("dnnl_memory_create", target, self.engine, HANDLE(memory.ctypes.data))
        plan = self.made("dnnl_reorder_primitive_desc_create", source, self.engine, target, self.engine, None)
        reorder = self.made("dnnl_primitive_create", plan)
        arguments = (Argument * 2)(Argument(FROM, one), Argument(TO, two))
        self.call("dnnl_primitive_execute", reorder, self.stream, 2, arguments)
        self.call("dnnl_stream_wait", self.stream)
        for kind, handles in {
            "primitive": [reorder],
            "primitive_desc": [plan],
            "memory": [one, two],
            "memory_desc": [source, target],
        }.items():
            for handle in handles:
                self.call(f"dnnl_{kind}_destroy", handle)
        return memory


@pytest.fixture(scope="module")
def onednn() -> Iterator[OneDNN]:
    wheel = Path(sys.prefix, "lib", "libdnnl.so.3")
    name = str(wheel) if wheel.exists() else find_library("dnnl")
    if name is None:
        pytest.skip("oneDNN is not installed")
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        pytest.skip(f"oneDNN cannot be loaded: {error}")
    if not hasattr(library, "dnnl_memory_desc_create_with_tag"):
        pytest.skip("oneDNN is older than version 3")
    try:
        judge = OneDNN(library)
    except RuntimeError as error:
        pytest.skip(f"oneDNN has no engine for the CPU: {error}")
    threads = library.omp_get_max_threads() if hasattr(library, "omp_get_max_threads") else 0
    if threads:
        library.omp_set_num_threads(1)  # On small arrays the threads only wait for one another.
    yield judge
    if threads:
        library.omp_set_num_threads(threads)


@pytest.fixture(scope="module")
def tags(onednn: OneDNN) -> dict[str, int]:
    """The number of every tag in oneDNN's header."""
    headers = [Path(root, "include", "oneapi", "dnnl", "dnnl_types.h") for root in (sys.prefix, "/usr")]
    found = [path for path in headers if path.exists()]
    if not found:
        pytest.skip("oneDNN's header is not installed")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", found[0].read_text(), flags=re.S)
    (body,) = re.findall(r"typedef enum \{([^}]*)\} dnnl_format_tag_t;", text)
    numbers: dict[str, int] = {}
    following = 0
    for name, value in re.findall(r"dnnl_(\w+)(?: = (?:dnnl_)?(\w+))?", body):
        numbers[name] = numbers[value] if value in numbers else int(value or str(following), 0)
        following = numbers[name] + 1
    return {name: number for name, number in numbers.items() if name not in NO_TAGS}


def assert_same_memory(onednn: OneDNN, layout: rl.Layout, tag: int | str, name: str) -> None:
    x = np.arange(1, layout.size + 1, dtype=np.float32).reshape(layout.extents)
    ours = np.zeros(layout.storage_size, np.float32)
    ours[layout.offsets()] = x
    theirs = onednn.reordered(x, tag)
    assert ours.size == theirs.size, (name, layout)
    assert ours.tobytes() == theirs.tobytes(), (name, layout)


def test_every_tag_of_the_header(onednn: OneDNN, tags: dict[str, int]) -> None:
    assert len(tags) > 1400
    assert {"nChw16c", "OIhw4i16o4i", "BA16a64b4a", "BA16a48b4a", "ldigo", "abcdefghijkl", "OhwI24o"} <= set(tags)
    rng = random.Random(3)
    for name, number in tags.items():
        fmt = rl.parse(f"onednn:{name}")
        assert isinstance(fmt, Format)
        blocks = fmt.block_shape
        two_of_each = [b + 1 for b in blocks]
        random_sizes = [rng.choice([1, b, b + 1, 2 * b - 1, rng.randint(1, 2 * b)]) for b in blocks]
        for shape in (two_of_each, random_sizes):
            if prod(shape) <= 40_000 or shape is two_of_each:
                assert_same_memory(onednn, fmt.layout(shape), number, name)


@st.composite
def blocked_formats(draw: Any) -> Format:
    """Formats of dimensions and blocks, 12 together, in any order, with odd sizes.

    oneDNN 3.2 describes more than 12 together, but its reorder then runs over its stack.
    """
    rank = draw(st.integers(1, MAX_RANK))
    order = draw(st.permutations(range(rank)))
    block = st.tuples(st.integers(0, rank - 1), st.sampled_from([2, 3, 4, 5, 7, 8, 40, 48]))
    fmt = Format(rank, [(d, 0) for d in order] + draw(st.lists(block, max_size=min(6, MAX_RANK - rank))))
    return fmt if prod(fmt.block_shape) <= 20_000 else Format(rank, [(d, 0) for d in order])


@settings(deadline=None)
@given(blocked_formats(), st.data())
def test_any_tag_that_we_write(onednn: OneDNN, fmt: Format, data: Any) -> None:
    if not hasattr(onednn.library, "dnnl_memory_desc_create_with_string_tag"):
        pytest.skip("this oneDNN reads no tags of letters")
    room = 20_000
    shape = []
    for block in fmt.block_shape:
        shape.append(data.draw(st.integers(0, max(1, min(2 * block + 1, room)))))
        room //= max(1, shape[-1])
    tag = fmt.to("onednn")
    layout = fmt.layout(shape)
    assert onednn.size(shape, tag) == 4 * layout.storage_size
    if layout.size:
        assert_same_memory(onednn, layout, tag, tag)


@pytest.mark.parametrize("tag", ["any", "undef"])
def test_a_tag_that_leaves_the_layout_open(tag: str) -> None:
    with pytest.raises(rl.ParseError, match="leave the layout open"):
        rl.parse(tag, "onednn")
