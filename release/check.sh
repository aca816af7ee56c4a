#!/usr/bin/env bash
# Judges what is to be uploaded, with the programs of those who made the rules: twine (what an index takes, the page that it
# shows), abi3audit (a wheel for many Pythons uses nothing but their stable interface), auditwheel (what a system must have), and
# check_wheel.py (our own rules). With --upload the project must have an address, and a wheel for every
# system. Usage: release/check.sh [--upload] FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source release/tools.sh
upload=()
[[ $1 == --upload ]] && upload=(--upload) && shift
folder=$1
shopt -s nullglob

files=("$folder"/*.whl "$folder"/*.tar.gz)
"$tools/python" -m twine check --strict "${files[@]}"
"$tools/python" release/check_wheel.py "${upload[@]}" "${files[@]}"
for wheel in "$folder"/*-abi3-*.whl; do
    "$tools/python" -m abi3audit --strict --assume-minimum-abi3 3.12 "$wheel"
done
for wheel in "$folder"/*linux_*.whl; do
    found=$("$tools/python" -m auditwheel --verbose show "$wheel" 2>/dev/null | tr '\n' ' ' | sed -n 's/.*following platform tag: "\([a-z0-9_]*\)".*/\1/p')
    echo "$(basename "$wheel"): auditwheel says $found"
    [[ -n $found && $found != linux_* ]]
done
