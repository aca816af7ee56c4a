"""Repacks of elements of 1, 2, 4 and 8 bits between layouts of many digits, judged by numpy's indexing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

import relayout as rl
from packed_cases import BITS, codes_of, expected, random_plan
from relayout.engine import tuning, ways
from relayout.engine.ways import GeneralWay, NativeWay, NetworkWay
from relayout.native import native

MARLIN = "0 1 / 1,8@1 0,4@2 1,4@16 0,2@1 1,2@8 0,2@8"
needs_native = pytest.mark.skipif(native is None, reason="the compiled core was not built")


def check(plan: rl.Plan, bits: int, rng: np.random.Generator, misaligned: bool = False) -> None:
    sizes = [-(-layout.storage_size * bits // 8) + misaligned for layout in (plan.source, plan.target)]
    x, out = [rng.integers(0, 256, size, np.uint8)[int(misaligned) :] for size in sizes]
    want = expected(x, out, plan, bits)
    plan(x, out)
    np.testing.assert_array_equal(codes_of(out, bits), want)


@pytest.mark.parametrize("bits", BITS)
def test_digits_in_any_order(bits: int) -> None:
    rnd, rng = random.Random(bits), np.random.default_rng(bits)
    for number in range(25):
        check(random_plan(rnd, bits), bits, rng, misaligned=number % 3 == 0)


@needs_native
@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_lesser_instruction_sets_give_the_same(isa: str) -> None:
    program = "import test_packed as t\nfor bits in t.BITS: t.test_digits_in_any_order(bits)"
    where = {**os.environ, "RELAYOUT_ISA": isa, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", program], env=where, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shape", [(128, 256), (256, 64), (48, 192), (112, 320), (32, 80), (33, 129), (128, 2)])
@pytest.mark.parametrize("texts", [("0 1 / 0,8", MARLIN), ("1 0 / 1,4 0,2 0,8@1 0,4@8", "0 1 / 1,2@1 1,4@2")])
def test_padded_weights_there_and_back(texts: tuple[str, str], shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    for one, two in (texts, texts[::-1]):
        plan = rl.plan(one, two, "uint4", shape=shape, fill=5)
        assert plan.fill is not None
        x = rng.integers(0, 256, -(-plan.source.storage_size // 2), np.uint8)
        filled = np.full(-(-plan.target.storage_size // 2), 0x55, np.uint8)
        want = expected(x, filled, plan, 4)[: plan.target.storage_size]
        np.testing.assert_array_equal(codes_of(plan(x), 4)[: want.size], want)


def test_large_targets_are_streamed() -> None:
    # From 24 MiB on lines of the target are written around the cache, where they begin at a line.
    plan = rl.plan("0 1 / 0,8", MARLIN, "uint4", shape=(8192, 6272))
    x = np.random.default_rng(3).integers(0, 256, 8192 * 6272 // 2, np.uint8)
    out = plan(x)
    rows = x.view("<u4").reshape(1024, 6272)
    words = out.view("<u4").reshape(512, 98, 128)
    for row, column in ((0, 0), (8191, 6271), (4097, 65), (77, 6015)):
        k, n = row % 16, column % 64
        place = [k >> 3, n >> 3, k, n >> 4, n >> 5, k >> 1, k >> 2, n, n >> 1, n >> 2]
        nibble = sum([(digit & 1) << bit for bit, digit in enumerate(place)])
        got = words[row // 16, column // 64, nibble // 8] >> 4 * (nibble % 8) & 15
        assert got == rows[row // 8, column] >> 4 * (row % 8) & 15


@needs_native
@pytest.mark.parametrize(
    ("bits", "one", "two"),
    [
        (4, "0 1 / 0,8", MARLIN),
        (4, "0 1 / 1,2@1 1,4@2", "0 1 / 0,8"),
        (4, "0 1 / 1,16@1 1,2@16", "0 1 / 1,2@8 0,8 1,8@1 1,2@16"),
        (2, "0 1 / 0,16", "0 1 / 1,32@1 1,4@32"),
        (8, "0 1", "0 1 / 1,8@1 0,4@2 1,8@8 0,2@1 0,2@8"),
    ],
)
def test_weights_go_through_networks(bits: int, one: str, two: str) -> None:
    if "avx2" not in native.isas():
        pytest.skip("networks need vectors whose bytes change places")
    plan = rl.plan(one, two, f"uint{bits}", shape=(512, 1024))
    assert isinstance(plan.way, GeneralWay)
    assert plan.way.program.count_by_networks == 512 * 1024
    assert "networks" in plan.explain()
    check(plan, bits, np.random.default_rng(bits))


@needs_native
@pytest.mark.parametrize("tiles_are_faster", [False, True])
def test_networks_and_tiles_are_tried_and_the_faster_is_kept(
    tiles_are_faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "avx2" not in native.isas():
        pytest.skip("networks need vectors whose bytes change places")
    monkeypatch.setattr(
        tuning, "ACTIVE", tuning.ACTIVE._replace(network_trials=2, network_speed=inf, trials_after=1 << 19)
    )
    clock, taken = [0], list[str]()
    monkeypatch.setattr(ways, "perf_counter_ns", lambda: clock[0])

    def counted(way: type[ways.HostWay], seconds: int) -> Callable[..., None]:
        copy = way.copy

        def run(self: Any, *args: Any) -> None:
            taken.append(way.name)
            clock[0] += seconds
            copy(self, *args)

        return run

    monkeypatch.setattr(NativeWay, "copy", counted(NativeWay, 1 if tiles_are_faster else 3))
    monkeypatch.setattr(GeneralWay, "copy", counted(GeneralWay, 2))
    order, fill = "0 1 / 1,8@1 0,4@2 1,8@8 0,2@1 0,2@8", int(tiles_are_faster)
    plan = rl.plan("0 1", order, "uint8", shape=(512, 512), fill=fill)
    assert isinstance(plan.way, NetworkWay)
    for seed in range(8):
        check(plan, 8, np.random.default_rng(seed))
    kept = "native" if tiles_are_faster else "general"
    assert taken == ["general"] * (2 + 2) + ["native"] * 2 + [kept] * 2
    assert f"Way: {kept}." in plan.explain()


@needs_native
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("shape", [(201, 1050), (96, 2050)])
def test_networks_take_odd_sizes_all_but_their_ends(
    bits: int, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "avx2" not in native.isas():
        pytest.skip("networks need vectors whose bytes change places")
    # Where any byte of a vector can be picked, tiles are gathered, which are as fast.
    monkeypatch.setattr(tuning, "ACTIVE", tuning.ACTIVE._replace(network_speed=inf))
    rng = np.random.default_rng(bits)
    for one, two in (("0 1 / 1,4@2 1,4@8 1,2", "0 1"), ("0 1", "0 1 / 1,8@1 1,2@32 1,2@8 1,2@16")):
        plan = rl.plan(one, two, f"uint{bits}", shape=shape, fill=3)
        assert isinstance(plan.way, GeneralWay)
        assert 0.95 * plan.target.size <= plan.way.program.count_by_networks < plan.target.size
        x = rng.integers(0, 1 << bits, plan.source.storage_size, f"uint{bits}")
        want = np.full(plan.target.storage_size, 3, x.dtype)
        want[plan.target.offsets()] = x[plan.source.offsets()]
        np.testing.assert_array_equal(plan(x), want)


@needs_native
def test_runs_and_transposes_of_bytes_stay_with_tiles() -> None:
    for one, two in (
        ("0 1", "1 0"),
        ("0 1", "0 1 / 0,64 1,64"),
        ("0 1", "0 1 / 0,16 1,16"),
        ("0 1 / 0,16 1,16", "0 1"),
    ):
        for shape in ((1024, 1024), (1021, 1019)):
            assert rl.plan(one, two, "uint8", shape=shape, fill=0).way.name == "native"
