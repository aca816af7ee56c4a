"""einops as a target: one pattern, where both memories hold nothing but the elements, in two orders of axes."""

from __future__ import annotations

import keyword
from math import lcm
from typing import NamedTuple

from ..errors import NotExpressible
from .array_library import ArrayLibrary
from .array_proof import proves_source, proves_target
from .array_steps import ArrayStep, WaistAxis, build_move, joined_steps
from .array_target import BUILTINS, SAMPLE, check_text, main_text
from .operands import DigitOperand, box_operand
from .program import CheckedSize, IndexFunctions, PackFunction
from .python_text import Bracketed, PythonLines, call, under_imports, value_text
from .values import ONE, Definition, Monomial

Substitutes = dict[str, Monomial]


class WholeBlocks(NamedTuple):
    """A pair at sizes that are multiples of all blocks: its operands, and for each such size the multiple."""

    source: DigitOperand
    target: DigitOperand
    extents: tuple[Monomial, ...]
    multiples: dict[str, int]
    quotients: dict[str, str]
    """What the names of the operands stand for."""


def whole_blocks(function: PackFunction) -> WholeBlocks:
    """The operands of a function, as they are where every size is a multiple of the blocks that cut it."""
    used = {
        name
        for side in (function.source, function.target)
        for own in side.dims
        for digit in own
        for value in digit[:3]
        for name in value.names
    }
    cut = {x.name: (x.value.names[0], x.divisor) for x in function.definitions if x.name in used and _cuts_a_size(x)}
    multiples: dict[str, int] = {}
    for name, block in cut.values():
        multiples[name] = lcm(multiples.get(name, 1), block.number)
    found: Substitutes = {name: Monomial(n, (f"{name}_blocks",)) for name, n in multiples.items()}
    quotients = {f"{name}_blocks": f"{name} // {n}" for name, n in multiples.items()}
    for count, (name, block) in cut.items():
        found[count] = found[name].over(block)
    if function.layouts is not None:
        source, target = map(box_operand, function.layouts)
    else:
        source, target = [_substituted_operand(x, found) for x in (function.source, function.target)]
    extents = tuple([_substitute(n, found) for n in function.extents])
    return WholeBlocks(source, target, extents, multiples, quotients)


def _cuts_a_size(definition: Definition) -> bool:
    value = definition.value
    return not definition.whole and definition.divisor.known and value == Monomial(1, value.names[:1])


def _substitute(value: Monomial, found: Substitutes) -> Monomial:
    total = Monomial(value.number)
    for name in value.names:
        total *= found.get(name, Monomial(1, (name,)))
    return total


def _substituted_operand(operand: DigitOperand, found: Substitutes) -> DigitOperand:
    dims = []
    for own in operand.dims:
        digits = []
        for digit in own:
            size, place, stride = [_substitute(x, found) for x in digit[:3]]
            digits.append(digit._replace(size=size, place=place, stride=stride))
        dims.append(tuple(digits))
    offset = tuple([_substitute(x, found) for x in operand.offset])
    return operand._replace(dims=tuple(dims), offset=offset, storage=_substitute(operand.storage, found))


