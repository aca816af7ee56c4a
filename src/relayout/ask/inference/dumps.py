"""The layout that a converter gave a tensor, from references and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ShapeError, Undetermined
from .boxes import box_for_length, inference_of
from .fit import empty_layout, fit, fit_lines
from .guesses import guesses
from .hypotheses import distinguishing, rank_candidates, rank_hypotheses
from .live import is_array
from .pairs import EncodedPair, encode_pair
from .relations import OpenLines
from .result import Candidate, Inference


def from_dump(reference: Any, dump: Any, dtype: Any = None) -> Inference:
    """The layout by which the dump holds the reference, one or several of each."""
    pair = pair_of(reference, dump, dtype)
    length = pair.memory.size
    words: dict[str, Any] = {"bits": pair.bits, "dtype": pair.element and pair.element.name}
    if pair.elements.size == 0:
        empty = empty_layout(pair.elements.shape)
        used = pair.memory != pair.memory
        return inference_of(empty, padding=length, fill=pair.fill(used), **words)
    table, known = pair.positions()
    seen = int(known.sum())
    found = fit(table, known)
    if isinstance(found, OpenLines):
        return _best_fitting(found, pair, seen, words)
    layout = box_for_length(found, length, pair.bits)
    used = pair.check(layout)
    return inference_of(layout, seen=seen, padding=length - int(used.sum()), fill=pair.fill(used), **words)


def from_hypotheses(
    reference: Any, dump: Any, among: Sequence[Any], dtype: Any = None, axes: str | None = None
) -> Inference:
    """The hypothesis by which the dump holds the reference; the others that fit as well are its ``others``."""
    pair = pair_of(reference, dump, dtype)
    ranked = rank_hypotheses(pair, among, axes)
    fitting = tuple([candidate for candidate in ranked if not candidate.mismatches])
    if fitting:
        used = pair.check(fitting[0].layout)
        return _among(fitting, pair, int(pair.positions()[1].sum()), (), used)
    best = ranked[0]
    raise Undetermined(
        f"none of {len(ranked)} hypotheses fits; the nearest, {best}, misplaces {best.mismatches} of "
        f"{pair.elements.size} elements: {best.mismatch}.",
        hint="infer without `among` searches by itself",
        candidates=ranked,
        nearest=best.layout,
        counterexample=None if best.mismatch is None else best.mismatch.coordinate,
    )


def pair_of(reference: Any, dump: Any, dtype: Any = None) -> EncodedPair:
    """References and dumps, one or several of each, as codes."""
    several = isinstance(reference, list | tuple) and len(reference) > 0 and all(map(is_array, reference))
    if several and not isinstance(dump, list | tuple):
        raise ShapeError(
            "several references came with one dump.", hint="give a list with one dump each", got=type(dump)
        )
    return encode_pair(reference, dump, dtype) if several else encode_pair([reference], [dump], dtype)


def _best_fitting(found: OpenLines, pair: EncodedPair, seen: int, words: dict[str, Any]) -> Inference:
    """What fits elements that their values do not all locate; refused where nothing does."""
    lines = found.continuation()
    simple = None if lines is None else fit_lines(lines, *pair.positions())
    guess = guesses(pair)
    layouts = [layout for layout in ([] if simple is None else [simple.layout()]) if pair.fits(layout)]
    ranked = rank_candidates([*guess.fitting, *layouts], pair)
    if ranked:
        return _among(ranked, pair, seen, found.missing, pair.check(ranked[0].layout))
    if guess.nearest is not None and guess.where is not None:
        position = guess.nearest(guess.where)
        why = (
            f"No named format, no XLA tiling, no order of dimensions and no pitch fits; the nearest, {guess.nearest}, "
        )
        why += f"puts {guess.where} at {position}, where the dump holds {pair.value(position)!r}."
    else:
        why = f"No named format and no order of dimensions has {pair.memory.size} elements."
    raise Undetermined(
        f"{found.question()}: {seen} of {pair.elements.size} elements have a value that occurs once in the "
        f"reference and once in the dump. {why}",
        hint=f"infer from the dumps of rl.probes({pair.elements.shape}, '{pair.dtype_name}'), which tell all elements "
        "apart; where the type is wide enough, one reference will do that repeats neither itself nor the padding",
        missing=found.missing,
        nearest=guess.nearest,
        counterexample=guess.where,
    )


def _among(
    fitting: Sequence[Candidate], pair: EncodedPair, seen: int, missing: tuple[tuple[int, ...], ...], used: Any
) -> Inference:
    """The first of the candidates that fit, with the others, and the coordinates that decide between them."""
    decisive = distinguishing([candidate.layout for candidate in fitting])
    return inference_of(
        fitting[0].layout,
        pair.bits,
        seen,
        dtype=pair.element and pair.element.name,
        padding=pair.memory.size - int(used.sum()),
        fill=pair.fill(used),
        others=tuple(fitting[1:]),
        missing=missing,
        next_probe=decisive or missing,
    )
