"""A layout as a grid of text: rows and columns are coordinates, cells are offsets."""

from __future__ import annotations

from itertools import product as cartesian

from ..errors import LimitExceeded, ShapeError
from ..integers.nested import product
from ..layout.layout import Layout, as_layout
from .listing import memory_listing

CELL_LIMIT = 1 << 16
"""The largest picture, in cells."""


def format_layout(layout: Layout, dialect: str = "mojo") -> str:
    """The picture that Mojo's (or with ``dialect="cute"`` CuTe's) ``print_layout`` prints, without the last newline.

    A layout of rank 1 is one row; one of rank 3 or more is one grid for each coordinate of the further modes. With
    ``dialect="htp"`` it is the coordinates in the order of memory, as in HTP's document: data in round brackets,
    padding in square ones.
    """
    if dialect == "htp":
        return memory_listing(as_layout(layout, "format_layout"))
    if dialect not in ("mojo", "cute"):
        raise ShapeError(
            f"there is no picture in the style of {dialect!r}.", hint="use 'mojo', 'cute' or 'htp'", dialect=dialect
        )
    extents = as_layout(layout, "format_layout").extents
    count = product(tuple([max(n, 1) for n in extents]))
    if count > CELL_LIMIT:
        raise LimitExceeded(
            f"a picture of {count} cells is over the limit of {CELL_LIMIT}.",
            hint="draw a part of it, such as L.narrow(0, 0, 16)",
            limit=CELL_LIMIT,
        )
    from ..dialects import cute, mojo

    lines = [mojo.render(layout) if dialect == "mojo" else cute.static(layout)]
    label_end = "" if dialect == "mojo" else " "
    if not layout.size:
        return lines[0]
    rows, columns = (extents[0], extents[1]) if layout.rank > 1 else (1, extents[0] if extents else 1)
    width = max(len(str(n)) for n in (layout.cosize, layout.min_offset, layout.max_offset))
    for far in cartesian(*[range(n) for n in extents[:1:-1]]):
        further = far[::-1]
        if further:
            lines.append(f"(:, :, {', '.join(map(str, further))})")
        rule = "    " + ("+" + "-" * (width + 2)) * columns + "+"
        lines.append(("    " + "".join(f"  {n:>{width}} " for n in range(columns))).rstrip() + label_end)
        for m in range(rows):
            near = (m,) if layout.rank > 1 else ()
            cells = [layout((*near, n, *further) if layout.rank else ()) for n in range(columns)]
            lines += [rule, f"{m:2d}  " + "".join(f"| {v:>{width}} " for v in cells) + "|"]
        lines.append(rule)
    return "\n".join(lines)


def print_layout(layout: Layout, dialect: str = "mojo") -> None:
    """Print the picture of a layout."""
    print(format_layout(layout, dialect))  # noqa: T201
