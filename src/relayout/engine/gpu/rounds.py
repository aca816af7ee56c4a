"""Rounds that bring digits of an address to their places in 32-bit words, in registers.

The bits of an element's address are places: those below the byte, then two of bytes in a word, then axes, which number
the words. Each place holds a factor 2 of some loop. A round works on all pairs of words that differ in one axis.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...immutable import NamedTuple


class Held(NamedTuple):
    """What a place holds: the value of a factor, or the opposite where it is ``flipped``."""

    factor: int
    flipped: bool = False


class Round(NamedTuple):
    """An exchange of fields of ``shift`` bits between two words, or the selectors by which their bytes are permuted."""

    axis: int
    shift: int
    selectors: tuple[int, int] = (0, 0)


class Rounds:
    """The rounds from what places hold to the ``goal``, the factors of a word; ``bits`` are those of an element.

    The first ``active`` axes hold the factors of the goal that no word does, those of places below the byte first.
    """

    def __init__(self, held: Sequence[Held], goal: Sequence[int], bits: int, active: int) -> None:
        self.held, self.goal, self.bits = list(held), list(goal), bits
        self.below = len(goal) - 2
        self.found: list[Round] = []
        self._before = self.held
        for place in range(self.below):
            self._bring_below(place)
        for axis in range(active):
            if self.on_axis(axis).factor in self.goal[self.below :]:
                after = list(self.held)
                leaving = next(
                    k for k in range(self.below, len(goal)) if after[k].factor not in self.goal[self.below :]
                )
                on = len(goal) + axis
                after[leaving], after[on] = after[on], after[leaving]
                self._permute(axis, after)
        after = [*self.held[: self.below], *[Held(f) for f in self.goal[self.below :]], *self.held[len(goal) :]]
        if after != self.held:
            axis = active - 1
            if self.found and not self.found[-1].shift:
                axis = self.found.pop().axis
                self.held = self._before
            self._permute(axis, after)

    def on_axis(self, axis: int) -> Held:
        return self.held[len(self.goal) + axis]

    def _bring_below(self, place: int) -> None:
        """The factor of a place below the byte comes there by way of an axis."""
        at = self._place_of(self.goal[place])
        if at == place and not self.held[at].flipped:
            return
        if at < self.below:
            self._exchange(at, 0)
            at = len(self.goal)
        on = max(at, len(self.goal))
        axis = on - len(self.goal)
        if at != on or self.held[at].flipped:
            after = list(self.held)
            after[at], after[on] = after[on], after[at]
            after[on] = Held(after[on].factor)
            self._permute(axis, after)
        self._exchange(place, axis)

    def _exchange(self, place: int, axis: int) -> None:
        on = len(self.goal) + axis
        held = list(self.held)
        held[place], held[on] = held[on], held[place]
        self.held = held
        self.found.append(Round(axis, self.bits << place))

    def _permute(self, axis: int, after: list[Held]) -> None:
        """A round after which the bytes and the axis hold these."""
        on = len(self.goal) + axis
        bits = [self.below, self.below + 1, on]
        selectors = [0, 0]
        for index in range(8):
            byte = 0
            for k, place in enumerate(bits):
                was = self._place_of(after[place].factor)
                value = index >> k & 1 ^ (after[place].flipped != self.held[was].flipped)
                byte |= value << bits.index(was)
            selectors[index // 4] |= byte << 4 * (index % 4)
        self.found.append(Round(axis, 0, (selectors[0], selectors[1])))
        self._before, self.held = self.held, after

    def _place_of(self, factor: int) -> int:
        return next(k for k, held in enumerate(self.held) if held.factor == factor)
