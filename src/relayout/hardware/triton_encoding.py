"""What Triton's encodings have in common: a linear layout for every shape, built up dimension by dimension.

Those of tensors deal elements to ``register``, ``lane``, ``warp`` and ``block``; those of memory place them at an
``offset`` of a ``block``, or at a ``row`` and ``col`` of tensor memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..algebra.linear import LinearLayout
from ..errors import ShapeError, shown
from ..integers.inttuple import as_int

Basis = tuple[int, ...]
"""A coordinate for one bit of an input."""

Bases = tuple[Basis, ...]

THREADS = ("register", "lane", "warp", "block")
"""Who holds an element: the fastest first."""


@dataclass(frozen=True)
class TritonEncoding(ABC):
    """An encoding of Triton: a linear layout of every shape of its rank, all sizes powers of two."""

    kind: ClassVar[str]
    """Its name in Triton's IR, as in ``ttg.blocked``."""
    inputs: ClassVar[tuple[str, ...]] = THREADS

    @property
    @abstractmethod
    def rank(self) -> int:
        """How many dimensions the tensors have."""

    @abstractmethod
    def bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        """The coordinates at 1, 2, 4, ... of every input, for a shape that fits."""

    def linear(self, shape: Any) -> LinearLayout:
        """The linear layout of a tensor of that shape, from the inputs to ``dim0``, ``dim1``, ..."""
        sizes = self.checked_shape(shape)
        found = self.bases(sizes)
        return LinearLayout(
            {name: found.get(name, []) for name in self.inputs}, {f"dim{d}": n for d, n in enumerate(sizes)}
        )

    def checked_shape(self, shape: Any) -> tuple[int, ...]:
        """The sizes, if there are as many as dimensions and all are powers of two."""
        given = shape if hasattr(shape, "__iter__") else (shape,)
        sizes = tuple([as_int(n, "a size") for n in given])
        if len(sizes) != self.rank:
            raise ShapeError(
                f"{self.kind} of {self.rank} dimensions has no tensor of the shape {shown(shape)}.",
                hint=f"give {self.rank} sizes",
                shape=sizes,
            )
        if bad := [n for n in sizes if n < 1 or n & (n - 1)]:
            raise ShapeError(
                f"the shape {shown(shape)} has the size {bad[0]}, and Triton's sizes are powers of two.",
                hint="use 1, 2, 4, 8, ...",
                shape=sizes,
            )
        return sizes


