"""What all phases of a kernel share: where a tile begins, what a thread does of it, which positions are in range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ...immutable import NamedTuple
from .. import tuning
from .geometry import SOURCE, TARGET
from .shared_memory import VECTOR, Image, Part
from .tiles import Tile
from .turns import Turns
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
    thread does, and ``p3`` is the position where that begins. The text of an ``inner`` tile has no tests for what only
    tiles at an edge can meet; that of the others is written for few registers, not for speed.
    """

    def __init__(self, tile: Tile, memory: KernelInputs, inner: bool = False) -> None:
        self.tile, self.memory, self.work = tile, memory, tile.work
        self.images = tile.images
        self.bytes = self.work.source_bytes, self.work.target_bytes
        self.axes = self.padded_axes()
        self.masked = [k for k, axis in enumerate(self.axes) if axis.masked]
        self.edges = [k for k in self.masked if self.has_edges(k)]
        self.inner, self.rolled = inner, False
        if inner:
            self.masked = [k for k in self.masked if k not in self.edges]
        self.channel_axes = {axis for axis in memory.channels if axis is not None}
        self.counted = sorted({*self.masked, *self.channel_axes})
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

    def has_edges(self, axis: int) -> bool:
        """Whether some tiles have positions of an axis that others, most of them, do not have to test."""
        its, tiles = self.axes[axis], prod([part.size for part in self.tile.grid if part.axis == axis])
        partly = its.first > 0 or its.last < prod([d.steps for d in its.digits])
        return tiles >= tuning.ACTIVE.min_inner_tiles or (self.tile.direct_edges and partly)

    def is_inner(self) -> str:
        """Whether all positions of a tile hold data and are written, and vectors around them may be read."""
        tests, parts = list[str](), (*self.tile.micro, *self.tile.lanes)
        for k in self.edges:
            reach = sum([(p.size - 1) * p.place for p in parts if p.axis == k])
            first, last = max(self.axes[k].low, self.axes[k].first), min(self.axes[k].high, self.axes[k].last)
            tests += [f"q{k} >= {first}"] * (first > 0) + [f"q{k} + {reach} < {last}"]
        if self.work.source_swizzle is None:
            steps = [(p.size - 1) * p.source for p in parts]
            below, above = sum([x for x in steps if x < 0]), sum([x for x in steps if x > 0]) + self.bytes[SOURCE]
            low, high = self.memory.readable
            tests += [f"from >= {low - below + VECTOR}ll", f"from <= {high - above - 2 * VECTOR}ll"]
        return " && ".join(tests)

    @property
    def position(self) -> str:
        sizes = [prod([d.steps for d in axis.digits]) for axis in self.axes]
        return "int" if max(sizes, default=1) < 1 << 31 else "i64"

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

    def first_spot(self, image: Image) -> str:
        """Where the first run of an image begins in shared memory: as far behind a vector as it does in memory."""
        if image.aligned:
            return f"{self.room(image.side)}"
        memory, start = ("target", "to") if image.side else ("source", "from")
        return f"{self.room(image.side)} + (int(reinterpret_cast<u64>({memory}) + u64({start} + {image.lowest})) & 15)"

    def loop(self, sizes: Mapping[str, int], lines: list[str], seldom: bool = False) -> list[str]:
        """The lines for all combinations of indices that are this thread's; ``i`` counts them, the first is fastest.

        What a thread's number says of the indices is computed once; from one turn to the next only constants are added.
        """
        turns = Turns.of(sizes, self.tile.threads)
        own = list(sizes.items())[: turns.whole]
        names = list(sizes)
        found = ["{", "u32 u = u32(thread);"]
        for name, size in own:
            found += [f"const u32 {name} = u % {size}u;", f"u /= {size}u;", f"(void){name};"]
        body, rest = list[str](), "u32(i)"
        for k in range(turns.whole, len(names)):
            name, size = names[k], sizes[names[k]]
            count = turns.turns if k == turns.whole else size
            index = f"{rest} % {count}u" if k < len(names) - 1 else rest
            rest = f"{rest} / {count}u"
            body.append(f"const u32 {name} = {f'u + {index} * {turns.each}u' if k == turns.whole else index};")
            body.append(f"(void){name};")
            if k == turns.whole and turns.turns * turns.each != size:
                body.append(f"if ({name} >= {size}u) continue;")
        # What runs seldom should not hold registers from what runs always.
        most = tuning.ACTIVE.max_unrolled * (4 if all(self.images) else 1)
        unroll = ["ROLLED"] if seldom or self.rolled else ["UNROLL"] * (turns.rounds <= most)
        loop = [*unroll, f"for (int i = 0; i < {turns.rounds}; ++i) {{", *body, *lines, "}"]
        if turns.active != self.tile.threads:
            loop = [f"if (u < {turns.each}u) {{", *loop, "}"]
        return [*found, *loop, "}"]

    def unpin(self, sizes: Mapping[str, int], lines: list[str]) -> list[str]:
        """A loop over lines that unpin, in the last tiles: what stays pinned would be in the way of other kernels."""
        if self.unpin_from is None:
            return []
        return [f"if (block >= {self.unpin_from}u) {{", *self.loop(sizes, lines, seldom=True), "}"]

    @property
    def lanes(self) -> dict[str, int]:
        """The indices of a thread's micro tiles."""
        return index_sizes("l", self.tile.lanes)

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


def index_sizes(name: str, parts: Sequence[Part]) -> dict[str, int]:
    """One index per part, the first part fastest."""
    return {f"{name}{k}": part.size for k, part in enumerate(parts)}


def indent_lines(lines: list[str]) -> str:
    """The lines as a text, by their braces."""
    depth, out = 1, []
    for line in lines:
        depth -= line.startswith("}")
        out.append("    " * depth + line)
        depth += line.count("{") - line.count("}") + line.startswith("}")
    return "\n".join(out)
