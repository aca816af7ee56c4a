#pragma once

// Kernels that part interleaved elements into up to 8 rows. Part of kernels.cpp.

#include "kernels/interleaves.h"
#include "kernels/shifted_lines.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

template <int W>
void deinterleave_scalar(const Byte *source, Byte *target, const Int *rows, int ways, int used, Int from, Int count) {
    for (Int j = from; j < count; ++j)
        for (int k = 0; k < used; ++k) std::memcpy(target + rows[k] + j * W, source + (j * ways + k) * W, W);
}

#if defined(RELAYOUT_HAS_BYTE_SHUFFLE)

// Brings the bytes of one of K ways together, within a vector.
template <int W, int K> struct Grouping {
    alignas(16) Byte index[16];
    constexpr Grouping() : index{} {
        constexpr int per_way = 16 / W / K;
        for (int b = 0; b < 16; ++b) {
            const int e = b / W;
            index[b] = Byte((e % per_way * K + e / per_way) * W + b % W);
        }
    }
};

template <int W, int K> constexpr Grouping<W, K> grouping{};

#if defined(RELAYOUT_HAS_PERMUTES)

// The first bytes, up to 64; the others are not touched.
inline Vec64 load_first_bytes(const Byte *p, Int bytes) {
    const std::uint64_t mask = bytes >= 64 ? ~std::uint64_t(0) : bytes > 0 ? (std::uint64_t(1) << bytes) - 1 : 0;
    return {_mm512_maskz_loadu_epi8(mask, p)};
}

// The ways of K vectors of interleaved elements; of 8, every other one goes first.
template <int W, int K> [[gnu::always_inline]] inline void part(const Vec64 (&x)[K], Vec64 (&y)[K]) {
    if constexpr (K == 8) {
        Vec64 half[4];
#pragma GCC unroll 2
        for (int first = 0; first < 2; ++first) {
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) half[i] = parted<W, 2>({x[2 * i], x[2 * i + 1]}, first);
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) y[2 * k + first] = parted<W>(half, k);
        }
    } else {
#pragma GCC unroll 16
        for (int k = 0; k < K; ++k) y[k] = parted<W>(x, k);
    }
}

// Rows of a vector and more: the last one of each row ends with it. By non-temporal stores rows are whole lines.
template <int W, int K, bool nontemporal>
void deinterleave_long(const Byte *s, Byte *t, const Int *rows, int used, Int count, const Repeat &repeat, Int ahead) {
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target;
    // What is not used behind the last element may be no memory.
    const Int last = used < K ? count - 1 : count;
    for (Int r = 0; r < times; ++r, s += ss, t += ts) {
        for (Int j = 0; j < last; j += 64 / W) {
            const Int at = least(j, last - 64 / W);
            const Byte *const from = s + at * K * W;
            Vec64 x[K];
#pragma GCC unroll 16
            for (int o = 0; o < K; ++o) {
                if (ahead) prefetch(from + o * 64 + ahead);
                x[o] = Vec64::load(from + o * 64);
            }
            if constexpr (K > 8) {
#pragma GCC unroll 16
                for (int k = 0; k < K; ++k)
                    if (k < used) store_as<Vec64, nontemporal>(parted<W>(x, k), t + rows[k] + at * W);
                continue;
            }
            Vec64 y[K];
            part<W>(x, y);
#pragma GCC unroll 16
            for (int k = 0; k < K; ++k)
                if (k < used) store_as<Vec64, nontemporal>(y[k], t + rows[k] + at * W);
        }
        deinterleave_scalar<W>(s, t, rows, K, used, last, count);
    }
}

#endif

template <int W, int K, bool nontemporal>
Int deinterleave_ways(const Byte *source, Byte *target, const Int *rows, int used, Int count, Int ahead) {
    constexpr Int E = 16 / W;
    Int j = 0;
    // What is not used behind the last element may be no memory.
    const Int last = used < K ? count - 1 : count;
    for (; j + E <= last; j += E, source += K * 16) {
        Vec16 x[K];
#pragma GCC unroll 16
        for (int o = 0; o < K; ++o) x[o] = Vec16::load(source + o * 16);
        if (ahead)
            for (int o = 0; o < K; o += 4) prefetch(source + o * 16 + ahead);
        if constexpr ((K == 2 || K == 4 || K == 8) && K * W <= 16) {
            constexpr int G = 16 / K;
            if constexpr (G > W) {
#pragma GCC unroll 16
                for (int o = 0; o < K; ++o) x[o] = shuffle_bytes(x[o], Vec16::load(grouping<W, K>.index));
            }
            shuffle<G>(x);
            if constexpr (K > 2) shuffle<G>(x);
            if constexpr (K > 4) shuffle<G>(x);
#pragma GCC unroll 16
            for (int k = 0; k < K; ++k)
                if (k < used) store_as<Vec16, nontemporal>(x[k], target + rows[k] + j * W);
        } else {
#pragma GCC unroll 16
            for (int k = 0; k < K; ++k) {
                if (k >= used) break;
                Vec16 y = shuffle_bytes(x[0], Vec16::load(shuffle_indices<W, K>.deinterleaved[k][0]));
#pragma GCC unroll 16
                for (int o = 1; o < K; ++o)
                    y = bitwise_or(y, shuffle_bytes(x[o], Vec16::load(shuffle_indices<W, K>.deinterleaved[k][o])));
                store_as<Vec16, nontemporal>(y, target + rows[k] + j * W);
            }
        }
    }
    return j;
}

