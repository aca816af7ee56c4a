"""What is read and what is written, as digits: a layout of known shape, or a format whose sizes are arguments."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import NotExpressible
from ..format.format import Format
from ..layout.layout import Layout
from ..layout.modes import simplify_mode
from ..layout.swizzle import Swizzle
from .values import ONE, Definitions, Monomial


class OperandDigit(NamedTuple):
    """A digit of one dimension: how many coordinates and elements a step moves, and how slow it is in memory, from 0.

    The slowest digit of a dimension takes all that is left, so that ``size`` never bounds it.
    """

    size: Monomial
    place: Monomial
    stride: Monomial
    slowness: int


class DigitOperand(NamedTuple):
    """The digits of every dimension, the fastest first, the window's start in each, and where it all starts.

    ``offset`` is a sum. ``storage`` counts the elements of the memory.
    """

    dims: tuple[tuple[OperandDigit, ...], ...]
    origins: tuple[int, ...]
    offset: tuple[Monomial, ...]
    swizzle: Swizzle | None
    storage: Monomial


def axis_names(axes: str | None, rank: int) -> tuple[str, ...]:
    """The names of the dimensions as every language takes them: the letters, else ``i0``, ``i1``, ..."""
    if axes is not None and re.fullmatch(r"[a-z]*", axes):
        return tuple(axes)
    return tuple([f"i{d}" for d in range(rank)])


def size_names(rank: int) -> tuple[str, ...]:
    """The arguments that sizes of a run are: ``n0``, ``n1``, ..."""
    return tuple([f"n{d}" for d in range(rank)])


def layout_operand(layout: Layout) -> DigitOperand:
    """A layout, each dimension by the fewest digits."""
    constant = layout.offset
    modes = []
    for d in range(layout.rank):
        start, mode = simplify_mode(layout._mode(d))
        constant += start
        modes.append(mode)
    strides = sorted({abs(s) for mode in modes for s in mode.strides}, reverse=True)
    dims = []
    for mode in modes:
        digits, place = [], 1
        for n, stride in zip(mode.sizes, mode.strides):
            digits.append(OperandDigit(Monomial(n), Monomial(place), Monomial(stride), strides.index(abs(stride))))
            place *= n
        dims.append(tuple(digits))
    offset = (Monomial(constant),) if constant else ()
    storage = Monomial(layout.storage_size)
    return DigitOperand(tuple(dims), tuple([mode.origin for mode in modes]), offset, layout.swizzle, storage)


def format_operand(fmt: Format, names: tuple[str, ...], definitions: Definitions) -> DigitOperand:
    """A format whose sizes are arguments; numbers of blocks and alignments get names."""
    sizes = [Monomial(1, (name,)) for name in size_names(fmt.rank)]
    rests = [
        definitions.quotient(n, Monomial(block), f"{name}_blocks")
        for n, block, name in zip(sizes, fmt.block_shape, names)
    ]
    physical = [Monomial(f.size) if f.size else rests[f.dim] for f in fmt.factors]
    if fmt.align is not None and any(f.backwards for f in fmt.factors):
        raise NotExpressible(
            f"{fmt} counts digits backwards and aligns them, which depends on the sizes.",
            hint="pass shape=(...)",
            format=fmt,
        )
    align = fmt.align or (1,) * (len(physical) + 1)
    strides, end = [ONE] * len(physical), ONE
    for k in range(len(physical) - 1, -1, -1):
        strides[k] = definitions.quotient(end, Monomial(align[k + 1]), f"pitch_{k}", whole=True)
        end = strides[k] * physical[k]
    storage = definitions.quotient(end, Monomial(align[0]), "storage", whole=True)
    offset: list[Monomial] = []
    dims: list[tuple[OperandDigit, ...]] = []
    for d in range(fmt.rank):
        digits, place = [], ONE
        for k in fmt._factors_of(d):
            stride = strides[k]
            if fmt.factors[k].backwards:
                offset += [stride * physical[k], stride * -1]
                stride *= -1
            if physical[k] != ONE:
                digits.append(OperandDigit(physical[k], place, stride, k))
            place *= physical[k]
        dims.append(merge_digits(digits))
    return DigitOperand(tuple(dims), (0,) * fmt.rank, tuple(offset), None, storage)


def merge_digits(digits: list[OperandDigit]) -> tuple[OperandDigit, ...]:
    """The fewest digits with the same strides."""
    merged: list[OperandDigit] = []
    for digit in digits:
        if merged and digit.stride == merged[-1].stride * merged[-1].size:
            merged[-1] = merged[-1]._replace(size=merged[-1].size * digit.size)
        else:
            merged.append(digit)
    return tuple(merged)


def box_operand(layout: Layout) -> DigitOperand:
    """A layout with all of its box: what is beside the window keeps its places."""
    dims = []
    strides = sorted({abs(s) for d in range(layout.rank) for s in layout._mode(d).strides}, reverse=True)
    for d in range(layout.rank):
        mode = layout._mode(d)
        digits, place = [], 1
        for n, stride in zip(mode.sizes, mode.strides):
            if n != 1:
                slowness = strides.index(abs(stride))
                digits.append(OperandDigit(Monomial(n), Monomial(place), Monomial(stride), slowness))
            place *= n
        dims.append(merge_digits(digits))
    offset = (Monomial(layout.offset),) if layout.offset else ()
    return DigitOperand(tuple(dims), layout.origin, offset, layout.swizzle, Monomial(layout.storage_size))
