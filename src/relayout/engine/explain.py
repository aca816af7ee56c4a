"""A plan in words and numbers: its loops, the kernels that run them, the bytes that move, and about how fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..immutable import NamedTuple
from ..layout.ranges import effective_swizzle
from .cpu.strided import common_loops
from .places import box_range
from .ways import GeneralWay, NativeWay, workers

if TYPE_CHECKING:
    from .plan import Plan

SHOWN = 4
"""How many pieces and kernels are told of one by one."""

STREAMED = 24 << 20
"""From so many bytes on stores go around the cache."""

SHARED = 1 << 20
"""Fewer bytes are not worth a second thread."""


class KernelShare(NamedTuple):
    """A part of a run: its words, its bytes of the target, and its speed beside that of a flat copy, roughly."""

    words: str
    size: int
    speed: float


def explain(plan: Plan) -> str:
    """What a run of the plan does."""
    kind, other = plan.element.element, plan.dst_element.element
    low, high = box_range(plan.target)
    read, data = -(-kind.bits * plan.source.size // 8), -(-other.bits * plan.target.size // 8)
    written = data if plan.fill is None else -(-other.bits * (high - low) // 8)
    shape = " x ".join(map(str, plan.source.extents)) or "a scalar"
    becomes = "" if plan.element == plan.dst_element else f", converted from {plan.element} to {plan.dst_element}"
    padding = f", {_bytes(written - data)} of that padding" if written > data else ""
    lines = [
        f"{_elements(plan.source.size)} of {kind.name}, {shape}{becomes}.",
        f"Reads {_bytes(read)}, writes {_bytes(written)}{padding}.",
    ]
    if not plan.source.size:
        return "\n".join(lines)
    lines += [
        "Loops, with the steps of source -> target in elements:",
        *_first(_loops(plan), "smaller pieces at the edges"),
    ]
    works = sorted(_works(plan, written), key=lambda work: -work.size)
    total = sum([work.size for work in works])
    lines.append(f"Way: {plan.way.fastest.name}.")
    lines += ["Kernels:", *_first([f"{work.size / total:.0%} {work.words}" for work in works], "smaller ones")]
    threads = 1 if written < SHARED else workers(plan.threads)
    speed = total / sum([work.size / work.speed for work in works])
    where = "from memory to memory" if written >= STREAMED else "in the cache"
    lines.append(f"{threads} thread{'s' * (threads > 1)}, about {speed:.1f} of the speed of memcpy {where}.")
    return "\n".join(lines)


def _bytes(count: int) -> str:
    for shift, word in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 10 << shift:
            return f"{count / (1 << shift):.1f} {word}"
    return f"{count} byte{'s' * (count != 1)}"


def _elements(count: int) -> str:
    return f"{count} element{'s' * (count != 1)}"


def _first(lines: list[str], rest: str) -> list[str]:
    more = [f"  and {len(lines) - SHOWN} {rest}"] if len(lines) > SHOWN else []
    return [f"  {line}" for line in lines[:SHOWN]] + more


def _loops(plan: Plan) -> list[str]:
    """The loops of both layouts, the largest piece first."""
    lines = []
    sides = {"source": effective_swizzle(plan.source), "target": effective_swizzle(plan.target)}
    lines += [f"under the swizzle {swizzle} of the {side}" for side, swizzle in sides.items() if swizzle is not None]
    pieces = common_loops(plan.source.with_swizzle(None), plan.target.with_swizzle(None))
    if pieces is None:
        return [*lines, "offsets are looked up: blocks do not divide each other"]
    for piece in sorted(pieces, key=lambda piece: -piece.size):
        steps = [f"{n} ({a} -> {b})" for n, a, b in piece.loops]
        steps += [f"{len(t.source)} looked up, as blocks do not divide each other" for t in piece.tables]
        lines.append(f"{', '.join(steps) or '1'}: {_elements(piece.size)}")
    return lines


def _works(plan: Plan, written: int) -> list[KernelShare]:
    """What runs, part by part."""
    way = plan.way.fastest
    if isinstance(way, NativeWay):
        passes = way.element_program.passes(True)
        works = _add_up([_work(step, written, plan.element != plan.dst_element) for step in passes])
        wider = plan.element.element.bits / plan.dst_element.element.bits
        works = [work._replace(size=int(work.size / wider)) for work in works]
        if not way.fills:
            works.append(KernelShare("the fill of all of it, before", written, 1.0))
        return works
    works = [KernelShare(words, written, speed) for words, speed in [_OTHER_WAYS[way.name]]]
    if isinstance(way, GeneralWay) and (count := way.program.count_by_networks):
        size = written * count // plan.target.size
        works = [work._replace(size=written - size) for work in works if size < written]
        works.append(KernelShare("networks that bring single elements of vectors to their places", size, 0.9))
    return works


_OTHER_WAYS = {
    "general": ("the general walk through both layouts, run by run", 0.2),
    "strided": ("numpy's strided copies, or its lookups", 0.1),
    "recoded": ("looked up in a table of bytes, then moved", 0.3),
    "encoded": ("decoded and encoded by numpy, by way of a temporary array", 0.05),
}
"""What the ways without kernels of their own do, and their speed beside that of a flat copy, roughly."""


def _add_up(works: list[KernelShare]) -> list[KernelShare]:
    """Those of equal words as one."""
    sizes: dict[str, KernelShare] = {}
    for work in works:
        before = sizes.get(work.words)
        sizes[work.words] = work if before is None else before._replace(size=before.size + work.size)
    return list(sizes.values())


def _work(step: dict[str, Any], written: int, converts: bool) -> KernelShare:
    """A pass of the compiled core."""
    kernel, each, size = step["kernel"], _bytes(step["width"]), step["iterations"] * step["tile_bytes"]
    run, streams = _bytes(step["length"]), step["height"]
    words, speed = {
        "runs": (f"runs of {run}", 1.0 if step["length"] >= 32 else 0.5),
        "padded runs": (f"runs padded to {run}", 0.8),
        "transpose": (f"transposes {streams} x {step['count']} of {each}", {1: 0.6, 2: 0.8}.get(step["width"], 1.0)),
        "widened transpose": (f"transposes {streams} x {step['count']} of {run}", 0.6),
        "interleave": (f"weaves {streams} streams of {each} into one", 1.0),
        "deinterleave": (f"parts one stream of {each} into {streams}", 1.0),
        "gather": ("bytes picked by tables", 0.5),
        "permute": (f"bytes permuted in blocks of {run}", 1.0),
        "scatter": (f"single elements of {each}", 0.1),
        "fill": (f"padding in runs of {run}", 1.0),
    }.get(kernel, (kernel, 0.5))
    words += f", in tiles of {_bytes(step['tile_bytes'])}"
    if converts:
        return KernelShare(f"{words}, staged and converted", size, 0.4 * speed)
    if step["padded"]:
        return KernelShare(f"{words} with padding between, staged", size, 0.6 * speed)
    if step["slabs"]:
        return KernelShare(f"{words}, staged and streamed around the cache", size, 0.7 * speed)
    if written >= STREAMED and step["nontemporal"]:
        return KernelShare(f"{words}, streamed around the cache", size, speed)
    if written >= STREAMED and step["shifted"]:
        return KernelShare(f"{words}, streamed in lines that begin elsewhere", size, 0.7 * speed)
    return KernelShare(words, size, 0.6 * speed)
