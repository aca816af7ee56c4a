"""Guards: refuse data whose layout is not the one a kernel expects, and say what came instead."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Hashable
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..dialects.axes import check_letters
from ..dialects.read import element_in
from ..dialects.registry import Shapeless
from ..dialects.resolve import Resolved, resolve
from ..elements.encoding import Encoding
from ..elements.interface import Interface, Plain, ScaleOffset
from ..elements.types import Element, element
from ..errors import LayoutMismatch, ShapeError, shown
from ..format import catalog
from ..format.factors import checked_axes
from ..format.format import Format
from ..format.interleave import InterleaveLayout
from ..format.name_changes import clear_on_change
from ..integers.nested import product
from ..layout.comparison import compare
from ..layout.layout import Layout
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from inspect import BoundArguments

Function = TypeVar("Function", bound=Callable[..., Any])

_forced: bool | None = None


def guards_on() -> bool:
    """Whether ``expects`` checks: yes, unless ``RELAYOUT_GUARDS=0`` is set or ``guard`` said otherwise."""
    return os.environ.get("RELAYOUT_GUARDS") != "0" if _forced is None else _forced


def guard(on: bool | None) -> None:
    """Turn the checks of ``expects`` on or off; None lets the environment decide again."""
    global _forced
    _forced = on


def check(
    x: Any,
    expects: Layout | Format | Shapeless | str,
    *,
    axes: str | None = None,
    dtype: Any = None,
    interface: Any = None,
    strict: bool = False,
    reference: Any = None,
) -> Any:
    """``x`` itself, if its elements are placed as ``expects`` says; else ``LayoutMismatch``.

    ``x`` is a ``Tensor`` or an array of any library, on any device. ``axes`` names the dimensions of ``x``: a format
    that names its own meets them by name. Without names position d is the format's d-th axis; a word that has its
    letters in another order than its axes, as ``"nhwc"`` has, is refused then (``AmbiguousAxes``). A tensor may start
    anywhere in its memory. A format that is made for elements of one width refuses others, and with ``dtype``, or a
    text that carries a type, so is every other type. ``interface`` is the class of interfaces that is required,
    ``rl.Plain``, ``rl.ScaleOffset`` or ``rl.Encoding``, or the one interface.

    Places are compared, for the shape of ``x``: formats that coincide there pass. With ``strict`` the format that a
    tensor was allocated by is compared instead, with its axes, fill, table and width; an array has none, and a view.
    What passed once passes again without a comparison, if its shape, strides and type are the same.

    With ``reference``, the plain tensor, the memory of ``x`` is looked at instead: it must hold the values of the
    reference as ``expects`` says. The error tells whether it is not packed, packed twice, or packed otherwise.
    """
    if reference is not None:
        from .packed_state import check_against

        check_against(x, expects, reference, axes)
        return x
    kind = _kind_of(x)
    words = (axes, dtype, interface, strict)
    known = kind is not None and all(isinstance(w, Hashable) for w in words)
    is_value = isinstance(expects, str | Layout | Format | InterleaveLayout)
    passed = _memo_of(kind, expects, words) if known and is_value else None  # type: ignore[arg-type]
    if passed is not None and passed.once:
        return x
    found = _data_facts(x)
    names = found.axes if axes is None else checked_axes(axes, found.layout.rank)
    if dtype is None and isinstance(expects, str):
        dtype = element_in(expects, None)
    _check_dtype(x, found, expects, dtype)
    _check_interface(x, found, expects, interface)
    operand = resolve(expects, element=found.kind)
    if strict:
        _check_format(x, found, names, operand, expects)
    wanted = _expected_layout(x, found, names, operand, expects)
    verdict = compare(_from_start(found.layout), _from_start(wanted))
    if not verdict:
        first, second = verdict.offsets or (None, None)
        why = f"at {verdict.coordinate} it is {first} from the start, expected {second}"
        raise _mismatch(x, found, expects, why, _repack_hint(expects, wanted, names), verdict.coordinate)
    if passed is not None:
        passed.once = True
    return x


class _Memo:
    """Whether data of one kind passed one check."""

    __slots__ = ("once",)

    def __init__(self) -> None:
        self.once = False


@lru_cache(maxsize=1024)
def _memo_of(kind: Hashable, expects: Hashable, words: Hashable) -> _Memo:
    """What is remembered of data of that kind, and of that expectation; a program has few of both."""
    return _Memo()


clear_on_change(_memo_of.cache_clear)


def _kind_of(x: Any) -> Hashable | None:
    """All that a check depends on, quickly; None for data of which only the slow way tells."""
    if isinstance(x, Tensor):
        return (x.layout, x.interface, x.axes, x.format) if x.blocks is None else None
    library = type(x).__module__
    if library == "numpy":
        return (x.shape, x.strides, x.dtype) if hasattr(x, "strides") else None
    if library == "torch" and hasattr(x, "stride"):
        dense = x.layout is sys.modules["torch"].strided
        return (x.shape, x.stride(), x.storage_offset(), x.dtype) if dense else None
    return None


def _check_dtype(x: Any, found: DataFacts, said: Any, dtype: Any) -> None:
    if dtype is None:
        return
    wanted = element(dtype)
    if found.kind != wanted:
        quantised = wanted.underlying != wanted
        means = f"rl.ScaleOffset(scale, offset, {wanted.name!r})" if quantised else repr(wanted.name)
        hint = f"rl.from_logical(x, {_code(said)}, {means}) converts its elements"
        raise _mismatch(x, found, said, f"of {wanted.name}", hint)


def _check_interface(x: Any, found: DataFacts, said: Any, interface: Any) -> None:
    """Refuse data whose elements have another interface; those of an array are plain."""
    if interface is None:
        return
    _check_is_interface(interface)
    if isinstance(interface, type):
        if not isinstance(found.interface, interface):
            hint = f"rl.from_logical(x, {_code(said)}, rl.{interface.__name__}(...)) converts its elements"
            raise _mismatch(x, found, said, f"with {_article(interface.__name__)} interface", hint)
    elif found.interface != interface:
        hint = f"rl.from_logical(x, {_code(said)}, rl.{interface!r}) converts its elements"
        raise _mismatch(x, found, said, f"with the interface {interface!r}", hint)


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _is_interface(x: Any) -> bool:
    """Whether ``x`` is an interface, or a class of them."""
    return x in (Plain, ScaleOffset, Encoding) or isinstance(x, Interface)


def _check_is_interface(interface: Any) -> None:
    if not _is_interface(interface):
        raise ShapeError(
            f"{shown(interface)} is no interface.",
            hint="rl.Plain, rl.ScaleOffset, rl.Encoding, or one of them",
            got=interface,
        )


def _check_format(x: Any, found: DataFacts, names: str | None, operand: Resolved, said: Any) -> None:
    """Refuse data that was not allocated by this very format."""
    wanted = operand.format
    if not isinstance(wanted, Format):
        raise ShapeError(f"{shown(said)} is no format, and strict compares formats.", hint="leave strict out", got=said)
    if names is not None and wanted.axes is not None and set(names) == set(wanted.axes):
        wanted = wanted.aligned(names)
    if found.format != wanted:
        own = "it tells no format" if found.format is None else f"its format is {found.format}"
        hint = f"rl.from_logical(x, {_code(said)}) makes such"
        raise _mismatch(x, found, said, f"the format {wanted}, and {own}", hint)


def expects(*, strict: bool = False, **expected: Any) -> Callable[[Function], Function]:
    """A decorator that checks arguments by name before every call: ``@expects(x="htp:R4Flat", w="htp:weights")``.

    As in the signature of an op a layout may go with an interface, a type, or both:
    ``@expects(x=("htp:R4Crouton", rl.ScaleOffset), y=("htp:R4Flat", "uint8"))``. With ``strict`` formats are compared
    and not places, as :func:`check` does.
    ``out`` is what the function returns, or what comes of awaiting that, unless it has a parameter of that name. Of
    ``*x`` and ``**x`` each one is checked, and so are defaults. An argument that is None is left out.
    """

    from inspect import isawaitable
    from inspect import signature as signature_of

    def decorate(function: Function) -> Function:
        try:
            signature = signature_of(function)
        except (TypeError, ValueError):
            raise ShapeError(
                f"{shown(function)} does not tell its parameters.", hint="wrap it in a function of your own"
            ) from None
        called = getattr(function, "__name__", type(function).__name__)
        unknown = sorted(set(expected) - set(signature.parameters) - {"out"})
        if unknown:
            raise ShapeError(
                f"{called} has no parameter {', '.join(unknown)}.",
                hint=f"it has {', '.join(signature.parameters)}, and out is what it returns",
                expected=expected,
            )
        signatures = {name: _as_signature(wanted) for name, wanted in expected.items()}
        returned = "out" in expected and "out" not in signature.parameters

        @wraps(function)
        def checked_call(*args: Any, **words: Any) -> Any:
            if not guards_on():
                return function(*args, **words)
            bound = signature.bind(*args, **words)
            bound.apply_defaults()
            for name in expected:
                for value in _argument_values(bound, name):
                    _check_one(called, name, value, signatures[name], strict)
            result = function(*args, **words)
            if returned and isawaitable(result):
                return _check_awaited(called, result, signatures["out"], strict)
            if returned:
                _check_one(called, "out", result, signatures["out"], strict)
            return result

        return checked_call  # type: ignore[return-value]

    return decorate


def _argument_values(bound: BoundArguments, name: str) -> list[Any]:
    """The values of a parameter that are there: of one with a star, several."""
    parameter, value = bound.signature.parameters.get(name), bound.arguments.get(name)
    if parameter is None or value is None:
        return []
    if parameter.kind == parameter.VAR_KEYWORD:
        value = tuple(value.values())
    several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return [x for x in (value if several else (value,)) if x is not None]


async def _check_awaited(function: str, result: Awaitable[Any], wanted: Signature, strict: bool) -> Any:
    value = await result
    _check_one(function, "out", value, wanted, strict)
    return value


def _check_one(function: str, name: str, value: Any, wanted: Signature, strict: bool) -> None:
    layout, interface, dtype = wanted
    try:
        check(value, layout, dtype=dtype, interface=interface, strict=strict)
    except LayoutMismatch as error:
        raise LayoutMismatch(f"{function}({name}=...): {error.message}", hint=error.hint, **error.operands) from None


class Signature(NamedTuple):
    """What an argument has to be: its layout, and where that is said its interface and its type."""

    layout: Any
    interface: Any = None
    dtype: Any = None


def _as_signature(wanted: Any) -> Signature:
    """What is expected of an argument: a layout, alone or with an interface, a type, or both; anything else refused."""
    layout, *rest = wanted if isinstance(wanted, tuple | list) else (wanted,)
    _check_name(layout)
    if len(rest) > 2:
        raise ShapeError(f"{shown(wanted)} is more than a layout, an interface and a type.", hint="at most three")
    found = Signature(layout)
    for word in rest:
        if _is_interface(word):
            found = found._replace(interface=word)
        elif word is not None:
            element(word)
            found = found._replace(dtype=word)
    return found


# ---- what is expected ------------------------------------------------------------------------------------


def _check_name(wanted: Any) -> None:
    """Refuse what can be no layout of anything; a name may still need the width of the elements."""
    if not isinstance(wanted, str) or not catalog.is_name(wanted.strip()):
        resolve(wanted)


def _expected_layout(x: Any, found: DataFacts, names: str | None, operand: Resolved, said: Any) -> Layout:
    """The expected layout for what was found; refused where it is for other data."""
    if isinstance(operand.format, Format):
        return _layout_of_format(x, found, names, operand, operand.format, said)
    wanted = operand.placed if operand.format is None else operand.at(found.layout.extents).placed
    if wanted.has_basis:
        raise ShapeError(f"the values of {wanted} are coordinates, not places in memory.", hint="use integer strides")
    if wanted.extents != found.layout.extents:
        raise _mismatch(x, found, said, f"which has the shape {wanted.extents}", _shape_hint(found.layout, wanted))
    if found.scattered is not None:
        raise _mismatch(x, found, said, _blocks_behind(found), _repack_hint(said, wanted, names))
    return wanted


def _layout_of_format(
    x: Any, found: DataFacts, names: str | None, operand: Resolved, wanted: Format, said: Any
) -> Layout:
    if wanted.rank != found.layout.rank:
        raise _mismatch(x, found, said, f"which has {wanted.rank} dimensions", "give it a tensor of that rank")
    if found.kind is not None and operand.width_mismatch is not None:
        why = f"which is for elements of {wanted.element_bits} bits, not {found.kind.bits}"
        raise _mismatch(x, found, said, why, f"rl.from_logical(x, {said!r}, interface) converts its elements")
    if names is not None and wanted.axes is not None:
        if set(names) != set(wanted.axes):
            why = f"whose axes are {wanted.axes}"
            raise _mismatch(x, found, said, why, f"say which is which: axes={wanted.axes!r} in the order of x")
        operand = operand.aligned(names)
    elif names is None:
        check_letters(wanted, operand.text, found.layout.extents)
    layout = operand.at(found.layout.extents).placed
    if found.scattered is not None and _block_elements(wanted, layout) != found.scattered:
        raise _mismatch(x, found, said, _blocks_behind(found), _repack_hint(said, layout, names))
    return layout


def _block_elements(fmt: Format, layout: Layout) -> int | None:
    if fmt.indirect is None:
        return None
    return product(fmt.physical_shape(layout.extents)[fmt.indirect :])


def _blocks_behind(found: DataFacts) -> str:
    return f"and its elements lie in blocks of {found.scattered}, behind a table"


# ---- what came -------------------------------------------------------------------------------------------


class DataFacts(NamedTuple):
    """What is known of data without reading it; ``scattered`` is the size of blocks that a table puts anywhere."""

    layout: Layout
    kind: Element | None
    axes: str | None
    scattered: int | None
    interface: Interface | None = None
    format: Format | None = None


def _data_facts(x: Any) -> DataFacts:
    if isinstance(x, Tensor):
        whole = x._flat[1] is not None
        scattered = None if whole or x.blocks is None else x.blocks.elements
        return DataFacts(x.layout, x.interface.element, x.axes, scattered, x.interface, x.format)
    from .inference.live import array_layout, is_array

    if not is_array(x):
        raise ShapeError(f"{shown(x)} is no array.", hint="check arrays and tensors", got=type(x))
    dtype = getattr(x, "dtype", None)
    kind = None if dtype is None else element(dtype)
    return DataFacts(array_layout(x), kind, None, None, None if kind is None else Plain(kind))


def _from_start(layout: Layout) -> Layout:
    """The layout as seen from its first element; a swizzle counts from the start of the memory."""
    return layout if layout.swizzle is not None or not layout.size else layout.with_offset(layout.offset - layout(0))


def describe(x: Any) -> str:
    """What ``x`` is, in a line: ``torch tensor 1x224x224x64 float32, strides (...) = htp:R4Flat``."""
    return _describe_data(x, _data_facts(x))


def _describe_data(x: Any, found: DataFacts) -> str:
    library = type(x).__module__.partition(".")[0]
    kind = {"numpy": "numpy array", "relayout": "tensor"}.get(library, f"{library} {type(x).__name__.lower()}")
    layout = _from_start(found.layout)
    words = [kind, "x".join(map(str, layout.extents)) or "scalar"]
    words += [f"({found.axes})"] if found.axes else []
    words += [found.kind.name] if found.kind else []
    placed = str(layout) if layout.depth > 1 or layout.swizzle is not None else f"strides {layout.stride}"
    bits = found.kind and found.kind.bits
    known = catalog.find(layout, bits) if found.format is None else catalog.names_of(found.format, bits)
    names = sorted(known, key=_block_count)[:3] if layout.size else []
    return f"{' '.join(words)}, {placed}" + f" = {', '.join(names)}" * bool(names)


def _block_count(name: str) -> int:
    """How many blocks a named format has: the plainest of several names says most."""
    return min([len(getattr(form, "blocks", ())) for form in catalog.ENTRIES[name].forms.values()])


def _shape_hint(found: Layout, wanted: Layout) -> str:
    """What to give instead of data of another shape: the view that is expected, if the memory is the right one."""
    view = compare(_from_start(found), _from_start(wanted)).regrouping
    return "give it a tensor of that shape" if view is None else f"the same memory in that shape: rl.tensor(x).{view}"


def _code(said: Any) -> str:
    """What was expected, as a program writes it."""
    return repr(said) if isinstance(said, str) else f"rl.{said!r}"


def _repack_hint(said: Any, layout: Layout, names: str | None) -> str:
    """What to write to get the data as expected."""
    target = _code(said if isinstance(said, str) else layout)
    return f"rl.from_logical(x, {target}{f', axes={names!r}' if names else ''}) repacks it"


def _mismatch(x: Any, found: DataFacts, said: Any, why: str, hint: str, coordinate: Any = None) -> LayoutMismatch:
    return LayoutMismatch(
        f"got {_describe_data(x, found)}; expected {said}, {why}.",
        hint=hint,
        got=found.layout,
        expected=said,
        coordinate=coordinate,
    )
