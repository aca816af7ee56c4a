"""Every packed weight of the catalog against what its vendor's own code made of the same codes.

The vectors were recorded by ``packed_vectors/record.py``.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

import relayout as rl
from relayout import catalog
from relayout.format import packed_formats
from relayout.format.entries import read_table

sys.path.insert(0, str(Path(__file__).parent / "packed_vectors"))
from recipe import Vector, from_memory, in_memory, recorded

VECTORS = list(recorded())
ENTRIES, OTHERS = read_table(packed_formats.TABLE)


def test_every_entry_is_judged_at_two_shapes_that_are_not_square() -> None:
    shapes = {(name, bits): set() for name in ENTRIES for bits in widths(name)}
    for v in VECTORS:
        shapes[v.entry, v.bits].add(v.shape)
    assert not [form for form, tried in shapes.items() if len(tried) < 2]
    assert all(v.shape[0] != v.shape[1] for v in VECTORS)


def widths(name: str) -> list[int]:
    """The widths of the elements that an entry is for."""
    return [bits or form.element_bits for bits, form in ENTRIES[name].forms.items()]


def packed(name: str, codes: np.ndarray, bits: int) -> bytes:
    """The codes in that order, by this library."""
    got = rl.repack(
        in_memory(codes, bits), catalog.get(name, bits), src="0 1", shape=codes.shape, element=f"uint{bits}"
    )
    return bytes(np.ascontiguousarray(got).view(np.uint8).tobytes())


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{v.entry}-{v.bits}-{v.shape}-{v.judge.split()[0]}" for v in VECTORS])
def test_an_entry_packs_as_its_vendor_does(vector: Vector) -> None:
    made = packed(vector.entry, vector.codes(), vector.bits)
    whole = vector.bytes()
    if whole is not None:
        assert np.array_equal(from_memory(made, vector.bits), from_memory(whole, vector.bits))
    assert hashlib.sha256(made).hexdigest() == vector.sha256
