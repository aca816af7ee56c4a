"""What becomes of tensors whose bytes are records, such as the blocks of GGUF: the same fields in other records."""

from __future__ import annotations

import warnings
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple

from ...dialects.read import as_record
from ...engine.record_pairs import check_same_meaning, repack_records
from ...errors import LayoutError, NotExpressible
from ...format.record import Record
from ...format.records import known_records, names_of_record
from ..contents import Source, StoredTensor
from ..file_pool import FilePool
from ..packings import PACKINGS, packings_of
from .changes import TensorChange, copy_unchanged, names_by_reason
from .compare_tensors import TensorDifference
from .rules import Rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..contents import Segment

SYSTEM = "ggml"
"""Whose blocks the packings of a file name."""


class RecordChange(NamedTuple):
    """Records that become others, for rows of ``columns`` elements; ``group`` rows are whole records of both."""

    source: Record
    target: Record
    columns: int
    group: int

    @property
    def group_bytes(self) -> int:
        """The bytes of a group of rows, before and after."""
        return self.source.size_of((self.group, self.columns))

    def convert(self, data: NDArray[Any]) -> NDArray[Any]:
        """Whole groups of rows as records of the target."""
        shape = (data.size // self.group_bytes * self.group, self.columns)
        return repack_records(data, self.source, self.target, shape, None, None)

    @property
    def names(self) -> tuple[str, str]:
        """What both records are called."""
        source, target = [next(iter(names_of_record(record)), "a record") for record in (self.source, self.target)]
        return source, target

    @property
    def inverse(self) -> RecordChange:
        """The way back."""
        return self._replace(source=self.target, target=self.source)


def record_changes(source: Source, rules: Rules) -> tuple[Source, list[TensorChange]] | None:
    """What becomes of every tensor where a record is asked for, and the source with what its tensors are then.

    None where none is asked for. Tensors of other blocks stay as they are, with a warning.
    """
    target = as_record(rules.default.to)
    if target is None:
        return None
    name = next((n for n in names_of_record(target) if n.startswith(f"{SYSTEM}:")), None)
    packings = packings_of(source)
    made: dict[str, TensorChange] = {}
    for tensor, packing in packings.items():
        if rules.find(tensor) is not None:
            made[tensor] = change_to_record(source[tensor], packing, target)
    if name is None or not any(change.records for change in made.values()):
        reasons = sorted({change.why for change in made.values() if change.why}) or ["it has no blocks of records"]
        raise NotExpressible(
            f"no tensor of {source.path} becomes {rules.default.to}: {'; '.join(reasons)}.",
            hint="records become records of the same fields and the same worth, as Q4_0 does q4_0_8x8",
            path=source.path,
        )
    for why, names in names_by_reason([(change.why, change.entry.name) for change in made.values()]).items():
        warnings.warn(f"copied unchanged: {names} ({why}).", stacklevel=3)
    told = {t: name.partition(":")[2] if t in made and made[t].records else p for t, p in packings.items()}
    metadata = {**source.metadata, PACKINGS: told}
    return Source(source.path, source.kind, source, metadata), [
        made.get(n) or copy_unchanged(entry) for n, entry in source.items()
    ]


def change_to_record(entry: StoredTensor, packing: str, target: Record) -> TensorChange:
    """The blocks of a tensor as other records; as they are, with the reason, where that cannot be."""
    named = known_records().get(f"{SYSTEM}:{packing}")
    if named is None:
        return copy_unchanged(entry, f"blocks of {packing}, which are no record")
    source = named.record
    try:
        check_same_meaning(source, target)
        records = _pair(entry, source, target)
    except LayoutError as error:
        return copy_unchanged(entry, f"blocks of {packing}: {error.message.rstrip('.')}")
    rows, size = entry.shape[-2:] if len(entry.shape) > 1 else (1, entry.shape[-1])
    logical = rows * source.block[0]
    shape = (*entry.shape[:-2], logical // target.block[0], size // source.block[0] * target.block[0])
    plain = copy_unchanged(entry)
    return plain._replace(planned=plain.planned._replace(shape=shape), copied=False, records=records)


def _pair(entry: StoredTensor, source: Record, target: Record) -> RecordChange:
    """Both records for the rows of a tensor; refused where its rows are no whole records."""
    rows = (entry.shape[-2] if len(entry.shape) > 1 else 1) * source.block[0]
    columns = entry.shape[-1] // source.nbytes * source.block[1]
    group = lcm(source.block[0], target.block[0])
    if rows % group:
        raise NotExpressible(f"{rows} rows are no whole records of {target.block[0]}.", hint="leave it as it is")
    if source.size_of((group, columns)) != target.size_of((group, columns)):
        raise NotExpressible("its records have another size.", hint="unpack them, and pack the others")
    return RecordChange(source, target, columns, group)


def record_verdict(
    files: FilePool, one: StoredTensor, two: StoredTensor, packings: tuple[str | None, str | None]
) -> TensorDifference | None:
    """Where blocks of one packing do not hold what those of the other do, if anywhere."""
    known = known_records()
    target = known.get(f"{SYSTEM}:{packings[1]}")
    if packings[0] is None or target is None:
        words = [f"blocks of {packing}" if packing else "no blocks" for packing in packings]
        return TensorDifference(one.name, reason=f"it is {words[0]} in one file, and {words[1]} in the other.")
    change = change_to_record(one, packings[0], target.record)
    if change.records is None:
        return TensorDifference(one.name, reason=f"{change.why} ({packings[1]}).")
    if change.planned.shape != two.shape:
        return TensorDifference(one.name, reason=f"its blocks would be {change.planned.shape}, and are {two.shape}.")
    return record_difference(files, change, two.segments)


def record_difference(files: FilePool, change: TensorChange, segments: tuple[Segment, ...]) -> TensorDifference | None:
    """Where records that were written do not give the source back, if anywhere."""
    import numpy as np

    records = change.records
    if records is None:
        return None
    step = max(1, (1 << 20) // records.group_bytes) * records.group_bytes
    for low in range(0, change.entry.size, step):
        before = np.empty(min(step, change.entry.size - low), np.uint8)
        after = np.empty_like(before)
        files.read_tensor(change.entry, [low], before)
        files.read(segments, [low], after)
        if not np.array_equal(records.inverse.convert(after), before):
            reason = _first_difference(records, before, after, low // records.group_bytes * records.group)
            return TensorDifference(change.entry.name, reason=reason)
    return None


def _meant(stored: NDArray[Any], zero: int) -> NDArray[Any]:
    """Integers less the one that means 0; other elements as they are."""
    return stored.astype("i4") - zero if stored.dtype.kind in "iu" else stored


def _first_difference(records: RecordChange, before: NDArray[Any], after: NDArray[Any], row: int) -> str:
    """The first field, by their order in a record, that differs between records from that row on, and where."""
    import numpy as np

    shape = (before.size // records.group_bytes * records.group, records.columns)
    one, two = records.source.unpack(before, shape), records.target.unpack(after, shape)
    for field in records.source.fields:
        values = [_meant(x[field.name], r[field.name].zero) for x, r in ((one, records.source), (two, records.target))]
        bits = [x if x.dtype.kind == "i" else x.view(f"u{x.itemsize}") for x in values]
        wrong = np.argwhere(bits[0] != bits[1])
        if len(wrong):
            at = tuple([int(k) for k in wrong[0]])
            where = (at[0] + row // records.source.block[0] * field.shape[0], *at[1:])
            return f"{field.name} at {where} is {values[0][at]} and {values[1][at]}."
    return f"its records from row {row} on differ in bits of no field."
