"""PyTorch's tensors: ``size=(2, 3), stride=(3, 1), storage_offset=0``, in elements; and its memory formats by name.

Calls such as ``torch.empty_strided((2, 3), (3, 1))`` are read too, and what torch prints of a tensor:
``torch.Size([2, 3]) (3, 1)``, ``f32[8, 16][16, 1]cuda:0``, ``FixedLayout(...)``. ``torch.Size([2, 3])`` alone is
contiguous. ``torch.channels_last`` and the other memory formats are formats.
"""

from __future__ import annotations

import re
from typing import Any

from ..elements.types import ELEMENTS, Element
from ..format import catalog
from ..format.format import Format
from ..layout.layout import Layout
from .fields import fields
from .refusal import cannot
from .scan import Scanner
from .strided import sizes_and_strides

MEMORY_FORMATS = ("contiguous_format", "channels_last", "channels_last_3d")
_ORDER = ("size", "stride", "storage_offset")
_IGNORED = {"dtype", "device"}
_POSITIONAL = {"": 0, "empty_strided": 2, "as_strided": 3, "Size": 1, "assert_size_stride": 2, "reinterpret_tensor": 3}
_TAKE_A_TENSOR = ("as_strided", "assert_size_stride", "reinterpret_tensor")
_SYMBOL = re.compile(r"\b[su]\d+\b", re.ASCII)
_CALLED = re.compile(r"\s*(?!size|shape)\w+\s*=\s*(?=[\w.]+\s*\()", re.ASCII)
_NAMED = re.compile(r"\btorch\.((?:b?float|u?int|complex|bool|half|double)\w*)", re.ASCII)
_TRACED = re.compile(r"""\s*(?:\w+\s*:\s*)?"?(b?f\d\w*|[iu]\d+|b8|c\d+)\[""", re.ASCII)
_PRINTED = [
    re.compile(pattern, re.ASCII)
    for pattern in (
        # print(x.size(), x.stride(), x.storage_offset()), and the tuple of those.
        r"\s*\(?torch\.Size\((?P<size>\[)[^]]*\]\),?\s*(?P<stride>\()[^)]*\)(?:,?\s*(?P<offset>\d+))?\)?\s*",
        # Graphs that are traced or compiled.
        r'\s*(?:\w+\s*:\s*)?"?\w+(?P<size>\[)[^][]*\](?P<stride>\[)[^][]*\](?:\w+(?::\d+)?)?"?(?P<offset>)\s*',
        # Values of TorchScript.
        r"\s*(?:%[\w.]+\s*:\s*)?[A-Z]\w+\((?P<size>\d)[\d, ]*, strides=(?P<stride>\[)[^]]*\][^()]*\)(?P<offset>)\s*",
        # Layouts of Inductor, and what shape propagation leaves.
        r"\s*(?:FixedLayout|FlexibleLayout|TensorMetadata)\([^=]*(?:size|shape)=(?:torch\.Size\()?(?P<size>\[)[^]]*\]\)?[^()]*"
        r"\bstride=(?P<stride>[\[(])[^])]*[\])](?:, offset=(?P<offset>\d+))?[^()]*\)\s*",
    )
]


