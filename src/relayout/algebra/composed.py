"""Compositions kept as they are, for those that are no layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, NotExpressible, OutOfBounds, ShapeError
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..layout.indexing import Indexer
from ..layout.layout import Layout
from ..layout.ranges import ENUMERATION_LIMIT
from ..layout.swizzle import Swizzle
from .composition import composition, extended_value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ComposedLayout(Immutable):
    """The exact function ``outer(offset + inner(c))``, kept as it is: for compositions that are no layout.

    ``outer`` is a layout, a swizzle or another composition; ``inner`` gives the domain. A layout as ``outer`` extends
    its last mode beyond its size, as composition does.
    """

    __slots__ = ("inner", "offset", "outer")
    outer: Any
    inner: Any
    offset: int

    def __new__(cls, outer: Any, inner: Any, offset: int = 0) -> ComposedLayout:
        if not isinstance(outer, Layout | Swizzle | ComposedLayout) or not isinstance(
            inner, Layout | Swizzle | ComposedLayout
        ):
            raise ShapeError(
                "ComposedLayout takes layouts, swizzles and compositions.",
                hint="ComposedLayout(outer, inner)",
                outer=outer,
                inner=inner,
            )
        if offset and getattr(inner, "has_basis", False):
            raise ShapeError(
                f"the offset {offset} cannot be added to the coordinates that {inner} gives.",
                hint="give the inner layout an offset such as E(0) * 2",
                inner=inner,
                offset=offset,
            )
        self = super().__new__(cls)
        for name, value in (("outer", outer), ("inner", inner), ("offset", as_int(offset, "offset"))):
            object.__setattr__(self, name, value)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return ComposedLayout, (self.outer, self.inner, self.offset)

    def __call__(self, *coord: Any) -> Any:
        y = self.inner(*coord)
        return extended_value(self.outer, y + self.offset if self.offset else y)

    @property
    def _domain(self) -> Any:
        if isinstance(self.inner, Swizzle):
            raise ShapeError("a swizzle has no shape, so this composition has none.", hint="call it with an address")
        return self.inner

    @property
    def shape(self) -> Any:
        return self._domain.shape

    @property
    def extents(self) -> tuple[int, ...]:
        return self._domain.extents  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self._domain.size  # type: ignore[no-any-return]

    @property
    def rank(self) -> int:
        return self._domain.rank  # type: ignore[no-any-return]

    # ---- modes and views: what happens to coordinates happens to the inner layout -----------------------------

    def _with_inner(self, inner: Any) -> ComposedLayout:
        """This outer function after another inner one."""
        return ComposedLayout(self.outer, inner, self.offset)

    def __len__(self) -> int:
        return self.rank

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, k: Any) -> ComposedLayout:
        """The function of mode ``k`` with all other coordinates 0, as in CuTe: the offset stays."""
        inner = self._domain
        if not isinstance(inner, Layout):
            return self._with_inner(inner[k])
        mode = inner[k]
        parts = mode.shape, mode.stride, inner.offset, mode._origin, mode._extents, inner.swizzle
        return self._with_inner(Layout._make(*parts))

    def __iter__(self) -> Iterator[ComposedLayout]:
        return map(self.__getitem__, range(self.rank))

    def slice(self, *items: Any) -> ComposedLayout:
        """Basic indexing as in numpy; short form ``C.view[...]``."""
        return self._with_inner(self._domain.slice(*items))

    @property
    def view(self) -> Indexer:
        """Indexing as in numpy: ``C.view[1:, ::-2, None, ..., 0]``."""
        return Indexer(self)

    def coordinates(self, coord: Any) -> Any:
        """All names of the element at ``coord``; see ``Layout.coordinates``."""
        return self._domain.coordinates(coord)

    # ---- what it is ------------------------------------------------------------------------------------------

    def collapse(self) -> Layout | ComposedLayout:
        """The layout that is this function where one is known, else the composition itself."""
        inner = self.inner.collapse() if isinstance(self.inner, ComposedLayout) else self.inner
        outer = self.outer.collapse() if isinstance(self.outer, ComposedLayout) else self.outer
        if not isinstance(inner, Layout) or isinstance(outer, ComposedLayout):
            return self
        if self.offset and inner.swizzle is not None:
            return self
        try:
            return composition(outer, inner.with_offset(inner.offset + self.offset) if self.offset else inner)
        except (NotExpressible, LimitExceeded, OutOfBounds):
            return self

    @property
    def max_offset(self) -> int:
        """The largest value; counted one by one where no layout is this function, up to a limit."""
        found = self.collapse()
        if isinstance(found, Layout):
            return found.max_offset
        return int(self._values().max())

    @property
    def min_offset(self) -> int:
        """The smallest value."""
        found = self.collapse()
        return found.min_offset if isinstance(found, Layout) else int(self._values().min())

    @property
    def cosize(self) -> int:
        """One more than the largest value; 0 where there is none."""
        return self.max_offset + 1 if self.size else 0

    storage_size = cosize

    def equivalent(self, other: Layout | ComposedLayout) -> bool:
        """Whether ``other`` has the same extents and the same value at every coordinate."""
        mine, theirs = self.collapse(), other.collapse() if isinstance(other, ComposedLayout) else other
        if isinstance(mine, Layout) and isinstance(theirs, Layout):
            return mine.equivalent(theirs)
        return mine.extents == theirs.extents and bool((self._values() == other.offsets()).all())

    def _values(self) -> NDArray[np.int64]:
        if self.size > ENUMERATION_LIMIT:
            raise LimitExceeded(
                f"{self} has {self.size} values, over the limit of {ENUMERATION_LIMIT}.",
                hint="take a part of it: C.view[...]",
                limit=ENUMERATION_LIMIT,
            )
        return self.offsets()

    def offsets(self) -> NDArray[np.int64]:
        """The int64 table of all values, of shape ``extents``."""
        import numpy as np

        inner = self._domain.offsets()
        try:
            table = np.array(
                [extended_value(self.outer, y + self.offset) for y in inner.reshape(-1).tolist()], np.int64
            )
        except OverflowError:
            raise LimitExceeded(
                f"values of {self} do not fit into int64.", hint="call it: Python integers have no limit", limit=1 << 63
            ) from None
        return table.reshape(inner.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposedLayout) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self.outer, self.inner, self.offset))

    def __repr__(self) -> str:
        return f"ComposedLayout({self.outer!r}, {self.inner!r}{f', {self.offset}' if self.offset else ''})"

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"
