"""The best layout of a buffer in shared memory for all that reads and writes it, and why nothing else is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..algebra.composed import ComposedLayout
from ..elements.types import Element
from ..elements.types import element as element_of
from ..errors import LimitExceeded, NotExpressible, ShapeError, shown
from ..hardware.architecture import Architecture
from ..hardware.registry import architecture_named
from ..integers.inttuple import as_int
from ..integers.nested import flatten, product
from ..layout.layout import Layout
from .advising.words import reasons

if TYPE_CHECKING:
    from .advising.demand import Demand
    from .advising.search import Choice, Search
    from .banks import Banks

SIZE_LIMIT = 1 << 20
"""The elements of the largest buffer that is searched; no shared memory holds more."""

WEIGHT_LIMIT = 1_000_000
"""The largest weight of an access."""

RANK_LIMIT = 4
"""The dimensions of more than one element that are put in every order."""


class AdvisedAccess(NamedTuple):
    """What one access costs: in the layout that is advised, without any conflict, and in the bare tile.

    ``bare`` is None where the bare tile breaks a vector apart. ``known`` says how the count is known: measured,
    documented or read.
    """

    access: str
    wavefronts: int
    ideal: int
    bare: int | None
    weight: int
    known: str


class Alternative(NamedTuple):
    """The best layout of one family: ``none``, ``swizzle``, ``padding`` or ``xor``."""

    kind: str
    words: str
    layout: Layout | ComposedLayout
    wavefronts: int
    bytes: int
    rows: tuple[int, ...]
    """The wavefronts of each access."""


@dataclass(frozen=True, eq=False)
class Advice:
    """The layout for all accesses together: fewest wavefronts, then fewest bytes, then the simplest to say.

    ``wavefronts`` is the sum over the accesses, each times its weight; no layout that keeps their vectors whole is
    below ``least``. ``proof`` is "bound" where the sum is that bound, "exhaustive" where every layout of the families
    was looked at or ruled out, and "undecided" where the search for an XOR matrix came to its limit; ``why`` says it in
    words.
    """

    shape: tuple[int, ...]
    element: Element
    arch: Architecture
    budget: int | None
    best: Alternative
    rows: tuple[AdvisedAccess, ...]
    banks: tuple[Banks, ...]
    """What ``rl.banks`` says of each access in the advised layout."""
    alternatives: tuple[Alternative, ...]
    least: int
    proof: str
    why: tuple[str, ...]

    @property
    def layout(self) -> Layout | ComposedLayout:
        """The advised layout; a chain of swizzles is a ``ComposedLayout``."""
        return self.best.layout

    @property
    def words(self) -> str:
        """What the layout is called, as in ``Swizzle<3,3,3> over row-major``."""
        return self.best.words

    @property
    def wavefronts(self) -> int:
        """The wavefronts of all accesses, each times its weight."""
        return self.best.wavefronts

    @property
    def bytes(self) -> int:
        """The shared memory that the layout takes."""
        return self.best.bytes

    @property
    def ideal(self) -> int:
        """The wavefronts of all accesses if none of them had a conflict."""
        return sum(row.weight * row.ideal for row in self.rows)

    def facts(self) -> dict[str, Any]:
        """All of it in numbers and words, for JSON."""
        parts = ("shape", "words", "layout", "wavefronts", "ideal", "least", "bytes", "budget", "proof", "why")
        return {
            "arch": self.arch.name,
            "element": self.element.name,
            **{name: getattr(self, name) for name in parts},
            "accesses": [row._asdict() for row in self.rows],
            "alternatives": [other._asdict() for other in self.alternatives],
        }

    def __str__(self) -> str:
        from .advising.words import advice_text

        return advice_text(self)

    def __repr__(self) -> str:
        return f"<advice: {self.words}, {self.wavefronts} wavefronts, {self.bytes} bytes>"

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import html_of

        return html_of(self)


def advise(
    shape: Any, element: Any, accesses: Sequence[Any], arch: str | Architecture = "sm90", budget: int | None = None
) -> Advice:
    """The best layout of a tile in shared memory for everything that reads and writes it.

    An access is ``(instruction, threads)`` as ``rl.banks`` takes them, and may have a weight, ``(instruction, threads,
    3)``, if it runs more often than the others. Tried are the bare tile in every order of its dimensions, CuTe's
    swizzles, paddings and XOR matrices, all of which leave the widest vectors whole and aligned.
    ``budget`` is the bytes that the layout may take.

    >>> store, load = Layout((32, 32), (32, 1)), Layout((32, 32), (1, 32))
    >>> advise((32, 32), "float32", [("st.shared.b32", store), ("ld.shared.b32", load)])
    <advice: Swizzle<5,0,5> over row-major, 64 wavefronts, 4096 bytes>
    """
    machine, kind = architecture_named(arch), element_of(element)
    sizes = _checked_shape(shape)
    given = _checked_accesses(accesses)
    demands = [_demand(access, sizes, kind, machine) for access in given]
    limit = _checked_budget(budget, sizes, kind)
    from .advising.search import Search
    from .banks import banks

    search = Search(sizes, kind.bits, demands, limit).run()
    choice = search.choice
    if choice is None:
        raise _no_layout(search, limit)
    proof, why = reasons(search, choice)
    best, others = _alternative(choice), tuple([_alternative(found) for found in search.best.values()])
    counted = tuple([banks(best.layout, threads, kind, name, machine) for name, threads, _ in given])
    return Advice(sizes, kind, machine, limit, best, _rows(search, choice), counted, others, search.least, proof, why)


# ---- what came -------------------------------------------------------------------------------------------


def _checked_shape(shape: Any) -> tuple[int, ...]:
    sizes = tuple([as_int(n, "shape") for n in (flatten(shape) if isinstance(shape, tuple | list) else (shape,))])
    if not sizes or min(sizes) < 1:
        raise ShapeError(
            f"{shown(shape)} is no shape of a tile.", hint="give sizes of 1 and more: (128, 64)", got=shape
        )
    if product(sizes) > SIZE_LIMIT:
        raise LimitExceeded(
            f"a tile of {product(sizes)} elements is more than the {SIZE_LIMIT} that are searched.",
            hint="ask about one stage, or one part that repeats",
            limit=SIZE_LIMIT,
            shape=sizes,
        )
    if sum(n > 1 for n in sizes) > RANK_LIMIT:
        raise LimitExceeded(
            f"{sizes} has more than {RANK_LIMIT} dimensions of more than one element.",
            hint="join dimensions that run together, or ask about one part that repeats",
            limit=RANK_LIMIT,
            shape=sizes,
        )
    return sizes


def _checked_accesses(accesses: Any) -> list[tuple[Any, Any, int]]:
    if not isinstance(accesses, tuple | list) or not accesses:
        raise ShapeError(
            f"advise needs the accesses of the buffer, got {shown(accesses)}.",
            hint='give pairs of an instruction and its threads: [("ldmatrix.x4", threads), ...]',
            got=accesses,
        )
    found = []
    for access in accesses:
        if not isinstance(access, tuple | list) or len(access) not in (2, 3):
            raise ShapeError(
                f"an access is an instruction with its threads, not {shown(access)}.",
                hint='write ("ldmatrix.x4", threads), or ("ldmatrix.x4", threads, weight)',
                got=access,
            )
        instruction, threads, *rest = access
        weight = as_int(rest[0], "a weight") if rest else 1
        if not 1 <= weight <= WEIGHT_LIMIT:
            raise ShapeError(
                f"{shown(instruction)} has the weight {shown(weight)}, not one from 1 to {WEIGHT_LIMIT}.",
                hint="leave out an access that never runs; of others only how weights compare counts",
                got=weight,
            )
        found.append((instruction, threads, weight))
    return found


def _checked_budget(budget: Any, shape: tuple[int, ...], element: Element) -> int | None:
    if budget is None:
        return None
    limit, tile = as_int(budget, "budget"), -(-product(shape) * element.bits // 8)
    if limit < tile:
        raise ShapeError(
            f"a budget of {limit} bytes is below the {tile} bytes of the bare tile.",
            hint=f"allow {tile} bytes, or make the tile smaller",
            budget=limit,
            bytes=tile,
        )
    return limit


def _demand(access: tuple[Any, Any, int], shape: tuple[int, ...], element: Element, arch: Architecture) -> Demand:
    """The elements that the lanes of each instruction take."""
    import numpy as np

    from .advising.demand import Demand
    from .lanes import OFF, memory_of, thread_indices, vector_length, warp_table

    instruction, threads, weight = access
    kind = arch.access(instruction)
    if kind.bytes & (kind.bytes - 1):
        raise NotExpressible(
            f"{kind.name} moves {kind.bytes} bytes a lane: no swizzle keeps such vectors whole.",
            hint="ask rl.banks about each layout that you think of",
            access=kind.name,
        )
    memory = memory_of(Layout(shape), element, None)
    indices = thread_indices(threads, memory, 8 * kind.bytes // element.bits, arch.lanes)
    together = vector_length(indices.shape[1], element, kind.bytes, kind.name)
    ordered = np.full(indices.shape, OFF, np.int64)
    on = indices != OFF
    ordered[on] = np.ravel_multi_index(np.unravel_index(indices[on], shape, order="F"), shape)
    vectors = [warp_table(ordered[:, k::together], arch.lanes) for k in range(together)]
    elements = np.stack(vectors, axis=-1).reshape(-1, arch.lanes, together)
    ignored = np.setdiff1d(np.arange(arch.lanes), kind.lanes)
    elements[:, ignored] = OFF
    return Demand(kind, arch, elements, element.bits, weight)


# ---- what was found --------------------------------------------------------------------------------------


def _alternative(found: Choice) -> Alternative:
    candidate = found.candidate
    return Alternative(candidate.kind, candidate.words, candidate.layout, found.cost, found.bytes, found.wavefronts)


def _rows(search: Search, choice: Choice) -> tuple[AdvisedAccess, ...]:
    bare = search.best["none"].wavefronts if "none" in search.best else (None,) * len(search.demands)
    return tuple(
        [
            AdvisedAccess(demand.access.name, count, demand.ideal, without, demand.weight, demand.access.known)
            for demand, count, without in zip(search.demands, choice.wavefronts, bare)
        ]
    )


def _no_layout(search: Search, budget: int | None) -> NotExpressible:
    """Why no layout serves: a vector that lies together in no order, or a budget that leaves no room to align them."""
    if budget is not None and (choice := type(search)(search.shape, search.bits, search.demands, None).run().choice):
        return NotExpressible(
            f"no layout of {search.shape} within {budget} bytes keeps the vectors of all accesses aligned.",
            hint=f"{choice.candidate.words} does, in {choice.bytes} bytes",
            budget=budget,
            bytes=choice.bytes,
        )
    for demand in search.demands:
        if type(search)(search.shape, search.bits, [demand], None).run().choice is None:
            vector = demand.elements.shape[-1]
            return NotExpressible(
                f"{demand.access.name} takes {vector} elements a lane, and in no order of the dimensions of "
                f"{search.shape} do they lie together at a multiple of {demand.access.bytes} bytes.",
                hint="let the values of a thread run along one dimension from a multiple of the vector, or use a "
                "narrower access",
                access=demand.access.name,
                shape=search.shape,
            )
    names = ", ".join(dict.fromkeys(demand.access.name for demand in search.demands))
    return NotExpressible(
        f"no order of the dimensions of {search.shape} keeps the vectors of all accesses together: {names}.",
        hint="accesses along different dimensions cannot all be wide: make those along one of them narrower",
        shape=search.shape,
    )
