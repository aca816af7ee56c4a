"""torch as a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..elements.types import Element
from ..errors import NotExpressible
from .array_library import ArrayLibrary, fill_value
from .array_target import ArrayTarget
from .python_text import Bracketed, Expression, PythonLines, call


class TorchLibrary(ArrayLibrary):
    """torch's words for arrays, on any device. What it lacks kernels for is moved as signed integers."""

    name = "torch"
    alias = "torch"
    imports = ("import torch",)
    test_imports = ("import torch",)
    floats = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
    carried = (
        "uint16",
        "uint32",
        "uint64",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "complex32",
    )
    integers = "int"
    conversion_head = ()
    unconverted: ClassVar[tuple[str, ...]] = ("uint64",)
    widened: ClassVar[dict[str, str]] = {"uint16": "int64", "uint32": "int64"}
    rint = "torch.round"

    def holds_fill(self, kind: Element, fill: bytes) -> bool:
        return super().holds_fill(kind, fill) and not fill_value(kind, fill).imag

    def transpose(self, x: str, order: Sequence[int]) -> Expression:
        return call(f"{x}.permute", *map(str, order))

    def pad(self, x: str, pairs: Sequence[tuple[str, str]], fill: str) -> Expression:
        widths = [word for pair in reversed(pairs) for word in pair]
        while widths[-2:] == ["0", "0"]:
            del widths[-2:]
        more = () if fill == "0" else (f"value={fill}",)
        return call("torch.nn.functional.pad", x, Bracketed("(", tuple(widths), ")"), *more)

    def contiguous(self, x: str) -> str:
        return f"{x}.contiguous()"

    def cast(self, x: str, name: str) -> str:
        return f"{x}.to({self.dtype(name)})"

    def arange(self, count: str, like: str) -> str:
        return f"torch.arange({count}, device={like}.device)" if like else f"torch.arange({count})"

    def full(self, count: str, fill: str, like: str) -> Expression:
        return call("torch.full", f"({count},)", fill, f"dtype={like}.dtype", f"device={like}.device")

    def array(self, values: Sequence[str], kind: str) -> Expression:
        return call("torch.tensor", Bracketed("[", tuple(values), "]"), f"dtype={self.dtype(kind)}", "device=x.device")

    def from_bfloat16(self, x: str) -> str:
        return self.cast(x, "float32")

    def add_bfloat16(self, body: PythonLines) -> None:
        self.add_rounded_bits(body, "int32")
        body.add(1, "x = torch.where(torch.isnan(x), quiet, rounded)")
        body.add(1, "return x.to(torch.int16).view(torch.bfloat16)")

    def check_rounding(self, kind: Element, to: Element) -> None:
        if (kind.name, to.name) == ("float64", "float16"):
            raise NotExpressible(
                "torch rounds float64 to float16 twice, by way of float32.",
                hint="convert to float32 first, and say so",
                element=to,
            )

    def from_bytes(self, data: str, name: str) -> str:
        return f"torch.tensor(list({data}), dtype=torch.uint8).view({self.dtype(name)})"

    def to_bytes(self, x: str) -> str:
        return f"bytes({x}.view(torch.uint8).tolist())"

    def unpack_lines(self, bits: int) -> list[str]:
        return [
            "bits = x.reshape(-1, 1) >> torch.arange(8, device=x.device) & 1",
            f"rows = bits.reshape(-1)[: {bits} * count].reshape(-1, {bits})",
            f"codes = (rows << torch.arange({bits}, device=x.device)).sum(1)",
            "return codes.to(torch.uint8)",
        ]

    def pack_lines(self, bits: int) -> list[str]:
        return [
            f"bits = (x.reshape(-1, 1) >> torch.arange({bits}, device=x.device) & 1).reshape(-1)",
            "rows = torch.nn.functional.pad(bits, (0, -bits.numel() % 8)).reshape(-1, 8)",
            "return (rows << torch.arange(8, device=x.device)).sum(1).to(torch.uint8)",
        ]


TARGET = ArrayTarget(TorchLibrary(), "reshape, permute and pad of flat tensors, gathers otherwise")
