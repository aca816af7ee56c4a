"""How the tensors of a checkpoint are dealt to tensor-parallel ranks, by their names: from a file, or by the family."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ...dialects.tensor_parallel import AXIS, HF_STYLES
from ...errors import BadFile, LayoutError, ShapeError, shown
from ...integers.inttuple import as_int
from ...sharding.sharding import Sharding
from ..contents import bad_file
from ..rank_files import RankFiles
from ..reading import read_text, strict_json
from .rules import rule_tables


class ShardRule(NamedTuple):
    """How the tensors whose name fits ``name`` are dealt.

    ``deal`` is a word of Hugging Face's plans (``colwise``, ``rowwise``, ``packed_colwise``, ``replicate``), or digits
    for each dimension, as in ``"2*tp, -"``. ``parts`` are the sizes, in proportion, of what is fused along dimension 0
    and dealt part by part, as q, k and v are. ``unit`` is how many elements along the dealt dimension stay together: a
    head, or a tile of packed codes.
    """

    name: str
    deal: str
    parts: tuple[int, ...] = ()
    unit: int = 1

    def sharding(self, ranks: int, shape: Sequence[int]) -> Sharding:
        """The sharding of a tensor of that shape, whole or one fused part of it."""
        if self.deal in HF_STYLES:
            from ...dialects.tensor_parallel import parse_hf

            found = parse_hf(f"{self.deal} {AXIS}={ranks}", len(shape))
        else:
            from ...dialects.sharding_text import parse

            found = parse(f"mesh({AXIS}={ranks}) deals ({self.deal}) uneven refuse", len(shape))
        return found.at(shape)


def find_rule(rules: Iterable[ShardRule], name: str) -> ShardRule | None:
    """The first rule whose pattern fits a name."""
    return next((rule for rule in rules if fnmatchcase(name, rule.name)), None)


def read_shard_rules(rules: Any) -> tuple[ShardRule, ...]:
    """The rules of a TOML file, or of a list of dictionaries or rules."""
    return tuple([_as_rule(each) for each in rule_tables(rules)])


def _as_rule(x: Any) -> ShardRule:
    if isinstance(x, ShardRule):
        x = x._asdict()
    if not isinstance(x, Mapping) or not isinstance(x.get("name"), str) or not isinstance(x.get("deal"), str):
        raise ShapeError(
            f"a rule has a name and says how it is dealt, got {shown(x)}.",
            hint='name = "*.q_proj.weight", deal = "colwise"',
            got=x,
        )
    unknown = set(x) - set(ShardRule._fields)
    if unknown:
        known = ", ".join(ShardRule._fields)
        raise ShapeError(f"a rule has no {shown(sorted(unknown))}.", hint=f"known: {known}", got=x)
    parts = x.get("parts", ())
    if not isinstance(parts, list | tuple) or any(as_int(n, "a part") < 1 for n in parts):
        raise ShapeError(f"parts are sizes of 1 or more, got {shown(parts)}.", hint="parts = [32, 8, 8]", got=x)
    rule = ShardRule(x["name"], x["deal"], tuple(parts), as_int(x.get("unit", 1), "unit"))
    if rule.unit < 1:
        raise ShapeError(f"a unit is 1 or more, got {rule.unit}.", hint="leave it out", got=x)
    try:
        Sharding({AXIS: 1}, []) if rule.deal in HF_STYLES else rule.sharding(1, (0,) * (rule.deal.count(",") + 1))
    except LayoutError as error:
        raise ShapeError(
            f"the rule for {rule.name!r} cannot be read: {error.message}",
            hint=f"one of {', '.join(HF_STYLES)}, or digits such as '2*tp, -'",
            got=x,
        ) from None
    return rule


def rules_for(read: RankFiles, rules: Any, ranks: int) -> tuple[ShardRule, ...]:
    """The rules that were given, those that the files tell, or those of the family; none are needed without ranks."""
    if rules is not None:
        return read_shard_rules(rules)
    if len(read.ranks) == ranks == 1:
        return (ShardRule("*", "replicate"),)
    if read.dealt is not None:
        return read_shard_rules([{"name": re.sub(r"([*?[])", r"[\1]", name), **x} for name, x in read.dealt.items()])
    folder = read.path if read.path.is_dir() else read.path.parent
    config = folder / "config.json"
    if not config.exists():
        what = "nothing says how its tensors are dealt: no rules, and no config.json."
        raise bad_file(read.path, what, "give rules=")
    told = strict_json(read_text(config), config, "it")
    if not isinstance(told, dict):
        raise bad_file(config, "it is no JSON object.", "give rules=")
    return family_rules(told, config)


# ---- families --------------------------------------------------------------------------------------------

_WHOLE = ("*norm*", "*rotary*", "*inv_freq*", "*position_ids*", "*.masked_bias")


def family_rules(config: Mapping[str, Any], path: Path) -> tuple[ShardRule, ...]:
    """The rules for a model of the family that its configuration names."""
    family = config.get("model_type")
    make = FAMILIES.get(family) if isinstance(family, str) else None
    if make is None:
        raise BadFile(
            f"{path}: there are no built-in rules for the family {shown(family)}.",
            hint=f"give them by rules=; there are those of {', '.join(FAMILIES)}",
            file=path,
        )
    return (*make(_Sizes(config, path)), *[ShardRule(name, "replicate") for name in _WHOLE])


class _Sizes:
    """The numbers of a configuration that rules depend on."""

    def __init__(self, config: Mapping[str, Any], path: Path) -> None:
        self._config, self._path = config, path
        self.heads = self._number("num_attention_heads", "n_head")
        self.kv_heads = self._number("num_key_value_heads", default=self.heads)
        hidden = self._number("hidden_size", "n_embd")
        self.head = self._number("head_dim", default=hidden // self.heads)

    def _number(self, *names: str, default: int | None = None) -> int:
        found = next((self._config[name] for name in names if self._config.get(name) is not None), default)
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            raise BadFile(f"{self._path}: {names[0]} is {shown(found)}.", hint="give them by rules=", file=self._path)
        return found


_OUTER = [
    ShardRule("*embed_tokens.weight", "embedding_rowwise"),
    ShardRule("*lm_head.weight", "colwise"),
]


def _both(pattern: str, deal: str, **words: Any) -> list[ShardRule]:
    """A rule for a layer's weight, and one for its bias."""
    bias = "replicate" if deal == "rowwise" else deal
    return [ShardRule(f"{pattern}.weight", deal, **words), ShardRule(f"{pattern}.bias", bias, **words)]


