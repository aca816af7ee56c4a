"""The compiled loops over nested tuples give what the pure ones give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relayout.integers import nested
from relayout.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled core is not built")

INTEGERS = st.one_of(st.integers(-3, 9), st.sampled_from([2**62, 2**63, 2**64, -(2**63), -(2**64), 2**200]))
LEAVES = st.one_of(INTEGERS, st.booleans(), st.none(), st.floats(allow_nan=False), st.just([1]), st.just("x"))


def trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)


@given(trees(LEAVES))
def test_flatten(t: Any) -> None:
    assert native is not None
    assert native.flatten(t) == nested._flatten(t)


@given(trees(INTEGERS))
def test_product(t: Any) -> None:
    assert native is not None
    assert native.product(t) == nested._product(t)
    with pytest.raises(TypeError):
        native.product((t, None))


@given(st.one_of(trees(INTEGERS).map(lambda t: (t, t)), st.tuples(trees(LEAVES), trees(LEAVES))))
def test_is_plain_pair(pair: tuple[Any, Any]) -> None:
    assert native is not None
    assert native.is_plain_pair(*pair) == nested._is_plain_pair(*pair)


def test_the_depth_limit_is_the_same() -> None:
    assert native is not None
    t: Any = 2
    for level in range(70):
        assert native.is_plain_pair(t, t) == nested._is_plain_pair(t, t) == (level <= nested.MAX_DEPTH)
        t = (t,)
