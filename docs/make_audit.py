"""Runs the audits of docs/audit.md and README.md and writes what they print: ``python docs/make_audit.py``."""

import os
import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from relayout.cli.main import relayout

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "docs" / "audit.md", ROOT / "README.md")
_BLOCK = re.compile(r"(?<=```text\n\$ relayout )(audit [^\n]*)\n.*?(?=```\n)", re.DOTALL)


def page(text: str) -> str:
    """The page with what its commands print today; all run in the root of the repository."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        return _BLOCK.sub(lambda block: f"{block[1]}\n{_printed(block[1])}", text)
    finally:
        os.chdir(here)


def _printed(line: str) -> str:
    done = CliRunner().invoke(relayout, shlex.split(line))
    if not isinstance(done.exception, SystemExit | type(None)):
        raise done.exception
    return done.output


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text()))
