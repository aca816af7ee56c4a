"""Runs the vendors' own packers on the codes of the recipe and records what they made.

``python tests/packed_vectors/record.py CHECKOUTS [FAMILY ...]``: CHECKOUTS is a folder with the vendors' repositories,
each under its own name. What a family of packers records takes the place of its former vectors; the rest stays.
"""

from __future__ import annotations

import sys
from pathlib import Path

import far_packers
import library_packers
import python_packers
from recipe import codes, recorded, vector, write


def main(checkouts: Path, *wanted: str) -> None:
    kept = {(v.entry, v.judge, v.bits, v.shape): v for v in recorded()}
    families = {
        family.__name__: family
        for family in (*python_packers.FAMILIES, *far_packers.FAMILIES, *library_packers.FAMILIES)
    }
    for name in wanted or families:
        for case in families[name](checkouts):
            for seed, shape in enumerate(case.shapes, start=1):
                packed = case.pack(codes(shape, case.bits, seed, case.below))
                made = vector(case.entry, case.bits, shape, seed, case.below, case.judge, packed)
                kept[made.entry, made.judge, made.bits, made.shape] = made
    write(list(kept.values()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
