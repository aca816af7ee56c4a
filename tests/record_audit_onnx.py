"""Records the ONNX samples of ``tests/data/audit`` with onnx and onnxruntime, and what they say of them themselves.

``pip install onnx onnxruntime``, then ``python tests/record_audit_onnx.py``, on a machine with AVX-512: its blocks have
16 channels. The values of the weights are small integers, so that the files compress and the sums are exact.
"""

from __future__ import annotations

import json
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

OUT = Path(__file__).parent / "data" / "audit"
OPSETS = [helper.make_opsetid("", 17)]


def weights(name: str, *shape: int, dtype: str = "float32") -> TensorProto:
    n = int(np.prod(shape))
    return numpy_helper.from_array((np.arange(n, dtype=np.int64) * 7 % 97 - 48).reshape(shape).astype(dtype), name)


def plain() -> onnx.ModelProto:
    """As converters write it: NHWC outside, NCHW inside; transposes that cancel, move nothing, or move weights."""
    node = helper.make_node
    nodes = [
        node("Transpose", ["x"], ["x_nchw"], "to_nchw", perm=[0, 3, 1, 2]),
        node("Conv", ["x_nchw", "w1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        node("Transpose", ["c1"], ["c1_nhwc"], "to_nhwc", perm=[0, 2, 3, 1]),
        node("Relu", ["c1_nhwc"], ["r1"], "relu1"),
        node("Add", ["r1", "bias"], ["a1"], "add1"),
        node("Transpose", ["a1"], ["a1_nchw"], "back_to_nchw", perm=[0, 3, 1, 2]),
        node("Conv", ["a1_nchw", "w2"], ["c2"], "conv2", strides=[2, 2]),
        node("GlobalAveragePool", ["c2"], ["p"], "pool"),
        node("Transpose", ["p"], ["p_nhwc"], "free_transpose", perm=[0, 2, 3, 1]),
        node("Reshape", ["p_nhwc", "flat"], ["v"], "reshape"),
        node("Transpose", ["fc"], ["fc_t"], "weights_transpose", perm=[1, 0]),
        node("MatMul", ["v", "fc_t"], ["y"], "matmul"),
    ]
    inits = [weights("w1", 16, 8, 3, 3), weights("w2", 20, 16, 2, 2), weights("bias", 16), weights("fc", 10, 20)]
    inits.append(numpy_helper.from_array(np.array([1, -1], np.int64), "flat"))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 12, 12, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])
    graph = helper.make_graph(nodes, "plain", [x], [y], inits)
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=8)


def cnn() -> onnx.ModelProto:
    """Convolutions that ONNX Runtime stores in blocks: from NCHW, blocked to blocked, depthwise, grouped and padded.

    ``Erf`` has no kernel for blocks, so that its neighbours are reordered for its sake alone.
    """
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "first"], ["c1"], "conv_first", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], "relu1"),
        node("Conv", ["r1", "second"], ["c2"], "conv_second"),
        node("Erf", ["c2"], ["e"], "erf"),
        node("Conv", ["e", "third"], ["c3"], "conv_third"),
        node("Conv", ["c3", "depthwise"], ["c4"], "conv_depthwise", group=32, pads=[1, 1, 1, 1]),
        node("Transpose", ["c4"], ["y"], "to_nhwc", perm=[0, 2, 3, 1]),
    ]
    inits = [weights("first", 16, 3, 3, 3), weights("second", 20, 16, 1, 1)]
    inits += [weights("third", 32, 20, 1, 1), weights("depthwise", 32, 1, 3, 3)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 10, 10])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10, 10, 32])
    return helper.make_model(helper.make_graph(nodes, "cnn", [x], [y], inits), opset_imports=OPSETS, ir_version=8)


