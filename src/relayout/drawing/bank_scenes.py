"""Accesses to shared memory, drawn as the hardware sees them: banks as columns, and who wants which word of each."""

from __future__ import annotations

from itertools import pairwise

from ..ask.banks import Banks, Phase, lanes_text, plural
from .scene import PLAIN, STEPS, Grid, LegendEntry, Pane, PaneAxis, Scene

ROWS = "A column is a bank; a row begins at the byte on its left."

PHASES = 4
"""The most phases of a picture: those with the most wavefronts."""


def banks_scene(asked: Banks, limit: int) -> Scene:
    """The worst access, one pane for each phase: a column is a bank, a row the memory that all banks hold together.

    A cell names the lanes that want its word. Words of one bank are served one after another, so that a column with
    several cells is a conflict; those of the fullest bank are outlined.
    """
    every = asked.phases(*asked.worst_access)
    phases = [phase for phase in every if phase.wavefronts] or every[:1]
    chosen = sorted(sorted(range(len(phases)), key=lambda k: -phases[k].wavefronts)[:PHASES])
    most = max([1, *[len(words) for phase in phases for words in phase.banks.values()]])
    panes, notes = [], [*str(asked).splitlines(), ROWS]
    for k in chosen:
        pane, left_out = _pane(asked, phases[k], most, limit // len(chosen))
        panes.append(pane)
        notes += [f"{pane.title}: {plural(left_out, 'row')} more not drawn."] if left_out else []
    if len(chosen) < len(phases):
        notes.append(f"{len(phases) - len(chosen)} of {len(phases)} phases are not drawn.")
    if most == 1:
        return Scene(panes, [LegendEntry((0,), "the only word of its bank", "ramp")], notes)
    steps = tuple(dict.fromkeys(_step(rank, most) for rank in range(most)))
    return Scene(panes, [LegendEntry(steps, f"word 1 to {most} of its bank", "ramp")], notes)


def _pane(asked: Banks, phase: Phase, most: int, limit: int) -> tuple[Pane, int]:
    """The pane of a phase, and how many of its rows have no room."""
    banks, size = asked.arch.banks, asked.arch.bank_bytes
    wanted = {word: lanes for words in phase.banks.values() for word, lanes in words.items()}
    ranks = {word: rank for words in phase.banks.values() for rank, word in enumerate(sorted(words))}
    rows = sorted({word // banks for word in wanted}) or [0]
    drawn = rows[: max(1, limit // banks)]
    cells = [row * banks + bank for row in drawn for bank in range(banks)]
    fullest = set(phase.words) if phase.wavefronts > 1 else set()
    grid = Grid(
        (),
        [_text(wanted[word]) if word in wanted else "" for word in cells],
        [_step(ranks[word], most) if word in wanted else PLAIN for word in cells],
        [wanted[word][0] if word in wanted else -1 for word in cells],
        marked=frozenset(k for k, word in enumerate(cells) if word in fullest),
        words=[_words(asked, word, wanted.get(word, ())) for word in cells],
    )
    gaps = [int(after != before + 1) for before, after in pairwise(drawn)]
    down = PaneAxis(None, "", tuple([str(row * banks * size) for row in drawn]), (0, *gaps, 0))
    across = PaneAxis(None, "bank", tuple(map(str, range(banks))), (0,) * (banks + 1))
    warp = f"warp {phase.warp}, " if len(asked.counts) > 1 else ""
    access = f"access {phase.access}, " if asked.counts.shape[1] > 1 else ""
    title = f"{warp}{access}{lanes_text(phase.lanes)}: {plural(phase.wavefronts, 'wavefront')}"
    return Pane(title, "threads", down, across, [grid], "ramp"), len(rows) - len(drawn)


def _step(rank: int, most: int) -> int:
    """The tint of the word of a bank that so many come before, where the fullest bank has ``most``."""
    return rank * (STEPS - 1) // max(1, most - 1)


def _text(lanes: tuple[int, ...]) -> str:
    return f"T{lanes[0]}" + (f" +{len(lanes) - 1}" if len(lanes) > 1 else "")


def _words(asked: Banks, word: int, lanes: tuple[int, ...]) -> str:
    """What a cell is, and on a second line where."""
    what = f"word {word} of {lanes_text(lanes)}" if lanes else f"word {word}: nobody wants it"
    return f"{what}\nbyte {word * asked.arch.bank_bytes}, bank {word % asked.arch.banks}"
