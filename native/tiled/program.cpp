#include "tiled/program.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "common/thread_pool.h"
#include "tiled/gather.h"
#include "tiled/padded_blocks.h"
#include "tiled/schedule.h"
#include "tiled/slab.h"
#include "tiled/slab_walk.h"
#include "tiled/tile_builder.h"
#include "tiled/two_step_walk.h"
#include "tiled/two_steps.h"
#include "tiled/walk.h"

namespace relayout::tiled {
namespace {

using Int128 = __int128;

Int checked(Int128 x) {
    if (x > INT64_MAX / 4 || x < INT64_MIN / 4) throw std::invalid_argument("offsets leave the range of addresses");
    return Int(x);
}

// The bytes of a side that all combinations of boxes reach; padding has no source.
ByteRange byte_range(const std::vector<Dim> &dims, Int start, Int width, int side) {
    Int128 low = start, high = start;
    for (const Dim &dim : dims) {
        Int128 least = 0, most = 0;
        bool any = false;
        for (const Box &box : dim) {
            if (!box.valid && side == source_side) continue;
            Int128 first = box.offset[side], last = first;
            for (const Loop &loop : box.loops) {
                const Int128 length = Int128(loop.count - 1) * loop.step[side];
                (length < 0 ? first : last) += length;
            }
            least = any ? std::min(least, first) : first;
            most = any ? std::max(most, last) : last;
            any = true;
        }
        if (!any) return {0, 0};
        low += least;
        high += most;
        checked(low);
        checked(high);
    }
    return {Int(low), checked(high + width)};
}

// The bytes that a box fills from its start on if it fills them without gaps, else 0.
Int dense_bytes(const Box &box, Int width) {
    std::vector<Loop> loops = box.loops;
    std::sort(loops.begin(), loops.end(), [](const Loop &a, const Loop &b) { return a.step.target < b.step.target; });
    Int bytes = width;
    for (const Loop &loop : loops) {
        if (loop.count == 1) continue;
        if (loop.step.target != bytes) return 0;
        bytes *= loop.count;
    }
    return bytes;
}

// Boxes of one dimension that lie side by side in the target.
struct BoxGroup {
    std::vector<std::size_t> boxes;
    Int bytes;
};

std::vector<BoxGroup> group_boxes(const Dim &dim, Int width) {
    std::vector<std::size_t> order(dim.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return dim[a].offset.target < dim[b].offset.target; });
    std::vector<BoxGroup> groups;
    Int end = 0;
    for (const std::size_t k : order) {
        const Int bytes = dense_bytes(dim[k], width);
        if (!groups.empty() && bytes && groups.back().bytes && dim[k].offset.target == end) {
            groups.back().boxes.push_back(k);
            groups.back().bytes += bytes;
        } else {
            groups.push_back({{k}, bytes});
        }
        end = dim[k].offset.target + bytes;
    }
    return groups;
}

// The dimension that is fastest in the target, or the number of dimensions.
std::size_t fastest_dim(const std::vector<Dim> &dims, Int width) {
    for (std::size_t d = 0; d < dims.size(); ++d)
        for (const Box &box : dims[d])
            for (const Loop &loop : box.loops)
                if (loop.step.target == width && loop.count > 1) return d;
    return dims.size();
}

bool is_aligned(const Byte *target) { return reinterpret_cast<std::uintptr_t>(target) % cache_line == 0; }

bool are_alike(const std::vector<Pass> &a, const std::vector<Pass> &b);

bool are_alike_steps(const std::shared_ptr<const Pass> &a, const std::shared_ptr<const Pass> &b) {
    return !a == !b && (!a || are_alike({*a}, {*b}));
}

// Whether two schedules copy by the same kernels in the same order.
bool are_alike(const std::vector<Pass> &a, const std::vector<Pass> &b) {
    const auto same_loop = [](const TileLoop &x, const TileLoop &y) {
        return x.count == y.count && x.tile == y.tile && x.step == y.step;
    };
    const auto same_call = [](const KernelCall &x, const KernelCall &y) {
        return x.kind == y.kind && x.width == y.width && x.count == y.count && x.length == y.length &&
               x.height == y.height && x.strip.count == y.strip.count && x.repeat.count == y.repeat.count &&
               x.in_blocks == y.in_blocks && (!x.in_blocks || x.wide == y.wide);
    };
    const auto same_pass = [&](const Pass &x, const Pass &y) {
        if (!are_alike_steps(x.inner, y.inner) || !are_alike_steps(x.outer, y.outer)) return false;
        return x.tile_bytes == y.tile_bytes && x.shifted == y.shifted && x.padded == y.padded &&
               std::equal(x.loops.begin(), x.loops.end(), y.loops.begin(), y.loops.end(), same_loop) &&
               std::equal(x.calls.begin(), x.calls.end(), y.calls.begin(), y.calls.end(), same_call);
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_pass);
}

// Calls use(around, parts) for every combination of one of the boxes of each dimension; use(around, parts, true) for
// all dimensions but the last comes before, and may say that it has those of the last as well.
template <typename Use>
void for_each_block(const std::vector<std::vector<BlockBoxes>> &dims, const Box &around, const Use &use,
                    const std::vector<Box> &parts = {Box{}}, std::size_t first = 0) {
    if (first == dims.size()) return void(use(around, parts, false));
    if (first + 1 == dims.size() && use(around, parts, true)) return;
    for (const BlockBoxes &boxes : dims[first]) {
        std::vector<Box> more;
        for (const Box &part : parts)
            for (const Box &other : boxes.parts) more.push_back(combine(part, other));
        for_each_block(dims, combine(around, boxes.around), use, more, first + 1);
    }
}

}  // namespace

