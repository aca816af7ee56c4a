"""What stored values mean, judged by exact models: fractions rounded to float32 step by step, and all codes."""

from __future__ import annotations

import copy
import math
import pickle
import random
import struct
import subprocess
import sys
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout.elements.interface import Plain, ScaleOffset, as_interface
from relayout.elements.types import ELEMENTS, _stored_type, element, storage_dtype
from relayout.errors import LayoutError, NotExpressible, OutOfBounds, ShapeError

QUANTISED = {
    "quint4": (0, 15),
    "qint4": (-8, 7),
    "quint8": (0, 255),
    "qint8": (-128, 127),
    "quint16": (0, 65535),
    "qint16": (-32768, 32767),
    "qint32": (-2147483648, 2147483520),
}
MAX32 = Fraction(2**24 - 1) * 2**104


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# The model: a float32 is a Fraction, or a float that is not finite.


def float32(x: Fraction) -> Fraction | float:
    """The nearest float32 with ties to even, by integer arithmetic."""
    if x < 0:
        y = float32(-x)
        return -y
    power = max(x.numerator.bit_length() - x.denominator.bit_length() - 25, -149)
    while x >= Fraction(2) ** (power + 24):
        power += 1
    step = Fraction(2) ** power
    rounded = round(x / step) * step
    return math.inf if rounded > MAX32 else rounded


def as_float32(x: float) -> Fraction | float:
    return float32(Fraction(x)) if math.isfinite(x) else x


def encoded(v: float, scale: float, offset: int, low: int, high: int) -> int:
    value, step, start = as_float32(v), as_float32(scale), float32(Fraction(offset))
    if isinstance(value, Fraction):
        assert isinstance(step, Fraction)
        factor = float32(1 / step)
        assert isinstance(factor, Fraction)
        value = float32(value * factor)
    if isinstance(value, Fraction):
        assert isinstance(start, Fraction)
        value = float32(start + value)
    if not isinstance(value, Fraction):
        return low if value == -math.inf else high
    return min(max(round(value), low), high)


def decoded(q: int, scale: float, offset: int, bits: int) -> Fraction | float:
    if bits <= 16:
        steps = float32(Fraction(q - offset))
    else:
        first, second = float32(Fraction(q)), float32(Fraction(offset))
        assert isinstance(first, Fraction)
        assert isinstance(second, Fraction)
        steps = float32(first - second)
    step = as_float32(scale)
    assert isinstance(steps, Fraction)
    assert isinstance(step, Fraction)
    return float32(steps * step)


def same(x: Any, y: Fraction | float) -> bool:
    return x == float(y) or (x != x and y != y)


@given(st.floats(allow_nan=False))
@example(3.4028235677973366e38)
@example(3.4028235677973362e38)
@example(2.0**-150)
@example(-(2.0**-150) * 1.5)
def test_the_model_rounds_as_ieee_does(x: float) -> None:
    with np.errstate(all="ignore"):
        assert same(float(np.float32(x)), as_float32(x))


SCALES = st.one_of(
    st.floats(2.0**-127, float(MAX32), width=32),
    st.sampled_from([0.1, 0.05, 1 / 255, 1 / 3, 0.5, 1.0, 2.0**-20, 3.4028235e38, 2.0**-127, 1e-5]),
)
OFFSETS = st.one_of(
    st.integers(-256, 256), st.integers(-70000, 70000), st.integers(-(2**31), 2**31 - 1), st.sampled_from([2**24 + 1])
)
FLOATS = st.one_of(st.floats(), st.floats(width=32), st.floats(-1000, 1000), st.floats(-1e-37, 1e-37))


@st.composite
def cases(draw: st.DrawFn) -> tuple[float, int, str, list[float]]:
    """Values of any size, and values near a tie: half a step more or less than a code."""
    scale, offset, name = draw(SCALES), draw(OFFSETS), draw(st.sampled_from(list(QUANTISED)))
    low, high = QUANTISED[name]
    near = st.builds(
        lambda q, half: (q - offset + half / 2) * scale, st.integers(low - 2, high + 2), st.integers(-3, 3)
    )
    values = draw(st.lists(st.one_of(FLOATS, near), min_size=1, max_size=12))
    return scale, offset, name, values


