"""The named formats of the world: look one up, list them, or find the names of a layout. Records are named, too."""

from .format.catalog import ENTRIES, entry, find, get, names
from .format.entries import Entry
from .format.records import NamedRecord, known_records, record

__all__ = ["ENTRIES", "Entry", "NamedRecord", "entry", "find", "get", "known_records", "names", "record"]
