"""The calls in a module of TVM, one for each line of TVMScript (Relax) or of Relay's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..elements.types import ELEMENTS, Element
from .arguments import split_arguments, split_keywords
from .artefact import Artefact
from .permuting import Size

Shape = tuple[Size, ...]


class TvmTensor(NamedTuple):
    """The sizes and the elements of a tensor; None where the module does not tell them."""

    shape: Shape | None
    element: Element | None


UNKNOWN = TvmTensor(None, None)


class TvmCall(NamedTuple):
    """``result = op(arguments)``: names as the module writes them, and the type of the result."""

    line: int
    result: str
    op: str
    arguments: tuple[str, ...]
    keywords: dict[str, str]
    type: TvmTensor


class TvmFunction(NamedTuple):
    """The head of a function: its name and its parameters, in their order."""

    line: int
    name: str
    parameters: tuple[tuple[str, TvmTensor], ...]


class TvmAttributes(NamedTuple):
    """How many of the parameters change from run to run; those behind them are weights."""

    inputs: int


class TvmReturn(NamedTuple):
    """The values that leave a function."""

    line: int
    names: tuple[str, ...]


Statement = TvmCall | TvmFunction | TvmAttributes | TvmReturn

_TENSOR = r"(?:R\.Tensor\(|Tensor\[)(?P<inside>.*)"
_ASSIGNED = r"\s*(?:let )?(?P<result>%?[\w.]+)(?:\s*:\s*(?P<type>.*?))? = (?P<op>%?@?[\w.]+)\((?P<rest>.*)"
_LAST = r"\s*(?P<op>[a-z][\w.]*)\((?P<rest>%.*)"
_DEFINED = r"\s*(?:def|fn)\s+(?P<name>@?\w+)\s*\((?P<rest>.*)"
_INPUTS = r".*\"num_input\":\s*(?P<count>\d+)"
_GIVEN = r"\s*(?:return|R\.output)\b\s*\(?(?P<names>[\w%.,\s]*)\)?\s*"
_COMMENT = r"/\*\s*ty=(?P<type>.*?)\s*\*/"
_NAME = r"%?[A-Za-z_]\w*|%\d+"


def read_statements(artefact: Artefact) -> Iterator[Statement]:
    """The statements that say something of tensors, in the order of the file; everything else is stepped over."""
    for number, line in artefact.lines():
        text = line.split("#")[0] if "#" in line and '"' not in line else line
        if found := re.match(_DEFINED, text):
            yield TvmFunction(number, found["name"], _parameters(found["rest"]))
        elif "func_attr" in text and (found := re.match(_INPUTS, text)):
            yield TvmAttributes(int(found["count"]))
        elif found := re.fullmatch(_GIVEN, text):
            yield TvmReturn(number, tuple(re.findall(_NAME, found["names"])))
        elif found := re.match(_ASSIGNED, text):
            if found["op"].startswith("T."):  # a number that stands for a size
                continue
            yield _call(number, found["result"], found["op"], found["rest"], found["type"] or "")
        elif found := re.match(_LAST, text):
            yield _call(number, "", found["op"], found["rest"], "")


def _call(line: int, result: str, op: str, rest: str, annotation: str) -> TvmCall:
    told = re.search(_COMMENT, rest)
    inside = re.sub(_COMMENT, "", rest)
    positional, keywords = split_keywords(inside)
    kind = tensor_type(annotation or (told["type"] if told else ""))
    return TvmCall(line, result, op, positional, keywords, kind)


@lru_cache(maxsize=4096)
def tensor_type(text: str) -> TvmTensor:
    """``R.Tensor((1, 8), dtype="float32")`` or ``Tensor[(1, 8), float32]``."""
    found = re.search(_TENSOR, text)
    if found is None:
        return UNKNOWN
    shape: Shape | None = None
    element: Element | None = None
    for part in split_arguments(found["inside"]):
        if part.startswith("(") and shape is None:
            shape = tuple([_size(n) for n in split_arguments(part[1:])])
        else:
            name = part.split("=")[-1].strip().strip("\"'")
            element = element or ELEMENTS.get(name)
    return TvmTensor(shape, element)


def integers(text: str) -> tuple[int, ...] | None:
    """A list or tuple of numbers."""
    inner = re.sub(r"T\.int\d+\((-?\d+)\)", r"\1", text.strip())
    if not re.fullmatch(r"[\[(]?(?:R\.shape\()?[\[(]?[-\d,\s]*[\])]*", inner):
        return None
    return tuple([int(n) for n in re.findall(r"-?\d+", inner)])


def _size(text: str) -> Size:
    inner = re.sub(r"T\.int\d+\((\d+)\)", r"\1", text.strip().strip("\"'"))
    return int(inner) if inner.isdigit() else inner


def _parameters(text: str) -> tuple[tuple[str, TvmTensor], ...]:
    found = []
    for part in split_arguments(text):
        name, colon, kind = part.partition(":")
        if colon:
            found.append((name.strip(), tensor_type(kind)))
    return tuple(found)
