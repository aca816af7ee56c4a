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
    if constexpr (E > 1) shuffle<W>(x);
    if constexpr (E > 2) shuffle<W>(x);
    if constexpr (E > 4) shuffle<W>(x);
    if constexpr (E > 8) shuffle<W>(x);
#pragma GCC unroll 16
    for (int c = 0; c < E; ++c) {
        x[c].store(target);
        target = hidden(target + column_step);
    }
}

// Whole blocks. Not inlined: its loops need the registers for themselves.
template <int W, typename V, bool listed>
[[gnu::noinline]] void strided_blocks(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target,
                                      Int column_step, Int width, bool down) {
    constexpr Int E = 16 / W, R = V::bytes / W;
    if (down)
        for (Int j = 0; j < width; j += E)
            for (Int i = 0; i < height; i += R)
                strided_block<W, V, listed>(source + i * row_step + j * W, rows + i, row_step,
                                            target + i * W + j * column_step, column_step);
    else
        for (Int i = 0; i < height; i += R)
            for (Int j = 0; j < width; j += E)
                strided_block<W, V, listed>(source + i * row_step + j * W, rows + i, row_step,
                                            target + i * W + j * column_step, column_step);
}

template <int W, bool listed>
void strided_columns(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target, Int column_step,
                     Int width, const Repeat &repeat, bool down) {
    constexpr Int E = 16 / W, R = StridedVec::bytes / W;
    const Int whole_height = height / R * R, whole_width = width / E * E, rest = height - whole_height;
    for (Int k = 0; k < repeat.count; ++k, source += repeat.source, target += repeat.target) {
        // So many rows from one on, all columns; the last ones may be written twice.
        const auto bands = [&](auto vector, Int row, Int count) {
            const auto blocks = [&](Int column, Int columns) {
                strided_blocks<W, decltype(vector), listed>(source + row * row_step + column * W, rows + row, row_step,
                                                            count, target + row * W + column * column_step, column_step,
                                                            columns, down);
            };
            blocks(0, whole_width);
            if (whole_width < width) blocks(width - E, E);
        };
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
