#pragma once

// Kernels that turn rows into columns. Part of kernels.cpp.

#include <type_traits>

#include "kernels/runs.h"

namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {
namespace {

// The same address. Without it compilers keep all multiples of a step, which are more than there are registers.
template <typename T> inline T *hidden(T *p) {
    asm("" : "+r"(p));
    return p;
}

// Of rows and columns, the ones whose places are looked up. Others lie equally far apart.
enum class Listed { none, rows, both };

// One stage of perfect shuffles; log2(E) of them turn E rows of E elements, in each lane, into columns.
template <int W, typename V, int E> [[gnu::always_inline]] inline void shuffle(V (&x)[E]) {
    V y[E];
#pragma GCC unroll 16
    for (int i = 0; i < E / 2; ++i) {
        y[2 * i] = V::template zip_low<W>(x[i], x[i + E / 2]);
        y[2 * i + 1] = V::template zip_high<W>(x[i], x[i + E / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < E; ++i) x[i] = y[i];
}

// All of them.
template <int W, typename V> [[gnu::always_inline]] inline void shuffle_all(V (&x)[16 / W]) {
    if constexpr (W < 16) shuffle<W>(x);
    if constexpr (W < 8) shuffle<W>(x);
    if constexpr (W < 4) shuffle<W>(x);
    if constexpr (W < 2) shuffle<W>(x);
}

// V::bytes / W rows by 16 / W columns: every lane of a vector takes 16 / W of the rows.
template <int W, typename V, bool nontemporal>
inline void block(const Byte *const *rows, Int at, Byte *target, const Int *columns) {
    constexpr int E = 16 / W;
    V x[E];
#pragma GCC unroll 16
    for (int r = 0; r < E; ++r) x[r] = V::load_lanes(rows + r, E, at);
    shuffle_all<W>(x);
#pragma GCC unroll 16
    for (int c = 0; c < E; ++c) store_as<V, nontemporal>(x[c], target + columns[c]);
}

// The same for `width` columns, fewer than a lane has. What is read behind a row is inside the memory if another row
// ends there or later; other rows are copied first. Not inlined: its buffers would be on the stack of every block.
template <int W, typename V>
__attribute__((noinline)) void narrow_block(const Byte *const *rows, Int at, Byte *target, const Int *columns,
                                            Int width) {
    constexpr int E = 16 / W, R = V::bytes / W;
    const Byte *end = rows[0];
    for (int i = 1; i < R; ++i) end = rows[i] > end ? rows[i] : end;
    end += at + width * W;
    Byte copies[R][16];
    const Byte *readable[R];
    for (int i = 0; i < R; ++i) {
        const Byte *const row = rows[i] + at;
        if (row + 16 > end) copy(row, copies[i], width * W);
        readable[i] = row + 16 > end ? copies[i] : row;
    }
    alignas(64) Byte buffer[E * V::bytes];
    Int places[E];
    for (int c = 0; c < E; ++c) places[c] = c * V::bytes;
    block<W, V, false>(readable, 0, buffer, places);
    for (Int c = 0; c < width; ++c) V::load(buffer + c * V::bytes).store(target + columns[c]);
}

// All columns of V::bytes / W rows.
template <int W, typename V, bool nontemporal>
inline void band(const Byte *const *rows, Int at, Byte *target, const Int *columns, Int width) {
    constexpr Int E = 16 / W;
    Int j = 0;
    for (; j + E <= width; j += E) block<W, V, nontemporal>(rows, at + j * W, target, columns + j);
    if (j == width) return;
    if (width >= E) return block<W, V, nontemporal>(rows, at + (width - E) * W, target, columns + width - E);
    if (!nontemporal && width * W >= 8) return narrow_block<W, V>(rows, at, target, columns, width);
    for (j = 0; j < width; ++j)
        for (int i = 0; i < V::bytes / W; ++i) std::memcpy(target + columns[j] + i * W, rows[i] + at + j * W, W);
}

// As many columns as rows: whole vectors are loaded, and first their lanes are swapped.
template <int W, typename V, bool nontemporal>
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
        shuffle_all<W>(x[l]);
#pragma GCC unroll 16
        for (int c = 0; c < E; ++c) store_as<V, nontemporal>(x[l][c], target + columns[l * E + c]);
    }
}

// 64 / W rows: a cache line of the target for each column.
template <int W, typename V, bool nontemporal>
inline void lines(const Byte *const *rows, Int at, Byte *target, const Int *columns, Int width, Int ahead) {
    constexpr Int N = V::bytes / W;
    if (width < N) {
        if (ahead)
            for (Int r = 0; r < 64 / W; ++r) prefetch(rows[r] + at + width * W - 1 + ahead);
        for (Int i = 0; i < 64 / W; i += N) band<W, V, nontemporal>(rows + i, at, target + i * W, columns, width);
        return;
    }
    for (Int j = 0; j < width; j += N) {
        const Int first = least(j, width - N);
        for (Int i = 0; i < 64 / W; i += N)
            square<W, V, nontemporal>(rows + i, at + first * W, target + i * W, columns + first, ahead);
    }
}

// Such lines by non-temporal stores, for narrow elements, whose blocks have many columns: lines are put together first,
// so that few of them at a time go to memory, each in one piece.
template <int W>
inline void collected_lines(const Byte *const *rows, Int at, Byte *target, const Int *columns, Int width, Int ahead) {
    constexpr Int N = Vec32::bytes / W;
    alignas(64) Byte buffer[N * cache_line];
    Int places[N];
    for (Int c = 0; c < N; ++c) places[c] = c * cache_line;
    for (Int j = 0; j < width; j += N) {
        const Int first = width < N ? 0 : least(j, width - N), here = least(N, width);
        lines<W, Vec32, false>(rows, at + first * W, buffer, places, here, ahead);
        for (Int c = 0; c < here; ++c)
            Vec64::load(buffer + c * cache_line).store_nontemporal(target + columns[first + c]);
    }
}

template <int W, bool nontemporal>
void tall(const Byte *const *rows, Int height, Byte *target, const Int *columns, Int width, bool scattered, Int ahead) {
    constexpr Int R = 64 / W;
    // Strips of whole lines of the source, so that each is read once.
    for (Int j = 0; j < width; j += R) {
        const Int strip = least(R, width - j);
        if (nontemporal && W <= 2 && (scattered || WidestVec::bytes < cache_line)) {
            for (Int i = 0; i < height; i += R)
                collected_lines<W>(rows + i, j * W, target + i * W, columns + j, strip, ahead);
            continue;
        }
        for (Int i = 0; i < height; i += R) {
            const Int first = least(i, height - R);
            lines<W, WidestVec, nontemporal>(rows + first, j * W, target + first * W, columns + j, strip, ahead);
        }
    }
}

template <int W, typename V>
void short_bands(const Byte *const *rows, Int height, Byte *target, const Int *columns, Int width, bool nontemporal) {
    constexpr Int R = V::bytes / W;
    for (Int i = 0; i < height; i += R) {
        const Int first = least(i, height - R);
        if (nontemporal)
            band<W, V, true>(rows + first, 0, target + first * W, columns, width);
        else
            band<W, V, false>(rows + first, 0, target + first * W, columns, width);
    }
}

constexpr Int max_rows = 1024;

// Columns of `bytes` bytes, which lie `apart` bytes apart, in one or two parts.
template <typename Part>
inline void store_columns(const Byte *from, Int apart, Byte *target, const Int *columns, Int count, Int bytes) {
    const Int last = bytes - Int(sizeof(Part));
    for (Int c = 0; c < count; ++c, from += apart) {
        Byte *const to = target + columns[c];
        move<Part>(from, to);
        if (last > 0) move<Part>(from + last, to + last);
    }
}

// Up to R rows, whose columns are shorter than a vector: as many vectors are interleaved.
template <int W, int R>
inline void short_columns(const Byte *const *rows, Int height, Byte *target, const Int *columns, Int width) {
    constexpr Int E = 16 / W;
    for (Int j = 0; j < width; j += E) {
        const Int first = least(j, width - E);
        Vec16 x[R];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) x[r] = Vec16::load(rows[r < height ? r : 0] + first * W);
        shuffle<W>(x);
        if constexpr (R > 2) shuffle<W>(x);
        if constexpr (R > 4) shuffle<W>(x);
        if constexpr (R > 8) shuffle<W>(x);
        alignas(16) Byte buffer[R * 16];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) x[r].store(buffer + r * 16);
        const Int bytes = height * W;
        if (bytes >= 8)
            store_columns<std::uint64_t>(buffer, R * W, target, columns + first, E, bytes);
        else if (bytes >= 4)
            store_columns<std::uint32_t>(buffer, R * W, target, columns + first, E, bytes);
        else
            store_columns<std::uint16_t>(buffer, R * W, target, columns + first, E, bytes);
    }
}

