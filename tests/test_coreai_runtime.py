"""Core AI's rules against Apple's own runtime (``coreai-core``, which runs on Linux): its arrays, byte by byte.

A program writes 1, 2, 3, ... into a state whose tensor has hardware constraints, for the alignments hold for states and
inputs, but not for outputs. DLPack then gives a copy of the state's memory.
"""

from __future__ import annotations

import asyncio
import ctypes
import pickle
import random
import sys
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import relayout as rl
from relayout import coreai

TYPES = {"si32": np.int32, "f16": np.float16, "si8": np.int8}


class Apple(NamedTuple):
    """The three modules of ``coreai-core`` that it takes."""

    runtime: Any
    authoring: Any
    ir: Any


class Case(NamedTuple):
    shape: tuple[int, ...]
    interleave: tuple[int, ...]
    alignments: tuple[int, ...]
    element: str = "si32"

    @property
    def values(self) -> Any:
        count = np.arange(prod(self.shape)) % (127 if self.element == "si8" else 2048) + 1
        return count.reshape(self.shape).astype(TYPES[self.element])


class Array(NamedTuple):
    """What Apple's runtime made of a case."""

    case: Case
    strides: tuple[int, ...]
    memory: Any


EMBEDDING = Case((64, 3, 5), (8, 1, 1), (1, 1, 1, 1), "f16")
KEY_VALUE = Case((2, 1, 16, 5, 4), (1, 1, 8, 1, 1), (1, 1, 1, 1, 8 * 24, 1), "f16")


def some_cases(count: int, seed: int = 27) -> list[Case]:
    rng = random.Random(seed)
    cases = [EMBEDDING, KEY_VALUE]
    while len(cases) < count:
        shape = [rng.choice([1, 2, 3, 4, 5, 6, 8]) for _ in range(rng.randint(1, 6))]
        interleave = [1] * len(shape)
        if rng.random() < 0.75:
            d = rng.randrange(len(shape))
            interleave[d] = rng.choice([2, 3, 4, 8, 16])
            shape[d] = interleave[d] * rng.randint(1, 3)
        choices = rng.choice([[1], [1, 1, 2, 3, 5, 8, 16, 64], [1, 64, 100, 333]])
        alignments = [rng.choice(choices) for _ in range(len(shape) + 1)]
        if prod(shape) <= 2000 and prod(shape) * max(alignments) < 25_000:
            cases.append(Case(tuple(shape), tuple(interleave), tuple(alignments), rng.choice(list(TYPES))))
    return cases


def tensor_type(shape: Sequence[int], element: str, encoding: str = "") -> str:
    return f"tensor<{'x'.join(map(str, [*shape, element]))}{encoding}>"


def constraints(interleave: Sequence[int], alignments: Sequence[int]) -> str:
    words = ["x".join(map(str, values)) for values in (alignments, interleave)]
    return f", #coreaix.hw_constraints<Heap, alignments: [{words[0]}], interleave: [{words[1]}]>"


def program_text(cases: Sequence[Case]) -> str:
    """One graph per case. The relu keeps the compiler from moving the constraints to the input."""
    graphs = []
    for k, case in enumerate(cases):
        plain = tensor_type(case.shape, case.element)
        laid_out = tensor_type(case.shape, case.element, constraints(case.interleave, case.alignments))
        state = f"!coreai.handle<{laid_out}>"
        graphs.append(f"""
            coreai.graph @g{k}(%s: {state} {{coreai.name = "s"}}, %x: {plain} {{coreai.name = "x"}})
                -> (!coreai.token {{coreai.name = "done"}}) {{
              %y = coreai.relu %x : ({plain}) -> {plain}
              %z = coreaix.copy_with_constraints(%y) : ({plain}) -> {laid_out}
              %start = coreai.create_token : !coreai.token
              %done = coreai.write_handle %s, %z, %start : ({state}, {laid_out}, !coreai.token) -> !coreai.token
              coreai.output %done : !coreai.token
            }}""")
    return f"module {{{''.join(graphs)}}}"


