"""Compositions kept as they are, for those that are no layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .carry import extended
from .errors import LimitExceeded, ShapeError
from .immutable import Immutable
from .inttuple import as_int
from .layout import Layout
from .modes import open_sum
from .swizzle import Swizzle

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
        self = super().__new__(cls)
        for name, value in (("outer", outer), ("inner", inner), ("offset", as_int(offset, "offset"))):
            object.__setattr__(self, name, value)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return ComposedLayout, (self.outer, self.inner, self.offset)

    def __call__(self, *coord: Any) -> Any:
        y = self.inner(*coord)
        return _evaluate(self.outer, y if isinstance(y, tuple) else y + self.offset)

    @property
    def shape(self) -> Any:
        return self.inner.shape

    @property
    def extents(self) -> tuple[int, ...]:
        return self.inner.extents  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self.inner.size  # type: ignore[no-any-return]

    @property
    def rank(self) -> int:
        return self.inner.rank  # type: ignore[no-any-return]

    def offsets(self) -> NDArray[np.int64]:
        """The int64 table of all values, of shape ``extents``."""
        import numpy as np

        inner = self.inner.offsets()
        try:
            table = np.array([_evaluate(self.outer, y + self.offset) for y in inner.reshape(-1).tolist()], np.int64)
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

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"


def _evaluate(outer: Any, y: Any) -> Any:
    """The value of ``outer`` at ``y``; an integer past a plain layout's size runs on in its last mode."""
    if isinstance(outer, Layout) and not outer.windowed and type(y) is int and y >= outer.size > 0:
        sizes, strides = extended(outer)
        inner = outer.offset + open_sum(sizes, strides, y)
        return inner if outer.swizzle is None else outer.swizzle(inner)
    return outer(y)
