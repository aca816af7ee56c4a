"""Pickles read as data: what their opcodes put together, with a word in the place of everything that they would call.

Nothing is imported, called or made but tuples, lists and the values here. Opcodes that are not needed for checkpoints
are refused, and so are pickles that are too long or nested too deeply.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ..errors import LayoutError, shown
from .contents import bad_file

MAX_OPCODES = 5_000_000
MAX_DEPTH = 200
"""No value of a checkpoint's pickle is nested more deeply."""

_HINT = "write the checkpoint again with torch"


class PickledName(NamedTuple):
    """A class or a function that a pickle names, and that is not looked for: ``torch.float32``."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class PickledObject:
    """What a pickle would make by a call: of what, with which arguments, and the state that it would be given."""

    __slots__ = ("arguments", "depth", "of", "state")

    def __init__(self, of: Any, arguments: Any, depth: int) -> None:
        self.of, self.arguments, self.depth = of, arguments, depth
        self.state: Any = None

    def field(self, name: str) -> Any:
        """An entry of its state; None where there is none of that name."""
        return self.state.get(name) if isinstance(self.state, PickledDict) else None


class PickledDict:
    """A dictionary as pairs: keys may be objects, and are never hashed."""

    __slots__ = ("depth", "pairs")

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, Any]] = []
        self.depth = 1

    def get(self, name: str) -> Any:
        """The value whose key is that text; the last, as Python would have it."""
        return next((value for key, value in reversed(self.pairs) if isinstance(key, str) and key == name), None)


class PersistentId(NamedTuple):
    """What lies outside of the pickle: the storage of a tensor."""

    value: Any


class _Nested(list[Any]):
    """A list or a tuple under construction, with its depth."""

    __slots__ = ("depth",)

    def __init__(self, entries: Any = ()) -> None:
        super().__init__(entries)
        self.depth = 1 + max([_depth(x) for x in self], default=0)


def _depth(x: Any) -> int:
    if isinstance(x, PersistentId):
        return 1 + _depth(x.value)
    return getattr(x, "depth", 0)


_MARK = object()
_PLAIN = {"BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "FLOAT", "INT", "LONG"} | {
    *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "SHORT_BINSTRING", "BINSTRING", "STRING"),
}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}


def read_pickle(data: bytes, file: Path) -> Any:
    """The value of a pickle: numbers, texts, lists (tuples too), dictionaries as pairs, names, objects not made."""
    machine = _Machine(file)
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if count > MAX_OPCODES:
                machine.fail(f"it has more than {MAX_OPCODES} opcodes")
            machine.step(opcode.name, argument)
            if machine.done:
                break
    except LayoutError:
        raise
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        machine.fail(f"it is damaged: {shown(str(error))}")
    if not machine.done or len(machine.stack) != 1:
        machine.fail("it has no end")
    return machine.stack[0]


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.done = False

    def fail(self, what: str) -> NoReturn:
        raise bad_file(self.file, f"its pickle cannot be read: {what}.", _HINT)

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _PLAIN:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _STEPS:
            _STEPS[name](self, argument)
        else:
            self.fail(f"{name} is no opcode of a checkpoint")
        if stack and _depth(stack[-1]) > MAX_DEPTH:
            self.fail(f"it is nested more than {MAX_DEPTH} deep")

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            self.fail("its stack is empty")
        return self.stack.pop()

    def top(self, kind: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            self.fail(f"a {kind.__name__} is missing")
        return self.stack[-1]

    def pop_mark(self) -> list[Any]:
        found: list[Any] = []
        while self.stack and self.stack[-1] is not _MARK:
            found.append(self.stack.pop())
        if not self.stack:
            self.fail("a mark is missing")
        self.stack.pop()
        return found[::-1]

    def take(self, count: int) -> list[Any]:
        return [self.pop() for _ in range(count)][::-1]

    def call(self, arguments: Any, of: Any) -> None:
        self.stack.append(PickledObject(of, arguments, 1 + max(_depth(arguments), _depth(of))))

    def reduce(self) -> None:
        arguments = self.pop()
        self.call(arguments, self.pop())

    def build(self) -> None:
        state = self.pop()
        made = self.top(PickledObject)
        made.state = state
        made.depth = max(made.depth, 1 + _depth(state))

    def name_from_stack(self) -> None:
        module, name = self.take(2)
        if not isinstance(module, str) or not isinstance(name, str):
            self.fail("a name is no text")
        self.stack.append(PickledName(module, name))

    def extend(self, entries: list[Any]) -> None:
        into = self.top(_Nested)
        into.extend(entries)
        into.depth = max([into.depth, *[1 + _depth(x) for x in entries]])

    def set_items(self, entries: list[Any]) -> None:
        into = self.top(object)
        # An OrderedDict is an object that is given items.
        if isinstance(into, PickledObject):
            into.state = into.state if isinstance(into.state, PickledDict) else PickledDict()
            into = into.state
        if not isinstance(into, PickledDict) or len(entries) % 2:
            self.fail("items are given to what is no dictionary")
        into.pairs += list(zip(entries[::2], entries[1::2]))
        into.depth = max([into.depth, *[1 + _depth(x) for x in entries]])

    def drop(self) -> None:
        self.stack.pop()

    def drop_mark(self) -> None:
        self.pop_mark()

    def put(self, key: int) -> None:
        self.memo[key] = self.stack[-1]

    def get(self, key: int) -> None:
        self.stack.append(self.memo[key])

    def append(self) -> None:
        entry = self.pop()
        self.extend([entry])

    def set_item(self) -> None:
        self.set_items(self.take(2))

    def frozen(self) -> None:
        self.stack.append(_Nested(self.pop_mark()))

    def finish(self) -> None:
        self.done = True


def _pickled_name(argument: str) -> PickledName:
    module, _, name = argument.partition(" ")
    return PickledName(module, name)


_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": lambda m, x: None,
    "FRAME": lambda m, x: None,
    "STOP": lambda m, x: m.finish(),
    "MARK": lambda m, x: m.stack.append(_MARK),
    "POP": lambda m, x: m.drop(),
    "POP_MARK": lambda m, x: m.drop_mark(),
    "EMPTY_TUPLE": lambda m, x: m.stack.append(_Nested()),
    "EMPTY_LIST": lambda m, x: m.stack.append(_Nested()),
    "EMPTY_DICT": lambda m, x: m.stack.append(PickledDict()),
    "EMPTY_SET": lambda m, x: m.stack.append(_Nested()),
    "TUPLE1": lambda m, x: m.stack.append(_Nested(m.take(1))),
    "TUPLE2": lambda m, x: m.stack.append(_Nested(m.take(2))),
    "TUPLE3": lambda m, x: m.stack.append(_Nested(m.take(3))),
    "TUPLE": lambda m, x: m.frozen(),
    "LIST": lambda m, x: m.frozen(),
    "FROZENSET": lambda m, x: m.frozen(),
    "ADDITEMS": lambda m, x: m.extend(m.pop_mark()),
    "APPEND": lambda m, x: m.append(),
    "APPENDS": lambda m, x: m.extend(m.pop_mark()),
    "SETITEM": lambda m, x: m.set_item(),
    "SETITEMS": lambda m, x: m.set_items(m.pop_mark()),
    "GLOBAL": lambda m, x: m.stack.append(_pickled_name(x)),
    "STACK_GLOBAL": lambda m, x: m.name_from_stack(),
    "REDUCE": lambda m, x: m.reduce(),
    "NEWOBJ": lambda m, x: m.reduce(),
    "BUILD": lambda m, x: m.build(),
    "BINPERSID": lambda m, x: m.stack.append(PersistentId(m.pop())),
    "MEMOIZE": lambda m, x: m.put(len(m.memo)),
    "BINPUT": lambda m, x: m.put(x),
    "LONG_BINPUT": lambda m, x: m.put(x),
    "PUT": lambda m, x: m.put(x),
    "BINGET": lambda m, x: m.get(x),
    "LONG_BINGET": lambda m, x: m.get(x),
    "GET": lambda m, x: m.get(x),
}
"""What each opcode does; every one that is not here is refused."""
