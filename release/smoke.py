"""Whether an installed package works here: ``python release/smoke.py native`` (or ``pure``), from any folder.

It needs numpy only, which judges what is moved and converted, so that it runs under emulators and other loaders too.
"""

from __future__ import annotations

import platform
import runpy
import sys
from contextlib import redirect_stdout, suppress
from io import StringIO

import numpy as np

import relayout as rl

ISSUES = 0


def check(what: str, holds: bool) -> None:
    """Count and tell what does not hold."""
    global ISSUES
    if not holds:
        ISSUES += 1
        sys.stderr.write(f"{what} does not hold\n")


def moved(dtype: str) -> None:
    """Blocks, padding and the way back, of odd sizes, on one thread and on several."""
    count = 3 * 37 * 29
    numbers = np.arange(count * np.dtype(dtype).itemsize, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (numbers >> np.uint64(56)).astype(np.uint8).view(dtype).reshape(3, 37, 29)
    wanted = np.ascontiguousarray(x.transpose(2, 0, 1)).tobytes()
    check(f"a transpose of {dtype}", rl.repack(x, "2 0 1").tobytes() == wanted)
    packed = rl.repack(x[None], "onednn:nChw16c", axes="nchw")
    blocks = np.zeros((1, 1, 16, 37, 29), dtype)
    blocks[0, 0, :3] = x
    check(f"blocks of {dtype}", packed.tobytes() == blocks.transpose(0, 1, 3, 4, 2).tobytes())
    back = rl.repack(packed, "onednn:nchw", src="onednn:nChw16c", shape=(1, 3, 37, 29), axes="nchw")
    check(f"the way back of {dtype}", back.tobytes() == x.tobytes())


def converted() -> None:
    """Every half as float32 and back, and quantised values."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    there = rl.repack(halves, "0", element="float32")
    numbers = ~np.isnan(halves)
    check("halves as float32", bool((there[numbers] == halves[numbers].astype(np.float32)).all()))
    check("bits of signalling NaNs", int(there.view(np.uint32)[0x7C01]) == 0x7F802000)
    check("halves and back", rl.repack(there, "0", element="float16").tobytes() == halves.tobytes())
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    codes = rl.repack(x, "0", element=rl.ScaleOffset(0.05, 128, "quint8"))
    check("codes", bool((np.abs((codes.astype(np.float32) - 128) * 0.05 - x) <= 0.0251).all()))


def command(*arguments: str) -> str:
    """What the command line prints, in this process: an emulator cannot start another one."""
    sys.argv = ["relayout", *arguments]
    with redirect_stdout(StringIO()) as told, suppress(SystemExit):
        runpy.run_module("relayout", run_name="__main__")
    return told.getvalue()


def main(wanted: str) -> int:
    check(f"that it is {wanted}", rl.native_available() == (wanted == "native"))
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        moved(dtype)
    converted()
    large = np.arange(1 << 22, dtype=np.uint32).reshape(1 << 11, 1 << 11)
    check("a large transpose", bool((rl.repack(large, "1 0") == large.T).all()))
    answer = str(rl.compare("bf16[16,256]{1,0:T(8,128)(2,1)}", "f32[16,256]{1,0:T(8,128)}"))
    check("a comparison", answer == "different at (1, 0): 1 and 128")
    told = command("compare", "nChw8c", "cudnn:NHWC", "--shape", "1,16,4,4")
    check("the command line", told == "different at (0, 8, 0, 0): 128 and 8\n")
    machine = f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver()).strip() or 'another libc'}"
    sys.stdout.write(
        f"relayout {rl.__version__} {'FAILS' if ISSUES else 'works'}: {wanted}, {machine}, "
        f"Python {platform.python_version()}, numpy {np.__version__}\n"
    )
    return 1 if ISSUES else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
