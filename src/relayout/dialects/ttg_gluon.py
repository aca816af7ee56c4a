"""Gluon's words for Triton's encodings: ``gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])``, read and written."""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches
from typing import Any

from ..errors import LimitExceeded, NotExpressible, ParseError, UnknownName
from ..hardware.triton_encoding import TritonEncoding, block_sizes
from ..hardware.triton_linear import LinearEncoding
from ..hardware.triton_memory import PaddedSharedEncoding
from ..immutable import NamedTuple
from .scan import MAX_TEXT
from .ttg_encodings import encoding_of
from .ttg_writing import fields_of

_CALL = re.compile(r"\s*(?:\w+\s*=\s*)?(?:[A-Za-z_]\w*\s*\.\s*)*([A-Z]\w*Layout)\b(?:\s*\.\s*with_identity_for)?\s*\(")


class Spelled(NamedTuple):
    """One class of Gluon: the encoding, and for each parameter the field of the IR that it is."""

    kind: str
    fields: dict[str, str]


_CGA = {"cga_layout": "CGALayout"}
_BLOCKED = ("size_per_thread", "threads_per_warp", "warps_per_cta", "order")
_IR = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")

LAYOUTS = {
    "BlockedLayout": Spelled("ttg.blocked", dict(zip(_BLOCKED, _IR)) | _CGA),
    "SliceLayout": Spelled("ttg.slice", {"dim": "dim", "parent": "parent"}),
    "DotOperandLayout": Spelled("ttg.dot_op", {"operand_index": "opIdx", "parent": "parent", "k_width": "kWidth"}),
    "NVMMADistributedLayout": Spelled(
        "ttg.nvidia_mma", {"version": "version", "warps_per_cta": "warpsPerCTA", "instr_shape": "instrShape"} | _CGA
    ),
    "AMDMFMALayout": Spelled(
        "ttg.amd_mfma",
        {
            "version": "version",
            "instr_shape": "instrShape",
            "transposed": "isTransposed",
            "warps_per_cta": "warpsPerCTA",
            "element_bitwidth": "elementBitWidth",
            "tiles_per_warp": "tilesPerWarp",
        }
        | _CGA,
    ),
    "AMDWMMALayout": Spelled(
        "ttg.amd_wmma",
        {
            "version": "version",
            "transposed": "isTranspose",
            "warp_bases": "warp",
            "reg_bases": "register",
            "instr_shape": "instrShape",
        }
        | _CGA
        | {"rank": "rank"},
    ),
    "DistributedLinearLayout": Spelled(
        "ttg.linear",
        {
            "reg_bases": "register",
            "lane_bases": "lane",
            "warp_bases": "warp",
            "block_bases": "block",
            "shape": "shape",
        },
    ),
    "SwizzledSharedLayout": Spelled(
        "ttg.swizzled_shared", {"vec": "vec", "per_phase": "perPhase", "max_phase": "maxPhase", "order": "order"} | _CGA
    ),
    "NVMMASharedLayout": Spelled(
        "ttg.nvmma_shared",
        {
            "swizzle_byte_width": "swizzlingByteWidth",
            "element_bitwidth": "elementBitWidth",
            "rank": "rank",
            "transposed": "transposed",
            "fp4_padded": "fp4Padded",
        }
        | _CGA,
    ),
    "PaddedSharedLayout": Spelled(
        "ttg.padded_shared",
        {"interval_padding_pairs": "intervals", "offset_bases": "offset", "cga_layout": "block", "shape": "shape"},
    ),
    "SharedLinearLayout": Spelled(
        "ttg.shared_linear", {"offset_bases": "offset", "block_bases": "block", "alignment": "alignment"}
    ),
    "PartitionedSharedLayout": Spelled(
        "ttg.partitioned_shared",
        {
            "num_partitions": "numPartitions",
            "num_groups": "numGroups",
            "partition_dim": "partitionDim",
            "partition_layout": "partitionLayout",
        },
    ),
    "TensorMemoryLayout": Spelled(
        "ttng.tensor_memory_encoding",
        {"block": "block", "col_stride": "colStride"} | _CGA | {"two_ctas": "twoCTAs", "fp4_padded": "fp4Padded"},
    ),
    "TensorMemoryScalesLayout": Spelled(
        "ttng.tensor_memory_scales_encoding", _CGA | {"block_rep_order": "blockRepOrder"}
    ),
}
"""Every layout of Gluon by its class, with its parameters in order."""


def is_gluon(text: str) -> bool:
    """Whether a text is a call of one of Gluon's layouts, or of something that looks like one."""
    return _CALL.match(text) is not None


