"""Answers computed in another process, which is ended when it takes too long; the next question has a new one.

A process can be ended on every system, whatever it does; a thread cannot.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from ..errors import LimitExceeded

_START_SECONDS = 60.0
"""How long the process may take to start."""


class ProcessEnded(RuntimeError):
    """The process that computes ended by itself, or was ended from outside."""


class Computing:
    """One process that answers questions one by one, started ahead of the first."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._ready = False

    def start(self) -> None:
        """Start the process, unless there is one."""
        with self._lock:
            if self._process is not None:
                return
            # Nothing is imported from the folder that a client happens to be in.
            safe = "-I" if sys.flags.isolated else "-P"
            command = [sys.executable, safe, "-m", f"{__package__}.worker", str(self.seconds)]
            # Threads of a BLAS are of no use here, and reserve memory for each core.
            env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            window = getattr(subprocess, "CREATE_NO_WINDOW", 0)
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, creationflags=window
            )
            self._lines, self._ready = SimpleQueue(), False
            Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True).start()

    def end(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            if self._process is None:
                return
            process, self._process = self._process, None
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def ask(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of a tool; ``LimitExceeded`` where it takes too long, ``ProcessEnded`` where there is none."""
        self.start()
        process, lines = self._process, self._lines
        if process is None or process.stdin is None:
            raise ProcessEnded("the process that computes was ended")
        try:
            if not self._ready and lines.get(timeout=_START_SECONDS) != b"ready\n":
                self.end()
                raise ProcessEnded("the process that computes does not start")
            self._ready = True
            process.stdin.write(json.dumps({"name": name, "arguments": arguments}).encode() + b"\n")
            process.stdin.flush()
            line = lines.get(timeout=self.seconds)
        except Empty:
            self.end()
            raise LimitExceeded(
                f"the answer took longer than {self.seconds:g} s, and was given up.",
                hint="ask about a smaller or simpler layout, or about a part of it",
                limit=self.seconds,
            ) from None
        except (OSError, ValueError) as error:
            self.end()
            raise ProcessEnded("the process that computes ended") from error
        if not line:
            self.end()
            raise ProcessEnded("the process that computes ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _read(stream: Any, lines: SimpleQueue[bytes]) -> None:
    """Hand on every line, and at the end an empty one."""
    try:
        for line in stream:
            lines.put(line)
    except (OSError, ValueError):  # closed meanwhile
        pass
    lines.put(b"")
