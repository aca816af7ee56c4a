#pragma once

// Vectors as lanes of 16 bytes: loading lanes from different rows, and zipping two vectors lane by lane. With these two
// operations a block of rows is transposed on every machine in the same way.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/bytes.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace relayout {
namespace {

#if defined(__SSE2__)

struct Vec16 {
    static constexpr int bytes = 16;
    __m128i v;

    static Vec16 load(const Byte *p) { return {_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))}; }
    static Vec16 load_half(const Byte *p) { return {_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p))}; }
    void store(Byte *p) const { _mm_storeu_si128(reinterpret_cast<__m128i *>(p), v); }
    void store_nontemporal(Byte *p) const { _mm_stream_si128(reinterpret_cast<__m128i *>(p), v); }
    static Vec16 load_lanes(const Byte *const *rows, int, Int at) { return load(rows[0] + at); }
    static void swap_lanes(Vec16 (&)[1]) {}

    template <int W> static Vec16 zip_low(Vec16 a, Vec16 b) {
        if constexpr (W == 1) return {_mm_unpacklo_epi8(a.v, b.v)};
        if constexpr (W == 2) return {_mm_unpacklo_epi16(a.v, b.v)};
        if constexpr (W == 4) return {_mm_unpacklo_epi32(a.v, b.v)};
        if constexpr (W == 8) return {_mm_unpacklo_epi64(a.v, b.v)};
    }
    template <int W> static Vec16 zip_high(Vec16 a, Vec16 b) {
        if constexpr (W == 1) return {_mm_unpackhi_epi8(a.v, b.v)};
        if constexpr (W == 2) return {_mm_unpackhi_epi16(a.v, b.v)};
        if constexpr (W == 4) return {_mm_unpackhi_epi32(a.v, b.v)};
        if constexpr (W == 8) return {_mm_unpackhi_epi64(a.v, b.v)};
    }
};

constexpr bool has_nontemporal_stores = true;
inline void store_fence() { _mm_sfence(); }
inline void prefetch(const Byte *p) { _mm_prefetch(reinterpret_cast<const char *>(p), _MM_HINT_T1); }

#elif defined(__ARM_NEON)

struct Vec16 {
    static constexpr int bytes = 16;
    uint8x16_t v;

    static Vec16 load(const Byte *p) { return {vld1q_u8(p)}; }
    static Vec16 load_half(const Byte *p) { return {vcombine_u8(vld1_u8(p), vdup_n_u8(0))}; }
    void store(Byte *p) const { vst1q_u8(p, v); }
    void store_nontemporal(Byte *p) const { vst1q_u8(p, v); }
    static Vec16 load_lanes(const Byte *const *rows, int, Int at) { return load(rows[0] + at); }
    static void swap_lanes(Vec16 (&)[1]) {}

    template <int W> static Vec16 zip_low(Vec16 a, Vec16 b) {
        if constexpr (W == 1) return {vzip1q_u8(a.v, b.v)};
        if constexpr (W == 2)
            return {vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a.v), vreinterpretq_u16_u8(b.v)))};
        if constexpr (W == 4)
            return {vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a.v), vreinterpretq_u32_u8(b.v)))};
        if constexpr (W == 8)
            return {vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a.v), vreinterpretq_u64_u8(b.v)))};
    }
    template <int W> static Vec16 zip_high(Vec16 a, Vec16 b) {
        if constexpr (W == 1) return {vzip2q_u8(a.v, b.v)};
        if constexpr (W == 2)
            return {vreinterpretq_u8_u16(vzip2q_u16(vreinterpretq_u16_u8(a.v), vreinterpretq_u16_u8(b.v)))};
        if constexpr (W == 4)
            return {vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a.v), vreinterpretq_u32_u8(b.v)))};
        if constexpr (W == 8)
            return {vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a.v), vreinterpretq_u64_u8(b.v)))};
    }
};

