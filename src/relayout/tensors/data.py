"""The data of a tensor: all elements read and written at once, its padding, and its memory for other libraries."""

# Every TensorData is a Tensor: the class only keeps these methods in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from ..elements.interface import Interface, Plain, same_meaning
from ..elements.memory import as_array
from ..errors import LimitExceeded, NotExpressible, Overlap, ShapeError, shown
from ..layout.layout import Layout
from ..layout.modes import Mode, digit_sum
from ..layout.ranges import check_places, collision, effective_swizzle
from .gather import check_shape, copy_stored, gather, scatter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .tensor import Tensor


class TensorData:
    """The methods of :class:`Tensor` that read or write more than one element."""

    __slots__ = ()

    def stored(self: Tensor) -> NDArray[Any]:
        """The stored values in logical order; over the same memory where strides can say so, else a copy."""
        check_shape(self.shape)
        strided = self._as_strided()
        return gather(self._memories, self.layout, self._table) if strided is None else strided

    def numpy(self: Tensor) -> NDArray[Any]:
        """The values in logical order; over the same memory where strides can say so and values are stored as such."""
        stored = self.stored()
        return stored if isinstance(self.interface, Plain) else self.interface.decode(stored)

    def _as_strided(self: Tensor) -> NDArray[Any] | None:
        """A numpy array over the same memory, if there is one; it cannot be written where elements coincide."""
        import numpy as np

        buffer, layout = self._flat
        typed = self._memories[buffer].typed
        if layout is None or typed is None or layout.swizzle is not None:
            return None
        if layout.size == 0:
            return np.empty(layout.extents, typed.dtype)
        found = strides_of(layout)
        if found is None:
            return None
        start, strides = found
        item = typed.itemsize
        array: NDArray[Any] = np.ndarray(layout.extents, typed.dtype, typed, start * item, [s * item for s in strides])
        if not (self.writable and _places_differ(layout)):
            array.setflags(write=False)
        return array

    def _assign(self: Tensor, values: Any) -> None:
        """Write values, broadcast to the shape, to every element; what overlaps is read before it is written."""
        import numpy as np

        self._check_writable()
        _check_places_once(self.layout)
        same = is_tensor(values) and same_meaning(values.interface, self.interface)
        if same and (self.interface.axis is None or values.shape == self.shape):
            if values.shape == self.shape and self._copy_between(values):
                return
            stored = _broadcast(values.stored(), self.shape)
        elif self.interface.axis is None:
            stored = _broadcast(self.interface.encode(values_of(values)), self.shape)
        else:
            stored = self.interface.encode(_broadcast(values_of(values), self.shape))
        if any(np.may_share_memory(stored, m.bytes) for m in self._memories):
            stored = stored.copy()
        scatter(self._memories, self.layout, self._table, stored)

    def _copy_between(self: Tensor, source: Tensor) -> bool:
        """Copy the stored values of a tensor of this shape in one pass, where both lie in memories that are apart."""
        import numpy as np

        (a, layout), (b, own) = source._flat, self._flat
        x, out = source._memories[a].typed, self._memories[b].typed
        if layout is None or own is None or x is None or out is None or np.may_share_memory(x, out):
            return False
        copy_stored(layout, own, self.interface.element, x, out)
        return True

    def _check_writable(self: Tensor) -> None:
        if not self.writable:
            shared = None if self._table is None or not self._table.shares else int(self._table.shared.argmax())
            self._refuse_to_write(shared)

    def _refuse_to_write(self: Tensor, block: int | None) -> NoReturn:
        if block is not None and self._table is not None and self._table.shared[block]:
            raise Overlap(
                f"block {block} shares memory with another one, so a write would change two places.",
                hint="give every entry a block of its own",
                table=self._table,
                block=block,
            )
        raise ShapeError("the memory is read-only.", hint="copy it, or pass a bytearray or a writable array")

    def fill(self: Tensor, value: Any) -> Tensor:
        """Write one value to every element."""
        self._assign(value)
        return self

    def copy_from(self: Tensor, source: Any) -> Tensor:
        """Write the values of another tensor or array of the same shape.

        Between tensors of one interface the stored values are copied as they are.
        """
        source = source if is_tensor(source) else values_of(source)
        shape = source.shape
        if shape != self.shape:
            raise ShapeError(
                f"a source of shape {shape} does not fit a tensor of shape {self.shape}.",
                hint="take a view of the same shape, or assign t[...] = value to broadcast",
                shape=self.shape,
            )
        self._assign(source)
        return self

    def fill_padding(self: Tensor, user: Any = "qzero", auto: Any = None) -> Tensor:
        """Fill the padding that was asked for with ``user`` and that of whole blocks with ``auto``, as stored values.

        ``"qzero"`` is the stored value that means 0; None leaves what is there. Only a tensor that was allocated with
        its padding may: the cells beside a view are somebody's data.
        """
        if self.padding is None:
            raise ShapeError(
                "this tensor is a view: the cells beside it may be somebody's data.",
                hint="fill the tensor that was allocated: rl.from_logical, rl.empty and rl.full make such",
                tensor=self,
            )
        self._check_writable()
        layout, box = self.layout, self.layout.box
        clash = collision(box)
        if clash is not None:
            raise Overlap(
                f"padding would fall on data: {clash[0]} and {clash[1]} of the box are the same place.",
                hint="use a layout whose box has a place for every element",
                coordinates=clash,
            )
        asked = [
            (o - a, a + n + b) for o, a, n, b in zip(layout.origin, self.padding.left, self.shape, self.padding.right)
        ]
        codes = [None if value is None else fill_code(self.interface, value) for value in (user, auto)]
        for d in range(layout.rank):
            start, count = asked[d]
            box = self._fill_beside(box, d, start, count, codes[1])
        for d in range(layout.rank):
            box = self._fill_beside(box, d, layout.origin[d] - asked[d][0], self.shape[d], codes[0])
        return self

    def _fill_beside(self: Tensor, box: Layout, d: int, start: int, count: int, code: Any) -> Layout:
        """Put a stored value before and behind a range of one dimension; the range is left."""
        import numpy as np

        end = start + count
        for part in (box.narrow(d, 0, start), box.narrow(d, end, box.extents[d] - end)):
            if code is not None and part.size:
                scatter(self._memories, part, self._table, np.broadcast_to(code, part.extents))
        return box.narrow(d, start, count)

    # ---- for other libraries -----------------------------------------------------------------------------

    def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        import numpy as np

        if copy is False and (self._as_strided() is None or not isinstance(self.interface, Plain)):
            raise ValueError("the values have no strides in memory, so they cannot be had without a copy")
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self: Tensor, **words: Any) -> Any:
        """The memory for other libraries; refused where they could not read it as it is."""
        array = self._as_strided()
        if array is None or not isinstance(self.interface, Plain):
            raise NotExpressible(
                f"{self.layout} has no strides that DLPack could say, or its values are quantised.",
                hint="export t.numpy(), a copy; or t.raw, the flat memory",
                tensor=self,
            )
        if any(s < 0 for s in array.strides) or not array.flags.writeable:
            raise NotExpressible(
                "the array has negative strides or is read-only, which makes some readers crash or write.",
                hint="export t.numpy().copy()",
                tensor=self,
            )
        from ..elements.dlpack import to_dlpack

        try:
            return to_dlpack(array, self.interface.element, words)
        except BufferError as error:
            raise NotExpressible(
                f"DLPack does not hold it: {error}.", hint="export t.raw as integers of the same width", tensor=self
            ) from None

    def __dlpack_device__(self: Tensor) -> tuple[int, int]:
        return 1, 0