def quantised() -> onnx.ModelProto:
    """Two convolutions of 8-bit integers, which ONNX Runtime runs over channels last."""
    node = helper.make_node
    scale, zero = numpy_helper.from_array(np.float32(0.05), "s"), numpy_helper.from_array(np.uint8(128), "z")
    weight_zero = numpy_helper.from_array(np.int8(0), "wz")
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], "quantize"),
        node("QLinearConv", ["q", "s", "z", "w1", "s", "wz", "s", "z"], ["q1"], "qconv1", pads=[1, 1, 1, 1]),
        node("QLinearConv", ["q1", "s", "z", "w2", "s", "wz", "s", "z"], ["q2"], "qconv2"),
        node("DequantizeLinear", ["q2", "s", "z"], ["y"], "dequantize"),
    ]
    inits = [weights("w1", 16, 8, 3, 3, dtype="int8"), weights("w2", 16, 16, 1, 1, dtype="int8")]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 8, 8])
    graph = helper.make_graph(nodes, "quantised", [x], [y], [*inits, scale, zero, weight_zero])
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=8)


def images(name: str, nodes: list[onnx.NodeProto], inits: list[TensorProto]) -> onnx.ModelProto:
    """A model from ``x`` of 3x8x8 to ``y`` of 32x8x8."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 32, 8, 8])
    return helper.make_model(helper.make_graph(nodes, name, [x], [y], inits), opset_imports=OPSETS, ir_version=8)


def open_blocks() -> onnx.ModelProto:
    """Channels that fit blocks of 8 as well as of 16, and a batch of any size."""
    node = helper.make_node
    nodes = [node("Conv", ["x", "w1"], ["c1"], "conv1"), node("Erf", ["c1"], ["e"], "erf")]
    nodes.append(node("Conv", ["e", "w2"], ["y"], "conv2"))
    return images("open_blocks", nodes, [weights("w1", 32, 3, 1, 1), weights("w2", 32, 32, 1, 1)])


def split_blocks() -> onnx.ModelProto:
    """Means added to channels: for that the blocks become a dimension, whose size is written out."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1"], ["c1"], "conv1"),
        node("GlobalAveragePool", ["c1"], ["p"], "pool"),
        node("Conv", ["p", "w2"], ["c2"], "conv2"),
        node("Sigmoid", ["c2"], ["s"], "sigmoid"),
        node("Add", ["c1", "s"], ["y"], "add"),
    ]
    return images("split_blocks", nodes, [weights("w1", 32, 3, 1, 1), weights("w2", 32, 32, 1, 1)])


