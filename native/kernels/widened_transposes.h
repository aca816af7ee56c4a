#pragma once

// Transposes of elements that no shuffle has the width of: they are permuted into wider ones, turned, and permuted
// back. Part of gather_kernels.cpp.

#include "kernels/gather_kernels.h"
#include "kernels/transposes.h"

#if defined(__AVX512VBMI__)

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

// How elements of so many bytes become elements of W, and back.
struct Widening {
    __m512i widen, narrow;
    int bytes;

    ByteMask mask_of(Int count) const { return (ByteMask(1) << (count * bytes)) - 1; }
};

template <int W> Widening widening_of(int bytes) {
    alignas(64) Byte widen[64] = {}, narrow[64] = {};
    for (int b = 0; b < 64 / W * bytes; ++b) {
        widen[b / bytes * W + b % bytes] = Byte(b);
        narrow[b] = Byte(b / bytes * W + b % bytes);
    }
    return {_mm512_load_si512(widen), _mm512_load_si512(narrow), bytes};
}

// Up to 64 / W rows and columns, or as many if the block is `full`. Rows that are not there are read as the last one.
template <int W, bool full>
[[gnu::always_inline]] inline void widened_block(const Byte *source, const Int *rows, Int high, Byte *target,
                                                 const Int *columns, Int wide, const Widening &how, Int ahead) {
    constexpr int lanes = 4, E = 16 / W, N = lanes * E;
    const ByteMask loaded = how.mask_of(full ? N : wide), stored = how.mask_of(full ? N : high);
    Vec64 x[lanes][E];
#pragma GCC unroll 4
    for (int r = 0; r < E; ++r) {
        Vec64 y[lanes];
#pragma GCC unroll 4
        for (int l = 0; l < lanes; ++l) {
            const Byte *const from = source + rows[full ? r + l * E : least(r + l * E, high - 1)];
            if (ahead) prefetch(from + ahead);
            y[l].v = _mm512_permutexvar_epi8(how.widen, _mm512_maskz_loadu_epi8(loaded, from));
        }
        Vec64::swap_lanes(y);
#pragma GCC unroll 4
        for (int l = 0; l < lanes; ++l) x[l][r] = y[l];
    }
#pragma GCC unroll 4
    for (int l = 0; l < lanes; ++l) shuffle_all<W>(x[l]);
#pragma GCC unroll 16
    for (int c = 0; c < N; ++c)
        if (full || c < wide)
            _mm512_mask_storeu_epi8(target + columns[c], stored,
                                    _mm512_permutexvar_epi8(how.narrow, x[c / E][c % E].v));
}

template <int W>
void widened_blocks(const Byte *source, const Int *rows, Int height, Byte *target, const Int *columns, Int width,
                    int element, Int ahead) {
    constexpr Int N = 64 / W;
    const Widening how = widening_of<W>(element);
    for (Int i = 0; i < height; i += N)
        for (Int j = 0; j < width; j += N) {
            const Int high = least(N, height - i), wide = least(N, width - j);
            const auto turn = [&](auto kernel) {
                kernel(source + j * element, rows + i, high, target + i * element, columns + j, wide, how, ahead);
            };
            if (high == N && wide == N && !ahead)
                turn([](auto... x) { widened_block<W, true>(x...); });
            else
                turn([](auto... x) { widened_block<W, false>(x...); });
        }
}

void widened_transpose(const Byte *source, const Int *rows, Int height, Byte *target, const Int *columns, Int width,
                       int element, const Repeat &repeat, Int ahead) {
    const auto blocks = element > 4 ? widened_blocks<8> : widened_blocks<4>;
    for (Int k = 0; k < repeat.count; ++k, source += repeat.source, target += repeat.target)
        blocks(source, rows, height, target, columns, width, element, ahead);
}

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout

#endif
