"""Banks on the page: a tile of shared memory, the threads that ask for it, by which access and on which machine."""

from __future__ import annotations

from ..ask.banks import Banks, banks
from ..errors import NotExpressible, ShapeError
from ..hardware.registry import architecture_named, architecture_names
from ..layout.layout import Layout
from .state import State, blame_field

ACCESS = "ld.shared.b32"
ARCH = "sm90"


def asked_banks(state: State, tile: Layout) -> Banks:
    """What the fields ask for; an access or a machine that is not filled in is the usual one."""
    with blame_field("arch"):
        machine = architecture_named(state.arch or ARCH)
    with blame_field("access"):
        access = machine.access(state.access or (ACCESS if machine.vendor == "NVIDIA" else "ds_read_b32"))
    with blame_field("dtype"):
        if not state.dtype:
            raise ShapeError("banks hold bytes, and nothing tells how wide an element is.", hint="fill in its type")
    with blame_field("b"):
        if not state.b.strip():
            raise ShapeError(
                "nobody asks for the tile yet.",
                hint="a layout of (thread, value) to the column-major index of the tile, as in (32,1):(1,0)",
            )
        return banks(tile, state.b, state.dtype, access, machine)


def bank_lines(state: State, tile: str, asked: Banks) -> list[str]:
    """The lines of Python that ask the same."""
    words = ", ".join([tile, repr(state.b.strip()), repr(state.dtype), repr(asked.access.name), repr(asked.arch.name)])
    return [f"found = rl.banks({words})", "print(found)", 'rl.draw(found).save("picture.svg")']


def bank_offers() -> dict[str, list[str]]:
    """The machines and the accesses that the page offers."""
    machines = [architecture_named(name) for name in _loadable()]
    accesses = list(dict.fromkeys(name for machine in machines for name in machine.accesses))
    return {"archs": [machine.name for machine in machines if machine.accesses], "accesses": accesses}


def _loadable() -> list[str]:
    """The machines whose packages can be imported."""
    found = []
    for name in architecture_names():
        try:
            architecture_named(name)
        except (ShapeError, NotExpressible):
            continue
        found.append(name)
    return found
