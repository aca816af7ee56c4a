#include "tiled/transposes.h"

#include "tiled/tile_calls.h"

namespace relayout::tiled {
namespace {

Int tall_enough(Int width, bool aligned) { return aligned ? tall_aligned : width == 1 ? tall_bytes : tall_unaligned; }
Int wide_enough(Int width, bool aligned) { return aligned ? std::min(cache_line * width, tall_aligned) : cache_line; }

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

// As many bytes of each row as there can be of columns that stay in the cache together.
std::vector<Loop> take_long_rows(TileBuilder &b, Int high, Int width, Int least) {
    for (Int row = long_row_bytes; row > least; row /= 2) {
        TileBuilder longer = b;
        std::vector<Loop> across = take_columns(longer, high, width, row);
        const std::vector<Int> places = offsets(across, target_side);
        if (is_crowded(places.data(), Int(places.size()))) continue;
        b = std::move(longer);
        return across;
    }
    return take_columns(b, high, width, least);
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
    if (!nontemporal && are_rows_crowded(row_offsets.data(), Int(row_offsets.size()), log2_of(width)))
        wanted = std::max(wanted, collected_row);
    const bool long_rows = b.how.long_rows || is_crowded(row_offsets.data(), Int(row_offsets.size()));
    std::vector<Loop> across = !nontemporal && width > 1 && long_rows ? take_long_rows(b, high, width, wanted)
                                                                      : take_columns(b, high, width, wanted);
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

}  // namespace

std::optional<Pass> schedule_transpose(TileBuilder b, Int width, bool aligned, bool nontemporal) {
    const int first = b.find(target_side, width), second = b.find(source_side, width);
    if (first < 0 || second < 0 || first == second) return std::nullopt;
    const Loop across = b.loops[std::size_t(second)];
    const Loop along = b.loops[std::size_t(first)];
    // Columns get what a vector needs, or a line in the cache where rows have enough; rows what they want of the rest;
    // a tile that is short in one direction is longer in the other.
    const bool long_enough = !nontemporal && along.count * width >= tall_aligned;
    const Int least_row = std::max(long_enough ? cache_line : vector_bytes, 2 * width);
    const std::vector<Loop> spared = b.path(source_side, width, least_row, {along});
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

std::optional<Pass> schedule_widened(TileBuilder b, Int element) {
    if (!gather_kernels().widened_transpose || element > 7 || is_width(element)) return std::nullopt;
    const int first = b.find(target_side, element), second = b.find(source_side, element);
    if (first < 0 || second < 0 || first == second) return std::nullopt;
    const Loop along = b.loops[std::size_t(first)];
    const std::vector<Loop> spared = b.path(source_side, element, vector_bytes, {along});
    if (std::min(along.count * element, product(element, spared)) < vector_bytes) return std::nullopt;
    Int high = element, wide = element;
    const std::vector<Loop> rows = b.chain(target_side, high, widened_column, cache_line, spared);
    const Int wanted = std::max(cache_line, b.how.tile_bytes / high * element);
    const std::vector<Int> places = offsets(b.chain(source_side, wide, wanted, cache_line), target_side);
    const std::vector<Int> row_offsets = offsets(rows, source_side);
    KernelCall call = make_call(KernelKind::widened_transpose, 1);
    call.length = element;
    call.height = Int(row_offsets.size());
    call.count = Int(places.size());
    call.rows = append(b.pass.tables, row_offsets);
    add_columns(b.pass, call, places, high);
    b.pass.calls.push_back(call);
    b.widen(high * call.count);
    return b.finish(b.pass.staged_bytes);
}

std::optional<Pass> schedule_shifted(TileBuilder b, Int width, bool aligned) {
    const int first = b.find(target_side, width), second = b.find(source_side, width);
    if (first < 0 || second < 0 || first == second) return std::nullopt;
    const Loop along = b.loops[std::size_t(first)];
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
    if (high < (width < vector_bytes ? shifted_column : wide_shifted_column)) return std::nullopt;
    Pass pass = few ? schedule_deinterleave(std::move(b), ways, high, width, along.step.source)
                    : schedule_columns(std::move(b), rows, high, width, shifted_row, true);
    // Elements may be joined to wider ones, which columns need not start at a multiple of.
    pass.shifted = std::all_of(pass.segments.begin(), pass.segments.end(),
                               [width](const Segment &s) { return s.target % width == 0; });
    return pass.shifted ? std::optional<Pass>(std::move(pass)) : std::nullopt;
}

}  // namespace relayout::tiled
