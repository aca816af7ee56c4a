"""The checks on a real device; without one they are skipped, and say so."""

from __future__ import annotations

import pytest

from gpu_checks import CHECKS

torch = pytest.importorskip("torch")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: kernels are not run on one")
@pytest.mark.parametrize("name", CHECKS)
def test_on_a_device(name: str) -> None:
    assert CHECKS[name]() > 0
