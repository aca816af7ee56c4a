"""Code on the page: the functions between the two layouts of a state, or of its one, in the language it asks for."""

from __future__ import annotations

from typing import Any

from ..codegen.code import code
from ..codegen.targets import target_named, target_names
from ..errors import LayoutError, ShapeError
from .state import State, blame_field, operand_in


def code_offers() -> dict[str, list[str]]:
    """The languages that the page offers."""
    return {"targets": target_names()}


def code_in(state: State) -> dict[str, Any]:
    """The text that a state asks for; in its place the reason where the language or the layouts have none."""
    words = _words(state)
    with blame_field("target"):
        target_named(state.target or "c")
    try:
        return {"text": code(*words.pop("operands"), **words), "reason": ""}
    except LayoutError as error:
        return {"text": None, "reason": f"{error.message} {error.hint}".strip()}


def code_lines(state: State) -> list[str]:
    """The lines of Python that give the same text."""
    words = _words(state)
    operands = ", ".join(map(repr, words.pop("operands")))
    return [f"print(rl.code({', '.join([operands, *[f'{name}={value!r}' for name, value in words.items()]])}))"]


def _words(state: State) -> dict[str, Any]:
    """The arguments of ``code``; those that say nothing are left out."""
    operands = [state.a.strip()]
    operand_in(state, "a")
    if state.b.strip():
        operand_in(state, "b")
        with blame_field("dtype"):
            if not state.dtype:
                raise ShapeError("a function that moves elements has their type.", hint="fill it in, as in float16")
        operands += [state.b.strip(), state.dtype]
    moves = len(operands) > 1
    found: dict[str, Any] = {
        "target": state.target,
        "shape": state.sizes,
        "axes": state.axes,
        "inverse": moves and state.inverse == "1",
        "test": moves and state.test == "1",
    }
    return {"operands": operands, **{name: value for name, value in found.items() if value}}
