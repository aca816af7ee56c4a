"""The target languages by name: those of this package, one module each, and those that other packages add.

Another package adds one by an entry point in the group ``relayout.targets`` that names a ``Target``.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any

from ..errors import NotExpressible, ShapeError, shown
from ..plugins import entry_points_of
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
        return _load(name, points[name])
    near = get_close_matches(name.lower(), target_names(), 3, 0.3) if isinstance(name, str) else []
    known = ", ".join(target_names())
    hint = f"did you mean {' or '.join(near)}? There are {known}" if near else f"there are {known}"
    raise NotExpressible(f"there is no target language {shown(name)}.", hint=hint, target=name)


def _entry_points() -> dict[str, Any]:
    return {point.name: point for point in entry_points_of(ENTRY_POINTS)}


def _load(name: str, point: Any) -> Target:
    try:
        found: Target = point.load()
    except (ImportError, AttributeError) as error:
        raise ShapeError(
            f"the target {name!r} of another package cannot be imported: {error}.",
            hint="repair or remove the package that names it in its entry points",
            target=name,
        ) from error
    return found
