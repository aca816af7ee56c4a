#pragma once

#include <cstdlib>

#include "tiled/tile_builder.h"

namespace relayout::tiled {

// How many steps of each loop make a tile.
class TileShape {
public:
    // `first` bytes of each side lie together before any loop. With `gaps` what is read goes on where less is left out
    // than was read.
    TileShape(const std::vector<Loop> &loops, Pair first, bool gaps = false)
        : steps(loops.size(), 1), loops(loops), first(first), gaps(gaps) {}

    std::vector<Int> steps;

    Int bytes() const {
        Int all = first.target;
        for (const Int n : steps) all *= n;
        return all;
    }

    // The loops that go on where the one before ends, and the bytes that are contiguous by them.
    std::vector<std::size_t> chain(int side, Int &length) const {
        std::vector<std::size_t> found;
        length = first[side];
        for (std::size_t k = next(side, length); k < loops.size(); k = next(side, length)) {
            found.push_back(k);
            length = steps[k] * std::llabs(loops[k].step[side]);
            if (steps[k] < loops[k].count) break;
        }
        return found;
    }

    Int contiguous(int side) const {
        Int length = 0;
        chain(side, length);
        return length;
    }

    // Takes more steps of the chain of a side until `wanted` bytes are contiguous, as long as the tile is no larger
    // than `limit`.
    void lengthen(int side, Int wanted, Int limit) {
        Int length = first[side];
        for (std::size_t k = next(side, length); length < wanted && k < loops.size(); k = next(side, length)) {
            length = std::llabs(loops[k].step[side]);
            const Int room = limit / (bytes() / steps[k]), goal = (wanted + length - 1) / length;
            const Int most = std::min(goal, room);
            const Int unit = std::max<Int>(cache_line / length, 1);
            if (most > steps[k]) steps[k] = std::min(share(loops[k].count, most, unit), std::max(room, steps[k]));
            length *= steps[k];
            if (steps[k] < loops[k].count) break;
        }
    }

private:
    const std::vector<Loop> &loops;
    const Pair first;
    const bool gaps;

    std::size_t next(int side, Int length) const {
        if (length == 0) return loops.size();
        for (std::size_t k = 0; k < loops.size(); ++k)
            if (std::llabs(loops[k].step[side]) == length && loops[k].count > 1) return k;
        std::size_t found = loops.size();
        for (std::size_t k = 0; gaps && side == source_side && k < loops.size(); ++k) {
            const Int step = std::llabs(loops[k].step[side]);
            if (loops[k].count > 1 && step > length && step < 2 * length &&
                (found == loops.size() || step < std::llabs(loops[found].step[side])))
                found = k;
        }
        return found;
    }
};

}  // namespace relayout::tiled
