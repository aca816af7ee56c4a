"""Shardings: every answer is judged by enumeration, by numpy, by jax's recorded answers or by torch."""

from __future__ import annotations

import json
import pickle
import random
from itertools import product as cartesian
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout.dialects.shardings import SHARDING_DIALECTS, as_sharding
from relayout.sharding.mesh import MAX_DEVICES, Mesh, as_iota, iota
from relayout.sharding.sharding import Sharding

JAX = json.loads((Path(__file__).parent / "sharding_vectors" / "jax.json").read_text())


# ---- an independent model: every element by itself -----------------------------------------------------------


def held(s: Sharding, device: int, d: int) -> list[int]:
    """The coordinates of dimension ``d`` that a device holds, by arrays of numbers."""
    assert s.shape is not None
    where = dict(zip(s.mesh.axes, s.mesh.coordinate(device)))
    n, deals = s.shape[d], s.dims[d]
    values = []
    for deal in deals:
        if deal.axis is None:
            values.append(None)
        else:
            axis = np.arange(s.mesh.axes[deal.axis]).reshape(deal.before, deal.size, -1)
            values.append(int(np.argwhere(axis == where[deal.axis])[0][1]))
    if s.uneven == "chunk":
        return chunked(np.arange(n), [deal.size for deal in deals], values)
    fixed = prod(deal.size for deal in deals if deal.size)
    rest = -(-n // fixed)
    grid = np.arange(rest * fixed).reshape([deal.size or rest for deal in deals])
    part = grid[tuple(slice(None) if v is None else v for v in values)].ravel()
    return [int(x) for x in part if x < n]


def chunked(x: Any, sizes: list[int], values: list[int | None]) -> list[int]:
    if not sizes:
        return [int(c) for c in x]
    step = prod(sizes[1:]) if not sizes[0] and len(sizes) > 1 else len(x) if not sizes[0] else -(-len(x) // sizes[0])
    count = sizes[0] or (-(-len(x) // step) if step else 0)
    pieces = [x[k * step : (k + 1) * step] for k in range(count)]
    chosen = pieces if values[0] is None else [pieces[values[0]]]
    return [c for piece in chosen for c in chunked(piece, sizes[1:], values[1:])]


def random_sharding(rng: random.Random) -> Sharding:
    sizes = rng.choice([(2, 3), (4, 2), (2, 2, 2), (6,), (1, 4), (8, 1), (3,), (2, 4)])
    names = ["x", "y", "z"][: len(sizes)]
    devices = rng.sample(range(20), prod(sizes))
    rank = rng.randint(1, 3)
    entries: list[list[Any]] = [[] for _ in range(rank)]
    for name, n in rng.sample(list(zip(names, sizes)), len(names)):
        parts: list[Any] = [name] if n != 4 or rng.random() < 0.6 else [(name, 1, 2), (name, 2, 2)]
        for part in parts:
            if rng.random() < 0.8:
                entries[rng.randrange(rank)].append(part)
    for entry in entries:
        if rng.random() < 0.4:
            entry.insert(rng.randint(0, len(entry)), rng.choice([2, 3]))
        if rng.random() < 0.3:
            entry.insert(rng.randint(0, len(entry)), ...)
    shape = [rng.choice([0, 1, 5, 7, 8, 12, 13, 24]) for _ in range(rank)]
    uneven = rng.choice(["pad", "chunk"])
    return rl.Sharding(dict(zip(names, sizes)), entries, shape, devices=devices, uneven=uneven)


@pytest.mark.parametrize("seed", range(150))
def test_every_answer_by_enumeration(seed: int) -> None:
    s = random_sharding(random.Random(seed))
    assert s.shape is not None
    rank = len(s.shape)
    parts = {device: [held(s, device, d) for d in range(rank)] for device in s.devices}
    owners: dict[tuple[int, ...], set[int]] = {c: set() for c in cartesian(*map(range, s.shape))}
    for device, part in parts.items():
        cells = [c for box in s.boxes(device) for c in cartesian(*[range(*run) for run in box])]
        assert sorted(cells) == sorted(cartesian(*part))
        assert s.local_shape(device) == tuple(map(len, part))
        assert all(n <= most for n, most in zip(s.local_shape(device), s.padded_local_shape()))
        for c in cartesian(*part):
            owners[c].add(device)
    some = random.Random(seed).sample(list(owners), min(len(owners), 12))
    for c in some:
        assert s.holders(c) == tuple(sorted(owners[c]))
        for device in s.devices:
            if device in owners[c]:
                local = s.to_local(c, device)
                assert local == tuple([part.index(x) for part, x in zip(parts[device], c)])
                assert s.to_global(local, device) == c
            else:
                with pytest.raises(rl.OutOfBounds):
                    s.to_local(c, device)
    assert all(len(found) == s.replicas for found in owners.values())
    assert not owners or s.is_partition() == all(len(found) == 1 for found in owners.values())
    assert len({tuple(map(len, part)) for part in parts.values()}) == 1 or not s.is_even()


@pytest.mark.parametrize("seed", range(60))
def test_the_local_layout_is_where_the_elements_lie(seed: int) -> None:
    s = random_sharding(random.Random(1000 + seed))
    assert s.shape is not None
    whole = np.arange(prod(s.shape)).reshape(s.shape)
    columns = rl.Layout.col_major(s.shape)
    for device in s.devices:
        part = [held(s, device, d) for d in range(len(s.shape))]
        try:
            layout = s.local_layout(device)
        except rl.NotExpressible as refusal:
            runs = refusal.counterexample
            assert len(runs) > 2 or runs[0][1] - runs[0][0] < runs[1][1] - runs[1][0]
            continue
        assert layout.extents == tuple(map(len, part))
        expected = whole[np.ix_(*part)].ravel().tolist()
        assert [layout(c) for c in cartesian(*map(range, layout.extents))] == expected
        other = s.local_layout(device, columns)
        assert [other(c) for c in cartesian(*map(range, layout.extents))] == [columns(c) for c in cartesian(*part)]


def test_parts_one_after_another_are_one_array() -> None:
    seen = 0
    for seed in range(300):
        s = random_sharding(random.Random(seed))
        assert s.shape is not None
        if not s.is_even() or 0 in s.shape:
            continue
        seen += 1
        whole = np.arange(prod(s.shape)).reshape(s.shape)
        parts = {}
        for device in s.devices:
            parts[s.dealt(device)] = whole[np.ix_(*[held(s, device, d) for d in range(len(s.shape))])].ravel()
        memory = np.concatenate([parts[key] for key in sorted(parts)])
        layout = s.stacked_layout()
        assert [memory[layout(c)] for c in cartesian(*map(range, s.shape))] == whole.ravel().tolist()
    assert seen > 30
    tiles = rl.Format(2, [(0, 0), (1, 0), (0, 2), (1, 4)])
    s = rl.Sharding({"tp": 2}, [None, "tp"], (4, 16))
    layout = s.stacked_layout(tiles.layout((4, 8)))
    for rank, c in cartesian(range(2), cartesian(range(4), range(8))):
        assert layout(c[0], c[1] + 8 * rank) == 32 * rank + tiles.layout((4, 8))(c)
    with pytest.raises(rl.NotExpressible, match="not of one size"):
        rl.Sharding({"tp": 2}, ["tp"], (5,)).stacked_layout()
    with pytest.raises(rl.NotExpressible, match="whole local arrays"):
        s.stacked_layout(rl.Layout((4, 4)))


@pytest.mark.parametrize("seed", range(80))
def test_what_is_exchanged_by_enumeration(seed: int) -> None:
    rng = random.Random(2000 + seed)
    a = random_sharding(rng)
    b = random_sharding(rng)
    while len(b.dims) != len(a.dims):
        b = random_sharding(rng)
    b = b.at(a.shape)
    sent = a.exchange(b, 4)
    has = [{d: set(cartesian(*[held(s, d, k) for k in range(len(s.dims))])) for d in s.devices} for s in (a, b)]
    for device in b.devices:
        lacking = has[1][device] - has[0].get(device, set())
        assert sent.bytes_received(device) == 4 * len(lacking)
        for (sender, to), count in sent.pairs.items():
            if to == device:
                assert 0 < count <= 4 * len(has[0][sender] & lacking)
    assert sent.kept == 4 * sum(len(has[1][d] & has[0].get(d, set())) for d in b.devices)
    assert sent.total == sum(map(sum, sent.matrix())) == sum(map(sent.bytes_sent, a.devices))
    assert a.exchange(a).total == 0


@pytest.mark.parametrize("seed", range(120))
def test_two_are_the_same_when_every_device_holds_the_same(seed: int) -> None:
    rng = random.Random(3000 + seed)
    a = random_sharding(rng)
    b = random_sharding(rng)
    while len(b.dims) != len(a.dims) or b.mesh.size != a.mesh.size:
        b = random_sharding(rng)
    b = rl.Sharding(Mesh(b.mesh.axes, a.mesh.devices), b.dims, a.shape, uneven=b.uneven)
    has = [{d: set(cartesian(*[held(s, d, k) for k in range(len(s.dims))])) for d in s.devices} for s in (a, b)]
    verdict = rl.compare(a, b)
    assert bool(verdict) == (has[0] == has[1]) == a.equivalent(b)
    if not verdict:
        first = verdict.only == "first"
        assert (verdict.coordinate in has[0][verdict.device]) == first
        assert (verdict.coordinate in has[1][verdict.device]) != first
    free = rl.Sharding(a.mesh, a.dims, uneven=a.uneven), rl.Sharding(b.mesh, b.dims, uneven=b.uneven)
    try:
        every = rl.compare(*free)
    except rl.LimitExceeded:
        return
    assert not every or verdict


def test_texts_and_copies_say_the_same() -> None:
    for seed in range(60):
        s = random_sharding(random.Random(4000 + seed))
        assert rl.parse(str(s)) == s
        assert eval(repr(s), {"Sharding": rl.Sharding}) == s
        assert pickle.loads(pickle.dumps(s)) == s
        assert hash(s) == hash(rl.parse(str(s)))
        for name in SHARDING_DIALECTS:
            try:
                written = s.to(name)
            except rl.NotExpressible:
                continue
            again = rl.parse(written, name, s.shape)
            assert isinstance(again, Sharding)
            for device in s.devices:
                assert again.boxes(device) == s.boxes(device) or not all(s.local_shape(device))


# ---- jax -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", JAX[::10] + JAX[:100], ids=lambda case: str(case[:4]))
def test_jax_agrees(case: Any) -> None:
    sizes, devices, spec, shape, indices, hlo, text = case
    ids = np.array([SimpleNamespace(id=d) for d in devices], object).reshape(sizes)
    mesh = SimpleNamespace(shape=dict(zip("xyz", sizes)), devices=ids)
    entries = [None if not axes else axes[0] if len(axes) == 1 else tuple(axes) for axes in spec]
    s = as_sharding(SimpleNamespace(mesh=mesh, spec=entries), shape)
    assert s is not None
    for device, index in zip(sorted(devices), indices):
        assert s.boxes(device) == [tuple(map(tuple, index))]
    # XLA counts the devices of a mesh by their places in it, and jax prints no other order.
    in_order = rl.Sharding(dict(zip("xyz", sizes)), entries, shape)
    assert rl.compare(in_order, hlo)
    assert rl.compare(in_order, text)
    if s.mesh.size > 1:
        trailing = rl.Sharding(in_order.mesh, in_order.dims, shape)
        assert trailing.to("hlo") == hlo
    assert rl.compare(s.to("jax"), s, shape=shape)


def test_the_rest_of_jax_agrees() -> None:
    """All cases at once, by their HLO sharding alone."""
    for sizes, _, _, shape, indices, hlo, _ in JAX:
        s = rl.parse(hlo, shape=shape)
        assert isinstance(s, Sharding)
        boxes = [s.boxes(k) for k in range(prod(sizes))]
        assert sorted(map(str, boxes)) == sorted([str([tuple(map(tuple, index))]) for index in indices])


def test_other_objects_of_jax() -> None:
    ids = [SimpleNamespace(id=d) for d in (3, 1, 2, 0)]
    gspmd = SimpleNamespace(_hlo_sharding="{devices=[2,2]<=[4]}", _device_assignment=ids)
    s = as_sharding(gspmd, (4, 4))
    assert s is not None
    assert [s.boxes(d) for d in (3, 1, 2, 0)] == [
        [((a, a + 2), (b, b + 2))] for a, b in [(0, 0), (0, 2), (2, 0), (2, 2)]
    ]
    single = as_sharding(SimpleNamespace(_device_assignment=ids[:1]), (4,))
    assert single is not None
    assert single.devices == (3,)
    copies = as_sharding(SimpleNamespace(_hlo_sharding="{replicated}", _device_assignment=ids), (4,))
    assert copies is not None
    assert copies.replicas == 4
    unknown = SimpleNamespace(mesh=SimpleNamespace(shape={"x": 2}), spec=[object()])
    with pytest.raises(rl.NotExpressible, match="to the compiler"):
        as_sharding(unknown)
    partial = SimpleNamespace(mesh=SimpleNamespace(shape={"x": 2}), spec=SimpleNamespace(unreduced={"x"}))
    with pytest.raises(rl.NotExpressible, match="summand"):
        as_sharding(partial)


# ---- XLA and Shardy ------------------------------------------------------------------------------------------


def test_the_sharding_of_the_documents() -> None:
    s = rl.parse("{devices=[4,2]<=[2,4]T(1,0)}", shape=(16, 8))
    assert isinstance(s, Sharding)
    tiles = np.arange(8).reshape(2, 4).transpose(1, 0).reshape(4, 2)
    for (i, j), device in np.ndenumerate(tiles):
        assert s.boxes(int(device)) == [((4 * i, 4 * i + 4), (4 * j, 4 * j + 4))]
    assert s.devices == tuple(range(8))
    assert s.holders((5, 3)) == (1,)
    assert s.is_partition()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("{devices=[2,2]0,2,1,3}", "{devices=[2,2]<=[2,2]T(1,0)}"),
        ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", "{devices=[2,1,2]<=[4] last_tile_dims={replicated}}"),
        ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", "NamedSharding(Mesh('x': 2, 'y': 2), P('x', None))"),
        ("{devices=[1,4]<=[4]}", 'sharding={devices=[1,4]0,1,2,3 metadata={op_name="a{b}"}}'),
        ("{devices=[1,4]<=[4]}", "{devices=[1,4]<=[4] shard_as 3}"),
        ("{devices=[8]<=[4,2]T(1,0)}", "NamedSharding(Mesh('x': 4, 'y': 2), P(('y', 'x')))"),
        ("{devices=[4]<=[4]}", 'sdy.mesh @m = <["x"=4]> #sdy.sharding<@m, [{"x"}]>'),
        ("{devices=[2,2]<=[4]}", '#sdy.sharding<mesh<["x"=4]>, [{"x":(1)2}, {"x":(2)2, ?}p1]>'),
        (
            "{devices=[2,2,2]<=[8] last_tile_dim_replicate}",
            'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'
            'sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(1)2}], replicated={"y":(2)2}>',
        ),
        (
            "{devices=[8,1]<=[4,2]T(1,0)}",
            'sdy.mesh @mesh = <["a"=4, "b"=2]> {stablehlo.mesh = {axes = [{name = "a", size = 4 : i64}]}}\n'
            '#sdy.sharding<@mesh, [{"b", "a"}, {}]>',
        ),
        ("{maximal device=3}", "sdy.mesh @one = <[], device_ids=[3]> #sdy.sharding<@one, [{}, {}]>"),
        ("{maximal device=3}", "SingleDeviceSharding(device=CpuDevice(id=3), memory_kind=unpinned_host)"),
        ("{devices=[2]<=[2]}", "GSPMDSharding({devices=[2]<=[2]}, memory_kind=device)"),
        ("{replicated}", "NamedSharding(Mesh('x': 4), P())"),
        (
            "{devices=[2,2]0,2,1,3}",
            "DeviceMesh('cuda', [[0, 2], [1, 3]], mesh_dim_names=('a', 'b')) [Shard(0), Shard(1)]",
        ),
        ("{devices=[2,2]<=[4]}", "DeviceMesh((dp=2, tp=2), device: 'cpu', stride: (2, 1)), placements=(S(0), S(1))"),
        ("hf:colwise tp=4", "megatron:ColumnParallelLinear tp=4"),
        ("hf:rowwise tp=4", "megatron:partition_dim=1 partition_stride=1 tp=4"),
        ("hf:packed_colwise tp=4", "mesh(tp=4) deals (2*tp) uneven refuse"),
        ("hf:replicate tp=4", "megatron:partition_dim=-1, tp=4"),
        ("mesh(x=2, y=2) deals (x*y)", "mesh(z=4) deals (z)"),
        ("mesh(x=4) deals (x:(1)2*x:(2)2)", "mesh(z=4) deals (z)"),
        ("mesh(x=4; 3,1,2,0) deals (x, -)", "mesh(x=4; 3,1,2,0) deals (x)"),
    ],
)
def test_two_notations_of_one_sharding(text: str, same: str) -> None:
    assert rl.compare(text, same), rl.compare(text, same)
    for name in SHARDING_DIALECTS:
        s = as_sharding(text)
        assert s is not None
        try:
            again = s.to(name)
        except rl.NotExpressible:
            continue
        assert rl.compare(f"{name}:{again}", same)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("{manual}", rl.NotExpressible, "up to the program"),
        ("{devices=[2,2]<=[4] last_tile_dims={manual}}", rl.NotExpressible, "up to the program"),
        ("{devices=[2,2]<=[4] last_tile_dims={unreduced}}", rl.NotExpressible, "summand"),
        ("{devices=[2,2]<=[8]}", rl.ShapeError, "multiply to 4, and there are 8"),
        ("{devices=[2,2]0,1,2}", rl.ShapeError, "multiply to 4, and there are 3"),
        ("{devices=[2,2]0,1,2,2}", rl.ShapeError, "device 2 is in the mesh twice"),
        ("{devices=[2,2]<=[2,2]T(0,0)}", rl.ParseError, "an order of 2"),
        ("{devices=[0,2]<=[2]}", rl.ParseError, "1 or more"),
        ("{devices=[2,2]<=[4]", rl.ParseError, "the end"),
        ("{devices=[2,2]<=[4] wrong}", rl.ParseError, "'}'"),
        ("{devices=[99999999]<=[99999999]}", rl.LimitExceeded, "over the limit"),
        ("P('x')", rl.ParseError, "has the mesh"),
        ("NamedSharding(Mesh('x': 2), P('y'))", rl.ShapeError, "no mesh axis 'y'"),
        ("NamedSharding(Mesh('x': 2), P('x', 'x'))", rl.ShapeError, "dimensions 0 and 1"),
        ("NamedSharding(Mesh('x': 2), P(('x', 'x')))", rl.ShapeError, "dimension 0 twice"),
        ("NamedSharding(Mesh('x': 2), P(UNCONSTRAINED))", rl.NotExpressible, "to the compiler"),
        ("NamedSharding(Mesh('x': 2, 'x': 2), P('x'))", rl.ShapeError, "two axes 'x'"),
        ("NamedSharding(Mesh(device_ids=array([[0], [1, 2]]), axis_names=('x', 'y')), P('x'))", rl.ParseError, "equal"),
        ('#sdy.sharding<@m, [{"x"}]>', rl.ParseError, "stands before it"),
        ('sdy.mesh @m = <["x"=4]> #sdy.sharding<@m, [{"x":(3)2}]>', rl.ShapeError, "no part"),
        ('sdy.mesh @m = <["x"=4]> #sdy.sharding<@m, [{"x":(1)4}, {"x":(2)2}]>', rl.ShapeError, "dimensions 0 and 1"),
        ('sdy.mesh @m = <["x"=4]> #sdy.sharding<@m, [{}], unreduced={"x"}>', rl.NotExpressible, "summand"),
        ("DeviceMesh((2, 2), 'cpu') (Shard(0), Partial(sum))", rl.NotExpressible, "summand"),
        ("DeviceMesh((2, 2), 'cpu') (Shard(0),)", rl.ShapeError, "1 placements"),
        ("DeviceMesh((2, 2), 'cpu') (Shard(-1), R)", rl.ShapeError, "counts from the end"),
        ("DeviceMesh((2, 2), 'cpu', stride=(1, 2)) (R, R)", rl.ParseError, "strides"),
        ("DeviceMesh((2, 3), 'cpu') (_StridedShard(0, split_factor=2), Shard(0))", rl.NotExpressible, "divide each"),
        ("hf:sideways tp=2", rl.ParseError, "one of colwise"),
        ("megatron:partition_dim=-2 tp=2", rl.ParseError, "-1 for none"),
        ("mesh(x=2) deals (y)", rl.ShapeError, "no mesh axis"),
        ("mesh(x=2) deals (...*x*...)", rl.ShapeError, "the rest twice"),
        ("mesh(x=2) deals (x) uneven maybe", rl.ParseError, "one of pad"),
        ("mesh(x=0) deals (x)", rl.ShapeError, "1 or more"),
    ],
)
def test_refusals_say_why(text: str, error: type[rl.LayoutError], words: str) -> None:
    with pytest.raises(error) as caught:
        rl.parse(text)
    assert words in str(caught.value)


