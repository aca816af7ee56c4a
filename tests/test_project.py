"""The project itself: imports stay light, the command works, docs match the code, lint and types are clean."""

from __future__ import annotations

import builtins
import importlib.util
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import relayout
from clock import LOOPS_PER_SECOND
from relayout.cli.main import main
from test_rooms import MODULES, PUBLIC_MODULES, ROOMS

ROOT = Path(__file__).parent.parent


def python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    cached = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | variables
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=cached, capture_output=True, text=True, check=False
    )


def test_import_is_light() -> None:
    """Forty milliseconds on a processor that nobody else uses, which is four of the loop that is timed beside it."""
    code = (
        "import sys; sys.path.append('tests'); from clock import loops_of; before = set(sys.modules);"
        "print(loops_of(lambda: __import__('relayout')), sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    runs = (python("-c", code).stdout.split(" ", 1) for _ in range(50))
    modules = next((modules for loops, modules in runs if float(loops) < 0.04 * LOOPS_PER_SECOND), None)
    assert modules is not None
    for heavy in ("numpy", "click", "rich", "torch"):
        assert f"'{heavy}'" not in modules


def test_every_public_name_exists_and_is_documented() -> None:
    for name in relayout.__all__:
        assert getattr(relayout, name).__doc__, name


def test_the_demo_runs() -> None:
    done = python("-m", "relayout", "demo")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "NotExpressible [RL006]" in done.stdout
    assert "the same function" in done.stdout


def run_here(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["relayout", *arguments])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 0


def test_demo_fits_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_here(monkeypatch, "demo")
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert "different at (0, 1000): 1000000000000 and 1000000000001" in lines
    checks = [after for line, after in pairwise(lines) if line.startswith(">>> np.array_equal")]
    assert checks == ["True", "True"]


def test_help_names_the_commands() -> None:
    done = python("-m", "relayout", "--help")
    assert done.returncode == 0
    assert "demo" in done.stdout
    assert python("-m", "relayout", "--version").stdout.strip().endswith(relayout.__version__)


def script(name: str) -> ModuleType:
    """A script of the docs, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_error_page_is_generated_from_the_classes() -> None:
    module = script("make_errors")
    text = module.PAGE.read_text()
    assert module.page(text) == text
    codes = [cls.code for cls in relayout.errors.error_classes()]
    assert len(set(codes)) == len(codes)


def test_the_audits_of_the_pages_are_generated_from_the_samples() -> None:
    module = script("make_audit")
    for path, least in zip(module.PAGES, (2, 1)):
        text = path.read_text()
        assert module.page(text) == text, "run python docs/make_audit.py"
        assert text.count("```text\n$ relayout audit") >= least


def test_the_api_page_is_generated_from_the_docstrings() -> None:
    module = script("make_api")
    assert module.PAGE.read_text() == module.page(), "run python docs/make_api.py"


def test_every_public_name_is_in_one_group() -> None:
    grouped = [name for group in script("make_api").groups() for name in group.names]
    assert [name for name in grouped if name not in dir(builtins)] == relayout.__all__
    assert len(set(grouped)) == len(grouped)


@pytest.mark.parametrize("module", ["relayout", *sorted(f"relayout.{name}" for name in PUBLIC_MODULES)])
def test_a_star_import_brings_none_of_pythons_own_names(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not there")
    names: dict[str, object] = {}
    exec(f"from {module} import *", names)
    assert len(names) > 1
    assert not (set(names) - {"__builtins__"}) & set(dir(builtins))


def test_the_names_that_a_star_import_leaves_out_are_there() -> None:
    left_out = {name for group in script("make_api").groups() for name in group.names} - set(relayout.__all__)
    assert left_out == {"filter", "open"}
    for name in left_out:
        assert name in dir(relayout)
        assert getattr(relayout, name).__doc__


PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "release/README.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_and_link_of_a_page_exists(page: Path) -> None:
    text = page.read_text()
    files = re.findall(r"`([\w./]+(?:\.py|\.md|\.h|\.cpp|/))`", text)
    roots = (ROOT, ROOT / "src" / "relayout", ROOT / "src")
    assert [name for name in files if not any((root / name).exists() for root in roots)] == []
    links = re.findall(r"\]\(([\w./-]+\.\w+)(?:#[\w-]*)?\)", text)
    assert [link for link in links if not page.parent.joinpath(link).exists()] == []


def test_the_map_has_every_room_in_its_order() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = [re.findall(r"`(\w+)(?:/|\.py)`", row.split("|")[1]) for row in text.splitlines() if row.startswith("| `")]
    listed = [name for names in rows for name in names]
    floors = [(names,) if isinstance(names, str) else names for names in ROOMS]
    there = {module.partition(".")[0] for module in MODULES}
    built = [[name for name in names if name in there and not name.startswith("_")] for names in floors]
    assert sorted(listed) == sorted(name for names in built for name in names)
    height = {name: floor for floor, names in enumerate(built) for name in names}
    assert [height[name] for name in listed] == sorted(height[name] for name in listed)


def test_the_pure_path_passes_the_same_tests() -> None:
    files = [f"tests/test_{name}.py" for name in ("layout", "inttuple", "composition", "algebra", "views")]
    done = python("-m", "pytest", "--no-cov", "-n", "0", "-p", "no:cacheprovider", *files, RELAYOUT_NATIVE="0")
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("arguments", [("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",)])
def test_lint_and_types(arguments: tuple[str, ...]) -> None:
    done = python("-m", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
