"""MLIR of linalg and of IREE: packs and unpacks, transposes, copies between memrefs, encodings and reshapes.

Tensors without an encoding are row-major. A ``linalg.generic`` is a move where it yields its only input and its maps
are permutations. Of a file with several dumps of one program the last is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..layout.layout import Layout
from .artefact import Artefact
from .making import make_move
from .mlir_sides import pack_side, pack_words, type_side
from .mlir_text import (
    Aliases,
    Operation,
    attribute,
    cut,
    integers,
    last_dump,
    nested_lines,
    read_operation,
    split_list,
    values_in,
)
from .move import Buffer, Found, Side, Step
from .permuting import make_transpose, make_view

_OURS = re.compile(
    r"^\s*(?:(?:func|util)\.func\b|(?:builtin\.)?module\s*(?:@\S+\s*)?(?:attributes\b|\{)|(?:flow|hal)\.executable\b"
    r"|(?:%[\w:#, %]+ = )?(?:linalg|memref|iree_encoding|flow\.tensor|bufferization)\.\w+)",
    re.MULTILINE,
)
_OTHERS = re.compile(r"\b(?:stablehlo|mhlo|chlo|sdy|tt|ttg|triton_gpu)\.\w|#ttg\.|^HloModule\b", re.MULTILINE)
_DIM = re.compile(r"d(\d+)")
_FUNCTION = re.compile(r"\b(?:func|util|llvm|flow|hal)\.(?:func|dispatch\.workgroups)\b")

RESHAPES = (
    "flow.tensor.reshape",
    "tensor.reshape",
    "tensor.expand_shape",
    "tensor.collapse_shape",
    "memref.expand_shape",
    "memref.collapse_shape",
)
ENCODES = ("iree_encoding.set_encoding", "iree_encoding.unset_encoding", "flow.tensor.encode", "stream.tensor.encode")
COPIES = ("memref.copy", "linalg.copy", "flow.tensor.clone", "flow.tensor.transfer")
PACKS = ("linalg.pack", "tensor.pack")
UNPACKS = ("linalg.unpack", "tensor.unpack")
_CONSTANTS = ("arith.constant", "util.global.load", "flow.tensor.constant", "ml_program.global_load_const")
_INPUTS = ("hal.tensor.import",)


class _Generic(NamedTuple):
    """A ``linalg.generic`` whose region is not read yet."""

    operation: Operation
    order: tuple[int, ...] | None
    source: str
    target: str
    types: tuple[str, str]
    alike: bool


class MlirReader:
    """Reads linalg, memref and IREE's dialects."""

    kind = "mlir"
    title = "MLIR"
    EXAMPLES = (
        "func.func @f(%x: tensor<30x50xf32>, %y: tensor<4x50x8xf32>) -> tensor<4x50x8xf32> {\n"
        "  %p = linalg.pack %x inner_dims_pos = [0] inner_tiles = [8] into %y\n"
        "    : tensor<30x50xf32> -> tensor<4x50x8xf32>\n"
        "  return %p : tensor<4x50x8xf32>\n}\n",
        "func.func @g(%a: memref<6x8xf32>, %b: memref<6x8xf32, strided<[1, 6]>>) {\n"
        "  memref.copy %a, %b : memref<6x8xf32> to memref<6x8xf32, strided<[1, 6]>>\n  return\n}\n",
    )

    def recognises(self, artefact: Artefact) -> bool:
        opening = artefact.opening
        return _OURS.search(opening) is not None and _OTHERS.search(opening) is None

    def read(self, artefact: Artefact) -> Iterator[Found]:
        return _MlirModule(artefact).read_lines()


