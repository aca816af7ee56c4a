#pragma once

#include "common/bytes.h"

// The numbers of the general engine. Its benchmark is the last row of docs/benchmarks.md, swizzles and blocks of 3
// against 4 beside numpy's indexing, on 2 cores of an AMD EPYC (Zen 4, 32 MiB of last-level cache).
namespace relayout::general {

// A tile holds as many pieces, each of one load and one store, as make up for its start, and few enough that its lists
// of offsets stay in the second-level cache: 8192 pieces have 128 KiB of them.
constexpr Int min_tile_pieces = 1024, max_tile_pieces = 8192;

// A run in a tile stays in the first-level cache of 32 KiB.
constexpr Int max_run_bytes = 1 << 15;

// Pieces whose offsets are looked up at once, on the stack.
constexpr Int pieces_at_once = 128;

// Bytes from which on the lines of the next tile are prefetched; less is in the cache soon.
constexpr Int prefetch_from = 1 << 20;

// A thread for fewer bytes does not make up for waking it, which takes 25 to 30 microseconds.
constexpr Int bytes_per_thread = 1 << 17;

// Limits that no measurement chose: memory that a program keeps, and what it may fall into.
constexpr Int max_kept_pieces = 1 << 14;   // of tiles that are kept for the next copy
constexpr Int max_table_entries = 4096;    // of a box; longer tables become several
constexpr Int max_combinations = 1 << 16;  // of boxes

}  // namespace relayout::general
