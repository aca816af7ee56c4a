"""The named formats of the world: look one up, list them, find the names of a layout, or add names of your own.

Records are named, too.
"""

from .dialects.naming import register, unregister
from .format.catalog import ENTRIES, entry, find, get, names, other_names
from .format.entries import Entry
from .format.records import NamedRecord, known_records, record

__all__ = [
    "ENTRIES",
    "Entry",
    "NamedRecord",
    "entry",
    "find",
    "get",
    "known_records",
    "names",
    "other_names",
    "record",
    "register",
    "unregister",
]