def test_mutated_texts_are_read_or_refused() -> None:
    texts = [
        "{devices=[4,1,2]<=[8] last_tile_dims={replicated} metadata={a=b}}",
        "{devices=[2,2]0,2,1,3}",
        "NamedSharding(mesh=Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto)), spec=P('x', None), memory_kind=device)",
        "NamedSharding(Mesh(device_ids=array([[0, 2], [1, 3]]), axis_names=('x', 'y')), P('x', ('y',)))",
        'sdy.mesh @mesh = <["x"=4]> {a = 1} #sdy.sharding<@mesh, [{"x":(1)2, ?}p1], replicated={"x":(2)2}>',
        "DeviceMesh((dp=4, tp=2), 'cpu', stride=(2, 1)) (_StridedShard(dim=0, sf=2), Shard(dim=0))",
        "megatron:partition_dim=0 partition_stride=3 tp=2",
        "mesh(x=4, y=2; [2,4]T(1,0)) deals (2*x, ...*y*16) uneven chunk shape (8, 64)",
    ]
    rng = random.Random(11)
    read = 0
    for _ in range(1500):
        text = list(rng.choice(texts))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            text[at : at + rng.randint(0, 1)] = rng.choice(["", *"{}[]()<>=,.:;*-?@'0129xT "])
        try:
            s = rl.parse("".join(text), shape=rng.choice([None, (8, 64), (16,)]))
        except rl.LayoutError:
            continue
        read += 1
        assert not isinstance(s, Sharding) or rl.parse(str(s)) == s
    assert read


