"""How each target's texts are run: many at once, the bytes that each function writes.

A runner takes pairs with their texts and a folder for its files, and gives for each pair the bytes of the target, or
None where the function refused a value. ``missing`` says what is not installed here, and nothing where all is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from code_array_runners import mlir_is_missing, needs_module, run_einops, run_jax, run_mlir, run_numpy, run_torch
from code_device_runners import (
    cuda_is_missing,
    opencl_is_missing,
    run_cuda,
    run_metal,
    run_opencl,
    run_triton,
    triton_is_missing,
)
from code_pairs import Pair


class Runner(NamedTuple):
    """How texts of one language are run."""

    missing: Callable[[], str]
    run: Callable[[list[Pair], list[str], Path], list[bytes | None]]


def needs_program(*names: str) -> Callable[[], str]:
    """Missing where none of the programs is installed."""
    return lambda: "" if any(map(shutil.which, names)) else f"{' or '.join(names)} is not installed"


def run_program(command: list[str], pairs: list[Pair]) -> list[bytes | None]:
    """The outputs of a program that reads all sources, and writes for each pair 0 or 1, refused, and the target."""
    done = subprocess.run(command, input=b"".join([pair.given for pair in pairs]), capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return split_output(done.stdout, pairs)


def split_output(made: bytes, pairs: list[Pair]) -> list[bytes | None]:
    """For each pair what its function wrote, or None where it refused a value."""
    found: list[bytes | None] = []
    start = 0
    for pair in pairs:
        refused, got = made[start], made[start + 1 : start + 1 + pair.length]
        assert refused in (0, 1), pair
        found.append(None if refused else got)
        start += 1 + pair.length
    assert start == len(made), "more bytes than the pairs have"
    return found


def compile_program(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[:4000]}"


# ---- C ---------------------------------------------------------------------------------------------------

C_HEAD = "#ifndef _POSIX_C_SOURCE\n#define _POSIX_C_SOURCE 200112L\n#endif\n"
C_HEAD += "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"

C_RUN = """
static void *exactly(long n) {
  void *p;
  if (posix_memalign(&p, 64, n ? (size_t)n : 1))
    abort();
  return p;
}

#define RUN(call, given, written)                                              \\
  do {                                                                         \\
    void *read = exactly(given), *made = exactly(written);                     \\
    memory src = {read}, dst = {made};                                         \\
    if ((given) && fread(read, (given), 1, stdin) != 1)                        \\
      abort();                                                                 \\
    memset(made, 0xa5, (written) ? (written) : 1);                             \\
    putchar(call);                                                             \\
    fwrite(made, 1, (written), stdout);                                        \\
    free(read);                                                                \\
    free(made);                                                                \\
  } while (0)
"""

C_MEMORY = "typedef void *memory;\n"
CPP_MEMORY = """
struct memory {
  void *p;
  template <class T> operator T *() const { return static_cast<T *>(p); }
};
"""
SANITIZERS = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all"]
C_FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-pedantic", *SANITIZERS]


def c_program(pairs: list[Pair], texts: list[str], memory: str) -> str:
    """A program that runs all functions, one after the other."""
    calls = []
    for pair, text in zip(pairs, texts, strict=True):
        call = f"{pair.name}({', '.join(['src', 'dst', *map(str, pair.sizes)])})"
        if not re.search(rf"^int {pair.name}\(", text, re.MULTILINE):
            call = f"({call}, 0)"
        calls.append(f"  RUN({call}, {len(pair.given)}, {pair.length});")
    return "\n".join([C_HEAD, *texts, memory, C_RUN, "int main(void) {", *calls, "  return 0;\n}\n"])


def run_c(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
    source, program = folder / "pairs.c", folder / "pairs"
    source.write_text(c_program(pairs, texts, C_MEMORY))
    compile_program(["cc", *C_FLAGS, str(source), "-o", str(program)])
    return run_program([str(program)], pairs)


# ---- C++ -------------------------------------------------------------------------------------------------

CPP_FLAGS = ["-std=c++17", *[flag for flag in C_FLAGS if not flag.startswith("-std")]]


def run_cpp(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
    """By every compiler that is installed; all give the same."""
    source = folder / "pairs.cpp"
    source.write_text(c_program(pairs, texts, CPP_MEMORY))
    found = []
    for compiler in filter(shutil.which, ("g++", "clang++")):
        compile_program([compiler, *CPP_FLAGS, str(source), "-o", str(folder / compiler)])
        found.append(run_program([str(folder / compiler)], pairs))
    assert all(other == found[0] for other in found)
    return found[0]


# ---- Rust ------------------------------------------------------------------------------------------------

RUST_HEAD = """#![allow(dead_code)]
use std::io::{Read, Write};

