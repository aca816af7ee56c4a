"""Texts of Triton: what one says, and how an encoding, a type and a linear layout are written."""

from __future__ import annotations

import re
from typing import Any

from ..algebra.linear import LinearLayout
from ..elements.types import ELEMENTS, Element
from ..elements.types import element as element_of
from ..errors import NotExpressible, ShapeError, shown
from ..format.format import Format
from ..hardware.thread_values import thread_value_layout
from ..hardware.triton_encoding import THREADS, TritonEncoding
from ..hardware.triton_linear import LinearEncoding
from ..hardware.triton_memory import MemoryEncoding, PaddedSharedEncoding, SharedLinearEncoding
from ..immutable import NamedTuple
from ..integers.nested import product
from ..layout.layout import Layout
from .refusal import require_layout
from .scan import Scanner
from .ttg_attributes import Attribute, read_attribute
from .ttg_encodings import encoding_of, unknown_encoding
from .ttg_finding import blocked_of, linear_encoding, shared_encoding
from .ttg_gluon import gluon_text, is_gluon, read_gluon
from .ttg_writing import encoding_text

_EXAMPLE = "tensor<128x64xf16, #ttg.blocked<{...}>>"
_OURS = re.compile(r"\s*(?:#(?:\w+\s*=\s*#)?(?:ttn?g|triton_gpu|triton_nvidia_gpu)\.|!ttg\.|!tt\.tensordesc)")
_ALIAS = re.compile(r"\s*#([A-Za-z_]\w*)\s*=\s*(?=#)")
_TYPE = re.compile(r"(?:!tt\.tensordesc<)?\s*(?:tensor|!ttg\.memdesc)<|!tt\.tensordesc<")
_OPERATION = re.compile(r"\s*(?:%[\w:#]+(?:\s*,\s*%[\w:#]+)*\s*=\s*)?\"?(?:tt|ttg|ttng|arith|math|scf|amdg)\.\w+")
_SIZE = re.compile(r"(\d+|\?)\s*x\s*(?=\S)")
_ELEMENT = re.compile(r"!tt\.ptr<[^<>]*>|[a-z]\w*")
_SPACES = ("ttg.shared_memory", "ttng.tensor_memory")
_OLDER = {"triton_gpu.blocked": "ttg.blocked", "triton_gpu.slice": "ttg.slice", "triton_gpu.shared": "ttg.shared"}


class TtgText(NamedTuple):
    """All that a text says: the encoding, and with a type the shape and the element type.

    ``stages`` buffers of that shape follow each other, where a ``memdesc`` has one dimension more than its encoding.
    """

    encoding: TritonEncoding
    shape: tuple[int, ...] | None = None
    element: Element | None = None
    stages: int | None = None
    dialect: str = "ttg"

    @property
    def properties(self) -> dict[str, str]:
        """The encoding's own words."""
        return {"encoding": encoding_text(self.encoding)}

    def text(self, shape: tuple[int, ...] | None = None, element: Any = None) -> str:
        """The encoding as Triton prints it; with its element type, in the type of a tensor or of memory."""
        kind = self.element if element is None else element_of(element)
        if kind is None or self.shape is None:
            return encoding_text(self.encoding)
        return type_text(self.encoding, self.sizes, _word(kind))

    def text_in(self, style: str, shape: tuple[int, ...] | None = None) -> str:
        """The encoding in Gluon's words, or as the blocked one that it is as well."""
        if style == "gluon":
            return gluon_text(self.encoding)
        if style == "blocked":
            return encoding_text(blocked_of(self.linear(shape)))
        raise ShapeError(
            f"ttg has no style {style!r}.", hint="leave it out: ttg, or ttg:gluon, ttg:blocked", style=style
        )

    @property
    def threads(self) -> bool:
        """Whether it deals elements to threads, and so has a layout of threads and values."""
        return self.encoding.inputs == THREADS

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape with the number of stages, where there are some."""
        own = self.shape or ()
        return own if self.stages is None else (self.stages, *own)

    @property
    def own_shape(self) -> tuple[int, ...] | None:
        """The shape that the bases of an encoding hold, where it is written so."""
        own = self.encoding
        return own.own_shape if isinstance(own, LinearEncoding | PaddedSharedEncoding | SharedLinearEncoding) else None

    def of_shape(self, shape: tuple[int, ...]) -> TtgText:
        """The text of a tensor of that shape with this encoding."""
        return self._replace(shape=shape)

    def layout(self, shape: Any) -> Layout:
        """The thread-value layout of a tensor of that shape, or the offsets of its elements."""
        if not isinstance(self.encoding, MemoryEncoding):
            return thread_value_layout(self.encoding.linear(shape))
        sizes = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        stages = sizes[0] if len(sizes) == self.encoding.rank + 1 else None
        one = self.encoding.layout(sizes if stages is None else sizes[1:])
        if stages is None:
            return one
        step = self.encoding.stage_elements(sizes[1:])
        shapes = one.shape if isinstance(one.shape, tuple) else (one.shape,)
        strides = one.stride if isinstance(one.stride, tuple) else (one.stride,)
        return Layout((stages, *shapes), (step, *strides), swizzle=one.swizzle)

    def linear(self, shape: Any = None) -> LinearLayout:
        """The linear layout, of that shape, of the text's own, or of the one that its bases hold."""
        sizes = (self.shape or self.own_shape) if shape is None else shape
        if sizes is None:
            raise ShapeError(
                f"{encoding_text(self.encoding)} says nothing about the shape.",
                hint="pass shape=(...), or write a type: tensor<128x64xf16, #...>",
                encoding=self.encoding,
            )
        return self.encoding.linear(sizes)

    def __str__(self) -> str:
        return self.text()

    def reserved_elements(self, shape: tuple[int, ...]) -> int:
        """The elements that memory is reserved for; of a tensor in registers, all that its threads hold."""
        if isinstance(self.encoding, MemoryEncoding):
            return self.layout(shape).storage_size
        return product(tuple(self.encoding.linear(shape).in_dims.values()))


