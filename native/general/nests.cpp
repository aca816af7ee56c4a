#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "general/tiles.h"

namespace relayout::general {
namespace {

constexpr Int tile_most = 8192;    // The most elements, or parts of longer runs, in a tile,
constexpr Int tile_enough = 1024;  // and how many make up for the start of a tile.
constexpr Int table_most = 4096;
constexpr Int nests_most = 1 << 16;
constexpr Int run_most = 1 << 15;  // bytes
constexpr Int line_bits = 512;

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

Range only(Int v) { return {checked(v), v, std::abs(v)}; }

Range added(const Range &a, const Range &b) {
    return {sum(a.low, b.low), sum(a.high, b.high), sum(a.absolute, b.absolute)};
}

Range joined(const Range &a, const Range &b) {
    return {std::min(a.low, b.low), std::max(a.high, b.high), std::max(a.absolute, b.absolute)};
}

Range range(const Box &box, int side) {
    Range found = only(box.offset[side]);
    for (const Loop &loop : box.loops) found = added(found, range(loop, side));
    return found;
}

void sort_by(int side, std::vector<Loop> &loops) {
    std::stable_sort(loops.begin(), loops.end(), [side](const Loop &a, const Loop &b) {
        return std::abs(a.step[side]) > std::abs(b.step[side]);
    });
}

// Puts the loops in the order of the target, all going up in it, and merges those that step as one. For their order
// tables count as loops of their first step.
void arrange(Nest &nest) {
    std::vector<Loop> loops;
    for (Loop loop : nest.inner) {
        if (loop.count == 1) {
            nest.start = nest.start + loop.at(0);
            continue;
        }
        if (loop.table) {
            loop.step = loop.table[1] - loop.table[0];
        } else if (std::make_pair(loop.step[1], loop.step[0]) < std::make_pair(Int(0), Int(0))) {
            nest.start = nest.start + loop.at(loop.count - 1);
            loop.step = -1 * loop.step;
        }
        loops.push_back(loop);
    }
    sort_by(0, loops);
    sort_by(1, loops);
    nest.inner.clear();
    for (const Loop &loop : loops) {
        Loop *last = nest.inner.empty() ? nullptr : &nest.inner.back();
        if (last && !last->table && !loop.table && last->step == loop.count * loop.step)
            *last = {last->count * loop.count, loop.step};
        else
            nest.inner.push_back(loop);
    }
}

// Puts the loops of a tile in the order of side `wide`, which is wider apart. Where another loop is the fastest on the
// other side, that one goes around few steps at a time, so that both sides go on from line to line.
void arrange_tile(std::vector<Loop> &loops, int wide) {
    if (loops.size() < 2) return;
    sort_by(1 - wide, loops);
    const Loop other = loops.back();
    sort_by(wide, loops);
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
class Choice {
public:
    Choice(const std::vector<Loop> &nest, const Sides &sides, int element_bits)
        : steps(nest.size(), 1), run(nest.size()), loops(nest), bits(element_bits), together(line_bits / element_bits) {
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
        if (cost(wanted) > tile_most) return false;
        steps = std::move(wanted);
        return true;
    }

    // Takes tables, runs and whole lines of both sides, as far as there is room.
    void grow() {
        for (std::size_t k = loops.size(); k-- > 0;)
            if (loops[k].table) grow(k, loops[k].count);
        if (run < loops.size()) grow(run, run_most * 8 / bits);
        for (const int side : {1, 0})
            for (std::size_t k = loops.size(); k-- > 0;) {
                const Int step = std::abs(loops[k].step[side]) * bits;
                if (step && step < line_bits) grow(k, line_bits / step);
            }
        for (std::size_t k = loops.size(); k-- > 0 && cost(steps) < tile_enough;)
            grow(k, steps[k] * ceil_div(tile_enough, cost(steps)));
    }

private:
    const std::vector<Loop> &loops;
    int bits;
    Int together;  // How many elements of the run count as one.

    Int cost(const std::vector<Int> &wanted) const {
        Int all = 1;
        for (std::size_t k = 0; k < loops.size(); ++k) {
            const Int one = k == run ? ceil_div(wanted[k], together) : wanted[k];
            if (one > tile_most / all) return tile_most + 1;
            all *= one;
        }
        return all;
    }

    bool take(std::size_t k, Int count) {
        std::vector<Int> wanted = steps;
        wanted[k] = count;
        if (cost(wanted) > tile_most) return false;
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
    Choice choice(loops, sides, bits);
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
    sort_by(wide, nest.outer);
    for (const int side : {0, 1}) {
        Int border = sides[side].block;
        if (!nest.folded[side]) border = std::gcd(border, sides[side].swizzle.grain());
        nest.border[side] = border ? common_divisor(border, nest.outer, side) : 0;
    }
}

}  // namespace

Range range(const Loop &loop, int side) {
    if (!loop.table) {
        const Int far = product(loop.count - 1, loop.step[side]);
        return {std::min<Int>(far, 0), std::max<Int>(far, 0), std::abs(far)};
    }
    Range found = only(loop.table[0][side]);
    for (Int i = 1; i < loop.count; ++i) found = joined(found, only(loop.table[i][side]));
    return found;
}

Range range(Int start, const std::vector<Dim> &dims, int side) {
    Range found = only(start);
    for (const Dim &dim : dims) {
        Range widest = range(dim[0], side);
        for (const Box &box : dim) widest = joined(widest, range(box, side));
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

Dim divided(const Dim &dim) {
    Dim found;
    for (const Box &box : dim) {
        const auto none = [](const Loop &loop) { return loop.count == 0; };
        if (std::any_of(box.loops.begin(), box.loops.end(), none)) continue;
        found.push_back(box);
        for (std::size_t k = 0; k < box.loops.size(); ++k)
            while (found.back().loops[k].table && found.back().loops[k].count > table_most) {
                Box rest = found.back();
                rest.loops[k].table += table_most;
                rest.loops[k].count -= table_most;
                found.back().loops[k].count = table_most;
                found.push_back(std::move(rest));
            }
    }
    return found;
}

std::vector<Nest> make_nests(Pair start, const std::vector<Dim> &dims, const Sides &sides, int bits) {
    Int combinations = 1;
    for (const Dim &dim : dims) {
        combinations *= Int(dim.size());
        if (combinations > nests_most) throw std::invalid_argument("the dimensions fall into too many boxes");
    }
    std::vector<Nest> found, todo;
    for (Int number = 0; number < combinations; ++number) {
        Nest whole{};
        whole.start = start;
        Int rest = number;
        for (const Dim &dim : dims) {
            const Box &box = dim[std::size_t(rest % Int(dim.size()))];
            rest /= Int(dim.size());
            whole.start = whole.start + box.offset;
            whole.inner.insert(whole.inner.end(), box.loops.begin(), box.loops.end());
        }
        todo.push_back(std::move(whole));
        while (!todo.empty()) {
            Nest nest = std::move(todo.back());
            todo.pop_back();
            divide(nest, sides, bits, todo);
            found.push_back(std::move(nest));
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const Nest &a, const Nest &b) { return a.tiles > b.tiles; });
    Int before = 0;
    for (Nest &nest : found) {
        nest.first = before;
        before += nest.tiles;
    }
    return found;
}

}  // namespace relayout::general
