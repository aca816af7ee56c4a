"""Pictures in terminals and LaTeX, as files, in notebooks and from the command line."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from itertools import product as cartesian
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from clock import LOOPS_PER_SECOND, loops_of
from drawn import in_every_form, in_svg, in_text, in_tikz
from relayout import Layout
from relayout.cli.main import relayout
from relayout.drawing.colours import LIGHT
from relayout.drawing.drawing import Drawing
from relayout.drawing.scene import PADDING, PLAIN, Grid, LegendEntry, Pane, PaneAxis, Scene
from relayout.drawing.terminal import render_text
from relayout.drawing.tikz import escape_latex
from support import layouts, value

TILED = Layout(((3, 2), (2, 2)), ((1, 6), (3, 12)))
CROUTON = {"shape": (1, 9, 9, 40), "rows": "h", "columns": "w", "at": {"n": 0, "c": 0}}


# ---- every form says the same ----------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=80)
def test_every_cell_under_its_labels_in_every_form(data: Any) -> None:
    """In each form a cell is the offset at its labels, and padding is what the blocks have outside the window."""
    layout = data.draw(layouts(window=True, swizzle=True, offset=True, negative=True, tuples_only=True))
    dims = data.draw(st.permutations(range(layout.rank)))
    down, across = (dims[0], dims[1]) if layout.rank > 1 else (None, dims[0])
    at = {d: data.draw(st.integers(0, layout.extents[d] - 1)) for d in dims[2:]}
    box = layout.box
    elements = {
        (r, c)
        for r in ([""] if down is None else map(str, range(layout.extents[down])))
        for c in map(str, range(layout.extents[across]))
    }
    for seen in in_every_form(rl.draw(layout, rows=down, columns=across, at=at)):
        assert len(seen) <= box.size
        assert {(cell.row, cell.column) for cell in seen if not cell.padding} == elements
        for cell in seen:
            inside = (cell.row, cell.column) in elements
            assert inside != cell.padding
            if cell.column and (cell.row or down is None):
                places = {**at, down: int(cell.row or 0), across: int(cell.column)}
                position = [places[d] + o for d, o in enumerate(layout.origin)]
                assert cell.text == str(value(box, tuple(position)))


def test_slices_are_separate_in_every_form() -> None:
    drawing = rl.draw(Layout.row_major(2, 3, 4))
    offsets = np.arange(24).reshape(2, 3, 4)
    for grids in (in_svg(drawing.svg()), in_tikz(drawing.tikz())):
        assert [[cell.text for cell in grid] for grid in grids] == [list(map(str, part.ravel())) for part in offsets]
    assert drawing.text().splitlines()[1] == "[0, :, :]         [1, :, :]"


def test_two_lines_of_a_cell_are_one_in_text() -> None:
    drawing = rl.draw(Layout(((4, 8), 2), ((16, 1), 8)), tile=(8, 8))
    cells = {(cell.row, cell.column): cell.text for cell in in_text(drawing.text())}
    assert cells == {(str(t // 4), str(t % 4 * 2 + v)): f"T{t}V{v}" for t in range(32) for v in range(2)}
    assert r"\node[align=center] at" in drawing.tikz()
    assert r"{T31\\V1}" in drawing.tikz()


# ---- terminals -------------------------------------------------------------------------------------------


def pane(rows: int, columns: int, tints: list[int], **words: Any) -> Pane:
    axes = [PaneAxis(d, "", tuple(map(str, range(n))), (1, *[0] * (n - 1), 1)) for d, n in enumerate((rows, columns))]
    texts = [str(k) for k in range(rows * columns)]
    grid = Grid((None, None), texts, tints, list(range(rows * columns)), **words)
    return Pane("title", "logical", axes[0], axes[1], [grid])


def test_padding_and_marks_show_without_colours() -> None:
    scene = Scene(
        [pane(2, 2, [0, PADDING, 1, PADDING], marked=frozenset([2, 3]))], [LegendEntry((PADDING,), "padding")], []
    )
    assert render_text(scene).splitlines() == [
        "title",
        "    0  1",
        "--+------",
        "0 | 0 ·1·",
        "1 |[2][3]",
        "",
        "··· padding",
    ]


def test_blocks_of_blocks_have_heavier_rules() -> None:
    lines = rl.draw(Layout((2, (2, 2, 2)), (1, (2, 16, 4)))).text().splitlines()
    assert lines[1:3] == ["     0  1 |  2  3 ||  4  5 |  6  7", "--+-------+-------++-------+------"]
    rows = rl.draw(Layout(((2, 2, 2), 2), ((2, 16, 4), 1))).text().splitlines()
    assert [line[0] for line in rows if line[0] in "-="] == ["-", "-", "=", "-"]


def test_panels_end_where_blocks_end() -> None:
    text = rl.draw(Layout((2, (8, 6)), (1, (2, 200)))).ansi(60, 0)
    assert max(map(len, text.splitlines())) <= 60
    heads = [line.replace("|", " ").split() for line in text.splitlines() if line.startswith("   ")]
    assert [int(n) for head in heads for n in head] == list(range(48))
    assert all(int(head[0]) % 8 == 0 for head in heads)


@pytest.mark.parametrize("width", [24, 40, 80, 200])
@pytest.mark.parametrize("colours", [0, 16, 256, 1 << 24])
def test_lines_fit_into_the_terminal(width: int, colours: int) -> None:
    pictures = [
        rl.draw("htp:R4Crouton", **CROUTON, view="both", mark=(0, 1, 1, 0)),
        rl.draw(rl.logical_divide, Layout.row_major(6, 8), (3, 2)),
        rl.draw(TILED, TILED, view="both"),
        rl.draw(Layout.row_major(4, 8), path=True),
        rl.draw(rl.compare(Layout.row_major(4, 8), Layout.col_major(4, 8))),
    ]
    for drawing in pictures:
        lines = click.unstyle(drawing.ansi(width, colours)).splitlines()
        assert max(map(len, lines)) <= width


def test_panes_stand_beside_each_other_where_they_fit() -> None:
    drawing = rl.draw(TILED, TILED)
    wide, narrow = drawing.ansi(80, 0).splitlines(), drawing.ansi(30, 0).splitlines()
    assert wide[1].split() == 2 * ["0", "1", "|", "2", "3"]
    assert len(narrow) > 2 * len(wide) - 3
    signs = rl.draw(rl.composition, Layout(20, 2), Layout((5, 4), (4, 1))).ansi(200, 0)
    assert re.search(r" ∘ [^=]* = ", signs)


@pytest.mark.parametrize("colours", [16, 256, 1 << 24])
def test_tints_are_dark_text_on_the_palette(colours: int) -> None:
    written = rl.draw(TILED, mark=(0, 0)).ansi(80, colours)
    looks = dict.fromkeys(re.findall(r"\x1b\[([\d;]+)m +(?:\d+) ", written))
    tints = [look.removeprefix("1;7;") for look in looks if look != "2"]
    forms = {16: ("30", r"\d+"), 256: ("38;5;16", r"48;5;(\d+)"), 1 << 24: ("38;2;0;0;0", r"48;2;(.+)")}
    black, paper = forms[colours]
    assert len(set(tints)) == 4
    assert all(re.fullmatch(f"{black};{paper}", look) for look in tints)
    assert any(look.startswith("1;7;") for look in looks), "the mark swaps the colours"
    if colours == 1 << 24:
        palette = {";".join(str(x) for x in bytes.fromhex(tint[1:])) for tint in LIGHT.categories}
        assert {re.fullmatch(f"{black};{paper}", look)[1] for look in tints} <= palette  # type: ignore[index]
    if colours == 256:
        levels = [0, 95, 135, 175, 215, 255]
        for look in tints:
            k = int(look.split(";")[-1]) - 16
            seen = [levels[k // 36], levels[k // 6 % 6], levels[k % 6]]
            apart = [max(abs(a - b) for a, b in zip(seen, bytes.fromhex(t[1:]), strict=True)) for t in LIGHT.categories]
            assert min(apart) <= 24, "half of the widest step of the cube, and a little"


def test_every_escape_is_closed_on_its_line() -> None:
    for line in rl.draw("htp:R4Crouton", **CROUTON).ansi(80).splitlines():
        assert len(re.findall(r"\x1b\[[\d;]+m[^\x1b]+\x1b\[0m", line)) == line.count("\x1b[0m")
        assert re.sub(r"\x1b\[[\d;]+m[^\x1b]+\x1b\[0m", "", line).count("\x1b") == 0


def test_legends_of_colours_stay_away_without_colours() -> None:
    drawing = rl.draw("(4,4):(4,1)", path=True)
    assert "from the lowest address" in drawing.ansi(80)
    assert "from the lowest address" not in drawing.text()
    assert "arrow" in drawing.text().splitlines()[-1]


WAYS = {"↖": (-1, -1), "↑": (-1, 0), "↗": (-1, 1), "←": (0, -1), "→": (0, 1), "↙": (1, -1), "↓": (1, 0), "↘": (1, 1)}


@pytest.mark.parametrize("mark", [None, (1, 1)])
@pytest.mark.parametrize(
    "layout",
    [
        Layout(((2, 2, 2), (2, 2, 2)), ((2, 8, 32), (1, 4, 16))),
        Layout((5, 7), (-7, 1)),
        Layout((6, 6), (1, 6), swizzle=(1, 0, 2)),
    ],
)
def test_arrows_of_a_text_lead_through_memory(layout: Layout, mark: Any) -> None:
    rows, columns = layout.extents
    places = sorted([(layout(r, c), r, c) for r in range(rows) for c in range(columns)])
    wanted = {}
    for (offset, r, c), (_, down, right) in pairwise(places):
        step = (down - r, right - c)
        near = max(map(abs, step)) == 1
        way = next(arrow for arrow, way in WAYS.items() if way == (np.sign(step[0]), np.sign(step[1])))
        wanted[offset] = way if near else chr(ord(way) + ord("⇐") - ord("←"))
    text = rl.draw(layout, path=True, mark=mark).text()
    cells = re.findall(r"(-?\d+)[\] ]*([↖↑↗←→↙↓↘⇖⇑⇗⇐⇒⇙⇓⇘])", text)
    assert {int(offset): arrow for offset, arrow in cells} == wanted
    columns_of_arrows = {found.start() for line in text.splitlines() for found in re.finditer("[↖-↙⇐-⇙←-↓]", line)}
    assert len(columns_of_arrows) == columns, "and stay aligned"


# ---- LaTeX -----------------------------------------------------------------------------------------------


def test_latex_is_balanced_and_defines_what_it_uses() -> None:
    tikz = rl.draw("htp:R4Crouton", **CROUTON, mark=(0, 1, 1, 0), path=True, view="both").tikz()
    assert tikz.count("{") == tikz.count("}")
    assert tikz.count(r"\begin") == tikz.count(r"\end")
    assert [line for line in tikz.splitlines() if "usepackage" in line] == []
    colours = set(re.findall(r"\\definecolor\{(\w+)\}", tikz))
    styles = set(re.findall(r"(?:^|[ ,{])(\w[\w ]*)/\.style", tikz))
    for look in re.findall(r"\\(?:fill|draw|node)\[([^\]]*)\]", tikz):
        assert {word.strip() for word in look.split(",")} <= colours | styles | {"align=center"}
    assert len(re.findall(r"\\draw\[order\]", tikz)) == 80, "81 elements in a plane of 9 x 9"
    assert len(re.findall(r"\\draw\[chosen\]", tikz)) >= 1


def test_titles_are_escaped_for_latex() -> None:
    assert escape_latex("50%_a & {b} #1 $x^2~\\") == (
        r"50\%\_a \& \char123{}b\char125{} \#1 \$x\char94{}2\char126{}\char92{}"
    )
    assert escape_latex("a → b ∘ é") == r"a $\rightarrow$ b $\circ$ U+00E9"


@pytest.mark.parametrize("operation", [rl.logical_divide, rl.blocked_product, rl.composition])
def test_signs_between_operands_are_those_of_mathematics(operation: Any) -> None:
    tikz = rl.draw(operation, Layout(8, 1), Layout(4, 1)).tikz()
    first, second = re.findall(r"\\node\[sign\] at \([^)]*\) \{(.*)\};", tikz)
    assert re.fullmatch(r"\$\\(div|times|circ)\$", first)
    assert second == "="
    assert "U+" not in tikz


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="PICTURES IN LATEX ARE NOT COMPILED: there is no pdflatex")
@pytest.mark.parametrize(
    "drawing",
    [
        rl.draw("htp:R4Crouton", **CROUTON, mark=(0, 1, 1, 0), path=True, view="both"),
        rl.draw(rl.composition, Layout(20, 2), Layout((5, 4), (4, 1))),
        rl.draw(Layout(((4, 8), 2), ((16, 1), 8)), tile=(8, 8)),
        rl.draw(rl.compare(Layout.row_major(4, 8), Layout.col_major(4, 8))),
        Drawing(lambda limit: Scene([replace(pane(2, 2, [PLAIN] * 4), title="50% of {a_b} & #1 $x^2~\\ é")], [], [])),
        rl.draw(*2 * [Layout.row_major(99, 99)], path=True),
    ],
)
def test_latex_compiles(drawing: Drawing, tmp_path: Path) -> None:
    drawing.save(tmp_path / "picture.tex")
    words = ["pdflatex", "-interaction=batchmode", "-halt-on-error", "picture.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (tmp_path / "picture.log").read_text(errors="replace")[-2000:]
    assert (tmp_path / "picture.pdf").stat().st_size > 2000


# ---- notebooks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    [
        TILED,
        rl.make_identity_layout((2, 3)),
        rl.parse("htp:R4Crouton"),
        rl.tensor(np.arange(6.0).reshape(2, 3)),
        rl.compare(TILED, Layout.row_major(6, 4)),
        rl.ComposedLayout(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3))),
        rl.LinearLayout({"register": [(0, 1)], "lane": [(1, 0), (2, 0)]}, {"m": 4, "n": 2}),
        rl.draw(TILED),
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_notebooks_show_pictures(shown: Any) -> None:
    assert in_svg(shown._repr_svg_())


def test_what_cannot_be_drawn_is_printed_by_notebooks() -> None:
    nothing = [Layout((0, 3)), rl.parse("nhwc"), rl.tensor(np.zeros((0, 3))), rl.LinearLayout({}, {})]
    assert [x._repr_svg_() for x in nothing] == [None] * 4  # type: ignore[attr-defined]


def test_notebooks_are_never_kept_waiting() -> None:
    huge = [Layout.row_major(10**9, 10**9), Layout((10**20, 4, 4)), rl.tensor(np.zeros((999, 999)))]
    huge.append(rl.compare(huge[0], Layout.col_major(10**9, 10**9)))
    for x in huge:
        assert loops_of(x._repr_svg_) < 0.5 * LOOPS_PER_SECOND  # type: ignore[attr-defined]
        svg = x._repr_svg_()  # type: ignore[attr-defined]
        assert sum(len(grid) for grid in in_svg(svg)) <= 2 * 1024
        assert any(words in svg for words in ("chunk", "slices", "around the first difference"))


# ---- the command -----------------------------------------------------------------------------------------


def run(*arguments: str) -> Result:
    return CliRunner().invoke(relayout, ["draw", *arguments])


@pytest.mark.parametrize(
    ("arguments", "drawing"),
    [
        (("(4,8):(8,1)", "(4,8):(1,4)"), rl.draw("(4,8):(8,1)", "(4,8):(1,4)")),
        (("(4,8):(8,1)", "(4,8):(1,4)", "--difference"), rl.draw(rl.compare("(4,8):(8,1)", "(4,8):(1,4)"))),
        (("(6,8):(8,1)", "3,2", "--op", "divide"), rl.draw(rl.logical_divide, Layout.row_major(6, 8), (3, 2))),
        (("4:1", "3:1", "--op", "product"), rl.draw(rl.logical_product, Layout(4, 1), Layout(3, 1))),
        (("20:2", "(5,4):(4,1)", "--op", "compose"), rl.draw(rl.composition, Layout(20, 2), Layout((5, 4), (4, 1)))),
        (
            ("nhwc", "--shape", "2,3,4,5", "--axes", "nchw", "--rows", "w", "--columns", "h", "--at", "n=1,c=2"),
            rl.draw("nhwc", shape=(2, 3, 4, 5), axes="nchw", rows="w", columns="h", at={"n": 1, "c": 2}),
        ),
        (
            ("(4,8):(1,4)", "--view", "both", "--width", "8", "--color", "row", "--mark", "1,2", "--mark", "0,0"),
            rl.draw("(4,8):(1,4)", view="both", width=8, color="row", mark=[(1, 2), (0, 0)]),
        ),
        (("((4,8),2):((16,1),8)", "--tile", "8,8"), rl.draw("((4,8),2):((16,1),8)", tile=(8, 8))),
        (
            ("(2,3,4):(12,4,1)", "--at", "0=1", "--cells", "coordinate"),
            rl.draw("(2,3,4):(12,4,1)", at={0: 1}, cells="coordinate"),
        ),
    ],
)
def test_options_are_the_words_of_the_library(arguments: tuple[str, ...], drawing: Any) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == drawing.text() + "\n"


@pytest.mark.parametrize("ending", ["svg", "html", "tex", "txt", "ans"])
def test_pictures_go_to_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{ending}"
    path.write_text("an older picture")
    done = run(str(TILED), "--path", "-o", str(path))
    assert (done.exit_code, done.stdout) == (0, "")
    assert re.fullmatch(rf"{re.escape(str(path))}: [\d.]+ (bytes|KiB)\n", done.stderr)
    drawing = rl.draw(str(TILED), path=True)
    form = {"svg": drawing.svg, "html": drawing.html, "tex": drawing.tikz, "txt": drawing.text, "ans": drawing.ansi}
    assert path.read_text() == form[ending]()


def test_pages_hold_more_than_texts(tmp_path: Path) -> None:
    for arguments in (("(128,128):(128,1)", "8,8", "--op", "divide"), ("(128,128):(1,128)", "--tile", "128,128")):
        assert run(*arguments).exit_code == 5
        path = tmp_path / "page.html"
        done = run(*arguments, "-o", str(path), "--json")
        assert done.exit_code == 0, done.stderr
        assert json.loads(done.stdout)["result"]["lines"] is None
        assert path.stat().st_size > 100_000


def test_pages_in_json() -> None:
    done = json.loads(run(str(TILED), "--html", "--json").stdout)["result"]
    assert done["html"] == rl.draw(str(TILED)).html()
    assert done["layout"]["shape"] == [[3, 2], [2, 2]]


@pytest.mark.parametrize(
    ("words", "colours"),
    [
        ({"TERM": "xterm-256color"}, 256),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, 1 << 24),
        ({"TERM": "xterm"}, 16),
        ({"TERM": "dumb"}, 0),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, 0),
    ],
)
@pytest.mark.parametrize("columns", [30, 80])
def test_terminals_get_the_colours_and_the_width_they_have(words: dict[str, str], colours: int, columns: int) -> None:
    """In a terminal of its own, where nothing is captured."""
    text = "((3, 2), (2, 8)):((1, 6), (3, 12))"
    read, write = pty.openpty()
    set_size = struct.pack("HHHH", 24, columns, 0, 0)
    fcntl.ioctl(write, termios.TIOCSWINSZ, set_size)
    known = {name: x for name, x in os.environ.items() if name not in ("NO_COLOR", "COLORTERM", "COLUMNS", "LINES")}
    command = [sys.executable, "-m", "relayout", "draw", text]
    subprocess.run(command, stdout=write, env=known | words, check=True)
    os.close(write)
    written = b""
    with suppress(OSError):
        while part := os.read(read, 1 << 16):
            written += part
    os.close(read)
    assert written.decode().replace("\r\n", "\n") == rl.draw(text).ansi(columns, colours) + "\n"


def test_html_on_stdout_is_one_page() -> None:
    done = run(str(TILED), "--html")
    assert done.stdout == rl.draw(str(TILED)).html() + "\n"


def test_a_picture_in_json() -> None:
    done = json.loads(run(str(TILED), "--json").stdout)["result"]
    assert done["lines"] == rl.draw(str(TILED)).text().splitlines()
    assert done["layout"]["shape"] == [[3, 2], [2, 2]]
    assert done["file"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("4:1", "--op", "divide"), 2, "one OTHER"),
        (("4:1", "--at", "0"), 2, "fixes no dimension"),
        (("4:1", "3:1", "--op", "divide", "--difference"), 2, "one of --op and --difference"),
        (("4:1", "--html", "-o", "x.html"), 2, "give one of them"),
        (("4:1", "--style", "mojo", "-o", "x.txt"), 2, "drawn without output"),
        (("4:1", "3:1", "--style", "cute", "--path"), 2, "drawn without path, others"),
        (("4:1", "--at", "0=1", "--at", "0=2"), 2, "one coordinate only"),
        (("4:1", "--cells", "value"), 2, "'value' is not one of"),
        (("4:1", "--width", "0"), 2, "not in the range"),
        (("(6,2):(1,7)", "(3,2):(2,3)", "--op", "raked", "--path"), 3, "an operation is drawn without path"),
        (("(4,4):(4,1)", "--tile", "4,4", "--view", "both"), 3, "drawn without view"),
        (("(4,4):(4,1)", "3:1", "--op", "divide"), 4, "NotExpressible"),
        (("(99,99):(99,1)", "(3,3):(3,1)", "--op", "divide"), 5, "LimitExceeded"),
        (("(4,4", "--json"), 3, ""),
        (("4:1", "--at", "z=0"), 3, "has no dimension 'z'"),
        (("4:1", "--rows", "9"), 3, "has no dimension 9"),
        (("4:1", "--mark", "4"), 3, "OutOfBounds"),
        (("4:1", "--part", "1,1"), 3, "2 indices for a layout of rank 1"),
        (("4:1", "--part", "::-1"), 3, "drawn upwards"),
        (("4:1", "-o", "picture.bmp"), 3, "no picture has the ending '.bmp'"),
        (("4:1", "-o", "no/such/folder/x.svg"), 3, "No such file"),
        (("nhwc",), 3, "pass --shape"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments: tuple[str, ...], code: int, words: str) -> None:
    done = run(*arguments)
    assert done.exit_code == code
    assert words in done.stderr


def test_parts_keep_their_coordinates() -> None:
    for part, rows, columns in [
        ((slice(2, 5), slice(-2, None)), range(2, 5), range(6, 8)),
        ((slice(0, 6, 2), ...), range(0, 6, 2), range(8)),
    ]:
        seen = in_text(rl.draw(Layout.row_major(6, 8), part=part).text())
        assert [(cell.row, cell.column, cell.text) for cell in seen] == [
            (str(r), str(c), str(8 * r + c)) for r, c in cartesian(rows, columns)
        ]
    assert PLAIN not in rl.draw(TILED, part=(slice(1),)).scene().panes[0].grids[0].tints
    cut = rl.draw("htp:R4Crouton", shape=(1, 9, 9, 40), part=(0, slice(7, 9), slice(8), 0)).text()
    assert "padding" not in cut, "what a part leaves out is no padding"


ROOT = Path(__file__).parents[1]

QUICK = """
import sys
sys.path.append("tests")
import relayout as rl
from clock import loops_of

def best(form):
    return loops_of(form, runs=7), len(form())

print(*best(rl.draw(rl.Layout(((8, 16), (8, 16)), ((1, 1024), (8, 64)))).html))
print(*best(rl.draw(rl.Layout(((8, 4), (8, 4)), ((1, 256), (8, 64)))).svg))
"""


def test_pictures_take_no_time_and_little_room() -> None:
    """In a process of its own, where nothing counts the lines that run."""
    done = subprocess.run([sys.executable, "-c", QUICK], cwd=ROOT, capture_output=True, text=True, check=True)
    (page, page_size), (svg, svg_size) = [map(float, line.split()) for line in done.stdout.splitlines()]
    assert page < 0.1 * LOOPS_PER_SECOND, "128 x 128 cells"
    assert page_size < 1_000_000
    assert svg < 0.02 * LOOPS_PER_SECOND, "32 x 32 cells"
    assert svg_size < 100_000
