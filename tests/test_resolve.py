"""One meaning for every operand: what one entry point takes all take, as the same function, and refuse alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

import relayout as rl
from relayout import Format, Layout
from relayout.cli.main import relayout as command
from relayout.dialects.resolve import Resolved, resolve, resolve_together
from relayout.web.handle import handle


class Operand(NamedTuple):
    """An operand, the shape that it is for, and its offsets by hand."""

    x: Any
    shape: tuple[int, ...]
    formula: Callable[..., int]

    @property
    def offsets(self) -> np.ndarray:
        places = [self.formula(*c) for c in product(*map(range, self.shape))]
        return np.array(places, np.int64).reshape(self.shape)


def crouton(n: int, h: int, w: int, c: int) -> int:
    block = (n * 2 + h // 8) * 1 * 2 + w // 8 * 2 + c // 32
    return block * 2048 + h % 8 * 256 + w % 8 * 32 + c % 32


def channels_32(n: int, c: int, h: int, w: int) -> int:
    return ((n * 2 + c // 32) * 3 + h) * 5 * 32 + w * 32 + c % 32


def channels_16(n: int, c: int, h: int, w: int) -> int:
    return ((n * 3 + c // 16) * 3 + h) * 5 * 16 + w * 16 + c % 16


def rows(*sizes: int) -> Callable[..., int]:
    return lambda *c: int(np.ravel_multi_index(c, sizes))


OPERANDS: dict[str, Operand] = {
    "a name": Operand("htp:R4Crouton", (1, 9, 5, 40), crouton),
    "a name without its system": Operand("R4Crouton", (1, 9, 5, 40), crouton),
    "a name as the vendor spells it": Operand("htp:R4CroutonLayout", (1, 9, 5, 40), crouton),
    "a name that depends on the width": Operand("htp:Crouton", (1, 9, 5, 40), crouton),
    "such a name without its system": Operand("Crouton", (1, 9, 5, 40), crouton),
    "a name of another system": Operand("tensorrt:kCHW32", (1, 40, 3, 5), channels_32),
    "an enumerator": Operand("TensorFormat::kCHW32", (1, 40, 3, 5), channels_32),
    "a tag": Operand("nChw16c", (1, 40, 3, 5), channels_16),
    "a tag with its dialect": Operand("onednn:aBcd16b", (1, 40, 3, 5), channels_16),
    "a layout's text": Operand("(6,4):(1,7)", (6, 4), lambda i, j: i + 7 * j),
    "such a text with its dialect": Operand("cute:(6,4):(1,7)", (6, 4), lambda i, j: i + 7 * j),
    "a text that pads": Operand(
        "u8[5,6]{1,0:T(4,4)}", (5, 6), lambda i, j: (i // 4 * 2 + j // 4) * 16 + i % 4 * 4 + j % 4
    ),
    "constraints": Operand("interleave=[3,1,1]", (3, 2, 4), lambda i, j, k: 12 * j + 3 * k + i),
    "a pattern": Operand("h (w q) -> w h q, q=8", (3, 20), lambda i, j: (j // 8 * 3 + i) * 8 + j % 8),
    "a format's text": Operand("0 1 / 0,2 1,4", (3, 5), lambda i, j: (i // 2 * 2 + j // 4) * 8 + i % 2 * 4 + j % 4),
    "an order": Operand("row-major", (2, 3, 4), rows(2, 3, 4)),
    "another order": Operand("column-major", (2, 3, 4), lambda i, j, k: i + 2 * j + 6 * k),
    "a Format": Operand(Format(2, [(1, 0), (0, 0), (1, 4)]), (3, 5), lambda i, j: (j // 4 * 3 + i) * 4 + j % 4),
    "a Layout": Operand(Layout((3, 5), (1, 4)), (3, 5), lambda i, j: i + 4 * j),
    "a padded Layout": Operand(Layout(((2, 2), 5), ((5, 10), 1), extents=(3, 5)), (3, 5), lambda i, j: 5 * i + j),
    "a Tensor": Operand(rl.tensor(np.zeros((5, 3), np.uint8).T), (3, 5), lambda i, j: i + 3 * j),
    "a Tensor of a format": Operand(rl.empty("nChw16c", "uint8", (1, 40, 3, 5)), (1, 40, 3, 5), channels_16),
}


def values(shape: tuple[int, ...]) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 251 + 1).astype(np.uint8).reshape(shape)


def placed(x: Operand, memory: Any) -> bool:
    """Whether flat memory holds the values where the formula says."""
    stored = np.asarray(memory).reshape(-1)
    return bool((stored[x.offsets] == values(x.shape)).all())


def parse(x: Operand) -> np.ndarray:
    return rl.parse(x.x, shape=x.shape, dtype="uint8").offsets()


def resolved(x: Operand) -> np.ndarray:
    return resolve(x.x, shape=x.shape, element="uint8").layout.offsets()


def rosetta(x: Operand) -> np.ndarray:
    return Layout.parse(rl.rosetta(x.x, x.shape, dtype="uint8")["mojo"], "mojo").offsets()


def draw(x: Operand) -> np.ndarray:
    return rl.draw(x.x, shape=x.shape, dtype="uint8").scene(1 << 14).panes[0].layout.offsets()


def explain(x: Operand) -> np.ndarray:
    words = rl.explain(x.x, x.shape, dtype="uint8")
    assert f"{' x '.join(map(str, x.shape))}: {np.prod(x.shape)} elements." in words
    return x.offsets


def compare(x: Operand) -> np.ndarray:
    meant = rl.parse(x.x, shape=x.shape, dtype="uint8")
    assert rl.compare(x.x, meant, dtype="uint8")
    assert rl.compare(meant, x.x, dtype="uint8")
    assert rl.compare(x.x, x.x, shape=x.shape, dtype="uint8")
    assert not rl.compare(x.x, Layout(x.shape, (0,) * len(x.shape)), dtype="uint8")
    return meant.offsets()


def check(x: Operand) -> np.ndarray:
    made = rl.empty(x.x, "uint8", x.shape)
    assert rl.check(made, x.x) is made
    with pytest.raises(rl.LayoutMismatch):
        rl.check(np.broadcast_to(np.uint8(1), x.shape), x.x)
    return made.layout.offsets()


def expects(x: Operand) -> np.ndarray:
    @rl.expects(x=x.x)
    def kernel(x: Any) -> Any:
        return x

    kernel(rl.empty(x.x, "uint8", x.shape))
    with pytest.raises(rl.LayoutMismatch):
        kernel(np.broadcast_to(np.uint8(1), x.shape))
    return x.offsets


def empty(x: Operand) -> np.ndarray:
    return rl.empty(x.x, "uint8", x.shape).layout.offsets()


def full(x: Operand) -> np.ndarray:
    made = rl.full(x.x, 7, "uint8", x.shape)
    assert (made.numpy() == 7).all()
    return made.layout.offsets()


def from_logical(x: Operand) -> np.ndarray:
    made = rl.from_logical(values(x.shape), x.x)
    assert (made.numpy() == values(x.shape)).all()
    return made.layout.offsets()


def plan_to(x: Operand) -> np.ndarray:
    plan = rl.plan(Layout.row_major(x.shape), x.x, "uint8")
    assert placed(x, plan(values(x.shape).reshape(-1)))
    return plan.target.offsets()


def plan_from(x: Operand) -> np.ndarray:
    return rl.plan(x.x, Layout.row_major(x.shape), "uint8").source.offsets()


def plan_for_a_shape(x: Operand) -> np.ndarray:
    plan = rl.plan(x.x, "row-major", "uint8", shape=x.shape)
    assert (plan.target.offsets() == Layout.row_major(x.shape).offsets()).all()
    return plan.source.offsets()


def repack(x: Operand) -> np.ndarray:
    out = np.zeros(rl.parse(x.x, shape=x.shape, dtype="uint8").storage_size, np.uint8)
    rl.repack(values(x.shape), x.x, out=out)
    assert placed(x, out)
    back = rl.repack(out, "row-major", src=x.x, shape=x.shape)
    assert (back.reshape(x.shape) == values(x.shape)).all()
    return x.offsets


ENTRY_POINTS = [
    parse, resolved, rosetta, draw, explain, compare, check, expects, empty, full, from_logical,
    plan_to, plan_from, plan_for_a_shape, repack,
]  # fmt: skip


@pytest.mark.parametrize("entry", ENTRY_POINTS, ids=lambda entry: entry.__name__)
@pytest.mark.parametrize("kind", OPERANDS)
def test_every_entry_point_takes_every_operand(kind: str, entry: Callable[[Operand], np.ndarray]) -> None:
    operand = OPERANDS[kind]
    assert (entry(operand) == operand.offsets).all()


@pytest.mark.parametrize("kind", OPERANDS)
def test_files_take_every_operand(kind: str, tmp_path: Path) -> None:
    operand = OPERANDS[kind]
    np.save(tmp_path / "x.npy", values(operand.shape))
    rl.repack_file(tmp_path / "x.npy", tmp_path / "y.npy", to=operand.x)
    assert placed(operand, np.load(tmp_path / "y.npy"))


TEXTS = {kind: operand for kind, operand in OPERANDS.items() if isinstance(operand.x, str)}


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(command, ["--json", *arguments])
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout)["result"]


@pytest.mark.parametrize("kind", TEXTS)
def test_every_command_takes_every_text(kind: str, tmp_path: Path) -> None:
    operand = TEXTS[kind]
    words = ("--shape", ",".join(map(str, operand.shape)), "--dtype", "uint8")
    last = tuple([n - 1 for n in operand.shape])
    where = run("at", operand.x, ",".join(map(str, last)), *words)["places"][0]
    assert where["offset"] == operand.offsets[last]
    for name in ("show", "explain", "draw", "translate"):
        assert run(name, operand.x, *words)
    assert run("compare", operand.x, operand.x, *words)["same"] is True
    np.save(tmp_path / "x.npy", values(operand.shape))
    run("repack", str(tmp_path / "x.npy"), str(tmp_path / "y.npy"), "--to", operand.x)
    assert placed(operand, np.load(tmp_path / "y.npy"))


@pytest.mark.parametrize("kind", TEXTS)
def test_the_explorer_takes_every_text(kind: str) -> None:
    operand = TEXTS[kind]
    state = {"a": operand.x, "shape": ",".join(map(str, operand.shape)), "dtype": "uint8"}
    answer = handle({"ask": "view", "state": state})
    assert "error" not in answer, answer
    assert answer["subjects"][0]["layout"]


# ---- refusals --------------------------------------------------------------------------------------------

NOTHING = {"a number": 5, "a list": [3, 4], "an object": object(), "an array": np.zeros((3, 5), np.uint8)}
REFUSING: dict[str, Callable[[Any], Any]] = {
    "parse": lambda x: rl.parse(x, shape=(3, 5)),
    "compare": lambda x: rl.compare(x, Layout((3, 5))),
    "compare with": lambda x: rl.compare(Layout((3, 5)), x),
    "explain": lambda x: rl.explain(x, (3, 5)),
    "rosetta": lambda x: rl.rosetta(x, (3, 5)),
    "check": lambda x: rl.check(np.zeros((3, 5), np.uint8), x),
    "expects": lambda x: rl.expects(x=x)(lambda x: x),
    "empty": lambda x: rl.empty(x, "uint8", (3, 5)),
    "full": lambda x: rl.full(x, 7, "uint8", (3, 5)),
    "from_logical": lambda x: rl.from_logical(np.zeros((3, 5), np.uint8), x),
    "plan to": lambda x: rl.plan(Layout((3, 5)), x, "uint8"),
    "plan from": lambda x: rl.plan(x, Layout((3, 5)), "uint8"),
    "repack": lambda x: rl.repack(np.zeros((3, 5), np.uint8), x),
    "repack from": lambda x: rl.repack(np.zeros(15, np.uint8), "row-major", src=x, shape=(3, 5)),
}


@pytest.mark.parametrize("entry", REFUSING)
@pytest.mark.parametrize("kind", NOTHING)
def test_what_is_no_layout_is_refused_by_one_error(kind: str, entry: str) -> None:
    with pytest.raises(rl.ShapeError, match="expected a layout, a format, a tensor or a text, got") as caught:
        REFUSING[entry](NOTHING[kind])
    assert caught.value.hint


@pytest.mark.parametrize("entry", REFUSING)
@pytest.mark.parametrize("text", ["", "no such layout", "htp:R4Cruoton", "tensorrt:kCHW3"])
def test_a_wrong_text_is_refused_with_the_same_words(text: str, entry: str) -> None:
    with pytest.raises(rl.LayoutError) as expected:
        rl.parse(text)
    with pytest.raises(type(expected.value)) as caught:
        REFUSING[entry](text)
    assert caught.value.message.endswith(expected.value.message)


def test_a_name_that_needs_the_width_says_so() -> None:
    with pytest.raises(rl.ShapeError, match="depends on the width"):
        rl.parse("htp:Crouton")
    assert rl.parse("Crouton", "htp", dtype="uint8") == rl.parse("htp:Crouton", dtype="uint8")
    assert rl.parse("Crouton", dtype="uint16") == rl.parse("htp:Crouton", dtype="uint16")
    assert rl.parse("kCHW32", "tensorrt") == rl.catalog.get("tensorrt:kCHW32")


def test_what_was_given_is_not_said_to_be_missing() -> None:
    made = rl.empty("interleave=[3,1,1]", "uint8", (3, 2, 4))
    assert made.layout == rl.coreai.packed((3, 2, 4), (3, 1, 1))
    with pytest.raises(rl.ShapeError, match="shape"):
        rl.empty("interleave=[3,1,1]", "uint8")


# ---- what is resolved ------------------------------------------------------------------------------------


def test_what_an_operand_carries() -> None:
    crouton = resolve("htp:R4Crouton")
    assert isinstance(crouton, Resolved)
    assert crouton.layout is None
    assert (crouton.axes, crouton.fill, crouton.element) == ("nhwc", 31, None)
    turned = resolve("htp:R4Crouton", shape=(1, 40, 9, 5), axes="nchw", element="uint8", fill=7)
    assert (turned.axes, turned.fill, turned.element.name) == ("nchw", 7, "uint8")
    assert turned.layout.permute(0, 2, 3, 1).equivalent(crouton.at((1, 9, 5, 40)).layout)
    named = resolve(rl.tensor(np.zeros((1, 2, 3, 4), np.float32), axes="nhwc"))
    assert (named.format, named.axes, named.element.name) == (None, "nhwc", "float32")
    assert resolve("htp:R4Crouton", element="float32").width_mismatch is not None
    assert crouton.width_mismatch is None


def test_names_meet_by_name() -> None:
    data = rl.tensor(np.zeros((1, 9, 5, 40), np.uint8), axes="nhwc")
    flipped = data.permute(0, 3, 1, 2)
    assert flipped.axes == "nchw"
    assert rl.compare(data, flipped)
    assert rl.compare(flipped, "htp:R4Flat")
    assert rl.compare(data, "torch:channels_last")
    one, other = resolve_together([resolve("htp:R4Crouton"), resolve(flipped)])
    assert one.axes == other.axes == "nchw"
    assert one.layout.extents == other.layout.extents == (1, 40, 9, 5)
    with pytest.raises(rl.ShapeError, match="axes"):
        rl.compare(data, "tensorrt:kCHW32", axes="oihw")


# ---- every shape -----------------------------------------------------------------------------------------


def differs(a: Format, b: Format, shape: tuple[int, ...]) -> bool:
    return bool((a.layout(shape).offsets() != b.layout(shape).offsets()).any())


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("nChw16c", "aBcd16b"),
        ("nChw16c", "NCHW16c"),
        ("htp:R4Crouton", "NHWC8h8w32c"),
        ("0 1 / 0,4 0,2", "0 1 / 0,8"),
        ("torch:channels_last", "nhwc"),
    ],
)
def test_formats_that_are_the_same_for_every_shape(a: str, b: str) -> None:
    verdict = rl.compare(a, b)
    assert verdict
    assert verdict.same_storage
    assert str(verdict) == "the same function for every shape"


def test_formats_that_differ_in_padding_alone() -> None:
    verdict = rl.compare("0 / 0,8", "0")
    assert verdict
    assert not verdict.same_storage
    assert str(verdict) == "the same function for every shape; for the shape (1,) storage differs: 8 and 1"


PAIRS = [
    ("nChw16c", "nChw8c"),
    ("nChw16c", "nhwc"),
    ("0 1", "1 0"),
    ("0 1 / 0,4 1,4", "0 1 / 1,4 0,4"),
    ("0 1 / 1,8", "0 1"),
    ("0 / 0,2@1 0,3@2", "0"),
    ("0 / 0,2@6 0,6@1", "0 / 0,2@1 0,6@2"),
    ("0 1 2 / 1,4", "1 0 2 / 1,4"),
    ("0 1 / 0,6", "0 1 / 0,4"),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_a_difference_is_shown_at_a_smallest_shape(a: str, b: str) -> None:
    verdict = rl.compare(a, b)
    assert not verdict
    one, other = [rl.parse(x) for x in (a, b)]
    if one.axes and other.axes:
        other = other.aligned(one.axes)
    shape = verdict.shape
    assert one.layout(shape)(*verdict.coordinate) == verdict.offsets[0]
    assert other.layout(shape)(*verdict.coordinate) == verdict.offsets[1]
    assert verdict.offsets[0] != verdict.offsets[1]
    size = int(np.prod(shape))
    smaller = [s for s in product(range(1, size), repeat=one.rank) if np.prod(s) < size]
    assert not any(differs(one, other, s) for s in smaller)


def test_different_ranks_are_different_domains() -> None:
    verdict = rl.compare("0 1", "0 1 2")
    assert not verdict
    assert "different domains: 2 and 3 dimensions" in str(verdict)
