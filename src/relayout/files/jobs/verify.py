"""``verify``: do two files hold the same tensors, element by element, through whatever layouts they have?"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from ..registry import open_source

if TYPE_CHECKING:
    from ...engine.plan import Progress
    from ..entry import Entry, Source


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
        if self:
            return f"the same: {self.tensors} tensor{'s' * (self.tensors != 1)}, {self.bytes} bytes"
        if self.values is None:
            return f"tensor {self.tensor!r}: {self.reason}"
        first, second = map(str, self.values)
        bits = ", of other bits" if first == second else ""
        return f"tensor {self.tensor!r} differs at {self.coordinate}: {first} and {second}{bits}"


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
    from ..regions import Files
    from ..sizes import as_bytes
    from .changes import held
    from .room import Room
    from .rules import Rule, read_rules
    from .verifying import compare_entries

    one, two = open_source(a), open_source(b)
    found = read_rules(Rule(), rules, None, None)
    room = Room.of(as_bytes(max_memory), 1)
    pairs = _pairs(one, two)
    total = sum([entry.size for entry in one.values()])
    done = 0
    with Files() as files:
        for name, first, second in pairs:
            if first is None or second is None:
                return Verification(len(pairs), done, name, reason=f"it is only in {b if first is None else a}.")
            rule = found.find(name) or Rule()
            verdict = compare_entries(files, (first, held(first, rule)), (second, held(second, Rule())), room)
            if verdict is not None:
                return verdict
            done += first.size
            if progress is not None:
                progress(done, total)
    return Verification(len(pairs), done)


def _pairs(one: Source, two: Source) -> list[tuple[str, Entry | None, Entry | None]]:
    if len(one) == len(two) == 1:
        return [(name, entry, other) for (name, entry), other in zip(one.items(), two.values())]
    names = [*one, *[name for name in two if name not in one]]
    return [(name, one.get(name), two.get(name)) for name in names]