def read_text(text: str) -> TtgText:
    """All that a text says."""
    if is_gluon(text):
        return TtgText(read_gluon(text))
    scan = Scanner(text, "ttg", _EXAMPLE)
    aliases: dict[str, Any] = {}
    last: TritonEncoding | None = None
    used: set[str] = set()
    while match := _ALIAS.match(scan.text, scan.position):
        scan.position = match.end()
        if (memory := _memory_space(scan)) is not None:
            aliases[match[1]] = memory
            continue
        used |= {name for name in re.findall(r"#(\w+)\b(?!\.)", _line(scan)) if name in aliases}
        last = _encoding(read_attribute(scan, aliases))
        aliases[match[1]] = last
    if not scan.peek() and last is not None:
        free = [name for name, found in aliases.items() if name not in used and isinstance(found, TritonEncoding)]
        if len(free) > 1:
            raise ShapeError(
                f"the text has several encodings: #{', #'.join(free)}.",
                hint=f"leave one, or add a type that uses it: tensor<128x64xf16, #{free[-1]}>",
                names=free,
            )
        return TtgText(last)
    if scan.peek() == "#":
        if not aliases and not _OURS.match(scan.text):
            scan.fail("an encoding of Triton: #ttg.blocked<{...}>")
        found = TtgText(_encoding(read_attribute(scan, aliases)))
        scan.end()
        return found
    if _TYPE.match(scan.text, scan.position):
        found = _read_type(scan, aliases)
        scan.end()
        return found
    types = [match.start() for match in _TYPE.finditer(scan.text, scan.position)]
    if not types or not (_OPERATION.match(scan.text, scan.position) or scan.peek() == "%"):
        scan.fail("an encoding, #ttg.blocked<{...}>, or a type that has one")
    scan.position = types[-1]
    return _read_type(scan, aliases)


def _line(scan: Scanner) -> str:
    return scan.text[scan.position :].partition("\n")[0]


def _memory_space(scan: Scanner) -> str | None:
    """The name of a memory, which an alias may stand for, too."""
    for name in _SPACES:
        if scan.accept(f"#{name}") and scan.peek() in ("", "#", "t", "!", "%", ",", ">"):
            return name
    return None


def _encoding(found: Any) -> TritonEncoding:
    """The encoding that an attribute is, with those inside it."""
    if isinstance(found, TritonEncoding):
        return found
    if not isinstance(found, Attribute):
        raise ShapeError(f"#{found} is a memory, not an encoding.", hint="name the encoding, as in #shared", got=found)
    name = found.name.replace("triton_nvidia_gpu.", "ttng.")
    if name.startswith("triton_gpu."):
        if name not in _OLDER:
            raise NotExpressible(
                f"#{name} is of a Triton before 3.3, where the warps of matrix instructions are in another order.",
                hint="of that one, blocked, slice and shared are read",
                encoding=name,
            )
        name = _OLDER[name]
    if name.partition(".")[0] not in ("ttg", "ttng"):
        raise unknown_encoding(name)
    fields = {key: _encoding(value) if isinstance(value, Attribute) else value for key, value in found.fields.items()}
    if found.pairs:
        fields["intervals"] = found.pairs
    return encoding_of(name, fields)