// Non-temporal pairs of NEON are hints that no kernel here gives: these are plain stores.
constexpr bool has_nontemporal_stores = false;
inline void store_fence() {}
inline void prefetch(const Byte *p) { __builtin_prefetch(p, 0, 2); }

#else

// Any other machine: the same operations on plain bytes.
struct Vec16 {
    static constexpr int bytes = 16;
    Byte v[16];

    static Vec16 load(const Byte *p) {
        Vec16 x;
        std::memcpy(x.v, p, 16);
        return x;
    }
    static Vec16 load_half(const Byte *p) {
        Vec16 x{};
        std::memcpy(x.v, p, 8);
        return x;
    }
    void store(Byte *p) const { std::memcpy(p, v, 16); }
    void store_nontemporal(Byte *p) const { store(p); }
    static Vec16 load_lanes(const Byte *const *rows, int, Int at) { return load(rows[0] + at); }
    static void swap_lanes(Vec16 (&)[1]) {}

    template <int W> static Vec16 zip(const Byte *a, const Byte *b) {
        Vec16 x;
        for (int k = 0; k < 8 / W; ++k) {
            std::memcpy(x.v + 2 * k * W, a + k * W, W);
            std::memcpy(x.v + (2 * k + 1) * W, b + k * W, W);
        }
        return x;
    }
    template <int W> static Vec16 zip_low(Vec16 a, Vec16 b) { return zip<W>(a.v, b.v); }
    template <int W> static Vec16 zip_high(Vec16 a, Vec16 b) { return zip<W>(a.v + 8, b.v + 8); }
};

constexpr bool has_nontemporal_stores = false;
inline void store_fence() {}
inline void prefetch(const Byte *) {}

#endif

#if defined(__AVX2__)

struct Vec32 {
    static constexpr int bytes = 32;
    __m256i v;

    static Vec32 load(const Byte *p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p))}; }
    void store(Byte *p) const { _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), v); }
    void store_nontemporal(Byte *p) const { _mm256_stream_si256(reinterpret_cast<__m256i *>(p), v); }
    static Vec32 join(Vec16 low, Vec16 high) {
        return {_mm256_inserti128_si256(_mm256_castsi128_si256(low.v), high.v, 1)};
    }
    static Vec32 load_lanes(const Byte *const *rows, int apart, Int at) {
        return join(Vec16::load(rows[0] + at), Vec16::load(rows[apart] + at));
    }
    // Lane k of vector i becomes lane i of vector k.
    static void swap_lanes(Vec32 (&x)[2]) {
        const __m256i a = x[0].v, b = x[1].v;
        x[0].v = _mm256_permute2x128_si256(a, b, 0x20);
        x[1].v = _mm256_permute2x128_si256(a, b, 0x31);
    }

    template <int W> static Vec32 zip_low(Vec32 a, Vec32 b) {
        if constexpr (W == 1) return {_mm256_unpacklo_epi8(a.v, b.v)};
        if constexpr (W == 2) return {_mm256_unpacklo_epi16(a.v, b.v)};
        if constexpr (W == 4) return {_mm256_unpacklo_epi32(a.v, b.v)};
        if constexpr (W == 8) return {_mm256_unpacklo_epi64(a.v, b.v)};
    }
    template <int W> static Vec32 zip_high(Vec32 a, Vec32 b) {
        if constexpr (W == 1) return {_mm256_unpackhi_epi8(a.v, b.v)};
        if constexpr (W == 2) return {_mm256_unpackhi_epi16(a.v, b.v)};
        if constexpr (W == 4) return {_mm256_unpackhi_epi32(a.v, b.v)};
        if constexpr (W == 8) return {_mm256_unpackhi_epi64(a.v, b.v)};
    }
};

#else

// Two halves, so that the code above needs no other case.
struct Vec32 {
    static constexpr int bytes = 32;
    Vec16 a, b;

