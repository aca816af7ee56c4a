#include "tiled/two_steps.h"

#include <algorithm>
#include <utility>

#include "tiled/schedule.h"
#include "tiled/tile_shape.h"

namespace relayout::tiled {
namespace {

// Loops of a tile, the fastest first, as the scratch memory has them: what lies together in the source, in the order of
// the target, then the rest, in the order of the source; or that rest first.
std::vector<Loop> order_of(const std::vector<Loop> &near, std::vector<Loop> rest, bool turned) {
    const auto sorted = [](std::vector<Loop> loops, int side) {
        std::sort(loops.begin(), loops.end(),
                  [=](const Loop &a, const Loop &b) { return a.step[side] < b.step[side]; });
        return loops;
    };
    std::vector<Loop> first = sorted(near, turned ? source_side : target_side);
    rest = sorted(std::move(rest), turned ? target_side : source_side);
    if (turned) std::swap(first, rest);
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
}

}  // namespace

std::optional<Pass> schedule_two_steps(const Box &box, int width, const Variation &how) {
    TileBuilder b(box, how);
    for (const Loop &loop : b.loops)
        if (loop.step.source < 0 || loop.step.target < 0) return std::nullopt;
    TileShape shape(b.loops, {width, width}, true);
    shape.lengthen(source_side, how.row_bytes, scratch_bytes);
    shape.lengthen(target_side, how.segment_bytes, scratch_bytes);
    for (const int side : {target_side, source_side})
        if (shape.bytes() < min_tile_bytes)
            shape.lengthen(side, min_tile_bytes / std::max<Int>(shape.bytes() / shape.contiguous(side), 1),
                           scratch_bytes);
    if (shape.bytes() > scratch_bytes) return std::nullopt;
    Int length = 0, together = width;
    std::vector<std::size_t> row;
    for (const std::size_t k : shape.chain(source_side, length)) {
        together *= shape.steps[k];
        if (together > how.row_bytes && !row.empty()) break;
        row.push_back(k);
    }
    std::vector<Loop> near, rest;
    for (std::size_t k = 0; k < b.loops.size(); ++k) {
        const Loop &loop = b.loops[k];
        const Int steps = shape.steps[k];
        if (steps < loop.count)
            b.pass.loops.push_back({(loop.count + steps - 1) / steps, steps, loop.count, loop.step});
        if (steps == 1) continue;
        const bool inside = std::find(row.begin(), row.end(), k) != row.end();
        (inside ? near : rest).push_back({steps, loop.step});
    }
    Box in{{0, 0}, {}}, out{{0, 0}, {}};
    Int apart = width;
    for (const Loop &loop : order_of(near, std::move(rest), how.steps == Steps::turned)) {
        in.loops.push_back({loop.count, {loop.step.source, apart}});
        out.loops.push_back({loop.count, {apart, loop.step.target}});
        apart *= loop.count;
    }
    std::reverse(in.loops.begin(), in.loops.end());
    std::reverse(out.loops.begin(), out.loops.end());
    Variation each = how;
    each.steps = Steps::one;
    each.tile_bytes = shape.bytes();
    each.gathers = Use::by_rule;
    b.pass.inner = std::make_shared<const Pass>(schedule(in, width, false, false, each));
    b.pass.outer = std::make_shared<const Pass>(schedule(out, width, false, false, each));
    b.pass.staged_bytes = shape.bytes();
    b.loops.clear();
    Pass made = b.finish(shape.bytes());
    made.speed =
        1 / (1 / std::min(made.inner->speed, max_step_speed) + 1 / std::min(made.outer->speed, max_step_speed));
    return made;
}

}  // namespace relayout::tiled
