"""Mojo's page "Introduction to layouts": its calls, quoted, their outputs to the letter, its figures and its table.

``var x = ...`` became ``x = ...``; nothing else of the page's code is changed. Two blocks of the page have an empty
line before or after the output that no call prints; the outputs here are without it.
"""

# ruff: noqa: T201 (the page prints)

from __future__ import annotations

import numpy as np
import pytest

from relayout import (
    IntTuple,
    Layout,
    ShapeError,
    blocked_product,
    congruent,
    cosize,
    crd2crd,
    make_ordered_layout,
    parse,
    print_layout,
    rank,
    size,
    tile_to_shape,
)

# ---- the outputs ---------------------------------------------------------------------------------------------

ROW_MAJOR_3X4 = """\
((3, 4):(4, 1))
       0    1    2    3
    +----+----+----+----+
 0  |  0 |  1 |  2 |  3 |
    +----+----+----+----+
 1  |  4 |  5 |  6 |  7 |
    +----+----+----+----+
 2  |  8 |  9 | 10 | 11 |
    +----+----+----+----+
"""

CONVERSIONS = """\
index at coordinates (1, 1):  5
coordinates at index 7: (1, 3)
"""

MAJORS = """\
((4, 4, 4):(16, 4, 1))
((4, 4, 4):(1, 4, 16))
"""

TILED_TEXT = "(((3, 2), (2, 5)):((1, 6), (3, 12)))"

TILED = """\
(((3, 2), (2, 5)):((1, 6), (3, 12)))
       0    1    2    3    4    5    6    7    8    9
    +----+----+----+----+----+----+----+----+----+----+
 0  |  0 |  3 | 12 | 15 | 24 | 27 | 36 | 39 | 48 | 51 |
    +----+----+----+----+----+----+----+----+----+----+
 1  |  1 |  4 | 13 | 16 | 25 | 28 | 37 | 40 | 49 | 52 |
    +----+----+----+----+----+----+----+----+----+----+
 2  |  2 |  5 | 14 | 17 | 26 | 29 | 38 | 41 | 50 | 53 |
    +----+----+----+----+----+----+----+----+----+----+
 3  |  6 |  9 | 18 | 21 | 30 | 33 | 42 | 45 | 54 | 57 |
    +----+----+----+----+----+----+----+----+----+----+
 4  |  7 | 10 | 19 | 22 | 31 | 34 | 43 | 46 | 55 | 58 |
    +----+----+----+----+----+----+----+----+----+----+
 5  |  8 | 11 | 20 | 23 | 32 | 35 | 44 | 47 | 56 | 59 |
    +----+----+----+----+----+----+----+----+----+----+
"""

BLOCKED = """\
Tile:
((3, 2):(1, 3))
      0   1
    +---+---+
 0  | 0 | 3 |
    +---+---+
 1  | 1 | 4 |
    +---+---+
 2  | 2 | 5 |
    +---+---+

Tiler:
((2, 5):(1, 2))
       0    1    2    3    4
    +----+----+----+----+----+
 0  |  0 |  2 |  4 |  6 |  8 |
    +----+----+----+----+----+
 1  |  1 |  3 |  5 |  7 |  9 |
    +----+----+----+----+----+

Tiled layout:
(((3, 2), (2, 5)):((1, 6), (3, 12)))
"""


def test_print_layout_of_a_row_major_matrix(capsys):
    l3x4row_major = Layout.row_major(3, 4)
    print_layout(l3x4row_major)
    assert capsys.readouterr().out == ROW_MAJOR_3X4


def test_coordinates_to_index_and_back(capsys):
    l3x4row_major = Layout.row_major(3, 4)
    coords = IntTuple(1, 1)
    idx = l3x4row_major(coords)
    print("index at coordinates (1, 1): ", idx)
    print("coordinates at index 7:", l3x4row_major.idx2crd(7))
    assert capsys.readouterr().out == CONVERSIONS


def test_row_major_and_col_major(capsys):
    print(Layout.row_major(4, 4, 4))
    print(Layout.col_major(4, 4, 4))
    assert capsys.readouterr().out == MAJORS


def test_tiled_layout_from_shape_and_strides(capsys):
    tiled_layout = Layout(
        IntTuple(IntTuple(3, 2), IntTuple(2, 5)),  # shape
        IntTuple(IntTuple(1, 6), IntTuple(3, 12)),  # strides
    )
    print_layout(tiled_layout)
    assert capsys.readouterr().out == TILED


