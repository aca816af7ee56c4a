"""Nested tuples of integers: their structure, their coordinates, and the arithmetic of both.

Functions on ``int`` and ``tuple`` that check what they are given. Coordinates run in colexicographic order: the
leftmost entry is the fastest.
"""

from __future__ import annotations

from operator import index as to_index
from typing import Any, TypeAlias

from ..errors import NotExpressible, OutOfBounds, ShapeError, shown
from . import nested
from .nested import MAX_DEPTH, within_depth

Ints: TypeAlias = "int | tuple[Ints, ...]"
"""An integer or a (nested) tuple of integers."""


def as_int(x: Any, what: str) -> int:
    """``x`` as a Python integer; numpy integers count, booleans and floats do not."""
    if type(x) is int:
        return x
    if not isinstance(x, bool):
        try:
            return to_index(x)
        except TypeError:
            pass
    raise ShapeError(
        f"{what} must be an integer, got {shown(x)} of type {type(x).__name__}.",
        hint="use int or numpy integers",
        got=x,
    )


def as_ints(x: Any, what: str = "an IntTuple") -> Ints:
    """``x`` as nested plain tuples of Python integers; lists count as tuples."""
    if x.__class__ is int or _is_plain(x, 0):
        return x  # type: ignore[no-any-return]
    return _convert(within_depth(x, what), what)


def as_shape(x: Any, what: str = "shape") -> Ints:
    """``x`` as nested tuples of sizes >= 0."""
    shape = as_ints(x, what)
    smallest = min(nested.flatten(shape), default=0)
    if smallest < 0:
        raise ShapeError(
            f"{what} {shown(shape)} has the negative size {smallest}.",
            hint="sizes are >= 0; 0 makes an empty layout",
            shape=shape,
        )
    return shape


def _convert(x: Any, what: str) -> Ints:
    if isinstance(x, tuple | list):
        return tuple([_convert(e, what) for e in x])
    return as_int(x, what)


def _is_plain(x: Any, level: int) -> bool:
    """Whether ``x`` is nested plain tuples of Python integers already."""
    if x.__class__ is not tuple or level >= MAX_DEPTH:
        return False
    for e in x:
        if e.__class__ is not int and not _is_plain(e, level + 1):
            return False
    return True


class IntTuple(tuple[Any, ...]):
    """A nested tuple of integers, with Mojo's methods; it equals the plain tuple, and goes wherever one does.

    Shapes and strides of layouts are plain tuples: ``IntTuple(*L.shape)`` has the methods.

    >>> shape = IntTuple(4, IntTuple(2, 2))
    >>> shape == (4, (2, 2)), shape[1], shape.product_flatten()
    (True, IntTuple(2, 2), IntTuple(4, 4))
    """

    __slots__ = ()

    def __new__(cls, *items: Any) -> IntTuple:
        return super().__new__(cls, [_nest_class(as_ints(item)) for item in items])

    def __reduce__(self) -> tuple[Any, ...]:
        return IntTuple, tuple(self)

    def __getitem__(self, k: Any) -> Any:
        entry = super().__getitem__(k)
        return IntTuple(*entry) if isinstance(k, slice) else entry

    def __add__(self, other: Any) -> IntTuple:
        return IntTuple(*self, *other) if isinstance(other, tuple) else NotImplemented

    def __repr__(self) -> str:
        return f"IntTuple({', '.join(map(repr, self))})"

    def __str__(self) -> str:
        return f"({', '.join(map(str, self))})"

    def is_value(self, k: int) -> bool:
        """Whether entry ``k`` is an integer."""
        return not self.is_tuple(k)

    def is_tuple(self, k: int) -> bool:
        """Whether entry ``k`` is a tuple."""
        return isinstance(self[k], tuple)

    def count_values(self) -> int:
        """The number of integers, at every level."""
        return len(nested.flatten(as_ints(self)))

    def flatten(self) -> IntTuple:
        """The integers from left to right."""
        return IntTuple(*flatten(self))

    def product_flatten(self) -> IntTuple:
        """The product of each entry."""
        return IntTuple(*product_each(self))


