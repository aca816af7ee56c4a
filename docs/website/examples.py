"""The layouts in the examples of a page, as states that the explorer opens.

An example is Python, a line for a terminal, a file of claims, or a text in some notation. Python is not run: layouts
that are made of literals by functions of ``relayout`` are worked out, and calls of its questions become the explorer's.
What the explorer does not answer is left out.
"""

from __future__ import annotations

import ast
import doctest
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise, takewhile
from typing import Any
from urllib.parse import urlencode

import relayout as rl
from relayout.codegen.targets import target_names
from relayout.dialects.read import dialects_reading
from relayout.elements.types import ELEMENTS
from relayout.hardware.registry import architecture_names
from relayout.web.handle import handle
from relayout.web.view import BINARY, UNARY

from .values import Array, Known, learn, sizes_text, text_of, value_of

Fields = dict[str, str]
"""A state of the explorer."""

Opened = dict[tuple[tuple[str, str], ...], Any]
"""States, by their entries, with what the explorer shows."""

PYTHON = ("python", "py")
SHELL = ("console", "sh", "bash", "text")
DRAWN = ("draw", "render", "explain", "rosetta", "parse", "resolve", "print_layout", "format_layout", "infer", "empty")
"""What is asked about its first argument."""

MOST_TURNS = 8
"""So many turns of a loop are looked at."""

_FENCE = re.compile(r"^(?P<mark>```+)(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=mark)[ \t]*$\n?", re.M | re.S)
_HEADING = re.compile(r"^#+ (.*)$", re.M)
_GENERATED = re.compile(r"\bMoves (?P<dtype>\w+) from (?P<a>\S+) to (?P<b>\S+)\.$", re.M)
"""What the code of ``rl.code`` says of itself."""

_NOTATED = re.compile(r"[:<>(){}\[\]]|^[A-Za-z]*\d+[a-z]|^\d[ \d]* / \d")
"""A text that nobody writes for anything but a layout."""


def with_buttons(page: str, explorer: str, opened: Opened) -> str:
    """The page with a line of buttons under each example that has layouts; what they open is put into ``opened``.

    ``explorer`` is the way from the page to the explorer's folder.
    """
    known: Known = {}

    def extended(found: re.Match[str]) -> str:
        heading = _HEADING.findall(page, 0, found.start())[-1:]
        asked = block_states(found["language"], found["body"], known, "".join(heading))
        states = list(dict.fromkeys(tuple(x.items()) for x in asked))
        if not states:
            return found[0]
        opened.update({state: answer_to(state) for state in states})
        links = [_link(dict(state), explorer, alone=len(states) == 1) for state in states]
        before = "" if len(links) == 1 else "try it: "
        return f'{found[0].rstrip()}\n\n<p class="try">{before}{" ".join(links)}</p>\n'

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


def block_states(language: str, body: str, known: Known, heading: str = "") -> Iterator[Fields]:
    """The states of one example that the explorer answers; ``known`` are the values of the page's names so far.

    The heading above it names the language of code that was generated.
    """
    found: Iterable[Fields]
    if _GENERATED.search(body):
        found = generated_states(body, heading)
    elif language in PYTHON:
        found = python_states(body, known)
    elif language in ("", *SHELL) and re.search(r"^(\$ )?relayout ", body, re.M):
        found = list(shell_states(body)) or printed_states(body)
    elif language in ("", "text"):
        found = text_states(body)
    elif language == "toml":
        found = claim_states(body)
    else:
        return
    for state in found:
        filled = {name: value for name, value in state.items() if value}
        # A question that only an installed relayout answers: the layouts that it is about.
        alone = [{"a": filled[name], **_beside(filled)} for name in ("a", "b") if filled.get("do") and name in filled]
        shapeless = [{name: value for name, value in filled.items() if name != "shape"}] if "shape" in filled else []
        for tried in ([filled], alone, shapeless):
            answered = [x for x in tried if answer_to(tuple(x.items())) is not None]
            yield from answered
            if answered:
                break


def _beside(state: Fields) -> Fields:
    return {name: state[name] for name in ("shape", "axes", "dtype") if name in state}


@cache
def answer_to(state: tuple[tuple[str, str], ...]) -> Any:
    """What the explorer shows of a state, in a page that has no numpy; None where it refuses."""
    before = sys.modules.get("numpy")
    sys.modules["numpy"] = None  # type: ignore[assignment]
    try:
        answer = handle({"ask": "view", "state": dict(state)})
        return None if "error" in answer else answer
    except ModuleNotFoundError:
        return None
    finally:
        if before is None:
            del sys.modules["numpy"]
        else:
            sys.modules["numpy"] = before


