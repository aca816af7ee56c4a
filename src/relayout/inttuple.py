"""Nested tuples of integers: their shape, their coordinates, and the arithmetic of both.

Everything here is a function on plain ``int`` and ``tuple``. Coordinates run in colexicographic order: the
leftmost entry is the fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import index as to_index
from typing import Any, TypeAlias

from .errors import LimitExceeded, NotExpressible, OutOfBounds, ShapeError
from .lattice import solutions

Ints: TypeAlias = "int | tuple[Ints, ...]"
"""An integer or a (nested) tuple of integers."""

MAX_DEPTH = 64
"""Nesting deeper than this is refused, so that recursion always ends well."""


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
        f"{what} must be an integer, got {x!r} of type {type(x).__name__}.",
        hint="use int, numpy integers, or nested tuples of them",
        got=x,
    )


def as_ints(x: Any, what: str = "an IntTuple", level: int = 0) -> Ints:
    """``x`` as nested plain tuples of Python integers; lists count as tuples."""
    if x.__class__ is int or (level == 0 and _is_plain(x, 0)):
        return x  # type: ignore[no-any-return]
    if isinstance(x, tuple | list):
        if level >= MAX_DEPTH:
            raise LimitExceeded(
                f"{what} is nested deeper than {MAX_DEPTH} levels.", hint="flatten it first", limit=MAX_DEPTH
            )
        return tuple([as_ints(e, what, level + 1) for e in x])
    return as_int(x, what)


def _is_plain(x: Any, level: int) -> bool:
    """Whether ``x`` is nested plain tuples of Python integers already."""
    if x.__class__ is not tuple or level >= MAX_DEPTH:
        return False
    for e in x:
        if e.__class__ is not int and not _is_plain(e, level + 1):
            return False
    return True


def IntTuple(*items: Any) -> tuple[Ints, ...]:
    """A nested tuple of integers, spelled as in Mojo: ``IntTuple(4, IntTuple(2, 2)) == (4, (2, 2))``."""
    return tuple([as_ints(item) for item in items])


def rank(x: Any) -> int:
    """The number of top-level modes of a tuple or a layout; an integer has one."""
    shape = getattr(x, "shape", x)
    return len(shape) if isinstance(shape, tuple | list) else 1


def depth(x: Any) -> int:
    """The nesting depth of a tuple or of a layout's shape; an integer has depth 0."""
    shape = getattr(x, "shape", x)
    if isinstance(shape, tuple | list):
        return 1 + max((depth(e) for e in shape), default=0)
    return 0


def flatten(t: Any) -> tuple[Any, ...]:
    """The leaves from left to right."""
    if t.__class__ is not tuple:
        return (t,)
    for e in t:
        if e.__class__ is tuple:
            leaves: list[Any] = []
            for x in t:
                if x.__class__ is tuple:
                    leaves += flatten(x)
                else:
                    leaves.append(x)
            return tuple(leaves)
    return t


def unflatten(leaves: Iterator[Any], profile: Any) -> Any:
    """``leaves`` arranged like ``profile``, left to right."""
    if profile.__class__ is tuple:
        return tuple([unflatten(leaves, e) if e.__class__ is tuple else next(leaves) for e in profile])
    return next(leaves)


def product(t: Any) -> int:
    """The product of all leaves; 1 for the empty tuple."""
    if t.__class__ is not tuple:
        return t  # type: ignore[no-any-return]
    result = 1
    for e in t:
        result *= product(e) if e.__class__ is tuple else e
    return result


def product_each(t: Ints) -> Ints:
    """The product of each top-level mode."""
    return tuple([product(e) for e in t]) if isinstance(t, tuple) else t


def prefix_product(t: Ints, init: int = 1) -> Any:
    """For each leaf the product of all leaves to its left, times ``init``: compact column-major strides."""
    return _running_product(t, init)[0]


def _running_product(t: Ints, running: int) -> tuple[Any, int]:
    if not isinstance(t, tuple):
        return running, running * t
    result = []
    for e in t:
        entry, running = _running_product(e, running)
        result.append(entry)
    return tuple(result), running


def inner_product(a: Ints, b: Ints) -> int:
    """The sum of the products of corresponding leaves."""
    if not congruent(a, b):
        raise ShapeError(f"inner_product needs congruent tuples, got {a} and {b}.", a=a, b=b)
    return sum(x * y for x, y in zip(flatten(a), flatten(b), strict=True))


