"""Every named format against numpy: a rearrangement or an index formula written from the vendor's own definition.

Results of the vendors' software and hardware are kept here as recorded: of cuBLASLt 13.1 and cuDNN 9.19 on an H200, of
the tensor copy engine of that GPU, and of CUTLASS 4.2's headers compiled with nvcc 13.0.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from clock import loops_of
from relayout import Format, Layout, catalog
from relayout.format import named_formats
from relayout.format.entries import read_table
from support import layouts

Array = np.ndarray[Any, Any]


def up(n: Any, multiple: int) -> Any:
    return -(-n // multiple) * multiple


# ---- rearrangements: "n (h y=8) c -> h n c y" pads h to a multiple of 8, splits it, and transposes -----------------

CROUTON = "n (h y=8) (w x=8) (c z=32) -> n h w c y x z"
PATTERNS = {
    "htp:R4Flat": "n h w c -> n h w c",
    "htp:R5Flat": "n d h w c -> n d h w c",
    "htp:R6Flat": "a b c d e f -> a b c d e f",
    "htp:R4NCHW": "n h w c -> n c w h",
    "htp:NCHW": "n h w c -> n c h w",
    "htp:R4Depth32": "n h (w x=4) (c z=32) -> n h c w x z",
    "htp:R4Crouton": CROUTON,
    "htp:R4WideCrouton": "n (h y=2) (w x=32) (c z=32) -> n h w c y x z",
    "htp:R4Crouton4x1": "n (h y=8) (w v=2 x=4) (c z=32) -> n h w c y v z x",
    "htp:R4Crouton2x2": "n (h u=4 y=2) (w v=4 x=2) (c z=32) -> n h w c u v z y x",
    "htp:R4WideCrouton2x2": "n (h y=2) (w v=16 x=2) (c z=32) -> n h w c v z y x",
    "htp:R4Crouton2": "n (h y=8) (w v=2 x=2) (c z=32) -> n h w c y v z x",
    "htp:R4Crouton4": "n (h y=8) (w x=2) (c z=32) -> n h w c y x z",
    "htp:R4WideCrouton4": "n (h y=2) (w x=8) (c z=32) -> n h w c y x z",
    "htp:R4Weights8x4": "(h y=8) (w x=4) (i u=16 v=2) (o z=32) -> h w o i y x u z v",
    "htp:R5Crouton": "n d (h y=8) (w x=8) (c z=32) -> n d h w c y x z",
    "htp:R4DeepAR4_16b": "n h (w v=2 x=2) (c z=32) -> n h w c v z x",
    "htp:R4DeepAR8_16b": "n h (w v=4 x=2) (c z=32) -> n h w c v z x",
    "htp:weights": "h w (i u=8 v=4) (o z=32) -> o i h w u z v",
    "tensorrt:kLINEAR": "n c h w -> n c h w",
    "tensorrt:kCHW2": "n (c v=2) h w -> n c h w v",
    "tensorrt:kCHW4": "n (c v=4) h w -> n c h w v",
    "tensorrt:kCHW16": "n (c v=16) h w -> n c h w v",
    "tensorrt:kCHW32": "n (c v=32) h w -> n c h w v",
    "tensorrt:kHWC": "n c h w -> n h w c",
    "tensorrt:kHWC8": "n (c v=8) h w -> n h w c v",
    "tensorrt:kHWC16": "n (c v=16) h w -> n h w c v",
    "tensorrt:kDHWC": "n c d h w -> n d h w c",
    "tensorrt:kDHWC8": "n (c v=8) d h w -> n d h w c v",
    "tensorrt:kCDHW32": "n (c v=32) d h w -> n c d h w v",
    "tensorrt:kDLA_LINEAR": "n c h (w x={}) -> n c h w x",
    "cudnn:NCHW": "n c h w -> n c h w",
    "cudnn:NHWC": "n c h w -> n h w c",
    "cudnn:NCDHW": "n c d h w -> n c d h w",
    "cudnn:NDHWC": "n c d h w -> n d h w c",
    "cudnn:NC/4HW4": "n (c v=4) h w -> n c h w v",
    "cudnn:NC/32HW32": "n (c v=32) h w -> n c h w v",
    "cudnn:REORDERING_INT8x32": "(k a=4 b=2) (c p=8 q=4) r s -> c r s k b p a q",
    "cudnn:REORDERING_F8_128x4": "(m a=4 b=32) (k c=4) -> m k b a c",
    "cublaslt:COL": "r c -> c r",
    "cublaslt:ROW": "r c -> r c",
    "cublaslt:COL32": "r (c x=32) -> c r x",
    "cublaslt:COL4_4R2_8C": "(r a=4 b=2) (c p=8 q=4) -> c r b p a q",
    "cublaslt:COL32_2R_4R4": "(r p=4 q=4 s=2) (c x=32) -> c r q p s x",
    "cublaslt:VEC32_UE8M0": "(m a=4 b=32) (k c=4) -> m k b a c",
    "cublaslt:VEC16_UE4M3": "(m a=4 b=32) (k c=4) -> m k b a c",
    "hipblaslt:COL": "r c -> c r",
    "hipblaslt:ROW": "r c -> r c",
    "onnxruntime:NCHWc8": "n (c b=8) h w -> n c h w b",
    "onnxruntime:NCHWc16": "n (c b=16) h w -> n c h w b",
    "onnxruntime:OIHWBiBo8": "(o y=8) (i x=8) h w -> o i h w x y",
    "onnxruntime:OIHWBiBo16": "(o y=16) (i x=16) h w -> o i h w x y",
    "onnxruntime:OIHWBo8": "(o y=8) i h w -> o i h w y",
    "onnxruntime:OIHWBo16": "(o y=16) i h w -> o i h w y",
    "openvino:bfyx": "b f y x -> b f y x",
    "openvino:byxf": "b f y x -> b y x f",
    "openvino:b_fs_yx_fsv4": "b (f v=4) y x -> b f y x v",
    "openvino:b_fs_yx_fsv16": "b (f v=16) y x -> b f y x v",
    "openvino:b_fs_yx_fsv32": "b (f v=32) y x -> b f y x v",
    "openvino:fs_b_yx_fsv32": "b (f v=32) y x -> f b y x v",
    "openvino:bs_fs_yx_bsv16_fsv16": "(b u=16) (f v=16) y x -> b f y x u v",
    "openvino:bs_fs_yx_bsv16_fsv32": "(b u=16) (f v=32) y x -> b f y x u v",
    "ascend:NC1HWC0": "n (c v={}) h w -> n c h w v",
    "ascend:NC1HWC0_C04": "n (c v=4) h w -> n c h w v",
    "ascend:NDC1HWC0": "n (c v={}) d h w -> n d c h w v",
    "ascend:FRACTAL_Z": "(n a=16) (c v={}) h w -> c h w n a v",
    "ascend:FRACTAL_Z_3D": "(n a=16) (c v={}) d h w -> d c h w n a v",
    "ascend:FRACTAL_NZ": "(m a=16) (n b={}) -> n m a b",
    "vllm:LBHNC": "l b h n c -> l b h n c",
    "vllm:LBNHC": "l b h n c -> l b n h c",
    "vllm:LHBNC": "l b h n c -> l h b n c",
    "vllm:BLHNC": "l b h n c -> b l h n c",
    "vllm:BLNHC": "l b h n c -> b l n h c",
    "vllm:BHLNC": "l b h n c -> b h l n c",
    "vllm:key_cache": "b h n (d x={}) -> b h d n x",
    "vllm:value_cache": "b h n d -> b h d n",
    "tenstorrent:ROW_MAJOR": "h w -> h w",
    "bnns:ImageCHW": "c h w -> c h w",
    "bnns:ConvolutionWeightsOIHW": "o i h w -> o i h w",
    "bnns:2DFirstMajor": "i j -> i j",
    "bnns:2DLastMajor": "i j -> j i",
    "bnns:3DFirstMajor": "i j k -> i j k",
    "bnns:3DLastMajor": "i j k -> k j i",
    "bnns:4DFirstMajor": "i j k l -> i j k l",
    "bnns:4DLastMajor": "i j k l -> l k j i",
}
C0 = {4: 64, 8: 32, 16: 16}
SIZES = {"tensorrt:kDLA_LINEAR": {8: 64, 16: 32}, "vllm:key_cache": {8: 16, 16: 8, 32: 4}} | {
    f"ascend:{name}": C0 for name in ("NC1HWC0", "NDC1HWC0", "FRACTAL_Z", "FRACTAL_Z_3D", "FRACTAL_NZ")
}


def groups(pattern: str) -> list[list[tuple[str, int]]]:
    """The digits of every dimension, slowest first; the first has size 0: all the rest."""
    found = re.findall(r"\(([^)]*)\)|(\w+)", pattern.partition("->")[0])
    return [
        [(d.partition("=")[0], int(d.partition("=")[2] or 0)) for d in (many or one).split()] for many, one in found
    ]


def blocks(pattern: str) -> list[int]:
    return [int(np.prod([size for _, size in group[1:]], dtype=int)) for group in groups(pattern)]


def rearranged(data: Array, pattern: str, left: Any) -> Array:
    """The flat buffer with -1 in every place of padding."""
    pads = [(a, up(a + n, b) - a - n) for n, a, b in zip(data.shape, left, blocks(pattern), strict=True)]
    data = np.pad(data, pads, constant_values=-1)
    split: list[int] = []
    place: list[str] = []
    for n, block, group in zip(data.shape, blocks(pattern), groups(pattern), strict=True):
        split += [n // block, *[size for _, size in group[1:]]]
        place += [name for name, _ in group]
    return data.reshape(split).transpose([place.index(name) for name in pattern.partition("->")[2].split()]).reshape(-1)


# ---- index formulas: of the coordinates and the shape, as the vendor publishes them ---------------------------------


def image_rows(bits: int) -> Any:
    """TensorRT's kDLA_HWC4 for 3 or 4 channels: [N][H][roundUp(W, 64/4/elementSize)][4]."""
    width = 64 // 4 // (bits // 8)
    return lambda n, c, h, w, N, C, H, W: ((n * H + h) * up(W, width) + w) * 4 + c


