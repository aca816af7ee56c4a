"""The server on standard input and output: one message a line, until the input ends."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Lock
from typing import Any, BinaryIO

from . import limits
from .calls import CallQueue
from .protocol import Session


def serve(seconds: float = limits.SECONDS) -> None:
    """Answer the client at the other end of stdin and stdout; ``seconds`` is what an answer may take."""
    # Numbers of a message have limits again, which the command line lifts for its own.
    sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)
    out = os.dup(1)
    # What anybody else prints must not get between the messages.
    os.dup2(2, 1)
    calls = CallQueue(seconds)
    calls.start()
    session = Session(calls, _writer(out))
    try:
        for line in read_lines(sys.stdin.buffer):
            session.receive(line)
    finally:
        calls.finish(limits.GRACE)
        os.dup2(out, 1)


def read_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines that hold something; None for one that is too long, of which no more is kept than the limit."""
    while line := stream.readline(limits.LINE + 2):
        whole = line.endswith(b"\n")
        if len(line.rstrip(b"\r\n")) > limits.LINE:
            while not whole and (rest := stream.readline(limits.LINE)):
                whole = rest.endswith(b"\n")
            yield None
        elif line.strip():
            yield line


def _writer(out: int) -> Callable[[Any], None]:
    """What writes a message in one line, from any thread; that nobody reads it any more is no error."""
    lock = Lock()

    def write(message: Any) -> None:
        line = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        with lock, suppress(OSError):
            while line:
                line = line[os.write(out, line) :]

    return write
