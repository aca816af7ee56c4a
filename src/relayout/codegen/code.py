"""``code``: functions for a layout, or between two, as text of a language."""

from __future__ import annotations

import re
from typing import Any

from ..ask.notebook_text import NotebookText
from ..dialects.resolve import Resolved, resolve, resolve_together
from ..elements.encoding import named_encoding
from ..elements.interface import Interface, Plain, same_meaning
from ..elements.types import element as element_of
from ..engine.fill import fill_bytes
from ..engine.nest import check_extents
from ..engine.places import check_in_memory, prove_places
from ..errors import LimitExceeded, ShapeError, shown
from ..format.format import Format
from ..layout.layout import Layout
from ..tensors.tensor import check_channels
from .checksums import checked_runs
from .index import check_index_width, index_functions
from .loops import build_nest
from .operands import DigitOperand, axis_names, format_operand, layout_operand, size_names
from .program import PackFunction, Target
from .targets import target_named
from .values import Definitions, Monomial

MAX_LOOPS = 64
"""No function has more dimensions."""


def code(
    src: Any,
    dst: Any = None,
    element: Any = None,
    target: str = "c",
    *,
    dst_element: Any = None,
    name: str | None = None,
    shape: Any = None,
    axes: str | None = None,
    fill: Any = None,
    inverse: bool = False,
    test: bool = False,
) -> str:
    """The text of a function that moves elements of one layout to another, in the language ``target``.

    It needs no library but the language's own. Operands are layouts, formats, texts in any dialect or einops patterns,
    over the same coordinates as for ``plan``; ``shape`` is that of the data. ``element`` may be left out where an
    operand tells it, or its width. Where neither has a shape, both being
    formats, the sizes are arguments. All of the target's memory is written, as by ``repack`` to a new array: beside the
    elements with ``fill``, else that of the format, else 0. Elements of one type are moved bit by bit; ``dst_element``
    is another type or interface, to which values are converted. ``inverse`` adds the way back, ``NAME_inverse``, and
    ``test`` a program that runs the functions and compares checksums that this library computed.

    Without ``dst`` it is the functions of one layout: ``NAME_offset`` tells the place of a coordinate,
    ``NAME_coordinate`` the coordinate of a place, and ``NAME_each`` visits all elements in the order of memory.

    >>> print(code("(4,3):(1,4)", name="at").splitlines()[2])
    // The place of an element of (4, 3):(1, 4), in elements.
    """
    language = target_named(target)
    if dst is None:
        if element is not None or dst_element is not None or inverse or test or fill is not None:
            raise ShapeError("the functions of one layout move no elements.", hint="give dst as well", src=src)
        operand = resolve(src, shape=shape, axes=axes)
        named = _checked_name(name, _name_words(src) or "layout", language)
        return NotebookText(language.write_index(index_functions(operand, named, _title(src, operand))))
    interface = _interface(_own_element(src, dst) if element is None else element)
    first = resolve(src, element=interface)
    to = interface if dst_element is None else _interface(dst_element)
    operands = first, resolve(dst, element=to, fill=fill)
    source, aim = resolve_together(operands, shape=shape, axes=axes, data=True)
    title = f"{_title(src, source)} to {_title(dst, aim)}"
    named = _checked_name(name, _usual_name(dst, to), language)
    functions = [_pack_function(source, aim, interface, to, named, title, axes)]
    if inverse:
        back = f"{_title(dst, aim)} to {_title(src, source)}"
        functions.append(_pack_function(aim, source, to, interface, f"{named}_inverse", back, axes))
    if not test:
        return NotebookText(language.write_pack(functions))
    pairs = [(source, aim), (aim, source)][: len(functions)]
    return NotebookText(language.write_test(functions, [checked_runs(f, *pair) for f, pair in zip(functions, pairs)]))


def _own_element(*operands: Any) -> Any:
    """The element that a text carries, else bits of the width that a format is made for."""
    found = [resolve(operand) for operand in operands]
    for operand in found:
        if operand.element is not None:
            return operand.element.name
    for operand in found:
        if isinstance(operand.format, Format) and operand.format.element_bits is not None:
            return f"uint{operand.format.element_bits}"
    raise ShapeError("a function between two layouts has a type.", hint="give the element, as in 'float32'")


def _interface(element: Any) -> Interface:
    """The interface of the elements, which are moved bit by bit."""
    if isinstance(element, Interface):
        return element
    return named_encoding(element) or Plain(element_of(element).underlying.name)


