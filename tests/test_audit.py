"""Audits: kinds proven by enumeration, pairs that cancel, what saves most, every form of the answer, broken files."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relayout as rl
from relayout.auditing import readers
from relayout.auditing.artefact import Artefact
from relayout.auditing.audit import Audit, audit_files, gather
from relayout.auditing.checkpoints import find_gaps
from relayout.auditing.difference import compare_audits
from relayout.auditing.flow import undoes
from relayout.auditing.kinds import CONVERTS, OTHER_MEMORY, REARRANGES, SAME_BYTES, UNDECIDED, decide_kind
from relayout.auditing.making import make_move, make_side
from relayout.auditing.measure import measure_moves
from relayout.auditing.move import Buffer, Found, Move, Place, Side, Step, Timing
from relayout.cli.main import relayout as group
from relayout.errors import BadFile
from relayout.testing import conformance

EXAMPLE = Path(__file__).parents[1] / "examples" / "relayout_example" / "relayout_example" / "trace.py"


def example_reader() -> Any:
    spec = importlib.util.spec_from_file_location("trace_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.READER


TRACE = example_reader()

SAMPLE = """acme trace 1
weight %w nchw 64x64x3x3 float32
dma %w nchw -> %p OIhw16i16o 64x64x3x3 float32 30us
dma %x nchw -> %a nChw16c 1x3x64x64 float32 112.5us
conv %a %p -> %c 400us
dma %c nChw16c -> %y nchw 1x64x28x28 float32 11us
relu %y -> %z 4us
dma %z nchw -> %q nChw16c 1x64x28x28 float32 11us
conv %q %p -> %r 300us
return %r
"""


class Point:
    def load(self) -> Any:
        return TRACE


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_entry_points", lambda: {"acme": Point()})


def run(*words: str, **more: Any) -> Any:
    return CliRunner().invoke(group, ["audit", *words], **more)


def answer(*words: str) -> Any:
    return json.loads(run(*words, "--json").stdout)["result"]


# ---- kinds -----------------------------------------------------------------------------------------------


def of(layout: rl.Layout, element: str = "float32", memory: str = "") -> Side:
    return Side(str(layout), layout, rl.elements.types.element(element), memory)


def test_kinds_are_those_of_enumeration() -> None:
    rng = np.random.default_rng(7)
    kinds = set()
    for _ in range(200):
        shape = tuple(int(n) for n in rng.integers(1, 5, 3))
        a, b = (rl.Layout.row_major(*[shape[d] for d in order]) for order in (rng.permutation(3), rng.permutation(3)))
        orders = [rng.permutation(3) for _ in range(2)]
        a, b = (
            rl.Layout.row_major(*[shape[d] for d in order]).permute(*np.argsort(order).tolist()) for order in orders
        )
        kind = decide_kind(of(a), of(b))[0]
        kinds.add(kind)
        assert (kind == SAME_BYTES) == bool((a.offsets() == b.offsets()).all())
    assert kinds == {SAME_BYTES, REARRANGES}


def test_a_reshape_is_decided_in_row_major_order() -> None:
    plain = rl.Layout.row_major(4, 6)
    assert decide_kind(of(plain), of(rl.Layout.row_major(24)))[0] == SAME_BYTES
    assert decide_kind(of(plain), of(rl.Layout.row_major(2, 2, 6)))[0] == SAME_BYTES
    assert decide_kind(of(rl.Layout((4, 6))), of(rl.Layout.row_major(24)))[0] == REARRANGES
    assert decide_kind(of(plain), of(rl.Layout.row_major(5, 5)))[0] == REARRANGES


def test_memory_types_and_what_is_not_understood() -> None:
    a = rl.Layout.row_major(4, 6)
    assert decide_kind(of(a), of(a, memory="S(1)"))[0] == OTHER_MEMORY
    assert decide_kind(of(a), of(a, "bfloat16"))[0] == CONVERTS
    kind, why, _ = decide_kind(of(a), make_side("no such layout"))
    assert kind == UNDECIDED
    assert "no such layout" in why


def test_a_bitcast_writes_nothing_and_a_copy_does() -> None:
    a = of(rl.Layout.row_major(4, 6))
    assert make_move(Place("f"), "bitcast", a, a, copies=False).bytes == 0
    assert make_move(Place("f"), "copy", a, a).bytes == 96
    padded = make_side("nChw16c", shape=(1, 3, 4, 4), element="float32")
    assert padded.stored_bytes == 16 * 16 * 4
    assert padded.padding == 1 - 3 / 16


# ---- what cancels ----------------------------------------------------------------------------------------


def brings_back(first: Move, second: Move) -> bool:
    """Whether data that go through both moves lie as before, element by element."""
    start, there, here, end = (x.layout for m in (first, second) for x in (m.source, m.target))
    data = np.arange(start.storage_size)
    middle = np.zeros(there.storage_size, int)
    middle[np.ravel(there.offsets())] = data[np.ravel(start.offsets())]
    back = np.zeros(end.storage_size, int)
    back[np.ravel(end.offsets())] = middle[np.ravel(here.offsets())]
    return bool((back == data).all())


def test_undoing_is_what_data_say() -> None:
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(300):
        shape = [int(n) for n in rng.integers(1, 4, 3)]
        order = [int(d) for d in rng.permutation(3)]
        turned = [shape[d] for d in order]
        there = make_move(
            Place("f"), "transpose", of(rl.Layout.row_major(*shape).permute(*order)), of(rl.Layout.row_major(*turned))
        )
        other = [int(d) for d in rng.permutation(3)]
        last = [turned[d] for d in other]
        back = make_move(
            Place("f"), "transpose", of(rl.Layout.row_major(*turned).permute(*other)), of(rl.Layout.row_major(*last))
        )
        assert undoes(there, back) == brings_back(there, back)
        seen.add(undoes(there, back))
    assert seen == {True, False}


def test_padded_transposes_undo_each_other() -> None:
    padded = rl.parse("nChw8c", shape=(2, 5, 3, 3))
    plain = rl.Layout.row_major(2, 5, 3, 3)
    there = make_move(Place("f"), "reorder", of(plain), of(padded))
    order = (3, 1, 0, 2)
    back = make_move(Place("f"), "reorder", of(padded.permute(*order)), of(plain.permute(*order)))
    assert undoes(there, back)
    assert not undoes(there, make_move(Place("f"), "reorder", of(padded), of(plain, "float64")))
    assert not undoes(there, make_move(Place("f"), "reorder", of(padded), of(plain, memory="S(1)")))


def audit_of(*found: Found) -> Audit:
    class Fixed:
        kind = title = "fixed"
        EXAMPLES = ()

        def recognises(self, artefact: Artefact) -> bool:
            return True

        def read(self, artefact: Artefact) -> Iterator[Found]:
            yield from found

    return gather(Fixed(), Artefact(None, "x\n"))


def reorder(line: int, back: bool, reads: str, writes: str, time: float | None = None) -> Move:
    plain, blocked = (make_side(word, shape=(1, 16, 2, 2), element="float32") for word in ("nchw", "nChw16c"))
    sides = (blocked, plain) if back else (plain, blocked)
    return make_move(Place("f", line, f"m{line}"), "reorder", *sides, reads=reads, writes=writes, time=time)


def step(line: int, inputs: str, outputs: str, elementwise: bool = False) -> Step:
    return Step(Place("f", line), "step", tuple(inputs.split()), tuple(outputs.split()), elementwise)


def test_pairs_cancel_across_elementwise_steps_only() -> None:
    through = audit_of(reorder(1, False, "x", "a"), step(2, "a", "b", True), reorder(3, True, "b", "y"))
    assert [move.remarks for move in through.moves] == [("undone by 3",), ("undoes 1",)]
    stopped = audit_of(reorder(1, False, "x", "a"), step(2, "a", "b"), reorder(3, True, "b", "y"))
    assert not stopped.pairs
    one_side = audit_of(reorder(1, False, "x", "a"), step(2, "a k", "b", True), reorder(3, True, "b", "y"))
    assert not one_side.pairs
    both = audit_of(
        reorder(1, False, "x", "a"), reorder(2, False, "k", "c"), step(3, "a c", "b", True), reorder(4, True, "b", "y")
    )
    assert [(pair.first, pair.second) for pair in both.pairs] == [(0, 2), (1, 2)]


def test_a_value_that_others_read_keeps_its_first_move() -> None:
    alone = audit_of(reorder(1, False, "x", "a"), reorder(3, True, "a", "y"), step(4, "y", ""))
    assert alone.pairs[0].alone
    assert alone.savings[0].bytes == 512
    shared = audit_of(reorder(1, False, "x", "a"), step(2, "a", "c"), reorder(3, True, "a", "y"))
    assert not shared.pairs[0].alone
    assert shared.savings[0].bytes == 256


def test_constants_repeats_and_padding_are_told() -> None:
    side = make_side("nChw16c", shape=(1, 3, 4, 4), element="float32")
    weight = Buffer(Place("f", 1, "w"), side, (1, 3, 4, 4), "constant", "w")
    found = audit_of(weight, reorder(2, False, "w", "a"), reorder(3, False, "x", "b"), reorder(4, False, "x", "c"))
    assert [move.remarks for move in found.moves] == [("weights: pack once",), (), ("repeats 3",)]
    assert [saving.change.split()[0] for saving in found.savings] == ["choose", "pack", "share"]
    assert found.totals.padding_bytes == 13 * 16 * 4


def test_two_moves_in_a_row_could_be_one() -> None:
    sides = [make_side(word, shape=(1, 32, 2, 3), element="float32") for word in ("nchw", "nChw16c", "nChw8c")]
    first = make_move(Place("f", 1, "m1"), "reorder", sides[0], sides[1], reads="x", writes="a")
    second = make_move(Place("f", 2, "m2"), "reorder", sides[1], sides[2], reads="a", writes="y")
    found = audit_of(first, second, step(3, "y", ""))
    assert [move.remarks for move in found.moves] == [(), ("with 1 one move would do",)]
    assert [(saving.change, saving.bytes) for saving in found.savings] == [("do line 1 and line 2 in one move", 768)]
    assert audit_of(first, second, step(3, "y a", "")).savings == ()


def test_same_runs_are_one_move_with_a_count() -> None:
    runs = [reorder(1, False, f"x{k}", f"y{k}", 0.5) for k in range(3)]
    found = audit_of(*runs, step(2, "y2", ""))
    assert [(move.count, move.time) for move in found.moves] == [(3, 1.5)]
    assert found.totals.moves == 3
    assert found.totals.bytes == 3 * 256


# ---- the answers -----------------------------------------------------------------------------------------


def test_the_sample_says_what_to_do() -> None:
    found = rl.audit(SAMPLE)
    assert [(move.place.line, move.kind) for move in found.moves] == [(n, REARRANGES) for n in (3, 4, 6, 8)]
    assert [move.remarks for move in found.moves] == [
        ("weights: pack once",),
        ("padding 81 %",),
        ("undone by 8",),
        ("undoes 6",),
    ]
    assert found.totals.time == pytest.approx(164.5e-6)
    assert found.totals.time_share == pytest.approx(164.5 / (164.5 + 704))
    text = str(found)
    assert "moving takes 19 % of the time" in text.splitlines()[0]
    assert "leave out line 6 and line 8, which cancel: stay in nChw16c (392.0 KiB, 22 us)" in text
    assert not found.troubles


def test_the_command_answers_for_people_and_programs(tmp_path: Path) -> None:
    file = tmp_path / "run.trace"
    file.write_text(SAMPLE)
    told = run(str(file))
    assert told.exit_code == 0
    assert "undone by 8" in told.stdout
    assert "What would save most:" in told.stdout
    result = answer(str(file))
    (found,) = result["audits"]
    assert found["kind"] == "acme"
    assert not result["over"]
    keys = "number file line name op kind from to shape bytes time count reads writes remarks details"
    assert list(found["moves"][0]) == keys.split()
    assert list(found["moves"][0]["from"]) == ["text", "layout", "element", "memory", "bytes", "padding", "why"]
    top = "file kind title summary totals moves pairs savings buffers errors"
    assert list(found) == top.split()
    assert found["pairs"] == [{"first": 2, "second": 3, "runs": 1, "alone": True}]
    assert rl.parse(found["moves"][0]["from"]["layout"]).extents == (64, 64, 3, 3)


def test_fail_over_is_for_bytes_and_shares(tmp_path: Path) -> None:
    file = tmp_path / "run.trace"
    file.write_text(SAMPLE)
    total = answer(str(file))["audits"][0]["totals"]["bytes"]
    assert run(str(file), "--fail-over", str(total)).exit_code == 0
    assert run(str(file), "--fail-over", str(total - 1)).exit_code == 1
    assert run(str(file), "--fail-over", "50%").exit_code == 0
    assert run(str(file), "--fail-over", "10%").exit_code == 1
    assert run(str(file), "--fail-over", "ten%").exit_code == 2
    assert run(str(file), "--fail-over", "101%").exit_code == 2


def test_a_share_of_what_is_not_known_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.trace"
    file.write_text(SAMPLE.replace("112.5us", "x"))
    np.save(tmp_path / "other.npy", np.zeros(3))
    assert run(str(file), "--fail-over", "10%").exit_code == 3  # a line could not be read


def test_several_files_of_which_one_is_broken(tmp_path: Path) -> None:
    good, cut, other = tmp_path / "good.trace", tmp_path / "cut.trace", tmp_path / "other.txt"
    good.write_text(SAMPLE)
    cut.write_text(SAMPLE[: SAMPLE.index("relu") - 12])
    other.write_text("hello\nworld\n")
    told = run(str(good), str(cut), str(other), str(tmp_path / "missing"))
    assert told.exit_code == 3
    found = answer(str(good), str(cut), str(other), str(tmp_path / "missing"))["audits"]
    assert [len(one["errors"]) for one in found] == [0, 1, 1, 1]
    assert [len(one["moves"]) for one in found] == [4, 2, 0, 0]
    assert found[1]["errors"][0]["line"] == 6
    assert "no reader knows what it is" in found[2]["errors"][0]["message"]


def test_standard_input_is_read() -> None:
    told = run("-", input=SAMPLE)
    assert told.exit_code == 0
    assert "undone by 8" in told.stdout


def test_differences_of_two_audits(tmp_path: Path) -> None:
    old, new = tmp_path / "old.trace", tmp_path / "new.trace"
    old.write_text(SAMPLE)
    lines = SAMPLE.splitlines(keepends=True)
    new.write_text(
        "".join([lines[0], *lines[2:7]]).replace("1x3x64x64", "1x3x128x64")
        + "dma %k nchw -> %l nhwc 1x2x2x2 uint8 1us\n"
    )
    found = compare_audits(rl.audit(old), rl.audit(new))
    assert [move.place.name for move in found.appeared] == ["%l"]
    assert [move.place.name for move in found.vanished] == ["%q"]
    assert [(pair.old.bytes, pair.new.bytes) for pair in found.changed] == [(16 * 4096 * 4, 16 * 8192 * 4)]
    told = run("--diff", str(old), str(new))
    assert told.exit_code == 1
    assert "1 appeared, 1 vanished, 1 changed" in told.stdout
    assert run("--diff", str(old), str(old)).exit_code == 0
    assert run("--diff", str(new), str(old), "--fail-over", "1GB").exit_code == 0
    assert answer("--diff", str(old), str(new))["added_bytes"] == found.added_bytes
    assert run("--diff", str(old), str(new), "--html", "x.html").exit_code == 2


def test_moves_that_got_other_names_are_the_same_moves() -> None:
    lines = SAMPLE.splitlines(keepends=True)
    renamed = "".join(lines).replace("%y", "%Y").replace("%q", "%y")
    assert not compare_audits(rl.audit(SAMPLE), rl.audit(renamed))


def test_moves_are_measured_by_our_own_repack(tmp_path: Path) -> None:
    found = rl.audit(SAMPLE)
    times = list(measure_moves(found))
    assert [m.number for m in times] == [0, 1, 2, 3]
    assert all(m.time is not None and m.time > 0 for m in times)
    file = tmp_path / "run.trace"
    file.write_text(SAMPLE)
    assert "ours" in run(str(file), "--measure", "cpu").stdout
    assert "ours" in run("--measure", str(file)).stdout
    assert "ours" in run(str(file), "--measure").stdout
    assert len(answer(str(file), "--measure", "cpu")["audits"][0]["measured"]) == 4


def test_profiles_give_their_times_to_the_files_beside_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Profile:
        kind = title = "profile"
        EXAMPLES = ()

        def recognises(self, artefact: Artefact) -> bool:
            return artefact.opening.startswith("profile")

        def read(self, artefact: Artefact) -> Iterator[Found]:
            yield Timing(artefact.place(1, "m1"), "reorder", 0.25)
            yield Timing(artefact.place(2, "m1"), "reorder", 0.5)

    class Graph(Profile):
        kind = title = "graph"

        def recognises(self, artefact: Artefact) -> bool:
            return artefact.opening.startswith("graph")

        def read(self, artefact: Artefact) -> Iterator[Found]:
            yield reorder(1, False, "x", "a")

    points = {name: type("P", (), {"load": lambda self, x=x: x})() for name, x in (("p", Profile()), ("g", Graph()))}
    monkeypatch.setattr(readers, "_entry_points", lambda: points)
    graph, profile = audit_files([Artefact(None, "graph\n"), Artefact(None, "profile\n")])
    assert graph.moves[0].time == (0.25 + 0.5) / 2
    assert graph.totals.time == graph.moves[0].time
    assert profile.timings["m1"].runs == 2


def test_the_page_has_everything_in_it(tmp_path: Path) -> None:
    file, page = tmp_path / "run.trace", tmp_path / "audit.html"
    file.write_text(SAMPLE + "<script>alert(1)</script>\n")
    assert run(str(file), "--html", str(page)).exit_code == 3
    text = page.read_text()
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert text.count("data:image/svg+xml") == 4
    assert 'undone by <a href="#m0-3">8</a>' in text
    assert "<mark><span>     6</span>  dma %c nChw16c -&gt; %y" in text
    anchors = {part.split('"')[0] for part in text.split('href="#')[1:]}
    assert anchors
    assert all(f'id="{anchor}"' in text for anchor in anchors)
    assert rl.audit(SAMPLE).html().count("<article") == 4


# ---- readers ---------------------------------------------------------------------------------------------


def test_the_example_conforms() -> None:
    conformance(TRACE)


def test_unknown_kinds_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(rl.UnknownName, match="there is no kind of artefact 'acne'"):
        rl.audit(SAMPLE, kind="acne")
    with pytest.raises(rl.ShapeError, match="of a path or of a text, got 3"):
        rl.audit(3)  # type: ignore[arg-type]
    with pytest.raises(BadFile, match="no such file"):
        rl.audit("no such file")
    with pytest.raises(BadFile, match="no reader knows"):
        rl.audit("hello\nworld\n")


def test_a_mixed_file_is_read_by_all_that_take_it(tmp_path: Path) -> None:
    log = (Path(__file__).parent / "data" / "audit" / "onednn_torch.log").read_text()
    hlo = (Path(__file__).parent / "data" / "audit" / "attention.after.hlo").read_text()
    file = tmp_path / "out.txt"
    file.write_text(hlo + log)
    found = rl.audit(file)
    assert found.kind == "hlo and onednn"
    assert {move.op for move in found.moves} >= {"copy", "reorder"}
    assert found.totals.moves == rl.audit(hlo).totals.moves + rl.audit(log).totals.moves


def test_conversions_and_reshapes_are_measured_too() -> None:
    narrow = make_move(Place("f"), "reorder", of(rl.Layout((6, 4))), of(rl.Layout.row_major(6, 4), "float16"))
    shaped = make_move(Place("f"), "reshape", of(rl.Layout((6, 4))), of(rl.Layout.row_major(24)))
    odd = make_move(Place("f"), "copy", of(rl.Layout((6, 4)), "int4"), of(rl.Layout.row_major(6, 4), "int4"))
    times = list(measure_moves(audit_of(narrow, shaped, odd)))
    assert [m.time is not None for m in times] == [True, True, False]
    assert times[2].why == "its elements are no whole words"


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond what is kept, ten times as long a file takes hardly more memory."""
    import tracemalloc

    monkeypatch.setattr("relayout.auditing.flow.WINDOW", 100)
    monkeypatch.setattr("relayout.auditing.audit.KEPT", 100)

    def peak(copies: int) -> int:
        file = tmp_path / f"{copies}.trace"
        with file.open("w") as out:
            out.write("acme trace 1\n")
            for k in range(copies):
                out.write(f"dma %x{k} nchw -> %y{k} nChw16c 1x16x4x4 float32 1us\nrelu %y{k} -> %z{k} 1us\n")
        tracemalloc.start()
        assert rl.audit(file).totals.moves == copies
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(4000) < 2 * peak(400)


