"""How texts for array libraries are run: in this process, each function on an array of the bytes that a pair has."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from code_pairs import REFUSED, Pair, kind_of

INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMPY = (*INTEGERS[1:], "float16", "float32", "float64", "complex64", "complex128")
RUNS = Callable[[list[Pair], list[str], Path], "list[bytes | None]"]


def needs_module(name: str) -> Callable[[], str]:
    return lambda: "" if find_spec(name) else f"{name} is not installed"


def numpy_array(data: bytes, kind: Any) -> Any:
    """What numpy has no type for is unsigned integers of its width."""
    name = kind.name if kind.name in NUMPY else f"uint{max(kind.bits, 8)}"
    return np.frombuffer(data, name)


def numpy_bytes(x: Any) -> bytes:
    assert x.flags.c_contiguous
    return bytes(x.tobytes())


def torch_array(data: bytes, kind: Any) -> Any:
    import torch

    stored = torch.uint8 if kind.bits < 8 or kind.name == "bool" else getattr(torch, kind.name)
    return torch.tensor(list(data), dtype=torch.uint8).view(stored)


def torch_bytes(x: Any) -> bytes:
    import torch

    return bytes(x.view(torch.uint8).numpy().tobytes())


def jax_array(data: bytes, kind: Any) -> Any:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    name = "uint8" if kind.bits < 8 or kind.name == "bool" else kind.name
    return jnp.asarray(np.frombuffer(data, getattr(jnp, name)))


def needs_padding(pair: Pair) -> bool:
    """Whether a side has places beside the elements at these sizes."""
    return 0 in pair.sizes or any(
        x.layout(pair.sizes).storage_size > int(np.prod(pair.sizes)) for x in (pair.source, pair.target)
    )


def run_with(array: Callable[[bytes, Any], Any], to_bytes: Callable[[Any], bytes]) -> RUNS:
    """A runner by what makes an array of bytes, and bytes of an array."""

    def run(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
        found: list[bytes | None] = []
        for pair, text in zip(pairs, texts, strict=True):
            space: dict[str, Any] = {}
            exec(compile(text, f"{folder}/{pair.name}.py", "exec"), space)
            try:
                out = space[pair.name](array(pair.given, kind_of(pair.element)), *pair.sizes)
            except (IndexError, TypeError, RuntimeError) as error:
                raise AssertionError(f"{error}\n{pair}\n{text}") from error
            except ValueError as error:
                if "einops pads nothing" in str(error):
                    assert needs_padding(pair), f"{error}\n{pair}\n{text}"
                    found.append(REFUSED)
                    continue
                assert "has no place in" in str(error), f"{error}\n{pair}\n{text}"
                found.append(None)
                continue
            assert out.ndim == 1, f"{pair}\n{text}"
            found.append(to_bytes(out))
        return found

    return run


run_numpy = run_with(numpy_array, numpy_bytes)
run_torch = run_with(torch_array, torch_bytes)
run_jax = run_with(jax_array, lambda x: np.asarray(x).tobytes())
run_einops = run_numpy


MLIR_FLOATS = ("float32", "float64")
IREE_FLAGS = ["--iree-llvmcpu-target-cpu=generic", "--iree-input-demote-f64-to-f32=false"]


def mlir_is_missing() -> str:
    return "" if all(map(find_spec, ("iree", "iree.compiler", "iree.runtime"))) else "IREE is not installed"


def mlir_module(text: str) -> Any:
    """The functions of a text, by IREE's compiler, which verifies each, and its runtime on this CPU."""
    import iree.compiler as compiler
    import iree.runtime as runtime

    built = compiler.compile_str(text, target_backends=["llvm-cpu"], extra_args=IREE_FLAGS)
    context = runtime.SystemContext(config=runtime.Config("local-task"))
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, built))
    return context.modules.module


def run_mlir(pairs: list[Pair], texts: list[str], folder: Path) -> list[bytes | None]:
    """Many at once; where IREE fails on some, fewer. What it verifies and cannot compile counts as refused."""
    import iree.compiler as compiler

    try:
        module = mlir_module("\n".join(texts))
    except compiler.CompilerToolError:
        if len(texts) > 1:
            half = len(texts) // 2
            return run_mlir(pairs[:half], texts[:half], folder) + run_mlir(pairs[half:], texts[half:], folder)
        with compiler.ir.Context():
            assert compiler.ir.Module.parse(texts[0]).operation.verify(), f"{pairs[0]}\n{texts[0]}"
        return [REFUSED]
    found: list[bytes | None] = []
    for pair in pairs:
        kind = kind_of(pair.element)
        stored = kind.name if kind.name in MLIR_FLOATS else f"int{kind.bits}"
        out = getattr(module, pair.name)(np.frombuffer(pair.given, stored), *pair.sizes)
        found.append(out.to_host().tobytes())
    return found
