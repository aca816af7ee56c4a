# Read by the scripts beside it: `tools` is the folder with the programs of tools.txt, installed once.
cache=${RELAYOUT_RELEASE_CACHE:-$PWD/build/release}
tools=$cache/tools/bin
mkdir -p "$cache"
if ! cmp -s release/tools.txt "$cache/tools.txt"; then
    "${PYTHON:-python3}" -m venv --clear "$cache/tools"
    "$tools/python" -m pip install -q -r release/tools.txt
    cp release/tools.txt "$cache/tools.txt"
fi
PATH=$tools:$PATH
# Isolated builds install what they need themselves, at the same versions.
export PIP_CONSTRAINT=$PWD/release/tools.txt PIP_BUILD_CONSTRAINT=$PWD/release/tools.txt
