#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "general/tiles.h"
#include "general/tuning.h"

namespace relayout::general {
namespace {

constexpr Int cache_line_bits = 8 * cache_line;

Int checked(Int v) {
    if (v <= -limit || v >= limit) throw std::invalid_argument("a number is too large for an offset in memory");
    return v;
}

Int sum(Int a, Int b) { return checked(checked(a) + checked(b)); }

Int product(Int a, Int b) {
    if (checked(a) && std::abs(checked(b)) > limit / std::abs(a))
        throw std::invalid_argument("the numbers multiply to no offset in memory");
    return a ? checked(a * b) : 0;
}

OffsetRange only(Int v) { return {checked(v), v, std::abs(v)}; }

OffsetRange added(const OffsetRange &a, const OffsetRange &b) {
    return {sum(a.low, b.low), sum(a.high, b.high), sum(a.absolute, b.absolute)};
}

OffsetRange joined(const OffsetRange &a, const OffsetRange &b) {
    return {std::min(a.low, b.low), std::max(a.high, b.high), std::max(a.absolute, b.absolute)};
}

OffsetRange box_range(const Box &box, int side) {
    OffsetRange found = only(box.offset[side]);
    for (const Loop &loop : box.loops) found = added(found, loop_range(loop, side));
    return found;
}

// Merges the inner loops in the order of the target, all going up in it. For their order tables count as loops of their
// first step.
void arrange(Nest &nest) {
    Box box{nest.start, std::move(nest.inner)};
    for (Loop &loop : box.loops) {
        if (loop.count == 1) continue;
        if (loop.table) {
            loop.step = loop.table[1] - loop.table[0];
        } else if (std::make_pair(loop.step.target, loop.step.source) < std::make_pair(Int(0), Int(0))) {
            box.offset = box.offset + loop.at(loop.count - 1);
            loop.step = -1 * loop.step;
        }
    }
    box = merge_loops(std::move(box));
    nest.start = box.offset;
    nest.inner = std::move(box.loops);
}

// Puts the loops of a tile in the order of side `wide`, which is wider apart. Where another loop is the fastest on the
// other side, that one goes around few steps at a time, so that both sides go on from line to line.
void arrange_tile(std::vector<Loop> &loops, int wide) {
    if (loops.size() < 2) return;
    sort_loops(loops, 1 - wide);
    const Loop other = loops.back();
    sort_loops(loops, wide);
    const Loop fastest = loops.back();
    if (fastest.table || fastest.step == other.step) return;
    const auto same = [&](const Loop &loop) { return loop.step == other.step; };
    loops.erase(std::find_if(loops.begin(), loops.end(), same));
    Int few = std::min<Int>(fastest.count, 8);
    while (fastest.count % few) --few;
    loops.back() = {fastest.count / few, few * fastest.step};
    loops.push_back(other);
    loops.push_back({few, fastest.step});
}

// After how many steps a loop has moved by a multiple of the period, or all its steps.
Int whole_periods(const Loop &loop, int side, Int period) {
    if (!loop.table) return std::min(loop.count, period / std::gcd(loop.step[side], period));
    for (Int i = 0; i < loop.count; ++i)
        if (loop.table[i][side] % period) return loop.count;
    return 1;
}

// How many steps of each loop make a tile.
class TileChoice {
public:
    TileChoice(const std::vector<Loop> &nest, const Sides &sides, int element_bits)
        : steps(nest.size(), 1), run(nest.size()), loops(nest), bits(element_bits),
          together(cache_line_bits / element_bits) {
        for (std::size_t k = 0; k < loops.size(); ++k)
            if (!loops[k].table && loops[k].step == Pair{1, 1}) run = k;
        for (const Side &side : sides) {
            if (side.swizzle.bits) together = std::min(together, side.swizzle.grain());
            if (side.block) together = std::min(together, side.block);
        }
    }

    std::vector<Int> steps;
    std::size_t run;  // The loop that moves both sides by 1, if there is one.

    // Takes whole periods of the swizzle of a side; false if those are too many for a tile.
    bool fold(int side, Int period) {
        std::vector<Int> wanted = steps;
        for (std::size_t k = 0; k < loops.size(); ++k)
            wanted[k] = std::max(wanted[k], whole_periods(loops[k], side, period));
        if (cost(wanted) > max_tile_pieces) return false;
        steps = std::move(wanted);
        return true;
    }

