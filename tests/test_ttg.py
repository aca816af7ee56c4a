"""Triton's encodings, judged by Triton: every text that its compiler prints for some kernels, and many drawn at random.

The vectors are the wheel's own linear layouts (``ttg_vectors``).
"""

from __future__ import annotations

import dataclasses
import random
from itertools import product as cartesian

import pytest

import relayout as rl
from relayout.dialects import ttg
from relayout.dialects.ttg_encodings import KINDS
from relayout.dialects.ttg_gluon import LAYOUTS, gluon_text, read_gluon
from relayout.hardware.thread_values import linear_thread_values, thread_value_layout
from relayout.hardware.triton_memory import MemoryEncoding
from triton_vectors import Vector, vectors

FILES = ("operands", "kernels", "random")
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>"
MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32, 32, 8], isTransposed = false}>"
SWIZZLED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"


def undocumented(vector: Vector) -> bool:
    """Whether it is the one encoding whose linear layout in Triton is not what Triton documents."""
    plain = vector.text.startswith("#ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = true")
    return plain and len(vector.shape) > 2


@pytest.mark.parametrize("name", FILES)
def test_every_encoding_is_tritons_linear_layout(name: str) -> None:
    for vector in vectors(name):
        if undocumented(vector):
            with pytest.raises(rl.NotExpressible, match="not what Triton documents"):
                rl.LinearLayout.parse(vector.text, vector.shape)
            continue
        found = rl.LinearLayout.parse(vector.text, vector.shape)
        told = {name: [tuple(basis) for basis in found.bases[name]] for name in vector.bases}
        assert told == vector.bases, vector
        assert tuple(found.out_dims.values()) == vector.shape


@pytest.mark.parametrize("name", FILES)
def test_every_encoding_is_written_as_triton_prints_it(name: str) -> None:
    for vector in vectors(name):
        assert str(ttg.spelling(vector.text)) == vector.text


def test_the_vectors_are_of_every_kind() -> None:
    kinds = {vector.text.partition("<")[0] for name in FILES for vector in vectors(name)}
    unjudged = {"generic_linear", "amd_rotating_shared", "partitioned_shared", "shared"}
    assert {f"#{name}" for name in KINDS if name.rpartition(".")[2] not in unjudged} == kinds
    assert len(vectors("kernels")) > 500
    assert len(vectors("random")) > 1000


def some(count: int, largest: int, memory: bool) -> list[Vector]:
    """Vectors of few elements, of tensors in registers or in memory."""
    found = [
        v
        for name in FILES
        for v in vectors(name)
        if ("lane" in v.bases) != memory and 1 << sum(map(len, v.bases.values())) <= largest and not undocumented(v)
    ]
    return random.Random(0).sample(found, count)


def test_threads_and_values_count_places_from_the_first_dimension() -> None:
    for vector in some(60, 1 << 12, memory=False):
        layout = rl.resolve(vector.text, dialect="ttg", shape=vector.shape).placed
        threads = [b for name in ("lane", "warp", "block") for b in vector.bases[name]]
        assert layout.extents == (1 << len(threads), 1 << len(vector.bases["register"]))
        for t, v in cartesian(*[range(n) for n in layout.extents]):
            place = [0] * len(vector.shape)
            for x, bases in ((t, threads), (v, vector.bases["register"])):
                for k, basis in enumerate(bases):
                    if x >> k & 1:
                        place = [a ^ b for a, b in zip(place, basis)]
            index, weight = 0, 1
            for x, n in zip(place, vector.shape):
                index, weight = index + x * weight, weight * n
            assert layout(t, v) == index


def test_memory_has_the_first_offset_of_every_coordinate() -> None:
    seen = 0
    for vector in some(120, 1 << 12, memory=True):
        if any(map(any, vector.bases.get("block", []))) or "padded_shared" in vector.text or "row" in vector.bases:
            continue
        places: dict[tuple[int, ...], int] = {}
        for offset in range(1 << len(vector.bases["offset"])):
            place = tuple([0] * len(vector.shape))
            for k, basis in enumerate(vector.bases["offset"]):
                if offset >> k & 1:
                    place = tuple([a ^ b for a, b in zip(place, basis)])
            places.setdefault(place, offset)
        try:
            layout = rl.parse(vector.text, "ttg", vector.shape)
        except rl.NotExpressible as refusal:
            assert "no swizzle undoes that" in refusal.message
            continue
        assert {c: layout(*c) for c in places} == places
        seen += 1
    assert seen > 40


