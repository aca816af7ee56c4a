#include "tiled/gather.h"

#include <algorithm>
#include <utility>

#include "tiled/gather_tile.h"

namespace relayout::tiled {
namespace {

struct Candidate {
    TileShape shape;
    std::vector<Segment> segments;
    Int bytes;
    double fresh;  // the part of them that is in no tile before
    GatherOfTile made;

    double speed() const { return fresh * double(bytes) / made.cost; }
};

// What part of all tiles is left without what neighbours have in common, since the last one ends with its loop.
double fresh_part(const std::vector<Loop> &loops, const TileShape &shape) {
    double part = 1;
    for (std::size_t k = 0; k < loops.size(); ++k) {
        const Int steps = shape.steps[k], tiles = (loops[k].count + steps - 1) / steps;
        part *= double(loops[k].count) / double(tiles * steps);
    }
    return part;
}

// Whether all tiles of a shape are a multiple of a cache line apart in the source.
bool is_even(const TileBuilder &b, const TileShape &shape) {
    const auto fits = [&](std::size_t k) {
        const Int step = b.loops[k].step.source;
        return shape.steps[k] == b.loops[k].count ||
               (shape.steps[k] * step % cache_line == 0 && b.loops[k].count * step % cache_line == 0);
    };
    bool even = b.pass.offset.source % cache_line == 0;
    for (std::size_t k = 0; k < b.loops.size(); ++k) even = even && fits(k);
    return even;
}

// What calls for single tiles cost: other loops widen them, as far as that pays.
double cost_of_calls(const TileBuilder &b, const TileShape &shape) {
    const Int wanted = std::max<Int>(min_tile_bytes / shape.bytes(), 1);
    Int times = 1;
    for (std::size_t k = 0; k < b.loops.size(); ++k)
        if (shape.steps[k] == 1) times = std::min(times * std::min(b.loops[k].count, wanted), wanted);
    return tile_cost / double(times);
}

// The fastest of some shapes.
std::optional<Candidate> find_best(const TileBuilder &b, const std::vector<Box> &parts, Int segment, Int width) {
    const TileBytes first(parts, segment, width);
    std::optional<Candidate> best;
    std::vector<std::vector<Int>> tried;
    for (const Pair wanted : gather_shapes) {
        TileShape shape(b.loops, {first.run, segment});
        for (const int side : {source_side, target_side}) shape.lengthen(side, wanted[side], max_gather_bytes);
        if (shape.bytes() > max_gather_bytes || std::find(tried.begin(), tried.end(), shape.steps) != tried.end())
            continue;
        tried.push_back(shape.steps);
        TileBytes tile = first.with_loops(b.loops, shape);
        if (tile.high - tile.low < gather_vector && !b.loops.empty()) {
            // Windows are memory of the source if more of it is in the tile.
            const std::size_t nearest = std::size_t(b.nearest());
            const Int room = shape.steps[nearest] * max_gather_bytes / shape.bytes();
            shape.steps[nearest] = std::min(b.loops[nearest].count, std::min<Int>(room, 2 * shape.steps[nearest] + 6));
            tile = first.with_loops(b.loops, shape);
        }
        if (tile.high - tile.low < min_window_part) continue;
        GatherOfTile made = gather_directly(tile, is_even(b, shape));
        if (std::optional<GatherOfTile> turned = gather_turned(tile, width); turned && turned->cost < made.cost)
            made = std::move(*turned);
        made.gather->lines = tile.lines();
        const std::vector<Int> &lines = made.gather->lines;
        const Int little = std::max<Int>(Int(lines.size()) - Int(tile.source.size()) / cache_line, 0);
        const bool crowded = made.gather->rows.empty() && is_crowded(lines.data(), Int(lines.size()));
        made.cost += cost_of_calls(b, shape) + read_cost * double(little);
        if (crowded) made.cost += read_cost * double(made.gather->sources.size());
        Candidate candidate{shape, tile.segments, Int(tile.source.size()), fresh_part(b.loops, shape), std::move(made)};
        if (!best || candidate.speed() > best->speed()) best.emplace(std::move(candidate));
    }
    return best;
}

}  // namespace

std::optional<Pass> schedule_gather(const Box &box, const std::vector<Box> &parts, Int segment, Int width, double than,
                                    const Variation &how) {
    if (how.gathers == Use::never) return std::nullopt;
    if (how.gathers == Use::always) than = 0;
    if (!gather_kernels().gather || segment > max_gather_bytes || than >= max_gather_speed) return std::nullopt;
    TileBuilder b(box, how);
    if (product(segment, b.loops) < min_gather_bytes) return std::nullopt;
    for (Loop &loop : b.loops)
        if (loop.step.target < 0) {
            b.pass.offset = b.pass.offset + loop.at(loop.count - 1);
            loop.step = -1 * loop.step;
        }
    std::optional<Candidate> best = find_best(b, parts, segment, width);
    if (!best || best->speed() < than * gather_margin) return std::nullopt;
    std::vector<Loop> left;
    for (std::size_t k = 0; k < b.loops.size(); ++k) {
        const Loop &loop = b.loops[k];
        const Int steps = best->shape.steps[k];
        if (steps == 1)
            left.push_back(loop);
        else if (steps < loop.count)
            b.pass.loops.push_back({(loop.count + steps - 1) / steps, steps, loop.count, loop.step});
    }
    b.loops = std::move(left);
    KernelCall call{};
    call.kind = KernelKind::gather;
    call.count = 1;
    call.strip = call.staged_strip = call.repeat = call.staged_repeat = {1, 0, 0};
    b.pass.calls.push_back(call);
    b.pass.segments = std::move(best->segments);
    b.pass.speed = best->speed();
    b.pass.gather = std::move(best->made.gather);
    b.widen(best->bytes);
    return b.finish(b.pass.staged_bytes);
}

}  // namespace relayout::tiled
