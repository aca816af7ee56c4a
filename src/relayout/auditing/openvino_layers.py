"""The layers of an OpenVINO model in XML, with their ports and edges; weights are in another file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from ..elements.types import ELEMENTS, Element
from .artefact import Artefact

_CHUNK = 1 << 20
_SMALL = 64
"""No order or shape has more numbers; longer constants are weights."""

_NAMES = {"boolean": "bool", "bool": "bool", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
_NAMES |= {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0": "float8_e8m0fnu", "f4e2m1": "float4_e2m1fn"}
_NAMES |= {"bf16": "bfloat16", "bin": "uint1", "u1": "uint1"}


class Port(NamedTuple):
    """An input or an output: its element and its sizes, -1 where they are open."""

    id: str
    element: Element | None
    shape: tuple[int, ...]


@dataclass(slots=True)
class Layer:
    """One layer: ``data`` are its attributes, ``sources`` the layer and output port that feed each of its inputs."""

    id: str
    name: str
    kind: str
    line: int
    data: Mapping[str, str] = field(default_factory=dict)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    sources: dict[int, tuple[str, int]] = field(default_factory=dict)

    def elements(self) -> list[Element | None]:
        """The elements that the outputs have at run time, or else as the ports say."""
        told = [element_named(x) for x in self.data.get("outputPrecisions", "").split(",") if x]
        return told if len(told) == len(self.outputs) else [port.element for port in self.outputs]

    def layouts(self) -> list[str]:
        """The layouts that the outputs have at run time, as oneDNN's tags; none in a model that is not compiled."""
        return [x for x in self.data.get("outputLayouts", "").split(",") if x]

    @property
    def time(self) -> float | None:
        """The seconds of one run."""
        told = self.data.get("execTimeMcs", "")
        return int(told) / 1e6 if told.isdigit() else None


class LayerGraph(NamedTuple):
    """All layers by their ids, in the order of the file; ``problem`` is the line and the words for what is broken."""

    layers: dict[str, Layer]
    problem: tuple[int, str] | None


def element_named(name: str) -> Element | None:
    """The element type by OpenVINO's name."""
    text = name.strip().lower()
    if text[:1] in "fiu" and text[1:].isdigit():
        text = {"f": "float", "i": "int", "u": "uint"}[text[0]] + text[1:]
    return ELEMENTS.get(_NAMES.get(text, text))


def read_network(artefact: Artefact) -> LayerGraph:
    """The layers of a model, up to where it is cut off or broken."""
    reading = _LayerParser()
    parser = reading.parser
    try:
        for chunk in _chunks(artefact):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        return LayerGraph(reading.layers, (error.lineno, f"it is no XML from here on: {expat.ErrorString(error.code)}"))
    return LayerGraph(reading.layers, None)


def _chunks(artefact: Artefact) -> Any:
    if artefact.path is None:
        yield artefact.read_bytes()
        return
    with artefact.path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


class _LayerParser:
    """What the parser calls: layers with their ports, then edges between them. Bodies of layers are left out."""

    def __init__(self) -> None:
        self.layers: dict[str, Layer] = {}
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.begin
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.buffer_text = True
        self._path: list[str] = []
        self._layer: Layer | None = None
        self._port: tuple[str, str] | None = None
        self._dims: list[str] = []

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        self._path.append(tag)
        path = tuple(self._path)
        if path == ("net", "layers", "layer"):
            self._layer = Layer(
                attributes.get("id", ""),
                attributes.get("name", ""),
                attributes.get("type", ""),
                self.parser.CurrentLineNumber,
            )
            self.layers[self._layer.id] = self._layer
        elif path == ("net", "edges", "edge"):
            self.edge(attributes)
        elif self._layer is not None and path[3:] == ("data",):
            self._layer.data = attributes
        elif self._layer is not None and path[4:] == ("port",):
            self._port, self._dims = (attributes.get("id", ""), attributes.get("precision", "")), []
        elif tag == "dim":
            self._dims.append("")

    def text(self, text: str) -> None:
        if self._path and self._path[-1] == "dim" and self._dims:
            self._dims[-1] += text

    def end(self, tag: str) -> None:
        path = tuple(self._path)
        self._path.pop()
        if path == ("net", "layers", "layer"):
            self._layer = None
        elif self._layer is not None and self._port is not None and path[4:] == ("port",):
            shape = tuple([int(n) if n.strip().isdigit() else -1 for n in self._dims])
            port = Port(self._port[0], element_named(self._port[1]), shape)
            (self._layer.inputs if path[3] == "input" else self._layer.outputs).append(port)
            self._port = None

    def edge(self, attributes: dict[str, str]) -> None:
        """Note which output feeds an input."""
        source = self.layers.get(attributes.get("from-layer", ""))
        target = self.layers.get(attributes.get("to-layer", ""))
        if source is None or target is None:
            return
        out = [k for k, port in enumerate(source.outputs) if port.id == attributes.get("from-port")]
        into = [k for k, port in enumerate(target.inputs) if port.id == attributes.get("to-port")]
        if out and into:
            target.sources[into[0]] = (source.id, out[0])


def constant_numbers(layer: Layer, path: Path | None) -> tuple[int, ...] | None:
    """The few integers of a constant, from the file of weights beside the model."""
    element = layer.outputs[0].element if layer.outputs else None
    told = [layer.data.get(key, "") for key in ("offset", "size")]
    if path is None or element is None or element.name not in ("int32", "int64") or not all(t.isdigit() for t in told):
        return None
    start, size = map(int, told)
    weights = path.with_suffix(".bin")
    if size > _SMALL * element.bytes or size % element.bytes or not weights.is_file():
        return None
    with weights.open("rb") as file:
        file.seek(start)
        data = file.read(size)
    steps = range(0, len(data), element.bytes)
    return tuple([int.from_bytes(data[k : k + element.bytes], "little", signed=True) for k in steps])
