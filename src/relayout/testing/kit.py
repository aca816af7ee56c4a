"""``conformance``: finds the kit of laws for what is to be checked."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from ..errors import ShapeError, shown
from .laws import ConformanceError

__all__ = ["ConformanceError", "conformance"]


def conformance(x: Any, *, samples: Iterable[str | PathLike[str]] = ()) -> None:
    """Check a plug-in, and raise a ``ConformanceError`` that names every law it breaks.

    ``x`` is a dialect, a named format, a container, an architecture, an atom or an audit reader, or its name.
    ``samples`` are valid files of a container that is read only, or artefacts of a reader, which the kit cannot make
    itself. All is written to a temporary folder.
    """
    from .architectures import check_architecture, find_architecture
    from .atoms import check_atom_laws, find_atom
    from .audits import check_reader, find_reader
    from .containers import check_container, find_container
    from .dialects import check_dialect, find_dialect
    from .formats import check_format, find_entry

    if (entry := find_entry(x)) is not None:
        check_format(entry)
    elif (case := find_dialect(x)) is not None:
        check_dialect(case)
    elif (container := find_container(x)) is not None:
        check_container(container, samples)
    elif (architecture := find_architecture(x)) is not None:
        check_architecture(architecture)
    elif (atom := find_atom(x)) is not None:
        check_atom_laws(atom)
    elif (reader := find_reader(x)) is not None:
        check_reader(reader, samples)
    else:
        hint = "pass a dialect, a catalog entry, a container, an architecture, an atom, an audit reader, or its name"
        raise ShapeError(f"there is nothing to check in {shown(x)}.", hint=hint, got=x)
