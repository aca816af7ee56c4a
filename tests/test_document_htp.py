"""The statements of HTP's document "Tensors and Memory Layout", in its order, each checked.

A statement is a few words of the document that point at the place, and a check. One that is answered differently says
why in ``differs``; its check shows what holds instead. The order of memory is judged by loops written out here, one for
each pair, and never by the library's own listings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import relayout as rl
from relayout import Format, htp
from test_htp import TABLE

Coordinate = tuple[int, ...]

FLAT = "ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0>"
CROUTON = "ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,32>"
WEIGHTS = "ChunkedMemoryLayout<4, 3,0, 2,0, 0,0, 1,0, 2,8, 3,32, 2,4>"


class Statement(NamedTuple):
    """Words of the document, what is checked, and why the answer here is another one, if it is."""

    words: str
    check: Callable[[], object]
    differs: str = ""


def fmt(text: str) -> Format:
    found = rl.parse(text)
    assert isinstance(found, Format)
    return found


def same(*values: Any) -> bool:
    return all(value == values[0] for value in values)


# ---- the judge: memory as loops -----------------------------------------------------------------------------


@cache
def memory(text: str, shape: Coordinate) -> list[Coordinate]:
    """The coordinates in the order of memory: one loop for each pair of the text, the last one the fastest."""
    rank, *numbers = [int(n) for n in re.findall(r"\d+", text)]
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    chunk = [1] * rank
    for d, n in pairs:
        chunk[d] *= n or 1
    loops = [n or -(-shape[d] // chunk[d]) for d, n in pairs]
    found = []
    for digits in product(*[range(n) for n in loops]):
        coordinate = [0] * rank
        for (d, _), n, digit in zip(pairs, loops, digits, strict=True):
            coordinate[d] = coordinate[d] * n + digit
        found.append(tuple(coordinate))
    return found


def lies(text: str, shape: Coordinate, listing: str) -> bool:
    """Whether the coordinates of a listing follow each other in memory: at once, or with ``...`` somewhere behind.

    Memory is that of the loops, of our layout, and of ``htp.order``; those outside of the shape are padding.
    """
    layout, places = fmt(text).layout(shape), {c: k for k, c in enumerate(memory(text, shape))}
    before, gap = None, False
    for token in re.findall(r"\.\.\.|\([\d, ]+\)", listing):
        if token == "...":
            gap = True
            continue
        coordinate = tuple(int(n) for n in token.strip("()").split(","))
        place = places[coordinate]
        assert layout.box(coordinate) == place, token
        if before is not None:
            assert place > before if gap else place == before + 1, token
        before, gap = place, False
    return list(htp.order(text, shape)) == memory(text, shape)


def lists(text: str, shape: Coordinate, *lines: str, **words: int) -> bool:
    """Whether these lines are in our listing in this order, and all that it shows is where the loops have it."""
    listed = htp.listing(text, shape, **words)
    rest = iter(listed.splitlines())
    assert all(line in rest for line in lines), lines
    places = {c: k for k, c in enumerate(memory(text, shape))}
    shown = re.findall(r"([(\[])([\d,]+)[)\]]", listed)
    numbers = []
    for bracket, inside in shown:
        coordinate = tuple(int(n) for n in inside.split(","))
        data = all(x < n for x, n in zip(coordinate, shape, strict=True))
        assert data == (bracket == "("), inside
        numbers.append(places[coordinate])
    return numbers == sorted(numbers) and (numbers[0], numbers[-1]) == (0, len(places) - 1)


def pads(text: str, shape: Coordinate, *spans: tuple[Coordinate, Coordinate]) -> bool:
    """Whether every coordinate from the first to the last one of a span, in the order of memory, is padding."""
    order = memory(text, shape)
    for first, last in spans:
        inside = order[order.index(first) : order.index(last) + 1]
        assert all(any(x >= n for x, n in zip(c, shape, strict=True)) for c in inside), (first, last)
        for c in inside:
            with pytest.raises(rl.OutOfBounds):
                fmt(text).layout(shape)(c)
    return True


def pair(text: str, position: int, dim: int, size: int) -> bool:
    """Whether the pair at a position, counted from the right, is this one."""
    found = fmt(text)
    order, blocks = list(found.order), [(f.dim, f.size) for f in found.blocks]
    return [*[(d, 0) for d in order], *blocks][-position] == (dim, size)


# ---- data ----------------------------------------------------------------------------------------------------

IMAGE = (np.arange(2 * 9 * 20 * 50) % 200 + 40).astype(np.uint8).reshape(2, 9, 20, 50)
APART = rl.from_logical(IMAGE, CROUTON, gap=512)
QUANTISED = rl.from_logical(
    np.zeros((1, 3, 5, 30)), CROUTON, rl.ScaleOffset(1 / 64, 128, "quint8"), left_pad=(0, 1, 0, 0)
)
SMALL, LARGE = (1, 3, 5, 30), (2, 9, 20, 50)


def refused(error: type[Exception], ask: Callable[[], object]) -> bool:
    with pytest.raises(error):
        ask()
    return True


def chunk_starts() -> list[int]:
    return [
        APART.get_raw(n, h, w, c).byte
        for n, h, w, c in product(range(2), range(0, 9, 8), range(0, 20, 8), range(0, 50, 32))
    ]


def copies_stay_in_chunks() -> bool:
    """A chunk is memory in one piece, which numpy sees without a copy; two chunks are not."""
    inside, across = APART[:1, :8, :8, :32], APART[:1, :8, :8, :33]
    assert np.shares_memory(inside.numpy(), APART.raw)
    assert inside.is_contiguous()
    assert not np.shares_memory(across.numpy(), APART.raw)
    assert not across.is_contiguous()
    return refused(rl.NotExpressible, across.__dlpack__) and bool((across.numpy() == IMAGE[:1, :8, :8, :33]).all())


def nchw_is_refused_for_nhwc() -> bool:
    data = rl.from_logical(IMAGE, "htp:NCHW")
    return refused(rl.LayoutMismatch, lambda: rl.check(data, "htp:R4Flat"))


def works_the_same(text: str) -> bool:
    return bool((rl.from_logical(IMAGE, text).numpy() == IMAGE).all())


RESTS = """
    /* RANK */ 4,
    /* Least Major: Batch Dim, all the rest */ 0,0,
    /* Next least major: height, all the rest */ 1,0,
    /* Next least major: width, all the rest */ 2,0,
    /* Next least major: depth, all the rest */ 3,0,
