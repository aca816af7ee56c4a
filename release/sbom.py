"""The bill of materials of a release: what is installed with the package, and what is compiled into it.

``cyclonedx-py environment PYTHON | python release/sbom.py VERSION NANOBIND > relayout.cdx.json`` adds to an environment
what none tells: the libraries whose code is in the compiled core, with their licences.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def component(name: str, licence: str, version: str = "") -> dict[str, Any]:
    """A library; its version is left out where the one that has it inside does not tell."""
    found: dict[str, Any] = {"type": "library", "bom-ref": f"compiled-in/{name}", "name": name}
    if version:
        found |= {"version": version, "purl": f"pkg:pypi/{name}@{version}"}
    return found | {"licenses": [{"license": {"id": licence, "acknowledgement": "declared"}}]}


def with_compiled_in(bom: dict[str, Any], version: str, nanobind: str) -> dict[str, Any]:
    """The bill with the package as its subject, and the code that is linked into it."""
    (subject,) = [part for part in bom["components"] if part["name"] == "relayout"]
    inside = [component("nanobind", "BSD-3-Clause", nanobind), component("robin-map", "MIT")]
    refs = [part["bom-ref"] for part in inside]
    if subject["version"] != version:
        raise ValueError(f"the environment has relayout {subject['version']}, not {version}")
    # Where it was installed from is a folder of the machine that built it.
    subject.pop("externalReferences", None)
    rest = [part for part in bom["components"] if part is not subject]
    needs = [
        entry | {"dependsOn": sorted([*entry.get("dependsOn", []), *refs])}
        if entry["ref"] == subject["bom-ref"]
        else entry
        for entry in bom["dependencies"]
    ]
    return bom | {
        "metadata": bom["metadata"] | {"component": subject},
        "components": [*rest, *inside],
        "dependencies": [*needs, *[{"ref": ref} for ref in refs]],
    }


if __name__ == "__main__":
    text = json.dumps(with_compiled_in(json.load(sys.stdin), *sys.argv[1:]), indent=1, sort_keys=True) + "\n"
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if fault is not None:
        sys.exit(f"this is no CycloneDX: {fault}")
    sys.stdout.write(text)
