#include "tiled/trials.h"

#include "tiled/tuning.h"

namespace relayout::tiled {

int Trials::next() {
    const int settled = settled_.load(std::memory_order_acquire);
    if (settled >= 0) return settled;
    const std::lock_guard<std::mutex> lock(mutex_);
    int chosen = fastest();
    for (std::size_t k = 0; k < ways_.size(); ++k)
        if (!ways_[k].dropped && ways_[k].begun < tries_ && ways_[k].begun < ways_[std::size_t(chosen)].begun)
            chosen = int(k);
    ++ways_[std::size_t(chosen)].begun;
    return chosen;
}

void Trials::drop(int way) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ways_[std::size_t(way)].dropped = true;
    settle();
}

void Trials::record(int way, Int nanoseconds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Way &here = ways_[std::size_t(way)];
    ++here.ended;
    if (nanoseconds < here.least) here.least = nanoseconds;
    settle();
}

// The first of equals is the first.
int Trials::fastest() const {
    std::size_t best = 0;
    for (std::size_t k = 1; k < ways_.size(); ++k)
        if (!ways_[k].dropped && double(ways_[k].least) < (best ? 1 : worthwhile) * double(ways_[best].least)) best = k;
    return int(best);
}

// Ways that are much slower after a third of the tries are not tried again; the first may have been slow for being the
// first.
void Trials::settle() {
    bool all = true;
    for (const Way &way : ways_)
        if (!way.dropped && way.ended < (tries_ + 1) / 3) return;
    const Int least = ways_[std::size_t(fastest())].least;
    for (std::size_t k = 0; k < ways_.size(); ++k) {
        Way &way = ways_[k];
        if (k > 0 && double(way.least) > hopeless * double(least)) way.dropped = true;
        if (!way.dropped && way.ended < tries_) all = false;
    }
    if (all) settled_.store(fastest(), std::memory_order_release);
}

}  // namespace relayout::tiled
