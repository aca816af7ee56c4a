"""Builds the site as one folder of files: ``python docs/make_site.py OUT``.

The pages are the Markdown of the project, with the way into the explorer under their examples, and the API reference;
the explorer runs in its page, with Python in it. Any server of files will do: ``python -m http.server -d OUT``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from website.examples import Opened, with_buttons
from website.explorer import write_explorer
from website.reference import links_to_reference, reference_pages

from relayout import __version__

PROJECT = Path(__file__).parent.parent
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "native/README.md": "native.md",
    "release/README.md": "release.md",
}
"""Pages of the project that are outside of docs, and where the site has them."""

OPEN = "[Open the explorer](explorer/index.html){ .md-button .md-button--primary }"
"""The way in, under the claim of the first page."""

ABOUT_THE_SITE = "**Try it in a browser**"
"""How a part of the README begins that says how to get to the site."""

_LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<path>(?!\w+:)[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def page_sources() -> dict[str, str]:
    """Every page of the project by its path there, with its path in the site."""
    own = [path.relative_to(PROJECT) for path in sorted((PROJECT / "docs").rglob("*.md"))]
    return {**ELSEWHERE, **{path.as_posix(): path.relative_to("docs").as_posix() for path in own}}


def site_page(source: str, text: str) -> str:
    """A page of the project as the site has it: its links lead to pages of the site."""
    pages = page_sources()
    place = pages[source]

    def linked(found: re.Match[str]) -> str:
        if not found["path"]:
            return found[0]
        target = os.path.normpath(Path(source).parent / found["path"])
        inside = pages.get(target, target.removeprefix("docs/"))
        if target not in pages and not target.startswith("docs/"):
            return found["text"].strip("[]")
        return f"{found['text']}({os.path.relpath(inside, Path(place).parent)}{found['anchor'] or ''})"

    return _LINK.sub(linked, text)


def write_pages(docs: Path) -> Opened:
    """Write all that the pages are made of into the folder ``docs``; the states of the explorer that they open."""
    pages = {place: site_page(source, (PROJECT / source).read_text()) for source, place in page_sources().items()}
    title, claim, *rest = pages["index.md"].split("\n\n")
    pages["index.md"] = "\n\n".join(
        [title, claim, OPEN, *[part for part in rest if not part.startswith(ABOUT_THE_SITE)]]
    )
    pages["api.md"] = links_to_reference(pages["api.md"])
    pages |= {f"api/{name}": text for name, text in reference_pages().items()}
    opened: Opened = {}
    for place, text in pages.items():
        (docs / place).parent.mkdir(parents=True, exist_ok=True)
        explorer = os.path.relpath("explorer", Path(place).parent)
        shown = re.sub(r"^```(python|py)$(?=\n>>>)", "```pycon", with_buttons(text, explorer, opened), flags=re.M)
        (docs / place).write_text(shown)
    shutil.copytree(PROJECT / "docs" / "gallery", docs / "gallery", dirs_exist_ok=True)
    shutil.copy(PROJECT / "docs" / "website" / "site.css", docs)
    return opened


def settings() -> str:
    """The project's mkdocs.yml, with the pages of the API reference in it, and the version under every page."""
    import yaml  # comes with Zensical

    made = yaml.safe_load((PROJECT / "mkdocs.yml").read_text())
    made["copyright"] = f"relayout {__version__}"
    (reference,) = [part["Reference"] for part in made["nav"] if "Reference" in part]
    reference[1:1] = [f"api/{name}" for name in reference_pages()]
    return yaml.safe_dump(made, sort_keys=False)


def build_site(out: Path) -> None:
    """Build the site into ``out``, in place of an older one."""
    if out.exists() and not (out / "explorer" / "worker.js").is_file() and (not out.is_dir() or any(out.iterdir())):
        raise SystemExit(f"{out} is there and holds no site; name another folder, or an empty one")
    if find_spec("zensical") is None:
        raise SystemExit("Zensical is not installed, and builds the pages: pip install '.[site]'")
    with TemporaryDirectory() as folder:
        work = Path(folder)
        opened = write_pages(work / "docs")
        write_explorer(work / "docs" / "explorer", "../index.html", opened)
        (work / "mkdocs.yml").write_text(settings())
        subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=work, check=True)
        # Zensical's own has the paths of a site at the root of its host.
        shutil.copy(PROJECT / "docs" / "website" / "404.html", work / "site")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(work / "site", out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder: a new one, an empty one, or an older site")
    build_site(parser.parse_args().out)
