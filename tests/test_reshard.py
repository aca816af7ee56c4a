"""Checkpoints of one number of ranks as those of another: judged by numpy's own cuts, killed, resumed, and refused."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from file_support import store
from relayout.cli.main import relayout as command
from relayout.files import tuning
from relayout.files.jobs.shard_rules import FAMILIES, ShardRule, family_rules, find_rule, read_shard_rules
from relayout.files.registry import open_source
from relayout.files.tuning import FileTuning

HEADS, KV, HEAD, HIDDEN, INNER, WORDS = 8, 4, 4, 24, 48, 40
CONFIG = {"num_attention_heads": HEADS, "num_key_value_heads": KV, "head_dim": HEAD, "hidden_size": HIDDEN}

SMALL = FileTuning(part_bytes=1024, min_thread_bytes=1, read_call_bytes=64, write_call_bytes=64, journal_batch_bytes=1)

Arrays = Mapping[str, Any]


def noise(rng: Any, *shape: int) -> Any:
    return rng.integers(0, 1 << 15, shape).astype(np.int16)


def model(family: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors of a small model, and for each how numpy cuts it: an axis, or parts of rows that are cut each."""
    rng = np.random.default_rng(len(family))
    q, k = HEADS * HEAD, KV * HEAD
    layer = "model.layers.0"
    if family == "phi3":
        tensors = {
            f"{layer}.self_attn.qkv_proj.weight": (noise(rng, q + 2 * k, HIDDEN), [q, q + k]),
            f"{layer}.self_attn.o_proj.weight": (noise(rng, HIDDEN, q), 1),
            f"{layer}.mlp.gate_up_proj.weight": (noise(rng, 2 * INNER, HIDDEN), [INNER]),
            f"{layer}.mlp.down_proj.weight": (noise(rng, HIDDEN, INNER), 1),
        }
    elif family == "gpt2":
        tensors = {
            "h.0.attn.c_attn.weight": (noise(rng, HIDDEN, 3 * q), "columns"),
            "h.0.attn.c_attn.bias": (noise(rng, 3 * q), [q, 2 * q]),
            "h.0.attn.c_proj.weight": (noise(rng, q, HIDDEN), 0),
            "h.0.attn.c_proj.bias": (noise(rng, HIDDEN), None),
            "h.0.mlp.c_fc.weight": (noise(rng, HIDDEN, INNER), 1),
            "h.0.mlp.c_fc.bias": (noise(rng, INNER), 0),
            "h.0.mlp.c_proj.weight": (noise(rng, INNER, HIDDEN), 0),
            "h.0.ln_1.weight": (noise(rng, HIDDEN), None),
            "wpe.weight": (noise(rng, 16, HIDDEN), None),
            "wte.weight": (noise(rng, WORDS, HIDDEN), 0),
        }
        return dict(zip(tensors, [x for x, _ in tensors.values()])), {n: cut for n, (_, cut) in tensors.items()}
    else:
        tensors = {
            f"{layer}.self_attn.q_proj.weight": (noise(rng, q, HIDDEN), 0),
            f"{layer}.self_attn.q_proj.bias": (noise(rng, q), 0),
            f"{layer}.self_attn.k_proj.weight": (noise(rng, k, HIDDEN), 0),
            f"{layer}.self_attn.v_proj.weight": (noise(rng, k, HIDDEN), 0),
            f"{layer}.self_attn.o_proj.weight": (noise(rng, HIDDEN, q), 1),
            f"{layer}.self_attn.o_proj.bias": (noise(rng, HIDDEN), None),
            f"{layer}.mlp.gate_proj.weight": (noise(rng, INNER, HIDDEN), 0),
            f"{layer}.mlp.up_proj.weight": (noise(rng, INNER, HIDDEN), 0),
            f"{layer}.mlp.down_proj.weight": (noise(rng, HIDDEN, INNER), 1),
        }
    tensors |= {
        f"{layer}.input_layernorm.weight": (noise(rng, HIDDEN), None),
        "model.norm.weight": (noise(rng, HIDDEN), None),
        "model.embed_tokens.weight": (noise(rng, WORDS, HIDDEN), 0),
        "lm_head.weight": (noise(rng, WORDS, HIDDEN), 0),
    }
    return {name: x for name, (x, _) in tensors.items()}, {name: cut for name, (_, cut) in tensors.items()}


