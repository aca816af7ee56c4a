"""The named formats of the world: look one up, list them, or find the names of a layout."""

from .format.catalog import ENTRIES, entry, find, get, names
from .format.entries import Entry

__all__ = ["ENTRIES", "Entry", "entry", "find", "get", "names"]
