"""The API reference: a page for each group of ``relayout.__all__`` and each vocabulary, from the docstrings."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from make_api import anchor_of, groups, is_error, public_members, signature_text

import relayout

VOCABULARIES = ("htp", "mojo", "coreai", "candle", "catalog")
"""The modules whose names are public as well."""


_EXAMPLES = re.compile(r"(?:^>>>.*(?:\n.+)*(?:\n\n(?=>>>))?)+", re.M)
_SELF = re.compile(r"\(\s*self(?:,\s*|(?=\)))")


def reference_pages() -> dict[str, str]:
    """The pages by their paths under ``api/``."""
    found = {}
    for title, about, names in groups():
        entries = [entry for name in names for entry in _entry(name, getattr(relayout, name))]
        found[f"{_file(title)}.md"] = "\n".join([f"# {title}\n", f"{about[0].upper()}{about[1:]}\n", *entries])
    for name in VOCABULARIES:
        module = import_module(f"relayout.{name}")
        entries = [entry for member in module.__all__ for entry in _entry(member, getattr(module, member), f"{name}.")]
        found[f"{name}.md"] = "\n".join(
            [f"# relayout.{name}\n", f"{markdown(inspect.getdoc(module) or '')}\n", *entries]
        )
    return found


def links_to_reference(api: str) -> str:
    """The page of all names, each with the way to all that there is to tell of it."""
    where = {name: f"api/{_file(title)}.md#{name}" for title, _, names in groups() for name in names}
    where |= {name: f"api/{name}.md" for name in VOCABULARIES if name in where}

    taken: Counter[str] = Counter()

    def linked(found: re.Match[str]) -> str:
        return f"{found[0]} {{ #{anchor_of(found[1], taken)} }}\n\n[all of it]({where[found[1]]})"

    return re.sub(r"^### (\w+)$", linked, api, flags=re.M)


def _file(title: str) -> str:
    return title.lower().replace(" ", "-")


def _entry(name: str, thing: Any, before: str = "") -> Iterator[str]:
    """A name, how it is called, what it says of itself, and its members."""
    yield f"## {before}{name} {{ #{name} }}\n"
    if isinstance(thing, ModuleType):
        yield f"{markdown(inspect.getdoc(thing) or '')}\n"
        yield f"Its names are on [a page of their own]({name}.md).\n" if name in VOCABULARIES else ""
        return
    if callable(thing):
        yield f"```py\n{signature_text(before + name, thing)}\n```\n"
    yield f"{markdown(inspect.getdoc(thing) or '')}\n"
    if isinstance(thing, type) and not is_error(thing) and thing.__module__.startswith("relayout"):
        yield from _members(f"{before}{name}", thing)


def _members(owner: str, cls: type) -> Iterator[str]:
    """What a class has: fields in one line, and each method and property with what it says of itself."""
    told = {name: _words(cls, name) for name in public_members(cls)}
    fields = [f"`{name}`" for name, words in told.items() if not words]
    if fields:
        yield f"Fields: {', '.join(fields)}.\n"
    for name, words in told.items():
        if words:
            yield f"### {owner}.{name} {{ #{owner}.{name} }}\n"
            thing = getattr(cls, name)
            if callable(thing):
                yield f"```py\n{_SELF.sub('(', signature_text(f'{owner}.{name}', thing), count=1)}\n```\n"
            yield f"{markdown(words)}\n"


def _words(cls: type, name: str) -> str:
    """The docstring of a member; nothing for one that has only that of its type."""
    static, thing = inspect.getattr_static(cls, name), getattr(cls, name)
    words = inspect.getdoc(static if isinstance(static, property) else thing) or ""
    return "" if words == inspect.getdoc(type(thing)) or words.startswith("Alias for field number") else words


def markdown(words: str) -> str:
    """A docstring as Markdown: code in single ticks, examples in fences."""
    parts = []
    for part in words.split("\n\n"):
        if part.lstrip().startswith(">>>"):
            parts.append(inspect.cleandoc(part))
            continue
        parts.append(re.sub(r"(?::\w+:)?(`+)(.+?)\1", r"`\2`", part, flags=re.S))
    return _EXAMPLES.sub(lambda found: f"```python\n{found[0]}\n```", "\n\n".join(parts))