    static Vec32 load(const Byte *p) { return {Vec16::load(p), Vec16::load(p + 16)}; }
    void store(Byte *p) const { a.store(p), b.store(p + 16); }
    void store_nontemporal(Byte *p) const { a.store_nontemporal(p), b.store_nontemporal(p + 16); }
    static Vec32 join(Vec16 low, Vec16 high) { return {low, high}; }
    static Vec32 load_lanes(const Byte *const *rows, int apart, Int at) {
        return join(Vec16::load(rows[0] + at), Vec16::load(rows[apart] + at));
    }
    static void swap_lanes(Vec32 (&x)[2]) {
        const Vec16 moved = x[0].b;
        x[0].b = x[1].a;
        x[1].a = moved;
    }
    template <int W> static Vec32 zip_low(Vec32 x, Vec32 y) {
        return {Vec16::zip_low<W>(x.a, y.a), Vec16::zip_low<W>(x.b, y.b)};
    }
    template <int W> static Vec32 zip_high(Vec32 x, Vec32 y) {
        return {Vec16::zip_high<W>(x.a, y.a), Vec16::zip_high<W>(x.b, y.b)};
    }
};

#endif

#if defined(__AVX512BW__)

// What names an element of W bytes for a permute; one of 16 is named by its halves.
template <int W>
using ElementIndex = std::conditional_t<
    W == 1, std::uint8_t,
    std::conditional_t<W == 2, std::uint16_t, std::conditional_t<W == 4, std::uint32_t, std::uint64_t>>>;

struct Vec64 {
    static constexpr int bytes = 64;
    __m512i v;

    static Vec64 load(const Byte *p) { return {_mm512_loadu_si512(p)}; }
    void store(Byte *p) const { _mm512_storeu_si512(p, v); }
    void store_nontemporal(Byte *p) const { _mm512_stream_si512(reinterpret_cast<__m512i *>(p), v); }
    static Vec64 join(Vec32 low, Vec32 high) { return {_mm512_inserti64x4(_mm512_castsi256_si512(low.v), high.v, 1)}; }
    Vec32 low() const { return {_mm512_castsi512_si256(v)}; }
    Vec32 high() const { return {_mm512_extracti64x4_epi64(v, 1)}; }
    template <int k> Vec16 lane() const { return {_mm512_extracti32x4_epi32(v, k)}; }
    // Lanes 0 and 2, or 1 and 3, of a and then of b.
    static Vec64 even_lanes(Vec64 a, Vec64 b) { return {_mm512_shuffle_i64x2(a.v, b.v, 0x88)}; }
    static Vec64 odd_lanes(Vec64 a, Vec64 b) { return {_mm512_shuffle_i64x2(a.v, b.v, 0xDD)}; }
    static Vec64 load_lanes(const Byte *const *rows, int apart, Int at) {
        // A broadcast of 16 bytes costs no shuffle, and the mask picks the lane.
        __m512i x = _mm512_broadcast_i32x4(Vec16::load(rows[0] + at).v);
        x = _mm512_mask_broadcast_i32x4(x, 0x00F0, Vec16::load(rows[apart] + at).v);
        x = _mm512_mask_broadcast_i32x4(x, 0x0F00, Vec16::load(rows[2 * apart] + at).v);
        return {_mm512_mask_broadcast_i32x4(x, 0xF000, Vec16::load(rows[3 * apart] + at).v)};
    }
    // The elements of a and then of b that the index names; halves of those of 16 bytes.
    template <int W> static Vec64 pick(Vec64 a, Vec64 index, Vec64 b) {
#if defined(__AVX512VBMI__)
        if constexpr (W == 1) return {_mm512_permutex2var_epi8(a.v, index.v, b.v)};
#endif
        if constexpr (W == 2) return {_mm512_permutex2var_epi16(a.v, index.v, b.v)};
        if constexpr (W == 4) return {_mm512_permutex2var_epi32(a.v, index.v, b.v)};
        if constexpr (W >= 8) return {_mm512_permutex2var_epi64(a.v, index.v, b.v)};
    }

