"""Linear layouts taken apart and put together: factors, quotients, sizes, names, free bits and general inverses."""

# Every LinearParts is a LinearLayout: the class only keeps these methods in a file of their own.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import NotExpressible, ShapeError, shown
from ..integers.gf2 import ColumnSpan
from .bit_dims import BitDims, size_bits

if TYPE_CHECKING:
    from .linear import LinearLayout


class LinearParts:
    """The methods of ``LinearLayout`` that factor it, resize it and rename its dimensions, as in Triton."""

    __slots__ = ()

    def divide_left(self: LinearLayout, low: LinearLayout) -> LinearLayout:
        """``C`` with ``low * C == self`` and the dimensions of ``self``; refused where there is none."""
        return _divide(self, low, True)

    def divide_right(self: LinearLayout, high: LinearLayout) -> LinearLayout:
        """``C`` with ``C * high == self`` and the dimensions of ``self``; refused where there is none."""
        return _divide(self, high, False)

    def is_trivial_over(self: LinearLayout, names: Sequence[str]) -> bool:
        """Whether the dimensions named map to themselves, as they are, and nothing else maps to or from them."""
        ins, outs = self._ins.pick(names, "is_trivial_over"), self._outs.pick(names, "is_trivial_over")
        if ins != outs:
            return False
        for name, group in self._groups().items():
            for k, column in enumerate(group):
                moved = self._outs.by_name(column)
                expected = {name: 1 << k} if name in ins.names else {n: moved[n] for n in moved if n not in ins.names}
                if moved != {n: expected.get(n, 0) for n in moved}:
                    return False
        return True

    def quotient(self: LinearLayout, names: Sequence[str]) -> LinearLayout:
        """The layout of the other dimensions, where it is trivial over the ones named; else refused."""
        if not self.is_trivial_over(names):
            raise NotExpressible(
                f"the layout is not the identity on {', '.join(names)} alone, so there is no quotient.",
                hint="is_trivial_over(names) asks first; sublayout takes parts of any layout",
                layout=self,
                names=names,
            )
        rest = [[n for n in dims.names if n not in names] for dims in (self._ins, self._outs)]
        return self.sublayout(rest[0], rest[1])

    def free_variable_masks(self: LinearLayout) -> dict[str, int]:
        """For each input dimension the bits whose bases are sums of earlier ones; with those at 0 it is one to one."""
        masks = {}
        seen: list[int] = []
        for name, group in self._groups().items():
            masks[name] = 0
            for k, column in enumerate(group):
                if ColumnSpan(seen).choice(column) is None:
                    seen.append(column)
                else:
                    masks[name] |= 1 << k
        return masks

    def num_consecutive(self: LinearLayout) -> int:
        """How many inputs in a row of the first dimension give a row of the first output, from every multiple on."""
        if not self._ins or not self._outs:
            return 1
        first = self._groups()[self._ins.names[0]]
        low = (1 << self._outs[0][1]) - 1
        count = 0
        while count < len(first) and first[count] == 1 << count and count < self._outs[0][1]:
            count += 1
        others = 0
        for column in self._columns[count:]:
            others |= column & low
        return 1 << (min(count, (others & -others).bit_length() - 1) if others else count)

    def resize_in(self: LinearLayout, name: str, size: int) -> LinearLayout:
        """An input dimension made shorter, or longer by bits that change no output."""
        self._ins.pick([name], "resize_in")
        bits = size_bits(size, name)
        columns: list[int] = []
        for other, group in self._groups().items():
            columns += [*group, *[0] * bits][:bits] if other == name else group
        return self._make(BitDims((n, bits if n == name else b) for n, b in self._ins), self._outs, columns)

    def resize_out(self: LinearLayout, name: str, size: int) -> LinearLayout:
        """An output dimension made larger, or smaller: then a basis whose coordinate is past ``size`` has 0 there.

        As in Triton, which only makes them smaller. Coordinates modulo ``size`` are another function where a basis has
        bits on both sides of ``size``, as those of swizzles do.
        """
        self._outs.pick([name], "resize_out")
        bits = size_bits(size, name)
        outs = BitDims((n, bits if n == name else b) for n, b in self._outs)
        columns = []
        for column in self._columns:
            moved = self._outs.by_name(column)
            columns.append(outs.pack({**moved, name: moved[name] if moved[name] < size else 0}))
        return self._make(self._ins, outs, columns)

    def concat_ins(self: LinearLayout, other: LinearLayout) -> LinearLayout:
        """Both layouts, of the same outputs, side by side: ``result(x, y) == self(x) ^ other(y)``."""
        if self._outs != _linear(other)._outs:
            raise _differ("outputs", self.out_dims, other.out_dims)
        ins = _joined_dims(self._ins, other._ins)
        return self._make(ins, self._outs, [*self._columns, *other._columns])

    def concat_outs(self: LinearLayout, other: LinearLayout) -> LinearLayout:
        """Both layouts of one input, the outputs of ``self`` first."""
        if self._ins != _linear(other)._ins:
            raise _differ("inputs", self.in_dims, other.in_dims)
        outs = _joined_dims(self._outs, other._outs)
        shift = self._outs.bits
        return self._make(self._ins, outs, [a | b << shift for a, b in zip(self._columns, other._columns, strict=True)])

    def rename_in(self: LinearLayout, old: str, new: str) -> LinearLayout:
        """This layout with another name for an input dimension."""
        return self._make(_rename(self._ins, old, new), self._outs, self._columns)

    def rename_out(self: LinearLayout, old: str, new: str) -> LinearLayout:
        """This layout with another name for an output dimension."""
        return self._make(self._ins, _rename(self._outs, old, new), self._columns)

    def generalized_inverse(self: LinearLayout) -> LinearLayout:
        """``G``, of any layout, with ``self(G(self(x))) == self(x)``: the smallest input of every output there is.

        What no input reaches is sent where the part that inputs do reach is. Where all is reached it is
        ``pseudo_invert``.
        """
        span = ColumnSpan(self._columns)
        return self._make(self._outs, self._ins, [span.nearest(1 << k) for k in range(self._outs.bits)])


