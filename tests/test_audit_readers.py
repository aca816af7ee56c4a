"""All readers on all samples: each sample has one reader, and may be cut, broken, mixed or long."""

from __future__ import annotations

import gc
import json
import random
import tracemalloc
from pathlib import Path

import pytest

import relayout as rl
from relayout.auditing.artefact import Artefact
from relayout.auditing.audit import audit_files, gather
from relayout.auditing.readers import BUILT_IN, reader_named, recognise
from relayout.testing import conformance

DATA = Path(__file__).parent / "data" / "audit"


def takers(path: Path) -> list[str]:
    return [kind for kind in BUILT_IN if reader_named(kind).recognises(Artefact(path))]


FOUND = sorted(DATA.iterdir())
KINDS = {path: kinds for path in FOUND if "judge" not in path.name and (kinds := takers(path))}
"""The artefacts with their readers; what no reader takes is there for other tests."""

SAMPLES = list(KINDS)


def test_a_sample_is_taken_by_one_reader() -> None:
    assert {path.name: kinds for path, kinds in KINDS.items() if len(kinds) > 1} == {}
    assert {kind for kinds in KINDS.values() for kind in kinds} == set(BUILT_IN)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_reader_conforms(kind: str) -> None:
    own = [path for path in SAMPLES if kind in KINDS[path]]
    whole = [path for path in own if not rl.audit(path).troubles]
    smallest = sorted(whole, key=lambda path: path.stat().st_size)[:2]
    assert smallest
    conformance(reader_named(kind), samples=smallest)


@pytest.mark.parametrize("path", [path for path in SAMPLES if path.is_file()], ids=lambda path: path.name)
def test_what_is_cut_or_broken_is_read_as_far_as_it_goes(path: Path, tmp_path: Path) -> None:
    rng = random.Random(path.name)
    reader, content = recognise(Artefact(path)), path.read_bytes()
    file = tmp_path / path.name
    for k in range(6):
        broken = bytearray(content)
        if k % 2:
            del broken[rng.randrange(len(broken)) :]
        else:
            for _ in range(20):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
        file.write_bytes(bytes(broken))
        found = gather(reader, Artefact(file))
        assert found.totals.moves >= 0


def test_kinds_are_mixed_on_one_line() -> None:
    files = [path for path in SAMPLES if path.is_file()]
    audits = audit_files([Artefact(path) for path in files], together=False)
    assert len({audit.kind for audit in audits}) > 3
    assert [audit.file for audit in audits] == [str(path) for path in files]


LINED = {
    "onednn": "onednn_torch.log",
    "triton": "triton_transpose_sm80.ttgir",
    "hlo": "attention.after.hlo",
    "stablehlo": "attention.stablehlo.mlir",
    "mlir": "mlir_blocked.mlir",
    "mil": "coremltools.mil.txt",
    "tvm": "relay.tvm.txt",
}
"""A sample of each kind whose files grow by their lines."""


@pytest.mark.parametrize("kind", LINED)
def test_memory_grows_far_less_than_the_file(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once what is kept is full, more of a file takes far less memory than it has bytes."""
    monkeypatch.setattr("relayout.auditing.flow.WINDOW", 50)
    monkeypatch.setattr("relayout.auditing.audit.KEPT", 50)
    text = (DATA / LINED[kind]).read_text()

    def peak(size: int) -> int:
        file = tmp_path / f"{kind}{size}"
        file.write_text(text * -(-size // len(text)))
        tracemalloc.start()
        rl.audit(file, kind=kind)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    usual = gc.get_threshold()
    gc.set_threshold(100, 2, 2)  # garbage in circles is no memory that is needed
    try:
        peak(10_000)  # compiles patterns, and fills caches
        assert peak(400_000) - peak(50_000) < 200_000
    finally:
        gc.set_threshold(*usual)


@pytest.mark.parametrize("kind", [kind for kind in LINED if kind != "onednn"])
def test_a_cut_text_says_so(kind: str) -> None:
    text = (DATA / LINED[kind]).read_text()
    whole, cut = (rl.audit(x, kind=kind) for x in (text, text[: len(text) * 6 // 10]))
    assert not whole.troubles
    assert cut.troubles
    assert whole.totals.moves >= cut.totals.moves


@pytest.mark.parametrize("name", ["cnn.ort.profile.json", "tensorrt.layers.json"])
def test_json_on_one_long_line_is_read_in_pieces(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / name
    file.write_text(json.dumps(json.loads((DATA / name).read_text())))
    want = rl.audit(DATA / name)
    monkeypatch.setattr("relayout.auditing.artefact.LONGEST_LINE", 1000)
    found = rl.audit(file)
    assert not found.troubles
    assert found.totals == want.totals
