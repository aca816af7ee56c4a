"""``reshard``: a checkpoint of so many tensor-parallel ranks as one of another number, in bounded memory, resumable.

The parts that ranks have of a tensor, one after another, are one array whose layout is the sharding's. So a change
from one number of ranks to another is a repack, and runs as one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from math import lcm
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...dialects.resolve import resolve
from ...elements.interface import Plain
from ...engine.plan import make_plan
from ...errors import LayoutError, LimitExceeded, NotExpressible, ShapeError, shown
from ...format.format import Format
from ...integers.inttuple import as_int
from ...integers.nested import product
from ...layout.layout import Layout
from ...sharding.sharding import Sharding
from ..contents import Destination, PlannedTensor, Segment, Source, StoredTensor, bad_file, nbytes
from ..file_pool import FilePool
from ..rank_files import RankDestination, RankFiles, plan_rank_files, read_rank_files
from ..sizes import parse_size
from ..store_url import StoreUrl, as_path
from .changes import TensorChange
from .job import RepackJob
from .repack_file import Report, Row, made_job
from .shard_rules import ShardRule, find_rule, rules_for
from .staging import StagedFiles

if TYPE_CHECKING:
    from ...engine.ways import Progress

MAX_RANKS = 1 << 10
"""No checkpoint has more ranks."""

DCP = "dcp"
"""The word for a folder as torch.distributed.checkpoint saves it."""

_COMPARED = 1 << 20

_TP = re.compile(r"\s*tp\s*=\s*(\d{1,6})\s*")


class DealtTensor(NamedTuple):
    """A tensor of the whole model, its rule, and the fused parts that are dealt each by itself, by their rows."""

    name: str
    stored: StoredTensor
    shape: tuple[int, ...]
    rule: ShardRule
    rows: tuple[int, ...]

    def shape_of(self, part: int) -> tuple[int, ...]:
        """The shape of one fused part."""
        return (self.rows[part], *self.shape[1:]) if self.rule.parts else self.shape

    @property
    def format(self) -> Format | None:
        """The format that its record tells, if it has one: every rank keeps its part in it."""
        record = self.stored.record
        if record is None or self.stored.layout_from_container:
            return None
        found = resolve(record.layout, element=self.stored.interface.element).format
        return found if isinstance(found, Format) else None

    def local_layout(self, shape: tuple[int, ...]) -> Layout | None:
        """Where the elements of a part of that shape lie in a rank's array; None where it is row-major."""
        return None if self.format is None else self.format.layout(shape)

    def rank_plan(self, shape: tuple[int, ...]) -> PlannedTensor:
        """What a rank has of it, where its part has that shape."""
        fmt, stored = self.format, self.stored
        if fmt is None or stored.record is None:
            return PlannedTensor(self.name, stored.element, shape)
        size = fmt.layout(shape).storage_size * stored.interface.element.bits
        alike = stored.element.bits == stored.interface.element.bits
        array = fmt.physical_shape(shape) if alike else (size // stored.element.bits,)
        return PlannedTensor(self.name, stored.element, array, stored.record._replace(shape=shape))


def reshard(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    from_: int | str | None = None,
    to: int | str = 1,
    rules: Any = None,
    jobs: int | None = None,
    max_memory: int | str = "1GiB",
    resume: bool = False,
    verify: bool = False,
    force: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    cluster: Any = None,
) -> Report:
    """Write the checkpoint ``source`` of ``from_`` tensor-parallel ranks to ``destination`` as one of ``to`` ranks.

    One rank is a checkpoint as everybody has it: a file or a folder of safetensors, or a folder of torch's distributed
    checkpoints, whatever ranks those were saved by; with ``to="dcp"`` one of those is written. Several ranks are a
    folder with the files of each. ``from_`` is as many as there are where it is not said. ``rules``, a TOML file or a
    list of dictionaries, say how tensors are dealt; without them the files do, where we wrote them, or the family that
    ``config.json`` names. A tensor that no rule fits, a split that cuts a head or a fused part, a rank that is missing,
    and copies that are not the same are refused before anything is written. The rest is as for ``repack_file``.
    """
    path, out = [_folder(x) for x in (source, destination)]
    if cluster is not None:
        path, out = path.absolute(), out.absolute()
    read = read_rank_files(path, None if from_ is None else _ranks(from_))
    count = 1 if to == DCP else _ranks(to)
    tensors = _dealt_tensors(read, rules_for(read, rules, count), len(read.ranks))
    ranks = [[_plan_of(x, count) for x in tensors] for _ in range(count)]
    dealt = {x.name: _words(x.rule) for x in tensors}
    made = plan_rank_files(out, ranks, dealt, read.metadata, to == DCP)
    entries: dict[str, tuple[Segment, ...]] = {}
    changes: list[TensorChange] = []
    for x in tensors:
        _check_cuts(x, count)
        for change, segments in _changes(x, read, made, count):
            changes.append(change)
            entries[change.entry.name] = segments
    final = Destination(made.destination.files, entries, made.destination.checksums)
    opened = Source(path, "ranks", {change.entry.name: change.entry for change in changes}, read.metadata)
    report = Report(path, out, tuple([_row(x, len(read.ranks), count) for x in tensors]), _total(final))
    make = partial(RepackJob, opened, changes, StagedFiles(out, final), parse_size(max_memory))
    _check_copies(read, tensors)
    with made_job(make, jobs, None if dry_run else cluster) as job:
        return report if dry_run else report._replace(resumed=job.run(resume, force, verify, progress))


def _folder(x: Any) -> Path:
    """The path of a checkpoint on this machine."""
    if isinstance(x, Sharding):
        raise ShapeError(
            f"reshard deals the files of a checkpoint to ranks, got the sharding {x}.",
            hint="pass two paths and to=8; of shardings, a.exchange(b) tells what devices send each other",
            sharding=x,
        )
    path = as_path(x)
    if isinstance(path, StoreUrl):
        raise ShapeError(f"{path} is a URL, and reshard takes folders.", hint="copy the checkpoint here first", got=x)
    return path


def _ranks(x: Any) -> int:
    """How many ranks ``tp=8`` or 8 says."""
    found = _TP.fullmatch(x) if isinstance(x, str) else None
    try:
        count = int(found.group(1)) if found else as_int(x, "ranks")
    except ShapeError:
        count = 0
    if not 1 <= count <= MAX_RANKS:
        what = f"{shown(x)} is no number of tensor-parallel ranks."
        raise ShapeError(what, hint=f"tp=1 to tp={MAX_RANKS}, or dcp for what is written", got=x)
    return count


def _dealt_tensors(read: RankFiles, rules: Sequence[ShardRule], ranks: int) -> list[DealtTensor]:
    found = []
    unknown = [name for name in read.ranks[0] if find_rule(rules, name) is None]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise bad_file(
            read.path, f"no rule fits it{more}: it is not known how it is dealt.", "add a rule to rules=", unknown[0]
        )
    idle = [rule.name for rule in rules if not any(find_rule([rule], name) for name in read.ranks[0])]
    if len(idle) == len(rules):
        raise ShapeError("no rule fits any tensor.", hint=f"its tensors are {shown(tuple(read.ranks[0]))}", rules=idle)
    for name, stored in read.ranks[0].items():
        rule = find_rule(rules, name)
        if rule is None:
            continue
        shape = stored.layout.extents
        whole = _whole_shape(name, rule, shape, ranks)
        dealt = DealtTensor(name, stored, whole, rule, _part_rows(name, rule, whole))
        if stored.record is not None and not stored.layout_from_container:
            _check_record(read.path, dealt)
        found.append(dealt)
    return found


def _check_record(path: Path, x: DealtTensor) -> None:
    """Refuse records that say nothing about a part of the tensor."""
    hint = "repack it to row-major first: relayout repack"
    if x.format is None:
        raise bad_file(path, "its record is a layout of this shape, and not of a part.", hint, x.name)
    if not isinstance(x.stored.interface, Plain) or x.rows:
        raise bad_file(path, "its record has scales, or its rule fused parts: blocks are dealt without.", hint, x.name)


def _whole_shape(name: str, rule: ShardRule, local: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    """The shape of the whole tensor, of which every rank has a part of this one."""
    if ranks == 1:
        return local
    try:
        dims = rule.sharding(ranks, tuple([0] * len(local))).dims
    except LayoutError as error:
        raise _with_name(error, name) from None
    return tuple([n * product(tuple([x.size for x in deals if x.axis is not None])) for n, deals in zip(local, dims)])


def _part_rows(name: str, rule: ShardRule, shape: tuple[int, ...]) -> tuple[int, ...]:
    """How many rows each fused part has."""
    total = sum(rule.parts)
    if not rule.parts:
        return ()
    if not shape or shape[0] % total:
        raise ShapeError(
            f"tensor {name!r}: {shape[0] if shape else 0} rows are not divided by the parts {rule.parts}.",
            hint="give the parts of this model",
            tensor=name,
        )
    return tuple([shape[0] // total * n for n in rule.parts])


def _check_cuts(x: DealtTensor, ranks: int) -> None:
    """Refuse a split that leaves a remainder, or that cuts what has to stay together."""
    for part in range(len(x.rows) or 1):
        shape = x.shape_of(part)
        which = f" (part {part + 1} of {len(x.rows)})" if x.rows else ""
        try:
            sharding = x.rule.sharding(ranks, shape)
        except LayoutError as error:
            raise _with_name(error, f"{x.name}{which}") from None
        for d, deals in enumerate(sharding.dims):
            dealt = product(tuple([deal.size for deal in deals if deal.axis is not None]))
            fixed = product(tuple([deal.size for deal in deals if deal.size]))
            run = shape[d] // fixed
            block = 1 if x.format is None else x.format.block_shape[d]
            unit = lcm(x.rule.unit, block)
            if dealt > 1 and run % unit:
                what = "block of its layout" if run % block else "piece"
                raise NotExpressible(
                    f"tensor {x.name!r}{which}: {ranks} ranks cut dimension {d} at {run}, inside the {what} "
                    f"{run // unit * unit}:{(run // unit + 1) * unit} that stays together.",
                    hint=f"choose fewer ranks: there are {shape[d] // unit} pieces of {unit}",
                    tensor=x.name,
                    counterexample=run,
                )
        local = sharding.padded_local_shape()
        if x.format is not None and x.format.layout(local).windowed:
            raise NotExpressible(
                f"tensor {x.name!r}: its blocks of {x.format.block_shape} are padded in a part of {local}.",
                hint="repack it to row-major first: relayout repack",
                tensor=x.name,
            )


def _changes(
    x: DealtTensor, read: RankFiles, made: RankDestination, ranks: int
) -> list[tuple[TensorChange, tuple[Segment, ...]]]:
    """What is read and written of a tensor: for each fused part one repack, for each copy one more."""
    found = []
    parts = len(x.rows) or 1
    for part in range(parts):
        shape = x.shape_of(part)
        before, after = [x.rule.sharding(n, shape) for n in (len(read.ranks), ranks)]
        source = [entry[x.name].segments for entry in read.ranks[: _holders(before)]]
        target = [place[x.name] for place in made.parts]
        if x.rows:
            source, target = [_rows(x, side, part, n) for side, n in ((source, len(read.ranks)), (target, ranks))]
        kind = Plain(x.stored.interface.element)
        held = x.stored.layout if x.stored.layout_from_container else x.local_layout(before.padded_local_shape())
        stacked = before.stacked_layout(held), after.stacked_layout(x.local_layout(after.padded_local_shape()))
        plan = make_plan(*_with_dims_for_kept_digits(stacked, after), kind, kind, None, 1)
        copies = ranks // _holders(after)
        for copy in range(copies):
            several = [f"part {part + 1}"] * (parts > 1) + [f"copy {copy + 1}"] * (copies > 1)
            label = f"{x.name} ({', '.join(several)})" if several else x.name
            joined = tuple([s for segments in source for s in segments])
            stored = StoredTensor(label, kind.element, shape, joined)
            planned = PlannedTensor(label, kind.element, shape)
            written = target[copy * _holders(after) : (copy + 1) * _holders(after)]
            found.append((TensorChange(stored, planned, plan), tuple([s for segments in written for s in segments])))
    return found


def _with_dims_for_kept_digits(stacked: tuple[Layout, Layout], after: Sharding) -> tuple[Layout, Layout]:
    """Both layouts with a dimension of its own for what is kept above a dealt digit, as gate and up are.

    A target is cut into parts of bounded size along its slowest digit, which must be the highest of its dimension.
    """
    shape: list[int] = []
    for n, deals in zip(after.shape or (), after.dims):
        fixed = product(tuple([deal.size for deal in deals if deal.size]))
        above = [deal.size or n // fixed for deal in takewhile(lambda deal: deal.axis is None, deals)]
        lead = product(tuple(above)) if len(above) < len(deals) else 1
        shape += [lead, n // lead] if 1 < lead < n else [n]
    try:
        source, target = [layout.reshape(*shape) for layout in stacked]
    except (NotExpressible, LimitExceeded):
        return stacked
    return source, target


def _holders(sharding: Sharding) -> int:
    """How many ranks have different parts."""
    return sharding.mesh.size // sharding.replicas


def _rows(x: DealtTensor, places: Sequence[tuple[Segment, ...]], part: int, ranks: int) -> list[tuple[Segment, ...]]:
    """The bytes of one fused part in what each rank has: its rows follow those of the parts before."""
    row = nbytes(x.stored.element, x.shape[1:])
    local = [x.rule.sharding(ranks, x.shape_of(k)).padded_local_shape()[0] for k in range(len(x.rows))]
    first, size = sum(local[:part]) * row, local[part] * row
    return [_cut(segments, first, size) for segments in places]


def _cut(segments: tuple[Segment, ...], low: int, size: int) -> tuple[Segment, ...]:
    found, at = [], 0
    for file, start, length in segments:
        first, last = max(low, at), min(low + size, at + length)
        if first < last:
            found.append(Segment(file, start + first - at, last - first))
        at += length
    return tuple(found)


def _check_copies(read: RankFiles, tensors: Sequence[DealtTensor]) -> None:
    """Refuse a checkpoint whose ranks have different copies of what they all hold."""
    import numpy as np

    if len(read.ranks) == 1:
        return
    with FilePool() as files:
        for x in tensors:
            if x.rule.sharding(len(read.ranks), x.shape_of(0)).replicas == 1:
                continue
            for low in range(0, x.stored.size, _COMPARED):
                size = min(_COMPARED, x.stored.size - low)
                first, other = np.empty(size, np.uint8), np.empty(size, np.uint8)
                files.read(x.stored.segments, [low], first)
                for rank, entries in enumerate(read.ranks[1:], 1):
                    files.read(entries[x.name].segments, [low], other)
                    if (first != other).any():
                        at = low + int(np.argmax(first != other))
                        what = f"every rank holds all of it, and those of rank 0 and {rank} differ at byte {at}."
                        raise bad_file(read.path, what, "find out which is right, or deal it by a rule", x.name)


def _plan_of(x: DealtTensor, ranks: int) -> PlannedTensor:
    """What one of so many ranks has of a tensor."""
    shapes = []
    for part in range(len(x.rows) or 1):
        try:
            shapes.append(x.rule.sharding(ranks, x.shape_of(part)).padded_local_shape())
        except LayoutError as error:
            raise _with_name(error, x.name) from None
    rows = sum([shape[0] for shape in shapes]) if x.rows else 0
    return x.rank_plan((rows, *x.shape[1:]) if x.rows else shapes[0])


def _words(rule: ShardRule) -> Mapping[str, Any]:
    """A rule as the files tell it."""
    return {"deal": rule.deal, "parts": list(rule.parts), "unit": rule.unit}


def _row(x: DealtTensor, before: int, after: int) -> Row:
    size = nbytes(x.stored.interface.element, x.shape)
    words = [f"{x.stored.element.name} {list(_plan_of(x, n).shape)}" for n in (before, after)]
    copies = [n // _holders(x.rule.sharding(n, x.shape_of(0))) for n in (before, after)]
    return Row(x.name, words[0], words[1], size * copies[0], size * copies[1], 0.0, words[0] == words[1])


def _total(final: Destination) -> int:
    return sum([s.size for segments in final.entries.values() for s in segments])


def _with_name(error: LayoutError, name: str) -> LayoutError:
    hint = "choose a number of ranks that divides it, or another rule"
    return type(error)(f"tensor {name!r}: {error.message}", hint=hint, **{**error.operands, "tensor": name})
