"""Writes the table of docs/errors.md from the error classes: ``python docs/make_errors.py``."""

from pathlib import Path

from relayout.errors import LayoutError, error_classes

PAGE = Path(__file__).parent / "errors.md"
START, END = "<!-- table from the classes -->\n", "<!-- end of table -->\n"

OBVIOUS = (LayoutError, LookupError, Exception, BaseException, object)


def table() -> str:
    """One row per error class."""
    rows = ["| code | class | also a | it means | the way out |", "|---|---|---|---|---|"]
    for cls in error_classes():
        also = ", ".join(f"`{base.__name__}`" for base in cls.__mro__[1:] if base not in OBVIOUS)
        rows.append(f"| {cls.code} | `{cls.__name__}` | {also} | {cls.meaning} | {cls.way_out} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    """The page with its table replaced by the current one."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return before + START + table() + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
