"""Claims about layouts, kept in a file beside the code that relies on them, and proven one by one.

A file has a table ``layouts`` of names, each a text or a table with ``layout`` and, as far as it needs them, ``shape``,
``axes`` and ``element``; and ``claims``, a table for each:

    equal = ["a", "b"]              the same function, wherever data is; without a shape, for every shape
    fits = "a", bytes = "48 KiB"    with its padding in so many bytes; several, all of them together
    padding_below = "5%", of = "a"  so much of its storage at most is no data
    no_conflicts = "a"              no bank conflicts, with ``access``, ``threads`` and ``arch`` of ``rl.banks``

Where a name is meant, a text in any notation is read as well.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..ask.banks import banks
from ..ask.comparing import compare
from ..dialects.resolve import Resolved, resolve
from ..errors import BadFile, LayoutError, ShapeError, shown
from .sizes import format_size, parse_size

WORDS = {
    "equal": {"shape", "axes", "element"},
    "fits": {"bytes"},
    "padding_below": {"of"},
    "no_conflicts": {"access", "threads", "arch"},
}
"""What a claim may be, and the words beside it."""

LAYOUT_WORDS = {"layout", "shape", "axes", "element"}


class Claim(NamedTuple):
    """One claim of a file: its kind, its words, and the line that it begins at, or 0 where that is not known."""

    kind: str
    words: dict[str, Any]
    name: str
    file: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class ClaimVerdict(NamedTuple):
    """Whether a claim holds, and what was found; ``error`` is why it could not be decided."""

    claim: Claim
    holds: bool
    found: str
    error: LayoutError | None = None


def check_claims(path: Path) -> Iterator[ClaimVerdict]:
    """The claims of a file, each proven or refuted; one that makes no sense is told of, and does not hold."""
    layouts, claims = read_claims(path)
    for claim in claims:
        yield check_claim(claim, layouts)


def check_claim(claim: Claim, layouts: dict[str, Any]) -> ClaimVerdict:
    """The claim, proven or refuted, about the layouts of its file."""
    try:
        holds, found = _prove(claim, layouts)
    except LayoutError as error:
        return ClaimVerdict(claim, False, error.message, error)
    return ClaimVerdict(claim, holds, found)


def read_claims(path: Path) -> tuple[dict[str, Any], list[Claim]]:
    """The named layouts of a file, as written, and its claims; what is no such file is refused."""
    try:
        text = path.read_text("utf-8")
        read = tomllib.loads(text)
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}.", hint="name a file of claims, as layouts.toml", file=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadFile(f"{path}: it is no TOML: {error}.", hint="see docs/check.md", file=path) from None
    odd = sorted(read.keys() - {"layouts", "claims"})
    layouts, claims = read.get("layouts", {}), read.get("claims", [])
    if odd or not isinstance(layouts, dict) or not isinstance(claims, list) or not claims:
        what = f"it has {shown(odd[0])}" if odd else "it has no claims"
        raise BadFile(f"{path}: {what}.", hint="a file has [layouts] and [[claims]]", file=path)
    lines = [n for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*claims\s*\]\]", line)]
    places = lines if len(lines) == len(claims) else [0] * len(claims)
    return layouts, [_claim(words, str(path), line) for words, line in zip(claims, places)]


def _claim(words: Any, file: str, line: int) -> Claim:
    kinds = [kind for kind in WORDS if isinstance(words, dict) and kind in words]
    where = f"{file}:{line}" if line else file
    if len(kinds) != 1:
        raise BadFile(
            f"{where}: a claim is one of {', '.join(WORDS)}, got {shown(words)}.",
            hint='as in equal = ["a", "b"]',
            file=file,
        )
    odd = sorted(words.keys() - WORDS[kinds[0]] - {kinds[0], "name"})
    if odd:
        known = ", ".join(sorted(WORDS[kinds[0]]))
        raise BadFile(f"{where}: {kinds[0]} has no {odd[0]!r}.", hint=f"beside it are name, {known}", file=file)
    title = words.get("name") or _title(kinds[0], words)
    return Claim(kinds[0], words, str(title), file, line)


def _title(kind: str, words: dict[str, Any]) -> str:
    """What a claim says, for one that has no name."""
    if kind == "equal":
        return f"equal: {', '.join(map(str, words[kind]))}" if isinstance(words[kind], list) else "equal"
    if kind == "padding_below":
        return f"padding of {words.get('of')} below {words[kind]}"
    if kind == "fits":
        names = words[kind] if isinstance(words[kind], list) else [words[kind]]
        return f"{', '.join(map(str, names))} fit{'s' * (len(names) == 1)} {words.get('bytes')}"
    return f"no conflicts: {words[kind]}"


def _prove(claim: Claim, layouts: dict[str, Any]) -> tuple[bool, str]:
    words = claim.words
    if claim.kind == "equal":
        return _prove_equal(words, layouts)
    if claim.kind == "fits":
        names = words["fits"] if isinstance(words["fits"], list) else [words["fits"]]
        return _prove_fit([_meant(name, layouts) for name in names], parse_size(_word(words, "bytes")))
    if claim.kind == "padding_below":
        return _prove_padding(_meant(_word(words, "of"), layouts), words["padding_below"])
    tile = _meant(words["no_conflicts"], layouts)
    report = banks(
        tile.placed, _word(words, "threads"), tile.element, _word(words, "access"), words.get("arch", "sm90")
    )
    return report.conflicts == 0, str(report)


def _prove_equal(words: dict[str, Any], layouts: dict[str, Any]) -> tuple[bool, str]:
    names = words["equal"]
    if not isinstance(names, list) or len(names) < 2:
        raise ShapeError(f"equal are two layouts or more, got {shown(names)}.", hint='as in equal = ["a", "b"]')
    first, *others = names
    for other in others:
        a, b = [_operand(name, layouts) for name in (first, other)]
        shape = words.get("shape") or a.get("shape") or b.get("shape")
        element = words.get("element") or a.get("element") or b.get("element")
        axes = words.get("axes") or a.get("axes") or b.get("axes")
        verdict = compare(a["layout"], b["layout"], shape=shape, axes=axes, dtype=element)
        if not verdict:
            return False, f"{first} and {other}: {verdict}"
    return True, "the same function"


def _prove_fit(several: list[Resolved], room: int) -> tuple[bool, str]:
    size = sum([_storage(meant) for meant in several])
    return size <= room, f"{format_size(size)} of {format_size(room)}"


def _prove_padding(meant: Resolved, most: Any) -> tuple[bool, str]:
    limit = _share(most)
    layout = meant.placed
    padding = 1 - layout.size / layout.storage_size if layout.storage_size else 0.0
    beside = [f"{n} of {box}" for n, box in zip(layout.extents, layout.padded_shape) if n != box]
    where = f": {' x '.join(beside)} positions hold data" if beside else ""
    return padding < limit or padding == 0, f"{padding:.1%} of the storage is padding{where}"


def _share(x: Any) -> float:
    text = str(x).strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ShapeError(f"{shown(x)} is no share.", hint='write it as in "5%" or 0.05', got=x) from None
    if not 0 <= share <= 1:
        raise ShapeError(f"{shown(x)} is not between 0 and 100%.", hint='write it as in "5%" or 0.05', got=x)
    return share


def _storage(meant: Resolved) -> int:
    """The bytes of a layout with its padding."""
    if meant.element is None:
        raise ShapeError("bytes need the type of the elements.", hint='element = "float16" beside the layout')
    return -(-meant.placed.storage_size * meant.element.bits // 8)


def _meant(name: Any, layouts: dict[str, Any]) -> Resolved:
    """The layout of a name, or of a text."""
    words = _operand(name, layouts)
    return resolve(words["layout"], shape=words.get("shape"), axes=words.get("axes"), element=words.get("element"))


def _operand(name: Any, layouts: dict[str, Any]) -> dict[str, Any]:
    """The words of a layout: of the file's table by its name, or a text alone."""
    found = layouts.get(name, name) if isinstance(name, str) else name
    words = found if isinstance(found, dict) else {"layout": found}
    odd = sorted(words.keys() - LAYOUT_WORDS)
    if odd or not isinstance(words.get("layout"), str):
        what = f"has no {odd[0]!r}" if odd else f"needs a text under layout, got {shown(words.get('layout'))}"
        raise ShapeError(f"{shown(name)} {what}.", hint=f"a layout has {', '.join(sorted(LAYOUT_WORDS))}", name=name)
    return {**words, "shape": tuple(words["shape"])} if isinstance(words.get("shape"), list) else dict(words)


def _word(words: dict[str, Any], name: str) -> Any:
    if name not in words:
        raise ShapeError(f"the claim needs {name}.", hint="see docs/check.md", claim=words)
    return words[name]