def test_padding_is_put_after_every_interval() -> None:
    layout = rl.parse("#ttg.padded_shared<[2:+1, 4:+2] {order = [0], shape = [8]}>")
    # Triton's documentation: e0 e1 p e2 e3 p p p e4 e5 p e6 e7 p p p.
    assert [layout(i) for i in range(8)] == [0, 1, 3, 4, 8, 9, 11, 12]
    moved = rl.parse("#ttg.padded_shared<[2:+2] {offset = [[2], [1]], block = []}>")
    assert [moved(i) for i in range(4)] == [0, 4, 1, 5]


def test_rotating_swizzles_are_those_of_tritons_documentation() -> None:
    text = "#ttg.amd_rotating_shared<{vec = 1, perPhase = 1, maxPhase = 4, order = [1, 0]}>"
    linear = rl.LinearLayout.parse(text, (8, 4))
    listed = "0 1 2 3  5 4 7 6  10 11 8 9  15 14 13 12  17 16 19 18  20 21 22 23  27 26 25 24  30 31 28 29"
    for offset, value in enumerate(map(int, listed.split())):
        assert linear(offset=offset, block=0) == (value // 4, value % 4)


def test_a_partition_is_an_output_of_its_own() -> None:
    text = (
        f"#ttg.partitioned_shared<{{numPartitions = 2, numGroups = 2, partitionDim = 0, partitionLayout = {SWIZZLED}}}>"
    )
    linear = rl.LinearLayout.parse(text, (64, 64))
    assert linear.in_dims == {"offset": 2048, "block": 1, "partition": 2}
    assert linear(offset=0, block=0, partition=1) == (16, 0)
    assert linear(offset=1024, block=0, partition=0) == (32, 0)
    with pytest.raises(rl.NotExpressible, match="one of 2 memories"):
        rl.parse(text, shape=(64, 64))


def test_a_tensor_in_registers_is_a_linear_layout() -> None:
    for vector in some(60, 1 << 12, memory=False):
        linear = rl.parse(vector.text, shape=vector.shape)
        assert isinstance(linear, rl.LinearLayout)
        assert {k: [list(b) for b in v] for k, v in linear.bases.items()} == {
            k: [list(b) for b in v] for k, v in vector.bases.items()
        }
        assert rl.parse(f"ttg:{vector.text}", shape=vector.shape) == linear
        assert rl.parse(rl.render(linear, "ttg")) == linear
        assert rl.compare(linear, rl.resolve(vector.text, shape=vector.shape).placed)
        assert rl.explain(linear)


# ---- texts -----------------------------------------------------------------------------------------------

WAYS = [
    f"tensor<32x64xf16, {BLOCKED}>",
    f"#blocked = {BLOCKED}\ntensor<32x64xf16, #blocked>",
    f"#blocked = {BLOCKED}\n#smem = #ttg.shared_memory\n%5 = tt.load %4, %3 : tensor<32x64x!tt.ptr<f16>, #blocked>",
    f"#blocked={BLOCKED}\n%0 = ttg.convert_layout %a : tensor<4x4xf16, #other> -> tensor<32x64xf16, #blocked>",
    f"tensor<32x64xf16, {BLOCKED.replace('#ttg', '#triton_gpu')}>",
    f"tensor<32x64xf16, {BLOCKED.replace('}>', ', CTAsPerCGA = [1, 1], CTASplitNum = [1, 1], CTAOrder = [1, 0]}>')}>",
    "tensor<32x64xf16, #ttg.blocked<{sizePerThread=[1 : i32,4],threadsPerWarp=[8,4],warpsPerCTA=[2,2],order=[1,0]}>>",
]
SHAPELESS = [
    BLOCKED,
    f"#blocked = {BLOCKED}",
    "gl.BlockedLayout([1, 4], [8, 4], [2, 2], [1, 0])",
    "layout = ttgl.BlockedLayout([1, 4], [8, 4], warps_per_cta=[2, 2], order=[1, 0])",
    "BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[8, 4], warps_per_cta=[2, 2], order=[1, 0], cga_layout=[])",
]


@pytest.mark.parametrize("text", WAYS)
def test_a_type_has_its_shape(text: str) -> None:
    assert rl.parse(text) == rl.parse(WAYS[0])
    assert rl.resolve(text).shape == (32, 64)
    assert rl.resolve(text).threads


@pytest.mark.parametrize("text", SHAPELESS)
def test_an_encoding_alone_needs_a_shape(text: str) -> None:
    assert rl.parse(text, shape=(32, 64)) == rl.parse(WAYS[0])
    with pytest.raises(rl.ShapeError, match="shape"):
        rl.parse(text)
    assert rl.compare(WAYS[0], text)


def test_buffers_of_several_stages_follow_each_other() -> None:
    one = rl.parse(SWIZZLED, shape=(64, 64))
    three = rl.parse(f"!ttg.memdesc<3x64x64xf16, {SWIZZLED}, #ttg.shared_memory, mutable>")
    assert three.extents == (3, 64, 64)
    assert all(three(s, i, 7) == 4096 * s + one(i, 7) for s in range(3) for i in range(64))
    part = f"!ttg.memdesc<64x64xf16, {SWIZZLED}, #ttg.shared_memory, mutable, 3x64x64>"
    assert rl.parse(part) == one
    with pytest.raises(rl.NotExpressible, match="does not tell which"):
        rl.parse(f"!ttg.memdesc<32x64xf16, {SWIZZLED}, #ttg.shared_memory, mutable, 64x64>")
    padded = rl.parse(
        "!ttg.memdesc<2x4x4xf16, #ttg.padded_shared<[8:+2] {order=[1,0], shape=[4,4]}>, #ttg.shared_memory>"
    )
    assert padded(1, 0, 0) == 20


def test_the_element_type_is_kept() -> None:
    assert rl.resolve(WAYS[0]).element.name == "float16"
    assert rl.resolve(f"tensor<32x64x!tt.ptr<f16>, {BLOCKED}>").element is None
    assert rl.resolve(WAYS[1]).to("ttg") == WAYS[0]
    assert rl.resolve(BLOCKED, shape=(32, 64)).to("ttg") == BLOCKED
    assert rl.rosetta(WAYS[0])["ttg"] == WAYS[0]


def test_a_text_is_written_in_another_style_as_what_it_is() -> None:
    gluon = "gl.BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[8, 4], warps_per_cta=[2, 2], order=[1, 0])"
    assert rl.resolve(WAYS[0]).to("ttg:gluon") == gluon
    assert rl.resolve(BLOCKED).to("ttg:gluon") == gluon
    assert rl.resolve(gluon, shape=(32, 64)).to("ttg") == BLOCKED
    nvmma = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    assert rl.resolve(nvmma, shape=(64, 64)).to("ttg:gluon").startswith("gl.NVMMASharedLayout(swizzle_byte_width=128, ")
    assert rl.resolve(rl.render(rl.LinearLayout.parse(WAYS[0]), "ttg")).to("ttg:blocked") == BLOCKED
    with pytest.raises(rl.ShapeError, match="no style 'triton'"):
        rl.resolve(BLOCKED).to("ttg:triton")


def test_gluon_has_words_for_the_same_encodings() -> None:
    seen = set()
    for vector in vectors("random"):
        encoding = ttg.spelling(vector.text).encoding
        text = gluon_text(encoding)
        assert read_gluon(text) == encoding, text
        seen.add(text.partition("(")[0].removeprefix("gl."))
    assert set(LAYOUTS) - seen == {"PartitionedSharedLayout"}


def test_gluons_parameters_are_those_of_the_wheel() -> None:
    gluon = pytest.importorskip("triton.experimental.gluon.language")
    from triton.experimental.gluon.language import amd
    from triton.experimental.gluon.language.amd import cdna5
    from triton.experimental.gluon.language.nvidia import blackwell, rubin

    for name, spelled in LAYOUTS.items():
        places = [m for m in (rubin, blackwell, amd, cdna5, gluon) if hasattr(m, name)]
        fields = [field.name for field in dataclasses.fields(getattr(places[0], name))]
        assert fields == list(spelled.fields), name


# ---- writing ---------------------------------------------------------------------------------------------


def test_a_linear_layout_is_written_as_bases() -> None:
    linear = rl.LinearLayout.parse(WAYS[0])
    text = rl.render(linear, "ttg")
    assert text.startswith("#ttg.linear<{register = [[0, 1], [0, 2], [0, 32], [16, 0]], lane = ")
    assert rl.LinearLayout.parse(text) == linear
    assert rl.render(linear, "ttg", dtype="float16") == f"tensor<32x64xf16, {text}>"
    assert rl.render(linear, "ttg:blocked") == BLOCKED
    assert rl.LinearLayout.parse(rl.render(linear, "ttg:gluon")) == linear
    mma = rl.LinearLayout.parse(MMA, (32, 32))
    with pytest.raises(rl.NotExpressible, match="no blocked encoding"):
        rl.render(mma, "ttg:blocked")
    with pytest.raises(rl.NotExpressible, match="no words for a LinearLayout"):
        rl.render(mma, "cute")
    lame = rl.LinearLayout({"x": [(1,)]}, {"dim0": 2})
    with pytest.raises(rl.NotExpressible, match="no encoding of x"):
        rl.render(lame, "ttg")
    with pytest.raises(rl.NotExpressible, match=r"reach \(2,\) of \(4,\)"):
        rl.render(rl.LinearLayout({"lane": [(1,)]}, {"dim0": 4}), "ttg")


def test_every_distributed_layout_is_written_and_read_back() -> None:
    for vector in some(150, 1 << 14, memory=False):
        linear = rl.LinearLayout.parse(vector.text, vector.shape)
        assert rl.LinearLayout.parse(rl.render(linear, "ttg")) == linear
        once = all(map(any, [*vector.bases["lane"], *vector.bases["warp"]])) and not vector.bases["block"]
        if vector.text.startswith("#ttg.blocked") and once:
            assert rl.LinearLayout.parse(rl.render(linear, "ttg:blocked"), vector.shape) == linear


def test_every_layout_of_shared_memory_is_written_and_read_back() -> None:
    seen = set()
    for vector in some(150, 1 << 12, memory=True):
        encoding = ttg.spelling(vector.text).encoding
        if not isinstance(encoding, MemoryEncoding) or "row" in vector.bases or "fp4Padded" in vector.text:
            continue
        try:
            layout = encoding.layout(vector.shape)
        except rl.NotExpressible:
            continue
        text = rl.render(layout, "ttg", dtype="float16")
        assert rl.parse(text).equivalent(layout)
        seen.add(text.partition("#ttg.")[2].partition("<")[0])
    assert seen == {"swizzled_shared", "padded_shared", "shared_linear"} | (seen & {"nvmma_shared"})


def test_what_ttg_cannot_hold_is_refused() -> None:
    for layout in (
        rl.Layout((3, 4)),
        rl.Layout((4, 4), (8, 1)).with_offset(2),
        rl.Layout((4, 4), (7, 1)),
        rl.Layout((4, 4), (1, 1)),
        rl.Layout((4, 4), (5, 1), swizzle=(1, 0, 2)),
    ):
        with pytest.raises(rl.NotExpressible) as caught:
            rl.render(layout, "ttg")
        assert caught.value.hint


def test_a_hopper_tile_is_named() -> None:
    tile = rl.parse("Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_64):(_64,_1)")
    assert rl.render(tile, "ttg") == SWIZZLED
    two = rl.Layout((64, (64, 2)), (64, (1, 4096)), swizzle=(3, 3, 3))
    nvmma = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    assert nvmma in rl.render(two, "ttg", dtype="float16")


def test_thread_value_layouts_go_both_ways() -> None:
    for vector in some(60, 1 << 12, memory=False):
        linear = rl.LinearLayout.parse(vector.text, vector.shape)
        if linear.in_dims["block"] > 1:
            continue
        layout = thread_value_layout(linear)
        assert linear_thread_values(layout, vector.shape, linear.in_dims["lane"]) == linear
    with pytest.raises(rl.ShapeError, match="whole warps"):
        linear_thread_values(rl.Layout((8, 2)), (4, 4))
    with pytest.raises(rl.ShapeError, match="reaches place"):
        linear_thread_values(rl.Layout((32, 2)), (4, 4))
    with pytest.raises(rl.ShapeError, match="not those of threads"):
        thread_value_layout(rl.LinearLayout({"offset": [(1,)]}, {"dim0": 2}))


# ---- questions -------------------------------------------------------------------------------------------


def test_a_picture_shows_who_holds_what() -> None:
    picture = str(rl.draw(f"tensor<16x8xf32, {MMA}>"))
    assert "T0V0" in picture
    assert "T31V3" in picture
    assert str(rl.draw(MMA, shape=(16, 8))).count("T5V1") == 1
    assert "T0V0" not in str(rl.draw(SWIZZLED, shape=(8, 64)))


def test_the_words_of_explain() -> None:
    said = rl.explain(f"tensor<16x32xf16, #ttg.dot_op<{{opIdx = 1, parent = {MMA}, kWidth = 2}}>>")
    assert "1 warp of 32 lanes: 16 values a thread (8 registers of 32 bits)" in said
    assert "2 neighbours along dimension 0 (4 bytes)" in said
    twice = rl.explain(BLOCKED, (8, 64))
    assert "Every element is held 2 times: by 2 warps." in twice
    named = rl.explain(rl.render(rl.LinearLayout.parse(WAYS[0]), "ttg"))
    assert f"On this shape it is {BLOCKED}." in named
    with pytest.raises(rl.ShapeError, match="axes"):
        rl.explain(WAYS[0], axes="mn")


def test_two_encodings_are_compared() -> None:
    assert rl.compare(WAYS[0], rl.render(rl.LinearLayout.parse(WAYS[0]), "ttg"))
    other = BLOCKED.replace("[8, 4]", "[4, 8]")
    verdict = rl.compare(BLOCKED, other, shape=(32, 64))
    assert not verdict
    assert "different at" in str(verdict)


def test_banks_are_asked_by_two_texts() -> None:
    smem = f"!ttg.memdesc<64x64xf16, {SWIZZLED}, #ttg.shared_memory, mutable>"
    down = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [1, 0]}>"
    for threads in (down, f"tensor<64x64xf16, {down}>", rl.LinearLayout.parse(down, (64, 64))):
        assert rl.banks(smem, threads, None, "ld.shared.b128").conflicts == 0
        assert rl.banks(smem.replace("maxPhase = 8", "maxPhase = 1"), threads, None, "ld.shared.b128").conflicts == 448


