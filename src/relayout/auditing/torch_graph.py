"""torch's texts: FX graphs with strides, and the code that Inductor writes, alone or in a log of TORCH_LOGS.

A view is free where its strides are those of its operand, which is proven; a ``reshape`` that is none copies, and so
does what asks for a memory format that is not there yet. Of the stages of a compilation in a log the last one is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from ..elements.types import element as element_of
from ..errors import LayoutError
from ..layout.layout import Layout
from .artefact import Artefact
from .hlo_text import closing, parts
from .kinds import REARRANGES, SAME_BYTES, UNDECIDED
from .making import make_move, make_side
from .move import Buffer, Found, Move, Place, Side, Step

SWAPS = frozenset(["transpose", "swapaxes", "swapdims"])
"""Operations that exchange two dimensions, which they name."""

TURNS = SWAPS | {"permute", "t", "T", "mT", "movedim", "moveaxis", "numpy_T"}
"""Operations that name the dimensions in another order."""

REGROUPS = frozenset(["view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze", "view_copy"])
"""Operations that cut and merge dimensions."""

COPIES = frozenset(["contiguous", "clone", "to", "_to_copy", "copy", "copy_", "channels_last"])
"""Operations that write where the result is not there yet; ``clone`` and ``copy`` always do."""

ELEMENTWISE = frozenset(
    re.findall(
        r"\S+",
        "add sub mul div neg relu gelu silu sigmoid tanh exp log sqrt rsqrt pow abs where maximum minimum clamp "
        "hardswish hardtanh leaky_relu elu softplus sin cos erf reciprocal convert_element_type dropout alias detach",
    )
)
"""Operations that treat every element alone."""

FUSED_COPIES = frozenset(["clone", "contiguous", "permute", "transpose", "view", "reshape", "t", "copy", "unsafe"])
"""The words in a kernel's name of which it only moves."""

_LOGGED = r"[VIWE]\d{4} .*?\] (?:\[[\w/!]+\] )*\[__(\w+)\] ?"
_STAGES = ("graph_code", "aot_joint_graph", "aot_graphs", "pre_grad_graphs", "post_grad_graphs", "output_code")
_ASSIGNED = r'\s*(\w+)(?:: "([^"]*)")? = (.*)'
_CALLED = r"([A-Za-z_][\w.]*)\("


class _TorchCall(NamedTuple):
    """A call: the last word of what is called, and the names and texts of its arguments."""

    op: str
    whole: str
    arguments: list[str]


class TorchReader:
    """Reads FX graphs and Inductor's code."""

    kind = "torch"
    title = "torch"
    EXAMPLES = (
        'def forward(self, x: "f32[2, 3, 4, 5][60, 20, 5, 1]cpu"):\n'
        '    permute: "f32[2, 4, 5, 3][60, 5, 1, 20]cpu" = torch.ops.aten.permute.default(x, [0, 2, 3, 1]);  x = None\n'
        "    return (permute,)\n",
    )

    def recognises(self, artefact: Artefact) -> bool:
        text = artefact.opening
        graph = re.search(r'\w+: "[a-z]\w*\[[\w, ]*\](?:\[[\w, ]*\])?', text) and "def forward(" in text
        return bool(graph) or "assert_size_stride" in text or "torch._inductor" in text

    def read(self, artefact: Artefact) -> Iterator[Found]:
        return _TorchReading(artefact).items()


