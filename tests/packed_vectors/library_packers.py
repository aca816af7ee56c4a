"""The packers that vendors wrote in C, C++ and CUDA, called in shared libraries that hold them.

The folder ``libraries`` beside the checkouts holds them. KleidiAI's library exports its own names. The others export a
plain function for each of the vendor's, which only sets up its arguments: ``librepack.so`` (``q4_0_4`` for
repack_q4_0_to_q4_0_4_bl, and so on), ``libamx.so`` (``amx_q4_0`` for convert_B_packed_format of that type),
``libhexagon.so`` (``hex_q4_0`` for repack_q4_0_tiled), ``libexllama.so`` (``shuffle`` for shuffle_4bit_8 of every
word), ``liballspark.so`` (``rearrange`` for AllSpark's kernel, thread by thread), ``libbitnet.so`` (``i2_s``,
``i2_s_1x4`` and ``i2_s_neon`` for BitNet's quantize_i2_s with ACT_PARALLEL, without it, and for NEON), ``libmlas.so``
(``mlas_fp32``, ``mlas_int8``, ``mlas_w8``, ``mlas_neon`` and ``mlas_neon_w8`` for MLAS's packers of those kernels) and
``libtinygemm.so`` (``tinygemm_rocm`` for PyTorch's kernel, thread by thread). ``machete.txt`` has what Machete's own
layout function gives: a line of the kernel, n, k and the offset of each element, k fastest.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from python_packers import Case, Pack, pairs
from recipe import Array, in_memory, scales

SIZE = ctypes.c_size_t


def pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def blocks(codes: Array, per: int, bits: int, far: int, size: int, at: int) -> Array:
    """ggml's blocks of ``per`` codes a row: ``size`` bytes each, the codes from byte ``at`` on, all else zero.

    A byte holds codes that lie ``far`` apart. The reader of GGUF files judges that order in the tests.
    """
    n, k = codes.shape
    count = 8 // bits
    near = codes.reshape(n, k // (far * count), count, far).transpose(0, 1, 3, 2).reshape(-1)
    packed = np.frombuffer(in_memory(near, bits), np.uint8).reshape(n, k // per, -1)
    made = np.zeros((n, k // per, size), np.uint8)
    made[:, :, at : at + packed.shape[2]] = packed
    return made


def cut(out: Array, record: int, at: int, count: int) -> bytes:
    """The codes' bytes of all records."""
    return bytes(out.reshape(-1, record)[:, at : at + count].tobytes())


