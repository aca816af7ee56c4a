#include "common/loop_nest.h"

#include <algorithm>
#include <cstdlib>

namespace relayout {

void sort_loops(std::vector<Loop> &loops, int side) {
    std::stable_sort(loops.begin(), loops.end(),
                     [side](const Loop &a, const Loop &b) { return std::abs(a.step[side]) > std::abs(b.step[side]); });
}

Box merge_loops(Box box) {
    const auto single = [](const Loop &loop) { return loop.count == 1; };
    for (const Loop &loop : box.loops)
        if (single(loop)) box.offset = box.offset + loop.at(0);
    box.loops.erase(std::remove_if(box.loops.begin(), box.loops.end(), single), box.loops.end());
    sort_loops(box.loops, source_side);
    sort_loops(box.loops, target_side);
    box.loops = merge_neighbours(box.loops);
    return box;
}

Box combine(Box box, const Box &with) {
    box.offset = box.offset + with.offset;
    box.loops.insert(box.loops.end(), with.loops.begin(), with.loops.end());
    box.valid = box.valid && with.valid;
    return box;
}

}  // namespace relayout
