"""Which of several kernels for one copy is fastest: calls launch each of them in turn, and the fastest is kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_float, c_int, c_void_p

from .. import tuning
from .build import device_text
from .driver import NOT_READY, Device, Function, check, compile_cubin, driver
from .kernel import Kernel

RELAXED = 2
"""The driver's mode of a thread in which it may do anything while another thread captures a graph."""

THREAD = "relayout kernels"
"""The name of the threads that compile."""


class TriedFunction:
    """A kernel that gives way to a faster one with the same results.

    The first call launches the kernel that the rules chose. With the second a thread begins to compile ``others``;
    once they are there, calls launch one after the other, a few rounds of all, each between two events. Nobody waits:
    a call reads what earlier events tell. Calls that are captured in a graph launch the fastest that is known.
    """

    def __init__(self, where: Device, first: Function, others: Callable[[], Iterable[Kernel]]) -> None:
        self.best = first
        self.settled = False
        self._where, self._others = where, others
        self._lock = threading.Lock()
        self._called = False
        self._compiler: threading.Thread | None = None
        self._kernels: list[Kernel] = []
        self._functions: list[Function] = []
        self._launches = 0
        self._pending: list[tuple[int, _Stopwatch]] = []
        self._seconds: list[float] = []

    def __call__(self, source: int, target: int, stream: int) -> None:
        """Ask for a run on a stream, in the context of the device."""
        if self.settled or not self._lock.acquire(blocking=False):
            self.best(source, target, stream)
            return
        try:
            self._advance(source, target, stream)
        finally:
            self._lock.release()

    def _advance(self, source: int, target: int, stream: int) -> None:
        if self._compiler is None:
            if self._called:
                self._compiler = threading.Thread(target=self._compile, name=THREAD)
                self._compiler.start()
            self._called = True
        elif not self._compiler.is_alive() and not _is_capturing(stream):
            with _beside_captures():
                self._measure(source, target, stream)
            return
        self.best(source, target, stream)

    def _compile(self) -> None:
        """Compile all others, so that they are found when they are loaded; an end of the program ends this too."""
        for kernel in self._others():
            if not threading.main_thread().is_alive():
                return
            compile_cubin(device_text(kernel, "relayout_kernel"), self._where.architecture)
            self._kernels.append(kernel)

    def _measure(self, source: int, target: int, stream: int) -> None:
        if not self._functions:
            self._functions = [self.best, *[Function(self._where, kernel) for kernel in self._kernels]]
            self._seconds = [float("inf")] * len(self._functions)
        self._look()
        tries = tuning.ACTIVE.device_trial_rounds * len(self._functions)
        if len(self._functions) > 1 and self._launches < tries:
            number = self._launches % len(self._functions)
            self._launches += 1
            watch = _Stopwatch()
            watch.start(stream)
            self._functions[number](source, target, stream)
            watch.stop(stream)
            self._pending.append((number, watch))
            return
        if not self._pending:
            self.settled = True
            self._functions.clear()
        self.best(source, target, stream)

    def _look(self) -> None:
        """Read the watches that have stopped."""
        left = []
        for number, watch in self._pending:
            seconds = watch.read()
            if seconds is None:
                left.append((number, watch))
            else:
                self._seconds[number] = min(self._seconds[number], seconds)
        self._pending = left
        if not left and self._launches:
            self.best = self._functions[self._seconds.index(min(self._seconds))]


class _Stopwatch:
    """Two events around what is asked for on a stream."""

    def __init__(self) -> None:
        self._events = c_void_p(), c_void_p()
        for event in self._events:
            check(driver().cuEventCreate(byref(event), 0), "an event")

    def start(self, stream: int) -> None:
        check(driver().cuEventRecord(self._events[0], c_void_p(stream)), "an event")

    def stop(self, stream: int) -> None:
        check(driver().cuEventRecord(self._events[1], c_void_p(stream)), "an event")

    def read(self) -> float | None:
        """The milliseconds between both, after which they are gone; None before the second has come."""
        code = driver().cuEventQuery(self._events[1])
        if code == NOT_READY:
            return None
        check(code, "an event")
        found = c_float()
        check(driver().cuEventElapsedTime(byref(found), *self._events), "the time between two events")
        for event in self._events:
            driver().cuEventDestroy_v2(event)
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