def part(x: Any, cut: Any, rank: int, ranks: int) -> Any:
    """What a rank has of an array, by numpy."""
    if cut is None:
        return x
    if cut == "columns":
        return np.concatenate([np.split(y, ranks, 1)[rank] for y in np.split(x, 3, 1)], 1)
    if isinstance(cut, list):
        return np.concatenate([np.split(y, ranks)[rank] for y in np.split(x, cut)])
    return np.split(x, ranks, cut)[rank]


def write_model(folder: Path, family: str) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays, cuts = model(family)
    folder.mkdir()
    store(folder / "model.safetensors", arrays, metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps({"model_type": family, **CONFIG}))
    return arrays, cuts


def read(path: Path) -> dict[str, Any]:
    with rl.open(path) as file:
        return {name: np.array(tensor.numpy()) for name, tensor in file.items()}


def same(a: Arrays, b: Arrays) -> bool:
    return a.keys() == b.keys() and all(a[name].tolist() == b[name].tolist() for name in a)


@pytest.mark.parametrize("family", ["llama", "phi3", "gpt2"])
def test_there_and_back(tmp_path: Path, family: str) -> None:
    arrays, cuts = write_model(tmp_path / "model", family)
    report = rl.reshard(tmp_path / "model", tmp_path / "four", to="tp=4", verify=True)
    assert {row.name for row in report.rows} == set(arrays)
    for rank in range(4):
        got = read(tmp_path / "four" / f"model-rank-{rank}-part-0.safetensors")
        assert same(got, {name: part(x, cuts[name], rank, 4) for name, x in arrays.items()})
    # The files say how they are dealt: neither rules nor the configuration are needed any more.
    rl.reshard(tmp_path / "four", tmp_path / "two", from_="tp=4", to=2, verify=True)
    for rank in range(2):
        got = read(tmp_path / "two" / f"model-rank-{rank}-part-0.safetensors")
        assert same(got, {name: part(x, cuts[name], rank, 2) for name, x in arrays.items()})
    rl.reshard(tmp_path / "two", tmp_path / "one", verify=True)
    assert same(read(tmp_path / "one"), arrays)
    assert open_source(tmp_path / "one").metadata == {"format": "pt"}
    rl.reshard(tmp_path / "two", tmp_path / "ckpt", to="dcp", verify=True)
    assert same(read(tmp_path / "ckpt"), arrays)


