"""Accesses to shared memory timed on a device, against what ``rl.hardware.wavefronts`` counts.

Sixteen warps of one block make the same access again and again, so that the pipe to shared memory is the limit: the
cycles of one access are its wavefronts. Two runs, one twice as long, take away what a launch costs. A block has so much
shared memory that no other stands beside it.

python tests/gpu_banks.py FILE [access ...]   writes every pattern with its cycles (npz)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import numpy as np

from relayout.hardware import architecture_named, wavefronts

WARPS = 16
REPEATS = 48
UNROLLED = 8
ROOM = 160 << 10
"""Bytes of shared memory of a block: more than half of what there is."""

REACH = 8192
"""Bytes that random patterns spread over."""

OFF = -1

KERNEL = """
extern "C" __global__ void probe(const int* places, long long* cycles, int repeats, int step, const char* data) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int place = places[blockIdx.x * 32 + threadIdx.x % 32];
  unsigned at = (unsigned)__cvta_generic_to_shared(memory) + (place < 0 ? 0 : place);
  const int on = place >= 0;
  data += threadIdx.x % 32 * BYTES;
  unsigned r[UNROLLED][4] = {}, sum = threadIdx.x;
  for (int i = threadIdx.x; i < ROOM / 4; i += blockDim.x) reinterpret_cast<unsigned*>(memory)[i] = 0;
  __syncthreads();
  const long long start = clock64();
  for (int i = 0; i < repeats; ++i) {
#pragma unroll
    for (int j = 0; j < UNROLLED; ++j) {
      asm volatile("{.reg .pred p; setp.ne.s32 p, %5, 0; ACCESS }"
                   : "+r"(r[j][0]), "+r"(r[j][1]), "+r"(r[j][2]), "+r"(r[j][3])
                   : "r"(at), "r"(on), "l"(data) : "memory");
      at += step;  // of 0, which the compiler does not know: every access is made
    }
#pragma unroll
    for (int j = 0; j < UNROLLED; ++j) sum ^= r[j][0] ^ r[j][1] ^ r[j][2] ^ r[j][3];
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  if (sum == 0x12345) cycles[0] = 0;
  __syncthreads();
  const long long end = clock64();
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - start;
}
"""

LOADED = {"b8": "u8 %0", "b16": "u16 %0", "b32": "u32 %0", "b64": "v2.u32 {%0, %1}", "b128": "v4.u32 {%0, %1, %2, %3}"}
MATRICES = {"x1": "{%0}", "x2": "{%0, %1}", "x4": "{%0, %1, %2, %3}"}


def instruction(access: str) -> str:
    """The access in PTX: registers are %0 to %3, the address is %4."""
    kind, *rest = access.split(".")
    width = rest[-1]
    if kind in ("ldmatrix", "stmatrix"):
        count = next(word for word in rest if word in MATRICES)
        trans = ".trans" if "trans" in rest else ""
        name = f"{kind}.sync.aligned.m8n8.{count}{trans}.shared.b16"
        return f"{name} {MATRICES[count]}, [%4];" if kind == "ldmatrix" else f"{name} [%4], {MATRICES[count]};"
    if kind == "ld":
        return f"@p ld.shared.{LOADED[width]}, [%4];"
    if kind == "st":
        word, _, registers = LOADED[width].partition(" ")
        return f"@p st.shared.{word} [%4], {registers};"
    if access.startswith("cp.async"):
        return f"@p cp.async.ca.shared.global [%4], [%6], {int(width[1:]) // 8};"
    if kind == "red":
        return f"@p {access} [%4], %0;"
    last = ", %2" if "cas" in access else ""
    if width.endswith("64"):
        last = ", q" if "cas" in access else ""
        return f".reg .b64 q; mov.b64 q, {{%0, %1}}; @p {access} q, [%4], q{last}; mov.b64 {{%0, %1}}, q;"
    return f"@p {access} %0, [%4], %1{last};"


@cache
def kernel(access: str) -> Any:
    import cupy

    found = cupy.RawKernel(kernel_text(access), "probe")
    found.max_dynamic_shared_size_bytes = ROOM
    return found


def kernel_text(access: str) -> str:
    """The kernel of an access; copies read global memory in a row."""
    width = int(access.rpartition(".b")[2]) // 8 if access.startswith("cp") else 16
    words = {"ACCESS": instruction(access), "ROOM": ROOM, "UNROLLED": UNROLLED, "BYTES": width}
    text = KERNEL
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


def measured(access: str, table: Any) -> Any:
    """The cycles of one access for each row of addresses; ``OFF`` is a lane that is off."""
    import cupy

    places = cupy.asarray(np.ascontiguousarray(table, np.int32))
    data = cupy.zeros(1024, cupy.uint32)

    def timed(repeats: int) -> Any:
        cycles = cupy.zeros(len(table), cupy.int64)
        kernel(access)(
            (len(table),), (32 * WARPS,), (places, cycles, np.int32(repeats), np.int32(0), data), shared_mem=ROOM
        )
        return cupy.asnumpy(cycles)

    timed(REPEATS)
    runs = [timed(2 * REPEATS) - timed(REPEATS) for _ in range(3)]
    return np.median(runs, axis=0) / (REPEATS * UNROLLED * WARPS)


# ---- patterns -----------------------------------------------------------------------------------------------


def patterns(dice: Random, size: int, count: int) -> Iterator[list[int]]:
    """Addresses of all lanes: random, strided, tiles of any pitch, swizzles, broadcasts, pairs and permutations."""
    units = REACH // size
    for number in range(count):
        kind = number % 7
        places = [dice.randrange(units) for _ in range(32)]
        if kind == 1:
            step = dice.randrange(1 + 128 // size + 3)
            places = [lane * step for lane in range(32)]
        elif kind == 2:
            rows, pitch = dice.choice((2, 4, 8, 16, 32)), dice.randrange(1, units // 32)
            places = [lane % rows * pitch + lane // rows for lane in range(32)]
        elif kind == 3:
            bits, shift = dice.choice((1, 2, 3)), dice.choice((2, 3, 4))
            places = [lane * (1 << shift) ^ (lane & (1 << bits) - 1) for lane in range(32)]
        elif kind == 4:
            few = [dice.randrange(units) for _ in range(dice.choice((1, 2, 4, 8)))]
            places = [dice.choice(few) for _ in range(32)]
        elif kind == 5:
            apart = dice.choice((1, 2, 1, 2, 3, 4, 5, 8, 16))
            places = [places[min(lane, lane ^ apart)] for lane in range(32)]
            if dice.randrange(3) == 0:
                places[dice.randrange(32)] = dice.randrange(units)
        elif kind == 6:
            places = dice.sample(range(32), 32)
        yield [size * place % REACH for place in places]


def with_lanes_off(dice: Random, rows: list[list[int]]) -> Iterator[list[int]]:
    """Patterns with some lanes off: each lane by itself, runs of lanes, pairs, or all but a few."""
    for row in rows:
        kind = dice.randrange(5)
        off = {lane for lane in range(32) if dice.randrange(3) == 0}
        if kind == 1:
            first = dice.randrange(32)
            off = set(range(first, min(32, first + dice.choice((4, 8, 16, 24)))))
        elif kind == 2:
            mask = dice.choice((1, 2, 4, 8, 16))
            off = {lane for lane in range(32) if lane & mask}
        elif kind == 3:
            off = {lane for lane in range(32) if (lane & ~1) in off}
        elif kind == 4:
            off = set(range(32)) - set(dice.sample(range(32), dice.choice((1, 2, 3, 4))))
        yield [OFF if lane in off else place for lane, place in enumerate(row)]


def ignored_lanes(dice: Random, row: list[int], lanes: int) -> list[int]:
    """A pattern whose lanes from there on give addresses that mean nothing."""
    return row[:lanes] + [dice.randrange(REACH) for _ in range(32 - lanes)]


def cases(access: str, size: int, lanes: int, count: int) -> Any:
    """The patterns of an access, those with lanes off last; matrix instructions have no lane off."""
    dice = Random(access)
    rows = list(patterns(dice, size, count))
    if "matrix" in access:
        return np.array([ignored_lanes(dice, row, lanes) for row in rows])
    return np.array(rows + list(with_lanes_off(dice, list(patterns(dice, size, count // 2)))))


# ---- checks -------------------------------------------------------------------------------------------------


ATOMICS = {
    **{f"atom.shared.{op}": 4 for op in ("add.u32", "inc.u32", "max.s32", "and.b32", "exch.b32")},
    **{f"red.shared.{op}": 4 for op in ("add.u32", "max.s32", "xor.b32")},
}


def names() -> list[str]:
    """Every access that the tables call measured; atomics by several operations."""
    known = [one.name for one in architecture_named("sm90").accesses.values() if one.known == "measured"]
    return [name for name in known if not name.startswith(("atom", "red"))] + list(ATOMICS)


def compared(access: str, count: int) -> tuple[Any, Any, Any]:
    """Patterns, their cycles, and the wavefronts that are counted."""
    kind = architecture_named("sm90").access(access)
    table = cases(access, kind.bytes, len(kind.lanes), count)
    return table, measured(access, table), wavefronts(np.where(table == OFF, None, table.astype(object)), access)


def agreed(access: str, count: int) -> int:
    """How many patterns of an access take the cycles that are counted; one that does not is an error."""
    table, cycles, found = compared(access, count)
    wrong = np.flatnonzero(differ(access, cycles, found))
    if len(wrong):
        first = wrong[0]
        raise AssertionError(
            f"{access}: {len(wrong)} of {len(table)} differ; {table[first].tolist()} takes {cycles[first]:.2f} cycles, "
            f"counted are {found[first]}"
        )
    return len(table)


def differ(access: str, cycles: Any, found: Any) -> Any:
    """Where cycles are not the wavefronts that were counted, within a quarter and 3 %.

    A copy takes half a cycle more. Copies and atomics of less than four wavefronts wait for something else, up to 4.4;
    the others are within 0.6 and 2 %.
    """
    if not access.startswith(("cp", "atom", "red")):
        return np.abs(cycles - found) > 0.25 + 0.03 * found
    expected = np.where(found < 4, np.clip(cycles, 2, 4.4), found + 0.5 * access.startswith("cp"))
    return np.abs(cycles - expected) > 0.6 + 0.02 * found


def shared_memory() -> int:
    """280 patterns of each access with all lanes, and 140 with some off."""
    return sum([agreed(access, 280) for access in names()])


def main() -> None:
    """Write the cycles of every access."""
    results: dict[str, Any] = {}
    for access in sys.argv[2:] or names():
        table, cycles, found = compared(access, 420)
        results[f"{access}/table"], results[f"{access}/cycles"] = table, cycles
        wrong = int(differ(access, cycles, found).sum())
        print(f"{access}: {len(table)} patterns, {wrong} differ", flush=True)  # noqa: T201
    np.savez_compressed(sys.argv[1], **results)


if __name__ == "__main__":
    main()
