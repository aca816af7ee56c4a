#pragma once

// Interleaving K vectors, and parting them again, by permutes of whole vectors. Part of kernels.cpp.

#include "kernels/runs.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

// Whether elements of W bytes of two vectors change places in one instruction.
#if defined(__AVX512VBMI__)
template <int W> constexpr bool has_permutes = true;
#elif defined(__AVX512BW__)
template <int W> constexpr bool has_permutes = W > 1;
#else
template <int W> constexpr bool has_permutes = false;
#endif

template <int K> struct Ways {
    static constexpr int count = K;
};

// Calls use(Ways<K>) for K ways: 2 to 8, and of single bytes to 15 where they are permuted.
template <int W, typename Use> inline void with_ways(int ways, const Use &use) {
    if constexpr (W == 1 && has_permutes<1>) {
        if (ways == 9) return use(Ways<9>{});
        if (ways == 10) return use(Ways<10>{});
        if (ways == 11) return use(Ways<11>{});
        if (ways == 12) return use(Ways<12>{});
        if (ways == 13) return use(Ways<13>{});
        if (ways == 14) return use(Ways<14>{});
        if (ways == 15) return use(Ways<15>{});
    }
    switch (ways) {
        case 2: return use(Ways<2>{});
        case 3: return use(Ways<3>{});
        case 4: return use(Ways<4>{});
        case 5: return use(Ways<5>{});
        case 6: return use(Ways<6>{});
        case 7: return use(Ways<7>{});
        default: return use(Ways<8>{});
    }
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define RELAYOUT_HAS_PERMUTES

// Where the elements of a vector come from, of K that are interleaved or parted: `at` names each in its pair of
// vectors, `in` has a bit for each that is of that pair.
template <int W, int K> struct WayIndices {
    static constexpr int N = 64 / W;
    struct Vector {
        ElementIndex<W> at[N];
        std::uint64_t in[8];
    };
    alignas(64) Vector woven[K], parted[K];

    constexpr WayIndices() : woven{}, parted{} {
        for (int o = 0; o < K; ++o)
            for (int j = 0; j < N; ++j) {
                const int to = o * N + j, from = j * K + o;
                set(woven[o], j, to % K, to / K);
                set(parted[o], j, from / N, from % N);
            }
    }

    static constexpr void set(Vector &vector, int j, int source, int element) {
        vector.at[j] = ElementIndex<W>(source % 2 * N + element);
        vector.in[source / 2] |= std::uint64_t(1) << j;
    }
};

template <int W, int K> constexpr WayIndices<W, K> way_indices{};

// The elements that are named, of K vectors.
template <int W, int K>
[[gnu::always_inline]] inline Vec64 pick_ways(const Vec64 (&x)[K], const typename WayIndices<W, K>::Vector &from) {
    const Vec64 at = Vec64::load(reinterpret_cast<const Byte *>(from.at));
    Vec64 y = Vec64::pick<W>(x[0], at, x[1]);
#pragma GCC unroll 8
    for (int k = 2; k < K; k += 2)
        if (k + 1 < K)
            y = Vec64::blend<W>(y, from.in[k / 2], Vec64::pick<W>(x[k], at, x[k + 1 < K ? k + 1 : k]));
        else
            y = Vec64::merge<W>(y, from.in[k / 2], x[k], at);
    return y;
}

// The o-th vector of K ones whose elements take turns.
template <int W, int K> [[gnu::always_inline]] inline Vec64 woven(const Vec64 (&x)[K], int o) {
    return pick_ways<W>(x, way_indices<W, K>.woven[o]);
}

// The elements of way k out of K vectors of interleaved ones.
template <int W, int K> [[gnu::always_inline]] inline Vec64 parted(const Vec64 (&x)[K], int k) {
    return pick_ways<W>(x, way_indices<W, K>.parted[k]);
}

#endif

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
