#pragma once

// Kernels that copy bytes that stay together. Part of kernels.cpp.

#include "kernels/kernels.h"
#include "kernels/vectors.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

Int least(Int a, Int b) { return a < b ? a : b; }

template <typename T> void move(const Byte *s, Byte *d) {
    T x;
    std::memcpy(&x, s, sizeof(T));
    std::memcpy(d, &x, sizeof(T));
}

// Any length; the last piece may overlap the one before.
inline void copy(const Byte *s, Byte *d, Int length) {
    if (length >= 64) {
        for (Int k = 0; k + 64 <= length; k += 64) Vec64::load(s + k).store(d + k);
        if (length % 64) Vec64::load(s + length - 64).store(d + length - 64);
    } else if (length >= 32) {
        const Vec32 first = Vec32::load(s), last = Vec32::load(s + length - 32);
        first.store(d);
        last.store(d + length - 32);
    } else if (length >= 16) {
        const Vec16 first = Vec16::load(s), last = Vec16::load(s + length - 16);
        first.store(d);
        last.store(d + length - 16);
    } else if (length >= 8) {
        move<std::uint64_t>(s, d);
        move<std::uint64_t>(s + length - 8, d + length - 8);
    } else if (length >= 4) {
        move<std::uint32_t>(s, d);
        move<std::uint32_t>(s + length - 4, d + length - 4);
    } else {
        for (Int k = 0; k < length; ++k) d[k] = s[k];
    }
}

inline Int to_line(const Byte *p) { return Int(-reinterpret_cast<std::uintptr_t>(p) % cache_line); }

[[maybe_unused]] void copy_nontemporal(const Byte *s, Byte *d, Int length) {
    const Int head = least(length, to_line(d));
    if (head) copy(s, d, head);
    Int k = head;
    for (; k + cache_line <= length; k += cache_line) Vec64::load(s + k).store_nontemporal(d + k);
    if (k < length) copy(s + k, d + k, length - k);
}

[[maybe_unused]] void collect(const Byte *source, const Int *rows, const Byte *later, const Int *coming, Int count,
                              Byte *target, Int pitch, Int bytes) {
    for (Int r = 0; r < count; ++r) {
        for (Int at = 0; at < bytes; at += cache_line) prefetch(later + coming[r] + at);
        copy(source + rows[r], target + r * pitch, bytes);
    }
}

template <typename V, bool nontemporal> void store_as(V x, Byte *d) {
    if constexpr (nontemporal)
        x.store_nontemporal(d);
    else
        x.store(d);
}

// Every run of a strip, for each repetition. Steps are held in registers: what a run writes could be the steps
// themselves.
template <typename Move>
inline void each_run(const Byte *s, Byte *d, const Repeat &strip, const Repeat &repeat, Int ahead, Move move_run) {
    const Int times = repeat.count, count = strip.count, ss = strip.source, ds = strip.target;
    for (Int r = 0; r < times; ++r) {
        const Byte *from = s + r * repeat.source;
        Byte *to = d + r * repeat.target;
        for (Int i = 0; i < count; ++i, from += ss, to += ds) {
            if (ahead) prefetch(from + ahead);
            move_run(from, to);
        }
    }
}

// Runs of one vector.
template <typename V, bool nontemporal>
void equal_runs(const Byte *s, Byte *d, const Repeat &strip, const Repeat &repeat, Int ahead) {
    each_run(s, d, strip, repeat, ahead,
             [](const Byte *from, Byte *to) { store_as<V, nontemporal>(V::load(from), to); });
}

// Runs of two pieces, of which the second may overlap the first.
template <typename T>
void double_runs(const Byte *s, Byte *d, const Repeat &strip, Int last, const Repeat &repeat, Int ahead) {
    each_run(s, d, strip, repeat, ahead, [last](const Byte *from, Byte *to) {
        const T a = T::load(from), b = T::load(from + last);
        a.store(to);
        b.store(to + last);
    });
}

