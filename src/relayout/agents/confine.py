"""A process that reads no files but those of Python's modules, writes none, and reaches no network and no program.

What computes answers has no use for any of them; this holds it to that, other packages' dialects and formats included.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import all_suffixes
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FORBIDDEN = (
    *("ftplib.", "http.", "shutil.", "smtplib.", "socket.", "sqlite3.", "subprocess.", "urllib."),
    *("os.exec", "os.fork", "os.kill", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "pty."),
    *("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"),
    *("os.chflags", "os.setxattr", "os.utime"),
)
"""How the audit events begin that nothing here may cause."""


_METADATA = (".dist-info", ".egg-info")
"""How the folders end that say what is installed."""


def confine() -> None:
    """Hold this process to the files of modules: code, and what lies in the folders of packages, for good."""
    above = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120
    roots = {os.path.normcase(os.path.join(os.path.abspath(x), "")) for x in (above, *sys.path) if x}  # noqa: PTH100, PTH118
    code = tuple(all_suffixes())

    def is_of_a_package(place: str) -> bool:
        tops = [root + place[len(root) :].partition(os.sep)[0] for root in roots if place.startswith(root)]
        return any(top.endswith(_METADATA) or os.path.isfile(f"{top}{os.sep}__init__.py") for top in tops)  # noqa: PTH113

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_FORBIDDEN):
            raise PermissionError(f"{event} is not for answers about layouts")
        if event == "open" and not isinstance(arguments[0], int):
            path, mode, flags = arguments
            place = os.path.normcase(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100
            writing = flags & _WRITING if mode is None else set(mode) & set("wax+")
            if writing or not (place.endswith(code) or is_of_a_package(place)):
                raise PermissionError(f"no file is opened for answers about layouts: {place}")

    sys.addaudithook(watch)
