#pragma once

// Takes loops out of a piece into a tile, and puts the rest around it.

#include <algorithm>
#include <cstdlib>

#include "tiled/schedule.h"

namespace relayout {

constexpr Int tile_bytes = 4096;  // a tile below this loses to the calls around it
constexpr std::size_t max_ops = 64;

inline int log2_of(Int n) {
    int k = 0;
    while ((Int(1) << k) < n) ++k;
    return k;
}

inline bool is_width(Int n) { return n == 1 || n == 2 || n == 4 || n == 8 || n == 16; }

// Loops that step as one in both memories become one; the slowest of the target come first.
inline std::vector<Loop> merged(std::vector<Loop> loops) {
    loops.erase(std::remove_if(loops.begin(), loops.end(), [](const Loop &l) { return l.count == 1; }), loops.end());
    std::stable_sort(loops.begin(), loops.end(), [](const Loop &a, const Loop &b) {
        const Int x = std::llabs(a.target), y = std::llabs(b.target);
        return x != y ? x > y : std::llabs(a.source) > std::llabs(b.source);
    });
    std::vector<Loop> out;
    for (const Loop &loop : loops) {
        if (!out.empty() && out.back().source == loop.source * loop.count &&
            out.back().target == loop.target * loop.count)
            out.back() = {out.back().count * loop.count, loop.source, loop.target};
        else
            out.push_back(loop);
    }
    return out;
}

// How many of `count` steps a tile takes if it wants `wanted`: all of them, or equal shares, multiples of `unit`.
inline Int share(Int count, Int wanted, Int unit) {
    if (count <= 4 * wanted && count <= 64 && wanted > 4) return count;
    if (count <= wanted + wanted / 2) return count;
    const Int tiles = (count + wanted - 1) / wanted;
    Int tile = (count + tiles - 1) / tiles;
    tile = (tile + unit - 1) / unit * unit;
    return std::min(tile, count);
}

inline bool among(const Loop &loop, const std::vector<Loop> &loops) {
    for (const Loop &other : loops)
        if (loop.source == other.source && loop.target == other.target) return true;
    return false;
}

inline Int product(Int bytes, const std::vector<Loop> &loops) {
    for (const Loop &loop : loops) bytes *= loop.count;
    return bytes;
}

// The loops of a piece while a tile is taken out of them.
struct Builder {
    std::vector<Loop> loops;
    Step step;
    bool cut = false;       // the loop taken last was too long for the tile
    bool in_order = false;  // ops share lines, so that none may be repeated before the next

    Builder(Int source, Int target, std::vector<Loop> all) : loops(std::move(all)) {
        step.source = source;
        step.target = target;
    }

    int find(Int Loop::*field, Int value) const {
        for (std::size_t k = 0; k < loops.size(); ++k)
            if (loops[k].*field == value) return int(k);
        return -1;
    }

    int nearest() const {
        const auto smaller = [](const Loop &a, const Loop &b) { return std::llabs(a.source) < std::llabs(b.source); };
        return int(std::min_element(loops.begin(), loops.end(), smaller) - loops.begin());
    }

    // Take about `wanted` steps of a loop into the tile; the rest goes around it.
    Loop take(int index, Int wanted, Int unit = 1) {
        const Loop loop = loops[std::size_t(index)];
        loops.erase(loops.begin() + index);
        const Int tile = share(loop.count, std::max<Int>(wanted, 1), unit);
        cut = tile < loop.count;
        if (cut) step.outer.push_back({(loop.count + tile - 1) / tile, tile, loop.count, loop.source, loop.target});
        return {tile, loop.source, loop.target};
    }

    // The loops that continue a contiguous range of `bytes` bytes up to `wanted`, and its length with them. Those that
    // are `spared` are left alone.
    std::vector<Loop> chain(Int Loop::*field, Int &bytes, Int wanted, Int unit, const std::vector<Loop> &spared = {},
                            Int longest = 0) {
        std::vector<Loop> taken;
        cut = false;
        while (bytes < wanted && !cut) {
            const int next = find(field, bytes);
            if (next < 0) break;
            const Loop &loop = loops[std::size_t(next)];
            if (among(loop, spared)) break;
            // Where the source goes on next to it anyway, more of a loop is better than other loops.
            const Int enough = next == nearest() ? std::max(wanted, longest) : wanted;
            taken.push_back(take(next, (enough + bytes - 1) / bytes, std::max<Int>(unit / bytes, 1)));
            bytes *= taken.back().count;
        }
        return taken;
    }

    // The loops that such a chain would take.
    std::vector<Loop> path(Int Loop::*field, Int bytes, Int wanted, const std::vector<Loop> &spared) const {
        std::vector<Loop> found;
        for (int next = find(field, bytes); bytes < wanted && next >= 0; next = find(field, bytes)) {
            const Loop &loop = loops[std::size_t(next)];
            if (among(loop, spared)) break;
            found.push_back(loop);
            bytes *= loop.count;
        }
        return found;
    }