class _TorchReading:
    """One pass over a text; ``scope`` has what is known of the values of the graph that is read."""

    def __init__(self, artefact: Artefact) -> None:
        self.artefact = artefact
        self.last_stage, self.types = _before(artefact)
        self.graphs = 0
        self.begin()

    def begin(self) -> None:
        self.scope: dict[str, Side] = {}
        self.told: set[str] = set()

    def value(self, name: str) -> str:
        return f"{self.graphs}/{name}"

    def items(self) -> Iterator[Found]:
        graphs = 0
        for number, line in self.artefact.lines():
            if line[:1] in "VIWE" and (log := re.match(_LOGGED, line)):
                if log[1] != self.last_stage:
                    continue
                line = line[log.end() :]
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            if text.startswith(("def forward(", "def call(")):
                graphs += 1
                self.graphs = graphs
                self.begin()
                yield from self.parameters(number, text)
            elif text.startswith("return"):
                names = tuple([self.value(name) for name in re.findall(r"\w+", text[6:])])
                yield Step(self.artefact.place(number, "return"), "return", names, count=0)
            elif text.startswith("assert_size_stride("):
                yield from self.check(number, text)
            elif " = " in text or "(" in text:
                yield from self.statement(number, text)
        if not graphs:
            yield self.artefact.trouble("there is no graph in it")

    # ---- values ------------------------------------------------------------------------------------------

    def parameters(self, number: int, text: str) -> Iterator[Buffer]:
        for name, kind in re.findall(r'(\w+): "([^"]*)"', text):
            side = self.scope[name] = _side_in(kind)
            remarks = (side.why,) if side.why else ()
            shape = side.layout.extents if isinstance(side.layout, Layout) else ()
            yield Buffer(self.artefact.place(number, name), side, shape, "parameter", self.value(name), remarks)

    def check(self, number: int, text: str) -> Iterator[Found]:
        """What Inductor's code checks about a value: its sizes and strides."""
        found = parts(text[text.index("(") + 1 : closing(text, text.index("("))])
        if len(found) < 3:
            return
        name = found[0].strip()
        known = self.scope.get(name)
        side = self.side_of(found[1], found[2], self.types.get(name) if known is None else known.element)
        if known is not None and known.layout is not None and known.layout != side.layout:
            yield self.artefact.trouble(f"{name} is {known.text}, and checked to be {side.text}", number, name)
        self.scope[name] = side
        if name not in self.told and "'input'" in text:
            self.told.add(name)
            shape = side.layout.extents if isinstance(side.layout, Layout) else ()
            yield Buffer(self.artefact.place(number, name), side, shape, "parameter", self.value(name))

    def side_of(self, sizes: str, strides: str, element: object, offset: str = "0") -> Side:
        inside = [re.sub(r",\s*$", "", x.strip()[1:-1].strip()) for x in (sizes, strides)]
        word = getattr(element, "xla", "") or getattr(element, "name", "")
        shown = f"{word}[{inside[0]}][{inside[1]}]"
        side = make_side(f"size=({inside[0]}), stride=({inside[1]})", dialect="torch", element=element, shown=shown)
        if isinstance(side.layout, Layout) and offset.strip().isdigit() and int(offset):
            side = side._replace(layout=side.layout.with_offset(int(offset)))
        return side

    # ---- statements --------------------------------------------------------------------------------------

    def statement(self, number: int, text: str) -> Iterator[Found]:
        assigned = re.match(_ASSIGNED, text)
        name, kind, right = assigned.groups() if assigned else ("", None, text)
        if name and re.fullmatch(r"\w+", right.partition(";")[0].strip()):
            self.alias(name, right.partition(";")[0].strip())
            return
        call = _call(right)
        if call is None or call.op.startswith("_assert"):
            if kind is not None:
                self.scope[name] = _side_in(kind)
            return
        place = self.artefact.place(number, name or call.op)
        if call.op.startswith(("empty_strided", "rand_strided")) and len(call.arguments) >= 2:
            element = _element(right)
            self.scope[name] = self.side_of(call.arguments[0], call.arguments[1], element)
        elif call.op == "reinterpret_tensor":
            yield from self.reinterpret(place, name, call, "# reuse" in text)
        elif kind is not None:
            yield from self.operation(place, name, _side_in(kind), call)
        else:
            yield from self.kernel(place, name, call, right)

    def alias(self, name: str, other: str) -> None:
        if other in self.scope:
            self.scope[name] = self.scope[other]

    def operation(self, place: Place, name: str, target: Side, call: _TorchCall) -> Iterator[Found]:
        """A node of a graph, whose result the text describes."""
        self.scope[name] = target
        operands = [x for x in call.arguments if x in self.scope]
        source = self.scope[operands[0]] if operands else None
        reads, writes = self.value(operands[0]) if operands else "", self.value(name)
        shape = target.layout.extents if isinstance(target.layout, Layout) else ()
        op = call.op
        if source is not None and (op in TURNS or op in REGROUPS or op in COPIES):
            start = self.turn(source, target, call) if op in TURNS else source
            always = op in ("clone", "copy", "copy_")
            move = make_move(place, op, start, target, shape=shape, copies=always, reads=reads, writes=writes)
            same_type = source.element == target.element or source.element is None or target.element is None
            if same_type or (op in COPIES and move.kind == REARRANGES):
                yield replace(move, remarks=(*move.remarks, *_format_words(move)))
                return
        if source is not None and (words := _breaks(source, target)):
            usual = Side("channels_last", _channels_last(shape), target.element)
            yield Move(place, op, REARRANGES, usual, target, shape, 0, None, 1, "", "", (words,))
        bytes = sum([side.stored_bytes or 0 for side in (target, *[self.scope[x] for x in operands])])
        alike = op in ELEMENTWISE
        extents = [getattr(self.scope[x].layout, "extents", None) for x in operands]
        inputs = [x for x, own in zip(operands, extents) if not alike or own == shape]
        others = tuple([self.value(x) for x in operands if x not in inputs])
        yield Step(place, op, tuple(map(self.value, inputs)), (self.value(name),), alike, bytes, broadcast=others)

    def turn(self, source: Side, target: Side, call: _TorchCall) -> Side:
        """The operand with its dimensions in the order of the result."""
        layout = source.layout
        if not isinstance(layout, Layout):
            return source
        numbers = [int(n) for x in call.arguments[1:] for n in re.findall(r"-?\d+", x)]
        order = list(range(layout.rank))
        try:
            if call.op == "permute":
                order = [n % layout.rank for n in numbers]
            elif call.op in SWAPS:
                a, b = (n % layout.rank for n in numbers[:2])
                order[a], order[b] = order[b], order[a]
            elif call.op in ("movedim", "moveaxis"):
                count = len(numbers) // 2
                goes = {to % layout.rank: n % layout.rank for n, to in zip(numbers[:count], numbers[count:])}
                order = [n for n in order if n not in goes.values()]
                for to in sorted(goes):
                    order.insert(to, goes[to])
            elif call.op == "mT":
                order[-2:] = order[-1], order[-2]
            else:
                order = order[::-1]
            return source._replace(layout=layout.permute(*order))
        except (LayoutError, ValueError) as error:
            return source._replace(layout=None, why=str(error))

    def reinterpret(self, place: Place, name: str, call: _TorchCall, reuse: bool) -> Iterator[Found]:
        """A view by sizes and strides; where Inductor writes ``# reuse`` only the memory is used again."""
        if len(call.arguments) < 3:
            return
        source = self.scope.get(call.arguments[0])
        element = None if source is None else source.element
        target = self.side_of(call.arguments[1], call.arguments[2], element, (*call.arguments, "0")[3])
        if name:
            self.scope[name] = target
        if not reuse and source is not None:
            flow = self.value(call.arguments[0]), self.value(name) if name else ""
            shape = target.layout.extents if isinstance(target.layout, Layout) else ()
            yield Move(place, "reinterpret_tensor", SAME_BYTES, source, target, shape, 0, None, 1, *flow)

    def kernel(self, place: Place, name: str, call: _TorchCall, text: str) -> Iterator[Found]:
        """A call in Inductor's code: views among its arguments are free, and a kernel that only copies is a move."""
        for inner in re.finditer(r"reinterpret_tensor\(", text):
            view = _call(text[inner.start() :])
            if view is not None:
                yield from self.reinterpret(place._replace(name=view.arguments[0]), "", view, False)
        arguments = [x for x in re.findall(r"\w+", text) if x in self.scope]
        words = _fused_words(call.whole)
        if words and FUSED_COPIES.issuperset(words) and len(arguments) == 2:
            yield self.fused_copy(place._replace(name=call.whole.removesuffix(".run")), *arguments)
            return
        if name and arguments:
            first = self.scope[arguments[0]]
            self.scope[name] = Side("?", None, first.element, why="no line says its sizes")
        if arguments:
            # Any argument of a kernel may be written in place, and nothing says which.
            outputs = (self.value(name),) if name else tuple(map(self.value, arguments))
            bytes = sum([self.scope[x].stored_bytes or 0 for x in arguments])
            yield Step(place, call.op, tuple(map(self.value, arguments)), outputs, False, bytes)

    def fused_copy(self, place: Place, operand: str, result: str) -> Move:
        """A kernel that only copies; where sizes are equal its text does not tell which dimension became which."""
        source, target = self.scope[operand], self.scope[result]
        reads, writes = self.value(operand), self.value(result)
        starts = [source._replace(layout=source.layout.permute(*order)) for order in _orders(source, target)]
        moves = [
            make_move(place, place.name, start, target, reads=reads, writes=writes) for start in starts or [source]
        ]
        if len({move.kind for move in moves}) == 1:
            return moves[0]
        words = ("sizes are equal, and the text does not tell which dimension became which",)
        return replace(moves[0], kind=UNDECIDED, remarks=words)