def test_tile_to_shape(capsys):
    tts = tile_to_shape(Layout.col_major(3, 2), IntTuple(6, 10))
    print_layout(tts)
    assert capsys.readouterr().out == TILED


def test_blocked_product(capsys):
    # Define 2x3 tile
    tile = Layout.col_major(3, 2)
    # Define a 2x5 tiler
    tiler = Layout.col_major(2, 5)
    blocked = blocked_product(tile.copy(), tiler.copy())

    print("Tile:")
    print_layout(tile)
    print("\nTiler:")
    print_layout(tiler)
    print("\nTiled layout:")
    print(blocked)
    assert capsys.readouterr().out == BLOCKED


def test_make_ordered_layout(capsys):
    ordered = make_ordered_layout(
        IntTuple(IntTuple(3, 2), IntTuple(2, 5)),  # shape
        IntTuple(IntTuple(0, 2), IntTuple(1, 3)),  # order
    )
    print(ordered)
    assert capsys.readouterr().out == TILED_TEXT + "\n"


def test_four_ways_to_one_layout():
    ways = {
        Layout(((3, 2), (2, 5)), ((1, 6), (3, 12))),
        tile_to_shape(Layout.col_major(3, 2), IntTuple(6, 10)),
        blocked_product(Layout.col_major(3, 2), Layout.col_major(2, 5)),
        make_ordered_layout(((3, 2), (2, 5)), ((0, 2), (1, 3))),
    }
    assert len(ways) == 1


def test_copy_is_the_same_layout():
    tile = Layout.col_major(3, 2)
    assert tile.copy() == tile
    assert (tile.copy().shape, tile.copy().stride) == ((3, 2), (1, 3))


# ---- the figures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("(4:1)", [0, 1, 2, 3], id="figure-1"),
        pytest.param("(8:1)", [0, 1, 2, 3, 4, 5, 6, 7], id="figures-2-and-5"),
        pytest.param("((2, 4):(4, 1))", [[0, 1, 2, 3], [4, 5, 6, 7]], id="figure-3"),
        pytest.param("((2, 4):(1, 2))", [[0, 2, 4, 6], [1, 3, 5, 7]], id="figure-4"),
        pytest.param("(((4, 2):(1, 4)))", [0, 1, 2, 3, 4, 5, 6, 7], id="figure-6"),
        pytest.param("(4:2)", [0, 2, 4, 6], id="figure-8"),
    ],
)
def test_a_figure_shows_these_indices(text, values):
    layout = parse(text)
    assert layout.offsets().tolist() == values
    shown = np.array(values)
    assert [layout(tuple(map(int, c))) for c in np.ndindex(shown.shape)] == shown.ravel().tolist()


def layout_b() -> Layout:
    return Layout(((2, 2), (2, 2)), ((1, 4), (2, 8)))


def test_figure_7_layout_b_groups_four_consecutive_indices_into_each_tile():
    table = layout_b().offsets()
    assert table.tolist() == [[0, 2, 8, 10], [1, 3, 9, 11], [4, 6, 12, 14], [5, 7, 13, 15]]
    tiles = table.reshape(2, 2, 2, 2).transpose(2, 0, 3, 1).reshape(4, 4)  # one row per 2x2 tile, columns first
    assert tiles.tolist() == np.arange(16).reshape(4, 4).tolist()


@pytest.mark.parametrize("layout_a", [Layout.row_major(4, 4), Layout.col_major(4, 4)])
def test_figure_7_layouts_a_and_b_share_the_shape_but_not_the_order(layout_a):
    b = layout_b()
    assert layout_a.extents == b.extents == (4, 4)
    assert rank(layout_a) == rank(b) == 2
    assert sorted(b.offsets().ravel().tolist()) == list(range(16))
    assert not layout_a.equivalent(b)


def test_figure_7_modes_of_layout_b():
    rows, columns = layout_b()
    assert rows == Layout((2, 2), (1, 4))
    assert columns == Layout((2, 2), (2, 8))
    assert [str(mode) for mode in rows] == ["(2:1)", "(2:4)"]
    assert [str(mode) for mode in columns] == ["(2:2)", "(2:8)"]


def test_figure_8_is_sparse():
    sparse = Layout(4, 2)
    assert size(sparse) == sparse.size == 4
    assert cosize(sparse) == sparse.cosize == 7 == max(0, 2, 4, 6) + 1