class EinopsWriter:
    """The text of one function: a pattern, or the reason why there is none."""

    def __init__(self, function: PackFunction) -> None:
        self.function = function
        self.blocks = whole_blocks(function)

    def text(self) -> str:
        left, right = self._axes()
        lines = PythonLines()
        lines.statement(0, "def ", Bracketed(f"{self.function.name}(", ("src", *self.function.sizes), ")"), ":")
        words = "src is the memory of the source; that of the target comes out, flat."
        first, *rest = [line.replace('"', "'") for line in (*self.function.about, words)]
        lines.docstring(1, first, rest)
        for name, multiple in self.blocks.multiples.items():
            if multiple > 1:
                lines.add(1, f"if {name} % {multiple}:")
                lines.add(2, f'raise ValueError("einops pads nothing: {name} must be a multiple of {multiple}")')
        names = self._names(left)
        pattern = f"({' '.join([names[x] for x in left])}) -> ({' '.join([names[x] for x in right])})"
        sizes = [f"{names[x]}={self._size(x.size)}" for x in left]
        if not left:
            pattern, sizes = "x -> x", []
        lines.statement(1, "return ", call("rearrange", "src.reshape(-1)", f'"{pattern}"', *sizes))
        return "\n".join(lines.lines)

    def _size(self, value: Monomial) -> str:
        for name, multiple in self.blocks.multiples.items():
            if value == Monomial(multiple, (f"{name}_blocks",)):
                return name
        text = value_text(value)
        for name, quotient in self.blocks.quotients.items():
            text = text.replace(name, quotient if text == name else f"({quotient})")
        return text

    def _names(self, axes: list[WaistAxis]) -> dict[WaistAxis, str]:
        """A name for each axis: that of its dimension, and a number where it is one of several digits."""
        found = {}
        for axis in axes:
            own = sorted([x for x in axes if x.dim == axis.dim], key=lambda x: (len(x.place.names), x.place.number))
            name = self.function.names[axis.dim]
            found[axis] = name if len(own) == 1 else f"{name}_{own.index(axis)}"
        return found

    def _axes(self) -> tuple[list[WaistAxis], list[WaistAxis]]:
        """The axes of both memories, the slowest first."""
        self._check_elements()
        function, blocks = self.function, self.blocks
        if function.nest.empty:
            raise self._refusal("there are no elements", "give a shape that has some")
        move = build_move(function.names, blocks.extents, blocks.source, blocks.target)
        layouts = function.layouts or (None, None)
        if move.before is None or move.after is None:
            raise self._refusal("a side is no array of axes: digits share places, or are repeated", "take numpy")
        proven = proves_source(move, blocks.source, blocks.extents, layouts[0]) and proves_target(
            move, blocks.target, blocks.extents, layouts[1]
        )
        steps = joined_steps(move.before, move.after)
        self._check_steps(steps)
        if not proven:
            raise self._refusal("no order of axes is proven to be the pair", "take numpy")
        turn = next((step for step in steps if step.kind == "transpose"), None)
        axes = [axis for axis in move.parts if axis.size != ONE]
        if turn is None:
            return axes, axes
        kept = [move.parts[k] for k in turn.detail]
        return axes, [axis for axis in kept if axis.size != ONE]

    def _check_elements(self) -> None:
        function = self.function
        if function.conversion is not None:
            raise self._refusal("it moves values as they are, and these are converted", "take numpy, torch or jax")
        if function.element.bits < 8:
            raise self._refusal("it moves whole elements of arrays, and these share bytes", "take numpy, torch or jax")
        if function.source.swizzle is not None or function.target.swizzle is not None:
            raise self._refusal("a swizzle is no order of axes", "take numpy, torch or jax")

    def _check_steps(self, steps: list[ArrayStep]) -> None:
        kinds = [step.kind for step in steps]
        if "pad" in kinds or "slice" in kinds:
            raise self._refusal(
                "it pads and slices nothing, and one side has places beside the elements",
                "take a shape of whole blocks, or numpy, torch or jax",
            )
        if "flip" in kinds:
            raise self._refusal("it reverses no axis, and one side counts backwards", "take numpy, torch or jax")
        if kinds.count("transpose") > 1:
            raise self._refusal(
                "a dimension is cut at places that do not divide each other, which takes two patterns",
                "go by way of a format without those blocks",
            )

    def _refusal(self, why: str, hint: str) -> NotExpressible:
        return NotExpressible(f"einops has no pattern for {self.function.name}: {why}.", hint=hint, target="einops")


class EinopsTarget:
    """A call of ``rearrange``, on arrays of any library that einops knows."""

    name = "einops"
    suffix = ".py"
    about = "one pattern for rearrange, where no side has padding"
    imports = ("from einops import rearrange",)
    reserved = frozenset([*keyword.kwlist, *BUILTINS, "np", "rearrange", "sample", "checksum"])

    def write_pack(self, functions: list[PackFunction]) -> str:
        texts = [EinopsWriter(function).text() for function in functions]
        return "\n\n\n".join([*self.imports, *texts]) + "\n"

    def write_index(self, functions: IndexFunctions) -> str:
        raise NotExpressible(
            "einops tells orders of axes, and no places of elements.", hint="take numpy, torch or jax", target=self.name
        )

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        texts = [EinopsWriter(function).text() for function in functions]
        kept = [_whole_runs(function, own) for function, own in zip(functions, runs)]
        library = ArrayLibrary()
        checks = [check_text(function, library) for function in functions]
        body = [*texts, SAMPLE, *checks, main_text(functions, kept, ())]
        return "import numpy as np\n" + "\n".join(self.imports) + "\n\n\n" + under_imports((), body)


def _whole_runs(function: PackFunction, runs: list[CheckedSize]) -> list[CheckedSize]:
    """The runs at sizes that need no padding."""
    multiples = whole_blocks(function).multiples
    return [run for run in runs if all(n % multiples.get(name, 1) == 0 for name, n in zip(function.sizes, run.sizes))]


TARGET = EinopsTarget()
