#pragma once

// One thread's way through the tiles of a pass: where each is, what is prefetched, and the kernels that copy it.

#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"
#include "tiled/program.h"

namespace relayout::tiled {

// Where in both memories the tile with some number is.
class Cursor {
public:
    Int source, target;

    Cursor(const Pass &pass, Int number) : source(pass.offset.source), target(pass.offset.target), loops(pass.loops) {
        for (std::size_t d = loops.size(); d-- > 0;) {
            index[d] = number % loops[d].count;
            number /= loops[d].count;
            const Int at = loops[d].at(index[d]);
            source += at * loops[d].step.source;
            target += at * loops[d].step.target;
        }
    }

    // Which step of a loop this is.
    Int step_of(std::size_t loop) const { return index[loop]; }

    void advance() {
        for (std::size_t d = loops.size(); d-- > 0;) {
            const TileLoop &loop = loops[d];
            const Int before = loop.at(index[d]);
            const bool carry = ++index[d] == loop.count;
            if (carry) index[d] = 0;
            const Int moved = loop.at(index[d]) - before;
            source += moved * loop.step.source;
            target += moved * loop.step.target;
            if (!carry) return;
        }
    }

private:
    const std::vector<TileLoop> &loops;
    Int index[max_loops];
};

// Whether the tiles along the loop whose neighbours have lines of the target in common start, or end, with this one.
class SharedLoop {
public:
    explicit SharedLoop(const Pass &pass) : loops(pass.loops), along(loops.size()) {
        for (std::size_t d = 0; d < loops.size(); ++d)
            if (loops[d].shared) along = d;
    }

    bool starts(const Cursor &here) const { return along == loops.size() || here.step_of(along) == 0; }
    bool ends(const Cursor &here) const {
        return along == loops.size() || here.step_of(along) + 1 == loops[along].count;
    }

private:
    const std::vector<TileLoop> &loops;
    std::size_t along;
};

// Prefetches the cache lines that a tile writes, a few at a time.
class WritePrefetch {
public:
    WritePrefetch(const Pass &pass, const Kernels &k) : pass(pass), k(k), segment(pass.segments.size()) {}

    void start(Byte *target) {
        to = target;
        segment = 0;
        done = 0;
    }

    void some(Int bytes) {
        while (bytes > 0 && segment < pass.segments.size()) {
            const Segment &s = pass.segments[segment];
            const Int length = std::min(s.length - done, bytes);
            k.prefetch_for_write(to + s.target + done, length);
            bytes -= length;
            done += length;
            if (done < s.length) continue;
            done = 0;
            ++segment;
        }
    }

private:
    const Pass &pass;
    const Kernels &k;
    std::size_t segment;
    Int done = 0;
    Byte *to = nullptr;
};

// Copies tiles of a pass, one after the other.
class TileWalk {
public:
    // `large`: both memories are prefetched; `nontemporal_stores`: large targets are written by such stores where that
    // can be.
    TileWalk(const Pass &pass, const Byte *source, Byte *target, bool large, bool nontemporal_stores, bool aligned,
             const Byte *fill, const Conversion *conversion, Int width)
        : pass(pass), k(kernels()), source(source), target(target), large(large), fill(fill), shared(pass),
          coming(pass, k), conversion(conversion), width(width) {
        const bool around = large && nontemporal_stores;
        staged = pass.padded || conversion;
        shifted = around && !staged && pass.shifted;
        nontemporal = around && !staged && !shifted && (pass.long_runs || (aligned && pass.whole_lines));
        flushed = around && staged && !conversion;
        prefetches_writes = large && !nontemporal && !staged && !shifted;
    }

    // False if the conversion refuses a value.
    bool run(Int first, Int last) {
        alignas(64) static thread_local Byte buffer[staging_bytes];
        staging = buffer;
        if (pass.padded) k.fill(staging, pass.staged_bytes, fill);
        Cursor here(pass, first);
        if (!large) {
            for (Int i = first; i < last; ++i, here.advance()) tile(source + here.source, here.target, 0);
            return !refused;
        }
        const Int distance = std::max<Int>(prefetch_bytes / std::max<Int>(pass.tile_bytes, 1), 1);
        Cursor next(pass, std::min(first + distance, pass.tiles - 1));
        for (Int i = first; i < last; ++i, here.advance()) {
            const bool more = i + distance < pass.tiles;
            if (prefetches_writes && more) coming.start(target + next.target);
            starts = shared.starts(here);
            ends = shared.ends(here);
            tile(source + here.source, here.target, more ? next.source - here.source : 0);
            if (more) next.advance();
        }
        if (nontemporal || flushed || shifted) k.store_fence();
        return !refused;
    }

