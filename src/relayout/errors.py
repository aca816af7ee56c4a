"""One exception per mistake: each says what was got, why it is refused, and the way out."""

from __future__ import annotations

from typing import Any, ClassVar


def shown(x: Any, level: int = 4) -> str:
    """``repr`` kept short: deep nesting and long tuples end in dots."""
    if isinstance(x, tuple | list):
        if level == 0:
            return "(...)"
        entries = [shown(e, level - 1) for e in x[:12]] + ["..."] * (len(x) > 12)
        return f"({', '.join(entries)}{',' * (len(x) == 1)})"
    try:
        text = repr(x)
    except ValueError:  # Python does not write integers of more than 4300 digits
        text = f"<{type(x).__name__} of too many digits>"
    return text if len(text) <= 200 else f"{text[:190]}..."


class LayoutError(ValueError):
    """Base of all relayout errors.

    ``code`` is stable across releases, ``hint`` is the way out, and ``operands`` holds the values the
    message speaks of; each is also an attribute of the exception.
    """

    code: ClassVar[str] = "RL000"
    meaning: ClassVar[str] = "something is wrong with a layout"
    way_out: ClassVar[str] = "see the message"

    def __init__(self, message: str, *, hint: str = "", **operands: Any) -> None:
        super().__init__(f"{message} Hint: {hint}" if hint else message)
        self.message = message
        self.hint = hint
        self.operands = operands

    def __getattr__(self, name: str) -> Any:
        operands = self.__dict__.get("operands", {})
        if name in operands:
            return operands[name]
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.hint, self.operands)


def _rebuild(cls: type[LayoutError], message: str, hint: str, operands: dict[str, Any]) -> LayoutError:
    return cls(message, hint=hint, **operands)


class ParseError(LayoutError):
    """A text that is not a layout in the dialect asked for; the message points at the first bad character."""

    code = "RL001"
    meaning = "a text is not a layout in the dialect that was asked for"
    way_out = "look at the caret: the text is right up to there"

    def __init__(self, message: str, *, text: str = "", position: int = 0, hint: str = "", **operands: Any) -> None:
        start = max(0, position - 60)
        line = "".join(c if c.isprintable() else " " for c in text[start : position + 40])
        super().__init__(message, hint=hint, text=text, position=position, **operands)
        self.args = (f"{message}\n  {line}\n  {' ' * (position - start)}^" + (f"\nHint: {hint}" if hint else ""),)


class ShapeError(LayoutError):
    """Shapes, strides, ranks or parameters that do not fit together."""

    code = "RL002"
    meaning = "shapes, strides, ranks or parameters do not fit together"
    way_out = "give every mode one stride and every dimension one entry; sizes are integers >= 0"


class OutOfBounds(LayoutError, IndexError):
    """A coordinate, index or dimension outside its range."""

    code = "RL003"
    meaning = "a coordinate, an index or a dimension is outside its range"
    way_out = "stay inside `extents`; integer coordinates count logical elements from 0 to size - 1"


class WindowError(ShapeError, OutOfBounds):
    """A window that leaves the box it belongs to."""

    code = "RL004"
    meaning = "a window (origin, extents) leaves the box that the shape gives"
    way_out = "keep 0 <= origin and origin + extents <= size for every mode, or enlarge the shape"


class Overlap(LayoutError):
    """Two coordinates share one address where they must not."""

    code = "RL005"
    meaning = "two coordinates share one address where each needs its own"
    way_out = "drop broadcast (stride 0) modes, or choose strides that keep the coordinates apart"


class NotExpressible(LayoutError):
    """A question whose exact answer the form asked for cannot hold; carries a counterexample where one exists."""

    counterexample: Any
    code = "RL006"
    meaning = "the exact answer exists as a function, but not in the form that was asked for"
    way_out = "use the form named in the hint (often ComposedLayout, a view, or a copy)"

    def __init__(self, message: str, *, hint: str = "", counterexample: Any = None, **operands: Any) -> None:
        super().__init__(message, hint=hint, counterexample=counterexample, **operands)


class LayoutMismatch(LayoutError):
    """Data that has another layout than the one expected."""

    code = "RL007"
    meaning = "data has another layout than the one expected"
    way_out = "repack it, or expect the layout that it has"