def test_bad_shapes_and_devices() -> None:
    s = rl.Sharding({"x": 4}, ["x"])
    with pytest.raises(rl.ShapeError, match="no shape yet"):
        s.boxes(0)
    with pytest.raises(rl.ShapeError, match="no shape yet"):
        s.holders((0,))
    with pytest.raises(rl.OutOfBounds, match="no device 4"):
        s.at((8,)).boxes(4)
    with pytest.raises(rl.OutOfBounds):
        s.at((8,)).holders((8,))
    with pytest.raises(rl.ShapeError, match="1 dimensions are dealt"):
        s.at(())
    with pytest.raises(rl.ShapeError, match="not divided"):
        rl.parse("hf:colwise tp=4", shape=(6, 2))
    with pytest.raises(rl.ShapeError, match="2 dimensions, and the shape has 3"):
        rl.parse("{devices=[2,2]<=[4]}", shape=(4, 4, 4))
    with pytest.raises(rl.ShapeError, match="how many devices"):
        _ = rl.parse("{replicated}", shape=(4,)).devices
    with pytest.raises(rl.ShapeError, match="is a sharding"):
        rl.resolve("{replicated}")
    with pytest.raises(rl.ShapeError, match="is none"):
        rl.compare("{replicated}", "nchw")
    with pytest.raises(rl.ShapeError):
        rl.Sharding({"x": 2}, "x")
    with pytest.raises(rl.ShapeError):
        rl.Sharding({"x": 2}, [2.5])
    with pytest.raises(rl.ShapeError):
        rl.Sharding({"x": 2}, ["x"], uneven="maybe")
    with pytest.raises(rl.ShapeError, match="is no notation"):
        s.to("cute")
    with pytest.raises(rl.LimitExceeded):
        Mesh({"x": MAX_DEVICES + 1})
    with pytest.raises(rl.LimitExceeded, match="runs"):
        rl.Sharding({"x": 2}, [(..., "x")], (1 << 40,)).boxes(0)
    assert rl.Sharding({"x": 2}, [(..., "x")], (1 << 40,)).holders((1 << 39) + 1) == (1,)
    assert rl.parse("{replicated}", shape=(4,)).boxes(77) == [((0, 4),)]


