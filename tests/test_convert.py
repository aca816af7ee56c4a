"""Conversions of the compiled core against the interfaces' own encode and decode, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from relayout import Plain, ScaleOffset
from relayout.elements.types import element, storage_dtype
from relayout.engine.conversion import Conversion, conversion
from relayout.native import native

if native is None:
    pytest.skip("needs the compiled core", allow_module_level=True)
pytest.importorskip("ml_dtypes")

Interface = Plain | ScaleOffset

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
QUANTISED = ["qint8", "quint8", "qint16", "quint16", "qint32"]
NARROW = ["float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
ISAS: list[str] = native.isas()
SCALINGS = [(0.05, 3), (2.0**-7, 128), (1.0, 0), (1e30, -200), (3e-38, 7), (0.25, 1 << 23), (3e38, -(1 << 23))]
FAR = [(0.5, (1 << 31) - 1), (2.0**20, -(1 << 31)), (0.3, 123456789)]


def meant(x: Any, source: Interface, target: Interface) -> Any:
    """What the interfaces say."""
    return target.encode(x if isinstance(source, Plain) else source.decode(x))


def convert(x: Any, described: Conversion, isa: str | None = None) -> Any:
    count = x.size * storage_dtype(described.target).itemsize
    out = np.full(count + 7, 0xA5, np.uint8)
    assert native is not None
    native.convert(described, np.ascontiguousarray(x).reshape(-1).view(np.uint8), out[3 : 3 + count], isa=isa)
    assert (out[:3] == 0xA5).all()
    assert (out[3 + count :] == 0xA5).all()
    return out[3 : 3 + count].copy().view(storage_dtype(described.target)).reshape(x.shape)


def bits(x: Any) -> Any:
    return x.view(f"u{x.itemsize}")


def saturating(x: Interface) -> Interface:
    return x if isinstance(x, Plain) else ScaleOffset(x.scale, x.offset, x.element.name, x.axis, nan="saturate")


def check(source: Interface, target: Interface, x: Any) -> None:
    """Samples have NaNs, so a quantised target saturates."""
    target = saturating(target)
    described = conversion(source, target)
    assert described is not None, (source, target)
    expected = meant(x, source, target)
    for isa in ISAS:
        got = convert(x, described, isa)
        wrong = np.flatnonzero(bits(got) != bits(expected))
        assert not wrong.size, (source, target, isa, x.flat[wrong[0]], got.flat[wrong[0]], expected.flat[wrong[0]])


@cache
def samples(name: str) -> Any:
    """Every pattern of up to 16 bits; of wider types random ones, small ones and the neighbours of what is special."""
    kind = storage_dtype(name)
    if kind.itemsize <= 2:
        return np.arange(1 << 8 * kind.itemsize, dtype=f"u{kind.itemsize}").view(kind)
    rng = np.random.default_rng(len(name))
    word = np.dtype(f"u{kind.itemsize}")
    anything = rng.integers(0, 1 << 8 * kind.itemsize, 50_000, dtype=word, endpoint=False)
    if element(name).integral:
        powers = [1 << k for k in range(8 * kind.itemsize)]
        near = np.array([p + d for p in powers for d in (-1, 0, 1)], object) % (1 << 8 * kind.itemsize)
        small = rng.integers(0, 70_000, 20_000, dtype=word)
        return np.concatenate([anything, near.astype(word), small, 0 - small]).view(kind)
    with np.errstate(all="ignore"):
        halves = samples("float16").astype(kind)
        between = (halves[:-1] + halves[1:]) / kind.type(2)
        brains = samples("bfloat16").astype(kind)
        steps = np.arange(-70_000, 70_000, dtype=kind)
        small = np.concatenate([steps * kind.type(0.5), steps / kind.type(256), steps * kind.type(0.05)])
        some = np.concatenate([halves, between, brains, brains * kind.type(1.00390625), small]).view(word)
    return np.concatenate([anything, some, some + word.type(1), some - word.type(1)]).view(kind)


def holds(wide: str, narrow: str) -> bool:
    (low, high), (least, most) = element(wide).limits, element(narrow).limits
    return low <= least and most <= high


# Plain types.


@pytest.mark.parametrize("target", FLOATS + INTEGERS)
@pytest.mark.parametrize("source", FLOATS + INTEGERS)
def test_plain_types(source: str, target: str) -> None:
    never_refused = target in FLOATS or (source in INTEGERS and holds(target, source))
    if source == target or not never_refused:
        assert conversion(Plain(source), Plain(target)) is None
    else:
        check(Plain(source), Plain(target), samples(source))


@pytest.mark.parametrize("source", NARROW)
def test_floats_of_a_byte(source: str) -> None:
    for target in (*map(Plain, FLOATS), ScaleOffset(0.05, 3, "quint8"), ScaleOffset(0.5, -9, "qint32")):
        check(Plain(source), target, samples(source))
    assert conversion(Plain(source), ScaleOffset([1.0, 2.0], 0, "quint8", axis=0)) is None
    assert conversion(Plain(source), Plain("int8")) is None
    assert conversion(Plain(source), Plain("complex64")) is None


def test_what_could_be_refused_is_not_converted() -> None:
    check(Plain("float8_e4m3fn"), Plain("float8_e5m2"), samples("float8_e4m3fn"))
    for source, target in [
        ("float8_e5m2", "float8_e4m3fn"),
        ("float32", "float8_e4m3fn"),
        ("float32", "complex64"),
        ("complex64", "complex128"),
        ("uint8", "bool"),
        ("float32", "int64"),
        ("int4", "int8"),
        ("int8", "int4"),
    ]:
        assert conversion(Plain(source), Plain(target)) is None
    assert conversion(ScaleOffset(1.0, 0, "quint8"), Plain("int64")) is None
    assert conversion(ScaleOffset(1.0, 0, "quint4"), Plain("float32")) is None
    assert conversion(Plain("complex64"), ScaleOffset(1.0, 0, "quint8")) is None


# Quantised types.


def scalings(kind: str) -> list[ScaleOffset]:
    return [ScaleOffset(*s, kind) for s in SCALINGS + FAR * (kind == "qint32")]


@pytest.mark.parametrize("kind", QUANTISED)
@pytest.mark.parametrize("source", FLOATS + INTEGERS)
def test_encode(source: str, kind: str) -> None:
    for target in scalings(kind):
        check(Plain(source), target, samples(source))
    if kind != "qint32":
        check(Plain(source), ScaleOffset(*FAR[0], kind), samples(source))


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("kind", QUANTISED)
def test_decode(kind: str, target: str) -> None:
    for source in scalings(kind):
        check(source, Plain(target), samples(kind))


@pytest.mark.parametrize("kind", QUANTISED)
@pytest.mark.parametrize("source", QUANTISED)
def test_requantise(source: str, kind: str) -> None:
    for a, b in product(scalings(source)[:4], scalings(kind)[1:5]):
        if a != b:
            check(a, b, samples(source))


@pytest.mark.parametrize("channels", [2, 3, 64])
def test_channels(channels: int) -> None:
    rng = np.random.default_rng(channels)
    for k, kind in enumerate(QUANTISED):
        scales = rng.uniform(0.01, 2, channels)
        each = ScaleOffset(scales, rng.integers(-300, 300, channels), kind, axis=1)
        other = ScaleOffset(scales[::-1] * 2, rng.integers(-9, 9, channels), QUANTISED[k - 1], axis=1)
        one = ScaleOffset(0.5, 9, QUANTISED[k - 2])
        for source, target in [
            *[(Plain(name), each) for name in FLOATS + INTEGERS],
            *[(each, Plain(name)) for name in FLOATS],
            *[(each, other), (each, one), (one, each)],
        ]:
            x = samples(source.element.underlying.name)
            check(source, target, x[: x.size // channels * channels].reshape(-1, channels))


def test_offsets_that_float32_does_not_subtract_exactly_are_left_to_numpy() -> None:
    for kind in QUANTISED:
        far = ScaleOffset(0.5, (1 << 23) + 1, kind)
        assert (conversion(far, Plain("float32")) is None) == (kind != "qint32")
        far = ScaleOffset([0.5, 1], [0, -(1 << 23) - 1], kind, axis=0)
        assert (conversion(far, Plain("float32")) is None) == (kind != "qint32")


# Any length at any address.


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    ("source", "target"),
    [
        (Plain("float32"), ScaleOffset(0.05, 3, "quint8")),
        (Plain("float32"), Plain("float16")),
        (Plain("float64"), Plain("float16")),
        (Plain("uint8"), Plain("int64")),
        (ScaleOffset(0.05, 3, "qint16"), Plain("float32")),
        (ScaleOffset(0.05, 3, "quint8"), ScaleOffset(0.25, -3, "qint32")),
        (Plain("float8_e5m2"), Plain("float32")),
        (Plain("float16"), ScaleOffset([0.5, 2], [1, 2], "quint8", axis=1)),
    ],
)
def test_lengths_and_addresses(source: Interface, target: Interface, isa: str) -> None:
    target = saturating(target)
    described = conversion(source, target)
    assert described is not None
    assert native is not None
    x = samples(source.element.underlying.name)
    x = x[:: x.size // 120][:100].copy()
    raw, channels = x.view(np.uint8), 2 if target.axis is not None else 1
    width, made = x.itemsize, storage_dtype(target.element).itemsize
    for count in [*range(0, 101, channels), 512, 514, 1100]:
        values = np.resize(x, count)
        expected = meant(values.reshape(-1, channels), source, target).reshape(-1).view(np.uint8)
        for shift in (0, 1, 3, 17):
            held = np.zeros(count * width + shift, np.uint8)
            held[shift:] = np.resize(raw, count * width)
            out = np.full(made * count + 64, 0xA5, np.uint8)
            native.convert(described, held[shift:], out[shift : shift + made * count], isa=isa)
            assert (out[shift : shift + made * count] == expected).all()
            assert (np.delete(out, slice(shift, shift + made * count)) == 0xA5).all()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", QUANTISED)
@pytest.mark.parametrize("source", FLOATS)
def test_one_nan_among_any_numbers_is_told(source: str, kind: str, isa: str) -> None:
    refusing = conversion(Plain(source), ScaleOffset(0.5, 3, kind))
    assert refusing is not None
    assert native is not None
    for count in (1, 7, 8, 31, 64, 1000):
        x = np.resize([0.0, -0.0, np.inf, -np.inf, 6e4, -6e-5], count).astype(storage_dtype(source))
        out = np.zeros(count * storage_dtype(kind).itemsize, np.uint8)
        assert native.convert(refusing, x.view(np.uint8), out, isa=isa) is False
        for at in {0, count // 2, count - 1}:
            y = x.copy()
            y[at] = np.nan
            assert native.convert(refusing, y.view(np.uint8), out, isa=isa) is True
            assert native.convert(refusing._replace(refuses_nan=False), y.view(np.uint8), out, isa=isa) is False


# What is asked of the compiled core.


def test_the_instruction_set_can_be_chosen() -> None:
    assert ISAS[0] == "baseline"
    code = "from relayout.native import native; print(*native.isas())"
    for k, isa in enumerate(ISAS):
        asked = {**os.environ, "RELAYOUT_ISA": isa}
        done = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ISAS[: k + 1]


def test_refusals() -> None:
    assert native is not None
    x, out = np.zeros(8, np.uint8), np.zeros(2, np.uint8)
    described = Conversion("float32", "uint8", None, ((0.5,), (3,)), None, False)
    native.convert(described, x, out)
    assert out.tolist() == [3, 3]
    for source, target in [(x[:7], out), (x[:4], out), (x, out[:1]), (x, x[3:5])]:
        with pytest.raises(ValueError, match="source and target"):
            native.convert(described, source, target)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        native.convert(described, x, out)
    with pytest.raises(ValueError, match="instruction set"):
        native.convert(described, x, x, isa="mmx")
    with pytest.raises(ValueError, match="no such conversion"):
        native.convert(Conversion("float32", "uint8", None, None, None, False), x, x)
    for bad in [((), ()), ((1.0,), (1, 2))]:
        with pytest.raises(ValueError, match="as many scales"):
            native.converts(described._replace(encode=bad))
    with pytest.raises(ValueError, match="256 entries"):
        native.converts(described._replace(table=bytes(768)))
    for nonsense in (None, (), ("a", "b"), ("float32", "uint8", None, 3, None)):
        with pytest.raises(TypeError):
            native.converts(nonsense)
    assert not native.converts(("cat", "dog", None, None, None, False))
    assert not native.converts(("uint32", "float32", ((0.5,), (3,)), None, None, False))
    assert not native.converts(("float32", "float32", ((0.5,), (3,)), None, None, False))


def test_interfaces_that_are_the_same_convert_nothing() -> None:
    for x in (Plain("float32"), ScaleOffset(0.5, 3, "quint8")):
        assert conversion(x, x) is None
