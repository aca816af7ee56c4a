"""Wavefronts of accesses to shared memory, judged by measurements and by a count that knows nothing of ours."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from relayout.errors import NotExpressible, OutOfBounds, ShapeError
from relayout.hardware import Access, Architecture, architecture_named, architecture_names, wavefronts
from relayout.hardware.instructions import canonical_name
from relayout.testing import ConformanceError, conformance

VECTORS = Path(__file__).parent / "bank_vectors"

BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "b128": 16}

GROUPS = {
    # The measured phases of AMD's reads of 16 bytes, as first and last lanes of their runs.
    "gfx942": "0-3,20-23 32-35,52-55 4-7,16-19 36-39,48-51 8-11,28-31 40-43,60-63 12-15,24-27 44-47,56-59",
    "gfx950": "0-3,12-15,20-27 32-35,44-47,52-59 4-11,16-19,28-31 36-43,48-51,60-63",
    "gfx1100": "0-3,20-23 4-7,16-19 8-11,28-31 12-15,24-27",
    "gfx1201": "0-7 8-15 16-23 24-31",
}


def runs(text: str) -> list[list[int]]:
    """Groups of lanes, as in "0-3,20-23 4-7,16-19"."""
    groups = []
    for group in text.split():
        ends = [tuple(map(int, run.split("-"))) for run in group.split(",")]
        groups.append([lane for first, last in ends for lane in range(first, last + 1)])
    return groups


def counted(
    groups: list[list[int]], addresses: list[int | None], size: int, banks: int = 32, shares: bool = True
) -> list[int]:
    """The wavefronts of each group of lanes, counted byte by byte."""
    found = []
    for group in groups:
        wanted = [
            ((address + byte) // 4, 0 if shares else lane)
            for lane in group
            if (address := addresses[lane]) is not None
            for byte in range(size)
        ]
        found.append(max((len({w for w in wanted if w[0] % banks == bank}) for bank in range(banks)), default=0))
    return found


def nvidia(access: str, addresses: list[int | None]) -> int:
    """The rule of the measurements: 128 bytes a group; loads of 8 and 16 bytes take twice as many lanes in pairs."""
    if "matrix" in access:
        count = int(access.split(".x")[1][0])
        return sum(counted([list(range(8 * i, 8 * i + 8)) for i in range(count)], addresses, 16))
    size = BYTES.get(access.rpartition(".")[2], 4)
    lanes = min(32, 128 // size)
    steady = access.startswith("ld") and lanes < 32 and any(address is not None for address in addresses)
    if steady and any(all(len({addresses[t], addresses[t ^ d]} - {None}) < 2 for t in range(32)) for d in (1, 2)):
        lanes *= 2
    groups = [list(range(first, first + lanes)) for first in range(0, 32, lanes)]
    total = sum(counted(groups, addresses, size, shares=access.startswith(("ld", "st"))))
    return max(total, len(groups)) if steady else total


def measured() -> list[tuple[str, int, list[int]]]:
    found = []
    for line in (VECTORS / "h200.txt").read_text().splitlines():
        if not line.startswith("#"):
            access, count, *units = line.split()
            size = 16 if "matrix" in access else BYTES[access.rpartition(".")[2]]
            found.append((access, int(count), [int(unit) * size for unit in units]))
    return found


def patterns(random: Random, size: int, lanes: int = 32) -> list[int]:
    """One address for each lane: random, strided, shared by neighbours, or rows of a padded tile."""
    kind = random.randrange(5)
    if kind == 0:
        return [size * random.randrange(2048 // size) for _ in range(lanes)]
    if kind == 1:
        stride = random.randrange(0, 40)
        return [size * stride * lane for lane in range(lanes)]
    if kind == 2:
        distance = random.choice([1, 2, 3, 4, 8, 16])
        chosen = [size * random.randrange(2048 // size) for _ in range(lanes)]
        return [chosen[lane & ~distance] for lane in range(lanes)]
    if kind == 3:
        rows, pitch = random.choice([2, 4, 8, 16]), random.choice([128, 132, 144, 160, 256, 272])
        return [(lane % rows * pitch + lane // rows * size) // size * size for lane in range(lanes)]
    order = list(range(lanes))
    random.shuffle(order)
    return [size * place for place in order]


# ---- truth ------------------------------------------------------------------------------------------------


def test_every_measured_pattern_agrees() -> None:
    cases = measured()
    assert len(cases) == 600
    assert {access for access, _, _ in cases} >= {"ld.shared.b8", "ldmatrix.x1", "ldmatrix.x4.trans", "stmatrix.x4"}
    wrong = [(access, count) for access, count, lanes in cases if wavefronts(lanes, access) != count]
    assert not wrong
    assert all(nvidia(access, list(lanes)) == count for access, count, lanes in cases)


def test_the_project_s_own_measurements_agree() -> None:
    """Cycles that tests/gpu_banks.py took on an H200, lanes that are off included; a copy takes half a cycle more."""
    lines = (VECTORS / "h200_cycles.txt").read_text().splitlines()[1:]
    known = architecture_named("sm90").accesses.values()
    seen = set()
    for line in lines:
        access, cycles, *places = line.split()
        lanes = [None if place == "." else int(place) for place in places]
        found = wavefronts(lanes, access)
        extra = 0.5 if access.startswith("cp") else 0
        room = 0.25 + 0.03 * found if access.startswith(("ld", "st")) else 0.6
        assert abs(float(cycles) - found - extra) <= room, line
        assert nvidia(access, lanes) == found
        seen.add(architecture_named("sm90").access(access).name)
    assert seen == {access.name for access in known if access.known == "measured"}
    assert sum("." in line.split() for line in lines) > 100


def test_the_counters_of_a_device_agree() -> None:
    """What ncu counted on an H200: sectors of global memory, and wavefronts, of which each launch has one more."""
    seen = set()
    for line in (VECTORS / "h200_counters.txt").read_text().splitlines()[1:]:
        access, count, *places = line.split()
        lanes = [None if place == "." else int(place) for place in places]
        if ".global." in access:
            # Stores move the same sectors; where lanes of one meet, rl.sectors refuses the race.
            as_load = access.replace("st.", "ld.")
            assert rl.sectors(rl.Layout(1 << 14), lanes, "uint8", access=as_load).sectors == int(count), line
        else:
            assert wavefronts(lanes, access) + 1 == int(count), line
        seen.add(access)
    assert len(seen) == 24


@pytest.mark.parametrize("access", architecture_named("sm90").accesses)
def test_random_patterns_agree_with_a_plain_count(access: str) -> None:
    random = Random(access)
    size = architecture_named("sm90").access(access).bytes
    table = [patterns(random, size) for _ in range(60)]
    found = wavefronts(np.array(table), access)
    assert found.shape == (60,)
    assert list(found) == [nvidia(access, list(row)) for row in table]
    if "matrix" not in access:
        some = [[None if random.randrange(3) == 0 else address for address in row] for row in table]
        some += [
            [address if lane // 8 == k % 4 else None for lane, address in enumerate(row)] for k, row in enumerate(table)
        ]
        assert list(wavefronts(some, access)) == [nvidia(access, row) for row in some]


@pytest.mark.parametrize("arch", GROUPS)
def test_amd_reads_agree_with_the_measured_groups(arch: str) -> None:
    machine = architecture_named(arch)
    random = Random(arch)
    lanes, banks = machine.lanes, machine.banks
    assert (lanes, banks) == {"gfx942": (64, 32), "gfx950": (64, 64), "gfx1100": (32, 32), "gfx1201": (32, 32)}[arch]
    for name, size in (("ds_read_b32", 4), ("ds_read_b64", 8), ("ds_read_b128", 16)):
        at_once = min(lanes, 4 * banks // size)
        in_order = [list(range(first, first + at_once)) for first in range(0, lanes, at_once)]
        groups = runs(GROUPS[arch]) if size == 16 else in_order
        table = [patterns(random, size, lanes) for _ in range(40)]
        assert list(wavefronts(table, name, arch)) == [sum(counted(groups, list(row), size, banks)) for row in table]


CONFLICTS = {
    # Conflicts that rocprof counted in 64 reads of strided lanes on an MI300X (amd-shark-ai, docs/empirical-lds).
    "ds_read_b32": {4: 0, 8: 128, 16: 384, 32: 896, 64: 1920, 128: 3968, 256: 3968, 512: 3968},
    "ds_read_b64": {8: 0, 16: 256, 32: 768, 64: 1792, 128: 3840, 256: 3840, 512: 3840},
    "ds_read_b128": {16: 0, 32: 512, 64: 1536, 128: 3584, 256: 3584},
}


@pytest.mark.parametrize("access", CONFLICTS)
def test_conflicts_counted_on_an_mi300x_agree(access: str) -> None:
    ideal = len(architecture_named("gfx942").access(access).phases)
    for stride, conflicts in CONFLICTS[access].items():
        found = wavefronts([stride * lane for lane in range(64)], access, "gfx942")
        assert 64 * (found - ideal) == conflicts, stride


def test_reads_and_writes_of_one_layout_differ_on_gfx942() -> None:
    tile = [lane % 16 * 64 + lane // 16 * 16 for lane in range(64)]
    assert wavefronts(tile, "ds_read_b128", "gfx942") != wavefronts(tile, "ds_write_b128", "gfx942")


def test_what_others_count_wrong() -> None:
    """Phases: 16 bytes a lane in a row are no conflict. Pairs: two lanes at one address are served together."""
    assert wavefronts([16 * lane for lane in range(32)], "ld.shared.b128") == 4
    assert wavefronts([8 * lane for lane in range(32)], "ld.shared.b64") == 2
    assert wavefronts([16 * (lane // 2) for lane in range(32)], "ld.shared.b128") == 2
    assert wavefronts([8 * (lane // 2) for lane in range(32)], "ld.shared.b64") == 1
    assert wavefronts([8 * (lane // 2) for lane in range(32)], "st.shared.b64") == 2


@pytest.mark.parametrize(
    ("arch", "wrong"),
    [
        # The tiles of lanes in Triton's source of 2026-08: bits {0, 1, 4} and {0, 1, 3, 4}.
        ("gfx942", "0-3,16-19 4-7,20-23 8-11,24-27 12-15,28-31 32-35,48-51 36-39,52-55 40-43,56-59 44-47,60-63"),
        ("gfx950", "0-3,8-11,16-19,24-27 4-7,12-15,20-23,28-31 32-35,40-43,48-51,56-59 36-39,44-47,52-55,60-63"),
        # Groups in order, as rocRoller has them.
        ("gfx942", " ".join([f"{k}-{k + 7}" for k in range(0, 64, 8)])),
        ("gfx950", " ".join([f"{k}-{k + 15}" for k in range(0, 64, 16)])),
    ],
)
def test_phases_that_others_assume_are_told_apart(arch: str, wrong: str) -> None:
    """What fits the measured phases conflicts by the others, and the other way round."""
    banks, random = architecture_named(arch).banks, Random(wrong)
    right, others = runs(GROUPS[arch]), runs(wrong)
    for fits, conflicts in ((right, others), (others, right)):
        lanes: list[int | None] = [0] * 64
        for row, group in enumerate(fits):
            for place, lane in enumerate(random.sample(group, len(group))):
                lanes[lane] = 4 * banks * row + 16 * place
        assert sum(counted(fits, lanes, 16, banks)) == len(fits)
        assert sum(counted(conflicts, lanes, 16, banks)) > len(fits)
        assert wavefronts(lanes, "ds_read_b128", arch) == sum(counted(right, lanes, 16, banks))


# ---- what comes back --------------------------------------------------------------------------------------


def test_lanes_that_are_off_take_no_part() -> None:
    some = [128 * lane if lane % 4 == 0 else None for lane in range(32)]
    assert wavefronts(some, "ld.shared.b32") == 8
    assert wavefronts([None] * 32, "ld.shared.b32") == 0
    assert list(wavefronts([some, [None] * 32], "ld.shared.b32")) == [8, 0]
    # A load of 8 bytes has two phases, and takes two wavefronts also where one of them is off; a store does not.
    half = [8 * lane if lane < 16 else None for lane in range(32)]
    assert (wavefronts(half, "ld.shared.b64"), wavefronts(half, "st.shared.b64")) == (2, 1)
    # A lane that is off pairs with any: all lanes are in pairs, and are served at once.
    assert wavefronts([None if lane % 2 else 4 * lane for lane in range(32)], "ld.shared.b64") == 1
    assert wavefronts([None] * 32, "ld.shared.b128") == 0


def test_atomics_and_copies_share_no_word() -> None:
    one = [0] * 32
    assert (wavefronts(one, "ld.shared.b32"), wavefronts(one, "st.shared.b32")) == (1, 1)
    assert (wavefronts(one, "atom.shared.add.u32"), wavefronts(one, "cp.async.b32")) == (32, 32)


def test_rows_of_x1_and_x2_ignore_the_other_lanes() -> None:
    rows = [16 * lane for lane in range(8)]
    for rest in ([None] * 24, [0] * 24, [-7] * 24, [1.5] * 24):
        assert wavefronts(rows + rest, "ldmatrix.x1") == 1
    assert wavefronts([128 * lane for lane in range(16)] + [3] * 16, "ldmatrix.x2") == 16


def test_the_shape_of_the_answer() -> None:
    one = wavefronts(range(0, 128, 4), "ld.shared.b32")
    assert isinstance(one, int)
    assert one == 1
    many = wavefronts(np.zeros((2, 3, 32), np.uint8), "ld.shared.b32")
    assert many.shape == (2, 3)
    assert many.dtype.kind == "i"
    assert wavefronts(np.zeros((0, 32), int), "ld.shared.b32").shape == (0,)
    assert wavefronts(np.arange(32, dtype=np.uint64) * 4, "ld.shared.b32") == 1


def test_the_answer_says_how_it_is_known() -> None:
    rows = [4 * lane for lane in range(32)]
    measured_one, documented = wavefronts(rows, "ld.shared.b32"), wavefronts(rows, "ld.shared.b32", "sm100")
    assert (measured_one.known, documented.known) == ("measured", "documented")
    assert (repr(measured_one), repr(documented), str(documented)) == ("1", "1 (documented, not measured)", "1")
    assert "H200" in measured_one.source
    assert wavefronts([rows], "ld.shared.b32", "sm100").known == "documented"
    again = pickle.loads(pickle.dumps(documented))
    assert (again, again.known) == (1, "documented")


# ---- words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ld.shared.v4.u32", "ld.shared.b128"),
        ("ld.shared.v2.f64", "ld.shared.b128"),
        ("ld.shared.v2.b32", "ld.shared.b64"),
        ("ld.shared.v4.s8", "ld.shared.b32"),
        ("ld.shared.f16x2", "ld.shared.b32"),
        ("ld.volatile.shared::cta.s16", "ld.shared.b16"),
        ("ST.SHARED.V4.F32", "st.shared.b128"),
        ("st.shared.bf16", "st.shared.b16"),
        ("LDS.128", "ld.shared.b128"),
        ("LDS", "ld.shared.b32"),
        ("STS.U8", "st.shared.b8"),
        ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "ldmatrix.x4.trans"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16;", "ldmatrix.x2"),
        ("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16", "stmatrix.x1.trans"),
        ("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", "ldmatrix.m16n16.x2.trans.b8"),
        ("cp.async.cg.shared.global.16", "cp.async.b128"),
        ("cp.async.ca.shared::cta.global.4", "cp.async.b32"),
        ("ds_load_b128", "ds_read_b128"),
        ("ds_store_b64", "ds_write_b64"),
        ("ds_read_u16", "ds_read_b16"),
        ("atom.shared.add.u32", "atom.shared.b32"),
        ("atom.relaxed.cta.shared::cta.max.s32", "atom.shared.b32"),
        ("red.shared.xor.b32", "red.shared.b32"),
    ],
)
def test_texts_of_assemblers_are_read(text: str, name: str) -> None:
    assert canonical_name(text) == name


@pytest.mark.parametrize(
    ("text", "arch", "error", "message"),
    [
        ("ld.global.b32", "sm90", NotExpressible, "rl.sectors"),
        ("ld.shared::cluster.b32", "sm90", NotExpressible, "another block"),
        ("ld.shared.v4.f64", "sm90", ShapeError, "32 bytes a lane"),
        ("ld.shared.b33", "sm90", ShapeError, "did you mean ld.shared.b"),
        ("ld", "sm90", ShapeError, "has no access"),
        ("ldmatrix.x3", "sm90", ShapeError, "did you mean ldmatrix.x"),
        ("ldmatrix.x4.x2", "sm90", ShapeError, "has no access"),
        ("stmatrix.x4", "sm80", ShapeError, "sm80 has no access"),
        ("ldmatrix.x4", "sm70", ShapeError, "sm70 has no access"),
        ("cp.async.bulk.tensor.2d", "sm90", NotExpressible, "copy engine"),
        ("cp.async.12", "sm90", ShapeError, "has no access"),
        ("ds_read_b32", "sm90", ShapeError, "has no access"),
        ("atom.shared.add.f32", "sm90", NotExpressible, "one integer of 4 bytes"),
        ("atom.shared.cas.b32", "sm90", NotExpressible, "one integer of 4 bytes"),
        ("atom.global.add.u32", "sm90", ShapeError, "has no access"),
        ("red.shared.add.u32", "sm80", NotExpressible, "measured on Hopper alone"),
        ("ds_read2_b64", "gfx942", NotExpressible, "two addresses"),
        ("ds_load_2addr_b64", "gfx1201", NotExpressible, "two addresses"),
        ("ds_write_b128", "gfx950", NotExpressible, "rocRoller counts 32 banks"),
        ("ds_read_b96", "gfx950", NotExpressible, "rocRoller"),
        ("ds_read_b96", "gfx942", NotExpressible, "nobody has measured"),
        ("ds_read_u8", "gfx942", NotExpressible, "nobody has measured"),
        ("ds_write_b32", "gfx1100", NotExpressible, "nobody has measured"),
        ("ds_read_b32", "gfx90a", NotExpressible, "nobody has measured"),
        ("ds_read_b128", "gfx1250", NotExpressible, "Triton"),
        ("", "sm90", ShapeError, "has no access"),
        (None, "sm90", ShapeError, "a text, not None"),
        (128, "sm90", ShapeError, "a text, not 128"),
    ],
)
def test_what_is_no_access_is_refused(text: object, arch: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wavefronts([0] * architecture_named(arch).lanes, text, arch)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        *[
            (text, "sm90")
            for text in ("sm90", "sm_90", "SM90a", "sm_90a", "compute_90", "sm-90", "Hopper", "H100", "h200")
        ],
        *[("sm_100f", "sm100"), ("sm_120a", "sm120"), ("B200", "sm100"), ("Ada", "sm89"), ("A100", "sm80")],
        *[("GFX942", "gfx942"), ("gfx942:sramecc+:xnack-", "gfx942"), ("MI355X", "gfx950"), ("CDNA3", "gfx942")],
    ],
)
def test_spellings_of_an_architecture(name: str, found: str) -> None:
    assert architecture_named(name).name == found


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("sm91", "sm90"),
        ("gfx941", "gfx942"),
        ("gfx9", "gfx9"),
        ("hoper", "hopper"),
        ("", "there are sm70"),
        (90, "write sm90"),
    ],
)
def test_an_unknown_architecture_lists_the_near_ones(name: object, near: str) -> None:
    with pytest.raises(ShapeError, match=near):
        architecture_named(name)  # type: ignore[arg-type]


@given(st.text(max_size=30), st.text("smgfx_0123456789aphoer", max_size=9))
def test_any_word_is_read_or_refused(access: str, arch: str) -> None:
    for call in (lambda: architecture_named(arch), lambda: architecture_named("sm90").access(access)):
        try:
            call()
        except rl.LayoutError as refusal:
            assert refusal.hint


PTX = ["ld", "st", "ldmatrix", "cp", "atom", "shared", "global", "v2", "v4", "b32", "u8", "x4", "trans", "async", "16"]


@given(st.lists(st.sampled_from(PTX)))
def test_any_words_of_ptx_are_read_or_refused(words: list[str]) -> None:
    try:
        found = architecture_named("sm90").access(".".join(words))
    except rl.LayoutError as refusal:
        assert refusal.hint
    else:
        assert canonical_name(found.name) == found.name


# ---- bad addresses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("addresses", "access", "error", "message"),
    [
        ([0] * 31, "ld.shared.b32", ShapeError, "has 32 lanes, and 31 addresses came"),
        ([0] * 64, "ld.shared.b32", ShapeError, "and 64"),
        (7, "ld.shared.b32", ShapeError, "and 7 came"),
        ([], "ld.shared.b32", ShapeError, "and 0"),
        (None, "ld.shared.b32", ShapeError, "and None came"),
        ([[0] * 32, [0] * 31], "ld.shared.b32", ShapeError, r"and \(\(0, "),
        ([0] * 5 + [2] + [0] * 26, "ld.shared.b32", ShapeError, "lane 5 has the address 2, and ld.shared.b32"),
        ([0] * 5 + [8] + [0] * 26, "ld.shared.b128", ShapeError, "an access of 8 bytes"),
        ([0] * 31 + [-4], "ld.shared.b32", OutOfBounds, "lane 31 has the address -4"),
        ([1 << 60] * 32, "ld.shared.b32", OutOfBounds, "outside memory"),
        ([1 << 100] * 32, "ld.shared.b32", OutOfBounds, "outside memory"),
        ([0.0] * 32, "ld.shared.b32", ShapeError, "lane 0 has the address 0.0, which is no integer"),
        ([True] * 32, "ld.shared.b32", ShapeError, "no integer"),
        (["0"] * 32, "ld.shared.b32", ShapeError, "no integer"),
        (np.zeros(32), "ld.shared.b32", ShapeError, "no integer"),
        (np.full(32, np.nan), "ld.shared.b32", ShapeError, "no integer"),
        (np.array([-4] * 32), "ld.shared.b32", OutOfBounds, "-4"),
        (np.array([2**64 - 4] * 32, np.uint64), "ld.shared.b32", OutOfBounds, "outside memory"),
    ],
)
def test_bad_addresses_are_refused(addresses: object, access: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wavefronts(addresses, access)


# ---- architectures of others ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", architecture_names())
def test_architectures_conform(name: str) -> None:
    conformance(name)


def test_what_breaks_a_law_is_named() -> None:
    lanes = tuple(range(32))
    bad = {
        "ld.shared.b32": Access("ld.shared.b64", 4, (lanes, lanes), "measured", "x"),
        "LDS": Access("LDS", 16, (lanes,), "guessed", ""),  # type: ignore[arg-type]
    }
    with pytest.raises(ConformanceError) as caught:
        conformance(Architecture("bad", "Bad", "nobody", 32, 33, 4, bad, {"LDS": ""}))
    for word in ("33 banks", "is called ld.shared.b64", "LDS is read as", "answered and refused", "serves", "guessed"):
        assert word in str(caught.value)


def test_another_package_adds_an_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    from relayout.hardware import registry

    own = Architecture(
        "tpu9", "Ours", "us", 4, 4, 4, {"ds_read_b32": Access("ds_read_b32", 4, ((0, 1, 2, 3),), "read", "x")}
    )

    class Point:
        def __init__(self, name: str, value: object) -> None:
            self.name, self.value = name, value

        def load(self) -> object:
            if isinstance(self.value, Exception):
                raise self.value
            return self.value

    points = [Point("tpu9", own), Point("gone", ImportError("no module")), Point("odd", 3), Point("sm90", own)]
    monkeypatch.setattr(registry, "entry_points_of", lambda group: points if group == "relayout.architectures" else [])
    registry._entry_points.cache_clear()
    try:
        assert "tpu9" in architecture_names()
        assert wavefronts([0, 16, 32, 48], "ds_read_b32", "tpu9") == 4
        assert architecture_named("sm90").vendor == "NVIDIA"
        with pytest.raises(ShapeError, match="cannot be imported: no module"):
            architecture_named("gone")
        with pytest.raises(ShapeError, match="no Architecture"):
            architecture_named("odd")
    finally:
        registry._entry_points.cache_clear()
        registry._load.cache_clear()


def test_phases_are_cosets() -> None:
    spans = {arch: architecture_named(arch).access("ds_read_b128").span for arch in GROUPS}
    assert spans == {"gfx942": (1, 2, 20), "gfx950": (1, 2, 12, 20), "gfx1100": (1, 2, 20), "gfx1201": (1, 2, 4)}
    assert Access("ds_read_b32", 4, ((0, 1, 2), (3,)), "read", "x").span is None
    assert rl.hardware.wavefronts is wavefronts
