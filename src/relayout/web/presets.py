"""Views to begin with: what the fields of the page hold, by the name of the button that fills them in."""

from __future__ import annotations

PRESETS: dict[str, dict[str, str]] = {
    "CuTe tiled 8x8": {"a": "((4,2),(4,2)):((1,16),(4,32))", "view": "both"},
    "Qualcomm crouton": {"a": "htp:R4Crouton", "shape": "1,10,13,32", "rows": "1", "columns": "2"},
    "Swizzle 128B": {
        "a": "Sw<3,0,3> o 0 o (8,8):(8,1)",
        "b": "(8,8):(8,1)",
        "do": "beside",
        "color": "column",
        "view": "both",
        "width": "8",
    },
    "MMA atom": {
        "a": "((4,8),(2,2,2)):((32,1),(16,8,128))",
        "do": "threads",
        "tile": "16,16",
    },
    "AMD's MFMA": {"a": "v_mfma_f32_16x16x16_f16"},
    "Triton's MMA": {
        "a": "tensor<32x8xf32, #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 1], "
        "instrShape = [16, 8]}>>",
    },
    "Bank conflicts": {
        "a": "Sw<2,3,3> o 0 o (64,64):(64,1)",
        "b": "((16,2),8):((1,512),64)",
        "do": "banks",
        "dtype": "float16",
        "access": "ldmatrix.x4",
    },
    "Core AI interleave": {
        "a": "shape=[8, 6], strides=[24, 4] interleaveLayout=InterleaveLayout(dimension: 0, factor: 4)",
        "view": "both",
    },
    "GGUF's Q4_K": {"a": "ggml:Q4_K"},
    "NHWC or NCHW?": {"a": "torch:channels_last", "b": "torch:contiguous_format", "do": "compare", "shape": "1,3,4,4"},
    "oneDNN against TVM": {"a": "nChw8c", "b": "NCHW8c", "do": "compare", "shape": "1,20,3,3"},
    "Zipped divide": {"a": "(9,(4,8)):(59,(13,1))", "b": "<3:3, (2,4):(1,8)>", "do": "zipped_divide"},
    "Raked product": {"a": "(2,5):(5,1)", "b": "(3,4):(1,3)", "do": "raked_product"},
}
