"""What is wrong with a table that has no layout? The layout that most of it has shows the entries that break it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lines import mode_of, nearest_line
from .relations import LineSum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS = 1 << 10
"""How many lines along a dimension vote on the steps of the nearest layout."""

VOTERS = 1 << 14
"""How many entries vote on its offset."""


def nearest_lines(table: NDArray[np.int64], known: NDArray[np.bool_]) -> LineSum:
    """Lines of modes that add up to most of a table, as far as a few votes tell.

    They step along each dimension as most of the table does, so a few wrong entries stand out wherever they are.
    """
    lines = []
    for d in range(table.ndim):
        line = _median_line(table, known, d)
        lines.append(line if mode_of(line) is not None else nearest_line(line))
    rests = (table - LineSum(0, tuple(lines)).table())[known]
    first, usual = int(rests[0]), _most_frequent(rests)
    return LineSum(usual if (rests == usual).sum() > (rests == first).sum() else first, tuple(lines))


def _median_line(table: NDArray[np.int64], known: NDArray[np.bool_], d: int) -> NDArray[np.int64]:
    """The line along ``d`` whose every step is the one that the middle of all known pairs makes."""
    import numpy as np

    n = table.shape[d]
    values, seen = np.moveaxis(table, d, 0).reshape(n, -1), np.moveaxis(known, d, 0).reshape(n, -1)
    if values.shape[1] > COLUMNS:
        some = np.random.default_rng(0).choice(values.shape[1], COLUMNS, replace=False)
        values, seen = values[:, some], seen[:, some]
    pairs = seen[1:] & seen[:-1]
    steps = np.where(pairs, np.diff(values, axis=0), np.iinfo(np.int64).max)
    return np.concatenate([[0], np.cumsum(_lower_medians(steps, pairs.sum(axis=1)))]).astype(np.int64)


def _lower_medians(rows: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lower median of the first ``counts`` entries, in order, of every row; 0 where there are none."""
    import numpy as np

    ordered = np.sort(rows, axis=1)
    picked = ordered[np.arange(rows.shape[0]), np.maximum(counts - 1, 0) // 2]
    return np.where(counts > 0, picked, 0)


def _most_frequent(values: NDArray[np.int64]) -> int:
    """The most frequent of the values, as far as some of them tell."""
    import numpy as np

    distinct, first, counts = np.unique(values[:: -(-values.size // VOTERS)], return_index=True, return_counts=True)
    return int(distinct[np.lexsort([first, -counts])[0]])
