#pragma once

// Kernels that interleave up to 8 rows, element by element. Part of kernels.cpp.

#include "kernels/transposes.h"
#include "kernels/ways.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

template <int W>
void interleave_scalar(const Byte *source, Byte *target, const Int *rows, int ways, Int from, Int count) {
    for (Int j = from; j < count; ++j)
        for (int k = 0; k < ways; ++k) std::memcpy(target + (j * ways + k) * W, source + rows[k] + j * W, W);
}

#if defined(__SSSE3__) || defined(__ARM_NEON)
#define RELAYOUT_HAS_BYTE_SHUFFLE

// The bytes of x that `index` names; 0 where it names none (128).
inline Vec16 shuffle_bytes(Vec16 x, Vec16 index) {
#if defined(__SSSE3__)
    return {_mm_shuffle_epi8(x.v, index.v)};
#else
    return {vqtbl1q_u8(x.v, index.v)};
#endif
}

inline Vec16 bitwise_or(Vec16 a, Vec16 b) {
#if defined(__SSSE3__)
    return {_mm_or_si128(a.v, b.v)};
#else
    return {vorrq_u8(a.v, b.v)};
#endif
}

#if defined(RELAYOUT_HAS_PERMUTES)

// The first bytes, up to 16; the others are not touched.
inline Vec16 load_first(const Byte *p, Int bytes) { return {_mm_maskz_loadu_epi8(__mmask16((1u << bytes) - 1), p)}; }
inline void store_first(Vec16 x, Byte *p, Int bytes) {
    _mm_mask_storeu_epi8(p, __mmask16(bytes < 16 ? (1u << bytes) - 1 : 0xFFFF), x.v);
}

#endif

// Which bytes of row k the o-th vector of the interleaved rows takes, and the other way round.
template <int W, int K> struct ShuffleIndices {
    Byte interleaved[K][K][16], deinterleaved[K][K][16];

    constexpr ShuffleIndices() : interleaved{}, deinterleaved{} {
        for (int o = 0; o < K; ++o)
            for (int k = 0; k < K; ++k)
                for (int b = 0; b < 16; ++b) {
                    const int e = (o * 16 + b) / W;
                    interleaved[o][k][b] = e % K == k ? Byte(e / K * W + b % W) : Byte(128);
                    const int place = (b / W * K + o) * W + b % W;
                    deinterleaved[o][k][b] = place / 16 == k ? Byte(place % 16) : Byte(128);
                }
    }
};

template <int W, int K> alignas(64) constexpr ShuffleIndices<W, K> shuffle_indices{};

// The widest vectors whose lanes, of as many rows, fill whole vectors.
template <int K> using InterleavedVec = std::conditional_t<(K * 16 >= WidestVec::bytes), WidestVec, Vec32>;

// K rows of a vector each, for K a power of 2. Shuffles leave in lane l of vector o what belongs at lane l * K + o.
template <int W, int K, typename V, bool nontemporal>
inline void interleave_vectors(const Byte *source, Byte *target, const Int *rows, Int at, Int ahead) {
    constexpr int L = V::bytes / 16;
    if (ahead && at % cache_line == 0)
        for (int k = 0; k < K; ++k) prefetch(source + rows[k] + at + ahead);
    V x[K];
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) x[k] = V::load(source + rows[k] + at);
    shuffle<W>(x);
    if constexpr (K > 2) shuffle<W>(x);
    if constexpr (K > 4) shuffle<W>(x);
#pragma GCC unroll 16
    for (int g = 0; g < K / L; ++g) {
        V y[L];
#pragma GCC unroll 4
        for (int l = 0; l < L; ++l) y[l] = x[g * L + l];
        V::swap_lanes(y);
#pragma GCC unroll 4
        for (int l = 0; l < L; ++l) store_as<V, nontemporal>(y[l], target + (l * (K / L) + g) * V::bytes);
    }
}

#if defined(RELAYOUT_HAS_PERMUTES)

// Rows of less than a vector.
template <int W, int K> inline void interleave_first(const Byte *source, Byte *target, const Int *rows, Int count) {
    Vec16 x[K];
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) x[k] = load_first(source + rows[k], count * W);
    const Int bytes = count * K * W;
