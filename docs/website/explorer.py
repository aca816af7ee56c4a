"""The explorer as a folder of files: the page of ``relayout explore``, with Python in it in place of a server."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import fields
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from relayout.drawing.html import fill_template
from relayout.web.handle import handle
from relayout.web.page import page_files
from relayout.web.presets import PRESETS
from relayout.web.state import State

from .examples import Opened

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent

PYODIDE = "314.0.7"
"""The version of the npm package ``pyodide``."""

SHA512 = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
"""What npm's registry says of that package."""

PYTHON_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""What a page loads of it."""

LARGEST_ANSWER = 100_000
"""The most bytes of an answer that is written for an example of another page."""

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src data:; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'"
)


def package_file() -> Path:
    """Where the npm package is kept, among the user's caches."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relayout" / f"pyodide-{PYODIDE}.tgz"


def pyodide_package() -> Path:
    """The npm package, brought by ``npm pack`` once; its checksum is ours."""
    package = package_file()
    caches = package.parent
    if not package.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit(f"npm is not installed, and brings pyodide-{PYODIDE}.tgz; put that into {caches} yourself")
        caches.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=caches) as folder:
            words = [npm, "pack", "--silent", "--pack-destination", folder, f"pyodide@{PYODIDE}"]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            (Path(folder) / package.name).replace(package)
    if base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode() != SHA512:
        raise SystemExit(f"{package} is not what was published as pyodide {PYODIDE}; remove it and try again")
    return package


def pure_wheel(folder: Path) -> bytes:
    """The wheel without anything compiled."""
    words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(PROJECT)]
    subprocess.run(words, check=True, env={**os.environ, "RELAYOUT_NATIVE": "0"})
    (wheel,) = folder.glob("relayout-*-py3-none-any.whl")
    return wheel.read_bytes()


def question_text(ask: str, state: dict[str, str]) -> str:
    """A question as the page's script writes it."""
    order = [field.name for field in fields(State)]
    return _json({"ask": ask, "state": {name: state[name] for name in order if state.get(name)}})


def written_answers(examples: Opened) -> dict[str, bytes]:
    """The files of answers: what the page's own examples show is in the first, with the files of the others in it.

    Those are named by what is in them: a page that a browser has kept finds its own answers on a newer site, or none.
    """
    answers = {text: handle(json.loads(text)) for state in PRESETS.values() for text in _asked(state)}
    files, content = {}, {}
    for state, answer in examples.items():
        text, data = question_text("view", dict(state)), _json(answer).encode()
        if text not in answers and len(data) <= LARGEST_ANSWER:
            files[text] = f"examples/{hashlib.sha256(data).hexdigest()[:16]}.json"
            content[files[text]] = data
    return {"answers.json": _json({"answers": answers, "files": files}).encode(), **content}


def _asked(state: dict[str, str]) -> list[str]:
    return [question_text(ask, state) for ask in ("view", "facts")]


def write_explorer(out: Path, home: str, examples: Opened) -> None:
    """Write the explorer into ``out``; its title links to ``home``, and ``examples`` are what other pages open."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    preload = '<link rel="preload" href="answers.json" as="fetch" crossorigin>'
    title = f'<a href="{escape(home)}">relayout</a>'
    pages = page_files((HERE / "transport.js").read_bytes(), policy + preload, title)
    content = {path or "index.html": file.content for path, file in pages.items()}
    content |= python_files()
    content |= written_answers(examples)
    loaded = ["relayout.whl", *[f"pyodide/{name}" for name in PYTHON_FILES if not name.endswith(".mjs")]]
    content["worker.js"] = _filled("worker.js", bytes=str(sum(len(content[name]) for name in loaded)))
    kept = [name for name in sorted(content) if not name.startswith("examples/")]
    version = hashlib.sha256(b"".join([f"{name}\0".encode() + content[name] for name in kept])).hexdigest()
    content["cache.js"] = _filled("cache.js", version=version[:16], files=json.dumps(["./", *kept]))
    for name, data in content.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(data)


def python_files() -> dict[str, bytes]:
    """Python for browsers, and relayout for it."""
    content = {}
    with TemporaryDirectory() as folder:
        content["relayout.whl"] = pure_wheel(Path(folder))
    with tarfile.open(pyodide_package()) as package:
        for name in (*PYTHON_FILES, "package.json"):
            file = package.extractfile(f"package/{name}")
            if file is None:
                raise SystemExit(f"pyodide {PYODIDE} has no {name}")
            content[f"pyodide/{name}"] = file.read()
    content["pyodide/pyodide-lock.json"] = _without_packages(content["pyodide/pyodide-lock.json"])
    return content


def _filled(name: str, **parts: str) -> bytes:
    return fill_template((HERE / name).read_text(), parts).encode()


def _without_packages(lock: bytes) -> bytes:
    """The lock file without the packages that only Pyodide's own host has."""
    return _json({**json.loads(lock), "packages": {}}).encode()


def _json(value: Any) -> str:
    """JSON as a browser's ``JSON.stringify`` writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
