"""The named formats of the world: one table, each with its axes, its blocks and where it comes from.

A name is ``system:Name`` in the vendor's own spelling. Most names are a ``Format``. A tile that exists at one size only
is a ``Layout``. What depends on the width of the elements is chosen with ``element_bits``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard

from ..errors import LimitExceeded, ShapeError, shown
from ..immutable import NamedTuple
from ..integers.inttuple import as_int
from ..integers.nested import product
from ..layout.layout import Layout, as_layout
from .entries import Entry, known_entries, own_entry
from .format import Format
from .name_changes import clear_on_change

if TYPE_CHECKING:
    from .record import Record

# What a vendor writes before or after the names of the table.
_AFFIXES = {
    "htp": ("MemoryLayout", "Layout"),
    "tensorrt": ("TensorFormat::",),
    "cudnn": ("CUDNN_TENSOR_",),
    "cublaslt": ("CUBLASLT_ORDER_", "CUBLASLT_MATMUL_MATRIX_SCALE_"),
    "hipblaslt": ("HIPBLASLT_ORDER_",),
    "smem": ("Layout_", "_Atom"),
    "ascend": ("ACL_FORMAT_", "FORMAT_"),
    "tenstorrent": ("_LAYOUT",),
    "bnns": ("BNNSDataLayout",),
}


class _Entries(Mapping[str, Entry]):
    """The table by full names, read when it is first asked for."""

    def __getitem__(self, name: str) -> Entry:
        return known_entries()[0][name]

    def __iter__(self) -> Iterator[str]:
        return iter(known_entries()[0])

    def __len__(self) -> int:
        return len(known_entries()[0])

    def __repr__(self) -> str:
        return f"<{len(self)} named formats>"

    def _repr_html_(self) -> str:
        from ..drawing.notebook_tables import html_of

        return html_of(self)


ENTRIES: Mapping[str, Entry] = _Entries()
"""Every named format by its full name, without the other names that some have."""


def names(pattern: str = "*") -> list[str]:
    """Every name that fits the pattern, as in ``names("htp:*")``, the other names that some formats have included."""
    entries, others = known_entries()
    return [name for name in (*entries, *others) if fnmatchcase(name, pattern)]


def get(name: str, element_bits: int | None = None) -> Format | Layout:
    """The format of that name, or the layout of a tile of that name.

    Vendors' prefixes and suffixes may stay on (``htp:R4CroutonLayout``, ``cublaslt:CUBLASLT_ORDER_COL32``). Where the
    width of the elements decides, ``element_bits`` must be given.

    >>> print(get("tensorrt:kCHW32"))
    0 1 2 3 / 1,32 axes nchw fill 0
    """
    return entry(name).at(None if element_bits is None else as_int(element_bits, "element_bits"))


def entry(name: str) -> Entry:
    """All that is known under that name, in any of the spellings that ``get`` takes."""
    if not isinstance(name, str):
        raise ShapeError(f"a name is a text, got {shown(name)}.", hint="as in htp:R4Crouton", name=name)
    found = lookup(name)
    if found is None:
        from .records import known_records

        if name in known_records():
            raise ShapeError(
                f"{shown(name)} is a record, and no format.", hint=f'rl.catalog.record("{name}") gives it', name=name
            )
        raise ShapeError(f"there is no format named {shown(name)}.", hint=_near(name), name=name)
    return found


def lookup(name: str) -> Entry | None:
    """All that is known under that name, in any of the spellings that ``get`` takes; None for a name of nothing."""
    if (own := own_entry(name)) is not None:
        return own
    entries, others = known_entries()
    system, _, short = name.partition(":")
    for affix in _AFFIXES.get(system, ()):
        short = short.removeprefix(affix).removesuffix(affix)
    for candidate in (name, f"{system}:{short}"):
        found = entries.get(candidate) or others.get(candidate)
        if found is not None:
            return found
    return None


def other_names(name: str) -> list[str]:
    """The other names of an entry, those included that stand for it at one width of elements.

    >>> other_names("htp:R4Crouton")
    ['htp:Crouton', 'htp:crouton', 'htp:ChannelMajorCrouton']
    """
    entries, others = known_entries()
    own = {id(form) for form in entries[name].forms.values()}
    return [other for other, entry in others.items() if own & {id(form) for form in entry.forms.values()}]


def entries_called(short: str) -> list[Entry]:
    """The formats of that name without the system before it, of every system that has one, in the order of the table.

    >>> [entry.name for entry in entries_called("TensorFormat::kCHW32")]
    ['tensorrt:kCHW32']
    """
    several = [lookup(f"{system}:{short}") for system in sorted(systems())]
    return [entry for entry in several if entry is not None]


def is_name(text: str) -> bool:
    """Whether a text is a name, with or without the system before it."""
    return lookup(text) is not None or bool(entries_called(text))


def systems() -> set[str]:
    """What stands before the colon of the names."""
    return {name.partition(":")[0] for name in names()}


def find(layout: Layout | Format | Record, element_bits: int | None = None) -> list[str]:
    """The names of the formats that give this layout; of a layout of few elements there may be many.

    A format has the names of all equivalent ones, dimensions matched by name where it has names. A layout has the names
    whose layout for its extents is the same function and needs the same storage, and of the tiles that are the same.
    With ``element_bits``, or a format that says them, only names that are for elements of that width. Where none is
    said a name tells the places alone, and packed weights in a plain order (``mlx:w4``) are left out. A record has the
    names of all that are the same bit by bit.
    """
    if isinstance(layout, Format):
        element_bits = layout.element_bits if element_bits is None else element_bits
        block = product(layout.block_shape)
        fits = [name for name, what, size in _formats() if size == block and _alike(layout, what)]
        found = list(dict.fromkeys(fits))
        return [name for name in found if _has_width(name, element_bits, layout)]
    if not isinstance(layout, Layout):
        from .record import Record
        from .records import names_of_record

        if isinstance(layout, Record):
            return names_of_record(layout)
        layout = as_layout(layout, "find")
    groups = [] if layout.has_basis else list(_fits(layout))
    found = list(dict.fromkeys([name for group in groups for name in group]))
    return [name for name in found if _has_width(name, element_bits, layout)]


def names_of(fmt: Format, element_bits: int | None = None) -> list[str]:
    """The names that are this format: of those that :func:`find` gives, the ones with the same fill and table.

    No fill is a fill of 0. What a name does not say, and the width of elements, is as ``find`` takes it.
    """
    found = find(fmt, element_bits)
    return [name for name in found if any(_keeps(fmt, form) for form in ENTRIES[name].forms.values())]


def _keeps(fmt: Format, form: Format | Layout) -> bool:
    """Whether a form has the padding and the table of ``fmt``."""
    return isinstance(form, Format) and (form.fill or 0, form.indirect) == (fmt.fill or 0, fmt.indirect)


def _has_width(name: str, bits: int | None, x: Layout | Format) -> bool:
    """Whether the form of that name for elements of this width, if one is asked for, is ``x``."""
    forms = ENTRIES[name].forms
    if bits is None:
        return not _plain_codes(forms.get(None))
    what = forms.get(bits, forms.get(None))
    if what is None or (isinstance(what, Format) and what.element_bits not in (None, bits)):
        return False
    if len(forms) == 1 or isinstance(x, Format):
        return len(forms) == 1 or _alike(x, what)  # type: ignore[arg-type]
    made = what if isinstance(what, Layout) else what.layout(x.extents, left_pad=x.origin)
    return made.extents == x.extents and _same(made, x)


def _plain_codes(form: Format | Layout | None) -> TypeGuard[Format]:
    """Whether a form is a plain order of codes of at most a byte, at most rounded up, which every array may have."""
    if not isinstance(form, Format) or (form.element_bits or 16) > 8:
        return False
    blocks = form._canonical()[1][form.rank :]
    return not blocks or (len(blocks) == 1 and blocks[0].dim == form.order[-1] and blocks[0].step == 1)


def _alike(fmt: Format, what: Format | Layout) -> bool:
    """Whether both are the same format, dimensions matched by name where both have names."""
    if not isinstance(what, Format) or what.rank != fmt.rank:
        return False
    if fmt.axes is None or what.axes is None:
        return what.equivalent(fmt)
    return set(what.axes) == set(fmt.axes) and what.aligned(fmt.axes).equivalent(fmt)


def _fits(layout: Layout) -> Iterator[list[str]]:
    """The names of each form that is proven to be this layout. Most others fail at a glance: by size or by one step."""
    extents, origin, storage = layout.extents, layout.origin, layout.storage_size
    start = layout(0) if layout.size else 0
    steps = {}
    for d, n in enumerate(extents):
        if layout.size and n > 1 and origin[d] == 0:
            steps[d] = layout(*[int(k == d) for k in range(len(extents))]) - start
    for form in _distinct():
        if isinstance(form.what, Layout):
            if form.what.extents == extents and _same(form.what, layout):
                yield form.names
        elif (
            len(form.block) == len(extents)
            and product(tuple([-(-(n + o) // b) * b for n, o, b in zip(extents, origin, form.block)])) == storage
            and all(steps.get(d, step) == step for d, step in form.steps)
            and (layout.size == 0 or _same_from_the_end(form.what.layout(extents, left_pad=origin), layout))
        ):
            yield form.names


def _same_from_the_end(a: Layout, b: Layout) -> bool:
    """Whether both are proven to be the same function; most others differ at their last element."""
    last = tuple([n - 1 for n in a.extents])
    return a(*last) == b(*last) and _same(a, b)


def _same(a: Layout, b: Layout) -> bool:
    """Whether both are proven to be the same function."""
    try:
        return a.equivalent(b)
    except LimitExceeded:
        return False


def _near(name: str) -> str:
    """The names most like this one, or how to list them all."""
    listed = ", ".join(near(name))
    return f"did you mean {listed}?" if listed else 'names() lists all of them, names("htp:*") those of one system'


def near(name: str) -> list[str]:
    """The names most like this one, those of records included."""
    from difflib import get_close_matches

    from .records import known_records

    known = {n.lower(): n for n in [*names(), *known_records()]}
    shorts = {n.partition(":")[2]: n for n in reversed(known)}
    wanted = name[:80].lower()
    close = [known[n] for n in get_close_matches(wanted, known, 3)]
    close += [known[shorts[n]] for n in get_close_matches(wanted.partition(":")[2] or wanted, shorts, 3, 0.8)]
    return list(dict.fromkeys(close))


# ---- what is looked at for a name -------------------------------------------------------------------------


class _Form(NamedTuple):
    """A form, the names that have it, its block, and what one step moves along the dimensions where that is fixed."""

    what: Format | Layout
    names: list[str]
    block: tuple[int, ...] = ()
    steps: tuple[tuple[int, int], ...] = ()


@cache
def _formats() -> list[tuple[str, Format, int]]:
    """Every format with its name and the size of its blocks."""
    forms = [(e.name, what) for e in known_entries()[0].values() for what in e.forms.values()]
    return [(name, what, product(what.block_shape)) for name, what in forms if isinstance(what, Format)]


@cache
def _distinct() -> list[_Form]:
    """Every form once, in the order of the table."""
    forms: dict[Any, _Form] = {}
    for named in known_entries()[0].values():
        for what in named.forms.values():
            key = what if isinstance(what, Layout) else what._canonical()
            if key not in forms:
                forms[key] = _Form(what, []) if isinstance(what, Layout) else _form(what)
            forms[key].names.append(named.name)
    return list(forms.values())


def _form(fmt: Format) -> _Form:
    """A step is fixed inside a block, and along the fastest rest of a dimension without one."""
    strides = Layout.row_major(tuple([f.size for f in fmt.blocks])).stride
    steps = [(f.dim, d) for f, d in zip(fmt.blocks, strides) if f.step == 1 and f.size > 1]
    if fmt.block_shape[fmt.order[-1]] == 1:
        steps.append((fmt.order[-1], product(fmt.block_shape)))
    return _Form(fmt, [], fmt.block_shape, tuple(steps))


clear_on_change(_formats.cache_clear)
clear_on_change(_distinct.cache_clear)
