"""Shardings on the page: what is drawn where a field holds one, and what there is to tell of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..ask.comparing import compare
from ..ask.explain import explain
from ..ask.facts import facts_as_text, sharding_facts
from ..dialects.shardings import SHARDING_DIALECTS, as_sharding
from ..drawing.draw import draw
from ..drawing.drawing import Drawing
from ..errors import LayoutError, ShapeError
from ..sharding.comparison import ShardingComparison
from ..sharding.sharding import Sharding
from .records import FIELDS
from .state import State, blame_field


class PageSharding(NamedTuple):
    """The sharding that a field holds."""

    label: str
    text: str
    sharding: Sharding


class ShardingPicture(NamedTuple):
    """The picture of shardings, and the verdict on two where they are compared."""

    drawing: Drawing
    shardings: list[PageSharding]
    verdict: ShardingComparison | None = None


def sharding_picture(state: State) -> ShardingPicture | None:
    """The picture of the shardings that the fields hold; None where the first field that is drawn holds none."""
    found: list[PageSharding] = []
    for name in FIELDS.get(state.do, ""):
        text = getattr(state, name)
        with blame_field(name):
            sharding = as_sharding(text)
            if sharding is None and not found:
                return None
            if sharding is None:
                raise ShapeError("this is no sharding, and stands beside one.", hint="write a sharding here as well")
        found.append(PageSharding(name.upper(), text.strip(), sharding))
    if not found:
        return None
    with blame_field("shape"):
        sized = [x._replace(sharding=_with_shape(x, state, found)) for x in found]
        if state.do == "compare":
            verdict = compare(sized[0].sharding, sized[1].sharding)
            if isinstance(verdict, ShardingComparison):
                return ShardingPicture(draw(verdict), sized, verdict)
        return ShardingPicture(draw(*[x.sharding for x in sized]), sized)


def _with_shape(x: PageSharding, state: State, found: list[PageSharding]) -> Sharding:
    """The sharding for the shape that is filled in, or that one of them says."""
    told = next((other.sharding.shape for other in found if other.sharding.shape is not None), None)
    shape = state.sizes if state.sizes is not None else told
    if shape is None:
        raise ShapeError("what devices hold depends on the shape, and none is given.", hint="fill it in, as in 16,8")
    again = as_sharding(x.text, shape)
    return x.sharding.at(shape) if again is None or again.shape != shape else again


def sharding_python(state: State, picture: ShardingPicture) -> list[str]:
    """The lines of Python that draw the picture."""
    texts = ", ".join([repr(x.text) for x in picture.shardings])
    shape = "" if state.sizes is None else f", shape={state.sizes}"
    if picture.verdict is None:
        return [f'rl.draw({texts}{shape}).save("picture.svg")']
    return [f"verdict = rl.compare({texts}{shape})", "print(verdict)", 'rl.draw(verdict).save("picture.svg")']


def sharding_json(x: PageSharding) -> dict[str, Any]:
    """What the page shows beside the field."""
    shape = list(map(str, x.sharding.shape or ()))
    return {"label": x.label, "layout": str(x.sharding), "shape": shape, "names": [], "example": False}


def sharding_sheet(x: PageSharding) -> dict[str, Any]:
    """The ledger of a sharding, its explanation, and all notations that can say it."""
    return {
        "label": x.label,
        "title": x.text,
        "ledger": facts_as_text(sharding_facts(x.sharding)),
        "words": explain(x.sharding).splitlines(),
        "rosetta": [_row(name, x.sharding) for name in SHARDING_DIALECTS],
    }


def _row(name: str, sharding: Sharding) -> dict[str, Any]:
    try:
        return {"notation": name, "text": sharding.to(name), "reason": ""}
    except LayoutError as error:
        return {"notation": name, "text": None, "reason": error.message.rpartition(": ")[2]}
