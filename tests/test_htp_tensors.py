"""HTP's tensors: a layout written out is the layout of its name, chunks have addresses, and signatures are checked."""

from __future__ import annotations

import copy
import pickle
from collections import defaultdict
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relayout as rl
from relayout import Format, catalog, htp
from relayout.testing import conformance

CROUTON = "ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,32>"
ENTRIES = {
    name: form
    for name, entry in catalog.ENTRIES.items()
    if name.startswith("htp:")
    for form in entry.forms.values()
    if isinstance(form, Format)
}
SHAPE = (2, 9, 20, 50)
X = (np.arange(np.prod(SHAPE)) % 251).astype(np.uint8).reshape(SHAPE)


def written(fmt: Format) -> str:
    """The text of a layout in the page's notation, from its pairs alone."""
    return f"ChunkedMemoryLayout<{fmt.rank}, {', '.join(f'{d},{n}' for d, n in fmt.pairs)}>"


def promises(fmt: Format) -> tuple[Any, ...]:
    return fmt.axes, fmt.fill, fmt.indirect, fmt.element_bits


# ---- a name and what it stands for ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENTRIES)
def test_a_layout_written_out_is_the_layout_of_its_name(name: str) -> None:
    fmt, text = ENTRIES[name], written(ENTRIES[name])
    assert rl.parse(text) == rl.parse(f"htp:{text}") == rl.parse(text, "htp") == fmt
    assert promises(rl.parse(text)) == promises(fmt)  # type: ignore[arg-type]
    assert rl.explain(text) == rl.explain(name)
    assert f"Known as {name}" in rl.explain(text)
    dtype = f"uint{fmt.element_bits or 8}"
    shape = tuple([2 * b for b in fmt.block_shape])
    made, named = rl.empty(text, dtype, shape), rl.empty(name, dtype, shape)
    assert repr(made) == repr(named)
    assert made.format == named.format == fmt
    assert (made.blocks is None) == (fmt.indirect is None)
    assert rl.check(made, name, strict=True) is made
    assert rl.check(named, text, strict=True) is named
    assert rl.resolve(text, shape=shape).fill == rl.resolve(name, shape=shape).fill


def test_names_of_one_layout_promise_the_same() -> None:
    """Else a text that is equal to both would mean one of them by chance."""
    alike = defaultdict(list)
    for name, fmt in ENTRIES.items():
        sizes: dict[int, list[int]] = defaultdict(list)
        digits: list[tuple[int, int]] = []
        for d, n in fmt.pairs[fmt.rank :]:
            sizes[d].append(n)
            digits.append((d, n))
        alike[fmt.rank, fmt.order, tuple(digits)].append(name)
    for names in alike.values():
        assert len({promises(ENTRIES[name]) for name in names}) == 1, names
    for name in catalog.names("htp:*"):
        for bits, form in catalog.entry(name).forms.items():
            if isinstance(form, Format):
                (same,) = {n for n, fmt in ENTRIES.items() if fmt == form}
                assert bits is None or form.element_bits == bits
                assert name == same or name in catalog.other_names(same)


def test_flat_layouts_have_axes_where_the_page_has_a_name() -> None:
    assert [getattr(rl.parse(f"FlatMemoryLayout<{rank}>"), "axes") for rank in (3, 4, 5, 6)] == [  # noqa: B009
        None,
        "nhwc",
        "ndhwc",
        "abcdef",
    ]


def test_digits_that_merge_are_the_same_layout() -> None:
    assert rl.parse("ChunkedMemoryLayout<4, 0,0, 1,0, 2,0, 3,0, 1,8, 2,8, 3,8, 3,4>") == catalog.get("htp:R4Crouton")


