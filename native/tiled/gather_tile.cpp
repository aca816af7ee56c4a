#include "tiled/gather_tile.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace relayout::tiled {
namespace {

constexpr Int no_source = TileBytes::no_source;

// The windows of a vector, in so many parts each, and where in them its bytes lie.
struct Picked {
    Int parts;
    double window_cost;
    std::vector<ByteMask> picked;
    std::vector<Int> sources;
    GatherPlaces places{};
    GatherVector vector{};

    Int windows() const { return Int(picked.size()); }
    double cost() const { return vector_cost + window_cost * double(windows()); }
    bool is_like(const Picked &other) const { return parts == other.parts && windows() == other.windows(); }

    // Windows that nothing is picked from.
    void pad(Int windows) {
        picked.resize(std::size_t(windows), 0);
        sources.resize(std::size_t(windows * parts), sources.back());
    }
};

// Each part begins at the lowest byte that no other has, or at the multiple of `unit` before it, inside the tile.
Picked pick(const Int *source, Int count, const WindowKind &kind, Int low, Int high) {
    const Int parts = kind.parts, unit = kind.unit, size = gather_vector / parts;
    Picked made{parts, kind.cost, {}, {}};
    std::vector<std::pair<Int, Int>> order;
    for (Int k = 0; k < count; ++k)
        if (source[k] != no_source) order.push_back({source[k], k});
    std::sort(order.begin(), order.end());
    Int start = 0;
    for (const auto &[at, byte] : order) {
        if (made.sources.empty() || at >= start + size) {
            const Int behind = (at % unit + unit) % unit;
            start = std::max(std::min(at - behind, high - size), low);
            if (Int(made.sources.size()) % parts == 0) made.picked.push_back(0);
            made.sources.push_back(start);
        }
        made.picked.back() |= ByteMask(1) << byte;
        made.places.of[byte] = Byte((Int(made.sources.size()) - 1) % parts * size + at - start);
    }
    while (Int(made.sources.size()) % parts) made.sources.push_back(made.sources.back());
    return made;
}

// Vectors of as many windows go together, so that a kernel need not ask: in groups, of which small ones join others.
// Returns what all of them cost.
double group(std::vector<Picked> &vectors) {
    std::stable_sort(vectors.begin(), vectors.end(), [](const Picked &a, const Picked &b) {
        return std::make_pair(a.parts, a.windows()) < std::make_pair(b.parts, b.windows());
    });
    double cost = 0;
    for (std::size_t end = vectors.size(), first; end > 0; end = first) {
        for (first = end - 1; first > 0 && vectors[first - 1].is_like(vectors[end - 1]);) --first;
        cost += group_cost;
        if (end < vectors.size() && vectors[end].parts == vectors[first].parts && vectors[first].windows() > 0) {
            const Int more = vectors[end].windows();
            const double padding =
                double(end - first) * double(more - vectors[first].windows()) * vectors[first].window_cost;
            if (padding < group_cost) {
                for (std::size_t k = first; k < end; ++k) vectors[k].pad(more);
                cost -= group_cost;
            }
        }
        for (std::size_t k = first; k < end; ++k) cost += vectors[k].cost();
    }
    return cost;
}

std::shared_ptr<Gather> make_gather(const std::vector<Picked> &vectors) {
    auto gather = std::make_shared<Gather>();
    for (std::size_t k = 0; k < vectors.size(); ++k) {
        const Picked &made = vectors[k];
        if (k == 0 || !made.is_like(vectors[k - 1])) gather->groups.push_back({0, made.windows(), made.parts});
        ++gather->groups.back().vectors;
        gather->vectors.push_back(made.vector);
        gather->places.push_back(made.places);
        gather->picked.insert(gather->picked.end(), made.picked.begin(), made.picked.end());
        gather->sources.insert(gather->sources.end(), made.sources.begin(), made.sources.end());
    }
    return gather;
}

// From these sources, between `low` and `high`, which may be others than the tile's own: each vector by the windows
// that cost it least, or all by windows of one kind.
GatherOfTile gather_from(const std::vector<Int> &sources, Int low, Int high, const std::vector<Segment> &segments,
                         bool even) {
    std::vector<Picked> cheapest;
    std::vector<std::vector<Picked>> choices;
    for (const WindowKind &kind : window_kinds) {
        if (high - low < gather_vector / kind.parts || (kind.unit > 1 && !even)) continue;
        std::vector<Picked> vectors;
        for (const Segment &segment : segments)
            for (Int at = 0; at < segment.length; at += gather_vector) {
                const Int count = std::min(gather_vector, segment.length - at);
                Picked made = pick(sources.data() + segment.staged + at, count, kind, low, high);
                const ByteMask stored = count == gather_vector ? ~ByteMask(0) : (ByteMask(1) << count) - 1;
                made.vector = {segment.target + at, segment.staged + at, stored};
                vectors.push_back(std::move(made));
            }
        if (cheapest.empty()) cheapest = vectors;
        for (std::size_t k = 0; k < vectors.size(); ++k)
            if (vectors[k].cost() < cheapest[k].cost()) cheapest[k] = vectors[k];
        choices.push_back(std::move(vectors));
    }
    choices.push_back(std::move(cheapest));
    const std::vector<Picked> *best = nullptr;
    double cost = 0;
    for (std::vector<Picked> &vectors : choices)
        if (const double now = group(vectors); !best || now < cost) {
            best = &vectors;
            cost = now;
        }
    return {make_gather(*best), cost};
}

}  // namespace

