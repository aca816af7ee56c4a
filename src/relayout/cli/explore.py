"""``explore``: layouts in a browser."""

from __future__ import annotations

import sys
import webbrowser
from threading import Thread
from urllib.parse import urlencode, urlsplit

import click

from .answers import Answer, Command
from .arguments import axes_option, dtype_option, shape_option, text_argument


@click.command(cls=Command)
@text_argument(required=False)
@shape_option()
@axes_option()
@dtype_option()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port of the page; by default any free one.")
@click.option("--no-browser", is_flag=True, help="Only say where the page is.")
def explore(
    text: str | None, shape: tuple[int, ...] | None, axes: str | None, dtype: str | None, port: int, no_browser: bool
) -> Answer:
    """Explore layouts in a browser, on a page of this machine only, until Ctrl-C.

    TEXT is a layout in any notation, a name of the catalog, or a link that was copied from such a page before.
    """
    from ..web.server import Explorer

    try:
        made = Explorer(port)
    except OSError as error:
        raise click.UsageError(f"the port {port} is not free: {error.strerror}.", click.get_current_context()) from None
    with made as server:
        where = server.url + _fragment(text, shape, axes, dtype)
        click.echo(f"Exploring at {where} until Ctrl-C.", err=True)
        sys.stderr.flush()
        if not no_browser:
            # A browser of the terminal is done only when it is left, and until then it waits for the page.
            Thread(target=webbrowser.open, args=(where,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("", err=True)
    return Answer({"url": where}, [])


def _fragment(text: str | None, shape: tuple[int, ...] | None, axes: str | None, dtype: str | None) -> str:
    """The end of the address that fills in the fields of the page."""
    if text is not None and text.startswith(("http://", "https://")):
        return f"#{urlsplit(text).fragment}"
    sizes = "" if shape is None else ",".join(map(str, shape))
    fields = {"a": text, "shape": sizes, "axes": axes, "dtype": dtype}
    given = {name: value for name, value in fields.items() if value}
    return f"#{urlencode(given)}" if given else ""
