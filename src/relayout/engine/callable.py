"""What a plan is called through: by the compiled core where it has a program, else by the plan's ``_run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..native import native


class NativeCallable:
    """A base of objects that are called to run; ``_compiled`` is a program of the compiled core, or None."""

    __slots__ = ("_compiled",)
    _compiled: Any
    _run: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)


if not TYPE_CHECKING and native is not None:
    NativeCallable = native.NativeCallable