def shapes() -> onnx.ModelProto:
    """One node of each operator whose shapes the audit infers."""
    n = helper.make_node
    ints = {
        "to3": [2, -1, 0],
        "axes0": [0],
        "four": [4],
        "pads": [0, 1, 0, 0, 2, 0],
        "wide": [3, 1, 1],
        "split": [1, 3],
    }
    nodes = [
        n("Reshape", ["a", "to3"], ["reshape"]),
        n("Transpose", ["a"], ["transpose"]),
        n("Flatten", ["a"], ["flatten"], axis=2),
        n("Unsqueeze", ["a", "axes0"], ["unsqueeze"]),
        n("Squeeze", ["unsqueeze", "axes0"], ["squeeze"]),
        n("Concat", ["a", "a"], ["concat"], axis=-1),
        n("Split", ["a", "split"], ["split1", "split2"], axis=1),
        n("MatMul", ["a", "b"], ["matmul"]),
        n("Gemm", ["m", "k"], ["gemm"], transA=1, transB=1),
        n("Gather", ["a", "axes0"], ["gather"], axis=1),
        n("Expand", ["one", "wide"], ["expand"]),
        n("Pad", ["a", "pads"], ["pad"]),
        n("ReduceMean", ["a"], ["mean"], axes=[1], keepdims=0),
        n("ReduceMax", ["a"], ["max_all"]),
        n("ArgMax", ["a"], ["argmax"], axis=1),
        n("Add", ["a", "one"], ["add"]),
        n("Greater", ["a", "one"], ["greater"]),
        n("Where", ["greater", "a", "one"], ["where"]),
        n("Cast", ["a"], ["cast"], to=TensorProto.FLOAT16),
        n("Softmax", ["a"], ["softmax"]),
        n("Conv", ["i", "w"], ["conv"], strides=[2, 1], dilations=[1, 2], pads=[1, 0, 1, 2]),
        n("Conv", ["i", "w"], ["same"], strides=[2, 2], auto_pad="SAME_UPPER"),
        n("MaxPool", ["i"], ["pool"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        n("GlobalMaxPool", ["i"], ["global"]),
        n("SpaceToDepth", ["i"], ["deep"], blocksize=3),
        n("DepthToSpace", ["deep"], ["wide_again"], blocksize=3),
        n("QuantizeLinear", ["i", "scale", "zero"], ["quantized"]),
        n("DequantizeLinear", ["quantized", "scale", "zero"], ["dequantized"]),
    ]
    inits = [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in ints.items()]
    inits += [numpy_helper.from_array(np.float32(1), "scale"), numpy_helper.from_array(np.int8(0), "zero")]
    inits.append(weights("w", 5, 6, 3, 2))
    given = {"a": [2, 4, 6], "b": ["N", 6, 5], "m": [7, 3], "k": [5, 7], "one": [1, 6], "i": ["N", 6, 9, 12]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name, sizes in given.items()]
    outputs = [helper.make_tensor_value_info("flatten", TensorProto.FLOAT, None)]
    return helper.make_model(
        helper.make_graph(nodes, "shapes", inputs, outputs, inits), opset_imports=OPSETS, ir_version=8
    )


def inferred_shapes(model: onnx.ModelProto) -> dict[str, list[object]]:
    """The shapes that onnx itself infers; names and unknown sizes as they are."""
    done = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    found = {}
    for value in [*done.graph.value_info, *done.graph.output]:
        kind = value.type.tensor_type
        sizes = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in kind.shape.dim]
        found[value.name] = [TensorProto.DataType.Name(kind.elem_type), sizes]
    return found


def reorders() -> list[dict[str, object]]:
    """What the reordering nodes of ONNX Runtime make of 1, 2, 3, ... by themselves."""
    found: list[dict[str, object]] = []
    for op, channels, last in product(("ReorderInput", "ReorderOutput"), (16, 20), (0, 1)):
        padded = -(-channels // 16) * 16
        sizes = [1, padded, 2, 3] if op == "ReorderOutput" else [1, 2, 3, channels] if last else [1, channels, 2, 3]
        attributes = {"channels": channels} if op == "ReorderOutput" else {}
        node = helper.make_node(op, ["x"], ["y"], domain="com.microsoft.nchwc", channels_last=last, **attributes)
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        opsets = [*OPSETS, helper.make_opsetid("com.microsoft.nchwc", 1)]
        model = helper.make_model(helper.make_graph([node], op, [x], [y]), opset_imports=opsets, ir_version=8)
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        data = np.arange(1, np.prod(sizes) + 1, dtype=np.float32).reshape(sizes)
        (out,) = session.run(None, {"x": data})
        found.append(
            {
                "op": op,
                "channels": channels,
                "last": last,
                "shape": list(out.shape),
                "out": out.ravel().astype(int).tolist(),
            }
        )
    return found


def optimise(model: onnx.ModelProto, name: str) -> None:
    """The model as the session runs it, the profile of three runs, and the weights by their names in the original."""
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.optimized_model_filepath = str(OUT / f"{name}.ort.onnx")
        options.enable_profiling, options.profile_file_prefix = True, str(Path(folder) / name)
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        feeds = {}
        for x in session.get_inputs():
            sizes = [n if isinstance(n, int) else 1 for n in x.shape]
            feeds[x.name] = (np.arange(np.prod(sizes)) % 5).reshape(sizes).astype("float32")
        for _ in range(3):
            session.run(None, feeds)
        events = json.loads(Path(session.end_profiling()).read_text())
    lines = ",\n".join([json.dumps(event) for event in events])
    (OUT / f"{name}.ort.profile.json").write_text(f"[\n{lines}\n]\n")


def main() -> None:
    judge = {"reorders": reorders(), "shapes": inferred_shapes(shapes())}
    onnx.save(shapes(), OUT / "shapes.onnx")
    (OUT / "onnx_judge.json").write_text(json.dumps(judge) + "\n")
    for make in (plain, cnn, quantised, open_blocks, split_blocks):
        model = make()
        onnx.checker.check_model(model)
        if make not in (open_blocks, split_blocks):
            onnx.save(model, OUT / f"{make.__name__}.onnx")
        optimise(model, make.__name__)


if __name__ == "__main__":
    main()
