"""The functions of one layout in languages of the C family with threads."""

from __future__ import annotations

from .c_lines import CLines
from .gather_kernel import KernelFunction, KernelWords
from .lower import layout_module
from .program import IndexFunctions
from .statements import Parameter, Routine


class _IndexFunction(KernelFunction):
    """The printer of one of them; the one that visits takes anything that can be called."""

    context = ()
    no_arguments = ()

    def before_head(self) -> str:
        return "template <typename Visit>" * any(p.kind == "visitor" for p in self.function.parameters)

    def parameter(self, p: Parameter) -> list[str]:
        return [f"Visit {p.name}"] if p.kind == "visitor" else super().parameter(p)


def index_texts(functions: IndexFunctions, words: KernelWords, visits: str) -> list[str]:
    """The functions, and in place of those that there are not the reason; ``visits`` is why none visits, or empty."""
    index = words.types["i64"]
    routines = [routine for routine in layout_module(functions).functions if not visits or not _is_visit(routine)]
    texts = [_IndexFunction(routine, words, index).text() for routine in routines]
    lines = CLines()
    if functions.no_inverse:
        lines.add(0, f"// No place tells its coordinate: {functions.no_inverse}.")
    elif visits:
        lines.add(0, f"// {visits}")
    return [*texts, *["\n".join(lines.lines)] * bool(lines.lines)]


def _is_visit(routine: Routine) -> bool:
    """Whether a function is the walk through memory, or computes its bounds."""
    return routine.helper in ("each", "min", "max")
