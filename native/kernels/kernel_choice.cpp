#include "common/isa.h"
#include "kernels/kernels.h"

namespace relayout {

RELAYOUT_DECLARE_PER_ISA(extern const Kernels kernel_table;)

const Kernels &kernels_for(Isa isa) { return *RELAYOUT_FOR_ISA(kernel_table, isa); }

const Kernels &kernels() {
    static const Kernels &chosen = kernels_for(isa());
    return chosen;
}

}  // namespace relayout