async def run(apple: Apple, cases: Sequence[Case], folder: Path) -> list[Array]:
    with apple.authoring.Context()._mlir_context:
        module = apple.ir.Module.parse(program_text(cases))
    asset = apple.authoring.AIProgram._from_mlir_module(module).save_asset(folder / "arrays.aimodel")
    arrays = []
    async with asset.executable() as model:
        for k, case in enumerate(cases):
            function = model.load_function(f"g{k}")
            state = apple.runtime.NDArray.from_descriptor(function.desc.state_descriptor("s"))
            x = apple.runtime.NDArray(case.values)
            await function({"x": x}, state={"s": state})
            arrays.append(Array(case, state.strides, np.frombuffer(memory_of(state), TYPES[case.element])))
    return arrays


def memory_of(array: Any) -> bytes:
    """All that malloc gave to the array. A DLPack tensor begins with the address of its data."""
    owner = array._tensor.to_dlpack()
    capsule = owner.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = ctypes.c_size_t.from_address(get(capsule, b"dltensor")).value
    usable = ctypes.CDLL(None).malloc_usable_size
    usable.restype, usable.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    return ctypes.string_at(address, usable(address))


@pytest.fixture(scope="module")
def apple() -> Apple:
    if sys.platform != "linux":
        pytest.skip("the size of an allocation is read from glibc")
    names = ("coreai.runtime", "coreai.authoring", "coreai._compiler.ir")
    return Apple(*[pytest.importorskip(name) for name in names])


@pytest.fixture(scope="module")
def arrays(apple: Apple, tmp_path_factory: pytest.TempPathFactory) -> list[Array]:
    return asyncio.run(run(apple, some_cases(400), tmp_path_factory.mktemp("coreai")))


def packed(case: Case) -> rl.Layout:
    return coreai.packed(case.shape, case.interleave, case.alignments)


def test_strides_are_apples(arrays: list[Array]) -> None:
    for case, strides, _ in arrays:
        assert coreai.describe(packed(case)).strides == strides


def test_every_element_lies_where_apple_put_it(arrays: list[Array]) -> None:
    for case, _, memory in arrays:
        assert (memory[packed(case).offsets()] == case.values).all()


def test_an_array_without_gaps_is_the_same_bytes(arrays: list[Array]) -> None:
    whole = [array for array in arrays if set(array.case.alignments) == {1}]
    assert len(whole) > 50
    for case, _, memory in whole:
        layout = packed(case)
        buffer = np.zeros(layout.storage_size, memory.dtype)
        buffer[layout.offsets()] = case.values
        assert buffer.tobytes() == memory.tobytes()[: buffer.nbytes]