def test_huge_tensors_need_no_enumeration() -> None:
    a = rl.parse("{devices=[64,64]<=[4096]}", shape=(1 << 60, 1 << 60))
    b = rl.parse("NamedSharding(Mesh('x': 64, 'y': 64), P('x', 'y'))", shape=(1 << 60, 1 << 60))
    assert rl.compare(a, b)
    assert a.boxes(1) == [((0, 1 << 54), (1 << 54, 1 << 55))]
    assert a.local_layout(65)(0, 0) == (1 << 54) * (1 << 60) + (1 << 54)


def test_orders_of_devices_are_written_as_grids() -> None:
    rng = random.Random(7)
    for _ in range(200):
        sizes = [rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(1, 4))]
        order = rng.sample(range(len(sizes)), len(sizes))
        expected = np.arange(prod(sizes)).reshape(sizes).transpose(order).ravel().tolist()
        assert iota(sizes, order) == expected
        found = as_iota(expected)
        assert found is not None
        assert iota(*found) == expected
        assert len(found[0]) <= max(1, len([n for n in sizes if n > 1]))
    assert as_iota([0, 2, 1]) is None


# ---- torch ---------------------------------------------------------------------------------------------------


def placements_of(rng: random.Random) -> tuple[tuple[int, ...], list[tuple[str, int]], tuple[int, ...]]:
    mesh = rng.choice([(2,), (4,), (2, 2), (2, 3), (3, 2), (4, 2), (2, 2, 2)])
    rank = rng.randint(1, 2)
    kinds = [rng.choice([("S", rng.randrange(rank)), ("S", 0), ("R", 0)]) for _ in mesh]
    return mesh, kinds, tuple([rng.randint(0, 17) for _ in range(rank)])


