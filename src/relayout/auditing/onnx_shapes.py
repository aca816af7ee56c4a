"""The shapes and the types of the values in an ONNX graph, from what goes in and what each operator does to it.

What the file itself says of a value counts before what is inferred. A size that nothing tells has a name, the model's
or one with a question mark; of an operator that is not known here nothing is inferred: exact or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod

from ..elements.types import ELEMENTS, Element
from ..files.onnx_graph import OnnxGraph, Size, ValueType
from ..files.onnx_nodes import OnnxNode
from ..files.onnx_tensors import TYPES
from .onnx_operators import (
    BOOLEAN,
    BROADCASTING,
    CONVOLUTIONS,
    GLOBAL_POOLS,
    POOLS,
    REDUCTIONS,
    UNARY,
    channels_last,
    data_inputs,
)

Shape = tuple[Size, ...]


class OnnxValues:
    """What is known of every value of a graph, node by node in the order of the file.

    ``channels`` are those, padded, of values that are stored in blocks.
    """

    def __init__(self, graph: OnnxGraph, channels: Mapping[str, int | None]) -> None:
        self._open = 0
        self._channels = channels
        self.types = {name: self._with_names(kind) for name, kind in graph.types.items()}
        self.numbers = {name: t.numbers for name, t in graph.tensors.items() if t.numbers is not None}
        for name, tensor in graph.tensors.items():
            self.types[name] = ValueType(tensor.element, tensor.shape)

    def of(self, name: str) -> ValueType:
        """What is known of a value."""
        return self.types.get(name, ValueType(None, None))

    def shape(self, name: str) -> Shape | None:
        """The sizes of a value, as far as they are known."""
        return self.of(name).shape

    def infer(self, node: OnnxNode) -> None:
        """Note what the outputs of a node are."""
        shapes = self._shapes(node)
        for k, name in enumerate(node.outputs):
            told, shape = self.of(name), shapes[k] if k < len(shapes) else None
            if _knowledge(told.shape) < _knowledge(shape):
                told = told._replace(shape=shape)
            if told.element is None:
                told = told._replace(element=self._element(node, k))
            self.types[name] = self._with_names(told)

    def _with_names(self, kind: ValueType) -> ValueType:
        """The type with a name for every size that has neither a number nor one."""
        if kind.shape is None or None not in kind.shape:
            return kind
        sizes: list[Size] = []
        for n in kind.shape:
            self._open += n is None
            sizes.append(f"?{self._open}" if n is None else n)
        return kind._replace(shape=tuple(sizes))

    def _element(self, node: OnnxNode, k: int) -> Element | None:
        if k > 0 and node.operator != "Split":
            return None
        operator, inputs = node.operator, node.inputs
        if operator == "Cast":
            return ELEMENTS.get(TYPES.get(node.integer("to"), ""))
        if operator in BOOLEAN:
            return ELEMENTS["bool"]
        if operator in ("Shape", "Size", "ArgMax", "ArgMin", "NonZero"):
            return ELEMENTS["int64"]
        if operator in ("ConvInteger", "MatMulInteger"):
            return ELEMENTS["int32"]
        if operator == "QuantizeLinear":
            return self.of(inputs[2]).element if len(inputs) > 2 and inputs[2] else ELEMENTS["uint8"]
        place = 1 if operator in ("DequantizeLinear", "Where") else 0
        return self.of(inputs[place]).element if len(inputs) > place else None

    def _shapes(self, node: OnnxNode) -> list[Shape | None]:
        """The shapes of the outputs, as far as they are known."""
        if not node.inputs:
            return []
        if node.operator == "Split":
            return self._split(node)
        for operators, rule in (
            (UNARY, self._first),
            (BROADCASTING, self._broadcast),
            (CONVOLUTIONS, self._convolution),
            (POOLS, self._pool),
            (GLOBAL_POOLS, self._global_pool),
            (REDUCTIONS, self._reduction),
        ):
            if node.operator in operators:
                return [rule(node)]
        rules: dict[str, Callable[[OnnxNode], Shape | None]] = {
            "Transpose": self._transpose,
            "Reshape": self._reshape,
            "Flatten": self._flatten,
            "Squeeze": self._squeeze,
            "Unsqueeze": self._unsqueeze,
            "Concat": self._concat,
            "QLinearConcat": self._concat,
            "MatMul": self._matmul,
            "MatMulInteger": self._matmul,
            "QLinearMatMul": self._matmul,
            "Gemm": self._gemm,
            "FusedGemm": self._gemm,
            "Gather": self._gather,
            "Expand": self._expand,
            "Pad": self._pad,
            "SpaceToDepth": self._space_to_depth,
            "DepthToSpace": self._space_to_depth,
            "ReorderInput": self._reorder_input,
            "ReorderOutput": self._reorder_output,
        }
        return [rules[node.operator](node)] if node.operator in rules else []

    # ---- operators -----------------------------------------------------------------------------------------

    def _first(self, node: OnnxNode) -> Shape | None:
        return self.shape(node.inputs[0])

    def _broadcast(self, node: OnnxNode) -> Shape | None:
        shapes = [self.shape(name) for name in data_inputs(node)]
        return _broadcast_shape(shapes)

    def _transpose(self, node: OnnxNode) -> Shape | None:
        shape = self._first(node)
        if shape is None:
            return None
        perm = permutation(node, len(shape))
        return None if perm is None else tuple([shape[d] for d in perm])

    def _reshape(self, node: OnnxNode) -> Shape | None:
        wanted = self.numbers.get(node.inputs[1]) if len(node.inputs) > 1 else node.integers("shape")
        source = self._first(node)
        if wanted is None:
            return None
        keep = not node.integer("allowzero")
        shape: list[Size] = []
        for k, n in enumerate(wanted):
            copied = source[k] if source is not None and k < len(source) else None
            shape.append(copied if n == 0 and keep else n)
        if -1 in wanted:
            at = wanted.index(-1)
            rest = [n for k, n in enumerate(shape) if k != at]
            total = None if source is None else _product(source)
            known = _product(rest)
            shape[at] = total // known if total is not None and known and total % known == 0 else None
            # An open size that both sides have stays out of the quotient.
            if shape[at] is None and source is not None:
                shape[at] = _quotient(source, rest)
        return tuple(shape)

    def _flatten(self, node: OnnxNode) -> Shape | None:
        shape, axis = self._first(node), node.integer("axis", 1)
        if shape is None:
            return None
        axis = axis + len(shape) if axis < 0 else axis
        return (_product(shape[:axis]), _product(shape[axis:]))

    def _axes(self, node: OnnxNode) -> tuple[int, ...] | None:
        given = node.integers("axes")
        if given is None and len(node.inputs) > 1 and node.inputs[1]:
            return self.numbers.get(node.inputs[1])
        return given

    def _squeeze(self, node: OnnxNode) -> Shape | None:
        shape, axes = self._first(node), self._axes(node)
        if shape is None or axes is None:
            return None
        gone = {a % len(shape) for a in axes} if shape else set()
        return tuple([n for d, n in enumerate(shape) if d not in gone])

    def _unsqueeze(self, node: OnnxNode) -> Shape | None:
        shape, axes = self._first(node), self._axes(node)
        if shape is None or axes is None:
            return None
        rank = len(shape) + len(axes)
        added, rest = {a % rank for a in axes}, iter(shape)
        return tuple([1 if d in added else next(rest, None) for d in range(rank)])

    def _concat(self, node: OnnxNode) -> Shape | None:
        shapes = [self.shape(name) for name in data_inputs(node)]
        first = shapes[0] if shapes else None
        if first is None or any(s is None or len(s) != len(first) for s in shapes):
            return None
        axis = node.integer("axis") % len(first)
        parts = [s[axis] for s in shapes if s is not None]
        numbers = [n for n in parts if isinstance(n, int)]
        total = sum(numbers) if len(numbers) == len(parts) else None
        return (*first[:axis], total, *first[axis + 1 :])

    def _split(self, node: OnnxNode) -> list[Shape | None]:
        shape = self._first(node)
        parts = node.integers("split") or (self.numbers.get(node.inputs[1]) if len(node.inputs) > 1 else None)
        if not shape:
            return []
        axis, count = node.integer("axis") % len(shape), len(node.outputs)
        size = shape[axis]
        if parts is None and isinstance(size, int):
            step = -(-size // count)
            parts = tuple([min(step, size - k * step) for k in range(count)])
        return [(*shape[:axis], n, *shape[axis + 1 :]) for n in parts or [None] * count]

    def _matmul(self, node: OnnxNode) -> Shape | None:
        place = 3 if node.operator == "QLinearMatMul" else 1
        a = self._first(node)
        b = self.shape(node.inputs[place]) if len(node.inputs) > place else None
        if a is None or b is None or len(a) < 2 or len(b) < 2:
            return None
        batch = _broadcast_shape([a[:-2], b[:-2]])
        return None if batch is None else (*batch, a[-2], b[-1])

    def _gemm(self, node: OnnxNode) -> Shape | None:
        a, b = self._first(node), self.shape(node.inputs[1]) if len(node.inputs) > 1 else None
        if a is None or b is None or len(a) != 2 or len(b) != 2:
            return None
        return (a[node.integer("transA") & 1], b[1 - (node.integer("transB") & 1)])

    def _gather(self, node: OnnxNode) -> Shape | None:
        shape, index = self._first(node), self.shape(node.inputs[1]) if len(node.inputs) > 1 else None
        if not shape or index is None:
            return None
        axis = node.integer("axis") % len(shape)
        return (*shape[:axis], *index, *shape[axis + 1 :])

    def _expand(self, node: OnnxNode) -> Shape | None:
        wanted = self.numbers.get(node.inputs[1]) if len(node.inputs) > 1 else None
        return None if wanted is None else _broadcast_shape([self._first(node), wanted])

    def _pad(self, node: OnnxNode) -> Shape | None:
        shape = self._first(node)
        pads = node.integers("pads") or (self.numbers.get(node.inputs[1]) if len(node.inputs) > 1 else None)
        if shape is None or pads is None or len(pads) != 2 * len(shape):
            return None
        return tuple([n + pads[d] + pads[d + len(shape)] if isinstance(n, int) else None for d, n in enumerate(shape)])

    def _space_to_depth(self, node: OnnxNode) -> Shape | None:
        shape, block = self._first(node), node.integer("blocksize", 1)
        if shape is None or len(shape) != 4 or block < 1:
            return None
        n, c, h, w = shape
        if not (isinstance(c, int) and isinstance(h, int) and isinstance(w, int)):
            return None
        if node.operator == "SpaceToDepth":
            return (n, c * block * block, h // block, w // block)
        return (n, c // (block * block), h * block, w * block)

    def _reduction(self, node: OnnxNode) -> Shape | None:
        shape, axes = self._first(node), self._axes(node)
        if shape is None or (axes is None and len(node.inputs) > 1 and node.inputs[1]):
            return None
        if axes is None and node.operator in ("ArgMax", "ArgMin"):
            axes = (node.integer("axis"),)
        gone = {a % len(shape) for a in axes} if axes and shape else set(range(len(shape)))
        keep = node.integer("keepdims", 1)
        return tuple([1 if d in gone else n for d, n in enumerate(shape) if keep or d not in gone])

    # ---- windows over space ------------------------------------------------------------------------------

    def _convolution(self, node: OnnxNode) -> Shape | None:
        place = 3 if node.operator == "QLinearConv" else 1
        shape = self._first(node)
        weights = self.shape(node.inputs[place]) if len(node.inputs) > place else None
        if shape is None or weights is None or len(shape) < 3 or len(weights) != len(shape):
            return None
        last = channels_last(node)
        space = _window(node, shape[1:-1] if last else shape[2:], weights[2:])
        return (shape[0], *space, weights[0]) if last else (shape[0], weights[0], *space)

    def _pool(self, node: OnnxNode) -> Shape | None:
        shape, kernel = self._first(node), node.integers("kernel_shape")
        if shape is None or kernel is None or len(shape) != len(kernel) + 2:
            return None
        if channels_last(node):
            return (shape[0], *_window(node, shape[1:-1], kernel), shape[-1])
        return (*shape[:2], *_window(node, shape[2:], kernel))

    def _global_pool(self, node: OnnxNode) -> Shape | None:
        shape = self._first(node)
        if shape is None or len(shape) < 3:
            return None
        ones = (1,) * (len(shape) - 2)
        return (shape[0], *ones, shape[-1]) if channels_last(node) else (*shape[:2], *ones)

    def _reorder_input(self, node: OnnxNode) -> Shape | None:
        shape = self._first(node)
        padded = self._channels.get(node.outputs[0]) if node.outputs else None
        if shape is None or len(shape) < 2:
            return None
        return (shape[0], padded, *(shape[1:-1] if channels_last(node) else shape[2:]))

    def _reorder_output(self, node: OnnxNode) -> Shape | None:
        shape, channels = self._first(node), node.integer("channels")
        if shape is None or len(shape) < 2 or channels < 1:
            return None
        return (shape[0], *shape[2:], channels) if channels_last(node) else (shape[0], channels, *shape[2:])


def permutation(node: OnnxNode, rank: int) -> tuple[int, ...] | None:
    """The source's dimension for each dimension of what a Transpose gives; reversed where the node says nothing."""
    perm = node.integers("perm")
    perm = tuple(reversed(range(rank))) if perm is None else perm
    return perm if sorted(perm) == list(range(rank)) else None


