"""What all phases of a kernel share: where a tile begins, what a thread does of it, which positions are in range."""

from __future__ import annotations

from math import prod

from ...immutable import NamedTuple
from .. import tuning
from .geometry import SOURCE, TARGET
from .shared_memory import Part
from .tiles import Tile
from .work import Axis


class KernelInputs(NamedTuple):
    """What is known of a run: bytes of the source that may be read, from and to, the fill, and a conversion.

    A conversion is a text, and the axes that count the channels of source and target.
    """

    readable: tuple[int, int]
    fill: bytes
    convert: str | None = None
    channels: tuple[int | None, int | None] = (None, None)


class KernelText:
    """The parts of the text that all phases of a kernel share.

    In the text ``from`` and ``to`` are where a tile begins, and ``q3`` is its position on axis 3; ``u`` counts what a
    thread does, and ``p3`` is the position where that begins.
    """

    def __init__(self, tile: Tile, memory: KernelInputs) -> None:
        self.tile, self.memory, self.work = tile, memory, tile.work
        self.images = tile.images
        self.bytes = self.work.source_bytes, self.work.target_bytes
        self.axes = self.padded_axes()
        self.masked = [k for k, axis in enumerate(self.axes) if axis.masked]
        self.channel_axes = {axis for axis in memory.channels if axis is not None}
        self.counted = sorted({*self.masked, *self.channel_axes})
        self.count = prod([part.size for part in tile.lanes])
        self.rounds = -(-self.count // tile.threads)
        self.unpin_from = self.first_unpinning_tile()

    def first_unpinning_tile(self) -> int | None:
        """The first of the tiles that unpin the lines they read; None where none is pinned in the cache."""
        blocks = prod([part.size for part in self.tile.grid])
        low, high = self.memory.readable
        if high - low < tuning.ACTIVE.pinned_source_bytes:
            return None
        return max(0, blocks - blocks * tuning.ACTIVE.unpinned_bytes // (high - low))

    def padded_axes(self) -> list[Axis]:
        """The axes with as many positions as the tiles have, so that those too many are masked."""
        sizes = [1] * len(self.work.axes)
        for part in (*self.tile.micro, *self.tile.lanes, *self.tile.grid):
            sizes[part.axis] = max(sizes[part.axis], part.place * part.size)
        found = []
        for axis, size in zip(self.work.axes, sizes):
            *lower, top = axis.digits
            place = prod([d.steps for d in lower])
            found.append(axis._replace(digits=(*lower, top._replace(steps=max(size // place, 1)))))
        return found

    def block(self) -> list[str]:
        """Where the tile begins."""
        lines = ["u32 b = block;"]
        grid = self.tile.grid
        for k, part in enumerate(grid):
            last = k == len(grid) - 1
            lines.append(f"const u32 b{k} = b{'' if last else f' % {part.size}u'};")
            lines += [] if last else [f"b /= {part.size}u;"]
        starts = self.work.source * self.bytes[0], self.work.target * self.bytes[1]
        for side, name in ((SOURCE, "from"), (TARGET, "to")):
            steps = [f"i64(b{k}) * {part.step(side)}ll" for k, part in enumerate(grid) if part.step(side)]
            lines.append(f"const i64 {name} = {' + '.join([f'{starts[side]}ll', *steps])};")
        for axis in self.counted:
            steps = [f"{self.position}(b{k}) * {part.place}" for k, part in enumerate(grid) if part.axis == axis]
            lines.append(f"const {self.position} q{axis} = {' + '.join(['0', *steps])};")
        lines += ["(void)b; (void)from; (void)to;", *[f"(void)q{axis};" for axis in self.counted]]
        return lines

    def at_edge(self) -> str:
        """Whether a tile has positions that are not written."""
        tests = []
        for k, axis in enumerate(self.axes):
            reach = sum([(p.size - 1) * p.place for p in (*self.tile.micro, *self.tile.lanes) if p.axis == k])
            tests += [f"q{k} < {axis.first}"] * (axis.first > 0)
            tests += [f"q{k} + {reach} >= {axis.last}"] * (axis.last < prod([d.steps for d in axis.digits]))
        return " || ".join(tests) or "false"

    @property
    def position(self) -> str:
        sizes = [prod([d.steps for d in axis.digits]) for axis in self.axes]
        return "int" if max(sizes, default=1) < 1 << 31 else "i64"

    @staticmethod
    def indices(parts: list[Part], name: str) -> list[str]:
        """One index per part out of ``u``, the first part fastest."""
        lines = []
        for k, part in enumerate(parts):
            last = k == len(parts) - 1
            lines.append(f"const u32 {name}{k} = u{'' if last else f' % {part.size}u'};")
            lines += [] if last else [f"u /= {part.size}u;"]
        return lines

    @staticmethod
    def total(steps: list[int], name: str, wide: bool = False) -> str:
        """The sum of the steps of all indices."""
        kind = "i64" if wide else "int"
        words = [f"{kind}({name}{k}) * {step}{'ll' if wide else ''}" for k, step in enumerate(steps) if step]
        return " + ".join(words) or "0"

    def wide(self, side: int) -> bool:
        """Whether offsets within a tile need 64 bits."""
        parts = (*self.tile.micro, *self.tile.lanes)
        return sum([(part.size - 1) * abs(part.step(side)) for part in parts]) >= 1 << 30

    def room(self, side: int) -> int:
        """Where the image of a side begins."""
        first = self.images[SOURCE]
        return first.size if side == TARGET and first is not None else 0

    def loop(self, count: int, lines: list[str], seldom: bool = False) -> list[str]:
        """The lines for every ``u`` below the count that is this thread's, which is its ``i``-th."""
        threads = self.tile.threads
        rounds = -(-count // threads)
        guard = [f"if (u >= {count}u) continue;"] if count % threads else []
        unroll = ["UNROLL"] if rounds <= tuning.ACTIVE.max_unrolled else []
        return [
            # What runs seldom should not hold registers from what runs always.
            *(["ROLLED"] if seldom else unroll),
            f"for (int i = 0; i < {rounds}; ++i) {{",
            f"u32 u = u32(thread) + u32(i) * {threads}u;",
            *guard,
            *lines,
            "}",
        ]

    def unpin(self, count: int, lines: list[str]) -> list[str]:
        """A loop over lines that unpin, in the last tiles: what stays pinned would be in the way of other kernels."""
        if self.unpin_from is None:
            return []
        return [f"if (block >= {self.unpin_from}u) {{", *self.loop(count, lines, seldom=True), "}"]

    def swizzle(self, side: int, offset: str) -> str:
        swizzle = self.work.target_swizzle if side else self.work.source_swizzle
        if swizzle is None:
            return offset
        mask, shift = swizzle
        moved = f">> {shift}" if shift >= 0 else f"<< {-shift}"
        return f"(({offset}) ^ ((({offset}) & {mask}ll) {moved}))"

    def positions(self, name: str, parts: list[Part], axes: list[int]) -> list[str]:
        """The position on each of the axes that a thread begins at."""
        lines = []
        for axis in axes:
            words = [f"{self.position}({name}{k}) * {p.place}" for k, p in enumerate(parts) if p.axis == axis]
            lines.append(f"const {self.position} p{axis} = {' + '.join([f'q{axis}', *words])};")
        return lines


def indent_lines(lines: list[str]) -> str:
    """The lines as a text, by their braces."""
    depth, out = 1, []
    for line in lines:
        depth -= line.startswith("}")
        out.append("    " * depth + line)
        depth += line.count("{") - line.count("}") + line.startswith("}")
    return "\n".join(out)
