"""``verify``: do two files hold the same tensors, element by element, through whatever layouts they have?"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from ..registry import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...engine.ways import Progress
    from .compare_tensors import TensorDifference


class Verification(NamedTuple):
    """The verdict on two files; truthy if every element agrees.

    Else ``tensor`` is the first that does not, ``coordinate`` its first logical element that does not, ``values`` the
    two stored values there; or ``reason`` says why they cannot be compared.
    """

    tensors: int
    bytes: int
    tensor: str | None = None
    coordinate: tuple[int, ...] | None = None
    values: tuple[Any, Any] | None = None
    reason: str | None = None

    def __bool__(self) -> bool:
        return self.tensor is None

    def __str__(self) -> str:
        if self.tensor is None:
            return f"the same: {self.tensors} tensor{'s' * (self.tensors != 1)}, {self.bytes} bytes"
        from .compare_tensors import TensorDifference

        return str(TensorDifference(self.tensor, self.coordinate, self.values, self.reason))

    def _repr_html_(self) -> str:
        from ...drawing.notebook_tables import verdict_html

        return verdict_html(self)


def verify(
    a: str | PathLike[str],
    b: str | PathLike[str],
    *,
    rules: Any = None,
    max_memory: int | str = "1GiB",
    progress: Progress | None = None,
) -> Verification:
    """Compare the logical tensors of two files, streaming: the values of ``a``, in the types of ``b``, are its own.

    ``rules`` are those by which ``b`` was made, for dimensions that they put in another order; names of dimensions that
    both records have tell it as well. Two files of one tensor each are compared whatever its names.

    The layers of quantised checkpoints are compared as what they are: codes, scales and zeros by their values, whatever
    the packing and the names of their tensors, and blocks of GGUF field by field, however they were repacked.
    """
    from ..file_pool import FilePool
    from ..packings import packings_of
    from ..sizes import parse_size
    from .changes import logical_tensor
    from .checkpoint_pairs import checkpoint_pairs
    from .compare_tensors import TensorPair, compare_tensors
    from .memory_budget import MemoryBudget
    from .record_changes import record_verdict
    from .rules import Rule, read_rules
    from .thread_pool import default_jobs

    one, two = open_source(a), open_source(b)
    by_name = read_rules(Rule(), rules, None, None)
    jobs = default_jobs()
    budget = MemoryBudget.of(parse_size(max_memory), jobs)
    pairs = checkpoint_pairs(one, two)
    packings = packings_of(one), packings_of(two)
    total = sum([entry.size for entry in one.values()])
    done, compared = 0, [0]
    alone: tuple[str, str | PathLike[str]] | None = None
    different: TensorDifference | None = None

    def tensor_pairs() -> Iterator[TensorPair]:
        nonlocal alone, different, done
        for name, first, second, difference in pairs:
            different = difference
            if difference is not None:
                return
            if first is None or second is None:
                alone = name, b if first is None else a
                return
            kinds = packings[0].get(first.name), packings[1].get(second.name)
            if kinds[0] != kinds[1]:
                different = record_verdict(files, first, second, kinds)
                if different is not None:
                    return
                done += first.size
                continue
            rule = by_name.find(name) or Rule()
            yield TensorPair(first, logical_tensor(first, rule), second, logical_tensor(second, Rule()))
            done += first.size

    def report(size: int) -> None:
        compared[0] = min(compared[0] + size, total)
        if progress is not None:
            progress(compared[0], total)

    with FilePool() as files:
        difference = compare_tensors(files, tensor_pairs(), budget, jobs, report)
    if difference is not None:
        return Verification(1, 0, *difference)
    if different is not None:
        return Verification(len(pairs), done, *different)
    if alone is not None:
        return Verification(len(pairs), done, alone[0], reason=f"it is only in {alone[1]}.")
    return Verification(len(pairs), done)
