"""MLIR as a target: functions on tensors in the dialects ``func``, ``tensor``, ``linalg``, ``affine`` and ``arith``."""

from __future__ import annotations

from ..errors import NotExpressible
from ..layout.layout import Layout
from .array_proof import proves_source, proves_target
from .array_steps import ArrayMove, build_move, joined_steps, packed_side
from .mlir_check import CHECK, check_text
from .mlir_conversion import check_conversion, constants, converted_value
from .mlir_index import affine_place, write_index
from .mlir_lines import FLOATS, MlirBody, mlir_type, tensor_type
from .mlir_steps import StepWriter
from .operands import DigitOperand, box_operand
from .program import CheckedSize, IndexFunctions, PackFunction
from .values import Monomial


class MlirWriter:
    """The text of one function."""

    def __init__(self, function: PackFunction) -> None:
        if function.conversion is not None:
            check_conversion(*function.conversion)
        self.function = function
        self.kind = mlir_type(function.element)
        self.target_kind = mlir_type(function.target_element)

    def text(self) -> str:
        function = self.function
        source, target = function.source.storage, function.target.storage
        body = MlirBody(function.definitions)
        steps = StepWriter(body, self.target_kind, self._fill())
        result = self._empty(steps) if function.nest.empty else self._write_move(steps)
        lines = [f"// {line}" for line in function.about]
        arguments = ", ".join([f"%src: {tensor_type((source,), self.kind)}", *[f"%{n}: index" for n in function.sizes]])
        lines.append(f"func.func @{function.name}({arguments}) -> {tensor_type((target,), self.target_kind)} {{")
        lines += [*body.lines, f"  return {result} : {tensor_type((target,), self.target_kind)}", "}"]
        return "\n".join(lines)

    def _fill(self) -> str:
        """One stored value; floats by their bits."""
        fill = self.function.fill
        if self.target_kind in FLOATS.values():
            return f"0x{int.from_bytes(fill, 'little'):0{2 * len(fill)}X}"
        return str(int.from_bytes(fill, "little", signed=True))

    def _empty(self, steps: StepWriter) -> str:
        """New memory that holds the fill."""
        target = self.function.target.storage
        fill, into = steps.body.constant(self._fill(), steps.kind), steps.body.empty((target,), steps.kind)
        kind = tensor_type((target,), steps.kind)
        return steps.body.add(f"linalg.fill ins({fill} : {steps.kind}) outs({into} : {kind}) -> {kind}")

    def _write_move(self, steps: StepWriter) -> str:
        function = self.function
        layouts = function.layouts or (None, None)
        sides = [_plain_side(x, layout) for x, layout in zip((function.source, function.target), layouts)]
        x = "%src"
        zero = "0x0" if self.kind in FLOATS.values() else "0"
        first = steps if function.conversion is None else StepWriter(steps.body, self.kind, zero)
        if function.source.swizzle is not None:
            x = first.swizzle(x, function.source.swizzle, function.source.storage, sides[0][0].storage)
        move = _proven_steps(function, sides)
        if move.before is None:
            x = self._gather(x, first, sides[0][0], move)
        if function.conversion is None:
            x = steps.write(x, joined_steps(move.before or (), move.after or ()))
        else:
            x = self._convert(first.write(x, move.before or ()), steps, move)
            x = steps.write(x, move.after or ())
        if function.target.swizzle is not None:
            x = steps.swizzle(x, function.target.swizzle, sides[1][0].storage, function.target.storage)
        return x

    def _convert(self, x: str, steps: StepWriter, move: ArrayMove) -> str:
        """All values, one by one."""
        if self.function.conversion is None:
            return x
        numbers = constants(steps.body, self.function.conversion[0])
        shape = tuple([axis.size for axis in move.waist])
        found = steps.generate(shape)
        places = [steps.body.add(f"linalg.index {k} : index") for k in range(len(shape))]
        value = steps.body.add(f"tensor.extract {x}[{', '.join(places)}] : {tensor_type(shape, self.kind)}")
        return steps.close(found, converted_value(steps.body, value, *self.function.conversion, numbers), shape)

    def _gather(self, x: str, steps: StepWriter, source: DigitOperand, move: ArrayMove) -> str:
        """The elements by their places in the source."""
        zero = steps.body.constant("0")
        shape = tuple([axis.size for axis in move.waist])
        steps.body.comment(", ".join([self.function.names[axis.dim] for axis in move.waist]))
        found = steps.generate(shape)
        coordinates = [zero] * len(source.dims)
        for k, axis in enumerate(move.waist):
            coordinates[axis.dim] = steps.body.add(f"linalg.index {k} : index")
        place = affine_place(steps.body, source, coordinates)
        value = steps.body.add(f"tensor.extract {x}[{place}] : {tensor_type((source.storage,), self.kind)}")
        return steps.close(found, value, shape)


Side = tuple[DigitOperand, Layout | None]


def _plain_side(given: DigitOperand, layout: Layout | None) -> Side:
    """An operand without its swizzle, with all of its box where that lies apart."""
    if layout is None:
        return given, None
    plain = layout if layout.swizzle is None else layout.with_swizzle(None)
    box = box_operand(plain)
    if packed_side(box, range(len(box.dims))).axes is not None:
        return box, plain
    return given._replace(swizzle=None, storage=Monomial(plain.storage_size)), plain


def _proven_steps(function: PackFunction, sides: list[Side]) -> ArrayMove:
    """The steps between both, all of them proven; None in front of the waist where elements must be gathered."""
    (first, a), (second, b) = sides
    move = build_move(function.names, function.extents, first, second)
    reads = move.before is not None and proves_source(move, first, function.extents, a)
    if move.after is not None and proves_target(move, second, function.extents, b):
        if reads:
            return move
        if a is not None:
            every = frozenset(range(len(function.names)))
            split = build_move(function.names, function.extents, first, second, every)
            if proves_target(split, second, function.extents, b):
                return split._replace(before=None)
    raise NotExpressible(
        f"the target of {function.name} is no array of axes: steps of some digits lie within others.",
        hint="take a target with scatters, as numpy or c",
        target="mlir",
    )


class MlirTarget:
    """Functions from one flat tensor to another, which every compiler that takes ``linalg`` on tensors takes.

    A text with its test has a function ``check``, which returns 0 for 1.
    """

    name = "mlir"
    suffix = ".mlir"
    about = "linalg.pack, linalg.unpack and reshapes of flat tensors"
    reserved = frozenset([CHECK, *[f"{CHECK}_{kind}" for kind in (*FLOATS.values(), "i8", "i16", "i32", "i64")]])

    def write_pack(self, functions: list[PackFunction]) -> str:
        return "\n\n".join([MlirWriter(function).text() for function in functions]) + "\n"

    def write_index(self, functions: IndexFunctions) -> str:
        return write_index(functions)

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        return (
            "\n\n".join([*[MlirWriter(function).text() for function in functions], check_text(functions, runs)]) + "\n"
        )


TARGET = MlirTarget()
