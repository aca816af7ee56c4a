#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "common/bytes.h"

namespace relayout::tiled {

// Finds the fastest of a few ways to do the same, while it is done: every call goes one of them, and tells how long it
// took. The calls of a way follow each other, since what one leaves in the caches is what the next finds; in several
// rounds, since other work on the machine may slow all calls of one. Calls may overlap.
class Trials {
public:
    // Between so many ways, each tried so often in each round, after so many calls of the first.
    void begin(int ways, int tries, Int after) {
        ways_.resize(std::size_t(ways));
        tries_ = tries;
        waiting_ = after;
        settled_.store(ways > 1 ? -1 : 0, std::memory_order_release);
    }

    bool is_settled() const { return settled_.load(std::memory_order_acquire) >= 0; }

    // The way that was kept; the first, as long as none is.
    int kept() const { return is_settled() ? settled_.load(std::memory_order_acquire) : 0; }

    // The way of the next call.
    int next();

    // Leaves a way out that does the same as another.
    void drop(int way);

    // How long a call took; one that ended early is not told of, and its way is tried again.
    void record(int way, Int nanoseconds);

private:
    struct Way {
        int ended = 0;
        Int least = INT64_MAX;
        bool dropped = false;
    };

    std::mutex mutex_;
    std::vector<Way> ways_;
    int tries_ = 0;
    Int waiting_ = 0;
    std::atomic<int> settled_{0};

    int fastest() const;
    void settle();
};

}  // namespace relayout::tiled
