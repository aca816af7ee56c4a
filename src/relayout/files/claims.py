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
from difflib import get_close_matches
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from ..ask.banks import banks
from ..ask.comparing import compare
from ..dialects.read import as_record, bits_in, element_in
from ..dialects.resolve import Resolved, parse, resolve
from ..dialects.shardings import as_sharding
from ..elements.types import Element
from ..elements.types import element as element_of
from ..errors import BadFile, LayoutError, Overlap, ShapeError, UnknownName, shown
from ..format.format import Format
from ..layout.layout import Layout
from ..layout.ranges import check_allocatable
from .sizes import parse_size

WORDS = {
    "equal": {"shape", "axes", "element"},
    "fits": {"bytes"},
    "padding_below": {"of"},
    "no_conflicts": {"access", "threads", "arch"},
}
"""What a claim may be, and the words beside it."""

LAYOUT_WORDS = {"layout", "shape", "axes", "element"}


class Claim(NamedTuple):
    """One claim of a file: its kind, its words, and the line that it begins at, or 0 where that is not known.

    One that makes no sense may have no kind.
    """

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

    @property
    def words(self) -> str:
        """What was found, with the way out where the claim could not be decided."""
        hint = self.error.hint if self.error is not None else ""
        return "\n".join(filter(None, [self.found, hint and f"Hint: {hint}"]))


def check_claims(path: Path) -> Iterator[ClaimVerdict]:
    """The claims of a file, each proven or refuted; one that makes no sense is told of, and does not hold.

    So is a layout of the file that cannot be read, though no claim may need it.
    """
    layouts, claims = read_claims(path)
    for claim in claims:
        yield check_claim(claim, layouts)
    yield from unreadable_layouts(path, layouts)


def unreadable_layouts(path: Path, layouts: dict[str, Any]) -> Iterator[ClaimVerdict]:
    """A verdict, which does not hold, for each named layout that nobody can read."""
    for name in layouts:
        try:
            words = _operand(name, layouts)
            if not _is_whole(words["layout"]):
                _resolve(words)
        except LayoutError as error:
            yield ClaimVerdict(Claim("layout", {}, f"layout {name}", str(path), 0), False, error.message, error)


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
        # Some editors begin a text with a mark.
        text = path.read_text("utf-8-sig")
        read = tomllib.loads(text)
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}.", hint="name a file of claims, as layouts.toml", file=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadFile(f"{path}: it is no TOML: {error}.", hint="see docs/check.md", file=path) from None
    odd = sorted(read.keys() - {"layouts", "claims"})
    layouts, claims = read.get("layouts", {}), read.get("claims", [])
    if odd or not isinstance(layouts, dict) or not isinstance(claims, list) or not claims:
        what = f"it has {shown(odd[0])}" if odd else "its layouts are no table"
        what = "it has no claims" if not odd and isinstance(layouts, dict) else what
        raise BadFile(f"{path}: {what}.", hint="a file has [layouts] and [[claims]]", file=path)
    lines = [n for n, line in enumerate(text.split("\n"), 1) if re.match(r"\s*\[\[\s*claims\s*\]\]", line)]
    places = lines if len(lines) == len(claims) else [0] * len(claims)
    return layouts, [_claim(words, str(path), line) for words, line in zip(claims, places)]


def _claim(words: Any, file: str, line: int) -> Claim:
    """A claim as written; whether its words are those of a claim is seen when it is proven."""
    kinds = [kind for kind in WORDS if isinstance(words, dict) and kind in words]
    kind = kinds[0] if len(kinds) == 1 else ""
    name = words.get("name") if isinstance(words, dict) else None
    title = name or (_title(kind, words) if kind else shown(words))
    return Claim(kind, words, str(title), file, line)


def _check_words(claim: Claim) -> None:
    """Refuse a claim that has no kind, or several, or a word that its kind does not have."""
    words = claim.words
    if not claim.kind:
        near = [like for word in words for like in get_close_matches(word, WORDS)] if isinstance(words, dict) else []
        hint = f"did you mean {near[0]}?" if near and not words.keys() & WORDS.keys() else 'as in equal = ["a", "b"]'
        raise BadFile(f"a claim is one of {', '.join(WORDS)}, got {shown(words)}.", hint=hint, file=claim.file)
    odd = sorted(words.keys() - WORDS[claim.kind] - {claim.kind, "name"})
    if odd:
        known = ", ".join(sorted(WORDS[claim.kind]))
        raise BadFile(f"{claim.kind} has no {odd[0]!r}.", hint=f"beside it are name, {known}", file=claim.file)


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
    _check_words(claim)
    words = claim.words
    if claim.kind == "equal":
        return _prove_equal(words, layouts)
    if claim.kind == "fits":
        names = words["fits"] if isinstance(words["fits"], list) else [words["fits"]]
        if not names:
            raise ShapeError("nothing fits anywhere.", hint='as in fits = ["a", "b"]')
        return _prove_fit([_operand(name, layouts) for name in names], parse_size(_word(words, "bytes")))
    if claim.kind == "padding_below":
        return _prove_padding(_meant(_word(words, "of"), layouts), words["padding_below"])
    tile = _meant(words["no_conflicts"], layouts)
    report = banks(
        _layout_of(tile), _word(words, "threads"), tile.element, _word(words, "access"), words.get("arch", "sm90")
    )
    return report.conflicts == 0, str(report)


