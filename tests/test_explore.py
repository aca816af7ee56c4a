"""The explorer: whom its server answers, and that its one question is answered whatever is asked."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl
from clock import LOOPS_PER_SECOND, loops_of
from relayout import catalog
from relayout.dialects.read import dialects_reading
from relayout.drawing.drawing import Drawing
from relayout.web.handle import handle
from relayout.web.presets import PRESETS
from relayout.web.server import BODY_LIMIT, LINES, Explorer
from relayout.web.state import TEXT_LIMIT, State, example_shape
from relayout.web.view import BINARY, CELLS, UNARY, picture_of


def view(**state: str) -> dict[str, Any]:
    return handle({"ask": "view", "state": state})


def texts(answer: dict[str, Any], pane: int = 0) -> list[str]:
    return answer["data"]["panes"][pane]["grids"][0]["texts"]


# ---- the one question ------------------------------------------------------------------------------------


def test_a_view_has_the_picture_and_the_notations_found() -> None:
    answer = view(a="(3,4):(4,1)")
    assert texts(answer) == [str(4 * r + c) for r in range(3) for c in range(4)]
    assert answer["figures"].count("<figure") == 1
    assert set(answer["notations"]["a"]) == {"mojo", "cute"}
    assert answer["subjects"][0]["shape"] == ["3", "4"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Layout { shape: [3, 4], stride: [4, 1], start_offset: 0 }", "candle"),
        ("nChw8c", "onednn"),
        ("cute:(3,4):(4,1)", "cute"),
        ("htp:R4Crouton", "catalog"),
        ("kCHW32", "catalog"),
        ("memref<3x4xf32>", "mlir"),
    ],
)
def test_the_notation_of_a_text_is_found(text: str, found: str) -> None:
    assert found in dialects_reading(text)


def test_a_format_without_a_shape_is_drawn_for_an_example() -> None:
    answer = view(a="nChw8c")
    assert answer["subjects"][0]["example"]
    assert not view(a="nChw8c", shape="1,16,4,4")["subjects"][0]["example"]


def test_every_name_of_the_catalog_is_drawn_as_it_is_offered() -> None:
    offered = handle({"ask": "start"})["catalog"]
    assert [entry["name"] for entry in offered] == [*catalog.names(), *catalog.known_records()]
    assert {entry["dtype"] for entry in offered} == {"", "float16"}, (
        "the width that most data have, where one is needed"
    )
    for entry in offered:
        answer = view(a=entry["name"], shape=entry["shape"], dtype=entry["dtype"])
        assert "error" not in answer, (entry, answer)


def test_an_example_shape_has_whole_blocks() -> None:
    assert example_shape(rl.Format(2, [(0, 0), (1, 0), (0, 8), (1, 4)])) == (16, 8)
    fmt = rl.catalog.get("htp:R4Crouton")
    assert example_shape(fmt) == (1, 8, 8, 32)


@pytest.mark.parametrize("name", PRESETS)
def test_every_example_is_drawn_told_and_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = PRESETS[name]
    assert view(**state)["data"]["panes"]
    assert handle({"ask": "facts", "state": state})["facts"]
    for form in ("text", "svg", "html", "tikz"):
        assert handle({"ask": "copy", "form": form, "state": state})["text"]
    code = handle({"ask": "copy", "form": "python", "state": state})["text"]
    pictures: list[str] = []
    monkeypatch.setattr(Drawing, "save", lambda self, path: pictures.append(self.svg()))
    exec(code, {"print": lambda *words: None})
    if state.get("do") != "compare":  # what is printed over a verdict's picture are layouts, not texts
        assert pictures == [handle({"ask": "copy", "form": "svg", "state": state})["text"]]


@pytest.mark.parametrize("more", [{}, {"whole": "1"}, {"strides": "1", "dtype": "float32"}, {"at": "0:1", "rows": "1"}])
def test_the_lines_of_a_comparison_draw_what_the_page_shows(more: dict[str, str], monkeypatch: Any) -> None:
    state = {"a": "Sw<2,3,3> o 0 o (2,32,32):(1024,32,1)", "b": "(2,32,32):(1024,32,1)", "do": "compare", **more}
    code = handle({"ask": "copy", "form": "python", "state": state})["text"]
    pictures: list[Drawing] = []
    monkeypatch.setattr(Drawing, "save", lambda self, path: pictures.append(self))
    exec(code, {"print": lambda *words: None})
    (mine, page) = [x.scene() for x in (*pictures, picture_of(State(**state)).drawing)]
    assert [(pane.rows, pane.columns, pane.grids) for pane in mine.panes] == [
        (pane.rows, pane.columns, pane.grids) for pane in page.panes
    ]
    assert mine.legend == page.legend
    assert view(**state)["part"] == ("whole" not in more)


def test_an_instruction_is_drawn_and_told_by_its_name() -> None:
    answer = view(a=" v_mfma_f32_32x32x8f16 ")
    assert answer["subjects"][0]["layout"] == "32x32x8 on 64 threads, since gfx908"
    assert len(answer["data"]["panes"]) == 3
    (sheet,) = handle({"ask": "facts", "state": {"a": "v_mfma_f32_4x4x4_16b_f16"}})["facts"]
    assert ("blocks", "16") in sheet["ledger"]
    assert "C and D (f32 4 x 4 x 16): m = v, n = t%4, b = t//4." in sheet["words"]
    assert [row["notation"] for row in sheet["rosetta"]] == [*"DABC"]
    error = handle({"ask": "view", "state": {"a": "v_mfma_f32_32x32x8_f8"}})["error"]
    assert (error["field"], error["name"]) == ("a", "UnknownName")
    assert "v_mfma_f32_32x32x8_f16" in error["hint"]


def test_the_verdict_has_the_coordinate_where_layouts_differ() -> None:
    verdict = view(a="(3,4):(4,1)", b="(3,4):(1,3)", do="compare")["verdict"]
    assert verdict == {"same": False, "words": "different at (1, 0): 4 and 1", "coordinate": ["1", "0"]}
    assert view(a="nChw8c", b="NCHW8c", do="compare", shape="1,20,3,3")["verdict"]["same"]


def test_formats_are_compared_by_the_names_of_their_axes() -> None:
    answer = view(a="torch:channels_last", b="htp:R4Flat", do="compare", shape="1,3,4,5")
    assert answer["verdict"]["same"]


@pytest.mark.parametrize("name", [*BINARY, *UNARY])
def test_every_operation_is_drawn_with_its_result(name: str) -> None:
    a, b = rl.Layout((4, 2), (1, 4)), rl.Layout((2, 2), (1, 2))
    answer = view(a="(4,2):(1,4)", b="(2,2):(1,2)", do=name)
    expected = getattr(rl, name)(a, b) if name in BINARY else getattr(rl, name)(a)
    assert answer["subjects"][0] == {**answer["subjects"][0], "label": "result", "layout": str(expected)}
    assert str(expected) in answer["data"]["panes"][-1]["title"]


def test_a_composition_that_is_no_layout_is_drawn_with_the_reason() -> None:
    answer = view(a="(6,2):(1,7)", b="(3,2):(2,3)", do="composition")
    assert "at (2, 1) the composition is 8" in answer["refusal"]
    assert texts(answer, 2)[5] == "8"


def test_banks_are_drawn_and_told() -> None:
    state = {"a": "(32,32):(32,1)", "b": "(32,1):(1,0)", "do": "banks", "dtype": "float32"}
    answer = view(**state)
    assert answer["verdict"]["same"] is False
    assert answer["verdict"]["words"] == str(rl.banks("(32,32):(32,1)", "(32,1):(1,0)", "float32", "ld.shared.b32"))
    assert [text for text in texts(answer) if text] == [f"T{lane}" for lane in range(32)]
    assert view(**{**state, "a": "(32,32):(33,1)"})["verdict"]["same"] is True
    assert "on gfx942" in view(**state, arch="gfx942")["verdict"]["words"]
    wrong = {"dtype": "", "b": "", "arch": "sm91", "access": "ld.shared.b33", "a": "(32,"}
    for field, text in wrong.items():
        assert view(**{**state, field: text})["error"]["field"] == field
    lines = handle({"ask": "copy", "form": "python", "state": state})["text"]
    made: dict[str, Any] = {}
    exec("\n".join(lines.splitlines()[:3]), made)
    assert made["found"].wavefronts == 32
    fmt = {**state, "a": "0 1 / 0,8", "shape": "32,32"}
    assert "rl.Layout(" in handle({"ask": "copy", "form": "python", "state": fmt})["text"]
    offers = handle({"ask": "start"})
    assert {"sm90", "gfx942"} <= set(offers["archs"])
    assert {"ldmatrix.x4", "ds_read_b128"} <= set(offers["accesses"])


def test_code_is_told_or_why_there_is_none() -> None:
    state = {"a": "nhwc", "b": "htp:R4Crouton", "do": "code", "dtype": "uint8", "axes": "nhwc"}
    text = rl.code("nhwc", "htp:R4Crouton", "uint8", axes="nhwc")
    assert handle({"ask": "code", "state": state}) == {"text": text, "reason": ""}
    lines = handle({"ask": "copy", "form": "python", "state": {**state, "shape": "1,3,4,5"}})["text"]
    assert lines.endswith("print(rl.code('nhwc', 'htp:R4Crouton', 'uint8', shape=(1, 3, 4, 5), axes='nhwc'))\n")
    assert "_offset(" in handle({"ask": "code", "state": {"a": "(3,4):(4,1)"}})["text"]
    shared = {"a": "(2,2):(1,1)", "b": "(2,2):(1,1)", "dtype": "int8"}
    assert "same place" in handle({"ask": "code", "state": shared})["reason"]
    for field, other in (("dtype", {"dtype": ""}), ("target", {"target": "cobol"}), ("b", {"b": "(("})):
        assert handle({"ask": "code", "state": {**state, **other}})["error"]["field"] == field


def test_an_error_names_the_field_and_the_place() -> None:
    error = view(a="(3,4):(4,1)", b="(3,4:(1", do="compare")["error"]
    assert (error["field"], error["text"], error["position"]) == ("b", "(3,4:(1", 4)
    assert view(a="nChw8c", shape="1,2")["error"]["field"] == "shape"
    assert view(a="nChw8c", axes="abcd")["error"]["field"] == "axes"
    for axes in ("a", "abc", "aa", "<b"):
        assert view(a="(3,4):(4,1)", axes=axes)["error"]["field"] == "axes"
    assert view(a="nChw8c", dtype="float17")["error"]["field"] == "dtype"
    assert view(a="(3,4):(4,1)", do="threads")["error"]["field"] == "tile"
    assert view(a="(3,4):(4,1)", width="many")["error"]["field"] == "width"
    assert view(a="")["error"]["field"] == "a"
    assert "the element type" in view(a="htp:Crouton")["error"]["hint"]


@pytest.mark.parametrize(
    ("state", "running"),
    [
        ({"a": "htp:R4Crouton", "shape": "1,10,13,32"}, (1, 2)),  # two croutons along h and w, one along c
        ({"a": "htp:R4Crouton", "shape": "1,8,8,32"}, (2, 3)),
        ({"a": "nChw8c", "b": "nhwc", "do": "compare", "shape": "1,16,4,4"}, (1, 3)),
        ({"a": "nhwc", "b": "nChw8c", "do": "beside", "shape": "1,16,4,4", "at": "1:3"}, (2, 3)),
    ],
)
def test_dimensions_with_several_blocks_are_drawn(state: dict[str, str], running: tuple[int, int]) -> None:
    for pane in view(**state)["data"]["panes"]:
        assert (pane["rows"]["dim"], pane["columns"]["dim"]) == running


def test_slices_that_find_no_room_are_asked_for_one_by_one() -> None:
    answer = view(a="(300,64,64):(4096,64,1)")
    assert answer["sliders"] == [{"dim": 0, "name": "0", "extent": "300", "value": "0"}]
    assert len(answer["data"]["panes"][0]["grids"]) == 1
    shown = view(a="(300,64,64):(4096,64,1)", at="0:299")
    assert texts(shown)[0] == str(299 * 4096)
    assert shown["sliders"][0]["value"] == "299"
    assert not view(a="(3,4,5):(20,5,1)")["sliders"]
    assert not view(a="(0,3,5):(20,5,1)")["sliders"]


@pytest.mark.parametrize("at", ["0:300", "zz", "0:-3", "0:1e+20", "0:", f"0:{'9' * 4000}", "0:\u0663"])
def test_a_slice_that_is_not_there_is_the_first(at: str) -> None:
    answer = view(a="(300,64,64):(4096,64,1)", at=at)
    assert answer["sliders"][0]["value"] == "0"
    assert (texts(answer)[0], len(answer["data"]["panes"][0]["grids"])) == ("0", 1)


def test_a_slice_past_2_53_is_exact() -> None:
    answer = view(a="(100000000000000000000,64,64):(4096,64,1)", at="0:90000000000000000001")
    assert answer["data"]["panes"][0]["grids"][0]["fixed"] == ["90000000000000000001", None, None]
    assert texts(answer)[0] == str(90000000000000000001 * 4096)


def test_dimensions_that_a_layout_does_not_have_are_left_out() -> None:
    assert texts(view(a="(3,4):(4,1)", rows="3", columns="2", at="5:1,0:9")) == texts(view(a="(3,4):(4,1)"))
    turned = view(a="(3,4):(4,1)", rows="1")
    assert texts(turned) == [str(4 * r + c) for c in range(4) for r in range(3)]


def test_the_ledger_counts_what_is_wasted() -> None:
    facts = handle({"ask": "facts", "state": {"a": "htp:R4Crouton", "shape": "1,10,13,32", "dtype": "uint8"}})
    ledger = dict(facts["facts"][0]["ledger"])
    assert (ledger["elements"], ledger["room"], ledger["bytes"]) == ("4160", "8192", "8192")
    assert ledger["waste"] == f"{(8192 - 4160) / 8192:.1%}"
    rows = {row["notation"]: row for row in facts["facts"][0]["rosetta"]}
    assert rows["htp"]["text"].startswith("ChunkedMemoryLayout")
    assert rows["candle"]["text"] is None
    assert rows["candle"]["reason"]


def test_too_much_is_refused() -> None:
    assert view(a="x" * (TEXT_LIMIT + 1))["error"]["name"] == "LimitExceeded"
    assert "error" in view(a=f"({'9' * 4000},{'9' * 4000}):(1,2)")
    twos, powers = ",".join(["2"] * 40), ",".join([str(3**k) for k in range(40)])
    assert "40 dimensions" in view(a=f"({twos}):({powers})")["error"]["message"]
    flat = view(a=f"(({twos}),1):(({powers}),0)", do="coalesce")
    assert "40 dimensions" in flat["error"]["message"]
    answer = view(a="(100000,100000):(100000,1)")
    assert sum(len(grid["texts"]) for grid in answer["data"]["panes"][0]["grids"]) <= CELLS


# ---- whatever is asked -----------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=8), inside, max_size=4),
    max_leaves=10,
)
PIECES = st.sampled_from(
    [
        *["(8,8):(8,1)", "((2,2),(2,2)):((1,4),(2,8))", "nChw8c", "htp:R4Crouton", "Sw<3,0,3> o 0 o (8,8):(8,1)"],
        *["(0,3):(3,1)", "(4,4):(0,-1)", "(", "):", "1,16,4,4", "16,16", "0", "_", "x", "-1", "<2:1, _>", "float16"],
        *[
            "memref<3x4xf32>",
            "<b>",
            "E<img src=x>",
            "(3,3):(E0,E1)",
            "1:0",
            "()",
            "((((",
            "9" * 30,
            "nchw",
            "\x00",
            "\ud800",
            "both",
            "memory",
            "1",
        ],
        *BINARY,
        *UNARY,
        *["compare", "beside", "threads", "look", "banks", "code", "c", "sm90", "gfx942", "ld.shared.b32", "float16"],
    ]
)
STATES = st.fixed_dictionaries({}, optional=dict.fromkeys(State.__dataclass_fields__, PIECES))


OUR_TAGS = {
    *["svg", "defs", "pattern", "path", "rect", "g", "text", "canvas", "figure", "figcaption", "span", "div"],
    *["p", "br", "ul", "li"],
}


def answered(request: Any) -> dict[str, Any]:
    """The answer, as it is after its way to the page; it took less than a few seconds."""
    told: list[str] = []
    assert loops_of(lambda: told.append(json.dumps(handle(request)))) < 5 * LOOPS_PER_SECOND
    answer = json.loads(told[0])
    if "error" in answer:
        assert {"code", "message", "hint", "field"} <= answer["error"].keys()
    assert {*re.findall(r"<(\w+)", answer.get("figures", ""))} <= OUR_TAGS
    return answer


@given(ANYTHING)
def test_anything_is_answered(request: Any) -> None:
    assert "error" in answered(request)


@given(st.dictionaries(st.sampled_from(["ask", "state", "form"]), ANYTHING))
def test_anything_in_a_question_is_answered(request: Any) -> None:
    answered(request)


@given(
    st.sampled_from(["view", "facts", "copy", "code"]),
    STATES,
    st.sampled_from(["text", "html", "svg", "tikz", "python"]),
)
def test_every_state_is_answered(ask: str, state: dict[str, str], form: str) -> None:
    answered({"ask": ask, "state": state, "form": form})


@given(st.text("(),:0123456789_ <>oSw[]{}", max_size=40), st.text("0123456789,x-", max_size=12))
def test_almost_layouts_are_answered(text: str, shape: str) -> None:
    answered({"ask": "view", "state": {"a": text, "shape": shape}})


# ---- whom the server answers -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Explorer]:
    with Explorer() as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def sent(
    server: Explorer, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    words = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, words)
    response = connection.getresponse()
    found = response.status, dict(response.getheaders()), response.read()
    connection.close()
    return found


JSON = {"Content_Type": "application/json"}


def asked(server: Explorer, body: Any, **headers: str) -> int:
    return sent(server, "POST", f"/{server.token}/handle", body, **{**JSON, **headers})[0]


def test_the_page_and_its_files_are_served(server: Explorer) -> None:
    status, headers, page = sent(server, "GET", f"/{server.token}/")
    assert status == 200
    assert b"relayout" in page
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    for path in ("assets/explore.js", "picture/picture.js", "picture/picture.css", "picture/colours.css"):
        assert sent(server, "GET", f"/{server.token}/{path}")[0] == 200


def test_the_policy_lets_nothing_in_from_outside(server: Explorer) -> None:
    policy = sent(server, "GET", f"/{server.token}/")[1]["Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy


def test_a_question_is_answered(server: Explorer) -> None:
    body = json.dumps({"ask": "view", "state": {"a": "(2,2):(2,1)"}})
    status, headers, answer = sent(server, "POST", f"/{server.token}/handle", body, **JSON)
    assert status == 200
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    assert json.loads(answer)["data"]["panes"][0]["grids"][0]["texts"] == ["0", "1", "2", "3"]


def test_it_listens_on_this_machine_only(server: Explorer) -> None:
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:PORT",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:PORT",
        "",
        "localhost.:PORT",
        "0.0.0.0:PORT",
    ],
)
def test_foreign_hosts_are_refused(server: Explorer, host: str) -> None:
    host = host.replace("PORT", str(server.server_port))
    assert sent(server, "GET", f"/{server.token}/", Host=host)[0] == 403
    assert asked(server, "{}", Host=host) == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_foreign_origins_are_refused(server: Explorer, origin: str) -> None:
    assert asked(server, "{}", Origin=origin) == 403


def spoken(server: Explorer, *words: str, body: str = "") -> bytes:
    """The whole answer to lines as they are, until the server hangs up."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        line.sendall(("\r\n".join(words) + "\r\n\r\n" + body).encode("latin-1"))
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(4096), b""))


