"""A state of the page as the lines of Python that give the same."""

from __future__ import annotations

import re
from typing import Any

from ..layout import Layout
from .state import State
from .view import BINARY, UNARY, operands, see


def python(state: State) -> str:
    """Lines that make the picture, and print the verdict or the result."""
    lines = ["import relayout as rl", ""]
    if state.do in UNARY or state.do in BINARY:
        names = "ab"[: 1 + (state.do in BINARY)]
        lines += [f"{name} = {_code(x)}" for name, x in zip(names, operands(state))]
        lines.append(f"print(rl.{state.do}({', '.join(names)}))")
        if state.do in BINARY:
            lines.append(f'rl.draw(rl.{state.do}, a, b).save("picture.svg")')
        return "\n".join(lines) + "\n"
    subjects = see(state).subjects
    texts = [repr(subject.text.strip()) for subject in subjects]
    words = []
    if state.shape or not isinstance(subjects[0].found, Layout):
        words.append(f"shape={subjects[0].layout.extents}")
    words += [f"{name}={getattr(state, name)!r}" for name in ("axes", "dtype") if getattr(state, name)]
    if state.do == "compare":
        lines += [f"verdict = rl.compare({', '.join([*texts, *words])})", "print(verdict)"]
        if not state.color and state.view in ("", "logical"):
            texts, words = ["verdict"], []
    lines.append(f'rl.draw({", ".join([*texts, *words, *_look(state)])}).save("picture.svg")')
    return "\n".join(lines) + "\n"


def _code(x: Any) -> str:
    """An operand as Python reads it."""
    return re.sub(r"\b(Layout|Swizzle|E)\(", r"rl.\1(", repr(x))


def _look(state: State) -> list[str]:
    if state.do == "threads":
        return [f"tile={state.tile_sizes}"]
    words = [f"{name}={state.dimension(name)!r}" for name in ("rows", "columns") if state.dimension(name) is not None]
    if state.fixed:
        words.append(f"at={state.fixed}")
    words += [f"{name}={getattr(state, name)!r}" for name in ("cells", "color", "view") if getattr(state, name)]
    words += [f"width={state.line}"] if state.line else []
    return [*words, "path=True"] if state.path == "1" else words
