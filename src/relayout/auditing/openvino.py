"""OpenVINO models: runtime models, with the layout and the time of every layer, and the IR before compilation.

``compiled.get_runtime_model()`` has the layers as they run; the layouts of its values are oneDNN's tags over the
dimensions of the ports. In an IR all values are row-major. A runtime model does not tell the order of a Transpose: what
every possible order agrees on is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

from ..elements.types import Element
from ..layout.layout import Layout
from .artefact import Artefact
from .candidates import agreed_move, orders_between
from .kinds import SAME_BYTES
from .making import make_move, make_side
from .move import Buffer, Found, Move, Place, Side, Step
from .openvino_layers import Layer, LayerGraph, constant_numbers, read_network
from .permuting import Size, make_transpose, make_view

_VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze"})
_ELEMENTWISE_TYPES = """
Abs Add Ceiling Clamp Clip Convert Cos Divide Eltwise Elu Erf Exp Floor Gelu HSigmoid HSwish HardSigmoid Log Maximum
Minimum Mish Multiply Negative PReLU Power ReLU Relu Selu Sigmoid Sign Sin SoftPlus SoftSign Sqrt SquaredDifference
Subtract Swish Tan Tanh
"""
_ELEMENTWISE = frozenset(_ELEMENTWISE_TYPES.split())


class OpenVinoReader:
    """Reads the layers first, since the edges between them come last."""

    kind = "openvino"
    title = "OpenVINO model"
    EXAMPLES = (
        '<?xml version="1.0"?>\n<net name="m" version="11">\n<layers>\n<layer id="0" name="x" type="Parameter">\n'
        '<data shape="2,3" element_type="f32"/><output><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port>'
        "</output>\n</layer>\n</layers>\n<edges/>\n</net>",
    )

    def recognises(self, artefact: Artefact) -> bool:
        head = artefact.opening
        return "<net " in head and "<layers>" in head and head.lstrip("\ufeff \t\r\n").startswith("<")

    def read(self, artefact: Artefact) -> Iterator[Found]:
        network = read_network(artefact)
        reading = _NetworkReading(artefact, network)
        for layer in network.layers.values():
            yield from reading.layer(layer)
        if network.problem is not None:
            yield artefact.trouble(network.problem[1], network.problem[0])


READER = OpenVinoReader()


class _NetworkReading:
    """One pass over the layers; whether anything was executed tells whether "not executed" means something."""

    def __init__(self, artefact: Artefact, network: LayerGraph) -> None:
        self.artefact, self.network = artefact, network
        self.timed = any(layer.time is not None for layer in network.layers.values())

    def layer(self, layer: Layer) -> Iterator[Found]:
        place = self.artefact.place(layer.line, layer.name)
        if layer.kind in ("Const", "Constant", "Parameter", "Input") and layer.outputs:
            yield self.buffer(layer, place)
        elif layer.inputs and layer.outputs and layer.kind in ("Reorder", "Transpose", *_VIEWS):
            yield self.move(layer, place)
        else:
            yield self.step(layer, place)

    def buffer(self, layer: Layer, place: Place) -> Buffer:
        role = "constant" if layer.kind.startswith("Const") else "input"
        return Buffer(place, self.side(layer, 0), layer.outputs[0].shape, role, _value(layer.id, 0))

    def step(self, layer: Layer, place: Place) -> Step:
        sources = [(k, source) for k, source in sorted(layer.sources.items())]
        alone = layer.kind in _ELEMENTWISE and len(layer.outputs) == 1
        others: tuple[str, ...] = ()
        if alone:
            shape = layer.outputs[0].shape
            others = tuple([_value(*source) for k, source in sources if layer.inputs[k].shape != shape])
            sources = [(k, source) for k, source in sources if layer.inputs[k].shape == shape]
        outputs = tuple([_value(layer.id, k) for k in range(len(layer.outputs))])
        inputs = tuple([_value(*source) for _, source in sources])
        sizes = [self.input_side(layer, k).stored_bytes for k in range(len(layer.inputs))]
        sizes += [self.side(layer, k).stored_bytes for k in range(len(layer.outputs))]
        known = [n for n in sizes if n is not None]
        total = sum(known) if known and len(known) == len(sizes) else None
        return Step(place, layer.kind, inputs, outputs, alone, total, layer.time, broadcast=others)

    # ---- sides -------------------------------------------------------------------------------------------

    def side(self, layer: Layer, k: int) -> Side:
        """What an output is in memory."""
        port, elements, layouts = layer.outputs[k], layer.elements(), layer.layouts()
        return _side(
            port.shape, elements[k], layouts[k] if k < len(layouts) else "row-major" if not layouts else "undef"
        )

    def input_side(self, layer: Layer, k: int) -> Side:
        """What an input is in memory, as the layer that feeds it says."""
        source, out = layer.sources.get(k, ("", 0))
        feeding = self.network.layers.get(source)
        if feeding is None:
            return Side("?", None, layer.inputs[k].element, why="nothing tells what feeds it")
        return self.side(feeding, out)

    # ---- moves -------------------------------------------------------------------------------------------

    def move(self, layer: Layer, place: Place) -> Move:
        source, target = self.input_side(layer, 0), self.side(layer, 0)
        before, after = layer.inputs[0].shape, layer.outputs[0].shape
        flow: dict[str, Any] = {
            "reads": _value(*layer.sources[0]) if 0 in layer.sources else "",
            "writes": _value(layer.id, 0),
        }
        if not layer.layouts():
            return self.row_major_move(layer, place, flow)
        idle = self.timed and layer.time is None
        remarks = ("not executed",) if idle else ()
        told = {"time": layer.time, "remarks": remarks, **flow}
        if layer.kind in _VIEWS or (before == after and layer.kind == "Reorder"):
            return make_move(place, layer.kind, source, target, shape=after, copies=not idle, **told)
        candidates: list[Move] = []
        if isinstance(source.layout, Layout) and isinstance(target.layout, Layout):
            for order in orders_between(before, after):
                side = source._replace(layout=source.layout.permute(*order))
                candidates.append(make_move(place, layer.kind, side, target, copies=not idle, **told))
        unmoved = [m for m in candidates if m.kind == SAME_BYTES]
        if idle and unmoved:
            return unmoved[0]
        bytes = target.stored_bytes
        return agreed_move(candidates, place, layer.kind, after, target.element, bytes=bytes, **told)

    def row_major_move(self, layer: Layer, place: Place, flow: dict[str, Any]) -> Move:
        """A move of an IR, whose order a constant tells."""
        before, after = _open(layer.inputs[0].shape), _open(layer.outputs[0].shape)
        element = layer.inputs[0].element
        if layer.kind in _VIEWS:
            return make_view(place, layer.kind, before, after, element, **flow)
        source = self.network.layers.get(layer.sources.get(1, ("", 0))[0])
        order = None if source is None else constant_numbers(source, self.artefact.path)
        if order == () and source is not None and source.outputs[0].shape == (0,):
            order = tuple(reversed(range(len(before))))
        if order is not None and sorted(order) == list(range(len(before))):
            return make_transpose(place, layer.kind, before, order, element, **flow)
        candidates = []
        if not any(isinstance(n, str) for n in (*before, *after)):
            orders = orders_between(layer.inputs[0].shape, layer.outputs[0].shape)
            candidates = [make_transpose(place, layer.kind, before, p, element, **flow) for p in orders]
        stored = None if element is None or -1 in layer.outputs[0].shape else _bytes(layer.outputs[0].shape, element)
        move = agreed_move(candidates, place, layer.kind, layer.outputs[0].shape, element, bytes=stored, **flow)
        return move if len(candidates) == 1 else replace(move, remarks=(*move.remarks, "its order is in the .bin file"))


def _side(shape: tuple[int, ...], element: Element | None, tag: str) -> Side:
    if -1 in shape:
        return Side(tag, None, element, why="a size is not known")
    if tag == "row-major":
        return Side(tag, Layout.row_major(shape), element)
    if tag == "undef":
        return Side(tag, None, element, why="the model does not tell its layout")
    return make_side(tag, shape=shape, element=element, dialect="onednn")


def _open(shape: tuple[int, ...]) -> tuple[Size, ...]:
    """Sizes with a name for each that is open, by its place: ports tell no names."""
    return tuple([n if n >= 0 else f"?{k}" for k, n in enumerate(shape)])


def _bytes(shape: tuple[int, ...], element: Element) -> int:
    return -(-prod(shape) * element.bits // 8)


def _value(layer: str, port: int) -> str:
    return f"{layer}:{port}"
