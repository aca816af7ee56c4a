"""The process that computes answers: ``python -m relayout.agents.worker SECONDS``.

It reads one question a line and writes one answer a line. Whoever started it ends it when it takes too long; should
that one be gone, it ends by itself.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from ..dialects.registry import dialect_names
from ..errors import LayoutError, LimitExceeded
from . import limits
from .confine import confine
from .tools import call_tool, refusal


def main() -> None:
    """Answer until the questions end."""
    # What a package prints must not get between the answers.
    with os.fdopen(os.dup(1), "wb") as answers, open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(2, 1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _limit_memory()
        _warm_up()
        confine()
        answers.write(b"ready\n")
        answers.flush()
        for line in sys.stdin.buffer:
            faulthandler.dump_traceback_later(float(sys.argv[1]) + 1, exit=True, file=nowhere)
            answers.write(answer_line(json.loads(line)) + b"\n")
            answers.flush()
            faulthandler.cancel_dump_traceback_later()


def answer_line(question: dict[str, Any]) -> bytes:
    """The answer to ``{"name": ..., "arguments": ...}``, or the refusal, in one line of JSON."""
    try:
        answer, failed = call_tool(question["name"], question["arguments"]), False
    except LayoutError as error:
        answer, failed = refusal(error), True
    line = json.dumps({**answer._asdict(), "failed": failed}, allow_nan=False).encode()
    if len(line) > limits.ANSWER:
        what = f"the answer has {len(line)} bytes, more than {limits.ANSWER}."
        limit = LimitExceeded(what, hint="ask about a smaller one, or about a part of it", limit=limits.ANSWER)
        line = json.dumps({**refusal(limit)._asdict(), "failed": True}).encode()
    return line


def _limit_memory() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limits.MEMORY, limits.MEMORY))


def _warm_up() -> None:
    """Import what most answers need, while nobody waits."""
    for module in _MODULES:
        import_module(f"..{module}", __package__)
    dialect_names()


_MODULES = (
    "ask.comparing",
    "ask.comparison_facts",
    "ask.description",
    "ask.inference.inference_facts",
    "ask.inference.tables",
    "ask.inference.dumps",
    "ask.infer",
    "drawing.choose_scene",
    "drawing.svg",
)


if __name__ == "__main__":
    main()
