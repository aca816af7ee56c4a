"""Plans: how the elements of one layout get to another, decided once and run on any buffers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..dialects.resolve import resolve, resolve_together
from ..elements.encoding import named_encoding
from ..elements.interface import Interface, Plain, same_meaning
from ..elements.types import Element
from ..elements.types import element as element_of
from ..errors import ShapeError
from ..format.format import Format
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..layout.layout import Layout
from ..tensors.tensor import check_channels
from .cpu.callable import NativeCallable
from .fill import fill_bytes
from .nest import check_extents
from .places import check_in_memory, prove_places
from .ways import DEVICE, NativeWay, Progress, Way, choose_way, way_of_call

if TYPE_CHECKING:
    from ..dialects.registry import Shapeless
    from .blocks import Block

MAX_THREADS = 256
"""No run has more."""


class Plan(Immutable, NativeCallable):
    """A copy between two layouts of one shape; it may be run many times, by many threads.

    The target has a place for every element. With ``fill``, the bytes of one stored element, a run also writes every
    other place of the target's box, and gaps between them; without, nothing but elements. ``new_fill`` is for memory
    that a run makes itself. Elements of one type are moved bit by bit; ``dst_element`` is another type or interface, to
    which values are converted.

    ``plan(x, out=None, *, progress=None)`` copies ``x`` to ``out``, which is returned; without it to new memory, where
    the rest is the fill, or 0. Both are flat memory (of numpy, of a library with DLPack, or bytes), tensors of the
    plan's layouts, arrays of its extents and strides, or arrays of any other shape with all of the storage. What is new
    is flat memory, for the library of ``x``, and a tensor if ``x`` is one. Source and target must not share what they
    read and write. ``progress(done, total)`` is called with the bytes of the target after every part of it; when it
    returns False the run stops with ``Cancelled``. Arrays on a CUDA device are copied there, on the caller's stream.

    ``way.name`` tells which engine copies between flat memories: ``native``, a program of the compiled core for these
    layouts; ``general``, its walk through any two layouts; ``strided``, numpy's copies; ``recoded``, elements looked up
    in a table and moved by one of these; ``encoded``, values converted by numpy. Tensors whose blocks are scattered,
    and arrays on a device, are copied by ways of their own.
    """

    __slots__ = ("dst_element", "element", "fill", "new_fill", "source", "target", "threads", "way")
    source: Layout
    target: Layout
    element: Interface
    dst_element: Interface
    fill: bytes | None
    new_fill: bytes | None
    threads: int | None
    way: Way

    def __new__(
        cls,
        source: Any,
        target: Any,
        element: Any,
        dst_element: Any = None,
        *,
        shape: Any = None,
        axes: str | None = None,
        fill: Any = None,
        threads: int | None = None,
    ) -> Plan:
        return make_plan(*_resolve_parts(source, target, element, dst_element, shape, axes, fill, threads))

    def _parts(self) -> tuple[Any, ...]:
        return self.source, self.target, self.element, self.dst_element, self.fill, self.threads, self.new_fill

    def __reduce__(self) -> tuple[Any, ...]:
        return make_plan, self._parts()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        words = [repr(self.source), repr(self.target), repr(self.element)]
        if self.dst_element != self.element:
            words.append(repr(self.dst_element))
        words.append(self.way.name)
        return f"<Plan {' '.join(words)}>"

    def _run(self, x: Any, out: Any = None, *, progress: Progress | None = None) -> Any:
        return way_of_call(self, x, out).run(self, x, out, progress)

    def blocks(self, max_bytes: int) -> Iterator[Block]:
        """The target cut into independent parts, each a plan of its own, in the order of memory.

        Every element, and with a fill every place of the box, is in exactly one part. The ranges that they write do not
        meet, and have at most ``max_bytes``; where the target cannot be cut further, since the next slower digit is
        not the highest of its dimension or strides interleave, a part is larger.
        """
        most = as_int(max_bytes, "max_bytes")
        if most < 1:
            raise ShapeError(f"a block has at least one byte, not {most}.", hint="give max_bytes >= 1", got=max_bytes)
        from .blocks import blocks_of

        return blocks_of(self, most * 8 // self.dst_element.element.bits)

    def _part(self, source: Layout, target: Layout, index: tuple[int, ...]) -> Plan:
        """The plan for some of the elements, from ``index`` on."""
        from .blocks import interface_of_part

        element, dst_element = [interface_of_part(x, index, target.extents) for x in (self.element, self.dst_element)]
        return make_plan(source, target, element, dst_element, self.fill, self.threads)

    def explain(self) -> str:
        """What a run does, in words and numbers; the speed is a rough guess."""
        from ..ask.notebook_text import NotebookText
        from .explain import explain

        return NotebookText(explain(self))

    def _repr_html_(self) -> str:
        from ..ask.notebook_text import NotebookText

        return NotebookText(self.explain())._repr_html_()


def plan(
    source: Layout | Format | Shapeless | str,
    target: Layout | Format | Shapeless | str,
    element: Any,
    dst_element: Any = None,
    *,
    shape: Any = None,
    axes: str | None = None,
    fill: Any = None,
    threads: int | None = None,
) -> Plan:
    """The plan for two layouts of one shape and this type of elements; plans are cached.

    Source and target are layouts, formats, texts in any dialect or einops patterns. ``shape`` is that of the data, if
    neither of them has one. Where both name their axes they meet by name, in the order of ``axes``, else of the source.

    ``fill`` is a stored value of the target, or ``"qzero"``, for its box beside the elements. Memory that a run makes
    itself holds it, else the fill of the format, else 0. ``threads`` defaults to ``RELAYOUT_THREADS`` in the
    environment, else to all processors.
    """
    return _cached_plan(*_resolve_parts(source, target, element, dst_element, shape, axes, fill, threads))


def _resolve_parts(
    source: Any, target: Any, element: Any, dst_element: Any, shape: Any, axes: Any, fill: Any, threads: Any
) -> tuple[Any, ...]:
    """The arguments of a plan as ``make_plan`` takes them."""
    interface = _interface_of(element)
    to = interface if dst_element is None else _interface_of(dst_element)
    usual = fill
    if not (isinstance(source, Layout) and isinstance(target, Layout) and shape is axes is None):
        operands = resolve(source, element=interface), resolve(target, element=to, fill=fill)
        first, second = resolve_together(operands, shape=shape, axes=axes, data=True)
        source, target, usual = first.placed, second.placed, second.fill
    code = None if fill is None else fill_bytes(to, fill)
    new_code = code if usual is fill or usual is None else fill_bytes(to, usual)
    return source, target, interface, to, code, check_threads(threads), new_code


def check_threads(threads: Any) -> int | None:
    """A number of threads, or None for as many as there should be."""
    if threads is None:
        return None
    number = as_int(threads, "threads")
    if not 1 <= number <= MAX_THREADS:
        raise ShapeError(f"a run has 1 to {MAX_THREADS} threads, not {number}.", hint="leave threads out", got=threads)
    return number


def _interface_of(x: Any) -> Interface:
    """An interface; the stored integers of a quantised type whose scale is not told."""
    if isinstance(x, Interface):
        return x
    return named_encoding(x) or Plain(element_of(x).underlying.name)


def make_plan(
    source: Layout,
    target: Layout,
    element: Interface,
    dst_element: Interface,
    fill: bytes | None,
    threads: int | None,
    new_fill: bytes | None = None,
    *,
    on_device: bool = False,
) -> Plan:
    """A plan of parts that are known to be what they should be, but not to fit together.

    One for a device has no program of the host.
    """
    for layout in (source, target):
        check_in_memory(layout)
    check_extents(source, target)
    dst_element = element if same_meaning(element, dst_element) else dst_element
    for interface in (element, dst_element):
        if interface.axis is not None:
            check_channels(interface, target)
    dense = prove_places(target)
    way = DEVICE if on_device else choose_way(source, target, element, dst_element, fill, threads, dense)
    self = object.__new__(Plan)
    for name, value in (
        ("_program_with_fill", way.element_program if isinstance(way, NativeWay) and way.fills else None),
        ("source", source),
        ("target", target),
        ("element", element),
        ("dst_element", dst_element),
        ("fill", fill),
        ("new_fill", new_fill),
        ("threads", threads),
        ("way", way),
    ):
        object.__setattr__(self, name, value)
    return self


_cached_plan = lru_cache(maxsize=1024)(make_plan)


@lru_cache(maxsize=1024)
def plan_of_elements(source: Layout, target: Layout, element: Element) -> Plan:
    """The plan that moves stored elements as they are, and writes nothing else."""
    kind = Plain(element.underlying)
    return make_plan(source, target, kind, kind, None, None)
