"""Which layout is this? From a live array, a table of offsets, or a reference tensor and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import LayoutError, LimitExceeded, ShapeError, Undetermined, shown
from ..format.format import Format
from ..layout.layout import Layout
from .probes import PROBE_LIMIT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .inference.pairs import EncodedPair
    from .inference.relations import OpenLines

OFFSET_LIMIT = 1 << 55
"""Offsets of a table stay below this, so that sums of one difference per dimension are exact in int64."""


class Inference(NamedTuple):
    """What was found out about some data.

    ``layout`` is the simplest exact layout; with a dump its box fills the dump wherever a box can. ``format`` is the
    plainest format that gives it, of a padded shape where the box is larger; ``names`` are all its names in the
    catalog. ``seen`` counts the elements whose place the data give; the places of the others follow, as in any layout
    without a swizzle. ``padding`` counts the positions of the dump that hold no element, and ``fill`` is the value of
    all of them, if it is one.
    """

    layout: Layout
    format: Format | None
    names: tuple[str, ...]
    elements: int
    seen: int
    padding: int | None = None
    fill: Any = None

    @property
    def texts(self) -> dict[str, str | LayoutError]:
        """The layout in every dialect, or the refusal of a dialect that cannot hold it.

        A dialect that cannot hold the layout has the format instead, if that gives the layout for its extents.
        """
        from .rosetta import rosetta

        texts = dict(rosetta(self.layout))
        if self.format is not None and self.format.layout(self.layout.extents).equivalent(self.layout):
            for dialect, text in rosetta(self.format).items():
                if isinstance(text, str) and not isinstance(texts[dialect], str):
                    texts[dialect] = text
        return texts

    def __str__(self) -> str:
        lines = [f"layout    {self.layout}"]
        if self.format is not None:
            lines.append(f"format    {self.format}")
        if self.names:
            lines.append(f"names     {', '.join(self.names)}")
        lines.append(f"elements  {self.elements}" + f", {self.seen} of them seen" * (self.seen < self.elements))
        if self.padding:
            lines.append(f"padding   {self.padding}" + (f", all {self.fill!r}" if self.fill is not None else ""))
        return "\n".join(lines)


def infer(x: Any = None, dump: Any = None, *, offsets: Any = None) -> Inference:
    """The simplest layout of some data, its names, and its padding; or an error that says what is missing or wrong.

    * ``infer(array)``: a live array of numpy, torch, or any library with DLPack, an array interface or the buffer
      protocol. Offsets count from the start of the storage for torch, and otherwise from the lowest element, so an
      array with negative strides starts at a positive offset.
    * ``infer(offsets=table)``: one offset per logical coordinate, as nested lists or an integer array. None, masked
      entries and -1 are unknown; a table with entries below -1 is taken as it is.
    * ``infer(reference, dump)``: a tensor, and the memory that a converter made of it, read flat. Elements are found by
      their value (its bits). Bytes are read in the type of the reference.
    * ``infer([reference, ...], [dump, ...])``: several of them, such as ``probes(shape, dtype)``: enough to tell all
      elements apart where one tensor of a narrow type is not.

    >>> infer(offsets=[[0, 1, 4, 5], [2, 3, 6, 7]]).layout
    Layout((2, (2, 2)), (2, (1, 4)))
    """
    if (x is None) == (offsets is None) or (dump is not None and x is None):
        raise ShapeError(
            "infer takes a live array, a reference with its dump, or offsets=.",
            hint="infer(array), infer(reference, dump) or infer(offsets=table)",
        )
    if offsets is not None:
        return _from_table(offsets)
    if dump is not None:
        return _from_pair(x, dump)
    from .inference.live import array_layout

    return _inference(array_layout(x), exact=True)


def _inference(layout: Layout, exact: bool = False, seen: int | None = None, **words: Any) -> Inference:
    from .inference.boxes import catalog_names

    named, fmt = catalog_names(layout, exact)
    return Inference(layout, fmt, named, layout.size, layout.size if seen is None else seen, **words)


# ---- a table of offsets --------------------------------------------------------------------------------------


def _from_table(offsets: Any) -> Inference:
    from .inference.fit import fit, fit_lines
    from .inference.relations import OpenLines

    table, known = _checked_table(offsets)
    if table.size == 0:
        return _inference(_empty(table.shape))
    found = fit(table, known)
    if isinstance(found, OpenLines):
        lines = found.continuation()
        simple = None if lines is None else fit_lines(lines, table, known)
        raise Undetermined(
            f"{_which_are_open(found)}: {int(known.sum())} of {table.size} offsets are known.",
            hint="give the offsets at `missing`, or those of any coordinates that connect them to the known ones",
            missing=found.missing,
            candidates=() if simple is None else (simple.layout(),),
        )
    return _inference(found.layout(), seen=int(known.sum()))


def _checked_table(offsets: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The table as int64, and which of its entries are known."""
    import numpy as np

    table = np.ma.asarray(offsets) if isinstance(offsets, np.ma.MaskedArray) else _as_table(offsets)
    known = ~np.ma.getmaskarray(table)
    values = np.ma.getdata(table)
    if values.size > PROBE_LIMIT:
        raise LimitExceeded(
            f"a table of {values.size} offsets is over the limit of {PROBE_LIMIT}.",
            hint="infer from a part that still has several blocks along each dimension",
            limit=PROBE_LIMIT,
        )
    if values.dtype == object:
        known &= np.array([v is not None for v in values.reshape(-1)], bool).reshape(values.shape)
        values = np.where(known, values, 0)
        bad = next((v for v in values.reshape(-1) if isinstance(v, bool) or not isinstance(v, int | np.integer)), None)
        if bad is not None:
            raise ShapeError(f"an offset is an integer, got {shown(bad)}.", hint="None is an unknown offset", got=bad)
    elif values.size and values.dtype.kind not in "iu":
        raise ShapeError(
            f"offsets are integers, got a table of {values.dtype}.", hint="count in elements", got=values.dtype
        )
    seen = values[known]
    if seen.size and (int(seen.max()) >= OFFSET_LIMIT or int(seen.min()) <= -OFFSET_LIMIT):
        raise LimitExceeded(
            f"offsets of {OFFSET_LIMIT} and more are not inferred from.", hint="subtract a base", limit=OFFSET_LIMIT
        )
    exact = np.where(known, values, 0).astype(np.int64)
    if seen.size and int(seen.min()) == -1:
        known &= exact != -1
    return exact, known


