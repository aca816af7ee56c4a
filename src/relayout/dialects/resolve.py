"""The one place where an operand becomes a layout: a text, a format, a layout, a tensor, an einops pattern, a word.

Every function, command, guard and page asks ``resolve``; so what one of them takes all of them take, with the same
meaning and the same errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..elements.encoding import named_encoding
from ..elements.interface import Interface
from ..elements.types import Element
from ..elements.types import element as element_of
from ..errors import LayoutError, ShapeError, shown
from ..format.factors import checked_axes
from ..format.format import Format
from ..immutable import NamedTuple
from ..integers.inttuple import as_int
from ..layout.layout import Layout

if TYPE_CHECKING:
    from ..algebra.linear import LinearLayout
    from ..format.entries import Entry
    from ..format.record import Record
    from ..sharding.sharding import Sharding
    from .registry import Shapeless, Spelling
    from .ttg_text import TtgText


class Resolved(NamedTuple):
    """What an operand means: its layout, or while the shape is unknown what makes one of a shape.

    ``format`` is None for what was a layout from the start. ``axes`` names the dimensions in their order, ``fill`` is
    the stored value of padding and ``element`` the type, each None where nothing tells it. ``text`` is what it was read
    from, and ``spelling`` all that it said, where its notation has more than a layout (XLA's memory spaces).
    """

    layout: Layout | None
    format: Format | Shapeless | None
    axes: str | None = None
    fill: Any = None
    element: Element | None = None
    text: str | None = None
    spelling: Spelling | None = None

    @property
    def subject(self) -> Layout | Format | Shapeless:
        """The layout, or without one the format."""
        return self.layout if self.layout is not None else self.format  # type: ignore[return-value]

    @property
    def description(self) -> Layout | Format:
        """The layout, or the format of any shape; refused where there is neither without a shape."""
        if isinstance(self.subject, Layout | Format):
            return self.subject
        raise ShapeError("this says nothing about the shape.", hint="pass shape=(...)", got=self.format)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the tensor; of a layout of threads and values, that of the tile that they hold."""
        told = getattr(self.spelling, "shape", None) if self.threads else None
        return told if told is not None or self.layout is None else self.layout.extents

    @property
    def threads(self) -> bool:
        """Whether the layout is one of threads and values, as its notation tells."""
        return bool(getattr(self.spelling, "threads", False))

    @property
    def placed(self) -> Layout:
        """The layout; refused while the shape is unknown."""
        if self.layout is None:
            raise ShapeError(
                f"{self.format} has no shape yet: its layout depends on it.",
                hint="pass shape=(...)",
                format=self.format,
            )
        return self.layout

    def at(self, shape: Any, *, left_pad: Any = None, right_pad: Any = None) -> Resolved:
        """The operand for a tensor of that shape, in the order of its axes; a layout must have the shape already."""
        sizes = tuple([as_int(n, "shape") for n in (shape if hasattr(shape, "__iter__") else (shape,))])
        if isinstance(self.format, Format):
            return self._replace(layout=self.format.layout(sizes, left_pad=left_pad, right_pad=right_pad))
        if left_pad is not None or right_pad is not None:
            raise ShapeError(
                f"{self.subject} has its shape and padding already.", hint="leave padding out", layout=self.subject
            )
        if self.format is not None:
            placed = self._replace(layout=self.format.layout(sizes))
            return placed._replace(spelling=placed.spelling.of_shape(sizes)) if self.threads else placed  # type: ignore[union-attr]
        if self.shape != sizes:
            raise ShapeError(
                f"{self.layout} has the extents {self.shape}, not {shown(shape)}.",
                hint="leave the shape out, or give a layout of that shape",
                layout=self.layout,
                shape=shape,
            )
        return self

    def aligned(self, axes: str) -> Resolved:
        """The operand with its dimensions in the order of ``axes``: matched by name, or named by position."""
        fmt = self.format.aligned(axes) if isinstance(self.format, Format) else self.format
        if self.layout is None:
            return self._replace(format=fmt, axes=axes)
        names = checked_axes(axes, self.layout.rank)
        if self.axes in (None, axes):
            return self._replace(format=fmt, axes=names)
        if set(axes) != set(self.axes or ""):
            raise ShapeError(
                f"the axes {axes!r} are not the axes {self.axes!r} of the data.",
                hint="give the same letters in your order",
                axes=axes,
            )
        order = [(self.axes or "").index(name) for name in axes]
        return self._replace(layout=self.layout.permute(*order), format=fmt, axes=names)

    def for_data(self, shape: Any, axes: str | None = None) -> Resolved:
        """The operand for data of that shape: names meet by name, and data without names by position.

        Where position would be a guess it is refused with the readings: ``AmbiguousAxes``.
        """
        if axes is not None:
            return self.aligned(axes).at(shape)
        self.check_position(shape)
        return self.at(shape)

    def check_position(self, shape: Any) -> None:
        """Refuse to take data of that shape, whose dimensions have no names, by position where that is a guess."""
        if isinstance(self.format, Format) and self.format.axes is not None:
            from .axes import check_letters, check_storage

            check_letters(self.format, self.text, tuple(shape))
            check_storage(self.format, self.text or str(self.format), tuple(shape))

    @property
    def stored_shape(self) -> tuple[int, ...] | None:
        """The shape of the array that holds the layout, if the operand tells: of a format one axis for each factor."""
        if isinstance(self.format, Format):
            return self.format._stored_shape(self.placed)
        tell = getattr(self.format, "stored_shape", None)
        return None if tell is None else tuple(tell(self.placed.extents))

    def to(self, dialect: str, *, padded: bool = False, dtype: Any = None) -> str:
        """The operand in the words of a dialect: of the one that it was read in, with all that its text said."""
        from .read import read
        from .render import render

        kind = self.element if dtype is None else dtype
        name, _, style = dialect.partition(":")
        if style and self.spelling is not None and self.spelling.dialect == name and not padded:
            styled = getattr(self.spelling, "text_in", None)
            if styled is not None:
                return str(styled(style, self.shape))
        if self.spelling is not None and self.spelling.dialect == dialect and not padded:
            written = self.spelling.text(None if self.layout is None else self.layout.extents, kind)
            if self._is_said_by(read(written, dialect, None)):
                return written
        return render(self.description, dialect, padded=padded, dtype=kind)

    def _is_said_by(self, other: Any) -> bool:
        if self.threads and not isinstance(other, Layout):
            other = other.layout(self.shape)
        if self.layout is None or not isinstance(other, Layout):
            return bool(other == self.subject)
        return other.equivalent(self.layout) and other.storage_size == self.layout.storage_size

    @property
    def width_mismatch(self) -> str | None:
        """Why the elements are not those that the format is made for; None if they are, or nothing tells."""
        bits = self.format.element_bits if isinstance(self.format, Format) else None
        if bits is None or self.element is None or bits == self.element.bits:
            return None
        return f"{self.text or self.format} is made for elements of {bits} bits, not for {self.element.name}."

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import html_of

        return html_of(self)


def resolve(
    x: Any,
    *,
    dialect: str | None = None,
    shape: Any = None,
    axes: str | None = None,
    element: Any = None,
    fill: Any = None,
) -> Resolved:
    """What ``x`` means: a text in any dialect, a name of the catalog, an einops pattern, a format, a layout, a tensor.

    ``axes`` are the dimensions of the data in their order: a format that names its own is aligned to them. ``element``,
    a type or an interface, comes before the type that a text carries, and chooses the form of a name that depends on
    the width. ``fill`` comes before a format's own.
    """
    kind = _element(element)
    names: str | None = None
    spelling: Spelling | None = None
    subject: Any
    if isinstance(x, Layout | Format) and dialect is None:
        subject = x
    elif isinstance(x, str) and dialect is None and (entry := _entry_named(x.strip())) is not None:
        subject = entry.at(None if kind is None else kind.bits)
    elif isinstance(x, str):
        from .read import element_in, read, spelling_in
        from .shardings import read_sharding

        if (sharding := read_sharding(x, dialect)) is not None:
            raise _on_many_devices(x, sharding)
        subject = read(x, dialect, None if kind is None else kind.bits)
        _check_one_layout(x, subject)
        kind = kind or element_in(x, dialect)
        spelling = spelling_in(x, dialect)
    elif dialect is not None:
        raise ShapeError(f"a dialect reads texts, got {shown(x)}.", hint="leave the dialect out", got=x)
    elif (of_bases := _spelling_of_bases(x)) is not None:
        subject, spelling = of_bases.layout(of_bases.sizes), of_bases
    else:
        _check_one_layout(x, x)
        subject, names = _layout_of(x), getattr(x, "axes", None)
        kind = kind or _element(getattr(x, "interface", None))
    if isinstance(subject, Layout):
        resolved = Resolved(subject, None, names, fill, kind, None, spelling)
    else:
        own = subject.fill if isinstance(subject, Format) else None
        given = subject.axes if isinstance(subject, Format) else None
        text = x if isinstance(x, str) and dialect is None else None
        resolved = Resolved(None, subject, given, own if fill is None else fill, kind, text, spelling)
    if axes is not None:
        resolved = resolved.aligned(axes)
    wanted = getattr(resolved.format, "own_shape", None) if shape is None else shape
    return resolved if wanted is None else resolved.at(wanted)


def resolve_together(
    operands: Sequence[Resolved], *, shape: Any = None, axes: str | None = None, data: bool = False
) -> list[Resolved]:
    """Operands over the same coordinates: names of axes meet by name, in the order of ``axes``, else of the first.

    What has no names, or meets none, is taken by position. Those without a shape get ``shape``, in that order, or the
    one that another operand has. A layout without names is taken for that of data: where position would be a guess it
    is refused, for a word by its letters, and with ``data`` by the storage, too.
    """
    order = axes or next((x.axes for x in operands if x.axes and x.format is None), None)
    order = order or next((x.axes for x in operands if x.axes), None)
    several = axes is not None or sum(x.axes is not None for x in operands) > 1
    extents = next((x.layout.extents for x in operands if x.layout is not None and x.axes is None), None)
    if extents is not None and axes is None:
        for x in operands:
            if data:
                x.check_position(extents)
            elif isinstance(x.format, Format):
                from .axes import check_letters

                check_letters(x.format, x.text, extents)
    met = [x.aligned(order) if order and several and (axes or x.axes) else x for x in operands]
    if shape is None:
        shape = next((x.shape for x in met if x.layout is not None), None)
        return met if shape is None else [x if x.layout is not None else x.at(shape) for x in met]
    return [x.at(shape) for x in met]


def parse(
    text: str, dialect: str | None = None, shape: Any = None, *, dtype: Any = None
) -> Layout | Format | Record | Sharding | LinearLayout:
    """The layout, the format, the record or the sharding that ``text`` writes down; with a shape always that of it.

    Triton's encodings of tensors are linear layouts, from register, lane, warp and block to the coordinate.

    The dialect is the one named, or a prefix of the text (``cute:(3,4):(4,1)``), or recognised when only one fits. A
    name of the catalog is read as well (``tensorrt:kCHW32``); where it depends on the width of the elements, ``dtype``
    tells it.
    """
    if isinstance(text, str):
        from .read import read_record
        from .shardings import read_sharding

        if dialect is None and shape is None and (record := read_record(text.strip())) is not None:
            return record
        if (sharding := read_sharding(text, dialect, _rank(shape))) is not None:
            return sharding if shape is None else sharding.at(shape)
        if (threads := _read_threads(text, dialect)) is not None:
            return threads.linear(shape)
    return resolve(text, dialect=dialect, shape=shape, element=dtype).description


def _read_threads(text: str, dialect: str | None) -> TtgText | None:
    """What a text of Triton's says, if it deals a tensor to threads."""
    from . import ttg

    own = text.strip().removeprefix("ttg:")
    if dialect not in (None, "ttg") or not ttg.is_likely(own):
        return None
    try:
        found = ttg.spelling(own)
    except LayoutError:  # of another dialect, or refused below
        return None
    return found if found.threads else None


def _spelling_of_bases(x: Any) -> TtgText | None:
    """A linear layout of threads, or of offsets, as the encoding that is written by its bases."""
    from ..algebra.linear import LinearLayout

    if not isinstance(x, LinearLayout):
        return None
    from .ttg_finding import linear_encoding
    from .ttg_text import TtgText

    return TtgText(linear_encoding(x), tuple(x.out_dims.values()))


def _rank(shape: Any) -> int | None:
    return len(shape) if hasattr(shape, "__len__") else None if shape is None else 1


def _entry_named(name: str) -> Entry | None:
    """What our tables have under that name, found without a reader of notations; it tells no type of elements."""
    if ":" not in name:
        return None
    from ..format.entries import own_entry

    return own_entry(name)


def _check_one_layout(x: Any, found: Any) -> None:
    """Refuse a sharding and a record, which have several layouts."""
    if isinstance(found, Layout | Format):
        return
    from ..format.record import Record
    from .shardings import is_sharding

    if is_sharding(found):
        raise _on_many_devices(x, found)
    if isinstance(found, Record):
        raise _several_layouts(x, found)


def _on_many_devices(x: Any, sharding: Sharding) -> ShapeError:
    return ShapeError(
        f"{shown(x)} is a sharding: it says which device holds what, not where in memory.",
        hint="parse, compare, explain and draw take it; sharding.local_layout(device) is the layout of one part",
        sharding=sharding,
    )


def _several_layouts(x: Any, record: Record) -> ShapeError:
    names = ", ".join([field.name for field in record.fields])
    return ShapeError(
        f"{shown(x)} is a record of the fields {names}: each has a layout of its own.",
        hint=f"record.planes({record.fields[-1].name!r}, shape) has those of one; unpack, pack and decode move data",
        record=record,
    )


def _element(x: Any) -> Element | None:
    if x is None or isinstance(x, Interface):
        return None if x is None else x.element
    found = named_encoding(x)
    return element_of(x) if found is None else found.element


def _layout_of(x: Any) -> Layout | Format | Shapeless:
    """The layout that a tensor or an inference has, or ``x`` itself if it makes one of a shape."""
    found = getattr(x, "layout", None)
    if isinstance(found, Layout):
        return found
    if callable(found) and not isinstance(x, type):
        return x  # type: ignore[no-any-return]
    from ..hardware.atom import Atom

    if isinstance(x, Atom):
        named = ", ".join([f"atom.{operand.name}" for operand in x.operands])
        raise ShapeError(
            f"{x.name} is an instruction, with a layout for each operand.", hint=f"ask about {named}", got=x
        )
    hint = "rl.infer(array).layout is that of an array" if hasattr(x, "shape") else "rl.parse(text) makes one"
    raise ShapeError(f"expected a layout, a format, a tensor or a text, got {shown(x)}.", hint=hint, got=x)
