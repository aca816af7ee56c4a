"""The kernels of the GPU engine as text: tiles in shared memory, with what they are built on, under one name each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..elements.interface import Interface, Plain
from ..engine.gpu.build import kernels
from ..engine.gpu.convert import conversion_text
from ..engine.gpu.kernel import Kernel
from ..engine.gpu.prelude import DEVICE
from ..engine.gpu.tiles import PORTABLE_SHARED_BYTES
from ..engine.plan import make_plan
from ..errors import NotExpressible
from .c_lines import CLines
from .program import PackFunction
from .tiled_text import format_text

ALIGNED = 16
"""The bytes that the addresses of both memories are multiples of, as a device's allocations are."""

GRID_BITS = 31
"""A launch has fewer blocks than 2 to this power."""

PHASES = {
    "load_image": "Brings a tile's runs of the source to shared memory, vector by vector.",
    "move": "Reads the vectors of a thread, brings their bytes in the order of the target, and writes them.",
    "store_image": "Writes the tile's runs of the target from shared memory, vector by vector.",
}


class TiledKernels(NamedTuple):
    """The kernels of one function in the order of their launches."""

    found: tuple[Kernel, ...]

    def text(self, name: str, vendor: str) -> str:
        """The kernels ``NAME_kernel``, or ``NAME_kernel_0`` and so on, and what they call in a namespace."""
        bodies = [_phases(kernel, f"k{k}_" if len(self.found) > 1 else "") for k, kernel in enumerate(self.found)]
        entries = [self._entry(k, name) for k in range(len(self.found))]
        return "\n\n".join([namespace_text(name, bodies, vendor), *entries])

    def kernel_name(self, k: int, name: str) -> str:
        return f"{name}_kernel_{k}" if len(self.found) > 1 else f"{name}_kernel"

    def _entry(self, k: int, name: str) -> str:
        kernel = self.found[k]
        prefix = f"k{k}_" if len(self.found) > 1 else ""
        room = "extern __shared__ __align__(16) uint8_t room[];" if kernel.shared else "uint8_t *const room = nullptr;"
        lines = CLines()
        lines.lines.append(f"static __global__ void __launch_bounds__({kernel.threads})")
        arguments = ["const uint8_t *__restrict__ source", "uint8_t *__restrict__ target"]
        lines.add_list(f"    {self.kernel_name(k, name)}(", arguments, ") {")
        lines.add(1, room)
        for number, phase in enumerate(kernel.phases):
            if number:
                lines.add(1, "__syncthreads();")
            lines.add(1, f"{name}_parts::{prefix}{phase}(source, target, room, blockIdx.x, threadIdx.x);")
        return "\n".join([*lines.lines, "}"])


