"""Unfinished files: everything is written beside its place, as ``.part``, and gets its name when it is whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

from ...errors import BadFile
from ..contents import Destination, Segment
from ..file_pool import FilePool

SIDECAR = ".relayout.json"
BELONGINGS = {"": (SIDECAR,), ".onnx": (SIDECAR, ".data")}
"""What files of that suffix, or of any, may have beside them, under their own name and one of these suffixes."""


class StagedFiles:
    """The files of a destination, and where they are until they are finished.

    A destination of one or a few files has a ``.part`` beside each; one that is a folder is in a folder of that name.
    """

    def __init__(self, path: Path, final: Destination) -> None:
        self.path, self.final = path, final
        self.is_folder = any(path in file.parents for file in final.files)
        self.part = with_suffix_added(path, ".part")
        self.journal = with_suffix_added(path, ".part.journal")
        self.backup = with_suffix_added(path, ".part.old")
        places = {file: self._staged_path(file) for file in final.files}
        self.renames = {self.part: path} if self.is_folder else {staged: file for file, staged in places.items()}
        self.destination = self._relocate(places)

    def _relocate(self, places: dict[Path, Path]) -> Destination:
        """The destination with its files at those places."""
        return Destination(
            {places[file]: content for file, content in self.final.files.items()},
            {
                name: tuple([Segment(places[s.file], s.start, s.size) for s in segments])
                for name, segments in self.final.entries.items()
            },
            tuple([checksum._replace(file=places[checksum.file]) for checksum in self.final.checksums]),
        )

    def _staged_path(self, file: Path) -> Path:
        return self.part / file.relative_to(self.path) if self.is_folder else with_suffix_added(file, ".part")

    @property
    def existing(self) -> Iterator[Path]:
        """What is there under the final names, and what belongs to a file of that name: its record, and its data."""
        for path in dict.fromkeys([self.path, *self.renames.values(), *self._belongings()]):
            if path.is_symlink() or path.exists():
                yield path

    def _belongings(self) -> list[Path]:
        """Where the record and the data of a file of that name are, if it has them."""
        return [with_suffix_added(self.path, own) for own in BELONGINGS.get(self.path.suffix, BELONGINGS[""])]

    @property
    def owns_folder(self) -> bool:
        """Whether the folder that is there has nothing but files of those names."""
        return all(file in self.final.files for file in self.path.rglob("*") if not file.is_dir())

    def refuse_existing(self) -> None:
        """Raise the error that names what would be overwritten."""
        for path in self.existing:
            raise BadFile(f"{path} exists.", hint="choose another name, or overwrite it with force", file=path)

    @property
    def parts_exist(self) -> bool:
        """Whether there are files of a run that did not finish."""
        return any(path.is_symlink() or path.exists() for path in self.renames)

    @property
    def parts_are_whole(self) -> bool:
        """Whether all unfinished files are there, at their full size."""
        return all(
            file.is_file() and not file.is_symlink() and file.stat().st_size == size
            for file, (size, _) in self.destination.files.items()
        )

    @property
    def is_finished(self) -> bool:
        """Whether all finished files are there, at their full size, and all in them that is no tensor."""
        return all(self._is_whole(file, file) for file in self.final.files)

    @property
    def written_files(self) -> Destination | None:
        """Where everything is, once all is written: each file under its staged or its final name.

        None if one of them is not there, not at its full size, or without what it has besides tensors.
        """
        places = {}
        for file in self.final.files:
            staged = self._staged_path(file)
            renamed = not (self.part if self.is_folder else staged).exists()
            places[file] = file if renamed else staged
            if not self._is_whole(places[file], file):
                return None
        return self._relocate(places)

    def _is_whole(self, place: Path, file: Path) -> bool:
        """Whether there is a regular file of the size, and with the bytes besides tensors, of one of the final ones."""
        size, pieces = self.final.files[file]
        own = place.is_file() and (place == file or not place.is_symlink())
        return own and place.stat().st_size == size and self._has_pieces(place, file, pieces)

    def _has_pieces(self, place: Path, file: Path, pieces: dict[int, bytes]) -> bool:
        """Whether there are those bytes, but for checksums."""
        places = [at for checksum in self.final.checksums if checksum.file == file for at in checksum.at]
        with place.open("rb") as opened:
            for start, data in pieces.items():
                opened.seek(start)
                wanted, found = bytearray(data), bytearray(opened.read(len(data)))
                for at in places:
                    if start <= at < start + len(data):
                        wanted[at - start : at - start + 4] = found[at - start : at - start + 4] = bytes(4)
                if wanted != found:
                    return False
        return True

    def create(self, files: FilePool) -> None:
        """Make every file at its full size, and write what is no tensor."""
        for file, (size, pieces) in self.destination.files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            files.allocate(file, size)
            for start, data in pieces.items():
                files.write_at(file, start, data)

    def finish(self) -> None:
        """Give every file its name, the one that was asked for last.

        If that one is there, and others belong to it, it goes first: the old is never seen with something new.
        """
        waiting = {staged: file for staged, file in self.renames.items() if staged.exists()}
        stale = [file for file in self._belongings() if file not in self.final.files and file.exists()]
        if not self.is_folder and self.path in waiting.values() and (len(waiting) > 1 or stale):
            self.path.unlink(missing_ok=True)
        for file in stale:
            file.unlink()
        for staged, file in sorted(waiting.items(), key=lambda item: item[1] == self.path):
            if self.is_folder and (file.is_symlink() or file.exists()):
                _remove(self.backup)
                file.rename(self.backup)
            staged.replace(file)
        _remove(self.backup)
        for folder in {file.parent for file in self.final.files} | {self.path.parent}:
            _sync_folder(folder)

    def discard(self) -> None:
        """Remove all unfinished files, but for the journal."""
        for staged in self.renames:
            _remove(staged)


def _remove(path: Path) -> None:
    """A file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        rmtree(path)
    else:
        path.unlink(missing_ok=True)


def with_suffix_added(path: Path, suffix: str) -> Path:
    """The path of the file whose name goes on with ``suffix``."""
    return path.with_name(path.name + suffix)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
