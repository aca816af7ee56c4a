#include "common/isa.h"
#include "kernels/byte_kernels.h"
#include "kernels/gather_kernels.h"
#include "kernels/kernels.h"
#include "kernels/network_kernels.h"

namespace relayout {

RELAYOUT_DECLARE_PER_ISA(extern const Kernels kernel_table; extern const ByteKernels byte_table;
                         extern const GatherKernels gather_table; extern const NetworkKernels network_table;)

namespace {

// Bytes of 64 change places in one instruction of AVX512_VBMI, which the first CPUs with AVX-512 lack.
Isa permuting(Isa isa) { return isa == Isa::avx512 && !has_byte_permutes() ? Isa::avx2 : isa; }

Kernels with_byte_kernels(Isa isa) {
    Kernels made = *RELAYOUT_FOR_ISA(kernel_table, isa);
    const ByteKernels &bytes = *RELAYOUT_FOR_ISA(byte_table, permuting(isa));
    made.interleave[0] = bytes.interleave;
    made.deinterleave[0] = bytes.deinterleave;
    made.parts_wide[0] = bytes.parts_wide;
    return made;
}

}  // namespace

const Kernels &kernels_for(Isa isa) {
    static const Kernels tables[] = {with_byte_kernels(Isa::baseline), with_byte_kernels(Isa::avx2),
                                     with_byte_kernels(Isa::avx512)};
    return tables[int(isa)];
}

const Kernels &kernels() {
    static const Kernels &chosen = kernels_for(isa());
    return chosen;
}

const NetworkKernels &network_kernels_for(Isa isa) { return *RELAYOUT_FOR_ISA(network_table, permuting(isa)); }

const GatherKernels &gather_kernels_for(Isa isa) { return *RELAYOUT_FOR_ISA(gather_table, permuting(isa)); }

const GatherKernels &gather_kernels() {
    static const GatherKernels &chosen = gather_kernels_for(isa());
    return chosen;
}

}  // namespace relayout
