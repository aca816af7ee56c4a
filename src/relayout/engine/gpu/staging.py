"""The phases that move whole runs: from memory into an image, and from an image to memory."""

from __future__ import annotations

from math import prod

from .geometry import SOURCE, TARGET
from .kernel_text import KernelText, indent_lines
from .shared_memory import VECTOR, WORD, Image, Part


class StagingText(KernelText):
    """The text of the phases before and behind the move."""

    def load_image(self) -> str:
        """The runs of the source, vector by vector."""
        image = self.images[SOURCE]
        if image is None:
            return ""
        unit = self.bytes[SOURCE]
        rows = self.source_rows(image)
        # A run holds positions of its own parts, and of those that read it again.
        held = [*image.run, *[part for part, _ in image.rows if not part.step(SOURCE)]]
        low, high = self.memory.readable
        lines = self.vector_of(image.vectors, rows)
        for axis in self.masked:
            if not any(part.axis == axis for part in (*rows, *self.tile.grid)):
                continue
            reach = sum([(p.size - 1) * p.place for p in held if p.axis == axis])
            its = self.axes[axis]
            lines += self.positions("r", rows, [axis])
            lines.append(f"if (p{axis} + {reach} < {its.low} || p{axis} >= {its.high}) continue;")
        lines.append(f"const i64 at = {self.row_start(image)};")
        spot = self.total([image.step(part) for part in rows], "r")
        shift = "" if image.aligned else " - shift"
        if not image.aligned:
            lines.append("const int shift = int((reinterpret_cast<u64>(source) + u64(at)) & 15);")
            lines.append(f"if (int(v) * 16 >= shift + {image.length}) continue;")
        lines.append(f"const i64 first = {self.swizzle(SOURCE, f'at + int(v) * 16{shift}')};")
        lines.append(f"u8 *const spot = room + {spot} + int(v) * 16;")
        ahead = "_and_next" if self.tile.ahead else ""
        if image.realigned:
            lines.append(f"if (first >= {low + VECTOR}ll && first + {2 * VECTOR} <= {high}ll) {{")
            lines.append("const uint4 x = read_shifted16(source + first);")
            lines.append("put16(spot, x.x, x.y, x.z, x.w);")
            element = f"put{unit}(spot + k, {_words('source + first + k', unit)});"
            some = f"if (first + k >= {low}ll && first + k < {high}ll) {element}"
            lines.append(f"}} else for (int k = 0; k < 16; k += {unit}) {some}")
        elif self.loads_vectors(image):
            kept = "" if self.unpin_from is None else "_kept"
            verb = f"load16{ahead}{kept}" if self.is_even(image) else f"fetch16{ahead}"
            lines.append(f"{verb}(spot, source + first);")
        else:
            element = f"put{unit}(spot + k, {_words('source + first + k', unit)});"
            some = f"if (first + k >= {low}ll && first + k < {high}ll) {element}"
            lines.append(f"if (first >= {low}ll && first + 16 <= {high}ll) fetch16{ahead}(spot, source + first);")
            lines.append(f"else for (int k = 0; k < 16; k += {unit}) {some}")
        return indent_lines([*self.block(), *self.loop(self.loads(image), lines), "fetched();"])

    def vector_of(self, vectors: int, rows: list[Part]) -> list[str]:
        """Which of so many vectors of a run is a thread's, and which run."""
        return [f"const u32 v = u % {vectors}u;", f"u /= {vectors}u;", *self.indices(rows, "r")]

    def source_rows(self, image: Image) -> list[Part]:
        """The parts that runs of the source are apart by."""
        return [part for part, _ in image.rows if part.step(SOURCE)]

    def row_start(self, image: Image) -> str:
        """Where the run of a thread begins in the source."""
        steps = [part.step(SOURCE) for part in self.source_rows(image)]
        return f"from + {image.lowest} + {self.total(steps, 'r', True)}"

    def loads(self, image: Image) -> int:
        """How many vectors the image of the source has."""
        return image.vectors * prod([part.size for part in self.source_rows(image)])

    def loads_vectors(self, image: Image) -> bool:
        """Whether all vectors are whole; between elements a swizzle may lead out of memory."""
        whole = image.aligned and not image.realigned and image.length % VECTOR == 0
        return whole and not self.masked and self.work.source_swizzle is None

    def is_even(self, image: Image) -> bool:
        """Whether all threads load as many vectors."""
        return self.loads(image) % self.tile.threads == 0

    def unpin_image(self, image: Image) -> list[str]:
        """The vectors that were loaded, where the cache keeps them."""
        if not self.loads_vectors(image) or not self.is_even(image):
            return []
        lines = self.vector_of(image.vectors, self.source_rows(image))
        lines.append(f"let_go(source + {self.row_start(image)} + int(v) * 16);")
        return self.unpin(self.loads(image), lines)

    def store_image(self) -> str:
        """The runs of the target, vector by vector; the ends of a run that is not aligned by smaller pieces."""
        image = self.images[TARGET]
        if image is None:
            return ""
        block = [*self.block(), *([f"if ({self.at_edge()}) return;"] if self.tile.direct_edges else [])]
        if image.realigned:
            return indent_lines([*block, *self.store_vectors(image), *self.store_ends(image)])
        unit, count = self.bytes[TARGET], image.vectors
        lines = self.run_of_target(image, count, "spot")
        past = "0" if image.aligned else "int((reinterpret_cast<u64>(target) + u64(at)) & 15)"
        lines += [f"const int first = int(v) * 16 - {past};", "spot += int(v) * 16;"]
        lines.append("if (first >= 0 && first + 16 <= length) {")
        lines.append("const uint4 x = take16(spot);")
        lines.append("write16(target + at + first, x.x, x.y, x.z, x.w);")
        some = (
            f"if (first + k >= 0 && first + k < length) {_store_element('target + at + first + k', 'spot + k', unit)}"
        )
        lines.append(f"}} else for (int k = 0; k < 16; k += {unit}) {some}")
        return indent_lines([*block, *self.loop(count * self.runs(image), lines)])

    def runs(self, image: Image) -> int:
        return prod([part.size for part, _ in image.rows])

    def run_of_target(self, image: Image, each: int, name: str) -> list[str]:
        """Which of ``each`` parts of a run is a thread's, where the run is, and how long."""
        rows = [part for part, _ in image.rows]
        lines = self.vector_of(each, rows)
        inside = {part.axis for part in image.run}
        for axis in [] if self.tile.direct_edges else self.masked:
            its = self.axes[axis]
            lines += self.positions("r", rows, [axis])
            lines += [] if axis in inside else [f"if (p{axis} < {its.first} || p{axis} >= {its.last}) continue;"]
        lines += self.length(image)
        lines.append(f"const i64 at = to + {self.total([p.step(TARGET) for p in rows], 'r', True)};")
        spot = self.total([image.step(part) for part in rows], "r")
        return [*lines, f"const u8 *{name} = room + {self.room(TARGET)} + {spot};"]

    def store_vectors(self, image: Image) -> list[str]:
        """The whole vectors of all realigned runs."""
        each = image.length // VECTOR
        if not each:
            return []
        lines = self.run_of_target(image, each, "run")
        lines.append("const int first = int(v) * 16 + int(-(reinterpret_cast<u64>(target) + u64(at)) & 15);")
        lines.append("if (first + 16 > length) continue;")
        lines.append(f"const uint4 x = take_shifted16(run, first, {image.vectors * VECTOR});")
        lines.append("write16(target + at + first, x.x, x.y, x.z, x.w);")
        return self.loop(each * self.runs(image), lines)

    def store_ends(self, image: Image) -> list[str]:
        """What is before and behind them, a word a thread, so that stores of neighbours are one of memory."""
        unit, words = self.bytes[TARGET], VECTOR // WORD
        lines = self.run_of_target(image, 2 * words, "run")
        lines.append("const int past = int((reinterpret_cast<u64>(target) + u64(at)) & 15), head = -past & 15;")
        lines.append(f"const bool tail = v >= {words}u;")
        lines.append("if (tail ? length < head : past == 0) continue;")
        start = "(tail ? head + (length - head) / 16 * 16 : -past)"
        lines.append(f"const int e = {start} + int(v % {words}u) * {WORD};")
        lines.append("if (e >= 0 && e + 4 <= length) write4(target + at + e, take_shifted4(run + e));")
        element = _store_element("target + at + e + k", "run + e + k", unit)
        lines.append(f"else for (int k = 0; k < 4; k += {unit}) if (e + k >= 0 && e + k < length) {element}")
        return self.loop(2 * words * self.runs(image), lines)

    def length(self, image: Image) -> list[str]:
        """How much of a run is written: all of it, or up to the end of its outermost axis."""
        if not image.run:
            return [f"const int length = {image.unit};"]
        outer = image.run[-1]
        its = self.axes[outer.axis]
        whole = outer.behind(TARGET, its)
        if outer.axis not in self.masked or self.tile.direct_edges:
            return [f"const int length = {whole};"]
        return [
            f"const i64 left = i64({its.last} - p{outer.axis}) * {outer.target // outer.place};",
            f"const int length = left < {whole} ? int(left) : {whole};",
        ]


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
