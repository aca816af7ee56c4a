"""Checks on a real device, against the host: each is a function, so that they run without pytest too.

python tests/gpu_checks.py [name ...]
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import code_pairs
import gpu_atoms
import gpu_banks
import gpu_cases
import packed_cases
import relayout as rl
from relayout.engine import tuning
from relayout.engine.gpu import launch
from relayout.engine.gpu import trials as trials_of_device

CHECKS: dict[str, Callable[[], Any]] = {}


def check(call: Callable[[], Any]) -> Callable[[], Any]:
    CHECKS[call.__name__] = call
    return call


def torch() -> Any:
    import torch as found

    return found


def memory(count: int, size: int, shift: int, data: bytes | None = None) -> Any:
    """Bytes on the device, past an aligned address by so many elements: the data, or junk."""
    room = torch().empty((count + shift) * size + 16, dtype=torch().uint8, device="cuda")
    part = room[shift * size : (shift + count) * size]
    if data is None:
        return part.fill_(0xA5)
    return part.copy_(torch().from_numpy(np.frombuffer(data, np.uint8).copy())) if data else part


def carried(kind: Any) -> Any:
    """torch's type of the same width, for memory that is passed as bits."""
    found = getattr(torch(), kind.underlying.name, None)
    if found is None:
        raise LookupError(kind.name)
    return found


