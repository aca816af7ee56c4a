"""The sizes and counts that decide how fast a repack is, and never what it gives."""

from __future__ import annotations

from ..immutable import NamedTuple


class EngineTuning(NamedTuple):
    """What the engine trades against what.

    Those of a device were measured on an H200 by ``benchmarks/gpu.py``, over some thousands of kernels; ``docs/gpu.md``
    tells what mattered and what did not. The compiled core has constants of its own, beside its kernels.
    """

    progress_bytes: int = 64 << 20
    """The bytes of the target between two reports of progress: some 10 ms at the rates of ``benchmarks/repack.py``."""

    max_general_boxes: int = 1 << 8
    """The combinations of boxes that the general program walks; of more, small dimensions become tables of offsets.

    It bounds the memory of a program, and no benchmark comes near it: a window is two boxes per digit at most.
    """

    max_strided_copies: int = 1 << 12
    """The combinations of table entries that numpy copies one by one; past them it copies by the offsets of elements.

    A strided copy takes numpy 1.0 us to begin, and a copy by offsets 2.1 ns for an element (numpy 2, one core).
    """

    min_network_bytes: int = 16 << 10
    """Fewer bytes are left to the tiled program, whose calls take less time to begin."""

    network_speed: float = 20
    """Bytes in a nanosecond: where tiles of elements of 1 and 2 bytes are thought to move less, networks are tried.

    Drawn workloads (``benchmarks/repack.py``) in the cache have 6 to 15 by networks.
    """

    min_network_share: float = 0.95
    """The part of the elements that networks take at least; the rest, at the ends of rows, is copied run by run.

    Odd sizes leave 0.1 to 1 % of large tensors, which then have 0.3 to 0.7 of memcpy's speed instead of 0.1 to 0.3.
    With 8 % left it is 0.25 instead of 0.18, and in a cache 0.14 instead of 0.20.
    """

    network_trials: int = 16
    """How often networks are tried, and then tiles, before the faster is kept.

    Of 240 drawn workloads that networks can take, tiles are 1.2 to 3 times as fast in one of four, and networks 1.2 to
    5 times in half of them.
    """

    min_trial_bytes: int = 128 << 10
    """Copies of fewer bytes try nothing: it is a matter of a few microseconds. The compiled core has the same limit."""

    trials_after: int = 64 << 20
    """The bytes that are copied before something else is tried, which takes 2 ms to make; the same there."""

    cached_recipes: int = 1024
    """The repacks whose arguments are looked up in place of being resolved again; each holds a plan."""

    # ---- on a device -------------------------------------------------------------------------------------

    cached_launches: int = 1024
    """The repacks, runs of plans and kernels that are looked up, of each; a kernel takes 20 to 250 ms to compile."""

    tile_bytes: int = 16 << 10
    """About so many bytes are in a tile, up to half as many more where sizes do not divide; 4 to 87 KiB were tried."""

    run_tile_bytes: int = 4 << 10
    """The bytes of a tile whose source is one run, which needs no more to have whole lines of both sides."""

    source_run_bytes: int = 128
    """The bytes of the source that lie together in a tile, where they can: one line; 64 bytes to 1 KiB were tried."""

    target_run_bytes: int = 256
    """The bytes of the target that do: two cache lines."""

    max_threads: int = 512
    """The most threads of a block, of two vectors each; half as many where padding or values are computed."""

    unstaged_run_bytes: int = 32
    """Vectors that stay together in runs of so many bytes, a sector of memory, need no image of the source."""

    concurrent_tiles: int = 512
    """About so many tiles run at once: four blocks on each of the 132 multiprocessors of an H200.

    A second line of the source is asked for along with the first if one of them reads it (0.93 to 0.97 of the time).
    """

    max_step_excess: int = 64
    """How many times as large as wanted a divisor of a digit may be: it bounds the search, for digits of any size."""

    max_source_gap: int = 4
    """Elements of the source that are at most so many apart are read with what is between them: a quarter is used."""

    pinned_source_bytes: int = 64 << 20
    """Sources of so many bytes, more than the cache holds, are read as ``evict_last``: 1 to 4% faster."""

    unpinned_bytes: int = 16 << 20
    """The last tiles, of so many bytes, give their lines back to ``evict_normal`` for the kernels that follow."""

    max_realigned_bytes: int = 2
    """Elements of so many bytes at most are shifted to whole vectors where their runs begin between such."""

    min_inner_tiles: int = 8
    """Where an axis has so many tiles, those inside are written without the tests of those at its ends."""

    few_tiles: int = 8
    """Digits of so many tiles at most are counted first, where runs are not aligned, and neighbours share sectors."""

    min_device_trial_bytes: int = 32 << 20
    """Targets of fewer bytes stay in the cache, where the launch rules: there only one kernel is compiled."""

    device_trial_rounds: int = 3
    """How often each kernel is timed before the fastest is kept."""

    worthwhile_kernel: float = 0.97
    """The rules' kernel is kept unless another takes less than this part of its time."""

    hopeless_kernel: float = 1.25
    """A kernel that takes so many times as long as the fastest is not launched again."""

    max_unrolled: int = 16
    """Longer loops of a kernel stay loops; shorter ones are unrolled, and their loads go out together.

    Loops that move single elements between two images are unrolled up to four times as often.
    """


ACTIVE = EngineTuning()
"""The values in use, read by this name whenever one is needed, so that a test replaces all of them at once."""
