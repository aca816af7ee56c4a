#pragma once

namespace relayout {

// The instruction sets that kernels are compiled for; every one includes those before it.
enum class Isa { baseline, avx2, avx512 };

// The best one that this CPU has. RELAYOUT_ISA in the environment, read once, may ask for a lesser one.
Isa isa();

}  // namespace relayout

// CMake's relayout_kernels() compiles a file once per instruction set, each time in a namespace of its own,
// RELAYOUT_ISA_NAMESPACE. There it must not use inline functions or templates of other headers, std's neither: the
// linker keeps one copy of each, maybe one that this CPU lacks the instructions for.
//
// Inside namespace relayout, RELAYOUT_DECLARE_KERNEL(int, f, (int x)) declares f in every such namespace, and
// RELAYOUT_KERNEL(f, some_isa) is the f for that instruction set.
#ifdef RELAYOUT_X86
#define RELAYOUT_DECLARE_KERNEL(result, name, parameters) \
    namespace baseline {                                  \
    result name parameters;                               \
    }                                                     \
    namespace avx2 {                                      \
    result name parameters;                               \
    }                                                     \
    namespace avx512 {                                    \
    result name parameters;                               \
    }
#define RELAYOUT_KERNEL(name, isa)                                                             \
    ((isa) == ::relayout::Isa::avx512 ? &::relayout::avx512::name                              \
     : (isa) == ::relayout::Isa::avx2 ? &::relayout::avx2::name                                \
                                      : &::relayout::baseline::name)
#else
#define RELAYOUT_DECLARE_KERNEL(result, name, parameters) \
    namespace baseline {                                  \
    result name parameters;                               \
    }
#define RELAYOUT_KERNEL(name, isa) (static_cast<void>(isa), &::relayout::baseline::name)
#endif
