"""The page of all languages: its texts are today's, and those whose tools are installed here are run and print ok."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from relayout.codegen.targets import BUILT_IN, target_named

ROOT = Path(__file__).parent.parent


def load_maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_code", ROOT / "docs" / "make_code.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = load_maker()
TEXT = MAKER.PAGE.read_text()


def shown_text(language: str) -> str:
    """The block of code that the page has for a language."""
    found = re.search(rf"^## {language}\n.*?^```\w+\n(.*?)^```\n", TEXT, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("language", BUILT_IN)
def test_the_page_shows_what_is_written_today(language: str) -> None:
    assert shown_text(language) == MAKER.text_of(language), "python docs/make_code.py"


COMMANDS = {
    "c": ["cc", "-Wall", "-Wextra", "-Werror", "{file}", "-o", "{program}"],
    "cpp": ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "{file}", "-o", "{program}"],
    "rust": ["rustc", "-D", "warnings", "{file}", "-o", "{program}"],
    "mojo": ["mojo", "build", "{file}", "-o", "{program}"],
    "metal": ["c++", "-std=c++17", "-x", "c++", "{file}", "-o", "{program}"],
    "cuda": ["nvcc", "{file}", "-o", "{program}"],
    "hip": ["env", "HIP_PLATFORM=amd", "hipcc", "--offload-arch=gfx90a", "-c", "{file}", "-o", "{program}"],
}
"""How texts become programs; those of Python are run as they are."""

MODULES = {"numpy": "numpy", "torch": "torch", "jax": "jax", "einops": "einops"}


@pytest.mark.parametrize("language", [*COMMANDS, *MODULES])
def test_the_texts_of_the_page_print_ok(language: str, tmp_path: Path) -> None:
    file, program = tmp_path / f"pack{target_named(language).suffix}", tmp_path / "pack"
    file.write_text(shown_text(language))
    if language in MODULES:
        if importlib.util.find_spec(MODULES[language]) is None:
            pytest.skip(f"NO {language} CODE TESTS: {MODULES[language]} is not installed")
        command = [sys.executable, str(file)]
    else:
        tool = next(word for word in COMMANDS[language] if word != "env" and "=" not in word)
        if not shutil.which(tool):
            pytest.skip(f"NO {language} CODE TESTS: {tool} is not installed")
        words = [word.format(file=file, program=program) for word in COMMANDS[language]]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:3000]
        if language == "hip" or (language == "cuda" and not shutil.which("nvidia-smi")):
            pytest.skip(f"NO {language} CODE TESTS: it compiles, and there is no device")
        command = [str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[:3000]