@settings(max_examples=300)
@given(cases())
def test_encode_is_the_exact_model(case: tuple[float, int, str, list[float]]) -> None:
    scale, offset, name, values = case
    x = ScaleOffset(scale, offset, name, nan="saturate" if any(map(math.isnan, values)) else "refuse")
    want = [encoded(v, scale, offset, *QUANTISED[name]) for v in values]
    got = x.encode(np.array(values))
    assert got.dtype == storage_dtype(name)
    assert got.tolist() == want
    assert [x.encode(v) for v in values] == want
    assert type(x.encode(values[0])) is int
    with np.errstate(all="ignore"):
        assert x.encode(np.array(values, np.float32)).tolist() == want


@given(SCALES, OFFSETS, st.sampled_from(list(QUANTISED)), st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_decode_is_the_exact_model(scale: float, offset: int, name: str, codes: list[int]) -> None:
    x = ScaleOffset(scale, offset, name)
    low, high = element(name).limits
    codes = [q % (high - low + 1) + low for q in codes]
    want = [decoded(q, scale, offset, element(name).bits) for q in codes]
    got = x.decode(np.array(codes, storage_dtype(name)))
    assert got.dtype == np.float32
    assert all(same(a, b) for a, b in zip(got.tolist(), want))
    assert all(same(x.decode(q), b) for q, b in zip(codes, want))
    assert type(x.decode(codes[0])) is float


@pytest.mark.parametrize(("name", "offset"), [("quint8", 0), ("quint8", 127), ("qint8", -3), ("qint8", 500)])
@pytest.mark.parametrize("scale", [0.1, 1 / 255, 0.0078125])
def test_all_codes_of_a_byte(name: str, offset: int, scale: float) -> None:
    x = ScaleOffset(scale, offset, name)
    low, high = QUANTISED[name]
    codes = list(range(low, high + 1))
    reals = x.decode(codes)
    assert all(same(r, decoded(q, scale, offset, 8)) for r, q in zip(reals.tolist(), codes))
    assert x.encode(reals).tolist() == codes
    assert x.decode(x.zero) == 0 if low <= offset <= high else reals.all()


def test_every_half_step_of_small_sets() -> None:
    for name in ("quint4", "qint4"):
        low, high = QUANTISED[name]
        for offset in range(-3, 18):
            for scale in (0.25, 0.1, 3.0):
                x = ScaleOffset(scale, offset, name)
                values = [(k / 2 - offset) * scale for k in range(2 * low - 6, 2 * high + 7)]
                assert x.encode(values).tolist() == [encoded(v, scale, offset, low, high) for v in values]


def test_ties_are_broken_after_the_offset() -> None:
    x = ScaleOffset(1.0, 1, "qint8")
    assert [x.encode(v) for v in (0.5, 1.5, 2.5, -0.5, -1.5)] == [2, 2, 4, 0, 0]
    assert [round(v) + 1 for v in (0.5, 1.5, 2.5, -0.5, -1.5)] == [1, 3, 3, 1, -1]


@pytest.mark.parametrize("name", list(QUANTISED))
def test_saturation_and_nan(name: str) -> None:
    low, high = QUANTISED[name]
    x = ScaleOffset(0.5, 0, name)
    values = [math.inf, -math.inf, 3e38, -3e38, 1e300, -1e300]
    assert x.encode(values).tolist() == [high, low, high, low, high, low]
    saturating = ScaleOffset(0.5, 0, name, nan="saturate")
    assert saturating.encode([*values, math.nan]).tolist() == [high, low, high, low, high, low, high]
    for bad in (math.nan, [[1.0, math.nan]], np.array([0, np.nan], np.float16)):
        with pytest.raises(NotExpressible, match="no stored value means NaN"):
            x.encode(bad)
    assert x.limits == (low, high)
    assert struct.unpack("<f", struct.pack("<f", high))[0] == high


def test_nan_is_stored_neither_by_a_tensor_nor_by_a_repack() -> None:
    means = ScaleOffset(0.5, 0, "quint8")
    t = rl.full(rl.Layout((2, 2)), 1.0, means)
    with pytest.raises(NotExpressible, match=r"nan at \(1,\)"):
        t[0] = [1.0, math.nan]
    with pytest.raises(NotExpressible, match="NaN"):
        t[0, 0] = math.nan
    assert t.numpy().tolist() == [[1, 1], [1, 1]]
    x = np.array([[1.0, math.nan]], np.float32)
    with pytest.raises(NotExpressible, match=r"nan at \(0, 1\) has no place in quint8"):
        rl.repack(x, "0 1", element=means)
    saturating = ScaleOffset(0.5, 0, "quint8", nan="saturate")
    assert rl.repack(x, "0 1", element=saturating).tolist() == [[2, 255]]
    t = rl.full(rl.Layout((2, 2)), 1.0, saturating)
    t[0] = [1.0, math.nan]
    assert t.stored().tolist() == [[2, 255], [2, 2]]


def test_what_becomes_of_nan_is_kept_and_changes_no_meaning() -> None:
    means = ScaleOffset([0.5, 0.25], [1, 2], "quint8", axis=1, nan="saturate")
    for made in (means.channel(0), means.take([1]), means.with_axis(0), pickle.loads(pickle.dumps(means))):
        assert made.nan == "saturate"
    assert ScaleOffset.qnn(0.5, 1, "quint8", nan="saturate").nan == "saturate"
    assert repr(means).endswith("axis=1, nan='saturate')")
    assert means != ScaleOffset([0.5, 0.25], [1, 2], "quint8", axis=1)
    with pytest.raises(ShapeError, match="'refuse' or 'saturate'"):
        ScaleOffset(0.5, 1, "quint8", nan="ignore")
    # 2147483520 has no neighbour in float32: to decode and encode it again would change it.
    codes = np.array([[2147483647, 5]], np.int32)
    wide = [ScaleOffset(0.3, 7, "qint32", nan=nan) for nan in ("refuse", "saturate")]
    t = rl.Tensor(codes, rl.Layout.row_major((1, 2)), wide[0])
    assert rl.repack(t, "1 0", element=wide[1]).stored().tolist() == codes.tolist()
    other = rl.Tensor(np.zeros((1, 2), np.int32), rl.Layout.row_major((1, 2)), wide[1])
    other.copy_from(t)
    assert other.stored().tolist() == codes.tolist()


def test_qint32_ends_at_the_last_float32() -> None:
    x = ScaleOffset(1.0, 0, "qint32")
    assert x.encode(np.float32(2147483520)) == 2147483520
    assert x.encode(2147483647) == 2147483520
    assert x.encode(-2147483648) == -2147483648
    assert x.decode(2147483647) == 2147483648.0


def test_qnn_has_the_other_sign() -> None:
    for offset in (-128, 0, 7):
        x = ScaleOffset.qnn(0.5, offset, "quint8")
        assert x.qnn_offset == offset
        assert all(x.decode(q) == (q + offset) * 0.5 for q in range(256))
    x = ScaleOffset.qnn([0.5, 0.25], np.array([-1, 2]), "qint8", axis=0)
    assert x == ScaleOffset([0.5, 0.25], [1, -2], "qint8", axis=0)
    assert x.qnn_offset == (-1, 2)


@given(st.data())
def test_channels_are_the_interfaces_of_their_slices(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    n = shape[axis]
    scales = data.draw(st.lists(SCALES, min_size=n, max_size=n))
    offsets = data.draw(st.lists(OFFSETS, min_size=n, max_size=n))
    x = ScaleOffset(scales, offsets, data.draw(st.sampled_from(list(QUANTISED))), axis=axis)
    low, high = x.limits
    values = np.random.default_rng(len(shape)).normal(size=shape) * data.draw(st.floats(0, 1e30))
    q, r = x.encode(values), None
    for k in range(n):
        one = ScaleOffset(scales[k], offsets[k], x.element)
        here = (slice(None),) * axis + (k,)
        assert x.channel(k) == one
        assert (q[here] == one.encode(values[here])).all()
        assert x.encode(float(values[here].flat[0]), channel=k) == q[here].flat[0]
        r = x.decode(q)
        assert (r[here] == one.decode(q[here])).all()
        assert x.decode(int(q[here].flat[0]), channel=k) == r[here].flat[0]
    picked = data.draw(st.lists(st.integers(0, n - 1), max_size=5))
    assert (x.take(picked).encode(np.take(values, picked, axis)) == np.take(q, picked, axis)).all()
    moved = x.with_axis(0).encode(np.moveaxis(values, axis, 0))
    assert (moved == np.moveaxis(q, axis, 0)).all()
    assert low <= q.min() <= q.max() <= high


def test_a_single_offset_is_repeated() -> None:
    x = ScaleOffset(np.array([0.5, 1.0]), 3, np.uint8, axis=np.int64(1))
    assert x == ScaleOffset((0.5, 1.0), (3, 3), "quint8", axis=1)
    assert x.zero == (3, 3)


def test_zero_is_what_decodes_to_zero_or_refused() -> None:
    for name, (low, high) in QUANTISED.items():
        for offset in (low - 1, low, 0, high, high + 1):
            if not -(2**31) <= offset < 2**31:
                continue
            x = ScaleOffset(0.1, offset, name)
            zeros = [q for q in (low, 0, high) if x.decode(q) == 0]
            if low <= offset <= element(name).limits[1]:
                assert x.decode(x.zero) == 0
            else:
                assert not zeros
                with pytest.raises(NotExpressible, match="outside") as refused:
                    x.zero  # noqa: B018
                assert x.decode(refused.value.counterexample) != 0
    with pytest.raises(NotExpressible):
        ScaleOffset([1, 1], [0, -1], "quint8", axis=0).zero  # noqa: B018


@given(SCALES, OFFSETS, st.sampled_from(list(QUANTISED)), st.booleans())
def test_values_of_the_library_are_values(scale: float, offset: int, name: str, channels: bool) -> None:
    x = ScaleOffset([scale, 0.1], [offset, 0], name, axis=2) if channels else ScaleOffset(scale, offset, name)
    for y in (eval(repr(x)), pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y == x
        assert hash(y) == hash(x)
    assert x != ScaleOffset(scale, offset ^ 1, name)
    with pytest.raises(AttributeError):
        x.scale = 1.0


def test_repr_is_short() -> None:
    assert repr(ScaleOffset(0.1, 3, "quint8")) == "ScaleOffset(0.1, 3, 'quint8')"
    assert repr(ScaleOffset([0.1], [3], "uint8", axis=1)) == "ScaleOffset((0.1,), (3,), 'quint8', axis=1)"
    assert repr(Plain(np.float16)) == "Plain('float16')"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ScaleOffset(0.0, 0, "quint8"), "positive"),
        (lambda: ScaleOffset(-1, 0, "quint8"), "positive"),
        (lambda: ScaleOffset(math.nan, 0, "quint8"), "positive"),
        (lambda: ScaleOffset(math.inf, 0, "quint8"), "positive"),
        (lambda: ScaleOffset(1e39, 0, "quint8"), "positive"),
        (lambda: ScaleOffset(10**400, 0, "quint8"), "positive"),
        (lambda: ScaleOffset(2.0**-128, 0, "quint8"), "reciprocal"),
        (lambda: ScaleOffset(1e-46, 0, "quint8"), "positive"),
        (lambda: ScaleOffset("0.1", 0, "quint8"), "positive"),
        (lambda: ScaleOffset(True, 0, "quint8"), "positive"),
        (lambda: ScaleOffset(None, 0, "quint8"), "positive"),
        (lambda: ScaleOffset(1.0, 0.5, "quint8"), "integer"),
        (lambda: ScaleOffset(1.0, 2**31, "quint8"), "32 bits"),
        (lambda: ScaleOffset.qnn(1.0, -(2**31), "quint8"), "32 bits"),
        (lambda: ScaleOffset.qnn(1.0, "1", "quint8"), "integer"),
        (lambda: ScaleOffset(1.0, 0, "float16"), r"no quantised type.*Plain\('float16'\)"),
        (lambda: ScaleOffset(1.0, 0, "int64"), "no quantised type"),
        (lambda: ScaleOffset(1.0, 0, "nothing"), "no element type"),
        (lambda: ScaleOffset(1.0, 0, np.dtype(">u2")), "other order"),
        (lambda: ScaleOffset([1.0, 2.0], 0, "quint8"), "axis"),
        (lambda: ScaleOffset(1.0, 0, "quint8", axis=0), "one scale"),
        (lambda: ScaleOffset([1.0, 2.0], 0, "quint8", axis=-1), "front"),
        (lambda: ScaleOffset([1.0, 2.0], [0], "quint8", axis=0), "one length"),
        (lambda: ScaleOffset([[1.0]], [0], "quint8", axis=0), "positive"),
        (lambda: ScaleOffset([1.0, 2.0], 0, "quint8", axis=1).encode(np.zeros((2, 3))), "do not fit"),
        (lambda: ScaleOffset([1.0, 2.0], 0, "quint8", axis=1).decode(np.zeros(2, np.uint8)), "do not fit"),
        (lambda: ScaleOffset([1.0, 2.0], 0, "quint8", axis=0).encode(1.0), "channel"),
        (lambda: ScaleOffset([1.0, 2.0], 0, "quint8", axis=0).encode(1.0, channel=2), "no channel 2"),
        (lambda: ScaleOffset([1.0, 2.0], 0, "quint8", axis=0).channel(-1), "no channel -1"),
        (lambda: ScaleOffset(1.0, 0, "quint8").encode(1.0, channel=0), "no channels"),
        (lambda: ScaleOffset(1.0, 0, "quint8").decode(256), "outside 0 to 255"),
        (lambda: ScaleOffset(1.0, 0, "qint4").decode(np.array([7, 8], np.int8)), r"8 at \(1,\)"),
        (lambda: ScaleOffset(1.0, 0, "quint8").decode([[1, 2.5]]), r"2.5 at \(0, 1\)"),
        (lambda: ScaleOffset(1.0, 0, "quint8").encode(1j), "complex"),
        (lambda: ScaleOffset(1.0, 0, "quint8").encode("1"), "no numbers"),
        (lambda: ScaleOffset(1.0, 0, "quint8").encode(2**70), "no numbers"),
        (lambda: ScaleOffset(1.0, 0, "quint8").encode([[1], [2, 3]]), "no numbers"),
        (lambda: Plain("quint8"), r"quantised.*Plain\('uint8'\)"),
        (lambda: Plain(np.dtype(">f4")), "other order"),
        (lambda: as_interface(None), "no element type"),
        (lambda: Plain("uint8").encode(256), "outside"),
        (lambda: Plain("uint8").encode(-1), "outside"),
        (lambda: Plain("int8").encode(0.5), "not an integer"),
        (lambda: Plain("int8").encode(math.nan), "not an integer"),
        (lambda: Plain("int64").encode(2.0**63), "outside"),
        (lambda: Plain("uint64").encode(np.array([-1])), "outside"),
        (lambda: Plain("int4").encode(8), "outside -8 to 7"),
        (lambda: Plain("bool").encode(2), "outside 0 to 1"),
        (lambda: Plain("float32").encode(1j), "complex"),
        (lambda: Plain("int8").encode([1j]), "complex"),
        (lambda: Plain("float32").decode(0.1), "encode first"),
        (lambda: Plain("float32").decode(np.array([1.0])), "encode first"),
        (lambda: Plain("float64").decode(2**53 + 1), "encode first"),
        (lambda: Plain("int128").encode(1), "no type for the 128 bits"),
    ],
)
def test_refusals_say_why(make: Any, says: str) -> None:
    with pytest.raises(LayoutError, match=f"(?s){says}") as refused:
        make()
    assert refused.value.hint


