"""Which layout is this? From a live array, a table of offsets, or a reference tensor and what became of it."""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError
from .inference.result import Inference


def infer(x: Any = None, dump: Any = None, *, offsets: Any = None) -> Inference:
    """The simplest layout of some data, its names, and its padding; or an error that says what is missing or wrong.

    * ``infer(array)``: a live array of numpy, torch, or any library with DLPack, an array interface or the buffer
      protocol. Offsets count from the start of the storage for torch, and otherwise from the lowest element, so an
      array with negative strides starts at a positive offset.
    * ``infer(offsets=table)``: one offset per logical coordinate, as nested lists or an integer array. None, masked
      entries and -1 are unknown; a table with entries below -1 is taken as it is.
    * ``infer(reference, dump)``: a tensor, and the memory that a converter made of it, read flat. Elements are found by
      their value (its bits). Bytes are read in the type of the reference.
    * ``infer([reference, ...], [dump, ...])``: several of them, such as ``probes(shape, dtype)``: enough to tell all
      elements apart where one tensor of a narrow type is not.

    >>> infer(offsets=[[0, 1, 4, 5], [2, 3, 6, 7]]).layout
    Layout((2, (2, 2)), (2, (1, 4)))
    """
    if (x is None) == (offsets is None) or (dump is not None and x is None):
        raise ShapeError(
            "infer takes a live array, a reference with its dump, or offsets=.",
            hint="infer(array), infer(reference, dump) or infer(offsets=table)",
        )
    if offsets is not None:
        from .inference.tables import from_table

        return from_table(offsets)
    if dump is not None:
        from .inference.dumps import from_dump

        return from_dump(x, dump)
    from .inference.boxes import inference_of
    from .inference.live import array_layout

    return inference_of(array_layout(x), exact=True)
