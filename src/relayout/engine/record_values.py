"""What the fields of a record are worth together: a formula of them, in float32, each step rounded as it is written."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ShapeError, shown
from ..format.record import Record
from ..immutable import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLES = {
    "e2m1": (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12),
    "iq4nl": (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113),
}
"""Codebooks by their name in a formula: ``e2m1`` are the values of the 4-bit float, doubled; ``iq4nl`` is ggml's."""


class _Value(NamedTuple):
    """An array with so many elements of each block along each axis."""

    array: NDArray[Any]
    shape: tuple[int, ...]


def evaluate(record: Record, stored: Mapping[str, NDArray[Any]], grid: tuple[int, ...]) -> NDArray[Any]:
    """The value of every element of the tensor."""
    try:
        tree = ast.parse(record.value or "", mode="eval").body
    except SyntaxError:
        raise _no_formula(record.value) from None
    found = _spread(_Formula(record, stored).value_of(tree), record.block, len(grid) - record.rank)
    return found.array


class _Formula:
    def __init__(self, record: Record, stored: Mapping[str, NDArray[Any]]) -> None:
        self.record, self.stored = record, stored

    def value_of(self, node: ast.AST) -> _Value:
        import numpy as np

        rank = self.record.rank
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return _Value(np.float32(node.value), (1,) * rank)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            field = self.record[node.id]
            return _Value(self._meant(node.id).astype(np.float32), field.shape)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            return self._combine(_OPERATIONS[type(node.op)], self.value_of(node.left), self.value_of(node.right))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Name):
            table, name = TABLES.get(node.value.id), node.slice.id
            if table is not None:
                return _Value(np.array(table, np.float32)[self.stored[name]], self.record[name].shape)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            function, argument = _FUNCTIONS.get(node.func.id), node.args[0]
            if function is not None and isinstance(argument, ast.Name):
                return _Value(function(self.stored[argument.id]), self.record[argument.id].shape)
        raise _no_formula(self.record.value)

    def _meant(self, name: str) -> NDArray[Any]:
        """The stored integers less the one that means 0."""
        import numpy as np

        zero = self.record[name].zero
        return self.stored[name].astype(np.int32) - zero if zero else self.stored[name]

    def _combine(self, operation: Any, a: _Value, b: _Value) -> _Value:
        import numpy as np

        shape = tuple([max(n, m) for n, m in zip(a.shape, b.shape)])
        batch = max(a.array.ndim, b.array.ndim) - self.record.rank
        x, y = _spread(a, shape, batch), _spread(b, shape, batch)
        with np.errstate(all="ignore"):
            return _Value(operation(x.array, y.array), shape)


def _spread(value: _Value, shape: tuple[int, ...], batch: int) -> _Value:
    """Every element repeated until there are ``shape`` of them in a block."""
    import numpy as np

    array = value.array
    if array.ndim:
        for axis, (n, wanted) in enumerate(zip(value.shape, shape)):
            if wanted % n:
                raise ShapeError(
                    f"{wanted} elements of a block are no multiple of {n}.", hint="give fields that divide each other"
                )
            array = np.repeat(array, wanted // n, axis=batch + axis) if wanted != n else array
    return _Value(array, shape)


def _half_e8m0(codes: NDArray[Any]) -> NDArray[Any]:
    """Half the power of two that an exponent byte means, as ggml has it: 255 is a number too."""
    import numpy as np

    exponents = codes.astype(np.uint32)
    bits = np.where(exponents < 2, np.uint32(0x00200000) << exponents, (exponents - 1) << np.uint32(23))
    return bits.astype(np.uint32).view(np.float32)


def _half_ue4m3(codes: NDArray[Any]) -> NDArray[Any]:
    """Half of what an E4M3 byte without sign means, as ggml has it; 0 and 127 mean 0."""
    import numpy as np

    exponent, mantissa = (codes >> 3 & 15).astype(np.int32), (codes & 7).astype(np.float32)
    normal = np.ldexp(1 + mantissa / 8, exponent - 7).astype(np.float32)
    found = np.where(exponent == 0, np.ldexp(mantissa, -9).astype(np.float32), normal) * np.float32(0.5)
    return np.where((codes == 0) | (codes == 127), np.float32(0), found).astype(np.float32)


def _operations() -> dict[type, Any]:
    import operator

    return {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


_OPERATIONS = _operations()
_FUNCTIONS = {"half_e8m0": _half_e8m0, "half_ue4m3": _half_ue4m3}


def _no_formula(text: Any) -> ShapeError:
    return ShapeError(
        f"{shown(text)} is no formula of the fields.",
        hint=f"fields, numbers, + - *, a table ({', '.join(TABLES)}) as in iq4nl[qs], or {', '.join(_FUNCTIONS)}",
        formula=text,
    )