def test_an_index_out_of_range_is_an_index_error() -> None:
    with pytest.raises(OutOfBounds):
        ScaleOffset([1.0], 0, "quint8", axis=0).channel(1)


def test_plain_integers_are_themselves() -> None:
    for name, kind in ELEMENTS.items():
        if not kind.integral or kind.bits > 64 or kind.underlying != kind:
            continue
        x, (low, high) = Plain(name), kind.limits
        if name == "bool":
            assert (low, high) == (0, 1)
        elif kind.bits >= 8:
            assert (low, high) == (np.iinfo(name).min, np.iinfo(name).max)
        for value in (low, high):
            assert x.encode(value) == x.decode(value) == value
            assert x.encode(np.array([value])).tolist() == [value]
        for value in (low - 1, high + 1):
            with pytest.raises(LayoutError):
                x.encode(value)
        assert x.encode(x.zero) == 0
        assert x.encode(np.array([0.0, 1.0 if high else 0.0])).dtype == storage_dtype(name)


def test_plain_numpy_floats_are_numpys() -> None:
    values = np.array([0.1, 65519.0, 65520.0, 1e300, -0.0, math.nan, math.inf, 5e-324])
    for name in ("float16", "float32", "float64", "complex64", "complex128"):
        with np.errstate(all="ignore"):
            want = values.astype(name)
        got = Plain(name).encode(values)
        assert got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()
        assert Plain(name).decode(got) is got
        assert Plain(name).zero == 0
    assert Plain("float16").encode(0.1) == float(np.float16(0.1))
    assert Plain("complex64").encode(1 + 2j) == 1 + 2j
    assert math.isnan(Plain("float16").decode(math.nan))
    assert Plain("float16").decode(0.5) == 0.5
    assert Plain("float32").decode(np.float32(0.1)) == float(np.float32(0.1))