def test_long_lines_and_bytes_that_are_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relayout.auditing.artefact.LONGEST_LINE", 100)
    file = tmp_path / "x"
    file.write_bytes(b"a\r\n" + b"b" * 250 + b"\n\xff\xfe\nlast")
    lines = list(Artefact(file).lines())
    assert [(n, len(text)) for n, text in lines] == [(1, 1), (2, 100), (2, 100), (2, 50), (3, 2), (4, 4)]


# ---- checkpoints -----------------------------------------------------------------------------------------


def test_gaps_and_overlaps_are_those_of_counting() -> None:
    rng = np.random.default_rng(11)
    for _ in range(100):
        shape = tuple(int(n) for n in rng.integers(1, 6, 2))
        boxes = []
        for _ in range(int(rng.integers(0, 4))):
            starts = [int(rng.integers(0, n)) for n in shape]
            boxes.append((tuple(starts), tuple(int(rng.integers(1, n - s + 1)) for s, n in zip(starts, shape))))
        count = np.zeros(shape, int)
        for starts, sizes in boxes:
            count[tuple(slice(s, s + n) for s, n in zip(starts, sizes))] += 1
        gaps, twice = find_gaps(shape, boxes)
        missing = np.zeros(shape, int)
        for starts, sizes in gaps:
            missing[tuple(slice(s, s + n) for s, n in zip(starts, sizes))] += 1
        assert ((count == 0) == (missing == 1)).all()
        assert missing.max(initial=0) <= 1
        assert bool(twice) == bool((count > 1).any())


