"""Core AI's interleaved arrays and Candle's strided ones: the pages' examples and formulas, by enumeration."""

from __future__ import annotations

import copy
from itertools import product as cartesian
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout import Layout, coreai
from relayout.coreai import InterleaveLayout, NDArrayDescriptor
from support import coordinates, layouts, table

PAGE = """shape=[8, 256, 256], strides=[262144, 1024, 4]
interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)"""
EQUIVALENT = "shape=[2, 256, 256, 4], strides=[262144, 1024, 4, 1] interleaveLayout=nil"


def test_the_pages_example_and_its_equivalent() -> None:
    layout = rl.parse(PAGE)
    assert layout == coreai.layout([8, 256, 256], [262144, 1024, 4], (0, 4))
    assert layout == coreai.layout([8, 256, 256], [262144, 1024, 4], InterleaveLayout(dimension=0, factor=4))
    assert layout.to("coreai") == PAGE.replace("\n", " ")
    first, second = coreai.equivalents(layout)
    assert first == NDArrayDescriptor((8, 256, 256), (262144, 1024, 4), InterleaveLayout(0, 4))
    assert second == NDArrayDescriptor((2, 256, 256, 4), (262144, 1024, 4, 1), None)
    assert rl.parse(EQUIVALENT).to("coreai") == EQUIVALENT
    split = rl.parse(EQUIVALENT)
    for c in ((0, 0, 0), (5, 7, 9), (7, 255, 255)):
        assert layout(c) == split(c[0] // 4, c[1], c[2], c[0] % 4)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(1, 5), st.data())
def test_the_pages_formula(shape: list[int], factor: int, data: Any) -> None:
    d = data.draw(st.integers(0, len(shape) - 1))
    strides = [data.draw(st.integers(0, 60)) for _ in shape]
    layout = coreai.layout(shape, strides, (d, factor))
    for c in cartesian(*[range(n) for n in shape]):
        others = sum(i * s for k, (i, s) in enumerate(zip(c, strides, strict=True)) if k != d)
        assert layout(c) == c[d] // factor * strides[d] + c[d] % factor + others
    assert rl.parse(layout.to("coreai"), "coreai") == layout
    described = coreai.describe(layout)
    assert described == NDArrayDescriptor(tuple(shape), tuple(strides), InterleaveLayout(d, factor))
    assert described.minimum_elements == max(int(x) for x in layout.offsets().reshape(-1)) + 1
    forms = coreai.equivalents(layout)
    plain = [f for f in forms if f.interleave_layout is None and len(f.shape) == len(shape)]
    assert bool(plain) == (shape[d] <= factor or strides[d] == factor or factor == 1)
    for form in plain:
        assert form.layout.equivalent(layout)
    assert (shape[d] % factor == 0) == any(len(f.shape) > len(shape) for f in forms)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.data())
def test_views_on_block_boundaries_have_an_offset(factor: int, blocks: int, width: int, data: Any) -> None:
    layout = coreai.layout([factor * blocks, width], [factor * width + 2, factor], (0, factor))
    first = data.draw(st.integers(0, blocks - 1))
    length = data.draw(st.integers(1, factor * (blocks - first)))
    view = layout.narrow(0, factor * first, length).narrow(1, width - 1, 1)
    described = coreai.describe(view)
    assert described.offset == layout(factor * first, width - 1)
    moved = described.layout
    assert [moved(c) for c in coordinates(view)] == [view(c) for c in coordinates(view)]
    for form in coreai.equivalents(view):
        assert form.offset == described.offset
    if first * factor + length > factor * (blocks - 1):  # Nothing of the array is left behind the view.
        text = view.to("coreai")
        assert text.endswith(f" offset={described.offset}") == (described.offset > 0)
        back = rl.parse(text, "coreai")
        assert [back(c) for c in coordinates(view)] == [view(c) for c in coordinates(view)]


