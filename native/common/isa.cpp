#include "common/isa.h"

#include <cstdlib>
#include <cstring>

#ifdef RELAYOUT_X86
#include <cpuid.h>
#endif

namespace relayout {

namespace {

Isa best_isa() {
#ifdef RELAYOUT_X86
    __builtin_cpu_init();
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
    if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return Isa::baseline;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    return wide ? Isa::avx512 : Isa::avx2;
#else
    return Isa::baseline;
#endif
}

Isa chosen_isa() {
    const Isa best = best_isa();
    const char *name = std::getenv("RELAYOUT_ISA");
    if (!name) return best;
    for (int k = 0; k < int(best); ++k)
        if (!std::strcmp(name, isa_names[k])) return Isa(k);
    return best;
}

}  // namespace

bool has_byte_permutes() {
#ifdef RELAYOUT_X86
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vbmi");
#else
    return false;
#endif
}

Isa isa() {
    static const Isa chosen = chosen_isa();
    return chosen;
}

}  // namespace relayout
