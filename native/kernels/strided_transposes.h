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
template <int W, typename V, bool listed> struct StridedBlock {
    static constexpr Int height = V::bytes / W, width = 16 / W;

    [[gnu::always_inline]] static void turn(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                            Int column_step) {
        constexpr int E = 16 / W, lanes = V::bytes / 16;
        V x[E];
        const Byte *from[lanes];
        for (int k = 0; k < lanes; ++k) from[k] = source + k * E * row_step;
#pragma GCC unroll 16
        for (int r = 0; r < E; ++r) {
            for (int k = 0; k < lanes && listed; ++k) from[k] = source + rows[r + k * E];
            x[r] = V::load_lanes(from, 1, 0);
            for (int k = 0; k < lanes && !listed; ++k) from[k] = hidden(from[k] + row_step);
        }
        shuffle_all<W>(x);
#pragma GCC unroll 16
        for (int c = 0; c < E; ++c) {
            x[c].store(target);
            target = hidden(target + column_step);
        }
    }
};

// Elements of 16 bytes: two of each row, where a vector has two.
template <bool listed> struct StridedBlock<16, Vec32, listed> {
    static constexpr Int height = 2, width = 2;

    [[gnu::always_inline]] static void turn(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                            Int column_step) {
        const auto row = [=](Int r) { return source + (listed ? rows[r] : r * row_step); };
        Vec32 x[2] = {Vec32::load(row(0)), Vec32::load(row(1))};
        Vec32::swap_lanes(x);
        x[0].store(target);
        x[1].store(target + column_step);
    }
};

#if defined(__AVX512BW__)

template <bool listed> struct StridedBlock<16, Vec64, listed> {
    static constexpr Int height = 4, width = 2;

    [[gnu::always_inline]] static void turn(const Byte *source, const Int *rows, Int row_step, Byte *target,
                                            Int column_step) {
        const auto row = [=](Int r) { return Vec32::load(source + (listed ? rows[r] : r * row_step)); };
        const Vec64 x = Vec64::join(row(0), row(1)), y = Vec64::join(row(2), row(3));
        Vec64::even_lanes(x, y).store(target);
        Vec64::odd_lanes(x, y).store(target + column_step);
    }
};

#endif

// Whole blocks. Not inlined: its loops need the registers for themselves.
template <int W, typename Block>
[[gnu::noinline]] void strided_blocks(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target,
                                      Int column_step, Int width, bool down) {
    const auto turn = [=](Int i, Int j) {
        Block::turn(source + i * row_step + j * W, rows + i, row_step, target + i * W + j * column_step, column_step);
    };
    if (down)
        for (Int j = 0; j < width; j += Block::width)
            for (Int i = 0; i < height; i += Block::height) turn(i, j);
    else
        for (Int i = 0; i < height; i += Block::height)
            for (Int j = 0; j < width; j += Block::width) turn(i, j);
}

// All rows in whole blocks, and so many columns from one on; the last of both may be written twice.
template <int W, typename Block>
void strided_band(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target, Int column_step,
                  Int width, bool down) {
    const auto blocks = [=](Int column, Int columns) {
        strided_blocks<W, Block>(source + column * W, rows, row_step, height, target + column * column_step,
                                 column_step, columns, down);
    };
    const Int whole = width / Block::width * Block::width;
    blocks(0, whole);
    if (whole < width) blocks(width - Block::width, Block::width);
}

template <int W, bool listed>
void strided_columns(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target, Int column_step,
                     Int width, const Repeat &repeat, bool down) {
    using Low = StridedBlock<W, Vec16, listed>;
    using High = StridedBlock<W, StridedVec, listed>;
    for (Int k = 0; k < repeat.count; ++k, source += repeat.source, target += repeat.target) {
        const auto band = [&](auto block, Int row, Int count) {
            strided_band<W, decltype(block)>(source + row * row_step, rows + row, row_step, count, target + row * W,
                                             column_step, width, down);
        };
        Int done = 0;
        const auto take_whole = [&](auto block) {
            const Int count = width < block.width ? 0 : (height - done) / block.height * block.height;
            if (count) band(block, done, count);
            done += count;
        };
        if constexpr (W == 16) {
            take_whole(StridedBlock<W, WidestVec, listed>{});
            take_whole(StridedBlock<W, Vec32, listed>{});
            take_whole(Low{});
            continue;
        }
        take_whole(High{});
        const Int rest = height - done;
        if (rest > Low::height && done) {
            band(High{}, height - High::height, High::height);
        } else if (rest) {
            take_whole(Low{});
            if (done < height) band(Low{}, height - Low::height, Low::height);
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
