"""Checkpoints that lie in pieces: torch's DCP folders, DCP's safetensors with their offsets, and Hugging Face's shards.

Every tensor is a buffer that tells its pieces; gaps between them and overlaps are troubles. Nothing but headers is
read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from ..elements.types import Element
from ..errors import LayoutError
from ..files.containers.dcp import METADATA, read_saved
from ..files.containers.safetensors import CONTAINER as SAFETENSORS
from ..files.containers.shards import SUFFIX
from ..files.contents import nbytes
from ..layout.layout import Layout
from .artefact import Artefact
from .move import Buffer, Found, Side

OFFSETS = "DCP_SHARDING_INFO"
"""The key of a file's metadata under which torch writes at which offset of its tensor a piece begins."""

MOST_PARTS = 4096
"""The gaps of a tensor of more pieces are counted, not named."""

Box = tuple[tuple[int, ...], tuple[int, ...]]
"""The offsets and the sizes of a piece."""


class SavedPiece(NamedTuple):
    """A piece of a tensor: its box, and the file that holds it, or None."""

    box: Box
    file: Path | None


class CheckpointReader:
    """Reads what is saved where."""

    kind = "checkpoint"
    title = "checkpoint"
    EXAMPLES: tuple[str, ...] = ()

    def recognises(self, artefact: Artefact) -> bool:
        path = artefact.path
        if path is None:
            return False
        if path.is_dir():
            return (path / METADATA).is_file() or any(path.glob("*.safetensors"))
        if path.name == METADATA or path.name.endswith(SUFFIX):
            return True
        return artefact.head[8:10] == b'{"' and 0 < int.from_bytes(artefact.head[:8], "little") < 1 << 40

    def read(self, artefact: Artefact) -> Iterator[Found]:
        path = artefact.path
        if path is None:
            yield artefact.trouble("a checkpoint is a folder or a file, not a text")
            return
        folder = path if path.is_dir() else path.parent
        if path.name == METADATA or (path.is_dir() and (path / METADATA).is_file()):
            yield from _read_dcp(artefact, folder / METADATA)
        elif path.is_dir() or path.name.endswith(SUFFIX):
            index = path if path.is_file() else next(iter(sorted(folder.glob(f"*{SUFFIX}"))), None)
            yield from _read_files(artefact, sorted(folder.glob("*.safetensors")), index)
        else:
            yield from _read_files(artefact, [path], None)


READER = CheckpointReader()


def _read_dcp(artefact: Artefact, file: Path) -> Iterator[Found]:
    for name, saved in read_saved(file):
        if saved is not None:
            pieces = [SavedPiece(box, place.file if place else None) for box, place in saved.parts if prod(box[1])]
            for _, place in saved.parts:
                if place is not None and place.start + place.size > _file_size(place.file):
                    yield artefact.trouble(f"{place.file.name} ends before its piece in it does", name=name)
            yield from _tensor(artefact, name, saved.element, saved.shape, pieces)


def _file_size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


def _read_files(artefact: Artefact, files: list[Path], index: Path | None) -> Iterator[Found]:
    """Files of tensors, some of which are pieces where the metadata have their offsets."""
    found: dict[str, tuple[Element, list[SavedPiece]]] = {}
    for file in files:
        try:
            source = SAFETENSORS.read(file)
            offsets = _offsets(source.metadata)
        except LayoutError as error:
            yield artefact.trouble(error.message, name=file.name)
            continue
        for name, stored in source.items():
            start = offsets.get(name, (0,) * len(stored.shape))
            if len(start) != len(stored.shape):
                yield artefact.trouble(f"its offsets {start} in {file.name} do not fit {stored.shape}", name=name)
                continue
            element, pieces = found.setdefault(name, (stored.element, []))
            if element != stored.element:
                yield artefact.trouble(f"it is {element.name}, and {stored.element.name} in {file.name}", name=name)
            elif prod(stored.shape):
                pieces.append(SavedPiece((start, stored.shape), file))
    for name, (element, pieces) in found.items():
        boxes = [piece.box for piece in pieces]
        ends = [[o + n for o, n in zip(*box)] for box in boxes]
        if len({len(end) for end in ends}) > 1:
            yield artefact.trouble("its pieces have different ranks", name=name)
        else:
            yield from _tensor(artefact, name, element, tuple([max(sizes) for sizes in zip(*ends)]), pieces)
    if index is not None:
        yield from _check_index(artefact, index, {name: p for name, (_, p) in found.items()})


