#include "packed/network.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "packed/rounds.h"
#include "packed/tuning.h"

namespace relayout::packed {
namespace {

bool is_power_of_2(Int n) { return n > 0 && !(n & (n - 1)); }

int log2_of(Int n) {
    int found = 0;
    while (n >> (found + 1)) ++found;
    return found;
}

bool contains(const std::vector<int> &values, int value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

// Factors 2 of loops, the low ones of each: those of a tile.
class Factors {
public:
    explicit Factors(std::vector<Loop> all) : loops(std::move(all)), taken(loops.size()) {}

    std::vector<Loop> loops;
    std::vector<std::vector<int>> taken;  // from each loop, as indices of the steps
    std::vector<Pair> steps;

    // The factors that are the places of a vector of a side, the lowest first; fewer if a place is none.
    std::vector<int> take_vector(int side, int places) {
        std::vector<int> found;
        for (int place = 0; place < places; ++place) {
            const auto [k, level] = find(side, place);
            if (k == loops.size()) break;
            if (level == taken[k].size()) take(k);
            found.push_back(taken[k][level]);
        }
        return found;
    }

    // Takes the factor that moves a side by 2^place, unless a tile has it or steps would be left over; its index or -1.
    int take_next(int side, int place) {
        const auto [k, level] = find(side, place);
        return k < loops.size() && level == taken[k].size() && is_even(k) ? take(k) : -1;
    }

    // Takes any, of the fastest loop of the target that has one.
    int take_any() {
        for (std::size_t k = loops.size(); k-- > 0;)
            if (is_even(k)) return take(k);
        return -1;
    }

private:
    std::pair<std::size_t, std::size_t> find(int side, int place) const {
        for (std::size_t k = 0; k < loops.size(); ++k) {
            const Int own = std::abs(loops[k].step[side]);
            const int level = is_power_of_2(own) ? place - log2_of(own) : -1;
            if (level >= 0 && level <= int(taken[k].size()) && loops[k].count >> level > 1)
                return {k, std::size_t(level)};
        }
        return {loops.size(), 0};
    }

    bool is_even(std::size_t k) const {
        const Int left = loops[k].count >> taken[k].size();
        return left && left % 2 == 0;
    }

    int take(std::size_t k) {
        steps.push_back((Int(1) << taken[k].size()) * loops[k].step);
        taken[k].push_back(int(steps.size()) - 1);
        return taken[k].back();
    }
};

// An offset for every number whose bits are the values of the axes.
std::vector<Int> offsets_of(const std::vector<Int> &axes, Int first = 0) {
    std::vector<Int> found{first};
    for (const Int step : axes)
        for (std::size_t k = 0, n = found.size(); k < n; ++k) found.push_back(found[k] + step);
    return found;
}

// The way from a nest to a network, for elements of `unit` bits, 1 to 8, and vectors of so many bytes.
class Divider {
public:
    Divider(const Box &nest, int unit, Int bytes)
        : nest_(nest), unit_(unit), bytes_(bytes), places_(log2_of(8 * bytes / unit)), factors_(nest.loops) {}

    std::optional<Division> divide(NetworkKernel one, NetworkKernel two) {
        if (!one || !take_factors(two != nullptr)) return std::nullopt;
        std::vector<Held> held;
        Pair start = nest_.offset;
        bool moves = source_ != target_;
        for (const int factor : source_) {
            const Int step = factors_.steps[std::size_t(factor)].source;
            held.push_back({factor, step < 0});
            start.source += std::min<Int>(step, 0);
            moves = moves || step < 0;
        }
        for (const int factor : axes_) held.push_back({factor, false});
        if (moves && axes_.empty()) return std::nullopt;  // elements change places between two vectors
        const Rounds rounds(std::move(held), target_, log2_of(8 / unit_), std::max(active_, axes_.empty() ? 0 : 1));
        Division made;
        made.start = {whole(start.source), whole(start.target)};
        add_loops(made);
        add_stages(made.network, rounds);
        made.network.kernel = lane_ >= 0 ? two : one;
        made.network.lines = bytes_ == cache_line;
        if (!in_bytes_) return std::nullopt;
        return made;
    }

private:
    const Box &nest_;
    const int unit_;
    const Int bytes_;
    const int places_;  // of elements in a vector
    Factors factors_;
    std::vector<int> source_, target_;  // the factors of a vector of each side
    std::vector<int> axes_;             // the others; the first `active_` are in vectors of the target
    int active_ = 0, lane_ = -1;
    bool in_bytes_ = true;  // whether everything but elements in a vector is whole bytes apart

    Int vector_bytes() const { return lane_ >= 0 ? 2 * bytes_ : bytes_; }

    bool take_factors(bool lanes) {
        source_ = factors_.take_vector(source_side, places_);
        target_ = factors_.take_vector(target_side, places_);
        if (int(source_.size()) < places_ || int(target_.size()) < places_) return false;
        for (const int factor : target_)
            if (!contains(source_, factor)) axes_.push_back(factor);
        active_ = int(axes_.size());
        if (active_ > 2 * max_stage_axes) return false;
        for (int factor = 0; factor < int(factors_.steps.size()); ++factor)
            if (!contains(source_, factor) && !contains(axes_, factor)) axes_.push_back(factor);
        if (lanes) lane_ = factors_.take_next(target_side, places_);
        if (lanes && lane_ < 0) lane_ = factors_.take_any();
        for (const int side : {target_side, source_side}) {
            int place = places_;
            for (Int run = bytes_; run < run_bytes && vector_bytes() << axes_.size() < max_tile_bytes; run *= 2)
                add_axis(factors_.take_next(side, place++));
        }
        while (int(axes_.size()) < min_stage_axes && add_axis(factors_.take_any())) continue;
        return true;
    }

    bool add_axis(int factor) {
        if (factor >= 0) axes_.push_back(factor);
        return factor >= 0;
    }

    // The same number, which must be one of whole bytes.
    Int whole(Int elements) {
        in_bytes_ = in_bytes_ && elements * unit_ % 8 == 0;
        return elements;
    }

    Int bytes_of(Int elements) { return whole(elements) * unit_ / 8; }

    // What the tiles leave of the loops: those around them, and nests of steps that fill no tile.
    void add_loops(Division &made) {
        std::vector<Loop> left = nest_.loops;
        for (std::size_t k = 0; k < left.size(); ++k) {
            const Int taken = Int(1) << factors_.taken[k].size(), rest = left[k].count % taken;
            if (rest) {
                Box other{nest_.offset + (left[k].count - rest) * left[k].step, left};
                other.loops[k].count = rest;
                made.rest.push_back(std::move(other));
                left[k].count -= rest;
            }
            if (left[k].count == taken) continue;
            const Pair step = taken * left[k].step;
            made.outer.push_back({left[k].count / taken, {whole(step.source), whole(step.target)}});
        }
        sort_loops(made.outer, source_side);
    }

    void add_stages(Network &network, const Rounds &rounds) {
        const int all = int(axes_.size());
        network.tile_bytes = vector_bytes() << all;
        std::vector<Int> from, to, scratch;
        Int first = 0;
        for (int k = 0; k < all; ++k) {
            const Held &kept = rounds.on_axis(k);
            const Int stored = bytes_of(factors_.steps[std::size_t(kept.factor)].target);
            from.push_back(bytes_of(factors_.steps[std::size_t(axes_[std::size_t(k)])].source));
            to.push_back(kept.flipped ? -stored : stored);
            scratch.push_back(vector_bytes() << k);
            if (kept.flipped) first += stored;
        }
        Pair lane{0, 0};
        if (lane_ >= 0) {
            const Pair step = factors_.steps[std::size_t(lane_)];
            lane = {bytes_of(step.source), bytes_of(step.target)};
        }
        if (active_ <= max_stage_axes) {
            const int axes = std::min(std::max(active_, min_stage_axes), all);
            network.stages.push_back(make_stage(rounds, 0, axes, offsets_of(from), offsets_of(to, first), lane));
            return;
        }
        const int loaded = (active_ + 1) / 2, stored = std::min(all - loaded, max_stage_axes);
        network.stages.push_back(
            make_stage(rounds, 0, loaded, offsets_of(from), offsets_of(scratch), {lane.source, bytes_}));
        // The axes of the second stage come first in the numbers of its vectors.
        std::rotate(scratch.begin(), scratch.begin() + loaded, scratch.end());
        std::rotate(to.begin(), to.begin() + loaded, to.end());
        network.stages.push_back(
            make_stage(rounds, loaded, stored, offsets_of(scratch), offsets_of(to, first), {bytes_, lane.target}));
    }

    // The rounds on so many axes from `first` on.
    Network::Stage make_stage(const Rounds &rounds, int first, int axes, std::vector<Int> from, std::vector<Int> to,
                              Pair lane) const {
        Network::Stage stage{axes, {}, {}, std::move(from), std::move(to), lane};
        for (const Rounds::Round &round : rounds.found()) {
            if (round.axis < first || round.axis >= first + axes) continue;
            const int shift = round.below < 0 ? 0 : unit_ << round.below;
            stage.rounds.push_back({round.axis - first, shift, Int(stage.places.size())});
            stage.places.insert(stage.places.end(), round.places.begin(), round.places.end());
        }
        return stage;
    }
};

}  // namespace

void Network::run(const Byte *source, Byte *target, bool nontemporal, const Byte *next, Byte *scratch) const {
    const auto run_stage = [&](const Stage &stage, const Byte *from, Byte *to, bool around, const Byte *ahead) {
        const NetworkStage call{stage.axes,          int(stage.rounds.size()), Int(stage.from.size()) >> stage.axes,
                                stage.rounds.data(), stage.places.data(),      stage.from.data(),
                                stage.to.data(),     stage.lane.source,        stage.lane.target};
        kernel(from, to, call, around, ahead);
    };
    if (stages.size() == 1) return run_stage(stages[0], source, target, nontemporal, next);
    run_stage(stages[0], source, scratch, false, next);
    run_stage(stages[1], scratch, target, nontemporal, nullptr);
}

std::optional<Division> divide(Box nest, int bits, const NetworkKernels &kernels) {
    for (Loop &loop : nest.loops) {
        if (loop.step.target < 0) {
            nest.offset = nest.offset + loop.at(loop.count - 1);
            loop.step = -1 * loop.step;
        }
    }
    nest = merge_loops(std::move(nest));
    std::optional<Division> made;
    if (8 % bits == 0) made = Divider(nest, bits, cache_line).divide(kernels.line, nullptr);
    if (8 % bits == 0 && !made) made = Divider(nest, bits, 16).divide(kernels.lane, kernels.lanes);
    return made;
}

}  // namespace relayout::packed
