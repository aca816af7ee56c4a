"""Calls with arrays of a device, on a device that is not there: arguments, results, refusals and what is launched."""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from gpu_fake import OTHER, HostFunction, Immutable, Library, cuda
from gpu_host import COMPILER
from relayout.engine import tuning
from relayout.engine.cache import Cache
from relayout.engine.gpu import arrays, device, driver, foreign, trials
from relayout.engine.gpu import launch as device_run
from relayout.engine.gpu.kernel import Kernel
from relayout.engine.tuning import EngineTuning

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: kernels are not run on the host")
__all__ = ["cuda"]

X = np.arange(2 * 9 * 11 * 12, dtype=np.uint8).reshape(2, 9, 11, 12)
PLANES = rl.Format(4, [(0, 0), (3, 0), (1, 0), (2, 0)])


def cupy(x: Any) -> Any:
    return sys.modules["cupy"].asarray(x)


@pytest.mark.parametrize(
    ("x", "target", "options"),
    [
        (X, "htp:R4Crouton", {}),
        (X, PLANES, {}),
        (X[:, ::-1, 2:, ::-3], PLANES, {}),
        (X[0, 0], rl.Layout((11, 12), (1, 11)), {}),
        (X[0, 0], rl.Layout.row_major((11, 12)), {"element": "float32"}),
        (X[0, 0], "0 1 / 0,4 1,5", {"fill": 7}),
        (X[:, :0], PLANES, {}),
        (np.array(5.0), rl.Layout.row_major(()), {}),
    ],
)
def test_an_array_of_the_same_library_comes_back(cuda: Any, x: Any, target: Any, options: Any) -> None:
    given = cupy(x)
    expected = rl.repack(x, target, **options)
    for _ in range(2):
        got = rl.repack(given, target, **options)
        assert type(got) is type(given)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        assert np.array_equal(np.asarray(got), expected)
    assert set(HostFunction.streams) <= {5}


def test_memory_that_is_given_is_written(cuda: Any) -> None:
    expected = rl.repack(X, PLANES)
    out = cupy(np.zeros(X.size, np.uint8))
    assert rl.repack(cupy(X), PLANES, out=out).shape == expected.shape
    assert np.array_equal(np.asarray(out), expected.reshape(-1))
    crouton = rl.parse("htp:R4Crouton").layout(X.shape)
    room = cupy(np.full(crouton.storage_size + 100, 9, np.uint8))
    rl.repack(cupy(X), crouton, out=room, fill=3)
    assert np.array_equal(np.asarray(room[-100:]), [3] * 100)
    assert np.array_equal(np.asarray(room[:-100]), rl.repack(X, crouton, fill=3))


def test_arrays_larger_than_the_memory_of_the_host(cuda: Any) -> None:
    side = 1 << 22
    own = arrays.Array(1 << 40, (side, side), (side, 1), "uint8", 0, True)
    assert device_run._build(own, None, "1 0", None, None, None, None, None).shape == (side, side)


def test_flat_memory_of_a_layout(cuda: Any) -> None:
    stored = rl.repack(X, "htp:R4Crouton").reshape(-1)
    back = rl.repack(cupy(stored), rl.Layout.row_major(X.shape), src="htp:R4Crouton", shape=X.shape)
    assert np.array_equal(np.asarray(back), X)
    with pytest.raises(rl.OutOfBounds, match="the memory has 10"):
        rl.repack(cupy(stored[:10]), rl.Layout.row_major(X.shape), src="htp:R4Crouton", shape=X.shape)


def test_plans(cuda: Any) -> None:
    plan = rl.plan(rl.Layout.row_major(X.shape), "htp:R4Crouton", "uint8")
    # The compiled core takes what has a buffer, as these arrays do and those of a device do not.
    on_a_device = plan._run
    made = on_a_device(cupy(X))
    assert np.array_equal(np.asarray(made), plan(X))
    out = cupy(np.full(made.size, 1, np.uint8))
    assert on_a_device(cupy(X), out=out) is out
    assert np.array_equal(np.asarray(out), plan(X, out=np.full(made.size, 1, np.uint8)))
    turned = rl.plan(rl.Layout((4, 3), (-3, 1), offset=9), rl.Layout((4, 3)), "int16")
    x = np.arange(12, dtype=np.int16).reshape(4, 3)
    assert np.array_equal(np.asarray(turned._run(cupy(x)[::-1])), x[::-1].T.reshape(-1))
    upside_down = rl.plan(rl.Layout.row_major((4, 3)), rl.Layout((4, 3), (-3, 1), offset=9), "int16")
    y = cupy(np.zeros((4, 3), np.int16))
    upside_down._run(cupy(x), out=y[::-1])
    assert np.array_equal(np.asarray(y)[::-1], x)
    assert len(HostFunction.streams) == 4


