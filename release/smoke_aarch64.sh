#!/usr/bin/env bash
# Tries wheels for 64-bit ARM on this machine, under qemu-user, with Debian's own Python for ARM: 3.11 for wheels of 3.11, and
# 3.13 for those of all later ones. With the bits of NaNs, which processors of ARM convert by other rules.
#
#     release/smoke_aarch64.sh dist/*manylinux*aarch64.whl
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source release/tools.sh
command -v qemu-aarch64 >/dev/null || { echo "there is no qemu-aarch64 (Debian: qemu-user)" >&2; exit 77; }

# Debian's Python of one release, unpacked into a folder.
sysroot() {
    local suite=$1 version=$2 root=$cache/aarch64-$1
    [[ -e $root/done ]] && return
    mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial" "$root/debs"
    : >"$root/apt/status"
    local key=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$key] http://deb.debian.org/debian $suite main" >"$root/apt/sources.list"
    local options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Acquire::Languages=none
        -o Dir::State="$root/apt" -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt"
        -o Dir::Etc::SourceList="$root/apt/sources.list" -o Dir::Etc::SourceParts=-)
    apt-get "${options[@]}" update
    local packages=(libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libbz2-1.0 liblzma5
        "libpython$version-minimal" "libpython$version-stdlib" "python$version-minimal")
    (cd "$root/debs" && apt-get "${options[@]}" download "${packages[@]}")
    for package in "$root"/debs/*.deb; do dpkg-deb -x "$package" "$root"; done
    # Older releases keep libraries in /lib, and newer ones have it as a link to /usr/lib.
    [[ -e $root/lib/ld-linux-aarch64.so.1 ]] || ln -s usr/lib "$root/lib"
    touch "$root/done"
}

# Not every pip knows that what runs with an older glibc runs with a newer one.
platforms=(--platform manylinux2014_aarch64)
for minor in {17..28}; do platforms+=(--platform "manylinux_2_${minor}_aarch64"); done

for wheel in "$@"; do
    case $wheel in
        *-cp311-cp311-*) suite=bookworm version=3.11 ;;
        *-cp312-abi3-*) suite=trixie version=3.13 ;;
        *) echo "$wheel is for no Python here" >&2; exit 2 ;;
    esac
    sysroot "$suite" "$version"
    place=$cache/aarch64-$suite-packages
    rm -rf "$place"
    "$tools/python" -m pip install -q --target "$place" --only-binary :all: --python-version "$version" \
        "${platforms[@]}" "$wheel" pytest
    python=(qemu-aarch64 -L "$cache/aarch64-$suite" "$cache/aarch64-$suite/usr/bin/python$version" -P)
    export PYTHONPATH=$place PYTHONHOME=$cache/aarch64-$suite/usr PYTHONDONTWRITEBYTECODE=1
    RELAYOUT_NATIVE=1 "${python[@]}" release/smoke.py native
    RELAYOUT_NATIVE=0 "${python[@]}" release/smoke.py pure
    nan_bits=("${python[@]}" -m pytest -q -p no:cacheprovider -o addopts= --noconftest -k "not without_the_compiled")
    for native in 0 1; do RELAYOUT_NATIVE=$native "${nan_bits[@]}" tests/test_nan_bits.py; done
    unset PYTHONPATH PYTHONHOME
done
