#include "kernels/convert_kernels.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace relayout::RELAYOUT_ISA_NAMESPACE {

namespace {

using I8 = std::int8_t;
using I16 = std::int16_t;
using I32 = std::int32_t;
using I64 = std::int64_t;
using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

struct Bool {
    U8 bits;
};
struct Half {
    U16 bits;
};
struct Bfloat {
    U16 bits;
};

template <typename To, typename From> inline To same_bits(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}

// Everything below is arithmetic without branches, so that the compiler makes vectors of it.

template <typename To> struct As {
    template <typename From> static To of(From x) { return static_cast<To>(x); }
    static To of(Bool x) { return static_cast<To>(x.bits != 0); }
    static To of(Bfloat x) { return static_cast<To>(same_bits<float>(U32(x.bits) << 16)); }
    static To of(Half x);
};

// Subnormal halves: 2^-14 + x has the bits of x at its end, and the difference is exact.
template <> inline float As<float>::of(Half x) {
    const U32 magnitude = U32(x.bits & 0x7fff) << 13, sign = U32(x.bits & 0x8000) << 16;
    const U32 least = 113u << 23, rebias = 112u << 23;
    const float subnormal = same_bits<float>(magnitude + least) - same_bits<float>(least);
    const U32 finite = magnitude < (1u << 23) ? same_bits<U32>(subnormal) : magnitude + rebias;
    return same_bits<float>((magnitude < (31u << 23) ? finite : magnitude + 2 * rebias) | sign);
}

// Hardware would make NaNs quiet; numpy shifts their bits.
template <> inline double As<double>::of(Half x) {
    const U64 payload = U64(x.bits & 0x7fff) << 42, sign = U64(x.bits & 0x8000) << 48;
    const U64 nan = payload | 0x7ff0000000000000 | sign;
    const double number = As<float>::of(x);
    return (x.bits & 0x7fff) > 0x7c00 ? same_bits<double>(nan) : number;
}

// Payloads keep their upper bits, and stay NaN if those are 0.
inline U32 half_nan(U32 payload) { return 0x7c00 | (payload == 0 ? 1 : payload); }

// The half of a float that is no NaN, without its sign. Below 2^-14 halves are multiples of 2^-24, and so are floats
// from 0.5 on, which adding 0.5 rounds to.
inline U32 half_magnitude(U32 magnitude) {
    const U32 least = 113u << 23, rebias = 112u << 23;
    const U32 subnormal = same_bits<U32>(same_bits<float>(magnitude) + 0.5f) - same_bits<U32>(0.5f);
    const U32 normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - rebias) >> 13;
    return magnitude < least ? subnormal : normal < 0x7c00 ? normal : 0x7c00;
}

template <> struct As<Half> {
    static Half of(float x) {
        const U32 bits = same_bits<U32>(x), magnitude = bits & 0x7fffffff;
        const U32 nan = half_nan(magnitude >> 13 & 0x3ff);
        const U32 half = magnitude > 0x7f800000 ? nan : half_magnitude(magnitude);
        return {U16(half | (bits >> 16 & 0x8000))};
    }
    // A float with one bit more than needed, set if any bit beyond it is, so that the value is rounded once.
    static Half of(double x) {
        const U64 bits = same_bits<U64>(x), magnitude = bits & 0x7fffffffffffffff, rest = (U64(1) << 29) - 1;
        const U64 odd = (magnitude & ~rest) | ((magnitude & rest) != 0 ? rest + 1 : 0);
        const U32 number = half_magnitude(same_bits<U32>(static_cast<float>(same_bits<double>(odd))));
        const U32 nan = half_nan(U32(magnitude >> 42 & 0x3ff));
        return {U16((magnitude > 0x7ff0000000000000 ? nan : number) | U32(bits >> 48 & 0x8000))};
    }
    static Half of(Bfloat x) {
        const U32 magnitude = U32(x.bits & 0x7fff) << 16;
        const U32 half = magnitude > 0x7f800000 ? 0x7e00 : half_magnitude(magnitude);
        return {U16(half | (x.bits & 0x8000))};
    }
};

