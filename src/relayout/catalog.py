"""The named formats of the world: one table, each with its axes, its blocks and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .errors import ShapeError
from .format import Format
from .layout import Layout


class Entry(NamedTuple):
    """A named format."""

    name: str
    format: Format
    provenance: str


# Per line: name, axes, element bits (0 for any), indirect factors and fill (- for none), then the factors.
_HTP = """
R4Flat            nhwc    0   -  -   0 1 2 3
R5Flat            ndhwc   0   -  -   0 1 2 3 4
R6Flat            abcdef  0   -  -   0 1 2 3 4 5
R4NCHW            nhwc    0   -  -   0 3 2 1
NCHW              nhwc    0   -  -   0 3 1 2
R4Depth32         nhwc    8   -  -   0 1 3 2 / 2,4 3,32
R4Crouton         nhwc    8   4  31  0 1 2 3 / 1,8 2,8 3,32
R4WideCrouton     nhwc    8   4  31  0 1 2 3 / 1,2 2,32 3,32
R4Crouton4x1      nhwc    8   4  31  0 1 2 3 / 1,8 2,2 3,32 2,4
R4Crouton2x2      nhwc    8   4  31  0 1 2 3 / 1,4 2,4 3,32 1,2 2,2
R4WideCrouton2x2  nhwc    8   4  31  0 1 2 3 / 2,16 3,32 1,2 2,2
R4Crouton2        nhwc    16  4  31  0 1 2 3 / 1,8 2,2 3,32 2,2
R4Crouton4        nhwc    32  4  31  0 1 2 3 / 1,8 2,2 3,32
R4WideCrouton4    nhwc    32  4  31  0 1 2 3 / 1,2 2,8 3,32
R4Weights8x4      hwio    16  -  -   0 1 3 2 / 0,8 1,4 2,16 3,32 2,2
R5Crouton         ndhwc   8   5  31  0 1 2 3 4 / 2,8 3,8 4,32
R4DeepAR4_16b     nhwc    16  3  31  0 1 2 3 / 2,2 3,32 2,2
R4DeepAR8_16b     nhwc    16  3  31  0 1 2 3 / 2,4 3,32 2,2
weights           hwio    8   -  -   3 2 0 1 / 2,8 3,32 2,4
"""
_HTP_ALIASES = {"ChannelMajorCrouton": "R4Crouton", "SpatialXYMajor": "R4Crouton2x2", "SpatialXMajor": "R4Crouton4x1"}
_CROUTON_BY_BITS = {8: "R4Crouton", 16: "R4Crouton2", 32: "R4Crouton4"}


def _entries() -> Iterator[Entry]:
    for line in _HTP.strip().splitlines():
        name, axes, bits, indirect, fill, factors = line.split(maxsplit=5)
        bare = Format.parse(factors)
        words = {
            "axes": axes,
            "element_bits": int(bits) or None,
            "indirect": None if indirect == "-" else int(indirect),
            "fill": None if fill == "-" else int(fill),
        }
        yield Entry(f"htp:{name}", Format(bare.rank, bare.pairs, **words), "Qualcomm HTP Core")  # type: ignore[arg-type]


ENTRIES: dict[str, Entry] = {entry.name: entry for entry in _entries()}
"""Every named format by its full name."""


def get(name: str, element_bits: int | None = None) -> Format:
    """The format of that name; ``htp:`` names also with the suffix ``Layout`` or ``MemoryLayout``.

    ``htp:Crouton`` is the crouton for elements of ``element_bits``.
    """
    system, _, short = name.partition(":")
    for suffix in ("MemoryLayout", "Layout"):
        short = short.removesuffix(suffix)
    if system == "htp":
        short = _HTP_ALIASES.get(short, short)
        if short == "Crouton":
            if element_bits not in _CROUTON_BY_BITS:
                raise ShapeError(
                    f"htp:Crouton depends on the element's width, got {element_bits} bits.",
                    hint="pass element_bits=8, 16 or 32, or name R4Crouton, R4Crouton2 or R4Crouton4",
                    name=name,
                )
            short = _CROUTON_BY_BITS[element_bits]
    entry = ENTRIES.get(f"{system}:{short}")
    if entry is None:
        raise ShapeError(f"there is no format named {name!r}.", hint=f"known: {', '.join(ENTRIES)}", name=name)
    return entry.format


def find(layout: Layout | Format) -> list[str]:
    """The names of the formats that give this layout; of a layout of few elements there may be many."""
    if isinstance(layout, Format):
        return [e.name for e in ENTRIES.values() if e.format.equivalent(layout)]
    found = []
    for entry in ENTRIES.values():
        if entry.format.rank == layout.rank:
            try:
                same = entry.format.layout(layout.extents, left_pad=layout.origin)
            except ShapeError:
                continue
            if same.equivalent(layout) and same.storage_size == layout.storage_size:
                found.append(entry.name)
    return found
