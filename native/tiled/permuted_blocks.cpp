#include "tiled/permuted_blocks.h"

#include <algorithm>

#include "tiled/tile_calls.h"

namespace relayout::tiled {
namespace {

// Where a byte of a block lies in the vectors that it is read by.
struct BytePlace {
    Byte at;
    bool behind;
};

BytePlace place_of(Int at, Int read) {
    const Int vector = block_vector(read), last = read - vector;
    if (at < (read > 2 * vector ? 2 : 1) * vector) return {Byte(at), false};
    if (read <= 2 * vector) return {Byte(vector + at - last), false};
    const Int third = std::min(last, 2 * vector);
    return {Byte(at < third + vector ? at - third : vector + at - last), true};
}

BlockPlaces places_of(const std::vector<Loop> &loops, Int unit, Pair bytes) {
    const std::vector<Int> s = offsets(loops, source_side), t = offsets(loops, target_side);
    std::vector<BytePlace> from(std::size_t(bytes.target));
    for (std::size_t k = 0; k < s.size(); ++k)
        for (Int i = 0; i < unit; ++i) from[std::size_t(t[k] + i)] = place_of(s[k] + i, bytes.source);
    const Int vector = block_vector(bytes.source), part = bytes.target < vector ? vector / 2 : vector;
    BlockPlaces places{};
    // The parts that are written, the last of which ends with the block.
    for (Int n = 0; n * part < bytes.target; ++n)
        for (Int i = 0; i < part; ++i) {
            const BytePlace &place = from[std::size_t(std::min(n * part, bytes.target - part) + i)];
            const Int k = n * part / vector, at = n * part % vector + i;
            places.of[k][at] = place.at;
            places.behind[k] |= ByteMask(place.behind) << at;
        }
    return places;
}

}  // namespace

std::optional<PermutedBlock> find_permuted_block(const std::vector<Loop> &loops, Int unit) {
    if (!gather_kernels().permute) return std::nullopt;
    std::optional<PermutedBlock> best;
    std::vector<std::size_t> inside;
    std::vector<Loop> taken;
    Pair bytes{unit, unit};
    while (bytes.target < max_block_bytes) {
        std::size_t next = 0;
        while (next < loops.size() && loops[next].step.target != bytes.target) ++next;
        if (next == loops.size() || loops[next].step.source < 0) break;
        inside.push_back(next);
        taken.push_back(loops[next]);
        bytes.target *= loops[next].count;
        bytes.source += (loops[next].count - 1) * loops[next].step.source;
        if (bytes.source > max_block_bytes) break;
        // Bytes of the source that are not in the block are read in vain; where some are in it twice, vectors would
        // reach beyond them.
        if (bytes.target < min_block_bytes || bytes.target > bytes.source || bytes.target * 4 < bytes.source * 3)
            continue;
        best = PermutedBlock{bytes, places_of(taken, unit, bytes), inside};
    }
    return best;
}

std::optional<BlockShare> find_block_share(const std::vector<Loop> &loops, Int unit) {
    Pair bytes{unit, unit};
    for (;;) {
        const auto next = std::find_if(loops.begin(), loops.end(),
                                       [&](const Loop &loop) { return loop.step.target == bytes.target; });
        if (next == loops.end() || next->step.source < 0) return std::nullopt;
        const Int most = joined_block_bytes / bytes.target;
        if (bytes.source == bytes.target && next->step.source == bytes.source && bytes.target > unit) {
            if (most < 2 || next->count * bytes.target <= max_block_bytes) return std::nullopt;
            Int steps = most;
            for (Int n = most; n > 1 && 2 * n > most && next->count % steps; --n)
                if (next->count % n == 0) steps = n;
            return BlockShare{std::size_t(next - loops.begin()), steps};
        }
        bytes.target *= next->count;
        bytes.source += (next->count - 1) * next->step.source;
        if (bytes.target > joined_block_bytes) return std::nullopt;
    }
}

}  // namespace relayout::tiled