TiledProgram::TiledProgram(int width, Pair start, std::vector<Dim> dims, const Byte *fill,
                           std::optional<Conversion> conversion, const Tuning &tuning)
    : width_(width), tuning_(tuning), start_(start), dims_(std::move(dims)), conversion_(std::move(conversion)),
      fill_{} {
    if (fill && conversion_) throw std::invalid_argument("a conversion fills nothing");
    if (fill)
        for (std::size_t k = 0; k < sizeof fill_; ++k) fill_[k] = fill[k % 16];
    std::size_t loops = 0;
    Int128 elements = 1, combinations = 1;
    for (const Dim &dim : dims_) {
        std::size_t most = 0;
        Int128 here = 0;
        for (const Box &box : dim) {
            Int128 size = 1;
            for (const Loop &loop : box.loops) {
                if (loop.count < 1) throw std::invalid_argument("a loop has at least one step");
                size = checked(size * loop.count);
            }
            here += size;
            most = std::max(most, box.loops.size());
            if (!box.valid && !fill) throw std::invalid_argument("padding needs a value");
        }
        loops += most;
        elements = checked(elements * here);
        combinations = checked(combinations * Int128(dim.size()));
    }
    if (combinations > max_combinations) throw std::invalid_argument("too many combinations of boxes");
    if (loops + 4 > max_loops) throw std::invalid_argument("too many loops");
    source_ = byte_range(dims_, start_.source, width_, source_side);
    target_ = byte_range(dims_, start_.target, width_, target_side);
    if (source_.low < 0 || target_.low < 0) throw std::invalid_argument("an offset is below 0");
    bytes_ = checked(elements * width_);
    for (Trials &trials : trials_)
        is_large() ? trials.begin(variations(), large_trials, 0)
                   : trials.begin(variations(), cached_trials, trials_after / std::max<Int>(bytes_, 1));
    if (!conversion_) return;
    checked(Int128(target_.high / width_) * conversion_->target_bytes);
    for (const bool aligned : {false, true})
        for (const Pass &pass : passes(aligned))
            if (!pass.staged_bytes || pass.staged_bytes > staging_bytes)
                throw std::invalid_argument("no tile for a conversion");
}

ByteRange TiledProgram::target_range() const {
    if (!conversion_) return target_;
    const Int bytes = conversion_->target_bytes;
    return {target_.low / width_ * bytes, target_.high / width_ * bytes};
}

int TiledProgram::variations() const {
    if (conversion_ || bytes_ < tuning_.trials_from) return 1;
    return int(is_large() ? std::size(large_variations) : std::size(cached_variations));
}

const std::vector<Pass> &TiledProgram::passes(bool aligned, int variation) const {
    std::vector<Pass> &made = passes_[aligned][variation];
    const Variation &how = is_large() ? large_variations[variation] : cached_variations[variation];
    std::call_once(compiled_[aligned][variation], [&] { made = compile(aligned, how); });
    return made;
}

