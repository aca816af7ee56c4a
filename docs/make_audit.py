"""Runs the commands of docs/audit.md on the samples and writes what they print: ``python docs/make_audit.py``."""

import os
import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from relayout.cli.main import relayout

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "audit.md"
_BLOCK = re.compile(r"(?<=```console\n\$ relayout )([^\n]*)\n.*?(?=```\n)", re.DOTALL)


def page(text: str) -> str:
    """The page with what its commands print today; all run in the root of the repository."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        return _BLOCK.sub(lambda block: f"{block[1]}\n{_printed(block[1])}", text)
    finally:
        os.chdir(here)


def _printed(line: str) -> str:
    return CliRunner().invoke(relayout, shlex.split(line)).output


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
