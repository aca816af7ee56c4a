"""Affine expressions as digits: a sum of terms ``coefficient * (((d + shift) floordiv div) mod mod)`` and a constant.

Sums of digits are closed under what layouts need; an expression that mixes dimensions inside ``floordiv`` or ``mod`` is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..errors import LimitExceeded, NotExpressible
from ..format.format import in_box_of
from ..immutable import NamedTuple
from ..layout.layout import Layout
from .scan import Scanner

_DIMENSION = re.compile(r"d(\d{1,4})\b")
_SYMBOL = re.compile(r"s\d+\b")
_OPERATOR = re.compile(r"\*|floordiv\b|ceildiv\b|mod\b")
_MAX_LEVEL = 64
_MAX_TERMS = 1024


class AffineDigit(NamedTuple):
    """``((d + shift) floordiv div) mod mod`` of dimension ``dim``; without ``mod`` where that is 0."""

    dim: int
    shift: int
    div: int
    mod: int


class Affine(NamedTuple):
    """A constant plus digits with their coefficients."""

    constant: int
    terms: dict[AffineDigit, int]

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        terms = dict(self.terms)
        if len(terms) > _MAX_TERMS:
            raise LimitExceeded(f"more than {_MAX_TERMS} terms.", hint="no layout has that many", limit=_MAX_TERMS)
        for digit, coefficient in other.terms.items():
            terms[digit] = terms.get(digit, 0) + coefficient * factor
        return Affine(self.constant + other.constant * factor, {d: c for d, c in terms.items() if c})

    def digit(self) -> AffineDigit | None:
        """The digit that this expression is, if it is one."""
        return next(iter(self.terms)) if self.constant == 0 and list(self.terms.values()) == [1] else None


def expression(scan: Scanner, rank: int, level: int = 0) -> Affine:
    """The expression that comes next, over ``d0`` .. ``d<rank - 1>``."""
    total = _product(scan, rank, level)
    while True:
        if scan.accept("+"):
            total = total.plus(_product(scan, rank, level))
        elif scan.accept("-"):
            total = total.plus(_product(scan, rank, level), -1)
        else:
            return total


def _product(scan: Scanner, rank: int, level: int) -> Affine:
    left = _operand(scan, rank, level)
    while True:
        scan.peek()
        at = scan.position
        match = _OPERATOR.match(scan.text, at)
        if not match:
            return left
        scan.position = match.end()
        right = _operand(scan, rank, level)
        if match.group() == "*" and not left.terms:
            left, right = right, left
        if right.terms:
            scan.fail("a number on one side: an affine expression has no products of dimensions", at)
        if match.group() == "*":
            left = Affine(0, {}).plus(left, right.constant)
        else:
            left = _divide(scan, left, match.group(), right.constant, at)


def _operand(scan: Scanner, rank: int, level: int) -> Affine:
    if level > _MAX_LEVEL:
        scan.fail(f"at most {_MAX_LEVEL} levels of parentheses")
    if scan.accept("("):
        inner = expression(scan, rank, level + 1)
        scan.expect(")")
        return inner
    if scan.accept("-"):
        return Affine(0, {}).plus(_operand(scan, rank, level + 1), -1)
    scan.peek()
    match = _DIMENSION.match(scan.text, scan.position)
    if match:
        if int(match.group(1)) >= rank:
            scan.fail(f"one of the {rank} dimensions")
        scan.position = match.end()
        return Affine(0, {AffineDigit(int(match.group(1)), 0, 1, 0): 1})
    symbol = _SYMBOL.match(scan.text, scan.position)
    if symbol:
        raise scan.unknown(symbol.group())
    return Affine(scan.integer(), {})


def _divide(scan: Scanner, x: Affine, operator: str, by: int, at: int) -> Affine:
    """``x floordiv by``, ``x ceildiv by`` or ``x mod by``, as digits."""
    if by < 1:
        scan.fail("a number >= 1 to divide by", at)
    if operator == "ceildiv":
        x, operator = x.plus(Affine(by - 1, {})), "floordiv"
    if by == 1:
        return x if operator == "floordiv" else Affine(0, {})
    if all(c % by == 0 for c in x.terms.values()):
        if operator == "mod":
            return Affine(x.constant % by, {})
        return Affine(x.constant // by, {d: c // by for d, c in x.terms.items()})
    if list(x.terms.values()) == [1]:
        (digit,) = x.terms
        shift = digit.shift + x.constant * digit.div
        if not digit.mod:
            div, mod = (digit.div * by, 0) if operator == "floordiv" else (digit.div, by)
            return Affine(0, {AffineDigit(digit.dim, shift, div, mod): 1})
        if x.constant == 0 and digit.mod % by == 0:
            div, mod = (digit.div * by, digit.mod // by) if operator == "floordiv" else (digit.div, by)
            return Affine(0, {AffineDigit(digit.dim, shift, div, mod): 1} if mod > 1 else {})
    raise NotExpressible(
        f"{operator} {by} of a sum of several terms is no digit of one dimension.",
        hint="write the expression as a sum of digits, (d floordiv a) mod b",
        dialect=scan.dialect,
        text=scan.shown,
        position=at,
    )


def layout_of(x: Affine, shape: tuple[int, ...]) -> Layout:
    """The layout whose offset at every coordinate is the value of ``x``."""
    shapes: list[Any] = []
    strides: list[Any] = []
    origin: list[int] = []
    offset = x.constant
    for dim, n in enumerate(shape):
        digits = {d: c for d, c in x.terms.items() if d.dim == dim}
        places = sorted({1, *[d.div for d in digits], *[d.div * d.mod for d in digits if d.mod]})
        start = max([d.shift for d in digits if d[2:] != (1, 0)], default=0)
        start = start if start >= 0 else start % places[-1]
        # Whole turns of a digit change nothing, and whole steps of one without mod add a constant.
        aligned = all((start - d.shift) % (d.div * (d.mod or 1)) == 0 for d in digits)
        if not aligned or any(high % low for low, high in pairwise(places)):
            raise NotExpressible(
                f"the digits of dimension {dim} do not follow from one another: {sorted(digits)}.",
                hint="give the digits of a dimension one shift, and places that divide each other",
                terms=digits,
            )
        offset -= sum([c * ((start - d.shift) // d.div) for d, c in digits.items() if not d.mod])
        sizes = [high // low for low, high in pairwise(places)]
        sizes.append(max(-(-(start + n) // places[-1]), 1) if n else 0)
        steps = [
            sum([c * (p // d.div) for d, c in digits.items() if d.div <= p and (not d.mod or p < d.div * d.mod)])
            for p in places
        ]
        shapes.append(tuple(sizes) if len(sizes) > 1 else sizes[0])
        strides.append(tuple(steps) if len(sizes) > 1 else steps[0])
        origin.append(start if n else 0)
    return Layout(tuple(shapes), tuple(strides), offset=offset, extents=shape, origin=tuple(origin))


def stored_layout(results: Sequence[Affine], shape: tuple[int, ...]) -> Layout:
    """The layout of an array whose element is stored at the index that ``results`` give, in row-major order.

    A result that is a digit with ``mod`` takes all its values, and any other all from 0 to its largest one.
    """
    total, stride = Affine(0, {}), 1
    for result in reversed(results):
        total = total.plus(result, stride)
        stride *= _index_size(result, shape)
    layout = layout_of(total, shape)
    return (
        layout if stride <= layout.storage_size or 0 in shape else in_box_of(stride, layout).with_offset(layout.offset)
    )


def _index_size(result: Affine, shape: tuple[int, ...]) -> int:
    """The size of the stored dimension that ``result`` is the index into."""
    digit = result.digit()
    if digit is not None and digit.mod:
        return digit.mod
    if 0 in shape:
        return 1
    values = layout_of(result, shape)
    if values.min_offset < 0:
        raise NotExpressible(
            f"a result of the map is {values.min_offset} for some element of the shape {shape}: no index is below 0.",
            hint="add to the result",
            shape=shape,
        )
    return int(values.max_offset) + 1
