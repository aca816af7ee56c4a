"""Reads pictures back: every cell of text, SVG and TikZ under the labels that stand beside it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import NamedTuple

from relayout.drawing.drawing import Drawing

SVG = "{http://www.w3.org/2000/svg}"
NODE = re.compile(r"\\node(?:\[([^\]]*)\])?(?: \(\w+\))? at \(([-\d.]+),([-\d.]+)\) \{(.*)\};")


class Seen(NamedTuple):
    """A cell as a reader sees it; a label is empty where none stands."""

    row: str
    column: str
    text: str
    padding: bool


def in_text(text: str) -> list[Seen]:
    """The cells of the one grid of a plain text."""
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if re.match(r"-+\+", line))
    edge = lines[first].index("+")
    heads = lines[first - 1][edge + 1 :].replace("|", " ").split()
    seen = []
    for line in lines[first:]:
        if line[edge : edge + 1] != "|":
            continue
        cells = re.findall(r"([ |·]+)([^ |·]+)", line[edge + 1 :])
        labels = [""] * (len(cells) - len(heads)) + heads
        seen += [Seen(line[:edge].strip(), c, x, "·" in room) for c, (room, x) in zip(labels, cells, strict=True)]
    return seen


def in_svg(svg: str) -> list[list[Seen]]:
    """The cells of each grid of an SVG, by the places of texts and labels."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        nodes = [(t.get("class", ""), float(t.get("x", 0)), float(t.get("y", 0)), t.text or "") for t in group]
        texts = [node for node, t in zip(nodes, group, strict=True) if t.tag == f"{SVG}text"]
        rows = {y: text for look, _, y, text in texts if look == "label row"}
        columns = {x: text for look, x, _, text in texts if look == "label"}
        cells = [node for node in texts if node[0] in ("", "out")]
        seen = [Seen(_near(rows, y), columns.get(x, ""), text, look == "out") for look, x, y, text in cells]
        if seen:
            found.append(seen)
    return found


def in_tikz(tikz: str) -> list[list[Seen]]:
    """The cells of each grid of a LaTeX document, by the places of its nodes."""
    found = []
    for scope in re.findall(r"\\begin\{scope\}.*?\\end\{scope\}", tikz, re.DOTALL):
        nodes = [(look, float(x), float(y), text) for look, x, y, text in NODE.findall(scope)]
        rows = {y: text for look, _, y, text in nodes if look == "row tick"}
        columns = {x: text for look, x, _, text in nodes if look == "tick"}
        cells = [node for node in nodes if "tick" not in node[0]]
        found.append([Seen(_near(rows, y), columns.get(x, ""), text, "outside" in look) for look, x, y, text in cells])
    return found


def _near(labels: dict[float, str], y: float) -> str:
    """The label on the same line."""
    return next((text for place, text in labels.items() if abs(place - y) <= 1), "")


def in_every_form(drawing: Drawing) -> list[list[Seen]]:
    """The cells of the one grid of a drawing, whole or cut, in each form that draws cells as texts."""
    parts = (in_svg(drawing.svg()), in_tikz(drawing.tikz()))
    return [in_text(drawing.text()), *[[cell for part in cut for cell in part] for cut in parts]]


def table(cells: list[Seen]) -> list[list[str]]:
    """The texts, row by row as they stand."""
    rows: dict[str, list[str]] = {}
    for cell in cells:
        rows.setdefault(cell.row, []).append(cell.text)
    return list(rows.values())
