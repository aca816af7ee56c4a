"""The laws of dialects: what is written is read back as the same function, and the rest is refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from ..dialects.registry import BUILT_IN, Dialect, dialect_named, dialect_names
from ..errors import NotExpressible, ParseError, shown
from ..format.entries import Entry
from ..format.format import Format
from ..layout.layout import Layout
from ..layout.swizzle import Swizzle
from .laws import Attempt, check_laws

BROKEN_TEXTS = 2000
"""How many texts with mistakes in them are read."""

RANDOM_LAYOUTS = 300
"""How many layouts, and as many formats, are written and read back."""

MOST_TOLD = 3
"""How many failures of one law are told."""


class NamedDialect(NamedTuple):
    """A dialect, and what it is called in messages."""

    name: str
    dialect: Dialect

    @property
    def examples(self) -> tuple[str, ...]:
        return tuple(getattr(self.dialect, "EXAMPLES", ()))


def find_dialect(x: Any) -> NamedDialect | None:
    """The dialect that ``x`` is, or that it names."""
    if isinstance(x, str):
        return NamedDialect(x, dialect_named(x)) if x in dialect_names() else None
    if not all(callable(getattr(x, word, None)) for word in ("parse", "render")):
        return None
    return NamedDialect(getattr(x, "__name__", type(x).__name__).rpartition(".")[2], x)


def check_dialect(case: NamedDialect) -> None:
    """Hold a dialect against every law."""
    check_laws(f"the dialect {shown(case.name)}", case, LAWS)


def declares_examples(case: NamedDialect) -> Iterator[str]:
    """It has EXAMPLES, texts that it reads."""
    if not case.examples or not all(isinstance(text, str) for text in case.examples):
        yield f"- it has {shown(getattr(case.dialect, 'EXAMPLES', None))}"
    for text in case.examples:
        with Attempt() as attempt:
            reading = case.dialect.parse(text)
            if not isinstance(reading, Layout | Format | Entry) and not callable(getattr(reading, "layout", None)):
                yield f"- {shown(text)} gives {shown(reading)}, which is neither a layout nor makes one of a shape"
        if attempt.crash is not None:
            yield f"- {shown(text)} ends in {attempt.told}"
        elif attempt.refusal is not None:
            yield f"- {shown(text)} is refused: {attempt.refusal.message}"


def reads_what_it_writes(case: NamedDialect) -> Iterator[str]:
    """It writes only what it reads back as the same function and storage, and refuses the rest with a hint."""
    rng = Random(case.name)
    told = 0
    subjects: list[Layout | Format] = [_random_layout(rng) for _ in range(RANDOM_LAYOUTS)]
    subjects += [_random_format(rng) for _ in range(RANDOM_LAYOUTS)]
    for x in subjects:
        failure = _round_trip(case.dialect, x, rng)
        if failure is not None:
            told += 1
            yield f"- {x}: {failure}"
        if told == MOST_TOLD:
            return


def _round_trip(dialect: Dialect, x: Layout | Format, rng: Random) -> str | None:
    """How a layout or a format fails to come back."""
    text: str | None = None
    with Attempt() as attempt:
        text = dialect.render(x, "float32")
    if attempt.crash is not None:
        return f"render ends in {attempt.told}"
    if attempt.refusal is not None:
        right = isinstance(attempt.refusal, NotExpressible) and attempt.refusal.hint
        return None if right else f"{type(attempt.refusal).__name__} refuses it, not NotExpressible with a hint"
    if not isinstance(text, str):
        return f"render gives {shown(text)}, which is no text"
    expected = x if isinstance(x, Layout) else x.layout([rng.randrange(1, 10) for _ in range(x.rank)])
    back: Layout | None = None
    with Attempt() as attempt:
        back = _layout_of(dialect.parse(text), expected.extents)
    if not attempt.accepted or back is None:
        why = attempt.told if attempt.crash is not None else getattr(attempt.refusal, "message", "no layout")
        return f"{shown(text)} is not read back: {why}"
    if back.extents != expected.extents:
        return f"{shown(text)} is read back with the extents {back.extents}"
    if back.offsets().tolist() != expected.offsets().tolist():
        return f"{shown(text)} is read back as {back}, another function"
    if isinstance(x, Format) and back.storage_size != expected.storage_size:
        return f"{shown(text)} is read back with storage for {back.storage_size}, not {expected.storage_size}"
    return None


def _layout_of(reading: Any, extents: tuple[int, ...]) -> Layout:
    if isinstance(reading, Entry):
        reading = reading.format
    made: Layout = reading if isinstance(reading, Layout) else reading.layout(extents)
    return made


def survives_broken_texts(case: NamedDialect) -> Iterator[str]:
    """It refuses a broken text by an error of ours, a ParseError pointing into the text, and never crashes."""
    rng = Random(case.name)
    alphabet = "".join(sorted(set("".join(case.examples)))) + "()[]{}<>,:;=-+*?@_'\"\\/# \n\t\0é0123456789"
    told = 0
    for k in range(BROKEN_TEXTS):
        text = _broken(rng, case.examples, alphabet) if case.examples and k % 4 else _noise(rng, alphabet)
        with Attempt() as attempt:
            case.dialect.parse(text)
        error = attempt.refusal
        if attempt.crash is not None:
            yield f"- {shown(text)} ends in {attempt.told}"
        elif isinstance(error, ParseError) and not 0 <= error.position <= len(error.text):
            yield f"- {shown(text)} is refused at {error.position}, outside the text"
        elif error is not None and not error.hint:
            yield f"- {shown(text)} is refused without a hint"
        else:
            continue
        told += 1
        if told == MOST_TOLD:
            return


def leaves_others_alone(case: NamedDialect) -> Iterator[str]:
    """It refuses the texts of other dialects, or reads in them what they mean."""
    for other in BUILT_IN:
        theirs = dialect_named(other)
        for text in () if theirs is case.dialect else getattr(theirs, "EXAMPLES", ()):
            mine: Any = None
            with Attempt() as attempt:
                mine = case.dialect.parse(text)
            if attempt.accepted and not _alike(mine, theirs.parse(text)):
                yield f"- {shown(text)} is {mine} here, and {theirs.parse(text)} in {other}"


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Layout) and isinstance(b, Layout):
        return a.extents == b.extents and bool((a.offsets() == b.offsets()).all())
    return isinstance(a, Format) and isinstance(b, Format) and a.rank == b.rank and a.equivalent(b)


LAWS = (declares_examples, reads_what_it_writes, survives_broken_texts, leaves_others_alone)


# ---- what is tried ---------------------------------------------------------------------------------------


def _noise(rng: Random, alphabet: str) -> str:
    return "".join(rng.choices(alphabet, k=rng.randrange(40)))


def _broken(rng: Random, examples: tuple[str, ...], alphabet: str) -> str:
    text = rng.choice(examples)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + "".join(rng.choices(alphabet, k=rng.randrange(3))) + text[at + rng.randrange(3) :]
    return text


def _random_layout(rng: Random) -> Layout:
    """A layout of up to three dimensions: strided, nested, padded, shifted or swizzled."""
    shape: list[Any] = []
    for _ in range(rng.randrange(1, 4)):
        nested = rng.random() < 0.3
        shape.append((rng.randrange(1, 4), rng.randrange(1, 4)) if nested else rng.randrange(1, 6))
    compact = Layout(tuple(shape)) if rng.random() < 0.5 else Layout.row_major(*shape)
    if rng.random() < 0.3:
        compact = Layout(compact.shape, _scale(compact.stride, rng.choice([0, 2, 3, -1])))
    offset = rng.choice([0, 0, 0, 5]) - min(compact.min_offset, 0)
    if rng.random() < 0.2:
        box = compact.extents
        extents = tuple([rng.randrange(1, n + 1) for n in box])
        origin = tuple([rng.randrange(n - e + 1) for n, e in zip(box, extents)])
        return Layout(compact.shape, compact.stride, offset=offset, extents=extents, origin=origin)
    swizzle = Swizzle(1, 0, 2) if rng.random() < 0.1 else None
    return Layout(compact.shape, compact.stride, offset=offset, swizzle=swizzle)


def _scale(stride: Any, factor: int) -> Any:
    return tuple([_scale(s, factor) for s in stride]) if isinstance(stride, tuple) else stride * factor


def _random_format(rng: Random) -> Format:
    """A format of up to four dimensions with up to three blocks."""
    rank = rng.randrange(1, 5)
    rests = rng.sample(range(rank), rank)
    blocks = [(rng.randrange(rank), rng.choice([2, 3, 4, 8])) for _ in range(rng.randrange(4))]
    axes = rng.choice([None, "nchw"[:rank]])
    return Format(rank, [(d, 0) for d in rests] + blocks, axes=axes)
