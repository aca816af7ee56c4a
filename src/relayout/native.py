"""The compiled core, where it was built; everything that uses it has a pure path with the same results."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType


def _load() -> ModuleType | None:
    if os.environ.get("RELAYOUT_NATIVE") == "0":
        return None
    try:
        return import_module("relayout._native")
    except ImportError:
        return None


native = _load()


def native_available() -> bool:
    """True when the compiled core is used; ``RELAYOUT_NATIVE=0`` in the environment turns it off."""
    return native is not None
