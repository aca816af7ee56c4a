"""The checksums that a file holds of its own data, put in when the data are there."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

from .contents import Destination, bad_file
from .reading import TRUNCATED

_READ_BYTES = 1 << 20


def write_checksums(destination: Destination, located: Callable[[Path], Path] = lambda path: path) -> None:
    """Write the checksums of a destination whose tensors are written; ``located`` tells where its files are by now."""
    for sum_ in destination.checksums:
        path = located(sum_.file)
        with path.open("r+b") as file:
            file.seek(sum_.start)
            left, crc = sum_.size, 0
            while left:
                data = file.read(min(left, _READ_BYTES))
                if not data:
                    raise bad_file(path, f"it ends {left} bytes too early.", TRUNCATED)
                crc, left = zlib.crc32(data, crc), left - len(data)
            for at in sum_.at:
                file.seek(at)
                file.write(crc.to_bytes(4, "little"))
