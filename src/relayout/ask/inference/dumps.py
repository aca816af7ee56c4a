"""The layout that a converter gave a tensor, from references and what became of them."""

from __future__ import annotations

from typing import Any

from ...errors import ShapeError, Undetermined
from ...layout.layout import Layout
from .boxes import box_for_length, inference_of
from .fit import empty_layout, fit, fit_lines
from .guesses import guesses
from .live import is_array
from .pairs import EncodedPair, encode_pair
from .relations import OpenLines
from .result import Inference


def from_dump(reference: Any, dump: Any) -> Inference:
    """The layout by which the dump holds the reference, one or several of each; refused where values leave it open."""
    several = isinstance(reference, list | tuple) and len(reference) > 0 and all(map(is_array, reference))
    if several and not isinstance(dump, list | tuple):
        raise ShapeError(
            "several references came with one dump.", hint="give a list with one dump each", got=type(dump)
        )
    pair = encode_pair(reference, dump) if several else encode_pair([reference], [dump])
    length = pair.memory.size
    if pair.elements.size == 0:
        empty = empty_layout(pair.elements.shape)
        used = pair.memory != pair.memory
        return inference_of(empty, padding=length, fill=pair.fill(used))
    table, known = pair.positions()
    seen = int(known.sum())
    found = fit(table, known)
    if isinstance(found, OpenLines):
        lines = found.continuation()
        simple = None if lines is None else fit_lines(lines, table, known)
        raise _not_located(found, pair, seen, () if simple is None else (simple.layout(),))
    layout = box_for_length(found, length)
    used = pair.check(layout)
    return inference_of(layout, True, seen=seen, padding=length - int(used.sum()), fill=pair.fill(used))


def _not_located(found: OpenLines, pair: EncodedPair, seen: int, simple: tuple[Layout, ...]) -> Undetermined:
    """The error for elements that their values do not locate, with what the data allow."""

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
        f"{found.question()}: {seen} of {pair.elements.size} elements have a value that occurs once in the "
        f"reference and once in the dump. {why}",
        hint=f"infer from the dumps of rl.probes({shape}, '{pair.dumps[0].dtype}'), which tell all elements apart; "
        "where the type is wide enough, one reference will do that repeats neither itself nor the padding",
        missing=found.missing,
        candidates=fitting,
        nearest=guess.nearest,
        counterexample=guess.where,
    )
