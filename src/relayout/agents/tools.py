"""The tools of the server by name: what each takes, with its limits, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ..errors import LayoutError, LimitExceeded
from . import limits, questions
from .questions import ToolAnswer
from .schemas import (
    Schema,
    answer_schema,
    check_arguments,
    choice_schema,
    list_schema,
    nested_schema,
    object_schema,
    switch_schema,
    text_schema,
)


class Tool(NamedTuple):
    """One tool: its name, what it does, the schemas of what it takes and answers, and the function that does it."""

    name: str
    title: str
    description: str
    takes: Schema
    answers: Schema
    run: Callable[..., ToolAnswer]

    @property
    def listing(self) -> dict[str, Any]:
        """The tool as ``tools/list`` tells of it."""
        hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.takes,
            "outputSchema": self.answers,
            "annotations": {"title": self.title, **hints},
        }


def call_tool(name: str, arguments: dict[str, Any]) -> ToolAnswer:
    """The answer of a tool; every refusal is a ``LayoutError``."""
    tool = tools()[name]
    words = check_arguments(arguments, tool.takes)
    if "shape" in words:
        words["shape"] = tuple(words["shape"])
    try:
        return tool.run(**words)
    except LayoutError:
        raise
    except (MemoryError, OverflowError, RecursionError, ValueError):
        # Python itself gives up on numbers of more than 4300 digits, and on deep nesting.
        raise LimitExceeded("this is too large to answer.", hint="ask about a part of it") from None


def refusal(error: LayoutError) -> ToolAnswer:
    """An error as answers carry it: its code, its name, the message and the way out."""
    facts = {"code": error.code, "name": type(error).__name__, "message": error.message, "hint": error.hint}
    return ToolAnswer(f"{type(error).__name__} [{error.code}]: {error}", {"error": facts})


# ---- what they take -------------------------------------------------------------------------------------

_TEXT = text_schema(
    "A layout in any notation, or a name of the catalog: (4,8):(8,1), nChw16c, htp:R4Crouton, "
    "f32[8,128]{1,0:T(8,128)}, affine_map<(d0, d1) -> (d1, d0)>, ggml:Q4_0."
)
_SHAPE = list_schema(
    "The tensor's shape, as in [1, 8, 8, 32], in the order of axes, or without them of the format's own axes, which "
    "parse tells; formats, which fit any shape, need it.",
    {"type": "integer", "minimum": 0, "maximum": limits.SIZE},
    limits.RANK,
)
_AXES = text_schema("The names of the tensor's dimensions in their order, one letter each, as in nchw.", limits.RANK)
_DTYPE = text_schema("The type of the elements, as in float16, uint8, uint4 or bfloat16.", 64)
_OPERAND = {"shape": _SHAPE, "axes": _AXES, "dtype": _DTYPE}
_LINES = {"type": "array", "items": {"type": "string"}}


# ---- the table -------------------------------------------------------------------------------------------


@cache
def tools() -> dict[str, Tool]:
    """Every tool by its name."""
    return {tool.name: tool for tool in (_PARSE, _TRANSLATE, _COMPARE, _EXPLAIN, _INFER, _draw_tool(), _CATALOG)}


_PARSE = Tool(
    "parse",
    "What a text writes down",
    "Reads a tensor memory layout in any notation (CuTe, XLA, oneDNN, MLIR, Triton, numpy, torch, ...) and tells its "
    "shape, strides, storage, padding, contiguity and names, exactly, and the same in plain words.",
    object_schema({"text": _TEXT, **_OPERAND}, ("text",)),
    answer_schema(
        {
            "kind": {"enum": ["layout", "format", "record", "sharding"]},
            "explanation": _LINES,
            "names": _LINES,
        },
        ("kind", "explanation"),
    ),
    questions.parse,
)
_TRANSLATE = Tool(
    "translate",
    "A layout in another notation",
    "Writes a layout in another notation, or in all of them, with the reason where one cannot hold it. What is "
    "written is the same function; nothing is approximated.",
    object_schema(
        {
            "text": _TEXT,
            "to": text_schema("The notation, as in cute, xla, onednn, mlir, numpy, torch; by default all.", 64),
            "padded": switch_schema("Write the whole box where a notation has no word for padding."),
            **_OPERAND,
        },
        ("text",),
    ),
    answer_schema(
        {
            "subject": {"type": "object"},
            "texts": {"type": "object", "additionalProperties": {"type": "string"}},
            "refusals": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        ("texts", "refusals"),
    ),
    questions.translate,
)
_COMPARE = Tool(
    "compare",
    "Are two layouts the same function?",
    "Proves that two layouts place every element alike, or gives the first coordinate that differs with both offsets. "
    "Formats without a shape are compared for every shape; axes that have names meet by name.",
    object_schema(
        {
            "a": _TEXT,
            "b": _TEXT,
            "flat": switch_schema("Count elements colexicographically: ranks may differ."),
            **_OPERAND,
        },
        ("a", "b"),
    ),
    answer_schema(
        {
            "same": {"type": "boolean"},
            "words": {"type": "string"},
            "coordinate": {"description": "Where they first differ, or null."},
            "offsets": {"description": "Both offsets there, or null."},
        },
        ("same", "words"),
    ),
    questions.compare,
)
_EXPLAIN = Tool(
    "explain",
    "A layout, or the code of an error, in plain words",
    "Tells in plain words what is contiguous, how large blocks are, what is padded, and which names fit. Also takes "
    "an instruction's name (who holds what of its operands) and the code of an error, such as RL006.",
    object_schema({"text": _TEXT, **_OPERAND}, ("text",)),
    answer_schema({"lines": _LINES}, ("lines",)),
    questions.explain,
)
_INFER = Tool(
    "infer",
    "Which layout do these data have?",
    "Finds the simplest exact layout of a table of offsets, or of what a converter made of a reference tensor, with "
    "its names; where the data leave several open it says so, and what to look at next. It takes numbers, never files.",
    object_schema(
        {
            "offsets": nested_schema(
                "The offset of each coordinate in nested lists, as in [[0, 2], [1, 3]]; null is unknown. "
                f"At most {limits.ENTRIES} entries."
            ),
            "reference": nested_schema("The tensor before, in nested lists; its values best occur once each."),
            "dump": nested_schema("The memory that a converter made of the reference, as numbers in their order."),
            "among": list_schema("Only these layouts are tried.", _TEXT, limits.TEXTS),
            "axes": _AXES,
            "dtype": _DTYPE,
        }
    ),
    answer_schema(
        {"words": {"type": "string"}, "layout": {"type": "object"}, "names": _LINES, "settled": {"type": "boolean"}},
        ("words", "layout", "names", "settled"),
    ),
    questions.infer,
)
_CATALOG = Tool(
    "catalog",
    "Search the named formats",
    "Finds named formats and records (of oneDNN, TensorRT, HTP, XLA, ggml, ...) by words of their names, sources and "
    f"notes, or by a pattern as in htp:*, or tells all about one name. At most {limits.ROWS} at a time.",
    object_schema(
        {
            "words": list_schema("All of them must be found; none lists everything.", text_schema("A word.", 64), 8),
            "skip": {
                "type": "integer",
                "minimum": 0,
                "maximum": 1 << 20,
                "description": "How many to leave out first.",
            },
        }
    ),
    answer_schema(
        {
            "found": {"type": "array", "items": {"type": "object"}},
            "more": {"type": "integer", "description": "How many more there are: ask again with skip."},
            "near": _LINES,
        },
        ("found", "more"),
    ),
    questions.catalog,
)


def _draw_tool() -> Tool:
    from ..drawing.cells import CELLS, COLORS, VIEWS

    dimension = text_schema("A dimension by its number or its name.", 8)
    return Tool(
        "draw",
        "A picture of layouts",
        "Draws the offset of every coordinate with the blocks set apart, as text or as SVG; several layouts stand side "
        "by side, and with difference two are coloured where they differ. Large ones are drawn as chunks, or in part.",
        object_schema(
            {
                "texts": {**list_schema("The layouts.", _TEXT, limits.TEXTS), "minItems": 1},
                "form": choice_schema("The form of the picture; text by default.", ("text", "svg")),
                "difference": switch_schema("Colour what two layouts place differently."),
                "part": text_schema("What to draw of it, as numpy indexes: 0,:8,:8,0.", 256),
                "rows": dimension,
                "columns": dimension,
                "at": {
                    "type": "object",
                    "description": 'The coordinates of dimensions that do not run, as in {"n": 0}.',
                    "additionalProperties": {"type": "integer", "minimum": 0, "maximum": limits.SIZE},
                    "maxProperties": limits.RANK,
                },
                "cells": choice_schema("What is written into a cell.", tuple([x for x in CELLS if x != "value"])),
                "color": choice_schema("What a colour tells.", tuple([x for x in COLORS if x != "value"])),
                "view": choice_schema("Elements by coordinate, by address, or both.", VIEWS),
                "path": switch_schema("Draw the order of memory as arrows."),
                **_OPERAND,
            },
            ("texts",),
        ),
        answer_schema({"form": {"type": "string"}, "picture": {"type": "string"}}, ("form", "picture")),
        questions.draw,
    )
