"""Notations of shardings, by name: read from texts and from the objects of jax and torch, and written."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast

from ..errors import NotExpressible, ShapeError

if TYPE_CHECKING:
    from ..sharding.digits import Deal
    from ..sharding.sharding import Sharding


class ShardingDialect(Protocol):
    """One notation: ``parse`` reads a text, for a tensor of that rank where it is known, and ``render`` writes one."""

    def parse(self, text: str, rank: int | None) -> Sharding: ...
    def render(self, x: Sharding) -> str: ...


_MODULES = {
    "sharding": "sharding_text",
    "hlo": "hlo_sharding",
    "jax": "jax_sharding",
    "sdy": "shardy",
    "dtensor": "dtensor",
    "megatron": "tensor_parallel",
    "hf": "tensor_parallel",
}
"""The module of each notation by its name."""

SHARDING_DIALECTS = tuple(_MODULES)

_HEADS = {
    "sharding": r"mesh\(",
    "hlo": r"(?:sharding\s*=\s*)?\{\s*(?:devices\s*=|replicated\b|maximal\b|manual\b|unreduced\b)",
    "jax": r"(?:NamedSharding|SingleDeviceSharding|GSPMDSharding|PartitionSpec|P)\s*\(",
    "sdy": r"#sdy\.sharding|sdy\.(?:mesh|sharding)\b",
    "dtensor": r"DeviceMesh\s*\(",
}
# Texts: re keeps what it compiled, and an import that compiles nothing stays light.
_HEAD = r"\s*(?:" + "|".join([f"(?P<{name}>{head})" for name, head in _HEADS.items()]) + ")"


@lru_cache(maxsize=1024)
def read_sharding(text: str, dialect: str | None = None, rank: int | None = None) -> Sharding | None:
    """The sharding that a text writes down, in the notation that it begins like; None for any other text."""
    name, end = split_prefix(text)
    if name in _MODULES and dialect in (None, name):
        return _parse(name, " " * end + text[end:], rank)
    if dialect is not None:
        return _parse(dialect, text, rank) if dialect in _MODULES else None
    notation = _beginning(text)
    return None if notation is None else _parse(notation, text, rank)


def sharding_notation(text: str) -> str | None:
    """The notation that a text is in, or begins like; None where it is no sharding's."""
    name, _ = split_prefix(text)
    return name if name in _MODULES else _beginning(text)


def _beginning(text: str) -> str | None:
    """The notation that a text begins like; None where it is none of them."""
    if not any(sign in text for sign in ("(", "{", "sdy.")):
        return None
    match = re.match(_HEAD, text)
    return None if match is None else match.lastgroup


def split_prefix(text: str) -> tuple[str, int]:
    """The name before the colon of a text, ``cute`` of ``cute:(3,4)``, and where the rest begins; ``""`` without one.

    >>> split_prefix("cute:(3,4)"), split_prefix("cute::Layout"), split_prefix("(3,4):(4,1)")
    (('cute', 5), ('', 0), ('', 0))
    """
    before, colon, rest = text.partition(":")
    name = before.strip()
    is_name = name.isascii() and name.isidentifier() and name.islower() and not name.startswith("_")
    return (name, len(before) + 1) if colon and is_name and not rest.startswith(":") else ("", 0)


def is_sharding(x: Any) -> TypeGuard[Sharding]:
    """Whether ``x`` is a ``Sharding``; the room of shardings is entered only by those who have one."""
    return type(x).__name__ == "Sharding" and hasattr(x, "local_layout")


def as_sharding(x: Any, shape: Any = None) -> Sharding | None:
    """The sharding that ``x`` is, writes down, or carries as an object of jax or torch; None for anything else."""
    rank = len(shape) if hasattr(shape, "__len__") else None
    found = x if is_sharding(x) else read_sharding(x, None, rank) if isinstance(x, str) else _of_object(x)
    return found if found is None or shape is None or found.shape is not None else found.at(shape)


def _of_object(x: Any) -> Sharding | None:
    if hasattr(x, "mesh") and hasattr(x, "spec"):
        return cast("Sharding", import_module(".jax_sharding", __package__).of_named_sharding(x))
    if hasattr(x, "_hlo_sharding") or hasattr(x, "_device_assignment"):
        return cast("Sharding", import_module(".jax_sharding", __package__).of_other_sharding(x))
    pair = (x.device_mesh, x.placements) if hasattr(x, "device_mesh") and hasattr(x, "placements") else x
    if isinstance(pair, tuple) and len(pair) == 2 and hasattr(pair[0], "mesh_dim_names"):
        return cast("Sharding", import_module(".dtensor", __package__).of_placements(x, *pair))
    return None


def render_sharding(x: Sharding, dialect: str) -> str:
    """A sharding in the words of a notation; refused where what it writes would be read as another one."""
    if dialect not in _MODULES:
        raise ShapeError(
            f"{dialect} is no notation of shardings.", hint=f"there are {', '.join(SHARDING_DIALECTS)}", dialect=dialect
        )
    from ..sharding.comparison import compare_shardings

    written = _module(dialect).render(x) if dialect != "hf" else import_module(".tensor_parallel", __package__).to_hf(x)
    again = _parse(dialect, written, len(x.dims))
    verdict = compare_shardings(x, again if x.shape is None else again.at(x.shape))
    if not verdict:
        raise NotExpressible(
            f"{dialect} would write {x} as {written!r}, which is another sharding: {verdict}.",
            hint="render it in another notation, or pad the shape",
            counterexample=verdict.coordinate,
            dialect=dialect,
            x=x,
        )
    return cast("str", written)


def _module(dialect: str) -> ShardingDialect:
    return cast(ShardingDialect, import_module(f".{_MODULES[dialect]}", __package__))


def _parse(dialect: str, text: str, rank: int | None) -> Sharding:
    module = import_module(f".{_MODULES[dialect]}", __package__)
    return cast("Sharding", module.parse_hf(text, rank) if dialect == "hf" else module.parse(text, rank))


def contiguous_axes(x: Sharding, dialect: str) -> list[list[Deal]]:
    """For each dimension its dealt digits; refused where they do not all come first, before the rest."""
    found = []
    for d, deals in enumerate(x.dims):
        dealt = [deal for deal in deals[:-1] if deal.axis is not None and deal.size > 1]
        if deals[-1].axis is not None or any(deal.axis is None and deal.size > 1 for deal in deals[:-1]):
            raise cannot_say(x, dialect, f"dimension {d} is not dealt in one piece")
        found.append(dealt)
    return found


def cannot_say(
    x: Sharding, dialect: str, why: str, hint: str = "render it as sharding, which holds all"
) -> NotExpressible:
    """``dialect`` has no words for a sharding."""
    return NotExpressible(f"{dialect} cannot hold {x}: {why}.", hint=hint, dialect=dialect, x=x)
