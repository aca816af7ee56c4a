"""Small functions and expressions that the functions in C share."""

from __future__ import annotations

from ..layout.swizzle import Swizzle
from .c_lines import function_text, value_text
from .values import Definition, Monomial


def factor_text(value: Monomial) -> str:
    """A product that can be divided by."""
    text = value_text(value)
    return f"({text})" if " " in text else text


def definition_text(definition: Definition) -> str:
    """A quotient that is rounded up."""
    value, divisor = value_text(definition.value), factor_text(definition.divisor)
    more = str(definition.divisor.number - 1) if definition.divisor.known else f"{divisor} - 1"
    text = f"({value} + {more}) / {divisor}"
    return f"{text} * {divisor}" if definition.whole else text


def byte_count(storage: Monomial, bits: int) -> str:
    """The bytes of so many elements that share bytes."""
    return str(-(-storage.number * bits // 8)) if storage.known else f"(dst_size * {bits} + 7) / 8"


def swizzle_text(name: str, swizzle: Swizzle) -> str:
    """The function that a swizzle is; its own inverse."""
    arrow = f">> {swizzle.shift}" if swizzle.shift >= 0 else f"<< {-swizzle.shift}"
    body = [f"  return i ^ ((i & 0x{swizzle.source_mask:x}) {arrow});"]
    text = function_text([f"static int64_t {name}(int64_t i) {{"], body)
    return f"// Exchanges places within runs of {swizzle.period} elements; its own inverse.\n{text}"


def packed_helpers(name: str, bits: int) -> list[str]:
    """Reading and writing one element of a few bits, the least significant bit first."""
    mask = (1 << bits) - 1
    if 8 % bits == 0:
        shift = {1: 3, 2: 2, 4: 1}[bits]
        place = f"i % {8 // bits} * {bits}" if bits > 1 else "i % 8"
        head = f"static unsigned {name}_get(const uint8_t *p, int64_t i) {{"
        return [
            function_text([head], [f"  return p[i >> {shift}] >> ({place}) & 0x{mask:x};"]),
            f"static void {name}_put(uint8_t *p, int64_t i, unsigned x) {{\n"
            f"  const int at = (int)({place});\n"
            f"  p[i >> {shift}] = (uint8_t)((p[i >> {shift}] & ~(0x{mask:x} << at)) | x << at);\n}}",
        ]
    return [
        f"// Element i has the bits from {bits} * i on; some lie in two bytes.\n"
        f"static unsigned {name}_get(const uint8_t *p, int64_t i) {{\n"
        f"  const int at = (int)(i * {bits} % 8);\n"
        f"  unsigned x = p[i * {bits} / 8] >> at;\n"
        f"  if (at > {8 - bits})\n"
        f"    x |= (unsigned)p[i * {bits} / 8 + 1] << (8 - at);\n"
        f"  return x & 0x{mask:x};\n}}",
        f"static void {name}_put(uint8_t *p, int64_t i, unsigned x) {{\n"
        f"  const int at = (int)(i * {bits} % 8);\n"
        f"  uint8_t *q = p + i * {bits} / 8;\n"
        f"  q[0] = (uint8_t)((q[0] & ~(0x{mask:x} << at)) | x << at);\n"
        f"  if (at > {8 - bits})\n"
        f"    q[1] = (uint8_t)((q[1] & ~(0x{mask:x} >> (8 - at))) | x >> (8 - at));\n}}",
    ]