def test_torch_agrees_also_where_sizes_are_uneven() -> None:
    utils = pytest.importorskip("torch.distributed.tensor._utils")
    types = pytest.importorskip("torch.distributed.tensor.placement_types")
    for seed in range(300):
        mesh, kinds, shape = placements_of(random.Random(seed))
        torch_placements = [types.Shard(d) if kind == "S" else types.Replicate() for kind, d in kinds]
        axes = ", ".join([f"m{k}={n}" for k, n in enumerate(mesh)])
        s = rl.parse(f"DeviceMesh(({axes}), 'cpu') ({', '.join(map(repr, torch_placements))},)", shape=shape)
        assert isinstance(s, Sharding)
        for device, coordinate in enumerate(cartesian(*map(range, mesh))):
            local, offset = utils._compute_local_shape_and_global_offset(
                shape, mesh, list(coordinate), torch_placements
            )
            assert s.local_shape(device) == tuple(local)
            boxes = s.boxes(device)
            assert not boxes or [start for start, _ in boxes[0]] == list(offset)
            assert len(boxes) <= 1


def test_strided_shards_are_what_fsdp_over_tensor_parallelism_stores() -> None:
    """FSDP2 splits what tensor parallelism left, each part by itself; the placements say it from left to right."""
    torch = pytest.importorskip("torch")
    for n, dp, tp in cartesian(range(1, 20), (2, 3, 4), (2, 3)):
        text = f"DeviceMesh((dp={dp}, tp={tp}), 'cpu') (_StridedShard(dim=0, sf={tp}), Shard(dim=0))"
        s = rl.parse(text, shape=(n,))
        for device, (i, j) in enumerate(cartesian(range(dp), range(tp))):
            whole = list(torch.arange(n).chunk(tp))
            mine = list(whole[j].chunk(dp)) if j < len(whole) else []
            stored = mine[i].tolist() if i < len(mine) else []
            assert [c for (run,) in s.boxes(device) for c in range(*run)] == stored
        if n % (dp * tp) == 0:
            assert s.to("dtensor") == text.replace("dim=", "").replace("sf=", "split_factor=")


