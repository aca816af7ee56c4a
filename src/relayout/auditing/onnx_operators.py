"""What the operators of ONNX and ONNX Runtime do to shapes and layouts, as sets of names."""

from __future__ import annotations

from ..files.onnx_nodes import OnnxNode


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CHANNELS_LAST = "com.ms.internal.nhwc"
"""The domain of the operators that take and give channels last."""

ACTIVATIONS = _names(
    """
    Abs Acos Acosh Asin Asinh Atan Atanh BiasGelu BitwiseNot Cast CastLike Ceil Celu Clip Cos Cosh Dropout Elu Erf Exp
    FastGelu Floor Gelu HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not QLinearLeakyRelu
    QLinearSigmoid QuickGelu Reciprocal Relu Round Selu Sigmoid Sign Silu Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh
    ThresholdedRelu
    """
)
"""Operators that treat every element of one tensor alone."""

QUANTISING = frozenset({"QuantizeLinear", "DequantizeLinear"})
"""Those that do so where one scale is for all elements."""

UNARY = ACTIVATIONS | QUANTISING
UNARY |= _names(
    """
    BatchNormalization GroupNormalization InstanceNormalization LRN LayerNormalization LogSoftmax LpNormalization
    MeanVarianceNormalization QLinearSoftmax SimplifiedLayerNormalization SkipLayerNormalization
    SkipSimplifiedLayerNormalization Softmax CumSum
    """
)
"""Operators whose first output has the shape of their first input."""

BROADCASTING = _names(
    """
    Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or
    PRelu Pow QLinearAdd QLinearMul Sub Sum Where Xor
    """
)
"""Operators over several tensors that are broadcast together."""

BOOLEAN = _names("And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Xor")
"""Operators that give truth values."""

CONVOLUTIONS = frozenset({"Conv", "FusedConv", "NhwcFusedConv", "QLinearConv", "ConvInteger"})
POOLS = frozenset({"MaxPool", "AveragePool", "NhwcMaxPool", "QLinearAveragePool", "LpPool"})
GLOBAL_POOLS = frozenset({"GlobalAveragePool", "GlobalMaxPool", "QLinearGlobalAveragePool"})
REDUCTIONS = _names(
    """
    ArgMax ArgMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
    ReduceSumSquare
    """
)

VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
"""Operators that give the same elements, in row-major order, another shape."""

MOVES = VIEWS | frozenset({"Transpose", "ReorderInput", "ReorderOutput", "DepthToSpace", "SpaceToDepth"})
"""Operators that do nothing but move elements."""


def data_inputs(node: OnnxNode) -> tuple[str, ...]:
    """The tensors that an operator broadcasts or joins, without scales and zero points."""
    if node.operator in ("QLinearAdd", "QLinearMul"):
        return node.inputs[0:1] + node.inputs[3:4]
    if node.operator == "QLinearConcat":
        return node.inputs[2::3]
    return tuple([name for name in node.inputs if name])


def channels_last(node: OnnxNode) -> bool:
    """Whether an operator over space has its channels in the last dimension."""
    return bool(node.integer("channels_last")) or node.operator.startswith("Nhwc") or node.domain == CHANNELS_LAST
