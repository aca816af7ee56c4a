"""The questions that an agent may ask: each answers in words, and for programs.

None opens a file or an address: a text is a layout in some notation, or it is refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import ShapeError, UnknownName, error_classes, error_of_code
from . import limits
from .schemas import check_numbers


class ToolAnswer(NamedTuple):
    """What a tool found out: as a text, and as an object."""

    text: str
    found: dict[str, Any]


def parse(text: str, **words: Any) -> ToolAnswer:
    from ..ask.description import describe
    from ..ask.facts import facts_as_text

    told = describe(text, **words)
    pairs = facts_as_text(told.facts)
    width = max([len(label) for label, _ in pairs])
    lines = [f"{label:<{width}}  {value}" for label, value in pairs]
    return _answer("\n".join([*lines, "", told.words]), told.result)


def translate(text: str, to: str | None = None, **words: Any) -> ToolAnswer:
    from ..ask.rosetta import refusal_reason
    from ..ask.translation import translation

    found = translation(text, **words)
    if to is None:
        every = found.rosetta
        reasons = {name: refusal_reason(refusal, every.x) for name, refusal in every.refusals.items()}
        return _answer(str(every), {"subject": every.x, "texts": every.texts, "refusals": reasons})
    if to.partition(":")[0] not in found.notations:
        known = ", ".join(found.notations)
        raise ShapeError(f"there is no notation {to!r} for this.", hint=f"one of {known}", to=to)
    written = found.write(to)
    return _answer(written, {"subject": found.subject, "texts": {to: written}, "refusals": {}})


def compare(a: str, b: str, flat: bool = False, **words: Any) -> ToolAnswer:
    from ..ask.comparing import compare as compare_texts
    from ..ask.comparison_facts import comparison_facts

    verdict = compare_texts(a, b, flat, **words)
    return _answer(str(verdict), {"words": str(verdict), **comparison_facts(verdict)})


def explain(text: str, **words: Any) -> ToolAnswer:
    import re

    if re.fullmatch(r"\s*RL\d{1,9}\s*", text, re.IGNORECASE):
        return _code(text.strip().upper())
    from ..ask.explain import explain as explain_text

    lines = explain_text(text, **words).splitlines()
    return _answer("\n".join(lines), {"lines": lines})


def _code(code: str) -> ToolAnswer:
    """What the code of an error means."""
    if cls := error_of_code(code):
        lines = [f"{code} {cls.__name__}: {cls.meaning}.", f"Way out: {cls.way_out}."]
        return _answer("\n".join(lines), {"lines": lines})
    known = ", ".join([cls.code for cls in error_classes()])
    raise UnknownName(f"there is no error {code}.", hint=f"there are {known}", name=code)


def infer(
    offsets: Any = None,
    reference: Any = None,
    dump: Any = None,
    among: Any = None,
    axes: str | None = None,
    dtype: str | None = None,
) -> ToolAnswer:
    from ..ask.infer import infer as infer_layout
    from ..ask.inference.inference_facts import inference_facts

    if (offsets is None) == (reference is None) or (reference is None) != (dump is None):
        raise ShapeError("infer takes offsets, or a reference with its dump.", hint="as in offsets=[[0, 2], [1, 3]]")
    if offsets is not None:
        if (among, axes, dtype) != (None, None, None):
            raise ShapeError("among, axes and dtype are for a reference with its dump.", hint="leave them out")
        check_numbers(offsets, "offsets", unknown=True)
        found = infer_layout(offsets=offsets)
    else:
        arrays = [_array(values, name, dtype) for values, name in ((reference, "reference"), (dump, "dump"))]
        found = infer_layout(*arrays, among=among, axes=axes)
    return _answer(str(found), {"words": str(found), **inference_facts(found)})


def _array(values: Any, name: str, dtype: str | None) -> Any:
    import numpy as np

    from ..elements.types import element, storage_dtype

    check_numbers(values, name)
    kind = None if dtype is None else element(dtype)
    unfit = ShapeError(f"{name} has numbers that {dtype or 'numpy'} does not hold.", hint="choose a dtype")
    try:
        array = np.array(values, None if kind is None else storage_dtype(kind))
    except (OverflowError, ValueError):
        raise unfit from None
    if kind is not None and kind.integral and array.size:
        # A type of fewer bits is stored in more; and numpy would cut a fraction off.
        least, most = kind.limits
        if not (least <= array.min() and array.max() <= most and np.array_equal(array, values)):
            raise unfit
    return array


def draw(
    texts: list[str],
    form: str = "text",
    difference: bool = False,
    at: Any = None,
    part: str | None = None,
    **words: Any,
) -> ToolAnswer:
    from ..ask.comparing import compare as compare_texts
    from ..dialects.tilers import parse_part
    from ..drawing.draw import draw as draw_texts
    from ..drawing.svg import render_svg
    from ..drawing.terminal import render_text

    given = {name: words.pop(name) for name in ("shape", "axes", "dtype") if name in words}
    for name in ("rows", "columns"):
        if name in words:
            words[name] = _dimension(words[name])
    look = {
        **words,
        **({} if part is None else {"part": parse_part(part)}),
        **({} if at is None else {"at": _places(at)}),
    }
    if difference:
        if len(texts) != 2:
            raise ShapeError("a difference is drawn of two layouts.", hint="give two texts")
        picture = draw_texts(compare_texts(texts[0], texts[1], **given), **look)
    else:
        picture = draw_texts(texts[0], *texts[1:], **given, **look)
    drawn = (render_text if form == "text" else render_svg)(picture.scene(limits.CELLS))
    return _answer(drawn, {"form": form, "picture": drawn})


def _places(at: dict[str, int]) -> dict[int | str, int]:
    return {_dimension(name): place for name, place in at.items()}


def _dimension(name: str) -> int | str:
    """A dimension by its number or its name."""
    return int(name) if name.isascii() and name.isdigit() and len(name) < 9 else name


def catalog(words: Any = (), skip: int = 0) -> ToolAnswer:
    from ..ask.catalog_search import entry_facts, entry_pairs, entry_row, search_catalog

    found = search_catalog(words)
    shown = found.entries[skip : skip + limits.ROWS]
    more = max(len(found.entries) - skip - len(shown), 0)
    facts = {"found": [entry_facts(entry) for entry in shown], "more": more, "near": list(found.near)}
    if found.named:
        return _answer("\n".join([f"{label}: {text}" for label, text in entry_pairs(found.entries[0])]), facts)
    rows = ["  ".join(entry_row(entry)) for entry in shown]
    if not found.entries:
        meant = f" Did you mean {', '.join(found.near)}?" if found.near else ""
        rows.append(f"nothing is called so.{meant}")
    elif not shown:
        rows.append(f"there are {len(found.entries)}, all of them skipped.")
    rest = [f"and {more} more: ask again with skip={skip + len(shown)}"] if more else []
    return _answer("\n".join(rows + rest), facts)


def _answer(text: str, found: dict[str, Any]) -> ToolAnswer:
    from ..ask.json_values import as_json

    return ToolAnswer(text, _as_doubles(as_json(found)))


def _as_doubles(x: Any) -> Any:
    """JSON whose integers a double holds, as most clients read them; larger ones are texts."""
    if isinstance(x, dict):
        return {name: _as_doubles(value) for name, value in x.items()}
    if isinstance(x, list):
        return [_as_doubles(entry) for entry in x]
    return str(x) if isinstance(x, int) and abs(x) > _EXACT else x


_EXACT = (1 << 53) - 1
"""Integers up to here are exact in JavaScript."""
