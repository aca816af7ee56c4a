"""``Atom``: one instruction that threads run together, and which of them holds which element of its operands."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import ShapeError, UnknownName
from ..layout.layout import Layout


class Operand(NamedTuple):
    """One operand of an instruction: a thread-value layout over a tile.

    ``layout`` has two modes, (thread, value), and counts the places of ``tile`` colexicographically: an A of M x K puts
    (m, k) at ``m + M*k``. A stride of 0 along the threads says that several hold the same element.
    """

    name: str
    layout: Layout
    tile: tuple[int, ...]
    element: str
    """The type as the instruction spells it, as in ``f16``; ``b1`` where a copy counts bits."""
    where: str = "registers"
    """Or ``shared memory``, or ``tensor memory``, whose lanes are then the threads."""
    tiles: tuple[str, ...] = ()
    """Names of the catalog that it may have in shared memory."""

    def coordinate(self, thread: int, value: int) -> tuple[int, ...]:
        """Where in the tile the value of a thread lies."""
        place, found = self.layout(thread, value), []
        for size in self.tile:
            found.append(place % size)
            place //= size
        return tuple(found)


class Atom(NamedTuple):
    """An instruction with its operands: ``D = A * B + C`` of a matrix unit, or a copy from ``src`` to ``dst``.

    ``shape`` is (m, n, k) for a product: A is m x k, B n x k, C and D m x n. ``threads`` take part; thread ``t`` is
    lane ``lanes(t)`` of the hardware, where that is not ``t`` itself. ``blocks`` products run side by side, each
    operand one block after another.

    >>> from relayout import atoms
    >>> print(atoms["mma.m16n8k16.f32.f16.f16.f32"].A)
    (((4, 8), (2, 2, 2)):((32, 1), (16, 8, 128)))
    """

    name: str
    shape: tuple[int, ...]
    threads: int
    operands: tuple[Operand, ...]
    arch: str
    """The first architecture that has it, as in ``sm80`` or ``gfx942``."""
    source: str
    """The document that the layouts are from."""
    judges: tuple[str, ...]
    """What the tests hold the layouts against: a vendor's formula, another program, a device."""
    lanes: Layout | None = None
    blocks: int = 1
    note: str = ""

    def operand(self, name: str) -> Operand:
        """The operand of that name."""
        for found in self.operands:
            if found.name == name:
                return found
        names = ", ".join([found.name for found in self.operands])
        raise UnknownName(f"{self.name} has no operand {name!r}.", hint=f"it has {names}", name=name)

    @property
    def A(self) -> Layout:
        """(thread, value) to ``m + M*k``."""
        return self.operand("A").layout

    @property
    def B(self) -> Layout:
        """(thread, value) to ``n + N*k``."""
        return self.operand("B").layout

    @property
    def C(self) -> Layout:
        """(thread, value) to ``m + M*n``."""
        return self.operand("C").layout

    @property
    def D(self) -> Layout:
        """(thread, value) to ``m + M*n``: C's layout, but for instructions whose D has another width than their C."""
        return self.operand("D").layout

    @property
    def SFA(self) -> Layout:
        """(thread, value) to ``m + M*s``, the scale of row m and of the s-th part of k."""
        return self.operand("SFA").layout

    @property
    def SFB(self) -> Layout:
        """(thread, value) to ``n + N*s``, the scale of column n and of the s-th part of k."""
        return self.operand("SFB").layout

    @property
    def src(self) -> Layout:
        """(thread, value) to the place that a copy reads."""
        return self.operand("src").layout

    @property
    def dst(self) -> Layout:
        """(thread, value) to the place in the source that a copy delivers."""
        return self.operand("dst").layout

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape)) + (f", {self.blocks} blocks" if self.blocks > 1 else "")
        lanes = "" if self.lanes is None else f" at lanes {self.lanes}"
        lines = [f"{self.name}: {shape}, {self.threads} threads{lanes}, {self.arch}"]
        for one in self.operands:
            tile, where = "x".join(map(str, one.tile)), "" if one.where == "registers" else f" in {one.where}"
            lines.append(f"  {one.name:<3} {one.element} {tile}{where}: {one.layout}")
        lines.append(f"  source: {self.source}")
        lines += [f"  judged by: {', '.join(self.judges)}"] if self.judges else []
        return "\n".join(lines + ([f"  {self.note}"] if self.note else []))


def product_operands(
    shape: tuple[int, int, int],
    layouts: dict[str, Layout],
    elements: tuple[str, str, str, str],
    blocks: int = 1,
) -> tuple[Operand, ...]:
    """The operands D, A, B and C of a product, given A's, B's and C's layouts; D lies as C does unless it is given.

    ``elements`` are the types of D, A, B and C, in PTX's order.
    """
    m, n, k = shape
    tiles = {"D": (m, n), "A": (m, k), "B": (n, k), "C": (m, n)}
    several = (blocks,) if blocks > 1 else ()
    return tuple(
        Operand(name, layouts.get(name, layouts["C"]), (*tiles[name], *several), element)
        for name, element in zip("DABC", elements)
    )


def thread_value(threads: tuple[Any, Any], values: list[tuple[int, int]]) -> Layout:
    """A layout of threads, (sizes, strides), and of values, pairs of a size and a stride; sizes of 1 are left out."""
    kept = [pair for pair in values if pair[0] > 1] or [(1, 0)]
    if len(kept) == 1:
        return Layout((threads[0], kept[0][0]), (threads[1], kept[0][1]))
    return Layout((threads[0], tuple(size for size, _ in kept)), (threads[1], tuple(stride for _, stride in kept)))


def check_atom(atom: Atom) -> None:
    """Refuse an atom whose layouts are not of (thread, value), have another number of threads, or leave their tile."""
    for one in atom.operands:
        layout, places = one.layout, Layout(one.tile).size
        if layout.rank != 2 or layout.extents[0] != atom.threads:
            what = f"{layout} has no mode of {atom.threads} threads and a mode of values"
        elif layout.min_offset < 0 or layout.max_offset >= places:
            what = f"{layout} leaves the {places} places of its tile {one.tile}"
        else:
            continue
        raise ShapeError(
            f"{one.name} of the atom {atom.name}: {what}.",
            hint="two modes, (thread, value), that count the places of the tile colexicographically",
            atom=atom.name,
        )
