"""What a function writes beside the elements."""

from __future__ import annotations

from .element_types import tree_type
from .lower_values import value_of
from .program import PackFunction
from .statements import Assign, At, Binary, Cast, Comment, Expression, Fill, If, Name, Number, Statement
from .values import Monomial, product_of

SIZE = Name("dst_size")


def fill_statements(function: PackFunction) -> list[Statement]:
    """All of the target gets the fill, where it has places beside the elements, or where elements share bytes."""
    bits = function.target_element.bits
    elements, storage = product_of(function.extents), function.target.storage
    if storage == Monomial(0) or (storage == elements and bits >= 8):
        return []
    if bits < 8:
        return _packed_fill(storage, bits, function.fill)
    fill = Fill("dst", tree_type(function.target_element), function.fill, SIZE)
    if storage.known:
        return [Comment("Padding"), fill]
    return [Comment("Padding"), If(Binary(">", SIZE, value_of(elements)), (fill,))]


def _packed_fill(storage: Monomial, bits: int, fill: bytes) -> list[Statement]:
    """The fill of elements that share bytes; the bits behind the last one are 0."""
    used = Binary("*", SIZE, Number(bits))
    count: Expression = Binary("/", Binary("+", used, Number(7)), Number(8))
    if storage.known:
        count = Number(-(-storage.number * bits // 8))
    found: list[Statement] = [
        Comment("Padding, and the bits behind the last element"),
        Fill("dst", "u8", fill if len(set(fill)) > 1 else fill[:1], count),
    ]
    if not any(fill) or storage.number * bits % 8 == 0:
        return found
    if storage.known:
        last, rest = divmod(storage.number * bits, 8)
        byte = At("dst", Number(last))
        kept = Binary("&", Cast("u32", byte), Number((1 << rest) - 1, "u32", mask=True))
        return [*found, Assign(byte, Cast("u8", kept))]
    byte = At("dst", Binary("/", used, Number(8)))
    beyond = Binary("%", used, Number(8))
    one = Number(1, "u32")
    mask = Binary("-", Binary("<<", one, beyond), one)
    masked = Assign(byte, Cast("u8", Binary("&", Cast("u32", byte), mask)))
    return [*found, If(Binary("!=", beyond, Number(0)), (masked,))]
