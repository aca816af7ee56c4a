"""A result that is much larger than its data: most often axes that were taken in the wrong order, or a wrong format."""

from __future__ import annotations

MAX_FACTOR = 4
"""A result of at most so many times the bytes is nothing to speak of."""

MAX_ADDED_BYTES = 1 << 20
"""Nor is one with at most so many more bytes."""


def growth_warning(before: int, after: int, factor: float = MAX_FACTOR) -> str | None:
    """What to say of ``after`` bytes made of ``before``, where that is out of proportion; else None."""
    if after <= factor * before or after - before <= MAX_ADDED_BYTES:
        return None
    times = after / max(before, 1)
    return f"the result has {after} bytes, {times:.1f} times the {before} of the data: are its axes right?"