@pytest.mark.parametrize(
    "text",
    [
        "shape=[4, 6], strides=[24, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4) offset=24",
        "shape: [4, 6], strides: [24, 4], interleaveLayout: InterleaveLayout(dimension: 0, factor: 4), offset: 24",
    ],
)
def test_a_view_is_written_with_its_offset(text: str) -> None:
    layout = rl.parse(text)
    assert isinstance(layout, Layout)
    for i, j in np.ndindex(4, 6):
        assert layout(i, j) == 24 + (i // 4) * 24 + i % 4 + j * 4
    assert layout.to("coreai").endswith("factor: 4) offset=24")


def test_offsets_and_factors_of_one_by_hand() -> None:
    view = coreai.layout([8, 6], [24, 4], (0, 4)).narrow(0, 4, 4)
    assert coreai.describe(view) == NDArrayDescriptor((4, 6), (24, 4), InterleaveLayout(0, 4), None, 0, 24)
    assert copy.copy(coreai.describe(view)) == coreai.describe(view)
    assert view.to("coreai").endswith(" offset=24")
    with pytest.raises(rl.NotExpressible, match="inside a block"):
        coreai.describe(coreai.layout([8, 6], [24, 4], (0, 4)).narrow(0, 3, 4))
    forms = coreai.equivalents(coreai.layout([7], [16], (0, 1)))
    assert NDArrayDescriptor((7,), (16,), None) in forms


def test_interleaved_channels_are_rgbrgb() -> None:
    pixels = coreai.layout([3, 2, 4], [24, 12, 3], (0, 3))
    assert (pixels.offsets() == np.arange(24).reshape(2, 4, 3).transpose(2, 0, 1)).all()


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_packed_follows_apples_rule(blocks: list[int], data: Any) -> None:
    d = data.draw(st.integers(0, len(blocks) - 1))
    factor = data.draw(st.sampled_from([1, 2, 4, 8]))
    align = [data.draw(st.sampled_from([1, 2, 8, 16])) for _ in range(len(blocks) + 1)]
    interleave = [factor if k == d else 1 for k in range(len(blocks))]
    shape = [n * f for n, f in zip(blocks, interleave, strict=True)]
    expected = [0] * len(shape)
    running = factor
    for k in reversed(range(len(shape))):
        expected[k] = -(-running // align[k + 1]) * align[k + 1]
        running = expected[k] * shape[k] // interleave[k]
    assert coreai.describe(coreai.packed(shape, interleave, align)).strides == tuple(expected)


def test_sizes_that_do_not_divide() -> None:
    described = coreai.describe(coreai.layout([10, 5], [20, 4], (0, 4)))
    assert (described.minimum_elements, described.allocation_elements) == (2 * 20 + 4 * 4 + 2, 60)
    assert len(coreai.equivalents(coreai.layout([10, 5], [20, 4], (0, 4)))) == 1


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: coreai.layout([8], [1, 2]), rl.ShapeError, "length"),
        (lambda: coreai.layout(8, [1]), rl.ShapeError, "list of integers"),  # type: ignore[arg-type]
        (lambda: coreai.packed([8], 4), rl.ShapeError, "list of integers"),
        (lambda: coreai.describe("8:1"), rl.ShapeError, "describe takes a layout"),  # type: ignore[arg-type]
        (lambda: coreai.layout([8], [1], (1, 4)), rl.ShapeError, "does not fit"),
        (lambda: coreai.layout([8], [1], (0, 0)), rl.ShapeError, "does not fit"),
        (lambda: coreai.packed([8, 3], [3, 1]), rl.ShapeError, "divide"),
        (lambda: coreai.packed([8, 3], [2, 3]), rl.ShapeError, "at most one"),
        (lambda: coreai.packed([8, 3], [2, 1], [1, 1]), rl.ShapeError, "alignment"),
        (lambda: coreai.layout([8, 3], [12, 4], (0, 4)).narrow(0, 2, 4).to("coreai"), rl.NotExpressible, "block"),
        (lambda: Layout(4, -1, offset=3).to("coreai"), rl.NotExpressible, "negative"),
        (lambda: Layout(4, 1, offset=-3).to("coreai"), rl.NotExpressible, "below 0"),
        (lambda: Layout(4, 1, offset=3).to("coreai:strict"), rl.NotExpressible, "starts at 0, and this view at 3"),
        (lambda: coreai.layout([12], [4], (0, 4)).narrow(0, 4, 4).to("coreai"), rl.NotExpressible, "4 more elements"),
        (lambda: rl.parse("coreai:shape=[4], strides=[1] offset=-3"), rl.ParseError, "offset >= 0"),
        (lambda: Layout(4, -1).to("coreai"), rl.NotExpressible, "negative"),
        (lambda: Layout(((4, 2), (4, 2))).to("coreai"), rl.NotExpressible, "one dimension"),
        (lambda: rl.catalog.get("htp:R4Flat").to("coreai"), rl.NotExpressible, "none yet"),
        (lambda: rl.catalog.get("htp:R4Flat").to("candle"), rl.NotExpressible, "none yet"),
        (lambda: Layout(((4, 2),), ((1, 8),)).to("candle"), rl.NotExpressible, "blocks"),
        (lambda: Layout(4, -1, offset=3).to("candle"), rl.NotExpressible, "negative"),
        (lambda: Layout(8, 1, swizzle=(1, 0, 1)).to("candle"), rl.NotExpressible, "swizzle"),
        (lambda: rl.parse("shape=[8], strides=[1"), rl.ParseError, "expected"),
        (lambda: rl.parse("Layout { shape: [8], stride: [1] }"), rl.ParseError, "expected"),
    ],
)
def test_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        make()
    assert caught.value.hint  # type: ignore[attr-defined]


def test_candles_debug_form() -> None:
    text = "Layout { shape: [2, 3, 4], stride: [12, 4, 1], start_offset: 0 }"
    assert rl.parse(text) == Layout.row_major(2, 3, 4)
    assert Layout.row_major(2, 3, 4).to("candle") == text
    narrowed = Layout.row_major(2, 3, 4).narrow(1, 1, 2)
    assert narrowed.to("candle") == "Layout { shape: [2, 2, 4], stride: [12, 4, 1], start_offset: 4 }"
    assert rl.parse("Layout { shape: [], stride: [], start_offset: 3 }") == Layout((), (), offset=3)


def _steps(layout: Layout) -> tuple[int, ...]:
    """The distance between the first two elements along every dimension."""
    ones = np.eye(layout.rank, dtype=int).tolist()
    return tuple([layout(tuple(c)) - layout(0) if n > 1 else 0 for c, n in zip(ones, layout.extents, strict=True)])


@given(layouts(window=True, offset=True, tuples_only=True))
def test_what_candle_holds_it_holds_exactly(layout: Layout) -> None:
    try:
        text = layout.to("candle")
    except rl.NotExpressible as refusal:
        if "padding" in refusal.message:
            assert layout.storage_size > rl.Layout(layout.extents, _steps(layout), offset=layout(0)).storage_size
            return
        lines = [
            np.diff(table(layout)[(0,) * d + (slice(None),) + (0,) * (layout.rank - d - 1)]) for d in range(layout.rank)
        ]
        uneven = any(len(set(line)) > 1 for line in lines)
        assert uneven or any(line[0] < 0 for line in lines if len(line)), "even steps are plain strides"
        return
    assert (table(rl.parse(text, "candle")) == table(layout)).all()
