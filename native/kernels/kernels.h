#pragma once

#include "common/bytes.h"

namespace relayout {

// A kernel does the same so many times, these many bytes further on each time. It is passed by reference: what is written
// on the stack in parts and read as a whole waits for all stores under way, and around the cache those take long.
struct Repeat {
    Int count, source, target;
};

// Runs of `length` bytes, for each repetition, for each of `strip`.
using Runs = void (*)(const Byte *source, Byte *target, const Repeat &strip, Int length,
                      const Repeat &repeat, bool stream, Int ahead);

// Runs of 16, 32 or 64 bytes of which only the first `valid` are read; the rest becomes the pattern, which
// has 64 bytes.
using PaddedRuns = void (*)(const Byte *source, Byte *target, const Repeat &strip, Int valid, Int length,
                            const Byte *pattern, const Repeat &repeat, bool stream, Int ahead);

// Element j of row i, at source + rows[i] + j * W, goes to target + columns[j] + i * W. `scattered`: the columns are no
// neighbours in the target.
using Transpose = void (*)(const Byte *source, const Int *rows, Int height, Byte *target, const Int *columns,
                           Int width, const Repeat &repeat, bool stream, bool scattered, Int ahead);

// Element j of row k, at source + rows[k] + j * W, goes to target + (j * ways + k) * W, at any address.
using Weave = void (*)(const Byte *source, Byte *target, const Int *rows, int ways, Int count, const Repeat &repeat,
                       bool stream, Int ahead);

// The inverse: element j * ways + k of the source goes to target + rows[k] + j * W, for k below `used`.
using Unweave = void (*)(const Byte *source, Byte *target, const Int *rows, int ways, int used, Int count,
                         const Repeat &repeat, bool stream, Int ahead);

// Single elements, for each repetition, for each of `strip`.
using Scatter = void (*)(const Byte *source, Byte *target, const Repeat &strip, const Repeat &repeat);

// What moves bytes, compiled once for every instruction set. With `stream` stores go around the cache: the target is
// then aligned, to 64 bytes where whole lines are written, else to 16. `ahead` is added to the addresses that are
// prefetched; 0 means none are. The index of a width W is its logarithm: 1, 2, 4, 8, 16 bytes.
struct Kernels {
    Runs runs;
    PaddedRuns padded_runs;  // null where loads have no mask
    Transpose transpose[4];
    Transpose shifted[4];  // around the cache, to columns that start anywhere; null where that does not pay
    Weave weave[4];
    Unweave unweave[4];
    Scatter scatter[5];
    void (*flush)(const Byte *source, Byte *target, Int length);
    void (*fill)(Byte *target, Int length, const Byte *pattern);
    void (*touch)(Byte *target, Int length);
    void (*fence)();
};

const Kernels &kernels();

}  // namespace relayout
