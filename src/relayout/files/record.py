"""The layout record that travels with stored data: which logical tensor a row-major array holds, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..elements.types import ELEMENTS, Element, storage_dtype
from ..errors import LayoutError, ShapeError, shown
from ..format.name_changes import clear_on_change

if TYPE_CHECKING:
    from ..elements.interface import Interface
    from ..layout.layout import Layout

VERSION = 1
MAX_RANK = 64
MAX_TEXT = 1 << 14
"""No layout is a longer text."""

MAX_CHANNELS = 1 << 20
"""No tensor has more scales."""

_KEYS = {"version", "shape", "layout", "axes", "fill", "interface", "name"}
_INTERFACE_KEYS = {"element", "scale", "offset", "axis", "encoding"}


class LayoutRecord(NamedTuple):
    """The logical tensor that a stored array holds.

    ``layout`` is a text that ``rl.parse`` reads with the logical ``shape``. ``fill`` is the stored value of the
    padding, a number or the hexadecimal text of its bits. ``interface`` is the meaning of the elements in words:
    ``{"element": "bfloat16"}``, with a scale, an offset and perhaps an axis if they are quantised, or with the name of
    an encoding. ``name`` is the text that was asked for, where the order of the axes makes another of it. What is None
    is as the file says.
    """

    shape: tuple[int, ...]
    layout: str
    axes: str | None = None
    fill: int | float | str | None = None
    interface: Mapping[str, Any] | None = None
    name: str | None = None

    @classmethod
    def of(
        cls,
        layout: Layout | str,
        shape: tuple[int, ...],
        interface: Interface | None = None,
        *,
        axes: str | None = None,
        fill: Any = None,
        name: str | None = None,
    ) -> LayoutRecord:
        """The record of a layout, or of a text that names one, for a tensor of that shape."""
        text = layout if isinstance(layout, str) else f"mojo:{layout}"
        told = None if interface is None else interface_json(interface)
        return cls(shape, text, axes, None if fill is None else _fill_json(fill), told, name)

    def to_json(self) -> dict[str, Any]:
        """The record as JSON says it; what is None is left out."""
        found = {"version": VERSION, "shape": list(self.shape), **self._asdict(), "interface": self.interface}
        found["shape"] = list(self.shape)
        return {key: value for key, value in found.items() if value is not None}

    @classmethod
    def from_json(cls, x: Any) -> LayoutRecord:
        """The record that JSON tells; anything else, and any other version, is refused."""
        if not isinstance(x, dict):
            raise _bad_record(f"it is {shown(x)}, no object")
        version = x.get("version")
        if version != VERSION or isinstance(version, bool):
            raise _bad_record(f"it has version {shown(version)}, and this relayout reads version {VERSION}")
        strange = set(x) - _KEYS
        if strange:
            raise _bad_record(f"it has {shown(sorted(strange)[0])}, which version {VERSION} does not know")
        shape, layout, axes = x.get("shape"), x.get("layout"), x.get("axes")
        if not isinstance(shape, list) or len(shape) > MAX_RANK or not all(_is_size(n) for n in shape):
            raise _bad_record(f"its shape is {shown(shape)}")
        if not isinstance(layout, str) or len(layout) > MAX_TEXT:
            raise _bad_record(f"its layout is {shown(layout)}")
        if axes is not None and not (isinstance(axes, str) and len(axes) == len(set(axes)) == len(shape)):
            raise _bad_record(f"its axes {shown(axes)} do not name {len(shape)} dimensions")
        fill = x.get("fill")
        if not _is_fill(fill):
            raise _bad_record(f"its fill is {shown(fill)}")
        name = x.get("name")
        if name is not None and not (isinstance(name, str) and len(name) <= MAX_TEXT):
            raise _bad_record(f"its name is {shown(name)}")
        return cls(tuple(shape), layout, axes, fill, _checked_interface(x.get("interface")), name)

    # ---- against what is stored --------------------------------------------------------------------------

    def interface_of(self, stored: Element, size: int = 0) -> Interface:
        """What elements of the stored type mean.

        The record may say quantised for integers, and any type for bytes or for unsigned integers of its width, which
        are the bits of types that a container lacks; and codes of at most 8 bits for the words that they are packed in.
        Every other type contradicts.
        """
        from ..elements.encoding import Encoding
        from ..elements.interface import Plain, ScaleOffset

        words = self.interface
        if words is None:
            return Plain(stored)
        kind = ELEMENTS[words["element"]]
        bits = stored.name in ("uint8", f"uint{kind.bits}") or (stored.integral and kind.bits <= 8 < stored.bits)
        if kind.underlying != stored.underlying and not bits:
            raise ShapeError(f"it says {kind.name}, and the file holds {stored.name}.", hint="one of them is wrong")
        if "encoding" in words:
            return Encoding(words["encoding"])
        if "scale" not in words:
            return Plain(kind)
        return ScaleOffset(words["scale"], words["offset"], kind.name, words.get("axis"))

    def stored_layout(self, stored: Element, size: int) -> Layout:
        """The layout, which needs exactly the ``size`` bytes that are stored."""
        kind = self.interface_of(stored).element
        layout = self.tensor_layout(kind)
        if layout.has_basis or (layout.size and layout.min_offset < 0):
            raise ShapeError(f"{layout} has no places in memory.", hint="use integer strides, and an offset")
        needed = -(-layout.storage_size * kind.bits // 8)
        if needed != size:
            raise ShapeError(
                f"{shown(self.layout)} of shape {shown(self.shape)} and {kind.name} needs {needed} bytes, "
                f"and {size} are stored.",
                hint="one of them is wrong",
            )
        if layout.size * kind.bits > size * 8:
            raise ShapeError(f"{layout} reads elements more than once.", hint="record the array, and repeat it later")
        return layout

    def tensor_layout(self, element: Element | None = None) -> Layout:
        """The layout of the logical shape; the type decides where a name depends on the width of elements."""
        return _resolve(self.layout, self.shape, element)

    def layout_name(self, element: Element) -> str:
        """The text that was asked for, if it is the layout with these axes; else that of the layout."""
        from ..dialects.resolve import resolve

        if self.name is None or self.axes is None:
            return self.layout
        try:
            named = resolve(self.name, shape=self.shape, axes=self.axes, element=element).placed
        except LayoutError:
            return self.layout
        return self.name if named == self.tensor_layout(element) else self.layout

    def fill_value(self, stored: Element) -> Any:
        """The fill as a stored value, or None."""
        import numpy as np

        if not isinstance(self.fill, str):
            return self.fill
        kind = storage_dtype(self.interface_of(stored).element)
        bits = int(self.fill, 16)
        if bits >> 8 * kind.itemsize:
            raise ShapeError(f"its fill {self.fill} has more bits than {stored.name}.", hint="one of them is wrong")
        return np.frombuffer(bits.to_bytes(kind.itemsize, "little"), kind)[0]


@lru_cache(maxsize=256)
def _resolve(text: str, shape: tuple[int, ...], element: Element | None) -> Layout:
    """The layout of a text, remembered: a file asks for that of a tensor whenever it looks at it."""
    from ..dialects.resolve import resolve

    return resolve(text, shape=shape, element=element).placed


clear_on_change(_resolve.cache_clear)


def interface_json(interface: Interface) -> dict[str, Any]:
    """An interface as a record says it."""
    from ..elements.encoding import Encoding
    from ..elements.interface import Plain

    if isinstance(interface, Plain):
        return {"element": interface.element.name}
    if isinstance(interface, Encoding):
        return {"element": interface.element.name, "encoding": interface.name}
    numbers = {
        key: list(x) if isinstance(x, tuple) else x
        for key, x in (("scale", interface.scale), ("offset", interface.offset))
    }
    axis = {} if interface.axis is None else {"axis": interface.axis}
    return {"element": interface.element.name, **numbers, **axis}


def _bad_record(what: str) -> ShapeError:
    return ShapeError(
        f"{what}.", hint="a record of version 1 has a shape, a layout, and perhaps axes, fill, interface, name"
    )


def _is_size(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 1 << 63


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 1 << 128


def _is_fill(x: Any) -> bool:
    if isinstance(x, str):
        return x.startswith("0x") and 2 < len(x) <= 34 and all(c in "0123456789abcdef" for c in x[2:])
    return x is None or _is_number(x)


def _fill_json(x: Any) -> int | float | str:
    """A stored value as JSON says it: finite real numbers as they are, everything else by its bits."""
    import numpy as np

    if isinstance(x, str) and _is_fill(x):
        return x
    value = np.asarray(x)
    if value.ndim == 0 and value.dtype.kind in "biuf" and np.isfinite(value):
        plain: Any = value.item()
        return int(plain) if isinstance(plain, bool) else plain
    if value.ndim or value.dtype.kind not in "fcV":
        raise ShapeError(f"a fill is one stored value, got {shown(x)}.", hint="pass a number", got=x)
    return "0x" + value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()[::-1].hex()


def _is_encoding(x: dict[str, Any]) -> bool:
    """Whether an interface names an encoding of its type, and nothing else."""
    from ..elements.encoding import Encoding

    try:
        named = Encoding(x["encoding"])
    except LayoutError:
        return False
    return set(x) == {"element", "encoding"} and named.element.name == x["element"]


def _checked_interface(x: Any) -> dict[str, Any] | None:
    if x is None:
        return None
    if not isinstance(x, dict) or set(x) - _INTERFACE_KEYS or not isinstance(x.get("element"), str):
        raise _bad_record(f"its interface is {shown(x)}")
    if x["element"] not in ELEMENTS:
        raise _bad_record(f"its interface names the type {shown(x['element'])}, which is not known")
    if "encoding" in x and not _is_encoding(x):
        raise _bad_record(f"its interface is {shown(x)}")
    if ("scale" in x) != ("offset" in x) or ("axis" in x and "scale" not in x):
        raise _bad_record("its interface has a scale without an offset, or an axis without both")
    for key in ("scale", "offset"):
        several = x.get(key, 0)
        for value in several if isinstance(several, list) else [several]:
            if not _is_number(value) or (key == "offset" and not isinstance(value, int)):
                raise _bad_record(f"the {key} of its interface is {shown(value)}")
        if isinstance(several, list) and len(several) > MAX_CHANNELS:
            raise _bad_record(f"its interface has {len(several)} channels")
    if "axis" in x and not _is_size(x["axis"]):
        raise _bad_record(f"the axis of its interface is {shown(x['axis'])}")
    return dict(x)
