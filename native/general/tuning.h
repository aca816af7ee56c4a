#pragma once

#include "common/bytes.h"

// The numbers of the general engine, chosen by what they trade. The row of docs/benchmarks.md that they decide is the
// one of swizzles and of blocks of 3 against 4, beside numpy's indexing; tests/test_general.py has such layouts.
namespace relayout::general {

// Pieces of a tile, each of one load and one store: as many as make up for its start, and few enough that both lists of
// their offsets, 16 bytes a piece, stay in the second-level cache.
constexpr Int min_tile_pieces = 1024, max_tile_pieces = 8192;

// A run in a tile stays in a first-level cache of 32 KiB.
constexpr Int max_run_bytes = 1 << 15;

// Pieces whose offsets are looked up at once: what holds them is on the stack, and stays in the first-level cache.
constexpr Int pieces_at_once = 128;

// Bytes from which on the lines of the next tile are prefetched; less is in the cache soon.
constexpr Int prefetch_from = 1 << 20;

// Bytes for each thread: fewer take less time than the 25 to 30 microseconds of waking one.
constexpr Int bytes_per_thread = 1 << 17;

// Limits of what a program keeps, and falls into.
constexpr Int max_kept_pieces = 1 << 14;   // of tiles that are kept for the next copy
constexpr Int max_table_entries = 4096;    // of a box; longer tables become several
constexpr Int max_combinations = 1 << 16;  // of boxes

}  // namespace relayout::general
