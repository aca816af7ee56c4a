"""Writes docs/api.md from ``relayout.__all__`` and the docstrings: ``python docs/make_api.py``.

The groups are the lists that ``relayout/__init__.py`` joins into ``__all__``; the text after each one is its title and
what it holds.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from types import ModuleType
from typing import Any, NamedTuple

import relayout

PAGE = Path(__file__).parent / "api.md"
WIDTH = 110
"""A longer signature has one parameter a line."""

HEAD = """# API

Every public name, as `relayout.X`. This page is written by `docs/make_api.py` from the docstrings; `help(relayout.X)`
tells all of each.
"""


class Group(NamedTuple):
    """One list of ``__all__``."""

    title: str
    about: str
    names: list[str]


def groups() -> list[Group]:
    """The lists of ``__all__`` in their order, each with the text that follows it."""
    body = ast.parse(Path(relayout.__file__).read_text()).body
    found = []
    for statement, after in pairwise(body):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__":
            title, _, about = ast.literal_eval(after.value).partition(": ")
            found.append(Group(title, about, ast.literal_eval(statement.value)))
    return found


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    taken: Counter[str] = Counter()
    for title, about, names in groups():
        links = ", ".join([f"[`{name}`](#{anchor_of(name, taken)})" for name in names])
        parts.append(f"## {title}\n\n{about[0].upper()}{about[1:]}\n\n{_folded(links)}\n")
        parts += ["\n".join(_entry(name)) for name in names]
    return "\n".join(parts)


def anchor_of(name: str, taken: Counter[str]) -> str:
    """Where a forge puts the heading: in small letters, and numbered where another has the same ones."""
    anchor = name.lower()
    taken[anchor] += 1
    return anchor if taken[anchor] == 1 else f"{anchor}-{taken[anchor] - 1}"


def _entry(name: str) -> Iterator[str]:
    thing = getattr(relayout, name)
    yield f"### {name}\n"
    if isinstance(thing, ModuleType):
        yield f"{_first_paragraph(thing)}\n"
        for member in thing.__all__:
            signature = signature_text(f"{name}.{member}", getattr(thing, member), one_line=True)
            yield f"* `{signature}`: {_first_paragraph(getattr(thing, member))}"
        yield ""
        return
    if callable(thing) and not is_error(thing):
        yield f"```\n{signature_text(name, thing)}\n```\n"
    yield f"{_first_paragraph(thing)}\n"
    members = [] if is_error(thing) or not isinstance(thing, type) else list(public_members(thing))
    if members:
        yield _folded(f"Members: {', '.join([f'`{member}`' for member in members])}.") + "\n"


def is_error(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Exception)


def public_members(cls: type) -> Iterator[str]:
    """The public members, from this class or a base that is no tuple's."""
    for name, _ in inspect.getmembers(cls):
        owned = any(name in vars(base) for base in cls.__mro__ if base not in (object, tuple))
        if owned and not name.startswith("_") and not hasattr(tuple, name):
            yield name


def signature_text(name: str, thing: Any, one_line: bool = False) -> str:
    """The call as it is written in Python, one parameter a line where one line would be too long."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    fields = thing.__annotations__ if isinstance(thing, type) and issubclass(thing, tuple) else {}
    words = list(_parameters(signature, fields))
    result = "" if isinstance(thing, type) else _typed(" -> ", signature.return_annotation)
    line = f"{name}({', '.join(words)}){result}"
    if one_line or len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *[f"    {word}," for word in words], f"){result}"])


def _parameters(signature: inspect.Signature, fields: dict[str, Any]) -> Iterator[str]:
    """Every parameter, with the bare ``*`` and ``/`` between their kinds; what is a field has the type of that."""
    before = None
    for parameter in signature.parameters.values():
        kind = parameter.kind
        if before is kind.POSITIONAL_ONLY and kind is not before:
            yield "/"
        if kind is kind.KEYWORD_ONLY and before not in (kind, kind.VAR_POSITIONAL):
            yield "*"
        stars = {kind.VAR_POSITIONAL: "*", kind.VAR_KEYWORD: "**"}.get(kind, "")
        own = parameter.annotation
        typed = _typed(": ", fields.get(parameter.name, own) if own is parameter.empty else own)
        equals = " = " if typed else "="
        given = "" if parameter.default is parameter.empty else f"{equals}{parameter.default!r}"
        yield f"{stars}{parameter.name}{typed}{given}"
        before = kind
    if before is inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


def _typed(sign: str, annotation: Any) -> str:
    """The annotation behind its sign; nothing for one that says nothing."""
    words = getattr(annotation, "__forward_arg__", annotation)
    if words is inspect.Parameter.empty or words in ("Any", Any):
        return ""
    return f"{sign}{words if isinstance(words, str) else getattr(words, '__name__', str(words))}"


def _first_paragraph(thing: Any) -> str:
    words = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return _folded(re.sub(r":\w+:`(\w+)`", r"``\1``", " ".join(words.split())))


def _folded(text: str) -> str:
    return fill(text, 120, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    PAGE.write_text(page())