    // One tile, from `s` to the target's offset `at`; the source is prefetched so many bytes `further` on.
    void tile(const Byte *s, Int at, Int further) {
        ahead = further;
        for (const KernelCall &call : pass.calls) {
            if (staged)
                apply(call, s + call.source, staging + call.staged, call.staged_repeat, call.rows, call.height);
            else if (prefetches_writes)
                in_slices(call, s + call.source, target + at + call.target);
            else
                apply(call, s + call.source, target + at + call.target, call.repeat, call.rows, call.height);
        }
        if (!staged) return;
        if (!conversion && !flushed) {
            for (const auto &[first, strip] : pass.strips) {
                const Byte *from = staging + first.staged;
                Byte *to = target + at + first.target;
                if (strip.count == 1)
                    std::memcpy(to, from, std::size_t(first.length));
                else
                    k.runs(from, to, strip, first.length, {1, 0, 0}, false, 0);
            }
            return;
        }
        for (const Segment &segment : pass.segments) {
            const Byte *from = staging + segment.staged;
            const Int to = at + segment.target;
            if (conversion)
                refused |=
                    conversion->run(from, target + to / width * conversion->target_bytes, segment.length / width);
            else
                k.copy_nontemporal(from, target + to, segment.length);
        }
    }

private:
    const Pass &pass;
    const Kernels &k;
    const Byte *source;
    Byte *target;
    bool large;
    const Byte *fill;
    SharedLoop shared;
    WritePrefetch coming;
    const Conversion *conversion;
    Int width;
    bool staged;                      // tiles go through the staging buffer,
    bool flushed;                     // and from there by non-temporal stores
    bool nontemporal;                 // kernels write by such stores,
    bool shifted;                     // or those that write whole lines wherever columns start do
    bool prefetches_writes;           // plain stores: the lines of later tiles are prefetched
    bool starts = true, ends = true;  // whether no neighbour has the lines that columns start and end with
    static constexpr Byte nothing[gather_vector] = {};
    Int ahead = 0;
    Byte *staging = nullptr;
    bool refused = false;

    // Between the slices of a call, a part of the lines that a later tile writes is prefetched.
    void in_slices(const KernelCall &call, const Byte *s, Byte *t) {
        const bool tall = call.kind == KernelKind::transpose;
        const Int rows = tall ? std::max<Int>(cache_line >> call.width, 1) : std::max<Int>(call.height, 1);
        const Int height = std::max<Int>(call.height, 1);
        const Int times = tall ? 1 : std::max<Int>(call.repeat.count * Int(pass.calls.size()) / prefetch_slices, 1);
        const Int slices =
            Int(pass.calls.size()) * ((call.repeat.count + times - 1) / times) * std::max<Int>(height / rows, 1);
        const Int share = pass.tile_bytes / slices + 1;
        for (Int r = 0; r < call.repeat.count; r += times) {
            const Repeat part{std::min(times, call.repeat.count - r), call.repeat.source, call.repeat.target};
            for (Int h = 0; h < height;) {
                const Int here = height - h >= 2 * rows ? rows : height - h;
                apply(call, s + r * call.repeat.source, t + r * call.repeat.target + (tall ? h << call.width : 0), part,
                      call.rows + std::size_t(tall ? h : 0), here);
                coming.some(share);
                h += here;
            }
        }
    }

    void gather(const Gather &given, const Byte *s, Byte *t, const Repeat &repeat) const {
        const GatherTables tables = given.tables();
        const Byte *const rest = fill ? fill : nothing;
        if (given.rows.empty()) return gather_kernels().gather(s, t, tables, staged, rest, repeat, nontemporal, ahead);
        alignas(64) Byte scratch[max_gather_bytes];
        const Repeat once{1, 0, 0};
        const Int height = Int(given.rows.size()), count = Int(given.columns.size());
        for (Int r = 0; r < repeat.count; ++r, s += repeat.source, t += repeat.target) {
            if (!ahead && height << given.width >= block_column)
                k.block_transpose[given.width](s, given.rows.data(), given.row_step, height, scratch,
                                               given.columns.data(), height << given.width, count, once, false, true);
            else
                k.transpose[given.width](s, given.rows.data(), height, scratch, given.columns.data(), count, once,
                                         false, false, ahead);
            gather_kernels().gather(scratch, t, tables, staged, rest, once, nontemporal, 0);
        }
    }