def _prove_equal(words: dict[str, Any], layouts: dict[str, Any]) -> tuple[bool, str]:
    names = words["equal"]
    if not isinstance(names, list) or len(names) < 2:
        raise ShapeError(f"equal are two layouts or more, got {shown(names)}.", hint='as in equal = ["a", "b"]')
    operands = [_operand(name, layouts) for name in names]
    said = [words, *operands]
    kinds = [kind for kind in map(_element, said) if kind is not None]
    widths = [bits for bits in map(_told_width, said) if bits is not None]
    given = {**words, "element": kinds[0]} if kinds else words
    if len(set(widths)) < 2 and not kinds:
        widths += [bits for bits in map(_made_for, operands) if bits is not None]
    for bits in widths:
        if bits != widths[0]:
            return False, f"elements of {widths[0]} and {bits} bits"
    # A format fits layouts of several shapes, which are not equal for that: every two are compared.
    for (one, a), (other, b) in combinations(zip(names, operands), 2):
        same, found = _compare(a, b, given)
        if not same:
            return False, f"{one} and {other}: {found}"
    return True, "the same function"


def _compare(a: dict[str, Any], b: dict[str, Any], given: dict[str, Any]) -> tuple[bool, str]:
    """Whether two operands, each with its own shape and axes, are the same; what is ``given`` is for both."""
    if _is_whole(a["layout"]) or _is_whole(b["layout"]):
        shapes = [tuple(x["shape"]) for x in (given, a, b) if "shape" in x]
        if len(set(shapes)) > 1:
            raise ShapeError(f"the shapes {shapes[0]} and {shapes[1]} are not one tensor's.", hint="give one shape")
        whole = compare(a["layout"], b["layout"], shape=shapes[0] if shapes else None)
        return bool(whole), str(whole)
    element = {"element": given["element"]} if "element" in given else {}
    meant = [_resolve({**x, **element}) for x in (a, b)]
    operands: list[Any] = [x if x.layout is not None else x.format for x in meant]
    verdict = compare(operands[0], operands[1], shape=given.get("shape"), axes=given.get("axes"))
    return bool(verdict), str(verdict)


def _element(words: dict[str, Any]) -> Element | None:
    """The type that a claim or a layout says, by its own word or in its text; None where neither tells."""
    text = words.get("layout")
    legible = text is not None and not _is_whole(text)
    if "element" not in words:
        return element_in(text, None) if legible else None
    kind = element_of(words["element"])
    bits = bits_in(text) if legible else None
    if bits not in (None, kind.bits):
        what = f"{shown(text)} has elements of {bits} bits, and the element is {kind.name}, of {kind.bits}."
        raise ShapeError(what, hint="say one of them", layout=text, element=kind)
    return kind


def _told_width(words: dict[str, Any]) -> int | None:
    """The bits of an element that a claim or a layout says, by its own word or in its text."""
    if (kind := _element(words)) is not None:
        return kind.bits
    text = words.get("layout")
    return None if text is None or _is_whole(text) else bits_in(text)


def _made_for(words: dict[str, Any]) -> int | None:
    """The bits of the elements that a format is made for, as ``mlx:w4`` is for 4; None for any other layout."""
    fmt = None if _is_whole(words["layout"]) else _resolve(words).format
    return fmt.element_bits if isinstance(fmt, Format) else None


def _is_whole(text: str) -> bool:
    """Whether a text is a record or a sharding, which is compared as a whole and has no layout of its own."""
    return as_sharding(text) is not None or as_record(text) is not None


def _prove_fit(several: list[dict[str, Any]], room: int) -> tuple[bool, str]:
    size = sum([_storage(words) for words in several])
    return size <= room, f"{size} bytes of {room} bytes"


