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

// How a block of `read` bytes becomes one of `written`. It is read by vectors of 16, 32 or 64 bytes, as many as fit
// into it, one behind the other, but for the last, which ends with it: by one or two, or by four of 64 where it has
// more than 128. It is written in the same way, or by the halves of one vector. `of` is where each byte of those lies
// in the first two vectors, or in the last two where the mask of four has a bit for it.
struct alignas(64) BlockPlaces {
    static constexpr Int most = 4;
    Byte of[most][gather_vector];
    ByteMask behind[most];
};

constexpr Int min_block_bytes = 16, max_block_bytes = BlockPlaces::most * gather_vector;

// The bytes of the vectors that such a block is read and written by.
constexpr Int block_vector(Int read) { return read >= 64 ? 64 : read >= 32 ? 32 : 16; }

// Blocks of `read` bytes become blocks of `written`, which are no more, and at least half a vector: for each
// repetition, for each of `strip`. With `nontemporal` those are whole cache lines.
using PermuteKernel = void (*)(const Byte *source, Byte *target, const Repeat &strip, Int read, Int written,
                               const BlockPlaces &places, const Repeat &repeat, bool nontemporal, Int ahead);

// Element j of row i, at source + rows[i] + j * element, goes to target + columns[j] + i * element: transposes of
// elements of 3 and 5 to 7 bytes, which are turned as if they had 4 or 8.
using WidenedTransposeKernel = void (*)(const Byte *source, const Int *rows, Int height, Byte *target,
                                        const Int *columns, Int width, int element, const Repeat &repeat, Int ahead);

// All are null where bytes of 64 do not change places in one instruction.
struct GatherKernels {
    GatherKernel gather;
    PermuteKernel permute;
    WidenedTransposeKernel widened_transpose;
};

const GatherKernels &gather_kernels_for(Isa isa);

// Those of the best instruction set that may be used here.
const GatherKernels &gather_kernels();

}  // namespace relayout
