"""Interfaces: what stored values mean. ``Plain`` ones mean themselves, ``ScaleOffset`` ones are quantised reals.

An ``Encoding`` is the third: numbers stored as others by a rule that has a name.

Writing encodes, reading decodes. Both take a number and give a number, or take an array (or nested lists, as
``numpy.asarray`` reads them) and give an array.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ..errors import NotExpressible, OutOfBounds, ShapeError, shown
from ..immutable import Immutable
from ..integers.inttuple import as_int
from .encoding import Encoding, named_encoding
from .stored import floats, integers, like, misfit, numbers
from .types import ELEMENTS, Element, element, storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Plain(Immutable):
    """Stored values that mean themselves: ``Plain("float32")``.

    ``encode`` rounds to a floating type as numpy does; to one that numpy lacks, in two steps by way of float32. A value
    that a type of integers does not hold is refused, and so is one that would become NaN, or stop being it.
    """

    __slots__ = ("element",)
    element: Element
    axis: ClassVar[None] = None

    def __new__(cls, dtype: Any) -> Plain:
        element_type = _native_element(dtype)
        if element_type.underlying != element_type:
            raise ShapeError(
                f"{element_type.name} is quantised: its values need a scale and an offset.",
                hint=f"ScaleOffset(scale, offset, {element_type.name!r}), "
                f"or Plain({element_type.underlying.name!r}) for the codes",
                dtype=dtype,
            )
        self = super().__new__(cls)
        object.__setattr__(self, "element", element_type)
        return self

    @property
    def zero(self) -> Any:
        """The stored value that means 0; refused for a type without one."""
        if self.element.name == "float8_e8m0fnu":
            raise NotExpressible(
                "float8_e8m0fnu holds powers of two: none is 0.", hint="fill with another value", element=self.element
            )
        if self.element.integral:
            return False if self.element.name == "bool" else 0
        return 0j if self.element.complex else 0.0

    def encode(self, values: Any) -> Any:
        """The values as they are stored; the same array where it has that type already."""
        import numpy as np

        kind = self.element
        if values.__class__ is np.ndarray and kind.bits >= 8 and values.dtype == storage_dtype(kind):
            return values
        x = numbers(values)
        return like(values, integers(x, self.element) if self.element.integral else floats(x, self.element))

    def decode(self, stored: Any) -> Any:
        """The stored values themselves; anything but values of the type is refused."""
        if self.element.integral:
            return self.encode(stored)
        x = numbers(stored)
        value = like(stored, x)
        if x.dtype == storage_dtype(self.element):
            return value
        if isinstance(value, int | float | complex):
            same = self.encode(value)
            if same == value or value != value:
                return same
        raise ShapeError(
            f"stored values of {self} are {self.element.name}, got {shown(value)} of type {x.dtype}.",
            hint="encode first",
            got=stored,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Plain, (self.element.name,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.element == other.element

    def __hash__(self) -> int:
        return hash(("Plain", self.element.name))

    def __repr__(self) -> str:
        return f"Plain({self.element.name!r})"


class ScaleOffset(Immutable):
    """Quantised reals: a stored integer ``q`` means ``(q - offset) * scale``, as in HTP, TFLite and ONNX.

    ``scale`` is a positive float32 and ``offset`` a 32-bit integer; with ``axis`` there is one of each for every index
    along that dimension of the logical array (a single one is repeated). ``dtype`` is a quantised type, ``"quint8"``,
    or the integers that it is stored as, ``"uint8"``.

    Every step is rounded to float32. ``encode`` is ``offset + v * (1 / scale)``, then to the nearest integer with ties
    to even, then into ``limits``. It is not ``round(v / scale) + offset``: ties differ. No stored value means NaN,
    which is refused wherever values are stored; with ``nan="saturate"`` it is stored as the upper limit instead.
    """

    __slots__ = ("axis", "element", "nan", "offset", "scale")
    scale: float | tuple[float, ...]
    offset: int | tuple[int, ...]
    element: Element
    axis: int | None
    nan: str

    def __new__(
        cls, scale: Any, offset: Any, dtype: Any, axis: int | None = None, *, nan: str = "refuse"
    ) -> ScaleOffset:
        element_type = _native_element(dtype)
        quantised = element_type if element_type.underlying != element_type else ELEMENTS.get(f"q{element_type.name}")
        if quantised is None:
            raise ShapeError(
                f"{element_type.name} is no quantised type.",
                hint=f"use Plain({element_type.name!r}), or one of {', '.join([n for n in ELEMENTS if n[0] == 'q'])}",
                dtype=dtype,
            )
        if nan not in ("refuse", "saturate"):
            raise ShapeError(f"nan is 'refuse' or 'saturate', got {shown(nan)}.", hint="leave nan out", got=nan)
        scales, offsets = _sequence(scale), _sequence(offset)
        several = {len(x) for x in (scales, offsets) if isinstance(x, list)}
        if axis is None and several:
            raise ShapeError("several scales or offsets need an axis.", hint="pass axis=", scale=scale, offset=offset)
        if axis is not None and (as_int(axis, "axis") < 0 or len(several) != 1):
            raise ShapeError(
                f"axis {axis} needs one scale and one offset per channel, and a number >= 0; got scales "
                f"{shown(scales)} and offsets {shown(offsets)}.",
                hint="give sequences of one length, and count dimensions from the front",
                scale=scale,
                offset=offset,
                axis=axis,
            )
        count = several.pop() if several else 0
        self = super().__new__(cls)
        for name, value in (
            ("scale", _each(_checked_scale, scales, count, axis)),
            ("offset", _each(_checked_offset, offsets, count, axis)),
            ("element", quantised),
            ("axis", None if axis is None else as_int(axis, "axis")),
            ("nan", nan),
        ):
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def qnn(cls, scale: Any, offset: Any, dtype: Any, axis: int | None = None, *, nan: str = "refuse") -> ScaleOffset:
        """By QNN's ``Qnn_ScaleOffset_t``, whose offset has the other sign: ``(q + offset) * scale``."""
        theirs = _sequence(offset)
        several = isinstance(theirs, list)
        ours = [-as_int(o, "offset") for o in (theirs if several else [theirs])]
        return cls(scale, ours if several else ours[0], dtype, axis, nan=nan)

    @property
    def qnn_offset(self) -> int | tuple[int, ...]:
        """The offset as QNN counts it."""
        return tuple([-o for o in self.offset]) if isinstance(self.offset, tuple) else -self.offset

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest stored value that ``encode`` gives; both are float32."""
        low, high = self.element.limits
        excess = max(high.bit_length() - 24, 0)
        return low, high >> excess << excess

    @property
    def zero(self) -> Any:
        """The stored value that means 0, or a tuple with one per channel; refused where there is none."""
        low, high = self.element.limits
        for offset in self.offset if isinstance(self.offset, tuple) else (self.offset,):
            if not low <= offset <= high:
                raise NotExpressible(
                    f"no {self.element.name} means 0: the offset {offset} is outside {low} to {high}.",
                    hint="fill with another stored value, or encode the value you want there",
                    counterexample=min(max(offset, low), high),
                    interface=self,
                )
        return self.offset

    def channel(self, k: int) -> ScaleOffset:
        """The scale and the offset of one channel, for all elements."""
        return ScaleOffset(*self._of_channel(k), self.element.name, nan=self.nan)

    def take(self, channels: Iterable[int]) -> ScaleOffset:
        """Those channels, in that order, along the same axis."""
        if not hasattr(channels, "__iter__"):
            raise ShapeError(f"channels are several numbers, got {shown(channels)}.", hint="channel(k) takes one")
        pairs = [self._of_channel(k) for k in channels]
        return ScaleOffset([s for s, _ in pairs], [o for _, o in pairs], self.element.name, self.axis, nan=self.nan)

    def with_axis(self, axis: int) -> ScaleOffset:
        """These channels along another dimension."""
        return ScaleOffset(self.scale, self.offset, self.element.name, axis, nan=self.nan)

    def encode(self, values: Any, *, channel: int | None = None) -> Any:
        """The stored values of reals; a number needs its ``channel`` where there are several."""
        import numpy as np

        x = numbers(values)
        if element(x.dtype).complex:
            raise misfit(x, 0, self.element, "complex")
        if self.nan == "refuse":
            self.refuse_nan(x)
        scale, offset = self._parameters(x.shape, channel)
        low, high = self.limits
        with np.errstate(all="ignore"):
            q = np.asarray(x.astype(np.float32, copy=False) * (np.float32(1) / scale))
            np.add(q, offset.astype(np.float32), out=q)
        np.rint(q, out=q)
        # fmin takes the number where the other one is NaN, so NaN becomes the upper limit.
        np.fmin(q, np.float32(high), out=q)
        np.fmax(q, np.float32(low), out=q)
        return like(values, q.astype(storage_dtype(self.element)))

    def refuse_nan(self, x: NDArray[Any]) -> None:
        """Raise the error that names the first NaN of an array of reals, if there is one."""
        import numpy as np

        if x.dtype.kind not in "biu":
            broken = np.flatnonzero(np.isnan(x))
            if broken.size:
                raise misfit(x, int(broken[0]), self.element, "no stored value means NaN")

    def decode(self, stored: Any, *, channel: int | None = None) -> Any:
        """The reals, as float32, of stored values."""
        import numpy as np

        q = integers(numbers(stored), self.element)
        scale, offset = self._parameters(q.shape, channel)
        with np.errstate(all="ignore"):
            # Types of up to 16 bits subtract integers; up to this offset that is the same in float32.
            if self.element.bits <= 16 and (abs(offset) > 1 << 23).any():
                steps = np.subtract(q, offset, dtype=np.int64).astype(np.float32)
            else:
                steps = q.astype(np.float32) - offset.astype(np.float32)
            return like(stored, np.asarray(steps * scale))

    def _of_channel(self, k: int) -> tuple[float, int]:
        if not isinstance(self.scale, tuple) or not isinstance(self.offset, tuple):
            raise ShapeError(f"{self} has one scale for all elements, and no channels.", hint="leave out channel")
        k = as_int(k, "channel")
        if not 0 <= k < len(self.scale):
            raise OutOfBounds(
                f"there is no channel {k} among {len(self.scale)}.", hint=f"0 to {len(self.scale) - 1}", channel=k
            )
        return self.scale[k], self.offset[k]

    def _parameters(self, shape: tuple[int, ...], channel: int | None) -> tuple[NDArray[Any], NDArray[Any]]:
        """Scale (float32) and offset (int64) as arrays that broadcast to the shape."""
        import numpy as np

        scale, offset = (self.scale, self.offset) if channel is None else self._of_channel(channel)
        scales, offsets = np.array(scale, np.float32), np.array(offset, np.int64)
        if scales.ndim == 0:
            return scales, offsets
        axis = self.axis or 0
        if len(shape) <= axis or shape[axis] != scales.size:
            raise ShapeError(
                f"{scales.size} channels along dimension {axis} do not fit the shape {shape}.",
                hint=f"give an array with {scales.size} entries along that dimension, or say which channel=",
                shape=shape,
                interface=self,
            )
        along = [1] * len(shape)
        along[axis] = scales.size
        return scales.reshape(along), offsets.reshape(along)

    @property
    def _arguments(self) -> tuple[Any, ...]:
        return self.scale, self.offset, self.element.name, self.axis, self.nan

    def __reduce__(self) -> tuple[Any, ...]:
        return _scale_offset, self._arguments

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScaleOffset) and self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash(("ScaleOffset", self._arguments))

    def __repr__(self) -> str:
        import numpy as np

        # numpy's text of a float32 is the shortest that gives it back.
        several = isinstance(self.scale, tuple)
        texts = [str(np.float32(s)) for s in (self.scale if isinstance(self.scale, tuple) else (self.scale,))]
        scale = f"({', '.join(texts)}{',' * (len(texts) == 1)})" if several else texts[0]
        axis = "" if self.axis is None else f", axis={self.axis}"
        nan = "" if self.nan == "refuse" else f", nan={self.nan!r}"
        return f"ScaleOffset({scale}, {self.offset}, {self.element.name!r}{axis}{nan})"


def _scale_offset(scale: Any, offset: Any, dtype: Any, axis: int | None, nan: str) -> ScaleOffset:
    """What pickle makes one by."""
    return ScaleOffset(scale, offset, dtype, axis, nan=nan)


Interface: TypeAlias = Plain | ScaleOffset | Encoding
"""What stored values mean."""


def same_meaning(a: Interface, b: Interface) -> bool:
    """Whether stored values mean the same by both, whatever becomes of NaN."""
    if isinstance(a, ScaleOffset) and isinstance(b, ScaleOffset):
        return a._arguments[:-1] == b._arguments[:-1]
    return a == b


def as_interface(x: Any) -> Interface:
    """``x`` itself if it is an interface, or the encoding that it names; an element type, or its name, is ``Plain``."""
    return x if isinstance(x, Interface) else named_encoding(x) or Plain(x)


def _native_element(dtype: Any) -> Element:
    if getattr(dtype, "isnative", True):
        return element(dtype)
    raise ShapeError(
        f"{shown(dtype)} has the bytes of an element in the other order.",
        hint="use the native type, and swap the bytes of the storage with numpy's byteswap",
        dtype=dtype,
    )


def _sequence(x: Any) -> Any:
    """A list of Python numbers for a sequence or an array of them; anything else as it is."""
    x = x.tolist() if hasattr(x, "tolist") else x
    return list(x) if isinstance(x, tuple | list) else x


def _each(check: Any, x: Any, count: int, axis: int | None) -> Any:
    if axis is None:
        return check(x)
    return tuple([check(e) for e in x]) if isinstance(x, list) else (check(x),) * count


def _checked_scale(x: Any) -> float:
    """``x`` as a float32 that has a reciprocal."""
    import numpy as np

    try:
        with np.errstate(all="ignore"):
            scale = np.float32(x if hasattr(x, "__float__") and not isinstance(x, bool) else 0)
            if 0 < scale < np.inf and 1 / scale < np.inf:
                return float(scale)
    except OverflowError:
        pass
    raise ShapeError(
        f"a scale is a positive number, finite in float32 as its reciprocal is; got {shown(x)}.",
        hint="a negative scale is a positive one with the values negated",
        scale=x,
    )


def _checked_offset(x: Any) -> int:
    offset = as_int(x, "offset")
    if -(1 << 31) <= offset < 1 << 31:
        return offset
    raise ShapeError(f"an offset is an integer of 32 bits, got {offset}.", hint="-2^31 to 2^31 - 1", offset=offset)
