"""Audits of TensorRT's layer information: sentences judged by the arrays of C that NvInferRuntimeBase.h defines."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import relayout as rl
from relayout.auditing.audit import audit
from relayout.dialects.tensorrt_phrases import tensorrt_phrase

DATA = Path(__file__).parent / "data" / "audit"
LAYERS = DATA / "tensorrt.layers.json"
N, C, H, W, D = 2, 5, 3, 4, 2


def up(n: int, k: int) -> int:
    return -(-n // k) * k


@pytest.mark.parametrize(
    ("text", "array", "index", "element"),
    [
        ("Row major linear FP32", (N, C, H, W), lambda n, c, h, w: (n, c, h, w), "float32"),
        ("Row major Int8 format", (N, C, H, W), lambda n, c, h, w: (n, c, h, w), "int8"),
        ("Row major linear BOOL", (N, C, H, W), lambda n, c, h, w: (n, c, h, w), "bool"),
        ("Row major linear BFloat16 format", (N, C, H, W), lambda n, c, h, w: (n, c, h, w), "bfloat16"),
        (
            "Two wide channel vectorized row major BFloat16 format",
            (N, 3, H, W, 2),
            lambda n, c, h, w: (n, c // 2, h, w, c % 2),
            "bfloat16",
        ),
        (
            "Four wide channel vectorized row major Int8 format.",
            (N, 2, H, W, 4),
            lambda n, c, h, w: (n, c // 4, h, w, c % 4),
            "int8",
        ),
        (
            "Sixteen wide channel vectorized row major FP16 format",
            (N, 1, H, W, 16),
            lambda n, c, h, w: (n, c // 16, h, w, c % 16),
            "float16",
        ),
        (
            "Thirty-two wide channel vectorized row major Int8 format",
            (N, 1, H, W, 32),
            lambda n, c, h, w: (n, c // 32, h, w, c % 32),
            "int8",
        ),
        ("Channel major FP32 format", (N, H, W, C), lambda n, c, h, w: (n, h, w, c), "float32"),
        ("Channel major FP32 format where C % 4 == 0", (N, H, W, up(C, 4)), lambda n, c, h, w: (n, h, w, c), "float32"),
        (
            "Channel major FP16 format where channel % 8 == 0",
            (N, H, W, up(C, 8)),
            lambda n, c, h, w: (n, h, w, c),
            "float16",
        ),
        (
            "Channel major INT8 format where channel % 16 == 0",
            (N, H, W, up(C, 16)),
            lambda n, c, h, w: (n, h, w, c),
            "int8",
        ),
    ],
)
def test_sentences_are_the_arrays_that_the_header_defines(text: str, array: tuple, index, element: str) -> None:
    meant = tensorrt_phrase(text)
    assert meant is not None
    assert meant.element is not None
    assert meant.element.name == element
    places = np.arange(int(np.prod(array))).reshape(array)
    for layout in (meant.format(4).layout((N, C, H, W)), rl.parse(text, shape=(N, C, H, W))):
        assert layout.storage_size == places.size
        for c in itertools.product(range(N), range(C), range(H), range(W)):
            assert layout(c) == places[index(*c)]


@pytest.mark.parametrize(
    ("text", "array", "index"),
    [
        (
            "Channel major FP16 format where channel % 8 == 0 with 3 spatial dimensions",
            (N, D, H, W, 8),
            lambda n, c, d, h, w: (n, d, h, w, c),
        ),
        (
            "Channel major FP32 format with 3 spatial dimensions where channel % 4 == 0",
            (N, D, H, W, 8),
            lambda n, c, d, h, w: (n, d, h, w, c),
        ),
        ("Channel major FP32 format with 3 spatial dimensions", (N, D, H, W, C), lambda n, c, d, h, w: (n, d, h, w, c)),
        (
            "Thirty-two wide channel vectorized row major Int8 format with 3 spatial dimensions",
            (N, 1, D, H, W, 32),
            lambda n, c, d, h, w: (n, c // 32, d, h, w, c % 32),
        ),
    ],
)
def test_sentences_for_volumes(text: str, array: tuple, index) -> None:
    places = np.arange(int(np.prod(array))).reshape(array)
    layout = rl.parse(text, shape=(N, C, D, H, W))
    for c in itertools.product(range(N), range(C), range(D), range(H), range(W)):
        assert layout(c) == places[index(*c)]


def test_sentences_that_no_header_defines_are_not_read() -> None:
    for text in (
        "Channel major FP16 format where channel == 4 and column stride % 32 == 0",
        "Row major FP16 format where column stride % 64 == 0",
        "Unknown format",
        "Seven wide channel vectorized row major FP16 format",
        "Half",
    ):
        assert tensorrt_phrase(text) is None


def test_the_layers_of_an_engine() -> None:
    found = audit(LAYERS)
    assert [(m.op, m.kind, m.source.text, m.target.text) for m in found.moves] == [
        ("Reformat", "rearranges", "NCHW", "NHWC4"),
        ("Reformat", "rearranges", "NHWC8", "NC/2HW2"),
        ("Reformat", "rearranges", "NC/2HW2", "NHWC8"),
        ("Reformat", "same bytes", "NHWC16", "NHWC8"),
        ("Shuffle", "rearranges", "acbd", "abcd"),
        ("Reformat", "undecided", "Half", "NCHW"),
    ]
    # [N][H][W][(C+7)/8*8] halves, and [N][(C+1)/2][H][W][2].
    assert found.moves[2].bytes == 112 * 112 * 56 * 2
    assert found.moves[1].bytes == 25 * 112 * 112 * 2 * 2
    assert found.moves[0].bytes == 224 * 224 * 4 * 2
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.alone) == (1, 2, True)
    assert found.moves[3].bytes == 0
    lines = LAYERS.read_text().splitlines()
    assert all(lines[m.place.line].strip() == f'"Name": "{m.place.name}",' for m in found.moves)


def test_times_come_from_a_profile() -> None:
    found = audit(LAYERS, times=DATA / "tensorrt.profile.json")
    told = {e["name"]: e["averageMs"] for e in json.loads((DATA / "tensorrt.profile.json").read_text()) if "name" in e}
    for move in found.moves:
        assert move.time == (pytest.approx(told[move.place.name] / 1e3) if move.place.name in told else None)
    assert found.totals.time_share == pytest.approx(0.4)


def test_names_alone_are_undecided() -> None:
    text = '{"Layers": ["Reformatting CopyNode for Input Tensor 0 to conv"\n,"conv"\n],\n"Bindings": ["x"\n]}'
    found = audit(text)
    assert [m.kind for m in found.moves] == ["undecided"]
    assert "--profilingVerbosity=detailed" in found.moves[0].remarks[0]
    assert found.totals.steps == 1


@pytest.mark.parametrize("transposes", [([0, 2, 1, 3], [0, 1, 2, 3]), ([0, 1, 2, 3], [0, 2, 1, 3])])
def test_a_shuffle_is_what_numpy_makes_of_it(transposes: tuple, tmp_path: Path) -> None:
    first, second = transposes
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    y = x.transpose(first).reshape(x.transpose(first).shape).transpose(second)
    layer = json.loads(LAYERS.read_text())["Layers"][6]
    layer.update({"FirstTranspose": first, "SecondTranspose": second})
    layer["Inputs"][0]["Dimensions"], layer["Outputs"][0]["Dimensions"] = list(x.shape), list(y.shape)
    path = tmp_path / "layers.json"
    path.write_text(json.dumps({"Layers": [layer], "Bindings": []}))
    (move,) = audit(path).moves
    seen = np.empty(y.size, int)
    for c in itertools.product(*[range(n) for n in move.target.layout.extents]):
        seen[move.target.layout(c)] = move.source.layout(c)
    assert (seen == y.ravel()).all()


def test_what_is_cut_off_or_broken_gives_the_rest(tmp_path: Path) -> None:
    text = LAYERS.read_text()
    cut = audit(text[: text.index('"PWN(gelu)"') + 20])
    assert len(cut.moves) == 2
    assert "ends inside" in cut.troubles[0].message
    path = tmp_path / "layers.json"
    path.write_text(json.dumps(json.loads(text)))
    assert [m.kind for m in audit(path).moves] == [m.kind for m in audit(LAYERS).moves]
    path.write_text(json.dumps(json.loads(text), indent=1))
    assert [m.kind for m in audit(path).moves] == [m.kind for m in audit(LAYERS).moves]
    assert audit('{"Layers": [7, {"Name": 3, "Inputs": [4], "Outputs": {}}\n]}\n').troubles


def test_what_leaves_the_program_is_read_by_someone() -> None:
    """A pair cancels, but its first move has to stay where an elementwise layer brings its result out."""

    def layer(kind: str, source: str, target: str) -> dict[str, object]:
        sentences = {True: "Row major linear FP16 format", False: "Channel major FP16 format where channel % 8 == 0"}
        tensors = [
            {"Name": name, "Dimensions": [1, 16, 4, 4], "Format/Datatype": sentences[name.startswith("plain")]}
            for name in (source, target)
        ]
        return {"Name": f"to {target}", "LayerType": kind, "Inputs": tensors[:1], "Outputs": tensors[1:]}

    layers = [layer("Reformat", "x", "plain"), layer("Reformat", "plain", "y"), layer("Convolution", "y", "z")]
    layers += [layer("PointWise", "plain", "plain out")]
    for some, alone in ((layers[:3], True), (layers, False)):
        found = audit(json.dumps({"Layers": some}, indent=1))
        assert [pair.alone for pair in found.pairs] == [alone]


def test_a_reformat_without_tensors_is_told() -> None:
    found = audit(
        json.dumps({"Layers": [{"Name": "r", "LayerType": "Reformat", "Inputs": [], "Outputs": []}]}, indent=1)
    )
    assert [move.kind for move in found.moves] == ["undecided"]