    // Repeat what the tile has for more loops, the nearest in the source first, until it is large enough. The longest is
    // run by the kernels themselves.
    void widen(Int bytes, Int wanted = tile_bytes) {
        struct Extra {
            Loop loop;
            Int staged;
        };
        std::vector<Extra> extras;
        Int longest = 1, calls = Int(step.ops.size());
        while (bytes < wanted && !loops.empty() && calls < Int(max_ops)) {
            const Loop loop = take(nearest(), std::min((wanted + bytes - 1) / bytes, Int(max_ops)));
            extras.push_back({loop, bytes});
            calls *= std::min(longest, loop.count);
            longest = std::max(longest, loop.count);
            bytes *= loop.count;
        }
        step.staged_bytes = bytes;
        const bool repeat = step.ops[0].repeat.count == 1 && !in_order;
        bool repeated = false;
        for (const Extra &extra : extras) {
            const Loop &loop = extra.loop;
            const std::vector<Op> ops = step.ops;
            const std::vector<Segment> segments = step.segments;
            const bool here = repeat && !repeated && loop.count == longest;
            repeated = repeated || here;
            if (here)
                for (Op &op : step.ops) {
                    op.repeat = {loop.count, loop.source, loop.target};
                    op.staged_repeat = {loop.count, loop.source, extra.staged};
                }
            for (Int i = 1; i < loop.count; ++i) {
                for (Op op : ops) {
                    if (here) break;
                    op.source += i * loop.source;
                    op.target += i * loop.target;
                    op.staged += i * extra.staged;
                    step.ops.push_back(op);
                }
                for (const Segment &s : segments)
                    step.segments.push_back({s.target + i * loop.target, s.staged + i * extra.staged, s.length});
            }
        }
    }

    // All that is left goes around the tile, in the order of the source: the smallest steps are the fastest.
    Step finish(Int bytes) {
        for (const Loop &loop : loops) step.outer.push_back({loop.count, 1, loop.count, loop.source, loop.target});
        std::stable_sort(step.outer.begin(), step.outer.end(), [](const Outer &a, const Outer &b) {
            const Int x = std::llabs(a.source) * a.tile, y = std::llabs(b.source) * b.tile;
            return x != y ? x > y : std::llabs(a.target) > std::llabs(b.target);
        });
        step.iterations = 1;
        for (const Outer &outer : step.outer) step.iterations *= outer.count;
        merge_segments();
        step.tile_bytes = bytes;
        step.streams = step.target % line == 0 && !step.segments.empty();
        for (const Outer &o : step.outer)
            if ((o.tile * o.target) % line || ((o.extent - o.tile) * o.target) % line) step.streams = false;
        for (const Segment &s : step.segments)
            if (s.target % line || s.length % line) step.streams = false;
        step.long_runs = true;
        for (const Op &op : step.ops) {
            if (!streams(op)) step.streams = false;
            const bool lasting = (op.kind == Kind::runs && op.length >= 512) ||
                                 (op.kind == Kind::weave && (op.height * op.count << op.width) >= 1024);
            if (!lasting) step.long_runs = false;
        }
        return std::move(step);
    }

private:
    // Whether the stores of a kernel are aligned once the tile's target is.
    bool streams(const Op &op) const {
        switch (op.kind) {
            case Kind::runs:
            case Kind::padded_runs: {
                const Int unit = op.length % 64 == 0 ? 64 : op.length == 32 ? 32 : 16;
                return (op.target | op.length | op.strip.target | op.repeat.target) % unit == 0;
            }
            case Kind::weave: return (op.target | op.repeat.target) % 16 == 0;
            case Kind::transpose: {
                const Int bytes = op.height << op.width;
                const Int unit = bytes % line == 0 ? line : bytes;
                return (unit == line || unit == 16 || unit == 32) && (op.target | op.repeat.target) % unit == 0 &&
                       columns_fit(op, unit);
            }
            case Kind::unweave: {
                const Int unit = (op.count << op.width) % line == 0 ? line : 16;
                return (op.target | op.repeat.target) % unit == 0 && columns_fit(op, unit);
            }
            default: return false;
        }
    }

    bool columns_fit(const Op &op, Int unit) const {
        const Int n = op.kind == Kind::unweave ? op.valid : op.count;
        for (Int j = 0; j < n; ++j)
            if (step.tables[op.columns + std::size_t(j)] % unit) return false;
        return true;
    }

    void merge_segments() {
        std::vector<Segment> out;
        for (const Segment &s : step.segments) {
            if (!out.empty() && out.back().target + out.back().length == s.target &&
                out.back().staged + out.back().length == s.staged)
                out.back().length += s.length;
            else
                out.push_back(s);
        }
        step.segments = std::move(out);
    }
};

}  // namespace relayout
