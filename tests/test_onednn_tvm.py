"""oneDNN tags and TVM strings: known tags by their factors, every tag against numpy, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout import Format
from test_format import formats, stored

TAGS = {
    "nchw": "0 1 2 3 axes nchw",
    "nhwc": "0 2 3 1 axes nchw",
    "nChw16c": "0 1 2 3 / 1,16 axes nchw",
    "aBcd16b": "0 1 2 3 / 1,16",
    "OIhw4i16o4i": "0 1 2 3 / 1,4 0,16 1,4 axes oihw",
    "BA16a64b4a": "1 0 / 0,16 1,64 0,4",
    "gOIdhw8i40o": "0 1 2 3 4 5 / 2,8 1,40 axes goidhw",
    "ab": "0 1",
    "ba": "1 0",
    "acdb": "0 2 3 1",
}
STRINGS = {
    "NCHW": "0 1 2 3 axes nchw",
    "NCHW4c": "0 1 2 3 / 1,4 axes nchw",
    "OIHW16i16o": "0 1 2 3 / 1,16 0,16 axes oihw",
    "NHWC8h8w32c": "0 1 2 3 / 1,8 2,8 3,32 axes nhwc",
}


@pytest.mark.parametrize(("tag", "expected"), TAGS.items())
def test_known_tags(tag: str, expected: str) -> None:
    fmt = rl.parse(tag, "onednn")
    assert fmt == Format.parse(expected)
    assert rl.parse(fmt.to("onednn"), "onednn").equivalent(fmt)
    assert rl.parse(f"onednn:{tag}") == fmt


@pytest.mark.parametrize(("text", "expected"), STRINGS.items())
def test_known_strings(text: str, expected: str) -> None:
    fmt = rl.parse(text, "tvm")
    assert fmt == Format.parse(expected)
    assert fmt.to("tvm") == text
    assert rl.parse(f"tvm:{text}") == fmt


def test_a_crouton_in_three_notations() -> None:
    crouton = rl.catalog.get("htp:R4Crouton")
    assert crouton.to("tvm") == "NHWC8h8w32c"
    assert crouton.to("onednn") == "aBCD8b8c32d"
    assert rl.parse("aBCD8b8c32d", "onednn").equivalent(crouton)
    assert rl.catalog.find(rl.parse("tvm:NHWC8h8w32c")) == ["htp:R4Crouton"]


@given(formats(backwards=False, above=False), st.data())
def test_every_tag_agrees_with_numpy(fmt: Format, data: Any) -> None:
    tag = fmt.to("onednn")
    again = rl.parse(tag, "onednn")
    assert again.equivalent(fmt)
    shape = [data.draw(st.integers(1, 9)) for _ in range(fmt.rank)]
    buffer = stored(again, shape, [0] * fmt.rank, [0] * fmt.rank)
    layout = rl.parse(tag, "onednn", shape=shape)
    assert (buffer[layout.offsets()] == np.arange(layout.size).reshape(shape)).all()
    assert rl.parse(layout.to("onednn"), "onednn").layout(shape).equivalent(layout)


@pytest.mark.parametrize(
    ("text", "dialect", "position"),
    [
        ("nchw16c", "onednn", 1),
        ("nChw", "onednn", 1),
        ("nChw16", "onednn", 6),
        ("nChw16x", "onednn", 1),
        ("aab", "onednn", 0),
        ("xyz", "onednn", 0),
        ("", "onednn", 0),
        ("nChw16c?", "onednn", 7),
        ("NCHw", "tvm", 3),
        ("NCHN", "tvm", 3),
        ("NCHW4c4c", "tvm", 7),
        ("NCHW4d", "tvm", 5),
        ("", "tvm", 0),
    ],
)
def test_junk_points_at_the_character(text: str, dialect: str, position: int) -> None:
    with pytest.raises(rl.ParseError) as caught:
        rl.parse(text, dialect)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("x", "dialect", "words"),
    [
        (Format(1, [(0, 0), (0, 16, 1), (0, 2, 16)]), "onednn", "place values"),
        (Format(1, [(0, 0)], align=[8, 8]), "onednn", "alignments"),
        (Format(0, []), "onednn", "12 dimensions"),
        (rl.catalog.get("htp:R4Crouton").layout((1, 9, 9, 33), left_pad=(0, 1, 0, 0)), "onednn", "in front"),
        (Format(27, [(d, 0) for d in range(27)]), "tvm", "26 dimensions"),
        (Format(2, [(1, 0), (0, 0)], axes="nc"), "tvm", "logical order"),
        (rl.catalog.get("htp:R4Crouton2x2"), "tvm", "one block"),
    ],
)
def test_refused(x: Any, dialect: str, words: str) -> None:
    with pytest.raises(rl.NotExpressible, match=words) as caught:
        rl.render(x, dialect)
    assert caught.value.hint