def _before(artefact: Artefact) -> tuple[str, dict[str, object]]:
    """What the whole text tells: the last stage in a log, and the types of the inputs of Inductor's code."""
    last, types = "", {}
    for _, line in artefact.lines():
        log = re.match(_LOGGED, line) if line[:1] in "VIWE" and "[__" in line else None
        if log and log[1] in _STAGES and (not last or _STAGES.index(log[1]) > _STAGES.index(last)):
            last = log[1]
        if "rand_strided(" in line and (found := re.search(r"(\w+) = rand_strided\(.*dtype=(torch\.\w+)", line)):
            types[found[1]] = _element(found[2])
    return last, types


def _element(text: str) -> object:
    found = re.search(r"torch\.((?:u?int|float|bfloat|complex|bool)\w*)", text)
    if found is None:
        return None
    try:
        return element_of(found[1])
    except LayoutError:
        return None


@lru_cache(maxsize=1 << 14)
def _side_in(text: str) -> Side:
    """The side that a graph's annotation is: ``f32[2, 3][3, 1]cpu``."""
    if not re.match(r"[a-z]\w*\[[^\]]*\]\[", text):
        why = "the text has no strides: print it with include_stride=True" if "[" in text else "it is no tensor"
        return Side(text, why=why)
    device = re.search(r"\]([a-z]\w*(?::\d+)?)$", text)
    side = make_side(text, dialect="torch", memory=device[1] if device else "")
    return side._replace(reserved=side.stored_bytes)


