"""Record Triton's layouts of encodings drawn at random: ``python tests/ttg_vectors/random_draws.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from judge import record

Case = tuple[str, tuple[int, ...], str]
DRAWS = 60
"""How many of each kind are drawn; some of them Triton refuses."""


def draws(rng: Random) -> Iterator[Case]:
    for _ in range(DRAWS):
        yield _blocked(rng, rng.randrange(1, 5)), (), "f16"
        yield _nvidia_mma(rng), (), "f32"
        yield _mfma(rng), (), "f32"
        yield _wmma(rng), (), "f32"
        parent = rng.choice([_nvidia_mma, _mfma, _wmma, lambda r: _blocked(r, r.choice([2, 2, 3]))])(rng)
        width = "" if "blocked" in parent else f", kWidth = {rng.choice([1, 2, 4, 8, 16])}"
        yield f"#ttg.dot_op<{{opIdx = {rng.randrange(2)}, parent = {parent}{width}}}>", (), "f16"
        inner = rng.choice([_nvidia_mma, _mfma, _wmma, lambda r: _blocked(r, r.randrange(2, 5)), _linear])(rng)
        sliced = f"#ttg.slice<{{dim = {rng.randrange(2)}, parent = {inner}}}>"
        yield sliced, (), "f16"
        if _rank(inner) > 2:
            yield f"#ttg.slice<{{dim = 0, parent = {sliced}}}>", (), "f16"
        yield _linear(rng), (), "f16"
        yield _swizzled(rng), (), "f16"
        yield _nvmma(rng), (), "i8"
        yield _tensor_memory(rng), (), "f32"
        yield _scales(rng), (), "i8"
        yield _padded(rng)
        yield _shared_linear(rng)


def shaped(cases: Iterator[Case], rng: Random) -> Iterator[Case]:
    """Every case with a shape of its rank: smaller and larger than its tile, square or not."""
    for text, shape, element in cases:
        if shape:
            yield text, shape, element
            continue
        rank = _rank(text)
        large = 8 if rank < 3 else 6 if rank == 3 else 4
        yield text, tuple([1 << rng.randrange(large + 1) for _ in range(rank)]), element
        yield text, tuple([1 << rng.randrange(large - 2, large + 1) for _ in range(rank)]), element


def _rank(text: str) -> int:
    if text.startswith("#ttg.slice"):
        return _rank(text.partition("parent = ")[2]) - 1
    for word in ("order = [", "warpsPerCTA = ["):
        if word in text:
            return text.partition(word)[2].partition("]")[0].count(",") + 1
    if "rank = " in text:
        return int(text.partition("rank = ")[2][0])
    if "[[" in text:
        return text.partition("[[")[2].partition("]")[0].count(",") + 1
    return 2


def _powers(rng: Random, total: int, rank: int) -> list[int]:
    sizes = [1] * rank
    for _ in range(total.bit_length() - 1):
        sizes[rng.randrange(rank)] *= 2
    return sizes


def _order(rng: Random, rank: int) -> list[int]:
    return rng.sample(range(rank), rank)


def _cluster(rng: Random, rank: int) -> str:
    if rng.random() < 0.6:
        return ""
    sizes, bases = [1] * rank, []
    for _ in range(rng.randrange(1, 4)):
        d = rng.randrange(rank)
        if rng.random() < 0.25:
            bases.append([0] * rank)
            continue
        bases.append([sizes[d] if e == d else 0 for e in range(rank)])
        sizes[d] *= 2
    return f", CGALayout = {bases}"


def _blocked(rng: Random, rank: int) -> str:
    sizes = [_powers(rng, 1 << rng.randrange(5), rank), _powers(rng, rng.choice([32, 64]), rank)]
    warps = _powers(rng, 1 << rng.randrange(4), rank)
    return (
        f"#ttg.blocked<{{sizePerThread = {sizes[0]}, threadsPerWarp = {sizes[1]}, warpsPerCTA = {warps}, "
        f"order = {_order(rng, rank)}{_cluster(rng, rank)}}}>"
    )


def _nvidia_mma(rng: Random) -> str:
    version = rng.choice([2, 2, 3])
    rank = rng.choice([2, 2, 3]) if version == 2 else 2
    shape = [16, rng.choice([8, 16, 64, 256]), 16] if version == 3 else rng.choice([[16, 8], [8, 8], [16, 16]])
    if rank == 3:
        shape = [1, *shape]
    warps = _powers(rng, 1 << rng.randrange(4), rank) if version == 2 else [4, rng.choice([1, 2])]
    return (
        f"#ttg.nvidia_mma<{{versionMajor = {version}, versionMinor = 0, warpsPerCTA = {warps}{_cluster(rng, rank)}, "
        f"instrShape = {shape}}}>"
    )


def _mfma(rng: Random) -> str:
    rank = rng.choice([2, 2, 3])
    shape = rng.choice([[32, 32, 8], [16, 16, 16], [64, 4, 4], [4, 64, 4], [32, 32, 16], [16, 16, 4]])
    tiles = f", tilesPerWarp = {[*[1] * (rank - 2), *_powers(rng, 4, 2)]}" if rng.random() < 0.3 else ""
    bits = ", elementBitWidth = 64" if rng.random() < 0.2 and shape[0] == 16 else ""
    transposed = rng.random() < 0.5 or shape[0] == 64
    return (
        f"#ttg.amd_mfma<{{version = {rng.randrange(1, 5)}, warpsPerCTA = {_powers(rng, 1 << rng.randrange(4), rank)}, "
        f"instrShape = {shape}, isTransposed = {str(transposed).lower()}{_cluster(rng, rank)}{tiles}{bits}}}>"
    )


def _wmma(rng: Random) -> str:
    version = rng.randrange(1, 4)
    shape = {
        1: [[16, 16, 16]],
        2: [[16, 16, 16], [16, 16, 32]],
        3: [[16, 16, 4], [16, 16, 32], [16, 16, 128], [32, 16, 64], [32, 16, 128]],
    }[version]
    rank = rng.choice([2, 2, 3])
    steps, sizes = [], [1] * rank
    # Of a layout of no warps Triton prints no rank.
    for _ in range(rng.randrange(rank - 2, 5)):
        d = rng.randrange(rank - 2 if rng.random() < 0.8 else 0, rank)
        steps.append([sizes[d] if e == d else 0 for e in range(rank)])
        sizes[d] *= 2
    rng.shuffle(steps)
    cut = rng.randrange(len(steps) + 1) if rng.random() < 0.4 else 0
    registers = f"register = {steps[:cut]}, " if cut else ""
    if version == 3 and len(steps) - cut > 1 and rng.random() < 0.5:
        steps[-1] = [max(a, b) for a, b in zip(steps[-1], steps[-2])]
    return (
        f"#ttg.amd_wmma<{{version = {version}, isTranspose = {rng.choice(['true', 'false'])}, "
        f"ctaLayout = {{{registers}warp = {steps[cut:]}}}{_cluster(rng, rank)}, instrShape = {rng.choice(shape)}, "
        f"rank = {rank}}}>"
    )


def _linear(rng: Random) -> str:
    rank = rng.randrange(1, 4)
    counts = {"register": rng.randrange(4), "lane": 5, "warp": rng.randrange(3), "block": rng.choice([0, 0, 1])}
    sizes, groups = [1] * rank, {}
    places = [name for name, count in counts.items() for _ in range(count)]
    rng.shuffle(places)
    found: dict[str, list[list[int]]] = {name: [] for name in counts}
    for name in places:
        d = rng.randrange(rank)
        if rng.random() < 0.15:
            found[name].append([0] * rank)
            continue
        found[name].append([sizes[d] if e == d else 0 for e in range(rank)])
        sizes[d] *= 2
    groups = ", ".join([f"{name} = {bases}" for name, bases in found.items()])
    return f"#ttg.linear<{{{groups}}}>"


def _swizzled(rng: Random) -> str:
    rank = rng.randrange(1, 5)
    numbers = [rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 4]), rng.choice([1, 2, 4, 8, 16])]
    return (
        f"#ttg.swizzled_shared<{{vec = {numbers[0]}, perPhase = {numbers[1]}, maxPhase = {numbers[2]}, "
        f"order = {_order(rng, rank)}{_cluster(rng, rank)}}}>"
    )


def _nvmma(rng: Random) -> str:
    rank = rng.choice([1, 2, 2, 2, 3, 4])
    cluster = _cluster(rng, rank)
    padded = rng.random() < 0.2
    bits = 8 if padded else rng.choice([8, 16, 32, 64])
    return (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {128 if padded else rng.choice([0, 32, 64, 128])}, "
        f"transposed = {rng.choice(['true', 'false'])}, elementBitWidth = {bits}"
        f"{', fp4Padded = true' if padded else ''}{cluster or f', rank = {rank}'}}}>"
    )


def _tensor_memory(rng: Random) -> str:
    two = ", twoCTAs = true" if rng.random() < 0.2 else ""
    return (
        f"#ttng.tensor_memory_encoding<blockM = {rng.choice([64, 128])}, blockN = {1 << rng.randrange(9)}, "
        f"colStride = {rng.choice([1, 1, 2, 4])}{_cluster(rng, 2)}{two}>"
    )


def _scales(rng: Random) -> str:
    order = rng.choice(["", "blockRepOrder = kThenMn", "blockRepOrder = mnThenK"])
    cluster = _cluster(rng, 2)[2:]
    return f"#ttng.tensor_memory_scales_encoding<{', '.join([part for part in (cluster, order) if part])}>"


def _padded(rng: Random) -> Case:
    rank = rng.randrange(1, 4)
    shape = [1 << rng.randrange(1, 6) for _ in range(rank)]
    intervals = rng.sample([4, 8, 16, 32, 64, 128], rng.randrange(1, 3))
    pairs = ", ".join([f"{n}:+{rng.choice([1, 2, 4, 8])}" for n in sorted(intervals)])
    if rng.random() < 0.5:
        return f"#ttg.padded_shared<[{pairs}] {{order = {_order(rng, rank)}, shape = {shape}}}>", tuple(shape), "f16"
    return f"#ttg.padded_shared<[{pairs}] {{offset = {_steps(rng, shape)}, block = []}}>", tuple(shape), "f16"


def _steps(rng: Random, shape: list[int]) -> list[list[int]]:
    steps = []
    for d, n in enumerate(shape):
        steps += [[1 << k if e == d else 0 for e in range(len(shape))] for k in range(n.bit_length() - 1)]
    rng.shuffle(steps)
    return steps


def _shared_linear(rng: Random) -> Case:
    rank = rng.randrange(1, 4)
    shape = [1 << rng.randrange(1, 6) for _ in range(rank)]
    steps = _steps(rng, shape)
    for _ in range(rng.randrange(4)):
        a, b = rng.randrange(len(steps)), rng.randrange(len(steps))
        if a != b:
            steps[a] = [x ^ y for x, y in zip(steps[a], steps[b])]
    return f"#ttg.shared_linear<{{offset = {steps}}}, alignment = {rng.choice([16, 128])}>", tuple(shape), "f16"


if __name__ == "__main__":
    chosen = Random(19)
    count = record(Path(__file__).parent / "random.txt", shaped(draws(chosen), chosen))
    raise SystemExit(None if count else "Triton accepted no case")
