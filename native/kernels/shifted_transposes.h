#pragma once

// Kernels that turn rows into columns which start anywhere, by non-temporal stores of whole lines. Part of kernels.cpp.

#include "kernels/transposes.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

#if defined(__AVX512BW__)

// Lines made of the last elements of one vector, as many as the row of the table says, and the first of the next.
template <int W> struct ShiftIndices {
    static constexpr int N = 64 / W, part = W == 4 ? 4 : 8;
    using Index = std::conditional_t<W == 4, std::uint32_t, std::uint64_t>;
    Index at[N][64 / part];

    constexpr ShiftIndices() : at{} {
        constexpr int all = 64 / part, parts = W / part;
        for (int lead = 0; lead < N; ++lead)
            for (int i = 0; i < all; ++i)
                at[lead][i] = Index(i < lead * parts ? all - lead * parts + i : all + i - lead * parts);
    }
};

template <int W> alignas(64) constexpr ShiftIndices<W> shift_indices{};

// Columns that start anywhere in a cache line, N and N of them. Every line is made of the end of one block of rows and
// the start of the next; where a column starts right behind the one before, the line that they share is made of both.
template <int W> class ShiftedColumns {
public:
    static constexpr int N = 64 / W, E = 16 / W, most = 16 * N;

    // The columns from `c` on, of `bytes` bytes each.
    void start(Byte *target, const Int *columns, Int c, Int bytes, bool starts, bool ends) {
        for (Int k = 0; k < N; ++k, ++c) {
            Byte *const from = target + columns[k];
            lead[c] = std::uint8_t(reinterpret_cast<std::uintptr_t>(from) % cache_line / W);
            line[c] = from - lead[c] * W;
            joined[c] = c > 0 && from == end;
            joined[c + 1] = false;
            // Lines that are not written whole are read first.
            if (starts && !joined[c]) __builtin_prefetch(from, 1, 2);
            if (ends && !joined[c] && c > 0) __builtin_prefetch(end - 1, 1, 2);
            end = from + bytes;
        }
        if (ends) __builtin_prefetch(end - 1, 1, 2);
    }

    // The next N rows of N columns. First lines wait for what is before them.
    template <bool first> void add(const Byte *const *rows, Int at, const Byte *const *coming, Int c, Int done) {
        Vec64 x[4][E];
        load(x, rows, at, coming);
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l) {
#pragma GCC unroll 16
            for (int k = 0; k < E; ++k, ++c) {
                const Vec64 whole = shift(first ? x[l][k] : before[c], x[l][k], c);
                if constexpr (first)
                    head[c] = whole;
                else
                    whole.store_nontemporal(line[c] + done);
                before[c] = x[l][k];
            }
        }
    }

    // The last rows, fewer than N, and the lines that columns have a part of, where they start and end.
    __attribute__((noinline)) void finish(const Byte *const *rows, Int more, Int at, Int c, Int done, bool starts,
                                          bool ends) {
        Vec64 x[4][E] = {};
        if (more) {
            const Byte *last[N];
            for (int r = 0; r < N; ++r) last[r] = rows[least(r, more - 1)];
            load(x, last, at, last);
        }
        for (int k = 0; k < N; ++k, ++c) {
            const Vec64 rest = more ? x[k / E][k % E] : before[c];
            Byte *to = line[c] + done;
            Vec64 end = shift(before[c], rest, c);
            Int valid = lead[c] + more;
            if (valid >= N) {
                end.store_nontemporal(to);
                to += cache_line;
                end = shift(rest, rest, c);
                valid -= N;
            }
            if (starts && !joined[c]) _mm512_mask_storeu_epi8(line[c], ~mask(lead[c]), head[c].v);
            if (joined[c + 1])
                Vec64{_mm512_mask_mov_epi8(head[c + 1].v, mask(valid), end.v)}.store_nontemporal(to);
            else if (ends)
                _mm512_mask_storeu_epi8(to, mask(valid), end.v);
        }
    }

private:
    Vec64 before[most], head[most];
    Byte *line[most], *end = nullptr;
    std::uint8_t lead[most];
    bool joined[most + 1];

    static std::uint64_t mask(Int elements) { return (std::uint64_t(1) << elements * W) - 1; }

    static void load(Vec64 (&x)[4][E], const Byte *const *rows, Int at, const Byte *const *coming) {
#pragma GCC unroll 16
        for (int r = 0; r < E; ++r) {
            Vec64 y[4];
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l) {
                prefetch(coming[r + l * E] + at + 63);
                y[l] = Vec64::load(rows[r + l * E] + at);
            }
            Vec64::swap_lanes(y);
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l) x[l][r] = y[l];
        }
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l) {
            if constexpr (E > 1) shuffle<W>(x[l]);
            if constexpr (E > 2) shuffle<W>(x[l]);
        }
    }

    // The line that starts with the last elements of a and goes on with the first of b.
    Vec64 shift(Vec64 a, Vec64 b, Int c) const {
        return Vec64::pick<W>(a, Vec64::load(reinterpret_cast<const Byte *>(shift_indices<W>.at[lead[c]])), b);
    }
};

// Up to max_rows rows.
template <int W>
void shift_rows(const Byte *source, const Int *row_offsets, Int height, Byte *target, const Int *columns, Int width,
                bool starts, bool ends, Int ahead) {
    using Columns = ShiftedColumns<W>;
    constexpr Int N = Columns::N, most = Columns::most, far = 64;
    const Byte *rows[max_rows + far];
    for (Int i = 0; i < height; ++i) rows[i] = source + row_offsets[i];
    Columns strip;
    for (Int j = 0; j < width; j += most) {
        const Int wide = least(most, width - j), whole = height / N * N;
        const auto column = [&](Int c) { return j + (c + N <= wide ? c : wide - N); };
        // About 128 lines are on their way, of 16 rows at least; behind the last row, those of the next columns.
        const Int distance = least(far, 128 * N / wide > 16 ? 128 * N / wide : 16) / N * N;
        const Int next = j + most < width ? most * W : ahead;
        for (Int i = 0; i < distance; ++i) rows[height + i] = rows[least(i, height - 1)] + next;
        for (Int c = 0; c < wide; c += N) strip.start(target, columns + column(c), c, height * W, starts, ends);
        for (Int c = 0; c < wide; c += N) strip.template add<true>(rows, column(c) * W, rows + distance, c, 0);
        for (Int i = N; i < whole; i += N)
            for (Int c = 0; c < wide; c += N)
                strip.template add<false>(rows + i, column(c) * W, rows + i + distance, c, i * W);
        for (Int c = 0; c < wide; c += N)
            strip.finish(rows + whole, height - whole, column(c) * W, c, whole * W, starts, ends);
    }
}

template <int W>
void shifted_transpose(const Byte *source, const Int *rows, Int height, Byte *target, const Int *columns, Int width,
                       const Repeat &repeat, bool starts, bool ends, Int ahead) {
    constexpr Int N = ShiftedColumns<W>::N;
    if (height < N || width < N || reinterpret_cast<std::uintptr_t>(target) % W)
        return transpose<W>(source, rows, height, target, columns, width, repeat, false, false, ahead);
    const Int parts = (height + max_rows - 1) / max_rows, part = (height + parts - 1) / parts;
    for (Int k = 0; k < repeat.count; ++k, source += repeat.source, target += repeat.target)
        for (Int i = 0; i < height; i += part)
            shift_rows<W>(source, rows + i, least(part, height - i), target + i * W, columns, width, starts || i > 0,
                          ends || i + part < height, ahead);
}

#endif

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
