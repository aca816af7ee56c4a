"""The atoms by name: those of this package, one table a file, and those that other packages add.

Ours are the modules named in ``TABLES``: each has a function ``atoms()`` that yields them. Another package adds a table
by an entry point in the group ``relayout.atoms`` that names such a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from typing import Any

from ..errors import ShapeError, UnknownName, shown
from ..plugins import entry_points_of
from .atom import Atom, check_atom
from .spellings import registry_name

TABLES = (
    "nvidia_mma",
    "nvidia_sparse",
    "nvidia_wgmma",
    "nvidia_copies",
    "nvidia_tensor_memory",
    "nvidia_tma",
    "amd_mfma",
    "amd_wmma",
    "amd_sparse",
    "amd_copies",
    "intel_dpas",
    "intel_amx",
)
"""The tables of this package: modules beside this one."""

ENTRY_POINTS = "relayout.atoms"
"""The group of entry points."""

_INSTRUCTION = re.compile(
    r"\s*(?:(?:mma|wgmma|ldmatrix|stmatrix|movmatrix|tcgen05|cp|dpas|rocdl|llvm)\.|v_(?:mfma|smfmac|wmma|swmmac)"
    r"|ds_(?:read|load)_\w*tr|__builtin_amdgcn_|XE_\d|_?_tile_|t(?:dp|mm)\w+\s*$|T(?:DP|MM)\w+\s*$)"
)
"""How the names of instructions begin, in every spelling."""


class Atoms(Mapping[str, Atom]):
    """Every atom by its name, as the vendor spells the instruction.

    PTX's full form is taken as well: ``mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32``.

    >>> from relayout import atoms
    >>> atoms["mma.m16n8k8.f32.tf32.tf32.f32"].shape
    (16, 8, 8)
    """

    def __getitem__(self, name: str) -> Atom:
        if isinstance(name, str):
            names = (name, registry_name(name))
            for known in _tables():
                for spelled in names:
                    if spelled in known:
                        return known[spelled]
        raise UnknownName(f"there is no atom named {shown(name)}.", hint=_near(name), name=name)

    def __iter__(self) -> Iterator[str]:
        return iter(_all_atoms())

    def __len__(self) -> int:
        return len(_all_atoms())

    def __repr__(self) -> str:
        return f"<{len(self)} atoms>"

    def search(self, pattern: str) -> list[str]:
        """Every name that fits a pattern as ``mma.*.f64``, or that holds the text, in the order of the tables."""
        if not isinstance(pattern, str):
            raise ShapeError(f"a pattern is a text, got {shown(pattern)}.", hint="as in mma.*.f64", pattern=pattern)
        whole = pattern if any(c in pattern for c in "*?[") else f"*{pattern}*"
        return [name for name in self if fnmatchcase(name.lower(), whole.lower())]


atoms = Atoms()
"""Every instruction whose layouts are known: a mapping from names to ``Atom``."""


def as_atom(x: Any) -> Atom | None:
    """An atom as it is, or by the name of an instruction, which no notation of layouts begins like; else None."""
    if isinstance(x, str) and _INSTRUCTION.match(x):
        return atoms[x]
    return x if isinstance(x, Atom) else None


def _near(name: Any) -> str:
    known, text = list(_all_atoms()), registry_name(str(name))
    longer = [other for other in known if text and other.startswith(text)]
    near = longer[:5] or get_close_matches(text, known, n=5, cutoff=0.5)
    return f"near it are {', '.join(near)}" if near else f"search it: rl.atoms.search('mma'); there are {len(known)}"


@cache
def _table(name: str) -> dict[str, Atom]:
    return {atom.name: atom for atom in import_module(f".{name}", __package__).atoms()}


def _tables() -> Iterator[dict[str, Atom]]:
    """Our tables one after another, then all there is: each is made when those before it lack a name."""
    for name in TABLES:
        yield _table(name)
    yield _all_atoms()


@cache
def _all_atoms() -> dict[str, Atom]:
    """Ours, and those of other packages, which are looked for when something else than ours is wanted."""
    found = {name: atom for table in TABLES for name, atom in _table(table).items()}
    for point in _entry_points():
        for atom in _load(point):
            check_atom(atom)
            found.setdefault(atom.name, atom)
    return found


def _entry_points() -> list[Any]:
    return entry_points_of(ENTRY_POINTS)


def _load(point: Any) -> list[Atom]:
    try:
        return list(point.load()())
    except (ImportError, AttributeError, TypeError) as error:
        raise ShapeError(
            f"the atoms {point.name!r} of another package cannot be loaded: {error}.",
            hint="its entry point names a function that yields relayout.hardware.atom.Atom",
            name=point.name,
        ) from error
