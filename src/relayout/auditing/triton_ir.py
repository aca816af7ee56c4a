"""Triton's IR, TTIR and TTGIR: conversions by what they cost, shared buffers, and the bank conflicts of each access.

A ``ttg.convert_layout`` is free where every value stays in its thread, else it takes shuffles or a way through shared
memory. ``tt.trans``, ``tt.reshape`` and views of memory are proven to move nothing, or priced as a conversion is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..algebra.linear import LinearLayout
from ..errors import LayoutError
from ..hardware.conversions import conversion
from ..hardware.registry import architecture_named
from ..hardware.shared_access import shared_access
from .artefact import Artefact
from .kinds import ACCESSES, REARRANGES, SAME_BYTES, UNDECIDED
from .mlir_text import (
    Aliases,
    Operation,
    attribute,
    integers,
    last_dump,
    nested_lines,
    read_operation,
    read_shaped,
    values_in,
)
from .move import Buffer, Found, Move, Place, Side, Step
from .triton_types import RegisterTensor, SharedBuffer, permute_dims, read_type, reshape_dims

_OURS = re.compile(r"#ttn?g\.|\bttn?g\.\w|\btt\.func\b|\btriton_gpu\.\w|\btt\.(?:load|store|dot|reduce)\b")
_MOVING = re.compile(
    r"\b(?:ttg|triton_gpu)\.(?:convert_layout|local_load|local_store|local_alloc|memdesc_trans|memdesc_reshape)\b"
    r"|\btt\.(?:trans|reshape)\b|\bttng\.tmem_alloc\b"
)
_TARGET = re.compile(r"ttg\.target\"?\s*=\s*\"(?:cuda:(?P<cuda>\w+)|hip:(?P<hip>\w+))")
_LANES = re.compile(r"threads-per-warp\"?\s*=\s*(\d+)")
_LOOP = re.compile(r"scf\.for\s+%\S+\s*=\s*(%\S+)\s+to\s+(%\S+)\s+step\s+(%\S+)")
_CONSTANT = re.compile(r"\s*(%[\w$.-]+)\s*=\s*arith\.constant\s+(-?\d+)\s*:")
_ANYWHERE = re.compile(r"\s*(%[\w$.-]+)\s*=\s*(?:arith\.constant\s+dense<[^\[\"]*>|tt\.splat\b)")
_ELEMENTWISE = ("arith.", "math.", "tt.clampf", "tt.fp_to_fp", "tt.bitcast", "tt.mulhiui", "tt.precise_")


class TritonReader:
    """Reads TTIR and TTGIR."""

    kind = "triton"
    title = "Triton IR"
    EXAMPLES = (
        "#a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>\n"
        "#b = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>\n"
        'module attributes {ttg.target = "cuda:90"} {\n'
        "  tt.func @f(%x: tensor<64x64xf16, #a>) {\n"
        "    %y = ttg.convert_layout %x : tensor<64x64xf16, #a> -> tensor<64x64xf16, #b>\n  }\n}\n",
    )

    def recognises(self, artefact: Artefact) -> bool:
        return _OURS.search(artefact.opening) is not None

    def read(self, artefact: Artefact) -> Iterator[Found]:
        return _TritonModule(artefact).read_lines()


class _TritonModule:
    """What is known while a file is read: the names of encodings, the target, and the values of one function."""

    def __init__(self, artefact: Artefact) -> None:
        self.artefact = artefact
        self.aliases = Aliases()
        self.arch = ""
        self.lanes = 0
        self.function = ""
        self.constants: dict[str, int] = {}
        self.live: set[str] = set()
        self.anywhere: set[str] = set()

    def read_lines(self) -> Iterator[Found]:
        depth, line, text = 0, 0, ""
        first = last_dump(self.artefact)
        lines = ((number, each) for number, each in self.artefact.lines() if number > first)
        for line, text, regions in nested_lines(lines):
            depth = len(regions)
            if text.startswith("#") and self.aliases.see(text):
                continue
            if "ttg." in text or "module" in text:
                self._see_module(text)
            if "tt.func" in text:
                self._enter(text)
            elif match := _CONSTANT.match(text):
                self.constants[match[1]] = int(match[2])
            elif match := _ANYWHERE.match(text):
                self.anywhere.add(match[1])
            elif _MOVING.search(text):
                yield from self._read(line, text, regions)
            elif self.live and "%" in text:
                yield from self._step(line, text)
        if depth and not text.lstrip().startswith(("}", "#")):
            yield self.artefact.trouble("the text ends inside a region: it is cut", line)

    def _see_module(self, text: str) -> None:
        if text.lstrip().startswith("module"):
            self.arch, self.lanes = "", 0
        if match := _TARGET.search(text):
            self.arch = f"sm{match['cuda']}" if match["cuda"] else match["hip"]
        if match := _LANES.search(text):
            self.lanes = int(match[1])

    def _enter(self, text: str) -> None:
        name = re.search(r"@\"?([\w$.-]+)", text)
        self.function = name[0] if name else "@"
        for known in (self.constants, self.live, self.anywhere):
            known.clear()

    def _read(self, line: int, text: str, regions: tuple[str, ...]) -> Iterator[Found]:
        operation = read_operation(line, text)
        if operation is None:
            return
        types = [self.aliases.write_out(part) for side in operation.types for part in side]
        if not types:
            yield self.artefact.trouble(f"{operation.name} without types: the line is cut", line)
            return
        try:
            yield from self._moves(operation, regions)
        except LayoutError as error:
            yield self.artefact.trouble(error.message, line)
        self.live.update([f"{self.function} {name}" for name in operation.results])

    def _moves(self, operation: Operation, regions: tuple[str, ...]) -> Iterator[Found]:
        read = _MovingOperation(self, operation, regions)
        word = operation.name.partition(".")[2]
        if word == "convert_layout":
            yield read.conversion(lambda x: x)
        elif word == "trans":
            order = integers(attribute(operation.text, "order"))
            yield read.conversion(lambda x: permute_dims(x, order or tuple(reversed(range(len(x.out_dims))))))
        elif word == "reshape":
            yield read.reshape()
        elif word in ("memdesc_trans", "memdesc_reshape"):
            yield read.view(word)
        else:
            yield from read.access(word)

    def _step(self, line: int, text: str) -> Iterator[Found]:
        """Another operation, told only where it uses what a move wrote."""
        results, _, rest = text.partition("=") if text.lstrip().startswith("%") else ("", "", text)
        inputs = [f"{self.function} {name}" for name in dict.fromkeys(values_in(rest)) if name not in self.anywhere]
        if not self.live.intersection(inputs):
            return
        alike = rest.lstrip().startswith(_ELEMENTWISE)
        outputs = tuple([f"{self.function} {name}" for name in values_in(results)])
        if alike:
            self.live.update(outputs)
        yield Step(self.artefact.place(line), rest.split(None, 1)[0], tuple(inputs), outputs, alike)

    def rounds(self, regions: tuple[str, ...]) -> tuple[int, bool]:
        """How often the loops around a line run it, and whether one of them does so nobody knows how often."""
        count, open_ = 1, False
        for header in regions:
            if "scf.while" in header:
                open_ = True
            elif "scf.for" in header:
                match = _LOOP.search(header)
                first, last, step = [self.constants.get(match[k].rstrip(",:")) if match else None for k in (1, 2, 3)]
                if first is None or last is None or not step or step < 0:
                    open_ = True
                else:
                    count *= max(0, -(-(last - first) // step))
        return count, open_


class _MovingOperation:
    """One operation that moves, or seems to."""

    def __init__(self, reading: _TritonModule, operation: Operation, regions: tuple[str, ...]) -> None:
        self.reading, self.operation = reading, operation
        self.count, open_ = reading.rounds(regions)
        self.remarks: tuple[str, ...] = ("in a loop",) if open_ else ()
        first, last = operation.types
        self.types = _first_shaped(first), _first_shaped(last)
        self.read = [read_type(reading.aliases.write_out(text)) for text in self.types]

    @property
    def place(self) -> Place:
        name = self.operation.results[0] if self.operation.results else ""
        return self.reading.artefact.place(self.operation.line, f"{self.reading.function} {name}".strip())

    def side(self, k: int, layout: Any = None) -> Side:
        """The source or the target: shown by the encoding's name in the file."""
        found, shaped = self.read[k], read_shaped(self.types[k])
        shown = shaped.rest[0] if shaped and shaped.rest else self.types[k]
        if isinstance(found, str):
            return Side(shown, None, None, "", found)
        if isinstance(found, SharedBuffer):
            memory = "shared" if found.is_shared else "tensor memory"
            return Side(shown, found.layout, found.element, memory, reserved=found.bytes if found.is_shared else None)
        return Side(shown, layout or found.threads, found.element, "registers")

    def move(self, kind: str, sides: tuple[Side, Side], size: int | None, said: str, details: Any = None) -> Move:
        operands = self.operation.operands
        found = next((x for x in reversed(self.read) if not isinstance(x, str)), None)
        return Move(
            self.place,
            self.operation.name,
            kind,
            *sides,
            () if found is None else found.shape,
            size,
            None,
            self.count,
            f"{self.reading.function} {operands[0]}" if operands else "",
            f"{self.reading.function} {self.operation.results[0]}" if self.operation.results else "",
            (said, *self.remarks) if said else self.remarks,
            details or {},
        )

    def undecided_move(self) -> Move:
        why = next((x for x in self.read if isinstance(x, str)), "these are no two tensors in registers")
        return self.move(UNDECIDED, (self.side(0), self.side(1)), None, why)

    def conversion(self, change: Any) -> Move:
        """A change of layout of registers; ``change`` brings the source over the target's coordinates."""
        source, target = self.read
        if not isinstance(source, RegisterTensor) or not isinstance(target, RegisterTensor):
            return self.undecided_move()
        arch, known = _architecture(self.reading.arch, source.threads.in_dims["lane"])
        try:
            brought = change(source.threads)
            cost = _cost(brought, target.threads, f"uint{source.bits}", arch)
        except LayoutError as error:
            return self.move(UNDECIDED, (self.side(0), self.side(1)), None, error.message)
        free = cost.way in ("nothing", "registers")
        said = {"nothing": "free", "registers": "free: registers are renamed"}.get(cost.way, cost.way)
        if cost.way == "shuffles":
            said = f"{cost.shuffles} shuffles a warp"
        facts = cost.facts() if known else {"way": cost.way, "reach": cost.reach}
        sides = self.side(0, brought), self.side(1)
        return self.move(SAME_BYTES if free else REARRANGES, sides, 0 if free else target.bytes, said, facts)

    def reshape(self) -> Move:
        target = self.read[1]
        if "allow_reorder" in self.operation.text and not isinstance(target, str):
            return self.move(SAME_BYTES, (self.side(0), self.side(1)), 0, "free: elements may come in any order")
        if isinstance(target, str):
            return self.undecided_move()
        return self.conversion(lambda x: reshape_dims(x, target.shape))

    def view(self, word: str) -> Move:
        """Another view of the same memory, proven to be one."""
        source, target = self.read
        if not isinstance(source, SharedBuffer) or not isinstance(target, SharedBuffer):
            return self.undecided_move()
        sides = self.side(0), self.side(1)
        order = integers(attribute(self.operation.text, "order")) or tuple(reversed(range(len(source.whole))))
        order = tuple([d - len(order) + len(source.whole) for d in order[len(order) - len(source.whole) :]])
        try:
            seen = source.linear
            seen = permute_dims(seen, order) if word == "memdesc_trans" else reshape_dims(seen, target.whole)
            same = seen == target.linear and _paddings(source) == _paddings(target)
        except LayoutError as error:
            return self.move(UNDECIDED, sides, None, error.message)
        if same:
            return self.move(SAME_BYTES, sides, 0, "free: another view")
        return self.move(UNDECIDED, sides, None, "the two types are not views of the same places")

    def access(self, word: str) -> Iterator[Found]:
        """A load, a store or a new buffer."""
        memory = self.read[0] if word == "local_load" else self.read[1]
        threads = self.read[1] if word == "local_load" else self.read[0]
        if word.endswith("_alloc"):
            yield self.buffer(memory)
            if not self.operation.operands or not isinstance(threads, RegisterTensor):
                return
        if not isinstance(memory, SharedBuffer) or not isinstance(threads, RegisterTensor):
            yield self.undecided_move()
            return
        if not memory.is_shared:
            yield self.move(ACCESSES, (self.side(0), self.side(1)), threads.bytes, "tensor memory has no banks")
            return
        arch, known = _architecture(self.reading.arch, threads.threads.in_dims["lane"])
        said, details = "bank conflicts depend on the target, which the module does not tell", {}
        if known:
            try:
                cost = shared_access(
                    threads.threads, memory.encoding, memory.whole, memory.bits, arch, word != "local_load"
                )
                said = str(cost)
                details = {
                    "arch": arch,
                    "access": cost.access,
                    "instructions": cost.instructions,
                    "wavefronts": cost.wavefronts,
                    "ideal": cost.ideal,
                    "conflicts": cost.conflicts,
                }
            except LayoutError as error:
                said = f"cost not known, {error.message}"
        yield self.move(ACCESSES, (self.side(0), self.side(1)), threads.bytes, said, details)

    def buffer(self, memory: Any) -> Found:
        if not isinstance(memory, SharedBuffer) or not memory.is_shared:
            shape = memory.shape if isinstance(memory, SharedBuffer) else ()
            return Buffer(
                self.place, self.side(1), shape, "tensor memory" if "tmem" in self.operation.name else "shared"
            )
        stages = f"{memory.stages} stages" if memory.stages > 1 else ""
        shape = (memory.stages, *memory.shape) if memory.stages > 1 else memory.shape
        details = {"bytes": memory.bytes, "stages": memory.stages}
        return Buffer(self.place, self.side(1), shape, "shared", "", (stages,) if stages else (), details)


def _first_shaped(types: list[str]) -> str:
    """The type that has a shape; tokens have none."""
    return next((text for text in types if read_shaped(text) is not None), types[0] if types else "")


def _paddings(buffer: SharedBuffer) -> Any:
    return getattr(buffer.encoding, "paddings", ())


@lru_cache(maxsize=4096)
def _cost(source: LinearLayout, target: LinearLayout, element: str, arch: str) -> Any:
    return conversion(source, target, element=element, arch=arch)


@lru_cache(maxsize=64)
def _architecture(name: str, lanes: int) -> tuple[str, bool]:
    """The architecture to count for, and whether it is the target's; how far values go does not depend on it."""
    try:
        if name and architecture_named(name).lanes == lanes:
            return name, True
    except LayoutError:  # an architecture that is not in the tables
        pass
    return ("gfx942" if lanes == 64 else "sm90"), False


READER = TritonReader()
