#include "general.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>

#include "pool.h"

namespace relayout::general {
namespace {

constexpr Int tile_most = 8192;    // The most elements, or parts of longer runs, in a tile,
constexpr Int tile_enough = 1024;  // and how many make up for the start of a tile.
constexpr Int table_most = 4096;
constexpr Int run_most = 1 << 15;    // bytes
constexpr Int line = 64;             // bytes
constexpr Int kept_most = 1 << 14;   // The most pieces of tiles that are kept for the next run.
constexpr Int nests_most = 1 << 16;
constexpr Int strip = 128;           // How many places are looked up at once.

[[noreturn]] void refuse(const char *why) { throw std::invalid_argument(why); }

Int checked(Int v) {
    if (v <= -limit || v >= limit) refuse("a number is too large for an offset in memory");
    return v;
}

Int sum(Int a, Int b) { return checked(checked(a) + checked(b)); }

Int product(Int a, Int b) {
    if (checked(a) && std::abs(checked(b)) > limit / std::abs(a)) refuse("the numbers multiply to no offset in memory");
    return checked(a * b);
}

Pair &operator+=(Pair &a, const Pair &b) {
    a[0] += b[0];
    a[1] += b[1];
    return a;
}

Pair operator+(Pair a, const Pair &b) { return a += b; }
Pair operator*(Int n, const Pair &a) { return {n * a[0], n * a[1]}; }

Int ceil_div(Int a, Int b) { return (a + b - 1) / b; }
Int floor_mod(Int a, Int b) { return (a % b + b) % b; }

// The least and the largest offset, and a bound on the sum of absolute values, for sums in any order.
struct Range {
    Int low, high, absolute;

    explicit Range(Int only) : low(checked(only)), high(only), absolute(std::abs(only)) {}
    Range(Int low, Int high) : low(checked(low)), high(checked(high)), absolute(std::max(std::abs(low), std::abs(high))) {}

    Range &operator+=(const Range &more) {
        low = sum(low, more.low);
        high = sum(high, more.high);
        absolute = sum(absolute, more.absolute);
        return *this;
    }
    void widen(const Range &other) {
        low = std::min(low, other.low);
        high = std::max(high, other.high);
        absolute = std::max(absolute, other.absolute);
    }
};

Range range(const Loop &loop, int s) {
    if (!loop.table) {
        const Int far = product(loop.count - 1, loop.step[s]);
        return {std::min<Int>(far, 0), std::max<Int>(far, 0)};
    }
    Range found(loop.table[0][s]);
    for (Int i = 1; i < loop.count; ++i) found.widen(Range(loop.table[i][s]));
    return found;
}

Range range(const Box &box, int s) {
    Range found(box.offset[s]);
    for (const Loop &loop : box.loops) found += range(loop, s);
    return found;
}

Range range(Int start, const std::vector<Dim> &dims, int s) {
    Range found(start);
    for (const Dim &dim : dims) {
        Range widest = range(dim[0], s);
        for (const Box &box : dim) widest.widen(range(box, s));
        found += widest;
    }
    return found;
}

// Long tables become several boxes, so that each fits into a tile; boxes and dimensions of nothing go.
Dim divided(const Dim &dim) {
    Dim found;
    for (const Box &box : dim) {
        const auto none = [](const Loop &loop) { return loop.count == 0; };
        if (std::any_of(box.loops.begin(), box.loops.end(), none)) continue;
        found.push_back(box);
        for (std::size_t k = 0; k < box.loops.size(); ++k) {
            while (found.back().loops[k].table && found.back().loops[k].count > table_most) {
                Box rest = found.back();
                rest.loops[k].table += table_most;
                rest.loops[k].count -= table_most;
                found.back().loops[k].count = table_most;
                found.push_back(std::move(rest));
            }
        }
    }
    return found;
}

// The loops in the order of the target, the slowest first, all going up in it; those that step as one are merged.
void arrange(Nest &nest) {
    std::vector<Loop> loops;
    for (Loop loop : nest.inner) {
        if (loop.count == 1) {
            nest.start += loop.at(0);
            continue;
        }
        if (loop.table)
            loop.step = loop.table[1] + -1 * loop.table[0];
        else if (std::make_pair(loop.step[1], loop.step[0]) < std::make_pair(Int(0), Int(0))) {
            nest.start += loop.at(loop.count - 1);
            loop.step = -1 * loop.step;
        }
        loops.push_back(loop);
    }
    std::stable_sort(loops.begin(), loops.end(), [](const Loop &a, const Loop &b) {
        return std::make_pair(std::abs(a.step[1]), std::abs(a.step[0])) >
               std::make_pair(std::abs(b.step[1]), std::abs(b.step[0]));
    });
    nest.inner.clear();
    for (const Loop &loop : loops) {
        Loop *last = nest.inner.empty() ? nullptr : &nest.inner.back();
        if (last && !last->table && !loop.table && last->step == loop.count * loop.step)
            *last = {last->count * loop.count, loop.step};
        else
            nest.inner.push_back(loop);
    }
}

// After how many steps a loop has moved by a multiple of the period, or all its steps.
Int whole_periods(const Loop &loop, int s, Int period) {
    if (!loop.table) return std::min(loop.count, period / std::gcd(loop.step[s], period));
    for (Int i = 0; i < loop.count; ++i)
        if (loop.table[i][s] % period) return loop.count;
    return 1;
}

// How many steps of each loop make a tile.
class Choice {
public:
    Choice(const std::vector<Loop> &loops, const std::array<Side, 2> &sides, int bits)
        : loops(loops), steps(loops.size(), 1), run(loops.size()), bits(bits) {
        for (std::size_t k = 0; k < loops.size(); ++k)
            if (!loops[k].table && loops[k].step == Pair{1, 1}) run = k;
        together = std::max<Int>(1, line * 8 / bits);
        for (const Side &side : sides) {
            if (side.swizzle.bits) together = std::min(together, side.swizzle.grain());
            if (side.block) together = std::min(together, side.block);
        }
    }