def test_random_rules_by_numpy(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for seed in range(25):
        chance = random.Random(seed)
        before, after = chance.choice([1, 2, 3, 4]), chance.choice([1, 2, 3, 6])
        shape = [12 * chance.randint(1, 2) for _ in range(chance.randint(1, 3))]
        d, fused = chance.randrange(len(shape)), chance.choice([1, 1, 2, 3])
        shape[d] *= fused
        x = noise(rng, *shape)
        digits = ["-"] * len(shape)
        digits[d] = "tp" if fused == 1 else f"{fused}*tp"
        rules = [{"name": "*", "deal": ", ".join(digits)}]

        def of(rank: int, ranks: int, d: int = d, fused: int = fused, x: Any = x) -> Any:
            return np.concatenate([np.split(y, ranks, d)[rank] for y in np.split(x, fused, d)], d)

        source, out = tmp_path / f"a{seed}", tmp_path / f"b{seed}"
        source.mkdir()
        for rank in range(before):
            name = f"mp_rank_{rank:02}.safetensors" if seed % 2 else f"model-rank-{rank}-part-0.safetensors"
            store(source / name, {"x": of(rank, before), "y": x[:1]})
        rl.reshard(source, out, from_=before, to=after, rules=[{"name": "y", "deal": "replicate"}, *rules], verify=True)
        for rank in range(after):
            file = "model.safetensors" if after == 1 else f"model-rank-{rank}-part-0.safetensors"
            assert same(read(out / file), {"x": of(rank, after), "y": x[:1]})


def test_parts_of_ranks_in_several_files_and_folders(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.int32).reshape(6, 4)
    for rank in range(2):
        folder = tmp_path / "ckpt" / f"mp_rank_{rank:02}"
        folder.mkdir(parents=True)
        store(folder / "a.safetensors", {"a": x[rank * 3 : rank * 3 + 3]})
        store(folder / "b.safetensors", {"b": x[:, rank * 2 : rank * 2 + 2].copy()})
    rules = [{"name": "a", "deal": "colwise"}, {"name": "b", "deal": "rowwise"}]
    rl.reshard(tmp_path / "ckpt", tmp_path / "one.safetensors", rules=rules)
    assert same(read(tmp_path / "one.safetensors"), {"a": x, "b": x})


# ---- killed, full of work, and resumed -----------------------------------------------------------------------


def kill_at(moment: int) -> None:
    """End this process without warning at its so manyth call that writes, forces to the disk or renames."""
    calls = count()

    def deadly(call: Any) -> Any:
        def counted(*args: Any, **words: Any) -> Any:
            if next(calls) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **words)

        return counted

    for name in ("pwrite", "write", "fsync", "ftruncate", "rename", "replace"):
        setattr(os, name, deadly(getattr(os, name)))


def test_killed_at_any_moment_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "ACTIVE", SMALL)
    arrays, cuts = write_model(tmp_path / "model", "llama")
    out = tmp_path / "out"
    words = {"to": 2, "max_memory": SMALL.process_bytes + 8192, "jobs": 1}
    chance = random.Random(2)
    kills = 0
    for _ in range(40):
        moment = chance.randint(5, 60)
        child = os.fork()
        if not child:
            kill_at(moment)
            try:
                rl.reshard(tmp_path / "model", out, resume=True, **words)
            except BaseException:
                os._exit(4)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status == 0:
            break
        assert os.WIFSIGNALED(status)
        kills += 1
    else:
        rl.reshard(tmp_path / "model", out, resume=True, **words)
    assert kills
    for rank in range(2):
        got = read(out / f"model-rank-{rank}-part-0.safetensors")
        assert same(got, {name: part(x, cuts[name], rank, 2) for name, x in arrays.items()})
    assert [path.name for path in tmp_path.glob("*.part*")] == []
    # What is finished stays, and a changed wish is refused.
    assert rl.reshard(tmp_path / "model", out, to=2, resume=True).resumed
    with pytest.raises(rl.BadFile, match="exists"):
        rl.reshard(tmp_path / "model", out, to=2)
    rl.reshard(tmp_path / "model", out, to=2, force=True)
    (out / "mine.txt").write_text("not ours")
    with pytest.raises(rl.BadFile, match="folder"):
        rl.reshard(tmp_path / "model", out, to=2, force=True)


@pytest.mark.parametrize("deal", ["tp, -", "-, tp", "2*tp, -", "-, 3*tp", "...*tp*4, -", "-, ...*tp"])
def test_large_tensors_are_dealt_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deal: str) -> None:
    monkeypatch.setattr(tuning, "ACTIVE", SMALL)
    x = noise(np.random.default_rng(9), 192, 96)
    store(tmp_path / "x.safetensors", {"x": x})
    rules = [{"name": "x", "deal": deal}]
    words: dict[str, Any] = {"rules": rules, "jobs": 1, "max_memory": SMALL.process_bytes + 8192}
    rl.reshard(tmp_path / "x.safetensors", tmp_path / "four", to=4, **words)
    rl.reshard(tmp_path / "four", tmp_path / "two", to=2, **words)
    rl.reshard(tmp_path / "two", tmp_path / "one", **words)
    assert same(read(tmp_path / "one"), {"x": x})
    four = rl.parse(f"mesh(tp=4) deals ({deal})", shape=x.shape)
    for rank in range(4):
        rows, columns = [[c for run in runs for c in range(*run)] for runs in four.runs(rank)]
        got = read(tmp_path / "four" / f"model-rank-{rank}-part-0.safetensors")["x"]
        assert got.tolist() == x[np.ix_(rows, columns)].tolist()


