#pragma once

#include "tiled/tuning.h"

// What schedules do otherwise than the rules say. No rule foresees all that sizes and machines do to a copy, so a
// program tries some variations on its first calls, and keeps the fastest.
namespace relayout::tiled {

enum class Use { by_rule, always, never };

struct Variation {
    Use slabs = Use::by_rule, gathers = Use::by_rule;
    Int tile_bytes = min_tile_bytes;
    Int row_bytes = slab_row;  // of the source, in a slab
    bool turns_wide = true;    // elements of 16 bytes become columns where the target stays in the cache
};

// Found by greedy choice among 16 of them over 120 drawn workloads (--random): the first has 0.68 to 0.81 of memcpy's
// speed in the mean, the best of these six 0.05 to 0.07 more. The first is what the rules say.
constexpr Variation large_variations[] = {
    {},
    {Use::never},
    {Use::always, Use::by_rule, min_tile_bytes, short_slab_row},
    {Use::by_rule, Use::by_rule, large_tile_bytes},
    {Use::never, Use::always},
    {Use::by_rule, Use::never},
};

// The same in the cache, over 70: 0.51 and 0.56.
constexpr Variation cached_variations[] = {
    {},
    {Use::by_rule, Use::by_rule, large_tile_bytes},
    {Use::by_rule, Use::never},
    {Use::by_rule, Use::by_rule, min_tile_bytes, slab_row, false},
};

constexpr int max_variations = 6;

}  // namespace relayout::tiled
