#pragma once

#include "tiled/tuning.h"

// What schedules do otherwise than the rules say. No rule foresees all that sizes and machines do to a copy, so a
// program tries some variations on its first calls (trials.h), and keeps the fastest.
namespace relayout::tiled {

enum class Use { by_rule, always, never };

// Whether tiles in the cache go to the target by way of a scratch memory, and what comes first there: what lies
// together in the source, or what is turned into columns.
enum class Steps { one, permuted, turned };

struct Variation {
    Use slabs = Use::by_rule, gathers = Use::by_rule;
    Int tile_bytes = min_tile_bytes;
    // Of the source and of the target, in a slab, or in a tile of two steps.
    Int row_bytes = slab_row, segment_bytes = slab_segment;
    Int run_bytes = run_tile;  // of a run that is longer, in a tile
    // In the cache:
    Steps steps = Steps::one;
    Int column_bytes = 0;       // columns of transposes have so many at least, where there are
    bool long_rows = false;     // transposes take so many bytes of each row as of those that share sets
    bool wide_blocks = true;    // of transposes are made of the widest vectors
    bool listed_blocks = true;  // of transposes stay in registers though columns do not lie equally far apart
    bool weaves = true;         // a few rows of a vector and more are interleaved, not turned into columns
    bool pads = true;           // data and the padding between them are written together
};

// The rules but for what is changed.
template <typename Change> constexpr Variation but(Change change) {
    Variation made;
    change(made);
    return made;
}

// Always slabs, of such rows and segments.
constexpr Variation always_slabs(Int row_bytes, Int segment_bytes) {
    Variation made;
    made.slabs = Use::always;
    made.row_bytes = row_bytes;
    made.segment_bytes = segment_bytes;
    return made;
}

// Tiles in two steps, of such rows and segments.
constexpr Variation two_steps(Steps steps, Int row_bytes, Int segment_bytes) {
    Variation made;
    made.steps = steps;
    made.row_bytes = row_bytes;
    made.segment_bytes = segment_bytes;
    return made;
}

// The first is what the rules say, the others were chosen one by one among 24 over 220 drawn workloads (--random): each
// makes the fastest of all faster in the mean, by 5 % at first and 0.1 % in the end.
constexpr Variation large_variations[] = {
    {},
    always_slabs(cache_line, 512),
    but([](Variation &v) { v.tile_bytes = large_tile_bytes; }),
    but([](Variation &v) { v.slabs = Use::never, v.gathers = Use::always; }),
    always_slabs(1024, slab_segment),
    but([](Variation &v) { v.slabs = Use::never, v.gathers = Use::never, v.tile_bytes = large_tile_bytes; }),
    always_slabs(cache_line, 1024),
    always_slabs(512, slab_segment),
    but([](Variation &v) { v.gathers = Use::never; }),
    always_slabs(slab_row, slab_segment),
};

// In the cache, chosen in the same way over 350 workloads.
constexpr Variation cached_variations[] = {
    {},
    but([](Variation &v) { v.tile_bytes = large_tile_bytes; }),
    but([](Variation &v) { v.gathers = Use::never; }),
    but([](Variation &v) { v.long_rows = true; }),
    but([](Variation &v) { v.column_bytes = long_column; }),
    but([](Variation &v) { v.gathers = Use::always; }),
    two_steps(Steps::turned, cache_line, 1024),
    two_steps(Steps::permuted, 256, 256),
    two_steps(Steps::permuted, 128, 1024),
    but([](Variation &v) { v.weaves = false; }),
    but([](Variation &v) { v.wide_blocks = false; }),
    but([](Variation &v) { v.listed_blocks = false; }),
    but([](Variation &v) { v.pads = false; }),
};

constexpr int max_variations = 13;

}  // namespace relayout::tiled