// What vectors have left of all rows: one more of each that ends with them, where they are long enough.
template <int W, int K>
__attribute__((noinline)) void deinterleave_rest(const Byte *source, Byte *target, const Int *rows, int used, Int done,
                                                 Int count) {
    constexpr Int E = 16 / W;
    const Int last = used < K ? count - 1 : count;
    if (done < last && last >= E) {
        const Int at = last - E;
        deinterleave_ways<W, K, false>(source + at * K * W, target + at * W, rows, used, count - at, 0);
        done = last;
    }
    deinterleave_scalar<W>(source, target, rows, K, used, done, count);
}

// By non-temporal stores, where rows lie a page apart or are many, a cache line of each is put together first: parts of
// such lines do not wait side by side.
template <int W, int K>
Int deinterleave_lines(const Byte *s, Byte *t, const Int *rows, int used, Int count, Int ahead) {
    constexpr Int E = cache_line / W;
    alignas(64) Byte buffer[K * cache_line];
    Int places[K];
    for (int k = 0; k < K; ++k) places[k] = k * cache_line;
    Int j = 0;
    for (; j + E < count; j += E) {
        // One more element is there, so that nothing behind the last is read.
        deinterleave_ways<W, K, false>(s + j * K * W, buffer, places, used, E + 1, ahead);
        for (int k = 0; k < used; ++k) Vec64::load(buffer + k * cache_line).store_nontemporal(t + rows[k] + j * W);
    }
    return j;
}

// Where a cache line is made of several repetitions, it is put together of them.
template <int W, int K>
void deinterleave_short_rows(const Byte *s, Byte *t, const Int *rows, Int count, Int per_line, const Repeat &repeat,
                             Int ahead) {
    alignas(64) Byte buffer[K * cache_line];
    Int places[K];
    for (int k = 0; k < K; ++k) places[k] = k * cache_line;
    const Int times = repeat.count, ss = repeat.source;
    for (Int r = 0; r < times; r += per_line, t += cache_line) {
        for (Int q = 0; q < per_line; ++q, s += ss)
            deinterleave_ways<W, K, false>(s, buffer + q * count * W, places, K, count, ahead);
        for (int k = 0; k < K; ++k) Vec64::load(buffer + k * cache_line).store_nontemporal(t + rows[k]);
    }
}

// By plain stores, in a function of its own: rows are short, and each call of another one counts.
template <int W, int K>
__attribute__((flatten)) void deinterleave_plain(const Byte *s, Byte *t, const Int *rows, int used, Int count,
                                                 const Repeat &repeat, Int ahead) {
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target;
    for (Int r = 0; r < times; ++r, s += ss, t += ts) {
        const Int done = deinterleave_ways<W, K, false>(s, t, rows, used, count, ahead);
        if (done < count) deinterleave_rest<W, K>(s, t, rows, used, done, count);
    }
}

