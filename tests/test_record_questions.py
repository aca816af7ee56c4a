"""Records compared and explained: judged bit by bit by their data, and by what the words say read back."""

from __future__ import annotations

import re
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Record
from relayout.ask.record_comparison import bit_places
from test_records import KNOWN, records

IDENTITIES = {
    ("ggml:Q4_0", "ggml:IQ4_NL"): "qs is uint4-8 and uint4; the value is d*qs and d*iq4nl[qs]",
    ("ggml:q4_0_4x4", "ggml:iq4_nl_4x4"): "qs is int4 and uint4; the value is d*qs and d*iq4nl[qs]",
    ("ggml:q4_0_8x8", "ggml:iq4_nl_8x8"): "qs is int4 and uint4; the value is d*qs and d*iq4nl[qs]",
    ("ggml:q4_0_4x4", "kai:qsi4c32p4x4"): None,
    ("ggml:q4_0_4x8", "kai:qsi4c32p4x8"): None,
    ("ggml:q4_0_8x8", "kai:qsi4c32p8x8"): None,
    ("ggml:iq4_nl_4x4", "kai:qsi4c32p4x4"): "qs is uint4 and int4; the value is d*iq4nl[qs] and d*qs",
    ("ggml:iq4_nl_8x8", "kai:qsi4c32p8x8"): "qs is uint4 and int4; the value is d*iq4nl[qs] and d*qs",
}
"""The named records whose every bit has the same place, and what is not the same; None where all is."""


