#pragma once

// Takes loops out of a box into a tile, and puts the rest around it.

#include <algorithm>
#include <cstdlib>

#include "tiled/program.h"
#include "tiled/variation.h"

namespace relayout::tiled {

inline int log2_of(Int n) {
    int k = 0;
    while ((Int(1) << k) < n) ++k;
    return k;
}

inline bool is_width(Int n) { return n == 1 || n == 2 || n == 4 || n == 8 || n == 16; }

// How many of `count` steps a tile takes if it wants `wanted`: all of them, or equal shares, multiples of `unit`.
inline Int share(Int count, Int wanted, Int unit) {
    if (count <= 4 * wanted && count <= 64 && wanted > 4) return count;
    if (count <= wanted + wanted / 2) return count;
    const Int tiles = (count + wanted - 1) / wanted;
    Int tile = (count + tiles - 1) / tiles;
    tile = (tile + unit - 1) / unit * unit;
    return std::min(tile, count);
}

// How many of a tile's steps the next one has as well, so that one of both has every line whole; none if that is much.
inline Int shared_steps(const Loop &loop, Int steps) {
    const Int line = (cache_line + loop.step.target - 1) / loop.step.target;
    return line * max_shared <= steps ? line : 0;
}

// About so many steps, a multiple of `unit`, for tiles of which the last one has not much less to do. Neighbours have
// `shared` steps in common.
inline Int even_steps(const Loop &loop, Int steps, Int unit, Int shared = 0) {
    const Int pace = steps - shared;
    if (steps >= loop.count) return steps;
    const Int tiles = std::max<Int>((loop.count - shared + pace / 2) / pace, 1);
    const Int even = (loop.count - shared + tiles - 1) / tiles + shared;
    return std::min((even + unit - 1) / unit * unit, loop.count);
}

inline bool among(const Loop &loop, const std::vector<Loop> &loops) {
    for (const Loop &other : loops)
        if (loop.step == other.step) return true;
    return false;
}

inline Repeat as_repeat(const Loop &loop) { return {loop.count, loop.step.source, loop.step.target}; }

inline Int product(Int bytes, const std::vector<Loop> &loops) {
    for (const Loop &loop : loops) bytes *= loop.count;
    return bytes;
}

// Whether the lines at so many offsets do not stay in the first-level cache together.
inline bool is_crowded(const Int *offsets, Int count) { return is_crowded(first_level_cache(), offsets, count); }

// The same of the rows, and of the columns, that a block has, of elements whose bytes have this logarithm.
inline bool are_rows_crowded(const Int *rows, Int height, int width) {
    return is_crowded(rows, std::min(height, Int(32) >> width));
}
inline bool are_columns_crowded(const Int *columns, Int count, int width) {
    return is_crowded(columns, std::min(count, Int(16) >> width));
}

// Whether rows of less than a vector become columns by kernels that are meant for it.
inline bool turns_narrow(const KernelCall &call) {
    return kernels().turns_narrow && call.width < 3 && call.count << call.width >= narrow_row &&
           call.height << call.width >= cache_line;
}

// How far apart so many offsets lie, if always as far; else 0.
inline Int equal_step(const Int *offsets, Int count) {
    if (count == 1) return cache_line;
    for (Int k = 2; k < count; ++k)
        if (offsets[k] - offsets[k - 1] != offsets[1] - offsets[0]) return 0;
    return offsets[1] - offsets[0];
}

// The loops of a box while a tile is taken out of them.
struct TileBuilder {
    std::vector<Loop> loops;
    Pass pass;
    Variation how;
    bool cut = false;       // the loop taken last was too long for the tile
    bool in_order = false;  // calls share lines, so that none may be repeated before the next

    explicit TileBuilder(const Box &box, const Variation &how = {}) : how(how) {
        Box merged = merge_loops(box);
        loops = std::move(merged.loops);
        pass.offset = merged.offset;
    }

    int find(int side, Int value) const {
        for (std::size_t k = 0; k < loops.size(); ++k)
            if (loops[k].step[side] == value) return int(k);
        return -1;
    }

    int nearest() const {
        const auto smaller = [](const Loop &a, const Loop &b) {
            return std::llabs(a.step.source) < std::llabs(b.step.source);
        };
        return int(std::min_element(loops.begin(), loops.end(), smaller) - loops.begin());
    }

    // Take about `wanted` steps of a loop into the tile; the rest goes around it.
    Loop take(int index, Int wanted, Int unit = 1) {
        const Loop loop = loops[std::size_t(index)];
        loops.erase(loops.begin() + index);
        const Int tile = share(loop.count, std::max<Int>(wanted, 1), unit);
        cut = tile < loop.count;
        if (cut) pass.loops.push_back({(loop.count + tile - 1) / tile, tile, loop.count, loop.step});
        return {tile, loop.step};
    }

