#pragma once

#include <algorithm>

#include "common/caches.h"
#include "common/loop_nest.h"
#include "kernels/kernels.h"

// The numbers of the tiled engine. Speeds are of benchmarks/repack.py on 2 cores of an AMD EPYC (Zen 4, AVX-512, 32
// KiB, 1 MiB and 32 MiB of cache), whose rows are in docs/benchmarks.md; "large" and "in cache" are its sizes.
namespace relayout::tiled {

// What a program may be told otherwise, as tests do.
struct Tuning {
    // Bytes from which on targets are written by non-temporal stores, and prefetched for.
    Int nontemporal_from = beyond_caches();

    // Whether the instruction set has such stores. Where it has none, large targets are prefetched for writing instead.
    bool nontemporal_stores = kernels().nontemporal_stores;

    // Bytes from which on copies try what their schedules may do otherwise (variation.h): less is a matter of a few
    // microseconds.
    Int trials_from = 128 << 10;
};

// Measured.

// How far ahead the source is prefetched, into the second-level cache: with 64 rows at a time, large transposes read 31
// to 37 GB/s so, and 10 to 15 without. Prefetching into the first level hurts.
constexpr Int prefetch_bytes = 16 << 10;

// Tiles in cache that are smaller lose to the calls around them. Some are better larger.
constexpr Int min_tile_bytes = 4096, large_tile_bytes = 16 << 10;

// Variations are tried so often each, in large targets and in the cache, where single calls vary more. The rules are
// kept unless one of them takes less than this part of their time; one that takes so many times as long as the fastest
// is soon left out.
constexpr int large_trials = 2, cached_trials = 6, trial_rounds = 2;
constexpr double worthwhile = 0.97, hopeless = 1.25;

// A schedule takes up to 2 ms to make, where gathers are weighed: copies in the cache try others when so many bytes
// were copied, in some 3 ms.
constexpr Int trials_after = Int(64) << 20;

// A second thread pays from about here on (--threads 2): waking a sleeping one takes 25 to 30 microseconds.
constexpr Int parallel_from = Int(1) << 20;

// Contiguous bytes of the target that suffice for a column of a transpose and for a strip of runs, where the target is
// aligned: large copies by non-temporal stores are best from 256 bytes on.
constexpr Int tall_aligned = 256, strip_aligned = 256;

// Chosen by what they trade; the rows named are where to look when one is changed.

// Such bytes where the target is not aligned: longer, since two lines of every column and strip are shared with others,
// but not so long that rows no longer fit beside them (rows of odd sizes, unpadding).
constexpr Int tall_bytes = 512, tall_unaligned = 1024, long_column = 4096, strip_staged = 2048;

// Tiles whose columns are shifted into lines: so many rows, so many bytes of each. With 1024 bytes transposes of 8
// bytes have 38 GB/s, with a single line 26; and where rows lie a power of two apart, so that a cache holds one line of
// few of them, 33 and 8.
// Columns are at least so long, of elements of 16 bytes too: shorter ones are mostly ends.
constexpr Int shifted_rows = 512, shifted_row = 1024, shifted_column = 1024, wide_shifted_column = 384,
              parted_column = 2048;

// From here on a run, or the interleaved elements of a call, are written by non-temporal stores though their ends share
// lines: fewer whole lines would not make up for those (large rows of odd sizes).
constexpr Int long_run = 512, long_interleave = 1024;

// What a thread takes at once: what several passes read stays in its second-level cache (padded rows, --threads 2).
constexpr Int chunk_bytes = Int(1) << 18;

// So many of them where passes have slabs, which are prefetched one after the other.
constexpr Int slab_chunks = 4;

// Of more runs than a first-level cache has ways at least, each so many bytes that lie together are read before the
// next.
constexpr std::size_t few_runs = 8;
constexpr Int along_bytes = 512;

// Calls of one tile: fewer are smaller tiles, more are lists that leave the first-level cache (rows of small cores).
constexpr std::size_t max_calls = 64;

// A tile that is staged stays in the first-level cache, or close to it (padded rows, --fused).
constexpr Int max_staged_run = 32 << 10, staged_tile_bytes = 16 << 10;

// So much of a longer run is a tile, and where it is copied within the cache.
constexpr Int run_tile = max_staged_run / 2, cached_run_tile = 128 << 10;

// Into how many parts the prefetching of a target is spread between kernel calls: fewer come in bursts, more are calls
// of little work (large rows of odd sizes).
constexpr Int prefetch_slices = 16;

// Gathers (--random --cached, other kernels against them). What a vector takes, in nanoseconds, a group of them, the
// call for a tile, and a line of the source that it has little of. No gather is faster than the last number.
constexpr double vector_cost = 0.9, group_cost = 5, tile_cost = 12, read_cost = 0.8, max_gather_speed = 24;

// What each window takes, of 64 bytes in so many parts that begin at a multiple of `unit`.
struct WindowKind {
    Int parts, unit;
    double cost;
};
constexpr WindowKind window_kinds[] = {{1, 1, 0.7}, {1, cache_line, 0.48}, {2, 1, 0.63}, {4, 1, 1.0}};
constexpr Int min_window_part = 16;

// What a byte takes where rows become columns first, by the logarithm of elements' bytes, and the least bytes of a row,
// and of a column.
constexpr double turn_cost[] = {0.035, 0.03, 0.028, 0.025};
constexpr Int min_turned_bytes = 16;

// The bytes of source and target that lie together in the tiles that are tried.
constexpr Pair gather_shapes[] = {{64, 64}, {64, 256}, {256, 64}, {128, 512}, {2048, 2048}};

// Blocks that are padded are gathered from here on, in large targets and in the cache; else the data and the padding of
// each dimension are written one by one.
constexpr double min_block_speed = 5, min_cached_block_speed = 12;

// What is not known to be slower than this is no gather.
constexpr double unknown_speed = 1e9;

// The speeds that they compete with, in bytes in a nanosecond: of single elements of a byte, of narrow transposes
// by vectors, to columns of less than a line and others, of streams whose rows are shorter than a vector, shorter than
// a line, and such of whole vectors; and what a run of up to a vector takes, and a call, in nanoseconds. They must win
// by so much.
constexpr double element_speed = 2, narrow_row_speed = 2, short_column_speed = 3, narrow_speed = 7, short_row_speed = 4,
                 row_speed = 12, vector_row_speed = 16, run_cost = 0.7, call_cost = 6, gather_margin = 1.15;

// Single elements that go side by side to the target: so many bytes, before others of the lines that they come from.
constexpr Int scattered_column = 256;

// Tables have about four times the bytes of their tile, and stay in the first-level cache. They take 100 microseconds
// to make: less is copied sooner otherwise.
constexpr Int max_gather_bytes = 8 << 10, min_gather_bytes = 16 << 10;

// Tiles whose columns are shifted have a line more than they need, so that neighbours have no line in parts, unless
// that takes more than one step in so many.
constexpr Int max_shared = 8;

// Slabs (--random). Of the source they have rows of so many bytes, and of the target segments. Memory reads single
// lines far apart at 19 GB/s on Zen 5, since it fetches their neighbours too, and rows of 128 to 512 bytes at 26 to 33;
// stores around the cache are as fast in segments of one line as in long ones. The smaller slabs are, the more of them
// is still in the first-level cache when it is written.
constexpr Int slab_row = 256, slab_segment = 256, min_slab_segment = 128;

// Small ones are mostly calls; large ones leave the second-level cache. With the lines between segments they may take
// more than twice as much.
constexpr Int min_slab_bytes = 16 << 10, slab_bytes = 128 << 10, max_slab_bytes = 320 << 10;

// What is carried past other slabs: with more the second-level cache has no room for the slabs themselves (with twice
// and four times as much 0.4 % and 0.6 % slower, with nothing 1.4 %, single bytes to elements of 4).
constexpr Int max_carried_bytes = 128 << 10;

// Where tiles are no worse: with segments, in the mean, of such lengths, short ones in transposes of few rows and long
// ones in tiles of many calls.
constexpr Int short_segment = 256, long_segment = 1536;
constexpr std::size_t many_calls = 16;

// What a slab may take of the second-level cache, beside the lines that it is made of: an eighth, as far as staging
// goes.
inline Int slab_limit() { return std::min(slab_bytes, second_level_cache().bytes / 8); }

// Rows that share sets of the second-level cache would not stay there until their turn comes. While a slab is written
// those of the next are collected side by side, and so many that follow them fetched.
constexpr Int fetched_rows = 20;

// How far ahead the slabs to come are prefetched, at least, and in what pieces, between those of the stores.
constexpr Int slab_prefetch = 32 << 10, piece_bytes = 1024;

// The least bytes of a column, and of a row, for kernels of blocks that stay in registers, and how many calls for
// columns that lie equally far apart may take the place of one.
constexpr Int block_column = 16, block_row = 16, max_column_calls = 16;

// Shorter rows, where kernels turn them (many rows of 13 single bytes, 0.17 -> 0.28).
constexpr Int narrow_row = 5;

// Steps so long share sets of the first-level cache.
constexpr Int page = 4096;

// Rows that share sets of the first-level cache are collected side by side, so many bytes of each and in all: of rows
// 16 KiB apart single lines come at 28 GB/s, and 256 bytes at 65. Where columns share sets as well, higher blocks are
// better, as where rows share more than one: of 2048 x 2048 bytes, 64 rows of 256 have 11 GB/s, 128 rows of 128
// have 15.
constexpr Int collected_row = 256, narrow_collected_row = 128, collected_bytes = 16 << 10;

// Wider elements have blocks of so few rows that a line of each stays there while its next elements have their turn.
// Where rows are crowded, each gives so many bytes (512 x 682 of 8 bytes, 0.57 -> 0.84).
constexpr Int long_row_bytes = 1024;

// Bytes of a column where elements have 3 or 5 to 7 bytes, and are turned as wider ones.
constexpr Int widened_column = 256;

// Small blocks that are permuted go together to blocks of up to so many bytes, two vectors.
constexpr Int joined_block_bytes = 128;

// Two steps by way of a scratch memory, which stays in the first-level cache beside what it is made of. No step is
// thought to be faster than this.
constexpr Int scratch_bytes = 16 << 10;
constexpr double max_step_speed = 40;

// Limits of what is compiled, and of the stack.
constexpr Int max_combinations = 1 << 12;  // of boxes: more take longer to compile than to copy otherwise
constexpr std::size_t max_loops = 64;
constexpr Int staging_bytes = 1 << 17;

}  // namespace relayout::tiled
