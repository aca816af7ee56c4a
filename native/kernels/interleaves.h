#pragma once

// Kernels that weave few rows into one, element by element, and part them again. Part of kernels.cpp.

#include "kernels/transposes.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

template <int W>
void weave_plainly(const Byte *source, Byte *target, const Int *rows, int ways, Int from, Int count) {
    for (Int j = from; j < count; ++j)
        for (int k = 0; k < ways; ++k) std::memcpy(target + (j * ways + k) * W, source + rows[k] + j * W, W);
}

template <int W>
void unweave_plainly(const Byte *source, Byte *target, const Int *rows, int ways, int used, Int from, Int count) {
    for (Int j = from; j < count; ++j)
        for (int k = 0; k < used; ++k) std::memcpy(target + rows[k] + j * W, source + (j * ways + k) * W, W);
}

#if defined(__SSSE3__) || defined(__ARM_NEON)
#define RELAYOUT_HAS_LOOKUP

// The bytes of x that `index` names; 0 where it names none (128).
inline Vec16 lookup(Vec16 x, Vec16 index) {
#if defined(__SSSE3__)
    return {_mm_shuffle_epi8(x.v, index.v)};
#else
    return {vqtbl1q_u8(x.v, index.v)};
#endif
}

inline Vec16 either(Vec16 a, Vec16 b) {
#if defined(__SSSE3__)
    return {_mm_or_si128(a.v, b.v)};
#else
    return {vorrq_u8(a.v, b.v)};
#endif
}

// Which bytes of row k the o-th vector of the woven rows takes, and the other way round.
template <int W, int K> struct Indices {
    Byte woven[K][K][16], unwoven[K][K][16];

    constexpr Indices() : woven{}, unwoven{} {
        for (int o = 0; o < K; ++o)
            for (int k = 0; k < K; ++k)
                for (int b = 0; b < 16; ++b) {
                    const int e = (o * 16 + b) / W;
                    woven[o][k][b] = e % K == k ? Byte(e / K * W + b % W) : Byte(128);
                    const int place = (b / W * K + o) * W + b % W;
                    unwoven[o][k][b] = place / 16 == k ? Byte(place % 16) : Byte(128);
                }
    }
};

template <int W, int K> alignas(64) constexpr Indices<W, K> indices{};

// The widest vectors whose lanes, of as many rows, fill whole vectors.
template <int K> using Woven = std::conditional_t<(K * 16 >= Wide::bytes), Wide, Vec32>;

// K rows of a vector each, for K a power of 2. Shuffles leave in lane l of vector o what belongs at lane l * K + o.
template <int W, int K, typename V, bool stream>
inline void weave_vectors(const Byte *source, Byte *target, const Int *rows, Int at, Int ahead) {
    constexpr int L = V::bytes / 16;
    if (ahead && at % line == 0)
        for (int k = 0; k < K; ++k) prefetch(source + rows[k] + at + ahead);
    V x[K];
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) x[k] = V::load(source + rows[k] + at);
    shuffle<W>(x);
    if constexpr (K > 2) shuffle<W>(x);
    if constexpr (K > 4) shuffle<W>(x);
#pragma GCC unroll 8
    for (int g = 0; g < K / L; ++g) {
        V y[L];
#pragma GCC unroll 4
        for (int l = 0; l < L; ++l) y[l] = x[g * L + l];
        V::swap_lanes(y);
#pragma GCC unroll 4
        for (int l = 0; l < L; ++l) put<V, stream>(y[l], target + (l * (K / L) + g) * V::bytes);
    }
}

template <int W, int K, bool stream>
Int weave_ways(const Byte *source, Byte *target, const Int *rows, Int count, Int ahead) {
    Int j = 0;
    if constexpr (K == 2 || K == 4 || K == 8) {
        // Single bytes, and many rows around the cache, are slower in wide vectors.
        using V = std::conditional_t<(W > 1 && (K == 2 || !stream)), Woven<K>, Vec16>;
        for (constexpr Int E = V::bytes / W; j + E <= count; j += E)
            weave_vectors<W, K, V, stream>(source, target + j * K * W, rows, j * W, ahead);
        for (constexpr Int E = 16 / W; j + E <= count; j += E)
            weave_vectors<W, K, Vec16, stream>(source, target + j * K * W, rows, j * W, ahead);
        return j;
    }
    constexpr Int E = 16 / W;
    for (; j + E <= count; j += E, target += K * 16) {
        Vec16 x[K];
#pragma GCC unroll 8
        for (int k = 0; k < K; ++k) {
            const Byte *from = source + rows[k] + j * W;
            if (ahead && (j / E) % 4 == 0) prefetch(from + ahead);
            x[k] = Vec16::load(from);
        }
#pragma GCC unroll 8
        for (int o = 0; o < K; ++o) {
            Vec16 y = lookup(x[0], Vec16::load(indices<W, K>.woven[o][0]));
#pragma GCC unroll 8
            for (int k = 1; k < K; ++k) y = either(y, lookup(x[k], Vec16::load(indices<W, K>.woven[o][k])));
            put<Vec16, stream>(y, target + o * 16);
        }
    }
    return j;
}

