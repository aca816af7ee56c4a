"""How much an agent may ask for, and how long an answer may take: each limit is enforced, and told in the schemas."""

from __future__ import annotations

LINE = 1 << 20
"""The longest message, in bytes."""

TEXT = 4096
"""The longest text of a layout, in characters."""

RANK = 32
"""The most sizes of a shape."""

SIZE = (1 << 63) - 1
"""The largest size of a dimension."""

TEXTS = 8
"""The most layouts of one question."""

ENTRIES = 1 << 16
"""The most entries of a table of offsets, of a reference and of its dump."""

ROWS = 40
"""The most rows of an answer's table."""

CELLS = 1 << 10
"""The most cells of a pane of a picture: more are drawn as chunks, and the picture says so."""

ANSWER = 1 << 19
"""The longest answer, in bytes: a larger picture or table is refused, never cut."""

SECONDS = 10.0
"""How long an answer may take, unless the command says otherwise."""

MEMORY = 1 << 30
"""The most memory of the process that computes, in bytes, where the system can hold it to that."""

WAITING = 64
"""The most calls that wait for their turn."""

GRACE = 1.5
"""For how many seconds what was asked is still answered, when nobody will ask more."""
