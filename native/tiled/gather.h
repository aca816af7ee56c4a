#pragma once

#include <optional>

#include "tiled/program.h"
#include "tiled/variation.h"

namespace relayout::tiled {

// A pass whose tiles are gathered: the box around `parts`, which lie side by side in the target, padding among them,
// and fill `segment` bytes. None where there is no kernel, or where it is not faster than so many bytes in a
// nanosecond.
std::optional<Pass> schedule_gather(const Box &box, const std::vector<Box> &parts, Int segment, Int width, double than,
                                    const Variation &how);

}  // namespace relayout::tiled
