"""What a comparison found, fact by fact, for programs."""

from __future__ import annotations

from typing import Any

from ..layout.comparison import Comparison
from ..sharding.comparison import ShardingComparison
from .every_shape import FormatComparison
from .facts import unless_refused
from .record_comparison import RecordComparison


def comparison_facts(verdict: Comparison | FormatComparison | RecordComparison | ShardingComparison) -> dict[str, Any]:
    """Whether both are the same, and if not where they first differ; of formats, for which shapes."""
    facts: dict[str, Any] = {"same": bool(verdict)}
    if isinstance(verdict, RecordComparison):
        return {**facts, "same_places": verdict.same_places, **verdict._asdict()}
    if isinstance(verdict, ShardingComparison):
        return {**facts, **verdict._asdict()}
    if isinstance(verdict, Comparison):
        return {**facts, "every_shape": False, **_difference(verdict)}
    facts |= {"every_shape": True, "a": verdict.a, "b": verdict.b}
    return facts if verdict.example is None else {**facts, "every_shape": False, **_difference(verdict.example)}


def _difference(verdict: Comparison) -> dict[str, Any]:
    return {
        "shape": verdict.a.extents,
        "coordinate": verdict.coordinate,
        "offsets": verdict.offsets,
        "domains": verdict.domains,
        "regrouping": None if verdict.regrouping is None else str(verdict.regrouping),
        "storage": [unless_refused(lambda x=x: x.storage_size) for x in (verdict.a, verdict.b)],  # type: ignore[misc]
        "a": verdict.a,
        "b": verdict.b,
    }
