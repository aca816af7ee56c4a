"""Triton's encodings taken apart into their fields, and written as its IR prints them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..hardware.triton_distributed import (
    AmdMfmaEncoding,
    AmdWmmaEncoding,
    BlockedEncoding,
    DotOperandEncoding,
    NvidiaMmaEncoding,
    SliceEncoding,
)
from ..hardware.triton_encoding import Bases, TritonEncoding, row_major
from ..hardware.triton_linear import LinearEncoding
from ..hardware.triton_memory import (
    NvmmaSharedEncoding,
    PaddedSharedEncoding,
    PartitionedSharedEncoding,
    SharedLinearEncoding,
    SwizzledSharedEncoding,
)
from ..hardware.triton_tensor_memory import TensorMemoryEncoding, TensorMemoryScalesEncoding
from .ttg_encodings import Fields


def fields_of(encoding: TritonEncoding) -> tuple[str, Fields]:
    """The name of an encoding and its fields, in Triton's order and without those that it leaves out."""
    name, fields = _WRITERS[type(encoding)](encoding)
    return name, {key: value for key, value in fields.items() if value is not None}


def _cluster(blocks: Bases) -> Sequence[Any] | None:
    return blocks or None


def _write_mfma(e: AmdMfmaEncoding) -> tuple[str, Fields]:
    fields: Fields = {
        "version": e.version,
        "warpsPerCTA": e.warps_per_cta,
        "instrShape": e.instr_shape,
        "isTransposed": e.transposed,
        "CGALayout": _cluster(e.blocks),
        "tilesPerWarp": e.tiles_per_warp if set(e.tiles_per_warp) != {1} else None,
        "elementBitWidth": e.element_bits if e.element_bits != 32 else None,
    }
    return e.kind, fields


def _write_wmma(e: AmdWmmaEncoding) -> tuple[str, Fields]:
    tiles = {"register": e.register_bases or None, "warp": e.warp_bases or None}
    fields: Fields = {
        "version": e.version,
        "isTranspose": e.transposed,
        "ctaLayout": {name: bases for name, bases in tiles.items() if bases},
        "CGALayout": _cluster(e.blocks),
        "instrShape": e.instr_shape if e.instr_shape != (16, 16, 16) else None,
        "rank": e.rank if e.rank != 2 and not e.warp_bases and not e.register_bases else None,
    }
    return e.kind, fields


def _write_linear(e: LinearEncoding) -> tuple[str, Fields]:
    fields = {"register": e.registers, "lane": e.lanes, "warp": e.warps, "block": e.blocks}
    return "ttg.generic_linear" if e.generic else e.kind, fields


def _write_swizzled(e: SwizzledSharedEncoding) -> tuple[str, Fields]:
    fields: Fields = {"vec": e.vec, "perPhase": e.per_phase, "maxPhase": e.max_phase, "order": e.order}
    name = "ttg.amd_rotating_shared" if e.rotating else e.kind
    return name, {**fields, "CGALayout": _cluster(e.blocks)}


def _write_padded(e: PaddedSharedEncoding) -> tuple[str, Fields]:
    if not e.block:
        moved = [next(d for d, x in enumerate(basis) if x) for basis in e.offset]
        order = tuple(dict.fromkeys([*moved, *row_major(e.rank)]))
        plain = SwizzledSharedEncoding(1, 1, 1, order)
        if tuple(plain.bases(e.own_shape).get("offset", ())) == e.offset:
            return e.kind, {"intervals": e.paddings, "order": order, "shape": e.own_shape}
    return e.kind, {"intervals": e.paddings, "offset": e.offset, "block": e.block}


def _write_nvmma(e: NvmmaSharedEncoding) -> tuple[str, Fields]:
    fields: Fields = {
        "swizzlingByteWidth": e.swizzle_bytes,
        "transposed": e.transposed,
        "elementBitWidth": e.element_bits,
        "fp4Padded": e.fp4_padded or None,
        "rank": e.rank if e.rank != 2 and not e.blocks else None,
        "CGALayout": _cluster(e.blocks),
    }
    return e.kind, fields


def _write_tensor_memory(e: TensorMemoryEncoding) -> tuple[str, Fields]:
    fields: Fields = {
        "blockM": e.block_m,
        "blockN": e.block_n,
        "colStride": e.column_stride,
        "CGALayout": _cluster(e.blocks),
        "twoCTAs": e.two_ctas or None,
        "fp4Padded": e.fp4_padded or None,
    }
    return e.kind, fields


_WRITERS: dict[type, Callable[[Any], tuple[str, Fields]]] = {
    BlockedEncoding: lambda e: (
        e.kind,
        {
            "sizePerThread": e.size_per_thread,
            "threadsPerWarp": e.threads_per_warp,
            "warpsPerCTA": e.warps_per_cta,
            "order": e.order,
            "CGALayout": _cluster(e.blocks),
        },
    ),
    SliceEncoding: lambda e: (e.kind, {"dim": e.dim, "parent": e.parent}),
    DotOperandEncoding: lambda e: (e.kind, {"opIdx": e.index, "parent": e.parent, "kWidth": e.width or None}),
    NvidiaMmaEncoding: lambda e: (
        e.kind,
        {
            "versionMajor": e.version[0],
            "versionMinor": e.version[1],
            "warpsPerCTA": e.warps_per_cta,
            "CGALayout": _cluster(e.blocks),
            "instrShape": e.instr_shape,
        },
    ),
    AmdMfmaEncoding: _write_mfma,
    AmdWmmaEncoding: _write_wmma,
    LinearEncoding: _write_linear,
    SwizzledSharedEncoding: _write_swizzled,
    PaddedSharedEncoding: _write_padded,
    NvmmaSharedEncoding: _write_nvmma,
    SharedLinearEncoding: lambda e: (
        e.kind,
        {"offset": e.offset, "block": e.block or None, "alignment": e.alignment},
    ),
    PartitionedSharedEncoding: lambda e: (
        e.kind,
        {
            "numPartitions": e.partitions,
            "numGroups": e.groups,
            "partitionDim": e.dim,
            "partitionLayout": e.inner,
        },
    ),
    TensorMemoryEncoding: _write_tensor_memory,
    TensorMemoryScalesEncoding: lambda e: (
        e.kind,
        {"CGALayout": _cluster(e.blocks), "blockRepOrder": "kThenMn" if e.k_first else None},
    ),
}


def encoding_text(encoding: TritonEncoding) -> str:
    """An encoding as Triton's IR prints it."""
    name, fields = fields_of(encoding)
    if isinstance(encoding, PaddedSharedEncoding):
        pairs = ", ".join([f"{interval}:+{padding}" for interval, padding in fields.pop("intervals")])
        return f"#{name}<[{pairs}] {{{_fields_text(fields)}}}>"
    if isinstance(encoding, SharedLinearEncoding):
        alignment = fields.pop("alignment")
        return f"#{name}<{{{_fields_text(fields)}}}, alignment = {alignment}>"
    inside = _fields_text(fields)
    return f"#{name}<{inside}>" if name.startswith("ttng.") else f"#{name}<{{{inside}}}>"


def _fields_text(fields: Fields) -> str:
    return ", ".join([f"{name} = {_value_text(value)}" for name, value in fields.items()])


def _value_text(value: Any) -> str:
    if isinstance(value, TritonEncoding):
        return encoding_text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{{_fields_text(value)}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join([_value_text(x) for x in value])}]"
    return str(value)