def test_a_plain_layout_is_none_of_the_names() -> None:
    plain = rl.parse(CROUTON).plain()  # type: ignore[union-attr]
    assert promises(plain) == ("nhwc", None, None, None)
    bare = rl.parse("format:0 1 2 3 / 1,8 2,8 3,32")
    assert promises(bare) == (None,) * 4  # type: ignore[arg-type]
    made = rl.empty(plain, "uint8", (1, 3, 5, 30))
    assert made.blocks is None
    assert int(made.raw.max()) == 0
    assert "Crouton" not in repr(made)
    assert "which it is not: that has fill 31 and a table" in rl.explain(plain)
    assert rl.check(made, "htp:R4Crouton") is made, "its elements lie there"
    with pytest.raises(rl.LayoutMismatch, match="its format is 0 1 2 3 / 1,8 2,8 3,32 axes nhwc"):
        rl.check(made, "htp:R4Crouton", strict=True)


def test_fill_table_and_files_follow_the_text(tmp_path: Path) -> None:
    x = np.zeros((1, 3, 5, 30), np.uint8)
    t = rl.from_logical(x, CROUTON)
    assert t.raw.reshape(8, 8, 32)[0, 0, 30:].tolist() == [31, 31]
    assert rl.repack(x, CROUTON).reshape(-1).tolist() == rl.repack(x, "htp:R4Crouton").reshape(-1).tolist()
    np.save(tmp_path / "x.npy", x)
    for name, text in (("a", CROUTON), ("b", "htp:R4Crouton")):
        rl.repack_file(tmp_path / "x.npy", tmp_path / f"{name}.npy", to=text)
    a, b = [np.load(tmp_path / f"{name}.npy") for name in "ab"]
    assert (a == b).all()
    assert a.reshape(-1)[31] == 31
    found = rl.infer(t)
    assert "htp:R4Crouton" in found.names
    assert found.texts["htp"] == CROUTON


def test_explain_lists_the_other_names() -> None:
    assert "Other names of htp:R4Crouton: htp:Crouton, htp:crouton, htp:ChannelMajorCrouton." in rl.explain(CROUTON)
    assert rl.parse("htp:d32") == rl.parse("htp:R4Depth32MemoryLayout")
    assert rl.parse("htp:flat") == rl.parse("FlatMemoryLayout<4>")
    assert rl.parse("htp:crouton", dtype="int16") == catalog.get("htp:R4Crouton2")
    assert catalog.other_names("cublaslt:VEC16_UE4M3") == ["nvfp4:scales"], "another name of an equal format is not one"


