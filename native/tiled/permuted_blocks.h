#pragma once

#include <optional>

#include "tiled/program.h"

namespace relayout::tiled {

// Bytes of the target that lie together, and come from so few bytes of the source that one permute has them all.
struct PermutedBlock {
    Pair bytes;
    BlockPlaces places;
    std::vector<std::size_t> loops;  // which ones are inside
};

// The largest such block of runs of `unit` bytes; none where there is no kernel, or no such block.
std::optional<PermutedBlock> find_permuted_block(const std::vector<Loop> &loops, Int unit);

// The loop by which small blocks that are dense on both sides lie one behind the other on both, and so many of its
// steps that make one block that vectors are better used by.
struct BlockShare {
    std::size_t loop;
    Int steps;
};

std::optional<BlockShare> find_block_share(const std::vector<Loop> &loops, Int unit);

}  // namespace relayout::tiled
