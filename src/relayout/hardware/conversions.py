"""What a change of layout costs, of a tensor in registers: nothing, shuffles, or a way through shared memory.

How far a value has to go is proven over GF(2). Which way is taken is Triton's rule for ``ttg.convert_layout``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..algebra.linear import LinearLayout
from ..elements.types import Element
from ..elements.types import element as element_of
from ..errors import LayoutError, ShapeError, shown
from ..integers.gf2 import ColumnSpan
from .registry import architecture_named
from .scratch import Scratch, scratch_of
from .triton_encoding import THREADS

if TYPE_CHECKING:
    from .architecture import Architecture

REACHES = ("register", "thread", "warp", "block", "cluster")
"""How far values go: each stays in its register, in its thread, in its warp, in its block, or goes to another one."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the stores, or the loads, of a warp cost: so many instructions of so many wavefronts each.

    ``wavefronts`` is None where nobody knows what the access costs, and ``why`` then says so.
    """

    access: str
    instructions: int
    wavefronts: int | None
    ideal: int | None
    why: str = ""

    @property
    def total(self) -> int | None:
        """The wavefronts of all instructions."""
        return None if self.wavefronts is None else self.instructions * self.wavefronts

    def __str__(self) -> str:
        count = f"{self.instructions} {self.access}"
        if self.wavefronts is None:
            return f"{count}, whose cost is not known: {self.why}"
        each = "1 wavefront" if self.wavefronts == 1 else f"{self.wavefronts} wavefronts"
        return f"{count} of {each} each" + ("" if self.wavefronts == self.ideal else f", {self.ideal} at best")


@dataclass(frozen=True, slots=True)
class ConversionCost:
    """The cost of a conversion; it prints itself, and ``facts()`` has it for JSON.

    ``reach`` is how far the farthest value has to go, ``way`` how Triton moves them. Shuffles are those of each warp.
    Shared memory has a ``scratch`` layout of the whole tensor, from the coordinate to the offset, and what the stores
    and loads of each warp cost in it. That layout is ours; Triton's may differ, and goes in rounds where it can.
    """

    source: LinearLayout
    target: LinearLayout
    reach: str
    way: str
    shuffles: int = 0
    crossings: int = 0
    """How many bits that count registers in one layout count lanes in the other."""
    scratch: LinearLayout | None = None
    scratch_bytes: int = 0
    store: Traffic | None = None
    load: Traffic | None = None
    arch: str = ""

    @property
    def wavefronts(self) -> int | None:
        """Those of a warp's stores and loads; 0 where nothing goes through shared memory, None where not known."""
        if self.store is None or self.load is None:
            return 0
        both = self.store.total, self.load.total
        return None if None in both else sum(x for x in both if x is not None)

    def facts(self) -> dict[str, Any]:
        """All of it in numbers and words, for JSON."""
        found: dict[str, Any] = {"way": self.way, "reach": self.reach}
        if self.way == "shuffles":
            found["shuffles"] = self.shuffles
        if self.store is not None and self.load is not None:
            found |= {"arch": self.arch, "scratch_bytes": self.scratch_bytes, "wavefronts": self.wavefronts}
            for name, traffic in (("store", self.store), ("load", self.load)):
                found[name] = {
                    "access": traffic.access,
                    "instructions": traffic.instructions,
                    "wavefronts": traffic.wavefronts,
                    "ideal": traffic.ideal,
                }
        return found

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        far = {
            "register": "every value is in its register already",
            "thread": "values stay in their thread",
            "warp": "values stay in their warp",
            "block": "values go to other warps",
            "cluster": "values go to other blocks",
        }[self.reach]
        if self.way == "nothing":
            return [f"nothing: {far}"]
        if self.way == "registers":
            return [f"registers only: {far}, and are renamed"]
        if self.reach == "thread":
            far += ", in a register that depends on the lane or the warp"
        if self.way == "shuffles":
            return [f"{self.shuffles} shuffles a warp: {far}"]
        lines = [f"shared memory, {self.scratch_bytes} bytes: {far}"]
        if self.reach == "warp" and self.crossings > 1:
            lines[0] += f", but {self.crossings} bits change between register and lane; Triton shuffles for one"
        for name, traffic in (("store", self.store), ("load", self.load)):
            lines.append(f"  {name}: {traffic} ({self.arch}, for each warp)")
        return lines


