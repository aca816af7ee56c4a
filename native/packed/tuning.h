#pragma once

#include "common/bytes.h"

// The numbers of networks, chosen by benchmarks/packed.py.
namespace relayout::packed {

// Vectors that go through the rounds together, if there are as many: the start of a round is shared by them.
constexpr int min_stage_axes = 3;

// Bytes of a tile that should lie together on each side: whole lines, and a few of them.
constexpr Int run_bytes = 256;

// A tile, with the scratch memory that it may need, stays in the second-level cache.
constexpr Int max_tile_bytes = 64 << 10;

// How far ahead of the loads lines of the source are prefetched.
constexpr Int prefetched_bytes = 16 << 10;

}  // namespace relayout::packed