class Dealing:
    """Bases under way, from the fastest up: of each dimension so many are dealt, and the next step is the one above."""

    def __init__(self, rank: int) -> None:
        self.sizes = [1] * rank
        self.bases: dict[str, list[Basis]] = {}

    def count(self, name: str, dim: int, size: int) -> Dealing:
        """Let an input count the next ``size`` of a dimension."""
        for k in range(size.bit_length() - 1):
            step = self.sizes[dim] << k
            self.put(name, [step if d == dim else 0 for d in range(len(self.sizes))])
        self.sizes[dim] *= size
        return self

    def count_all(self, name: str, sizes: Sequence[int], order: Iterable[int], repeated: int | None = None) -> Dealing:
        """Let an input count dimension after dimension; along ``repeated`` it stands still."""
        for d in order:
            if d == repeated:
                self.repeat(name, sizes[d])
            else:
                self.count(name, d, sizes[d])
        return self

    def repeat(self, name: str, size: int) -> Dealing:
        """Let the next bits of an input change nothing."""
        for _ in range(size.bit_length() - 1):
            self.put(name, [0] * len(self.sizes))
        return self

    def multiply(self, added: dict[str, Bases], keep_zeros: bool = True) -> Dealing:
        """Let whole bases, given in steps of what is dealt so far, count the next ones of several dimensions."""
        top = list(self.sizes)
        for name, group in added.items():
            for basis in group:
                if keep_zeros or any(basis):
                    self.put(name, [x * n for x, n in zip(basis, top)])
                for d, x in enumerate(basis):
                    self.sizes[d] = max(self.sizes[d], top[d] << x.bit_length())
        return self

    def fit(self, shape: Sequence[int], first: str, order: Iterable[int], blocks: Bases = ()) -> dict[str, list[Basis]]:
        """The bases for a tensor of that shape, shared out to ``blocks``.

        What is not dealt yet goes to the input ``first``, dimension after dimension; what is too much stands still.
        """
        blocks = tuple([tuple([x if x < n else 0 for x, n in zip(basis, shape)]) for basis in blocks])
        parts = block_sizes(blocks, len(shape))
        own = [max(1, n // p) for n, p in zip(shape, parts)]
        for d in order:
            self.count(first, d, max(1, own[d] // self.sizes[d]))
        for group in self.bases.values():
            group[:] = [tuple([x if x < n else 0 for x, n in zip(basis, own)]) for basis in group]
        self.bases["block"] = [tuple([x * n for x, n in zip(basis, own)]) for basis in blocks]
        return self.bases

    def put(self, name: str, basis: Sequence[int]) -> None:
        """Add one basis as it is; the sizes stay."""
        self.bases.setdefault(name, []).append(tuple(basis))


def block_sizes(blocks: Bases, rank: int) -> list[int]:
    """Into how many parts the blocks of a cluster cut each dimension."""
    return [1 << max([basis[d] for basis in blocks], default=0).bit_length() for d in range(rank)]


def row_major(rank: int) -> tuple[int, ...]:
    """The dimensions from the fastest, the last, to the slowest."""
    return tuple(range(rank))[::-1]


def misfit(encoding: str, why: str, hint: str, **operands: Any) -> ShapeError:
    """Parameters that an encoding cannot have."""
    return ShapeError(f"#{encoding}: {why}.", hint=hint, encoding=encoding, **operands)


def check_order(encoding: str, order: Sequence[int]) -> None:
    """Refuse an order that does not name each dimension once."""
    if sorted(order) != list(range(len(order))) or not order:
        raise misfit(
            encoding,
            f"the order {shown(list(order))} does not name every dimension once",
            "name the dimensions from the fastest, as in [1, 0]",
            order=order,
        )


def check_sizes(encoding: str, sizes: Sequence[int], what: str, rank: int | None = None) -> None:
    """Refuse sizes that are no powers of two, or not one for each dimension."""
    if rank is not None and len(sizes) != rank:
        raise misfit(encoding, f"{what} has {len(sizes)} sizes for {rank} dimensions", "one for each dimension")
    if bad := [n for n in sizes if n < 1 or n & (n - 1)]:
        raise misfit(encoding, f"{what} has {bad[0]}, which is no power of two", "use 1, 2, 4, 8, ...", sizes=sizes)


def check_blocks(encoding: str, blocks: Bases, rank: int) -> None:
    """Refuse bases of blocks that skip a part of the tensor, hold one twice, or move in two dimensions at once."""
    for basis in blocks:
        if len(basis) != rank:
            raise misfit(encoding, f"CGALayout has {list(basis)} for {rank} dimensions", "one number for each")
        if sum(1 for x in basis if x) > 1 or any(x & (x - 1) for x in basis):
            raise misfit(encoding, f"CGALayout has {list(basis)}, no step of one dimension", "as in [[1, 0], [0, 1]]")
    steps = [basis for basis in blocks if any(basis)]
    if len(set(steps)) < len(steps):
        raise misfit(encoding, "CGALayout has the same basis twice", "each step once; zeros repeat")
    for d, n in enumerate(block_sizes(blocks, rank)):
        if sum(1 for basis in steps if basis[d]) != n.bit_length() - 1:
            raise misfit(encoding, f"CGALayout leaves out parts of dimension {d}", "count it by 1, 2, 4, ...")
