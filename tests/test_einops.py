"""einops patterns against numpy's reshape and transpose."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relayout as rl

X = np.arange(2 * 3 * 4 * 6).reshape(2, 3, 4, 6)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a b c d -> (a b) c d", X.reshape(6, 4, 6)),
        ("a b c d -> d (c b) a", X.transpose(3, 2, 1, 0).reshape(6, 12, 2)),
        ("b c (h p) (w q) -> b p q c h w, p=2, q=2", X.reshape(2, 3, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4)),
        ("b c (h p) d -> (b p) c h d, p=2", X.reshape(2, 3, 2, 2, 6).transpose(0, 3, 1, 2, 4).reshape(4, 3, 2, 6)),
        ("a ... -> ... a", X.transpose(1, 2, 3, 0)),
        ("a ... d -> (d a) ...", X.transpose(3, 0, 1, 2).reshape(12, 3, 4)),
        ("... d -> (...) d", X.reshape(24, 6)),
        ("a b c d -> a 1 b () c d", X.reshape(2, 1, 3, 1, 4, 6)),
        ("a b c (p d) -> p a b c d, p=3", X.reshape(2, 3, 4, 3, 2).transpose(3, 0, 1, 2, 4)),
        ("(u v) b c d -> v u b c d, u=2, v=1", X.reshape(1, 2, 3, 4, 6)),
    ],
)  # fmt: skip
def test_patterns_are_numpys(pattern: str, expected: Any) -> None:
    assert np.array_equal(rl.repack(X, pattern), expected)
    back = rl.repack(rl.repack(X, pattern).reshape(-1), "row-major", src=pattern, shape=X.shape)
    assert np.array_equal(back, X)


@given(st.data())
def test_any_pattern_without_padding_is_numpys(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 4))
    digits = [data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)) for _ in range(rank)]
    names = [[f"x{d}_{k}" for k in range(len(group))] for d, group in enumerate(digits)]
    rests = [data.draw(st.integers(-1, len(group) - 1)) for group in digits]
    flat = [name for group in names for name in group]
    order = data.draw(st.permutations(flat))
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(flat) - 1, 1)))))
    groups = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)]) if order[a:b]]
    size = dict(zip(flat, [n for group in digits for n in group]))
    known = [name for group, r in zip(names, rests) for k, name in enumerate(group) if k != r]
    text = " ".join([f"({' '.join(group)})" for group in names])
    text += " -> " + " ".join([f"({' '.join(group)})" if len(group) > 1 else group[0] for group in groups])
    text += "".join([f", {name}={size[name]}" for name in known])
    shape = [prod(group) for group in digits]
    x = np.arange(prod(shape)).reshape(shape)
    expected = x.reshape([size[n] for n in flat]).transpose([flat.index(n) for n in order])
    made = rl.repack(x, text)
    assert np.array_equal(made.reshape(-1), expected.reshape(-1))
    assert made.shape == tuple([prod([size[n] for n in group]) for group in groups])


def test_a_first_name_is_padded_and_others_must_divide() -> None:
    x = np.arange(1, 6)
    assert rl.repack(x, "(h p) -> p h, p=2").tolist() == [[1, 3, 5], [2, 4, 0]]
    with pytest.raises(rl.ShapeError, match="not made up of"):
        rl.repack(x, "(p h) -> h p, p=2")
    with pytest.raises(rl.ShapeError, match="not made up of"):
        rl.repack(x, "(p q) -> q p, p=2, q=2")
    with pytest.raises(rl.ShapeError, match="2 dimensions, and the shape 1"):
        rl.repack(x, "a b -> (b a)")
    with pytest.raises(rl.ShapeError, match="2 dimensions or more"):
        rl.repack(x, "a b ... -> (b a) ...")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b -> a b c, c=3", "stored several times"),
        ("a a -> a", "every name once"),
        ("a b -> a", "same names on both sides"),
        ("a (b c) -> a b c", "a size for every name"),
        ("a ((b)) -> a b", "parentheses"),
        ("a (b -> a b", "closing parenthesis"),
        ("(a ...) -> a ...", r"\.\.\. alone"),
        ("a 2 -> a", "expected names"),
        ("a b -> b a, c=3", "sizes of those names"),
    ],
)
def test_wrong_patterns_say_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(rl.ParseError, match=words):
        rl.parse(text, "einops")


def test_digits_above_the_rest_are_written_where_they_divide() -> None:
    halves = rl.parse("0 1 / 0,2@rest 0,3")
    layout = halves.layout((12, 4))
    assert rl.render(layout, "einops") == "(a2 a a3) b -> a b a2 a3, a2=2, a3=3"
    x = np.arange(48).reshape(12, 4)
    stored = x.reshape(2, 2, 3, 4).transpose(1, 3, 0, 2).reshape(-1)
    assert (stored[layout.offsets()] == x).all()
    for refused in (halves, halves.layout((11, 4))):
        with pytest.raises(rl.NotExpressible, match="pads a dimension only where"):
            rl.render(refused, "einops")
