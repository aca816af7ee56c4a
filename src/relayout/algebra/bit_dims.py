"""Named dimensions whose sizes are powers of two, packed into one integer, fastest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import OutOfBounds, ShapeError, shown
from ..integers.inttuple import as_int


class BitDims(tuple[tuple[str, int], ...]):
    """Names with their numbers of bits. A *flat* value holds a coordinate of all of them, the first in its low bits."""

    __slots__ = ()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self]

    @property
    def bits(self) -> int:
        """The number of bits of a flat value."""
        return sum(bits for _, bits in self)

    @property
    def sizes(self) -> dict[str, int]:
        return {name: 1 << bits for name, bits in self}

    def split(self, flat: Any) -> tuple[Any, ...]:
        """The coordinate of a flat value, which may be an array."""
        if len(self) == 1:
            return (flat,)
        coordinate = []
        for _, bits in self:
            coordinate.append(flat & (1 << bits) - 1)
            flat = flat >> bits
        return tuple(coordinate)

    def by_name(self, flat: int) -> dict[str, int]:
        """The coordinate of a flat value, by name."""
        return dict(zip(self.names, self.split(flat)))

    def pack(self, coordinate: Mapping[str, int]) -> int:
        """The flat value of a coordinate; names that it leaves out are 0, names that are not here are dropped."""
        flat = position = 0
        for name, bits in self:
            flat |= coordinate.get(name, 0) << position
            position += bits
        return flat

    def pick(self, names: Iterable[str], what: str) -> BitDims:
        """The dimensions of these names, in their order; refused unless each exists and is named once."""
        if not isinstance(names, Iterable):
            raise ShapeError(f"{what} takes names, got {shown(names)}.", hint="give a list of names", got=names)
        names = [names] if isinstance(names, str) else list(names)
        bits = dict(self)
        for k, name in enumerate(names):
            if not isinstance(name, str) or name not in bits or name in names[:k]:
                reason = "twice" if name in names[:k] else "which is no dimension"
                raise ShapeError(
                    f"{what} {shown(names)} names {shown(name)}, {reason}.",
                    hint=f"the dimensions are {', '.join(bits) or 'none'}",
                    got=names,
                    dims=self.sizes,
                )
        return BitDims((name, bits[name]) for name in names)

    def permute(self, names: Iterable[str], what: str) -> BitDims:
        """The dimensions in the order of ``names``, which must be all of them."""
        picked = self.pick(names, what)
        if len(picked) != len(self):
            missing = [name for name in self.names if name not in picked.names]
            raise ShapeError(
                f"{what} {shown(picked.names)} lacks {', '.join(missing)}.",
                hint="name every dimension once",
                got=picked.names,
                dims=self.sizes,
            )
        return picked

    def recut(self, sizes: Any, operation: str) -> BitDims:
        """Other dimensions with as many bits in all."""
        dims = sized_dims(sizes, operation)
        if dims.bits != self.bits:
            raise ShapeError(
                f"{operation} of {self.sizes} to {dims.sizes} makes {dims.bits} bits of {self.bits}.",
                hint="keep the product of the sizes",
                got=dims.sizes,
                dims=self.sizes,
            )
        return dims

    def flatten(self) -> BitDims:
        """One dimension of all bits, with the name of the first; none stay none."""
        return BitDims([(self.names[0], self.bits)] if self else [])

    def check_vector(self, name: str, vector: tuple[int, ...]) -> None:
        """Raise unless ``vector``, a basis of ``name``, has one coordinate inside each dimension."""
        if len(vector) != len(self) or any(x < 0 or x >> bits for x, (_, bits) in zip(vector, self)):
            raise ShapeError(
                f"the basis {shown(vector)} of {name} does not fit the outputs {self.sizes}.",
                hint="give every output dimension one coordinate, from 0 to its size - 1",
                basis=vector,
                dims=self.sizes,
            )

    def check_range(self, name: str, lowest: int, highest: int) -> None:
        """Raise unless both lie inside the dimension."""
        size = self.sizes[name]
        if lowest < 0 or highest >= size:
            raise OutOfBounds(
                f"{name} = {lowest if lowest < 0 else highest} is outside its size {size}.",
                hint=f"{name} runs from 0 to {size - 1}",
                dim=name,
                size=size,
            )


def named_pairs(entries: Any, what: str) -> list[tuple[str, Any]]:
    """Names with what belongs to them, from a mapping or from pairs; every name once."""
    items = list(entries.items()) if isinstance(entries, Mapping) else entries
    if not isinstance(items, tuple | list) or not all(
        isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str) for item in items
    ):
        raise ShapeError(
            f"{what} must map names to entries, got {shown(entries)}.", hint="use {name: entry, ...}", got=entries
        )
    names = [name for name, _ in items]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ShapeError(f"{what} names {name!r} twice.", hint="give every dimension its own name", got=names)
    return [(name, entry) for name, entry in items]


def sized_dims(entries: Any, what: str) -> BitDims:
    """Dimensions from their sizes, each a power of two."""
    return BitDims((name, size_bits(size, name)) for name, size in named_pairs(entries, what))


def size_bits(size: Any, what: str) -> int:
    """The exponent of a power of two."""
    n = as_int(size, f"the size of {what}")
    if n < 1 or n & (n - 1):
        raise ShapeError(
            f"the size of {what} is {n}, not a power of two.", hint="use 1, 2, 4, 8, ...", size=n, dim=what
        )
    return n.bit_length() - 1


def unite(a: BitDims, b: BitDims, what: str) -> BitDims:
    """All dimensions of both, bits added up, in an order that keeps both; where either may come first, ``a`` does."""
    first, second = a.names, b.names
    names: list[str] = []
    while first or second:
        if first and first[0] not in second:
            names.append(first.pop(0))
        elif second and second[0] not in first:
            names.append(second.pop(0))
        elif first[0] == second[0]:
            names.append(first.pop(0))
            second.pop(0)
        else:
            raise ShapeError(
                f"the {what} dimensions {a.names} and {b.names} are in conflicting orders.",
                hint=f"transpose_{what[:-3]}s one of them first",
                a=a.sizes,
                b=b.sizes,
            )
    bits = dict(b)
    return BitDims((name, dict(a).get(name, 0) + bits.get(name, 0)) for name in names)


def check_fit(inner: BitDims, outer: BitDims, what: str) -> None:
    """Raise unless both have the same names, in any order, and ``outer`` is at least as large in each."""
    room = dict(outer)
    if set(inner.names) != set(room) or any(bits > room[name] for name, bits in inner):
        raise ShapeError(
            f"{what} are {outer.sizes}, which do not hold {inner.sizes}.",
            hint="rename, reshape or sublayout so that the names agree and the sizes are large enough",
            inner=inner.sizes,
            outer=outer.sizes,
        )
