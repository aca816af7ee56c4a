"""Record logs of oneDNN, and the sizes that it gives its memories: ``python tests/record_audit_onednn.py LIBRARY...``.

Each library is a ``libdnnl.so`` of a wheel ``onednn-cpu-gomp`` (2021.1.1 is oneDNN 2.0, 2022.2.0 is 2.6, 2023.2.0 is
3.2), driven through its C interface: two convolutions whose layouts oneDNN chooses, with weights that are packed in
each of two runs, and between them a pair of reorders that cancel. Without a library the logs are those of torch.
``onednn_sizes.json`` has what ``dnnl_memory_desc_get_size`` says of every memory that the convolutions chose.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from ctypes import CDLL, POINTER, Structure, byref, c_char, c_int, c_int64, c_size_t, c_void_p, create_string_buffer
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "audit"
F32, S8, ANY, FORWARD, DIRECT = 3, 5, 1, 96, 1
SRC, WEIGHTS, DST = 129, 131, 133
FROM, TO = 1, 17
ARGUMENTS = {"src": 1, "dst": 17, "weights": 33, "bias": 41}


class Version(Structure):
    _fields_ = [("major", c_int), ("minor", c_int), ("patch", c_int)]


class Argument(Structure):
    _fields_ = [("arg", c_int), ("memory", c_void_p)]


class Library:
    """The C interface, of 2.x, where a description of memory is a struct, and of 3.x, where it is a handle."""

    def __init__(self, path: str) -> None:
        self.lib = CDLL(path)
        self.lib.dnnl_version.restype = POINTER(Version)
        self.lib.dnnl_memory_desc_get_size.restype = c_size_t
        version = self.lib.dnnl_version().contents
        self.version = f"{version.major}.{version.minor}"
        self.old = version.major < 3
        self.engine, self.stream = c_void_p(), c_void_p()
        self.call("dnnl_engine_create", byref(self.engine), 1, c_size_t(0))
        self.call("dnnl_stream_create", byref(self.stream), self.engine, 1)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.lib, name)(*arguments)
        if status:
            raise SystemExit(f"{name}: status {status}")

    def by_tag(self, dims: list[int], tag: int, kind: int = F32) -> Any:
        return self._described("dnnl_memory_desc_init_by_tag", "dnnl_memory_desc_create_with_tag", dims, tag, kind)

    def plain(self, dims: list[int], kind: int = F32) -> Any:
        strides = [1] * len(dims)
        for d in reversed(range(len(dims) - 1)):
            strides[d] = strides[d + 1] * dims[d + 1]
        given = (c_int64 * len(dims))(*strides)
        old, new = "dnnl_memory_desc_init_by_strides", "dnnl_memory_desc_create_with_strides"
        return self._described(old, new, dims, given, kind)

    def _described(self, old: str, new: str, dims: list[int], last: Any, kind: int) -> Any:
        sizes = (c_int64 * len(dims))(*dims)
        if self.old:
            made = (c_char * 4096)()
            self.call(old, made, len(dims), sizes, kind, last)
            return made
        handle = c_void_p()
        self.call(new, byref(handle), len(dims), sizes, kind, last)
        return handle

    def size(self, memory: Any) -> int:
        return int(self.lib.dnnl_memory_desc_get_size(memory))

    def memory(self, description: Any) -> c_void_p:
        made = c_void_p()
        self.call("dnnl_memory_create", byref(made), description, self.engine, c_void_p(-1 & (1 << 64) - 1))
        return made

    def reorder(self, a: Any, memory_a: c_void_p, b: Any) -> c_void_p:
        """A reorder into fresh memory."""
        described, primitive, made = c_void_p(), c_void_p(), self.memory(b)
        self.call("dnnl_reorder_primitive_desc_create", byref(described), a, self.engine, b, self.engine, None)
        self.call("dnnl_primitive_create", byref(primitive), described)
        self.run(primitive, {"src": memory_a, "dst": made})
        return made

    def run(self, primitive: c_void_p, arguments: dict[str, c_void_p]) -> None:
        table = (Argument * len(arguments))(*[Argument(ARGUMENTS[name], x) for name, x in arguments.items()])
        self.call("dnnl_primitive_execute", primitive, self.stream, len(arguments), table)
        self.call("dnnl_stream_wait", self.stream)

    def convolution(
        self, src: list[int], weights: list[int], dst: list[int], kind: int = F32
    ) -> tuple[c_void_p, dict[str, Any]]:
        """A convolution whose layouts it chooses, and these."""
        described = c_void_p()
        data, packed = self.by_tag(src, ANY, kind), self.by_tag(weights, ANY, kind)
        memories = [data, packed, self.plain([dst[1]]), self.by_tag(dst, ANY)]
        ones, padding = (c_int64 * 2)(1, 1), (c_int64 * 2)(1, 1)
        if self.old:
            operation = create_string_buffer(65536)
            self.call(
                "dnnl_convolution_forward_desc_init", operation, FORWARD, DIRECT, *memories, ones, padding, padding
            )
            self.call("dnnl_primitive_desc_create", byref(described), operation, None, self.engine, None)
        else:
            self.call(
                "dnnl_convolution_forward_primitive_desc_create",
                byref(described),
                self.engine,
                FORWARD,
                DIRECT,
                *memories,
                ones,
                (c_int64 * 2)(0, 0),
                padding,
                padding,
                None,
            )
        self.lib.dnnl_primitive_desc_query_md.restype = c_void_p
        chosen = {
            name: c_void_p(self.lib.dnnl_primitive_desc_query_md(described, what, 0))
            for name, what in (("src", SRC), ("weights", WEIGHTS), ("dst", DST))
        }
        primitive = c_void_p()
        self.call("dnnl_primitive_create", byref(primitive), described)
        return primitive, chosen


def drive(path: str) -> dict[str, int]:
    """Run the net; the bytes of each memory by its name."""
    lib = Library(path)
    image, middle, out = [1, 24, 56, 56], [1, 40, 56, 56], [1, 24, 56, 56]
    kernels = [[40, 24, 3, 3], [24, 40, 3, 3]]
    first, one = lib.convolution(image, kernels[0], middle)
    second, two = lib.convolution(middle, kernels[1], out)
    plain = {name: lib.plain(dims) for name, dims in (("image", image), ("middle", middle), ("out", out))}
    weights = [lib.plain(dims) for dims in kernels]
    bias = [lib.memory(lib.plain([dims[0]])) for dims in kernels]
    stored = [lib.memory(x) for x in weights]
    source = lib.memory(plain["image"])
    for _ in range(2):
        x = lib.reorder(plain["image"], source, one["src"])
        packed, y = lib.reorder(weights[0], stored[0], one["weights"]), lib.memory(one["dst"])
        lib.run(first, {"src": x, "weights": packed, "bias": bias[0], "dst": y})
        z = lib.reorder(plain["middle"], lib.reorder(one["dst"], y, plain["middle"]), two["src"])
        packed, end = lib.reorder(weights[1], stored[1], two["weights"]), lib.memory(two["dst"])
        lib.run(second, {"src": z, "weights": packed, "bias": bias[1], "dst": end})
        lib.reorder(two["dst"], end, plain["out"])
    # 8-bit weights of signed data have compensation behind them.
    _, eight = lib.convolution(image, kernels[0], middle, S8)
    small = lib.plain(kernels[0], S8)
    lib.reorder(small, lib.memory(small), eight["weights"])
    sizes = {"8-bit weights": lib.size(eight["weights"])}
    sizes |= {f"{k} {name}": lib.size(x) for k, chosen in ((1, one), (2, two)) for name, x in chosen.items()}
    return {f"{lib.version} {name}": size for name, size in sizes.items()}


TORCH = """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 20, 3, padding=1), torch.nn.MaxPool2d(2)
).eval()
x = torch.randn(8, 3, 64, 64)
with torch.no_grad():
    net(x)
    net(x)
    net.to(memory_format=torch.channels_last)(x.to(memory_format=torch.channels_last))
    plain = net[2].weight.contiguous().to_mkldnn()
    packed = torch._C._nn.mkldnn_reorder_conv2d_weight(plain, [1, 1], [1, 1], [1, 1], 1)
    dense = packed.to_dense()
    mk = net[2].bias.to_mkldnn()
    y = torch.mkldnn_convolution(torch.randn(1, 16, 32, 32).to_mkldnn(), packed, mk, [1, 1], [1, 1], [1, 1], 1)
    y.to_dense()
    torch.nn.Linear(64, 48).eval()(torch.randn(5, 64))
    torch.matmul(torch.randn(2, 33, 40), torch.randn(2, 40, 17).transpose(1, 2).contiguous().transpose(1, 2))
