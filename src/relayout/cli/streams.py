"""Standard streams as the commands need them: all three are there, and stdout takes every text."""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper

_IN_ASCII = str.maketrans("─━│┃┼┿╂╋·↖↑↗←→↙↓↘⇖⇑⇗⇐⇒⇙⇓⇘∘\u00f7\u00d7", "-=||++++.\\^/<>/v\\\\^/<>/v\\o/x")


def prepare_streams() -> None:
    """Give a process that was started without stdin, stdout or stderr an empty one, lest a file takes its number.

    What stdout cannot encode is written as a sign like it, else as an escape.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # The lowest free number is taken: this one.
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))
    codecs.register_error("relayout", _substitute)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="relayout")


def _substitute(error: UnicodeError) -> tuple[str | bytes, int]:
    """One character at a time, as codecs ask for it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    sign = error.object[error.start].translate(_IN_ASCII)
    return sign if sign.isascii() else ascii(sign)[1:-1], error.start + 1
