"""The digits of a kernel's work, and the vectors that a thread can move along them."""

from __future__ import annotations

from math import gcd, prod

from ...immutable import NamedTuple
from .shared_memory import VECTOR
from .work import Work, moved_from

SOURCE, TARGET = 0, 1


class DigitKey(NamedTuple):
    """A digit of the work, by its axis and its place among the axis's digits."""

    axis: int
    digit: int


class WorkGeometry:
    """What is known of the digits of both sides, whose memories have addresses of known alignment."""

    def __init__(self, work: Work, aligned: tuple[int, int], converts: bool) -> None:
        self.work, self.aligned, self.converts = work, aligned, converts
        self.bytes = work.source_bytes, work.target_bytes
        self.starts = work.source, work.target
        self.swizzles = work.source_swizzle, work.target_swizzle
        self.digits = {DigitKey(i, k): d for i, axis in enumerate(work.axes) for k, d in enumerate(axis.digits)}
        steps = [[abs(d[1 + side]) for d in self.digits.values() if d.steps > 1 and d[1 + side]] for side in (0, 1)]
        self.units = [min(s, default=1) for s in steps]

    def is_top(self, key: DigitKey) -> bool:
        return key.digit == len(self.work.axes[key.axis].digits) - 1

    def stride(self, key: DigitKey, side: int) -> int:
        return self.digits[key][1 + side]

    def next_in_run(self, side: int, run: int, seen: set[DigitKey]) -> DigitKey | None:
        """The digit that continues a run of so many elements."""
        for key, digit in self.digits.items():
            if key not in seen and digit.steps > 1 and abs(self.stride(key, side)) == run:
                return key
        return None

    def granularity(self, side: int, vector: dict[DigitKey, int]) -> int:
        """The bytes that all starts of vectors are aligned to."""
        steps = [self.starts[side]]
        for key, digit in self.digits.items():
            taken = vector.get(key, 1)
            if digit.steps > taken:
                steps.append(self.stride(key, side) * taken)
        swizzle = self.swizzles[side]
        whole = [] if swizzle is None else [moved_from(swizzle)]
        return gcd(VECTOR, self.aligned[side], *whole, *[step * self.bytes[side] for step in steps])

    def vector(self, side: int) -> dict[DigitKey, int]:
        """The digits of a vector of one side, and how many steps it has of each."""
        most, found, run = VECTOR // self.bytes[side], dict[DigitKey, int](), 1
        while run < most:
            key = self.next_in_run(side, run, set(found))
            if key is None or self.stride(key, side) < 0:
                break
            size = self.digits[key].steps
            rest = self.is_top(key) and size >= most // run
            taken = most // run if rest else gcd(size, most // run)
            if taken == 1:
                break
            found[key] = taken
            run *= taken
            if taken < size:
                break
        while found and prod(found.values()) * self.bytes[side] > self.granularity(side, found):
            last = list(found)[-1]
            found[last] //= 2
            if found[last] == 1:
                del found[last]
        return found

    def steps_to_whole_words(
        self, side: int, vector: dict[DigitKey, int], realigned: bool = False
    ) -> dict[DigitKey, int]:
        """What a micro tile needs beside its vectors, for whole words of the other side, or of its realigned image."""
        size = self.bytes[side]
        key = self.next_in_run(side, 1, set())
        if size >= 4 or key is None:
            return {}
        have = vector.get(key, 1)
        more = 4 // size // have
        left = self.digits[key].steps // have
        if more <= 1 or self.digits[key].steps % have:
            return {}
        if left % more == 0 or (self.is_top(key) and left > 8 * more):
            return {key: more} if realigned or self.granularity(side, {key: have * more}) >= 4 else {}
        return {key: left} if left <= 8 else {}

    def reads_vectors(self) -> bool:
        """Whether a swizzle of the source, if there is one, leaves vectors whole."""
        swizzle = self.swizzles[SOURCE]
        if swizzle is None:
            return True
        inner = {key: d.steps for key, d in self.digits.items() if abs(d.source) * self.bytes[SOURCE] < VECTOR}
        return self.granularity(SOURCE, inner) == VECTOR and moved_from(swizzle) >= VECTOR

    def common_run(self) -> int:
        """The bytes that stay together."""
        return max([d.steps for d in self.digits.values() if d[1:] == (1, 1)], default=1) * self.bytes[SOURCE]
