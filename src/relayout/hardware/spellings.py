"""Other spellings of an instruction: PTX in full, older assemblers, builtins of compilers, names of libraries.

>>> from relayout import atoms
>>> atoms["__builtin_amdgcn_mfma_f32_32x32x8f16"].name
'v_mfma_f32_32x32x8_f16'
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from .amd_mfma import FORMATS

TABLES = ("amd_mfma", "amd_copies", "intel_dpas", "intel_amx")
"""The tables that have a function ``other_names()``: pairs of a spelling and the name of the registry."""

_PTX = ("mma", "wgmma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05")
_SPELLED = re.compile(
    r"(?:::ordered_metadata|\.(?:sync|aligned|mma_async|row\.col|shared(?:::cta)?|satfinite|m8n8(?!k)|b16|b32))(?=\.|$)"
)
"""What PTX writes between the parts that tell atoms apart."""
_KIND_FIRST = re.compile(r"^mma\.(kind::.*?)\.(m\d+n\d+k\d+)\.")

_AMD = re.compile(r"(?:llvm\.amdgcn\.|__builtin_amdgcn_|rocdl\.)((?:mfma|smfmac|wmma|swmmac)[._].*)")
_FORMATS = re.compile(r"(v_mfma_\w+_f8f6f4)(?:\s+cbsz:(\d))?(?:\s+blgp:(\d))?")


def registry_name(text: str) -> str:
    """The name that the registry may have for a spelling: that itself, where nothing is known of it."""
    text = text.strip().rstrip(";")
    if text.partition(".")[0] in _PTX:
        return _KIND_FIRST.sub(r"mma.\2.\1.", _SPELLED.sub("", text))
    if found := _AMD.fullmatch(text):
        text = f"v_{found[1].replace('.', '_')}"
    if (found := _FORMATS.fullmatch(text)) and (found[2] or found[3]):
        a, b = (int(number or 0) for number in found.group(2, 3))
        if max(a, b) < len(FORMATS):
            text = f"{found[1]}.{FORMATS[a]}.{FORMATS[b]}"
    return _other_names().get(text, text)


@cache
def _other_names() -> dict[str, str]:
    return {
        spelling: name for table in TABLES for spelling, name in import_module(f".{table}", __package__).other_names()
    }
