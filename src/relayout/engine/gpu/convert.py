"""Conversions in a kernel: a function of one stored value, bit for bit what the interfaces decode and encode.

A device makes every NaN the same; the bits of NaNs are moved by hand, as a CPU moves them.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from ...elements.encoding import Encoding
from ...elements.interface import Interface, Plain, ScaleOffset
from ..conversion import refuses_nan, scales_of, table_of

_SIGNED = {"int8": "i8", "int16": "short", "int32": "int", "int64": "i64"}
_UNSIGNED = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64"}
_INTEGERS = {**_SIGNED, **_UNSIGNED}
_TO_FLOAT = ("bool", *_INTEGERS, "float16", "bfloat16", "float32", "float64")
_FROM_FLOAT = ("float16", "bfloat16", "float32", "float64")
_QUANTISED = ("int8", "int16", "int32", "uint8", "uint16")
_DOUBLES = ("int32", "int64", "uint32", "uint64", "float16")

EXACT = 1 << 23
"""Offsets up to this one are subtracted exactly from types of up to 16 bits."""

STEPS = """
DEVICE u32 half_magnitude(u32 magnitude) {
    const u32 least = 113u << 23, rebias = 112u << 23;
    const u32 subnormal = __float_as_uint(__fadd_rn(__uint_as_float(magnitude), 0.5f)) - __float_as_uint(0.5f);
    const u32 normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - rebias) >> 13;
    return magnitude < least ? subnormal : normal < 0x7c00 ? normal : 0x7c00;
}
DEVICE u32 half_nan(u32 payload) { return 0x7c00 | (payload == 0 ? 1 : payload); }
DEVICE u32 half_of_float(u32 bits) {
    const u32 magnitude = bits & 0x7fffffff;
    const u32 half = magnitude > 0x7f800000 ? half_nan(magnitude >> 13 & 0x3ff) : half_magnitude(magnitude);
    return half | (bits >> 16 & 0x8000);
}
DEVICE u32 half_of_double(u64 bits) {
    const u64 magnitude = bits & 0x7fffffffffffffffull, rest = (u64(1) << 29) - 1;
    const u64 odd = (magnitude & ~rest) | ((magnitude & rest) != 0 ? rest + 1 : 0);
    const u32 number = half_magnitude(__float_as_uint(float(__longlong_as_double(i64(odd)))));
    const u32 nan = half_nan(u32(magnitude >> 42 & 0x3ff));
    return (magnitude > 0x7ff0000000000000ull ? nan : number) | u32(bits >> 48 & 0x8000);
}
DEVICE u32 half_of_bfloat(u32 bits) {
    const u32 magnitude = (bits & 0x7fff) << 16;
    return (magnitude > 0x7f800000 ? 0x7e00 : half_magnitude(magnitude)) | (bits & 0x8000);
}
DEVICE u32 bfloat_of_float(u32 bits) {
    const u32 nan = 0x7fc00000 | (bits & 0x80000000), rounded = bits + 0x7fff + (bits >> 16 & 1);
    return ((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded) >> 16;
}
DEVICE u32 float_of_half(u32 x) {
    const u32 magnitude = (x & 0x7fff) << 13, sign = (x & 0x8000) << 16, least = 113u << 23, rebias = 112u << 23;
    const float subnormal = __fadd_rn(__uint_as_float(magnitude + least), -__uint_as_float(least));
    const u32 finite = magnitude < (1u << 23) ? __float_as_uint(subnormal) : magnitude + rebias;
    return (magnitude < (31u << 23) ? finite : magnitude + 2 * rebias) | sign;
}
DEVICE u64 double_of_float(u32 bits) {
    const u64 nan = u64(bits & 0x7fffff) << 29 | 0x7ff8000000000000ull | u64(bits & 0x80000000) << 32;
    const u64 number = u64(__double_as_longlong(double(__uint_as_float(bits))));
    return (bits & 0x7fffffff) > 0x7f800000 ? nan : number;
}
DEVICE u64 double_of_half(u32 x) {
    const u64 nan = u64(x & 0x7fff) << 42 | 0x7ff0000000000000ull | u64(x & 0x8000) << 48;
    return (x & 0x7fff) > 0x7c00 ? nan : double_of_float(float_of_half(x));
}
DEVICE u32 float_of_double(u64 bits) {
    const u32 nan = u32(bits >> 29 & 0x7fffff) | 0x7fc00000 | u32(bits >> 32 & 0x80000000);
    const u32 number = __float_as_uint(float(__longlong_as_double(i64(bits))));
    return (bits & 0x7fffffffffffffffull) > 0x7ff0000000000000ull ? nan : number;
}
DEVICE float quantised(float x, float low, float high) {
    x = x < high ? x : high;
    return x > low ? x : low;
}
"""


@lru_cache(maxsize=256)
def conversion_text(source: Interface, target: Interface) -> str | None:
    """The function ``convert(x, source channel, target channel)``; None where some value could be refused."""
    bits = source.element.bits, target.element.bits
    if min(bits) < 8 or max(bits) > 64 or refuses_nan(source, target):
        return None
    if isinstance(source, Encoding) or isinstance(target, Encoding):
        return None
    if bits[0] == 8 and not source.element.integral:
        table = table_of(source, target)
        return None if table is None else _looked_up(table)
    names = source.element.underlying.name, target.element.underlying.name
    plain = isinstance(source, Plain) and isinstance(target, Plain)
    step = _direct(*names) if plain else None
    data: list[str] = []
    if step is None:
        loaded = _load_float(source, names[0], data)
        step = None if loaded is None else _stored(target, names[1], loaded, data)
    if step is None:
        return None
    given, made = ["u64" if size == 64 else "u32" for size in bits]
    return "\n".join([STEPS, *data, f"DEVICE {made} convert({given} x, u32 from_channel, u32 to_channel) {{ {step} }}"])


def _direct(a: str, b: str) -> str | None:
    """The conversions that do not go by way of float32."""
    if b in _INTEGERS:
        if a == "bool":
            return "return x != 0;"
        if a not in _INTEGERS or a == b:
            return None
        narrow, wide = int(a.lstrip("uint")), int(b.lstrip("uint"))
        fits = narrow < wide and (b in _SIGNED or a in _UNSIGNED)
        return f"return {'u64' if wide == 64 else 'u32'}({_INTEGERS[b]}({_INTEGERS[a]}(x)));" if fits else None
    if b == "float64" and a in _DOUBLES:
        if a == "float16":
            return "return double_of_half(x);"
        return f"return u64(__double_as_longlong(double({_INTEGERS[a]}(x))));"
    if b == "float16" and a in ("bfloat16", "float64"):
        return f"return half_of_{'bfloat' if a == 'bfloat16' else 'double'}(x);"
    return None


def _load_float(source: Interface, name: str, data: list[str]) -> str | None:
    """The source's value as the bits of a float32."""
    if isinstance(source, Plain):
        if name in _INTEGERS:
            return f"__float_as_uint(float({_INTEGERS[name]}(x)))"
        return {
            "bool": "__float_as_uint(float(x != 0))",
            "float16": "float_of_half(x)",
            "bfloat16": "x << 16",
            "float32": "x",
            "float64": "float_of_double(x)",
        }.get(name)
    factors, offsets = scales_of(source) or ((), ())
    if name not in _QUANTISED or (source.element.bits <= 16 and max(map(abs, offsets)) > EXACT):
        return None
    scale = _channel(list(factors), "from_scale", "from_channel", data)
    offset = _channel([float(-o) for o in offsets], "from_offset", "from_channel", data)
    return f"__float_as_uint(__fmul_rn(__fadd_rn(float({_INTEGERS[name]}(x)), {offset}), {scale}))"


def _stored(target: Interface, name: str, bits: str, data: list[str]) -> str | None:
    """What stores a float32, given its bits."""
    if isinstance(target, Plain):
        return {
            "float16": f"return half_of_float({bits});",
            "bfloat16": f"return bfloat_of_float({bits});",
            "float32": f"return {bits};",
            "float64": f"return double_of_float({bits});",
        }.get(name)
    if name not in _QUANTISED or not isinstance(target, ScaleOffset):
        return None
    import numpy as np

    factors, offsets = scales_of(target) or ((), ())
    inverse = [float(np.float32(1) / np.float32(f)) for f in factors]
    factor = _channel(inverse, "to_factor", "to_channel", data)
    offset = _channel([float(o) for o in offsets], "to_offset", "to_channel", data)
    low, high = target.limits
    value = f"__fadd_rn(__fmul_rn(__uint_as_float({bits}), {factor}), {offset})"
    return f"return u32(__float2int_rn(quantised({value}, {float(low)}f, {float(high)}f)));"


def _channel(values: list[float], name: str, index: str, data: list[str]) -> str:
    """A float32 for all channels, or the one of a channel; padding has none, and takes the first."""
    words = [f"0x{struct.unpack('<I', struct.pack('<f', _single(v)))[0]:08x}u" for v in values]
    if len(words) == 1:
        return f"__uint_as_float({words[0]})"
    data.append(f"DATA u32 {name}[{len(words)}] = {{{', '.join(words)}}};")
    return f"__uint_as_float({name}[{index} < {len(words)}u ? {index} : 0u])"


def _single(value: float) -> float:
    import numpy as np

    return float(np.float32(value))


def _looked_up(table: bytes) -> str:
    width = len(table) // 256
    kind = "u64" if width == 8 else "u32"
    words = [
        f"0x{int.from_bytes(table[k * width : (k + 1) * width], 'little'):x}{'ull' if width == 8 else 'u'}"
        for k in range(256)
    ]
    return (
        f"DATA {kind} converted[256] = {{{', '.join(words)}}};\n"
        f"DEVICE {kind} convert(u32 x, u32, u32) {{ return converted[x & 0xff]; }}"
    )
