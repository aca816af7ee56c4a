"""ACME's trace of a run: a line for each operation, with its time, and for a ``dma`` the layouts on both sides."""

from collections.abc import Iterator

from relayout.auditing.artefact import Artefact
from relayout.auditing.making import make_move, make_side
from relayout.auditing.move import Buffer, Found, Step

HEAD = "acme trace 1"

EXAMPLE = f"""{HEAD}
weight %w nchw 64x64x3x3 float32
dma %x nchw -> %a nChw16c 1x64x28x28 float32 12.5us
relu %a -> %b 4us
dma %b nChw16c -> %y nchw 1x64x28x28 float32 11us
return %y
"""


class TraceReader:
    """Reads such traces line by line."""

    kind = "acme"
    title = "ACME trace"
    EXAMPLES = (EXAMPLE,)

    def recognises(self, artefact: Artefact) -> bool:
        return artefact.opening.startswith(HEAD)

    def read(self, artefact: Artefact) -> Iterator[Found]:
        for number, line in artefact.lines():
            words = line.split()
            if not words or line == HEAD:
                continue
            try:
                yield self.found(artefact, number, words)
            except (ValueError, IndexError):
                yield artefact.trouble(f"{words[0]!r} is followed by something else", number)

    def found(self, artefact: Artefact, number: int, words: list[str]) -> Found:
        """What one line tells; a line of another form is a ``ValueError`` or an ``IndexError``."""
        op, values = words[0], [word for word in words if word.startswith("%")]
        place = artefact.place(number, values[-1])
        if op == "weight":
            shape = sizes(words[3])
            return Buffer(place, make_side(words[2], shape=shape, element=words[4]), shape, "constant", values[0])
        if op != "dma":
            time = None if op == "return" else seconds(words[-1])
            outputs = tuple(values[-1:]) if "->" in words else ()
            return Step(place, op, tuple(values[: len(values) - len(outputs)]), outputs, op == "relu", None, time)
        shape, element = sizes(words[6]), words[7]
        source, target = (make_side(words[k], shape=shape, element=element) for k in (2, 5))
        return make_move(place, op, source, target, time=seconds(words[8]), reads=values[0], writes=values[1])


def sizes(text: str) -> tuple[int, ...]:
    """The shape ``1x64x28x28``."""
    return tuple([int(n) for n in text.split("x")])


def seconds(text: str) -> float:
    """The time ``12.5us``."""
    return float(text.removesuffix("us")) / 1e6


READER = TraceReader()
