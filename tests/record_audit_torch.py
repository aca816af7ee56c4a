"""Write the torch samples of the audit, and what running them shows: ``python tests/record_audit_torch.py``.

The graphs are exported, captured and compiled by torch on a CPU. For every node of an exported graph whose result is a
tensor, ``torch_judge.json`` has the strides that running it gave, whether the result lies in the memory of its first
operand, and whether the bytes of the two memories differ.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.fx import Interpreter

FOLDER = Path(__file__).parent / "data" / "audit"


class Network(nn.Module):
    """Convolutions that leave channels_last and come back to it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 12, 3, padding=1)
        self.last = nn.Linear(12 * 6 * 5, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x).relu().contiguous()
        x = self.second(x.to(memory_format=torch.channels_last))
        return self.last(x.reshape(x.shape[0], -1))


class Attention(nn.Module):
    """Heads that are cut out and joined again."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.outside = nn.Linear(24, 72), nn.Linear(24, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = (y.view(b, t, 4, d // 4).transpose(1, 2) for y in self.inside(x).chunk(3, -1))
        weights = torch.softmax(q @ k.transpose(-1, -2), -1)
        return self.outside((weights @ v).transpose(1, 2).contiguous().view(b, t, d))


class Back(nn.Module):
    """A move that the next but one undoes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.permute(0, 2, 3, 1).contiguous()
        z = torch.relu(y).permute(0, 3, 1, 2).contiguous()
        return z.flatten(1).cumsum(1)


def programs() -> dict[str, tuple[nn.Module, torch.Tensor]]:
    torch.manual_seed(0)
    image = torch.randn(2, 3, 6, 5).to(memory_format=torch.channels_last)
    return {
        "network": (Network().to(memory_format=torch.channels_last).eval(), image),
        "heads": (Attention().eval(), torch.randn(2, 5, 24)),
        "undone": (Back(), torch.randn(2, 3, 6, 5)),
    }


def main() -> None:
    judged = {}
    for name, (module, x) in programs().items():
        exported = torch.export.export(module, (x,))
        text = exported.graph_module.print_readable(print_output=False, include_stride=True, include_device=True)
        (FOLDER / f"{name}.fx.txt").write_text(without_paths(text))
        judged[f"{name}.fx.txt"] = judge(exported, x)
    for name in ("network", "undone"):
        (FOLDER / f"{name}.inductor.log").write_text(without_paths(logged(name)))
    (FOLDER / "torch_judge.json").write_text(json.dumps(judged, indent=1) + "\n")


def logged(name: str) -> str:
    """What torch logs about graphs and generated code while another process compiles a program."""
    told = {"TORCH_LOGS": "aot_graphs,output_code", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    command = [sys.executable, __file__, name]
    return subprocess.run(command, env=os.environ | told, capture_output=True, text=True, check=True).stderr


def compile_one(name: str) -> None:
    module, x = programs()[name]
    with torch.no_grad():
        torch.compile(module)(x)


def without_paths(text: str) -> str:
    """The text without the names of folders, process numbers and times of this machine."""
    text = re.sub(r"(?<!\w)/[\w./<>\-]*/(?=[\w\-]+\.py)", "", text)
    return re.sub(r"(?m)^([VI])\d{4} [\d:.]+ \d+ ", r"\g<1>0101 00:00:00.000000 1 ", text)


class Watching(Interpreter):
    """Runs a graph and keeps what it saw of every tensor."""

    def __init__(self, graph: Any) -> None:
        super().__init__(graph)
        self.seen: dict[str, Any] = {}

    def run_node(self, node: Any) -> Any:
        result = super().run_node(node)
        if node.op == "call_function" and isinstance(result, torch.Tensor):
            operand = next((self.env[x] for x in node.all_input_nodes if isinstance(self.env[x], torch.Tensor)), None)
            self.seen[node.name] = {"sizes": list(result.shape), "strides": list(result.stride())}
            if operand is not None and operand.dtype == result.dtype and operand.numel() == result.numel():
                same = operand.untyped_storage().data_ptr() == result.untyped_storage().data_ptr()
                self.seen[node.name] |= {"shares": same, "differs": memory(operand) != memory(result)}
        return result


def memory(x: torch.Tensor) -> bytes:
    """The bytes of a tensor's memory, in their order."""
    return bytes(x.untyped_storage())


def judge(exported: Any, x: torch.Tensor) -> dict[str, Any]:
    watching = Watching(exported.graph_module)
    given = [exported.state_dict.get(n, x) for n in names(exported)]
    with torch.no_grad():
        watching.run(*given)
    return watching.seen


def names(exported: Any) -> list[str]:
    return [spec.target or "" for spec in exported.graph_signature.input_specs]


if __name__ == "__main__":
    compile_one(sys.argv[1]) if sys.argv[1:] else main()
