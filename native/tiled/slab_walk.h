#pragma once

// One thread's way through the slabs of a pass: each is put together in the second-level cache while the next is
// prefetched, and goes to memory.

#include <cstdlib>
#include <memory>

#include "tiled/walk.h"

namespace relayout::tiled {

class SlabWalk {
public:
    SlabWalk(const Pass &pass, const Byte *source, Byte *target)
        : pass(pass), k(kernels()), source(source), target(target), staging(buffer()),
          tiles(*pass.inner, source, staging, false, false, true, nullptr, nullptr, 1), shared(pass) {}

    void run(Int first, Int last) {
        const Int distance = (slab_prefetch + pass.tile_bytes - 1) / pass.tile_bytes;
        Cursor here(pass, first), next(pass, std::min(first + distance, pass.tiles - 1));
        for (Int i = first; i < last; ++i, here.advance()) {
            const bool starts = shared.starts(here), ends = shared.ends(here);
            Byte *const to = target + here.target;
            // Lines that are not written whole are read first.
            for (const Segment &s : pass.segments) {
                const Byte *const first = to + s.target, *const end = first + s.length;
                if (starts && !is_at_line(first)) __builtin_prefetch(first, 1, 2);
                if (ends && !is_at_line(end)) __builtin_prefetch(end, 1, 2);
            }
            const Byte *const later = source + next.source;
            const bool more = i + distance < pass.tiles;
            stage(pass.rows.empty() ? source + here.source : collect(source + here.source, later));
            const Int lines = more ? Int(pass.lines.size()) : 0;
            if (more) next.advance();
            Int line = 0, written = 0;
            for (const Segment &s : pass.segments)
                for (Int at = 0, here; at < s.length; at += here) {
                    const Int behind = Int(reinterpret_cast<std::uintptr_t>(to + s.target + at) % cache_line);
                    here = std::min(piece_bytes - behind, s.length - at);
                    written += here;
                    for (const Int end = lines * written / pass.tile_bytes; line < end; ++line)
                        __builtin_prefetch(later + pass.lines[std::size_t(line)], 0, 2);
                    write(staging + s.staged + at, to + s.target + at, here, starts || at > 0,
                          ends || at + here < s.length);
                }
        }
        k.store_fence();
    }

private:
    const Pass &pass;
    const Kernels &k;
    const Byte *source;
    Byte *target;
    Byte *staging;
    TileWalk tiles;
    SharedLoop shared;

    static bool is_at_line(const Byte *p) { return reinterpret_cast<std::uintptr_t>(p) % cache_line == 0; }

    // One of the two memories that a thread keeps: a slab, or the rows that are collected for it.
    static Byte *buffer(int which = 0) {
        struct Free {
            void operator()(Byte *p) const { std::free(p); }
        };
        static thread_local std::unique_ptr<Byte, Free> kept[2];
        if (!kept[which]) kept[which].reset(static_cast<Byte *>(std::aligned_alloc(cache_line, max_slab_bytes)));
        return kept[which].get();
    }

    // Copies the rows of a slab side by side, and fetches the first ones of the next.
    const Byte *collect(const Byte *from, const Byte *next) const {
        Byte *const collected = buffer(1);
        const Int count = Int(pass.rows.size());
        for (Int r = 0; r < count; ++r) {
            const Int coming = r + fetched_rows;
            const Byte *const row =
                coming < count ? from + pass.rows[std::size_t(coming)] : next + pass.rows[std::size_t(coming % count)];
            for (Int at = 0; at < pass.row_bytes; at += cache_line) __builtin_prefetch(row + at, 0, 2);
            k.runs(from + pass.rows[std::size_t(r)], collected + r * pass.row_pitch, {1, 0, 0}, pass.row_bytes,
                   {1, 0, 0}, false, 0);
        }
        return collected;
    }

    // Puts a slab together.
    void stage(const Byte *from) {
        Cursor tile(*pass.inner, 0);
        for (Int n = 0; n < pass.inner->tiles; ++n, tile.advance()) tiles.tile(from + tile.source, tile.target, 0);
    }

    // Writes a segment. Where a neighbour has a line at its start or its end as well, only whole lines.
    void write(const Byte *from, Byte *to, Int length, bool starts, bool ends) const {
        const Int head = starts ? 0 : Int(-reinterpret_cast<std::uintptr_t>(to) % cache_line);
        const Int tail = ends ? 0 : Int(reinterpret_cast<std::uintptr_t>(to + length) % cache_line);
        k.copy_nontemporal(from + head, to + head, length - head - tail);
    }
};

}  // namespace relayout::tiled
