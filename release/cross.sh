#!/usr/bin/env bash
# Builds the native wheel of one system on another, without containers: zig is compiler, libc and libc++ of all of them.
#
#     release/cross.sh manylinux_2_28_aarch64 [FOLDER]
#
# Systems: manylinux_2_28 and musllinux_1_2 on x86_64 and aarch64, and macosx_11_0_arm64, which nothing here can run. PYTHON
# chooses the wheel: 3.11 has its own, any later one builds that of all from 3.12 on. The hosted build (cibuildwheel.toml) uses
# the compilers of PyPA's images instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
system=${1:?which system: manylinux_2_28_x86_64, say}
out=${2:-dist}
source release/tools.sh

machine=${system##*_} libraries=
case $system in
    manylinux_*_x86_64 | musllinux_*_x86_64 | manylinux_*_aarch64 | musllinux_*_aarch64)
        [[ $system == *_x86_64 ]] && machine=x86_64
        version=${system#*linux_} version=${version%_"$machine"} version=${version/_/.}
        [[ $system == many* ]] && target=$machine-linux-gnu.$version suffix=$machine-linux-gnu
        [[ $system == musl* ]] && target=$machine-linux-musl suffix=$machine-linux-musl
        platform=linux-$machine name=Linux
        ;;
    macosx_11_0_arm64) target=aarch64-macos.11.0 suffix=darwin platform=macosx-11.0-arm64 name=Darwin ;;
    *) echo "no such system: $system" >&2; exit 2 ;;
esac
# zig lacks what tells the processor's instruction sets to programs; GCC has it in an archive.
[[ $machine == x86_64 ]] && libraries=$(gcc -print-libgcc-file-name)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
zig=$("$tools/python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
programs=$cache/zig-$target
mkdir -p "$programs"
for language in cc c++ ar ranlib; do
    options=$([[ $language == c* ]] && echo "-target $target" || true)
    # zig's linker for macOS takes no file of names that are Python's (then all that are missing may be), and no bundles.
    cat >"$programs/$language" <<END
#!/bin/bash
words=("\${@/#-Wl,@*/-Wl,-undefined,dynamic_lookup}")
exec "$zig" $language $options "\${words[@]/#-bundle/-dynamiclib}"
END
    chmod +x "$programs/$language"
done

python=${PYTHON:-python3}
minor=$("$python" -c 'import sys; print(sys.version_info.minor)')
export CC=$programs/cc CXX=$programs/c++ RELAYOUT_NATIVE=1 _PYTHON_HOST_PLATFORM=$platform
export SETUPTOOLS_EXT_SUFFIX=.cpython-3$minor-$suffix.so
# nanobind's headers count on another header to bring this one, which libc++ does not.
export CXXFLAGS="-include cstdio"
"$python" -m pip wheel -q --no-deps -w "$work/built" . \
    -C cmake.define.CMAKE_SYSTEM_NAME="$name" -C cmake.define.CMAKE_SYSTEM_PROCESSOR="$machine" \
    -C cmake.define.CMAKE_AR="$programs/ar" -C cmake.define.CMAKE_RANLIB="$programs/ranlib" \
    -C cmake.define.CMAKE_CXX_STANDARD_LIBRARIES="$libraries" -C build-dir="$cache/$system-3.$minor"

mkdir -p "$out"
if [[ $system == musl* ]]; then
    # zig's name of musl is the loader's, too; wheels and those who judge them know it by that of Alpine's.
    "$tools/python" - "$work"/built/*.whl "libc.musl-$machine.so.1" <<'END'
import subprocess, sys
from pathlib import Path
from auditwheel.wheeltools import InWheel

wheel = Path(sys.argv[1])
with InWheel(wheel, wheel):
    (core,) = Path("relayout").glob("_native*.so")
    subprocess.run(["patchelf", "--replace-needed", "libc.so", sys.argv[2], core], check=True)
END
fi
if [[ $name == Linux ]]; then
    # The tag is that of the oldest system that has what the compiled core was found to need, not what was hoped for.
    "$tools/python" -m auditwheel repair --plat auto -w "$out" "$work"/built/*.whl
else
    cp "$work"/built/*.whl "$out"
fi
