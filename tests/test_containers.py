"""The laws of containers: every one that is installed keeps them, and the kit finds what a faulty one breaks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from file_support import dcp_folder, store, valid_files
from relayout.files import registry
from relayout.files.container import Container
from relayout.files.containers.safetensors import Safetensors
from relayout.files.contents import Destination, PlannedTensor, Segment, Source
from relayout.files.registry import container_named, container_of, names, open_source, suffixes
from relayout.testing import ConformanceError, conformance

ROOT = Path(__file__).parents[1]
NUMBERS = count()


@pytest.mark.parametrize("name", names())
def test_every_container_conforms(tmp_path: Path, name: str) -> None:
    samples = [] if container_named(name).writable else [valid_files(tmp_path) | {"dcp": dcp_folder(tmp_path / "dcp")}]
    conformance(name, samples=[files[name] for files in samples])


# ---- containers that break one law each ------------------------------------------------------------------


class Sound(Safetensors):
    """A container that is not registered, and keeps all laws."""

    name = "sound"
    suffixes = (".sound",)


class TakenName(Sound):
    name = "npy"


class TakenSuffix(Sound):
    suffixes = (".sound", ".npz")


class NoDot(Sound):
    suffixes = ("sound",)


class Crashing(Sound):
    def read(self, path: Path) -> Source:
        if path.is_file() and path.read_bytes()[8:9] != b"{":
            raise ValueError("no header")
        return super().read(path)


class Credulous(Sound):
    def read(self, path: Path) -> Source:
        return super().read(path) if path.is_file() and path.stat().st_size > 8 else Source(path, self.name, {}, {})


class Careless(Sound):
    """It takes the sizes that the file says for those that it has."""

    def read(self, path: Path) -> Source:
        size = 8 + int.from_bytes(path.read_bytes()[:8], "little") if path.is_file() else 0
        if not 8 < size < 1 << 20 or size > path.stat().st_size:
            return super().read(path)
        whole = path.with_name("whole")
        whole.write_bytes(path.read_bytes() + bytes(1 << 10))
        header = json.loads(whole.read_bytes()[8:size].decode("latin-1"))
        end = max([told["data_offsets"][1] for name, told in header.items() if name != "__metadata__"], default=0)
        whole.write_bytes(whole.read_bytes()[: size + end])
        return super().read(whole)


class Hintless(Sound):
    def read(self, path: Path) -> Source:
        if path.is_file() and path.stat().st_size < 20:
            raise rl.BadFile("no")
        return super().read(path)


Metadata = Mapping[str, Any] | None


class Forgetful(Sound):
    def plan(self, path: Path, planned: Sequence[PlannedTensor], metadata: Metadata = None) -> Destination:
        return super().plan(path, planned)


class Unrecorded(Sound):
    def plan(self, path: Path, planned: Sequence[PlannedTensor], metadata: Metadata = None) -> Destination:
        return super().plan(path, [p._replace(record=None) for p in planned], metadata)


class Lowering(Sound):
    def plan(self, path: Path, planned: Sequence[PlannedTensor], metadata: Metadata = None) -> Destination:
        made = super().plan(path, [p._replace(name=p.name.strip()) for p in planned], metadata)
        return made._replace(entries={p.name: made.entries[p.name.strip()] for p in planned})


class Overlapping(Sound):
    def plan(self, path: Path, planned: Sequence[PlannedTensor], metadata: Metadata = None) -> Destination:
        made = super().plan(path, planned, metadata)
        moved = {name: tuple([s._replace(start=s.start - 1) for s in parts]) for name, parts in made.entries.items()}
        return made._replace(entries=moved)


class TooShort(Sound):
    def plan(self, path: Path, planned: Sequence[PlannedTensor], metadata: Metadata = None) -> Destination:
        made = super().plan(path, planned, metadata)
        return made._replace(files={file: (size - 1, pieces) for file, (size, pieces) in made.files.items()})


class Wandering(Sound):
    def plan(self, path: Path, planned: Sequence[PlannedTensor], metadata: Metadata = None) -> Destination:
        made = super().plan(path, planned, metadata)
        return made._replace(files={**made.files, path.parent / ".." / "other": (0, {})})


class Counting(Sound):
    def plan(self, path: Path, planned: Sequence[PlannedTensor], metadata: Metadata = None) -> Destination:
        return super().plan(path, planned, {**(metadata or {}), "number": str(next(NUMBERS))})


class Swapping(Sound):
    """It writes every tensor of two bytes an element in the other byte order."""

    def read(self, path: Path) -> Source:
        source = super().read(path)
        swapped = {}
        for name, tensor in source.items():
            (segment,) = tensor.segments
            data = segment.file.read_bytes()[segment.start : segment.start + segment.size]
            if tensor.element.bits == 16:
                tensor = tensor._replace(inline=np.frombuffer(data, "<u2").byteswap().tobytes(), segments=())
            swapped[name] = tensor
        return Source(path, self.name, swapped, source.metadata)


class Materialised(Sound):
    def plan(self, path: Path, planned: Sequence[PlannedTensor], metadata: Metadata = None) -> Destination:
        size = sum([math.prod(p.shape) for p in planned])
        return super().plan(path, planned, {**(metadata or {}), **({"zeros": "0" * (2 << 20)} if size >> 40 else {})})


class ReadOnly(Container):
    name = "reader"
    suffixes = (".reader",)

    def read(self, path: Path) -> Source:
        raise rl.BadFile(f"{path} is read by nobody.", hint="give it up", file=path)


class Planless(ReadOnly):
    """It says that it is read only, and plans."""

    writable = False  # type: ignore[assignment]

    def plan(self, path: Path, planned: Sequence[PlannedTensor], metadata: Metadata = None) -> Destination:
        return Destination({path: (1, {})}, {"x": (Segment(path, 0, 1),)})


FAULTS: list[tuple[type[Container], str]] = [
    (TakenName, "another container is called npy"),
    (TakenSuffix, "its suffix .npz is that of npz"),
    (NoDot, "its suffix 'sound' is none"),
    (Crashing, "crashes: ValueError: no header"),
    (Credulous, "is accepted"),
    (Careless, "is read as something else"),
    (Hintless, "no BadFile with its file and a hint"),
    (Forgetful, "has the metadata {}"),
    (Unrecorded, "a record of column-major order has shape (4, 3)"),
    (Lowering, "the name ' x' has the names"),
    (Overlapping, "twice"),
    (TooShort, "goes beyond"),
    (Wandering, "outside of its folder"),
    (Counting, "two plans of the same tensors differ"),
    (Swapping, "int16 of shape (3, 8) has other bytes"),
    (Materialised, "A plan of a terabyte"),
    (Planless, "a plan is made"),
]


def test_what_keeps_the_laws_passes() -> None:
    conformance(Sound())
    conformance(ReadOnly())


@pytest.mark.parametrize(("faulty", "words"), FAULTS, ids=lambda x: x.__name__ if isinstance(x, type) else "")
def test_what_breaks_a_law_is_told(faulty: type[Container], words: str) -> None:
    with pytest.raises(ConformanceError) as broken:
        conformance(faulty())
    assert any(words in failure for failure in broken.value.failures), str(broken.value)
    assert shown_name(faulty) in str(broken.value)


def shown_name(container: type[Container]) -> str:
    return repr(container.name)


def test_only_what_is_a_container_is_checked() -> None:
    for x in ("no such thing", 3, object()):
        with pytest.raises(rl.ShapeError, match="nothing to check"):
            conformance(x)


# ---- finding them ----------------------------------------------------------------------------------------


def test_files_without_a_suffix_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    files = valid_files(tmp_path)
    for name in ("npy", "npz", "gguf"):
        bare = files[name].rename(tmp_path / f"bare_{name}")
        assert container_of(bare).name == name
        assert len(open_source(bare)) == (1 if name == "npy" else 2)
    for name in ("safetensors", "onnx", "raw"):
        with pytest.raises(rl.BadFile, match="does not tell"):
            open_source(files[name].rename(tmp_path / f"bare_{name}"))


def test_archives_of_others_are_no_npz(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "model", "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    (tmp_path / "short").write_bytes(b"PK\3\4")
    for name in ("model", "short"):
        with pytest.raises(rl.BadFile, match="does not tell"):
            rl.open(tmp_path / name)


def test_a_folder_is_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    store(tmp_path / "a" / "model.safetensors.index.json", {"x": np.arange(3)})
    store(tmp_path / "b.zarr", {"x": np.arange(3)}).rename(tmp_path / "b")
    assert [container_of(tmp_path / name).name for name in "ab"] == ["shards", "zarr"]


def test_no_container_is_called_by_a_name_that_nobody_has() -> None:
    with pytest.raises(rl.ShapeError, match="no container 'hdf5'") as refusal:
        container_named("hdf5")
    assert "safetensors" in refusal.value.hint


def test_the_pages_name_every_suffix() -> None:
    page = (ROOT / "docs" / "files.md").read_text()
    assert [suffix for suffix in suffixes() if f"`{suffix}`" not in page] == []


def test_every_module_of_the_folder_is_listed() -> None:
    folder = Path(registry.__file__).parent / "containers"
    assert sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__") == sorted(registry.BUILT_IN)
