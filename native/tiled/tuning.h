#pragma once

#include "kernels/kernels.h"

// The numbers of the tiled engine that measurements chose. All were measured by benchmarks/repack.py on 2 cores of an
// AMD EPYC (Zen 4, AVX-512, 32 MiB of last-level cache), its rows of docs/benchmarks.md; "large" and "in cache" are its
// sizes.
namespace relayout::tiled {

// What a program may be told otherwise, as tests do.
struct Tuning {
    // Bytes from which on targets are written by non-temporal stores, and prefetched for. A flat copy by such stores is
    // about 1.7 times memcpy from here on (the column "of flat"); smaller targets stay in the last-level cache.
    Int nontemporal_from = Int(24) << 20;

    // Whether the instruction set has such stores. Where it has none, large targets are prefetched for writing instead.
    bool nontemporal_stores = kernels().nontemporal_stores;
};

// How far ahead the source is prefetched, into the second-level cache: with 64 rows at a time, large transposes read 31
// to 37 GB/s so, and 10 to 15 without.
constexpr Int prefetch_bytes = 16 << 10;

// Tiles below this lose to the calls around them (the rows in cache).
constexpr Int min_tile_bytes = 4096;

// A second thread pays from here on (--threads 2, rows in cache): waking a sleeping one takes 25 to 30 microseconds.
constexpr Int parallel_from = Int(1) << 20;

// What a thread takes at once: what several passes read stays in its second-level cache, of 1 MiB here.
constexpr Int chunk_bytes = Int(1) << 18;

// Calls of one tile: more tables and loops than that cost more than a larger tile saves (the rows of small cores).
constexpr std::size_t max_calls = 64;

// Contiguous bytes, in either memory, that suffice for rows and columns of transposes: whole lines a few at a time
// where stores are non-temporal, which is best from 256 bytes on (rows "transpose"); longer where lines are shared.
constexpr Int tall_aligned = 256, tall_bytes = 512, tall_unaligned = 1024;

// Runs that are strung together before a tile is widened: as many as make non-temporal stores fast, more where lines
// are shared or staged (rows "crouton", "unpadding").
constexpr Int strip_aligned = 256, strip_staged = 2048;

// A tile that is staged, and its padding, stay in the first-level cache of 32 KiB or close to it; a second copy through
// memory further away costs a third of the speed.
constexpr Int max_staged_run = 32 << 10, staged_tile_bytes = 16 << 10;

// From here on a run is written by non-temporal stores though its ends share lines (docs/design.md, rows of odd sizes).
constexpr Int long_run = 512, long_interleave = 1024;

// Into how many parts the prefetching of a tile's target is spread between the kernel calls (rows of odd sizes).
constexpr Int prefetch_slices = 16;

// Limits that no measurement chose: room for what is compiled, and for the stack.
constexpr Int max_combinations = 1 << 12;  // of boxes: more take longer to compile than to copy otherwise
constexpr std::size_t max_loops = 64;
constexpr Int staging_bytes = 1 << 17;

}  // namespace relayout::tiled
