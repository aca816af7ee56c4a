#pragma once

// Columns of the target that start anywhere in a cache line, written by non-temporal stores of whole lines. Part of
// kernels.cpp.

#include "kernels/runs.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

#if defined(__AVX512BW__)

// Lines made of the last elements of one vector, as many as the row of the table says, and the first of the next.
template <int W> struct ShiftIndices {
    static constexpr int N = 64 / W, part = W < 8 ? W : 8;
    ElementIndex<W> at[N][64 / part];

    constexpr ShiftIndices() : at{} {
        constexpr int all = 64 / part, parts = W / part;
        for (int lead = 0; lead < N; ++lead)
            for (int i = 0; i < all; ++i)
                at[lead][i] = ElementIndex<W>(i < lead * parts ? all - lead * parts + i : all + i - lead * parts);
    }
};

template <int W> alignas(64) constexpr ShiftIndices<W> shift_indices{};

// Up to `most` columns, which get a vector of N elements at a time. Every line is made of the end of one vector and the
// start of the next; where a column starts right behind the one before, the line that they share is made of both.
template <int W, int most> class ShiftedLines {
public:
    static constexpr int N = 64 / W;

    // Column `c`, of `bytes` bytes; the one before is there. With `starts` and `ends`, the lines at its ends are
    // written though others have bytes of them.
    void start(Int c, Byte *from, Int bytes, bool starts, bool ends) {
        lead[c] = std::uint8_t(reinterpret_cast<std::uintptr_t>(from) % cache_line / W);
        line[c] = from - lead[c] * W;
        joined[c] = c > 0 && from == end;
        joined[c + 1] = false;
        end = from + bytes;
        // Lines that are not written whole are read first.
        if (starts && !joined[c]) __builtin_prefetch(from, 1, 2);
        if (ends) __builtin_prefetch(end - 1, 1, 2);
    }

    // The first vector: its line waits for what is before it.
    void add_first(Int c, Vec64 x) {
        head[c] = shift(x, x, c);
        before[c] = x;
    }

    // The next vector, `done` bytes further on.
    void add(Int c, Vec64 x, Int done) {
        shift(before[c], x, c).store_nontemporal(line[c] + done);
        before[c] = x;
    }

    // The last elements, N at most, and the lines that the column has a part of; columns are finished in their order.
    void finish(Int c, Vec64 x, Int more, Int done, bool starts, bool ends) {
        const Vec64 rest = more ? x : before[c];
        Byte *to = line[c] + done;
        Vec64 last = shift(before[c], rest, c);
        Int valid = lead[c] + more;
        if (valid >= N) {
            last.store_nontemporal(to);
            to += cache_line;
            last = shift(rest, rest, c);
            valid -= N;
        }
        if (starts && !joined[c]) _mm512_mask_storeu_epi8(line[c], ~mask(lead[c]), head[c].v);
        if (joined[c + 1])
            Vec64{_mm512_mask_mov_epi8(head[c + 1].v, mask(valid), last.v)}.store_nontemporal(to);
        else if (ends)
            _mm512_mask_storeu_epi8(to, mask(valid), last.v);
    }

private:
    Vec64 before[most], head[most];
    Byte *line[most], *end = nullptr;
    std::uint8_t lead[most];
    bool joined[most + 1];

    static std::uint64_t mask(Int elements) { return (std::uint64_t(1) << elements * W) - 1; }

    // The line that starts with the last elements of a and goes on with the first of b.
    Vec64 shift(Vec64 a, Vec64 b, Int c) const {
        return Vec64::pick<W>(a, Vec64::load(reinterpret_cast<const Byte *>(shift_indices<W>.at[lead[c]])), b);
    }
};

#endif

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