def test_torch_gives_other_elements_where_strided_shards_are_uneven() -> None:
    """pytorch#168134: what torch computes from the placements is not what FSDP2 stored, and the same as us else."""
    torch = pytest.importorskip("torch")
    utils = pytest.importorskip("torch.distributed.tensor._utils")
    types = pytest.importorskip("torch.distributed.tensor.placement_types")
    strided = types._StridedShard(0, split_factor=2)
    wrong = set()
    for n in range(1, 25):
        s = rl.parse("DeviceMesh((dp=3, tp=2), 'cpu') (_StridedShard(0, 2), Shard(0))", shape=(n,))
        for device, coordinate in enumerate(cartesian(range(3), range(2))):
            local, _ = utils._compute_local_shape_and_global_offset(
                (n,), (3, 2), list(coordinate), [strided, types.Shard(0)]
            )
            if tuple(local) != s.local_shape(device):
                wrong.add(n)
    assert wrong == {7, 13, 19}
    assert all(n % 6 for n in wrong)
    seven = rl.parse("DeviceMesh((dp=3, tp=2), 'cpu') (_StridedShard(0, 2), Shard(0))", shape=(7,))
    last = torch.arange(7).chunk(2)[1].chunk(3)[2].tolist()
    assert last == [6]
    assert seven.holders((6,)) == (5,)  # dp=2, tp=1; torch says it is on dp=2, tp=0
    # The placement alone: torch's rule is ours, and not the one that the report recommends.
    alone = rl.parse("DeviceMesh((2,), 'cpu') (_StridedShard(0, 2),)", shape=(5,))
    assert [alone.boxes(d) for d in (0, 1)] == [[((0, 2),), ((3, 4),)], [((2, 3),), ((4, 5),)]]
    for rank, elements in enumerate(([0, 1, 3], [2, 4])):
        assert strided.local_shard_size_and_offset(5, 2, rank, types._StridedShardOffsetMode.ALL) == (
            len(elements),
            elements,
        )


