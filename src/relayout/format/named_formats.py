"""The table of the catalog: every named format, with its system and where that says so."""

from __future__ import annotations

# A line at the margin: the system, then where the names below it come from. Indented lines: the name, its axes, the
# width of its elements in bits (- for any, 8|16 where the width decides) and its text: a format as `Format.parse` reads
# it, or a tile in CuTe's notation. `64B` counts bytes, and a tile with several widths is written in bits. `=` makes
# another name, for each width one where the width decides; `>` is a note on the name above it.
TABLE = """
htp Qualcomm HTP Core documentation, "Tensors and Memory Layout"
  R4Flat            nhwc   -  0 1 2 3
  R5Flat            ndhwc  -  0 1 2 3 4
  R6Flat            abcdef -  0 1 2 3 4 5
  R4Singular        nhwc   8  (1,1,1,1):(0,0,0,0)
    > One element: every dimension has size 1.
  R4NCHW            nhwc   -  0 3 2 1
    > The vendor's class, whose fastest dimension is height: N, C, W, H. The true order is htp:NCHW.
  NCHW              nhwc   -  0 3 1 2
    > NHWC coordinates stored as N, C, H, W, as the page's text gives it; the class R4NCHW of its table is another.
  R4Depth32         nhwc   8  0 1 3 2 / 2,4 3,32
  R4Crouton         nhwc   8  0 1 2 3 / 1,8 2,8 3,32 fill 31 indirect 4
    > Automatic padding is 31, not 0; ask for another fill where the value that decodes to 0 is meant.
  R4WideCrouton     nhwc   8  0 1 2 3 / 1,2 2,32 3,32 fill 31 indirect 4
  R4Crouton4x1      nhwc   8  0 1 2 3 / 1,8 2,2 3,32 2,4 fill 31 indirect 4
    > The page's listing SpatialXMajor has 1,4 under the comment "8 high": a slip, its table has 1,8.
  R4Crouton2x2      nhwc   8  0 1 2 3 / 1,4 2,4 3,32 1,2 2,2 fill 31 indirect 4
  R4WideCrouton2x2  nhwc   8  0 1 2 3 / 2,16 3,32 1,2 2,2 fill 31 indirect 4
  R4Crouton2        nhwc   16 0 1 2 3 / 1,8 2,2 3,32 2,2 fill 31 indirect 4
  R4Crouton4        nhwc   32 0 1 2 3 / 1,8 2,2 3,32 fill 31 indirect 4
  R4WideCrouton4    nhwc   32 0 1 2 3 / 1,2 2,8 3,32 fill 31 indirect 4
  R4Weights8x4      hwio   16 0 1 3 2 / 0,8 1,4 2,16 3,32 2,2
  R5Crouton         ndhwc  8  0 1 2 3 4 / 2,8 3,8 4,32 fill 31 indirect 5
  R4DeepAR4_16b     nhwc   16 0 1 2 3 / 2,2 3,32 2,2 fill 31 indirect 3
    > The table picks 4 columns of the whole padded depth: only three dimensions are indirect.
  R4DeepAR8_16b     nhwc   16 0 1 2 3 / 2,4 3,32 2,2 fill 31 indirect 3
    > The table picks 8 columns of the whole padded depth: only three dimensions are indirect.
  weights           hwio   8  3 2 0 1 / 2,8 3,32 2,4
    > The page's layout for convolution weights. The output channels are the slowest.
  flat                = R4Flat
  d32                 = R4Depth32
  Crouton             = 8:R4Crouton 16:R4Crouton2 32:R4Crouton4
  crouton             = 8:R4Crouton 16:R4Crouton2 32:R4Crouton4
  ChannelMajorCrouton = R4Crouton
  SpatialXYMajor      = R4Crouton2x2
  SpatialXMajor       = R4Crouton4x1

hmx Qualcomm HMX weight tiles: htp-ops-lib (fp16); HTP Core documentation, convolution weights (int8)
  fp16              kn     16 ((2,16),32):((1,64),2)
    > One 32x32 tile of weights, rows in pairs. The order of the tiles is up to the program.
  int8_weights      kn     8  ((4,8),32):((1,128),4)
    > One 32x32 tile of weights, rows in fours. The order of the tiles is up to the program.

tensorrt NVIDIA TensorRT 10, NvInferRuntimeBase.h, enum TensorFormat
  kLINEAR           nchw   -  0 1 2 3
  kCHW2             nchw   16 0 1 2 3 / 1,2 fill 0
  kCHW4             nchw   -  0 1 2 3 / 1,4 fill 0
  kCHW16            nchw   -  0 1 2 3 / 1,16 fill 0
  kCHW32            nchw   -  0 1 2 3 / 1,32 fill 0
  kHWC              nchw   -  0 2 3 1
  kHWC8             nchw   16 0 2 3 1 / 1,8 fill 0
  kHWC16            nchw   -  0 2 3 1 / 1,16 fill 0
  kDHWC             ncdhw  32 0 2 3 4 1
  kDHWC8            ncdhw  16 0 2 3 4 1 / 1,8 fill 0
  kCDHW32           ncdhw  -  0 1 2 3 4 / 1,32 fill 0
  kDLA_LINEAR       nchw   8|16 0 1 2 3 / 3,64B
  kDLA_HWC4         nchw   8|16 0 2 3 1 / 3,16B 1,4
    > For 3 or 4 channels, rows of 64 bytes as on Orin. One channel is stored as kDLA_LINEAR; Xavier rounds to 32 bytes.

cudnn NVIDIA cuDNN 9 developer guide, core concepts; enum cudnnTensorFormat_t
  NCHW              nchw   -  0 1 2 3
  NHWC              nchw   -  0 2 3 1
  NCDHW             ncdhw  -  0 1 2 3 4
  NDHWC             ncdhw  -  0 2 3 4 1
  NC/4HW4           nchw   8  0 1 2 3 / 1,4
    > CUDNN_TENSOR_NCHW_VECT_C of CUDNN_DATA_INT8x4: the channels are a multiple of 4.
  NC/32HW32         nchw   8  0 1 2 3 / 1,32
    > CUDNN_TENSOR_NCHW_VECT_C of CUDNN_DATA_INT8x32: the channels are a multiple of 32.
  NCHW_VECT_C_INT8x4  = NC/4HW4
  NCHW_VECT_C_INT8x32 = NC/32HW32

cudnn NVIDIA cuDNN 9.19, the result of cudnnReorderFilterAndBias
  REORDERING_INT8x32  oihw 8  1 2 3 0 / 0,2@1 1,8 0,4@2 1,4
    > Measured, not documented: for a multiple of 8 output and 32 input channels. The tile is cublaslt:COL4_4R2_8C.

cudnn NVIDIA cuDNN 9.7, CUDNN_TENSOR_REORDERING_F8_128x4; CUTLASS 4.2, sm100_blockscaled_layout.hpp
  REORDERING_F8_128x4 mk   8  0 1 / 0,32@1 0,4@32 1,4
    > Block-scale factors: k counts blocks of 16 or 32 elements.

cublaslt NVIDIA cuBLAS 13, cublasLt.h, enum cublasLtOrder_t
  COL               mn     -  1 0
  ROW               mn     -  0 1
  COL32             mn     -  1 0 / 1,32 fill 0
  COL4_4R2_8C       mn     -  1 0 / 0,2@1 1,8 0,4@2 1,4 fill 0
    > Rows of one parity lie together, four by four columns: quads of an 8x32 tile.
  COL32_2R_4R4      mn     -  1 0 / 0,4@2 0,4@8 0,2@1 1,32 fill 0
    > Inside a 32x32 tile element (row, col) is at (((row%8)/2*4+row/8)*2+row%2)*32+col.

cublaslt NVIDIA cuBLAS 13 guide, 1D block scaling factors layout; CUTLASS 4.2, sm100_blockscaled_layout.hpp
  VEC32_UE8M0       mk     8  0 1 / 0,32@1 0,4@32 1,4
    > Scale factors of MXFP8: k counts blocks of 32 elements. A 128x4 tile has 512 bytes, tiles go along k first.
  VEC16_UE4M3       mk     8  0 1 / 0,32@1 0,4@32 1,4
    > Scale factors of NVFP4: k counts blocks of 16 elements. A 128x4 tile has 512 bytes, tiles go along k first.
  mxfp8:scales      = VEC32_UE8M0
  nvfp4:scales      = VEC16_UE4M3

smem NVIDIA CUTLASS 4.2, cute/atom/mma_traits_sm90_gmma.hpp: tiles of wgmma (Hopper) and tcgen05 (Blackwell)
  K_INTER           mk     4|8|16|32|64 (8,128):(128,1)
  K_SW32            mk     4|8|16|32|64 Sw<1,7,3> o 0 o (8,256):(256,1)
  K_SW64            mk     4|8|16|32|64 Sw<2,7,3> o 0 o (8,512):(512,1)
  K_SW128           mk     4|8|16|32|64 Sw<3,7,3> o 0 o (8,1024):(1024,1)
    > Eight rows of 128 bytes whose 16-byte pieces are exchanged; the tile starts at a multiple of 1024 bytes.
  MN_INTER          mk     4|8|16|32|64 (128,8):(1,128)
  MN_SW32           mk     4|8|16|32|64 Sw<1,7,3> o 0 o (256,8):(1,256)
  MN_SW64           mk     4|8|16|32|64 Sw<2,7,3> o 0 o (512,8):(1,512)
  MN_SW128          mk     4|8|16|32|64 Sw<3,7,3> o 0 o (1024,8):(1,1024)
    > The tile starts at a multiple of 1024 bytes.

smem NVIDIA CUTLASS 4.2, cute/atom/mma_traits_sm100.hpp: tcgen05 (Blackwell)
  MN_SW128_32B      mk     4|8|16|32|64 Sw<2,8,2> o 0 o (1024,4):(1,1024)

hipblaslt AMD hipBLASLt 1.0, hipblaslt.h, enum hipblasLtOrder_t
  COL               mn     -  1 0
  ROW               mn     -  0 1
  COL16_4R16        mn     8  1 0 / 0,4 1,16 0,16
  COL16_4R8         mn     16 1 0 / 0,4 1,16 0,8

onnxruntime ONNX Runtime 1, onnxruntime/core/mlas/lib/reorder.cpp
  NCHWc8            nchw   32 0 1 2 3 / 1,8 fill 0
  NCHWc16           nchw   32 0 1 2 3 / 1,16 fill 0
  OIHWBiBo8         oihw   32 0 1 2 3 / 1,8 0,8 fill 0
  OIHWBiBo16        oihw   32 0 1 2 3 / 1,16 0,16 fill 0
  OIHWBo8           oihw   32 0 1 2 3 / 0,8 fill 0
  OIHWBo16          oihw   32 0 1 2 3 / 0,16 fill 0

openvino Intel OpenVINO, GPU plugin memory formats, intel_gpu/src/runtime/format.cpp
  bfyx              nchw   -  0 1 2 3
  byxf              nchw   -  0 2 3 1
  b_fs_yx_fsv4      nchw   -  0 1 2 3 / 1,4
  b_fs_yx_fsv16     nchw   -  0 1 2 3 / 1,16
  b_fs_yx_fsv32     nchw   -  0 1 2 3 / 1,32
  fs_b_yx_fsv32     nchw   -  1 0 2 3 / 1,32
  bs_fs_yx_bsv16_fsv16 nchw - 0 1 2 3 / 0,16 1,16
  bs_fs_yx_bsv16_fsv32 nchw - 0 1 2 3 / 0,16 1,32

torch PyTorch 2 documentation, torch.memory_format
  contiguous_format nchw   -  0 1 2 3
  channels_last     nchw   -  0 2 3 1
    > Where a size is 1 the strides fit contiguous_format as well, and torch calls the tensor both.
  channels_last_3d  ncdhw  -  0 2 3 4 1

ethosu Arm Ethos-U Vela 4, the strides of feature maps by TensorFormat
  NHWC              nhwc   -  0 1 2 3
  NHCWB16           nhwc   -  0 1 3 2 / 3,16

acl Arm Compute Library, arm_compute/core/CoreTypes.h, enum WeightFormat
  OHWI              ohwi   -  0 1 2 3
  OHWIo2            ohwi   -  0 1 2 3 / 0,2
  OHWIo4            ohwi   -  0 1 2 3 / 0,4
  OHWIo8            ohwi   -  0 1 2 3 / 0,8
  OHWIo16           ohwi   -  0 1 2 3 / 0,16
  OHWIo32           ohwi   -  0 1 2 3 / 0,32
  OHWIo64           ohwi   -  0 1 2 3 / 0,64
  OHWIo128          ohwi   -  0 1 2 3 / 0,128
  OHWIo4i2          ohwi   -  0 1 2 3 / 0,4 3,2
  OHWIo8i2          ohwi   -  0 1 2 3 / 0,8 3,2
  OHWIo16i2         ohwi   -  0 1 2 3 / 0,16 3,2
  OHWIo32i2         ohwi   -  0 1 2 3 / 0,32 3,2
  OHWIo64i2         ohwi   -  0 1 2 3 / 0,64 3,2
  OHWIo4i4          ohwi   -  0 1 2 3 / 0,4 3,4
  OHWIo8i4          ohwi   -  0 1 2 3 / 0,8 3,4
  OHWIo16i4         ohwi   -  0 1 2 3 / 0,16 3,4
  OHWIo32i4         ohwi   -  0 1 2 3 / 0,32 3,4
  OHWIo64i4         ohwi   -  0 1 2 3 / 0,64 3,4
  OHWIo2i8          ohwi   -  0 1 2 3 / 0,2 3,8
  OHWIo4i8          ohwi   -  0 1 2 3 / 0,4 3,8
  OHWIo8i8          ohwi   -  0 1 2 3 / 0,8 3,8
  OHWIo16i8         ohwi   -  0 1 2 3 / 0,16 3,8
  OHWIo32i8         ohwi   -  0 1 2 3 / 0,32 3,8
  OHWIo64i8         ohwi   -  0 1 2 3 / 0,64 3,8

amx Intel 64 and IA-32 SDM, volume 2, the second source tile of TDPBF16PS and TDPBSSD
  TDPBF16PS_tsrc2   kn     16 ((2,16),16):((1,32),2)
    > A full tile of 32x16 elements, rows in pairs ("VNNI").
  TDPBSSD_tsrc2     kn     8  ((4,16),16):((1,64),4)
    > A full tile of 64x16 elements, rows in fours ("VNNI").

ascend Huawei CANN 8, data layout formats; MindSpore, trans.cc (C0 by type)
  NC1HWC0           nchw   4|8|16 0 1 2 3 / 1,32B fill 0
    > C0 is 32 bytes. For 32-bit elements the sources differ (8 or 16), so that width is left out.
  NC1HWC0_C04       nchw   -  0 1 2 3 / 1,4 fill 0
  NDC1HWC0          ncdhw  4|8|16 0 2 1 3 4 / 1,32B fill 0
  FRACTAL_Z         oihw   4|8|16 1 2 3 0 / 0,16 1,32B fill 0
    > Convolution weights; the documents write n for o and c for i.
  FRACTAL_Z_3D      oidhw  4|8|16 2 1 3 4 0 / 0,16 1,32B fill 0
  FRACTAL_NZ        mn     4|8|16 1 0 / 0,16 1,32B fill 0
    > Dimensions in front of the last two are row-major.

vllm vLLM a014e35f, v1/kv_cache_layout.py (enum KVCacheLayout) and v1/attention/ops/paged_attn.py
  LBHNC             lbhnc  -  0 1 2 3 4
    > A KV cache: layers, blocks, heads, tokens of a block, content (keys and values of a head).
  LBNHC             lbhnc  -  0 1 3 2 4
  LHBNC             lbhnc  -  0 2 1 3 4
  BLHNC             lbhnc  -  1 0 2 3 4
  BLNHC             lbhnc  -  1 0 3 2 4
  BHLNC             lbhnc  -  1 2 0 3 4
  key_cache         bhnd   8|16|32 0 1 3 2 / 3,16B
    > The keys of paged attention: 16 bytes of a head together, then the tokens of a block.
  value_cache       bhnd   -  0 1 3 2
    > The values of paged attention: the tokens of a block are the fastest.
  HND               = LBHNC
  NHD               = LBNHC

tenstorrent Tenstorrent TT-Metalium documentation, advanced topics, tiles
  TILE              hw     -  0 1 / 0,2 1,2 0,16 1,16 fill 0
    > A 32x32 tile of four 16x16 faces. Dimensions in front of the last two are row-major.
  ROW_MAJOR         hw     -  0 1

bnns Apple Accelerate documentation, BNNSDataLayout, for default strides
  ImageCHW          chw    -  0 1 2
  ConvolutionWeightsOIHW        oihw - 0 1 2 3
  ConvolutionWeightsOIHW_Pack32 oihw - 0 1 2 3 / 0,32
    > The array starts at a multiple of 128 bytes.
  2DFirstMajor      ab     -  0 1
  2DLastMajor       ab     -  1 0
  3DFirstMajor      abc    -  0 1 2
  3DLastMajor       abc    -  2 1 0
  4DFirstMajor      abcd   -  0 1 2 3
  4DLastMajor       abcd   -  3 2 1 0

metal Apple Metal documentation (OS 26), MTLTensorDescriptor.strides, usage machineLearning
  MTLTensor         abcd   8|16|32 3 2 1 0 / 0,64B
    > The innermost dimension comes first, and the second stride is a multiple of 64 bytes; other ranks alike.
"""
