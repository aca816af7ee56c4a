"""The kernels for a GPU, on the host: what they compute, and what surrounds a launch."""

from __future__ import annotations

import random
from itertools import chain
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpu_cases
import packed_cases
import relayout as rl
from gpu_host import COMPILER, compiled, run
from relayout.engine import tuning
from relayout.engine.conversion import conversion
from relayout.engine.gpu import build, tile_choice
from relayout.engine.gpu.build import device_text, kernels, other_kernels
from relayout.engine.gpu.convert import conversion_text
from relayout.engine.gpu.kernel import Kernel
from relayout.engine.gpu.network import Byte, Network
from relayout.engine.gpu.tiles import MAX_SHARED_BYTES, PORTABLE_SHARED_BYTES, Tile
from relayout.engine.gpu.work import Work
from relayout.engine.tuning import EngineTuning
from relayout.native import native

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: kernels are not run on the host")


def memory(count: int, size: int, shift: int, data: bytes | None = None) -> Any:
    """Bytes past an aligned address by so many elements: the data, or junk."""
    room = np.empty((count + shift) * size + 64, np.uint8)
    start = -room.ctypes.data % 64 + shift * size
    part = room[start : start + count * size]
    part[:] = 0xA5 if data is None else np.frombuffer(data, np.uint8)
    return part


def alignment(case: gpu_cases.Case) -> tuple[int, int]:
    sizes = case.plan.element.element.bytes, case.plan.dst_element.element.bytes
    first, second = [gcd(16, shift * size) if shift else 16 for shift, size in zip(case.shift, sizes)]
    return first, second


def check_on_host(cases: list[gpu_cases.Case], folder: Path, made: list[list[Kernel]] | None = None) -> None:
    """The kernels of all plans write what the plans write on the host, and touch nothing else."""
    made = made or [kernels(case.plan, alignment(case)) for case in cases]
    library = compiled(list(chain(*made)), folder)
    number = 0
    for k, (case, own) in enumerate(zip(cases, made)):
        plan, data = case.plan, gpu_cases.sample(case.plan, k)
        sizes = plan.element.element.bytes, plan.dst_element.element.bytes
        x = memory(len(data) // sizes[0], sizes[0], case.shift[0], data)
        got = memory(plan.target.storage_size, sizes[1], case.shift[1])
        for kernel in own:
            run(library, number, x, got)
            number += 1
            assert kernel.shared <= MAX_SHARED_BYTES, case.name
        expected = memory(plan.target.storage_size, sizes[1], 0)
        plan(memoryview(data), out=memoryview(expected))
        assert np.array_equal(got, expected), case.name


@needs_compiler
@pytest.mark.parametrize("part", range(3))
def test_kernels_of_all_kinds_of_layouts(part: int, tmp_path: Path) -> None:
    kind = ("uint8", "uint16", "float64")[part]
    check_on_host([case for case in gpu_cases.named() if case.name.endswith(kind)], tmp_path)


@needs_compiler
def test_kernels_of_random_layouts(tmp_path: Path) -> None:
    check_on_host(list(gpu_cases.random_plans(2, 80)), tmp_path)


@needs_compiler
def test_kernels_that_keep_what_they_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "ACTIVE", EngineTuning(pinned_source_bytes=1, unpinned_bytes=1 << 10))
    cases = [case for case in gpu_cases.named() if case.name.endswith("uint16")]
    check_on_host([*cases, *gpu_cases.random_plans(5, 40)], tmp_path)
    made = [(case.plan, kernels(case.plan, (16, 16))) for case in cases]
    every = [kernel for plan, some in made for kernel in (*some, *other_kernels(plan, some, (16, 16)))]
    texts = "".join([kernel.text for kernel in every])
    for name in ("read16_kept(", "load16_kept(", "load16_and_next_kept(", "let_go(p)", "let_go(source"):
        assert name in texts


