"""Texts as tools print them, judged by enumeration: places by what each tool defines, types by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relayout as rl
from relayout import Layout, Swizzle
from relayout.cli.main import relayout as group
from relayout.dialects.resolve import resolve

BF16 = "bf16[50,300]{1,0:T(8,128)(2,1)}"


def places(shape: tuple[int, ...], order: list[int], block: tuple[int, int] | None = None) -> Any:
    """Offsets of an array stored in that order, ``block`` = (dimension, size) innermost and padded."""
    pads = [(0, 0)] * len(shape)
    if block is not None:
        pads[block[0]] = (0, -shape[block[0]] % block[1])
    numbers = np.pad(np.arange(int(np.prod(shape))).reshape(shape) + 1, pads)
    stored = numbers.transpose(order)
    if block is not None:
        at = order.index(block[0])
        split = [*stored.shape[:at], stored.shape[at] // block[1], block[1], *stored.shape[at + 1 :]]
        stored = np.moveaxis(stored.reshape(split), at + 1, -1)
    flat = stored.reshape(-1)
    offsets = np.zeros(int(np.prod(shape)), int)
    offsets[flat[flat > 0] - 1] = np.flatnonzero(flat)
    return offsets.reshape(shape)


@pytest.mark.parametrize(
    ("text", "order", "block"),
    [
        ("CUDNN_TENSOR_NHWC", [0, 2, 3, 1], None),
        ("TensorFormat::kCHW32", [0, 1, 2, 3], (1, 32)),
        ("Row major linear FP32 format", [0, 1, 2, 3], None),
        ("Two wide channel vectorized row major FP16 format", [0, 1, 2, 3], (1, 2)),
        ("Thirty-two wide channel vectorized row major Int8 format", [0, 1, 2, 3], (1, 32)),
        ("Channel major FP32 format where C % 4 == 0", [0, 2, 3, 1], (1, 4)),
        ("Channel major FP16 format where channel % 8 == 0", [0, 2, 3, 1], (1, 8)),
        ("src:f32:p:blocked:aBcd16b::f0", [0, 1, 2, 3], (1, 16)),
    ],
)
def test_formats_in_the_words_of_tools(text: str, order: list[int], block: Any) -> None:
    shape = (2, 5, 3, 4)
    assert (rl.parse(text, shape=shape).offsets() == places(shape, order, block)).all()


def test_lines_of_onednns_log() -> None:
    head = "onednn_verbose,v1,primitive,exec,cpu,"
    line = f"{head}reorder,jit:uni,undef,src:f32::blocked:abcd::f0 dst:f32::blocked:aBcd16b::f0,,,2x20x7x7,0.0119629"
    layout = rl.parse(line)
    assert layout.extents == (2, 20, 7, 7)
    assert (layout.offsets() == places((2, 20, 7, 7), [0, 1, 2, 3], (1, 16))).all()
    older = (
        "dnnl_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 dst_f32::blocked:acdb:f0,,,2x3x4x5,0.01"
    )
    assert (rl.parse(older).offsets() == places((2, 3, 4, 5), [0, 2, 3, 1])).all()
    several = (
        f"{head}convolution,jit,forward,src:f32:a:blocked:aBcd16b::f0 dst:f32:a:blocked:abcd::f0,,,mb1_ic16oc16,0.1"
    )
    with pytest.raises(rl.ShapeError, match="2 memories") as error:
        rl.parse(several)
    assert "src:f32:a:blocked:aBcd16b::f0" in error.value.hint


def test_composed_types_of_cute() -> None:
    inner = "Layout<Shape<_8,_64>, Stride<_64,_1>>"
    plain = np.arange(512).reshape(8, 64)
    for base, offset in ((4, "_0"), (4, "cute::C<0>"), (3, "smem_ptr_flag_bits<16>")):
        found = rl.parse(f"ComposedLayout<Swizzle<3,4,3>, {offset}, {inner}>")
        assert found == Layout((8, 64), (64, 1), swizzle=Swizzle(3, base, 3))
        assert (found.offsets() == plain ^ ((plain >> (base + 3) & 7) << base)).all()


def test_sizes_and_steps() -> None:
    ggml = rl.parse("ne = [4, 3, 2, 1], nb = [2, 8, 32, 64]")
    assert ggml == Layout((4, 3, 2, 1), (1, 4, 16, 32))
    turned = resolve("type=f16, ne = [4, 3, 1, 1], nb = [6, 2, 24, 24]")
    assert (turned.layout, turned.element.name) == (Layout((4, 3, 1, 1), (3, 1, 12, 12)), "float16")  # type: ignore[union-attr]
    for text in ("type=q4_0, ne = [64, 2], nb = [18, 36]", "ne = [64, 2], nb = [18, 36]", "ne = [4, 3], nb = [8, 2]"):
        with pytest.raises(rl.NotExpressible, match="size of one element"):
            rl.parse(text)
    fields = ".rank = 3, .dimensions = {2, 3, 4}, .dataType = QNN_DATATYPE_FLOAT_16, .dataFormat = "
    qnn = resolve(f"{fields}QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER")
    assert (qnn.layout, qnn.element.name) == (Layout.row_major(2, 3, 4), "float16")  # type: ignore[union-attr]
    fixed_point = resolve("dimensions = [1, 4] dataFormat=0 dataType=QNN_DATATYPE_UFIXED_POINT_8").element
    assert fixed_point is not None
    assert fixed_point.name == "quint8"
    with pytest.raises(rl.NotExpressible, match="does not tell places"):
        rl.parse(f"{fields}QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT")
    fixed = "FixedLayout('cuda:0', torch.float32, size=[8, 16], stride=[1, 8], offset=3)"
    assert rl.parse(fixed) == Layout((8, 16), (1, 8), offset=3)
    assert rl.parse("tensor<16x256xbf16>") == Layout.row_major(16, 256)
    assert rl.compare("OIHW[4o4i]", "OIHW4o4i", shape=(9, 6, 2, 2))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("MultiArray of 1 x 3 x 4", "shape=[1, 3, 4], strides="),
        ("tensor<16x256xbf16, #tpu.tiled<(8,128),[1,1]>>", "xla reads tiles"),
        (".dimensions = {1, 2}", "dataFormat"),
        ("tensor<4x8xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>", "sparse"),
        ("memref<16x256xbf16, #tpu.tiled<(16,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>", "xla reads tiles"),
        ("vector<8x128xf32>", "registers"),
        ("Channel major INT8 format where column stride % 32 == 0", "Row major linear FP32 format"),
        ("ne[0] = 4096, ne[1] = 32", "nb = [2, 128]"),
        ("<tf.Tensor: shape=(2, 3), dtype=float32>", "row-major"),
        ('T.Buffer((128, 64), "float16")', "row-major"),
        ("nvinfer1::TensorFormat::kHWC8", "tensorrt:kCHW32"),
        ("cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 3, 224, 224)", "cudnn:NHWC"),
        ('!cute.memref<f16, smem, align<16>, "(8,64):(64,1)">', "cute reads"),
        ("ROOT %tuple = (f32[2,3]{1,0}, s32[]{:T(128)}) tuple(%a, %b)", "xla reads one array"),
        ("TensorBox(StorageBox(FixedLayout('cpu', torch.float32, size=[8], stride=[1])))", "torch reads FixedLayout"),
        ("ttnn.TILE_LAYOUT", "tenstorrent:TILE"),
    ],
)
def test_what_is_near_a_text_that_nobody_reads(text: str, words: str) -> None:
    with pytest.raises(rl.ParseError, match="no dialect reads this text") as error:
        rl.parse(text)
    assert words in error.value.hint
    assert "capital letter" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (BF16, "bfloat16"),
        ("%x = s8[4]{0} add(%y)", "int8"),
        ("memref<3x4xf16, strided<[4, 1]>>", "float16"),
        ("tensor<16x256xbf16>", "bfloat16"),
        ("np.ndarray(shape=(3, 4), dtype='float16', strides=(2, 6))", "float16"),
        ("{'shape': (3, 4), 'typestr': '<f8', 'strides': None}", "float64"),
        ("torch.empty_strided((2, 3), (1, 2), dtype=torch.bfloat16)", "bfloat16"),
        ("FixedLayout('cpu', torch.float32, size=[8, 16], stride=[16, 1])", "float32"),
        ("Channel major FP16 format where C % 8 == 0", "float16"),
        ("(3,4):(4,1)", None),
        ("size=(2, 3), stride=(1, 2), storage_offset=4", None),
        ("shape=(3, 4), strides=(16, 4), itemsize=4", None),
        ("[3,4]{1,0}", None),
    ],
)
def test_the_element_type_of_a_text_is_kept(text: str, name: str | None) -> None:
    kind = resolve(text).element
    assert (None if kind is None else kind.name) == name
    assert resolve(text, element="int32").element.name == "int32"  # type: ignore[union-attr]


def test_the_element_type_is_used(tmp_path: Path) -> None:
    assert rl.rosetta("f32[3,4]{0,1}")["mlir"] == "memref<3x4xf32, strided<[1, 3]>>"
    assert rl.rosetta("f32[3,4]{0,1}")["numpy"] == "shape=(3, 4), strides=(4, 12), itemsize=4"
    told = CliRunner().invoke(group, ["translate", "f32[3,4]{0,1}", "--to", "mlir"])
    assert told.output.strip() == "memref<3x4xf32, strided<[1, 3]>>"
    pytest.importorskip("ml_dtypes")
    x = np.arange(15000, dtype=np.uint16).reshape(50, 300)
    np.pad(x, ((0, 6), (0, 84))).reshape(7, 4, 2, 3, 128).transpose(0, 3, 1, 4, 2).tofile(tmp_path / "x.bin")
    done = CliRunner().invoke(
        group, ["repack", str(tmp_path / "x.bin"), str(tmp_path / "y.npy"), "--from", BF16, "--to", "row-major"]
    )
    assert done.exit_code == 0, done.output
    with rl.open(tmp_path / "y.npy") as file:
        (found,) = file.values()
        assert found.interface.element.name == "bfloat16"
        assert (np.asarray(found.stored()).view(np.uint16) == x).all()


@pytest.mark.parametrize(
    ("text", "shape", "name"),
    [
        ("MultiArray : Double 1 x 1 x 44 x 28 x 28 array", (1, 1, 44, 28, 28), "float64"),
        ("MultiArray : Double 1 \u00d7 168 \u00d7 225 array", (1, 168, 225), "float64"),
        ("MultiArray: Float32 1 x 3 x 224 x 224 matrix", (1, 3, 224, 224), "float32"),
        ("MultiArray(Double 4 x 1917 x 1)", (4, 1917, 1), "float64"),
        ("multiarray (Float32 1 \u00d7 22 \u00d7 19 \u00d7 19)", (1, 22, 19, 19), "float32"),
        ("MLMultiArray (Float16 1x3x5x7)", (1, 3, 5, 7), "float16"),
        ("Float32 3 \u00d7 4 array", (3, 4), "float32"),
        ("Int32 12 vector", (12,), "int32"),
        ("Double 3 x 5 matrix", (3, 5), "float64"),
    ],
)
def test_arrays_as_core_ml_prints_them(text: str, shape: tuple[int, ...], name: str) -> None:
    meant = resolve(text)
    assert (meant.placed.offsets() == np.arange(int(np.prod(shape))).reshape(shape)).all()
    assert meant.element is not None
    assert meant.element.name == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("MultiArray (Float32 0 \u00d7 80)", "the size 0"),
        ("MultiArray (Float32 1 \u00d7 {80,128} \u00d7 3000)", "the size {80,128}"),
        ("MultiArray (Float32)", "no sizes"),
        ("llama_model_loader: - tensor    0:  token_embd.weight q8_0     [  3200, 32000,     1,     1 ]", "quantised"),
    ],
)
def test_what_a_print_leaves_open_is_said(text: str, words: str) -> None:
    with pytest.raises(rl.NotExpressible) as error:
        rl.parse(text)
    assert words in error.value.message


def test_properties_of_an_array_of_core_ml() -> None:
    padded = rl.parse("shape [1, 3, 4] strides [48, 16, 1]")
    assert [padded(0, i, j) for i in range(3) for j in range(4)] == [16 * i + j for i in range(3) for j in range(4)]


def test_lines_of_logs_with_their_types() -> None:
    old = resolve("mkldnn_verbose,exec,reorder,jit:uni,undef,in:f32_nchw out:f32_nChw8c,num:1,2x20x3x3,16.5")
    assert (old.placed.offsets() == places((2, 20, 3, 3), [0, 1, 2, 3], (1, 8))).all()
    head = "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0"
    line = resolve(f"{head} dst:bf16:p:blocked:aBcd16b::f0,,,2x20x3x3,0.0164")
    assert (line.placed.offsets() == places((2, 20, 3, 3), [0, 1, 2, 3], (1, 16))).all()
    memory = resolve("wei:s8:p:blocked:aBcd16b::f0")
    listed = resolve("llama_model_loader: - tensor    0:     token_embd.weight f16      [  5, 7,     1,     1 ]")
    assert (listed.placed.offsets().reshape(5, 7) == np.arange(35).reshape(7, 5).T).all()
    names = [None if x.element is None else x.element.name for x in (old, line, memory, listed)]
    assert names == ["float32", "bfloat16", "int8", "float16"]


@pytest.mark.parametrize(
    "text",
    [
        "Row major linear FP32 format (kLINEAR)",
        '"Format/Datatype": "Row major linear FP32 format"',
        '"Format/Datatype": "Row major linear FP32 format",',
    ],
)
def test_phrases_of_tensorrt_as_its_tools_wrap_them(text: str) -> None:
    meant = resolve(text, shape=(2, 5, 3, 4))
    assert (meant.placed.offsets() == np.arange(120).reshape(2, 5, 3, 4)).all()
    assert meant.element is not None
    assert meant.element.name == "float32"
