"""A copy that a signal interrupts: it ends soon, and the error says that its target is not whole."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout.native import native

pytestmark = pytest.mark.skipif(native is None, reason="numpy handles signals when a copy is done")

SIDE = 4096


class StopError(Exception):
    """What the handler raises."""


@pytest.fixture
def stopping() -> Iterator[None]:
    """A handler of the timer's signal that raises."""

    def stop(*_: Any) -> None:
        raise StopError

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("stopping")
@pytest.mark.parametrize("dtype", ["uint32", "uint4"])
def test_a_signal_interrupts_a_copy(dtype: str) -> None:
    # Both take some milliseconds, longer than the timer waits.
    kind, per_item, side = (np.uint32, 1, SIDE) if dtype == "uint32" else (np.uint8, 2, 3 * SIDE)
    plan = rl.plan(rl.Layout.row_major(side, side), rl.Layout.col_major(side, side), dtype, threads=1)
    source = np.zeros(side * side // per_item, kind)
    target = np.empty_like(source)
    plan(source, target)
    for attempt in range(300):
        target[:] = np.iinfo(kind).max
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.0001 * (attempt % 20))
            plan(source, target)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except StopError as error:
            if getattr(error, "__notes__", None):
                assert error.__notes__ == ["relayout: the copy was interrupted, and its target is partly written."]
                written = int(np.count_nonzero(target == 0))
                assert 0 < written < target.size
                break
    else:
        pytest.fail("no copy was interrupted")
    plan(source, target)
    assert not target.any()


def test_parts_make_the_whole() -> None:
    x = np.random.default_rng(0).integers(0, 1 << 32, (SIDE + 3, SIDE - 5), np.uint32)
    plan = rl.plan(rl.Layout.row_major(x.shape), rl.Layout.col_major(x.shape), "uint32")
    assert np.array_equal(plan(x.reshape(-1)), x.T.reshape(-1))
