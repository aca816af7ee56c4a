"""The values of expressions in examples: literals, and what pure functions of ``relayout`` make of them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import relayout as rl
from relayout.errors import LayoutError
from relayout.hardware.atom import Atom

Known = dict[str, Any]
"""The values of names."""


@dataclass(frozen=True)
class Array:
    """An array of numpy, of which the shape alone is known."""

    shape: tuple[int, ...]


PURE = frozenset(
    [
        *["algebra", "dialects", "format", "hardware", "integers", "layout", "sharding"],
        *["candle", "catalog", "coreai", "htp", "mojo"],
    ]
)
"""The rooms and vocabularies whose functions are called."""

NOT_CALLED = frozenset(["offsets", "strided_index", "register", "unregister"])
"""Functions of them that are as long as a layout is large, or change what names mean."""

_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_LARGEST_POWER = 100
_REFUSALS = (LayoutError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


_FAMILIAR = {"rl": rl, "relayout": rl, **{name: getattr(rl, name) for name in rl.__all__}}
"""What the names of ``relayout`` mean where an example does not say."""


def text_of(value: Any) -> str:
    """A value as a field of the explorer takes it; empty for what is none there."""
    if isinstance(value, str):
        return value
    if isinstance(value, Atom):
        return value.name
    if isinstance(value, rl.Layout | rl.Format | rl.Sharding):
        return str(value)
    if isinstance(value, tuple) and value and all(isinstance(n, int) for n in value):
        return sizes_text(value)
    layout = getattr(value, "layout", None) if _is_ours(value) and not isinstance(value, type) else None
    return str(layout) if isinstance(layout, rl.Layout) else ""


def sizes_text(shape: tuple[Any, ...]) -> str:
    return ",".join(map(str, shape))


def learn(statement: ast.stmt, known: Known) -> None:
    """Take over the names that a statement gives values to."""
    if isinstance(statement, ast.ImportFrom) and (statement.module or "").partition(".")[0] == "relayout":
        module = import_module(str(statement.module))
        known |= {name.asname or name.name: getattr(module, name.name, None) for name in statement.names}
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], value_of(statement.value, known)
        if isinstance(target, ast.Name):
            known[target.id] = value
        elif isinstance(target, ast.Tuple):
            values = value if isinstance(value, tuple) else ()
            for name, entry in zip(target.elts, [*values, *[None] * (len(target.elts) - len(values))]):
                if isinstance(name, ast.Name):
                    known[name.id] = entry


def value_of(node: ast.expr, known: Known) -> Any:
    """The value of an expression; None where it is none of ours."""
    try:
        return _value(node, known)
    except _REFUSALS:
        return None


def _value(node: ast.expr, known: Known) -> Any:
    match node:
        case ast.Name():
            return known.get(node.id, _FAMILIAR.get(node.id))
        case ast.Tuple() | ast.List():
            return _entries(node.elts, known)
        case ast.Dict() if None not in node.keys:
            return dict(zip(_entries([key for key in node.keys if key], known), _entries(node.values, known)))
        case ast.JoinedStr():
            return "".join([_piece(part, known) for part in node.values])
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            left, right = value_of(node.left, known), value_of(node.right, known)
            small = isinstance(left, int) and isinstance(right, int) and abs(right) < _LARGEST_POWER
            return _ARITHMETIC[type(node.op)](left, right) if small else None
        case ast.Attribute():
            owner = value_of(node.value, known)
            return getattr(owner, node.attr) if _is_ours(owner) else None
        case ast.Subscript():
            owner = value_of(node.value, known)
            return owner[_index(node.slice, known)] if _is_ours(owner) or isinstance(owner, tuple) else None
        case ast.Call():
            return _call(node, known)
    return ast.literal_eval(node)


def _entries(nodes: list[ast.expr], known: Known) -> tuple[Any, ...]:
    """The values of all; refused where one is not known. None is known where it is written."""
    values = tuple([value_of(node, known) for node in nodes])
    if any(value is None and not _is_none(node) for node, value in zip(nodes, values)):
        raise ValueError("an entry that is not known")
    return values


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _piece(node: ast.expr, known: Known) -> str:
    """A part of a text with values in it, where they are texts or integers as they are."""
    if isinstance(node, ast.FormattedValue) and (node.conversion != -1 or node.format_spec is not None):
        raise ValueError("a value in another form")
    value = value_of(node.value if isinstance(node, ast.FormattedValue) else node, known)
    if not isinstance(value, str | int):
        raise ValueError("a part that is not known")
    return str(value)


def _index(node: ast.expr, known: Known) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple([_index(entry, known) for entry in node.elts])
    if isinstance(node, ast.Slice):
        return slice(*[None if part is None else _value(part, known) for part in (node.lower, node.upper, node.step)])
    found = _value(node, known)
    if found is None and not _is_none(node):
        raise ValueError("an index that is not known")
    return found


def _call(node: ast.Call, known: Known) -> Any:
    """What a pure function makes of arguments that are all known, and of an array its shape."""
    if (shaped := _array(node, known)) is not None:
        return shaped
    function = value_of(node.func, known)
    arguments = _entries(node.args, known)
    words = dict(zip([word.arg or "" for word in node.keywords], _entries([x.value for x in node.keywords], known)))
    called = callable(function) and _is_ours(function) and getattr(function, "__name__", "") not in NOT_CALLED
    if not called or "" in words:
        return None
    return function(*arguments, **words)


def _array(node: ast.Call, known: Known) -> Array | None:
    """An array that numpy makes of a shape, or that is given one."""
    if not isinstance(node.func, ast.Attribute) or not node.args:
        return None
    method, owner = node.func.attr, node.func.value
    values = [value_of(argument, known) for argument in node.args]
    if isinstance(owner, ast.Name) and owner.id == "np" and method == "arange":
        ends = [n for n in values if type(n) is int]
        sizes: Any = ends[0] if len(ends) == 1 else ends[1] - ends[0] if len(ends) == len(values) == 2 else None
    elif isinstance(owner, ast.Name) and owner.id == "np" and method in ("zeros", "ones", "empty", "full"):
        sizes = values[0]
    elif method == "reshape" and not _is_ours(value_of(owner, known)):
        sizes = values[0] if len(values) == 1 else tuple(values)
    else:
        return None
    shape = sizes if isinstance(sizes, tuple) else (sizes,)
    return Array(shape) if all(type(n) is int and n >= 0 for n in shape) else None


def _is_ours(value: Any) -> bool:
    """Whether something is of a pure part of ``relayout``, or the way to one."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "relayout"
    bound = getattr(value, "__self__", None)
    if bound is not None and not isinstance(bound, ModuleType):
        return _is_ours(bound)
    home = getattr(value, "__module__", None) or type(value).__module__
    return str(home).startswith("relayout.") and str(home).split(".")[1] in PURE
