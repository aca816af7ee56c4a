"""Kernels for elements of 1, 2 and 4 bits: tiles of whole runs of both sides, put in order in registers word by word.

A tile is a choice of factors 2 of the loops, so that every address inside it is a number whose bits are their values.
It is read in the order of the source to shared memory. A thread takes words of it, as many as hold whole words of the
target, brings each element to its place by rounds, and writes vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...layout.layout import Layout
from ..nest import Loop, Piece
from .element import EACH, THREADS, layout_offset
from .kernel import Kernel
from .kernel_text import indent_lines
from .rounds import Held, Rounds
from .tiles import PORTABLE_SHARED_BYTES

RUN_BYTES = 128
"""The bytes of a tile that lie together on each side, if they can: a line."""

TILE_BYTES = 16 << 10
"""About so many bytes are in a tile, and at most twice as many."""

MAX_WORDS = 64
"""The words of a thread: they are in its registers."""

BANKS = 128
"""The bytes of shared memory that are read at once, from different banks."""

HEAD = "const u8 *__restrict__ source, u8 *__restrict__ target, u8 *room, u32 block, int thread"


class _Factors:
    """The factors 2 of loops that a tile has, the low ones of each: how far each moves the source and the target."""

    def __init__(self, loops: Sequence[Loop]) -> None:
        self.loops = loops
        self.taken: list[list[int]] = [[] for _ in loops]
        self.steps: list[tuple[int, int]] = []

    def at(self, side: int, place: int) -> int | None:
        """The factor that moves a side by 2^place, which is taken if it is not yet; None where there is none."""
        for k, loop in enumerate(self.loops):
            own = abs(loop[1 + side])
            level = (1 << place) // own if own and (1 << place) % own == 0 else 0
            if level and not level & (level - 1) and level.bit_length() - 1 <= len(self.taken[k]):
                found = self.taken[k][level.bit_length() - 1 :]
                if found or self.left(k) % 2 == 0:
                    return found[0] if found else self.take(k)
        return None

    def left(self, k: int) -> int:
        return self.loops[k].steps >> len(self.taken[k])

    def take(self, k: int) -> int:
        scale = 1 << len(self.taken[k])
        self.steps.append((self.loops[k].source * scale, self.loops[k].target * scale))
        self.taken[k].append(len(self.steps) - 1)
        return self.taken[k][-1]

    def run(self, side: int, first: int, last: int) -> list[int]:
        """The factors of these places, as far as there are some."""
        found = []
        for place in range(first, last):
            factor = self.at(side, place)
            if factor is None:
                break
            found.append(factor)
        return found


def packed_kernel(piece: Piece, bits: int, aligned: tuple[int, int], least_run: int = 1) -> Kernel | None:
    """The kernel for one piece of a plan; None where words of both sides are not made of each other's elements.

    Nor is there one where fewer bytes than ``least_run`` of a tile lie together on a side.
    """
    if piece.tables:
        return None
    made = _PackedKernel(piece, bits, aligned)
    return made.kernel() if made.fits and min(made.run(0), made.run(1)) * bits >= least_run * 8 else None


class _PackedKernel:
    """The tile of one piece, and its text; it ``fits`` where there is one.

    ``word`` holds the factors of a word on each side, ``axes`` those that number the words of a thread, and ``lanes``
    those that number the threads.
    """

    def __init__(self, piece: Piece, bits: int, aligned: tuple[int, int]) -> None:
        starts, loops = [piece.source, piece.target], []
        for n, s, t in piece.loops:
            if t < 0:
                starts = [starts[0] + (n - 1) * s, starts[1] + (n - 1) * t]
            loops.append(Loop(n, s, t) if t > 0 else Loop(n, -s, -t))
        self.bits, self.factors = bits, _Factors(loops)
        self.places = (32 // bits).bit_length() - 1
        self.fits = self.choose_tile()
        if not self.fits:
            return
        self.outer = [
            (n >> len(taken), s << len(taken), t << len(taken))
            for (n, s, t), taken in zip(loops, self.factors.taken)
            if n >> len(taken) > 1
        ]
        starts[0] += sum([min(s, 0) for s, _ in self.factors.steps])
        self.starts = [start * bits for start in starts]
        self.widths = [self.width(side, aligned[side]) for side in (0, 1)]
        self.fits = min(self.widths) >= 4
        self.plan_threads()

    # ---- the tile ------------------------------------------------------------------------------------------

    def choose_tile(self) -> bool:
        """Take the factors of a tile, if words have some."""
        factors, words = self.factors, self.places
        self.word = [factors.run(side, 0, words) for side in (0, 1)]
        if min(map(len, self.word)) < words:
            return False
        longest = (RUN_BYTES * 8 // self.bits).bit_length() - 1
        for last in range(words, longest + 1):  # both sides in turn, as far as there is room
            for side in (0, 1):
                if self.tile_bytes < 2 * TILE_BYTES:
                    factors.run(side, last - 1, last)
        place = longest
        while self.tile_bytes < TILE_BYTES:
            if factors.at(1, place) is None:
                even = [k for k in range(len(factors.loops)) if factors.left(k) % 2 == 0]
                if not even:
                    break
                factors.take(min(even, key=lambda k: factors.loops[k].target << len(factors.taken[k])))
            place += 1
        # The tile in the order of the source: a factor is a bit of the address in shared memory.
        numbers = range(len(factors.steps))
        self.orders = [sorted(numbers, key=lambda f: abs(factors.steps[f][side])) for side in (0, 1)]
        steps = [abs(factors.steps[f][0]) for f in self.orders[0]]
        return steps[0] > 0 and len(set(steps)) == len(steps)  # elements that are read twice have no order

    @property
    def tile_bytes(self) -> int:
        return (self.bits << len(self.factors.steps)) // 8

    def run(self, side: int) -> int:
        """The elements of a tile that lie together on a side."""
        steps, run = {abs(step[side]) for step in self.factors.steps}, 1
        while run in steps:
            run *= 2
        return run

    def width(self, side: int, aligned: int) -> int:
        """The bytes of vectors of a side: as its runs and all steps between them allow."""
        steps, run = sorted([abs(step[side]) for step in self.factors.steps]), self.run(side)
        bits = [step * self.bits for step in (*steps, *[abs(loop[1 + side]) for loop in self.outer]) if step >= run]
        width = min(16, aligned, run * self.bits // 8)
        while width > 1 and any(x % (8 * width) for x in (*bits, self.starts[side])):
            width //= 2
        return width

    def plan_threads(self) -> None:
        """Which factors are in a thread's words, and which number the threads, in the order of the target."""
        steps, (source, target) = self.factors.steps, self.word
        self.axes = [f for f in target if f not in source]
        self.active = len(self.axes)
        near = [f for f in range(len(steps)) if f not in source and f not in self.axes]
        near.sort(key=lambda f: steps[f][1])
        vector = [f for f in near if steps[f][1] * self.bits < self.widths[1] * 8]
        while vector and 1 << self.active + len(vector) > MAX_WORDS:
            vector.pop()
        if not self.axes and not vector and near:
            vector = near[:1]  # elements change places between two words
        self.axes += vector
        self.lanes = [f for f in near if f not in vector]
        held = [*[Held(f, steps[f][0] < 0) for f in source], *[Held(f) for f in self.axes]]
        moves = source != target or any(h.flipped for h in held)
        if moves and not self.axes:
            self.fits = False
            return
        self.rounds = Rounds(held, target, self.bits, max(self.active, min(1, len(self.axes))))

    def image(self, factor: int, side: int = 0) -> int:
        """What the bit of a factor adds, by XOR, to an address in the image of a side.

        Bits past the banks change the vector too, so that threads which differ in them find other banks.
        """
        address = (self.bits << self.orders[side].index(factor)) // 8
        return address if address < BANKS else address ^ (16 << ((address // BANKS).bit_length() - 1) % 3)

    @property
    def staged(self) -> bool:
        """Whether vectors go to memory by an image too: neighbouring threads have none that lie together."""
        steps = [self.factors.steps[f][1] * self.bits // 8 for f in self.lanes[:1]]
        return self.widths[1] == 16 and steps != [16] and 2 * self.tile_bytes <= PORTABLE_SHARED_BYTES

    # ---- the text ------------------------------------------------------------------------------------------

    def kernel(self) -> Kernel:
        count = 1 << len(self.lanes)
        threads = min(256, count)
        head = f"DEVICE void {{}}({HEAD}) {{{{\n{{}}\n}}}}\n"
        texts = {"load_image": self.load(threads), "move": self.move(threads, count)}
        texts |= {"store_image": self.store(threads)} if self.staged else {}
        text = "\n".join([head.format(name, indent_lines(lines)) for name, lines in texts.items()])
        blocks = prod([n for n, _, _ in self.outer])
        return Kernel(text, tuple(texts), blocks, threads, self.tile_bytes * (1 + self.staged))

    def block(self) -> list[str]:
        """Where the tile begins, in bytes."""
        lines, loops = ["u32 b = block;"], sorted(self.outer, key=lambda loop: loop[2])
        for k, (n, _, _) in enumerate(loops):
            lines.append(f"const i64 b{k} = b % {n}u;")
            lines.append(f"b /= {n}u;")
        for side, name in ((0, "from"), (1, "to")):
            words = [f"b{k} * {loop[1 + side] * self.bits // 8}ll" for k, loop in enumerate(loops)]
            lines.append(f"const i64 {name} = {' + '.join([f'{self.starts[side] // 8}ll', *words])};")
        return [*lines, "(void)b; (void)from; (void)to;"]

    def load(self, threads: int) -> list[str]:
        """The tile to shared memory, in vectors of the source."""
        width = self.widths[0]
        inside = (width * 8 // self.bits).bit_length() - 1
        numbered = self.orders[0][inside:]
        steps = [abs(self.factors.steps[f][0]) * self.bits // 8 for f in numbered]
        spots = [self.image(f) for f in numbered]
        moved = {16: "fetch16(room + s, p);", 8: "const uint2 x = read8(p);\nput8(room + s, x.x, x.y);"}.get(
            width, "put4(room + s, read4(p));"
        )
        lines = [
            f"const u32 s = {linear('u', spots, '^')};",
            f"const u8 *const p = source + from + {linear('u', steps, '+')};",
            *moved.split("\n"),
        ]
        return [*self.block(), *loop(threads, 1 << len(numbered), lines), "fetched();"]

    def move(self, threads: int, count: int) -> list[str]:
        """The words of each thread: taken, put in order, written."""
        steps = self.factors.steps
        first = 0
        for factor in (*self.axes, *self.lanes):
            first ^= self.image(factor) if steps[factor][0] < 0 else 0
        lines = [f"const u32 s = {linear('u', [self.image(f) for f in self.lanes], '^')};"]
        if self.staged:
            lines.append(f"const u32 t = {linear('u', [self.image(f, 1) for f in self.lanes], '^')};")
        else:
            each = [steps[f][1] * self.bits // 8 for f in self.lanes]
            lines.append(f"u8 *const p = target + to + {linear('u', each, '+')};")
        words = 1 << len(self.axes)
        for w in range(words):
            spot = first
            for axis, factor in enumerate(self.axes):
                spot ^= self.image(factor) * (w >> axis & 1)
            lines.append(f"u32 w{w} = take4(room + (s ^ {spot}u));")
        for axis, shift, selectors in self.rounds.found:
            for a in range(words):
                if not a >> axis & 1:
                    lines += _swap(f"w{a}", f"w{a | 1 << axis}", shift, selectors)
        places: dict[int, int] = {}
        for w in range(words):
            at = 0
            for axis in range(len(self.axes)):
                factor, flipped = self.rounds.on_axis(axis)
                bit = (w >> axis & 1) ^ flipped
                at = at ^ self.image(factor, 1) * bit if self.staged else at + steps[factor][1] * self.bits // 8 * bit
            places[at] = w
        lines += self.writes(places)
        return [*self.block(), *loop(threads, count, lines)]

    def store(self, threads: int) -> list[str]:
        """The image of the target to memory, in vectors that follow each other."""
        numbered = self.orders[1][(128 // self.bits).bit_length() - 1 :]
        steps = [self.factors.steps[f][1] * self.bits // 8 for f in numbered]
        lines = [
            f"const u32 s = {linear('u', [self.image(f, 1) for f in numbered], '^')};",
            f"const uint4 x = take16(room + {self.tile_bytes} + s);",
            f"write16(target + to + {linear('u', steps, '+')}, x.x, x.y, x.z, x.w);",
        ]
        return [*self.block(), *loop(threads, 1 << len(numbered), lines)]

    def writes(self, places: dict[int, int]) -> list[str]:
        """Vectors of words that lie together, as long as all of them are there."""
        verb, spot = ("put", f"room + {self.tile_bytes} + (t ^ {{}}u)") if self.staged else ("write", "p + {}")
        lines, written = [], set[int]()
        for at in sorted(places):
            if at in written:
                continue
            size = self.widths[1]
            while size > 4 and (at % size or any(at + k not in places for k in range(0, size, 4))):
                size //= 2
            vector = range(at, at + size, 4)
            written |= {*vector}
            lines.append(f"{verb}{size}({spot.format(at)}, {', '.join([f'w{places[k]}' for k in vector])});")
        return lines


def _swap(a: str, b: str, shift: int, selectors: tuple[int, int]) -> list[str]:
    """One round on two words."""
    if not shift:
        first, second = [f"__byte_perm({a}, {b}, 0x{selector:04x})" for selector in selectors]
        return ["{", f"const u32 x = {first};", f"{b} = {second};", f"{a} = x;", "}"]
    low = sum([((1 << shift) - 1) << k for k in range(0, 32, 2 * shift)])
    return ["{", f"const u32 x = (({a} >> {shift}) ^ {b}) & 0x{low:08x}u;", f"{b} ^= x;", f"{a} ^= x << {shift};", "}"]


def linear(name: str, steps: Sequence[int], joined: str) -> str:
    """The sum, or the XOR, of one step for each bit of a number; bits whose steps double are taken as one."""
    words, k = [], 0
    while k < len(steps):
        n = 1
        while k + n < len(steps) and steps[k + n] == steps[k] << n and (joined == "+" or not steps[k] & (steps[k] - 1)):
            n += 1
        kind = "i64" if joined == "+" else "u32"
        words.append(f"{kind}({name} >> {k} & {(1 << n) - 1}u) * {steps[k]}")
        k += n
    return f" {joined} ".join([f"({word})" for word in words]) or "0"


def loop(threads: int, count: int, lines: list[str]) -> list[str]:
    """The lines for every ``u`` below the count that is this thread's."""
    rounds = -(-count // threads)
    guard = [f"if (u >= {count}u) continue;"] if count % threads else []
    return [
        *["UNROLL"] * (rounds <= 16),
        f"for (int i = 0; i < {rounds}; ++i) {{",
        f"const u32 u = u32(thread) + u32(i) * {threads}u;",
        *guard,
        *lines,
        "}",
    ]


def packed_element_kernel(source: Layout, target: Layout, bits: int) -> Kernel:
    """A copy of elements of 1 to 7 bits by the layouts themselves, one by one: others share their bytes."""
    size = prod(target.extents)
    lines = [f"    u64 u = (u64(block) * {EACH}u + k) * {THREADS}u + u32(thread);", f"    if (u >= {size}ull) return;"]
    for d in range(target.rank)[::-1]:
        lines += [f"    const u64 c{d} = u % {target.extents[d]}ull;", f"    u /= {target.extents[d]}ull;"]
    for name, layout in (("at", source), ("to", target)):
        lines.append(f"    i64 {name} = {layout_offset(layout)};")
        swizzle = layout.swizzle
        if swizzle is not None:
            shift = swizzle.shift
            moved = f"({name} & {swizzle.source_mask}ll) {'>>' if shift >= 0 else '<<'} {abs(shift)}"
            lines.append(f"    {name} ^= {moved};")
        lines.append(f"    {name} *= {bits};")
    lines += [
        "    const u8 *const p = source + at / 8;",
        "    u8 *const q = target + to / 8;",
        "    const u32 a = u32(at & 7), b = u32(to & 7);",
        "    u32 x = read1(p) >> a;",
        f"    if (a + {bits}u > 8) x |= read1(p + 1) << (8 - a);",
        f"    x = (x & {(1 << bits) - 1}u) << b;",
        f"    merge_bits(q, {(1 << bits) - 1}u << b & 255u, x & 255u);",
        f"    if (b + {bits}u > 8) merge_bits(q + 1, {(1 << bits) - 1}u << b >> 8, x >> 8);",
    ]
    body = "\n".join([f"  for (u32 k = 0; k < {EACH}u; ++k) {{", *lines, "  }"])
    text = f"DEVICE void move({HEAD}) {{\n{body}\n}}\n"
    return Kernel(text, ("move",), -(-size // (THREADS * EACH)), THREADS, 0)
