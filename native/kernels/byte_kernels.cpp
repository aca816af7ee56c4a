#include "kernels/byte_kernels.h"

#include "kernels/deinterleaves.h"
#include "kernels/interleaves.h"

// Compiled once for every instruction set.
namespace relayout {
namespace RELAYOUT_ISA_NAMESPACE {

extern const ByteKernels byte_table;
const ByteKernels byte_table = {interleave<1>, deinterleave<1>, has_permutes<1>};

}  // namespace RELAYOUT_ISA_NAMESPACE
}  // namespace relayout
