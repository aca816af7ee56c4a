"""The layouts in the examples of a page, as states that the explorer opens.

An example is Python, a line for a terminal, or a text in some notation. Python is not run: layouts that are made of
literals by functions of ``relayout`` are worked out, and calls of its questions become the explorer's. What the
explorer does not answer is left out.
"""

from __future__ import annotations

import ast
import doctest
import operator
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise, takewhile
from typing import Any
from urllib.parse import urlencode

from make_api import groups

import relayout as rl
from relayout.codegen.targets import target_names
from relayout.dialects.read import dialects_reading
from relayout.elements.types import ELEMENTS
from relayout.errors import LayoutError
from relayout.hardware.registry import architecture_names
from relayout.web.handle import handle
from relayout.web.view import BINARY, UNARY

Fields = dict[str, str]
"""A state of the explorer."""

PYTHON = ("python", "py")
SHELL = ("console", "sh", "bash", "text")
DRAWN = ("draw", "render", "explain", "rosetta", "parse", "resolve", "print_layout", "format_layout", "infer", "empty")
"""What is asked about its first argument."""

_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_LARGEST_POWER = 100
_FENCE = re.compile(r"^(?P<mark>```+)(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=mark)[ \t]*$\n?", re.M | re.S)
_ALGEBRA = {name for group in groups() if group.title == "Algebra" for name in group.names}
_MAKERS = {*_ALGEBRA, "Layout", "Format", "parse", "E", "Swizzle"}
_NOTATED = re.compile(r"[:<>(){}\[\]]|^[A-Za-z]*\d+[a-z]")
"""A text that nobody writes for anything but a layout."""


def with_buttons(page: str, explorer: str, opened: list[Fields]) -> str:
    """The page with a line of buttons under each example that has layouts; what they open is put into ``opened``.

    ``explorer`` is the way from the page to the explorer's folder.
    """
    known: dict[str, Any] = {}

    def extended(found: re.Match[str]) -> str:
        states = list(dict.fromkeys(tuple(x.items()) for x in block_states(found["language"], found["body"], known)))
        if not states:
            return found[0]
        opened.extend(dict(state) for state in states if dict(state) not in opened)
        links = [_link(dict(state), explorer, alone=len(states) == 1) for state in states]
        return f'{found[0].rstrip()}\n\n<p class="try">{" ".join(links)}</p>\n'

    return _FENCE.sub(extended, page)


def _link(state: Fields, explorer: str, alone: bool) -> str:
    words = _label(state)
    shown = "try it" if alone else words if len(words) <= 36 else words[:35] + "\u2026"
    return f'<a href="{explorer}/index.html#{_html(urlencode(state))}" title="{_html(words)}">{_html(shown)}</a>'


def _label(state: Fields) -> str:
    if "b" not in state:
        return state["a"]
    sign = {"compare": "?=", "beside": "|", "code": "\u2192", "banks": "@"}.get(state["do"], state["do"])
    return f"{state['a']} {sign} {state['b']}"


def _html(text: str) -> str:
    """Text that neither HTML nor Markdown reads anything into."""
    return re.sub(r"[^\w .,;/%-]|_", lambda found: f"&#{ord(found[0])};", text)


def block_states(language: str, body: str, known: dict[str, Any]) -> Iterator[Fields]:
    """The states of one example that the explorer answers; ``known`` are the values of the page's names so far."""
    if language in PYTHON:
        found = python_states(body, known)
    elif language in SHELL and re.search(r"^(\$ )?relayout ", body, re.M):
        found = shell_states(body)
    elif language in ("", "text"):
        found = text_states(body)
    else:
        return
    for state in found:
        filled = {name: value for name, value in state.items() if value}
        if answered(tuple(filled.items())):
            yield filled


@cache
def answered(state: tuple[tuple[str, str], ...]) -> bool:
    """Whether the explorer draws a state, in a page that has no numpy."""
    before = sys.modules.get("numpy")
    sys.modules["numpy"] = None  # type: ignore[assignment]
    try:
        return "error" not in handle({"ask": "view", "state": dict(state)})
    except ModuleNotFoundError:
        return False
    finally:
        if before is None:
            del sys.modules["numpy"]
        else:
            sys.modules["numpy"] = before