EXAMPLES = (
    "size=(2, 3), stride=(1, 2), storage_offset=4",
    "torch.Size([2, 3])",
    "torch.empty_strided((2, 3), (1, 2), dtype=torch.float16)",
    "torch.channels_last",
)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Layout | Format:
    scan = Scanner(text, "torch", "size=(2, 3), stride=(3, 1), storage_offset=0", python=True)
    printed = next((match for pattern in _PRINTED if (match := pattern.fullmatch(scan.text))), None)
    if printed:
        if symbol := _SYMBOL.search(scan.text, printed.start("size")):
            raise scan.unknown(symbol.group())
        sizes, steps = [_integers(scan, printed.start(name)) for name in ("size", "stride")]
        return Layout(scan.sizes(sizes), steps, offset=int(printed["offset"] or 0))
    called = _CALLED.match(scan.text)
    scan.position = called.end() if called else 0
    expected = "torch.empty_strided, torch.as_strided, torch.Size or plain words"
    callee, positional, named = fields(scan, lambda name: _last(name) in _POSITIONAL, expected)
    if len(positional) == 1 and not named and not callee and isinstance(positional[0], str):
        name = positional[0].removeprefix("torch.")
        if name in MEMORY_FORMATS:
            return catalog.get(f"torch:{name}")
        scan.fail(f"one of the memory formats {', '.join(MEMORY_FORMATS)}", 0)
    call = _last(callee)
    if call in _TAKE_A_TENSOR and callee.rpartition(".")[0] in ("", "torch"):
        positional = positional[1:] if positional and isinstance(positional[0], str) else [None] * 9
    if call in ("empty_strided", "assert_size_stride") and len(positional) == 3 and isinstance(positional[2], str):
        positional.pop()
    if len(positional) > _POSITIONAL[call]:
        scan.fail("size=(...), stride=(...), storage_offset=..., by name or as the call takes them")
    words: dict[str, Any] = dict(zip(_ORDER, positional))
    for key, value in named.items():
        name = "size" if key == "shape" else key
        if name in words or name not in (*_ORDER, *_IGNORED) or (name in _IGNORED and not call):
            scan.fail(f"size, stride and storage_offset once each, not {key}")
        words[name] = value
    size, stride, offset = words.get("size"), words.get("stride"), words.get("storage_offset", 0)
    known = [x for x in (size, stride) if isinstance(x, tuple) and all(type(n) is int for n in x)]
    if size not in known or (stride is not None and stride not in known) or type(offset) is not int:
        scan.fail("size=(...), stride=(...) and an integer storage_offset")
    if stride is None and call != "Size":
        scan.fail("stride=(...)")
    shape = scan.sizes(size)
    return Layout(shape, Layout.row_major(shape).stride if stride is None else stride, offset=offset)


def element(text: str) -> Element | None:
    """The element type that a call or a print of torch names."""
    found = _NAMED.search(text)
    if found is not None:
        return ELEMENTS.get({"half": "float16", "float": "float32", "double": "float64"}.get(found[1], found[1]))
    traced = _TRACED.match(text)
    if traced is None:
        return None
    word = {"b8": "pred", "c32": "complex32"}.get(traced[1], re.sub(r"^i(?=\d)", "s", traced[1]))
    return ELEMENTS.get(word) or next((e for e in ELEMENTS.values() if e.xla == word), None)


def _last(callee: str) -> str:
    """The called name without its owner; Inductor's calls by the name of torch's."""
    call = callee.rpartition(".")[2]
    return "empty_strided" if call.startswith(("empty_strided_", "rand_strided")) else call


def _integers(scan: Scanner, start: int) -> tuple[int, ...]:
    """The numbers at ``start``, in brackets or without."""
    scan.position = start
    opening = scan.peek()
    if opening in "([":
        return scan.bracketed_integers(opening, ")" if opening == "(" else "]")
    numbers = [scan.integer()]
    while scan.accept(",") and scan.peek().isdigit():
        numbers.append(scan.integer())
    return tuple(numbers)


def render(x: Layout | Format, dtype: Any = None) -> str:
    if isinstance(x, Layout):
        size, stride, offset = sizes_and_strides(x, "torch")
        return f"size={size}, stride={stride}, storage_offset={offset}"
    for name in MEMORY_FORMATS:
        fmt = catalog.get(f"torch:{name}")
        if isinstance(fmt, Format) and x.equivalent(fmt) and x.axes in (None, fmt.axes):
            return f"torch.{name}"
    raise cannot(x, "torch", f"its memory formats are {', '.join(MEMORY_FORMATS)}", "render x.layout(shape)")
