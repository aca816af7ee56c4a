"""StableHLO and Shardy texts: transposes and reshapes as they are written, layouts that attributes tell, shardings.

No layout is chosen yet in such a program: values are taken as row-major, which a compiler may change, but for the
parameters and results whose layout an attribute gives, and for what a custom call asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

from ..elements.types import ELEMENTS
from ..errors import LayoutError
from ..layout.layout import Layout
from .artefact import Artefact
from .hlo_shapes import Shaped, in_smaller_elements, read_shape
from .hlo_sharding import per_device, resharding
from .hlo_text import closing, parts
from .kinds import SAME_BYTES
from .making import make_move
from .move import Buffer, Found, Move, Side, Step

MOVES = frozenset(["transpose", "reshape", "bitcast_convert", "bitcast", "copy"])
"""The operations whose result is the operand at other places, or at the same."""

ELEMENTWISE = frozenset(
    re.findall(
        r"\S+",
        "abs add and atan2 cbrt ceil clamp compare complex convert cosine count_leading_zeros divide erf exponential "
        "exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply negate not or "
        "popcnt power real reduce_precision remainder round_nearest_afz round_nearest_even rsqrt select shift_left "
        "shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh xor",
    )
)
"""The operations that treat every element alone."""

RESHARDS = frozenset(["sharding_constraint", "reshard", "all_gather", "all_slice", "all_to_all", "collective_permute"])
"""Shardy's operations whose result is the operand, dealt in another way."""

_OPERATION = r'\s*(%[\w$.\-]+)(?::\d+)?\s*=\s*"?(?:(stablehlo|mhlo|chlo|sdy|func)\.)?(\w+)"?'
_TENSOR = r"tensor<((?:[\d?]+x)*)([^<>,]+(?:<[^<>]*>)?)(?:,[^<>]*(?:<[^<>]*>)?)?>"
_HEAD = 1 << 12
"""How much of a line is looked at for the operation and its operands; constants may go on for megabytes."""


class StablehloReader:
    """Reads StableHLO, MHLO and Shardy as MLIR prints them."""

    kind = "stablehlo"
    BRACES = True
    title = "StableHLO"
    EXAMPLES = (
        "module {\n  func.func @main(%arg0: tensor<4x8xf32>) -> tensor<8x4xf32> {\n"
        "    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>\n"
        "    return %0 : tensor<8x4xf32>\n  }\n}\n",
    )

    def recognises(self, artefact: Artefact) -> bool:
        text = artefact.opening
        operation = re.search(r'(?:^|[\s"=])(?:stablehlo|mhlo|sdy)\.\w+', text)
        return operation is not None and re.search(r"(?:^|\s)(?:func\.func|module)\b", text) is not None

    def read(self, artefact: Artefact) -> Iterator[Found]:
        return _StablehloReading(artefact).items()


