#!/usr/bin/env bash
# Builds the compiled core without Python, with a test driver that judges it by plain loops, and runs it:
#
#     native/tests/run.sh host       for this machine, with every instruction set that it has
#     native/tests/run.sh aarch64    for 64-bit ARM, by Debian's cross compiler, under qemu-user
#
# Where a compiler or an emulator is missing it says so and ends with 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# GCC takes what AVX-512 intrinsics leave undefined on purpose for a mistake.
flags=(-std=c++17 -O1 -Wall -Wextra -Werror -Wno-uninitialized -Wno-maybe-uninitialized -ffp-contract=off -fno-math-errno -fno-trapping-math -pthread -I.)
isas=(baseline)
declare -A isa_flags=([baseline]="")
emulator=()

require() {
    command -v "$1" >/dev/null || { echo "there is no $1" >&2; exit 77; }
}

case "${1:-host}" in
host)
    compiler=${CXX:-g++}
    if [[ $(uname -m) == x86_64 ]]; then
        flags+=(-DRELAYOUT_X86)
        isas+=(avx2 avx512)
        isa_flags[avx2]="-mavx2 -mf16c -mbmi -mbmi2"
        isa_flags[avx512]="${isa_flags[avx2]} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512"
    fi
    ;;
aarch64)
    compiler=${AARCH64_CXX:-aarch64-linux-gnu-g++}
    emulator=(qemu-aarch64)
    flags+=(-static)
    require "${emulator[0]}"
    ;;
*)
    echo "usage: $0 [host|aarch64]" >&2
    exit 2
    ;;
esac
require "$compiler"

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
{
    for isa in "${isas[@]}"; do
        for kernel in kernels/kernels.cpp kernels/{byte,convert,network,gather}_kernels.cpp; do
            more=$([[ $isa-$kernel == avx512-*/@(byte|network|gather)_kernels.cpp ]] && echo -mavx512vbmi || true)
            echo "-DRELAYOUT_ISA_NAMESPACE=$isa ${isa_flags[$isa]} $more -c $kernel -o $build/$isa-$(basename "$kernel").o"
        done
    done
    for source in common/*.cpp kernels/kernel_choice.cpp convert/*.cpp packed/*.cpp tiled/*.cpp general/*.cpp tests/*.cpp; do
        echo "-c $source -o $build/${source//\//-}.o"
    done
} | xargs -P "$(nproc)" -L 1 "$compiler" "${flags[@]}"
"$compiler" "${flags[@]}" "$build"/*.o -o "$build/tests"
"${emulator[@]}" "$build/tests"