def write_safetensors(file: Path, tensors: dict[str, Any], offsets: dict[str, list[int]] | None = None) -> None:
    header: dict[str, Any] = {}
    data = b""
    if offsets is not None:
        told = {name: {"saved_offsets": start} for name, start in offsets.items()}
        header["__metadata__"] = {"DCP_VERSION": "1.0", "DCP_SHARDING_INFO": json.dumps(told)}
    for name, x in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [len(data), len(data) + x.nbytes]}
        data += x.tobytes()
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_pieces_of_dcp_safetensors(tmp_path: Path) -> None:
    x = np.zeros((4, 6), np.float32)
    write_safetensors(tmp_path / "shard-00001.safetensors", {"w": x[:2], "b": x[0]}, {"w": [0, 0], "b": [0]})
    write_safetensors(tmp_path / "shard-00002.safetensors", {"w": x[2:, :3]}, {"w": [2, 0]})
    found = rl.audit(tmp_path)
    assert found.kind == "checkpoint"
    assert [trouble.message for trouble in found.troubles] == ["no piece has [2:4, 3:6]: a gap"]
    w = found.buffers[0]
    assert w.shape == (4, 6)
    assert w.details["pieces"] == 2
    assert w.details["gap_bytes"] == 24
    write_safetensors(tmp_path / "shard-00003.safetensors", {"w": x[1:, 3:]}, {"w": [1, 3]})
    assert [trouble.message for trouble in rl.audit(tmp_path).troubles] == ["two pieces have [1:2, 3:6]: an overlap"]
    assert run(str(tmp_path)).exit_code == 3