def places_by_data(record: Record, name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Where every bit of a field is, told by the data: digit by digit of its address, each in a tensor of its own."""
    size = record.size_of(shape)
    address = np.arange(8 * size)
    found: Any = 0
    for digit in range((8 * size).bit_length()):
        data = np.packbits((address >> digit & 1).astype(np.uint8), bitorder="little")
        stored = record.unpack(data, shape)[name]
        codes = stored.view(f"u{stored.dtype.itemsize}").astype(int)
        found = found + (np.stack([codes >> bit & 1 for bit in range(record[name].bits)], -1) << digit)
    return np.asarray(found)


# ---- compare ---------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(records(), records(), st.integers(1, 2), st.integers(1, 2))
def test_records_are_the_same_if_every_bit_is(a: Record, other: Record, rows: int, columns: int) -> None:
    b = other if other.block == a.block else Record(a.axes, a.block, a.nbytes + 1, a.fields)
    shape = (rows * a.block[0], columns * a.block[1])
    mine, theirs = [places_by_data(x, "q", shape) for x in (a, b)]
    assert bit_places(a, "q", shape).tolist() == mine.tolist()
    verdict = rl.compare(a, b, shape=shape)
    assert verdict.same_places == (mine.tolist() == theirs.tolist())
    assert bool(verdict) == (verdict.same_places and a.size_of(shape) == b.size_of(shape))
    if verdict.places is not None:
        at = (*verdict.coordinate, verdict.bit)
        assert (mine[at], theirs[at]) == verdict.places
        every = rl.compare(a, b)
        assert not every.same_places
    if rl.compare(a, b):
        assert verdict


def test_identities_of_named_records() -> None:
    found = {}
    for a, b in combinations(rl.catalog.known_records(), 2):
        verdict = rl.compare(a, b)
        assert bool(verdict) == (IDENTITIES.get((a, b), "") is None)
        if verdict.same_places:
            found[a, b] = verdict.meaning
    assert found == IDENTITIES
    for a, b in IDENTITIES:
        mine, theirs = rl.catalog.record(a), rl.catalog.record(b)
        data = np.random.default_rng(1).integers(0, 256, mine.size_of((8, 32)), dtype=np.uint8)
        one, other = [
            {k: v.view(f"u{v.dtype.itemsize}") for k, v in x.unpack(data, (8, 32)).items()} for x in (mine, theirs)
        ]
        assert all((one[name] & 15 == other[name] & 15).all() for name in one)


@pytest.mark.parametrize(
    "names", [("Q4_K", "Q5_K"), ("q4_K_8x4", "q4_K_8x8", "q5_K_8x4", "q5_K_8x8"), ("q6_K_8x4", "q6_K_8x8")]
)
def test_scales_lie_alike_in_blocks_of_other_codes(names: tuple[str, ...]) -> None:
    first, *others = [rl.catalog.record(f"ggml:{name}") for name in names]
    for record in others:
        assert [f.name for f in record.fields if f != first[f.name]] == ["qs"]
        for field in record.fields:
            mine, theirs = [bit_places(x, field.name, x.block) for x in (record, first)]
            assert (mine.tolist() == theirs.tolist()) == (field.name != "qs")


def test_a_record_is_the_same_in_other_words() -> None:
    one = rl.parse("record nk 1,32 bytes 34: d float16 @0; qs int8 @2 (1,32):(0,8); value d*qs")
    two = rl.parse(
        "record nk 1,64 bytes 68: qs int8 @2 (1,(32,2)):(0,(8,272)); d float16 @0 (1,2):(0,272); value d * qs"
    )
    assert rl.compare(one, "ggml:Q8_0")
    other = rl.parse("record nk 1,32 bytes 34: qs int8 @2 (1,(4,8)):(0,(8,32)); d float16 @0; value d * qs")
    assert other != one
    assert rl.catalog.find(other) == rl.catalog.find(one) == ["ggml:Q8_0"]
    assert "Known as ggml:Q8_0." in rl.explain(other)
    assert (
        rl.catalog.find(rl.parse("record nk 1,32 bytes 34: qs int8 @0 (1,32):(0,8); d float16 @32; value d*qs")) == []
    )
    assert str(rl.compare(one, two)) == "the same for every shape that both can have"
    for name in ("d", "qs"):
        assert places_by_data(one, name, (2, 128)).tolist() == places_by_data(two, name, (2, 128)).tolist()
    words = rl.parse("record kn 32,1 bytes 4 order 0 2 1 / 2,32: q uint1 @0 (32,1):(1,0)")
    assert rl.compare(words, "record kn 32,1 bytes 4: q uint1 @0 (32,1):(1,0)")
    bytewise = rl.compare(words, "record kn 32,1 bytes 4 order 0 2 1 / 2,8: q uint1 @0 (32,1):(1,0)")
    assert (bytewise.coordinate, bytewise.bit, bytewise.places, bytewise.shape) == ((0, 1), 0, (32, 8), (32, 2))


def test_an_order_may_have_digits_above_a_rest() -> None:
    """Columns of the first half beside those of the second: bytes 0 and 3, 1 and 4, 2 and 5 of six."""
    halves = rl.parse("record kn 8,1 bytes 1 order 0 1 2 / 1,2@rest 2,8: q uint1 @0 (8,1):(1,0)")
    plain = rl.parse("record kn 8,1 bytes 1: q uint1 @0 (8,1):(1,0)")
    data = np.arange(1, 13, dtype=np.uint8)
    codes = plain.unpack(data, (16, 6))
    assert halves.pack(codes, (16, 6)).tolist() == [1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12]
    assert halves.unpack(halves.pack(codes, (16, 6)), (16, 6))["q"].tolist() == codes["q"].tolist()
    assert rl.compare(halves, halves)
    assert rl.compare(halves, plain, shape=(16, 6)).places == (16, 8)
    with pytest.raises(rl.LimitExceeded, match="digits above a rest"):
        rl.compare(halves, plain)
    assert "2 of n in steps of rest" in rl.explain(halves)


@pytest.mark.parametrize(
    "name", ["gptq:w3", "gptq:planar5", "ggml:Q5_0", "ggml:q4_0_4x8", "mx:hopper", "allspark:w8a16"]
)
def test_axes_of_records_meet_by_name(name: str) -> None:
    record = rl.catalog.record(name)
    turned = record.aligned(record.axes[::-1])
    assert turned.axes == record.axes[::-1]
    assert rl.parse(str(turned)) == turned
    shape = tuple([2 * n * m for n, m in zip(record.block, (1, 2), strict=True)])
    fields = record.unpack(np.random.default_rng(5).bytes(record.size_of(shape)), shape)
    data = record.pack(fields, shape)
    assert turned.pack({k: v.T for k, v in fields.items()}, shape[::-1]).tobytes() == data.tobytes()
    assert rl.compare(record, turned)
    assert rl.compare(turned, record)
    assert rl.catalog.find(turned) == rl.catalog.find(record)
    assert turned.aligned(record.axes).block == record.block
    with pytest.raises(rl.ShapeError, match="not the axes"):
        record.aligned("xy")


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("ggml:Q4_0", "ggml:Q4_1", "only the second has m; qs is uint4-8 and uint4; the value is"),
        ("ggml:Q4_0", "gptq:w3", "only the first has d, qs; only the second has q; the value is"),
        ("gptq:w3", "compressed:pack3.zeros", "their axes are kn and ng"),
        ("ggml:Q4_0", "ggml:q4_0_4x4", r"for the shape 4 x 32: bit 0 of d \(1, 0\) is at 18.0 and 2.0"),
        ("ggml:q4_K_8x4", "ggml:q4_K_8x8", r"^for the shape 8 x 256: bit 0 of qs \(0, 4\) is at 160.0 and 132.0"),
        (
            "ggml:Q4_0",
            "record nk 1,64 bytes 34: d float16 @0; qs uint4-8 @2 (1,64):(0,4); value d*qs",
            "one d stands for",
        ),
    ],
)
def test_the_first_difference(a: str, b: str, words: str) -> None:
    verdict = rl.compare(a, b)
    assert not verdict
    assert not verdict.same_places
    assert re.search(words, str(verdict))


def test_what_is_no_pair_of_records_is_refused() -> None:
    with pytest.raises(rl.ShapeError, match="'ggml:Q4_0' is a record, and '0 1' is none"):
        rl.compare("0 1", "ggml:Q4_0")
    with pytest.raises(rl.ShapeError, match="without axes, dtype"):
        rl.compare("ggml:Q4_0", "ggml:Q4_1", axes="nk", dtype="uint8")
    with pytest.raises(rl.ShapeError, match="no whole blocks"):
        rl.compare("ggml:Q4_0", "ggml:Q4_1", shape=(1, 33))
    with pytest.raises(rl.LimitExceeded, match="over the limit"):
        rl.compare("ggml:Q4_0", "ggml:Q4_1", shape=(4096, 4096))
    blocked = "record kn 8,1 bytes 1 order 0 1 2 / 0,{}: q uint1 @0 (8,1):(1,0)"
    assert rl.compare(blocked.format(2), blocked.format(2))
    assert not rl.compare(blocked.format(4), blocked.format(8))
    plain = rl.parse("record kn 8,1 bytes 1: q uint1 @0 (8,1):(1,0)")
    aligned = Record("kn", (8, 1), 1, plain.fields, order=rl.Format(3, [(0, 0), (1, 0), (2, 0)], align=(64, 1, 1, 1)))
    with pytest.raises(rl.LimitExceeded, match="nothing proves"):
        rl.compare(plain, aligned)


# ---- explain ---------------------------------------------------------------------------------------------

PLANE = re.compile(r"bits? (\d+)(?: to (\d+))?(?: of the (\d+) x (\d+) from \((\d+), (\d+)\) on)? in")
DIGIT = re.compile(r"(\d+) of (\w)(?: in steps of (\d+))?( backwards)? \(every (?:(\d+) )?(bit|byte)s?\)")


@pytest.mark.parametrize("name", KNOWN)
def test_the_words_say_where_every_bit_is(name: str) -> None:
    record = rl.catalog.record(name)
    lines = rl.explain(name).splitlines()
    [known] = [line for line in lines if line.startswith("Known as ")]
    assert name in known.removeprefix("Known as ").removesuffix(".").split(", ")
    bits = 8 * record.nbytes / np.prod(record.block)
    assert lines[0] == (
        f"Records of {record.nbytes} bytes, each a block of {' x '.join(map(str, record.block))} elements "
        f"({' x '.join(record.axes)}): {bits:g} bits for each element."
    )
    for field in record.fields:
        places = bit_places(Record(record.axes, record.block, record.nbytes, [field]), field.name, record.block)
        start = next(k for k, line in enumerate(lines) if line.startswith(f"{field.name}: "))
        apart = len(field.planes) > 1
        told = lines[start + 1 : start + 1 + len(field.planes)] if apart else [lines[start]]
        for line in told:
            which = [(0, field.bits - 1)] if not apart else PLANE.findall(line)
            low, high, box = int(which[0][0]), int(which[0][1] or which[0][0]), [int(n) for n in which[0][2:] if n]
            sizes, origin = (box[:2], box[2:]) if box else (field.shape, [0] * record.rank)
            mine = places[tuple([slice(o, o + n) for o, n in zip(origin, sizes, strict=True)])][..., low : high + 1]
            first, last = re.findall(r"in bytes? (\d+)(?: to (\d+))?", line)[0]
            assert (mine.min() // 8, mine.max() // 8) == (int(first), int(last or first))
            for c in product(*[range(n) for n in sizes]):
                moved = 0
                for count, axis, weight, back, many, unit in DIGIT.findall(line):
                    step = int(many or 1) * (8 if unit == "byte" else 1) * (-1 if back else 1)
                    moved += c[record.axes.index(axis)] // int(weight or 1) % int(count) * step
                assert mine[c].tolist() == [mine.reshape(-1)[0] + moved + k for k in range(mine.shape[-1])]


def test_words_of_a_shape_and_of_what_is_left() -> None:
    lines = rl.explain("ggml:Q4_K", (3, 512)).splitlines()
    assert "A tensor of 3 x 512 elements has 3 x 2 = 6 records, 864 bytes." in lines
    odd = rl.explain("record nk 1,2 bytes 2: q uint3-1 @0.7 (1,2):(0,-4)").splitlines()
    assert odd[1:3] == [
        "q: 2 uint3, one for each element, where 1 means 0; in bytes 0 to 1, from the fastest: 2 of k backwards (every "
        "4 bits).",
        "10 bits of a record belong to no field.",
    ]
    with pytest.raises(rl.ShapeError, match="names its own axes"):
        rl.explain("ggml:Q4_0", axes="nk")


def test_digits_that_count_backwards() -> None:
    lines = rl.explain("0 1 / 1,2@-1", (2, 8)).splitlines()
    assert "Inside a block, from the fastest: 2 of dimension 1 backwards." in lines
    assert "Its first element lies at 1, the lowest of all at 0." in lines
    assert any("2 of dimension 1 backwards (stride -1)" in line for line in lines)
