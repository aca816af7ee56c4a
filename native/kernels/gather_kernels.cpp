#include "kernels/gather_kernels.h"

#include "kernels/vectors.h"

// Compiled once for every instruction set.
namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

#if defined(__AVX512VBMI__)

template <int parts> inline __m512i load_window(const Byte *source, const Int *at) {
    if constexpr (parts == 1) return _mm512_loadu_si512(source + at[0]);
    const auto half = [=](int k) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(source + at[k])); };
    if constexpr (parts == 2) return _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
    const auto quarter = [=](int k) { return Vec16::load(source + at[k]).v; };
    if constexpr (parts == 4) {
        const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(0)), quarter(1), 1);
        const __m512i wide = _mm512_mask_broadcast_i32x4(_mm512_castsi256_si512(low), 0x0F00, quarter(2));
        return _mm512_mask_broadcast_i32x4(wide, 0xF000, quarter(3));
    }
}

// Where a kernel is in the tables of a tile.
struct GatherCursor {
    const GatherVector *vector;
    const GatherPlaces *places;
    const ByteMask *picked;
    const Int *sources;
    Int done, line;
};

// A group of vectors of `known` windows each, or of as many as the group says if that is 0.
template <int known, int parts, bool nontemporal>
void gather_group(const Byte *source, Byte *target, const GatherTables &tables, const GatherGroup &group, bool staged,
                  __m512i rest, Int ahead, GatherCursor &cursor) {
    GatherCursor at = cursor;
    const Int windows = known ? known : group.windows;
    for (const GatherVector *const end = at.vector + group.vectors; at.vector != end; ++at.vector, ++at.places) {
        const __m512i places = _mm512_load_si512(at.places->of);
        __m512i x = rest;
#pragma GCC unroll 8
        for (Int k = 0; k < windows; ++k)
            x = _mm512_mask_permutexvar_epi8(x, at.picked[k], places,
                                             load_window<parts>(source, at.sources + k * parts));
        at.picked += windows;
        at.sources += windows * parts;
        Byte *const to = target + (staged ? at.vector->staged : at.vector->target);
        if constexpr (nontemporal)
            _mm512_stream_si512(reinterpret_cast<__m512i *>(to), x);
        else
            _mm512_mask_storeu_epi8(to, at.vector->stored, x);
        ++at.done;
        if (ahead)
            for (const Int last = tables.line_count * at.done / tables.count; at.line < last; ++at.line)
                prefetch(source + tables.lines[at.line] + ahead);
    }
    cursor = at;
}

template <int parts, bool nontemporal>
void gather_any(const Byte *source, Byte *target, const GatherTables &tables, const GatherGroup &group, bool staged,
                __m512i rest, Int ahead, GatherCursor &cursor) {
    const auto gather = [&](auto kernel) { kernel(source, target, tables, group, staged, rest, ahead, cursor); };
    switch (group.windows) {
        case 1: return gather(gather_group<1, parts, nontemporal>);
        case 2: return gather(gather_group<2, parts, nontemporal>);
        case 3: return gather(gather_group<3, parts, nontemporal>);
        case 4: return gather(gather_group<4, parts, nontemporal>);
        default: return gather(gather_group<0, parts, nontemporal>);
    }
}

template <bool nontemporal>
void gather_tiles(const Byte *source, Byte *target, const GatherTables &tables, bool staged, const Byte *fill,
                  const Repeat &repeat, Int ahead) {
    const __m512i rest = _mm512_loadu_si512(fill);
    for (Int r = 0; r < repeat.count; ++r, source += repeat.source, target += repeat.target) {
        GatherCursor cursor{tables.vectors, tables.places, tables.picked, tables.sources, 0, 0};
        for (Int k = 0; k < tables.group_count; ++k) {
            const GatherGroup &group = tables.groups[k];
            if (group.parts == 1)
                gather_any<1, nontemporal>(source, target, tables, group, staged, rest, ahead, cursor);
            else if (group.parts == 2)
                gather_any<2, nontemporal>(source, target, tables, group, staged, rest, ahead, cursor);
            else
                gather_any<4, nontemporal>(source, target, tables, group, staged, rest, ahead, cursor);
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
