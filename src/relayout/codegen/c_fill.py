"""What a function in C writes beside the elements."""

from __future__ import annotations

from .c_helpers import byte_count
from .c_lines import CLines, value_text
from .program import PackFunction
from .values import ONE, Monomial


def fill_lines(function: PackFunction) -> list[str]:
    """All of the target gets the fill, where it has places beside the elements, or where elements share bytes."""
    body, bits = CLines(), function.target_element.bits
    elements = ONE
    for extent in function.extents:
        elements *= extent
    storage = function.target.storage
    if storage == Monomial(0) or (storage == elements and bits >= 8):
        return body.lines
    if bits < 8:
        _add_packed_fill(body, storage, bits, function.fill)
        return body.lines
    fill, depth = function.fill, 1
    body.add(1, "// Padding")
    plain = len(set(fill)) == 1
    if not storage.known:
        body.add(1, f"if (dst_size > {value_text(elements)}){' {' * (not plain)}")
        depth = 2
    if plain:
        body.add(depth, f"memset(dst, {fill[0]}, (size_t)dst_size * sizeof(*dst));")
    else:
        digits = ", ".join([f"0x{byte:02x}" for byte in fill])
        body.add(depth, f"static const uint8_t fill[{len(fill)}] = {{{digits}}};")
        body.add(depth, "for (int64_t i = 0; i < dst_size; ++i)")
        body.add(depth + 1, "memcpy(dst + i, fill, sizeof(fill));")
        if not storage.known:
            body.add(1, "}")
    return body.lines


def _add_packed_fill(body: CLines, storage: Monomial, bits: int, fill: bytes) -> None:
    """The fill of elements that share bytes; the bits behind the last one are 0."""
    count = byte_count(storage, bits)
    body.add(1, "// Padding, and the bits behind the last element")
    if len(set(fill)) == 1:
        body.add(1, f"memset(dst, {fill[0]}, {count if storage.known else f'(size_t)({count})'});")
    else:
        digits = ", ".join([f"0x{byte:02x}" for byte in fill])
        body.add(1, f"static const uint8_t fill[{len(fill)}] = {{{digits}}};")
        body.add(1, f"for (int64_t i = 0; i < {count}; ++i)")
        body.add(2, f"dst[i] = fill[i % {len(fill)}];")
    if not any(fill) or storage.number * bits % 8 == 0:
        return
    if storage.known:
        last, rest = divmod(storage.number * bits, 8)
        body.add(1, f"dst[{last}] &= 0x{(1 << rest) - 1:02x};")
    else:
        body.add(1, f"if (dst_size * {bits} % 8)")
        body.add(2, f"dst[dst_size * {bits} / 8] &= (uint8_t)((1 << dst_size * {bits} % 8) - 1);")
