"""What machines do with layouts: architectures as data, what their accesses to memory cost, and who holds what."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .architecture import Access as Access
    from .architecture import Architecture as Architecture
    from .atom import Atom as Atom
    from .atom import Operand as Operand
    from .conversions import ConversionCost as ConversionCost
    from .conversions import conversion as conversion
    from .counting import wavefronts as wavefronts
    from .fragments import fragment_format as fragment_format
    from .nvidia_tma import tma_box as tma_box
    from .registry import architecture_named as architecture_named
    from .registry import architecture_names as architecture_names
    from .thread_values import linear_thread_values as linear_thread_values
    from .thread_values import thread_value_layout as thread_value_layout

_LAZY = {
    "Access": ".architecture",
    "Architecture": ".architecture",
    "Atom": ".atom",
    "ConversionCost": ".conversions",
    "Operand": ".atom",
    "architecture_named": ".registry",
    "architecture_names": ".registry",
    "conversion": ".conversions",
    "fragment_format": ".fragments",
    "linear_thread_values": ".thread_values",
    "thread_value_layout": ".thread_values",
    "tma_box": ".nvidia_tma",
    "wavefronts": ".counting",
}
"""Names whose modules are imported when they are first asked for; none of these modules has the name of a function."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


__all__ = [
    "Access",
    "Architecture",
    "Atom",
    "ConversionCost",
    "Operand",
    "architecture_named",
    "architecture_names",
    "conversion",
    "fragment_format",
    "linear_thread_values",
    "thread_value_layout",
    "tma_box",
    "wavefronts",
]