# ---- Python --------------------------------------------------------------------------------------------------


def python_states(body: str, known: dict[str, Any]) -> Iterator[Fields]:
    """What the statements of an example ask about."""
    sources = [example.source for example in doctest.DocTestParser().get_examples(body)] or [body]
    for source in sources:
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        for statement in tree.body:
            yield from _statement_states(statement, known)


def _statement_states(statement: ast.stmt, known: dict[str, Any]) -> Iterator[Fields]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        known[statement.targets[0].id] = value_of(statement.value, known)
    asked = [found for node in ast.walk(statement) if isinstance(node, ast.Call) and (found := _question(node, known))]
    yield from asked
    if not asked and isinstance(statement, ast.Assign | ast.Expr):
        made = [value_of(node, known) for node in ast.walk(statement) if isinstance(node, ast.Call | ast.Subscript)]
        layouts = [x for x in made if isinstance(x, rl.Layout | rl.Format)]
        yield from [{"a": str(x)} for x in layouts[:1]]
    if not asked:
        yield from [{"a": text, **shape} for text, shape in _texts(statement)]


def _question(call: ast.Call, known: dict[str, Any]) -> Fields | None:
    """The state of a call that asks something of layouts that are known."""
    name = _function(call)
    values = [value_of(node, known) for node in call.args]
    words = {word.arg: value_of(word.value, known) for word in call.keywords if word.arg}
    if name == "draw" and call.args and _name_of(call.args[0]) in {*BINARY, *UNARY}:
        name, values = str(_name_of(call.args[0])), values[1:]
    texts = [_text(value) for value in values]
    if name in BINARY and len(texts) == 2 and all(texts):
        return {"a": texts[0], "b": texts[1], "do": name}
    if name in UNARY and len(texts) == 1 and texts[0]:
        return {"a": texts[0], "do": name}
    around = _around(words)
    if name == "compare" and len(texts) > 1 and texts[0] and texts[1]:
        return {"a": texts[0], "b": texts[1], "do": "compare", **around}
    if name == "code" and texts and texts[0]:
        target = words.get("target")
        second = texts[1] if len(texts) > 1 else ""
        dtype = {"dtype": values[2]} if len(values) > 2 and isinstance(values[2], str) else {}
        return {"a": texts[0], "b": second, "do": "code", "target": target or "", **around, **dtype}
    if name in DRAWN and texts and texts[0]:
        second = texts[1] if name == "draw" and len(texts) > 1 else ""
        if name != "draw" and len(values) > 1 and isinstance(values[1], tuple):
            around["shape"] = _sizes(values[1])
        if name == "draw" and isinstance(words.get("tile"), tuple):
            around |= {"do": "threads", "tile": _sizes(words["tile"])}
        return {"a": texts[0], "b": second, "do": "beside" if second else around.pop("do", ""), **around}
    return None


def _around(words: dict[str, Any]) -> Fields:
    """What the explorer has a field for."""
    found = {name: words[name] for name in ("axes", "dtype", "color", "view") if isinstance(words.get(name), str)}
    if isinstance(words.get("shape"), tuple):
        found["shape"] = _sizes(words["shape"])
    return found


def _sizes(shape: tuple[Any, ...]) -> str:
    return ",".join(map(str, shape))


def _text(value: Any) -> str:
    """A value as a field of the explorer takes it."""
    if isinstance(value, rl.Layout | rl.Format):
        return str(value)
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and value and all(isinstance(n, int) for n in value):
        return _sizes(value)
    return ""


def _texts(statement: ast.stmt) -> Iterator[tuple[str, Fields]]:
    """Texts that can be nothing but layouts, in whatever is called with them."""
    for call in ast.walk(statement):
        if isinstance(call, ast.Call):
            shape = next((value_of(word.value, {}) for word in call.keywords if word.arg == "shape"), None)
            around = {"shape": _sizes(shape)} if isinstance(shape, tuple) else {}
            for node in [*call.args, *[word.value for word in call.keywords if word.arg in ("src", "dst", "to")]]:
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_layout_text(node.value):
                    yield node.value, around


