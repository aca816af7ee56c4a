"""Writes ``jax.json``: what jax says of random shardings on 8 devices. Run it where jax is installed (0.10.2 wrote it).

Each case has the mesh, the order of its devices, the spec, a shape that it divides, the indices that
``devices_indices_map`` gives every device, the HLO sharding that jax makes of it, and how jax prints it.
"""

import json
import os
import random
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def cases(count: int, seed: int):
    rng = random.Random(seed)
    meshes = [(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8), (2, 1, 4), (4,), (2, 2), (3, 2), (6,), (1,), (7,), (5,)]
    for k in range(count):
        sizes = rng.choice(meshes)
        names = ["x", "y", "z"][: len(sizes)]
        devices = list(range(int(np.prod(sizes))))
        if k % 3 == 1:
            rng.shuffle(devices)
        if k % 3 == 2:
            order = rng.sample(range(len(sizes)), len(sizes))
            devices = (
                np.arange(len(devices)).reshape([sizes[d] for d in order]).transpose(np.argsort(order)).ravel().tolist()
            )
        rank = rng.randint(1, 3)
        free = rng.sample(names, len(names))
        spec = []
        for _ in range(rng.randint(0, rank)):
            taken = [free.pop() for _ in range(min(len(free), rng.choice([0, 1, 1, 2])))]
            spec.append(taken)
        size_of = dict(zip(names, sizes))
        shape = []
        for d in range(rank):
            parts = int(np.prod([size_of[name] for name in (spec[d] if d < len(spec) else [])] or [1]))
            shape.append(parts * rng.randint(1, 3))
        yield sizes, names, devices, spec, tuple(shape)


def main() -> None:
    found = []
    for sizes, names, devices, spec, shape in cases(300, 20):
        grid = np.array([jax.devices()[d] for d in devices]).reshape(sizes)
        entries = [None if not axes else axes[0] if len(axes) == 1 else tuple(axes) for axes in spec]
        sharding = NamedSharding(Mesh(grid, names), PartitionSpec(*entries))
        indices = {}
        for device, index in sharding.devices_indices_map(shape).items():
            indices[device.id] = [list(s.indices(n)[:2]) for s, n in zip(index, shape)]
        text = str(sharding._to_xla_hlo_sharding(len(shape)))
        found.append(
            [list(sizes), devices, spec, list(shape), [indices[d] for d in sorted(indices)], text, repr(sharding)]
        )
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in found)
    Path(__file__).with_name("jax.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
