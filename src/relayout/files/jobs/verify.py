"""``verify``: do two files hold the same tensors, element by element, through whatever layouts they have?"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from ..registry import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...engine.ways import Progress
    from ..contents import Source, StoredTensor


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
    """
    from ..file_pool import FilePool
    from ..sizes import parse_size
    from .changes import logical_tensor
    from .compare_tensors import TensorPair, compare_tensors
    from .memory_budget import MemoryBudget
    from .rules import Rule, read_rules
    from .thread_pool import default_jobs

    one, two = open_source(a), open_source(b)
    by_name = read_rules(Rule(), rules, None, None)
    jobs = default_jobs()
    budget = MemoryBudget.of(parse_size(max_memory), jobs)
    pairs = _pairs(one, two)
    total = sum([entry.size for entry in one.values()])
    done, compared = 0, [0]
    alone: tuple[str, str | PathLike[str]] | None = None

    def tensor_pairs() -> Iterator[TensorPair]:
        nonlocal alone, done
        for name, first, second in pairs:
            if first is None or second is None:
                alone = name, b if first is None else a
                return
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
    if alone is not None:
        return Verification(len(pairs), done, alone[0], reason=f"it is only in {alone[1]}.")
    return Verification(len(pairs), done)


def _pairs(one: Source, two: Source) -> list[tuple[str, StoredTensor | None, StoredTensor | None]]:
    if len(one) == len(two) == 1:
        return [(name, entry, other) for (name, entry), other in zip(one.items(), two.values())]
    names = [*one, *[name for name in two if name not in one]]
    return [(name, one.get(name), two.get(name)) for name in names]
