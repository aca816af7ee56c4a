"""Plans: how the elements of one layout get to another, decided once and run on any buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from ..dialects.registry import with_shape
from ..elements.interface import Interface, Plain, ScaleOffset
from ..elements.memory import allocate
from ..elements.types import element as element_of
from ..errors import Cancelled, NotExpressible, ShapeError
from ..format.format import Format
from ..immutable import Immutable
from ..integers.inttuple import as_int
from ..integers.nested import product
from ..layout.layout import Layout
from ..tensors.make import empty, placement
from ..tensors.tensor import Tensor, _check_channels
from .blocks import Block, blocks
from .buffers import check_tensor, flat_memory, for_library_of, needs_table
from .callable import NativeCallable
from .copying import as_tensor, check_apart, check_memory, copied_at_once, copy_blocks, copy_flat, fill_range
from .gpu import on_device
from .nest import check_extents
from .places import box_range, check_in_memory, prove_places
from .program import carrier, compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

Progress: TypeAlias = Callable[[int, int], Any]
"""Called with the bytes that are done and those that there are; False stops the run."""

MAX_THREADS = 256
"""No run has more."""

PART_BYTES = 64 << 20
"""The bytes of the target between two calls."""


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
    """

    __slots__ = (
        "_program",
        "_threads",
        "dst_element",
        "element",
        "fill",
        "new_fill",
        "source",
        "target",
        "threads",
    )
    source: Layout
    target: Layout
    element: Interface
    dst_element: Interface
    fill: bytes | None
    new_fill: bytes | None
    threads: int | None
    _compiled: Any  # a program for all of it, fill included
    _program: Any  # the same, or one that copies the elements after the fill
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
        return make_plan(*_checked(source, target, element, dst_element, fill, threads))

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
        return f"<Plan {' '.join(words)}>"

    def _run(self, x: Any, out: Any = None, *, progress: Progress | None = None) -> Any:
        if on_device(x) or on_device(out):
            from .gpu.run import run_plan

            return run_plan(self, x, out, progress)
        if needs_table(x, self.source) or needs_table(out, self.target):
            return self._between_tensors(x, out, progress)
        result = out
        if out is None:
            out = self._fresh()
            result = self._tensor_like(x, out) if isinstance(x, Tensor) else for_library_of(x, out, out)
        source = flat_memory(x, self.source, self.element.element, "source")
        target = flat_memory(out, self.target, self.dst_element.element, "target")
        if progress is None and copied_at_once(self, source, target):
            return result
        check_memory(self, source, target)
        if progress is None:
            copy_flat(self, source, target)
        else:
            self._in_parts(source, target, progress)
        return result

    def _fresh(self) -> NDArray[Any]:
        """Memory for the target that holds the fill, or 0, wherever a run does not write."""
        memory = allocate(self.dst_element.element, self.target.storage_size)
        out = memory.bytes if memory.typed is None else memory.typed
        if self.new_fill is not None and any(self.new_fill):
            kept = self.target.storage_size if self.fill is None else box_range(self.target)[0]
            fill_range(out.view(carrier(memory.element)), (0, kept), memory.element, self.new_fill)
        return out

    def _tensor_like(self, x: Tensor, out: NDArray[Any]) -> Tensor:
        return Tensor(
            out, self.target, x.interface if self.element == self.dst_element else self.dst_element, axes=x.axes
        )

    def _between_tensors(self, x: Any, out: Any, progress: Progress | None) -> Any:
        """The copy where the blocks of one side are scattered."""
        if self.fill is not None:
            raise NotExpressible("scattered blocks are not filled.", hint="make a plan without a fill", target=out)
        if out is None:
            out = self._tensor_like(x, self._fresh())
        sides = []
        for side, layout, means, what in (
            (x, self.source, self.element, "source"),
            (out, self.target, self.dst_element, "target"),
        ):
            if needs_table(side, layout):
                check_tensor(side, side.layout, layout, means.element, what)
                sides.append(side)
            else:
                sides.append(as_tensor(flat_memory(side, layout, means.element, what), layout, means))
        check_apart(sides[0], sides[1])
        copy_blocks(sides[0], sides[1], self.threads)
        if progress is not None:
            total = -(-self.dst_element.element.bits * self.target.size // 8)
            _tell(progress, total, total)
        return out

    def _in_parts(self, x: NDArray[Any], out: NDArray[Any], progress: Progress) -> None:
        """Run block by block, and tell of each."""
        bits = self.dst_element.element.bits
        filled = self.fill is not None
        low, high = box_range(self.target)
        total = -(-bits * (high - low if filled else self.target.size) // 8)
        done = 0
        for block in self.blocks(PART_BYTES):
            copy_flat(block.plan(), x, out)
            low, high = block.target_range
            done = min(done - (-bits * (high - low if filled else product(block.shape)) // 8), total)
            _tell(progress, done, total)

    def blocks(self, max_bytes: int) -> Iterator[Block]:
        """The target cut into independent parts, each a plan of its own, in the order of memory.

        Every element, and with a fill every place of the box, is in exactly one part. The ranges that they write do not
        meet, and have at most ``max_bytes``; where the target cannot be cut further, since the next slower digit is
        not the highest of its dimension or strides interleave, a part is larger.
        """
        most = as_int(max_bytes, "max_bytes")
        if most < 1:
            raise ShapeError(f"a block has at least one byte, not {most}.", hint="give max_bytes >= 1", got=max_bytes)
        return blocks(self, most * 8 // self.dst_element.element.bits)

    def explain(self) -> str:
        """What a run does, in words and numbers; the speed is a rough guess."""
        from .explain import explain

        return explain(self)


def _tell(progress: Progress, done: int, total: int) -> None:
    if progress(done, total) is False:
        raise Cancelled(
            f"the run was stopped after {done} of {total} bytes.",
            hint="what was not yet written is as it was",
            done=done,
            total=total,
        )


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

    ``fill`` is a stored value of the target, or ``"qzero"``, for its box beside the elements. Memory that a run makes
    itself holds it, else the fill of the format, else 0. ``threads`` defaults to ``RELAYOUT_THREADS`` in the
    environment, else to all processors.
    """
    return _kept(*_checked(source, target, element, dst_element, fill, threads))


def _checked(source: Any, target: Any, element: Any, dst_element: Any, fill: Any, threads: Any) -> tuple[Any, ...]:
    """The parts of a plan, each in its one form."""
    means = _meaning(element)
    to = means if dst_element is None else _meaning(dst_element)
    first, second, usual = source, target, None
    if not isinstance(first, Layout) or not isinstance(second, Layout):
        first, second = placement(first, means.element), placement(second, to.element)
        shape = next((x.extents for x in (first, second) if isinstance(x, Layout)), None)
        if shape is None:
            raise ShapeError(
                f"neither {first} nor {second} has a shape.", hint="format.layout(shape), or rl.parse(text, shape=...)"
            )
        usual = second.fill if isinstance(second, Format) else None
        first, second = with_shape(first, shape), with_shape(second, shape)
    code = None if fill is None else stored_bytes(to, fill)
    usual = code if fill is not None or usual is None else stored_bytes(to, usual)
    return first, second, means, to, code, checked_threads(threads), usual


def checked_threads(threads: Any) -> int | None:
    """A number of threads, or None for as many as there should be."""
    if threads is None:
        return None
    number = as_int(threads, "threads")
    if not 1 <= number <= MAX_THREADS:
        raise ShapeError(f"a run has 1 to {MAX_THREADS} threads, not {number}.", hint="leave threads out", got=threads)
    return number


def _meaning(x: Any) -> Interface:
    """An interface; the stored integers of a quantised type whose scale is not told."""
    return x if isinstance(x, Plain | ScaleOffset) else Plain(element_of(x).underlying.name)


def stored_bytes(means: Interface, fill: Any) -> bytes:
    """The bytes of one element that holds a stored value, or of eight that share bytes."""
    # 0.0 and -0.0 are equal; their words are not.
    return _stored(means, fill, repr(fill)) if isinstance(fill, int | float | str) else _stored.__wrapped__(means, fill)


@lru_cache(maxsize=256)
def _stored(means: Interface, fill: Any, word: str = "") -> bytes:
    bits = means.element.bits
    channels = () if means.axis is None else (*[1] * means.axis, len(means.scale))  # type: ignore[arg-type]
    filled = empty(Layout((*channels, 8)), means, fill=fill).raw.tobytes()
    return filled[: bits if bits < 8 else bits // 8]


def make_plan(
    source: Layout,
    target: Layout,
    element: Interface,
    dst_element: Interface,
    fill: bytes | None,
    threads: int | None,
    new_fill: bytes | None = None,
) -> Plan:
    """A plan of parts that are known to be what they should be, but not to fit together."""
    for layout in (source, target):
        check_in_memory(layout)
    check_extents(source, target)
    for means in (element, dst_element):
        if means.axis is not None:
            _check_channels(means, target)
    dense = prove_places(target)
    at_once = fill is None or (dense and element == dst_element)
    program = compiled(source, target, element, dst_element, fill if at_once else None, threads=threads or 0)
    self = object.__new__(Plan)
    for name, value in (
        ("_compiled", program if at_once else None),
        ("_program", program),
        ("_threads", threads or 0),
        ("source", source),
        ("target", target),
        ("element", element),
        ("dst_element", dst_element),
        ("fill", fill),
        ("new_fill", new_fill),
        ("threads", threads),
    ):
        object.__setattr__(self, name, value)
    return self


_kept = lru_cache(maxsize=1024)(make_plan)
