#pragma once

namespace relayout {

// The instruction sets that kernels are compiled for; every one includes those before it.
enum class Isa { baseline, avx2, avx512 };

constexpr const char *isa_names[] = {"baseline", "avx2", "avx512"};

// The best one that this CPU has. RELAYOUT_ISA in the environment, read once, may ask for a lesser one.
Isa isa();

// Whether this CPU has AVX512_VBMI.
bool has_byte_permutes();

}  // namespace relayout

// CMake's relayout_kernels() compiles a file once per instruction set, each time in a namespace of its own,
// RELAYOUT_ISA_NAMESPACE. There it must not use inline functions or templates of other headers, std's neither: the
// linker keeps one copy of each, maybe one that this CPU lacks the instructions for.
//
// Inside namespace relayout, RELAYOUT_DECLARE_PER_ISA(int f(int x);) declares f in every such namespace, and
// RELAYOUT_FOR_ISA(f, some_isa) is the address of the f for that instruction set.
#ifdef RELAYOUT_X86
#define RELAYOUT_DECLARE_PER_ISA(...) \
    namespace baseline {              \
    __VA_ARGS__                       \
    }                                 \
    namespace avx2 {                  \
    __VA_ARGS__                       \
    }                                 \
    namespace avx512 {                \
    __VA_ARGS__                       \
    }
#define RELAYOUT_FOR_ISA(name, isa)                               \
    ((isa) == ::relayout::Isa::avx512 ? &::relayout::avx512::name \
     : (isa) == ::relayout::Isa::avx2 ? &::relayout::avx2::name   \
                                      : &::relayout::baseline::name)
#else
#define RELAYOUT_DECLARE_PER_ISA(...) \
    namespace baseline {              \
    __VA_ARGS__                       \
    }
#define RELAYOUT_FOR_ISA(name, isa) (static_cast<void>(isa), &::relayout::baseline::name)
#endif