def _as_table(offsets: Any) -> NDArray[Any]:
    """Nested lists or any array as a numpy array."""
    import numpy as np

    from .inference.live import is_array, on_host

    if is_array(offsets) and not (isinstance(offsets, np.ndarray) and offsets.dtype.kind == "O"):
        return on_host(offsets, "the table")
    try:
        return np.array(offsets)
    except (ValueError, OverflowError):
        raise ShapeError(
            f"{shown(offsets)} is no table.", hint="nest lists of equal lengths, one per dimension", got=type(offsets)
        ) from None


def _empty(shape: tuple[int, ...]) -> Layout:
    return Layout(shape[0], 0) if len(shape) == 1 else Layout(shape, (0,) * len(shape))


# ---- a reference and its dump ----------------------------------------------------------------------------------


def _from_pair(reference: Any, dump: Any) -> Inference:
    from .inference.boxes import box_for_length
    from .inference.fit import fit, fit_lines
    from .inference.live import is_array
    from .inference.pairs import encode_pair
    from .inference.relations import OpenLines

    several = isinstance(reference, list | tuple) and len(reference) > 0 and all(map(is_array, reference))
    if several and not isinstance(dump, list | tuple):
        raise ShapeError(
            "several references came with one dump.", hint="give a list with one dump each", got=type(dump)
        )
    pair = encode_pair(reference, dump) if several else encode_pair([reference], [dump])
    length = pair.memory.size
    if pair.elements.size == 0:
        empty = _empty(pair.elements.shape)
        used = pair.memory != pair.memory
        return _inference(empty, padding=length, fill=pair.fill(used))
    table, known = pair.positions()
    seen = int(known.sum())
    found = fit(table, known)
    if isinstance(found, OpenLines):
        lines = found.continuation()
        simple = None if lines is None else fit_lines(lines, table, known)
        raise _not_located(found, pair, seen, () if simple is None else (simple.layout(),))
    layout = box_for_length(found, length)
    used = pair.check(layout)
    return _inference(layout, True, seen=seen, padding=length - int(used.sum()), fill=pair.fill(used))


def _not_located(found: OpenLines, pair: EncodedPair, seen: int, simple: tuple[Layout, ...]) -> Undetermined:
    """The error for elements that their values do not locate, with what the data allow."""
    from .inference.guesses import guesses

    shape = pair.elements.shape
    guess = guesses(pair)
    fitting = (*[layout for layout in simple if pair.fits(layout)], *guess.fitting)
    if fitting:
        why = f"{fitting[0]} fits, but values that repeat do not prove it."
    elif guess.nearest is not None and guess.where is not None:
        position = guess.nearest(guess.where)
        why = f"No named format and no order of dimensions fits; the nearest, {guess.nearest}, puts {guess.where} at "
        why += f"{position}, where the dump holds {pair.value(position)!r}."
    else:
        why = f"No named format and no order of dimensions has {pair.memory.size} elements."
    return Undetermined(
        f"{_which_are_open(found)}: {seen} of {pair.elements.size} elements have a value that occurs once in the "
        f"reference and once in the dump. {why}",
        hint=f"infer from the dumps of rl.probes({shape}, '{pair.dumps[0].dtype}'), which tell all elements apart; "
        "where the type is wide enough, one reference will do that repeats neither itself nor the padding",
        missing=found.missing,
        candidates=fitting,
        nearest=guess.nearest,
        counterexample=guess.where,
    )


def _which_are_open(found: OpenLines) -> str:
    first = ", ".join(map(str, found.missing[:4])) + ", ..." * (len(found.missing) > 4)
    return f"the data do not say where {first} {'lies' if len(found.missing) == 1 else 'lie'}"