def tiled_kernels(function: PackFunction, converts: bool = True) -> TiledKernels | None:
    """The kernels that the engine runs for the same pair; None where it has none, or sizes are arguments."""
    if function.layouts is None or (function.conversion is not None and not converts):
        return None
    source, target = function.layouts
    plain = Plain(function.element.underlying.name)
    sides: tuple[Interface, Interface] = function.conversion or (plain, plain)
    bits = sides[1].element.bits
    storage = target.storage_size
    if bits < 8 and any(function.fill) and storage * bits % 8:
        return None  # the engine fills whole bytes, and the bits behind the last element are 0
    # Elements that share bytes end with one.
    writable = -(-storage * bits // 8) * 8 // bits
    if not writable:
        return TiledKernels(())
    fill = function.fill if bits >= 8 else bytes(function.fill[:1])
    try:
        plan = make_plan(source, target, sides[0], sides[1], fill, None, on_device=True)
        found = TiledKernels(tuple(kernels(plan, (ALIGNED, ALIGNED), (0, writable), PORTABLE_SHARED_BYTES)))
    except NotExpressible:
        return None
    return None if any(kernel.blocks >> GRID_BITS for kernel in found.found) else found


def converter_text(function: PackFunction) -> str:
    """The engine's function ``convert`` from bits to bits, which keeps those of NaN; empty where it has none."""
    if function.conversion is None or any(side.axis is not None for side in function.conversion):
        return ""
    found = conversion_text(*function.conversion)
    return "" if found is None else "\n\n".join(map(format_text, _used_definitions(found, ["convert"])))


def namespace_text(name: str, bodies: list[str], vendor: str) -> str:
    """Functions that one kernel calls, with what they are built on, where no other name meets theirs."""
    parts = "\n\n".join([_prelude("\n".join(bodies), vendor), *bodies])
    return f"namespace {name}_parts {{\n\n{parts}\n\n{_undefine_text(parts)}}} // namespace {name}_parts"


def _phases(kernel: Kernel, prefix: str) -> str:
    """The functions of a kernel, each under what it does."""
    texts = []
    for part in _used_definitions(kernel.text, kernel.phases):
        for phase, about in PHASES.items():
            if part.startswith(f"DEVICE void {phase}("):
                part = f"// {about}\n" + part.replace(f"void {phase}(", f"void {prefix}{phase}(", 1)
        texts.append(format_text(part))
    return "\n\n".join(texts)


def _used_definitions(text: str, roots: Sequence[str]) -> list[str]:
    """The functions and tables of a text that some of them need, one by one."""
    parts = [part.strip() for part in re.split(r"(?m)^(?=DEVICE |DATA )", text.strip()) if part.strip()]
    names = [re.findall(r"(\w+)(?:\[\d+\])?(?:\(| = )", part)[0] for part in parts]
    kept = {name for name in names if name in roots}
    while more := {n for n in names if n not in kept and _is_called(n, parts, names, kept)}:
        kept |= more
    return [part for name, part in zip(names, parts) if name in kept]


def _is_called(name: str, parts: list[str], names: list[str], kept: set[str]) -> bool:
    return any(re.search(rf"\b{name}\b", part) for part, own in zip(parts, names) if own in kept)


# ---- what the kernels call -------------------------------------------------------------------------------


class _PreludeEntry(NamedTuple):
    """A definition: the names that it gives, its text, and the condition it stands under."""

    name: str
    text: str
    branch: str


def _prelude(text: str, vendor: str) -> str:
    """The types and functions that a text uses, of those that the engine's kernels are built on."""
    entries = [entry for entry in _entries() if vendor == "cuda" or entry.branch != "#if"]
    kept, used = list[_PreludeEntry](), text
    while more := [x for x in entries if x not in kept and re.search(rf"\b{x.name}\b", used)]:
        kept += more
        used += "\n".join([entry.text for entry in more])
    kept.sort(key=entries.index)
    lines, branch = [], ""
    for entry in kept:
        own = entry.branch if vendor == "cuda" else ""
        if own != branch:
            lines += _turn(branch, own)
            branch = own
        lines.append(entry.text)
    lines += _turn(branch, "")
    return "\n".join(lines)


def _undefine_text(text: str) -> str:
    """The lines that take back the macros of a text."""
    return "".join([f"#undef {name}\n" for name in dict.fromkeys(re.findall(r"(?m)^#define (\w+)", text))])


def _turn(before: str, after: str) -> list[str]:
    """The lines between two branches of a condition."""
    condition = ["#if __CUDA_ARCH__ >= 800"]
    if before == "#if" and after == "#else":
        return ["#else"]
    opening = {"": [], "#if": condition, "#else": ["#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800"]}
    return ["#endif"] * bool(before) + opening[after]


def _entries() -> list[_PreludeEntry]:
    """The engine's definitions one by one."""
    found, lines, branch = list[_PreludeEntry](), DEVICE.strip().splitlines(), ""
    k = 0
    while k < len(lines):
        start, line = k, lines[k]
        k += 1
        if line.startswith("#if"):
            branch = "#if"
            continue
        if line.startswith("#else"):
            branch = "#else"
            continue
        if line.startswith("#endif"):
            branch = ""
            continue
        if not line or line.startswith("//"):
            continue
        if line.startswith("#define"):
            while lines[k - 1].endswith("\\"):
                k += 1
            name = line.split()[1].split("(")[0]
        elif line.startswith("typedef"):
            name = line.rstrip(";").split()[-1]
        else:
            while lines[k - 1].count("}") == 0 or (lines[k - 1] != "}" and k - start > 1):
                k += 1
            name = re.findall(r"(\w+)\(", line)[0]
        if not re.fullmatch("DEVICE|DATA|UNROLL|ROLLED|(take|put)[0-9]+", name):
            text = "\n".join(lines[start:k])
            found.append(_PreludeEntry(name, text if line.startswith("#") else format_text(text), branch))
    return found