class _MlirModule:
    """What is known while a file is read: names of attributes, the function, and a generic that is under way."""

    def __init__(self, artefact: Artefact) -> None:
        self.artefact = artefact
        self.aliases = Aliases()
        self.function = ""
        self.count = 0
        self.generic: _Generic | None = None

    def read_lines(self) -> Iterator[Found]:
        depth, line, text = 0, 0, ""
        first = last_dump(self.artefact)
        lines = ((number, each) for number, each in self.artefact.lines() if number > first)
        for line, text, regions in nested_lines(lines):
            depth = len(regions)
            if text.startswith("#") and self.aliases.see(text):
                continue
            if self.generic is not None and not text.lstrip().startswith("^"):
                yield from self._region(line, text)
            elif ("func" in text or "dispatch.workgroups" in text) and _FUNCTION.search(text):
                yield from self._enter(line, text)
            elif "tensor<" in text or "memref<" in text:
                operation = read_operation(line, text)
                if operation is not None:
                    yield from self._read(operation)
        if depth and not text.lstrip().startswith(("}", "#")):
            yield self.artefact.trouble("the text ends inside a region: it is cut", line)

    def _name(self, value: str) -> str:
        return f"{self.function} {value}"

    def _enter(self, line: int, text: str) -> Iterator[Found]:
        name = re.search(r"@\"?([\w$.-]+)", text)
        self.count += 1
        self.function = f"{self.count}:{name[1] if name else ''}"
        header = re.sub(r'"[^"]*"', '""', text)
        for value, kind in re.findall(r"(%[\w$.-]+)\s*:\s*((?:tensor|memref)<[^%]*>)\s*(?:\{[^{}]*\}\s*)?[,)]", header):
            found = type_side(self.aliases.write_out(kind))
            if found is not None:
                place = self.artefact.place(line, value)
                yield Buffer(place, found[1], found[0].shape or (), "parameter", self._name(value))

    def _read(self, operation: Operation) -> Iterator[Found]:
        name = operation.name
        if name in PACKS:
            yield from self._pack(operation, back=False)
        elif name in UNPACKS:
            yield from self._pack(operation, back=True)
        elif name == "linalg.transpose":
            yield from self._transpose(operation)
        elif name == "linalg.generic":
            self.generic = self._generic(operation)
        elif name in RESHAPES:
            yield from self._reshape(operation)
        elif name in ENCODES or name in COPIES:
            yield from self._copy(operation)
        elif name in _CONSTANTS and "dense<" in operation.text and "dense<[" not in operation.text:
            return  # a splat is in no layout
        elif name in _CONSTANTS or name in _INPUTS:
            yield from self._buffer(operation)
        else:
            yield self._step(operation, name.startswith(("arith.", "math.")))

    def _step(self, operation: Operation, alike: bool) -> Step:
        values = operation.operands if alike else values_in(operation.text)
        inputs = tuple([self._name(value) for value in values])
        outputs = tuple([self._name(value) for value in operation.results])
        return Step(self.artefact.place(operation.line), operation.name, inputs, outputs, alike)

    def _types(self, operation: Operation) -> list[str]:
        """Its types, those of ``a to b`` and ``a into b`` apart."""
        first, last = operation.types
        listed = first if first == last else (*first, *last)
        parts = [piece for text in listed for piece in re.split(r"\s(?:to|into)\s", text)]
        return [self.aliases.write_out(re.sub(r">\{[^{}]*\}$", ">", part.strip())) for part in parts]

    def _ends(self, operation: Operation, reads: str, writes: str) -> dict[str, Any]:
        written = operation.results[0] if operation.results else writes
        return {"reads": self._name(reads) if reads else "", "writes": self._name(written) if written else ""}

    def _trouble(self, operation: Operation) -> Found:
        return self.artefact.trouble(f"{operation.name} without the types of both sides: it is cut", operation.line)

    def _pack(self, operation: Operation, back: bool) -> Iterator[Found]:
        sides = [found for text in self._types(operation) if (found := type_side(text)) is not None]
        operands = operation.operands
        if len(sides) < 2 or not operands:
            yield self._trouble(operation)
            return
        plain, packed = (sides[1], sides[0]) if back else (sides[0], sides[1])
        words, why = pack_words(operation.parts[0], len(plain[0].sizes))
        element = plain[1].element
        target = Side("packed", None, element, "", why) if why else pack_side(words, plain[0], element)
        if packed[0].rest and packed[0].word == "memref":
            target = Side(target.text, None, element, "", f"tiles in a memref with {packed[0].rest[0]} are not read")
        source = plain[1]
        ends = (target, source) if back else (source, target)
        yield make_move(
            self.artefact.place(operation.line, operation.results[0] if operation.results else ""),
            operation.name,
            *ends,
            shape=tuple([-1 if n is None else n for n in sides[1][0].sizes]),
            remarks=() if plain[0].shape is not None else ("sizes not known",),
            **self._ends(operation, operands[0], operands[-1]),
        )

    def _transpose(self, operation: Operation) -> Iterator[Found]:
        groups = _groups(operation.text)
        order = integers(attribute(operation.text, "permutation"))
        if groups is None or order is None:
            yield self._trouble(operation)
            return
        (source, target), types = groups
        yield self._permute(operation, order, source, target, tuple(self.aliases.write_out(text) for text in types))

    def _permute(
        self, operation: Operation, order: tuple[int, ...], source: str, target: str, types: tuple[str, ...]
    ) -> Found:
        """Dimension ``order[i]`` of the source becomes dimension ``i`` of the target."""
        first, last = type_side(types[0]), type_side(types[1])
        place = self.artefact.place(operation.line, operation.results[0] if operation.results else target)
        if first is None or last is None or sorted(order) != list(range(len(first[0].sizes))):
            return self._trouble(operation)
        (kind, side), (_, other) = first, last
        ends = self._ends(operation, source, target)
        plain = side.text == other.text == "row-major" and not side.memory and not other.memory
        if plain:
            sizes = [f"?{d}" if n is None else n for d, n in enumerate(kind.sizes)]
            return make_transpose(place, operation.name, sizes, order, side.element, **ends)
        if isinstance(side.layout, Layout):
            side = side._replace(layout=side.layout.permute(*order))
        return make_move(place, operation.name, side, other, **ends)

    def _generic(self, operation: Operation) -> _Generic | None:
        groups = _groups(operation.text)
        maps = attribute(self.aliases.write_out(operation.text), "indexing_maps")
        if groups is None or maps is None:
            return _Generic(operation, None, "", "", ("", ""), False)
        results = [_map_dims(text) for text in split_list(maps.strip("[]"))]
        alike = all(dims == tuple(range(len(dims or ()))) for dims in results)
        order = None
        if len(results) == 2 and results[0] and results[1] and sorted(results[0]) == sorted(results[1]):
            order = tuple([results[0].index(d) for d in results[1]])
        (source, target), (first, last) = groups
        return _Generic(operation, order, source, target, (first, last), alike)

    def _region(self, line: int, text: str) -> Iterator[Found]:
        """The first line of a generic's region: one that yields the input at once only moves it."""
        generic, self.generic = self.generic, None
        if generic is None:
            return
        operation = generic.operation
        yields = re.match(r"\s*linalg\.yield\s+%in\s*:", text)
        if yields and generic.order is not None:
            types = tuple(self.aliases.write_out(part) for part in generic.types)
            yield self._permute(operation, generic.order, generic.source, generic.target, types)
        else:
            yield self._step(operation, generic.alike)

    def _reshape(self, operation: Operation) -> Iterator[Found]:
        found = [read for text in self._types(operation) if (read := type_side(text)) is not None]
        operands = operation.operands
        if len(found) < 2 or not operands:
            yield self._trouble(operation)
            return
        (kind, side), (last, other) = found[0], found[-1]
        place = self.artefact.place(operation.line, operation.results[0] if operation.results else "")
        ends = self._ends(operation, operands[0], "")
        if side.text == other.text == "row-major":
            sizes = [[f"?{d}" if n is None else n for d, n in enumerate(x.sizes)] for x in (kind, last)]
            yield make_view(place, operation.name, sizes[0], sizes[1], side.element, **ends)
        else:
            yield make_move(place, operation.name, side, other, copies=False, **ends)

    def _copy(self, operation: Operation) -> Iterator[Found]:
        groups = _groups(operation.text) if operation.name == "linalg.copy" else None
        texts = [self.aliases.write_out(text) for text in groups[1]] if groups else self._types(operation)
        found = [read for text in texts if (read := type_side(text)) is not None]
        operands = groups[0] if groups else operation.operands
        if not found or not operands or (operation.name in ENCODES and len(found) < 2):
            yield self._trouble(operation)
            return
        source, target = found[0][1], found[-1][1]
        if operation.name == "flow.tensor.transfer":
            target = target._replace(memory=(operation.parts[0].partition(" to ")[2] or "another device").strip())
        target_name = operands[1] if operation.name in ("memref.copy", "linalg.copy") and len(operands) > 1 else ""
        yield make_move(
            self.artefact.place(operation.line, operation.results[0] if operation.results else target_name),
            operation.name,
            source,
            target,
            shape=tuple([-1 if n is None else n for n in found[-1][0].sizes]),
            **self._ends(operation, operands[0], target_name),
        )

    def _buffer(self, operation: Operation) -> Iterator[Found]:
        role = "parameter" if operation.name in _INPUTS else "constant"
        if role == "constant" and operation.name == "util.global.load" and "immutable" not in operation.text:
            role = "parameter"
        # The elements of a constant may be long; its type is the last thing that it says.
        kind = re.split(r"\s->\s", operation.text.rpartition(" : ")[2])[-1]
        found = type_side(self.aliases.write_out(re.sub(r">\{[^{}]*\}$", ">", kind.strip())))
        if found is not None and operation.results:
            name = operation.results[0]
            place = self.artefact.place(operation.line, name)
            yield Buffer(place, found[1], found[0].shape or (), role, self._name(name))


def _groups(text: str) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """The first value and type of ``ins(...)`` and of ``outs(...)``; None where there are not one of each or more."""
    found = []
    for word in ("ins", "outs"):
        at = re.search(rf"\b{word}\(", text)
        if at is None:
            return None
        depth, end = 1, at.end()
        while end < len(text) and depth:
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        values, _, types = cut(text[at.end() : end - 1], ":")
        names, listed = values_in(values), split_list(types)
        if not names or not listed:
            return None
        found.append((names[0], listed[0]))
    return (found[0][0], found[1][0]), (found[0][1], found[1][1])


def _map_dims(text: str) -> tuple[int, ...] | None:
    """The dimensions that a map has as its results, in order; None where a result is anything else."""
    found = re.search(r"->\s*\(([^()]*)\)", text)
    parts = [part.strip() for part in found[1].split(",")] if found else []
    dims = [_DIM.fullmatch(part) for part in parts]
    return tuple([int(match[1]) for match in dims if match]) if parts and all(dims) else None


READER = MlirReader()