    // Whole periods of the swizzle of a side, so that tiles differ by a constant there; false if those are too many.
    bool fold(int s, Int period) {
        std::vector<Int> wanted = steps;
        for (std::size_t k = 0; k < loops.size(); ++k)
            wanted[k] = std::max(wanted[k], whole_periods(loops[k], s, period));
        if (cost(wanted) > tile_most) return false;
        steps = std::move(wanted);
        return true;
    }

    void choose() {
        for (std::size_t k = loops.size(); k-- > 0;)
            if (loops[k].table) grow(k, loops[k].count);
        if (run < loops.size()) grow(run, run_most * 8 / bits);
        for (const int s : {1, 0})
            for (std::size_t k = loops.size(); k-- > 0;) {
                const Int step = std::abs(loops[k].step[s]) * bits;
                if (step && step < line * 8) grow(k, line * 8 / step);
            }
        for (std::size_t k = loops.size(); k-- > 0 && cost(steps) < tile_enough;)
            grow(k, steps[k] * ceil_div(tile_enough, cost(steps)));
    }

    const std::vector<Loop> &loops;
    std::vector<Int> steps;
    std::size_t run;  // The loop that moves both sides by 1, if there is one.

private:
    Int cost(const std::vector<Int> &wanted) const {
        Int all = 1;
        for (std::size_t k = 0; k < loops.size(); ++k) {
            const Int one = k == run ? ceil_div(wanted[k], together) : wanted[k];
            if (one > tile_most / all) return tile_most + 1;
            all *= one;
        }
        return all;
    }

    bool set(std::size_t k, Int count) {
        std::vector<Int> wanted = steps;
        wanted[k] = count;
        if (cost(wanted) > tile_most) return false;
        steps[k] = count;
        return true;
    }

    // Multiples of the steps so far, about as many as the goal; preferably such that no steps are left over.
    void grow(std::size_t k, Int goal) {
        const Int count = loops[k].count, unit = steps[k];
        if (goal <= unit || (count <= 2 * goal && set(k, count)) || loops[k].table) return;
        Int most = std::min(goal, count) / unit;
        while (most > 1 && !set(k, most * unit)) most /= 2;
        for (Int n = most; n > most / 2; --n)
            if (count % (n * unit) == 0) {
                set(k, n * unit);
                break;
            }
    }

