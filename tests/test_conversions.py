"""What ``ttg.convert_layout`` costs: the ways and the shuffles are Triton's, and the scratch memory is tried out."""

from __future__ import annotations

import json
from itertools import product as cartesian
from typing import NamedTuple

import pytest

import relayout as rl
from relayout.hardware import conversion
from triton_vectors import FOLDER

ELEMENTS = {"f32": "float32", "f16": "float16", "i8": "int8", "f64": "float64"}
A = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
B = "#ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>"


class Lowered(NamedTuple):
    """How Triton lowered one conversion: with so many bytes of shared memory and so many shuffles."""

    a: str
    b: str
    shape: tuple[int, ...]
    element: str
    arch: str
    shared: int
    shuffles: int


def lowered() -> list[Lowered]:
    found = []
    for line in (FOLDER / "conversions.txt").read_text().splitlines():
        a, b, sizes, element, target, shared, shuffles = line.split("\t")
        arch = "sm90" if target == "cuda:90" else target.removeprefix("hip:")
        shape = tuple([int(n) for n in sizes.split("x")])
        found.append(Lowered(a, b, shape, ELEMENTS[element], arch, int(shared), int(shuffles)))
    return found


def test_every_way_is_tritons() -> None:
    ways = set()
    for case in lowered():
        found = conversion(case.a, case.b, shape=case.shape, element=case.element, arch=case.arch)
        assert (found.way == "shared memory") == (case.shared > 0), case
        if case.arch == "sm90":
            assert found.shuffles == case.shuffles, case
        ways.add((found.way, found.reach))
    assert {way for way, _ in ways} == {"nothing", "registers", "shuffles", "shared memory"}
    assert ("shared memory", "warp") in ways, "what needs several exchanges within a warp goes through memory, too"


def test_values_arrive_and_no_access_conflicts() -> None:
    seen = 0
    for case in lowered()[:150]:
        found = conversion(case.a, case.b, shape=case.shape, element=case.element, arch=case.arch)
        if found.scratch is None or found.store is None or found.load is None:
            continue
        seen += 1
        assert found.scratch.is_invertible()
        for traffic in (found.store, found.load):
            assert traffic.wavefronts == traffic.ideal, (case, str(found))
            assert traffic.wavefronts is not None or (case.arch == "gfx942" and "cost is not known" in str(traffic))
        # A vector is together: its registers hold neighbours in the scratch memory, in both layouts.
        width = int(found.store.access.rpartition("b")[2]) // int(case.element.strip("abcdefghijklmnopqrstuvwxyz"))
        for threads, traffic in ((found.source, found.store), (found.target, found.load)):
            places = [threads.apply(register=r, lane=0, warp=0, block=0) for r in range(threads.in_dims["register"])]
            offsets = [found.scratch.apply(place)["offset"] for place in places]
            groups = {offset // width for offset in offsets}
            assert len(groups) == traffic.instructions
            assert len(offsets) == len(set(offsets)) == width * len(groups)
    assert seen > 40


def test_reach_is_what_enumeration_says() -> None:
    for case in lowered()[:120]:
        found = conversion(case.a, case.b, shape=case.shape, element=case.element, arch=case.arch)
        names = ("register", "lane", "warp", "block")
        counts = [found.source.in_dims[name] for name in names]
        wanted = [found.target.in_dims[name] for name in names]
        if max(counts[0], wanted[0]) * counts[1] * counts[2] > 256:
            continue
        holders: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
        for at in cartesian(*[range(n) for n in counts]):
            value = found.source(*at)
            holders.setdefault(value if isinstance(value, tuple) else (value,), set()).add(at)
        near = ["thread", "warp", "block", "cluster"]
        reached = 0
        for at in cartesian(*[range(n) for n in wanted]):
            value = found.target(*at)
            held = holders[value if isinstance(value, tuple) else (value,)]
            reached = max(reached, next(k for k in range(4) if any(at[k + 1 :] == other[k + 1 :] for other in held)))
        assert found.reach == near[reached] or (found.reach == "register" and reached == 0)


def test_a_conversion_prints_itself() -> None:
    assert str(conversion(A, A, shape=(64, 64))) == "nothing: every value is in its register already"
    turned = A.replace("[1, 4]", "[2, 4]")
    other = turned.replace("order = [1, 0]", "order = [0, 1]").replace("[8, 4]", "[8, 4]")
    assert "shuffles a warp" in str(conversion(turned, other, shape=(64, 64), element="float16"))
    found = conversion(f"tensor<64x64xf16, {A}>", f"tensor<64x64xf16, {B}>")
    assert str(found).splitlines()[0] == "shared memory, 8192 bytes: values go to other warps"
    assert found.facts()["wavefronts"] == found.wavefronts == found.store.total + found.load.total
    assert json.loads(json.dumps(found.facts()))["store"]["access"].startswith("st.shared.b")
    linear = rl.LinearLayout.parse(A, (64, 64))
    assert conversion(linear, rl.render(linear, "ttg")).way == "nothing"


def test_registers_are_renamed_for_nothing() -> None:
    one = rl.LinearLayout({"register": [(1,), (2,)], "lane": [(4,)]}, {"x": 8})
    two = rl.LinearLayout({"register": [(2,), (1,)], "lane": [(4,)]}, {"x": 8})
    found = conversion(one, two)
    assert (found.way, found.reach) == ("registers", "thread")
    assert str(found) == "registers only: values stay in their thread, and are renamed"
    assert found.wavefronts == 0


def test_mistakes_are_told() -> None:
    with pytest.raises(rl.ShapeError, match="width of an element"):
        conversion(A, B, shape=(64, 64))
    with pytest.raises(rl.ShapeError, match="4 warps and the other 8"):
        conversion(A, B.replace("[1, 4]", "[2, 4]"), shape=(64, 64), element="int8")
    with pytest.raises(rl.ShapeError, match="the tensors are"):
        conversion(f"tensor<64x64xf16, {A}>", f"tensor<64x32xf16, {A}>")
    with pytest.raises(rl.ShapeError, match="not those of threads"):
        conversion("#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>", A, shape=(64,))
    with pytest.raises(rl.ShapeError, match="gfx942 has 64"):
        conversion(A, B, shape=(64, 64), element="int8", arch="gfx942")
    with pytest.raises(rl.ShapeError, match="to nobody"):
        conversion(*[rl.LinearLayout({"lane": [(1,)]}, {"dim0": 4})] * 2)
    with pytest.raises(rl.LayoutError):
        conversion(A, B, shape=(64, 64), element="int8", arch="sm9")
