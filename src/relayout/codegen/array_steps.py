"""A pack as operations on whole arrays, in no language: reshape, slice, flip, transpose and pad.

The memory of the source becomes an array with one axis for each digit; one transposition brings the digits into the
order of the target. Where a dimension has a window, or is cut elsewhere by both sides, it is one axis at the *waist*,
the array that holds all elements and nothing else: what is beside them is sliced off before it, and filled behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .loops import common_places
from .operands import DigitOperand, OperandDigit
from .python_text import factor_text
from .values import ONE, Monomial, product_of

Shape = tuple[Monomial, ...]

ZERO = Monomial(0)

PADDING = ("Padding",)
WITHOUT = ("Without the padding",)
GAPS = ("Without the gaps",)
FILLED_GAPS = ("Gaps",)


class ArrayStep(NamedTuple):
    """One operation: ``reshape``, ``slice``, ``flip``, ``transpose`` or ``pad``, from one shape to another.

    ``detail`` are the axes in their order (``transpose``), those that are reversed (``flip``), or where the old array
    (``slice``) or the new one (``pad``) starts along each axis. ``titles`` tell the axes of what comes out.
    """

    kind: str
    old: Shape
    new: Shape
    detail: tuple[int, ...]
    titles: tuple[str, ...]


class WaistAxis(NamedTuple):
    """An axis of the array that holds the elements: a part of a dimension, its coordinates times ``place``."""

    dim: int
    place: Monomial
    size: Monomial


class ArrayMove(NamedTuple):
    """The steps up to the waist, and from there to the target's memory; None where a side is no chain of steps.

    ``parts`` are the source's axes as the first transposition finds them.
    """

    waist: tuple[WaistAxis, ...]
    parts: tuple[WaistAxis, ...]
    before: tuple[ArrayStep, ...] | None
    after: tuple[ArrayStep, ...] | None


class MemoryAxis(NamedTuple):
    """A digit of an operand as an axis of its memory."""

    dim: int
    place: Monomial
    size: Monomial
    stride: Monomial
    backwards: bool


class StepChain:
    """Steps added one by one; those that do nothing are left out, and reshapes that follow each other are one."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.steps: list[ArrayStep] = []

    def reshape(self, shape: Shape, titles: Sequence[str] = ()) -> None:
        old = self.shape
        if self.steps and self.steps[-1].kind == "reshape":
            old = self.steps.pop().old
        self.shape = old
        if shape != old:
            self._add("reshape", shape, (), titles)

    def transpose(self, order: Sequence[int], titles: Sequence[str]) -> None:
        if list(order) != list(range(len(order))):
            self._add("transpose", tuple([self.shape[k] for k in order]), tuple(order), titles)

    def flip(self, axes: Sequence[int]) -> None:
        if axes:
            self._add("flip", self.shape, tuple(axes), ())

    def slice(self, lows: Sequence[int], shape: Shape, titles: Sequence[str] = ()) -> None:
        if shape != self.shape:
            self._add("slice", shape, tuple(lows), titles)

    def pad(self, lows: Sequence[int], shape: Shape, titles: Sequence[str] = ()) -> None:
        if shape != self.shape:
            self._add("pad", shape, tuple(lows), titles)

    def _add(self, kind: str, shape: Shape, detail: tuple[int, ...], titles: Sequence[str]) -> None:
        self.steps.append(ArrayStep(kind, self.shape, shape, detail, tuple(titles)))
        self.shape = shape


def joined_steps(before: Sequence[ArrayStep], after: Sequence[ArrayStep]) -> list[ArrayStep]:
    """One chain of two; where a reshape meets a reshape, it is one, or none."""
    if not before or not after or (before[-1].kind, after[0].kind) != ("reshape", "reshape"):
        return [*before, *after]
    middle = [] if before[-1].old == after[0].new else [after[0]._replace(old=before[-1].old)]
    return [*before[:-1], *middle, *after[1:]]


class PackedSide(NamedTuple):
    """One side of a move: its operand, and its memory as axes, the slowest first; None where it is no such array."""

    operand: DigitOperand
    axes: tuple[MemoryAxis, ...] | None
    lowest: int

    def digits(self, dim: int) -> list[MemoryAxis]:
        """The axes of one dimension, the slowest digit first."""
        own = [axis for axis in self.axes or () if axis.dim == dim]
        return sorted(own, key=lambda axis: (len(axis.place.names), axis.place.number), reverse=True)