def test_objects_of_torch() -> None:
    torch = pytest.importorskip("torch")
    types = pytest.importorskip("torch.distributed.tensor.placement_types")
    mesh = SimpleNamespace(mesh=torch.tensor([[0, 2], [1, 3]]), mesh_dim_names=("dp", "tp"))
    s = as_sharding((mesh, [types.Shard(0), types._StridedShard(1, split_factor=2)]), (4, 8))
    assert s is not None
    assert s.boxes(2) == [((0, 2), (2, 4)), ((0, 2), (6, 8))]
    tensor = SimpleNamespace(device_mesh=mesh, placements=(types.Replicate(), types.Shard(-1)), shape=(4, 6))
    assert rl.explain(tensor).splitlines()[2] == "Every element is on 2 devices, along dp."
    with pytest.raises(rl.NotExpressible, match="summand"):
        as_sharding((mesh, [types.Partial(), types.Shard(0)]))


# ---- tensor-parallel plans -----------------------------------------------------------------------------------


def test_plans_deal_weights_and_biases() -> None:
    w = np.arange(16 * 4).reshape(16, 4)
    packed = rl.parse("hf:packed_colwise tp=2", shape=(16, 4))
    gate, up = w[:8], w[8:]
    for rank in range(2):
        expected = np.concatenate([gate[rank * 4 : rank * 4 + 4], up[rank * 4 : rank * 4 + 4]])
        got = np.concatenate([w[tuple(slice(*run) for run in box)] for box in packed.boxes(rank)])
        assert (got == expected).all()
    assert rl.parse("hf:colwise tp=2", shape=(16,)).boxes(1) == [((8, 16),)]
    assert rl.parse("hf:rowwise tp=2", shape=(16,)).replicas == 2
    assert rl.parse("hf:rowwise tp=2", shape=(3, 16, 4)).boxes(1) == [((0, 3), (0, 16), (2, 4))]
    assert rl.parse("hf:colwise tp=2", shape=(3, 16, 4)).boxes(1) == [((0, 3), (8, 16), (0, 4))]
    assert packed.to("megatron") == "partition_dim=0 partition_stride=2 tp=2"


# ---- words and pictures --------------------------------------------------------------------------------------


def test_explained() -> None:
    words = rl.explain("{devices=[4,2]<=[2,4]T(1,0)}", (15, 8), dtype="float16")
    assert "12 to 16 (32 bytes at most)" in words
    assert "Device 3: [12:15, 0:4]." in words
    assert "hold nothing" in rl.explain("mesh(x=4) deals (x)", (3,))
    assert "And 8 devices more." in rl.explain("mesh(x=16) deals (x)", (16,))
    assert "nothing says" in rl.explain("{replicated}")
    assert rl.explain("{maximal device=3}").startswith("One device, 3, holds all.")
    with pytest.raises(rl.ShapeError):
        rl.explain("{replicated}", axes="nchw")


