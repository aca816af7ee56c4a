"""Byte networks: words made of the bytes of other words, by as few permutations as are easily found.

``__byte_perm(a, b, selector)`` takes any four of the eight bytes of two words.
"""

from __future__ import annotations

from ...immutable import NamedTuple


class Byte(NamedTuple):
    """A byte of a word that the text names."""

    word: str
    at: int


class Network:
    """The lines that make words, each permutation once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._made: dict[str, str] = {}
        self._halves: dict[tuple[str, str], list[tuple[Byte, Byte]]] = {}

    def words(self, wanted: list[list[Byte | None]]) -> list[str]:
        """The names of words of these bytes each, the lowest first; None is any byte."""
        plans = [self._plan(word) for word in wanted]
        for halves in plans:
            for half in halves if len(halves) == 2 else ():
                used = sorted({byte.word for byte in half})
                if len(used) == 2:
                    key = (used[0], used[1])
                    if half not in self._halves.setdefault(key, []):
                        self._halves[key].append(half)
        return [self._word(word, halves) for word, halves in zip(wanted, plans)]

    def _plan(self, word: list[Byte | None]) -> list[tuple[Byte, Byte]]:
        """Two halves, for a word of four words; none for a simpler one."""
        known = [byte for byte in word if byte is not None]
        if len(known) < 4 or len({byte.word for byte in known}) < 4:
            return []
        return [(known[0], known[1]), (known[2], known[3])]

    def _word(self, word: list[Byte | None], halves: list[tuple[Byte, Byte]]) -> str:
        if halves:
            (a, low), (b, high) = [self._half(half) for half in halves]
            return self._byte_permute(a, b, [low, low + 1, high + 4, high + 5])
        order = list(dict.fromkeys([byte.word for byte in word if byte is not None]))
        if not order:
            return "0u"
        if len(order) == 1 and all(byte is None or byte.at == k for k, byte in enumerate(word)):
            return order[0]
        second = order[1] if len(order) > 1 else order[0]
        picks = [0] * 4
        for k, byte in enumerate(word):
            if byte is not None and byte.word in (order[0], second):
                picks[k] = byte.at + (4 if byte.word == second and second != order[0] else 0)
        made = self._byte_permute(order[0], second, picks)
        for name in order[2:]:
            picks = [byte.at + 4 if byte is not None and byte.word == name else k for k, byte in enumerate(word)]
            made = self._byte_permute(made, name, picks)
        return made

    def _half(self, half: tuple[Byte, Byte]) -> tuple[str, int]:
        """A word with two bytes beside each other, shared with another such pair of the same words, and where."""
        used = sorted({byte.word for byte in half})
        first, second = used[0], used[-1]
        pairs = self._halves.get((first, second), [half])
        at = pairs.index(half) if half in pairs else 0
        both = pairs[at - at % 2 : at - at % 2 + 2]
        both = both * 2 if len(both) == 1 else both
        picks = [byte.at + (4 if byte.word == second and second != first else 0) for pair in both for byte in pair]
        return self._byte_permute(first, second, picks), 2 * (at % 2)

    def _byte_permute(self, a: str, b: str, picks: list[int]) -> str:
        selector = sum([pick << 4 * k for k, pick in enumerate(picks)])
        text = f"__byte_perm({a}, {b}, 0x{selector:04x})"
        if text not in self._made:
            self._made[text] = f"w{len(self._made)}"
            self.lines.append(f"const u32 {self._made[text]} = {text};")
        return self._made[text]
