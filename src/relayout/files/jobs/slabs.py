"""How an array is cut into slabs that are made and stored whole: the chunks, or shards, of a Zarr."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt, prod
from typing import TYPE_CHECKING, NamedTuple

from ...engine.blocks import cutting_digits
from ...engine.places import box_range
from ...engine.plan import Plan
from ...errors import LayoutMismatch, LimitExceeded, NotExpressible
from ..contents import nbytes, with_tensor
from ..file_pool import FilePool
from .changes import TensorChange
from .loader import Loader
from .memory_budget import MemoryBudget, ThreadBuffers
from .tiles import Tiling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Slabs(NamedTuple):
    """Equal parts of the stored array, each of ``shape`` and a run of its bytes; ``counts`` cut the plan alike.

    A slab is stored as inner chunks of the shape ``inner``.
    """

    shape: tuple[int, ...]
    inner: tuple[int, ...]
    counts: tuple[int, ...]

    def number(self, stored: tuple[int, ...]) -> int:
        """How many slabs an array of that shape has."""
        return prod(stored) // max(1, prod(self.shape))


class SlabLoader:
    """Makes slabs of tensors by their numbers; any thread may, each within the budget."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget, self._files, self._buffers = budget, FilePool(), ThreadBuffers()
        self._tilings: dict[str, Tiling] = {}

    def load(self, change: TensorChange, slabs: Slabs, number: int) -> NDArray[np.uint8]:
        """The bytes of a slab; they are overwritten when the thread asks for another."""
        loader = Loader(self._files, change.entry, self._buffers)
        if change.plan is None:
            size = nbytes(change.planned.element, slabs.shape)
            return loader.load_bytes(number * size, size).data
        name = change.planned.name
        if name not in self._tilings:
            cuts, _ = cutting_digits(change.plan)
            self._tilings[name] = Tiling(change.plan, self._budget, cuts, slabs.counts, 0)
        tiling = self._tilings[name]
        block = tiling.part(number)
        if block is None:
            raise LayoutMismatch(f"tensor {name!r}: slab {number} holds nothing.", hint="report this")
        try:
            return loader.load(tiling, block).data
        except NotExpressible as error:
            raise with_tensor(error, change.entry.name) from None


def choose_slabs(change: TensorChange, most: int, inner: int | None) -> Slabs:
    """The largest slabs of at most ``most`` bytes, in chunks of at most ``inner``; refused where there are none."""
    shape, element = change.planned.shape, change.planned.element
    if not prod(shape):
        whole = tuple([max(n, 1) for n in shape])
        return Slabs(whole, whole, ())
    plan = change.plan
    if plan is not None and box_range(plan.target) != (0, plan.target.storage_size):
        raise NotExpressible(
            f"tensor {change.entry.name!r}: its layout does not begin at the first place of its storage.",
            hint="leave the offset out",
            tensor=change.entry.name,
        )
    for size, counts in _cuts(change, shape):
        slab = slab_shape(shape, size)
        if slab is not None and nbytes(element, slab) <= most:
            return Slabs(slab, slab if inner is None else _inner(slab, element.bits, inner), counts)
    raise LimitExceeded(
        f"tensor {change.entry.name!r}: no chunk of at most {most} bytes holds whole blocks of it.",
        hint="allow larger chunks, and more memory",
        limit=most,
    )


def _cuts(change: TensorChange, shape: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The elements of equal parts of the array that are made one by one, the largest first."""
    plan: Plan | None = change.plan
    yield prod(shape), ()
    if plan is None:
        for d, n in enumerate(shape):
            for count in _divisors(n)[1:]:
                yield count * prod(shape[d + 1 :]), ()
        return
    cuts, _ = cutting_digits(plan)
    for level, digit in enumerate(cuts):
        for count in _divisors(digit.size)[1:]:
            bits = count * abs(digit.stride) * plan.dst_element.element.bits
            if bits % change.planned.element.bits == 0:
                yield bits // change.planned.element.bits, (*[1] * level, count)


def slab_shape(shape: tuple[int, ...], size: int) -> tuple[int, ...] | None:
    """The part of a row-major array that is a run of so many elements, and divides it; None if there is none."""
    rest = prod(shape)
    for d, n in enumerate(shape):
        rest //= n
        if size % rest == 0 and n % (size // rest) == 0:
            return (*[1] * d, size // rest, *shape[d + 1 :])
    return () if not shape and size == 1 else None


def _inner(slab: tuple[int, ...], bits: int, most: int) -> tuple[int, ...]:
    """The largest part of a slab of at most so many bytes, or of one element."""
    for d, n in enumerate(slab):
        for count in _divisors(n):
            found = (*[1] * d, count, *slab[d + 1 :])
            if prod(found) * bits <= 8 * most:
                return found
    return tuple([1] * len(slab))


def _divisors(n: int) -> list[int]:
    """All divisors, the largest first."""
    return sorted({c for k in range(1, isqrt(n) + 1) if n % k == 0 for c in (k, n // k)}, reverse=True)
