#pragma once

#include "common/bytes.h"
#include "common/isa.h"

namespace relayout {

// Element types that are converted; bool has a byte, and any but 0 is true.
enum class Dtype {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64
};

// Whether values are scaled, and if so by one factor and offset for all elements or by an entry for each.
enum class Scaling { none, same, each };

// `count` elements of one type to as many of another; at any address, both apart from each other. Returns whether a NaN
// became an integer.
using ConvertKernel = bool (*)(const Byte *source, Byte *target, Int count, const float *factor, const float *offset);

// The kernel for two types, or null where there is none. Plain conversions give the bits that numpy and ml_dtypes give.
// Scaled ones have float32 at one end: integers become (x - offset) * factor, and float32 becomes x * factor + offset,
// rounded to nearest even and put into the range of the type, NaN to its upper end.
RELAYOUT_DECLARE_PER_ISA(ConvertKernel find_convert_kernel(Dtype source, Dtype target, Scaling scaling);)

}  // namespace relayout
