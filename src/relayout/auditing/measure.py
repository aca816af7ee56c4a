"""What our own repack of a move takes, on this machine or on its GPU: a time beside those that a file has."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

from ..elements.types import Element, storage_dtype
from ..engine.plan import plan
from ..errors import DeviceError, LayoutError
from ..layout.layout import Layout
from .audit import Audit
from .kinds import CONVERTS, OTHER_MEMORY, REARRANGES
from .move import Move
from .words import costliest

LARGEST = 1 << 30
"""Moves of more bytes are not measured."""

RUNS = 3
"""The shortest of so many runs counts."""

_WIDTHS = (8, 16, 32, 64)


class Measured(NamedTuple):
    """A move by its number, and the seconds that our repack of it takes; without any, why it was not measured."""

    number: int
    time: float | None
    why: str = ""


def measure_moves(audit: Audit, device: str = "cpu") -> Iterator[Measured]:
    """The costliest moves, run here; ``device`` is ``"cpu"`` or ``"cuda"``. Same moves are run once."""
    known: dict[Any, Measured] = {}
    for number in costliest(audit):
        move = audit.moves[number]
        if move.kind in (REARRANGES, OTHER_MEMORY, CONVERTS):
            key = (move.source.layout, move.target.layout, move.source.element, move.target.element)
            if key not in known:
                known[key] = _measure(move, device)
            yield known[key]._replace(number=number)


def _measure(move: Move, device: str) -> Measured:
    source, target, element = move.source.layout, move.target.layout, move.source.element
    if not isinstance(source, Layout) or not isinstance(target, Layout) or element is None:
        return Measured(0, None, "its layouts or its type are not known")
    if max(move.source.stored_bytes or 0, move.target.stored_bytes or 0) > LARGEST:
        return Measured(0, None, "it is too large")
    if element.bits not in _WIDTHS or (move.target.element or element).bits not in _WIDTHS:
        return Measured(0, None, "its elements are no whole words")
    try:
        if source.extents != target.extents:
            source = source.reshape(*target.extents)
        return Measured(0, _shortest(source, target, element, move.target.element or element, device))
    except DeviceError:
        raise
    except LayoutError as error:
        return Measured(0, None, error.message)


def _shortest(source: Layout, target: Layout, element: Element, to: Element, device: str) -> float:
    """The shortest run of a plan between arrays that are there already; integers stand for elements that stay."""
    names = [f"int{element.bits}"] if element == to else [element.name, to.name]
    move = plan(source, target, *names)
    x, out = _memory(source.storage_size, names[0], device), _memory(target.storage_size, names[-1], device)
    times = []
    for _ in range(RUNS + 1):
        start = perf_counter()
        move(x, out=out)
        _wait(device)
        times.append(perf_counter() - start)
    return min(times[1:])


def _memory(elements: int, name: str, device: str) -> Any:
    if device == "cpu":
        import numpy as np

        return np.zeros(elements, storage_dtype(name))
    torch = _torch()
    return torch.zeros(elements, dtype=getattr(torch, name), device=device)


def _wait(device: str) -> None:
    if device != "cpu":
        _torch().cuda.synchronize()


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise DeviceError("torch is not installed.", hint="measure with --measure cpu, or install torch") from None
    if not torch.cuda.is_available():
        raise DeviceError("there is no GPU here.", hint="measure with --measure cpu")
    return torch