    int bits;
    Int together;  // How many elements of the run count as one.
};

void sort_by(int s, std::vector<Loop> &loops) {
    std::stable_sort(loops.begin(), loops.end(),
                     [s](const Loop &a, const Loop &b) { return std::abs(a.step[s]) > std::abs(b.step[s]); });
}

// The order of a tile, the slowest loop first: that of side `wide`, which is wider apart. Where another loop is the
// fastest on the other side, that one goes around few steps at a time, so that it writes or reads whole lines too.
void arrange_tile(std::vector<Loop> &loops, int wide) {
    if (loops.size() < 2) return;
    sort_by(1 - wide, loops);
    const Loop other = loops.back();
    loops.pop_back();
    sort_by(wide, loops);
    Loop fastest = loops.back();
    Int few = std::min<Int>(fastest.count, 8);
    while (fastest.count % few) --few;
    if (fastest.table || std::abs(fastest.step[wide]) >= std::abs(other.step[wide])) {
        loops.push_back(other);
        sort_by(wide, loops);
        return;
    }
    loops.back() = {fastest.count / few, few * fastest.step};
    loops.push_back(other);
    loops.push_back({few, fastest.step});
}

// Calls f(base, next) for the tiles of a nest from `begin` to before `end`: the sum of the offsets of the outer loops,
// and that of the tile after it, if there is one.
template <typename F>
void each_tile(const Nest &nest, Int begin, Int end, F f) {
    std::vector<Int> digits(nest.outer.size());
    Pair base{0, 0};
    Int rest = begin;
    for (std::size_t k = digits.size(); k-- > 0;) {
        digits[k] = rest % nest.outer[k].count;
        rest /= nest.outer[k].count;
        base += nest.outer[k].at(digits[k]);
    }
    for (Int i = begin; i < end; ++i) {
        Pair next = base;
        for (std::size_t k = digits.size(); k-- > 0;) {
            const Loop &loop = nest.outer[k];
            const Int digit = digits[k] + 1 < loop.count ? digits[k] + 1 : 0;
            next += loop.at(digit) + -1 * loop.at(digits[k]);
            digits[k] = digit;
            if (digit) break;
        }
        f(base, next);
        base = next;
    }
}

template <std::size_t size>
void copy(std::uintptr_t source, std::uintptr_t target, const Int *from, const Int *to, Int count) {
    for (Int j = 0; j < count; ++j)
        std::memcpy(reinterpret_cast<Byte *>(target + std::uintptr_t(to[j])),
                    reinterpret_cast<const Byte *>(source + std::uintptr_t(from[j])), size);
}

using Copy = void (*)(std::uintptr_t, std::uintptr_t, const Int *, const Int *, Int);
constexpr Copy copies[] = {copy<1>, copy<2>, copy<4>, copy<8>, copy<16>, copy<32>, copy<64>};

// The bytes of one side of a tile: fixed distances from an origin, or looked up piece by piece.
struct Bytes {
    Swizzle swizzle;
    Int block, moved;
    const Memory *memory;
    bool fixed;
    std::uintptr_t origin;

    Bytes(const Side &side, bool folded, int bits, const Memory &memory, Int moved, Int low, Int high)
        : swizzle(side.swizzle), block(side.block * bits / 8), moved(moved), memory(&memory), fixed(folded), origin(0) {
        while (bits > 8) bits /= 2, ++swizzle.base;
        while (bits < 8) bits *= 2, --swizzle.base;
        if (folded) swizzle.bits = 0;
        if (fixed && block) {
            const Int k = (moved + low) / block;
            fixed = (moved + high - 1) / block == k;
            if (fixed) origin = memory.blocks[std::size_t(k)].address + std::uintptr_t(moved - k * block);
        } else if (fixed) {
            origin = memory.address + std::uintptr_t(moved);
        }
    }