fn run<T: Copy, U: Copy, R>(given: &[u8], length: usize, call: impl FnOnce(&[T], &mut [U]) -> R) -> (R, Vec<u8>) {
    assert_eq!(given.len() % std::mem::size_of::<T>(), 0);
    let count = length / std::mem::size_of::<U>();
    let mut src: Vec<T> = Vec::with_capacity(given.len());
    let mut dst: Vec<U> = Vec::with_capacity(count + 1);
    let mut out = vec![0; length];
    unsafe {
        std::ptr::copy_nonoverlapping(given.as_ptr(), src.as_mut_ptr() as *mut u8, given.len());
        src.set_len(given.len() / std::mem::size_of::<T>());
        std::ptr::write_bytes(dst.as_mut_ptr() as *mut u8, 0xa5, length);
        dst.set_len(count);
    }
    let done = call(&src, &mut dst);
    unsafe { std::ptr::copy_nonoverlapping(dst.as_ptr() as *const u8, out.as_mut_ptr(), length) };
    (done, out)
}
"""


def run_rust(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
    calls, start = [], 0
    for k, (pair, text) in enumerate(zip(pairs, texts, strict=True)):
        given = f"&given[{start}..{start + len(pair.given)}], {pair.length}"
        call = f"p{k}::{pair.name}({', '.join(['a', 'b', *map(str, pair.sizes)])})"
        refuses = re.search(rf"fn {pair.name}\([^)]*\) -> Result<", text)
        calls.append(f"let (done, made) = run({given}, |a, b| {call}{'.is_err()' if refuses else ''});")
        calls.append(f"out.push({'done as u8' if refuses else '{ let () = done; 0 }'});\n    out.extend(made);")
        start += len(pair.given)
    modules = [f"mod p{k} {{\n{text}}}\n" for k, text in enumerate(texts)]
    main = ["fn main() {", "let mut given = Vec::new();", "std::io::stdin().read_to_end(&mut given).unwrap();"]
    main += ["let mut out: Vec<u8> = Vec::new();", *calls, "std::io::stdout().write_all(&out).unwrap();\n}\n"]
    source, program = folder / "pairs.rs", folder / "rust_pairs"
    source.write_text("\n".join([RUST_HEAD, *modules, *main]))
    compile_program(["rustc", "-D", "warnings", str(source), "-o", str(program)])
    return run_program([str(program)], pairs)


# ---- Mojo ------------------------------------------------------------------------------------------------


def mojo_access(kind: str) -> str:
    """Functions that make elements of bytes, and bytes of elements, in Mojo."""
    lanes = 2 if kind.startswith("SIMD") else 1
    word, bits = re.findall(r"(int|uint|float)(\d+)", kind.lower())[0]
    width, own = int(bits) // 8, f"UInt{bits}"
    place = f"[i // {2 * width}][i // {width} % 2]" if lanes == 2 else f"[i // {width}]"
    name = f"{word}{bits}_{lanes}"
    return f"""
def load_{name}(given: Span[UInt8, _]) -> List[{kind}]:
    var found = List[{kind}](length=len(given) // {width * lanes}, fill=0)
    for i in range(0, len(given), {width}):
        var word: {own} = 0
        for k in range({width}):
            word |= {own}(given[i + k]) << {own}(8 * k)
        found{place} = bitcast[DType.{word}{bits}](word)
    return found^


def store_{name}(mut out: List[UInt8], made: List[{kind}]):
    for i in range(len(made) * {width * lanes}):
        var word = bitcast[DType.uint{bits}](made{place})
        out.append(UInt8((word >> {own}(i % {width} * 8)) & 0xFF))
"""


def run_mojo(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
    calls, access, start = [], {}, 0
    for pair, text in zip(pairs, texts, strict=True):
        head = text[text.index(f"def {pair.name}(") :]
        kinds = [re.search(rf"{side}: Span\[(?:mut=True, )?(.*?), _\]", head) for side in ("src", "dst")]
        read, made = [found[1] if found else "" for found in kinds]
        for kind in (read, made):
            access[kind] = mojo_access(kind)
        names = [re.findall(r"def (?:load|store)_(\w+)", access[kind])[0] for kind in (read, made)]
        bits = 2 * int(re.findall(r"float(\d+)", made)[0]) if "SIMD" in made else int(re.findall(r"\d+", made)[0])
        calls += [
            f"    var a_{pair.name} = load_{names[0]}(given[{start} : {start + len(pair.given)}])",
            f"    var b_{pair.name} = List[{made}](length={pair.length * 8 // bits}, fill=1)",
            "    try:",
            f"        {pair.name}({', '.join([f'a_{pair.name}', f'b_{pair.name}', *map(str, pair.sizes)])})",
            "        out.append(0)",
            "    except:",
            "        out.append(1)",
            f"    store_{names[1]}(out, b_{pair.name})",
        ]
        start += len(pair.given)
    bare = [re.sub(r"^from std.*\n", "", text, flags=re.MULTILINE) for text in texts]
    main = [
        "def main() raises:",
        '    var given = open("given", "r").read_bytes()',
        "    var out = List[UInt8]()",
        *calls,
    ]
    main.append('    var file = open("made", "w")\n    file.write_bytes(Span(out))\n    file.close()\n')
    source = folder / "pairs.mojo"
    source.write_text("\n".join(["from std.memory import bitcast", *access.values(), *bare, *main]))
    (folder / "given").write_bytes(b"".join([pair.given for pair in pairs]))
    compile_program(["mojo", "build", str(source), "-o", str(folder / "mojo_pairs")])
    done = subprocess.run([str(folder / "mojo_pairs")], cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return split_output((folder / "made").read_bytes(), pairs)


RUNNERS = {
    "c": Runner(needs_program("cc"), run_c),
    "cpp": Runner(needs_program("g++", "clang++"), run_cpp),
    "rust": Runner(needs_program("rustc"), run_rust),
    "mojo": Runner(needs_program("mojo"), run_mojo),
    "cuda": Runner(cuda_is_missing, run_cuda),
    "hip": Runner(cuda_is_missing, run_cuda),
    "metal": Runner(needs_program("g++", "clang++"), run_metal),
    "opencl": Runner(opencl_is_missing, run_opencl),
    "triton": Runner(triton_is_missing, run_triton),
    "numpy": Runner(needs_module("numpy"), run_numpy),
    "torch": Runner(needs_module("torch"), run_torch),
    "jax": Runner(needs_module("jax"), run_jax),
    "einops": Runner(needs_module("einops"), run_einops),
    "mlir": Runner(mlir_is_missing, run_mlir),
}