@needs_compiler
@pytest.mark.parametrize("values", [EngineTuning(), EngineTuning(pinned_source_bytes=1, unpinned_bytes=1 << 10)])
def test_tiles_of_other_kinds_write_the_same(
    values: EngineTuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = values.pinned_source_bytes == 1
    cases = [*list(gpu_cases.named())[start::13], *gpu_cases.random_plans(21 + start, 20)]
    monkeypatch.setattr(tuning, "ACTIVE", values)
    others = []
    for case in cases:
        made = kernels(case.plan, alignment(case))
        others += [(case, [*made[:-1], other]) for other in other_kernels(case.plan, made, alignment(case))]
    assert len(others) > 2 * len(cases)
    check_on_host([case for case, _ in others], tmp_path, [some for _, some in others])


SMALL = EngineTuning(tile_bytes=1 << 10, source_run_bytes=32, target_run_bytes=32, min_inner_tiles=2)
"""Tiles so small that most of them are inside, where small layouts have many."""


@needs_compiler
@pytest.mark.parametrize("limit", [0, 2])
def test_inner_tiles_and_those_at_an_edge(limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "ACTIVE", SMALL._replace(max_realigned_bytes=limit))
    for name in ("STAGED_RUNS", "LONG_RUNS", "LONGEST_RUNS"):
        monkeypatch.setattr(tile_choice, name, (32, 64))
    cases = [*list(gpu_cases.named())[limit::11], *gpu_cases.random_plans(11 + limit, 20)]
    check_on_host(cases, tmp_path)
    texts = [kernel.text for case in cases for kernel in kernels(case.plan, (16, 16))]
    assert sum(["ROLLED" in text for text in texts]) > len(texts) // 4


@needs_compiler
@pytest.mark.parametrize("values", [EngineTuning(), SMALL], ids=["large", "small"])
def test_threads_that_gather(values: EngineTuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of the target at any address, of elements that are apart in an image."""
    made = []

    def gathering(work: Work, aligned: tuple[int, int], converts: bool, shared: int) -> Tile | None:
        maker = tile_choice._TileChooser(work, aligned, converts, shared)
        able = maker.can_stage and not maker.is_filled
        found = maker.gathering_tile((64, 64), tuning.ACTIVE.tile_bytes) if able else None
        made.append(found)
        return found or tile_choice.tile(work, aligned, converts, shared)

    monkeypatch.setattr(build, "tile", gathering)
    monkeypatch.setattr(tuning, "ACTIVE", values)
    start = values is SMALL
    check_on_host([*list(gpu_cases.named())[start::11], *gpu_cases.random_plans(12 + start, 20)], tmp_path)
    assert sum([tile is not None for tile in made]) > len(made) // 3


def test_odd_transposes_gather_what_they_write() -> None:
    odd = rl.plan(gpu_cases.row(10007, 20011), gpu_cases.permuted((1, 0), 10007, 20011), "uint8")
    (kernel,) = kernels(odd, (16, 16))
    assert kernel.phases == ("load_image", "move")
    assert PORTABLE_SHARED_BYTES < kernel.shared <= MAX_SHARED_BYTES
    (portable,) = kernels(odd, (16, 16), shared=PORTABLE_SHARED_BYTES)
    assert portable.shared <= PORTABLE_SHARED_BYTES


def test_only_sources_that_no_cache_holds_are_kept() -> None:
    for rows, kept in ((1024, False), (16384, True)):
        plan = rl.plan(gpu_cases.row(rows, 4096), gpu_cases.permuted((1, 0), rows, 4096), "uint16")
        (kernel,) = kernels(plan, (16, 16))
        assert ("_kept(" in kernel.text, "let_go(" in kernel.text) == (kept, kept)


@needs_compiler
@pytest.mark.parametrize("case", list(gpu_cases.special()), ids=lambda case: case.name)
def test_kernels_of_certain_sizes(case: gpu_cases.Case, tmp_path: Path) -> None:
    check_on_host([case], tmp_path)


@needs_compiler
def test_conversions_give_the_same_bits(tmp_path: Path) -> None:
    check_on_host(
        [case for k, case in enumerate(gpu_cases.conversions()) if k % 3 == k // 3 % 3 or "divide" in case.name],
        tmp_path,
    )


def permuted(a: int, b: int, selector: int) -> int:
    """What the documentation of ``__byte_perm`` says."""
    both = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    return int.from_bytes(bytes([both[selector >> 4 * k & 7] for k in range(4)]), "little")


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=4, max_size=4), max_size=8))
def test_networks_pick_every_byte(wanted: list[list[tuple[int, int]]]) -> None:
    dice = random.Random(3)
    values = {f"x{k}": dice.getrandbits(32) for k in range(6)}
    network = Network()
    names = network.words([[Byte(f"x{word}", at) for word, at in each] for each in wanted])
    known = dict(values)
    for line in network.lines:
        name, _, expression = line.removeprefix("const u32 ").rstrip(";").partition(" = ")
        known[name] = eval(expression, {"__byte_perm": permuted}, known)
    for name, each in zip(names, wanted):
        assert known[name].to_bytes(4, "little") == bytes([values[f"x{word}"] >> 8 * at & 0xFF for word, at in each])


def test_a_transpose_of_four_bytes_takes_eight_permutations() -> None:
    network = Network()
    network.words([[Byte(f"x{row}", column) for row in range(4)] for column in range(4)])
    assert len(network.lines) == 8


@pytest.mark.skipif(native is None, reason="the compiled core is the judge")
def test_a_device_converts_what_the_host_converts_without_a_refusal() -> None:
    ends = ["bool", "int8", "int32", "int64", "uint8", "uint16", "uint64", "float16", "bfloat16", "float32", "float64"]
    means: list[Any] = [
        rl.ScaleOffset(0.5, 3, "quint8"),
        rl.ScaleOffset(0.25, 3, "quint8", nan="saturate"),
        rl.ScaleOffset(0.5, 1 << 24, "qint16", nan="saturate"),
        "float8_e5m2",
        "complex64",
    ]
    interfaces = [rl.plan(rl.Layout(1), rl.Layout(1), x).element for x in [*ends, *means]]
    for a in interfaces:
        for b in interfaces:
            if a != b:
                found = conversion(a, b)
                assert (conversion_text(a, b) is None) == (found is None or found.refuses_nan), (a, b)


def text_of(source: rl.Layout, target: rl.Layout, kind: str, **options: Any) -> str:
    (kernel,) = kernels(rl.plan(source, target, kind, **options), (16, 16))
    return device_text(kernel, "kernel")


def test_vectors_are_sixteen_bytes_where_they_can_be() -> None:
    square = gpu_cases.row(1024, 1024)
    text = text_of(square, gpu_cases.permuted((1, 0), 1024, 1024), "uint8")
    assert "write16(" in text.partition("void move")[2]
    assert "write1(" not in text.partition("void move")[2]
    loads = text.partition("void load_image")[2].partition("DEVICE")[0]
    assert "load16" in loads
    assert "if (" not in loads, "nothing is masked"
    direct = text_of(square, gpu_cases.placed("0 1 / 0,128 1,128", 1024, 1024), "float16")
    assert "load_image" not in direct
    assert "__byte_perm" not in direct, "elements that stay together are moved as they are"


def test_offsets_past_32_bits_stay_whole() -> None:
    rows = 1 << 33
    text = text_of(rl.Layout((rows, 4), (4, 1)), rl.Layout((rows, 4), (1, rows)), "uint8")
    assert f"{rows}" in text
    assert "const i64 from" in text


def test_only_padding_is_masked() -> None:
    shape = 4, 16, 16, 48
    crouton = gpu_cases.placed(gpu_cases.CROUTON, *shape)
    plain = text_of(gpu_cases.row(*shape), crouton, "uint8")
    filled = text_of(gpu_cases.row(*shape), crouton, "uint8", fill=0x1F)
    assert "0x1f1f1f1f" not in plain
    assert "0x1f" in filled
    exact = text_of(
        gpu_cases.row(4, 16, 16, 64), gpu_cases.placed(gpu_cases.CROUTON, 4, 16, 16, 64), "uint8", fill=0x1F
    )
    assert "0x1f" not in exact


@needs_compiler
def test_packed_elements_are_put_in_order_in_words(tmp_path: Path) -> None:
    dice = random.Random(11)
    plans = [
        (bits, (packed_cases.random_plan if number % 2 else packed_cases.named_plan)(dice, bits))
        for number in range(8)
        for bits in packed_cases.BITS
    ]
    plans += [(3, rl.plan(gpu_cases.row(20, 24), gpu_cases.permuted((1, 0), 20, 24), "uint3"))]
    aligned = [dice.choice([(16, 16), (16, 16), (8, 16), (4, 4), (1, 2)]) for _ in plans]
    made = [kernels(plan, known) for (_, plan), known in zip(plans, aligned)]
    assert sum(["merge_bits" not in kernel.text for own in made for kernel in own]) > 12
    library = compiled(list(chain(*made)), tmp_path)
    number = 0
    for (bits, plan), known, own in zip(plans, aligned, made):
        sizes = [-(-layout.storage_size * bits // 8) for layout in (plan.source, plan.target)]
        x, got = memory(sizes[0], 1, known[0] % 16), memory(sizes[1], 1, known[1] % 16)
        x[:] = np.random.default_rng(number).integers(0, 256, x.size, np.uint8)
        expected = got.copy()
        plan(x, expected)
        for kernel in own:
            run(library, number, x, got)
            number += 1
            assert kernel.shared <= MAX_SHARED_BYTES
        np.testing.assert_array_equal(got, expected)


def test_padding_of_packed_elements_is_filled_in_whole_bytes() -> None:
    padded = rl.plan(gpu_cases.row(5, 7), gpu_cases.placed("0 1 / 0,4 1,4", 5, 7), "uint4", fill=3)
    fill, *_ = kernels(padded, (16, 16))
    assert "0x33333333u" in fill.text
    for source, target, bits in ((gpu_cases.row(3), rl.Layout(3, 2), 4), (gpu_cases.row(3), rl.Layout(3, 8), 3)):
        with pytest.raises(rl.NotExpressible, match="a device fills whole bytes"):
            kernels(rl.plan(source, target, f"uint{bits}", fill=1), (16, 16))


def test_values_that_could_be_refused_are_not_for_a_device() -> None:
    line = gpu_cases.row(16)
    with pytest.raises(rl.NotExpressible, match="int4 has 4 bits"):
        kernels(rl.plan(line, line, "int4", "int8"), (16, 16))
    with pytest.raises(rl.NotExpressible, match="could be refused"):
        kernels(rl.plan(line, line, "float32", "int8"), (16, 16))
