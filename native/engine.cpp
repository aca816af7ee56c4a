#include "engine.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "isa.h"
#include "kernels.h"
#include "pool.h"
#include "schedule.h"

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
constexpr Int chunk_bytes = Int(1) << 20;    // what a thread takes at once
constexpr std::size_t max_loops = 64;
constexpr Int staging_bytes = 1 << 18;

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

// One thread's way through the tiles of a step.
class Walk {
public:
    Walk(const Step &step, const Byte *source, Byte *target, bool large, bool aligned, const Byte *fill)
        : step(step), k(kernels()), source(source), target(target), large(large), fill(fill) {
        stream = large && aligned && step.streams && !step.padded;
        staged = step.padded || (large && !stream && step.staged_bytes > 0 && step.staged_bytes <= staging_bytes);
    }

    void run(Int first, Int last) {
        alignas(64) static thread_local Byte buffer[staging_bytes];
        staging = buffer;
        if (step.padded) k.fill(staging, step.staged_bytes, fill, false);
        Int index[max_loops];
        const std::size_t loops = step.outer.size();
        Int s = step.source, t = step.target, rest = first;
        for (std::size_t d = loops; d-- > 0;) {
            const Outer &outer = step.outer[d];
            index[d] = rest % outer.count;
            rest /= outer.count;
            const Int at = outer.at(index[d]);
            s += at * outer.source;
            t += at * outer.target;
        }
        for (Int i = first; i < last; ++i) {
            Int next_s = s, next_t = t;
            for (std::size_t d = loops; d-- > 0;) {
                const Outer &outer = step.outer[d];
                const Int before = outer.at(index[d]);
                const bool carry = ++index[d] == outer.count;
                if (carry) index[d] = 0;
                const Int moved = outer.at(index[d]) - before;
                next_s += moved * outer.source;
                next_t += moved * outer.target;
                if (!carry) break;
            }
            tile(source + s, target + t, large && i + 1 < last ? next_s - s : 0);
            s = next_s;
            t = next_t;
        }
        if (stream || staged) k.fence();
    }

private:
    const Step &step;
    const Kernels &k;
    const Byte *source;
    Byte *target;
    bool large;
    const Byte *fill;
    bool stream, staged;
    Byte *staging = nullptr;

    void tile(const Byte *s, Byte *t, Int ahead) const {
        for (const Op &op : step.ops) apply(op, s + op.source, staged ? staging + op.staged : t + op.target, ahead);
        if (!staged) return;
        for (const Segment &segment : step.segments) {
            if (large)
                k.flush(staging + segment.staged, t + segment.target, segment.length);
            else
                std::memcpy(t + segment.target, staging + segment.staged, std::size_t(segment.length));
        }
    }

    void apply(const Op &op, const Byte *s, Byte *t, Int ahead) const {
        const Int *tables = step.tables.data();
        const Int *columns = tables + (staged ? op.staged_columns : op.columns);
        switch (op.kind) {
            case Kind::runs:
                k.runs(s, t, op.count, op.source_step, staged ? op.staged_step : op.target_step, op.length, stream, ahead);
                break;
            case Kind::transpose:
                k.transpose[op.width](s, tables + op.rows, op.height, t, columns, op.count, stream, op.pack, ahead);
                break;
            case Kind::weave:
                k.weave[op.width](s, t, tables + op.rows, int(op.height), op.count, stream, ahead);
                break;
            case Kind::unweave:
                k.unweave[op.width](s, t, columns, int(op.height), op.count, stream, ahead);
                break;
            case Kind::scatter:
                k.scatter[op.width](s, t, {1, 0, 0, op.count, op.source_step, op.target_step});
                break;
            case Kind::fill:
                for (Int i = 0; i < op.count; ++i, t += op.target_step) k.fill(t, op.length, fill, false);
                break;
        }
    }
};

}  // namespace

Program::Program(int width, Int source, Int target, std::vector<Dim> dims, const Byte *fill, Int stream_from)
    : width_(width), stream_from_(stream_from), start_source_(source), start_target_(target), dims_(std::move(dims)), fill_{} {
    if (fill) std::memcpy(fill_, fill, sizeof fill_);
    std::size_t loops = 0;
    Wide elements = 1;
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
    }
    if (loops + 4 > max_loops) throw std::invalid_argument("too many loops");
    source_ = reach_of(dims_, start_source_, width_, &Box::source, &Loop::source, false);
    target_ = reach_of(dims_, start_target_, width_, &Box::target, &Loop::target, true);
    bytes_ = checked(elements * width_);
}

const std::vector<Step> &Program::steps(bool aligned) const {
    std::call_once(compiled_[aligned], [&] { steps_[aligned] = compile(aligned); });
    return steps_[aligned];
}

std::vector<Step> Program::compile(bool aligned) const {
    std::vector<Step> steps;
    const Piece start{start_source_, start_target_, {}, {}};
    const std::size_t fast = fastest(dims_, width_);
    const auto add = [&](const Piece &piece, bool valid) {
        steps.push_back(valid ? schedule(piece, width_, aligned) : schedule_fill(piece, width_));
    };
    if (fast == dims_.size()) {
        combine(dims_, fast, 0, start, true, add);
        return steps;
    }
    const Dim &dim = dims_[fast];
    const std::vector<Group> groups = grouped(dim, width_);
    combine(dims_, fast, 0, start, true, [&](const Piece &piece, bool valid) {
        for (const Group &group : groups) {
            Piece whole = piece;
            for (const std::size_t k : group.boxes) whole.parts.push_back(dim[k]);
            const bool any = std::any_of(whole.parts.begin(), whole.parts.end(), [](const Box &b) { return b.valid; });
            Step step;
            if (valid && any && whole.parts.size() > 1) {
                const Int base = whole.parts[0].target;
                whole.target += base;
                for (Box &part : whole.parts) part.target -= base;
                if (schedule_group(whole, group.bytes, width_, aligned, step)) {
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
    if (threads <= 1 || bytes_ < share_from) {
        for (const Step &step : steps) Walk(step, source, target, large, aligned, fill_).run(0, step.iterations);
        return;
    }
    const Int wanted = std::min(chunk_bytes, std::max<Int>(bytes_ / (threads * 8), 1));
    std::vector<Int> chunk(steps.size()), end(steps.size());
    Int total = 0;
    for (std::size_t k = 0; k < steps.size(); ++k) {
        chunk[k] = std::max<Int>(wanted / std::max<Int>(steps[k].tile_bytes, 1), 1);
        total += (steps[k].iterations + chunk[k] - 1) / chunk[k];
        end[k] = total;
    }
    parallel(threads, total, [&](Int begin, Int stop) {
        for (Int i = begin; i < stop; ++i) {
            const std::size_t k = std::size_t(std::upper_bound(end.begin(), end.end(), i) - end.begin());
            const Int first = (i - (k ? end[k - 1] : 0)) * chunk[k];
            Walk(steps[k], source, target, large, aligned, fill_)
                .run(first, std::min(first + chunk[k], steps[k].iterations));
        }
    });
}

}  // namespace relayout