"""
CHANNEL_MAJOR = f"""ChunkedMemoryLayout<{RESTS}
    /* 8 rows high */ 1,8,
    /* 8 columns wide */ 2,8,
    /* 32 channels deep */ 3,32> ChannelMajorCrouton;"""
SPATIAL_XY = f"""ChunkedMemoryLayout<{RESTS}
    /* 4 high */ 1,4,
    /* 4 wide */ 2,4,
    /* 32 channels deep */ 3,32,
    /* 2 rows */ 1,2,
    /* 2 cols */ 2,2> SpatialXYMajor;"""
SPATIAL_X = f"""ChunkedMemoryLayout<{RESTS}
    /* 8 high */ 1,4,
    /* 2 wide */ 2,2,
    /* 32 channels deep */ 3,32,
    /* 4 cols */ 2,4> SpatialXMajor;"""


# ---- the statements, in the order of the document ------------------------------------------------------------

STATEMENTS = [
    # Details about Memory Layout
    Statement("d32 layout", lambda: same(fmt("htp:d32"), htp.R4Depth32MemoryLayout)),
    Statement("crouton layout", lambda: same(rl.parse("htp:crouton", dtype="uint8"), htp.R4CroutonLayout)),
    Statement("flat layout", lambda: same(fmt("htp:flat"), htp.R4FlatMemoryLayout)),
    Statement("specific layouts for weights", lambda: same(fmt("htp:weights"), fmt(WEIGHTS))),
    Statement(
        "a rank, an optional strided order of dimensions, and an order of chunks",
        lambda: (
            same(fmt(CROUTON).rank, 4)
            and same(fmt(CROUTON).order, (0, 1, 2, 3))
            and same(fmt(CROUTON).block_shape, (1, 8, 8, 32))
        ),
    ),
    # Flat Layout
    Statement(
        "FlatMemoryLayout<4> can be thought of as ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0>",
        lambda: same(
            fmt("FlatMemoryLayout<4>"),
            fmt(FLAT),
            htp.FlatMemoryLayout(4),
            htp.ChunkedMemoryLayout(4, 0, 0, 1, 0, 2, 0, 3, 0),
        ),
    ),
    Statement("4, the zeroth parameter, is the rank", lambda: same(fmt(FLAT).rank, 4)),
    Statement("3,0 means all the rest of dimension 3", lambda: pair(FLAT, 1, 3, 0)),
    Statement("2,0 means all the rest of dimension 2", lambda: pair(FLAT, 2, 2, 0)),
    Statement("1,0 means all the rest of dimension 1", lambda: pair(FLAT, 3, 1, 0)),
    Statement("0,0 means all the rest of dimension 0", lambda: pair(FLAT, 4, 0, 0)),
    Statement(
        "dimension 3 is the fastest, then 2, then 1, then 0",
        lambda: same(fmt(FLAT).layout((2, 3, 5, 30)).stride, (450, 150, 30, 1)),
    ),
    Statement(
        "(0,0,0,0), (0,0,0,1) ... (0,0,0,29) to (0,0,4,29)",
        lambda: lies(
            FLAT,
            (2, 3, 5, 30),
            """
        (0,0,0,0), (0,0,0,1) ... (0,0,0,29), (0,0,1,0), (0,0,1,1) ... (0,0,1,29), ...
        (0,0,4,0), (0,0,4,1), ... (0,0,4,29), (0,1,0,0)""",
        ),
    ),
    Statement(
        "(0,1,0,0), (0,0,0,1), ... (0,1,0,29)",
        lambda: lies(FLAT, (2, 3, 5, 30), "(0,1,0,0), (0,1,0,1), ... (0,1,0,29), (0,1,1,0), (0,1,1,1), ... (0,1,1,29)"),
        differs="(0,0,0,1) is in the first line: (0,1,0,1) is meant",
    ),
    Statement(
        "(0,2,1,0) to (1,2,4,29)",
        lambda: lies(
            FLAT,
            (2, 3, 5, 30),
            """
        (0,2,1,0), (0,2,1,1), ... (0,2,1,29), ... (0,2,4,0), (0,2,4,1), ... (0,2,4,29), (1,0,0,0), (1,0,0,1), ...
        (1,0,0,29), ... (1,2,4,0), (1,2,4,1), ... (1,2,4,29)""",
        ),
    ),
    Statement(
        "the listing of 2x3x5x30 is one call",
        lambda: lists(
            FLAT,
            (2, 3, 5, 30),
            "(0,0,0,0), (0,0,0,1), ... (0,0,0,29)",
            "(0,0,1,0), (0,0,1,1), ... (0,0,1,29)",
            "...",
            "(0,0,4,0), (0,0,4,1), ... (0,0,4,29)",
            "(0,1,0,0), (0,1,0,1), ... (0,1,0,29)",
            "(0,1,1,0), (0,1,1,1), ... (0,1,1,29)",
            "...",
            "(0,2,1,0), (0,2,1,1), ... (0,2,1,29)",
            "...",
            "(0,2,4,0), (0,2,4,1), ... (0,2,4,29)",
            "(1,0,0,0), (1,0,0,1), ... (1,0,0,29)",
            "...",
            "(1,2,4,0), (1,2,4,1), ... (1,2,4,29)",
        ),
    ),
    Statement("NHWC: 0 batches, 1 height, 2 width, 3 depth", lambda: same(fmt("FlatMemoryLayout<4>").axes, "nhwc")),
    Statement(
        "to represent NHWC laid out as NCHW: ChunkedMemoryLayout<4, 0,0, 3,0, 1,0, 2,0>",
        lambda: (
            same(fmt("ChunkedMemoryLayout<4, 0,0, 3,0, 1,0, 2,0>"), fmt("htp:NCHW"))
            and (rl.repack(IMAGE, "htp:NCHW").reshape(-1) == IMAGE.transpose(0, 3, 1, 2).reshape(-1)).all()
        ),
    ),
    Statement(
        "changing the MemoryLayout without changing how ops work",
        lambda: all(works_the_same(text) for text in ("htp:R4Flat", "htp:NCHW", "htp:R4Depth32", CROUTON)),
    ),
    Statement("guarantee type safety: don't feed NHWC data to an op expecting NCHW", nchw_is_refused_for_nhwc),
    # Crouton Layout
    Statement(
        "R4CroutonLayout is ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,32>",
        lambda: same(fmt(CROUTON), htp.R4CroutonLayout, fmt("htp:R4CroutonLayout"), fmt("R4CroutonLayout")),
    ),
    Statement("3,32 means 32 elements in dimension 3", lambda: pair(CROUTON, 1, 3, 32)),
    Statement(
        "2,8 means 8 contiguous chunks of everything to the right in dimension 2", lambda: pair(CROUTON, 2, 2, 8)
    ),
    Statement(
        "1,8 means 8 contiguous chunks of everything to the right in dimension 1", lambda: pair(CROUTON, 3, 1, 8)
    ),
    Statement("3,0 .. 0,0: all the rest", lambda: all(pair(CROUTON, 4 + k, 3 - k, 0) for k in range(4))),
    Statement("croutons have a chunk size of 1x8x8x32", lambda: same(fmt(CROUTON).block_shape, (1, 8, 8, 32))),
    Statement("1x3x5x30 gets padded to 1x8x8x32", lambda: same(fmt(CROUTON).padded_shape(SMALL), (1, 8, 8, 32))),
    Statement(
        "(0,0,0,0), (0,0,0,1), ... (0,0,0,29), (0,0,0,30), (0,0,0,31)",
        lambda: lies(CROUTON, SMALL, "(0,0,0,0), (0,0,0,1), ... (0,0,0,29), (0,0,0,30), (0,0,0,31), (0,0,1,0)"),
    ),
    Statement("(0,0,0,30) (0,0,0,31) is pad", lambda: pads(CROUTON, SMALL, ((0, 0, 0, 30), (0, 0, 0, 31)))),
    Statement(
        "(0,0,1,0), (0,0,1,1), ... (0,0,1,29), (0,0,0,30), (0,0,0,31)",
        lambda: lies(
            CROUTON,
            SMALL,
            """(0,0,1,0), (0,0,1,1), ... (0,0,1,29), (0,0,1,30), (0,0,1,31), ...
            (0,0,4,0), (0,0,4,1), ... (0,0,4,29), (0,0,4,30), (0,0,4,31)""",
        ),
        differs="(0,0,0,30) and (0,0,0,31) are in the line before: (0,0,1,30) and (0,0,1,31) are meant",
    ),
    Statement(
        "(0,0,4,30), (0,0,4,31), (0,0,5,0) ... (0,0,7,31) is pad",
        lambda: pads(CROUTON, SMALL, ((0, 0, 4, 30), (0, 0, 7, 31))),
    ),
    Statement(
        "(0,0,5,0) to (0,2,4,31)",
        lambda: lies(
            CROUTON,
            SMALL,
            """
        (0,0,5,0), (0,0,5,1), ... (0,0,5,31), ... (0,0,7,0), (0,0,7,1), ... (0,0,7,31), (0,1,0,0), (0,1,0,1), ...
        (0,1,0,31), (0,1,1,0), (0,1,1,1), ... (0,1,1,31), ... (0,2,1,0), (0,2,1,1), ... (0,2,1,31), ...
        (0,2,4,0), (0,2,4,1), ... (0,2,4,29), (0,2,4,30), (0,2,4,31)""",
        ),
    ),
    Statement(
        "(0,2,4,30) ... (0,2,7,31), (0,3,0,0) ... (0,7,7,31) is pad",
        lambda: pads(CROUTON, SMALL, ((0, 2, 4, 30), (0, 7, 7, 31))),
    ),
    Statement(
        "the listing of 1x3x5x30 is one call, and tells padding",
        lambda: lists(
            CROUTON,
            SMALL,
            "(0,0,0,0), (0,0,0,1), ... (0,0,0,29), [0,0,0,30], [0,0,0,31]",
            "(0,0,1,0), (0,0,1,1), ... (0,0,1,29), [0,0,1,30], [0,0,1,31]",
            "...",
            "(0,0,4,0), (0,0,4,1), ... (0,0,4,29), [0,0,4,30], [0,0,4,31]",
            "[0,0,5,0], [0,0,5,1], ... [0,0,5,31]",
            "[0,0,7,0], [0,0,7,1], ... [0,0,7,31]",
            "(0,2,4,0), (0,2,4,1), ... (0,2,4,29), [0,2,4,30], [0,2,4,31]",
        ),
    ),
    Statement(
        "an arbitrary order for those chunks: the 0-sized dimensions",
        lambda: same(fmt("ChunkedMemoryLayout<4, 3,0, 2,0, 1,0, 0,0, 1,8, 2,8, 3,32>").order, (3, 2, 1, 0)),
    ),
    Statement("2x9x20x50 gets padded to 2x16x24x64", lambda: same(fmt(CROUTON).padded_shape(LARGE), (2, 16, 24, 64))),
    Statement(
        "(0,0,0,0) ... (0,7,7,31) > end of chunk",
        lambda: lies(
            CROUTON,
            LARGE,
            """
        (0,0,0,0) ... (0,0,0,31) (0,0,1,0) ... (0,0,1,31) ... (0,0,7,0) ... (0,0,7,31) (0,1,0,0) ... (0,1,7,31) ...
        (0,7,7,0) ... (0,7,7,31) (0,0,0,32)""",
        ),
    ),
    Statement(
        "(0,0,0,32) ... > finished traversing all 64 in dimension 3",
        lambda: lies(
            CROUTON,
            LARGE,
            """
        (0,0,0,32) ... (0,0,0,63) (0,0,1,32) ... (0,0,1,63) ... (0,0,7,32) ... (0,0,7,63) (0,1,0,32) ... (0,1,7,63)
        ... (0,7,7,32) ... (0,7,7,63) (0,0,8,0)""",
        ),
    ),
    Statement(
        "(0,0,8,0) ... (0,7,15,63)",
        lambda: lies(
            CROUTON,
            LARGE,
            """
        (0,0,8,0) ... (0,0,8,31) (0,0,9,0) ... (0,0,9,31) ... (0,0,15,0) ... (0,0,15,31) (0,1,8,0) ... (0,1,15,31) ...
        (0,7,8,0) ... (0,7,15,31) (0,0,8,32) ... (0,0,15,63) ... (0,7,8,32) ... (0,7,15,63) (0,0,16,0)""",
        ),
    ),
    Statement(
        "(0,0,16,0) ... (0,0,23,63) > finished traversing all 24 in dimension 2",
        lambda: (
            lies(CROUTON, LARGE, "(0,0,16,0) ... (0,0,23,63) ... (0,7,16,32) ... (0,7,23,63) (0,8,0,0)")
            and same(memory(CROUTON, LARGE).index((0, 0, 23, 63)) - memory(CROUTON, LARGE).index((0, 0, 16, 0)), 2303)
        ),
        differs="the line is no run of one row: rows 1 to 7 of the first chunk lie between its ends",
    ),
    Statement(
        "(0,8,0,0) ... (0,8,23,63) (0,15,0,0) ... (0,15,23,63) > finished traversing all 16 in dimension 1",
        lambda: lies(CROUTON, LARGE, "(0,8,0,0) ... (0,15,0,0) ... (0,8,23,63) ... (0,15,23,63) (1,0,0,0)"),
        differs="a chunk has eight rows: (0,15,0,0) is in the first one, before (0,8,23,63)",
    ),
    Statement(
        "(1,0,0,0) ... (1,8,23,63) (1,15,0,0) ... (1,15,23,63) > end of memory layout",
        lambda: (
            lies(CROUTON, LARGE, "(1,0,0,0) ... (1,15,0,0) ... (1,8,23,63) ... (1,15,23,63)")
            and same(memory(CROUTON, LARGE)[-1], (1, 15, 23, 63))
        ),
        differs="as in the line before",
    ),
    Statement(
        "the listing of 2x9x20x50 is one call",
        lambda: lists(
            CROUTON,
            LARGE,
            "(0,0,0,0), (0,0,0,1), ... (0,0,0,31)",
            "(0,7,7,0), (0,7,7,1), ... (0,7,7,31)",
            "(0,0,0,32) ... [0,7,7,63]",
            "(0,0,8,0) ... (0,7,15,31)",
            "(0,0,8,32) ... [0,7,15,63]",
            "(0,0,16,32) ... [0,7,23,63]",
            "(1,8,16,32) ... [1,15,23,63]",
        ),
    ),
    Statement(
        "FlatMemoryLayout is the special case where the chunk is 1 element in every dimension",
        lambda: same(fmt("FlatMemoryLayout<4>").block_shape, (1, 1, 1, 1)),
    ),
    # Practical tips working with Crouton
    Statement(
        "chunks are not consecutive in memory: there's gap between each chunk",
        lambda: set(np.diff(chunk_starts()).tolist()) == {2048 + 512} and works_the_same(CROUTON),
    ),
    Statement(
        "get_raw(first element's idx in chunk) to retrieve the start of the chunk",
        lambda: all(
            APART.get_raw_addr(0, 8, w, c) == APART.block_at(0, 8, w + 3, c + 5).address
            for w in (0, 8)
            for c in (0, 32)
        ),
    ),
    Statement("aligned copy can't go across chunks", copies_stay_in_chunks),
    Statement(
        "crouton padding is automatic and is 31 (not 0)",
        lambda: same(fmt(CROUTON).fill, 31, int(QUANTISED.block_at(0, 0, 0, 0).stored()[0, 7, 7, 31])),
    ),
    Statement(
        "user padding need to be explicitly set to quantized 0",
        lambda: (
            same(int(QUANTISED.block_at(0, 0, 0, 0).stored()[0, 0, 0, 0]), 128)
            and same(int(QUANTISED.copy().fill_padding(user=9).block_at(0, 0, 0, 0).stored()[0, 0, 0, 0]), 9)
        ),
        differs="it is quantised 0 unless something else is asked for, so that it never holds what was there before",
    ),
    # A More complicated example of Memory Layout
    Statement(
        "the weight layout is ChunkedMemoryLayout<4, 3,0, 2,0, 0,0, 1,0, 2,8, 3,32, 2,4>",
        lambda: same(fmt(WEIGHTS), fmt("htp:weights")),
    ),
    Statement(
        "0 filter height, 1 filter width, 2 input channels, 3 output channels", lambda: same(fmt(WEIGHTS).axes, "hwio")
    ),
    Statement("2,4 means 4 contiguous elements in dimension 2", lambda: pair(WEIGHTS, 1, 2, 4)),
    Statement("3,32 means 32 contiguous chunks of everything to the right", lambda: pair(WEIGHTS, 2, 3, 32)),
    Statement("2,8 means 8 contiguous chunks of everything to the right", lambda: pair(WEIGHTS, 3, 2, 8)),
    Statement(
        "1,0 then 0,0 then 2,0 then 3,0: all the rest",
        lambda: all(pair(WEIGHTS, 4 + k, d, 0) for k, d in enumerate((1, 0, 2, 3))),
    ),
    Statement(
        "3x3x32x32: (0,0,0,0), (0,0,1,0), (0,0,2,0), (0,0,3,0)",
        lambda: lies(
            WEIGHTS,
            (3, 3, 32, 32),
            """
        (0,0,0,0), (0,0,1,0), (0,0,2,0), (0,0,3,0), (0,0,0,1), (0,0,1,1), (0,0,2,1), (0,0,3,1), (0,0,0,2) ...
        (0,0,3,31), (0,0,4,0), (0,0,5,0), (0,0,6,0), (0,0,7,0), (0,0,4,1), (0,0,5,1), (0,0,6,1), (0,0,7,1),
        (0,0,4,2) ... (0,0,7,31), ... (0,0,31,31), (0,1,0,0), (0,1,1,0), ... (0,1,31,31), ...
        (0,2,0,0), ... (0,2,31,31), (1,0,0,0), ... (1,0,31,31)""",
        ),
    ),
    Statement(
        "the listing of 3x3x32x32 is one call",
        lambda: lists(
            WEIGHTS,
            (3, 3, 32, 32),
            "(0,0,0,0), (0,0,1,0), (0,0,2,0), (0,0,3,0)",
            "(0,0,0,1), (0,0,1,1), (0,0,2,1), (0,0,3,1)",
            "(0,0,4,0), (0,0,5,0), (0,0,6,0), (0,0,7,0)",
            "(0,0,4,1), (0,0,5,1), (0,0,6,1), (0,0,7,1)",
            "(0,1,0,0) ... (0,1,31,31)",
            "(0,2,0,0) ... (0,2,31,31)",
            "(1,0,0,0) ... (1,0,31,31)",
        ),
    ),
    Statement(
        "the input channels (dim 2) is more contiguous than output channels (dim 3)",
        lambda: fmt(WEIGHTS).layout((3, 3, 64, 96))(0, 0, 32, 0) < fmt(WEIGHTS).layout((3, 3, 64, 96))(0, 0, 0, 32),
    ),
    Statement(
        "3x3x32x50 will get padded into 3x3x32x64",
        lambda: same(fmt(WEIGHTS).padded_shape((3, 3, 32, 50)), (3, 3, 32, 64)),
    ),
    Statement(
        "do (0,0,0,0)...(2,2,31,31) and then do (0,0,0,32)...(2,2,31,63)",
        lambda: (
            lies(WEIGHTS, (3, 3, 32, 50), "(0,0,0,0)...(2,2,31,31), (0,0,0,32)...(2,2,31,63)")
            and lists(WEIGHTS, (3, 3, 32, 50), "(0,0,0,0) ... (2,2,31,31)", "(0,0,0,32) ... [2,2,31,63]", loops=1)
        ),
    ),
    Statement(
        "3x3x64x96: (0,0,0,0)...(2,2,31,31), (0,0,32,0)...(2,2,63,31), ...",
        lambda: lies(
            WEIGHTS,
            (3, 3, 64, 96),
            """(0,0,0,0)...(2,2,31,31), (0,0,32,0)...(2,2,63,31), (0,0,0,32)...(2,2,31,63),
        (0,0,32,32)...(2,2,63,63), (0,0,0,64)...(2,2,31,95), (0,0,32,64)...(2,2,63,95)""",
        ),
    ),
    Statement(
        "the listing of 3x3x64x96 is one call",
        lambda: same(
            htp.listing(WEIGHTS, (3, 3, 64, 96), loops=2),
            (
                "(0,0,0,0) ... (2,2,31,31)\n(0,0,32,0) ... (2,2,63,31)\n(0,0,0,32) ... (2,2,31,63)\n"
                "(0,0,32,32) ... (2,2,63,63)\n(0,0,0,64) ... (2,2,31,95)\n(0,0,32,64) ... (2,2,63,95)"
            ),
        ),
    ),
    Statement(
        "Because dimension 2 is more major than dimension 3",
        lambda: same(fmt(WEIGHTS).order, (3, 2, 0, 1)),
        differs="the listing and the pairs have dimension 3 as the slowest, and so does the sentence before",
    ),
    # Different memory layouts
    *[
        Statement(
            f"{name} | {text}",
            lambda name=name, text=text: (
                same(getattr(htp, name), fmt(f"htp:{name}"), fmt(name), fmt(text))
                and getattr(htp, name).to("htp") == text
            ),
        )
        for name, text in TABLE.items()
    ],
    Statement(
        "R4NCHWMemoryLayout | 0,0, 3,0, 2,0, 1,0, and NCHW above | 0,0, 3,0, 1,0, 2,0",
        lambda: htp.R4NCHWMemoryLayout != fmt("htp:NCHW") and "htp:NCHW" in rl.explain("htp:R4NCHW"),
        differs="the class of that name is N, C, W, H: both are here under two names, and explain says so",
    ),
    # Details about Tensors
    Statement(
        "tensors have an underlying type, interface, padding, and memory layout",
        lambda: (
            same(QUANTISED.dtype, "quint8")
            and same(QUANTISED.interface, rl.ScaleOffset(1 / 64, 128, "quint8"))
            and QUANTISED.padding is not None
            and same(QUANTISED.padding.left, (0, 1, 0, 0))
            and same(QUANTISED.format, htp.R4CroutonLayout)
        ),
    ),
    Statement(
        "PlainInterface just returns the value",
        lambda: same(htp.PlainInterface("uint8").decode(200), htp.PlainInterface("uint8").encode(200), 200),
    ),
    Statement(
        "ScaleOffsetInterface applies the offset and scale value",
        lambda: (
            same(htp.ScaleOffsetInterface(0.5, 100, "quint8").decode(103), 1.5)
            and same(htp.ScaleOffsetInterface(0.5, 100, "quint8").encode(1.5), 103)
        ),
    ),
    Statement(
        "user can have arbitrary memory layouts",
        lambda: works_the_same("ChunkedMemoryLayout<4, 2,0, 0,0, 3,0, 1,0, 3,4, 1,2, 2,16, 3,2>"),
    ),
    Statement(
        "a set of fixed sizes, which define each chunk, and the ordering of the chunks",
        lambda: same(
            (fmt(CROUTON).blocks[0].size, fmt(CROUTON).blocks[1].size, fmt(CROUTON).blocks[2].size), (8, 8, 32)
        ),
    ),
    Statement(
        "ChannelMajorCrouton",
        lambda: same(fmt(CHANNEL_MAJOR), htp.ChannelMajorCrouton, fmt("ChannelMajorCrouton"), htp.R4CroutonLayout),
    ),
    Statement(
        "SpatialXYMajor",
        lambda: same(fmt(SPATIAL_XY), htp.SpatialXYMajor, fmt("SpatialXYMajor"), htp.R4Crouton2x2Layout),
    ),
    Statement(
        "SpatialXMajor",
        lambda: (
            same(htp.SpatialXMajor, fmt("SpatialXMajor"), htp.R4Crouton4x1Layout)
            and same(str(fmt(SPATIAL_X)), "0 1 2 3 / 1,4 2,2 3,32 2,4")
            and "slip" in rl.explain("htp:SpatialXMajor")
        ),
        differs="the listing has 1,4 under '8 high': the name is the table's 1,8, the pasted text is what it says",
    ),
    Statement(
        "Generic ops can use any of the formats",
        lambda: all(works_the_same(text) for text in (*TABLE, CHANNEL_MAJOR, SPATIAL_XY, SPATIAL_X)),
    ),
]


@pytest.mark.filterwarnings("ignore:.*made for elements of")
@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: re.sub(r"[^\w,<> ]", "", s.words)[:60])
def test_statement(statement: Statement) -> None:
    assert statement.check(), statement.words


def test_differences_have_a_reason_and_are_on_the_page() -> None:
    from pathlib import Path

    page = (Path(__file__).parent.parent / "docs" / "coming_from" / "htp.md").read_text()
    different = [statement for statement in STATEMENTS if statement.differs]
    assert len(different) == 9
    assert page.count("*Difference.*") >= 7
    for name in (*TABLE, "PlainInterface", "ScaleOffsetInterface", "SpatialXMajor", "get_raw", "d32"):
        assert name in page