def _window(node: OnnxNode, space: Shape, kernel: Shape) -> Shape:
    rank = len(space)
    strides = node.integers("strides") or (1,) * rank
    dilations = node.integers("dilations") or (1,) * rank
    pads = node.integers("pads") or (0,) * (2 * rank)
    auto = str(node.attributes.get("auto_pad", "NOTSET"))
    if not (len(strides) == len(dilations) == rank and len(pads) == 2 * rank and min((*strides, *dilations)) > 0):
        return (None,) * rank
    found: list[Size] = []
    for d, (n, k) in enumerate(zip(space, kernel)):
        if not isinstance(n, int) or not isinstance(k, int):
            found.append(None)
        elif auto.startswith("SAME"):
            found.append(-(-n // strides[d]))
        else:
            padding = 0 if auto == "VALID" else pads[d] + pads[d + rank]
            free = n + padding - dilations[d] * (k - 1) - 1
            up = strides[d] - 1 if node.integer("ceil_mode") else 0
            found.append((free + up) // strides[d] + 1 if free >= 0 else None)
    return tuple(found)


def _broadcast_shape(shapes: Iterable[Shape | None]) -> Shape | None:
    known = list(shapes)
    if not known or any(s is None for s in known):
        return None
    rank = max([len(s) for s in known if s is not None])
    aligned = [(1,) * (rank - len(s)) + s for s in known if s is not None]
    found: list[Size] = []
    for sizes in zip(*aligned):
        others = {n for n in sizes if n != 1}
        large = [n for n in others if isinstance(n, int)]
        found.append(1 if not others else next(iter(others)) if len(others) == 1 else large[0] if large else None)
    return tuple(found)


def _product(shape: Iterable[Size]) -> int | None:
    sizes = list(shape)
    numbers = [n for n in sizes if isinstance(n, int)]
    return prod(numbers) if len(numbers) == len(sizes) else None


def _quotient(source: Shape, rest: list[Size]) -> int | None:
    """The size that -1 stands for where open sizes of the same name stand on both sides."""
    left, right = [n for n in source if isinstance(n, str)], [n for n in rest if isinstance(n, str)]
    if None in source or None in rest or sorted(left) != sorted(right):
        return None
    above = prod([n for n in source if isinstance(n, int)])
    below = prod([n for n in rest if isinstance(n, int)])
    return above // below if below and above % below == 0 else None


def _knowledge(shape: Shape | None) -> tuple[int, int]:
    """How much a shape tells: whether there is one, and how many sizes are numbers."""
    return (0, 0) if shape is None else (1, sum([isinstance(n, int) for n in shape]))