class _StablehloReading:
    """One pass over a text; values are known by the function that they are in."""

    def __init__(self, artefact: Artefact) -> None:
        self.artefact = artefact
        self.meshes: dict[str, str] = {}
        self.given: dict[str, list[str]] = {}
        self.begin("")
        self.functions = 0

    def begin(self, function: str) -> None:
        self.function = function
        self.sides: dict[str, Side] = {}
        self.shardings: dict[str, str] = {}
        self.uniform: set[str] = set()

    def value(self, name: str) -> str:
        return f"{self.functions}/{name}"

    def items(self) -> Iterator[Found]:
        operations = 0
        for number, line in self.artefact.lines():
            if " = " in line[:_HEAD] and (found := re.match(_OPERATION, line)):
                operations += 1
                yield from self.operation(number, line, found[1], found[2] or "", found[3])
            elif "func.func" in line:
                yield from self.begin_function(number, line)
            elif "sdy.mesh" in line and (
                mesh := re.search(r"sdy\.mesh (@[\w$.\-\"]+) = (<\[.*?\](?:, [^>]*)?>)", line)
            ):
                self.meshes[mesh[1]] = f"sdy.mesh {mesh[1]} = {mesh[2]}"
            elif "entry_computation_" in line:
                self.given = _given_layouts(line)
            elif re.match(r"\s*(?:func\.|stablehlo\.|sdy\.|mhlo\.)?return\b", line):
                names = re.findall(r"%[\w$.\-]+", line[:_HEAD])
                yield Step(self.artefact.place(number, "return"), "return", tuple(map(self.value, names)), count=0)
        if not operations:
            yield self.artefact.trouble("there is no operation in it")

    # ---- functions ---------------------------------------------------------------------------------------

    def begin_function(self, number: int, line: str) -> Iterator[Buffer]:
        """The parameters and results of a function; those of the first are the program's."""
        name = re.search(r"@([\w$.\-]+|\"[^\"]*\")", line)
        self.begin("" if name is None else name[1])
        self.functions += 1
        start = line.find("(")
        if start < 0:
            return
        end = closing(line, start)
        entry = self.functions == 1 or self.function == "main"
        for k, text in enumerate(parts(line[start + 1 : end])):
            own, _, kind = text.strip().partition(": ")
            yield from self.whole(number, own, kind, "parameter", k, entry)
        results = line[end + 1 :].partition("->")[2].strip()
        inside = results[1 : closing(results, 0)] if results.startswith("(") else results.removesuffix("{")
        for k, kind in enumerate(parts(inside)):
            if "layout_mode" in kind or (entry and self.given.get("result")):
                yield from self.whole(number, f"result {k}", kind.strip(), "result", k, entry)

    def whole(self, number: int, name: str, text: str, role: str, k: int, entry: bool) -> Iterator[Buffer]:
        """A parameter or a result, with its layout and its sharding."""
        order = re.search(r'layout_mode = "(\{[^"]*\})"', text)
        told = self.given.get(role, []) if entry else []
        braces = order[1] if order else told[k] if k < len(told) else ""
        found = _tensor(text, braces)
        if role == "parameter":
            self.sides[name] = found.side
        sharding = self.sharding_in(text) if "sharding" in text else ""
        if sharding and role == "parameter":
            self.shardings[name] = sharding
        if entry:
            remarks, details = per_device(sharding, found, False)
            remarks = (*remarks, found.side.why) if found.side.why else remarks
            value = self.value(name) if role == "parameter" else ""
            yield Buffer(self.artefact.place(number, name), found.side, found.shape, role, value, remarks, details)

    def sharding_in(self, text: str) -> str:
        """The sharding that an attribute tells, after its mesh; empty where there is none."""
        if found := re.search(r'mhlo\.sharding = "((?:[^"\\]|\\.)*)"', text):
            return found[1]
        found = re.search(r"(?:#sdy\.sharding<|<(?=@|mesh<)|out_sharding=<)", text)
        if found is None:
            return ""
        start = text.index("<", found.start())
        own = text[start : _angle(text, start) + 1]
        mesh = re.match(r"<(@[\w$.\-\"]+)", own)
        return f"{self.meshes.get(mesh[1], '') if mesh else ''} #sdy.sharding{own}".strip()

    # ---- operations --------------------------------------------------------------------------------------

    def operation(self, number: int, line: str, name: str, dialect: str, op: str) -> Iterator[Found]:
        head, tail = line[:_HEAD], line[-_HEAD:]
        equals = head.index("=") + 1
        operands = re.findall(r"%[\w$.\-]+", head[equals:])
        kinds = _signature(tail)
        result = _tensor(kinds[-1] if kinds else "", "")
        told = dialect == "sdy" or "sharding" in head or "sharding" in tail
        dealt = self.sharding_in(line) if told else ""
        place = self.artefact.place(number, name)
        if (dialect == "sdy" and op in RESHARDS and operands) or (op == "custom_call" and "@Sharding(" in head):
            yield from self.reshard(place, op, dealt, operands, name, result)
        elif op in MOVES and operands and dialect in ("stablehlo", "mhlo"):
            source = self.side_of(operands[0], kinds[0] if kinds else "")
            yield self.move(place, op, source, result, head, (self.value(operands[0]), self.value(name)))
        else:
            if op == "custom_call":
                yield from self.layouts_asked_for(number, line, operands, kinds, name)
            if op in ("constant", "broadcast_in_dim", "iota", "broadcast"):
                self.uniform.add(name)
            alike = dialect != "sdy" and op in ELEMENTWISE
            inputs = [x for x in operands if not alike or x not in self.uniform]
            read = len(operands) * result.bytes if len(kinds) == 1 else sum([_tensor(x, "").bytes for x in kinds[:-1]])
            values = tuple([self.value(x) for x in inputs])
            yield Step(place, op, values, (self.value(name),), alike, read + result.bytes)
            if op == "constant" and prod(result.shape) > 1:
                yield Buffer(place, result.side, result.shape, "constant", self.value(name))
        if dealt:
            self.shardings[name] = dealt

    def side_of(self, name: str, kind: str) -> Side:
        return self.sides.get(name) or _tensor(kind, "").side

    def move(self, place: Any, op: str, source: Side, result: Shaped, text: str, flow: tuple[str, str]) -> Move:
        target = result.side
        try:
            if op == "transpose" and isinstance(source.layout, Layout):
                order = re.search(r"(?:dims = \[|permutation = (?:dense<\[|dense<|array<i64: ?))([\d, ]*)", text)
                numbers = [int(n) for n in re.findall(r"\d+", order[1] if order else "")]
                source = source._replace(layout=source.layout.permute(*numbers))
            elif op in ("bitcast_convert", "bitcast") and source.element is not None and target.element is not None:
                wide, narrow = source.element.bits, target.element.bits
                if wide > narrow:
                    source = in_smaller_elements(source, wide // narrow)
                elif narrow > wide:
                    target = in_smaller_elements(target, narrow // wide)
                source = source._replace(element=target.element)
        except LayoutError as error:
            source = source._replace(layout=None, why=error.message)
        made = make_move(
            place, op, source, target, shape=result.shape, copies=op == "copy", reads=flow[0], writes=flow[1]
        )
        words = () if made.kind == SAME_BYTES else ("row-major as long as no layout is chosen",)
        return replace(made, remarks=(*made.remarks, *words))

    def reshard(
        self, place: Any, op: str, after: str, operands: list[str], name: str, value: Shaped
    ) -> Iterator[Found]:
        before = self.shardings.get(operands[0], "") if operands else ""
        flow = self.value(operands[0]) if operands else "", self.value(name)
        if before and after and value.shape:
            yield resharding(place, op, (before, after), value, flow)
        else:
            yield Step(place, op, flow[:1], flow[1:], True)

    def layouts_asked_for(
        self, number: int, line: str, operands: list[str], kinds: list[str], name: str
    ) -> Iterator[Move]:
        """The moves that a custom call needs which asks for layouts."""
        asked = re.search(r"operand_layouts = \[(.*?)\]\s*(?:,|\}|>)(?! : tensor)", line[-_HEAD:])
        orders = _orders(asked[1]) if asked else []
        for k, (operand, order) in enumerate(zip(operands, orders)):
            source = self.side_of(operand, kinds[k] if k < len(kinds) else "")
            target = _tensor(kinds[k] if k < len(kinds) else "", order)
            place = self.artefact.place(number, f"{name} operand {k}")
            move = make_move(place, "custom_call", source, target.side, copies=False, reads=self.value(operand))
            if move.kind != SAME_BYTES:
                yield replace(move, remarks=(*move.remarks, "the call asks for this layout"))


def _signature(text: str) -> list[str]:
    """The types of the operands and, last, of the first result; one type is that of all."""
    at = text.rfind(" : ")
    if at < 0:
        return []
    kinds = text[at + 3 :]
    if "->" not in kinds and "tensor<" not in kinds:
        return []
    before, _, after = kinds.rpartition("->")
    return [found[0] for found in re.finditer(_TENSOR, before)] + [
        found[0] for found in list(re.finditer(_TENSOR, after))[:1]
    ]


@lru_cache(maxsize=1 << 14)
def _tensor(text: str, braces: str) -> Shaped:
    """The tensor type at the beginning of a text, in that layout, minor to major in braces, or row-major."""
    found = re.match(r"\s*" + _TENSOR, text)
    if found is None:
        return Shaped(Side(text.strip() or "?", why="no tensor type stands here"), ())
    sizes, word = found[1].rstrip("x").split("x") if found[1] else [], found[2].strip()
    shown = found[0].strip() + (f" {braces}" if braces else "")
    element = _ELEMENTS_BY_WORD.get(word) or _ELEMENTS_BY_WORD.get(word.removeprefix("s"))
    if element is None:
        return Shaped(Side(shown, why=f"{word} is no type of elements that XLA names"), ())
    made = read_shape(f"{element}[{','.join(sizes)}]{braces}")
    return made._replace(side=made.side._replace(text=shown))


_ELEMENTS_BY_WORD = {e.mlir: e.xla for e in reversed(ELEMENTS.values()) if e.mlir and e.xla}


def _orders(text: str) -> list[str]:
    """XLA's braces for each ``dense<[1, 0]> : tensor<2xindex>``, which counts from the fastest dimension too."""
    found = re.findall(r"dense<\[?([\d, ]*)\]?>", text)
    return [f"{{{numbers.replace(' ', '')}}}" for numbers in found]


def _given_layouts(line: str) -> dict[str, list[str]]:
    """The layouts of the program's parameters and results where attributes of the module have them."""
    found = {}
    for role, word in (("parameter", "parameter_layouts"), ("result", "result_layout")):
        if (at := re.search(rf"entry_computation_{word} = \[", line)) is not None:
            found[role] = _orders(line[at.end() : closing(line, at.end() - 1)])
    return found


def _angle(text: str, start: int) -> int:
    """Where the angle bracket at ``start`` closes; the end of a text that is cut."""
    level = 0
    for at in range(start, len(text)):
        level += {"<": 1, ">": -1}.get(text[at], 0)
        if not level:
            return at
    return len(text) - 1


READER = StablehloReader()