template <int W>
__attribute__((noinline)) void few_rows(const Byte *const *rows, Int height, Byte *target, const Int *columns,
                                        Int width) {
    if (width * W >= 16 && height > 1) {
        if constexpr (W <= 8)
            if (height <= 2) return short_columns<W, 2>(rows, height, target, columns, width);
        if constexpr (W <= 4)
            if (height <= 4) return short_columns<W, 4>(rows, height, target, columns, width);
        if constexpr (W <= 2)
            if (height <= 8) return short_columns<W, 8>(rows, height, target, columns, width);
        if constexpr (W == 1) return short_columns<W, 16>(rows, height, target, columns, width);
    }
    for (Int j = 0; j < width; ++j)
        for (Int i = 0; i < height; ++i) std::memcpy(target + columns[j] + i * W, rows[i] + j * W, W);
}

template <int W>
void transpose(const Byte *source, const Int *row_offsets, Int height, Byte *target, const Int *columns, Int width,
               const Repeat &repeat, bool nontemporal, bool scattered, Int ahead) {
    const Byte *rows[max_rows];
    for (Int k = 0; k < repeat.count; ++k, source += repeat.source, target += repeat.target)
        for (Int base = 0; base < height; base += max_rows) {
            const Int here = least(max_rows, height - base);
            for (Int i = 0; i < here; ++i) rows[i] = source + row_offsets[base + i];
            Byte *to = target + base * W;
            if (here * W >= 64) {
                if (nontemporal)
                    tall<W, true>(rows, here, to, columns, width, scattered, ahead);
                else
                    tall<W, false>(rows, here, to, columns, width, scattered, ahead);
                continue;
            }
            if (ahead)
                for (Int i = 0; i < here; ++i)
                    for (Int at = 0; at < width * W; at += cache_line) prefetch(rows[i] + at + ahead);
            if (here * W >= 32)
                short_bands<W, Vec32>(rows, here, to, columns, width, nontemporal);
            else if (here * W >= 16)
                short_bands<W, Vec16>(rows, here, to, columns, width, nontemporal);
            else
                few_rows<W>(rows, here, to, columns, width);
        }
}

}  // namespace
}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
