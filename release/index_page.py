"""What a package index shows of the project: its addresses, and the README with links that work on a page of the index.

The links of ``README.md`` are relative, and right where its files lie beside it. On an index none does, so a build
writes out the address of each, at the tag of its version. ``pyproject.toml`` has the addresses of the repository
(``home``) and of the site (``site``), and nothing else does. While the first is empty none is made up: links become
their words, pictures are left out, and ``release/check_wheel.py`` lets nothing be uploaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:)([^)#]*)(#[^)]*)?\)")
"""A link of Markdown to a file or a heading, with no scheme; with ``!`` before it, a picture."""


def with_addresses(text: str, home: str, version: str) -> str:
    """The text with absolute links: pages as the repository shows them, pictures as they are."""

    def absolute(link: re.Match[str]) -> str:
        mark, words, path, heading = link.groups(default="")
        if not path:
            return link[0]
        if not home:
            return "" if mark else words
        return f"{mark}[{words}]({home}/{'raw' if mark else 'blob'}/v{version}/{path}{heading})"

    # What is code is no link.
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join([part if k % 2 else LINK.sub(absolute, part) for k, part in enumerate(parts)])


def addresses(home: str, version: str, site: str = "") -> dict[str, str]:
    """The addresses of the project; none while nobody knows where it lies."""
    if not home:
        return {}
    pages = f"{home}/blob/v{version}"
    return {
        "Homepage": home,
        "Source": home,
        "Documentation": f"{site}/" if site else f"{pages}/README.md#learn-more",
        "Changelog": f"{pages}/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """The fields ``readme`` and ``urls`` of a project, for its build backend."""
    home, site, version = settings["home"].rstrip("/"), settings["site"].rstrip("/"), project["version"]
    text = with_addresses(Path("README.md").read_text(encoding="utf-8"), home, version)
    return {"readme": {"text": text, "content-type": "text/markdown"}, "urls": addresses(home, version, site)}
