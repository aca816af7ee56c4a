"""Triton's IR, TTIR and TTGIR: conversions by what they cost, shared buffers, and the bank conflicts of each access.

A ``ttg.convert_layout`` is free where every value stays in its thread, else it takes shuffles or a way through shared
memory. ``tt.trans``, ``tt.reshape`` and views of memory are proven to move nothing, or priced as a conversion is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .artefact import Artefact
from .flow import WINDOW
from .mlir_text import (
    Aliases,
    Locations,
    Operation,
    attribute,
    integers,
    last_dump,
    nested_lines,
    read_operation,
    read_shaped,
    values_in,
)
from .move import Buffer, Found, Move, Place, Step
from .triton_moves import Question, decide, make_type_side
from .triton_types import SharedBuffer, read_type

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
        self.locations = Locations(artefact)
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
            if "module" in text or "ttg.t" in text or "threads-per-warp" in text:
                self._see_module(text)
            if "tt.func" in text:
                self._enter(text)
            elif "arith.constant" in text or "tt.splat" in text:
                self._see_constant(text)
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

    def _see_constant(self, text: str) -> None:
        if match := _CONSTANT.match(text):
            self.constants[match[1]] = int(match[2])
        elif match := _ANYWHERE.match(text):
            self.anywhere.add(match[1])

    def _enter(self, text: str) -> None:
        name = re.search(r"@\"?([\w$.-]+)", text)
        self.function = name[0] if name else "@"
        for known in (self.constants, self.live, self.anywhere):
            known.clear()

    def _read(self, line: int, text: str, regions: tuple[str, ...]) -> Iterator[Found]:
        operation = read_operation(line, text)
        if operation is None:
            return
        first, last = operation.types
        if not first and not last:
            yield self.artefact.trouble(f"{operation.name} without types: the line is cut", line)
            return
        before = operation.parts[0]
        operands = values_in(before)
        shown = _first_shaped(first), _first_shaped(last)
        question = Question(
            operation.name.partition(".")[2],
            shown,
            (self.aliases.write_out(shown[0]), self.aliases.write_out(shown[1])),
            integers(attribute(before, "order")) if "order" in before else None,
            "allow_reorder" in before,
            self.arch,
        )
        name = operation.results[0] if operation.results else ""
        place = self.artefact.place(line, f"{self.function} {name}".strip())
        if question.word.endswith("_alloc"):
            yield self._buffer(place, question)
        if operands or not question.word.endswith("_alloc"):
            source = self.locations.source_of(text)
            yield self._move(place, operation, question, operands[0] if operands else "", regions, source)
        self.live.update([f"{self.function} {name}" for name in operation.results])
        for known in (self.constants, self.live, self.anywhere):
            if len(known) > WINDOW:
                known.clear()

    def _move(
        self, place: Place, operation: Operation, question: Question, read: str, regions: tuple[str, ...], source: str
    ) -> Move:
        found = decide(question)
        count, open_ = self.rounds(regions)
        remarks = [found.remark] * bool(found.remark) + ["in a loop"] * open_ + [source] * bool(source)
        return Move(
            place,
            operation.name,
            found.kind,
            found.source,
            found.target,
            found.shape,
            found.bytes,
            None,
            count,
            f"{self.function} {read}" if read else "",
            f"{self.function} {operation.results[0]}" if operation.results else "",
            tuple(remarks),
            {**found.details, "source": source} if source else found.details,
        )

    def _buffer(self, place: Place, question: Question) -> Buffer:
        memory = read_type(question.types[1])
        side = make_type_side(question.shown[1], memory)
        role = "tensor memory" if question.word == "tmem_alloc" else "shared"
        if not isinstance(memory, SharedBuffer):
            return Buffer(place, side, (), role)
        several = memory.stages > 1
        shape = (memory.stages, *memory.shape) if several else memory.shape
        remarks = (f"{memory.stages} stages",) if several else ()
        return Buffer(place, side, shape, role, "", remarks, {"stages": memory.stages})

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


def _first_shaped(types: tuple[str, ...]) -> str:
    """The type that has a shape; tokens have none."""
    return next((text for text in types if read_shaped(text) is not None), types[0] if types else "")


READER = TritonReader()
