"""Modules of TVM: TVMScript of Relax with its index maps, and Relay's text with layouts by letters.

All values are row-major in the order of their dimensions. ``R.layout_transform`` stores the element at every coordinate
at the index that its map gives; ``layout_transform`` of Relay goes from one string, as ``NCHW``, to another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from ..dialects.tvm import parse_letters
from ..dialects.tvm_maps import read_index_map
from ..elements.types import Element
from ..errors import LayoutError, NotExpressible
from ..format.format import Format
from ..layout.layout import Layout
from .artefact import Artefact
from .making import make_move
from .move import Buffer, Found, Move, Place, Side, Step
from .permuting import NOWHERE, Size, for_all_sizes, known_sizes, make_transpose, make_view, placed_move
from .tvm_calls import (
    UNKNOWN,
    TvmAttributes,
    TvmCall,
    TvmFunction,
    TvmReturn,
    TvmTensor,
    integers,
    read_statements,
)

_TRANSPOSES = ("permute_dims", "transpose", "matrix_transpose")
_VIEWS = ("reshape", "flatten", "squeeze", "expand_dims", "batch_flatten", "contrib_reverse_reshape")
_ELEMENTWISE = """
abs add astype atan cast ceil clip copy cos cosh divide erf exp fast_erf fast_exp fast_tanh floor floor_divide gelu
gelu_tanh leaky_relu leakyrelu log maximum minimum multiply negative power prelu relu round rsqrt sigmoid sign silu sin
sinh softplus sqrt square subtract tan tanh
"""


class TvmReader:
    """Reads statement by statement; a function's names are its own."""

    kind = "tvm"
    BRACES = True
    title = "TVM module"
    EXAMPLES = (
        '@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((4, 6), dtype="float32")):\n'
        '        y: R.Tensor((6, 4), dtype="float32") = R.permute_dims(x, axes=[1, 0])\n        return y',
        'def @main(%x: Tensor[(1, 32, 8, 8), float32]) {\n  layout_transform(%x, src_layout="NCHW", '
        'dst_layout="NCHW16c") /* ty=Tensor[(1, 2, 8, 8, 16), float32] */\n}',
    )

    def recognises(self, artefact: Artefact) -> bool:
        head = artefact.opening
        script = "@R.function" in head or ("@I.ir_module" in head and "class " in head)
        return script or bool(re.search(r"\b(?:def|fn) @?\w*\s*\(%\w[^)]*: *Tensor\[", head))

    def read(self, artefact: Artefact) -> Iterator[Found]:
        reading = _ModuleReading(artefact)
        for statement in read_statements(artefact):
            yield from reading.statement(statement)


READER = TvmReader()


