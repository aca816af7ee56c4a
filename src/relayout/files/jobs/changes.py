"""What becomes of each tensor of a file: its new layout, type, shape and record, decided before a byte is read."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from ...ask.comparing import compare
from ...dialects.einops import is_pattern, pattern_format
from ...dialects.registry import parse, with_shape
from ...elements.interface import Interface, Plain, ScaleOffset, as_interface
from ...engine.plan import Plan, make_plan, stored_bytes
from ...errors import LayoutError, NotExpressible, ParseError, ShapeError, shown
from ...format.factors import checked_axes
from ...format.format import Format
from ...integers.nested import product
from ...layout.layout import Layout
from ...tensors.make import placement
from ..entry import Entry, Planned, Source, bad, of_tensor
from ..record import Record
from .rules import ROW_MAJOR, Rule, Rules

SHOWN = 8
"""How many names a warning tells."""


class Held(NamedTuple):
    """The logical tensor that an entry holds."""

    layout: Layout
    means: Interface
    axes: str | None

    def permuted(self, order: tuple[int, ...]) -> Held:
        """The same with its dimensions in another order."""
        means, axes = self.means, self.axes
        if isinstance(means, ScaleOffset) and means.axis is not None:
            means = means.with_axis(order.index(means.axis))
        return Held(self.layout.permute(*order), means, axes and "".join([axes[d] for d in order]))


class Change(NamedTuple):
    """A tensor of a file, what it becomes, and how; without a ``plan`` its bytes stay as they are.

    ``kept`` says that it is copied, ``why`` that this is so because the new layout cannot take it, ``doubt`` that the
    layout is made for another type.
    """

    entry: Entry
    planned: Planned
    plan: Plan | None
    kept: bool = False
    why: str | None = None
    doubt: str | None = None

    def of(self, entry: Entry) -> Change:
        """The same for another entry that has all but its name and its place in common."""
        return self._replace(entry=entry, planned=self.planned._replace(name=entry.name))

    @property
    def before(self) -> str:
        """The old layout in words."""
        return _words(self.entry.record, self.entry.shape, self.entry.element.name)

    @property
    def after(self) -> str:
        """The new layout in words."""
        return _words(self.planned.record, self.planned.shape, self.planned.element.name)

    @property
    def padding(self) -> float:
        """Which part of the new bytes is no data."""
        if self.plan is None:
            layout = self.entry.layout
            return 1 - layout.size / layout.storage_size if layout.storage_size else 0.0
        target = self.plan.target
        return 1 - target.size / target.storage_size if target.storage_size else 0.0


def changes_of(source: Source, rules: Rules) -> list[Change]:
    """What becomes of every tensor of a file.

    A tensor that nobody named, and that the new layout cannot take, stays as it is, with a warning. It is an error if
    there is nothing else.
    """
    chosen = [(entry, rules.find(name)) for name, entry in source.items()]
    if all(rule is None for _, rule in chosen) and (rules.only or rules.rules):
        raise ShapeError(
            f"no tensor of {source.path} is selected.", hint=f"its tensors are {shown(tuple(source))}", path=source.path
        )
    alike: dict[Any, Change] = {}
    found = []
    for entry, rule in chosen:
        # A checkpoint has thousands of tensors, and few that differ by more than their names.
        stored = entry.element, entry.shape, entry.packing, repr(entry.record), entry.arranged
        key = stored, repr(rule), rules.names(entry.name)
        if key not in alike:
            alike[key] = kept(entry) if rule is None else _change(entry, rule, rules.names(entry.name))
        found.append(alike[key].of(entry))
    unfit = _by_words([(change.why, change.entry.name) for change in found])
    if unfit and all(change.kept for change in found):
        raise NotExpressible(
            f"no tensor of {source.path} fits: {'; '.join([f'{names} ({why})' for why, names in unfit.items()])}.",
            hint="choose a layout for tensors of that rank; `relayout catalog` lists those that have a name",
            path=source.path,
        )
    if idle := rules.idle(source):
        warnings.warn(f"no tensor has a name like {', '.join(map(shown, idle))}.", stacklevel=3)
    for why, names in unfit.items():
        warnings.warn(f"copied unchanged: {names} ({why}).", stacklevel=3)
    for doubt, names in _by_words([(change.doubt, change.entry.name) for change in found]).items():
        warnings.warn(f"{doubt}: {names}.", stacklevel=3)
    return found


def _by_words(told: list[tuple[str | None, str]]) -> dict[str, str]:
    """For everything that is told of tensors, the names of some and the number of the others."""
    names: dict[str, list[str]] = {}
    for words, name in told:
        if words is not None:
            names.setdefault(words, []).append(name)
    return {
        words: ", ".join([shown(name) for name in several[:SHOWN]])
        + (f" and {len(several) - SHOWN} more" if len(several) > SHOWN else "")
        for words, several in names.items()
    }


def kept(entry: Entry, why: str | None = None) -> Change:
    """A tensor that stays as it is, for other readers as well: what they put in order is put in order here."""
    if entry.arranged:
        return _decided(entry, Rule())._replace(kept=True, why=why)
    return Change(entry, Planned(entry.name, entry.element, entry.shape, entry.record), None, True, why)


def _change(entry: Entry, rule: Rule, named: bool) -> Change:
    """What a rule makes of a tensor; what does not fit it is refused with its name, if it was named."""
    try:
        why = None if named and entry.packing is None else _misfit(entry, rule)
        if named and why is not None:
            raise NotExpressible(f"it is {why}.", hint="turn it into numbers first, as gguf.quants.dequantize does")
        return _decided(entry, rule) if why is None else kept(entry, why)
    except ParseError:
        raise
    except LayoutError as error:
        raise of_tensor(error, entry.name) from None


def _misfit(entry: Entry, rule: Rule) -> str | None:
    """Why a layout that was asked for cannot take the tensor, by its shape or the width of its elements."""
    if entry.packing is not None and rule.changes:
        return f"blocks of {entry.packing}, seen as their bytes"
    shape = entry.layout.extents
    asked = [rule.to] if rule.shape is not None or entry.record is not None else [rule.src, rule.to]
    for x in asked:
        if x in (None, ROW_MAJOR):
            continue
        try:
            found = _placed(x, _meaning(entry.interface, rule) if x is rule.to else entry.interface)
        except ShapeError as error:
            return error.message.rstrip(".")
        if isinstance(found, Format) and found.rank != len(shape):
            return f"rank {len(shape)}, and {x} has rank {found.rank}"
        if isinstance(found, Layout) and found.extents != shape:
            return f"shape {shape}, and {x} has {found.extents}"
    return None


def held(entry: Entry, rule: Rule) -> Held:
    """The tensor of an entry by its record, else as the rule says, with the dimensions in the rule's order."""
    layout, means, axes = entry.layout, entry.interface, entry.axes
    if rule.src is not None:
        placed = _placed(rule.src, means)
        told = with_shape(placed, entry.layout.extents if rule.shape is None else rule.shape)
        if entry.record is not None and not compare(told, layout):
            raise bad(
                None, f"it is recorded as {entry.record.layout}, not as {rule.src}.", "leave that out", entry.name
            )
        needed = -(-told.storage_size * means.element.bits // 8)
        if needed != entry.size:
            raise ShapeError(
                f"{rule.src} of shape {told.extents} needs {needed} bytes, and {entry.size} are stored.",
                hint="give the logical shape",
            )
        layout, axes = told, axes or (placed.axes if isinstance(placed, Format) else None)
    elif rule.shape is not None and tuple(rule.shape) != layout.extents:
        raise ShapeError(f"it has the shape {layout.extents}, not {tuple(rule.shape)}.", hint="leave the shape out")
    found = Held(layout, means, axes).permuted(rule.order(layout.rank))
    return found if rule.names() is None else found._replace(axes=checked_axes(rule.names(), layout.rank))


def _decided(entry: Entry, rule: Rule) -> Change:
    source, means, axes = held(entry, rule)
    shape = source.extents
    to = _meaning(means, rule)
    found = Layout.row_major(shape) if rule.to in (None, ROW_MAJOR) else _placed(rule.to, to)
    if isinstance(found, Format) and axes is not None:
        found = found.aligned(axes)
    target = with_shape(found, shape)
    if target.has_basis or (target.padded_size and target.box.min_offset < 0):
        raise ShapeError(f"{target} goes below 0, or has no places in memory.", hint="add to its offset", layout=target)
    value = rule.fill
    stored: tuple[int, ...] = (target.storage_size,)
    if isinstance(found, Format):
        axes = found.axes
        value = found.fill if value is None else value
        stored = found.physical_shape(shape)
    if product(stored) != target.storage_size:
        stored = (target.storage_size,)
    rows = Layout.row_major(shape)
    if target.storage_size == rows.size and target.equivalent(rows) and not isinstance(found, Format):
        stored = shape
    kind = to.element
    code = bytes(kind.bits if kind.bits < 8 else kind.bytes) if value is None else stored_bytes(to, value)
    padded = target.storage_size > target.size
    record = doubt = None
    if isinstance(found, Format) and found.element_bits not in (None, kind.bits):
        doubt = f"{rule.to} is made for elements of {found.element_bits} bits, not for {kind.name}"
    if stored != shape or not target.equivalent(rows) or axes is not None or not isinstance(to, Plain):
        text = _text(found, rule.to, target, to)
        fill = value if padded and isinstance(value, int | float) else None
        record = Record.of(text, shape, to, axes=axes, fill=fill)
    planned = Planned(entry.name, kind.underlying, stored, record)
    return Change(entry, planned, make_plan(source, target, means, to, code, 1), doubt=doubt)


def _meaning(means: Interface, rule: Rule) -> Interface:
    """The interface of the result."""
    if rule.scale is None:
        return means if rule.dtype is None else as_interface(rule.dtype)
    kind = means.element if rule.dtype is None else rule.dtype
    return ScaleOffset(rule.scale, 0 if rule.offset is None else rule.offset, kind, rule.axis)


def _placed(x: Any, means: Interface) -> Layout | Format:
    return pattern_format(x) if isinstance(x, str) and is_pattern(x) else placement(x, means.element)


def _text(found: Layout | Format, asked: Any, target: Layout, means: Interface) -> str:
    """A text for the layout: that which was asked for, where it means the same alone."""
    alone = isinstance(asked, str) and not is_pattern(asked) and ":" in asked
    if alone and parse(asked, shape=target.extents, dtype=means.element) == target:
        return str(asked)
    return f"format:{found}" if isinstance(found, Format) else f"mojo:{target}"


def _words(record: Record | None, shape: tuple[int, ...], element: str) -> str:
    if record is None:
        return f"{element} {list(shape)}"
    meaning = (record.interface or {}).get("element", element)
    return f"{meaning} {list(record.shape)} {record.layout}"
