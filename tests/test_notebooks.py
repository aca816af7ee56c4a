"""What notebooks show: tables that stand alone, escaped and stored once; and the example notebook, run for real."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout.auditing.audit import audit
from relayout.drawing.notebook_tables import table_html

EXAMPLE = Path(__file__).parent.parent / "examples" / "layouts.ipynb"
HLO = "HloModule m\nENTRY main {\n  p = f32[64,32]{1,0} parameter(0)\n  ROOT a = f32[64,32]{0,1} copy(p)\n}\n"
HOSTILE = """<script>alert(1)</script>&"'<img src=x onerror=alert(1)>"""


class Tables(HTMLParser):
    """The rows of every table, and every tag; that all are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        assert not [name for name, _ in attributes if name.startswith("on") or name in ("href", "src")]
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif "style" not in self.open:
            self.text += data


def shown(x: Any) -> Tables:
    html = x._repr_html_()
    assert "http" not in html.replace("http://www.w3.org/2000/svg", ""), "it needs nothing from elsewhere"
    assert "url(" not in html.replace("url(#", "")
    return Tables(html)


def test_rosetta_is_a_table_of_notations() -> None:
    x = rl.rosetta("(4,8):(8,1)")
    rows = shown(x).rows
    assert rows[0] == ["notation", "text"]
    assert [name for name, _ in rows[1:]] == list(x)
    assert {name: text for name, text in rows[1:] if name in x.texts} == x.texts
    assert dict(rows[1:])["numpy"].startswith("its strides count bytes")
    assert repr(x).startswith("<rosetta of")


def test_an_inference_is_a_table_of_facts() -> None:
    x = rl.infer(offsets=[[0, 1, 4, 5], [2, 3, 6, 7]])
    assert dict(shown(x).rows) == {"layout": str(x.layout), "format": str(x.format), "elements": "8"}
    open_ends = rl.infer(np.zeros((3, 4), np.uint8), np.zeros(12, np.uint8))
    assert [row[0] for row in shown(open_ends).rows].count("or") == len(open_ends.others) > 0


def test_an_audit_is_its_tables() -> None:
    x = rl.audit(HLO)
    found = shown(x)
    assert found.rows[0][:3] == ["line", "from", "to"]
    assert found.rows[1][:3] == ["4", "f32[64,32]{1,0}", "f32[64,32]{0,1}"]
    assert "1 move writes 8.0 KiB" in found.text
    assert len(repr(x)) < 200


def test_accesses_are_tables_with_the_picture_of_the_worst() -> None:
    tile = rl.Layout.row_major(32, 32)
    x = rl.banks(tile, "columns", "float32", "ld.shared.b32")
    found = shown(x)
    assert dict(found.rows)["wavefronts"] == "1024"
    assert "bank 0 has 32 words" in dict(found.rows)["worst"]
    assert "svg" in found.tags
    assert not hasattr(x, "_repr_svg_"), "the picture would be stored twice"
    assert "worst" not in dict(shown(rl.banks(tile, "rows", "float32", "ld.shared.b32")).rows)
    assert dict(shown(rl.sectors(tile, "rows", "float32")).rows)["efficiency"] == "100.0%"
    advice = rl.advise((32, 32), "float32", [("st.shared.b32", "rows"), ("ld.shared.b32", "columns")])
    assert ["st.shared.b32", "1", "32", "32"] in shown(advice).rows


def test_entries_of_the_catalog_are_tables() -> None:
    entry = rl.catalog.entry("htp:R4Crouton")
    facts = dict(shown(entry).rows)
    assert (facts["name"], facts["axes"], facts["source"]) == ("htp:R4Crouton", "nhwc", entry.provenance)
    record = rl.catalog.known_records()["ggml:Q4_0"]
    assert dict(shown(record).rows)["record"] == str(record.record)
    rows = shown(rl.catalog.ENTRIES).rows
    assert [row[0] for row in rows[1:]] == list(rl.catalog.ENTRIES)
    assert repr(rl.catalog.ENTRIES) == f"<{len(rl.catalog.ENTRIES)} named formats>"


def test_verdicts_without_a_picture_are_words() -> None:
    same = rl.compare("nChw8c", "aBcd8b")
    assert shown(same).text == str(same) == "the same function for every shape"
    assert rl.compare("nChw8c", "nhwc")._repr_html_() is None  # has a picture
    text = "mesh(x=2) deals (x, -)", "mesh(x=2) deals (-, x)"
    assert shown(rl.compare(*text, shape=(4, 4))).text.startswith("different: device 0")
    assert dict(shown(rl.resolve("nChw16c", shape=(1, 20, 3, 3))).rows)["axes"] == "nchw"
    assert dict(shown(rl.resolve("f32[8,128]{1,0}")).rows)["element"] == "float32"


def test_files_and_what_became_of_them_are_tables(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(24, dtype=np.float32).reshape(4, 6))
    report = rl.repack_file(tmp_path / "a.npy", tmp_path / "b.npy", to="1 0")
    assert shown(report).rows[1][:3] == ["a", "float32 [4, 6]", "float32 [4, 6] format:1 0"]
    with rl.open(tmp_path / "b.npy") as file:
        assert shown(file).rows[1] == ["b", "float32", "4 x 6", "96 bytes", "((4, 6):(1, 4))"]
    assert shown(rl.verify(tmp_path / "a.npy", tmp_path / "b.npy")).text == "the same: 1 tensor, 96 bytes"


def test_texts_of_several_lines_are_shown_as_such() -> None:
    for text in (
        rl.explain("nChw16c"),
        rl.code("(4,3):(1,4)", name="at"),
        rl.plan("(4,8):(8,1)", "(4,8):(1,4)", "float32").explain(),
    ):
        assert isinstance(text, str)
        assert Tables(text._repr_html_()).text == text  # type: ignore[attr-defined]
        assert repr(text) == repr(str.__str__(text))
        assert json.loads(json.dumps(text)) == text
    assert "4 x 8" in Tables(rl.plan("(4,8):(8,1)", "(4,8):(1,4)", "float32")._repr_html_()).text


def test_a_frame_is_stored_once() -> None:
    frame = rl.draw("(64,64):(64,1)").frame(300)
    assert re.fullmatch(r"<page of \d+ bytes, 300 pixels high>", repr(frame))
    assert len(frame._repr_html_()) > 100_000


def test_what_tables_hold_is_escaped() -> None:
    found = Tables(table_html([(HOSTILE, HOSTILE)], (HOSTILE, "x"), HOSTILE, HOSTILE))
    assert found.rows == [[HOSTILE, "x"], [HOSTILE, HOSTILE]]
    assert found.text == HOSTILE * 2
    assert not found.tags & {"script", "img"}
    entry = rl.catalog.Entry("mine:x", HOSTILE, {None: rl.Format(1, ((0, 0),))}, HOSTILE)
    assert dict(shown(entry).rows)["source"] == HOSTILE
    named = HLO.replace("  p =", f"  {HOSTILE} =").replace("main", "<b>main</b>")
    assert not shown(audit(named)).tags & {"script", "img", "b"}
    wild = rl.infer(np.array([1, 2]), np.array([1, 2]))._replace(related=(HOSTILE,))
    assert dict(shown(wild).rows)["is"] == HOSTILE


def test_the_example_holds_no_outputs() -> None:
    cells = json.loads(EXAMPLE.read_text("utf-8"))["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


def test_the_example_runs_and_shows_its_answers() -> None:
    reason = "nbconvert and ipykernel, which run notebooks, are not installed"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    exporters = pytest.importorskip("nbconvert.exporters", reason=reason)
    preprocessors = pytest.importorskip("nbconvert.preprocessors", reason=reason)
    notebook = nbformat.read(EXAMPLE, as_version=4)
    preprocessors.ExecutePreprocessor(timeout=120, kernel_name="python3").preprocess(notebook, {"metadata": {}})
    outputs = {
        cell.source.splitlines()[-1].partition("(")[0]: {
            kind: text for output in cell.outputs if "data" in output for kind, text in output.data.items()
        }
        for cell in notebook.cells
        if cell.cell_type == "code"
    }
    for pictured in ("rl.parse", "rl.compare"):
        assert outputs[pictured]["image/svg+xml"].startswith("<svg")
    for table in ("rl.rosetta", "rl.infer", "rl.banks", "rl.catalog.entry", "rl.audit"):
        assert Tables(outputs[table]["text/html"]).rows, table
        assert len(outputs[table]["text/plain"]) < 2000
    assert outputs["rl.draw"]["text/html"].startswith("<iframe")
    assert len(outputs["rl.draw"]["text/plain"]) < 100
    assert "every size is padded" in Tables(outputs["rl.explain"]["text/html"]).text
    page, _ = exporters.HTMLExporter().from_notebook_node(notebook)
    assert page.count('<div class="rl-table">') == 5
    assert "</iframe>" in page
    stored = len(nbformat.writes(notebook))
    assert stored < 300_000, stored
