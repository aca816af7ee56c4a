"""``relayout mcp``: the protocol spoken by hand, line by line, and its limits."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import relayout as rl
from relayout.agents import limits
from relayout.agents.server import read_lines
from relayout.agents.tools import call_tool, tools
from relayout.agents.worker import answer_line

NEWEST = "2026-07-28"
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


class Peer:
    """A server that was started, and what it says."""

    def __init__(self, *arguments: str, **words: Any) -> None:
        command = [sys.executable, "-m", "relayout", "mcp", *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, **pipes, **words)  # type: ignore[call-overload]
        self.lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.count = 0

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def send(self, *messages: Any) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        line = self.lines.get(timeout=60)
        return json.loads(line) if line else None

    def ask(self, method: str, params: Any = None) -> Any:
        self.count += 1
        words = {} if params is None else {"params": params}
        self.send({"jsonrpc": "2.0", "id": self.count, "method": method, **words})
        answer = self.receive()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self.count)
        return answer

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments, "_meta": META})["result"]

    def end(self) -> int:
        self.process.stdin.close()
        code = self.process.wait(30)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def initialize(version: str = VERSIONS[-1]) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    """One server for all that leaves no trace."""
    made = Peer()
    assert made.ask("initialize", initialize())["result"]["protocolVersion"] == VERSIONS[-1]
    made.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    yield made
    assert made.end() == 0


# ---- the protocol ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [*VERSIONS, NEWEST, "2019-01-01", "x"])
def test_a_version_is_agreed_on(wanted: str, peer: Peer) -> None:
    result = peer.ask("initialize", initialize(wanted))["result"]
    assert result["protocolVersion"] == (wanted if wanted in VERSIONS else VERSIONS[-1])
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"] == {"name": "relayout", "title": "relayout", "version": rl.__version__}
    assert "resultType" not in result


def test_a_request_says_its_version(peer: Peer) -> None:
    found = peer.ask("server/discover", {"_meta": META})["result"]
    assert (found["supportedVersions"], found["resultType"], found["cacheScope"]) == ([NEWEST], "complete", "public")
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] == rl.__version__
    listed = peer.ask("tools/list", {"_meta": META})["result"]
    assert (listed["resultType"], listed["ttlMs"] >= 0) == ("complete", True)
    other = peer.ask("tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}})
    assert other["error"]["code"] == -32022
    assert other["error"]["data"] == {"supported": [NEWEST], "requested": "1900-01-01"}
    bare = {"io.modelcontextprotocol/protocolVersion": NEWEST}
    assert peer.ask("tools/list", {"_meta": bare})["error"]["code"] == -32602
    assert peer.ask("ping", {"_meta": META})["error"]["code"] == -32601


def test_nothing_is_answered_before_a_version_is_known() -> None:
    made = Peer()
    for method in ("tools/list", "tools/call", "server/discover"):
        error = made.ask(method)["error"]
        assert error["code"] == -32602
        assert NEWEST in error["data"]["supported"]
    assert made.ask("ping")["result"] == {}
    assert made.ask("initialize", {})["error"]["code"] == -32602
    assert made.end() == 0


def test_tools_are_listed_with_schemas(peer: Peer) -> None:
    listed = peer.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in listed] == ["parse", "translate", "compare", "explain", "infer", "draw", "catalog"]
    for tool in listed:
        assert tool["annotations"]["readOnlyHint"]
        assert not tool["annotations"]["openWorldHint"]
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert schema["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        assert all(len(about["description"]) > 10 for about in tool["inputSchema"]["properties"].values())
    assert peer.ask("tools/list", {"cursor": "next"})["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe{}", -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}', -32700, None),
        (b"[" * 100_000, -32700, None),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600, None),
        (b"3", -32600, None),
        (b'"ping"', -32600, None),
        (b'{"id":7,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":3}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}', -32602, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"resources/list"}', -32601, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}', -32602, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"repack"}}', -32602, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"parse","arguments":[]}}', -32602, "a"),
        (b'{"jsonrpc":"2.0","id":8,"method":"ping","params":{"x":"' + b"a" * limits.LINE + b'"}}', -32600, None),
    ],
)
def test_messages_that_are_none(line: bytes, code: int, id: Any, peer: Peer) -> None:
    peer.send(line)
    answer = peer.receive()
    assert (answer["error"]["code"], answer["id"]) == (code, id)
    assert peer.ask("ping")["result"] == {}  # and all goes on


def test_what_has_no_id_has_no_answer(peer: Peer) -> None:
    notes: list[Any] = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/nobody/knows", "params": {"x": 1}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        {"jsonrpc": "2.0", "method": "ping"},
        {"jsonrpc": "2.0", "id": 99, "result": {}},
        b"",
        b"\r",
    ]
    peer.send(*notes)
    assert peer.ask("ping")["result"] == {}


def test_lines_end_as_windows_ends_them(peer: Peer) -> None:
    peer.send(b'{"jsonrpc":"2.0","id":"w","method":"ping"}\r')
    assert peer.receive() == {"jsonrpc": "2.0", "id": "w", "result": {}}


def test_batches_are_of_one_version(peer: Peer) -> None:
    def call(id: int, text: str) -> dict[str, Any]:
        params = {"name": "explain", "arguments": {"text": text}}
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}

    peer.ask("initialize", initialize("2025-03-26"))
    ping = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    begin = {"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": initialize()}
    peer.send([call(1, "(2,2):(2,1)"), note, ping, call(2, "nonsense"), begin, 5])
    answers = peer.receive()
    found = {answer["id"]: answer for answer in answers}
    assert len(answers) == 5
    assert found[1]["result"]["isError"] is False
    assert found[2]["result"]["isError"] is True
    assert found[3]["result"] == {}
    assert (found[4]["error"]["code"], found[None]["error"]["code"]) == (-32600, -32600)
    peer.send([note])  # nothing to answer
    assert peer.ask("ping")["result"] == {}
    peer.ask("initialize", initialize())


@pytest.mark.parametrize("version", VERSIONS)
def test_versions_without_structure_have_a_second_text(version: str, peer: Peer) -> None:
    peer.ask("initialize", initialize(version))
    result = peer.ask("tools/call", {"name": "compare", "arguments": {"a": "2:1", "b": "2:1"}})["result"]
    texts = [part["text"] for part in result["content"]]
    assert texts[0] == "the same function"
    assert (len(texts) == 2) == (version < "2025-06-18")
    assert json.loads(texts[-1] if len(texts) == 2 else json.dumps(result["structuredContent"]))["same"] is True


def test_a_subscription_is_acknowledged(peer: Peer) -> None:
    params = {"_meta": META, "notifications": {"toolsListChanged": True}}
    peer.send({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params})
    note = peer.receive()
    assert note["method"] == "notifications/subscriptions/acknowledged"
    assert note["params"] == {"_meta": {"io.modelcontextprotocol/subscriptionId": "s"}, "notifications": {}}


def test_the_end_of_input_is_the_end() -> None:
    made = Peer()
    call = {"name": "compare", "arguments": {"a": "(4,8):(8,1)", "b": "(4,8):(1,4)"}, "_meta": META}
    made.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    assert made.receive()["result"]["structuredContent"]["coordinate"] == [1, 0]
    made.process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}')  # the last line does not end
    begun = time.monotonic()
    assert made.end() == 0
    assert time.monotonic() - begun < 20
    assert made.lines.get(timeout=10).startswith(b'{"jsonrpc":"2.0","id":2')


def test_a_client_that_is_gone_is_no_error() -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "relayout", "mcp"]
    lines = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 100
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        os.close(reading)
        assert process.communicate(lines, timeout=30) == (None, b"")
    assert process.returncode == 0


# ---- the tools -------------------------------------------------------------------------------------------


def test_answers_are_those_of_the_library(peer: Peer) -> None:
    crouton = {"text": "htp:R4Crouton", "shape": [1, 9, 9, 40], "dtype": "uint8"}
    found = peer.call("parse", **crouton)["structuredContent"]
    layout = rl.parse("htp:R4Crouton", shape=(1, 9, 9, 40))
    assert (found["kind"], found["room"], found["elements"]) == ("layout", layout.storage_size, layout.size)
    texts = peer.call("translate", text="(4,8):(8,1)")["structuredContent"]
    assert texts["texts"] == rl.rosetta("(4,8):(8,1)").texts
    assert peer.call("translate", text="(4,8):(8,1)", to="torch")["content"][0]["text"].startswith("size=(4, 8)")
    words = rl.explain("nChw16c", (1, 20, 3, 3))
    assert peer.call("explain", text="nChw16c", shape=[1, 20, 3, 3])["content"][0]["text"] == words
    offsets = [[0, 1, 4, 5], [2, 3, 6, 7]]
    inferred = peer.call("infer", offsets=offsets)["structuredContent"]
    assert inferred["layout"]["text"] == str(rl.infer(offsets=offsets).layout)
    dumped = peer.call("infer", reference=[[1, 2], [3, 4]], dump=[1, 3, 2, 4, 0, 0], dtype="int32")
    assert dumped["structuredContent"]["padding"] == 2
    picture = peer.call("draw", texts=["((2,2),(2,2)):((1,4),(2,8))"])["content"][0]["text"]
    assert picture == rl.draw("((2,2),(2,2)):((1,4),(2,8))").text()
    assert peer.call("draw", texts=["2:1", "2:1"], form="svg", difference=True)["content"][0]["text"].startswith("<svg")
    one = peer.call("catalog", words=["htp:R4Crouton"])["structuredContent"]["found"]
    assert [entry["name"] for entry in one] == ["htp:R4Crouton"]
    assert peer.call("parse", text="ggml:Q4_0")["structuredContent"]["kind"] == "record"
    assert peer.call("parse", text="mesh(x=2) deals (x, -)")["structuredContent"]["kind"] == "sharding"


def test_texts_of_the_schemas_are_read() -> None:
    told = tools()["parse"].takes["properties"]["text"]["description"]
    examples = told.partition(": ")[2].removesuffix(".")
    for text in re.split(r", (?![^(<{]*[)>}])", examples):
        assert call_tool("parse", {"text": text}).found["explanation"], text


def test_bytes_are_told_where_the_text_says_the_elements() -> None:
    found = call_tool("parse", {"text": "f32[10,300]{1,0:T(8,128)}"})
    assert found.found["bytes"] == 16 * 384 * 4
    assert "24576 bytes" in found.text
    assert call_tool("parse", {"text": "(4,8):(8,1)"}).found["bytes"] is None


def test_the_catalog_says_how_to_go_on() -> None:
    first = call_tool("catalog", {})
    assert first.text.endswith(f"and {first.found['more']} more: ask again with skip={limits.ROWS}")
    past = call_tool("catalog", {"skip": 100_000})
    assert past.text.startswith(f"there are {first.found['more'] + limits.ROWS}")


def test_the_whole_catalog_comes_in_pages(peer: Peer) -> None:
    names: list[str] = []
    more = 1
    while more:
        page = peer.call("catalog", skip=len(names))["structuredContent"]
        assert len(page["found"]) <= limits.ROWS
        names += [entry["name"] for entry in page["found"]]
        more = page["more"]
    assert names == [*rl.catalog.names(), *rl.catalog.known_records()]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("parse", {"text": "(4,8):(8,"}, "RL001"),
        ("parse", {"text": "nChw16c", "shape": [1, 2]}, "RL002"),
        ("parse", {}, "RL002"),
        ("parse", {"text": None}, "RL002"),
        ("parse", {"text": 3}, "RL002"),
        ("parse", {"text": "2:1", "shapes": [2]}, "RL002"),
        ("parse", {"text": "2:1", "shape": [True]}, "RL002"),
        ("parse", {"text": "2:1", "shape": "2"}, "RL002"),
        ("parse", {"text": "nhwc", "shape": [-1, 1, 1, 1]}, "RL002"),
        ("parse", {"text": "nhwc", "dtype": "float17"}, "RL002"),
        ("translate", {"text": "Sw<3,3,3> o 0 o (64,64):(64,1)", "to": "numpy", "dtype": "int8"}, "RL006"),
        ("translate", {"text": "2:1", "to": "klingon"}, "RL002"),
        ("compare", {"a": "ggml:Q4_0", "b": "2:1"}, "RL002"),
        ("explain", {"text": "RL999"}, "RL015"),
        ("infer", {}, "RL002"),
        ("infer", {"offsets": [[0, 1], [2]]}, "RL002"),
        ("infer", {"offsets": [["/etc/passwd"]]}, "RL002"),
        ("infer", {"offsets": [0, 1], "reference": [1], "dump": [1]}, "RL002"),
        ("infer", {"offsets": [0, 5, 1, 9, 2, 3, 4]}, "RL006"),
        ("infer", {"reference": [1, 2], "dump": [2, 1], "among": ["2:1"]}, "RL009"),
        ("infer", {"reference": [[[[1, 2]]]], "dump": [1, 2], "among": ["nhwc"]}, "RL013"),
        ("infer", {"offsets": [0, 1], "axes": "n"}, "RL002"),
        ("infer", {"reference": [300], "dump": [300], "dtype": "uint8"}, "RL002"),
        ("infer", {"reference": [3, 16], "dump": [16, 3], "dtype": "uint4"}, "RL002"),
        ("infer", {"reference": [1.5, 2], "dump": [2, 1.5], "dtype": "int8"}, "RL002"),
        ("infer", {"reference": [1 << 70, 2], "dump": [2, 1 << 70]}, "RL002"),
        ("draw", {"texts": []}, "RL002"),
        ("draw", {"texts": ["2:1"], "form": "pdf"}, "RL002"),
        ("draw", {"texts": ["2:1"], "difference": True}, "RL002"),
        # limits
        ("parse", {"text": "(" * (limits.TEXT + 1)}, "RL008"),
        ("parse", {"text": "(" * limits.TEXT}, "RL008"),
        ("parse", {"text": "nhwc", "shape": [1] * (limits.RANK + 1)}, "RL008"),
        ("parse", {"text": "nhwc", "shape": [limits.SIZE + 1, 1, 1, 1]}, "RL008"),
        ("infer", {"offsets": list(range(limits.ENTRIES + 1))}, "RL008"),
        ("draw", {"texts": ["2:1"] * (limits.TEXTS + 1)}, "RL008"),
        ("catalog", {"words": ["a"] * 9}, "RL008"),
    ],
)
def test_refusals_have_a_code_and_a_way_out(name: str, arguments: Any, code: str, peer: Peer) -> None:
    result = peer.ask("tools/call", {"name": name, "arguments": arguments, "_meta": META})["result"]
    assert result["isError"] is True
    error = result["structuredContent"]["error"]
    assert (error["code"], bool(error["message"]), bool(error["hint"])) == (code, True, True)
    assert f"[{code}]" in result["content"][0]["text"]


@pytest.mark.parametrize(("name", "argument"), [("catalog", "words"), ("draw", "texts")])
def test_a_text_in_the_place_of_a_list_is_shown_as_one(name: str, argument: str, peer: Peer) -> None:
    result = peer.ask("tools/call", {"name": name, "arguments": {argument: 'a"b'}, "_meta": META})["result"]
    hint = result["structuredContent"]["error"]["hint"]
    assert json.loads(hint.removeprefix("write it as in ")) == ['a"b']


def test_numbers_may_be_written_with_a_point(peer: Peer) -> None:
    found = peer.call("parse", text="nhwc", shape=[1.0, 2, 3, 4], axes=None)
    assert found["structuredContent"]["shape"] == [1, 2, 3, 4]


def test_integers_that_clients_would_round_are_texts() -> None:
    found = call_tool("parse", {"text": "(9007199254740991,2):(1,9007199254740991)"}).found
    assert found["shape"] == [9007199254740991, 2]
    assert found["elements"] == "18014398509481982"
    assert call_tool("compare", {"a": "2:1", "b": f"2:{1 << 60}"}).found["offsets"] == [1, str(1 << 60)]


def test_the_schemas_say_the_limits_that_hold() -> None:
    takes = tools()["parse"].takes["properties"]
    assert takes["text"]["maxLength"] == limits.TEXT
    assert takes["shape"]["maxItems"] == limits.RANK
    exact = call_tool("parse", {"text": "(2):(1)".rjust(limits.TEXT)})
    assert exact.found["kind"] == "layout"


def test_answers_over_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    question = {"name": "draw", "arguments": {"texts": ["(8,8):(8,1)"], "form": "svg"}}
    whole = answer_line(question)
    assert not json.loads(whole)["failed"]
    monkeypatch.setattr(limits, "ANSWER", len(whole) - 1)
    refusal = json.loads(answer_line(question))
    assert (refusal["failed"], refusal["found"]["error"]["code"]) == (True, "RL008")
    picture = call_tool("draw", {"texts": ["(512,512):(512,1)"], "form": "svg"}).text
    assert "chunk" in picture
    assert len(picture) < 1 << 18


def test_lines_up_to_the_limit_are_read() -> None:
    from io import BytesIO

    def told(*lines: bytes) -> list[int | None]:
        return [None if line is None else len(line) for line in read_lines(BytesIO(b"".join(lines)))]

    long = b"a" * limits.LINE
    assert told(long + b"\n", b"b\n", b"\n", b"c") == [limits.LINE + 1, 2, 1]
    assert told(long + b"\r\n", b"b\n") == [limits.LINE + 2, 2]
    assert told(long + b"a\n", b"b\n") == [None, 2]
    assert told(long * 3 + b"\n", b"b\n", long + b"a") == [None, 2, None]


def test_the_page_tells_every_tool_argument_and_limit() -> None:
    page = (Path(__file__).parent.parent / "docs" / "agents.md").read_text("utf-8")
    beside = {"shape", "axes", "dtype"}
    for name, tool in tools().items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert {word for word in tool.takes["properties"] if f"`{word}`" in row} >= {*tool.takes["properties"]} - beside
    units = {limits.LINE: "1 MiB", limits.ANSWER: "512 KiB", limits.MEMORY: "1 GiB", limits.SIZE: "2^63 - 1"}
    units |= {limits.SECONDS: "10 s", limits.GRACE: "a second and a half"}
    for name, value in vars(limits).items():
        if name.isupper():
            assert units.get(value, f"{value:,}") in page, name
    for version in (*VERSIONS, NEWEST):
        assert version in page


# ---- no files, no network, no end ------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize("form", ["{}", "file://{}", "numpy:{}", "cute:@{}", "{}.npy", "'{}'", "gguf:{}"])
def test_texts_that_name_a_file_open_none(form: str, tmp_path: Path, peer: Peer) -> None:
    """Whoever opens a named pipe that nobody writes waits for good."""
    os.mkfifo(tmp_path / "x")
    os.mkfifo(tmp_path / "x.npy")
    text = form.format(tmp_path / "x")
    for name, arguments in (
        ("parse", {"text": text}),
        ("translate", {"text": text}),
        ("compare", {"a": text, "b": text}),
        ("explain", {"text": text}),
        ("draw", {"texts": [text]}),
        ("infer", {"reference": [1], "dump": [1], "among": [text]}),
    ):
        error = peer.call(name, **arguments)["structuredContent"]["error"]
        assert error["code"] in ("RL001", "RL002", "RL006", "RL009", "RL015"), error


HOSTILE = """
import os, socket, sys, urllib.request
from relayout.errors import NotExpressible, ParseError