// Whether a variation has the schedule of one before it.
bool TiledProgram::repeats(bool aligned, int variation) const {
    const std::vector<Pass> &here = passes(aligned, variation);
    for (int k = 0; k < variation; ++k)
        if (are_alike(here, passes(aligned, k))) return true;
    return false;
}

bool TiledProgram::is_nontemporal(const Pass &pass) const {
    return tuning_.nontemporal_stores && (pass.whole_lines || pass.long_runs);
}

std::vector<Pass> TiledProgram::compile(bool aligned, Variation how) const {
    const bool large = is_large(), nontemporal = large && tuning_.nontemporal_stores;
    if (!large && !conversion_) how.run_bytes = cached_run_tile;
    // Large targets that are written by plain stores gain nothing by whole lines, and conversions write none.
    aligned = aligned && !conversion_ && (nontemporal || !large);
    std::vector<Pass> passes;
    const auto needs_slabs = [&](const Pass &pass) {
        if (!nontemporal || conversion_ || pass.long_runs) return false;
        // Columns of narrow elements may be slower line by line, even if all lines are whole.
        const bool narrow = pass.calls[0].kind == KernelKind::transpose && pass.calls[0].width < 2;
        return !(aligned && pass.whole_lines) || (how.slabs == Use::always && narrow);
    };
    const auto add = [&](const Box &box) {
        if (!box.valid) return passes.push_back(schedule_fill(box, width_));
        if (how.steps != Steps::one && !large && !conversion_)
            if (std::optional<Pass> steps = schedule_two_steps(box, width_, how))
                return passes.push_back(std::move(*steps));
        Pass pass = schedule(box, width_, aligned, nontemporal, how);
        if (needs_slabs(pass))
            if (std::optional<Pass> slabs = schedule_slabs(box, width_, pass, how)) pass = std::move(*slabs);
        passes.push_back(std::move(pass));
    };
    const Box start{start_, {}};
    const std::size_t fast = fastest_dim(dims_, width_);
    if (fast == dims_.size()) {
        for_each_combination(dims_, start, add);
        return passes;
    }
    const Dim &dim = dims_[fast];
    const std::vector<BoxGroup> groups = group_boxes(dim, width_);
    std::vector<Dim> others = dims_;
    others.erase(others.begin() + std::ptrdiff_t(fast));
    // Whether boxes that lie side by side are slower together than one by one.
    const auto is_slower = [&](const Pass &together, const Box &box, const std::vector<Box> &parts) {
        double bytes = 0, time = 0;
        for (const Box &part : parts) {
            const Box one = combine(box, part);
            const double here = double(product(width_, one.loops));
            bytes += here;
            time += here / std::min(schedule(one, width_, aligned, nontemporal, how).speed, max_gather_speed);
        }
        return together.speed * gather_margin < bytes / time;
    };
    const auto add_rows = [&](const Box &box) {
        for (const BoxGroup &group : groups) {
            const Pair offset{0, dim[group.boxes[0]].offset.target};
            if (!box.valid && group.bytes) {
                add(combine(box, {offset, {{group.bytes / width_, {0, width_}}}, false}));
                continue;
            }
            std::vector<Box> parts;
            for (const std::size_t k : group.boxes) parts.push_back(dim[k]);
            const bool any = std::any_of(parts.begin(), parts.end(), [](const Box &part) { return part.valid; });
            const bool all = std::all_of(parts.begin(), parts.end(), [](const Box &part) { return part.valid; });
            if (box.valid && any && parts.size() > 1 && (all || how.pads)) {
                for (Box &part : parts) part.offset = part.offset - offset;
                const Box around = combine(box, {offset, {}});
                std::optional<Pass> pass = schedule_group(around, parts, group.bytes, width_, aligned, large, how);
                if (pass && all && needs_slabs(*pass))
                    if (std::optional<Pass> slabs = schedule_slabs(around, parts, group.bytes, width_, *pass, how))
                        pass = std::move(*slabs);
                if (pass && pass->staged_bytes <= staging_bytes && (large || !all || !is_slower(*pass, box, parts))) {
                    passes.push_back(std::move(*pass));
                    continue;
                }
            }
            for (const std::size_t k : group.boxes) add(combine(box, dim[k]));
        }
    };
    const std::optional<PaddedBlocks> blocks =
        conversion_ ? std::nullopt : find_padded_blocks(dims_, width_, fast, max_gather_bytes);
    if (!blocks) {
        for_each_combination(others, start, add_rows);
        return passes;
    }
    std::vector<std::vector<BlockBoxes>> ordered = blocks->boxes;
    std::rotate(ordered.begin() + std::ptrdiff_t(fast), ordered.begin() + std::ptrdiff_t(fast) + 1, ordered.end());
    for_each_block(ordered, start, [&](const Box &around, const std::vector<Box> &parts, bool without_fastest) {
        const bool whole = parts.size() == 1 && parts[0].valid;
        if (without_fastest) {
            if (whole && blocks->rows) add_rows(combine(around, parts[0]));
            return whole && blocks->rows;
        }
        std::optional<Pass> pass;
        const bool any = std::any_of(parts.begin(), parts.end(), [](const Box &part) { return part.valid; });
        if (!whole && any && how.pads)
            pass = schedule_gather(around, parts, blocks->bytes, width_,
                                   large ? min_block_speed : min_cached_block_speed, how);
        if (pass) {
            pass->padded = large && !(aligned && pass->whole_lines);
            passes.push_back(std::move(*pass));
        } else {
            for (const Box &part : parts) add(combine(around, part));
        }
        return true;
    });
    return passes;
}

