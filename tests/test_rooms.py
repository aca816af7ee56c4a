"""The walls between the rooms: every import of the package is read, and lower rooms never import higher ones.

``python tests/test_rooms.py`` prints the counts: modules, modules at the root, imports by kind, and the largest knots.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import relayout

SOURCE = Path(relayout.__file__).parent

ROOMS: tuple[str | tuple[str, ...], ...] = (
    ("errors", "immutable", "missing", "native", "plugins", "_version"),
    "integers",
    "layout",
    "algebra",
    "format",
    "elements",
    "hardware",
    "sharding",
    "dialects",
    "tensors",
    "ask",
    "engine",
    "codegen",
    "files",
    "drawing",
    "auditing",
    ("htp", "mojo", "coreai", "candle", "catalog"),
    "__init__",
    "testing",
    "web",
    "agents",
    "cli",
    "__main__",
)
"""From the lowest up. Some stand empty until something fills them; ``__init__`` is the front door of the package."""

PUBLIC_MODULES = {"catalog", "testing", "coreai", "hardware", "htp", "mojo", "candle"}
"""What users import as a module: the only ones at the root, or rooms, that may export names of their own."""


class Up(NamedTuple):
    """One import that may point up: the module that has it, the function around it, and the module it reaches."""

    module: str
    function: str
    target: str


SUGAR = {
    # A layout and a format read and write every notation.
    Up("layout.layout", "Layout.parse", "dialects.resolve"),
    Up("layout.layout", "Layout.to", "dialects.render"),
    Up("format.format", "Format.to", "dialects.render"),
    Up("sharding.sharding", "Sharding.to", "dialects.render"),
    Up("algebra.linear", "LinearLayout.parse", "dialects.ttg_text"),
    Up("hardware.conversions", "_operands", "dialects.ttg_text"),
    # A tensor's data moves by plans.
    Up("tensors.gather", "copy_stored", "engine.plan"),
    Up("tensors.gather", "_copy_blocks", "engine.ways"),
    # A record takes its own data apart.
    Up("format.record", "Record.unpack", "engine.records"),
    Up("format.record", "Record.pack", "engine.records"),
    Up("format.record", "Record.decode", "engine.records"),
    # A value draws itself in a notebook.
    Up("layout.layout", "Layout._repr_svg_", "drawing.notebook"),
    Up("layout.comparison", "Comparison._repr_svg_", "drawing.notebook"),
    Up("algebra.composed", "ComposedLayout._repr_svg_", "drawing.notebook"),
    Up("algebra.linear", "LinearLayout._repr_svg_", "drawing.notebook"),
    Up("format.format", "Format._repr_svg_", "drawing.notebook"),
    Up("format.record", "Record._repr_svg_", "drawing.notebook"),
    Up("hardware.atom", "Atom._repr_svg_", "drawing.notebook"),
    Up("sharding.sharding", "Sharding._repr_svg_", "drawing.notebook"),
    Up("tensors.tensor", "Tensor._repr_svg_", "drawing.notebook"),
    Up("ask.record_comparison", "RecordComparison._repr_svg_", "drawing.notebook"),
    # An answer that is no picture is a table there.
    Up("format.entries", "Entry._repr_html_", "drawing.notebook_tables"),
    Up("format.records", "NamedRecord._repr_html_", "drawing.notebook_tables"),
    Up("format.catalog", "_Entries._repr_html_", "drawing.notebook_tables"),
    Up("ask.rosetta", "Rosetta._repr_html_", "drawing.notebook_tables"),
    Up("ask.inference.result", "Inference._repr_html_", "drawing.notebook_tables"),
    Up("ask.banks", "Banks._repr_html_", "drawing.notebook_tables"),
    Up("ask.sectors", "Sectors._repr_html_", "drawing.notebook_tables"),
    Up("ask.advice", "Advice._repr_html_", "drawing.notebook_tables"),
    Up("ask.every_shape", "FormatComparison._repr_html_", "drawing.notebook_tables"),
    Up("sharding.comparison", "ShardingComparison._repr_html_", "drawing.notebook_tables"),
    Up("dialects.resolve", "Resolved._repr_html_", "drawing.notebook_tables"),
    Up("files.mapped", "TensorFile._repr_html_", "drawing.notebook_tables"),
    Up("files.jobs.repack_file", "Report._repr_html_", "drawing.notebook_tables"),
    Up("files.jobs.verify", "Verification._repr_html_", "drawing.notebook_tables"),
}
"""The methods that are one line in a lower room and ask a higher one."""


class Import(NamedTuple):
    """One imported name: from which module, at which line, inside which function, of which module, and when it runs."""

    module: str
    line: int
    function: str
    target: str
    when: str
    """``load`` (top-level), ``call`` (inside a function) or ``type`` (under TYPE_CHECKING: never)."""


def modules() -> dict[str, Path]:
    """Every module of the package by its name below ``relayout``; the package itself is ``__init__``."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports_of(module: str) -> Iterator[Import]:
    """The imports of other modules of the package that ``module`` has anywhere."""
    path = MODULES[module]
    package = ["relayout", *path.parent.relative_to(SOURCE).parts]

    def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{start}.{alias.name}" for alias in node.names]
        for name in names:
            inside = name.removeprefix("relayout.")
            if name == "relayout":
                yield "__init__"
            elif inside != name:
                # The name is a module, or a name in one; a name of the package itself is behind the front door.
                yield next((m for m in (inside, inside.rpartition(".")[0]) if m in MODULES), "__init__")

    def walk(node: ast.AST, scope: tuple[str, ...], when: str) -> Iterator[Import]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (Import(module, node.lineno, ".".join(scope), target, when) for target in targets(node))
        elif isinstance(node, ast.ClassDef):
            scope = (*scope, node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            scope, when = (*scope, node.name), "call"
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            when = "type"
        for child in ast.iter_child_nodes(node):
            yield from walk(child, scope, when)

    yield from walk(ast.parse(path.read_text()), (), "load")


IMPORTS = [found for module in MODULES for found in imports_of(module)]


def room(module: str) -> str:
    return module.partition(".")[0]


def storeys() -> dict[str, int]:
    """How high each room lies."""
    return {
        name: storey for storey, names in enumerate(ROOMS) for name in ((names,) if isinstance(names, str) else names)
    }


STOREYS = storeys()


def up(one: Import) -> bool:
    return STOREYS[room(one.target)] > STOREYS[room(one.module)]


def is_sugar(one: Import) -> bool:
    return Up(one.module, one.function, one.target) in SUGAR


def knots(edges: Iterable[tuple[str, str]]) -> list[set[str]]:
    """The sets of two or more modules that import each other in a circle, directly or not; the largest first."""
    follows: dict[str, set[str]] = {}
    for source, target in edges:
        follows.setdefault(source, set()).add(target)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        open_ends = [start]
        while open_ends:
            for target in follows.get(open_ends.pop(), set()) - seen:
                seen.add(target)
                open_ends.append(target)
        return seen

    beyond = {module: reached(module) for module in follows}
    circles = {frozenset(other for other in ends if module in beyond.get(other, ())) for module, ends in beyond.items()}
    return sorted((set(circle) for circle in circles if len(circle) > 1), key=len, reverse=True)


def told(places: Iterable[Import]) -> str:
    return "\n".join(f"{one.module}:{one.line} {one.function or '(top)'} -> {one.target}" for one in places)


def test_every_module_lies_in_a_room_that_has_a_place() -> None:
    assert {room(module) for module in MODULES} <= set(STOREYS)


def test_no_import_points_up() -> None:
    wrong = [one for one in IMPORTS if up(one) and not is_sugar(one)]
    assert not wrong, told(wrong)


def test_every_listed_import_still_exists() -> None:
    there = {Up(one.module, one.function, one.target) for one in IMPORTS if up(one)}
    assert there >= SUGAR, sorted(SUGAR - there)


def test_sugar_is_imported_when_it_is_called() -> None:
    assert not [one for one in IMPORTS if up(one) and one.when == "load" and is_sugar(one)]


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    circles = knots((one.module, one.target) for one in IMPORTS if one.when == "load")
    assert not circles, circles


def test_a_room_exports_nothing() -> None:
    full = set()
    for module, path in MODULES.items():
        if path.name == "__init__.py" and module not in {"__init__", *PUBLIC_MODULES}:
            body = ast.parse(path.read_text()).body
            if len(body) != 1 or not isinstance(body[0], ast.Expr):
                full.add(module)
    assert not full


def test_only_public_modules_lie_at_the_root() -> None:
    at_root = {module for module, path in MODULES.items() if path.parent == SOURCE}
    assert at_root <= {"__init__", "__main__", *ROOMS[0], *PUBLIC_MODULES}


def test_no_module_is_shadowed_by_a_public_name() -> None:
    functions = {name for name in relayout.__all__ if not isinstance(getattr(relayout, name), ModuleType)}
    assert not functions & {room(module) for module in MODULES}


def test_the_walls_are_seen() -> None:
    """The reader itself: what is above, and which circles there are, in three small cases."""
    assert up(Import("layout.layout", 1, "", "dialects.resolve", "load"))
    assert not up(Import("cli.main", 1, "", "errors", "load"))
    assert knots([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "e")]) == [{"a", "b", "c"}]
    seen = {(one.function, one.target, one.when) for one in imports_of("layout.layout")}
    assert ("Layout.parse", "dialects.resolve", "call") in seen
    assert ("", "errors", "load") in seen


def survey() -> dict[str, int]:
    """The counts by which a reader sees how the package is built."""
    runs = [one for one in IMPORTS if one.when != "type"]
    walls = [one for one in runs if not is_sugar(one)]
    return {
        "modules": len(MODULES),
        "modules at the root": sum(path.parent == SOURCE for path in MODULES.values()),
        "lines": sum(len(path.read_text().splitlines()) for path in MODULES.values()),
        "edges between modules, top-level": len({(one.module, one.target) for one in runs if one.when == "load"}),
        "local imports, statements": len({(one.module, one.line) for one in runs if one.when == "call"}),
        "local imports, edges": len({(one.module, one.target) for one in runs if one.when == "call"}),
        "imports that point up": sum(map(up, runs)),
        "largest knot, local imports counted": max(map(len, knots((a.module, a.target) for a in runs)), default=0),
        "largest knot, without the sugar": max(map(len, knots((a.module, a.target) for a in walls)), default=0),
    }


if __name__ == "__main__":
    sys.stdout.writelines(f"{count:6} {what}\n" for what, count in survey().items())
