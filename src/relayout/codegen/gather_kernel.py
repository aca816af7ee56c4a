"""Kernels of the C family with one thread for each place of the target, in the words of any such language."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ..elements.types import Element
from .c import CFunction
from .c_expressions import CExpressions
from .c_lines import WIDTH, CLines
from .element_types import tree_type
from .lower_convert import convert_routines
from .lower_gather import PLACE, gather
from .lower_helpers import packed_function
from .lower_loops import no_elements
from .program import PackFunction
from .statements import (
    BOOL,
    INDEX,
    Assign,
    At,
    Binary,
    Call,
    Cast,
    Expression,
    For,
    If,
    Let,
    Name,
    Number,
    Parameter,
    Real,
    Reference,
    Reinterpret,
    Return,
    Routine,
    Select,
    Statement,
    Unary,
    Var,
    names_in,
    product,
)

THREADS = 256
"""The threads of a group."""

EACH = 4
"""About so many places are a thread's."""

NARROW_LIMIT = 1 << 30
"""Fewer places, or bits where elements share bytes, are counted by 32 bits, the step of all threads included."""

WIDE = "u128"
"""What elements of 16 bytes are moved as."""


class KernelWords(NamedTuple):
    """What one language calls things: a language of the C family with threads.

    ``types`` are its names for the tree's types. ``vector`` makes a value of 16 bytes, ``space`` is where memories lie
    and ``own`` where variables do, ``helper`` stands before functions that kernels call. ``first`` is the number of a
    thread and ``step`` that of all threads; ``bits`` are the bits of a value as another type, by a function call.
    """

    types: dict[str, str]
    vector: str
    space: str
    own: str
    helper: str
    public: str
    first: str
    step: str
    bits: str


def places_are_narrow(function: PackFunction) -> bool:
    """Whether 32 bits count the places of both memories: where they are known, and few."""
    scale = 8 if min(function.element.bits, function.target_element.bits) < 8 else 1
    sizes = function.source.storage, function.target.storage
    return all(size.known and size.number * scale < NARROW_LIMIT for size in sizes)


def moved_as(element: Element) -> str:
    """The type that the bits of an element are moved as."""
    return f"u{max(element.bits, 8)}"


class KernelExpressions(CExpressions):
    """Expressions in the words of a language; ``index`` counts places."""

    def __init__(self, words: KernelWords, index: str, outs: frozenset[str] = frozenset()) -> None:
        super().__init__(outs)
        self.words, self.index = words, index

    def type(self, kind: str) -> str:
        return self.index if kind == INDEX else self.words.types[kind]


class KernelFunction(CFunction):
    """The printer of functions that run on a device."""

    table = "const"

    def __init__(self, function: Routine, words: KernelWords, index: str) -> None:
        self.words, self.index = words, index
        super().__init__(function)
        pointers = {"src": f"{words.space}const {{}} *{{}}", "dst": f"{words.space}{{}} *{{}}"}
        self.kinds = {"value": "{} {}", "out": f"{words.own}{{}} *{{}}", **pointers}
        self.private, self.public = words.helper, words.public

    def parameter(self, p: Parameter) -> list[str]:
        return [self.kinds[p.kind].format(self.types[p.name], p.name)]

    def printer(self, outs: frozenset[str]) -> CExpressions:
        return KernelExpressions(self.words, self.index, outs)

    def _add(self, depth: int, x: Statement) -> None:
        if isinstance(x, Reinterpret) and self.words.bits:
            kind = self.expressions.type(x.type)
            self.lines.add(depth, f"const {kind} {x.name} = {self.words.bits.format(kind, x.of.name)};")
        elif isinstance(x, Assign) and isinstance(x.value, Binary) and (x.value.sign, x.value.left) == ("-", x.target):
            self.lines.add(depth, f"{self.expressions.text(x.target)} -= {self.expressions.text(x.value.right)};")
        else:
            super()._add(depth, x)

    def kernel_lines(self, constants: tuple[Statement, ...], counter: str, end: str) -> list[str]:
        """The names that come first, and the body for every ``counter`` below ``end`` that is this thread's."""
        self._add_all(1, constants)
        index = self.expressions.type(INDEX)
        self.lines.add(1, f"const {index} step = {self.words.step};")
        self.lines.add(1, f"for ({index} {counter} = {self.words.first}; {counter} < {end}; {counter} += step) {{")
        self._add_all(2, self.function.body)
        self.lines.add(1, "}")
        return self.lines.lines


