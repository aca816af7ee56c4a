"""The text of a kernel: CUDA C++ for one tile, in phases that a barrier parts. All sizes and steps are constants."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from ...immutable import NamedTuple
from .geometry import SOURCE, TARGET
from .kernel_text import KernelInputs, indent_lines
from .network import Byte, Network
from .shared_memory import VECTOR, chunk_accesses, offsets
from .staging import StagingText
from .tiles import Tile
from .turns import Turns


class Kernel(NamedTuple):
    """A kernel: its functions, the names of its phases in their order, and what a launch needs."""

    text: str
    phases: tuple[str, ...]
    blocks: int
    threads: int
    shared: int


class _Chunk(NamedTuple):
    """Bytes that are moved at once, and where they begin."""

    width: int
    starts: list[int]


def kernel(tile: Tile, memory: KernelInputs) -> Kernel:
    """The kernel that moves all of a tile's work."""
    return _Writer(tile, memory).kernel()


class _Writer(StagingText):
    def kernel(self) -> Kernel:
        source, target = self.images
        phases = [*["load_image"] * (source is not None), "move", *["store_image"] * (target is not None)]
        inner = _Writer(self.tile, self.memory, inner=True) if self.has_inner_tiles() else None
        self.rolled = inner is not None
        texts = {}
        for name in phases:
            lines = self.phase(name) if inner is None else self.by_place(name, inner)
            texts[name] = indent_lines([*self.block(), *lines, *["fetched();"] * (name == "load_image")])
        head = "const u8 *__restrict__ source, u8 *__restrict__ target, u8 *room, u32 block, int thread"
        text = "\n".join([f"DEVICE void {name}({head}) {{\n{body}\n}}\n" for name, body in texts.items()])
        if self.memory.convert:
            text = f"{self.memory.convert}\n{text}"
        blocks = prod([part.size for part in self.tile.grid])
        shared = sum([image.size for image in self.images if image])
        return Kernel(text, tuple(phases), blocks, self.tile.threads, shared)

    def phase(self, name: str) -> list[str]:
        """The lines of a phase."""
        return {"load_image": self.load_image, "move": self.move, "store_image": self.store_image}[name]()

    def has_inner_tiles(self) -> bool:
        """Whether most tiles can do without tests."""
        image = self.images[SOURCE]
        tested = not self.loads_vectors(image) if image else bool(self.masked)
        return bool(self.edges) or (tested and self.work.source_swizzle is None)

    def by_place(self, name: str, inner: _Writer) -> list[str]:
        """A phase of inner tiles, and of those at an edge, which may be written without an image."""
        lines = [f"if ({self.is_inner()}) {{", *inner.phase(name)]
        if not self.tile.direct_edges or name == "load_image":
            return [*lines, "} else {", *self.phase(name), "}"]
        if name == "store_image":
            return [*lines, "}"]
        chunks = (self.tile.chunks[SOURCE], self.bytes[TARGET])
        bare = _Writer(self.tile._replace(images=(self.images[SOURCE], None), chunks=chunks), self.memory)
        bare.rolled = True
        return [*lines, "} else {", *bare.move(), "}"]

    def chunk(self, side: int) -> _Chunk:
        """How the elements of a micro tile are accessed on one side."""
        image, unit = self.images[side], self.bytes[side]
        steps = [image.step(part) if image else part.step(side) for part in self.tile.micro]
        at = offsets(self.tile.micro, steps)
        if image is None:
            width = self.tile.chunks[side]
            return _Chunk(width, list(dict.fromkeys([x // width * width for x in at])))
        lanes = [image.step(part) for part in self.tile.lanes]
        even = gcd(VECTOR if image.realigned else image.even, image.lowest, *lanes)
        return _Chunk(*chunk_accesses(at, unit, even, side == TARGET))

    def spots(self, side: int, lines: list[str]) -> str:
        """Where the micro tile is on one side, as a text that offsets are added to."""
        image, lanes = self.images[side], list(self.tile.lanes)
        memory, start, name = ("target", "to", "g") if side else ("source", "from", "f")
        offset = self.total([part.step(side) for part in lanes], "l", self.wide(side))
        if image is None:
            kind = "i64" if self.wide(side) or self.work.target_swizzle or self.work.source_swizzle else "int"
            lines.append(f"const {kind} {name} = {offset};")
            swizzle = self.work.target_swizzle if side else self.work.source_swizzle
            return f"{start} + {name}" if swizzle else f"{memory} + {start} + {name}"
        spot = self.total([image.step(part) for part in lanes], "l")
        first = self.first_spot(image)
        lines.append(f"{'' if side else 'const '}u8 *const s{name} = room + {first} - {image.lowest} + {spot};")
        return f"s{name}"

    def at(self, side: int, base: str, offset: int) -> str:
        """The address of an offset of the micro tile."""
        image = self.images[side]
        if image is None:
            swizzle = self.work.target_swizzle if side else self.work.source_swizzle
            memory = "target" if side else "source"
            return f"{memory} + {self.swizzle(side, f'{base} + {offset}ll')}" if swizzle else f"{base} + {offset}"
        return f"{base} + {offset}"

    def move(self) -> list[str]:
        """Every thread's micro tiles: read, put in order, written."""
        image = self.images[SOURCE]
        if image is not None and self.tile.gathers:
            return [*self.gather(), *self.unpin_image(image)]
        if image is not None:
            lines = self.loop(self.lanes, [*self.head(), *self.reads(""), *self.writes("")])
            return [*lines, *self.unpin_image(image)]
        # All that is in memory is asked for before any of it is needed.
        chunk = self.chunk(SOURCE)
        kind = {16: "uint4", 8: "uint2"}.get(chunk.width, "u32")
        each, rounds = len(chunk.starts), Turns.of(self.lanes, self.tile.threads).rounds
        if self.rolled:
            return self.loop(self.lanes, [f"{kind} x[{each}];", *self.head(), *self.reads("x"), *self.writes("x")])
        first = self.loop(self.lanes, [*self.head(), *self.reads("x")])
        second = self.loop(self.lanes, [*self.head(), *self.writes("x")])
        return [f"{kind} x[{rounds * each}];", *first, *second, *self.unpin_chunks()]

    def slot(self, array: str, k: int, each: int) -> str:
        """Where a chunk of the source is kept."""
        return f"{array}[{k}]" if self.rolled else f"{array}[i * {each} + {k}]"

    def head(self) -> list[str]:
        return self.positions("l", list(self.tile.lanes), self.counted)

    def within(self, axis: int, low: int, high: int) -> str:
        """Whether all of a micro tile is in a range of the axis."""
        reach = sum([(part.size - 1) * part.place for part in self.tile.micro if part.axis == axis])
        tests = [f"p{axis} >= {low}"] * (low > 0) + [f"p{axis} + {reach} < {high}"]
        return " && ".join(tests)

    def touches(self, axis: int) -> str:
        """Whether any of a micro tile holds data of the axis."""
        reach = sum([(part.size - 1) * part.place for part in self.tile.micro if part.axis == axis])
        its = self.axes[axis]
        return f"p{axis} + {reach} >= {its.low} && p{axis} < {its.high}"

    def reads(self, array: str) -> list[str]:
        """The chunks of the source."""
        lines: list[str] = []
        base, chunk = self.spots(SOURCE, lines), self.chunk(SOURCE)
        kept = "_kept" if self.unpin_from is not None and not self.rolled and chunk.width == VECTOR else ""
        verb = f"take{chunk.width}" if self.images[SOURCE] else f"read{chunk.width}{kept}"
        each = len(chunk.starts)
        kind = {16: "uint4", 8: "uint2"}.get(chunk.width, "u32")
        for k, start in enumerate(chunk.starts):
            value = f"{verb}({self.at(SOURCE, base, start)})"
            if not array:
                lines.append(f"const {kind} x{k} = {value};")
                continue
            name = self.slot(array, k, each)
            if self.masked:
                low, high = self.memory.readable
                lines.append(f"{name} = {kind}{'()' if chunk.width < 8 else '{}'};")
                lines += self.where_data(base, start, f"{name} = {verb}(p);", self.partly(name, chunk.width, low, high))
            else:
                lines.append(f"{name} = {value};")
        return lines

    def where_data(self, base: str, start: int, does: str, otherwise: Sequence[str] = ()) -> list[str]:
        """What is done with a chunk at ``p`` that holds data: where all of it may be read, and where not."""
        some = " && ".join([self.touches(axis) for axis in self.masked]) or "true"
        (low, high), width = self.memory.readable, self.chunk(SOURCE).width
        inside = f"p - source >= {low}ll && p - source + {width} <= {high}ll"
        spot = f"const u8 *const p = {self.at(SOURCE, base, start)};"
        if self.unchecked:
            return [f"if ({some}) {{", spot, does, "}"]
        return [f"if ({some}) {{", spot, f"if ({inside}) {does}", *otherwise, "}"]

    def unpin_chunks(self) -> list[str]:
        """The chunks that were read, where the cache keeps them."""
        chunk = self.chunk(SOURCE)
        if chunk.width != VECTOR:
            return []
        lines = self.head()
        base = self.spots(SOURCE, lines)
        for start in chunk.starts:
            if self.masked:
                lines += self.where_data(base, start, "let_go(p);")
            else:
                lines.append(f"let_go({self.at(SOURCE, base, start)});")
        return self.unpin(self.lanes, lines)

    def partly(self, name: str, width: int, low: int, high: int) -> list[str]:
        """The elements of a chunk at the ends of the memory, one by one."""
        unit = self.bytes[SOURCE]
        if unit == width:
            return []
        lines = ["else {"]
        for k in range(0, width, unit):
            word = name if width <= 4 else f"{name}.{'xyzw'[k // 4]}"
            inside = f"p - source + {k} >= {low}ll && p - source + {k + unit} <= {high}ll"
            if unit == 8:
                pair = f"{name}.{'xz'[k // 8]} = e.x; {name}.{'yw'[k // 8]} = e.y;"
                lines.append(f"if ({inside}) {{ const uint2 e = read8(p + {k}); {pair} }}")
            else:
                lines.append(f"if ({inside}) {word} |= read{unit}(p + {k}) << {k % 4 * 8};")
        return [*lines, "}"]

    def elements(self, side: int) -> list[int]:
        """The offset of every element of the micro tile."""
        image = self.images[side]
        return offsets(self.tile.micro, [image.step(p) if image else p.step(side) for p in self.tile.micro])

    def inputs(self, array: str) -> dict[int, Byte]:
        """The word that holds each byte of the source's micro tile."""
        chunk = self.chunk(SOURCE)
        each = len(chunk.starts)
        found = {}
        for k, start in enumerate(chunk.starts):
            name = self.slot(array, k, each) if array else f"x{k}"
            for at in range(chunk.width):
                word = name if chunk.width <= 4 else f"{name}.{'xyzw'[at // 4]}"
                found[start + at] = Byte(word, at % 4)
        return found

    def writes(self, array: str) -> list[str]:
        """The chunks of the target, with the fill where there are no data."""
        lines: list[str] = []
        base, chunk = self.spots(TARGET, lines), self.chunk(TARGET)
        source, target = self.elements(SOURCE), self.elements(TARGET)
        unit = self.bytes[TARGET]
        where = {at + k: (e, k) for e, at in enumerate(target) for k in range(unit)}
        size = max(1, chunk.width // 4)
        spots = [[start + 4 * w + k for k in range(min(4, chunk.width))] for start in chunk.starts for w in range(size)]
        if self.memory.convert:
            words = self.convert_words(lines, array, spots, where)
        else:
            inputs = self.inputs(array)
            wanted = [[inputs[source[where[s][0]] + where[s][1]] for s in spot] for spot in spots]
            network = Network()
            words = network.words([[*bytes_, *[None] * (4 - len(bytes_))] for bytes_ in wanted])
            lines += network.lines
        if self.blends:
            words = self.blend_fill(lines, words, spots, where)
        verb = "put" if self.images[TARGET] else "write"
        groups = [words[k * size : (k + 1) * size] for k in range(len(chunk.starts))]
        whole = [
            f"{verb}{chunk.width}({self.at(TARGET, base, start)}, {', '.join(group)});"
            for start, group in zip(chunk.starts, groups)
        ]
        tests = [self.within(axis, self.axes[axis].first, self.axes[axis].last) for axis in self.masked]
        if not tests:
            return [*lines, *whole]
        lines += [f"if ({' && '.join(tests)}) {{", *whole, "} else {"]
        for start, group in zip(chunk.starts, groups):
            lines += self.one_by_one(verb, base, start, chunk.width, group, where)
        return [*lines, "}"]

    @property
    def blends(self) -> bool:
        """Whether positions without data are written."""
        return any((x.low, x.high) != (x.first, x.last) for x in [self.axes[k] for k in self.masked])

    def valid(self, element: int, low: str, high: str) -> str:
        """Whether one element of a micro tile is in a range of every masked axis."""
        tests = []
        for axis in self.masked:
            place = offsets(self.tile.micro, [p.place if p.axis == axis else 0 for p in self.tile.micro])[element]
            its = self.axes[axis]
            tests.append(f"p{axis} + {place} >= {getattr(its, low)} && p{axis} + {place} < {getattr(its, high)}")
        return " && ".join(tests) or "true"

    def blend_fill(
        self, lines: list[str], words: list[str], spots: list[list[int]], where: dict[int, tuple[int, int]]
    ) -> list[str]:
        lines += [f"u32 o{k} = {word};" for k, word in enumerate(words)]
        tests = [self.within(axis, self.axes[axis].low, self.axes[axis].high) for axis in self.masked]
        lines.append(f"if (!({' && '.join(tests)})) {{")
        elements = sorted({e for spot in spots for e in [where[s][0] for s in spot]})
        lines += [f"const bool v{e} = {self.valid(e, 'low', 'high')};" for e in elements]
        for k, spot in enumerate(spots):
            bits: dict[int, tuple[int, int]] = {}
            for place, s in enumerate(spot):
                e, at = where[s]
                mask, fill = bits.get(e, (0, 0))
                byte = self.memory.fill[at % len(self.memory.fill)]
                bits[e] = mask | 0xFF << 8 * place, fill | byte << 8 * place
            for e, (mask, fill) in bits.items():
                lines.append(f"o{k} = v{e} ? o{k} : (o{k} & 0x{~mask & 0xFFFFFFFF:08x}u) | 0x{fill:08x}u;")
        lines.append("}")
        return [f"o{k}" for k in range(len(words))]

    def one_by_one(
        self, verb: str, base: str, start: int, width: int, words: list[str], where: dict[int, tuple[int, int]]
    ) -> list[str]:
        """The elements of a chunk that are to be written."""
        unit, lines = self.bytes[TARGET], []
        for at in range(0, width, unit):
            test = self.valid(where[start + at][0], "first", "last")
            spot = f"{self.at(TARGET, base, start)} + {at}" if at else self.at(TARGET, base, start)
            if unit >= 4:
                value = ", ".join(words[at // 4 : (at + unit) // 4])
            else:
                value = f"{words[at // 4]} >> {at % 4 * 8}" if at % 4 else words[at // 4]
            lines.append(f"if ({test}) {verb}{unit}({spot}, {value});")
        return lines

    def convert_words(
        self, lines: list[str], array: str, spots: list[list[int]], where: dict[int, tuple[int, int]]
    ) -> list[str]:
        """Every element converted, and the words of the target that they make."""
        inputs, source = self.inputs(array), self.elements(SOURCE)
        size, unit = self.bytes
        micro = self.tile.micro
        only = f" & 0x{(1 << 8 * unit) - 1:x}u" if unit < 4 else ""
        for e in sorted({where[s][0] for spot in spots for s in spot}):
            first = inputs[source[e]]
            if size == 8:
                second = inputs[source[e] + 4]
                value = f"u64({second.word}) << 32 | {first.word}"
            else:
                value = f"{first.word} >> {8 * first.at}" if first.at else first.word
                value = value if size == 4 else f"({value}) & 0x{(1 << 8 * size) - 1:x}u"
            words = []
            for axis in self.memory.channels:
                place = offsets(micro, [p.place if p.axis == axis else 0 for p in micro])[e]
                words.append("0" if axis is None else f"p{axis} + {place - self.axes[axis].low}")
            lines.append(f"const {'u64' if unit == 8 else 'u32'} y{e} = convert({value}, {', '.join(words)}){only};")
        made: list[str] = []
        for spot in spots:
            pieces = []
            for place, s in enumerate(spot):
                e, at = where[s]
                if at % 4 == 0 or at % unit == 0:
                    value = f"u32(y{e} >> {8 * at})" if at else f"u32(y{e})"
                    pieces.append(f"{value} << {8 * place}" if place else value)
            lines.append(f"const u32 z{len(made)} = {' | '.join(pieces)};")
            made.append(f"z{len(made)}")
        return made
