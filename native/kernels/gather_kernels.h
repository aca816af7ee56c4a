#pragma once

#include "common/bytes.h"
#include "common/isa.h"
#include "kernels/kernels.h"

// Gathers: the bytes of a tile come from anywhere in it. Each vector of the target is picked from a few windows of the
// source, by tables that hold for every tile.
namespace relayout {

constexpr Int gather_vector = 64;

// A bit for each byte of a vector.
using ByteMask = std::uint64_t;

struct GatherVector {
    Int target, staged;  // where it goes: into the target, or into a staging buffer
    ByteMask stored;
};

// The next so many vectors, each picked from so many windows. A window is 64 bytes of the source, in 1, 2 or 4 equal
// parts that lie anywhere.
struct GatherGroup {
    Int vectors, windows, parts;
};

// Where in its window a byte of a vector lies.
struct alignas(64) GatherPlaces {
    Byte of[gather_vector];
};

struct GatherTables {
    const GatherGroup *groups;
    Int group_count;
    const GatherVector *vectors;
    const GatherPlaces *places;  // of each vector
    const ByteMask *picked;      // the bytes of a vector that come from each window
    const Int *sources;          // where each part of each window begins
    Int count;                   // of vectors
    const Int *lines;            // where the source is read, a cache line apart
    Int line_count;
};

// Bytes of a vector that are stored and come from no window are those of `fill`, which has 64. With `nontemporal` all
// vectors are whole cache lines.
using GatherKernel = void (*)(const Byte *source, Byte *target, const GatherTables &tables, bool staged,
                              const Byte *fill, const Repeat &repeat, bool nontemporal, Int ahead);

struct GatherKernels {
    GatherKernel gather;  // null where bytes of 64 do not change places in one instruction
};

const GatherKernels &gather_kernels_for(Isa isa);

// Those of the best instruction set that may be used here.
const GatherKernels &gather_kernels();

}  // namespace relayout