def _agree(a: Any, b: Any, at_leaf: Callable[[Any, Any], bool]) -> bool:
    """Whether the tuple part of ``a`` stands in ``b`` too and ``at_leaf`` holds where ``a`` ends."""
    if isinstance(a, tuple):
        return (
            isinstance(b, tuple) and len(a) == len(b) and all(_agree(x, y, at_leaf) for x, y in zip(a, b, strict=True))
        )
    return at_leaf(a, b)


def congruent(a: Any, b: Any) -> bool:
    """Whether both have the same hierarchical structure."""
    return _agree(a, b, lambda _, y: not isinstance(y, tuple))


def weakly_congruent(a: Any, b: Any) -> bool:
    """Whether ``b`` refines the structure of ``a``: integers of ``a`` may be tuples in ``b``."""
    return _agree(a, b, lambda _x, _y: True)


def compatible(a: Ints, b: Ints) -> bool:
    """Whether every coordinate of shape ``a`` is one of shape ``b`` too: equal sizes at each leaf of ``a``."""
    return _agree(a, b, lambda x, y: bool(x == product(y)))


def weakly_compatible(a: Ints, b: Ints) -> bool:
    """Whether each leaf of ``a`` divides the size that ``b`` has there."""
    return _agree(a, b, lambda x, y: product(y) % x == 0 if x else product(y) == 0)


def shape_div(a: Ints, b: Ints) -> Ints:
    """``a`` divided by ``b`` from the fastest leaf on: each leaf is divided, or consumed whole.

    Holds when at every leaf one of the two divides the other, and is refused otherwise.
    """
    if isinstance(a, tuple):
        if isinstance(b, tuple):
            if len(a) != len(b):
                raise ShapeError(f"shape_div needs tuples of one rank, got {a} and {b}.", a=a, b=b)
            return tuple([shape_div(x, y) for x, y in zip(a, b, strict=True)])
        result = []
        for x in a:
            result.append(shape_div(x, b))
            b = shape_div(b, product(x))
        return tuple(result)
    divisor = product(b)
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
    if stride is None:
        shape = as_ints(shape, "shape")
        stride = prefix_product(shape)
    try:
        return coord_value(coord, shape, stride)
    except BadCoordinate as bad:
        raise bad.explained(coord, shape) from None


class BadCoordinate(Exception):
    """A coordinate that does not fit; the caller, who knows all of it, turns this into an error to read."""

    def explained(self, coord: Any, shape: Any) -> ShapeError | OutOfBounds:
        return rank_error(coord, shape) if self.args else coord_error(coord, shape)


def coord_value(coord: Any, shape: Any, stride: Any) -> Any:
    """The sum of digits times strides, each digit proven inside its mode; else ``BadCoordinate``."""
    if coord.__class__ is tuple and shape.__class__ is tuple:
        if len(coord) != len(shape) or len(stride) != len(shape):
            raise BadCoordinate("rank")
        total = 0
        for c, s, d in zip(coord, shape, stride):
            if c.__class__ is int and s.__class__ is int:
                if not 0 <= c < s:
                    raise BadCoordinate
                total += c * d
            else:
                total += coord_value(c, s, d)
        return total
    if coord.__class__ is not int:
        if isinstance(coord, tuple | list):
            if isinstance(shape, tuple):
                return coord_value(tuple(coord), tuple(shape), stride)
            if len(coord) != 1:
                raise BadCoordinate("rank")
            coord = coord[0]
        return coord_value(as_int(coord, "a coordinate"), shape, stride)
    if coord < 0:
        raise BadCoordinate
    if shape.__class__ is tuple:
        rest = coord
        total = 0
        for s, d in zip(shape, stride):
            if s.__class__ is tuple:
                rest, digit = divmod(rest, product(s) or 1)
                total += coord_value(digit, s, d)
            else:
                rest, digit = divmod(rest, s or 1)
                if s == 0:
                    raise BadCoordinate
                total += digit * d
        if rest:
            raise BadCoordinate
        return total
    if coord >= as_int(shape, "shape"):
        raise BadCoordinate
    return coord * stride


def coord_error(coord: Any, shape: Any) -> OutOfBounds:
    return OutOfBounds(
        f"coordinate {coord} is outside the shape {shape}.",
        hint=f"an integer coordinate runs from 0 to {product(shape) - 1}, a tuple has one entry per mode"
        if product(shape)
        else "the shape is empty: it has no coordinates",
        coord=coord,
        shape=shape,
    )


def rank_error(coord: Any, shape: Any) -> ShapeError:
    return ShapeError(
        f"coordinate {coord} does not fit the shape {shape}.",
        hint="give an integer, one entry per mode, or a coordinate nested like the shape",
        coord=coord,
        shape=shape,
    )


