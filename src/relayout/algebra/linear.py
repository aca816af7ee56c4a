"""``LinearLayout``: linear functions over GF(2) between named dimensions, as in Triton.

Coordinates and offsets are vectors of bits, and adding is XOR. Swizzles are such functions, and so are layouts over
powers of two whose sums never carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from ..errors import LimitExceeded, NotExpressible, ShapeError, shown
from ..immutable import Immutable
from ..integers.gf2 import ColumnSpan, multiply, multiply_array
from ..integers.inttuple import as_int
from ..layout.bit_layouts import linear_columns, linear_layout
from ..layout.layout import Layout, as_layout
from .bit_dims import BitDims, check_fit, named_pairs, size_bits, sized_dims, unite
from .linear_parts import LinearParts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LinearLayout(LinearParts, Immutable):
    """A linear function over GF(2) from named input dimensions to named output dimensions; all sizes are powers of two.

    ``bases[dim][k]`` is the value at ``dim = 2**k`` with all other inputs 0, one coordinate per output dimension. Every
    other value is the XOR of the bases at the set bits of the input. ``out_dims`` maps names to sizes; names alone give
    each the smallest size that holds its bases, refused unless every output is then reached, as in Triton.

    Dimensions stand fastest first. Their order counts where one integer runs through them: in ``flatten_*``,
    ``reshape_*``, ``matrix`` and integer coordinates.

    >>> LinearLayout({"t": [(1, 1), (2, 2)], "w": [(0, 1), (0, 2)]}, {"x": 4, "y": 4})(t=3, w=1)
    (3, 2)
    """

    __slots__ = ("_columns", "_ins", "_outs")
    _ins: BitDims
    _outs: BitDims
    _columns: tuple[int, ...]

    def __new__(
        cls,
        bases: Mapping[str, Sequence[Sequence[int]]] | Sequence[tuple[str, Sequence[Sequence[int]]]] = (),
        out_dims: Mapping[str, int] | Sequence[tuple[str, int]] | Sequence[str] = (),
    ) -> LinearLayout:
        groups = [(name, _checked_vectors(name, entries)) for name, entries in named_pairs(bases, "bases")]
        vectors = [v for _, group in groups for v in group]
        inferred = isinstance(out_dims, tuple | list) and all(isinstance(name, str) for name in out_dims)
        if inferred:
            outs = sized_dims([(name, 1) for name in out_dims], "out_dims")
            largest = [max((v[k] for v in vectors if k < len(v)), default=0) for k in range(len(outs))]
            outs = BitDims(zip(outs.names, [x.bit_length() for x in largest]))
        else:
            outs = sized_dims(out_dims, "out_dims")
        for name, group in groups:
            for v in group:
                outs.check_vector(name, v)
        ins = BitDims((name, len(group)) for name, group in groups)
        self = cls._make(ins, outs, [outs.pack(dict(zip(outs.names, v))) for v in vectors])
        if inferred and not self.is_surjective():
            raise ShapeError(
                f"sizes cannot be told from bases that miss outputs, such as {self._first_unreached()}.",
                hint="give the sizes of the outputs: {name: size, ...}",
                bases=self.bases,
            )
        return self

    @classmethod
    def _make(cls, ins: BitDims, outs: BitDims, columns: Iterable[int]) -> LinearLayout:
        """A layout from dimensions and one flat output per input bit, known to fit together."""
        self = super().__new__(cls)
        for name, value in (("_ins", ins), ("_outs", outs), ("_columns", tuple(columns))):
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def identity_1d(cls, size: int, in_dim: str, out_dim: str) -> LinearLayout:
        """``L(x) = x`` for ``x < size``; the empty layout for a size of 0, as in Triton."""
        return cls.strided_1d(size, 1, in_dim, out_dim)

    @classmethod
    def strided_1d(cls, size: int, stride: int, in_dim: str, out_dim: str) -> LinearLayout:
        """``L(x) = stride * x`` for ``x < size``, both powers of two, into ``stride * size`` outputs."""
        if as_int(size, "size") == 0:
            return cls()
        bits, shift = size_bits(size, in_dim), size_bits(stride, f"a step of {in_dim}")
        return cls({in_dim: [(1 << k + shift,) for k in range(bits)]}, {out_dim: 1 << bits + shift})

    @classmethod
    def zeros_1d(cls, size: int, in_dim: str, out_dim: str, out_dim_size: int = 1) -> LinearLayout:
        """``L(x) = 0`` for ``x < size``, into ``out_dim_size`` outputs; the empty layout for a size of 0."""
        if as_int(size, "size") == 0:
            return cls()
        return cls({in_dim: [(0,)] * size_bits(size, in_dim)}, {out_dim: out_dim_size})

    @classmethod
    def from_layout(cls, layout: Layout, dims: Sequence[str] | None = None) -> LinearLayout:
        """The function of ``layout``, from one input dimension per mode (``dim0``, ``dim1``, ...) to ``offset``.

        A swizzle is part of the function. Refused, with the reason and a counterexample, unless sizes are powers of
        two, the first offset is 0 and no two strides share a bit, so that adding them up never carries.
        """
        layout = as_layout(layout, "LinearLayout.from_layout")
        names = tuple([f"dim{k}" for k in range(layout.rank)]) if dims is None else dims
        if not isinstance(names, tuple | list) or len(names) != layout.rank:
            raise ShapeError(
                f"{layout} has {layout.rank} modes, got the names {shown(names)}.", hint="one name per mode", got=names
            )
        columns = linear_columns(layout)
        ins = sized_dims(list(zip(names, layout.extents)), "dims")
        return cls._make(ins, BitDims([("offset", max((c.bit_length() for c in columns), default=0))]), columns)

    @classmethod
    def parse(cls, text: str, shape: Any = None) -> LinearLayout:
        """The linear layout that an encoding of Triton is, for a shape or for the one that its type has.

        >>> LinearLayout.parse("#ttg.linear<{register = [[1]], lane = [[2], [4]], warp = [], block = []}>").bases
        {'register': ((1,),), 'lane': ((2,), (4,)), 'warp': (), 'block': ()}
        """
        from ..dialects.ttg_text import read_linear

        return read_linear(text, shape)

    def to_layout(self) -> Layout:
        """The simplest layout, one mode per input dimension, that is this function; it needs one output dimension.

        It has a swizzle if it needs one. Refused when no layout without a window is this function.
        """
        if len(self._outs) != 1:
            raise NotExpressible(
                f"a layout has one output, this has {len(self._outs)}: {', '.join(self._outs.names)}.",
                hint="flatten_outs() makes one of them, the first fastest",
                out_dims=self.out_dims,
            )
        return linear_layout(list(self._groups().values()))

    # ---- parts -------------------------------------------------------------------------------------------

    @property
    def in_dims(self) -> dict[str, int]:
        """The size of every input dimension, fastest first."""
        return self._ins.sizes

    @property
    def out_dims(self) -> dict[str, int]:
        """The size of every output dimension, fastest first."""
        return self._outs.sizes

    @property
    def bases(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """For every input dimension the values at 1, 2, 4, ..., one coordinate per output dimension."""
        return {name: tuple([self._outs.split(c) for c in group]) for name, group in self._groups().items()}

    def _groups(self) -> dict[str, tuple[int, ...]]:
        """The flat columns of every input dimension."""
        groups, start = {}, 0
        for name, bits in self._ins:
            groups[name] = self._columns[start : start + bits]
            start += bits
        return groups

    def matrix(self) -> NDArray[np.uint8]:
        """The 0/1 matrix: a row per output bit, a column per input bit; first dimensions and low bits come first."""
        import numpy as np

        rows = self._outs.bits
        entries = [[c >> r & 1 for c in self._columns] for r in range(rows)]
        return np.array(entries, np.uint8).reshape(rows, len(self._columns))

    # ---- the function ------------------------------------------------------------------------------------

    def apply(self, coordinate: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, Any]:
        """The value of every output dimension, at one integer or one integer array per input dimension."""
        given = named_pairs({} if coordinate is None else coordinate, "the coordinate")
        entries = dict(named_pairs([*given, *named.items()], "the coordinate"))
        self._ins.permute(entries, "the coordinate")
        return dict(zip(self._outs.names, self._values([entries[name] for name in self._ins.names])))

    def __call__(self, *coordinate: Any, **named: Any) -> Any:
        """The output at a coordinate: an integer for one output dimension, otherwise a tuple.

        A coordinate is one entry per input dimension, in order or by name, or a single integer that counts through all
        of them. Entries may be integer arrays, which broadcast; then the outputs are int64 arrays.
        """
        c = coordinate[0] if len(coordinate) == 1 else coordinate
        if isinstance(c, Mapping) or (named and not coordinate):
            values = tuple(self.apply(dict(c), **named).values())
        elif named or (isinstance(c, tuple | list) and len(c) != len(self._ins)):
            raise ShapeError(
                f"the coordinate {shown(c)} does not fit the dimensions {', '.join(self._ins.names) or '()'}.",
                hint="give one entry per dimension, in order or by name, or one integer that counts through all",
                got=c,
            )
        elif isinstance(c, tuple | list):
            values = self._values(c)
        else:
            values = self._make(BitDims([("the coordinate", self._ins.bits)]), self._outs, self._columns)._values((c,))
        return values[0] if len(values) == 1 else values

    def _values(self, entries: Sequence[Any]) -> tuple[Any, ...]:
        """The output coordinates at one entry per input dimension."""
        total: Any = 0
        for (name, group), x in zip(self._groups().items(), entries, strict=True):
            if hasattr(x, "dtype") and x.ndim:
                total = total ^ self._look_up(name, group, x)
            else:
                x = as_int(x, name)
                self._ins.check_range(name, x, x)
                total = total ^ multiply(group, x)
        return self._outs.split(total)

    def _look_up(self, name: str, columns: tuple[int, ...], x: Any) -> Any:
        """The flat outputs of an array of inputs."""
        import numpy as np

        x = np.asarray(x)
        if x.dtype.kind not in "iu":
            raise ShapeError(
                f"coordinates are integers, got an array of {x.dtype}.", hint="convert it to int64", got=x.dtype
            )
        if self._outs.bits > 63:
            raise LimitExceeded(
                f"the outputs {self.out_dims} do not fit into int64.", hint="call with Python integers", limit=1 << 63
            )
        if x.size:
            self._ins.check_range(name, int(x.min()), int(x.max()))
        return multiply_array(columns, x)

    # ---- what holds --------------------------------------------------------------------------------------

    def is_surjective(self) -> bool:
        """Whether every output is reached."""
        return ColumnSpan(self._columns).rank == self._outs.bits

    def is_injective(self) -> bool:
        """Whether no two inputs share an output."""
        return ColumnSpan(self._columns).relation is None

    def is_invertible(self) -> bool:
        """Whether inputs and outputs correspond one to one."""
        return self._ins.bits == self._outs.bits and self.is_surjective()

    def _first_unreached(self) -> dict[str, int]:
        """The first output with one bit set that no input reaches."""
        span = ColumnSpan(self._columns)
        bit = next(b for b in range(self._outs.bits) if span.choice(1 << b) is None)
        return self._outs.by_name(1 << bit)

    # ---- dimensions --------------------------------------------------------------------------------------

    def transpose_ins(self, names: Sequence[str]) -> LinearLayout:
        """This function with its input dimensions in another order."""
        ins, groups = self._ins.permute(names, "transpose_ins"), self._groups()
        return self._make(ins, self._outs, [c for name in ins.names for c in groups[name]])

    def transpose_outs(self, names: Sequence[str]) -> LinearLayout:
        """This function with its output dimensions in another order."""
        outs = self._outs.permute(names, "transpose_outs")
        return self._make(self._ins, outs, [outs.pack(self._outs.by_name(c)) for c in self._columns])

    def reshape_ins(self, dims: Mapping[str, int] | Sequence[tuple[str, int]]) -> LinearLayout:
        """The input bits, in order, cut into other dimensions."""
        return self._make(self._ins.recut(dims, "reshape_ins"), self._outs, self._columns)

    def reshape_outs(self, dims: Mapping[str, int] | Sequence[tuple[str, int]]) -> LinearLayout:
        """The output bits, in order, cut into other dimensions."""
        return self._make(self._ins, self._outs.recut(dims, "reshape_outs"), self._columns)

    def flatten_ins(self) -> LinearLayout:
        """All input dimensions as one, with the name of the first."""
        return self._make(self._ins.flatten(), self._outs, self._columns)

    def flatten_outs(self) -> LinearLayout:
        """All output dimensions as one, with the name of the first."""
        return self._make(self._ins, self._outs.flatten(), self._columns)

    def sublayout(self, in_names: Sequence[str], out_names: Sequence[str]) -> LinearLayout:
        """The function of some inputs, the others 0, to some outputs; sizes and order stay as they are."""
        picked = self._ins.pick(in_names, "the inputs"), self._outs.pick(out_names, "the outputs")
        ins, outs = (BitDims(dim for dim in dims if dim in kept) for dims, kept in zip((self._ins, self._outs), picked))
        groups = self._groups()
        return self._make(ins, outs, [outs.pack(self._outs.by_name(c)) for name in ins.names for c in groups[name]])

    # ---- combining ---------------------------------------------------------------------------------------

    def __mul__(self, other: LinearLayout) -> LinearLayout:
        """The direct sum: ``self`` on the low bits of every dimension, ``other`` on the bits above them.

        The dimensions of both keep their order; where that leaves a choice, those of ``self`` come first.
        """
        if not isinstance(other, LinearLayout):
            return NotImplemented
        ins, outs = unite(self._ins, other._ins, "input"), unite(self._outs, other._outs, "output")
        low, high, taken = self._groups(), other._groups(), dict(self._outs)
        columns: list[int] = []
        for name in ins.names:
            columns += [outs.pack(self._outs.by_name(c)) for c in low.get(name, ())]
            for c in high.get(name, ()):
                columns.append(outs.pack({n: x << taken.get(n, 0) for n, x in other._outs.by_name(c).items()}))
        return self._make(ins, outs, columns)

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """First this layout, then ``outer``, whose inputs are these outputs, in any order and at least as large."""
        check_fit(self._outs, _as_linear(outer, "compose")._ins, "the inputs of the outer layout")
        inputs = outer._groups()
        columns = [c for name, bits in self._outs for c in inputs[name][:bits]]
        return self._make(self._ins, outer._outs, [multiply(columns, c) for c in self._columns])

    def invert(self) -> LinearLayout:
        """The inverse function, refused with a counterexample unless inputs and outputs correspond one to one."""
        relation = ColumnSpan(self._columns).relation
        if relation is not None:
            two = self._ins.by_name(0), self._ins.by_name(relation)
            raise NotExpressible(
                f"the inputs {two[0]} and {two[1]} share an output, so there is no inverse.",
                hint="pseudo_invert() takes the smallest input of every output",
                counterexample=two,
            )
        return self.pseudo_invert()

    def pseudo_invert(self) -> LinearLayout:
        """The layout that maps every output to its smallest input, counted through the input dimensions.

        ``self(self.pseudo_invert()(y)) == y`` for every output ``y``. Refused when some output is not reached.
        """
        return self._make(self._outs, self._outs, [1 << k for k in range(self._outs.bits)]).invert_and_compose(self)

    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """The layout ``C`` with ``outer(C(x)) == self(x)``; refused when ``outer`` misses an output of this one.

        Where ``outer`` leaves a choice, an input dimension that has the same bases in both, in output bits of its own,
        maps to itself; everything else takes the smallest input, counted through the dimensions of ``outer``.
        """
        outs = _as_linear(outer, "invert_and_compose")._outs
        check_fit(self._outs, outs, "the outputs of the outer layout")
        wanted = {name: tuple([outs.pack(self._outs.by_name(c)) for c in g]) for name, g in self._groups().items()}
        given = outer._groups()
        kept = [n for n in wanted if wanted[n] == given.get(n) and _stands_alone(n, wanted) and _stands_alone(n, given)]
        span = ColumnSpan([0 if name in kept else c for name, group in given.items() for c in group])
        columns: list[int] = []
        for name, group in wanted.items():
            for k, c in enumerate(group):
                choice = outer._ins.pack({name: 1 << k}) if name in kept else span.choice(c)
                if choice is None:
                    raise NotExpressible(
                        f"the layout to invert never gives {outs.by_name(c)}, the value wanted at {name} = {1 << k}.",
                        hint="invert a layout that reaches every output: is_surjective()",
                        counterexample=outs.by_name(c),
                        outer=outer,
                    )
                columns.append(choice)
        return self._make(self._ins, outer._ins, columns)

    # ---- as a value --------------------------------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        return self._ins, self._outs, self._columns

    def __reduce__(self) -> tuple[Any, ...]:
        return LinearLayout._make, self._key()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearLayout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"LinearLayout({self.bases}, {self.out_dims})"

    def _repr_svg_(self) -> str | None:
        from ..drawing.notebook import svg_of

        return svg_of(self)

    def __str__(self) -> str:
        """Triton's printed form."""
        outs = f"[{', '.join(f'{name} (size {size})' for name, size in self.out_dims.items())}]"
        if not self._ins:
            return f"(empty layout with out-dims {outs})" if self._outs else "(empty layout)"
        lines = []
        for name, group in self.bases.items():
            values = [f"{name}={1 << k} -> ({', '.join(map(str, basis))})" for k, basis in enumerate(group)]
            lines.append(" - " + "\n   ".join(values or [f"{name} is a size 1 dimension"]))
        return "\n".join([*lines, f"where out dims are: {outs}"])


def _checked_vectors(name: str, entries: Any) -> list[tuple[int, ...]]:
    """The bases of one input dimension as tuples of integers."""
    if not isinstance(entries, tuple | list) or not all(isinstance(v, tuple | list) for v in entries):
        raise ShapeError(
            f"the bases of {name} must be a list of tuples, got {shown(entries)}.",
            hint="give one tuple per input bit, with one entry per output dimension, such as [(0, 1), (0, 2)]",
            got=entries,
        )
    return [tuple([as_int(x, f"a basis of {name}") for x in v]) for v in entries]


def _as_linear(x: Any, operation: str) -> LinearLayout:
    if isinstance(x, LinearLayout):
        return x
    raise ShapeError(
        f"{operation} takes a LinearLayout, got {shown(x)}.", hint="LinearLayout.from_layout(L) makes one", got=x
    )


def _stands_alone(name: str, groups: Mapping[str, Sequence[int]]) -> bool:
    """Whether no other dimension touches the output bits of this one."""
    own = reduce(or_, groups[name], 0)
    return not any(own & c for other, group in groups.items() if other != name for c in group)
