#pragma once

#include <optional>

#include "tiled/program.h"
#include "tiled/variation.h"

namespace relayout::tiled {

// A pass in the cache whose tiles are put together in a scratch memory in an order between those of source and target,
// so that each of the two steps is one that kernels are good at. None where a loop goes backwards, or the scratch
// memory has no room for a tile.
std::optional<Pass> schedule_two_steps(const Box &box, int width, const Variation &how);

}  // namespace relayout::tiled
