#pragma once

#include "bytes.h"

namespace relayout {

// `runs` copies `count` runs of `length` bytes that are `source_step` and `target_step` bytes apart.
using Runs = void (*)(const Byte *source, Byte *target, Int count, Int source_step, Int target_step, Int length,
                      bool stream, Int ahead);

// Element j of row i, at source + rows[i] + j * W, goes to target + columns[j] + i * W.
using Transpose = void (*)(const Byte *source, const Int *rows, Int height, Byte *target, const Int *columns,
                           Int width, bool stream, bool pack, Int ahead);

// `weave`: element j of row k, at source + rows[k] + j * W, goes to target + (j * ways + k) * W; `unweave` is its
// inverse: element j * ways + k of the source goes to target + rows[k] + j * W.
using Weave = void (*)(const Byte *source, Byte *target, const Int *rows, int ways, Int count, bool stream, Int ahead);

// One element of a grid: `inner` steps for each of `outer`.
struct Grid {
    Int outer, outer_source, outer_target;
    Int inner, inner_source, inner_target;
};
using Scatter = void (*)(const Byte *source, Byte *target, const Grid &grid);

// What moves bytes, compiled once for every instruction set. With `stream` stores go around the cache: the target is
// then aligned, to 64 bytes where whole lines are written, else to 16. `ahead` is added to the addresses that are
// prefetched; 0 means none are. The index of a width W is its logarithm: 1, 2, 4, 8, 16 bytes.
struct Kernels {
    Runs runs;
    Transpose transpose[4];
    Weave weave[4];
    Weave unweave[4];
    Scatter scatter[5];
    void (*flush)(const Byte *source, Byte *target, Int length);
    void (*fill)(Byte *target, Int length, const Byte *pattern, bool stream);
    void (*fence)();
};

const Kernels &kernels();

constexpr int max_ways = 15;

}  // namespace relayout
