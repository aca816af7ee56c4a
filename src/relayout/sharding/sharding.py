"""``Sharding``: which device of a mesh holds which part of a tensor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from itertools import product as cartesian
from typing import Any, Literal

from ..algebra.composition import composition
from ..errors import NotExpressible, OutOfBounds, ShapeError, shown
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..integers.nested import flatten, product
from ..layout.layout import Layout
from ..layout.modes import digit_sum
from .digits import (
    REST,
    Deal,
    DimensionPart,
    Runs,
    checked_deals,
    dealt_values,
    length,
    nth,
    padded_size,
    place_in,
    runs_of,
)
from .exchange import Exchange, exchange
from .mesh import Mesh

Uneven = Literal["pad", "chunk", "refuse"]
UNEVEN: tuple[Uneven, ...] = ("pad", "chunk", "refuse")

Box = tuple[tuple[int, int], ...]
"""A part of a tensor: ``(start, stop)`` for each dimension."""


class Sharding(Immutable):
    """Who holds what: a mesh of devices, and for each dimension the mesh axes that it is dealt to.

    ``mesh`` has the size of each axis by its name; ``devices`` are the numbers of the devices in row-major order of the
    mesh, by default 0, 1, 2, ... An entry of ``dims`` is ``None`` for a dimension that every device holds whole, an
    axis, or a tuple of digits, the most significant first: axes, integers for digits that are kept, and ``...`` for the
    rest, which comes last where it is not written. So ``("x", "y")`` is contiguous and dealt to x, then to y,
    ``(2, "x")`` cuts into two halves and deals each to x, and ``(..., "x", 16)`` deals blocks of 16 in turn. Dimensions
    that are not listed are whole, and axes that nothing is dealt to replicate.

    A size that the digits do not divide is by ``uneven`` padded once, so that the last devices hold less or nothing
    (``pad``, as XLA does), split piece by piece, each into parts of equal size but the last (``chunk``, as
    ``torch.chunk`` does), or refused. Without ``shape`` it stands for tensors of every shape.

    >>> s = Sharding({"x": 4, "y": 2}, ["x", None], shape=(16, 8))
    >>> s.boxes(2)
    [((4, 8), (0, 8))]
    >>> s.holders((5, 0))
    (2, 3)
    """

    __slots__ = ("dims", "mesh", "shape", "uneven")
    mesh: Mesh
    dims: tuple[tuple[Deal, ...], ...]
    shape: tuple[int, ...] | None
    uneven: Uneven

    def __new__(
        cls,
        mesh: Mesh | Mapping[str, int] | Iterable[tuple[str, int]],
        dims: Sequence[Any],
        shape: Any = None,
        *,
        devices: Any = (),
        uneven: Uneven = "pad",
    ) -> Sharding:
        if isinstance(mesh, Mesh) and devices != ():
            raise ShapeError("the mesh has its devices.", hint="leave devices= out", devices=devices)
        grid = mesh if isinstance(mesh, Mesh) else Mesh(mesh, devices)
        if isinstance(dims, str) or not isinstance(dims, Sequence):
            raise ShapeError(
                f"dims has one entry for each dimension, got {shown(dims)}.", hint='a list, as in ["x", None]', got=dims
            )
        deals = tuple([checked_deals(entry, grid.axes) for entry in dims])
        _check_once(deals)
        if uneven not in UNEVEN:
            raise ShapeError(f"uneven={shown(uneven)} says nothing.", hint=f"one of {', '.join(UNEVEN)}", got=uneven)
        sizes = None if shape is None else _checked_shape(deals, shape, uneven)
        if sizes is not None:
            deals += ((REST,),) * (len(sizes) - len(deals))
        self = super().__new__(cls)
        for name, value in (("mesh", grid), ("dims", deals), ("shape", sizes), ("uneven", uneven)):
            object.__setattr__(self, name, value)
        return self

    # ---- the whole ---------------------------------------------------------------------------------------

    def at(self, shape: Any) -> Sharding:
        """This sharding of a tensor of that shape."""
        return Sharding(self.mesh, self.dims, shape, uneven=self.uneven)

    @property
    def devices(self) -> tuple[int, ...]:
        """The devices, upwards."""
        return tuple(sorted(self.mesh.known_devices()))

    @property
    def rank(self) -> int | None:
        """How many dimensions the tensor has; None while the shape is unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def replicas(self) -> int:
        """How many devices hold each element."""
        dealt = product(tuple([deal.size for deals in self.dims for deal in deals if deal.axis is not None]))
        return self.mesh.size // dealt

    def is_partition(self) -> bool:
        """Whether every element is held exactly once."""
        return self.mesh.devices is not None and self.replicas == 1

    def is_even(self) -> bool:
        """Whether all devices hold equally much, without padding."""
        fixed = [product(tuple([deal.size for deal in deals if deal.size])) for deals in self.dims]
        return all(n % k == 0 for n, k in zip(self._known_shape(), fixed))

    # ---- devices and coordinates -------------------------------------------------------------------------

    def boxes(self, device: Any) -> list[Box]:
        """The parts of the tensor that a device holds, in row-major order: ``(start, stop)`` for each dimension."""
        return [tuple(box) for box in cartesian(*self.runs(device))]

    def runs(self, device: Any) -> list[Runs]:
        """The ranges of each dimension that a device holds: its boxes are their products."""
        return [runs_of(part) for part in self._parts(device)]

    def local_shape(self, device: Any) -> tuple[int, ...]:
        """The shape of a device's local array, without padding."""
        return tuple([length(runs) for runs in self.runs(device)])

    def padded_local_shape(self) -> tuple[int, ...]:
        """The shape of the largest local array: what XLA allocates on every device."""
        if self.uneven == "chunk":
            shapes = [self.local_shape(device) for device in self.mesh.known_devices()]
            return tuple([max(sizes) for sizes in zip(*shapes)])
        dealt = [product(tuple([deal.size for deal in deals if deal.axis is not None])) for deals in self.dims]
        digits = [tuple([(deal.size, None) for deal in deals]) for deals in self.dims]
        return tuple(
            [padded_size(DimensionPart(n, d, False)) // k for n, d, k in zip(self._known_shape(), digits, dealt)]
        )

    def holders(self, *coordinate: Any) -> tuple[int, ...]:
        """The devices that hold an element, upwards."""
        where = self._coordinate(coordinate, self._known_shape(), "the shape")
        chunked = self.uneven == "chunk"
        values = [dealt_values(n, deals, chunked, c) for n, deals, c in zip(self._known_shape(), self.dims, where)]
        return tuple([device for device in self.devices if self.dealt(device) == tuple(values)])

    def to_local(self, coordinate: Any, device: Any) -> tuple[int, ...]:
        """Where in a device's local array an element is; refused where the device does not hold it."""
        where = self._coordinate((coordinate,), self._known_shape(), "the shape")
        places = [place_in(runs, c) for runs, c in zip(self.runs(device), where)]
        if any(place is None for place in places):
            raise OutOfBounds(
                f"device {device} does not hold {where}.",
                hint=f"devices {', '.join(map(str, self.holders(where)))} do",
                coordinate=where,
                device=device,
            )
        return tuple([place for place in places if place is not None])

    def to_global(self, local: Any, device: Any) -> tuple[int, ...]:
        """Which element is at a coordinate of a device's local array."""
        runs = self.runs(device)
        where = self._coordinate((local,), self.local_shape(device), f"the local array of device {device}")
        return tuple([nth(r, k) for r, k in zip(runs, where)])

    def local_layout(self, device: Any, of: Layout | None = None) -> Layout:
        """Where the elements of a device's local array lie in the whole tensor: in ``of``, else row-major.

        >>> print(Sharding({"x": 2}, [(2, "x"), None], shape=(8, 3)).local_layout(1))
        (((2, 2), 3):((3, 12), 1)) offset 6
        """
        whole = Layout.row_major(self._known_shape()) if of is None else of
        if whole.extents != self._known_shape():
            raise ShapeError(
                f"{whole} has the extents {whole.extents}, not {self.shape}.", hint="give one of that shape", of=of
            )
        if whole.windowed:
            raise NotExpressible(f"{whole} has a window.", hint="give its box, and pad the shape", of=of)
        runs = self.runs(device)
        for d, held in enumerate(runs):
            lengths = {stop - start for start, stop in held[:-1]}
            steps = {b[0] - a[0] for a, b in pairwise(held)}
            if len(lengths) > 1 or len(steps) > 1 or (lengths and held[-1][1] - held[-1][0] > min(lengths)):
                raise NotExpressible(
                    f"device {device} holds {shown(held)} of dimension {d}, which no layout steps through.",
                    hint="runs(device) has the ranges; take them one by one",
                    counterexample=held,
                )
        return _strided_layout(whole, runs)

    def stacked_layout(self, local: Layout | None = None) -> Layout:
        """Where every element lies when the parts follow each other, each a local array, row-major or as ``local``.

        Parts are in the order of their digits, each once however many devices hold it: a tensor that lies in the files
        of many ranks is one array with this layout. Sizes that the digits do not divide have none.

        >>> print(Sharding({"tp": 2}, [None, "tp"], shape=(3, 4)).stacked_layout())
        ((3, (2, 2)):(2, (1, 6)))
        """
        shape = self._known_shape()
        if not self.is_even():
            raise NotExpressible(
                f"the parts of {self} are not of one size.", hint="pad the shape, or take the parts one by one", x=self
            )
        array = Layout.row_major(self.padded_local_shape()) if local is None else local
        if array.extents != self.padded_local_shape() or array.windowed or array.offset or array.swizzle is not None:
            raise NotExpressible(
                f"{array} is not the layout of whole local arrays of {self.padded_local_shape()}.",
                hint="a part must be whole blocks, without padding",
                local=local,
            )
        step = array.storage_size
        modes: list[Any] = []
        for d, deals in reversed(list(enumerate(self.dims))):
            whole = Layout(_entry(array.shape, d), _entry(array.stride, d))
            kept = product(tuple([deal.size for deal in deals if deal.size]))
            weight, mode = 1, []
            for deal in reversed(deals):
                size = deal.size or shape[d] // kept
                if deal.axis is not None:
                    mode.append((size, step))
                    step *= size
                else:
                    part = composition(whole, Layout(size, weight))
                    mode.append((part.shape, part.stride))
                    weight *= size
            modes.insert(0, mode)
        shapes, strides = [
            tuple([mode[0][k] if len(mode) == 1 else tuple([entry[k] for entry in mode]) for mode in modes])
            for k in (0, 1)
        ]
        return Layout(shapes, strides)

    # ---- two shardings -----------------------------------------------------------------------------------

    def equivalent(self, other: Sharding) -> bool:
        """Whether every device holds the same elements at the same places of its local array."""
        from .comparison import compare_shardings

        return bool(compare_shardings(self, other))

    def exchange(self, other: Sharding, element_bytes: int = 1) -> Exchange:
        """The bytes that each pair of devices must exchange to get from this sharding to ``other``."""
        sized = self.at(other.shape) if self.shape is None and other.shape is not None else self
        return exchange(sized, other if other.shape is not None else other.at(sized._known_shape()), element_bytes)

    # ---- notations ---------------------------------------------------------------------------------------

    def to(self, dialect: str) -> str:
        """This sharding in the words of ``dialect``; see ``render``."""
        from ..dialects.render import render

        return render(self, dialect)

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Sharding) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_sharding, self._key()

    def __repr__(self) -> str:
        entries = [_digit_text(deals, self.mesh.axes) for deals in self.dims]
        words = [repr(self.mesh.axes), f"[{', '.join(entries)}]"]
        words += [] if self.shape is None else [repr(self.shape)]
        words += [] if self.mesh.in_order else [f"devices={self.mesh.devices}"]
        words += [] if self.uneven == "pad" else [f"uneven={self.uneven!r}"]
        return f"Sharding({', '.join(words)})"

    def __str__(self) -> str:
        dims = ", ".join([deals_text(deals, self.mesh.axes) for deals in self.dims])
        shape = "" if self.shape is None else f" shape {self.shape}"
        return f"{self.mesh} deals ({dims}){'' if self.uneven == 'pad' else f' uneven {self.uneven}'}{shape}"

    # ---- parts -------------------------------------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        return self.mesh, self.dims, self.shape, self.uneven

    def dealt(self, device: Any) -> tuple[tuple[int, ...], ...]:
        """For each dimension the values of its dealt digits, the most significant first: which part a device has."""
        where = dict(zip(self.mesh.axes, self.mesh.coordinate(device)))
        return tuple([tuple([self._value(x, where) for x in deals if x.axis is not None]) for deals in self.dims])

    def _value(self, deal: Deal, where: dict[str, int]) -> int:
        name = deal.axis or ""
        return where[name] // (self.mesh.axes[name] // (deal.before * deal.size)) % deal.size

    def _parts(self, device: Any) -> list[DimensionPart]:
        chunked = self.uneven == "chunk"
        sizes, values = self._known_shape(), self.dealt(device)
        parts = []
        for n, deals, dealt in zip(sizes, self.dims, values):
            given = iter(dealt)
            digits = tuple([(deal.size, None if deal.axis is None else next(given)) for deal in deals])
            parts.append(DimensionPart(n, digits, chunked))
        return parts

    def _known_shape(self) -> tuple[int, ...]:
        if self.shape is None:
            raise ShapeError(
                f"{self} has no shape yet: what a device holds depends on it.",
                hint="pass shape=(...), or use sharding.at(shape)",
                sharding=self,
            )
        return self.shape

    @staticmethod
    def _coordinate(given: tuple[Any, ...], sizes: tuple[int, ...], what: str) -> tuple[int, ...]:
        entries = given[0] if len(given) == 1 and hasattr(given[0], "__iter__") else given
        where = tuple([as_int(c, "a coordinate") for c in entries])
        if len(where) != len(sizes) or not all(0 <= c < n for c, n in zip(where, sizes)):
            raise OutOfBounds(f"{where} is outside {what} {sizes}.", hint="one entry for each dimension", got=where)
        return where