# ---- bad input -------------------------------------------------------------------------------------------

BAD = [
    ("#ttg.blokced<{}>", "no encoding #ttg.blokced", "#ttg.blocked"),
    ("#ttg.blocked<{sizePerThreads = [1]}>", "no field sizePerThreads", "sizePerThread"),
    ("#ttg.blocked<{order = [0]}>", "needs sizePerThread", "fields"),
    ("tensor<8xf16, #blocked>", "#blocked stands for", "put its line"),
    (f"#blocked1 = {BLOCKED}\ntensor<8x8xf16, #blocked>", "#blocked stands for", "#blocked1"),
    (f"#a = {BLOCKED}\n#b = {SWIZZLED}", "several encodings: #a, #b", "tensor<128x64xf16, #b>"),
    ("gl.BlokedLayout([1])", "no layout BlokedLayout", "BlockedLayout"),
    ("gl.BlockedLayout(size=[1])", "no parameter size", "size_per_thread"),
    (MMA.replace("versionMajor = 2", "versionMajor = 5"), "no version 5", "tensor memory"),
    (MMA.replace("[16, 8]", "[16]"), "instrShape", "[16, 8]"),
    (f"tensor<96x64xf16, {BLOCKED}>", "powers of two", "1, 2, 4, 8"),
    (f"tensor<96xf16, {BLOCKED}>", "2 dimensions", "2 sizes"),
    (BLOCKED.replace("order = [1, 0]", "order = [1, 1]"), "every dimension once", "[1, 0]"),
    (BLOCKED.replace("[8, 4]", "[8, 3]"), "no power of two", "1, 2, 4"),
    (BLOCKED.replace("[8, 4]", "[8]"), "1 sizes for 2 dimensions", "each"),
    (BLOCKED.replace("}>", ", CGALayout = [[2, 0]]}>"), "leaves out parts", "1, 2, 4"),
    (
        "#ttg.amd_mfma<{version = 7, warpsPerCTA = [1, 1], instrShape = [16, 16], isTransposed = true}>",
        "version 7",
        "gfx950",
    ),
    (
        "#ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [8, 8], isTransposed = true}>",
        "[8, 8]",
        "32 x 32",
    ),
    (
        "#ttg.amd_wmma<{version = 1, ctaLayout = {warp = []}, instrShape = [16, 16, 32]}>",
        "no instruction",
        "[16, 16, 16]",
    ),
    ("#ttg.dot_op<{opIdx = 2, parent = " + MMA + ", kWidth = 2}>", "no operand 2", "opIdx"),
    ("#ttg.dot_op<{opIdx = 0, parent = " + MMA + "}>", "kWidth is 0", "1, 2, 4"),
    ("#ttg.dot_op<{opIdx = 0, parent = " + SWIZZLED + "}>", "no product", "#ttg.nvidia_mma"),
    ("#ttg.slice<{dim = 2, parent = " + BLOCKED + "}>", "none to leave out at 2", "from 0 to 1"),
    ("#ttg.linear<{register = [[0, 2]], lane = [], warp = [], block = []}>", "to nobody", "step"),
    ("#ttg.linear<{register = [[1], [1]], lane = [], warp = [], block = []}>", "twice", "zeros"),
    ("#ttg.linear<{register = [[1, 1]], lane = [[1, 0]], warp = [], block = []}>", "no single step", "power of two"),
    ("#ttg.nvmma_shared<{swizzlingByteWidth = 48, elementBitWidth = 16}>", "48 bytes", "128"),
    ("#ttng.tensor_memory_encoding<blockM = 32, blockN = 8>", "blockM of 32", "64 or 128"),
    ("#ttng.tensor_memory_encoding<blockM = 128, blockN = 8, unpacked = true>", "older Triton", "colStride"),
    ("#triton_gpu.nvidia_mma<{versionMajor = 2}>", "before 3.3", "blocked, slice"),
]