    // Makes two loops of one: of so many steps, and of as many times that as a tile may have. What is left is in other
    // tiles.
    void part(std::size_t index, Int steps) {
        Loop &loop = loops[index];
        const Int wanted = std::max<Int>(how.tile_bytes / (steps * std::llabs(loop.step.target)), 1);
        const Int times = loop.count % steps ? std::min(loop.count / steps, wanted) : loop.count / steps;
        if (times * steps < loop.count)
            pass.loops.push_back(
                {(loop.count + times * steps - 1) / (times * steps), times * steps, loop.count, loop.step});
        const Pair step = loop.step;
        loop.count = steps;
        if (times > 1) loops.push_back({times, steps * step});
    }

    // Lets neighbours along the loop that was cut last have a line of the target in common.
    void share_lines(Loop &taken) {
        TileLoop &loop = pass.loops.back();
        const Loop whole{loop.extent, loop.step};
        const Int shared = shared_steps(whole, loop.tile), unit = std::max<Int>(cache_line / loop.step.target, 1);
        if (shared) loop.tile = taken.count = even_steps(whole, loop.tile, unit, shared);
        loop.shared = shared_steps(whole, loop.tile);
        const Int pace = loop.tile - loop.shared;
        loop.count = (loop.extent - loop.shared + pace - 1) / pace;
    }

