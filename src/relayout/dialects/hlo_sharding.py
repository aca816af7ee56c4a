"""XLA's shardings: ``{devices=[4,2]<=[2,4]T(1,0)}``, with a list of devices (V1) or a transposed grid of them (V2)."""

from __future__ import annotations

from ..errors import NotExpressible, ShapeError
from ..integers.nested import product
from ..sharding.mesh import Mesh, order_text
from ..sharding.sharding import Sharding
from .scan import Scanner
from .sharding_text import read_list, read_order, skip_braces
from .shardings import contiguous_axes

EXAMPLE = "{devices=[4,2]<=[2,4]T(1,0)}"
EVERYWHERE = Mesh({}, None)


def parse(text: str, rank: int | None) -> Sharding:
    scan = Scanner(text, "hlo", EXAMPLE)
    if scan.accept("sharding"):
        scan.expect("=")
    scan.expect("{")
    at = scan.position
    word = scan.name()
    if word == "replicated":
        found = Sharding(EVERYWHERE, [])
    elif word == "maximal":
        scan.expect("device")
        scan.expect("=")
        found = Sharding({}, [], devices=[scan.integer()])
    elif word in ("manual", "unreduced"):
        raise _untold(scan, word)
    elif word == "devices":
        found = _tiles(scan, rank)
    else:
        scan.fail("devices=, replicated or maximal", at)
    _skip_notes(scan)
    scan.expect("}")
    scan.end()
    return found


def _tiles(scan: Scanner, rank: int | None) -> Sharding:
    scan.expect("=")
    at = scan.position
    sizes = scan.bracketed_integers()
    if any(n < 1 for n in sizes):
        scan.fail("sizes of 1 or more", at)
    devices = read_order(scan) if scan.accept("<=") else read_list(scan)
    kinds = _subgroups(scan)
    for kind in kinds:
        if kind != "replicated":
            raise _untold(scan, kind)
    if len(kinds) > len(sizes):
        scan.fail(f"at most {len(sizes)} kinds of subgroups")
    dims, copies = sizes[: len(sizes) - len(kinds)], sizes[len(sizes) - len(kinds) :]
    if rank is not None and len(dims) != rank:
        raise ShapeError(
            f"{scan.shown.strip()!r} tiles {len(dims)} dimensions, and the shape has {rank}.",
            hint="an HLO sharding has one tile count for each dimension",
            text=scan.shown,
        )
    axes = [(f"d{k}", n) for k, n in enumerate(dims) if n > 1] + [(f"r{k}", n) for k, n in enumerate(copies) if n > 1]
    return Sharding(Mesh(axes, devices), [f"d{k}" if n > 1 else None for k, n in enumerate(dims)])


def _subgroups(scan: Scanner) -> list[str]:
    """What the last dimensions of the tiles are, beside dimensions of the tensor."""
    if scan.accept("last_tile_dim_replicate"):
        return ["replicated"]
    if not scan.accept("last_tile_dims"):
        return []
    scan.expect("=")
    scan.expect("{")
    kinds: list[str] = []
    while not scan.accept("}"):
        if kinds:
            scan.expect(",")
        kinds.append(scan.name() or scan.fail("replicated, manual or unreduced"))
    return kinds


def _skip_notes(scan: Scanner) -> None:
    """Pass over what says nothing about who holds what: metadata, and which shardings belong together."""
    while scan.peek() not in ("}", ""):
        at = scan.position
        word = scan.name()
        if word in ("shard_as", "shard_like"):
            scan.integer()
        elif word == "metadata":
            scan.expect("=")
            skip_braces(scan)
        else:
            scan.fail("'}'", at)


def _untold(scan: Scanner, kind: str) -> NotExpressible:
    why = {
        "manual": "what each device holds is up to the program, and the text does not tell it",
        "unreduced": "every device holds a summand, and no element is whole anywhere",
    }.get(kind, "the text does not tell who holds what")
    hint = "give the sharding of what the devices hold, or reduce first"
    return NotExpressible(f"{kind} is no sharding: {why}.", hint=hint, dialect="hlo", text=scan.shown)


def render(x: Sharding) -> str:
    if x.mesh.devices is None:
        return "{replicated}"
    if x.mesh.size == 1:
        return f"{{maximal device={x.mesh.devices[0]}}}"
    dims = [product(tuple([deal.size for deal in dealt])) for dealt in contiguous_axes(x, "hlo")]
    if product(tuple(dims)) == 1:
        return "{replicated}"
    order = sorted(x.mesh.devices, key=lambda device: (x.dealt(device), x.mesh.coordinate(device)))
    written = order_text(order)
    tiles = ",".join(map(str, [*dims, *([x.replicas] if x.replicas > 1 else [])]))
    copies = " last_tile_dim_replicate" if x.replicas > 1 else ""
    return f"{{devices=[{tiles}]{'<=' if written.startswith('[') else ''}{written}{copies}}}"