def test_an_array_stays_an_array() -> None:
    for x in (Plain("float32"), Plain("int8"), ScaleOffset(1.0, 0, "quint8")):
        for shape in ((), (0,), (2, 0, 3), (2, 3)):
            stored = x.encode(np.ones(shape))
            assert isinstance(stored, np.ndarray)
            assert stored.shape == shape
            assert x.decode(stored).shape == shape
            assert isinstance(x.decode(stored), np.ndarray)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1)[::-1]
    assert (ScaleOffset(1.0, 0, "quint8").encode(x) == x).all()


def test_other_types_mean_plain() -> None:
    for dtype in ("int16", np.int16, np.dtype("int16"), element("int16"), Plain("int16")):
        assert as_interface(dtype) == Plain("int16")
    x = ScaleOffset(1.0, 0, "int8")
    assert as_interface(x) is x
    assert Plain("int16") != x
    assert Plain("int8").axis is None
    assert x.element.name == "qint8"
    assert len({Plain("int8"), Plain(np.int8), x}) == 2
    assert pickle.loads(pickle.dumps(Plain("int8"))) == eval("Plain('int8')") == Plain("int8")


# ml_dtypes' types: the nearest of all values that a type has.


def finite_values(name: str) -> list[Fraction]:
    """Every finite value of a type of at most 16 bits, by ml_dtypes' reading of every code."""
    kind = ELEMENTS[name]
    codes = np.arange(1 << kind.bits).astype(np.uint16 if kind.bits == 16 else np.uint8)
    with np.errstate(invalid="ignore"):
        reals = codes.view(storage_dtype(name)).astype(np.float64)
    return sorted({Fraction(v) for v in reals.tolist() if math.isfinite(v)})


