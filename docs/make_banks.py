"""Writes the tables of docs/banks.md from the architectures: ``python docs/make_banks.py``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relayout.ask.banks import lanes_text
from relayout.hardware import Access, Architecture, architecture_named, architecture_names

PAGE = Path(__file__).parent / "banks.md"
START, END = "<!-- tables of the architectures -->\n", "<!-- end of tables -->\n"


def lanes_in(phases: Sequence[Sequence[int]]) -> str:
    """Phases in short: runs of lanes in order, or each as it is."""
    size, count = len(phases[0]), len(phases)
    lanes = [lane for phase in phases for lane in phase]
    if lanes == list(range(len(lanes))):
        return f"{count} of {size}, in order" if count > 1 else f"{lanes_text(phases[0]).removeprefix('lanes ')}"
    return " · ".join([lanes_text(phase).removeprefix("lanes ") for phase in phases])


def rules(access: Access) -> str:
    """What is special about an access."""
    said = []
    if access.pairs:
        apart = " or ".join(map(str, access.pairs))
        said.append(f"lanes in pairs, {apart} apart: {lanes_in(access.paired_phases)}")
    if access.steady:
        said.append("lanes that are off save nothing")
    if not access.shares:
        said.append("no word is shared")
    return "; ".join(said)


def machines() -> dict[str, list[Architecture]]:
    """The architectures of each vendor."""
    found: dict[str, list[Architecture]] = {}
    for arch in map(architecture_named, architecture_names()):
        found.setdefault(arch.vendor, []).append(arch)
    return found


def served(vendor: Sequence[Architecture]) -> str:
    """The accesses of a vendor's machines: a row for those that are served alike, with how that is known where."""
    rows: dict[tuple[str, ...], list[str]] = {}
    names = dict.fromkeys(name for arch in vendor for name in arch.accesses)
    for name in names:
        ways: dict[tuple[object, ...], list[Architecture]] = {}
        for arch in vendor:
            if name in arch.accesses:
                access = arch.accesses[name]
                ways.setdefault((access.bytes, access.phases, rules(access), arch.banks), []).append(arch)
        for group in ways.values():
            access = group[0].accesses[name]
            cells = str(access.bytes), lanes_in(access.phases), str(group[0].banks), rules(access), known(name, group)
            rows.setdefault(cells, []).append(name)
    head = "| access | bytes a lane | phases (lanes) | banks | rules | known |\n|---|---|---|---|---|---|\n"
    body = [
        f"| {', '.join([f'`{name}`' for name in names])} | {' | '.join(cells)} |\n" for cells, names in rows.items()
    ]
    return head + "".join(body)


def known(name: str, group: Sequence[Architecture]) -> str:
    """How an access is known on each of some machines, and by whom."""
    by: dict[tuple[str, str], list[str]] = {}
    for arch in group:
        by.setdefault((arch.accesses[name].known, arch.accesses[name].source), []).append(arch.name)
    return "; ".join([f"{how} on {', '.join(where)} ({source})" for (how, source), where in by.items()])


def refused(vendor: Sequence[Architecture]) -> str:
    """What is refused on which machine, and why."""
    rows: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for arch in vendor:
        for reason in dict.fromkeys(arch.refused.values()):
            names = tuple(name for name, why in arch.refused.items() if why == reason)
            rows.setdefault((names, reason), []).append(arch.name)
    body = [f"| {', '.join(where)} | {', '.join(names)} | {why} |\n" for (names, why), where in rows.items()]
    return "| refused on | access | because |\n|---|---|---|\n" + "".join(body)


def tables() -> str:
    """The machines of each vendor, what they serve together, and what is refused."""
    parts = []
    for vendor, archs in machines().items():
        names = ", ".join([f"`{arch.name}` ({arch.title}; {arch.lanes} lanes)" for arch in archs])
        parts.append(f"### {vendor}\n\n{names}.\n\n{served(archs)}\n{refused(archs)}\n")
    return "\n" + "".join(parts)


def page(text: str) -> str:
    """The page with its tables replaced by the current ones."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return before + START + tables() + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
