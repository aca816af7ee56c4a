"""NVIDIA's instructions run on a device, operands placed and read by the layouts of ``relayout.atoms``.

Each is a kernel of PTX around one instruction: every thread loads its registers, runs it and stores its registers.
Random small integers make every sum exact.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import relayout as rl
from relayout.hardware import Atom, Operand, tma_box

BITS = {"f64": 64, "tf32": 32, "f32": 32, "s32": 32, "f16": 16, "bf16": 16, "s4": 4, "u4": 4, "u2": 2, "b1": 1}
LOWEST = {"u8": 0, "u4": 0, "b1": 0}
HIGHEST = {"b1": 1}
PTX = ".version 8.7\n.target sm_90a\n.address_size 64\n"


def bits_of(element: str) -> int:
    return BITS.get(element, 8)


# ---- numbers as bits -------------------------------------------------------------------------------------


def numbers(dice: np.random.Generator, operand: Operand) -> Any:
    low, high = LOWEST.get(operand.element, -3), HIGHEST.get(operand.element, 3)
    return dice.integers(low, high + 1, operand.tile)


def codes(x: Any, element: str) -> Any:
    """The bit patterns of small integers, as unsigned numbers."""
    if element in ("f16", "f64"):
        return x.astype(f"f{bits_of(element) // 8}").view(f"u{bits_of(element) // 8}").astype(np.uint64)
    if element in ("f32", "tf32", "bf16"):
        return x.astype(np.float32).view(np.uint32).astype(np.uint64) >> (16 if element == "bf16" else 0)
    if element in ("e4m3", "e5m2"):
        mantissa, bias = (3, 7) if element == "e4m3" else (2, 15)
        table = {0: 0}
        for value in (1, 2, 3):
            power = value.bit_length() - 1
            table[value] = (power + bias) << mantissa | (value - (1 << power)) << mantissa >> power
        return np.vectorize(lambda v: table[abs(int(v))] | (128 if v < 0 else 0), otypes=[np.uint64])(x)
    return x.astype(np.int64).astype(np.uint64) & np.uint64((1 << bits_of(element)) - 1)


def values(found: Any, element: str) -> Any:
    """Bit patterns of an accumulator, back as numbers."""
    if element == "f16":
        return found.astype(np.uint16).view(np.float16)
    if element == "f64":
        return found.astype(np.uint64).view(np.float64)
    return found.astype(np.uint32).view(np.float32 if element == "f32" else np.int32)


@cache
def places(layout: rl.Layout) -> Any:
    """Where each value of each thread lies, as a table."""
    return np.array([[layout(t, v) for v in range(layout.extents[1])] for t in range(layout.extents[0])])


def registers(operand: Operand, matrix: Any) -> Any:
    """The words of each thread: its values one after another, the first in the lowest bits."""
    flat = codes(matrix, operand.element).ravel(order="F")
    return packed(flat[places(operand.layout)], bits_of(operand.element))


def packed(found: Any, bits: int) -> Any:
    """Rows of codes as rows of words."""
    spread = (found[..., None] >> np.arange(bits, dtype=np.uint64) & np.uint64(1)).astype(np.uint8)
    return np.packbits(spread.reshape(len(found), -1), axis=1, bitorder="little").view(np.uint32)


def matrix_of(operand: Operand, words: Any) -> Any:
    """The tile that the threads' words hold."""
    bits = bits_of(operand.element)
    spread = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    spread = spread.reshape(len(words), -1, bits).astype(np.uint64)
    found = (spread << np.arange(bits, dtype=np.uint64)).sum(axis=2, dtype=np.uint64)
    flat = np.zeros(int(np.prod(operand.tile)), np.uint64)
    flat[places(operand.layout)] = found
    return values(flat, operand.element).reshape(operand.tile, order="F")


def expected(atom: Atom, a: Any, b: Any, c: Any) -> Any:
    if "popc" in atom.name:
        join = np.bitwise_xor if ".xor." in atom.name else np.bitwise_and
        return join(a[:, None], b[None]).sum(axis=2) + c
    return a @ b.T + c


# ---- kernels ---------------------------------------------------------------------------------------------


