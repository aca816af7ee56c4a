"""Writes docs/code-languages.md, one pair of layouts in every language: ``python docs/make_code.py``."""

from pathlib import Path
from typing import NamedTuple

import relayout as rl
from relayout.codegen.targets import BUILT_IN, target_named

PAGE = Path(__file__).parent / "code-languages.md"


class Shown(NamedTuple):
    """A language on the page: its full name, the word of its code blocks, and how a text with its test is run."""

    title: str
    block: str
    run: str


LANGUAGES = {
    "c": Shown("C99", "c", "cc pack.c && ./a.out"),
    "cpp": Shown("C++17", "cpp", "c++ -std=c++17 pack.cpp && ./a.out"),
    "rust": Shown("Rust", "rust", "rustc pack.rs && ./pack"),
    "mojo": Shown("Mojo", "mojo", "mojo run pack.mojo"),
    "cuda": Shown("CUDA", "cuda", "nvcc pack.cu && ./a.out"),
    "hip": Shown("HIP", "cpp", "hipcc pack.hip && ./a.out"),
    "opencl": Shown("OpenCL C", "c", "cc -x c pack.cl -lOpenCL && ./a.out"),
    "metal": Shown("Metal", "cpp", "c++ -std=c++17 -x c++ pack.metal && ./a.out"),
    "triton": Shown("Triton", "py", "python pack.py"),
    "numpy": Shown("numpy", "py", "python pack.py"),
    "torch": Shown("PyTorch", "py", "python pack.py"),
    "jax": Shown("JAX", "py", "python pack.py"),
    "einops": Shown("einops", "py", "python pack.py"),
    "mlir": Shown("MLIR", "mlir", ""),
}

HEAD = """# One pair in every language

The pack of an activation into HTP's croutons as every language of [`rl.code`](code.md) writes it:
`rl.code("nhwc", "htp:R4Crouton", "uint8", target, axes="nhwc", test=True)`, for any sizes, padded with 31, with the
test that whoever pastes it can run. The tests of this project compile and run each of these texts where its tool is
installed.
"""


def text_of(name: str) -> str:
    """The pair in one language; why not, where it refuses."""
    try:
        return rl.code("nhwc", "htp:R4Crouton", "uint8", name, axes="nhwc", test=True)
    except rl.NotExpressible as error:
        return f"{error.message}\n{error.hint}\n"


def page() -> str:
    """The whole page."""
    parts = [HEAD, " · ".join([f"[{LANGUAGES[name].title}](#{name})" for name in BUILT_IN]) + "\n"]
    for name in BUILT_IN:
        shown = LANGUAGES[name]
        heading = f"## {name}\n\n{shown.title}, pack{target_named(name).suffix}"
        how = f": `{shown.run}` prints `ok`." if shown.run else "."
        parts.append(f"{heading}{how}\n\n```{shown.block}\n{text_of(name)}```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