def conversion(a: Any, b: Any, *, shape: Any = None, element: Any = None, arch: str = "sm90") -> ConversionCost:
    """What it costs to bring a tensor from the layout ``a`` to ``b``: Triton's ``ttg.convert_layout``.

    Both are texts of Triton or linear layouts of ``register``, ``lane``, ``warp`` and ``block``. The element type comes
    from the text's type, or from ``element``; shuffles and shared memory depend on it.

    >>> mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
    >>> operand = f"#ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 2}}>"
    >>> print(conversion(mma, operand, shape=(16, 16), element="float16"))
    nothing: every value is in its register already
    """
    source, target, kind = _operands(a, b, shape, element)
    machine = architecture_named(arch)
    source, target = _without_repeats(source), _without_repeats(target)
    moved = target.invert_and_compose(source)
    reach = _reach(source, target)
    left = list(THREADS)
    for name in reversed(THREADS):
        if not moved.is_trivial_over([name]):
            break
        moved = moved.quotient([name])
        left.remove(name)
    if not left:
        return ConversionCost(source, target, reach, "nothing", arch=machine.name)
    if left == ["register"]:
        return ConversionCost(source, target, reach, "registers", arch=machine.name)
    if kind is None:
        raise ShapeError(
            "what this conversion costs depends on the width of an element.", hint='pass element="float16"', a=a, b=b
        )
    crossings = 0
    if _within_warps(source, target):
        crossings, still = _exchanges(source, target)
        still = still and "warp" not in left
        if crossings < 2:
            count = _shuffles(source, target, kind.bits, crossings, still)
            return ConversionCost(source, target, reach, "shuffles", count, crossings, arch=machine.name)
    if source.in_dims["lane"] != machine.lanes:
        raise ShapeError(
            f"the layouts have warps of {source.in_dims['lane']} lanes, and {machine.name} has {machine.lanes}.",
            hint="say arch=, as in arch='gfx942'",
            arch=arch,
        )
    scratch = scratch_of(source, target, max(8, kind.bits), machine)
    return ConversionCost(
        source,
        target,
        reach,
        "shared memory",
        crossings=crossings,
        scratch=scratch.layout,
        scratch_bytes=scratch.bytes,
        store=_traffic(scratch, machine, writes=True),
        load=_traffic(scratch, machine, writes=False),
        arch=machine.name,
    )


def _operands(a: Any, b: Any, shape: Any, element: Any) -> tuple[LinearLayout, LinearLayout, Element | None]:
    kind = None if element is None else element_of(element)
    found = []
    for x in (a, b):
        if not isinstance(x, LinearLayout):
            from ..dialects.ttg_text import read_typed

            x, told = read_typed(x, shape)
            kind = kind or told
        if not set(x.in_dims) <= set(THREADS):
            raise ShapeError(
                f"the inputs {', '.join(x.in_dims)} are not those of threads.",
                hint=f"a tensor in registers has {', '.join(THREADS)}",
                got=x,
            )
        for name in THREADS:
            x = x if name in x.in_dims else x.concat_ins(LinearLayout({name: []}, x.out_dims))
        found.append(x.transpose_ins(THREADS))
    source, target = found
    sizes = [list(x.out_dims.values()) for x in found]
    if sizes[0] != sizes[1]:
        raise ShapeError(f"the tensors are {shown(sizes[0])} and {shown(sizes[1])}.", hint="both have one shape")
    for name in THREADS[1:]:
        if source.in_dims[name] != target.in_dims[name]:
            raise ShapeError(
                f"one layout has {source.in_dims[name]} {name}s and the other {target.in_dims[name]}.",
                hint="a conversion is between the same threads",
                a=a,
                b=b,
            )
    names = [f"dim{d}" for d in range(len(sizes[0]))]
    source, target = (x.reshape_outs(dict(zip(names, sizes[0]))) for x in (source, target))
    for x in (source, target):
        if not x.is_surjective():
            raise ShapeError("a layout leaves some elements to nobody.", hint="is_surjective() tells", got=x)
    return source, target, kind


def _without_repeats(x: LinearLayout) -> LinearLayout:
    """The layout without registers that hold what another one holds."""
    bases = {name: list(group) for name, group in x.bases.items()}
    bases["register"] = [basis for basis in bases["register"] if any(basis)]
    return LinearLayout(bases, x.out_dims)


