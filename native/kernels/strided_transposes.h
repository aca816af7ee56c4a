#pragma once

// Kernels that turn rows into columns that lie equally far apart: blocks of 32 bytes by 16, or 16, stay in registers,
// and addresses are added up, those of rows too where they lie so. Part of kernels.cpp.

#include <type_traits>

#include "kernels/transposes.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

using StridedVec = std::conditional_t<WidestVec::bytes == 16, Vec16, Vec32>;

// The same address. Without it compilers keep all multiples of a step, which are more than there are registers.
template <typename T> inline T *hidden(T *p) {
    asm("" : "+r"(p));
    return p;
}

// The columns of a block: two of 16 bytes where a vector has more than one.
template <int W, typename V> constexpr Int block_width = W == 16 && V::bytes > 16 ? 2 : 16 / W;

// As many rows of 16 bytes as a vector has by two columns: a load takes both.
template <typename V, bool listed>
[[gnu::always_inline]] inline void pair_block(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                              Int column_step) {
    const auto row = [=](Int r) { return Vec32::load(source + (listed ? rows[r] : r * row_step)); };
    if constexpr (V::bytes == 32) {
        Vec32 x[2] = {row(0), row(1)};
        Vec32::swap_lanes(x);
        x[0].store(target);
        x[1].store(target + column_step);
    } else {
        const V x = V::join(row(0), row(1)), y = V::join(row(2), row(3));
        V::even_lanes(x, y).store(target);
        V::odd_lanes(x, y).store(target + column_step);
    }
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
    if constexpr (block_width<W, V> > 16 / W)
        pair_block<V, listed>(source, rows, row_step, target, column_step);
    else
        strided_block<W, V, listed>(source, rows, row_step, target, column_step);
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
                     Int width, const Repeat &repeat, bool down) {
    constexpr Int E = 16 / W, R = StridedVec::bytes / W;
    const Int whole_height = height / R * R, rest = height - whole_height;
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
            if (whole_width < width) blocks(width - C, C);
        };
        if constexpr (W == 16) {
            Int done = 0;
            const auto take_whole = [&](auto vector) {
                const Int n = vector.bytes / W, count = (height - done) / n * n;
                if (!count || width < block_width<W, decltype(vector)>) return;
                bands(vector, done, count);
                done += count;
            };
            take_whole(WidestVec{});
            take_whole(Vec32{});
            take_whole(Vec16{});
            continue;
        }
        if (whole_height) bands(StridedVec{}, 0, whole_height);
        if (!rest) continue;
        if (rest <= E) {
            bands(Vec16{}, height - E, E);
        } else if (whole_height) {
            bands(StridedVec{}, height - R, R);
        } else {
            bands(Vec16{}, 0, E);
            bands(Vec16{}, height - E, E);
        }
    }
}

template <int W>
void strided_transpose(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target, Int column_step,
                       Int width, const Repeat &repeat, bool down) {
    if (row_step)
        strided_columns<W, false>(source + rows[0], rows, row_step, height, target, column_step, width, repeat, down);
    else
        strided_columns<W, true>(source, rows, 0, height, target, column_step, width, repeat, down);
}

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