    // Turns rows into columns, `step` apart if they lie equally far apart, in blocks whose rows, and columns, lie side
    // by side meanwhile.
    void transpose_crowded(const KernelCall &call, const Byte *s, const Int *rows, Int height, Byte *t,
                           const Int *columns, Int step, bool spread, Repeat repeat) const {
        alignas(64) Byte collected[collected_bytes], turned[collected_bytes];
        const int log = call.width;
        const bool narrow = (call.down && log < 3) || call.row_step % page;
        const Int width = std::min(call.count, (narrow ? narrow_collected_row : collected_row) >> log);
        const Int pitch = ((width << log) + cache_line - 1) / cache_line * cache_line, most = collected_bytes / pitch;
        const Int least = block_column >> log;
        const Repeat once{1, 0, 0};
        Int side_by_side[collected_bytes / cache_line];
        for (Int i = 0; i < most; ++i) side_by_side[i] = i * pitch;
        for (; repeat.count > 0; --repeat.count, s += repeat.source, t += repeat.target)
            for (Int j = 0; j < call.count; j += width)
                for (Int i = 0; i < height; i += most) {
                    // The last ones may be turned twice, since kernels need some.
                    const Int high = std::max(std::min(most, height - i), least), row = std::min(i, height - high);
                    const Int column = std::min(j, call.count - width), bytes = high << log;
                    const Byte *from = s + (column << log);
                    Byte *const to = t + (row << log) + column * step;
                    const auto turn = [&](const Byte *block, const Int *places, Int row_step) {
                        if (!spread)
                            return k.block_transpose[log](block, places, row_step, high, to, columns + column, step,
                                                          width, once, call.down && !staged, call.wide);
                        k.block_transpose[log](block, places, row_step, high, turned, columns + column, bytes, width,
                                               once, false, call.wide);
                        k.runs(turned, to, {width, bytes, step}, bytes, once, false, 0);
                    };
                    if (!call.collected) {
                        turn(from, rows + row, call.row_step);
                        continue;
                    }
                    k.runs(from + rows[row], collected, {high, call.row_step, pitch}, width << log, once, false, 0);
                    turn(collected, side_by_side, pitch);
                }
    }

    void apply(const KernelCall &call, const Byte *s, Byte *t, const Repeat &repeat, std::size_t row,
               Int height) const {
        const Int *rows = pass.tables.data() + row;
        const Int *columns = pass.tables.data() + (staged ? call.staged_columns : call.columns);
        const Repeat &strip = staged ? call.staged_strip : call.strip;
        switch (call.kind) {
            case KernelKind::runs: return k.runs(s, t, strip, call.length, repeat, nontemporal, ahead);
            case KernelKind::padded_runs:
                return k.padded_runs(s, t, strip, call.valid, call.length, fill, repeat, nontemporal, ahead);
            case KernelKind::transpose:
                if (shifted)
                    return k.shifted_transpose[call.width](s, rows, height, t, columns, call.count, repeat, starts,
                                                           ends, ahead);
                if (call.in_blocks && !nontemporal && !ahead && height << call.width >= block_column) {
                    const Int step = staged ? call.staged_column_step : call.column_step;
                    const bool spread = call.spread && !staged;
                    Byte *const to = step ? t + columns[0] : t;
                    if (call.collected || spread)
                        return transpose_crowded(call, s, rows, height, to, columns, step, spread, repeat);
                    return k.block_transpose[call.width](s, rows, call.row_step, height, to, columns, step, call.count,
                                                         repeat, call.down && !staged, call.wide);
                }
                return k.transpose[call.width](s, rows, height, t, columns, call.count, repeat, nontemporal,
                                               call.scattered, ahead);
            case KernelKind::widened_transpose:
                return gather_kernels().widened_transpose(s, rows, height, t, columns, call.count, int(call.length),
                                                          repeat, ahead);
            case KernelKind::interleave:
                return k.interleave[call.width](s, t, rows, int(height), call.count, repeat, nontemporal, ahead);
            case KernelKind::deinterleave:
                if (shifted)
                    return k.shifted_deinterleave[call.width](s, t, columns, int(height), int(call.valid), call.count,
                                                              repeat, starts, ends, ahead);
                return k.deinterleave[call.width](s, t, columns, int(height), int(call.valid), call.count, repeat,
                                                  nontemporal, ahead);
            case KernelKind::gather: return gather(*pass.gather, s, t, repeat);
            case KernelKind::permute:
                return gather_kernels().permute(s, t, strip, call.valid, call.length, *pass.block, repeat, nontemporal,
                                                ahead);
            case KernelKind::scatter: return k.scatter[call.width](s, t, strip, repeat);
            case KernelKind::fill:
                if (call.length <= cache_line) return k.runs(fill, t, strip, call.length, repeat, false, 0);
                for (Int i = 0; i < strip.count; ++i, t += strip.target) k.fill(t, call.length, fill);
        }
    }
};

}  // namespace relayout::tiled
