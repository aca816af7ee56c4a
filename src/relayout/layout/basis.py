"""Strides that point along coordinates instead of memory: ``E(1, 0) * 3`` is three steps along mode 1, submode 0."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import LimitExceeded, ShapeError
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..integers.nested import MAX_DEPTH

MAX_MODES = 1 << 10
"""Mode numbers stay below this, so that coordinates stay small."""


class Basis(Immutable):
    """An integer combination of coordinate axes; ``str`` is CuTe's form, innermost mode first: ``3@0@1``.

    A term of 0 stays: it is a place in the coordinate.
    """

    __slots__ = ("terms",)
    terms: tuple[tuple[tuple[int, ...], int], ...]

    def __new__(cls, terms: Iterable[tuple[tuple[int, ...], int]]) -> Basis:
        total: dict[tuple[int, ...], int] = {}
        for path, scale in terms:
            total[path] = total.get(path, 0) + scale
        self = super().__new__(cls)
        object.__setattr__(self, "terms", tuple(sorted(total.items())))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Basis, (self.terms,)

    def __mul__(self, scale: int) -> Basis:
        factor = as_int(scale, "the scale of a basis stride")
        return Basis((path, k * factor) for path, k in self.terms)

    __rmul__ = __mul__

    def __add__(self, other: Basis | int) -> Basis:
        if isinstance(other, Basis):
            return Basis(self.terms + other.terms)
        if other == 0:
            return self
        raise ShapeError(
            f"{self} is a coordinate: it cannot be added to the number {other}.", hint="add E(...) * k", a=self, b=other
        )

    __radd__ = __add__

    def __neg__(self) -> Basis:
        return self * -1

    def __sub__(self, other: Basis | int) -> Basis:
        return self + -other

    def __rsub__(self, other: int) -> Basis:
        return -self + other

    def _no_memory(self, *_: object) -> Any:
        raise ShapeError(
            f"stride {self} points along a coordinate, so it spans no memory.",
            hint="layouts with basis strides can be called, sliced and composed; nothing else",
            stride=self,
        )

    __abs__ = __lt__ = __le__ = __gt__ = __ge__ = __floordiv__ = __mod__ = __lshift__ = _no_memory

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Basis):
            return self.terms == other.terms
        return False

    def __hash__(self) -> int:
        return hash(self.terms)

    def __repr__(self) -> str:
        parts = [f"E({', '.join(map(str, path))})" + (f" * {k}" if k != 1 else "") for path, k in self.terms]
        return " + ".join(parts)

    def __str__(self) -> str:
        parts = [f"{k}{''.join(f'@{i}' for i in reversed(path))}" for path, k in self.terms]
        return "+".join(parts)


def E(*path: int) -> Basis:
    """The unit step along the mode that ``path`` names: ``E(1)`` is mode 1, ``E(1, 0)`` its first submode."""
    if not path:
        raise ShapeError("E() names no mode.", hint="write E(0) for the first mode")
    if len(path) > MAX_DEPTH:
        raise LimitExceeded(
            f"E(...) is nested deeper than {MAX_DEPTH} levels.", hint="name fewer levels", limit=MAX_DEPTH
        )
    steps = tuple([as_int(i, "a mode number") for i in path])
    if min(steps) < 0:
        raise ShapeError(
            f"E({', '.join(map(str, steps))}): mode numbers start at 0.", hint="count modes from 0", path=steps
        )
    if max(steps) >= MAX_MODES:
        raise LimitExceeded(
            f"E(...) names a mode past {MAX_MODES}.", hint="coordinates have fewer entries", limit=MAX_MODES
        )
    return Basis([(steps, 1)])


def drop_zero_terms(offset: Any, strides: Iterable[Any]) -> Any:
    """``offset`` without the zero terms of axes that ``strides`` name anyway; 0 when nothing is left."""
    if not isinstance(offset, Basis):
        return offset
    named = {path for d in strides if isinstance(d, Basis) for path, _ in d.terms}
    terms = [(path, k) for path, k in offset.terms if k or path not in named]
    return Basis(terms) if terms else 0


def as_coordinate(vector: Basis | int, strides: Iterable[Basis | int]) -> Any:
    """``vector`` as a nested coordinate with room for every axis that ``strides`` name."""
    tree: dict[int, Any] = {}
    for stride in strides:
        if isinstance(stride, Basis):
            for path, _ in stride.terms:
                _add_axis(tree, path)
    values = dict(vector.terms) if isinstance(vector, Basis) else {}
    return _read_tree(tree, (), values)


def _add_axis(tree: dict[int, Any], path: tuple[int, ...]) -> None:
    for k, step in enumerate(path):
        last = k == len(path) - 1
        known = tree.get(step)
        if known is not None and (known == {}) != last:
            raise ShapeError(
                f"basis strides name both a mode and its submodes at {path}.", hint="use the submodes only", path=path
            )
        tree = tree.setdefault(step, {})


def _read_tree(tree: dict[int, Any], path: tuple[int, ...], values: dict[tuple[int, ...], int]) -> Any:
    if not tree:
        return values.get(path, 0)
    return tuple([_read_tree(tree.get(k, {}), (*path, k), values) for k in range(max(tree) + 1)])