def test_a_stopped_run_can_be_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "ACTIVE", SMALL)
    write_model(tmp_path / "model", "phi3")
    with pytest.raises(rl.Cancelled):
        rl.reshard(tmp_path / "model", tmp_path / "out", to=2, jobs=1, progress=lambda done, total: done < total // 2)
    assert not (tmp_path / "out").exists()
    with pytest.raises(rl.BadFile, match="did not finish"):
        rl.reshard(tmp_path / "model", tmp_path / "out", to=2)
    with pytest.raises(rl.BadFile, match="differs in its source, its options"):
        rl.reshard(tmp_path / "model", tmp_path / "out", to=4, resume=True)
    assert rl.reshard(tmp_path / "model", tmp_path / "out", to=2, resume=True, verify=True).resumed


# ---- what is refused, before anything is written -------------------------------------------------------------

SHARDING = rl.Sharding({"tp": 2}, ["tp", None], shape=(4, 4))


def refused(tmp_path: Path, error: type[rl.LayoutError], words: str, **given: Any) -> rl.LayoutError:
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(error, match=words) as found:
        rl.reshard(tmp_path / "model", tmp_path / "out", **given)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    return found.value


@pytest.mark.parametrize("x", [SHARDING, None, 8, np.zeros(4), b"model"], ids=lambda x: type(x).__name__)
def test_what_is_no_path_is_refused_with_what_it_is_for(tmp_path: Path, x: Any) -> None:
    words = "files of a checkpoint to ranks, got the sharding mesh" if x is SHARDING else "by its path, got"
    for pair in ((x, tmp_path / "out"), (tmp_path / "model", x), (x, x)):
        with pytest.raises(rl.ShapeError, match=words) as found:
            rl.reshard(*pair, to=2)
        assert ("a.exchange(b)" if x is SHARDING else "pathlib.Path") in found.value.hint
    for call in (rl.open, lambda x: rl.repack_file(x, tmp_path / "out"), lambda x: rl.verify(x, x)):
        with pytest.raises(rl.ShapeError, match="by its path, got"):
            call(x)
    with pytest.raises(rl.ShapeError, match="s3://bucket/model is a URL"):
        rl.reshard("s3://bucket/model", tmp_path / "out")


def test_splits_that_do_not_fit_are_refused_with_tensor_and_place(tmp_path: Path) -> None:
    write_model(tmp_path / "model", "llama")
    found = refused(tmp_path, rl.NotExpressible, "cut dimension 0 at 2, inside the piece 0:4", to=8)
    assert found.tensor == "model.layers.0.self_attn.k_proj.weight"
    assert "there are 4 pieces of 4" in found.hint
    refused(tmp_path, rl.ShapeError, "tensor 'lm_head.weight': dimension 0 of size 40 is not divided by its 3", to=3)
    rules = [{"name": "*", "deal": "rowwise", "parts": [7]}]
    refused(tmp_path, rl.ShapeError, "not divided by the parts", to=2, rules=rules)


def test_rules_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    write_model(tmp_path / "model", "llama")
    refused(tmp_path, rl.BadFile, "no rule fits it and 12 more", to=2, rules=[{"name": "x*", "deal": "colwise"}])
    refused(tmp_path, rl.ShapeError, "cannot be read", to=2, rules=[{"name": "*", "deal": "sideways, -"}])
    refused(tmp_path, rl.ShapeError, "a rule has a name", to=2, rules=[{"name": "*"}])
    refused(tmp_path, rl.ShapeError, "has no", to=2, rules=[{"name": "*", "deal": "colwise", "colour": 1}])
    refused(tmp_path, rl.ShapeError, "parts are sizes", to=2, rules=[{"name": "*", "deal": "colwise", "parts": [0]}])
    refused(tmp_path, rl.ShapeError, "unit", to=2, rules=[{"name": "*", "deal": "colwise", "unit": 0}])
    for to in ("pp=2", "tp=0", "8x", True, 5000, 2.5, None, SHARDING):
        refused(tmp_path, rl.ShapeError, "no number of", to=to)
    for rules in (SHARDING, 3, {"name": "*", "deal": "colwise"}):
        refused(tmp_path, rl.ShapeError, "rules are a list of them, or a file, got", to=2, rules=rules)
    refused(tmp_path, rl.ShapeError, "jobs must be an integer, got '2'", to=2, jobs="2")
    config = tmp_path / "model" / "config.json"
    config.write_text('{"model_type": "unheard"}')
    refused(tmp_path, rl.BadFile, "no built-in rules for the family 'unheard'", to=2)
    config.write_text('{"model_type": "llama"}')
    refused(tmp_path, rl.BadFile, "num_attention_heads is None", to=2)
    config.write_text("[]")
    refused(tmp_path, rl.BadFile, "no JSON object", to=2)
    config.unlink()
    refused(tmp_path, rl.BadFile, "nothing says how", to=2)


def test_ranks_that_are_missing_or_differ_are_refused(tmp_path: Path) -> None:
    arrays, cuts = model("llama")
    folder = tmp_path / "model"
    folder.mkdir()

    def write(rank: int, **changed: Any) -> None:
        found = {name: part(x, cuts[name], rank % 2, 2) for name, x in arrays.items()} | changed
        store(folder / f"model-rank-{rank}-part-0.safetensors", {n: x for n, x in found.items() if x is not None})

    (folder / "config.json").write_text(json.dumps({"model_type": "llama", **CONFIG}))
    refused(tmp_path, rl.BadFile, "no files of ranks", from_=2)
    write(0)
    write(1)
    refused(tmp_path, rl.BadFile, "rank 2 of 4 are missing", from_=4)
    write(3)
    refused(tmp_path, rl.BadFile, "has files of rank 3, and tp=2", from_=2)
    refused(tmp_path, rl.BadFile, "rank 2 of 4 are missing")
    (folder / "model-rank-3-part-0.safetensors").unlink()
    write(1, **{"model.norm.weight": None})
    refused(tmp_path, rl.BadFile, "rank 1 has no part of it", from_=2)
    write(1, **{"model.norm.weight": arrays["model.norm.weight"][:3]})
    refused(tmp_path, rl.BadFile, r"rank 0 has int16 \(24,\), rank 1 int16 \(3,\)", from_=2)
    other = arrays["model.norm.weight"].copy()
    other[5] ^= 1
    write(1, **{"model.norm.weight": other})
    found = refused(tmp_path, rl.BadFile, "those of rank 0 and 1 differ at byte 10", from_=2)
    assert found.tensor == "model.norm.weight"
    write(1)
    store(folder / "model-rank-1-part-1.safetensors", {"model.norm.weight": other})
    refused(tmp_path, rl.BadFile, "of the same rank has it as well", from_=2)
    (folder / "model-rank-1-part-1.safetensors").unlink()
    rl.reshard(folder, tmp_path / "out", from_=2, verify=True)
    assert same(read(tmp_path / "out"), arrays)


def test_a_file_under_another_ranks_name_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path / "whole", "llama")
    rl.reshard(tmp_path / "whole", tmp_path / "model", to=2)
    files = [tmp_path / "model" / f"model-rank-{rank}-part-0.safetensors" for rank in (0, 1)]
    files[0].rename(tmp_path / "model" / "x")
    files[1].rename(files[0])
    (tmp_path / "model" / "x").rename(files[1])
    refused(tmp_path, rl.BadFile, "says that it is rank 1 of 2, not 0 of 2", from_=2)