// Brings the bytes of one of K ways together, within a vector.
template <int W, int K> struct Grouping {
    alignas(16) Byte index[16];
    constexpr Grouping() : index{} {
        constexpr int per_way = 16 / W / K;
        for (int b = 0; b < 16; ++b) {
            const int e = b / W;
            index[b] = Byte((e % per_way * K + e / per_way) * W + b % W);
        }
    }
};

template <int W, int K> constexpr Grouping<W, K> grouping{};

template <int W, int K, bool stream>
Int unweave_ways(const Byte *source, Byte *target, const Int *rows, int used, Int count, Int ahead) {
    constexpr Int E = 16 / W;
    Int j = 0;
    // What is not used behind the last element may be no memory.
    const Int last = used < K ? count - 1 : count;
    for (; j + E <= last; j += E, source += K * 16) {
        Vec16 x[K];
#pragma GCC unroll 8
        for (int o = 0; o < K; ++o) x[o] = Vec16::load(source + o * 16);
        if (ahead)
            for (int o = 0; o < K; o += 4) prefetch(source + o * 16 + ahead);
        if constexpr ((K == 2 || K == 4 || K == 8) && K * W <= 16) {
            constexpr int G = 16 / K;
            if constexpr (G > W) {
#pragma GCC unroll 8
                for (int o = 0; o < K; ++o) x[o] = lookup(x[o], Vec16::load(grouping<W, K>.index));
            }
            shuffle<G>(x);
            if constexpr (K > 2) shuffle<G>(x);
            if constexpr (K > 4) shuffle<G>(x);
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k)
                if (k < used) put<Vec16, stream>(x[k], target + rows[k] + j * W);
        } else {
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k) {
                if (k >= used) break;
                Vec16 y = lookup(x[0], Vec16::load(indices<W, K>.unwoven[k][0]));
#pragma GCC unroll 8
                for (int o = 1; o < K; ++o) y = either(y, lookup(x[o], Vec16::load(indices<W, K>.unwoven[k][o])));
                put<Vec16, stream>(y, target + rows[k] + j * W);
            }
        }
    }
    return j;
}

template <int W, int K, bool stream>
void weave_all(const Byte *s, Byte *t, const Int *rows, Int count, const Repeat &repeat, Int ahead) {
    // So many elements of each row, at least a vector, fill whole lines; K * W has a power of 2 in it.
    constexpr Int whole = line / (K * W & -(K * W));
    constexpr Int E = whole * W < 16 ? 16 / W : whole;
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target;
    // Whole lines only: short rows have no time for what follows.
    if (count % E == 0 && (reinterpret_cast<std::uintptr_t>(t) | std::uintptr_t(ts)) % line == 0) {
        for (Int r = 0; r < times; ++r, s += ss, t += ts) weave_ways<W, K, stream>(s, t, rows, count, ahead);
        return;
    }
    for (Int r = 0; r < times; ++r, s += ss, t += ts) {
        Int done = 0;
        if constexpr (stream) {
            // From the first element at the start of a line on, whole lines go around the cache.
            Int first = 0;
            while (first < line && reinterpret_cast<std::uintptr_t>(t + first * K * W) % line) ++first;
            if (first < line && first + E <= count) {
                weave_plainly<W>(s, t, rows, K, 0, first);
                done = first + (count - first) / E * E;
                weave_ways<W, K, true>(s + first * W, t + first * K * W, rows, done - first, ahead);
            }
        }
        const Byte *from = s + done * W;
        Byte *to = t + done * K * W;
        const Int more = weave_ways<W, K, false>(from, to, rows, count - done, ahead);
        weave_plainly<W>(from, to, rows, K, more, count - done);
    }
}

// Around the cache, where rows lie a page apart or are many, a line of each is put together first: parts of such lines do
// not wait side by side.
template <int W, int K>
Int unweave_lines(const Byte *s, Byte *t, const Int *rows, int used, Int count, Int ahead) {
    constexpr Int E = line / W;
    alignas(64) Byte buffer[K * line];
    Int places[K];
    for (int k = 0; k < K; ++k) places[k] = k * line;
    Int j = 0;
    for (; j + E < count; j += E) {
        // One more element is there, so that nothing behind the last is read.
        unweave_ways<W, K, false>(s + j * K * W, buffer, places, used, E + 1, ahead);
        for (int k = 0; k < used; ++k) Vec64::load(buffer + k * line).stream(t + rows[k] + j * W);
    }
    return j;
}

