#include "packed/rounds.h"

#include <algorithm>
#include <utility>

namespace relayout::packed {

Rounds::Rounds(std::vector<Held> held, std::vector<int> goal, int below, int active)
    : held_(std::move(held)), goal_(std::move(goal)), below_(below) {
    for (int place = 0; place < below_; ++place) bring_below(place);
    for (int axis = 0; axis < active; ++axis) {
        if (!is_wanted(on_axis(axis))) continue;
        std::vector<Held> after = held_;
        std::size_t leaving = std::size_t(below_);
        while (is_wanted(after[leaving])) ++leaving;
        std::swap(after[leaving], after[goal_.size() + std::size_t(axis)]);
        permute(axis, std::move(after));
    }
    std::vector<Held> after = held_;
    for (std::size_t place = std::size_t(below_); place < goal_.size(); ++place) after[place] = {goal_[place], false};
    if (after == held_) return;
    int axis = active - 1;
    if (!found_.empty() && found_.back().below < 0) {  // the last round does this as well
        axis = found_.back().axis;
        found_.pop_back();
        held_ = before_;
    }
    permute(axis, std::move(after));
}

// The factor of a place below the byte comes there by way of an axis.
void Rounds::bring_below(int place) {
    std::size_t at = place_of(goal_[std::size_t(place)]);
    if (at == std::size_t(place) && !held_[at].flipped) return;
    if (at < std::size_t(below_)) {
        exchange(int(at), 0);
        at = goal_.size();
    }
    const std::size_t on = std::max(at, goal_.size());
    const int axis = int(on - goal_.size());
    if (at != on || held_[at].flipped) {
        std::vector<Held> after = held_;
        std::swap(after[at], after[on]);
        after[on].flipped = false;
        permute(axis, std::move(after));
    }
    exchange(place, axis);
}

void Rounds::exchange(int place, int axis) {
    std::swap(held_[std::size_t(place)], held_[goal_.size() + std::size_t(axis)]);
    found_.push_back({axis, place, {}});
}

// A round after which the bytes and the axis hold these.
void Rounds::permute(int axis, std::vector<Held> after) {
    const int bytes = int(goal_.size()) - below_;
    const std::size_t on = goal_.size() + std::size_t(axis);
    Round round{axis, -1, {}};
    for (int index = 0; index < 2 << bytes; ++index) {
        // The bits of an index are the values of the places in the result; the axis is above the bytes.
        int place = 0;
        for (int k = 0; k <= bytes; ++k) {
            const Held &now = after[k < bytes ? std::size_t(below_ + k) : on];
            const std::size_t was = place_of(now.factor);
            const int value = (index >> k & 1) ^ int(now.flipped != held_[was].flipped);
            place |= value << (was == on ? bytes : int(was) - below_);
        }
        round.places.push_back(Byte(place));
    }
    found_.push_back(std::move(round));
    before_ = std::exchange(held_, std::move(after));
}

bool Rounds::is_wanted(const Held &held) const {
    return std::find(goal_.begin() + below_, goal_.end(), held.factor) != goal_.end();
}

std::size_t Rounds::place_of(int factor) const {
    const auto holds = [&](const Held &held) { return held.factor == factor; };
    return std::size_t(std::find_if(held_.begin(), held_.end(), holds) - held_.begin());
}

}  // namespace relayout::packed
