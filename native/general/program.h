#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "general/tiles.h"

namespace relayout::general {

// Where a block begins.
struct BlockStart {
    std::uintptr_t address;
    int bit;
};

// Where the elements of one side are in memory: in one piece, or one block after the other.
struct Memory {
    std::uintptr_t address = 0;
    std::vector<BlockStart> blocks;
};

// A copy between any two sets of offsets: all combinations of one box of each dimension.
class GeneralProgram {
public:
    // `tables` holds the tables of the loops. Throws std::invalid_argument for numbers beyond the limits.
    GeneralProgram(int bits, Pair start, std::vector<Dim> dims, std::vector<std::vector<Pair>> tables,
                   const Sides &sides);

    int bits() const { return bits_; }
    Int count() const { return count_; }
    const Side &side(int side) const { return sides_[side]; }

    // How many of the elements are moved by networks.
    Int count_by_networks() const;

    // All places of a side before the blocks are from low() to before high(), or even before end(), which is exact, and
    // found once by a walk over all tiles.
    Int low(int side) const;
    Int high(int side) const;
    Int end(int side) const;

    // Copies all elements. All places are inside the memories, which are apart. Throws std::bad_alloc.
    void run(const std::array<Memory, 2> &memories, int threads) const { run(memories, threads, 0, tiles()); }

    // Copies the tiles from `begin` to before `end`.
    void run(const std::array<Memory, 2> &memories, int threads, Int begin, Int end) const;

    Int tiles() const { return nests_.empty() ? 0 : nests_.back().first + nests_.back().tiles; }

private:
    void copy(const std::array<Memory, 2> &memories, bool in_bytes, Int begin, Int end) const;

    void copy_by_network(const Nest &nest, const std::array<Memory, 2> &memories, Int begin, Int end) const;

    int bits_;
    std::vector<std::vector<Pair>> tables_;
    Sides sides_;
    Int count_;
    Pair low_{}, high_{};
    std::vector<Nest> nests_;
    bool prefetched_ = false;
    mutable std::array<std::atomic<Int>, 2> ends_;
};

}  // namespace relayout::general
