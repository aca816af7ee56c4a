#include "tiled/schedule.h"

#include "tiled/gather.h"
#include "tiled/tile_builder.h"

namespace relayout::tiled {
namespace {

constexpr Int vector_bytes = 16;  // of the lanes that kernels shuffle in
constexpr Int page = 4096;        // rows so far apart share sets of the first-level cache

// Offsets of all combinations of loops; the first loop is the fastest.
std::vector<Int> offsets(const std::vector<Loop> &loops, int side) {
    std::vector<Int> out{0};
    for (const Loop &loop : loops) {
        const std::size_t size = out.size();
        for (Int i = 1; i < loop.count; ++i)
            for (std::size_t k = 0; k < size; ++k) out.push_back(out[k] + i * loop.step[side]);
    }
    return out;
}

std::size_t append(std::vector<Int> &tables, const std::vector<Int> &more) {
    tables.insert(tables.end(), more.begin(), more.end());
    return tables.size() - more.size();
}

KernelCall make_call(KernelKind kind, Int width) {
    KernelCall call{};
    call.kind = kind;
    call.width = log2_of(width);
    call.count = 1;
    call.strip = call.staged_strip = call.repeat = call.staged_repeat = {1, 0, 0};
    return call;
}

// How many ways the kernels interleave, and part, in rows of so many bytes.
Int max_ways(Int width, Int row) { return width == 1 && row >= cache_line && kernels().parts_wide[0] ? 15 : 8; }

// Bytes that stay together.
struct ByteRun {
    Int source, target, length;
};

// Runs that fill `segment` bytes of the target, but for padding between them: strips of each.
Pass schedule_runs(TileBuilder b, std::vector<ByteRun> runs, Int segment, bool aligned) {
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
    // Of runs that lie a page apart, take a line, and what is next to them.
    const bool apart = beside >= 0 && single < cache_line && b.loops[std::size_t(beside)].step.source % page == 0;
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
            KernelCall call = make_call(masked ? KernelKind::padded_runs : KernelKind::runs, 1);
            call.length = masked ? single : run.length;
            call.valid = run.length;
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

Int tall_enough(Int width, bool aligned) { return aligned ? tall_aligned : width == 1 ? tall_bytes : tall_unaligned; }
Int wide_enough(Int width, bool aligned) { return aligned ? std::min(cache_line * width, tall_aligned) : cache_line; }

std::vector<Int> multiples(std::size_t count, Int length) {
    std::vector<Int> out(count);
    for (std::size_t j = 0; j < count; ++j) out[j] = Int(j) * length;
    return out;
}

// The call's columns go to these places in the target, one behind the other in the staging buffer; each has `length`
// bytes.
void add_columns(Pass &pass, KernelCall &call, const std::vector<Int> &places, Int length) {
    call.columns = append(pass.tables, places);
    call.staged_columns = append(pass.tables, multiples(places.size(), length));
    for (std::size_t j = 0; j < places.size(); ++j) pass.segments.push_back({places[j], Int(j) * length, length});
}

// Once for each combination of loops, which go on in the target as in the staging buffer.
void add_calls(Pass &pass, KernelCall call, const std::vector<Loop> &loops) {
    const std::vector<Int> s = offsets(loops, source_side), t = offsets(loops, target_side);
    for (std::size_t k = 0; k < s.size(); ++k) {
        KernelCall one = call;
        one.source += s[k];
        one.target += t[k];
        one.staged += t[k];
        pass.calls.push_back(one);
    }
}

// Elements of a few rows take turns in the target, `high` bytes of one of each.
Pass schedule_interleave(TileBuilder b, const std::vector<Loop> &rows, Int high, Int width) {
    KernelCall call = make_call(KernelKind::interleave, width);
    call.height = high / width;
    call.count = b.take(b.find(source_side, width), b.how.tile_bytes / high, cache_line / width).count;
    call.rows = append(b.pass.tables, offsets(rows, source_side));
    b.pass.calls.push_back(call);
    b.pass.segments.push_back({0, 0, high * call.count});
    b.widen(high * call.count);
    return b.finish(b.pass.staged_bytes);
}

// The loops that go on where a row of the source ends, for columns of `high` bytes, with `least` bytes of each row.
std::vector<Loop> take_columns(TileBuilder &b, Int high, Int width, Int least) {
    Int wide = width;
    return b.chain(source_side, wide, std::max(least, b.how.tile_bytes / high * width), cache_line);
}

// Every element of `ways` in the source goes to a column of its own, as far as there are columns.
Pass schedule_deinterleave(TileBuilder b, Int ways, Int high, Int width, Int wanted) {
    KernelCall call = make_call(KernelKind::deinterleave, width);
    const std::vector<Int> places = offsets(take_columns(b, high, width, wanted), target_side);
    call.valid = Int(places.size());
    call.count = high / width;
    call.height = ways;
    std::vector<Loop> further = b.chain(target_side, high, tall_aligned, 1);
    b.in_order = further.size() > 1;
    if (!further.empty()) {
        call.repeat = call.staged_repeat = as_repeat(further[0]);
        further.erase(further.begin());
    }
    add_columns(b.pass, call, places, high);
    add_calls(b.pass, call, further);
    b.widen(high * Int(places.size()));
    return b.finish(b.pass.staged_bytes);
}

// Rows of the source become columns of `high` bytes, with `wanted` bytes of each row.
Pass schedule_columns(TileBuilder b, const std::vector<Loop> &rows, Int high, Int width, Int wanted, bool nontemporal) {
    KernelCall call = make_call(KernelKind::transpose, width);
    const std::vector<Int> row_offsets = offsets(rows, source_side);
    std::vector<Loop> across = take_columns(b, high, width, wanted);
    const std::vector<Int> places = offsets(across, target_side);
    const Int block = std::min(Int(row_offsets.size()), cache_line / width);
    call.height = high / width;
    call.count = Int(places.size());
    call.rows = append(b.pass.tables, row_offsets);
    call.scattered = places.size() > 1 && places[1] != high && !is_crowded(row_offsets.data(), block);
    add_columns(b.pass, call, places, high);
    // Columns that lie equally far apart go together.
    if (!nontemporal && across.size() > 1 && across[0].count * width >= 2 * cache_line &&
        call.count <= across[0].count * max_column_calls) {
        call.count = across[0].count;
        across.erase(across.begin());
        const std::vector<Int> s = offsets(across, source_side), t = offsets(across, target_side);
        for (std::size_t k = 0; k < s.size(); ++k) {
            call.source = s[k];
            call.target = t[k];
            call.staged = Int(k) * call.count * high;
            b.pass.calls.push_back(call);
        }
    } else {
        b.pass.calls.push_back(call);
    }
    b.widen(high * Int(places.size()));
    return b.finish(b.pass.staged_bytes);
}

// Whether rows of a vector and more are parted as well as shorter ones.
bool parts_wide(const Loop &along, Int width) {
    return width < vector_bytes && kernels().parts_wide[log2_of(width)] && along.count * width >= cache_line;
}

// Rows that are contiguous in the target against columns that are contiguous in the source; none if there are none.
std::optional<Pass> schedule_transpose(TileBuilder b, Int width, bool aligned, bool nontemporal) {
    const int first = b.find(target_side, width), second = b.find(source_side, width);
    if (first < 0 || second < 0 || first == second) return std::nullopt;
    const Loop across = b.loops[std::size_t(second)];
    const Loop along = b.loops[std::size_t(first)];
    // Columns get what a vector needs; rows what they want of the rest; a tile that is short in one direction is longer
    // in the other.
    const std::vector<Loop> spared = b.path(source_side, width, vector_bytes, {along});
    const Int narrow = product(width, spared);
    const Int width_room =
        std::min(wide_enough(width, aligned), product(width, b.path(source_side, width, tall_unaligned, {along})));
    const Int tall =
        std::max({tall_enough(width, aligned), b.how.column_bytes, b.how.tile_bytes / (width_room / width)});
    const Int ways = along.step.source / width;
    const bool shuffled = width < vector_bytes;
    const bool few = shuffled && (narrow < vector_bytes || parts_wide(along, width)) &&
                     along.step.source % width == 0 && along.step.source >= narrow &&
                     ways <= max_ways(width, along.count * width);
    Int high = width;  // bytes of a column, contiguous in the target
    std::vector<Loop> rows;
    if (few) {
        rows.push_back(b.take(first, tall / width, cache_line / width));
        high *= rows[0].count;
    } else {
        rows = b.chain(target_side, high, tall, cache_line, spared);
    }
    // Non-temporal stores of wider columns are as good, and rows of less than a vector are better parted.
    const bool woven = b.how.weaves && shuffled && !nontemporal && !few && across.count * width >= vector_bytes;
    if ((high < vector_bytes || woven) && across.step.target == high &&
        high / width <= max_ways(width, across.count * width))
        return schedule_interleave(std::move(b), rows, high, width);
    if (few) return schedule_deinterleave(std::move(b), ways, high, width, wide_enough(width, aligned));
    return schedule_columns(std::move(b), rows, high, width, wide_enough(width, aligned), nontemporal);
}

// The same by kernels that write whole lines wherever columns start; none where rows or columns are short.
std::optional<Pass> schedule_shifted(TileBuilder b, Int width, bool aligned) {
    const int first = b.find(target_side, width), second = b.find(source_side, width);
    if (first < 0 || second < 0 || first == second) return std::nullopt;
    const Loop along = b.loops[std::size_t(first)], across = b.loops[std::size_t(second)];
    const std::vector<Loop> spared = b.path(source_side, width, cache_line, {along});
    const Int row = product(width, spared), ways = along.step.source / width;
    // Rows of a few elements, one behind the other, are parted.
    const bool few = along.step.source % width == 0 && along.step.source >= row && ways <= max_ways(width, 0);
    const int log = log2_of(width);
    if (few ? log > 3 || !kernels().shifted_deinterleave[log]
            : aligned || row < cache_line || !kernels().shifted_transpose[log])
        return std::nullopt;
    Int high = width;
    std::vector<Loop> rows;
    if (few)
        rows.push_back(b.take(first, parted_column / width, cache_line / width));
    else
        rows = b.chain(target_side, high, shifted_rows * width, cache_line, spared);
    if (b.cut) b.share_lines(rows.back());
    high = product(width, rows);
    if (high < (across.step.target == high ? joined_column : long_run)) return std::nullopt;
    Pass pass = few ? schedule_deinterleave(std::move(b), ways, high, width, along.step.source)
                    : schedule_columns(std::move(b), rows, high, width, shifted_row, true);
    // Elements may be joined to wider ones, which columns need not start at a multiple of.
    pass.shifted = std::all_of(pass.segments.begin(), pass.segments.end(),
                               [width](const Segment &s) { return s.target % width == 0; });
    return pass.shifted ? std::optional<Pass>(std::move(pass)) : std::nullopt;
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
        const Loop inner = b.take(int(b.loops.size()) - 1, b.how.tile_bytes);
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
    std::optional<Pass> pass;
    if (is_width(unit) && nontemporal) pass = schedule_shifted(b, unit, aligned);
    // In the cache columns of 16-byte elements read each line once, where runs read it for each of its elements.
    if (!pass && unit == vector_bytes && !nontemporal && how.turns_wide)
        pass = schedule_transpose(b, unit, aligned, nontemporal);
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