# ---- table 1 -------------------------------------------------------------------------------------------------

SHAPE = ((2, 2), (2, 2))

PRINTED = [
    (0, (0, 0), ((0, 0), (0, 0))),
    (1, (1, 0), ((1, 0), (0, 0))),
    (2, (2, 0), ((0, 1), (0, 0))),
    (3, (3, 0), ((1, 1), (0, 0))),
    (4, (0, 1), ((0, 0), (1, 0))),
    (5, (1, 1), ((1, 0), (1, 0))),
    (6, (2, 1), ((0, 1), (1, 0))),
    (7, (3, 1), ((1, 1), (1, 0))),
    (8, (0, 2), ((0, 0), (0, 1))),
    (15, (3, 3), ((1, 1), (1, 1))),
]


def table_row(i: int) -> tuple[int, tuple[int, int], tuple[tuple[int, int], tuple[int, int]]]:
    row, column = i % 4, i // 4
    return i, (row, column), ((row % 2, row // 2), (column % 2, column // 2))


ROWS = [table_row(i) for i in range(16)]


def test_the_printed_rows_are_among_the_sixteen():
    assert [ROWS[row[0]] for row in PRINTED] == PRINTED


@pytest.mark.parametrize(("one", "two", "natural"), ROWS)
def test_table_1_with_crd2crd(one, two, natural):
    assert crd2crd(one, (4, 4)) == two
    assert crd2crd(one, SHAPE) == natural
    assert crd2crd(two, SHAPE) == natural
    assert crd2crd(two, 16, (4, 4)) == one
    assert crd2crd(natural, (4, 4), SHAPE) == two
    assert crd2crd(natural, 16, SHAPE) == one


@pytest.mark.parametrize(("one", "two", "natural"), ROWS)
def test_table_1_with_the_layout(one, two, natural):
    b = layout_b()
    for coordinate in (one, two, natural):
        assert tuple(b.coordinates(coordinate)) == (one, two, natural)
    (i, j), (k, m) = natural
    assert b(one) == b(two) == b(*two) == b(natural) == b(*natural) == i + 4 * j + 2 * k + 8 * m


# ---- the prose -----------------------------------------------------------------------------------------------


def test_the_first_example():
    l2x4row_major = Layout.row_major(2, 4)
    l6x6col_major = Layout.col_major(6, 6)
    assert l2x4row_major.offsets().tolist() == np.arange(8).reshape(2, 4).tolist()
    assert l6x6col_major.offsets().tolist() == np.arange(36).reshape(6, 6, order="F").tolist()


def test_a_matrix_has_a_row_mode_and_a_column_mode():
    layout = Layout.row_major(3, 4)
    assert (layout.shape, layout.stride) == ((3, 4), (4, 1))
    assert layout[0] == Layout(3, 4)
    assert layout[1] == Layout(4, 1)
    assert [str(mode) for mode in layout] == ["(3:4)", "(4:1)"]
    assert [str(mode) for mode in Layout.row_major(2, 4)] == ["(2:4)", "(4:1)"]


def test_the_index_is_the_dot_product_with_the_strides():
    layout = Layout.row_major(3, 4)
    for i in range(3):
        for j in range(4):
            assert layout(i, j) == layout((i, j)) == i * 4 + j * 1
            assert layout.idx2crd(i * 4 + j) == (i, j)


def test_int_tuples_nest():
    shape1 = IntTuple(4, IntTuple(2, 2))
    assert shape1 == (4, (2, 2))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((4, (2, 2)), (1, (4, 8)), True),
        ((2, 2), (1, 4), True),
        (4, 1, True),
        ((4, (2, 2)), (1, 4, 8), False),
        ((4, (2, 2)), (1, (4, 8, 16)), False),
        ((4, 2), (1, (4, 8)), False),
        ((4,), 4, False),
    ],
)
def test_congruent_means_the_same_hierarchical_structure(a, b, expected):
    assert congruent(a, b) is expected
    assert congruent(b, a) is expected
    if expected:
        assert Layout(a, b).shape == a
    else:
        with pytest.raises(ShapeError, match="not congruent"):
            Layout(a, b)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(8:1)", 1),
        ("(((4, 2):(1, 4)))", 1),
        ("((2, 4):(4, 1))", 2),
        (TILED_TEXT, 2),
        ("((4, 4, 4):(16, 4, 1))", 3),
    ],
)
def test_rank_counts_a_multi_mode_once(text, expected):
    layout = parse(text)
    assert rank(layout) == layout.rank == len(layout) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("(8:1)", 8), ("(((4, 2):(1, 4)))", 8), ("((3, 4):(4, 1))", 12), (TILED_TEXT, 60), ("(4:2)", 4)],
)
def test_size_is_the_product_of_the_modes(text, expected):
    assert size(parse(text)) == parse(text).size == expected