# ---- Python --------------------------------------------------------------------------------------------------


def python_states(body: str, known: Known) -> Iterator[Fields]:
    """What the statements of an example ask about."""
    examples = doctest.DocTestParser().get_examples(body)
    for source, printed in [(example.source, example.want) for example in examples] or [(body, "")]:
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        found = []
        for statement in tree.body:
            found += list(_statement_states(statement, known))
            learn(statement, known)
        yield from found or printed_states(printed)


def printed_states(printed: str) -> Iterator[Fields]:
    """The layouts that an example prints, where it asks about none."""
    for line in printed.splitlines():
        try:
            made = value_of(ast.parse(line.strip(), mode="eval").body, {"Layout": rl.Layout, "Format": rl.Format})
        except SyntaxError:
            made = None
        # A table has a name before it.
        told = re.sub(r"^\w+ {2,}", "", line.strip())
        for entry in made if type(made) is tuple else [made]:
            text = _layout_text(entry) or (told if made is None else entry)
            if isinstance(text, str) and is_layout_text(text):
                yield {"a": text}


def _statement_states(statement: ast.stmt, known: Known) -> Iterator[Fields]:
    """The questions of a statement; without one what it makes, and without that the texts in it."""
    if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
        turns = value_of(statement.iter, known)
        for turn in turns[:MOST_TURNS] if isinstance(turns, tuple) else [None]:
            for inner in statement.body:
                yield from _statement_states(inner, {**known, statement.target.id: turn})
        return
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    asked = [found for call in calls if (found := _question(call, known))]
    if asked:
        yield from asked
        return
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Call | ast.Subscript)]
    made = [text for node in nodes if (text := _layout_text(value_of(node, known)))]
    yield from [{"a": text} for text in made[:1]]
    if not made:
        yield from [{"a": text, **around} for call in calls for text, around in _texts(call, known)]


def _layout_text(value: Any) -> str:
    """The text of a value that is a layout, or has one."""
    return "" if type(value) in (tuple, str) else text_of(value)


def _question(call: ast.Call, known: Known) -> Fields | None:
    """The state of a call that asks something of layouts that are known."""
    name = _name_of(call.func)
    values = [value_of(node, known) for node in call.args]
    words = {word.arg: value_of(word.value, known) for word in call.keywords if word.arg}
    if name == "draw" and call.args and _name_of(call.args[0]) in {*BINARY, *UNARY}:
        name, values = _name_of(call.args[0]), values[1:]
    texts = [text_of(value) for value in values]
    if name in BINARY and len(texts) == 2 and all(texts):
        return {"a": texts[0], "b": texts[1], "do": name}
    if name in UNARY and len(texts) == 1 and texts[0]:
        return {"a": texts[0], "do": name}
    around = _around(words)
    if name == "handle" and values and isinstance(values[0], dict):
        return dict(values[0].get("state", {}))
    if name == "compare" and len(texts) > 1 and texts[0] and texts[1]:
        return {"a": texts[0], "b": texts[1], "do": "compare", **around}
    if name == "code" and texts and texts[0]:
        dtype = {"dtype": texts[2]} if len(texts) > 2 else {}
        return {
            "a": texts[0],
            "b": "".join(texts[1:2]),
            "do": "code",
            "target": words.get("target") or "",
            **around,
            **dtype,
        }
    if name in DRAWN and texts and texts[0]:
        second = texts[1] if name == "draw" and len(texts) > 1 else ""
        if name != "draw" and len(values) > 1 and isinstance(values[1], tuple):
            around["shape"] = sizes_text(values[1])
        if name == "draw" and isinstance(words.get("tile"), tuple):
            around |= {"do": "threads", "tile": sizes_text(words["tile"])}
        return {"a": texts[0], "b": second, "do": "beside" if second else around.pop("do", ""), **around}
    return None


def _around(words: dict[str, Any]) -> Fields:
    """What the explorer has a field for."""
    found = {name: words[name] for name in ("axes", "dtype", "color", "view") if isinstance(words.get(name), str)}
    if isinstance(words.get("shape"), tuple):
        found["shape"] = sizes_text(words["shape"])
    return found


