"""Memory in the order of registers: an operand stored so that what a thread needs lies together."""

from __future__ import annotations

from collections.abc import Iterator

from ..algebra.building import make_layout
from ..algebra.composition import composition
from ..errors import NotExpressible, ShapeError, shown
from ..format.format import Format
from ..integers.nested import flatten
from ..layout.layout import Layout, as_layout
from .atom import Atom, Operand
from .atoms import atoms as known

AXES = {"A": "mk", "B": "nk", "C": "mn", "D": "mn"}


def fragment_format(
    atom: Atom | str,
    operand: str = "B",
    *,
    unpack: Layout | None = None,
    axes: str | None = None,
    rests: tuple[int, int] = (1, 0),
) -> Format:
    """The format of an operand whose values lie together thread by thread: a pre-shuffle for this instruction or tile.

    Memory holds the values of thread 0 in their order, then those of thread 1, and so on; elements that several threads
    hold are stored once. ``unpack`` is how a kernel takes codes out of a word: it gives the number of the value at each
    place of the word. ``axes`` names the operand's dimensions; tiles follow each other along the dimensions of
    ``rests``, slowest first.

    >>> from relayout import Layout, tile_mma
    >>> tile = tile_mma("mma.m16n8k16.f32.f16.f16.f32", permutation=(None, 64, None))
    >>> print(fragment_format(tile, unpack=Layout((4, 2), (2, 1))))
    1 0 / 0,8@1 1,4@2 0,4@16 1,2@1 0,2@8 1,2@8 axes nk
    """
    one = atom if isinstance(atom, Atom) else known[atom]
    found = one.operand(operand)
    if found.where == "shared memory" or len(found.tile) != 2:
        hint = "take an operand that threads hold in registers"
        raise NotExpressible(f"{operand} of {one.name} is not dealt to threads.", hint=hint, atom=one.name)
    if not isinstance(rests, tuple | list) or sorted(rests) != [0, 1]:
        hint = "(1, 0) for tiles along the first dimension first, (0, 1) along the second"
        raise ShapeError(f"tiles follow each other along two dimensions, got {shown(rests)}.", hint=hint, rests=rests)
    values = found.layout[1] if unpack is None else _values_by_word(found, unpack)
    leaves = [*_leaves(values), *_leaves(found.layout[0])]
    digits = [digit for size, stride in leaves if stride for digit in _digits(found, size, stride)]
    factors = [(dim, 0) for dim in rests] + digits[::-1]
    return Format(2, factors, axes=axes or AXES.get(operand))


def _leaves(mode: Layout) -> list[tuple[int, int]]:
    return [leaf for leaf in zip(flatten(mode.shape), flatten(mode.stride)) if leaf[0] > 1]


def _values_by_word(operand: Operand, unpack: Layout) -> Layout:
    """The values in the order of the words that hold them."""
    count, unpack = operand.layout.extents[1], as_layout(unpack, "unpack")
    if not unpack.size or count % unpack.size or unpack.cosize != unpack.size or not unpack.is_injective():
        raise ShapeError(
            f"{shown(unpack)} does not order the {count} values of a thread.",
            hint="a permutation of the values in a word, whose number divides those of a thread",
            unpack=unpack,
        )
    whole = make_layout(unpack, Layout(count // unpack.size, unpack.size))
    return composition(operand.layout[1], whole)


def _digits(operand: Operand, size: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """A leaf as digits of the operand's dimensions: (dimension, size, place value)."""
    rows = operand.tile[0]
    if stride >= rows:
        inside, outside = 1, size
    else:
        inside = min(size, rows // stride)
        outside = size // inside
    if (stride % rows and (stride >= rows or rows % stride)) or inside * outside != size:
        raise NotExpressible(
            f"{size} values of {operand.name} {stride} apart do not follow a dimension of its tile {operand.tile}.",
            hint="order the tile by layouts whose sizes divide its own",
            operand=operand.name,
        )
    if inside > 1:
        yield 0, inside, stride
    if outside > 1:
        yield 1, outside, max(stride // rows, 1)
