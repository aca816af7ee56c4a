"""What the shell completes. bash cuts words at colons, which names of the catalog have; the others do not."""

from __future__ import annotations

import os

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

_WORD_BREAKS = ":="


@add_completion_class
class WholeWords(BashComplete):
    """Completes the words of the line itself, and answers with what stands behind the last break of the word."""

    source_template = BashComplete.source_template.replace(
        "$(env ", '$(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" '
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"].encode()[: int(os.environ["COMP_POINT"])].decode(errors="ignore")
        words = split_arg_string(line)[1:]
        incomplete = "" if not words or line[-1:].isspace() else words.pop()
        self._behind = max([incomplete.rfind(mark) for mark in _WORD_BREAKS]) + 1
        return words, incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.type},{item.value[self._behind :] if item.type == 'plain' else item.value}"
