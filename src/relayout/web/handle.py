"""All that the page can ask, as one function from a question to an answer; it never raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..elements.types import ELEMENTS
from ..errors import LayoutError, LimitExceeded, ParseError, ShapeError, shown
from ..format import catalog
from ..format.entries import Entry
from ..format.format import Format
from ..format.records import known_records
from .audits import audit_in
from .banks import bank_offers
from .code import code_in, code_offers
from .facts import facts
from .presets import PRESETS
from .python import python_lines
from .records import record_offer
from .state import FieldError, State, example_shape, look_at_threads, state_of
from .view import BINARY, UNARY, picture_of, view

_WORDS = {
    "element_bits= or dtype=": "the element type",
    "pass shape=(...)": "fill in the shape, as in 1,8,8,32",
    "shape=(...)": "the shape",
    "dtype=": "the element type",
    "axes=": "the axes",
}
"""What the library says of its parameters, said of the page's fields."""


def handle(request: Any) -> dict[str, Any]:
    """The answer to ``{"ask": ..., "state": {...}}``, or ``{"error": {...}}``."""
    try:
        if not isinstance(request, dict):
            raise ShapeError(f"a question is an object, got {shown(request)}.", hint='{"ask": "view", "state": {...}}')
        ask = request.get("ask")
        if not isinstance(ask, str) or ask not in _QUESTIONS:
            raise ShapeError(f"{shown(ask)} is not a question.", hint=f"one of {', '.join(_QUESTIONS)}")
        return _QUESTIONS[ask](request)
    except LayoutError as error:
        return {"error": _error_json(error)}
    except (MemoryError, OverflowError, RecursionError, ValueError):
        # Python itself gives up on numbers of more than 4300 digits, and on deep nesting.
        limit = LimitExceeded("this is too large for a picture.", hint="ask about a part of it")
        return {"error": _error_json(limit)}


def _error_json(error: LayoutError) -> dict[str, Any]:
    field = ""
    if isinstance(error, FieldError):
        field, error = error.field, error.error
    hint = error.hint
    for words, said in _WORDS.items():
        hint = hint.replace(words, said)
    found = {"code": error.code, "name": type(error).__name__, "message": error.message, "hint": hint, "field": field}
    if isinstance(error, ParseError):
        found |= {"text": error.text, "position": error.position}
    return found


# ---- the questions ---------------------------------------------------------------------------------------


def _start(request: dict[str, Any]) -> dict[str, Any]:
    """What the page offers: names of the catalog, element types, operations, views to begin with."""
    entries = [_entry(catalog.entry(name)) for name in catalog.names()]
    entries += [record_offer(named) for named in known_records().values()]
    return {
        "catalog": entries,
        "types": list(ELEMENTS),
        "binary": list(BINARY),
        "unary": list(UNARY),
        **bank_offers(),
        **code_offers(),
        "presets": [{"name": name, "state": state} for name, state in PRESETS.items()],
    }


def _entry(entry: Entry) -> dict[str, str]:
    width = 16 if 16 in entry.forms else next(iter(entry.forms))
    form = entry.forms[width]
    what = str(form.renamed(None)) if isinstance(form, Format) else form.to("cute")
    if len(entry.forms) > 1:
        what = f"for {', '.join(map(str, entry.forms))} bits"
    shape = ",".join(map(str, example_shape(form))) if isinstance(form, Format) else ""
    dtype = {None: "", 16: "float16", 32: "float32"}.get(width, f"uint{width}")
    about = {"name": entry.name, "axes": entry.axes, "format": what, "source": entry.provenance, "note": entry.note}
    return {**about, "shape": shape, "dtype": dtype}


def _copy(request: dict[str, Any]) -> dict[str, Any]:
    state, form = _state(request), request.get("form")
    if form == "python":
        return {"text": python_lines(state)}
    if form not in ("text", "svg", "html", "tikz"):
        raise ShapeError(f"there is no form {shown(form)}.", hint="text, svg, html, tikz or python")
    return {"text": getattr(picture_of(state).drawing, form)()}


def _state(request: dict[str, Any]) -> State:
    return look_at_threads(state_of(request.get("state", {})))


_QUESTIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "start": _start,
    "view": lambda request: view(_state(request)),
    "facts": lambda request: facts(_state(request)),
    "copy": _copy,
    "code": lambda request: code_in(_state(request)),
    "audit": audit_in,
}
