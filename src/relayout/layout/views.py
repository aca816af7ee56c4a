"""Views of a layout: methods that select, reorder and regroup its logical elements, in row-major order like numpy.

A view never copies: its result is again a layout into the same memory. Offset and swizzle stay outside, so every method
works on modes alone: on their flat sizes and strides and the window that is used.
"""

# Every Views is a Layout: the class only keeps the view methods in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import OutOfBounds, ShapeError, shown
from ..integers.inttuple import as_int
from ..integers.nested import flatten, product
from .indexing import Indexer, expand_ellipsis, slice_ends
from .modes import digit_sum
from .reshaping import Reshaping, flat_sizes

if TYPE_CHECKING:
    from .layout import Layout
    from .regroup import Part
    from .strided_blocks import Blocks


class Views(Reshaping):
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
                if step == 1 and start == 0 and stop == layout.extents[dim]:
                    dim += 1
                    continue
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
        if self.size == 0:
            return self._with_part(dim, (count, 0, 0, count))
        mode = self._mode(dim)._replace(origin=origin + start)
        from .regroup import step_mode

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

    def diagonal(self: Layout, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Layout:
        """The elements at ``(k, k + offset)`` of two dimensions, as a new last dimension, as in numpy and torch.

        A negative ``offset`` starts further along ``dim1``; one outside the extents leaves nothing.
        """
        shift, first, second = as_int(offset, "offset"), self._dim(dim1), self._dim(dim2)
        if first == second:
            raise ShapeError(
                f"diagonal needs two dimensions, got {dim1} twice.", hint="name two different ones", dims=(dim1, dim2)
            )
        starts = max(-shift, 0), max(shift, 0)
        length = max(min(self.extents[d] - start for d, start in zip((first, second), starts)), 0)
        moved: Any = 0
        part: Part = (length, 0, 0, length)
        parts = self._parts()
        if self.size and length:
            modes = [
                self._mode(d)._replace(origin=self.origin[d] + start, extent=length)
                for d, start in zip((first, second), starts)
            ]
            from .regroup import diagonal_mode

            moved, part = diagonal_mode(modes[0], modes[1], self)
        return self._rebuild([p for d, p in enumerate(parts) if d not in (first, second)] + [part], moved)

    def broadcast_to(self: Layout, *shape: Any) -> Layout:
        """The layout repeated to ``shape``, aligned at the end; new and repeated dimensions have stride 0."""
        target = flat_sizes(shape)
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

    def ravel(self: Layout, *coord: Any) -> Any:
        """The distance of a coordinate from the offset, before any swizzle: linear, for flat layouts."""
        return self._make(self.shape, self.stride, 0, self._origin, self._extents)(*coord)

    def unravel(self: Layout, distance: int) -> Any:
        """The coordinate, nested like the shape, that :meth:`ravel` maps to ``distance``."""
        return self._make(self.shape, self.stride, 0, self._origin, self._extents).idx2crd(distance)

    def strided_blocks(self: Layout) -> Blocks:
        """How much of the layout lies together: one block, uniform blocks, or several, in row-major order."""
        from .strided_blocks import strided_blocks

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


def _negate(stride: Any) -> Any:
    return tuple([_negate(d) for d in stride]) if isinstance(stride, tuple) else -stride
