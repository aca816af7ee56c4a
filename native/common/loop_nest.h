#pragma once

#include <utility>
#include <vector>

#include "common/bytes.h"

// Loop nests through two memories at once, as both engines get them: all combinations of one box of each dimension, and
// in a box all combinations of its loops. One engine counts in bytes, the other in elements.
namespace relayout {

constexpr int source_side = 0, target_side = 1;

// One number for the source and one for the target; indexed by the side.
struct Pair {
    Int source, target;

    Int &operator[](int side) { return side == source_side ? source : target; }
    Int operator[](int side) const { return side == source_side ? source : target; }
};

inline bool operator==(const Pair &a, const Pair &b) { return a.source == b.source && a.target == b.target; }
inline Pair operator+(const Pair &a, const Pair &b) { return {a.source + b.source, a.target + b.target}; }
inline Pair operator-(const Pair &a, const Pair &b) { return {a.source - b.source, a.target - b.target}; }
inline Pair operator*(Int n, const Pair &a) { return {n * a.source, n * a.target}; }

// So many steps; each moves both sides by the stride, or they go to the entries of a table.
struct Loop {
    Int count;
    Pair step;
    const Pair *table = nullptr;

    Pair at(Int i) const { return table ? table[i] : i * step; }
};

// From these offsets on, all combinations of the loops. One that is not valid is padding, and has no source.
struct Box {
    Pair offset;
    std::vector<Loop> loops;
    bool valid = true;
};

using Dim = std::vector<Box>;

// Neighbours that step as one become one loop; the slowest comes first. A loop has a count, a step, maybe a table.
template <typename AnyLoop> std::vector<AnyLoop> merge_neighbours(const std::vector<AnyLoop> &loops) {
    std::vector<AnyLoop> merged;
    for (const AnyLoop &loop : loops) {
        AnyLoop *slower = merged.empty() ? nullptr : &merged.back();
        if (slower && !slower->table && !loop.table && slower->step == loop.count * loop.step)
            *slower = {slower->count * loop.count, loop.step, nullptr};
        else
            merged.push_back(loop);
    }
    return merged;
}

// The largest strides of a side first; loops of equal strides keep their order.
void sort_loops(std::vector<Loop> &loops, int side);

// As few loops as can be, the slowest of the target first, and of the source where those are alike. A loop of one step
// becomes part of the offset. Tables are put in order by their `step`, and stay.
Box merge_loops(Box box);

// Boxes as one: offsets are added, and all loops run; it is valid if both are.
Box combine(Box box, const Box &with);

// Calls use(box) for every combination of one box of each dimension from `first` on, the last dimension's fastest.
template <typename Use>
void for_each_combination(const std::vector<Dim> &dims, const Box &start, const Use &use, std::size_t first = 0) {
    if (first == dims.size()) return use(start);
    for (const Box &box : dims[first]) for_each_combination(dims, combine(start, box), use, first + 1);
}

}  // namespace relayout
