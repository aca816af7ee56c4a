"""Plans: how the elements of one layout get to another, decided once and run on any buffers."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..dialects import with_shape
from ..elements import element as element_of
from ..errors import OutOfBounds, Overlap, ShapeError
from ..format import Format
from ..image import offset_range
from ..immutable import Immutable
from ..interface import Interface, Plain, ScaleOffset
from ..inttuple import as_int
from ..layout import Layout
from ..making import empty, placement
from ..memory import fresh
from ..nested import flatten
from ..tensor import Tensor
from .buffers import flat_memory
from .loops import check_extents
from .program import compiled, prove_places
from .pure import common_loops, copy_elements

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Plan(Immutable):
    """A copy between two layouts of one shape; it may be run many times, by many threads.

    The target has a place for every element. With ``fill``, the bytes of one stored element, a run also writes every
    other place of the target's storage; without, nothing but elements is written. Elements of one type are moved bit by
    bit; ``dst_element`` is another type or interface, to which values are converted.
    """

    __slots__ = ("_direct", "_threads", "dst_element", "element", "fill", "source", "target", "threads")
    source: Layout
    target: Layout
    element: Interface
    dst_element: Interface
    fill: bytes | None
    threads: int | None
    _direct: Any
    _threads: int

    def __new__(
        cls,
        source: Any,
        target: Any,
        element: Any,
        dst_element: Any = None,
        *,
        fill: Any = None,
        threads: int | None = None,
    ) -> Plan:
        return _made(*_checked(source, target, element, dst_element, fill, threads))

    def _parts(self) -> tuple[Any, ...]:
        return self.source, self.target, self.element, self.dst_element, self.fill, self.threads

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, self._parts()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        words = [repr(self.source), repr(self.target), repr(self.element)]
        if self.dst_element != self.element:
            words.append(repr(self.dst_element))
        return f"<Plan {' '.join(words)}>"

    def __call__(self, x: Any, out: Any = None) -> Any:
        """Copy ``x`` to ``out``, which is returned; without it to memory of its own, where the rest is the fill, or 0.

        Both are flat memory (of numpy, of a library with DLPack, or bytes), tensors of the plan's layouts, arrays of
        its extents and strides, or arrays of any other shape with all of the storage. What is new is flat memory, and a
        tensor if ``x`` is one. Source and target must not share what they read and write.
        """
        if self._direct is not None and self._direct(x, out, self._threads) == 0:
            return out
        result = out
        if out is None:
            memory = fresh(self.dst_element.element, self.target.storage_size)
            out = memory.bytes if memory.typed is None else memory.typed
            result = Tensor(out, self.target, self.dst_element, axes=x.axes) if isinstance(x, Tensor) else out
        source = flat_memory(x, self.source, self.element.element, "source")
        target = flat_memory(out, self.target, self.dst_element.element, "target")
        self._check(source, target)
        self._copy(source, target)
        return result

    def _check(self, x: NDArray[Any], out: NDArray[Any]) -> None:
        """Refuse flat memory that is too short, cannot be written, or is used for both."""
        if not out.flags.writeable:
            raise ShapeError("the target's memory is read-only.", hint="pass a writable array")
        touched = []
        for array, layout, means, fill, what in (
            (x, self.source, self.element, None, "source"),
            (out, self.target, self.dst_element, self.fill, "target"),
        ):
            bits = means.element.bits
            low, high = (0, layout.storage_size - 1) if fill is not None else (0, -1)
            if fill is None and layout.size:
                low, high = offset_range(layout)
            count = array.nbytes * 8 // bits
            if high >= count:
                raise OutOfBounds(
                    f"the {what} {layout} goes up to {high}, and its memory has {count} elements.",
                    hint="give more memory",
                    layout=layout,
                )
            address = array.__array_interface__["data"][0]
            touched.append((address + low * bits // 8, address - (-(high + 1) * bits // 8)))
        (a, a_end), (b, b_end) = touched
        if a < b_end and b < a_end and a < a_end and b < b_end:
            raise Overlap("source and target share memory.", hint="copy the source first")

    def _copy(self, x: NDArray[Any], out: NDArray[Any]) -> None:
        """Fill and copy between flat memories that are known to fit."""
        if self._direct is not None and self._direct(x, out, self._threads) == 0:
            return
        kind = self.dst_element.element
        if self.fill is not None:
            _fill(out, kind.bits * self.target.storage_size, self.fill)
        if self.element != self.dst_element:
            Tensor(out, self.target, self.dst_element).copy_from(Tensor(x, self.source, self.element))
        else:
            copy_elements(self.source, self.target, kind, x, out)

    def explain(self) -> str:
        """What a run does, in words and numbers."""
        kind = self.element.element
        bits = kind.bits * self.source.size
        lines = [f"{self.source.size} elements of {kind.name}, {-(-bits // 8)} bytes."]
        loops = common_loops(self.source, self.target)
        if loops is None:
            return f"{lines[0]}\nEvery element by its two offsets: the layouts have no common loops."
        pieces = sorted(loops.pieces, key=lambda piece: -piece.size)
        lengths = [len(table.source) for table in loops.tables]
        lines += [f"For each of {n} coordinates whose blocks do not divide each other:" for n in lengths]
        for piece in pieces[:4]:
            words = ", ".join([f"{n} ({a} -> {b})" for n, a, b in piece.loops]) or "1"
            lines.append(f"{piece.size} elements in the loops {words}.")
        if len(pieces) > 4:
            lines.append(f"... and {len(pieces) - 4} smaller pieces at the edges.")
        return "\n".join(lines)


def plan(
    source: Layout | Format | str,
    target: Layout | Format | str,
    element: Any,
    dst_element: Any = None,
    *,
    fill: Any = None,
    threads: int | None = None,
) -> Plan:
    """The plan for two layouts of one shape, which one of them must have, and this type of elements; plans are kept.

    ``fill`` is a stored value of the target, or ``"qzero"``, for its storage beside the elements. ``threads`` defaults
    to ``RELAYOUT_THREADS`` in the environment, else to all processors.
    """
    return _kept(*_checked(source, target, element, dst_element, fill, threads))


def _checked(source: Any, target: Any, element: Any, dst_element: Any, fill: Any, threads: Any) -> tuple[Any, ...]:
    """The parts of a plan, each in its one form."""
    means = _meaning(element)
    to = means if dst_element is None else _meaning(dst_element)
    first, second = source, target
    if not isinstance(first, Layout) or not isinstance(second, Layout):
        first, second = placement(first, means.element), placement(second, to.element)
        shape = next((x.extents for x in (first, second) if isinstance(x, Layout)), None)
        if shape is None:
            raise ShapeError(
                f"neither {first} nor {second} has a shape.", hint="format.layout(shape), or rl.parse(text, shape=...)"
            )
        first, second = with_shape(first, shape), with_shape(second, shape)
    if threads is not None and as_int(threads, "threads") < 1:
        raise ShapeError(f"a plan runs on 1 thread or more, not on {threads}.", hint="leave threads out", got=threads)
    code = None if fill is None else stored_bytes(to, fill)
    return first, second, means, to, code, None if threads is None else as_int(threads, "threads")


def _meaning(x: Any) -> Interface:
    """An interface; the stored integers of a quantised type whose scale is not told."""
    return x if isinstance(x, Plain | ScaleOffset) else Plain(element_of(x).underlying.name)


def stored_bytes(means: Interface, fill: Any) -> bytes:
    """The bytes of one element that holds a stored value, or of eight that share bytes."""
    kind = means.element
    if fill.__class__ is int and kind.integral and kind.bits >= 8 and kind.limits[0] <= fill <= kind.limits[1]:
        return int(fill).to_bytes(kind.bytes, sys.byteorder, signed=fill < 0)
    one: bytes = empty(Layout(8 if kind.bits < 8 else 1), means, fill=fill).raw.tobytes()
    return one


def _made(
    source: Layout, target: Layout, element: Interface, dst_element: Interface, fill: bytes | None, threads: int | None
) -> Plan:
    for layout in (source, target):
        _check_places_in_memory(layout)
    check_extents(source, target)
    dense = prove_places(target)
    direct = None
    if element == dst_element and (fill is None or dense):
        direct = compiled(source, target, element.element, fill)
    self = object.__new__(Plan)
    values = (direct, threads or 0, dst_element, element, fill, source, target, threads)
    for name, value in zip(Plan.__slots__, values):
        object.__setattr__(self, name, value)
    return self


_kept = lru_cache(maxsize=1024)(_made)


def _check_places_in_memory(layout: Layout) -> None:
    """Refuse a layout of coordinates, or one that goes below 0."""
    if not layout.has_basis:
        if layout.offset >= 0 and min(flatten(layout.stride), default=0) >= 0 and layout.swizzle is None:
            return
        if not layout.size or layout.min_offset >= 0:
            return
    raise ShapeError(f"{layout} goes below 0, or has no places in memory.", hint="add to its offset", layout=layout)


def _fill(out: NDArray[Any], bits: int, pattern: bytes) -> None:
    """Repeat the pattern over the first so many bits of flat memory."""
    import numpy as np

    data = out.view(np.uint8)
    whole, rest = divmod(bits, 8)
    if whole % len(pattern) == 0 and out.itemsize == len(pattern):
        out[: whole // len(pattern)] = np.frombuffer(pattern, out.dtype)
    else:
        data[:whole] = np.resize(np.frombuffer(pattern, np.uint8), whole)
    if rest:
        last = pattern[whole % len(pattern)]
        data[whole] = (int(data[whole]) >> rest << rest) | (last & ((1 << rest) - 1))
