#pragma once

// Transposes by vectors of 64 bytes, whose rows and columns may be shorter than those. Part of kernels.cpp.

#include "kernels/transposes.h"

#if defined(__AVX512BW__)

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

// 64 / W rows by 32 / W columns: a load takes 32 bytes of a row, and a store writes 64 of a column. Columns that are
// shorter, of `height` rows, are written in two parts of `part` bytes, which overlap, and
// only so many columns, `count`, may be written; 32 bytes are read of each row all the same.
template <int W, Listed listed, int part = 64>
[[gnu::always_inline]] inline void wide_block(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                              const Int *columns, Int column_step, Int height = 64 / W,
                                              Int count = 32 / W) {
    constexpr int E = 16 / W, parts = part == 16 ? 2 : 4;
    const Int second = height - part / W,
              starts[4] = {0, part == 16 ? second : E, part == 64 ? 2 * E : second, (part == 64 ? 2 * E : second) + E};
    Vec64 x[E], y[E];
    const Byte *from[4];
    for (int k = 0; k < parts; ++k) from[k] = source + starts[k] * row_step;
#pragma GCC unroll 16
    for (int r = 0; r < E; ++r) {
        for (int k = 0; k < parts && listed != Listed::none; ++k) from[k] = source + rows[r + starts[k]];
        x[r] = Vec64::join(Vec32::load(from[0]), Vec32::load(from[1]));
        if constexpr (parts == 4) y[r] = Vec64::join(Vec32::load(from[2]), Vec32::load(from[3]));
        for (int k = 0; k < parts && listed == Listed::none; ++k) from[k] = hidden(from[k] + row_step);
    }
    shuffle_all<W>(x);
    if constexpr (parts == 4) shuffle_all<W>(y);
    Byte *to = target, *further = target + E * column_step;
    const Int shift = second * W;
#pragma GCC unroll 16
    for (int k = 0; k < E; ++k) {
        if constexpr (listed == Listed::both) {
            to = target + columns[k];
            if (k + E < count) further = target + columns[k + E];
        }
        if constexpr (part == 64) {
            Vec64::even_lanes(x[k], y[k]).store(to);
            if (k + E < count) Vec64::odd_lanes(x[k], y[k]).store(further);
        } else if constexpr (part == 32) {
            const Vec64 a = Vec64::even_lanes(x[k], y[k]), b = Vec64::odd_lanes(x[k], y[k]);
            a.low().store(to);
            a.high().store(to + shift);
            b.low().store(further);
            b.high().store(further + shift);
        } else {
            x[k].template lane<0>().store(to);
            x[k].template lane<1>().store(further);
            x[k].template lane<2>().store(to + shift);
            x[k].template lane<3>().store(further + shift);
        }
        if constexpr (listed != Listed::both) {
            to = hidden(to + column_step);
            further = hidden(further + column_step);
        }
    }
}

// 64 / W rows by so many columns, at most 16 / W. 16 bytes are read of each row, or by `masks` only those of its
// columns, which takes longer where data come from far.
template <int W, Listed listed, bool masks = false>
[[gnu::always_inline]] inline void slim_block(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                              const Int *columns, Int column_step, Int count) {
    constexpr int E = 16 / W;
    const std::uint64_t mask = (std::uint64_t(1) << count * W) - 1;
    const auto load = [mask](const Byte *p) { return masks ? masked(p, mask, Vec16{}) : Vec16::load(p); };
    const Byte *from[4];
    for (int k = 0; k < 4; ++k) from[k] = source + k * E * row_step;
    Vec64 x[E];
#pragma GCC unroll 16
    for (int r = 0; r < E; ++r) {
        for (int k = 0; k < 4 && listed != Listed::none; ++k) from[k] = source + rows[r + k * E];
        x[r] = Vec64::join(Vec32::join(load(from[0]), load(from[1])), Vec32::join(load(from[2]), load(from[3])));
        for (int k = 0; k < 4 && listed == Listed::none; ++k) from[k] = hidden(from[k] + row_step);
    }
    shuffle_all<W>(x);
#pragma GCC unroll 16
    for (int c = 0; c < E; ++c) {
        if (c < count) x[c].store(listed == Listed::both ? target + columns[c] : target);
        if constexpr (listed != Listed::both) target = hidden(target + column_step);
    }
}

// The last columns, of which there are few.
template <int W, Listed listed>
[[gnu::noinline]] void slim_columns(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target,
                                    const Int *columns, Int column_step) {
    for (Int i = 0; i < height; i += 64 / W)
        slim_block<W, listed>(source + i * row_step, rows + i, row_step, target + i * W, columns, column_step, 16 / W);
}

// Where the last of so many rows begins, from one on.
template <Listed listed> Int last_of(const Int *rows, Int row_step, Int row, Int count) {
    if (listed == Listed::none) return row_step < 0 ? row * row_step : (row + count - 1) * row_step;
    Int last = rows[row];
    for (Int i = row + 1; i < row + count; ++i) last = rows[i] > last ? rows[i] : last;
    return last;
}

// Rows that are shorter than 16 bytes, 64 / W of them at least. The last ones may be turned twice.
template <int W, Listed listed>
[[gnu::noinline]] void narrow_slim_columns(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target,
                                           const Int *columns, Int column_step, Int width) {
    constexpr Int R = 64 / W;
    const Int most = last_of<listed>(rows, row_step, 0, height) + width * W - 16;
    for (Int i = 0; i < height; i += R) {
        const Int first = least(i, height - R);
        const Byte *const from = source + first * row_step;
        if (last_of<listed>(rows, row_step, first, R) <= most)
            slim_block<W, listed>(from, rows + first, row_step, target + first * W, columns, column_step, width);
        else
            slim_block<W, listed, true>(from, rows + first, row_step, target + first * W, columns, column_step, width);
    }
}

// Columns of one block, shorter than 64 bytes, in two parts.
template <int W, Listed listed, int part>
[[gnu::noinline]] void short_wide_columns(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target,
                                          const Int *columns, Int column_step, Int width) {
    constexpr Int C = 32 / W;
    for (Int j = 0; j < width; j += C) {
        const Int first = least(j, width - C);
        wide_block<W, listed, part>(source + first * W, rows, row_step, target + first * column_step, columns + first,
                                    column_step, height);
    }
}

// Rows that are shorter than 32 bytes, in whole blocks, as long as other rows end behind what is read; how many rows.
template <int W, Listed listed>
[[gnu::noinline]] Int narrow_wide_columns(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target,
                                          const Int *columns, Int column_step, Int width) {
    constexpr Int R = 64 / W;
    const Int most = last_of<listed>(rows, row_step, 0, height) + width * W - 32;
    Int i = 0;
    for (; i + R <= height && last_of<listed>(rows, row_step, i, R) <= most; i += R)
        wide_block<W, listed>(source + i * row_step, rows + i, row_step, target + i * W, columns, column_step, R,
                              width);
    return i;
}

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout

#endif
