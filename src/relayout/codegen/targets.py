"""The target languages by name: those of this package, one module each, and those that other packages add.

Another package adds one by an entry point in the group ``relayout.targets`` that names a ``Target``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import NotExpressible, shown
from ..plugins import entry_points_of, load_entry, near_or_known
from .program import Target

BUILT_IN = {
    "c": "c_target",
    "cpp": "cpp",
    "rust": "rust_target",
    "mojo": "mojo_target",
    "cuda": "cuda_target",
    "hip": "hip_target",
    "metal": "metal_target",
    "opencl": "opencl_target",
    "triton": "triton_target",
    "numpy": "numpy_target",
    "torch": "torch_target",
    "jax": "jax_target",
    "einops": "einops_target",
    "mlir": "mlir_target",
}
"""The modules of this package that have ``TARGET``."""

ENTRY_POINTS = "relayout.targets"
"""The group of entry points that other packages name their languages in."""


def target_names() -> list[str]:
    """Every language's name: the built-in ones, then those of other packages."""
    return [*BUILT_IN, *[name for name in _entry_points() if name not in BUILT_IN]]


def target_named(name: Any) -> Target:
    """The language of that name."""
    if isinstance(name, str) and name in BUILT_IN:
        found: Target = import_module(f".{BUILT_IN[name]}", __package__).TARGET
        return found
    points = _entry_points()
    if isinstance(name, str) and name in points:
        loaded: Target = load_entry(points[name], "target", target=name)
        return loaded
    raise NotExpressible(
        f"there is no target language {shown(name)}.", hint=near_or_known(name, target_names()), target=name
    )


def _entry_points() -> dict[str, Any]:
    return {point.name: point for point in entry_points_of(ENTRY_POINTS)}