def _columns(x: LinearLayout, name: str) -> list[int]:
    return [basis[0] for basis in x.flatten_outs().bases[name]]


def _reach(source: LinearLayout, target: LinearLayout) -> str:
    """The smallest group of threads in which every value that a thread wants is held, proven by spans over GF(2)."""
    if source == target:
        return REACHES[0]
    for k, reach in enumerate(REACHES[1:], 1):
        inside, outside = THREADS[:k], THREADS[k:]
        span = ColumnSpan([column for name in inside for column in _columns(source, name)])
        wanted = [column for name in inside for column in _columns(target, name)]
        wanted += [x ^ y for name in outside for x, y in zip(_columns(source, name), _columns(target, name))]
        if all(span.choice(column) is not None for column in wanted):
            return reach
    return REACHES[-1]


def _within_warps(source: LinearLayout, target: LinearLayout) -> bool:
    """Whether shuffles can bring every value: what another warp of the target wants is in other lanes of the same one.

    Where it is in another register, each warp would have to take another register, and no instruction does that.
    """
    lanes = ColumnSpan(_columns(source, "lane"))
    changes = [x ^ y for name in THREADS[2:] for x, y in zip(_columns(source, name), _columns(target, name))]
    held = ColumnSpan([*_columns(source, "register"), *_columns(source, "lane")])
    wanted = [*_columns(target, "register"), *_columns(target, "lane")]
    return all(lanes.choice(x) is not None for x in changes) and all(held.choice(x) is not None for x in wanted)


def _exchanges(source: LinearLayout, target: LinearLayout) -> tuple[int, bool]:
    """How many bits change between register and lane, and whether the lanes, those aside, stay where they are.

    A conversion within a warp is a permutation of the bits that count registers and lanes. What one layout repeats
    stands still where the other one repeats it as well, and else takes the places that are free.
    """
    registers = max(len(source.bases["register"]), len(target.bases["register"]))
    lists = []
    for x in (source, target):
        padding = [0] * (registers - len(x.bases["register"]))
        lists.append([*_columns(x, "register"), *padding, *_columns(x, "lane")])
    first, second = lists
    places = {column: k for k, column in enumerate(second) if column}
    image = {k: places[column] for k, column in enumerate(first) if column and column in places}
    image |= {k: k for k, (x, y) in enumerate(zip(first, second)) if not x and not y}
    free = [k for k in range(len(second)) if k not in image.values()]
    image |= dict(zip([k for k in range(len(first)) if k not in image], free))
    crossings = sum(1 for k, to in image.items() if k < registers <= to)
    still = all(_stays(k, image, registers) for k in range(registers, len(first)))
    return crossings, still


def _stays(lane: int, image: dict[int, int], registers: int) -> bool:
    """Whether a bit of the lane stays: as it is, or as the whole of a run of lanes between two registers."""
    if image[lane] == lane:
        return True
    before = next(k for k, to in image.items() if to == lane)
    return before < registers and image[lane] < registers


def _shuffles(source: LinearLayout, target: LinearLayout, bits: int, crossings: int, still: bool) -> int:
    """The shuffles of a warp: one for each register of 32 bits, or half of them where lanes only exchange registers."""
    registers = max(len(source.bases["register"]), len(target.bases["register"]))
    packed = min(max(1, min(4, 32 // bits)).bit_length() - 1, registers - crossings)
    count = (1 << registers - packed) * max(1, bits // 32)
    return count // 2 if still else count


def _traffic(scratch: Scratch, arch: Architecture, writes: bool) -> Traffic:
    from .counting import wavefronts

    lanes = scratch.store_lanes if writes else scratch.load_lanes
    registers = scratch.store_registers if writes else scratch.load_registers
    name = scratch.access(arch, writes)
    instructions = 1 << registers - scratch.vector
    try:
        access = arch.access(name)
        count = int(wavefronts(lanes, access, arch))
    except LayoutError as error:
        return Traffic(name, instructions, None, None, error.message.rstrip("."))
    words = [len({lanes[lane] // arch.bank_bytes for lane in phase}) for phase in access.phases]
    room = arch.banks // max(1, access.bytes // arch.bank_bytes)
    ideal = sum([-(-count // room) for count in words])
    return Traffic(name, instructions, count, min(ideal, count))
