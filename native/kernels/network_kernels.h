#pragma once

#include "common/bytes.h"
#include "common/isa.h"

// Networks: vectors are loaded, elements change places between them round by round, and the vectors are stored. They
// are numbered, and the bits of their numbers are axes; a round works on all pairs of vectors that differ in one axis.
namespace relayout {

constexpr int max_stage_axes = 4;

struct NetworkRound {
    int axis;
    // If > 0, the upper fields of so many bits of one vector, in every two such fields, change places with the lower
    // ones of the other.
    int shift;
    // Else bytes change places: byte k of the first vector becomes byte p[k] of the pair, and byte k of the second one
    // byte p[V + k], for vectors of V bytes, where p are the places of the stage from this one on.
    Int places;
};

// Vector v of group g is loaded at from[g << axes | v] and stored at to[g << axes | v]. With two lanes a vector is
// two halves of V bytes, which take the same way; the second half is `lane` further on.
struct NetworkStage {
    int axes, rounds;
    Int groups;
    const NetworkRound *round;
    const Byte *places;
    const Int *from, *to;
    Int source_lane, target_lane;
};

// `next` is prefetched as `source` is read.
using NetworkKernel = void (*)(const Byte *source, Byte *target, const NetworkStage &stage, bool nontemporal,
                               const Byte *next);

// Null where there are no such vectors, or none whose bytes change places in one instruction.
struct NetworkKernels {
    NetworkKernel lane;   // of 16 bytes
    NetworkKernel lanes;  // two lanes of 16 bytes
    NetworkKernel line;   // of 64 bytes; for these alone non-temporal stores pay
};

const NetworkKernels &network_kernels_for(Isa isa);

}  // namespace relayout
