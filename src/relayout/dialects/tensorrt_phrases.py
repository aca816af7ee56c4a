"""The sentences by which TensorRT's inspector describes the format of a tensor.

``Row major linear FP32``, ``Thirty-two wide channel vectorized row major Int8 format``, ``Channel major FP16 format
where channel % 8 == 0 with 3 spatial dimensions``: each is a member of ``TensorFormat`` (NvInferRuntimeBase.h), which
defines it as an array of C. What else they say, as ``column stride % 32 == 0``, is defined nowhere, and not read.
"""

from __future__ import annotations

import re

from ..elements.types import ELEMENTS, Element
from ..errors import ShapeError
from ..format.format import Format
from ..immutable import NamedTuple

_WIDE = {"two": 2, "four": 4, "eight": 8, "sixteen": 16, "thirty-two": 32}
_SPACE = r"(?P<{0}> with 3 spatial dimensions)?"
_SENTENCE = (
    r"\s*(?:\"Format/Datatype\":\s*\")?(?:row major(?: linear)? (?P<linear>\w+)|"
    r"(?P<wide>[a-z-]+) wide channel vectorized row major (?P<packed>\w+)|"
    r"channel major (?P<last>\w+)(?: format)?" + _SPACE.format("early") + r""
    r"(?: where (?:c|channels?) ?% ?(?P<multiple>[1-9]\d{0,3}) ?== ?0)?)"
    r"(?: format)?" + _SPACE.format("late") + r"(?: \(k[a-z]\w*\))?\.?\"?,?\s*"
)
_TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "bfloat16": "bfloat16", "fp8": "float8_e4m3fn"}
_TYPES |= {"fp64": "float64", "fp4": "float4_e2m1fn"}
_TYPES |= {name: name for name in ("int8", "int32", "int64", "bool", "uint8", "int4", "int16", "uint16", "uint32")}


class TensorRTPhrase(NamedTuple):
    """What a sentence says: where the channels are, their vector or multiple, the dimensions of space, the type."""

    channels_last: bool
    vector: int
    space: int
    element: Element | None

    @property
    def is_linear(self) -> bool:
        """Whether it is row-major, for any number of dimensions."""
        return not self.channels_last and self.vector == 1

    @property
    def name(self) -> str:
        """The format in the letters that NVIDIA's tools shorten it to: ``NCHW``, ``NC/32HW32``, ``NHWC8``."""
        space = "HW" if self.space == 2 else "DHW"
        if self.channels_last:
            return f"N{space}C{self.vector if self.vector > 1 else ''}"
        return f"NC{space}" if self.vector == 1 else f"NC/{self.vector}{space}{self.vector}"

    def format(self, rank: int | None = None) -> Format:
        """The format of a tensor with that many dimensions, the channels before those of space."""
        rank = 2 + self.space if rank is None else rank
        channel = rank - self.space - 1
        if self.is_linear:
            return Format(rank, [(d, 0) for d in range(rank)], axes=_axes(rank, self.space))
        if channel < 0:
            raise ShapeError(
                f"a tensor of {rank} dimensions has no channels before {self.space} of space.",
                hint="TensorRT has this format for 3 or more dimensions",
                rank=rank,
            )
        order = [d for d in range(rank) if d != channel] + [channel] if self.channels_last else list(range(rank))
        block = [(channel, self.vector)] if self.vector > 1 else []
        return Format(
            rank,
            [*[(d, 0) for d in order], *block],
            axes=_axes(rank, self.space),
            fill=0 if block else None,
        )


def tensorrt_phrase(text: str) -> TensorRTPhrase | None:
    """What a sentence of TensorRT's inspector means; None for every other text."""
    found = re.fullmatch(_SENTENCE, text, re.IGNORECASE | re.ASCII)
    if found is None or (found["wide"] and found["wide"].lower() not in _WIDE):
        return None
    kind = ELEMENTS.get(_TYPES.get((found["linear"] or found["packed"] or found["last"]).lower(), ""))
    if kind is None:
        return None
    vector = _WIDE[found["wide"].lower()] if found["wide"] else int(found["multiple"] or 1)
    space = 3 if found["early"] or found["late"] else 2
    return TensorRTPhrase(found["last"] is not None, vector, space, kind)


def _axes(rank: int, space: int) -> str | None:
    """The names of the dimensions, where there are as many as images or volumes have."""
    return {4: "nchw", 5: "ncdhw"}[rank] if rank == 2 + space else None
