"""Triton's encodings made of their fields; Gluon has other names for the same fields."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from ..errors import NotExpressible, ShapeError, UnknownName, shown
from ..hardware.triton_distributed import (
    AmdMfmaEncoding,
    AmdWmmaEncoding,
    BlockedEncoding,
    DotOperandEncoding,
    NvidiaMmaEncoding,
    SliceEncoding,
)
from ..hardware.triton_encoding import Bases, Dealing, TritonEncoding, row_major
from ..hardware.triton_linear import LinearEncoding
from ..hardware.triton_memory import (
    MemoryEncoding,
    NvmmaSharedEncoding,
    PaddedSharedEncoding,
    PartitionedSharedEncoding,
    SharedLinearEncoding,
    SwizzledSharedEncoding,
)
from ..hardware.triton_tensor_memory import TensorMemoryEncoding, TensorMemoryScalesEncoding
from ..immutable import NamedTuple

Fields = dict[str, Any]

MOST_DIMENSIONS = 16
"""The most dimensions of a tensor."""

MOST_BITS = 1 << 24
"""The largest size or step; tensors of more elements fit into no register file and no shared memory."""


class Kind(NamedTuple):
    """How one encoding is read: which fields it must and may have, and what they make."""

    needed: tuple[str, ...]
    allowed: tuple[str, ...]
    make: Callable[[Fields], TritonEncoding]


def encoding_of(name: str, fields: Fields) -> TritonEncoding:
    """The encoding with these fields; names and fields that there are not are refused with near ones."""
    kind = KINDS.get(name)
    if kind is None:
        raise unknown_encoding(name)
    known = (*kind.needed, *kind.allowed)
    for field in fields:
        if field not in known:
            near = get_close_matches(field, known, n=3, cutoff=0.5) or known
            raise UnknownName(f"#{name} has no field {field}.", hint=f"near it is {', '.join(near)}", name=field)
    if missing := [field for field in kind.needed if field not in fields]:
        raise ShapeError(
            f"#{name} needs {', '.join(missing)}.", hint=f"its fields are {', '.join(known)}", encoding=name
        )
    return kind.make(fields)


def unknown_encoding(name: str) -> UnknownName:
    """The refusal of an encoding that is not known, with those that are near."""
    stem = name.rpartition(".")[2]
    near = [known for known in KINDS if known.rpartition(".")[2] in get_close_matches(stem, _STEMS, n=3, cutoff=0.5)]
    listed = f"near it is #{', #'.join(near)}" if near else f"there are #{', #'.join(KINDS)}"
    return UnknownName(f"Triton has no encoding #{name}.", hint=listed, name=name)


def _number(fields: Fields, name: str, default: int | None = None) -> int:
    value = fields.get(name, default)
    if type(value) is not int or not 0 <= value <= MOST_BITS:
        raise ShapeError(f"{name} is a number from 0 to {MOST_BITS}, got {shown(value)}.", hint="as in 4", got=value)
    return value


def _truth(fields: Fields, name: str, default: bool = False) -> bool:
    value = fields.get(name, default)
    if type(value) is not bool:
        raise ShapeError(f"{name} is true or false, got {shown(value)}.", hint="as in true", got=value)
    return value


def _numbers(fields: Fields, name: str) -> tuple[int, ...]:
    value = fields[name]
    if (
        not isinstance(value, list | tuple)
        or not all(type(n) is int and 0 <= n <= MOST_BITS for n in value)
        or len(value) > MOST_DIMENSIONS
    ):
        raise ShapeError(
            f"{name} is a list of numbers, one for each dimension, got {shown(value)}.", hint="as in [1, 4]", got=value
        )
    return tuple(value)


def _bases(fields: Fields, name: str) -> Bases:
    value = fields.get(name, [])
    if not isinstance(value, list | tuple) or len(value) > 64:
        raise ShapeError(f"{name} is a list of bases, got {shown(value)}.", hint="as in [[0, 1], [1, 0]]", got=value)
    return tuple([_numbers({name: basis}, name) for basis in value])


def _parent(fields: Fields, name: str = "parent") -> TritonEncoding:
    value = fields[name]
    if not isinstance(value, TritonEncoding):
        raise ShapeError(f"{name} is an encoding, got {shown(value)}.", hint="as in #ttg.blocked<{...}>", got=value)
    return value


def _blocks(fields: Fields, rank: int) -> Bases:
    """The bases of a cluster; older versions have three lists in their place."""
    if "CTAsPerCGA" not in fields:
        return _bases(fields, "CGALayout")
    ctas, order = _numbers(fields, "CTAsPerCGA"), _numbers(fields, "CTAOrder")
    split = _numbers(fields, "CTASplitNum")
    lists = (ctas, split, order)
    if any(len(one) != rank for one in lists) or sorted(order) != list(range(rank)):
        raise ShapeError(
            "CTAsPerCGA, CTASplitNum and CTAOrder have a number for each dimension.", hint="as in [1, 1]", got=lists
        )
    dealt = Dealing(rank)
    for d in order:
        if not split[d] or ctas[d] % split[d] or ctas[d] & (ctas[d] - 1) or split[d] & (split[d] - 1):
            raise ShapeError(
                f"{ctas[d]} blocks do not split dimension {d} into {split[d]}.",
                hint="both are powers of two, and the first a multiple of the second",
                got=lists,
            )
        dealt.count("block", d, split[d]).repeat("block", ctas[d] // split[d])
    return tuple(dealt.bases.get("block", ()))


def _new_blocked(f: Fields) -> TritonEncoding:
    order = _numbers(f, "order")
    sizes = [_numbers(f, name) for name in ("sizePerThread", "threadsPerWarp", "warpsPerCTA")]
    return BlockedEncoding(sizes[0], sizes[1], sizes[2], order, _blocks(f, len(order)))


def _new_nvidia_mma(f: Fields) -> TritonEncoding:
    warps = _numbers(f, "warpsPerCTA")
    version = _number(f, "versionMajor"), _number(f, "versionMinor", 0)
    return NvidiaMmaEncoding(version, warps, _numbers(f, "instrShape"), _blocks(f, len(warps)))


def _new_amd_mfma(f: Fields) -> TritonEncoding:
    warps = _numbers(f, "warpsPerCTA")
    if "version" not in f and "versionMajor" not in f:
        raise ShapeError("#ttg.amd_mfma needs version.", hint="1 is gfx908, 2 gfx90a, 3 gfx942, 4 gfx950")
    return AmdMfmaEncoding(
        _number(f, "version" if "version" in f else "versionMajor"),
        warps,
        _numbers(f, "instrShape"),
        _truth(f, "isTransposed"),
        _blocks(f, len(warps)),
        _numbers(f, "tilesPerWarp") if "tilesPerWarp" in f else (),
        _number(f, "elementBitWidth", 32),
    )


def _new_amd_wmma(f: Fields) -> TritonEncoding:
    if "ctaLayout" in f:
        inner = f["ctaLayout"]
        if not isinstance(inner, dict) or set(inner) - {"register", "warp"}:
            raise ShapeError(
                f"ctaLayout has register and warp, got {shown(inner)}.", hint="as in {warp = [[0, 1], [1, 0]]}"
            )
        warps, registers = _bases(inner, "warp"), _bases(inner, "register")
    elif "warpsPerCTA" in f:
        counts = _numbers(f, "warpsPerCTA")
        tiles = _numbers(f, "tilesPerWarp") if "tilesPerWarp" in f else (1,) * len(counts)
        dealt = Dealing(len(counts))
        for d in row_major(len(counts)):
            dealt.count("register", d, tiles[d]).count("warp", d, counts[d])
        warps, registers = tuple(dealt.bases.get("warp", ())), tuple(dealt.bases.get("register", ()))
    else:
        raise ShapeError("#ttg.amd_wmma needs ctaLayout.", hint="as in ctaLayout = {warp = [[0, 1], [1, 0]]}")
    told = next((len(basis) for basis in (*warps, *registers)), 2)
    rank = _number(f, "rank", told)
    shape = _numbers(f, "instrShape") if "instrShape" in f else (16, 16, 16)
    transposed = _truth(f, "isTranspose" if "isTranspose" in f else "isTransposed")
    return AmdWmmaEncoding(_number(f, "version"), transposed, warps, registers, _blocks(f, rank), shape, rank)


def _linear_maker(generic: bool) -> Callable[[Fields], TritonEncoding]:
    def make(f: Fields) -> TritonEncoding:
        found = [_bases(f, name) for name in ("register", "lane", "warp", "block")]
        rank = next((len(basis) for group in found for basis in group), 0)
        if not rank:
            raise ShapeError("#ttg.linear has no basis.", hint="as in register = [[0, 1]]")
        return LinearEncoding(found[0], found[1], found[2], found[3], rank, generic)

    return make


def _swizzled_maker(rotating: bool) -> Callable[[Fields], TritonEncoding]:
    def make(f: Fields) -> TritonEncoding:
        if _truth(f, "hasLeadingOffset"):
            raise NotExpressible(
                "hasLeadingOffset is of an older Triton, whose text lacks the width of an element.",
                hint="newer ones write #ttg.nvmma_shared<{swizzlingByteWidth = 128, ...}>",
            )
        order = _numbers(f, "order")
        vec, per_phase, max_phase = _number(f, "vec"), _number(f, "perPhase"), _number(f, "maxPhase")
        return SwizzledSharedEncoding(vec, per_phase, max_phase, order, _blocks(f, len(order)), rotating)

    return make


def _new_padded(f: Fields) -> TritonEncoding:
    pairs = f.get("intervals")
    if not isinstance(pairs, list | tuple) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        raise ShapeError("#ttg.padded_shared needs intervals.", hint="as in [32:+4] {...}", got=pairs)
    paddings = tuple([(int(interval), int(padding)) for interval, padding in pairs])
    if "order" in f or "shape" in f:
        if "offset" in f or "order" not in f or "shape" not in f:
            raise ShapeError("#ttg.padded_shared has either order and shape, or offset and block.", hint="not both")
        order, shape = _numbers(f, "order"), _numbers(f, "shape")
        plain = SwizzledSharedEncoding(1, 1, 1, order, _bases(f, "block"))
        found = plain.bases(plain.checked_shape(shape))
        offset, block, rank = tuple(found.get("offset", ())), tuple(found["block"]), len(order)
    else:
        offset, block = _bases(f, "offset"), _bases(f, "block")
        rank = next((len(basis) for basis in (*offset, *block)), 0)
        if not rank:
            raise ShapeError("#ttg.padded_shared has no basis.", hint="as in {order = [1, 0], shape = [64, 64]}")
    return PaddedSharedEncoding(paddings, offset, block, rank)


def _new_nvmma(f: Fields) -> TritonEncoding:
    cluster = _bases(f, "CGALayout")
    rank = _number(f, "rank") if "rank" in f else next((len(basis) for basis in cluster), 2)
    if "CTAsPerCGA" in f:
        rank = len(_numbers(f, "CTAsPerCGA"))
    numbers = _number(f, "swizzlingByteWidth"), _truth(f, "transposed"), _number(f, "elementBitWidth")
    if not 1 <= rank <= MOST_DIMENSIONS:
        raise ShapeError(f"#ttg.nvmma_shared has no rank {rank}.", hint="as in rank = 3")
    return NvmmaSharedEncoding(*numbers, _truth(f, "fp4Padded"), _blocks(f, rank), rank)


def _new_shared_linear(f: Fields) -> TritonEncoding:
    offset, block = _bases(f, "offset"), _bases(f, "block")
    rank = next((len(basis) for basis in (*offset, *block)), 0)
    if not rank:
        raise ShapeError("#ttg.shared_linear has no basis.", hint="as in offset = [[0, 1], [1, 0]]")
    return SharedLinearEncoding(offset, block, rank, _number(f, "alignment", 16))


def _new_partitioned(f: Fields) -> TritonEncoding:
    inner = _parent(f, "partitionLayout")
    if not isinstance(inner, MemoryEncoding) or inner.inputs != ("offset", "block"):
        raise ShapeError(f"#{inner.kind} is no encoding of shared memory.", hint="as in #ttg.swizzled_shared<{...}>")
    numbers = _number(f, "numPartitions"), _number(f, "numGroups"), _number(f, "partitionDim")
    return PartitionedSharedEncoding(*numbers, inner)


def _new_tensor_memory(f: Fields) -> TritonEncoding:
    if "unpacked" in f:
        raise NotExpressible(
            "unpacked is of an older Triton, whose text lacks the width of an element.",
            hint="colStride = 1 is packed, colStride = 32 / bits is not",
        )
    numbers = _number(f, "blockM"), _number(f, "blockN"), _number(f, "colStride", 1)
    return TensorMemoryEncoding(*numbers, _blocks(f, 2), _truth(f, "twoCTAs"), _truth(f, "fp4Padded"))


def _new_tensor_memory_scales(f: Fields) -> TritonEncoding:
    order = f.get("blockRepOrder", "mnThenK")
    if order not in ("mnThenK", "kThenMn"):
        raise ShapeError(f"there is no blockRepOrder {shown(order)}.", hint="mnThenK or kThenMn", got=order)
    return TensorMemoryScalesEncoding(_blocks(f, 2), order == "kThenMn")


_CLUSTER = ("CGALayout", "CTAsPerCGA", "CTASplitNum", "CTAOrder")
_SWIZZLED = Kind(("vec", "perPhase", "maxPhase", "order"), (*_CLUSTER, "hasLeadingOffset"), _swizzled_maker(False))

KINDS = {
    "ttg.blocked": Kind(("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order"), _CLUSTER, _new_blocked),
    "ttg.slice": Kind(("dim", "parent"), (), lambda f: SliceEncoding(_number(f, "dim"), _parent(f))),
    "ttg.dot_op": Kind(
        ("opIdx", "parent"),
        ("kWidth",),
        lambda f: DotOperandEncoding(_number(f, "opIdx"), _parent(f), _number(f, "kWidth", 0)),
    ),
    "ttg.nvidia_mma": Kind(("versionMajor", "warpsPerCTA", "instrShape"), ("versionMinor", *_CLUSTER), _new_nvidia_mma),
    "ttg.amd_mfma": Kind(
        ("warpsPerCTA", "instrShape", "isTransposed"),
        ("version", "versionMajor", "versionMinor", "tilesPerWarp", "elementBitWidth", *_CLUSTER),
        _new_amd_mfma,
    ),
    "ttg.amd_wmma": Kind(
        ("version",),
        ("ctaLayout", "isTranspose", "isTransposed", "instrShape", "rank", "warpsPerCTA", "tilesPerWarp", *_CLUSTER),
        _new_amd_wmma,
    ),
    "ttg.linear": Kind(("register", "lane", "warp", "block"), (), _linear_maker(False)),
    "ttg.generic_linear": Kind(("register", "lane", "warp", "block"), (), _linear_maker(True)),
    "ttg.swizzled_shared": _SWIZZLED,
    "ttg.shared": _SWIZZLED,
    "ttg.amd_rotating_shared": _SWIZZLED._replace(make=_swizzled_maker(True)),
    "ttg.padded_shared": Kind((), ("intervals", "order", "shape", "offset", "block"), _new_padded),
    "ttg.nvmma_shared": Kind(
        ("swizzlingByteWidth", "elementBitWidth"), ("transposed", "fp4Padded", "rank", *_CLUSTER), _new_nvmma
    ),
    "ttg.shared_linear": Kind(("offset",), ("block", "alignment"), _new_shared_linear),
    "ttg.partitioned_shared": Kind(
        ("numPartitions", "numGroups", "partitionDim", "partitionLayout"), (), _new_partitioned
    ),
    "ttng.tensor_memory_encoding": Kind(
        ("blockM", "blockN"), ("colStride", "twoCTAs", "fp4Padded", "unpacked", *_CLUSTER), _new_tensor_memory
    ),
    "ttng.tensor_memory_scales_encoding": Kind((), ("blockRepOrder", *_CLUSTER), _new_tensor_memory_scales),
}
"""Every encoding by its name in Triton's IR."""

_STEMS = [name.rpartition(".")[2] for name in KINDS]
