#pragma once

#include "tiled/program.h"
#include "tiled/variation.h"

// Chooses the tiles: which kernel copies a box, in what shape, and the loops around it. `aligned`: the target starts at
// a cache line, and whole lines of it are worth completing; `nontemporal`: it is large, and written by non-temporal
// stores wherever tiles have whole lines.
namespace relayout::tiled {

Pass schedule(const Box &box, int width, bool aligned, bool nontemporal, const Variation &how);

// For the box around `parts`, which lie side by side in the target, padding among them, and fill `segment` bytes; none
// if they are better copied one by one.
std::optional<Pass> schedule_group(const Box &box, const std::vector<Box> &parts, Int segment, int width, bool aligned,
                                   bool large, const Variation &how);

// Writes a box of padding.
Pass schedule_fill(const Box &box, int width);

}  // namespace relayout::tiled