def _offsets(metadata: Any) -> dict[str, tuple[int, ...]]:
    try:
        told = json.loads(metadata.get(OFFSETS, "{}"))
        return {name: tuple([int(n) for n in entry["saved_offsets"]]) for name, entry in told.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise LayoutError(f"its metadata {OFFSETS} cannot be read.", hint="save it again with torch") from None


def _check_index(artefact: Artefact, index: Path, found: dict[str, list[SavedPiece]]) -> Iterator[Found]:
    try:
        places = json.loads(index.read_text())["weight_map"]
        pairs = [(str(name), str(file)) for name, file in places.items()]
    except (ValueError, TypeError, KeyError, AttributeError):
        yield artefact.trouble(f"{index.name} has no weight_map of names to files")
        return
    for name, file in pairs:
        if not any(piece.file is not None and piece.file.name == file for piece in found.get(name, ())):
            yield artefact.trouble(f"{index.name} says that it is in {file}, where it is not", name=name)
    for name in sorted(set(found) - set(places)):
        yield artefact.trouble(f"{index.name} does not name it", name=name)


# ---- pieces, gaps and overlaps ---------------------------------------------------------------------------


def _tensor(
    artefact: Artefact, name: str, element: Element, shape: tuple[int, ...], pieces: list[SavedPiece]
) -> Iterator[Found]:
    """The tensor with its pieces, then what is wrong with them."""
    files = {piece.file for piece in pieces if piece.file is not None}
    gaps, overlaps = find_gaps(shape, [piece.box for piece in pieces])
    width = element.bits / 8
    lost = [f"no file has its piece {box_text(*p.box)}" for p in pieces if p.file is None or not p.file.is_file()]
    wrong = [f"no piece has {box_text(*gap)}: a gap" for gap in gaps]
    wrong += [f"two pieces have {box_text(*box)}: an overlap" for box in overlaps]
    details = {
        "pieces": len(pieces),
        "files": len(files),
        "gap_bytes": int(sum([prod(sizes) for _, sizes in gaps]) * width),
        "overlap_bytes": int(sum([prod(sizes) for _, sizes in overlaps]) * width),
        "boxes": [box_text(*piece.box) for piece in pieces[:64]],
    }
    remarks = [f"{len(pieces)} pieces in {len(files)} files"] if len(pieces) > 1 else []
    remarks += ["gaps"] * bool(gaps) + ["overlaps"] * bool(overlaps)
    side = Side("row-major", Layout.row_major(shape), element, reserved=nbytes(element, shape))
    yield Buffer(artefact.place(0, name), side, shape, "tensor", name, tuple(remarks), details)
    for message in lost + wrong:
        yield artefact.trouble(message, name=name)


def find_gaps(shape: tuple[int, ...], boxes: list[Box]) -> tuple[list[Box], list[Box]]:
    """The boxes of a tensor that no piece has, and those that a piece has after another one; exact for any pieces.

    >>> find_gaps((4, 4), [((0, 0), (2, 4)), ((1, 0), (2, 2))])
    ([((2, 2), (1, 2)), ((3, 0), (1, 4))], [((1, 0), (1, 2))])
    """
    left: list[Box] = [((0,) * len(shape), shape)] if prod(shape) else []
    twice: list[Box] = []
    for number, box in enumerate(boxes[:MOST_PARTS]):
        twice += [common for other in boxes[:number] if (common := _common(box, other)) is not None]
        left = [part for rest in left for part in _without(rest, box)]
    return sorted(left), sorted(twice)


def _common(a: Box, b: Box) -> Box | None:
    starts = tuple([max(x, y) for x, y in zip(a[0], b[0])])
    ends = [min(x + n, y + m) for x, n, y, m in zip(a[0], a[1], b[0], b[1])]
    sizes = tuple([end - start for start, end in zip(starts, ends)])
    return (starts, sizes) if all(n > 0 for n in sizes) else None


def _without(box: Box, hole: Box) -> Iterator[Box]:
    """The parts of a box outside another one."""
    common = _common(box, hole)
    if common is None:
        yield box
        return
    starts, sizes = list(box[0]), list(box[1])
    for d, (start, size) in enumerate(zip(*common)):
        before, after = start - starts[d], starts[d] + sizes[d] - start - size
        if before:
            yield tuple(starts), (*sizes[:d], before, *sizes[d + 1 :])
        if after:
            yield (*starts[:d], start + size, *starts[d + 1 :]), (*sizes[:d], after, *sizes[d + 1 :])
        starts[d], sizes[d] = start, size


def box_text(offsets: tuple[int, ...], sizes: tuple[int, ...]) -> str:
    """A box as numpy slices write it.

    >>> box_text((0, 4), (2, 4))
    '[0:2, 4:8]'
    """
    return f"[{', '.join([f'{start}:{start + n}' for start, n in zip(offsets, sizes)])}]"
