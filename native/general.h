#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "bytes.h"

// Copies between places that follow no common loops: swizzles, block tables, blocks that do not divide each other, and
// elements narrower than a byte. Numbers are in elements unless they are said to be in bytes or bits.
namespace relayout::general {

// One number for the source and one for the target.
using Pair = std::array<Int, 2>;

// All numbers stay below this, and so do the sums of their absolute values, so that bit offsets fit in an Int.
constexpr Int limit = Int(1) << 55;

// Takes an element's offset from one place to another inside an aligned run of `period`; `bits` = 0 moves nothing.
struct Swizzle {
    int bits = 0, base = 0, shift = 0;

    Int operator()(Int v) const {
        const Int read = v & (((Int(1) << bits) - 1) << (base + (shift > 0 ? shift : 0)));
        return v ^ (shift >= 0 ? read >> shift : read << -shift);
    }
    Int period() const { return Int(1) << (bits + base + (shift < 0 ? -shift : shift)); }
    Int grain() const { return Int(1) << base; }  // Aligned runs of this length stay together.
};

// How the offsets of one side become places: a swizzle, then blocks of a table if `block` > 0.
struct Side {
    Swizzle swizzle;
    Int block = 0;
};

// A loop moves both sides by `step`, or to the entries of a table.
struct Loop {
    Int count;
    Pair step;
    const Pair *table = nullptr;

    Pair at(Int i) const { return table ? table[i] : Pair{i * step[0], i * step[1]}; }
};

// From these offsets on, all combinations of the loops.
struct Box {
    Pair offset;
    std::vector<Loop> loops;
};

using Dim = std::vector<Box>;

// Elements that are together on both sides, after the swizzle if that is folded in.
struct Run {
    Pair at;
    Int length;
};

// Runs as pieces of equal sizes, so that each is one load and one store: pieces[k] to pieces[k + 1] have 2^k bytes.
struct Tile {
    bool whole;                 // In bytes; else there are only runs.
    std::vector<Int> pieces[2];
    std::array<Int, 8> first{};
    Pair low, high;             // The bytes of each side, low to before high.
    std::vector<Int> lines[2];  // A byte of every cache line.
    std::vector<Run> runs;
};

// A tile, repeated by loops around it.
struct Nest {
    Pair start;
    std::vector<Loop> inner, outer;  // The slowest first.
    Int run;                         // The elements of the innermost loop, which moves both sides by 1.
    std::array<bool, 2> folded;      // Whether the tile has the places themselves, where there is a swizzle.
    Pair border;                     // If > 0, no run goes over a multiple of it.
    Int tiles, first;
    std::shared_ptr<const Tile> tile;  // None if it is made anew for each run.
};

// Where a block begins.
struct Block {
    std::uintptr_t address;
    int bit;
};

// Where the elements of one side are in memory: in one piece, or one block after the other.
struct Memory {
    std::uintptr_t address = 0;
    std::vector<Block> blocks;
};

class General {
public:
    // `tables` holds the tables of the loops. Throws std::invalid_argument for numbers outside the limits.
    General(int bits, Pair start, std::vector<Dim> dims, std::vector<std::vector<Pair>> tables, std::array<Side, 2> sides);

    Int count() const { return count_; }
    int bits() const { return bits_; }
    const Side &side(int s) const { return sides_[s]; }
    // The offsets of a side are at least low(), and below high() once they are swizzled.
    Int low(int s) const { return low_[s]; }
    Int high(int s) const;
    // The smallest such number, by a walk over all elements; found once.
    Int end(int s) const;

    // Copy all elements; the offsets of both sides are inside their memories, which are apart. False if there is no
    // memory for the tiles.
    bool run(const std::array<Memory, 2> &memories, int threads) const;

private:
    void divide(Nest nest, std::vector<Nest> &todo);
    Tile tile(const Nest &nest, bool bytes) const;
    std::vector<Run> runs(const Nest &nest) const;
    bool whole_bytes(const Nest &nest, const std::vector<Run> &runs) const;
    void list_lines(const std::vector<Run> &runs, Tile &tile) const;
    void cut(const std::vector<Run> &runs, Tile &tile) const;
    Int bytes(Int elements) const { return elements * bits_ / 8; }

    int bits_;
    std::vector<std::vector<Pair>> tables_;
    std::array<Side, 2> sides_;
    Int count_;
    Pair low_, high_;
    std::vector<Nest> nests_;
    Int tiles_ = 0;
    mutable std::array<std::atomic<Int>, 2> ends_;
};

}  // namespace relayout::general
