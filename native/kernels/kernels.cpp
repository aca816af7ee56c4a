#include "kernels/kernels.h"

#include "kernels/block_transposes.h"
#include "kernels/deinterleaves.h"
#include "kernels/interleaves.h"
#include "kernels/runs.h"
#include "kernels/shifted_transposes.h"
#include "kernels/transposes.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

template <int W> void scatter(const Byte *source, Byte *target, const Repeat &strip, const Repeat &repeat) {
    const Int times = repeat.count, count = strip.count, ss = strip.source, ts = strip.target;
    for (Int i = 0; i < times; ++i) {
        const Byte *s = source + i * repeat.source;
        Byte *t = target + i * repeat.target;
        for (Int j = 0; j < count; ++j, s += ss, t += ts) std::memcpy(t, s, W);
    }
}

void fill(Byte *d, Int length, const Byte *pattern) {
    if (length < 16) return copy(pattern, d, length);
    const Vec64 line = Vec64::load(pattern);
    const Vec16 x = Vec16::load(pattern);
    Int k = 0;
    for (; k + 64 <= length; k += 64) line.store(d + k);
    for (; k + 16 <= length; k += 16) x.store(d + k);
    Vec16::load(pattern + length % 16).store(d + length - 16);
}

void prefetch_for_write(Byte *target, Int length) {
    for (Int k = 0; k < length; k += cache_line) __builtin_prefetch(target + k, 1, 2);
}

}  // namespace

extern const Kernels kernel_table;
const Kernels kernel_table = {
    has_nontemporal_stores,
    runs,
    padded_runs_or_none,
    {transpose<1>, transpose<2>, transpose<4>, transpose<8>, transpose<16>},
    {block_transpose<1>, block_transpose<2>, block_transpose<4>, block_transpose<8>, block_transpose<16>},
    WidestVec::bytes == 64,
#if defined(__AVX512BW__)
    {nullptr, nullptr, shifted_transpose<4>, shifted_transpose<8>, shifted_transpose<16>},
#else
    {},
#endif
    {nullptr, interleave<2>, interleave<4>, interleave<8>},
    {nullptr, deinterleave<2>, deinterleave<4>, deinterleave<8>},
    {has_permutes<1>, has_permutes<2>, has_permutes<4>, has_permutes<8>},
#if defined(__AVX512BW__)
    {nullptr, shifted_deinterleave<2>, shifted_deinterleave<4>, shifted_deinterleave<8>},
#else
    {},
#endif
    {scatter<1>, scatter<2>, scatter<4>, scatter<8>, scatter<16>},
    collect,
    copy_nontemporal,
    fill,
    prefetch_for_write,
    store_fence};

}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
