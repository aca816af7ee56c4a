#pragma once

// Kernels that turn rows into columns that lie equally far apart: blocks of 64 bytes by 32, of 32 by 16, or of 16, stay
// in registers, and addresses are added up, those of rows too where they lie so. Part of kernels.cpp.

#include <type_traits>

#include "kernels/wide_transposes.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

using StridedVec = std::conditional_t<WidestVec::bytes == 16, Vec16, Vec32>;

// The columns of a block: a vector of 64 bytes has 32 of a row, and one of 32 two elements of 16.
template <int W, typename V>
constexpr Int block_width = V::bytes == 64 || (V::bytes == 32 && W == 16) ? 32 / W : 16 / W;

// Two rows of 16 bytes by two columns.
template <bool listed>
[[gnu::always_inline]] inline void pair_block(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                              Int column_step) {
    Vec32 x[2] = {Vec32::load(source + (listed ? rows[0] : 0)), Vec32::load(source + (listed ? rows[1] : row_step))};
    Vec32::swap_lanes(x);
    x[0].store(target);
    x[1].store(target + column_step);
}

// V::bytes / W rows by 16 / W columns: each lane of a vector has 16 / W of the rows, which lie `row_step` apart, or at
// the offsets that are `listed`.
template <int W, typename V, bool listed>
[[gnu::always_inline]] inline void strided_block(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                                 Int column_step) {
    constexpr int E = 16 / W;
    const Byte *low = source, *high = source + E * row_step;
    V x[E];
#pragma GCC unroll 16
    for (int r = 0; r < E; ++r) {
        if constexpr (listed) {
            low = source + rows[r];
            high = source + rows[r + (V::bytes == 32 ? E : 0)];
        }
        if constexpr (V::bytes == 32)
            x[r] = Vec32::join(Vec16::load(low), Vec16::load(high));
        else
            x[r] = Vec16::load(low);
        if constexpr (!listed) {
            low = hidden(low + row_step);
            high = hidden(high + row_step);
        }
    }
    shuffle_all<W>(x);
#pragma GCC unroll 16
    for (int c = 0; c < E; ++c) {
        x[c].store(target);
        target = hidden(target + column_step);
    }
}

template <int W, typename V, bool listed>
[[gnu::always_inline]] inline void any_block(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                             Int column_step) {
    constexpr bool paired = W == 16 && V::bytes == 32;
#if defined(__AVX512BW__)
    if constexpr (V::bytes == 64) wide_block<W, listed>(source, rows, row_step, target, column_step);
#endif
    if constexpr (paired) pair_block<listed>(source, rows, row_step, target, column_step);
    if constexpr (V::bytes < 64 && !paired) strided_block<W, V, listed>(source, rows, row_step, target, column_step);
}

// Whole blocks. Not inlined: its loops need the registers for themselves.
template <int W, typename V, bool listed>
[[gnu::noinline]] void strided_blocks(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target,
                                      Int column_step, Int width, bool down) {
    constexpr Int E = block_width<W, V>, R = V::bytes / W;
    if (down)
        for (Int j = 0; j < width; j += E)
            for (Int i = 0; i < height; i += R)
                any_block<W, V, listed>(source + i * row_step + j * W, rows + i, row_step,
                                        target + i * W + j * column_step, column_step);
    else
        for (Int i = 0; i < height; i += R)
            for (Int j = 0; j < width; j += E)
                any_block<W, V, listed>(source + i * row_step + j * W, rows + i, row_step,
                                        target + i * W + j * column_step, column_step);
}

template <int W, bool listed>
void strided_columns(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target, Int column_step,
                     Int width, const Repeat &repeat, bool down, bool wide) {
    constexpr Int E = 16 / W, R = StridedVec::bytes / W;
    for (Int k = 0; k < repeat.count; ++k, source += repeat.source, target += repeat.target) {
        // So many rows from one on, all columns; the last ones may be written twice.
        const auto bands = [&](auto vector, Int row, Int count) {
            constexpr Int C = block_width<W, decltype(vector)>;
            const Int whole_width = width / C * C;
            const auto blocks = [&](Int column, Int columns) {
                strided_blocks<W, decltype(vector), listed>(source + row * row_step + column * W, rows + row, row_step,
                                                            count, target + row * W + column * column_step, column_step,
                                                            columns, down);
            };
            blocks(0, whole_width);
            if (whole_width == width) return;
#if defined(__AVX512BW__)
            if (C > E && W < 16 && width - whole_width <= E)
                return slim_columns<W, listed>(source + row * row_step + (width - E) * W, rows + row, row_step, count,
                                               target + row * W + (width - E) * column_step, column_step);
#endif
            blocks(width - C, C);
        };
        Int done = 0;
#if defined(__AVX512BW__)
        if (W < 16 && width * W >= 32 && height < 2 * R && height != R && height != E) {
            (height > R ? short_wide_columns<W, listed, 32> : short_wide_columns<W, listed, 16>)(source, rows, row_step,
                                                                                                 height, target,
                                                                                                 column_step, width);
            continue;
        }
        if (W < 16 && width < E) {
            narrow_slim_columns<W, listed>(source, rows, row_step, height, target, column_step, width);
            continue;
        }
        if (W < 16 && width > E && width * W < 32)
            done = narrow_wide_columns<W, listed>(source, rows, row_step, height, target, column_step, width);
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
        take_whole(StridedVec{});
        if constexpr (W == 16) take_whole(Vec16{});
        const Int rest = height - done;
        if (!rest) continue;
        if (rest <= E) {
            bands(Vec16{}, height - E, E);
        } else if (height >= R) {
            bands(StridedVec{}, height - R, R);
        } else {
            bands(Vec16{}, 0, E);
            bands(Vec16{}, height - E, E);
        }
    }
}

template <int W>
void strided_transpose(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target, Int column_step,
                       Int width, const Repeat &repeat, bool down, bool wide) {
    const auto turn = row_step ? strided_columns<W, false> : strided_columns<W, true>;
    turn(row_step ? source + rows[0] : source, rows, row_step, height, target, column_step, width, repeat, down, wide);
}

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