def _read_type(scan: Scanner, aliases: dict[str, Any]) -> TtgText:
    described = scan.accept("!tt.tensordesc<")
    inner = scan.accept("tensor<")
    memory = not inner and scan.accept("!ttg.memdesc<")
    if not inner and not memory and not described:
        scan.fail("tensor<...> or !ttg.memdesc<...>")
    start = scan.position
    shape: list[int] = []
    scan.peek()
    while match := _SIZE.match(scan.text, scan.position):
        if match[1] == "?":
            raise scan.unknown("?")
        shape.append(scan.integer())
        scan.position = match.end()
    named = _ELEMENT.match(scan.text, scan.position)
    if not named:
        scan.fail("sizes and an element type, as in 128x64xf16")
    kind = next((e for e in ELEMENTS.values() if e.mlir == named.group() and e.mlir != "i1"), None)
    scan.position = named.end()
    if not scan.accept(","):
        scan.fail("a comma and an encoding; without one mlir reads the type")
    encoding = _encoding(read_attribute(scan, aliases))
    whole: tuple[int, ...] | None = None
    while scan.accept(","):
        if _memory_space(scan) is None and not scan.accept("mutable") and not scan.accept("im2col"):
            if scan.peek() == "#":
                read_attribute(scan, aliases)
            else:
                whole = _sizes(scan)
    for _ in range(described + (inner or memory)):
        scan.expect(">")
    return _checked_type(scan, encoding, tuple(shape), kind, whole, start)


def _sizes(scan: Scanner) -> tuple[int, ...]:
    """The shape of the whole allocation, behind the memory."""
    match = re.compile(r"\d+(?:x\d+)*").match(scan.text, scan.position)
    if not match:
        scan.fail("a memory, mutable, or the shape of the allocation")
    scan.position = match.end()
    return tuple([int(n) for n in match.group().split("x")])


def _checked_type(
    scan: Scanner,
    encoding: TritonEncoding,
    shape: tuple[int, ...],
    kind: Element | None,
    whole: tuple[int, ...] | None,
    start: int,
) -> TtgText:
    """What a type says, its shape checked against the encoding."""
    memory = isinstance(encoding, MemoryEncoding)
    stages = shape[0] if memory and len(shape) == encoding.rank + 1 else None
    own = shape if stages is None else shape[1:]
    if whole is not None and whole[len(whole) - len(own) :] != own:
        raise NotExpressible(
            f"this is a part of a buffer of {'x'.join(map(str, whole))}, and a type does not tell which.",
            hint="read the type of the whole buffer, and slice its layout",
            text=scan.shown,
        )
    encoding.checked_shape(own)
    return TtgText(encoding, own, kind, stages)


def type_text(encoding: TritonEncoding, shape: tuple[int, ...], kind: str) -> str:
    """The type of a tensor, or of memory, with that encoding."""
    sizes = "".join([f"{n}x" for n in shape])
    if not isinstance(encoding, MemoryEncoding):
        return f"tensor<{sizes}{kind}, {encoding_text(encoding)}>"
    space = _SPACES["row" in encoding.inputs]
    return f"!ttg.memdesc<{sizes}{kind}, {encoding_text(encoding)}, #{space}, mutable>"


def read_linear(text: str, shape: Any = None) -> LinearLayout:
    """The linear layout of a text; anything but an encoding of Triton is refused."""
    if not isinstance(text, str):
        raise ShapeError(f"an encoding is a text, got {shown(text)}.", hint="as in #ttg.blocked<{...}>", got=text)
    return read_text(text.strip().removeprefix("ttg:")).linear(shape)


def read_typed(text: str, shape: Any = None) -> tuple[LinearLayout, Element | None]:
    """The linear layout of a text, with the element type that it carries."""
    linear = read_linear(text, shape)
    return linear, read_text(text.strip().removeprefix("ttg:")).element


def render(x: Layout | Format, dtype: Any = None) -> str:
    layout = require_layout(x, "ttg")
    encoding = shared_encoding(layout, None if dtype is None else element_of(dtype).bits)
    return encoding_text(encoding) if dtype is None else type_text(encoding, layout.extents, _word(element_of(dtype)))


def render_linear(x: LinearLayout, dtype: Any = None) -> str:
    """A linear layout: ``#ttg.linear`` where threads are dealt to, ``#ttg.shared_linear`` of offsets."""
    encoding = linear_encoding(x)
    if dtype is None:
        return encoding_text(encoding)
    return type_text(encoding, tuple(x.out_dims.values()), _word(element_of(dtype)))


def _word(kind: Element) -> str:
    """The type in Triton's IR, where integers have no sign; refused where MLIR has none."""
    return kind.word("mlir").replace("ui", "i")


def render_gluon(x: Layout | Format, dtype: Any = None) -> str:
    """A layout of memory in Gluon's words."""
    layout = require_layout(x, "ttg")
    return gluon_text(shared_encoding(layout, None if dtype is None else element_of(dtype).bits))


def render_linear_gluon(x: LinearLayout, dtype: Any = None) -> str:
    """A linear layout in Gluon's words."""
    return gluon_text(linear_encoding(x))


def render_blocked(x: LinearLayout, dtype: Any = None) -> str:
    """A linear layout as the blocked encoding that it is; refused where it is none."""
    return encoding_text(blocked_of(x))