_check_places_once = lru_cache(maxsize=1024)(check_places)


@lru_cache(maxsize=1024)
def _places_differ(layout: Layout) -> bool:
    """Whether no two elements are known or feared to share a place."""
    try:
        return collision(layout) is None
    except LimitExceeded:
        return False


@lru_cache(maxsize=1024)
def strides_of(layout: Layout) -> tuple[int, tuple[int, ...]] | None:
    """The offset of the first element and one stride for each dimension, if that is all of a layout with elements."""
    if layout.swizzle is not None and effective_swizzle(layout) is not None:
        return None
    start, strides = layout.offset, []
    for sizes, steps, origin, extent in [layout._mode(d) for d in range(layout.rank)]:
        first = digit_sum(sizes, steps, origin)
        step = digit_sum(sizes, steps, origin + 1) - first if extent > 1 else 0
        if len(sizes) > 1 and _differ(Mode(sizes, steps, origin, extent), Mode((extent,), (step,), 0, extent)):
            return None
        start += first
        strides.append(step)
    return start, tuple(strides)


def _differ(a: Mode, b: Mode) -> bool:
    from ..layout.comparison import first_difference

    return first_difference(a, b) is not None


def fill_code(interface: Interface, value: Any) -> NDArray[Any]:
    """A stored value, or the one that means 0 for ``"qzero"``, as an array without dimensions."""
    code = value
    if isinstance(value, str) and value == "qzero":
        code = interface.zero
        if isinstance(code, tuple):
            if len(set(code)) != 1:
                raise ShapeError(
                    "zero differs from channel to channel.", hint="fill with a stored value", interface=interface
                )
            code = code[0]
    number = values_of(code)
    if number.ndim:
        raise ShapeError(f"padding has one value, got {shown(code)}.", hint="fill with a number", fill=value)
    stored: NDArray[Any] = Plain(interface.element.underlying).encode(number)
    return stored


def is_tensor(x: Any) -> TypeGuard[Tensor]:
    return isinstance(x, TensorData)


def values_of(x: Any) -> NDArray[Any]:
    """What is to be written, as an array."""
    import numpy as np

    if x.__class__ is np.ndarray:
        return x
    if is_tensor(x):
        return x.numpy()
    if hasattr(x, "__dlpack__"):
        return as_array(x)
    try:
        return np.asarray(x)
    except ValueError:
        raise ShapeError(f"{shown(x)} is no array.", hint="give nested lists of one shape", got=x) from None


def _broadcast(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    import numpy as np

    if values.shape == shape:
        return values
    check_shape(shape)
    extra = values.ndim - len(shape)
    if extra > 0 and set(values.shape[:extra]) == {1}:
        values = values.reshape(values.shape[extra:])
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise misfit(values.shape, shape) from None


def misfit(got: tuple[int, ...], shape: tuple[int, ...]) -> ShapeError:
    return ShapeError(
        f"values of shape {got} do not fit a tensor of shape {shape}.",
        hint="give one value, or an array that broadcasts to the shape",
        shape=shape,
    )
