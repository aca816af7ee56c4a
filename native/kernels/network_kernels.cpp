#include "kernels/network_kernels.h"

#include "kernels/network_vectors.h"

// Compiled once for every instruction set.
namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

// The pairs of vectors that differ in an axis; everything is unrolled, so that they stay in registers.
template <typename V, int axes, int axis>
__attribute__((always_inline)) inline void do_round(V (&x)[1 << axes], const NetworkRound &round, const Byte *places) {
    if (round.shift) {
        const typename V::Fields fields = V::fields(round.shift);
#pragma GCC unroll 16
        for (int k = 0; k < 1 << axes; ++k)
            if (!(k >> axis & 1)) V::exchange(x[k], x[k | 1 << axis], fields);
    } else {
        const typename V::Places first = V::places(places), second = V::places(places + V::bytes);
#pragma GCC unroll 16
        for (int k = 0; k < 1 << axes; ++k)
            if (!(k >> axis & 1)) {
                const V a = x[k], b = x[k | 1 << axis];
                x[k] = V::pick(a, b, first);
                x[k | 1 << axis] = V::pick(a, b, second);
            }
    }
}

template <typename V, int axes, bool nontemporal>
void do_groups(const Byte *source, Byte *target, const NetworkStage &stage, const Byte *next) {
    constexpr int count = 1 << axes;
    const Int *from = stage.from, *to = stage.to;
    const NetworkRound *const begin = stage.round, *const end = begin + stage.rounds;
    for (Int group = 0; group < stage.groups; ++group, from += count, to += count) {
        V x[count];
#pragma GCC unroll 16
        for (int k = 0; k < count; ++k) x[k] = V::load(source + from[k], stage.source_lane);
        if (next)
#pragma GCC unroll 16
            for (int k = 0; k < count; ++k)
                if (V::bytes == cache_line || from[k] % cache_line == 0) prefetch(next + from[k]);
        for (const NetworkRound *round = begin; round != end; ++round) {
            const Byte *places = stage.places + round->places;
            if constexpr (axes > 0)
                if (round->axis == 0) do_round<V, axes, 0>(x, *round, places);
            if constexpr (axes > 1)
                if (round->axis == 1) do_round<V, axes, 1>(x, *round, places);
            if constexpr (axes > 2)
                if (round->axis == 2) do_round<V, axes, 2>(x, *round, places);
            if constexpr (axes > 3)
                if (round->axis == 3) do_round<V, axes, 3>(x, *round, places);
        }
#pragma GCC unroll 16
        for (int k = 0; k < count; ++k) {
            if constexpr (nontemporal)
                x[k].store_nontemporal(target + to[k], stage.target_lane);
            else
                x[k].store(target + to[k], stage.target_lane);
        }
    }
}

template <typename V>
void run_stage(const Byte *source, Byte *target, const NetworkStage &stage, bool nontemporal, const Byte *next) {
    using Groups = void (*)(const Byte *, Byte *, const NetworkStage &, const Byte *);
    static constexpr Groups groups[2][max_stage_axes + 1] = {
        {do_groups<V, 0, false>, do_groups<V, 1, false>, do_groups<V, 2, false>, do_groups<V, 3, false>,
         do_groups<V, 4, false>},
        {do_groups<V, 0, true>, do_groups<V, 1, true>, do_groups<V, 2, true>, do_groups<V, 3, true>,
         do_groups<V, 4, true>}};
    groups[nontemporal][stage.axes](source, target, stage, next);
}

}  // namespace

extern const NetworkKernels network_table;
const NetworkKernels network_table = {
#if defined(__SSSE3__) || (defined(__ARM_NEON) && defined(__aarch64__))
    run_stage<Lane>,
#else
    nullptr,
#endif
#if defined(__AVX2__)
    run_stage<Lanes>,
#else
    nullptr,
#endif
#if defined(__AVX512VBMI__)
    run_stage<Line>,
#else
    nullptr,
#endif
};

}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
