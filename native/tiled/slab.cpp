#include "tiled/slab.h"

#include <algorithm>
#include <utility>

#include "tiled/schedule.h"
#include "tiled/tile_builder.h"
#include "tiled/tile_calls.h"
#include "tiled/tile_shape.h"

namespace relayout::tiled {
namespace {

// Offsets that are about a cache line apart wherever a slab reads, which has all combinations of the loops with one of
// the parts.
std::vector<Int> lines_of(const std::vector<Loop> &loops, const std::vector<Box> &parts, Int width) {
    std::vector<Int> starts;
    Int length = width;
    std::vector<Loop> ordered = loops;
    sort_loops(ordered, source_side);
    // What follows every element of the source is one run with it.
    while (!ordered.empty() && ordered.back().step.source == length) {
        length *= ordered.back().count;
        ordered.pop_back();
    }
    for (const Box &part : parts) {
        std::vector<Int> here{part.offset.source};
        for (const Loop &loop : combine(part, {{0, 0}, ordered}).loops) {
            const std::size_t size = here.size();
            for (Int i = 1; i < loop.count; ++i)
                for (std::size_t k = 0; k < size; ++k) here.push_back(here[k] + i * loop.step.source);
        }
        starts.insert(starts.end(), here.begin(), here.end());
    }
    std::sort(starts.begin(), starts.end());
    std::vector<Int> lines;
    for (const Int start : starts) {
        const Int last = start + length - 1;
        if (!lines.empty() && last - lines.back() < cache_line / 2) continue;
        for (Int at = last - (length - 1) / cache_line * cache_line; at <= last; at += cache_line) lines.push_back(at);
    }
    return lines;
}

// Whether the lines at such offsets do not stay in the second-level cache together.
bool are_crowded(const std::vector<Int> &lines) {
    return is_crowded(second_level_cache(), lines.data(), Int(lines.size()));
}

// The steps of a shape.
std::vector<Loop> loops_of(const std::vector<Loop> &loops, const TileShape &shape) {
    std::vector<Loop> taken;
    for (std::size_t k = 0; k < loops.size(); ++k)
        if (shape.steps[k] > 1) taken.push_back({shape.steps[k], loops[k].step});
    return taken;
}

// Whether runs are read in the order of the source, line by line.
bool reads_in_order(const KernelCall &call) {
    const auto goes_on = [](const Repeat &loop) {
        return loop.source < cache_line && loop.count * loop.source >= cache_line;
    };
    return call.kind == KernelKind::runs && (goes_on(call.strip) || goes_on(call.repeat));
}

// Whether slabs are better than the tiles of this pass, whose rows have `row` contiguous bytes. Where memory is read
// and written in its order, or kernels shift columns into lines, they are not; nor where streams are parted into long
// segments (longer ones if `grouped` of several parts), or where elements of 16 bytes have whole lines of columns, or
// of rows.
bool is_slow(const Pass &direct, Int row, bool grouped) {
    const KernelCall &call = direct.calls[0];
    const Int segments = Int(direct.segments.size()), average = direct.tile_bytes / std::max<Int>(segments, 1);
    if (segments == 1 && direct.loops.size() <= 1 && call.kind == KernelKind::runs) return false;
    if (call.kind == KernelKind::deinterleave) return average < (grouped ? long_segment : min_slab_segment);
    if (average >= page && reads_in_order(call)) return false;
    if (call.kind == KernelKind::runs) return direct.calls.size() <= many_calls || average < long_segment;
    if (call.kind == KernelKind::gather) return true;
    if (call.kind == KernelKind::interleave) return call.width > 0 || average < min_slab_segment;
    if (call.kind == KernelKind::scatter) return true;
    if (call.height << call.width < cache_line) return average < short_segment;
    if (call.width < 2) return true;
    if (direct.shifted) return segments > 1 && call.count << call.width < cache_line && row < cache_line;
    return call.width < 4 || (segments > 1 && call.count << call.width < cache_line);
}

// Lets rows of so many bytes lie side by side: the loops over them, in the order of the source, step from one to the
// next. False where loops inside a row reach beyond it, as windows do, or where there is no room for all rows.
bool collect_rows(Pass &pass, Box &inner, Int width, Int bytes) {
    Int reach = width;
    for (const Loop &loop : inner.loops)
        if (loop.step.source < bytes) reach += (loop.count - 1) * loop.step.source;
    if (reach > bytes) return false;
    pass.row_bytes = reach;
    pass.row_pitch = (reach + cache_line - 1) / cache_line * cache_line + cache_line;
    std::vector<Loop *> over;
    for (Loop &loop : inner.loops)
        if (loop.step.source >= bytes) over.push_back(&loop);
    std::sort(over.begin(), over.end(), [](const Loop *a, const Loop *b) { return a->step.source < b->step.source; });
    std::vector<Loop> rows;
    Int pitch = pass.row_pitch;
    for (Loop *loop : over) {
        rows.push_back(*loop);
        loop->step.source = pitch;
        pitch *= loop->count;
    }
    pass.rows = offsets(rows, source_side);
    return pitch <= max_slab_bytes;
}

// Lets segments go on by the loop with this step. Slabs stay in the order of the source as long as there is room for
// what is carried past the others; else those along the loop follow each other.
void carry(Pass &pass, Pair step) {
    const auto loop =
        std::find_if(pass.loops.begin(), pass.loops.end(), [&](const TileLoop &other) { return other.step == step; });
    Int slabs = 1;
    for (auto inner = loop + 1; inner != pass.loops.end(); ++inner) slabs *= inner->count;
    const bool fits = slabs * Int(pass.segments.size()) * cache_line <= max_carried_bytes;
    if (!fits) std::rotate(loop, loop + 1, pass.loops.end());
    pass.along = fits ? std::size_t(loop - pass.loops.begin()) : pass.loops.size() - 1;
}

}  // namespace

std::optional<Pass> schedule_slabs(const Box &box, int width, const Pass &direct, const Variation &how) {
    return schedule_slabs(box, {Box{}}, width, width, direct, how);
}

std::optional<Pass> schedule_slabs(const Box &box, const std::vector<Box> &parts, Int segment, int width,
                                   const Pass &direct, const Variation &how) {
    if (how.slabs == Use::never) return std::nullopt;
    TileBuilder b(box, how);
    for (const Loop &loop : b.loops)
        if (loop.step.source < 0 || loop.step.target < 0) return std::nullopt;
    const Int limit = slab_limit();
    const KernelCall &call = direct.calls[0];
    const bool turned = call.kind == KernelKind::transpose;
    const auto lengthened = [&](Int row_bytes) {
        TileShape shape(b.loops, {width, segment}, true);
        shape.lengthen(source_side, row_bytes, limit);
        shape.lengthen(target_side, how.segment_bytes, limit);
        for (const int side : {source_side, target_side})
            if (shape.bytes() < min_slab_bytes && !(turned && side == source_side))
                shape.lengthen(side, min_slab_bytes / std::max<Int>(shape.bytes() / shape.contiguous(side), 1),
                               min_slab_bytes);
        return shape;
    };
    const TileShape narrow = lengthened(how.row_bytes);
    const bool collected = parts.size() == 1 && are_crowded(lines_of(loops_of(b.loops, narrow), parts, width));
    Int row_bytes = slab_row;
    while (collected && row_bytes > cache_line && lengthened(row_bytes).contiguous(target_side) < min_slab_segment)
        row_bytes /= 2;
    TileShape shape = collected ? lengthened(row_bytes) : narrow;
    const int row = b.find(source_side, Int(1) << call.width);
    if (how.slabs == Use::by_rule && !collected &&
        !is_slow(direct, row < 0 ? 0 : b.loops[std::size_t(row)].count << call.width, parts.size() > 1))
        return std::nullopt;
    Int length = 0;
    const std::vector<std::size_t> together = shape.chain(target_side, length);
    if (length < min_slab_segment) return std::nullopt;
    if (!together.empty()) {
        const std::size_t k = together.back();
        length /= shape.steps[k];
        shape.steps[k] = even_steps(b.loops[k], shape.steps[k], std::max<Int>(cache_line / length, 1));
        length *= shape.steps[k];
    }
    // Segments lie one behind the other in the staging buffer, an odd number of lines apart, and a line before each is
    // for what is carried from the slab before.
    Int pitch = (length + cache_line - 1) / cache_line * cache_line + cache_line;
    if (pitch / cache_line % 2 == 0) pitch += cache_line;
    Pass &pass = b.pass;
    Box inner{{0, cache_line}, {}};
    std::vector<Segment> segments{{0, cache_line, length}};
    std::optional<Pair> along;
    Int staged = pitch;
    for (std::size_t k = b.loops.size(); k-- > 0;) {
        const Loop &loop = b.loops[k];
        const Int steps = shape.steps[k];
        const bool inside = std::find(together.begin(), together.end(), k) != together.end();
        if (steps < loop.count) {
            pass.loops.push_back({(loop.count + steps - 1) / steps, steps, loop.count, loop.step});
            if (inside) along = loop.step;
        }
        if (steps == 1) continue;
        inner.loops.push_back({steps, {loop.step.source, inside ? loop.step.target : staged}});
        if (inside) continue;
        const std::size_t size = segments.size();
        for (Int i = 1; i < steps; ++i)
            for (std::size_t s = 0; s < size; ++s)
                segments.push_back(
                    {segments[s].target + i * loop.step.target, segments[s].staged + i * staged, length});
        staged *= steps;
    }
    if (staged > max_slab_bytes) return std::nullopt;
    if (collected) {
        if (!collect_rows(pass, inner, width, shape.contiguous(source_side))) return std::nullopt;
    } else {
        pass.lines = lines_of(inner.loops, parts, width);
    }
    Variation staging = how;
    if (turned) staging.tile_bytes = shape.bytes();
    std::optional<Pass> tiles;
    if (parts.size() == 1)
        tiles = schedule(inner, width, true, false, staging);
    else
        tiles = schedule_group(inner, parts, segment, width, true, false, staging);
    if (!tiles) return std::nullopt;
    pass.inner = std::make_shared<const Pass>(std::move(*tiles));
    pass.segments = std::move(segments);
    pass.staged_bytes = staged;
    b.loops.clear();
    Pass made = b.finish(shape.bytes());
    made.whole_lines = made.long_runs = false;
    if (along) carry(made, *along);
    return made;
}

}  // namespace relayout::tiled
