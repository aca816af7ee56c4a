"""The HTP and Core AI pages on real buffers, byte by byte; and what Apple's runtime leaves in memory, read rightly."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout import Format, Layout, coreai
from relayout.elements.interface import ScaleOffset
from relayout.engine.logical import from_logical
from relayout.tensors.block_table import BlockTable
from relayout.tensors.make import empty
from relayout.tensors.tensor import Tensor
from test_coreai_runtime import Apple, Case, constraints, memory_of, program_text, some_cases, tensor_type
from test_htp_page import CROUTON, LISTINGS, Coordinate, walk

# ---- the HTP page --------------------------------------------------------------------------------------------


def some_bytes(shape: Coordinate) -> np.ndarray[Any, Any]:
    return (np.arange(np.prod(shape)) * 7 % 251).astype(np.uint8).reshape(shape)


def page_memory(x: np.ndarray[Any, Any], padded: Coordinate, pairs: list[tuple[int, int]], pad: int) -> bytes:
    """The bytes in the order of the page's loops."""
    inside = [all(a < n for a, n in zip(c, x.shape, strict=True)) for c in walk(padded, pairs)]
    return bytes([int(x[c]) if mine else pad for c, mine in zip(walk(padded, pairs), inside, strict=True)])


@pytest.mark.parametrize(("listing", "shape", "padded", "pairs", "text"), LISTINGS)
def test_every_listing_byte_by_byte(
    listing: str, shape: Coordinate, padded: Coordinate, pairs: list[tuple[int, int]], text: str
) -> None:
    x = some_bytes(shape)
    pad = 31 if "Crouton" in text else 0
    expected = page_memory(x, padded, pairs, pad)
    t = from_logical(x, text)
    assert t.raw.tobytes() == expected
    assert (t.numpy() == x).all()
    read = Tensor(expected, rl.parse(text, shape=shape), "uint8")
    assert (read.numpy() == x).all()
    filled = empty(text, "uint8", shape).fill(9).fill_padding(user=None, auto=pad)
    assert filled.raw.tobytes() == page_memory(np.full(shape, 9, np.uint8), padded, pairs, pad)


def test_nhwc_seen_stored_as_nchw() -> None:
    x = some_bytes((2, 3, 5, 7))
    t = from_logical(x, "ChunkedMemoryLayout<4, 0,0, 3,0, 1,0, 2,0>")
    assert t.raw.tobytes() == x.transpose(0, 3, 1, 2).tobytes()
    assert t[1, 2, 4, 6] == x[1, 2, 4, 6]


def test_a_quantised_crouton_of_1x3x5x30() -> None:
    """The page's tensor with a scale and an offset: user padding is quantised 0, the crouton's own is 31."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(1, 3, 5, 30)).astype(np.float32)
    t = from_logical(x, "htp:R4Crouton", ScaleOffset(1 / 32, 90, "quint8"), left_pad=(0, 1, 0, 0))
    codes = np.clip(np.rint(np.float32(90) + x * np.float32(32)), 0, 255).astype(np.uint8)
    with_user = np.full((1, 4, 5, 30), 90, np.uint8)
    with_user[:, 1:] = codes
    assert t.raw.tobytes() == page_memory(with_user, (1, 8, 8, 32), CROUTON, 31)
    assert (t.numpy() == (codes.astype(np.float32) - 90) / 32).all()
    t[0, 2, 4, 29] = -1
    assert t.raw[(3 * 8 + 4) * 32 + 29] == 58


def test_chunks_are_not_consecutive_in_memory() -> None:
    """Gaps between chunks stay untouched, and ``get_raw`` of a chunk's first element is where it starts."""
    x = some_bytes((2, 9, 20, 50))
    fmt = rl.parse("htp:R4Crouton")
    assert isinstance(fmt, Format)
    starts = np.random.default_rng(2).permutation(24) * (2048 + 64) + 64
    memory = np.full(24 * (2048 + 64) + 64, 170, np.uint8)
    t = Tensor(memory, fmt.layout(x.shape), blocks=BlockTable(starts, (8, 8, 32)))
    t.copy_from(x)
    expected = np.frombuffer(page_memory(x, (2, 16, 24, 64), CROUTON, 170), np.uint8).reshape(24, 2048)
    for i, start in enumerate(starts.tolist()):
        assert (memory[start : start + 2048] == expected[i]).all()
        assert (memory[start - 64 : start] == 170).all()
        b, h, w, c = np.unravel_index(i, (2, 2, 3, 2))
        assert t.get_raw(b, 8 * h, 8 * w, 32 * c).byte == start
    assert (t.numpy() == x).all()


# ---- the Core AI page ----------------------------------------------------------------------------------------


def test_an_image_with_interleaved_channels() -> None:
    planar = some_bytes((3, 4, 5))
    t = from_logical(planar, coreai.packed((3, 4, 5), coreai.InterleaveLayout(dimension=0, factor=3)))
    pixels = [planar[c, h, w] for h in range(4) for w in range(5) for c in range(3)]
    assert t.raw.tobytes() == bytes(pixels), "RGBRGB..."
    assert from_logical(planar, Layout.row_major(3, 4, 5)).raw.tobytes() == planar.tobytes(), "RRR...GGG...BBB..."
    assert not t.is_contiguous()
    assert t.permute(1, 2, 0).is_contiguous()
    assert bytes(t.permute(1, 2, 0).contiguous_elements()) == bytes(pixels)


