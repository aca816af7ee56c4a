"""Functions as one module of statements, which a language prints; with the runs of a self-test where it has one."""

from __future__ import annotations

from .checksums import MIXER, WEIGHT, sample_codes
from .lower_index import index_module
from .lower_pack import pack_functions
from .program import CheckedSize, IndexFunctions, PackFunction
from .statements import (
    INDEX,
    At,
    Binary,
    Call,
    Cast,
    ConstantTable,
    Expression,
    Module,
    Name,
    Number,
    Parameter,
    Return,
    Routine,
    TestRun,
    product,
    total,
)


def pack_module(
    functions: list[PackFunction],
    runs: list[list[CheckedSize]] | None = None,
    turns: bool = False,
    streams: bool = False,
) -> Module:
    """Functions between two operands, with their self-test if there are runs.

    With ``turns`` tiles of transpositions are turned by a helper that has arrays of its own (``LocalArray``), which a
    compiler makes vectors of; without it they are loops. With ``streams`` large targets are written past the caches.
    """
    lowered = [own for function in functions for own in pack_functions(function, turns, streams)]
    if runs:
        lowered += [sample_routine(function) for function in functions]
    tests = [TestRun(f.name, *run) for f, own in zip(functions, runs or []) for run in own]
    return Module(tuple(lowered), tuple(tests))


def layout_module(functions: IndexFunctions) -> Module:
    """The functions of one layout."""
    return Module(tuple(index_module(functions)))


def sample_routine(function: PackFunction) -> Routine:
    """``sample``: the byte that a self-test writes to a place of the source."""
    codes, place = sample_codes(function), Name("i")
    about = ("The byte of the source at a place, in the test.",)
    parameters = (Parameter("i", INDEX),)
    if not codes:
        return Routine(function.name, "sample", about, parameters, "u8", (Return(Cast("u8", _mixed_bits(place, 25))),))
    size = Number(len(codes) // 8)
    chosen = Cast(INDEX, _mixed_bits(place if size.value == 1 else Binary("/", place, size), 29))
    terms = [product([chosen, size]), *([] if size.value == 1 else [Binary("%", place, size)])]
    body = (ConstantTable("codes", "u8", tuple(codes)), Return(At("codes", total(terms))))
    return Routine(function.name, "sample", about, parameters, "u8", body)


def _mixed_bits(place: Expression, shift: int) -> Expression:
    """The upper bits of a number that a place gives."""
    return Binary(">>", Binary("*%", Cast("u32", place), Number(MIXER, "u32")), Number(shift))


def sample_byte(owner: str, place: Expression) -> Expression:
    """The byte, of type ``u8``, that the self-test of a function writes to a place of the source."""
    return Call(owner, "sample", (place,))


def byte_weight(place: Expression) -> Expression:
    """The factor, of type ``u64``, of the byte at a place of the target in the checksum, which wraps around."""
    mixed = Binary("*%", Cast("u64", place), Number(WEIGHT, "u64", mask=True))
    return Binary("|", Binary(">>", mixed, Number(32)), Number(1, "u64"))
