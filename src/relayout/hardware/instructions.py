"""What an access to shared memory is called: the texts of PTX, of SASS and of AMD's assembly, as one name each.

The names are ``ld.shared.b128``, ``st.shared.b32``, ``ldmatrix.x4.trans``, ``stmatrix.x2``, ``cp.async.b128``,
``atom.shared.b32`` and ``ds_read_b64``. What is no access, or one that several addresses a lane belong to, is refused.
"""

from __future__ import annotations

import re

from ..errors import NotExpressible, ShapeError, shown

_QUALIFIERS = {
    *("weak", "volatile", "relaxed", "acquire", "release", "mmio"),
    *("cta", "cluster", "gpu", "sys", "sync", "aligned"),
}
"""What PTX says of order and scope, which has no part in how banks are served."""

_SHARED = {"shared", "shared::cta"}

_TYPE = re.compile(r"([busf]|bf|e)(8|16|32|64|128)(x2)?")

_SASS = re.compile(r"(lds|sts)(?:\.([us])?(8|16|32|64|128))?")

_DS = re.compile(r"ds_(read|load|write|store)_([bui])(8|16|32|64|96|128)")

_ATOMIC = re.compile(r"(?:add|inc|dec|min|max|and|or|xor|exch)\.[usb]32|b32")
"""The atomics that take one operand of 4 bytes and no loop."""

_EXAMPLES = "ld.shared.b128, st.shared.v2.f32, ldmatrix.x4.trans, stmatrix.x4, cp.async.b128 or ds_read_b64"


def canonical_name(text: object) -> str:
    """The one name of the access that a text tells; a text that has none comes back as it is, in lower case.

    >>> canonical_name("ld.shared.v4.u32"), canonical_name("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
    ('ld.shared.b128', 'ldmatrix.x4.trans')
    """
    if not isinstance(text, str):
        raise ShapeError(f"an access is a text, not {shown(text)}.", hint=f"write {_EXAMPLES}", access=text)
    name = text.strip().lower().rstrip(";")
    if name.startswith("ds_"):
        return _ds(name)
    if found := _SASS.fullmatch(name):
        bits = found[3] or "32"
        return f"{found[1][:2]}.shared.b{bits}"
    operation, *words = name.split(".")
    if operation in ("ld", "st"):
        return _load_or_store(operation, words, name)
    if operation in ("ldmatrix", "stmatrix"):
        return _matrix(operation, words, name)
    if operation in ("atom", "red"):
        return _atomic(operation, words, name)
    if operation == "cp" and words[:1] == ["async"]:
        return _copy(words[1:], name)
    return name


def _load_or_store(operation: str, words: list[str], name: str) -> str:
    rest = [word for word in words if word not in _QUALIFIERS]
    if not rest or rest[0] not in _SHARED:
        where = rest[0] if rest else "nowhere"
        if where == "global":
            raise NotExpressible(
                f"{name} has no banks: it goes to global memory.", hint="ask rl.sectors", access=name, arch=None
            )
        if where.startswith("shared::"):
            raise NotExpressible(
                f"what {name} costs is not known: it reaches the shared memory of another block.",
                hint="ask about ld.shared and st.shared",
                access=name,
            )
        return name
    vector, kind = (rest[1], rest[2:]) if len(rest) > 2 else ("v1", rest[1:])
    found = _TYPE.fullmatch(kind[0]) if len(kind) == 1 else None
    if found is None or vector not in ("v1", "v2", "v4", "v8"):
        return name
    bits = int(vector[1:]) * int(found[2]) * (2 if found[3] else 1)
    if bits > 128:
        raise ShapeError(
            f"{name} would move {bits // 8} bytes a lane; shared memory takes 16 at most.",
            hint=f"split it: {operation}.shared.b128 moves 16",
            access=name,
        )
    return f"{operation}.shared.b{bits}"


def _matrix(operation: str, words: list[str], name: str) -> str:
    rest = [word for word in words if word not in _QUALIFIERS and word not in _SHARED]
    count = [word for word in rest if word in ("x1", "x2", "x4")]
    shape = [word for word in rest if re.fullmatch(r"m\d+n\d+", word)]
    kind = [word for word in rest if word in ("b16", "b8")]
    trans = ["trans"] if "trans" in rest else []
    if len(count) != 1 or len(rest) != len(count) + len(shape) + len(kind) + len(trans):
        return name
    plain = shape in ([], ["m8n8"]) and kind in ([], ["b16"])
    return ".".join([operation, *([] if plain else shape), *count, *trans, *([] if plain else kind)])


def _atomic(operation: str, words: list[str], name: str) -> str:
    rest = [word for word in words if word not in _QUALIFIERS]
    if not rest or rest[0] not in _SHARED:
        return name
    if _ATOMIC.fullmatch(".".join(rest[1:])) is None:
        raise NotExpressible(
            f"what {name} costs is not known: only atomics with one integer of 4 bytes are measured.",
            hint="atom.shared.add.u32 and red.shared.add.u32 are, and their like",
            access=name,
        )
    return f"{operation}.shared.b32"


def _copy(words: list[str], name: str) -> str:
    if words[:1] == ["bulk"]:
        raise NotExpressible(
            f"{name} has no lanes: the copy engine moves whole boxes.",
            hint="its swizzles are layouts: ask rl.banks how the lanes read what it wrote",
            access=name,
        )
    sizes = {"4": "b32", "8": "b64", "16": "b128", "b32": "b32", "b64": "b64", "b128": "b128"}
    rest = [word for word in words if word not in ("ca", "cg", "global") and word not in _SHARED]
    return f"cp.async.{sizes[rest[0]]}" if len(rest) == 1 and rest[0] in sizes else name


def _ds(name: str) -> str:
    if re.match(r"ds_(read|write|load|store)_?(2|2addr|2st64|2addr_stride64)_", name):
        raise NotExpressible(
            f"{name} has two addresses a lane.",
            hint="it serves all first ones and then all second ones: ask for each, and add the two",
            access=name,
        )
    found = _DS.fullmatch(name)
    if found is None:
        return name
    return f"ds_{'read' if found[1] in ('read', 'load') else 'write'}_b{found[3]}"
