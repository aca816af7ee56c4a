"""Core ML's MIL: the text of a compiled model (``model.mil``), and what coremltools prints of a program.

Values are row-major in the order of their dimensions, as MIL defines its operations; how a compute unit stores them is
not told. Weights are constants, mostly in a file of blobs that is not needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from ..elements.types import ELEMENTS, Element
from ..layout.layout import Layout
from .arguments import split_arguments, split_keywords
from .artefact import Artefact
from .making import make_move
from .move import Buffer, Found, Move, Place, Side, Step
from .permuting import Size, known_sizes, make_transpose, make_view

_VIEWS = ("reshape", "squeeze", "expand_dims", "reshape_like", "flatten2d")
_ELEMENTWISE = """
abs acos add asin atan cast ceil clamped_relu clip cos cosh elu equal erf exp exp2 floor floor_div gelu greater
greater_equal identity inverse leaky_relu less less_equal linear_activation log logical_and logical_not logical_or
logical_xor maximum minimum mod mul not_equal pow real_div relu relu6 round rsqrt select sigmoid sigmoid_hard sign silu
sin sinh softplus softsign sqrt square sub tan tanh threshold thresholded_relu
"""
_TYPES = {"fp16": "float16", "fp32": "float32", "fp64": "float64", "bf16": "bfloat16"}
_FEW = 64
"""No order has more numbers; longer constants are weights."""

# tensor<fp16, [1, 8]> y = transpose(perm = p, x = x)[name = string("y")];
_COMPILED = (
    r"\s*(?P<type>(?:tensor<\s*\w+\s*,\s*\[[^\]]*\]\s*>|\w+))\s+(?P<name>\w+)\s*=\s*(?P<op>[\w.]+)\((?P<rest>.*)"
)
# %y: (1, 8, fp16)(Tensor) = transpose(x=%x, perm=[1, 0], name="y")
_PRINTED = r"\s*%(?P<name>\w+)\s*:\s*(?P<type>\([^)]*\)\*?(?:\(\w+\))?)\s*=\s*(?P<op>[\w.]+)\((?P<rest>.*)"
_TENSOR = r"tensor<\s*(?P<element>\w+)\s*,\s*\[(?P<sizes>[^\]]*)\]\s*>"
_FUNCTION = r"\s*(?:func\s+(?P<name>\w+)(?:<\w+>)?|(?P<printed>\w+)\[\w+\])\((?P<rest>.*)"
_GIVEN = r"\s*\}\s*->\s*\((?P<names>[^)]*)\)\s*;?\s*"


class MilType(NamedTuple):
    """The elements and the sizes of a value; None where the text does not tell them."""

    element: Element | None
    shape: tuple[Size, ...] | None


class MilReader:
    """Reads statement by statement; a name is that of one value of a function."""

    kind = "mil"
    BRACES = True
    title = "Core ML MIL program"
    EXAMPLES = (
        "program(1.0)\n{\n    func main<ios16>(tensor<fp32, [4, 6]> x) {\n"
        "            tensor<int32, [2]> p = const()[val = tensor<int32, [2]>([1, 0])];\n"
        "            tensor<fp32, [6, 4]> y = transpose(perm = p, x = x);\n        } -> (y);\n}",
        "main[CoreML6](%x: (4, 6, fp32)(Tensor)) {\n  block0() {\n"
        '    %y: (6, 4, fp32)(Tensor) = transpose(x=%x, perm=[1, 0], name="y")\n  } -> (%y)\n}',
    )

    def recognises(self, artefact: Artefact) -> bool:
        head = artefact.opening
        return bool(re.search(r"(?m)^\s*program\(1\.|^\s*\w+\[CoreML\d+\]\(%", head))

    def read(self, artefact: Artefact) -> Iterator[Found]:
        reading = _ProgramReading(artefact)
        for number, line in artefact.lines():
            yield from reading.line(number, line)


READER = MilReader()


class _ProgramReading:
    """The types of the values so far, and the integers of constants."""

    def __init__(self, artefact: Artefact) -> None:
        self.artefact = artefact
        self.function = ""
        self.types: dict[str, MilType] = {}
        self.numbers: dict[str, tuple[int, ...]] = {}
        self.elementwise = frozenset(_ELEMENTWISE.split())

    def line(self, number: int, line: str) -> Iterator[Found]:
        if found := re.match(_FUNCTION, line):
            self.function = found["name"] or found["printed"]
            self.types, self.numbers = {}, {}
            yield from self.parameters(number, found["rest"])
        elif found := re.fullmatch(_GIVEN, line):
            names = tuple([self.value(_name(part)) for part in found["names"].split(",")])
            yield Step(self.artefact.place(number, "outputs"), "outputs", names)
        elif found := re.match(_PRINTED, line) or re.match(_COMPILED, line):
            kind = _type(found["type"])
            self.types[found["name"]] = kind
            place = self.artefact.place(number, found["name"])
            yield from self.operation(place, found["name"], found["op"], found["rest"], kind)

    def value(self, name: str) -> str:
        return f"{self.function}.{name}"

    def parameters(self, number: int, text: str) -> Iterator[Buffer]:
        printed = [re.match(r"%(?P<name>\w+)\s*:\s*(?P<type>.*)", part) for part in split_arguments(text)]
        compiled = re.finditer(r"(?P<type>\b\w+<[^>]*>+)\s*(?P<name>\w+)", text)
        for found in (*printed, *compiled):
            if found is not None:
                kind = self.types[found["name"]] = _type(found["type"])
                yield self.buffer(self.artefact.place(number, found["name"]), kind, "input", found["name"])

    def buffer(self, place: Place, kind: MilType, role: str, name: str) -> Buffer:
        shape = known_sizes(kind.shape or ())
        layout = None if kind.shape is None or -1 in shape else Layout.row_major(shape)
        side = Side("row-major", layout, kind.element, why="" if layout is not None else "a size is not known")
        return Buffer(place, side, shape, role, self.value(name))

    def operation(self, place: Place, name: str, op: str, rest: str, kind: MilType) -> Iterator[Found]:
        arguments = split_keywords(rest)[1]
        if op == "const":
            yield from self.constant(place, name, rest, kind)
            return
        source = _name(arguments.get("x", ""))
        before = self.types.get(source, MilType(None, None))
        flow: dict[str, Any] = {"reads": self.value(source), "writes": self.value(name)}
        if op == "transpose" and source:
            yield self.transpose(place, arguments.get("perm", ""), before, kind, flow)
        elif op in _VIEWS and source:
            yield make_view(place, op, before.shape, kind.shape, kind.element or before.element, **flow)
        else:
            yield self.step(place, name, op, arguments, kind)

    def constant(self, place: Place, name: str, rest: str, kind: MilType) -> Iterator[Found]:
        """Numbers that other operations need, or weights."""
        count = prod(known_sizes(kind.shape or ()))
        if kind.element is not None and kind.element.integral and 0 <= count <= _FEW:
            found = re.search(r"val\s*=\s*(?:tensor<[^>]*>\s*)?[(\[]+(?P<numbers>[-\d,\s]*)[)\]]", rest)
            if found is not None:
                self.numbers[name] = tuple([int(n) for n in re.findall(r"-?\d+", found["numbers"])])
        if kind.element is not None and kind.shape:
            yield self.buffer(place, kind, "constant", name)

    def transpose(self, place: Place, perm: str, before: MilType, after: MilType, flow: dict[str, Any]) -> Move:
        listed = re.fullmatch(r"\[[-\d,\s]*\]", perm)
        order = tuple([int(n) for n in re.findall(r"-?\d+", perm)]) if listed else self.numbers.get(_name(perm))
        element = before.element or after.element
        rank = len(before.shape or after.shape or ())
        order = None if order is None else tuple([d + rank if d < 0 else d for d in order])
        if order is not None and sorted(order) == list(range(rank)) and (before.shape or after.shape) is not None:
            shape = before.shape or tuple([(after.shape or ())[order.index(d)] for d in range(rank)])
            return make_transpose(place, "transpose", shape, order, element, **flow)
        side = Side("?", None, element, why="its order or its shape is not known")
        return make_move(place, "transpose", side, side, shape=known_sizes(after.shape or ()), **flow)

    def step(self, place: Place, name: str, op: str, arguments: dict[str, str], kind: MilType) -> Step:
        values = [value for key, value in arguments.items() if key != "name" and '"' not in value]
        names = [_name(found) for value in values for found in re.findall(r"%?[A-Za-z_]\w*", value)]
        names = [found for found in dict.fromkeys(names) if found in self.types]
        alone = op in self.elementwise
        others = [found for found in names if alone and self.types[found].shape != kind.shape]
        sizes = [_bytes(self.types[found]) for found in names if self.types[found].shape != ()] + [_bytes(kind)]
        known = [n for n in sizes if n is not None]
        total = sum(known) if len(known) == len(sizes) else None
        inputs = tuple([self.value(found) for found in names if found not in others])
        broadcast = tuple([self.value(found) for found in others])
        return Step(place, op, inputs, (self.value(name),), alone, total, broadcast=broadcast)


def _name(text: str) -> str:
    return text.strip().lstrip("%")


@lru_cache(maxsize=4096)
def _type(text: str) -> MilType:
    """``tensor<fp16, [1, 8]>`` or ``(1, 8, fp16)``; a size that is a name is open."""
    if found := re.search(_TENSOR, text):
        sizes, element = found["sizes"], found["element"]
    elif text.lstrip().startswith("("):
        *parts, element = [part.strip() for part in text.lstrip()[1:].split(")")[0].split(",")]
        sizes = ",".join(parts)
    else:
        return MilType(ELEMENTS.get(_TYPES.get(text.strip(), text.strip())), ())
    shape: list[Size] = []
    for k, part in enumerate([part.strip() for part in sizes.split(",") if part.strip()]):
        shape.append(int(part) if part.isdigit() else f"?{k}" if part == "?" else part)
    return MilType(ELEMENTS.get(_TYPES.get(element, element)), tuple(shape))


def _bytes(kind: MilType) -> int | None:
    if kind.shape is None or kind.element is None or -1 in known_sizes(kind.shape):
        return None
    return -(-prod(known_sizes(kind.shape)) * kind.element.bits // 8)
