#pragma once

#include "kernels/kernels.h"

// The numbers of the tiled engine. Speeds are of benchmarks/repack.py on 2 cores of an AMD EPYC (Zen 4, AVX-512, 32
// KiB, 1 MiB and 32 MiB of cache), whose rows are in docs/benchmarks.md; "large" and "in cache" are its sizes.
namespace relayout::tiled {

// What a program may be told otherwise, as tests do.
struct Tuning {
    // Bytes from which on targets are written by non-temporal stores, and prefetched for. From here on a flat copy by
    // such stores is about 1.7 times as fast as memcpy (28 and 48 GB/s); smaller targets stay in the last-level cache.
    Int nontemporal_from = Int(24) << 20;

    // Whether the instruction set has such stores. Where it has none, large targets are prefetched for writing instead.
    bool nontemporal_stores = kernels().nontemporal_stores;
};

// Measured.

// How far ahead the source is prefetched, into the second-level cache: with 64 rows at a time, large transposes read 31
// to 37 GB/s so, and 10 to 15 without. Prefetching into the first level hurts.
constexpr Int prefetch_bytes = 16 << 10;

// Tiles in cache that are smaller lose to the calls around them.
constexpr Int min_tile_bytes = 4096;

// A second thread pays from about here on (--threads 2): waking a sleeping one takes 25 to 30 microseconds.
constexpr Int parallel_from = Int(1) << 20;

// Contiguous bytes of the target that suffice for a column of a transpose and for a strip of runs, where the target is
// aligned: large copies by non-temporal stores are best from 256 bytes on.
constexpr Int tall_aligned = 256, strip_aligned = 256;

// Chosen by what they trade; the rows named are where to look when one is changed.

// Such bytes where the target is not aligned: longer, since two lines of every column and strip are shared with others,
// but not so long that rows no longer fit beside them (rows of odd sizes, unpadding).
constexpr Int tall_bytes = 512, tall_unaligned = 1024, strip_staged = 2048;

// From here on a run, or the interleaved elements of a call, are written by non-temporal stores though their ends share
// lines: fewer whole lines would not make up for those (large rows of odd sizes).
constexpr Int long_run = 512, long_interleave = 1024;

// What a thread takes at once: what several passes read stays in its second-level cache (padded rows, --threads 2).
constexpr Int chunk_bytes = Int(1) << 18;

// Calls of one tile: fewer are smaller tiles, more are lists that leave the first-level cache (rows of small cores).
constexpr std::size_t max_calls = 64;

// A tile that is staged stays in the first-level cache, or close to it (padded rows, --fused).
constexpr Int max_staged_run = 32 << 10, staged_tile_bytes = 16 << 10;

// Into how many parts the prefetching of a target is spread between kernel calls: fewer come in bursts, more are calls
// of little work (large rows of odd sizes).
constexpr Int prefetch_slices = 16;

// Limits of what is compiled, and of the stack.
constexpr Int max_combinations = 1 << 12;  // of boxes: more take longer to compile than to copy otherwise
constexpr std::size_t max_loops = 64;
constexpr Int staging_bytes = 1 << 17;

}  // namespace relayout::tiled
