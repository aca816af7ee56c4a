"""Views of a layout: methods that select, reorder and regroup its logical elements, in row-major order like numpy.

A view never copies: its result is again a layout into the same memory. Offset and swizzle stay outside, so every method
works on modes alone: on their flat sizes and strides and the window that is used.
"""

# Every Views is a Layout: the class only keeps the view methods in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, NotExpressible, OutOfBounds, ShapeError, shown
from ..integers.inttuple import as_int, as_ints
from ..integers.nested import flatten, product
from .indexing import Indexer, expand_ellipsis, slice_ends
from .modes import digit_sum
from .regroup import Part, matching_runs, regroup_modes, step_mode, with_units
from .strided_blocks import Blocks, strided_blocks

if TYPE_CHECKING:
    from .layout import Layout


MAX_PIECES = 1 << 16
"""Into how many views a dimension may be split."""


class Views:
    """The view methods of :class:`Layout`. Negative dimensions count from the end."""

    __slots__ = ()

    def narrow(self: Layout, dim: int, start: int, length: int) -> Layout:
        """The ``length`` elements from ``start`` on along ``dim``.

        A flat mode gets shorter and moves the offset; a nested mode gets a window.
        """
        dim, start, length = self._dim(dim), as_int(start, "start"), as_int(length, "length")
        n = self.extents[dim]
        if start < 0 or length < 0 or start + length > n:
            raise OutOfBounds(
                f"narrow({dim}, {start}, {length}) leaves dimension {dim} of size {n}.",
                hint=f"keep 0 <= start and start + length <= {n}",
                dim=dim,
                start=start,
                length=length,
                size=n,
            )
        shape, stride, origin, _ = self._parts()[dim]
        if isinstance(shape, tuple):
            return self._with_part(dim, (shape, stride, origin + start, length))
        return self._with_part(dim, (length, stride, 0, length), (origin + start) * stride if length else 0)

    def pick(self: Layout, dim: int, index: int) -> Layout:
        """The elements at ``index`` along ``dim``, which is gone then; negative indices count from the end."""
        dim, index = self._dim(dim), as_int(index, "index")
        mode = self._mode(dim)
        if not -mode.extent <= index < mode.extent:
            raise OutOfBounds(
                f"index {index} is outside dimension {dim} of size {mode.extent}.",
                hint=f"indices run from {-mode.extent} to {mode.extent - 1}"
                if mode.extent
                else "the dimension is empty",
                dim=dim,
                index=index,
                size=mode.extent,
            )
        moved = digit_sum(mode.sizes, mode.strides, mode.origin + index % mode.extent)
        parts = self._parts()
        return self._rebuild(parts[:dim] + parts[dim + 1 :], moved)

    def slice(self: Layout, *items: Any) -> Layout:
        """Basic indexing as in numpy: integers, slices with any step, ``...`` and None; short form ``L.view[...]``."""
        keys = expand_ellipsis(items, self.rank)
        layout: Layout = self
        dim = 0
        for key in keys:
            if key is None:
                layout = layout.unsqueeze(dim)
                dim += 1
            elif isinstance(key, slice):
                start, stop, step = slice_ends(key, layout.extents[dim])
                count = max(0, (stop - start + step - (1 if step > 0 else -1)) // step)
                layout = layout._step(dim, start, step, count)
                dim += 1
            else:
                layout = layout.pick(dim, as_int(key, "an index"))
        return layout

    @property
    def view(self: Layout) -> Indexer:
        """Indexing as in numpy: ``L.view[1:, ::-2, None, ..., 0]``."""
        return Indexer(self)

    def _step(self: Layout, dim: int, start: int, step: int, count: int) -> Layout:
        """Every ``step``-th element along ``dim``; negative steps count down."""
        if step == 1 or count == 0:
            return self.narrow(dim, start if count else 0, count)
        shape, stride, origin, _ = self._parts()[dim]
        if not isinstance(shape, tuple):
            return self._with_part(dim, (count, stride * step, 0, count), (origin + start) * stride)
        if step < 0:
            last = start + (count - 1) * step
            return self._step(dim, last, -step, count).flip(dim)
        mode = self._mode(dim)._replace(origin=origin + start)
        constant, (part,) = step_mode(mode, [(count, step)], self)
        return self._with_part(dim, part, constant)

    def flip(self: Layout, *dims: int) -> Layout:
        """The order along each of ``dims`` (all by default) reversed."""
        layout: Layout = self
        for dim in dims if dims else range(self.rank):
            layout = layout._flip_dim(layout._dim(dim))
        return layout

    def _flip_dim(self: Layout, dim: int) -> Layout:
        shape, stride, origin, extent = self._parts()[dim]
        if extent == 0:
            return self
        if not isinstance(shape, tuple):
            return self._with_part(dim, (extent, -stride, 0, extent), (origin + extent - 1) * stride)
        mode = self._mode(dim)
        box = product(mode.sizes)
        last = digit_sum(mode.sizes, mode.strides, box - 1)
        return self._with_part(dim, (shape, _negate(stride), box - origin - extent, extent), last)

    def permute(self: Layout, *dims: Any) -> Layout:
        """The dimensions in another order."""
        order = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
        if len(order) != self.rank:
            raise ShapeError(
                f"permute{shown(order)} names {len(order)} of {self.rank} dimensions.",
                hint="name every dimension once",
                dims=order,
                rank=self.rank,
            )
        places = [self._dim(d) for d in order]
        if len(set(places)) != len(places):
            raise ShapeError(
                f"permute{shown(order)} names a dimension twice.",
                hint="name every dimension once",
                dims=order,
                rank=self.rank,
            )
        parts = self._parts()
        return self._rebuild([parts[k] for k in places])

    def transpose(self: Layout, a: int, b: int) -> Layout:
        """Two dimensions exchanged."""
        places = list(range(self.rank))
        a, b = self._dim(a), self._dim(b)
        places[a], places[b] = b, a
        return self.permute(places)

    def broadcast_to(self: Layout, *shape: Any) -> Layout:
        """The layout repeated to ``shape``, aligned at the end; new and repeated dimensions have stride 0."""
        target = _sizes(shape)
        missing = len(target) - self.rank
        parts: list[Part] = [(n, 0, 0, n) for n in target[: max(missing, 0)]]
        moved: Any = 0
        for n, part, mode in zip(
            target[max(missing, 0) :], self._parts(), map(self._mode, range(self.rank)), strict=False
        ):
            if mode.extent == n:
                parts.append(part)
            elif mode.extent == 1:
                moved += digit_sum(mode.sizes, mode.strides, mode.origin)
                parts.append((n, 0, 0, n))
            else:
                missing = -1
        if missing < 0:
            raise ShapeError(
                f"extents {self.extents} cannot be broadcast to {target}.",
                hint="only dimensions of size 1 repeat, and new ones come first",
                extents=self.extents,
                shape=target,
            )
        return self._rebuild(parts, moved)

    def squeeze(self: Layout, dim: int | None = None) -> Layout:
        """Without dimension ``dim`` if its size is 1, else unchanged; without all such dimensions by default."""
        if dim is not None:
            dim = self._dim(dim)
            return self.pick(dim, 0) if self.extents[dim] == 1 else self
        layout: Layout = self
        for k in range(self.rank - 1, -1, -1):
            layout = layout.squeeze(k)
        return layout

    def unsqueeze(self: Layout, dim: int) -> Layout:
        """A new dimension of size 1 at ``dim``, with the stride of the dimension after it, or 1 at the end."""
        at = as_int(dim, "a dimension")
        if not -self.rank - 1 <= at <= self.rank:
            raise OutOfBounds(
                f"dimension {at} cannot be added to a layout of rank {self.rank}.",
                hint=f"dimensions run from {-self.rank - 1} to {self.rank}",
                dim=at,
                rank=self.rank,
            )
        at %= self.rank + 1
        parts = self._parts()
        after = flatten(parts[at][1]) if at < self.rank else ()
        stride = after[0] if after else 0 if self.has_basis else 1
        return self._rebuild([*parts[:at], (1, stride, 0, 1), *parts[at:]])

    def reshape(self: Layout, *shape: Any) -> Layout:
        """The elements in row-major order under another shape (one size may be -1), as a view.

        Dimensions merge and split wherever strides, blocks and windows allow it; else ``NotExpressible``.
        """
        target = _infer_size(_sizes(shape, allow_missing=True), self.size, self.extents)
        if self.size == 0:
            return self._rebuild([(n, 0, 0, n) for n in target])
        if target == self.extents:
            return self
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
        if isinstance(shape, tuple):
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
        tile = _sizes((sizes,))
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

    def ravel(self: Layout, *coord: Any) -> Any:
        """The distance of a coordinate from the offset, before any swizzle: linear, for flat layouts."""
        return self._make(self.shape, self.stride, 0, self._origin, self._extents)(*coord)

    def unravel(self: Layout, distance: int) -> Any:
        """The coordinate, nested like the shape, that :meth:`ravel` maps to ``distance``."""
        return self._make(self.shape, self.stride, 0, self._origin, self._extents).idx2crd(distance)

    def strided_blocks(self: Layout) -> Blocks:
        """How much of the layout lies together: one block, uniform blocks, or several, in row-major order."""
        return strided_blocks(self)

    # ---- modes in and out --------------------------------------------------------------------------------

    def _parts(self: Layout) -> list[Part]:
        shapes, strides = (
            (self.shape, self.stride) if isinstance(self.shape, tuple) else ((self.shape,), (self.stride,))
        )
        return list(zip(shapes, strides, self.origin, self.extents, strict=True))

    def _with_part(self: Layout, dim: int, part: Part, moved: Any = 0) -> Layout:
        parts = self._parts()
        parts[dim] = part
        return self._rebuild(parts, moved)

    def _rebuild(self: Layout, parts: Sequence[Part], moved: Any = 0) -> Layout:
        """A layout of these modes, ``moved`` further; a single flat mode stays an integer if it was one."""
        offset = self.offset + moved
        windowed = any(origin or extent != product(shape) for shape, _, origin, extent in parts)
        origin = tuple([p[2] for p in parts]) if windowed else None
        extents = tuple([p[3] for p in parts]) if windowed else None
        if len(parts) == 1 and not isinstance(self.shape, tuple) and not isinstance(parts[0][0], tuple):
            return self._make(parts[0][0], parts[0][1], offset, origin, extents, self.swizzle)
        return self._make(
            tuple([p[0] for p in parts]), tuple([p[1] for p in parts]), offset, origin, extents, self.swizzle
        )


def _check_pieces(count: int) -> None:
    if count > MAX_PIECES:
        raise LimitExceeded(
            f"{count} views are over the limit of {MAX_PIECES}.",
            hint="take larger pieces, or use tile",
            limit=MAX_PIECES,
        )


def _sizes(shape: tuple[Any, ...], allow_missing: bool = False) -> tuple[int, ...]:
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


def _negate(stride: Any) -> Any:
    return tuple([_negate(d) for d in stride]) if isinstance(stride, tuple) else -stride
