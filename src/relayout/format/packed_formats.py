"""The table of packed weights: how quantised weights, their scales and their zeros lie in memory, by kernel."""

from __future__ import annotations

# The grammar is that of `named_formats`. An element is one code of 1 to 8 bits, or one scale. Elements are counted
# in the order of memory: the lowest bits of a byte first, words little-endian. Axes: k input features, n output
# features, g groups along k, m rows of either operand. What is stored as a value (minus 8, XOR 0x88, zero minus 1) is
# no layout and is told in the notes.
TABLE = """
gptq AutoGPTQ and GPTQModel checkpoints: vLLM a014e35f, quant_utils.gptq_pack; GPTQModel f4c327a1, pack_original
  w2                kn     2  0 1 / 0,16
  w4                kn     4  0 1 / 0,8
  w8                kn     8  0 1 / 0,4
    > A 32-bit word holds codes along k, the first in its lowest bits. g_idx is a gather along k beside it.
  w2.zeros          gn     2  0 1
  w4.zeros          gn     4  0 1
    > Packed along n. Version 1 stores zero minus one, version 2 the zero: values differ, the order is one.
  w8.zeros          gn     8  0 1

exllama ExLlama and ExLlamaV2: shuffle_4bit_8 of qdq_4.cuh, as in exllamav2 and vLLM a014e35f
  w4                kn     4  0 1 / 0,2@1 0,4@2
    > gptq:w4 with the nibbles of each word in the order 0 2 4 6 1 3 5 7.

awq AutoAWQ 88e4c76, awq/modules/linear; llm-awq d6e797a, qmodule.py; vLLM a014e35f, quant_utils.awq_pack
  gemm              kn     4  0 1 / 1,2@1 1,4@2
    > A 32-bit word holds eight columns in the order 0 2 4 6 1 3 5 7.
  gemm.zeros        gn     4  0 1 / 1,2@1 1,4@2
  gemm_w8           kn     8  0 1 / 1,2@1 1,2@2
  gemm_w8.zeros     gn     8  0 1 / 1,2@1 1,2@2
  gemv              nk     4  0 1
  gemv.zeros        ng     4  0 1 / 1,8 fill 0
    > For groups of 128; smaller groups are padded further, to whole words in twos (64) or fours (32).
  v2                nk     4  0 1 / 0,4 1,2 1,8@1 1,4@8
    > The int16 weights of AutoAWQ's GEMVFast and of tinychat.

marlin IST-DASLab Marlin; vLLM a014e35f, marlin_utils.py, marlin_utils_fp4.py and marlin_utils_test.py
  w4a16             kn     4  0 1 / 1,8@1 0,4@2 1,4@16 0,2@1 1,2@8 0,2@8
    > Of GPTQ, AWQ, MXFP4 and NVFP4 weights alike, for activations of 16 bits.
  w8a16             kn     8  0 1 / 1,8@1 0,4@2 1,8@8 0,2@1 0,2@8
    > Of 8-bit integers and of FP8 weights, for activations of 16 bits.
  w4a8              kn     4  0 1 / 1,8@1 0,4@4 1,4@8 0,4@1 0,2@16
  w8a8              kn     8  0 1 / 1,8@1 0,4@4 1,4@8 0,2@16 0,4
  w4a16.scales      gn     16 0 1 / 1,8@1 1,8@8
    > Where there is more than one group along k; else the order is that of channel_scales.
  w8a16.scales      gn     16 0 1 / 1,8@1 1,8@8
    > Where there is more than one group along k; else the order is that of channel_scales.
  w4a8.scales       gn     16 0 1 / 1,4@2 1,4@8 1,2
  w8a8.scales       gn     16 0 1 / 1,4@2 1,4@8 1,2
  w4a16.channel_scales gn  16 0 1 / 1,4@2 1,4@8 1,2
    > One scale a column; a bias has this order too.
  w8a16.channel_scales gn  16 0 1 / 1,4@2 1,4@8 1,2
  w4a8.channel_scales  gn  16 0 1 / 1,4@2 1,4@8 1,2
  w8a8.channel_scales  gn  16 0 1 / 1,4@2 1,4@8 1,2
  w4a16.zeros       gn     4  0 1 / 1,8@1 1,2@8 1,4@16
  w8a16.zeros       gn     8  0 1 / 1,8@1 1,2@32 1,2@8 1,2@16
    > The order of the scales, then 0 2 1 3 inside each word.
  w4a8.zeros        gn     4  0 1 / 1,8@1 1,8@8
  w8a8.zeros        gn     8  0 1 / 1,8@1 1,8@8
  mxfp4.scales      gn     8  0 1 / 1,8@1 1,2@32 1,2@8 1,2@16
  nvfp4.scales      gn     8  0 1 / 1,8@1 1,2@32 1,2@8 1,2@16
    > The values change as well: E4M3 becomes S0E5M3, and the global scale makes up for it.

machete vLLM a014e35f, machete_prepacked_layout.cuh: the weights of its Hopper kernels
  w4a16             nk     4  1 0 / 0,8@1 1,4@2 1,4@16 1,2@1 1,2@8 0,2@8
    > n is a multiple of 128 and k of 64, which is more than a block.
  w8a16             nk     8  1 0 / 0,8@1 1,4@2 1,8@8 0,2@8 1,2
  w4a8              nk     4  1 0 / 0,8@1 1,4@4 1,4@16 0,2@8 1,4
    > Of activations in int8 and in FP8 alike.

allspark vLLM a014e35f, allspark_repack.cu
  w8a16.scales      gn     16 0 1 / 1,8@1 1,4@8

qqq QQQ's W4A8 kernels: GPTQModel f4c327a1, qlinear/qqq.py
  w4                kn     4  0 1 / 1,8@1 0,4@4 1,4@16 0,4@1 1,2@-8
    > With one scale a column; two's complement. Of two columns the second comes first.
  w4_grouped        kn     4  0 1 / 1,8@1 0,4@4 1,4@16 0,2@1 1,2@8 0,2@2

bnb bitsandbytes 95f9af30, backends/default/ops.py
  nf4               nk     4  0 1 / 1,2@-1
    > The first of two codes is in the high half of the byte. The tensor is flattened before: k is even.
  fp4               nk     4  0 1 / 1,2@-1

hqq HQQ e0b1d00, hqq/core/bitpack.py
  w1                nk     1  0 1 / 0,8@-rest
  w2                nk     2  0 1 / 0,4@-rest
  w4                nk     4  0 1 / 0,2@-rest
    > As many slices of the rows as a byte has codes, the first in the highest bits. Rows of groups give the same bytes.
  w8                nk     8  0 1

quanto optimum-quanto e33f820, tensor/packed.py, pack_weights
  w2                nk     2  0 1 / 0,4@rest fill 0
  w4                nk     4  0 1 / 0,2@rest fill 0
    > Slices of the rows, the first in the lowest bits. The rows may be those of groups.

bitnet transformers 5.22, integrations/bitnet.py; microsoft/BitNet 16da220, ggml-bitnet-mad.cpp and gpu/pack_weight.py
  transformers      nk     2  0 1 / 0,4@rest fill 0
    > A code is the ternary weight plus 1, in checkpoints of BitNet for transformers.
  i2_s              nk     2  0 1 / 1,32@1 1,4@-32
    > Of the CPU kernels on x86; one scale for the tensor lies behind. A code is the ternary weight plus 1.
  i2_s_neon         nk     2  0 1 / 1,16@1 1,4@-16
  i2_s_1x4          nk     2  0 1 / 0,4@-1
    > Built without ACT_PARALLEL.
  gpu               nk     2  0 1 / 0,2 1,2 0,8 1,4@1 1,4@4
    > A code is the ternary weight plus 2.

torchao torchao 36027d82d, prototype/dtypes/uintx/bitpacking.py
  uintx1            nk     1  0 1 / 1,8@rest
  uintx2            nk     2  0 1 / 1,4@rest
  uintx4            nk     4  0 1 / 1,2@rest
    > k is a multiple of 8. Codes of 3, 5, 6 and 7 bits are shards of 4, 2 and 1 bits, the lowest first, each so packed.

modelopt NVIDIA ModelOpt a2fbac7ba, torch/export/quant_utils.py, pack_int4_in_uint8
  w4                nk     4  0 1 / 0,2
    > Two's complement. n is even.

compressed compressed-tensors 0.20, pack_to_int32
  pack2             nk     2  0 1 / 1,16
  pack4             nk     4  0 1 / 1,8
  pack8             nk     8  0 1 / 1,4
    > A code is the signed integer plus half the range.
  fp4               nk     4  0 1
    > NVFP4 and MXFP4 weights, the first of two codes in the low half of the byte.
  pack2.zeros       ng     2  0 1 / 0,16
  pack4.zeros       ng     4  0 1 / 0,8
  pack8.zeros       ng     8  0 1 / 0,4

trtllm NVIDIA TensorRT-LLM 5731f655, quantization/functional.py, preprocess_weights_for_mixed_gemm
  w4a16_sm80        kn     4  1 0 / 1,4 0,2 0,8@1 0,4@8
    > A code is the signed integer plus 8. Also for MoE weights on sm90 and for everything on sm120.
  w8a16_sm80        kn     8  1 0 / 1,2 0,4 0,8@1 0,2@8
    > A code is the signed integer plus 128.
  w4afp8_sm80       kn     4  1 0 / 1,2 0,4@32 0,4@4 0,2@1 0,2@16 0,2@2
    > Activations in FP8, so sm89 of that family.
  w4a16_sm90        kn     4  1 0 / 0,8@1 0,4@8
  w8a16_sm90        kn     8  1 0 / 0,8@1 0,2@8
  w4afp8_sm90       kn     4  1 0 / 0,4@4 0,2@1 0,2@16 0,2@2
  w4a16_sm100       kn     4  1 0
    > A transposition alone; the codes stay two's complement.
  w8a16_sm100       kn     8  1 0
  w4afp8_sm100      kn     4  1 0
  w4a16             = w4a16_sm80
  w8a16             = w8a16_sm80
  w4afp8            = w4afp8_sm80

flashinfer FlashInfer fb28d724, shuffle_matrix_a and convert_to_block_layout: weights of the trtllm-gen kernels
  BlockMajorK_shuffled16 mk 8  1 0 / 0,2@1 0,8@2 1,128
  BlockMajorK_shuffled32 mk 8  1 0 / 0,4@1 0,8@4 1,128
    > Rows shuffled in blocks of 32, where the epilogue's tile is a multiple of 128.

torch PyTorch 2.13, _convert_weight_to_int4pack_for_cpu, by the instruction set that it runs with
  int4pack_default  nk     4  0 1 / 0,32
  int4pack_avx2     nk     4  0 1 / 0,16@1 0,2@16
  int4pack_avx512   nk     4  0 1 / 0,32@1 0,2@32
    > For a multiple of 64 rows: a last narrow block has an order of its own, of any instruction set.

tinygemm PyTorch 2.11, _convert_weight_to_int4pack on CUDA, by the number of inner tiles along k
  k2                nk     4  0 1 / 0,8 1,8@1 1,4@8
  k4                nk     4  0 1 / 0,8 1,4@2 1,2@32 1,2@1 1,4@8
  k8                nk     4  0 1 / 0,8 1,4@2 1,4@32 1,2@1 1,4@8
    > ROCm's order differs, in a tensor of the same shape.

tinygemm PyTorch, aten/src/ATen/native/cuda/int4mm.cu as it is compiled for ROCm, by the number of inner tiles along k
  rocm_k2           nk     4  0 1 / 1,4@4 0,16 1,2@1 1,2@16 1,2@2
  rocm_k4           nk     4  0 1 / 1,4@4 0,16 1,2@32 1,2@1 1,2@16 1,2@2
  rocm_k8           nk     4  0 1 / 1,4@4 0,16 1,4@32 1,2@1 1,2@16 1,2@2
    > n is a multiple of 16.

mlas ONNX Runtime 89b01b406ca, core/mlas/lib: the codes of MatMulNBits, packed before it runs, by what it computes in
  w4_fp32_16        nk     4  0 1 / 1,8@1 1,2@8
    > On x86, for blocks of 16 codes; fp32_32 for blocks of 32, fp32_64 for longer ones.
  w4_fp32_32        nk     4  0 1 / 1,16@1 1,2@16
  w4_fp32_64        nk     4  0 1 / 1,32@1 1,2@32
  w4_fp32_neon      nk     4  0 1 / 1,8@1 1,2@8
  w4_int8_neon      nk     4  0 1 / 1,16@1 1,2@16
    > For blocks of 32 codes and more; of 16, the order of fp32_neon.
  w4_int8_avx2      nk     4  0 1 / 0,4 1,32@1 1,2@32
    > For blocks of 32 codes and more, n a multiple of 4 and k of 64: what is left over has orders of its own.
  w4_int8_avx512    nk     4  0 1 / 0,4 1,64@1 1,2@64
    > As int8_avx2, and k a multiple of 128. Scales and block sums lie behind.
  w8_int8_neon      nk     8  0 1 / 0,8 1,4
    > n is a multiple of 8.
  w8_int8_avx2      nk     8  0 1 / 0,4 1,64
  w8_int8_avx512    nk     8  0 1 / 0,4 1,128

mlx Apple MLX 0.32, mx.quantize and mx.dequantize
  w2                nk     2  0 1
  w3                nk     3  0 1
  w4                nk     4  0 1
  w5                nk     5  0 1
  w6                nk     6  0 1
  w8                nk     8  0 1

aiter AMD AITER e4048607, aiter/ops/shuffle.py and ops/triton/utils/shuffle.py
  16x16             nk     4|8|16 0 1 / 0,16 1,16B
    > Sixteen rows of 16 bytes, as shuffle_weight makes them of bf16, fp8 and of two FP4 a byte.
  16x16_int4        nk     4  0 1 / 0,16 1,4@8 1,4@1 1,2@4
    > Two's complement; bytes pair the codes i and i+4 of each eight.
  16x16.scales      mk     8  0 1 / 1,4@1 0,16@1 1,2@4 0,2@16
    > Rows are padded to 256 and k to 8 with whatever the memory held.
  n32k4.scales      mk     8  0 1 / 0,32 1,4
    > Rows are padded to 32 with 0x7f, the scale one.
  f4_mxfp4.scales   mk     8  0 1 / 0,32 1,4
  f4_nvfp4.scales   mk     8  0 1 / 0,32 1,8
  gemm_gfx1250.scales mk   8  0 1 / 0,16 1,4
  mxfp8fp4_a        mk     8  0 1 / 0,2 1,128

mx OCP Microscaling Formats; transformers 5.22, convert_moe_packed_tensors: the weights of gpt-oss
  ocp               nk     4  0 1

mx Triton f4fca2c0, triton_kernels, tensor_details/layout_details
  cdna4.scales      mk     8  0 1 / 1,4@1 0,16@1 1,2@4 0,2@16 fill 0
  gfx1250.scales    mk     8  0 1 / 0,32@1 0,4@32 1,4 fill 0
    > For four scales along k and more; of fewer the blocks are as narrow as k.
  blackwell.scales  mk     8  0 1 / 1,2@4 0,32@1 0,4@32 1,4 fill 0
    > Tiles of 128 by 4, two of them along k: k is padded to 8.
  blackwell         kn     4  1 0 / 0,256
    > Two codes along k in a byte; k is padded to 256 with whatever the memory held.
  blackwell_shuffled kn    4  0 1 / 1,256 0,128 fill 0
    > Tiles of 128 by 256, for k in whole 256: Triton pads it so, where this order pads to 128.

ggml llama.cpp b21e4de7, ggml/src/ggml-common.h and ggml-quants.c: the order of the codes of GGUF blocks
  Q4_0.quants       nk     4  0 1 / 1,16@1 1,2@16
    > Byte e of a block holds the codes e and e + 16. The whole block, with its scale, is the record ggml:Q4_0.
  Q4_1.quants       nk     4  0 1 / 1,16@1 1,2@16
  Q5_0.quants       nk     4  0 1 / 1,16@1 1,2@16
    > The four low bits; the fifth bits lie together.
  Q5_1.quants       nk     4  0 1 / 1,16@1 1,2@16
  IQ4_NL.quants     nk     4  0 1 / 1,16@1 1,2@16
  IQ4_XS.quants     nk     4  0 1 / 1,16@1 1,2@16
  MXFP4.quants      nk     4  0 1 / 1,16@1 1,2@16
  NVFP4.quants      nk     4  0 1 / 1,8@1 1,2@8
  Q8_0.quants       nk     8  0 1
  Q2_K.quants       nk     2  0 1 / 1,32@1 1,4@32
  Q3_K.quants       nk     2  0 1 / 1,32@1 1,4@32
    > The two low bits; the third bits lie together.
  Q4_K.quants       nk     4  0 1 / 1,32@1 1,2@32
  Q5_K.quants       nk     4  0 1 / 1,32@1 1,2@32
    > The four low bits; the fifth bits lie together.
  Q6_K.ql           nk     4  0 1 / 1,64@1 1,2@64
    > The four low bits.
  Q6_K.qh           nk     2  0 1 / 1,32@1 1,4@32
    > The two high bits.
  TQ2_0.quants      nk     2  0 1 / 1,32@1 1,4@32

ggml llama.cpp b21e4de7, ggml/src/ggml-cpu/repack.cpp: the order of the codes of its CPU repacks
  q4_0_4x4.quants   nk     4  0 1 / 1,4@4 0,4 1,4@1 1,2@16
    > Stored as two's complement: XOR 8 of the code.
  q4_0_4x8.quants   nk     4  0 1 / 1,2@8 0,4 1,8@1 1,2@16
  q4_0_8x8.quants   nk     4  0 1 / 1,2@8 0,8 1,8@1 1,2@16
  q4_0_16x1.quants  nk     4  0 1 / 1,16@1 0,16 1,2@16
  iq4_nl_4x4.quants nk     4  0 1 / 1,4@4 0,4 1,4@1 1,2@16
  iq4_nl_8x8.quants nk     4  0 1 / 1,2@8 0,8 1,8@1 1,2@16
  iq4_nl_16x1.quants nk     4  0 1 / 1,16@1 0,16 1,2@16
  mxfp4_4x4.quants  nk     4  0 1 / 1,4@4 0,4 1,4@1 1,2@16
  mxfp4_8x8.quants  nk     4  0 1 / 1,2@8 0,8 1,8@1 1,2@16
  q8_0_4x4.quants   nk     8  0 1 / 0,4 1,4
  q8_0_4x8.quants   nk     8  0 1 / 0,4 1,8
  q8_0_16x1.quants  nk     8  0 1 / 0,16
  q4_K_8x4.quants   nk     4  0 1 / 1,8@4 0,8 1,4@1 1,2@32
  q4_K_8x8.quants   nk     4  0 1 / 1,4@8 0,8 1,8@1 1,2@32
  q4_K_16x1.quants  nk     4  0 1 / 1,32@1 0,16 1,2@32
  q5_K_8x4.quants   nk     4  0 1 / 1,8@4 0,8 1,4@1 1,2@32
  q5_K_8x8.quants   nk     4  0 1 / 1,4@8 0,8 1,8@1 1,2@32
  q6_K_8x4.ql       nk     4  0 1 / 1,16@4 0,8 1,4@1 1,2@64
  q6_K_8x4.qh       nk     2  0 1 / 1,8@4 0,8 1,4@1 1,4@32
  q6_K_8x8.ql       nk     4  0 1 / 1,8@8 0,8 1,8@1 1,2@64
  q6_K_8x8.qh       nk     2  0 1 / 1,4@8 0,8 1,8@1 1,4@32
  q2_K_8x8.quants   nk     2  0 1 / 1,4@8 0,8 1,8@1 1,4@32
  q2_K_16x1.quants  nk     2  0 1 / 1,32@1 0,16 1,4@32

ggml llama.cpp b21e4de7, ggml-cpu/amx/mmq.cpp and ggml-hexagon.cpp: the order of the codes of its tiles
  q4_0_amx.quants   nk     4  0 1 / 0,16 1,4@1 1,2@4
  q4_1_amx.quants   nk     4  0 1 / 0,16 1,4@1 1,2@4
  q8_0_amx.quants   nk     8  0 1 / 0,16 1,4
  q4_0_hexagon.quants nk     4  0 1 / 0,32 1,2
    > Tiles of 32 by 32.
  q4_1_hexagon.quants nk     4  0 1 / 0,32 1,2
  mxfp4_hexagon.quants nk     4  0 1 / 0,32 1,2
  q8_0_hexagon.quants nk     8  0 1 / 0,32 1,2

kai Arm KleidiAI 495f6524, rhs_pack_nxk_qsi4cxp_qs4cxs1s0 and rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0
  qsi4cxp4x4.quants nk     4  0 1 / 1,4@4 0,4 1,4@1 1,2@16
    > The numbers are nr and kr / sr. Padding rows repeat the last row, which no fill says.
  qsi4cxp4x8.quants nk     4  0 1 / 1,2@8 0,4 1,8@1 1,2@16
  qsi4cxp8x4.quants nk     4  0 1 / 1,4@4 0,8 1,4@1 1,2@16
  qsi4cxp8x8.quants nk     4  0 1 / 1,2@8 0,8 1,8@1 1,2@16
  qsi4c32p4x4.quants nk     4  0 1 / 1,4@4 0,4 1,4@1 1,2@16
  qsi4c32p4x8.quants nk     4  0 1 / 1,2@8 0,4 1,8@1 1,2@16
  qsi4c32p8x4.quants nk     4  0 1 / 1,4@4 0,8 1,4@1 1,2@16
  qsi4c32p8x8.quants nk     4  0 1 / 1,2@8 0,8 1,8@1 1,2@16
"""
