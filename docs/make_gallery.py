"""Writes docs/gallery.md and its pictures from the code that the page shows: ``python docs/make_gallery.py``."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

import relayout as rl
from relayout.drawing.drawing import Drawing

DOCS = Path(__file__).parent

HEAD = """# Pictures

`rl.draw` draws layouts, formats, [records](packed_weights.md#records), tensors, arrays, comparisons, operations,
[banks](shared_memory.md), [instructions](atoms.md), and texts in any [notation](dialects.md).

```python
import numpy as np
import relayout as rl

picture = rl.draw("((3,2),(2,2)):((1,6),(3,12))")
```

A picture is rendered when somebody asks: `.svg()` for documents (it follows the reader's dark mode), `.html()` for one
page that works from disk and answers to the mouse, `.text()` and `.ansi()` for terminals, `.tikz()` for LaTeX, and
`.save("x.svg")` for the form that the ending names. Notebooks show the SVG by themselves, as they do of layouts,
formats, tensors and comparisons; `.frame()` is the page for them. Answers that are no pictures are tables there
([an example](../examples/layouts.ipynb)). `relayout draw` is the [same in a terminal](cli.md).

Each picture below is what its line of code draws.
"""


class Entry(NamedTuple):
    """One picture: the name of its file, its title, what there is to see, and the code that draws it."""

    name: str
    title: str
    words: str
    code: str


ENTRIES = [
    Entry(
        "two",
        "Two layouts",
        "An HLO dump's 7 x 6 matrix in tiles of 4 x 4, and oneDNN's. What is hatched is stored, and holds no element.",
        'rl.draw("bf16[7,6]{1,0:T(4,4)(2,1)}", "AB4a4b")',
    ),
    Entry(
        "row_major",
        "Offsets",
        "A cell is a coordinate, its number the offset. Where there are no blocks, the colour is the order of memory.",
        "rl.draw(rl.Layout.row_major(4, 8))",
    ),
    Entry(
        "tiled",
        "Blocks",
        "Blocks are framed and have a colour each: 3 x 2 tiles, column by column, as on Mojo's page.",
        "rl.draw(rl.tile_to_shape(rl.Layout.col_major(3, 2), (6, 10)))",
    ),
    Entry(
        "nested",
        "Blocks of blocks",
        "The larger the block, the heavier its frame.",
        'rl.draw("((2,2,2),(2,3,2)):((2,12,48),(1,4,24))")',
    ),
    Entry(
        "strides",
        "Strides",
        "A step along each mode, and what it adds: as on Mojo's page. Nested modes are groups, even if their strides"
        " merge.",
        'rl.draw("((4,2)):((1,4))", "((2,2),(2,2)):((1,4),(2,8))", strides=True)',
    ),
    Entry(
        "crouton",
        "Padding",
        "A tensor of 3 x 5 x 30 needs a whole crouton of 8 x 8 x 32: what is hatched is stored, and holds no element.",
        'rl.draw("htp:R4Crouton", shape=(1, 3, 5, 30), rows="h", columns="w", at={"c": 0})',
    ),
    Entry(
        "memory",
        "Memory",
        "The addresses in order, each with the element that lives there, in the colour of its row; the rest is unused.",
        'rl.draw("(4,6):(8,1)", view="both", color="row", width=8)',
    ),
    Entry(
        "morton",
        "The order of memory",
        "From cell to cell, from the lowest address, which is framed, to the highest: this is Morton's.",
        'rl.draw("((2,2,2),(2,2,2)):((2,8,32),(1,4,16))", path=True)',
    ),
    Entry(
        "crouton_path",
        "",
        "And this is the order of one channel of a crouton whose elements are stored in quads.",
        'rl.draw("htp:R4Crouton2x2", shape=(1, 8, 8, 32), rows="h", columns="w", at={"c": 0}, path=True)',
    ),
    Entry(
        "side_by_side",
        "Side by side",
        "The same element is marked in both; on a page, the mouse does that. Axes that have names meet by name.",
        'rl.draw("nchw", "nhwc", shape=(1, 2, 3, 4), mark=(0, 1, 2, 3))',
    ),
    Entry(
        "difference",
        "What differs",
        "Two lines of an HLO dump: what they place differently has the colour of its block, and what they place alike"
        " none; the first difference is marked. Of large layouts what is around it is drawn, or a `part`.",
        'rl.draw(rl.compare("bf16[8,8]{1,0:T(4,4)(2,1)}", "f32[8,8]{1,0:T(4,4)}"))',
    ),
    Entry(
        "threads",
        "Threads and values",
        "The accumulator of NVIDIA's m16n8 instructions: which thread holds what of the tile, in which register.",
        'rl.draw("((4,8),(2,2)):((32,1),(16,8))", tile=(16, 8))',
    ),
    Entry(
        "atom",
        "Instructions",
        "A matrix instruction as CuTe prints it: a row of A and a column of B meet at their sum in C, and threads have"
        " a colour each. [More of it](atoms.md).",
        'rl.draw(rl.atoms["mma.m16n8k8.f32.tf32.tf32.f32"])',
    ),
    Entry(
        "ldmatrix",
        "",
        "What `ldmatrix.trans` reads, a row for each of the first lanes, and what arrives in whose register.",
        'rl.draw(rl.atoms["ldmatrix.x1.trans"])',
    ),
    Entry(
        "swizzle",
        "Swizzles",
        "Memory before and after: a column of the matrix (a colour) lies in one bank, then in all of them.",
        'rl.draw("(8,8):(8,1)", "Sw<3,0,3> o 0 o (8,8):(8,1)", view="memory", color="column", width=8)',
    ),
    Entry(
        "units",
        "",
        "Where nothing else is asked for, a swizzle is coloured by units of 16 bytes: what it exchanges.",
        'rl.draw("(8,32):(32,1)", "Sw<2,3,3> o 0 o (8,32):(32,1)", dtype="float16")',
    ),
    Entry(
        "banks_transpose",
        "Banks",
        "What an access to shared memory costs: a column is a bank, a cell a word with the lanes that want it. Words of"
        " one bank wait for each other. Here a warp reads a column of a tile of 32 x 32 words,",
        'rl.draw(rl.banks("(32,32):(32,1)", [(t, 0) for t in range(32)], "float32", "ld.shared.b32"))',
    ),
    Entry(
        "banks_transpose_fixed",
        "",
        "and here the same column where a swizzle deals it to all banks.",
        'rl.draw(rl.banks("Sw<5,0,5> o 0 o (32,32):(32,1)", [(t, 0) for t in range(32)], "float32", "ld.shared.b32"))',
    ),
    Entry(
        "banks_ldmatrix",
        "",
        "The eight rows of a matrix that `ldmatrix` reads, in a tile of 64 halves a row,",
        'rl.draw(rl.banks("(8,64):(64,1)", [(t, 0) for t in range(8)], "float16", "ldmatrix.x1"))',
    ),
    Entry(
        "banks_ldmatrix_fixed",
        "",
        "and in the tile that TMA writes with its 128-byte swizzle.",
        'rl.draw(rl.banks("smem:K_SW128", [(t, 0) for t in range(8)], "float16", "ldmatrix.x1"))',
    ),
    Entry(
        "banks_mfma",
        "",
        "A phase of `ds_read_b64` on CDNA3 is 16 lanes: a swizzle made for 8 rows leaves two words in each bank that it"
        " uses.",
        'rl.draw(rl.banks("Sw<3,2,5> o 0 o (64,128):(128,1)", [(t, 0) for t in range(16)], "float16",'
        ' "ds_read_b64", "gfx942"))',
    ),
    Entry(
        "banks_mfma_fixed",
        "",
        "One for 16 rows uses all banks, once each.",
        'rl.draw(rl.banks("Sw<4,2,5> o 0 o (64,128):(128,1)", [(t, 0) for t in range(16)], "float16",'
        ' "ds_read_b64", "gfx942"))',
    ),
    Entry(
        "sectors",
        "Sectors of global memory",
        "What an access to global memory moves: a row is a line of 128 bytes, cut into four sectors. A warp reads a"
        " column of a matrix; hatched is what moves and nobody wants. [The rules](banks.md#sectors).",
        'rl.draw(rl.sectors("(16,40):(40,1)", [(t, 3) for t in range(16)], "float32"))',
    ),
    Entry(
        "sharding",
        "Shardings",
        "Which device holds what: the tensor is cut where devices change. Fused gate and up rows, and the same dealt as"
        " one piece. [More](sharding.md).",
        'rl.draw("hf:packed_colwise tp=4", "hf:colwise tp=4", shape=(16, 8))',
    ),
    Entry(
        "sharding_difference",
        "",
        "Two orders of devices; what other devices hold has a colour.",
        'rl.draw(rl.compare("{devices=[4,2]<=[2,4]T(1,0)}", "{devices=[4,2]<=[8]}", shape=(16, 8)))',
    ),
    Entry(
        "divide",
        "Operations",
        "Operands and result; every tile has a colour, and the first one is outlined.",
        "rl.draw(rl.zipped_divide, rl.Layout.row_major(4, 6), (2, 3))",
    ),
    Entry(
        "product",
        "",
        "A product repeats its first operand, with a colour for each copy.",
        "rl.draw(rl.blocked_product, rl.Layout.col_major(2, 2), rl.Layout.row_major(2, 3))",
    ),
    Entry(
        "composition",
        "",
        "In a composition, every element has the colour of the address where it ends up.",
        "rl.draw(rl.composition, rl.Layout((6, 2), (8, 2)), rl.Layout((4, 3), (3, 1)))",
    ),
    Entry(
        "slices",
        "More dimensions",
        "Two dimensions run, and there is a grid for each coordinate of the others; `rows`, `columns` and `at` choose.",
        'rl.draw("nchw", shape=(2, 3, 4, 5))',
    ),
    Entry(
        "backwards",
        "Digits that count backwards",
        "Pairs whose first element lies behind its second, as where a byte has the first code in its high half: a step"
        " inside a pair goes back.",
        'rl.draw("0 1 / 1,2@-1", shape=(2, 8), view="both", strides=True, width=8)',
    ),
    Entry(
        "halves",
        "Digits above the rest",
        "Halves of the rows that share bytes: each element of the first half lies behind the one of the second half, as"
        " where HQQ packs two codes a byte. How far apart they are in the tensor depends on its shape.",
        'rl.draw("0 1 / 0,2@-rest", shape=(6, 4), view="both", width=8)',
    ),
    Entry(
        "record",
        "Records",
        "A record is drawn as its bytes: a colour for each field, a cell for the bits of one element that lie together,"
        " cut where fields begin. The bits of these scales lie apart. Of long fields the first 32 lines are drawn, on a"
        " page all.",
        'rl.draw("ggml:Q4_K")',
    ),
    Entry(
        "record_difference",
        "",
        "Two records of the same elements, with the first bit outlined that lies elsewhere.",
        'rl.draw(rl.compare("ggml:q4_0_4x4", "ggml:q4_0_4x8"))',
    ),
    Entry(
        "values",
        "Values",
        "Of tensors and arrays the cells are values, here coloured by size.",
        'rl.draw(np.sin(np.arange(24)).reshape(4, 6).T, color="value")',
    ),
    Entry(
        "part",
        "Parts",
        "A part has the coordinates of the whole.",
        'rl.draw("htp:R4Crouton2", shape=(1, 16, 16, 64), part=np.s_[0, 0, :6, 28:36])',
    ),
    Entry(
        "chunks",
        "Large layouts",
        "Elements that are too many are drawn as chunks, whole blocks where that is enough; the picture says so.",
        'rl.draw("htp:R4Crouton", shape=(1, 224, 224, 64), rows="h", columns="w", at={"c": 0}, color="memory",'
        ' cells="none")',
    ),
]


def drawn(entry: Entry) -> Drawing:
    """The picture of an entry."""
    found = eval(entry.code, {"rl": rl, "np": np})
    if not isinstance(found, Drawing):
        raise TypeError(f"{entry.code} draws nothing")
    return found


def page() -> str:
    """The text of docs/gallery.md."""
    parts = [HEAD]
    for entry in ENTRIES:
        title = f"\n## {entry.title}\n" if entry.title else ""
        without_links = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", entry.words)
        picture = f"![{without_links}](gallery/{entry.name}.svg)"
        parts.append(f"{title}\n{entry.words}\n\n```python\n{entry.code}\n```\n\n{picture}\n")
    return "".join(parts)


def files() -> dict[Path, str]:
    """Everything that is generated, by its place."""
    pictures = {DOCS / "gallery" / f"{entry.name}.svg": drawn(entry).svg() for entry in ENTRIES}
    return {DOCS / "gallery.md": page(), **pictures}


if __name__ == "__main__":
    (DOCS / "gallery").mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