def compare(cases: Iterator[gpu_cases.Case]) -> int:
    done = 0
    for number, (name, plan, shift) in enumerate(cases):
        data = gpu_cases.sample(plan, number)
        kinds = plan.element.element, plan.dst_element.element
        x = memory(len(data) // kinds[0].bytes, kinds[0].bytes, shift[0], data).view(carried(kinds[0]))
        out = memory(plan.target.storage_size, kinds[1].bytes, shift[1])
        plan(x, out=out.view(carried(kinds[1])))
        expected = np.full(out.numel(), 0xA5, np.uint8)
        plan(memoryview(data), out=memoryview(expected))
        got = out.cpu().numpy()
        assert np.array_equal(got, expected), f"{name}: differs at byte {int(np.argmax(got != expected))}"
        done += 1
    return done


@check
def layouts() -> int:
    return compare(gpu_cases.named())


@check
def layouts_that_are_kept() -> int:
    """The same, read as sources that no cache holds."""
    before = tuning.ACTIVE
    tuning.ACTIVE = before._replace(pinned_source_bytes=1, unpinned_bytes=1 << 10)
    try:
        return compare(gpu_cases.named())
    finally:
        tuning.ACTIVE = before


@check
def random_layouts() -> int:
    return compare(chain(gpu_cases.random_plans(7, 150), gpu_cases.random_plans(8, 150)))


@check
def trials() -> int:
    """Plans of any size that try kernels: what all of them write."""
    before = tuning.ACTIVE
    tuning.ACTIVE = before._replace(min_device_trial_bytes=0, hopeless_kernel=1e9)
    launch._plans.clear()
    try:
        with patch.object(trials_of_device, "Function", wraps=trials_of_device.Function) as tried:
            for number, (name, plan, shift) in enumerate(gpu_cases.random_plans(9, 60)):
                data = gpu_cases.sample(plan, number)
                kind = plan.element.element
                x = memory(len(data) // kind.bytes, kind.bytes, shift[0], data).view(carried(kind))
                expected = np.full(plan.target.storage_size * kind.bytes, 0xA5, np.uint8)
                plan(memoryview(data), out=memoryview(expected))
                out = memory(plan.target.storage_size, kind.bytes, shift[1])
                for call in range(24):
                    out.fill_(0xA5)
                    plan(x, out=out.view(carried(kind)))
                    assert np.array_equal(out.cpu().numpy(), expected), f"{name}: call {call}"
                    trials_of_device.wait_for_kernels()
        for _, copy in launch._plans.values():
            for function in copy.functions:
                assert not isinstance(function, trials_of_device.TriedFunction) or function.settled
        assert tried.call_count > 60
    finally:
        tuning.ACTIVE = before
    return tried.call_count


@check
def conversions() -> int:
    return compare(gpu_cases.conversions())


@check
def packed() -> int:
    """Elements below a byte: whole words in registers, others bit by bit; into memory that is given, and new memory."""
    dice, done = random.Random(5), 0
    for number in range(120):
        bits = dice.choice((1, 2, 4, 4, 8))
        plan = (packed_cases.random_plan if number % 2 else packed_cases.named_plan)(dice, bits)
        sizes = [-(-layout.storage_size * bits // 8) for layout in (plan.source, plan.target)]
        shift = dice.choice((0, 0, 1, 4, 8))
        data = np.random.default_rng(number).integers(0, 256, sizes[0], np.uint8)
        x, out = memory(sizes[0], 1, shift, data.tobytes()), memory(sizes[1], 1, dice.choice((0, 0, 2, 8)))
        want = packed_cases.expected(data, np.full(sizes[1], 0xA5, np.uint8), plan, bits)
        plan(x, out=out)
        assert np.array_equal(packed_cases.codes_of(out.cpu().numpy(), bits), want), plan
        new = packed_cases.codes_of(plan(x).cpu().numpy(), bits)
        assert np.array_equal(new, packed_cases.expected(data, np.zeros(sizes[1], np.uint8), plan, bits)), plan
        done += 2
    for bits in (3, 5):
        plan = rl.plan(rl.Layout.row_major((40, 24)), rl.Layout((40, 24)), f"uint{bits}")
        data = np.random.default_rng(bits).integers(0, 256, 40 * 24 * bits // 8, np.uint8)
        got = plan(memory(data.size, 1, 0, data.tobytes())).cpu().numpy()
        assert np.array_equal(got, plan(memoryview(data.tobytes()))), bits
    padded = rl.plan("0 1 / 0,8", packed_cases.ORDERS[4][2], "uint4", shape=(40, 80), fill=5)
    data = np.random.default_rng(1).integers(0, 256, 40 * 80 // 2, np.uint8)
    assert np.array_equal(padded(memory(data.size, 1, 0, data.tobytes())).cpu().numpy(), padded(data))
    return done + 3


@check
def words() -> int:
    """Words that codes are packed in, by the names of packed weights, as on the host."""
    numbers = np.random.default_rng(18)
    pairs = [("gptq:w4", "marlin:w4a16"), ("awq:gemm", "gptq:w4"), ("gptq:w2", "gptq:w2"), ("marlin:w4a16", "awq:gemm")]
    for src, dst in pairs:
        bits = rl.catalog.get(src).element_bits
        host = numbers.integers(-(2**31), 2**31, 128 * 192 * bits // 32, dtype=np.int32)
        made = rl.repack(torch().from_numpy(host).cuda(), dst, src=src, shape=(128, 192))
        assert made.dtype == torch().int32
        assert made.cpu().numpy().tolist() == rl.repack(host, dst, src=src, shape=(128, 192)).tolist()
    return len(pairs)


def arrays() -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """Arrays of numpy, targets and options."""
    dice = np.random.default_rng(3)
    x = dice.integers(0, 255, (2, 17, 21, 50), dtype=np.uint8)
    yield x, "htp:R4Crouton", {}
    yield x, "htp:R4Crouton", {"fill": 9}
    yield x, rl.Format(4, [(0, 0), (3, 0), (1, 0), (2, 0)]), {}
    yield x.astype(np.float32), "0 1 2 3 / 3,4", {}
    yield x[:, ::2, 3:, ::3], "0 3 1 2", {}
    scaled = rl.ScaleOffset(2.0, 4, "quint8", nan="saturate")
    yield x.astype(np.float32), rl.Layout.row_major(x.shape), {"element": scaled}
    yield dice.normal(size=(64, 48)).astype(np.float16), rl.Layout((64, 48), (1, 64)), {}
    yield np.zeros((0, 5), np.float32), "1 0", {}
    yield np.zeros((3, 0), np.float32), "0 1 / 0,4 1,4", {"fill": 2}
    yield np.arange(3, dtype=np.int64).reshape(3, 1), "1 0 / 0,8", {"fill": 1}


def repacked(to_device: Callable[[Any], Any], to_host: Callable[[Any], Any], flat: bool = False) -> int:
    done = 0
    for x, target, options in arrays():
        y = to_device(x)
        got, expected = rl.repack(y, target, **options), rl.repack(to_host(y), target, **options)
        assert type(got) is type(y), type(got)
        host = to_host(got)
        if not flat or expected.flags.c_contiguous:
            assert host.shape == expected.shape, (host.shape, expected.shape)
            assert host.dtype == expected.dtype
            assert np.array_equal(host, expected), target
        done += 1
    return done


@check
def torch_arrays() -> int:
    done = repacked(lambda x: torch().from_numpy(np.ascontiguousarray(x)).cuda(), lambda y: y.cpu().numpy())
    x = torch().arange(24 * 40, device="cuda", dtype=torch().float32).reshape(24, 40)
    for part in (x.T, x[::2], x[:, 1::3], x[3:, 5:], x.T[2:]):
        assert np.array_equal(rl.repack(part, "1 0").cpu().numpy(), rl.repack(part.cpu().numpy(), "1 0"))
    return done + 5


@check
def cupy_arrays() -> int:
    import cupy

    done = repacked(cupy.asarray, cupy.asnumpy)
    x = np.random.default_rng(1).normal(size=(31, 23))
    for index in (np.s_[::-1], np.s_[:, ::-1], np.s_[::-2, ::-3], np.s_[5:, ::-1]):
        expected = rl.repack(x[index], "1 0")
        assert np.array_equal(cupy.asnumpy(rl.repack(cupy.asarray(x)[index], "1 0")), expected)
        done += 1
    return done


@check
def jax_arrays() -> int:
    import jax

    done = repacked(lambda x: jax.device_put(np.ascontiguousarray(x)), np.asarray, flat=True)
    y = jax.numpy.arange(1 << 20, dtype="float32").reshape(1024, 1024) * 2
    got = rl.repack(y, rl.Format(2, [(1, 0), (0, 0)])) + 1
    assert np.array_equal(np.asarray(got), np.asarray(y).T + 1)
    return done + 1


@check
def streams_and_graphs() -> int:
    """On the caller's stream, behind what it has to do, and recorded into graphs."""
    x = torch().zeros(4096, 4096, device="cuda")
    out = torch().empty(4096 * 4096, device="cuda")
    plan = rl.plan(rl.Layout.row_major(x.shape), rl.Layout(x.shape), "float32")
    plan(x, out=out)
    stream = torch().cuda.Stream()
    stream.wait_stream(torch().cuda.current_stream())
    with torch().cuda.stream(stream):
        torch().cuda._sleep(50_000_000)
        x.copy_(torch().arange(x.numel(), device="cuda", dtype=torch().float32).reshape(x.shape))
        plan(x, out=out)
        made = rl.repack(x, rl.Format(2, [(1, 0), (0, 0)]))
    stream.synchronize()
    assert torch().equal(out.reshape(4096, 4096), x.T)
    assert torch().equal(made, x.T.contiguous())
    graph = torch().cuda.CUDAGraph()
    with torch().cuda.graph(graph):
        again = rl.repack(x, rl.Format(2, [(1, 0), (0, 0)]))
        plan(x, out=out)
    x.normal_()
    graph.replay()
    torch().cuda.synchronize()
    assert torch().equal(again, x.T.contiguous())
    assert torch().equal(out.reshape(4096, 4096), x.T)
    return 4


@check
def large_tensors() -> int:
    """More than 2^31 elements, in and out of blocks, padded."""
    rows, columns = 65537, 33001
    x = torch().randint(0, 256, (rows, columns), dtype=torch().uint8, device="cuda")
    assert torch().equal(rl.repack(x, rl.Format(2, [(1, 0), (0, 0)])), x.T)
    tiled = rl.repack(x, "0 1 / 0,128 1,128", fill=7)
    padded = torch().nn.functional.pad(x, (0, -columns % 128, 0, -rows % 128), value=7)
    assert torch().equal(tiled.permute(0, 2, 1, 3).reshape(padded.shape), padded)
    target = rl.parse("0 1 / 0,128 1,128").layout((rows, columns))
    back = rl.plan(target, rl.Layout.row_major((rows, columns)), "uint8")(tiled.reshape(-1))
    assert torch().equal(back.reshape(x.shape), x)
    return 3


@check
def refusals() -> int:
    """What is wrong is refused before anything is launched."""
    x = torch().zeros(64, 64, device="cuda")
    plan = rl.plan(rl.Layout.row_major((64, 64)), rl.Layout((64, 64)), "float32")
    tries: list[tuple[type[Exception], Callable[[], Any]]] = [
        (rl.Overlap, lambda: plan(x, out=x.reshape(-1))),
        (rl.Overlap, lambda: rl.repack(x, rl.Layout((64, 64), (1, 1)))),
        (rl.DeviceError, lambda: plan(x, out=torch().zeros(64 * 64))),
        (rl.DeviceError, lambda: plan(torch().zeros(64, 64), out=x)),
        (rl.OutOfBounds, lambda: plan(x, out=torch().zeros(100, device="cuda"))),
        (rl.ShapeError, lambda: plan(x, out=torch().zeros(64 * 64, device="cuda", dtype=torch().float16))),
        (rl.NotExpressible, lambda: rl.repack(x, "1 0", element="int8")),
        (rl.ShapeError, lambda: rl.repack(x.requires_grad_(), "1 0")),
    ]
    for error, call in tries:
        try:
            call()
        except error:
            continue
        raise AssertionError(f"{error.__name__} was not raised")
    return len(tries)


def judge_generated(target: str, count: int = 300) -> int:
    """Random pairs of ``code_pairs.py`` in one language, all in one build."""
    with tempfile.TemporaryDirectory() as folder:
        report = code_pairs.judge(target, count, 7, Path(folder), batch=count)
    assert not report.wrong, report
    print(target, report)  # noqa: T201
    return report.moved


@check
def generated_cuda() -> int:
    return judge_generated("cuda")


@check
def generated_hip() -> int:
    """In CUDA's words: the kernels are the same, the names are not."""
    return judge_generated("hip")


@check
def generated_triton() -> int:
    return judge_generated("triton")


@check
def small_sets() -> int:
    """Few cases of each kind, for tools that look at every access."""
    few = [case for k, case in enumerate(gpu_cases.named()) if k % 3 == 0]
    return compare(chain(few, gpu_cases.random_plans(9, 40), list(gpu_cases.conversions())[::9]))


for instructions in (
    gpu_atoms.mma_sync,
    gpu_atoms.mma_sparse,
    gpu_atoms.wgmma_registers,
    gpu_atoms.wgmma_tiles,
    gpu_atoms.matrix_copies,
    gpu_atoms.boxes,
    gpu_banks.shared_memory,
):
    check(instructions)


def main() -> None:
    for name in sys.argv[1:] or CHECKS:
        print(name, CHECKS[name](), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
