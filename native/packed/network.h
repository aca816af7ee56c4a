#pragma once

#include <optional>
#include <vector>

#include "common/loop_nest.h"
#include "kernels/network_kernels.h"

// Repacks that are permutations of address digits: the elements of some source vectors are those of as many target
// vectors. Elements of 1, 2, 4 bits, and of whole bytes, are moved by networks of a few rounds.
namespace relayout::packed {

// Moves a tile: its elements fill whole vectors on both sides.
struct Network {
    // Rounds between loads and stores, at offsets in bytes. With two lanes, the second is further on by `lane`.
    struct Stage {
        int axes = 0;
        std::vector<NetworkRound> rounds;
        std::vector<Byte> places;
        std::vector<Int> from, to;
        Pair lane{0, 0};
    };

    NetworkKernel kernel = nullptr;
    bool lines = false;  // vectors are cache lines
    Int tile_bytes = 0;
    std::vector<Stage> stages;  // one from source to target, or two by way of a scratch memory

    // Moves a tile; `nontemporal` where all of its vectors in the target are cache lines. The tile at `next` is
    // prefetched, if there is one. Two stages need a scratch memory of a tile.
    void run(const Byte *source, Byte *target, bool nontemporal, const Byte *next, Byte *scratch) const;
};

// A nest as tiles of a network, the loops around it, the slowest of the source first, and nests of what is left. All
// numbers but the network's are in elements.
struct Division {
    Network network;
    Pair start;
    std::vector<Loop> outer;
    std::vector<Box> rest;
};

// None where no vectors hold the same elements on both sides, or there are no kernels; loops have no tables.
std::optional<Division> divide(Box nest, int bits, const NetworkKernels &kernels);

}  // namespace relayout::packed
