"""Entry points of other packages: found as Python's own reader finds them, wherever they are installed."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from relayout.plugins import entry_points_of


def _install(folder: Path, package: str, text: str, kind: str = "dist-info") -> None:
    made = folder / f"{package}-1.0.{kind}"
    made.mkdir(parents=True)
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text(text)


def test_every_group_is_what_python_reads() -> None:
    groups = ["relayout.dialects", "relayout.formats", "relayout.containers", "relayout.targets", "relayout.nothing"]
    for group in groups:
        expected = sorted(entry_points(group=group), key=lambda point: point.name)
        assert [(p.name, p.value) for p in entry_points_of(group)] == [(p.name, p.value) for p in expected]


@pytest.mark.parametrize("kind", ["dist-info", "egg-info"])
def test_a_package_that_comes_to_the_path_is_found(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = f"relayout.seen_{kind[:4].strip('-')}"
    assert entry_points_of(group) == []
    _install(tmp_path, "acme", f"[{group}]\nzebra = acme:Z\nant = acme:A\n", kind)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [(p.name, p.value) for p in entry_points_of(group)] == [("ant", "acme:A"), ("zebra", "acme:Z")]


def test_a_package_in_an_archive_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "acme.zip", "w") as archive:
        archive.writestr("acme-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
        archive.writestr("acme-1.0.dist-info/entry_points.txt", "[relayout.zipped]\nant = acme:A\n")
    monkeypatch.syspath_prepend(str(tmp_path / "acme.zip"))
    assert [p.name for p in entry_points_of("relayout.zipped")] == ["ant"]


def test_a_finder_of_its_own_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        asked = 0

        @classmethod
        def find_spec(cls, *_: object) -> None:
            return None

        @classmethod
        def find_distributions(cls, *_: object) -> list[object]:
            cls.asked += 1
            return []

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert entry_points_of("relayout.nothing") == []
    assert Finder.asked
