"""Two formats compared for every shape: the same function, or a smallest shape that tells them apart.

The offset is a sum of one term a dimension. The term of dimension ``d`` is affine in the number of whole blocks along
it, and its slope is a product of the numbers of blocks of other dimensions. So two formats that agree for all shapes
with at most two sizes above 1, each up to twice the least common multiple of both blocks, agree for every shape.

A digit above the rest begins where a share of the blocks ends. Each further common multiple moves that place by the
same in both formats, and no two places are seen as one because no two elements share an offset. So all sizes up to
twice the common multiple decide about such a dimension by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import lcm
from typing import Any, NamedTuple

from ..errors import LimitExceeded
from ..format.format import Format
from ..layout.comparison import Comparison
from ..layout.comparison import compare as compare_layouts

SHAPE_LIMIT = 1 << 12
"""How many shapes are looked at: to prove that formats are alike, and to find a smaller one that tells them apart."""


class FormatComparison(NamedTuple):
    """The verdict on two formats; it is truthy when they are the same function for every shape.

    Otherwise ``example`` compares their layouts for a shape of the fewest elements where they differ; it is None for
    formats of different ranks. ``padding`` compares them for a shape where only the storage differs.
    """

    a: Format
    b: Format
    example: Comparison | None = None
    padding: Comparison | None = None

    def __bool__(self) -> bool:
        return self.equivalent

    @property
    def equivalent(self) -> bool:
        return self.example is None and self.a.rank == self.b.rank

    @property
    def same_storage(self) -> bool:
        """Whether both need a buffer of the same size, for every shape."""
        return self.equivalent and self.padding is None

    @property
    def shape(self) -> tuple[int, ...] | None:
        """A smallest shape where they differ."""
        return None if self.example is None else self.example.a.extents

    @property
    def coordinate(self) -> Any:
        """The first coordinate of ``shape`` where they differ."""
        return None if self.example is None else self.example.coordinate

    @property
    def offsets(self) -> tuple[int, int] | None:
        """The two offsets there."""
        return None if self.example is None else self.example.offsets

    def _repr_svg_(self) -> str | None:
        return None if self.example is None else self.example._repr_svg_()

    def _repr_html_(self) -> str | None:
        from ..drawing.notebook_tables import verdict_html

        return None if self.example is not None else verdict_html(self)

    def __str__(self) -> str:
        if self.a.rank != self.b.rank:
            return f"different domains: {self.a.rank} and {self.b.rank} dimensions"
        if self.example is not None:
            return f"for the shape {self.shape}: {self.example}"
        if self.padding is not None:
            return f"the same function for every shape; for the shape {self.padding.a.extents} {_storage(self.padding)}"
        return "the same function for every shape"


def _storage(verdict: Comparison) -> str:
    return f"storage differs: {verdict.a.storage_size} and {verdict.b.storage_size}"


def compare_formats(a: Format, b: Format) -> FormatComparison:
    """Whether two formats, dimensions matched by position, give the same layout for every shape."""
    if a.rank != b.rank or a.equivalent(b):
        return FormatComparison(a, b)
    differing = None
    for looked_at, shape in enumerate(_deciding_shapes(a, b)):
        verdict = compare_layouts(a.layout(shape), b.layout(shape))
        if not verdict:
            # Nothing behind the coordinate tells along the dimension that it moves in.
            needed = tuple([c + 1 if c else n for c, n in zip(verdict.coordinate, shape)])
            at_needed = compare_layouts(a.layout(needed), b.layout(needed))
            verdict = at_needed if not at_needed else verdict
            if differing is None or verdict.a.size < differing.a.size:
                differing = verdict
        if differing is not None and looked_at >= a.rank:
            break
    if differing is not None:
        smaller = _smaller(a, b, differing.a.size)
        return FormatComparison(a, b, differing if smaller is None else smaller)
    if not (a._unaligned and b._unaligned):
        raise LimitExceeded(
            f"{a} and {b} agree on small shapes, and nothing proves that they do on all.",
            hint="pass shape=(...)",
            limit=SHAPE_LIMIT,
        )
    return FormatComparison(a, b, None, _other_storage(a, b))


def _other_storage(a: Format, b: Format) -> Comparison | None:
    """The comparison at a smallest shape where formats of one function need different storage."""
    for size in range(1, 2 * max(a.block_shape + b.block_shape) + 1):
        for shape in _factorisations(size, a.rank):
            verdict = compare_layouts(a.layout(shape), b.layout(shape))
            if not verdict.same_storage:
                return verdict
    return None


def _deciding_shapes(a: Format, b: Format) -> Iterator[tuple[int, ...]]:
    """Shapes that tell any two formats apart: one for each dimension, then all others that are needed."""
    most = [2 * lcm(m, n) for m, n in zip(a.block_shape, b.block_shape)]
    ones = (1,) * a.rank
    for d, n in enumerate(most):
        yield (*ones[:d], n, *ones[d + 1 :])
    for seen, shape in enumerate(_further_shapes(a, b, most)):
        if seen >= SHAPE_LIMIT:
            raise LimitExceeded(
                f"{a} and {b} agree on {SHAPE_LIMIT} shapes, and more would have to be looked at.",
                hint="pass shape=(...)",
                limit=SHAPE_LIMIT,
            )
        yield shape


def _further_shapes(a: Format, b: Format, most: list[int]) -> Iterator[tuple[int, ...]]:
    """Every size of dimensions with digits above the rest, then every size of one dimension beside another."""
    ones = (1,) * a.rank
    for d in sorted({f.dim for f in (*a.blocks, *b.blocks) if f.rests}):
        for n in range(2, most[d]):
            yield (*ones[:d], n, *ones[d + 1 :])
    for d, e in permutations(range(a.rank), 2):
        for n in range(2, most[e] + 1):
            yield tuple([most[d] if k == d else n if k == e else 1 for k in range(a.rank)])


def _smaller(a: Format, b: Format, elements: int) -> Comparison | None:
    """The first difference for a shape of fewer elements, up to a limit of shapes."""
    seen = 0
    for size in range(1, elements):
        for shape in _factorisations(size, a.rank):
            seen += 1
            if seen > SHAPE_LIMIT:
                return None
            verdict = compare_layouts(a.layout(shape), b.layout(shape))
            if not verdict:
                return verdict
    return None


def _factorisations(elements: int, rank: int) -> Iterator[tuple[int, ...]]:
    """The shapes of that rank with so many elements, in lexicographic order."""
    if rank < 2:
        yield (elements,) * rank
        return
    for n in range(1, elements + 1):
        if elements % n == 0:
            for rest in _factorisations(elements // n, rank - 1):
                yield (n, *rest)
