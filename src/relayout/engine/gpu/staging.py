"""The phases that move whole runs: from memory into an image, and from an image to memory."""

from __future__ import annotations

from math import gcd

from .geometry import SOURCE, TARGET
from .kernel_text import KernelText, index_sizes
from .shared_memory import SECTOR, VECTOR, Image, Part
from .turns import Turns


class StagingText(KernelText):
    """The text of the phases before and behind the move."""

    def load_image(self) -> list[str]:
        """The runs of the source, vector by vector."""
        image = self.images[SOURCE]
        if image is None:
            return []
        unit = self.bytes[SOURCE]
        rows = self.source_rows(image)
        # A run holds positions of its own parts, and of those that read it again.
        held = [*image.run, *[part for part, _ in image.rows if not part.step(SOURCE)]]
        low, high = self.memory.readable
        lines = list[str]()
        for axis in self.masked:
            if not any(part.axis == axis for part in (*rows, *self.tile.grid)):
                continue
            reach = sum([(p.size - 1) * p.place for p in held if p.axis == axis])
            its = self.axes[axis]
            lines += self.positions("r", rows, [axis])
            lines.append(f"if (p{axis} + {reach} < {its.low} || p{axis} >= {its.high}) continue;")
        lines.append(f"const i64 at = {self.row_start(image)};")
        lines.append(f"const int place = {self.spot(image, rows)};")
        shift = "" if image.aligned else " - shift"
        if not image.aligned:
            lines.append("const int shift = place & 15;")
            lines.append(f"if (int(v) * 16 >= shift + {image.length}) continue;")
        lines.append(f"const i64 first = {self.swizzle(SOURCE, f'at + int(v) * 16{shift}')};")
        lines.append(f"u8 *const spot = room + place{shift} + int(v) * 16;")
        ahead = "_and_next" if self.tile.ahead else ""
        if self.loads_vectors(image):
            kept = "" if self.unpin_from is None or self.rolled else "_kept"
            verb = f"load16{ahead}{kept}" if self.is_even(image) else f"fetch16{ahead}"
            lines.append(f"{verb}(spot, source + first);")
        elif self.unchecked:
            lines.append(f"fetch16{ahead}(spot, source + first);")
        else:
            element = f"put{unit}(spot + k, {_words('source + first + k', unit)});"
            some = f"if (first + k >= {low}ll && first + k < {high}ll) {element}"
            lines.append(f"if (first >= {low}ll && first + 16 <= {high}ll) fetch16{ahead}(spot, source + first);")
            lines.append(f"else for (int k = 0; k < 16; k += {unit}) {some}")
        return self.loop(self.loads(image), lines)

    def spot(self, image: Image, rows: list[Part]) -> str:
        """Where the run of a thread begins in shared memory."""
        return f"{self.first_spot(image)} + {self.total([image.step(part) for part in rows], 'r')}"

    def source_rows(self, image: Image) -> list[Part]:
        """The parts that runs of the source are apart by."""
        return [part for part, _ in image.rows if part.step(SOURCE)]

    def row_start(self, image: Image) -> str:
        """Where the run of a thread begins in the source."""
        steps = [part.step(SOURCE) for part in self.source_rows(image)]
        return f"from + {image.lowest} + {self.total(steps, 'r', True)}"

    def loads(self, image: Image) -> dict[str, int]:
        """The indices of the vectors that the image of the source has."""
        return {"v": image.vectors, **index_sizes("r", self.source_rows(image))}

    def loads_vectors(self, image: Image) -> bool:
        """Whether all vectors are whole; between elements a swizzle may lead out of memory."""
        whole = image.even == VECTOR and self.work.source_swizzle is None
        return whole and not self.masked and (self.unchecked or image.length % VECTOR == 0)

    @property
    def unchecked(self) -> bool:
        """Whether all vectors around a tile may be read."""
        return self.inner and self.work.source_swizzle is None

    def is_even(self, image: Image) -> bool:
        """Whether all threads load as many vectors."""
        sizes, threads = self.loads(image), self.tile.threads
        return Turns.of(sizes, threads).is_even(sizes, threads)

    def unpin_image(self, image: Image) -> list[str]:
        """The vectors that were loaded, where the cache keeps them."""
        if self.rolled or not self.loads_vectors(image) or not self.is_even(image):
            return []
        return self.unpin(self.loads(image), [f"let_go(source + {self.row_start(image)} + int(v) * 16);"])

    def store_image(self) -> list[str]:
        """The runs of the target, vector by vector; the ends of a run that is not aligned by smaller pieces."""
        image = self.images[TARGET]
        return [] if image is None else [*self.store_vectors(image), *self.store_ends(image)]

    @staticmethod
    def runs(image: Image, each: int) -> dict[str, int]:
        """The indices of ``each`` parts of all runs of the target."""
        return {"v": each, **index_sizes("r", [part for part, _ in image.rows])}

    def run_of_target(self, image: Image) -> list[str]:
        """Where the run of a thread is, and how long."""
        rows = [part for part, _ in image.rows]
        lines = list[str]()
        inside = {part.axis for part in image.run}
        for axis in self.masked:
            its = self.axes[axis]
            lines += self.positions("r", rows, [axis])
            lines += [] if axis in inside else [f"if (p{axis} < {its.first} || p{axis} >= {its.last}) continue;"]
        lines += self.length(image)
        lines.append(f"const i64 at = to + {self.total([p.step(TARGET) for p in rows], 'r', True)};")
        return [*lines, f"const int place = {self.spot(image, rows)};"]

    def store_vectors(self, image: Image) -> list[str]:
        """The vectors of all runs that lie in whole sectors of memory."""
        each = self.whole(image) // VECTOR
        if not each:
            return []
        lines = [*self.run_of_target(image), *self.whole_sectors(image.even)]
        lines.append("const int first = head + int(v) * 16;")
        if image.even < VECTOR or self.runs_vary(image):
            lines.append("if (first >= behind) continue;")
        shifted = f"take_shifted16(room + place, first, {image.vectors * VECTOR})"
        lines.append(f"const uint4 x = {shifted if image.realigned else 'take16(room + place + first)'};")
        lines.append("write16(target + at + first, x.x, x.y, x.z, x.w);")
        return self.loop(self.runs(image, each), lines)

    @property
    def grain(self) -> int:
        """What is written as whole vectors: sectors, or vectors of bytes, whose ends would take too many threads."""
        return VECTOR if self.bytes[TARGET] == 1 and not self.tile.gathers else SECTOR

    def whole_sectors(self, even: int) -> list[str]:
        """Where the whole sectors of a run begin, and what is behind them; of vectors, where all runs have such."""
        if even == VECTOR:
            return ["const int head = 0, behind = length / 16 * 16;"]
        grain = self.grain
        past = "int(reinterpret_cast<u64>(target) + u64(at))"
        return [
            f"const int head = -{past} & {grain - 1};",
            f"const int behind = length < head ? 0 : head + (length - head) / {grain} * {grain};",
        ]

    def store_ends(self, image: Image) -> list[str]:
        """What is before and behind them, an element a thread, so that each end is one store of a warp."""
        if image.even == VECTOR and self.whole(image) % VECTOR == 0 and not self.runs_vary(image):
            return []
        grain = VECTOR if image.even == VECTOR else self.grain
        elements = grain // image.unit
        lines = [*self.run_of_target(image), *self.whole_sectors(image.even)]
        lines += self.element_at_end("v", elements, image.unit)
        lines.append(_store_element("target + at + e", "room + place + e", image.unit))
        return self.loop(self.runs(image, 2 * elements), lines)

    @staticmethod
    def element_at_end(name: str, elements: int, unit: int) -> list[str]:
        """Where an element of a run's ends is: the first ones are before its whole sectors, as many are behind."""
        return [
            f"const int n = int({name}), e = n < {elements} ? n * {unit} : behind + (n - {elements}) * {unit};",
            f"if (e >= length || (n < {elements} ? e >= head : behind < head)) continue;",
        ]

    def gather(self) -> list[str]:
        """Vectors of the target at any address, of elements that are apart in the image of the source."""
        return [*self.gather_vectors(), *self.gather_ends()]

    def gathered_run(self) -> list[str]:
        """Where the run of a thread is in both memories, and how long."""
        run, lanes, unit = self.tile.run, list(self.tile.lanes), self.bytes[TARGET]
        rest = [k for k, part in enumerate(lanes) if part is not run]
        lines = list[str]()
        for axis in self.masked:
            steps = [f"{self.position}(l{k}) * {lanes[k].place}" for k in rest if lanes[k].axis == axis]
            lines.append(f"const {self.position} p{axis} = {' + '.join([f'q{axis}', *steps])};")
            if axis != run.axis:
                lines.append(f"if (p{axis} >= {self.axes[axis].last}) continue;")
        whole = min(run.size, self.axes[run.axis].last) * unit
        if run.axis in self.masked:
            lines.append(f"const i64 left = i64({self.axes[run.axis].last} - p{run.axis}) * {unit};")
            lines.append(f"const int length = left < {whole} ? int(left) : {whole};")
        else:
            lines.append(f"const int length = {whole};")
        steps = [f"i64(l{k}) * {lanes[k].target}ll" for k in rest if lanes[k].target]
        lines.append(f"const i64 at = {' + '.join(['to', *steps])};")
        image = self.images[SOURCE]
        if image is not None:
            steps = [f"int(l{k}) * {image.step(lanes[k])}" for k in rest if image.step(lanes[k])]
            lines.append(f"const int place = {' + '.join([self.first_spot(image), f'{-image.lowest}', *steps])};")
        return [*lines, *self.whole_sectors(self.gathered_even)]

    @property
    def gathered_even(self) -> int:
        """What divides the addresses of all runs of the target."""
        rows = [part.target for part in (*self.tile.lanes, *self.tile.grid) if part is not self.tile.run]
        return gcd(VECTOR, self.tile.even, self.work.target * self.bytes[TARGET], *rows)

    def gather_vectors(self) -> list[str]:
        run, image, unit = self.tile.run, self.images[SOURCE], self.bytes[TARGET]
        each = run.size * unit // VECTOR
        if not each or image is None:
            return []
        name = f"l{self.tile.lanes.index(run)}"
        step = image.step(run)
        lines = [*self.gathered_run(), f"const int first = head + int({name}) * 16;"]
        lines.append("if (first >= behind) continue;")
        lines.append(f"const u8 *const s = room + place + first / {unit} * {step};")
        words = []
        for at in range(0, VECTOR, max(unit, 4)):
            k = at // unit
            if unit == 16:
                lines.append("const uint4 w = take16(s);")
                words += ["w.x", "w.y", "w.z", "w.w"]
            elif unit == 8:
                lines.append(f"const uint2 w{k} = take8(s + {k * step});")
                words += [f"w{k}.x", f"w{k}.y"]
            elif unit == 4:
                words.append(f"take4(s + {k * step})")
            elif unit == 2:
                words.append(f"__byte_perm(take2(s + {k * step}), take2(s + {(k + 1) * step}), 0x5410)")
            else:
                a, b, c, d = [f"take1(s + {(k + n) * step})" for n in range(4)]
                words.append(f"__byte_perm(__byte_perm({a}, {b}, 0x0040), __byte_perm({c}, {d}, 0x0040), 0x5410)")
        lines.append(f"write16(target + at + first, {', '.join(words)});")
        return self.loop(self.lanes | {name: each}, lines)

    def gather_ends(self) -> list[str]:
        run, image, unit = self.tile.run, self.images[SOURCE], self.bytes[TARGET]
        if image is None:
            return []
        even = self.gathered_even
        if even == VECTOR and run.axis not in self.masked and run.size * unit % VECTOR == 0:
            return []
        grain = VECTOR if even == VECTOR else self.grain
        elements, name = grain // unit, f"l{self.tile.lanes.index(run)}"
        lines = [*self.gathered_run(), *self.element_at_end(name, elements, unit)]
        lines.append(_store_element("target + at + e", f"room + place + e / {unit} * {image.step(run)}", unit))
        order = {name: 2 * elements, **{k: n for k, n in self.lanes.items() if k != name}}
        return self.loop(order, lines)

    def runs_vary(self, image: Image) -> bool:
        """Whether some runs are written in part."""
        return bool(image.run) and image.run[-1].axis in self.masked

    def length(self, image: Image) -> list[str]:
        """How much of a run is written: all of it, or up to the end of its outermost axis."""
        whole = self.whole(image)
        if not self.runs_vary(image):
            return [f"const int length = {whole};"]
        outer = image.run[-1]
        return [
            f"const i64 left = i64({self.axes[outer.axis].last} - p{outer.axis}) * {outer.target // outer.place};",
            f"const int length = left < {whole} ? int(left) : {whole};",
        ]

    def whole(self, image: Image) -> int:
        """The bytes of a run of the target that is written as a whole."""
        return image.run[-1].behind(TARGET, self.axes[image.run[-1].axis]) if image.run else image.unit


def _words(pointer: str, unit: int) -> str:
    """An element at a pointer, as its words."""
    if unit == 16:
        return f"read16({pointer}).x, read16({pointer}).y, read16({pointer}).z, read16({pointer}).w"
    return f"read8({pointer}).x, read8({pointer}).y" if unit == 8 else f"read{unit}({pointer})"


def _store_element(target: str, spot: str, unit: int) -> str:
    """An element from an image to memory."""
    fields = {8: "xy", 16: "xyzw"}.get(unit)
    words = ", ".join([f"take{unit}({spot}).{f}" for f in fields]) if fields else f"take{unit}({spot})"
    return f"write{unit}({target}, {words});"