    // Takes tables, runs and whole lines of both sides, as far as there is room.
    void grow() {
        for (std::size_t k = loops.size(); k-- > 0;)
            if (loops[k].table) grow(k, loops[k].count);
        if (run < loops.size()) grow(run, max_run_bytes * 8 / bits);
        for (const int side : {1, 0})
            for (std::size_t k = loops.size(); k-- > 0;) {
                const Int step = std::abs(loops[k].step[side]) * bits;
                if (step && step < cache_line_bits) grow(k, cache_line_bits / step);
            }
        for (std::size_t k = loops.size(); k-- > 0 && cost(steps) < min_tile_pieces;)
            grow(k, steps[k] * ceil_div(min_tile_pieces, cost(steps)));
    }

private:
    const std::vector<Loop> &loops;
    int bits;
    Int together;  // How many elements of the run count as one.

    Int cost(const std::vector<Int> &wanted) const {
        Int all = 1;
        for (std::size_t k = 0; k < loops.size(); ++k) {
            const Int one = k == run ? ceil_div(wanted[k], together) : wanted[k];
            if (one > max_tile_pieces / all) return max_tile_pieces + 1;
            all *= one;
        }
        return all;
    }

    bool take(std::size_t k, Int count) {
        std::vector<Int> wanted = steps;
        wanted[k] = count;
        if (cost(wanted) > max_tile_pieces) return false;
        steps = std::move(wanted);
        return true;
    }

