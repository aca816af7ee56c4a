"""What an operation of Triton's IR moves, from its name, its types and the target alone; so it is worked out once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..algebra.linear import LinearLayout
from ..errors import LayoutError
from ..hardware.conversions import conversion
from ..hardware.registry import architecture_named
from ..hardware.shared_access import shared_access
from .kinds import ACCESSES, REARRANGES, SAME_BYTES, UNDECIDED
from .mlir_text import read_shaped
from .move import Side
from .triton_types import RegisterTensor, SharedBuffer, TritonType, permute_dims, read_type, reshape_dims

MOST_DECIDED = 1 << 12
"""How many different operations are remembered."""


class Question(NamedTuple):
    """An operation: its word (``convert_layout``), both types as the file writes them and written out, the order of a
    transpose, whether a reshape may put elements in any order, and the target.
    """

    word: str
    shown: tuple[str, str]
    types: tuple[str, str]
    order: tuple[int, ...] | None
    free: bool
    arch: str


class Decided(NamedTuple):
    """What an operation moves: the kind, both sides, the shape and the bytes, a remark, and numbers for JSON."""

    kind: str
    source: Side
    target: Side
    shape: tuple[int, ...]
    bytes: int | None
    remark: str
    details: Mapping[str, Any]


@lru_cache(maxsize=MOST_DECIDED)
def decide(question: Question) -> Decided:
    """What an operation moves."""
    sides = read_type(question.types[0]), read_type(question.types[1])
    try:
        if question.word in ("convert_layout", "trans", "reshape"):
            return _registers(question, *sides)
        if question.word in ("memdesc_trans", "memdesc_reshape"):
            return _view(question, *sides)
        return _access(question, *sides)
    except LayoutError as error:
        return _answer(question, UNDECIDED, None, error.message)


@lru_cache(maxsize=MOST_DECIDED)
def make_type_side(shown: str, found: TritonType, threads: LinearLayout | None = None) -> Side:
    """One side: shown by the encoding's name in the file."""
    shaped = read_shaped(shown)
    name = shaped.rest[0] if shaped and shaped.rest else shown
    if isinstance(found, str):
        return Side(name, None, None, "", found)
    if isinstance(found, RegisterTensor):
        return Side(name, threads or found.threads, found.element, "registers")
    memory = "shared" if found.is_shared else "tensor memory"
    return Side(name, found.layout, found.element, memory, reserved=found.bytes if found.is_shared else None)


def _answer(
    question: Question,
    kind: str,
    size: int | None,
    remark: str,
    details: Mapping[str, Any] | None = None,
    threads: LinearLayout | None = None,
) -> Decided:
    read = [read_type(text) for text in question.types]
    source = make_type_side(question.shown[0], read[0], threads)
    shape = next((x.shape for x in reversed(read) if not isinstance(x, str)), ())
    return Decided(kind, source, make_type_side(question.shown[1], read[1]), shape, size, remark, details or {})


def _no_answer(question: Question, *sides: TritonType) -> Decided:
    why = next((x for x in sides if isinstance(x, str)), "the types do not fit the operation")
    return _answer(question, UNDECIDED, None, why)


def _registers(question: Question, source: TritonType, target: TritonType) -> Decided:
    """A change of layout of registers, priced by how far values go."""
    if not isinstance(source, RegisterTensor) or not isinstance(target, RegisterTensor):
        return _no_answer(question, source, target)
    if question.free:
        return _answer(question, SAME_BYTES, 0, "free: elements may come in any order")
    brought = source.threads
    if question.word == "trans":
        brought = permute_dims(brought, question.order or tuple(reversed(range(len(source.shape)))))
    elif question.word == "reshape":
        brought = reshape_dims(brought, target.shape)
    arch, known = count_for(question.arch, brought.in_dims["lane"])
    cost = conversion(brought, target.threads, element=f"uint{source.bits}", arch=arch)
    free = cost.way in ("nothing", "registers")
    said = {
        "nothing": "free",
        "registers": "free: registers are renamed",
        "shuffles": f"{cost.shuffles} shuffles a warp",
        "shared memory": "through shared memory",
    }[cost.way]
    facts = cost.facts() if known else {"way": cost.way, "reach": cost.reach}
    kind = SAME_BYTES if free else REARRANGES
    return _answer(question, kind, 0 if free else target.bytes, said, facts, brought)


def _view(question: Question, source: TritonType, target: TritonType) -> Decided:
    """Another view of the same memory, proven to be one."""
    if not isinstance(source, SharedBuffer) or not isinstance(target, SharedBuffer):
        return _no_answer(question, source, target)
    rank = len(source.whole)
    order = question.order or tuple(reversed(range(rank)))
    order = tuple([d - len(order) + rank for d in order[len(order) - rank :]])
    seen = source.linear
    seen = permute_dims(seen, order) if question.word == "memdesc_trans" else reshape_dims(seen, target.whole)
    paddings = [getattr(buffer.encoding, "paddings", ()) for buffer in (source, target)]
    if seen == target.linear and paddings[0] == paddings[1]:
        return _answer(question, SAME_BYTES, 0, "free: another view")
    return _answer(question, UNDECIDED, None, "the two types are not views of the same places")


def _access(question: Question, source: TritonType, target: TritonType) -> Decided:
    """A load from memory, or a store to it."""
    loads = question.word == "local_load"
    memory, threads = (source, target) if loads else (target, source)
    if not isinstance(memory, SharedBuffer) or not isinstance(threads, RegisterTensor):
        return _no_answer(question, source, target)
    if not memory.is_shared:
        return _answer(question, ACCESSES, threads.bytes, "tensor memory has no banks")
    arch, known = count_for(question.arch, threads.threads.in_dims["lane"])
    if not known:
        why = "bank conflicts depend on the target, which the module does not tell"
        return _answer(question, ACCESSES, threads.bytes, why)
    cost = shared_access(threads.threads, memory.encoding, memory.whole, memory.bits, arch, not loads)
    details = {
        "arch": arch,
        "access": cost.access,
        "instructions": cost.instructions,
        "wavefronts": cost.wavefronts,
        "ideal": cost.ideal,
        "conflicts": cost.conflicts,
    }
    return _answer(question, ACCESSES, threads.bytes, str(cost), details)


@lru_cache(maxsize=64)
def count_for(name: str, lanes: int) -> tuple[str, bool]:
    """The architecture to count for, and whether it is the target's; how far values go does not depend on it."""
    try:
        if name and architecture_named(name).lanes == lanes:
            return name, True
    except LayoutError:  # an architecture that is not in the tables
        pass
    return ("gfx942" if lanes == 64 else "sm90"), False
