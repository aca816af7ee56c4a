"""One memory under other dimensions: the view of a layout that is another layout with a different domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, NotExpressible
from ..immutable import NamedTuple
from .modes import Mode, simplify_mode

if TYPE_CHECKING:
    from .layout import Layout


class Regrouping(NamedTuple):
    """How dimensions of the sizes ``extents`` become others over the same memory: cut, reordered, and merged."""

    extents: tuple[int, ...]
    cut: tuple[int, ...]
    order: tuple[int, ...]
    merged: tuple[int, ...]

    @property
    def steps(self) -> list[tuple[str, tuple[int, ...]]]:
        """The views that do it, each by its name and its arguments; those that change nothing are left out."""
        if self.order == tuple(sorted(self.order)):
            return [("reshape", self.merged)]
        cut = [("reshape", self.cut)] if self.cut != self.extents else []
        permuted = tuple([self.cut[k] for k in self.order])
        merged = [("reshape", self.merged)] if self.merged != permuted else []
        return [*cut, ("permute", self.order), *merged]

    def of(self, x: Any) -> Any:
        """The view of a layout or of a tensor."""
        for name, sizes in self.steps:
            x = getattr(x, name)(sizes)
        return x

    def __str__(self) -> str:
        return ".".join([f"{name}({', '.join(map(str, sizes))})" for name, sizes in self.steps])


class _Digit(NamedTuple):
    """Some elements along dimension ``dim``, ``weight`` positions and ``stride`` offsets apart.

    A dimension that its window cuts inside a block is one digit, and its stride the whole mode.
    """

    dim: int
    weight: int
    size: int
    stride: Any

    def below(self, n: int) -> _Digit:
        return self._replace(size=n)

    def above(self, n: int) -> list[_Digit]:
        """What is left of it above its first ``n`` values."""
        return [self._replace(weight=self.weight * n, size=self.size // n, stride=self.stride * n)] * (n < self.size)

    @property
    def turn(self) -> Any:
        """Digits with smaller steps come first, whole modes last."""
        return (1, 0, self.stride) if isinstance(self.stride, Mode) else (0, abs(self.stride), self.stride)


def regrouping(a: Layout, b: Layout) -> Regrouping | None:
    """How ``b`` is ``a`` under other dimensions, proven at every size; None where no such view is found."""
    from .comparison import compare

    pairs = _partners(_digits(a), _digits(b)) if a.size == b.size > 0 else None
    if pairs is None:
        return None
    cut = sorted([x for x, _ in pairs], key=_row_major)
    partner = {y: x for x, y in pairs}
    order = [cut.index(partner[y]) for y in sorted(partner, key=_row_major)]
    found = Regrouping(a.extents, tuple([x.size for x in cut]), tuple(order), b.extents)
    try:
        return found if compare(found.of(a), b) else None
    except (NotExpressible, LimitExceeded):
        return None


def _row_major(digit: _Digit) -> tuple[int, int]:
    return digit.dim, -digit.weight


def _digits(layout: Layout) -> list[_Digit]:
    digits = []
    for dim in range(layout.rank):
        mode = simplify_mode(layout._mode(dim))[1]
        if mode.windowed:
            digits.append(_Digit(dim, 1, mode.extent, mode))
            continue
        weight = 1
        for size, stride in zip(mode.sizes, mode.strides, strict=True):
            digits.append(_Digit(dim, weight, size, stride))
            weight *= size
    return digits


def _partners(a: Sequence[_Digit], b: Sequence[_Digit]) -> list[tuple[_Digit, _Digit]] | None:
    """Both cut until each digit has a partner of the same size and stride; None where they do not fit."""
    left, right = list(a), list(b)
    pairs = []
    while left and right:
        x, y = min(left, key=lambda d: d.turn), min(right, key=lambda d: d.turn)
        n = min(x.size, y.size)
        if x.stride != y.stride or x.size % n or y.size % n:
            return None
        left.remove(x)
        right.remove(y)
        pairs.append((x.below(n), y.below(n)))
        left += x.above(n)
        right += y.above(n)
    return None if left or right else pairs