template <> struct As<Bfloat> {
    static Bfloat of(float x) {
        const U32 bits = same_bits<U32>(x), nan = 0x7fc00000 | (bits & 0x80000000);
        const U32 rounded = bits + 0x7fff + (bits >> 16 & 1);
        return {U16(((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded) >> 16)};
    }
};

// Adding 1.5 * 2^23 rounds a number of up to 22 bits to an integer, which is then in the lowest bits.
template <typename To> inline To rounded(float x) {
    if constexpr (sizeof(To) <= 2) return static_cast<To>(same_bits<U32>(x + 12582912.f));
    return static_cast<To>(__builtin_rintf(x));
}

// The range of a quantised type in float32.
template <typename To> struct QuantisedRange {
    static constexpr bool is_signed = To(-1) < To(0);
    static constexpr int bits = 8 * sizeof(To) - is_signed;
    float low = is_signed ? -float(U32(1) << bits) : 0.f;
    float high = float((U32(1) << bits) - (bits > 24 ? 1u << (bits - 24) : 1u));

    // Were they known to the compiler, it would tell cases apart instead of taking minimum and maximum.
    QuantisedRange() { asm("" : "+m"(low), "+m"(high)); }

    To quantised(float x) const {
        x = x < high ? x : high;  // NaN is not less
        x = x > low ? x : low;
        return rounded<To>(x);
    }
};

template <typename From, typename To, typename Value>
inline void all(const Byte *__restrict source, Byte *__restrict target, Int count, Value value) {
    for (Int i = 0; i < count; ++i) {
        From x;
        __builtin_memcpy(&x, source + i * Int(sizeof x), sizeof x);
        const To y = value(x, i);
        __builtin_memcpy(target + i * Int(sizeof y), &y, sizeof y);
    }
}

template <typename From, typename To>
bool plain(const Byte *source, Byte *target, Int count, const float *, const float *) {
    all<From, To>(source, target, count, [](From x, Int) { return As<To>::of(x); });
    return false;
}

#ifdef __F16C__

inline bool any_nan(__m256 x) { return _mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0; }

// Eight at a time by the hardware, but for those with a NaN, which it would make quiet.
bool widen_halves(const Byte *source, Byte *target, Int count, const float *, const float *) {
    const auto by_bits = [=](Int first, Int n) {
        plain<Half, float>(source + 2 * first, target + 4 * first, n, nullptr, nullptr);
    };
    Int i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(source + 2 * i)));
        _mm256_storeu_ps(reinterpret_cast<float *>(target + 4 * i), x);
        if (any_nan(x)) by_bits(i, 8);
    }
    by_bits(i, count - i);
    return false;
}

bool narrow_to_halves(const Byte *source, Byte *target, Int count, const float *, const float *) {
    const auto by_bits = [=](Int first, Int n) {
        plain<float, Half>(source + 4 * first, target + 2 * first, n, nullptr, nullptr);
    };
    Int i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256 x = _mm256_loadu_ps(reinterpret_cast<const float *>(source + 4 * i));
        const __m128i halves = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(target + 2 * i), halves);
        if (any_nan(x)) by_bits(i, 8);
    }
    by_bits(i, count - i);
    return false;
}

#else

constexpr ConvertKernel widen_halves = &plain<Half, float>, narrow_to_halves = &plain<float, Half>;

#endif

template <typename From>
bool decode(const Byte *source, Byte *target, Int count, const float *scale, const float *zero) {
    const float s = *scale, z = *zero;
    all<From, float>(source, target, count, [s, z](From x, Int) { return (float(x) - z) * s; });
    return false;
}

template <typename From>
bool decode_each(const Byte *source, Byte *target, Int count, const float *scale, const float *zero) {
    all<From, float>(source, target, count, [=](From x, Int i) { return (float(x) - zero[i]) * scale[i]; });
    return false;
}

template <typename To>
bool encode(const Byte *source, Byte *target, Int count, const float *inverse, const float *zero) {
    const float f = *inverse, z = *zero;
    const QuantisedRange<To> range;
    U32 nan = 0;
    all<float, To>(source, target, count, [f, z, range, &nan](float x, Int) {
        nan |= x != x;
        return range.quantised(x * f + z);
    });
    return nan;
}

template <typename To>
bool encode_each(const Byte *source, Byte *target, Int count, const float *inverse, const float *zero) {
    const QuantisedRange<To> range;
    U32 nan = 0;
    all<float, To>(source, target, count, [=, &nan](float x, Int i) {
        nan |= x != x;
        return range.quantised(x * inverse[i] + zero[i]);
    });
    return nan;
}

