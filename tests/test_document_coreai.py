"""Apple's page "NDArray.InterleaveLayout", statement by statement, then ``NDArray`` and its neighbours.

The page came twice, as its text and as its source, which has the topics and the relationships besides; both say the
same, in the same order.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product as cartesian
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from documents import Document, Statement
from relayout import coreai
from relayout.cli.main import main
from relayout.coreai import InterleaveLayout, NDArray, NDArrayDescriptor

PAGE = Document("coming_from/coreai.md")
INTERLEAVED = """shape=[8, 256, 256], strides=[262144, 1024, 4]
interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)"""
EQUIVALENT = """shape=[2, 256, 256, 4], strides=[262144, 1024, 4, 1]
interleaveLayout=nil"""


def formula(index: tuple[int, ...], strides: tuple[int, ...], d: int, f: int) -> int:
    """The page's, word by word."""
    return (
        (index[d] // f) * strides[d]
        + (index[d] % f)
        + sum(i * s for k, (i, s) in enumerate(zip(index, strides)) if k != d)
    )


@PAGE.says("NDArray.InterleaveLayout: Describes the interleaved memory layout of an ndArray dimension")
def _() -> None:
    array = NDArray([8, 6], "float16", interleave_layout=InterleaveLayout(0, 4))
    assert array.interleave_layout == InterleaveLayout(dimension=0, factor=4)
    assert NDArray([8, 6], "float16").interleave_layout is None


@PAGE.says("struct InterleaveLayout")
def _() -> None:
    assert isinstance(InterleaveLayout, type)
    with pytest.raises(AttributeError):
        InterleaveLayout(0, 4).factor = 8


@PAGE.says("elements of the interleaved dimension are stored in physically contiguous blocks of factor elements")
def _() -> None:
    array = NDArray([8, 2, 3], "float32", interleave_layout=InterleaveLayout(0, 4))
    for block, h, w in cartesian(range(2), range(2), range(3)):
        places = [array.layout(4 * block + k, h, w) for k in range(4)]
        assert places == list(range(places[0], places[0] + 4))


@PAGE.says("(stride 1 between adjacent elements within a block)")
def _() -> None:
    assert NDArray([8, 2, 3], "float32", interleave_layout=InterleaveLayout(0, 4)).layout.stride[0][0] == 1


@PAGE.says("This differs from the standard layout where elements are separated by the strides of subsequent dimensions")
def _() -> None:
    plain = NDArray([8, 2, 3], "float32")
    assert plain.strides == (6, 3, 1)
    assert plain.layout(1, 0, 0) - plain.layout(0, 0, 0) == 6


@PAGE.says("a [C, H, W] tensor uses InterleaveLayout(dimension: 0, factor: C) to store all channels like RGBRGB...")
def _() -> None:
    planes = np.frombuffer(b"RRRRGGGGBBBB", np.uint8).reshape(3, 2, 2)
    assert bytes(rl.repack(planes, InterleaveLayout(dimension=0, factor=3))) == b"RGBRGBRGBRGB"


@PAGE.says("rather than in separate planar slices, like RRR...GGG...BBB...")
def _() -> None:
    planes = np.frombuffer(b"RRRRGGGGBBBB", np.uint8).reshape(3, 2, 2)
    assert bytes(NDArray.from_numpy(planes).raw) == b"RRRRGGGGBBBB"


@PAGE.says("this can be useful for optimizing the layout of an ndArray based on how the later compute will access it")
def _() -> None:
    x = np.arange(48, dtype=np.float32).reshape(8, 2, 3)
    stored = rl.repack(x, InterleaveLayout(0, 4))
    assert (stored == x.reshape(2, 4, 2, 3).transpose(0, 2, 3, 1)).all()
    assert (rl.repack(stored, "row-major", src=InterleaveLayout(0, 4), shape=x.shape) == x).all()


@PAGE.says("The stride for the interleaved dimension (as reported by NDArray.strides) is a block stride")
def _() -> None:
    array = NDArray([8, 2, 3], "float32", interleave_layout=InterleaveLayout(0, 4))
    assert array.strides[0] == array.layout(4, 0, 0) - array.layout(0, 0, 0) == 24


@PAGE.says("the distance in memory between adjacent blocks of factor elements, not between individual elements")
def _() -> None:
    array = NDArray([8, 2, 3], "float32", [100, 40, 4], InterleaveLayout(0, 4))
    assert array.strides == (100, 40, 4)
    assert array.layout(4, 0, 0) - array.layout(3, 0, 0) == 100 - 3


@PAGE.says("Within a block, adjacent elements have stride 1")
def _() -> None:
    array = NDArray([8, 2, 3], "float32", [100, 40, 4], InterleaveLayout(0, 4))
    assert [array.layout(c, 1, 2) - array.layout(0, 1, 2) for c in range(4)] == [0, 1, 2, 3]


@PAGE.says("offset = (index[d] / f) * strides[d] + (index[d] % f) + Σ index[i] * strides[i] for all i ≠ d")
def _() -> None:
    for shape, strides, d, f in (
        ((8, 2, 3), (24, 12, 4), 0, 4),
        ((2, 10, 3), (99, 20, 5), 1, 4),
        ((3, 2, 7), (40, 20, 3), 2, 3),
    ):
        layout = coreai.layout(shape, strides, InterleaveLayout(d, f))
        assert coreai.layout(shape, strides, (d, f)) == layout
        for index in np.ndindex(*shape):
            assert layout(index) == formula(index, strides, d, f)


@PAGE.says(
    "When factor divides the size evenly, the layout can equivalently be expressed as a shape/stride transformation"
)
def _() -> None:
    layout = coreai.packed([8, 2, 3], InterleaveLayout(0, 4))
    interleaved, split = coreai.equivalents(layout)
    assert interleaved.interleave_layout == InterleaveLayout(0, 4)
    assert (split.shape, split.strides, split.interleave_layout) == ((2, 2, 3, 4), (24, 12, 4, 1), None)
    for c, h, w in np.ndindex(8, 2, 3):
        assert layout(c, h, w) == int(np.dot((c // 4, h, w, c % 4), split.strides))


@PAGE.says("shape=[8, 256, 256], strides=[262144, 1024, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)")
def _() -> None:
    layout = rl.parse(INTERLEAVED)
    assert layout == coreai.layout([8, 256, 256], [262144, 1024, 4], InterleaveLayout(dimension=0, factor=4))
    assert layout == coreai.packed([8, 256, 256], InterleaveLayout(0, 4)), "these are the default strides, too"
    assert layout.to("coreai") == INTERLEAVED.replace("\n", " ")


@PAGE.says("shape=[2, 256, 256, 4], strides=[262144, 1024, 4, 1] interleaveLayout=nil")
def _() -> None:
    layout = rl.parse(EQUIVALENT)
    assert layout.to("coreai") == EQUIVALENT.replace("\n", " ")
    assert coreai.describe(layout) == coreai.equivalents(rl.parse(INTERLEAVED))[1]


@PAGE.says(
    "The interleaved form preserves the original logical shape; the equivalent form makes the blocking explicit",
    because="So the two are functions on different domains, and `compare` says how the one memory has two descriptions",
)
def _() -> None:
    verdict = rl.compare(INTERLEAVED, EQUIVALENT)
    assert verdict.domains == ((8, 256, 256), (2, 256, 256, 4))
    assert str(verdict.regrouping) == "reshape(2, 4, 256, 256).permute(0, 2, 3, 1)"
    assert verdict.regrouping.of(rl.parse(INTERLEAVED)).equivalent(rl.parse(EQUIVALENT))


@PAGE.says(
    "When factor does not divide the dimension size evenly, the shape/stride equivalence is not possible",
    because="One stride says it all the same where there is one block, or where blocks follow each other without a gap",
)
def _() -> None:
    def forms(*words: Any) -> list[NDArrayDescriptor]:
        return coreai.equivalents(coreai.layout(*words))[1:]

    assert forms([10, 5], [20, 4], InterleaveLayout(0, 4)) == []
    assert forms([3, 5], [20, 4], InterleaveLayout(0, 4)) == [NDArrayDescriptor((3, 5), (1, 4))]
    assert forms([10], [4], InterleaveLayout(0, 4)) == [NDArrayDescriptor((10,), (1,), reserved=12)]


@PAGE.says(
    "In such case the interleaved representation is the only way to express the layout",
    because="a layout has a window on whole blocks, so every notation that knows padding can say it",
)
def _() -> None:
    layout = coreai.packed([10, 5], InterleaveLayout(0, 4))
    texts = [layout.to("mojo"), "Ab4a", "htp:ChunkedMemoryLayout<2, 0,0, 1,0, 0,4>"]
    for text in texts:
        assert rl.compare(layout, text)
    with pytest.raises(rl.NotExpressible, match="does not divide"):
        NDArray([10, 5], "int8", interleave_layout=InterleaveLayout(0, 4)).without_interleave()


@PAGE.says("init(dimension:factor:)")
def _() -> None:
    assert InterleaveLayout(dimension=1, factor=8) == InterleaveLayout(1, 8)
    assert eval(repr(InterleaveLayout(1, 8))) == InterleaveLayout(1, 8)
    assert rl.resolve(str(InterleaveLayout(1, 8))).format == InterleaveLayout(1, 8)


@PAGE.says("dimension")
def _() -> None:
    assert InterleaveLayout(1, 8).dimension == 1


@PAGE.says("factor")
def _() -> None:
    assert InterleaveLayout(1, 8).factor == 8


@PAGE.says("Conforms To: Equatable")
def _() -> None:
    assert InterleaveLayout(0, 4) == InterleaveLayout(0, 4)
    assert InterleaveLayout(0, 4) != InterleaveLayout(1, 4)
    assert InterleaveLayout(0, 4) != InterleaveLayout(0, 8)
    for other in ((0, 4), [0, 4], "InterleaveLayout(dimension: 0, factor: 4)", None, 4):
        assert InterleaveLayout(0, 4) != other
        assert other != InterleaveLayout(0, 4)


@PAGE.says("Conforms To: Sendable, SendableMetatype")
def _() -> None:
    x = InterleaveLayout(0, 4)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: (x, InterleaveLayout)).result() == (x, InterleaveLayout)
    for there in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert there == x
        assert hash(there) == hash(x)


@pytest.mark.parametrize("statement", PAGE.statements, ids=PAGE.names())
def test_the_page_statement_by_statement(statement: Statement) -> None:
    statement.check()


def test_every_other_answer_has_its_reason_on_the_page_for_readers_of_core_ai() -> None:
    assert PAGE.unexplained() == []
    assert any(s.because for s in PAGE.statements)


# ---- what is no interleave layout ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair",
    [(-3, 0), (-1, 4), (0, 0), (0, -4), (1.5, "x"), (0, "4"), (None, 4), (0, 4.0), (True, 4), ("", ""), ([0], 4)],
)
def test_numbers_that_no_array_has_are_refused_where_they_are_written(pair: tuple[Any, Any]) -> None:
    with pytest.raises(rl.ShapeError) as caught:
        InterleaveLayout(*pair)
    assert caught.value.hint


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_a_dimension_that_the_array_does_not_have_is_refused(shape: tuple[int, ...]) -> None:
    x = InterleaveLayout(2, 4)
    for make in (x.layout, x.stored_shape, lambda s: coreai.layout(s, s, x), lambda s: NDArray(s, "int8", None, x)):
        with pytest.raises(rl.ShapeError, match="does not fit the shape"):
            make(shape)


# ---- default strides -----------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(1, 5), st.data())
def test_default_strides_hold_whole_blocks_whether_the_factor_divides_or_not(
    shape: list[int], factor: int, data: Any
) -> None:
    d = data.draw(st.integers(0, len(shape) - 1))
    interleave = InterleaveLayout(d, factor)
    counts = [-(-n // factor) if k == d else n for k, n in enumerate(shape)]
    expected = [factor * int(np.prod(counts[k + 1 :], dtype=int)) for k in range(len(shape))]
    described = coreai.describe(coreai.packed(shape, interleave))
    if np.prod(shape):
        assert described.strides == tuple(expected)
        assert described.allocation_elements == factor * np.prod(counts)
        assert described.interleave_layout == interleave
    x = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
    stored = rl.repack(x, interleave, fill=-1)
    assert stored.shape == interleave.stored_shape(shape) == (*counts, factor)
    padded = np.full([n * factor if k == d else n for k, n in enumerate(counts)], -1, np.int16)
    padded[tuple(slice(n) for n in shape)] = x
    blocks = padded.reshape(*counts[: d + 1], factor, *counts[d + 1 :])
    assert (stored == np.moveaxis(blocks, d + 1, -1)).all()


def test_the_hardwares_own_list_is_strict_as_apples_compiler_is() -> None:
    with pytest.raises(rl.ShapeError, match="do not divide"):
        coreai.packed([10, 5], [4, 1])
    with pytest.raises(rl.ShapeError, match="do not divide"):
        rl.parse("shape=[10, 5], interleave=[4, 1]")
    assert coreai.packed([12, 5], [4, 1]) == coreai.packed([12, 5], InterleaveLayout(0, 4))


# ---- wherever a target is ------------------------------------------------------------------------------------

TARGET = InterleaveLayout(0, 4)
DATA = np.arange(40, dtype=np.float32).reshape(10, 4)
EXPECTED = [formula(c, (16, 4), 0, 4) for c in np.ndindex(10, 4)]
"""Where the elements lie, row-major: blocks of four, four of them in a row of blocks."""


@rl.expects(x=TARGET)
def kernel(x: Any) -> Any:
    return x


WAYS: dict[str, Callable[[Any], rl.Layout]] = {
    "resolve": lambda to: rl.resolve(to, shape=DATA.shape).placed,
    "from_logical": lambda to: rl.from_logical(DATA, to).layout,
    "empty": lambda to: rl.empty(to, "int8", DATA.shape).layout,
    "full": lambda to: rl.full(to, 1, "int8", DATA.shape).layout,
    "repack": lambda to: rl.repack(rl.tensor(DATA), to).layout,
    "plan": lambda to: rl.plan(rl.Layout.row_major(DATA.shape), to, "float32").target,
    "check": lambda to: rl.check(rl.from_logical(DATA, to), to).layout,
    "expects": lambda to: kernel(rl.from_logical(DATA, to)).layout,
    "compare": lambda to: rl.compare(to, rl.Layout.row_major(DATA.shape)).a,
}


@pytest.mark.parametrize("target", [TARGET, str(TARGET), f"coreai:{TARGET}", f"interleaveLayout={TARGET!r}"], ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_an_interleave_layout_is_taken_wherever_a_target_is(way: str, target: Any) -> None:
    assert list(WAYS[way](target).strided_index()) == EXPECTED


def test_pictures_words_and_files_take_it_too(tmp_path: Path) -> None:
    assert "extents" not in str(rl.draw(TARGET, shape=DATA.shape))
    assert "4 of dimension 0 (stride 1)" in rl.explain(TARGET, shape=DATA.shape)
    assert "Ab4a" in str(rl.rosetta(TARGET, shape=DATA.shape))
    np.save(tmp_path / "a.npy", DATA)
    for name, to in (("b", TARGET), ("c", str(TARGET))):
        rl.repack_file(tmp_path / "a.npy", tmp_path / f"{name}.npy", to=to)
        stored = rl.open(tmp_path / f"{name}.npy")[name]
        assert list(stored.layout.strided_index()) == EXPECTED
        assert (stored.numpy() == DATA).all()


@pytest.mark.parametrize("command", ["show", "explain", "draw"])
def test_commands_read_it(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["relayout", command, str(TARGET), "--shape", "10,4"])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 0
    assert "10" in capsys.readouterr().out


def test_data_in_another_layout_is_refused_by_its_guard() -> None:
    with pytest.raises(rl.LayoutMismatch, match=r"at \(1, 0\) it is 4 from the start, expected 1"):
        kernel(DATA)


@pytest.mark.parametrize(
    ("text", "layout", "element"),
    [
        ("NDArray(shape: [8, 6], scalarType: .float16)", rl.Layout.row_major(8, 6), "float16"),
        ("NDArray(shape: [8, 6], scalarType: .int4, strides: [1, 8])", rl.Layout((8, 6), (1, 8)), "int4"),
        (
            "NDArray(shape: [8, 6], scalarType: .float8e4m3fn, strides: [24, 4], "
            "interleaveLayout: NDArray.InterleaveLayout(dimension: 0, factor: 4))",
            coreai.layout([8, 6], [24, 4], TARGET),
            "float8_e4m3fn",
        ),
        ("shape=[10, 6], interleaveLayout=.init(dimension: 0, factor: 4)", coreai.packed([10, 6], TARGET), None),
    ],
)
def test_swifts_calls_are_read_with_their_type(text: str, layout: rl.Layout, element: str | None) -> None:
    found = rl.resolve(text)
    assert found.layout == layout
    assert (found.element and found.element.name) == element


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("coreai:InterleaveLayout(dimension: 0)", 36),
        ("coreai:InterleaveLayout(factor: 4, dimension: 0)", 24),
        ("coreai:NDArray(shape: [8, 6], scalarType: .float17)", 43),
        ("coreai:NDArray(shape: [8, 6], scalarType: .float16", 50),
        ("coreai:shape=[8, 6], interleaveLayout=4", 38),
        ("coreai:shape=[8, 6], interleaveLayout=nil", 41),
    ],
)
def test_what_is_no_call_is_pointed_at(text: str, position: int) -> None:
    with pytest.raises(rl.ParseError) as caught:
        rl.resolve(text)
    assert caught.value.position == position


# ---- NDArray -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "element", "bits"),
    [
        ("bool", "bool", 8),
        ("int2", "int2", 2),
        ("uint1", "uint1", 1),
        ("float16", "float16", 16),
        ("bfloat16", "bfloat16", 16),
        ("float4e2m1fn", "float4_e2m1fn", 4),
        ("float8e4m3fn", "float8_e4m3fn", 8),
        ("float8e5m2", "float8_e5m2", 8),
        ("float8e8m0fn", "float8_e8m0fnu", 8),
    ],
)
def test_the_descriptor_names_the_scalar_type(name: str, element: str, bits: int) -> None:
    for given_name in (name, element):
        array = NDArray([4, 8], given_name)
        assert (array.scalar_type, array.descriptor.scalar_type, array.dtype) == (name, name, element)
        assert array.raw.nbytes == 32 * bits // 8


def test_a_type_without_a_name_in_core_ai() -> None:
    array = NDArray([2], "complex64")
    with pytest.raises(rl.NotExpressible, match="no scalar type complex64"):
        _ = array.descriptor
    assert NDArray([2], rl.ScaleOffset(0.5, 3, "quint8")).scalar_type == "uint8"
    with pytest.raises(rl.ShapeError, match="no element type"):
        NDArray([2], "float17")
    with pytest.raises(rl.NotExpressible, match="numpy has no type"):
        NDArray([2], "int128")


def test_the_descriptor_is_an_operand_as_the_array_is() -> None:
    array = NDArray([10, 5], "float32", [24, 4], TARGET)
    assert array.descriptor == NDArrayDescriptor((10, 5), (24, 4), TARGET, "float32")
    assert array.descriptor.rank == 2
    for operand in (array, array.descriptor):
        assert rl.resolve(operand).layout == coreai.layout([10, 5], [24, 4], TARGET)
    assert array.raw.size == array.descriptor.allocation_elements == 3 * 24
    aligned = coreai.describe(coreai.packed([10, 5], TARGET, [64, 1, 1]))
    assert aligned.reserved == 64
    assert coreai.describe(aligned.layout) == aligned


def test_memory_of_yours_is_not_copied() -> None:
    stored = np.zeros((3, 5, 4), np.float32)
    array = NDArray([10, 5], "float32", interleave_layout=TARGET, storage=stored)
    x = np.arange(50, dtype=np.float32).reshape(10, 5)
    array[...] = x
    for c, w in np.ndindex(10, 5):
        assert stored[c // 4, w, c % 4] == x[c, w]
    assert (stored[2, :, 2:] == 0).all()
    packed = NDArray([2, 3], "uint8", [4, 1], storage=bytearray(b"abc-def-"))
    assert packed.numpy().tobytes() == b"abcdef"
    with pytest.raises(rl.OutOfBounds, match="uses the elements"):
        NDArray([2, 3], "uint8", [4, 1], storage=bytes(6))


def test_to_numpy_and_back_without_a_copy() -> None:
    array = NDArray([8, 2, 3], "float32", interleave_layout=TARGET)
    split = array.without_interleave()
    view = split.numpy()
    assert isinstance(split, NDArray)
    assert (view.shape, view.strides) == ((2, 2, 3, 4), (96, 48, 16, 4))
    view[1, 1, 2, 3] = 5
    assert array[7, 1, 2] == 5
    again = NDArray.from_numpy(view)
    assert (again.strides, again.scalar_type, again.interleave_layout) == ((24, 12, 4, 1), "float32", None)
    again[0, 0, 0, 1] = 9
    assert array[1, 0, 0] == 9
    assert NDArray.from_numpy(array).interleave_layout == TARGET
    assert np.shares_memory(NDArray.from_numpy(view.T).numpy(), array.raw)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.zeros((4, 5))[::-1], "not negative"),
        (np.broadcast_to(np.zeros(5), (4, 5)), "stride 0"),
        (rl.tensor(np.zeros(8))[::-1], "not negative"),
        (rl.from_logical(np.zeros((1, 8, 8, 32), np.uint8), "htp:R4Crouton"), "no block table"),
        (rl.from_logical(np.zeros((8, 8)), rl.Layout(((4, 2), (4, 2)), ((1, 16), (4, 32)))), "one dimension"),
    ],
)
def test_arrays_that_core_ai_has_no_words_for(x: Any, words: str) -> None:
    with pytest.raises(rl.LayoutError, match=words):
        NDArray.from_numpy(x)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (([2, 3], "int8", [0, 1]), "stride 0"),
        (([2, 3], "int8", [-3, 1]), "not negative"),
        (([2, 3], "int8", [3]), "differ in length"),
        (([2, -3], "int8"), "size"),
        (([2, 3], "int8", None, (0, 2)), "is an InterleaveLayout or None"),
        ((6, "int8"), "list of integers"),
    ],
)
def test_arrays_that_cannot_be(words: tuple[Any, ...], message: str) -> None:
    with pytest.raises(rl.LayoutError, match=message):
        NDArray(*words)


