"""Builds small valid files of every kind."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from relayout.elements.types import element
from relayout.files.contents import PlannedTensor
from relayout.files.dcp_writing import plan_dcp
from relayout.files.record import LayoutRecord
from relayout.files.registry import plan_destination
from relayout.testing.container_samples import write_destination


def store(
    path: Path,
    arrays: Mapping[str, Any],
    records: Mapping[str, LayoutRecord] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Path:
    """The arrays in a file of the kind that the path names."""
    told = records or {}
    planned = [PlannedTensor(name, element(x.dtype), x.shape, told.get(name)) for name, x in arrays.items()]
    write_destination(
        plan_destination(path, None, planned, metadata), {name: x.tobytes() for name, x in arrays.items()}
    )
    return path


# ---- GGUF and ONNX, by hand ------------------------------------------------------------------------------


def text(x: str) -> bytes:
    return struct.pack("<Q", len(x.encode())) + x.encode()


def gguf_bytes(
    tensors: list[tuple[str, tuple[int, ...], int, int]], data: bytes, pairs: bytes = b"", n: int = 0
) -> bytes:
    """``tensors`` are name, dims (fastest first), type and offset; ``pairs`` are ``n`` encoded key/values."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), n) + pairs
    for name, dims, kind, offset in tensors:
        head += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)
    return head + bytes(-len(head) % 32) + data


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_bytes(*tensors: bytes) -> bytes:
    return field(1, 8) + field(7, b"".join([field(5, t) for t in tensors]))


def dcp_folder(folder: Path) -> Path:
    """A small checkpoint as torch saves one, of x and y."""
    x, y = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(5, dtype=np.uint8)
    planned = [PlannedTensor(name, element(data.dtype), data.shape) for name, data in (("x", x), ("y", y))]
    write_destination(plan_dcp(folder, planned), {"x": x.tobytes(), "y": y.tobytes()})
    return folder


def valid_files(folder: Path) -> dict[str, Path]:
    """A small valid file of each kind."""
    x, y = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(5, dtype=np.uint8)
    record = {"x": LayoutRecord.of("mojo:((3, 4):(4, 1))", (3, 4), axes="hw", fill=1.5)}
    named = {"x": x}
    made = {
        "npy": store(folder / "x.npy", named, record),
        "npz": store(folder / "x.npz", {"x": x, "y": y}, record),
        "safetensors": store(folder / "x.safetensors", {"x": x, "y": y}, record, {"format": "pt"}),
        "shards": store(folder / "s.safetensors.index.json", {"x": x, "y": y}, record),
        "raw": store(folder / "x.bin", named, record),
    }
    made["gguf"] = folder / "x.gguf"
    pair = (
        text("general.name") + struct.pack("<I", 8) + text("name") + text("n") + struct.pack("<IIQ3H", 9, 2, 3, 1, 2, 3)
    )
    data = x.tobytes() + bytes(16) + y.tobytes()
    made["gguf"].write_bytes(gguf_bytes([("x", (4, 3), 0, 0), ("y", (5,), 24, 64)], data, pair, 2))
    made["onnx"] = folder / "x.onnx"
    raw = field(1, 3) + field(1, 4) + field(2, 1) + field(8, b"x") + field(9, x.tobytes())
    typed = field(1, b"\x05") + field(2, 7) + field(8, b"y") + field(7, bytes(range(5)))
    made["onnx"].write_bytes(onnx_bytes(raw, typed))
    return made
