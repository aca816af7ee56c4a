"""The laws of containers: what is planned and written is read back to the bit, and everything else is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from random import Random
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ..elements.types import element
from ..errors import BadFile, shown
from ..files.container import Container
from ..files.contents import Destination, PlannedTensor, Source, nbytes
from ..files.jobs.repack_file import repack_file
from ..files.jobs.verify import verify
from ..files.mapped import TensorFile
from ..files.registry import container_named, container_of, names
from ..layout.layout import Layout
from .container_samples import (
    METADATA,
    ODD_NAMES,
    SampleTensor,
    noise_sample,
    plain_file,
    sample_files,
    write_destination,
)
from .laws import Attempt, Law, check_laws

MAX_CUTS = 40
"""At so many places at most a file is cut, and changed."""

MAX_HEADER_BYTES = 1 << 20
"""The plan of one tensor has at most so many bytes that are not the tensor's, however large it is."""


class Case(NamedTuple):
    """A container, a folder for its files, and files that others made."""

    container: Container
    folder: Path
    samples: tuple[Path, ...]

    def path(self, suffix: str | None = None) -> Path:
        """A path of the container's in a folder of its own."""
        inside = self.folder / f"{len(list(self.folder.iterdir()))}"
        inside.mkdir()
        return inside / f"x{self.container.suffixes[0] if suffix is None else suffix}"


def find_container(x: Any) -> Container | None:
    """The container that ``x`` is, or that it names."""
    if isinstance(x, str):
        return container_named(x) if x in names() else None
    found: Container | None = (
        x if all(hasattr(x, word) for word in ("suffixes", "recognises", "read", "plan")) else None
    )
    return found


def check_container(container: Container, samples: Iterable[str | PathLike[str]] = ()) -> None:
    """Hold a container against every law that is for it."""
    laws = READ_LAWS + (WRITE_LAWS if container.writable else (read_only,))
    with TemporaryDirectory() as folder:
        case = Case(container, Path(folder), tuple([Path(sample) for sample in samples]))
        check_laws(f"the container {shown(container.name)}", case, laws)


# ---- what every container keeps --------------------------------------------------------------------------


def declaration(case: Case) -> Iterator[str]:
    """Its name and suffixes are its own."""
    container = case.container
    if not re.fullmatch(r"[a-z][a-z0-9_]*", container.name):
        yield f"its name is {shown(container.name)}, and no word of lower-case letters"
    if container.name in names() and container_named(container.name) is not container:
        yield f"another container is called {container.name}"
    if not isinstance(container.suffixes, tuple) or not container.suffixes:
        yield f"its suffixes are {shown(container.suffixes)}, and no tuple of texts"
        return
    for suffix in container.suffixes:
        if not re.fullmatch(r"(\.[\w-]+)+", suffix):
            yield f"its suffix {shown(suffix)} is none: it begins with a dot"
        with Attempt() as found:
            other = container_of(f"x{suffix}")
            if other is not container:
                yield f"its suffix {suffix} is that of {other.name}"
        if found.refusal is not None and container.name in names():
            yield f"its suffix {suffix} is not recognised"


def absent_files(case: Case) -> Iterator[str]:
    """A file that is not there, and a folder of nothing, are refused."""
    path = case.path()
    yield from _expect_refusal(case, path, "a path where nothing is")
    path.mkdir()
    yield from _expect_refusal(case, path, "an empty folder")


def garbage(case: Case) -> Iterator[str]:
    """Bytes that are no such file are refused."""
    random = Random(0)
    contents = [b"", b"\0", bytes(1000), b"\xff" * 100, b"{}", b"hello\n" * 20]
    contents += [random.randbytes(n) for n in (1, 7, 8, 9, 64, 1000)]
    for content in contents:
        path = case.path()
        path.write_bytes(content)
        yield from _expect_refusal(case, path, f"a file of {shown(content)}")


def damage(case: Case) -> Iterator[str]:
    """A file that is cut off is refused, or read as if nothing were missing; one that is changed never crashes."""
    for path, files in _valid_files(case):
        with Attempt() as whole:
            before, stored = _load(case.container, path)
        if not whole.accepted:
            yield f"the valid file {path.name} is not read: {whole.told}"
            continue
        for file in files:
            content = file.read_bytes()
            for length in _places(len(content)):
                file.write_bytes(content[:length])
                yield from _cut_off(case, path, f"{file.name} with {length} of {len(content)} bytes", before, stored)
            for at in _places(len(content)):
                for value in (0, content[at] ^ 1, 0xFF):
                    file.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
                    with Attempt() as reading:
                        _load(case.container, path)
                    yield from _check_refusal(reading, f"{file.name} with {value} in place of byte {at}")
            file.write_bytes(content)


READ_LAWS: tuple[Law[Case], ...] = (declaration, absent_files, garbage, damage)


