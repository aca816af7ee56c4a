#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "common/caches.h"
#include "general/program.h"
#include "tests/check.h"
#include "tiled/permuted_blocks.h"
#include "tiled/program.h"

namespace relayout::tests {
namespace {

// The offsets of all combinations, in one order for both sides.
std::vector<Pair> all_offsets(Pair start, const std::vector<Dim> &dims, bool valid) {
    std::vector<Pair> found;
    for_each_combination(dims, {start, {}}, [&](const Box &box) {
        if (box.valid != valid) return;
        std::vector<Pair> here{box.offset};
        for (const Loop &loop : box.loops) {
            std::vector<Pair> wider;
            for (const Pair &offset : here)
                for (Int i = 0; i < loop.count; ++i)
                    wider.push_back({offset.source + loop.at(i).source, offset.target + loop.at(i).target});
            here = std::move(wider);
        }
        found.insert(found.end(), here.begin(), here.end());
    });
    return found;
}

// A dense array whose dimensions, some cut into an outer and an inner part, lie in any order on both sides.
struct RandomNest {
    std::vector<Dim> dims;
    Int elements = 1;

    explicit RandomNest(bool padded) {
        std::vector<Int> counts, extents;
        const bool tall = pick(0, 3) == 0;
        if (tall) counts = {pick(600, 1300), pick(16, 45)};
        for (const Int count : counts) elements *= count;
        for (Int left = tall ? 0 : pick(2, 5); left > 0; --left) {
            const Int count = one_of({1, 2, 3, 4, 7, 8, 16, 17, 32, 50, 64, 100});
            if (elements * count > 60000) break;
            counts.push_back(count);
            elements *= count;
        }
        // With padding, one dimension of the target is longer than the data.
        const std::size_t longer = padded ? std::size_t(pick(0, Int(counts.size()) - 1)) : counts.size();
        extents = counts;
        if (padded) extents[longer] += pick(1, 9);
        std::vector<Pair> steps(counts.size());
        for (const int side : {source_side, target_side}) {
            std::vector<std::size_t> order(counts.size());
            std::iota(order.begin(), order.end(), std::size_t(0));
            std::shuffle(order.begin(), order.end(), random_engine());
            Int step = 1;
            for (const std::size_t d : order) {
                steps[d][side] = step;
                step *= side == target_side ? extents[d] : counts[d];
            }
        }
        for (std::size_t d = 0; d < counts.size(); ++d) {
            dims.push_back({Box{{0, 0}, {{counts[d], steps[d]}}}});
            if (d == longer)
                dims.back().push_back(
                    Box{{0, counts[d] * steps[d].target}, {{extents[d] - counts[d], {0, steps[d].target}}}, false});
        }
    }
};

// A transpose of rows a power of 2 apart, more than the ways of a cache.
std::vector<Dim> crowded_rows(Int rows, Int columns) {
    return {{Box{{0, 0}, {{rows, {columns, 1}}}}}, {Box{{0, 0}, {{columns, {1, rows}}}}}};
}

// A dense array as blocks, in any order of what is inside them, of which the last ones of each dimension are padded.
std::vector<Dim> random_blocks() {
    const std::size_t rank = std::size_t(pick(2, 3));
    std::vector<Int> blocks, counts, rests;
    for (std::size_t d = 0; d < rank; ++d) {
        blocks.push_back(one_of({1, 2, 3, 4, 6, 7, 12, 16}));
        counts.push_back(one_of({0, 1, 2, 5, 16, 31}));
        rests.push_back(counts.back() ? pick(0, blocks.back() - 1) : pick(1, blocks.back()));
    }
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::vector<Int> inside(rank), outside(rank), along(rank);
    Int step = 1;
    std::shuffle(order.begin(), order.end(), random_engine());
    for (const std::size_t d : order) {
        inside[d] = step;
        step *= blocks[d];
    }
    std::shuffle(order.begin(), order.end(), random_engine());
    for (const std::size_t d : order) {
        outside[d] = step;
        step *= counts[d] + (rests[d] > 0);
    }
    step = 1;
    for (std::size_t d = rank; d-- > 0;) {
        along[d] = step;
        step *= counts[d] * blocks[d] + rests[d];
    }
    std::vector<Dim> dims(rank);
    for (std::size_t d = 0; d < rank; ++d) {
        const Pair last = counts[d] * Pair{blocks[d] * along[d], outside[d]}, each{along[d], inside[d]};
        if (counts[d])
            dims[d].push_back(Box{{0, 0}, {{blocks[d], each}, {counts[d], {blocks[d] * along[d], outside[d]}}}});
        if (!rests[d]) continue;
        dims[d].push_back(Box{last, {{rests[d], each}}});
        if (rests[d] < blocks[d])
            dims[d].push_back(
                Box{{0, last.target + rests[d] * inside[d]}, {{blocks[d] - rests[d], {0, inside[d]}}}, false});
    }
    return dims;
}

// The same copy back, of the data alone: what padding was are gaps of the source.
std::vector<Dim> backwards(std::vector<Dim> dims) {
    const auto turn = [](Pair &pair) { std::swap(pair.source, pair.target); };
    for (Dim &dim : dims) {
        dim.erase(std::remove_if(dim.begin(), dim.end(), [](const Box &box) { return !box.valid; }), dim.end());
        for (Box &box : dim) {
            turn(box.offset);
            for (Loop &loop : box.loops) turn(loop.step);
        }
    }
    return dims;
}

// Crowded rows of which only three of four columns are taken.
std::vector<Dim> crowded_rows_with_gaps(Int rows, Int columns) {
    return {{Box{{0, 0}, {{rows, {columns, 1}}}}},
            {Box{{0, 0}, {{columns / 4, {4, 3 * rows}}}}},
            {Box{{0, 0}, {{3, {1, rows}}}}}};
}

std::vector<Dim> in_bytes(std::vector<Dim> dims, Int width) {
    for (Dim &dim : dims)
        for (Box &box : dim) {
            box.offset = width * box.offset;
            for (Loop &loop : box.loops) loop.step = width * loop.step;
        }
    return dims;
}

// What the passes of copies had.
struct Seen {
    bool slabs = false, gathers = false, permutes = false, widens = false, two_steps = false;
    bool shifted = false;                     // with neighbours that have lines in common
    bool carried = false, collected = false;  // slabs that go on, and such of collected rows
};

void test_copy(const std::vector<Dim> &elements, bool padded, Seen &seen, Int width = Int(1) << pick(0, 4)) {
    const std::vector<Dim> dims = in_bytes(elements, width);
    GuardedBytes pattern(16);
    for (Int b = width; b < 16; ++b) pattern.data()[b] = pattern.data()[b - width];
    for (const bool nontemporal_stores : {true, false})
        for (const Int nontemporal_from : {Int(0), Int(1) << 40}) {
            if (nontemporal_stores && !kernels().nontemporal_stores) continue;
            const tiled::Tuning tuning{nontemporal_from, nontemporal_stores, 0};
            const tiled::TiledProgram program(int(width), {0, 0}, dims, padded ? pattern.data() : nullptr, {}, tuning);
            const GuardedBytes source(program.source_range().high);
            GuardedBytes target(program.target_range().high, pick(0, 1));
            const Bytes before = target.copy();
            Bytes expected = before;
            for (const bool valid : {true, false})
                for (const Pair &at : all_offsets({0, 0}, dims, valid))
                    for (Int b = 0; b < width; ++b)
                        expected[std::size_t(at.target + b)] = valid ? source.data()[at.source + b] : pattern.data()[b];
            for (int variation = 0; variation < program.variations(); ++variation) {
                target.restore(before);
                const tiled::TiledCopy copy(program, source.data(), target.data(), int(pick(1, 3)), variation);
                const Int part = pick(0, program.chunks());
                copy.run(0, part);
                copy.run(part, program.chunks());
                for (const tiled::Pass &pass : program.passes(false, variation))
                    seen.two_steps |= pass.outer != nullptr;
                check(target == expected, "a tiled copy to " + std::to_string(program.target_range().high) +
                                              " bytes, of elements of " + std::to_string(width) + ", variation " +
                                              std::to_string(variation));
            }
            for (const bool aligned : {false, true})
                for (const tiled::Pass &pass : program.passes(aligned)) {
                    const bool claims = program.is_nontemporal(pass) || pass.shifted || (pass.inner && !pass.outer);
                    check(nontemporal_stores || !claims, "a schedule counts on stores that are not there");
                    seen.slabs |= pass.inner != nullptr;
                    seen.carried |= pass.along && pass.rows.empty();
                    seen.collected |= pass.along && !pass.rows.empty();
                    seen.gathers |= pass.gather != nullptr;
                    seen.permutes |= pass.block != nullptr;
                    seen.widens |= !pass.calls.empty() && pass.calls[0].kind == tiled::KernelKind::widened_transpose;
                    for (const tiled::TileLoop &loop : pass.loops) seen.shifted |= pass.shifted && loop.shared;
                }
        }
}

void test_converted_copy() {
    const RandomNest nest(false);
    const std::vector<Dim> dims = in_bytes(nest.dims, 4);
    const auto conversion = find_conversion("float32", "uint8", {}, {{4.f}, {3.f}}, isa());
    check(conversion.has_value(), "there is no kernel");
    const tiled::Tuning tuning{pick(0, 1) << 40, kernels().nontemporal_stores};
    std::optional<tiled::TiledProgram> made;
    try {
        made.emplace(4, Pair{0, 0}, dims, nullptr, conversion, tuning);
    } catch (const std::invalid_argument &) {
        return;  // no tile of it fits into the staging buffer
    }
    const tiled::TiledProgram &program = *made;
    const GuardedBytes source(program.source_range().high), target(program.target_range().high);
    Bytes expected = target.copy();
    for (const Pair &at : all_offsets({0, 0}, dims, true)) {
        const float x = float(pick(-40, 260)) / 4;
        std::memcpy(source.data() + at.source, &x, 4);
        expected[std::size_t(at.target / 4)] = Byte(std::clamp(x * 4 + 3, 0.f, 255.f));
    }
    program.run(source.data(), target.data(), 1);
    check(target == expected, "a tiled copy that converts");
}

Int swizzled(const general::Swizzle &swizzle, Int x) {
    for (int bit = 0; bit < swizzle.bits; ++bit) {
        const int high = swizzle.base + bit + std::max(swizzle.shift, 0), low = high - swizzle.shift;
        x ^= (x >> high & 1) << low;
    }
    return x;
}

void test_any_offsets() {
    const RandomNest nest(false);
    const int bits = int(one_of({1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128}));
    general::Sides sides;
    for (general::Side &side : sides)
        if (pick(0, 1)) side.swizzle = {int(pick(1, 3)), int(pick(0, 4)), int(one_of({-4, -3, 3, 4}))};
    const general::GeneralProgram program(bits, {0, 0}, nest.dims, {}, sides);
    const auto bytes = [&](int side) { return (program.high(side) * bits + 7) / 8; };
    const GuardedBytes source(bytes(source_side)), target(bytes(target_side));
    Bytes expected = target.copy();
    for (const Pair &at : all_offsets({0, 0}, nest.dims, true))
        for (Int b = 0; b < bits; ++b) {
            const Int from = swizzled(sides[0].swizzle, at.source) * bits + b;
            const Int to = swizzled(sides[1].swizzle, at.target) * bits + b;
            Byte &byte = expected[std::size_t(to / 8)];
            byte = Byte((byte & ~(1 << to % 8)) | (source.data()[from / 8] >> from % 8 & 1) << to % 8);
        }
    const auto memory = [](const GuardedBytes &held) {
        general::Memory made;
        made.address = reinterpret_cast<std::uintptr_t>(held.data());
        return made;
    };
    program.run({memory(source), memory(target)}, int(pick(1, 3)));
    check(target == expected, "a general copy of elements of " + std::to_string(bits) + " bits");
}

// Calls whose ways take so long, each time a little else; the way that is kept, or -1.
int kept_way(const std::vector<Int> &nanoseconds, int tries, Int after, Int calls) {
    tiled::Trials trials;
    trials.begin(int(nanoseconds.size()), tries, after);
    for (Int call = 0; call < calls; ++call) {
        const int way = trials.next();
        check(call >= after || way == 0, "another way is tried too early");
        if (call % 5 != 3) trials.record(way, nanoseconds[std::size_t(way)] * (100 + pick(0, 1)) / 100);
    }
    check(trials.kept() == (trials.is_settled() ? trials.next() : 0), "another way is kept than taken");
    return trials.is_settled() ? trials.next() : -1;
}

void test_trials() {
    check(kept_way({100, 70, 90}, 3, 0, 40) == 1, "the fastest way is not kept");
    check(kept_way({100, 300, 50}, 9, 20, 120) == 2, "the fastest way is not kept after a while");
    check(kept_way({100, 99, 200}, 9, 0, 120) == 0, "the first way is given up for nothing");
    check(kept_way({100, 50}, 3, 40, 40) == -1, "a way is kept before all are tried");
    check(kept_way({100}, 9, 10, 0) == 0, "a single way is tried");
    tiled::Trials trials;
    trials.begin(2, 3, 0);
    trials.drop(1);
    for (int call = 0; call < 6; ++call) trials.record(trials.next(), 100);
    check(trials.is_settled() && trials.next() == 0, "a way that was left out is tried");
}

// Small arrays in any order on both sides, with bytes between the blocks of both.
void test_permuted_blocks() {
    if (!gather_kernels().permute) return;
    const Int width = Int(1) << pick(0, 3);
    std::vector<Loop> loops;
    Pair bytes{width, width};
    for (Int left = pick(2, 4); left > 0; --left) {
        const Int count = pick(2, 8);
        if (bytes.target * count > max_block_bytes) break;
        loops.push_back({count, {0, bytes.target}});
        bytes.target *= count;
    }
    std::vector<std::size_t> order(loops.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::shuffle(order.begin(), order.end(), random_engine());
    for (const std::size_t k : order) {
        loops[k].step.source = bytes.source;
        bytes.source = bytes.source * loops[k].count + (k == order.back() ? 0 : pick(0, 1) * pick(0, 8));
    }
    const std::optional<tiled::PermutedBlock> block = tiled::find_permuted_block(loops, width);
    if (!block) return;
    const bool nontemporal = block->bytes.target % cache_line == 0 && pick(0, 1);
    const Int unit = nontemporal ? cache_line : 1;
    const Repeat strip{pick(1, 5), block->bytes.source + pick(0, 30), block->bytes.target + unit * pick(0, 2)};
    const Repeat repeat{pick(1, 3), strip.count * strip.source + pick(0, 9),
                        strip.count * strip.target + unit * pick(0, 2)};
    const auto end = [&](Int last, Int step, Int again) {
        return (repeat.count - 1) * again + (strip.count - 1) * step + last;
    };
    const GuardedBytes source(end(block->bytes.source, strip.source, repeat.source));
    const GuardedBytes target(end(block->bytes.target, strip.target, repeat.target), nontemporal);
    Bytes expected = target.copy();
    std::vector<Loop> inside{{repeat.count, {repeat.source, repeat.target}},
                             {strip.count, {strip.source, strip.target}}};
    for (const std::size_t k : block->loops) inside.push_back(loops[k]);
    for (const Pair &at : all_offsets({0, 0}, {{Box{{0, 0}, inside}}}, true))
        std::memcpy(expected.data() + at.target, source.data() + at.source, std::size_t(width));
    gather_kernels().permute(source.data(), target.data(), strip, block->bytes.source, block->bytes.target,
                             block->places, repeat, nontemporal, pick(0, 1) * 4096);
    kernels().store_fence();
    check(target == expected, "blocks of " + std::to_string(block->bytes.source) + " bytes that become " +
                                  std::to_string(block->bytes.target) + ", of elements of " + std::to_string(width));
}

// So many lines of one set stay together as it has ways, and of others any number.
void test_crowded() {
    for (const Cache cache : {Cache{32 << 10, 8}, Cache{48 << 10, 12}, Cache{1 << 20, 16}}) {
        std::vector<Int> offsets;
        for (Int k = 0; k < cache.ways; ++k) {
            offsets.push_back(k * cache.sets() * cache_line);
            offsets.push_back(offsets.back() + cache_line);
        }
        const std::string what = "lines in a cache of " + std::to_string(cache.ways) + " ways";
        check(!is_crowded(cache, offsets.data(), Int(offsets.size())), what + " that stay together");
        offsets.push_back(cache.ways * cache.sets() * cache_line);
        check(is_crowded(cache, offsets.data(), Int(offsets.size())), what + " that do not");
    }
    for (const Cache &cache : {first_level_cache(), second_level_cache()})
        check(cache.sets() > 0 && cache.sets() * cache.ways * cache_line == cache.bytes, "the sets of a cache");
}

}  // namespace

void test_tiled() {
    test_crowded();
    test_trials();
    for (int round = 0; round < 300; ++round) test_permuted_blocks();
    Seen seen;
    for (int round = 0; round < 150; ++round) {
        test_copy(RandomNest(round % 2).dims, round % 2, seen);
        test_copy(random_blocks(), true, seen);
        test_copy(backwards(random_blocks()), false, seen);
        test_converted_copy();
    }
    test_copy(crowded_rows(pick(72, 90), 8192), false, seen);
    // A window over them reads bytes of the source several times.
    std::vector<Dim> windows = crowded_rows(80, 600);
    windows[0][0].loops[0].step.source = 16384;
    for (Dim &dim : windows) dim[0].loops[0].step.target *= 7;
    windows.push_back({Box{{0, 0}, {{7, {1, 1}}}}});
    test_copy(windows, false, seen);
    // Columns that go on from slab to slab; the last one is moved back until it is only a few rows further on.
    for (int round = 0; round < 4; ++round) test_copy(crowded_rows(pick(1281, 1330), pick(900, 1000)), false, seen, 1);
    test_copy(crowded_rows(257 * pick(1, 3), 8192), false, seen, 1);
    for (const Int columns : {1000, 8192})
        test_copy(crowded_rows_with_gaps(pick(300, 700), columns), false, seen, one_of({1, 2}));
    if (kernels().nontemporal_stores) {
        const tiled::TiledProgram program(1, {0, 0}, crowded_rows(75, second_level_cache().bytes), nullptr, {},
                                          {0, true, 0});
        check(!program.passes(false)[0].rows.empty(),
              "rows that share sets of the second-level cache are not collected");
    }
    check(seen.slabs || !kernels().nontemporal_stores, "no copy has slabs");
    check((seen.carried && seen.collected) || !kernels().nontemporal_stores, "no slabs go on");
    check(seen.two_steps, "no copy takes two steps");
    check(seen.gathers || !gather_kernels().gather, "no copy has gathers");
    check(seen.widens || !gather_kernels().widened_transpose, "no copy turns elements as wider ones");
    check(seen.permutes || !gather_kernels().permute, "no copy has permuted blocks");
    check(seen.shifted || !kernels().shifted_transpose[3], "no copy has shifted columns");
}

void test_general() {
    for (int round = 0; round < 100; ++round) test_any_offsets();
}

}  // namespace relayout::tests