class LimitExceeded(LayoutError):
    """A question left undecided because deciding it would cost more than the stated budget."""

    code = "RL008"
    meaning = "deciding exactly would cost more than the budget, so the answer is 'undecided', not a guess"
    way_out = "ask about a smaller or simpler layout; `compare` takes a larger limit"


class Undetermined(LayoutError):
    """Data that nothing that was tried fits, or too few to try any; the places of ``missing`` would tell more.

    ``candidates`` are the hypotheses that were given, fewest mismatches first.
    """

    candidates: Any
    missing: Any
    counterexample: Any
    code = "RL009"
    meaning = "nothing that was tried fits the data, or they are too few to say which layout they have"
    way_out = "give the entries named in `missing`, or send `rl.probes(shape, dtype)` through the converter"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        candidates: Any = (),
        missing: Any = (),
        counterexample: Any = None,
        **operands: Any,
    ) -> None:
        words = {"candidates": candidates, "missing": missing, "counterexample": counterexample}
        super().__init__(message, hint=hint, **words, **operands)


class Cancelled(LayoutError):
    """A run that its ``progress`` callback stopped: ``done`` of ``total`` bytes were written."""

    code = "RL010"
    meaning = "a run was stopped by its `progress` callback, between two parts of the target"
    way_out = "run it again; what was not yet written is as it was"


class BadFile(LayoutError):
    """A file that is not what its format asks for, or is not safe to read: the ``file``, and the ``tensor`` in it."""

    file: Any
    tensor: Any
    code = "RL011"
    meaning = "a file is missing, is not what its format asks for, or asks for something unsafe"
    way_out = "write the file again with the tool that made it, as the hint says; nothing of it was changed"

    def __init__(self, message: str, *, hint: str = "", file: Any = None, tensor: Any = None, **operands: Any) -> None:
        super().__init__(message, hint=hint, file=file, tensor=tensor, **operands)


class DeviceError(LayoutError):
    """A GPU that is not there, cannot be used, or failed."""

    code = "RL012"
    meaning = "a GPU, or what is needed to use it, is missing or failed"
    way_out = "install what the message names, or copy the array to the host and repack it there"


class AmbiguousAxes(ShapeError):
    """A format that names its axes meets data that does not; ``readings`` are the orders that it may have."""

    readings: Any
    code = "RL013"
    meaning = "a format names its axes, the data does not, and taking them by position would be a guess"
    way_out = 'name the dimensions of the data in their order: `axes="nchw"`, or `--axes nchw`'

    def __init__(self, message: str, *, hint: str = "", readings: Any = (), **operands: Any) -> None:
        super().__init__(message, hint=hint, readings=readings, **operands)


class MissingPackage(LayoutError, ImportError):
    """A package that relayout needs, and that is not installed: its ``name``."""

    code = "RL014"
    meaning = "a package that relayout needs is not installed"
    way_out = "install it, as the hint says"

    def __init__(self, message: str, *, hint: str = "", name: str = "", **operands: Any) -> None:
        super().__init__(message, hint=hint, name=name, **operands)
        self.name = name


class UnknownName(LayoutError, KeyError):
    """A name that a table does not have: the ``name``, and near ones in the hint."""

    code = "RL015"
    meaning = "a table has nothing under the name that was asked for"
    way_out = "take one of the near names of the hint"

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would quote it


class ClusterError(LayoutError):
    """A cluster that cannot do a job: it has no workers, they do not see the files, or they died."""

    code = "RL016"
    meaning = "a cluster cannot be reached, has no workers, or its workers cannot do the job"
    way_out = "look at the workers, as the hint says; a job that was begun goes on with `resume`"


def error_of_code(code: str) -> type[LayoutError] | None:
    """The error class of a code such as ``RL006``; None where there is none."""
    return next((cls for cls in error_classes() if cls.code == code), None)


def error_classes() -> tuple[type[LayoutError], ...]:
    """Every error class, in the order of its code."""
    return (
        ParseError,
        ShapeError,
        OutOfBounds,
        WindowError,
        Overlap,
        NotExpressible,
        LayoutMismatch,
        LimitExceeded,
        Undetermined,
        Cancelled,
        BadFile,
        DeviceError,
        AmbiguousAxes,
        MissingPackage,
        UnknownName,
        ClusterError,
    )
