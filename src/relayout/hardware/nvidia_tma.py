"""NVIDIA's tensor memory accelerator: how a box of a tensor lies in shared memory.

The rows of a box follow each other, and a swizzle exchanges pieces of a row by the number of the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import ShapeError, UnknownName
from ..integers.inttuple import as_int
from ..layout.layout import Layout
from ..layout.swizzle import Swizzle
from .atom import Atom, Operand

SOURCE = "CUDA driver API 12.8, cuTensorMapEncodeTiled; PTX ISA 9.0, 5.5: tensors"


class BoxSwizzle(NamedTuple):
    """A swizzle of the engine: the bytes of a row that it works on, and which bits of a byte address it exchanges."""

    span: int
    bits: tuple[int, int, int] | None
    arch: str
    judges: tuple[str, ...]


SWIZZLES = {
    "NONE": BoxSwizzle(16, None, "sm90", ("an H200",)),
    "32B": BoxSwizzle(32, (1, 4, 3), "sm90", ("an H200", "CUTLASS's traits")),
    "64B": BoxSwizzle(64, (2, 4, 3), "sm90", ("an H200", "CUTLASS's traits")),
    "128B": BoxSwizzle(128, (3, 4, 3), "sm90", ("an H200", "CUTLASS's traits")),
    "128B_ATOM_32B": BoxSwizzle(128, (2, 5, 2), "sm100", ("CUTLASS's traits",)),
}
"""The names that the driver has after ``CU_TENSOR_MAP_SWIZZLE_``."""


def atoms() -> Iterator[Atom]:
    """One period of every swizzle: eight rows of its span, in bytes."""
    for name, (span, bits, arch, judges) in SWIZZLES.items():
        tile = (span, 8)
        plain = Layout((1, tile), (0, (1, span)))
        operands = (
            Operand("src", plain, tile, "b8", "global memory"),
            Operand("dst", Layout(plain.shape, plain.stride, swizzle=bits), tile, "b8", "shared memory"),
        )
        yield Atom(f"cp.async.bulk.tensor.swizzle_{name}", tile, 1, operands, arch, SOURCE, judges)


def tma_box(box: Sequence[int], element: str, swizzle: str = "NONE") -> Layout:
    """Where the elements of a box lie in shared memory, in elements from its start, the innermost dimension first.

    ``swizzle`` is one of the driver's names: NONE, 32B, 64B, 128B or 128B_ATOM_32B. Rows that are shorter than the span
    of the swizzle lie a span apart. A box that the engine does not take is refused: up to five dimensions of up to 256,
    rows of a multiple of 16 bytes, and with a swizzle rows of no more than its span.

    >>> print(tma_box((64, 8), "float16", "128B"))
    ((64, 8):(1, 64)) swizzle <3,3,3>
    """
    from ..elements.types import element as element_named

    sizes = [as_int(size, "box") for size in (box if isinstance(box, tuple | list) else (box,))]
    name = str(swizzle).removeprefix("CU_TENSOR_MAP_SWIZZLE_")
    if name not in SWIZZLES:
        raise UnknownName(f"there is no swizzle {swizzle!r}.", hint=f"there are {', '.join(SWIZZLES)}", name=swizzle)
    span, bits, _, _ = SWIZZLES[name]
    width = element_named(element).bits
    row = sizes[0] * width if sizes else 0
    wrong = ""
    if not 1 <= len(sizes) <= 5 or not all(1 <= size <= 256 for size in sizes):
        wrong = "a box has one to five dimensions of 1 to 256 elements"
    elif width % 8 or row % 128:
        wrong = "a row is a multiple of 16 bytes, of elements of whole bytes"
    elif bits and row > 8 * span:
        wrong = f"with the swizzle {name} a row has up to {span} bytes"
    if wrong:
        hint = "cut the box, or take another swizzle"
        raise ShapeError(f"a box of {tuple(sizes)} {element} cannot be copied: {wrong}.", hint=hint, box=tuple(sizes))
    if bits is None:
        return Layout(tuple(sizes))
    strides, step = [1], 8 * span // width
    for size in sizes[1:]:
        strides.append(step)
        step *= size
    less = width.bit_length() - 4
    return Layout(tuple(sizes), tuple(strides), swizzle=Swizzle(bits[0], bits[1] - less, bits[2]))
