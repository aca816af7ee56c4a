"""An open file of the system, which is closed when nobody holds it any more."""

from __future__ import annotations

import os
from pathlib import Path


class Descriptor:
    """A descriptor that is closed when nobody uses it any more."""

    __slots__ = ("number",)

    def __init__(self, path: Path, flags: int) -> None:
        self.number = -1
        self.number = os.open(path, flags | os.O_CLOEXEC, 0o666)

    def __del__(self) -> None:
        if self.number >= 0:
            os.close(self.number)
