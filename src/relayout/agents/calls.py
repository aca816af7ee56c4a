"""Calls of tools that wait for their turn: one is computed at a time, and each can be cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from ..errors import LimitExceeded
from . import limits
from .computing import Computing, ProcessEnded
from .tools import refusal

Reply = Callable[[dict[str, Any] | None], None]
"""Takes the answer of a tool; None where the call was cancelled, or ``{"ended": ...}`` where there is none."""


@dataclass(slots=True, eq=False)
class ToolCall:
    """A call of a tool by the request of this id."""

    id: int | str
    name: str
    arguments: dict[str, Any]
    reply: Reply
    cancelled: bool = False


class CallQueue:
    """The calls under way, by the ids of their requests."""

    def __init__(self, seconds: float) -> None:
        self._computing = Computing(seconds)
        self._queue: SimpleQueue[ToolCall | None] = SimpleQueue()
        self._lock = Lock()
        self._open: dict[int | str, ToolCall] = {}
        self._running: ToolCall | None = None
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Get ready for the first call, while nobody waits."""
        self._computing.start()
        self._thread.start()

    def __contains__(self, id: int | str) -> bool:
        return id in self._open

    def add(self, call: ToolCall) -> None:
        """Take a call; refused at once where too many wait already."""
        with self._lock:
            full = len(self._open) > limits.WAITING
            if not full:
                self._open[call.id] = call
        if full:
            what = f"{limits.WAITING} calls wait already."
            call.reply({**refusal(LimitExceeded(what, hint="wait for an answer first"))._asdict(), "failed": True})
        else:
            self._queue.put(call)

    def cancel(self, id: Any) -> None:
        """Give up a call; what is not under way, or was answered meanwhile, is ignored."""
        with self._lock:
            call = self._open.get(id) if isinstance(id, int | str) else None
            if call is None:
                return
            call.cancelled = True
            if self._running is call:  # and stays so while the lock is held
                self._computing.end()

    def finish(self, seconds: float) -> None:
        """Answer what was asked, for that long at most, and end."""
        self._queue.put(None)
        self._thread.join(seconds)
        self._computing.end()

    def _run(self) -> None:
        while (call := self._queue.get()) is not None:
            with self._lock:
                self._running = None if call.cancelled else call
            answer = None if call.cancelled else self._answer(call)
            with self._lock:
                self._running = None
                del self._open[call.id]
            call.reply(None if call.cancelled else answer)

    def _answer(self, call: ToolCall) -> dict[str, Any]:
        try:
            return self._computing.ask(call.name, call.arguments)
        except LimitExceeded as limit:
            return {**refusal(limit)._asdict(), "failed": True}
        except ProcessEnded as ended:
            return {"ended": str(ended)}
