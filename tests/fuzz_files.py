"""Fuzzes a reader of files with atheris: ``python tests/fuzz_files.py gguf 180``, for so many seconds.

Every input is opened and read as a file of that kind; anything but tensors or a ``LayoutError``, and anything slow, is
a finding. What was found is kept, written by code, in ``test_hostile_files.py``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

with atheris.instrument_imports(include=["relayout"]):
    import relayout as rl
    import relayout.files.containers.gguf
    import relayout.files.containers.npz
    import relayout.files.containers.onnx
    import relayout.files.containers.raw
    import relayout.files.containers.safetensors
    import relayout.files.containers.shards
    import relayout.files.containers.zarr
    import relayout.files.jobs.repack_file
    import relayout.files.mapped

import numpy as np

from file_support import store, valid_files

SLOW = 2.0
RULES = """
[[rule]]
name = "x*"
to = "format:1 0 / 0,4"
permute = "AB -> BA"
dtype = "quint8"
scale = 0.5
offset = 3
"""
KINDS = ("npy", "npz", "safetensors", "shards", "raw", "gguf", "onnx", "header", "sidecar", "zarr", "fill", "rules")


def prepared(kind: str, folder: Path) -> tuple[Path, Path]:
    """A valid file of a kind, and the file that the fuzzer writes."""
    if kind in ("zarr", "fill"):
        path = store(folder / "x.zarr", {"x": np.arange(12, dtype=np.float32).reshape(3, 4)})
        if kind == "fill":
            (path / "x" / "c" / "0" / "0").unlink()
        return path, path / "x" / "zarr.json"
    files = valid_files(folder)
    if kind == "sidecar":
        return files["raw"], folder / "x.bin.relayout.json"
    if kind == "rules":
        (folder / "rules.toml").write_text(RULES)
        return files["safetensors"], folder / "rules.toml"
    if kind == "header":
        length = int.from_bytes(files["safetensors"].read_bytes()[:8], "little")
        (folder / "header").write_bytes(files["safetensors"].read_bytes()[8 : 8 + length])
        return files["safetensors"], folder / "header"
    return files[kind], files[kind]


def main(kind: str, seconds: str) -> None:
    """Fuzz until the time is over, or something is found."""
    if kind not in KINDS:
        sys.exit(f"there are {', '.join(KINDS)}")
    with TemporaryDirectory() as name:
        folder = Path(name)
        path, target = prepared(kind, folder)
        corpus = folder / "corpus"
        corpus.mkdir()
        (corpus / "valid").write_bytes(target.read_bytes())

        def one(data: bytes) -> None:
            target.write_bytes(data)
            if kind == "header":
                path.write_bytes(len(data).to_bytes(8, "little") + data + bytes(53))
            started = time.perf_counter()
            try:
                if kind == "rules":
                    rl.repack_file(path, folder / "out.safetensors", rules=target, dry_run=True)
                else:
                    for tensor in rl.open(path).values():
                        if tensor.size <= 1 << 16:
                            tensor.numpy()
            except rl.LayoutError as error:
                str(error)
            if time.perf_counter() - started > SLOW:
                raise RuntimeError("this took too long")

        limits = [f"-max_total_time={seconds}", "-rss_limit_mb=3000", "-timeout=20", "-max_len=4096"]
        atheris.Setup([sys.argv[0], str(corpus), *limits], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