def metal_tensor(bits: int) -> Any:
    """strides[0] = 1, strides[1] a multiple of 64 bytes, strides[i] = strides[i-1] * dimensions[i-1]."""
    return lambda a, b, c, d, A, B, C, D: a + up(A, 512 // bits) * (b + B * (c + C * d))


def arm_weights(o_block: int, i_block: int) -> Any:
    """The access function of OHWIo{interleave_by}i{block_by}, x5 to x0."""

    def value(o: Any, h: Any, w: Any, i: Any, OUT: int, H: int, W: int, IN: int) -> Any:
        inner = up(IN, i_block)
        outside = o // o_block * H * W * inner * o_block + h * W * inner * o_block + w * inner * o_block
        return outside + i // i_block * o_block * i_block + o % o_block * i_block + i % i_block

    return value


def swizzled(row_bytes: int, rows_first: bool, pieces: int, base: int = 16, shift: int = 8) -> Any:
    """Shared memory in bytes: pieces of 16 (or 32) bytes are exchanged by XOR with the number of the 128-byte row."""

    def at_width(bits: int) -> Any:
        def offset(i: Any, j: Any, *_: int) -> Any:
            row, column = (i, j) if rows_first else (j, i)
            byte = row * row_bytes + column * bits // 8
            half = column * bits % 8
            byte ^= byte // (base * shift) % pieces * base
            return (byte * 8 + half) // bits

        return offset

    return at_width


FORMULAS: dict[str, Any] = {
    "htp:R4Singular": lambda n, h, w, c, *_: n * 0,
    "hmx:fp16": lambda i, j, *_: (i & ~1) * 32 + j * 2 + (i & 1),
    "hmx:int8_weights": lambda i, j, *_: (i & ~3) * 32 + j * 4 + (i & 3),
    "cublaslt:COL32": lambda r, c, R, C: c // 32 * 32 * R + r * 32 + c % 32,
    "cublaslt:COL32_2R_4R4": lambda row, col, R, C: (
        (col // 32 * up(R, 32) // 32 + row // 32) * 1024
        + (((row % 8) // 2 * 4 + row % 32 // 8) * 2 + row % 2) * 32
        + col % 32
    ),
    "cublaslt:VEC32_UE8M0": lambda outer, inner, M, K: (
        (outer // 128 * up(K, 4) // 4 + inner // 4) * 512 + outer % 32 * 16 + outer % 128 // 32 * 4 + inner % 4
    ),
    "hipblaslt:COL16_4R16": lambda row, col, R, C: (
        (col // 16 * up(R, 64) // 64 + row // 64) * 1024 + row % 16 + 16 * (col % 16) + row % 64 // 16 * 16 * 16
    ),
    "hipblaslt:COL16_4R8": lambda row, col, R, C: (
        (col // 16 * up(R, 32) // 32 + row // 32) * 512 + row % 8 + 8 * (col % 16) + row % 32 // 8 * 16 * 8
    ),
    "tensorrt:kDLA_HWC4": image_rows,
    "torch:contiguous_format": lambda n, c, h, w, N, C, H, W: n * C * H * W + c * H * W + h * W + w,
    "torch:channels_last": lambda n, c, h, w, N, C, H, W: n * H * W * C + c + h * W * C + w * C,
    "torch:channels_last_3d": lambda n, c, d, h, w, N, C, D, H, W: (((n * D + d) * H + h) * W + w) * C + c,
    "ethosu:NHWC": lambda n, h, w, c, N, H, W, C: ((n * H + h) * W + w) * C + c,
    "ethosu:NHCWB16": lambda n, h, w, c, N, H, W, C: (n * H + h) * W * up(C, 16) + c // 16 * 16 * W + w * 16 + c % 16,
    "amx:TDPBF16PS_tsrc2": lambda k, n, *_: k // 2 * 32 + 2 * n + k % 2,
    "amx:TDPBSSD_tsrc2": lambda k, n, *_: k // 4 * 64 + 4 * n + k % 4,
    "tenstorrent:TILE": lambda r, c, R, C: (
        (r // 32 * up(C, 32) // 32 + c // 32) * 1024 + (r % 32 // 16 * 2 + c % 32 // 16) * 256 + r % 16 * 16 + c % 16
    ),
    "bnns:ConvolutionWeightsOIHW_Pack32": lambda o, i, ky, kx, OUT, IN, H, W: (
        o % 32 + kx * 32 + ky * W * 32 + i * H * W * 32 + o // 32 * IN * H * W * 32
    ),
    "metal:MTLTensor": metal_tensor,
    "smem:K_INTER": swizzled(16, True, 1),
    "smem:K_SW32": swizzled(32, True, 2),
    "smem:K_SW64": swizzled(64, True, 4),
    "smem:K_SW128": swizzled(128, True, 8),
    "smem:MN_INTER": swizzled(16, False, 1),
    "smem:MN_SW32": swizzled(32, False, 2),
    "smem:MN_SW64": swizzled(64, False, 4),
    "smem:MN_SW128": swizzled(128, False, 8),
    "smem:MN_SW128_32B": swizzled(128, False, 4, base=32, shift=4),
}
# What these round up to, where no rearrangement says it.
WHOLE: dict[str, Any] = {
    "tensorrt:kDLA_HWC4": lambda bits: (1, 4, 1, 128 // bits),
    "metal:MTLTensor": lambda bits: (512 // bits, 1, 1, 1),
    "hipblaslt:COL16_4R16": (64, 16),
    "hipblaslt:COL16_4R8": (32, 16),
    "torch:contiguous_format": (1, 1, 1, 1),
    "torch:channels_last": (1, 1, 1, 1),
    "torch:channels_last_3d": (1, 1, 1, 1, 1),
    "ethosu:NHWC": (1, 1, 1, 1),
    "ethosu:NHCWB16": (1, 1, 1, 16),
    "tenstorrent:TILE": (32, 32),
    "bnns:ConvolutionWeightsOIHW_Pack32": (32, 1, 1, 1),
}
for name in catalog.names("acl:*"):
    by = re.fullmatch(r"acl:OHWI(?:o(\d+))?(?:i(\d+))?", name)
    if by is not None:
        o, i = int(by[1] or 1), int(by[2] or 1)
        FORMULAS[name], WHOLE[name] = arm_weights(o, i), (o, 1, 1, i)

NAMED = read_table(named_formats.TABLE)[0]
"""The table of this file's formats; packed weights have their own judges, in test_packed_weights."""


def is_plain(form: Format) -> bool:
    """Whether two by two blocks of it lie in row-major or column-major order."""
    offsets = form.layout([2 * n for n in form.block_shape]).offsets()
    return any(np.array_equal(offsets.transpose(order).reshape(-1), range(offsets.size)) for order in ((0, 1), (1, 0)))


PLAIN_CODES = {
    name
    for name, entry in catalog.ENTRIES.items()
    if isinstance(form := entry.forms.get(None), Format)
    and form.rank == 2
    and form.element_bits in range(1, 9)
    and is_plain(form)
}
"""Packed weights in a plain order, which every array has: they are named only where the width is said."""
BY_WIDTH = {"tensorrt:kDLA_HWC4", "metal:MTLTensor", *catalog.names("smem:*")}
FORMS = [(name, bits) for name, entry in catalog.ENTRIES.items() for bits in entry.forms]


def pattern_of(name: str, bits: int | None) -> str:
    return PATTERNS[name].format(SIZES[name][bits]) if bits else PATTERNS[name]


def drawn(rng: np.random.Generator, block: list[int], most: int) -> tuple[list[int], list[int]]:
    """A shape of one or two blocks along every dimension, and some padding in front, of at most ``most`` elements."""
    while True:
        shape = [int(rng.integers(1, b + 1) if rng.random() < 0.5 else rng.integers(b + 1, 2 * b + 3)) for b in block]
        left = [int(rng.integers(0, b + 2)) if rng.random() < 0.3 else 0 for b in block]
        if np.prod([up(n + a, b) for n, a, b in zip(shape, left, block, strict=True)]) <= most:
            return shape, left


def check_pattern(what: Format, pattern: str, shape: list[int], left: list[int]) -> Layout:
    data = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    layout = what.layout(shape, left_pad=left)
    buffer = np.full(layout.storage_size, -1, np.int32)
    buffer[layout.offsets()] = data
    assert np.array_equal(buffer, rearranged(data, pattern, left)), (shape, left)
    return layout


# ---- every entry ----------------------------------------------------------------------------------------------------


def test_every_entry_has_test_data_and_a_source() -> None:
    assert set(PATTERNS) | set(FORMULAS) == set(NAMED)
    for name, entry in catalog.ENTRIES.items():
        assert entry.name == name
        assert len(entry.provenance) > 20
        assert entry.note == "" or entry.note.endswith(".")
        for bits, what in entry.forms.items():
            if isinstance(what, Format):
                assert what.axes == entry.axes
                assert what.align is None
                assert bits is None or what.element_bits == bits
            else:
                assert len(entry.axes) == what.rank


@pytest.mark.parametrize("name", [name for name in PATTERNS if name.startswith("htp:")])
def test_htp_names_agree_with_numpy_on_500_shapes(name: str) -> None:
    rng = np.random.default_rng(sum(name.encode()))
    pattern = PATTERNS[name]
    spellings = [name, f"{name}Layout", f"{name}MemoryLayout"]
    most = max(1 << 16, 4 * int(np.prod(blocks(pattern))))
    padded = 0
    seen = set()
    while len(seen) < 500:
        shape, left = drawn(rng, blocks(pattern), most)
        if (*shape, *left) in seen:
            continue
        layout = check_pattern(catalog.get(spellings[len(seen) % 3]), pattern, shape, left)
        if len(seen) % 20 == 0:
            assert name in catalog.find(layout)
        padded += any(left)
        seen.add((*shape, *left))
    assert padded > 200


@pytest.mark.parametrize(("name", "bits"), [form for form in FORMS if form[0] in PATTERNS and "htp:" not in form[0]])
def test_names_agree_with_a_rearrangement(name: str, bits: int | None) -> None:
    rng = np.random.default_rng(sum(name.encode()))
    pattern = pattern_of(name, bits)
    for _ in range(40):
        shape, left = drawn(rng, blocks(pattern), 1 << 17)
        layout = check_pattern(catalog.get(name, bits), pattern, shape, left)
    assert name in catalog.find(layout)


@pytest.mark.parametrize(("name", "bits"), [form for form in FORMS if form[0] in FORMULAS])
def test_names_agree_with_the_published_formula(name: str, bits: int | None) -> None:
    rng = np.random.default_rng(sum(name.encode()))
    formula: Callable[..., Any] = FORMULAS[name](bits) if name in BY_WIDTH else FORMULAS[name]
    what = catalog.get(name, bits)
    if isinstance(what, Layout):
        assert np.array_equal(what.offsets(), formula(*np.indices(what.extents), *what.extents))
        return
    whole = WHOLE.get(name) or blocks(PATTERNS[name])
    whole = whole(bits) if callable(whole) else whole
    for _ in range(40):
        shape, _ = drawn(rng, list(whole), 1 << 17)
        if name == "tensorrt:kDLA_HWC4":
            shape[1] = int(rng.choice([3, 4]))
        layout = what.layout(shape)
        assert np.array_equal(layout.offsets(), formula(*np.indices(shape), *shape)), shape
        assert layout.storage_size == 1 + formula(*[up(n, b) - 1 for n, b in zip(shape, whole, strict=True)], *shape)
    assert name in catalog.find(layout)


# ---- what vendors' software and hardware did ------------------------------------------------------------------------

# sha256 of the destination as little-endian int32: the source position of every element, 0 where padded.
MEASURED = {
    "cublaslt:COL": {(33, 40): "5015881d406ccba4", (64, 96): "30be01b689a36f13", (7, 5): "bde6de8762c0ddb8"},
    "cublaslt:ROW": {(33, 40): "63fb40c59b3a3da3", (64, 96): "93710cce11c994b6", (7, 5): "22ee8f5c534e45dc"},
    "cublaslt:COL32": {
        (33, 40): "3e3ba151fc6c8e6d",
        (64, 96): "5140d1822626c5b0",
        (7, 5): "a8334bee151680ea",
        (40, 64): "76af67aa1cce43b7",
    },
    "cublaslt:COL4_4R2_8C": {
        (32, 32): "75495c760a1c580d",
        (33, 40): "e708431691b43581",
        (64, 96): "041b91fa0dc4ea0a",
        (7, 5): "f123edb62a668206",
        (8, 64): "ba1dd79f4966e158",
    },
    "cublaslt:COL32_2R_4R4": {
        (32, 32): "5d23bf3a8df0ff36",
        (33, 40): "64cf04c9a76597ca",
        (64, 96): "d4bc3c8a2879dd93",
        (7, 5): "fa26b913c76198c9",
        (8, 64): "bb7dcb5aa0f1ed2c",
    },
    "cudnn:NC/4HW4": {(2, 32, 3, 5): "581bcf9e5b7b2c9e", (1, 64, 2, 3): "fb7d59876255fcbf"},
    "cudnn:NHWC": {(2, 32, 3, 5): "da427479e4df5598", (1, 64, 2, 3): "817ff5d651eeae82"},
}
# The same of filters that are CUDNN_TENSOR_NCHW_VECT_C of INT8x32 before.
REORDERED = {
    (8, 32, 1, 1): "5b11aabb74b16544",
    (32, 64, 3, 3): "f5ac8d3d0af2f257",
    (16, 64, 2, 1): "4a24ab5ab7da1033",
    (64, 96, 1, 2): "c91d7f5fa07ded5b",
    (24, 32, 2, 2): "c0310faeeb1b0666",
}


def digest(layout: Layout, positions: Array) -> str:
    buffer = np.zeros(layout.storage_size, "<i4")
    buffer[layout.offsets()] = positions
    return hashlib.sha256(buffer.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name, known in MEASURED.items() for shape in known])
def test_cublaslt_and_cudnn_transform_into_these_orders(name: str, shape: tuple[int, ...]) -> None:
    positions = np.arange(np.prod(shape)).reshape(shape)
    assert digest(catalog.get(name).layout(shape), positions) == MEASURED[name][shape]


@pytest.mark.parametrize("shape", REORDERED)
def test_cudnn_reorders_filters_so(shape: tuple[int, ...]) -> None:
    before = catalog.get("cudnn:NC/32HW32").layout(shape).offsets()
    assert digest(catalog.get("cudnn:REORDERING_INT8x32").layout(shape), before) == REORDERED[shape]


# Eight rows copied into shared memory with the swizzle of that width: the source byte of every 16 bytes in turn.
COPIED = {
    "K_INTER": "0 16 32 48 64 80 96 112",
    "K_SW32": "0 16 32 48 64 80 96 112 144 128 176 160 208 192 240 224",
    "K_SW64": """0 16 32 48 64 80 96 112 144 128 176 160 208 192 240 224 288 304 256 272 352 368 320 336 432 416 400 384
        496 480 464 448""",
    "K_SW128": """0 16 32 48 64 80 96 112 144 128 176 160 208 192 240 224 288 304 256 272 352 368 320 336 432 416 400
        384 496 480 464 448 576 592 608 624 512 528 544 560 720 704 752 736 656 640 688 672 864 880 832 848 800 816 768
        784 1008 992 976 960 944 928 912 896""",
}


@pytest.mark.parametrize("name", COPIED)
def test_the_copy_engine_writes_these_tiles(name: str) -> None:
    tile = catalog.get(f"smem:{name}", 8)
    memory = np.empty(tile.size, int)
    memory[tile.offsets()] = np.arange(tile.size).reshape(tile.extents)
    expected = np.array([int(start) for start in COPIED[name].split()])
    assert np.array_equal(memory, (expected[:, None] + np.arange(16)).reshape(-1))


# as_position_independent_swizzle_layout(Layout_..._Atom<T>), printed by CuTe: columns are 4, 8, 16, 32 and 64 bits.
PRINTED = """
MN_INTER (32,8):(1,32) | (16,8):(1,16) | (8,8):(1,8) | (4,8):(1,4) | (2,8):(1,2)
MN_SW32 Sw<1,5,3> o 0 o (64,8):(1,64) | Sw<1,4,3> o 0 o (32,8):(1,32) | Sw<1,3,3> o 0 o (16,8):(1,16) \
| Sw<1,2,3> o 0 o (8,8):(1,8) | Sw<1,1,3> o 0 o (4,8):(1,4)
MN_SW64 Sw<2,5,3> o 0 o (128,8):(1,128) | Sw<2,4,3> o 0 o (64,8):(1,64) | Sw<2,3,3> o 0 o (32,8):(1,32) \
| Sw<2,2,3> o 0 o (16,8):(1,16) | Sw<2,1,3> o 0 o (8,8):(1,8)
MN_SW128 Sw<3,5,3> o 0 o (256,8):(1,256) | Sw<3,4,3> o 0 o (128,8):(1,128) | Sw<3,3,3> o 0 o (64,8):(1,64) \
| Sw<3,2,3> o 0 o (32,8):(1,32) | Sw<3,1,3> o 0 o (16,8):(1,16)
MN_SW128_32B Sw<2,6,2> o 0 o (256,4):(1,256) | Sw<2,5,2> o 0 o (128,4):(1,128) | Sw<2,4,2> o 0 o (64,4):(1,64) \
| Sw<2,3,2> o 0 o (32,4):(1,32) | Sw<2,2,2> o 0 o (16,4):(1,16)
K_INTER (8,32):(32,1) | (8,16):(16,1) | (8,8):(8,1) | (8,4):(4,1) | (8,2):(2,1)
K_SW32 Sw<1,5,3> o 0 o (8,64):(64,1) | Sw<1,4,3> o 0 o (8,32):(32,1) | Sw<1,3,3> o 0 o (8,16):(16,1) \
| Sw<1,2,3> o 0 o (8,8):(8,1) | Sw<1,1,3> o 0 o (8,4):(4,1)
K_SW64 Sw<2,5,3> o 0 o (8,128):(128,1) | Sw<2,4,3> o 0 o (8,64):(64,1) | Sw<2,3,3> o 0 o (8,32):(32,1) \
| Sw<2,2,3> o 0 o (8,16):(16,1) | Sw<2,1,3> o 0 o (8,8):(8,1)
K_SW128 Sw<3,5,3> o 0 o (8,256):(256,1) | Sw<3,4,3> o 0 o (8,128):(128,1) | Sw<3,3,3> o 0 o (8,64):(64,1) \
| Sw<3,2,3> o 0 o (8,32):(32,1) | Sw<3,1,3> o 0 o (8,16):(16,1)
"""


def test_cute_prints_these_tiles() -> None:
    lines = PRINTED.strip().splitlines()
    assert {f"smem:{line.split()[0]}" for line in lines} == set(catalog.names("smem:*"))
    for line in lines:
        name, _, texts = line.partition(" ")
        for bits, text in zip((4, 8, 16, 32, 64), texts.split("|"), strict=True):
            assert catalog.get(f"smem:{name}", bits).to("cute") == text.strip()
            assert catalog.get(f"smem:Layout_{name}_Atom", bits) == catalog.get(f"smem:{name}", bits)


@pytest.mark.parametrize(
    ("shape", "vector", "text"),
    [
        ((256, 192), 16, "((((32,4),2)),(((16,4),3))):((((16,4),1536)),(((0,1),512)))"),
        ((384, 512), 32, "((((32,4),3)),(((32,4),4))):((((16,4),2048)),(((0,1),512)))"),
        ((130, 80), 16, "((((32,4),2)),(((16,4),2))):((((16,4),1024)),(((0,1),512)))"),
    ],
)
def test_cutlass_prints_this_layout_of_scale_factors(shape: tuple[int, int], vector: int, text: str) -> None:
    """``tile_atom_to_shape_SFA`` and ``SFB`` for one batch, over elements: ``vector`` of them share a scale factor."""
    printed = Layout.parse(text, "cute")
    scales = catalog.get("nvfp4:scales" if vector == 16 else "mxfp8:scales")
    rows, columns = shape
    layout = scales.layout((rows, -(-columns // vector)))
    expected = printed.offsets()[:rows, :columns:vector]
    assert np.array_equal(layout.offsets(), expected)
    assert layout.storage_size == printed.cosize


# ---- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("htp:ChannelMajorCrouton", "htp:R4Crouton"),
        ("htp:SpatialXYMajor", "htp:R4Crouton2x2"),
        ("htp:SpatialXMajor", "htp:R4Crouton4x1"),
        ("htp:R4SingularMemoryLayout", "htp:R4Singular"),
        ("tensorrt:TensorFormat::kHWC8", "tensorrt:kHWC8"),
        ("cudnn:CUDNN_TENSOR_NHWC", "cudnn:NHWC"),
        ("cudnn:CUDNN_TENSOR_REORDERING_F8_128x4", "cudnn:REORDERING_F8_128x4"),
        ("cudnn:NCHW_VECT_C_INT8x4", "cudnn:NC/4HW4"),
        ("cudnn:NCHW_VECT_C_INT8x32", "cudnn:NC/32HW32"),
        ("cublaslt:CUBLASLT_ORDER_COL32", "cublaslt:COL32"),
        ("cublaslt:CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0", "cublaslt:VEC32_UE8M0"),
        ("mxfp8:scales", "cublaslt:VEC32_UE8M0"),
        ("nvfp4:scales", "cublaslt:VEC16_UE4M3"),
        ("hipblaslt:HIPBLASLT_ORDER_COL16_4R8", "hipblaslt:COL16_4R8"),
        ("ascend:ACL_FORMAT_NC1HWC0_C04", "ascend:NC1HWC0_C04"),
        ("vllm:HND", "vllm:LBHNC"),
        ("vllm:NHD", "vllm:LBNHC"),
        ("tenstorrent:TILE_LAYOUT", "tenstorrent:TILE"),
        ("bnns:BNNSDataLayoutImageCHW", "bnns:ImageCHW"),
    ],
)
def test_other_spellings(spelling: str, name: str) -> None:
    assert catalog.get(spelling) == catalog.get(name)
    assert catalog.entry(spelling).provenance == catalog.entry(name).provenance


def test_the_width_chooses_the_crouton() -> None:
    for bits, name in ((8, "R4Crouton"), (16, "R4Crouton2"), (32, "R4Crouton4")):
        assert catalog.get("htp:Crouton", element_bits=bits) == catalog.get(f"htp:{name}")
        assert catalog.get("htp:CroutonLayout", bits) == catalog.get(f"htp:{name}")


@pytest.mark.parametrize(
    ("name", "bits", "words"),
    [
        ("htp:Crouton", None, "width of the elements, got no bits.*8, 16, 32"),
        ("htp:Crouton", 64, "width of the elements, got 64 bits"),
        ("ascend:NC1HWC0", 32, "width.*4, 8, 16"),
        ("smem:K_SW128", None, "width.*4, 8, 16, 32, 64"),
        ("htp:R4Croutn", None, r"no format.*did you mean htp:R4Crouton\b"),
        ("HTP:r4crouton", None, r"no format.*did you mean htp:R4Crouton\b"),
        ("NHCWB16", None, r"no format.*did you mean ethosu:NHCWB16\b"),
        ("cublas:COL32_2R_4R4", None, r"no format.*cublaslt:COL32_2R_4R4\b"),
        ("tensorrt:CHW16", None, r"no format.*tensorrt:kCHW16\b"),
        ("", None, "no format.*names"),
        ("xyzzy:quux", None, "no format.*names"),
        (3, None, "a name is a text"),
        ("htp:Crouton", "wide", "element_bits"),
    ],
)
def test_refused_names(name: Any, bits: Any, words: str) -> None:
    with pytest.raises(rl.ShapeError, match=words) as caught:
        catalog.get(name, bits)
    assert caught.value.hint
    assert len(str(caught.value)) < 300


def test_names_are_listed() -> None:
    assert catalog.names("htp:R5*") == ["htp:R5Flat", "htp:R5Crouton"]
    assert set(catalog.ENTRIES) < set(catalog.names())
    assert {"htp:Crouton", "htp:SpatialXMajor", "nvfp4:scales"} <= set(catalog.names()) - set(catalog.ENTRIES)
    for name in catalog.names():
        entry = catalog.entry(name)
        assert entry.name == name
        for bits in entry.forms:
            assert catalog.get(name, bits) is entry.forms[bits]
    with pytest.raises(rl.ShapeError, match="width"):
        _ = catalog.entry("htp:Crouton").format


# ---- finding --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "bits"), FORMS)
def test_every_form_is_found_by_itself(name: str, bits: int | None) -> None:
    what = catalog.get(name, bits)
    assert name in catalog.find(what)
    if isinstance(what, Format):
        assert name in catalog.find(Format(what.rank, what.pairs), what.element_bits if name in PLAIN_CODES else None)


@given(st.data())
def test_found_names_give_the_layout(data: Any) -> None:
    """Found are exactly the forms whose table of offsets is the same and whose storage is as large."""
    forms = [(name, bits) for name, bits in FORMS if isinstance(catalog.get(name, bits), Format)]
    made = catalog.get(*data.draw(st.sampled_from(forms)))
    block = made.block_shape
    shape = [data.draw(st.sampled_from([1, 2, 3, b, b + 1])) for b in block]
    left = [data.draw(st.sampled_from([0, 0, 0, 1])) for _ in block]
    layout = made.layout(shape, left_pad=left)
    found = set(catalog.find(layout))
    expected = set()
    for name, bits in FORMS:
        what = catalog.get(name, bits)
        if isinstance(what, Layout):
            if what.extents == layout.extents and np.array_equal(what.offsets(), layout.offsets()):
                expected.add(name)
        elif what.rank == layout.rank:
            other = what.layout(shape, left_pad=left)
            if other.storage_size == layout.storage_size and np.array_equal(other.offsets(), layout.offsets()):
                expected.add(name)
    assert found == expected - PLAIN_CODES


@given(layouts())
def test_odd_layouts_have_names_or_none(layout: Layout) -> None:
    for name in catalog.find(layout):
        assert any(
            rl.compare(
                what if isinstance(what, Layout) else what.layout(layout.extents, left_pad=layout.origin), layout
            )
            for what in catalog.entry(name).forms.values()
            if isinstance(what, Layout) or what.rank == layout.rank
        )


@pytest.mark.parametrize(
    "layout",
    [
        Layout((), ()),
        Layout(1, 0),
        Layout(8, -1, offset=7),
        Layout((8, 8), (8, 1), offset=3),
        Layout((8, 8), (8, 1), swizzle=(1, 0, 3)),
        Layout((7, 9), (9, 1), swizzle=(2, 0, 3)),
        Layout((7, 9), (9, 1), swizzle=(3, 0, 60)),
        Layout((4, 4), (0, 0)),
        Layout((1 << 40, 1 << 40), (1 << 41, 1)),
        Layout(((4, 4), 8), ((1, 32), 4), extents=(5, 3), origin=(3, 2)),
        rl.make_identity_layout((4, 4)),
        rl.make_identity_layout((2, 3, 4, 5)),
    ],
)
def test_layouts_without_a_name(layout: Layout) -> None:
    names = catalog.find(layout)
    assert not any(name.startswith(("htp:", "smem:", "tensorrt:")) for name in names)


def test_an_undecided_name_is_not_given() -> None:
    """The first difference to a column-major matrix is at element 4194304, too far to look."""
    layout = Layout((3 << 21, 4), (1, 3 << 21), swizzle=(1, 0, 22))
    assert layout((1 << 22) - 1, 0) == (1 << 22) - 1
    assert layout(1 << 22, 0) == (1 << 22) + 1
    assert catalog.find(layout) == []


def test_empty_layouts_have_every_name_of_their_rank() -> None:
    found = catalog.find(Layout((0, 3)))
    assert "cublaslt:COL32" in found
    assert "htp:R4Flat" not in found


def test_a_layout_of_another_storage_has_another_name() -> None:
    crouton = catalog.get("htp:R4Crouton")
    assert catalog.find(crouton.layout((1, 9, 9, 64))) == ["htp:R4Crouton"]
    assert catalog.find(crouton.layout((1, 9, 9, 64), right_pad=(0, 0, 0, 1))) == []
    assert "torch:channels_last" in catalog.find(Layout((2, 3, 4, 5), (60, 1, 15, 3)))
    assert {"torch:channels_last", "torch:contiguous_format"} <= set(catalog.find(Layout((2, 1, 4, 5), (20, 20, 5, 1))))
    with pytest.raises(rl.ShapeError, match="takes a layout"):
        catalog.find("htp:R4Crouton")  # type: ignore[arg-type]


def test_finding_is_fast() -> None:
    for layout in (
        Layout.row_major(1, 64, 64, 64),
        catalog.get("htp:R4Crouton").layout((1, 9, 20, 50), left_pad=(0, 1, 3, 0)),
        catalog.get("smem:K_SW128", 16),
        catalog.get("tensorrt:kCHW32"),
    ):
        catalog.find(layout)
        assert loops_of(partial(catalog.find, layout), runs=20) < 0.2


def test_the_page_lists_every_name() -> None:
    spec = importlib.util.spec_from_file_location(
        "make_catalog", Path(__file__).parent.parent / "docs" / "make_catalog.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.PAGE.read_text()
    assert module.page(text) == text
    for name in catalog.names():
        assert f"`{name.partition(':')[2]}`" in text


def test_a_record_is_told_from_a_format_and_a_misspelt_system_from_a_layout() -> None:
    with pytest.raises(rl.ShapeError, match="'gptq:w3' is a record, and no format"):
        rl.catalog.get("gptq:w3")
    for misspelt, meant in (("aitr:16x16", "aiter:16x16"), ("GPTQ:W4", "gptq:w4"), ("gglm:Q4_0", "ggml:Q4_0")):
        with pytest.raises(rl.ParseError, match=f"did you mean .*{meant}"):
            rl.parse(misspelt)
