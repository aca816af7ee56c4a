"""Tensors that containers are tried with: every type, odd shapes, records and names, judged by numpy's arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..elements.interface import ScaleOffset
from ..elements.types import ELEMENTS, element
from ..files.checksums import write_checksums
from ..files.contents import Destination, PlannedTensor, nbytes
from ..files.record import LayoutRecord
from ..layout.layout import Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

ODD_NAMES = (
    *(
        "a/b",
        "a.b",
        "ä你好",
        "with space",
        " x",
        "x ",
        "-x",
        "__metadata__",
        "relayout",
        "zarr.json",
        "c",
        '"',
        "{}",
        "#",
    ),
    *("a\\b", "a:b", "a\nb", "a\tb", "a\0b", "a=b", "a,b", "", ".", "..", "../up", "/abs", "a//b", "a/", "n" * 300),
)
"""Names that a container keeps as they are, or refuses."""

METADATA = {"made": "by hand", "größe": 'two\nlines, "quoted"', "empty": ""}


class SampleTensor(NamedTuple):
    """A tensor to be written: its plan, its bytes, and the logical array that numpy makes of them.

    There is no such array where numpy lacks the type.
    """

    planned: PlannedTensor
    data: bytes
    logical: NDArray[Any] | None


def noise_sample(name: str, dtype: str, shape: tuple[int, ...], record: LayoutRecord | None = None) -> SampleTensor:
    """A tensor of noise, which numpy reads as a row-major array where it knows the type."""
    import numpy as np

    kind = element(dtype)
    data = np.random.default_rng(len(name)).bytes(nbytes(kind, shape))
    known = kind.bits % 8 == 0 and dtype in np.sctypeDict
    array: NDArray[Any] | None = np.frombuffer(data, dtype).reshape(shape) if known else None
    return SampleTensor(PlannedTensor(name, kind, shape, record), data, array)


def plain_file(single: bool) -> list[SampleTensor]:
    """What every container takes that is written at all."""
    several = [("x", "float32", (3, 4)), ("y", "uint8", (5,)), ("z", "int64", (2, 1, 2))]
    return [noise_sample(*each) for each in several[: 1 if single else None]]


def sample_files(single: bool) -> Iterator[tuple[str, list[SampleTensor]]]:
    """The tensors of many files, each with a word on what it tries."""
    for dtype in [name for name, kind in ELEMENTS.items() if kind.underlying == kind]:
        yield f"{dtype} of shape (3, 8)", [noise_sample("x", dtype, (3, 8))]
    for shape in ((), (0,), (3, 0, 2), (1,), (5,), (2, 3, 5), (1, 2) * 4):
        for dtype in ("float32", "int4"):
            yield f"{dtype} of shape {shape}", [noise_sample("x", dtype, shape)]
    yield from _recorded_files()
    if not single:
        kinds = ("uint8", "float64", "int16", "bfloat16", "bool")
        yield "several tensors", [noise_sample(f"layer.{k}.w", kind, (2, k + 1)) for k, kind in enumerate(kinds)]
        yield "no tensors", []


def _recorded_files() -> Iterator[tuple[str, list[SampleTensor]]]:
    import numpy as np

    def sample(layout: Layout, shape: tuple[int, ...]) -> tuple[SampleTensor, NDArray[Any]]:
        made = noise_sample("x", "int16", shape, LayoutRecord.of(layout, layout.extents, axes="hw", fill=7))
        return made, np.frombuffer(made.data, "int16").reshape(shape)

    columns, stored = sample(Layout.col_major((3, 4)), (4, 3))
    yield "a record of column-major order", [columns._replace(logical=stored.T)]
    # 3x7 elements in two by two blocks of 2x4.
    blocks, stored = sample(Layout(((2, 2), (4, 2)), ((4, 16), (1, 8)), extents=(3, 7)), (2, 2, 2, 4))
    yield "a record of padded blocks", [blocks._replace(logical=stored.transpose(0, 2, 1, 3).reshape(4, 8)[:3, :7])]
    scales = ScaleOffset([0.5, 2.0], [3, 4], "quint8", axis=0)
    record = LayoutRecord.of(Layout.row_major((2, 4)), (2, 4), scales)
    yield "a record of scales", [noise_sample("x", "uint8", (2, 4), record)]


def write_destination(destination: Destination, data: Mapping[str, bytes]) -> None:
    """Write every file of a plan: its size, its bytes that are no tensor's, the tensors, the checksums."""
    for path, (size, pieces) in destination.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(size)
            for start, piece in pieces.items():
                file.seek(start)
                file.write(piece)
    for name, segments in destination.entries.items():
        done = 0
        for segment in segments:
            with segment.file.open("r+b") as file:
                file.seek(segment.start)
                file.write(data[name][done : done + segment.size])
            done += segment.size
    write_checksums(destination)