    void look_up(const Int *pieces, Int count, Int *found) const {
        if (swizzle.bits)
            for (Int j = 0; j < count; ++j) found[j] = swizzle(moved + pieces[j]);
        else
            for (Int j = 0; j < count; ++j) found[j] = moved + pieces[j];
        if (block)
            for (Int j = 0; j < count; ++j)
                found[j] = Int(memory->blocks[std::size_t(found[j] / block)].address) + found[j] % block;
        else
            for (Int j = 0; j < count; ++j) found[j] += Int(memory->address);
    }
};

// Asks for as large a part of the lines as `done` is of `all`.
template <int write>
void prefetch(std::uintptr_t origin, const std::vector<Int> &lines, Int all, std::size_t done, std::size_t &asked) {
    const std::size_t until = lines.size() * done / std::size_t(all);
    for (; asked < until; ++asked)
        __builtin_prefetch(reinterpret_cast<const void *>(origin + std::uintptr_t(lines[asked])), write, 2);
}

// Copies a tile, and asks for the lines of the next one, which is `ahead` bytes further.
void move_bytes(const Tile &tile, const Bytes &source, const Bytes &target, const Pair &ahead) {
    Int found[2][strip];
    std::size_t asked[2] = {0, 0};
    for (std::size_t k = 0; k < std::size(copies); ++k)
        for (Int begin = tile.first[k], count; begin < tile.first[k + 1]; begin += count) {
            count = std::min(tile.first[k + 1] - begin, strip);
            const std::size_t done = std::size_t(begin + count);
            if (source.fixed) prefetch<0>(source.origin + std::uintptr_t(ahead[0]), tile.lines[0], tile.first.back(), done, asked[0]);
            if (target.fixed) prefetch<1>(target.origin + std::uintptr_t(ahead[1]), tile.lines[1], tile.first.back(), done, asked[1]);
            const Int *from = tile.pieces[0].data() + begin, *to = tile.pieces[1].data() + begin;
            if (!source.fixed) source.look_up(from, count, found[0]);
            if (!target.fixed) target.look_up(to, count, found[1]);
            copies[k](source.origin, target.origin, source.fixed ? from : found[0], target.fixed ? to : found[1], count);
        }
}

// Where an element starts: a byte, and a bit of it.
struct BitPlace {
    Byte *byte;
    int bit;