def test_blocks_of_a_layout_are_dealt_whole_or_refused(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    x = np.arange(16 * 24, dtype=np.int16).reshape(16, 24)
    np.savez(tmp_path / "x.npz", x=x)
    whole = tmp_path / "model" / "model.safetensors"
    rl.repack_file(tmp_path / "x.npz", whole, to="format:1 0 / 0,4 1,8")
    for deal, axis in (("colwise", 0), ("rowwise", 1)):
        ranks = {0: 2, 1: 3}[axis]
        out = tmp_path / deal
        rl.reshard(tmp_path / "model", out, to=ranks, rules=[{"name": "*", "deal": deal}], verify=True)
        for rank in range(ranks):
            file = out / f"model-rank-{rank}-part-0.safetensors"
            entry = open_source(file)["x"]
            want = np.split(x, ranks, axis)[rank]
            assert entry.record is not None
            assert (entry.record.layout, entry.record.shape) == ("format:1 0 / 0,4 1,8", want.shape)
            assert read(file)["x"].tolist() == want.tolist()
            stored = np.frombuffer(file.read_bytes()[entry.segments[0].start :], np.int16).reshape(entry.shape)
            assert stored.tolist() == rl.repack(want, "format:1 0 / 0,4 1,8").tolist()
        rl.reshard(out, tmp_path / f"{deal}1", verify=True)
        assert rl.verify(tmp_path / f"{deal}1" / "model.safetensors", whole)
    rules = [{"name": "*", "deal": "rowwise"}]
    found = refused(
        tmp_path, rl.NotExpressible, "cut dimension 1 at 12, inside the block of its layout 8:16", to=2, rules=rules
    )
    assert found.tensor == "x"
    rl.repack_file(tmp_path / "x.npz", whole, to=rl.Layout((16, 24), (1, 16)), force=True)
    refused(tmp_path, rl.BadFile, "a layout of this shape", to=2, rules=rules)
    rl.repack_file(tmp_path / "x.npz", whole, to="format:1 0 / 0,5 1,8", force=True)
    refused(tmp_path, rl.NotExpressible, "are padded in a part", to=3, rules=rules)


# ---- rules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_deals_heads_whole(family: str) -> None:
    rules = family_rules({"model_type": family, **CONFIG, "n_head": HEADS, "n_embd": HIDDEN}, Path("config.json"))
    assert all(isinstance(rule, ShardRule) for rule in read_shard_rules(rules))
    assert any(rule.unit % HEAD == 0 for rule in rules)
    assert find_rule(rules, "model.norm.weight") == ShardRule("*norm*", "replicate")


def test_rules_from_a_file_and_the_command(tmp_path: Path) -> None:
    from click.testing import CliRunner

    x = np.arange(48, dtype=np.float32).reshape(12, 4)
    store(tmp_path / "m.safetensors", {"fused": x, "norm": x[0]})
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[rule]]\nname = "fused"\ndeal = "colwise"\nparts = [4, 1, 1]\n\n[[rule]]\nname = "norm"\ndeal = "replicate"\n'
    )
    words = ["reshard", str(tmp_path / "m.safetensors"), str(tmp_path / "out"), "--to", "tp=2", "--map", str(rules)]
    told = CliRunner().invoke(command, [*words, "--dry-run"])
    assert told.exit_code == 0
    assert "float32 [6, 4]" in told.output
    assert not (tmp_path / "out").exists()
    done = CliRunner().invoke(command, [*words, "--verify", "--json"])
    assert json.loads(done.stdout)["result"]["total"] == 48 * 4 + 2 * 16
    got = read(tmp_path / "out" / "model-rank-1-part-0.safetensors")["fused"]
    assert got.tolist() == np.concatenate([x[4:8], x[9:10], x[11:12]]).tolist()
    assert CliRunner().invoke(command, [*words[:-3], "tp=5", "--map", str(rules)]).exit_code == 3
    # Hints name what the caller writes: parameters in Python, options in a terminal.
    told = CliRunner().invoke(command, words[:-2])
    assert "give --map" in told.stderr
    assert "rules=" not in told.stderr
    (tmp_path / "empty").mkdir()
    folders = [str(tmp_path / "empty"), str(tmp_path / "two")]
    assert "leave --from out" in CliRunner().invoke(command, ["reshard", *folders, "--from", "tp=2"]).stderr
