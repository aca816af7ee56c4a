"""PyTorch's tensors: ``size=(2, 3), stride=(3, 1), storage_offset=0``, in elements; and its memory formats by name.

``torch.Size([2, 3])``, ``shape=`` and calls such as ``torch.empty_strided((2, 3), (3, 1))`` are read too. Without
strides the tensor is contiguous. ``torch.channels_last`` and the other memory formats are formats.
"""

from __future__ import annotations

from typing import Any

from .. import catalog
from ..format import Format
from ..layout import Layout
from .fields import fields
from .refusal import cannot
from .scan import Scanner
from .strided import strided

MEMORY_FORMATS = ("contiguous_format", "channels_last", "channels_last_3d")
_ORDER = ("size", "stride", "storage_offset")
_SYNONYMS = {"shape": "size", "strides": "stride", "offset": "storage_offset"}
_IGNORED = {"dtype", "device"}
_CALLS = ("", "empty_strided", "as_strided", "Size")


def parse(text: str) -> Layout | Format:
    scan = Scanner(text, "torch", "size=(2, 3), stride=(3, 1), storage_offset=0", python=True)
    callee, positional, named = fields(scan)
    if callee.removeprefix("torch.") not in _CALLS:
        scan.fail("torch.empty_strided, torch.as_strided, torch.Size or plain words", 0)
    if len(positional) == 1 and not named and isinstance(positional[0], str):
        name = positional[0].removeprefix("torch.")
        if name in MEMORY_FORMATS:
            return catalog.get(f"torch:{name}")
        scan.fail(f"one of the memory formats {', '.join(MEMORY_FORMATS)}", 0)
    if positional and not callee:
        scan.fail("size=(...) and stride=(...), by name or in a call", 0)
    words: dict[str, Any] = dict(zip(_ORDER, [v for v in positional if not isinstance(v, str)]))
    for key, value in named.items():
        name = _SYNONYMS.get(key, key)
        if name in words or name not in (*_ORDER, *_IGNORED):
            scan.fail(f"size, stride and storage_offset once each, not {key}", 0)
        words[name] = value
    size, stride, offset = words.get("size"), words.get("stride"), words.get("storage_offset", 0)
    if not isinstance(size, tuple) or not isinstance(stride, tuple | None) or not isinstance(offset, int):
        scan.fail("size=(...), stride=(...) and an integer storage_offset", 0)
    shape = scan.sizes(size)
    return Layout(shape, Layout.row_major(shape).stride if stride is None else stride, offset=offset)


def render(x: Layout | Format, dtype: Any = None) -> str:
    if isinstance(x, Layout):
        size, stride, offset = strided(x, "torch")
        return f"size={size}, stride={stride}, storage_offset={offset}"
    for name in MEMORY_FORMATS:
        fmt = catalog.get(f"torch:{name}")
        if isinstance(fmt, Format) and x.equivalent(fmt) and x.axes in (None, fmt.axes):
            return f"torch.{name}"
    raise cannot(x, "torch", f"its memory formats are {', '.join(MEMORY_FORMATS)}", "render x.layout(shape)")
