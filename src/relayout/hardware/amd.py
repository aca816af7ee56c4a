"""AMD's local data share: 32 or 64 banks of 4 bytes, and which lanes are served together.

The lanes of ``ds_read_b128`` are no runs: its phases are cosets over GF(2), and differ from those of ``ds_write_b128``.
"""

from __future__ import annotations

from .architecture import Access, Architecture, Lanes, cosets, in_order

_LATENCY = "latencies by nod-ai/amd-shark-ai docs/empirical-lds"
_GUIDE = "AMD GPU kernel optimization guide (nod-ai/amd-shark-ai)"
_ROCROLLER = "rocRoller's LDSBankModel, with the kernel optimization guide on b32 and b128"

_NO_SOURCE = "nobody has measured or documented which lanes it serves together"
_DISPUTED_BANKS = "rocRoller counts 32 banks for it, the kernel optimization guide 64 for all, and it is unmeasured"


def _reads(lanes: int, b32: int, b64: int, b128: tuple[Lanes, ...]) -> list[Access]:
    """The three reads: lanes at once for 4 and 8 bytes, and the phases for 16."""
    return [
        Access("ds_read_b32", 4, in_order(lanes, b32), "measured", _LATENCY),
        Access("ds_read_b64", 8, in_order(lanes, b64), "measured", _LATENCY),
        Access("ds_read_b128", 16, b128, "measured", _LATENCY),
    ]


_CDNA3_WRITES = [
    Access("ds_write_b32", 4, in_order(64, 32), "documented", _GUIDE, writes=True),
    Access("ds_write_b64", 8, in_order(64, 16), "read", _ROCROLLER, writes=True),
    Access("ds_write_b128", 16, in_order(64, 8), "documented", _GUIDE, writes=True),
]

_WRITES = ("ds_write_b32", "ds_write_b64", "ds_write_b128")
_RARE = ("ds_read_b8", "ds_read_b16", "ds_read_b96", "ds_write_b8", "ds_write_b16", "ds_write_b96")
_ALL = ("ds_read_b32", "ds_read_b64", "ds_read_b128", *_WRITES, *_RARE)


def _family(
    name: str,
    title: str,
    banks: int,
    lanes: int,
    accesses: list[Access],
    refused: dict[str, str],
    *aliases: str,
) -> Architecture:
    told = {access.name: access for access in accesses}
    reasons = {**dict.fromkeys(_ALL, _NO_SOURCE), **refused}
    left = {access: reason for access, reason in reasons.items() if access not in told}
    return Architecture(name, title, "AMD", lanes, banks, 4, told, left, aliases)


_CDNA3 = cosets((1, 2, 4 ^ 16), (32, 4, 8))
_CDNA4 = cosets((1, 2, 4 ^ 8, 4 ^ 16), (32, 4))
_RDNA3 = cosets((1, 2, 4 ^ 16), (4, 8))

_RDNA3_NEIGHBOUR = [
    Access(a.name, a.bytes, a.phases, "documented", f"the same ISA as gfx1100, which has {_LATENCY}")
    for a in _reads(32, 32, 16, _RDNA3)
]
_RDNA4_NEIGHBOUR = [
    Access(a.name, a.bytes, a.phases, "documented", f"the same ISA as gfx1201, which has {_LATENCY}")
    for a in _reads(32, 32, 16, in_order(32, 8))
]

ARCHITECTURES = (
    _family("gfx90a", "CDNA2", 32, 64, [], {}, "cdna2", "mi210", "mi250", "mi250x"),
    _family(
        "gfx942",
        "CDNA3",
        32,
        64,
        _reads(64, 32, 16, _CDNA3) + _CDNA3_WRITES,
        {},
        *("cdna3", "mi300x", "mi300a", "mi325x"),
    ),
    _family(
        "gfx950",
        "CDNA4",
        64,
        64,
        _reads(64, 64, 32, _CDNA4),
        dict.fromkeys((*_WRITES, "ds_read_b96", "ds_write_b96"), _DISPUTED_BANKS),
        *("cdna4", "mi350x", "mi355x"),
    ),
    _family("gfx1100", "RDNA3", 32, 32, _reads(32, 32, 16, _RDNA3), {}, "rdna3", "w7900"),
    _family("gfx1101", "RDNA3", 32, 32, _RDNA3_NEIGHBOUR, {}),
    _family("gfx1102", "RDNA3", 32, 32, _RDNA3_NEIGHBOUR, {}),
    _family("gfx1200", "RDNA4", 32, 32, _RDNA4_NEIGHBOUR, {}),
    _family("gfx1201", "RDNA4", 32, 32, _reads(32, 32, 16, in_order(32, 8)), {}, "rdna4"),
    _family(
        "gfx1250",
        "GFX12.5",
        64,
        32,
        [],
        dict.fromkeys(_ALL, "its 64 banks are read in Triton's source only, and its phases nowhere"),
    ),
)
