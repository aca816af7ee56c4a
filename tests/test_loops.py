"""Loop nests of two layouts against the enumeration of both."""

from __future__ import annotations

from itertools import product as cartesian
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relayout as rl
from relayout import Layout
from relayout.engine.nest import make_nest
from support import SIGNED, coordinates, like, value
from test_format import formats


def walked(source: Layout, target: Layout) -> list[tuple[int, int]]:
    """All pairs of offsets that the nest visits."""
    pairs = []
    for piece in make_nest(source, target).pieces():
        for steps in cartesian(*[range(loop.steps) for loop in piece.loops]):
            a = piece.source + sum(k * loop.source for k, loop in zip(steps, piece.loops, strict=True))
            b = piece.target + sum(k * loop.target for k, loop in zip(steps, piece.loops, strict=True))
            pairs += [
                (
                    a + sum(int(t.source[k]) for k, t in zip(entries, piece.tables, strict=True)),
                    b + sum(int(t.target[k]) for k, t in zip(entries, piece.tables, strict=True)),
                )
                for entries in cartesian(*[range(len(t.source)) for t in piece.tables])
            ]
    return sorted(pairs)


def expected(source: Layout, target: Layout) -> list[tuple[int, int]]:
    plain, other = source.with_swizzle(None), target.with_swizzle(None)
    return sorted((value(plain, c), value(other, c)) for c in coordinates(source))


@st.composite
def modes(draw: Any, extent: int) -> tuple[Any, Any, int]:
    """A shape, a stride and an origin for a mode of that extent."""
    count = draw(st.integers(1, 3))
    sizes = [draw(st.sampled_from([1, 2, 3, 4])) for _ in range(count - 1)]
    origin = draw(st.sampled_from([0, 0, 0, 1, 2, 5]))
    inner = 1
    for n in sizes:
        inner *= n
    sizes.append(-(-(extent + origin) // inner) + draw(st.sampled_from([0, 0, 1])))
    shape = tuple(sizes) if count > 1 else sizes[0]
    return shape, draw(like(shape, SIGNED)), origin


@st.composite
def pairs(draw: Any) -> tuple[Layout, Layout]:
    extents = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    made = []
    for _ in range(2):
        parts = [draw(modes(n)) for n in extents]
        shape, stride, origin = (tuple(p) for p in zip(*parts, strict=True))
        made.append(Layout(shape, stride, extents=tuple(extents), origin=origin, offset=draw(st.integers(0, 3))))
    return made[0], made[1]


@settings(max_examples=400)
@given(pairs())
def test_every_coordinate_is_visited_once(layouts: tuple[Layout, Layout]) -> None:
    assert walked(*layouts) == expected(*layouts)


@settings(max_examples=200)
@given(formats(), st.data())
def test_formats_from_row_major_need_no_tables(fmt: rl.Format, data: Any) -> None:
    shape = [data.draw(st.integers(1, 9)) for _ in range(fmt.rank)]
    left = [data.draw(st.sampled_from([0, 0, 1, 3])) for _ in shape]
    packed = fmt.layout(shape, left_pad=left)
    flat = Layout.row_major(tuple(shape))
    for pair in ((flat, packed), (packed, flat)):
        assert not any(piece.tables for piece in make_nest(*pair).pieces())
        assert walked(*pair) == expected(*pair)


def test_a_crouton_is_few_pieces_at_any_size() -> None:
    shape = (128, 217, 221, 50)
    target = rl.catalog.get("htp:R4Crouton").layout(shape)  # type: ignore[union-attr]
    found = list(make_nest(Layout.row_major(shape), target).pieces())
    assert len(found) == 8
    assert sum(piece.size for piece in found) == 128 * 217 * 221 * 50
    assert max(len(piece.loops) for piece in found) <= 7


def test_blocks_that_do_not_divide_each_other_take_a_short_table_at_any_size() -> None:
    n = 12 << 40
    source, target = Layout(((3, n // 3),), ((n // 3, 1),)), Layout(((4, n // 4),), ((n // 4, 1),))
    (piece,) = make_nest(source, target).pieces()
    assert (piece.lookups, piece.size) == (12, n)
    assert f": {n} elements" in rl.plan(source, target, "uint8").explain()


def test_shapes_must_agree() -> None:
    with pytest.raises(rl.ShapeError, match="extents"):
        make_nest(Layout((2, 3)), Layout((3, 2)))
    assert not list(make_nest(Layout((0, 3)), Layout((0, 3))).pieces())