def test_the_equivalent_forms_are_the_same_bytes() -> None:
    """8x256x256 in blocks of four channels, and 2x256x256x4 without an interleave."""
    x = np.random.default_rng(0).integers(0, 1 << 16, (8, 256, 256), dtype=np.uint16)
    strides = (262144, 1024, 4)
    t = from_logical(x, coreai.layout(x.shape, strides, (0, 4)))
    memory = t.raw
    assert memory.size == 2 * 262144
    equivalent = Tensor(memory, coreai.layout((2, 256, 256, 4), (262144, 1024, 4, 1)))
    assert equivalent.is_contiguous()
    assert (equivalent.numpy() == x.reshape(2, 4, 256, 256).transpose(0, 2, 3, 1)).all()
    d, h, w = np.indices(x.shape)
    assert (memory[d // 4 * strides[0] + d % 4 + h * strides[1] + w * strides[2]] == x).all(), "the page's formula"


def test_a_factor_that_does_not_divide() -> None:
    x = some_bytes((10, 3))
    layout = coreai.layout((10, 3), (12, 4), (0, 4))
    t = from_logical(x, layout, fill=255)
    expected = bytearray(b"\xff" * 36)
    for i, j in np.ndindex(10, 3):
        expected[i // 4 * 12 + i % 4 + j * 4] = x[i, j]
    assert t.raw.tobytes() == bytes(expected)
    part = t[2:7]
    assert (part.numpy() == x[2:7]).all(), "a slice off the block boundary has no interleave, and a layout"


def test_blocks_that_overlap_are_read_and_not_written() -> None:
    overlapping = coreai.layout((8,), (2,), (0, 4))
    t = Tensor(bytearray(range(6)), overlapping, "uint8")
    assert t.numpy().tolist() == [0, 1, 2, 3, 2, 3, 4, 5]
    with pytest.raises(rl.Overlap):
        t.fill(0)


# ---- Apple's runtime -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def apple() -> Apple:
    if sys.platform != "linux":
        pytest.skip("the size of an allocation is read from glibc")
    return Apple(*[pytest.importorskip(f"coreai.{name}") for name in ("runtime", "authoring", "_compiler.ir")])


def interleaved(case: Case) -> int:
    return int(np.argmax(case.interleave))


def check(case: Case, array: Any) -> int:
    """Read Apple's memory through a tensor; 1 if Apple's own reading of the second element is wrong."""
    t = Tensor(memory_of(array), coreai.packed(case.shape, case.interleave, case.alignments), case.values.dtype)
    assert coreai.describe(t.layout).strides == array.strides
    assert (t.numpy() == case.values).all()
    d = interleaved(case)
    second = (slice(None),) * d + (1,)
    assert (t.pick(d, 1).numpy() == case.values[second]).all()
    # Index 1 of the blocked dimension is inside the memory even where it is taken for a whole block.
    return int((array.numpy()[second] != case.values[second]).any())


async def states(apple: Apple, cases: list[Case], folder: Path) -> int:
    with apple.authoring.Context()._mlir_context:
        module = apple.ir.Module.parse(program_text(cases))
    asset = apple.authoring.AIProgram._from_mlir_module(module).save_asset(folder / "states.aimodel")
    wrong = 0
    async with asset.executable() as model:
        for k, case in enumerate(cases):
            function = model.load_function(f"g{k}")
            state = apple.runtime.NDArray.from_descriptor(function.desc.state_descriptor("s"))
            await function({"x": apple.runtime.NDArray(case.values)}, state={"s": state})
            wrong += check(case, state)
    return wrong


async def outputs(apple: Apple, cases: list[Case], folder: Path) -> int:
    graphs = []
    for k, case in enumerate(cases):
        plain = tensor_type(case.shape, case.element)
        laid_out = tensor_type(case.shape, case.element, constraints(case.interleave, case.alignments))
        graphs.append(f"""
            coreai.graph @g{k}(%x: {plain} {{coreai.name = "x"}}) -> ({laid_out} {{coreai.name = "y"}}) {{
              %y = coreai.relu %x : ({plain}) -> {plain}
              %z = coreaix.copy_with_constraints(%y) : ({plain}) -> {laid_out}
              coreai.output %z : {laid_out}
            }}""")
    with apple.authoring.Context()._mlir_context:
        module = apple.ir.Module.parse(f"module {{{''.join(graphs)}}}")
    asset = apple.authoring.AIProgram._from_mlir_module(module).save_asset(folder / "outputs.aimodel")
    wrong = 0
    async with asset.executable() as model:
        for k, case in enumerate(cases):
            result = await model.load_function(f"g{k}")({"x": apple.runtime.NDArray(case.values)})
            wrong += check(case, result["y"])
    return wrong


def blocked_cases(count: int, plain_strides: bool) -> list[Case]:
    """Cases whose interleaved dimension has several blocks of several elements, and the values differ."""
    found = [c for c in some_cases(600, seed=9) if 1 < max(c.interleave) < c.shape[interleaved(c)]]
    return [c for c in found if not plain_strides or set(c.alignments) == {1}][:count]


def test_interleaved_states_are_read_where_apples_own_reading_is_wrong(apple: Apple, tmp_path: Path) -> None:
    cases = blocked_cases(60, plain_strides=False)
    assert len(cases) == 60
    assert asyncio.run(states(apple, cases, tmp_path)) == 60


def test_interleaved_outputs_are_read_where_apples_own_reading_is_wrong(apple: Apple, tmp_path: Path) -> None:
    """Alignments do not hold for outputs, so these have none."""
    cases = blocked_cases(30, plain_strides=True)
    assert len(cases) == 30
    assert asyncio.run(outputs(apple, cases, tmp_path)) == 30
