"""Triton as a target: a kernel with its launch on tensors of torch, and a program that tests it."""

from __future__ import annotations

import keyword

from ..elements.types import Element
from ..errors import NotExpressible
from .checksums import MIXER, WEIGHT
from .gather_kernel import places_are_narrow
from .lower import layout_module
from .lower_gather import PLACE, Gather, coordinate_steps, gather
from .lower_index import used_definitions
from .program import CheckedSize, IndexFunctions, PackFunction
from .python_text import WIDTH
from .statements import INDEX, Let, Number, Return, Routine, Statement, Var, names_in
from .triton_text import TritonLines

BLOCK = 1024
"""The places of one program."""

HEADER = "import torch\nimport triton\nimport triton.language as tl"
WORDS = ("torch", "triton", "tl", "src", "dst", "place", "rest", "inside", "held", "value", "print", "range", "sum")


class TritonTarget:
    """Triton; ``python pack.py`` prints ``ok`` for a text with its test."""

    name = "triton"
    about = "Triton: kernels in Python with their launch"
    suffix = ".py"
    reserved = frozenset([*keyword.kwlist, *keyword.softkwlist, *WORDS])

    def write_pack(self, functions: list[PackFunction]) -> str:
        return "\n\n\n".join([HEADER, *[_kernel_text(function) for function in functions]]) + "\n"

    def write_index(self, functions: IndexFunctions) -> str:
        return _index_text(functions)

    def write_test(self, functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
        return self.write_pack(functions) + "\n\n" + _test_text(functions, runs)


TARGET = TritonTarget()


def _word(element: Element) -> str:
    """What torch calls the integers whose bits are moved."""
    return {8: "uint8", 16: "int16", 32: "int32"}.get(max(element.bits, 8), "int64")


# ---- the kernel ------------------------------------------------------------------------------------------


def _kernel_text(function: PackFunction) -> str:
    if function.conversion is not None:
        raise NotExpressible(
            "kernels of Triton move bits: a conversion of one value has branches, which tensors have not.",
            hint="convert by torch before or after; or take the target cuda",
        )
    found, name = gather(function), function.name
    constants = [x for x in found.constants if isinstance(x, Let)]
    given = [x.name for x in constants if not isinstance(x.value, Number)]
    size = _size_names(function, found)
    wanted = {n for x in (*found.steps, *found.conditions, found.source) if x is not None for n in names_in(x)}
    arguments = [n for n in (*function.sizes, *given, *size) if n in wanted or n == "dst_size"]
    lines = TritonLines()
    lines.lines.append("@triton.jit")
    lines.call(0, f"def {name}_kernel(", ["src", "dst", *arguments, "BLOCK: tl.constexpr"], "):")
    narrow = places_are_narrow(function)
    lines.comment(1, f"Places are counted by {32 if narrow else 64} bits.")
    lines.add(1, f"first = tl.program_id(0){'' if narrow else '.to(tl.int64)'} * BLOCK")
    known = tuple([x for x in found.constants if not isinstance(x, Let) or x.name not in given])
    lines.add_statements(1, known if any(isinstance(x, Let) for x in known) else ())
    if function.element.bits < 8:
        _add_bits(lines, function, found)
    else:
        _add_places(lines, function, found)
    return "\n".join(lines.lines) + "\n\n\n" + _launch_text(function, found, arguments)


def _size_names(function: PackFunction, found: Gather) -> list[str]:
    return [] if isinstance(found.size, Number) else ["dst_size"]


def _add_held(lines: TritonLines, depth: int, inside: str, found: Gather) -> str:
    """The name of whether places have elements."""
    if not found.conditions:
        return inside
    tests = [f"({lines.text(condition)})" for condition in found.conditions]
    joined = f"held = {' & '.join([inside, *tests])}"
    if len(joined) + 4 * depth <= WIDTH:
        lines.add(depth, joined)
        return "held"
    lines.add(depth, f"held = {inside}")
    for test in tests:
        lines.add(depth, f"held = held & {test}")
    return "held"


def _add_places(lines: TritonLines, function: PackFunction, found: Gather) -> None:
    size, fill = _size_text(lines, found), function.fill
    pairs = len(fill) == 16
    if pairs:
        lines.comment(1, "An element is two words")
        lines.add(1, "word = first * 2 + tl.arange(0, 2 * BLOCK)")
        lines.add(1, "place = word // 2")
    else:
        lines.add(1, "place = first + tl.arange(0, BLOCK)")
    lines.add(1, f"inside = place < {size}")
    numbers = [int.from_bytes(fill[k : k + 8], "little", signed=len(fill) > 1) for k in range(0, len(fill), 8)]
    other = str(numbers[0])
    if pairs and numbers[0] != numbers[1]:
        other = f"tl.where(word % 2 == 0, {numbers[0]}, {numbers[1]}).to(tl.int64)"
    at = "word" if pairs else "place"
    if found.source is None:
        lines.add(1, f"tl.store(dst + {at}, {other}, mask=inside)")
        return
    lines.add_statements(1, found.steps)
    held = _add_held(lines, 1, "inside", found)
    made = {step.name for step in found.steps if isinstance(step, (Let, Var))} | {PLACE.name}
    varies = not made.isdisjoint(names_in(found.source))
    lines.assign(1, "at", ("" if varies else "place * 0 + ") + lines.text(found.source))
    read = "src + at * 2 + word % 2" if pairs else "src + at"
    padding = f", other={other}" if found.conditions else ""
    lines.add(1, f"value = tl.load({read}, mask={held}{padding})")
    lines.add(1, f"tl.store(dst + {at}, value, mask=inside)")


def _size_text(lines: TritonLines, found: Gather) -> str:
    return lines.text(found.size) if isinstance(found.size, Number) else "dst_size"


def _add_bits(lines: TritonLines, function: PackFunction, found: Gather) -> None:
    """Every byte of the target from its parts: whole elements, or bits where elements lie in two bytes."""
    bits, fill = function.element.bits, int.from_bytes(function.fill, "little")
    unit = bits if 8 % bits == 0 else 1
    size = _size_text(lines, found)
    lines.add(1, "byte = first + tl.arange(0, BLOCK)")
    lines.add(1, "made = tl.zeros((BLOCK,), tl.int32)")
    lines.add(1, f"for part in tl.static_range({8 // unit}):")
    lines.add(2, f"bit = byte * 8 + part * {unit}")
    lines.add(2, f"place = bit // {bits}")
    lines.add(2, f"inside = place < {size}")
    mask = (1 << unit) - 1
    if fill:
        stored = fill & ((1 << bits) - 1)
        code = str(stored) if unit == bits else f"({stored} >> (bit % {bits})) & {mask}"
        lines.add(2, f"code = tl.where(inside, {code}, 0).to(tl.int32)")
    if found.source is not None:
        lines.add_statements(2, found.steps)
        held = _add_held(lines, 2, "inside", found)
        lines.add(2, f"at = ({lines.text(found.source)}) * {bits} + bit % {bits}")
        lines.add(2, f"value = tl.load(src + at // 8, mask={held}, other=0).to(tl.int32)")
        lines.add(2, f"value = (value >> (at % 8).to(tl.int32)) & {mask}")
        lines.add(2, f"value = tl.where({held}, value, {'code' if fill else '0'})")
    else:
        lines.add(2, f"value = {'code' if fill else 'tl.zeros((BLOCK,), tl.int32)'}")
    lines.add(2, f"made = made | (value << (part * {unit}))")
    end = f"{size} * {bits} + 7"
    lines.add(1, f"tl.store(dst + byte, made.to(tl.uint8), mask=byte < ({end}) // 8)")


# ---- the launch ------------------------------------------------------------------------------------------


def _launch_text(function: PackFunction, found: Gather, arguments: list[str]) -> str:
    name, lines = function.name, TritonLines()
    lines.call(0, f"def {name}(", ["src", "dst", *function.sizes], "):")
    memories = "src and dst are flat, contiguous tensors of all of both memories."
    lines.docstring(1, function.about[0], [*function.about[1:], memories])
    if function.sizes:
        lines.add(1, f"if {' or '.join([f'{n} < 1' for n in function.sizes])}:")
        lines.add(2, "return")
    size: list[Statement] = [Let("dst_size", INDEX, found.size)]
    derived = [x for x in found.constants if isinstance(x, Let) and not isinstance(x.value, Number)]
    known = {x.name for x in derived}
    needed = [x for x in used_definitions(function.definitions, size) if isinstance(x, Let) and x.name not in known]
    lines.add_statements(1, [*needed, *derived, *size])
    count = "dst_size"
    if function.element.bits < 8:
        lines.add(1, f"dst_bytes = (dst_size * {function.element.bits} + 7) // 8")
        count = "dst_bytes"
    if found.size == Number(0):
        lines.add(1, "return")
        return "\n".join(lines.lines)
    words = [f"{side}.view(torch.{_word(function.element)})" for side in ("src", "dst")]
    lines.add(1, f"grid = (triton.cdiv({count}, {BLOCK}),)")
    lines.call(1, f"{name}_kernel[grid](", [*words, *arguments, f"BLOCK={BLOCK}"], ")")
    return "\n".join(lines.lines)


# ---- one layout ------------------------------------------------------------------------------------------


def _index_text(functions: IndexFunctions) -> str:
    """Functions for kernels, of tensors of coordinates and of places."""
    routines = [x for x in layout_module(functions).functions if x.helper in ("swizzle", "offset")]
    texts = ["import triton", *map(_routine_text, routines)]
    if functions.no_inverse:
        return "\n\n\n".join([*texts, f"# No place tells its coordinate: {functions.no_inverse}."]) + "\n"
    found, lines = coordinate_steps(functions), TritonLines()
    lines.comment(0, "The coordinate of the element at a place, and whether there is one.")
    lines.lines.append("@triton.jit")
    lines.call(0, f"def {functions.name}_coordinate(", ["place", *functions.sizes], "):")
    lines.add_statements(1, found.constants)
    lines.add_statements(1, found.steps)
    lines.add(1, f"inside = (place >= 0) & (place < {lines.text(found.size)})")
    held = _add_held(lines, 1, "inside", found)
    lines.add(1, f"return {', '.join([*[lines.text(x) for x in found.channels], held])}")
    visits = "# Triton visits by tensors: tl.arange over the places is all elements in memory's order."
    return "\n\n\n".join([*texts, "\n".join(lines.lines), visits]) + "\n"


def _routine_text(routine: Routine) -> str:
    lines = TritonLines()
    for line in routine.about:
        lines.comment(0, line)
    lines.lines.append("@triton.jit")
    lines.call(0, f"def {routine.owner}_{routine.helper}(", [p.name for p in routine.parameters], "):")
    lines.add_statements(1, routine.body)
    last = routine.body[-1]
    if isinstance(last, Return) and last.value is not None:
        lines.add(1, f"return {lines.text(last.value)}")
    return "\n".join(lines.lines)


# ---- the test --------------------------------------------------------------------------------------------


def _test_text(functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
    """A program that runs on a device, or with TRITON_INTERPRET=1 anywhere."""
    lines = TritonLines()
    lines.add(0, "def check(pack, src_bytes, dst_bytes, expected, *sizes):")
    lines.add(1, '"""Whether a run writes what it should."""')
    lines.add(1, 'device = "cuda" if torch.cuda.is_available() else "cpu"')
    lines.add(1, f"mixed = torch.arange(src_bytes) * {MIXER} % 2**32 >> 25")
    lines.add(1, "src = mixed.to(torch.uint8).to(device)")
    lines.add(1, "dst = torch.full((dst_bytes,), 0xA5, dtype=torch.uint8, device=device)")
    lines.add(1, "pack(src, dst, *sizes)")
    lines.add(1, "total = 0")
    lines.add(1, "for place, byte in enumerate(dst.tolist()):")
    lines.add(2, f"total += byte * (place * 0x{WEIGHT:X} % 2**64 >> 32 | 1)")
    lines.add(1, "return total % 2**64 == expected")
    lines.lines += ["", "", 'if __name__ == "__main__":']
    lines.add(1, "right = True")
    for function, own in zip(functions, runs):
        for run in own:
            numbers = [function.name, *[str(x) for x in (run.source, run.target, run.checksum, *run.sizes)]]
            lines.call(1, "right &= check(", numbers, ")")
    lines.add(1, 'print("ok" if right else "wrong")')
    return "\n".join(lines.lines) + "\n"
