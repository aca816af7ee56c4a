#pragma once

// Kernels that turn rows into columns by blocks of 64 bytes by 32, of 32 by 16, or of 16, which stay in registers.
// Addresses of rows and columns that lie equally far apart are added up, others looked up. Part of kernels.cpp.

#include <type_traits>

#include "kernels/wide_transposes.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

using BlockVec = std::conditional_t<WidestVec::bytes == 16, Vec16, Vec32>;

// The columns of a block: a vector of 64 bytes has 32 of a row, and one of 32 two elements of 16.
template <int W, typename V>
constexpr Int block_width = V::bytes == 64 || (V::bytes == 32 && W == 16) ? 32 / W : 16 / W;

// Two rows of 16 bytes by two columns.
template <Listed listed>
[[gnu::always_inline]] inline void pair_block(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                              const Int *columns, Int column_step) {
    constexpr bool looked_up = listed != Listed::none, by_columns = listed == Listed::both;
    Vec32 x[2] = {Vec32::load(source + (looked_up ? rows[0] : 0)),
                  Vec32::load(source + (looked_up ? rows[1] : row_step))};
    Vec32::swap_lanes(x);
    x[0].store(target + (by_columns ? columns[0] : 0));
    x[1].store(target + (by_columns ? columns[1] : column_step));
}

// V::bytes / W rows by 16 / W columns: each lane of a vector has 16 / W of the rows.
template <int W, typename V, Listed listed>
[[gnu::always_inline]] inline void small_block(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                               const Int *columns, Int column_step) {
    constexpr int E = 16 / W;
    const Byte *low = source, *high = source + E * row_step;
    V x[E];
#pragma GCC unroll 16
    for (int r = 0; r < E; ++r) {
        if constexpr (listed != Listed::none) {
            low = source + rows[r];
            high = source + rows[r + (V::bytes == 32 ? E : 0)];
        }
        if constexpr (V::bytes == 32)
            x[r] = Vec32::join(Vec16::load(low), Vec16::load(high));
        else
            x[r] = Vec16::load(low);
        if constexpr (listed == Listed::none) {
            low = hidden(low + row_step);
            high = hidden(high + row_step);
        }
    }
    shuffle_all<W>(x);
#pragma GCC unroll 16
    for (int c = 0; c < E; ++c) {
        x[c].store(listed == Listed::both ? target + columns[c] : target);
        if constexpr (listed != Listed::both) target = hidden(target + column_step);
    }
}

template <int W, typename V, Listed listed>
[[gnu::always_inline]] inline void any_block(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                             const Int *columns, Int column_step) {
    constexpr bool paired = W == 16 && V::bytes == 32;
#if defined(__AVX512BW__)
    if constexpr (V::bytes == 64) wide_block<W, listed>(source, rows, row_step, target, columns, column_step);
#endif
    if constexpr (paired) pair_block<listed>(source, rows, row_step, target, columns, column_step);
    if constexpr (V::bytes < 64 && !paired)
        small_block<W, V, listed>(source, rows, row_step, target, columns, column_step);
}

// Whole blocks. Not inlined: its loops need the registers for themselves.
template <int W, typename V, Listed listed>
[[gnu::noinline]] void whole_blocks(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target,
                                    const Int *columns, Int column_step, Int width, bool down) {
    constexpr Int E = block_width<W, V>, R = V::bytes / W;
    if (down)
        for (Int j = 0; j < width; j += E)
            for (Int i = 0; i < height; i += R)
                any_block<W, V, listed>(source + i * row_step + j * W, rows + i, row_step,
                                        target + i * W + j * column_step, columns + j, column_step);
    else
        for (Int i = 0; i < height; i += R)
            for (Int j = 0; j < width; j += E)
                any_block<W, V, listed>(source + i * row_step + j * W, rows + i, row_step,
                                        target + i * W + j * column_step, columns + j, column_step);
}

template <int W, Listed listed>
void block_columns(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target, const Int *columns,
                   Int column_step, Int width, const Repeat &repeat, bool down, bool wide) {
    constexpr Int E = 16 / W, R = BlockVec::bytes / W;
    for (Int k = 0; k < repeat.count; ++k, source += repeat.source, target += repeat.target) {
        // So many rows from one on, all columns; the last ones may be written twice.
        const auto bands = [&](auto vector, Int row, Int count) {
            constexpr Int C = block_width<W, decltype(vector)>;
            const Int whole_width = width / C * C;
            const auto blocks = [&](Int column, Int number) {
                whole_blocks<W, decltype(vector), listed>(source + row * row_step + column * W, rows + row, row_step,
                                                          count, target + row * W + column * column_step,
                                                          columns + column, column_step, number, down);
            };
            blocks(0, whole_width);
            if (whole_width == width) return;
#if defined(__AVX512BW__)
            if (C > E && W < 16 && width - whole_width <= E)
                return slim_columns<W, listed>(source + row * row_step + (width - E) * W, rows + row, row_step, count,
                                               target + row * W + (width - E) * column_step, columns + width - E,
                                               column_step);
#endif
            blocks(width - C, C);
        };
        Int done = 0;
#if defined(__AVX512BW__)
        if (W < 16 && width * W >= 32 && height < 2 * R && height != R && height != E) {
            const auto turn = height > R ? short_wide_columns<W, listed, 32> : short_wide_columns<W, listed, 16>;
            turn(source, rows, row_step, height, target, columns, column_step, width);
            continue;
        }
        if (W < 16 && width < E) {
            narrow_slim_columns<W, listed>(source, rows, row_step, height, target, columns, column_step, width);
            continue;
        }
        if (W < 16 && width > E && width * W < 32)
            done = narrow_wide_columns<W, listed>(source, rows, row_step, height, target, columns, column_step, width);
#endif
        const auto take_whole = [&](auto vector) {
            const Int n = vector.bytes / W, count = (height - done) / n * n;
            if (!count || width < block_width<W, decltype(vector)>) return;
            bands(vector, done, count);
            done += count;
        };
        if (wide || W == 16) take_whole(WidestVec{});
        if (done && height - done > R && width >= block_width<W, WidestVec>) {
            bands(WidestVec{}, height - WidestVec::bytes / W, WidestVec::bytes / W);
            continue;
        }
        take_whole(BlockVec{});
        if constexpr (W == 16) take_whole(Vec16{});
        const Int rest = height - done;
        if (!rest) continue;
        if (rest <= E) {
            bands(Vec16{}, height - E, E);
        } else if (height >= R) {
            bands(BlockVec{}, height - R, R);
        } else {
            bands(Vec16{}, 0, E);
            bands(Vec16{}, height - E, E);
        }
    }
}

template <int W>
void block_transpose(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target, const Int *columns,
                     Int column_step, Int width, const Repeat &repeat, bool down, bool wide) {
    if (!column_step)
        block_columns<W, Listed::both>(source, rows, 0, height, target, columns, 0, width, repeat, down, wide);
    else if (!row_step)
        block_columns<W, Listed::rows>(source, rows, 0, height, target, columns, column_step, width, repeat, down,
                                       wide);
    else
        block_columns<W, Listed::none>(source + rows[0], rows, row_step, height, target, columns, column_step, width,
                                       repeat, down, wide);
}

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