def _nest_class(t: Ints) -> Ints:
    return IntTuple(*t) if isinstance(t, tuple) else t


def flatten(t: Any) -> tuple[int, ...]:
    """The leaves from left to right."""
    return nested.flatten(as_ints(t))


def product(t: Any) -> int:
    """The product of all leaves; 1 for the empty tuple."""
    return nested.product(as_ints(t))


def product_each(t: Any) -> tuple[int, ...]:
    """The product of each top-level mode, as a tuple; an integer is one mode, as in CuTe."""
    t = as_ints(t)
    return tuple([nested.product(e) for e in t]) if isinstance(t, tuple) else (t,)


def prefix_product(t: Any, init: int = 1) -> Any:
    """For each leaf the product of all leaves to its left, times ``init``: compact column-major strides."""
    return nested.running_products(as_ints(t), as_int(init, "init"))


def inner_product(a: Any, b: Any) -> int:
    """The sum of the products of corresponding leaves."""
    a, b = as_ints(a), as_ints(b)
    if not nested.congruent(a, b):
        raise ShapeError(f"inner_product needs congruent tuples, got {a} and {b}.", hint="nest both alike", a=a, b=b)
    return sum(x * y for x, y in zip(nested.flatten(a), nested.flatten(b)))


def congruent(a: Any, b: Any) -> bool:
    """Whether both have the same hierarchical structure."""
    return nested.congruent(as_ints(a), as_ints(b))


def weakly_congruent(a: Any, b: Any) -> bool:
    """Whether ``b`` refines the structure of ``a``: integers of ``a`` may be tuples in ``b``."""
    return nested.agree(as_ints(a), as_ints(b), lambda _x, _y: True)


def compatible(a: Any, b: Any) -> bool:
    """Whether every coordinate of shape ``a`` is one of shape ``b`` too: equal sizes at each leaf of ``a``."""
    return nested.agree(as_ints(a), as_ints(b), lambda x, y: bool(x == nested.product(y)))


def weakly_compatible(a: Any, b: Any) -> bool:
    """Whether each leaf of ``a`` divides the size that ``b`` has there."""
    return nested.agree(
        as_ints(a), as_ints(b), lambda x, y: nested.product(y) % x == 0 if x else nested.product(y) == 0
    )


def shape_div(a: Any, b: Any) -> Ints:
    """``a`` divided by ``b`` from the fastest leaf on: each leaf is divided, or consumed whole.

    Holds when at every leaf one of the two divides the other, and is refused otherwise.
    """
    return _divide(as_ints(a), as_ints(b))


