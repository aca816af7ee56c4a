"""JSON schemas of what tools take and answer, and the check that arguments keep them."""

from __future__ import annotations

import json
from typing import Any

from ..errors import LayoutError, LimitExceeded, ShapeError, shown
from . import limits

Schema = dict[str, Any]

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def text_schema(what: str, most: int = limits.TEXT) -> Schema:
    return {"type": "string", "description": what, "minLength": 1, "maxLength": most}


def choice_schema(what: str, words: tuple[str, ...]) -> Schema:
    return {"type": "string", "description": what, "enum": list(words)}


def switch_schema(what: str) -> Schema:
    return {"type": "boolean", "description": what}


def list_schema(what: str, items: Schema, most: int) -> Schema:
    return {"type": "array", "description": what, "items": items, "maxItems": most}


def object_schema(properties: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """An object of these properties and no others."""
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found


def nested_schema(what: str) -> Schema:
    """Numbers in nested lists, all as deep; ``check_numbers`` tells how many."""
    return {"type": "array", "description": what}


ERROR: Schema = {
    "type": "object",
    "description": "Why there is no answer, with a code that is stable across releases, and the way out.",
    "properties": {
        "code": {"type": "string"},
        "name": {"type": "string"},
        "message": {"type": "string"},
        "hint": {"type": "string"},
    },
    "required": ["code", "name", "message", "hint"],
}


def answer_schema(properties: dict[str, Schema], required: tuple[str, ...]) -> Schema:
    """An object with all that is required, or with an error alone."""
    return {
        "type": "object",
        "properties": {**properties, "error": ERROR},
        "anyOf": [{"required": list(required)}, {"required": ["error"]}],
    }


# ---- arguments -------------------------------------------------------------------------------------------


def check_arguments(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The arguments that were given; those that are null were not. Refused where they do not keep the schema."""
    given = {name: value for name, value in arguments.items() if value is not None}
    properties = schema["properties"]
    known = f"it has {', '.join(properties)}"
    for name in given:
        if name not in properties:
            raise ShapeError(f"there is no argument {shown(name)}.", hint=known, argument=name)
    for name in schema.get("required", ()):
        if name not in given:
            raise ShapeError(f"the argument {name} is missing.", hint=properties[name]["description"], argument=name)
    return {name: _checked_value(value, properties[name], name) for name, value in given.items()}


def _checked_value(value: Any, schema: Schema, name: str) -> Any:
    """The value, with integers that were written as 4.0 as integers."""
    kind = schema["type"]
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        what = schema.get("description", f"it takes {kind}s")
        if isinstance(value, str) and schema.get("items", {}).get("type") == "string":
            what = f"write it as in [{json.dumps(value[:40])}]"
        article = "an" if kind[0] in "aio" else "a"
        raise ShapeError(f"{name} is {article} {kind}, got {shown(value)}.", hint=what, argument=name)
    if "enum" in schema and value not in schema["enum"]:
        raise ShapeError(f"{name} cannot be {shown(value)}.", hint=f"one of {', '.join(schema['enum'])}", argument=name)
    if isinstance(value, str):
        _check_count(len(value), "characters", schema.get("minLength", 0), schema.get("maxLength"), name)
    elif isinstance(value, list):
        _check_count(len(value), "entries", schema.get("minItems", 0), schema.get("maxItems"), name)
        if "items" in schema:
            return [_checked_value(entry, schema["items"], f"{name}[{k}]") for k, entry in enumerate(value)]
    elif isinstance(value, dict):
        _check_count(len(value), "entries", 0, schema.get("maxProperties"), name)
        own = schema["additionalProperties"]
        return {key: _checked_value(entry, own, f"{name}.{shown(key)}") for key, entry in value.items()}
    elif not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        least, most = schema.get("minimum"), schema.get("maximum")
        what = f"{name} is {shown(value)}, and goes from {least} to {most}."
        if schema.get("minimum", value) <= value:
            raise _limit(what, most)
        raise ShapeError(what, hint=f"give {least} or more", argument=name)
    return value


def _check_count(count: int, what: str, least: int, most: int | None, name: str) -> None:
    if count < least:
        raise ShapeError(f"{name} is empty.", hint=f"it has {least} {what} or more", argument=name)
    if most is not None and count > most:
        raise _limit(f"{name} has {count} {what}, more than {most}.", most)


def check_numbers(value: Any, name: str, unknown: bool = False) -> None:
    """Refuse what is not numbers in nested lists, all as deep and as long; ``unknown`` ones may be null."""
    level, depth = [value], 0
    while level and isinstance(level[0], list):
        depth += 1
        if depth > limits.RANK:
            raise _limit(f"{name} has more than {limits.RANK} dimensions.", limits.RANK)
        lengths = {len(entry) if isinstance(entry, list) else None for entry in level}
        if len(lengths) > 1:
            raise ShapeError(f"the lists of {name} are not all as deep and as long.", hint="as in [[0, 1], [2, 3]]")
        level = [entry for inner in level for entry in inner]
        if len(level) > limits.ENTRIES:
            raise _limit(f"{name} has {len(level)} entries, more than {limits.ENTRIES}.", limits.ENTRIES)
    for entry in level:
        number = isinstance(entry, int | float) and not isinstance(entry, bool)
        if not number and not (unknown and entry is None):
            raise ShapeError(f"{name} holds {shown(entry)}, which is no number.", hint="as in [[0, 1], [2, 3]]")


def _limit(what: str, limit: Any) -> LayoutError:
    return LimitExceeded(what, hint="ask about a smaller one, or about a part of it", limit=limit)
