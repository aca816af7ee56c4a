"""How the command line fails: one exit code for each kind of error, one way to tell it, and never a traceback."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NoReturn

import click

from ..ask.json_values import as_json
from ..errors import BadFile, Cancelled, LayoutError, LimitExceeded, NotExpressible, ParseError
from .answers import BAD_INPUT, SCHEMA, fold, json_text, print_stderr, print_stdout, width_of

USAGE, NOT_EXPRESSIBLE, LIMIT, BUG, INTERRUPTED = 2, 4, 5, 70, 130
_IN_JSON = ("text", "position", "counterexample", "candidates", "missing", "limit", "file", "tensor")
"""The operands of an error that its JSON holds."""


def run_and_exit(run: Callable[..., Any], args: Sequence[str] | None, *rest: Any, **options: Any) -> NoReturn:
    """Run a click command and leave with its exit code; an error is told on stderr, or with --json on stdout."""
    arguments = list(sys.argv[1:] if args is None else args)
    in_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    try:
        code = run(arguments, *rest, **{**options, "standalone_mode": False})
    except (click.Abort, KeyboardInterrupt):
        code = _report("interrupted", "interrupted.", "", INTERRUPTED, in_json)
    except click.UsageError as error:
        context = error.ctx
        usage = "" if context is None else f"{context.get_usage()}\n"
        hint = "" if context is None else f"{context.command_path} --help tells more"
        code = _report("usage", error.format_message(), hint, USAGE, in_json, usage)
    except click.ClickException as error:
        code = _report("input", error.format_message(), "", BAD_INPUT, in_json)
    except LayoutError as error:
        code = _report_layout_error(error, in_json)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        what = f"{name}{error.strerror or error}."
        missing = isinstance(error, FileNotFoundError)
        hint = "look at the name and the folder" if missing else "look at the permissions and the disk"
        code = _report_layout_error(BadFile(what, hint=hint), in_json)
    except SystemExit:
        code = 0  # so click leaves when nobody reads its help
    except (MemoryError, RecursionError) as error:
        what = "memory" if isinstance(error, MemoryError) else "stack"
        code = _report("limit", f"this needs more {what} than there is.", "ask about a part of it", LIMIT, in_json)
    sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: LayoutError) -> int:
    """The exit code that tells this kind of error."""
    if isinstance(error, NotExpressible):
        return NOT_EXPRESSIBLE
    if isinstance(error, LimitExceeded):
        return LIMIT
    return INTERRUPTED if isinstance(error, Cancelled) else BAD_INPUT


def with_option_names(text: str) -> str:
    """What the library says of its parameters, said of options: ``pass shape=(...)`` is ``pass --shape (...)``."""
    text = text.replace("element_bits= or dtype=", "--dtype").replace("shape=(...)", "--shape 1,8,8,32")
    text = re.sub(r'element="(\w+)"', r"--dtype \1", text.replace("padded=True", "--padded"))
    return re.sub(r"\b(shape|dtype|axes|limit|fill)=(?=(\S?))", lambda m: f"--{m[1]}{' ' * bool(m[2])}", text)


def _report_layout_error(error: LayoutError, in_json: bool) -> int:
    hint = with_option_names(error.hint)
    if in_json:
        words = {name: as_json(error.operands[name]) for name in _IN_JSON if error.operands.get(name) is not None}
        found = {"code": error.code, "name": type(error).__name__, "message": error.message, "hint": hint, **words}
        return _print_json(found, exit_code(error))
    caret = ""
    if isinstance(error, ParseError):
        caret = str(error).removeprefix(error.message).removesuffix(f"\nHint: {error.hint}")
    return _print(f"{type(error).__name__} [{error.code}]: {error.message}", caret, hint, exit_code(error))


def _report(code: str, message: str, hint: str, status: int, in_json: bool, before: str = "") -> int:
    if in_json:
        return _print_json({"code": code, "message": message, "hint": hint}, status)
    print_stderr(before, end=False)
    return _print(f"Error: {message}", "", hint, status)


def _print_json(error: dict[str, Any], status: int) -> int:
    print_stdout(json_text({"relayout": SCHEMA, "error": {**error, "exit_code": status}}))
    return status


def _print(message: str, caret: str, hint: str, status: int) -> int:
    """The message, the text with its caret, and the way out, on stderr; folded to a terminal's width."""
    width = width_of(sys.stderr)
    print_stderr(fold(message, width), "red")
    lines = caret.splitlines()[1:]
    start = 0 if width is None or not lines else max(0, len(lines[-1]) + 12 - width)
    for line in lines:
        print_stderr(line[start:][:width])
    if hint:
        print_stderr(fold(f"Hint: {hint}", width), "yellow")
    return status


def report_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> NoReturn:
    """The last resort, for a mistake in relayout itself."""
    where = ""
    while trace is not None:
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    print_stderr(f"relayout made a mistake: {kind.__name__}: {error} ({where}). Please report it.")
    raise SystemExit(BUG)
