#include "kernels/gather_kernels.h"

#include "kernels/runs.h"
#include "kernels/widened_transposes.h"

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

inline Vec16 permuted(Vec16 a, Vec16 places, Vec16 b) { return {_mm_permutex2var_epi8(a.v, places.v, b.v)}; }
inline Vec32 permuted(Vec32 a, Vec32 places, Vec32 b) { return {_mm256_permutex2var_epi8(a.v, places.v, b.v)}; }
inline Vec64 permuted(Vec64 a, Vec64 places, Vec64 b) { return Vec64::pick<1>(a, places, b); }

inline void store_halves(Vec16 x, Byte *low, Byte *high) {
    _mm_storel_epi64(reinterpret_cast<__m128i *>(low), x.v);
    _mm_storeh_pd(reinterpret_cast<double *>(high), _mm_castsi128_pd(x.v));
}
inline void store_halves(Vec32 x, Byte *low, Byte *high) {
    Vec16{_mm256_castsi256_si128(x.v)}.store(low);
    Vec16{_mm256_extracti128_si256(x.v, 1)}.store(high);
}
inline void store_halves(Vec64 x, Byte *low, Byte *high) {
    Vec32{_mm512_castsi512_si256(x.v)}.store(low);
    Vec32{_mm512_extracti64x4_epi64(x.v, 1)}.store(high);
}

// Blocks that one or two vectors hold.
template <typename V, bool nontemporal>
void permute_pairs(const Byte *s, Byte *d, const Repeat &strip, Int read, Int written, const BlockPlaces &places,
                   const Repeat &repeat, Int ahead) {
    const V first = V::load(places.of[0]), second = V::load(places.of[1]);
    const Int last = read - V::bytes, end = written - V::bytes;
    const auto each = [&](auto store) {
        each_run(s, d, strip, repeat, ahead,
                 [=](const Byte *from, Byte *to) { store(V::load(from), V::load(from + last), to); });
    };
    if (end > 0)
        each([=](V a, V b, Byte *to) {
            store_as<V, nontemporal>(permuted(a, first, b), to);
            store_as<V, nontemporal>(permuted(a, second, b), to + end);
        });
    else if (end == 0)
        each([=](V a, V b, Byte *to) { store_as<V, nontemporal>(permuted(a, first, b), to); });
    else
        each([=](V a, V b, Byte *to) { store_halves(permuted(a, first, b), to, to + end + V::bytes / 2); });
}

// Blocks that so many vectors are written of.
template <int count, bool nontemporal>
void permute_fours(const Byte *s, Byte *d, const Repeat &strip, Int read, Int written, const BlockPlaces &places,
                   const Repeat &repeat, Int ahead) {
    const Int third = read - 64 < 128 ? read - 64 : 128, last = read - 64, end = written - 64;
    Vec64 of[count];
    ByteMask behind[count];
    for (int k = 0; k < count; ++k) {
        of[k] = Vec64::load(places.of[k]);
        behind[k] = places.behind[k];
    }
    each_run(s, d, strip, repeat, ahead, [&](const Byte *from, Byte *to) {
        const Vec64 a = Vec64::load(from), b = Vec64::load(from + 64);
        const Vec64 c = Vec64::load(from + third), e = Vec64::load(from + last);
#pragma GCC unroll 4
        for (int k = 0; k < count; ++k) {
            const Vec64 x = permuted(a, of[k], b), y = permuted(c, of[k], e);
            store_as<Vec64, nontemporal>(Vec64{_mm512_mask_mov_epi8(x.v, behind[k], y.v)},
                                         to + (k + 1 < count ? Int(k) * 64 : end));
        }
    });
}

template <bool nontemporal>
void permute_by(const Byte *s, Byte *d, const Repeat &strip, Int read, Int written, const BlockPlaces &places,
                const Repeat &repeat, Int ahead) {
    const auto permute = [&](auto kernel) { kernel(s, d, strip, read, written, places, repeat, ahead); };
    if (read > 128 && written > 192) return permute(permute_fours<4, nontemporal>);
    if (read > 128 && written > 128) return permute(permute_fours<3, nontemporal>);
    if (read > 128) return permute(permute_fours<2, nontemporal>);
    if (read >= 64) return permute(permute_pairs<Vec64, nontemporal>);
    if (read >= 32) return permute(permute_pairs<Vec32, false>);
    permute(permute_pairs<Vec16, false>);
}

void permute(const Byte *s, Byte *d, const Repeat &strip, Int read, Int written, const BlockPlaces &places,
             const Repeat &repeat, bool nontemporal, Int ahead) {
    if (nontemporal)
        permute_by<true>(s, d, strip, read, written, places, repeat, ahead);
    else
        permute_by<false>(s, d, strip, read, written, places, repeat, ahead);
}

#endif

}  // namespace

extern const GatherKernels gather_table;
const GatherKernels gather_table = {
#if defined(__AVX512VBMI__)
    gather,
    permute,
    widened_transpose,
#else
    nullptr,
    nullptr,
    nullptr,
#endif
};

}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
