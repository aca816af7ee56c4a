"""The command line; click is imported only when a command runs."""

from __future__ import annotations


def main() -> None:
    """The entry point of the ``relayout`` command."""
    import click

    from .. import __version__

    @click.group(context_settings={"help_option_names": ["-h", "--help"]})
    @click.version_option(__version__, prog_name="relayout")
    def relayout() -> None:
        """Exact tensor layouts, computed, combined, compared and pictured."""

    @relayout.command()
    def demo() -> None:
        """Show what relayout does, on built-in data."""
        from .demo import run

        run()

    relayout()
