"""Compositions kept as they are, for those that are no layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, ShapeError
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..layout.layout import Layout
from ..layout.swizzle import Swizzle
from .composition import extended_value

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
