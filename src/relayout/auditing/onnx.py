"""ONNX models, as exported or as ONNX Runtime saves them after optimising: what their nodes move.

The values of a graph are row-major in the order of their dimensions, but for those between operators of the domain
``com.microsoft.nchwc``, which have blocks of channels. How many channels a block has is proven from the graph; where 8
and 16 are both possible, both are named, and what is said holds for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import prod

from ..elements.types import Element
from ..errors import BadFile
from ..files.onnx_graph import OnnxGraph, is_model, read_graph
from ..files.onnx_nchwc import NCHWC, Nchwc, blocked_parts
from ..files.onnx_nodes import OnnxNode
from ..layout.layout import Layout
from .artefact import Artefact
from .kinds import UNDECIDED
from .making import make_move, make_side
from .move import Buffer, Found, Move, Place, Side, Step
from .onnx_operators import ACTIVATIONS, BROADCASTING, MOVES, QUANTISING, VIEWS, channels_last, data_inputs
from .onnx_shapes import OnnxValues, permutation
from .permuting import NOWHERE, Size, for_all_sizes, known_sizes, make_transpose, make_view, placed_move


class OnnxReader:
    """Reads the main graph and the bodies of its control flow; weights are stepped over."""

    kind = "onnx"
    title = "ONNX model"
    EXAMPLES: tuple[str, ...] = ()

    def recognises(self, artefact: Artefact) -> bool:
        return is_model(artefact.head)

    def read(self, artefact: Artefact) -> Iterator[Found]:
        if artefact.path is None:
            raise BadFile("an ONNX model is no text.", hint="name its file")
        graph = read_graph(artefact.path)
        shapes = {name: tensor.shape for name, tensor in graph.tensors.items()}
        numbers = {name: t.numbers for name, t in graph.tensors.items() if t.numbers is not None}
        yield from _GraphReading(artefact, graph, blocked_parts(graph.nodes, shapes, numbers)).contents()


READER = OnnxReader()


class _GraphReading:
    """One pass over a graph."""

    def __init__(self, artefact: Artefact, graph: OnnxGraph, nchwc: Nchwc) -> None:
        self.artefact, self.graph, self.nchwc = artefact, graph, nchwc
        self.values = OnnxValues(graph, nchwc.values)

    def contents(self) -> Iterator[Found]:
        if self.graph.problem is not None:
            yield self.artefact.trouble(self.graph.problem)
        yield from self.buffers()
        for k, node in enumerate(self.graph.nodes):
            self.values.infer(node)
            place = self.artefact.place(name=node.name or f"{node.operator}_{k}")
            is_move = node.operator in MOVES and node.domain in ("", NCHWC) and node.inputs and node.outputs
            yield self.move(node, place) if is_move else self.step(node, place)
        yield Step(self.artefact.place(name="outputs"), "outputs", self.graph.outputs)

    def buffers(self) -> Iterator[Buffer]:
        for tensor in self.graph.tensors.values():
            place, side = self.artefact.place(name=tensor.name), Side("row-major", element=tensor.element)
            if tensor.name in self.nchwc.filters and self.nchwc.blocks:
                texts = self.nchwc.texts(tensor.name)
                side = make_side(texts[-1], shape=tensor.shape, element=tensor.element, dialect="tvm")
                side = side._replace(text=" or ".join(texts))
            elif tensor.name in self.nchwc.filters:
                side = side._replace(text="blocks of channels", why=_CONTRADICTION)
            else:
                side = side._replace(layout=Layout.row_major(tensor.shape))
            yield Buffer(place, side, tensor.shape, "constant", tensor.name)
        for name in self.graph.inputs:
            kind = self.values.of(name)
            if kind.shape is not None:
                shape = known_sizes(kind.shape)
                layout = Layout.row_major(shape) if -1 not in shape else None
                side = Side("row-major", layout, kind.element, why="" if layout else "a size is not known")
                yield Buffer(self.artefact.place(name=name), side, shape, "input", name)

    def step(self, node: OnnxNode, place: Place) -> Step:
        alone = node.operator in ACTIVATIONS | BROADCASTING and node.domain != NCHWC
        inputs = tuple([name for name in node.inputs if name])
        if node.operator in QUANTISING:
            alone = len(node.inputs) > 1 and prod(known_sizes(self.values.shape(node.inputs[1]) or (-1, 2))) == 1
        if alone:
            shape = self.values.shape(node.outputs[0]) if node.outputs else None
            data = node.inputs[:1] if node.operator not in BROADCASTING else data_inputs(node)
            inputs = tuple([name for name in data if name and self.values.shape(name) == shape])
        others = tuple([name for name in node.inputs if name and name not in inputs])
        counted = [self.bytes_of(name) for name in (*node.inputs, *node.outputs) if name]
        known = [n for n in counted if n is not None]
        total = sum(known) if known and len(known) == len(counted) else None
        return Step(place, node.operator, inputs, node.outputs, alone, total, broadcast=others)

    def bytes_of(self, name: str) -> int | None:
        """The bytes of a value as it is stored."""
        element, shape = self.values.of(name)
        if element is None or shape is None or -1 in known_sizes(shape):
            return None
        return -(-prod(known_sizes(shape)) * element.bits // 8)

    # ---- moves -------------------------------------------------------------------------------------------

    def move(self, node: OnnxNode, place: Place) -> Move:
        reads, writes = node.inputs[0], node.outputs[0]
        element, sizes = self.values.of(reads)
        shape = None if sizes is None else tuple([_size(n) for n in sizes])
        if node.operator in VIEWS:
            after = self.values.shape(writes)
            result = None if after is None else tuple([_size(n) for n in after])
            return make_view(place, node.operator, shape, result, element, reads=reads, writes=writes)
        if shape is None:
            return self.open(node, place, f"the shape of {reads} is not known")
        if node.domain == NCHWC:
            return self.reorder(node, place, shape)
        if node.operator == "Transpose":
            order = permutation(node, len(shape))
            if order is None:
                return self.open(node, place, f"its perm does not fit the {len(shape)} dimensions of {reads}")
            return make_transpose(place, "Transpose", shape, order, element, reads=reads, writes=writes)
        return self.depth_and_space(node, place, shape)

    def open(self, node: OnnxNode, place: Place, why: str) -> Move:
        """A move of which nothing can be said."""
        element = self.values.of(node.inputs[0]).element
        side = Side("?", None, element, why=why)
        shape = known_sizes(self.values.shape(node.outputs[0]) or ())
        return make_move(place, node.operator, side, side, shape=shape, reads=node.inputs[0], writes=node.outputs[0])

    def depth_and_space(self, node: OnnxNode, place: Place, shape: tuple[Size, ...]) -> Move:
        """Blocks of space that become channels, or come from them: a transpose of six dimensions."""
        block = node.integer("blocksize")
        result = self.values.shape(node.outputs[0])
        known = known_sizes(shape)
        if len(shape) != 4 or block < 1 or -1 in known[1:] or result is None:
            return self.open(node, place, "its sizes are not known")
        n, (c, h, w) = shape[0], known[1:]
        inner: tuple[Size, ...]
        if node.operator == "SpaceToDepth":
            inner, order = (n, c, h // block, block, w // block, block), (0, 3, 5, 1, 2, 4)
            fits = h % block == w % block == 0
        else:
            deep = node.attributes.get("mode", "DCR") == "CRD"
            rest = c // (block * block)
            fits = c % (block * block) == 0
            inner = (n, rest, block, block, h, w) if deep else (n, block, block, rest, h, w)
            order = (0, 1, 4, 2, 5, 3) if deep else (0, 3, 4, 1, 5, 2)
        if not fits:
            return self.open(node, place, f"blocks of {block} do not divide its sizes")
        return make_transpose(
            place,
            node.operator,
            inner,
            order,
            self.values.of(node.inputs[0]).element,
            result=[_size(m) for m in result],
            reads=node.inputs[0],
            writes=node.outputs[0],
        )

    def reorder(self, node: OnnxNode, place: Place, shape: tuple[Size, ...]) -> Move:
        """From or to blocks of channels, over the logical dimensions NCHW."""
        last, out = channels_last(node), node.operator == "ReorderOutput"
        space = shape[2:] if out or not last else shape[1:-1]
        channels = node.integer("channels") if out else shape[-1] if last else shape[1]
        logical = (shape[0], channels, *space)
        if not self.nchwc.blocks:
            return self.open(node, place, _CONTRADICTION)
        if len(logical) != 4 or not isinstance(channels, int) or channels < 1:
            return self.open(node, place, f"the shape of {node.inputs[0]} is {known_sizes(shape)}")
        element, reads, writes = self.values.of(node.inputs[0]).element, node.inputs[0], node.outputs[0]
        moves = [_reorder(node.operator, logical, last, block, element) for block in self.nchwc.blocks]
        move, blocked = moves[-1], " or ".join([f"NCHW{block}c" for block in reversed(self.nchwc.blocks)])
        if len(moves) > 1:
            kind = move.kind if len({m.kind for m in moves}) == 1 else UNDECIDED
            source = move.source._replace(text=blocked) if out else move.source
            target = move.target if out else move.target._replace(text=blocked)
            move = replace(move, kind=kind, source=source, target=target)
        return placed_move(move, place, reads=reads, writes=writes)


@lru_cache(maxsize=4096)
def _reorder(op: str, logical: tuple[Size, ...], last: bool, block: int, element: Element | None) -> Move:
    """From or to blocks of that size."""

    def at(sizes: tuple[int, ...]) -> Move:
        order, shown = ("nhwc", "NHWC") if last else ("nchw", "NCHW")
        plain = make_side(order, shape=sizes, element=element, dialect="onednn", shown=shown)
        blocked = make_side(f"NCHW{block}c", shape=sizes, element=element, dialect="tvm")
        return make_move(NOWHERE, op, *((blocked, plain) if op == "ReorderOutput" else (plain, blocked)))

    return for_all_sizes(at, logical, logical, element)


_CONTRADICTION = "no size of blocks agrees with all of its convolutions"


def _size(n: int | str | None) -> Size:
    return "?" if n is None else n
