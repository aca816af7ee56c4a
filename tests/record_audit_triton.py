"""Record Triton's IR of some kernels, and what its own compiler makes of each operation in it, without a GPU:
``python tests/record_audit_triton.py``.

``triton_judge.tsv`` has a line for each different conversion, load, store and buffer in the IR of all kernels that
``ttg_vectors/kernels.py`` compiles, lowered alone: what it is, the type of the registers, that of the other side, the
target, the bytes of shared memory, and the instructions that touch memory or other lanes, each with its number.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "ttg_vectors"))

from judge import written_out
from kernels import KERNELS, TARGETS
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler.compiler import ASTSource, make_backend

DATA = Path(__file__).parent / "data" / "audit"
SAMPLES = {
    ("matmul", 80): "matmul_sm80",
    ("attention", 90): "attention_sm90",
    ("attention", "gfx942"): "attention_gfx942",
    ("transpose", 80): "transpose_sm80",
    ("interleave", 90): "interleave_sm90",
}
HEAD = (
    'module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "{target}", '
    '"ttg.threads-per-warp" = {lanes} : i32}} {{\n tt.func public @f({arguments}) {{\n{body}\n  tt.return\n }}\n}}\n'
)


def compiled(kernel: Any, arguments: dict[str, Any], target: GPUTarget, options: dict[str, Any]) -> dict[str, Any]:
    """The texts of a kernel by the name of their stage, and the bytes of shared memory it takes."""
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
    found: dict[str, Any] = {}
    for stage in ("ttir", "ttgir", "llir"):
        module = stages[stage](module, metadata)
        found[stage] = module.str_nodebug() if stage != "llir" else str(module)
        if stage == "ttgir":
            # With the places in the source, whose folder is nobody's business.
            found["located"] = re.sub(r'"[^"]*/(\w+\.py)"', r'"\1"', str(module))
    return found | {"shared": metadata["shared"]}


def types_in(line: str) -> list[str]:
    """The types of tensors and memory in a line, whole."""
    found = []
    for match in re.finditer(r"tensor<|!ttg\.memdesc<", line):
        depth = 0
        for k in range(match.end() - 1, len(line)):
            depth += (line[k] == "<") - (line[k] == ">" and line[k - 1] != "-")
            if not depth:
                found.append(line[match.start() : k + 1])
                break
    return found


def cases(module: str, target: str) -> Iterator[tuple[str, str, str, str, str]]:
    """What is done, the type of registers, the other type, the target and the warps, of each line that moves."""
    aliases = dict(re.findall(r"^(#\w+) = (.*)$", module, re.MULTILINE))
    aliases |= {"#smem": "#ttg.shared_memory"}
    warps = re.findall(r'"ttg.num-warps" = (\d+)', module)[0]
    if '"ttg.num-ctas" = 1 ' not in module:
        return
    for line in module.splitlines():
        types = [written_out(x, aliases) for x in types_in(line)]
        if "ttg.convert_layout" in line:
            yield "convert", types[0], types[1], target, warps
        elif "ttg.local_load" in line:
            yield "load", types[1], types[0], target, warps
        elif "ttg.local_store" in line or ("ttg.local_alloc" in line and len(types) == 2):
            yield "store", types[0], types[1], target, warps
        if "ttg.local_alloc" in line:
            yield "alloc", "", types[-1], target, warps


def body_of(what: str, registers: str, other: str) -> tuple[str, str]:
    """The arguments and the lines of a function that does one thing."""
    element = re.match(r"tensor<(?:\d+x)+(.*?), #", registers)
    pointers = registers.replace(f"x{element[1]}, #", f"x!tt.ptr<{element[1]}>, #", 1) if element else ""
    memory = re.sub(r", #ttg.shared_memory.*>$", ", #ttg.shared_memory, mutable>", other)
    if what == "convert":
        to = other.replace(f"x{element[1]}, #", f"x!tt.ptr<{element[1]}>, #", 1) if element else ""
        return f"%p: {pointers}, %q: {to}", (
            f"  %x = tt.load %p : {pointers}\n  %y = ttg.convert_layout %x : {registers} -> {other}\n"
            f"  tt.store %q, %y : {to}"
        )
    made = f"  %m = ttg.local_alloc : () -> {memory}\n"
    if what == "load":
        return f"%p: {pointers}", (
            f"{made}  %x = ttg.local_load %m : {memory} -> {registers}\n  tt.store %p, %x : {pointers}"
        )
    if what == "store":
        return f"%p: {pointers}", (
            f"{made}  %x = tt.load %p : {pointers}\n  ttg.local_store %x, %m : {registers} -> {memory}"
        )
    return "", f"{made}  ttg.local_dealloc %m : {memory}"


def asked(what: str, registers: str, other: str, target: GPUTarget, warps: str) -> str:
    """How Triton lowers one thing."""
    backend = make_backend(target)
    arch = {"arch": target.arch} if target.backend == "hip" else {}
    options = backend.parse_options({"num_warps": int(warps), **arch})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    arguments, body = body_of(what, registers, other)
    named = f"{target.backend}:{target.arch}"
    text = HEAD.format(warps=warps, target=named, lanes=target.warp_size, arguments=arguments, body=body)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.mlir"
        path.write_text(text)
        module = ir.parse_mlir_module(str(path), context)
    module.context = context
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, Language.TRITON)
    metadata = {"target": target, **options.__dict__}
    lowered = str(stages["llir"](module, metadata))
    told = " ".join(instructions(lowered)) or "-"
    return "\t".join([what, registers, other, named, str(metadata["shared"]), told])


def instructions(lowered: str) -> list[str]:
    """The instructions that touch shared memory or other lanes, each with its number."""
    found: Counter[str] = Counter()
    for line in lowered.splitlines():
        if line.startswith("declare"):
            continue
        if matrix := re.search(r"((?:ld|st)matrix)\.sync\.aligned\.\w+\.(x\d)(\.trans)?", line):
            found[f"{matrix[1]}.{matrix[2]}{matrix[3] or ''}"] += 1
        elif "call" in line and "shfl" in line:
            found["shuffle"] += 1
        elif loaded := re.search(r"= load (<(\d+) x (\w+)>|\w+), ptr addrspace\(3\)", line):
            found[f"load.b{_bits(loaded[2], loaded[3] or loaded[1])}"] += 1
        elif stored := re.search(r"store (<(\d+) x (\w+)>|\w+) [^,]*(?:<[^>]*>)?.*, ptr addrspace\(3\)", line):
            found[f"store.b{_bits(stored[2], stored[3] or stored[1])}"] += 1
        elif asm := re.search(r"(ld|st)\.shared(?:\.v(\d))?\.b(\d+)", line):
            found[f"{'load' if asm[1] == 'ld' else 'store'}.b{int(asm[2] or 1) * int(asm[3])}"] += 1
    return [f"{name}={count}" for name, count in sorted(found.items())]


def _bits(count: str | None, kind: str) -> int:
    sizes = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
    return int(count or 1) * (sizes.get(kind) or int(kind[1:]))


def apart(*arguments: Any) -> str | None:
    """The answer of a process of its own, since what Triton does not like ends the process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            os.write(write, asked(*arguments).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer or None


def main() -> None:
    found: dict[tuple[str, ...], GPUTarget] = {}
    shared: list[str] = []
    written: set[str] = set()
    for target in TARGETS:
        for kernel, arguments, options in KERNELS:
            if "num_ctas" in options:
                continue
            try:
                texts = compiled(kernel, arguments, target, options)
            except Exception as error:
                print(f"{target.arch} {kernel.fn.__name__}: {str(error).strip().splitlines()[-1:]}")  # noqa: T201
                continue
            found |= dict.fromkeys(cases(texts["ttgir"], f"{target.backend}:{target.arch}"), target)
            name = SAMPLES.get((kernel.fn.__name__, target.arch))
            if name and name not in written:
                written.add(name)
                (DATA / f"triton_{name}.ttgir").write_text(texts["ttgir"])
                shared.append(f"shared\ttriton_{name}.ttgir\t{texts['shared']}")
                if name == "interleave_sm90":
                    (DATA / "triton_located_sm90.ttgir").write_text(texts["located"])
                if name == "matmul_sm80":
                    (DATA / f"triton_{name}.ttir").write_text(texts["ttir"])
    told: dict[str, None] = {}
    for (what, registers, other, _, warps), target in found.items():
        line = apart(what, registers, other, target, warps)
        if line:
            told[line] = None
    (DATA / "triton_judge.tsv").write_text("".join([f"{line}\n" for line in [*shared, *told]]))
    print(f"{len(found)} cases, {len(told)} told")  # noqa: T201


if __name__ == "__main__":
    main()
