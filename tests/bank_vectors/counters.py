"""What a device's own counters say of accesses, beside what relayout counts; it needs cupy and ncu.

python tests/bank_vectors/counters.py FILE

runs itself under ncu, one launch of one warp for each pattern, and writes a line for each: the access, sectors or
wavefronts as the counter has them, and the byte address of each lane (a dot is a lane that is off).
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

import gpu_banks

HEAD = "# Counters of an H200, by counters.py: sectors, or wavefronts and one of the launch; then the lanes' bytes.\n"

SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"

GLOBAL = [f"{kind}.global.b{8 * size}" for kind in ("ld", "st") for size in (1, 2, 4, 8, 16)]
SHARED = [
    *[f"ld.shared.b{bits}" for bits in (8, 32, 64, 128)],
    *[f"st.shared.b{bits}" for bits in (32, 64, 128)],
    *["ldmatrix.x1", "ldmatrix.x4", "ldmatrix.x2.trans", "stmatrix.x1", "stmatrix.x4"],
    *["atom.shared.add.u32", "red.shared.add.u32"],
]
EACH = 16

KERNEL = """
__constant__ int places[32];
extern "C" __global__ void probe(char* data, int* out) {
  __shared__ __align__(1024) unsigned char memory[8192];
  const int place = places[threadIdx.x];
  const int on = place >= 0;
  const unsigned at = (unsigned)__cvta_generic_to_shared(memory) + (on ? place : 0);
  char* const where = data + (on ? place : 0);
  unsigned a = 0, b = 0, c = 0, d = 0;
  asm volatile("{.reg .pred p; setp.ne.s32 p, %5, 0; ACCESS }"
               : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : "r"(at), "r"(on), "l"(data), "l"(where) : "memory");
  if ((a ^ b ^ c ^ d) == 0x12345) out[0] = 0;
}
"""


def instruction(access: str) -> str:
    """The access in PTX: as the timed one is, and global memory at %7."""
    if ".global." not in access:
        return gpu_banks.instruction(access)
    text = gpu_banks.instruction(access.replace(".global.", ".shared."))
    return text.replace(".shared.", ".global.").replace("%4", "%7")


def cases() -> Iterator[tuple[str, list[int]]]:
    """Every access with its patterns; global memory also from addresses that begin between sectors."""
    for access in GLOBAL + SHARED:
        dice = Random(f"counters {access}")
        size = 16 if "matrix" in access else 4 if access.endswith("u32") else int(access.rpartition(".b")[2]) // 8
        rows = list(gpu_banks.patterns(dice, size, EACH))
        if "matrix" not in access:
            rows[EACH // 2 :] = gpu_banks.with_lanes_off(dice, rows[EACH // 2 :])
        if ".global." in access:
            shift = [size * dice.randrange(64 // size) for _ in rows]
            rows = [[place + by if place >= 0 else place for place in row] for row, by in zip(rows, shift)]
        yield from ((access, row) for row in rows)


def launch() -> None:
    """One launch for each case, in order."""
    import cupy

    data, out = cupy.zeros(1 << 16, cupy.uint8), cupy.zeros(4, cupy.int32)
    modules: dict[str, Any] = {}
    for access, row in cases():
        if access not in modules:
            modules[access] = cupy.RawModule(code=KERNEL.replace("ACCESS", instruction(access)))
        table = np.array(row, np.int32)
        modules[access].get_global("places").copy_from_host(table.ctypes.data, table.nbytes)
        modules[access].get_function("probe")((1,), (32,), (data, out))
    cupy.cuda.runtime.deviceSynchronize()


def counted() -> list[dict[str, float]]:
    """The counters of each launch."""
    names = [WAVEFRONTS, *[SECTORS.format(op) for op in ("ld", "st")]]
    command = [shutil.which("ncu") or "ncu", "--csv", "--clock-control", "none", "--metrics", ",".join(names)]
    command += ["--kernel-name", "probe", sys.executable, __file__]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith('"ID"'))
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for row in csv.DictReader(lines[start:]):
        found[int(row["ID"])][row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    return [found[k] for k in sorted(found)]


def main() -> None:
    lines = []
    for (access, row), counters in zip(cases(), counted(), strict=True):
        name = SECTORS.format(access[:2]) if ".global." in access else WAVEFRONTS
        places = " ".join(["." if place < 0 else str(place) for place in row])
        lines.append(f"{access} {counters[name]:.0f} {places}\n")
    Path(sys.argv[1]).write_text(HEAD + "".join(lines))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main()
    else:
        launch()
