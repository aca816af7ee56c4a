#include "general/tiles.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace relayout::general {
namespace {

constexpr std::size_t largest = 6;  // The logarithm of the bytes of the largest pieces.

Int floor_mod(Int a, Int b) { return (a % b + b) % b; }

// Whether all runs of all tiles are whole bytes; wider elements always are.
bool whole_bytes(const Nest &nest, const std::vector<ElementRun> &runs, int bits) {
    if (bits >= 8 || 8 % bits) return bits >= 8;
    Int together = 8 / bits;
    for (const int side : {0, 1}) {
        together = std::gcd(together, nest.border[side]);
        for (const Loop &loop : nest.outer)
            for (Int i = 0; i < (loop.table ? loop.count : 2); ++i) together = std::gcd(together, loop.at(i)[side]);
    }
    for (const ElementRun &run : runs)
        together = std::gcd(std::gcd(together, run.length), std::gcd(run.at[0], run.at[1]));
    return together == 8 / bits;
}

// The logarithm of the pieces of a run.
std::size_t piece(Int length) {
    std::size_t k = 0;
    while (k < largest && length >> (k + 1)) ++k;
    return k;
}

// Cuts runs, in bytes, into pieces, the last moved back to end with its run.
void cut(const std::vector<ElementRun> &runs, Tile &tile) {
    std::array<Int, 8> next{};
    for (const ElementRun &run : runs) next[piece(run.length) + 1] += ceil_div(run.length, Int(1) << piece(run.length));
    std::partial_sum(next.begin(), next.end(), next.begin());
    tile.first = next;
    for (std::vector<Int> &pieces : tile.pieces) pieces.resize(std::size_t(next.back()));
    tile.low = tile.high = runs[0].at;
    for (const ElementRun &run : runs) {
        const std::size_t k = piece(run.length);
        for (const int side : {0, 1}) {
            tile.low[side] = std::min(tile.low[side], run.at[side]);
            tile.high[side] = std::max(tile.high[side], run.at[side] + run.length);
            Int place = next[k];
            for (Int done = 0; done < run.length; done += Int(1) << k)
                tile.pieces[side][std::size_t(place++)] = run.at[side] + std::min(done, run.length - (Int(1) << k));
        }
        next[k] += ceil_div(run.length, Int(1) << k);
    }
}

std::vector<Int> lines_of(const std::vector<ElementRun> &runs, int side) {
    std::vector<Int> lines;
    for (const ElementRun &run : runs) {
        const Int first = run.at[side] - floor_mod(run.at[side], cache_line);
        for (Int at = first; at < run.at[side] + run.length; at += cache_line)
            if (lines.empty() || lines.back() != at) lines.push_back(at);
    }
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

}  // namespace

std::vector<ElementRun> make_runs(const Nest &nest, const Sides &sides) {
    std::vector<Pair> starts{nest.start};
    for (auto loop = nest.inner.rbegin(); loop != nest.inner.rend(); ++loop) {
        std::vector<Pair> wider;
        wider.reserve(starts.size() * std::size_t(loop->count));
        for (Int i = 0; i < loop->count; ++i)
            for (const Pair &start : starts) wider.push_back(start + loop->at(i));
        starts = std::move(wider);
    }
    Pair cuts = nest.border;
    for (const int side : {0, 1})
        if (sides[side].swizzle.bits) cuts[side] = std::gcd(cuts[side], sides[side].swizzle.grain());
    std::vector<ElementRun> found;
    for (const Pair &start : starts)
        for (Int done = 0; done < nest.run;) {
            ElementRun run{start + Pair{done, done}, nest.run - done};
            for (const int side : {0, 1}) {
                if (cuts[side]) run.length = std::min(run.length, cuts[side] - floor_mod(run.at[side], cuts[side]));
                if (nest.folded[side]) run.at[side] = sides[side].swizzle(run.at[side]);
            }
            done += run.length;
            bool follows = !found.empty();
            for (const int side : {0, 1})
                follows = follows && found.back().at[side] + found.back().length == run.at[side] &&
                          !(nest.border[side] && floor_mod(run.at[side], nest.border[side]) == 0);
            if (follows)
                found.back().length += run.length;
            else
                found.push_back(run);
        }
    return found;
}

Tile make_tile(const Nest &nest, const Sides &sides, int bits, bool in_bytes, bool prefetched) {
    Tile made{};
    made.runs = make_runs(nest, sides);
    made.in_bytes = in_bytes && whole_bytes(nest, made.runs, bits);
    if (!made.in_bytes) return made;
    std::vector<ElementRun> runs = std::move(made.runs);
    made.runs.clear();
    for (ElementRun &run : runs) run = {{run.at[0] * bits / 8, run.at[1] * bits / 8}, run.length * bits / 8};
    cut(runs, made);
    for (const int side : {0, 1})
        if (prefetched) made.lines[side] = lines_of(runs, side);
    return made;
}

}  // namespace relayout::general