def read_gluon(text: str) -> TritonEncoding:
    """The encoding that a Python expression makes."""
    if len(text) > MAX_TEXT:
        raise LimitExceeded(f"a text of {len(text)} characters.", hint="no layout is that long", limit=MAX_TEXT)
    lead = len(text) - len(text.lstrip())
    try:
        statement = ast.parse(text.strip().rstrip(";,"), mode="exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = getattr(error, "offset", None) or 1
        raise ParseError(
            "not a layout in ttg: this is no Python expression.",
            text=text,
            position=min(lead + column - 1, len(text)),
            hint="write it as in gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])",
            dialect="ttg",
        ) from None
    body = statement.body[0] if len(statement.body) == 1 else None
    value = body.value if isinstance(body, ast.Assign | ast.Expr) else None
    if value is None:
        raise _unread(text, lead, "one expression")
    return _encoding(text, value, lead)


def _unread(text: str, position: int, expected: str) -> ParseError:
    return ParseError(
        f"not a layout in ttg: expected {expected}.",
        text=text,
        position=min(position, len(text)),
        hint="write it as in gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])",
        dialect="ttg",
    )


def _encoding(text: str, node: ast.expr, lead: int) -> TritonEncoding:
    at = lead + getattr(node, "col_offset", 0)
    if not isinstance(node, ast.Call):
        raise _unread(text, at, "a call of a layout")
    path = ast.unparse(node.func).split(".")
    identity = path[-1] == "with_identity_for"
    name = path[-2] if identity and len(path) > 1 else path[-1]
    spelled = LAYOUTS.get(name)
    if spelled is None:
        near = get_close_matches(name, LAYOUTS, n=3, cutoff=0.5) or list(LAYOUTS)
        raise UnknownName(f"Gluon has no layout {name}.", hint=f"near it is {', '.join(near)}", name=name)
    names = list(spelled.fields)
    if identity:
        names = ["interval_padding_pairs", "shape", "order", "cga_layout"]
    if len(node.args) > len(names):
        raise _unread(text, at, f"{name} with at most {len(names)} arguments")
    values = {parameter: _value(text, arg, lead) for parameter, arg in zip(names, node.args)}
    for keyword in node.keywords:
        if keyword.arg not in names:
            near = get_close_matches(str(keyword.arg), names, n=3, cutoff=0.5) or names
            raise UnknownName(
                f"{name} has no parameter {keyword.arg}.", hint=f"near it is {', '.join(near)}", name=keyword.arg
            )
        values[keyword.arg] = _value(text, keyword.value, lead)
    known = {parameter: value for parameter, value in values.items() if value is not None}
    if identity:
        spelled = Spelled(spelled.kind, {**spelled.fields, "order": "order"})
    return encoding_of(spelled.kind, _ir_fields(spelled, known))


def _ir_fields(spelled: Spelled, values: dict[str, Any]) -> dict[str, Any]:
    """The fields of the IR; where Gluon has several in one, or one in several, they are taken apart."""
    fields = {spelled.fields[name]: value for name, value in values.items()}
    if spelled.kind == "ttg.nvidia_mma":
        version = fields.pop("version", None)
        if isinstance(version, list) and len(version) == 2:
            fields |= {"versionMajor": version[0], "versionMinor": version[1]}
    elif spelled.kind == "ttg.amd_wmma":
        fields["ctaLayout"] = {name: fields.pop(name) for name in ("warp", "register") if name in fields}
    elif spelled.kind in ("ttg.linear", "ttg.padded_shared") and "order" not in fields:
        fields.pop("shape", None)
    elif spelled.kind == "ttng.tensor_memory_encoding":
        block = fields.pop("block", None)
        if isinstance(block, list) and len(block) == 2:
            fields |= {"blockM": block[0], "blockN": block[1]}
    return fields


def _value(text: str, node: ast.expr, lead: int) -> Any:
    if isinstance(node, ast.Call):
        return _encoding(text, node, lead)
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(text, item, lead) for item in node.elts]
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool | int | str)):
        return node.value
    raise _unread(text, lead + getattr(node, "col_offset", 0), "numbers, lists and layouts")


def gluon_text(encoding: TritonEncoding) -> str:
    """An encoding in Gluon's words; refused where Gluon has none."""
    kind, fields = fields_of(encoding)
    name = next((name for name, spelled in LAYOUTS.items() if spelled.kind == kind), None)
    if name is None:
        raise NotExpressible(
            f"Gluon has no layout for #{kind}.", hint="the IR has it: rl.render(x, 'ttg')", encoding=encoding
        )
    values = dict(fields)
    if kind == "ttg.nvidia_mma":
        values["version"] = [values.pop("versionMajor"), values.pop("versionMinor")]
    elif kind == "ttg.amd_wmma":
        tiles = values.pop("ctaLayout")
        values |= {"warp": tiles.get("warp", []), **({"register": tiles["register"]} if "register" in tiles else {})}
    elif isinstance(encoding, LinearEncoding):
        values["shape"] = list(encoding.own_shape)
    elif isinstance(encoding, PaddedSharedEncoding):
        values = {
            "intervals": encoding.paddings,
            "offset": encoding.offset,
            "block": encoding.block,
            "shape": block_sizes((*encoding.offset, *encoding.block), encoding.rank),
        }
    elif kind == "ttng.tensor_memory_encoding":
        values["block"] = (values.pop("blockM"), values.pop("blockN"))
    parts = [
        f"{parameter}={_python(values[field])}" for parameter, field in LAYOUTS[name].fields.items() if field in values
    ]
    return f"gl.{name}({', '.join(parts)})"


def _python(value: Any) -> str:
    if isinstance(value, TritonEncoding):
        return gluon_text(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join([_python(x) for x in value])}]"
    return repr(value)
