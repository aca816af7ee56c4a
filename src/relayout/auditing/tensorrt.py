"""TensorRT's layer information, as JSON of ``IEngineInspector`` or ``trtexec --exportLayerInfo``, and its profiles.

With ``--profilingVerbosity=detailed`` every tensor says its format in a sentence; a ``Reformat`` layer is a move from
one to another. ``trtexec --exportProfile`` has the times of layers by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf
from typing import Any

from ..dialects.tensorrt_phrases import tensorrt_phrase
from ..elements.types import ELEMENTS, Element
from ..errors import LayoutError
from ..layout.layout import Layout
from .artefact import Artefact
from .json_items import read_items
from .making import make_move
from .move import Found, Move, Place, Side, Step, Timing
from .permuting import make_transpose, make_view

_REFORMATTING = "Reformatting CopyNode"
_ELEMENTWISE = ("pointwise", "pointwisev2", "pwn", "elementwise", "activation", "scale", "unary", "identity")
_BARE = {"float": "float32", "half": "float16", "double": "float64", "fp8": "float8_e4m3fn"}
_BARE |= {name: name for name in ("bfloat16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}
_NAMES_ONLY = "the file has names alone: build with --profilingVerbosity=detailed"


class TensorRTReader:
    """Reads layer by layer, in the order of the engine; a profile gives times alone."""

    kind = "tensorrt"
    title = "TensorRT layer information"
    EXAMPLES = (
        '{"Layers": [{"Name": "Reformatting CopyNode for Input Tensor 0 to conv", "LayerType": "Reformat",\n'
        '"Inputs": [{"Name": "x", "Dimensions": [1,3,8,8], "Format/Datatype": "Row major linear FP32"}],\n'
        '"Outputs": [{"Name": "y", "Dimensions": [1,3,8,8], '
        '"Format/Datatype": "Channel major FP16 format where channel % 8 == 0"}]}],\n"Bindings": ["x"]}',
        '[\n  { "count" : 10 }\n, { "name" : "conv", "timeMs" : 1.5, "averageMs" : 0.15, "percentage" : 100 }\n]',
    )

    def recognises(self, artefact: Artefact) -> bool:
        head = artefact.opening
        layers = head.lstrip().startswith("{") and re.search(r'"Layers"\s*:\s*\[', head) is not None
        return layers or _is_profile(head)

    def read(self, artefact: Artefact) -> Iterator[Found]:
        if _is_profile(artefact.opening):
            yield from _profile(artefact)
            return
        for line, layer in read_items(artefact, _layers_begin(artefact.opening)):
            if isinstance(layer, str):
                yield _named_layer(artefact.place(line, layer))
            elif isinstance(layer, dict):
                yield _layer(artefact.place(line, str(layer.get("Name", ""))), layer)
            else:
                yield artefact.trouble(f"no layer: {layer}", line)


READER = TensorRTReader()


def _layers_begin(head: str) -> str:
    """The text up to the first layer, however it is spaced."""
    at = head.find('"Layers"')
    return head[at : head.find("[", at) + 1] if at >= 0 and "[" in head[at:] else '"Layers"'


def _is_profile(head: str) -> bool:
    return head.lstrip().startswith("[") and '"averageMs"' in head


def _profile(artefact: Artefact) -> Iterator[Found]:
    """The layers of a profile: the time of all runs, whose number comes first."""
    runs = 1
    for line, entry in read_items(artefact):
        if not isinstance(entry, dict):
            yield artefact.trouble(f"no layer: {entry}", line)
        elif isinstance(entry.get("count"), int):
            runs = max(entry["count"], 1)
        elif isinstance(entry.get("name"), str):
            place, total = artefact.place(line, entry["name"]), entry.get("timeMs")
            if isinstance(total, (int, float)) and not isinstance(total, bool) and 0 <= total < inf:
                op = "Reformat" if entry["name"].startswith(_REFORMATTING) else "layer"
                yield Timing(place, op, total / 1e3, runs)
                if op == "Reformat":
                    side = Side("?", why="a profile has times alone: audit the layer information with it")
                    yield make_move(place, op, side, side, time=total / 1e3)
                else:
                    yield Step(place, op, time=total / 1e3)


def _named_layer(place: Place) -> Move | Step:
    """A layer of which the file has the name alone."""
    if not place.name.startswith(_REFORMATTING):
        return Step(place, "layer")
    side = Side("?", why=_NAMES_ONLY)
    return make_move(place, "Reformat", side, side)


def _layer(place: Place, layer: dict[str, Any]) -> Move | Step:
    kinds = [str(layer.get(key, "")) for key in ("LayerType", "ParameterType")]
    inputs, outputs = _tensors(layer.get("Inputs")), _tensors(layer.get("Outputs"))
    names = tuple([str(t.get("Name", "")) for t in inputs]), tuple([str(t.get("Name", "")) for t in outputs])
    if "Reformat" in kinds and not (inputs and outputs):
        side = Side("?", why="the file does not tell its tensors")
        return make_move(place, "Reformat", side, side)
    if len(inputs) == len(outputs) == 1:
        if "Reformat" in kinds or place.name.startswith(_REFORMATTING):
            sides = _side(inputs[0]), _side(outputs[0])
            idle = kinds[0] == "NoOp"
            said = [str(t.get("Format/Datatype", "")) for t in (inputs[0], outputs[0])]
            return make_move(
                place,
                "Reformat",
                *sides,
                shape=_sizes(outputs[0]) or (),
                copies=not idle,
                reads=names[0][0],
                writes=names[1][0],
                remarks=("no operation",) if idle else (),
                details={"formats": said},
            )
        if "shuffle" in [kind.lower() for kind in kinds]:
            return _shuffle(place, layer, inputs[0], outputs[0])
    alone = any(kind.lower() in _ELEMENTWISE for kind in kinds)
    if alone and outputs:
        names = (tuple([n for n, t in zip(names[0], inputs) if _sizes(t) == _sizes(outputs[0])]), names[1])
    sizes = [_side(t).stored_bytes for t in (*inputs, *outputs)]
    known = [n for n in sizes if n is not None]
    total = sum(known) if known and len(known) == len(sizes) else None
    return Step(place, kinds[0] or "layer", *names, alone, total)


def _shuffle(place: Place, layer: dict[str, Any], source: dict[str, Any], target: dict[str, Any]) -> Move:
    """A transpose, another shape, a transpose; said where both tensors are row-major and one of the three suffices."""
    before, after = _side(source), _side(target)
    sizes, result = _sizes(source), _sizes(target)
    flow: dict[str, Any] = {"reads": str(source.get("Name", "")), "writes": str(target.get("Name", ""))}
    linear = [isinstance(s.layout, Layout) and s.layout == Layout.row_major(s.layout.extents) for s in (before, after)]
    if sizes is not None and result is not None and all(linear):
        first = _order(layer.get("FirstTranspose"), len(sizes))
        second = _order(layer.get("SecondTranspose"), len(result))
        if first is not None and second is not None:
            between = tuple([result[second.index(d)] for d in range(len(result))])
            turned = tuple([sizes[d] for d in first])
            still = [list(order) == sorted(order) for order in (first, second)]
            if all(still):
                return make_view(place, "Shuffle", sizes, result, before.element, **flow)
            if still[1]:
                return make_transpose(place, "Shuffle", sizes, first, before.element, result=result, **flow)
            if still[0]:
                return make_transpose(place, "Shuffle", between, second, before.element, result=result, **flow)
            if between == turned:
                whole = [first[d] for d in second]
                return make_transpose(place, "Shuffle", sizes, whole, before.element, result=result, **flow)
    why = "what it reorders is not told"
    sides = [side._replace(layout=None, why=side.why or why) for side in (before, after)]
    return make_move(place, "Shuffle", sides[0], sides[1], shape=result or (), bytes=after.stored_bytes, **flow)


def _order(x: Any, rank: int) -> tuple[int, ...] | None:
    """The order of dimensions of a transpose; none is the usual one."""
    if x is None:
        return tuple(range(rank))
    return tuple(x[:rank]) if isinstance(x, list) and sorted(x[:rank]) == list(range(rank)) else None


def _tensors(x: Any) -> list[dict[str, Any]]:
    return [t for t in x if isinstance(t, dict)] if isinstance(x, list) else []


def _sizes(tensor: dict[str, Any]) -> tuple[int, ...] | None:
    sizes = tensor.get("Dimensions")
    return tuple(sizes) if isinstance(sizes, list) and all(type(n) is int for n in sizes) else None


def _side(tensor: dict[str, Any]) -> Side:
    """What a tensor is in memory: its sentence, for its sizes."""
    memory = str(tensor.get("Location", ""))
    text = str(tensor.get("Format/Datatype", "?")).strip()
    return _side_of(text, _sizes(tensor), "" if memory in ("Device", "") else memory)


@lru_cache(maxsize=4096)
def _side_of(text: str, sizes: tuple[int, ...] | None, memory: str) -> Side:
    meant = tensorrt_phrase(text)
    if meant is None:
        bare: Element | None = ELEMENTS.get(_BARE.get(text.lower(), ""))
        why = f"{text!r} tells no places" + ("" if bare is None else ": it is a type alone")
        return Side(text, None, bare, memory, why)
    if sizes is None or not _all_known(sizes):
        return Side(text, None, meant.element, memory, "a size is not known")
    try:
        shown = "row-major" if meant.is_linear and len(sizes) != 4 else meant.name
        return Side(shown, meant.format(len(sizes)).layout(sizes), meant.element, memory)
    except LayoutError as error:
        return Side(text, None, meant.element, memory, error.message)


def _all_known(sizes: Sequence[int]) -> bool:
    return all(n >= 0 for n in sizes)
