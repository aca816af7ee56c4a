"""The colours of pictures: tints that stay apart for colour-blind eyes and under text, in light and dark mode."""

from __future__ import annotations

from typing import NamedTuple

from .scene import Scale


class Theme(NamedTuple):
    """All colours of one mode. The ramp changes steadily in lightness, so that it survives without any hue."""

    paper: str
    ink: str
    faint: str
    line: str
    rule: str
    hatch: str
    mark: str
    categories: tuple[str, ...]
    ramp: tuple[str, ...]

    def tint(self, scale: Scale, tint: int) -> str:
        return (self.categories if scale == "categories" else self.ramp)[tint]


LIGHT = Theme(
    paper="#ffffff",
    ink="#1b1f24",
    faint="#57606a",
    line="#ffffff",
    rule="#30363d",
    hatch="#c3c9d1",
    mark="#b3004b",
    categories=("#82b5ef", "#f4f4a5", "#85e0be", "#e0a26f", "#d5d2fe", "#decb7d", "#a0b8ad", "#c0fcf9"),
    ramp=(
        *("#f8f5bf", "#e2f1ba", "#c9ecb9", "#b0e7bc", "#97e0c2", "#80d8ca"),
        *("#6ecfd2", "#63c4d8", "#62b8dd", "#68aadf", "#739bdc", "#7f8cd5"),
    ),
)

DARK = Theme(
    paper="#14171c",
    ink="#f5f7fa",
    faint="#9aa4af",
    line="#14171c",
    rule="#d5dae0",
    hatch="#4a525c",
    mark="#ff7eb6",
    categories=("#2b6991", "#686722", "#103f44", "#694323", "#4b447b", "#472400", "#2d2457", "#845261"),
    ramp=(
        *("#282255", "#222b5e", "#193565", "#053e6a", "#044866", "#025065"),
        *("#015865", "#056064", "#026962", "#03715d", "#207855", "#3d7d4d"),
    ),
)

_FONT = 'ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace'


def css() -> str:
    """The style sheet of every picture in SVG.

    Dark where the reader's system is, unless an ancestor's ``data-theme`` says ``light`` or ``dark``.
    """
    shapes = f""".rl{{font:12px {_FONT}}}
.rl text{{text-anchor:middle}}
.rl .row{{text-anchor:end}}
.rl .label,.rl .start,.rl .stride{{font-size:10px}}
.rl .title,.rl .start{{text-anchor:start}}
.rl .title{{font-weight:600}}
.rl .joint{{font-size:20px}}
.rl .line,.rl .path,.rl .step,.rl .mark,.rl .hatch,.rl .rule1,.rl .rule2,.rl .rule3{{fill:none}}
.rl .rule1{{stroke-width:1.25}}
.rl .rule2{{stroke-width:2.25;stroke-linecap:square}}
.rl .rule3{{stroke-width:3.5;stroke-linecap:square}}
.rl .path{{stroke-width:1.4;opacity:.65;stroke-linejoin:round;stroke-linecap:round}}
.rl .far{{opacity:.35}}
.rl .mark{{stroke-width:2.5;stroke-linecap:square}}
"""
    dark = _paint(DARK)
    return (
        shapes
        + "".join([f"{where}{what}\n" for where, what in _paint(LIGHT)])
        + "@media(prefers-color-scheme:dark){"
        + "".join([f":not([data-theme=light] *){where}{what}" for where, what in dark])
        + "}\n"
        + "".join([f"[data-theme=dark] {where}{what}\n" for where, what in dark])
    )


def _paint(theme: Theme) -> list[tuple[str, str]]:
    """Selectors and rules: which part of a picture has which colour."""
    return [
        (".rl text", f"{{fill:{theme.ink}}}"),
        *[(f".rl .{name}", f"{{fill:{theme.faint}}}") for name in ("label", "out", "start")],
        *[(f".rl .{name}", f"{{fill:{theme.paper}}}") for name in ("bg", "none")],
        (".rl .line", f"{{stroke:{theme.line}}}"),
        *[(f".rl .{name}", f"{{stroke:{theme.hatch}}}") for name in ("hatch", "none")],
        *[(f".rl .rule{k}", f"{{stroke:{theme.rule}}}") for k in (1, 2, 3)],
        *[(f".rl .{name}", f"{{stroke:{theme.ink}}}") for name in ("path", "step")],
        (".rl .mark", f"{{stroke:{theme.mark}}}"),
        *[(f".rl .c{k}", f"{{fill:{colour}}}") for k, colour in enumerate(theme.categories)],
        *[(f".rl .r{k}", f"{{fill:{colour}}}") for k, colour in enumerate(theme.ramp)],
    ]
