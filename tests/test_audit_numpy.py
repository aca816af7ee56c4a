"""Random HLO programs of moves, whose memory numpy works out: kinds, bytes, pairs and savings are judged by it."""

from __future__ import annotations

import random
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pytest

import relayout as rl

SIZES = (1, 2, 3, 4, 6, 8, 12, 24)


class Value(NamedTuple):
    """A value of a program: which element of the parameter is at each coordinate, and the dimensions, fastest first."""

    name: str
    elements: Any
    order: tuple[int, ...]

    @property
    def memory(self) -> list[int]:
        return np.transpose(self.elements, self.order[::-1]).ravel().tolist()  # type: ignore[no-any-return]

    @property
    def text(self) -> str:
        return f"f32[{','.join(map(str, self.elements.shape))}]{{{','.join(map(str, self.order))}}}"


def shuffled(rng: random.Random, rank: int) -> tuple[int, ...]:
    return tuple(rng.sample(range(rank), rank))


def other_shape(rng: random.Random, size: int) -> tuple[int, ...]:
    rank = rng.randint(1, 3)
    return rng.choice([shape for shape in product(SIZES, repeat=rank) if prod(shape) == size] or [(size,)])


def derive(rng: random.Random, name: str, old: Value, known: list[Value]) -> tuple[str, Value]:
    """An instruction on a value: its opcode with what it takes, and the value that comes out."""
    op = rng.choice(["copy", "copy", "transpose", "reshape", "bitcast", "negate"])
    rank = old.elements.ndim
    if op == "copy":
        orders = [value.order for value in known if value.elements.shape == old.elements.shape]
        return f"copy({old.name})", Value(name, old.elements, rng.choice([*orders, shuffled(rng, rank)]))
    if op == "transpose":
        order = shuffled(rng, rank)
        written = f"transpose({old.name}), dimensions={{{','.join(map(str, order))}}}"
        return written, Value(name, old.elements.transpose(order), shuffled(rng, rank))
    if op == "negate":
        return f"negate({old.name})", Value(name, old.elements, old.order)
    shape = other_shape(rng, old.elements.size)
    order = shuffled(rng, len(shape))
    if op == "reshape":
        return f"reshape({old.name})", Value(name, old.elements.reshape(shape), order)
    slowest_first = order[::-1]
    stored = np.array(old.memory).reshape([shape[d] for d in slowest_first])
    return f"bitcast({old.name})", Value(name, stored.transpose(np.argsort(slowest_first)), order)


@pytest.mark.parametrize("seed", [*range(12), 24, 27, 52, 61, 77, 87, 99, 107])
def test_numpy_agrees_on_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.choices((1, 2, 3, 4, 6), k=rng.randint(1, 4)))
    values = [Value("v0", np.arange(prod(shape)).reshape(shape), shuffled(rng, len(shape)))]
    lines = ["HloModule m", "ENTRY e {", f"  v0 = {values[0].text} parameter(0)"]
    memories = {}
    for k in range(1, rng.randint(6, 16)):
        old = rng.choice(values[-2:])
        written, new = derive(rng, f"v{k}", old, values)
        values.append(new)
        lines.append(f"  v{k} = {new.text} {written}")
        memories[len(lines)] = written.partition("(")[0], old.memory, new.memory
    lines[-1] = lines[-1].replace("  v", "  ROOT v")
    audit = rl.audit("\n".join([*lines, "}", ""]))
    assert not audit.troubles
    found = {move.place.line: (move.op, move.kind == "same bytes", move.bytes) for move in audit.moves}
    assert found == {
        line: (op, before == after, 4 * len(after) if op == "copy" or before != after else 0)
        for line, (op, before, after) in memories.items()
        if op != "negate"
    }
    for pair in audit.pairs:
        first, second = (audit.moves[k].place.line for k in (pair.first, pair.second))
        assert memories[first][1] == memories[second][2], (first, second)
    assert sum([saving.bytes for saving in audit.savings]) <= audit.totals.bytes


@pytest.mark.parametrize("seed", range(30))
def test_numpy_agrees_on_fusions_of_moves(seed: int) -> None:
    """Moves one after another in a fusion are one, from what it reads to what it writes."""
    rng = random.Random(seed)
    shape = tuple(rng.choices((2, 3, 4), k=rng.randint(1, 3)))
    first = value = Value("v0", np.arange(prod(shape)).reshape(shape), shuffled(rng, len(shape)))
    lines = [f"  v0 = {value.text} parameter(0)"]
    while len(lines) < 4:
        written, new = derive(rng, f"v{len(lines)}", value, [first, value])
        if not written.startswith("negate"):
            lines.append(f"  v{len(lines)} = {new.text} {written}")
            value = new
    body = "\n".join([*lines[:-1], lines[-1].replace("  v", "  ROOT v")])
    audit = rl.audit(
        f"HloModule m\nbody {{\n{body}\n}}\nENTRY e {{\n  p = {first.text} parameter(0)\n"
        f"  ROOT f = {value.text} fusion(p), kind=kLoop, calls=body\n}}\n"
    )
    (found,) = [move for move in audit.moves if "all that fusion f does" in move.remarks]
    assert found.bytes == 4 * first.elements.size
    assert found.kind == ("same bytes" if first.memory == value.memory else "rearranges") or found.kind == "undecided"
    if "bitcast" not in body and "reshape" not in body:
        assert found.kind != "undecided"


def test_of_three_moves_there_and_back_two_are_saved() -> None:
    audit = rl.audit(
        "HloModule m\nENTRY e {\n"
        "  p = f32[6,8]{0,1} parameter(0)\n"
        "  n = f32[6,8]{0,1} negate(p)\n"
        "  a = f32[6,8]{1,0} copy(n)\n"
        "  b = f32[6,8]{0,1} copy(a)\n"
        "  d = f32[6,8]{0,1} dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
        "  c = f32[6,8]{1,0} copy(b)\n"
        "  ROOT t = (f32[6,8]{0,1}, f32[6,8]{1,0}) tuple(d, c)\n}\n"
    )
    assert [(audit.moves[p.first].place.line, audit.moves[p.second].place.line) for p in audit.pairs] == [
        (5, 6),
        (6, 8),
    ]
    assert [(saving.moves, saving.bytes) for saving in audit.savings] == [((0, 1), 2 * 192)]


def test_a_pair_saves_as_many_runs_as_it_has() -> None:
    line = "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:{}::f0 dst:f32::blocked:{}::f0"
    there, back = (f"{line.format(*tags)},,,1x16x8x8,0.5\n" for tags in (("abcd", "aBcd16b"), ("aBcd16b", "abcd")))
    audit = rl.audit(there + there + there + back)
    assert [(pair.runs, audit.moves[pair.first].count) for pair in audit.pairs] == [(1, 3)]
    assert [saving.bytes for saving in audit.savings] == [2 * 4096]


def test_a_pair_comes_before_the_guess_that_a_parameter_is_a_weight() -> None:
    audit = rl.audit(
        "HloModule m\nENTRY e {\n"
        "  p = f32[6,8]{0,1} parameter(0)\n"
        "  q = f32[6,8]{0,1} parameter(1)\n"
        "  a = f32[6,8]{1,0} copy(p)\n"
        "  b = f32[6,8]{0,1} copy(a)\n"
        "  c = f32[6,8]{1,0} copy(q)\n"
        "  ROOT t = (f32[6,8]{0,1}, f32[6,8]{1,0}) tuple(b, c)\n}\n"
    )
    assert [saving.moves for saving in audit.savings] == [(0, 1), (2,)]
