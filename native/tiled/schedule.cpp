#include "tiled/schedule.h"

#include "tiled/tile_builder.h"

namespace relayout {

namespace {

constexpr Int staged_limit = 32768;  // the staging buffer stays in the first-level cache or close to it

// Offsets of all combinations of loops; the first loop is the fastest.
std::vector<Int> offsets(const std::vector<Loop> &loops, Int Loop::*field) {
    std::vector<Int> out{0};
    for (const Loop &loop : loops) {
        const std::size_t size = out.size();
        for (Int i = 1; i < loop.count; ++i)
            for (std::size_t k = 0; k < size; ++k) out.push_back(out[k] + i * (loop.*field));
    }
    return out;
}

std::size_t append(std::vector<Int> &tables, const std::vector<Int> &more) {
    tables.insert(tables.end(), more.begin(), more.end());
    return tables.size() - more.size();
}

Op blank(Kind kind, Int width) {
    Op op{};
    op.kind = kind;
    op.width = log2_of(width);
    op.count = 1;
    op.strip = op.staged_strip = op.repeat = op.staged_repeat = {1, 0, 0};
    return op;
}

// Whether the lines of a block's rows share few sets of the first-level cache, so that none can be read twice.
bool crowded(const std::vector<Int> &rows, Int width) {
    const std::size_t group = std::min(std::size_t(line / width), rows.size());
    int used[64] = {};
    int most = 0;
    for (std::size_t k = 0; k < group; ++k) most = std::max(most, ++used[(rows[k] / line) & 63]);
    return most > 8;
}

// Bytes that stay together.
struct Run {
    Int source, target, length;
};

// Runs that fill `segment` bytes of the target, but for padding between them: strips of each.
Step schedule_runs(Builder b, std::vector<Run> runs, Int segment, bool aligned) {
    Step &step = b.step;
    if (runs.size() == 1 && segment > staged_limit) {
        const Int tile = staged_limit / 2;
        step.outer.push_back({(segment + tile - 1) / tile, tile, segment, 1, 1});
        segment = runs[0].length = tile;
    }
    const Int single = segment;
    const bool masked = runs.size() == 1 && runs[0].target == 0 && runs[0].length < single && kernels().padded_runs &&
                        (single == 16 || single == 32 || single == 64);
    if (masked) step.padded = false;
    const bool staged = !aligned || step.padded;
    const int beside = b.find(&Loop::target, single);
    // Runs that lie a page apart share few sets of the cache: take a line of them, and what is next to them.
    const bool apart = beside >= 0 && single < line && b.loops[std::size_t(beside)].source % 4096 == 0;
    const Int wanted = apart ? line : staged ? 2048 : 256;
    std::vector<Loop> chain = b.chain(&Loop::target, segment, std::min(wanted, Int(max_ops / runs.size()) * single), 1,
                                      {}, tile_bytes);
    Loop strip{1, 0, 0};
    Int staged_step = single;
    Loop repeat{1, 0, 0};
    if (!chain.empty()) {
        // Neighbours in the target go together, so that lines are written whole.
        strip = chain[0];
        chain.erase(chain.begin());
        if (!chain.empty()) {
            repeat = chain[0];
            chain.erase(chain.begin());
        }
        step.segments.push_back({0, 0, segment});
    } else if (!b.loops.empty()) {
        strip = b.take(b.nearest(), std::min<Int>(tile_bytes / single, 256));
        for (Int i = 0; i < strip.count; ++i) step.segments.push_back({i * strip.target, i * single, single});
        segment = single * strip.count;
    } else {
        step.segments.push_back({0, 0, segment});
    }
    const std::vector<Int> s = offsets(chain, &Loop::source), t = offsets(chain, &Loop::target);
    for (std::size_t k = 0; k < s.size(); ++k)
        for (const Run &run : runs) {
            Op op = blank(masked ? Kind::padded_runs : Kind::runs, 1);
            op.length = masked ? single : run.length;
            op.valid = run.length;
            op.source = s[k] + run.source;
            op.target = op.staged = t[k] + run.target;
            op.strip = {strip.count, strip.source, strip.target};
            op.staged_strip = {strip.count, strip.source, staged_step};
            op.repeat = op.staged_repeat = {repeat.count, repeat.source, repeat.target};
            step.ops.push_back(op);
        }
    b.widen(segment, staged ? 16384 : tile_bytes);
    return b.finish(step.staged_bytes);
}

Int tall_enough(Int width, bool aligned) { return aligned ? 256 : (width == 1 ? 512 : 1024); }
Int wide_enough(Int width, bool aligned) { return aligned ? std::min<Int>(line * width, 256) : line; }

void add_segments(Step &step, const std::vector<Int> &places, Int length) {
    for (std::size_t j = 0; j < places.size(); ++j) step.segments.push_back({places[j], Int(j) * length, length});
}

std::vector<Int> multiples(std::size_t count, Int length) {
    std::vector<Int> out(count);
    for (std::size_t j = 0; j < count; ++j) out[j] = Int(j) * length;
    return out;
}

// Rows that are contiguous in the target against columns that are contiguous in the source; false if there are none.
bool schedule_transpose(Builder b, Int width, bool aligned, bool large, Step &result) {
    const int first = b.find(&Loop::target, width), second = b.find(&Loop::source, width);
    if (first < 0 || second < 0 || first == second) return false;
    Step &step = b.step;
    const Loop across = b.loops[std::size_t(second)];
    const Loop along = b.loops[std::size_t(first)];
    // Columns get what a vector needs; rows what they want of the rest; a tile that is short in one direction is longer
    // in the other.
    const std::vector<Loop> spared = b.path(&Loop::source, width, 16, {along});
    const Int narrow = product(width, spared);
    const Int width_room =
        std::min(wide_enough(width, aligned), product(width, b.path(&Loop::source, width, 1024, {along})));
    Int high = width;  // bytes of a column, contiguous in the target
    const bool shifts = large && !aligned && kernels().shifted[log2_of(width)] && width_room >= line;
    const Int tall =
        shifts ? std::min(tile_bytes, 1024 * width) : std::max(tall_enough(width, aligned), tile_bytes / (width_room / width));
    const Int ways = along.source / width;
    const bool few = narrow < 16 && along.source % width == 0 && along.source >= narrow && ways <= 8;
    std::vector<Loop> rows;
    if (few) {
        rows.push_back(b.take(first, tall / width, line / width));
        high = rows[0].count * width;
    } else {
        rows = b.chain(&Loop::target, high, tall, line, spared);
    }
    const std::vector<Int> row_offsets = offsets(rows, &Loop::source);
    const Int height = high / width;
    Op op = blank(Kind::transpose, width);
    op.height = height;
    if (high < 16 && height <= 8 && across.target == high) {
        op.kind = Kind::weave;
        op.count = b.take(b.find(&Loop::source, width), tile_bytes / high, line / width).count;
        op.rows = append(step.tables, row_offsets);
        step.ops.push_back(op);
        step.segments.push_back({0, 0, high * op.count});
        b.widen(high * op.count);
        result = b.finish(step.staged_bytes);
        return true;
    }
    Int wide = width;  // bytes of a row, contiguous in the source
    const Int wanted = std::max(wide_enough(width, aligned), tile_bytes / high * width);
    const std::vector<Loop> columns = b.chain(&Loop::source, wide, wanted, line);
    const std::vector<Int> places = offsets(columns, &Loop::target);
    op.count = wide / width;
    op.columns = append(step.tables, places);
    std::vector<Loop> further;
    if (few) {
        op.kind = Kind::unweave;
        op.valid = op.count;
        op.count = op.height;
        op.height = ways;
        further = b.chain(&Loop::target, high, 256, 1);
        b.in_order = further.size() > 1;
        if (!further.empty()) {
            const Loop next = further[0];
            op.repeat = op.staged_repeat = {next.count, next.source, next.target};
            further.erase(further.begin());
        }
    } else {
        op.rows = append(step.tables, row_offsets);
        // Elements may be joined to wider ones, which columns need not start at a multiple of.
        const auto even = [width](Int place) { return place % width == 0; };
        step.shifted = shifts && high >= 512 && wide >= line && std::all_of(places.begin(), places.end(), even);
        op.scattered = places.size() > 1 && places[1] != high && !crowded(row_offsets, width);
    }
    op.staged_columns = append(step.tables, multiples(places.size(), high));
    const std::vector<Int> s = offsets(further, &Loop::source), t = offsets(further, &Loop::target);
    for (std::size_t k = 0; k < s.size(); ++k) {
        op.source = s[k];
        op.target = op.staged = t[k];
        step.ops.push_back(op);
    }
    add_segments(step, places, high);
    b.widen(high * Int(places.size()));
    result = b.finish(step.staged_bytes);
    return true;
}

// The loops of a part that fills a contiguous range, the fastest of the target first.
std::vector<Loop> inside_out(const Box &part) {
    std::vector<Loop> loops = merged(part.loops);
    std::reverse(loops.begin(), loops.end());
    return loops;
}

// Parts side by side in the target, as runs; false if some part is no run.
bool as_runs(const std::vector<Box> &parts, Int width, std::vector<Run> &runs) {
    for (const Box &part : parts) {
        if (!part.valid) continue;
        std::vector<Loop> loops = inside_out(part);
        Int length = width;
        if (!loops.empty() && loops[0].target == width) {
            if (loops[0].source != width) return false;
            length = loops[0].count * width;
            loops.erase(loops.begin());
        }
        const std::vector<Int> s = offsets(loops, &Loop::source), t = offsets(loops, &Loop::target);
        for (std::size_t k = 0; k < s.size(); ++k)
            runs.push_back({part.source + s[k], part.target + t[k], length});
        if (runs.size() > max_ops) return false;
    }
    return true;
}

// Parts side by side in the target, each with rows of its own.
bool schedule_parts(Builder b, const std::vector<Box> &parts, Int segment, Int width, Step &result) {
    const int across = b.find(&Loop::source, width);
    if (across < 0 || width > 8) return false;
    Step &step = b.step;
    Int wide = width;
    const std::vector<Loop> columns =
        b.chain(&Loop::source, wide, std::max(line, std::min<Int>(tile_bytes / segment * width, 1024)), line);
    const std::vector<Int> places = offsets(columns, &Loop::target);
    const std::size_t direct = append(step.tables, places);
    const std::size_t staged = append(step.tables, multiples(places.size(), segment));
    for (const Box &part : parts) {
        if (!part.valid) continue;
        std::vector<Loop> loops = inside_out(part);
        Op op = blank(Kind::transpose, width);
        op.source = part.source;
        op.target = op.staged = part.target;
        op.columns = direct;
        op.staged_columns = staged;
        op.count = wide / width;
        if (wide < 16 && !loops.empty() && loops[0].source >= wide && loops[0].source % width == 0 &&
            loops[0].source / width <= 8) {
            op.kind = Kind::unweave;
            op.valid = op.count;
            op.height = loops[0].source / width;
            op.count = loops[0].count;
            loops.erase(loops.begin());
            const std::vector<Int> s = offsets(loops, &Loop::source), t = offsets(loops, &Loop::target);
            for (std::size_t k = 0; k < s.size(); ++k) {
                Op more = op;
                more.source += s[k];
                more.target += t[k];
                more.staged += t[k];
                step.ops.push_back(more);
            }
            if (step.ops.size() > max_ops) return false;
            continue;
        }
        const std::vector<Int> rows = offsets(loops, &Loop::source);
        op.height = Int(rows.size());
        op.rows = append(step.tables, rows);
        step.ops.push_back(op);
    }
    add_segments(step, places, segment);
    b.widen(segment * (wide / width));
    result = b.finish(step.staged_bytes);
    return true;
}

Step schedule_scatter(Builder b, Int width) {
    Op op = blank(Kind::scatter, width);
    if (!b.loops.empty()) {
        const Loop inner = b.take(int(b.loops.size()) - 1, tile_bytes);
        op.strip = {inner.count, inner.source, inner.target};
        op.staged_strip = {inner.count, inner.source, width};
    }
    for (Int i = 0; i < op.strip.count; ++i) b.step.segments.push_back({i * op.strip.target, i * width, width});
    b.step.staged_bytes = width * op.strip.count;
    b.step.ops.push_back(op);
    return b.finish(b.step.staged_bytes);
}

}  // namespace

bool schedule_group(const Piece &piece, Int segment, int width, bool aligned, Step &result) {
    if (segment > staged_limit / 4) return false;
    Builder b(piece.source, piece.target, merged(piece.loops));
    for (const Box &part : piece.parts)
        if (!part.valid) b.step.padded = true;
    std::vector<Run> runs;
    if (!as_runs(piece.parts, width, runs)) return schedule_parts(std::move(b), piece.parts, segment, width, result);
    result = schedule_runs(b, runs, segment, aligned);
    if (aligned && !result.streams) result = schedule_runs(std::move(b), std::move(runs), segment, false);
    return true;
}

Step schedule(const Piece &piece, int width, bool aligned, bool large) {
    Builder b(piece.source, piece.target, merged(piece.loops));
    Int unit = width;
    for (std::size_t k = 0; k < b.loops.size(); ++k) {
        const Loop loop = b.loops[k];
        if (loop.source != width || loop.target != width) continue;
        unit = loop.count * width;
        b.loops.erase(b.loops.begin() + Int(k));
        break;
    }
    Step step;
    if (unit >= 16 || !is_width(unit))
        step = schedule_runs(b, {{0, 0, unit}}, unit, aligned);
    else if (!schedule_transpose(b, unit, aligned, large, step))
        return schedule_scatter(std::move(b), unit);
    return aligned && !step.streams ? schedule(piece, width, false, large) : step;
}

Step schedule_fill(const Piece &piece, int width) {
    // Without a source, loops merge by the target alone.
    std::vector<Loop> loops = piece.loops;
    for (Loop &loop : loops) loop.source = loop.target;
    Builder b(0, piece.target, merged(std::move(loops)));
    Op op = blank(Kind::fill, 1);
    op.length = width;
    const int run = b.find(&Loop::target, width);
    if (run >= 0) op.length = width * b.take(run, (1 << 20) / width, 16).count;
    if (!b.loops.empty()) {
        const Loop loop = b.take(int(b.loops.size()) - 1, 64);
        op.strip = {loop.count, 0, loop.target};
    }
    b.step.ops.push_back(op);
    Step step = b.finish(op.length * op.strip.count);
    for (Outer &outer : step.outer) outer.source = 0;
    return step;
}

}  // namespace relayout