template <typename Word> struct Scalar {
    Word v;
    static Scalar load(const Byte *p) {
        Scalar x;
        std::memcpy(&x.v, p, sizeof(Word));
        return x;
    }
    void store(Byte *p) const { std::memcpy(p, &v, sizeof(Word)); }
};

// Runs that lie side by side in the target: each is written as a whole word, and what is too much of it is written over
// by the next; the last is copied as it is. Where one ends the next has begun, so that words are inside the source.
template <typename T>
void joined_runs(const Byte *s, Byte *d, const Repeat &strip, Int length, const Repeat &repeat, Int ahead) {
    const Int times = repeat.count, count = strip.count, ss = strip.source;
    for (Int r = 0; r < times; ++r) {
        const Byte *from = s + r * repeat.source;
        Byte *to = d + r * repeat.target;
        for (Int i = 0; i + 1 < count; ++i, from += ss, to += length) {
            if (ahead) prefetch(from + ahead);
            T::load(from).store(to);
        }
        copy(from, to, length);
    }
}

template <typename V> void copy_run_nontemporal(const Byte *s, Byte *d, Int length, Int ahead) {
    for (Int k = 0; k < length; k += V::bytes) {
        if (ahead && k % cache_line == 0) prefetch(s + k + ahead);
        V::load(s + k).store_nontemporal(d + k);
    }
}

constexpr Int long_copy = 32 << 10, fetched_run = 4096;

// Long runs within the cache, which memcpy may write without reading their lines. Not inlined: the loops of short runs
// are slower beside a call.
[[gnu::noinline]] void long_runs(const Byte *s, Byte *d, const Repeat &strip, Int length, const Repeat &repeat) {
    for (Int r = 0; r < repeat.count; ++r)
        for (Int i = 0; i < strip.count; ++i)
            std::memcpy(d + r * repeat.target + i * strip.target, s + r * repeat.source + i * strip.source,
                        std::size_t(length));
}

[[maybe_unused]] void runs(const Byte *s, Byte *d, const Repeat &strip, Int length, const Repeat &repeat,
                           bool nontemporal, Int ahead) {
    if (nontemporal && length == 16) return equal_runs<Vec16, true>(s, d, strip, repeat, ahead);
    if (nontemporal && length == 32) return equal_runs<Vec32, true>(s, d, strip, repeat, ahead);
    if (nontemporal && length == 64) return equal_runs<Vec64, true>(s, d, strip, repeat, ahead);
    if (!nontemporal && length == 16) return equal_runs<Vec16, false>(s, d, strip, repeat, ahead);
    if (!nontemporal && length == 32) return equal_runs<Vec32, false>(s, d, strip, repeat, ahead);
    if (!nontemporal && length == 64) return equal_runs<Vec64, false>(s, d, strip, repeat, ahead);
    if (!nontemporal && length > 64 && length <= 128)
        return double_runs<Vec64>(s, d, strip, length - 64, repeat, ahead);
    if (strip.target == length && strip.source > 0) {
        const Int readable = strip.source + length;
        if (length == 3 && readable >= 4) return joined_runs<Scalar<std::uint32_t>>(s, d, strip, length, repeat, ahead);
        if (length > 4 && length < 8 && readable >= 8)
            return joined_runs<Scalar<std::uint64_t>>(s, d, strip, length, repeat, ahead);
        if (length > 8 && length < 16 && readable >= 16) return joined_runs<Vec16>(s, d, strip, length, repeat, ahead);
        if (!nontemporal && length > 16 && length < 32 && readable >= 32)
            return joined_runs<Vec32>(s, d, strip, length, repeat, ahead);
        if (!nontemporal && length > 32 && length < 64 && readable >= 64)
            return joined_runs<Vec64>(s, d, strip, length, repeat, ahead);
    }
    if (!nontemporal && length > 32 && length < 64) return double_runs<Vec32>(s, d, strip, length - 32, repeat, ahead);
    if (!nontemporal && length > 16 && length < 32) return double_runs<Vec16>(s, d, strip, length - 16, repeat, ahead);
    if (length >= 8 && length < 16) return double_runs<Scalar<std::uint64_t>>(s, d, strip, length - 8, repeat, ahead);
    if (length >= 4 && length < 8) return double_runs<Scalar<std::uint32_t>>(s, d, strip, length - 4, repeat, ahead);
    if (length >= 2 && length < 4) return double_runs<Scalar<std::uint16_t>>(s, d, strip, length - 2, repeat, ahead);
    if (!nontemporal && !ahead && length >= long_copy) return long_runs(s, d, strip, length, repeat);
    if (length == 1) return each_run(s, d, strip, repeat, ahead, [](const Byte *from, Byte *to) { *to = *from; });
    // Of long runs the processor fetches more than asked for by itself, and sooner.
    if (length >= (length % cache_line ? 2 : 1) * fetched_run) ahead = 0;
    for (Int r = 0; r < repeat.count; ++r)
        for (Int i = 0; i < strip.count; ++i) {
            const Byte *from = s + r * repeat.source + i * strip.source;
            Byte *to = d + r * repeat.target + i * strip.target;
            if (nontemporal && length < 512) {
                copy_run_nontemporal<Vec16>(from, to, length, ahead);
            } else if (nontemporal && (reinterpret_cast<std::uintptr_t>(to) | std::uintptr_t(length)) % 64 == 0) {
                copy_run_nontemporal<Vec64>(from, to, length, ahead);
            } else if (nontemporal) {
                if (ahead)
                    for (Int k = 0; k < length; k += cache_line) prefetch(from + k + ahead);
                copy_nontemporal(from, to, length);
            } else {
                if (ahead)
                    for (Int k = 0; k < length; k += cache_line) prefetch(from + k + ahead);
                copy(from, to, length);
            }
        }
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)