    // Those of b that the index names where the mask says so, else those of a.
    template <int W> static Vec64 merge(Vec64 a, std::uint64_t mask, Vec64 b, Vec64 index) {
#if defined(__AVX512VBMI__)
        if constexpr (W == 1) return {_mm512_mask_permutexvar_epi8(a.v, mask, index.v, b.v)};
#endif
        if constexpr (W == 2) return {_mm512_mask_permutexvar_epi16(a.v, __mmask32(mask), index.v, b.v)};
        if constexpr (W == 4) return {_mm512_mask_permutexvar_epi32(a.v, __mmask16(mask), index.v, b.v)};
        if constexpr (W == 8) return {_mm512_mask_permutexvar_epi64(a.v, __mmask8(mask), index.v, b.v)};
    }

    // Those of b where the mask says so, else those of a.
    template <int W> static Vec64 blend(Vec64 a, std::uint64_t mask, Vec64 b) {
        if constexpr (W == 1) return {_mm512_mask_blend_epi8(mask, a.v, b.v)};
        if constexpr (W == 2) return {_mm512_mask_blend_epi16(__mmask32(mask), a.v, b.v)};
        if constexpr (W == 4) return {_mm512_mask_blend_epi32(__mmask16(mask), a.v, b.v)};
        if constexpr (W == 8) return {_mm512_mask_blend_epi64(__mmask8(mask), a.v, b.v)};
    }

    static void swap_lanes(Vec64 (&x)[4]) {
        const __m512i a = _mm512_shuffle_i32x4(x[0].v, x[1].v, 0x44), b = _mm512_shuffle_i32x4(x[2].v, x[3].v, 0x44);
        const __m512i c = _mm512_shuffle_i32x4(x[0].v, x[1].v, 0xEE), d = _mm512_shuffle_i32x4(x[2].v, x[3].v, 0xEE);
        x[0].v = _mm512_shuffle_i32x4(a, b, 0x88);
        x[1].v = _mm512_shuffle_i32x4(a, b, 0xDD);
        x[2].v = _mm512_shuffle_i32x4(c, d, 0x88);
        x[3].v = _mm512_shuffle_i32x4(c, d, 0xDD);
    }

    template <int W> static Vec64 zip_low(Vec64 a, Vec64 b) {
        if constexpr (W == 1) return {_mm512_unpacklo_epi8(a.v, b.v)};
        if constexpr (W == 2) return {_mm512_unpacklo_epi16(a.v, b.v)};
        if constexpr (W == 4) return {_mm512_unpacklo_epi32(a.v, b.v)};
        if constexpr (W == 8) return {_mm512_unpacklo_epi64(a.v, b.v)};
    }
    template <int W> static Vec64 zip_high(Vec64 a, Vec64 b) {
        if constexpr (W == 1) return {_mm512_unpackhi_epi8(a.v, b.v)};
        if constexpr (W == 2) return {_mm512_unpackhi_epi16(a.v, b.v)};
        if constexpr (W == 4) return {_mm512_unpackhi_epi32(a.v, b.v)};
        if constexpr (W == 8) return {_mm512_unpackhi_epi64(a.v, b.v)};
    }
};

#else

struct Vec64 {
    static constexpr int bytes = 64;
    Vec32 a, b;

    static Vec64 load(const Byte *p) { return {Vec32::load(p), Vec32::load(p + 32)}; }
    void store(Byte *p) const { a.store(p), b.store(p + 32); }
    void store_nontemporal(Byte *p) const { a.store_nontemporal(p), b.store_nontemporal(p + 32); }
};

#endif

#if defined(__AVX512BW__)
using WidestVec = Vec64;
#elif defined(__AVX2__)
using WidestVec = Vec32;
#else
using WidestVec = Vec16;
#endif

}  // namespace
}  // namespace relayout
