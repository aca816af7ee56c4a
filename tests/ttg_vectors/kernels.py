"""Record Triton's layouts of every encoding that its compiler prints for some kernels on some targets, without a GPU:
``python tests/ttg_vectors/kernels.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import triton
import triton.language as tl
from judge import record, written_out
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource, make_backend

Case = tuple[str, tuple[int, ...], str]

_TYPE = re.compile(r"(?:tensor|memdesc)<((?:\d+x)+)([a-z]\w*|!tt\.ptr<\w+>), (?=#)")

TARGETS = (
    GPUTarget("cuda", 80, 32),
    GPUTarget("cuda", 90, 32),
    GPUTarget("cuda", 100, 32),
    GPUTarget("cuda", 120, 32),
    GPUTarget("hip", "gfx942", 64),
    GPUTarget("hip", "gfx950", 64),
    GPUTarget("hip", "gfx1100", 32),
    GPUTarget("hip", "gfx1201", 32),
    GPUTarget("hip", "gfx1250", 32),
)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x, out, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)[:, None] * stride
    row = tl.load(x + rows + tl.arange(0, COLUMNS)[None, :])
    top = tl.exp(row - tl.max(row, axis=1)[:, None])
    tl.store(out + rows + tl.arange(0, COLUMNS)[None, :], top / tl.sum(top, axis=1)[:, None])


@triton.jit
def transpose(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    tile = tl.load(x + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    tl.store(out + tl.arange(0, COLUMNS)[:, None] * ROWS + tl.arange(0, ROWS)[None, :], tl.trans(tile))


@triton.jit
def matmul(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TRANSPOSED: tl.constexpr):
    rows, columns, deep = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + (start + deep)[None, :])
        if TRANSPOSED:
            right = tl.load(b + columns[:, None] * k + (start + deep)[None, :])
            total = tl.dot(left, tl.trans(right), total)
        else:
            right = tl.load(b + (start + deep)[:, None] * N + columns[None, :])
            total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def attention(q, k, v, out, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows, columns, deep = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + deep[None, :])
    total, top, scale = tl.zeros((M, D), tl.float32), tl.full((M,), -1e30, tl.float32), tl.zeros((M,), tl.float32)
    for start in range(0, n, N):
        key = tl.load(k + (start + columns)[:, None] * D + deep[None, :])
        score = tl.dot(query, tl.trans(key))
        highest = tl.maximum(top, tl.max(score, 1))
        weight = tl.exp2(score - highest[:, None])
        change = tl.exp2(top - highest)
        scale = scale * change + tl.sum(weight, 1)
        value = tl.load(v + (start + columns)[:, None] * D + deep[None, :])
        total = tl.dot(weight.to(tl.float16), value, total * change[:, None])
        top = highest
    tl.store(out + rows[:, None] * D + deep[None, :], (total / scale[:, None]).to(tl.float16))


@triton.jit
def batched(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch, rows = tl.arange(0, B)[:, None, None], tl.arange(0, M)[None, :, None]
    left = tl.load(a + batch * M * K + rows * K + tl.arange(0, K)[None, None, :])
    right = tl.load(b + batch * K * N + tl.arange(0, K)[None, :, None] * N + tl.arange(0, N)[None, None, :])
    tl.store(c + batch * M * N + rows * N + tl.arange(0, N)[None, None, :], tl.dot(left, right))


@triton.jit
def scan(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def order(x, out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.sort(tl.load(x + tl.arange(0, N))))


@triton.jit
def interleave(x, y, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    both = tl.join(tl.load(x + at), tl.load(y + at))
    tl.store(out + tl.arange(0, 2 * ROWS * COLUMNS), tl.reshape(both, (2 * ROWS * COLUMNS,)))


@triton.jit
def gather(x, index, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@triton.jit
def scaled(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    left = tl.load(a + rows[:, None] * K + tl.arange(0, K)[None, :])
    right = tl.load(b + tl.arange(0, K)[:, None] * N + columns[None, :])
    scales = tl.arange(0, K // 32)[None, :]
    left_scale = tl.load(sa + rows[:, None] * (K // 32) + scales)
    right_scale = tl.load(sb + columns[:, None] * (K // 32) + scales)
    total = tl.dot_scaled(left, left_scale, "e4m3", right, right_scale, "e4m3")
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def described(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left = tl.make_tensor_descriptor(a, (m, k), (k, 1), (M, K))
    right = tl.make_tensor_descriptor(b, (n, k), (k, 1), (N, K))
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        total = tl.dot(left.load([0, start]), right.load([0, start]).T, total)
    tl.make_tensor_descriptor(c, (m, n), (n, 1), (M, N)).store([0, 0], total.to(tl.float16))


F16, F32, F8, I8 = "*fp16", "*fp32", "*fp8e4nv", "*i8"


def product_of(kind: str, m: int, n: int, k: int, transposed: bool) -> dict[str, Any]:
    """The arguments of a matmul of elements of that type."""
    return {"a": kind, "b": kind, "c": F16, "k": "i32", "M": m, "N": n, "K": k, "TRANSPOSED": transposed}


def attention_of(m: int, n: int, d: int) -> dict[str, Any]:
    return {"q": F16, "k": F16, "v": F16, "out": F16, "n": "i32", "M": m, "N": n, "D": d}


KERNELS: tuple[tuple[Any, dict[str, Any], dict[str, Any]], ...] = (
    (add, {"x": F32, "y": F32, "out": F32, "n": "i32", "BLOCK": 1024}, {}),
    (add, {"x": F16, "y": F16, "out": F16, "n": "i32", "BLOCK": 64}, {"num_warps": 8}),
    (softmax, {"x": F32, "out": F32, "stride": "i32", "ROWS": 4, "COLUMNS": 512}, {}),
    (softmax, {"x": F16, "out": F16, "stride": "i32", "ROWS": 64, "COLUMNS": 32}, {"num_warps": 8}),
    (transpose, {"x": F16, "out": F16, "ROWS": 64, "COLUMNS": 128}, {}),
    (transpose, {"x": I8, "out": I8, "ROWS": 16, "COLUMNS": 256}, {"num_warps": 2}),
    (matmul, product_of(F16, 128, 128, 64, False), {}),
    (
        matmul,
        {"a": F16, "b": F16, "c": F16, "k": "i32", "M": 64, "N": 256, "K": 32, "TRANSPOSED": True},
        {"num_warps": 8},
    ),
    (matmul, product_of(F8, 128, 64, 128, True), {}),
    (
        matmul,
        {"a": F32, "b": F32, "c": F16, "k": "i32", "M": 32, "N": 32, "K": 32, "TRANSPOSED": False},
        {"num_warps": 1},
    ),
    (
        matmul,
        {"a": F16, "b": F16, "c": F16, "k": "i32", "M": 256, "N": 64, "K": 64, "TRANSPOSED": False},
        {"num_ctas": 2},
    ),
    (attention, attention_of(128, 64, 64), {}),
    (attention, attention_of(64, 64, 128), {"num_warps": 8}),
    (batched, {"a": F16, "b": F16, "c": F32, "B": 2, "M": 32, "N": 64, "K": 32}, {}),
    (scan, {"x": F32, "out": F32, "ROWS": 64, "COLUMNS": 32}, {}),
    (order, {"x": F32, "out": F32, "N": 256}, {}),
    (interleave, {"x": F16, "y": F16, "out": F16, "ROWS": 32, "COLUMNS": 64}, {}),
    (gather, {"x": F32, "index": "*i32", "out": F32, "ROWS": 32, "COLUMNS": 64}, {}),
    (scaled, {"a": F8, "sa": "*u8", "b": F8, "sb": "*u8", "c": F32, "M": 128, "N": 128, "K": 128}, {}),
    (described, {"a": F16, "b": F16, "c": F16, "m": "i32", "n": "i32", "k": "i32", "M": 128, "N": 128, "K": 64}, {}),
)


def printed_modules() -> Iterator[str]:
    """The IR of every kernel on every target, as far as Triton's own GPU dialect goes."""
    for target in TARGETS:
        for kernel, arguments, options in KERNELS:
            if "num_ctas" in options and target.arch != 90:
                continue
            try:
                yield _compiled(kernel, arguments, target, options)
            except Exception as error:
                print(f"{target.arch} {kernel.fn.__name__}: {str(error).strip().splitlines()[-1:]}")  # noqa: T201


