#include <algorithm>
#include <numeric>

#include "packed/network.h"
#include "tests/check.h"

namespace relayout::tests {
namespace {

// Loops of two to 8 steps, in any order on both sides, some running down; the last one need not be a power of 2, and
// the source may have gaps.
Box random_nest(int bits) {
    const Int least = 64 * 8 / bits;
    std::vector<Loop> loops;
    Int elements = 1;
    while (elements < 16 * least) {
        const Int count = Int(1) << pick(1, 3);
        loops.push_back({count, {}});
        elements *= count;
    }
    loops.push_back({pick(1, 5), {}});
    Box nest{{0, 0}, {}};
    for (const int side : {source_side, target_side}) {
        std::vector<std::size_t> order(loops.size() - 1);
        std::iota(order.begin(), order.end(), std::size_t(0));
        std::shuffle(order.begin(), order.end(), random_engine());
        order.push_back(loops.size() - 1);
        Int step = 1;
        for (const std::size_t k : order) {
            if (side == source_side && step >= least && !pick(0, 7)) step += least / 4;
            const bool down = !pick(0, 4);
            loops[k].step[side] = down ? -step : step;
            if (down) nest.offset[side] += (loops[k].count - 1) * step;
            step *= loops[k].count;
        }
    }
    nest.loops = loops;
    return nest;
}

std::vector<Pair> offsets_of(const Box &nest) {
    std::vector<Pair> found{nest.offset};
    for (const Loop &loop : nest.loops) {
        std::vector<Pair> wider;
        for (const Pair &offset : found)
            for (Int i = 0; i < loop.count; ++i) wider.push_back(offset + loop.at(i));
        found = std::move(wider);
    }
    return found;
}

// Whether there was a network to judge.
bool test_network(Isa isa, int bits) {
    const Box nest = random_nest(bits);
    const std::optional<packed::Division> made = packed::divide(nest, bits, network_kernels_for(isa));
    if (!made) return false;
    std::vector<Pair> moved = offsets_of(nest);
    Int high[2] = {0, 0};
    for (const Pair &at : moved)
        for (const int side : {0, 1}) high[side] = std::max(high[side], at[side] + 1);
    const GuardedBytes source((high[0] * bits + 7) / 8, false), target((high[1] * bits + 7) / 8, true);
    Bytes expected = target.copy();
    const auto by_offset = [](const Pair &a, const Pair &b) { return a.target < b.target; };
    std::sort(moved.begin(), moved.end(), by_offset);
    for (const Box &rest : made->rest)
        for (const Pair &at : offsets_of(rest)) {
            const auto found = std::lower_bound(moved.begin(), moved.end(), at, by_offset);
            check(found != moved.end() && *found == at, "what is left over is not of the nest");
            moved.erase(found);
        }
    for (const Pair &at : moved)
        for (Int b = 0; b < bits; ++b) {
            const Int from = at.source * bits + b, to = at.target * bits + b;
            Byte &byte = expected[std::size_t(to / 8)];
            byte = Byte((byte & ~(1 << to % 8)) | (source.data()[from / 8] >> from % 8 & 1) << to % 8);
        }
    const packed::Network &network = made->network;
    bool lines = network.lines && made->start.target * bits / 8 % cache_line == 0;
    for (const Int at : network.stages.back().to) lines = lines && at % cache_line == 0;
    for (const Loop &loop : made->outer) lines = lines && loop.step.target * bits / 8 % cache_line == 0;
    std::vector<Byte> scratch(std::size_t(network.tile_bytes));
    Int tiles = 0;
    for (const Pair &at : offsets_of({made->start, made->outer})) {
        const Byte *from = source.data() + at.source * bits / 8;
        network.run(from, target.data() + at.target * bits / 8, lines && pick(0, 1), pick(0, 1) ? from : nullptr,
                    scratch.data());
        ++tiles;
    }
    const std::string what = std::string(isa_names[int(isa)]) + ": a network for " + std::to_string(bits) + " bits";
    check(tiles * network.tile_bytes * 8 / bits == Int(moved.size()), what + " has other tiles");
    check(target == expected, what);
    return true;
}

}  // namespace

void test_networks() {
    for (int k = 0; k <= int(isa()); ++k)
        for (const int bits : {1, 2, 4, 8}) {
            int judged = 0;
            for (int round = 0; round < 40; ++round) judged += test_network(Isa(k), bits);
            check(judged > 20 || !network_kernels_for(Isa(k)).lane, "there are hardly any networks");
        }
}

}  // namespace relayout::tests
