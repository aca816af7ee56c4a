"""Kernels of last resort: element by element, each at the places that both layouts give; and fills of flat memory."""

from __future__ import annotations

from math import prod

from ...layout.layout import Layout
from ...layout.modes import Mode
from .kernel import Kernel
from .kernel_text import KernelInputs
from .work import Work

THREADS = 256
EACH = 4
"""The elements, or vectors of a fill, of one thread."""


def element_kernel(source: Layout, target: Layout, work: Work, memory: KernelInputs) -> Kernel:
    """A copy by the layouts themselves; ``work`` says how wide elements are, and the swizzles."""
    sides = [[layout._mode(d) for d in range(layout.rank)] for layout in (source, target)]
    order = sorted(range(target.rank), key=lambda d: min([abs(s) for s in sides[1][d].strides], default=0))
    size = prod(target.extents)
    lines = [f"    u64 u = (u64(block) * {EACH}u + k) * {THREADS}u + u32(thread);", f"    if (u >= {size}ull) return;"]
    for d in order:
        n = target.extents[d]
        lines += [f"    const u64 c{d} = u % {n}ull;", f"    u /= {n}ull;"]
    for name, modes, start, width, swizzle in (
        ("at", sides[0], source.offset, work.source_bytes, work.source_swizzle),
        ("to", sides[1], target.offset, work.target_bytes, work.target_swizzle),
    ):
        words = [_offset(f"c{d}", mode) for d, mode in enumerate(modes)]
        lines.append(f"    i64 {name} = ({' + '.join([f'{start}ll', *words])}) * {width};")
        if swizzle is not None:
            mask, shift = swizzle
            lines.append(f"    {name} ^= ({name} & {mask}ll) {'>>' if shift >= 0 else '<<'} {abs(shift)};")
    lines += [f"    {line}" for line in _move_lines(work, memory)]
    head = "const u8 *__restrict__ source, u8 *__restrict__ target, u8 *room, u32 block, int thread"
    body = "\n".join([f"  for (u32 k = 0; k < {EACH}u; ++k) {{", *lines, "  }"])
    text = f"{memory.convert or ''}\nDEVICE void move({head}) {{\n{body}\n}}\n"
    return Kernel(text, ("move",), -(-size // (THREADS * EACH)), THREADS, 0)


def layout_offset(layout: Layout) -> str:
    """The place of the element with the coordinates ``c0``, ``c1``, ... in a layout, before its swizzle."""
    words = [_offset(f"c{d}", layout._mode(d)) for d in range(layout.rank)]
    return " + ".join([f"{layout.offset}ll", *words])


def _offset(coordinate: str, mode: Mode) -> str:
    """The offset of a coordinate of one dimension."""
    words, place = [], 1
    for k, (n, stride) in enumerate(zip(mode.sizes, mode.strides)):
        last = k == len(mode.sizes) - 1
        digit = f"({coordinate} + {mode.origin}ull) / {place}ull"
        words.append(f"i64({digit if last else f'({digit}) % {n}ull'}) * {stride}ll")
        place *= n
    return " + ".join(words) or "0"


def _move_lines(work: Work, memory: KernelInputs) -> list[str]:
    a, b = work.source_bytes, work.target_bytes
    if memory.convert is None:
        if a == 16:
            return ["const uint4 x = read16(source + at);", "write16(target + to, x.x, x.y, x.z, x.w);"]
        if a == 8:
            return ["const uint2 x = read8(source + at);", "write8(target + to, x.x, x.y);"]
        return [f"write{a}(target + to, read{a}(source + at));"]
    lines = ["const uint2 w = read8(source + at);", "const u64 x = u64(w.y) << 32 | w.x;"] if a == 8 else []
    lines = lines or [f"const u32 x = read{a}(source + at);"]
    channels = ["0" if axis is None else f"u32(c{axis})" for axis in memory.channels]
    lines.append(f"const {'u64' if b == 8 else 'u32'} y = convert(x, {', '.join(channels)});")
    return [*lines, "write8(target + to, u32(y), u32(y >> 32));" if b == 8 else f"write{b}(target + to, u32(y));"]


def fill_kernel(low: int, high: int, pattern: bytes) -> Kernel:
    """A repeated element over a range of the target's bytes, whose address the element divides."""
    size = len(pattern)
    words = [int.from_bytes((pattern * 16)[k : k + 4], "little") for k in range(0, 16, 4)]
    whole = ", ".join([f"0x{word:08x}u" for word in words])
    some = ", ".join([f"0x{word:08x}u" for word in words[: max(1, size // 4)]])
    lines = [
        "  const u64 target_at = reinterpret_cast<u64>(target);",
        f"  const u64 from = target_at + {low}ull, end = target_at + {high}ull;",
        f"  for (u32 k = 0; k < {EACH}u; ++k) {{",
        f"    const u64 first = (from & ~15ull) + ((u64(block) * {EACH}u + k) * {THREADS}u + u32(thread)) * 16u;",
        f"    if (first >= from && first + 16 <= end) write16(reinterpret_cast<u8 *>(first), {whole});",
        f"    else for (u64 at = first; at < first + 16; at += {size}u)",
        f"      if (at >= from && at < end) write{size}(reinterpret_cast<u8 *>(at), {some});",
        "  }",
    ]
    head = "const u8 *__restrict__ source, u8 *__restrict__ target, u8 *room, u32 block, int thread"
    text = "\n".join([f"DEVICE void move({head}) {{", *lines, "}", ""])
    return Kernel(text, ("move",), -(-(high - low + 16) // (16 * THREADS * EACH)), THREADS, 0)
