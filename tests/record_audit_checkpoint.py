"""Writes the checkpoints of tests/data/audit with torch on two ranks: ``python tests/record_audit_checkpoint.py``.

``checkpoint.dcp`` is torch's own form, ``checkpoint.hf`` safetensors with offsets, and ``checkpoint.lost`` the latter
without the files of the first rank.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

DATA = Path(__file__).parent / "data" / "audit"


def save(rank: int, port: int) -> None:
    """What one of two ranks saves: tensors dealt by rows, by columns, and to every rank."""
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    deals = {"rows": Shard(0), "columns": Shard(1), "everywhere": Replicate()}
    state = {name: distribute_tensor(torch.zeros(7, 8), mesh, [deal]) for name, deal in deals.items()}
    dcp.save(state, checkpoint_id=DATA / "checkpoint.dcp")
    dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(str(DATA / "checkpoint.hf"), save_distributed=True))
    dist.destroy_process_group()


def main() -> None:
    """All three folders, anew."""
    import torch.multiprocessing as processes

    for name in ("dcp", "hf", "lost"):
        shutil.rmtree(DATA / f"checkpoint.{name}", ignore_errors=True)
    processes.spawn(save, args=(29511,), nprocs=2)
    shutil.copytree(DATA / "checkpoint.hf", DATA / "checkpoint.lost")
    for file in (DATA / "checkpoint.lost").glob("shard-00001-*"):
        file.unlink()


if __name__ == "__main__":
    sys.exit(main())
