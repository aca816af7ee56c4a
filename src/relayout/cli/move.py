"""Commands that move data: what a file holds, its tensors in other layouts, and whether two files hold the same."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine.growth import MAX_FACTOR
from ..errors import BadFile, LayoutError
from ..files.jobs.repack_file import Report, Row, repack_file
from ..files.jobs.verify import verify as verify_files
from ..files.packings import packings_of
from ..files.quantised import quantised_layers
from ..files.quantised_schemes import QuantisedLayer
from ..files.registry import open_source
from ..files.sizes import format_size
from ..format.records import known_records
from .answers import Answer, Command, TextTable, is_dumb, no_garbage_collection, print_stderr
from .arguments import as_sizes, dtype_option, fill_option, layout_option

if TYPE_CHECKING:
    from ..files.contents import Source, StoredTensor

PLAIN_SECONDS = 2.0
"""How often progress is told in lines, where there is no terminal."""

file_argument = click.Path(path_type=str, readable=False)
"""What cannot be read is found when it is read."""


class FileCommand(Command):
    """A command on files of tensors; its help lists the suffixes, those of other packages too."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from ..files.registry import suffixes

        super().format_epilog(ctx, formatter)
        read_only = [suffix for suffix in suffixes() if suffix not in suffixes(written=True)]
        formatter.write_paragraph()
        formatter.write_text(f"Files: {', '.join(suffixes(written=True))}; read only: {', '.join(read_only)}.")


@click.command(cls=FileCommand)
@click.argument("file", type=file_argument)
@dtype_option(what="The type of the elements of a raw file.")
@click.option("--shape", callback=as_sizes, metavar="SIZES", help="The logical shape of a raw file's tensor.")
@layout_option("--from", "src", "The layout of a raw file's tensor; row-major if left out.")
def inspect(file: str, dtype: str | None, shape: tuple[int, ...] | None, src: str | None) -> Answer:
    """The tensors of FILE: names, types, shapes, bytes, and the layouts that are recorded.

    The quantised layers of a checkpoint (GPTQ, AWQ, compressed-tensors, bitsandbytes, MLX, NVFP4, FP8) and the blocks
    of GGUF are shown by their logical shapes and the order of their codes; config.json beside the file tells the rest.
    """
    with name_options_in_hints(), no_garbage_collection():
        source, layers = _recognise(open_source(file, dtype=dtype, shape=shape, layout=src))
        packings = packings_of(source)
        found = [_facts(entry, packings.get(entry.name)) for entry in source.values()]
        rows = [
            [
                x["name"],
                x["dtype"] if x["packing"] is None else f"{x['dtype']} ({x['packing']})",
                _shape(x["shape"]),
                _shape(x["stored"]),
                format_size(x["bytes"]),
                x["layout"] or "row-major",
            ]
            for x in found
        ]
    total = sum([x["bytes"] for x in found])
    result = {"file": file, "kind": source.kind, "tensors": found, "metadata": source.metadata, "bytes": total}
    result["quantised"] = kinds = _kinds_of_layers(layers)
    blocks: list[Any] = [f"{source.kind}: {_count(len(found))}, {format_size(total)}"]
    blocks += [_kind_line(kind) for kind in kinds]
    if rows:
        blocks.append(TextTable(("tensor", "type", "shape", "stored", "size", "layout"), rows))
    return Answer(result, blocks)


def _recognise(source: Source) -> tuple[Source, list[QuantisedLayer]]:
    """The source with records for the tensors of quantised layers; one that contradicts itself is shown as stored."""
    try:
        return quantised_layers(source)
    except BadFile as error:
        print_stderr(f"The quantised layers are shown as they are stored: {error}")
        return source, []


def _kinds_of_layers(layers: list[QuantisedLayer]) -> list[dict[str, Any]]:
    """How many layers are quantised in each way."""
    counts = Counter([(x.scheme, x.bits, x.group, x.act_order) for x in layers])
    names = ("scheme", "bits", "group", "act_order")
    return [{**dict(zip(names, kind)), "layers": count} for kind, count in counts.items()]


