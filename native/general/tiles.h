#pragma once

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "common/loop_nest.h"
#include "packed/network.h"

// The general engine: any two sets of offsets, by tables, swizzles and block tables, of elements of any bits, as tiles
// of runs with loops around them. Numbers are in elements unless they are said to be in bytes or bits.
namespace relayout::general {

inline Int ceil_div(Int a, Int b) { return (a + b - 1) / b; }

// All numbers stay below this, and so do the sums of their absolute values, so that bit offsets fit in an Int.
constexpr Int limit = Int(1) << 55;

// Moves offsets inside of aligned runs of `period`; with 0 bits it moves none.
struct Swizzle {
    int bits = 0, base = 0, shift = 0;

    Int operator()(Int v) const {
        const Int read = v & (((Int(1) << bits) - 1) << (base + (shift > 0 ? shift : 0)));
        return v ^ (shift >= 0 ? read >> shift : read << -shift);
    }
    Int period() const { return Int(1) << (bits + base + std::abs(shift)); }
    Int grain() const { return Int(1) << base; }  // Aligned runs of this length stay together.
};

// How the offsets of one side become places: by a swizzle, then by blocks of a table if `block` > 0.
struct Side {
    Swizzle swizzle;
    Int block = 0;
};

using Sides = std::array<Side, 2>;

// The least and the largest offset, and a bound on the absolute values of sums of its parts in any order.
struct OffsetRange {
    Int low, high, absolute;
};

// What a side of a loop reaches, or of all combinations of one box of each dimension. Throws std::invalid_argument
// for numbers beyond the limit.
OffsetRange loop_range(const Loop &loop, int side);
OffsetRange dims_range(Int start, const std::vector<Dim> &dims, int side);

// How many elements there are; throws like `dims_range`.
Int count_elements(const std::vector<Dim> &dims);

// Without boxes of nothing, and with long tables as several boxes, so that each fits into a tile.
Dim split_tables(const Dim &dim);

// Elements that are together on both sides, at their places if the swizzle is folded in, else before it.
struct ElementRun {
    Pair at;
    Int length;
};

// Runs in bytes are cut into pieces that take one load and one store; those from first[k] to first[k + 1] have 2^k
// bytes. Elements that share bytes with others stay runs.
struct Tile {
    bool in_bytes;
    std::vector<Int> pieces[2];
    std::array<Int, 8> first;
    Pair low, high;             // The bytes of each side, low to before high.
    std::vector<Int> lines[2];  // Where its cache lines are, if they are to be prefetched.
    std::vector<ElementRun> runs;
};

// A tile, repeated by the outer loops. Loops are listed with the slowest first.
struct Nest {
    Pair start;
    std::vector<Loop> inner, outer;
    Int run;                     // How many elements of a loop that moves both sides by 1 are innermost.
    std::array<bool, 2> folded;  // Whether tiles differ by a constant, so that the swizzle is folded into the tile.
    Pair border;                 // If > 0, no run goes over a multiple of it.
    Int tiles, first;            // How many there are, and before it.
    std::shared_ptr<Tile> tile;  // None if it is made for each copy.
    std::shared_ptr<packed::Network> network;  // Moves the tiles, in place of runs, if there is one.
};

// The nests of all combinations of one box of each dimension, those of the most tiles first.
std::vector<Nest> make_nests(Pair start, const std::vector<Dim> &dims, const Sides &sides, int bits,
                             const NetworkKernels &networks);

std::vector<ElementRun> make_runs(const Nest &nest, const Sides &sides);

// `in_bytes` allows for pieces, where elements fill whole bytes together.
Tile make_tile(const Nest &nest, const Sides &sides, int bits, bool in_bytes, bool prefetched);

}  // namespace relayout::general