def packed_side(operand: DigitOperand, dims: Sequence[int]) -> PackedSide:
    """The memory of an operand as an array, if every digit's step holds all that is faster."""
    if operand.swizzle is not None:
        return PackedSide(operand, None, 0)
    digits = [(d, digit) for d in dims for digit in operand.dims[d] if digit.size != ONE]
    known = all(digit.stride.known and digit.size.known for _, digit in digits)
    digits.sort(key=lambda x: -abs(x[1].stride.number) if known else x[1].slowness)
    axes = []
    for d, digit in digits:
        backwards = digit.stride.number < 0
        axes.append(MemoryAxis(d, digit.place, digit.size, digit.stride * (-1 if backwards else 1), backwards))
    lowest = 0
    if known:
        lowest = sum([value.number for value in operand.offset])
        lowest -= sum([(x.size.number - 1) * x.stride.number for x in axes if x.backwards])
        ends = [axis.size.number * axis.stride.number for axis in axes]
        if any(x.stride == ZERO for x in axes) or any(x.stride.number < end for x, end in zip(axes, ends[1:])):
            return PackedSide(operand, None, lowest)
    # A dimension of one element is an axis of one.
    present = {axis.dim for axis in axes}
    axes += [MemoryAxis(d, ONE, ONE, ONE, False) for d in dims if d not in present]
    return PackedSide(operand, tuple(axes), lowest)


def box_of(digits: Sequence[OperandDigit]) -> Monomial:
    """How many positions a dimension has, its window or more."""
    return product_of([digit.size for digit in digits])


def build_move(
    names: Sequence[str],
    extents: Sequence[Monomial],
    source: DigitOperand,
    target: DigitOperand,
    whole_dims: frozenset[int] = frozenset(),
) -> ArrayMove:
    """The steps between two operands; each of ``whole_dims`` is one axis at the waist."""
    boxes = [[box_of(digits) for digits in side.dims] for side in (source, target)]
    dims = [d for d, n in enumerate(extents) if n != ONE or boxes[0][d] != ONE or boxes[1][d] != ONE or d in whole_dims]
    first, second = packed_side(source, dims), packed_side(target, dims)
    move = MoveBuilder(names, extents, dims, first, second, whole_dims)
    return move.build()


