"""A program in no language: a small tree of functions, statements and expressions, which each language prints.

``lower`` makes it of loop nests; a language is a printer of these nodes and a few words of its own. All of them are
named tuples, so that a walk needs no method on them (``names_in``, ``nodes_in``).

*Types* are short words: ``index`` for sizes and places (a signed integer of 64 bits), ``bool`` for a yes or no,
``status`` for what a function returns that may refuse a value (0, or 1 at the first refused one), and for elements
``u8`` ... ``u64``, ``i8`` ... ``i64``, ``f32``, ``f64``, ``c64``, ``c128``. Expressions are typed strictly: both sides
of an operator have one type (shifts aside, which go by an ``index``), and every change of type is a ``Cast``.

*Memory*: ``src`` and ``dst`` are parameters of these kinds. ``At("src", i)`` is element ``i``. A ``Base`` gives a place
of a memory a name, and ``At("from", i)`` counts from there: a pointer where a language has such, else a number to be
added. It never leaves its memory; where it could, the tree has a plain number (``Let``) and ``At("src", from + i)``.

*Integers*: ``/`` and ``%`` have operands from 0 on, or a quotient whose sign alone matters (a bound that ``max`` raises
to 0), so that rounding down and rounding to 0 are the same. No sum or product of type ``index`` overflows; ``*%`` and
``+%`` are those of unsigned integers that wrap around.

*Names*: a function belongs to the one that a user calls. ``Call("pack", "min", ...)`` calls the helper ``min`` of
``pack``, which in C is ``pack_min``; a language that has ``min`` and ``max`` leaves out these helpers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

INDEX, BOOL, STATUS = "index", "bool", "status"

# ---- expressions -----------------------------------------------------------------------------------------


class Number(NamedTuple):
    """An integer; a bit mask is written in hexadecimal digits."""

    value: int
    type: str = INDEX
    mask: bool = False


class Real(NamedTuple):
    """A finite number of type ``f32`` or ``f64``, which it is exactly."""

    value: float
    type: str


class Truth(NamedTuple):
    """Yes or no."""

    value: bool


class Name(NamedTuple):
    """What a ``Let``, a ``Var``, a loop or a parameter is called."""

    name: str


class Binary(NamedTuple):
    """``+ - * / %``, ``*% +%``, ``<< >> & | ^``, ``== != < <= > >=``, ``&& ||``."""

    sign: str
    left: Expression
    right: Expression


class Unary(NamedTuple):
    """``-``, ``!`` of a bool, ``~`` of all bits."""

    sign: str
    value: Expression


class Cast(NamedTuple):
    """A value as another type: integers modulo its width, floats rounded to the nearest, or cut to an integer."""

    type: str
    value: Expression


class Select(NamedTuple):
    """One of two values."""

    condition: Expression
    yes: Expression
    no: Expression


class At(NamedTuple):
    """An element of a memory, a ``Base`` or a ``ConstantTable``; read, or written as the target of an ``Assign``."""

    memory: str
    place: Expression


class Call(NamedTuple):
    """A helper of the function ``owner``; with an empty helper, that function itself."""

    owner: str
    helper: str
    arguments: tuple[Expression, ...]


class Reference(NamedTuple):
    """An argument that the called function writes: an element, or a variable."""

    target: At | Name


Expression: TypeAlias = Number | Real | Truth | Name | Binary | Unary | Cast | Select | At | Call | Reference

# ---- statements ------------------------------------------------------------------------------------------


class Comment(NamedTuple):
    text: str


class Let(NamedTuple):
    """A name for a value that stays. With ``rounded`` it is rounded to its type, and never fused with what follows."""

    name: str
    type: str
    value: Expression
    rounded: bool = False


class Var(NamedTuple):
    """A name for a value that changes."""

    name: str
    type: str
    value: Expression


class ConstantTable(NamedTuple):
    """Numbers that stay, read by ``At``."""

    name: str
    type: str
    values: tuple[int | float, ...]


class LocalArray(NamedTuple):
    """An array of so many elements that the function has for itself, read and written by ``At`` and ``Copy``."""

    name: str
    type: str
    size: int


class Reinterpret(NamedTuple):
    """A name for the bits of a variable as another type of that width."""

    name: str
    type: str
    of: Name
    of_type: str


class Base(NamedTuple):
    """A name for the place of a memory that ``At`` counts from; it lies in the memory, or just behind it."""

    name: str
    memory: str
    place: Expression


class Assign(NamedTuple):
    """A changed variable, element, or output parameter."""

    target: At | Name
    value: Expression


class Do(NamedTuple):
    """A call whose result nobody needs."""

    call: Call


class Visit(NamedTuple):
    """The call of a ``visitor`` parameter."""

    name: str
    arguments: tuple[Expression, ...]


class Copy(NamedTuple):
    """Neighbours of one memory to another: ``length`` elements, bit by bit; the memories share nothing.

    With ``streams`` the owner of the function has a helper that writes so many bytes at a time past the caches.
    """

    target: At
    source: At
    length: Expression
    streams: int = 0


class Fill(NamedTuple):
    """``length`` elements of ``type`` from the start of a memory on: the bytes of ``pattern``, over and over."""

    memory: str
    type: str
    pattern: bytes
    length: Expression


class For(NamedTuple):
    """``name`` runs from ``start`` up to ``end``, which it does not reach; the title says in words through what."""

    title: str
    name: str
    start: Expression
    end: Expression
    body: tuple[Statement, ...]


class If(NamedTuple):
    condition: Expression
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


class Return(NamedTuple):
    """The end of a function; the comment, if any, says why."""

    value: Expression | None = None
    comment: str = ""


Statement: TypeAlias = (
    Comment
    | Let
    | Var
    | ConstantTable
    | LocalArray
    | Reinterpret
    | Base
    | Assign
    | Do
    | Visit
    | Copy
    | Fill
    | For
    | If
    | Return
)

# ---- functions -------------------------------------------------------------------------------------------


class Parameter(NamedTuple):
    """An argument. ``kind`` is ``value``; ``src`` or ``dst`` for a memory that is read or written; ``out`` for a
    variable of the caller that is written; ``visitor`` for a function that is called with as many integers of type
    ``index`` as ``arity`` says.
    """

    name: str
    type: str
    kind: str = "value"
    arity: tuple[str, ...] = ()


class Routine(NamedTuple):
    """A function: the helper of ``owner``, or with an empty ``helper`` the one that a user calls, under its comment."""

    owner: str
    helper: str
    about: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    result: str | None
    body: tuple[Statement, ...]


class TestRun(NamedTuple):
    """A call of a function of ``Module`` by its test: the sizes, the bytes of both memories, the checksum expected."""

    owner: str
    sizes: tuple[int, ...]
    source: int
    target: int
    checksum: int


class Module(NamedTuple):
    """Functions, each behind those that it calls, and the runs of the self-test, if the text has one.

    A test fills the source with ``sample_byte`` of each byte's place, calls the function, and adds ``weighed_byte`` of
    each byte written to a checksum.
    """

    functions: tuple[Routine, ...]
    runs: tuple[TestRun, ...] = ()

    def tested_routines(self) -> list[Routine]:
        """The functions that the self-test runs."""
        owners = dict.fromkeys(run.owner for run in self.runs)
        return [function for function in self.functions if not function.helper and function.owner in owners]


# ---- making and reading trees ----------------------------------------------------------------------------


def total(terms: Sequence[Expression]) -> Expression:
    """A sum, 0 where it has no terms; negative terms are taken away."""
    found: Expression | None = None
    for term in terms:
        sign, plain = _without_sign(term)
        found = term if found is None else Binary(sign, found, plain)
    return Number(0) if found is None else found


def product(factors: Sequence[Expression]) -> Expression:
    """A product without ones."""
    found: Expression | None = None
    for factor in factors:
        if factor != Number(1):
            found = factor if found is None else Binary("*", found, factor)
    return Number(1) if found is None else found


def _without_sign(term: Expression) -> tuple[str, Expression]:
    if isinstance(term, Number) and term.value < 0:
        return "-", term._replace(value=-term.value)
    if isinstance(term, Unary) and term.sign == "-":
        return "-", term.value
    return "+", term


def nodes_in(tree: Any) -> Iterator[Any]:
    """All nodes of a tree, or of a tuple of them."""
    if isinstance(tree, tuple):
        yield tree
        for part in tree:
            yield from nodes_in(part)


def names_in(tree: Any) -> set[str]:
    """Every variable, memory and parameter that a tree reads or writes."""
    found = set()
    for node in nodes_in(tree):
        if isinstance(node, Name):
            found.add(node.name)
        elif isinstance(node, (At, Base, Fill)):
            found.add(node.memory)
        elif isinstance(node, Visit):
            found.add(node.name)
    return found