class _ModuleReading:
    """The types of the values of one function after another."""

    def __init__(self, artefact: Artefact) -> None:
        self.artefact = artefact
        self.function = TvmFunction(0, "", ())
        self.types: dict[str, TvmTensor] = {}
        self.told = False
        self.elementwise = frozenset(_ELEMENTWISE.split())

    def statement(self, statement: TvmCall | TvmFunction | TvmAttributes | TvmReturn) -> Iterator[Found]:
        if isinstance(statement, TvmFunction):
            self.function, self.types, self.told = statement, dict(statement.parameters), False
            return
        if not self.told:
            inputs = statement.inputs if isinstance(statement, TvmAttributes) else len(self.function.parameters)
            yield from self.parameters(inputs)
            self.told = True
        if isinstance(statement, TvmReturn):
            values = tuple([self.value(name) for name in statement.names])
            yield Step(self.artefact.place(statement.line, "return"), "return", values)
        elif isinstance(statement, TvmCall):
            yield self.call(statement)

    def parameters(self, inputs: int) -> Iterator[Buffer]:
        """The parameters: weights are those behind the inputs, where the function tells how many these are."""
        for k, (name, kind) in enumerate(self.function.parameters):
            if kind.shape is not None:
                shape = known_sizes(kind.shape)
                layout = None if -1 in shape else Layout.row_major(shape)
                side = Side("row-major", layout, kind.element, why="" if layout else "a size is not known")
                place = self.artefact.place(self.function.line, name)
                yield Buffer(place, side, shape, "input" if k < inputs else "constant", self.value(name))

    def value(self, name: str) -> str:
        return f"{self.function.name}.{name}"

    def call(self, call: TvmCall) -> Move | Step:
        place = self.artefact.place(call.line, call.result or call.op)
        op = call.op.split(".")[-1]
        source = self.types.get(call.arguments[0], UNKNOWN) if call.arguments else UNKNOWN
        element = source.element or call.type.element
        flow: dict[str, Any] = {"writes": self.value(call.result or f"line {call.line}")}
        if call.arguments:
            flow["reads"] = self.value(call.arguments[0])
        moved: Move | Step
        if op in _TRANSPOSES and call.arguments:
            moved = self.transpose(place, call, source, flow)
        elif op in _VIEWS and call.arguments:
            moved = make_view(place, call.op, source.shape, call.type.shape, element, **flow)
        elif op == "layout_transform" and call.arguments:
            moved = self.layout_transform(place, call, source, flow)
        else:
            moved = self.step(place, call, op in self.elementwise)
        shape = moved.shape if isinstance(moved, Move) else call.type.shape
        told = (
            call.type if call.type.shape is not None else TvmTensor(None if shape is None else _sizes(shape), element)
        )
        self.types[call.result] = told._replace(element=told.element or element)
        return moved

    def step(self, place: Place, call: TvmCall, alone: bool) -> Step:
        names = [name for part in call.arguments for name in re.findall(r"%?[A-Za-z_]\w*|%\d+", part)]
        names = [name for name in names if name in self.types]
        others: list[str] = []
        if alone:
            shape = call.type.shape or (self.types[names[0]].shape if names else None)
            others = [name for name in names if self.types[name].shape != shape]
            names = [name for name in names if self.types[name].shape == shape]
            if call.type.shape is None and shape is not None:
                call = call._replace(type=call.type._replace(shape=shape))
        sizes = [_bytes(self.types[name]) for name in (*names, *others)] + [_bytes(call.type)]
        known = [n for n in sizes if n is not None]
        total = sum(known) if len(known) == len(sizes) else None
        outputs = (self.value(call.result or f"line {call.line}"),)
        inputs, broadcast = (tuple([self.value(name) for name in given]) for given in (names, others))
        return Step(place, call.op, inputs, outputs, alone, total, broadcast=broadcast)

    def transpose(self, place: Place, call: TvmCall, source: TvmTensor, flow: dict[str, Any]) -> Move:
        written = call.keywords.get("axes", call.arguments[1] if len(call.arguments) > 1 else "None")
        if source.shape is None:
            return self.open(place, call, source, "its shape is not known", flow)
        rank = len(source.shape)
        order = tuple(reversed(range(rank))) if written == "None" else integers(written)
        if order is not None:
            order = tuple([d + rank if d < 0 else d for d in order])
        if order is None or sorted(order) != list(range(rank)):
            return self.open(place, call, source, f"its axes are {written}", flow)
        return make_transpose(place, call.op, source.shape, order, source.element, **flow)

    def open(self, place: Place, call: TvmCall, source: TvmTensor, why: str, flow: dict[str, Any]) -> Move:
        """A move of which nothing can be said."""
        sides = [Side("row-major", None, source.element, why=why), Side("?", None, source.element, why=why)]
        return make_move(place, call.op, sides[0], sides[1], shape=known_sizes(call.type.shape or ()), **flow)

    def layout_transform(self, place: Place, call: TvmCall, source: TvmTensor, flow: dict[str, Any]) -> Move:
        """By an index map, or from one string to another."""
        if source.shape is None:
            return self.open(place, call, source, "its shape is not known", flow)
        strings = [call.keywords.get(key, "").strip("\"'") for key in ("src_layout", "dst_layout")]
        index_map = call.keywords.get("index_map", call.arguments[1] if len(call.arguments) > 1 else "")

        try:
            made = _transform(call.op, source.shape, call.type.shape or (), source.element, tuple(strings), index_map)
        except LayoutError as error:
            return self.open(place, call, source, error.message, flow)
        return placed_move(made, place, **flow)


# ---- layouts ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _transform(
    op: str,
    shape: tuple[Size, ...],
    result: tuple[Size, ...],
    element: Element | None,
    strings: tuple[str, ...],
    index_map: str,
) -> Move:
    def at(sizes: tuple[int, ...]) -> Move:
        if all(strings):
            before, after = _between_strings(strings[0], strings[1], sizes)
            return make_move(NOWHERE, op, Side(strings[0], before, element), Side(strings[1], after, element))
        meant = read_index_map(index_map)
        plain, mapped = Layout.row_major(sizes), meant.layout(sizes)
        return make_move(NOWHERE, op, Side("row-major", plain, element), Side(meant.text, mapped, element))

    return for_all_sizes(at, shape, result, element)


def _between_strings(source: str, target: str, stored: tuple[int, ...]) -> tuple[Layout, Layout]:
    """Both layouts over the dimensions in the order of the source's letters, whose sizes its stored shape tells."""
    before, after = parse_letters(source), parse_letters(target)
    if before.axes is None or after.axes is None or sorted(before.axes) != sorted(after.axes):
        raise NotExpressible(
            f"{source} and {target} name different dimensions.",
            hint="use the same letters",
            source=source,
            target=target,
        )
    if len(stored) != len(before.factors):
        raise NotExpressible(
            f"{source} has {len(before.factors)} stored dimensions, and the tensor {len(stored)}.",
            hint="one size for each letter",
            shape=stored,
        )
    shape = [1] * before.rank
    for factor, size in zip(before.factors, stored):
        shape[factor.dim] *= size
    order = [after.axes.index(axis) for axis in before.axes]
    there = _layout_in_order(after, order, shape)
    return before.layout(tuple(shape)), there


def _layout_in_order(fmt: Format, order: Sequence[int], shape: Sequence[int]) -> Layout:
    """The layout of a format whose dimension ``order[k]`` is dimension ``k`` of the shape."""
    own = [0] * len(shape)
    for k, d in enumerate(order):
        own[d] = shape[k]
    return fmt.layout(tuple(own)).permute(*order)


def _bytes(kind: TvmTensor) -> int | None:
    if kind.shape is None or kind.element is None or -1 in known_sizes(kind.shape):
        return None
    return -(-prod(known_sizes(kind.shape)) * kind.element.bits // 8)


def _sizes(shape: Sequence[Size]) -> tuple[Size, ...]:
    return tuple([f"?{k}" if n == -1 else n for k, n in enumerate(shape)])
