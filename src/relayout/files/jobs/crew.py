"""Threads that work through a list, and tell the thread that started them of every item that is done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from queue import Queue
from threading import Lock, Thread
from typing import TypeVar

T = TypeVar("T")


def done_by(jobs: int, do: Callable[[T], object], todo: Iterable[T]) -> Generator[T]:
    """The items, each when it is done, by so many threads, which run ahead of the caller by a few.

    The first error is raised here. Whenever this ends, what was begun is finished first, and nothing new is begun.
    """
    items, taking, stopped = iter(todo), Lock(), False
    told: Queue[tuple[T] | BaseException | None] = Queue(jobs)

    def work() -> None:
        try:
            while not stopped:
                with taking:
                    item = next(items)
                do(item)
                told.put((item,))
        except StopIteration:
            pass
        except BaseException as error:
            told.put(error)
        told.put(None)

    threads = [Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    left = jobs
    try:
        while left:
            found = told.get()
            if found is None:
                left -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                yield found[0]
    finally:
        stopped = True
        while left:
            left -= told.get() is None
        for thread in threads:
            thread.join()
