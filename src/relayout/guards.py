"""Guards: refuse data whose layout is not the one a kernel expects, and say what came instead."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from . import catalog
from .align import aligned
from .compare import compare
from .dialects import parse, with_shape
from .errors import LayoutMismatch, ShapeError, shown
from .format import Format
from .layout import Layout
from .making import tensor
from .tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])

_forced: bool | None = None


def guards_on() -> bool:
    """Whether ``expects`` checks: yes, unless ``RELAYOUT_GUARDS=0`` is set or ``guard`` said otherwise."""
    return os.environ.get("RELAYOUT_GUARDS") != "0" if _forced is None else _forced


def guard(on: bool | None) -> None:
    """Turn the checks of ``expects`` on or off; None lets the environment decide again."""
    global _forced
    _forced = on


def check(x: Any, expects: Layout | Format | str, *, axes: str | None = None) -> Any:
    """``x`` itself, if its elements are placed as ``expects`` says; else ``LayoutMismatch``.

    ``x`` is a ``Tensor`` or an array. Letters alone, such as ``"nhwc"``, expect row-major dimensions in that order;
    ``axes`` names the dimensions of ``x``. A tensor may start anywhere in its memory. A format that is made for
    elements of one width refuses others.
    """
    return _checked(x, _expected(expects), expects, axes)


def _checked(x: Any, wanted: Layout | Format, expects: Any, axes: str | None = None) -> Any:
    found = tensor(x)
    names = axes or found.axes
    if isinstance(wanted, Format):
        _check_width(x, found, wanted, expects)
        if names is not None and wanted.axes is not None:
            wanted = aligned(wanted, None, names)[0]
        if wanted.rank != found.ndim:
            raise _mismatch(x, found, expects, f"which has rank {wanted.rank}")
    if isinstance(wanted, Layout) and wanted.extents != found.shape:
        raise _mismatch(x, found, expects, f"which has the shape {wanted.extents}")
    layout = with_shape(wanted, found.shape)
    if found.blocks is not None and not (isinstance(wanted, Format) and wanted.indirect is not None):
        raise _mismatch(x, found, expects, "and its blocks lie anywhere, behind a table")
    if found.size:
        verdict = compare(_from_start(found.layout), _from_start(layout))
        if not verdict:
            first, second = verdict.offsets or (None, None)
            why = f"at {verdict.coordinate} it is {first} from the start, expected {second}"
            raise _mismatch(x, found, expects, why, verdict.coordinate)
    return x


def expects(**expected: Layout | Format | str) -> Callable[[Function], Function]:
    """A decorator that checks arguments by name before every call: ``@expects(x="nhwc", w="htp:weights")``."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        unknown = sorted(set(expected) - set(signature.parameters))
        if unknown:
            raise ShapeError(
                f"{function.__name__} has no parameter {', '.join(unknown)}.",
                hint=f"it has {', '.join(signature.parameters)}",
                expected=expected,
            )
        wanted = {name: _expected(value) for name, value in expected.items()}

        @wraps(function)
        def guarded(*args: Any, **words: Any) -> Any:
            if guards_on():
                given = signature.bind(*args, **words).arguments
                for name, value in given.items():
                    if name in wanted and value is not None:
                        _check_argument(function.__name__, name, value, wanted[name], expected[name])
            return function(*args, **words)

        return guarded  # type: ignore[return-value]

    return decorate


def _check_argument(function: str, name: str, value: Any, wanted: Layout | Format, said: Any) -> None:
    try:
        _checked(value, wanted, said)
    except LayoutMismatch as error:
        raise LayoutMismatch(f"{function}({name}=...): {error.message}", hint=error.hint, **error.operands) from None


def _expected(x: Any) -> Layout | Format:
    if _is_letters(x):
        return Format(len(x), [(d, 0) for d in range(len(x))], axes=x)
    found = parse(x) if isinstance(x, str) else x
    if not isinstance(found, Layout | Format):
        raise ShapeError(f"expected a layout, a format or a text, got {shown(x)}.", hint="rl.parse makes one", got=x)
    return found


def _is_letters(x: Any) -> bool:
    return isinstance(x, str) and x.isalpha() and x.islower() and len(set(x)) == len(x)


def _from_start(layout: Layout) -> Layout:
    """The layout as seen from its first element; a swizzle counts from the start of the memory."""
    return layout if layout.swizzle is not None else layout.with_offset(layout.offset - layout(0))


def _check_width(x: Any, found: Tensor, wanted: Format, said: Any) -> None:
    bits = found.interface.element.bits
    if wanted.element_bits not in (None, bits):
        raise _mismatch(x, found, said, f"which is for elements of {wanted.element_bits} bits, not {bits}")


def _mismatch(x: Any, found: Tensor, said: Any, why: str, coordinate: Any = None) -> LayoutMismatch:
    text = said if isinstance(said, str) else str(said)
    return LayoutMismatch(
        f"got {describe(x, found)}; expected {text}, {why}.",
        hint="numpy.ascontiguousarray(x) copies it"
        if _is_letters(said)
        else f"rl.from_logical(x, {text!r}) repacks it",
        got=found.layout,
        expected=said,
        coordinate=coordinate,
    )


def describe(x: Any, found: Tensor | None = None) -> str:
    """What ``x`` is, in a line: ``torch tensor 1x224x224x64 float32, strides (...) = htp:R4Flat``."""
    found = tensor(x) if found is None else found
    library = type(x).__module__.partition(".")[0]
    kind = {"numpy": "numpy array", "relayout": "tensor"}.get(library, f"{library} {type(x).__name__.lower()}")
    size = "x".join(map(str, found.shape)) or "scalar"
    named = catalog.find(_from_start(found.layout)) if found.size else []
    placed = f"strides {found.layout.stride}" if found.layout.depth <= 1 else str(found.layout)
    axes = f" ({found.axes})" if found.axes else ""
    names = f" = {', '.join(named[:3])}" if named else ""
    return f"{kind} {size}{axes} {found.dtype}, {placed}{names}"
