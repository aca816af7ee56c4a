"""Every listing of the HTP page, element by element, against a walk through memory written as plain loops.

Slips of the page are corrected in place: ``(0,1,0,1)`` for its ``(0,0,0,1)``, ``(0,0,1,30)`` and ``(0,0,1,31)`` for its
``(0,0,0,30)`` and ``(0,0,0,31)``. In the listing of 2x9x20x50 one line is no single run and one end stands too early.
"""

from __future__ import annotations

import re
from itertools import product

import pytest

import relayout as rl
from relayout import Format, Layout, catalog

Coordinate = tuple[int, ...]

FLAT = """
(0,0,0,0), (0,0,0,1) ... (0,0,0,29),
(0,0,1,0), (0,0,1,1) ... (0,0,1,29),
...
(0,0,4,0), (0,0,4,1), ... (0,0,4,29),
(0,1,0,0), (0,1,0,1), ... (0,1,0,29),
(0,1,1,0), (0,1,1,1), ... (0,1,1,29),
...
(0,2,1,0), (0,2,1,1), ... (0,2,1,29),
...
(0,2,4,0), (0,2,4,1), ... (0,2,4,29),
(1,0,0,0), (1,0,0,1), ... (1,0,0,29),
...
(1,2,4,0), (1,2,4,1), ... (1,2,4,29),
"""

PADDED = """
(0,0,0,0), (0,0,0,1), ... (0,0,0,29), (0,0,0,30), (0,0,0,31),
(0,0,1,0), (0,0,1,1), ... (0,0,1,29), (0,0,1,30), (0,0,1,31),
...
(0,0,4,0), (0,0,4,1), ... (0,0,4,29), (0,0,4,30), (0,0,4,31),
(0,0,5,0), (0,0,5,1), ... (0,0,5,31),
...
(0,0,7,0), (0,0,7,1), ... (0,0,7,31),
(0,1,0,0), (0,1,0,1), ... (0,1,0,31),
(0,1,1,0), (0,1,1,1), ... (0,1,1,31),
...
(0,2,1,0), (0,2,1,1), ... (0,2,1,31),
...
(0,2,4,0), (0,2,4,1), ... (0,2,4,29), (0,2,4,30), (0,2,4,31)
"""

LARGE = """
(0,0,0,0) ... (0,0,0,31)
(0,0,1,0) ... (0,0,1,31)
...
(0,0,7,0) ... (0,0,7,31)
(0,1,0,0) ... (0,1,7,31)
...
(0,7,7,0) ... (0,7,7,31)
(0,0,0,32) ... (0,0,0,63)
(0,0,1,32) ... (0,0,1,63)
...
(0,0,7,32) ... (0,0,7,63)
(0,1,0,32) ... (0,1,7,63)
...
(0,7,7,32) ... (0,7,7,63)
(0,0,8,0) ...  (0,0,8,31)
(0,0,9,0) ...  (0,0,9,31)
...
(0,0,15,0) ... (0,0,15,31)
(0,1,8,0) ...  (0,1,15,31)
...
(0,7,8,0) ...  (0,7,15,31)
(0,0,8,32) ... (0,0,15,63)
...
(0,7,8,32) ... (0,7,15,63)
(0,0,16,0) ... (0,0,23,63)
...
(0,7,16,32) ... (0,7,23,63)
(0,8,0,0) ... (0,15,0,0) ... (0,8,23,63) ... (0,15,23,63)
(1,0,0,0) ... (1,8,23,63) ... (1,15,23,63)
"""

WEIGHTS = """
(0,0,0,0), (0,0,1,0), (0,0,2,0), (0,0,3,0),
(0,0,0,1), (0,0,1,1), (0,0,2,1), (0,0,3,1),
(0,0,0,2) ...                    (0,0,3,31),
(0,0,4,0), (0,0,5,0), (0,0,6,0), (0,0,7,0),
(0,0,4,1), (0,0,5,1), (0,0,6,1), (0,0,7,1),
(0,0,4,2) ... (0,0,7,31), ...   (0,0,31,31),
(0,1,0,0), (0,1,1,0), ...       (0,1,31,31),
(0,2,0,0), ...                  (0,2,31,31),
(1,0,0,0), ...                  (1,0,31,31)
"""

MORE_WEIGHTS = """
(0,0,0,0)...(2,2,31,31),
(0,0,32,0)...(2,2,63,31),
(0,0,0,32)...(2,2,31,63),
(0,0,32,32)...(2,2,63,63),
(0,0,0,64)...(2,2,31,95),
(0,0,32,64)...(2,2,63,95),
"""

FILTER = "ChunkedMemoryLayout<4, 3,0, 2,0, 0,0, 1,0, 2,8, 3,32, 2,4>"
CROUTON = [(0, 0), (1, 0), (2, 0), (3, 0), (1, 8), (2, 8), (3, 32)]
CONVOLUTION = [(3, 0), (2, 0), (0, 0), (1, 0), (2, 8), (3, 32), (2, 4)]