def _rebuild_sharding(mesh: Mesh, dims: Any, shape: Any, uneven: Uneven) -> Sharding:
    return Sharding(mesh, dims, shape, uneven=uneven)


def _checked_shape(deals: Sequence[Sequence[Deal]], shape: Any, uneven: Uneven) -> tuple[int, ...]:
    sizes = tuple([as_int(n, "shape") for n in (shape if hasattr(shape, "__iter__") else (shape,))])
    if any(n < 0 for n in sizes):
        raise ShapeError(f"a size is below 0: {sizes}.", hint="sizes are 0 or more", shape=shape)
    if len(deals) > len(sizes):
        raise ShapeError(
            f"{len(deals)} dimensions are dealt, and {sizes} has {len(sizes)}.",
            hint="give a shape with all of them",
            shape=shape,
        )
    for d, (n, digits) in enumerate(zip(sizes, deals)):
        fixed = product(tuple([deal.size for deal in digits if deal.size]))
        if uneven == "refuse" and n % fixed:
            raise ShapeError(
                f"dimension {d} of size {n} is not divided by its {fixed} parts.",
                hint=f"pad it to {-(-n // fixed) * fixed}, or say uneven=",
                shape=shape,
            )
    return sizes


def _check_once(dims: Sequence[Sequence[Deal]]) -> None:
    """Refuse what is dealt along one axis twice."""
    used: dict[str, list[tuple[Deal, int]]] = {}
    for d, deals in enumerate(dims):
        for deal in deals:
            if deal.axis is None:
                continue
            for other, e in used.setdefault(deal.axis, []):
                low, high = sorted((deal, other), key=lambda x: (x.before, x.size))
                if high.before % (low.before * low.size):
                    where = f"dimension {d} twice" if d == e else f"dimensions {e} and {d}"
                    raise ShapeError(
                        f"mesh axis {deal.axis!r} is dealt to {where}.",
                        hint="an axis, or a part of one, is dealt once",
                        axis=deal.axis,
                    )
            used[deal.axis].append((deal, d))