"""


def log_of(arguments: list[str], **environment: str) -> str:
    """What a Python with these arguments prints."""
    chosen = {"ONEDNN_VERBOSE": "1", "DNNL_VERBOSE": "1", "OMP_NUM_THREADS": "1", **environment}
    ran = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **chosen}, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return ran.stdout


def main(libraries: list[str]) -> None:
    if not libraries:
        (DATA / "onednn_torch.log").write_text(log_of(["-c", TORCH]))
        (DATA / "onednn_torch_create.log").write_text(
            log_of(["-c", TORCH], ONEDNN_VERBOSE="2", ONEDNN_VERBOSE_TIMESTAMP="1")
        )
        return
    sizes: dict[str, int] = {}
    for path in libraries:
        text = log_of([__file__, "--drive", path])
        logged, _, told = text.rpartition("sizes ")
        found = json.loads(told)
        sizes |= found
        version = next(iter(found)).split()[0]
        (DATA / f"onednn_{version}.log").write_text(logged)
        timed = log_of([__file__, "--drive", path], ONEDNN_VERBOSE_TIMESTAMP="1", DNNL_VERBOSE_TIMESTAMP="1")
        (DATA / f"onednn_{version}_timestamps.log").write_text(timed.rpartition("sizes ")[0])
    (DATA / "onednn_sizes.json").write_text(json.dumps(sizes, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drive"]:
        found = drive(sys.argv[2])
        sys.stdout.flush()
        os.write(1, f"sizes {json.dumps(found)}\n".encode())
    else:
        main(sys.argv[1:])