def usable_sizes(request: int) -> tuple[int, int]:
    """What glibc gives: 16-byte units less 8, and one more unit where it would be left over."""
    size = max(24, -(-(request + 8) // 16) * 16 - 8)
    return size, size + 16


def test_apple_allocates_that_many_elements(arrays: list[Array]) -> None:
    totals = 0
    for case, strides, memory in arrays:
        described = coreai.describe(packed(case))
        sizes = usable_sizes(described.allocation_elements * memory.itemsize)
        assert memory.nbytes in sizes
        assert described.minimum_elements <= packed(case).storage_size <= described.allocation_elements
        whole_steps = strides[0] * case.shape[0] // case.interleave[0]
        totals += max(usable_sizes(whole_steps * memory.itemsize)) < min(sizes)
    assert totals > 40


def test_every_equivalent_form_reads_apples_memory(arrays: list[Array]) -> None:
    read = 0
    for case, _, memory in arrays:
        for form in coreai.equivalents(packed(case)):
            assert form.allocation_elements == coreai.describe(packed(case)).allocation_elements
            if form.interleave_layout is not None:
                continue
            d = int(np.argmax(case.interleave))
            x = case.values
            if len(form.shape) > x.ndim:
                blocks = (*x.shape[:d], -1, case.interleave[d], *x.shape[d + 1 :])
                x = np.moveaxis(x.reshape(blocks), d + 1, -1)
            view = as_strided(memory, form.shape, [s * memory.itemsize for s in form.strides], writeable=False)
            assert (view == x).all()
            read += 1
    assert read > len(arrays)


def test_the_embedding_table_and_the_cache(arrays: list[Array]) -> None:
    table, cache = arrays[:2]
    assert table.case == EMBEDDING
    assert table.strides == (8 * 5 * 3, 8 * 5, 8)
    assert cache.case == KEY_VALUE
    assert cache.strides == (1920, 1920, 960, 192, 8)
    assert coreai.describe(packed(KEY_VALUE)) == coreai.NDArrayDescriptor(
        KEY_VALUE.shape, cache.strides, coreai.InterleaveLayout(2, 8)
    )
    assert coreai.packed(EMBEDDING.shape, coreai.InterleaveLayout(dimension=0, factor=8)) == packed(EMBEDDING)


def test_apple_refuses_what_we_refuse(apple: Apple) -> None:
    rng = random.Random(5)
    accepted, refused = 0, 0
    with apple.authoring.Context()._mlir_context:
        for _ in range(1000):
            rank = rng.randint(1, 4)
            shape = [rng.choice([0, 1, 2, 3, 4, 8, 12]) for _ in range(rank)]
            interleave = [rng.choice([1, 1, 1, 2, 3, 4]) for _ in range(rng.choice([rank, rank, rank, rank + 1]))]
            alignments = [rng.choice([1, 2, 5]) for _ in range(rng.choice([rank + 1, rank + 1, rank + 1, rank]))]
            text = tensor_type(shape, "si32", constraints(interleave, alignments))
            try:
                coreai.packed(shape, interleave, alignments)
            except rl.ShapeError:
                refused += 1
                with pytest.raises(apple.ir.MLIRError):
                    apple.ir.Type.parse(text)
            else:
                accepted += 1
                assert apple.ir.Type.parse(text)
    assert min(accepted, refused) > 100


def test_the_rule_without_apple() -> None:
    """The rule as it was measured, for machines without the runtime."""
    for case in some_cases(200, seed=1):
        end = prod(case.interleave)
        place = np.zeros(case.shape, int)
        for d in reversed(range(len(case.shape))):
            stride = -(-end // case.alignments[d + 1]) * case.alignments[d + 1]
            end = stride * case.shape[d] // case.interleave[d]
            index = np.indices(case.shape)[d]
            factor = case.interleave[d]
            place += index * stride if factor == 1 else index // factor * stride + index % factor
        layout = packed(case)
        assert (layout.offsets() == place).all()
        described = coreai.describe(layout)
        assert described.minimum_elements == place.max() + 1
        assert described.allocation_elements == -(-end // case.alignments[0]) * case.alignments[0]


@pytest.mark.parametrize(
    ("interleave", "alignments", "words"),
    [
        ([0, 1], None, "do not fit"),
        ([1, 1], [0, 1, 1], "do not fit"),
        ([1, 1], [1, 1, 0], "do not fit"),
        (coreai.InterleaveLayout(2, 4), None, "does not fit"),
        ([3, 1], None, "do not divide"),
    ],
)
def test_refused_where_apple_stops_the_process(interleave: Any, alignments: Any, words: str) -> None:
    with pytest.raises(rl.ShapeError, match=words):
        coreai.packed([4, 6], interleave, alignments)


def test_a_total_that_no_dimension_can_hold() -> None:
    with pytest.raises(rl.ShapeError, match="one element"):
        coreai.packed([], [], [50])
    described = coreai.describe(coreai.packed([1], [1], [50, 1]))
    assert (described.strides, described.minimum_elements, described.allocation_elements) == ((1,), 1, 50)
    assert pickle.loads(pickle.dumps(described)) == described
    assert described != coreai.describe(coreai.packed([1]))


def test_an_empty_array_takes_nothing() -> None:
    described = coreai.describe(coreai.layout([0, 6], [6, 1]))
    assert (described.minimum_elements, described.allocation_elements) == (0, 0)
