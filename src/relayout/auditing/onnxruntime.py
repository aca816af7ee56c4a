"""Profiles of ONNX Runtime: the times of nodes, and from the shapes in them what a node can have moved.

A profile tells neither the order of a Transpose nor how many channels a block has. What all possible answers agree on
is said; the model beside it decides the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

from ..elements.types import ELEMENTS, Element
from ..files.onnx_nchwc import BLOCKS
from .artefact import Artefact
from .candidates import agreed_move, orders_between
from .json_items import read_items
from .making import make_move, make_side
from .move import Found, Move, Step, Timing
from .onnx_operators import MOVES, VIEWS
from .permuting import NOWHERE, make_transpose, make_view, placed_move

_TYPES = {"float": "float32", "double": "float64"}
_END = "_kernel_time"


class OnnxRuntimeReader:
    """Reads the events one after another: ``session.end_profiling()`` writes one on each line."""

    kind = "onnxruntime"
    title = "ONNX Runtime profile"
    EXAMPLES = (
        '[\n{"cat": "Session", "dur": 5, "ts": 3, "ph": "X", "name": "model_run", "args": {}},\n'
        '{"cat": "Node", "dur": 7, "ts": 9, "ph": "X", "name": "t_kernel_time", "args": {"op_name": "Transpose", '
        '"provider": "CPUExecutionProvider", "input_type_shape": [{"float": [1, 2, 3]}], '
        '"output_type_shape": [{"float": [1, 3, 2]}]}}\n]',
    )

    def recognises(self, artefact: Artefact) -> bool:
        head = artefact.opening
        return head.lstrip()[:1] == "[" and '"cat"' in head and '"ph"' in head and _is_profile(head)

    def read(self, artefact: Artefact) -> Iterator[Found]:
        for line, event in read_items(artefact):
            if not isinstance(event, dict):
                yield artefact.trouble(f"no event: {event}", line)
            elif event.get("cat") == "Node" and str(event.get("name", "")).endswith(_END):
                yield from _node(artefact, line, event)


READER = OnnxRuntimeReader()


def _is_profile(head: str) -> bool:
    return any(word in head for word in ('"op_name"', "model_loading_", "session_initialization", '"model_run"'))


def _node(artefact: Artefact, line: int, event: dict[str, Any]) -> Iterator[Found]:
    args = event.get("args")
    args = args if isinstance(args, dict) else {}
    name, op = str(event["name"])[: -len(_END)], str(args.get("op_name", ""))
    place, time = artefact.place(line, name), _seconds(event.get("dur"))
    inputs, outputs = _shapes(args.get("input_type_shape")), _shapes(args.get("output_type_shape"))
    if time is not None:
        yield Timing(place, op, time)
    if op in MOVES and inputs and outputs:
        yield placed_move(_move(op, inputs[0], outputs[0]), place, time=time)
    else:
        sizes = [None if e is None else -(-prod(shape) * e.bits // 8) for e, shape in (*inputs, *outputs)]
        known = [n for n in sizes if n is not None]
        yield Step(place, op, bytes=sum(known) if known and len(known) == len(sizes) else None, time=time)


def _seconds(x: Any) -> float | None:
    return x / 1e6 if isinstance(x, (int, float)) and not isinstance(x, bool) and x >= 0 else None


def _shapes(x: Any) -> list[tuple[Element | None, tuple[int, ...]]]:
    """The elements and sizes of ``[{"float": [1, 2]}, ...]``."""
    found: list[tuple[Element | None, tuple[int, ...]]] = []
    for entry in x if isinstance(x, list) else []:
        for kind, sizes in entry.items() if isinstance(entry, dict) else ():
            if isinstance(sizes, list) and all(isinstance(n, int) and n >= 0 for n in sizes):
                found.append((ELEMENTS.get(_TYPES.get(str(kind), str(kind))), tuple(sizes)))
    return found


@lru_cache(maxsize=4096)
def _move(
    op: str, before: tuple[Element | None, tuple[int, ...]], after: tuple[Element | None, tuple[int, ...]]
) -> Move:
    element, (source, target) = before[0] or after[0], (before[1], after[1])
    if op in VIEWS:
        return make_view(NOWHERE, op, source, target, element)
    candidates: list[Move] = []
    if op == "Transpose":
        orders = orders_between(source, target)
        candidates = [make_transpose(NOWHERE, op, source, order, element) for order in orders]
    elif op.startswith("Reorder") and len(source) == len(target) == 4:
        candidates = _reorders(op, source, target, element)
    stored = None if element is None else -(-prod(target) * element.bits // 8)
    return agreed_move(candidates, NOWHERE, op, target, element, bytes=stored)


def _reorders(op: str, source: tuple[int, ...], target: tuple[int, ...], element: Element | None) -> list[Move]:
    """Every block and order of channels that fits both shapes."""
    out = op == "ReorderOutput"
    plain, blocked = (target, source) if out else (source, target)
    found = []
    for last in (False, True):
        n, c, h, w = (plain[0], plain[3], plain[1], plain[2]) if last else plain
        for block in BLOCKS:
            if (n, -(-c // block) * block, h, w) == blocked:
                tag = "nhwc" if last else "nchw"
                side = make_side(tag, shape=(n, c, h, w), element=element, dialect="onednn", shown=tag.upper())
                inner = make_side(f"NCHW{block}c", shape=(n, c, h, w), element=element, dialect="tvm")
                found.append(make_move(NOWHERE, op, *((inner, side) if out else (side, inner))))
    return found
