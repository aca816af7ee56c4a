"""NVIDIA's shared memory, Volta to Blackwell: 32 banks of 4 bytes, and which lanes are served together.

Loads of 8 and 16 bytes serve twice as many lanes at once when all lanes come in pairs at one address, 1 or 2 apart; a
lane that is off pairs with any. They take no less time when lanes are off.
"""

from __future__ import annotations

from dataclasses import replace

from .architecture import Access, Architecture, Known, in_order

LANES = 32

_GUIDE = "CUDA C++ Programming Guide, Compute Capabilities: shared memory"
_FORUM = "NVIDIA developer forum 77228 (pairs, CC 7.x)"
_PTX = "PTX ISA, rows of ldmatrix and stmatrix; CUTLASS copy traits"
_H200 = "cycles of address patterns on an H200 (tests/gpu_banks.py)"
_H200_COPIES = f"{_H200}: half a cycle more a copy, and never under 2.4"
_H200_ATOMICS = f"{_H200}: never under 2 cycles, or under 4 where lanes are off"
_ONE_MACHINE = "it is measured on Hopper alone, and documented nowhere"


def _wide(name: str, bytes: int, writes: bool) -> Access:
    """A load or store: as many lanes at once as 128 bytes serve."""
    size = min(LANES, 128 // bytes)
    merges = not writes and size < LANES
    return Access(
        name,
        bytes,
        in_order(LANES, size),
        "measured",
        _H200,
        writes,
        pairs=(1, 2) if merges else (),
        paired_phases=in_order(LANES, 2 * size) if merges else (),
        steady=merges,
    )


def _matrix(name: str, rows: int, known: Known, source: str) -> Access:
    """A matrix instruction: the eight rows of 16 bytes of one matrix at once."""
    return Access(name, 16, in_order(rows, 8), known, source, writes=name.startswith("st"))


_LOADS = [_wide(f"ld.shared.b{8 * size}", size, writes=False) for size in (1, 2, 4, 8, 16)]
_STORES = [_wide(f"st.shared.b{8 * size}", size, writes=True) for size in (1, 2, 4, 8, 16)]
_LDMATRIX = [_matrix(f"ldmatrix.x{n}{trans}", 8 * n, "measured", _H200) for trans in ("", ".trans") for n in (1, 2, 4)]
_STMATRIX = [_matrix(f"stmatrix.x{n}{trans}", 8 * n, "measured", _H200) for trans in ("", ".trans") for n in (1, 2, 4)]
_COPIES = [
    replace(_wide(f"cp.async.b{8 * size}", size, writes=True), source=_H200_COPIES, shares=False) for size in (4, 8, 16)
]
_ATOMICS = [
    Access(f"{kind}.shared.b32", 4, in_order(LANES, LANES), "measured", _H200_ATOMICS, shares=False)
    for kind in ("atom", "red")
]
_BYTE_MATRICES = [
    _matrix(f"ldmatrix.m16n16.x{n}.trans.b8", 16 * n, "read", "CUTLASS copy traits of SM100") for n in (1, 2)
]


def _family(name: str, title: str, accesses: list[Access], *aliases: str) -> Architecture:
    measured = name == "sm90"
    told = [*accesses, *_ATOMICS] if measured else [_as_documented(access) for access in accesses]
    refused = {} if measured else {access.name: _ONE_MACHINE for access in _ATOMICS}
    return Architecture(name, title, "NVIDIA", LANES, 32, 4, {access.name: access for access in told}, refused, aliases)


def _as_documented(access: Access) -> Access:
    """The access on a machine that nobody has measured it on: what is written nowhere is as on Hopper."""
    if access.known != "measured":
        return access
    source = _PTX if "matrix" in access.name else _GUIDE
    if access.pairs:
        source = f"{_GUIDE}; {_FORUM}; lanes that are off as on Hopper"
    elif not access.shares:
        source = f"{_GUIDE} for stores; that none shares a word as on Hopper"
    return replace(access, known="documented", source=source)


_VOLTA = _LOADS + _STORES
_TURING = _VOLTA + _LDMATRIX
_AMPERE = _TURING + _COPIES
_HOPPER = _AMPERE + _STMATRIX
_BLACKWELL = _HOPPER + _BYTE_MATRICES

ARCHITECTURES = (
    _family("sm70", "Volta", _VOLTA, "volta", "v100"),
    _family("sm72", "Volta, Xavier", _VOLTA, "xavier"),
    _family("sm75", "Turing", _TURING, "turing", "t4"),
    _family("sm80", "Ampere", _AMPERE, "ampere", "a100"),
    _family("sm86", "Ampere", _AMPERE, "a10", "a40"),
    _family("sm87", "Ampere, Orin", _AMPERE, "orin"),
    _family("sm89", "Ada", _AMPERE, "ada", "l4", "l40", "l40s"),
    _family("sm90", "Hopper", _HOPPER, "hopper", "h100", "h200", "gh200"),
    _family("sm100", "Blackwell", _BLACKWELL, "blackwell", "b100", "b200", "gb200"),
    _family("sm101", "Blackwell, Thor before CUDA 13", _BLACKWELL),
    _family("sm103", "Blackwell Ultra", _BLACKWELL, "b300", "gb300"),
    _family("sm110", "Blackwell, Thor", _BLACKWELL, "thor"),
    _family("sm120", "Blackwell, GeForce and RTX PRO", _BLACKWELL),
    _family("sm121", "Blackwell, DGX Spark", _BLACKWELL, "gb10"),
)