def _call(text: str) -> _TorchCall | None:
    """The first call in a text; of a method the object is its first argument."""
    found = re.match(_CALLED, text.strip())
    if found is None:
        return None
    whole = found[1]
    start = text.index("(")
    arguments = [x.strip() for x in parts(text[start + 1 : closing(text, start)])]
    words = whole.split(".")
    if words[0] in ("torch", "aten", "prims", "extern_kernels", "async_compile"):
        return _TorchCall(words[3] if words[:2] == ["torch", "ops"] and len(words) > 3 else words[-1], whole, arguments)
    if len(words) == 2 and words[1] != "run":
        return _TorchCall(words[1], whole, [words[0], *arguments])
    return _TorchCall(words[0] if words[-1] == "run" else words[-1], whole, arguments)


def _fused_words(kernel: str) -> list[str]:
    """The operations that a kernel of Inductor has in its name: ``triton_poi_fused_clone_permute_0``."""
    found = re.search(r"_fused_(\w+?)_\d+(?:\.run)?$", kernel)
    return [word for word in found[1].split("_") if word] if found else []


def _orders(source: Side, target: Side) -> list[tuple[int, ...]]:
    """The orders of the operand's dimensions that give the result's sizes."""
    if not isinstance(source.layout, Layout) or not isinstance(target.layout, Layout) or source.layout.rank > 6:
        return []
    sizes, wanted = source.layout.extents, target.layout.extents
    return [p for p in permutations(range(len(sizes))) if tuple([sizes[d] for d in p]) == wanted]


def _channels_last(shape: tuple[int, ...]) -> Layout | None:
    """The layout of torch's channels_last (channels_last_3d) for 4 (5) dimensions; None for any other number."""
    if len(shape) not in (4, 5):
        return None
    order = (0, *range(2, len(shape)), 1)
    turned = Layout.row_major(tuple([shape[d] for d in order]))
    return turned.permute(*[order.index(d) for d in range(len(shape))])


@lru_cache(maxsize=1 << 14)
def _format_of(layout: object) -> str:
    """``contiguous``, ``channels_last``, or empty for another order, and where both are the same."""
    if not isinstance(layout, Layout) or layout.rank not in (4, 5):
        return ""
    last, usual = _channels_last(layout.extents), Layout.row_major(layout.extents)
    found = [name for name, own in (("contiguous", usual), ("channels_last", last)) if own and layout.equivalent(own)]
    return found[0] if len(found) == 1 else ""


def _format_words(move: Move) -> tuple[str, ...]:
    """That a move leaves channels_last, or comes to it."""
    if move.kind != REARRANGES:
        return ()
    formats = _format_of(move.source.layout), _format_of(move.target.layout)
    if formats[0] == "channels_last":
        return ("leaves channels_last",)
    return ("comes to channels_last",) if formats == ("contiguous", "channels_last") else ()


def _breaks(source: Side, target: Side) -> str:
    """That an operation reads channels_last and answers contiguous."""
    broken = _format_of(source.layout) == "channels_last" and _format_of(target.layout) == "contiguous"
    return "reads channels_last, and answers contiguous" if broken else ""


READER = TorchReader()
