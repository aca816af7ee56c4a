"""Steps on arrays as operations of MLIR: ``linalg.pack`` and ``linalg.unpack`` where steps are one, else one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..layout.swizzle import Swizzle
from .array_steps import ArrayStep
from .mlir_lines import MlirBody, Shape, brackets, groups_of, tensor_type
from .values import Monomial, product_of


class PackTiles(NamedTuple):
    """A ``linalg.pack``: the order of the outer axes, and the tiles behind them with the axes that they cut.

    ``counts`` are the sizes of the outer axes, in the order of what is packed.
    """

    outer: list[int]
    inner: list[int]
    tiles: list[int]
    counts: list[Monomial]


def pack_tiles(whole: Shape, parts: Shape, order: Sequence[int]) -> PackTiles | None:
    """The tiles of a split of axes into parts and their order, if it is what a pack does."""
    groups = groups_of(whole, parts)
    if groups is None or [ours for ours, _ in groups] != [[k] for k in range(len(whole))]:
        return None
    own = {part: k for k, (_, theirs) in enumerate(groups) for part in theirs}
    heads = {theirs[0] for _, theirs in groups}
    if any(len(theirs) > 2 for _, theirs in groups) or len(heads) == len(parts):
        return None
    inner = [part for part in order if part not in heads]
    if list(order[len(whole) :]) != inner or not all(parts[part].known for part in inner):
        return None
    outer, tiles = [own[k] for k in order[: len(whole)]], [parts[k].number for k in inner]
    return PackTiles(outer, [own[k] for k in inner], tiles, [parts[theirs[0]] for _, theirs in groups])


class StepWriter:
    """Steps as operations on one tensor after the other."""

    def __init__(self, body: MlirBody, kind: str, fill: str) -> None:
        self.body = body
        self.kind = kind
        self.fill = fill

    def write(self, x: str, steps: Sequence[ArrayStep]) -> str:
        k = 0
        while k < len(steps):
            used = self._write_pack(x, steps[k:]) or self._write_unpack(x, steps[k:])
            if used is None:
                self.body.comment(", ".join(steps[k].titles))
                x = self._step(x, steps[k])
                k += 1
            else:
                x, count = used
                k += count
        return x

    def _filling(self) -> str:
        return self.body.constant(self.fill, self.kind)

    # ---- packs -------------------------------------------------------------------------------------------

    def _write_pack(self, x: str, steps: Sequence[ArrayStep]) -> tuple[str, int] | None:
        """A pad, a split and a transposition as a pack."""
        kinds = [step.kind for step in steps[:3]]
        padded = kinds[:1] == ["pad"]
        if kinds[padded : padded + 2] != ["reshape", "transpose"] or (padded and any(steps[0].detail)):
            return None
        split, turn = steps[padded], steps[padded + 1]
        tiles = pack_tiles(split.old, split.new, turn.detail)
        if tiles is None or not self._are_filled(steps[0].old, tiles):
            return None
        self.body.comment(", ".join(turn.titles))
        into = self.body.empty(turn.new, self.kind)
        fill = f" padding_value({self._filling()} : {self.kind})" if padded else ""
        words = f"outer_dims_perm = {tiles.outer} inner_dims_pos = {tiles.inner} inner_tiles = {tiles.tiles}"
        types = f"{tensor_type(steps[0].old, self.kind)} -> {tensor_type(turn.new, self.kind)}"
        return self.body.add(f"linalg.pack {x}{fill} {words} into {into} : {types}"), 2 + padded

    def _write_unpack(self, x: str, steps: Sequence[ArrayStep]) -> tuple[str, int] | None:
        """A transposition, a join and a slice as an unpack."""
        kinds = [step.kind for step in steps[:3]]
        if kinds[:2] != ["transpose", "reshape"]:
            return None
        turn, join = steps[0], steps[1]
        order = [turn.detail.index(k) for k in range(len(turn.detail))]
        tiles = pack_tiles(join.new, join.old, order)
        if tiles is None:
            return None
        cut = kinds[2:] == ["slice"] and not any(steps[2].detail) and self._are_filled(steps[2].new, tiles)
        shape, titles = (steps[2].new, join.titles) if cut else (join.new, join.titles)
        self.body.comment(", ".join(titles))
        into = self.body.empty(shape, self.kind)
        words = f"outer_dims_perm = {tiles.outer} inner_dims_pos = {tiles.inner} inner_tiles = {tiles.tiles}"
        types = f"{tensor_type(turn.old, self.kind)} -> {tensor_type(shape, self.kind)}"
        return self.body.add(f"linalg.unpack {x} {words} into {into} : {types}"), 2 + cut

    def _are_filled(self, shape: Shape, tiles: PackTiles) -> bool:
        """Whether only the last tile of an axis may have padding, as a pack has it."""
        sizes = dict(zip(tiles.inner, tiles.tiles))
        for k, (n, count) in enumerate(zip(shape, tiles.counts)):
            tile = Monomial(sizes.get(k, 1))
            if n == count * tile:
                continue
            if n.known and count.known:
                if count.number != -(-n.number // tile.number):
                    return False
                continue
            told = self.body.definitions.get(count.names[0]) if count == Monomial(1, count.names[:1]) else None
            if told is None or (told.value, told.divisor, told.whole) != (n, tile, False):
                return False
        return True

    # ---- one by one --------------------------------------------------------------------------------------

    def _step(self, x: str, step: ArrayStep) -> str:
        if step.kind == "reshape":
            return self._reshape(x, step.old, step.new)
        if step.kind == "transpose":
            return self._transpose(x, step)
        if step.kind == "flip":
            return self._flip(x, step)
        return self._slice(x, step) if step.kind == "slice" else self._pad(x, step)

    def _reshape(self, x: str, old: Shape, new: Shape) -> str:
        groups = groups_of(old, new)
        if groups is None:
            groups = [(list(range(len(old))), list(range(len(new))))]
        middle = [product_of([old[k] for k in ours]) for ours, _ in groups]
        if any(len(ours) > 1 for ours, _ in groups):
            text = f"tensor.collapse_shape {x} {brackets([ours for ours, _ in groups])}"
            x = self.body.add(f"{text} : {tensor_type(old, self.kind)} into {tensor_type(middle, self.kind)}")
        if any(len(theirs) > 1 for _, theirs in groups):
            sizes = ", ".join([self.body.size(n) for n in new])
            text = f"tensor.expand_shape {x} {brackets([theirs for _, theirs in groups])} output_shape [{sizes}]"
            x = self.body.add(f"{text} : {tensor_type(middle, self.kind)} into {tensor_type(new, self.kind)}")
        return x

    def _transpose(self, x: str, step: ArrayStep) -> str:
        into = self.body.empty(step.new, self.kind)
        old, new = [tensor_type(shape, self.kind) for shape in (step.old, step.new)]
        return self.body.add(
            f"linalg.transpose ins({x} : {old}) outs({into} : {new}) permutation = {list(step.detail)}"
        )

    def _slice(self, x: str, step: ArrayStep) -> str:
        lows = ", ".join(map(str, step.detail))
        sizes = ", ".join([self.body.size(n) for n in step.new])
        ones = ", ".join(["1"] * len(step.new))
        old, new = [tensor_type(shape, self.kind) for shape in (step.old, step.new)]
        return self.body.add(f"tensor.extract_slice {x}[{lows}] [{sizes}] [{ones}] : {old} to {new}")

    def _pad(self, x: str, step: ArrayStep) -> str:
        fill = self._filling()
        lows = ", ".join(map(str, step.detail))
        highs = ", ".join([self.body.difference(n, m, k) for n, m, k in zip(step.new, step.old, step.detail)])
        name = self.body.add(f"tensor.pad {x} low[{lows}] high[{highs}] {{")
        arguments = ", ".join([f"%i{k}: index" for k in range(len(step.new))])
        self.body.line(f"^bb0({arguments}):")
        self.body.line(f"  tensor.yield {fill} : {self.kind}")
        self.body.line(f"}} : {tensor_type(step.old, self.kind)} to {tensor_type(step.new, self.kind)}")
        return name

    def _flip(self, x: str, step: ArrayStep) -> str:
        """Elements from the end of some axes."""
        ends = {k: self.body.index(step.old[k]) for k in step.detail}
        one = self.body.constant("1")
        found = self.generate(step.new)
        places = []
        for k in range(len(step.new)):
            place = self.body.add(f"linalg.index {k} : index")
            if k in ends:
                last = self.body.add(f"arith.subi {ends[k]}, {one} : index")
                place = self.body.add(f"arith.subi {last}, {place} : index")
            places.append(place)
        value = self.body.add(f"tensor.extract {x}[{', '.join(places)}] : {tensor_type(step.old, self.kind)}")
        return self.close(found, value, step.new)

    # ---- element by element ------------------------------------------------------------------------------

    def generate(self, shape: Shape) -> str:
        """Open a loop over all elements of a new tensor."""
        into = self.body.empty(shape, self.kind)
        dims = ", ".join([f"d{k}" for k in range(len(shape))])
        kinds = ", ".join(['"parallel"'] * len(shape))
        head = f"linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>], iterator_types = [{kinds}]}}"
        found = self.body.add(f"{head} outs({into} : {tensor_type(shape, self.kind)}) {{")
        self.body.line(f"^bb0(%old: {self.kind}):")
        self.body.depth += 1
        return found

    def close(self, found: str, value: str, shape: Shape) -> str:
        """End the loop with the element's value."""
        self.body.line(f"linalg.yield {value} : {self.kind}")
        self.body.depth -= 1
        self.body.line(f"}} -> {tensor_type(shape, self.kind)}")
        return found

    def swizzle(self, x: str, swizzle: Swizzle, old: Monomial, new: Monomial) -> str:
        """The memory with its places exchanged; a swizzle is its own inverse."""
        self.body.comment(f"Exchange places within runs of {swizzle.period} elements")
        body = self.body
        mask, shift = body.constant(str(swizzle.source_mask)), body.constant(str(abs(swizzle.shift)))
        last = body.constant(str(old.number - 1))
        fill = self._filling()
        found = self.generate((new,))
        place = body.add("linalg.index 0 : index")
        read = body.add(f"arith.andi {place}, {mask} : index")
        moved = body.add(f"arith.{'shrui' if swizzle.shift >= 0 else 'shli'} {read}, {shift} : index")
        at = body.add(f"arith.xori {place}, {moved} : index")
        inside = body.add(f"arith.cmpi ule, {at}, {last} : index")
        near = body.add(f"arith.minui {at}, {last} : index")
        element = body.add(f"tensor.extract {x}[{near}] : {tensor_type((old,), self.kind)}")
        return self.close(found, body.add(f"arith.select {inside}, {element}, {fill} : {self.kind}"), (new,))
