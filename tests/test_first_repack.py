"""What a first repack brings into a fresh process: few modules, and no compiled pattern that it does not need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from relayout import native_available
from relayout.immutable import NamedTuple

pytestmark = pytest.mark.skipif(not native_available(), reason="numpy's copies bring modules of their own")

KINDS = {
    "an array": "rl.repack(m, rl.Layout((8, 8), (1, 8)))",
    "flat memory": "rl.repack(m.reshape(-1), rl.Layout((8, 8), (1, 8)), src=rl.Layout((8, 8), (8, 1)))",
    "a tensor": "rl.repack(rl.tensor(m), rl.Layout((8, 8), (1, 8)))",
    "a plan": "rl.plan(rl.Layout((8, 8), (1, 8)), rl.Layout((8, 8), (8, 1)), 'float32')(m.reshape(-1))",
    "a name": "rl.repack(x, 'htp:R4Crouton')",
    "a name of any width": "rl.repack(x, 'tensorrt:kCHW32', axes='nhwc')",
}

CODE = """
import json, re, sys
import numpy as np
m = np.arange(64, dtype=np.float32).reshape(8, 8)
x = np.arange(2048, dtype=np.uint8).reshape(1, 8, 8, 32)
before, patterns = set(sys.modules), []
compile_pattern = re._compile
re._compile = lambda pattern, flags: (patterns.append(str(pattern)), compile_pattern(pattern, flags))[1]
import relayout as rl
{call}
print(json.dumps([sorted(set(sys.modules) - before), patterns]))
"""

UNNEEDED = (
    "numpy.ma",
    "relayout.algebra",
    "relayout.ask",
    "relayout.codegen",
    "relayout.dialects.read",
    "relayout.dialects.registry",
    "relayout.dialects.render",
    "relayout.dialects.shardings",
    "relayout.drawing",
    "relayout.elements.subbyte",
    "relayout.engine.blocks",
    "relayout.engine.cpu.general",
    "relayout.engine.cpu.strided",
    "relayout.engine.dask_arrays",
    "relayout.engine.gpu",
    "relayout.engine.recoding",
    "relayout.files",
    "relayout.format.catalog",
    "relayout.format.record",
    "relayout.hardware",
    "relayout.layout.comparison",
    "relayout.layout.regroup",
    "relayout.sharding",
)


def first(call: str) -> tuple[list[str], list[str]]:
    """The modules and the patterns that a call brings along, in a process that has imported numpy."""
    done = subprocess.run([sys.executable, "-c", CODE.format(call=call)], capture_output=True, text=True, check=True)
    modules, patterns = json.loads(done.stdout)
    return modules, patterns


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_it_needs_is_imported(kind: str) -> None:
    modules, patterns = first(KINDS[kind])
    assert "relayout.engine.plan" in modules
    assert [m for m in modules if m.startswith(tuple(f"{name}." for name in UNNEEDED)) or m in UNNEEDED] == []
    assert len(modules) < 80
    named = "name" in kind
    assert bool(patterns) == named
    assert named == ("relayout.format.named_formats" in modules)


def test_named_tuples_are_those_of_typing() -> None:
    body = {
        "__module__": __name__,
        "__annotations__": {"x": "int", "y": "int"},
        "y": 3,
        "total": lambda self: sum(self),
    }
    made = type(NamedTuple)("Pair", (NamedTuple,), dict(body))
    assert made(1) == (1, 3)
    assert made(1).total() == 4
    assert (made._fields, made._field_defaults, made.__module__) == (("x", "y"), {"y": 3}, __name__)
    for fields in ({"y": "int", "x": "int"}, {}):
        with pytest.raises(TypeError, match="those with a default are the last"):
            type(NamedTuple)("Pair", (NamedTuple,), {**body, "__annotations__": fields})
