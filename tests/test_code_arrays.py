"""Generated code for array libraries: its form, its conversions against the interfaces, and its own test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import relayout as rl
from code_array_runners import mlir_is_missing, mlir_module, needs_module, run_jax, run_numpy, run_torch
from code_pairs import Pair, draw_pairs, kind_of, places, random_layout
from relayout.codegen.array_proof import proves_source, proves_target
from relayout.codegen.array_steps import build_move
from relayout.codegen.operands import box_operand
from relayout.codegen.values import Monomial

RUN: dict[str, Callable[..., list[bytes | None]]] = {"numpy": run_numpy, "torch": run_torch, "jax": run_jax}
LIBRARIES = [
    pytest.param(name, marks=pytest.mark.skipif(bool(needs_module(name)()), reason=f"no {name}")) for name in RUN
]


def function_of(text: str, name: str) -> Any:
    space: dict[str, Any] = {}
    exec(compile(text, f"{name}.py", "exec"), space)
    return space[name]


# ---- the form --------------------------------------------------------------------------------------------


def test_the_crouton_is_pad_reshape_transpose_reshape() -> None:
    text = rl.code("nhwc", "htp:R4Crouton", "uint8", "numpy", axes="nhwc")
    lines = [line.strip() for line in text.splitlines()]
    assert "# n, h // 8, w // 8, c // 32, h % 8, w % 8, c % 32" in lines
    assert lines[lines.index("x = src.reshape(n0, n1, n2, n3)") + 1 :] == [
        "# Padding",
        "x = np.pad(",
        "x, ((0, 0), (0, -n1 % 8), (0, -n2 % 8), (0, -n3 % 32)), constant_values=31",
        ")",
        "# n, h // 8, h % 8, w // 8, w % 8, c // 32, c % 32",
        "x = x.reshape(n0, h_blocks, 8, w_blocks, 8, c_blocks, 32)",
        "# n, h // 8, w // 8, c // 32, h % 8, w % 8, c % 32",
        "x = x.transpose(0, 1, 3, 5, 2, 4, 6)",
        "return x.reshape(-1)",
    ]


def test_what_moves_nothing_is_a_reshape() -> None:
    text = rl.code("0 1 2", "0 1 2", "float32", "numpy", shape=(2, 3, 64))
    assert text.splitlines()[-1].strip() == "return src.reshape(-1)"


def test_the_way_back_slices() -> None:
    text = rl.code("0 1", "0 1 / 1,4", "int16", "numpy", inverse=True)
    assert "x = x[:, :n1]" in text
    pack, back = [function_of(text, name) for name in ("pack_i16", "pack_i16_inverse")]
    x = np.arange(15, dtype=np.int16).reshape(3, 5)
    assert pack(x, *x.shape).tolist() == np.pad(x, ((0, 0), (0, 3))).reshape(-1).tolist()
    assert back(pack(x, *x.shape), *x.shape).tolist() == x.reshape(-1).tolist()


def test_a_swizzle_is_a_gather() -> None:
    layout = rl.Layout.row_major((8, 16)).with_swizzle(rl.Swizzle(2, 0, 3))
    text = rl.code(layout, "0 1", "uint8", "numpy")
    assert "return at ^ ((at & 0x18) >> 3)" in text
    assert "return x[pack_u8_swizzle_src(np.arange(128))]" in text
    got = function_of(text, "pack_u8")(np.arange(128, dtype=np.uint8))
    assert got.tolist() == [layout(i, j) for i in range(8) for j in range(16)]


@pytest.mark.skipif(find_spec("ruff") is None, reason="no ruff")
@pytest.mark.parametrize("target", [*RUN, "einops"])
def test_texts_are_as_formatters_write_them(target: str, tmp_path: Path) -> None:
    texts = [rl.code("nhwc", "htp:R4Crouton", "uint8", target, axes="nhwc", inverse=True, test=True)]
    if target != "einops":
        texts += [rl.code(x, name="at", target=target) for x in ("0 1 / 0,2 1,4", "(3,4):(1,2)", "htp:R4Crouton")]
        means = rl.ScaleOffset([0.125 * k for k in range(1, 41)], list(range(40)), "quint8", axis=1)
        texts.append(rl.code("0 1", "1 0", "float32", target, dst_element=means, shape=(2, 40)))
        texts.append(rl.code("0 1", "1 0", "float8_e4m3fn", target, dst_element="float32", shape=(2, 40)))
    for pair in islice(draw_pairs(3), 60):
        try:
            texts.append(pair.text(target))
        except rl.NotExpressible:
            continue
    for k, text in enumerate(texts):
        (tmp_path / f"text_{k}.py").write_text(text)
    for words in (["format", "--diff"], ["check", "--select", "E4,E7,E9,F,I"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--isolated", str(tmp_path)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[:3000] + done.stderr[:1000]


def test_a_pattern_says_its_multiples() -> None:
    text = rl.code("nhwc", "htp:R4Crouton", "uint8", "einops", axes="nhwc")
    assert '"(n h_1 h_0 w_1 w_0 c_1 c_0) -> (n h_1 w_1 c_1 h_0 w_0 c_0)"' in text
    assert 'raise ValueError("einops pads nothing: n3 must be a multiple of 32")' in text


@pytest.mark.parametrize(
    ("dst", "element", "to", "why"),
    [
        ("0 1 / 1,4", "int8", None, "pads and slices nothing"),
        ("1 0", "uint4", None, "share bytes"),
        ("1 0", "int8", "int16", "converted"),
        (rl.Layout((5, 6), (6, -1), offset=5), "int8", None, "reverses no axis"),
        (rl.Layout((5, 6), (8, 1)).with_swizzle(rl.Swizzle(1, 0, 3)), "int8", None, "swizzle"),
        ("1 0 / 1,2", "int8", None, "do not divide"),
    ],
)
def test_where_there_is_no_pattern_it_says_why(dst: Any, element: str, to: Any, why: str) -> None:
    src = "1 0 / 1,3" if why == "do not divide" else "0 1"
    with pytest.raises(rl.NotExpressible, match=why):
        rl.code(src, dst, element, "einops", dst_element=to, shape=(5, 6))


def test_tiles_are_a_pack_and_an_unpack() -> None:
    text = rl.code("nhwc", "htp:R4Crouton", "uint8", "mlir", axes="nhwc", inverse=True)
    words = "outer_dims_perm = [0, 1, 2, 3] inner_dims_pos = [1, 2, 3] inner_tiles = [8, 8, 32] into"
    assert f"linalg.pack %0 padding_value(%c31_i8 : i8) {words} %4" in text
    assert f"linalg.unpack %3 {words} %4" in text
    head = "func.func @pack_htp_r4_crouton_u8(%src: tensor<?xi8>, %n0: index, %n1: index, %n2: index, %n3: index)"
    assert f"{head} -> tensor<?xi8> {{" in text
    place = rl.code("0 1 / 0,2 1,4", target="mlir", name="tiles", shape=(3, 8))
    assert "(d0 mod 2) * 4 + (d0 floordiv 2) * 16 + d1 mod 4 + (d1 floordiv 4) * 8" in place


def test_more_than_one_block_of_padding_is_no_pack() -> None:
    wide = rl.Layout(((2, 7), 7), ((7, 14), 1), extents=(12, 7))
    for text in (rl.code("0 1", wide, "int8", "mlir"), rl.code(wide, "0 1", "int8", "mlir")):
        assert "pack " not in text


@pytest.mark.parametrize(
    ("dst", "element", "to", "why"),
    [
        ("1 0", "uint4", None, "how tensors of elements of 4 bits lie"),
        ("1 0", "complex128", None, "no elements of 128 bits"),
        ("1 0", "int16", "int8", "cannot refuse a value"),
    ],
)
def test_what_mlir_lacks_is_refused(dst: Any, element: str, to: Any, why: str) -> None:
    with pytest.raises(rl.NotExpressible, match=why):
        rl.code("0 1", dst, element, "mlir", dst_element=to, shape=(5, 6))


# ---- proofs ----------------------------------------------------------------------------------------------


def test_wrong_steps_are_not_proven() -> None:
    source, target = rl.Layout.row_major((6, 8)), rl.Format.parse("1 0 / 1,4").layout((6, 8))
    extents = tuple(map(Monomial, (6, 8)))
    operands = box_operand(source), box_operand(target)
    move = build_move("ab", extents, *operands)
    assert move.after is not None
    assert proves_source(move, operands[0], extents, source)
    assert proves_target(move, operands[1], extents, target)
    k = next(k for k, step in enumerate(move.after) if step.kind == "transpose")
    turned = move.after[k]._replace(detail=tuple(reversed(move.after[k].detail)))
    wrong = move._replace(after=(*move.after[:k], turned, *move.after[k + 1 :]))
    assert not proves_target(wrong, operands[1], extents, target)
    assert not proves_target(move, box_operand(source), extents, source)


# ---- conversions -----------------------------------------------------------------------------------------

KINDS = ["int8", "uint8", "int16", "uint32", "int64", "float16", "bfloat16", "float32", "float64", "uint4", "int3"]


def stored(values: Any, kind: str) -> bytes:
    from relayout.elements.interface import Plain
    from relayout.elements.subbyte import pack

    with np.errstate(all="ignore"):
        made = np.ascontiguousarray(Plain(kind).encode(values))
    return bytes((pack(made, kind) if kind[-2:] in ("t3", "t4") else made).tobytes())


@pytest.mark.parametrize("target", LIBRARIES)
def test_casts_are_those_of_repack(target: str, tmp_path: Path) -> None:
    pairs = []
    with np.errstate(all="ignore"):
        odd = np.array([0.5, 1.0, -2.0, np.inf, -np.inf, np.nan, 65519.0, 65520.0, 1e-8, 3.3e38, 1 / 3, 5e-324])
    for i, first in enumerate(KINDS):
        for j, second in enumerate(KINDS):
            if first == second or (i + 2 * j) % 3 == (target == "torch"):
                continue
            rows = [np.arange(12) % 4, np.arange(12) - 6, np.arange(12) * 1000 + (1 << 53), odd]
            for k, row in enumerate(rows):
                try:
                    given = stored(row, first)
                except rl.NotExpressible:
                    continue
                plan = rl.plan("0 1", "1 0", first, second, shape=(3, 4))
                out: Any = bytearray(-(-12 * kind_of(second).bits // 8))
                try:
                    plan(memoryview(given), out)
                except rl.NotExpressible:
                    out = None
                name = f"cast_{first}_{second}_{k}"
                pairs.append(
                    Pair(name, "0 1", "1 0", first, second, (3, 4), (), None, False, given, 0, out and bytes(out))
                )
    kept, texts = [], []
    for pair in pairs:
        try:
            texts.append(pair.text(target))
            kept.append(pair)
        except rl.NotExpressible:
            assert target == "torch", pair
            assert (pair.element, pair.dst_element) == ("float64", "float16"), pair
    for pair, got, text in zip(kept, RUN[target](kept, texts, tmp_path), texts, strict=True):
        assert got == pair.expected, f"{pair}\n{text}"


@pytest.mark.parametrize("target", LIBRARIES)
def test_channels_have_scales_of_their_own(target: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(8)
    means = rl.ScaleOffset([0.5, 0.125, 0.1, 3.0], [0, 3, -5, 100], "uint8", axis=1)
    reals = generator.normal(0, 20, (3, 4)).astype(np.float32)
    codes = generator.integers(0, 256, (3, 4)).astype(np.uint8)
    for fmt in ("1 0", "0 1 / 0,2"):
        layout = rl.Format.parse(fmt).layout((3, 4))
        for first, second, given in (("float32", means, reals), (means, "float32", codes)):
            values = means.encode(given) if second is means else means.decode(given)
            out = np.zeros(layout.storage_size, values.dtype)
            out[layout.offsets()] = values
            pair = Pair("turn", "0 1", fmt, first, second, (3, 4), (), None, False, given.tobytes(), 0, b"")
            assert RUN[target]([pair], [pair.text(target)], tmp_path) == [out.tobytes()], fmt


@pytest.mark.parametrize("target", LIBRARIES)
def test_every_code_of_a_narrow_float_is_looked_up(target: str, tmp_path: Path) -> None:
    given = np.arange(256, dtype=np.uint8)
    given[[0x7F, 0xFF]] = 0  # NaN
    out = bytearray(1024)
    rl.plan("0", "0", "float8_e4m3fn", "float32", shape=(256,))(memoryview(given.tobytes()), out)
    pair = Pair("look", "0", "0", "float8_e4m3fn", "float32", (256,), (), None, False, given.tobytes(), 0, b"")
    assert RUN[target]([pair], [pair.text(target)], tmp_path) == [bytes(out)]


# ---- index functions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", LIBRARIES)
def test_places_and_coordinates(target: str) -> None:
    rng = Random(12)
    layouts: list[tuple[rl.Layout, Any, tuple[int, ...]]] = []
    while len(layouts) < 8:
        extents = tuple([rng.choice([1, 2, 3, 5, 8]) for _ in range(rng.choice([1, 2, 3]))])
        layout = random_layout(rng, extents)
        layouts.append((layout, layout, ()))
    fmt = rl.Format(2, [(1, 0), (0, 0), (1, 4), (0, 2, -1)])
    layouts.append((fmt.layout((5, 7)), fmt, (5, 7)))
    for layout, subject, sizes in layouts:
        space: dict[str, Any] = {}
        text = rl.code(subject, name="at", target=target)
        exec(compile(text, "at.py", "exec"), space)
        where = places(layout)
        expected = sorted([(int(where[index]), *index) for index in np.ndindex(*layout.extents)])
        each = [[int(n) for n in column] for column in space["at_each"](*sizes)]
        assert list(zip(*each)) == expected, text
        held = {row[0]: row[1:] for row in expected}
        for offset in range(-2, layout.storage_size + 3):
            *found, inside = space["at_coordinate"](offset, *sizes)
            assert bool(inside) == (offset in held), text
            assert not inside or tuple(found) == held[offset], text
        for index in np.ndindex(*layout.extents):
            assert space["at_offset"](*index, *sizes) == where[index]


# ---- the text's own test ---------------------------------------------------------------------------------


def printed(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        exec(compile(text, "pack.py", "exec"), {"__name__": "__main__"})
    out = capsys.readouterr().out
    assert (end.value.code, out) in ((0, "ok\n"), (1, "wrong\n"))
    return out.strip()


TESTED = [*LIBRARIES, pytest.param("einops", marks=pytest.mark.skipif(not find_spec("einops"), reason="no einops"))]


@pytest.mark.parametrize("target", TESTED)
def test_a_text_carries_its_test(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    right = rl.code("nhwc", "htp:R4Crouton", "uint8", target, axes="nhwc", inverse=True, test=True)
    assert printed(right, capsys) == "ok"
    if target == "einops":
        wrong = right.replace("-> (n h_1 w_1 c_1 h_0", "-> (n w_1 h_1 c_1 h_0", 1)
    else:
        wrong = right.replace("=31", "=30", 1)
    assert wrong != right
    assert printed(wrong, capsys) == "wrong"


@pytest.mark.parametrize("target", LIBRARIES)
@pytest.mark.parametrize("fill", [float("inf"), float("-inf"), float("nan"), -0.0, 1e-40])
def test_every_float_fills(target: str, fill: float, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("float32", "float64", "complex64"):
        if (target, kind) == ("jax", "complex64") and (fill != fill or not fill or fill == 1e-40):
            with pytest.raises(rl.NotExpressible, match="no view of integers as complex numbers"):
                rl.code("0 1", "1 0 / 1,4", kind, target, fill=fill, shape=(5, 7))
            continue
        text = rl.code("0 1", "1 0 / 1,4", kind, target, fill=fill, test=True, shape=(5, 7))
        assert printed(text, capsys) == "ok"


@pytest.mark.parametrize("target", LIBRARIES)
@pytest.mark.parametrize("kind", ["int3", "complex64", "float8_e4m3fn", "bool", "float64", "bfloat16", "uint32"])
def test_the_test_of_any_element(target: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(rl.code("0 1", "1 0 / 1,4 fill 1", kind, target, test=True, shape=(5, 7)), capsys) == "ok"


@pytest.mark.parametrize("target", LIBRARIES)
def test_a_conversion_carries_its_test(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    means = rl.ScaleOffset(0.125, 31, "quint8")
    words = {"dst_element": means, "axes": "nhwc", "inverse": True, "test": True}
    assert printed(rl.code("nhwc", "htp:R4Crouton", "float32", target, **words), capsys) == "ok"


@pytest.mark.skipif(bool(mlir_is_missing()), reason="no IREE")
def test_mlir_checks_itself() -> None:
    right = rl.code("nhwc", "nChw8c", "float32", "mlir", axes="nhwc", inverse=True, test=True)
    wrong = right.replace("constant 0x00000000 : f32", "constant 0x3F800000 : f32")
    assert [mlir_module(text).check(1) for text in (right, wrong)] == [0, 3]


def test_a_repeated_source_is_gathered() -> None:
    text = rl.code(rl.Layout((3, 4), (0, 1)), "1 0", "int8", "mlir")
    assert "affine.apply affine_map<(d0, d1) -> (d1)>(%2, %3)" in text
    assert "tensor.extract %src[%4] : tensor<4xi8>" in text