def test_drawn_by_device() -> None:
    picture = rl.draw("{devices=[4,2]<=[2,4]T(1,0)}", shape=(15, 8))
    lines = picture.text().splitlines()
    assert [line.split() for line in lines[3:]] == [
        ["0:4", "|", "0", "4"],
        ["4:8", "|", "1", "5"],
        ["8:12", "|", "2", "6"],
        ["12:15", "|", "3", "7"],
    ]
    assert "4:8" in picture.svg()
    assert "device 7" in picture.html()
    three = rl.draw(rl.Sharding({"x": 2, "y": 2, "z": 2}, ["x", "y", "z"], (2, 4, 6))).scene()
    assert len(three.panes[0].grids) == 2
    verdict = rl.compare("{devices=[4]<=[4]}", "{devices=[4]<=[2,2]T(1,0)}", shape=(8,))
    scene = rl.draw(verdict).scene()
    assert [grid.tints for pane in scene.panes for grid in pane.grids] == [[-1, 1, 2, -1], [-1, 2, 1, -1]]
    assert rl.draw(rl.compare("{devices=[4]<=[4]}", "mesh(x=4) deals (x)", shape=(8,))).scene().legend == []
    with pytest.raises(rl.ShapeError, match="beside"):
        rl.draw("{devices=[4]<=[4]}", "nchw", shape=(8,))
    with pytest.raises(rl.ShapeError):
        rl.draw("{devices=[4]<=[4]}").text()
    with pytest.raises(rl.LimitExceeded):
        rl.draw("mesh(x=2) deals (...*x)", shape=(1 << 15,)).text()
    assert rl.Sharding({"x": 2}, ["x"], (4,))._repr_svg_() is not None
    assert rl.Sharding({"x": 2}, ["x"])._repr_svg_() is None


def test_the_explorer_draws_and_tells() -> None:
    from relayout.web.handle import handle

    state = {"a": "{devices=[4,2]<=[2,4]T(1,0)}", "b": "{devices=[4,2]<=[8]}", "shape": "16,8"}
    view = handle({"ask": "view", "state": state})
    assert view["notations"] == {"a": ["hlo"], "b": ["hlo"]}
    assert view["subjects"][0]["shape"] == ["16", "8"]
    assert "4:8" in view["figures"]
    sheet = handle({"ask": "facts", "state": state})["facts"][0]
    texts = {row["notation"]: row["text"] for row in sheet["rosetta"]}
    assert texts["hlo"] == state["a"]
    assert texts["hf"] is None
    compared = handle({"ask": "view", "state": {**state, "do": "compare"}})
    assert compared["verdict"]["same"] is False
    assert compared["verdict"]["coordinate"] == ["4", "0"]
    assert "rl.compare(" in handle({"ask": "copy", "state": {**state, "do": "compare"}, "form": "python"})["text"]
    assert "rl.draw('{devices" in handle({"ask": "copy", "state": state, "form": "python"})["text"]
    assert handle({"ask": "view", "state": {"a": state["a"]}})["error"]["field"] == "shape"
    beside = handle({"ask": "view", "state": {"a": "mesh(x=2) deals (x) shape (4,)", "b": "nchw", "do": "beside"}})
    assert beside["error"]["field"] == "b"
    alone = handle({"ask": "view", "state": {"a": "mesh(x=2) deals (x) shape (4,)"}})
    assert alone["subjects"][0]["shape"] == ["4"]


def test_the_commands_take_shardings() -> None:
    from click.testing import CliRunner

    from relayout.cli.main import relayout

    def told(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(relayout, words)
        return done.exit_code, done.output

    hlo = "{devices=[4,2]<=[2,4]T(1,0)}"
    code, output = told("show", hlo, "--shape", "16,8")
    assert code == 0
    assert "partition     True" in output
    code, output = told("show", "{replicated}", "--json")
    assert json.loads(output)["result"]["sharding"]["devices"] is None
    assert told("compare", hlo, "{devices=[4,2]<=[8]}")[0] == 1
    assert told("compare", hlo, "NamedSharding(Mesh('x': 2, 'y': 4), P('y', 'x'))") == (
        0,
        "the same sharding for every shape\n",
    )
    assert json.loads(told("compare", hlo, hlo, "--json")[1])["result"]["same"] is True
    assert told("translate", hlo, "--to", "hlo") == (0, f"{hlo}\n")
    assert told("translate", hlo, "--to", "hf")[0] == 4
    assert "sdy.mesh" in told("translate", hlo)[1]
    assert told("explain", hlo)[0] == 0
    assert "12:16" in told("draw", hlo, "--shape", "16,8")[1]
    assert told("at", hlo, "0,0")[0] == 3
