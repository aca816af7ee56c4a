#include "tiled/padded_blocks.h"

#include <algorithm>
#include <set>

namespace relayout::tiled {
namespace {

// The steps of all loops in the target: where blocks may end. None where a loop goes back.
std::vector<Int> block_sizes(const std::vector<Dim> &dims, Int limit) {
    std::set<Int> found;
    for (const Dim &dim : dims)
        for (const Box &box : dim)
            for (const Loop &loop : box.loops) {
                if (loop.step.target <= 0) return {};
                if (loop.step.target <= limit) found.insert(loop.step.target);
            }
    return {found.begin(), found.end()};
}

bool is_alike(const Box &a, const Box &b, bool sources) {
    const auto same = [&](const Loop &x, const Loop &y) {
        return x.count == y.count && x.step.target == y.step.target && (!sources || x.step.source == y.step.source);
    };
    return a.offset.target == b.offset.target && a.loops.size() == b.loops.size() &&
           std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), same);
}

// The boxes of a dimension by their blocks; none where a box is in no such block.
std::optional<std::vector<BlockBoxes>> boxes_by_block(const Dim &dim, Int bytes) {
    std::vector<BlockBoxes> found;
    for (const Box &box : dim) {
        const Int inside = box.offset.target % bytes;
        Box around{{0, box.offset.target - inside}, {}, true}, part{{box.offset.source, inside}, {}, box.valid};
        Int last = inside;
        for (const Loop &loop : box.loops) {
            const bool inner = loop.step.target < bytes;
            (inner ? part : around).loops.push_back(loop);
            if (inner) last += (loop.count - 1) * loop.step.target;
            if (!inner && loop.step.target % bytes) return std::nullopt;
        }
        if (last >= bytes) return std::nullopt;
        sort_loops(around.loops, target_side);
        const auto same = [&](const BlockBoxes &other) { return is_alike(other.around, around, false); };
        const auto place = std::find_if(found.begin(), found.end(), same);
        if (place == found.end()) {
            found.push_back({std::move(around), {std::move(part)}});
            continue;
        }
        // Padding has no source, and takes the steps of the data beside it.
        const bool data = std::any_of(place->parts.begin(), place->parts.end(), [](const Box &p) { return p.valid; });
        if (box.valid && data && !is_alike(place->around, around, true)) return std::nullopt;
        if (box.valid && !data) place->around = std::move(around);
        place->parts.push_back(std::move(part));
    }
    return found;
}

// The places of a block that boxes of a dimension have: as many of each, so that none is in two of them; 0 if not.
Int places_of(const std::vector<BlockBoxes> &dim) {
    Int places = 0;
    for (const BlockBoxes &boxes : dim) {
        Int count = 0;
        for (const Box &part : boxes.parts) {
            Int all = 1;
            for (const Loop &loop : part.loops) all *= loop.count;
            count += all;
        }
        if (places && count != places) return 0;
        places = count;
    }
    return places;
}

std::optional<PaddedBlocks> blocks_of(const std::vector<Dim> &dims, Int width, Int bytes) {
    PaddedBlocks made{bytes, true, {}};
    Int covered = width;
    for (const Dim &dim : dims) {
        std::optional<std::vector<BlockBoxes>> boxes = boxes_by_block(dim, bytes);
        if (!boxes) return std::nullopt;
        covered *= places_of(*boxes);
        made.boxes.push_back(std::move(*boxes));
    }
    if (covered != bytes) return std::nullopt;
    return made;
}

// Whether blocks hold data as well as padding.
bool is_mixed(const BlockBoxes &boxes) {
    const auto is_data = [](const Box &part) { return part.valid; };
    const auto data = std::count_if(boxes.parts.begin(), boxes.parts.end(), is_data);
    return data > 0 && data < std::ptrdiff_t(boxes.parts.size());
}

// Whether the places of every part lie side by side.
bool is_row(const BlockBoxes &boxes, Int width) {
    const auto fits = [&](const Box &part) {
        return part.loops.empty() || (part.loops.size() == 1 && part.loops[0].step.target == width);
    };
    return std::all_of(boxes.parts.begin(), boxes.parts.end(), fits);
}

}  // namespace

std::optional<PaddedBlocks> find_padded_blocks(const std::vector<Dim> &dims, Int width, std::size_t fast, Int limit) {
    std::optional<PaddedBlocks> best;
    Int most = 0;
    for (const Int bytes : block_sizes(dims, limit)) {
        std::optional<PaddedBlocks> made = blocks_of(dims, width, bytes);
        if (!made) continue;
        Int mixed = 0;
        for (std::size_t d = 0; d < dims.size(); ++d) {
            const std::vector<BlockBoxes> &boxes = made->boxes[d];
            const auto is_simple = [&](const BlockBoxes &each) { return !is_mixed(each) || is_row(each, width); };
            if (d == fast) made->rows = std::all_of(boxes.begin(), boxes.end(), is_simple);
            mixed += d == fast ? !made->rows : std::any_of(boxes.begin(), boxes.end(), is_mixed);
        }
        if (mixed <= most) continue;
        most = mixed;
        best = std::move(made);
    }
    return best;
}

}  // namespace relayout::tiled
