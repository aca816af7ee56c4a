"""HLO text: every copy, transpose, reshape and bitcast by what it does to memory, padding of tiles, parts of devices.

``copy`` writes its result, also where nothing changes its place. A ``transpose`` or ``reshape`` whose result has every
element where it was is free, as a ``bitcast`` is by its definition. What is inside a fusion has no memory of its own:
only a fusion of nothing but moves counts as one. A move in the body of a loop counts for each turn that the text tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ..errors import LayoutError
from ..layout.layout import Layout
from .artefact import Artefact
from .hlo_calls import read_calls
from .hlo_fusions import FusedMove, FusionBody, move_at_once, whole_move, words_in_fusion
from .hlo_shapes import Shaped, bytes_of, in_smaller_elements, leaves, read_shape
from .hlo_sharding import per_device, resharding
from .hlo_text import Begin, End, Instruction, ModuleLine, read_hlo
from .kinds import SAME_BYTES
from .making import make_move
from .move import Buffer, Found, Move, Place, Side, Step

MOVES = frozenset(["copy", "copy-start", "transpose", "reshape", "bitcast", "bitcast-convert"])
"""The opcodes whose result is the operand, at other places or at the same."""

PLACEMENTS = {"MoveToHost": "host", "MoveToDevice": "device", "LayoutConstraint": "", "Pin": "", "Unpin": ""}
"""Custom calls that only move: the memory that their result is in."""

ELEMENTWISE = frozenset(
    re.findall(
        r"\S+",
        "abs add and atan2 cbrt ceil clamp compare complex convert cosine count-leading-zeros divide erf exponential "
        "exponential-minus-one floor imag is-finite log log-plus-one logistic maximum minimum multiply negate not or "
        "popcnt power real reduce-precision remainder round-nearest-afz round-nearest-even rsqrt select shift-left "
        "shift-right-arithmetic shift-right-logical sign sine sqrt stochastic-convert subtract tan tanh xor",
    )
)
"""The opcodes that treat every element alone."""

UNIFORM = frozenset(["broadcast", "constant", "iota", "rng"])
"""The opcodes whose result could be made in any layout."""

_TOLD = MOVES | {"parameter", "constant", "fusion", "custom-call", "copy-done"}
"""The opcodes that are never only counted."""

_NO_MEMORY = frozenset(
    re.findall(
        r"\S+",
        "parameter tuple get-tuple-element after-all while conditional call async-start async-update async-done "
        "copy-done opt-barrier add-dependency partition-id replica-id domain",
    )
)
"""The opcodes that read and write nothing themselves."""


class HloReader:
    """Reads HLO as XLA prints it, before and after optimisation, for any device."""

    kind = "hlo"
    title = "HLO"
    EXAMPLES = (
        "HloModule m\n\nENTRY e {\n  p = f32[4,8]{1,0} parameter(0)\n  ROOT c = f32[4,8]{0,1} copy(p)\n}\n",
        "ENTRY e {\n  p = f32[4,8]{1,0:T(2,4)} parameter(0)\n  ROOT c = f32[4,8]{1,0:T(2,4)S(1)} copy(p)\n}\n",
    )

    def recognises(self, artefact: Artefact) -> bool:
        text = artefact.opening
        if re.search(r"^\s*HloModule\s", text, re.M):
            return True
        head = re.search(r"^\s*(?:ENTRY\s+)?%?[\w.\-]+[^=\n]*\{\s*$", text, re.M)
        parameter = r"^\s*(?:ROOT\s+)?%?[\w.\-]+ = \(?[a-z]\w*\[[\d,<=]*\].* parameter\(\d+\)"
        return head is not None and re.search(parameter, text, re.M) is not None

    def read(self, artefact: Artefact) -> Iterator[Found]:
        return _HloReading(artefact).items()


class _HloReading:
    """One pass over an artefact; ``scope`` has the shapes of the values of the computation that is read."""

    def __init__(self, artefact: Artefact) -> None:
        self.artefact = artefact
        self.modules = read_calls(artefact.lines())
        self.calls = next(self.modules)
        self.number = 0
        self.begin(Begin(0, "", True))
        self.bodies: dict[str, FusionBody] = {}
        self.partitioned = False

    def items(self) -> Iterator[Found]:
        ended, entered = False, True
        for item in read_hlo(self.artefact.lines()):
            if isinstance(item, Instruction):
                self.scope[item.name] = item.shape
                if self.body is not None:
                    self.inside(item, self.body)
                elif item.root or item.opcode in _TOLD or not self.passes(item):
                    yield from self.outside(item)
            elif isinstance(item, Begin):
                entered = entered or item.entry
                self.begin(item)
            elif isinstance(item, End):
                ended = True
                if self.others:
                    place = self.artefact.place(self.start, self.computation)
                    yield Step(place, "others", bytes=self.other_bytes * self.times, count=self.others)
                if not item.whole:
                    yield self.artefact.trouble("the text ends inside this computation", self.start, self.computation)
            else:
                entered = "entry_computation_layout" not in item.text
                self.module(item)
        if not ended:
            yield self.artefact.trouble("there is no computation in it")
        elif not entered:
            yield self.artefact.trouble("the text ends before the ENTRY of its module")

    def module(self, item: ModuleLine) -> None:
        self.number += 1
        self.calls = next(self.modules, self.calls)
        self.bodies = {}
        self.partitioned = "is_scheduled=true" in item.text

    def begin(self, item: Begin) -> None:
        self.start, self.computation, self.entry = item.line, item.name, item.entry
        self.scope: dict[str, str] = {}
        self.shardings: dict[str, str] = {}
        self.uniform: set[str] = set()
        self.same: dict[str, str] = {}
        self.followed: set[str] = set()
        self.others = self.other_bytes = 0
        self.body: FusionBody | None = None
        if self.calls.is_fused(item.name):
            self.body = self.bodies[item.name] = FusionBody()
        self.times = self.calls.runs(item.name)
        self.when = self.calls.when(item.name, item.entry)

    # ---- names and shapes --------------------------------------------------------------------------------

    def value(self, name: str) -> str:
        """The name of a value that is unique in the file."""
        return f"{self.number}/{self.computation}/{self.same.get(name, name)}"

    def place(self, item: Instruction) -> Place:
        return self.artefact.place(item.line, item.name)

    def shape_of(self, name: str, shape: str) -> Shaped:
        return read_shape(shape or self.scope.get(name, ""))

    # ---- instructions ------------------------------------------------------------------------------------

    def inside(self, item: Instruction, body: FusionBody) -> None:
        """An instruction in the body of a fusion: nothing is said before the fusion itself is read."""
        opcode = item.opcode
        if opcode in MOVES:
            move = self.move(item)
            if move is not None:
                operand = item.operands[0]
                body.moves.append(FusedMove(item, move, operand.name, self.shape_of(*operand).side))
        elif opcode == "parameter":
            body.parameters.add(item.name)
        elif opcode not in ("tuple", "get-tuple-element"):
            body.only_moves = False
            if opcode not in ELEMENTWISE and opcode not in UNIFORM:
                body.elementwise = False

    def passes(self, item: Instruction) -> bool:
        """Whether an instruction touches no value that is followed; then it is only counted."""
        if "sharding={" in item.rest:
            self.shardings[item.name] = f"{{{item.attribute('sharding')}}}"
        if item.opcode in UNIFORM:
            self.uniform.add(item.name)
        inside = item.rest[: item.rest.find(")")]
        if "[" in inside or "(" in inside:
            return False
        names = inside.replace("%", "").split(", ")
        if not self.followed.isdisjoint(names):
            return False
        self.others += 1
        if item.opcode not in _NO_MEMORY:
            self.other_bytes += bytes_of(item.shape) + sum([bytes_of(self.scope.get(name, "")) for name in names])
        return True

    def outside(self, item: Instruction) -> Iterator[Found]:
        opcode = item.opcode
        if opcode in MOVES:
            move = self.move(item)
            if move is not None:
                self.followed.add(item.name)
                yield self.as_often(move)
        elif opcode == "parameter":
            yield from self.parameter(item)
        elif opcode == "constant":
            yield from self.constant(item)
        elif opcode == "custom-call" and (target := self.placement(item)):
            yield from self.custom_call(item, target)
        elif opcode == "fusion":
            yield from self.fusion(item)
        elif opcode == "copy-done":
            if operands := item.operands:
                self.followed.add(item.name)
                self.same[item.name] = self.same.get(operands[0].name, operands[0].name)
        else:
            yield self.step(item)
        if "sharding={" in item.rest:
            self.shardings[item.name] = f"{{{item.attribute('sharding')}}}"
        if item.root:
            yield Step(self.place(item), "ROOT", (self.value(item.name),), count=0)

    def step(self, item: Instruction, elementwise: bool = False) -> Step:
        """An instruction that moves nothing."""
        opcode, operands = item.opcode, item.operands
        sizes = 0
        if opcode not in _NO_MEMORY:
            shapes = [operand.shape or self.scope.get(operand.name, "") for operand in operands]
            sizes = sum([bytes_of(shape) for shape in (item.shape, *shapes)]) * self.times
        inputs = [operand.name for operand in operands]
        if elementwise or opcode in ELEMENTWISE:
            elementwise = True
            inputs = [name for name in inputs if name not in self.uniform]
            if not self.followed.isdisjoint(inputs):
                self.followed.add(item.name)
        values = tuple([self.value(name) for name in inputs])
        return Step(self.place(item), opcode, values, (self.value(item.name),), elementwise, sizes)

    def parameter(self, item: Instruction) -> Iterator[Buffer]:
        """What comes in from outside, with the part that each device holds."""
        if not self.entry:
            return
        self.followed.add(item.name)
        sharding = item.attribute("sharding") if "sharding={" in item.rest else None
        arrays = leaves(item.shape)
        shardings = leaves(f"({sharding})") if sharding and len(arrays) != 1 else [sharding or ""]
        for k, text in enumerate(arrays):
            found = read_shape(text)
            name = item.name if len(arrays) == 1 else f"{item.name}[{k}]"
            remarks, details = per_device(
                shardings[k] if k < len(shardings) else "", found, self.partitioned or "_spmd" in self.computation
            )
            if found.side.why:
                remarks = (*remarks, found.side.why)
            place = self.artefact.place(item.line, name)
            yield Buffer(place, found.side, found.shape, "parameter", self.value(item.name), remarks, details)

    def constant(self, item: Instruction) -> Iterator[Found]:
        """What the program brings along: with memory of its own where it has more than one element."""
        self.uniform.add(item.name)
        found = read_shape(item.shape)
        yield Step(self.place(item), item.opcode, bytes=bytes_of(item.shape) * self.times)
        if prod(found.shape) > 1:
            self.followed.add(item.name)
            yield Buffer(self.place(item), found.side, found.shape, "constant", self.value(item.name))

    # ---- moves -------------------------------------------------------------------------------------------

    def move(self, item: Instruction) -> Move | None:
        """The move that an instruction is; None where it has no operand."""
        operands = item.operands
        if not operands:
            return None
        source = self.shape_of(*operands[0])
        shapes = leaves(item.shape) if item.opcode == "copy-start" else [item.shape]
        same = not item.shape and item.opcode == "copy"
        target = source if same else read_shape(shapes[0] if shapes else "")
        place, flow = self.place(item), (self.value(operands[0].name), self.value(item.name))
        if item.opcode == "bitcast":
            return self.bitcast(place, source, target, flow)
        if item.shape.startswith("(") and item.opcode == "copy":
            words = ("of a tuple only the pointers are copied",)
            return Move(place, "copy", SAME_BYTES, source.side, target.side, (), 0, None, 1, *flow, words)
        sides = source.side, target.side
        remarks: tuple[str, ...] = ()
        try:
            sides = _over_the_same(item, source, target)
        except LayoutError as error:
            remarks = (error.message,)
            sides = source.side._replace(layout=None, why=error.message), target.side
        copies = item.opcode in ("copy", "copy-start")
        made = make_move(place, item.opcode, *sides, shape=target.shape, copies=copies, reads=flow[0], writes=flow[1])
        return replace(made, remarks=remarks) if remarks else made

    def bitcast(self, place: Place, source: Shaped, target: Shaped, flow: tuple[str, str]) -> Move:
        """A bitcast keeps every byte by its definition; the two sides then have the same number of them."""
        words: tuple[str, ...] = ()
        if source.bytes and target.bytes and source.bytes != target.bytes:
            words = (f"{source.bytes} bytes are read as {target.bytes}",)
        return Move(place, "bitcast", SAME_BYTES, source.side, target.side, target.shape, 0, None, 1, *flow, words)

    def as_often(self, move: Move) -> Move:
        """The move as often as its computation runs."""
        remarks = (*move.remarks, self.when) if self.when else move.remarks
        return replace(move, count=self.times, remarks=remarks) if self.times != 1 or self.when else move

    def placement(self, item: Instruction) -> str:
        """The target of a custom call that only moves."""
        target = item.attribute("custom_call_target") or ""
        if target == "Sharding" and "sharding={" in item.rest:
            operands = item.operands
            return target if operands and operands[0].name in self.shardings else ""
        return target if target in PLACEMENTS else ""

    def custom_call(self, item: Instruction, target: str) -> Iterator[Found]:
        operands = item.operands
        if not operands or item.shape.startswith("("):
            yield self.step(item)
            return
        place, flow = self.place(item), (self.value(operands[0].name), self.value(item.name))
        source, result = self.shape_of(*operands[0]), read_shape(item.shape)
        self.followed.add(item.name)
        if target == "Sharding":
            texts = self.shardings[operands[0].name], f"{{{item.attribute('sharding')}}}"
            yield self.as_often(resharding(place, target, texts, result, flow))
            return
        memory = PLACEMENTS[target]
        side = result.side._replace(memory=memory) if memory else result.side
        before = {"host": "device", "device": "host"}.get(memory)
        start = source.side._replace(memory=before) if before else source.side
        words = ("the compiler puts a copy here where it is needed",) if target == "LayoutConstraint" else ()
        yield self.as_often(
            make_move(place, target, start, side, copies=bool(memory), reads=flow[0], writes=flow[1], remarks=words)
        )

    # ---- fusions -----------------------------------------------------------------------------------------

    def fusion(self, item: Instruction) -> Iterator[Found]:
        called = item.attribute("calls") or ""
        body = self.bodies.get(called.lstrip("%"))
        if body is None:
            yield self.step(item)
            return
        whole = whole_move(body) if body.only_moves and len(item.operands) == 1 else None
        if whole is not None:
            self.followed.add(item.name)
        for one in body.moves:
            move = one.move
            if one is whole:
                operand = item.operands[0].name
                words = (f"all that fusion {item.name} does",)
                yield self.as_often(
                    replace(
                        move_at_once(body.moves, move),
                        bytes=move.target.stored_bytes,
                        reads=self.value(operand),
                        writes=self.value(item.name),
                        remarks=(*move.remarks, *words),
                    )
                )
            else:
                words = (words_in_fusion(one, body, item.name),)
                yield self.as_often(replace(move, bytes=0, reads="", writes="", remarks=(*move.remarks, *words)))
        if whole is None:
            yield self.step(item, body.elementwise and not body.moves)


def _over_the_same(item: Instruction, source: Shaped, target: Shaped) -> tuple[Side, Side]:
    """Both sides over the coordinates of the result."""
    one, other = source.side, target.side
    if item.opcode == "transpose" and isinstance(one.layout, Layout):
        order = [int(n) for n in re.findall(r"\d+", item.attribute("dimensions") or "")]
        return one._replace(layout=one.layout.permute(*order)), other
    if item.opcode == "bitcast-convert" and one.element is not None and other.element is not None:
        wide, narrow = one.element.bits, other.element.bits
        if wide > narrow:
            one = in_smaller_elements(one, wide // narrow)
        elif narrow > wide:
            other = in_smaller_elements(other, narrow // wide)
        return one._replace(element=other.element), other
    return one, other


READER = HloReader()
