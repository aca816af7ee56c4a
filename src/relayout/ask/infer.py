"""Which layout is this? From a live array, a table of offsets, or a reference tensor and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ShapeError
from ..tensors.tensor import Tensor
from .inference.live import is_array
from .inference.result import Inference


def infer(
    x: Any = None,
    dump: Any = None,
    *,
    offsets: Any = None,
    among: Sequence[Any] | None = None,
    axes: str | None = None,
    dtype: Any = None,
    shape: Any = None,
    element: Any = None,
) -> Inference:
    """The simplest layout of some data, its names, and its padding, with all candidates where the data leave several.

    Names and formats are given only where they are the same function in the same storage. ``Undetermined`` is raised
    where nothing that is tried fits, ``NotExpressible`` where the data contradict every layout.

    * ``infer(array)``: a live array of numpy, torch, or any library with DLPack, an array interface or the buffer
      protocol, or a ``Tensor``, which tells its own layout. Offsets count from the start of the storage for torch,
      and otherwise from the lowest element, so an array with negative strides starts at a positive offset.
    * ``infer(offsets=table)``: one offset per logical coordinate, as nested lists or an integer array. None, masked
      entries and -1 are unknown; a table with entries below -1 is taken as it is.
    * ``infer(reference, dump)``: a tensor, and the memory that a converter made of it, read flat. Elements are found by
      their value (its bits). Bytes are read in the type of the reference.
    * ``infer([reference, ...], [dump, ...])``: several of them, such as ``probes(shape, dtype)``: enough to tell all
      elements apart where one tensor of a narrow type is not. ``dtype`` says which packed type (``"uint4"``) shares the
      bytes of the dumps.
    * ``infer(reference, dump, among=[...])``: only these layouts, formats and texts are tried. Those that fit are the
      ``candidates``; where none does, the ``candidates`` of ``Undetermined`` are all, fewest mismatches first. ``axes``
      are the dimensions of the reference, for formats that name theirs: ``among=["nchw", "nhwc"], axes="nchw"``.
    * ``infer(packer, shape=(k, n), element="uint4")``: a function that packs codes of that type, each in a byte of its
      own, over input and output features, and gives an array or bytes; it is run on probes.

    >>> infer(offsets=[[0, 1, 4, 5], [2, 3, 6, 7]]).layout
    Layout((2, (2, 2)), (2, (1, 4)))
    """
    if callable(x) and not is_array(x):
        if shape is None or element is None or dump is not None:
            raise ShapeError("a packer needs a shape and a type.", hint='infer(packer, shape=(k, n), element="uint4")')
        from .inference.packers import from_packer

        return from_packer(x, shape, element)
    dumped = among is not None or dtype is not None
    if axes is not None and among is None:
        raise ShapeError("axes are for the formats of among.", hint='as in among=["nchw", "nhwc"], axes="nchw"')
    if (x is None) == (offsets is None) or (dump is not None and x is None) or (dumped and dump is None):
        raise ShapeError(
            "infer takes a live array, a reference with its dump, or offsets=.",
            hint="infer(array), infer(reference, dump, among=[...]) or infer(offsets=table)",
        )
    if offsets is not None:
        from .inference.tables import from_table

        return from_table(offsets)
    if dump is not None:
        from .inference.dumps import from_dump, from_hypotheses

        return from_dump(x, dump, dtype) if among is None else from_hypotheses(x, dump, among, dtype, axes)
    from .inference.boxes import inference_of
    from .inference.live import array_layout, array_type

    if isinstance(x, Tensor):
        return inference_of(x.layout, x.interface.element.bits, dtype=x.dtype)
    kind = array_type(x)
    return inference_of(array_layout(x), None if kind is None else kind.bits, dtype=None if kind is None else kind.name)
