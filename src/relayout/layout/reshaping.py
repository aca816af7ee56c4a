"""Views of a layout that regroup its elements: merged and cut dimensions, pieces, tiles and sliding windows."""

# Every Reshaping is a Layout: the class only keeps these methods in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, NotExpressible, OutOfBounds, ShapeError, shown
from ..integers.inttuple import as_int, as_ints
from ..integers.nested import product
from .modes import digit_sum

if TYPE_CHECKING:
    from .layout import Layout
    from .regroup import Part

MAX_PIECES = 1 << 16
"""Into how many views a dimension may be split."""


class Reshaping:
    """The view methods of :class:`Layout` that regroup elements, in row-major order. Negative dimensions count back."""

    __slots__ = ()

    def reshape(self: Layout, *shape: Any) -> Layout:
        """The elements in row-major order under another shape (one size may be -1), as a view.

        Dimensions merge and split wherever strides, blocks and windows allow it; else ``NotExpressible``.
        """
        target = _infer_size(flat_sizes(shape, allow_missing=True), self.size, self.extents)
        if self.size == 0:
            return self._rebuild([(n, 0, 0, n) for n in target])
        if target == self.extents:
            return self
        from .regroup import matching_runs, regroup_modes, with_units

        moved: Any = 0
        modes = []
        for mode in map(self._mode, range(self.rank)):
            if mode.extent == 1:
                moved += digit_sum(mode.sizes, mode.strides, mode.origin)
            else:
                modes.append(mode)
        parts: list[Part] = []
        for old, new in matching_runs(modes, [n for n in target if n != 1]):
            constant, modes_of_run = regroup_modes(old, new, self)
            moved += constant
            parts += modes_of_run
        return self._rebuild(with_units(parts, target, 0 if self.has_basis else 1), moved)

    def flatten(self: Layout, start: int = 0, end: int = -1) -> Layout:
        """The dimensions ``start`` to ``end``, both included, merged into one."""
        if self.rank == 0:
            return self.reshape(1)
        start, end = self._dim(start), self._dim(end)
        if start > end:
            raise ShapeError(
                f"flatten({start}, {end}) ends before it starts.", hint="keep start <= end", start=start, end=end
            )
        extents = self.extents
        return self.reshape(*extents[:start], product(extents[start : end + 1]), *extents[end + 1 :])

    def split(self: Layout, sizes: Any, dim: int = 0) -> tuple[Layout, ...]:
        """Neighbouring views along ``dim``: of the given sizes, or all of one size but perhaps the last."""
        dim = self._dim(dim)
        n = self.extents[dim]
        if not isinstance(sizes, tuple | list):
            each = as_int(sizes, "a split size")
            if each < 1:
                raise ShapeError(f"a split size must be at least 1, got {each}.", hint="use a size >= 1", sizes=sizes)
            _check_pieces(-(-n // each))
            sizes = [min(each, n - start) for start in range(0, n, each)]
        sizes = [as_int(s, "a split size") for s in sizes]
        if sum(sizes) != n or min(sizes, default=0) < 0:
            raise ShapeError(
                f"split sizes {sizes} do not add up to {n}.", hint="cover the whole dimension", sizes=sizes, size=n
            )
        starts = accumulate(sizes, initial=0)
        return tuple([self.narrow(dim, start, s) for start, s in zip(starts, sizes)])

    def chunk(self: Layout, chunks: int, dim: int = 0) -> tuple[Layout, ...]:
        """At most ``chunks`` neighbouring views along ``dim``, the first ones one longer where it does not divide."""
        dim, chunks = self._dim(dim), as_int(chunks, "a number of chunks")
        if chunks < 1:
            raise ShapeError(f"a number of chunks must be at least 1, got {chunks}.", hint="use >= 1", chunks=chunks)
        n = self.extents[dim]
        _check_pieces(min(n, chunks))
        each, longer = divmod(n, chunks)
        sizes = [each + 1] * longer + [each] * (chunks - longer if each else 0)
        return self.split(sizes, dim)

    def unfold(self: Layout, dim: int, size: int, step: int) -> Layout:
        """Sliding windows along ``dim``: it counts them, and a new last dimension runs over the elements of each."""
        dim, size, step = self._dim(dim), as_int(size, "size"), as_int(step, "step")
        n = self.extents[dim]
        if size < 0 or size > n or step < 1:
            raise OutOfBounds(
                f"unfold({dim}, {size}, {step}) leaves dimension {dim} of size {n}.",
                hint=f"keep 0 <= size <= {n} and step >= 1",
                dim=dim,
                size=size,
                step=step,
            )
        count = (n - size) // step + 1
        shape, stride, origin, _ = self._parts()[dim]
        if isinstance(shape, tuple) and self.size == 0:
            moved, outer, inner = 0, (count, 0, 0, count), (size, 0, 0, size)
        elif isinstance(shape, tuple):
            from .regroup import step_mode

            moved, (outer, inner) = step_mode(self._mode(dim), [(count, step), (size, 1)], self)
        else:
            moved = origin * stride
            outer, inner = (count, stride * step, 0, count), (size, stride, 0, size)
        parts = self._parts()
        parts[dim] = outer
        return self._rebuild([*parts, inner], moved)

    def tile(self: Layout, sizes: Any, at: Any = None) -> Layout:
        """The layout cut into tiles of ``sizes``, one per dimension.

        Without ``at`` a view of twice the rank, (tile numbers..., places in the tile...), for sizes that divide. With
        it the tile of that number, which is smaller at the edge.
        """
        tile = flat_sizes((sizes,))
        extents = self.extents
        if len(tile) != self.rank or min(tile, default=1) < 1:
            raise ShapeError(
                f"tile sizes {tile} do not fit the extents {extents}.", hint="one size >= 1 per dimension", sizes=tile
            )
        if at is not None:
            place = [as_int(i, "a tile number") for i in (at if isinstance(at, tuple | list) else (at,))]
            if len(place) != self.rank or any(not 0 <= i * t < max(n, 1) for i, t, n in zip(place, tile, extents)):
                raise OutOfBounds(
                    f"there is no tile {tuple(place)} of sizes {tile} in the extents {extents}.",
                    hint="tile numbers start at 0, one per dimension",
                    at=at,
                    sizes=tile,
                )
            layout: Layout = self
            for k, (i, t, n) in enumerate(zip(place, tile, extents, strict=True)):
                layout = layout.narrow(k, i * t, min(t, n - i * t))
            return layout
        if any(n % t for n, t in zip(extents, tile, strict=True)):
            raise NotExpressible(
                f"tiles of {tile} do not divide the extents {extents}.",
                hint="pass at= for the tiles one by one",
                sizes=tile,
                extents=extents,
            )
        halves = [x for n, t in zip(extents, tile, strict=True) for x in (n // t, t)]
        return self.reshape(halves).permute([*range(0, 2 * self.rank, 2), *range(1, 2 * self.rank, 2)])


def _check_pieces(count: int) -> None:
    if count > MAX_PIECES:
        raise LimitExceeded(
            f"{count} views are over the limit of {MAX_PIECES}.",
            hint="take larger pieces, or use tile",
            limit=MAX_PIECES,
        )


def flat_sizes(shape: tuple[Any, ...], allow_missing: bool = False) -> tuple[int, ...]:
    """A flat tuple of sizes from arguments given one by one or as a tuple."""
    sizes = as_ints(shape[0] if len(shape) == 1 else shape, "shape")
    flat = sizes if isinstance(sizes, tuple) else (sizes,)
    for n in flat:
        if isinstance(n, tuple) or n < (-1 if allow_missing else 0):
            raise ShapeError(
                f"{shown(flat)} is not a flat tuple of sizes.",
                hint="views take one size >= 0 per dimension",
                shape=flat,
            )
    return flat  # type: ignore[return-value]


def _infer_size(target: tuple[int, ...], size: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """``target`` with its -1 replaced by what is left of ``size``."""
    known = product(tuple([n for n in target if n != -1]))
    missing = target.count(-1)
    if missing == 1 and known and size % known == 0:
        target = tuple([size // known if n == -1 else n for n in target])
    elif missing or known != size:
        raise ShapeError(
            f"{size} elements of extents {extents} do not fit the shape {target}.",
            hint="keep the number of elements",
            shape=target,
            size=size,
        )
    return target
