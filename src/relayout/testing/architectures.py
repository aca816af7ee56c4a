"""The laws of architectures: lanes are served once, no phase wants more than the banks have, and all has a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from ..errors import LayoutError
from ..hardware.architecture import Access, Architecture, Known
from ..hardware.instructions import canonical_name
from ..hardware.registry import architecture_named
from .laws import check_laws


def find_architecture(x: Any) -> Architecture | None:
    """The architecture that ``x`` is, or that it names."""
    try:
        return architecture_named(x) if isinstance(x, str | Architecture) else None
    except LayoutError:
        return None


def check_architecture(arch: Architecture) -> None:
    """Hold an architecture against every law."""
    check_laws(f"the architecture {arch.name}", arch, LAWS)


def counts_are_powers_of_two(arch: Architecture) -> Iterator[str]:
    """Its lanes, its banks and the bytes of a bank are powers of two."""
    for what, count in (("lanes", arch.lanes), ("banks", arch.banks), ("bytes of a bank", arch.bank_bytes)):
        if count < 1 or count & (count - 1):
            yield f"- {count} {what}"


def names_are_read_back(arch: Architecture) -> Iterator[str]:
    """Every access goes by the one name that its texts have, and is either answered or refused."""
    for name in (*arch.accesses, *arch.refused):
        if canonical_name(name) != name:
            yield f"- {name} is read as {canonical_name(name)}"
    for name, access in arch.accesses.items():
        if access.name != name:
            yield f"- {name} is called {access.name}"
        if name in arch.refused:
            yield f"- {name} is answered and refused"


def serves_every_lane_once(arch: Architecture) -> Iterator[str]:
    """The phases of an access have its lanes once each, and larger phases of pairs have the same lanes."""
    for access in arch.accesses.values():
        for phases in (access.phases, access.paired_phases) if access.pairs else (access.phases,):
            lanes = sorted(lane for phase in phases for lane in phase)
            if lanes != sorted(set(lanes)) or not set(lanes) <= set(range(arch.lanes)) or tuple(lanes) != access.lanes:
                yield f"- {access.name} serves {lanes}"


def fits_the_banks(arch: Architecture) -> Iterator[str]:
    """Distinct words of a phase, or distinct pairs of a larger one, fit into one wavefront of all banks."""
    for access in arch.accesses.values():
        for phases, share in ((access.phases, 1), (access.paired_phases, 2)):
            yield from _too_wide(arch, access, phases, share)


def _too_wide(arch: Architecture, access: Access, phases: tuple[tuple[int, ...], ...], share: int) -> Iterator[str]:
    for phase in phases:
        if len(phase) // share * access.bytes > arch.wavefront_bytes:
            yield f"- {access.name} serves {len(phase)} lanes of {access.bytes} bytes in {arch.wavefront_bytes}"


def says_where_it_is_from(arch: Architecture) -> Iterator[str]:
    """Every access says how it is known and by whom, and every refusal has a reason."""
    for access in arch.accesses.values():
        if access.known not in get_args(Known) or not access.source:
            yield f"- {access.name} is {access.known!r} by {access.source!r}"
    for name, reason in arch.refused.items():
        if not reason:
            yield f"- {name} is refused without a reason"


LAWS = (
    counts_are_powers_of_two,
    names_are_read_back,
    serves_every_lane_once,
    fits_the_banks,
    says_where_it_is_from,
)
