"""The compiled core, where it was built; everything that uses it has a pure path with the same results."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType


def _load() -> ModuleType | None:
    wanted = os.environ.get("RELAYOUT_NATIVE")
    if wanted == "0":
        return None
    try:
        return import_module("relayout._native")
    except ImportError:
        if wanted == "1":
            raise
        return None


native = _load()


def native_available() -> bool:
    """True when the compiled core is used.

    In the environment ``RELAYOUT_NATIVE=0`` turns it off, and ``RELAYOUT_NATIVE=1`` makes it an error that it is
    missing, of a run as of a build.
    """
    return native is not None
