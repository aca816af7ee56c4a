"""Functions in C99, in the style of clang-format: no dependencies but the standard library's headers."""

from __future__ import annotations

import re

from .c_conversion import CConversion, convert_text
from .c_fill import fill_lines
from .c_helpers import definition_text, factor_text, packed_helpers, swizzle_text
from .c_lines import CLines, function_text, product_text, sum_text, value_text
from .c_types import c_type
from .loops import NestLevel
from .program import PackFunction
from .values import ONE, Monomial

SHORT_RUN = 16
"""Neighbours of fewer bytes are copied one by one: a call takes longer."""

LONG_RUN = 512
"""Up to so many bytes a copy of a size that the compiler knows is faster: whole blocks have one of their own."""


class PackWriter:
    """The text of one function."""

    def __init__(self, function: PackFunction) -> None:
        self.function = function
        self.name = function.name
        self.nest = function.nest
        self.type = c_type(function.element)
        self.target_type = c_type(function.target_element)
        self.conversion: CConversion | None = None
        if function.conversion is not None:
            self.conversion = convert_text(f"{self.name}_convert", *function.conversion)
        self.bits = function.element.bits
        self.constants: dict[str, Monomial] = {}
        self.helpers: set[str] = set()
        self.depth = 1
        self.body = CLines()
        self.at_index = self._needs_indices()

    # ---- the whole ---------------------------------------------------------------------------------------

    def text(self) -> str:
        """The helpers that the function needs, and the function under a comment."""
        self.body.lines += fill_lines(self.function)
        self.constants["dst_size"] = self.function.target.storage
        if not self.nest.empty:
            self._write_loops()
        body = self.body.lines
        head = CLines()
        if self.function.sizes:
            none = " || ".join([f"{n} < 1" for n in self.function.sizes])
            head.add(1, f"if ({none})")
            head.add(2, "return 0;" if self.refuses else "return;")
        body = [*head.lines, *self._constants(body), *body]
        used = "\n".join(body)
        body = [*[f"  (void){n};" for n in ("src", "dst") if not re.search(rf"\b{n}\b", used)], *body]
        if self.refuses:
            body.append("  return 0;")
        comment = CLines()
        for line in [*self.function.about, *["Returns 1 at a value that has no place there, else 0."] * self.refuses]:
            comment.add(0, f"// {line}")
        parts = [*self._helpers(), "\n".join([*comment.lines, self.signature, *body, "}"])]
        return "\n\n".join(parts)

    @property
    def refuses(self) -> bool:
        """Whether the function may meet a value that the target does not store."""
        return self.conversion is not None and self.conversion.refuses

    @property
    def signature(self) -> str:
        sizes = [f"int64_t {n}" for n in self.function.sizes]
        opening = f"{'int' if self.refuses else 'void'} {self.name}("
        lines = CLines()
        lines.add_list(opening, [f"const {self.type} *src", f"{self.target_type} *dst", *sizes], ") {")
        return "\n".join(lines.lines)

    def _constants(self, body: list[str]) -> list[str]:
        """The definitions of the names that the body uses: blocks, sizes, then strides."""
        strides = [(name, value_text(value)) for name, value in self.constants.items() if name[:4] in ("src_", "dst_")]
        strides = [(name, text) for name, text in strides if name != "dst_size"]
        sizes = [(name, value_text(value)) for name, value in self.constants.items() if value.known]
        sizes = [entry for entry in sizes if entry not in strides and entry[0] != "dst_size"]
        named = sizes + [(d.name, definition_text(d)) for d in self.function.definitions]
        named += [(n, value_text(v)) for n, v in self.constants.items() if (n, value_text(v)) not in sizes + strides]
        named += strides
        used = "\n".join(body)
        kept = []
        for name, text in named[::-1]:
            if re.search(rf"\b{name}\b", used):
                kept.append((name, text))
                used += "\n" + text
        found = CLines()
        for k, (name, text) in enumerate(kept[::-1]):
            if (name, text) in strides and (k == 0 or kept[::-1][k - 1] not in strides):
                found.add(1, "// Strides, in elements")
            found.add(1, f"const int64_t {name} = {text};")
        return found.lines

    def _helpers(self) -> list[str]:
        """The small functions that this one calls."""
        found = []
        for name in ("min", "max"):
            if name in self.helpers:
                sign = "<" if name == "min" else ">"
                head = f"static int64_t {self.name}_{name}(int64_t a, int64_t b) {{"
                found.append(function_text([head], [f"  return a {sign} b ? a : b;"]))
        for side, operand in (("src", self.function.source), ("dst", self.function.target)):
            swizzle = operand.swizzle
            if f"swizzle_{side}" in self.helpers and swizzle is not None:
                found.append(swizzle_text(f"{self.name}_swizzle_{side}", swizzle))
        if self.conversion is not None and not self.nest.empty:
            found.append(self.conversion.text)
        if "packed" in self.helpers:
            found += packed_helpers(self.name, self.bits)
        return found

    # ---- loops -------------------------------------------------------------------------------------------

    def _needs_indices(self) -> bool:
        """Whether places are numbers until the last moment: where a pointer could leave the memory, or is none."""
        if self.bits < 8 or self.function.source.swizzle or self.function.target.swizzle:
            return True
        for k, level in enumerate(self.nest.levels):
            if self.nest.axes[level.axis].low or any(not level.place.divides(x.place) for x in self.nest.around(k)):
                return True
        return False

    def _write_loops(self) -> None:
        levels = self.nest.levels
        if not levels:
            self._add_moves(1, self._move(sum_text(self._terms("src", None)), sum_text(self._terms("dst", None))))
            return
        last = len(levels) - 1
        bounds = self._bounds_behind(-1)
        for k in range(last):
            self._open_loop(k, *bounds[k])
            self._declare_coordinates(k, before=False)
            bounds |= self._bounds_behind(k)
        self._declare_coordinates(last, before=True)
        self._write_innermost(levels[last], *bounds[last], self._is_copied())
        while self.depth > 1:
            self.depth -= 1
            self.body.add(self.depth, "}")

    def _open_loop(self, k: int, start: str, end: str) -> None:
        name = self.nest.levels[k].name
        self.body.add(self.depth, f"// {self._title(k)}")
        self.body.add(self.depth, f"for (int64_t {name} = {start}; {name} < {end}; ++{name}) {{")
        self.depth += 1

    def _title(self, k: int) -> str:
        """What the loop runs through, in words."""
        level = self.nest.levels[k]
        title = self.nest.axes[level.axis].axis.title
        others = [x for x in self.nest.levels if x.axis == level.axis and x is not level]
        above = [x.place for x in others if level.place.divides(x.place) and x.place != level.place]
        within = min(above, key=lambda place: (len(place.names), place.number), default=None)
        steps = "" if level.place == ONE else f", in steps of {value_text(level.place)}"
        return f"{title}{steps}" if within is None else f"{title}{steps}, within {value_text(within)}"

    def _bounds_behind(self, k: int) -> dict[int, tuple[str, str]]:
        """The bounds of the loops that are known once loop ``k`` is open; -1 stands for the start."""
        found = {}
        for j, level in enumerate(self.nest.levels):
            around = [i for i in range(j) if self.nest.levels[i].axis == level.axis]
            if max(around, default=-1) == k:
                found[j] = self._bounds(j)
        return found

    def _bounds(self, k: int) -> tuple[str, str]:
        """Where the loop starts and ends; what is no name or number is computed in front of it."""
        level = self.nest.levels[k]
        own = self.nest.axes[level.axis]
        name = own.axis.name
        count = self._count_name(level)
        base = [(x.name, self._place_name(x)) for x in self.nest.around(k)]
        start, end = "0", count
        if level.clamped:
            self.helpers.add("min")
            high = self._name_value(f"{name}_size", own.high)
            rest = self._rest(high, base, level)
            end = f"{level.name}_end"
            self.body.add(self.depth, f"const int64_t {end} = {self.name}_min({count}, {rest});")
        if level.raised:
            inside = sum([(x.steps.number - 1) * x.place.number for x in self.nest.inside(k)])
            low = own.low - inside
            if base:
                self.helpers.add("max")
                start = f"{level.name}_start"
                rest = self._rest(str(low), base, level)
                self.body.add(self.depth, f"const int64_t {start} = {self.name}_max(0, {rest});")
            else:
                start = str(-(-low // level.place.number))
        return start, end

    def _rest(self, end: str, base: list[tuple[str, str]], level: NestLevel) -> str:
        """So many steps of the loop up to ``end``, rounded up."""
        left = " - ".join([end, *[product_text([name, place]) for name, place in base]])
        if level.place == ONE:
            return left
        place = self._place_name(level)
        return f"({left} + {place} - 1) / {place}"

    def _count_name(self, level: NestLevel) -> str:
        own = self.nest.axes[level.axis]
        name = own.axis.name
        if level.steps == own.high and level.place == ONE:
            return self._name_value(f"{name}_size", level.steps)
        others = [x for x in self.nest.levels if x.axis == level.axis and x.place == level.steps]
        if level.place == ONE and others:
            return self._place_name(others[0])
        top = all(x.place.divides(level.place) for x in self.nest.levels if x.axis == level.axis)
        return self._name_value(f"{name}_blocks" if top and level.place != ONE else f"{level.name}_count", level.steps)

    def _place_name(self, level: NestLevel) -> str:
        if level.place == ONE:
            return "1"
        name = self.nest.axes[level.axis].axis.name
        several = len([x for x in self.nest.levels if x.axis == level.axis and x.place != ONE]) > 1
        return self._name_value(f"{level.name}_step" if several else f"{name}_block", level.place)

    def _name_value(self, name: str, value: Monomial) -> str:
        """A name for a number; what has a name of its own keeps it."""
        if value.number == 1 and len(value.names) < 2:
            return value.names[0] if value.names else "1"
        taken = {d.name for d in self.function.definitions} | {n for n, v in self.constants.items() if v != value}
        while name in taken:
            name += "_"
        self.constants[name] = value
        return name

    # ---- places ------------------------------------------------------------------------------------------

    def _coordinate_levels(self, axis: int) -> list[NestLevel]:
        return [level for level in self.nest.levels if level.axis == axis]

    def _by_coordinate(self, axis: int, side: str) -> bool:
        """Whether a side moves by one stride along an axis of several loops, so that its coordinate tells the place."""
        levels = self._coordinate_levels(axis)
        if side == "src" and self.nest.axes[axis].split is not None:
            return False
        if len(levels) < 2 or levels[-1].place != ONE:
            return False
        lowest = _step(levels[-1], side)
        return all(_step(level, side) == lowest * level.place for level in levels)

    def _needs_coordinate(self, axis: int) -> bool:
        levels = self._coordinate_levels(axis)
        if self.nest.axes[axis].split is not None:
            return not (len(levels) == 1 and levels[0].place == ONE)
        return self._by_coordinate(axis, "src") or self._by_coordinate(axis, "dst")

    def _declare_coordinates(self, k: int, before: bool) -> None:
        """The coordinate of the axis whose last loop this is, where places need it.

        Before the innermost loop it leaves that one out.
        """
        axis = self.nest.levels[k].axis
        if self.nest.inside(k) or (before and self.nest.axes[axis].split is not None):
            return
        self._declare_coordinate(axis, self.nest.levels[-1] if before else None)
        if not before:
            self._declare_split(axis)

    def _declare_coordinate(self, axis: int, left_out: NestLevel | None) -> None:
        if not self._needs_coordinate(axis):
            return
        levels = [level for level in self._coordinate_levels(axis) if level is not left_out]
        text = " + ".join([product_text([level.name, self._place_name(level)]) for level in levels])
        self.body.add(self.depth, f"const int64_t {self.nest.axes[axis].axis.name} = {text or '0'};")

    def _declare_split(self, axis: int) -> None:
        """The source's place along an axis that it cuts elsewhere."""
        own = self.nest.axes[axis]
        if own.split is None:
            return
        name = own.axis.name if self._needs_coordinate(axis) else self._coordinate_levels(axis)[0].name
        position = name if not own.shift else f"({name} {'+' if own.shift > 0 else '-'} {abs(own.shift)})"
        terms = []
        for j, digit in enumerate(own.split):
            text = position if digit.place == ONE else f"{position} / {factor_text(digit.place)}"
            if j < len(own.split) - 1:
                text = f"{text} % {factor_text(digit.size)}"
            if digit.stride != ONE:
                stride = self._name_value(f"src_{own.axis.name}_{j}", digit.stride)
                text = f"{text} * {stride}"
            terms.append(text)
        self.body.add(self.depth, f"const int64_t src_{own.axis.name} = {' + '.join(terms)};")

    def _terms(self, side: str, innermost: NestLevel | None) -> list[str]:
        """The sum that tells a place, without what the innermost loop adds."""
        start = self.nest.source if side == "src" else self.nest.target
        terms = []
        for axis in dict.fromkeys(level.axis for level in self.nest.levels):
            own = self.nest.axes[axis].axis.name
            if side == "src" and self.nest.axes[axis].split is not None:
                if innermost is None or innermost.axis != axis:
                    terms.append(f"src_{own}")
            elif self._by_coordinate(axis, side):
                stride = _step(self._coordinate_levels(axis)[-1], side)
                terms.append(self._term(own, f"{side}_{own}", stride))
            else:
                levels = [level for level in self._coordinate_levels(axis) if level is not innermost]
                terms += [self._term(level.name, f"{side}_{level.name}", _step(level, side)) for level in levels]
        constant = sum([value.number for value in start if value.known])
        moved = [value_text(value) for value in start if not value.known]
        return [term for term in [*terms, *moved, str(constant) if constant else ""] if term]

    def _term(self, index: str, name: str, stride: Monomial) -> str:
        if stride == Monomial(0):
            return ""
        return product_text([index, self._name_value(name, stride)])

    def _place(self, side: str, index: str) -> str:
        operand = self.function.source if side == "src" else self.function.target
        if operand.swizzle is not None:
            self.helpers.add(f"swizzle_{side}")
            return f"{self.name}_swizzle_{side}({index})"
        return index

    def _move(self, source: str, target: str) -> str:
        """One element from an index to another."""
        first, second = self._place("src", source), self._place("dst", target)
        if self.bits < 8:
            self.helpers.add("packed")
            return f"{self.name}_put(dst, {second}, {self.name}_get(src, {first}));"
        return self._store(f"dst[{second}]", f"src[{first}]")

    def _store(self, target: str, source: str) -> str:
        """One value, converted where it must be; a refused one ends the function."""
        if self.conversion is None:
            return f"{target} = {source};"
        if self.conversion.refuses:
            return f"if (!{self.name}_convert({source}, &{target}))"
        return f"{target} = {self.name}_convert({source});"

    def _add_moves(self, depth: int, move: str) -> None:
        self.body.add(depth, move)
        if self.refuses:
            self.body.add(depth + 1, "return 1;")

    # ---- the innermost loop ------------------------------------------------------------------------------

    def _is_copied(self) -> bool:
        """Whether the innermost loop is a run of whole bytes, long enough for ``memcpy``."""
        function, level = self.function, self.nest.levels[-1]
        if self.conversion is not None or not self.nest.run or self.nest.axes[level.axis].split is not None:
            return False
        if function.source.swizzle or function.target.swizzle:
            return False
        if level.steps.known and level.steps.number * self.bits < 8 * SHORT_RUN:
            return False
        if self.bits >= 8:
            return True
        steps = [step for x in self.nest.levels[:-1] for step in (x.source, x.target)]
        steps += [*self.nest.source, *self.nest.target, level.steps]
        whole = all(step is not None and step.number * self.bits % 8 == 0 for step in steps)
        return whole and level.steps.known and not level.clamped and not level.raised

    def _write_innermost(self, level: NestLevel, start: str, end: str, copied: bool) -> None:
        source, target = sum_text(self._terms("src", level)), sum_text(self._terms("dst", level))
        depth, name = self.depth, level.name
        title = self._title(len(self.nest.levels) - 1)
        if copied:
            more = "" if start == "0" else f" + {start}"
            count = end if start == "0" else f"({end} - {start})"
            if self.at_index:
                self.body.add(depth, f"const int64_t from = {source}{more};")
                self.body.add(depth, f"const int64_t to = {target}{more};")
                self.body.add(depth, f"// {title}: neighbours on both sides")
                scale, size = (f" * {self.bits} / 8", f"{self.bits} / 8") if self.bits < 8 else ("", "sizeof(*dst)")
                self.body.add(depth, f"memcpy(dst + to{scale}, src + from{scale}, (size_t){count} * {size});")
                return
            self.body.add(depth, f"const {self.type} *from = {_pointer('src', source)};")
            self.body.add(depth, f"{self.target_type} *to = {_pointer('dst', target)};")
            self.body.add(depth, f"// {title}: neighbours on both sides")
            if level.clamped and level.steps.known and level.steps.number * self.bits <= 8 * LONG_RUN:
                whole = self._count_name(level)
                self.body.add(depth, f"if ({count} == {whole})")
                self.body.add(depth + 1, f"memcpy(to, from, (size_t){whole} * sizeof(*dst));")
                self.body.add(depth, "else")
                depth += 1
            self.body.add(depth, f"memcpy(to, from, (size_t){count} * sizeof(*dst));")
            return
        split = self.nest.axes[level.axis].split is not None
        if self.at_index:
            for label, place in (("from", source), ("to", target)):
                if place != "0":
                    self.body.add(depth, f"const int64_t {label} = {place};")
        else:
            self.body.add(depth, f"const {self.type} *from = {_pointer('src', source)};")
            self.body.add(depth, f"{self.target_type} *to = {_pointer('dst', target)};")
        own = self.nest.axes[level.axis].axis.name
        inner = [
            f"src_{own}" if split else self._term(name, f"src_{name}", level.source or Monomial(0)),
            self._term(name, f"dst_{name}", level.target),
        ]
        if self.at_index:
            bases = ["from"] * (source != "0"), ["to"] * (target != "0")
            move = self._move(*[sum_text([*base, *[term] * bool(term)]) for base, term in zip(bases, inner)])
        else:
            move = self._store(f"to[{inner[1] or '0'}]", f"from[{inner[0] or '0'}]")
        self.body.add(depth, f"// {title}")
        opening = f"for (int64_t {name} = {start}; {name} < {end}; ++{name})"
        if not split:
            self.body.add(depth, opening)
            self._add_moves(depth + 1, move)
            return
        self.body.add(depth, f"{opening} {{")
        self.depth += 1
        self._declare_coordinate(level.axis, None)
        self._declare_split(level.axis)
        self._add_moves(self.depth, move)


def _pointer(memory: str, place: str) -> str:
    if place == "0":
        return memory
    return f"{memory} - {place[1:]}" if place.startswith("-") else f"{memory} + {place}"


def _step(level: NestLevel, side: str) -> Monomial:
    return (level.source or Monomial(0)) if side == "src" else level.target
