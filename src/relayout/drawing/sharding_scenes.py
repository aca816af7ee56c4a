"""Shardings as pictures: the tensor cut where devices change, a colour for each device."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from itertools import product as cartesian
from typing import NamedTuple

from ..errors import LimitExceeded, ShapeError
from ..integers.nested import product
from ..sharding.comparison import ShardingComparison
from ..sharding.sharding import Sharding
from .scene import CATEGORIES, HTML_CELLS, PLAIN, Grid, LegendEntry, Pane, PaneAxis, Scene

NAMED = 3
"""So many devices are named in a cell; of more, how many there are."""

Cuts = list[tuple[int, int]]
"""The pieces of one dimension: no device holds a part of one."""


class DrawnSharding(NamedTuple):
    """A sharding with a shape and its title."""

    title: str
    sharding: Sharding


def shardings_scene(drawn: Sequence[DrawnSharding], limit: int) -> Scene:
    """Each sharding as the pieces that devices hold, cut alike so that they can be compared by eye."""
    cuts = _common_cuts([x.sharding for x in drawn], limit)
    panes = [_pane(x, cuts, {}, limit) for x in drawn]
    notes = _notes([x.sharding for x in drawn])
    return Scene(
        panes, [LegendEntry(tuple(range(CATEGORIES)), "a colour for each device, the first that holds it")], notes
    )


def sharding_difference_scene(verdict: ShardingComparison, titles: Sequence[str], limit: int) -> Scene:
    """Both shardings of a comparison; only pieces that not the same devices hold have a colour."""
    shape = verdict.shape
    if shape is None:
        raise ShapeError("a sharding is drawn for a shape, and none is given.", hint="pass shape=(...)", got=verdict)
    both = [DrawnSharding(title, s.at(shape)) for title, s in zip(titles, (verdict.a, verdict.b))]
    cuts = _common_cuts([x.sharding for x in both], limit)
    one, other = [_holders(x.sharding, cuts) for x in both]
    alike = {place: PLAIN for place in cartesian(*[range(len(c)) for c in cuts]) if one.get(place) == other.get(place)}
    panes = [_pane(x, cuts, alike, limit) for x in both]
    words = [LegendEntry(tuple(range(CATEGORIES)), "other devices hold it"), LegendEntry((PLAIN,), "the same devices")]
    return Scene(panes, [] if verdict else words, [str(verdict), *_notes([x.sharding for x in both])])


def _notes(shardings: Sequence[Sharding]) -> list[str]:
    empty = [d for s in shardings for d in s.mesh.known_devices() if 0 in s.local_shape(d)]
    return [f"Devices that hold nothing: {', '.join(map(str, sorted({*empty})[:8]))}."] if empty else []


def _common_cuts(shardings: Sequence[Sharding], limit: int) -> list[Cuts]:
    shapes = {s.shape for s in shardings}
    if len(shapes) > 1 or None in shapes:
        raise ShapeError("shardings are drawn for one shape.", hint="pass shape=(...)", shapes=shapes)
    shape = next(iter(shapes)) or ()
    ends: list[set[int]] = [{0, n} for n in shape]
    for s in shardings:
        seen = set()
        for device in s.mesh.known_devices():
            if s.dealt(device) not in seen:
                seen.add(s.dealt(device))
                for d, runs in enumerate(s.runs(device)):
                    ends[d].update([end for run in runs for end in run])
    cuts = [list(pairwise(sorted(e))) for e in ends]
    longest = sorted([len(c) for c in cuts])[-2:]
    if product(tuple(longest)) > limit:
        raise LimitExceeded(
            f"{' x '.join(map(str, longest))} pieces are over the limit of {limit}.",
            hint=f"a page (.html) holds {HTML_CELLS}; or draw a smaller shape",
            limit=limit,
        )
    return cuts


def _holders(s: Sharding, cuts: list[Cuts]) -> dict[tuple[int, ...], tuple[int, ...]]:
    """The devices of each piece, by its numbers along the dimensions."""
    found: dict[tuple[int, ...], list[int]] = {}
    for device in s.devices:
        runs = s.runs(device)
        inside = [
            [k for k, (start, stop) in enumerate(c) if any(a <= start and stop <= b for a, b in held)]
            for c, held in zip(cuts, runs)
        ]
        for place in cartesian(*inside):
            found.setdefault(place, []).append(device)
    return {place: tuple(devices) for place, devices in found.items()}


def _pane(x: DrawnSharding, cuts: list[Cuts], alike: dict[tuple[int, ...], int], limit: int) -> Pane:
    holders = _holders(x.sharding, cuts)
    running = sorted(sorted(range(len(cuts)), key=lambda d: (len(cuts[d]) > 1, d))[-2:])
    fixed = [d for d in range(len(cuts)) if d not in running]
    down = running[0] if len(running) == 2 else None
    across = running[-1] if running else None
    shape = [1 if d is None else len(cuts[d]) for d in (down, across)]
    room = max(1, limit // max(1, product(tuple(shape))))
    grids = []
    for still in islice(cartesian(*[range(len(cuts[d])) for d in fixed]), room):
        place = dict(zip(fixed, still))
        texts, tints, keys, words = [], [], [], []
        for i, j in cartesian(*map(range, shape)):
            where = tuple([place.get(d, i if d == down else j) for d in range(len(cuts))])
            devices = holders.get(where, ())
            texts.append(_text(devices))
            tints.append(alike.get(where, devices[0] % CATEGORIES if devices else PLAIN))
            keys.append(devices[0] if devices else -1)
            box = ", ".join([_range(c[k]) for c, k in zip(cuts, where)])
            words.append(f"device{'s' * (len(devices) != 1)} {', '.join(map(str, devices))}\n[{box}]")
        caption = " ".join([f"[{d}] {_range(cuts[d][k])}" for d, k in place.items() if len(cuts[d]) > 1])
        at = tuple([place.get(d) for d in range(len(cuts))])
        grids.append(Grid(at, texts, tints, keys, caption, words=words))
    return Pane(x.title, "threads", _axis(down, cuts), _axis(across, cuts), grids)


def _text(devices: Sequence[int]) -> str:
    more = f" +{len(devices) - NAMED}" if len(devices) > NAMED else ""
    return ",".join(map(str, devices[:NAMED])) + more


def _range(piece: tuple[int, int]) -> str:
    return f"{piece[0]}:{piece[1]}"


def _axis(d: int | None, cuts: list[Cuts]) -> PaneAxis:
    labels = ("",) if d is None else tuple([_range(piece) for piece in cuts[d]])
    return PaneAxis(None, "", labels, (0,) * (len(labels) + 1))
