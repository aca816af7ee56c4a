#pragma once

#include "common/bytes.h"

namespace relayout {

// The bytes of a core's second-level cache as the system tells, or 1 MiB where it tells nothing.
Int second_level_cache();

// Bytes from which on targets are written around the caches: three quarters of the last-level cache as the system
// tells, and 24 MiB where that is more or nothing is told. With 32 MiB a flat copy by non-temporal stores is 1.7 times
// as fast as memcpy from there on (28 and 48 GB/s); of a larger cache, which many cores share, one gets no more for
// itself.
Int beyond_caches();

}  // namespace relayout