def _divide(whole: LinearLayout, part: LinearLayout, part_is_low: bool) -> LinearLayout:
    """The other factor of ``whole``: basis by basis, every one must lie in one of the two blocks."""
    small_ins, small_outs = dict(_linear(part)._ins), dict(part._outs)
    sizes = [*((n, b, dict(whole._ins)) for n, b in part._ins), *((n, b, dict(whole._outs)) for n, b in part._outs)]
    if any(n not in room or b > room[n] for n, b, room in sizes):
        raise _no_factor(whole, part)
    ins = BitDims((n, b - small_ins.get(n, 0)) for n, b in whole._ins)
    outs = BitDims((n, b - small_outs.get(n, 0)) for n, b in whole._outs)
    given = part._groups()
    columns = []
    for name, group in whole._groups().items():
        theirs = given.get(name, ())
        first = 0 if part_is_low else len(group) - len(theirs)
        for k, column in enumerate(group):
            moved = whole._outs.by_name(column)
            if first <= k < first + len(theirs):
                wanted = part._outs.by_name(theirs[k - first])
                scaled = {n: wanted.get(n, 0) << (0 if part_is_low else dict(outs)[n]) for n in moved}
                if moved != scaled:
                    raise _no_factor(whole, part)
                continue
            rest = {n: x >> small_outs.get(n, 0) if part_is_low else x for n, x in moved.items()}
            inside = all(x >> b == 0 for x, b in zip(rest.values(), dict(outs).values()))
            lost = part_is_low and any(x & (1 << small_outs.get(n, 0)) - 1 for n, x in moved.items())
            if lost or not inside:
                raise _no_factor(whole, part)
            columns.append(outs.pack(rest))
    return whole._make(ins, outs, columns)


def _linear(x: LinearLayout) -> LinearLayout:
    if isinstance(x, LinearParts):
        return x
    raise ShapeError(f"another LinearLayout is needed, got {shown(x)}.", hint="LinearLayout.from_layout(L)", got=x)


def _no_factor(whole: LinearLayout, part: LinearLayout) -> NotExpressible:
    return NotExpressible(
        "the layout is no product with that factor.",
        hint="a product has each factor in bits of its own, of every dimension",
        layout=whole,
        factor=part,
    )


def _joined_dims(a: BitDims, b: BitDims) -> BitDims:
    shared = [n for n in a.names if n in b.names]
    if shared:
        raise ShapeError(f"both layouts have {', '.join(shared)}.", hint="rename it in one of them", names=shared)
    return BitDims([*a, *b])


def _rename(dims: BitDims, old: str, new: str) -> BitDims:
    dims.pick([old], "rename")
    if not isinstance(new, str) or (new != old and new in dims.names):
        raise ShapeError(
            f"{new!r} is no free name for a dimension.", hint=f"taken are {', '.join(dims.names)}", got=new
        )
    return BitDims((new if n == old else n, b) for n, b in dims)


def _differ(what: str, a: dict[str, int], b: dict[str, int]) -> ShapeError:
    return ShapeError(f"the {what} {a} and {b} differ.", hint="both need the same, in the same order", a=a, b=b)
