"""The files of the explorer's page: the same for whoever serves them, but for the script that carries its questions."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from ..drawing.colours import css
from ..drawing.html import MODULES, STYLE, fill_template, page_file, script_json
from .handle import handle

TRANSPORT = "assets/transport.js"
"""The script that carries questions; that of the folder asks the server of this page."""

_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


class PageFile(NamedTuple):
    """One file, and its type."""

    type: str
    content: bytes


def page_files(transport: bytes | None = None, head: str = "", home: str = "relayout") -> dict[str, PageFile]:
    """Each file by its path; the page itself is under the empty path.

    ``transport`` is another script in place of ``TRANSPORT``, ``head`` begins the page's head, and ``home`` is what its
    title links to.
    """
    own = [file for file in (files(__package__) / "assets").iterdir() if _suffix(file.name) in _TYPES]
    content = {f"assets/{file.name}": file.read_bytes() for file in own}
    content |= {f"picture/{name}": page_file(name).encode() for name in (*MODULES, STYLE) if name != "page.js"}
    content["picture/colours.css"] = css().encode()
    if transport is not None:
        content[TRANSPORT] = transport
    template = content.pop("assets/page.html").decode()
    # All that the first picture waits for: which scripts there are, and what the fields offer.
    modules = "\n".join([f'<link rel="modulepreload" href="{path}">' for path in content if path.endswith(".js")])
    parts = {"head": head, "home": home, "modules": modules, "start": script_json(handle({"ask": "start"}))}
    content[""] = fill_template(template, parts).encode()
    return {path: PageFile(_TYPES[_suffix(path) or "html"], data) for path, data in content.items()}


def _suffix(name: str) -> str:
    return name.rpartition(".")[2]
