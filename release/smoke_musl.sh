#!/usr/bin/env bash
# Tries wheels for musl on a machine with glibc, without a container: Debian's source of Python 3.13, built once with Debian's
# musl-gcc, runs by musl's own loader, and numpy has wheels for it. Those need a loader of musl 1.2.4 or newer.
#
#     release/smoke_musl.sh dist/*cp312-abi3-musllinux*x86_64.whl dist/*-py3-none-any.whl
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source release/tools.sh
command -v musl-gcc >/dev/null || { echo "there is no musl-gcc (Debian: musl-tools)" >&2; exit 77; }

root=$cache/musl
if [[ ! -e $root/done ]]; then
    mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial" "$root/source"
    : >"$root/apt/status"
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    printf "%s [signed-by=$key] http://deb.debian.org/debian trixie main\n" deb deb-src >"$root/apt/sources.list"
    options=(-qq -o APT::Sandbox::User= -o Acquire::Languages=none -o Dir::State="$root/apt" -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt"
        -o Dir::Etc::SourceList="$root/apt/sources.list" -o Dir::Etc::SourceParts=-)
    apt-get "${options[@]}" update
    (cd "$root/source" && apt-get "${options[@]}" source --download-only python3.13 && tar xf ./*.orig.tar.xz)
    (cd "$root/source" && apt-get "${options[@]}" download musl && dpkg-deb -x musl_*.deb "$root/musl")
    # Debian's GCC names the folder of its own libc, which configure holds against musl's; and the libraries of that one are
    # no use here, so pkg-config finds none.
    printf '#!/bin/sh\n[ "$1" = --print-multiarch ] || exec musl-gcc "$@"\n' >"$root/cc"
    chmod +x "$root/cc"
    (cd "$root"/source/Python-3.13* &&
        PKG_CONFIG_LIBDIR=/nowhere CC=$root/cc ./configure -q --prefix="$root/python" --without-ensurepip --disable-test-modules &&
        make -s -j"${JOBS:-1}" && make -s install) >"$root/build.log" 2>&1
    touch "$root/done"
fi

for wheel in "$@"; do
    place=$root/packages
    rm -rf "$place"
    "$tools/python" -m pip install -q --target "$place" --only-binary :all: --python-version 3.13 \
        --platform musllinux_1_2_x86_64 --platform musllinux_1_1_x86_64 "$wheel"
    kind=$([[ $wheel == *-none-any.whl ]] && echo pure || echo native)
    export RELAYOUT_NATIVE=$([[ $kind == native ]] && echo 1 || echo 0)
    PYTHONPATH=$place PYTHONHOME=$root/python PYTHONDONTWRITEBYTECODE=1 \
        "$root/musl/usr/lib/x86_64-linux-musl/libc.so" "$root/python/bin/python3.13" -P release/smoke.py "$kind"
done
