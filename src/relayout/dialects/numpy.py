"""numpy's arrays: ``shape=(3, 4), strides=(16, 4), itemsize=4``, strides and ``offset`` in bytes.

``dtype=`` or ``typestr=`` stands for the item size as well; without strides the array is C-contiguous. The words may
stand in a call (``np.ndarray(shape=(3, 4), dtype='float32', strides=(16, 4))``) or a dictionary, such as an
``__array_interface__`` prints.
"""

from __future__ import annotations

import re
from typing import Any

from ..elements.types import ELEMENTS, Element
from ..elements.types import element as element_of
from ..errors import NotExpressible, shown
from ..format.format import Format
from ..layout.layout import Layout
from .fields import fields
from .refusal import cannot, require_layout
from .scan import Scanner
from .strided import sizes_and_strides

_CALLS = ("ndarray", "np.ndarray", "numpy.ndarray")
_READ_OVER = {"data", "descr", "version"}
_NAMES = {"shape", "strides", "itemsize", "dtype", "typestr", "offset"}
_NAMED = re.compile(
    r"""\b(?:dtype|typestr)['"]?\s*[=:]\s*(?:np\.|numpy\.)?(?:dtype\()?['"]?([<>|=]?[\w.?]+)""", re.ASCII
)
_DTYPE = re.compile(r"[<>|=]?[A-Za-z?][A-Za-z]{0,12}\d{0,4}", re.ASCII)
_SIZES = {"int": (1, 2, 4, 8), "uint": (1, 2, 4, 8), "float": (2, 4, 8), "complex": (8, 16)}
_KINDS = {f"{name[0]}{size}": f"{name}{8 * size}" for name, sizes in _SIZES.items() for size in sizes} | {"b1": "bool"}
"""numpy's short names, of a kind and its bytes."""


EXAMPLES = (
    "shape=(3, 4), strides=(-16, 4), itemsize=4, offset=32",
    "{'shape': (3, 4), 'typestr': '<f8', 'strides': None}",
    "np.ndarray(shape=(3, 4), dtype='float16', strides=(2, 6))  # Fortran",
)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Layout:
    scan, words = _read_words(text)
    shape, size = scan.sizes(_integers(scan, words, "shape")), _item_size(scan, words)
    offset = words.get("offset", 0)
    if not isinstance(offset, int):
        scan.fail("an integer for offset")
    if words.get("strides") is None:
        return Layout(shape, Layout.row_major(shape).stride, offset=_elements([offset], size)[0])
    strides = _integers(scan, words, "strides")
    return Layout(shape, _elements(strides, size), offset=_elements([offset], size)[0])


def bits(text: str) -> int:
    """The width of an element, which every text tells."""
    return 8 * _item_size(*_read_words(text))


def _read_words(text: str) -> tuple[Scanner, dict[str, Any]]:
    scan = Scanner(text, "numpy", "shape=(3, 4), strides=(16, 4), itemsize=4", python=True)
    expected = "np.ndarray(...), a dictionary or plain words"
    _, positional, words = fields(scan, _CALLS.__contains__, expected)
    if positional and not words:
        scan.fail(expected, 0)
    odd = sorted(set(words) - _NAMES - _READ_OVER)
    if positional or odd or "shape" not in words:
        scan.fail(f"shape, strides, offset, and itemsize or dtype by name; not {shown(odd or positional or 'so few')}")
    return scan, words


def element(text: str) -> Element | None:
    """The element type that ``dtype=`` or ``typestr=`` names."""
    found = _NAMED.search(text)
    if found is None:
        return None
    short = found[1].rpartition(".")[2]
    named = _element_named(short)
    if named is not None:
        return named
    import numpy as np

    try:
        return ELEMENTS.get(np.dtype(short if _DTYPE.fullmatch(short) else "").name)
    except (TypeError, ValueError):
        return None


def _element_named(short: str) -> Element | None:
    """The type of a name that is ours as well, or of a kind with its bytes, as in ``<f4``; numpy knows others."""
    order = short.startswith(("<", ">", "|", "="))
    return ELEMENTS.get(_KINDS.get(short[order:], short))


def _integers(scan: Scanner, words: dict[str, Any], name: str) -> tuple[int, ...]:
    value = words[name]
    if isinstance(value, int):
        return (value,)
    if not isinstance(value, tuple) or not all(type(x) is int for x in value):
        scan.fail(f"integers for {name}")
    return value


def _item_size(scan: Scanner, words: dict[str, Any]) -> int:
    """The bytes of an item, from all the words that tell it."""
    told = {"itemsize": words["itemsize"]} if "itemsize" in words else {}
    told |= {name: _size_of(scan, str(words[name])) for name in ("dtype", "typestr") if name in words}
    sizes = set(told.values())
    if len(sizes) != 1 or not all(isinstance(size, int) and size > 0 for size in sizes):
        scan.fail(f"one item size of at least one byte, by itemsize or dtype; not {told or 'none'}")
    return sizes.pop()  # type: ignore[no-any-return]


def _size_of(scan: Scanner, name: str) -> int:
    """The bytes of numpy's type of that name, or of one that numpy lacks."""
    short = name.rpartition(".")[2]
    named = _element_named(short)
    if named is not None:
        return named.bytes
    import numpy as np

    try:
        return np.dtype(short if _DTYPE.fullmatch(short) else "").itemsize
    except (TypeError, ValueError):
        scan.fail("a dtype such as float32 or '<f4'")


def _elements(numbers: Any, size: int) -> tuple[int, ...]:
    """Bytes as elements."""
    odd = next((n for n in numbers if n % size), None)
    if odd is not None:
        raise NotExpressible(
            f"{odd} bytes are no whole number of elements of {size} bytes.",
            hint="describe the bytes: a smaller item size with one more dimension for the bytes of an element",
            dialect="numpy",
            strides=tuple(numbers),
            itemsize=size,
        )
    return tuple([n // size for n in numbers])


def render(x: Layout | Format, dtype: Any = None) -> str:
    shape, strides, offset = sizes_and_strides(require_layout(x, "numpy"), "numpy", negative=True)
    if dtype is None:
        raise cannot(x, "numpy", "its strides count bytes, and the size of an element is not known", "pass dtype=")
    size = element_of(dtype).bytes
    if offset < 0:
        raise cannot(x, "numpy", "an array starts inside its buffer, at an offset >= 0", "add to the offset")
    in_bytes = tuple([s * size for s in strides])
    start = f", offset={offset * size}" if offset else ""
    return f"shape={shape}, strides={in_bytes}, itemsize={size}{start}"
