#include "kernels/gather_kernels.h"

#include "kernels/vectors.h"

// Compiled once for every instruction set.
namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

#if defined(__AVX512VBMI__)

inline __m512i load_window(const Byte *p, bool narrow) {
    if (!narrow) return _mm512_loadu_si512(p);
    return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
}

template <bool narrow>
inline __m512i pick(const Byte *source, __m512i rest, __m512i places, const GatherWindow *window, Int count) {
    __m512i x = rest;
    for (const GatherWindow *const end = window + count; window != end; ++window)
        x = _mm512_mask_permutexvar_epi8(x, window->picked, places, load_window(source + window->source, narrow));
    return x;
}

template <bool nontemporal>
void gather_tiles(const Byte *source, Byte *target, const GatherTables &tables, bool staged, const Byte *fill,
                  const Repeat &repeat, Int ahead) {
    const GatherTables t = tables;
    const Int times = repeat.count, source_step = repeat.source, target_step = repeat.target;
    const __m512i rest = _mm512_loadu_si512(fill);
    for (Int r = 0; r < times; ++r, source += source_step, target += target_step) {
        const GatherWindow *window = t.windows;
        Int line = 0;
        for (Int k = 0; k < t.count; ++k) {
            const GatherVector &vector = t.vectors[k];
            const __m512i places = _mm512_load_si512(t.places[k].of);
            const __m512i x = vector.narrow ? pick<true>(source, rest, places, window, vector.windows)
                                            : pick<false>(source, rest, places, window, vector.windows);
            window += vector.windows;
            Byte *const to = target + (staged ? vector.staged : vector.target);
            if constexpr (nontemporal)
                _mm512_stream_si512(reinterpret_cast<__m512i *>(to), x);
            else if (vector.stored == ~ByteMask(0))
                _mm512_storeu_si512(to, x);
            else
                _mm512_mask_storeu_epi8(to, vector.stored, x);
            if (ahead)
                for (const Int end = t.line_count * (k + 1) / t.count; line < end; ++line)
                    prefetch(source + t.lines[line] + ahead);
        }
    }
}

void gather(const Byte *source, Byte *target, const GatherTables &tables, bool staged, const Byte *fill,
            const Repeat &repeat, bool nontemporal, Int ahead) {
    if (nontemporal)
        gather_tiles<true>(source, target, tables, staged, fill, repeat, ahead);
    else
        gather_tiles<false>(source, target, tables, staged, fill, repeat, ahead);
}

#endif

}  // namespace

extern const GatherKernels gather_table;
const GatherKernels gather_table = {
#if defined(__AVX512VBMI__)
    gather,
#else
    nullptr,
#endif
};

}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
