"""What a plan is called through: the compiled core runs a plan's program itself, else the plan's ``_run`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...native import native


class NativeCallable:
    """A base of objects that are called to run.

    ``_program_with_fill`` is a program of the compiled core that does all of a run, fill included, or None.
    """

    __slots__ = ("_program_with_fill",)
    _program_with_fill: Any
    _run: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)


if not TYPE_CHECKING and native is not None:
    NativeCallable = native.NativeCallable
