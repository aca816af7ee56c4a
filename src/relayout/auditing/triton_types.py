"""The types of Triton's IR as layouts: tensors in registers, and buffers in shared memory."""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod
from typing import NamedTuple

from ..algebra.linear import LinearLayout
from ..dialects.ttg_text import TtgText, read_text
from ..elements.types import ELEMENTS, Element
from ..errors import LayoutError, ShapeError
from ..hardware.triton_encoding import THREADS
from ..hardware.triton_memory import MemoryEncoding, PaddedSharedEncoding
from ..layout.layout import Layout
from .mlir_text import read_shaped

MOST_TYPES = 1 << 12
"""How many different types are remembered."""

POINTER_BITS = 64

_SIZES = re.compile(r"\d+(?:x\d+)*")


class RegisterTensor(NamedTuple):
    """A tensor in registers: who holds what. ``bits`` are those that one element takes on its way."""

    threads: LinearLayout
    shape: tuple[int, ...]
    element: Element | None
    bits: int

    @property
    def bytes(self) -> int:
        """The bytes of all elements."""
        return prod(self.shape) * self.bits // 8


class SharedBuffer(NamedTuple):
    """A buffer in memory, or a part of one: so many ``stages`` of the shape, in a buffer of the shape ``whole``."""

    encoding: MemoryEncoding
    shape: tuple[int, ...]
    whole: tuple[int, ...]
    stages: int
    element: Element | None
    bits: int

    @property
    def linear(self) -> LinearLayout:
        """From the offset in the whole buffer to the coordinate."""
        return self.encoding.linear(self.whole)

    @property
    def layout(self) -> Layout | LinearLayout:
        """The offsets of all elements, stage by stage; a linear layout of one stage where only that can hold them."""
        sizes = self.whole if self.stages == 1 else (self.stages, *self.whole)
        try:
            return TtgText(self.encoding, self.whole).layout(sizes)
        except LayoutError:
            return self.linear

    @property
    def bytes(self) -> int:
        """The bytes that memory is reserved for, all stages and their padding included."""
        elements = self.encoding.stage_elements(self.whole)
        if isinstance(self.encoding, PaddedSharedEncoding):
            # Behind the last stage no padding follows.
            return ((self.stages - 1) * elements + self.encoding.layout(self.whole).storage_size) * self.bits // 8
        return self.stages * elements * self.bits // 8

    @property
    def is_shared(self) -> bool:
        """Whether it is shared memory, and not the memory of tensor cores."""
        return "offset" in self.encoding.inputs


TritonType = RegisterTensor | SharedBuffer | str
"""What a type says, or why it cannot be read."""


@lru_cache(maxsize=MOST_TYPES)
def read_type(text: str) -> TritonType:
    """What a type says, its aliases written out; or why it cannot be read."""
    found = read_shaped(text)
    if found is None or found.shape is None:
        return f"{text[:80]} is no type with known sizes"
    if not found.rest:
        return "the type has no encoding: layouts come with TTGIR"
    element, bits = _element(found.element)
    if not bits:
        return f"the element type {found.element} is not known"
    try:
        encoding = read_text(found.rest[0]).encoding
        if encoding.inputs == THREADS:
            return RegisterTensor(encoding.linear(found.shape), found.shape, element, bits)
        if not isinstance(encoding, MemoryEncoding):
            return f"#{encoding.kind} is not shared memory"
        own = found.shape[len(found.shape) - encoding.rank :]
        sizes = [part for part in found.rest[1:] if _SIZES.fullmatch(part)]
        whole = tuple([int(n) for n in sizes[0].split("x")])[-encoding.rank :] if sizes else own
        encoding.linear(whole)  # what does not fit is refused here
        return SharedBuffer(encoding, own, whole, prod(found.shape[: len(found.shape) - encoding.rank]), element, bits)
    except LayoutError as error:
        return error.message


def _element(text: str) -> tuple[Element | None, int]:
    """An element type, and the bits of one; a bit alone takes a byte on its way."""
    if text.startswith("!tt.ptr") or text == "index":
        return None, POINTER_BITS
    found = next((e for e in ELEMENTS.values() if e.mlir == text), None)
    if found is not None:
        return (None if text == "i1" else found), max(8, found.bits) if text == "i1" else found.bits
    whole = re.fullmatch(r"i(\d+)", text)
    return None, int(whole[1]) if whole else 0


def permute_dims(x: LinearLayout, order: tuple[int, ...]) -> LinearLayout:
    """The layout of a tensor whose dimension ``k`` is the dimension ``order[k]`` of this one."""
    sizes = list(x.out_dims.values())
    if sorted(order) != list(range(len(sizes))):
        raise ShapeError(
            f"{list(order)} is no order of {len(sizes)} dimensions.", hint="each dimension once", order=order
        )
    bases = {name: [[basis[d] for d in order] for basis in group] for name, group in x.bases.items()}
    return LinearLayout(bases, {f"dim{k}": sizes[d] for k, d in enumerate(order)})


def reshape_dims(x: LinearLayout, shape: tuple[int, ...]) -> LinearLayout:
    """The layout of the tensor of another shape with the same elements in row-major order."""
    names = [f"dim{d}" for d in range(len(shape))]
    last_first = x.transpose_outs(list(reversed(x.out_dims)))
    flat = last_first.reshape_outs([(name, n) for name, n in reversed(list(zip(names, shape)))])
    return flat.transpose_outs(names)
