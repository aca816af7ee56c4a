#pragma once

#include "common/bytes.h"

namespace relayout {

// A cache of one core: `ways` lines of each set stay in it together.
struct Cache {
    Int bytes, ways;

    Int sets() const { return bytes / (ways * cache_line); }
};

// The first core's caches of data as the system tells; where it tells nothing, 32 KiB and 1 MiB, of 8 ways each.
const Cache &first_level_cache();
const Cache &second_level_cache();

// Whether the lines at so many offsets do not stay in a cache together: more fall into one set than it has ways.
bool is_crowded(const Cache &cache, const Int *offsets, Int count);

// Bytes from which on targets are written around the caches: three quarters of the last-level cache as the system
// tells, and 24 MiB where that is more or nothing is told. With 32 MiB a flat copy by non-temporal stores is 1.7 times
// as fast as memcpy from there on (28 and 48 GB/s); of a larger cache, which many cores share, one gets no more for
// itself.
Int beyond_caches();

}  // namespace relayout
