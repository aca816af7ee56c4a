"""Triton's own answers: what its wheel says of a type, without a GPU. Each case runs in a process of its own, since
what Triton does not like ends the process.

A vector is a line: the encoding as Triton prints it, the shape, and the bases of every input, separated by tabs.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from triton._C.libtriton import amd, gluon_ir, ir, nvidia

MODULE = (
    'module attributes {{"ttg.num-ctas" = {ctas} : i32, "ttg.num-warps" = {warps} : i32, '
    '"ttg.threads-per-warp" = {lanes} : i32}} {{ tt.func public @f(%a: {type}) {{ tt.return }} }}'
)
INPUTS = {
    "reg_bases": "register",
    "lane_bases": "lane",
    "warp_bases": "warp",
    "block_bases": "block",
    "offset_bases": "offset",
    "cga_layout": "block",
    "rows": "row",
    "cols": "col",
}


def context() -> Any:
    """A context that knows every dialect of the wheel."""
    made = ir.context()
    for loader in (ir, nvidia, amd):
        loader.load_dialects(made)
    return made


def type_of(encoding: str, shape: Sequence[int], element: str) -> str:
    """The type of a tensor with that encoding, or of the memory where it lies."""
    sizes = "x".join(map(str, shape))
    if "tensor_memory" in encoding:
        return f"!ttg.memdesc<{sizes}x{element}, {encoding}, #ttng.tensor_memory, mutable>"
    if "shared" in encoding.partition("<")[0]:
        return f"!ttg.memdesc<{sizes}x{element}, {encoding}, #ttg.shared_memory, mutable>"
    return f"tensor<{sizes}x{element}, {encoding}>"


def vector(encoding: str, shape: Sequence[int], element: str = "f16") -> str | None:
    """The line of one case; None where Triton refuses the text or the shape."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            os.write(write, _ask(encoding, list(shape), element).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer or None


def _ask(encoding: str, shape: list[int], element: str) -> str:
    loaded = context()
    builder = gluon_ir.GluonOpBuilder(loaded)
    kind = type_of(encoding, shape, element)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.mlir"
        path.write_text(MODULE.format(type=kind, ctas=1, warps=4, lanes=32))
        module = ir.parse_mlir_module(str(path), loaded)
    value = module.get_function("f").args(0)
    tensor = kind.startswith("tensor")
    layout = (builder.get_gluon_layout_from_tensor if tensor else builder.get_gluon_layout_from_memdesc)(value)
    if "kThenMn" in encoding:
        # The layout of Blackwell, which the wheel makes of this one of Rubin, has no such order.
        made = builder.get_tensor_memory_scales_layout([list(basis) for basis in layout.cga_layout], "kThenMn")
    elif _is_linear(encoding):
        made = None
    else:
        made = layout._to_ir(builder)
    linear = layout if made is None else builder.to_linear_layout(made, shape)
    if list(getattr(linear, "shape", shape)) != shape or not _fits(linear, shape):
        return ""
    return "\t".join([printed(module.str_nodebug()), "x".join(map(str, shape)), bases_text(linear)])


def _fits(linear: Any, shape: list[int]) -> bool:
    """Whether every basis is in the tensor; of a cluster that is too large for it some are not."""
    found = [basis for field in INPUTS for basis in getattr(linear, field, None) or ()]
    return all(x < n for basis in found for x, n in zip(basis, shape))


def _is_linear(encoding: str) -> bool:
    """Whether Triton refuses to_linear_layout of an encoding that has its bases in its text."""
    return any(word in encoding.partition("<")[0] for word in ("padded_shared", "generic_linear"))


def printed(module: str) -> str:
    """The encoding of the only argument, as a module prints it, with what its aliases stand for in their place."""
    aliases = dict(re.findall(r"^(#\w+) = (.*)$", module, re.MULTILINE))
    written = module.partition("%arg0: ")[2].partition(") {")[0].partition(", ")[2]
    written = written_out(written, aliases)
    depth = 0
    for k, c in enumerate(written):
        depth += (c in "<{[") - (c in ">}]")
        if depth < 0 or (depth == 0 and c == ","):
            return written[:k]
    return written


def written_out(text: str, aliases: dict[str, str]) -> str:
    """A text with what its aliases stand for in their place."""
    while re.search(r"#\w+\b(?!\.)", text):
        text = re.sub(r"#\w+\b(?!\.)", lambda alias: aliases[alias.group()], text)
    return text


def bases_text(linear: Any) -> str:
    """The bases of every input, as ``lane=0,1;0,2 warp=1,0``."""
    parts = []
    for field, name in INPUTS.items():
        found = getattr(linear, field, None)
        if found is not None:
            parts.append(f"{name}={';'.join([','.join(map(str, basis)) for basis in found])}")
    return " ".join(parts)


def record(path: Path, cases: Iterable[tuple[str, Sequence[int], str]]) -> int:
    """Write the vectors of all cases that Triton accepts, each once; how many they are."""
    lines: dict[str, None] = {}
    for encoding, shape, element in cases:
        line = vector(encoding, shape, element)
        if line is not None:
            lines[line] = None
    path.write_text("".join([f"{line}\n" for line in lines]))
    return len(lines)
