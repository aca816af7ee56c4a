#pragma once

#include <optional>

#include "tiled/program.h"
#include "tiled/variation.h"

namespace relayout::tiled {

// A pass for a large target whose cache lines are not written whole by the tiles of kernels: its tiles are slabs, which
// are put together in a staging buffer of the second-level cache and go to memory from there, in long segments. None
// where no segments are long enough, or the pass with tiles of kernels, `direct`, is better.
std::optional<Pass> schedule_slabs(const Box &box, int width, const Pass &direct, const Variation &how);

// For the box around `parts`, which lie side by side in the target, no padding among them, and fill `segment` bytes.
std::optional<Pass> schedule_slabs(const Box &box, const std::vector<Box> &parts, Int segment, int width,
                                   const Pass &direct, const Variation &how);

}  // namespace relayout::tiled