    // The loops that continue a contiguous range of `bytes` bytes up to `wanted`, and its length with them. Those that
    // are `spared` are left alone.
    std::vector<Loop> chain(int side, Int &bytes, Int wanted, Int unit, const std::vector<Loop> &spared = {},
                            Int longest = 0) {
        std::vector<Loop> taken;
        cut = false;
        while (bytes < wanted && !cut) {
            const int next = find(side, bytes);
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
    std::vector<Loop> path(int side, Int bytes, Int wanted, const std::vector<Loop> &spared) const {
        std::vector<Loop> found;
        for (int next = find(side, bytes); bytes < wanted && next >= 0; next = find(side, bytes)) {
            const Loop &loop = loops[std::size_t(next)];
            if (among(loop, spared)) break;
            found.push_back(loop);
            bytes *= loop.count;
        }
        return found;
    }

    // Repeat what the tile has for more loops, the nearest in the source first, until it is large enough. The longest
    // is run by the kernels themselves.
    void widen(Int bytes) { widen(bytes, how.tile_bytes); }

    void widen(Int bytes, Int wanted) {
        struct Extra {
            Loop loop;
            Int staged;
        };
        std::vector<Extra> extras;
        Int longest = 1, call_count = Int(pass.calls.size());
        while (bytes < wanted && !loops.empty() && call_count < Int(max_calls)) {
            const Loop loop = take(nearest(), std::min((wanted + bytes - 1) / bytes, Int(max_calls)));
            extras.push_back({loop, bytes});
            call_count *= std::min(longest, loop.count);
            longest = std::max(longest, loop.count);
            bytes *= loop.count;
        }
        pass.staged_bytes = bytes;
        const bool repeat = pass.calls[0].repeat.count == 1 && !in_order;
        bool repeated = false;
        for (const Extra &extra : extras) {
            const Loop &loop = extra.loop;
            const std::vector<KernelCall> calls = pass.calls;
            const std::vector<Segment> segments = pass.segments;
            const bool here = repeat && !repeated && loop.count == longest;
            repeated = repeated || here;
            if (here)
                for (KernelCall &call : pass.calls) {
                    call.repeat = as_repeat(loop);
                    call.staged_repeat = {loop.count, loop.step.source, extra.staged};
                }
            for (Int i = 1; i < loop.count; ++i) {
                for (KernelCall call : calls) {
                    if (here) break;
                    call.source += i * loop.step.source;
                    call.target += i * loop.step.target;
                    call.staged += i * extra.staged;
                    pass.calls.push_back(call);
                }
                for (const Segment &s : segments)
                    pass.segments.push_back({s.target + i * loop.step.target, s.staged + i * extra.staged, s.length});
            }
        }
    }

    // All that is left goes around the tile, in the order of the source: the smallest steps are the fastest.
    Pass finish(Int bytes) {
        for (const Loop &loop : loops) pass.loops.push_back({loop.count, 1, loop.count, loop.step});
        std::stable_sort(pass.loops.begin(), pass.loops.end(), [](const TileLoop &a, const TileLoop &b) {
            const Int x = std::llabs(a.step.source) * a.tile, y = std::llabs(b.step.source) * b.tile;
            return x != y ? x > y : std::llabs(a.step.target) > std::llabs(b.step.target);
        });
        pass.tiles = 1;
        for (const TileLoop &loop : pass.loops) pass.tiles *= loop.count;
        merge_segments();
        pass.strips = as_strips(pass.segments);
        pass.tile_bytes = bytes;
        pass.whole_lines = pass.offset.target % cache_line == 0 && !pass.segments.empty();
        for (const TileLoop &o : pass.loops)
            if (((o.tile - o.shared) * o.step.target) % cache_line ||
                ((o.extent - o.tile) * o.step.target) % cache_line)
                pass.whole_lines = false;
        for (const Segment &s : pass.segments)
            if (s.target % cache_line || s.length % cache_line) pass.whole_lines = false;
        pass.long_runs = true;
        for (KernelCall &call : pass.calls) {
            if (call.kind == KernelKind::transpose) find_steps(call);
            if (!is_aligned(call)) pass.whole_lines = false;
            const bool lasting =
                (call.kind == KernelKind::runs && call.length >= long_run) ||
                (call.kind == KernelKind::interleave && (call.height * call.count << call.width) >= long_interleave);
            if (!lasting) pass.long_runs = false;
        }
        return std::move(pass);
    }

private:
    void find_steps(KernelCall &call) const {
        if (call.height << call.width < block_column) return;
        const bool narrow = call.count << call.width < block_row;
        if (narrow && !turns_narrow(call)) return;
        const Int *const rows = pass.tables.data() + call.rows, *const columns = pass.tables.data() + call.columns;
        const bool wide = is_crowded(columns, call.count);
        call.down = wide && !narrow;
        call.wide = how.wide_blocks;
        call.row_step = equal_step(rows, call.height);
        // Of wide elements a block has so few rows that only those in one set are in each other's way.
        const bool both = wide && (call.width < 2 || call.row_step % page == 0);
        // The few rows of a block of wider elements stay there until their next elements have their turn.
        const bool collects = !narrow && call.row_step && (wide || call.width == 0);
        call.collected = collects && (both ? is_crowded(rows, std::min(call.height, cache_line))
                                           : are_rows_crowded(rows, call.height, call.width));
        if (call.down && !call.collected && is_crowded(rows, call.height)) return;
        call.column_step = equal_step(columns, call.count);
        // Addresses of wide elements are looked up faster a line at a time.
        if (!call.row_step && call.width > 3) return;
        if (!call.column_step && (call.width > 2 || !how.listed_blocks)) return;
        call.in_blocks = true;
        call.spread = !narrow && call.column_step && are_columns_crowded(columns, call.count, call.width);
        call.staged_column_step = equal_step(pass.tables.data() + call.staged_columns, call.count);
    }

    // Whether the stores of a kernel are aligned once the tile's target is.
    bool is_aligned(const KernelCall &call) const {
        switch (call.kind) {
            case KernelKind::runs:
            case KernelKind::padded_runs: {
                const Int unit = call.length % 64 == 0 ? 64 : call.length == 32 ? 32 : 16;
                return (call.target | call.length | call.strip.target | call.repeat.target) % unit == 0;
            }
            case KernelKind::permute:
                return (call.target | call.length | call.strip.target | call.repeat.target) % cache_line == 0;
            case KernelKind::gather:
                for (const GatherVector &vector : pass.gather->vectors)
                    if (vector.stored != ~ByteMask(0) || (call.target + vector.target) % cache_line) return false;
                return call.repeat.target % cache_line == 0;
            case KernelKind::interleave: return (call.target | call.repeat.target) % 16 == 0;
            case KernelKind::transpose: {
                const Int bytes = call.height << call.width;
                const Int unit = bytes % cache_line == 0 ? cache_line : bytes;
                return (unit == cache_line || unit == 16 || unit == 32) &&
                       (call.target | call.repeat.target) % unit == 0 && columns_fit(call, unit);
            }
            case KernelKind::deinterleave: {
                const Int unit = (call.count << call.width) % cache_line == 0 ? cache_line : 16;
                return (call.target | call.repeat.target) % unit == 0 && columns_fit(call, unit);
            }
            default: return false;
        }
    }

    bool columns_fit(const KernelCall &call, Int unit) const {
        const Int n = call.kind == KernelKind::deinterleave ? call.valid : call.count;
        for (Int j = 0; j < n; ++j)
            if (pass.tables[call.columns + std::size_t(j)] % unit) return false;
        return true;
    }

    static std::vector<SegmentStrip> as_strips(const std::vector<Segment> &segments) {
        std::vector<SegmentStrip> strips;
        for (const Segment &s : segments) {
            if (!strips.empty()) {
                SegmentStrip &last = strips.back();
                const Int target = s.target - last.first.target, staged = s.staged - last.first.staged;
                if (last.strip.count == 1) last.strip = {1, staged, target};
                if (s.length == last.first.length && target == last.strip.count * last.strip.target &&
                    staged == last.strip.count * last.strip.source) {
                    ++last.strip.count;
                    continue;
                }
            }
            strips.push_back({s, {1, 0, 0}});
        }
        return strips;
    }

    void merge_segments() {
        std::vector<Segment> out;
        for (const Segment &s : pass.segments) {
            if (!out.empty() && out.back().target + out.back().length == s.target &&
                out.back().staged + out.back().length == s.staged)
                out.back().length += s.length;
            else
                out.push_back(s);
        }
        pass.segments = std::move(out);
    }
};

}  // namespace relayout::tiled
