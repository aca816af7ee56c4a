"""Axes: when a format that names them meets data that does not, is position the only reading?

Position d of the data is the d-th declared axis, unless that is a guess: where a word such as ``nhwc`` has its letters
in another order than its declared axes (``nchw``), or where another usual order of the same axes needs less than half
the storage. A guess is refused with both readings; it is for whoever has the data to name its dimensions.
"""

from __future__ import annotations

from ..errors import AmbiguousAxes
from ..format.format import Format
from ..integers.nested import product

USUAL_ORDERS = (
    ("nchw", "nhwc"),
    ("oihw", "hwio", "ohwi"),
    ("ncw", "nwc"),
    ("oiw", "wio", "owi"),
    ("ncdhw", "ndhwc"),
    ("oidhw", "dhwio", "odhwi"),
)
"""Orders of the same axes that frameworks store activations and weights in."""


def letters_in_other_order(text: str, axes: str | None) -> str | None:
    """The axes in the order that a word has its letters in, if that is another order than ``axes``; else None.

    >>> letters_in_other_order("nhwc", "nchw")
    'nhwc'
    >>> letters_in_other_order("nChw16c", "nchw")
    """
    word = text.strip()
    if axes is None or not word.isalnum():
        return None
    letters = "".join(dict.fromkeys([c for c in word.lower() if c.isalpha()]))
    return letters if letters != axes and sorted(letters) == sorted(axes) else None


def check_letters(fmt: Format, word: str | None, shape: tuple[int, ...]) -> None:
    """Refuse a word whose letters are another order than its axes, for data without names."""
    order = letters_in_other_order(word or "", fmt.axes)
    if order is not None and fmt.rank == len(shape):
        raise _ambiguous(fmt, str(word), order, shape, f", or write onednn:{word} for the first")


def check_storage(fmt: Format, said: str, shape: tuple[int, ...]) -> None:
    """Refuse to take dimensions by position where another usual order needs less than half the storage."""
    orders = next((orders for orders in USUAL_ORDERS if fmt.axes in orders), ())
    if fmt.rank != len(shape) or 0 in shape:
        return
    needed = _storage(fmt, str(fmt.axes), shape) if orders else 0
    for order in orders:
        if order != fmt.axes and 2 * _storage(fmt, order, shape) < needed:
            raise _ambiguous(fmt, said, order, shape, "")


def _storage(fmt: Format, order: str, shape: tuple[int, ...]) -> int:
    """The elements that data of that shape takes if its dimensions are the axes in that order."""
    if not fmt._unaligned:
        return fmt.aligned(order).layout(shape).storage_size
    blocks = dict(zip(str(fmt.axes), fmt.block_shape))
    return product(tuple([-(-n // blocks[axis]) * blocks[axis] for axis, n in zip(order, shape)]))


def _ambiguous(fmt: Format, said: str, order: str, shape: tuple[int, ...], more: str) -> AmbiguousAxes:
    own = str(fmt.axes)
    readings = {axes: _storage(fmt, axes, shape) for axes in (own, order)}
    words = [f"{_sizes(axes, shape)} ({n} elements stored)" for axes, n in readings.items()]
    return AmbiguousAxes(
        f"{said} names its dimensions, and the data of shape {shape} does not: it may be {' or '.join(words)}.",
        hint=f"say which: axes={own!r} or axes={order!r}{more}",
        readings=readings,
        format=fmt,
    )


def _sizes(axes: str, shape: tuple[int, ...]) -> str:
    return " ".join([f"{axis}={n}" for axis, n in zip(axes, shape)])
