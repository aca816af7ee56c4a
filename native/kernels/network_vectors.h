#pragma once

// The vectors of networks: one or two lanes of 16 bytes, and cache lines. `pick` takes bytes of two vectors; `exchange`
// swaps the upper fields of one with the lower fields of the other.

#include "kernels/vectors.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

#if defined(__SSSE3__)

inline __m128i load16(const Byte *p) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p)); }
inline void store16(Byte *p, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i *>(p), x); }

struct Lane {
    static constexpr int bytes = 16;
    __m128i v;

    static Lane load(const Byte *p, Int) { return {load16(p)}; }
    void store(Byte *p, Int) const { store16(p, v); }
    void store_nontemporal(Byte *p, Int) const { store16(p, v); }

    // Places from 16 on, those of the second vector, give 0 in the first shuffle, and the others in the second.
    struct Places {
        __m128i first, second;
    };
    static Places places(const Byte *p) {
        const __m128i given = load16(p), above = _mm_set1_epi8(0x70);
        return {_mm_add_epi8(given, above), _mm_add_epi8(_mm_xor_si128(given, _mm_set1_epi8(16)), above)};
    }
    static Lane pick(Lane a, Lane b, Places p) {
        return {_mm_or_si128(_mm_shuffle_epi8(a.v, p.first), _mm_shuffle_epi8(b.v, p.second))};
    }

    struct Fields {
        __m128i low, shift;
    };
    static Fields fields(int shift) {
        return {_mm_set1_epi8(char(shift == 4 ? 0x0F : shift == 2 ? 0x33 : 0x55)), _mm_cvtsi32_si128(shift)};
    }
    static void exchange(Lane &a, Lane &b, Fields f) {
        const __m128i moved = _mm_and_si128(_mm_xor_si128(_mm_srl_epi16(a.v, f.shift), b.v), f.low);
        a.v = _mm_xor_si128(a.v, _mm_sll_epi16(moved, f.shift));
        b.v = _mm_xor_si128(b.v, moved);
    }
};

#elif defined(__ARM_NEON) && defined(__aarch64__)

struct Lane {
    static constexpr int bytes = 16;
    uint8x16_t v;

    static Lane load(const Byte *p, Int) { return {vld1q_u8(p)}; }
    void store(Byte *p, Int) const { vst1q_u8(p, v); }
    void store_nontemporal(Byte *p, Int) const { vst1q_u8(p, v); }

    using Places = uint8x16_t;
    static Places places(const Byte *p) { return vld1q_u8(p); }
    static Lane pick(Lane a, Lane b, Places p) { return {vqtbl2q_u8(uint8x16x2_t{{a.v, b.v}}, p)}; }

    struct Fields {
        uint8x16_t low;
        int8x16_t up, down;
    };
    static Fields fields(int shift) {
        return {vdupq_n_u8(shift == 4   ? 0x0F
                           : shift == 2 ? 0x33
                                        : 0x55),
                vdupq_n_s8(std::int8_t(shift)), vdupq_n_s8(std::int8_t(-shift))};
    }
    static void exchange(Lane &a, Lane &b, Fields f) {
        const uint8x16_t moved = vandq_u8(veorq_u8(vshlq_u8(a.v, f.down), b.v), f.low);
        a.v = veorq_u8(a.v, vshlq_u8(moved, f.up));
        b.v = veorq_u8(b.v, moved);
    }
};

#endif

#if defined(__AVX2__)

struct Lanes {
    static constexpr int bytes = 16;
    __m256i v;

    static Lanes load(const Byte *p, Int lane) {
        if (lane == 16) return {_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p))};
        return {_mm256_inserti128_si256(_mm256_castsi128_si256(load16(p)), load16(p + lane), 1)};
    }
    void store(Byte *p, Int lane) const {
        if (lane == 16) return _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), v);
        store16(p, _mm256_castsi256_si128(v));
        store16(p + lane, _mm256_extracti128_si256(v, 1));
    }
    void store_nontemporal(Byte *p, Int lane) const { store(p, lane); }

    struct Places {
        __m256i first, second;
    };
    static Places places(const Byte *p) {
        const Lane::Places one = Lane::places(p);
        return {_mm256_broadcastsi128_si256(one.first), _mm256_broadcastsi128_si256(one.second)};
    }
    static Lanes pick(Lanes a, Lanes b, Places p) {
        return {_mm256_or_si256(_mm256_shuffle_epi8(a.v, p.first), _mm256_shuffle_epi8(b.v, p.second))};
    }

    struct Fields {
        __m256i low;
        __m128i shift;
    };
    static Fields fields(int shift) {
        const Lane::Fields one = Lane::fields(shift);
        return {_mm256_broadcastsi128_si256(one.low), one.shift};
    }
    static void exchange(Lanes &a, Lanes &b, Fields f) {
        const __m256i moved = _mm256_and_si256(_mm256_xor_si256(_mm256_srl_epi16(a.v, f.shift), b.v), f.low);
        a.v = _mm256_xor_si256(a.v, _mm256_sll_epi16(moved, f.shift));
        b.v = _mm256_xor_si256(b.v, moved);
    }
};

#endif

#if defined(__AVX512VBMI__)

struct Line {
    static constexpr int bytes = 64;
    __m512i v;

    static Line load(const Byte *p, Int) { return {_mm512_loadu_si512(p)}; }
    void store(Byte *p, Int) const { _mm512_storeu_si512(p, v); }
    void store_nontemporal(Byte *p, Int) const { _mm512_stream_si512(reinterpret_cast<__m512i *>(p), v); }

    using Places = __m512i;
    static Places places(const Byte *p) { return _mm512_loadu_si512(p); }
    static Line pick(Line a, Line b, Places p) { return {_mm512_permutex2var_epi8(a.v, p, b.v)}; }

    struct Fields {
        __m512i low;
        __m128i shift;
    };
    static Fields fields(int shift) {
        const Lane::Fields one = Lane::fields(shift);
        return {_mm512_broadcast_i32x4(one.low), one.shift};
    }
    static void exchange(Line &a, Line &b, Fields f) {
        constexpr int first_where_low = 0xE4;  // of (x, y, low): x where low, else y
        const __m512i up = _mm512_sll_epi16(b.v, f.shift), down = _mm512_srl_epi16(a.v, f.shift);
        a.v = _mm512_ternarylogic_epi32(a.v, up, f.low, first_where_low);
        b.v = _mm512_ternarylogic_epi32(down, b.v, f.low, first_where_low);
    }
};

#endif

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
