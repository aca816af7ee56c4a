"""StableHLO and Shardy texts that jax wrote, judged by numpy; what Shardy's operations exchange, by enumeration."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from relayout.auditing.audit import audit
from relayout.auditing.kinds import EXCHANGES, REARRANGES, SAME_BYTES, UNDECIDED
from relayout.dialects.shardings import read_sharding

FOLDER = Path(__file__).parent / "data" / "audit"
MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2]>'


def function(*lines: str, argument: str = "tensor<8x4xf32>", attributes: str = "") -> str:
    body = "".join([f"    {line}\n" for line in lines])
    return f"module{attributes} {{\n  {MESH}\n  func.func public @main(%arg0: {argument}) {{\n{body}  }}\n}}\n"


@pytest.mark.parametrize("name", ["attention", "back", "convolutions", "loop", "narrow", "sharded"])
def test_moves_change_bytes_where_numpy_does(name: str) -> None:
    found = audit(FOLDER / f"{name}.stablehlo.mlir")
    assert (found.kind, found.troubles) == ("stablehlo", ())
    lines = (FOLDER / f"{name}.stablehlo.mlir").read_text().splitlines()
    written = [
        k for k, line in enumerate(lines, 1) if re.search(r"stablehlo\.(transpose|reshape|bitcast_convert)", line)
    ]
    assert [move.place.line for move in found.moves] == written
    for move in found.moves:
        line = lines[move.place.line - 1]
        sizes = re.findall(r"tensor<([\dx]*)x[a-z]", line)[0]
        x = np.arange(np.prod([int(n) for n in sizes.split("x")])).reshape([int(n) for n in sizes.split("x")])
        order = re.search(r"dims = \[([\d, ]*)\]", line)
        y = x if order is None else x.transpose([int(n) for n in order[1].split(",")])
        assert move.kind == (SAME_BYTES if y.tobytes() == x.tobytes() else REARRANGES), line
        assert (move.bytes == 0) == (move.kind == SAME_BYTES)


def test_transposes_that_cancel_are_found_across_an_elementwise_operation() -> None:
    found = audit(FOLDER / "back.stablehlo.mlir")
    pairs = [(found.moves[pair.first].place.line, found.moves[pair.second].place.line) for pair in found.pairs]
    lines = (FOLDER / "back.stablehlo.mlir").read_text().splitlines()
    assert (5, 7) in pairs
    assert "stablehlo.sine" in lines[6 - 1]


def test_parameters_tell_what_each_device_holds() -> None:
    shapes = [buffer.details["device_shape"] for buffer in audit(FOLDER / "sharded.stablehlo.mlir").buffers]
    assert shapes == [[16, 128], [128, 128]]
    text = function("return", argument='tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}').replace(
        "return", "%0 = stablehlo.negate %arg0 : tensor<8x4xf32>"
    )
    assert audit(text).buffers[0].details["device_shape"] == [2, 4]


SHARDINGS = ['[{"x"}, {}]', '[{}, {"x"}]', '[{"x", "y"}, {}]', '[{"y"}, {"x"}]', "[{}, {}]"]


def test_a_resharding_exchanges_what_devices_do_not_hold() -> None:
    for before, after in product(SHARDINGS, SHARDINGS):
        text = function(
            f"%0 = sdy.reshard %arg0 <@mesh, {after}> : tensor<8x4xf32>",
            argument=f"tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, {before}>}}",
        )
        (move,) = audit(text).moves
        held = [_held(f"{MESH} #sdy.sharding<@mesh, {s}>") for s in (before, after)]
        received = sum([len(new - old) for old, new in zip(*held)])
        assert (move.kind, move.bytes) == (EXCHANGES if held[0] != held[1] else SAME_BYTES, received * 4), text


def _held(text: str) -> list[set[tuple[int, ...]]]:
    """The elements of each device, by looking at every box."""
    sharding = read_sharding(text)
    assert sharding is not None
    boxes = [sharding.at((8, 4)).boxes(device) for device in range(4)]
    return [{c for box in found for c in product(*[range(a, b) for a, b in box])} for found in boxes]


def test_layouts_in_attributes() -> None:
    turned = function(
        "%0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>",
        argument='tensor<8x4xf32> {mhlo.layout_mode = "{0,1}"}',
    )
    assert [move.kind for move in audit(turned).moves] == [SAME_BYTES]
    module = " attributes {mhlo.xla_entry_computation_parameter_layouts = [dense<[0, 1]> : tensor<2xindex>]}"
    text = function(
        '%0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<8x4xf32>) -> tensor<4x8xf32>',
        attributes=module,
    )
    assert [move.kind for move in audit(text).moves] == [SAME_BYTES]
    asks = "operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]"
    call = f"%0 = stablehlo.custom_call @f(%arg0) {{{asks}}} : (tensor<8x4xf32>) -> tensor<8x4xf32>"
    (move,) = audit(function(call)).moves
    assert (move.op, move.kind, move.bytes) == ("custom_call", REARRANGES, 8 * 4 * 4)


@pytest.mark.parametrize("kind", ["tensor<?x4xf32>", "tensor<8x!quant.uniform<i8:f32, 1.0>>", "!stablehlo.token"])
def test_what_is_not_understood_is_undecided(kind: str) -> None:
    found = audit(function(f"%0 = stablehlo.reshape %arg0 : ({kind}) -> tensor<32xf32>", argument=kind))
    assert [(move.kind, bool(move.remarks)) for move in found.moves] == [(UNDECIDED, True)]


def test_every_prefix_is_read_without_an_error() -> None:
    text = (FOLDER / "sharded.stablehlo.mlir").read_text()
    for end in range(0, len(text), 7):
        assert len(audit("module {\n" + text[:end], "stablehlo").moves) <= 1
