"""One rule of axes for every entry point: by name, by position, or refused with both readings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relayout as rl
from relayout.cli.main import relayout as command
from relayout.web.handle import handle

SHAPE = (1, 3, 5, 30)
X = (np.arange(450) % 251).astype(np.uint8).reshape(SHAPE)
NAMED_NHWC, NAMED_NCHW = rl.tensor(X, axes="nhwc"), rl.tensor(X, axes="nchw")


def to_file(x: Any, to: str, folder: Path, **words: Any) -> np.ndarray:
    np.save(folder / "x.npy", x)
    rl.repack_file(folder / "x.npy", folder / "y.npy", to=to, force=True, **words)
    return np.load(folder / "y.npy")


def by_command(x: Any, to: str, folder: Path, **words: Any) -> np.ndarray:
    np.save(folder / "x.npy", x)
    options = [f"--{name}={value}" for name, value in words.items()]
    arguments = ["repack", str(folder / "x.npy"), str(folder / "y.npy"), "--to", to, "--force", *options]
    done = CliRunner().invoke(command, arguments)
    if done.exit_code == 3 and "AmbiguousAxes" in done.stderr:
        raise rl.AmbiguousAxes(done.stderr)
    assert done.exit_code == 0, done.output
    return np.load(folder / "y.npy")


# Every way to bring data into a layout, as the bytes that are stored.
WRITERS: dict[str, Callable[..., Any]] = {
    "repack": lambda x, to, folder, **words: np.asarray(rl.repack(x, to, **words)),
    "from_logical": lambda x, to, folder, **words: rl.from_logical(x, to, **words).raw,
    "plan": lambda x, to, folder, **words: rl.plan(rl.tensor(x).layout, to, "uint8", **words)(x.reshape(-1)),
    "repack_file": to_file,
    "relayout repack": by_command,
}


@pytest.mark.parametrize("entry", WRITERS)
def test_a_word_in_another_order_is_refused_for_data_without_names(entry: str, tmp_path: Path) -> None:
    with pytest.raises(rl.AmbiguousAxes, match=r"n=1 c=3 h=5 w=30 .* or n=1 h=3 w=5 c=30"):
        WRITERS[entry](X, "nhwc", tmp_path)


@pytest.mark.parametrize("entry", WRITERS)
@pytest.mark.parametrize(
    ("to", "axes", "order"),
    [
        ("nhwc", "nhwc", (0, 1, 2, 3)),
        ("nhwc", "nchw", (0, 2, 3, 1)),
        ("onednn:nhwc", None, (0, 2, 3, 1)),
        ("torch:channels_last", None, (0, 2, 3, 1)),
        ("htp:R4Flat", None, (0, 1, 2, 3)),
        ("htp:R4Flat", "nchw", (0, 2, 3, 1)),
        ("nchw", None, (0, 1, 2, 3)),
        ("acdb", None, (0, 2, 3, 1)),
    ],
)
def test_names_and_prefixes_decide(entry: str, to: str, axes: str | None, order: Any, tmp_path: Path) -> None:
    words = {} if axes is None else {"axes": axes}
    stored = WRITERS[entry](X, to, tmp_path, **words)
    assert (np.asarray(stored).reshape(-1) == X.transpose(order).reshape(-1)).all()


def test_a_tensor_that_has_names_decides() -> None:
    assert (rl.repack(NAMED_NHWC, "nhwc").raw == X.reshape(-1)).all()
    assert (rl.repack(NAMED_NCHW, "nhwc").raw == X.transpose(0, 2, 3, 1).reshape(-1)).all()
    assert rl.check(NAMED_NHWC, "nhwc") is NAMED_NHWC
    with pytest.raises(rl.LayoutMismatch):
        rl.check(NAMED_NCHW, "nhwc")
    assert rl.compare(NAMED_NHWC, "nhwc")
    assert not rl.compare(NAMED_NCHW, "nhwc")


def test_guards_and_comparisons_follow_the_same_rule() -> None:
    for attempt in (
        lambda: rl.check(X, "nhwc"),
        lambda: rl.expects(x="nhwc")(lambda x: x)(X),
        lambda: rl.compare(rl.Layout.row_major(SHAPE), "nhwc"),
        lambda: rl.compare("nhwc", rl.Layout.row_major(SHAPE)),
    ):
        with pytest.raises(rl.AmbiguousAxes):
            attempt()
    assert rl.check(X, "nhwc", axes="nhwc") is X
    assert rl.compare(rl.Layout.row_major(SHAPE), "nhwc", axes="nhwc")
    asked = {"a": "(1,3,5,30):(450,150,30,1)", "b": "nhwc", "do": "compare"}
    answer = handle({"ask": "view", "state": asked})
    assert answer["error"]["name"] == "AmbiguousAxes"
    assert "error" not in handle({"ask": "view", "state": {**asked, "axes": "nhwc"}})


def test_a_shape_alone_is_in_the_order_of_the_declared_axes() -> None:
    assert rl.parse("nhwc", shape=SHAPE).stride == (450, 1, 90, 3)
    assert rl.empty("nhwc", "uint8", SHAPE).axes == "nchw"


WEIGHTS = np.zeros((64, 64, 3, 3), np.uint8)


@pytest.mark.parametrize("entry", WRITERS)
def test_another_usual_order_that_needs_less_than_half_is_shown(entry: str, tmp_path: Path) -> None:
    with pytest.raises(rl.AmbiguousAxes, match=r"4194304 elements stored\) or o=64 i=64 h=3 w=3 \(36864 elements"):
        WRITERS[entry](WEIGHTS, "htp:weights", tmp_path)
    assert np.asarray(WRITERS[entry](WEIGHTS, "htp:weights", tmp_path, axes="oihw")).size == 36864


def test_a_result_out_of_proportion() -> None:
    x = np.zeros((600, 1, 1, 1000), np.uint8)
    with pytest.warns(UserWarning, match=r"39321600 bytes, 65\.5 times the 600000"):
        rl.repack(x, "htp:R4Crouton", axes="nhwc")
    with pytest.warns(UserWarning, match=r"65\.5 times"):
        rl.from_logical(x, "htp:R4Crouton", axes="nhwc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rl.repack(x[:10], "htp:R4Crouton", axes="nhwc")


@pytest.mark.filterwarnings("ignore:the result has")
def test_commands_ask_for_a_yes(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((600, 1, 1, 1000), np.uint8))
    words = ["repack", str(tmp_path / "x.npy"), str(tmp_path / "y.npy"), "--to", "htp:R4Crouton", "--axes", "nhwc"]
    refused = CliRunner().invoke(command, words)
    assert refused.exit_code == 5
    assert "--yes" in refused.stderr
    assert not (tmp_path / "y.npy").exists()
    assert CliRunner().invoke(command, [*words, "--dry-run"]).exit_code == 0
    assert CliRunner().invoke(command, [*words, "--yes"]).exit_code == 0
    assert np.load(tmp_path / "y.npy").size == 39321600