template <int W, int K, bool nontemporal>
void deinterleave_all(const Byte *s, Byte *t, const Int *rows, int used, Int count, const Repeat &repeat, Int ahead) {
#if defined(RELAYOUT_HAS_PERMUTES)
    // By non-temporal stores, single bytes of many ways alone are faster so.
    if constexpr (has_permutes<W> && (!nontemporal || (W == 1 && K > 4)))
        if ((count - 1) * W >= 64 && (!nontemporal || (used == K && count * W % cache_line == 0)))
            return deinterleave_long<W, K, nontemporal>(s, t, rows, used, count, repeat, ahead);
#endif
    if constexpr (!nontemporal) return deinterleave_plain<W, K>(s, t, rows, used, count, repeat, ahead);
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target, bytes = count * W;
    const bool apart = nontemporal && used > 1 && (used > 4 || (rows[1] - rows[0]) % 4096 == 0);
    if (apart && used == K && bytes % 16 == 0 && bytes < cache_line && ts == bytes && times * bytes % cache_line == 0)
        return deinterleave_short_rows<W, K>(s, t, rows, count, cache_line / bytes, repeat, ahead);
    const bool lines = apart && bytes % cache_line == 0;
    for (Int r = 0; r < times; ++r, s += ss, t += ts) {
        const Int done = lines ? deinterleave_lines<W, K>(s, t, rows, used, count, ahead) : 0;
        const Byte *from = s + done * K * W;
        Byte *to = t + done * W;
        const Int more = deinterleave_ways<W, K, nontemporal>(from, to, rows, used, count - done, ahead);
        deinterleave_scalar<W>(from, to, rows, K, used, more, count - done);
    }
}

template <int W, bool nontemporal>
void deinterleave_any(const Byte *s, Byte *t, const Int *rows, int ways, int used, Int count, const Repeat &repeat,
                      Int ahead) {
    with_ways<W>(ways, [&](auto k) {
        deinterleave_all<W, decltype(k)::count, nontemporal>(s, t, rows, used, count, repeat, ahead);
    });
}

#endif

template <int W>
void deinterleave(const Byte *s, Byte *t, const Int *rows, int ways, int used, Int count, const Repeat &repeat,
                  [[maybe_unused]] bool nontemporal, [[maybe_unused]] Int ahead) {
#if defined(RELAYOUT_HAS_BYTE_SHUFFLE)
    if (nontemporal)
        deinterleave_any<W, true>(s, t, rows, ways, used, count, repeat, ahead);
    else
        deinterleave_any<W, false>(s, t, rows, ways, used, count, repeat, ahead);
#else
    for (Int r = 0; r < repeat.count; ++r)
        deinterleave_scalar<W>(s + r * repeat.source, t + r * repeat.target, rows, ways, used, 0, count);
#endif
}

#if defined(RELAYOUT_HAS_PERMUTES)

// To rows that start anywhere, at least a vector of each.
template <int W, int K>
void deinterleave_shifted(const Byte *s, Byte *t, const Int *rows, int used, Int count, const Repeat &repeat,
                          bool starts, bool ends, Int ahead) {
    constexpr Int N = 64 / W;
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target;
    const auto add = [&](auto &strip, const Byte *from, Int j, const auto &use) {
        Vec64 x[K], y[K];
#pragma GCC unroll 16
        for (int o = 0; o < K; ++o) {
            if (ahead) prefetch(from + j * K * W + o * 64 + ahead);
            x[o] = Vec64::load(from + j * K * W + o * 64);
        }
        part<W>(x, y);
#pragma GCC unroll 16
        for (int k = 0; k < K; ++k)
            if (k < used) use(strip, k, y[k]);
    };
    for (Int r = 0; r < times; ++r, s += ss, t += ts) {
        ShiftedLines<W, K> strip;
        for (int k = 0; k < used; ++k) strip.start(k, t + rows[k], count * W, starts, ends);
        // What is not used behind the last element may be no memory.
        const Int whole = (used < K ? count - 1 : count) / N * N;
        Int j = 0;
        if (whole) add(strip, s, j, [](auto &lines, int k, Vec64 x) { lines.add_first(k, x); });
        for (j = N; j < whole; j += N) add(strip, s, j, [j](auto &lines, int k, Vec64 x) { lines.add(k, x, j * W); });
        const Int more = count - whole, bytes = more ? ((more - 1) * K + used) * W : 0;
        Vec64 x[K], y[K];
        for (int o = 0; o < K; ++o) x[o] = load_first_bytes(s + whole * K * W + o * 64, bytes - o * 64);
        part<W>(x, y);
        for (int k = 0; k < used; ++k) strip.finish(k, y[k], more, whole * W, starts, ends);
    }
}

template <int W>
void shifted_deinterleave(const Byte *s, Byte *t, const Int *rows, int ways, int used, Int count, const Repeat &repeat,
                          bool starts, bool ends, Int ahead) {
    if (count * W < 2 * cache_line || reinterpret_cast<std::uintptr_t>(t) % W)
        return deinterleave<W>(s, t, rows, ways, used, count, repeat, false, ahead);
    with_ways<W>(ways, [&](auto k) {
        deinterleave_shifted<W, decltype(k)::count>(s, t, rows, used, count, repeat, starts, ends, ahead);
    });
}

#endif

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
