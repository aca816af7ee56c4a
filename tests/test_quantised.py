"""Quantised checkpoints: layers recognised, and repacked for another kernel, there and back bit for bit."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import relayout as rl
from relayout.cli.main import relayout as group
from relayout.files.quantised import quantised_layers
from relayout.files.registry import open_source

sys.path.insert(0, str(Path(__file__).parent / "packed_vectors"))
from recipe import codes

VECTORS = Path(__file__).parent / "packed_vectors" / "values.json"
Array = np.ndarray[Any, Any]
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def words(codes: Array, bits: int, axis: int, order: Any = None) -> Array:
    """Codes in 32-bit words along an axis, those of one word in that order, the first in the lowest bits."""
    per_word = 32 // bits
    groups = np.moveaxis(codes, axis, 0).reshape(-1, per_word, codes.shape[1 - axis]).astype(np.uint32)
    made = np.zeros((groups.shape[0], groups.shape[2]), np.uint32)
    for place, t in enumerate(order or range(per_word)):
        made |= groups[:, t] << np.uint32(bits * place)
    return np.moveaxis(made, 0, axis).view(np.int32).copy()


def layer(seed: int, k: int, n: int, group: int, bits: int = 4, least: int = 1) -> dict[str, Array]:
    """The codes, scales and zeros of a layer; zeros are from ``least`` on."""
    numbers = np.random.default_rng(seed)
    return {
        "codes": numbers.integers(0, 1 << bits, (k, n)),
        "scales": numbers.normal(size=(k // group, n)).astype(np.float16),
        "zeros": numbers.integers(least, 1 << bits, (k // group, n)),
        "bias": numbers.normal(size=n).astype(np.float16),
    }


def gptq(parts: dict[str, Array], bits: int = 4, one_less: bool = True) -> dict[str, Array]:
    k = len(parts["codes"])
    group = k // len(parts["scales"])
    return {
        "qweight": words(parts["codes"], bits, 0),
        "scales": parts["scales"],
        "qzeros": words(parts["zeros"] - one_less, bits, 1),
        "g_idx": (np.arange(k) // group).astype(np.int32),
        "bias": parts["bias"],
    }


def awq(parts: dict[str, Array]) -> dict[str, Array]:
    zeros = words(parts["zeros"], 4, 1, AWQ_ORDER)
    return {"qweight": words(parts["codes"], 4, 1, AWQ_ORDER), "scales": parts["scales"], "qzeros": zeros}


def checkpoint(folder: Path, layers: dict[str, dict[str, Array]], config: dict[str, Any]) -> Path:
    folder.mkdir()
    tensors = {f"{name}.{part}": x for name, parts in layers.items() for part, x in parts.items()}
    tensors["norm.weight"] = np.ones(7, np.float32)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"quantization_config": config}))
    return folder / "model.safetensors"


GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False}


def test_gptq_becomes_marlin_and_comes_back(tmp_path: Path) -> None:
    parts = layer(1, 128, 192, 32)
    file = checkpoint(tmp_path / "in", {"a.q": gptq(parts), "b": gptq(layer(2, 64, 64, 32))}, GPTQ)
    out, back = tmp_path / "out.safetensors", tmp_path / "back.safetensors"
    rl.repack_file(file, out, to="marlin:w4a16", verify=True)
    made = load_file(out)
    assert made["a.q.qweight"].shape == (8, 384)
    assert made["a.q.qweight"].dtype == np.int32
    nibbles = made["a.q.qweight"].view(np.uint8).reshape(-1)
    nibbles = np.stack([nibbles & 15, nibbles >> 4], 1).reshape(-1)
    bits = [("k", 3), ("n", 3), ("k", 0), ("n", 4), ("n", 5), ("k", 1), ("k", 2), ("n", 0), ("n", 1), ("n", 2)]
    i, j = np.indices((128, 192))
    at = sum([((i if axis == "k" else j) >> bit & 1) << place for place, (axis, bit) in enumerate(bits)])
    assert (nibbles[at + 1024 * (j // 64 + 3 * (i // 16))] == parts["codes"]).all()
    column = np.arange(192)
    moved = column // 64 * 64 + column % 8 * 8 + column // 8 % 8
    assert (made["a.q.scales"][:, moved] == parts["scales"]).all()
    interleaved = words(_inverse(parts["zeros"], moved), 4, 1, AWQ_ORDER)
    assert (made["a.q.qzeros"] == interleaved).all()
    assert made["a.q.g_idx"].tolist() == (np.arange(128) // 32).tolist()
    rl.repack_file(out, back, to="gptq:w4", verify=True)
    assert _same(load_file(back), load_file(file))


def _inverse(x: Array, moved: Array) -> Array:
    """The columns where they are moved to."""
    made = np.empty_like(x)
    made[:, moved] = x
    return made


def _same(a: dict[str, Array], b: dict[str, Array]) -> bool:
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes() for k in a
    )


def test_gptq_becomes_compressed_tensors_and_comes_back_with_its_order_of_rows(tmp_path: Path) -> None:
    parts = gptq(layer(21, 64, 96, 32))
    parts["g_idx"] = np.random.default_rng(2).permutation(parts["g_idx"])
    file = checkpoint(tmp_path / "in", {"a.q": parts}, {**GPTQ, "desc_act": True})
    (tmp_path / "in" / "tokenizer.json").write_text("{}")
    rl.repack_file(tmp_path / "in", tmp_path / "out", to="compressed:pack4", verify=True)
    made, given = load_file(tmp_path / "out" / "model.safetensors"), layer(21, 64, 96, 32)
    assert set(made) - {"norm.weight"} == {
        f"a.q.{part}"
        for part in ("weight_packed", "weight_scale", "weight_zero_point", "weight_shape", "weight_g_idx", "bias")
    }
    assert (made["a.q.weight_packed"] == words(given["codes"].T, 4, 1)).all()
    assert (made["a.q.weight_scale"] == given["scales"].T).all()
    assert (made["a.q.weight_zero_point"] == words(given["zeros"].T, 4, 0)).all()
    assert made["a.q.weight_shape"].tolist() == [96, 64]
    assert (made["a.q.weight_g_idx"] == parts["g_idx"]).all()
    told = json.loads((tmp_path / "out" / "config.json").read_text())["quantization_config"]
    weights = told["config_groups"]["group_0"]["weights"]
    assert (told["quant_method"], told["format"]) == ("compressed-tensors", "pack-quantized")
    assert (weights["num_bits"], weights["group_size"], weights["symmetric"], weights["actorder"]) == (
        4,
        32,
        False,
        "group",
    )
    assert (tmp_path / "out" / "tokenizer.json").read_text() == "{}"
    rl.repack_file(tmp_path / "out", tmp_path / "back", to="gptq:w4", verify=True)
    assert _same(load_file(tmp_path / "back" / "model.safetensors"), load_file(file))
    back = json.loads((tmp_path / "back" / "config.json").read_text())["quantization_config"]
    assert back == {**GPTQ, "desc_act": True, "sym": False, "checkpoint_format": "gptq"}


def symmetric(seed: int, k: int, n: int, group: int, bits: int = 4) -> dict[str, Array]:
    parts = layer(seed, k, n, group, bits)
    return {**parts, "zeros": np.full_like(parts["zeros"], 1 << (bits - 1))}


@pytest.mark.parametrize("bits", [4, 8])
def test_symmetric_layers_become_those_of_mlx(tmp_path: Path, bits: int) -> None:
    given = symmetric(22, 64, 48, 32, bits)
    checkpoint(tmp_path / "in", {"m": gptq(given, bits)}, {**GPTQ, "bits": bits})
    with pytest.warns(UserWarning, match=r"kept under its name: 'm.g_idx' \(mlx has no name for it"):
        rl.repack_file(tmp_path / "in", tmp_path / "out", to=f"mlx:w{bits}", verify=True)
    made = load_file(tmp_path / "out" / "model.safetensors")
    assert set(made) == {"m.weight", "m.scales", "m.biases", "m.bias", "m.g_idx", "norm.weight"}
    assert made["m.weight"].dtype == np.uint32
    assert (made["m.weight"].view(np.int32) == words(given["codes"].T, bits, 1)).all()
    scale, bias = [np.repeat(made[f"m.{part}"].astype(np.float64), 32, axis=1) for part in ("scales", "biases")]
    worth = (given["codes"].T - (1 << (bits - 1))) * np.repeat(given["scales"].T.astype(np.float64), 32, axis=1)
    assert (given["codes"].T * scale + bias == worth).all()
    told = json.loads((tmp_path / "out" / "config.json").read_text())
    assert told["quantization"] == told["quantization_config"] == {"group_size": 32, "bits": bits}
    assert [str(x) for x in quantised_layers(open_source(tmp_path / "out"))[1]] == [
        f"mlx, {bits} bits, groups of 32, k=64 n=48"
    ]
    rl.repack_file(tmp_path / "out", tmp_path / "back", to=f"gptq:w{bits}", verify=True)
    expected = {f"m.{part}": x for part, x in gptq(given, bits).items()}
    assert _same(load_file(tmp_path / "back" / "model.safetensors"), expected | {"norm.weight": np.ones(7, np.float32)})


def test_what_mlx_cannot_say_is_refused_with_the_reason(tmp_path: Path) -> None:
    odd = symmetric(23, 64, 64, 32)
    odd["zeros"][1, 5] = 7
    ordered = gptq(symmetric(24, 64, 64, 32))
    ordered["g_idx"] = ordered["g_idx"][::-1].copy()
    huge = symmetric(26, 64, 64, 32)
    huge["scales"][0, 3] = 8192
    cases = {
        "a zero of 7 is a bias of -7 scales in mlx": gptq(odd),
        "its rows are in groups by m.g_idx, and mlx has them in order": ordered,
        "its groups are of 16": gptq(symmetric(25, 64, 64, 16)),
        r"m.scales.*8192.0 at .* float16\*-8 does not hold it exactly": {**gptq(huge)},
    }
    for k, (why, parts) in enumerate(cases.items()):
        config = {**GPTQ, "group_size": 64 // len(parts["scales"]), "desc_act": "in groups" in why}
        checkpoint(tmp_path / f"in{k}", {"m": {x: y for x, y in parts.items() if x != "g_idx" or k == 1}}, config)
        with pytest.raises(rl.NotExpressible, match=why):
            rl.repack_file(tmp_path / f"in{k}", tmp_path / f"out{k}", to="mlx:w4")
        assert not (tmp_path / f"out{k}").exists()


def test_symmetric_compressed_tensors_have_no_zeros_and_others_do(tmp_path: Path) -> None:
    given = symmetric(27, 64, 64, 32)
    tensors = {
        "m.weight_packed": words(given["codes"].T, 4, 1),
        "m.weight_scale": given["scales"].T.copy(),
        "m.weight_shape": np.array([64, 64], np.int64),
    }
    (tmp_path / "in").mkdir()
    save_file(tensors, tmp_path / "in" / "model.safetensors")
    for to, zeros in (("gptq:w4", gptq(given)["qzeros"]), ("awq:gemm", awq(given)["qzeros"])):
        folder, back = tmp_path / to[:3], tmp_path / f"{to[:3]} back"
        rl.repack_file(tmp_path / "in", folder, to=to, verify=True)
        assert (load_file(folder / "model.safetensors")["m.qzeros"] == zeros).all()
        assert json.loads((folder / "config.json").read_text())["quantization_config"].get("sym", True)
        rl.repack_file(folder, back, to="compressed:pack4", verify=True)
        assert _same(load_file(back / "model.safetensors"), tensors)
        told = json.loads((back / "config.json").read_text())["quantization_config"]["config_groups"]["group_0"]
        assert told["weights"]["symmetric"] is True
        assert rl.verify(tmp_path / "in", folder)
    rl.repack_file(tmp_path / "in", tmp_path / "out", to="marlin:w4a16", verify=True)
    marlin = load_file(tmp_path / "out" / "model.safetensors")
    checkpoint(tmp_path / "gptq", {"m": gptq(given)}, GPTQ)
    rl.repack_file(tmp_path / "gptq", tmp_path / "same", to="marlin:w4a16")
    same = load_file(tmp_path / "same" / "model.safetensors")
    for part in ("qweight", "scales"):
        assert (marlin[f"m.{part}"] == same[f"m.{part}"]).all()
    told = json.loads((tmp_path / "out" / "config.json").read_text())["quantization_config"]
    assert told == {
        "quant_method": "relayout",
        "packing": "marlin:w4a16",
        "bits": 4,
        "group_size": 32,
        "desc_act": False,
        "sym": True,
    }


def test_the_config_of_a_folder_describes_what_was_written(tmp_path: Path) -> None:
    checkpoint(tmp_path / "in", {"a": gptq(symmetric(28, 64, 64, 32)), "b": gptq(symmetric(29, 32, 64, 32))}, GPTQ)
    config = tmp_path / "in" / "config.json"
    config.write_text(json.dumps({"hidden_size": 64, "quantization_config": {**GPTQ, "damp_percent": 0.1}}))
    (tmp_path / "in" / "quantize_config.json").write_text(json.dumps(GPTQ))
    with pytest.warns(UserWarning, match=r"kept under its name: 'a.g_idx', 'b.g_idx' \(awq has no name"):
        rl.repack_file(tmp_path / "in", tmp_path / "awq", to="awq:gemm")
    told = json.loads((tmp_path / "awq" / "config.json").read_text())
    own = {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm"}
    assert told == {"hidden_size": 64, "quantization_config": own}
    assert not (tmp_path / "awq" / "quantize_config.json").exists()
    rl.repack_file(tmp_path / "in", tmp_path / "gptq", to="gptq:w4")
    told = json.loads((tmp_path / "gptq" / "config.json").read_text())["quantization_config"]
    assert told == {**GPTQ, "damp_percent": 0.1, "sym": True, "checkpoint_format": "gptq"}
    assert json.loads((tmp_path / "gptq" / "quantize_config.json").read_text()) == told
    with pytest.warns(UserWarning, match="no config.json is written: b and 0 other layers stay"):
        rl.repack_file(tmp_path / "in", tmp_path / "part", to="marlin:w4a16", only="a.*")
    assert not (tmp_path / "part" / "config.json").exists()


def _damaged(folder: Path, tensor: str, at: int, to: Path) -> Path:
    """The checkpoint with one bit of a tensor flipped, its records and config kept."""
    shutil.copytree(folder, to)
    file = to / "model.safetensors"
    data = bytearray(file.read_bytes())
    size = int.from_bytes(data[:8], "little")
    data[8 + size + json.loads(data[8 : 8 + size])[tensor]["data_offsets"][0] + at] ^= 1
    file.write_bytes(data)
    return to


@pytest.mark.parametrize("to", ["marlin:w4a16", "compressed:pack4", "awq:gemm", "mlx:w4"])
@pytest.mark.filterwarnings("ignore:left out")
def test_verify_compares_layers_as_what_they_are(tmp_path: Path, to: str) -> None:
    given = symmetric(31, 64, 64, 32)
    checkpoint(tmp_path / "in", {"m": gptq(given)}, GPTQ)
    rl.repack_file(tmp_path / "in", tmp_path / "out", to=to)
    assert rl.verify(tmp_path / "in", tmp_path / "out")
    assert rl.verify(tmp_path / "out", tmp_path / "in")
    names = {"compressed:pack4": ("weight_packed", "weight_scale", "weight_zero_point")}
    weight, scales, zeros = names.get(to, ("weight" if to == "mlx:w4" else "qweight", "scales", "qzeros"))
    found = rl.verify(tmp_path / "in", _damaged(tmp_path / "out", f"m.{weight}", 5, tmp_path / "w"))
    assert found.tensor == "m.qweight"
    code, other = found.values
    assert (code, other) == (given["codes"][found.coordinate], code ^ 1)
    found = rl.verify(tmp_path / "in", _damaged(tmp_path / "out", f"m.{scales}", 8, tmp_path / "s"))
    assert found.tensor == "m.scales"
    assert found.values[0] == given["scales"][found.coordinate]
    assert found.values[0] != found.values[1]
    if to == "compressed:pack4":
        assert f"m.{zeros}" not in load_file(tmp_path / "out" / "model.safetensors")
        return
    part = "biases" if to == "mlx:w4" else zeros
    found = rl.verify(tmp_path / "in", _damaged(tmp_path / "out", f"m.{part}", 4, tmp_path / "z"))
    assert found.tensor == ("m.biases" if to == "mlx:w4" else "m.qzeros")
    assert not found


def test_verify_tells_zeros_that_one_side_lacks(tmp_path: Path) -> None:
    given = symmetric(32, 64, 64, 32)
    tensors = {
        "m.weight_packed": words(given["codes"].T, 4, 1),
        "m.weight_scale": given["scales"].T.copy(),
        "m.weight_shape": np.array([64, 64], np.int64),
        "norm.weight": np.ones(7, np.float32),
    }
    (tmp_path / "ct").mkdir()
    save_file(tensors, tmp_path / "ct" / "model.safetensors")
    parts = {name: x for name, x in gptq(given).items() if name != "bias"}
    checkpoint(tmp_path / "gptq", {"m": parts}, GPTQ)
    assert rl.verify(tmp_path / "gptq", tmp_path / "ct")
    given["zeros"][1, 7] = 3
    checkpoint(tmp_path / "odd", {"m": {**parts, "qzeros": gptq(given)["qzeros"]}}, GPTQ)
    found = rl.verify(tmp_path / "odd", tmp_path / "ct")
    assert str(found) == "tensor 'm.qzeros': its zero at (1, 7) is 3, and the other checkpoint means 8."
    checkpoint(tmp_path / "turned", {"m": {**parts, "g_idx": parts["g_idx"][::-1].copy()}}, GPTQ)
    assert "'m.g_idx': it is only in" in str(rl.verify(tmp_path / "turned", tmp_path / "ct"))


def _write(file: Path, tensors: dict[str, tuple[str, Array]]) -> None:
    """A safetensors file of tensors whose types numpy may lack, given as their bits."""
    header, at = {}, 0
    for name, (dtype, x) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    data = b"".join([x.tobytes() for _, x in tensors.values()])
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)


def _float_layer(folder: Path, vector: dict[str, Any]) -> Array:
    """A checkpoint of one layer with the scales of a vector; its codes, n by k."""
    n, k = vector["shape"]
    halves = np.float16 if vector["dtype"] == "float16" else ml_dtypes.bfloat16
    if vector["layer"] == "nvfp4":
        made = codes((n, k), 4, 5)
        tensors = {
            "m.weight": ("U8", made[:, ::2] | made[:, 1::2] << 4),
            "m.weight_scale": ("F8_E4M3", codes((n, k // 16), 8, 3, 71) + np.uint8(8)),
            "m.weight_scale_2": ("F32", np.array(0.0123, np.float32)),
        }
    else:
        made = codes((n, k), 8, 5)
        rows = (codes((n, 1), 16, 4, 1 << 12).view(halves) + halves(1)).astype(halves)
        tensors = {
            "m.weight": ("F8_E4M3", made),
            "m.weight_scale": ({"float16": "F16", "bfloat16": "BF16"}[vector["dtype"]], rows),
        }
    folder.mkdir()
    _write(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps({"torch_dtype": vector["dtype"]}))
    return made


LAYERS = [v for v in json.loads(VECTORS.read_text()) if "layer" in v]


@pytest.mark.parametrize("vector", LAYERS, ids=lambda v: f"{v['layer']}-{v['dtype']}")
def test_floats_of_4_and_8_bits_become_marlins_with_their_scales(tmp_path: Path, vector: dict[str, Any]) -> None:
    weights = _float_layer(tmp_path / "in", vector)
    to = f"marlin:{vector['layer']}"
    rl.repack_file(tmp_path / "in", tmp_path / "out", to=to, verify=True)
    with rl.open(tmp_path / "out" / "model.safetensors") as file:
        scales, whole = file["m.weight_scale"], file.get("m.weight_scale_2")
        assert hashlib.sha256(scales.raw.tobytes()).hexdigest() == vector["scales"]
        bits = 4 if vector["layer"] == "nvfp4" else 8
        nibbles = file["m.weight"].raw.view(np.uint8).reshape(-1)
        nibbles = np.stack([nibbles & 15, nibbles >> 4], 1).reshape(-1) if bits == 4 else nibbles
        layout = rl.parse(f"marlin:w{bits}a16").layout(weights.shape[::-1])
        assert (nibbles[layout.offsets()] == weights.T).all()
        if whole is not None:
            assert whole.raw.tobytes().hex() == vector["global_scale"]
            assert whole.shape == ()
            assert whole.numpy() == np.float32(0.0123)
            factor = "" if vector["factor"] == 1 else f"*{vector['factor']:.0f}"
            assert scales.interface == rl.Encoding(f"marlin_s0e5m3{factor}")
    assert rl.verify(tmp_path / "in", tmp_path / "out")
    told = json.loads((tmp_path / "out" / "config.json").read_text())["quantization_config"]
    assert (told["quant_method"], told["packing"]) == ("relayout", to)


def test_scales_that_marlin_would_lose_are_refused(tmp_path: Path) -> None:
    vector = LAYERS[0]
    _float_layer(tmp_path / "in", vector)
    file = tmp_path / "in" / "model.safetensors"
    with rl.open(file) as opened:
        kinds = {"m.weight": "U8", "m.weight_scale": "F8_E4M3", "m.weight_scale_2": "F32"}
        tensors = {
            name: (kind, opened[name].stored().view(np.uint8 if kind != "F32" else np.float32).copy())
            for name, kind in kinds.items()
        }
    tensors["m.weight_scale"][1][3, 2] = 4
    _write(file, tensors)
    with pytest.raises(rl.NotExpressible, match=r"m.weight_scale.*at \(3, 2\) has no place in uint8: marlin_s0e5m3"):
        rl.repack_file(tmp_path / "in", tmp_path / "out", to="marlin:nvfp4")
    (tmp_path / "in" / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16"}))
    rl.repack_file(tmp_path / "in", tmp_path / "out", to="marlin:nvfp4", verify=True)
    (tmp_path / "in" / "config.json").unlink()
    with pytest.raises(rl.NotExpressible, match=r"config\.json says none"):
        rl.repack_file(tmp_path / "in", tmp_path / "again", to="marlin:nvfp4")
    with pytest.raises(rl.NotExpressible, match="its codes are those of nvfp4, and marlin:fp8 holds those of fp8"):
        rl.repack_file(tmp_path / "in", tmp_path / "again", to="marlin:fp8")


def test_symmetric_layers_become_marlins_for_activations_in_fp8_and_come_back(tmp_path: Path) -> None:
    given = symmetric(41, 64, 64, 32)
    parts = {name: x for name, x in gptq(given).items() if name != "bias"}
    file = checkpoint(tmp_path / "in", {"m": parts}, GPTQ)
    rl.repack_file(tmp_path / "in", tmp_path / "out", to="marlin:w4a8_fp8", verify=True)
    vector = next(v for v in json.loads(VECTORS.read_text()) if v.get("encoding") == "marlin_int4_fp8")
    theirs = np.frombuffer(bytes.fromhex(vector["stored"]), np.uint8)
    made = load_file(tmp_path / "out" / "model.safetensors")
    assert set(made) == {"m.qweight", "m.scales", "m.g_idx", "norm.weight"}
    nibbles = made["m.qweight"].view(np.uint8).reshape(-1)
    nibbles = np.stack([nibbles & 15, nibbles >> 4], 1).reshape(-1)
    assert (nibbles[rl.parse("marlin:w4a8").layout((64, 64)).offsets()] == theirs[given["codes"]]).all()
    places = rl.parse("marlin:w4a8.scales").layout((2, 64)).offsets()
    assert (made["m.scales"].reshape(-1)[places] == given["scales"] * 512).all()
    assert rl.verify(tmp_path / "in", tmp_path / "out")
    assert rl.verify(tmp_path / "out", tmp_path / "in")
    assert not rl.verify(tmp_path / "in", _damaged(tmp_path / "out", "m.qweight", 9, tmp_path / "w"))
    rl.repack_file(tmp_path / "out", tmp_path / "back", to="gptq:w4", verify=True)
    assert _same(load_file(tmp_path / "back" / "model.safetensors"), load_file(file))
    assert rl.verify(tmp_path / "back", tmp_path / "in")
    given["zeros"][0, 0] = 9
    checkpoint(tmp_path / "odd", {"m": gptq(given)}, GPTQ)
    with pytest.raises(
        rl.NotExpressible, match="a zero of 9 has no place in marlin:w4a8_fp8, whose codes are around 8"
    ):
        rl.repack_file(tmp_path / "odd", tmp_path / "x", to="marlin:w4a8_fp8")


def test_awq_becomes_gptq_and_comes_back(tmp_path: Path) -> None:
    parts = layer(3, 64, 96, 64)
    file = checkpoint(tmp_path / "in", {"m": awq(parts)}, {"quant_method": "awq", "bits": 4, "group_size": 64})
    out, back = tmp_path / "out.safetensors", tmp_path / "back.safetensors"
    rl.repack_file(file, out, to="gptq:w4", verify=True)
    expected = gptq(parts)
    made = load_file(out)
    for part in ("qweight", "qzeros", "scales"):
        assert (made[f"m.{part}"] == expected[part]).all(), part
    rl.repack_file(out, back, to="awq:gemm", verify=True)
    assert _same(load_file(back), load_file(file))


@pytest.mark.parametrize("bits", [2, 8])
def test_other_widths(tmp_path: Path, bits: int) -> None:
    file = checkpoint(tmp_path / "in", {"m": gptq(layer(4, 64, 64, 32, bits), bits)}, {**GPTQ, "bits": bits})
    recognised, layers = quantised_layers(open_source(file))
    assert [str(x) for x in layers] == [f"gptq, {bits} bits, groups of 32, k=64 n=64"]
    assert recognised["m.qweight"].layout.extents == (64, 64)
    if bits == 8:
        out, back = tmp_path / "out.safetensors", tmp_path / "back.safetensors"
        rl.repack_file(file, out, to="marlin:w8a16")
        rl.repack_file(out, back, to="gptq:w8")
        assert _same(load_file(back), load_file(file))


def test_zeros_of_version_2_are_told_apart(tmp_path: Path) -> None:
    parts = layer(5, 64, 64, 32, least=0)
    config = {**GPTQ, "checkpoint_format": "gptq_v2"}
    file = checkpoint(tmp_path / "in", {"m": gptq(parts, one_less=False)}, config)
    with pytest.raises(rl.OutOfBounds, match=r"m.qzeros.*a zero of 0 cannot be stored: zeros are 1 to 16"):
        rl.repack_file(file, tmp_path / "v1.safetensors", to="gptq:w4")
    out = tmp_path / "out.safetensors"
    rl.repack_file(file, out, to="awq:gemm")
    assert (load_file(out)["m.qzeros"] == awq(parts)["qzeros"]).all()
    rl.repack_file(tmp_path / "in", tmp_path / "awq", to="awq:gemm")
    rl.repack_file(tmp_path / "awq", tmp_path / "back", to="gptq_v2:w4", verify=True)
    assert (load_file(tmp_path / "back" / "model.safetensors")["m.qzeros"] == load_file(file)["m.qzeros"]).all()
    told = json.loads((tmp_path / "back" / "config.json").read_text())["quantization_config"]
    assert told["checkpoint_format"] == "gptq_v2"


def test_what_a_packing_cannot_hold_is_refused_with_its_tensor(tmp_path: Path) -> None:
    odd = checkpoint(tmp_path / "odd", {"m": gptq(layer(6, 64, 96, 32))}, GPTQ)
    with pytest.raises(rl.NotExpressible, match=r"'m.qweight': 64 x 96 codes are no whole tiles of 16 x 64"):
        rl.repack_file(odd, tmp_path / "x.safetensors", to="marlin:w4a16")
    with pytest.raises(rl.NotExpressible, match=r"'m.qweight': its codes have 4 bits, and gptq:w8 holds 8"):
        rl.repack_file(odd, tmp_path / "x.safetensors", to="gptq:w8")
    assert not (tmp_path / "x.safetensors").exists()


@pytest.mark.parametrize(
    ("change", "config", "why"),
    [
        ({"scales": (3, 64)}, {}, r"3 groups of 32 are not the 64 input features"),
        ({"qzeros": (2, 9)}, {}, r"its shape .* is not \(2, 8\)"),
        ({"qweight": (8, 60)}, {}, r"fit neither k nor n"),
        ({}, {"group_size": 16}, r"2 groups of 16 are not the 64 input features"),
        ({}, {"group_size": -1}, r"2 groups of 64 are not the 64 input features"),
        ({"bias": (7,)}, {}, r"'m.bias': its shape \(7,\) is not the \(64,\) of the layer"),
        ({"g_idx": (63,)}, {}, r"'m.g_idx': its shape \(63,\) is not the \(64,\) of the layer"),
    ],
)
def test_tensors_that_contradict_each_other_are_refused(tmp_path: Path, change: Any, config: Any, why: str) -> None:
    parts = gptq(layer(7, 64, 64, 32))
    parts |= {name: np.zeros(shape, parts[name].dtype) for name, shape in change.items()}
    file = checkpoint(tmp_path / "in", {"m": parts}, {**GPTQ, **config})
    with pytest.raises(rl.BadFile, match=why):
        quantised_layers(open_source(file))


def test_words_without_the_tensors_of_a_layer_are_no_layer_of_a_kernel(tmp_path: Path) -> None:
    whole = gptq(layer(7, 64, 64, 32))
    short = {name: x for name, x in whole.items() if name != "scales"}
    group_2 = {**whole, "g_idx": whole["g_idx"] + 1}
    integers = {**whole, "scales": whole["scales"].view(np.int16)}
    no_zeros = {name: x for name, x in whole.items() if name != "qzeros"}
    cases: list[tuple[dict[str, Array], dict[str, Any], str]] = [
        (short, {}, "'m.qweight' is named as packed codes are"),
        (whole, {"bits": 5}, "'m.qweight' is named as packed codes are"),
        (group_2, {}, "m.g_idx deals rows to a group 2, and there are 2"),
        (integers, {}, "'m.scales': scales are no int16"),
        (no_zeros, {"sym": False}, "'m.qweight': the config says that it has zeros"),
    ]
    for at, (parts, config, why) in enumerate(cases):
        file = checkpoint(tmp_path / f"in{at}", {"m": parts, "other": whole}, {**GPTQ, **config})
        with pytest.raises(rl.LayoutError, match=why):
            rl.repack_file(file, tmp_path / "x.safetensors", to="marlin:w4a16")
        assert not (tmp_path / "x.safetensors").exists()


def test_an_order_of_codes_is_no_packing_of_layers(tmp_path: Path) -> None:
    file = checkpoint(tmp_path / "in", {"m": gptq(layer(9, 64, 64, 32))}, GPTQ)
    for to in ("exllama:w4", "machete:w4a16", "awq:v2", "hqq:w4"):
        with pytest.raises(rl.NotExpressible, match=f"'m.qweight': {to} is an order of codes, and no packing"):
            rl.repack_file(file, tmp_path / "x.safetensors", to=to)
    with pytest.raises(rl.NotExpressible, match="did you mean marlin:w4a16"):
        rl.repack_file(file, tmp_path / "x.safetensors", to="marlin:w4a15")
    assert not (tmp_path / "x.safetensors").exists()


def test_a_last_group_that_is_not_whole_stays_gptqs(tmp_path: Path) -> None:
    parts = gptq(layer(7, 64, 64, 32))
    parts["qweight"], parts["g_idx"] = parts["qweight"][:6].copy(), parts["g_idx"][:48].copy()
    file = checkpoint(tmp_path / "in", {"m": parts}, GPTQ)
    with pytest.raises(rl.NotExpressible, match="its last group has 16 of 32 rows, and marlin has whole ones"):
        rl.repack_file(file, tmp_path / "x.safetensors", to="marlin:w4a16")
    rl.repack_file(file, tmp_path / "x.safetensors", to="gptq:w4", verify=True)


@pytest.mark.parametrize(
    ("told", "fits"),
    [
        ({}, True),
        ({"group_size": 64, "strategy": "group"}, False),
        ({"num_bits": 8}, False),
        ({"symmetric": False}, False),
        ({"group_size": 128}, True),
    ],
)
def test_the_config_of_compressed_tensors_must_fit(tmp_path: Path, told: dict[str, Any], fits: bool) -> None:
    codes = np.random.default_rng(16).integers(0, 16, (64, 128))
    parts = {"weight_packed": words(codes, 4, 1), "weight_scale": np.ones((64, 1), np.float16)}
    parts["weight_shape"] = np.array([64, 128])
    weights = {"num_bits": 4, "group_size": None, "symmetric": True, "strategy": "channel", **told}
    config = {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}
    file = checkpoint(tmp_path / "in", {"m": parts}, config)
    if fits:
        assert len(quantised_layers(open_source(file))[1]) == 1
        return
    with pytest.raises(rl.BadFile, match=r"4 bits, groups of 128 and no zeros are no scheme of the config"):
        quantised_layers(open_source(file))


def test_bytes_of_bitsandbytes_are_known(tmp_path: Path) -> None:
    parts = {"weight": np.zeros((64, 128), np.int8), "SCB": np.ones(64, np.float32)}
    file = checkpoint(tmp_path / "in", {"m": parts}, {"quant_method": "bitsandbytes", "load_in_8bit": True})
    assert [str(x) for x in quantised_layers(open_source(file))[1]] == [
        "bitsandbytes int8, 8 bits, groups of 128, k=128 n=64"
    ]
    file = checkpoint(tmp_path / "bad", {"m": {**parts, "SCB": np.ones(63, np.float32)}}, {})
    with pytest.raises(rl.BadFile, match=r"'m.SCB': \(63,\) are not the rows of the weight"):
        quantised_layers(open_source(file))


def test_awq_for_its_other_kernels_is_known(tmp_path: Path) -> None:
    codes = np.random.default_rng(15).integers(0, 16, (64, 256))
    config = {"quant_method": "awq", "bits": 4, "group_size": 32}
    slow = {"qweight": words(codes, 4, 1), "scales": np.ones((64, 8), np.float16), "qzeros": np.zeros((64, 1), "i4")}
    fast = {name: np.ones((8, 64), np.float16) for name in ("scales", "qzeros")}
    fast["qweight"] = np.zeros((16, 256), np.int16)
    for version, parts, name in (("gemv", slow, "awq:gemv"), ("gemv_fast", fast, "awq:v2")):
        file = checkpoint(tmp_path / version, {"m": parts}, {**config, "version": version})
        recognised, layers = quantised_layers(open_source(file))
        assert [str(x) for x in layers] == [f"awq {version}, 4 bits, groups of 32, k=256 n=64"]
        record = recognised["m.qweight"].record
        assert record is not None
        assert record.layout == name


def run(*arguments: str) -> str:
    done = CliRunner().invoke(group, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_inspect_shows_the_logical_layers(tmp_path: Path) -> None:
    checkpoint(tmp_path / "in", {"m": gptq(layer(8, 64, 128, 32))}, GPTQ)
    told = json.loads(run("inspect", str(tmp_path / "in"), "--json"))["result"]
    by_name = {x["name"]: x for x in told["tensors"]}
    assert by_name["m.qweight"]["shape"] == [64, 128]
    assert by_name["m.qweight"]["layout"] == "gptq:w4"
    assert by_name["m.qweight"]["dtype"] == "uint4"
    assert told["quantised"] == [{"scheme": "gptq", "bits": 4, "group": 32, "act_order": False, "layers": 1}]


def test_a_folder_becomes_a_folder(tmp_path: Path) -> None:
    file = checkpoint(tmp_path / "model", {"m": gptq(layer(9, 64, 64, 32))}, GPTQ)
    run("repack", str(tmp_path / "model"), str(tmp_path / "out"), "--to", "marlin:w4a16", "--verify")
    run("repack", str(tmp_path / "out"), str(tmp_path / "back"), "--to", "gptq:w4", "--verify")
    assert _same(load_file(tmp_path / "back" / "model.safetensors"), load_file(file))
    assert "1 quantised layer: marlin, 4 bits, groups of 32" in run("inspect", str(tmp_path / "out"))


def test_blocks_of_gguf_become_those_of_a_kernel_and_come_back(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    numbers = np.random.default_rng(5)
    blocks = {"a": ((24, 96), "Q4_0"), "b": ((2, 8, 64), "Q4_0"), "odd": ((7, 64), "Q4_0"), "k": ((8, 256), "Q4_K")}
    for name, (shape, kind) in blocks.items():
        record = rl.catalog.record(f"ggml:{kind}")
        sizes = (*shape[:-1], shape[-1] // record.block[1] * record.nbytes)
        data = numbers.integers(0, 256, sizes, dtype=np.uint8)
        writer.add_tensor(name, data, raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    out, back = tmp_path / "out.safetensors", tmp_path / "back.safetensors"
    with pytest.warns(UserWarning, match="odd.*7 rows are no whole records of 8"):
        rl.repack_file(tmp_path / "m.gguf", out, to="ggml:q4_0_8x8", verify=True)
    made = load_file(out)
    with rl.open(tmp_path / "m.gguf") as file:
        source = {name: file[name].numpy() for name in blocks}
    for name in ("a", "b"):
        blocks_of_rows = source[name].reshape(-1, 8, source[name].shape[-1] // 18, 18)
        expected = b""
        for rows in blocks_of_rows:
            for column in range(rows.shape[1]):
                expected += rows[:, column, :2].tobytes()
                expected += b"".join([(rows[:, column, 2 + c : 10 + c] ^ 0x88).tobytes() for c in (0, 8)])
        assert made[name].tobytes() == expected
    assert made["k"].tobytes() == source["k"].tobytes()
    assert rl.verify(tmp_path / "m.gguf", out)
    assert rl.verify(out, tmp_path / "m.gguf")
    with safe_open(out, "numpy") as file:
        kept = file.metadata()
    for at, where in ((3 * 144 + 2, "d at (9, 0) is"), (40, "qs at (3, 0) is")):
        broken = {**made, "a": made["a"].copy()}
        broken["a"].reshape(-1)[at] ^= 1
        save_file(broken, tmp_path / "broken.safetensors", kept)
        assert f"tensor 'a': {where}" in str(rl.verify(tmp_path / "m.gguf", tmp_path / "broken.safetensors"))
    told = {x["name"]: x for x in json.loads(run("inspect", str(out), "--json"))["result"]["tensors"]}
    assert (told["a"]["shape"], told["a"]["layout"]) == ([24, 96], "ggml:q4_0_8x8")
    assert (told["k"]["shape"], told["k"]["layout"]) == ([8, 256], "ggml:Q4_K")
    with pytest.warns(UserWarning, match="k"):
        rl.repack_file(out, back, to="ggml:Q4_0", verify=True)
    assert {name: x.tobytes() for name, x in load_file(back).items()} == {k: x.tobytes() for k, x in source.items()}
    with pytest.raises(rl.NotExpressible, match=r"no tensor.*another size.*worth different"):
        rl.repack_file(tmp_path / "m.gguf", tmp_path / "x.safetensors", to="ggml:Q8_0")


def test_the_layers_of_other_checkpoints_are_known(tmp_path: Path) -> None:
    n, k = 64, 128
    numbers = np.random.default_rng(11)
    codes = numbers.integers(0, 16, (n, k))
    state = json.dumps({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [n, k]}).encode()
    tensors = {
        "b.weight": (codes[:, ::2] << 4 | codes[:, 1::2]).astype(np.uint8).reshape(-1, 1),
        "b.weight.absmax": np.ones(n * k // 64, np.float32),
        "b.weight.quant_state.bitsandbytes__nf4": np.frombuffer(state, np.uint8),
        "c.weight_packed": words(codes, 4, 1),
        "c.weight_scale": np.ones((n, k // 32), np.float16),
        "c.weight_shape": np.array([n, k], np.int64),
    }
    save_file(tensors, tmp_path / "model.safetensors")
    recognised, layers = quantised_layers(open_source(tmp_path / "model.safetensors"))
    assert [str(x) for x in sorted(layers)] == [
        "bitsandbytes nf4, 4 bits, groups of 64, k=128 n=64",
        "compressed-tensors, 4 bits, groups of 32, k=128 n=64",
    ]
    for name in ("b.weight", "c.weight_packed"):
        layout, memory = recognised[name].layout, np.asarray(tensors[name]).view(np.uint8).reshape(-1)
        nibbles = np.stack([memory & 15, memory >> 4], 1).reshape(-1)
        assert (nibbles[layout.offsets()] == codes).all()
    tensors["b.weight"] = tensors["b.weight"][:-1]
    save_file(tensors, tmp_path / "cut.safetensors")
    with pytest.raises(rl.BadFile, match="4095 bytes are not the codes of a 64 x 128 matrix"):
        quantised_layers(open_source(tmp_path / "cut.safetensors"))


def test_the_layers_of_mlx_are_known(tmp_path: Path) -> None:
    codes = np.random.default_rng(12).integers(0, 16, (64, 128))
    half = np.ones((64, 2), np.float16)
    tensors = {"m.weight": words(codes, 4, 1).view(np.uint32), "m.scales": half, "m.biases": half}
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"quantization": {"bits": 4, "group_size": 64}}))
    recognised, layers = quantised_layers(open_source(tmp_path))
    assert [str(x) for x in layers] == ["mlx, 4 bits, groups of 64, k=128 n=64"]
    assert recognised["m.weight"].record is not None
    assert recognised["m.weight"].record.layout == "mlx:w4"
    with pytest.raises(rl.NotExpressible, match="its biases are not all -8 scales"):
        rl.repack_file(tmp_path, tmp_path.parent / "out", to="gptq:w4")
