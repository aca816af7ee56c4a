"""The HTP notation and its named layouts: the page's texts, and numpy as the judge of every name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Format, Layout, catalog
from test_format import stored

CROUTON = "ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,32>"

LISTING = """ChunkedMemoryLayout<
        /* RANK */ 4,
        /* Least Major: Batch Dim, all the rest */ 0,0,
        /* Next least major: height, all the rest */ 1,0,
        /* Next least major: width, all the rest */ 2,0,
        /* Next least major: depth, all the rest */ 3,0,
        /* 8 rows high */ 1,8,
        /* 8 columns wide */ 2,8,
        /* 32 channels deep */ 3,32> ChannelMajorCrouton;
"""

TABLE = {
    "R4FlatMemoryLayout": "FlatMemoryLayout<4>",
    "R4NCHWMemoryLayout": "ChunkedMemoryLayout<4, 0,0, 3,0, 2,0, 1,0>",
    "R4Depth32MemoryLayout": "ChunkedMemoryLayout<4, 0,0, 1,0, 3,0, 2,0, 2,4, 3,32>",
    "R4CroutonLayout": CROUTON,
    "R4Crouton4x1Layout": "ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,2, 3,32, 2,4>",
    "R4Crouton2x2Layout": "ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,4, 2,4, 3,32, 1,2, 2,2>",
    "R4Crouton2Layout": "ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,2, 3,32, 2,2>",
}


@pytest.mark.parametrize(("name", "text"), TABLE.items())
def test_the_pages_table(name: str, text: str) -> None:
    assert catalog.get(f"htp:{name}").to("htp") == text
    assert rl.parse(f"htp:{name}").equivalent(rl.parse(text))
    assert rl.parse(name).equivalent(rl.parse(text, "htp"))


def test_the_pages_listings_as_pasted() -> None:
    crouton = rl.parse(LISTING)
    assert crouton == rl.parse(CROUTON)
    assert catalog.find(crouton) == ["htp:R4Crouton"]
    assert rl.parse("htp:ChannelMajorCrouton") == catalog.get("htp:R4Crouton")
    assert rl.parse("htp:SpatialXYMajor") == catalog.get("htp:R4Crouton2x2")
    assert rl.parse("htp:SpatialXMajor") == catalog.get("htp:R4Crouton4x1")
    weights = "ChunkedMemoryLayout<4, 3,0, 2,0, 0,0, 1,0, 2,8, 3,32, 2,4> // for convolutions"
    assert rl.parse(weights).equivalent(catalog.get("htp:weights"))
    assert rl.parse("FlatMemoryLayout<4>").layout((2, 3, 5, 30)) == Layout.row_major(2, 3, 5, 30)


def test_true_nchw_and_the_class_of_that_name_differ() -> None:
    shape = (2, 3, 5, 7)
    assert catalog.get("htp:NCHW").layout(shape).permute(0, 3, 1, 2).is_contiguous()
    assert catalog.get("htp:R4NCHW").layout(shape).permute(0, 3, 2, 1).is_contiguous()


@pytest.mark.parametrize("name", [n for n in catalog.ENTRIES if n.startswith("htp:") and n != "htp:R4Singular"])
@settings(max_examples=40)
@given(data=st.data())
def test_every_name_agrees_with_numpy(name: str, data: Any) -> None:
    fmt = catalog.get(name)
    most = 5 if fmt.rank > 4 else 40
    shape = [data.draw(st.integers(1, min(most, 2 * b + 3))) for b in fmt.block_shape]
    left = [data.draw(st.sampled_from([0, 0, 1, 3])) for _ in shape]
    buffer = stored(fmt, shape, left, [0] * fmt.rank)
    layout = fmt.layout(shape, left_pad=left)
    assert layout.storage_size == buffer.size
    assert (buffer[layout.offsets()] == np.arange(layout.size).reshape(shape)).all()
    assert name in catalog.find(layout)
    entry = catalog.ENTRIES[name]
    assert entry.provenance
    assert fmt.axes is not None


def test_a_crouton_block_is_two_kibibytes() -> None:
    for bits, name in ((8, "R4Crouton"), (16, "R4Crouton2"), (32, "R4Crouton4")):
        fmt = catalog.get("htp:Crouton", element_bits=bits)
        assert fmt == catalog.get(f"htp:{name}")
        assert int(np.prod(fmt.block_shape)) * bits == 2048 * 8
    with pytest.raises(rl.ShapeError, match="width"):
        catalog.get("htp:Crouton")
    with pytest.raises(rl.ShapeError, match="no format"):
        catalog.get("htp:Baguette")


def test_deep_blocks_take_the_whole_depth() -> None:
    block, place = catalog.get("htp:R4DeepAR4_16b").split((1, 2, 8, 70))
    assert place.max_offset < 4 * 96
    assert block.max_offset == 3
    assert block(0, 0, 4, 69) == 1


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("ChunkedMemoryLayout<4, 0,0, 1>", 29),
        ("ChunkedMemoryLayout<4 0,0>", 22),
        ("FlatMemoryLayout<x>", 17),
        ("R4Baguette", 0),
        ("/* only a comment */", 0),
        (CROUTON + " Name; more", len(CROUTON) + 7),
    ],
)
def test_junk_points_at_the_character(text: str, position: int) -> None:
    with pytest.raises(rl.ParseError) as caught:
        rl.parse(text, "htp")
    assert caught.value.position == position
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (Format(1, [(0, 0), (0, 3)]), "powers of two"),
        (Format(1, [(0, 0), (0, 16, 1), (0, 2, 16)]), "place values"),
        (Format(1, [(0, 0)], align=[8, 8]), "alignments"),
        (catalog.get("htp:R4Crouton").layout((1, 9, 9, 33), left_pad=(0, 1, 0, 0)), "in front"),
        (Layout(8, 2), "no format"),
        (Layout(8, 1, offset=3), "no format"),
        (Layout((8, 8), (8, 1), swizzle=(1, 0, 3)), "no format"),
    ],
)
def test_what_htp_cannot_say(x: Any, words: str) -> None:
    with pytest.raises(rl.NotExpressible, match=words) as caught:
        rl.render(x, "htp")
    assert caught.value.hint


def test_a_layout_is_written_as_its_format() -> None:
    assert Layout(((4, 2), 8), ((1, 4), 8)).to("htp") == "ChunkedMemoryLayout<2, 1,0, 0,0, 0,4>"
    assert Layout.row_major(2, 3).to("htp") == "FlatMemoryLayout<2>"


def test_formats_need_a_shape_where_the_notation_has_one() -> None:
    with pytest.raises(rl.NotExpressible, match="none yet"):
        rl.render(catalog.get("htp:R4Crouton"), "cute")
    with pytest.raises(rl.ShapeError, match="without a shape"):
        Layout.parse("htp:R4Crouton")
    assert Layout.parse("htp:R4Crouton", shape=(1, 8, 8, 32)) == catalog.get("htp:R4Crouton").layout((1, 8, 8, 32))
