"""Tensor-parallel plans: one word for the weight of a layer, and how many ranks there are.

Hugging Face's words (``hf:colwise tp=8``) and Megatron's (``megatron:ColumnParallelLinear tp=8``, or its attributes,
``megatron:partition_dim=0 partition_stride=2 tp=8``). A weight is (out, in), a bias (out); of stacked experts the last
two dimensions. Sizes that the ranks do not divide are refused, as Megatron refuses them.
"""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError
from ..sharding.digits import REST
from ..sharding.sharding import Sharding
from .scan import Scanner
from .shardings import cannot_say

AXIS = "tp"

_COLWISE, _ROWWISE = -2, -1
HF_STYLES: dict[str, tuple[int, int] | None] = {
    "colwise": (_COLWISE, 1),
    "colwise_rep": (_COLWISE, 1),
    "colwise_gather_output": (_COLWISE, 1),
    "local_colwise": (_COLWISE, 1),
    "packed_colwise": (_COLWISE, 2),
    "local_packed_colwise": (_COLWISE, 2),
    "rowwise": (_ROWWISE, 1),
    "rowwise_rep": (_ROWWISE, 1),
    "rowwise_split_input": (_ROWWISE, 1),
    "local_rowwise": (_ROWWISE, 1),
    "packed_rowwise": (_ROWWISE, 2),
    "local_packed_rowwise": (_ROWWISE, 2),
    "embedding_rowwise": (_COLWISE, 1),
    "replicate": None,
    "sequence_parallel": None,
}
"""By the word of a plan: which dimension of the weight is dealt, from the end, and how many parts are fused in it."""

MEGATRON_LAYERS: dict[str, tuple[int, int] | None] = {
    "ColumnParallelLinear": (_COLWISE, 1),
    "RowParallelLinear": (_ROWWISE, 1),
    "VocabParallelEmbedding": (_COLWISE, 1),
}


def parse_hf(text: str, rank: int | None) -> Sharding:
    scan = Scanner(text, "hf", "hf:colwise tp=8")
    at = scan.position
    word = scan.name()
    if word not in HF_STYLES:
        scan.fail(f"one of {', '.join(HF_STYLES)}", at)
    return _dealt(HF_STYLES[word], _ranks(scan), rank)


def parse(text: str, rank: int | None) -> Sharding:
    scan = Scanner(text, "megatron", "megatron:ColumnParallelLinear tp=8")
    start = scan.position
    word = scan.name()
    if word in MEGATRON_LAYERS:
        return _dealt(MEGATRON_LAYERS[word], _ranks(scan), rank)
    if word != "partition_dim":
        scan.fail(f"{', '.join(MEGATRON_LAYERS)} or partition_dim=", start)
    scan.expect("=")
    at = scan.position
    dim = scan.integer()
    if dim < -1:
        scan.fail("a dimension, or -1 for none", at)
    scan.accept(",")
    stride = 1
    if scan.accept("partition_stride"):
        scan.expect("=")
        stride = scan.integer()
    ranks = _ranks(scan)
    if dim == -1:
        return Sharding({AXIS: ranks}, [], uneven="refuse")
    return Sharding({AXIS: ranks}, [*[None] * dim, _digits(stride)], uneven="refuse")


def _ranks(scan: Scanner) -> int:
    scan.accept(",")
    scan.expect(AXIS)
    scan.expect("=")
    found = scan.integer()
    scan.end()
    return found


def _digits(fused: int) -> tuple[Any, ...]:
    return (fused, AXIS) if fused > 1 else (AXIS,)


def _dealt(style: tuple[int, int] | None, ranks: int, rank: int | None) -> Sharding:
    dims: list[Any] = []
    if style is not None:
        dim, fused = style
        rank = 2 if rank is None else rank
        if rank < 1:
            raise ShapeError("a number has no dimension to deal.", hint="give the shape of a weight", rank=rank)
        if rank == 1:
            dims = [_digits(fused)] if dim == _COLWISE else []
        else:
            dims = [*[None] * (rank + dim), _digits(fused)]
    return Sharding({AXIS: ranks}, dims, uneven="refuse")


def _style_of(x: Sharding, dialect: str) -> tuple[int, int] | None:
    """The dimension that is dealt and how many parts are fused in it; None where every rank holds all."""
    dealt = [(d, deals) for d, deals in enumerate(x.dims) if any(deal.axis is not None for deal in deals)]
    if len(x.mesh.axes) != 1 or not x.mesh.in_order or len(dealt) > 1:
        raise cannot_say(x, dialect, "a plan has one axis of ranks in order, and deals one dimension")
    if not dealt:
        return None
    d, deals = dealt[0]
    kept = [deal.size for deal in deals[:-2]]
    if deals[-1] != REST or len(kept) > 1 or deals[-2].axis is None or not all(kept):
        raise cannot_say(x, dialect, f"dimension {d} is dealt in other pieces")
    return d, kept[0] if kept else 1


def render(x: Sharding) -> str:
    style = _style_of(x, "megatron")
    ranks = x.mesh.size
    if style is None:
        return f"partition_dim=-1 partition_stride=1 tp={ranks}"
    return f"partition_dim={style[0]} partition_stride={style[1]} tp={ranks}"


def to_hf(x: Sharding) -> str:
    style = _style_of(x, "hf")
    if style is None:
        return f"replicate tp={x.mesh.size}"
    rank = len(x.dims) if x.shape is not None else 2
    word = next((w for w, s in HF_STYLES.items() if s is not None and (s[0] + max(rank, 2), s[1]) == style), None)
    if word is None:
        raise cannot_say(x, "hf", f"no style deals dimension {style[0]} of {rank} in {style[1]} parts")
    return f"{word} tp={x.mesh.size}"