def idx2crd(idx: Any, shape: Any, stride: Any = None) -> Any:
    """The coordinate, nested like ``shape``, that ``stride`` maps to ``idx`` (compact column-major by default).

    The inverse of :func:`crd2idx`; refused when no coordinate or more than one maps there.
    """
    shape = as_ints(shape, "shape")
    if isinstance(idx, tuple):
        strides = (None,) * len(idx) if stride is None else stride
        if not isinstance(shape, tuple) or len(idx) != len(shape) or len(strides) != len(shape):
            raise rank_error(idx, shape)
        return tuple([idx2crd(i, s, d) for i, s, d in zip(idx, shape, strides, strict=True)])
    idx = as_int(idx, "an index")
    if stride is None:
        if not 0 <= idx < product(shape):
            raise coord_error(idx, shape)
        return _split(idx, shape)
    if not congruent(shape, stride):
        raise ShapeError(f"shape {shape} and stride {stride} are not congruent.", shape=shape, stride=stride)
    return unflatten(iter(unique_digits(idx, flatten(shape), flatten(stride))), shape)


def _split(idx: int, shape: Any) -> Any:
    """The digits of an index inside ``shape``."""
    if shape.__class__ is not tuple:
        return idx
    digits: list[Any] = []
    for s in shape:
        if s.__class__ is tuple:
            idx, inner = divmod(idx, product(s))
            digits.append(_split(inner, s))
        else:
            idx, digit = divmod(idx, s)
            digits.append(digit)
    return tuple(digits)


def unique_digits(idx: int, sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The only digits whose weighted sum is ``idx``."""
    found = []
    for digits in solutions(sizes, strides, idx, question=f"which coordinate maps to {idx}"):
        found.append(digits)
        if len(found) == 2:
            raise NotExpressible(
                f"several coordinates map to {idx}: the digits {found[0]} and {found[1]} of {sizes}:{strides} do.",
                hint="the layout is not injective (a stride 0 repeats elements); Layout.preimages lists them all",
                index=idx,
                counterexample=tuple(found),
            )
    if not found:
        raise OutOfBounds(
            f"no coordinate maps to {idx} in {sizes}:{strides}.",
            hint="the index lies in a hole or past the end",
            index=idx,
        )
    return found[0]


def crd2crd(coord: Any, dst_shape: Any, src_shape: Any = None) -> Any:
    """The coordinate of ``dst_shape`` that counts the same element as ``coord``.

    ``src_shape`` is needed only where ``coord`` is a tuple and ``dst_shape`` has an integer or another structure.
    """
    if isinstance(coord, tuple):
        if isinstance(dst_shape, tuple) and len(coord) == len(dst_shape):
            sources = (
                src_shape if isinstance(src_shape, tuple) and len(src_shape) == len(coord) else (None,) * len(coord)
            )
            return tuple([crd2crd(c, d, s) for c, d, s in zip(coord, dst_shape, sources, strict=True)])
        if src_shape is None:
            raise ShapeError(
                f"coordinate {coord} cannot be read without its own shape.",
                hint="pass src_shape",
                coord=coord,
                shape=dst_shape,
            )
        coord = crd2idx(coord, src_shape)
    return idx2crd(coord, dst_shape)


def compact_order(shape: Any, order: Any) -> Any:
    """Compact strides for ``shape`` in which modes grow slower with their ``order`` value.

    Equal values rank left to right; a nested mode under one integer is column-major inside; a mode of size 1
    gets stride 0, as in CuTe.
    """
    shape, order = as_ints(shape, "shape"), as_ints(order, "order")
    if not weakly_congruent(order, shape):
        raise ShapeError(
            f"order {order} does not fit the shape {shape}.",
            hint="give one order value per mode",
            shape=shape,
            order=order,
        )
    ranks = flatten(_spread(order, shape))
    sizes = flatten(shape)
    strides = [0] * len(sizes)
    running = 1
    for k in sorted(range(len(sizes)), key=lambda k: ranks[k]):
        strides[k] = running if sizes[k] != 1 else 0
        running *= sizes[k]
    return unflatten(iter(strides), shape)


def _spread(a: Any, profile: Any) -> Any:
    """``a`` with each integer repeated over the tuple that ``profile`` has there."""
    if isinstance(profile, tuple):
        entries = a if isinstance(a, tuple) else (a,) * len(profile)
        return tuple([_spread(x, p) for x, p in zip(entries, profile, strict=True)])
    return a