def is_layout_text(text: str) -> bool:
    """Whether a text is in a notation, or a name, and is the word for nothing else."""
    if text in ELEMENTS or text in target_names() or text in architecture_names() or "\n" in text.strip():
        return False
    return bool(_NOTATED.search(text)) and bool(dialects_reading(text))


def value_of(node: ast.expr, known: dict[str, Any]) -> Any:
    """The value of an expression of literals and of what ``relayout`` makes of them; None for any other."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Call):
        return _made(node, known)
    if isinstance(node, ast.Tuple | ast.List):
        entries = tuple([value_of(entry, known) for entry in node.elts])
        return None if any(entry is None for entry in entries) else entries
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = value_of(node.left, known), value_of(node.right, known)
        small = isinstance(left, int) and isinstance(right, int) and abs(right) < _LARGEST_POWER
        return _ARITHMETIC[type(node.op)](left, right) if small else None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _made(call: ast.Call, known: dict[str, Any]) -> Any:
    """What a function that makes layouts makes of known arguments."""
    make = _maker(call, known)
    arguments = [value_of(node, known) for node in call.args]
    words = {word.arg: value_of(word.value, known) for word in call.keywords if word.arg}
    if make is None or None in [*map(_known, arguments), *map(_known, words.values())]:
        return None
    try:
        return make(*arguments, **words)
    except (LayoutError, TypeError, ValueError):
        return None


def _known(value: Any) -> Any:
    return None if value is None else True


def _maker(call: ast.Call, known: dict[str, Any]) -> Callable[..., Any] | None:
    """The function: one of ``relayout`` that makes layouts, a way to make one, or a method of one that is known."""
    name, node = _function(call), call.func
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id in ("rl", "relayout"):
            return getattr(rl, name) if name in _MAKERS else None
        if _name_of(node.value) in ("Layout", "Format"):
            return getattr(getattr(rl, str(_name_of(node.value))), name, None)
        receiver = value_of(node.value, known)
        return getattr(receiver, name, None) if isinstance(receiver, rl.Layout) else None
    return getattr(rl, name) if name in _MAKERS else None


def _function(call: ast.Call) -> str:
    return _name_of(call.func) or ""


def _name_of(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


# ---- other examples ------------------------------------------------------------------------------------------

_SHELL_LOOKS = ("show", "draw", "explain", "rosetta", "translate", "explore", "at", "parse")
_OPTIONS = {"--shape": "shape", "--axes": "axes", "--dtype": "dtype", "--tile": "tile", "--target": "target"}


def shell_states(body: str) -> Iterator[Fields]:
    """The layouts that lines for a terminal are about."""
    for line in body.splitlines():
        found = re.match(r"(?:\$ )?relayout (.*)", line)
        if found is None:
            continue
        try:
            command, *words = shlex.split(_first_command(found[1]), comments=True)
        except ValueError:
            continue
        fields = {_OPTIONS[word]: after for word, after in pairwise(words) if word in _OPTIONS}
        texts = [word for before, word in zip(["", *words], words) if word[:1] != "-" and before[:2] != "--"]
        if command == "compare" and len(texts) > 1:
            yield {"a": texts[0], "b": texts[1], "do": "compare", **fields}
        elif command == "code" and texts:
            dtype = {"dtype": texts[2]} if len(texts) > 2 else {}
            yield {"a": texts[0], "b": "".join(texts[1:2]), "do": "code", **fields, **dtype}
        elif command in _SHELL_LOOKS and texts:
            second = texts[1] if command == "draw" and len(texts) > 1 else ""
            yield {"a": texts[0], "b": second, "do": "beside" if second else "", **fields}
        elif command in BINARY and len(texts) == 2:
            yield {"a": texts[0], "b": texts[1], "do": command}


def _first_command(line: str) -> str:
    """What stands before a bar or a semicolon outside of quotes."""
    return "".join(takewhile(lambda part: part not in ("|", ";"), re.findall(r"'[^']*'|\"[^\"]*\"|.", line)))


def text_states(body: str) -> Iterator[Fields]:
    """Lines that are layouts."""
    for line in body.splitlines():
        if is_layout_text(line.strip()):
            yield {"a": line.strip()}