def _llama(sizes: _Sizes) -> list[ShardRule]:
    rules = [*_both("*.self_attn.q_proj", "colwise", unit=sizes.head)]
    for name in "kv":
        rules += _both(f"*.self_attn.{name}_proj", "colwise", unit=sizes.head)
    rules += _both("*.self_attn.o_proj", "rowwise", unit=sizes.head)
    for name in ("gate", "up"):
        rules += _both(f"*.mlp.{name}_proj", "colwise")
    return [*rules, *_both("*.mlp.down_proj", "rowwise"), *_OUTER]


def _mixtral(sizes: _Sizes) -> list[ShardRule]:
    experts = [*_both("*.experts.*.w[13]", "colwise"), *_both("*.experts.*.w2", "rowwise")]
    return [*experts, ShardRule("*.gate.weight", "replicate"), *_llama(sizes)]


def _phi3(sizes: _Sizes) -> list[ShardRule]:
    fused = (sizes.heads, sizes.kv_heads, sizes.kv_heads)
    return [
        ShardRule("*.self_attn.qkv_proj.weight", "colwise", fused, sizes.head),
        ShardRule("*.mlp.gate_up_proj.weight", "packed_colwise"),
        *_llama(sizes),
    ]


def _gpt_neox(sizes: _Sizes) -> list[ShardRule]:
    """q, k and v of one head lie together, so heads are dealt whole."""
    return [
        *_both("*.query_key_value", "colwise", unit=3 * sizes.head),
        *_both("*.attention.dense", "rowwise", unit=sizes.head),
        *_both("*.dense_h_to_4h", "colwise"),
        *_both("*.dense_4h_to_h", "rowwise"),
        ShardRule("*embed_in.weight", "embedding_rowwise"),
        ShardRule("*embed_out.weight", "colwise"),
        ShardRule("*.attention.bias", "replicate"),
    ]


def _bloom(sizes: _Sizes) -> list[ShardRule]:
    return [
        *_both("*.query_key_value", "colwise", unit=3 * sizes.head),
        *_both("*.self_attention.dense", "rowwise", unit=sizes.head),
        *_both("*.dense_h_to_4h", "colwise"),
        *_both("*.dense_4h_to_h", "rowwise"),
        ShardRule("*word_embeddings.weight", "embedding_rowwise"),
        ShardRule("*word_embeddings_layernorm*", "replicate"),
    ]


def _gpt2(sizes: _Sizes) -> list[ShardRule]:
    """Weights are (in, out), and q, k and v are fused along the last dimension."""
    return [
        ShardRule("*.attn.c_attn.weight", "-, 3*tp", unit=sizes.head),
        ShardRule("*.attn.c_attn.bias", "3*tp", unit=sizes.head),
        ShardRule("*.attn.c_proj.weight", "tp, -", unit=sizes.head),
        ShardRule("*.mlp.c_fc.weight", "-, tp"),
        ShardRule("*.mlp.c_fc.bias", "tp"),
        ShardRule("*.mlp.c_proj.weight", "tp, -"),
        ShardRule("*.c_proj.bias", "replicate"),
        ShardRule("*wte.weight", "embedding_rowwise"),
        ShardRule("*lm_head.weight", "colwise"),
        ShardRule("*wpe.weight", "replicate"),
        ShardRule("*ln_*", "replicate"),
        ShardRule("*.attn.bias", "replicate"),
    ]


FAMILIES = {
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "olmo2", "granite"), _llama),
    "mixtral": _mixtral,
    "phi3": _phi3,
    "gpt_neox": _gpt_neox,
    "bloom": _bloom,
    "gpt2": _gpt2,
}
"""The rules by ``model_type``, the word of ``config.json``."""
