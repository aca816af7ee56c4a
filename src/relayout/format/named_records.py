"""The table of named records: blocks of codes and scales that checkpoints hold."""

from __future__ import annotations

CODECS = {
    "TQ1_0": "five codes of base 3 share a byte",
    **dict.fromkeys(
        ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"),
        "a few bits pick eight or four values at once from a grid, and others their signs",
    ),
}
"""Blocks of ggml whose elements have no bits of their own: codecs, which are no layout, and why."""

# A line at the margin: the system, then where the names below it come from. Indented lines: the name, and the record
# as `Record.parse` reads it, over as many lines as it takes. `>` is a note on the name above it.
RECORDS = """
ggml llama.cpp (2026), ggml/src/ggml-common.h: the blocks of GGUF files
  Q4_0    record nk 1,32 bytes 18: d float16 @0; qs uint4-8 @2 (1,(16,2)):(0,(8,4)); value d*qs
  Q4_1    record nk 1,32 bytes 20: d float16 @0; m float16 @2; qs uint4 @4 (1,(16,2)):(0,(8,4)); value d*qs+m
  Q5_0    record nk 1,32 bytes 22: d float16 @0;
          qs uint5-16 @6 (1,(16,2)):(0,(8,4)) bits 0-3 | @2 (1,32):(0,1) bits 4-4; value d*qs
  Q5_1    record nk 1,32 bytes 24: d float16 @0; m float16 @2;
          qs uint5 @8 (1,(16,2)):(0,(8,4)) bits 0-3 | @4 (1,32):(0,1) bits 4-4; value d*qs+m
  Q8_0    record nk 1,32 bytes 34: d float16 @0; qs int8 @2 (1,32):(0,8); value d*qs
  Q2_K    record nk 1,256 bytes 84: scales uint4 @0 (1,16):(0,8); mins uint4 @0.4 (1,16):(0,8);
          qs uint2 @16 (1,(32,4,2)):(0,(8,2,256)); d float16 @80; dmin float16 @82; value d*scales*qs-dmin*mins
  Q3_K    record nk 1,256 bytes 110: qs uint3-4 @32 (1,(32,4,2)):(0,(8,2,256)) bits 0-1 |
          @0 (1,(32,8)):(0,(8,1)) bits 2-2;
          scales uint6-32 @96 (1,(8,2)):(0,(8,4)) bits 0-3 | @104 (1,(4,4)):(0,(8,2)) bits 4-5;
          d float16 @108; value d*scales*qs
  Q4_K    record nk 1,256 bytes 144: d float16 @0; dmin float16 @2;
          scales uint6 @4 (1,(4,2)):(0,(8,64)) bits 0-3 | @4.4 (1,(4,2)):(0,(8,2)) bits 4-5;
          mins uint6 @8 (1,(4,2)):(0,(8,36)) bits 0-3 | @8.4 (1,(4,2)):(0,(8,2)) bits 4-5;
          qs uint4 @16 (1,(32,2,4)):(0,(8,4,256)); value d*scales*qs-dmin*mins
  Q5_K    record nk 1,256 bytes 176: d float16 @0; dmin float16 @2;
          scales uint6 @4 (1,(4,2)):(0,(8,64)) bits 0-3 | @4.4 (1,(4,2)):(0,(8,2)) bits 4-5;
          mins uint6 @8 (1,(4,2)):(0,(8,36)) bits 0-3 | @8.4 (1,(4,2)):(0,(8,2)) bits 4-5;
          qs uint5 @48 (1,(32,2,4)):(0,(8,4,256)) bits 0-3 | @16 (1,(32,8)):(0,(8,1)) bits 4-4;
          value d*scales*qs-dmin*mins
  Q6_K    record nk 1,256 bytes 210: qs uint6-32 @0 (1,(64,2,2)):(0,(8,4,512)) bits 0-3 |
          @128 (1,(32,4,2)):(0,(8,2,256)) bits 4-5; scales int8 @192 (1,16):(0,8); d float16 @208; value d*scales*qs
  IQ4_NL  record nk 1,32 bytes 18: d float16 @0; qs uint4 @2 (1,(16,2)):(0,(8,4)); value d*iq4nl[qs]
  IQ4_XS  record nk 1,256 bytes 136: d float16 @0; scales uint6-32 @4 (1,8):(0,4) bits 0-3 | @2 (1,8):(0,2) bits 4-5;
          qs uint4 @8 (1,(16,2,8)):(0,(8,4,128)); value d*scales*iq4nl[qs]
  MXFP4   record nk 1,32 bytes 17: e uint8 @0; qs uint4 @1 (1,(16,2)):(0,(8,4)); value half_e8m0(e)*e2m1[qs]
    > Byte e of qs has the codes e and e + 16: not 2e and 2e + 1, as in OCP's and Hugging Face's files.
  NVFP4   record nk 1,64 bytes 36: d uint8 @0 (1,4):(0,8); qs uint4 @4 (1,(8,2,4)):(0,(8,4,64));
          value half_ue4m3(d)*e2m1[qs]
  TQ2_0   record nk 1,256 bytes 66: qs uint2-1 @0 (1,(32,4,2)):(0,(8,2,256)); d float16 @64; value d*qs

ggml llama.cpp (2026), ggml/src/ggml-cpu/repack.cpp: rows of blocks side by side, as its CPU kernels read them
  q4_0_4x4   record nk 4,32 bytes 72: d float16 @0 (4,1):(16,0); qs int4 @8 (4,(4,4,2)):(32,(8,128,4)); value d*qs
  q4_0_4x8   record nk 4,32 bytes 72: d float16 @0 (4,1):(16,0); qs int4 @8 (4,(8,2,2)):(64,(8,256,4)); value d*qs
  q4_0_8x8   record nk 8,32 bytes 144: d float16 @0 (8,1):(16,0); qs int4 @16 (8,(8,2,2)):(64,(8,512,4)); value d*qs
  iq4_nl_4x4 record nk 4,32 bytes 72: d float16 @0 (4,1):(16,0); qs uint4 @8 (4,(4,4,2)):(32,(8,128,4));
             value d*iq4nl[qs]
  iq4_nl_8x8 record nk 8,32 bytes 144: d float16 @0 (8,1):(16,0); qs uint4 @16 (8,(8,2,2)):(64,(8,512,4));
             value d*iq4nl[qs]
  mxfp4_4x4  record nk 4,32 bytes 68: e uint8 @0 (4,1):(8,0); qs uint4 @4 (4,(4,4,2)):(32,(8,128,4));
             value half_e8m0(e)*e2m1[qs]
  mxfp4_8x8  record nk 8,32 bytes 136: e uint8 @0 (8,1):(8,0); qs uint4 @8 (8,(8,2,2)):(64,(8,512,4));
             value half_e8m0(e)*e2m1[qs]
  q8_0_4x4   record nk 4,32 bytes 136: d float16 @0 (4,1):(16,0); qs int8 @8 (4,(4,8)):(32,(8,128)); value d*qs
  q8_0_4x8   record nk 4,32 bytes 136: d float16 @0 (4,1):(16,0); qs int8 @8 (4,(8,4)):(64,(8,256)); value d*qs
  q2_K_8x8   record nk 8,256 bytes 672: d float16 @0 (8,1):(16,0); dmin float16 @16 (8,1):(16,0);
             scales uint4 @32 (8,(2,8)):(16,(8,128)); mins uint4 @32.4 (8,(2,8)):(16,(8,128));
             qs uint2 @160 (8,(8,4,4,2)):(64,(8,512,2,2048)); value d*scales*qs-dmin*mins
  q4_K_8x4   record nk 8,256 bytes 1152: d float16 @0 (8,1):(16,0); dmin float16 @16 (8,1):(16,0);
             scales uint6 @32 ((4,2),8):((8,64),96) bits 0-3 | @32.4 ((4,2),8):((8,2),96) bits 4-5;
             mins uint6 @36 ((4,2),8):((8,36),96) bits 0-3 | @36.4 ((4,2),8):((8,2),96) bits 4-5;
             qs uint4 @128 (8,(4,8,2,4)):(32,(8,256,4,2048)); value d*scales*qs-dmin*mins
  q4_K_8x8   record nk 8,256 bytes 1152: d float16 @0 (8,1):(16,0); dmin float16 @16 (8,1):(16,0);
             scales uint6 @32 ((4,2),8):((8,64),96) bits 0-3 | @32.4 ((4,2),8):((8,2),96) bits 4-5;
             mins uint6 @36 ((4,2),8):((8,36),96) bits 0-3 | @36.4 ((4,2),8):((8,2),96) bits 4-5;
             qs uint4 @128 (8,(8,4,2,4)):(64,(8,512,4,2048)); value d*scales*qs-dmin*mins
  q5_K_8x4   record nk 8,256 bytes 1408: d float16 @0 (8,1):(16,0); dmin float16 @16 (8,1):(16,0);
             scales uint6 @32 ((4,2),8):((8,64),96) bits 0-3 | @32.4 ((4,2),8):((8,2),96) bits 4-5;
             mins uint6 @36 ((4,2),8):((8,36),96) bits 0-3 | @36.4 ((4,2),8):((8,2),96) bits 4-5;
             qs uint5 @384 (8,(4,8,2,4)):(32,(8,256,4,2048)) bits 0-3 |
             @128 (8,(4,8,8)):(32,(8,256,1)) bits 4-4; value d*scales*qs-dmin*mins
  q5_K_8x8   record nk 8,256 bytes 1408: d float16 @0 (8,1):(16,0); dmin float16 @16 (8,1):(16,0);
             scales uint6 @32 ((4,2),8):((8,64),96) bits 0-3 | @32.4 ((4,2),8):((8,2),96) bits 4-5;
             mins uint6 @36 ((4,2),8):((8,36),96) bits 0-3 | @36.4 ((4,2),8):((8,2),96) bits 4-5;
             qs uint5 @384 (8,(8,4,2,4)):(64,(8,512,4,2048)) bits 0-3 |
             @128 (8,(8,4,8)):(64,(8,512,1)) bits 4-4; value d*scales*qs-dmin*mins
  q6_K_8x4   record nk 8,256 bytes 1680: d float16 @0 (8,1):(16,0); scales int8 @16 (8,16):(8,64);
             qs uint6-32 @144 (8,(4,16,2,2)):(32,(8,256,4,4096)) bits 0-3 |
             @1168 (8,(4,8,4,2)):(32,(8,256,2,2048)) bits 4-5; value d*scales*qs
  q6_K_8x8   record nk 8,256 bytes 1680: d float16 @0 (8,1):(16,0); scales int8 @16 (8,16):(8,64);
             qs uint6-32 @144 (8,(8,8,2,2)):(64,(8,512,4,4096)) bits 0-3 |
             @1168 (8,(8,4,4,2)):(64,(8,512,2,2048)) bits 4-5; value d*scales*qs

gptq GPTQModel (2026), gptqmodel/nn_modules/qlinear and utils/planar_packing.py: words of 32 codes of a column
  w3      record kn 32,1 bytes 12 order 0 2 1 / 2,32: q uint3 @0 (32,1):(3,0)
    > A stream of bits along k: codes 10 and 21 of each 32 have bits in two words, which lie n words apart.
  w3.zeros record gn 1,32 bytes 12: q uint3 @0 (1,32):(0,3)
    > A stream of bits along n; version 1 stores one less than the zero.
  planar3 record kn 32,1 bytes 12 order 0 2 1 / 2,32: q uint3 @0 (32,1):(2,0) bits 0-1 | @8 (32,1):(1,0) bits 2-2
  planar5 record kn 32,1 bytes 20 order 0 2 1 / 2,32: q uint5 @0 (32,1):(4,0) bits 0-3 | @16 (32,1):(1,0) bits 4-4
  planar6 record kn 32,1 bytes 24 order 0 2 1 / 2,32: q uint6 @0 (32,1):(4,0) bits 0-3 | @16 (32,1):(2,0) bits 4-5
  planar7 record kn 32,1 bytes 28 order 0 2 1 / 2,32:
          q uint7 @0 (32,1):(4,0) bits 0-3 | @16 (32,1):(2,0) bits 4-5 | @24 (32,1):(1,0) bits 6-6

hqq HQQ e0b1d00, hqq/core/bitpack.py, pack_3bit_32: tenths of the rows, which are padded to a multiple of ten
  w3      record snk 10,1,1 bytes 4: q uint3 @3.3 (10,1,1):(-3,0,0)
    > The tensor is the matrix reshaped to ten slices of its rows, s, the first highest in a word; two bits are spare.

compressed compressed-tensors 0.20 and 52792be0, pack_to_int32: words of codes, and zeros packed along n
  pack3_by_word record nk 1,10 bytes 4: q uint3-4 @0 (1,10):(0,3)
    > Until 0.17: a word has as many codes as are whole in it.
  pack3_by_word.zeros record ng 10,1 bytes 4: q uint3-4 @0 (10,1):(3,0)
  pack3 record nk 1,32 bytes 12: q uint3-4 @0 (1,32):(0,3)
    > Since 0.18 codes go on in the next word; here for k in multiples of what is whole words. Before, pack3_by_word.
  pack3.zeros record ng 32,1 bytes 12 order 0 2 1 / 2,32: q uint3-4 @0 (32,1):(3,0)
  pack5_by_word record nk 1,6 bytes 4: q uint5-16 @0 (1,6):(0,5)
  pack5_by_word.zeros record ng 6,1 bytes 4: q uint5-16 @0 (6,1):(5,0)
  pack5 record nk 1,32 bytes 20: q uint5-16 @0 (1,32):(0,5)
  pack5.zeros record ng 32,1 bytes 20 order 0 2 1 / 2,32: q uint5-16 @0 (32,1):(5,0)
  pack6_by_word record nk 1,5 bytes 4: q uint6-32 @0 (1,5):(0,6)
  pack6_by_word.zeros record ng 5,1 bytes 4: q uint6-32 @0 (5,1):(6,0)
  pack6 record nk 1,16 bytes 12: q uint6-32 @0 (1,16):(0,6)
  pack6.zeros record ng 16,1 bytes 12 order 0 2 1 / 2,32: q uint6-32 @0 (16,1):(6,0)
  pack7_by_word record nk 1,4 bytes 4: q uint7-64 @0 (1,4):(0,7)
  pack7_by_word.zeros record ng 4,1 bytes 4: q uint7-64 @0 (4,1):(7,0)
  pack7 record nk 1,32 bytes 28: q uint7-64 @0 (1,32):(0,7)
  pack7.zeros record ng 32,1 bytes 28 order 0 2 1 / 2,32: q uint7-64 @0 (32,1):(7,0)

mx Triton f4fca2c0, triton_kernels, layout_details/hopper_value.py: FP4 values for bf16 or fp16 products on Hopper
  hopper  record nk 16,16 bytes 128 order 0 2 1 / 2,8 1,4 2,32:
          q uint4 @0.6 ((2,4,2),(2,4)):((128,256,-3),(16,32)) bits 0-2 |
          @1.7 ((2,4,2),(2,4)):((128,256,-3),(16,32)) bits 3-3 |
          @0 ((2,4),(2,4)):((128,256),(16,32)) bits 0-2 from (0,8) |
          @1.1 ((2,4),(2,4)):((128,256),(16,32)) bits 3-3 from (0,8) |
          @1.5 ((2,4),(2,4)):((128,256),(16,32)) bits 0-0 from (8,8) |
          @1.2 ((2,4),(2,4)):((128,256),(16,32)) bits 1-2 from (8,8) |
          @1.6 ((2,4),(2,4)):((128,256),(16,32)) bits 3-3 from (8,8)
    > For wgmma; n is padded to 256 and k to 128. Signs and the bits of four codes are dealt over a word.
  hopper_mma2 record nk 16,8 bytes 64 order 0 2 1 / 2,2@64 1,4@1 1,2@4 2,2@32 2,32:
          q uint4 @0.6 ((2,4,2),(2,3)):((64,128,32),(16,-3)) bits 0-2 |
          @1.7 ((2,4,2),(2,3)):((64,128,32),(16,-3)) bits 3-3 |
          @1.5 ((2,4,2),2):((64,128,32),16) bits 0-0 from (0,6) |
          @1.2 ((2,4,2),2):((64,128,32),16) bits 1-2 from (0,6) |
          @1.6 ((2,4,2),2):((64,128,32),16) bits 3-3 from (0,6)
    > For mma.sync.

ggml llama.cpp b21e4de7, ggml-cpu/amx/mmq.cpp and ggml-hexagon.cpp: tiles for Intel's AMX and Qualcomm's Hexagon
  q4_0_amx   record nk 16,32 bytes 288: qs uint4-8 @0 (16,(4,2,4)):(32,(8,4,512)); d float16 @256 (16,1):(16,0);
             value d*qs
  q4_1_amx   record nk 16,32 bytes 320: qs uint4 @0 (16,(4,2,4)):(32,(8,4,512)); d float16 @256 (16,1):(16,0);
             m float16 @288 (16,1):(16,0); value d*qs+m
  q4_0_hexagon record nk 32,32 bytes 576: qs uint4-8 @0 (32,(2,16)):(8,(4,256)); d float16 @512 (32,1):(16,0);
             value d*qs
    > Rows and columns beyond the matrix hold the code 8 and the scale 0.
  q4_1_hexagon record nk 32,32 bytes 640: qs uint4 @0 (32,(2,16)):(8,(4,256)); d float16 @512 (32,1):(32,0);
             m float16 @514 (32,1):(32,0); value d*qs+m
  q8_0_hexagon record nk 32,32 bytes 1088: qs int8 @0 (32,(2,16)):(16,(8,512)); d float16 @1024 (32,1):(16,0);
             value d*qs
  mxfp4_hexagon record nk 32,32 bytes 544: qs uint4 @0 (32,(2,16)):(8,(4,256)); e uint8 @512 (32,1):(8,0);
             value half_e8m0(e)*e2m1[qs]

kai Arm KleidiAI 495f6524, rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0: nr rows, chunks of kr / sr bytes
  qsi4c32p4x4 record nk 4,32 bytes 72: d float16 @0 (4,1):(16,0); qs int4 @8 (4,(4,4,2)):(32,(8,128,4)); value d*qs
    > The scales come first, which the code does and a comment of it denies. Padding rows repeat the last row.
  qsi4c32p4x8 record nk 4,32 bytes 72: d float16 @0 (4,1):(16,0); qs int4 @8 (4,(8,2,2)):(64,(8,256,4)); value d*qs
  qsi4c32p8x4 record nk 8,32 bytes 144: d float16 @0 (8,1):(16,0); qs int4 @16 (8,(4,4,2)):(32,(8,256,4)); value d*qs
  qsi4c32p8x8 record nk 8,32 bytes 144: d float16 @0 (8,1):(16,0); qs int4 @16 (8,(8,2,2)):(64,(8,512,4)); value d*qs

allspark vLLM a014e35f, allspark_repack.cu: 8-bit weights in blocks of 16 by 32
  w8a16 record kn 16,32 bytes 512 order 1 2 0 / 2,512: q uint8 @0 ((2,4,2),(8,4)):((8,128,16),(512,32))
    > Eight columns apart lie side by side, and all of k inside each of eight rows.

flashinfer FlashInfer fb28d724, shuffle_matrix_a: rows for the kernels of trtllm-gen
  shuffled16 record mk 16,1 bytes 16 order 0 2 1 / 2,8: q uint8 @0 ((2,8),1):((64,8),0)
  shuffled32 record mk 32,1 bytes 32 order 0 2 1 / 2,8: q uint8 @0 ((4,8),1):((64,8),0)
    > Where the epilogue's tile is a multiple of 128. Of two FP4 a byte, k counts bytes.

mx Triton f4fca2c0, triton_kernels, layout_details/hopper_scale.py: scales for kernels of 4 and of 8 warps
  hopper_warps4.scales record mk 128,2 bytes 256 order 0 2 1 / 2,512: q uint8 @0 ((8,2,4,2),2):((32,8,512,256),16)
  hopper_warps8.scales record mk 256,2 bytes 512 order 0 2 1 / 2,512: q uint8 @0 ((8,2,8,2),2):((32,8,512,256),16)
"""
