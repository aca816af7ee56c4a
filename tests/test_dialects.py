"""Every dialect: what it writes it reads back, what it cannot hold it refuses, junk gets a caret. And the pictures."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import E, Layout, Swizzle
from relayout.dialects.registry import BUILT_IN
from support import layouts

ANY = layouts(window=True, swizzle=True, offset=True, negative=True)


@settings(max_examples=200)
@given(layout=ANY)
def test_htp_writes_what_it_reads_back_for_the_shape(layout: Layout) -> None:
    try:
        text = rl.render(layout, "htp")
    except rl.NotExpressible as refusal:
        assert refusal.hint
        return
    assert Layout.parse(text, "htp", layout.extents).equivalent(layout)
    assert rl.parse(f"htp:{text}", shape=layout.extents).equivalent(layout)


@pytest.mark.parametrize("dialect", ["mojo", "cute"])
@settings(max_examples=200)
@given(layout=ANY)
def test_what_is_written_is_read_back(dialect: str, layout: Layout) -> None:
    try:
        text = rl.render(layout, dialect)
    except rl.NotExpressible as refusal:
        assert dialect == "cute"
        assert layout.windowed
        assert refusal.hint
        return
    if dialect == "cute" and layout.windowed:
        assert rl.compare(rl.parse(text, dialect), layout), "a pitch is plain strides"
        return
    assert rl.parse(text, dialect, shape=layout.extents) == layout
    with pytest.raises(rl.ShapeError, match="extents"):
        rl.parse(text, dialect, shape=(99, 98))
    assert rl.parse(text, dialect) == rl.parse(text, dialect=dialect) == layout
    assert rl.render(layout, dialect=dialect) == text
    assert rl.parse(f"{dialect}:{text}") == layout
    assert rl.parse(text) == layout
    assert rl.parse(text.replace(",", " ,\n ").replace(":", " :\t"), dialect) == layout
    assert layout.to(dialect) == text


JUNK = st.text(alphabet="()0123456789:,_@<> -+Swoffsetrigin.x\n", max_size=60)


@pytest.mark.parametrize("dialect", [*BUILT_IN, None])
@settings(max_examples=1000)
@given(text=JUNK)
def test_junk_is_refused_with_a_caret_or_is_a_layout(dialect: str | None, text: str) -> None:
    try:
        layout = rl.parse(text, dialect)
    except rl.ParseError as error:
        assert 0 <= error.position <= len(error.text)
        assert str(error).rstrip().splitlines()[-1].strip() == "^" or error.hint
    except rl.LayoutError:
        pass
    else:
        assert type(layout).parse(str(layout)) == layout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((3, 4):(4, 1))", Layout((3, 4), (4, 1))),
        ("(4:1)", Layout(4, 1)),
        ("4:2", Layout(4, 2)),
        ("((4):(1))", Layout((4,), (1,))),
        ("((4,):(1,))", Layout((4,), (1,))),
        ("(((4, 2):(1, 4)))", Layout(((4, 2),), ((1, 4),))),
        ("((((4, 2):(1, 4))))", Layout((((4, 2),),), (((1, 4),),))),
        ("(():())", Layout((), ())),
        ("(_3,_4):(_4,_1)", Layout((3, 4), (4, 1))),
        ("((3,2),(2,5)):((1,6),(3,12))", Layout(((3, 2), (2, 5)), ((1, 6), (3, 12)))),
        ("Sw<3,4,3> o 0 o (8,64):(64,1)", Layout((8, 64), (64, 1), swizzle=Swizzle(3, 4, 3))),
        ("Sw<3,4,3> o _5 o (_8,_64):(_64,_1)", Layout((8, 64), (64, 1), offset=5, swizzle=Swizzle(3, 4, 3))),
        ("Sw<0,4,3> o 7 o 8:1", Layout(8, 1, offset=7)),
        ("(4,(2,3)):(1@0,(1@0@1,1@1@1))", Layout((4, (2, 3)), (E(0), (E(1, 0), E(1, 1))))),
        ("(2:1@0+3@1)", Layout(2, E(0) + E(1) * 3)),
        ("(4:-1) offset 3", Layout(4, -1, offset=3)),
        ("(4:1@0) offset 2@0", Layout(4, E(0), offset=E(0) * 2)),
        ("((4, 2):(1, 4)) swizzle <1,0,1> offset 2", Layout((4, 2), offset=2, swizzle=(1, 0, 1))),
        ("((8):(1)) extents (7)", Layout((8,), (1,), extents=(7,))),
        ("(8:1) extents 7 origin 1", Layout(8, 1, extents=7, origin=1)),
    ],
)
def test_texts(text: str, expected: Layout) -> None:
    assert rl.parse(text) == Layout.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "dialect", "position"),
    [
        ("((3, 4):(4, 1)", "mojo", 14),
        ("((3, x):(4, 1))", "mojo", 5),
        ("((3, 4)(4, 1))", "mojo", 7),
        ("((3, 4):(4, 1)) wide 3", "mojo", 16),
        ("((3, 4):(4, 1)) offset 1 offset 2", "mojo", 25),
        ("(3,4):(4,1) x", "cute", 12),
        ("(3,4)", "cute", 5),
        ("Sw<3,4> o 0 o 4:1", "cute", 6),
        ("", "cute", 0),
        ("4:1@-1", "cute", 4),
        ("9" * 5000 + ":1", "cute", 0),
    ],
)
def test_the_caret_points_at_the_first_bad_character(text: str, dialect: str, position: int) -> None:
    with pytest.raises(rl.ParseError) as caught:
        rl.parse(text, dialect)
    assert caught.value.position == position
    line, caret = str(caught.value).splitlines()[1:3]
    if text and len(text) < 60:
        assert line == f"  {text}"
        assert caret == "  " + " " * position + "^"


def test_a_text_that_fits_no_dialect_or_no_layout() -> None:
    with pytest.raises(rl.ParseError):
        rl.parse("hello")
    with pytest.raises(rl.ShapeError, match="not congruent"):
        rl.parse("((3, 4):(4))")
    with pytest.raises(rl.ShapeError, match="no dialect"):
        rl.parse("4:1", "klingon")
    with pytest.raises(rl.ShapeError, match="text"):
        rl.parse(4)  # type: ignore[arg-type]
    with pytest.raises(rl.LimitExceeded):
        rl.parse("(" * 100 + "4:1" + ")" * 100)
    with pytest.raises(rl.LimitExceeded):
        rl.parse("1" * (1 << 21))


def test_an_ambiguous_text_lists_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    from relayout.dialects import cute

    monkeypatch.setattr(cute, "parse", lambda text: Layout(1, 0))
    with pytest.raises(rl.ParseError, match="ambiguous: as mojo it is") as caught:
        rl.parse("4:2000003")
    assert set(caught.value.candidates) == {"mojo", "cute"}


def test_other_packages_add_dialects(monkeypatch: pytest.MonkeyPatch) -> None:
    from relayout.dialects import mojo, registry

    class Point:
        name = "other"

        def load(self) -> object:
            return mojo

    monkeypatch.setattr(registry, "entry_points_of", lambda group: [Point()])
    registry._entry_points.cache_clear()
    try:
        assert rl.parse("(4:1)", "other") == Layout(4, 1)
        assert rl.parse("other: (4:1)") == Layout(4, 1)
        assert rl.render(Layout(4, 1), "other") == "(4:1)"
        assert rl.rosetta(Layout(4, 1))["other"] == "(4:1)"
    finally:
        registry._entry_points.cache_clear()
        registry._load.cache_clear()


def test_the_picture_of_cute() -> None:
    assert rl.format_layout(Layout((2, 3), (3, 1)), "cute").splitlines() == [
        "(_2,_3):(_3,_1)",
        "      0   1   2 ",
        "    +---+---+---+",
        " 0  | 0 | 1 | 2 |",
        "    +---+---+---+",
        " 1  | 3 | 4 | 5 |",
        "    +---+---+---+",
    ]


def test_pictures_of_other_ranks() -> None:
    assert rl.format_layout(Layout(3, 2)).splitlines() == [
        "(3:2)",
        "      0   1   2",
        "    +---+---+---+",
        " 0  | 0 | 2 | 4 |",
        "    +---+---+---+",
    ]
    cube = rl.format_layout(Layout((1, 2, 2)))
    assert cube.splitlines()[1] == "(:, :, 0)"
    assert cube.splitlines()[6] == "(:, :, 1)"
    assert rl.format_layout(Layout((), (), offset=7)).splitlines()[3] == " 0  | 7 |"
    assert "(:, :, 1, 2)" in rl.format_layout(Layout((2, 2, 2, 3)))


def test_pictures_show_true_offsets_of_windows_offsets_and_swizzles() -> None:
    window = Layout(((2, 2), 2), ((1, 10), 4), offset=100, extents=(3, 2), origin=(1, 0))
    assert rl.format_layout(window).splitlines()[3] == " 0  | 101 | 105 |"
    assert " -3 |" in rl.format_layout(Layout(4, -1))
    assert rl.format_layout(Layout((2, 2), swizzle=(1, 0, 1))).splitlines()[3] == " 0  | 0 | 3 |"
    assert rl.format_layout(Layout((0, 3))).splitlines()[0] == "((0, 3):(1, 0))"


def test_pictures_have_a_limit_and_a_style() -> None:
    with pytest.raises(rl.LimitExceeded, match="narrow"):
        rl.format_layout(Layout((1000, 1000)))
    with pytest.raises(rl.ShapeError, match="style"):
        rl.format_layout(Layout(4, 1), "svg")


def test_a_tall_picture_keeps_its_grid(capsys: pytest.CaptureFixture[str]) -> None:
    rl.print_layout(Layout((120, 2)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "    +-----+-----+"
    assert lines[3] == " 0  |   0 | 120 |"


@pytest.mark.parametrize(
    ("text", "names"), [("htp:R4Crouto", "htp:R4Crouton, "), ("htp: weigths", "htp:weights"), ("onednn:nChw16d", None)]
)
def test_names_that_are_nearly_those_of_the_catalog(text: str, names: str | None) -> None:
    with pytest.raises(rl.ParseError) as error:
        rl.parse(text)
    assert (f"did you mean {names}" in error.value.hint) if names else ("did you mean" not in error.value.hint)