@pytest.mark.parametrize("name", [n for n in ELEMENTS if n.startswith(("float8_", "float6_", "float4_", "bfloat"))])
def test_floats_that_numpy_lacks_get_the_nearest_value(name: str) -> None:
    pytest.importorskip("ml_dtypes")
    known = finite_values(name)
    rng = random.Random(7)
    inside = [v for v in known if abs(v) < MAX32]
    some = rng.sample(inside, min(len(inside), 60))
    between = [(known[known.index(v) - 1] + v) / 2 for v in some if v != known[0]]
    values = [float(v) for v in some + between] + [rng.uniform(-1, 1) * 2.0 ** rng.randint(-20, 8) for _ in range(200)]
    values = [v for v in values if known[0] <= v <= known[-1]]
    if name != "float8_e8m0fnu":
        assert Plain(name).zero == Plain(name).encode(0.0) == 0
    else:
        values = [v for v in values if v >= known[0]]
        with pytest.raises(NotExpressible, match="none is 0"):
            Plain(name).zero  # noqa: B018
        with pytest.raises(NotExpressible, match="nan"):
            Plain(name).encode(0.0)
    stored = Plain(name).encode(values)
    assert stored.dtype == storage_dtype(name)
    assert Plain(name).decode(stored) is stored
    for v, got in zip(values, stored.astype(np.float64).tolist()):
        exact = as_float32(v)
        assert isinstance(exact, Fraction)
        k = bisect_left(known, exact)
        assert abs(Fraction(got) - exact) == min(abs(n - exact) for n in known[max(k - 1, 0) : k + 1])
        assert Plain(name).encode(v) == got


