"""Mojo's page "Introduction to layouts", statement by statement, in its order.

Each statement is quoted and checked: code as the page has it (``var x = ...`` became ``x = ...``), outputs to the
letter, figures by the indices that they show. What holds otherwise here is marked ``otherwise`` with the reason, which
stands in ``docs/coming_from/mojo.md`` too.
"""

# ruff: noqa: T201 (the page prints)

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import relayout as rl
from relayout.mojo import (
    IntTuple,
    Layout,
    LayoutTensor,
    blocked_product,
    congruent,
    cosize,
    make_ordered_layout,
    print_layout,
    rank,
    size,
    tile_to_shape,
)

PAGE = Path(__file__).parents[1] / "docs" / "coming_from" / "mojo.md"


class Statement(NamedTuple):
    """What the page says, how it is checked, and why it holds otherwise, where it does."""

    quote: str
    check: Callable[..., None]
    otherwise: str


STATEMENTS: list[Statement] = []


def says(quote: str, otherwise: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    def keep(check: Callable[..., None]) -> Callable[..., None]:
        STATEMENTS.append(Statement(quote, check, otherwise))
        return check

    return keep


# ---- what the page prints ------------------------------------------------------------------------------------

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


def layout_b() -> Layout:
    return Layout(((2, 2), (2, 2)), ((1, 4), (2, 8)))


def table_row(i: int) -> tuple[int, tuple[int, int], tuple[tuple[int, int], tuple[int, int]]]:
    """Row ``i`` of table 1, by counting."""
    row, column = i % 4, i // 4
    return i, (row, column), ((row % 2, row // 2), (column % 2, column // 2))


# ---- introduction --------------------------------------------------------------------------------------------


@says("A layout is a function that maps a set of logical coordinates to a linear index value.")
def _() -> None:
    layout = Layout.row_major(3, 4)
    assert [[layout(x, y) for y in range(4)] for x in range(3)] == np.arange(12).reshape(3, 4).tolist()


@says("Layouts can be hierarchical (for example, a 2D matrix that's further subdivided into tiles).")
def _() -> None:
    assert layout_b().depth == 2
    assert rank(layout_b()) == 2


@says("LayoutTensor is a flexible tensor type that combines a Layout and a pointer to data.")
def _() -> None:
    data = np.arange(12, dtype=np.float32)
    tensor = LayoutTensor(data, Layout.row_major(3, 4))
    assert tensor.layout == Layout.row_major(3, 4)
    assert np.shares_memory(tensor.raw, data)
    tensor[1, 1] = 50
    assert data[5] == 50
    assert isinstance(tensor.tile((1, 2), (0, 1)), LayoutTensor)
    assert rl.mojo.LayoutTensor is LayoutTensor


@says("IntTuple is a hierarchical tuple type: each element is either an integral value or a nested IntTuple.")
def _() -> None:
    nested = IntTuple(4, (2, IntTuple(3, 5)))
    assert isinstance(nested, IntTuple)
    assert isinstance(nested[0], int)
    assert isinstance(nested[1], IntTuple)
    assert isinstance(nested[1][1], IntTuple)
    assert rl.IntTuple is IntTuple
    for wrong in (1.5, "4", None, True):
        with pytest.raises(rl.ShapeError):
            IntTuple(4, wrong)


@says("The IntTuple type is used extensively for defining and indexing layouts and layout tensors.")
def _() -> None:
    layout = Layout(IntTuple(3, IntTuple(2, 2)), IntTuple(4, IntTuple(1, 2)))
    tensor = LayoutTensor(np.arange(12), layout)
    for i in range(3):
        for j in range(2):
            for k in range(2):
                place = 4 * i + j + 2 * k
                assert layout(IntTuple(i, IntTuple(j, k))) == tensor[IntTuple(i, IntTuple(j, k))] == place


# ---- what's a layout? ----------------------------------------------------------------------------------------


@says("A layout could describe a 2x4 row-major matrix, or a 6x6 column-major matrix.")
def _() -> None:
    l2x4row_major = Layout.row_major(2, 4)
    l6x6col_major = Layout.col_major(6, 6)
    assert l2x4row_major.offsets().tolist() == np.arange(8).reshape(2, 4).tolist()
    assert l6x6col_major.offsets().tolist() == np.arange(36).reshape(6, 6, order="F").tolist()


@says("Layouts are made up of two tuples: shape and stride. A layout can be written as (shape:stride).")
def _() -> None:
    layout = Layout.row_major(3, 4)
    assert (layout.shape, layout.stride) == ((3, 4), (4, 1))
    assert rl.parse("((3, 4):(4, 1))") == layout


@says("A contiguous vector of length 4 can be represented as (4:1) (figure 1).")
def _() -> None:
    assert rl.parse("(4:1)") == Layout(4, 1)
    assert rl.parse("(4:1)").offsets().tolist() == [0, 1, 2, 3]


@says("You can break ((3, 4):(4, 1)) down into a row mode 3:4 and a column mode 4:1.")
def _() -> None:
    layout = rl.parse("((3, 4):(4, 1))")
    assert (layout[0], layout[1]) == (Layout(3, 4), Layout(4, 1))
    assert [str(mode) for mode in layout] == ["(3:4)", "(4:1)"]


@says("print_layout() generates an ASCII diagram of any 2D layout.")
def _(capsys: Any) -> None:
    l3x4row_major = Layout.row_major(3, 4)
    print_layout(l3x4row_major)
    assert capsys.readouterr().out == ROW_MAJOR_3X4


@says("The index is the dot product of the coordinates and the strides: i*4 + j*1, so that (1, 1) maps to 5.")
def _() -> None:
    layout = Layout.row_major(3, 4)
    assert layout(1, 1) == 5
    for i in range(3):
        for j in range(4):
            assert layout(i, j) == layout((i, j)) == i * 4 + j * 1


@says("How to use a Layout to convert between coordinates and index values.")
def _(capsys: Any) -> None:
    l3x4row_major = Layout.row_major(3, 4)
    coords = IntTuple(1, 1)
    idx = l3x4row_major(coords)
    print("index at coordinates (1, 1): ", idx)
    print("coordinates at index 7:", l3x4row_major.idx2crd(7))
    assert capsys.readouterr().out == CONVERSIONS


@says("idx2crd() transforms a linear index into a set of logical coordinates.")
def _() -> None:
    layout = Layout.row_major(3, 4)
    assert [layout.idx2crd(i) for i in range(12)] == [(i // 4, i % 4) for i in range(12)]
    with pytest.raises(rl.OutOfBounds):
        layout.idx2crd(12)


@says("You can pass any layout to print() for a (shape:stride) pair.")
def _(capsys: Any) -> None:
    for layout, text in [
        (Layout(4, 2), "(4:2)"),
        (Layout.row_major(2, 4), "((2, 4):(4, 1))"),
        (layout_b(), "(((2, 2), (2, 2)):((1, 4), (2, 8)))"),
        (Layout((4, (2, 2)), (1, (4, 8))), "((4, (2, 2)):(1, (4, 8)))"),
    ]:
        print(layout)
        assert capsys.readouterr().out == text + "\n"
        assert rl.parse(text) == layout == rl.parse(text, dialect="mojo")


# ---- IntTuple ------------------------------------------------------------------------------------------------


@says(
    "A layout's shape and stride are represented using the IntTuple type.",
    otherwise="they are plain tuples, which an IntTuple equals",
)
def _() -> None:
    layout = Layout(IntTuple(4, IntTuple(2, 2)), IntTuple(1, IntTuple(4, 8)))
    assert type(layout.shape) is tuple
    assert layout.shape == IntTuple(4, IntTuple(2, 2))
    assert hash(layout.shape) == hash(IntTuple(4, IntTuple(2, 2)))
    assert IntTuple(*layout.shape).product_flatten() == (4, 4)


@says("You can create nested IntTuples using the IntTuple constructor.")
def _() -> None:
    shape1 = IntTuple(4, IntTuple(2, 2))
    assert shape1 == (4, (2, 2)) == IntTuple(4, (2, 2))
    assert shape1 != (4, 2, 2)
    assert (len(shape1), shape1[0], shape1[1], shape1[-1][0]) == (2, 4, (2, 2), 2)
    assert str(shape1) == "(4, (2, 2))"
    assert eval(repr(shape1)) == shape1


@says("Shape and stride must be congruent: the same number of elements, nested tuples with the same number too.")
def _() -> None:
    for a, b, expected in [
        ((4, (2, 2)), (1, (4, 8)), True),
        ((2, 2), (1, 4), True),
        (4, 1, True),
        ((4, (2, 2)), (1, 4, 8), False),
        ((4, (2, 2)), (1, (4, 8, 16)), False),
        ((4, 2), (1, (4, 8)), False),
        ((4,), 4, False),
    ]:
        assert congruent(a, b) is congruent(b, a) is expected
        if expected:
            assert Layout(a, b).shape == a
        else:
            with pytest.raises(rl.ShapeError, match="not congruent"):
                Layout(a, b)


@says("The int_tuple package provides a number of functions, such as congruent().")
def _() -> None:
    assert congruent(IntTuple(4, IntTuple(2, 2)), IntTuple(1, IntTuple(4, 8)))
    assert rl.mojo.apply(lambda x: 2 * x, IntTuple(4, IntTuple(2, 2))) == (8, (4, 4))


# ---- modes ---------------------------------------------------------------------------------------------------


@says("The 1D vector layout (8:1) has a single mode: 8 elements with a stride of 1 (figures 2 and 5).")
def _() -> None:
    layout = rl.parse("(8:1)")
    assert (rank(layout), layout[0]) == (1, Layout(8, 1))
    assert layout.offsets().tolist() == list(range(8))


@says("((2, 4):(4, 1)) has two modes, 2:4 and 4:1: two groups, 4 apart, of 4 columns (figure 3).")
def _() -> None:
    layout = rl.parse("((2, 4):(4, 1))")
    assert [str(mode) for mode in layout] == ["(2:4)", "(4:1)"]
    assert layout.offsets().tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


@says("A column-major 2x4 matrix has the layout ((2, 4):(1, 2)) (figure 4).")
def _() -> None:
    assert Layout.col_major(2, 4) == rl.parse("((2, 4):(1, 2))")
    assert Layout.col_major(2, 4).offsets().tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]


@says("A layout's rank is the number of modes in its shape.", otherwise="rank, size and cosize are properties")
def _() -> None:
    for text, expected in [("(8:1)", 1), ("((2, 4):(4, 1))", 2), ("((4, 4, 4):(16, 4, 1))", 3), (TILED_TEXT, 2)]:
        layout = rl.parse(text)
        assert rank(layout) == layout.rank == len(layout) == expected
    assert LayoutTensor(np.arange(8), Layout.row_major(2, 4)).rank == 2


@says("A layout's size is the product of all of the modes in its shape: the number of elements it addresses.")
def _() -> None:
    for text, expected in [("(8:1)", 8), ("(((4, 2):(1, 4)))", 8), ("((3, 4):(4, 1))", 12), (TILED_TEXT, 60)]:
        layout = rl.parse(text)
        assert size(layout) == layout.size == expected == layout.offsets().size


@says("(((4, 2):(1, 4))) is also a 1D vector of 8 elements; its dimension is a multi-mode (figure 6).")
def _() -> None:
    nested, flat = rl.parse("(((4, 2):(1, 4)))"), rl.parse("(8:1)")
    assert nested == Layout(((4, 2),), ((1, 4),))
    assert nested != flat
    assert [nested(i) for i in range(8)] == [flat(i) for i in range(8)] == list(range(8))
    assert rl.parse(str(nested)) == nested


@says("The first mode is the 'inner' mode (a group), the next an 'outer' mode (a repeat of the group).")
def _() -> None:
    inner, outer = rl.parse("(((4, 2):(1, 4)))")[0]
    assert (str(inner), str(outer)) == ("(4:1)", "(2:4)")


@says("A multi-mode counts as a single mode: (8:1) and (((4, 2):(1, 4))) are both rank-1 layouts.")
def _() -> None:
    assert rank(rl.parse("(8:1)")) == rank(rl.parse("(((4, 2):(1, 4)))")) == 1


@says("Layouts A and B have the same overall 2D shape, but the elements in a different order (figure 7).")
def _() -> None:
    b = layout_b()
    for a in (Layout.row_major(4, 4), Layout.col_major(4, 4)):
        assert a.extents == b.extents == (4, 4)
        assert not a.equivalent(b)
    assert sorted(b.offsets().ravel().tolist()) == list(range(16))


@says("Layout B is tiled: four consecutive indices are grouped into each 2x2 tile (tile-major order).")
def _() -> None:
    table = layout_b().offsets()
    assert table.tolist() == [[0, 2, 8, 10], [1, 3, 9, 11], [4, 6, 12, 14], [5, 7, 13, 15]]
    tiles = table.reshape(2, 2, 2, 2).transpose(2, 0, 3, 1).reshape(4, 4)  # one row per 2x2 tile, columns first
    assert tiles.tolist() == np.arange(16).reshape(4, 4).tolist()


@says("Layout B has a row mode of (2, 2):(1, 4), with sub-modes 2:1 and 2:4, and a column mode of (2, 2):(2, 8).")
def _() -> None:
    rows, columns = layout_b()
    assert (rows, columns) == (Layout((2, 2), (1, 4)), Layout((2, 2), (2, 8)))
    assert [str(mode) for mode in (*rows, *columns)] == ["(2:1)", "(2:4)", "(2:2)", "(2:8)"]


# ---- coordinates ---------------------------------------------------------------------------------------------


@says("Coordinates can be written in the same format as the shape tuple: ((i, j), (k, l)).")
def _() -> None:
    b, tensor = layout_b(), LayoutTensor(np.arange(16), layout_b())
    for i, j, k, m in np.ndindex(2, 2, 2, 2):
        assert b((i, j), (k, m)) == tensor[(i, j), (k, m)] == i + 4 * j + 2 * k + 8 * m


@says("((0, 1), (0, 1)) and (2, 2) are both valid coordinates that map to the same index.")
def _() -> None:
    b, tensor = layout_b(), LayoutTensor(np.arange(16), layout_b())
    assert b((0, 1), (0, 1)) == b(((0, 1), (0, 1))) == b(2, 2) == b((2, 2)) == 12
    assert tensor[(0, 1), (0, 1)] == tensor[2, 2] == tensor[0, 1, 0, 1] == 12


@says(
    "Any layout can be addressed with 1D or 2D coordinates as well as its natural coordinates.",
    otherwise="a tensor with one index gives a row, as numpy does",
)
def _() -> None:
    b, tensor = layout_b(), LayoutTensor(np.arange(16), layout_b())
    for one, two, natural in map(table_row, range(16)):
        assert b(one) == b(two) == b(natural) == tensor[two] == tensor[natural]
    assert tensor[3].numpy().tolist() == [5, 7, 13, 15]


@says("Dimensions are traversed in colexicographical order: the leftmost coordinate varies fastest (table 1).")
def _() -> None:
    shape = ((2, 2), (2, 2))
    printed = [
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
    assert [table_row(row[0]) for row in printed] == printed
    for one, two, natural in map(table_row, range(16)):
        assert rl.crd2crd(one, (4, 4)) == two
        assert rl.crd2crd(one, shape) == rl.crd2crd(two, shape) == natural
        assert rl.crd2crd(two, 16, (4, 4)) == rl.crd2crd(natural, 16, shape) == one
        for coordinate in (one, two, natural):
            assert tuple(layout_b().coordinates(coordinate)) == (one, two, natural)


# ---- making layouts ------------------------------------------------------------------------------------------


@says("row_major() varies the rightmost coordinate fastest, col_major() the leftmost.")
def _(capsys: Any) -> None:
    print(Layout.row_major(4, 4, 4))
    print(Layout.col_major(4, 4, 4))
    assert capsys.readouterr().out == MAJORS


@says("You can construct an arbitrarily complex layout using the Layout constructor.")
def _(capsys: Any) -> None:
    tiled_layout = Layout(
        IntTuple(IntTuple(3, 2), IntTuple(2, 5)),  # shape
        IntTuple(IntTuple(1, 6), IntTuple(3, 12)),  # strides
    )
    print_layout(tiled_layout)
    assert capsys.readouterr().out == TILED


@says("It consists of 3x2 column-major tiles ((3, 2):(1, 3)) arranged into two rows of 5, ((2, 5):(6, 12)).")
def _() -> None:
    tiled = rl.parse(TILED_TEXT).offsets()
    tile, places = rl.parse("((3, 2):(1, 3))").offsets(), rl.parse("((2, 5):(6, 12))")
    for i in range(2):
        for j in range(5):
            assert (tiled[3 * i : 3 * i + 3, 2 * j : 2 * j + 2] == tile + places(i, j)).all()


@says("tile_to_shape() takes a layout (the tile) and a final shape to tile to.")
def _(capsys: Any) -> None:
    tts = tile_to_shape(Layout.col_major(3, 2), IntTuple(6, 10))
    print_layout(tts)
    assert capsys.readouterr().out == TILED
    assert rl.parse("var tts = tile_to_shape(Layout.col_major(3, 2), IntTuple(6, 10))") == tts


@says("blocked_product() takes a tiler layout: every element in the tiler layout is replaced by a tile.")
def _(capsys: Any) -> None:
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
    assert rl.parse("blocked_product(Layout.col_major(3, 2), Layout.col_major(2, 5))") == blocked


@says("make_ordered_layout() is yet one more way to generate the previous tiled layout.")
def _(capsys: Any) -> None:
    ordered = make_ordered_layout(
        IntTuple(IntTuple(3, 2), IntTuple(2, 5)),  # shape
        IntTuple(IntTuple(0, 2), IntTuple(1, 3)),  # order
    )
    print(ordered)
    assert capsys.readouterr().out == TILED_TEXT + "\n"
    text = """make_ordered_layout(
        IntTuple(IntTuple(3, 2), IntTuple(2, 5)), # shape
        IntTuple(IntTuple(0, 2), IntTuple(1, 3))  # order
    )"""
    assert rl.parse(text) == ordered


@says("Strides follow the same ordering as order, and are computed such that the layout is dense.")
def _() -> None:
    sizes = [3, 2, 2, 5]
    for order in [((0, 2), (1, 3)), ((0, 20), (10, 30)), ((3, 1), (2, 0)), ((1, 0), (3, 2))]:
        ranks = [*order[0], *order[1]]
        expected = [int(np.prod([s for s, r in zip(sizes, ranks, strict=True) if r < mine])) for mine in ranks]
        ordered = make_ordered_layout(((3, 2), (2, 5)), order)
        assert [*ordered.stride[0], *ordered.stride[1]] == expected
        assert sorted(ordered.offsets().ravel().tolist()) == list(range(60))


# ---- non-contiguous layouts ----------------------------------------------------------------------------------


@says("A (4:2) layout is a sparse 1D array (figure 8).")
def _() -> None:
    assert rl.parse("(4:2)").offsets().tolist() == [0, 2, 4, 6]


@says("The cosize is the largest linear index value plus 1: (4:2) has a size of 4, but a cosize of 7.")
def _() -> None:
    sparse = Layout(4, 2)
    assert (size(sparse), sparse.size) == (4, 4)
    assert cosize(sparse) == sparse.cosize == 7
    for layout in (sparse, Layout((3, 2), (5, 1)), layout_b(), Layout((2, 3), (0, 2))):
        assert cosize(layout) == int(layout.offsets().max()) + 1


# ---- the statements ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", [pytest.param(s, id=s.quote) for s in STATEMENTS])
def test_the_page_says(statement: Statement, capsys: Any) -> None:
    check = statement.check
    check(capsys) if check.__code__.co_argcount else check()


def test_every_difference_is_on_the_page_for_those_who_come_from_mojo() -> None:
    page = re.sub(r"[`\\]", "", " ".join(PAGE.read_text().split()))
    assert [s.otherwise for s in STATEMENTS if s.otherwise and s.otherwise not in page] == []


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("8:1", Layout(8, 1)),
        ("(2:2)", Layout(2, 2)),
        ("2:4", Layout(2, 4)),
        ("((2,\n5):(6, 12))", Layout((2, 5), (6, 12))),
        ("(4, 2):(1, 4)", Layout((4, 2), (1, 4))),
        ("(3, 2) : (1, 6)", Layout((3, 2), (1, 6))),
        ("(2,\n5):(3, 12)", Layout((2, 5), (3, 12))),
    ],
)
def test_the_texts_in_its_sentences_parse(text: str, layout: Layout) -> None:
    assert rl.parse(text) == rl.parse(text, dialect="mojo") == layout
