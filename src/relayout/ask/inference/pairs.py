"""A reference and its dump: where every element went, as far as its value tells.

Values are compared as bits, so NaN is itself and -0.0 is not 0.0. Several references with a dump each count as one
whose values are tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from ...elements.subbyte import unpack
from ...elements.types import ELEMENTS, Element, storage_dtype
from ...elements.types import element as element_of
from ...errors import LimitExceeded, NotExpressible, ShapeError
from ...layout.layout import Layout
from ..probes import PROBE_LIMIT
from .live import on_host

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EncodedPair(NamedTuple):
    """Elements and dump as codes, equal exactly for equal values; ``references`` and ``dumps`` are the values.

    ``element`` is their type, None for one that has no name here.
    """

    elements: NDArray[np.int64]
    memory: NDArray[np.int64]
    references: tuple[NDArray[Any], ...]
    dumps: tuple[NDArray[Any], ...]
    element: Element | None = None

    @property
    def bits(self) -> int:
        """The width of an element."""
        return self.dumps[0].itemsize * 8 if self.element is None else self.element.bits

    @property
    def dtype_name(self) -> str:
        """The name of the type, numpy's where it has none here."""
        return str(self.dumps[0].dtype) if self.element is None else self.element.name

    def positions(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The position of every element, and whether its value occurs once here and once there."""
        import numpy as np

        count = max(self.elements.max(initial=0), self.memory.max(initial=0)) + 1
        here, there = (np.bincount(x.reshape(-1), minlength=count) for x in (self.elements, self.memory))
        where = np.zeros(count, np.int64)
        where[self.memory] = np.arange(self.memory.size)
        alone = (here == 1) & (there == 1)
        return np.asarray(where[self.elements]), np.asarray(alone[self.elements])

    def check(self, layout: Layout) -> NDArray[np.bool_]:
        """Which positions of the dump the layout uses; refused where it finds another value than the element's."""
        import numpy as np

        offsets = layout.offsets()
        inside = (offsets >= 0) & (offsets < self.memory.size)
        wrong = inside & (self.memory[np.where(inside, offsets, 0)] != self.elements)
        if wrong.any():
            where = tuple([int(x) for x in np.unravel_index(int(np.argmax(wrong)), offsets.shape)])
            raise self.mismatch(layout, where)
        used = np.zeros(self.memory.size, bool)
        used[offsets[inside]] = True
        return used

    def fits(self, layout: Layout) -> bool:
        """Whether the dump holds every element where the layout puts it."""
        return not self.misplaced_by(layout.offsets()).any()

    def misplaced_by(self, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which elements the dump does not hold at these positions; it holds nothing beyond its ends."""
        import numpy as np

        if not self.memory.size:
            return np.ones(offsets.shape, bool)
        inside = (offsets >= 0) & (offsets < self.memory.size)
        wrong: NDArray[np.bool_] = ~inside | (self.memory[np.where(inside, offsets, 0)] != self.elements)
        return wrong

    def mismatch(self, layout: Layout, where: tuple[int, ...]) -> NotExpressible:
        """The error for an element that is not where the others say it is."""
        position = layout(where)
        return NotExpressible(
            f"the elements that their values locate have the layout {layout}, but it puts {where} at {position}, where "
            f"the dump holds {self.value(position)!r}.",
            hint="the converter changes values or has no layout; probes show which: rl.probes(shape, dtype)",
            counterexample=where,
            layout=layout,
        )

    def value(self, position: int) -> Any:
        """What the dump holds there; a tuple for several dumps."""
        found = tuple([d[position].item() for d in self.dumps])
        return found[0] if len(found) == 1 else found

    def reference_value(self, where: tuple[int, ...]) -> Any:
        """The element of the reference there; a tuple for several references."""
        found = tuple([r[where].item() for r in self.references])
        return found[0] if len(found) == 1 else found

    def fill(self, used: NDArray[np.bool_]) -> Any:
        """The value of all positions that are not used, the same in every dump; None if there is no such value."""
        import numpy as np

        free = np.flatnonzero(~used)
        if free.size == 0 or (self.memory[free] != self.memory[free[0]]).any():
            return None
        found = [d[free[0]] for d in self.dumps]
        return found[0].item() if all(v.tobytes() == found[0].tobytes() for v in found) else None


def encode_pair(references: Sequence[Any], dumps: Sequence[Any], dtype: Any = None) -> EncodedPair:
    """References and dumps, one or several each, as codes; ``dtype`` is the type of elements that share bytes."""
    if len(references) != len(dumps) or not references:
        raise ShapeError(
            f"{len(references)} references came with {len(dumps)} dumps.",
            hint="give every reference the dump it became",
            references=len(references),
            dumps=len(dumps),
        )
    kind = None if dtype is None else element_of(dtype)
    both = [_same_type(on_host(r, "the reference"), d, kind) for r, d in zip(references, dumps)]
    for k, what in enumerate(("references", "dumps")):
        shapes = {pair[k].shape for pair in both}
        if len(shapes) > 1:
            raise ShapeError(f"the {what} have the shapes {sorted(shapes)}.", hint="give all the same shape")
        size = both[0][k].size
        if size > PROBE_LIMIT * (1 + k):
            raise LimitExceeded(
                f"the {what} of {size} elements are over the limit of {PROBE_LIMIT * (1 + k)}.",
                hint="infer from a smaller tensor that still has several blocks along each dimension",
                limit=PROBE_LIMIT * (1 + k),
            )
    pieces = [piece for r, d in both for piece in zip(_bits(r), _bits(d))]
    elements, memory = _codes(pieces)
    values, stored = tuple([r for r, _ in both]), tuple([d for _, d in both])
    return EncodedPair(elements.reshape(both[0][0].shape), memory, values, stored, kind or _named_type(stored[0].dtype))


def _named_type(dtype: Any) -> Element | None:
    """The element type of a numpy type; None for one that has no name here, as texts and records."""
    return ELEMENTS.get(str(dtype.name))


def _same_type(reference: NDArray[Any], dump: Any, kind: Element | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """The reference in the type of the dump, and the dump as one flat array of one element each."""
    import numpy as np

    if kind is not None and kind.bits < 8:
        stored = storage_dtype(kind)
        packed = np.frombuffer(dump, np.uint8) if isinstance(dump, bytes | bytearray) else on_host(dump, "the dump")
        if packed.dtype != np.uint8 or not packed.flags.c_contiguous:
            raise ShapeError(
                f"a dump of {kind.name} is bytes that hold several elements each, got {packed.dtype}.",
                hint="give bytes or a flat array of uint8; unpacked values need no dtype",
                got=packed.dtype,
            )
        converted = reference.astype(stored)
        if (converted.astype(reference.dtype) != reference).any():
            raise ShapeError(
                f"the reference holds values that {kind.name} does not.", hint="rl.probes(shape, dtype) makes one"
            )
        return converted, unpack(packed.reshape(-1), kind, packed.size * 8 // kind.bits)

    if isinstance(dump, bytes | bytearray) or (isinstance(dump, memoryview) and dump.format == "B"):
        raw = np.frombuffer(dump, np.uint8)
        if raw.size % max(1, reference.itemsize):
            raise ShapeError(
                f"{raw.size} bytes are no whole number of elements of {reference.dtype}.",
                hint="cut headers off, or give the reference the type that the converter writes",
                bytes=raw.size,
                dtype=reference.dtype,
            )
        return reference, raw.view(reference.dtype)
    memory = on_host(dump, "the dump")
    if memory.ndim > 1 and not memory.flags.c_contiguous:
        raise ShapeError(
            "the dump is a strided view, so the order of its memory is not the order of its elements.",
            hint="pass the flat buffer; infer(array) tells the strides of a view",
            shape=memory.shape,
        )
    memory = memory.reshape(-1)
    if memory.dtype == reference.dtype:
        return reference, memory
    if reference.dtype.kind in "biuf" and memory.dtype.kind in "biuf":
        with np.errstate(invalid="ignore", over="ignore"):
            converted = reference.astype(memory.dtype)
            if (converted.astype(reference.dtype) == reference).all():
                return converted, memory
    raise ShapeError(
        f"the reference holds {reference.dtype} and the dump {memory.dtype}, which cannot hold the same values.",
        hint="view raw bytes in the type of the reference: dump.view(dtype)",
        reference=reference.dtype,
        dump=memory.dtype,
    )


def _bits(values: NDArray[Any]) -> list[NDArray[Any]]:
    """The bits of all elements as unsigned integers, flat; several arrays for elements of more than 8 bytes."""
    import numpy as np

    width = gcd(values.itemsize, 8)
    count = values.itemsize // width
    flat = np.ascontiguousarray(values).reshape(-1).view(f"u{width}")
    return [flat[k::count] for k in range(count)]


def _codes(pieces: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One small integer for every tuple of bits, on both sides alike."""
    import numpy as np

    split = pieces[0][0].size
    codes = np.zeros(split + pieces[0][1].size, np.int64)
    for r, d in pieces:
        column, values = _compact_codes(np.concatenate([r, d]))
        codes, _ = _compact_codes(codes * values + column)
    return codes[:split], codes[split:]


def _compact_codes(values: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Different small integers for different values, and a bound above them."""
    import numpy as np

    top = int(values.max(initial=0)) + 1
    if top <= max(1 << 16, 4 * values.size):
        return values.astype(np.int64), top
    distinct, codes = np.unique(values, return_inverse=True)
    return codes, distinct.size
