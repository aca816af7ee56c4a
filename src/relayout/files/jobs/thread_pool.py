"""A thread pool that works through an iterable, and hands every item to the caller when it is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from queue import Queue
from threading import Lock, Thread
from typing import TypeVar

from .. import tuning

T = TypeVar("T")


def default_jobs() -> int:
    """A thread for every processor, up to a number that one disk keeps busy."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, tuning.ACTIVE.default_jobs)


def run_unordered(workers: int, task: Callable[[T], object], items: Iterable[T]) -> Generator[T]:
    """Every item when its task is done, in whatever order, by so many threads, which run ahead of the caller by a few.

    The first error of a task is raised here. Whenever this generator ends, tasks that were begun are finished first,
    and no other is begun.
    """
    pending, taking, stopped = iter(items), Lock(), False
    results: Queue[tuple[T] | BaseException | None] = Queue(workers)

    def work() -> None:
        try:
            while not stopped:
                with taking:
                    item = next(pending)
                task(item)
                results.put((item,))
        except StopIteration:
            pass
        except BaseException as error:
            results.put(error)
        results.put(None)

    threads = [Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    running = workers
    try:
        while running:
            result = results.get()
            if result is None:
                running -= 1
            elif isinstance(result, BaseException):
                raise result
            else:
                yield result[0]
    finally:
        stopped = True
        while running:
            running -= results.get() is None
        for thread in threads:
            thread.join()