def test_plans_of_packed_elements(cuda: Any) -> None:
    plan = rl.plan("0 1 / 0,8", "0 1 / 1,2@1 1,4@2", "uint4", shape=(64, 48))
    x = np.random.default_rng(2).integers(0, 256, 64 * 48 // 2, np.uint8)
    made = plan._run(cupy(x))
    assert made.dtype == np.uint8
    assert np.array_equal(np.asarray(made), plan(x))
    out = cupy(np.zeros(x.size + 1, np.uint8))
    plan._run(cupy(x), out=out[1:])
    assert np.array_equal(np.asarray(out), [0, *plan(x)])
    odd = rl.plan(rl.Layout.row_major((3, 5)), rl.Layout((3, 5)), "uint4")
    assert np.array_equal(np.asarray(odd._run(cupy(x[:8]))), odd(x[:8]))
    with pytest.raises(rl.OutOfBounds, match="its memory has 14 elements"):
        odd._run(cupy(x[:7]))
    with pytest.raises(rl.Overlap):
        odd._run(out[:8], out=out[7:15])


def test_tensors_of_torch(cuda: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    for module in (device, arrays):
        monkeypatch.setattr(module, "on_device", lambda x: isinstance(x, torch.Tensor))
    monkeypatch.setattr(arrays.Torch, "stream", lambda self, number: 3)
    x = torch.from_numpy(X.astype(np.float32))
    got = rl.repack(x, PLANES)
    assert isinstance(got, torch.Tensor)
    assert np.array_equal(got.numpy(), rl.repack(X.astype(np.float32), PLANES))
    turned = rl.repack(x[0, 0], rl.Layout((11, 12), (1, 11)))
    assert turned.stride() == (1, 11)
    assert np.array_equal(turned.numpy(), X[0, 0].astype(np.float32))
    upwards = rl.repack(x[0, 0], rl.Layout((11, 12), (-12, 1), offset=120))
    assert np.array_equal(upwards.numpy(), X[0, 0, ::-1].reshape(-1)), "it has no strides below 0: flat memory"
    half = rl.repack(x, PLANES, element="bfloat16")
    assert half.dtype == torch.bfloat16
    assert torch.equal(half, x.permute(0, 3, 1, 2).to(torch.bfloat16))
    with pytest.raises(rl.ShapeError, match="records gradients"):
        rl.repack(x.requires_grad_(), PLANES)
    with pytest.raises(rl.ShapeError, match="conjugated"):
        rl.repack(torch.zeros(3, dtype=torch.complex64).conj(), rl.Layout(3))
    with pytest.raises(rl.ShapeError, match="torch has no type float8_e3m4"):
        arrays.Torch().dtype(rl.Plain("float8_e3m4").element)


def test_streams_of_torch() -> None:
    torch = pytest.importorskip("torch")
    known = arrays.Torch()
    known._raw_stream = lambda number: 40 + number
    assert known.stream(2) == 42
    known._raw_stream = None
    known.module = type(sys)("torch")
    known.module.cuda = type(sys)("cuda")  # type: ignore[attr-defined]
    known.module.cuda.current_stream = lambda number: type("S", (), {"cuda_stream": 11})  # type: ignore[attr-defined]
    assert known.stream(0) == 11
    assert torch is sys.modules["torch"]


def test_libraries_that_only_know_dlpack(cuda: Any) -> None:
    x = Immutable(X.astype(np.float32))
    got = rl.repack(x, PLANES)
    assert isinstance(got, Immutable)
    assert np.array_equal(got.numpy, rl.repack(x.numpy, PLANES))
    assert x.waited == [arrays.LEGACY], "the stream of the kernel waits for the data"
    assert "cuStreamWaitEvent" in cuda.calls, "and the library for the kernel"
    gc.collect()
    assert cuda.calls.count("cuMemFree_v2") == cuda.calls.count("cuMemAlloc_v2") == 1
    assert len(foreign._held) == 1
    turned = rl.repack(x, rl.Layout(X.shape))
    assert np.array_equal(turned.numpy, x.numpy.reshape(-1, order="F")), "it has no strides: flat memory"
    assert len(foreign._held) == 1, "what was lent to the first kernel is given back"
    plan = rl.plan(rl.Layout.row_major(X.shape), rl.Layout(X.shape), "float32")
    assert np.array_equal(plan(x).numpy, turned.numpy)
    with pytest.raises(rl.ShapeError, match="cannot be written"):
        rl.repack(x, PLANES, out=x)
    foreign._held.clear()


def test_refusals(cuda: Any) -> None:
    x = cupy(X)
    plan = rl.plan(rl.Layout.row_major(X.shape), rl.Layout(X.shape), "uint8")
    other = cupy(np.zeros(X.size, np.uint8))
    other.device_number = 1
    with pytest.raises(rl.Overlap, match="share memory"):
        plan._run(x, out=x.reshape(-1))
    with pytest.raises(rl.Overlap):
        rl.repack(x, rl.Layout(X.shape, (1, 1, 1, 1)))
    with pytest.raises(rl.DeviceError, match="is not on the device"):
        plan._run(x, out=np.zeros(X.size, np.uint8))
    with pytest.raises(rl.DeviceError, match="on device 0, and the target on device 1"):
        plan._run(x, out=other)
    with pytest.raises(rl.OutOfBounds):
        plan._run(x, out=cupy(np.zeros(3, np.uint8)))
    with pytest.raises(rl.ShapeError, match="holds uint16"):
        plan._run(x, out=cupy(np.zeros(X.size, np.uint16)))
    with pytest.raises(rl.NotExpressible, match="nothing of its progress"):
        plan._run(x, progress=print)
    with pytest.raises(rl.ShapeError, match="hands out no memory"):
        rl.repack(type("Broken", (), {"is_cuda": True})(), PLANES)
    assert HostFunction.streams == [], "nothing was launched"


@pytest.mark.parametrize("part", [np.s_[:, ::2], np.s_[::-1], np.s_[:, :8]])
def test_memory_that_does_not_lie_together_is_not_written(cuda: Any, part: Any) -> None:
    room = np.zeros((16, 16), np.uint8)
    with pytest.raises(rl.ShapeError, match="does not lie together"):
        rl.repack(cupy(X[0, 0]), "1 0", out=cupy(room)[part])
    assert not room.any()


@pytest.mark.parametrize(("kind", "past"), [(np.complex128, 8), (np.float32, 1)])
def test_addresses_that_elements_are_not_aligned_to(cuda: Any, kind: Any, past: int) -> None:
    room = np.zeros(2048, np.uint8)
    odd = cupy(room[-room.ctypes.data % 64 + past :][:1024].view(kind)).reshape(8, -1)
    even = cupy(np.zeros(odd.shape, kind))
    plan = rl.plan(rl.Layout.row_major(odd.shape), rl.Layout(odd.shape), kind)
    for call in (
        lambda: rl.repack(odd, "1 0"),
        lambda: rl.repack(even, "1 0", out=odd.reshape(-1)),
        lambda: plan._run(odd),
        lambda: plan._run(even, out=odd.reshape(-1)),
    ):
        with pytest.raises(rl.ShapeError, match="not aligned"):
            call()
    assert HostFunction.streams == []


def test_types_that_a_library_does_not_have(cuda: Any) -> None:
    def unknown(shape: Any, kind: str) -> Any:
        raise TypeError(f"data type {kind!r} not understood")

    sys.modules["cupy"].empty = unknown  # type: ignore[attr-defined]
    with pytest.raises(rl.ShapeError, match="cupy has no type bfloat16"):
        rl.repack(cupy(X.astype(np.float32)), PLANES, element="bfloat16")


def test_source_and_target_of_two_libraries(cuda: Any) -> None:
    with pytest.raises(rl.ShapeError, match="two libraries"):
        rl.repack(Immutable(X), PLANES, out=cupy(np.zeros(X.size, np.uint8)))


def test_classes_of_users_are_arrays_of_their_library(cuda: Any) -> None:
    own = type("Own", (sys.modules["cupy"].ndarray,), {"__module__": "users"})
    assert isinstance(arrays.library(X.view(own)), arrays.Cupy)


def test_arrays_that_do_not_say_how_to_take_one() -> None:
    bare = type("Bare", (Immutable,), {"__array_namespace__": None})
    with pytest.raises(rl.ShapeError, match="__array_namespace__"):
        rl.repack(bare(X), PLANES)


def test_arrays_that_do_not_say_where_they_are() -> None:
    class Sharded:
        def __dlpack_device__(self) -> Any:
            raise BufferError("on many devices")

        __dlpack__ = __dlpack_device__

    with pytest.raises(rl.ShapeError, match="on many devices"):
        rl.repack(Sharded(), PLANES)


def test_memory_of_a_run_that_failed_is_freed(cuda: Any) -> None:
    x = Immutable(X)
    rl.repack(x, PLANES)
    foreign._held.clear()
    cuda.codes["cuLaunchKernel"] = 700
    (made,) = device_run._repacks.values()
    made.copy.functions[0].run = lambda *arguments: driver.check(700, "the launch of a kernel")
    with pytest.raises(rl.DeviceError, match="error 700"):
        rl.repack(x, PLANES)
    gc.collect()
    assert cuda.calls.count("cuMemFree_v2") == cuda.calls.count("cuMemAlloc_v2") == 2
    assert foreign._held == [], "nor is the source held"


def test_memory_lives_as_long_as_any_of_its_capsules(cuda: Any) -> None:
    made = foreign.Exported((3,), rl.Plain("uint8").element, 0)
    first, second = made.__dlpack__(), made.__dlpack__(stream=2)
    assert cuda.calls[-3:] == ["cuEventRecord", "cuStreamWaitEvent", "cuEventDestroy_v2"]
    del made, first
    gc.collect()
    assert "cuMemFree_v2" not in cuda.calls
    del second
    gc.collect()
    assert cuda.calls.count("cuMemFree_v2") == 1


def test_what_is_held_is_let_go_once(cuda: Any) -> None:
    cuda.codes["cuEventQuery"] = 600
    for _ in range(2):
        rl.repack(Immutable(X), PLANES)
    assert len(foreign._held) == 2, "their kernels are not done"
    cuda.codes.clear()
    cuda.current = OTHER
    rl.repack(Immutable(X), PLANES)
    assert len(foreign._held) == 1
    assert cuda.calls.count("cuEventDestroy_v2") == 2 + 3, "two that were held, and one for each result"
    assert cuda.calls[cuda.calls.index("cuEventQuery") - 1] == "cuCtxGetCurrent", "in the context of the events"
    foreign._held.clear()


def test_runs_of_a_plan_that_are_kept_are_few(cuda: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_run, "_plans", Cache(2))
    plan = rl.plan(rl.Layout.row_major((3, 4)), rl.Layout((3, 4)), "uint8")
    for n in range(12, 17):
        plan._run(cupy(np.zeros(n, np.uint8)))
    assert len(device_run._plans) <= 2
    assert HostFunction.number == cuda.before + 1, "one kernel serves memory of any length"


def test_warnings_of_the_format_are_told(cuda: Any) -> None:
    with pytest.warns(UserWarning, match="made for elements of 8 bits"):
        rl.repack(cupy(X.astype(np.float32)), "htp:R4Crouton")


def test_few_copies_are_kept(cuda: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_run, "_plans", Cache(1))
    monkeypatch.setattr(device_run, "_repacks", Cache(1))
    plans = [rl.plan(rl.Layout.row_major((3, n)), rl.Layout((3, n)), "uint8") for n in (4, 5)]
    for n, plan in zip((4, 5), plans):
        plan._run(cupy(np.zeros((3, n), np.uint8)))
        rl.repack(cupy(np.zeros((3, n), np.uint8)), "1 0")
    assert len(device_run._plans) == len(device_run._repacks) == 1
    rl.repack(cupy(np.zeros((2, 2), np.uint8)), "1 0", element=rl.Plain("uint8"), shape=[2, 2])
    assert len(device_run._repacks) == 1, "what has no hash is not kept"


# ---- the driver ----------------------------------------------------------------------------------------------


KERNEL = Kernel("", ("move",), 4, 32, 64)


@pytest.fixture
def library(cuda: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The driver, which compiles too."""
    monkeypatch.setattr(driver, "nvrtc", lambda: cuda)
    return cuda


def test_a_kernel_is_compiled_loaded_and_launched(library: Any) -> None:
    where = driver.device(0)
    assert where.architecture == "sm_90"
    function = driver.Function(where, KERNEL)
    assert {"nvrtcCompileProgram", "nvrtcGetCUBIN", "cuModuleLoadData", "cuModuleGetFunction"} <= set(library.calls)
    where.call(function, 1, 2, 3)
    assert library.calls[-1] == "cuLaunchKernel"
    library.codes["cuLaunchKernel"] = 700
    with pytest.raises(rl.DeviceError, match=r"launch of a kernel failed: it is broken \(CUDA error 700\)"):
        function(1, 2, 3)


def test_threads_that_launch_at_once(library: Any) -> None:
    class Raced(list[Any]):
        """Room that another thread takes between the look and the step."""

        def __bool__(self) -> bool:
            return True

        def __len__(self) -> int:
            return 1

    function = driver.Function(driver.device(0), KERNEL)
    function._room = Raced()
    function(1, 2, 3)
    assert library.calls[-1] == "cuLaunchKernel"


def test_another_context_comes_back(library: Any) -> None:
    where = driver.device(0)
    where.call(lambda: None)
    assert "cuCtxPushCurrent_v2" not in library.calls
    library.current = OTHER
    assert where.call(lambda x: x + 1, 1) == 2
    assert library.calls[-2:] == ["cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"]
    with pytest.raises(ZeroDivisionError):
        where.call(lambda: 1 // 0)
    assert library.calls[-1] == "cuCtxPopCurrent_v2"


def test_a_text_that_does_not_compile(library: Any) -> None:
    library.codes["nvrtcCompileProgram"] = 6
    with pytest.raises(rl.DeviceError, match="NVRTC does not compile a kernel for sm_90"):
        driver.Function(driver.device(0), KERNEL)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", none)
    with pytest.raises(rl.DeviceError, match="no CUDA driver") as refused:
        driver.driver.__wrapped__()
    assert refused.value.hint
    monkeypatch.setattr(driver, "driver", Library)
    with pytest.raises(rl.DeviceError, match="NVRTC, which compiles the kernels") as refused:
        driver.nvrtc.__wrapped__()
    assert "relayout[gpu]" in refused.value.hint


def test_a_driver_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: type("L", (), {"cuInit": staticmethod(lambda flags: 100)}))
    with pytest.raises(rl.DeviceError, match="finds no device"):
        driver.driver.__wrapped__()


@pytest.mark.parametrize(
    ("version", "name"), [(13000, "libnvrtc.so.13"), (12080, "libnvrtc.so.12"), (11080, "libnvrtc.so.11.2")]
)
def test_a_compiler_that_the_driver_knows_comes_first(monkeypatch: pytest.MonkeyPatch, version: int, name: str) -> None:
    old = Library()
    old.version = version
    monkeypatch.setattr(driver, "driver", lambda: old)
    monkeypatch.setattr(driver, "_packaged_libraries", list)
    monkeypatch.setattr(ctypes, "CDLL", lambda path: path)
    monkeypatch.setattr(sys, "platform", "linux")
    assert driver.nvrtc.__wrapped__() == name


def test_names_of_compilers_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def none(name: str) -> Any:
        tried.append(Path(name).name)
        raise OSError

    monkeypatch.setattr(driver, "driver", Library)
    monkeypatch.setattr(driver, "_packaged_libraries", list)
    monkeypatch.setattr(ctypes, "CDLL", none)
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(rl.DeviceError):
        driver.nvrtc.__wrapped__()
    assert list(dict.fromkeys(tried)) == ["nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"]


def test_libraries_in_packages_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "cu13" / "lib"
    folder.mkdir(parents=True)
    for name in ("libnvrtc.so.13", "libnvrtc-builtins.so.13.0"):
        (folder / name).touch()
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr(driver, "find_spec", lambda name: spec)
    monkeypatch.setattr(sys, "platform", "linux")
    assert driver._packaged_libraries() == [folder / "libnvrtc.so.13"]


def test_an_array_of_a_device_on_a_machine_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", none)
    driver.driver.cache_clear()
    driver.device.cache_clear()
    with pytest.raises(rl.DeviceError, match="no CUDA driver"):
        rl.repack(Immutable(X), PLANES)


def trial(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    """A call of a plan that tries kernels of any size, its result, and the trial itself."""
    monkeypatch.setattr(tuning, "ACTIVE", EngineTuning(min_device_trial_bytes=1))
    x = np.arange(96 * 210, dtype=np.uint16).reshape(96, 210)
    plan = rl.plan(rl.Layout.row_major(x.shape), rl.Layout(x.shape), "uint16")

    def call() -> None:
        assert np.array_equal(plan(cupy(x)), x.T.ravel())

    call()
    ((_, copy),) = device_run._plans.values()
    return call, copy.functions[-1], copy


def slowed(cuda: Library, milliseconds: list[float]) -> list[Any]:
    """Let kernels take so long, in the order of their first launches; tells which were launched."""
    seen: list[Any] = []

    def elapsed() -> float:
        last = HostFunction.launched[-1]
        if last not in seen:
            seen.append(last)
        return milliseconds[seen.index(last)]

    cuda.milliseconds = iter(elapsed, None)
    return seen


def test_the_fastest_kernel_is_kept(cuda: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    call, tried, _ = trial(monkeypatch)
    first = tried.best
    call()
    trials.wait_for_kernels()
    assert "cuEventRecord" not in cuda.calls
    seen = slowed(cuda, [5.0, 9.0, 3.0, 3.5, *[7.0] * 4])
    before = len(HostFunction.launched)
    while not tried.settled:
        call()
        assert len(HostFunction.launched) < 40
    launches = HostFunction.launched[before:]
    assert HostFunction.number - cuda.before == len(seen) > 3
    assert tried.best is seen[2]
    assert [launches.count(each) for each in seen[1:4]] == [1, 4, 3], "a hopeless one once, the kept one in the end"
    assert [each.unloaded for each in seen[:3]] == [False, True, False], "the first may be in a graph"
    assert first is seen[0]
    assert cuda.calls.count("cuEventCreate") == cuda.calls.count("cuEventDestroy_v2") > 0
    assert ("cuEventCreate", trials.RELAXED) in cuda.modes
    assert ("cuEventCreate", 0) not in cuda.modes
    assert cuda.mode == 0
    before = len(cuda.calls)
    call()
    assert "cuEventRecord" not in cuda.calls[before:]


def test_a_kernel_that_is_hardly_faster_is_not_kept(cuda: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    call, tried, _ = trial(monkeypatch)
    first = tried.best
    call()
    trials.wait_for_kernels()
    slowed(cuda, [5.0, 4.9, *[4.95] * 6])
    for _ in range(30):
        call()
    assert tried.settled
    assert tried.best is first


@pytest.mark.parametrize("calls", [0, 1])
def test_a_graph_gets_what_is_there(calls: int, cuda: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    call, tried, _ = trial(monkeypatch)
    for _ in range(calls):
        call()
    trials.wait_for_kernels()
    cuda.capturing = True
    made = HostFunction.number
    for _ in range(40):
        call()
    trials.wait_for_kernels()
    assert not tried.settled
    assert (tried._compiled is None) == (calls == 0), "nothing is compiled for a graph"
    assert HostFunction.number == made, "nothing is loaded while a graph is captured"
    assert not [name for name in cuda.calls if name.startswith("cuEvent")]


def test_events_that_are_yet_to_come_are_not_waited_for(cuda: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    call, tried, _ = trial(monkeypatch)
    call()
    trials.wait_for_kernels()
    cuda.codes["cuEventQuery"] = driver.NOT_READY
    for _ in range(40):
        call()
    assert not tried.settled
    assert "cuEventElapsedTime" not in cuda.calls
    cuda.codes.clear()
    call()
    assert tried.settled


@pytest.mark.parametrize("what", ["compile", "event", "thread"])
def test_what_fails_in_a_trial_ends_it(what: str, cuda: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    call, tried, _ = trial(monkeypatch)
    first = tried.best
    if what == "compile":

        def refused(text: str, architecture: str) -> bytes:
            raise rl.DeviceError("NVRTC does not compile it.", hint="none")

        monkeypatch.setattr(trials, "compile_cubin", refused)
    elif what == "event":
        cuda.codes["cuEventCreate"] = 2
    else:

        def full(work: Any) -> Any:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(trials, "_compiler", type("Full", (), {"submit": staticmethod(full)}))
    call()
    if what == "thread":
        assert tried.settled
    else:
        trials.wait_for_kernels()
        with pytest.warns(RuntimeWarning, match="no more kernels are tried"):
            call()
    call()
    assert tried.settled
    assert tried.best is first


def test_trials_can_be_turned_off(cuda: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAYOUT_DEVICE_TRIALS", "0")
    _, function, copy = trial(monkeypatch)
    assert type(function) is HostFunction
    assert len(copy.functions) == 1


def test_small_targets_have_one_kernel(cuda: Library) -> None:
    plan = rl.plan(rl.Layout.row_major(X.shape), PLANES.layout(X.shape), "uint8")
    for _ in range(3):
        plan(cupy(X))
    ((_, copy),) = device_run._plans.values()
    assert [type(function) for function in copy.functions] == [HostFunction]
