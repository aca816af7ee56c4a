"""Qualcomm HTP's form: ``ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,32>``, ``FlatMemoryLayout<4>``, names.

Pairs (dimension, size), slowest first, size 0 for the rest. Comments and a name after the angle brackets are read over.
It has no shape: parsing gives a ``Format``. Block sizes are powers of two.

A layout of the catalog is the same thing written out and by its name: with its axes, fill, table and width. The names
of tensor types, ``QUint8CroutonTensor``, are read as the layout, and carry the type of the elements.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ..elements.types import ELEMENTS, Element
from ..format import catalog
from ..format.entries import Entry, known_entries, was_added
from ..format.factors import MAX_FACTORS
from ..format.format import Format
from ..layout.layout import Layout
from .blocked import plain_format
from .refusal import cannot
from .scan import Scanner

_DECLARED = re.compile(r"\s*(?:typedef\s+|using\s+\w+\s*=\s*)?(?:typename\s+)?(?:\w+::)*")


EXAMPLES = (
    "FlatMemoryLayout<2>;",
    "ChunkedMemoryLayout<2, /* rows */ 0,0,\n 1,0, // columns\n 0,2, 1,4> MyTile;",
)
"""Texts that it reads, one for each way to write."""

TENSOR_TYPES = {
    "PlainFloatTensor": ("R4Flat", "float32"),
    "PlainFloat16Tensor": ("R4Flat", "float16"),
    "PlainBFloat16Tensor": ("R4Flat", "bfloat16"),
    "Int32Tensor": ("R4Flat", "int32"),
    "QuantUint8Tensor": ("R4Flat", "quint8"),
    "QuantInt8Tensor": ("R4Flat", "qint8"),
    "QuantUint16Tensor": ("R4Flat", "quint16"),
    "QuantInt16Tensor": ("R4Flat", "qint16"),
    "QuantInt32Tensor": ("R4Flat", "qint32"),
    "QUint8CroutonTensor": ("R4Crouton", "quint8"),
    "QInt8CroutonTensor": ("R4Crouton", "qint8"),
    "QUint8Crouton4x1Tensor": ("R4Crouton4x1", "quint8"),
    "QUint8Crouton2x2Tensor": ("R4Crouton2x2", "quint8"),
    "QUint8WideCroutonTensor": ("R4WideCrouton", "quint8"),
    "QUint8WideCrouton2x2Tensor": ("R4WideCrouton2x2", "quint8"),
    "QUint16CroutonTensor": ("R4Crouton2", "quint16"),
    "QInt16CroutonTensor": ("R4Crouton2", "qint16"),
    "F16CroutonTensor": ("R4Crouton2", "float16"),
    "QInt32CroutonTensor": ("R4Crouton4", "qint32"),
    "Int32CroutonTensor": ("R4Crouton4", "int32"),
    "QInt32WideCroutonTensor": ("R4WideCrouton4", "qint32"),
}
"""The types of tensors that ops are defined for: the layout and the elements of each.

Elements whose names begin with q are quantised, the others plain. ``_TCM`` after a name says which memory it is in.
"""


def parse(text: str) -> Format | Entry:
    scan = Scanner(text, "htp", "ChunkedMemoryLayout<2, 0,0, 1,0, 0,8, 1,32>")
    declared = _DECLARED.match(scan.text)
    scan.position = declared.end() if declared else 0
    scan.peek()
    at = scan.position
    name = scan.name()
    if name == "FlatMemoryLayout":
        scan.expect("<")
        at = scan.position
        rank = scan.integer()
        if not 0 <= rank <= MAX_FACTORS:
            scan.fail(f"a rank of 0 to {MAX_FACTORS}", at)
        scan.expect(">")
        _ending(scan)
        return _as_named(Format(rank, [(d, 0) for d in range(rank)]))
    if name != "ChunkedMemoryLayout":
        layout, _ = tensor_type(name) or (name, None)
        entry = catalog.lookup(f"htp:{layout}")
        if entry is None:
            scan.fail("ChunkedMemoryLayout, FlatMemoryLayout or the name of an HTP layout", at)
        _ending(scan)
        return entry
    scan.expect("<")
    rank = scan.integer()
    factors = []
    while scan.accept(","):
        dim = scan.integer()
        scan.expect(",")
        factors.append((dim, scan.integer()))
    scan.expect(">")
    _ending(scan)
    return _as_named(Format(rank, factors))


def tensor_type(name: str) -> tuple[str, str] | None:
    """The layout and the elements of a type of tensors, in any memory; None for another name."""
    return TENSOR_TYPES.get(name.removesuffix("_TCM"))


def element(text: str) -> Element | None:
    """The type of the elements that the name of a tensor type tells."""
    scan = Scanner(text, "htp", "QUint8CroutonTensor")
    declared = _DECLARED.match(scan.text)
    scan.position = declared.end() if declared else 0
    found = tensor_type(scan.name())
    return None if found is None else ELEMENTS[found[1]]


@cache
def _written_out() -> dict[Any, Format]:
    """The formats of HTP's names by what all ways to write one have in common; the first name counts.

    What a program registers is left out: no name of its own changes what a text means.
    """
    found: dict[Any, Format] = {}
    for entry in known_entries()[0].values():
        if entry.name.startswith("htp:") and not was_added(entry.name):
            for form in entry.forms.values():
                if isinstance(form, Format):
                    found.setdefault(form._canonical(), form)
    return found


def _as_named(fmt: Format) -> Format:
    """The format of the catalog that is written out, with its axes, fill, table and width; else ``fmt`` itself."""
    return _written_out().get(fmt._canonical(), fmt)


def _ending(scan: Scanner) -> None:
    """An optional declared name and semicolon, then the end."""
    scan.name()
    scan.accept(";")
    scan.end()


def render(x: Layout | Format, dtype: Any = None) -> str:
    fmt = plain_format(x, "htp")
    odd = next((f.size for f in fmt.blocks if f.size & (f.size - 1)), None)
    if odd is not None:
        raise cannot(x, "htp", f"its block sizes are powers of two, and {odd} is none", "pad to a power of two")
    if not fmt.blocks and fmt.order == tuple(range(fmt.rank)):
        return f"FlatMemoryLayout<{fmt.rank}>"
    return f"ChunkedMemoryLayout<{fmt.rank}, {', '.join([f'{d},{n}' for d, n in fmt.pairs])}>"
