"""Plans: how the elements of one layout get to another, decided once and run on any buffers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..elements import Element, element, storage_dtype
from ..errors import NotExpressible, OutOfBounds, Overlap, ShapeError
from ..image import check_places
from ..immutable import Immutable
from ..layout import Layout, as_layout
from .loops import Nest, Piece, check_extents, nest

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LOOKUPS = 1 << 12
"""How many combinations of table entries are walked one by one; more are copied by their offsets."""


class Plan(Immutable):
    """A copy between two layouts of one shape, for elements of one type; it may be run many times, by many threads.

    The target has a place for every element. Bits are moved as they are.
    """

    __slots__ = ("element", "source", "steps", "target")
    source: Layout
    target: Layout
    element: Element
    steps: Nest | None

    def __new__(cls, source: Layout, target: Layout, kind: Any) -> Plan:
        for layout in (source, target):
            if as_layout(layout, "a plan").has_basis or (layout.size and layout.min_offset < 0):
                raise ShapeError(f"{layout} goes below 0, or has no places in memory.", hint="add to its offset")
        check_extents(source, target)
        check_places(target)
        self = super().__new__(cls)
        swizzled = source.swizzle is not None or target.swizzle is not None
        for name, value in (
            ("source", source),
            ("target", target),
            ("element", element(kind)),
            ("steps", None if swizzled else nest(source, target)),
        ):
            object.__setattr__(self, name, value)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan, (self.source, self.target, self.element.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash(self.__reduce__()[1])

    def __call__(self, x: Any, out: Any) -> Any:
        """Copy from the flat memory ``x`` to the flat memory ``out``, where nothing beside the elements is written.

        A tensor stands for its memory.
        """
        import numpy as np

        x, out = getattr(x, "raw", x), getattr(out, "raw", out)
        for array, layout, what in ((x, self.source, "source"), (out, self.target, "target")):
            _check_memory(array, layout, what, self.element)
        if not out.flags.writeable:
            raise ShapeError("the target's memory is read-only.", hint="pass a writable array")
        if np.may_share_memory(x, out):
            raise Overlap("source and target share memory.", hint="copy the source first", source=x.shape)
        if self._by_offsets:
            out[self.target.offsets()] = x[self.source.offsets()]
            return out
        for piece in self._pieces():
            _view(out, piece.target, piece, 2)[...] = _view(x, piece.source, piece, 1)
        return out

    @property
    def _by_offsets(self) -> bool:
        """Whether elements are looked up one by one."""
        if self.steps is None:
            return True
        count = 1
        for table in self.steps.tables:
            count *= len(table.source)
        return count > MAX_LOOKUPS

    def _pieces(self) -> tuple[Piece, ...]:
        """Every piece, once for each combination of the tables' entries."""
        pieces, tables = self.steps or ((), ())
        for table in tables:
            entries = list(zip(table.source.tolist(), table.target.tolist()))
            pieces = tuple([p._replace(source=p.source + a, target=p.target + b) for p in pieces for a, b in entries])
        return pieces

    def explain(self) -> str:
        """What a run does, in words and numbers."""
        bits = self.element.bits * self.source.size
        lines = [f"{self.source.size} elements of {self.element.name}, {-(-bits // 8)} bytes."]
        if self._by_offsets or self.steps is None:
            return f"{lines[0]}\nEvery element by its two offsets: the layouts have no common loops."
        pieces = sorted(self.steps.pieces, key=lambda piece: -piece.size)
        lengths = [len(table.source) for table in self.steps.tables]
        lines += [f"For each of {n} coordinates whose blocks do not divide each other:" for n in lengths]
        for piece in pieces[:4]:
            loops = ", ".join([f"{n} ({a} -> {b})" for n, a, b in piece.loops]) or "1"
            lines.append(f"{piece.size} elements in the loops {loops}.")
        if len(pieces) > 4:
            lines.append(f"... and {len(pieces) - 4} smaller pieces at the edges.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Plan({self.source!r}, {self.target!r}, {self.element.name!r})"


def plan(source: Layout, target: Layout, kind: Any) -> Plan:
    """The plan for these layouts and this type of elements; plans are kept."""
    return _kept(as_layout(source, "plan"), as_layout(target, "plan"), element(kind).name)


_kept = lru_cache(maxsize=1024)(Plan)


def _view(flat: NDArray[Any], start: int, piece: Piece, field: int) -> NDArray[Any]:
    import numpy as np

    size = flat.itemsize
    strides = [loop[field] * size for loop in piece.loops]
    return np.ndarray([loop.steps for loop in piece.loops], flat.dtype, flat, start * size, strides)


def _check_memory(array: Any, layout: Layout, what: str, kind: Element) -> None:
    """Refuse what is no flat memory of the type, or too short for the layout."""
    import numpy as np

    if kind.bits % 8:
        raise NotExpressible(
            f"{kind.name} shares bytes with its neighbours.",
            hint="rl.from_logical copies packed elements",
            element=kind,
        )
    if (
        not isinstance(array, np.ndarray)
        or array.ndim != 1
        or array.dtype != storage_dtype(kind)
        or not array.flags.c_contiguous
    ):
        raise ShapeError(f"the {what} is no flat array of {kind.name}.", hint="pass its memory: x.reshape(-1), t.raw")
    if layout.size and layout.max_offset >= array.size:
        raise OutOfBounds(
            f"the {what} {layout} goes up to {layout.max_offset}, and its memory has {array.size} elements.",
            hint="give more memory",
            layout=layout,
        )
