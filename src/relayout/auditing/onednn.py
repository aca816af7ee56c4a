"""Logs of ``ONEDNN_VERBOSE``, of oneDNN 2.x and 3.x: every reorder that ran is a move with its time, every other
primitive a step.

A log names no memory. A value is known by its type, format and sizes: a primitive reads the last one of these that was
written. What a line reads from outside the first time that it is there, it reads from outside every time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from math import inf, prod
from typing import NamedTuple

from ..elements.types import ELEMENTS
from ..integers.nested import flatten
from ..layout.layout import Layout
from .artefact import Artefact
from .making import make_move, make_side
from .move import Buffer, Found, Side, Step
from .onednn_sizes import memory_sizes

MOST_LINES = 1 << 14
"""How many different lines are remembered; a log repeats the same ones in every run."""

COMPENSATION = 1 | 4 | 8
"""The flags of a memory that has compensation behind its elements."""

UNSIZED = "and compensation, whose size the log does not tell"

_MARK = re.compile(r"\b(?:onednn|dnnl|mkldnn)_verbose,")
_EXTRA = re.compile(r"(?:s8|zp)m(\d+)")
_NAMED = re.compile(r"(?P<name>[a-z0-9_]+?)[_:](?P<type>undef|boolean|e8m0|f4_e\dm\d|f8_e\dm\d|[a-z]+\d+)$")
_READ = ("src", "wei", "bia", "data", "diff_dst")
_WRITTEN = ("dst", "data", "diff_src", "diff_wei", "diff_bia", "diff_data")
_ELEMENTWISE = ("eltwise", "binary", "sum")
_WEIGHTED = ("convolution", "deconvolution", "inner_product", "matmul")


class PrimitiveMemory(NamedTuple):
    """A memory of a primitive: what it is for (``src``, ``wei``, ``dst``, ...), its side, and what it is known by.

    Where the log does not tell the sizes, nothing follows it: the key is empty. ``sort`` is its type and format.
    """

    name: str
    side: Side
    key: str
    sort: str
    remark: str = ""


class Ran(NamedTuple):
    """A primitive that ran, as all lines with the same text tell it: what it reads and writes.

    ``bytes`` are those of all its memories, None where the log does not tell them; ``alike`` is True where every
    element is treated alone. A line that cannot be read has no ``kind``.
    """

    kind: str
    problem: str = ""
    reads: tuple[PrimitiveMemory, ...] = ()
    writes: tuple[PrimitiveMemory, ...] = ()
    bytes: int | None = None
    alike: bool = False
    trouble: str = ""


class OneDnnReader:
    """Reads verbose logs."""

    kind = "onednn"
    title = "oneDNN log, values told apart by type, format and sizes"
    EXAMPLES = (
        "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 "
        "dst:f32:p:blocked:aBcd16b::f0,,,1x24x8x8,0.25\n",
        "dnnl_verbose,exec,cpu,reorder,ref:any,undef,src_f32::blocked:abcd:f0 dst_f32::blocked:acdb:f0,,,1x3x4x5,1\n",
    )

    def recognises(self, artefact: Artefact) -> bool:
        return _MARK.search(artefact.opening) is not None

    def read(self, artefact: Artefact) -> Iterator[Found]:
        packed = _count_packings(artefact)
        flow = _Values()
        seen = False
        told: set[str] = set()  # only values from outside, of which there are as many as different lines
        for line, text in artefact.lines():
            parted = _fields(text)
            if parted is None:
                continue
            seen = True
            body, last = parted
            ran = read_line(body)
            time = _seconds(last)
            if ran.trouble or time is None:
                yield artefact.trouble(ran.trouble or f"a line without a time: it ends in {last[:80]!r}", line)
            if not ran.kind:
                continue
            place = artefact.place(line, ran.problem)
            inputs, outputs = flow.names_of(body, ran)
            if ran.kind != "reorder" or not inputs or not outputs:
                known = tuple([name for name in inputs if name]), tuple([name for name in outputs if name])
                yield Step(place, ran.kind, *known, ran.alike, ran.bytes, time)
                continue
            source, target = ran.reads[0].side, ran.writes[0].side
            role = packed.role(ran.writes[0].key)
            if role and inputs[0].endswith(body) and inputs[0] not in told:
                told.add(inputs[0])
                yield Buffer(place, source, _shape(source), role, inputs[0])
            weights = ran.writes[0].key and packed.executions[ran.writes[0].key]
            remarks: tuple[str, ...] = ("weights",) if weights and not role else ()
            remarks += (ran.writes[0].remark,) if ran.writes[0].remark else ()
            yield make_move(
                place,
                "reorder",
                source,
                target,
                bytes=ran.bytes,
                time=time,
                reads=inputs[0],
                writes=outputs[0],
                remarks=remarks,
            )
        if not seen:
            yield artefact.trouble("no primitive ran in this log; ONEDNN_VERBOSE=1 logs those that run")


def _fields(text: str) -> tuple[str, str] | None:
    """What a line says that ran without its times, and the time that it took; None of any other line."""
    found = _MARK.search(text)
    if found is None:
        return None
    head, mark, rest = text[found.end() :].partition("exec,")
    if not mark or head.count(",") > 3 or (head and not head.endswith(",")):
        return None
    component = head.rstrip(",").rpartition(",")[2]
    if component in ("graph", "ukernel"):
        rest = f"{component},{rest}"
    body, _, last = rest.rpartition(",")
    return body, last


def _seconds(text: str) -> float | None:
    try:
        time = float(text) / 1e3
    except ValueError:
        return None
    return time if 0 <= time < inf else None


@lru_cache(maxsize=MOST_LINES)
def read_line(body: str) -> Ran:
    """What the fields between ``exec`` and the time say."""
    fields = body.split(",")
    if fields[0] in ("graph", "ukernel"):
        return Ran(fields[0])
    if not fields[0].startswith(("cpu", "gpu", "any", "undef")):
        return Ran("", trouble=f"{fields[0][:40]!r} is no engine: the line is cut, or of a version before 1.0")
    if len(fields) < 5:
        return Ran("", trouble=f"the line is cut: {body[:80]!r}")
    kind = fields[1]
    problem = fields[7] if len(fields) > 7 else ""
    memories = [_memory(*described) for described in _split_memories(fields) if described[1] != "undef"]
    reads = tuple([memory for memory in memories if memory.name.startswith(_READ)])
    writes = tuple([memory for memory in memories if memory.name.startswith(_WRITTEN)])
    stored = [memory.side.stored_bytes for memory in (writes if kind == "reorder" else memories)]
    total = sum([n for n in stored if n is not None]) if stored and None not in stored else None
    alike = kind in _ELEMENTWISE and len({memory.key.partition(" ")[2] for memory in memories} | {""}) == 2
    trouble = f"the line is cut after {fields[-1][:80]!r}" if len(fields) < 8 else ""
    return Ran(kind, problem, reads, writes, total, alike, trouble)


def _split_memories(fields: list[str]) -> list[tuple[str, str, str, tuple[int, ...] | None]]:
    """The name, the element type, the rest and the sizes of each memory of a line."""
    described = [_split_memory(text) for text in fields[4].split()]
    sizes = memory_sizes(fields[1], fields[7] if len(fields) > 7 else "", [name for name, _, _ in described])
    return [(name, word, text, sizes.get(name)) for name, word, text in described]


def _split_memory(text: str) -> tuple[str, str, str]:
    """The name, the element type and the rest of ``src_f32::blocked:abcd:f0`` or ``src:f32::blocked:abcd::f0``."""
    first, _, rest = text.partition(":")
    if (found := _NAMED.match(first)) is None:
        second, _, rest = rest.partition(":")
        return first, second, rest
    return found["name"], found["type"], rest


def _memory(name: str, word: str, text: str, shape: tuple[int, ...] | None) -> PrimitiveMemory:
    """A memory: ``text`` is what comes behind the element type, as in ``p:blocked:aBcd16b::f0``."""
    properties, kind, tag, strides, rest = _split_format(text)
    element = next((e.name for e in ELEMENTS.values() if e.xla == word), None)
    key, sort = _key(word, text, shape), _sort(word, text)
    shown = f"{tag} strides {strides}" if strides else tag or kind
    if kind != "blocked":
        why = f"oneDNN does not tell the layout of {kind or 'this memory'}"
        return PrimitiveMemory(name, Side(shown, None, None, "", why), key, sort)
    written = f"m:{properties}:blocked:{tag}:{strides}" if strides or set("o0") & set(properties) else tag
    side = make_side(written, dialect="onednn", shape=shape, element=element, shown=shown)
    more = [int(mask) for mask in _EXTRA.findall(rest)]
    flags = re.search(r"\bf(\d+)", rest)
    remark = UNSIZED if flags and int(flags[1]) & COMPENSATION and not more else ""
    if more and isinstance(side.layout, Layout) and side.stored_bytes is not None:
        side = side._replace(reserved=side.stored_bytes + sum([_compensation(side.layout, mask) for mask in more]))
    return PrimitiveMemory(name, side, key, sort, remark)


def _split_format(text: str) -> tuple[str, str, str, str, str]:
    """The properties, the kind, the tag, the strides and the rest of ``p:blocked:aBcd16b::f0``."""
    properties, kind, tag, rest = [*text.split(":", 3), "", "", "", ""][:4]
    strides = rest.partition(":")[0] if rest[:1].isdigit() else ""
    return properties, kind, tag, strides, rest


def _key(word: str, text: str, shape: tuple[int, ...] | None) -> str:
    """What a memory is known by; empty where its sizes are not told."""
    return f"{_sort(word, text)} {'x'.join(map(str, shape))}" if shape else ""


def _sort(word: str, text: str) -> str:
    """The type and the format of a memory."""
    _, kind, tag, strides, _ = _split_format(text)
    return f"{word} {tag or kind} {strides}"


def _compensation(layout: Layout, mask: int) -> int:
    """The bytes behind 8-bit weights: 32 bits for each index, padding included, of the dimensions in the mask."""
    sizes: list[int] = [prod(flatten(mode.shape)) for mode in layout]
    total: int = prod([n for d, n in enumerate(sizes) if mask >> d & 1])
    return 4 * total


def _shape(side: Side) -> tuple[int, ...]:
    return tuple(side.layout.extents) if isinstance(side.layout, Layout) else ()


class _Packings:
    """How often weights of each kind were written by a reorder, and how often a primitive read them."""

    def __init__(self) -> None:
        self.reorders: Counter[str] = Counter()
        self.executions: Counter[str] = Counter()

    def role(self, key: str) -> str:
        """``constant`` for weights that are packed each time, ``parameter`` for those that were read only once."""
        if not key or not self.executions[key] or self.executions[key] > self.reorders[key]:
            return ""
        return "constant" if self.reorders[key] > 1 else "parameter"


def _count_packings(artefact: Artefact) -> _Packings:
    """A first look at the log, since only its end tells whether weights are packed in every run."""
    lines: Counter[str] = Counter()
    found = _Packings()
    for _, text in artefact.lines():
        if parted := _fields(text):
            lines[parted[0]] += 1
        if len(lines) >= MOST_LINES:
            _add_packings(lines, found)
            lines.clear()
    _add_packings(lines, found)
    return found


def _add_packings(lines: Counter[str], found: _Packings) -> None:
    for body, count in lines.items():
        fields = body.split(",")
        if len(fields) < 5 or fields[1] not in ("reorder", *_WEIGHTED):
            continue
        wanted, counts = ("dst", found.reorders) if fields[1] == "reorder" else ("wei", found.executions)
        for name, word, text, shape in _split_memories(fields):
            if name.startswith(wanted):
                counts[_key(word, text, shape)] += count


class _Values:
    """The values under way: the last one of each type, format and sizes.

    What is written with sizes that the log does not tell may be any of its type and format: none of these is followed.
    """

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._unsized: Counter[str] = Counter()
        self._outside: dict[tuple[str, str], str] = {}

    def names_of(self, body: str, ran: Ran) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the values that a primitive reads and writes."""
        inputs = tuple([self._read(body, memory.key, memory.sort) for memory in ran.reads])
        for memory in ran.writes:
            if not memory.key:
                self._unsized[memory.sort] += 1
        return inputs, tuple([self._write(memory.key, memory.sort) for memory in ran.writes])

    def _read(self, body: str, key: str, sort: str) -> str:
        if not key:
            return ""
        version = self._versions.get(key, 0)
        outside = self._outside.setdefault((body, key), "" if version else f"{key} of {body}")
        if len(self._outside) > MOST_LINES:
            del self._outside[next(iter(self._outside))]
        return outside or f"{key} #{version}.{self._unsized[sort]}"

    def _write(self, key: str, sort: str) -> str:
        if not key:
            return ""
        self._versions[key] = version = self._versions.pop(key, 0) + 1
        if len(self._versions) > MOST_LINES:
            del self._versions[next(iter(self._versions))]
        return f"{key} #{version}.{self._unsized[sort]}"


READER = OneDnnReader()
