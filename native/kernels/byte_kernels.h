#pragma once

#include "common/isa.h"
#include "kernels/kernels.h"

// Kernels of single bytes that are faster where bytes of two vectors change places in one instruction.
namespace relayout {

struct ByteKernels {
    InterleaveKernel interleave;
    DeinterleaveKernel deinterleave;
    bool parts_wide;
};

}  // namespace relayout
