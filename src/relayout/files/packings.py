"""The quantised types whose blocks a file holds as bytes: told by the file itself, or kept by what was made of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .contents import Source

PACKINGS = "gguf.types"
"""The key of the metadata that keeps the types of such tensors by name, in files that cannot say it themselves."""


def packings_of(source: Source) -> dict[str, str]:
    """The packing of every tensor that has one; what the metadata say counts for plain bytes only."""
    kept = source.metadata.get(PACKINGS)
    if isinstance(kept, str):
        try:
            kept = json.loads(kept)
        except (ValueError, RecursionError):
            kept = None
    words = kept if isinstance(kept, dict) else {}
    found = {}
    for name, entry in source.items():
        packing = entry.packing
        if packing is None and entry.record is None and entry.element.name == "uint8":
            packing = words.get(name)
        if isinstance(packing, str):
            found[name] = packing
    return found
