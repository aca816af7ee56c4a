"""Shardy's shardings: ``#sdy.sharding<@mesh, [{"x"}, {"y":(1)2}]>`` after the ``sdy.mesh`` that it names."""

from __future__ import annotations

import re
from typing import Any

from ..errors import NotExpressible
from ..sharding.digits import Deal
from ..sharding.mesh import Mesh
from ..sharding.sharding import Sharding
from .scan import Scanner
from .sharding_text import skip_braces
from .shardings import cannot_say, contiguous_axes

EXAMPLE = 'sdy.mesh @mesh = <["x"=4, "y"=2]> #sdy.sharding<@mesh, [{"x"}, {}]>'
_QUOTED = re.compile(r'"([A-Za-z_][A-Za-z0-9_.]*)"')
_SYMBOL = re.compile(r'@(?:[A-Za-z_][A-Za-z0-9_.$]*|"[^"\n]*")')


def parse(text: str, rank: int | None) -> Sharding:
    scan = Scanner(text, "sdy", EXAMPLE)
    meshes: dict[str, Mesh] = {}
    while scan.accept("sdy.mesh"):
        name = _symbol(scan)
        scan.expect("=")
        scan.accept("#sdy.mesh")
        meshes[name] = _mesh(scan)
        if scan.peek() == "{":  # attributes, which jax writes for other readers
            skip_braces(scan)
    if scan.accept("sdy.sharding"):
        scan.expect("=")
    scan.expect("#sdy.sharding")
    scan.expect("<")
    at = scan.position
    if scan.peek() == "@":
        name = _symbol(scan)
        if name not in meshes:
            scan.fail(f"a mesh that stands before it, as in sdy.mesh {name} = <...>", at)
        mesh = meshes[name]
    else:
        scan.accept("#sdy.")
        scan.expect("mesh")
        mesh = _mesh(scan)
    scan.expect(",")
    dims = _dims(scan)
    _named_axes(scan)
    scan.expect(">")
    scan.end()
    return Sharding(mesh, dims)


def _mesh(scan: Scanner) -> Mesh:
    scan.expect("<")
    scan.expect("[")
    axes: list[tuple[str, int]] = []
    while not scan.accept("]"):
        if axes:
            scan.expect(",")
        name = _name(scan)
        scan.expect("=")
        axes.append((name, scan.integer()))
    devices: tuple[int, ...] = ()
    if scan.accept(","):
        scan.expect("device_ids")
        scan.expect("=")
        devices = scan.bracketed_integers()
    scan.expect(">")
    return Mesh(axes, devices)


def _dims(scan: Scanner) -> list[Any]:
    scan.expect("[")
    dims: list[Any] = []
    while not scan.accept("]"):
        if dims:
            scan.expect(",")
        dims.append(_axes(scan) or None)
        if scan.accept("p"):  # a priority tells the propagation which dimensions go first, not who holds what
            scan.integer()
    return dims


def _axes(scan: Scanner) -> tuple[Any, ...]:
    """The axes between braces, major first, each whole or a part as in ``"y":(1)2``; an open end says nothing yet."""
    scan.expect("{")
    found: list[Any] = []
    while not scan.accept("}"):
        if found:
            scan.expect(",")
        if scan.accept("?"):
            scan.expect("}")
            break
        name = _name(scan)
        if scan.accept(":"):
            scan.expect("(")
            before = scan.integer()
            scan.expect(")")
            found.append((name, before, scan.integer()))
        else:
            found.append(name)
    return tuple(found)


def _named_axes(scan: Scanner) -> None:
    """The axes that replicate, which need no words, and those whose parts are not summed yet, which are refused."""
    while scan.accept(","):
        kind = scan.name()
        if kind not in ("replicated", "unreduced"):
            scan.fail("replicated= or unreduced=")
        scan.expect("=")
        if _axes(scan) and kind == "unreduced":
            raise NotExpressible(
                "an unreduced axis has a summand on every device, and no element is whole anywhere.",
                hint="reduce first",
                dialect="sdy",
                text=scan.shown,
            )


def _name(scan: Scanner) -> str:
    return _match(scan, _QUOTED, "an axis in double quotes").group(1)


def _symbol(scan: Scanner) -> str:
    return _match(scan, _SYMBOL, "the name of a mesh, as in @mesh").group()


def _match(scan: Scanner, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
    scan.peek()
    match = pattern.match(scan.text, scan.position) or scan.fail(expected)
    scan.position = match.end()
    return match


def render(x: Sharding) -> str:
    mesh = x.mesh
    if mesh.devices is None:
        raise cannot_say(x, "sdy", "a sharding has a mesh", "give it one, or render it as hlo")
    axes = ", ".join([f'"{name}"={n}' for name, n in mesh.axes.items()])
    order = "" if mesh.in_order else f", device_ids=[{', '.join(map(str, mesh.devices))}]"
    dims = [", ".join([_axis_text(deal, mesh.axes) for deal in dealt]) for dealt in contiguous_axes(x, "sdy")]
    listed = ", ".join([f"{{{dim}}}" for dim in dims])
    return f"sdy.mesh @mesh = <[{axes}]{order}> #sdy.sharding<@mesh, [{listed}]>"


def _axis_text(deal: Deal, axes: dict[str, int]) -> str:
    whole = deal.size == axes[deal.axis or ""]
    return f'"{deal.axis}"' if whole else f'"{deal.axis}":({deal.before}){deal.size}'
