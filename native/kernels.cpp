#include "kernels.h"

#include <type_traits>

#include "lanes.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

constexpr Int line = 64;

Int least(Int a, Int b) { return a < b ? a : b; }

// ---- runs ----------------------------------------------------------------------------------------------------

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

inline Int to_line(const Byte *p) { return Int(-reinterpret_cast<std::uintptr_t>(p) % line); }

void flush(const Byte *s, Byte *d, Int length) {
    const Int head = least(length, to_line(d));
    if (head) copy(s, d, head);
    Int k = head;
    for (; k + line <= length; k += line) Vec64::load(s + k).stream(d + k);
    if (k < length) copy(s + k, d + k, length - k);
}

template <typename V, bool stream> void put(V x, Byte *d) {
    if constexpr (stream)
        x.stream(d);
    else
        x.store(d);
}

// Runs of one vector.
template <typename V, bool stream> void equal_runs(const Byte *s, Byte *d, const Repeat &strip, const Repeat &repeat, Int ahead) {
    const Int times = repeat.count, count = strip.count, ss = strip.source, ds = strip.target;
    for (Int r = 0; r < times; ++r) {
        const Byte *from = s + r * repeat.source;
        Byte *to = d + r * repeat.target;
        for (Int i = 0; i < count; ++i, from += ss, to += ds) {
            if (ahead) prefetch(from + ahead);
            put<V, stream>(V::load(from), to);
        }
    }
}

