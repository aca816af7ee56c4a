#include "tiled/program.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "common/isa.h"
#include "kernels/kernels.h"
#include "common/thread_pool.h"
#include "tiled/schedule.h"
#include "tiled/walk.h"

namespace relayout {

#ifdef RELAYOUT_X86
namespace avx2 { extern const Kernels table; }
namespace avx512 { extern const Kernels table; }
#endif
namespace baseline { extern const Kernels table; }

const Kernels &kernels() {
    static const Kernels &chosen = *RELAYOUT_KERNEL(table, isa());
    return chosen;
}

namespace {

constexpr Int share_from = Int(1) << 20;     // waking a thread pays from here on
constexpr Int chunk_bytes = Int(1) << 18;    // what a thread takes at once; it stays in the second-level cache
constexpr Int max_pieces = 1 << 12;          // combinations of boxes: more take longer to compile than to copy otherwise

using Wide = __int128;

Int checked(Wide x) {
    if (x > INT64_MAX / 4 || x < INT64_MIN / 4) throw std::invalid_argument("offsets leave the range of addresses");
    return Int(x);
}

void extend(const Box &box, Int Box::*start, Int Loop::*field, Wide &low, Wide &high) {
    low = high = box.*start;
    for (const Loop &loop : box.loops) {
        const Wide reach = Wide(loop.count - 1) * (loop.*field);
        (reach < 0 ? low : high) += reach;
    }
}

Reach reach_of(const std::vector<Dim> &dims, Int start, Int width, Int Box::*box_start, Int Loop::*field, bool pads) {
    Wide low = start, high = start;
    for (const Dim &dim : dims) {
        Wide least = 0, most = 0;
        bool any = false;
        for (const Box &box : dim) {
            if (!box.valid && !pads) continue;
            Wide a, b;
            extend(box, box_start, field, a, b);
            least = any ? std::min(least, a) : a;
            most = any ? std::max(most, b) : b;
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
    std::sort(loops.begin(), loops.end(), [](const Loop &a, const Loop &b) { return a.target < b.target; });
    Int bytes = width;
    for (const Loop &loop : loops) {
        if (loop.count == 1) continue;
        if (loop.target != bytes) return 0;
        bytes *= loop.count;
    }
    return bytes;
}

// Boxes of one dimension that lie side by side in the target.
struct Group {
    std::vector<std::size_t> boxes;
    Int bytes;
};

std::vector<Group> grouped(const Dim &dim, Int width) {
    std::vector<std::size_t> order(dim.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return dim[a].target < dim[b].target; });
    std::vector<Group> groups;
    Int end = 0;
    for (const std::size_t k : order) {
        const Int bytes = dense_bytes(dim[k], width);
        if (!groups.empty() && bytes && groups.back().bytes && dim[k].target == end) {
            groups.back().boxes.push_back(k);
            groups.back().bytes += bytes;
        } else {
            groups.push_back({{k}, bytes});
        }
        end = dim[k].target + bytes;
    }
    return groups;
}

// The dimension that is fastest in the target, or no dimension.
std::size_t fastest(const std::vector<Dim> &dims, Int width) {
    for (std::size_t d = 0; d < dims.size(); ++d)
        for (const Box &box : dims[d])
            for (const Loop &loop : box.loops)
                if (loop.target == width && loop.count > 1) return d;
    return dims.size();
}

// Every combination of one box per dimension but `but`, with whether all are valid.
template <typename F>
void combine(const std::vector<Dim> &dims, std::size_t but, std::size_t d, Piece piece, bool valid, F use) {
    if (d == dims.size()) return use(piece, valid);
    if (d == but) return combine(dims, but, d + 1, std::move(piece), valid, use);
    for (const Box &box : dims[d]) {
        Piece next = piece;
        next.source += box.source;
        next.target += box.target;
        next.loops.insert(next.loops.end(), box.loops.begin(), box.loops.end());
        combine(dims, but, d + 1, std::move(next), valid && box.valid, use);
    }
}

Piece joined(const Piece &piece, const Box &box) {
    Piece out = piece;
    out.source += box.source;
    out.target += box.target;
    out.loops.insert(out.loops.end(), box.loops.begin(), box.loops.end());
    return out;
}

}  // namespace

Program::Program(int width, Int source, Int target, std::vector<Dim> dims, const Byte *fill, Int stream_from,
                 std::unique_ptr<Converter> converter)
    : width_(width), stream_from_(stream_from), start_source_(source), start_target_(target), dims_(std::move(dims)),
      converter_(std::move(converter)), fill_{} {
    if (fill && converter_) throw std::invalid_argument("a conversion fills nothing");
    if (fill)
        for (std::size_t k = 0; k < sizeof fill_; ++k) fill_[k] = fill[k % 16];
    std::size_t loops = 0;
    Wide elements = 1, pieces = 1;
    bytes_ = 0;
    for (const Dim &dim : dims_) {
        std::size_t most = 0;
        Wide here = 0;
        for (const Box &box : dim) {
            Wide size = 1;
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
        pieces = checked(pieces * Wide(dim.size()));
    }
    if (pieces > max_pieces) throw std::invalid_argument("too many combinations of boxes");
    if (loops + 4 > max_loops) throw std::invalid_argument("too many loops");
    source_ = reach_of(dims_, start_source_, width_, &Box::source, &Loop::source, false);
    target_ = reach_of(dims_, start_target_, width_, &Box::target, &Loop::target, true);
    if (source_.low < 0 || target_.low < 0) throw std::invalid_argument("an offset is below 0");
    bytes_ = checked(elements * width_);
    if (!converter_) return;
    checked(Wide(target_.high / width_) * converter_->target_bytes());
    for (const bool aligned : {false, true})
        for (const Step &step : steps(aligned))
            if (!step.staged_bytes || step.staged_bytes > staging_bytes)
                throw std::invalid_argument("no tile for a conversion");
}

Reach Program::target_reach() const {
    if (!converter_) return target_;
    const Int bytes = converter_->target_bytes();
    return {target_.low / width_ * bytes, target_.high / width_ * bytes};
}

const std::vector<Step> &Program::steps(bool aligned) const {
    std::call_once(compiled_[aligned], [&] { steps_[aligned] = compile(aligned && !converter_); });
    return steps_[aligned];
}

std::vector<Step> Program::compile(bool aligned) const {
    std::vector<Step> steps;
    const Piece start{start_source_, start_target_, {}, {}};
    const std::size_t fast = fastest(dims_, width_);
    const auto add = [&](const Piece &piece, bool valid) {
        steps.push_back(valid ? schedule(piece, width_, aligned, bytes_ >= stream_from_) : schedule_fill(piece, width_));
    };
    if (fast == dims_.size()) {
        combine(dims_, fast, 0, start, true, add);
        return steps;
    }
    const Dim &dim = dims_[fast];
    const std::vector<Group> groups = grouped(dim, width_);
    combine(dims_, fast, 0, start, true, [&](const Piece &piece, bool valid) {
        for (const Group &group : groups) {
            if (!valid && group.bytes) {
                const Box &first = dim[group.boxes[0]];
                add(joined(piece, {false, 0, first.target, {{group.bytes / width_, 0, width_}}}), false);
                continue;
            }
            Piece whole = piece;
            for (const std::size_t k : group.boxes) whole.parts.push_back(dim[k]);
            const bool any = std::any_of(whole.parts.begin(), whole.parts.end(), [](const Box &b) { return b.valid; });
            Step step;
            if (valid && any && whole.parts.size() > 1) {
                const Int base = whole.parts[0].target;
                whole.target += base;
                for (Box &part : whole.parts) part.target -= base;
                if (schedule_group(whole, group.bytes, width_, aligned, step) && step.staged_bytes <= staging_bytes) {
                    steps.push_back(std::move(step));
                    continue;
                }
            }
            for (const std::size_t k : group.boxes) add(joined(piece, dim[k]), valid && dim[k].valid);
        }
    });
    return steps;
}

void Program::run(const Byte *source, Byte *target, int threads) const {
    const bool aligned = reinterpret_cast<std::uintptr_t>(target) % 64 == 0;
    const std::vector<Step> &steps = this->steps(aligned);
    const bool large = bytes_ >= stream_from_;
    // All steps walk through the source in its order. A chunk is the same share of each of them, so that what several
    // steps read is still in the cache.
    const Int chunks = (bytes_ + chunk_bytes - 1) / chunk_bytes;
    const auto work = [&](Int begin, Int end) {
        for (Int i = begin; i < end; ++i)
            for (const Step &step : steps) {
                const Int first = Int(Wide(step.iterations) * i / chunks);
                const Int last = Int(Wide(step.iterations) * (i + 1) / chunks);
                if (first < last) 
                    Walk(step, source, target, large, aligned, fill_, converter_.get(), width_).run(first, last);
            }
    };
    if (threads <= 1 || chunks <= 1 || bytes_ < share_from)
        work(0, chunks);
    else
        parallel(threads, chunks, work);
}

}  // namespace relayout