def kernel(parameters: int, body: list[str], shared: int = 0) -> str:
    """A kernel whose parameters are addresses in ``%rd0`` and up; ``%r0`` is the thread."""
    memory = [f".shared .align 1024 .b8 memory[{shared}];"] if shared else []
    arguments = ", ".join([f".param .u64 p{i}" for i in range(parameters)])
    loads = [f"ld.param.u64 %rd{i}, [p{i}];\ncvta.to.global.u64 %rd{i}, %rd{i};" for i in range(parameters)]
    lines = [
        f".visible .entry run({arguments})\n{{",
        ".reg .b32 %r<400>; .reg .f32 %f<400>; .reg .f64 %d<400>; .reg .b64 %rd<40>; .reg .pred %p<4>;",
        *memory,
        "mov.u32 %r0, %tid.x;",
        *loads,
        *body,
        "ret;\n}",
    ]
    return PTX + "\n".join(lines)


def listed(element: str, count: int, start: int) -> tuple[list[str], str, int]:
    """The registers of so many values of a thread: their names, their type and their bytes."""
    bits = bits_of(element)
    if bits == 64:
        return [f"%d{start + i}" for i in range(count)], "f64", 8
    if element == "f32":
        return [f"%f{start + i}" for i in range(count)], "f32", 4
    return [f"%r{start + i}" for i in range(count * bits // 32)], "b32", 4


def move(way: str, pointer: int, names: list[str], kind: str, width: int) -> list[str]:
    """Loads or stores of a thread's registers, which lie together."""
    lines = [f"mul.wide.u32 %rd30, %r0, {len(names) * width};", f"add.u64 %rd31, %rd{pointer}, %rd30;"]
    for i, name in enumerate(names):
        at = f"[%rd31+{i * width}]"
        lines.append(f"ld.global.{kind} {name}, {at};" if way == "ld" else f"st.global.{kind} {at}, {name};")
    return lines


def braces(names: list[str]) -> str:
    return f"{{{', '.join(names)}}}"


def run(text: str, width: int, *arrays: Any) -> list[Any]:
    """Run a kernel by so many threads, and give the arrays back as it left them."""
    import cupy

    module = cupy.cuda.function.Module()
    module.load(text.encode())
    device = [cupy.asarray(np.ascontiguousarray(array)) for array in arrays]
    module.get_function("run")((1, 1, 1), (width, 1, 1), tuple(array.data.ptr for array in device))
    cupy.cuda.runtime.deviceSynchronize()
    return [cupy.asnumpy(array) for array in device]


# ---- mma.sync --------------------------------------------------------------------------------------------


def mma_kernel(atom: Atom) -> str:
    spelled = atom.name.removeprefix("mma.").split(".")
    orders = [] if spelled[1] in ("row", "col") else ["row", "col"]
    name = ".".join(["mma.sync.aligned", spelled[0], *orders, *spelled[1:]])
    groups = {
        one.name: listed(one.element, one.layout.extents[1], start)
        for one, start in zip(atom.operands, (10, 110, 210, 310))
    }
    body = [line for i, which in enumerate("ABC") for line in move("ld", i, *groups[which])]
    body.append(f"{name} {', '.join([braces(groups[which][0]) for which in 'DABC'])};")
    return kernel(4, body + move("st", 3, *groups["D"]))


def mma_sync() -> int:
    """Every ``mma.sync`` that the device has, four quad pairs at a time where eight threads run one."""
    dice, done = np.random.default_rng(1), 0
    for name, atom in rl.atoms.items():
        if not name.startswith("mma.m") or "an H200" not in atom.judges:
            continue
        a, b, c = (atom.operand(which) for which in "ABC")
        count = 32 // atom.threads
        lanes = atom.lanes or rl.Layout(32)
        given = [[numbers(dice, one) for one in (a, b, c)] for _ in range(count)]
        words = [np.zeros((32, registers(one, given[0][i]).shape[1]), np.uint32) for i, one in enumerate((a, b, c))]
        for group, i in product(range(count), range(3)):
            for t, row in enumerate(registers((a, b, c)[i], given[group][i])):
                words[i][lanes(t) + 4 * group] = row
        d = atom.operand("D")
        out = np.zeros((32, d.layout.extents[1] * bits_of(d.element) // 32), np.uint32)
        found = run(mma_kernel(atom), 32, *words, out)[3]
        for group in range(count):
            mine = found[[lanes(t) + 4 * group for t in range(atom.threads)]]
            assert np.array_equal(matrix_of(d, mine), expected(atom, *given[group])), name
        done += 1
    return done


# ---- mma.sp ----------------------------------------------------------------------------------------------


def sparse_kernel(atom: Atom, selector: int) -> str:
    """The parameters: A, B, C, D and E; the selector says which lanes of four give E."""
    spelled = atom.name.removeprefix("mma.sp.").split(".")
    name = ".".join(["mma.sp::ordered_metadata.sync.aligned", spelled[0], "row.col", *spelled[1:]])
    groups = {
        one.name: listed(one.element, one.layout.extents[1], start)
        for one, start in zip(atom.operands, (10, 110, 210, 310, 390))
    }
    body = [line for i, which in enumerate("ABC") for line in move("ld", i, *groups[which])]
    body += move("ld", 4, *groups["E"])
    body.append(f"{name} {', '.join([braces(groups[w][0]) for w in 'DABC'])}, {groups['E'][0][0]}, {selector};")
    return kernel(5, body + move("st", 3, *groups["D"]))


def spread(dice: np.random.Generator, atom: Atom, kept: Any) -> tuple[Any, Any]:
    """Where the kept elements are in a dense A, at random but in order: that A, and E."""
    m, _, k = atom.shape
    dense = np.zeros((m, k), kept.dtype)
    width = bits_of(atom.operand("A").element)
    chosen = np.zeros(atom.operand("E").tile, int)
    if width == 32:
        for row, part in np.ndindex(m, k // 2):
            place = dice.integers(2)
            dense[row, 2 * part + place] = kept[row, part]
            chosen[row, part] = (4, 14)[place]
        return dense, chosen
    size = 2 if width == 4 else 1
    for row, part in np.ndindex(m, k // (4 * size)):
        places = sorted(dice.permutation(4)[:2])
        chosen[row, 2 * part : 2 * part + 2] = places
        for i, place in enumerate(places):
            start, origin = size * (4 * part + place), size * (2 * part + i)
            dense[row, start : start + size] = kept[row, origin : origin + size]
    return dense, chosen


def mma_sparse() -> int:
    """Every ``mma.sp`` that the device has, with E from each of the lanes that may give it."""
    dice, done = np.random.default_rng(6), 0
    for name, atom in rl.atoms.items():
        if not name.startswith("mma.sp."):
            continue
        a, b, c, e, d = (atom.operand(which) for which in "ABCED")
        for selector in range(atom.threads * e.layout.extents[1] // int(np.prod(e.tile))):
            given = [numbers(dice, one) for one in (a, b, c)]
            dense, chosen = spread(dice, atom, given[0])
            words = [registers(one, matrix) for one, matrix in zip((a, b, c, e), (*given, chosen))]
            out = np.zeros((32, d.layout.extents[1] * bits_of(d.element) // 32), np.uint32)
            found = run(sparse_kernel(atom, selector), 32, *words[:3], out, words[3])[3]
            assert np.array_equal(matrix_of(d, found), dense @ given[1].T + given[2]), (name, selector)
            done += 1
    return done


# ---- wgmma -----------------------------------------------------------------------------------------------

MODES = {"INTER": 0, "SW128": 1, "SW64": 2, "SW32": 3}


class Shared:
    """An operand in shared memory, laid out by tiles of the catalog, and its descriptor."""

    def __init__(self, operand: Operand, matrix: Any, tile: str):
        bits = bits_of(operand.element)
        self.along_k = tile.startswith("smem:K_")
        content = codes(matrix, operand.element)
        if bits < 8:  # bits along k as bytes
            content = packed(content.astype(np.uint64), bits).view(np.uint8).astype(np.uint64)
            bits = 8
        layout = rl.catalog.get(tile, element_bits=bits)
        self.fits = all(size % part == 0 or k for k, (size, part) in enumerate(zip(content.shape, layout.shape)))
        if not self.fits:
            return
        rows, columns = content.shape[0], max(content.shape[1], layout.shape[1])
        whole = rl.tile_to_shape(layout, (rows, columns))
        size = bits // 8
        room = np.zeros(whole.storage_size, f"u{size}")
        for r, k in np.ndindex(*content.shape):
            room[whole(r, k)] = content[r, k]
        self.bytes = room.view(np.uint8)
        plain = rl.Layout(whole.shape, whole.stride)
        step = [
            plain(*[n if d == dim else 0 for d in (0, 1)]) * size if n < whole.extents[dim] else 0
            for dim, n in ((0, layout.shape[0]), (1, layout.shape[1] if self.along_k and "INTER" in tile else 8))
        ]
        if not self.along_k and "INTER" not in tile:
            leading, stride = step
        elif not self.along_k:
            stride, leading = step
        else:
            stride, leading = step[0], step[1] if "INTER" in tile else 16
        self.descriptor = MODES[tile.rpartition("_")[2]] << 62 | stride >> 4 << 32 | leading >> 4 << 16


def wgmma_kernel(atom: Atom, in_registers: bool, turned: tuple[bool, bool], room: int) -> str:
    """The parameters: A's registers, C, D, the bytes of shared memory, and the two descriptors without addresses."""
    shape, types = atom.name.split(".")[1], atom.name.split(".")[2:]
    c = atom.operand("C")
    d_names, d_kind, d_width = listed(c.element, c.layout.extents[1], 100)
    a = atom.operand("A")
    a_names, a_kind, a_width = listed("s32", a.layout.extents[1] * bits_of(a.element) // 32, 20)
    floats = c.element != "s32"
    halves = a.element in ("f16", "bf16")
    more = ", 1, 1" if floats else ""
    if halves:
        more += f", {int(turned[1])}" if in_registers else f", {int(turned[0])}, {int(turned[1])}"
    first = braces(a_names) if in_registers else "%rd20"
    body = [
        *(move("ld", 0, a_names, a_kind, a_width) if in_registers else []),
        *move("ld", 1, d_names, d_kind, d_width),
        "mov.u32 %r1, memory;",
        "shl.b32 %r2, %r0, 4;",
        "loop:",
        "cvt.u64.u32 %rd10, %r2;",
        "add.u64 %rd10, %rd10, %rd3;",
        "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd10];",
        "add.u32 %r3, %r1, %r2;",
        "st.shared.v4.b32 [%r3], {%r4, %r5, %r6, %r7};",
        "add.u32 %r2, %r2, 2048;",
        f"setp.lt.u32 %p0, %r2, {room};",
        "@%p0 bra loop;",
        "fence.proxy.async;",
        "bar.sync 0;",
        "ld.global.u64 %rd20, [%rd4];",
        "ld.global.u64 %rd21, [%rd4+8];",
        "shr.u32 %r8, %r1, 4;",
        "cvt.u64.u32 %rd22, %r8;",
        "add.u64 %rd20, %rd20, %rd22;",
        "add.u64 %rd21, %rd21, %rd22;",
        "setp.eq.u32 %p1, %r1, %r1;",
        "wgmma.fence.sync.aligned;",
        f"wgmma.mma_async.sync.aligned.{shape}.{'.'.join(types)} {braces(d_names)}, {first}, %rd21, %p1{more};",
        "wgmma.commit_group.sync.aligned;",
        "wgmma.wait_group.sync.aligned 0;",
        *move("st", 2, d_names, d_kind, d_width),
    ]
    return kernel(5, body, room)


def try_wgmma(dice: np.random.Generator, atom: Atom, a_tile: str, b_tile: str) -> bool:
    """One ``wgmma``; A is in registers where it has no tile. Whether the tiles fit the shape."""
    a, b, c, d = (atom.operand(which) for which in "ABCD")
    given = [numbers(dice, one) for one in (a, b, c)]
    shared = [Shared(a, given[0], a_tile or "smem:K_INTER"), Shared(b, given[1], b_tile)]
    if not all(one.fits for one in shared):
        return False
    starts = [0, -(-len(shared[0].bytes) // 1024) * 1024]
    room = -(-(starts[1] + len(shared[1].bytes)) // 2048) * 2048
    image = np.zeros(room, np.uint8)
    for start, one in zip(starts, shared):
        image[start : start + len(one.bytes)] = one.bytes
    descriptors = np.array([one.descriptor + (start >> 4) for start, one in zip(starts, shared)], np.uint64)
    turned = (not shared[0].along_k, not shared[1].along_k)
    text = wgmma_kernel(atom, not a_tile, turned, room)
    out = np.zeros((128, d.layout.extents[1] * bits_of(d.element) // 32), np.uint32)
    words = [registers(a, given[0]), registers(c, given[2])]
    found = run(text, 128, *words, out, image, descriptors)[2]
    assert np.array_equal(matrix_of(d, found), expected(atom, *given)), (atom.name, a_tile, b_tile)
    return True


def wgmma_registers() -> int:
    """Every ``wgmma``, with A in registers."""
    dice = np.random.default_rng(2)
    found = [atom for name, atom in rl.atoms.items() if name.startswith("wgmma.")]
    return sum(try_wgmma(dice, atom, "", "smem:K_SW128") for atom in found)


def wgmma_tiles() -> int:
    """Every pair of tiles of shared memory, for one type of each width."""
    dice, done = np.random.default_rng(3), 0
    for name in (
        "m64n64k16.f32.f16.f16",
        "m64n64k8.f32.tf32.tf32",
        "m64n64k32.f32.e4m3.e4m3",
        "m64n128k16.f32.bf16.bf16",
    ):
        atom = rl.atoms[f"wgmma.{name}"]
        for pair in product(("", *atom.operand("A").tiles), atom.operand("B").tiles):
            done += try_wgmma(dice, atom, *pair)
    return done


# ---- copies of matrices ----------------------------------------------------------------------------------


def copy_kernel(atom: Atom, full: str, count: int) -> str:
    """The parameters: shared memory's words, the slot of each lane's row, and the words of the registers."""
    names = [f"%r{20 + i}" for i in range(count)]
    body = [
        "mov.u32 %r1, memory;",
        *move("ld", 1, ["%r2"], "b32", 4),
        "shl.b32 %r2, %r2, 4;",
        "add.u32 %r2, %r2, %r1;",
        *move("ld", 0, [f"%r{100 + i}" for i in range(16)], "b32", 4),
        "shl.b32 %r3, %r0, 6;",
        "add.u32 %r3, %r3, %r1;",
        *[f"st.shared.b32 [%r3+{4 * i}], %r{100 + i};" for i in range(16)],
        "bar.sync 0;",
    ]
    if atom.name.startswith("ldmatrix"):
        body += [f"{full} {braces(names)}, [%r2];", *move("st", 2, names, "b32", 4)]
    else:
        body += [
            *move("ld", 2, names, "b32", 4),
            f"{full} [%r2], {braces(names)};",
            "bar.sync 0;",
            *[f"ld.shared.b32 %r{100 + i}, [%r3+{4 * i}];" for i in range(16)],
            *move("st", 0, [f"%r{100 + i}" for i in range(16)], "b32", 4),
        ]
    return kernel(3, body, 2048)


def bits(words: Any) -> Any:
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")


def matrix_copies() -> int:
    """``ldmatrix`` and ``stmatrix`` with rows in any order in shared memory, and ``movmatrix``."""
    dice, done = np.random.default_rng(4), 0
    for count, way, trans in product((1, 2, 4), ("ld", "st"), ("", ".trans")):
        atom = rl.atoms[f"{way}matrix.x{count}{trans}"]
        memory, held = (atom.src, atom.dst) if way == "ld" else (atom.dst, atom.src)
        content = dice.integers(0, 2, 128 * 8 * count, np.uint8)  # the bits of the matrices, row by row
        slots = dice.permutation(128)[: 8 * count]
        lanes = np.array([slots[memory(t, 0) // 128] for t in range(32)], np.uint32)
        placed = np.zeros((128, 128), np.uint8)
        placed[slots] = content.reshape(-1, 128)
        have = np.array([[content[held(t, v)] for v in range(32 * count)] for t in range(32)])
        words = np.packbits(have, axis=1, bitorder="little").view(np.uint32)
        full = f"{way}matrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
        image = np.packbits(placed.ravel(), bitorder="little").view(np.uint32)
        given = (image, lanes, np.zeros_like(words)) if way == "ld" else (np.zeros_like(image), lanes, words)
        after = run(copy_kernel(atom, full, count), 32, *given)
        assert np.array_equal(after[2 if way == "ld" else 0], words if way == "ld" else image), atom.name
        done += 1
    atom = rl.atoms["movmatrix.trans"]
    content = dice.integers(0, 2, 1024, np.uint8)
    words = [
        np.packbits([[content[f(t, v)] for v in range(32)] for t in range(32)], axis=1, bitorder="little").view("u4")
        for f in (atom.src, atom.dst)
    ]
    body = [*move("ld", 0, ["%r2"], "b32", 4), "movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;"]
    moved = run(kernel(2, body + move("st", 1, ["%r3"], "b32", 4)), 32, words[0], np.zeros_like(words[0]))[1]
    assert np.array_equal(moved, words[1])
    return done + 1


# ---- boxes -----------------------------------------------------------------------------------------------


def tensor_map(address: int, sizes: list[int], strides: list[int], box: list[int], kind: int, swizzle: int) -> Any:
    """The driver's description of a tensor: sizes and box fastest first, strides in bytes from the second one on."""
    driver = ctypes.CDLL("libcuda.so.1")
    room = (ctypes.c_uint64 * 32)()
    start = ctypes.addressof(room)
    start += -start % 64
    wide, narrow = ctypes.c_uint64 * len(sizes), ctypes.c_uint32 * len(sizes)
    status = driver.cuTensorMapEncodeTiled(
        ctypes.c_void_p(start), kind, len(sizes), ctypes.c_void_p(address), wide(*sizes), wide(*strides, 0),
        narrow(*box), narrow(*[1] * len(sizes)), 0, swizzle, 0, 0,
    )  # fmt: skip
    assert status == 0, (status, box, swizzle)
    return np.frombuffer(ctypes.string_at(start, 128), np.uint8)


def box_bytes(box: tuple[int, ...], size: int, swizzle: int, room: int) -> tuple[Any, Any]:
    """A box of a tensor of random bytes, and shared memory after the engine has copied it."""
    import cupy

    rank = len(box)
    sizes = [max(2 * n, 16) for n in box]
    dice = np.random.default_rng(5)
    whole = dice.integers(1, 256, (*sizes[::-1], size), np.uint8)
    device = cupy.asarray(whole)
    strides = [int(np.prod(sizes[: k + 1])) * size for k in range(rank - 1)]
    kind = {1: 0, 2: 1, 4: 2, 8: 4}[size]
    description = tensor_map(device.data.ptr, sizes, strides, list(box), kind, swizzle)
    count = int(np.prod(box)) * size
    body = [
        "mov.u32 %r1, memory;",
        "mov.u32 %r2, bar;",
        "setp.ne.u32 %p0, %r0, 0;",
        "mov.u32 %r5, %r0;",
        "fill: shl.b32 %r3, %r5, 2;",
        "add.u32 %r3, %r3, %r1;",
        "st.shared.b32 [%r3], 0;",
        "add.u32 %r5, %r5, 32;",
        f"setp.lt.u32 %p1, %r5, {room // 4};",
        "@%p1 bra fill;",
        "fence.proxy.async;",
        "bar.sync 0;",
        "@%p0 bra wait;",
        "mbarrier.init.shared.b64 [%r2], 1;",
        "fence.mbarrier_init.release.cluster;",
        f"mbarrier.arrive.expect_tx.shared.b64 %rd20, [%r2], {count};",
        f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
        f"[%rd0, {{{', '.join(['%r10'] * rank)}}}], [%r2];",
        "wait: bar.sync 0;",
        "try: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;",
        "@!%p2 bra try;",
        "mov.u32 %r5, %r0;",
        "store: shl.b32 %r3, %r5, 2;",
        "add.u32 %r4, %r3, %r1;",
        "ld.shared.b32 %r6, [%r4];",
        "cvt.u64.u32 %rd10, %r3;",
        "add.u64 %rd10, %rd10, %rd1;",
        "st.global.b32 [%rd10], %r6;",
        "add.u32 %r5, %r5, 32;",
        f"setp.lt.u32 %p1, %r5, {room // 4};",
        "@%p1 bra store;",
    ]
    text = kernel(2, ["mov.u32 %r10, 0;", *body], room).replace(
        "mov.u32 %r0", ".shared .align 8 .b64 bar;\nmov.u32 %r0", 1
    )
    found = run(text, 32, description, np.zeros(room, np.uint8))[1]
    return whole[tuple(slice(n) for n in box[::-1])], found


def box_cases() -> Iterator[tuple[tuple[int, ...], str, str]]:
    """Rows as long as the swizzle's span, and shorter ones."""
    yield (32, 5), "float16", "NONE"
    yield (48,), "uint8", "NONE"
    yield (4, 3, 5), "float32", "NONE"
    for name, span in (("32B", 32), ("64B", 64), ("128B", 128)):
        for kind, row in product(("uint8", "float16", "float32", "float64"), {span, span // 2, span - 16}):
            for rest in ((8,), (21,), (5, 3), (2, 3, 4)):
                yield (row // np.dtype(kind).itemsize, *rest), kind, name


def boxes() -> int:
    """Boxes of every swizzle that Hopper has lie as ``tma_box`` says."""
    done = 0
    for box, kind, name in box_cases():
        size = np.dtype(kind).itemsize
        layout = tma_box(box, kind, name)
        swizzle = ("NONE", "32B", "64B", "128B").index(name)
        want, found = box_bytes(box, size, swizzle, 1024 * -(-layout.storage_size * size // 1024))
        for place in np.ndindex(*box):
            at = layout(*place) * size
            assert np.array_equal(found[at : at + size], want[place[::-1]]), (box, kind, name, place)
        done += 1
    return done