def test_a_second_host_origin_or_length_is_refused(server: Explorer) -> None:
    port, post = server.server_port, f"POST /{server.token}/handle HTTP/1.1"
    own, kind = f"Host: 127.0.0.1:{port}", "Content-Type: application/json"
    assert b" 403 " in spoken(server, post, own, "Host: evil.example", kind, "Content-Length: 2", body="{}")
    mine, other = f"Origin: http://127.0.0.1:{port}", "Origin: http://evil.example"
    assert b" 403 " in spoken(server, post, own, mine, other, kind, "Content-Length: 2", body="{}")
    assert b" 411 " in spoken(server, post, own, kind, "Content-Length: 2", "Content-Length: 50", body="{}")
    assert b" 200 " in spoken(server, post, own, mine, kind, "Content-Length: 2", body="{}")


def test_what_follows_a_request_without_a_body_is_no_request(server: Explorer) -> None:
    hidden = f"GET /{server.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n"
    words = f"GET /{server.token}/ HTTP/1.1", f"Host: 127.0.0.1:{server.server_port}", f"Content-Length: {len(hidden)}"
    answer = spoken(server, *words, body=hidden)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("words", ["<b> x y z", "GET / HTTP/9.9", "GET " + "x" * 70000 + " HTTP/1.1"])