def test_the_nested_vector_is_the_same_vector():
    nested, flat = parse("(((4, 2):(1, 4)))"), parse("(8:1)")
    assert nested == Layout(((4, 2),), ((1, 4),))
    assert nested != flat
    assert [nested(i) for i in range(8)] == [flat(i) for i in range(8)] == list(range(8))
    inner, outer = nested[0]
    assert (str(inner), str(outer)) == ("(4:1)", "(2:4)")


def test_two_spellings_of_one_coordinate():
    b = layout_b()
    assert b((0, 1), (0, 1)) == b(((0, 1), (0, 1))) == b(2, 2) == b((2, 2)) == 12


def test_the_tiled_layout_is_tiles_in_two_rows_of_five():
    tiled = parse(TILED_TEXT).offsets()
    assert tiled.shape == (6, 10)
    tile = np.arange(6).reshape(3, 2, order="F")  # ((3, 2):(1, 3))
    for i in range(2):
        for j in range(5):
            block = tiled[3 * i : 3 * i + 3, 2 * j : 2 * j + 2]
            assert (block == tile + 6 * i + 12 * j).all()  # ((2, 5):(6, 12))


@pytest.mark.parametrize("order", [((0, 2), (1, 3)), ((0, 20), (10, 30)), ((3, 1), (2, 0)), ((1, 0), (3, 2))])
def test_ordered_strides_follow_the_order_and_are_dense(order):
    sizes, ranks = [3, 2, 2, 5], [*order[0], *order[1]]
    expected = [int(np.prod([s for s, r in zip(sizes, ranks, strict=True) if r < mine])) for mine in ranks]
    ordered = make_ordered_layout(((3, 2), (2, 5)), order)
    assert [*ordered.stride[0], *ordered.stride[1]] == expected
    assert sorted(ordered.offsets().ravel().tolist()) == list(range(60))


def test_cosize_is_the_largest_index_plus_one():
    layout = Layout((3, 2), (5, 1))
    assert cosize(layout) == max(i * 5 + j for i in range(3) for j in range(2)) + 1 == 12


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("(4:1)", Layout(4, 1)),
        ("(8:1)", Layout(8, 1)),
        ("8:1", Layout(8, 1)),
        ("(2:2)", Layout(2, 2)),
        ("2:4", Layout(2, 4)),
        ("((3, 4):(4, 1))", Layout((3, 4), (4, 1))),
        ("((3, 2):(1, 3))", Layout((3, 2), (1, 3))),
        ("((2,\n5):(6, 12))", Layout((2, 5), (6, 12))),
        ("(4, 2):(1, 4)", Layout((4, 2), (1, 4))),
        ("(3, 2) : (1, 6)", Layout((3, 2), (1, 6))),
        ("(2,\n5):(3, 12)", Layout((2, 5), (3, 12))),
        ("(((4, 2):(1, 4)))", Layout(((4, 2),), ((1, 4),))),
        ("((4, 4, 4):(16, 4, 1))", Layout((4, 4, 4), (16, 4, 1))),
        (TILED_TEXT, Layout(((3, 2), (2, 5)), ((1, 6), (3, 12)))),
    ],
)
def test_the_texts_of_the_page_parse(text, layout):
    assert parse(text) == layout
    assert Layout.parse(text, "mojo") == layout


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (Layout(4, 2), "(4:2)"),
        (Layout.row_major(2, 4), "((2, 4):(4, 1))"),
        (layout_b(), "(((2, 2), (2, 2)):((1, 4), (2, 8)))"),
        (Layout((4, (2, 2)), (1, (4, 8))), "((4, (2, 2)):(1, (4, 8)))"),
    ],
)
def test_print_shows_any_layout_as_a_pair(layout, text, capsys):
    print(layout)
    assert capsys.readouterr().out == text + "\n"
    assert parse(text) == layout


def test_the_nested_vector_prints_as_it_parses():
    nested = Layout(((4, 2),), ((1, 4),))
    assert parse(str(nested)) == nested