def deals_text(deals: Sequence[Deal], axes: Mapping[str, int]) -> str:
    """The digits of one dimension as ``str`` writes them: ``x*y``, ``2*x``, ``...*x*16``, or ``-`` for none."""
    shown_deals = deals[:-1] if deals[-1] == REST else deals
    return "*".join([_deal_text(deal, axes) for deal in shown_deals]) or "-"


def _deal_text(deal: Deal, axes: Mapping[str, int]) -> str:
    whole = deal.axis is None or deal.size == axes[deal.axis]
    return str(deal) if whole else f"{deal.axis}:({deal.before}){deal.size}"


def _digit_text(deals: Sequence[Deal], axes: Mapping[str, int]) -> str:
    """The digits of one dimension as ``repr`` writes them."""
    kept = deals[:-1] if deals[-1] == REST else deals
    words = []
    for deal in kept:
        if deal.axis is None:
            words.append(str(deal))
        else:
            whole = deal.size == axes[deal.axis]
            words.append(repr(deal.axis) if whole else repr((deal.axis, deal.before, deal.size)))
    alone = len(words) == 1 and kept[0].axis is not None
    return "None" if not words else words[0] if alone else f"({', '.join(words)}{',' * (len(words) == 1)})"


def _strided_layout(whole: Layout, runs: Sequence[Runs]) -> Layout:
    """The layout of the elements in these ranges, each a run repeated at equal steps of which the last may be short."""
    modes, extents, offset = [], [], whole.offset
    for d, held in enumerate(runs):
        start, stop = held[0] if held else (0, 0)
        steps = Layout((stop - start, len(held)), (1, held[1][0] - start)) if len(held) > 1 else Layout(stop - start, 1)
        mode = composition(Layout(_entry(whole.shape, d), _entry(whole.stride, d)), steps)
        modes.append(mode)
        offset += digit_sum(flatten(_entry(whole.shape, d)), flatten(_entry(whole.stride, d)), start)
        extents.append(length(held))
    shape, stride = tuple([mode.shape for mode in modes]), tuple([mode.stride for mode in modes])
    return Layout(shape, stride, offset=offset, extents=extents, swizzle=whole.swizzle)


def _entry(x: Any, d: int) -> Any:
    return x[d] if isinstance(x, tuple) else x