def test_what_is_no_request_is_refused_like_all_else(server: Explorer, words: str) -> None:
    answer = spoken(server, words)
    assert b"Content-Security-Policy: default-src 'none'" in answer
    assert b"text/plain" in answer


def test_its_own_origin_is_answered(server: Explorer) -> None:
    assert asked(server, "{}", Origin=f"http://127.0.0.1:{server.server_port}") == 200
    assert asked(server, "{}", Host=f"localhost:{server.server_port}") == 200


@pytest.mark.parametrize("token", ["", "wrong", "../", "%00", "\xe9"])
def test_wrong_tokens_are_refused(server: Explorer, token: str) -> None:
    path = f"/{token}/handle".encode("latin-1").decode("latin-1")
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n"
        line.sendall(head.encode("latin-1"))
        assert b" 403 " in line.recv(64)


def test_no_token_is_refused(server: Explorer) -> None:
    for path in ("/", "/handle", "/assets/explore.js", f"/{server.token}", f"/{server.token[:-1]}/"):
        assert sent(server, "GET", path)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "../server.py",
        "assets/../../server.py",
        "assets/%2e%2e/server.py",
        "/etc/passwd",
        "assets/",
        "assets",
        "picture",
    ],
)
def test_nothing_but_its_files_is_served(server: Explorer, path: str) -> None:
    assert sent(server, "GET", f"/{server.token}/{path}")[0] == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"])