    BitPlace(const Side &side, bool folded, int bits, const Memory &memory, Int v) {
        if (!folded) v = side.swizzle(v);
        const Block *block = side.block ? &memory.blocks[std::size_t(v / side.block)] : nullptr;
        const Int place = block ? v % side.block * bits + block->bit : v * bits;
        byte = reinterpret_cast<Byte *>((block ? block->address : memory.address) + std::uintptr_t(place >> 3));
        bit = int(place & 7);
    }
};

void copy_bits(BitPlace source, BitPlace target, Int count) {
    if (source.bit == 0 && target.bit == 0) {
        std::memcpy(target.byte, source.byte, std::size_t(count / 8));
        source.byte += count / 8;
        target.byte += count / 8;
        count %= 8;
    }
    while (count > 0) {
        const int now = int(std::min<Int>(count, 8 - target.bit));
        unsigned value = unsigned(*source.byte) >> source.bit;
        if (source.bit + now > 8) value |= unsigned(source.byte[1]) << (8 - source.bit);
        const unsigned mask = ((1u << now) - 1) << target.bit;
        *target.byte = Byte((*target.byte & ~mask) | ((value << target.bit) & mask));
        source.bit += now;
        source.byte += source.bit / 8;
        source.bit %= 8;
        ++target.byte;
        target.bit = 0;
        count -= now;
    }
}

}  // namespace

General::General(int bits, Pair start, std::vector<Dim> dims, std::vector<std::vector<Pair>> tables,
                 std::array<Side, 2> sides)
    : bits_(bits), tables_(std::move(tables)), sides_(sides), count_(1), low_{}, high_{}, ends_{} {
    if (bits < 1 || bits > 128 || (bits > 8 && (bits & (bits - 1))))
        refuse("elements have 1 to 8, 16, 32, 64 or 128 bits");
    for (const Side &side : sides_) {
        const auto &[many, base, shift] = side.swizzle;
        if (many < 0 || many > 54 || base < 0 || base > 54 || shift < -54 || shift > 54 ||
            many + base + std::abs(shift) > 54)
            refuse("a swizzle stays within 54 bits");
        if (side.block < 0 || side.block >= limit) refuse("a block has at least one element, and fits into memory");
    }
    Int combinations = 1;
    for (Dim &dim : dims) {
        dim = divided(dim);
        Int extent = 0;
        for (const Box &box : dim) {
            Int size = 1;
            for (const Loop &loop : box.loops) {
                if (loop.count < 0) refuse("a loop has no fewer than 0 steps");
                size = product(size, loop.count);
            }
            extent = sum(extent, size);
        }
        count_ = extent && count_ ? product(count_, extent) : 0;
    }
    if (!count_) return;
    for (const int s : {0, 1}) {
        const Range reached = range(start[s], dims, s);
        if (reached.low < 0) refuse("an offset is below 0");
        low_[s] = reached.low;
        high_[s] = reached.high + 1;
        ends_[s] = -1;
        Swizzle &swizzle = sides_[s].swizzle;
        if (reached.high < Int(1) << (swizzle.base + std::max(swizzle.shift, 0))) swizzle.bits = 0;
    }
    for (const Dim &dim : dims) {
        combinations *= Int(dim.size());
        if (combinations > nests_most) refuse("the dimensions fall into too many boxes");
    }
    std::vector<Nest> todo;
    for (Int number = 0; number < combinations; ++number) {
        Nest nest{};
        nest.start = start;
        Int rest = number;
        for (const Dim &dim : dims) {
            const Box &box = dim[std::size_t(rest % Int(dim.size()))];
            rest /= Int(dim.size());
            nest.start += box.offset;
            nest.inner.insert(nest.inner.end(), box.loops.begin(), box.loops.end());
        }
        todo.push_back(std::move(nest));
        while (!todo.empty()) {
            Nest next = std::move(todo.back());
            todo.pop_back();
            divide(std::move(next), todo);
        }
    }
    std::stable_sort(nests_.begin(), nests_.end(), [](const Nest &a, const Nest &b) { return a.tiles > b.tiles; });
    Int kept = 0;
    for (Nest &nest : nests_) {
        nest.first = tiles_;
        tiles_ += nest.tiles;
        if (kept > kept_most) continue;
        nest.tile = std::make_shared<const Tile>(tile(nest, true));
        kept += Int(nest.tile->pieces[0].size() + nest.tile->runs.size());
    }
}

// Makes a nest of a tile and loops around it; steps that are left over go to `todo`.
void General::divide(Nest nest, std::vector<Nest> &todo) {
    arrange(nest);
    const std::vector<Loop> loops = std::move(nest.inner);
    Choice choice(loops, sides_, bits_);
    for (const int s : {1, 0}) nest.folded[s] = !sides_[s].swizzle.bits || choice.fold(s, sides_[s].swizzle.period());
    choice.choose();
    std::vector<Loop> left = loops;
    nest.inner.clear();
    nest.run = 1;
    nest.tiles = 1;
    Pair spans{0, 0};
    for (std::size_t k = 0; k < loops.size(); ++k) {
        const Int steps = choice.steps[k], rest = loops[k].count % steps;
        if (rest) {
            Nest other{};
            other.inner = left;
            other.inner[k].count = rest;
            other.start = nest.start + (loops[k].count - rest) * loops[k].step;
            left[k].count -= rest;
            todo.push_back(std::move(other));
        }
        Loop inner = loops[k], outer = loops[k];
        inner.count = steps;
        outer.count = left[k].count / steps;
        outer.step = steps * outer.step;
        if (outer.count > 1) {
            nest.outer.push_back(outer);
            nest.tiles *= outer.count;
        }
        if (k == choice.run) {
            nest.run = steps;
        } else if (steps > 1) {
            nest.inner.push_back(inner);
            for (const int s : {0, 1}) spans[s] += std::abs(inner.step[s]) * (steps - 1);
        }
    }
    const int wide = spans[0] > spans[1] ? 0 : 1;
    arrange_tile(nest.inner, wide);
    sort_by(wide, nest.outer);
    for (const int side : {0, 1}) {
        Int border = sides_[side].block;
        if (!nest.folded[side]) border = std::gcd(border, sides_[side].swizzle.grain());
        for (std::size_t k = 0; border && k < nest.outer.size(); ++k) {
            const Loop &loop = nest.outer[k];
            for (Int i = 0; i < (loop.table ? loop.count : 1); ++i)
                border = std::gcd(border, loop.table ? loop.table[i][side] : loop.step[side]);
        }
        nest.border[side] = border;
    }
    nests_.push_back(std::move(nest));
}

std::vector<Run> General::runs(const Nest &nest) const {
    std::vector<Pair> starts{nest.start};
    for (std::size_t k = nest.inner.size(); k-- > 0;) {
        std::vector<Pair> wider;
        wider.reserve(starts.size() * std::size_t(nest.inner[k].count));
        for (Int i = 0; i < nest.inner[k].count; ++i)
            for (const Pair &start : starts) wider.push_back(start + nest.inner[k].at(i));
        starts = std::move(wider);
    }
    Pair cuts = nest.border;
    for (const int s : {0, 1})
        if (sides_[s].swizzle.bits) cuts[s] = std::gcd(cuts[s], sides_[s].swizzle.grain());
    std::vector<Run> found;
    for (const Pair &start : starts)
        for (Int done = 0, length; done < nest.run; done += length) {
            Run run{start + Pair{done, done}, nest.run - done};
            for (const int s : {0, 1}) {
                if (cuts[s]) run.length = std::min(run.length, cuts[s] - floor_mod(run.at[s], cuts[s]));
                if (nest.folded[s]) run.at[s] = sides_[s].swizzle(run.at[s]);
            }
            length = run.length;
            bool follows = !found.empty();
            for (const int s : {0, 1})
                follows = follows && found.back().at[s] + found.back().length == run.at[s] &&
                          !(nest.border[s] && floor_mod(run.at[s], nest.border[s]) == 0);
            if (follows)
                found.back().length += length;
            else
                found.push_back(run);
        }
    return found;
}

bool General::whole_bytes(const Nest &nest, const std::vector<Run> &runs) const {
    if (bits_ >= 8 || 8 % bits_) return bits_ >= 8;
    Int together = 8 / bits_;
    for (const Loop &loop : nest.outer)
        for (Int i = 0; i < (loop.table ? loop.count : 1); ++i)
            for (const int s : {0, 1}) together = std::gcd(together, loop.table ? loop.table[i][s] : loop.step[s]);
    for (const int s : {0, 1}) together = std::gcd(together, nest.border[s]);
    for (const Run &run : runs) together = std::gcd(std::gcd(together, run.length), std::gcd(run.at[0], run.at[1]));
    return together == 8 / bits_;
}

// Runs of 2^k bytes and more as one or more pieces of 2^k bytes, the last moved back to end with the run.
void General::cut(const std::vector<Run> &runs, Tile &tile) const {
    const auto size = [](Int length) {
        std::size_t k = 0;
        while (k + 1 < std::size(copies) && length >> (k + 1)) ++k;
        return k;
    };
    std::array<Int, 8> next{};
    for (const Run &run : runs) {
        const std::size_t k = size(bytes(run.length));
        next[k + 1] += ceil_div(bytes(run.length), Int(1) << k);
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    tile.first = next;
    for (const int s : {0, 1}) {
        tile.pieces[s].resize(std::size_t(next[7]));
        tile.low[s] = std::numeric_limits<Int>::max();
        tile.high[s] = std::numeric_limits<Int>::min();
    }
    for (const Run &run : runs) {
        const Int length = bytes(run.length);
        const std::size_t k = size(length);
        for (const int s : {0, 1}) {
            const Int at = bytes(run.at[s]);
            tile.low[s] = std::min(tile.low[s], at);
            tile.high[s] = std::max(tile.high[s], at + length);
            Int place = next[k];
            for (Int done = 0; done < length; done += Int(1) << k)
                tile.pieces[s][std::size_t(place++)] = at + std::min(done, length - (Int(1) << k));
        }
        next[k] += ceil_div(length, Int(1) << k);
    }
}

void General::list_lines(const std::vector<Run> &runs, Tile &tile) const {
    for (const int s : {0, 1}) {
        std::vector<Int> &lines = tile.lines[s];
        for (const Run &run : runs) {
            const Int begin = bytes(run.at[s]), end = begin + bytes(run.length);
            for (Int at = begin; at < end; at += line - floor_mod(at, line))
                if (lines.empty() || lines.back() != at - floor_mod(at, line)) lines.push_back(at - floor_mod(at, line));
        }
        std::sort(lines.begin(), lines.end());
        lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    }
}

Tile General::tile(const Nest &nest, bool in_bytes) const {
    Tile made{};
    std::vector<Run> all = runs(nest);
    made.whole = in_bytes && whole_bytes(nest, all);
    if (made.whole) {
        cut(all, made);
        list_lines(all, made);
    } else
        made.runs = std::move(all);
    return made;
}

Int General::high(int s) const {
    const Swizzle &swizzle = sides_[s].swizzle;
    return swizzle.bits ? ceil_div(high_[s], swizzle.period()) * swizzle.period() : high_[s];
}

Int General::end(int s) const {
    Int found = ends_[s].load(std::memory_order_relaxed);
    if (found >= 0) return found;
    for (const Nest &nest : nests_) {
        const std::vector<Run> all = runs(nest);
        Int most = std::numeric_limits<Int>::min();
        if (nest.folded[s]) {
            for (const Run &run : all) most = std::max(most, run.at[s] + run.length);
            for (const Loop &loop : nest.outer) most += range(loop, s).high;
        } else {
            each_tile(nest, 0, nest.tiles, [&](const Pair &base, const Pair &) {
                for (const Run &run : all)
                    most = std::max(most, sides_[s].swizzle(base[s] + run.at[s]) + run.length);
            });
        }
        found = std::max(found, most);
    }
    ends_[s].store(found, std::memory_order_relaxed);
    return found;
}

bool General::run(const std::array<Memory, 2> &memories, int threads) const {
    bool aligned = true;
    for (const Memory &memory : memories)
        for (const Block &block : memory.blocks) aligned = aligned && block.bit == 0;
    // Elements that share bytes are written one after the other.
    const auto whole = [](const Nest &nest) { return nest.tile && nest.tile->whole; };
    if (bits_ < 8 && !(aligned && std::all_of(nests_.begin(), nests_.end(), whole))) threads = 1;
    std::atomic<bool> failed{false};
    const auto task = [&](Int begin, Int end) {
        auto nest = std::upper_bound(nests_.begin(), nests_.end(), begin,
                                     [](Int number, const Nest &other) { return number < other.first; }) -
                    nests_.begin() - 1;
        for (; begin < end; ++nest) {
            const Nest &now = nests_[std::size_t(nest)];
            const Int last = std::min(end, now.first + now.tiles);
            const bool kept = now.tile && (aligned || !now.tile->whole);
            const Tile made = kept ? Tile{} : tile(now, aligned);
            const Tile &one = kept ? *now.tile : made;
            each_tile(now, begin - now.first, last - now.first, [&](const Pair &base, const Pair &next) {
                if (one.whole) {
                    const auto side = [&](int s) {
                        return Bytes(sides_[s], now.folded[s], bits_, memories[s], bytes(base[s]), one.low[s],
                                     one.high[s]);
                    };
                    move_bytes(one, side(0), side(1), {bytes(next[0] - base[0]), bytes(next[1] - base[1])});
                    return;
                }
                for (const Run &run : one.runs) {
                    const auto place = [&](int s) {
                        return BitPlace(sides_[s], now.folded[s], bits_, memories[s], base[s] + run.at[s]);
                    };
                    copy_bits(place(0), place(1), run.length * bits_);
                }
            });
            begin = last;
        }
    };
    parallel(threads, tiles_, [&](Int begin, Int end) {
        try {
            task(begin, end);
        } catch (const std::bad_alloc &) {
            failed.store(true, std::memory_order_relaxed);
        }
    });
    return !failed.load(std::memory_order_relaxed);
}

}  // namespace relayout::general
