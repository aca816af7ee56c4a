"""Who holds which element of a tensor, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..algebra.linear import LinearLayout
from ..dialects.resolve import Resolved
from ..dialects.ttg_finding import blocked_of
from ..dialects.ttg_text import TtgText
from ..dialects.ttg_writing import encoding_text
from ..errors import LayoutError, ShapeError
from ..integers.nested import product
from ..layout.layout import Layout


def thread_lines(operand: Resolved) -> Iterator[str]:
    """How the elements are dealt: to how many threads, how many to each, which lie together, which are held twice."""
    if not isinstance(operand.spelling, TtgText):
        raise ShapeError(f"{operand.subject} deals nothing to threads.", hint="an encoding of a tensor does")
    linear = operand.spelling.linear(operand.shape)
    bits = None if operand.element is None else operand.element.bits
    sizes, counts = tuple(linear.out_dims.values()), linear.in_dims
    blocks = f"{counts['block']} blocks of " if counts["block"] > 1 else ""
    warps = "1 warp" if counts["warp"] == 1 else f"{counts['warp']} warps"
    values = "1 value" if counts["register"] == 1 else f"{counts['register']} values"
    wide = "" if bits is None else f" ({counts['register'] * bits / 32:g} registers of 32 bits)"
    yield (
        f"{' x '.join(map(str, sizes))} in the registers of {blocks}{warps} of {counts['lane']} lanes: "
        f"{values} a thread{wide}."
    )
    yield f"A thread holds {_run(linear, bits)}."
    for name, words in (("lane", "The lanes of a warp"), ("warp", "The warps"), ("block", "The blocks")):
        if counts[name] > 1:
            yield f"{words} run {_directions(linear.bases[name])}."
    yield _copies(linear)
    if isinstance(operand.layout, Layout):
        yield f"As threads and values, places counted from dimension 0: {operand.layout}."
    yield from _other_name(operand, linear)


def _run(linear: LinearLayout, bits: int | None) -> str:
    """The elements of a thread that are neighbours in the tensor."""
    runs = []
    for d in range(len(linear.out_dims)):
        length = 1
        steps = {basis[d] for basis in linear.bases["register"] if sum(map(bool, basis)) == 1}
        while length in steps:
            length *= 2
        if length > 1:
            width = "" if bits is None or bits * length % 8 else f" ({bits * length // 8} bytes)"
            runs.append(f"{length} neighbours along dimension {d}{width}")
    return " by ".join(runs) or "no two neighbours"


class _Walk(NamedTuple):
    """Bits of an input that follow each other along the same dimensions; along none they repeat."""

    dims: tuple[int, ...]
    step: int
    length: int

    def __str__(self) -> str:
        if not self.dims:
            return f"{self.length} times over the same elements"
        if len(self.dims) > 1:
            return f"{self.length} along dimensions {' and '.join(map(str, self.dims))} at once"
        return f"{self.length} along dimension {self.dims[0]}" + ("" if self.step == 1 else f" in steps of {self.step}")


def _directions(bases: Sequence[tuple[int, ...]]) -> str:
    """The dimensions along which bits of an input move, from its lowest bit up, with steps and counts."""
    walks: list[_Walk] = []
    for basis in bases:
        dims = tuple([d for d, x in enumerate(basis) if x])
        step = basis[dims[0]] if dims else 0
        last = walks[-1] if walks else None
        if last and last.dims == dims and len(dims) < 2 and step == last.step * last.length:
            walks[-1] = last._replace(length=2 * last.length)
        else:
            walks.append(_Walk(dims, step, 2))
    return ", then ".join(map(str, walks))


def _copies(linear: LinearLayout) -> str:
    """How often an element is held, and by whom."""
    total = product(tuple(linear.in_dims.values())) // product(tuple(linear.out_dims.values()))
    if total == 1:
        return "Every element is held once."
    masks = linear.free_variable_masks()
    by = [f"{1 << mask.bit_count()} {name}s" for name, mask in masks.items() if mask]
    return f"Every element is held {total} times: by {', '.join(by)}."


def _other_name(operand: Resolved, linear: LinearLayout) -> Iterator[str]:
    """The blocked encoding that it is as well, where its text is another one."""
    try:
        text = encoding_text(blocked_of(linear))
    except LayoutError:
        return
    if text not in str(operand.spelling):
        yield f"On this shape it is {text}."
