"""Texts of torch, judged by running the graphs: strides, which results share memory, and where bytes differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relayout.auditing.audit import audit
from relayout.auditing.kinds import REARRANGES, SAME_BYTES, UNDECIDED

FOLDER = Path(__file__).parent / "data" / "audit"
JUDGED: dict[str, dict[str, dict[str, Any]]] = json.loads((FOLDER / "torch_judge.json").read_text())


def graph(*lines: str, x: str = "f32[2, 3, 4, 5][60, 20, 5, 1]cpu") -> str:
    body = "".join([f"        {line}\n" for line in lines])
    return f'class GraphModule(torch.nn.Module):\n    def forward(self, x: "{x}"):\n{body}        return (y,)\n'


@pytest.mark.parametrize("file", sorted(JUDGED))
def test_moves_do_what_running_the_graph_does(file: str) -> None:
    found = audit(FOLDER / file)
    assert (found.kind, found.troubles) == ("torch", ())
    judged = JUDGED[file]
    for move in found.moves:
        seen = judged[move.place.name]
        assert (list(move.target.layout.extents), list(move.target.layout.stride)) == (seen["sizes"], seen["strides"])
        assert (move.bytes == 0) == seen["shares"], move
        assert (move.kind == SAME_BYTES) == (seen["shares"] or not seen["differs"]), move
    copied = {name for name, seen in judged.items() if seen.get("shares") is False and "relu" not in name}
    named = {move.place.name for move in found.moves}
    assert {name for name in copied if not name.startswith(("softmax", "cumsum", "linear", "matmul"))} <= named


def test_channels_last_is_left_and_come_back_to() -> None:
    found = audit(FOLDER / "network.fx.txt")
    words = {move.place.name: move.remarks for move in found.moves}
    assert words["contiguous"] == ("leaves channels_last", "undone by 12")
    assert words["to"] == ("comes to channels_last", "undoes 8")
    assert words["reshape"] == ("leaves channels_last",)


def test_an_operation_that_answers_contiguous_breaks_channels_last() -> None:
    text = graph(
        'y: "f32[2, 7, 4, 5][140, 20, 5, 1]cpu" = torch.ops.aten.conv2d.default(x, x)',
        x="f32[2, 3, 4, 5][60, 1, 15, 3]cpu",
    )
    (move,) = audit(text).moves
    assert (move.bytes, move.remarks) == (0, ("reads channels_last, and answers contiguous",))


def test_the_pair_is_found_across_views_and_relu() -> None:
    found = audit(FOLDER / "undone.fx.txt")
    pairs = [(found.moves[pair.first].place.name, found.moves[pair.second].place.name) for pair in found.pairs]
    assert pairs == [("contiguous", "contiguous_1")]


def test_inductor_writes_what_it_does_last() -> None:
    found = audit(FOLDER / "network.inductor.log")
    kernel, *views = found.moves
    assert (kernel.op, kernel.kind, kernel.bytes) == ("cpp_fused_clone_1", REARRANGES, 2 * 12 * 6 * 5 * 4)
    assert [(move.op, move.bytes) for move in views] == [("reinterpret_tensor", 0)] * 2
    assert {buffer.role for buffer in found.buffers} == {"parameter"}


def test_a_kernel_whose_dimensions_may_be_any_is_undecided() -> None:
    lines = [
        "def call(args):",
        "    assert_size_stride(arg0_1, {0}, {1}, 'input')",
        "    buf0 = empty_strided_cuda({2}, {3}, torch.float16)",
        "    triton_poi_fused_clone_0.run(arg0_1, buf0, 64, stream=stream0)",
        "    return (buf0, )",
        "    arg0_1 = rand_strided({0}, {1}, device='cuda:0', dtype=torch.float16)",
    ]
    for case, kind in (
        (("(4, 6)", "(1, 4)", "(4, 6)", "(6, 1)"), REARRANGES),
        (("(4, 6)", "(6, 1)", "(6, 4)", "(1, 6)"), SAME_BYTES),
        (("(4, 4)", "(4, 1)", "(4, 4)", "(1, 4)"), UNDECIDED),
    ):
        (move,) = audit("\n".join(lines).format(*case)).moves
        assert (move.op, move.kind) == ("triton_poi_fused_clone_0", kind)
    sizes = np.arange(24).reshape(4, 6)
    assert sizes.tobytes() == np.lib.stride_tricks.as_strided(sizes, (6, 4), (8, 48)).T.tobytes()


def test_strides_that_contradict_are_told() -> None:
    text = "def call(args):\n    buf0 = empty_strided_cpu((2, 3), (3, 1), torch.float32)\n"
    found = audit(text + "    assert_size_stride(buf0, (2, 3), (1, 2))\n")
    assert [trouble.place.line for trouble in found.troubles] == [3]


def test_a_text_without_strides_is_undecided_and_says_what_to_do() -> None:
    text = graph('y: "f32[2, 60]" = torch.ops.aten.reshape.default(x, [2, 60])', x="f32[2, 3, 4, 5]")
    (move,) = audit(text).moves
    assert (move.kind, "include_stride=True" in move.remarks[0]) == (UNDECIDED, True)


@pytest.mark.parametrize("sizes", ["s0, 3, 4, 5", "2, 3, 4"])
def test_what_is_not_understood_is_undecided(sizes: str) -> None:
    text = graph('y: "f32[2, 60][60, 1]cpu" = x.reshape(2, 60)', x=f"f32[{sizes}][60, 20, 5, 1]cpu")
    assert [move.kind for move in audit(text).moves] == [UNDECIDED]


def test_dynamo_writes_methods() -> None:
    text = graph(
        "l_x_ = x",
        'z: "f32[2, 4, 5, 3][60, 5, 1, 20]cpu" = l_x_.permute(0, 2, 3, 1);  l_x_ = None',
        'y: "f32[2, 4, 5, 3][60, 15, 3, 1]cpu" = z.contiguous();  z = None',
    )
    assert [(move.op, move.kind) for move in audit(text).moves] == [("permute", SAME_BYTES), ("contiguous", REARRANGES)]


def test_every_prefix_is_read_without_an_error() -> None:
    for file in ("network.fx.txt", "undone.inductor.log"):
        text = (FOLDER / file).read_text()
        for end in range(0, len(text), 61):
            assert len(audit(f"def forward(self):\n{text[:end]}", "torch").moves) <= 8


@pytest.mark.parametrize(("kernel", "pairs"), [("", 1), ("        cpp_fused__softmax_2(buf0, arg0_1)\n", 0)])
def test_what_a_kernel_may_write_in_place_is_not_followed(kernel: str, pairs: int) -> None:
    strided = "empty_strided_cpu((2, 3, 4, 5), ({}), torch.float32)\n"
    found = audit(
        "def call(args):\n"
        "        arg0_1, = args\n"
        "        assert_size_stride(arg0_1, (2, 3, 4, 5), (60, 20, 5, 1))\n"
        f"        buf0 = {strided.format('60, 1, 15, 3')}"
        "        cpp_fused_clone_0(arg0_1, buf0)\n"
        f"{kernel}"
        f"        buf1 = {strided.format('60, 20, 5, 1')}"
        "        cpp_fused_clone_1(buf0, buf1)\n"
        "        return (buf1, )\n"
        "arg0_1 = rand_strided((2, 3, 4, 5), (60, 20, 5, 1), device='cpu', dtype=torch.float32)\n"
    )
    assert [move.kind for move in found.moves] == ["rearranges", "rearranges"]
    assert len(found.pairs) == pairs


@pytest.mark.parametrize(
    ("call", "turn"),
    [
        ("torch.movedim(x, 1, 0)", lambda x: np.moveaxis(x, 1, 0)),
        ("torch.movedim(x, -1, 1)", lambda x: np.moveaxis(x, -1, 1)),
        ("torch.moveaxis(x, (0, 1), (3, 2))", lambda x: np.moveaxis(x, (0, 1), (3, 2))),
        ("torch.swapdims(x, 1, -1)", lambda x: x.swapaxes(1, -1)),
        ("torch.ops.aten.numpy_T.default(x)", lambda x: x.T),
        ("torch.ops.aten.mT.default(x)", lambda x: x.swapaxes(-1, -2)),
    ],
)
def test_other_orders_are_views(call: str, turn: Any) -> None:
    x = np.zeros((2, 3, 4, 5), np.int8)
    y = turn(x)
    types = [f"f32{list(a.shape)}{list(a.strides)}cpu" for a in (x, y)]
    found = audit(f'def forward(self, x: "{types[0]}"):\n    y: "{types[1]}" = {call}\n    return (y,)\n')
    assert [(move.kind, move.bytes) for move in found.moves] == [(SAME_BYTES, 0)]


def test_a_copy_to_another_type_and_order_is_a_move() -> None:
    line = '    y: "{}" = torch.ops.aten._to_copy.default(x, dtype = torch.bfloat16)\n'
    head = 'def forward(self, x: "f32[2, 8, 4, 4][128, 16, 4, 1]cpu"):\n'
    for strides, kinds in (("128, 1, 32, 8", [REARRANGES]), ("128, 16, 4, 1", [])):
        found = audit(f"{head}{line.format(f'bf16[2, 8, 4, 4][{strides}]cpu')}    return (y,)\n")
        assert [move.kind for move in found.moves] == kinds
        assert all(move.bytes == 2 * 256 for move in found.moves)