def _kind_line(kind: dict[str, Any]) -> str:
    order = ", act-order (g_idx)" if kind["act_order"] else ""
    layers = f"{kind['layers']} quantised layer{'s' * (kind['layers'] != 1)}"
    return f"{layers}: {kind['scheme']}, {kind['bits']} bits, groups of {kind['group']}{order}"


def _facts(entry: StoredTensor, packing: str | None) -> dict[str, Any]:
    """What a file says of a tensor; a record that contradicts it is refused."""
    record = entry.record
    kind = entry.element if record is None else entry.interface.element
    shape, layout = entry.shape if record is None else entry.layout.extents, None
    if record is not None:
        layout = record.layout_name(kind)
    elif entry.undecided:
        layout = " or ".join(entry.undecided)
    elif packing is not None and (named := known_records().get(f"ggml:{packing}")) is not None:
        rows, columns = named.record.block
        sizes = (*([1] if len(shape) == 1 and rows > 1 else []), *shape)
        shape = (*sizes[:-1], sizes[-1] // named.record.nbytes * columns)
        shape, layout = (*shape[:-2], *[n * rows for n in shape[-2:-1]], shape[-1]), named.name
    return {
        "name": entry.name,
        "dtype": kind.name
        if record is None or record.interface is None
        else record.interface.get("encoding", kind.name),
        "packing": packing,
        "shape": list(shape),
        "stored": list(entry.shape),
        "bytes": entry.size,
        "layout": layout,
        "axes": entry.axes,
    }


@click.command(cls=FileCommand)
@click.argument("source", metavar="IN", type=file_argument)
@click.argument("destination", metavar="OUT", type=file_argument)
@layout_option("--to", "to", "The new layout: a text in any notation, or a name of the catalog; else row-major.")
@layout_option("--from", "src", "The layout of tensors that have no record.")
@click.option("--shape", callback=as_sizes, metavar="SIZES", help="Their logical shape, if --from is a format.")
@click.option("--axes", metavar="NAMES", help="The names of their dimensions in order, as in nhwc.")
@click.option("--only", multiple=True, metavar="GLOB", help="Only tensors whose name fits; may be repeated.")
@click.option("--except", "except_", multiple=True, metavar="GLOB", help="None of these.")
@click.option("--map", "rules", type=file_argument, metavar="RULES", help="A TOML file of rules by name.")
@fill_option()
@dtype_option(what="The type of the result.")
@dtype_option("--from-dtype", "src_dtype", "The type of a raw file, if it is not the result's.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be written.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Threads; by default the processors, at most 8.")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler, or local:N for N processes started for this.")
@click.option("--compress", metavar="CODEC", help="Of a Zarr: zstd, gzip or blosc, with a level as in zstd:9.")
@click.option("--chunk", metavar="SIZE", help="Of a Zarr: the bytes of a chunk, at most.")
@click.option("--shard", metavar="SIZE", help="Of a Zarr: the bytes of a shard, at most; else there are none.")
@click.option("--max-memory", default="1GiB", show_default=True, metavar="SIZE", help="What the process may need.")
@click.option("--resume", is_flag=True, help="Continue a run that did not finish.")
@click.option("--verify", is_flag=True, help="Read everything again and compare, before the file gets its name.")
@click.option("--force", is_flag=True, help="Overwrite; start again where a run did not finish.")
@click.option("--yes", is_flag=True, help="Write a result that is many times larger than its source.")
def repack(source: str, destination: str, yes: bool, **options: Any) -> Answer:
    """Write the tensors of IN to OUT in another layout, in bounded memory.

    Tensors that are not selected are copied as they are, and so are, with a warning, those that the layout cannot take;
    --dry-run tells which. OUT.part is written first, and renamed when it is whole; a run that was ended is continued
    with --resume. A result of more than 4 times the bytes, and 1 MiB more, needs --yes.
    """
    options["max_growth"] = None if yes else MAX_FACTOR
    options["only"], options["except_"] = list(options["only"]), list(options["except_"])
    try:
        with name_options_in_hints(), progress_on_stderr("repack", quiet=options["dry_run"]) as progress:
            report = repack_file(source, destination, progress=progress, **options)
    except KeyboardInterrupt:
        kept = Path(f"{destination}.part.journal").exists()
        print_stderr(
            f"{destination}.part is unfinished: --resume continues it."
            if kept
            else f"Nothing of this run is kept: {destination} is as it was before."
        )
        raise
    rows = [
        [
            row.name,
            row.before,
            _outcome(row),
            format_size(row.bytes_before),
            format_size(row.bytes_after),
            f"{row.padding:.1%}",
        ]
        for row in report.rows
    ]
    result = {**report._asdict(), "rows": [row._asdict() for row in report.rows], "dry_run": options["dry_run"]}
    if options["dry_run"]:
        titles = ("tensor", "from", "to", "before", "after", "padding")
        return Answer(result, [TextTable(titles, rows), summary(report)])
    resumed = f", {format_size(report.resumed)} of it before" if report.resumed else ""
    return Answer(result, [f"{destination}: {summary(report)}{resumed}"])


@click.command(cls=FileCommand)
@click.argument("a", type=file_argument)
@click.argument("b", type=file_argument)
@click.option("--map", "rules", type=file_argument, metavar="RULES", help="The rules by which B was made of A.")
@click.option("--max-memory", default="1GiB", show_default=True, metavar="SIZE", help="What the process may need.")
def verify(a: str, b: str, rules: str | None, max_memory: str) -> Answer:
    """Do files A and B hold the same tensors, element by element, whatever their layouts? If not, exit code 1."""
    with name_options_in_hints(), progress_on_stderr("verify") as progress:
        found = verify_files(a, b, rules=rules, max_memory=max_memory, progress=progress)
    return Answer({"same": bool(found), **found._asdict()}, [str(found)], no=not found)


def _outcome(row: Row) -> str:
    """What becomes of a tensor."""
    return row.after if not row.kept else "unchanged" if row.why is None else f"unchanged: {row.why}"


def summary(report: Report) -> str:
    """How many tensors and bytes there are, and how many tensors stayed as they were."""
    changed = sum([not row.kept for row in report.rows])
    kept = len(report.rows) - changed
    copied = f" ({kept} copied unchanged)" if kept else ""
    return f"{_count(len(report.rows))}{copied}, {format_size(report.total)}"


def _count(number: int) -> str:
    return f"{number} tensor{'s' * (number != 1)}"


def _shape(sizes: list[int]) -> str:
    return "x".join([str(n) for n in sizes]) or "()"


_OPTIONS = {
    r"\bwith (force|resume)\b": r"with --\1",
    r"\bwith max_growth=None": "with --yes",
    r"\bfrom_=": "--from tp=",
    r"\bfrom_\b": "--from",
    r"\brules=": "--map",
}
"""How a hint names a parameter, and how the option of the command is named."""


@contextmanager
def name_options_in_hints() -> Iterator[None]:
    """Hints that speak of parameters speak of options."""
    try:
        yield
    except LayoutError as error:
        for told in ("hint", "message"):
            words = getattr(error, told)
            for parameter, option in _OPTIONS.items():
                words = re.sub(parameter, option, words)
            setattr(error, told, words)
        raise


@contextmanager
def progress_on_stderr(what: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal; elsewhere a line now and then, and none for what is quick."""
    if quiet:
        yield None
    elif sys.stderr.isatty() and not is_dumb():
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        columns = (TextColumn(what), BarColumn(), DownloadColumn(True), TransferSpeedColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        with ExitStack() as shown:

            def draw(done: int, total: int) -> None:
                """The bar appears with the first bytes, when all warnings are told."""
                if not bar.tasks:
                    shown.enter_context(bar)
                    bar.add_task(what, total=total)
                bar.update(bar.tasks[0].id, completed=done, total=total)

            yield draw
    else:
        last = [time.monotonic()]

        def tell(done: int, total: int) -> None:
            if time.monotonic() - last[0] >= PLAIN_SECONDS:
                last[0] = time.monotonic()
                print_stderr(f"{what}: {format_size(done)} of {format_size(total)} ({done / max(total, 1):.0%})")

        yield tell
