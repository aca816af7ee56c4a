#pragma once

// Kernels that turn rows into columns which start anywhere, by non-temporal stores of whole lines. Part of kernels.cpp.

#include "kernels/shifted_lines.h"
#include "kernels/transposes.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

#if defined(__AVX512BW__)

// N rows of N columns, as N vectors: E of each 16 bytes of a row.
template <int W>
inline void load_columns(Vec64 (&x)[4][16 / W], const Byte *const *rows, Int at, const Byte *const *coming) {
    constexpr int E = 16 / W;
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
    for (int l = 0; l < 4; ++l) shuffle_all<W>(x[l]);
}

// So many columns at a time.
template <int W> constexpr int shifted_columns = 16 * 64 / W;

template <int W> using ShiftedStrip = ShiftedLines<W, shifted_columns<W>>;

// The next N rows of N columns from `c` on.
template <int W, bool first>
inline void add_rows(ShiftedStrip<W> &strip, const Byte *const *rows, Int at, const Byte *const *coming, Int c,
                     Int done) {
    constexpr int E = 16 / W;
    Vec64 x[4][E];
    load_columns<W>(x, rows, at, coming);
#pragma GCC unroll 16
    for (int k = 0; k < 4 * E; ++k)
        if constexpr (first)
            strip.add_first(c + k, x[k / E][k % E]);
        else
            strip.add(c + k, x[k / E][k % E], done);
}

// The last rows, fewer than N.
template <int W>
__attribute__((noinline)) void finish_rows(ShiftedStrip<W> &strip, const Byte *const *rows, Int more, Int at, Int c,
                                           Int done, bool starts, bool ends) {
    constexpr int E = 16 / W, N = 4 * E;
    Vec64 x[4][E] = {};
    if (more) {
        const Byte *last[N];
        for (int r = 0; r < N; ++r) last[r] = rows[least(r, more - 1)];
        load_columns<W>(x, last, at, last);
    }
    for (int k = 0; k < N; ++k) strip.finish(c + k, x[k / E][k % E], more, done, starts, ends);
}

// Up to max_rows rows.
template <int W>
void shift_rows(const Byte *source, const Int *row_offsets, Int height, Byte *target, const Int *columns, Int width,
                bool starts, bool ends, Int ahead) {
    constexpr Int N = 64 / W, most = shifted_columns<W>, far = 64;
    const Byte *rows[max_rows + far];
    for (Int i = 0; i < height; ++i) rows[i] = source + row_offsets[i];
    ShiftedStrip<W> strip;
    for (Int j = 0; j < width; j += most) {
        const Int wide = least(most, width - j), whole = height / N * N;
        const auto column = [&](Int c) { return j + (c + N <= wide ? c : wide - N); };
        // About 128 lines are on their way, of 16 rows at least; behind the last row, those of the next columns.
        const Int distance = least(far, 128 * N / wide > 16 ? 128 * N / wide : 16) / N * N;
        const Int next = j + most < width ? most * W : ahead;
        for (Int i = 0; i < distance; ++i) rows[height + i] = rows[least(i, height - 1)] + next;
        for (Int c = 0; c < wide; c += N)
            for (Int k = 0; k < N; ++k) strip.start(c + k, target + columns[column(c) + k], height * W, starts, ends);
        for (Int c = 0; c < wide; c += N) add_rows<W, true>(strip, rows, column(c) * W, rows + distance, c, 0);
        for (Int i = N; i < whole; i += N)
            for (Int c = 0; c < wide; c += N)
                add_rows<W, false>(strip, rows + i, column(c) * W, rows + i + distance, c, i * W);
        for (Int c = 0; c < wide; c += N)
            finish_rows<W>(strip, rows + whole, height - whole, column(c) * W, c, whole * W, starts, ends);
    }
}

template <int W>
void shifted_transpose(const Byte *source, const Int *rows, Int height, Byte *target, const Int *columns, Int width,
                       const Repeat &repeat, bool starts, bool ends, Int ahead) {
    constexpr Int N = 64 / W;
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