def _divide(a: Ints, b: Ints) -> Ints:
    if isinstance(a, tuple):
        if isinstance(b, tuple):
            if len(a) != len(b):
                raise ShapeError(
                    f"shape_div needs tuples of one rank, got {a} and {b}.", hint="divide mode by mode", a=a, b=b
                )
            return tuple([_divide(x, y) for x, y in zip(a, b)])
        result = []
        for x in a:
            result.append(_divide(x, b))
            b = _divide(b, nested.product(x))
        return tuple(result)
    divisor = nested.product(b)
    if a == 0 or divisor == 0 or (a % divisor and divisor % a):
        raise NotExpressible(
            f"shape_div: neither of {a} and {divisor} divides the other.",
            hint="choose sizes that divide",
            a=a,
            b=divisor,
        )
    return -(-a // divisor)


def crd2idx(coord: Any, shape: Any, stride: Any = None) -> Any:
    """The index of a coordinate: the sum of its digits times the strides (compact column-major by default).

    ``coord`` may be an integer wherever ``shape`` has a tuple; it is then split colexicographically.
    """
    if not nested.is_plain_pair(shape, stride):
        shape, stride = _as_pair(shape, stride)
    return value_at(coord, shape, stride)


def value_at(coord: Any, shape: Any, stride: Any) -> Any:
    """The index of a coordinate, for a shape and a stride known to fit together."""
    try:
        return coord_value(coord, shape, stride)
    except BadCoordinate as bad:
        raise bad.as_error(coord, shape) from None


def _as_pair(shape: Any, stride: Any) -> tuple[Any, Any]:
    """Shape and stride as congruent tuples of integers; compact column-major strides where there are none."""
    shape = as_shape(shape)
    if stride is None:
        return shape, nested.running_products(shape)
    stride = as_ints(stride, "stride")
    if not nested.congruent(shape, stride):
        raise ShapeError(
            f"shape {shape} and stride {stride} are not congruent.", hint="nest both alike", shape=shape, stride=stride
        )
    return shape, stride


class BadCoordinate(Exception):
    """A coordinate that does not fit; the caller, who knows all of it, turns this into an error to read."""

    def as_error(self, coord: Any, shape: Any) -> ShapeError | OutOfBounds:
        return rank_error(coord, shape) if self.args else coord_error(coord, shape)


def coord_value(coord: Any, shape: Any, stride: Any) -> Any:
    """The sum of digits times strides, each digit proven inside its mode; else ``BadCoordinate``."""
    if coord.__class__ is int:
        return _integer_value(coord, shape, stride)
    if not isinstance(coord, tuple | list):
        return _integer_value(as_int(coord, "a coordinate"), shape, stride)
    if shape.__class__ is not tuple:
        if len(coord) != 1 or isinstance(coord[0], tuple | list):
            raise BadCoordinate("rank")
        return coord_value(coord[0], shape, stride)
    if len(coord) != len(shape):
        raise BadCoordinate("rank")
    total = 0
    for c, s, d in zip(coord, shape, stride):
        if c.__class__ is s.__class__ is d.__class__ is int:
            if not 0 <= c < s:
                raise BadCoordinate
            total += c * d
        else:
            total += coord_value(c, s, d)
    return total


def _integer_value(coord: int, shape: Any, stride: Any) -> Any:
    """The sum of digits times strides of an integer, which is split colexicographically over the shape."""
    if shape.__class__ is int:
        if not 0 <= coord < shape:
            raise BadCoordinate
        return coord * stride
    if coord < 0:
        raise BadCoordinate
    total = 0
    for s, d in zip(shape, stride):
        if s.__class__ is d.__class__ is int and s:
            coord, digit = divmod(coord, s)
            total += digit * d
        else:
            coord, digit = divmod(coord, nested.product(s) or 1)
            total += _integer_value(digit, s, d)
    if coord:
        raise BadCoordinate
    return total


def coord_error(coord: Any, shape: Any) -> OutOfBounds:
    return OutOfBounds(
        f"coordinate {shown(coord)} is outside the shape {shown(shape)}.",
        hint=f"an integer coordinate runs from 0 to {nested.product(shape) - 1}, a tuple has one entry per mode"
        if nested.product(shape)
        else "the shape is empty: it has no coordinates",
        coord=coord,
        shape=shape,
    )


def rank_error(coord: Any, shape: Any) -> ShapeError:
    return ShapeError(
        f"coordinate {shown(coord)} does not fit the shape {shown(shape)}.",
        hint="give an integer, one entry per mode, or a coordinate nested like the shape",
        coord=coord,
        shape=shape,
    )


def idx2crd(idx: Any, shape: Any, stride: Any = None) -> Any:
    """The coordinate, nested like ``shape``, that ``stride`` maps to ``idx`` (compact column-major by default).

    The inverse of :func:`crd2idx`; refused when no coordinate or more than one maps there.
    """
    if idx.__class__ is int and stride is None:
        shape = as_shape(shape)
        if not 0 <= idx < nested.product(shape):
            raise coord_error(idx, shape)
        return split(idx, shape)
    if isinstance(idx, tuple | list):
        shape, strides = _as_pair(shape, stride)
        if not isinstance(shape, tuple) or len(idx) != len(shape):
            raise rank_error(idx, shape)
        return tuple([idx2crd(i, s, None if stride is None else d) for i, s, d in zip(idx, shape, strides)])
    idx = as_int(idx, "an index")
    if stride is None:
        return idx2crd(idx, shape)
    shape, stride = _as_pair(shape, stride)
    return unique_coordinate(idx, shape, stride)


def split(idx: int, shape: Any) -> Any:
    """The digits of an index inside ``shape``, nested like it."""
    if shape.__class__ is not tuple:
        return idx
    digits: list[Any] = []
    for s in shape:
        if s.__class__ is tuple:
            idx, inner = divmod(idx, nested.product(s))
            digits.append(split(inner, s))
        else:
            idx, digit = divmod(idx, s)
            digits.append(digit)
    return tuple(digits)


def unique_coordinate(idx: int, shape: Any, stride: Any) -> Any:
    """The only coordinate whose index is ``idx``."""
    from .lattice import solutions

    coordinates: list[Any] = []
    question = f"which coordinate maps to {idx}"
    for digits in solutions(nested.flatten(shape), nested.flatten(stride), idx, question=question):
        coordinates.append(nested.unflatten(iter(digits), shape))
        if len(coordinates) == 2:
            raise NotExpressible(
                f"several coordinates of {shape}:{stride} map to {idx}: {coordinates[0]} and {coordinates[1]} do.",
                hint="the layout is not injective (a stride 0 repeats elements); Layout.preimages lists them all",
                index=idx,
                counterexample=tuple(coordinates),
            )
    if not coordinates:
        raise OutOfBounds(
            f"no coordinate of {shape}:{stride} maps to {idx}.",
            hint="the index lies in a hole or past the end",
            index=idx,
        )
    return coordinates[0]


def crd2crd(coord: Any, dst_shape: Any, src_shape: Any = None) -> Any:
    """The coordinate of ``dst_shape`` that counts the same element as ``coord`` does in ``src_shape``.

    Without ``src_shape`` a tuple is taken mode by mode, which needs an integer for every mode.
    """
    if src_shape is not None:
        return idx2crd(crd2idx(coord, src_shape), dst_shape)
    return _recount(as_ints(coord, "a coordinate"), as_shape(dst_shape, "dst_shape"))


def _recount(coord: Ints, target: Ints) -> Any:
    if not isinstance(coord, tuple):
        return idx2crd(coord, target)
    if not isinstance(target, tuple) or len(coord) != len(target):
        raise ShapeError(
            f"coordinate {coord} cannot be read without its own shape.",
            hint="pass src_shape",
            coord=coord,
            shape=target,
        )
    return tuple([_recount(c, t) for c, t in zip(coord, target)])


def compact_order(shape: Any, order: Any) -> Any:
    """Compact strides for ``shape`` in which modes grow slower with their ``order`` value.

    Equal values rank left to right; a nested mode under one integer is column-major inside; a mode of size 1
    gets stride 0, as in CuTe.
    """
    shape, order = as_shape(shape), as_ints(order, "order")
    if not nested.agree(order, shape, lambda _x, _y: True):
        raise ShapeError(
            f"order {order} does not fit the shape {shape}.",
            hint="give one order value per mode",
            shape=shape,
            order=order,
        )
    ranks = nested.flatten(_repeat_leaves(order, shape))
    sizes = nested.flatten(shape)
    strides = [0] * len(sizes)
    running = 1
    for k in sorted(range(len(sizes)), key=lambda k: ranks[k]):
        strides[k] = running if sizes[k] != 1 else 0
        running *= sizes[k]
    return nested.unflatten(iter(strides), shape)


def _repeat_leaves(a: Any, profile: Any) -> Any:
    """``a`` with each integer repeated over the tuple that ``profile`` has there."""
    if isinstance(profile, tuple):
        entries = a if isinstance(a, tuple) else (a,) * len(profile)
        return tuple([_repeat_leaves(x, p) for x, p in zip(entries, profile, strict=True)])
    return a
