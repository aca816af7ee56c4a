"""JAX's shardings: ``NamedSharding`` and its like, as objects, which need no jax here, and as they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import NotExpressible, ShapeError, shown
from ..sharding.mesh import Mesh
from ..sharding.sharding import Sharding
from . import hlo_sharding
from .scan import Scanner
from .sharding_text import read_grid, read_string, read_strings, write_grid
from .shardings import cannot_say, contiguous_axes

EXAMPLE = "NamedSharding(Mesh('x': 4, 'y': 2), P('x', None))"


# ---- objects ---------------------------------------------------------------------------------------------


def of_named_sharding(x: Any) -> Sharding:
    """The sharding that an object with a ``mesh`` and a ``spec`` has."""
    if getattr(x.spec, "unreduced", None):
        raise _unreduced_error(x)
    return Sharding(_mesh_of(x.mesh), _dims_of(tuple(x.spec), x))


def of_other_sharding(x: Any) -> Sharding:
    """The sharding of an object that has an HLO sharding, or devices that each hold all."""
    devices = [device.id for device in x._device_assignment]
    if not hasattr(x, "_hlo_sharding"):
        return Sharding({"copies": len(devices)}, [], devices=devices)
    found = hlo_sharding.parse(str(x._hlo_sharding), None)
    count = len(devices)
    numbers = found.mesh.devices or range(count)
    axes = found.mesh.axes if found.mesh.devices is not None else {"copies": count}
    return Sharding(axes, found.dims, devices=[devices[k] for k in numbers])


def _mesh_of(mesh: Any) -> Mesh:
    devices = getattr(mesh, "devices", None)
    numbers = () if devices is None else [device.id for device in devices.flat]
    return Mesh(dict(mesh.shape), numbers)


def _dims_of(spec: Sequence[Any], x: Any) -> list[Any]:
    dims: list[Any] = []
    for entry in spec:
        if entry is None or isinstance(entry, str):
            dims.append(entry)
        elif isinstance(entry, Iterable):
            dims.append(tuple(entry) or None)
        else:
            raise NotExpressible(
                f"{shown(entry)} of {shown(x)} leaves a dimension to the compiler.",
                hint="say which axes it is dealt to",
                dialect="jax",
                x=x,
            )
    return dims


def _unreduced_error(x: Any) -> NotExpressible:
    return NotExpressible(
        f"{shown(x)} has unreduced axes: every device has a summand, and no element is whole anywhere.",
        hint="reduce first",
        dialect="jax",
        x=x,
    )


# ---- texts -----------------------------------------------------------------------------------------------


def parse(text: str, rank: int | None) -> Sharding:
    scan = Scanner(text, "jax", EXAMPLE)
    at = scan.position
    word = scan.name()
    if word == "GSPMDSharding":
        return hlo_sharding.parse(_inside_braces(scan), rank)
    if word == "SingleDeviceSharding":
        found = re.search(r"id=(\d+)", scan.text[scan.position :])
        if not found:
            scan.fail("a device, as in CpuDevice(id=0)")
        return Sharding({}, [], devices=[int(found.group(1))])
    if word != "NamedSharding":
        scan.fail("NamedSharding, which has the mesh as well", at)
    scan.expect("(")
    _accept_key(scan, "mesh")
    mesh = _mesh(scan)
    scan.expect(",")
    _accept_key(scan, "spec")
    dims = _spec(scan)
    while scan.accept(","):
        if scan.peek() == ")":
            break
        _skip_word(scan)
    scan.expect(")")
    scan.end()
    return Sharding(mesh, dims)


def _mesh(scan: Scanner) -> Mesh:
    at = scan.position
    if scan.name() not in ("Mesh", "AbstractMesh"):
        scan.fail("Mesh", at)
    scan.expect("(")
    axes: list[tuple[str, int]] = []
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    devices: list[int] = []
    while not scan.accept(")"):
        if axes or names or sizes or devices:
            scan.expect(",")
        if scan.peek() in ("'", '"'):
            name = read_string(scan)
            scan.expect(":")
            axes.append((name, scan.integer()))
        elif _accept_key(scan, "axis_names"):
            names = read_strings(scan)
        elif _accept_key(scan, "axis_sizes"):
            sizes = scan.bracketed_integers("(", ")")
        elif _accept_key(scan, "device_ids"):
            scan.expect("array")
            scan.expect("(")
            devices, sizes = read_grid(scan)
            scan.expect(")")
        else:
            _skip_word(scan)
    if names and len(names) != len(sizes):
        raise ShapeError(
            f"the mesh has {len(names)} names and {len(sizes)} axes.", hint="one for each", text=scan.shown
        )
    return Mesh(axes or zip(names, sizes), devices)


def _spec(scan: Scanner) -> list[Any]:
    at = scan.position
    if scan.name() not in ("P", "PartitionSpec"):
        scan.fail("P or PartitionSpec", at)
    scan.expect("(")
    dims: list[Any] = []
    while not scan.accept(")"):
        if dims:
            scan.expect(",")
            if scan.accept(")"):
                break
        if scan.peek() in ("'", '"'):
            dims.append(read_string(scan))
        elif scan.peek() == "(":
            dims.append(read_strings(scan) or None)
        else:
            _no_axis(scan)
            dims.append(None)
    return dims


def _no_axis(scan: Scanner) -> None:
    """``None``; other words leave something open and are refused."""
    at = scan.position
    word = scan.name()
    if word == "unreduced":
        raise _unreduced_error(scan.shown.strip())
    if word == "UNCONSTRAINED" or scan.text[at:].lstrip().startswith("PartitionSpec.UNCONSTRAINED"):
        raise NotExpressible(
            "UNCONSTRAINED leaves a dimension to the compiler.", hint="say which axes it is dealt to", dialect="jax"
        )
    if word != "None":
        scan.fail("None, an axis in quotes, or a tuple of axes", at)


def _accept_key(scan: Scanner, key: str) -> bool:
    start = scan.position
    if scan.name() == key and scan.accept("="):
        return True
    scan.position = start
    return False


def _skip_word(scan: Scanner) -> None:
    """Pass over ``axis_types=(Auto, Auto)``, ``memory_kind=device`` and their like."""
    at = scan.position
    if not scan.name() or not scan.accept("="):
        scan.fail("a name and =", at)
    depth = 0
    while depth or scan.peek() not in (",", ")", ""):
        c = scan.peek() or scan.fail("')'")
        depth += {"(": 1, ")": -1}.get(c, 0)
        scan.position += 1


def _inside_braces(scan: Scanner) -> str:
    start, stop = scan.text.find("{"), scan.text.rfind("}")
    if start < 0:
        scan.fail("an HLO sharding in braces")
    return scan.text[start : stop + 1]


def render(x: Sharding) -> str:
    if x.mesh.devices is None:
        raise cannot_say(x, "jax", "a NamedSharding has a mesh", "give it one, or render it as hlo")
    if x.mesh.size == 1:
        return f"SingleDeviceSharding(device=Device(id={x.mesh.devices[0]}))"
    entries = []
    for d, dealt in enumerate(contiguous_axes(x, "jax")):
        if any(deal.size != x.mesh.axes[deal.axis or ""] for deal in dealt):
            raise cannot_say(x, "jax", f"dimension {d} is dealt along a part of an axis", "render it as sdy")
        names = [repr(deal.axis) for deal in dealt]
        entries.append("None" if not names else names[0] if len(names) == 1 else f"({', '.join(names)})")
    axes = ", ".join([f"{name!r}: {n}" for name, n in x.mesh.axes.items()])
    if not x.mesh.in_order:
        sizes = tuple(x.mesh.axes.values())
        axes = f"device_ids=array({write_grid(x.mesh.devices, sizes)}), axis_names={tuple(x.mesh.axes)!r}"
    return f"NamedSharding(Mesh({axes}), P({', '.join(entries)}{',' * (len(entries) == 1)}))"
