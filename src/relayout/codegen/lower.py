"""Functions as one module of statements, which a language prints; with the runs of a self-test where it has one."""

from __future__ import annotations

from .checksums import MIXER, WEIGHT
from .lower_index import index_module
from .lower_pack import pack_functions
from .program import CheckedSize, IndexFunctions, PackFunction
from .statements import Binary, Cast, Expression, Module, Number, TestRun


def pack_module(functions: list[PackFunction], runs: list[list[CheckedSize]] | None = None) -> Module:
    """Functions between two operands, with their self-test if there are runs."""
    lowered = [own for function in functions for own in pack_functions(function)]
    tests = [TestRun(f.name, *run) for f, own in zip(functions, runs or []) for run in own]
    return Module(tuple(lowered), tuple(tests))


def layout_module(functions: IndexFunctions) -> Module:
    """The functions of one layout."""
    return Module(tuple(index_module(functions)))


def sample_byte(place: Expression) -> Expression:
    """The byte, of type ``u8``, that a self-test writes to a place of the source."""
    mixed = Binary("*%", Cast("u32", place), Number(MIXER, "u32"))
    return Cast("u8", Binary(">>", mixed, Number(25)))


def byte_weight(place: Expression) -> Expression:
    """The factor, of type ``u64``, of the byte at a place of the target in the checksum, which wraps around."""
    mixed = Binary("*%", Cast("u64", place), Number(WEIGHT, "u64", mask=True))
    return Binary("|", Binary(">>", mixed, Number(32)), Number(1, "u64"))
