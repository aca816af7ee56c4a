#include "tiled/schedule.h"

#include "tiled/gather.h"
#include "tiled/permuted_blocks.h"
#include "tiled/tile_calls.h"
#include "tiled/transposes.h"

namespace relayout::tiled {
namespace {

// Whether the lines at the steps of a loop in the source do not stay in the first-level cache together, though they are
// few, or would not with those of others.
bool are_crowded(const Loop &loop) {
    const std::vector<Int> steps = multiples(std::size_t(std::min<Int>(loop.count, 64)), std::llabs(loop.step.source));
    return loop.step.source % page == 0 || is_crowded(steps.data(), Int(steps.size()));
}

// Bytes that stay together.
struct ByteRun {
    Int source, target, length;
};

// Runs that fill `segment` bytes of the target, but for padding between them: strips of each. A single one may be a
// block.
Pass schedule_runs(TileBuilder b, std::vector<ByteRun> runs, Int segment, bool aligned,
                   const PermutedBlock *block = nullptr) {
    Pass &pass = b.pass;
    if (runs.size() == 1 && segment > max_staged_run) {
        const Int tile = std::min(b.how.run_bytes, segment);
        pass.loops.push_back({(segment + tile - 1) / tile, tile, segment, {1, 1}});
        segment = runs[0].length = tile;
    }
    const Int single = segment;
    const bool masked = runs.size() == 1 && runs[0].target == 0 && runs[0].length < single && kernels().padded_runs &&
                        (single == 16 || single == 32 || single == 64);
    if (masked) pass.padded = false;
    const bool staged = !aligned || pass.padded;
    const int beside = b.find(target_side, single);
    // Of runs that share sets of the cache, take a line, and what is next to them.
    const bool apart = beside >= 0 && single < cache_line && are_crowded(b.loops[std::size_t(beside)]);
    const Int wanted = apart ? cache_line : staged ? strip_staged : strip_aligned;
    // Of many runs that go on where they end, take several lines before the next: such lines may be in one set of a
    // cache.
    const Int near = beside >= 0 ? std::llabs(b.loops[std::size_t(beside)].step.source) : 0;
    const bool along = !aligned && runs.size() > few_runs && near > 0 && near < cache_line;
    const Int longest = along ? std::min(std::max(b.how.tile_bytes, along_bytes / near * single), max_staged_run) : 0;
    const Int most = std::max(std::min(wanted, Int(max_calls / runs.size()) * single), longest);
    std::vector<Loop> chain = b.chain(target_side, segment, most, 1, {}, std::max(b.how.tile_bytes, longest));
    Loop strip{1, {0, 0}}, repeat{1, {0, 0}};
    if (!chain.empty()) {
        // Neighbours in the target go together, so that lines are written whole.
        strip = chain[0];
        chain.erase(chain.begin());
        if (!chain.empty()) {
            repeat = chain[0];
            chain.erase(chain.begin());
        }
        pass.segments.push_back({0, 0, segment});
    } else if (!b.loops.empty()) {
        strip = b.take(b.nearest(), std::min<Int>(b.how.tile_bytes / single, 256));
        for (Int i = 0; i < strip.count; ++i) pass.segments.push_back({i * strip.step.target, i * single, single});
        segment = single * strip.count;
    } else {
        pass.segments.push_back({0, 0, segment});
    }
    const std::vector<Int> s = offsets(chain, source_side), t = offsets(chain, target_side);
    for (std::size_t k = 0; k < s.size(); ++k)
        for (const ByteRun &run : runs) {
            KernelCall call = make_call(block    ? KernelKind::permute
                                        : masked ? KernelKind::padded_runs
                                                 : KernelKind::runs,
                                        1);
            call.length = masked ? single : run.length;
            call.valid = block ? block->bytes.source : run.length;
            call.source = s[k] + run.source;
            call.target = call.staged = t[k] + run.target;
            call.strip = as_repeat(strip);
            call.staged_strip = {strip.count, strip.step.source, single};
            call.repeat = call.staged_repeat = as_repeat(repeat);
            pass.calls.push_back(call);
        }
    b.widen(segment, staged ? staged_tile_bytes : b.how.tile_bytes);
    return b.finish(pass.staged_bytes);
}

// Blocks whose bytes are permuted.
Pass schedule_block(TileBuilder b, const PermutedBlock &block, bool aligned) {
    std::vector<Loop> around;
    for (std::size_t k = 0; k < b.loops.size(); ++k)
        if (std::find(block.loops.begin(), block.loops.end(), k) == block.loops.end()) around.push_back(b.loops[k]);
    b.loops = std::move(around);
    b.pass.block = std::make_shared<const BlockPlaces>(block.places);
    return schedule_runs(std::move(b), {{0, 0, block.bytes.target}}, block.bytes.target, aligned, &block);
}

// The loops of a part that fills a contiguous range, the fastest of the target first.
std::vector<Loop> fastest_first(const Box &part) {
    std::vector<Loop> loops = merge_loops(part).loops;
    std::reverse(loops.begin(), loops.end());
    return loops;
}

// Parts side by side in the target, as runs; none if some part is no run.
std::optional<std::vector<ByteRun>> as_runs(const std::vector<Box> &parts, Int width) {
    std::vector<ByteRun> runs;
    for (const Box &part : parts) {
        if (!part.valid) continue;
        std::vector<Loop> loops = fastest_first(part);
        Int length = width;
        if (!loops.empty() && loops[0].step.target == width) {
            if (loops[0].step.source != width) return std::nullopt;
            length = loops[0].count * width;
            loops.erase(loops.begin());
        }
        const std::vector<Int> s = offsets(loops, source_side), t = offsets(loops, target_side);
        for (std::size_t k = 0; k < s.size(); ++k)
            runs.push_back({part.offset.source + s[k], part.offset.target + t[k], length});
        if (runs.size() > max_calls) return std::nullopt;
    }
    return runs;
}

// Whether what follows most runs in the source goes to other places, so that a transpose reads each line once.
bool are_columns(const TileBuilder &b, const std::vector<ByteRun> &runs) {
    Int longest = 0;
    for (const ByteRun &run : runs) longest = std::max(longest, run.length);
    const auto whole = [longest](const ByteRun &run) { return run.length == longest; };
    return longest < vector_bytes && is_width(longest) && b.find(source_side, longest) >= 0 &&
           std::count_if(runs.begin(), runs.end(), whole) > 2;
}

// Parts side by side in the target, each with rows of its own.
std::optional<Pass> schedule_parts(TileBuilder b, const std::vector<Box> &parts, Int segment, Int width) {
    const int across = b.find(source_side, width);
    if (across < 0 || width > 8) return std::nullopt;
    Pass &pass = b.pass;
    Int wide = width;
    const Int wanted = std::max(cache_line, std::min(b.how.tile_bytes / segment * width, tall_unaligned));
    const std::vector<Int> places = offsets(b.chain(source_side, wide, wanted, cache_line), target_side);
    KernelCall whole = make_call(KernelKind::transpose, width);
    whole.count = Int(places.size());
    add_columns(pass, whole, places, segment);
    for (const Box &part : parts) {
        if (!part.valid) continue;
        std::vector<Loop> loops = fastest_first(part);
        KernelCall call = whole;
        call.source = part.offset.source;
        call.target = call.staged = part.offset.target;
        const Int apart = loops.empty() ? 0 : loops[0].step.source;
        if (wide < vector_bytes && !loops.empty() && apart >= wide && apart % width == 0 &&
            apart / width <= max_ways(width, 0)) {
            call.kind = KernelKind::deinterleave;
            call.valid = whole.count;
            call.height = apart / width;
            call.count = loops[0].count;
            loops.erase(loops.begin());
            add_calls(pass, call, loops);
            if (pass.calls.size() > max_calls) return std::nullopt;
            continue;
        }
        const std::vector<Int> rows = offsets(loops, source_side);
        call.height = Int(rows.size());
        call.rows = append(pass.tables, rows);
        pass.calls.push_back(call);
    }
    b.widen(segment * whole.count);
    return b.finish(pass.staged_bytes);
}

// About how many bytes a kernel moves in a nanosecond where it has little at once.
double speed_of(const KernelCall &call) {
    const double width = double(1 << call.width), calls = double(call.strip.count * call.repeat.count);
    const Int row = call.count << call.width, column = call.height << call.width, narrow = std::min(row, column);
    switch (call.kind) {
        case KernelKind::runs:
            if (call.length >= vector_bytes) break;
            return double(call.length) * calls / (calls * run_cost + call_cost);
        case KernelKind::transpose:
            if (row == vector_bytes && column == vector_bytes) return row_speed;
            if (narrow >= vector_bytes) break;
            if (turns_narrow(call) && call.in_blocks) return double(row) * narrow_row_speed;
            if (narrow < vector_bytes / 2) return width * element_speed;
            return width * (column < cache_line ? short_column_speed : narrow_speed);
        case KernelKind::interleave:
            if (row >= cache_line) break;
            return row < vector_bytes ? short_row_speed : row % vector_bytes ? row_speed : vector_row_speed;
        case KernelKind::deinterleave:
            if (row >= cache_line) break;
            return row < vector_bytes ? width * element_speed : row % vector_bytes ? row_speed : vector_row_speed;
        case KernelKind::scatter: return width * element_speed;
        default: break;
    }
    return unknown_speed;
}

// The same for all kernels of a tile.
double speed_of(const Pass &pass) {
    double bytes = 0, time = 0;
    bool known = false;
    for (const KernelCall &call : pass.calls) {
        const double speed = speed_of(call);
        const Int ways = call.kind == KernelKind::deinterleave ? call.valid : std::max<Int>(call.height, 1);
        const Int moved =
            call.length ? call.length * call.strip.count : (ways * call.count * call.strip.count) << call.width;
        bytes += double(moved * call.repeat.count);
        time += double(moved * call.repeat.count) / std::min(speed, max_gather_speed);
        known = known || speed < unknown_speed;
    }
    return known ? bytes / time : unknown_speed;
}

Pass schedule_scatter(TileBuilder b, Int width) {
    KernelCall call = make_call(KernelKind::scatter, width);
    if (!b.loops.empty()) {
        // Where other elements of a line go elsewhere, it is still in the cache when their turn comes.
        const int last = int(b.loops.size()) - 1, near = b.nearest();
        const bool shared = near != last && std::llabs(b.loops[std::size_t(near)].step.source) < cache_line;
        const Loop inner = b.take(last, shared ? scattered_column / width : b.how.tile_bytes);
        call.strip = as_repeat(inner);
        call.staged_strip = {inner.count, inner.step.source, width};
    }
    for (Int i = 0; i < call.strip.count; ++i) b.pass.segments.push_back({i * call.strip.target, i * width, width});
    b.pass.calls.push_back(call);
    b.widen(width * call.strip.count);
    return b.finish(b.pass.staged_bytes);
}

}  // namespace

std::optional<Pass> schedule_group(const Box &box, const std::vector<Box> &parts, Int segment, int width, bool aligned,
                                   bool large, const Variation &how) {
    if (segment > max_staged_run / 4) return std::nullopt;
    TileBuilder b(box, how);
    for (const Box &part : parts)
        if (!part.valid) b.pass.padded = true;
    const std::optional<std::vector<ByteRun>> runs = as_runs(parts, width);
    std::optional<Pass> pass;
    if (!runs) {
        pass = schedule_parts(b, parts, segment, width);
    } else if (large || !are_columns(b, *runs)) {
        pass = schedule_runs(b, *runs, segment, aligned);
        if (aligned && !pass->whole_lines) pass = schedule_runs(b, *runs, segment, false);
    }
    if (!pass && runs) return std::nullopt;
    // Lines of large targets that are written in parts take longest.
    double speed = min_block_speed;
    if (pass) {
        pass->speed = speed_of(*pass);
        if (pass->calls[0].length >= vector_bytes) return pass;
        if (!large || segment >= cache_line) speed = pass->speed;
    }
    std::optional<Pass> gathered = schedule_gather({b.pass.offset, b.loops}, parts, segment, width, speed, how);
    if (!gathered) return pass;
    gathered->padded = large && !(aligned && gathered->whole_lines);
    return gathered;
}

Pass schedule(const Box &box, int width, bool aligned, bool nontemporal, const Variation &how) {
    TileBuilder b(box, how);
    Int unit = width;
    for (std::size_t k = 0; k < b.loops.size(); ++k) {
        const Loop loop = b.loops[k];
        if (!(loop.step == Pair{width, width})) continue;
        unit = loop.count * width;
        b.loops.erase(b.loops.begin() + Int(k));
        break;
    }
    if (how.gathers != Use::never) {
        TileBuilder joined = b;
        if (const std::optional<BlockShare> share = find_block_share(b.loops, unit))
            joined.part(share->loop, share->steps);
        if (const std::optional<PermutedBlock> block = find_permuted_block(joined.loops, unit)) {
            Pass pass = schedule_block(joined, *block, aligned);
            return aligned && !pass.whole_lines ? schedule_block(joined, *block, false) : pass;
        }
    }
    std::optional<Pass> pass;
    if (is_width(unit) && nontemporal) pass = schedule_shifted(b, unit, aligned);
    // In the cache columns of 16-byte elements read each line once, where runs read it for each of its elements.
    if (!pass && unit == vector_bytes && !nontemporal) pass = schedule_transpose(b, unit, aligned, nontemporal);
    if (!pass) pass = schedule_widened(b, unit);
    if (!pass && (unit >= vector_bytes || !is_width(unit)))
        pass = schedule_runs(b, {{0, 0, unit}}, unit, aligned);
    else if (!pass)
        pass = schedule_transpose(b, unit, aligned, nontemporal);
    if (!pass) pass = schedule_scatter(b, unit);
    pass->speed = speed_of(*pass);
    if (std::optional<Pass> gathered = schedule_gather({b.pass.offset, b.loops}, {Box{}}, unit, unit, pass->speed, how))
        return *gathered;
    if (pass->calls[0].kind == KernelKind::scatter) return *pass;
    return aligned && !pass->whole_lines ? schedule(box, width, false, nontemporal, how) : *pass;
}

Pass schedule_fill(const Box &box, int width) {
    // Without a source, loops merge by the target alone.
    Box padding{{0, box.offset.target}, box.loops, false};
    for (Loop &loop : padding.loops) loop.step.source = loop.step.target;
    TileBuilder b(padding);
    KernelCall call = make_call(KernelKind::fill, 1);
    call.length = width;
    const int run = b.find(target_side, width);
    if (run >= 0) call.length = width * b.take(run, (1 << 20) / width, 16).count;
    const auto take = [&] {
        if (b.loops.empty()) return Repeat{1, 0, 0};
        const Loop loop = b.take(int(b.loops.size()) - 1, std::max<Int>(min_tile_bytes / call.length, 64));
        return Repeat{loop.count, 0, loop.step.target};
    };
    call.strip = take();
    if (call.length <= cache_line) call.repeat = take();
    b.pass.calls.push_back(call);
    Pass pass = b.finish(call.length * call.strip.count * call.repeat.count);
    for (TileLoop &loop : pass.loops) loop.step.source = 0;
    return pass;
}

}  // namespace relayout::tiled
