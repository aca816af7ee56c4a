"""Whether files may be uploaded: their tags and metadata, and no code but that of the package and its compiled core.

``python release/check_wheel.py dist/*`` judges what was built. With ``--upload`` it must have addresses too, and a
wheel for every system: an index shows a release as soon as it has one file, and whoever comes first gets what is there.
"""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Iterator
from email import message_from_string
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

from index_page import LINK

PLATFORM = r"(?:(?:manylinux|musllinux)_\d+_\d+_\w+?|manylinux\d+_\w+?|macosx_\d+_\d+_\w+?)"
NATIVE = re.compile(rf"-(?:cp311-cp311|cp312-abi3)-{PLATFORM}(?:\.{PLATFORM})*\.whl$")
PURE = "-py3-none-any.whl"
SYSTEMS = ("manylinux x86_64", "manylinux aarch64", "musllinux x86_64", "musllinux aarch64", "macosx arm64")
SYSTEM = re.compile(r"\.(so|dylib|pyd|dll)(\.|$)")


def metadata_faults(about: Message, upload: bool) -> Iterator[str]:
    """What an index, or who installs from it, would miss in the metadata."""
    for field in ("Author", "License-Expression", "Keywords", "Classifier", "Requires-Python"):
        if not about[field]:
            yield f"its metadata has no {field}"
    if [name for name in about.get_all("Requires-Dist", []) if name.startswith("nanobind-backend")]:
        yield "it depends on nanobind-backend, which has no wheel for musl or WebAssembly, and no source"
    relative = [link[0] for link in LINK.finditer(str(about.get_payload())) if link[3]]
    if relative:
        yield f"its page has links that lead nowhere on an index: {relative[:3]}"
    if upload and not about.get_all("Project-URL"):
        yield "it has no address: set `home` in pyproject.toml to that of the repository"


def source_faults(path: Path, upload: bool) -> list[str]:
    """What is wrong with a source distribution."""
    with tarfile.open(path) as archive:
        root = path.name.removesuffix(".tar.gz")
        names = {name.removeprefix(f"{root}/") for name in archive.getnames()}
        info = archive.extractfile(f"{root}/PKG-INFO")
        found = list(metadata_faults(message_from_string(info.read().decode() if info else ""), upload))
    needed = (
        "CMakeLists.txt",
        "LICENSE",
        "README.md",
        "native/README.md",
        "release/index_page.py",
        "src/relayout/py.typed",
    )
    found += [f"it has no {name}" for name in needed if name not in names]
    found += [f"it has {name}, which was compiled" for name in sorted(names) if SYSTEM.search(name)]
    return found


def wheel_faults(path: Path, upload: bool) -> list[str]:
    """What is wrong with a wheel."""
    pure = path.name.endswith(PURE)
    found = []
    if not pure and not NATIVE.search(path.name):
        found.append("its tag is not one that an index takes and every Python from 3.11 on is served by")
    with ZipFile(path) as wheel:
        names = wheel.namelist()
        (folder,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        tags = re.findall(r"^Tag: (.+)$", wheel.read(f"{folder}/WHEEL").decode(), re.MULTILINE)
        found += metadata_faults(message_from_string(wheel.read(f"{folder}/METADATA").decode()), upload)
    stem = path.name.removesuffix(".whl").split("-", 2)[2]
    python, abi, platforms = stem.split("-")
    if sorted(tags) != sorted([f"{python}-{abi}-{platform}" for platform in platforms.split(".")]):
        found.append(f"its name says {stem}, and its WHEEL file {tags}")
    compiled = [name for name in names if SYSTEM.search(name)]
    if len(compiled) != (0 if pure else 1) or any(not name.startswith("relayout/_native.") for name in compiled):
        wanted = "no compiled module" if pure else "one compiled module, relayout/_native"
        found.append(f"it should have {wanted}, and has {compiled}")
    strange = {name.split("/")[0] for name in names} - {"relayout", "relayout_pytest", folder}
    if strange:
        found.append(f"it has {sorted(strange)} beside the package")
    if "relayout/py.typed" not in names:
        found.append("it has no py.typed")
    return found


def missing_files(names: list[str]) -> list[str]:
    """What a release that is to be uploaded lacks, each in a sentence."""
    wanted = {"source distribution": r"\.tar\.gz$", "pure wheel": rf"{re.escape(PURE)}$"}
    for tag in ("cp311-cp311", "cp312-abi3"):
        for system in SYSTEMS:
            kind, machine = system.split()
            wanted[f"wheel {tag} for {system}"] = rf"-{tag}-(?:\w+\.)*{kind}[\d_]*_{machine}\."
    found = [f"there is no {what}" for what, pattern in wanted.items() if not any(re.search(pattern, x) for x in names)]
    versions = sorted({name.removesuffix(".tar.gz").split("-")[1] for name in names})
    return found if len(versions) < 2 else [*found, f"there are files of several versions: {', '.join(versions)}"]


def faults(path: Path, upload: bool = False) -> list[str]:
    """What is wrong with a file that is to be uploaded, each in a sentence that begins with its name."""
    judge = source_faults if path.name.endswith(".tar.gz") else wheel_faults
    return [f"{path.name}: {fault}" for fault in judge(path, upload)]


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:] if name != "--upload"]
    upload = "--upload" in sys.argv
    told = [fault for path in files for fault in faults(path, upload)]
    told += missing_files([path.name for path in files]) if upload else []
    sys.stderr.write("".join([f"{fault}\n" for fault in told]))
    sys.exit(1 if told or not files else 0)