def _valid_files(case: Case) -> Iterator[tuple[Path, list[Path]]]:
    """Files that may be read and spoilt: copies of the samples, and one that the container plans."""
    for sample in case.samples:
        copy = case.path().with_name(sample.name)
        if sample.is_dir():
            copytree(sample, copy)
            yield copy, [file for file in copy.rglob("*") if file.is_file()]
        else:
            copy.write_bytes(sample.read_bytes())
            yield copy, [copy]
    if case.container.writable:
        path = case.path()
        samples = plain_file(case.container.single)
        destination = case.container.plan(path, [sample.planned for sample in samples], METADATA)
        write_destination(destination, {sample.planned.name: sample.data for sample in samples})
        yield path, [file for file, (size, _) in destination.files.items() if size]


def _places(size: int) -> list[int]:
    """Some of the bytes of a file: its first, its last, and others all over it."""
    return sorted({*range(min(size, 8)), *range(0, size, max(size // MAX_CUTS, 1)), size - 1})


def _cut_off(case: Case, path: Path, what: str, before: Source, stored: dict[str, bytes]) -> Iterator[str]:
    with Attempt() as reading:
        after, data = _load(case.container, path)
        if (dict(after), after.metadata, data) != (dict(before), before.metadata, stored):
            yield f"{what} is read as something else"
    yield from _check_refusal(reading, what)


def _expect_refusal(case: Case, path: Path, what: str) -> Iterator[str]:
    """How it breaks the law that ``path`` is refused."""
    with Attempt() as recognition:
        if case.container.recognises(path):
            yield f"{what} is recognised"
    if recognition.crash is not None:
        yield f"{what} crashes recognises(): {recognition.told}"
    with Attempt() as reading:
        _load(case.container, path)
    if reading.accepted:
        yield f"{what} is accepted"
    yield from _check_refusal(reading, what)


def _check_refusal(attempt: Attempt, what: str) -> Iterator[str]:
    """A refusal is ``BadFile``, names the file, and has a hint."""
    error = attempt.refusal
    if attempt.crash is not None:
        yield f"{what} crashes: {attempt.told}"
    elif error is not None and not (isinstance(error, BadFile) and error.hint and error.file is not None):
        yield f"{what} is refused by {type(error).__name__} {error.message!r}, no BadFile with its file and a hint"


def _load(container: Container, path: Path) -> tuple[Source, dict[str, bytes]]:
    """What a file holds, and the stored bytes of every tensor, read as plain files are."""
    source = container.read(path)
    stored = {}
    for name, tensor in source.items():
        parts = [] if tensor.inline is None else [tensor.inline]
        for segment in tensor.segments:
            with segment.file.open("rb") as file:
                file.seek(segment.start)
                parts.append(file.read(segment.size))
        stored[name] = b"".join(parts)
        _ = tensor.interface, tensor.layout
    return source, stored


# ---- what those keep that are written --------------------------------------------------------------------


def read_only(case: Case) -> Iterator[str]:
    """What is not written refuses a plan."""
    with Attempt() as planning:
        case.container.plan(case.path(), [noise_sample("x", "uint8", (1,)).planned])
    if planning.accepted:
        yield "a plan is made"
    yield from _check_refusal(planning, "a plan")


def round_trip(case: Case) -> Iterator[str]:
    """What is planned and written is read back, with names, types, shapes, records, metadata and every byte."""
    yield from _written_and_read(case, "a plain file", plain_file(case.container.single), must=True)
    for what, samples in sample_files(case.container.single):
        yield from _written_and_read(case, what, samples)


def _written_and_read(case: Case, what: str, samples: Sequence[SampleTensor], must: bool = False) -> Iterator[str]:
    path = case.path()
    with Attempt() as planning:
        destination = case.container.plan(path, [sample.planned for sample in samples], METADATA)
    yield from _check_refusal(planning, what)
    if not planning.accepted:
        if must:
            yield f"{what} is refused: {planning.refusal}"
        return
    yield from _sound(destination, path, what, [sample.planned for sample in samples])
    with Attempt() as reading:
        write_destination(destination, {sample.planned.name: sample.data for sample in samples})
        source, stored = _load(case.container, path)
        yield from _same(case, what, samples, source, stored)
    if not reading.accepted:
        yield f"{what} is written, and not read back: {reading.refusal or reading.told}"


def _same(
    case: Case, what: str, samples: Sequence[SampleTensor], source: Source, stored: dict[str, bytes]
) -> Iterator[str]:
    """How what was read differs from what was written."""
    expected = [source.path.stem] if case.container.single else [sample.planned.name for sample in samples]
    if sorted(source) != sorted(expected):
        yield f"{what} has the names {shown(tuple(source))}, not {shown(tuple(expected))}"
        return
    if source.kind != case.container.name:
        yield f"{what} has the kind {shown(source.kind)}"
    if source.metadata != METADATA:
        yield f"{what} has the metadata {shown(source.metadata)}, not {shown(METADATA)}"
    with TensorFile(source) as tensors:
        for name, (planned, data, logical) in zip(expected, samples):
            found, record = source[name], planned.record
            shape = planned.shape if record is None else record.shape
            kind = planned.element if record is None else record.interface_of(planned.element).element
            if stored[name] != data:
                yield f"{what} has other bytes"
            if (found.layout.extents, found.interface.element) != (shape, kind):
                yield f"{what} has shape {found.layout.extents} of {found.interface.element.name}"
            elif record is None and not found.layout.equivalent(Layout.row_major(shape)):
                yield f"{what} has the layout {found.layout}"
            elif record is not None and _meaning(found.record) != _meaning(record):
                yield f"{what} has the record {found.record}, not {record}"
            elif logical is not None and tensors[name].stored().tobytes() != logical.tobytes():
                yield f"{what} has other elements than numpy's"


def _meaning(record: Any) -> Any:
    """All that a record tells but for the interface, which a container may have to add."""
    return None if record is None else record._replace(interface=None)


def _sound(destination: Destination, path: Path, what: str, planned: Sequence[PlannedTensor]) -> Iterator[str]:
    """Every planned byte is in a file of the destination, in its folder, and is planned once."""
    used: dict[Path, list[tuple[int, int]]] = {file: [] for file in destination.files}
    for file, (_, pieces) in destination.files.items():
        if ".." in file.parts or not (file.parent == path.parent or path in file.parents):
            yield f"{what} is planned outside of its folder, at {file}"
        used[file] += [(start, start + len(piece)) for start, piece in pieces.items()]
    for tensor in planned:
        segments = destination.entries.get(tensor.name)
        if segments is None or sum([s.size for s in segments]) != nbytes(tensor.element, tensor.shape):
            yield f"{what} has no place for the bytes of {shown(tensor.name)}"
            continue
        for segment in segments:
            used.setdefault(segment.file, []).append((segment.start, segment.start + segment.size))
    for file, spans in used.items():
        size = destination.files[file][0] if file in destination.files else -1
        filled = sorted([span for span in spans if span[0] < span[1]])
        if any(low < 0 or high > size for low, high in filled):
            yield f"{what} goes beyond the {size} bytes of {file.name}"
        if any(second[0] < first[1] for first, second in pairwise(filled)):
            yield f"{what} plans bytes of {file.name} twice"


def odd_names(case: Case) -> Iterator[str]:
    """An odd name is kept or refused; a name that is there twice is refused."""
    if case.container.single:
        return
    for name in ODD_NAMES:
        yield from _written_and_read(case, f"the name {shown(name)}", [noise_sample(name, "uint8", (3,))])
    twice = [noise_sample("x", "uint8", (3,)).planned] * 2
    with Attempt() as planning:
        case.container.plan(case.path(), twice)
    if planning.accepted:
        yield "two tensors of one name are planned"
    yield from _check_refusal(planning, "two tensors of one name")


def determinism(case: Case) -> Iterator[str]:
    """Equal tensors make equal bytes, wherever the file is."""
    planned = [sample.planned for sample in plain_file(case.container.single)]
    plans = []
    for path in (case.path(), case.path()):
        destination = case.container.plan(path, planned, METADATA)
        plans.append({str(file.relative_to(path.parent)): content for file, content in destination.files.items()})
    if plans[0] != plans[1]:
        yield "two plans of the same tensors differ"


def size_independence(case: Case) -> Iterator[str]:
    """A plan of a terabyte holds no more than headers."""
    planned = PlannedTensor("x", element("uint8"), (1 << 20, 1 << 20))
    path = case.path()
    with Attempt() as planning:
        destination = case.container.plan(path, [planned])
        headers = sum([len(piece) for _, pieces in destination.files.values() for piece in pieces.values()])
        if headers > MAX_HEADER_BYTES:
            yield f"its plan holds {headers} bytes"
        yield from _sound(destination, path, "it", [planned])
    yield from _check_refusal(planning, "it")


def repacked_files(case: Case) -> Iterator[str]:
    """``repack_file`` writes it, ``verify`` compares it, and back again numpy finds what it gave."""
    import numpy as np

    if case.container.name not in names():
        return
    first, second, third = case.path(".npy"), case.path(), case.path(".npy")
    x = np.arange(9 * 9 * 40, dtype=np.uint16).reshape(1, 9, 9, 40)
    np.save(first, x)
    with Attempt() as moving:
        report = repack_file(first, second, to="nChw16c", jobs=1)
        if report.total != 1 * 16 * 9 * 40 * 2:
            yield f"{report.total} bytes were written"
        if not (verdict := verify(first, second)):
            yield f"what was repacked differs: {verdict}"
        repack_file(second, third, jobs=1)
        if not np.array_equal(np.load(third), x):
            yield "what was repacked back is another array"
    if not moving.accepted:
        yield f"the repack ends early: {moving.refusal or moving.told}"


WRITE_LAWS: tuple[Law[Case], ...] = (
    round_trip,
    odd_names,
    determinism,
    size_independence,
    repacked_files,
)
