"""torch's DTensors: a ``DeviceMesh`` and one placement for each of its dimensions, as objects and as texts.

Placements act from left to right, each on what the ones before have left. ``_StridedShard`` is a digit that is dealt
below others: with FSDP2 over tensor parallelism the split factor is the digit that a later placement takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import NotExpressible, ShapeError
from ..immutable import NamedTuple
from ..sharding.digits import REST, Deal
from ..sharding.mesh import Mesh
from ..sharding.sharding import Sharding
from .scan import Scanner
from .sharding_text import read_grid, read_string, read_strings, write_grid
from .shardings import cannot_say

EXAMPLE = "DeviceMesh((dp=4, tp=2), 'cpu') (Shard(0), Replicate())"


class Placement(NamedTuple):
    """What one mesh dimension does: deal dimension ``dim`` after cutting it into ``split`` pieces; None replicates."""

    dim: int | None
    split: int = 1


# ---- objects ---------------------------------------------------------------------------------------------


def of_placements(x: Any, mesh: Any, placements: Sequence[Any]) -> Sharding:
    """The sharding of a DTensor ``x``, or of a mesh and its placements."""
    grid = mesh.mesh
    names = mesh.mesh_dim_names or [f"m{k}" for k in range(len(grid.shape))]
    axes = list(zip(names, map(int, grid.shape)))
    found = [_placement(p) for p in placements]
    shape = tuple(x.shape) if hasattr(x, "shape") and hasattr(x, "placements") else None
    rank = None if shape is None else len(shape)
    return _dealt(Mesh(axes, grid.flatten().tolist()), found, rank, shape)


def _placement(p: Any) -> Placement:
    kind = type(p).__name__
    if kind in ("Shard", "_StridedShard"):
        return Placement(p.dim, int(getattr(p, "split_factor", 1)))
    if kind == "Replicate":
        return Placement(None)
    raise _refusal(kind)


def _refusal(kind: str) -> NotExpressible:
    partial = "Partial" in kind or kind == "P"
    why = "every device has a summand, and no element is whole anywhere" if partial else "nothing is known of it"
    hint = "redistribute to Replicate() or Shard(d) first" if partial else "Shard, Replicate and _StridedShard are read"
    return NotExpressible(f"{kind} is no sharding: {why}.", hint=hint, dialect="dtensor", placement=kind)


def _dealt(mesh: Mesh, placements: Sequence[Placement], rank: int | None, shape: Any = None) -> Sharding:
    """The digits of each dimension, as the placements deal them one after the other."""
    if len(placements) != len(mesh.axes):
        raise ShapeError(
            f"a mesh of {len(mesh.axes)} dimensions has {len(placements)} placements.",
            hint="one for each dimension of the mesh",
            placements=placements,
        )
    dims: dict[int, list[Deal]] = {}
    for (name, size), placement in zip(mesh.axes.items(), placements):
        if placement.dim is None:
            continue
        if placement.dim < 0 and rank is None:
            raise ShapeError(
                f"Shard({placement.dim}) counts from the end, and the rank is not known.",
                hint="pass shape=(...), or count from 0",
                placement=placement,
            )
        d = placement.dim + (rank or 0) if placement.dim < 0 else placement.dim
        deals = dims.setdefault(d, [REST])
        start = _take(deals, 0, placement.split, None, placement)
        _take(deals, start, size, name, placement)
    listed = [tuple(dims.get(d, [REST])) for d in range(max(dims, default=-1) + 1)]
    return Sharding(mesh, listed, shape, uneven="chunk")


def _take(deals: list[Deal], start: int, count: int, axis: str | None, placement: Placement) -> int:
    """Take ``count`` pieces of the digits that are kept from ``start`` on, for an axis or kept; where that ends.

    A kept digit is taken whole, or its upper part; what is left over is taken from the next one that is kept.
    """
    k, before = start, 1
    while count > 1:
        while deals[k].axis is not None:
            k += 1
        kept = deals[k].size or count
        part = min(count, kept)
        if max(count, kept) % part:
            raise NotExpressible(
                f"{placement} cuts a piece of {kept} that an earlier placement has made into {count}.",
                hint="use split factors and mesh sizes that divide each other",
                dialect="dtensor",
            )
        taken = Deal(axis, part, before if axis is not None else 1)
        left = [] if deals[k].size == part else [REST if not deals[k].size else Deal(None, kept // part)]
        deals[k : k + 1] = [taken, *left]
        k, before, count = k + 1, before * part, count // part
    return k


# ---- texts -----------------------------------------------------------------------------------------------


def parse(text: str, rank: int | None) -> Sharding:
    scan = Scanner(text, "dtensor", EXAMPLE)
    scan.expect("DeviceMesh")
    scan.expect("(")
    mesh = _mesh(scan)
    scan.accept(",")
    if scan.accept("placements"):
        scan.expect("=")
    opening = scan.peek()
    if opening not in ("(", "["):
        scan.fail("the placements in brackets")
    scan.expect(opening)
    closing = ")" if opening == "(" else "]"
    found: list[Placement] = []
    while not scan.accept(closing):
        if found:
            scan.expect(",")
            if scan.accept(closing):
                break
        found.append(_read_placement(scan))
    scan.end()
    return _dealt(mesh, found, rank)


def _read_placement(scan: Scanner) -> Placement:
    at = scan.position
    kind = scan.name()
    if kind in ("Replicate", "R"):
        if scan.accept("("):
            scan.expect(")")
        return Placement(None)
    if kind not in ("Shard", "S", "_StridedShard", "_S"):
        if "Partial" in kind or kind == "P":
            raise _refusal(kind)
        scan.fail("Shard, Replicate or _StridedShard", at)
    scan.expect("(")
    if scan.accept("dim"):
        scan.expect("=")
    dim, split = scan.integer(), 1
    if kind.startswith("_"):
        scan.expect(",")
        if scan.accept("split_factor") or scan.accept("sf"):
            scan.expect("=")
        split = scan.integer()
        if split < 1:
            scan.fail("a split factor of 1 or more", at)
    scan.expect(")")
    return Placement(dim, split)


def _mesh(scan: Scanner) -> Mesh:
    """``(dp=4, tp=2), 'cpu', stride=(2, 1)`` or ``'cuda', [[0, 1], [2, 3]], mesh_dim_names=('dp', 'tp')``."""
    axes: list[tuple[str, int]] = []
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    devices: list[int] = []
    first = True
    while not scan.accept(")"):
        if not first:
            scan.expect(",")
        first = False
        at = scan.position
        if scan.peek() == "[":
            devices, sizes = read_grid(scan)
        elif scan.peek() == "(":
            axes = _named_sizes(scan)
        elif scan.peek() in ("'", '"'):
            read_string(scan)
        else:
            key = scan.name()
            if not (scan.accept("=") or scan.accept(":")):
                scan.fail("a mesh, as torch prints it", at)
            if key == "mesh_dim_names":
                names = read_strings(scan)
            elif key == "stride":
                _check_strides(scan, [n for _, n in axes])
            else:
                read_string(scan)
    if sizes:
        axes = list(zip(names or [f"m{k}" for k in range(len(sizes))], sizes))
        if len(axes) != len(sizes):
            scan.fail(f"{len(sizes)} names of dimensions")
    return Mesh(axes, devices)


def _named_sizes(scan: Scanner) -> list[tuple[str, int]]:
    scan.expect("(")
    found: list[tuple[str, int]] = []
    while not scan.accept(")"):
        if found:
            scan.expect(",")
            if scan.accept(")"):
                break
        name = scan.name()
        if name:
            scan.expect("=")
        found.append((name or f"m{len(found)}", scan.integer()))
    return found


def _check_strides(scan: Scanner, sizes: Sequence[int]) -> None:
    """Row-major strides say nothing; others are refused: torch prints them for no order of devices in particular."""
    at = scan.position
    strides = scan.bracketed_integers("(", ")")
    running = 1
    expected: list[int] = []
    for n in reversed(sizes):
        expected.insert(0, running)
        running *= n
    if strides != tuple(expected):
        scan.fail(f"the strides {tuple(expected)} of a whole mesh, or its devices in brackets", at)


def render(x: Sharding) -> str:
    if x.mesh.devices is None:
        raise cannot_say(x, "dtensor", "it has a mesh", "give it one, or render it as hlo")
    if not x.mesh.axes:
        raise cannot_say(x, "dtensor", "a mesh has axes, and this one is a single device", "render it as hlo")
    names = list(x.mesh.axes)
    words = dict.fromkeys(names, "Replicate()")
    for d, deals in enumerate(x.dims):
        for k, deal in enumerate(deals):
            if deal.axis is None or deal.size == 1:
                continue
            if deal.size != x.mesh.axes[deal.axis]:
                raise cannot_say(x, "dtensor", f"dimension {d} is dealt along a part of an axis", "render it as sdy")
            split = 1
            for above in deals[:k]:
                later = above.axis is None or names.index(above.axis) > names.index(deal.axis)
                if not above.size:
                    raise cannot_say(x, "dtensor", f"dimension {d} is dealt in turn, for every size")
                split *= above.size if later else 1
            words[deal.axis] = f"Shard({d})" if split == 1 else f"_StridedShard({d}, split_factor={split})"
    listed = ", ".join(words.values())
    mesh = ", ".join([f"{name}={n}" for name, n in x.mesh.axes.items()])
    grid = f"({mesh}), 'cpu'"
    if not x.mesh.in_order:
        grid = f"'cpu', {write_grid(x.mesh.devices, tuple(x.mesh.axes.values()))}, mesh_dim_names={tuple(names)!r}"
    return f"DeviceMesh({grid}) ({listed}{',' * (len(words) == 1)})"
