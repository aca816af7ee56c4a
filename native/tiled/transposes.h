#pragma once

#include <optional>

#include "tiled/tile_builder.h"

// Tiles whose rows become columns, or whose elements take turns.
namespace relayout::tiled {

// Rows that are contiguous in the target against columns that are contiguous in the source; none if there are none.
std::optional<Pass> schedule_transpose(TileBuilder b, Int width, bool aligned, bool nontemporal);

// The same of elements of 3 and 5 to 7 bytes, as if they were wider; none where rows or columns are short.
std::optional<Pass> schedule_widened(TileBuilder b, Int element);

// The same by kernels that write whole lines wherever columns start; none where rows or columns are short.
std::optional<Pass> schedule_shifted(TileBuilder b, Int width, bool aligned);

}  // namespace relayout::tiled