def test_nan_is_neither_made_nor_lost() -> None:
    pytest.importorskip("ml_dtypes")
    assert math.isnan(Plain("float8_e4m3fn").encode(math.nan))
    with pytest.raises(NotExpressible, match="nan") as refused:
        Plain("float8_e4m3fn").encode(np.array([[1.0, 1e9]]))
    assert refused.value.counterexample == (0, 1)
    with pytest.raises(NotExpressible, match="float4_e2m1fn"):
        Plain("float4_e2m1fn").encode(math.nan)
    assert Plain("float8_e5m2").encode(1e9) == math.inf


def test_complex_halves() -> None:
    ml = pytest.importorskip("ml_dtypes")
    if not hasattr(ml, "complex32"):
        pytest.skip("this ml_dtypes has no complex32")
    got = Plain("complex32").encode(np.array([0.1 + 1e9j, 2]))
    assert got.astype(np.complex64).tolist() == [complex(np.float16(0.1), math.inf), 2]
    assert Plain("complex32").decode(got) is got
    assert Plain("bcomplex32").encode(1.5 + 2j) == 1.5 + 2j
    assert Plain("complex64").encode(got[1:]).tolist() == [2]
    with pytest.raises(NotExpressible, match="complex"):
        Plain("float32").encode(got)