def render(x, dtype=None):
    raise NotExpressible("hostile writes nothing.", hint="take another")

def parse(text):
    what, _, path = text.strip().removeprefix("hostile:").partition(" ")
    if what == "spin":
        while True:
            pass
    if what == "sleep":
        __import__("time").sleep(3600)
    if what == "memory":
        kept = [bytearray(1 << 26) for _ in range(1000)]
    if what == "crash":
        os._exit(7)
    if what == "bug":
        raise TypeError("mine")
    if what == "print":
        print("not JSON", flush=True)
        os.write(1, b"nor this")
    try:
        if what == "read":
            open(path).read()
        if what == "write":
            open(path, "w").write("x")
        if what == "remove":
            os.remove(path)
        if what == "touch":
            os.utime(path)
        if what == "database":
            import sqlite3
            sqlite3.connect(path)
        if what == "signal":
            os.kill(os.getppid(), 0)
        if what == "run":
            os.system("true")
        if what == "connect":
            socket.create_connection(("127.0.0.1", 9))
        if what == "fetch":
            urllib.request.urlopen("http://127.0.0.1:9/")
    except PermissionError as error:
        raise ParseError(f"refused: {error}", text=text, position=0, hint="no") from None
    raise ParseError("done.", text=text, position=0, hint="no")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Python finds the package below."""
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Iterator[Peer]:
    """A server beside a package whose dialect does what its texts say."""
    about = folder / "hostile-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[relayout.dialects]\nhostile = hostile_dialect\n")
    (folder / "hostile_dialect.py").write_text(HOSTILE)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    made = Peer("--seconds", "2", env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
    yield made
    assert made.end() == 0


def refused(peer: Peer, text: str) -> dict[str, Any]:
    error: dict[str, Any] = peer.call("parse", text=f"hostile:{text}")["structuredContent"]["error"]
    return error


@pytest.mark.parametrize("what", ["spin", "sleep"])
def test_what_takes_too_long_is_ended_and_the_next_works(what: str, hostile: Peer) -> None:
    error = refused(hostile, what)
    assert (error["code"], error["name"]) == ("RL008", "LimitExceeded")
    assert "2 s" in error["message"]
    assert refused(hostile, "nothing")["message"].endswith("done.")


def test_what_needs_too_much_memory_is_refused(hostile: Peer) -> None:
    pytest.importorskip("resource", reason="no limit of memory on this system")
    if sys.platform == "darwin":
        pytest.skip("macOS holds no process to its memory")
    assert refused(hostile, "memory")["code"] == "RL008"


@pytest.mark.parametrize("what", ["crash", "bug"])
def test_a_process_that_ends_is_an_error_of_the_server(what: str, hostile: Peer) -> None:
    params = {"name": "parse", "arguments": {"text": f"hostile:{what}"}, "_meta": META}
    assert hostile.ask("tools/call", params)["error"]["code"] == -32603
    assert refused(hostile, "nothing")["message"].endswith("done.")


def test_a_process_that_does_not_start_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nif '-m' in sys.orig_argv and 'worker' in str(sys.orig_argv): sys.exit(3)\n"
    )
    made = Peer(env={**os.environ, "PYTHONPATH": str(tmp_path)})
    params = {"name": "parse", "arguments": {"text": "2:1"}, "_meta": META}
    for _ in range(2):
        assert made.ask("tools/call", params)["error"]["code"] == -32603
    assert made.end() == 0


def test_modules_are_never_those_of_the_folder(tmp_path: Path) -> None:
    """A client may start the server in a folder of somebody else's."""
    (tmp_path / "numpy.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "json.py").write_text("raise SystemExit(3)\n")
    command = "import sys; sys.path.pop(0); from relayout.cli.main import main; sys.argv = ['relayout', 'mcp']; main()"
    params = {"name": "infer", "arguments": {"offsets": [0, 1]}, "_meta": META}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    with subprocess.Popen(
        [sys.executable, "-c", command], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["structuredContent"]["elements"] == 2
        process.stdin.close()


def test_what_is_printed_does_not_get_between_messages(hostile: Peer) -> None:
    assert refused(hostile, "print")["message"].endswith("done.")


@pytest.mark.parametrize("what", ["read", "write", "remove", "touch", "database", "signal", "run", "connect", "fetch"])
def test_other_packages_are_held_to_no_files_and_no_network(what: str, tmp_path: Path, hostile: Peer) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("kept")
    assert "refused" in refused(hostile, f"{what} {secret}")["message"]
    assert secret.read_text() == "kept"


def test_beside_the_files_of_packages_none_of_their_folders_is_read(hostile: Peer, folder: Path) -> None:
    """A folder of modules, or that of Python, may hold anything else as well, as the home of a project does."""
    for name in (".env", "notes/private.txt", "data/__init__.pyx"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("kept")
        assert "refused" in refused(hostile, f"read {folder / name}")["message"]
    for place in (Path(sys.prefix) / "pyvenv.cfg", Path(sys.base_prefix) / "share" / "x", "/etc/hostname"):
        assert "refused" in refused(hostile, f"read {place}")["message"]
    (folder / "package").mkdir()
    for name in ("__init__.py", "table.json"):
        (folder / "package" / name).write_text("")
        assert refused(hostile, f"read {folder / 'package' / name}")["message"].endswith("done.")
    assert "refused" in refused(hostile, f"write {folder / 'package' / 'table.json'}")["message"]
    assert "refused" in refused(hostile, f"read {folder / 'package' / '..' / '.env'}")["message"]


def test_calls_are_cancelled(hostile: Peer) -> None:
    """One that is computed, and one that waits for its turn; neither is answered, and a third is."""
    for id, text in (("a", "spin"), ("b", "spin"), ("c", "nothing")):
        params = {"name": "parse", "arguments": {"text": f"hostile:{text}"}, "_meta": META}
        hostile.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    twice = {"name": "parse", "arguments": {"text": "2:1"}, "_meta": META}
    hostile.send({"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": twice})
    assert hostile.receive()["error"]["code"] == -32600  # that id is under way
    for id in ("b", "a"):
        hostile.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
    assert hostile.receive()["id"] == "c"
    assert refused(hostile, "nothing")["message"].endswith("done.")


def test_too_many_calls_are_refused_at_once(hostile: Peer) -> None:
    many = limits.WAITING + 5
    spin = {"name": "parse", "arguments": {"text": "hostile:sleep"}, "_meta": META}
    hostile.send(*[{"jsonrpc": "2.0", "id": k, "method": "tools/call", "params": spin} for k in range(many)])
    early = hostile.receive()
    assert early["id"] > limits.WAITING - 1
    assert early["result"]["structuredContent"]["error"]["code"] == "RL008"
    for k in reversed(range(many)):
        hostile.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": k}})
    hostile.send({"jsonrpc": "2.0", "id": "last", "method": "ping", "params": {}})
    while (answer := hostile.receive())["id"] != "last":
        assert answer["result"]["isError"] is True


def test_the_process_that_computes_ends_with_the_server(hostile: Peer) -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("processes are looked up in /proc")
    made = Peer("--seconds", "300")
    try:
        assert made.ask("ping")["result"] == {}
        task = Path(f"/proc/{made.process.pid}/task")
        children = " ".join([(thread / "children").read_text() for thread in task.iterdir()]).split()
        assert len(children) == 1
    finally:
        made.process.kill()
        made.end()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{children[0]}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{children[0]}").exists()
