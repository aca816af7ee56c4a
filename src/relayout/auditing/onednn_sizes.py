"""The sizes of the memories of a oneDNN primitive, from how a log describes its problem: ``mb1_ic24oc40_ih56oh56kh3``.

Only what the description tells for certain is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Sizes = tuple[int, ...]

_LETTERED = re.compile(r"([a-z]+)(\d+)")
_PLAIN = re.compile(r"\d+(?:x\d+)*")


def memory_sizes(kind: str, problem: str, names: Sequence[str]) -> dict[str, Sizes]:
    """The sizes of the memories of these names, as far as the problem tells them.

    >>> memory_sizes("convolution", "mb1_g2ic8oc6_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1", ["src", "wei", "dst"])
    {'src': (1, 8, 5, 5), 'wei': (2, 3, 4, 3, 3), 'dst': (1, 6, 5, 5)}
    >>> memory_sizes("matmul", "5x64:64x48", ["src", "wei", "dst"])
    {'src': (5, 64), 'wei': (64, 48), 'dst': (5, 48)}
    """
    parts = [_dims(part) for part in problem.split(":")]
    if kind == "matmul" and len(parts) >= 2:
        return _only(names, _matmul(parts))
    if all(parts) and parts[0] is not None:
        return _sizes_in_order(names, [part for part in parts if part is not None])
    numbers = {letters: int(n) for letters, n in _LETTERED.findall(problem)}
    if kind in ("convolution", "deconvolution"):
        return _only(names, _convolution(numbers))
    if kind == "inner_product":
        return _only(names, _inner_product(numbers))
    if kind == "pooling":
        return _only(names, {"src": _data(numbers, "ic", "i"), "dst": _data(numbers, "ic", "o")})
    if kind == "batch_normalization":
        return {
            name: sizes
            for name in names
            if name.endswith(("src", "dst", "data")) and (sizes := _data(numbers, "ic", "i"))
        }
    return {}


def _dims(text: str) -> Sizes | None:
    return tuple([int(n) for n in text.split("x")]) if _PLAIN.fullmatch(text) else None


def _only(names: Sequence[str], found: dict[str, Sizes | None]) -> dict[str, Sizes]:
    return {name: sizes for name in names if (sizes := found.get(name))}


def _sizes_in_order(names: Sequence[str], parts: list[Sizes]) -> dict[str, Sizes]:
    """One list of sizes is that of all data; several are those of the memories in their order."""
    data = [name for name in names if name.startswith(("src", "dst", "data", "diff"))]
    if len(parts) == 1:
        return dict.fromkeys(data, parts[0])
    return dict(zip(data, parts))


def _matmul(parts: list[Sizes | None]) -> dict[str, Sizes | None]:
    left, right = parts[0], parts[1]
    out = parts[2] if len(parts) > 2 else None
    if out is None and left and right and len(left) == len(right):
        out = (*[max(x, y) for x, y in zip(left[:-2], right[:-2])], left[-2], right[-1])
    return {"src": left, "wei": right, "dst": out}


def _spatial(numbers: dict[str, int], letter: str) -> Sizes | None:
    found = [numbers[letter + axis] for axis in "dhw" if letter + axis in numbers]
    return tuple(found) or None


def _data(numbers: dict[str, int], channels: str, letter: str) -> Sizes | None:
    if "mb" not in numbers or channels not in numbers:
        return None
    return (numbers["mb"], numbers[channels], *(_spatial(numbers, letter) or ()))


def _convolution(numbers: dict[str, int]) -> dict[str, Sizes | None]:
    kernel = _spatial(numbers, "k")
    if kernel is None or not {"mb", "ic", "oc"} <= set(numbers):
        return {}
    groups, inner, outer = numbers.get("g", 1), numbers["ic"], numbers["oc"]
    grouped = (groups,) if "g" in numbers else ()
    return {
        "src": _data(numbers, "ic", "i"),
        "wei": (*grouped, outer // groups, inner // groups, *kernel),
        "bia": (outer,),
        "dst": _data(numbers, "oc", "o"),
    }


def _inner_product(numbers: dict[str, int]) -> dict[str, Sizes | None]:
    if not {"mb", "ic", "oc"} <= set(numbers):
        return {}
    space = _spatial(numbers, "i") or ()
    return {
        "src": (numbers["mb"], numbers["ic"], *space),
        "wei": (numbers["oc"], numbers["ic"], *space),
        "bia": (numbers["oc"],),
        "dst": (numbers["mb"], numbers["oc"]),
    }