    // Takes multiples of the steps so far, about as many as the goal; preferably such that none are left over.
    void grow(std::size_t k, Int goal) {
        const Int count = loops[k].count, unit = steps[k];
        if (goal <= unit || (count <= 2 * goal && take(k, count)) || loops[k].table) return;
        Int most = std::min(goal, count) / unit;
        while (most > 1 && !take(k, most * unit)) most /= 2;
        for (Int n = most; n > std::max(most / 2, most - 64); --n)
            if (count % (n * unit) == 0) {
                take(k, n * unit);
                return;
            }
    }
};

// The greatest common divisor of a number and of all the moves of loops.
Int common_divisor(Int number, const std::vector<Loop> &loops, int side) {
    for (const Loop &loop : loops) {
        if (!loop.table) number = std::gcd(number, loop.step[side]);
        for (Int i = 0; loop.table && i < loop.count; ++i) number = std::gcd(number, loop.table[i][side]);
    }
    return number;
}

// Makes a tile of some steps of the loops, which are all inner ones at first, and adds nests of what is left to `todo`.
void divide(Nest &nest, const Sides &sides, int bits, std::vector<Nest> &todo) {
    arrange(nest);
    std::vector<Loop> loops = std::move(nest.inner);
    TileChoice choice(loops, sides, bits);
    for (const int side : {1, 0})
        nest.folded[side] = !sides[side].swizzle.bits || choice.fold(side, sides[side].swizzle.period());
    choice.grow();
    nest.inner.clear();
    nest.run = nest.tiles = 1;
    Pair spans{0, 0};
    for (std::size_t k = 0; k < loops.size(); ++k) {
        const Int steps = choice.steps[k], rest = loops[k].count % steps;
        if (rest) {
            Nest other{};
            other.start = nest.start + (loops[k].count - rest) * loops[k].step;
            other.inner = loops;
            other.inner[k].count = rest;
            todo.push_back(std::move(other));
            loops[k].count -= rest;
        }
        if (k == choice.run) {
            nest.run = steps;
        } else if (steps > 1) {
            nest.inner.push_back({steps, loops[k].step, loops[k].table});
            spans = spans + (steps - 1) * Pair{std::abs(loops[k].step[0]), std::abs(loops[k].step[1])};
        }
        if (loops[k].count > steps) {
            nest.outer.push_back({loops[k].count / steps, steps * loops[k].step, loops[k].table});
            nest.tiles *= loops[k].count / steps;
        }
    }
    const int wide = spans[0] > spans[1] ? 0 : 1;
    arrange_tile(nest.inner, wide);
    sort_loops(nest.outer, wide);
    for (const int side : {0, 1}) {
        Int border = sides[side].block;
        if (!nest.folded[side]) border = std::gcd(border, sides[side].swizzle.grain());
        nest.border[side] = border ? common_divisor(border, nest.outer, side) : 0;
    }
}

// Makes tiles of a network, if it can, and adds nests of what is left to `todo`.
bool divide_by_network(Nest &nest, const Sides &sides, int bits, const NetworkKernels &networks,
                       std::vector<Nest> &todo) {
    const auto moved = [](const Side &side) { return side.swizzle.bits || side.block; };
    const auto looked_up = [](const Loop &loop) { return loop.table != nullptr; };
    if (moved(sides[0]) || moved(sides[1]) || std::any_of(nest.inner.begin(), nest.inner.end(), looked_up))
        return false;
    std::optional<packed::Division> made = packed::divide({nest.start, nest.inner}, bits, networks);
    if (!made) return false;
    for (Box &box : made->rest) {
        Nest other{};
        other.start = box.offset;
        other.inner = std::move(box.loops);
        todo.push_back(std::move(other));
    }
    nest.start = made->start;
    nest.inner.clear();
    nest.outer = std::move(made->outer);
    nest.tiles = 1;
    for (const Loop &loop : nest.outer) nest.tiles *= loop.count;
    nest.network = std::make_shared<packed::Network>(std::move(made->network));
    return true;
}

}  // namespace

OffsetRange loop_range(const Loop &loop, int side) {
    if (!loop.table) {
        const Int far = product(loop.count - 1, loop.step[side]);
        return {std::min<Int>(far, 0), std::max<Int>(far, 0), std::abs(far)};
    }
    OffsetRange found = only(loop.table[0][side]);
    for (Int i = 1; i < loop.count; ++i) found = joined(found, only(loop.table[i][side]));
    return found;
}

OffsetRange dims_range(Int start, const std::vector<Dim> &dims, int side) {
    OffsetRange found = only(start);
    for (const Dim &dim : dims) {
        OffsetRange widest = box_range(dim[0], side);
        for (const Box &box : dim) widest = joined(widest, box_range(box, side));
        found = added(found, widest);
    }
    return found;
}

Int count_elements(const std::vector<Dim> &dims) {
    Int all = 1;
    for (const Dim &dim : dims) {
        Int extent = 0;
        for (const Box &box : dim) {
            Int size = 1;
            for (const Loop &loop : box.loops) {
                if (loop.count < 0) throw std::invalid_argument("a loop has fewer than 0 steps");
                size = product(size, loop.count);
            }
            extent = sum(extent, size);
        }
        all = product(all, extent);
    }
    return all;
}

Dim split_tables(const Dim &dim) {
    Dim found;
    for (const Box &box : dim) {
        const auto none = [](const Loop &loop) { return loop.count == 0; };
        if (std::any_of(box.loops.begin(), box.loops.end(), none)) continue;
        found.push_back(box);
        for (std::size_t k = 0; k < box.loops.size(); ++k)
            while (found.back().loops[k].table && found.back().loops[k].count > max_table_entries) {
                Box rest = found.back();
                rest.loops[k].table += max_table_entries;
                rest.loops[k].count -= max_table_entries;
                found.back().loops[k].count = max_table_entries;
                found.push_back(std::move(rest));
            }
    }
    return found;
}

std::vector<Nest> make_nests(Pair start, const std::vector<Dim> &dims, const Sides &sides, int bits,
                             const NetworkKernels &networks) {
    Int combinations = 1;
    for (const Dim &dim : dims) {
        combinations *= Int(dim.size());
        if (combinations > max_combinations) throw std::invalid_argument("the dimensions fall into too many boxes");
    }
    std::vector<Nest> found, todo;
    for_each_combination(dims, {start, {}}, [&](const Box &box) {
        Nest whole{};
        whole.start = box.offset;
        whole.inner = box.loops;
        todo.push_back(std::move(whole));
        while (!todo.empty()) {
            Nest nest = std::move(todo.back());
            todo.pop_back();
            if (!divide_by_network(nest, sides, bits, networks, todo)) divide(nest, sides, bits, todo);
            found.push_back(std::move(nest));
        }
    });
    std::stable_sort(found.begin(), found.end(), [](const Nest &a, const Nest &b) { return a.tiles > b.tiles; });
    Int before = 0;
    for (Nest &nest : found) {
        nest.first = before;
        before += nest.tiles;
    }
    return found;
}

}  // namespace relayout::general
