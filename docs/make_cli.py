"""Runs the console examples of docs/cli.md and README.md and writes what they print: ``python docs/make_cli.py``."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from relayout.cli.main import relayout

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "docs" / "cli.md", ROOT / "README.md")
_BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```\n)", re.DOTALL)


def page(text: str) -> str:
    """The page with what its commands print today; all run in one folder, in order."""
    here = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return _BLOCK.sub(lambda block: _run_again(block[0]), text)
        finally:
            os.chdir(here)


def _run_again(block: str) -> str:
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join([f"{line}\n{printed(line[2:])}" for line in commands])


def printed(line: str) -> str:
    """What one line of a terminal prints: relayout alone is called here, everything else by the shell."""
    if line.startswith("relayout ") and "|" not in line and ";" not in line:
        return CliRunner().invoke(relayout, shlex.split(line)[1:]).output
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", line], env=env, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text()))
