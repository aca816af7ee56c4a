"""Rules: which tensors of a file become what, by their names. Read from TOML, or given as dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ...errors import BadFile, ShapeError, shown
from ...integers.inttuple import as_int

Globs: TypeAlias = str | Iterable[str] | None

MAX_BYTES = 4 << 20
"""No file of rules is larger."""


ROW_MAJOR = "row-major"
"""The word for the usual order, for a rule among others."""


class Rule(NamedTuple):
    """What becomes of the tensors whose name fits ``name``, a pattern with ``*``, ``?`` and ``[...]``.

    ``to`` is the layout, format or text, or ``"row-major"``; ``src``, and ``shape`` where that is a format, say what
    tensors without a record are. ``permute`` puts the logical dimensions in another order before that, ``"OIHW ->
    HWIO"``; ``axes`` names them. ``dtype`` is the type of the result, quantised with ``scale`` and ``offset`` (lists of
    them along ``axis``). With ``keep`` tensors are copied as they are.
    """

    name: str = "*"
    to: Any = None
    src: Any = None
    shape: Any = None
    permute: str | None = None
    axes: str | None = None
    dtype: Any = None
    scale: Any = None
    offset: Any = None
    axis: int | None = None
    fill: Any = None
    keep: bool = False

    def with_defaults(self, default: Rule) -> Rule:
        """This rule, with what it leaves open from the default."""
        return Rule(*[b if a is None else a for a, b in zip(self, default)])

    @property
    def changes(self) -> bool:
        """Whether it asks for more than a row-major array of the same elements."""
        asked = (None if self.to == ROW_MAJOR else self.to, self.src, self.permute, self.dtype, self.scale)
        return any(x is not None for x in asked)

    def order(self, rank: int) -> tuple[int, ...]:
        """The logical dimensions as ``permute`` orders them."""
        if self.permute is None:
            return tuple(range(rank))
        before, _, after = [word.strip().lower() for word in self.permute.partition("->")]
        if len(set(before)) != len(before) or sorted(before) != sorted(after) or not before:
            raise ShapeError(
                f"permute is two orders of the same letters, got {shown(self.permute)}.",
                hint='such as permute = "OIHW -> HWIO"',
                permute=self.permute,
            )
        if len(before) != rank:
            raise ShapeError(
                f"permute {self.permute!r} is for {len(before)} dimensions, and the tensor has {rank}.",
                hint="give the rule a narrower name pattern",
                permute=self.permute,
            )
        return tuple([before.index(letter) for letter in after])

    def names(self) -> str | None:
        """The names of the dimensions, after ``permute``."""
        if self.axes is not None or self.permute is None:
            return self.axes
        return self.permute.partition("->")[2].strip().lower()


class Rules(NamedTuple):
    """Rules in their order: the first whose name fits counts, for what it leaves open the default."""

    default: Rule
    rules: tuple[Rule, ...]
    only: tuple[str, ...]
    except_: tuple[str, ...]

    def find(self, name: str) -> Rule | None:
        """The rule for a tensor, or None if it stays as it is."""
        if (self.only and not _matches(name, self.only)) or _matches(name, self.except_):
            return None
        found = next((rule for rule in self.rules if fnmatchcase(name, rule.name)), None)
        if found is None:
            return None if self.rules and self.default.to is None and self.default.dtype is None else self.default
        return None if found.keep else found.with_defaults(self.default)

    def is_named(self, name: str) -> bool:
        """Whether a tensor was named, by ``only`` or by a rule, and not taken because nothing was said of it."""
        return bool(self.only) or any(fnmatchcase(name, rule.name) for rule in self.rules)

    def unmatched_patterns(self, names: Iterable[str]) -> list[str]:
        """The patterns that fit none of these names: they may be misspelt."""
        known = list(names)
        patterns = dict.fromkeys([*self.only, *self.except_, *[rule.name for rule in self.rules]])
        return [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in known)]


def read_rules(default: Rule, rules: Any, only: Globs, except_: Globs) -> Rules:
    """The rules of a TOML file, of its path, or of a list of dictionaries or rules."""
    given = () if rules is None else rule_tables(rules)
    return Rules(default, tuple([_rule(each) for each in given]), _globs(only), _globs(except_))


def rule_tables(rules: Any) -> Sequence[Any]:
    """The tables of a TOML file of rules, or those of a list, as they are."""
    if isinstance(rules, list | tuple):
        return rules
    if isinstance(rules, str | Path):
        return _toml_tables(Path(rules))
    hint = 'as in [{"name": "*.weight", ...}], or the path of a TOML file'
    raise ShapeError(f"rules are a list of them, or a file, got {shown(rules)}.", hint=hint, got=rules)


def _toml_tables(path: Path) -> Sequence[Any]:
    """The ``[[rule]]`` tables of a TOML file, which has nothing else."""
    import tomllib

    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        found = tomllib.loads(data.decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadFile(f"{path}: the rules cannot be read: {error}.", hint="a TOML file of [[rule]] tables") from None
    if len(data) > MAX_BYTES:
        raise BadFile(f"{path}: rules have at most {MAX_BYTES} bytes.", hint="use patterns for names", file=path)
    rules = found.get("rule")
    if set(found) != {"rule"} or not isinstance(rules, list):
        raise BadFile(
            f"{path}: expected [[rule]] tables alone, got {shown(list(found))}.", hint='[[rule]], then name = "conv*"'
        )
    return rules


def _rule(x: Any) -> Rule:
    if isinstance(x, Rule):
        return x
    if not isinstance(x, dict) or not isinstance(x.get("name"), str):
        raise ShapeError(f"a rule has at least a name, got {shown(x)}.", hint='name = "conv*", to = "..."', got=x)
    words: dict[str, Any] = {"src" if key == "from" else str(key): value for key, value in x.items()}
    unknown = set(words) - set(Rule._fields)
    if unknown:
        known = ", ".join(["from" if field == "src" else field for field in Rule._fields])
        raise ShapeError(f"a rule has no {shown(sorted(unknown))}.", hint=f"known: {known}", got=x)
    for key in ("permute", "axes"):
        if not isinstance(words.get(key), str | None):
            raise ShapeError(f"{key} is a text, got {shown(words[key])}.", hint='permute = "OIHW -> HWIO"', got=x)
    if not isinstance(words.get("keep", False), bool):
        raise ShapeError(f"keep is true or false, got {shown(words['keep'])}.", hint="keep = true", got=x)
    if isinstance(words.get("shape"), str):
        raise ShapeError(f"shape is a list, got {shown(words['shape'])}.", hint="shape = [1, 8, 8, 32]", got=x)
    if "axis" in words:
        words["axis"] = as_int(words["axis"], "axis")
    return Rule(**words)


def _globs(x: Globs) -> tuple[str, ...]:
    return (x,) if isinstance(x, str) else tuple(x or ())


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
