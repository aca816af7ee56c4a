"""What becomes of each tensor of a file: its new layout, type, shape and record, decided before a byte is read."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from ...ask.comparing import compare
from ...dialects.resolve import Resolved, resolve
from ...elements.interface import Interface, Plain, ScaleOffset, as_interface
from ...elements.types import ELEMENTS, Element
from ...engine.fill import fill_bytes
from ...engine.plan import Plan, make_plan
from ...errors import LayoutError, NotExpressible, ParseError, ShapeError, shown
from ...format import catalog
from ...format.factors import checked_axes
from ...format.format import Format
from ...integers.nested import product
from ...layout.layout import Layout
from ...layout.ranges import check_allocatable
from ..contents import PlannedTensor, Source, StoredTensor, bad_file, with_tensor
from ..record import LayoutRecord
from .rules import ROW_MAJOR, Rule, Rules

if TYPE_CHECKING:
    from .record_changes import RecordChange

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
    tensor, ``doubt`` that the layout is made for another type. ``records`` says which records its bytes become.
    """

    entry: StoredTensor
    planned: PlannedTensor
    plan: Plan | None
    copied: bool = False
    why: str | None = None
    doubt: str | None = None
    records: RecordChange | None = None

    def of(self, entry: StoredTensor) -> TensorChange:
        """This change of another tensor, which has all but its name and its place in common."""
        return self._replace(entry=entry, planned=self.planned._replace(name=entry.name))

    @property
    def before(self) -> str:
        """The old layout in words."""
        if self.records is not None:
            return f"{self.records.names[0]}, {self.records.columns} columns"
        return _describe(self.entry.record, self.entry.shape, self.entry.element.name)

    @property
    def after(self) -> str:
        """The new layout in words."""
        if self.records is not None:
            return f"{self.records.names[1]}, {self.records.columns} columns"
        return _describe(self.planned.record, self.planned.shape, self.planned.element.name)

    @property
    def padding(self) -> float:
        """Which part of the new bytes is no data."""
        if self.plan is None:
            if self.entry.undecided:
                return 0.0
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
    operands = Operands()
    found = []
    for entry, rule in chosen:
        # A checkpoint has thousands of tensors, and few that differ by more than their names.
        stored = entry.element, entry.shape, entry.packing, repr(entry.record), entry.layout_from_container
        key = stored, entry.undecided, repr(rule), rules.is_named(entry.name)
        if key not in alike:
            alike[key] = (
                copy_unchanged(entry) if rule is None else _change(entry, rule, rules.is_named(entry.name), operands)
            )
        found.append(alike[key].of(entry))
    unfit = names_by_reason([(change.why, change.entry.name) for change in found])
    if unfit and all(change.copied for change in found):
        raise NotExpressible(
            f"no tensor of {source.path} fits: {'; '.join([f'{names} ({why})' for why, names in unfit.items()])}.",
            hint=_hint_for(rules.default.to),
            path=source.path,
        )
    if unmatched := rules.unmatched_patterns(source):
        warnings.warn(f"no tensor has a name like {', '.join(map(shown, unmatched))}.", stacklevel=3)
    for why, names in unfit.items():
        warnings.warn(f"copied unchanged: {names} ({why}).", stacklevel=3)
    for doubt, names in names_by_reason([(change.doubt, change.entry.name) for change in found]).items():
        warnings.warn(f"{doubt.rstrip('.')}: {names}.", stacklevel=3)
    return found


def _hint_for(to: Any) -> str:
    near = catalog.near(to) if isinstance(to, str) and ":" in to and catalog.lookup(to) is None else []
    if near:
        return f"did you mean {', '.join(near)}?"
    return "choose a layout for tensors of that rank; `relayout catalog` lists those that have a name"


def names_by_reason(reasons: list[tuple[str | None, str]]) -> dict[str, str]:
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
        return plan_change(entry, Rule(), Operands())._replace(copied=True, why=why)
    return TensorChange(entry, PlannedTensor(entry.name, entry.element, entry.shape, entry.record), None, True, why)


class Operands:
    """What the layouts of rules mean, each resolved once for every type of elements."""

    def __init__(self) -> None:
        self._resolved: dict[tuple[int, Element], Resolved] = {}

    def resolve(self, x: Any, kind: Element) -> Resolved:
        """What ``x`` means for elements of that type; the rules keep it alive."""
        key = id(x), kind
        if key not in self._resolved:
            self._resolved[key] = resolve(x, element=kind)
        return self._resolved[key]


def _change(entry: StoredTensor, rule: Rule, named: bool, operands: Operands) -> TensorChange:
    """What a rule makes of a tensor; what does not fit it is refused with its name, if it was named."""
    if rule.src is not None:
        entry = entry._replace(undecided=())
    try:
        why = None if named and entry.packing is None else _misfit(entry, rule, operands)
        if named and why is not None:
            raise NotExpressible(f"it is {why}.", hint="turn it into numbers first, as gguf.quants.dequantize does")
        return plan_change(entry, rule, operands) if why is None else copy_unchanged(entry, why)
    except ParseError:
        raise
    except LayoutError as error:
        raise with_tensor(error, entry.name) from None


