#include "tiled/gather.h"

#include <algorithm>
#include <utility>

#include "tiled/tile_shape.h"

namespace relayout::tiled {
namespace {

constexpr Int no_source = INT64_MIN;

// Where the bytes of a tile come from, in the order of the staging buffer.
struct TileBytes {
    std::vector<Int> source;
    std::vector<Segment> segments;
    Int low = INT64_MAX, high = INT64_MIN;  // what lies between is memory of the source
};

// Says where the bytes of a part come from.
void place_part(std::vector<Int> &source, const Box &part, Int width) {
    std::vector<Pair> places{part.offset};
    for (const Loop &loop : part.loops)
        for (std::size_t k = 0, size = places.size(); k < size; ++k)
            for (Int i = 1; i < loop.count; ++i) places.push_back(places[k] + i * loop.step);
    for (const Pair &place : places)
        for (Int k = 0; k < width; ++k) source[std::size_t(place.target + k)] = place.source + k;
}

// The bytes of the source that lie together in a tile before any loop.
Int first_run(const std::vector<Int> &source) {
    Int low = INT64_MAX, high = INT64_MIN, count = 0;
    for (const Int at : source) {
        if (at == no_source) continue;
        low = std::min(low, at);
        high = std::max(high, at + 1);
        ++count;
    }
    return count && high - low == count ? count : 0;
}

TileBytes bytes_of(const std::vector<Int> &first, const std::vector<Loop> &loops, const TileShape &shape) {
    TileBytes made{first, {{0, 0, Int(first.size())}}};
    Int length = 0;
    const std::vector<std::size_t> together = shape.chain(target_side, length);
    std::vector<std::size_t> order = together;
    for (std::size_t k = loops.size(); k-- > 0;)
        if (shape.steps[k] > 1 && std::find(together.begin(), together.end(), k) == together.end()) order.push_back(k);
    for (std::size_t n = 0; n < order.size(); ++n) {
        const Loop &loop = loops[order[n]];
        const std::size_t bytes = made.source.size(), segments = made.segments.size();
        for (Int i = 1; i < shape.steps[order[n]]; ++i) {
            for (std::size_t k = 0; k < bytes; ++k)
                made.source.push_back(made.source[k] == no_source ? no_source : made.source[k] + i * loop.step.source);
            for (std::size_t k = 0; n >= together.size() && k < segments; ++k) {
                const Segment &s = made.segments[k];
                made.segments.push_back({s.target + i * loop.step.target, s.staged + i * Int(bytes), s.length});
            }
        }
        if (n < together.size()) made.segments[0].length = Int(made.source.size());
    }
    for (const Int at : made.source) {
        if (at == no_source) continue;
        made.low = std::min(made.low, at);
        made.high = std::max(made.high, at + 1);
    }
    return made;
}

// Windows that a vector is picked from: each begins at its lowest byte that no other has, or at a multiple of `unit`.
struct Picked {
    std::vector<GatherWindow> windows;
    GatherPlaces places{};
};

Picked pick(const Int *source, Int count, Int window, Int unit, const TileBytes &tile) {
    Picked made;
    std::vector<std::pair<Int, Int>> order;
    for (Int k = 0; k < count; ++k)
        if (source[k] != no_source) order.push_back({source[k], k});
    std::sort(order.begin(), order.end());
    Int start = 0;
    for (const auto &[at, byte] : order) {
        if (made.windows.empty() || at >= start + window) {
            const Int behind = (at % unit + unit) % unit;
            start = std::max(std::min(at - behind, tile.high - window), tile.low);
            made.windows.push_back({0, start});
        }
        made.windows.back().picked |= ByteMask(1) << byte;
        made.places.of[byte] = Byte(at - start);
    }
    return made;
}

double cost_of(const Picked &picked, double window) { return vector_cost + window * double(picked.windows.size()); }

struct Candidate {
    TileShape shape;
    std::shared_ptr<Gather> gather;
    std::vector<Segment> segments;
    Int bytes = 0;
    double cost = 0;
};

// `even`: tiles are a multiple of a cache line apart in the source, so that windows may lie at lines.
Candidate gather_of(const TileShape &shape, const TileBytes &tile, bool even) {
    Candidate made{shape, std::make_shared<Gather>(), tile.segments, Int(tile.source.size())};
    Gather &gather = *made.gather;
    for (const Segment &segment : tile.segments)
        for (Int at = 0; at < segment.length; at += gather_vector) {
            const Int count = std::min(gather_vector, segment.length - at);
            const Int *source = tile.source.data() + segment.staged + at;
            Picked best = pick(source, count, narrow_window, 1, tile);
            double cost = cost_of(best, narrow_cost);
            bool narrow = true;
            for (const Int unit : {Int(1), even ? cache_line : Int(1)}) {
                if (tile.high - tile.low < wide_window) break;
                Picked other = pick(source, count, wide_window, unit, tile);
                const double now = cost_of(other, unit == 1 ? wide_cost : line_cost);
                if (now >= cost) continue;
                best = std::move(other);
                cost = now;
                narrow = false;
            }
            const ByteMask stored = count == gather_vector ? ~ByteMask(0) : (ByteMask(1) << count) - 1;
            gather.vectors.push_back(
                {segment.target + at, segment.staged + at, stored, Int(best.windows.size()), narrow});
            gather.windows.insert(gather.windows.end(), best.windows.begin(), best.windows.end());
            gather.places.push_back(best.places);
            made.cost += cost;
        }
    return made;
}

std::vector<Int> lines_of(const TileBytes &tile) {
    std::vector<Int> lines;
    for (const Int at : tile.source)
        if (at != no_source) lines.push_back(at);
    std::sort(lines.begin(), lines.end());
    std::vector<Int> found;
    for (const Int at : lines)
        if (found.empty() || at - found.back() >= cache_line) found.push_back(at);
    return found;
}

}  // namespace

std::optional<Pass> schedule_gather(const Box &box, const std::vector<Box> &parts, Int segment, Int width,
                                    double than) {
    if (!gather_kernels().gather || segment > max_gather_bytes || than >= max_gather_speed) return std::nullopt;
    TileBuilder b(box);
    if (product(segment, b.loops) < min_gather_bytes) return std::nullopt;
    for (Loop &loop : b.loops)
        if (loop.step.target < 0) {
            b.pass.offset = b.pass.offset + loop.at(loop.count - 1);
            loop.step = -1 * loop.step;
        }
    std::vector<Int> first(std::size_t(segment), no_source);
    for (const Box &part : parts)
        if (part.valid) place_part(first, part, width);
    std::optional<Candidate> best;
    std::vector<Int> lines;
    for (const Pair wanted : {Pair{64, 64}, Pair{64, 256}, Pair{256, 64}, Pair{128, 512}, Pair{2048, 2048}}) {
        TileShape shape(b.loops, {first_run(first), segment});
        for (const int side : {source_side, target_side}) shape.lengthen(side, wanted[side], max_gather_bytes);
        if (shape.bytes() > max_gather_bytes) continue;
        const TileBytes tile = bytes_of(first, b.loops, shape);
        if (tile.high - tile.low < narrow_window) continue;
        bool even = b.pass.offset.source % cache_line == 0;
        for (std::size_t k = 0; k < b.loops.size(); ++k)
            even = even && (shape.steps[k] == b.loops[k].count ||
                            (shape.steps[k] * b.loops[k].step.source % cache_line == 0 &&
                             b.loops[k].count * b.loops[k].step.source % cache_line == 0));
        Candidate made = gather_of(shape, tile, even);
        // Tiles are widened by other loops, up to what pays.
        Int others = 1;
        for (std::size_t k = 0; k < b.loops.size(); ++k)
            if (shape.steps[k] == 1)
                others = std::min(others * std::min(b.loops[k].count, min_tile_bytes), min_tile_bytes);
        made.cost += tile_cost / double(std::min(others, std::max<Int>(min_tile_bytes / made.bytes, 1)));
        if (best && made.cost / double(made.bytes) >= best->cost / double(best->bytes)) continue;
        best.emplace(std::move(made));
        lines = lines_of(tile);
    }
    if (!best || double(best->bytes) < best->cost * than * gather_margin) return std::nullopt;
    best->gather->lines = std::move(lines);
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
    b.pass.segments = best->segments;
    b.pass.gather = best->gather;
    b.pass.speed = double(best->bytes) / best->cost;
    b.widen(best->bytes);
    return b.finish(b.pass.staged_bytes);
}

}  // namespace relayout::tiled
