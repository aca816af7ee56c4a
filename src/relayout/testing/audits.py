"""The laws of audit readers: each takes its own artefacts and no other's, yields values, and survives broken ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ..auditing.artefact import Artefact
from ..auditing.audit import gather
from ..auditing.kinds import KINDS
from ..auditing.move import Buffer, Found, Move, Step, Timing, Trouble
from ..auditing.readers import AuditReader, reader_named, reader_names
from ..errors import shown
from .laws import Attempt, check_laws

BROKEN_TEXTS = 200
"""How many artefacts with mistakes in them are read."""

MOST_TOLD = 3
"""How many failures of one law are told."""


class ReaderCase(NamedTuple):
    """A reader, and artefacts that it reads: its own examples and the samples that were given."""

    reader: AuditReader
    samples: tuple[Path, ...]

    @property
    def artefacts(self) -> list[Artefact]:
        texts = [Artefact(None, text, f"example {k}") for k, text in enumerate(self.reader.EXAMPLES)]
        return texts + [Artefact(path) for path in self.samples]


def find_reader(x: Any) -> AuditReader | None:
    """The reader that ``x`` is, or that it names."""
    if isinstance(x, str):
        return reader_named(x) if x in reader_names() else None
    return x if all(hasattr(x, word) for word in ("recognises", "read", "kind", "title")) else None


def check_reader(reader: AuditReader, samples: Iterable[str | PathLike[str]] = ()) -> None:
    """Hold a reader against every law."""
    case = ReaderCase(reader, tuple([Path(sample) for sample in samples]))
    check_laws(f"the audit reader {shown(reader.kind)}", case, LAWS)


def declares_itself(case: ReaderCase) -> Iterator[str]:
    """It has a kind, a title and EXAMPLES, texts that it reads; or samples are given."""
    reader = case.reader
    for word in ("kind", "title"):
        if not isinstance(getattr(reader, word, None), str) or not getattr(reader, word):
            yield f"- its {word} is {shown(getattr(reader, word, None))}"
    examples = getattr(reader, "EXAMPLES", None)
    if not isinstance(examples, tuple) or not all(isinstance(text, str) for text in examples):
        yield f"- its EXAMPLES are {shown(examples)}"
    elif not case.artefacts:
        yield "- it has no EXAMPLES, and no samples were given"


def takes_its_own(case: ReaderCase) -> Iterator[str]:
    """It recognises its artefacts by their content, and neither an empty one nor those of other readers."""
    for artefact in case.artefacts:
        if not case.reader.recognises(artefact):
            yield f"- {artefact.name} is not recognised"
    for artefact in (Artefact(None, "", "an empty text"), Artefact(None, "hello\nworld\n", "a greeting")):
        if case.reader.recognises(artefact):
            yield f"- {artefact.name} is recognised"
    for name in reader_names():
        other = reader_named(name)
        if other is case.reader or other.kind == case.reader.kind:
            continue
        for text in other.EXAMPLES:
            if case.reader.recognises(Artefact(None, text)):
                yield f"- an example of {name} is recognised"
        for artefact in case.artefacts:
            if other.recognises(artefact):
                yield f"- {artefact.name} is recognised by {name}, too"


def finds_values(case: ReaderCase) -> Iterator[str]:
    """It yields moves, buffers, steps or timings of its artefacts, with places in them, and no trouble."""
    told = False
    for artefact in case.artefacts:
        found: list[Found] = []
        with Attempt() as attempt:
            found = list(case.reader.read(artefact))
        if not attempt.accepted:
            why = attempt.told if attempt.crash is not None else attempt.refusal
            yield f"- {artefact.name} ends in {why}"
            continue
        told = told or any(isinstance(x, Move | Buffer | Step | Timing) for x in found)
        yield from _wrong_values(artefact, found)
    if not told and case.artefacts:
        yield "- nothing is found in any of its artefacts"


def _wrong_values(artefact: Artefact, found: list[Found]) -> Iterator[str]:
    lines = _line_count(artefact)
    for x in found:
        if not isinstance(x, Move | Buffer | Step | Timing | Trouble):
            yield f"- {artefact.name}: {shown(x)} is none of what readers yield"
            return
        if isinstance(x, Trouble):
            yield f"- {artefact.name}: {x.place}: {x.message}"
        elif x.place.file != artefact.name or not 0 <= x.place.line <= lines:
            yield f"- {artefact.name}: {x.place} is no place in it"
        elif isinstance(x, Move) and x.kind not in KINDS:
            yield f"- {artefact.name}: a move is called {shown(x.kind)}"
        else:
            continue
        return


def _line_count(artefact: Artefact) -> int:
    if artefact.path is not None and (artefact.path.is_dir() or b"\0" in artefact.head):
        return 0
    return sum(1 for _ in artefact.lines())


def survives_broken_artefacts(case: ReaderCase) -> Iterator[str]:
    """It never crashes on an artefact that is cut or has mistakes: what cannot be read is a trouble, or refused."""
    rng = Random(case.reader.kind)
    texts = [*case.reader.EXAMPLES, *[a.read_text() for a in case.artefacts if a.path is not None and _is_text(a)]]
    told = 0
    for _ in range(BROKEN_TEXTS if texts else 0):
        text = _broken(rng, rng.choice(texts))
        with Attempt() as attempt:
            gather(case.reader, Artefact(None, text, "a broken text"))
        if attempt.crash is not None:
            yield f"- {shown(text[-120:])} ends in {attempt.told}"
            told += 1
        if told == MOST_TOLD:
            return


def _is_text(artefact: Artefact) -> bool:
    return bool(artefact.opening)


def _broken(rng: Random, text: str) -> str:
    if rng.random() < 0.3:
        return text[: rng.randrange(len(text) + 1)]
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(text) + 1)
        noise = "".join(rng.choices("()[]{}<>,:;=-+*?@_'\"\\/# \n\t\0é0123456789", k=rng.randrange(3)))
        text = text[:at] + noise + text[at + rng.randrange(4) :]
    return text


LAWS = (declares_itself, takes_its_own, finds_values, survives_broken_artefacts)
