"""An atom repeated over more threads and more values: the tile of a matrix product that a kernel runs, as in CuTe."""

from __future__ import annotations

from typing import Any

from ..algebra.building import make_layout
from ..algebra.coalescing import coalesce
from ..algebra.composition import composition
from ..algebra.inverses import right_inverse
from ..algebra.tiling import tiled_product
from ..errors import NotExpressible, ShapeError, shown
from ..integers.inttuple import as_int
from ..layout.layout import Layout
from .atom import Atom, Operand
from .atoms import atoms as known

DIMENSIONS = {"A": (0, 2), "B": (1, 2), "C": (0, 1), "D": (0, 1), "E": (0, 2), "SFA": (0, 2), "SFB": (1, 2)}
"""Which of m, n and k an operand has."""


def tile_mma(atom: Atom | str, atoms_layout: Any = (1, 1, 1), permutation: Any = (None, None, None)) -> Atom:
    """An atom repeated along m, n and k, as CuTe's ``TiledMMA``: again an ``Atom``, of the whole tile.

    ``atoms_layout`` says how many atoms lie along m, n and k, each with threads of its own; as a layout, also which
    threads those are: its values count atoms. ``permutation`` has an entry for each of m, n and k: None for as many
    elements as the atoms cover, a number for a larger tile, whose rest are more values of the same threads, or a layout
    that says to which coordinate of the tile each one goes.

    >>> tile = tile_mma("mma.m16n8k16.f32.f16.f16.f32", (2, 2, 1), (None, 32, None))
    >>> tile.shape, tile.threads
    ((32, 32, 16), 128)
    """
    one = atom if isinstance(atom, Atom) else known[atom]
    _check_atom(one)
    grid = _grid(atoms_layout)
    counts = grid.extents
    orders = _orders(one, counts, permutation)
    lanes = tiled_product(one.lanes or Layout(one.threads), grid)
    threads = lanes.size
    whole = lanes.cosize == threads
    inverse = right_inverse(lanes) if whole else None
    operands = []
    for operand in one.operands:
        layout = _tile_layout(one, operand, counts, orders)
        by_thread = layout[0] if inverse is None else composition(layout[0], inverse)
        tile = tuple([_size(one, operand, orders, side) for side in (0, 1)])
        operands.append(operand._replace(layout=make_layout(by_thread, layout[1]), tile=tile))
    shape = tuple([order.size for order in orders])
    spelled = "" if all(order == Layout(order.size) for order in orders) else f" permuted by {permutation}"
    return one._replace(
        name=f"{one.name} x {grid}{spelled}",
        shape=shape,
        threads=threads,
        operands=tuple(operands),
        lanes=None if whole else coalesce(lanes),
        judges=(),
        note="",
    )


def _check_atom(atom: Atom) -> None:
    wrong = ""
    if "A" not in [operand.name for operand in atom.operands]:
        wrong = "it is no product of matrices"
    elif atom.blocks > 1:
        wrong = f"it is {atom.blocks} products side by side"
    elif any(operand.where == "tensor memory" for operand in atom.operands):
        wrong = "its threads are lanes of tensor memory"
    if wrong:
        raise NotExpressible(
            f"{atom.name} cannot be tiled: {wrong}.",
            hint="take an instruction whose A, B and C threads hold",
            atom=atom,
        )


def _grid(atoms_layout: Any) -> Layout:
    """How atoms lie along m, n and k: three modes, every number of an atom once."""
    grid = atoms_layout if isinstance(atoms_layout, Layout) else Layout(atoms_layout)
    plain = grid == Layout(grid.shape, grid.stride)
    if plain and grid.rank < 3:
        grid = make_layout(*grid, *[Layout(1, 0)] * (3 - grid.rank))
    if not plain or grid.rank != 3 or grid.size == 0 or not grid.is_injective():
        raise ShapeError(
            f"{shown(atoms_layout)} does not deal atoms to threads along m, n and k.",
            hint="up to three sizes, or a layout of up to three modes that gives each atom a number of its own",
            atoms_layout=atoms_layout,
        )
    return grid


def _orders(atom: Atom, counts: tuple[int, ...], permutation: Any) -> tuple[Layout, Layout, Layout]:
    """Where each coordinate of m, n and k goes in the tile."""
    if not isinstance(permutation, tuple | list) or len(permutation) != 3:
        raise ShapeError(
            f"a permutation has an entry for m, n and k, got {shown(permutation)}.",
            hint="None, a size or a layout for each, as in (None, 32, None)",
            permutation=permutation,
        )
    m, n, k = [_order(*given) for given in zip("mnk", atom.shape, counts, permutation)]
    return m, n, k


def _order(name: str, size: int, count: int, given: Any) -> Layout:
    covered = size * count
    if given is None:
        return Layout(covered)
    order = given if isinstance(given, Layout) else Layout(as_int(given, f"the size of {name}"))
    if order.size == 0 or order.size % covered:
        wrong = f"has {order.size} elements, no multiple of the {covered} that the atoms cover"
    elif order != Layout(order.shape, order.stride) or not order.is_injective() or order.cosize != order.size:
        wrong = f"does not reach every one of {order.size} coordinates once"
    else:
        return order
    raise ShapeError(
        f"the permutation of {name}, {order}, {wrong}.",
        hint=f"a multiple of {covered}, or a layout that is a permutation of one",
        permutation=given,
    )


def _size(atom: Atom, operand: Operand, orders: tuple[Layout, ...], side: int) -> int:
    """How long a side of the operand's tile is; scales and what is sparse have fewer elements along k than the tile."""
    dimension = DIMENSIONS[operand.name][side]
    return orders[dimension].size * operand.tile[side] // atom.shape[dimension]


def _tile_layout(atom: Atom, operand: Operand, counts: tuple[int, ...], orders: tuple[Layout, ...]) -> Layout:
    """The operand's layout over (thread, (m, n, k of atoms)) and (value, (rests)), before threads are put in order."""
    step, sides = 1, []
    for side, dimension in enumerate(DIMENSIONS[operand.name]):
        order, size = orders[dimension], operand.tile[side]
        if size != atom.shape[dimension]:
            order = _order_of_parts(operand, order, atom.shape[dimension] // size)
        rest = order.size // (size * counts[dimension])
        cut = composition(order, Layout((size, counts[dimension], rest)))
        sides.append([Layout(mode.shape, _times(mode.stride, step)) for mode in cut])
        step *= order.size
    (first, first_atoms, first_rest), (second, second_atoms, second_rest) = sides
    inside = composition(make_layout(first, second), operand.layout)
    along = [Layout(count, 0) for count in counts]
    for dimension, mode in zip(DIMENSIONS[operand.name], (first_atoms, second_atoms)):
        along[dimension] = mode
    values = [inside[1], *[mode for mode in (first_rest, second_rest) if mode.size > 1]]
    return make_layout(make_layout(inside[0], *along), make_layout(*values) if len(values) > 1 else values[0])


def _order_of_parts(operand: Operand, order: Layout, together: int) -> Layout:
    if order != Layout(order.size):
        raise NotExpressible(
            f"{operand.name} has one element for {together} along k, and a permutation of k parts them.",
            hint="leave k as it is: None, or a size",
            permutation=order,
        )
    return Layout(order.size // together)


def _times(stride: Any, step: int) -> Any:
    return tuple([_times(part, step) for part in stride]) if isinstance(stride, tuple) else stride * step
