"""The sizes and counts that decide how fast files are read and written, and never what is in them."""

from __future__ import annotations

from typing import NamedTuple


class FileTuning(NamedTuple):
    """What a file job trades against what; ``benchmarks/files.py --sweep NAME=VALUE,VALUE`` compares two values.

    A run that is resumed needs the values that it was started with, for they decide how its tensors are cut.
    """

    part_bytes: int = 4 << 20
    """Parts of a tensor are about so large: a source and a target part stay in a processor's cache on their way.

    Chosen by ``--sweep`` (docs/repack_files.md): a transpose takes 1.4 times the processor time with 256 KiB, and 1.6
    times with 64 MiB.
    """

    step_bytes: int = 2 << 20
    """The source of a part that is a range of the target is read and rearranged in steps of about so many bytes.

    They stay in a processor's cache on their way: NHWC to NCHW takes 0.9 of the processor time. Tiles are read whole:
    with few rows at a time a transpose moves short runs.
    """

    acceptable_cost: float = 1.25
    """Parts that take at most so many times what moving their bytes takes are not made larger.

    It trades reading a gap again for memory; 1.05 to 2 make no difference that ``--sweep`` can tell from noise.
    """

    min_tiles: int = 8
    """A tensor has at least so many tiles, unless they are small: the disk has nothing to do until one is made.

    With 16, runs are shorter: a transpose of 1 GiB takes 1.1 times the processor time.
    """

    min_gain: float = 0.9
    """A part is doubled if each of its bytes then takes this much of the time, or less.

    It trades memory for calls; 0.8 to 0.97 make no difference that ``--sweep`` can tell from noise.
    """

    read_call_bytes: int = 8 << 10
    """A call that reads takes as long as to move so many bytes; smaller gaps between runs are read along.

    Chosen by ``--sweep`` (docs/repack_files.md): a transpose takes 1.1 times the processor time with 1 KiB, and 1.7
    times with 64 KiB.
    """

    write_call_bytes: int = 128 << 10
    """A call that writes does: the page cache keeps pages one by one unless they come many at a time, and the disk gets
    them one by one.

    With 64 KiB, a transpose of 1 GiB is written in runs of 64 KiB instead of 128 MiB, and takes 1.2 times as long.
    """

    max_write_bytes: int = 1 << 20
    """Longer writes are split: a long one waits longer for the pages that the disk is busy with.

    They end at multiples of it in the file, so that the page cache keeps many pages together: 0.85 of the time.
    """

    min_native_runs: int = 16
    """So many runs are read or written by one call of the compiled core, fewer by Python's own."""

    process_bytes: int = 48 << 20
    """What Python, numpy and this package take of the memory that is granted; the rest is for data.

    ``benchmarks/files.py`` shows a peak of 44 MiB for a file that is copied, the parts of two threads included.
    """

    min_thread_bytes: int = 1 << 20
    """No thread gets a smaller buffer for a source, or for a target; what would need that is refused."""

    default_jobs: int = 8
    """The most threads unless a number is given: they share one disk."""

    writeback_bytes: int = 16 << 20
    """After so many bytes the system is told to begin to write them to the disk, so that a sync finds few left."""

    journal_batch_bytes: int = 128 << 20
    """After so many bytes they are synced and the journal notes them, and what was written meanwhile together.

    A sync waits for what goes to the disk since it began as well, so no more than that does.
    """

    decoded_bytes: int = 64 << 20
    """Chunks that were decoded last are kept, up to so many bytes: parts that are neighbours share them."""

    cached_recipes: int = 64
    """So many ways to make a part are remembered; parts at an edge, or with scales of their own, have their own."""

    open_files: int = 64
    """File descriptors kept open; systems grant a process some hundreds, and a Zarr has thousands of files."""

    max_mapped_files: int = 100
    """Of a container with more files the small ones are read: a mapped file stays open as long as its tensors."""

    min_mapped_bytes: int = 1 << 20
    """Tensors with more bytes are mapped whatever the number of files."""


ACTIVE = FileTuning()
"""The values in use, read by this name whenever a job needs one, so that a test replaces all of them at once."""
