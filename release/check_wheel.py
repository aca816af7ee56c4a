"""Whether a wheel may be uploaded: its tags, and no code in it but that of the package and its compiled core.

``python release/check_wheel.py dist/relayout-*.whl``
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from zipfile import ZipFile

TAG = re.compile(r"-cp311-abi3-(manylinux_\d+_\d+_\w+|manylinux\d+_\w+|macosx_\w+|win_\w+)(\.manylinux\w+)*\.whl$")


def faults(path: Path) -> list[str]:
    """What is wrong with a wheel."""
    found = []
    if not TAG.search(path.name):
        found.append(f"{path.name} is for this machine only: an index takes manylinux wheels (auditwheel repair)")
    with ZipFile(path) as wheel:
        names = wheel.namelist()
        (about,) = [name for name in names if name.endswith(".dist-info/WHEEL")]
        tags = re.findall(r"^Tag: (.+)$", wheel.read(about).decode(), re.MULTILINE)
    stem = path.name.removesuffix(".whl").split("-", 2)[2]
    python, abi, platforms = stem.split("-")
    if sorted(tags) != sorted([f"{python}-{abi}-{platform}" for platform in platforms.split(".")]):
        found.append(f"its name says {stem}, and its WHEEL file {tags}")
    compiled = [name for name in names if re.search(r"\.(so|dylib|pyd|dll)(\.|$)", name)]
    if len(compiled) != 1 or not compiled[0].startswith("relayout/_native"):
        found.append(f"it should have one compiled module, relayout/_native, and has {compiled}")
    strange = {name.split("/")[0] for name in names} - {"relayout", "relayout_pytest", about.split("/")[0]}
    if strange:
        found.append(f"it has {sorted(strange)} beside the package")
    return found


if __name__ == "__main__":
    told = [fault for name in sys.argv[1:] for fault in faults(Path(name))]
    sys.stderr.write("".join([f"{fault}\n" for fault in told]))
    sys.exit(1 if told or len(sys.argv) < 2 else 0)
