"""Triton's encodings, as its IR prints them: ``#ttg.blocked<{sizePerThread = [1, 4], ...}>``, also in Gluon's words.

An encoding of a tensor deals its elements to threads: it is read as a thread-value layout, two modes (thread, value)
that count the places of the tensor colexicographically, lanes before warps before blocks. One of memory is the layout
from the coordinate to the offset. An encoding alone needs the shape; a type, ``tensor<128x64xf16, #ttg.blocked<...>>``
or ``!ttg.memdesc<...>``, has it, and so have encodings that are written as bases. Lines that give an encoding a name,
``#blocked = #ttg.blocked<...>``, may stand before; of an operation the last type counts. ``LinearLayout.parse`` has
the linear layout itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..layout.layout import Layout
from .scan import Scanner

if TYPE_CHECKING:
    from ..algebra.linear import LinearLayout
    from ..elements.types import Element
    from ..format.format import Format
    from .ttg_text import TtgText

_LIKELY = re.compile(r"#\w|!ttg?\.|\wLayout\s*[.(]")
"""What every text of Triton has somewhere; for others the encodings are not even imported."""

EXAMPLES = (
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>",
    "#blocked = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [4], warpsPerCTA = [1], order = [0]}>\n"
    "tensor<16xf32, #blocked>",
    "!ttg.memdesc<8x16xf16, #ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0]}>, "
    "#ttg.shared_memory, mutable>",
    "#ttg.padded_shared<[4:+2] {order = [1, 0], shape = [4, 8]}>",
    "#ttg.linear<{register = [[0, 1]], lane = [[1, 0], [2, 0]], warp = [[0, 2]], block = []}>",
    "#ttg.shared_linear<{offset = [[0, 1], [1, 1]]}, alignment = 16>",
    "tensor<16x16xf16, #ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, "
    "warpsPerCTA = [1, 1], instrShape = [16, 8]}>, kWidth = 2}>>",
    "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>",
    "gl.SliceLayout(1, gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0]))",
)
"""Texts that it reads, one for each way to write."""


def parse(text: str) -> Layout | TtgText:
    found = spelling(text)
    return found if found.shape is None else found.layout(found.sizes)


def element(text: str) -> Element | None:
    """The element type that a type carries."""
    return spelling(text).element


def is_likely(text: str) -> bool:
    """Whether a text may be one of Triton."""
    return _LIKELY.search(text) is not None


def spelling(text: str) -> TtgText:
    """All that a text says."""
    if not is_likely(text):
        Scanner(text, "ttg", EXAMPLES[0]).fail("an encoding, #ttg.blocked<{...}>, or a type that has one")
    from .ttg_text import read_text

    return read_text(text)


def render(x: Layout | Format, dtype: Any = None) -> str:
    from . import ttg_text

    return ttg_text.render(x, dtype)


def render_linear(x: LinearLayout, dtype: Any = None) -> str:
    from . import ttg_text

    return ttg_text.render_linear(x, dtype)


def _gluon(x: Layout | Format, dtype: Any = None) -> str:
    from . import ttg_text

    return ttg_text.render_gluon(x, dtype)


def _linear_gluon(x: LinearLayout, dtype: Any = None) -> str:
    from . import ttg_text

    return ttg_text.render_linear_gluon(x, dtype)


def _blocked_style(x: LinearLayout, dtype: Any = None) -> str:
    from . import ttg_text

    return ttg_text.render_blocked(x, dtype)


STYLES = {"gluon": _gluon}
"""Other words for the same encodings."""

LINEAR_STYLES = {"gluon": _linear_gluon, "blocked": _blocked_style}
"""Other words for a linear layout; ``blocked`` is refused where it is no blocked encoding."""