#pragma GCC unroll 16
    for (int o = 0; o < K; ++o) {
        if (o * 16 >= bytes) return;
        Vec16 y = shuffle_bytes(x[0], Vec16::load(shuffle_indices<W, K>.interleaved[o][0]));
#pragma GCC unroll 16
        for (int k = 1; k < K; ++k)
            y = bitwise_or(y, shuffle_bytes(x[k], Vec16::load(shuffle_indices<W, K>.interleaved[o][k])));
        store_first(y, target + o * 16, bytes - o * 16);
    }
}

// K rows of 64 bytes each.
template <int W, int K, bool nontemporal>
inline void interleave_wide(const Byte *source, Byte *target, const Int *rows, Int at, Int ahead) {
    Vec64 x[K];
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) {
        const Byte *from = source + rows[k] + at;
        if (ahead) prefetch(from + ahead);
        x[k] = Vec64::load(from);
    }
#pragma GCC unroll 16
    for (int o = 0; o < K; ++o) store_as<Vec64, nontemporal>(woven<W>(x, o), target + o * 64);
}

#endif

// With `wide` by permutes of whole vectors, as far as rows have them.
template <int W, int K, bool nontemporal, bool wide>
Int interleave_ways(const Byte *source, Byte *target, const Int *rows, Int count, Int ahead) {
    Int j = 0;
#if defined(RELAYOUT_HAS_PERMUTES)
    if constexpr (wide)
        for (constexpr Int N = 64 / W; j + N <= count; j += N)
            interleave_wide<W, K, nontemporal>(source, target + j * K * W, rows, j * W, ahead);
#endif
    if constexpr (K == 2 || K == 4 || K == 8) {
        // Single bytes, and many rows by non-temporal stores, are slower in wide vectors.
        using V = std::conditional_t<(W > 1 && (K == 2 || !nontemporal)), InterleavedVec<K>, Vec16>;
        for (constexpr Int E = V::bytes / W; j + E <= count; j += E)
            interleave_vectors<W, K, V, nontemporal>(source, target + j * K * W, rows, j * W, ahead);
        if constexpr (V::bytes > 16)
            for (constexpr Int E = 16 / W; j + E <= count; j += E)
                interleave_vectors<W, K, Vec16, nontemporal>(source, target + j * K * W, rows, j * W, ahead);
        return j;
    }
    constexpr Int E = 16 / W;
    for (target += j * K * W; j + E <= count; j += E, target += K * 16) {
        Vec16 x[K];
#pragma GCC unroll 16
        for (int k = 0; k < K; ++k) {
            const Byte *from = source + rows[k] + j * W;
            if (ahead && (j / E) % 4 == 0) prefetch(from + ahead);
            x[k] = Vec16::load(from);
        }
#pragma GCC unroll 16
        for (int o = 0; o < K; ++o) {
            Vec16 y = shuffle_bytes(x[0], Vec16::load(shuffle_indices<W, K>.interleaved[o][0]));
#pragma GCC unroll 16
            for (int k = 1; k < K; ++k)
                y = bitwise_or(y, shuffle_bytes(x[k], Vec16::load(shuffle_indices<W, K>.interleaved[o][k])));
            store_as<Vec16, nontemporal>(y, target + o * 16);
        }
    }
    return j;
}

// Rows of less than a vector and at least half of one, for K a power of 2: halves that may overlap.
template <int W, int K> void interleave_halves(const Byte *source, Byte *target, const Int *rows, Int count) {
    constexpr Int E = 8 / W;
    for (Int j = 0; j < count; j += E) {
        const Int first = least(j, count - E);
        Vec16 x[K];
#pragma GCC unroll 16
        for (int k = 0; k < K; ++k) x[k] = Vec16::load_half(source + rows[k] + first * W);
        shuffle<W>(x);
        if constexpr (K > 2) shuffle<W>(x);
        if constexpr (K > 4) shuffle<W>(x);
#pragma GCC unroll 4
        for (int k = 0; k < K / 2; ++k) x[k].store(target + first * K * W + k * 16);
    }
}

// What vectors have left of a row: one more that ends with it, where the row is long enough.
template <int W, int K>
__attribute__((noinline)) void interleave_rest(const Byte *source, Byte *target, const Int *rows, Int done, Int count) {
    constexpr Int E = 16 / W;
    if (count >= E) {
        interleave_ways<W, K, false, false>(source + (count - E) * W, target + (count - E) * K * W, rows, E, 0);
        return;
    }
#if defined(RELAYOUT_HAS_PERMUTES)
    interleave_first<W, K>(source + done * W, target + done * K * W, rows, count - done);
#else
    if constexpr (K == 2 || K == 4 || K == 8)
        if ((count - done) * W >= 8)
            return interleave_halves<W, K>(source + done * W, target + done * K * W, rows, count - done);
    interleave_scalar<W>(source, target, rows, K, done, count);
#endif
}