def add_call(lines: CLines, depth: int, opening: str, arguments: list[str], closing: str) -> None:
    """Arguments below the bracket, or where that is too far to the right on lines of their own."""
    indent = "  " * depth
    aligned = CLines()
    aligned.add_list(indent + opening, arguments, closing)
    if all(len(line) <= WIDTH for line in aligned.lines):
        lines.lines += aligned.lines
        return
    lines.lines.append(indent + opening)
    below = CLines()
    below.add_list(f"{indent}    ", arguments, closing)
    lines.lines += below.lines


class GatherKernel:
    """One kernel and the functions it calls; ``index`` is the type that counts places.

    ``converter`` names a function from bits to bits that converts, where the tree's own is not to.
    """

    def __init__(self, function: PackFunction, words: KernelWords, index: str, converter: str = "") -> None:
        self.function, self.words, self.index = function, words, index
        self.arithmetic = gather(function)
        self.bits = function.element.bits, function.target_element.bits
        self.helpers: list[Routine] = []
        self.converter = converter
        self.converts = function.conversion is not None and not converter
        elements = function.element, function.target_element
        self.types = [(tree_type if self.converts else moved_as)(element) for element in elements]
        self.refuses = False
        if function.conversion is not None and not converter:
            self.helpers += convert_routines(function.name, *function.conversion)
            self.refuses = self.helpers[-1].result == BOOL
        if self.bits[0] < 8 and self.arithmetic.source is not None:
            self.helpers.append(packed_function(function.name, self.bits[0], "src"))

    @property
    def parameters(self) -> list[str]:
        """The arguments of the kernel, behind the memories that they are of."""
        routine = self._routine(())
        printer = KernelFunction(routine, self.words, self.index)
        return [text for p in routine.parameters for text in printer.parameter(p)]

    def helper_texts(self) -> list[str]:
        """The functions that the kernel calls; those that are given no place count by 64 bits."""
        wide = self.words.types["i64"]
        kinds = [self.index if helper.helper == "get" else wide for helper in self.helpers]
        return [KernelFunction(helper, self.words, kind).text() for helper, kind in zip(self.helpers, kinds)]

    def body(self) -> list[str]:
        """The lines of the kernel, for any number of threads; sizes below 1 move nothing."""
        size: Statement = Let("dst_size", INDEX, self.arithmetic.size)
        guard = [If(no_elements(self.function.sizes), (Return(),))] if self.function.sizes else []
        constants = (*guard, *self.arithmetic.constants, size)
        if self.packs:
            count = Binary("/", Binary("+", Name("dst_size"), Number(7)), Number(8))
            constants = (*constants, Let("groups", INDEX, count))
            routine, counter, end = self._routine(self._packed()), "group", "groups"
        else:
            routine, counter, end = self._routine(self._place()), PLACE.name, "dst_size"
        lines = KernelFunction(routine, self.words, self.index).kernel_lines(constants, counter, end)
        used = names_in(routine.body)
        return [*["  (void)src;"] * ("src" not in used), *["  (void)refused;"] * (self._flag_is_unused(used)), *lines]

    def _flag_is_unused(self, used: set[str]) -> bool:
        return self.refuses and "refused" not in used

    @property
    def packs(self) -> bool:
        """Whether several elements of the target share a byte."""
        return self.bits[1] < 8

    def _routine(self, body: tuple[Statement, ...]) -> Routine:
        memories = Parameter("src", self.types[0], "src"), Parameter("dst", self.types[1], "dst")
        sizes = [Parameter(name, INDEX) for name in self.function.sizes]
        flag = [Parameter("refused", "i32", "dst")] * self.refuses
        return Routine(self.function.name, "", (), (*memories, *sizes, *flag), None, body)

    # ---- one place -----------------------------------------------------------------------------------------

    def _place(self) -> tuple[Statement, ...]:
        aim, source = At("dst", PLACE), self.arithmetic.source
        filling, fill = self._fill()
        if source is None:
            return (*filling, Assign(aim, fill))
        moves = self._moves(source, aim)
        condition = _all(self.arithmetic.conditions)
        if condition is None:
            return (*self.arithmetic.steps, *moves)
        return (*self.arithmetic.steps, If(condition, moves, (*filling, Assign(aim, fill))))

    def _moves(self, source: Expression, aim: At | Name) -> tuple[Statement, ...]:
        """The element at a place of the source, converted where it must be; a refused one is told."""
        name, kind = self.function.name, "u64" if self.packs else self.types[1]
        value: Expression = At("src", source)
        if self.bits[0] < 8:
            value = Call(name, "get", (Name("src"), source))
        if self.converter:
            value = Call(self.converter, "", (value, Number(0, "u32"), Number(0, "u32")))
        if self.converts:
            given = (value, *self.arithmetic.channels)
            if self.refuses:
                made, own = Name("value"), "u32" if self.packs else kind
                done = Call(name, "convert", (*given, Reference(made)))
                flagged = Assign(At("refused", Number(0)), Number(1, "i32"))
                zero = Real(0.0, own) if own[0] == "f" else Number(0, own)
                found: Expression = Cast(kind, made) if self.packs else made
                return (Var(made.name, own, zero), If(Unary("!", done), (flagged,)), Assign(aim, found))
            value = Call(name, "convert", given)
        return (Assign(aim, Cast(kind, value) if self.packs else value),)

    def _fill(self) -> tuple[list[Statement], Expression]:
        """The stored fill as a value of the target's type, and what comes before it."""
        fill, kind = self.function.fill, self.types[1]
        number = int.from_bytes(fill, "little")
        if kind == WIDE:
            words = struct.unpack("<4I", fill)
            return [], Name(self.words.vector.format(", ".join([f"0x{word:x}u" for word in words])))
        if kind[0] == "u":
            return [], Number(number, kind, mask=number > 999)
        if kind[0] == "i":
            return [], Number(int.from_bytes(fill, "little", signed=True), kind)
        bits = f"u{kind[1:]}"
        made: list[Statement] = [
            Let("fill_bits", bits, Number(number, bits, mask=True)),
            Reinterpret("fill", kind, Name("fill_bits"), bits),
        ]
        return made, Name("fill")

    # ---- eight elements that share bytes -------------------------------------------------------------------

    def _packed(self) -> tuple[Statement, ...]:
        """Eight elements are whole bytes, which one thread writes."""
        bits, fill = self.bits[1], int.from_bytes(self.function.fill, "little")
        first, size = product([Name("group"), Number(8)]), Name("dst_size")
        turn, word = Name("turn"), Name("word")
        at = product([turn, Number(bits)])
        code: Expression = Number(0, "u64")
        if fill:
            code = Binary("&", Binary(">>", Number(fill, "u64", mask=True), at), Number((1 << bits) - 1, "u64"))
        inner: list[Statement] = [Let(PLACE.name, INDEX, Binary("+", first, turn))]
        if self.arithmetic.source is not None:
            inner += self.arithmetic.steps
            inner.append(Var("code", "u64", code))
            found, condition = self._moves(self.arithmetic.source, Name("code")), _all(self.arithmetic.conditions)
            inner += found if condition is None else [If(condition, found)]
        else:
            inner.append(Var("code", "u64", code))
        inner.append(Assign(word, Binary("|", word, Binary("<<", Name("code"), at))))
        whole = Binary("<=", Binary("+", first, Number(8)), size)
        byte = Binary("+", product([Name("group"), Number(bits)]), Name("byte"))
        bytes_of = Binary("/", Binary("+", product([size, Number(bits)]), Number(7)), Number(8))
        stored = Cast("u8", Binary(">>", word, product([Name("byte"), Number(8)])))
        return (
            Var("word", "u64", Number(0, "u64")),
            Let("end", INDEX, Select(whole, Number(8), Binary("-", size, first))),
            For("The elements of one group", "turn", Number(0), Name("end"), tuple(inner)),
            For(
                f"They are {bits} bytes",
                "byte",
                Number(0),
                Number(bits),
                (If(Binary("<", byte, bytes_of), (Assign(At("dst", byte), stored),)),),
            ),
        )


def _all(conditions: tuple[Expression, ...]) -> Expression | None:
    found: Expression | None = None
    for condition in conditions:
        found = condition if found is None else Binary("&&", found, condition)
    return found
