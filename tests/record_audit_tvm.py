"""Records the TVM samples of ``tests/data/audit``: modules in TVMScript, and where TVM's own index maps put elements.

``pip install apache-tvm``, then ``python tests/record_audit_tvm.py``.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import tvm
from tvm.script import ir as I
from tvm.script import relax as R

OUT = Path(__file__).parent / "data" / "audit"


@I.ir_module
class Blocks:
    @R.function
    def main(
        x: R.Tensor((1, 8, 8, 32), "float32"),
        w: R.Tensor((64, 32, 3, 3), "float32"),
        t: R.Tensor(("n", 4, 6), "float16"),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.permute_dims(x, axes=[0, 3, 1, 2])
            b = R.layout_transform(a, index_map=lambda n, c, h, w: (n, c // 16, h, w, c % 16))
            c = R.nn.relu(b)
            d = R.layout_transform(c, index_map=lambda n, co, h, w, ci: (n, co * 16 + ci, h, w))
            k = R.layout_transform(w, index_map=lambda o, i, h, w: (o // 16, i // 16, h, w, i % 16, o % 16))
            p = R.permute_dims(t, axes=[0, 2, 1])
            q = R.reshape(d, (1, 2048))
            u = R.permute_dims(q)
            R.output(u, k, p)
        return u


MAPS = {
    "NCHW16c": ((1, 20, 3, 2), lambda n, c, h, w: (n, c // 16, h, w, c % 16)),
    "blocks of rows": ((9, 10), lambda i, j: (i // 4, j // 8, i % 4, j % 8)),
    "transposed": ((3, 5), lambda i, j: (j, i)),
    "flat": ((3, 5, 2), lambda i, j, k: (i * 10 + j * 2 + k,)),
    "OIHW4i8o": ((10, 9, 2, 1), lambda o, i, h, w: (o // 8, i // 4, h, w, i % 4, o % 8)),
}


def main() -> None:
    (OUT / "blocks.tvmscript").write_text(Blocks.script(show_meta=True) + "\n")
    judge = {}
    for name, (shape, rule) in MAPS.items():
        index_map = tvm.tirx.IndexMap.from_func(rule)
        stored = [int(n) for n in index_map.map_shape(list(shape))]
        places = [[int(i) for i in index_map.map_indices(list(c))] for c in product(*[range(n) for n in shape])]
        judge[name] = {"shape": shape, "map": str(index_map), "stored": stored, "places": places}
    (OUT / "tvm_judge.json").write_text(json.dumps(judge) + "\n")


if __name__ == "__main__":
    main()