// Rows that fill whole lines. Not inlined: beside what other rows need, registers would go to the stack.
template <int W, int K, bool nontemporal, bool wide>
__attribute__((noinline)) void interleave_lines(const Byte *s, Byte *t, const Int *rows, Int count,
                                                const Repeat &repeat, Int ahead) {
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target;
    Int places[K];  // which no store can change
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) places[k] = rows[k];
    for (Int r = 0; r < times; ++r, s += ss, t += ts)
        interleave_ways<W, K, nontemporal, wide>(s, t, places, count, ahead);
}

template <int W, int K, bool nontemporal, bool wide>
void interleave_rows(const Byte *s, Byte *t, const Int *rows, Int count, const Repeat &repeat, Int ahead) {
    // So many elements of each row, at least a vector, fill whole lines; K * W has a power of 2 in it.
    constexpr Int whole = cache_line / (K * W & -(K * W));
    constexpr Int E = whole * W < 16 ? 16 / W : whole;
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target;
    // Short rows have no time for what follows.
    if (count % E == 0 && (reinterpret_cast<std::uintptr_t>(t) | std::uintptr_t(ts)) % cache_line == 0)
        return interleave_lines<W, K, nontemporal, wide>(s, t, rows, count, repeat, ahead);
    for (Int r = 0; r < times; ++r, s += ss, t += ts) {
        Int done = 0;
        if constexpr (nontemporal) {
            // From the first element at the start of a cache line on, whole lines are written by non-temporal stores.
            Int first = 0;
            while (first < cache_line && reinterpret_cast<std::uintptr_t>(t + first * K * W) % cache_line) ++first;
            if (first < cache_line && first + E <= count) {
                interleave_scalar<W>(s, t, rows, K, 0, first);
                done = first + (count - first) / E * E;
                interleave_ways<W, K, true, wide>(s + first * W, t + first * K * W, rows, done - first, ahead);
            }
        }
        const Byte *from = s + done * W;
        Byte *to = t + done * K * W;
        const Int more = interleave_ways<W, K, false, wide>(from, to, rows, count - done, ahead);
        if (more < count - done) interleave_rest<W, K>(from, to, rows, more, count - done);
    }
}

template <int W, int K, bool nontemporal>
void interleave_all(const Byte *s, Byte *t, const Int *rows, Int count, const Repeat &repeat, Int ahead) {
    // Shuffles of powers of 2 are fewer; single bytes gain by wide vectors in long rows, and few ways by non-temporal
    // stores do not.
    constexpr bool is_power = K == 2 || K == 4 || K == 8;
    constexpr bool wide = has_permutes<W> && (nontemporal ? K > 4 && !is_power : W == 1 || !is_power);
    if constexpr (wide)
        if (!is_power || count >= 256)
            return interleave_rows<W, K, nontemporal, true>(s, t, rows, count, repeat, ahead);
    if constexpr (!wide || is_power) interleave_rows<W, K, nontemporal, false>(s, t, rows, count, repeat, ahead);
}

template <int W, bool nontemporal>
void interleave_any(const Byte *s, Byte *t, const Int *rows, int ways, Int count, const Repeat &repeat, Int ahead) {
    with_ways<W>(ways,
                 [&](auto k) { interleave_all<W, decltype(k)::count, nontemporal>(s, t, rows, count, repeat, ahead); });
}

#endif

template <int W>
void interleave(const Byte *s, Byte *t, const Int *rows, int ways, Int count, const Repeat &repeat,
                [[maybe_unused]] bool nontemporal, [[maybe_unused]] Int ahead) {
#if defined(RELAYOUT_HAS_BYTE_SHUFFLE)
    if (nontemporal)
        interleave_any<W, true>(s, t, rows, ways, count, repeat, ahead);
    else
        interleave_any<W, false>(s, t, rows, ways, count, repeat, ahead);
#else
    for (Int r = 0; r < repeat.count; ++r)
        interleave_scalar<W>(s + r * repeat.source, t + r * repeat.target, rows, ways, 0, count);
#endif
}

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
