"""What a vector is made of: codes that anyone can make again, their bytes in memory order, and the file of them all."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
FILE = Path(__file__).parent / "vectors.json"
WHOLE = 256
"""Up to so many packed bytes are kept whole, of more only their hash."""


class Vector(NamedTuple):
    """What a vendor's code made of the codes of a recipe: the hash of its bytes, and the bytes where they are few."""

    entry: str
    bits: int
    shape: tuple[int, ...]
    seed: int
    below: int
    judge: str
    sha256: str
    packed: str = ""

    def codes(self) -> Array:
        """The codes that were packed."""
        return codes(self.shape, self.bits, self.seed, self.below)

    def bytes(self) -> bytes | None:
        """The packed bytes, where they were kept."""
        return base64.b85decode(self.packed) if self.packed else None


def codes(shape: tuple[int, ...], bits: int, seed: int, below: int = 0) -> Array:
    """Numbers of ``bits`` bits that look random and are the same everywhere: SplitMix64 of the index."""
    mixed = np.arange(math.prod(shape), dtype=np.uint64) + np.uint64(seed << 32)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = (mixed ^ (mixed >> np.uint64(31))) % np.uint64(below or 1 << bits)
    return mixed.astype(np.uint16 if bits > 8 else np.uint8).reshape(shape)


def scales(field: str, shape: tuple[int, ...]) -> Array:
    """What lies beside the codes of a record: bit patterns of finite half-precision numbers, or of exponents."""
    seed = {"d": 7, "m": 8, "e": 9}[field]
    return codes(shape, 8, seed, 255) if field == "e" else codes(shape, 16, seed, 0x7C00)


def in_memory(values: Array, bits: int) -> bytes:
    """The bytes of the codes one after the other, the first in the lowest bits of a byte."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if bits >= 8:
        return flat.astype(f"<u{bits // 8}").tobytes()
    parts = np.unpackbits(flat.astype(np.uint8).reshape(-1, 1), axis=1, bitorder="little")[:, :bits]
    return np.packbits(parts.reshape(-1), bitorder="little").tobytes()


def from_memory(data: bytes, bits: int) -> Array:
    """The codes of bytes in memory order: ``in_memory`` the other way round."""
    if bits >= 8:
        return np.frombuffer(data, f"<u{bits // 8}")
    stream = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    parts = stream[: stream.size // bits * bits].reshape(-1, bits)
    return np.packbits(parts, axis=1, bitorder="little").reshape(-1)


def vector(entry: str, bits: int, shape: tuple[int, ...], seed: int, below: int, judge: str, packed: bytes) -> Vector:
    """The vector of these bytes."""
    kept = base64.b85encode(packed).decode() if len(packed) <= WHOLE else ""
    return Vector(entry, bits, shape, seed, below, judge, hashlib.sha256(packed).hexdigest(), kept)


def recorded() -> Iterator[Vector]:
    """Every vector of the file."""
    for entry, bits, shape, *rest in json.loads(FILE.read_text()) if FILE.exists() else []:
        yield Vector(entry, bits, tuple(shape), *rest)


def write(vectors: list[Vector]) -> None:
    """The file with these vectors, one a line."""
    lines = ",\n".join([json.dumps(v) for v in sorted(vectors)])
    FILE.write_text(f"[\n{lines}\n]\n")
