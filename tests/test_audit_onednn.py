"""Logs of oneDNN, written by oneDNN itself (2.0, 2.6, 3.2 and torch's 3.12): moves, times, weights, pairs that cancel.

The judges are oneDNN's own ``get_size`` of every memory, and a plain count of the lines.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relayout.auditing.audit import Audit, audit
from relayout.auditing.kinds import REARRANGES, SAME_BYTES, UNDECIDED
from relayout.auditing.onednn import UNSIZED, read_line

DATA = Path(__file__).parent / "data" / "audit"
VERSIONS = ("2.0", "2.6", "3.2")
LOGS = [f"onednn_{version}{more}.log" for version in VERSIONS for more in ("", "_timestamps")]
TORCH = ["onednn_torch.log", "onednn_torch_create.log"]


def executed(name: str) -> list[list[str]]:
    """The fields of every line that ran, from the operation on, as a plain split gives them."""
    lines = [line.split(",") for line in (DATA / name).read_text().splitlines()]
    return [fields[fields.index("exec") :] for fields in lines if "exec" in fields]


def of(name: str) -> Audit:
    return audit(DATA / name)


@pytest.mark.parametrize("name", LOGS + TORCH)
def test_every_reorder_is_a_move_and_every_other_primitive_a_step(name: str) -> None:
    found = of(name)
    lines = executed(name)
    reorders = [fields for fields in lines if fields[2] == "reorder"]
    assert found.kind == "onednn"
    assert not found.troubles
    assert found.totals.moves == len(reorders) > 0
    assert found.totals.steps == len(lines) - len(reorders) > 0
    assert found.totals.time == pytest.approx(sum(float(fields[-1]) for fields in reorders) / 1e3)
    others = sum(float(fields[-1]) for fields in lines if fields[2] != "reorder") / 1e3
    assert found.totals.step_time == pytest.approx(others)


@pytest.mark.parametrize("name", LOGS)
def test_sizes_are_those_that_onednn_reserves(name: str) -> None:
    version = name.split("_")[1].removesuffix(".log")
    sizes = {k.removeprefix(f"{version} "): n for k, n in json.loads((DATA / "onednn_sizes.json").read_text()).items()}
    bodies = [",".join(fields[1:-1]) for fields in executed(name) if fields[2] == "convolution"]
    for k, body in enumerate(bodies):
        ran = read_line(body)
        memories = {memory.name: memory.side.stored_bytes for memory in (*ran.reads, *ran.writes)}
        number = k % 2 + 1
        assert memories["src"] == sizes[f"{number} src"]
        assert memories["wei"] == sizes[f"{number} weights"]
        assert memories["dst"] == sizes[f"{number} dst"]
    # What a reorder writes for a convolution has that one's size.
    written = {move.bytes for move in of(name).moves}
    assert {sizes["1 src"], sizes["1 weights"], sizes["2 weights"], sizes["2 src"]} <= written


@pytest.mark.parametrize("name", LOGS)
def test_the_pair_between_the_convolutions_cancels_in_every_run(name: str) -> None:
    found = of(name)
    assert len(found.pairs) == 1
    first, second = found.moves[found.pairs[0].first], found.moves[found.pairs[0].second]
    assert (first.shape, second.shape) == ((1, 40, 56, 56),) * 2
    assert second.place.line == first.place.line + 1
    assert found.pairs[0].runs == first.count == second.count == 2
    assert f"undone by {second.place.line}" in first.remarks
    # The output of one run and the input of the next have the same sizes and formats, and are no pair.
    assert not any("undo" in remark for move in found.moves if move.shape == (1, 24, 56, 56) for remark in move.remarks)


@pytest.mark.parametrize("name", LOGS)
def test_weights_that_are_packed_in_every_run(name: str) -> None:
    packed = [move for move in of(name).moves if "weights: pack once" in move.remarks]
    assert [move.shape for move in packed] == [(40, 24, 3, 3), (24, 40, 3, 3)]
    assert any("once" in saving.change for saving in of(name).savings)


def test_weights_that_were_packed_ahead_are_none() -> None:
    lines = (DATA / "onednn_3.2.log").read_text().splitlines()
    reorder = next(line for line in lines if "40x24x3x3" in line)
    convolution = next(line for line in lines if ",convolution," in line)
    (move,) = audit("\n".join([reorder, convolution, convolution, ""])).moves
    assert move.remarks[0] == "weights"
    assert not any("once" in remark for remark in move.remarks)


def test_torch_reorders_between_its_layers() -> None:
    found = of("onednn_torch.log")
    texts = {(move.source.text, move.target.text, move.shape): move for move in found.moves}
    there = texts["aBcd16b", "abcd", (8, 16, 64, 64)]
    assert there.kind == REARRANGES
    assert there.bytes == 8 * 16 * 64 * 64 * 4
    assert any(remark.startswith("undone by") for remark in there.remarks)
    assert texts["abcd", "abcd", (20, 16, 3, 3)].kind == SAME_BYTES
    padded = texts["abcd", "ABcd16b16a", (20, 16, 3, 3)]
    assert padded.bytes == 32 * 16 * 9 * 4
    assert "padding 38 %" in padded.remarks


LINE = "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,{},,,{},0.5\n"


def test_memories_of_every_form() -> None:
    def move(memories: str, problem: str = "4x8") -> tuple[str, int | None, str]:
        (found,) = audit(LINE.format(memories, problem) + "\n").moves
        return found.kind, found.bytes, found.target.why

    assert move("src:f32::blocked:ab::f0 dst:f32::blocked:ba::f0") == (REARRANGES, 128, "")
    assert move("src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0") == (SAME_BYTES, 128, "")
    # Strides with gaps: rows of 12 in a matrix of 4 x 8.
    assert move("src:f32::blocked:ab::f0 dst:f32::blocked:ab:12x1:f0") == (REARRANGES, 4 * (3 * 12 + 8), "")
    assert move("src:f32::blocked:ab::f0 dst:s8::blocked:ab::f0")[:2] == ("same layout, other type", 32)
    kind, size, why = move("src:f32::blocked:ab::f0 dst:f32::wino:::f0")
    assert (kind, size) == (UNDECIDED, None)
    assert "wino" in why
    assert move("src:f32::blocked:ab::f0 dst:f32:o:blocked:ab::f0")[0] == UNDECIDED


@pytest.mark.parametrize("version", VERSIONS)
def test_compensation_behind_8_bit_weights_counts(version: str) -> None:
    size = json.loads((DATA / "onednn_sizes.json").read_text())[f"{version} 8-bit weights"]
    (move,) = [
        move for move in of(f"onednn_{version}.log").moves if move.source.element and move.source.element.bits == 8
    ]
    assert move.bytes is not None
    if version == "2.0":
        # That log tells the flags without the mask.
        assert (move.remarks[0], move.bytes) == (UNSIZED, size - 4 * 48)
    else:
        # 3.2 adds the same compensation once for each of three flags; the versions before and after it do not.
        assert move.bytes == size - (2 * 4 * 48 if version == "3.2" else 0)


def test_memories_of_open_sizes_are_not_followed() -> None:
    there, back = "src:f32::blocked:ab::f0 dst:f32::blocked:ba::f0", "src:f32::blocked:ba::f0 dst:f32::blocked:ab::f0"
    assert len(audit(LINE.format(there, "4x8") + LINE.format(back, "4x8")).pairs) == 1
    found = audit(LINE.format(there, "*x8") + LINE.format(back, "*x8"))
    assert not found.pairs
    assert [(move.kind, move.bytes) for move in found.moves] == [(REARRANGES, None)] * 2


def test_graphs_and_elementwise_primitives_are_steps() -> None:
    graph = "onednn_verbose,v1,graph,exec,cpu,100002,other_post_ops,relu,,in0_f32:1:strided,,dnnl_backend,0.25\n"
    relu = (
        "onednn_verbose,v1,primitive,exec,cpu,eltwise,jit:avx512_core,forward_inference,"
        "src:f32::blocked:ba::f0 dst:f32::blocked:ba::f0,,alg:eltwise_relu alpha:0 beta:0,4x8,0.5\n"
    )
    there, back = "src:f32::blocked:ab::f0 dst:f32::blocked:ba::f0", "src:f32::blocked:ba::f0 dst:f32::blocked:ab::f0"
    found = audit(LINE.format(there, "4x8") + graph + relu + LINE.format(back, "4x8"))
    assert (found.totals.steps, found.totals.step_time) == (2, 0.75e-3)
    # What is elementwise may come before the pair or after it.
    assert len(found.pairs) == 1


def test_what_is_cut_or_mixed_is_read_as_far_as_it_goes() -> None:
    text = (DATA / "onednn_3.2.log").read_text()
    whole = audit(text)
    for size in range(600, len(text), 331):
        found = audit(text[:size])
        assert found.totals.moves <= whole.totals.moves
        assert len(found.troubles) <= 1
    cut = audit(text[: text.index("1x40x56x56") + 4] + "\n")
    assert cut.totals.moves == 3
    assert "cut" in cut.troubles[0].message or "time" in cut.troubles[0].message
    mixed = "loading...\n" + text.replace("onednn_verbose", "[rank 0] onednn_verbose") + "done, reorder,exec\n"
    assert audit(mixed, kind="onednn").totals == whole.totals
    assert "no primitive ran" in audit("onednn_verbose,info,oneDNN v3.2.0\n\n").troubles[0].message


REORDER = "dnnl_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:{}:f0 dst_f32::blocked:{}:f0,,,1x16x8x8,0.5\n"
THERE, BACK = REORDER.format("aBcd16b", "abcd"), REORDER.format("abcd", "aBcd16b")


@pytest.mark.parametrize(
    ("between", "pairs"),
    [
        (
            "eltwise,jit:uni,forward_training,data_f32::blocked:abcd:f0 diff_undef::undef::f0,,alg:relu,1x16x8x8",
            1,
        ),
        ("softmax,jit:uni,forward_training,data_f32::blocked:abcd:f0 diff_undef::undef::f0,,axis:1,1x16x8x8", 0),
        ("batch_normalization,ref:any,forward_training,data_f32::blocked:abcd:f0,,flags:,mb1ic16ih8iw8", 0),
        ("rnn,ref:any,forward_training,src_layer_f32::blocked:abc:f0 dst_layer_f32::blocked:abcd:f0,,,l1t1mb1", 0),
        ("lrn,ref,backward_data,diff_dst_f32::blocked:abcd:f0 diff_src_f32::blocked:abcd:f0,,alg:lrn,1x16x8x8", 0),
        ("softmax,jit:uni,forward_training,data_f32::blocked:abcd:f0,,axis:1,1x16x4x4", 1),
    ],
)
def test_a_pair_cancels_only_if_nothing_else_writes_between(between: str, pairs: int) -> None:
    found = audit(f"{THERE}dnnl_verbose,exec,cpu,{between},0.1\n{BACK}")
    assert len(found.pairs) == pairs


@pytest.mark.parametrize("time", ["nan", "inf", "-1", "soon"])
def test_a_time_is_a_number(time: str) -> None:
    found = audit(THERE.replace("0.5\n", f"{time}\n"))
    assert [move.time for move in found.moves] == [None]
    assert len(found.troubles) == 1
