#pragma once

#include "tiled/tuning.h"

// What schedules do otherwise than the rules say. No rule foresees all that sizes and machines do to a copy, so a
// program tries some variations on its first calls (trials.h), and keeps the fastest.
namespace relayout::tiled {

enum class Use { by_rule, always, never };

struct Variation {
    Use slabs = Use::by_rule, gathers = Use::by_rule;
    Int tile_bytes = min_tile_bytes;
    Int row_bytes = slab_row;  // of the source, in a slab
    // In the cache:
    bool turns_wide = true;  // elements of 16 bytes become columns
    bool weaves = true;      // a few rows of a vector and more are interleaved, not turned into columns
};

// The first is what the rules say, the others were chosen one by one among 15 over 120 drawn workloads (--random): each
// is by 8 % and more the fastest for some.
constexpr Variation large_variations[] = {
    {},
    {Use::never},
    {Use::always, Use::by_rule, min_tile_bytes, short_slab_row},
    {Use::by_rule, Use::by_rule, large_tile_bytes},
    {Use::never, Use::always},
    {Use::by_rule, Use::never},
};

// In the cache, over 70 workloads.
constexpr Variation cached_variations[] = {
    {},
    {Use::by_rule, Use::by_rule, large_tile_bytes},
    {Use::by_rule, Use::never},
    {Use::by_rule, Use::by_rule, min_tile_bytes, slab_row, false},
    {Use::by_rule, Use::by_rule, min_tile_bytes, slab_row, true, false},
};

constexpr int max_variations = 6;

}  // namespace relayout::tiled
