#include "tiled/trials.h"

#include "tiled/tuning.h"

namespace relayout::tiled {

int Trials::next() {
    const int settled = settled_.load(std::memory_order_acquire);
    if (settled >= 0) return settled;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_ > 0) return waiting_--, 0;
    for (int round = 1; round <= trial_rounds; ++round)
        for (std::size_t k = 0; k < ways_.size(); ++k)
            if (!ways_[k].dropped && ways_[k].ended < round * tries_) return int(k);
    return fastest();
}

void Trials::drop(int way) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ways_[std::size_t(way)].dropped = true;
    settle();
}

void Trials::record(int way, Int nanoseconds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_ > 0) return;
    Way &here = ways_[std::size_t(way)];
    // The first call of a round finds the caches as another way left them.
    if (here.ended++ % tries_ > 0 && nanoseconds < here.least) here.least = nanoseconds;
    settle();
}

// The first, unless another is faster by what is worth it.
int Trials::fastest() const {
    std::size_t best = 0;
    for (std::size_t k = 1; k < ways_.size(); ++k)
        if (!ways_[k].dropped && double(ways_[k].least) < (best ? 1 : worthwhile) * double(ways_[best].least)) best = k;
    return int(best);
}

// Ways that are much slower after a third of their calls are not tried further.
void Trials::settle() {
    const Int least = ways_[std::size_t(fastest())].least;
    bool all = true;
    for (std::size_t k = 0; k < ways_.size(); ++k) {
        Way &way = ways_[k];
        const bool slow = double(way.least) > hopeless * double(least);
        if (k > 0 && way.ended > 1 && way.ended >= tries_ / 3 && slow) way.dropped = true;
        if (!way.dropped && way.ended < trial_rounds * tries_) all = false;
    }
    if (all) settled_.store(fastest(), std::memory_order_release);
}

}  // namespace relayout::tiled
