"""Time that a busy machine does not change: counted in runs of a fixed loop that is measured in the same moment."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from time import process_time
from typing import Any

LOOPS_PER_SECOND = 100
"""About so many loops are a second of one processor that nobody else uses."""


def _loop() -> int:
    total = 0
    for k in range(200_000):
        total += k & 7
    return total


def loops_of(call: Callable[[], Any], runs: int = 1) -> float:
    """How many loops the processor could have run instead of the call; of several runs, the least."""
    least = float("inf")
    for _ in range(runs):
        times = [process_time()]
        for part in (_loop, call, _loop):
            part()
            times.append(process_time())
        before, own, after = [b - a for a, b in pairwise(times)]
        least = min(least, 2 * own / (before + after))
    return least