def _texts(call: ast.Call, known: Known) -> Iterator[tuple[str, Fields]]:
    """Texts that can be nothing but layouts, in whatever is called with them."""
    shape = next((value_of(word.value, known) for word in call.keywords if word.arg == "shape"), None)
    around = {"shape": sizes_text(shape)} if isinstance(shape, tuple) else {}
    array = value_of(call.args[0], known) if call.args else None
    if isinstance(array, Array) and not {"src", "shape"} & {word.arg for word in call.keywords}:
        around["shape"] = sizes_text(array.shape)
    kinds = [kind for node in call.args if isinstance(kind := value_of(node, known), str) and kind in ELEMENTS]
    if kinds:
        around["dtype"] = kinds[0]
    for node in [*call.args, *[word.value for word in call.keywords if word.arg in ("src", "dst", "to")]]:
        value = value_of(node, known)
        if isinstance(value, str) and is_layout_text(value):
            yield value, around
        elif isinstance(value, rl.Format | rl.coreai.InterleaveLayout):
            yield str(value), around


def is_layout_text(text: str) -> bool:
    """Whether a text is in a notation, or a name, and is the word for nothing else."""
    if text in ELEMENTS or text in target_names() or text in architecture_names() or "\n" in text.strip():
        return False
    return bool(_NOTATED.search(text)) and bool(dialects_reading(text))


def _name_of(node: ast.expr) -> str:
    """What a function is called, wherever it is from."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# ---- other examples ------------------------------------------------------------------------------------------

_SHELL_LOOKS = ("show", "draw", "explain", "translate", "explore", "at", "banks", "sectors", "catalog", "atoms")
_SHELL_TARGETS = ("repack", "inspect", "infer")
_SHELL_OPERATIONS = {
    "compose": "composition",
    "divide": "*_divide",
    "product": "*_product",
    "invert": "*_inverse",
    "complement": "complement",
    "coalesce": "coalesce",
}
_USUAL_FORM = {"divide": "logical", "product": "logical", "invert": "right"}
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
        texts = [word for before, word in zip(["", *words], words) if word[:1] != "-" and not _takes_a_word(before)]
        if command == "compare" and len(texts) > 1:
            yield {"a": texts[0], "b": texts[1], "do": "compare", **fields}
        elif command == "code" and texts:
            dtype = {"dtype": texts[2]} if len(texts) > 2 else {}
            yield {"a": texts[0], "b": "".join(texts[1:2]), "do": "code", **fields, **dtype}
        elif command in _SHELL_TARGETS:
            named = [after for word, after in pairwise(words) if word in ("--to", "--from", "--try")]
            yield from [{"a": text, **fields} for text in named if is_layout_text(text)]
        elif command in _SHELL_LOOKS and texts:
            second = texts[1] if command == "draw" and len(texts) > 1 else ""
            yield {"a": texts[0], "b": second, "do": "beside" if second else "", **fields}
        elif command in _SHELL_OPERATIONS and texts:
            form = next((after for word, after in pairwise(words) if word in ("--form", "--side")), "")
            operation = _SHELL_OPERATIONS[command].replace("*", form or _USUAL_FORM.get(command, ""))
            yield {"a": texts[0], "b": "".join(texts[1:2]), "do": operation}


def _takes_a_word(option: str) -> bool:
    return option.startswith("--") or option == "-o"


def _first_command(line: str) -> str:
    """What stands before a bar or a semicolon outside of quotes."""
    return "".join(takewhile(lambda part: part not in ("|", ";"), re.findall(r"'[^']*'|\"[^\"]*\"|.", line)))


def claim_states(body: str) -> Iterator[Fields]:
    """The layouts that a file of claims names."""
    for x in tomllib.loads(body).get("layouts", {}).values():
        words = x if isinstance(x, dict) else {"layout": x}
        shape = sizes_text(tuple(words.get("shape", ())))
        yield {"a": words["layout"], "shape": shape, "axes": words.get("axes", ""), "dtype": words.get("element", "")}


def generated_states(body: str, heading: str) -> Iterator[Fields]:
    """The two layouts that generated code moves data between, with the code."""
    target = heading if heading in target_names() else ""
    yield from [{**found.groupdict(), "do": "code", "target": target} for found in _GENERATED.finditer(body)]


def text_states(body: str) -> Iterator[Fields]:
    """Lines that are layouts."""
    for line in body.splitlines():
        if is_layout_text(line.strip()):
            yield {"a": line.strip()}
