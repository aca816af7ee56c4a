"""Records the ONNX samples of ``tests/data/audit`` with onnx and onnxruntime, and what they say of them themselves.

``pip install onnx onnxruntime``, then ``python tests/record_audit_onnx.py``. A machine with AVX-512 stores blocks of 16.
The values of the weights are small integers, so that the files compress and the sums are exact.
"""

from __future__ import annotations

import json
import tempfile
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
    """As a converter writes it: NHWC outside, NCHW inside, and transposes that cancel, move nothing, or move weights."""
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


def optimise(model: onnx.ModelProto, name: str) -> None:
    """The model as the session runs it, the profile of three runs, and the weights by their names in the original."""
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.optimized_model_filepath = str(OUT / f"{name}.ort.onnx")
        options.enable_profiling, options.profile_file_prefix = True, str(Path(folder) / name)
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        feeds = {i.name: (np.arange(np.prod(i.shape)) % 5).reshape(i.shape).astype("float32") for i in session.get_inputs()}
        for _ in range(3):
            session.run(None, feeds)
        events = json.loads(Path(session.end_profiling()).read_text())
    lines = ",\n".join([json.dumps(event) for event in events])
    (OUT / f"{name}.ort.profile.json").write_text(f"[\n{lines}\n]\n")


def main() -> None:
    for make in (plain, cnn, quantised):
        model = make()
        onnx.checker.check_model(model)
        onnx.save(model, OUT / f"{make.__name__}.onnx")
        optimise(model, make.__name__)
        print(make.__name__, [(n.domain, n.op_type) for n in onnx.load(OUT / f"{make.__name__}.ort.onnx").graph.node])


if __name__ == "__main__":
    main()
