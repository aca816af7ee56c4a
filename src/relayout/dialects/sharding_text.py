"""Our own notation of shardings: ``mesh(x=4, y=2) deals (x, -) shape (16, 8)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..integers.nested import MAX_DEPTH, product
from ..sharding.mesh import Mesh, iota
from ..sharding.sharding import UNEVEN, Sharding
from .scan import Scanner

EXAMPLE = "mesh(x=4, y=2) deals (x, -)"
_STRING = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")


def parse(text: str, rank: int | None) -> Sharding:
    scan = Scanner(text, "sharding", EXAMPLE)
    scan.expect("mesh")
    scan.expect("(")
    mesh = _mesh(scan)
    scan.expect("deals")
    scan.expect("(")
    dims: list[Any] = []
    while not scan.accept(")"):
        if dims:
            scan.expect(",")
        dims.append(None if scan.accept("-") else _digits(scan))
    uneven = "pad"
    if scan.accept("uneven"):
        at = scan.position
        uneven = scan.name()
        if uneven not in UNEVEN:
            scan.fail(f"one of {', '.join(UNEVEN)}", at)
    shape = scan.bracketed_integers("(", ")") if scan.accept("shape") else None
    scan.end()
    return Sharding(mesh, dims, shape, uneven=uneven)  # type: ignore[arg-type]


def render(x: Sharding) -> str:
    return str(x)


def _mesh(scan: Scanner) -> Mesh:
    if scan.accept("*"):
        scan.expect(")")
        return Mesh({}, None)
    axes: list[tuple[str, int]] = []
    while scan.peek() not in (";", ")"):
        if axes:
            scan.expect(",")
        name = scan.name() or scan.fail("the name of a mesh axis")
        scan.expect("=")
        axes.append((name, scan.integer()))
    devices: list[int] = []
    if scan.accept(";"):
        devices = read_order(scan) if scan.peek() == "[" else read_list(scan)
    scan.expect(")")
    return Mesh(axes, devices)


def read_order(scan: Scanner) -> list[int]:
    """``[2,4]T(1,0)``: a grid of devices, and the order of its dimensions."""
    at = scan.position
    sizes = scan.bracketed_integers()
    order = scan.bracketed_integers("(", ")") if scan.accept("T") else tuple(range(len(sizes)))
    if sorted(order) != list(range(len(sizes))):
        scan.fail(f"an order of {len(sizes)} dimensions", at)
    if any(n < 1 for n in sizes):
        scan.fail("sizes of 1 or more", at)
    Mesh([(f"a{k}", n) for k, n in enumerate(sizes)])  # refuses what is too many
    return iota(sizes, order)


def read_list(scan: Scanner) -> list[int]:
    """Devices with commas between them."""
    found = [scan.integer()]
    while scan.accept(","):
        found.append(scan.integer())
    return found


def read_grid(scan: Scanner) -> tuple[list[int], tuple[int, ...]]:
    """``[[0, 1], [2, 3]]``: the numbers in row-major order, and the sizes of the grid."""
    at = scan.position
    rows = _nested_numbers(scan)
    sizes = [len(rows)]
    while rows and isinstance(rows[0], list):
        lengths = {len(row) if isinstance(row, list) else -1 for row in rows}
        if len(lengths) > 1:
            scan.fail("rows of equal length", at)
        sizes.append(lengths.pop())
        rows = [entry for row in rows for entry in row]
    if any(isinstance(entry, list) for entry in rows):
        scan.fail("rows of equal length", at)
    return rows, tuple(sizes)


def write_grid(numbers: Sequence[int], sizes: Sequence[int]) -> str:
    """The inverse of ``read_grid``."""
    if not sizes:
        return str(numbers[0])
    step = product(tuple(sizes[1:]))
    return f"[{', '.join([write_grid(numbers[k * step : (k + 1) * step], sizes[1:]) for k in range(sizes[0])])}]"


def read_string(scan: Scanner) -> str:
    """A word in single or double quotes."""
    scan.peek()
    match = _STRING.match(scan.text, scan.position) or scan.fail("a word in quotes")
    scan.position = match.end()
    return match.group(1) if match.group(1) is not None else match.group(2)


def read_strings(scan: Scanner) -> tuple[str, ...]:
    """Words in quotes, between parentheses."""
    scan.expect("(")
    found: list[str] = []
    while not scan.accept(")"):
        if found:
            scan.expect(",")
            if scan.accept(")"):
                break
        found.append(read_string(scan))
    return tuple(found)


def skip_braces(scan: Scanner) -> None:
    """Pass over what stands between braces, others in it included."""
    depth = 0
    while True:
        c = scan.peek() or scan.fail("'}'")
        scan.position += 1
        depth += {"{": 1, "}": -1}.get(c, 0)
        if depth == 0:
            return


def _nested_numbers(scan: Scanner, level: int = 0) -> list[Any]:
    """Numbers in nested square brackets."""
    if level > MAX_DEPTH:
        scan.fail(f"at most {MAX_DEPTH} brackets in each other")
    scan.expect("[")
    found: list[Any] = []
    while not scan.accept("]"):
        if found:
            scan.expect(",")
        found.append(_nested_numbers(scan, level + 1) if scan.peek() == "[" else scan.integer())
    return found


def _digits(scan: Scanner) -> tuple[Any, ...]:
    digits: list[Any] = []
    while True:
        if scan.accept("..."):
            digits.append(...)
        elif scan.peek().isdigit():
            digits.append(scan.integer())
        else:
            name = scan.name() or scan.fail("a mesh axis, a size, ... or -")
            digits.append(_part(scan, name))
        if not scan.accept("*"):
            return tuple(digits)


def _part(scan: Scanner, name: str) -> Any:
    """An axis, or a part of it: ``y:(1)2``."""
    if not scan.accept(":"):
        return name
    scan.expect("(")
    before = scan.integer()
    scan.expect(")")
    return name, before, scan.integer()
