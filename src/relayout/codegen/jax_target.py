"""jax as a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..elements.types import Element
from ..errors import NotExpressible
from .array_library import ArrayLibrary, StoredType, fill_value
from .array_target import ArrayTarget
from .python_text import Expression, PythonLines


class JaxLibrary(ArrayLibrary):
    """jax's words for arrays; types of 64 bits need ``jax_enable_x64``, as everywhere in jax."""

    name = "jax"
    alias = "jnp"
    imports = ("import jax", "import jax.numpy as jnp")
    test_imports = ("import jax", "import jax.numpy as jnp", "import numpy as np")
    test_setup = ('jax.config.update("jax_enable_x64", True)',)
    floats = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
    # XLA may move halves as floats, which makes signalling NaNs quiet.
    carried = (
        "float16",
        "bfloat16",
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
    )
    conversion_head = ()
    index_type: ClassVar[str] = "int32"
    rint = "jnp.rint"

    def stored_type(self, element: Element, fill: bytes = b"") -> StoredType:
        found = super().stored_type(element, fill)
        if element.underlying.complex and found.moved != found.given:
            # A view of integers as complex numbers is a sum of both parts, which loses signs of zeros.
            raise NotExpressible(
                "jax has no view of integers as complex numbers that a fill of NaN or -0.0 could be moved as.",
                hint="take another fill",
                element=element,
            )
        return found

    def holds_fill(self, kind: Element, fill: bytes) -> bool:
        """XLA takes subnormal numbers for 0 as well."""
        value, smallest = fill_value(kind, fill), 2.0 ** (-1022 if kind.name in ("float64", "complex128") else -126)
        subnormal = any(0 < abs(part) < smallest for part in (value.real, value.imag))
        return super().holds_fill(kind, fill) and not subnormal

    def pad(self, x: str, pairs: Sequence[tuple[str, str]], fill: str) -> Expression:
        large = fill.isdigit() and int(fill) >= 1 << 63
        return super().pad(x, pairs, f"jnp.uint64({fill})" if large else fill)

    def contiguous(self, x: str) -> str:
        return ""

    def put(self, lines: PythonLines, storage: str, fill: str) -> None:
        lines.statement(1, "dst = ", self.full(storage, fill, "x"))
        lines.add(1, "dst = dst.at[at].set(x)")

    def rounded_product(self, product: str) -> str:
        # Under jit a product and a sum may become one operation that rounds once.
        return f"jax.lax.optimization_barrier({product})"

    def from_bfloat16(self, x: str) -> str:
        return self.cast(x, "float32")

    def add_bfloat16(self, body: PythonLines) -> None:
        body.add(1, f"return {self.cast('x', 'bfloat16')}")

    def from_bytes(self, data: str, name: str) -> str:
        return f"jnp.asarray(np.frombuffer({data}, {self.dtype(name)}))"

    def to_bytes(self, x: str) -> str:
        return f"np.asarray({x}).tobytes()"

    def unpack_lines(self, bits: int) -> list[str]:
        return [
            f'rows = jnp.unpackbits(x.reshape(-1), count={bits} * count, bitorder="little")',
            f'return jnp.packbits(rows.reshape(-1, {bits}), axis=1, bitorder="little")[:, 0]',
        ]

    def pack_lines(self, bits: int) -> list[str]:
        return [
            f'rows = jnp.unpackbits(x, bitorder="little").reshape(-1, 8)[:, :{bits}]',
            'return jnp.packbits(rows.reshape(-1), bitorder="little")',
        ]


TARGET = ArrayTarget(JaxLibrary(), "reshape, transpose and pad of flat arrays, gathers otherwise")
