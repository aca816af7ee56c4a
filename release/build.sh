#!/usr/bin/env bash
# Builds what this machine can of a release, judges it and tries each file in a fresh environment:
#
#     release/build.sh [FOLDER]       dist by default
#
# The source distribution; the pure wheel, for systems without one of their own; the native wheels, one for Python 3.11 and one
# for all later ones, of those Pythons that are here (PYTHONS names others), with the tag of the oldest glibc that has what they
# need; and a bill of materials. RELAYOUT_NATIVE=1 makes it an error that the compiled core is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-dist}
source release/tools.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

"$tools/python" -m build -q --sdist -o "$out" .
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' src/relayout/_version.py)
source=$out/relayout-$version.tar.gz
RELAYOUT_NATIVE=0 "$tools/python" -m build -q --wheel -o "$out" .

pythons=()
read -ra names <<<"${PYTHONS:-python3.11 python3.12 python3.13 python3.14}"
for name in "${names[@]}"; do
    if "$name" -c 'import venv' 2>/dev/null; then
        pythons+=("$name")
    else
        echo "there is no $name here, so nothing is built or tried with it" >&2
        [[ -z ${PYTHONS:-} ]] || exit 1
    fi
done
[[ ${#pythons[@]} -gt 0 ]] || { echo "there is no Python here that a wheel is built for" >&2; exit 1; }
built=
for python in "${pythons[@]}"; do
    kind=$("$python" -c 'import sys; print("cp311-cp311" if sys.version_info < (3, 12) else "cp312-abi3")')
    if [[ $built != *$kind* ]]; then
        # From the source distribution, which is what others build from.
        RELAYOUT_NATIVE=1 "$python" -m pip wheel -q --no-deps -w "$work/$kind" "$source"
        case $(uname -s) in
            Linux) "$tools/python" -m auditwheel repair -w "$work/wheel-$kind" "$work/$kind"/*.whl ;;
            *) mv "$work/$kind" "$work/wheel-$kind" ;;
        esac
        cp "$work/wheel-$kind"/*.whl "$out"
        built+=" $kind"
    fi
done

try() {
    local python=$1 file=$2 kind=$3
    "$python" -m venv --without-pip --clear "$work/trial"
    "$tools/python" -m pip --python "$work/trial/bin/python" install -q "$file"
    (cd "$work" && RELAYOUT_NATIVE=$([[ $kind == native ]] && echo 1 || echo 0) trial/bin/python "$OLDPWD/release/smoke.py" "$kind")
}
for python in "${pythons[@]}"; do
    kind=$("$python" -c 'import sys; print("cp311-cp311" if sys.version_info < (3, 12) else "cp312-abi3")')
    try "$python" "$work/wheel-$kind"/*.whl native
done
try "${pythons[0]}" "$out/relayout-$version-py3-none-any.whl" pure

nanobind=$(sed -n 's/^nanobind==//p' release/tools.txt)
"$tools/cyclonedx-py" environment --output-reproducible --short-PURLs "$work/trial/bin/python" |
    "$tools/python" release/sbom.py "$version" "$nanobind" >"$out/relayout-$version.cdx.json"
release/check.sh "$out"
