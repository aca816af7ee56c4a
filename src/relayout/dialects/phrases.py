"""What tools print about a tensor without a notation of their own: TensorRT's inspector, ggml, QNN, Core ML.

TensorRT describes formats in English. ggml prints sizes ``ne`` and byte steps ``nb`` from the fastest dimension on, an
order that is kept; the list of tensors that llama.cpp logs has the sizes alone. QNN has the fields of a tensor, whose
flat buffers are in row-major order. Core ML prints the type and the sizes of an ``MLMultiArray``, which is row-major
unless it was made with strides of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..elements.types import ELEMENTS, Element
from ..errors import NotExpressible, ShapeError
from ..format.format import Format
from ..immutable import NamedTuple
from ..layout.layout import Layout
from .tensorrt_phrases import tensorrt_phrase

_GGML = re.compile(
    r"\s*(?:[\w.]+\s*:\s*)?(?:type\s*=\s*(?P<type>\w+)[\s,;]+)?ne\s*=\s*[\[({](?P<ne>[\d\s,]+)[\])}][\s,;]*"
    r"nb\s*=\s*[\[({](?P<nb>[\d\s,]+)[\])}]\s*",
    re.ASCII,
)
_GGML_TYPES = {
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f64": "float64",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
}
_GGML_LISTED = re.compile(
    r"\s*(?:[\w.]+:\s*)?-\s*tensor\s+\d+:\s+\S+\s+(?P<type>\w+)\s+\[(?P<ne>[\d\s,]+)\]\s*", re.ASCII
)
_CORE_ML = re.compile(
    r"\s*(?P<head>(?:ML)?MultiArray\s*:?\s*(?P<open>\()?\s*)?(?P<type>Float(?:16|32|64)?|Double|Int(?:8|16|32))"
    r"(?P<sizes>(?:\s+(?:\d+|\{[\d, ]+\}|\?)(?:\s*[x\u00d7]\s*(?:\d+|\{[\d, ]+\}|\?))*)?)"
    r"(?P<tail>\s+(?:array|matrix|vector|multiarray))?\s*(?(open)\)|)\s*",
    re.IGNORECASE,
)
_CORE_ML_TYPES = {"double": "float64", "float": "float32"}
_QNN = re.compile(r"\.?dimensions\s*=\s*[\[({](?P<sizes>[\d\s,]+)[\])}]", re.ASCII)
_QNN_FORMAT = re.compile(r"\.?dataFormat\s*=\s*(?:QNN_TENSOR_DATA_FORMAT_)?(?P<format>\w+)", re.ASCII)
_QNN_TYPE = re.compile(r"\.?dataType\s*=\s*QNN_DATATYPE_(?P<type>[A-Z_]+)_(?P<bits>\d+)", re.ASCII)
_QNN_TYPES = {"INT": "int", "UINT": "uint", "FLOAT": "float", "SFIXED_POINT": "qint", "UFIXED_POINT": "quint"}
_FLAT = ("FLAT_BUFFER", "DENSE", "0")


_NEAR = (
    (
        re.compile(r"MultiArray", re.IGNORECASE),
        "of an MLMultiArray, Float32 1 x 3 x 4 array is read, and in coreai shape=[1, 3, 4], strides=[12, 4, 1]",
    ),
    (re.compile(r"#tpu\.|tiled<"), "xla reads tiles: bf16[16,256]{1,0:T(8,128)(2,1)}"),
    (
        re.compile(r"QNN_|\bdimensions\s*=", re.ASCII),
        "of QNN's fields, dimensions = {...} and dataFormat = ... are read",
    ),
    (
        re.compile(r"#sparse_tensor\.|#SparseTensor"),
        "a sparse tensor has no layout, since its places depend on the data; without the encoding it is dense",
    ),
    (re.compile(r"\bvector<"), "a vector lies in registers; mlir reads memref<8x128xf32> and tensor<8x128xf32>"),
    (re.compile(r"(?:onednn|dnnl)_verbose"), "onednn reads src:f32::blocked:aBcd16b::f0 and lines of exec"),
    (
        re.compile(r"channel major|row major|channel vectorized", re.IGNORECASE),
        "of TensorRT's phrases, Row major linear FP32 format, Channel major FP16 format where channel % 8 == 0 and "
        "Thirty-two wide channel vectorized row major Int8 format are read; tensorrt:kCHW32 names a format",
    ),
    (
        re.compile(r"\bne\[?\d*\]?\s*=|\bggml_|llama_model_loader"),
        "of ggml, type=f16, ne = [64, 32], nb = [2, 128] is read, and a tensor that llama.cpp lists",
    ),
    (
        re.compile(r"<tf\.Tensor|ShapeDtypeStruct|TensorSpec|\bT\.Buffer\(|\bR\.Tensor\(|\barray\(\[|DeviceArray\("),
        "its layout is row-major, with shape=(...), unless it has strides: size=(2, 3), stride=(3, 1)",
    ),
    (re.compile(r"TensorFormat[.:]"), "tensorrt:kCHW32 names TensorFormat::kCHW32, and so on"),
    (re.compile(r"cudnnSetTensor|CUDNN_TENSOR_"), "cudnn:NHWC names CUDNN_TENSOR_NHWC, and so on"),
    (re.compile(r"!cute\."), "cute reads what stands in the quotes: (8,64):(64,1)"),
    (re.compile(r"\([a-z]+\d+\[[\d,]*\]\{|PjRtLayout"), "xla reads one array: f32[8,128]{1,0:T(8,128)}, or {1,0}"),
    (re.compile(r"\b(?:FixedLayout|FlexibleLayout)\("), "torch reads FixedLayout(...) alone"),
    (re.compile(r"\bttnn\.|TensorMemoryLayout"), "tenstorrent:TILE names the tiles; a MemoryConfig tells no places"),
)


def near_notation(text: str) -> str:
    """What to write instead of a text that no dialect reads, by the words in it; empty where nothing is near."""
    return "; ".join([hint for words, hint in _NEAR if words.search(text)])


class Phrase(NamedTuple):
    """What a phrase means, and the element type that it names."""

    meaning: Format | Layout
    element: Element | None


def phrase(text: str) -> Phrase | None:
    """What a text means that a tool prints; None for every other text."""
    if sentence := tensorrt_phrase(text):
        return Phrase(sentence.format(), sentence.element)
    if found := _GGML.fullmatch(text):
        return _ggml(found["type"], _integers(found["ne"]), _integers(found["nb"]))
    if found := _GGML_LISTED.fullmatch(text):
        return _ggml_listed(found["type"], _integers(found["ne"]))
    if (found := _CORE_ML.fullmatch(text)) and (found["head"] or found["tail"]):
        return _core_ml(text, found["type"].lower(), found["sizes"])
    if (found := _QNN.search(text)) and (form := _QNN_FORMAT.search(text)):
        return _qnn(text, _integers(found["sizes"]), form["format"])
    return None


def _integers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]


def _ggml(type_name: str | None, ne: Sequence[int], nb: Sequence[int]) -> Phrase:
    if len(ne) != len(nb):
        raise ShapeError(f"ne has {len(ne)} sizes and nb {len(nb)} steps.", hint="one step for each size")
    kind = ELEMENTS.get(_GGML_TYPES.get((type_name or "").lower(), ""))
    item = nb[0] if kind is None else kind.bytes
    blocks = (kind is None and type_name) or item not in (1, 2, 4, 8) or any(step % item for step in nb)
    if blocks or (kind is None and min(nb) < item):
        raise NotExpressible(
            f"ne = {list(ne)}, nb = {list(nb)} does not tell the size of one element; a quantised type has blocks.",
            hint="say the type first, as in type=f16, or open the GGUF file",
            ne=tuple(ne),
            nb=tuple(nb),
        )
    return Phrase(Layout(tuple(ne), tuple([step // item for step in nb])), kind)


def _ggml_listed(type_name: str, ne: Sequence[int]) -> Phrase:
    """A tensor of a file, whose elements follow each other."""
    kind = ELEMENTS.get(_GGML_TYPES.get(type_name.lower(), ""))
    if kind is None:
        raise NotExpressible(
            f"{type_name} is a quantised type: its blocks have scales between the elements.",
            hint="open the GGUF file, which has the fields of each block",
            ne=tuple(ne),
        )
    return Phrase(Layout.col_major(tuple(ne)), kind)


def _core_ml(text: str, type_name: str, sizes: str) -> Phrase:
    parts = re.split(r"\s*[x\u00d7]\s*", sizes.strip()) if sizes else []
    unknown = next((part for part in parts if not part.isdigit() or not int(part)), None)
    if not parts or unknown is not None:
        what = "no sizes" if unknown is None else f"the size {unknown}"
        raise NotExpressible(
            f"{text.strip()!r} has {what}: the shape of this array is known only at run time.",
            hint="put the sizes of one array there, as in Float32 1 x 3 x 4 array",
            text=text,
        )
    kind = ELEMENTS.get(_CORE_ML_TYPES.get(type_name, type_name))
    return Phrase(Layout.row_major(tuple([int(part) for part in parts])), kind)


def _qnn(text: str, sizes: Sequence[int], form: str) -> Phrase:
    if form not in _FLAT:
        raise NotExpressible(
            f"QNN's data format {form} does not tell places.",
            hint="only flat buffers are row-major; name the format of the catalog, as in htp:R4Crouton",
            format=form,
        )
    told: Any = _QNN_TYPE.search(text)
    name = f"{_QNN_TYPES.get(told['type'], '')}{told['bits']}" if told else ""
    return Phrase(Layout.row_major(tuple(sizes)), ELEMENTS.get(name))