bool TiledProgram::run(const Byte *source, Byte *target, int threads) const {
    const TiledCopy copy(*this, source, target, threads);
    const bool complete = copy.run(0, chunks());
    copy.finish();
    return complete;
}

bool TiledProgram::run(const std::vector<Pass> &passes, const Byte *source, Byte *target, int threads, Int begin,
                       Int end) const {
    const bool aligned = is_aligned(target), large = is_large();
    const Conversion *conversion = conversion_ ? &*conversion_ : nullptr;
    // All passes walk through the source in its order. A chunk is the same share of each of them, so that what several
    // passes read is still in the cache.
    const Int chunks = this->chunks();
    const bool slabs =
        std::any_of(passes.begin(), passes.end(), [](const Pass &pass) { return pass.inner && !pass.outer; });
    const bool carry =
        std::any_of(passes.begin(), passes.end(), [](const Pass &pass) { return pass.along.has_value(); });
    std::atomic<bool> complete{true};
    const auto work = [&](Int first_chunk, Int last_chunk) {
        // What slabs carry does not get past the end of what is taken at once.
        const Int by = !slabs ? 1 : passes.size() == 1 || carry ? last_chunk - first_chunk : slab_chunks;
        for (Int i = begin + first_chunk; i < begin + last_chunk; i += by)
            for (const Pass &pass : passes) {
                const Int first = Int(Int128(pass.tiles) * i / chunks);
                const Int last = Int(Int128(pass.tiles) * std::min(i + by, begin + last_chunk) / chunks);
                if (first >= last) continue;
                if (pass.outer) {
                    TwoStepWalk(pass, source, target).run(first, last);
                    continue;
                }
                if (pass.inner) {
                    SlabWalk(pass, source, target).run(first, last);
                    continue;
                }
                TileWalk walk(pass, source, target, large, tuning_.nontemporal_stores, aligned, fill_, conversion,
                              width_);
                if (!walk.run(first, last)) complete.store(false, std::memory_order_relaxed);
            }
    };
    if (threads <= 1 || end - begin <= 1 || bytes_ < parallel_from)
        work(0, end - begin);
    else
        parallel(threads, end - begin, work);
    return complete.load(std::memory_order_relaxed);
}

TiledCopy::TiledCopy(const TiledProgram &program, const Byte *source, Byte *target, int threads, int variation)
    : program(program), source(source), target(target), threads(threads), aligned(is_aligned(target)), timed(false),
      variation(variation) {}

TiledCopy::TiledCopy(const TiledProgram &program, const Byte *source, Byte *target, int threads)
    : TiledCopy(program, source, target, threads, 0) {
    Trials &trials = program.trials_[aligned];
    variation = trials.next();
    timed = !trials.is_settled();
    if (!timed) return;
    while (program.repeats(aligned, variation)) {
        trials.drop(variation);
        variation = trials.next();
    }
    start = std::chrono::steady_clock::now();
}

bool TiledCopy::run(Int begin, Int end) const {
    return program.run(program.passes(aligned, variation), source, target, threads, begin, end);
}

void TiledCopy::finish() const {
    if (!timed) return;
    const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - start;
    program.trials_[aligned].record(variation, Int(taken.count()));
}

}  // namespace relayout::tiled