def test_other_methods_are_refused(server: Explorer, method: str) -> None:
    assert sent(server, method, f"/{server.token}/handle")[0] == 405


def test_bodies_must_be_short_whole_json(server: Explorer) -> None:
    assert asked(server, "{") == 400
    assert asked(server, "[" * 20000) == 400
    assert asked(server, b"\xff\xfe\x00") == 400
    assert asked(server, "", Content_Length=str(BODY_LIMIT + 1)) == 413
    assert asked(server, "", Content_Length="99999999999999999999") == 413
    assert asked(server, "", Content_Length="-1") == 411
    assert asked(server, "", Content_Length="1_0") == 411
    assert asked(server, "{}", Content_Type="text/plain") == 415
    assert asked(server, "{}", Transfer_Encoding="chunked") == 411
    assert sent(server, "POST", f"/{server.token}/", "{}", **JSON)[0] == 405
    assert sent(server, "POST", f"/{server.token}/other", "{}", **JSON)[0] == 404


def test_a_body_that_ends_early_is_refused(server: Explorer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        head = f"POST /{server.token}/handle HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
        line.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{{}}".encode())
        line.shutdown(socket.SHUT_WR)
        assert b" 400 " in line.recv(64)


def test_a_line_that_says_nothing_is_dropped(server: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.RequestHandlerClass, "timeout", 0.3)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        line.sendall(b"GET / HT")
        assert line.recv(64) == b""


def test_a_line_that_says_little_is_dropped(server: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.RequestHandlerClass, "timeout", 0.6)
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        line.settimeout(0.2)
        while time.monotonic() - start < 60:
            try:
                line.sendall(b"G")
                assert line.recv(64) == b""
                break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("the line is kept")


def test_there_are_only_so_many_lines() -> None:
    with Explorer() as server, ExitStack() as lines:
        Thread(target=server.serve_forever, daemon=True).start()
        where = "127.0.0.1", server.server_port
        for _ in range(LINES):
            line = lines.enter_context(closing(HTTPConnection(*where, timeout=20)))
            line.request("GET", f"/{server.token}/")
            assert line.getresponse().read()
        with socket.create_connection(where, timeout=5) as more:
            assert more.recv(64) == b""
        lines.close()
        wait_until(lambda: answers(server))
        server.shutdown()


def test_whoever_has_no_token_blocks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relayout.web.server._Request.timeout", 600.0)
    with Explorer() as server, ExitStack() as lines:
        Thread(target=server.serve_forever, daemon=True).start()
        where = "127.0.0.1", server.server_port
        slow = [lines.enter_context(socket.create_connection(where, timeout=20)) for _ in range(LINES)]
        for line in slow:
            line.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(3):
            assert answers(server)
        assert slow[0].recv(64) == b""
        lines.close()
        server.shutdown()


def answers(server: Explorer) -> bool:
    try:
        return sent(server, "GET", f"/{server.token}/")[0] == 200
    except OSError:
        return False


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_mistake_of_the_library_is_told_to_both(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: told.append(kind))

    def mistaken(question: Any) -> dict[str, Any]:
        raise ZeroDivisionError

    with Explorer(answer=mistaken) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        assert asked(server, "{}") == 500
        server.shutdown()
    assert told == [ZeroDivisionError]


# ---- the command -----------------------------------------------------------------------------------------


def test_the_command_says_where_it_is_and_ends_quietly() -> None:
    import signal

    words = [sys.executable, "-m", "relayout", "explore", "(3,4):(4,1)", "--shape", "3,4", "--no-browser"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        url = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        assert url.endswith("#a=%283%2C4%29%3A%284%2C1%29&shape=3%2C4")
        connection = HTTPConnection(url.split("/")[2], timeout=20)
        connection.request("GET", "/" + url.split("/", 3)[3].partition("#")[0])
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.strip()) == (0, "", "")


def test_a_browser_that_is_waited_for_sees_the_page(tmp_path: Path) -> None:
    import signal

    script, seen = tmp_path / "browser.py", tmp_path / "seen"
    script.write_text(
        "import sys, urllib.request\n"
        "page = urllib.request.urlopen(sys.argv[1].partition('#')[0], timeout=10).read()\n"
        "open(sys.argv[2], 'wb').write(page)\n"
    )
    words = [sys.executable, "-m", "relayout", "explore"]
    browser = {**os.environ, "BROWSER": f"{sys.executable} {script} %s {seen}"}
    with subprocess.Popen(words, env=browser, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: seen.exists() and b"</html>" in seen.read_bytes())
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_a_port_that_is_taken_is_refused(server: Explorer) -> None:
    words = [sys.executable, "-m", "relayout", "explore", "--no-browser", "--port", str(server.server_port)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == 2
    assert f"the port {server.server_port} is not free" in ended.stderr


def test_a_link_of_before_shows_the_same() -> None:
    from relayout.cli.explore import _fragment

    for home in ("http://127.0.0.1:4321/abc/", "https://docs.example/explorer/index.html"):
        assert _fragment(f"{home}#a=nChw8c&pin=0%3A0%2C1", None, None, None) == "#a=nChw8c&pin=0%3A0%2C1"
    assert _fragment(None, None, None, None) == ""
