"""Keys as numpy reads them: ``L.view[1:, ::-2, None, ..., 0]``."""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError
from ..integers.inttuple import as_int, crd2idx
from ..integers.nested import flatten, unflatten


class Indexer:
    """``L.view[...]``: see :meth:`Views.slice`."""

    __slots__ = ("_layout",)

    def __init__(self, layout: Any) -> None:
        self._layout = layout

    def __getitem__(self, items: Any) -> Any:
        return self._layout.slice(*(items if isinstance(items, tuple) else (items,)))


def fold_keys(key: Any, layout: Any) -> tuple[Any, ...]:
    """The keys of ``x[key]``, natural coordinates folded to integers: tuples nested like their mode, or all leaves.

    Such coordinates count from 0; integers stay as they are.
    """
    keys = key if isinstance(key, tuple) else (key,)
    modes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    if len(modes) < len(keys) == len(flatten(modes)) and not any(_is_selection(k) for k in keys):
        keys = unflatten(iter(keys), modes)
    if not any(isinstance(k, tuple) for k in keys):
        return keys
    shapes = iter(modes)
    folded: list[Any] = []
    for k in expand_ellipsis(keys, len(modes)):
        shape = None if k is None else next(shapes)
        folded.append(crd2idx(k, shape) if isinstance(k, tuple) else k)
    return tuple(folded)


def _is_selection(key: Any) -> bool:
    """Whether a key is anything but an integer."""
    return key is None or key is Ellipsis or isinstance(key, slice | tuple)


def slice_ends(key: slice, n: int) -> tuple[int, int, int]:
    """Start, stop and step as numpy and Python read them, for any size."""
    step = 1 if key.step is None else as_int(key.step, "a slice step")
    if step == 0:
        raise ShapeError(
            "a slice has step 0.", hint="use a step of at least 1, or a negative one to count down", key=key
        )
    low, high = (0, n) if step > 0 else (-1, n - 1)
    ends = []
    for end, default in ((key.start, low if step > 0 else high), (key.stop, high if step > 0 else low)):
        if end is not None:
            end = as_int(end, "a slice end")
            default = min(max(end + n if end < 0 else end, low), high)
        ends.append(default)
    return ends[0], ends[1], step


def expand_ellipsis(items: tuple[Any, ...], rank: int) -> list[Any]:
    """One key per dimension, ``...`` spelled out."""
    used = sum(1 for i in items if i is not None and i is not Ellipsis)
    if used > rank:
        raise ShapeError(
            f"{used} indices for a layout of rank {rank}.", hint="give at most one index per dimension", items=items
        )
    if sum(1 for i in items if i is Ellipsis) > 1:
        raise ShapeError("an index has '...' more than once.", hint="use it once", items=items)
    rest = [slice(None)] * (rank - used)
    keys: list[Any] = []
    for item in items:
        keys += rest if item is Ellipsis else [item]
    return keys if any(i is Ellipsis for i in items) else keys + rest