def _misfit(entry: StoredTensor, rule: Rule, operands: Operands) -> str | None:
    """Why a layout that was asked for cannot take the tensor, by its shape or the width of its elements."""
    if entry.packing is not None and rule.changes:
        return f"blocks of {entry.packing}, seen as their bytes"
    shape, interface = entry.layout.extents, entry.interface
    asked = [(rule.to, _target_interface(interface, rule))]
    if rule.shape is None and entry.record is None:
        asked.insert(0, (rule.src, interface))
    for x, meaning in asked:
        if x is None:
            continue
        try:
            found = operands.resolve(x, meaning.element).subject
        except ShapeError as error:
            return error.message.rstrip(".")
        if isinstance(found, Format) and found.rank != len(shape):
            return f"rank {len(shape)}, and {x} has rank {found.rank}"
        if isinstance(found, Layout) and found.extents != shape:
            return f"shape {shape}, and {x} has {found.extents}"
    if rule.axes is not None and len(rule.axes) != len(shape):
        return f"rank {len(shape)}, and the axes {rule.axes} are {len(rule.axes)}"
    return None


def logical_tensor(entry: StoredTensor, rule: Rule, operands: Operands | None = None) -> LogicalTensor:
    """The tensor of an entry by its record, else as the rule says, with the dimensions in the rule's order."""
    layout, interface, axes = entry.layout, entry.interface, entry.axes
    if rule.src is not None:
        told = (operands or Operands()).resolve(rule.src, interface.element)
        placed = told.at(layout.extents if rule.shape is None else rule.shape).placed
        if entry.record is not None and not compare(placed, layout):
            raise bad_file(
                None, f"it is recorded as {entry.record.layout}, not as {rule.src}.", "leave that out", entry.name
            )
        needed = -(-placed.storage_size * interface.element.bits // 8)
        if needed != entry.size:
            raise ShapeError(
                f"{rule.src} of shape {placed.extents} needs {needed} bytes, and {entry.size} are stored.",
                hint="give the logical shape",
            )
        layout, axes = placed, axes or told.axes
    elif rule.shape is not None and tuple(rule.shape) != layout.extents:
        raise ShapeError(f"it has the shape {layout.extents}, not {tuple(rule.shape)}.", hint="leave the shape out")
    found = LogicalTensor(layout, interface, axes).permute(rule.order(layout.rank))
    return found if rule.names() is None else found._replace(axes=checked_axes(rule.names(), layout.rank))


def plan_change(entry: StoredTensor, rule: Rule, operands: Operands) -> TensorChange:
    """What a rule makes of a tensor that it fits."""
    source, interface, axes = logical_tensor(entry, rule, operands)
    shape, to = source.extents, _target_interface(interface, rule)
    kind = to.element
    asked = operands.resolve(ROW_MAJOR if rule.to is None else rule.to, kind)
    aligned = asked.for_data(shape, axes) if asked.layout is None else asked.at(shape)
    target = aligned.placed
    check_allocatable(target)
    fmt = aligned.format if isinstance(aligned.format, Format) else None
    axes = axes if fmt is None else fmt.axes
    value = aligned.fill if rule.fill is None else rule.fill
    rows = Layout.row_major(shape)
    stored = _stored_shape(target, rows, fmt)
    code = bytes(kind.bits if kind.bits < 8 else kind.bytes) if value is None else fill_bytes(to, value)
    record = None
    if stored != shape or not target.equivalent(rows) or axes is not None or not isinstance(to, Plain):
        padded = target.storage_size > target.size
        fill = value if padded and isinstance(value, int | float) else None
        text = _layout_text(rule.to, asked, fmt, target)
        name = (
            rule.to if isinstance(rule.to, str) and fmt is not None and axes is not None and rule.to != text else None
        )
        record = LayoutRecord.of(text, shape, to, axes=axes, fill=fill, name=name)
    planned = PlannedTensor(entry.name, kind.underlying, stored, record)
    return TensorChange(entry, planned, make_plan(source, target, interface, to, code, 1), doubt=aligned.width_mismatch)


def _stored_shape(target: Layout, rows: Layout, fmt: Format | None) -> tuple[int, ...]:
    """The shape of the array that holds a layout: the physical one of a format, else flat unless it is row-major."""
    if fmt is None and target.storage_size == rows.size and target.equivalent(rows):
        return rows.extents
    stored = (target.storage_size,) if fmt is None else fmt.physical_shape(target.extents)
    return stored if product(stored) == target.storage_size else (target.storage_size,)


def _target_interface(interface: Interface, rule: Rule) -> Interface:
    """The interface of the result."""
    if rule.scale is None:
        return interface if rule.dtype is None else as_interface(rule.dtype)
    kind = interface.element if rule.dtype is None else rule.dtype
    return ScaleOffset(rule.scale, 0 if rule.offset is None else rule.offset, kind, rule.axis)


def _layout_text(text: Any, asked: Resolved, fmt: Format | None, target: Layout) -> str:
    """A text for the layout: that which was asked for, where it names its dialect and means the target alone."""
    if isinstance(text, str) and ":" in text and asked.at(target.extents).placed == target:
        return text
    return f"mojo:{target}" if fmt is None else f"format:{fmt}"


def _describe(record: LayoutRecord | None, shape: tuple[int, ...], element: str) -> str:
    if record is None:
        return f"{element} {list(shape)}"
    told = record.interface or {}
    dtype = told.get("element", element)
    return f"{told.get('encoding', dtype)} {list(record.shape)} {record.layout_name(ELEMENTS[dtype])}"
