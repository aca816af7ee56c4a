"""Write the HLO, StableHLO and Shardy samples of the audit, and what XLA itself says about them.

``python tests/record_audit_jax.py`` with jax 0.10.2 and jaxlib 0.10.2 on a CPU. For every copy, transpose, reshape and
bitcast ``hlo_judge.json`` has the two shapes as XLA's own parser prints them and, of types that numpy has too, whether
the bytes of the result differ from those of the operand when XLA runs that one instruction alone, on random numbers.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxlib import _hlo

FOLDER = Path(__file__).parent / "data" / "audit"
MOVES = ("copy", "transpose", "reshape", "bitcast", "bitcast-convert")
F32 = jnp.float32
SHAPED = jax.ShapeDtypeStruct


def convolutions(x: Any, first: Any, second: Any) -> Any:
    names = ("NCHW", "OIHW", "NCHW")
    y = jax.nn.relu(jax.lax.conv_general_dilated(x, first, (1, 1), "SAME", dimension_numbers=names))
    return jax.lax.conv_general_dilated(y, second, (2, 2), "SAME", dimension_numbers=names)


def attention(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
    b, t, d = x.shape
    q, k, v = ((x @ w).reshape(b, t, 4, d // 4).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
    weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) / 8.0, -1)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(b, t, d) @ wo


def loop(x: Any) -> Any:
    return jax.lax.scan(lambda c, _: (jnp.transpose(c, (1, 0, 2)) * 2, c[0, 0, 0]), x, None, length=5)


def there_and_back(x: Any) -> Any:
    y = jnp.cumsum(jnp.transpose(x, (0, 2, 3, 1)), 1)
    z = jnp.transpose(jnp.transpose(jnp.sin(jnp.transpose(y, (0, 3, 1, 2))), (0, 2, 3, 1)), (0, 3, 1, 2))
    return jnp.sort(z, 1), x.reshape(-1).reshape(x.shape[1], -1).T.copy()


def narrow(x: Any) -> Any:
    return jax.lax.bitcast_convert_type(x, jnp.int8), x.astype(jnp.int4).T


def sharded(x: Any, w: Any) -> Any:
    return jax.nn.relu(x @ w).T


def programs() -> list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    square = SHAPED((64, 64), F32)
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
    rows, columns = (NamedSharding(mesh, P(*spec)) for spec in (("x", None), (None, "y")))
    return [
        (
            "convolutions",
            convolutions,
            tuple([SHAPED(s, F32) for s in ((1, 3, 32, 32), (16, 3, 3, 3), (32, 16, 3, 3))]),
            {},
        ),
        ("attention", attention, (SHAPED((2, 16, 64), F32), square, square, square, square), {}),
        ("loop", loop, (SHAPED((16, 16, 8), F32),), {}),
        ("back", there_and_back, (SHAPED((2, 8, 6, 4), F32),), {}),
        ("narrow", narrow, (SHAPED((16, 6), F32),), {}),
        (
            "sharded",
            sharded,
            (SHAPED((64, 128), F32, sharding=rows), SHAPED((128, 256), F32, sharding=columns)),
            {"out_shardings": NamedSharding(mesh, P("y", "x"))},
        ),
    ]


def main() -> None:
    jax.config.update("jax_traceback_in_locations_limit", 0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    judged: dict[str, Any] = {}
    for name, function, arguments, options in programs():
        lowered = jax.jit(function, **options).lower(*arguments)
        texts = {
            f"{name}.stablehlo.mlir": lowered.as_text(),
            f"{name}.before.hlo": lowered.as_text(dialect="hlo"),
            f"{name}.after.hlo": lowered.compile().as_text(),
        }
        for file, text in texts.items():
            (FOLDER / file).write_text(text)
            if file.endswith(".hlo"):
                judged[file] = judge(text)
    (FOLDER / "hlo_judge.json").write_text(json.dumps(judged, indent=1) + "\n")


def judge(text: str) -> dict[str, Any]:
    """What XLA says about every move in a module."""
    found = {}
    module = _hlo.hlo_module_from_text(text)
    for computation in module.computations():
        shapes = {}
        for instruction in computation.instructions():
            printed = re.match(r"(?:ROOT )?%?([\w.\-]+) = (\(.*?\) |\S+ )([\w\-]+)\((.*)", instruction.to_string())
            name, shape, opcode, rest = printed.groups()
            shapes[name] = shape.strip()
            if opcode in MOVES:
                source = shapes[instruction.operands()[0].name]
                found[name] = {"op": opcode, "source": source, "target": shapes[name]}
                changed = run_alone(source, shapes[name], opcode, rest)
                if changed is not None:
                    found[name]["changes"] = changed
    return found


def run_alone(source: str, target: str, opcode: str, rest: str) -> bool | None:
    """Whether an instruction changes the bytes of its operand when XLA runs it; None where it cannot tell."""
    if opcode == "bitcast" or not re.fullmatch(r"(?:f32|s32|u32|s8|u8)\[[\d,]*\](?:\{[\d,]*\})?", source):
        return None
    (shape, kind, order), (wanted, other, wanted_order) = parsed(source), parsed(target)
    turn = [int(n) for n in re.findall(r"\d+", (re.search(r"dimensions=\{([\d,]*)\}", rest) or ["", ""])[1])]
    does = {
        "copy": lambda x: x,
        "transpose": lambda x: jnp.transpose(x, turn),
        "reshape": lambda x: jnp.reshape(x, wanted),
        "bitcast-convert": lambda x: jax.lax.bitcast_convert_type(x, other),
    }[opcode]
    one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    data = np.random.default_rng(1).integers(0, 100, shape).astype(kind)
    given = jax.device_put(data, Format(Layout(order[::-1]), one))
    result = jax.jit(does, out_shardings=Format(Layout(wanted_order[::-1]), one))(given)
    return memory(given) != memory(result)


def memory(x: Any) -> bytes:
    """The bytes of an array as they lie in memory."""
    jax.block_until_ready(x)
    return ctypes.string_at(x.unsafe_buffer_pointer(), x.size * x.dtype.itemsize)


def parsed(text: str) -> tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]]:
    kind, sizes, order = re.match(r"(\w+)\[([\d,]*)\](?:\{([\d,]*)\})?", text).groups()
    shape = tuple([int(n) for n in sizes.split(",") if n])
    names = {"f32": "float32", "s32": "int32", "u32": "uint32", "s8": "int8", "u8": "uint8", "pred": "bool"}
    minor = [int(n) for n in (order or "").split(",") if n] or list(range(len(shape)))[::-1]
    return shape, np.dtype(names[kind]), tuple(minor)


if __name__ == "__main__":
    main()
