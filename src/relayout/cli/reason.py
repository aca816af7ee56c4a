"""The commands that reason: ``translate``, ``compare``, ``infer`` and ``explain``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..ask.comparing import compare as compare_texts
from ..ask.comparison_facts import comparison_facts
from ..ask.explain import explain as explained
from ..ask.infer import infer as from_data
from ..ask.inference.boxes import inference_of
from ..ask.inference.dumps import pair_of
from ..ask.inference.hypotheses import rank_hypotheses
from ..ask.inference.inference_facts import candidate_facts, inference_facts
from ..ask.inference.result import Candidate
from ..ask.translation import translation
from ..elements.types import ELEMENTS
from ..errors import error_classes, error_of_code
from .answers import Answer, Command, FieldList, TextTable
from .arguments import axes_option, dtype_option, layouts, shape_option, text_argument, to_option
from .failures import with_option_names

# ---- translate -------------------------------------------------------------------------------------------


@click.command(cls=Command)
@text_argument()
@shape_option()
@to_option()
@click.option("--all", "everything", is_flag=True, help="Every notation, or why one cannot hold it (the default).")
@click.option("--padded", is_flag=True, help="Write the whole box where a notation has no word for padding.")
@axes_option()
@dtype_option()
def translate(
    text: str, shape: Any, dialect: str | None, everything: bool, padded: bool, axes: str | None, dtype: str | None
) -> Answer:
    """A layout in another notation, or in all of them.

    TEXT is a layout in any notation or a name of the catalog. With --to the text alone is printed, and the exit code is
    4 where the notation cannot hold it.
    """
    if everything and dialect is not None:
        raise click.UsageError("--to and --all exclude each other.", click.get_current_context())
    found = translation(text, shape, axes=axes, dtype=dtype, padded=padded)
    if dialect is not None:
        written = found.write(dialect)
        return Answer({"subject": found.subject, "dialect": dialect, "text": written}, [written])
    every = found.rosetta
    told = {"subject": found.subject, "texts": every.texts, "refusals": every.refusals}
    return Answer(told, [FieldList(every.rows)])


# ---- compare ---------------------------------------------------------------------------------------------


@click.command(cls=Command)
@text_argument("a")
@text_argument("b")
@shape_option()
@axes_option()
@dtype_option()
@click.option("--flat", is_flag=True, help="Count elements colexicographically: ranks may differ.")
@click.option("--limit", type=click.IntRange(1), default=1 << 20, help="How many elements may be enumerated.")
def compare(a: str, b: str, shape: Any, axes: str | None, dtype: str | None, flat: bool, limit: int) -> Answer:
    """Are two layouts the same function? The exit code is 1 if not, with the first coordinate that differs.

    Two formats are compared for --shape; without it, for every shape. Axes that have names meet by name. Records are
    compared with records: every bit of every field, and what it means; shardings with shardings: who holds what.
    """
    verdict = compare_texts(a, b, flat, limit, shape=shape, axes=axes, dtype=dtype)
    return Answer(comparison_facts(verdict), [str(verdict)], no=not verdict)


# ---- infer -----------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False), metavar="FILE...")
@click.option(
    "--like",
    "references",
    multiple=True,
    type=click.Path(path_type=Path, readable=False),
    metavar="REF",
    help="The tensor that the file was made from; once for each file.",
)
@click.option("--offsets", is_flag=True, help="The file is a table of offsets, one for each coordinate.")
@click.option(
    "--try",
    "among",
    multiple=True,
    shell_complete=layouts,
    metavar="LAYOUT",
    help="A hypothesis, once for each: they are ranked by the elements that they misplace.",
)
@shape_option()
@axes_option()
@dtype_option()
def infer(
    files: tuple[Path, ...],
    references: tuple[Path, ...],
    offsets: bool,
    among: tuple[str, ...],
    shape: Any,
    axes: str | None,
    dtype: str | None,
) -> Answer:
    """Which layout has this file?

    Alone, a file has the layout that its header or its record gives. With --like REF the file is what a converter made
    of the tensor REF: elements are found by their values, the rest is padding. A file whose name does not tell its
    kind, as .npy does, is raw memory; a raw REF needs --shape and --dtype. With --try the exit code is 1 if no LAYOUT
    fits.
    """
    import numpy as np

    from .arrays import memory, tensor

    if references and len(references) != len(files):
        raise click.UsageError("each file needs a --like of its own.", click.get_current_context())
    if not references and len(files) > 1:
        raise click.UsageError("several files need a --like each.", click.get_current_context())
    if axes is not None and not among:
        raise click.UsageError("--axes names the dimensions of REF for --try.", click.get_current_context())
    if among and not references:
        raise click.UsageError(
            "--try needs --like, the tensor that the file was made from.", click.get_current_context()
        )
    if references:
        packed = dtype if dtype is not None and ELEMENTS[dtype].bits < 8 else None
        values = [tensor(path, shape, dtype).stored() for path in references]
        dumps = [memory(path, value.dtype if packed is None else np.dtype("u1")) for path, value in zip(files, values)]
        if among:
            ranked = rank_hypotheses(pair_of(values, dumps, packed), among, axes)
            return Answer(
                {"candidates": [candidate_facts(x) for x in ranked]}, [_ranking(ranked)], no=bool(ranked[0].mismatches)
            )
        found = from_data(values, dumps, dtype=packed)
    elif offsets:
        found = from_data(offsets=tensor(files[0], shape, dtype).stored())
    else:
        found = inference_of(tensor(files[0], shape, dtype).layout)
    return Answer(inference_facts(found), [FieldList(_pairs(str(found)))])


def _pairs(text: str) -> list[tuple[str, str]]:
    cut = [line.partition(" ") for line in text.splitlines()]
    return [(label, value.strip()) for label, _, value in cut]


def _ranking(ranked: Sequence[Candidate]) -> TextTable:
    rows = [(str(x), str(x.mismatches), "fits" if x.mismatch is None else str(x.mismatch)) for x in ranked]
    return TextTable(("layout", "misplaced", "first"), rows)


# ---- explain ---------------------------------------------------------------------------------------------


@click.command(cls=Command)
@text_argument()
@shape_option()
@axes_option()
@dtype_option()
def explain(text: str, shape: Any, axes: str | None, dtype: str | None) -> Answer:
    """A layout, a record, or the code of an error, in plain words.

    TEXT is a code such as RL006, a layout in any notation, or a name of the catalog.
    """
    if re.fullmatch(r"RL\d+", text.strip(), re.IGNORECASE):
        return _explained_code(text.strip().upper())
    words = with_option_names(explained(text, shape, axes=axes, dtype=dtype))
    return Answer({"lines": words.splitlines()}, [words])


def _explained_code(code: str) -> Answer:
    if cls := error_of_code(code):
        what = {"code": code, "name": cls.__name__, "meaning": cls.meaning, "way_out": cls.way_out}
        pairs = [("error", f"{code} {cls.__name__}"), ("means", f"{cls.meaning}."), ("way out", f"{cls.way_out}.")]
        return Answer(what, [FieldList(pairs)])
    result = {"code": code, "name": None, "known": [c.code for c in error_classes()]}
    known = TextTable(("code", "error", "means"), [(c.code, c.__name__, c.meaning) for c in error_classes()])
    return Answer(result, [f"There is no error {code}; there are:", known], no=True)
