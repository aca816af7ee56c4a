"""Records the MIL sample of ``tests/data/audit`` that coremltools prints, and what it says of its transposes.

``pip install coremltools``, then ``python tests/record_audit_mil.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from coremltools.converters.mil import Builder as mb

OUT = Path(__file__).parent / "data" / "audit"


@mb.program(input_specs=[mb.TensorSpec(shape=(1, 12, 12, 8))])
def program(x):
    x = mb.transpose(x=x, perm=[0, 3, 1, 2], name="to_nchw")
    x = mb.conv(x=x, weight=np.ones((16, 8, 3, 3), np.float32), pad_type="same", name="conv")
    x = mb.transpose(x=x, perm=[0, 2, 3, 1], name="to_nhwc")
    x = mb.relu(x=x, name="relu")
    x = mb.mul(x=x, y=np.arange(16, dtype=np.float32), name="scale")
    x = mb.transpose(x=x, perm=[0, 3, 1, 2], name="back_to_nchw")
    x = mb.reduce_mean(x=x, axes=[2, 3], keep_dims=True, name="pool")
    x = mb.transpose(x=x, perm=[0, 2, -1, 1], name="free_transpose")
    return mb.reshape(x=x, shape=[1, 16], name="flat")


def main() -> None:
    (OUT / "coremltools.mil.txt").write_text(str(program))
    judge = {}
    for op in program.functions["main"].operations:
        if op.op_type == "transpose":
            order = [int(d) for d in op.perm.val]
            judge[op.name] = {"from": list(op.x.shape), "order": order, "to": list(op.outputs[0].shape)}
    (OUT / "mil_judge.json").write_text(json.dumps(judge) + "\n")


if __name__ == "__main__":
    main()