// The same where a line is made of several repetitions.
template <int W, int K>
void unweave_joined(const Byte *s, Byte *t, const Int *rows, Int count, Int per_line, const Repeat &repeat, Int ahead) {
    alignas(64) Byte buffer[K * line];
    Int places[K];
    for (int k = 0; k < K; ++k) places[k] = k * line;
    const Int times = repeat.count, ss = repeat.source;
    for (Int r = 0; r < times; r += per_line, t += line) {
        for (Int q = 0; q < per_line; ++q, s += ss)
            unweave_ways<W, K, false>(s, buffer + q * count * W, places, K, count, ahead);
        for (int k = 0; k < K; ++k) Vec64::load(buffer + k * line).stream(t + rows[k]);
    }
}

template <int W, int K, bool stream>
void unweave_all(const Byte *s, Byte *t, const Int *rows, int used, Int count, const Repeat &repeat, Int ahead) {
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target, bytes = count * W;
    const bool apart = stream && used > 1 && (used > 4 || (rows[1] - rows[0]) % 4096 == 0);
    if (apart && used == K && bytes % 16 == 0 && bytes < line && ts == bytes && times * bytes % line == 0)
        return unweave_joined<W, K>(s, t, rows, count, line / bytes, repeat, ahead);
    const bool lines = apart && bytes % line == 0;
    for (Int r = 0; r < times; ++r, s += ss, t += ts) {
        const Int done = lines ? unweave_lines<W, K>(s, t, rows, used, count, ahead) : 0;
        const Byte *from = s + done * K * W;
        Byte *to = t + done * W;
        const Int more = unweave_ways<W, K, stream>(from, to, rows, used, count - done, ahead);
        unweave_plainly<W>(from, to, rows, K, used, more, count - done);
    }
}

template <int W, bool stream>
void weave_any(const Byte *s, Byte *t, const Int *rows, int ways, Int count, const Repeat &repeat, Int ahead) {
    switch (ways) {
        case 2: return weave_all<W, 2, stream>(s, t, rows, count, repeat, ahead);
        case 3: return weave_all<W, 3, stream>(s, t, rows, count, repeat, ahead);
        case 4: return weave_all<W, 4, stream>(s, t, rows, count, repeat, ahead);
        case 5: return weave_all<W, 5, stream>(s, t, rows, count, repeat, ahead);
        case 6: return weave_all<W, 6, stream>(s, t, rows, count, repeat, ahead);
        case 7: return weave_all<W, 7, stream>(s, t, rows, count, repeat, ahead);
        default: return weave_all<W, 8, stream>(s, t, rows, count, repeat, ahead);
    }
}

template <int W, bool stream>
void unweave_any(const Byte *s, Byte *t, const Int *rows, int ways, int used, Int count, const Repeat &repeat,
                 Int ahead) {
    switch (ways) {
        case 2: return unweave_all<W, 2, stream>(s, t, rows, used, count, repeat, ahead);
        case 3: return unweave_all<W, 3, stream>(s, t, rows, used, count, repeat, ahead);
        case 4: return unweave_all<W, 4, stream>(s, t, rows, used, count, repeat, ahead);
        case 5: return unweave_all<W, 5, stream>(s, t, rows, used, count, repeat, ahead);
        case 6: return unweave_all<W, 6, stream>(s, t, rows, used, count, repeat, ahead);
        case 7: return unweave_all<W, 7, stream>(s, t, rows, used, count, repeat, ahead);
        default: return unweave_all<W, 8, stream>(s, t, rows, used, count, repeat, ahead);
    }
}

#endif

template <int W>
void weave(const Byte *s, Byte *t, const Int *rows, int ways, Int count, const Repeat &repeat,
           [[maybe_unused]] bool stream, [[maybe_unused]] Int ahead) {
#if defined(RELAYOUT_HAS_LOOKUP)
    if (stream)
        weave_any<W, true>(s, t, rows, ways, count, repeat, ahead);
    else
        weave_any<W, false>(s, t, rows, ways, count, repeat, ahead);
#else
    for (Int r = 0; r < repeat.count; ++r)
        weave_plainly<W>(s + r * repeat.source, t + r * repeat.target, rows, ways, 0, count);
#endif
}

template <int W>
void unweave(const Byte *s, Byte *t, const Int *rows, int ways, int used, Int count, const Repeat &repeat,
             [[maybe_unused]] bool stream, [[maybe_unused]] Int ahead) {
#if defined(RELAYOUT_HAS_LOOKUP)
    if (stream)
        unweave_any<W, true>(s, t, rows, ways, used, count, repeat, ahead);
    else
        unweave_any<W, false>(s, t, rows, ways, used, count, repeat, ahead);
#else
    for (Int r = 0; r < repeat.count; ++r)
        unweave_plainly<W>(s + r * repeat.source, t + r * repeat.target, rows, ways, used, 0, count);
#endif
}

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