// Bytes that the mask leaves out are not even touched.
inline Vec16 masked(const Byte *p, std::uint64_t mask, Vec16 rest) {
    return {_mm_mask_loadu_epi8(rest.v, __mmask16(mask), p)};
}
inline Vec32 masked(const Byte *p, std::uint64_t mask, Vec32 rest) {
    return {_mm256_mask_loadu_epi8(rest.v, __mmask32(mask), p)};
}
inline Vec64 masked(const Byte *p, std::uint64_t mask, Vec64 rest) {
    return {_mm512_mask_loadu_epi8(rest.v, __mmask64(mask), p)};
}

template <typename V, bool nontemporal>
void masked_runs(const Byte *s, Byte *d, const Repeat &strip, Int valid, const Byte *pattern, const Repeat &repeat,
                 Int ahead) {
    const V rest = V::load(pattern);
    const std::uint64_t mask = (std::uint64_t(1) << valid) - 1;
    each_run(s, d, strip, repeat, ahead,
             [mask, rest](const Byte *from, Byte *to) { store_as<V, nontemporal>(masked(from, mask, rest), to); });
}

template <bool nontemporal>
void masked_runs_of(const Byte *s, Byte *d, const Repeat &strip, Int valid, Int length, const Byte *pattern,
                    const Repeat &repeat, Int ahead) {
    if (length == 16) return masked_runs<Vec16, nontemporal>(s, d, strip, valid, pattern, repeat, ahead);
    if (length == 32) return masked_runs<Vec32, nontemporal>(s, d, strip, valid, pattern, repeat, ahead);
    return masked_runs<Vec64, nontemporal>(s, d, strip, valid, pattern, repeat, ahead);
}

[[maybe_unused]] void padded_runs(const Byte *s, Byte *d, const Repeat &strip, Int valid, Int length,
                                  const Byte *pattern, const Repeat &repeat, bool nontemporal, Int ahead) {
    if (nontemporal)
        masked_runs_of<true>(s, d, strip, valid, length, pattern, repeat, ahead);
    else
        masked_runs_of<false>(s, d, strip, valid, length, pattern, repeat, ahead);
}

constexpr PaddedRunsKernel padded_runs_or_none = padded_runs;

#else

constexpr PaddedRunsKernel padded_runs_or_none = nullptr;

#endif

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
