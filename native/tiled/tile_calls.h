#pragma once

// The calls of a tile, and the tables of rows and columns that they share.

#include "tiled/tile_builder.h"

namespace relayout::tiled {

constexpr Int vector_bytes = 16;  // of the lanes that kernels shuffle in

// Offsets of all combinations of loops; the first loop is the fastest.
inline std::vector<Int> offsets(const std::vector<Loop> &loops, int side) {
    std::vector<Int> out{0};
    for (const Loop &loop : loops) {
        const std::size_t size = out.size();
        for (Int i = 1; i < loop.count; ++i)
            for (std::size_t k = 0; k < size; ++k) out.push_back(out[k] + i * loop.step[side]);
    }
    return out;
}

inline std::size_t append(std::vector<Int> &tables, const std::vector<Int> &more) {
    tables.insert(tables.end(), more.begin(), more.end());
    return tables.size() - more.size();
}

inline KernelCall make_call(KernelKind kind, Int width) {
    KernelCall call{};
    call.kind = kind;
    call.width = log2_of(width);
    call.count = 1;
    call.strip = call.staged_strip = call.repeat = call.staged_repeat = {1, 0, 0};
    return call;
}

// How many ways the kernels interleave, and part, in rows of so many bytes.
inline Int max_ways(Int width, Int row) { return width == 1 && row >= cache_line && kernels().parts_wide[0] ? 15 : 8; }

inline std::vector<Int> multiples(std::size_t count, Int length) {
    std::vector<Int> out(count);
    for (std::size_t j = 0; j < count; ++j) out[j] = Int(j) * length;
    return out;
}

// The call's columns go to these places in the target, one behind the other in the staging buffer; each has `length`
// bytes.
inline void add_columns(Pass &pass, KernelCall &call, const std::vector<Int> &places, Int length) {
    call.columns = append(pass.tables, places);
    call.staged_columns = append(pass.tables, multiples(places.size(), length));
    for (std::size_t j = 0; j < places.size(); ++j) pass.segments.push_back({places[j], Int(j) * length, length});
}

// Once for each combination of loops, which go on in the target as in the staging buffer.
inline void add_calls(Pass &pass, KernelCall call, const std::vector<Loop> &loops) {
    const std::vector<Int> s = offsets(loops, source_side), t = offsets(loops, target_side);
    for (std::size_t k = 0; k < s.size(); ++k) {
        KernelCall one = call;
        one.source += s[k];
        one.target += t[k];
        one.staged += t[k];
        pass.calls.push_back(one);
    }
}

}  // namespace relayout::tiled