// Runs of two pieces, of which the second may overlap the first.
template <typename T> void double_runs(const Byte *s, Byte *d, const Repeat &strip, Int last, const Repeat &repeat, Int ahead) {
    const Int times = repeat.count, count = strip.count, ss = strip.source, ds = strip.target;
    for (Int r = 0; r < times; ++r) {
        const Byte *from = s + r * repeat.source;
        Byte *to = d + r * repeat.target;
        for (Int i = 0; i < count; ++i, from += ss, to += ds) {
            if (ahead) prefetch(from + ahead);
            const T a = T::load(from), b = T::load(from + last);
            a.store(to);
            b.store(to + last);
        }
    }
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

template <typename V> void streamed(const Byte *s, Byte *d, Int length, Int ahead) {
    for (Int k = 0; k < length; k += V::bytes) {
        if (ahead && k % line == 0) prefetch(s + k + ahead);
        V::load(s + k).stream(d + k);
    }
}

void runs(const Byte *s, Byte *d, const Repeat &strip, Int length, const Repeat &repeat, bool stream, Int ahead) {
    if (stream && length == 16) return equal_runs<Vec16, true>(s, d, strip, repeat, ahead);
    if (stream && length == 32) return equal_runs<Vec32, true>(s, d, strip, repeat, ahead);
    if (stream && length == 64) return equal_runs<Vec64, true>(s, d, strip, repeat, ahead);
    if (!stream && length == 16) return equal_runs<Vec16, false>(s, d, strip, repeat, ahead);
    if (!stream && length == 32) return equal_runs<Vec32, false>(s, d, strip, repeat, ahead);
    if (!stream && length == 64) return equal_runs<Vec64, false>(s, d, strip, repeat, ahead);
    if (!stream && length > 64 && length <= 128) return double_runs<Vec64>(s, d, strip, length - 64, repeat, ahead);
    if (!stream && length > 32 && length < 64) return double_runs<Vec32>(s, d, strip, length - 32, repeat, ahead);
    if (!stream && length > 16 && length < 32) return double_runs<Vec16>(s, d, strip, length - 16, repeat, ahead);
    if (length >= 8 && length < 16) return double_runs<Scalar<std::uint64_t>>(s, d, strip, length - 8, repeat, ahead);
    if (length >= 4 && length < 8) return double_runs<Scalar<std::uint32_t>>(s, d, strip, length - 4, repeat, ahead);
    if (length >= 2 && length < 4) return double_runs<Scalar<std::uint16_t>>(s, d, strip, length - 2, repeat, ahead);
    for (Int r = 0; r < repeat.count; ++r)
        for (Int i = 0; i < strip.count; ++i) {
            const Byte *from = s + r * repeat.source + i * strip.source;
            Byte *to = d + r * repeat.target + i * strip.target;
            if (stream && length < 512) {
                streamed<Vec16>(from, to, length, ahead);
            } else if (stream && (reinterpret_cast<std::uintptr_t>(to) | std::uintptr_t(length)) % 64 == 0) {
                streamed<Vec64>(from, to, length, ahead);
            } else if (stream) {
                if (ahead)
                    for (Int k = 0; k < length; k += line) prefetch(from + k + ahead);
                flush(from, to, length);
            } else {
                if (ahead)
                    for (Int k = 0; k < length; k += line) prefetch(from + k + ahead);
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

template <typename V, bool stream>
void masked_runs(const Byte *s, Byte *d, const Repeat &strip, Int valid, const Byte *pattern, const Repeat &repeat,
                 Int ahead) {
    const V rest = V::load(pattern);
    const std::uint64_t mask = (std::uint64_t(1) << valid) - 1;
    const Int times = repeat.count, count = strip.count, ss = strip.source, ds = strip.target;
    for (Int r = 0; r < times; ++r) {
        const Byte *from = s + r * repeat.source;
        Byte *to = d + r * repeat.target;
        for (Int i = 0; i < count; ++i, from += ss, to += ds) {
            if (ahead) prefetch(from + ahead);
            put<V, stream>(masked(from, mask, rest), to);
        }
    }
}

template <bool stream>
void masked_runs_of(const Byte *s, Byte *d, const Repeat &strip, Int valid, Int length, const Byte *pattern,
                    const Repeat &repeat, Int ahead) {
    if (length == 16) return masked_runs<Vec16, stream>(s, d, strip, valid, pattern, repeat, ahead);
    if (length == 32) return masked_runs<Vec32, stream>(s, d, strip, valid, pattern, repeat, ahead);
    return masked_runs<Vec64, stream>(s, d, strip, valid, pattern, repeat, ahead);
}

void padded_runs(const Byte *s, Byte *d, const Repeat &strip, Int valid, Int length, const Byte *pattern,
                 const Repeat &repeat, bool stream, Int ahead) {
    if (stream)
        masked_runs_of<true>(s, d, strip, valid, length, pattern, repeat, ahead);
    else
        masked_runs_of<false>(s, d, strip, valid, length, pattern, repeat, ahead);
}

constexpr PaddedRuns padded_runs_or_none = padded_runs;

#else

constexpr PaddedRuns padded_runs_or_none = nullptr;

#endif

// ---- transposing ---------------------------------------------------------------------------------------------

// One stage of perfect shuffles; log2(E) of them turn E rows of E elements, in each lane, into columns.
template <int W, typename V, int E> inline void shuffle(V (&x)[E]) {
    V y[E];
#pragma GCC unroll 16
    for (int i = 0; i < E / 2; ++i) {
        y[2 * i] = V::template low<W>(x[i], x[i + E / 2]);
        y[2 * i + 1] = V::template high<W>(x[i], x[i + E / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < E; ++i) x[i] = y[i];
}

// V::bytes / W rows by 16 / W columns: every lane of a vector takes 16 / W of the rows.
template <int W, typename V, bool stream>
inline void block(const Byte *const *rows, Int at, Byte *target, const Int *columns) {
    constexpr int E = 16 / W;
    V x[E];
#pragma GCC unroll 16
    for (int r = 0; r < E; ++r) x[r] = V::lanes(rows + r, E, at);
    shuffle<W>(x);
    if constexpr (E > 2) shuffle<W>(x);
    if constexpr (E > 4) shuffle<W>(x);
    if constexpr (E > 8) shuffle<W>(x);
#pragma GCC unroll 16
    for (int c = 0; c < E; ++c) put<V, stream>(x[c], target + columns[c]);
}

// All columns of V::bytes / W rows.
template <int W, typename V, bool stream>
inline void band(const Byte *const *rows, Int at, Byte *target, const Int *columns, Int width) {
    constexpr Int E = 16 / W;
    Int j = 0;
    for (; j + E <= width; j += E) block<W, V, stream>(rows, at + j * W, target, columns + j);
    if (j == width) return;
    if (width >= E) return block<W, V, stream>(rows, at + (width - E) * W, target, columns + width - E);
    for (j = 0; j < width; ++j)
        for (int i = 0; i < V::bytes / W; ++i) std::memcpy(target + columns[j] + i * W, rows[i] + at + j * W, W);
}

// As many columns as rows: whole vectors are loaded, and first their lanes are swapped.
template <int W, typename V, bool stream>
inline void square(const Byte *const *rows, Int at, Byte *target, const Int *columns, Int ahead) {
    constexpr int E = 16 / W, L = V::bytes / 16;
    V x[L][E];
#pragma GCC unroll 16
    for (int r = 0; r < E; ++r) {
        V y[L];
#pragma GCC unroll 4
        for (int l = 0; l < L; ++l) {
            const Byte *from = rows[r + l * E] + at;
            if (ahead) prefetch(from + V::bytes - 1 + ahead);
            y[l] = V::load(from);
        }
        V::swap_lanes(y);
#pragma GCC unroll 4
        for (int l = 0; l < L; ++l) x[l][r] = y[l];
    }
#pragma GCC unroll 4
    for (int l = 0; l < L; ++l) {
        shuffle<W>(x[l]);
        if constexpr (E > 2) shuffle<W>(x[l]);
        if constexpr (E > 4) shuffle<W>(x[l]);
        if constexpr (E > 8) shuffle<W>(x[l]);
#pragma GCC unroll 16
        for (int c = 0; c < E; ++c) put<V, stream>(x[l][c], target + columns[l * E + c]);
    }
}

// 64 / W rows: a line of the target for each column.
template <int W, typename V, bool stream>
inline void lines(const Byte *const *rows, Int at, Byte *target, const Int *columns, Int width, Int ahead) {
    constexpr Int N = V::bytes / W;
    if (width < N) {
        if (ahead)
            for (Int r = 0; r < 64 / W; ++r) prefetch(rows[r] + at + width * W - 1 + ahead);
        for (Int i = 0; i < 64 / W; i += N) band<W, V, stream>(rows + i, at, target + i * W, columns, width);
        return;
    }
    for (Int j = 0; j < width; j += N) {
        const Int first = least(j, width - N);
        for (Int i = 0; i < 64 / W; i += N)
            square<W, V, stream>(rows + i, at + first * W, target + i * W, columns + first, ahead);
    }
}

// The same, around the cache, for narrow elements, whose blocks have many columns: lines are put together first, so that
// few of them at a time go to memory, each in one piece.
template <int W>
inline void collected_lines(const Byte *const *rows, Int at, Byte *target, const Int *columns, Int width, Int ahead) {
    constexpr Int N = Vec32::bytes / W;
    alignas(64) Byte buffer[N * line];
    Int places[N];
    for (Int c = 0; c < N; ++c) places[c] = c * line;
    for (Int j = 0; j < width; j += N) {
        const Int first = width < N ? 0 : least(j, width - N), here = least(N, width);
        lines<W, Vec32, false>(rows, at + first * W, buffer, places, here, ahead);
        for (Int c = 0; c < here; ++c) Vec64::load(buffer + c * line).stream(target + columns[first + c]);
    }
}

template <int W, bool stream>
void tall(const Byte *const *rows, Int height, Byte *target, const Int *columns, Int width, bool scattered, Int ahead) {
    constexpr Int R = 64 / W;
    // Strips of whole lines of the source, so that each is read once.
    for (Int j = 0; j < width; j += R) {
        const Int strip = least(R, width - j);
        if (stream && W <= 2 && (scattered || Wide::bytes < line)) {
            for (Int i = 0; i < height; i += R)
                collected_lines<W>(rows + i, j * W, target + i * W, columns + j, strip, ahead);
            continue;
        }
        for (Int i = 0; i < height; i += R) {
            const Int first = least(i, height - R);
            lines<W, Wide, stream>(rows + first, j * W, target + first * W, columns + j, strip, ahead);
        }
    }
}

template <int W, typename V>
void short_bands(const Byte *const *rows, Int height, Byte *target, const Int *columns, Int width, bool stream) {
    constexpr Int R = V::bytes / W;
    for (Int i = 0; i < height; i += R) {
        const Int first = least(i, height - R);
        if (stream)
            band<W, V, true>(rows + first, 0, target + first * W, columns, width);
        else
            band<W, V, false>(rows + first, 0, target + first * W, columns, width);
    }
}

constexpr Int max_rows = 1024;

template <int W>
void transpose(const Byte *source, const Int *row_offsets, Int height, Byte *target, const Int *columns, Int width,
               const Repeat &repeat, bool stream, bool scattered, Int ahead) {
    const Byte *rows[max_rows];
    for (Int k = 0; k < repeat.count; ++k, source += repeat.source, target += repeat.target)
        for (Int base = 0; base < height; base += max_rows) {
            const Int here = least(max_rows, height - base);
            for (Int i = 0; i < here; ++i) rows[i] = source + row_offsets[base + i];
            Byte *to = target + base * W;
            if (here * W >= 64) {
                if (stream)
                    tall<W, true>(rows, here, to, columns, width, scattered, ahead);
                else
                    tall<W, false>(rows, here, to, columns, width, scattered, ahead);
                continue;
            }
            if (ahead)
                for (Int i = 0; i < here; ++i)
                    for (Int at = 0; at < width * W; at += line) prefetch(rows[i] + at + ahead);
            if (here * W >= 32)
                short_bands<W, Vec32>(rows, here, to, columns, width, stream);
            else if (here * W >= 16)
                short_bands<W, Vec16>(rows, here, to, columns, width, stream);
            else
                for (Int j = 0; j < width; ++j)
                    for (Int i = 0; i < here; ++i) std::memcpy(to + columns[j] + i * W, rows[i] + j * W, W);
        }
}

#if defined(__AVX512BW__)

// Columns that start within a line: every line is made of the end of one block and the start of the next.
template <int W> struct Shifted {
    static constexpr int N = 64 / W, E = 16 / W;
    using Index = std::conditional_t<W == 4, std::uint32_t, std::uint64_t>;
    Vec64 before[N], index[N];
    Byte *to[N];
    Int lead[N];

    void start(Byte *target, const Int *columns) {
        for (int c = 0; c < N; ++c) {
            lead[c] = Int(reinterpret_cast<std::uintptr_t>(target + columns[c]) % 64);
            to[c] = target + columns[c] - lead[c];
            alignas(64) Index places[N];
            const int e = int(lead[c]) / W;
            for (int i = 0; i < N; ++i) places[i] = Index(i < e ? N - e + i : N + i - e);
            index[c] = Vec64::load(reinterpret_cast<const Byte *>(places));
        }
    }

    // The next N rows. Of the first line only what belongs to the column is written.
    template <bool first> void block(const Byte *const *rows, Int at, const Byte *const *coming) {
        Vec64 x[4][E];
#pragma GCC unroll 16
        for (int r = 0; r < E; ++r) {
            Vec64 y[4];
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l) {
                prefetch(coming[r + l * E] + at + 63);
                y[l] = Vec64::load(rows[r + l * E] + at);
            }
            Vec64::swap_lanes(y);
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l) x[l][r] = y[l];
        }
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l) {
            shuffle<W>(x[l]);
            if constexpr (E > 2) shuffle<W>(x[l]);
#pragma GCC unroll 16
            for (int k = 0; k < E; ++k) {
                const int c = l * E + k;
                const Vec64 whole = Vec64::pick<W>(first ? x[l][k] : before[c], index[c], x[l][k]);
                if (first)
                    _mm512_mask_storeu_epi8(to[c], ~std::uint64_t(0) << lead[c], whole.v);
                else
                    whole.stream(to[c]);
                before[c] = x[l][k];
                to[c] += 64;
            }
        }
    }

    // What is left of the last block.
    void finish() {
        for (int c = 0; c < N; ++c)
            if (lead[c])
                _mm512_mask_storeu_epi8(to[c], (std::uint64_t(1) << lead[c]) - 1,
                                        Vec64::pick<W>(before[c], index[c], before[c]).v);
    }
};

template <int W>
void shifted(const Byte *source, const Int *row_offsets, Int height, Byte *target, const Int *columns, Int width,
             const Repeat &repeat, bool, bool, Int ahead) {
    using Columns = Shifted<W>;
    constexpr Int N = Columns::N, distance = 64;
    if (height < 2 * N || height > max_rows || width < N || repeat.count != 1 ||
        reinterpret_cast<std::uintptr_t>(target) % W)
        return transpose<W>(source, row_offsets, height, target, columns, width, repeat, false, false, ahead);
    const Byte *rows[max_rows + distance];
    for (Int i = 0; i < height; ++i) rows[i] = source + row_offsets[i];
    for (Int i = 0; i < distance; ++i) rows[height + i] = rows[i] + ahead;
    const Int blocks = height / N;
    for (Int j = 0; j < width; j += N) {
        const Int at = least(j, width - N);
        Columns strip;
        strip.start(target, columns + at);
        strip.template block<true>(rows, at * W, rows + distance);
        for (Int i = 1; i < blocks; ++i) strip.template block<false>(rows + i * N, at * W, rows + i * N + distance);
        strip.finish();
        if (height % N)
            lines<W, Vec64, false>(rows + height - N, at * W, target + (height - N) * W, columns + at, N, 0);
    }
}

#endif

// ---- weaving few rows into one, and back ---------------------------------------------------------------------

template <int W>
void weave_plainly(const Byte *source, Byte *target, const Int *rows, int ways, Int from, Int count) {
    for (Int j = from; j < count; ++j)
        for (int k = 0; k < ways; ++k) std::memcpy(target + (j * ways + k) * W, source + rows[k] + j * W, W);
}

template <int W>
void unweave_plainly(const Byte *source, Byte *target, const Int *rows, int ways, int used, Int from, Int count) {
    for (Int j = from; j < count; ++j)
        for (int k = 0; k < used; ++k) std::memcpy(target + rows[k] + j * W, source + (j * ways + k) * W, W);
}

#if defined(__SSSE3__) || defined(__ARM_NEON)
#define RELAYOUT_HAS_LOOKUP

// The bytes of x that `index` names; 0 where it names none (128).
inline Vec16 lookup(Vec16 x, Vec16 index) {
#if defined(__SSSE3__)
    return {_mm_shuffle_epi8(x.v, index.v)};
#else
    return {vqtbl1q_u8(x.v, index.v)};
#endif
}

inline Vec16 either(Vec16 a, Vec16 b) {
#if defined(__SSSE3__)
    return {_mm_or_si128(a.v, b.v)};
#else
    return {vorrq_u8(a.v, b.v)};
#endif
}

// Which bytes of row k the o-th vector of the woven rows takes, and the other way round.
template <int W, int K> struct Indices {
    Byte woven[K][K][16], unwoven[K][K][16];

    constexpr Indices() : woven{}, unwoven{} {
        for (int o = 0; o < K; ++o)
            for (int k = 0; k < K; ++k)
                for (int b = 0; b < 16; ++b) {
                    const int e = (o * 16 + b) / W;
                    woven[o][k][b] = e % K == k ? Byte(e / K * W + b % W) : Byte(128);
                    const int place = (b / W * K + o) * W + b % W;
                    unwoven[o][k][b] = place / 16 == k ? Byte(place % 16) : Byte(128);
                }
    }
};

template <int W, int K> alignas(64) constexpr Indices<W, K> indices{};

template <int W, int K, bool stream>
Int weave_ways(const Byte *source, Byte *target, const Int *rows, Int count, Int ahead) {
    constexpr Int E = 16 / W;
    Int j = 0;
    for (; j + E <= count; j += E, target += K * 16) {
        Vec16 x[K];
#pragma GCC unroll 8
        for (int k = 0; k < K; ++k) {
            const Byte *from = source + rows[k] + j * W;
            if (ahead && (j / E) % 4 == 0) prefetch(from + ahead);
            x[k] = Vec16::load(from);
        }
        if constexpr (K == 2 || K == 4 || K == 8) {
            shuffle<W>(x);
            if constexpr (K > 2) shuffle<W>(x);
            if constexpr (K > 4) shuffle<W>(x);
#pragma GCC unroll 8
            for (int o = 0; o < K; ++o) put<Vec16, stream>(x[o], target + o * 16);
        } else {
#pragma GCC unroll 8
            for (int o = 0; o < K; ++o) {
                Vec16 y = lookup(x[0], Vec16::load(indices<W, K>.woven[o][0]));
#pragma GCC unroll 8
                for (int k = 1; k < K; ++k) y = either(y, lookup(x[k], Vec16::load(indices<W, K>.woven[o][k])));
                put<Vec16, stream>(y, target + o * 16);
            }
        }
    }
    return j;
}

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

template <int W, int K, bool stream>
Int unweave_ways(const Byte *source, Byte *target, const Int *rows, int used, Int count, Int ahead) {
    constexpr Int E = 16 / W;
    Int j = 0;
    // What is not used behind the last element may be no memory.
    const Int last = used < K ? count - 1 : count;
    for (; j + E <= last; j += E, source += K * 16) {
        Vec16 x[K];
#pragma GCC unroll 8
        for (int o = 0; o < K; ++o) x[o] = Vec16::load(source + o * 16);
        if (ahead)
            for (int o = 0; o < K; o += 4) prefetch(source + o * 16 + ahead);
        if constexpr ((K == 2 || K == 4 || K == 8) && K * W <= 16) {
            constexpr int G = 16 / K;
            if constexpr (G > W) {
#pragma GCC unroll 8
                for (int o = 0; o < K; ++o) x[o] = lookup(x[o], Vec16::load(grouping<W, K>.index));
            }
            shuffle<G>(x);
            if constexpr (K > 2) shuffle<G>(x);
            if constexpr (K > 4) shuffle<G>(x);
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k)
                if (k < used) put<Vec16, stream>(x[k], target + rows[k] + j * W);
        } else {
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k) {
                if (k >= used) break;
                Vec16 y = lookup(x[0], Vec16::load(indices<W, K>.unwoven[k][0]));
#pragma GCC unroll 8
                for (int o = 1; o < K; ++o) y = either(y, lookup(x[o], Vec16::load(indices<W, K>.unwoven[k][o])));
                put<Vec16, stream>(y, target + rows[k] + j * W);
            }
        }
    }
    return j;
}

template <int W, int K, bool stream>
void weave_all(const Byte *s, Byte *t, const Int *rows, Int count, const Repeat &repeat, Int ahead) {
    // So many elements of each row, at least a vector, fill whole lines; K * W has a power of 2 in it.
    constexpr Int whole = line / (K * W & -(K * W));
    constexpr Int E = whole * W < 16 ? 16 / W : whole;
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target;
    for (Int r = 0; r < times; ++r, s += ss, t += ts) {
        Int done = 0;
        if constexpr (stream) {
            // From the first element at the start of a line on, whole lines go around the cache.
            Int first = 0;
            while (first < line && reinterpret_cast<std::uintptr_t>(t + first * K * W) % line) ++first;
            if (first < line && first + E <= count) {
                weave_plainly<W>(s, t, rows, K, 0, first);
                done = first + (count - first) / E * E;
                weave_ways<W, K, true>(s + first * W, t + first * K * W, rows, done - first, ahead);
            }
        }
        const Byte *from = s + done * W;
        Byte *to = t + done * K * W;
        const Int more = weave_ways<W, K, false>(from, to, rows, count - done, ahead);
        weave_plainly<W>(from, to, rows, K, more, count - done);
    }
}

// Around the cache, where rows lie a page apart, a line of each is put together first: parts of such lines do not wait
// side by side.
template <int W, int K>
Int unweave_lines(const Byte *s, Byte *t, const Int *rows, int used, Int count, Int ahead) {
    constexpr Int E = line / W;
    alignas(64) Byte buffer[K * line];
    Int places[K];
    for (int k = 0; k < K; ++k) places[k] = k * line;
    Int j = 0;
    for (; j + E < count; j += E) {
        // One more element is there, so that nothing behind the last is read.
        unweave_ways<W, K, false>(s + j * K * W, buffer, places, used, E + 1, ahead);
        for (int k = 0; k < used; ++k) Vec64::load(buffer + k * line).stream(t + rows[k] + j * W);
    }
    return j;
}

// The same where a line is made of several repetitions.
template <int W, int K>
void unweave_joined(const Byte *s, Byte *t, const Int *rows, Int count, Int per_line, const Repeat &repeat, Int ahead) {
    alignas(64) Byte buffer[K * line];
    Int places[K];
    for (int k = 0; k < K; ++k) places[k] = k * line;
    const Int times = repeat.count, ss = repeat.source;
    for (Int r = 0; r < times; r += per_line, t += line) {
        for (Int q = 0; q < per_line; ++q, s += ss)
            unweave_ways<W, K, false>(s, buffer + q * count * W, places, K, count, ahead);
        for (int k = 0; k < K; ++k) Vec64::load(buffer + k * line).stream(t + rows[k]);
    }
}

template <int W, int K, bool stream>
void unweave_all(const Byte *s, Byte *t, const Int *rows, int used, Int count, const Repeat &repeat, Int ahead) {
    const Int times = repeat.count, ss = repeat.source, ts = repeat.target, bytes = count * W;
    const bool apart = stream && used > 1 && (rows[1] - rows[0]) % 4096 == 0;
    if (apart && used == K && bytes % 16 == 0 && bytes < line && ts == bytes && times * bytes % line == 0)
        return unweave_joined<W, K>(s, t, rows, count, line / bytes, repeat, ahead);
    const bool lines = apart && bytes % line == 0;
    for (Int r = 0; r < times; ++r, s += ss, t += ts) {
        const Int done = lines ? unweave_lines<W, K>(s, t, rows, used, count, ahead) : 0;
        const Byte *from = s + done * K * W;
        Byte *to = t + done * W;
        const Int more = unweave_ways<W, K, stream>(from, to, rows, used, count - done, ahead);
        unweave_plainly<W>(from, to, rows, K, used, more, count - done);
    }
}

template <int W, bool stream>
void weave_any(const Byte *s, Byte *t, const Int *rows, int ways, Int count, const Repeat &repeat, Int ahead) {
    switch (ways) {
        case 2: return weave_all<W, 2, stream>(s, t, rows, count, repeat, ahead);
        case 3: return weave_all<W, 3, stream>(s, t, rows, count, repeat, ahead);
        case 4: return weave_all<W, 4, stream>(s, t, rows, count, repeat, ahead);
        case 5: return weave_all<W, 5, stream>(s, t, rows, count, repeat, ahead);
        case 6: return weave_all<W, 6, stream>(s, t, rows, count, repeat, ahead);
        case 7: return weave_all<W, 7, stream>(s, t, rows, count, repeat, ahead);
        default: return weave_all<W, 8, stream>(s, t, rows, count, repeat, ahead);
    }
}

template <int W, bool stream>
void unweave_any(const Byte *s, Byte *t, const Int *rows, int ways, int used, Int count, const Repeat &repeat,
                 Int ahead) {
    switch (ways) {
        case 2: return unweave_all<W, 2, stream>(s, t, rows, used, count, repeat, ahead);
        case 3: return unweave_all<W, 3, stream>(s, t, rows, used, count, repeat, ahead);
        case 4: return unweave_all<W, 4, stream>(s, t, rows, used, count, repeat, ahead);
        case 5: return unweave_all<W, 5, stream>(s, t, rows, used, count, repeat, ahead);
        case 6: return unweave_all<W, 6, stream>(s, t, rows, used, count, repeat, ahead);
        case 7: return unweave_all<W, 7, stream>(s, t, rows, used, count, repeat, ahead);
        default: return unweave_all<W, 8, stream>(s, t, rows, used, count, repeat, ahead);
    }
}

#endif

template <int W>
void weave(const Byte *s, Byte *t, const Int *rows, int ways, Int count, const Repeat &repeat,
           [[maybe_unused]] bool stream, [[maybe_unused]] Int ahead) {
#if defined(RELAYOUT_HAS_LOOKUP)
    if (stream)
        weave_any<W, true>(s, t, rows, ways, count, repeat, ahead);
    else
        weave_any<W, false>(s, t, rows, ways, count, repeat, ahead);
#else
    for (Int r = 0; r < repeat.count; ++r)
        weave_plainly<W>(s + r * repeat.source, t + r * repeat.target, rows, ways, 0, count);
#endif
}

template <int W>
void unweave(const Byte *s, Byte *t, const Int *rows, int ways, int used, Int count, const Repeat &repeat,
             [[maybe_unused]] bool stream, [[maybe_unused]] Int ahead) {
#if defined(RELAYOUT_HAS_LOOKUP)
    if (stream)
        unweave_any<W, true>(s, t, rows, ways, used, count, repeat, ahead);
    else
        unweave_any<W, false>(s, t, rows, ways, used, count, repeat, ahead);
#else
    for (Int r = 0; r < repeat.count; ++r)
        unweave_plainly<W>(s + r * repeat.source, t + r * repeat.target, rows, ways, used, 0, count);
#endif
}

// ---- element by element, and whole lines ---------------------------------------------------------------------

template <int W> void scatter(const Byte *source, Byte *target, const Repeat &strip, const Repeat &repeat) {
    const Int times = repeat.count, count = strip.count, ss = strip.source, ts = strip.target;
    for (Int i = 0; i < times; ++i) {
        const Byte *s = source + i * repeat.source;
        Byte *t = target + i * repeat.target;
        for (Int j = 0; j < count; ++j, s += ss, t += ts) std::memcpy(t, s, W);
    }
}

void fill(Byte *d, Int length, const Byte *pattern) {
    if (length < 16) {
        for (Int k = 0; k < length; ++k) d[k] = pattern[k];
        return;
    }
    const Vec16 x = Vec16::load(pattern);
    for (Int k = 0; k + 16 <= length; k += 16) x.store(d + k);
    Vec16::load(pattern + length % 16).store(d + length - 16);
}

// Ask for lines that are to be written.
void touch(Byte *target, Int length) {
    for (Int k = 0; k < length; k += line) __builtin_prefetch(target + k, 1, 2);
}

void all_stored() { fence(); }

}  // namespace

extern const Kernels table;
const Kernels table = {runs,
                       padded_runs_or_none,
                       {transpose<1>, transpose<2>, transpose<4>, transpose<8>},
#if defined(__AVX512BW__)
                       {nullptr, nullptr, shifted<4>, shifted<8>},
#else
                       {},
#endif
                       {weave<1>, weave<2>, weave<4>, weave<8>},
                       {unweave<1>, unweave<2>, unweave<4>, unweave<8>},
                       {scatter<1>, scatter<2>, scatter<4>, scatter<8>, scatter<16>},
                       flush,
                       fill,
                       touch,
                       all_stored};

}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
