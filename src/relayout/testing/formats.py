"""The laws of named formats: name, axes and forms fit together, and every form is what its own text says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import LayoutError
from ..format import catalog
from ..format.entries import Entry, check_entry
from ..format.format import Format
from .laws import check_laws


def find_entry(x: Any) -> Entry | None:
    """The entry that ``x`` is, or that it names in full."""
    return x if isinstance(x, Entry) else catalog.lookup(x) if isinstance(x, str) and ":" in x else None


def check_format(entry: Entry) -> None:
    """Hold a named format against every law."""
    check_laws(f"the format {entry.name}", entry, LAWS)


def fits_together(entry: Entry) -> Iterator[str]:
    """Its name is system:Name, its axes are those of every form, and it says where it comes from."""
    try:
        check_entry(entry)
    except LayoutError as error:
        yield f"- {error.message}"
    if not entry.provenance:
        yield "- it has no provenance"


def forms_are_written_and_read(entry: Entry) -> Iterator[str]:
    """Every form that is a format is read back from its own text, and pads a tensor of any shape to whole blocks."""
    for form in entry.forms.values():
        if not isinstance(form, Format):
            continue
        if Format.parse(str(form)) != form:
            yield f"- {form} is read back as {Format.parse(str(form))}"
        shape = tuple([block + 1 for block in form.block_shape])
        layout = form.layout(shape)
        if layout.extents != shape or not layout.is_injective():
            yield f"- for the shape {shape} it is {layout}, which does not hold every element once"


LAWS = (fits_together, forms_are_written_and_read)
