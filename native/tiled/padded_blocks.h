#pragma once

#include <optional>
#include <vector>

#include "common/loop_nest.h"

// Blocks of the target that data fill in part, and padding the rest, in several dimensions: what lies in such a block
// is put together here, so that its cache lines are written once.
namespace relayout::tiled {

// Boxes of one dimension that are in the same blocks: all combinations of the loops around the blocks, with each of the
// parts inside them.
struct BlockBoxes {
    Box around;
    std::vector<Box> parts;
};

struct PaddedBlocks {
    Int bytes;                                   // of a block
    bool rows;                                   // the fastest dimension has its data and its padding side by side
    std::vector<std::vector<BlockBoxes>> boxes;  // of each dimension
};

// None where no dimension has blocks that are filled in part, other than side by side in the one `fast`, the fastest of
// the target, or where blocks are not contiguous, or larger than `limit` bytes. Boxes cover the target's blocks.
std::optional<PaddedBlocks> find_padded_blocks(const std::vector<Dim> &dims, Int width, std::size_t fast, Int limit);

}  // namespace relayout::tiled
