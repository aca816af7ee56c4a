"""The Model Context Protocol: messages of one client, answered as the version says that it speaks.

Clients of 2026-07-28 say their version in every request; those before agree on one by ``initialize``. Both are served.
What is wrong with a message is an error of the protocol; what is wrong with a layout is the answer of a tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Lock
from typing import Any, NoReturn

from .._version import __version__
from . import limits
from .calls import CallQueue, ToolCall
from .tools import tools

MODERN_VERSIONS = ("2026-07-28",)
"""The versions that are said in every request."""

AGREED_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions that ``initialize`` agrees on, the oldest first."""

_BATCHES = "2025-03-26"
"""The one version in which several messages may come in one line."""

_BEFORE_STRUCTURE = AGREED_VERSIONS[:2]
"""The versions whose answers are texts alone."""

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED_VERSION = -32022
_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_SERVER = {"name": "relayout", "title": "relayout", "version": __version__}
_CACHE = {"ttlMs": 3_600_000, "cacheScope": "public"}

INSTRUCTIONS = (
    "Exact answers about memory layouts of tensors: parse reads one in any notation, translate writes it in others, "
    "compare proves two equal or names the first coordinate that differs, explain says it in words, infer finds the "
    "layout of offsets or of dumped memory, draw shows it, and catalog lists formats with names. An error has a code, "
    "such as RL001, and a hint; explain tells about the code. Nothing here reads files: pass texts and numbers."
)

Send = Callable[[dict[str, Any] | None], None]
"""Sends one response; None where there is none."""


