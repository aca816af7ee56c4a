#pragma once

// One thread's way through the slabs of a pass: each is put together in the second-level cache, and goes to memory
// while the next is fetched.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tiled/walk.h"

namespace relayout::tiled {

class SlabWalk {
public:
    SlabWalk(const Pass &pass, const Byte *source, Byte *target)
        : pass(pass), k(kernels()), source(source), target(target), staging(buffer(0)),
          tiles(*pass.inner, source, staging, false, false, true, nullptr, nullptr, 1), rows(Int(pass.rows.size())) {
        for (std::size_t d = pass.along ? *pass.along + 1 : pass.loops.size(); d < pass.loops.size(); ++d)
            apart *= pass.loops[d].count;
    }

    void run(Int first, Int last) {
        const Int distance = rows ? 2 : (slab_prefetch + pass.tile_bytes - 1) / pass.tile_bytes;
        const auto within = [&](Int i) { return std::min(i, pass.tiles - 1); };
        Cursor here(pass, first), soon(pass, within(first + 1)), later(pass, within(first + distance));
        collected = 0;
        if (rows) collect(buffer(1), source + here.source, source + soon.source, rows);
        for (Int i = first; i < last; ++i) {
            const Int known = pass.along ? known_at(here, (i - first) / apart) : 0;
            const Int step = pass.along && i + apart < last ? step_from(here) : 0;
            Byte *const to = target + here.target;
            fetch_shared_lines(to, !known, !step);
            stage(rows ? buffer(1 + (i - first) % 2) : source + here.source);
            collected = 0;
            const Coming coming{
                source + soon.source, source + later.source, buffer(1 + (i + 1 - first) % 2),
                rows ? (i + 1 < last ? rows : 0) : (i + distance < pass.tiles ? Int(pass.lines.size()) : 0)};
            write(to, pass.along ? carried(i % apart) : nullptr, known, step, coming);
            here.advance();
            if (i + 2 < pass.tiles) soon.advance();
            if (i + distance + 1 < pass.tiles) later.advance();
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
    const Int rows;     // that are collected, of each slab
    Int collected = 0;  // so many of them are
    Int apart = 1;      // a slab goes on in the one so many further on

    // What is done beside the stores of a slab: of the next one, from `next` on, all rows are collected and the first
    // of those at `later` fetched, or the lines at `later` are.
    struct Coming {
        const Byte *next, *later;
        Byte *side_by_side;
        Int count;  // of rows, or of lines
    };

    static Int behind_line(const Byte *p) { return Int(reinterpret_cast<std::uintptr_t>(p) % cache_line); }

    // How many bytes of the target before its segments were staged with slabs that this one goes on from, of which so
    // many may be.
    Int known_at(const Cursor &here, Int before) const {
        const TileLoop &along = pass.loops[*pass.along];
        const Int at = here.step_of(*pass.along), start = at - std::min(before, at);
        return std::min((along.at(at) - along.at(start)) * along.step.target, cache_line);
    }

    // How many bytes the segments of the slab that goes on begin behind those of this one, if one does; else 0.
    Int step_from(const Cursor &here) const {
        const TileLoop &along = pass.loops[*pass.along];
        const Int at = here.step_of(*pass.along);
        return at + 1 < along.count ? (along.at(at + 1) - along.at(at)) * along.step.target : 0;
    }

    // What is carried past other slabs: a line for each segment.
    Byte *carried(Int slot) const { return buffer(3) + slot * Int(pass.segments.size()) * cache_line; }

    // One of the memories that a thread keeps: a slab, the rows that are collected for this one and the next, and what
    // is carried.
    static Byte *buffer(Int which) {
        struct Free {
            void operator()(Byte *p) const { std::free(p); }
        };
        static thread_local std::unique_ptr<Byte, Free> kept[4];
        const Int bytes = which < 3 ? max_slab_bytes : max_carried_bytes;
        if (!kept[which]) kept[which].reset(static_cast<Byte *>(std::aligned_alloc(cache_line, std::size_t(bytes))));
        return kept[which].get();
    }

    // Lines that are not written whole are read first.
    void fetch_shared_lines(const Byte *to, bool starts, bool ends) const {
        for (const Segment &s : pass.segments) {
            const Byte *const first = to + s.target, *const end = first + s.length;
            if (starts && behind_line(first)) __builtin_prefetch(first, 1, 2);
            if (ends && behind_line(end)) __builtin_prefetch(end, 1, 2);
        }
    }

    // Copies rows of a slab side by side, up to before `end`, and fetches others.
    void collect(Byte *side_by_side, const Byte *from, const Byte *later, Int end) {
        while (collected < end) {
            const Int ahead = collected + fetched_rows, wrapped = ahead % rows;
            const Int count = std::min(end - collected, rows - wrapped);
            k.collect(from, pass.rows.data() + collected, ahead < rows ? from : later, pass.rows.data() + wrapped,
                      count, side_by_side + collected * pass.row_pitch, pass.row_pitch, pass.row_bytes);
            collected += count;
        }
    }

    // Puts a slab together.
    void stage(const Byte *from) {
        Cursor tile(*pass.inner, 0);
        for (Int n = 0; n < pass.inner->tiles; ++n, tile.advance()) tiles.tile(from + tile.source, tile.target, 0);
    }

    // Writes the segments. Where they go on in the next slab, only whole lines: the rest is carried into it. The line
    // that a segment begins in is whole as far as the bytes before are known.
    void write(Byte *to, Byte *carried, Int known, Int step, const Coming &coming) {
        Int line = 0, written = 0;
        for (const Segment &s : pass.segments) {
            Byte *const line_before = staging + s.staged - cache_line;
            if (known) std::memcpy(line_before, carried, cache_line);
            const Int before = std::min(behind_line(to + s.target), known);
            const Byte *const from = staging + s.staged - before;
            Byte *const start = to + s.target - before;
            Int length = s.length + before;
            if (step) length -= behind_line(start + length);
            for (Int at = 0, piece; at < length; at += piece) {
                piece = std::min(piece_bytes - behind_line(start + at), length - at);
                written += piece;
                const Int end = std::min(coming.count * written / pass.tile_bytes, coming.count);
                if (rows && collected < end) collect(coming.side_by_side, coming.next, coming.later, end);
                for (; !rows && line < end; ++line)
                    __builtin_prefetch(coming.later + pass.lines[std::size_t(line)], 0, 2);
                k.copy_nontemporal(from + at, start + at, piece);
            }
            if (step) std::memcpy(carried, line_before + step, cache_line);
            if (carried) carried += cache_line;
        }
        if (rows) collect(coming.side_by_side, coming.next, coming.later, coming.count);
    }
};

}  // namespace relayout::tiled