def _pack_function(
    source: Resolved, target: Resolved, interface: Interface, to: Interface, name: str, title: str, axes: str | None
) -> PackFunction:
    names = axes or source.axes or target.axes
    definitions = Definitions()
    layouts: tuple[Layout, Layout] | None = None
    extents: tuple[Monomial, ...]
    operands: list[DigitOperand]
    channels = [] if same_meaning(interface, to) else [x.axis for x in (interface, to) if x.axis is not None]
    if source.layout is None and target.layout is None:
        first, second = _formats(source, target)
        if channels:
            raise ShapeError(
                "a function for any size has no number of channels.", hint="pass shape=(...)", axis=channels[0]
            )
        letters = axis_names(names, first.rank)
        sizes = size_names(first.rank)
        extents = tuple([Monomial(1, (n,)) for n in sizes])
        operands = [format_operand(fmt, letters, definitions) for fmt in (first, second)]
        told = ", ".join([f"{n} ({letter})" for n, letter in zip(sizes, letters)])
        about = f"The sizes are {told}."
    else:
        layouts = a, b = source.placed, target.placed
        _check_layouts(a, b, max(interface.element.bits, to.element.bits))
        for x in (interface, to):
            if x.axis in channels:
                check_channels(x, b)
        letters, sizes = axis_names(names, a.rank), ()
        extents = tuple(map(Monomial, a.extents))
        operands = [layout_operand(a), layout_operand(b)]
        shape = ", ".join([f"{x} {n}" for x, n in zip(letters, a.extents)])
        about = f"The shape is {shape}; src has {a.storage_size} elements, dst {b.storage_size}."
    size = _moved_bytes(interface, to, operands)
    nest = build_nest(letters, extents, operands[0], operands[1], definitions, apart=channels, size=size)
    fill = bytes(to.element.bits if to.element.bits < 8 else to.element.bits // 8)
    if target.fill is not None:
        fill = fill_bytes(to, target.fill)
    same = same_meaning(interface, to)
    kinds = interface.element.name if same else f"{_meaning(interface)} as {_meaning(to)}"
    words = (f"Moves {kinds} from {title}.", about)
    return PackFunction(
        name,
        words,
        interface.element,
        to.element,
        None if same else (interface, to),
        extents,
        sizes,
        operands[0],
        operands[1],
        fill,
        nest,
        tuple(definitions.found),
        letters,
        layouts,
    )


def _moved_bytes(interface: Interface, to: Interface, operands: list[DigitOperand]) -> int:
    """The bytes of an element that is moved as it is, to a place that a sum of products tells; else 0."""
    plain = same_meaning(interface, to) and interface.element.bits >= 8
    return interface.element.bits // 8 if plain and not any(x.swizzle for x in operands) else 0


def _formats(source: Resolved, target: Resolved) -> tuple[Format, Format]:
    """Both formats, of one rank; what makes a layout only of a shape needs one."""
    found = []
    for operand in (source, target):
        if not isinstance(operand.format, Format):
            raise ShapeError("this says nothing about the shape.", hint="pass shape=(...)", got=operand.format)
        found.append(operand.format)
    if found[0].rank != found[1].rank:
        raise ShapeError(
            f"the formats have {found[0].rank} and {found[1].rank} dimensions.", hint="take formats of one rank"
        )
    return found[0], found[1]


def _check_layouts(source: Layout, target: Layout, bits: int) -> None:
    for layout in (source, target):
        check_in_memory(layout)
        if layout.rank > MAX_LOOPS:
            raise LimitExceeded(
                f"{layout.rank} dimensions are over the limit of {MAX_LOOPS}.", hint="group some", limit=MAX_LOOPS
            )
        check_index_width(layout, bits)
    check_extents(source, target)
    prove_places(target)


def _meaning(interface: Interface) -> str:
    return interface.element.name if isinstance(interface, Plain) else str(interface)


# ---- names -----------------------------------------------------------------------------------------------

LOCAL_NAMES = frozenset(("src", "dst", "from", "to", "fill", "bytes", "sum", "expected", "offset", "rest", "visit"))
"""What arguments and variables are called, in every language."""

SHORT_TYPES = {"bool": "bool", "bfloat16": "bf16"}


def _checked_name(name: Any, usual: str, language: Target) -> str:
    if name is None:
        return usual
    if isinstance(name, str) and (name in language.reserved or name in LOCAL_NAMES):
        raise ShapeError(f"{name} has a meaning in {language.name}.", hint="take another name", name=name)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,200}", name):
        raise ShapeError(
            f"{shown(name)} is no name of a function.", hint="letters, digits and _, a letter first", name=name
        )
    return name


def _usual_name(dst: Any, interface: Interface) -> str:
    """``pack_htp_r4_crouton_u8`` for a name of the catalog, ``pack_f32`` for what has none."""
    kind = interface.element.underlying
    short = SHORT_TYPES.get(kind.name) or re.sub(r"^(u?)(?:int|float)(\d+)$", _short, kind.name)
    return "_".join([word for word in ("pack", _name_words(dst), short) if word])


def _name_words(operand: Any) -> str:
    """``htp_r4_crouton`` for ``htp:R4Crouton``; nothing for what is no name."""
    if not isinstance(operand, str) or not re.fullmatch(r"[A-Za-z][\w:.]{0,60}", operand, re.ASCII):
        return ""
    plain = re.sub(r"(?<=[A-Za-z0-9])(?=[A-Z][a-z]{4,})", "_", operand)
    return re.sub(r"\W+", "_", plain).strip("_").lower()


def _short(match: re.Match[str]) -> str:
    letter = "f" if "float" in match.group() else match.group(1) or "i"
    return f"{letter}{match.group(2)}"


def _title(given: Any, operand: Resolved) -> str:
    text = given if isinstance(given, str) else str(operand.subject)
    return " ".join(text.replace("\\", "/").split())