def _prove_padding(meant: Resolved, most: Any) -> tuple[bool, str]:
    limit = _share(most)
    layout = _layout_of(meant)
    check_allocatable(layout)
    if not layout.is_injective():
        raise Overlap(f"{layout} has elements that share a place.", hint="padding is told where each has its own")
    padding = 1 - Fraction(layout.size, layout.storage_size) if layout.storage_size else Fraction(0)
    beside = [f"{n} of {box}" for n, box in zip(layout.extents, layout.padded_shape) if n != box]
    where = f": {' x '.join(beside)} positions hold data" if beside else ""
    return padding < limit or padding == 0, f"{_percent(padding, limit)} of the storage is padding{where}"


def _percent(share: Fraction, limit: Fraction) -> str:
    """A share with one digit, or as many as tell it from the limit and from nothing."""
    for digits in range(1, 19):
        rounded = Fraction(round(share * 100 * 10**digits), 100 * 10**digits)
        if (rounded < limit, rounded > limit, rounded > 0) == (share < limit, share > limit, share > 0):
            break
    return f"{float(rounded):.{digits}%}"


def _share(x: Any) -> Fraction:
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,18})?)\s*(%?)\s*", str(x), re.ASCII)
    if found is None or isinstance(x, bool):
        raise ShapeError(f"{shown(x)} is no share.", hint='write it as in "5%" or 0.05', got=x)
    share = Fraction(found[1]) / (100 if found[2] else 1)
    if share > 1:
        raise ShapeError(f"{shown(x)} is not between 0 and 100%.", hint='write it as in "5%" or 0.05', got=x)
    return share


def _storage(words: dict[str, Any]) -> int:
    """The bytes of a layout, or of the blocks of a record, with their padding."""
    record = as_record(words["layout"])
    if record is not None and "shape" in words:
        return record.size_of(words["shape"])
    layout, bits = _layout_of(_resolve(words)), _told_width(words) or _made_for(words)
    if bits is None:
        raise ShapeError("bytes need the type of the elements.", hint='element = "float16" beside the layout')
    check_allocatable(layout)
    return -(-layout.storage_size * bits // 8)


def _meant(name: Any, layouts: dict[str, Any]) -> Resolved:
    """The layout of a name, or of a text."""
    return _resolve(_operand(name, layouts))


def _resolve(words: dict[str, Any]) -> Resolved:
    meant = resolve(words["layout"], shape=words.get("shape"), axes=words.get("axes"), element=_element(words))
    if meant.width_mismatch is not None:
        raise ShapeError(meant.width_mismatch, hint="give the element that it is made for", layout=words["layout"])
    return meant


def _layout_of(meant: Resolved) -> Layout:
    if meant.layout is None:
        what = f"{meant.format} has no shape yet: its layout depends on it."
        raise ShapeError(what, hint="shape = [1, 8, 8, 32] beside the layout", format=meant.format)
    return meant.layout


def _operand(name: Any, layouts: dict[str, Any]) -> dict[str, Any]:
    """The words of a layout: of the file's table by its name, or a text alone."""
    if isinstance(name, str) and name not in layouts and (near := _misspelt(name, layouts)):
        hint = f"did you mean {' or '.join(near)}?"
        raise UnknownName(f"{shown(name)} is no layout of the file, and nobody reads it as one.", hint=hint, name=name)
    found = layouts.get(name, name) if isinstance(name, str) else name
    words = found if isinstance(found, dict) else {"layout": found}
    odd = sorted(words.keys() - LAYOUT_WORDS)
    if odd or not isinstance(words.get("layout"), str):
        what = f"has no {odd[0]!r}" if odd else f"needs a text under layout, got {shown(words.get('layout'))}"
        raise ShapeError(f"{shown(name)} {what}.", hint=f"a layout has {', '.join(sorted(LAYOUT_WORDS))}", name=name)
    if words.keys() & {"axes", "element"} and _is_whole(words["layout"]):
        what = f"{shown(name)} is a record or a sharding, with axes and elements of its own."
        raise ShapeError(what, hint="beside it is a shape at most", name=name)
    return {**words, "shape": tuple(words["shape"])} if isinstance(words.get("shape"), list) else dict(words)


def _misspelt(name: str, layouts: dict[str, Any]) -> list[str]:
    """The names of the file that a word is like, which is no text of a layout itself."""
    near = get_close_matches(name, layouts)
    if not near:
        return []
    try:
        parse(name)
    except LayoutError:
        return near
    return []


def _word(words: dict[str, Any], name: str) -> Any:
    if name not in words:
        raise ShapeError(f"the claim needs {name}.", hint="see docs/check.md", claim=words)
    return words[name]
