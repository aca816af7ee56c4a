"""Which of several kernels for one copy is fastest: calls launch each of them in turn, and the fastest is kept."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from ctypes import byref, c_float, c_int, c_void_p

from ...errors import DeviceError
from .. import tuning
from .build import device_text
from .driver import NOT_READY, Device, Function, check, compile_cubin, driver
from .kernel import Kernel

RELAXED = 2
"""The driver's mode of a thread in which it may do anything while another thread captures a graph."""

Binaries = list[tuple[Kernel, bytes]]
"""Kernels with their machine code."""


class _Compiler:
    """Compiles for one plan after the other, in a thread that ends when there are none, or the program does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._work = deque[tuple[Callable[[], Binaries], Future[Binaries]]]()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], Binaries]) -> Future[Binaries]:
        future: Future[Binaries] = Future()
        with self._lock:
            self._work.append((work, future))
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="relayout kernels")
                thread.start()
                self._thread = thread
        return future

    def _run(self) -> None:
        while (item := self._next()) is not None:
            work, future = item
            try:
                future.set_result(work())
            except DeviceError as error:
                future.set_exception(error)

    def _next(self) -> tuple[Callable[[], Binaries], Future[Binaries]] | None:
        with self._lock:
            if self._work and threading.main_thread().is_alive():
                return self._work.popleft()
            self._thread = None
            return None


_compiler = _Compiler()


def wait_for_kernels() -> None:
    """Wait until all kernels that calls have asked for are compiled."""
    _compiler.submit(list).result()


class TriedFunction:
    """A kernel that gives way to a faster one with the same results.

    The first call launches the kernel that the rules chose. With the second a thread is asked to compile ``others``;
    once they are there, calls launch one after the other, a few rounds of all, each between two events, and read what
    earlier events tell. Calls that are captured in a graph do nothing of that.
    """

    def __init__(self, where: Device, first: Function, others: Callable[[], Iterable[Kernel]]) -> None:
        self.best = first
        self.settled = False
        self._where, self._others = where, others
        self._lock = threading.Lock()
        self._called = False
        self._compiled: Future[Binaries] | None = None
        self._tries: list[_Try] = []
        self._pending: list[tuple[_Try, _Stopwatch]] = []
        self._kept = {first}

    def __call__(self, source: int, target: int, stream: int) -> None:
        """Ask for a run on a stream, in the context of the device."""
        if self.settled or not self._lock.acquire(blocking=False):
            self.best(source, target, stream)
            return
        try:
            if not self._measures(source, target, stream):
                self.best(source, target, stream)
        finally:
            self._lock.release()

    def _measures(self, source: int, target: int, stream: int) -> bool:
        """Whether this call is a launch of a kernel that is tried."""
        if _is_capturing(stream):
            return False
        if self._compiled is None:
            if self._called:
                self._ask()
            self._called = True
            return False
        if not self._compiled.done():
            return False
        try:
            with _beside_captures():
                return self._measure(self._compiled, source, target, stream)
        except DeviceError as error:
            warnings.warn(f"no more kernels are tried: {error}", RuntimeWarning, stacklevel=4)
            self.settled = True
            return False

    def _measure(self, compiled: Future[Binaries], source: int, target: int, stream: int) -> bool:
        if not self._tries:
            self._tries = [_Try(self.best)]
            for kernel, binary in compiled.result():
                self._tries.append(_Try(Function(self._where, kernel, binary)))
        self._look()
        left = [each for each in self._tries if self._is_left(each)]
        if len(self._tries) > 1 and left:
            each, watch = min(left, key=lambda each: each.launches), _Stopwatch()
            each.launches += 1
            watch.start(stream)
            each.function(source, target, stream)
            watch.stop(stream)
            self._pending.append((each, watch))
            return True
        if not self._pending:
            self._settle()
        return False

    def _ask(self) -> None:
        try:
            self._compiled = _compiler.submit(self._compile)
        except RuntimeError:
            # There are no more threads, or the program ends.
            self.settled = True

    def _compile(self) -> Binaries:
        found: Binaries = []
        for kernel in self._others():
            if not threading.main_thread().is_alive():
                break
            text = device_text(kernel, "relayout_kernel")
            found.append((kernel, compile_cubin(text, self._where.architecture)))
        return found

    def _look(self) -> None:
        """Read the watches that have stopped, and choose."""
        left = []
        for each, watch in self._pending:
            milliseconds = watch.read()
            if milliseconds is None:
                left.append((each, watch))
            else:
                each.least = min(each.least, milliseconds)
        self._pending = left
        first, fastest = self._tries[0], min(self._tries, key=lambda each: each.least)
        self.best = (fastest if fastest.least < tuning.ACTIVE.worthwhile_kernel * first.least else first).function
        self._kept.add(self.best)

    def _is_left(self, each: _Try) -> bool:
        """Whether a kernel is to be launched again; those that are far behind are not."""
        least = min([other.least for other in self._tries])
        hopeless = tuning.ACTIVE.hopeless_kernel * least < each.least < float("inf")
        return each.launches < tuning.ACTIVE.device_trial_rounds and not hopeless

    def _settle(self) -> None:
        """Keep the fastest; what was never it is in no graph, and is unloaded."""
        self.settled = True
        for each in self._tries:
            if each.function not in self._kept:
                each.function.unload()
        self._tries.clear()
        self._compiled = None


class _Try:
    """A kernel, how often it was launched, and the least milliseconds that it took."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.launches = 0
        self.least = float("inf")


class _Stopwatch:
    """Two events around what is asked for on a stream."""

    def __init__(self) -> None:
        self._events = c_void_p(), c_void_p()
        for event in self._events:
            check(driver().cuEventCreate(byref(event), 0), "an event")

    def __del__(self) -> None:
        for event in self._events:
            driver().cuEventDestroy_v2(event)

    def start(self, stream: int) -> None:
        check(driver().cuEventRecord(self._events[0], c_void_p(stream)), "an event")

    def stop(self, stream: int) -> None:
        check(driver().cuEventRecord(self._events[1], c_void_p(stream)), "an event")

    def read(self) -> float | None:
        """The milliseconds between both; None before the second has come."""
        code = driver().cuEventQuery(self._events[1])
        if code == NOT_READY:
            return None
        check(code, "an event")
        found = c_float()
        check(driver().cuEventElapsedTime(byref(found), *self._events), "the time between two events")
        return found.value


@contextmanager
def _beside_captures() -> Iterator[None]:
    """Let this thread load kernels and ask for events without ending a graph that another thread captures."""
    mode = c_int(RELAXED)
    driver().cuThreadExchangeStreamCaptureMode(byref(mode))
    try:
        yield
    finally:
        driver().cuThreadExchangeStreamCaptureMode(byref(mode))


def _is_capturing(stream: int) -> bool:
    """Whether a launch on a stream goes into a graph."""
    status = c_int()
    return bool(driver().cuStreamIsCapturing(c_void_p(stream), byref(status)) or status.value)