def ggml_repacks(root: Path) -> list[Case]:
    """Rows of blocks side by side, as the CPU kernels read them; of each record the codes alone."""
    library = ctypes.CDLL(str(root / "libraries/librepack.so"))

    def pack(
        name: str, step: int, rows: int, bits: int, far: int, one: tuple[int, int, int], at: int, mask: int
    ) -> Pack:
        per, size, inside = one
        record = rows * size

        def made(c: Array) -> bytes:
            given = blocks(c ^ mask, per, bits, far, size, inside)
            out = np.zeros(given.size, np.uint8)
            n, k = c.shape
            call = getattr(library, name)
            if call(step, ctypes.c_int64(k), ctypes.c_int64(n), pointer(given), SIZE(given.nbytes), pointer(out)):
                raise ValueError(name)
            return cut(out, record, at, rows * per * bits // 8)

        return made

    # of one block: its codes, its bytes, where its codes begin
    q4_0, q8_0, mxfp4, q2_k, q4_k = (32, 18, 2), (32, 34, 2), (32, 17, 1), (256, 84, 16), (256, 144, 16)
    q5_k, q6_k, q6_k_high = (256, 176, 48), (256, 210, 0), (256, 210, 128)
    cases = []
    for name, function, step, rows, bits, far, one, at, mask in [
        ("q4_0_4x4", "q4_0_4", 4, 4, 4, 16, q4_0, 8, 8),
        ("q4_0_4x8", "q4_0_4", 8, 4, 4, 16, q4_0, 8, 8),
        ("q4_0_8x8", "q4_0_8", 8, 8, 4, 16, q4_0, 16, 8),
        ("q4_0_16x1", "q4_0_16", 1, 16, 4, 16, q4_0, 32, 8),
        ("iq4_nl_4x4", "iq4_nl_4", 4, 4, 4, 16, q4_0, 8, 0),
        ("iq4_nl_8x8", "iq4_nl_8", 8, 8, 4, 16, q4_0, 16, 0),
        ("iq4_nl_16x1", "iq4_nl_16", 1, 16, 4, 16, q4_0, 32, 0),
        ("mxfp4_4x4", "mxfp4_4", 4, 4, 4, 16, mxfp4, 4, 0),
        ("mxfp4_8x8", "mxfp4_8", 8, 8, 4, 16, mxfp4, 8, 0),
        ("q8_0_4x4", "q8_0_4", 4, 4, 8, 1, q8_0, 8, 0),
        ("q8_0_4x8", "q8_0_4", 8, 4, 8, 1, q8_0, 8, 0),
        ("q8_0_16x1", "q8_0_16", 1, 16, 8, 1, q8_0, 32, 0),
        ("q4_K_8x4", "q4_K_8", 4, 8, 4, 32, q4_k, 128, 0),
        ("q4_K_8x8", "q4_K_8", 8, 8, 4, 32, q4_k, 128, 0),
        ("q4_K_16x1", "q4_K_16", 1, 16, 4, 32, q4_k, 256, 0),
        ("q5_K_8x4", "q5_K_8", 4, 8, 4, 32, q5_k, 384, 0),
        ("q5_K_8x8", "q5_K_8", 8, 8, 4, 32, q5_k, 384, 0),
        ("q2_K_8x8", "q2_K_8", 8, 8, 2, 32, q2_k, 160, 0),
        ("q2_K_16x1", "q2_K_16", 1, 16, 2, 32, q2_k, 320, 0),
    ]:
        shapes = ((rows, 256), (3 * rows, 512))
        judge = f"llama.cpp b21e4de7, repack.cpp {function}_bl"
        cases.append(
            Case(f"ggml:{name}.quants", bits, shapes, judge, pack(function, step, rows, bits, far, one, at, mask))
        )
    for step in (4, 8):
        judge = "llama.cpp b21e4de7, repack.cpp q6_K_8_bl"
        shapes = ((8, 256), (24, 512))
        cases += [
            Case(f"ggml:q6_K_8x{step}.ql", 4, shapes, judge, pack("q6_K_8", step, 8, 4, 64, q6_k, 144, 0)),
            Case(f"ggml:q6_K_8x{step}.qh", 2, shapes, judge, pack("q6_K_8", step, 8, 2, 32, q6_k_high, 1168, 0)),
        ]
    return cases


def ggml_tiles(root: Path) -> list[Case]:
    """The tiles of Intel's AMX and of Qualcomm's Hexagon."""
    cases = []
    for file, prefix, name, types in [
        ("libamx.so", "amx", "amx", {"q4_0": (4, 18, 2, 288), "q4_1": (4, 20, 4, 320), "q8_0": (8, 34, 2, 608)}),
        (
            "libhexagon.so",
            "hex",
            "hexagon",
            {"q4_0": (4, 18, 2, 576), "q4_1": (4, 20, 4, 640), "q8_0": (8, 34, 2, 1088), "mxfp4": (4, 17, 1, 544)},
        ),
    ]:
        library = ctypes.CDLL(str(root / "libraries" / file))
        rows = 16 if name == "amx" else 32
        for kind, (bits, size, inside, record) in types.items():

            def made(
                c: Array,
                call: str = f"{prefix}_{kind}",
                bits: int = bits,
                size: int = size,
                inside: int = inside,
                record: int = record,
                rows: int = rows,
                library: ctypes.CDLL = library,
            ) -> bytes:
                n, k = c.shape
                given = blocks(c, 32, bits, 16 if bits == 4 else 1, size, inside)
                out = np.zeros(-(-n // rows) * (k // 32) * record, np.uint8)
                getattr(library, call)(ctypes.c_int64(k), ctypes.c_int64(n), pointer(given), pointer(out))
                return cut(out, record, 0, rows * 32 * bits // 8)

            judge = f"llama.cpp b21e4de7, {'amx/mmq.cpp' if name == 'amx' else 'ggml-hexagon.cpp'}"
            cases.append(Case(f"ggml:{kind}_{name}.quants", bits, ((rows, 64), (3 * rows, 160)), judge, made))
    return cases


def kleidiai(root: Path) -> list[Case]:
    """Rows in groups of nr, chunks of kr / sr bytes; the codes lie before or between the scales."""
    library = ctypes.CDLL(str(root / "libraries/libkleidiai.so"))
    zero_points = np.array([1, 8], np.uint8)
    one, none = SIZE(1), ctypes.c_void_p()

    def per_channel(nr: int, chunk: int) -> Pack:
        def made(c: Array) -> bytes:
            n, k = c.shape
            given, scales = pairs(c ^ 8).copy(), np.ones(n, np.float32)
            record = nr * (k // 2 + 12)
            out = np.zeros(n // nr * record, np.uint8)
            library.kai_run_rhs_pack_nxk_qsi4cxp_qs4cxs1s0(
                one,
                *map(SIZE, (n, k, nr, 2 * chunk, 2)),
                *(pointer(given), none, pointer(scales), pointer(out), SIZE(0), pointer(zero_points)),
            )
            return cut(out, record, 0, nr * k // 2)

        return made

    def in_blocks(nr: int, chunk: int) -> Pack:
        def made(c: Array) -> bytes:
            n, k = c.shape
            given = blocks(c ^ 8, 32, 4, 16, 18, 2)
            out = np.zeros(given.size, np.uint8)
            library.kai_run_rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0(
                one,
                *map(SIZE, (n, k, nr, 2 * chunk, 2, 32)),
                *(pointer(given), none, pointer(out), SIZE(0), pointer(zero_points)),
            )
            return cut(out, 18 * nr, 2 * nr, 16 * nr)

        return made

    file = "KleidiAI 495f6524"
    shapes = [(nr, chunk) for nr in (4, 8) for chunk in (4, 8)]
    return [
        Case(f"kai:{name}{nr}x{chunk}.quants", 4, ((nr, 64), (3 * nr, 160)), f"{file}, {judge}", kind(nr, chunk))
        for name, judge, kind in [
            ("qsi4cxp", "rhs_pack_nxk_qsi4cxp_qs4cxs1s0", per_channel),
            ("qsi4c32p", "rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0", in_blocks),
        ]
        for nr, chunk in shapes
    ]


def records(root: Path) -> list[Case]:
    """Whole tiles and packs, their scales included: of blocks with the codes, and with scales that are no numbers."""
    amx, hexagon, kai, spark = [
        ctypes.CDLL(str(root / f"libraries/lib{name}.so")) for name in ("amx", "hexagon", "kleidiai", "allspark")
    ]

    def given(c: Array, size: int, at: int) -> Array:
        n, k = c.shape
        made = blocks(c, 32, c_bits(size), 16 if c_bits(size) == 4 else 1, size, at)
        for field, place in (("d", 0), ("m", 2))[: at // 2]:
            made[:, :, place : place + 2] = scales(field, (n, k // 32))[..., None].view(np.uint8)
        if at == 1:
            made[:, :, 0] = scales("e", (n, k // 32))
        return made

    def tiles(library: ctypes.CDLL, call: str, size: int, at: int, rows: int, record: int) -> Pack:
        def made(c: Array) -> bytes:
            n, k = c.shape
            source = given(c, size, at)
            out = np.zeros(n // rows * (k // 32) * record, np.uint8)
            getattr(library, call)(ctypes.c_int64(k), ctypes.c_int64(n), pointer(source), pointer(out))
            return bytes(out.tobytes())

        return made

    def arm(nr: int, chunk: int) -> Pack:
        def made(c: Array) -> bytes:
            n, k = c.shape
            source = given(c, 18, 2)
            out = np.zeros(source.size, np.uint8)
            kai.kai_run_rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0(
                *map(SIZE, (1, n, k, nr, 2 * chunk, 2, 32)),
                *(pointer(source), ctypes.c_void_p(), pointer(out), SIZE(0), pointer(np.array([1, 8], np.uint8))),
            )
            return bytes(out.tobytes())

        return made

    def allspark(part: int) -> Pack:
        def made(c: Array) -> bytes:
            k, n = c.shape if part == 0 else (64, c.shape[1])
            weights = np.ascontiguousarray(c if part == 0 else np.zeros((k, n)), np.uint8)
            beside = np.ascontiguousarray(c if part else np.zeros(n), np.uint16)
            out, beside_out = np.zeros(k * n, np.uint8), np.zeros(n, np.uint16)
            spark.rearrange(*map(pointer, (weights, beside, out, beside_out)), k, n, n)
            return bytes((out, beside_out)[part].tobytes())

        return made

    file = "llama.cpp b21e4de7"
    many = [
        Case("ggml:q4_0_amx", 4, ((16, 64), (48, 160)), file, tiles(amx, "amx_q4_0", 18, 2, 16, 288)),
        Case("ggml:q4_1_amx", 4, ((16, 64), (48, 160)), file, tiles(amx, "amx_q4_1", 20, 4, 16, 320)),
        Case("ggml:q4_0_hexagon", 4, ((32, 64), (96, 160)), file, tiles(hexagon, "hex_q4_0", 18, 2, 32, 576)),
        Case("ggml:q4_1_hexagon", 4, ((32, 64), (96, 160)), file, tiles(hexagon, "hex_q4_1", 20, 4, 32, 640)),
        Case("ggml:q8_0_hexagon", 8, ((32, 64), (96, 160)), file, tiles(hexagon, "hex_q8_0", 34, 2, 32, 1088)),
        Case("ggml:mxfp4_hexagon", 4, ((32, 64), (96, 160)), file, tiles(hexagon, "hex_mxfp4", 17, 1, 32, 544)),
    ]
    judge = "KleidiAI 495f6524, rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0"
    many += [
        Case(f"kai:qsi4c32p{nr}x{chunk}", 4, ((nr, 64), (3 * nr, 160)), judge, arm(nr, chunk))
        for nr in (4, 8)
        for chunk in (4, 8)
    ]
    judge = "vLLM a014e35f, rearrange_kn_weight_as_n32k16_order"
    return [
        *many,
        Case("allspark:w8a16", 8, ((16, 32), (80, 160)), judge, allspark(0)),
        Case("allspark:w8a16.scales", 16, ((1, 32), (1, 160)), judge, allspark(1)),
    ]


def c_bits(size: int) -> int:
    """The width of the codes in ggml's blocks of 32 that have so many bytes."""
    return 8 if size > 32 else 4


def exllama(root: Path) -> list[Case]:
    """Words of GPTQ, each of them shuffled."""
    library = ctypes.CDLL(str(root / "libraries/libexllama.so"))

    def made(c: Array) -> bytes:
        k, n = c.shape
        words = np.frombuffer(in_memory(c.reshape(k // 8, 8, n).transpose(0, 2, 1), 4), np.uint32).copy()
        library.shuffle(pointer(words), words.size)
        return bytes(words.tobytes())

    return [Case("exllama:w4", 4, ((8, 24), (64, 40)), "exllamav2, qdq_4.cuh shuffle_4bit_8", made)]


def machete(root: Path) -> list[Case]:
    """Codes put where the layout that Machete's prepack kernel writes by, ilvd_NKbNbKL_to_offset, has them."""
    tables = {}
    for line in (root / "libraries/machete.txt").read_text().splitlines():
        name, n, k, *offsets = line.split()
        tables[name, int(n), int(k)] = np.array(offsets, int)

    def pack(name: str) -> Pack:
        def made(c: Array) -> bytes:
            packed = np.empty(c.size, np.uint8)
            packed[tables[name, *c.shape]] = c.reshape(-1)
            return in_memory(packed, 8 if name == "w8a16" else 4)

        return made

    judge = "vLLM a014e35f, machete_prepacked_layout.cuh"
    shapes = ((256, 192), (384, 128))
    return [Case(f"machete:{name}", bits, shapes, judge, pack(name)) for name, bits in MACHETE]


MACHETE = (("w4a16", 4), ("w8a16", 8), ("w4a8", 4))


def bitnet_i2_s(root: Path) -> list[Case]:
    """Ternary weights of BitNet's CPU kernels, from -1, 0 and 1 in float32; the scale behind them is left out."""
    library = ctypes.CDLL(str(root / "libraries/libbitnet.so"))

    def pack(name: str) -> Pack:
        def made(c: Array) -> bytes:
            n, k = c.shape
            given = np.ascontiguousarray(c.astype(np.float32) - 1)
            out = np.zeros(n * k // 4 + 32, np.uint8)
            getattr(library, name)(pointer(given), pointer(out), ctypes.c_int64(n), ctypes.c_int64(k))
            return bytes(out[: n * k // 4].tobytes())

        return made

    judge = "BitNet 16da220, quantize_i2_s"
    return [
        Case("bitnet:i2_s", 2, ((3, 128), (8, 384)), judge, pack("i2_s"), 3),
        Case("bitnet:i2_s_neon", 2, ((3, 64), (8, 192)), judge, pack("i2_s_neon"), 3),
        Case("bitnet:i2_s_1x4", 2, ((4, 9), (12, 64)), judge, pack("i2_s_1x4"), 3),
    ]


def mlas(root: Path) -> list[Case]:
    """ONNX Runtime's weights, blocks of codes along k in pairs, as its CPU kernels want them; the codes alone."""
    library = ctypes.CDLL(str(root / "libraries/libmlas.so"))

    def pack(name: str, bits: int, *sizes: int) -> Pack:
        def made(c: Array) -> bytes:
            n, k = c.shape
            given = np.frombuffer(in_memory(c, bits), np.uint8).copy()
            out = np.zeros_like(given)
            getattr(library, name)(SIZE(n), SIZE(k), *[SIZE(size) for size in sizes], pointer(given), pointer(out))
            return bytes(out.tobytes())

        return made

    file = "ONNX Runtime 89b01b406ca, MLAS "
    shapes = ((4, 128), (12, 384))
    cases = []
    for block, name in [(16, "fp32_16"), (32, "fp32_32"), (64, "fp32_64"), (128, "fp32_64")]:
        judge = f"{file}SQ4BitGemmPackQuantBData, blocks of {block}"
        cases.append(Case(f"mlas:w4_{name}", 4, shapes, judge, pack("mlas_fp32", 4, block)))
    for block in (32, 64, 128):
        for sub, name in [(64, "avx2"), (128, "avx512")]:
            judge = f"{file}PackQuantB, blocks of {block}"
            cases.append(Case(f"mlas:w4_int8_{name}", 4, shapes, judge, pack("mlas_int8", 4, block, sub)))
            judge = f"{file}Q8PackQuantB, blocks of {block}"
            cases.append(Case(f"mlas:w8_int8_{name}", 8, shapes, judge, pack("mlas_w8", 8, block, sub)))
    for block, int8, name in [(16, 0, "fp32_neon"), (64, 0, "fp32_neon"), (32, 1, "int8_neon"), (128, 1, "int8_neon")]:
        judge = f"{file}SQ4BitGemmPackQuantBData of NEON, blocks of {block}"
        cases.append(Case(f"mlas:w4_{name}", 4, shapes, judge, pack("mlas_neon", 4, block, int8)))
    judge = f"{file}Q8PackQuantB of NEON"
    cases.append(Case("mlas:w8_int8_neon", 8, ((8, 64), (24, 96)), judge, pack("mlas_neon_w8", 8, 32)))
    return cases


def tinygemm_rocm(root: Path) -> list[Case]:
    """PyTorch's kernel as it is compiled for ROCm, thread by thread; its input has the first code in the high half."""
    library = ctypes.CDLL(str(root / "libraries/libtinygemm.so"))

    def pack(name: str, tiles: int) -> Pack:
        def made(c: Array) -> bytes:
            n, k = c.shape
            given = np.ascontiguousarray(c[:, ::2] << 4 | c[:, 1::2])
            out = np.zeros(n * k // 2, np.uint8)
            getattr(library, name)(n, k, tiles, pointer(given), pointer(out))
            return bytes(out.tobytes())

        return made

    judge = "PyTorch, matrix_to_m16n8k16_Bint4_layout with USE_ROCM"
    return [
        Case(f"tinygemm:rocm_k{t}", 4, ((16, 16 * t), (48, 48 * t)), judge, pack("tinygemm_rocm", t)) for t in (2, 4, 8)
    ]


FAMILIES = (ggml_repacks, ggml_tiles, kleidiai, exllama, machete, records, bitnet_i2_s, mlas, tinygemm_rocm)
