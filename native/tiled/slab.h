#pragma once

#include <optional>

#include "tiled/program.h"

namespace relayout::tiled {

// A pass for a large target whose cache lines are not written whole by the tiles of kernels: its tiles are slabs, which
// are put together in a staging buffer of the second-level cache and go to memory from there, in long segments. None
// where no segments are long enough, or the pass with tiles of kernels, `direct`, is better.
std::optional<Pass> schedule_slabs(const Box &box, int width, const Pass &direct);

}  // namespace relayout::tiled