def test_arrays_of_ml_dtypes_are_read() -> None:
    ml = pytest.importorskip("ml_dtypes")
    small = np.array([-8, 7, 3], ml.int4)
    assert Plain("int4").encode(small).tolist() == [-8, 7, 3]
    assert Plain("int4").encode(small).dtype == np.int8
    assert Plain("float32").encode(small).tolist() == [-8, 7, 3]
    assert Plain("int16").encode(np.array([2, -300], ml.bfloat16)).tolist() == [2, -300]
    assert ScaleOffset(0.5, 8, "quint4").encode(np.array([1, -2], ml.bfloat16)).tolist() == [10, 4]
    assert ScaleOffset(0.5, 8, "uint4").decode(np.array([10, 4], ml.uint4)).tolist() == [1, -2]
    assert Plain(ml.float8_e5m2).element.name == "float8_e5m2"


def test_without_ml_dtypes_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    _stored_type.cache_clear()
    assert Plain("bfloat16").zero == 0
    with pytest.raises(NotExpressible, match="ml_dtypes") as refused:
        Plain("bfloat16").encode(1.0)
    assert "pip install" in refused.value.hint
    assert ScaleOffset(0.5, 0, "quint4").encode(1.0) == 2


# Element types.


def test_storage_is_as_wide_as_the_type() -> None:
    pytest.importorskip("ml_dtypes")
    for name, kind in ELEMENTS.items():
        if name in ("int128", "uint128"):
            with pytest.raises(NotExpressible):
                storage_dtype(name)
        else:
            assert storage_dtype(kind).itemsize * 8 == max(kind.bits, 8)


def test_every_type_of_ml_dtypes_is_known() -> None:
    ml = pytest.importorskip("ml_dtypes")
    kinds = [t for t in vars(ml).values() if isinstance(t, type) and issubclass(t, np.generic)]
    assert len(kinds) > 10
    for kind in kinds:
        assert element(kind) == element(np.dtype(kind)) == ELEMENTS[kind.__name__]
        if element(kind).complex:
            assert element(kind).bytes == np.dtype(kind).itemsize
            continue
        info = ml.iinfo if "int" in kind.__name__ else ml.finfo
        assert element(kind).bits == info(kind).bits
        if info is ml.iinfo:
            assert element(kind).limits == (int(info(kind).min), int(info(kind).max))
        else:
            assert not element(kind).integral


def test_names_in_notations() -> None:
    assert element("bfloat16").word("xla") == "bf16"
    assert element("int3").word("mlir") == "i3"
    for name, notation, hint in [("int3", "xla", "leave out"), ("quint8", "mlir", "uint8"), ("quint8", "xla", "uint8")]:
        with pytest.raises(NotExpressible, match=notation) as refused:
            element(name).word(notation)
        assert hint in refused.value.hint
    with pytest.raises(ShapeError, match="no type of integers"):
        element("float32").limits  # noqa: B018
    known = [e.xla for e in ELEMENTS.values() if e.xla]
    assert len(set(known)) == len(known)


def test_numpy_is_imported_when_it_is_needed() -> None:
    code = "import sys, relayout.elements.interface, relayout.elements.subbyte; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
