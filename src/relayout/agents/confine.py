"""A process that reads no files but Python's own, writes none, and reaches no network and no other program.

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


def confine() -> None:
    """Hold this process to the folders that its modules come from, for good."""
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    known = {sys.prefix, sys.base_prefix, sys.exec_prefix, package, *[x for x in sys.path if x]}
    roots = tuple([os.path.normcase(os.path.join(os.path.abspath(x), "")) for x in known])  # noqa: PTH100, PTH118
    code = tuple(all_suffixes())

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_FORBIDDEN):
            raise PermissionError(f"{event} is not for answers about layouts")
        if event == "open" and not isinstance(arguments[0], int):
            path, mode, flags = arguments
            place = os.path.normcase(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100
            writing = flags & _WRITING if mode is None else set(mode) & set("wax+")
            if writing or not (place.startswith(roots) or place.endswith(code)):
                raise PermissionError(f"no file is opened for answers about layouts: {place}")

    sys.addaudithook(watch)