TileBytes::TileBytes(const std::vector<Box> &parts, Int segment, Int width)
    : source(std::size_t(segment), no_source), column(std::size_t(segment)), segments{{0, 0, segment}}, run(0) {
    for (const Box &part : parts) {
        if (!part.valid) continue;
        std::vector<Pair> places{part.offset};
        for (const Loop &loop : part.loops)
            for (std::size_t k = 0, size = places.size(); k < size; ++k)
                for (Int i = 1; i < loop.count; ++i) places.push_back(places[k] + i * loop.step);
        for (const Pair &place : places)
            for (Int k = 0; k < width; ++k) source[std::size_t(place.target + k)] = place.source + k;
    }
    find_ends();
    const Int count = segment - std::count(source.begin(), source.end(), no_source);
    const bool dense = high - low == count;
    for (std::size_t k = 0; k < source.size(); ++k) {
        if (source[k] == no_source) continue;
        const bool goes_on = k > 0 && source[k - 1] != no_source && source[k] == source[k - 1] + 1;
        column[k] = dense ? source[k] - low : goes_on ? column[k - 1] + 1 : 0;
        run = std::max(run, column[k] + 1);
    }
}

void TileBytes::find_ends() {
    for (const Int at : source) {
        if (at == no_source) continue;
        low = std::min(low, at);
        high = std::max(high, at + 1);
    }
}

TileBytes TileBytes::with_loops(const std::vector<Loop> &loops, const TileShape &shape) const {
    TileBytes made = *this;
    Int length = 0;
    const std::vector<std::size_t> together = shape.chain(target_side, length), row = shape.chain(source_side, length);
    const auto is_among = [](const std::vector<std::size_t> &all, std::size_t k) {
        return std::find(all.begin(), all.end(), k) != all.end();
    };
    std::vector<std::size_t> order = together;
    for (std::size_t k = loops.size(); k-- > 0;)
        if (shape.steps[k] > 1 && !is_among(together, k)) order.push_back(k);
    for (std::size_t n = 0; n < order.size(); ++n) {
        const Loop &loop = loops[order[n]];
        const Int along = is_among(row, order[n]) ? std::llabs(loop.step.source) : 0, last = shape.steps[order[n]] - 1;
        const std::size_t bytes = made.source.size(), count = made.segments.size();
        for (Int i = 0; i <= last; ++i) {
            for (std::size_t k = 0; k < bytes; ++k) {
                const Int at = made.source[k], into = made.column[k] + (loop.step.source < 0 ? last - i : i) * along;
                if (i > 0) made.source.push_back(at == no_source ? at : at + i * loop.step.source);
                if (i > 0) made.column.push_back(into);
            }
            for (std::size_t k = 0; i > 0 && n >= together.size() && k < count; ++k) {
                const Segment &s = made.segments[k];
                made.segments.push_back({s.target + i * loop.step.target, s.staged + i * Int(bytes), s.length});
            }
        }
        if (loop.step.source < 0)
            for (std::size_t k = 0; k < bytes; ++k) made.column[k] += last * along;
        if (n < together.size()) made.segments[0].length = Int(made.source.size());
    }
    made.find_ends();
    return made;
}

std::vector<Int> TileBytes::lines() const {
    std::vector<Int> all;
    Int before = no_source;
    for (const Int at : source) {
        if (at != no_source && (at != before + 1 || at - all.back() >= cache_line)) all.push_back(at);
        before = at;
    }
    std::sort(all.begin(), all.end());
    std::vector<Int> found;
    for (const Int at : all)
        if (found.empty() || at - found.back() >= cache_line) found.push_back(at);
    return found;
}

GatherOfTile gather_directly(const TileBytes &tile, bool even) {
    return gather_from(tile.source, tile.low, tile.high, tile.segments, even);
}

std::optional<GatherOfTile> gather_turned(const TileBytes &tile, Int width) {
    while (width > 8 || (width & (width - 1))) width = width > 8 && width % 2 == 0 ? width / 2 : width & -width;
    std::unordered_map<Int, Int> numbers;
    std::vector<Int> rows;
    Int across = 0;
    for (std::size_t k = 0; k < tile.source.size(); ++k) {
        if (tile.source[k] == no_source) continue;
        const Int row = tile.source[k] - tile.column[k];
        if (numbers.emplace(row, Int(rows.size())).second) rows.push_back(row);
        across = std::max(across, tile.column[k] + 1);
    }
    const Int height = Int(rows.size()), pitch = height * width;
    const auto is_inside = [&](Int row) { return row >= tile.low && row + across <= tile.high; };
    const Int count = height * across;
    if (across % width || pitch < min_turned_bytes || across < min_turned_bytes || count > max_gather_bytes ||
        !std::all_of(rows.begin(), rows.end(), is_inside))
        return std::nullopt;
    std::vector<Int> sources(tile.source.size(), no_source);
    for (std::size_t k = 0; k < sources.size(); ++k) {
        if (tile.source[k] == no_source) continue;
        const Int column = tile.column[k], row = numbers[tile.source[k] - column];
        sources[k] = column / width * pitch + row * width + column % width;
    }
    GatherOfTile made = gather_from(sources, 0, count, tile.segments, true);
    Gather &gather = *made.gather;
    gather.width = log2_of(width);
    gather.rows = std::move(rows);
    for (Int at = 0; at < across; at += width) gather.columns.push_back(at / width * pitch);
    gather.row_step = equal_step(gather.rows.data(), height);
    made.cost += tile_cost + double(count) * turn_cost[gather.width];
    return made;
}

}  // namespace relayout::tiled