# ---- addresses and chunks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, fmt in ENTRIES.items() if fmt.rank == 4])
@pytest.mark.parametrize("gap", [0, 96])
def test_block_at_is_the_chunk_and_its_address(name: str, gap: int) -> None:
    fmt = ENTRIES[name]
    kind = f"uint{fmt.element_bits or 8}"
    size = np.dtype(kind).itemsize
    chunk = fmt.block_shape
    shape = tuple([b + max(b // 2, 1) for b in chunk])
    x = (np.arange(np.prod(shape)) % 199 + 32).astype(kind).reshape(shape)
    words = {"gap": gap} if fmt.indirect else {}
    t = rl.from_logical(x, fmt, axes=fmt.axes, **words)  # type: ignore[arg-type]
    whole = tuple([chunk[d] if d != 3 or fmt.indirect != 3 else -(-shape[3] // 32) * 32 for d in range(4)])
    padded = np.full(fmt.padded_shape(shape), fmt.fill or 0, kind)
    padded[tuple(map(slice, shape))] = x
    starts = set()
    for coordinate in product(*[(0, n - 1) for n in shape]):
        view = t.block_at(coordinate)
        first = [c // n * n for c, n in zip(coordinate, whole, strict=True)]
        assert view.shape == whole
        assert view.address == t.get_raw_addr(first)
        assert (view.numpy() == padded[tuple(slice(f, f + n) for f, n in zip(first, whole, strict=True))]).all()
        starts.add(view.address)
        raw = t.get_raw(coordinate)
        assert raw.address == t.get_raw_addr(*coordinate)
        assert np.frombuffer(raw.view, kind)[0] == x[coordinate]
        inside = raw.address - view.address
        assert 0 <= inside < np.prod(whole) * size
    assert len(starts) == np.prod([n // w for n, w in zip(padded.shape, whole, strict=True)])
    if gap and fmt.indirect:
        apart = np.diff(sorted(starts))
        assert (apart >= np.prod(whole) * size + gap).all()


def test_a_chunk_is_written_through() -> None:
    t = rl.from_logical(X, CROUTON)
    t.block_at(0, 3, 12, 40).fill(7)
    expected = X.copy()
    expected[0, :8, 8:16, 32:] = 7
    assert (t.numpy() == expected).all()


def test_chunks_that_a_view_does_not_show_whole_are_refused() -> None:
    t = rl.from_logical(X, CROUTON)
    assert t[:, 1:].block_at(0, 0, 0, 0).address == t.address, "a window still has its whole chunk"
    assert t.permute(0, 3, 1, 2).block_at(0, 40, 0, 0).shape == (1, 32, 8, 8)
    with pytest.raises(rl.NotExpressible, match="whole blocks"):
        t.pick(1, 0).block_at(0, 0, 0)
    with pytest.raises(rl.ShapeError, match="no blocks"):
        rl.tensor(X).block_at(0, 0, 0, 0)
    with pytest.raises(rl.ShapeError, match="one index per dimension"):
        t.block_at(0, 0)
    by_channel = rl.ScaleOffset([1.0] * 50, [0] * 50, "quint8", axis=3)
    with pytest.raises(rl.NotExpressible, match="which channel"):
        rl.from_logical(X, CROUTON, by_channel).block_at(0, 0, 0, 0)
    assert rl.empty("htp:R4Flat", "uint8", (2, 2, 2, 2)).block_at(1, 1, 1, 1).shape == (1, 1, 1, 1)


@pytest.mark.parametrize("left", [(0, 0, 0, 0), (0, 1, 0, 0), (0, 2, 3, 4)])
@pytest.mark.parametrize("coordinate", [(0, -1, 0, 0), (-1, 0, 0, 0), (0, 0, 0, -50)])
def test_a_raw_coordinate_counts_from_0(left: tuple[int, ...], coordinate: tuple[int, ...]) -> None:
    t = rl.from_logical(X, CROUTON, left_pad=left)
    for ask in (t.get_raw, t.get_raw_addr):
        with pytest.raises(rl.OutOfBounds, match="below 0") as caught:
            ask(*coordinate)
        assert caught.value.hint
    assert t[coordinate] == X[coordinate], "indexing counts as numpy does"


# ---- what was allocated ---------------------------------------------------------------------------------------


def test_padding_and_format_are_public() -> None:
    t = rl.from_logical(X, CROUTON, left_pad=(0, 1, 0, 0), right_pad=(0, 0, 2, 0))
    assert t.padding is not None
    assert (t.padding.left, t.padding.right) == ((0, 1, 0, 0), (0, 0, 2, 0))
    assert t.format == catalog.get("htp:R4Crouton")
    assert (t[:, 1:].padding, t[:, 1:].format) == (None, None)
    assert rl.empty(rl.Layout.row_major(2, 3), "int8").format is None
    assert rl.repack(t, "htp:R4Crouton4x1").format == catalog.get("htp:R4Crouton4x1")
    again = pickle.loads(pickle.dumps(t))
    assert (again.format, again.padding, repr(again)) == (t.format, t.padding, repr(t))


@pytest.mark.parametrize("words", [{}, {"gap": 128}, {"align": 4096}, {"gap": 100, "align": 256}])
def test_a_copy_keeps_the_table(words: dict[str, int]) -> None:
    t = rl.from_logical(X, CROUTON, left_pad=(0, 1, 0, 0), **words)  # type: ignore[arg-type]
    made = t.copy()
    assert made.blocks is not None
    assert t.blocks is not None
    assert made.blocks.starts.tolist() == t.blocks.starts.tolist()
    assert (made.format, made.padding, made.layout, made.axes) == (t.format, t.padding, t.layout, t.axes)
    assert (made.raw == t.raw).all()
    assert not np.shares_memory(made.raw, t.raw)
    assert made.address % words.get("align", 64) == t.address % words.get("align", 64)
    made.fill(0)
    assert (t.numpy() == X).all()


def test_views_are_copied_alone() -> None:
    t = rl.from_logical(X, CROUTON)
    part = t[1:, :, 8:].copy()
    assert part.blocks is not None
    assert (part.blocks.count, part.raw.size) == (8, 8 * 2048)
    assert (part.numpy() == X[1:, :, 8:]).all()
    rows = rl.tensor(np.arange(1000, dtype=np.int32))[500:600:3]
    assert rows.copy().raw.size == 100
    assert rows.copy().numpy().tolist() == list(range(500, 600, 3))
    shared = rl.Tensor(np.arange(4, dtype=np.uint8), rl.Layout.row_major(2, 4), blocks=rl.BlockTable([0, 0], 4))
    assert shared.copy().fill(1).writable
    nibbles = rl.Tensor(bytes([0x21, 0x43, 0x65]), rl.Layout(6), "int4")
    assert nibbles[1:5].copy().numpy().tolist() == [2, 3, 4, 5]
    swizzled = rl.Tensor(np.arange(64), rl.Layout((8, 8), (8, 1), swizzle=(3, 0, 3)))[2:]
    assert (swizzled.copy().numpy() == swizzled.numpy()).all()
    empty = rl.tensor(np.zeros((0, 3), np.int8)).copy()
    assert empty.shape == (0, 3)


def test_other_dimensions_in_the_memory_that_is_there() -> None:
    t = rl.from_logical(X, CROUTON, gap=64)
    small = t.with_dims(1, 8, 8, 40)
    assert small.blocks is not None
    assert t.blocks is not None
    assert small.blocks.starts.tolist() == t.blocks.starts[:2].tolist()
    assert (small.layout, small.format) == (catalog.get("htp:R4Crouton").layout((1, 8, 8, 40)), t.format)  # type: ignore[union-attr]
    assert (small.numpy() == X[:1, :8, :8, :40]).all(), "the first chunks are where they were"
    small.fill(9)
    assert t[0, 0, 0, 0] == 9
    assert small.fill_padding(auto=3).block_at(0, 0, 0, 39).numpy()[0, 0, 0, 31] == 3
    with pytest.raises(rl.OutOfBounds, match="73728 elements, and 49152 were allocated"):
        t.with_dims((3, 9, 20, 50))
    with pytest.raises(rl.ShapeError, match="somebody's data"):
        t[:, :8].with_dims(1, 1, 1, 1)
    with pytest.raises(rl.ShapeError, match="that were allocated"):
        rl.empty("htp:R4DeepAR4_16b", "int16", (1, 1, 8, 64)).with_dims(1, 1, 4, 32)
    flat = rl.empty("htp:R4Flat", "int8", (1, 2, 3, 4))
    assert flat.with_dims(4, 3, 2, 1).shape == (4, 3, 2, 1)


@pytest.mark.parametrize("kind", ["uint8", "int16", "float32", "int4"])
@pytest.mark.parametrize(("gap", "align"), [(0, 2048), (64, None), (100, 4096), (4, 8), (0, 1)])
def test_chunks_lie_apart(kind: str, gap: int, align: int | None) -> None:
    fmt = Format(2, [(0, 0), (1, 0), (0, 4), (1, 8)], indirect=2)
    x = (np.arange(13 * 17) % 7).reshape(13, 17)
    t = rl.from_logical(x, fmt, rl.Plain(kind), gap=gap, align=align)
    bits = 4 if kind == "int4" else np.dtype(kind).itemsize * 8
    starts = [t.block_at(r, c).address for r in range(0, 13, 4) for c in range(0, 17, 8)]
    assert all(start % (align or 64) == 0 for start in starts[: 1 if align is None else None])
    assert all(b - a >= 32 * bits // 8 + gap for a, b in pairwise(starts))
    assert (t.numpy() == x).all()
    assert (rl.repack(t, "row-major").numpy() == x).all()
    assert (t.copy().numpy() == x).all()


def test_chunks_that_cannot_lie_apart_are_refused() -> None:
    with pytest.raises(rl.ShapeError, match="no blocks of a table"):
        rl.empty("htp:R4Flat", "uint8", (1, 1, 1, 2), gap=8)
    with pytest.raises(rl.ShapeError, match="power of two"):
        rl.empty(CROUTON, "uint8", SHAPE, align=96)
    with pytest.raises(rl.ShapeError, match="whole number of elements"):
        rl.empty("htp:R4Crouton4", "float32", SHAPE, gap=3)
    with pytest.raises(rl.ShapeError, match="apart"):
        rl.empty(CROUTON, "uint8", SHAPE, gap=-8)
    assert rl.full("htp:R4Flat", 3, "uint8", (1, 1, 1, 2), align=1 << 12).address % (1 << 12) == 0


# ---- signatures -----------------------------------------------------------------------------------------------


def test_signatures_require_interface_and_element() -> None:
    quantised = rl.from_logical(X, "htp:R4Crouton", rl.ScaleOffset(0.5, 3, "quint8"))
    signed = rl.from_logical(X, "htp:R4Crouton", rl.ScaleOffset(2.0, 3, "qint8"))
    plain = rl.from_logical(X, "htp:R4Crouton")

    def passes(wanted: Any, x: Any, **words: Any) -> bool:
        guarded = rl.expects(x=wanted, **words)(lambda x: x)
        try:
            return guarded(x) is x
        except rl.LayoutMismatch as mismatch:
            assert mismatch.hint
            return False

    for wanted, answers in (
        ("htp:R4Crouton", (True, True, True)),
        (("htp:R4Crouton", rl.ScaleOffset), (True, True, False)),
        (("htp:R4Crouton", rl.Plain), (False, False, True)),
        (("htp:R4Crouton", rl.ScaleOffset, "quint8"), (True, False, False)),
        (("htp:R4Crouton", "quint8", rl.ScaleOffset), (True, False, False)),
        (("htp:R4Crouton", "qint8"), (False, True, False)),
        (("htp:R4Crouton", rl.ScaleOffset(0.5, 3, "quint8")), (True, False, False)),
        (("htp:R4Crouton", rl.ScaleOffset(0.5, 4, "quint8")), (False, False, False)),
        (htp.QUint8CroutonTensor, (True, False, False)),
        ("htp:QInt8CroutonTensor_TCM", (False, True, False)),
        (("htp:R4Flat", rl.ScaleOffset), (False, False, False)),
    ):
        assert tuple([passes(wanted, x) for x in (quantised, signed, plain)]) == answers, wanted
        assert tuple([passes(wanted, x, strict=True) for x in (quantised, signed, plain)]) == answers, wanted
    assert passes(("htp:R4Flat", rl.Plain), X), "the elements of an array are plain"
    assert not passes(("htp:R4Flat", rl.ScaleOffset), X)
    for wrong in (("htp:R4Flat", "no type"), ("htp:R4Flat", rl.Plain, "uint8", 1)):
        with pytest.raises(rl.ShapeError):
            rl.expects(x=wrong)(lambda x: x)
    with pytest.raises(rl.ShapeError, match="no interface"):
        rl.check(X, "htp:R4Flat", interface=int)


def test_strict_compares_formats_and_not_functions() -> None:
    """NHWC and NCHW coincide where height and width are 1; HTP's types keep them apart."""
    shape = (1, 1, 1, 32)
    t = rl.empty("htp:NCHW", "uint8", shape)
    assert rl.check(t, "htp:R4Flat") is t
    assert rl.check(t, "htp:NCHW", strict=True) is t
    with pytest.raises(rl.LayoutMismatch, match="its format is 0 3 1 2"):
        rl.check(t, "htp:R4Flat", strict=True)
    with pytest.raises(rl.LayoutMismatch, match="tells no format"):
        rl.check(np.zeros(shape, np.uint8), "htp:R4Flat", strict=True)
    with pytest.raises(rl.ShapeError, match="strict compares formats"):
        rl.check(t, rl.Layout.row_major(shape), strict=True)
    nchw = rl.from_logical(X.transpose(0, 3, 1, 2), "htp:R4Crouton", axes="nchw")
    assert rl.check(nchw, CROUTON, strict=True) is nchw, "by the names of the axes"
    assert copy.copy(nchw).format == nchw.format


# ---- types and names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(htp.__all__) & {n for n in htp.__all__ if n.endswith("Tensor")}))
def test_types_of_tensors(name: str) -> None:
    kind = getattr(htp, name)
    resolved = rl.resolve(f"htp:{name}")
    assert resolved.format == kind.layout
    assert resolved.element is not None
    assert resolved.element.name == kind.element
    assert rl.parse(f"{name}_TCM") == kind.layout
    assert kind.layout.element_bits in (None, resolved.element.bits)
    quantised = kind.interface is rl.ScaleOffset
    assert quantised == kind.element.startswith("q") == ("Q" in name)
    assert ("Crouton" in name) == (kind.layout.indirect == 4)
    t = kind.empty((1, 3, 5, 30), scale=0.5, offset=1) if quantised else kind.empty((1, 3, 5, 30))
    assert rl.check(t, f"htp:{name}", strict=True) is t
    with pytest.raises(rl.ShapeError):
        kind.empty((1, 1, 1, 1)) if quantised else kind.empty((1, 1, 1, 1), scale=1.0)


def test_the_vocabulary_is_lazy_and_says_what_it_has() -> None:
    assert set(htp.__all__) == set(dir(htp))
    for name in htp.__all__:
        assert getattr(htp, name) is not None
    assert htp.PlainInterface is rl.Plain
    assert htp.ScaleOffsetInterface is rl.ScaleOffset
    with pytest.raises(AttributeError, match="Baguette"):
        _ = htp.Baguette
    with pytest.raises(rl.LayoutError):
        htp.ChunkedMemoryLayout(4, 0, 0, 1)
    with pytest.raises(rl.LayoutError):
        htp.FlatMemoryLayout(-1)
    assert rl.htp is htp


# ---- names of one's own ---------------------------------------------------------------------------------------


@pytest.fixture
def brick() -> Any:
    fmt = Format(4, [(0, 0), (1, 0), (2, 0), (3, 0), (1, 3), (3, 16)], axes="nhwc", fill=5, indirect=4)
    yield catalog.register("acme:Brick", fmt, note="Three rows of 16 channels.")
    if "acme:Brick" in catalog.names():
        catalog.unregister("acme:Brick")


def test_a_format_under_a_name_of_ones_own(brick: Any) -> None:
    fmt = brick.format
    assert rl.parse("acme:Brick") == rl.parse("Brick") == fmt
    assert catalog.find(fmt) == ["acme:Brick"]
    assert "Three rows" in rl.explain("acme:Brick")
    t = rl.from_logical(X, "acme:Brick")
    assert "acme:Brick" in repr(t)
    assert (rl.repack(t, "htp:R4Flat").numpy() == X).all()
    conformance("acme:Brick")
    with pytest.raises(rl.ShapeError, match="read already"):
        catalog.register("acme:Brick", fmt)


def test_a_name_that_is_gone_is_forgotten(brick: Any) -> None:
    stored = rl.repack(X, "acme:Brick")
    rl.check(rl.from_logical(X, "acme:Brick"), "acme:Brick")
    catalog.unregister("acme:Brick")
    for ask in (lambda: rl.parse("acme:Brick"), lambda: rl.repack(X, "acme:Brick"), lambda: catalog.get("acme:Brick")):
        with pytest.raises(rl.LayoutError):
            ask()
    assert catalog.find(brick.format) == []
    other = Format(4, [(0, 0), (1, 0), (2, 0), (3, 0), (1, 5), (3, 8)], axes="nhwc")
    catalog.register("acme:Brick", other)
    assert rl.repack(X, "acme:Brick").shape != stored.shape
    assert (rl.repack(X, "acme:Brick") == rl.repack(X, other)).all()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Brick", "no name"),
        ("acme:2", "no name"),
        (7, "no name"),
        ("htp:R4Crouton", "read already"),
        ("onednn:nChw16c", "read already"),
        ("acme:nChw16c", "read already"),
        ("acme:kCHW32", "read already"),
    ],
)
def test_a_name_of_ones_own_changes_no_other(name: Any, words: str) -> None:
    fmt = Format(2, [(0, 0), (1, 0)], axes="ab")
    with pytest.raises(rl.ShapeError, match=words):
        catalog.register(name, fmt)


def test_what_is_no_named_format_is_refused() -> None:
    with pytest.raises(rl.ShapeError, match="does not name its dimensions"):
        catalog.register("acme:Tile", Format(2, [(0, 0), (1, 0)]))
    with pytest.raises(rl.ShapeError, match="no format"):
        catalog.register("acme:Tile", "0 1", "ab")  # type: ignore[arg-type]
    with pytest.raises(rl.ShapeError, match="axes"):
        catalog.register("acme:Tile", Format(2, [(0, 0), (1, 0)], axes="xy"), "ab")
    with pytest.raises(rl.ShapeError, match="was not registered"):
        catalog.unregister("htp:R4Crouton")
    with pytest.raises(rl.ShapeError, match="was not registered"):
        catalog.unregister("acme:Tile")
    wide = {8: Format(1, [(0, 0), (0, 64)], axes="k"), 16: Format(1, [(0, 0), (0, 32)], axes="k")}
    try:
        catalog.register("acme:Line", wide)
        assert rl.parse("acme:Line", dtype="int16") == wide[16]
        assert catalog.register("acme:Tile", rl.Layout((2, 2), (1, 2)), "ab").axes == "ab"
    finally:
        for name in ("acme:Line", "acme:Tile"):
            catalog.unregister(name)
    assert catalog.names("acme:*") == []


def test_memory_under_a_format_tells_it() -> None:
    heaps = [np.zeros(3 * 2048, np.uint8), bytearray(2048)]
    table = rl.BlockTable([4096, 0, 0, 2048], (8, 8, 32), buffers=[0, 1, 0, 0])
    t = rl.Tensor(heaps, CROUTON, "uint8", shape=(1, 16, 16, 32), blocks=table)
    assert (t.format, t.axes, t.padding) == (catalog.get("htp:R4Crouton"), "nhwc", None)
    assert rl.check(t, "htp:R4Crouton", strict=True) is t
    assert t.block_at(0, 3, 12, 5).get_raw(0, 0, 0, 0).buffer == 1
    whole = rl.Tensor(rl.repack(X, CROUTON).reshape(-1), CROUTON, shape=SHAPE)
    assert whole.blocks is not None
    assert whole.blocks.starts.tolist() == list(range(0, 24 * 2048, 2048)), "one after another"
    assert (whole.numpy() == X).all()
    packed = rl.Tensor(rl.repack(X, "htp:R4Depth32").reshape(-1), "htp:d32", shape=SHAPE)
    assert (packed.numpy() == X).all()
    nchw = rl.Tensor(rl.repack(X, "htp:R4Flat").reshape(-1), "htp:R4Flat", shape=(2, 50, 9, 20), axes="nchw")
    assert (nchw.numpy() == X.transpose(0, 3, 1, 2)).all()
    with pytest.raises(rl.ShapeError, match="pass shape"):
        rl.Tensor(bytes(2048), CROUTON, "uint8")
    with pytest.raises(rl.ShapeError, match="has blocks of 2048 elements"):
        rl.Tensor(bytes(2048), CROUTON, "uint8", shape=(1, 8, 8, 32), blocks=rl.BlockTable([0, 1024], 1024))
    with pytest.raises(rl.ShapeError, match="has no table"):
        rl.Tensor(bytes(32), "htp:R4Flat", "uint8", shape=(1, 1, 1, 32), blocks=rl.BlockTable([0], 32))
    with pytest.raises(rl.OutOfBounds):
        rl.Tensor(bytes(2047), CROUTON, "uint8", shape=(1, 8, 8, 32))


def test_a_copy_is_of_the_same_class() -> None:
    array = rl.coreai.NDArray((2, 6), "float32")
    assert type(array.copy()) is rl.coreai.NDArray
