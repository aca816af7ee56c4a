#pragma once

#include "tiled/program.h"

namespace relayout {

// A full box over all dimensions. `parts`, if there are any, are adjacent boxes of the dimension that is fastest in the
// target, padding among them, in the order of the target; their offsets count from the piece's.
struct Piece {
    Int source, target;
    std::vector<Loop> loops;
    std::vector<Box> parts;
};

// The tile that suits a piece without parts, and the loops around it. `aligned`: the target starts at a line; `large`: it
// is better written around the cache.
Step schedule(const Piece &piece, int width, bool aligned, bool large);

// The same for a piece whose parts fill `segment` bytes; false if they are better copied one by one.
bool schedule_group(const Piece &piece, Int segment, int width, bool aligned, Step &result);

// The loops that fill a piece of padding.
Step schedule_fill(const Piece &piece, int width);

}  // namespace relayout