template <typename From, typename To> constexpr ConvertKernel wider() {
    constexpr bool from_signed = From(-1) < From(0), to_signed = To(-1) < To(0);
    if constexpr (sizeof(From) < sizeof(To) && (to_signed || !from_signed)) return &plain<From, To>;
    return nullptr;
}

template <typename To> ConvertKernel to_integer(Dtype source) {
    switch (source) {
        case Dtype::boolean: return &plain<Bool, To>;
        case Dtype::int8: return wider<I8, To>();
        case Dtype::int16: return wider<I16, To>();
        case Dtype::int32: return wider<I32, To>();
        case Dtype::uint8: return wider<U8, To>();
        case Dtype::uint16: return wider<U16, To>();
        case Dtype::uint32: return wider<U32, To>();
        default: return nullptr;
    }
}

ConvertKernel to_float32(Dtype source) {
    switch (source) {
        case Dtype::boolean: return &plain<Bool, float>;
        case Dtype::int8: return &plain<I8, float>;
        case Dtype::int16: return &plain<I16, float>;
        case Dtype::int32: return &plain<I32, float>;
        case Dtype::int64: return &plain<I64, float>;
        case Dtype::uint8: return &plain<U8, float>;
        case Dtype::uint16: return &plain<U16, float>;
        case Dtype::uint32: return &plain<U32, float>;
        case Dtype::uint64: return &plain<U64, float>;
        case Dtype::float16: return widen_halves;
        case Dtype::bfloat16: return &plain<Bfloat, float>;
        case Dtype::float64: return &plain<double, float>;
        default: return nullptr;
    }
}

// What is not here is the same by way of float32.
ConvertKernel to_float64(Dtype source) {
    switch (source) {
        case Dtype::int32: return &plain<I32, double>;
        case Dtype::int64: return &plain<I64, double>;
        case Dtype::uint32: return &plain<U32, double>;
        case Dtype::uint64: return &plain<U64, double>;
        case Dtype::float16: return &plain<Half, double>;
        case Dtype::float32: return &plain<float, double>;
        default: return nullptr;
    }
}

// What is not here is the same by way of float32.
ConvertKernel to_float16(Dtype source) {
    switch (source) {
        case Dtype::bfloat16: return &plain<Bfloat, Half>;
        case Dtype::float32: return narrow_to_halves;
        case Dtype::float64: return &plain<double, Half>;
        default: return nullptr;
    }
}

ConvertKernel find_plain(Dtype source, Dtype target) {
    switch (target) {
        case Dtype::int8: return to_integer<I8>(source);
        case Dtype::int16: return to_integer<I16>(source);
        case Dtype::int32: return to_integer<I32>(source);
        case Dtype::int64: return to_integer<I64>(source);
        case Dtype::uint8: return to_integer<U8>(source);
        case Dtype::uint16: return to_integer<U16>(source);
        case Dtype::uint32: return to_integer<U32>(source);
        case Dtype::uint64: return to_integer<U64>(source);
        case Dtype::float16: return to_float16(source);
        case Dtype::bfloat16: return source == Dtype::float32 ? &plain<float, Bfloat> : nullptr;
        case Dtype::float32: return to_float32(source);
        case Dtype::float64: return to_float64(source);
        default: return nullptr;
    }
}

template <typename Integer> ConvertKernel scaled(bool decodes, bool each) {
    if (decodes) return each ? &decode_each<Integer> : &decode<Integer>;
    return each ? &encode_each<Integer> : &encode<Integer>;
}

}  // namespace

ConvertKernel find_convert_kernel(Dtype source, Dtype target, Scaling scaling) {
    if (scaling == Scaling::none) return find_plain(source, target);
    const bool decodes = target == Dtype::float32, each = scaling == Scaling::each;
    if (!decodes && source != Dtype::float32) return nullptr;
    switch (decodes ? source : target) {
        case Dtype::int8: return scaled<I8>(decodes, each);
        case Dtype::int16: return scaled<I16>(decodes, each);
        case Dtype::int32: return scaled<I32>(decodes, each);
        case Dtype::uint8: return scaled<U8>(decodes, each);
        case Dtype::uint16: return scaled<U16>(decodes, each);
        default: return nullptr;
    }
}

}  // namespace relayout::RELAYOUT_ISA_NAMESPACE