class MoveBuilder:
    """The steps of one move."""

    def __init__(
        self,
        names: Sequence[str],
        extents: Sequence[Monomial],
        dims: list[int],
        source: PackedSide,
        target: PackedSide,
        whole_dims: frozenset[int],
    ) -> None:
        self.names = names
        self.extents = extents
        self.dims = dims
        self.source = source
        self.target = target
        self.cuts = {d: None if d in whole_dims else self._cuts(d) for d in dims}

    def build(self) -> ArrayMove:
        if self.source.axes is None or self.target.axes is None:
            return self._build_by_dimensions()
        whole = [d for d in self.dims if self.cuts[d] is None]
        if all(len(self.source.digits(d)) == 1 for d in whole):
            return self._build_before_order(self.source.axes, self.target.axes)
        if all(len(self.target.digits(d)) == 1 for d in whole):
            return self._build_behind_order(self.source.axes, self.target.axes)
        return self._build_by_dimensions()

    # ---- the three ways ----------------------------------------------------------------------------------

    def _build_before_order(self, source: tuple[MemoryAxis, ...], target: tuple[MemoryAxis, ...]) -> ArrayMove:
        """Windows are cut and filled in the source's order; the waist has its axes."""
        before = self._open_memory(self.source, source)
        waist = self._cut_windows(before, self.source, source)
        after = StepChain(before.shape)
        self._fill_windows(after, waist)
        atoms = [atom for axis in source for atom in self._atoms(axis, self.target)]
        self._reorder(after, atoms, target)
        self._close_memory(after, target)
        return ArrayMove(waist, tuple(atoms), tuple(before.steps), tuple(after.steps))

    def _build_behind_order(self, source: tuple[MemoryAxis, ...], target: tuple[MemoryAxis, ...]) -> ArrayMove:
        """Windows are cut and filled in the target's order."""
        before = self._open_memory(self.source, source)
        atoms = [atom for axis in target for atom in self._atoms(axis, self.source)]
        own = [atom for axis in source for atom in self._split(axis)]
        before.reshape(tuple([atom.size for atom in own]), self._titles(own, self.source))
        before.transpose([own.index(atom) for atom in atoms], self._titles(atoms, self.source))
        joined = [axis._replace(size=self._box(self.source, axis)) for axis in target]
        before.reshape(tuple([axis.size for axis in joined]), self._titles([_part(x) for x in joined], self.source))
        waist = self._cut_windows(before, self.source, joined)
        after = StepChain(before.shape)
        self._fill_windows(after, waist)
        self._close_memory(after, target)
        return ArrayMove(waist, tuple(own), tuple(before.steps), tuple(after.steps))

    def _build_by_dimensions(self) -> ArrayMove:
        """The waist has one axis for each dimension; each side is steps of its own, or none."""
        self.cuts = dict.fromkeys(self.dims)
        waist = tuple([WaistAxis(d, ONE, self.extents[d]) for d in self.dims])
        titles = [self.names[d] for d in self.dims]
        steps = None
        if self.source.axes is not None:
            before = self._open_memory(self.source, self.source.axes)
            own = [_part(axis) for axis in self.source.axes]
            atoms = [_part(axis) for d in self.dims for axis in self.source.digits(d)]
            before.transpose([own.index(atom) for atom in atoms], self._titles(atoms, self.source))
            before.reshape(tuple([self._whole_box(self.source, d) for d in self.dims]), titles)
            lows = [self.source.operand.origins[d] for d in self.dims]
            before.slice(lows, tuple([axis.size for axis in waist]), WITHOUT)
            steps = tuple(before.steps)
        if self.target.axes is None:
            return ArrayMove(waist, (), steps, None)
        after = StepChain(tuple([axis.size for axis in waist]))
        self._fill_windows(after, waist)
        atoms = [_part(axis) for d in self.dims for axis in self.target.digits(d)]
        self._reorder(after, atoms, self.target.axes)
        self._close_memory(after, self.target.axes)
        return ArrayMove(waist, tuple(atoms), steps, tuple(after.steps))

    # ---- parts -------------------------------------------------------------------------------------------

    def _cuts(self, d: int) -> list[Monomial] | None:
        """The places at which both sides cut a dimension without windows; None where it is one axis at the waist."""
        for side in (self.source, self.target):
            if side.operand.origins[d] or self._whole_box(side, d) != self.extents[d]:
                return None
        ours, theirs = [
            tuple([x for x in side.operand.dims[d] if x.size != ONE]) for side in (self.source, self.target)
        ]
        return common_places(ours, 0, theirs, 0)

    def _whole_box(self, side: PackedSide, d: int) -> Monomial:
        return box_of(side.operand.dims[d])

    def _box(self, side: PackedSide, axis: MemoryAxis) -> Monomial:
        """The size of an axis; that of the whole dimension where it is one axis at the waist."""
        return self._whole_box(side, axis.dim) if self.cuts[axis.dim] is None else axis.size

    def _split(self, axis: MemoryAxis) -> list[WaistAxis]:
        """The parts of an axis, the slowest first: where the other side cuts it too."""
        places = self.cuts[axis.dim]
        if places is None:
            return [_part(axis)]
        end = axis.place * axis.size
        own = [place for place in places if axis.place.divides(place) and place.divides(end) and place != end]
        ends = [*own[1:], end]
        return [WaistAxis(axis.dim, place, stop.over(place)) for place, stop in zip(own, ends)][::-1]

    def _atoms(self, axis: MemoryAxis, other: PackedSide) -> list[WaistAxis]:
        """The parts of an axis; of one that is a whole dimension, the digits that the other side has."""
        if self.cuts[axis.dim] is None:
            return [_part(x) for x in other.digits(axis.dim)]
        return self._split(axis)

    def _reorder(self, chain: StepChain, atoms: list[WaistAxis], target: tuple[MemoryAxis, ...]) -> None:
        """From the parts in their order to the target's digits in the order of memory."""
        chain.reshape(tuple([atom.size for atom in atoms]), self._titles(atoms, self.target))
        wanted = [atom for axis in target for atom in self._split(axis)]
        chain.transpose([atoms.index(atom) for atom in wanted], self._titles(wanted, self.target))
        chain.reshape(tuple([axis.size for axis in target]), self._titles([_part(x) for x in target], self.target))

    def _cut_windows(self, chain: StepChain, side: PackedSide, axes: Sequence[MemoryAxis]) -> tuple[WaistAxis, ...]:
        """Only the elements; what is around them is left behind."""
        waist, lows = [], []
        for axis in axes:
            whole = self.cuts[axis.dim] is None
            lows.append(side.operand.origins[axis.dim] if whole else 0)
            waist.append(WaistAxis(axis.dim, axis.place, self.extents[axis.dim] if whole else axis.size))
        chain.slice(lows, tuple([axis.size for axis in waist]), WITHOUT)
        return tuple(waist)

    def _fill_windows(self, chain: StepChain, waist: tuple[WaistAxis, ...]) -> None:
        lows, shape = [], []
        for axis in waist:
            whole = self.cuts[axis.dim] is None
            lows.append(self.target.operand.origins[axis.dim] if whole else 0)
            shape.append(self._whole_box(self.target, axis.dim) if whole else axis.size)
        chain.pad(lows, tuple(shape), PADDING)

    def _open_memory(self, side: PackedSide, axes: tuple[MemoryAxis, ...]) -> StepChain:
        """From flat memory to one axis for each digit; gaps are sliced off."""
        storage = side.operand.storage
        chain = StepChain((storage,))
        total = axes[0].size * axes[0].stride if axes else ONE
        self._fit_length(chain, side.lowest, storage, total)
        sizes: list[Monomial] = []
        for k, axis in enumerate(axes):
            sizes.append(axis.size)
            inner = axes[k + 1].size * axes[k + 1].stride if k + 1 < len(axes) else ONE
            if inner != axis.stride:
                chain.reshape((*sizes, axis.stride))
                chain.slice([0] * (len(sizes) + 1), (*sizes, inner), GAPS)
        chain.reshape(tuple(sizes), self._titles([_part(axis) for axis in axes], side))
        chain.flip([k for k, axis in enumerate(axes) if axis.backwards])
        return chain

    def _fit_length(self, chain: StepChain, lowest: int, storage: Monomial, total: Monomial) -> None:
        """The part of the source that has elements, up to whole steps of the slowest digit."""
        if not (storage.known and total.known):
            chain.slice([0], (total,))
            return
        rest = storage.number - lowest
        chain.slice([lowest], (Monomial(min(rest, total.number)),))
        chain.pad([0], (total,))

    def _close_memory(self, chain: StepChain, axes: tuple[MemoryAxis, ...]) -> None:
        """From one axis for each digit to flat memory; gaps are filled."""
        chain.flip([k for k, axis in enumerate(axes) if axis.backwards])
        sizes = [axis.size for axis in axes]
        for k in range(len(axes) - 1, -1, -1):
            inner = axes[k + 1].size * axes[k + 1].stride if k + 1 < len(axes) else ONE
            if inner != axes[k].stride:
                chain.reshape((*sizes[: k + 1], inner))
                chain.pad([0] * (k + 2), (*sizes[: k + 1], axes[k].stride), FILLED_GAPS)
        total = axes[0].size * axes[0].stride if axes else ONE
        chain.reshape((total,))
        storage = self.target.operand.storage
        if storage.known and total.known:
            rest = storage.number - self.target.lowest
            chain.slice([0], (Monomial(min(rest, total.number)),))
        chain.pad([self.target.lowest], (storage,))

    def _titles(self, axes: Sequence[WaistAxis], side: PackedSide) -> list[str]:
        """Axes in words: ``h``, or its digits ``h // 8`` and ``h % 8``, of positions that a side counts."""
        found = []
        for axis in axes:
            own = [other.place for other in axes if other.dim == axis.dim]
            origin = side.operand.origins[axis.dim] if len(own) > 1 else 0
            text = f"({self.names[axis.dim]} + {origin})" if origin else self.names[axis.dim]
            if axis.place != ONE:
                text += f" // {factor_text(axis.place)}"
            if not all(place.divides(axis.place) for place in own):
                text += f" % {factor_text(axis.size)}"
            found.append(text)
        return found


def _part(axis: MemoryAxis) -> WaistAxis:
    return WaistAxis(axis.dim, axis.place, axis.size)
