"""A state of the page as the lines of Python that give the same."""

from __future__ import annotations

import re
from typing import Any

from ..layout.layout import Layout
from .atoms import atom_in, python_of_atom
from .banks import asked_banks, bank_lines
from .code import code_lines
from .records import record_lines, record_picture
from .shardings import sharding_picture, sharding_python
from .state import State
from .view import BINARY, UNARY, look_words, operands, picture_of, shown_by_colour


def python_lines(state: State) -> str:
    """Lines that make the picture, and print the verdict or the result."""
    lines = ["import relayout as rl", ""]
    if state.do in UNARY or state.do in BINARY:
        names = "ab"[: 1 + (state.do in BINARY)]
        lines += [f"{name} = {_code(x)}" for name, x in zip(names, operands(state))]
        lines.append(f"print(rl.{state.do}({', '.join(names)}))")
        if state.do in BINARY:
            lines.append(f'rl.draw(rl.{state.do}, a, b).save("picture.svg")')
        return "\n".join(lines) + "\n"
    if state.do == "code":
        return "\n".join([*lines, *code_lines(state)]) + "\n"
    atom = atom_in(state)
    if atom is not None:
        return "\n".join([*lines, *python_of_atom(atom)]) + "\n"
    of_shardings = sharding_picture(state)
    if of_shardings is not None:
        return "\n".join([*lines, *sharding_python(state, of_shardings)]) + "\n"
    of_records = record_picture(state)
    if of_records is not None:
        return "\n".join([*lines, *record_lines(state, of_records)]) + "\n"
    subjects = picture_of(state).subjects
    texts = [repr(subject.text.strip()) for subject in subjects]
    if state.do == "banks":
        tile = texts[0] if isinstance(subjects[0].found, Layout) else _code(subjects[0].layout)
        return "\n".join([*lines, *bank_lines(state, tile, asked_banks(state, subjects[0].layout))]) + "\n"
    words = []
    if state.shape or not isinstance(subjects[0].found, Layout):
        words.append(f"shape={subjects[0].shape or subjects[0].layout.extents}")
    words += [f"{name}={getattr(state, name)!r}" for name in ("axes", "dtype") if getattr(state, name)]
    if state.do == "compare":
        lines += [f"verdict = rl.compare({', '.join([*texts, *words])})", "print(verdict)"]
        if not shown_by_colour(state):
            texts, words = ["verdict"], [word for word in words if word.startswith("dtype=")]
    extents = subjects[0].layout.extents
    shown = {"tile": state.tile_sizes} if state.do == "threads" else look_words(state, extents)
    words += [f"{name}={value!r}" for name, value in shown.items()]
    lines.append(f'rl.draw({", ".join([*texts, *words])}).save("picture.svg")')
    return "\n".join(lines) + "\n"


def _code(x: Any) -> str:
    """An operand as Python reads it."""
    return re.sub(r"\b(Layout|Swizzle|E)\(", r"rl.\1(", repr(x))