def test_shards_and_their_index(tmp_path: Path) -> None:
    x = np.zeros((4, 6), np.float32)
    write_safetensors(tmp_path / "model-00001-of-00002.safetensors", {"a": x})
    write_safetensors(tmp_path / "model-00002-of-00002.safetensors", {"b": x})
    places = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    assert not rl.audit(tmp_path).troubles
    assert len(rl.audit(index).buffers) == 2
    index.write_text(json.dumps({"weight_map": {**places, "c": places["a"], "b": places["a"]}}))
    told = [trouble.message for trouble in rl.audit(tmp_path).troubles]
    assert len(told) == 2
    assert "says that it is in model-00001" in told[0]
    (tmp_path / places["b"]).write_bytes(b"\x10\0\0\0\0\0\0\0{")
    assert len(rl.audit(tmp_path).buffers) == 1
    conformance(readers.reader_named("checkpoint"), samples=[tmp_path / places["a"]])


# ---- the explorer ----------------------------------------------------------------------------------------


def test_the_explorer_answers_audits() -> None:
    from relayout.web.handle import handle

    found = handle({"ask": "audit", "text": SAMPLE, "name": "run.trace"})
    assert found["paired"] == [False, False, True, True]
    assert found["rows"][2][0] == "6"
    drawn = handle({"ask": "view", "state": found["states"][2]})
    assert "error" not in drawn
    assert handle({"ask": "audit", "text": "hello\nworld\n"})["errors"]
    assert handle({"ask": "audit", "text": 3})["error"]["code"] == "RL002"