def _compiled(kernel: Any, arguments: dict[str, Any], target: GPUTarget, options: dict[str, Any]) -> str:
    constants = {name: value for name, value in arguments.items() if not isinstance(value, str)}
    kinds = {name: "constexpr" if name in constants else kind for name, kind in arguments.items()}
    aligned = {(k,): [["tt.divisibility", 16]] for k, name in enumerate(arguments) if name not in constants}
    source = ASTSource(fn=kernel, signature=kinds, constexprs=constants, attrs=aligned)
    backend = make_backend(target)
    chosen = backend.parse_options({"arch": target.arch, **options} if target.backend == "hip" else options)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(
        target, chosen, backend.get_codegen_implementation(chosen), backend.get_module_map(), context
    )
    stages: dict[str, Any] = {}
    backend.add_stages(stages, chosen, source.language)
    metadata: dict[str, Any] = {"target": target, **chosen.__dict__}
    for stage in ("ttir", "ttgir"):
        module = stages[stage](module, metadata)
    return str(module.str_nodebug())


def cases(module: str) -> Iterator[Case]:
    """Every type with an encoding in a module, its aliases written out."""
    aliases = dict(re.findall(r"^(#\w+) = (.*)$", module, re.MULTILINE))
    for match in _TYPE.finditer(module):
        sizes, element, text = match[1], match[2], _first(module[match.end() :])
        text = written_out(text, aliases)
        shape = tuple([int(n) for n in sizes.split("x")[:-1]])
        yield text, shape, element if not element.startswith("!") else "i64"
        if match.group().startswith("memdesc"):
            # A buffer of several stages is one of them, so many times.
            yield text, shape[1:], element


def _first(text: str) -> str:
    """The encoding at the beginning of a text: up to the comma or the bracket that ends it."""
    depth = 0
    for k, c in enumerate(text):
        depth += (c in "<{[") - (c in ">}]")
        if depth < 0 or (depth == 0 and c == ","):
            return text[:k]
    return text


if __name__ == "__main__":
    printed = [case for module in printed_modules() for case in cases(module)]
    distinct = {(text, shape): (text, shape, element) for text, shape, element in printed}
    count = record(Path(__file__).parent / "kernels.txt", distinct.values())
    raise SystemExit(None if count else "Triton accepted no case")
