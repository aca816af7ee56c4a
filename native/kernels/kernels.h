#pragma once

#include "common/bytes.h"
#include "common/isa.h"

// What moves bytes: functions that copy a tile, or a part of it, compiled once for every instruction set.
namespace relayout {

// A kernel does the same so many times, these many bytes further on each time. It is passed by reference: what is
// written on the stack in parts and read as a whole waits for all stores under way, and non-temporal ones take long.
struct Repeat {
    Int count, source, target;
};

// Runs of `length` bytes, for each repetition, for each of `strip`.
using RunsKernel = void (*)(const Byte *source, Byte *target, const Repeat &strip, Int length, const Repeat &repeat,
                            bool nontemporal, Int ahead);

// Runs of 16, 32 or 64 bytes of which only the first `valid` are read; the rest becomes the pattern, which
// has 64 bytes.
using PaddedRunsKernel = void (*)(const Byte *source, Byte *target, const Repeat &strip, Int valid, Int length,
                                  const Byte *pattern, const Repeat &repeat, bool nontemporal, Int ahead);

// Element j of row i, at source + rows[i] + j * W, goes to target + columns[j] + i * W. `scattered`: the columns are no
// neighbours in the target.
using TransposeKernel = void (*)(const Byte *source, const Int *rows, Int height, Byte *target, const Int *columns,
                                 Int width, const Repeat &repeat, bool nontemporal, bool scattered, Int ahead);

// The same for columns and rows of at least 16 bytes, by blocks that stay in registers. `column_step` and `row_step`
// say how far apart they lie if equally far, where columns then go on from the target; else they are 0. Row by row, or
// `down` the columns; by blocks of the widest vectors, or of 32 bytes where elements have less than 16. Rows may be
// shorter where columns have 64 bytes and the kernels turn narrow ones.
using BlockTransposeKernel = void (*)(const Byte *source, const Int *rows, Int row_step, Int height, Byte *target,
                                      const Int *columns, Int column_step, Int width, const Repeat &repeat, bool down,
                                      bool wide);

// Rows become columns by non-temporal stores of whole lines, wherever columns start. The lines at the ends of columns
// that have others' bytes as well are written by plain stores, unless neither `starts` nor `ends` wants them.
using ShiftedTransposeKernel = void (*)(const Byte *source, const Int *rows, Int height, Byte *target,
                                        const Int *columns, Int width, const Repeat &repeat, bool starts, bool ends,
                                        Int ahead);

// Element j of row k of 2 to 8, or to 15 of single bytes where they are parted wide, at source + rows[k] + j * W, goes
// to target + (j * ways + k) * W, at any address.
using InterleaveKernel = void (*)(const Byte *source, Byte *target, const Int *rows, int ways, Int count,
                                  const Repeat &repeat, bool nontemporal, Int ahead);

// The inverse: element j * ways + k of the source goes to target + rows[k] + j * W, for k below `used`.
using DeinterleaveKernel = void (*)(const Byte *source, Byte *target, const Int *rows, int ways, int used, Int count,
                                    const Repeat &repeat, bool nontemporal, Int ahead);

// The same by non-temporal stores of whole lines, as a shifted transpose does.
using ShiftedDeinterleaveKernel = void (*)(const Byte *source, Byte *target, const Int *rows, int ways, int used,
                                           Int count, const Repeat &repeat, bool starts, bool ends, Int ahead);

// Rows of `bytes` bytes go side by side, `pitch` bytes apart, and as many of those that are `coming`, from `later` on,
// are prefetched.
using CollectKernel = void (*)(const Byte *source, const Int *rows, const Byte *later, const Int *coming, Int count,
                               Byte *target, Int pitch, Int bytes);

// Single elements, for each repetition, for each of `strip`.
using ScatterKernel = void (*)(const Byte *source, Byte *target, const Repeat &strip, const Repeat &repeat);

// The kernels of one instruction set; some of single bytes come from byte_kernels.h. With `nontemporal` a kernel writes
// by non-temporal stores, which go around the cache: the target is then aligned, to 64 bytes where whole cache lines
// are written, else to 16. `ahead` is added to the addresses that are prefetched; 0 means none are. The index of a
// width W is its logarithm: 1, 2, 4, 8, 16 bytes.
struct Kernels {
    bool nontemporal_stores;  // else the kernels write by plain stores whatever they are told
    RunsKernel runs;
    PaddedRunsKernel padded_runs;  // null where loads have no mask
    TransposeKernel transpose[5];
    BlockTransposeKernel block_transpose[5];
    bool turns_narrow;                            // rows of less than 16 bytes too, of elements of less than 8
    ShiftedTransposeKernel shifted_transpose[5];  // null where it does not pay
    InterleaveKernel interleave[4];
    DeinterleaveKernel deinterleave[4];
    bool parts_wide[4];  // rows of a cache line and more are parted as fast as shorter ones
    ShiftedDeinterleaveKernel shifted_deinterleave[4];  // null where it does not pay
    ScatterKernel scatter[5];
    CollectKernel collect;
    void (*copy_nontemporal)(const Byte *source, Byte *target, Int length);  // to any address
    void (*fill)(Byte *target, Int length, const Byte *pattern);             // of 64 bytes, the first 16 four times
    void (*prefetch_for_write)(Byte *target, Int length);
    void (*store_fence)();  // non-temporal stores before it are seen before stores behind it
};

const Kernels &kernels_for(Isa isa);

// Those of the best instruction set that may be used here.
const Kernels &kernels();

}  // namespace relayout