def walk(padded: Coordinate, pairs: list[tuple[int, int]]) -> list[Coordinate]:
    """The coordinates in the order of memory: one loop per pair, the last one the fastest."""
    fixed = [1] * len(padded)
    for d, n in pairs:
        fixed[d] *= n or 1
    loops = [n or padded[d] // fixed[d] for d, n in pairs]
    found = []
    for digits in product(*[range(n) for n in loops]):
        coordinate = [0] * len(padded)
        for (d, _), n, digit in zip(pairs, loops, digits, strict=True):
            coordinate[d] = coordinate[d] * n + digit
        found.append(tuple(coordinate))
    return found


LISTINGS = [
    (FLAT, (2, 3, 5, 30), (2, 3, 5, 30), [(d, 0) for d in range(4)], "FlatMemoryLayout<4>"),
    (PADDED, (1, 3, 5, 30), (1, 8, 8, 32), CROUTON, "htp:R4CroutonLayout"),
    (LARGE, (2, 9, 20, 50), (2, 16, 24, 64), CROUTON, "htp:R4CroutonLayout"),
    (
        WEIGHTS,
        (3, 3, 32, 32),
        (3, 3, 32, 32),
        CONVOLUTION,
        "ChunkedMemoryLayout<4, 3,0, 2,0, 0,0, 1,0, 2,8, 3,32, 2,4>",
    ),
    (MORE_WEIGHTS, (3, 3, 64, 96), (3, 3, 64, 96), CONVOLUTION, "htp:weights"),
]


@pytest.mark.parametrize(("listing", "shape", "padded", "pairs", "text"), LISTINGS)
def test_listing(listing: str, shape: Coordinate, padded: Coordinate, pairs: list[tuple[int, int]], text: str) -> None:
    fmt = rl.parse(text)
    assert isinstance(fmt, Format)
    assert fmt.padded_shape(shape) == padded
    layout = fmt.layout(shape)
    memory = walk(padded, pairs)
    assert layout.storage_size == len(memory)
    place = {c: k for k, c in enumerate(memory)}
    tokens = re.findall(r"\.\.\.|\([\d,]+\)", listing)
    previous, gap = -1, False
    for token in tokens:
        if token == "...":
            gap = True
            continue
        coordinate = tuple(int(x) for x in token.strip("()").split(","))
        offset = layout.box(coordinate)
        assert place[coordinate] == offset
        assert offset > previous if gap else offset == previous + 1, token
        inside = all(x < n for x, n in zip(coordinate, shape, strict=True))
        if inside:
            assert layout(coordinate) == offset
        else:
            with pytest.raises(rl.OutOfBounds):
                layout(coordinate)
        previous, gap = offset, False
    if shape == (3, 3, 64, 96) or shape == (2, 9, 20, 50):
        assert previous == len(memory) - 1
    assert [layout.box(c) for c in memory] == list(range(len(memory)))


def test_the_sentences_about_50_output_channels() -> None:
    weights = catalog.get("htp:weights")
    assert isinstance(weights, Format)
    assert weights.padded_shape((3, 3, 32, 50)) == (3, 3, 32, 64)
    box = weights.layout((3, 3, 32, 50)).box
    assert (box(0, 0, 0, 0), box(2, 2, 31, 31), box(0, 0, 0, 32)) == (0, 3 * 3 * 32 * 32 - 1, 3 * 3 * 32 * 32)
    assert box(2, 2, 31, 63) == box.size - 1


LAST_LISTINGS = """ChunkedMemoryLayout<
        /* RANK */ 4,
        /* Least Major: Batch Dim, all the rest */ 0,0,
        /* Next least major: height, all the rest */ 1,0,
        /* Next least major: width, all the rest */ 2,0,
        /* Next least major: depth, all the rest */ 3,0,
        /* 8 rows high */ 1,8,
        /* 8 columns wide */ 2,8,
        /* 32 channels deep */ 3,32> ChannelMajorCrouton;
    
    ChunkedMemoryLayout<
        /* RANK */ 4,
        /* Least Major: Batch Dim, all the rest */ 0,0,
        /* Next least major: height, all the rest */ 1,0,
        /* Next least major: width, all the rest */ 2,0,
        /* Next least major: depth, all the rest */ 3,0,
        /* 4 high */ 1,4,
        /* 4 wide */ 2,4,
        /* 32 channels deep */ 3,32,
        /* 2 rows */ 1,2,
        /* 2 cols */ 2,2> SpatialXYMajor;
    
    ChunkedMemoryLayout<
        /* RANK */ 4,
        /* Least Major: Batch Dim, all the rest */ 0,0,
        /* Next least major: height, all the rest */ 1,0,
        /* Next least major: width, all the rest */ 2,0,
        /* Next least major: depth, all the rest */ 3,0,
        /* 8 high */ 1,4,
        /* 2 wide */ 2,2,
        /* 32 channels deep */ 3,32,
        /* 4 cols */ 2,4> SpatialXMajor;
"""  # noqa: W293


def test_the_last_listings_as_pasted() -> None:
    first, second, third = [rl.parse(text + ";") for text in LAST_LISTINGS.split(";")[:3]]
    assert catalog.find(first) == ["htp:R4Crouton"]
    assert catalog.find(second) == ["htp:R4Crouton2x2"]
    assert str(third) == "0 1 2 3 / 1,4 2,2 3,32 2,4", "what was pasted is what is read"
    assert catalog.get("htp:SpatialXMajor") == catalog.get("htp:R4Crouton4x1") != third
    assert "slip" in rl.explain("htp:SpatialXMajor")


def test_nhwc_stored_as_nchw() -> None:
    fmt = rl.parse("ChunkedMemoryLayout<4, 0,0, 3,0, 1,0, 2,0>")
    assert fmt.equivalent(catalog.get("htp:NCHW"))  # type: ignore[union-attr, arg-type]
    layout = rl.parse("ChunkedMemoryLayout<4, 0,0, 3,0, 1,0, 2,0>", shape=(2, 3, 5, 7))
    assert isinstance(layout, Layout)
    assert layout.permute(0, 3, 1, 2).is_contiguous()
