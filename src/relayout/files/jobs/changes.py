"""What becomes of each tensor of a file: its new layout, type, shape and record, decided before a byte is read."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from ...ask.comparing import compare
from ...dialects.einops import is_pattern, pattern_format
from ...dialects.resolve import parse, with_shape
from ...elements.interface import Interface, Plain, ScaleOffset, as_interface
from ...engine.fill import fill_bytes
from ...engine.plan import Plan, make_plan
from ...errors import LayoutError, NotExpressible, ParseError, ShapeError, shown
from ...format.factors import checked_axes
from ...format.format import Format
from ...integers.nested import product
from ...layout.layout import Layout
from ...tensors.make import placement
from ..contents import PlannedTensor, Source, StoredTensor, bad_file, with_tensor
from ..record import LayoutRecord
from .rules import ROW_MAJOR, Rule, Rules

MAX_NAMES = 8
"""How many names a warning tells."""


class LogicalTensor(NamedTuple):
    """The logical tensor that an entry holds."""

    layout: Layout
    interface: Interface
    axes: str | None

    def permute(self, order: tuple[int, ...]) -> LogicalTensor:
        """The tensor with its dimensions in another order."""
        interface, axes = self.interface, self.axes
        if isinstance(interface, ScaleOffset) and interface.axis is not None:
            interface = interface.with_axis(order.index(interface.axis))
        return LogicalTensor(self.layout.permute(*order), interface, axes and "".join([axes[d] for d in order]))


class TensorChange(NamedTuple):
    """A tensor of a file, what it becomes, and how; without a ``plan`` its bytes stay as they are.

    ``copied`` says that no other layout is taken, ``why`` that this is so because the one asked for cannot take the
    tensor, ``doubt`` that the layout is made for another type.
    """

    entry: StoredTensor
    planned: PlannedTensor
    plan: Plan | None
    copied: bool = False
    why: str | None = None
    doubt: str | None = None

    def of(self, entry: StoredTensor) -> TensorChange:
        """This change of another tensor, which has all but its name and its place in common."""
        return self._replace(entry=entry, planned=self.planned._replace(name=entry.name))

    @property
    def before(self) -> str:
        """The old layout in words."""
        return _describe(self.entry.record, self.entry.shape, self.entry.element.name)

    @property
    def after(self) -> str:
        """The new layout in words."""
        return _describe(self.planned.record, self.planned.shape, self.planned.element.name)

    @property
    def padding(self) -> float:
        """Which part of the new bytes is no data."""
        if self.plan is None:
            layout = self.entry.layout
            return 1 - layout.size / layout.storage_size if layout.storage_size else 0.0
        target = self.plan.target
        return 1 - target.size / target.storage_size if target.storage_size else 0.0


def changes_of(source: Source, rules: Rules) -> list[TensorChange]:
    """What becomes of every tensor of a file.

    A tensor that nobody named, and that the new layout cannot take, stays as it is, with a warning. It is an error if
    there is nothing else.
    """
    chosen = [(entry, rules.find(name)) for name, entry in source.items()]
    if all(rule is None for _, rule in chosen) and (rules.only or rules.rules):
        raise ShapeError(
            f"no tensor of {source.path} is selected.", hint=f"its tensors are {shown(tuple(source))}", path=source.path
        )
    alike: dict[Any, TensorChange] = {}
    found = []
    for entry, rule in chosen:
        # A checkpoint has thousands of tensors, and few that differ by more than their names.
        stored = entry.element, entry.shape, entry.packing, repr(entry.record), entry.layout_from_container
        key = stored, repr(rule), rules.is_named(entry.name)
        if key not in alike:
            alike[key] = copy_unchanged(entry) if rule is None else _change(entry, rule, rules.is_named(entry.name))
        found.append(alike[key].of(entry))
    unfit = _names_by_reason([(change.why, change.entry.name) for change in found])
    if unfit and all(change.copied for change in found):
        raise NotExpressible(
            f"no tensor of {source.path} fits: {'; '.join([f'{names} ({why})' for why, names in unfit.items()])}.",
            hint="choose a layout for tensors of that rank; `relayout catalog` lists those that have a name",
            path=source.path,
        )
    if unmatched := rules.unmatched_patterns(source):
        warnings.warn(f"no tensor has a name like {', '.join(map(shown, unmatched))}.", stacklevel=3)
    for why, names in unfit.items():
        warnings.warn(f"copied unchanged: {names} ({why}).", stacklevel=3)
    for doubt, names in _names_by_reason([(change.doubt, change.entry.name) for change in found]).items():
        warnings.warn(f"{doubt}: {names}.", stacklevel=3)
    return found


def _names_by_reason(reasons: list[tuple[str | None, str]]) -> dict[str, str]:
    """For every reason the names of some tensors that it is given for, and the number of the others."""
    names: dict[str, list[str]] = {}
    for reason, name in reasons:
        if reason is not None:
            names.setdefault(reason, []).append(name)
    return {
        reason: ", ".join([shown(name) for name in several[:MAX_NAMES]])
        + (f" and {len(several) - MAX_NAMES} more" if len(several) > MAX_NAMES else "")
        for reason, several in names.items()
    }


def copy_unchanged(entry: StoredTensor, why: str | None = None) -> TensorChange:
    """A tensor that stays as it is, for other readers as well: what they put in order is put in order here."""
    if entry.layout_from_container:
        return _plan_change(entry, Rule())._replace(copied=True, why=why)
    return TensorChange(entry, PlannedTensor(entry.name, entry.element, entry.shape, entry.record), None, True, why)


def _change(entry: StoredTensor, rule: Rule, named: bool) -> TensorChange:
    """What a rule makes of a tensor; what does not fit it is refused with its name, if it was named."""
    try:
        why = None if named and entry.packing is None else _misfit(entry, rule)
        if named and why is not None:
            raise NotExpressible(f"it is {why}.", hint="turn it into numbers first, as gguf.quants.dequantize does")
        return _plan_change(entry, rule) if why is None else copy_unchanged(entry, why)
    except ParseError:
        raise
    except LayoutError as error:
        raise with_tensor(error, entry.name) from None


def _misfit(entry: StoredTensor, rule: Rule) -> str | None:
    """Why a layout that was asked for cannot take the tensor, by its shape or the width of its elements."""
    if entry.packing is not None and rule.changes:
        return f"blocks of {entry.packing}, seen as their bytes"
    shape = entry.layout.extents
    asked = [rule.to] if rule.shape is not None or entry.record is not None else [rule.src, rule.to]
    for x in asked:
        if x in (None, ROW_MAJOR):
            continue
        try:
            found = _placed(x, _target_interface(entry.interface, rule) if x is rule.to else entry.interface)
        except ShapeError as error:
            return error.message.rstrip(".")
        if isinstance(found, Format) and found.rank != len(shape):
            return f"rank {len(shape)}, and {x} has rank {found.rank}"
        if isinstance(found, Layout) and found.extents != shape:
            return f"shape {shape}, and {x} has {found.extents}"
    return None


def logical_tensor(entry: StoredTensor, rule: Rule) -> LogicalTensor:
    """The tensor of an entry by its record, else as the rule says, with the dimensions in the rule's order."""
    layout, interface, axes = entry.layout, entry.interface, entry.axes
    if rule.src is not None:
        placed = _placed(rule.src, interface)
        told = with_shape(placed, entry.layout.extents if rule.shape is None else rule.shape)
        if entry.record is not None and not compare(told, layout):
            raise bad_file(
                None, f"it is recorded as {entry.record.layout}, not as {rule.src}.", "leave that out", entry.name
            )
        needed = -(-told.storage_size * interface.element.bits // 8)
        if needed != entry.size:
            raise ShapeError(
                f"{rule.src} of shape {told.extents} needs {needed} bytes, and {entry.size} are stored.",
                hint="give the logical shape",
            )
        layout, axes = told, axes or (placed.axes if isinstance(placed, Format) else None)
    elif rule.shape is not None and tuple(rule.shape) != layout.extents:
        raise ShapeError(f"it has the shape {layout.extents}, not {tuple(rule.shape)}.", hint="leave the shape out")
    found = LogicalTensor(layout, interface, axes).permute(rule.order(layout.rank))
    return found if rule.names() is None else found._replace(axes=checked_axes(rule.names(), layout.rank))


def _plan_change(entry: StoredTensor, rule: Rule) -> TensorChange:
    source, interface, axes = logical_tensor(entry, rule)
    shape = source.extents
    to = _target_interface(interface, rule)
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
    code = bytes(kind.bits if kind.bits < 8 else kind.bytes) if value is None else fill_bytes(to, value)
    padded = target.storage_size > target.size
    record = doubt = None
    if isinstance(found, Format) and found.element_bits not in (None, kind.bits):
        doubt = f"{rule.to} is made for elements of {found.element_bits} bits, not for {kind.name}"
    if stored != shape or not target.equivalent(rows) or axes is not None or not isinstance(to, Plain):
        text = _layout_text(found, rule.to, target, to)
        fill = value if padded and isinstance(value, int | float) else None
        record = LayoutRecord.of(text, shape, to, axes=axes, fill=fill)
    planned = PlannedTensor(entry.name, kind.underlying, stored, record)
    return TensorChange(entry, planned, make_plan(source, target, interface, to, code, 1), doubt=doubt)


def _target_interface(interface: Interface, rule: Rule) -> Interface:
    """The interface of the result."""
    if rule.scale is None:
        return interface if rule.dtype is None else as_interface(rule.dtype)
    kind = interface.element if rule.dtype is None else rule.dtype
    return ScaleOffset(rule.scale, 0 if rule.offset is None else rule.offset, kind, rule.axis)


def _placed(x: Any, interface: Interface) -> Layout | Format:
    return pattern_format(x) if isinstance(x, str) and is_pattern(x) else placement(x, interface.element)


def _layout_text(found: Layout | Format, asked: Any, target: Layout, interface: Interface) -> str:
    """A text for the layout: that which was asked for, where it means the same alone."""
    alone = isinstance(asked, str) and not is_pattern(asked) and ":" in asked
    if alone and parse(asked, shape=target.extents, dtype=interface.element) == target:
        return str(asked)
    return f"format:{found}" if isinstance(found, Format) else f"mojo:{target}"


def _describe(record: LayoutRecord | None, shape: tuple[int, ...], element: str) -> str:
    if record is None:
        return f"{element} {list(shape)}"
    dtype = (record.interface or {}).get("element", element)
    return f"{dtype} {list(record.shape)} {record.layout}"