@pytest.mark.parametrize(("text", "message", "hint"), BAD)
def test_mistakes_are_told_with_the_way_out(text: str, message: str, hint: str) -> None:
    with pytest.raises(rl.LayoutError) as caught:
        rl.parse(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_shapes_that_do_not_fit_are_refused() -> None:
    nvmma = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    with pytest.raises(rl.ShapeError, match="8 rows of 64"):
        rl.parse(nvmma, shape=(64, 32))
    with pytest.raises(rl.ShapeError, match=r"has the shape \(4, 8\)"):
        rl.LinearLayout.parse("#ttg.padded_shared<[4:+2] {order = [1, 0], shape = [4, 8]}>", (8, 8))
    with pytest.raises(rl.ShapeError, match="blocks of 128 rows"):
        rl.parse("#ttng.tensor_memory_encoding<blockM = 128, blockN = 64>", shape=(64, 64))
    with pytest.raises(rl.NotExpressible, match="shares the tensor out to 2 blocks"):
        rl.parse(SWIZZLED.replace("}>", ", CGALayout = [[1, 0]]}>"), shape=(64, 64))
    with pytest.raises(rl.ShapeError, match="shape"):
        rl.LinearLayout.parse(BLOCKED)
    with pytest.raises(rl.ShapeError, match="is a text"):
        rl.LinearLayout.parse(3)  # type: ignore[arg-type]