class MessageError(Exception):
    """A message that the protocol does not allow."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.fault = {"code": code, "message": message, **({} if data is None else {"data": data})}


class Session:
    """The messages of one client; ``write`` takes what goes back to it."""

    def __init__(self, calls: CallQueue, write: Callable[[Any], None]) -> None:
        self._calls = calls
        self._write = write
        self._version: str | None = None

    def receive(self, line: bytes | None) -> None:
        """Answer one line, or None for one that is too long."""
        try:
            message = _message(line)
            if isinstance(message, list):
                self._receive_batch(message)
            else:
                self._answer(message, self._send)
        except MessageError as error:
            self._send(_response(None, error=error.fault))

    def _send(self, response: dict[str, Any] | None) -> None:
        if response is not None:
            self._write(response)

    def _receive_batch(self, messages: list[Any]) -> None:
        """Answer several messages by one list, when all answers are there."""
        if self._version != _BATCHES or not messages:
            raise MessageError(INVALID_REQUEST, "A message is one object.")
        answered: list[dict[str, Any] | None] = []
        lock = Lock()

        def send(response: dict[str, Any] | None) -> None:
            with lock:  # answers of tools come from another thread
                answered.append(response)
                done = len(answered) == len(messages)
            if done and any(answered):
                self._write([x for x in answered if x is not None])

        for message in messages:
            self._answer(message, send, batched=True)

    def _answer(self, message: Any, send: Send, batched: bool = False) -> None:
        id = None
        try:
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise MessageError(INVALID_REQUEST, 'A message is an object with "jsonrpc": "2.0".')
            if "id" in message:
                if not isinstance(message["id"], int | str) or isinstance(message["id"], bool):
                    raise MessageError(INVALID_REQUEST, "An id is a string or an integer.")
                id = message["id"]
            method, params = message.get("method"), message.get("params", {})
            if method is None and ("result" in message or "error" in message):
                return send(None)  # the answer to a question that was never asked
            if not isinstance(method, str):
                raise MessageError(INVALID_REQUEST, "A message has a method.")
            if "id" not in message:
                self._note(method, params)
                return send(None)
            if not isinstance(params, dict):
                raise MessageError(INVALID_PARAMS, "params is an object.")
            if batched and method == "initialize":
                raise MessageError(INVALID_REQUEST, "initialize comes alone.")
            self._request(message["id"], method, params, send)
        except MessageError as error:
            send(_response(id, error=error.fault))

    def _note(self, method: str, params: Any) -> None:
        if method == "notifications/cancelled" and isinstance(params, dict):
            self._calls.cancel(params.get("requestId"))

    def _request(self, id: int | str, method: str, params: dict[str, Any], send: Send) -> None:
        modern = _is_modern(params)
        if method == "initialize" and not modern:
            return send(_response(id, self._initialize(params)))
        if not modern and self._version is None and method != "ping":
            known = {"supported": [*MODERN_VERSIONS, *AGREED_VERSIONS]}
            raise MessageError(INVALID_PARAMS, f"Say a version: in _meta ({_VERSION}), or by initialize.", known)

        def finish(result: dict[str, Any]) -> None:
            whole = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": _SERVER}}
            send(_response(id, {**whole, **result} if modern else result))

        if method == "tools/list":
            if params.get("cursor") is not None:
                raise MessageError(INVALID_PARAMS, "There is one page, and no cursor.")
            return finish({"tools": [tool.listing for tool in tools().values()], **(_CACHE if modern else {})})
        if method == "tools/call":
            return self._call(id, params, finish, send, modern)
        if method == "ping" and not modern:
            return finish({})
        if method == "server/discover" and modern:
            return finish({"supportedVersions": list(MODERN_VERSIONS), **_about(), **_CACHE})
        if method == "subscriptions/listen" and modern:
            return self._acknowledge(id)
        raise MessageError(NO_METHOD, f"There is no method {method[:100]!r}.")

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        """Agree on the version that is asked for, or offer the newest that can be agreed on."""
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise MessageError(INVALID_PARAMS, "initialize has a protocolVersion.", {"supported": AGREED_VERSIONS})
        self._version = wanted if wanted in AGREED_VERSIONS else AGREED_VERSIONS[-1]
        return {"protocolVersion": self._version, **_about(), "serverInfo": _SERVER}

    def _acknowledge(self, id: int | str) -> None:
        """Open a stream of notifications, of which there are none: nothing here changes. It ends with the client."""
        params = {"_meta": {"io.modelcontextprotocol/subscriptionId": id}, "notifications": {}}
        self._write({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params})

    def _call(
        self, id: int | str, params: dict[str, Any], finish: Callable[[dict[str, Any]], None], send: Send, modern: bool
    ) -> None:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or name not in tools():
            what = f"Unknown tool: {name[:100]}" if isinstance(name, str) else "tools/call has a name."
            raise MessageError(INVALID_PARAMS, what, {"tools": list(tools())})
        if not isinstance(arguments, dict):
            raise MessageError(INVALID_PARAMS, "arguments is an object.")
        if id in self._calls:
            raise MessageError(INVALID_REQUEST, f"The request {str(id)[:100]!r} is under way.")
        as_texts = not modern and self._version in _BEFORE_STRUCTURE

        def reply(answer: dict[str, Any] | None) -> None:
            if answer is None:
                send(None)
            elif "ended" in answer:
                send(_response(id, error={"code": INTERNAL, "message": f"{answer['ended']}."}))
            else:
                finish(_tool_result(answer, as_texts))

        self._calls.add(ToolCall(id, name, arguments, reply))


def _message(line: bytes | None) -> Any:
    """The JSON of a line."""
    if line is None:
        raise MessageError(INVALID_REQUEST, f"A message has at most {limits.LINE} bytes.", {"limit": limits.LINE})
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise MessageError(PARSE_ERROR, "This is no JSON in UTF-8, or too deep.") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _is_modern(params: dict[str, Any]) -> bool:
    """Whether a request says its version itself; refused where it says one that is not spoken, or not all."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or _VERSION not in meta:
        return False
    version = meta[_VERSION]
    if not isinstance(version, str) or not isinstance(meta.get(_CAPABILITIES), dict):
        raise MessageError(INVALID_PARAMS, f"_meta has {_VERSION}, a string, and {_CAPABILITIES}, an object.")
    if version not in MODERN_VERSIONS:
        data = {"supported": list(MODERN_VERSIONS), "requested": version}
        raise MessageError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    return True


def _about() -> dict[str, Any]:
    return {"capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}


def _tool_result(answer: dict[str, Any], as_texts: bool) -> dict[str, Any]:
    texts = [answer["text"], json.dumps(answer["found"])] if as_texts else [answer["text"]]
    content = [{"type": "text", "text": text} for text in texts]
    return {"content": content, "structuredContent": answer["found"], "isError": answer["failed"]}


def _response(id: int | str | None, result: Any = None, error: Any = None) -> dict[str, Any]:
    kind = {"error": error} if error is not None else {"result": result}
    return {"jsonrpc": "2.0", "id": id, **kind}
