#include "common/isa.h"
#include "kernels/kernels.h"

namespace relayout {

RELAYOUT_DECLARE_PER_ISA(extern const Kernels kernel_table;)

const Kernels &kernels() {
    static const Kernels &chosen = *RELAYOUT_FOR_ISA(kernel_table, isa());
    return chosen;
}

}  // namespace relayout
