#pragma once

#include <vector>

#include "common/bytes.h"

namespace relayout::packed {

// What a place holds: the value of a factor 2 of some loop, or the opposite where that is `flipped`.
struct Held {
    int factor;
    bool flipped;
};

inline bool operator==(const Held &a, const Held &b) { return a.factor == b.factor && a.flipped == b.flipped; }

// The rounds that bring factors to their places. Places are the bits of an element's address: those below the byte,
// then those of bytes in a vector, then the axes.
class Rounds {
public:
    struct Round {
        int axis;
        int below;                 // the place below the byte that is exchanged, or -1
        std::vector<Byte> places;  // of the bytes of both vectors, where bytes are permuted
    };

    // `goal` has the factors of a vector, not flipped. The first `active` axes hold the others of them, those of places
    // below the byte first; what axes hold in the end is told by on_axis.
    Rounds(std::vector<Held> held, std::vector<int> goal, int below, int active);

    const std::vector<Round> &found() const { return found_; }
    const Held &on_axis(int axis) const { return held_[goal_.size() + std::size_t(axis)]; }

private:
    void bring_below(int place);
    void exchange(int place, int axis);
    void permute(int axis, std::vector<Held> after);
    bool is_wanted(const Held &held) const;
    std::size_t place_of(int factor) const;

    std::vector<Held> held_, before_;
    std::vector<int> goal_;
    int below_;
    std::vector<Round> found_;
};

}  // namespace relayout::packed
