"""One suite that every dialect passes: it reads what it writes, refuses with a reason, and never crashes on junk."""

from __future__ import annotations

import contextlib
import random
import re
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from clock import LOOPS_PER_SECOND, loops_of
from relayout import Format, Layout
from relayout.cli.main import relayout as group
from relayout.dialects.registry import BUILT_IN
from support import layouts, table
from test_format import formats

# Per dialect: texts with what they mean, evaluated by hand, as a table of offsets over a shape.
EXAMPLES: dict[str, list[tuple[str, tuple[int, ...], Any]]] = {
    "mojo": [
        ("((3, 4):(4, 1))", (3, 4), lambda i, j: 4 * i + j),
        ("Layout(IntTuple(3, IntTuple(2, 2)), IntTuple(1, IntTuple(3, 6)))", (3, 4), lambda i, j: i + 3 * j),
        ("var l = Layout.col_major(6, 6)  # a comment", (6, 6), lambda i, j: i + 6 * j),
        ("Layout.row_major(2, 4)", (2, 4), lambda i, j: 4 * i + j),
    ],
    "cute": [
        ("((3,2),4):((1,6),12)", (6, 4), lambda i, j: i % 3 + i // 3 * 6 + 12 * j),
        (
            "Sw<1,0,2> o _1 o (_4,_2):(_2,_1) // comment",
            (4, 2),
            lambda i, j: (1 + 2 * i + j) ^ (((1 + 2 * i + j) >> 2) & 1),
        ),
    ],
    "htp": [
        ("FlatMemoryLayout<2>;", (3, 4), lambda i, j: 4 * i + j),
        (
            "ChunkedMemoryLayout<2, /* rows */ 0,0,\n 1,0, // columns\n 0,2, 1,4> MyTile;",
            (3, 5),
            lambda i, j: (i // 2 * 2 + j // 4) * 8 + i % 2 * 4 + j % 4,
        ),
    ],
    "coreai": [
        ("shape=[3, 4], strides=[4, 1] interleaveLayout=nil", (3, 4), lambda i, j: 4 * i + j),
        (
            "shape=[6, 3],\nstrides=[12, 4]\ninterleaveLayout=InterleaveLayout(dimension: 0, factor: 4)",
            (6, 3),
            lambda i, j: i // 4 * 12 + i % 4 + 4 * j,
        ),
        ("shape=[8, 3], interleave=[4, 1], alignments=[1, 1, 8]", (8, 3), lambda i, j: i // 4 * 24 + i % 4 + 8 * j),
        ("interleave=[1, 2]", (3, 4), lambda i, j: 4 * i + j // 2 * 2 + j % 2),
    ],
    "candle": [
        ("Layout { shape: [2, 3], stride: [1, 2], start_offset: 5 }", (2, 3), lambda i, j: 5 + i + 2 * j),
    ],
    "numpy": [
        ("shape=(3, 4), strides=(-16, 4), itemsize=4, offset=32", (3, 4), lambda i, j: 8 - 4 * i + j),
        ("{'shape': (3, 4), 'typestr': '<f8', 'strides': None}", (3, 4), lambda i, j: 4 * i + j),
        ("np.ndarray(shape=(3, 4), dtype='float16', strides=(2, 6))  # Fortran", (3, 4), lambda i, j: i + 3 * j),
    ],
    "torch": [
        ("size=(2, 3), stride=(1, 2), storage_offset=4", (2, 3), lambda i, j: 4 + i + 2 * j),
        ("torch.Size([2, 3])", (2, 3), lambda i, j: 3 * i + j),
        ("torch.empty_strided((2, 3), (1, 2), dtype=torch.float16)", (2, 3), lambda i, j: i + 2 * j),
        ("torch.channels_last", (1, 3, 2, 2), lambda n, c, h, w: n * 12 + h * 6 + w * 3 + c),
    ],
    "onednn": [
        ("ba", (2, 3), lambda i, j: i + 2 * j),
        ("nChw4c", (1, 6, 2, 2), lambda n, c, h, w: c // 4 * 16 + h * 8 + w * 4 + c % 4),
        ("BA2a3b2a", (5, 4), lambda i, j: j // 3 * 24 + i // 4 * 12 + i % 4 // 2 * 6 + j % 3 * 2 + i % 2),
    ],
    "xla": [
        ("f32[3,4]", (3, 4), lambda i, j: 4 * i + j),
        ("s8[3,4]{0,1}", (3, 4), lambda i, j: i + 3 * j),
        (
            "bf16[8,6]{1,0:T(4,3)(2,1)}",
            (8, 6),
            lambda i, j: (i // 4 * 2 + j // 3) * 12 + i % 4 // 2 * 6 + j % 3 * 2 + i % 2,
        ),
        ("{1,0:T(2,2)}", (3, 4), lambda i, j: (i // 2 * 2 + j // 2) * 4 + i % 2 * 2 + j % 2),
    ],
    "tvm": [
        ("NC2c", (3, 4), lambda i, j: i * 4 + j // 2 * 2 + j % 2),
        ("HWC", (2, 3, 4), lambda h, w, c: h * 12 + w * 4 + c),
    ],
    "mlir": [
        ("strided<[1, 3], offset: 2>", (3, 4), lambda i, j: 2 + i + 3 * j),
        ("memref<3x4xf32, strided<[4, 1]>, #gpu.address_space<workgroup>>", (3, 4), lambda i, j: 4 * i + j),
        ("affine_map<(d0, d1) -> (d1, d0)>", (3, 4), lambda i, j: i + 3 * j),
        (
            "affine_map<(d0, d1) -> (d0 floordiv 2, d1 floordiv 3, d0 mod 2, d1 mod 3)>",
            (3, 4),
            lambda i, j: (i // 2 * 2 + j // 3) * 6 + i % 2 * 3 + j % 3,
        ),
        (
            "affine_map<(d0, d1) -> (d0 mod 4 + (d0 + 4) floordiv 4 + ((d1 - 2) mod 3) * 4 + (d1 - 2) floordiv 3)>",
            (9, 5),
            lambda i, j: i % 4 + (i + 4) // 4 + (j - 2) % 3 * 4 + (j - 2) // 3,
        ),
        (
            "affine_map<(d0, d1) -> (((d0 + 1) floordiv 2) * 8 + (d0 + 1) mod 2 - (-d1) * 2 + 5)>",
            (3, 4),
            lambda i, j: (i + 1) // 2 * 8 + (i + 1) % 2 + 2 * j + 5,
        ),
        (
            "inner_dims_pos = [1, 0] inner_tiles = [2, 3]",
            (5, 4),
            lambda i, j: (i // 3 * 2 + j // 2) * 6 + j % 2 * 3 + i % 3,
        ),
        (
            "%1 = linalg.pack %0 padding_value(%c : f32) outer_dims_perm = [1, 0] inner_dims_pos = [0]"
            " inner_tiles = [4] into %d : tensor<8x2xf32> -> tensor<2x2x4xf32>\n"
            "%2 = linalg.pack %1 inner_dims_pos = [2] inner_tiles = [2]"
            " into %e : tensor<2x2x4xf32> -> tensor<2x2x2x2xf32>",
            (8, 2),
            lambda i, j: (j * 2 + i // 4) * 4 + i % 4,
        ),
    ],
    "ttg": [
        (
            "#ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0]}>",
            (8, 8),
            lambda i, j: 8 * i + (j // 2 ^ i % 4) * 2 + j % 2,
        ),
        (
            "#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 2, maxPhase = 2, order = [0, 1]}>\n"
            "!ttg.memdesc<4x8xf16, #shared, #ttg.shared_memory, mutable>",
            (4, 8),
            lambda i, j: 4 * j + (i ^ j // 2 % 2),
        ),
        (
            "#ttg.padded_shared<[4:+2, 16:+1] {order = [1, 0], shape = [4, 8]}>",
            (4, 8),
            lambda i, j: (8 * i + j) + (8 * i + j) // 4 * 2 + (8 * i + j) // 16,
        ),
        (
            "!ttg.memdesc<3x8x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, "
            "elementBitWidth = 16}>, #ttg.shared_memory>",
            (3, 8, 64),
            lambda s, i, j: 512 * s + 64 * i + (j // 8 ^ i) * 8 + j % 8,
        ),
        ("gl.SharedLinearLayout(offset_bases=[[1, 1], [0, 1]])", (2, 2), lambda i, j: i + 2 * (j ^ i)),
        (
            # One thread in four lanes and two warps: thread t has rows t % 4 + 4 * k of the columns of its warp.
            "#ttg.linear<{register = [[4, 0]], lane = [[1, 0], [2, 0]], warp = [[0, 1]], block = []}>",
            (8, 2),
            lambda t, v: t % 4 + 4 * v + 8 * (t // 4),
        ),
    ],
    "einops": [
        ("h (w q) -> w h q, q=2", (3, 4), lambda i, j: j // 2 * 6 + 2 * i + j % 2),
        ("b (h p) -> b p h, p=2", (2, 4), lambda i, j: i * 4 + j % 2 * 2 + j // 2),
        ("a ... b -> (b a) ...", (2, 3, 4), lambda i, j, k: (k * 2 + i) * 3 + j),
        ("a () 1 -> a 1", (3, 1, 1), lambda i, j, k: i),
        ("a (p b) -> p a b, p=2", (2, 6), lambda i, j: j // 3 * 6 + i * 3 + j % 3),
        ("a (b p q) -> b a q p, p=2, q=3", (2, 7), lambda i, j: j // 6 * 12 + i * 6 + j % 3 * 2 + j % 6 // 3),
    ],
    "format": [("1 0 / 0,2", (3, 4), lambda i, j: j * 4 + i // 2 * 2 + i % 2)],
}

PACK = "outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [32, 8]"
MAP = "memref<3x1x!T, affine_map<(d0, d1) -> (((d0 + 1) mod 2) * 2 + (d0 + 1) floordiv 2 + (d1 + 3) * 4)>>"
STRICT = "shape=[8, 3], interleave=[4, 1], alignments=[1, 1, {}]"

DYNAMIC = [
    ("mojo", "Layout.row_major(3, UNKNOWN_VALUE)"),
    ("mojo", "((3, -1):(4, 1))"),
    ("cute", "(3,?):(?,1)"),
    ("cute", "cute::Layout<cute::tuple<cute::C<8>, int>, cute::tuple<int, cute::C<1>>>"),
    ("coreai", "shape=[-1, 4], strides=[4, 1]"),
    ("candle", "Layout { shape: [-1], stride: [1], start_offset: 0 }"),
    ("numpy", "shape=(-1, 4), strides=(16, 4), itemsize=4"),
    ("torch", "size=(-1, 3), stride=(3, 1)"),
    ("torch", "f32[s0, 16][16, 1]cuda:0"),
    ("xla", "f32[?,128]{1,0}"),
    ("mlir", "memref<3x?xf32>"),
    ("mlir", "memref<*xf32>"),
    ("mlir", "strided<[?, 1], offset: ?>"),
    ("mlir", "affine_map<(d0)[s0] -> (d0 * s0)>"),
    ("ttg", "tensor<?x2xf16, #ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = []}>>"),
]


@pytest.mark.parametrize(
    ("dialect", "text", "shape", "formula"), [(d, *example) for d, examples in EXAMPLES.items() for example in examples]
)
def test_every_text_means_what_its_formula_says(dialect: str, text: str, shape: Any, formula: Any) -> None:
    layout = rl.resolve(text, dialect=dialect, shape=shape).placed
    assert layout.extents == shape
    assert rl.resolve(f"{dialect}:{text}", shape=shape).placed == layout
    for c, offset in zip(_coordinates(shape), table(layout).reshape(-1), strict=True):
        assert offset == formula(*c)


def test_every_dialect_has_examples() -> None:
    assert set(EXAMPLES) == set(BUILT_IN)


def _coordinates(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [()] if not shape else [(*c, x) for c in _coordinates(shape[:-1]) for x in range(shape[-1])]


ANY = layouts(window=True, swizzle=True, offset=True, negative=True)


@pytest.mark.parametrize("dialect", [*BUILT_IN, "coreai:strict"])
@settings(max_examples=150)
@given(layout=ANY)
def test_layouts_are_read_back_or_refused(dialect: str, layout: Layout) -> None:
    try:
        text = rl.render(layout, dialect, dtype="float32")
    except rl.NotExpressible as refusal:
        assert refusal.hint
        assert len(refusal.message) > 20
        return
    name = dialect.partition(":")[0]
    back = rl.parse(text, name, layout.extents)
    assert back.rank == layout.rank
    assert back.extents == layout.extents
    assert (table(back) == table(layout)).all()
    if name == "mojo" or (name == "cute" and not layout.windowed):
        assert back == layout
    elif name in ("candle", "numpy", "torch", "coreai") and not layout.windowed and layout.depth == 1:
        assert back.stride == layout.stride, "strides of size-1 dimensions survive"


@pytest.mark.parametrize("dialect", BUILT_IN)
@settings(max_examples=150)
@given(fmt=formats(), data=st.data())
def test_formats_are_read_back_or_refused(dialect: str, fmt: Format, data: Any) -> None:
    try:
        text = rl.render(fmt, dialect, dtype="float32")
    except rl.NotExpressible as refusal:
        assert refusal.hint
        return
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=fmt.rank, max_size=fmt.rank)))
    back = rl.parse(text, dialect, shape)
    expected = fmt.layout(shape)
    assert (table(back) == table(expected)).all()
    assert back.storage_size == expected.storage_size


@pytest.mark.parametrize(("dialect", "text"), DYNAMIC)
def test_sizes_known_at_run_time_only_are_refused_with_the_reason(dialect: str, text: str) -> None:
    for attempt in (lambda: rl.parse(text, dialect), lambda: rl.parse(text)):
        with pytest.raises(rl.NotExpressible, match="run time") as caught:
            attempt()
        assert "put the number" in caught.value.hint


@pytest.mark.parametrize("dialect", BUILT_IN)
def test_ten_thousand_broken_texts_neither_crash_nor_hang(dialect: str) -> None:
    rng = random.Random(dialect)
    texts = [text for text, _, _ in EXAMPLES[dialect]]
    alphabet = "".join(sorted(set("".join(texts)))) + "()[]{}<>,:;=-+*?@_'\"\\/# \n\t\x00é0123456789"
    outcomes = {"read": 0, "refused": 0}
    for k in range(10_000):
        if k % 4 == 0:
            text = "".join(rng.choices(alphabet, k=rng.randrange(40)))
        else:
            text = rng.choice(texts)
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(len(text) + 1)
                cut = rng.randrange(3)
                text = text[:at] + "".join(rng.choices(alphabet, k=rng.randrange(3))) + text[at + cut :]
        try:
            found = rl.parse(text, dialect)
        except rl.ParseError as error:
            outcomes["refused"] += 1
            assert 0 <= error.position <= len(error.text)
            assert "^" in str(error)
            assert error.hint
        except rl.LayoutError as error:
            outcomes["refused"] += 1
            assert error.message
        else:
            outcomes["read"] += 1
            assert isinstance(found, Layout | Format | rl.LinearLayout)
    assert outcomes["refused"] > 1000


@pytest.mark.parametrize("dialect", BUILT_IN)
@pytest.mark.parametrize(
    "text", ["(" * 5000, "[" * 5000, "9" * 100_000, "-" * 5000, "d0*" * 5000, "/*" * 5000, "A" * 5000]
)
def test_hostile_texts_are_refused_quickly(dialect: str, text: str) -> None:
    def refuse() -> None:
        for wrapped in (text, f"affine_map<(d0) -> ({text})>", f"shape={text}", f"f32[{text}]"):
            with pytest.raises(rl.LayoutError):
                rl.parse(wrapped, dialect, shape=(2,))

    assert loops_of(refuse) < 5 * LOOPS_PER_SECOND


def test_an_ambiguous_text_lists_the_candidates() -> None:
    with pytest.raises(rl.ParseError, match="ambiguous: as htp it is 0 3 1 2 axes nhwc; as tvm") as caught:
        rl.parse("NCHW")
    assert {"htp", "tvm"} <= set(caught.value.candidates)
    assert "htp:NCHW" in caught.value.hint
    assert rl.parse("htp:NCHW") != rl.parse("tvm:NCHW")


def test_a_text_without_a_shape_asks_for_one() -> None:
    with pytest.raises(rl.ShapeError, match="shape"):
        rl.parse("strided<[4, 1], offset: 2>")
    assert rl.parse("strided<[4, 1], offset: 2>", shape=(3, 4)) == Layout((3, 4), (4, 1), offset=2)


def test_padded_renders_the_box_and_says_so() -> None:
    layout = rl.catalog.get("htp:R4Crouton").layout((1, 3, 5, 30))
    with pytest.raises(rl.NotExpressible, match="window") as caught:
        rl.render(layout, "cute")
    assert "padded=True" in caught.value.hint
    text = rl.render(layout, "cute", padded=True)
    assert text.startswith("(1,(8,1),(8,1),(32,1)):(2048,(256,2048),(32,2048),(1,2048))")
    assert "box" in text
    assert "(1, 3, 5, 30)" in text
    assert rl.parse(text, "cute") == layout.box
    assert rl.render(layout.box, "cute", padded=True) == rl.render(layout.box, "cute")


@pytest.mark.parametrize(
    ("x", "dialect", "words", "text"),
    [
        (Layout((3, 4), (4, 1)), "numpy", {"dtype": "float32"}, "shape=(3, 4), strides=(16, 4), itemsize=4"),
        (Layout((3,), (-1,), offset=2), "numpy", {"dtype": "int8"}, "shape=(3,), strides=(-1,), itemsize=1, offset=2"),
        (Layout((3, 4), (4, 1)), "torch", {}, "size=(3, 4), stride=(4, 1), storage_offset=0"),
        (Layout((8, 128), (128, 1)), "xla", {"dtype": "bfloat16"}, "bf16[8,128]{1,0}"),
        (Layout(()), "xla", {"dtype": "float32"}, "f32[]"),
        (Layout((3, 4), (4, 1), offset=2), "mlir", {"dtype": "int8"}, "memref<3x4xi8, strided<[4, 1], offset: 2>>"),
        (Layout((3, 4), (4, 1)), "mlir", {}, "memref<3x4x!T, strided<[4, 1]>>"),
        (Format(2, [(0, 0), (1, 0), (0, 4), (1, 128), (0, 2)]), "xla", {}, "{1,0:T(8,128)(2,1)}"),
        (Format(4, [(0, 0), (2, 0), (1, 0), (3, 0), (1, 8), (3, 128)]), "xla", {}, "{3,1,2,0:T(8,128)}"),
        (Format(2, [(1, 0), (0, 0), (1, 32), (0, 8)]), "mlir", {}, PACK),
        (Layout((1, 2, 3), (0, 3, 1)), "tvm", {}, "ABC"),
        (Layout((2, 1, 3), (3, 100, 1)), "tvm", {}, "ABC"),
        (Layout(((2, 2), (1, 4)), ((2, 1), (1, 4)), origin=(1, 3), extents=(3, 1)), "mlir", {}, MAP),
        (Layout(((4, 2), 3), ((1, 12), 4)), "coreai:strict", {}, STRICT.format(1)),
        (Layout(((4, 2), 3), ((1, 48), 16)), "coreai:strict", {}, STRICT.format(16)),
        (rl.coreai.packed([3], None, [4, 1]), "coreai:strict", {}, "shape=[3], interleave=[1], alignments=[4, 1]"),
    ],
)
def test_texts_to_the_letter(x: Any, dialect: str, words: dict[str, Any], text: str) -> None:
    assert rl.render(x, dialect, **words) == text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rl.render(Layout(4), "numpy"), "bytes"),
        (lambda: rl.render(Layout(4), "numpy", dtype="int4"), "4 bits"),
        (lambda: rl.render(Layout(4), "numpy", dtype="float7"), "element type"),
        (lambda: rl.render(Layout(4), "klingon"), "no dialect"),
        (lambda: rl.render(Layout(4), "coreai:loose"), "no style"),
        (lambda: rl.parse("shape=(3, 4), strides=(18, 4), itemsize=4"), "whole number"),
        (lambda: rl.render(rl.coreai.layout([10, 5], [20, 4], (0, 4)), "coreai:strict"), "divide"),
        (lambda: rl.render(Layout((2, 3), (1, 2)), "coreai:strict"), "strides grow"),
        (lambda: rl.parse("f32[16,128]{1,0:T(8,128)(3,1)}"), "inside a larger tile"),
        (lambda: rl.parse("affine_map<(d0, d1) -> ((d0 + d1) mod 4)>", shape=(2, 2)), "several terms"),
        (lambda: rl.parse("affine_map<(d0) -> (d0 mod 4 + (d0 + 1) floordiv 4)>", shape=(9,)), "do not follow"),
        (lambda: rl.parse("affine_map<(d0, d1) -> (d0 * d1)>", shape=(2, 2)), "products"),
        (lambda: rl.parse("affine_map<(d0, d1) -> (d0 - 1, d1)>", shape=(3, 4)), "no index is below 0"),
        (lambda: rl.parse("affine_map<(d0) -> (d0 mod 4 + d0 floordiv 6)>", shape=(24,)), "divide each other"),
    ],
)
def test_refusals(make: Any, words: str) -> None:
    with pytest.raises(rl.LayoutError) as caught:
        make()
    assert words in str(caught.value)


# ---- by the vendors' definitions -------------------------------------------------------------------------


def tiled_by_xla(shape: list[int], order: list[int], tiles: list[list[int]]) -> tuple[np.ndarray[Any, Any], int]:
    """The offset of every element, and the storage: each tile pads and splits the fastest dimensions stored so far.

    A 0 in a tile, XLA's ``*``, makes one dimension of its own and the next before that.
    """
    stored = np.arange(int(np.prod(shape))).reshape(shape).transpose(order[::-1])
    for combining in tiles:
        stored = stored.reshape([1] * (len(combining) - stored.ndim) + list(stored.shape))
        tile = list(combining)
        while 0 in tile:
            at = stored.ndim - len(tile) + tile.index(0)
            stored = stored.reshape(
                *stored.shape[:at], stored.shape[at] * stored.shape[at + 1], *stored.shape[at + 2 :]
            )
            tile.remove(0)
        keep = stored.ndim - len(tile)
        pads = [(0, 0)] * keep + [(0, -n % t) for n, t in zip(stored.shape[keep:], tile, strict=True)]
        stored = np.pad(stored, pads, constant_values=-1)
        split = [x for n, t in zip(stored.shape[keep:], tile, strict=True) for x in (n // t, t)]
        places = [keep + 2 * k for k in range(len(tile))] + [keep + 2 * k + 1 for k in range(len(tile))]
        stored = stored.reshape(*stored.shape[:keep], *split).transpose(*range(keep), *places)
    flat = stored.reshape(-1)
    offsets = np.zeros(int(np.prod(shape)), int)
    for k, value in enumerate(flat.tolist()):
        if value >= 0:
            offsets[value] = k
    return offsets.reshape(shape), flat.size


@settings(max_examples=300)
@given(st.data())
def test_xlas_tiles_by_definition(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = [data.draw(st.integers(1, 9)) for _ in range(rank)]
    order = list(data.draw(st.permutations(range(rank))))
    tiles: list[list[int]] = []
    stored = rank
    for _ in range(data.draw(st.integers(0, 3))):
        count = data.draw(st.integers(1, stored + 1))
        sizes = [data.draw(st.sampled_from([0, 1, 2, 2, 3, 4])) for _ in range(count)]
        tiles.append([*sizes[:-1], sizes[-1] or 6])
        stored = max(stored, count) + count - 2 * sizes[:-1].count(0)
    texts = "".join([f"({','.join(map(str, t))})" for t in tiles]).replace("0", "*")
    text = f"f32[{','.join(map(str, shape))}]{{{','.join(map(str, order))}{':T' if tiles else ''}{texts}}}"
    offsets, storage = tiled_by_xla(shape, order, tiles)
    try:
        layout = rl.parse(text)
    except rl.NotExpressible as error:
        assert "inside a larger tile" in error.message or "combined rows" in error.message
        assert error.size % error.tile, "padding inside a tile, and tiles across rows, are all that is refused"
        return
    assert (layout.offsets() == offsets).all()
    assert layout.storage_size == storage
    meant = rl.resolve(text)
    assert meant.to("xla") == text
    assert meant.spelling is not None
    assert meant.spelling.reserved_elements(tuple(shape)) == storage
    if all(n > 1 for n in shape):
        with contextlib.suppress(rl.NotExpressible):
            assert rl.compare(rl.parse(layout.to("xla")), layout)


def test_what_xla_prints() -> None:
    assert rl.compare("f32[5]{0:T(4)(3)}", Layout(((4, 2),), ((1, 6),), extents=(5,)))
    assert rl.parse("f32[8]{0:T(2,2)}")(5) == 9
    assert rl.parse("s32[]{:T(128)}") == Layout((), ())
    for text in ("bf16[2048]{0:T(1024)(128)(2,1)}", "s8[4096]{0:T(1024)(128)(4,1)}", "bf16[256]{0:T(256)(128)(2,1)}"):
        assert rl.rosetta(text)["xla"] == text
        shape, tiles = [int(text[text.index("[") + 1 : text.index("]")])], re.findall(r"\(([\d,]+)\)", text)
        offsets, _ = tiled_by_xla(shape, [0], [[int(n) for n in tile.split(",")] for tile in tiles])
        assert (rl.parse(text).offsets() == offsets).all()
    assert rl.parse("f32[8]{0:L(100)}").storage_size == 100


def stored_by_mlir(results: list[str], shape: tuple[int, ...]) -> tuple[np.ndarray[Any, Any], int]:
    """The offset of every element, and the storage, of an array that is stored at the index that a map's results give.

    The results are evaluated as arithmetic of Python; a dimension that is taken ``mod`` has all its values.
    """
    indices = []
    for result in results:
        words = result.replace("floordiv", "//").replace("mod", "%")
        at = [eval(words, {f"d{k}": x for k, x in enumerate(c)}) for c in np.ndindex(shape)]
        digit = re.fullmatch(r"\(?[^*]*?\)? mod (\d+)", result)
        indices.append((np.array(at, int), int(digit[1]) if digit else max(at) + 1))
    offsets, stride = np.zeros(int(np.prod(shape)), int), 1
    for index, size in reversed(indices):
        offsets += index * stride
        stride *= size
    return offsets.reshape(shape), stride


MAPS = [
    ["d0 * 16 + d1 + 5", "0"],
    ["d0 + 1", "d1 + 2"],
    ["d0 mod 4", "d0 floordiv 4", "d1"],
    ["d0 mod 4", "d1", "d0 floordiv 4"],
    ["d1 mod 2", "d0", "d1 floordiv 2"],
    ["d1 floordiv 2", "d0 mod 4", "d1 mod 2", "d0 floordiv 4"],
    ["d1 floordiv 4", "(d1 floordiv 2) mod 2", "d0", "d1 mod 2"],
    ["(d1 + 3) mod 4", "d0", "(d1 + 3) floordiv 4"],
    ["0", "d1", "d0"],
    ["d1", "3", "d0"],
    ["d1 * 2", "d0"],
    ["-d0 + 7", "d1"],
    ["d0 + d1", "d0"],
    ["d0 floordiv 4 + 2", "d1 * 3 + d0 mod 4"],
    ["d1", "d0 mod 8"],
]


@pytest.mark.parametrize("results", MAPS)
@pytest.mark.parametrize("shape", [(8, 6), (7, 5), (1, 6), (8, 1)])
def test_maps_to_a_stored_array(results: list[str], shape: tuple[int, int]) -> None:
    text = f"affine_map<(d0, d1)[] -> ({', '.join(results)})>"
    offsets, storage = stored_by_mlir(results, shape)
    for layout in (rl.parse(text, shape=shape), rl.parse(f"memref<{shape[0]}x{shape[1]}xf32, {text}>")):
        assert (layout.offsets() == offsets).all()
        assert layout.storage_size == storage or (shape != (8, 6) and layout.storage_size > storage)
    with contextlib.suppress(rl.NotExpressible):
        assert (rl.parse(layout.to("mlir")).offsets() == offsets).all()


@pytest.mark.parametrize(
    "layout",
    [
        Layout((3, 4), (16, 1), offset=5),
        Layout(((4, 2), 6), ((12, 1), 2)),
        Layout(((4, 2), 6), ((1, 24), 4), offset=7),
        Layout((1, 4, 5), (0, 5, 1), offset=2),
        Layout((2, (2, 3)), (1, (6, 2)), offset=11),
        Layout((3, 4), (0, 1), offset=9),
    ],
)
def test_shifts_and_blocks_before_the_rest_are_written_as_maps(layout: Layout) -> None:
    text = layout.to("mlir")
    assert (rl.parse(text).offsets() == layout.offsets()).all()
    found = re.search(r"-> \((.*)\)>>", text)
    if found and ", d" not in found[1]:
        written, _ = stored_by_mlir([found[1]], layout.extents)
        assert (written == layout.offsets()).all()


PRINTED_BY_XLA = [
    "{3,2,1,0:T(42,123)(4,5)L(100)E(42)}",
    "{3,2,1,0:T(*,*,42,123)}",
    "{3,2,1,0:S(3)}",
    "{3,2,1,0:L(100)}",
    "{3,2,1,0:E(42)}",
    "{3,2,1,0:*(u16)}",
    "{3,2,1,0:#(u32)}",
    "{0,1:SC(0:3)(1:0,4)}",
    "{0,1:P(s32[10,20]{1,0})}",
    "{0,1:M(123)}",
    "s32[]{:T(128)S(2)}",
    "s4[123,456]{1,0:T(2,128)E(4)}",
    "pred[123,456]{1,0:T(2,128)S(3)SC(1:200)}",
    "pred[123,456]{1,0:S(3)SC(0:10)(1:4,5)}",
    "f32[123,456]{1,0:T(16,128)M(1024)}",
    "f32[10,10]{1,0:T(128,8)P(f32[10,10]{1,0})}",
    "bf16[8,2,3,1024]{3,2,1,0:T(2,*,*,128)(2,1)}",
    "f32[1,8]{0,1}",
    "f32[]",
]
"""Forms in which XLA's printer is tested, and neighbours."""


@pytest.mark.parametrize("text", PRINTED_BY_XLA)
def test_what_xla_says_beside_a_layout_is_kept_and_written_back(text: str) -> None:
    meant = rl.resolve(text)
    assert meant.to("xla") == text
    assert meant.spelling is not None
    for name, words in meant.spelling.properties.items():
        assert f"{name}{words}" in text


@pytest.mark.parametrize(
    "more", ["S(1)", "D(D,C)", "#(u32)", "*(u16)", "SC(0:1,2)(1:4)", "M(16)", "P(f32[2]{0})", "E(32)"]
)
def test_what_says_nothing_about_places_changes_none(more: str) -> None:
    text = f"f32[8,128]{{1,0:{more}}}"
    assert (rl.parse(text).offsets() == np.arange(1024).reshape(8, 128)).all()
    assert CliRunner().invoke(group, ["translate", text, "--to", "xla"]).output == f"{text}\n"


def test_xlas_properties_in_another_order_or_at_their_defaults() -> None:
    assert rl.resolve("f32[4]{0:S(1) E(32) T( 2 ) L(1) M(0)}").to("xla") == "f32[4]{0:T(2)E(32)S(1)}"
    assert rl.resolve("f32[8,8]{1,0:D(D,D)S(1)}").to("xla") == "f32[8,8]{1,0:D(D,D)S(1)}"
    assert rl.resolve("{1,0:T(8,128)S(1)}", shape=(20, 300), element="int8").to("xla") == "s8[20,300]{1,0:T(8,128)S(1)}"
    assert rl.rosetta("xla:f32[2,3]{0,1:S(5)}")["xla"] == "f32[2,3]{0,1:S(5)}"
    scalar = rl.resolve("s32[]{:T(128)}")
    assert scalar.spelling is not None
    assert (scalar.placed, scalar.spelling.reserved_elements(())) == (Layout((), ()), 128)
    turned = rl.resolve("f32[2,3]{1,0:S(5)}")._replace(layout=Layout((2, 3), (1, 2)))
    assert turned.to("xla") == "f32[2,3]{0,1}", "what was said of another layout is not repeated"


def test_tiles_that_cross_combined_rows_are_refused() -> None:
    with pytest.raises(rl.NotExpressible, match="tiles of 128 cut 3 combined rows of 1004") as caught:
        rl.parse("bf16[2,3,1004]{2,1,0:T(2,*,128)}")
    offsets, _ = tiled_by_xla([2, 3, 1004], [2, 1, 0], [[2, 0, 128]])
    ends = offsets[0, 1, 21] - offsets[0, 1, 0] - (offsets[0, 0, 21] - offsets[0, 0, 0])
    assert ends != 0, "the step along the last dimension depends on the row"
    assert "divides 1004" in caught.value.hint
    flat = rl.parse("f32[3,1004]{1,0:T(*,128)}")
    assert (flat.offsets().reshape(-1) == np.arange(3012)).all()
    assert flat.storage_size == 3072


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f32[4]{0:E(4)E(8)}", "each once"),
        ("f32[4]{0:D(X,C)}", "what D has in parentheses"),
        ("f32[4]{0:S(a)}", "what S has in parentheses"),
        ("f32[4]{0:SC(0)}", "what SC has in parentheses"),
        ("f32[4]{0:T(0)}", "sizes >= 1"),
        ("f32[4]{0:T(2)L(0)}", "n >= 1"),
        ("f32[4,4]{1,0:T(4,*)}", "fastest dimension"),
        ("f32[4]{0:T(4}", "what T has in parentheses"),
        ("memref<4x4xf32, #map>", "alias"),
        ("memref<16x256xbf16, #tpu.tiled<(16,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>", "no dialect reads"),
        ("memref<4x4xf32, stride<[1,4]>>", "expected one strided"),
        ("memref<4x4xf32, strided<[4,1]>, affine_map<(d0, d1) -> (d1, d0)>>", "expected one strided"),
        ("float a[3][4]", "no dialect"),
        ("size=(2,3,4,5), torch.channels_last", "by name"),
        ("shape=[8, 6], strides=[24, 4] interleaveLayout", "expected"),
        ("torch.empty_strided((2,3),(3,1),5,7)", "by name"),
        ("torch.empty_strided((2, 3), (1, 2)", "expected"),
        ("np.ndarray(shape=(3,4), itemsize=4", "expected"),
        ("shape=(3, 4), strides=(32, 8)", "item size"),
        ("shape=(3, 4), itemsize=4, dtype='float64'", "one item size"),
        ("shape=(3,), dtype='f" + "9" * 5000 + "'", "dtype"),
        ("(3, 4)", "expected"),
        ("f32[8,128]{0,1,2}", "in xla"),
        ("shape=(3,4), itemsize=0", "in numpy"),
    ],
)
def test_texts_that_are_almost_right_are_refused(text: str, words: str) -> None:
    with pytest.raises(rl.ParseError, match=words):
        rl.parse(text)


@pytest.mark.parametrize("text", ["compositions(a, b)", "raw_ptr(0x7f: f32)", "cute.cosize((8, 4))"])
def test_words_that_no_notation_knows_are_pointed_at(text: str) -> None:
    with pytest.raises(rl.ParseError, match="past its beginning") as caught:
        rl.parse(text)
    assert caught.value.position == 0


PASTED = [
    ("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", "cute:Sw<3,3,3> o 0 o (8,64):(64,1)"),
    ("Sw<3,4,3>_smem_ptr[8b](0x7f10) o (8,128):(128,1)", "cute:Sw<3,4,3> o 0 o (8,128):(128,1)"),
    ("S<3,3,3> o 0 o (8,64):(64,1)", "cute:Sw<3,3,3> o 0 o (8,64):(64,1)"),
    ("gmem_ptr[32b](0x7f00) o (8,64):(64,1)", "(8,64):(64,1)"),
    (
        "using L = cute::Layout<cute::Shape<Int<8>,cute::Shape<_2,_4>>, Stride<_64,Stride<_1,_2>>>;",
        "(8,(2,4)):(64,(1,2))",
    ),
    ("make_layout(make_shape(8, Int<64>{}), make_stride(64, _1))", "(8,64):(64,1)"),
    ("ptr[32b](0x7ffe84a380f0) o (_8,4):(4,_1)", "(8,4):(4,1)"),
    ("subptr[4b](0x7ffe84a380f0.0) o (_8,4):(4,_1)", "(8,4):(4,1)"),
    ("tmem_[32b](0x0000.0000) o (_128,_8):(_65536,_1)", "(128,8):(65536,1)"),
    ("smem_ptr[16b](0x7ffe) o Sw<3,3,3> o _0 o (_8,_64):(_64,_1)", "cute:Sw<3,3,3> o 0 o (8,64):(64,1)"),
    ("gmem_ptr[32b](0x7f) o (_2,_2):(_1,_2):\n  0.00e+00  0.00e+00\n  0.00e+00  0.00e+00\n", "(2,2):(1,2)"),
    ("ArithTuple(2,_0) o (_2,_2):(_1@0,_1@1)", "cute:Sw<0,0,0> o 2@0 o (2,2):(1@0,1@1)"),
    ("make_layout(Shape<_8,_4>{}, Stride<_4,_1>{})", "(8,4):(4,1)"),
    ("make_layout(make_shape(Int<2>{}, make_shape(3, 4)), LayoutRight{})", "(2,(3,4)):(12,(4,1))"),
    ("make_layout(make_shape(2, 3), GenColMajor{})", "(2,3):(1,2)"),
    ("Layout<Shape<_8,_4>>{}", "(8,4):(1,8)"),
    ("using L = decltype(make_layout(Shape<_8,_4>{}, Stride<_4,_1>{}));", "(8,4):(4,1)"),
    (
        """using SmemLayoutAtom = decltype(
            composition(Swizzle<3, 3, 3>{},
                        // rows of 128 bytes
                        Layout<Shape<_8, Int<64>>,
                               Stride<Int<64>, _1>>{}));""",
        "cute:Sw<3,3,3> o 0 o (8,64):(64,1)",
    ),
    ("cute::Layout<cute::tuple<cute::_8, cute::C<4> >, cute::tuple<cute::constant<int, 4>, cute::_1> >", "(8,4):(4,1)"),
    ("cute.make_layout((8, 4), stride=(4, 1))", "(8,4):(4,1)"),
    ("f32[8, 16][16, 1]cuda:0", "(8,16):(16,1)"),
    ('t: "f32[3, 2][1, 3]cpu"', "(3,2):(1,3)"),
    ("FixedLayout('cuda:0', torch.float32, size=[8, 16], stride=[16, 1], offset=4)", "((8, 16):(16, 1)) offset 4"),
    ("assert_size_stride(arg0_1, (8, 16), (16, 1))", "(8,16):(16,1)"),
    ("assert_size_stride(arg0_1, (8, 16), (16, 1), 'torch.ops.aten.add')", "(8,16):(16,1)"),
    ("buf0 = empty_strided_cpu((8, 16), (16, 1), torch.float32)", "(8,16):(16,1)"),
    ("x = rand_strided((8, 16), (16, 1), device='cuda:0', dtype=torch.float32)", "(8,16):(16,1)"),
    ("empty_strided_cuda((8, 16), (16, 1), torch.float32)", "(8,16):(16,1)"),
    ("shape=torch.Size([2, 3]), stride=(3, 1)", "(2,3):(3,1)"),
    ("x.as_strided((2,3),(3,1),5)", "((2, 3):(3, 1)) offset 5"),
    ("reinterpret_tensor(buf0, (2,3),(3,1),6)", "((2, 3):(3, 1)) offset 6"),
    ("ROOT %add.5 = f32[8,128]{1,0} add(f32[8,128]{1,0} %a)", "(8,128):(128,1)"),
    ("%x = memref.alloc() : memref<3x4xf32, strided<[4, 1]>>", "(3,4):(4,1)"),
    ("%v = memref.subview %0[0, 0] [2, 2] [1, 1] : memref<3x4xf32> to memref<2x2xf32, strided<[4, 1]>>", "(2,2):(4,1)"),
    ("#map = affine_map<(d0, d1) -> (d1, d0)>", "affine_map<(d0, d1) -> (d1, d0)>"),
    ("%arg0: memref<3x4xf32, strided<[1, 3]>>", "(3,4):(1,3)"),
    ("f32[8,128]{0,1} %p.0", "(8,128):(1,8)"),
    ("Layout(major_to_minor=(0, 1), tiling=(), sub_byte_element_size_in_bits=0)", "xla:{1,0}"),
    (
        "Layout(major_to_minor=(1, 0), tiling=((8, 128), (2, 1)), sub_byte_element_size_in_bits=4)",
        "xla:{0,1:T(8,128)(2,1)E(4)}",
    ),
    ("Layout(shape=(8, 4), stride=(4, 1), offset=3)", "((8, 4):(4, 1)) offset 3"),
    (
        "shape: [8, 6], strides: [24, 4], interleaveLayout: InterleaveLayout(dimension: 0, factor: 4)",
        "((4,2),6):((1,24),4)",
    ),
    ("dnnl::memory::format_tag::nChw16c", "onednn:nChw16c"),
    ("f32::blocked:acdb::f0", "onednn:acdb"),
    ("src_f32::blocked:ab:f0", "onednn:ab"),
    ("src:f32:ap:blocked:aBcd16b::f0", "onednn:aBcd16b"),
    ("bia:f32::blocked:ab::f0_mask0", "onednn:ab"),
    ("wei:s8:a:blocked:AcdB16b16a4b::f5:s8m1:zpm1:sa0.5", "onednn:AcdB16b16a4b"),
    ("0 1 / 1, 32@4 1 ,4", "0 1 / 1,32 1,4"),
    ("typedef ChunkedMemoryLayout<2, 0,0, 1,0, 0,8, 1,32> Mine;", "ChunkedMemoryLayout<2, 0,0, 1,0, 0,8, 1,32>"),
    ("using Mine = ChunkedMemoryLayout<2, 0,0, 1,0, 0,8, 1,32>;", "ChunkedMemoryLayout<2, 0,0, 1,0, 0,8, 1,32>"),
]


@pytest.mark.parametrize(("text", "same"), PASTED)
def test_texts_as_people_paste_them(text: str, same: str) -> None:
    assert rl.parse(text) == rl.parse(same)


def test_strides_in_onednns_log_count() -> None:
    assert rl.parse("src:f32::blocked:ab:16x1:f0", shape=(4, 5)) == Layout((4, 5), (16, 1))
    assert rl.parse("f32::blocked:ba:1x8:f0", shape=(4, 5)) == Layout((4, 5), (1, 8))
    for text in ("f32:0:blocked:ab::f0", "f32:po:blocked:ab::f0", "f32:p:blocked:aBc16b:99x16x1:f0"):
        with pytest.raises(rl.NotExpressible, match=r"offset|gaps"):
            rl.parse(text)


def test_an_array_interface_as_it_prints() -> None:
    for array in (np.zeros((3, 4), "f4"), np.zeros((3, 4), "f8").T, np.zeros((6, 4), "i2")[::2]):
        expected = Layout(array.shape, tuple(s // array.itemsize for s in array.strides))
        assert rl.parse(str(array.__array_interface__)) == expected


def test_tensors_as_torch_prints_them() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.fx.passes.shape_prop")
    for x in (torch.zeros(2, 3), torch.zeros(4, 3).t(), torch.zeros(4, 6)[1:, ::2], torch.zeros(2, 3, 4, 5)[0, 1]):
        expected = Layout(tuple(x.size()), x.stride(), offset=x.storage_offset())
        assert rl.parse(f"{x.size()} {x.stride()} {x.storage_offset()}") == expected
        assert rl.parse(str((x.size(), x.stride(), x.storage_offset()))) == expected
        graph = torch.fx.symbolic_trace(lambda a: a)
        torch.fx.passes.shape_prop.ShapeProp(graph).propagate(x)
        plain = expected.with_offset(0)
        assert rl.parse(str(next(iter(graph.graph.nodes)).meta["tensor_meta"])) == plain
        script = torch.jit.trace(lambda a: a + 1, x, check_trace=False)
        assert rl.parse(next(script.graph.inputs()).type().str()) == plain


def test_names_that_depend_on_the_width() -> None:
    assert rl.parse("htp:Crouton", dtype="int16") == rl.catalog.get("htp:R4Crouton2")
    assert rl.parse("smem:K_SW128", dtype="float16") == rl.parse("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)")
    with pytest.raises(rl.ShapeError, match="width"):
        rl.parse("htp:Crouton")
    assert rl.compare("htp:Crouton", "htp:R4Crouton2", shape=(1, 8, 8, 32), dtype="int16")
    assert "ascend:FRACTAL_NZ" not in rl.catalog.find(Layout((128, 64), (64, 1)), element_bits=32)
    assert "made for elements of 16 bits, not of 8" in rl.explain("htp:R4Crouton2", (1, 8, 8, 32), dtype="uint8")


def test_misspelled_names_get_their_neighbours() -> None:
    with pytest.raises(rl.ParseError) as caught:
        rl.parse("R4crouton")
    assert "htp:R4Crouton" in caught.value.hint


def test_what_has_a_layout_is_one() -> None:
    assert rl.compare(rl.infer(np.zeros((3, 4))), "(3,4):(4,1)")
    with pytest.raises(rl.ShapeError) as caught:
        rl.compare(np.zeros((3, 4)), "(3,4):(4,1)")  # type: ignore[arg-type]
    assert "infer" in caught.value.hint


def test_formats_behind_batch_dimensions() -> None:
    tile = rl.catalog.get("tenstorrent:TILE")
    batched = tile.batched(2, "nc")  # type: ignore[union-attr]
    layout = batched.layout((2, 3, 40, 33))
    assert batched.axes == "nc" + tile.axes  # type: ignore[union-attr, operator]
    one = tile.layout((40, 33))  # type: ignore[union-attr]
    assert (layout.offsets() == one.offsets() + np.arange(6).reshape(2, 3, 1, 1) * one.storage_size).all()


def test_numpys_short_names_of_types() -> None:
    for name in ("float", "'d'", "'<f8'", "np.float64", "float64"):
        assert rl.parse(f"shape=(3, 4), strides=(32, 8), dtype={name}") == Layout((3, 4), (4, 1))


def test_packs_know_the_rank_of_their_source() -> None:
    text = """
    %0 = linalg.pack %a inner_dims_pos = [0] inner_tiles = [8] into %b : tensor<128x256xi8> -> tensor<16x256x8xi8>
    %1 = linalg.pack %0 inner_dims_pos = [1] inner_tiles = [4] into %c : tensor<16x256x8xi8> -> tensor<16x64x8x4xi8>
    """
    assert str(rl.parse(text)) == "0 1 / 0,8 1,4"


def test_room_that_core_ai_cannot_say_is_refused() -> None:
    packed = rl.coreai.packed([3], alignments=[8, 1])
    with pytest.raises(rl.NotExpressible, match="reserved"):
        rl.render(packed, "coreai")
    assert rl.parse(rl.render(packed, "coreai:strict"), "coreai").storage_size == 8
    with pytest.raises(rl.NotExpressible):
        rl.render(Layout(((0, 1),), ((1, 1),)), "coreai:strict")


@pytest.mark.parametrize(
    "text",
    [
        "FlatMemoryLayout<1000000000>",
        "ChunkedMemoryLayout<1000000000, 0,0>",
        f"ChunkedMemoryLayout<{10**30}, 0,0>",
        "/* " * 20000,
        "memref<" + "1x" * 30000 + "f32>",
        "memref<f32" + ",x" * 30000,
        "affine_map<(d0) -> (" + "+".join(f"d0 floordiv {k}" for k in range(1, 3000)) + ")>",
        "{0:T" + "(1)" * 20000 + "}",
        "{0:T(" + "*," * 20000 + "1)}",
        "{0:P" + "(" * 30000 + "}",
        "f32[" + "1," * 30000 + "1]",
        "A" + "2a" * 30000,
        "0 / " + "0,8 " * 12000,
        "size=(" + "9," * 30000 + "), stride=()",
        "Layout.row_major(" + "9," * 30000 + "9)",
        "4:" + "+".join(f"1@{k}@0" for k in range(9000)),
    ],
)
def test_large_texts_are_answered_quickly(text: str) -> None:
    def refuse() -> None:
        with pytest.raises(rl.LayoutError):
            rl.parse(text, shape=(2,))

    assert loops_of(refuse) < 5 * LOOPS_PER_SECOND
