"""The packers in Python that put codes into one byte which lie far apart in the tensor, and some beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from python_packers import Case, Pack, memory, signed, tensor
from recipe import Array
from stand_ins import load


def hqq(root: Path) -> list[Case]:
    """Slices of rows, the first in the highest bits; the layer flattens its groups to such a matrix."""
    packers = load(root / "hqq", "hqq.core.bitpack").BitPack

    def pack(bits: int, group: int = 0) -> Pack:
        one = getattr(packers, f"pack_{bits}bit_u8")
        return lambda c: memory(one(tensor(c, torch.uint8).reshape((-1, group) if group else c.shape)))

    def three(c: Array) -> bytes:
        return memory(packers.pack_3bit_32(tensor(c)))

    judge = "hqq e0b1d00, BitPack.pack_{}bit_u8"
    cases = [Case(f"hqq:w{b}", b, ((8, 5), (24, 40)), judge.format(b), pack(b)) for b in (1, 2, 4, 8)]
    # HQQ's own shape is that of groups; the bytes are those of the whole matrix.
    cases += [Case(f"hqq:w{b}", b, ((16, 96),), f"{judge.format(b)} of groups", pack(b, 32)) for b in (1, 2, 4)]
    word = "hqq e0b1d00, BitPack.pack_3bit_32"
    cases.append(Case("hqq:w3", 3, ((10, 3, 5), (10, 4, 24)), word, lambda c: three(c.reshape(-1, c.shape[2]))))
    return cases


def quanto(root: Path) -> list[Case]:
    """Rows that do not divide are padded with zeros."""
    packed = load(root / "optimum-quanto", "optimum.quanto.tensor.packed")

    def pack(bits: int) -> Pack:
        return lambda c: memory(packed.pack_weights(tensor(c, torch.uint8), bits))

    judge = "optimum-quanto e33f820, pack_weights"
    return [Case(f"quanto:w{b}", b, ((8, 5), (24, 40), (9, 4), (3, 8)), judge, pack(b)) for b in (2, 4)]


def bitnet(root: Path) -> list[Case]:
    """The checkpoints of transformers, and the weights of BitNet's own GPU kernel."""
    hf = load(root / "transformers-5.22", "transformers.integrations.bitnet", torch=torch, nn=torch.nn)
    gpu = load(root / "BitNet/gpu", "pack_weight")

    def checkpoint(c: Array) -> bytes:
        return memory(hf.pack_weights(tensor(c, torch.int8) - 1))

    def kernel(c: Array) -> bytes:
        return memory(gpu.convert_weight_int8_to_int2(tensor(c, torch.int8) - 2))

    judges = "transformers 5.22, integrations/bitnet.pack_weights", "BitNet 16da220, gpu/convert_weight_int8_to_int2"
    return [
        Case("bitnet:transformers", 2, ((8, 5), (24, 40), (10, 4)), judges[0], checkpoint, 3),
        Case("bitnet:gpu", 2, ((16, 64), (48, 96)), judges[1], kernel),
    ]


def torchao(root: Path) -> list[Case]:
    """Slices of the last dimension; wider codes are cut into shards of these widths, each packed so."""
    packers = load(root / "ao", "torchao.prototype.dtypes.uintx.bitpacking")

    def pack(width: int, shard: int) -> Pack:
        low = packers.shifts[width][shard]

        def made(c: Array) -> bytes:
            return memory(packers.pack(tensor(c.astype(np.int64) << low, torch.uint8), width)[shard])

        return made

    judge = "torchao 36027d82d, bitpacking.pack"
    shapes = ((5, 16), (3, 40))
    cases = [Case(f"torchao:uintx{b}", b, shapes, judge, pack(b, 0)) for b in (1, 2, 4)]
    for width, widths in {3: (2, 1), 5: (4, 1), 6: (4, 2), 7: (4, 2, 1)}.items():
        for shard, bits in enumerate(widths):
            named = f"{judge} of {width} bits, shard {shard}"
            cases.append(Case(f"torchao:uintx{bits}", bits, ((2, 24),), named, pack(width, shard)))
    return cases


def modelopt(root: Path) -> list[Case]:
    """Pairs of output features; codes are two's complement."""
    export = load(root / "Model-Optimizer", "modelopt.torch.export.quant_utils")

    def pack(c: Array) -> bytes:
        given = signed(c ^ 8, 4).to(torch.float32)
        return memory(export.pack_int4_in_uint8(given, torch.ones(len(c), 1)))

    return [Case("modelopt:w4", 4, ((8, 5), (24, 40)), "ModelOpt a2fbac7ba, pack_int4_in_uint8", pack)]


FAMILIES = (hqq, quanto, bitnet, torchao, modelopt)
