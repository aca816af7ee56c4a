"""XOR swizzles: a permutation of addresses that spreads equal low bits over the banks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ..errors import LimitExceeded, ShapeError
from ..immutable import Immutable
from ..integers.inttuple import as_int

if TYPE_CHECKING:
    from .layout import Layout


class Swizzle(Immutable):
    """``Swizzle(bits, base, shift)``: XOR bits ``[base + shift, base + shift + bits)`` into ``[base, base + bits)``.

    A negative shift exchanges the two: ``[base, base + bits)`` goes into the bits ``-shift`` higher. A swizzle is its
    own inverse, and permutes every aligned run of ``period`` addresses. Calling it maps an integer or a numpy array;
    calling it on a layout swizzles the layout.
    """

    __slots__ = ("base", "bits", "shift")
    bits: int
    base: int
    shift: int

    def __new__(cls, bits: int, base: int, shift: int) -> Swizzle:
        bits, base, shift = (as_int(v, "a swizzle parameter") for v in (bits, base, shift))
        if bits < 0 or base < 0 or abs(shift) < bits:
            raise ShapeError(
                f"Swizzle({bits}, {base}, {shift}) is refused: it needs bits >= 0, base >= 0 and |shift| >= bits.",
                hint=f"the smallest shift for {bits} bits is {bits}"
                if bits > 0 and base >= 0
                else "use non-negative bits and base",
                bits=bits,
                base=base,
                shift=shift,
            )
        if bits + base + abs(shift) > 4096:
            raise ShapeError(
                f"Swizzle({bits}, {base}, {shift}) reaches past bit 4096.",
                hint="no memory is that large",
                bits=bits,
                base=base,
                shift=shift,
            )
        self = super().__new__(cls)
        for name, value in (("bits", bits), ("base", base), ("shift", shift)):
            object.__setattr__(self, name, value)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Swizzle, self.parameters

    @property
    def parameters(self) -> tuple[int, int, int]:
        return self.bits, self.base, self.shift

    @property
    def period(self) -> int:
        """Addresses move only within aligned runs of this length; 1 for the identity."""
        return 1 << (self.bits + self.base + abs(self.shift)) if self.bits else 1

    @property
    def source_mask(self) -> int:
        """The address bits that are read; an address with none of them stays where it is."""
        return ((1 << self.bits) - 1) << (self.base + max(self.shift, 0))

    def keeps(self, low: int, high: int) -> bool:
        """Whether no address from ``low`` to ``high`` has a bit that is read, so that none of them moves."""
        return not self.bits or (low >= 0 and high < self.source_mask & -self.source_mask)

    @overload
    def __call__(self, x: Layout) -> Layout: ...
    @overload
    def __call__(self, x: int) -> int: ...
    @overload
    def __call__(self, x: Any) -> Any: ...
    def __call__(self, x: Any) -> Any:
        if hasattr(x, "_apply_swizzle"):
            return x._apply_swizzle(self)
        if hasattr(x, "dtype") and x.ndim:
            return self._on_array(x)
        return self._on_integer(x if x.__class__ is int else as_int(x, "an address"))

    def _on_integer(self, x: Any) -> Any:
        read = x & self.source_mask
        return x ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)

    def _on_array(self, x: Any) -> Any:
        """The array with every address moved; refused where its dtype cannot hold the result."""
        if x.dtype.kind not in "iu":
            raise ShapeError(
                f"addresses are integers, got an array of {x.dtype}.", hint="convert it to int64", got=x.dtype
            )
        if self.period.bit_length() - 1 <= 8 * x.dtype.itemsize - (x.dtype.kind == "i"):
            return self._on_integer(x)
        if x.size == 0 or self.keeps(int(x.min()), int(x.max())):
            return x.copy()
        raise LimitExceeded(
            f"{x.dtype} cannot hold addresses under the swizzle {self}.", hint="use a wider integer type", limit=x.dtype
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Swizzle) and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash(("Swizzle", self.parameters))

    def __repr__(self) -> str:
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"

    def __str__(self) -> str:
        return f"<{self.bits},{self.base},{self.shift}>"