def test_blocks_that_overlap_are_read_and_not_written() -> None:
    array = NDArray([8], "int8", [2], InterleaveLayout(0, 4), storage=bytearray(range(6)))
    assert array.numpy().tolist() == [0, 1, 2, 3, 2, 3, 4, 5]
    with pytest.raises(rl.Overlap):
        array[...] = 1


def test_views_are_arrays_of_core_ai_as_far_as_it_has_words() -> None:
    array = NDArray([8, 6], "int16", interleave_layout=TARGET)
    array[...] = np.arange(48).reshape(8, 6)
    half = array[4:, 2:]
    assert isinstance(half, NDArray)
    assert half.descriptor == NDArrayDescriptor((4, 4), (24, 4), TARGET, "int16", 0, 24 + 8)
    inside = array[3:]
    assert (inside.numpy() == np.arange(48).reshape(8, 6)[3:]).all()
    for tell in ("strides", "interleave_layout", "descriptor"):
        with pytest.raises(rl.NotExpressible, match="starts inside a block"):
            getattr(inside, tell)
    assert (pickle.loads(pickle.dumps(half)).numpy() == half.numpy()).all()
    assert type(copy.deepcopy(half)) is NDArray
    assert repr(array).startswith("<NDArray 8x6 int16")


def test_an_empty_array_and_a_scalar() -> None:
    assert NDArray([0, 3], "int8", interleave_layout=TARGET).numpy().shape == (0, 3)
    assert NDArray([], "int8").strides == ()
    assert NDArray([], "int8").numpy().shape == ()
