"""Formats against the HTP page's listings and an independent numpy pad, reshape and transpose."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Format

CROUTON = Format(4, [(0, 0), (1, 0), (2, 0), (3, 0), (1, 8), (2, 8), (3, 32)], axes="nhwc", fill=31, indirect=4)
WEIGHTS = Format(4, [(3, 0), (2, 0), (0, 0), (1, 0), (2, 8), (3, 32), (2, 4)])
FLAT = Format(4, [(0, 0), (1, 0), (2, 0), (3, 0)])


@st.composite
def formats(draw: Any, backwards: bool = True, above: bool = True) -> Format:
    """Formats of up to four dimensions and four blocks, in any order, with any sizes, some counted backwards.

    Some blocks are digits above the rest of their dimension; of both kinds one further right is less significant.
    """
    rank = draw(st.integers(1, 4))
    order = draw(st.permutations(range(rank)))
    block = st.tuples(
        st.integers(0, rank - 1), st.sampled_from([1, 2, 3, 4]), st.sampled_from(["", "", "rest" * above])
    )
    blocks: list[tuple[int | str, ...]] = []
    running: dict[tuple[int, str], int] = {}
    for d, n, kind in draw(st.lists(block, max_size=4)):
        sign = draw(st.sampled_from([1, 1, -1])) if backwards else 1
        place = sign * running.setdefault((d, kind), 1)
        blocks.insert(0, (d, n, f"{place}rest" if abs(place) > 1 else "-rest"[place > 0 :]) if kind else (d, n, place))
        running[d, kind] *= n
    return Format(rank, [(d, 0) for d in order] + blocks)


def stored(fmt: Format, shape: Any, left: Any, right: Any, fill: int = -1) -> np.ndarray[Any, Any]:
    """The flat buffer of an arange in this format, by padding, splitting every dimension and transposing."""
    data = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    totals = [n + a + b for n, a, b in zip(shape, left, right, strict=True)]
    pads = [(a, -(-t // b) * b - n - a) for n, a, t, b in zip(shape, left, totals, fmt.block_shape, strict=True)]
    data = np.pad(data, pads, constant_values=fill)
    split: list[int] = []
    place: dict[int, int] = {}
    for d in range(fmt.rank):
        mine = [k for k, f in enumerate(fmt.factors) if f.dim == d]
        above, inner = [[k for k in mine[1:] if bool(fmt.factors[k].rests) == high] for high in (True, False)]
        rest = data.shape[d] // fmt.block_shape[d]
        split += [*[fmt.factors[k].size for k in above], rest, *[fmt.factors[k].size for k in inner]]
        for k in [*above, mine[0], *inner]:
            place[k] = len(place)
    digits = data.reshape(split).transpose([place[k] for k in range(len(fmt.factors))])
    return np.flip(digits, [k for k, f in enumerate(fmt.factors) if f.backwards]).reshape(-1)


@settings(max_examples=500)
@given(formats(), st.data())
def test_layouts_agree_with_numpy(fmt: Format, data: Any) -> None:
    sizes = st.lists(st.integers(1, 9), min_size=fmt.rank, max_size=fmt.rank)
    pads = st.lists(st.integers(0, 3), min_size=fmt.rank, max_size=fmt.rank)
    shape, left, right = data.draw(sizes), data.draw(pads), data.draw(pads)
    buffer = stored(fmt, shape, left, right)
    layout = fmt.layout(shape, left_pad=left, right_pad=right)
    assert layout.extents == tuple(shape)
    assert layout.storage_size == buffer.size
    assert (buffer[layout.offsets()] == np.arange(layout.size).reshape(shape)).all()
    words = {"left_pad": left, "right_pad": right}
    assert layout.padded_shape == fmt.padded_shape(shape, **words)
    assert int(np.prod(fmt.physical_shape(shape, **words))) == buffer.size
    number, place = fmt.split(shape, **words)
    block = int(np.prod(fmt.block_shape))
    assert (number.offsets() * block + place.offsets() == layout.offsets()).all()
    assert place.max_offset < block


def test_a_digit_may_count_backwards() -> None:
    """The first code of a pair in the high nibble, as bitsandbytes packs: the low nibble comes first in memory."""
    fmt = Format.parse("0 1 / 1,2@-1")
    assert fmt.layout((1, 4)).offsets().tolist() == [[1, 0, 3, 2]]
    low_first = bytes([0x21, 0x43])
    assert rl.repack(low_first, fmt, src="0 1", shape=(1, 4), element="uint4").tobytes().hex() == "1234"
    assert Format(2, [(0, 0), (1, 0), (1, 2, -4), (1, 4, -1)]).equivalent(Format(2, [(0, 0), (1, 0), (1, 8, -1)]))
    assert not fmt.equivalent(Format.parse("0 1 / 1,2"))
    with pytest.raises(rl.ShapeError, match="cannot count backwards"):
        Format(1, [(0, 0, -1)])


def test_a_digit_may_lie_above_the_rest() -> None:
    """Rows of the first half in the high nibbles, as HQQ packs; of ten rows in quarters the last two are padding."""
    halves = Format.parse("0 1 / 0,2@-rest")
    assert halves.layout((4, 2)).offsets().tolist() == [[1, 3], [5, 7], [0, 2], [4, 6]]
    rows = bytes([0x21, 0x43, 0x65, 0x87])
    packed = rl.repack(rows, halves, src="0 1", shape=(4, 2), element="uint4")
    assert packed.tobytes().hex() == "15263748"
    assert rl.repack(packed.tobytes(), "0 1", src=halves, shape=(4, 2), element="uint4").tobytes() == rows
    quarters = Format.parse("0 / 0,4@rest")
    assert quarters.layout(10).offsets().tolist() == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3]
    assert quarters.padded_shape(10) == (12,)
    assert Format.parse("0 / 0,2@rest 0,3").layout(8).offsets().tolist() == [0, 1, 2, 6, 7, 8, 3, 4]
    several = Format(1, [(0, 0), (0, 2, "2rest"), (0, 2, "rest")])
    assert several.equivalent(quarters)
    assert not several.equivalent(Format(1, [(0, 0), (0, 2, "rest"), (0, 2, "2rest")]))
    assert str(Format(1, [(0, 0), (0, 2, "-1rest")])) == "0 / 0,2@-rest"


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([(0, 0), (0, 2, "2rest")], "2rest where 1rest is next"),
        ([(0, 0), (0, 2, "rest"), (0, 2, "rest")], "1rest where 2rest is next"),
        ([(0, 0), (0, 2, "0rest")], "must be an integer"),
        ([(0, 0), (0, 2, "rests")], "must be an integer"),
        ([(0, 0), (0, 2, None)], "must be an integer"),
        ([(0, 0, "rest")], "lie above itself"),
        ([(0, 0), (0, 2, 1, 1)], "no factor"),
    ],
)
def test_what_is_no_digit_above_the_rest(factors: Any, message: str) -> None:
    with pytest.raises(rl.ShapeError, match=message):
        Format(1, factors)
    with pytest.raises(rl.ShapeError, match="above a rest"):
        Format(1, [(0, 0), (0, 2, "rest")], align=(1, 1, 1))


SMALL = [
    "0 1", "0 1 / 0,2", "0 1 / 0,4", "0 1 / 0,2@rest", "0 1 / 0,2@-rest", "0 1 / 0,3@rest", "0 1 / 0,4@rest",
    "0 1 / 0,2@2rest 0,2@rest", "0 1 / 0,2@rest 0,2@2rest", "0 1 / 0,2@rest 0,2", "0 1 / 0,2 0,2@rest",
    "0 1 / 0,2@rest 0,2@-1", "0 1 / 0,2@rest 1,2", "0 1 / 1,2 0,2@rest", "0 1 / 0,2@rest 1,2@rest",
    "0 1 / 1,2@rest 0,2@rest", "1 0 / 0,2@rest", "1 0 / 0,2", "1 0 / 1,2@rest", "1 0 / 0,2@rest 0,3", "0 1 / 0,1@rest",
]  # fmt: skip
SHAPES = [(m, n) for m in range(1, 14) for n in range(1, 8)]


def test_formats_with_digits_above_the_rest_compare_for_every_shape() -> None:
    """The verdict on every pair is that of all small shapes, and the example is a smallest one."""
    formats = [Format.parse(text) for text in SMALL]
    tables = [{s: fmt.layout(s).offsets().tobytes() for s in SHAPES} for fmt in formats]
    for a, one in zip(formats, tables, strict=True):
        for b, two in zip(formats, tables, strict=True):
            verdict = rl.compare(a, b)
            differing = [m * n for m, n in SHAPES if one[m, n] != two[m, n]]
            assert bool(verdict) == (not differing), (str(a), str(b))
            if differing:
                assert verdict.a.rank == 2
                assert int(np.prod(verdict.shape)) == min(differing)


def test_formats_of_one_dimension_above_the_rest() -> None:
    texts = [
        "0",
        "0 / 0,2",
        "0 / 0,6",
        "0 / 0,2@rest",
        "0 / 0,3@rest",
        "0 / 0,2@rest 0,3",
        "0 / 0,2@rest 0,6",
        "0 / 0,3 0,2@rest",
    ]
    formats = [Format.parse(text) for text in texts]
    tables = [[fmt.layout(n).offsets().tolist() for n in range(1, 60)] for fmt in formats]
    for a, one in zip(formats, tables, strict=True):
        for b, two in zip(formats, tables, strict=True):
            assert bool(rl.compare(a, b)) == (one == two), (str(a), str(b))


@given(formats(), st.data())
def test_a_layout_tells_its_format(fmt: Format, data: Any) -> None:
    """Whole blocks of a format, two and more along each dimension, are written as a format of the same function."""
    shape = [b * data.draw(st.integers(2, 3)) for b in fmt.block_shape]
    layout = fmt.layout(shape)
    again = Format.parse(rl.render(layout, "format"))
    assert again.layout(shape).equivalent(layout)


@given(formats())
def test_text_repr_and_pickle(fmt: Format) -> None:
    for same in (Format.parse(str(fmt)), eval(repr(fmt)), pickle.loads(pickle.dumps(fmt))):
        assert same == fmt
        assert hash(same) == hash(fmt)


@given(formats(), formats())
def test_equivalent_formats_give_equal_layouts(a: Format, b: Format) -> None:
    shape = (5, 6, 7, 8)
    if a.equivalent(b):
        assert rl.compare(a.layout(shape[: a.rank]), b.layout(shape[: b.rank]))


@pytest.mark.parametrize(
    "words",
    [
        {"fill": 31},
        {"fill": -0.5},
        {"fill": 1e-05},
        {"fill": "qzero"},
        {"axes": "nhwc", "indirect": 4, "align": (64,) * 8},
    ],
)
def test_words_survive_the_text(words: dict[str, Any]) -> None:
    fmt = Format(4, CROUTON.pairs, **words)
    assert Format.parse(str(fmt)) == fmt == eval(repr(fmt))


def test_equivalence_ignores_what_is_no_layout() -> None:
    assert CROUTON.equivalent(Format(4, CROUTON.pairs))
    assert Format(4, CROUTON.pairs) != CROUTON
    assert Format(1, [(0, 0), (0, 2), (0, 4)]).equivalent(Format(1, [(0, 0), (0, 8)]))
    assert Format(1, [(0, 0), (0, 1)]).equivalent(Format(1, [(0, 0)]))
    assert not Format(1, [(0, 0), (0, 8)]).equivalent(Format(1, [(0, 0), (0, 4)]))
    assert not Format(1, [(0, 0)], align=[8, 1]).equivalent(Format(1, [(0, 0)]))


def at(fmt: Format, shape: Any, *coordinates: tuple[int, ...]) -> list[int]:
    box = rl.Layout(fmt.layout(shape).shape, fmt.layout(shape).stride)
    return [box(c) for c in coordinates]


def test_the_pages_flat_listing() -> None:
    shape = (2, 3, 5, 30)
    assert at(FLAT, shape, (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 29)) == [0, 1, 29]
    assert at(FLAT, shape, (0, 0, 1, 0), (0, 0, 4, 29), (0, 1, 0, 0), (0, 1, 0, 1)) == [30, 149, 150, 151]
    assert at(FLAT, shape, (0, 2, 4, 29), (1, 0, 0, 0), (1, 2, 4, 29)) == [449, 450, 899]


def test_the_pages_padded_crouton() -> None:
    shape = (1, 3, 5, 30)
    assert CROUTON.padded_shape(shape) == (1, 8, 8, 32)
    assert CROUTON.layout(shape).storage_size == 2048
    assert at(CROUTON, shape, (0, 0, 0, 0), (0, 0, 0, 29), (0, 0, 0, 31), (0, 0, 1, 0)) == [0, 29, 31, 32]
    assert at(CROUTON, shape, (0, 0, 4, 29), (0, 0, 5, 0), (0, 0, 7, 31), (0, 1, 0, 0)) == [157, 160, 255, 256]
    assert at(CROUTON, shape, (0, 2, 4, 0), (0, 2, 4, 31), (0, 7, 7, 31)) == [640, 671, 2047]


def test_the_pages_croutons_of_2x9x20x50() -> None:
    shape = (2, 9, 20, 50)
    assert CROUTON.padded_shape(shape) == (2, 16, 24, 64)
    in_order = [
        [(0, 0, 0, 0), (0, 0, 0, 31)],
        [(0, 0, 1, 0), (0, 0, 1, 31)],
        [(0, 0, 7, 0), (0, 0, 7, 31)],
        [(0, 1, 0, 0), (0, 1, 7, 31)],
        [(0, 7, 7, 0), (0, 7, 7, 31)],
        [(0, 0, 0, 32), (0, 0, 0, 63)],
        [(0, 7, 7, 32), (0, 7, 7, 63)],
        [(0, 0, 8, 0), (0, 0, 8, 31)],
        [(0, 7, 8, 0), (0, 7, 15, 31)],
        [(0, 0, 8, 32), (0, 0, 15, 63)],
        [(0, 7, 8, 32), (0, 7, 15, 63)],
        [(0, 7, 16, 32), (0, 7, 23, 63)],
        [(0, 8, 0, 0), (0, 15, 23, 63)],
        [(1, 0, 0, 0), (1, 15, 23, 63)],
    ]
    ends = [x for line in in_order for x in at(CROUTON, shape, *line)]
    assert ends == sorted(ends)
    assert ends[-1] == CROUTON.layout(shape).storage_size - 1 == 2 * 16 * 24 * 64 - 1
    assert at(CROUTON, shape, (0, 0, 0, 32), (0, 0, 8, 0), (0, 8, 0, 0)) == [2048, 4096, 6 * 2048]


def test_the_pages_weights() -> None:
    shape = (3, 3, 32, 32)
    listed = [(0, 0, i, 0) for i in range(4)] + [(0, 0, i, 1) for i in range(4)]
    assert at(WEIGHTS, shape, *listed) == list(range(8))
    assert at(WEIGHTS, shape, (0, 0, 3, 31), (0, 0, 4, 0), (0, 0, 7, 31), (0, 0, 31, 31)) == [127, 128, 255, 1023]
    assert at(WEIGHTS, shape, (0, 1, 0, 0), (0, 2, 0, 0), (1, 0, 0, 0), (2, 2, 31, 31)) == [1024, 2048, 3072, 9215]
    assert WEIGHTS.padded_shape((3, 3, 32, 50)) == (3, 3, 32, 64)
    assert at(WEIGHTS, (3, 3, 32, 50), (2, 2, 31, 31), (0, 0, 0, 32)) == [9215, 9216]
    starts = [(0, 0, 0, 0), (0, 0, 32, 0), (0, 0, 0, 32), (0, 0, 32, 32), (0, 0, 0, 64), (0, 0, 32, 64)]
    assert at(WEIGHTS, (3, 3, 64, 96), *starts) == [9216 * k for k in range(6)]


def test_place_values_put_digits_in_any_order() -> None:
    nibbles = Format(1, [(0, 0), (0, 16, 1), (0, 2, 16)])
    assert nibbles.layout((64,)) == rl.Layout(((16, 2, 2),), ((2, 1, 32),))
    assert Format.parse(str(nibbles)) == nibbles
    assert str(nibbles) == "0 / 0,16@1 0,2@16"
    assert Format(1, [(0, 0), (0, 2, 16), (0, 16, 1)]) == Format(1, [(0, 0), (0, 2), (0, 16)])


@given(
    st.lists(st.integers(1, 9), min_size=3, max_size=3), st.lists(st.sampled_from([1, 2, 4, 8]), min_size=4, max_size=4)
)
def test_alignment_follows_core_ais_rule(shape: list[int], align: list[int]) -> None:
    factor = 4
    fmt = Format(3, [(0, 0), (1, 0), (2, 0), (0, factor)], align=[*align, 1])
    blocks = -(-shape[0] // factor)
    last = -(-factor // align[3]) * align[3]
    middle = -(-last * shape[2] // align[2]) * align[2]
    first = -(-middle * shape[1] // align[1]) * align[1]
    total = -(-first * blocks // align[0]) * align[0]
    layout = fmt.layout(shape)
    i, j, k = shape[0] - 1, shape[1] - 1, shape[2] - 1
    assert layout(i, j, k) == i // factor * first + i % factor + j * middle + k * last
    assert layout.max_offset < layout.storage_size <= total
    if last == factor and first and total % first == 0 and first % middle == 0 and middle % last == 0:
        assert layout.storage_size == total


def test_empty_and_scalar_shapes() -> None:
    assert CROUTON.layout((0, 9, 20, 50)).size == 0
    assert Format(0, []).layout(()) == rl.Layout((), ())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Format(2, [(0, 0)]), "rest of every dimension"),
        (lambda: Format(2, [(0, 0), (0, 0)]), "rest of every dimension"),
        (lambda: Format(2, [(0, 0), (0, 8), (1, 0)]), "rest of every dimension"),
        (lambda: Format(1, [(0, 0), (1, 8)]), "no factor"),
        (lambda: Format(1, [(0, 0), (0, -8)]), "no factor"),
        (lambda: Format(1, [(0, 0), (0,)]), "no factor"),
        (lambda: Format(1, [(0, 0), (0, 4, 2)]), "gap"),
        (lambda: Format(1, [(0, 0), (0, 1.5)]), "integer"),
        (lambda: Format(-1, []), "negative"),
        (lambda: Format(2, (0, 1)), "list of pairs"),  # type: ignore[arg-type]
        (lambda: Format(2, None), "list of pairs"),  # type: ignore[arg-type]
        (lambda: Format(2, [(0, 0), (1, 0)], axes="n"), "axes"),
        (lambda: Format(2, [(0, 0), (1, 0)], axes="nn"), "axes"),
        (lambda: Format(1, [(0, 0)], indirect=2), "indirect"),
        (lambda: Format(1, [(0, 0)], align=[1]), "align"),
        (lambda: Format(1, [(0, 0)], align=[1, 0]), "align"),
        (lambda: Format(1, [(0, 0)], element_bits=0), "element_bits"),
        (lambda: FLAT.batched(2**70), "more dimensions"),
        (lambda: FLAT.batched(-1), "more dimensions"),
        (lambda: FLAT.tile(8), "pairs"),  # type: ignore[arg-type]
        (lambda: Format.parse(8), "text"),  # type: ignore[arg-type]
        (lambda: FLAT.layout((1, 2, 3)), "does not fit"),
        (lambda: FLAT.layout((1, 2, 3, -4)), "negative"),
        (lambda: FLAT.layout((1, 2, 3, 4), left_pad=(1, 2)), "does not fit"),
    ],
)
def test_refused(make: Any, words: str) -> None:
    with pytest.raises(rl.ShapeError, match=words) as caught:
        make()
    assert caught.value.hint


@pytest.mark.parametrize(("text", "position"), [("0 1 / 0,8 x", 9), ("", 0), ("0 1 / fill 3", 3), ("0 1 axes", 3)])
def test_junk_is_no_format(text: str, position: int) -> None:
    with pytest.raises(rl.ParseError) as caught:
        Format.parse(text)
    assert caught.value.position == position


def test_a_cut_through_an_alignment_is_refused() -> None:
    with pytest.raises(rl.NotExpressible, match="divide"):
        Format(2, [(0, 0), (1, 0), (1, 3)], align=[1, 10, 4, 1]).split((4, 6))
    with pytest.raises(rl.NotExpressible, match="scalar"):
        Format(0, [], align=[8]).layout(())


@given(formats(above=False), st.data())
def test_alignments_round_every_stride_and_the_total(fmt: Format, data: Any) -> None:
    align = data.draw(st.lists(st.sampled_from([1, 1, 2, 3, 4, 7]), min_size=len(fmt.factors) + 1, max_size=99))
    align = align[: len(fmt.factors) + 1]
    indirect = data.draw(st.one_of(st.none(), st.integers(0, len(fmt.factors))))
    fmt = Format(fmt.rank, fmt.pairs, align=align, indirect=indirect)
    shape = [data.draw(st.integers(1, 6)) for _ in range(fmt.rank)]
    sizes = [n or -(-shape[d] // fmt.block_shape[d]) for d, n, *_ in fmt.factors]
    strides, end = [0] * len(sizes), 1
    for k in reversed(range(len(sizes))):
        strides[k] = -(-end // align[k + 1]) * align[k + 1]
        end = strides[k] * sizes[k]
    total = -(-end // align[0]) * align[0]
    expected = np.zeros(shape, int)
    for c in np.ndindex(*shape):
        rest = list(c)
        for k in reversed(range(fmt.rank, len(sizes))):
            d = fmt.factors[k].dim
            rest[d], digit = divmod(rest[d], sizes[k])
            expected[c] += (digit if fmt.factors[k].step > 0 else sizes[k] - 1 - digit) * strides[k]
        expected[c] += sum(rest[fmt.factors[k].dim] * strides[k] for k in range(fmt.rank))
    layout = fmt.layout(shape)
    assert (layout.offsets() == expected).all()
    assert layout.storage_size == total if align[0] > 1 else layout.storage_size <= total
    try:
        number, place = fmt.split(shape)
    except rl.NotExpressible:
        assert any(s % strides[(indirect or fmt.rank) - 1] for s in strides)
        return
    cut = fmt.rank if indirect is None else indirect
    elements = strides[cut - 1] if cut else total
    assert (number.offsets() * elements + place.offsets() == expected).all()
    assert place.max_offset < elements


def test_limits_and_odd_words() -> None:
    with pytest.raises(rl.LimitExceeded):
        Format(10**9, [])
    with pytest.raises(rl.ShapeError, match="place values"):
        Format(1, [(0, 0)]).tile((0, 2, 1))
    with pytest.raises(rl.ShapeError, match="no number"):
        Format(1, [(0, 0)], fill=True)
    with pytest.raises(rl.ShapeError, match="name 1 dim"):
        Format(1, [(0, 0)], axes="\u03b1")
    with pytest.raises(rl.ParseError, match="twice"):
        Format.parse("0 fill 3 fill 4")
    assert Format.parse("scalar") == Format(0, []) == Format.parse(str(Format(0, [])))
    assert Format.parse("0 fill -inf").fill == float("-inf")
    with pytest.raises(rl.NotExpressible, match="empty"):
        rl.render(rl.Layout(((0, 1),), ((1, 1),)), "htp")
    odd = rl.Layout(((), 3), ((), 1))
    assert Format.parse(rl.render(odd, "format")).layout((1, 3)).equivalent(odd)


def test_factors_make_the_format_again() -> None:
    for text in ("1 0", "0 1 2 3 / 1,8 2,8 3,32", "3 2 0 1 / 2,8 3,32 2,4", "0 1 / 0,4 0,2 1,3"):
        made = Format.parse(text)
        assert Format(made.rank, made.factors) == made
    with pytest.raises(rl.ShapeError, match="leave a gap: 16 where 8 is next"):
        Format(1, [(0, 0, 16), (0, 8, 1)])
