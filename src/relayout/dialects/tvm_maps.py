"""TVM's index maps: ``lambda n, c, h, w: (n, c // 16, h, w, c % 16)``, where each element of a tensor is stored."""

from __future__ import annotations

import re

from ..errors import NotExpressible
from ..immutable import NamedTuple
from ..layout.layout import Layout
from .affine import Affine, expression, stored_layout
from .scan import Scanner

_LAMBDA = r"\s*(?:(?:T\.|tir\.)?index_map\(\s*)?lambda\s+(?P<names>[\w,\s]*?)\s*:(?P<results>.*)"
_SEPARATOR = "AXIS_SEPARATOR"


class IndexMap(NamedTuple):
    """A map of indices: the tensor is stored as a row-major array, at the index that the results give."""

    names: tuple[str, ...]
    results: tuple[str, ...]

    @property
    def text(self) -> str:
        """The results, as they are written."""
        return f"({', '.join(self.results)})"

    def layout(self, shape: tuple[int, ...]) -> Layout:
        """The layout of a tensor of that shape.

        >>> print(read_index_map("lambda i, j: (i // 4, j, i % 4)").layout((6, 2)))
        (((4, 2), 2):((1, 8), 4)) extents (6, 2)
        """
        if len(shape) != len(self.names):
            raise NotExpressible(
                f"the map is of {len(self.names)} indices, and the tensor has {len(shape)} dimensions.",
                hint="give the map one index for each dimension",
                shape=shape,
            )
        results = [_expression(part, self.names) for part in self.results if _SEPARATOR not in part]
        return stored_layout(results, tuple(shape))


def is_index_map(text: str) -> bool:
    """Whether a text begins as an index map."""
    return re.match(r"\s*(?:(?:T\.|tir\.)?index_map\(\s*)?lambda\s", text) is not None


def read_index_map(text: str) -> IndexMap:
    """The map that a text writes, as Python does."""
    found = re.match(_LAMBDA, text, re.DOTALL)
    if found is None:
        scan = Scanner(text, "tvm", "lambda i, j: (j, i)")
        scan.fail("lambda and the names of indices", 0)
    names = tuple([name.strip() for name in found["names"].split(",") if name.strip()])
    parts = [re.sub(r"T\.int\d+\((-?\d+)\)", r"\1", part) for part in _results(found["results"])]
    for part in parts:
        if _SEPARATOR not in part:
            _expression(part, names)
    return IndexMap(names, tuple(parts))


def _results(text: str) -> list[str]:
    """The expressions of a tuple or a list, or the only one."""
    inside = text.strip()
    many = inside[:1] in ("(", "[")
    parts, level, start = [], 0, 1 if many else 0
    for at in range(start, len(inside)):
        c = inside[at]
        if c in "([":
            level += 1
        elif c in ")]":
            level -= 1
            if level < 0:
                parts.append(inside[start:at])
                return [part.strip() for part in parts if part.strip()]
        elif c == "," and level == 0:
            parts.append(inside[start:at])
            start = at + 1
            if not many:
                return [parts[0].strip()]
    return [part.strip() for part in [*parts, inside[start:]] if part.strip()]


def _expression(text: str, names: tuple[str, ...]) -> Affine:
    """Python's arithmetic as an affine expression of the dimensions."""
    places = {name: f"d{k}" for k, name in enumerate(names)}
    plain = text.replace("//", " floordiv ").replace("%", " mod ")
    scan = Scanner(re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda m: places.get(m[0], m[0]), plain), "tvm", "i // 16")
    result = expression(scan, len(names))
    scan.end()
    return result
