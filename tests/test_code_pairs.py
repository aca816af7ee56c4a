"""Twenty random pairs in every target language that runs here, bit for bit; ``code_pairs.py`` runs more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_pairs import judge
from code_runners import RUNNERS
from relayout.codegen.targets import target_names


@pytest.mark.parametrize("target", RUNNERS)
def test_random_pairs_come_out_bit_for_bit(target: str, tmp_path: Path) -> None:
    missing = RUNNERS[target].missing()
    if missing:
        pytest.skip(f"NO {target} CODE TESTS: {missing}")
    report = judge(target, 20, 21, tmp_path)
    assert not report.wrong, report
    assert report.moved == 20, report


def test_every_target_has_a_runner_or_says_why_none() -> None:
    assert set(RUNNERS) <= set(target_names())
