"""The views of a tensor: its memory under another layout. All those of a layout, and Mojo's tensor operations."""

# Every TensorViews is a Tensor: the class only keeps the view methods in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from ..elements.interface import Interface, ScaleOffset
from ..errors import LimitExceeded, NotExpressible, OutOfBounds
from ..integers.inttuple import as_int
from ..integers.nested import running_products, unflatten
from ..layout.indexing import expand_ellipsis
from ..layout.layout import Layout, as_layout
from ..layout.modes import simplify_mode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .tensor import Tensor

View = Callable[[Layout], Layout]


class TensorViews:
    """View methods: row-major like numpy; each result is a tensor over the same memory that says its layout."""

    __slots__ = ()

    def _view(self: Tensor, view: View, kept: Sequence[int] | None = None) -> Tensor:
        """The tensor under ``view``, with the channels and the names of its dimensions where they led.

        ``kept`` are the old dimensions that those of the view are, if each is one.
        """
        layout, axes = view(self.layout), self.axes
        if axes is not None:
            axes = _axes(self, view, layout.rank) if kept is None else "".join([axes[d] for d in kept])
        return self._like(layout, _interface(self, view), axes)

    def slice(self: Tensor, *items: Any) -> Tensor:
        """Basic indexing as in numpy: integers, slices with any step, ``...`` and None."""
        keys = expand_ellipsis(items, self.layout.rank)
        kept = None if any(key is None for key in keys) else [d for d, key in enumerate(keys) if key.__class__ is slice]
        return self._view(lambda layout: layout.slice(*keys), kept)

    def slice_at(self: Tensor, *items: Any) -> Tensor:
        """Core AI's ``slice(at:)``: the rank stays, an integer keeps its dimension with size 1."""
        kept, dim = [], 0
        for key in expand_ellipsis(items, self.layout.rank):
            if _is_index(key):
                n, i = self.layout.extents[dim], as_int(key, "an index")
                if not -n <= i < n:
                    raise OutOfBounds(
                        f"index {i} is outside dimension {dim}, which has size {n}.",
                        hint=f"use {-n} <= index < {n}" if n else "the dimension is empty",
                        dim=dim,
                        index=i,
                    )
                key = slice(i % n, i % n + 1)
            dim += key is not None
            kept.append(key)
        return self.slice(*kept)

    def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
        """``length`` indices of a dimension from ``start`` on."""
        return self._view(lambda layout: layout.narrow(dim, start, length), range(self.layout.rank))

    def pick(self: Tensor, dim: int, index: int) -> Tensor:
        """One index of a dimension, which is gone then."""
        gone = self.layout._dim(dim)
        return self._view(lambda layout: layout.pick(dim, index), [d for d in range(self.layout.rank) if d != gone])

    def permute(self: Tensor, *dims: Any) -> Tensor:
        """The dimensions in another order."""
        order = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
        return self._view(lambda layout: layout.permute(*dims), order)

    def transpose(self: Tensor, a: int = -2, b: int = -1) -> Tensor:
        """Two dimensions exchanged, the last two by default."""
        order = list(range(self.layout.rank))
        a, b = self.layout._dim(a), self.layout._dim(b)
        order[a], order[b] = b, a
        return self._view(lambda layout: layout.permute(order), order)

    def reshape(self: Tensor, *shape: Any) -> Tensor:
        """The elements in row-major order under another shape; refused where that is no view."""
        return self._view(lambda layout: layout.reshape(*shape))

    def flatten(self: Tensor, start: int = 0, end: int = -1) -> Tensor:
        """Neighbouring dimensions merged into one."""
        return self._view(lambda layout: layout.flatten(start, end))

    def diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        """The elements at ``(k, k + offset)`` of two dimensions, as a new last dimension."""
        return self._view(lambda layout: layout.diagonal(offset, dim1, dim2))

    def broadcast_to(self: Tensor, *shape: Any) -> Tensor:
        """Dimensions of size 1, and new ones in front, repeated."""
        return self._view(lambda layout: layout.broadcast_to(*shape))

    def squeeze(self: Tensor, dim: int | None = None) -> Tensor:
        """A dimension of size 1, or all of them, left out."""
        return self._view(lambda layout: layout.squeeze(dim))

    def unsqueeze(self: Tensor, dim: int) -> Tensor:
        """A new dimension of size 1."""
        return self._view(lambda layout: layout.unsqueeze(dim))

    def flip(self: Tensor, *dims: int) -> Tensor:
        """The order along each of ``dims`` (all by default) reversed."""
        return self._view(lambda layout: layout.flip(*dims), range(self.layout.rank))

    def unfold(self: Tensor, dim: int, size: int, step: int) -> Tensor:
        """Windows of ``size`` along a dimension, ``step`` apart, as a new last dimension."""
        return self._view(lambda layout: layout.unfold(dim, size, step))

    def split(self: Tensor, sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
        """Pieces of these sizes (or of one size) along a dimension."""
        count = len(self.layout.split(sizes, dim))
        return tuple([self._view(lambda layout, k=k: layout.split(sizes, dim)[k]) for k in range(count)])

    def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """So many pieces along a dimension, as even as they can be."""
        count = len(self.layout.chunk(chunks, dim))
        return tuple([self._view(lambda layout, k=k: layout.chunk(chunks, dim)[k]) for k in range(count)])

    def tile(self: Tensor, sizes: Any, at: Any = None) -> Tensor:
        """The tile number ``at`` of these sizes; without ``at`` the blocked view of twice the rank."""
        return self._view(lambda layout: layout.tile(sizes, at))

    def tiled_iterator(self: Tensor, sizes: Any, dim: int = 0, start: Any = None) -> Iterator[Tensor]:
        """The tiles of these sizes along one dimension, from ``start`` on (the first tile by default)."""
        d = self.layout._dim(dim)
        numbers = (0,) * self.layout.rank if start is None else start if hasattr(start, "__iter__") else (start,)
        at = [as_int(x, "a tile number") for x in numbers]
        self.layout.tile(sizes, at)
        count = -(-self.layout.extents[d] // sizes[d])
        return (self.tile(sizes, (*at[:d], k, *at[d + 1 :])) for k in range(at[d], count))

    def distribute(self: Tensor, thread_layout: Layout, thread_id: int) -> Tensor:
        """The elements of one thread: every ``n``-th along each dimension, where the threads have the shape ``n``.

        ``thread_layout`` maps the place of a thread to its number, one to one. Where a mode of the data and the mode of
        the threads are both nested they meet mode by mode, as in Mojo. Dimensions behind those of the threads stay
        whole, so that ``t.vectorize(1, 4).distribute(threads, k)`` deals out vectors.
        """
        from .distribute import deal_elements, thread_coordinate

        place = thread_coordinate(thread_layout, thread_id, self.layout.rank)
        layout = deal_elements(self.layout, thread_layout, place)
        interface = self.interface
        if interface.axis is not None:
            numbers = deal_elements(_channel_numbers(self.layout, interface.axis), thread_layout, place)
            interface = _interface_of(interface, numbers)
        return self._like(layout, interface, self.axes)

    def vectorize(self: Tensor, *sizes: Any) -> Tensor:
        """Vectors of these sizes: the dimensions count vectors, and as many more are the places inside one."""
        return self.tile(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes)

    def composition(self: Tensor, layout: Layout) -> Tensor:
        """The elements that ``layout`` names, by their number in colexicographic order, under its coordinates."""
        from ..algebra.composition import composition

        inner = as_layout(layout, "composition")
        if self.interface.axis is not None:
            raise _no_channels("a composition")
        if inner.size and not 0 <= inner.min_offset <= inner.max_offset < self.layout.size:
            raise OutOfBounds(
                f"{inner} goes from {inner.min_offset} to {inner.max_offset}, outside {self.layout.size} elements.",
                hint="name elements of the tensor",
                layout=inner,
            )
        return self._like(composition(self.layout, inner), self.interface, None)

    def coalesce(self: Tensor) -> Tensor:
        """The elements under the simplest layout that gives each its old integer coordinate."""
        from ..algebra.coalescing import coalesce

        if self.interface.axis is not None:
            raise _no_channels("coalescing")
        return self._like(coalesce(self.layout), self.interface, None)

    # ---- what holds --------------------------------------------------------------------------------------

    def is_contiguous(self: Tensor) -> bool:
        """Whether the elements follow each other in row-major order, without holes, in one piece of memory."""
        return (self._table is None or self._table.start is not None) and self.layout.is_contiguous()

    def contiguous_elements(self: Tensor) -> NDArray[Any]:
        """The stored elements as one flat array over the same memory, as in Core AI; refused unless contiguous."""
        if not self.is_contiguous() or self.interface.element.bits < 8:
            raise NotExpressible(
                f"{self!r} is not contiguous in row-major order, or has elements that share bytes.",
                hint="t.stored() copies",
                tensor=self,
            )
        return self.stored().reshape(-1)


def _is_index(key: Any) -> bool:
    return key is not None and not isinstance(key, slice)


def _probe(layout: Layout, dim: int, view: View) -> Layout | None:
    """The coordinate along ``dim`` that each element had before ``view``, as a layout; None where none says it."""
    try:
        return view(Layout(layout.extents, tuple([int(d == dim) for d in range(layout.rank)])))
    except (NotExpressible, LimitExceeded):
        return None


def _axes(tensor: Tensor, view: View, rank: int) -> str | None:
    """The names of the dimensions after ``view``: None unless each comes from one of the old ones, and no two from one.

    A dimension of size 1 comes from those along which one more step would move.
    """
    names = [""] * rank
    for d, name in enumerate(tensor.axes or ""):
        probe = _probe(tensor.layout, d, view)
        if probe is None:
            return None
        for e in range(rank):
            if any(probe._mode(e).strides):
                names[e] += name
    known = tensor.axes is not None and all(len(name) == 1 for name in names) and len(set(names)) == rank
    return "".join(names) if known else None


def _interface(tensor: Tensor, view: View) -> Interface:
    """What the elements mean after ``view``: channels follow their dimension."""
    interface = tensor.interface
    if not isinstance(interface, ScaleOffset) or interface.axis is None:
        return interface
    channels = _probe(tensor.layout, interface.axis, view)
    if channels is None:
        raise _no_channels("this view")
    return _interface_of(interface, channels)


def _channel_numbers(layout: Layout, axis: int) -> Layout:
    """The coordinate along ``axis`` of every element, under the shape and the window of ``layout``."""
    shapes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    strides = [running_products(s) if d == axis else unflatten(repeat(0), s) for d, s in enumerate(shapes)]
    origin = layout.origin
    return Layout(shapes, tuple(strides), offset=-origin[axis], extents=layout.extents, origin=origin)


def _interface_of(interface: Interface, channels: Layout) -> Interface:
    """What elements mean whose channels are the values of ``channels``."""
    if not isinstance(interface, ScaleOffset):
        return interface
    if not interface.scale:
        return interface.with_axis(channels.extents.index(0))
    modes = [channels._mode(d) for d in range(channels.rank)]
    moving = [d for d, mode in enumerate(modes) if any(simplify_mode(mode)[1].strides)]
    if len(moving) > 1:
        raise _no_channels("this view")
    # Along a dimension of one channel nothing moves, but a single scale is still told from one for all dimensions.
    kept = moving or [d for d, mode in enumerate(modes) if any(mode.strides)]
    first = channels(0) if channels.size else channels.offset
    if not kept:
        return interface.channel(first)
    mode = channels[kept[0]]
    line = [first + mode(k) - mode(0) for k in range(mode.size)]
    if line == list(range(len(interface.scale))):  # type: ignore[arg-type]
        return interface if kept[0] == interface.axis else interface.with_axis(kept[0])
    return interface.take(line).with_axis(kept[0])


def _no_channels(what: str) -> NotExpressible:
    return NotExpressible(
        f"after {what} the channels of the quantisation no longer follow one dimension.",
        hint="take t.numpy(), the real values, or view t.stored()",
    )
