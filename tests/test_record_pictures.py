"""Pictures of records, read back cell by cell and held to the definition of every bit."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings

import relayout as rl
from relayout import Record
from relayout.drawing.scene import HTML_CELLS, PADDING, PLAIN, SVG_CELLS, Pane, Scene
from relayout.web.handle import handle
from test_records import KNOWN, records

Bit = tuple[str, tuple[int, ...], int]
"""A field, the coordinate of an element, and a bit of it."""


def bits_of(record: Record) -> dict[int, Bit]:
    """What every bit of a record is, by a loop over the planes."""
    found = {}
    for field in record.fields:
        for plane in field.planes:
            for c in product(*[range(n) for n in plane.layout.extents]):
                for b in range(plane.bits):
                    element = tuple([s + x for s, x in zip(plane.start, c, strict=True)])
                    found[plane.layout(*c) + b] = (field.name, element, plane.low + b)
    return found


def place(label: str) -> int:
    """The bit that ``16.4`` is."""
    byte, _, bit = label.partition(".")
    return 8 * int(byte) + int(bit or 0)


def cells_of(pane: Pane) -> list[tuple[int, int, str, int, int, str]]:
    """Of every cell its first bit, its width, its text, tint, key and words."""
    (grid,) = pane.grids
    count = pane.columns.count
    columns = [place(label.removeprefix("+")) for label in pane.columns.labels]
    unit = columns[1] if count > 1 else 8 * _bytes(pane) // pane.rows.count
    starts = [place(row) + column for row in pane.rows.labels for column in columns]
    return [
        (at, unit, text, tint, key, words)
        for at, text, tint, key, words in zip(starts, grid.texts, grid.tints, grid.keys, grid.words, strict=True)
        if tint != PLAIN
    ]


def _bytes(pane: Pane) -> int:
    first, last = re.findall(r"bytes? (\d+)(?: to (\d+))?:", pane.title)[0]
    return int(last or first) + 1 - int(first)


@pytest.mark.parametrize("name", KNOWN)
def test_every_cell_is_what_it_says(name: str) -> None:
    read_back(rl.catalog.record(name), rl.draw(name).scene(HTML_CELLS))


@settings(max_examples=25, deadline=None)
@given(records())
def test_every_cell_of_any_record_is_what_it_says(record: Record) -> None:
    read_back(record, rl.draw(record).scene())


def read_back(record: Record, scene: Scene) -> None:
    """Hold every cell of a picture to the bits that it stands for."""
    truth = bits_of(record)
    seen, tints, keys = [], {}, {}
    for pane in scene.panes:
        fields = {truth[at][0] for at, unit, *_ in cells_of(pane) if at in truth}
        for at, unit, text, tint, key, words in cells_of(pane):
            held = [truth.get(at + k) for k in range(unit)]
            seen += range(at, at + unit)
            if held[0] is None:
                assert (set(held), text, tint, key) == ({None}, "", PADDING, -1)
                continue
            field, element, low = held[0]
            assert held == [(field, element, low + k) for k in range(unit)]
            shape = record[field].shape
            label = ",".join([str(c) for c, n in zip(element, shape, strict=True) if n > 1]) or field
            whole = unit == record[field].bits
            bits = "" if whole else f"\n[{low}]" if unit == 1 else f"\n[{low + unit - 1}:{low}]"
            assert text.endswith(label + bits)
            prefix = text.removesuffix(label + bits)
            assert field.startswith(prefix)
            assert bool(prefix) == (len(fields) > 1 and label != field)
            assert not prefix or not any(other.startswith(prefix) for other in fields - {field}) or prefix == field
            assert words.startswith(f"{field} ({', '.join(map(str, element))})")
            assert words.endswith(f"\nbyte {at // 8}{f'.{at % 8}' if at % 8 else ''}")
            assert tints.setdefault(field, tint) == tint
            assert keys.setdefault(key, (field, element)) == (field, element)
    assert seen == list(range(8 * record.nbytes))
    assert len(set(tints.values())) == len(record.fields)
    assert len(keys) == len({(field, element) for field, element, _ in truth.values()})
    assert [entry.words.partition(":")[0] for entry in scene.legend[: len(record.fields)]] == [
        f.name for f in record.fields
    ]


@pytest.mark.parametrize("name", ["ggml:q6_K_8x8", "mx:hopper", "ggml:Q4_K"])
def test_what_does_not_scroll_shows_the_first_lines_and_says_so(name: str) -> None:
    scene = rl.draw(name).scene(SVG_CELLS)
    notes = [re.fullmatch(r"Of the bytes (\d+) to (\d+) the first (\d+) are drawn\.", note) for note in scene.notes]
    cut = {int(m[1]): int(m[3]) for m in notes if m}
    for pane in scene.panes:
        assert pane.rows.count <= 32
        drawn = sum(unit for _, unit, *_ in cells_of(pane)) // 8
        start = int(re.findall(r"bytes? (\d+)", pane.title)[0])
        assert drawn == cut.get(start, _bytes(pane))
    assert bool(cut) == (name != "ggml:Q4_K")


def test_lines_as_wide_as_asked_for_and_bits_of_no_field() -> None:
    text = "record nk 1,4 bytes 3: q uint3 @0.1 (1,4):(0,4); d uint8 @2"
    scene = rl.draw(text, width=1).scene()
    assert [pane.columns.count for pane in scene.panes] == [8, 1]
    assert scene.panes[0].grids[0].tints == [PADDING, 0, 0, 0, PADDING, 0, 0, 0] * 2
    assert [entry.words for entry in scene.legend] == ["q: 4 uint3", "d: 1 uint8", "bits of no field"]
    assert "1[1]" in rl.draw(text).text().replace("\n", " ")


def test_names_that_begin_alike_stay_apart() -> None:
    text = "record k 4 bytes 2: q uint1 @0 (4,):(4,); q1 uint1 @0.1 (4,):(4,); scale uint1 @0.2 (4,):(4,)"
    row = rl.draw(text).scene().panes[0].grids[0].texts
    assert row[:7] == ["q0", "q1:0", "s0", "", "q1", "q1:1", "s1"]


def test_more_fields_than_colours_and_one_axis() -> None:
    text = f"record k 16 bytes 12: {'; '.join([f'{name} uint8 @{k}' for k, name in enumerate('abcdefghijkl')])}"
    scene = rl.draw(text).scene()
    assert scene.panes[0].grids[0].texts == list("abcdefghijkl")
    assert [entry.tints[0] for entry in scene.legend] == [k % 8 for k in range(12)]


def test_two_records_have_one_colour_for_one_field() -> None:
    scene = rl.draw("ggml:Q4_0", "ggml:Q4_1").scene()
    tints = {entry.words: entry.tints for entry in scene.legend}
    assert tints["d: 1 float16"] == (0,)
    assert tints["ggml:Q4_0: qs: 32 uint4, 8 means 0"] == tints["ggml:Q4_1: qs: 32 uint4"] == (1,)
    assert "ggml:Q4_1: An element is worth d*qs+m." in scene.notes


def test_the_same_element_has_the_same_key_in_both_records() -> None:
    scene = rl.draw("ggml:Q4_1", "ggml:q4_0_4x4").scene()
    named: dict[int, set[str]] = {}
    for pane in scene.panes:
        for *_, key, words in cells_of(pane):
            named.setdefault(key, set()).add(words.partition("\n")[0])
    assert all(len(names) == 1 for names in named.values())
    assert len(named) == len({name for names in named.values() for name in names})


def marked(scene: Scene) -> list[str]:
    return [grid.texts[k] for pane in scene.panes for grid in pane.grids for k in grid.marked]


def test_a_comparison_marks_the_first_bit_that_lies_elsewhere() -> None:
    verdict = rl.compare("ggml:q4_0_4x4", "ggml:q4_0_4x8")
    scene = rl.draw(verdict).scene()
    assert marked(scene) == ["0,4", "0,4"]
    assert scene.notes[0] == str(verdict)
    assert verdict._repr_svg_() == rl.draw(verdict).svg()
    assert marked(rl.draw(rl.compare("gptq:w3", "gptq:planar3")).scene()) == []


def test_every_form_has_a_picture() -> None:
    picture = rl.draw("ggml:Q4_K")
    assert rl.catalog.record("ggml:Q4_K")._repr_svg_() == picture.svg()
    assert "s4[5:4]" in picture.text()
    assert "scales: 8 uint6" in picture.ansi(width=80)
    assert "<tspan" not in picture.svg()
    assert "scales (0, 4), bits 4 to 5" in picture.html()
    assert r"\begin{tikzpicture}" in picture.tikz()


@pytest.mark.parametrize(
    ("things", "words", "why"),
    [
        (("ggml:Q4_0", "0 1"), {}, "'0 1' is no record"),
        (("ggml:Q4_0",), {"color": "row", "path": True}, "without color, path"),
        (("ggml:Q4_0",), {"axes": "nk"}, "without axes"),
        (("ggml:Q4_0",), {"width": 0}, "a line has no 0 bytes"),
        (("record nk 1,32",), {}, "begins otherwise"),
    ],
)
def test_what_cannot_be_drawn_is_refused(things: Any, words: Any, why: str) -> None:
    with pytest.raises(rl.LayoutError, match=why):
        rl.draw(*things, **words)


# ---- the explorer ----------------------------------------------------------------------------------------


def ask(question: str, **state: str) -> Any:
    return handle({"ask": question, "state": state})


def test_the_explorer_shows_tells_and_compares_records() -> None:
    answer = ask("view", a="ggml:Q4_K")
    assert len(answer["data"]["panes"]) == 3
    assert answer["notations"]["a"] == ["catalog"]
    assert answer["subjects"][0]["layout"] == str(rl.catalog.record("ggml:Q4_K"))
    (sheet,) = ask("facts", a="ggml:Q4_K", shape="2,512")["facts"]
    assert ["bytes", "576"] in [list(pair) for pair in sheet["ledger"]]
    assert sheet["words"] == rl.explain("ggml:Q4_K", (2, 512)).splitlines()
    verdict = ask("view", a="ggml:Q4_0", b="ggml:IQ4_NL", do="compare")["verdict"]
    assert verdict == {"same": False, "words": str(rl.compare("ggml:Q4_0", "ggml:IQ4_NL")), "coordinate": None}
    assert ask("view", a="ggml:Q4_0", b="0 1", do="beside")["error"]["field"] == "b"
    assert ask("view", a="record nk", do="look")["error"]["field"] == "a"
    assert ask("facts", a="ggml:Q4_0", shape="1,33")["error"]["field"] == "shape"
    assert ask("view", a="ggml:Q4_0", b="ggml:Q4_1", do="compare", shape="1,33")["error"]["field"] == "shape"
    assert "is a record of the fields" in ask("view", a="ggml:Q4_0", do="coalesce")["error"]["message"]


def test_the_lines_of_python_draw_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures: list[str] = []
    monkeypatch.setattr("relayout.drawing.drawing.Drawing.save", lambda self, path: pictures.append(self.svg()))
    for state in ({"a": "ggml:Q4_0", "width": "4"}, {"a": "ggml:Q4_0", "b": "ggml:q4_0_4x4", "do": "compare"}):
        code, picture = [handle({"ask": "copy", "form": f, "state": state})["text"] for f in ("python", "svg")]
        exec(code, {"print": lambda *words: None})
        assert pictures.pop() == picture
