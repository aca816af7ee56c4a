"""MLIR as text: values in the order in which they are made, each with a number, and types of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ..elements.types import Element
from ..errors import NotExpressible
from .values import Definition, Monomial

FLOATS = {"float32": "f32", "float64": "f64"}
"""The floats that tensors hold; all other elements are integers of their width, which have no sign in MLIR.

Halves are integers too: compilers that compute them by way of float32 would make signalling NaNs quiet.
"""

Shape = Sequence[Monomial]


def mlir_type(element: Element) -> str:
    """The type of an element in a tensor."""
    kind = element.underlying
    if kind.bits < 8:
        raise NotExpressible(
            f"MLIR does not say how tensors of elements of {kind.bits} bits lie in memory.",
            hint="take a target that packs bytes, as numpy or c",
            element=element,
        )
    if kind.bits > 64:
        raise NotExpressible(
            f"MLIR's compilers move no elements of {kind.bits} bits.",
            hint="take it as int64, with one more dimension of 2",
            element=element,
        )
    return FLOATS.get(kind.name, f"i{kind.bits}")


def tensor_type(shape: Shape, kind: str) -> str:
    sizes = [f"{n.number}x" if n.known else "?x" for n in shape]
    return f"tensor<{''.join(sizes)}{kind}>"


class MlirBody:
    """The operations of one function."""

    def __init__(self, definitions: Sequence[Definition] = ()) -> None:
        self.lines: list[str] = []
        self.definitions = {definition.name: definition for definition in definitions}
        self.values: dict[object, str] = {}
        self.count = 0
        self.depth = 1

    def line(self, text: str) -> None:
        self.lines.append(f"{'  ' * self.depth}{text}")

    def comment(self, text: str) -> None:
        if text:
            self.line(f"// {text}")

    def add(self, text: str) -> str:
        """An operation with one result, and the name of that."""
        name = f"%{self.count}"
        self.count += 1
        self.line(f"{name} = {text}")
        return name

    def constant(self, value: str, kind: str = "index") -> str:
        """A constant, once for each value."""
        key = (value, kind)
        if key not in self.values:
            word = value.replace("-", "m").replace(".", "_").replace("+", "")
            name = f"%c{word}" if kind == "index" else f"%c{word}_{kind}"
            self.line(f"{name} = arith.constant {value} : {kind}")
            self.values[key] = name
        return self.values[key]

    def index(self, value: Monomial) -> str:
        """A size as a value: a constant, an argument, or a product, once for each."""
        if value.known:
            return self.constant(str(value.number))
        if value not in self.values:
            self.values[value] = self._product(value)
        return self.values[value]

    def _product(self, value: Monomial) -> str:
        found = [] if value.number == 1 else [self.constant(str(value.number))]
        found += [self._named_value(name) for name in value.names]
        total = found[0]
        for factor in found[1:]:
            total = self.add(f"arith.muli {total}, {factor} : index")
        return total

    def _named_value(self, name: str) -> str:
        if name not in self.definitions:
            return f"%{name}"
        if name not in self.values:
            definition = self.definitions[name]
            value, divisor = self.index(definition.value), self.index(definition.divisor)
            found = self.add(f"arith.ceildivui {value}, {divisor} : index")
            if definition.whole:
                found = self.add(f"arith.muli {found}, {divisor} : index")
            self.values[name] = found
        return self.values[name]

    def size(self, value: Monomial) -> str:
        """A size where numbers are written as such."""
        return str(value.number) if value.known else self.index(value)

    def difference(self, whole: Monomial, part: Monomial, less: int = 0) -> str:
        """``whole - part - less``, a number where it is known."""
        if whole == part and not less:
            return "0"
        if whole.known and part.known:
            return str(whole.number - part.number - less)
        return self.add(f"arith.subi {self.index(whole)}, {self.index(part)} : index")

    def empty(self, shape: Shape, kind: str) -> str:
        sizes = ", ".join([self.index(n) for n in shape if not n.known])
        return self.add(f"tensor.empty({sizes}) : {tensor_type(shape, kind)}")


def groups_of(old: Shape, new: Shape) -> list[tuple[list[int], list[int]]] | None:
    """The axes of two shapes that hold the same elements, group by group; None where none but all do."""
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        ours, theirs = ([i], [j]) if i < len(old) and j < len(new) else ([], [])
        if not ours:
            if not found:
                return None
            # What is left has one element.
            found[-1][0].extend(range(i, len(old)))
            found[-1][1].extend(range(j, len(new)))
            return found
        a, b = old[i], new[j]
        i, j = i + 1, j + 1
        while a != b:
            if j < len(new) and (b.divides(a) or i >= len(old)):
                b *= new[j]
                theirs.append(j)
                j += 1
            elif i < len(old):
                a *= old[i]
                ours.append(i)
                i += 1
            else:
                return None
        found.append((ours, theirs))
    return found


def brackets(groups: Sequence[Sequence[int]]) -> str:
    return str([list(group) for group in groups])
