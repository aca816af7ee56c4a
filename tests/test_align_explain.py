"""Axes that meet by name, tiles inside tiles, the Rosetta table, and the words of explain for the pages' examples."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout import Format, Layout, catalog
from relayout.dialects.registry import BUILT_IN
from support import layouts
from test_format import formats, stored

CROUTON = catalog.get("htp:R4Crouton")


# ---- axes ------------------------------------------------------------------------------------------------


@given(st.permutations("nhwc"), st.lists(st.integers(1, 40), min_size=4, max_size=4))
def test_aligned_formats_take_the_tensor_in_its_own_order(order: list[str], shape: list[int]) -> None:
    axes = "".join(order)
    fmt = CROUTON.aligned(axes)
    assert fmt.axes == axes
    sizes = dict(zip(axes, shape, strict=True))
    nhwc = CROUTON.layout([sizes[a] for a in "nhwc"])
    assert (fmt.layout(shape).offsets() == nhwc.offsets().transpose(["nhwc".index(a) for a in axes])).all()
    assert fmt.aligned("nhwc") == CROUTON
    data = np.arange(int(np.prod(shape))).reshape(shape)
    buffer = np.full(fmt.layout(shape).storage_size, -1)
    buffer[fmt.layout(shape).offsets()] = data
    in_order = data.transpose([axes.index(a) for a in "nhwc"])
    expected = stored(CROUTON, in_order.shape, (0,) * 4, (0,) * 4)
    filled = buffer >= 0
    assert (filled == (expected >= 0)).all()
    assert (buffer[filled] == in_order.reshape(-1)[expected[filled]]).all()


def test_formats_without_names_are_named_by_position() -> None:
    plain = Format(2, [(1, 0), (0, 0)])
    assert plain.aligned("hw") == Format(2, [(1, 0), (0, 0)], axes="hw")
    assert plain.aligned("hw").renamed(None) == plain
    assert CROUTON.renamed("abcd").axes == "abcd"


def test_a_conflict_of_names_is_an_error_and_never_a_transpose() -> None:
    with pytest.raises(rl.ShapeError, match="oihw") as caught:
        CROUTON.aligned("oihw")
    assert "renamed" in caught.value.hint
    with pytest.raises(rl.ShapeError, match="are not the axes"):
        rl.compare("htp:R4Crouton", "OIhw4i16o4i", shape=(1, 2, 3, 4))
    with pytest.raises(rl.ShapeError, match="name 4 dimensions"):
        CROUTON.aligned("nnhw")


def test_compare_takes_texts_and_formats() -> None:
    assert rl.compare("htp:R4Flat", "torch:channels_last", shape=(2, 3, 4, 5))
    assert rl.compare("nChw16c", "NCHW16c", shape=(1, 20, 4, 4))
    assert rl.compare("htp:R4Crouton", "NHWC8h8w32c", shape=(1, 9, 9, 33))
    assert rl.compare("htp:R4Crouton", "NHWC8h8w32c", shape=(1, 33, 9, 9), axes="nchw")
    assert rl.compare("aBcd16b", Layout((1, (16, 2), 4, 4), (512, (1, 256), 64, 16), extents=(1, 20, 4, 4)))
    verdict = rl.compare("htp:R4NCHW", "htp:NCHW", shape=(1, 2, 3, 4))
    assert not verdict
    assert verdict.coordinate == (0, 1, 0, 0)
    assert verdict.offsets == (1, 3)
    verdict = rl.compare("htp:R4NCHW", "htp:NCHW")
    assert (verdict.shape, verdict.coordinate, verdict.offsets) == ((1, 2, 2, 1), (0, 1, 0, 0), (1, 2))
    with pytest.raises(rl.ShapeError, match="extents"):
        rl.compare(Layout((3, 4)), Layout((3, 4)), shape=(4, 3))


def test_a_shape_reaches_every_text() -> None:
    assert rl.compare("strided<[4, 1]>", "(3,4):(4,1)", shape=(3, 4))
    assert rl.rosetta("strided<[4, 1]>", (3, 4))["cute"] == "(3,4):(4,1)"
    assert "row-major" in rl.explain("strided<[4, 1]>", (3, 4))
    for ask in (rl.rosetta, rl.explain):
        with pytest.raises(rl.ShapeError, match="shape"):
            ask("strided<[4, 1]>")
    assert not rl.compare("tvm:AB", "tvm:BA", shape=(2, 3)), "letters are names"


def test_names_of_formats_follow_the_axes() -> None:
    assert "cudnn:NCHW" not in catalog.find(rl.parse("tvm:NHWC"))
    assert "torch:channels_last" in catalog.find(rl.parse("tvm:NHWC"))
    assert "cudnn:NCHW" not in rl.explain("htp:R4Flat", (1, 8, 4, 4), axes="nchw")


# ---- tiles -----------------------------------------------------------------------------------------------


@given(st.data())
def test_a_tile_inside_a_tile_is_a_reshape_of_every_tile(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    inner = [data.draw(st.sampled_from([1, 2, 3])) for _ in range(rank)]
    outer = [n * data.draw(st.sampled_from([1, 2, 4])) for n in inner]
    shape = [data.draw(st.integers(1, 13)) for _ in range(rank)]
    flat = Format(rank, [(d, 0) for d in range(rank)])
    fmt = flat.tile(*enumerate(outer)).tile(*enumerate(inner))
    values = np.arange(int(np.prod(shape))).reshape(shape)
    padded = np.pad(values, [(0, -n % t) for n, t in zip(shape, outer, strict=True)], constant_values=-1)
    expected = []
    for corner in np.ndindex(*[n // t for n, t in zip(padded.shape, outer, strict=True)]):
        tile = padded[tuple(slice(c * t, c * t + t) for c, t in zip(corner, outer, strict=True))]
        for small in np.ndindex(*[t // u for t, u in zip(outer, inner, strict=True)]):
            part = tile[tuple(slice(c * u, c * u + u) for c, u in zip(small, inner, strict=True))]
            expected += part.reshape(-1).tolist()
    layout = fmt.layout(shape)
    buffer = np.full(layout.storage_size, -1)
    buffer[layout.offsets()] = values
    assert buffer.tolist() == expected


def test_xlas_tiles() -> None:
    tiled = Format(2, [(0, 0), (1, 0)]).tile((0, 8), (1, 128))
    assert str(tiled) == "0 1 / 0,8 1,128"
    assert str(tiled.tile((0, 2), (1, 1))) == "0 1 / 0,4 1,128 0,2"
    with pytest.raises(rl.ShapeError, match="does not divide"):
        tiled.tile((0, 3))
    with pytest.raises(rl.NotExpressible, match="place values"):
        Format(1, [(0, 0), (0, 16, 1), (0, 2, 16)]).tile((0, 2))


# ---- the Rosetta table -----------------------------------------------------------------------------------


@given(layouts(window=True, swizzle=True, offset=True, negative=True))
def test_rosetta_has_a_text_or_a_reason_for_every_dialect(layout: Layout) -> None:
    stone = rl.rosetta(layout, dtype="int8")
    assert set(stone) >= set(BUILT_IN)
    assert set(stone.texts) | set(stone.reasons) == set(stone)
    for dialect, text in stone.texts.items():
        assert rl.parse(text, dialect, layout.extents).equivalent(layout)
    assert all(stone.reasons.values())
    lines = str(stone).splitlines()
    assert [line.split()[0] for line in lines] == list(stone)


@given(formats())
def test_rosetta_of_formats(fmt: Format) -> None:
    stone = rl.rosetta(fmt)
    assert "format" in stone.texts
    assert "cute" in stone.reasons
    shaped = rl.rosetta(fmt, (3, 4, 5, 6)[: fmt.rank])
    assert "mojo" in shaped.texts


def test_rosetta_of_the_pages_crouton() -> None:
    stone = rl.rosetta("htp:R4Crouton", (1, 3, 5, 30), dtype="uint8")
    assert stone["htp"] == "ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,32>"
    assert stone["onednn"] == "aBCD8b8c32d"
    assert stone["xla"] == "u8[1,3,5,30]{3,2,1,0:T(8,8,32)}"
    assert isinstance(stone["candle"], rl.NotExpressible)
    assert "padding" in stone.reasons["candle"]
    with pytest.raises(KeyError, match="klingon"):
        stone["klingon"]
    with pytest.raises(rl.ShapeError, match="expected a layout"):
        rl.rosetta(3)  # type: ignore[arg-type]


# ---- explain ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "words", "said"),
    [
        ("htp:R4Crouton", {}, ["Blocks of 1 x 8 x 8 x 32 = 2048 elements (2048 bytes)", "filled with 31", "R4Crouton"]),
        (
            "htp:R4Crouton",
            {"shape": (1, 3, 5, 30)},
            [
                "Axes by position: 0 is n, 1 is h, 2 is w, 3 is c",
                "450 are data, 1598 (78.0%)",
                "All 30 along dimension 3 (c) lie together",
            ],
        ),
        ("htp:R4Crouton", {"shape": (2, 9, 20, 50)}, ["49152 elements: 18000 are data, 31152 (63.4%)"]),
        (
            "htp:R4Crouton",
            {"shape": (2, 50, 9, 20), "axes": "nchw"},
            ["dimension 1 (c) is the format's 3", "Blocks of 1 x 32 x 8 x 8", "(63.4%)", "Known as htp:R4Crouton"],
        ),
        ("htp:R4NCHW", {}, ["dimension 0 (n), dimension 3 (c), dimension 2 (w), dimension 1 (h)", "htp:NCHW"]),
        ("htp:SpatialXMajor", {}, ["slip"]),
        ("FlatMemoryLayout<4>", {"shape": (2, 3, 5, 30)}, ["Contiguous: row-major without holes, one run of 900"]),
        (
            "shape=[8, 256, 256], strides=[262144, 1024, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)",
            {},
            ["From the fastest: 4 of dimension 0 (stride 1), 256 of dimension 2 (stride 4)"],
        ),
        (
            "((4, 2):(2, 8))",
            {"dtype": "float32"},
            ["are 8 apart", "15 elements (60 bytes): 8 are data, 7 (46.7%)"],
        ),
        ("Layout { shape: [2, 3], stride: [1, 2], start_offset: 4 }", {}, ["column-major", "It starts 4 into"]),
        (
            Layout((3, 4), (0, 1)),
            {},
            ["Broadcast: dimension 0", "It needs 4 elements; some of its"],
        ),
        (Layout((8, 64), (64, 1), swizzle=(3, 3, 3)), {}, ["bits 3 to 5 of an offset are XORed with its bits 6 to 8"]),
        (Layout((8, 64), (64, 1), swizzle=(3, 3, -3)), {}, ["bits 6 to 8 of an offset are XORed with its bits 3 to 5"]),
        (CROUTON.layout((1, 3, 5, 30), left_pad=(0, 1, 0, 0)), {}, ["starts at (0, 1, 0, 0) inside its box"]),
        (Layout((0, 3)), {}, ["0 elements"]),
        (Layout(()), {}, ["1 element"]),
        (rl.make_identity_layout((2, 3)), {}, ["coordinates"]),
    ],
)
def test_explain_says(x: Any, words: dict[str, Any], said: list[str]) -> None:
    text = rl.explain(x, **words)
    for part in said:
        assert part in text


@given(layouts(window=True, swizzle=True, offset=True, negative=True))
def test_explain_counts_truly(layout: Layout) -> None:
    text = rl.explain(layout)
    assert f": {layout.size} element" in text.splitlines()[0]
    places = layout.offsets().reshape(-1)
    assert ("row-major without holes" in text) == (np.diff(places) == 1).all()
    assert ("share a place" in text) == (len(set(places.tolist())) < places.size and places.min() >= 0)
    if found := re.search(r"It needs (\d+) elements?: (\d+) are data, (\d+) ", text):
        room, used, rest = map(int, found.groups())
        assert room == layout.storage_size
        assert used == len(set(places.tolist()))
        assert room == used + rest
    if found := re.search(r"All (\d+) along dimension (\d+) lie together", text):
        line = np.moveaxis(layout.offsets(), int(found[2]), -1)
        assert line.shape[-1] == int(found[1])
        assert (abs(np.diff(line)) == 1).all()
    if found := re.search(r"^Neighbours along dimension (\d+) are (\d+) apart", text, re.MULTILINE):
        assert (abs(np.diff(layout.offsets(), axis=int(found[1]))) == int(found[2])).all()


def test_explain_refuses_what_is_no_layout() -> None:
    with pytest.raises(rl.ShapeError, match="expected a layout"):
        rl.explain(3)  # type: ignore[arg-type]
