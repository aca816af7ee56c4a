"""``relayout mcp`` by the official client of the protocol, in both of its ways to begin."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import relayout as rl

mcp = pytest.importorskip("mcp", reason="the official client of the Model Context Protocol is not installed")
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema, the judge of schemas, is not installed")

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("parse", {"text": "htp:R4Crouton", "shape": [1, 9, 9, 40], "dtype": "uint8"}),
    ("parse", {"text": "nChw16c"}),
    ("parse", {"text": "ggml:Q4_0", "shape": [64, 64]}),
    ("parse", {"text": "mesh(x=4, y=2) deals (x, -)", "shape": [8, 6]}),
    ("translate", {"text": "(4,8):(8,1)"}),
    ("translate", {"text": "mesh(x=4, y=2) deals (x, -)", "shape": [8, 6]}),
    ("compare", {"a": "nChw8c", "b": "aBcd8b"}),
    ("compare", {"a": "ggml:Q4_0", "b": "ggml:IQ4_NL"}),
    ("compare", {"a": "mesh(x=2) deals (x, -)", "b": "mesh(x=2) deals (-, x)", "shape": [4, 4]}),
    ("compare", {"a": "Sw<3,3,3> o 0 o (64,64):(64,1)", "b": "(64,64):(64,1)"}),
    ("explain", {"text": "RL006"}),
    ("explain", {"text": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}),
    ("infer", {"offsets": [[0, None, 4, 5], [2, 3, 6, 7]]}),
    ("infer", {"reference": [[1.5, 2], [3, 4]], "dump": [1.5, 3, 2, 4]}),
    ("draw", {"texts": ["(4,8):(8,1)", "(4,8):(1,4)"], "difference": True}),
    ("draw", {"texts": ["htp:R4Crouton"], "shape": [1, 9, 9, 40], "at": {"n": 0}, "form": "svg", "rows": "1"}),
    ("catalog", {}),
    ("catalog", {"words": ["ggml:Q4_0"]}),
    ("catalog", {"words": ["nobody"]}),
]
"""The client itself checks each answer against the schema that the tool has for it."""


def connected(mode: str, use: Callable[[Any], Awaitable[None]]) -> None:
    async def run() -> None:
        server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "relayout", "mcp"])
        async with mcp.Client(server, mode=mode, read_timeout_seconds=60) as client:
            await use(client)

    asyncio.run(run())


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_official_client_asks_everything(mode: str, version: str) -> None:
    async def use(client: Any) -> None:
        assert client.protocol_version == version
        listed = (await client.list_tools()).tools
        for tool in listed:
            for schema in (tool.input_schema, tool.output_schema):
                jsonschema.Draft202012Validator.check_schema(schema)
            assert tool.annotations.read_only_hint
        takes = {tool.name: tool.input_schema for tool in listed}
        answers = {tool.name: tool.output_schema for tool in listed}
        assert {name for name, _ in QUESTIONS} == set(takes)
        for name, arguments in QUESTIONS:
            jsonschema.validate(arguments, takes[name])
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, (name, arguments, answer.content[0].text)
            assert answer.content[0].text
        bad = await client.call_tool("parse", {"text": "(4,8):(8,"})
        assert bad.is_error
        jsonschema.validate(bad.structured_content, answers["parse"])
        with pytest.raises(rl.ParseError) as error:
            rl.parse("(4,8):(8,")
        told = {"code": "RL001", "name": "ParseError", "message": error.value.message, "hint": error.value.hint}
        assert bad.structured_content == {"error": told}
        with pytest.raises(mcp.MCPError):
            await client.call_tool("repack", {})

    connected(mode, use)
