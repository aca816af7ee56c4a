"""The test of functions in MLIR: a function that runs them on bytes which depend on their place, and compares."""

from __future__ import annotations

from .checksums import MIXER, WEIGHT
from .mlir_lines import MlirBody, mlir_type, tensor_type
from .program import CheckedSize, PackFunction
from .values import Monomial

CHECK = "check"
"""What the function is called: it returns how many runs gave something else."""


def check_text(functions: list[PackFunction], runs: list[list[CheckedSize]]) -> str:
    """The function ``check``, and one that calls each function at the sizes that it is given."""
    kinds = dict.fromkeys([mlir_type(function.target_element) for function in functions])
    body = MlirBody()
    total = body.constant("0", "i32")
    for function, own in zip(functions, runs):
        for run in own:
            total = _add_run(body, function, run, total)
    body.line(f"return {total} : i32")
    about = "// How many runs give what they should not: 0. It is called with 1."
    main = "\n".join([about, f"func.func @{CHECK}(%one: index) -> i32 {{", *body.lines, "}"])
    return "\n\n".join([*[_checksum(kind) for kind in kinds], main])


def _width(kind: str) -> int:
    return int(kind.lstrip("bfi"))


def _add_run(body: MlirBody, function: PackFunction, run: CheckedSize, total: str) -> str:
    kind = mlir_type(function.element)
    width = _width(kind) // 8
    given = (Monomial(run.source // width),)
    to = mlir_type(function.target_element)
    whole = tensor_type((Monomial(1, ("n",)),), to)
    source, target = tensor_type((function.source.storage,), kind), tensor_type((function.target.storage,), to)
    x = _sample(body, given, kind)
    if source != tensor_type(given, kind):
        x = body.add(f"tensor.cast {x} : {tensor_type(given, kind)} to {source}")
    # Sizes that the compiler does not know, as in a program that has them from elsewhere.
    sizes = [body.add(f"arith.muli %one, {body.constant(str(n))} : index") for n in run.sizes]
    types = ", ".join([source, *["index"] * len(sizes)])
    y = body.add(f"call @{function.name}({', '.join([x, *sizes])}) : ({types}) -> {target}")
    if target != whole:
        y = body.add(f"tensor.cast {y} : {target} to {whole}")
    found = body.add(f"call @{CHECK}_{to}({y}) : ({whole}) -> i64")
    checksum = run.checksum - (1 << 64) if run.checksum >> 63 else run.checksum
    wrong = body.add(f"arith.cmpi ne, {found}, {body.constant(str(checksum), 'i64')} : i64")
    return body.add(f"arith.addi {total}, {body.add(f'arith.extui {wrong} : i1 to i32')} : i32")


def _sample(body: MlirBody, shape: tuple[Monomial], kind: str) -> str:
    """A tensor of bytes that depend on their place."""
    width = _width(kind) // 8
    word = f"i{8 * width}"
    mixer = body.constant(str(MIXER - (1 << 32)), "i32")
    shift = body.constant("25", "i32")
    count = body.constant(str(width))
    places = [(body.constant(str(k)), body.constant(str(8 * k), word)) for k in range(width)]
    into = body.empty(shape, kind)
    head = 'linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}'
    found = body.add(f"{head} outs({into} : {tensor_type(shape, kind)}) {{")
    body.line(f"^bb0(%old: {kind}):")
    body.depth += 1
    first = body.add(f"arith.muli {body.add('linalg.index 0 : index')}, {count} : index")
    value = ""
    for k, (place, bits) in enumerate(places):
        at = body.add(f"arith.addi {first}, {place} : index")
        mixed = body.add(f"arith.muli {body.add(f'arith.index_cast {at} : index to i32')}, {mixer} : i32")
        byte = body.add(f"arith.shrui {mixed}, {shift} : i32")
        if word != "i32":
            byte = body.add(f"arith.{'extui' if width > 4 else 'trunci'} {byte} : i32 to {word}")
        moved = body.add(f"arith.shli {byte}, {bits} : {word}") if k else byte
        value = body.add(f"arith.ori {value}, {moved} : {word}") if value else moved
    if kind != word:
        value = body.add(f"arith.bitcast {value} : {word} to {kind}")
    body.line(f"linalg.yield {value} : {kind}")
    body.depth -= 1
    body.line(f"}} -> {tensor_type(shape, kind)}")
    return found


def _checksum(kind: str) -> str:
    """The function that adds all bytes, each times a number that its place gives."""
    body = MlirBody()
    width = _width(kind) // 8
    word = f"i{8 * width}"
    weight = body.constant(str(WEIGHT - (1 << 64)), "i64")
    half, one, mask = [body.constant(str(n), "i64") for n in (32, 1, 255)]
    count = body.constant(str(width))
    places = [(body.constant(str(k)), body.constant(str(8 * k), "i64")) for k in range(width)]
    zero = body.constant("0", "i64")
    empty = body.add("tensor.empty() : tensor<i64>")
    start = body.add(f"linalg.fill ins({zero} : i64) outs({empty} : tensor<i64>) -> tensor<i64>")
    head = (
        "linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], "
        'iterator_types = ["reduction"]}'
    )
    found = body.add(f"{head} ins(%x : tensor<?x{kind}>) outs({start} : tensor<i64>) {{")
    body.line(f"^bb0(%element: {kind}, %sum: i64):")
    body.depth += 1
    first = body.add(f"arith.muli {body.add('linalg.index 0 : index')}, {count} : index")
    value = "%element" if kind == word else body.add(f"arith.bitcast %element : {kind} to {word}")
    value = value if width == 8 else body.add(f"arith.extui {value} : {word} to i64")
    total = "%sum"
    for place, bits in places:
        at = body.add(f"arith.addi {first}, {place} : index")
        mixed = body.add(f"arith.muli {body.add(f'arith.index_cast {at} : index to i64')}, {weight} : i64")
        factor = body.add(f"arith.ori {body.add(f'arith.shrui {mixed}, {half} : i64')}, {one} : i64")
        byte = body.add(f"arith.andi {body.add(f'arith.shrui {value}, {bits} : i64')}, {mask} : i64")
        total = body.add(f"arith.addi {total}, {body.add(f'arith.muli {byte}, {factor} : i64')} : i64")
    body.line(f"linalg.yield {total} : i64")
    body.depth -= 1
    body.line("} -> tensor<i64>")
    body.line(f"return {body.add(f'tensor.extract {found}[] : tensor<i64>')} : i64")
    about = "// The sum of all bytes, each times a number that its place gives."
    return "\n".join([about, f"func.func @{CHECK}_{kind}(%x: tensor<?x{kind}>) -> i64 {{", *body.lines, "}"])
