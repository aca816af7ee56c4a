"""einops patterns with sizes as a description of a destination: ``n (h p) (w q) c -> n h w c p q, p=8, q=8``.

On the left every dimension of the data, split in parentheses, the slowest first; on the right the stored order, where
parentheses join axes of the stored array. Names with a size are blocks; the one name of a group without a size is the
rest of its dimension, which is padded to whole blocks where it comes first. ``...`` is any number of dimensions, ``1``
and ``()`` are axes of one element. It has no shape: parsing gives a ``Format``, or a ``Pattern`` where a format cannot
say it.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

from ..errors import ParseError, ShapeError
from ..format.factors import MAX_FACTORS
from ..format.format import Format, format_of
from ..immutable import NamedTuple
from ..layout.layout import Layout
from .refusal import cannot
from .scan import Scanner

_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*|\.\.\.|1)(?!\w)|([()]))", re.ASCII)
_SIZE = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([1-9]\d{0,18})\s*", re.ASCII)
_REST = "..."
_UNIT = "1"

EXAMPLES = (
    "h (w q) -> w h q, q=2",
    "a (b p q) -> b a q p, p=2, q=3",
    "b c (h p) (w q) -> b p q c h w, p=2, q=2",
    "a ... b -> (b a) ...",
    "a () 1 -> a 1",
)
"""Texts that it reads, one for each way to write."""

Groups = tuple[tuple[str, ...], ...]


class Pattern(NamedTuple):
    """A pattern that is no format: its axes are joined, come in any order, or match any number of dimensions."""

    left: Groups
    right: Groups
    sizes: tuple[tuple[str, int], ...]

    def layout(self, shape: Any) -> Layout:
        """The layout of a tensor of that shape, row-major in the stored order."""
        extents = tuple(shape)
        left, right = self._expand(len(extents))
        sizes = self._axis_sizes(left, extents)
        strides: dict[str, int] = {}
        step = 1
        for name in reversed([name for group in right for name in group]):
            strides[name] = step
            step *= sizes[name]
        modes = [tuple(reversed(group)) for group in left]
        return Layout(
            tuple([_one_or_several([sizes[name] for name in mode]) for mode in modes]),
            tuple([_one_or_several([strides[name] for name in mode]) for mode in modes]),
            extents=extents,
        )

    def stored_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of the stored array: one axis for each group on the right."""
        extents = tuple(shape)
        left, right = self._expand(len(extents))
        sizes = self._axis_sizes(left, extents)
        return tuple([prod([sizes[name] for name in group]) for group in right])

    def _expand(self, rank: int) -> tuple[Groups, Groups]:
        """Both sides for a tensor of that rank: the dimensions of ``...`` get names, and units are no names."""
        spread = any(_REST in group for group in self.left)
        more = rank - len(self.left) + spread
        if more < 0 or (more and not spread):
            raise ShapeError(
                f"{self} has {len(self.left) - spread} dimensions{' or more' * spread}, and the shape {rank}.",
                hint="name every dimension on the left, or write ... for some of them",
                pattern=self,
            )
        names = tuple([f"...{k}" for k in range(more)])
        return _spread(self.left, names), _spread(self.right, names)

    def _axis_sizes(self, left: Groups, extents: tuple[int, ...]) -> dict[str, int]:
        sizes = dict(self.sizes)
        for group, n in zip(left, extents):
            known = prod([sizes[name] for name in group if name in sizes])
            rest = next((name for name in group if name not in sizes), None)
            if rest is not None and (rest == group[0] or n % known == 0):
                sizes[rest] = -(-n // known)
            elif rest is not None or known != n:
                raise ShapeError(
                    f"a dimension of {n} is not made up of ({' '.join(group)}) with {known} elements.",
                    hint="only a first name without a size is padded to whole blocks",
                    pattern=self,
                )
        return sizes

    def __str__(self) -> str:
        sizes = "".join([f", {name}={n}" for name, n in self.sizes])
        return f"{_side_text(self.left)} -> {_side_text(self.right)}{sizes}"


def _spread(groups: Groups, names: tuple[str, ...]) -> Groups:
    found: list[tuple[str, ...]] = []
    for group in groups:
        if group == (_REST,):
            found += [(name,) for name in names]
        else:
            found.append(tuple([n for name in group for n in (names if name == _REST else (name,)) if n != _UNIT]))
    return tuple(found)


def _one_or_several(sizes: list[int]) -> Any:
    return sizes[0] if len(sizes) == 1 else tuple(sizes) if sizes else 1


def _side_text(groups: Groups) -> str:
    return " ".join([group[0] if len(group) == 1 else f"({' '.join(group)})" for group in groups])


def parse(text: str) -> Format | Pattern:
    """The format that a pattern describes, or the pattern itself."""
    text = Scanner(text, "einops", "h (w q) -> w h q, q=8").text
    if "->" not in text or "<" in text or "=" in text.partition("->")[0]:
        raise _wrong("expected dimensions, an arrow and the stored order.", text, len(text) - len(text.lstrip()))
    before, _, after = text.partition("->")
    stored, *words = after.split(",")
    left = _groups(before, text, 0)
    right = _groups(stored, text, len(before) + 2)
    sizes = _sizes(words, text)
    _check_names(left, right, sizes, text, len(before) + 2)
    for group in left:
        if sum(name not in sizes and name not in (_REST, _UNIT) for name in group) > 1:
            raise _wrong("expected a size for every name of a group but one.", text, len(text))
    plain = all(len(group) == 1 for group in right) and not {_REST, _UNIT} & {n for g in (*left, *right) for n in g}
    if plain and all(group and group[0] not in sizes for group in left):
        try:
            return Format(len(left), _factors(left, [group[0] for group in right], sizes))
        except ShapeError:
            pass  # A block comes before the rest of some dimension.
    return Pattern(left, right, tuple(sizes.items()))


def _factors(left: Groups, order: list[str], sizes: dict[str, int]) -> list[tuple[int, ...]]:
    """The factors of a format whose dimensions each begin with their rest."""
    places: dict[str, tuple[int, ...]] = {}
    for d, group in enumerate(left):
        place = 1
        for name in reversed(group[1:]):
            places[name] = (d, sizes[name], place)
            place *= sizes[name]
        places[group[0]] = (d, 0)
    return [places[name] for name in order]


def _groups(side: str, text: str, start: int) -> Groups:
    """The names of one side, those in parentheses together."""
    groups: list[tuple[str, ...]] = []
    inside: list[str] | None = None
    at = 0
    while side[at:].strip():
        match = _TOKEN.match(side, at)
        bracket = None if match is None else match[2]
        if match is None or (bracket == "(" and inside is not None) or (bracket == ")" and inside is None):
            where = len(side) - len(side[at:].lstrip())
            raise _wrong("expected names, ..., 1 and parentheses.", text, start + where)
        if bracket == "(":
            inside = []
        elif bracket == ")":
            # A unit beside it keeps (...), one joined axis, apart from ... alone.
            groups.append((_REST, _UNIT) if inside == [_REST] else tuple(inside or ()))
            inside = None
        elif inside is not None:
            inside.append(match[1])
        else:
            groups.append((match[1],))
        at = match.end()
    if inside is not None or len(groups) > MAX_FACTORS:
        raise _wrong("expected a closing parenthesis.", text, start + len(side))
    return tuple(groups)


def _sizes(words: list[str], text: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for word in words:
        match = _SIZE.fullmatch(word)
        if not match or match[1] in sizes:
            raise _wrong("expected sizes such as p=8, each once.", text, text.rindex(word))
        sizes[match[1]] = int(match[2])
    return sizes


def _check_names(left: Groups, right: Groups, sizes: dict[str, int], text: str, at: int) -> None:
    """Refuse names that are not on both sides, each once, and sizes of others."""
    ours, theirs = [[name for group in side for name in group if name != _UNIT] for side in (left, right)]
    if any(_REST in group and len(group) > 1 for group in left):
        raise _wrong("expected ... alone: it is whole dimensions.", text, 0)
    if len(set(ours)) < len(ours) or len(set(theirs)) < len(theirs):
        raise _wrong("expected every name once: an element has one place.", text, at)
    if set(theirs) - set(ours):
        raise _wrong("expected no new names on the right: an element would be stored several times.", text, at)
    if set(ours) - set(theirs) or not set(sizes) <= set(ours):
        raise _wrong("expected the same names on both sides, and sizes of those names.", text, at)


def render(x: Layout | Format, dtype: Any = None) -> str:
    """A pattern whose blocks are called by their dimension and size: ``n (c c16) -> n c c16, c16=16``."""
    if isinstance(x, Layout) and any(x.origin):
        raise cannot(x, "einops", f"it has no padding in front, and this starts at {x.origin}", "pass left_pad")
    fmt = format_of(x) if isinstance(x, Layout) else x
    if not fmt._unaligned:
        raise cannot(x, "einops", "it has no alignments", "keep the Format's own text")
    if any(f.backwards for f in fmt.factors):
        raise cannot(x, "einops", "no axis of it counts backwards", "keep the Format's own text")
    above = {f.dim for f in fmt.factors if f.rests}
    if above and (isinstance(x, Format) or any(x.extents[d] < x.padded_shape[d] for d in above)):
        why = "it pads a dimension only where its first name is the rest"
        raise cannot(x, "einops", why, "render the layout of a shape that divides")
    if not 1 <= fmt.rank <= len(_LETTERS):
        raise cannot(x, "einops", f"it has 1 to {len(_LETTERS)} dimensions", "merge dimensions")
    rests = fmt.axes or _LETTERS[: fmt.rank]
    names: list[str] = []
    for f in fmt.factors:
        name = f"{rests[f.dim]}{f.size or ''}"
        while name in names:
            name += "_"
        names.append(name)
    digits = sorted(zip(fmt.factors, names), key=lambda digit: (-digit[0].rests, -digit[0].step))
    groups = [[name for f, name in digits if f.dim == d] for d in range(fmt.rank)]
    left = " ".join([f"({' '.join(group)})" if len(group) > 1 else group[0] for group in groups])
    sizes = "".join([f", {name}={f.size}" for f, name in zip(fmt.factors, names) if f.size])
    return f"{left} -> {' '.join(names)}{sizes}"


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _wrong(what: str, text: str, position: int) -> ParseError:
    return ParseError(f"no einops pattern: {what}", text=text, position=position, hint="as in h (w q) -> w h q, q=8")
