"""The proof that steps on arrays read and write the right places, before they are written down.

Steps are followed on addresses: forwards from the source's memory to the waist, and backwards from the target's. What
an axis of the waist moves on either side must be what the operands say, digit by digit, whatever the sizes; where the
shape is known, ``compare`` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..layout.comparison import compare
from ..layout.layout import Layout
from .array_steps import ArrayMove, ArrayStep, Shape, WaistAxis
from .operands import DigitOperand
from .values import ONE, Monomial, product_of


class AddressDigit(NamedTuple):
    """So many steps of so many elements."""

    size: Monomial
    stride: Monomial


class AddressAxis(NamedTuple):
    """An axis of an array as addresses: its digits, the slowest first, and the range of their box that it is."""

    digits: tuple[AddressDigit, ...]
    low: int
    size: Monomial


class AddressView(NamedTuple):
    """An array as addresses of one memory."""

    axes: tuple[AddressAxis, ...]
    start: tuple[Monomial, ...]


def proves_source(move: ArrayMove, source: DigitOperand, extents: Sequence[Monomial], layout: Layout | None) -> bool:
    """Whether the steps up to the waist read every element where it lies."""
    view: AddressView | None = _flat(source.storage)
    for step in move.before or ():
        view = None if view is None else _follow(view, step.kind, step.new, step.detail)
    return view is not None and _agrees(view, move.waist, source, extents, layout)


def proves_target(move: ArrayMove, target: DigitOperand, extents: Sequence[Monomial], layout: Layout | None) -> bool:
    """Whether the steps from the waist on write every element where it belongs."""
    view: AddressView | None = _flat(target.storage)
    for step in reversed(move.after or ()):
        view = None if view is None else _return(view, step)
    return view is not None and _agrees(view, move.waist, target, extents, layout)


def _flat(storage: Monomial) -> AddressView:
    return AddressView((AddressAxis((AddressDigit(storage, ONE),), 0, storage),), ())


OPPOSITES = {"slice": "pad", "pad": "slice", "reshape": "reshape", "flip": "flip", "transpose": "transpose"}


def _return(view: AddressView, step: ArrayStep) -> AddressView | None:
    """The array in front of a step, by the one behind it."""
    detail = step.detail
    if step.kind == "transpose":
        detail = tuple([step.detail.index(k) for k in range(len(step.detail))])
    return _follow(view, OPPOSITES[step.kind], step.old, detail)


def _follow(view: AddressView, kind: str, new: Shape, detail: tuple[int, ...]) -> AddressView | None:
    if kind == "transpose":
        return view._replace(axes=tuple([view.axes[k] for k in detail]))
    if kind == "reshape":
        regrouped = _regroup(view.axes, new)
        return None if regrouped is None else view._replace(axes=regrouped)
    axes, start = list(view.axes), list(view.start)
    for k, axis in enumerate(view.axes):
        if kind == "flip" and k in detail:
            if len(axis.digits) != 1 or axis.low:
                return None
            (digit,) = axis.digits
            start += [digit.stride * axis.size, digit.stride * -1]
            axes[k] = AddressAxis((AddressDigit(digit.size, digit.stride * -1),), 0, axis.size)
        elif kind in ("slice", "pad") and new[k] != axis.size:
            low = detail[k] if kind == "slice" else -detail[k]
            if len(axis.digits) == 1:
                (digit,) = axis.digits
                start += [digit.stride * low] if low else []
                axes[k] = AddressAxis((AddressDigit(new[k], digit.stride),), 0, new[k])
            else:
                axes[k] = AddressAxis(axis.digits, axis.low + low, new[k])
    return AddressView(tuple(axes), tuple(start))


def _regroup(axes: Sequence[AddressAxis], shape: Shape) -> tuple[AddressAxis, ...] | None:
    """Axes of another shape over addresses in one order; None where an axis is a part of its digits."""
    digits = []
    for axis in axes:
        if axis.low or product_of([digit.size for digit in axis.digits]) != axis.size:
            return None
        digits += [digit for digit in axis.digits if digit.size != ONE]
    found = []
    for size in reversed(shape):
        own: list[AddressDigit] = []
        rest = size
        while rest != ONE:
            if not digits:
                return None
            digit = digits.pop()
            if digit.size.divides(rest):
                own.insert(0, digit)
                rest = rest.over(digit.size)
            elif rest.divides(digit.size):
                own.insert(0, AddressDigit(rest, digit.stride))
                digits.append(AddressDigit(digit.size.over(rest), digit.stride * rest))
                rest = ONE
            else:
                return None
        found.append(AddressAxis(tuple(_join_digits(own)), 0, size))
    return None if digits else tuple(found[::-1])


def _join_digits(digits: list[AddressDigit]) -> list[AddressDigit]:
    """The fewest digits, the slowest first."""
    found: list[AddressDigit] = []
    for digit in digits:
        if found and found[-1].stride == digit.stride * digit.size:
            found[-1] = AddressDigit(found[-1].size * digit.size, digit.stride)
        else:
            found.append(digit)
    return found


def _agrees(
    view: AddressView,
    waist: tuple[WaistAxis, ...],
    operand: DigitOperand,
    extents: Sequence[Monomial],
    layout: Layout | None,
) -> bool:
    """Whether each axis of the waist moves as its part of the dimension does."""
    dims: list[list[AddressDigit]] = [[] for _ in extents]
    lows = [0] * len(extents)
    for k, part in sorted(enumerate(waist), key=lambda x: (len(x[1].place.names), x[1].place.number), reverse=True):
        axis = view.axes[k]
        if axis.low or axis.size != product_of([digit.size for digit in axis.digits]):
            if part.size != extents[part.dim]:
                return False
            lows[part.dim] = axis.low
        if axis.size != part.size:
            return False
        dims[part.dim] += [digit for digit in axis.digits if digit.size != ONE]
    if layout is not None:
        return _same_layout(dims, lows, view.start, layout)
    ours = [_open_end(own) for own in dims]
    theirs = [
        _open_end([AddressDigit(x.size, x.stride) for x in reversed(own) if x.size != ONE]) for own in operand.dims
    ]
    starts = [_canonical(x) for x in (view.start, operand.offset)]
    return ours == theirs and tuple(lows) == operand.origins and starts[0] == starts[1]


def _open_end(digits: list[AddressDigit]) -> list[AddressDigit]:
    """The fewest digits; the slowest takes all that is left, so that its size says nothing."""
    found = _join_digits(digits)
    return [AddressDigit(ONE, found[0].stride), *found[1:]] if found else []


def _canonical(terms: Sequence[Monomial]) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for term in terms:
        found[term.names] = found.get(term.names, 0) + term.number
    return {names: number for names, number in found.items() if number}


def _same_layout(dims: list[list[AddressDigit]], lows: list[int], start: tuple[Monomial, ...], layout: Layout) -> bool:
    """Whether the digits that were followed are the layout, by ``compare``."""
    shape, stride = [], []
    for own, n, low in zip(dims, layout.extents, lows):
        sizes = [digit.size.number for digit in reversed(own)] or [1]
        if not low and len(sizes) == 1:
            sizes = [n]
        shape.append(tuple(sizes))
        stride.append(tuple([digit.stride.number for digit in reversed(own)] or [1]))
    offset = sum([x.number for x in start])
    try:
        made = Layout(tuple(shape), tuple(stride), offset=offset, extents=layout.extents, origin=tuple(lows))
    except ValueError:
        return False
    return compare(made, layout).equivalent
