"""Record Triton's layouts of the operands of matrix instructions: ``python tests/ttg_vectors/operands.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from judge import record

Case = tuple[str, tuple[int, ...], str]


def nvidia() -> Iterator[Case]:
    """One tile of mma.sync by one warp, and of wgmma by four; A and B of every width of an element."""
    mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
    yield mma, (16, 8), "f32"
    for width in (1, 2, 4, 8):
        yield _operand(0, mma, width), (16, 8 * width), "f16"
        yield _operand(1, mma, width), (8 * width, 8), "f16"
    double = mma.replace("[16, 8]", "[8, 8]")
    yield double, (8, 8), "f64"
    yield _operand(0, double, 1), (8, 4), "f64"
    yield _operand(1, double, 1), (4, 8), "f64"
    for n in range(8, 257, 8):
        if n & (n - 1) == 0:
            wgmma = (
                "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "
                f"instrShape = [16, {n}, 16]}}>"
            )
            yield wgmma, (64, n), "f32"
    for width in (1, 2, 4):
        yield _operand(0, wgmma, width), (64, 8 * width), "f16"


def mfma() -> Iterator[Case]:
    for version in (3, 4):
        for m, n, transposed, bits in (
            (32, 32, False, 32),
            (32, 32, True, 32),
            (16, 16, False, 32),
            (16, 16, True, 32),
            (16, 16, False, 64),
            (16, 16, True, 64),
            (4, 64, False, 32),
            (4, 64, True, 32),
            (64, 4, True, 32),
        ):
            text = (
                f"#ttg.amd_mfma<{{version = {version}, warpsPerCTA = [1, 1], instrShape = [{m}, {n}, 8], "
                f"isTransposed = {str(transposed).lower()}{', elementBitWidth = 64' if bits == 64 else ''}}}>"
            )
            yield text, (m, n), "f32"
            if transposed and m != 64:
                continue
            for width in (1, 2, 4, 8, 16, 32):
                for index in (0, 1):
                    outer = (m, n)[index]
                    k = 64 // outer * width * (16 if outer == 64 else 1)
                    yield _operand(index, text, width), (m, k) if index == 0 else (k, n), "f16"


def wmma() -> Iterator[Case]:
    shapes = {
        1: [(16, 16, 16)],
        2: [(16, 16, 16), (16, 16, 32)],
        3: [(16, 16, 4), (16, 16, 32), (16, 16, 64), (16, 16, 128), (32, 16, 64), (32, 16, 128)],
    }
    for version, sizes in shapes.items():
        for m, n, k in sizes:
            for transposed in (False, True):
                text = (
                    f"#ttg.amd_wmma<{{version = {version}, isTranspose = {str(transposed).lower()}, "
                    f"ctaLayout = {{warp = []}}, instrShape = [{m}, {n}, {k}]}}>"
                )
                rows, columns = (n, m) if transposed else (m, n)
                yield text, (rows, columns), "f32"
                for width in (2, 4, 8, 16, 32, 64):
                    yield _operand(0, text, width), (rows, k), "f16"
                    yield _operand(1, text, width), (k, columns), "f16"


def _operand(index: int, parent: str, width: int) -> str:
    return f"#ttg.dot_op<{{opIdx = {index}, parent = {parent}, kWidth = {width}}}>"


if __name__ == "__main__":
    count = record(Path(__file__).parent / "operands.txt", [*nvidia(), *mfma(), *wmma()])
    raise SystemExit(None if count else "Triton accepted no case")
