#pragma once

// One thread's way through tiles that are copied in two steps, by way of a scratch memory.

#include "tiled/walk.h"

namespace relayout::tiled {

class TwoStepWalk {
public:
    TwoStepWalk(const Pass &pass, const Byte *source, Byte *target)
        : pass(pass), source(source), scratch(buffer()), in(walk(*pass.inner, source, scratch)),
          out(walk(*pass.outer, scratch, target)) {}

    void run(Int first, Int last) {
        Cursor here(pass, first);
        for (Int i = first; i < last; ++i, here.advance()) {
            step(in, *pass.inner, source + here.source, 0);
            step(out, *pass.outer, scratch, here.target);
        }
    }

private:
    const Pass &pass;
    const Byte *source;
    Byte *scratch;
    TileWalk in, out;

    static Byte *buffer() {
        alignas(64) static thread_local Byte kept[scratch_bytes];
        return kept;
    }

    static TileWalk walk(const Pass &step, const Byte *from, Byte *to) {
        return {step, from, to, false, false, true, nullptr, nullptr, 1};
    }

    static void step(TileWalk &walk, const Pass &step, const Byte *from, Int to) {
        Cursor tile(step, 0);
        for (Int n = 0; n < step.tiles; ++n, tile.advance()) walk.tile(from + tile.source, to + tile.target, 0);
    }
};

}  // namespace relayout::tiled
