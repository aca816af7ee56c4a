#pragma once

#include "common/bytes.h"
#include "common/isa.h"
#include "kernels/kernels.h"

// Gathers: the bytes of a tile come from anywhere in it. Each vector of the target is picked from a few windows of the
// source, by tables that hold for every tile.
namespace relayout {

constexpr Int gather_vector = 64, wide_window = 64, narrow_window = 32;

// A bit for each byte of a vector.
using ByteMask = std::uint64_t;

struct GatherWindow {
    ByteMask picked;  // the bytes of the vector that come from here
    Int source;
};

struct GatherVector {
    Int target, staged;  // where it goes: into the target, or into a staging buffer
    ByteMask stored;
    Int windows;  // the next so many are its own
    bool narrow;  // they have 32 bytes, else 64
};

// Where in its window a byte of a vector lies.
struct alignas(64) GatherPlaces {
    Byte of[gather_vector];
};

struct GatherTables {
    const GatherVector *vectors;
    const GatherPlaces *places;  // of each vector
    const GatherWindow *windows;
    Int count;         // of vectors
    const Int *lines;  // where the source is read, a cache line apart
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
