#pragma once

#include "common/bytes.h"

namespace relayout {

// A reference to a callable that does the tasks from `begin` to `end` and throws nothing. The callable must outlive it.
class Task {
public:
    template <typename F>
    Task(const F &callable)
        : context(&callable),
          run([](const void *called, Int begin, Int end) noexcept { (*static_cast<const F *>(called))(begin, end); }) {}

    void operator()(Int begin, Int end) const noexcept { run(context, begin, end); }

private:
    const void *context;
    void (*run)(const void *, Int, Int) noexcept;
};

constexpr int max_threads = 256;

// Do the tasks 0 to `tasks` once each, on this thread and on up to `threads - 1` others; return when all are done. With
// tasks of other callers under way, or no threads to be had, this thread does them all. The GIL is no matter here.
void parallel(int threads, Int tasks, Task task) noexcept;

// RELAYOUT_THREADS of the environment if that is a positive number, else how many CPUs the process may use.
int default_threads() noexcept;

}  // namespace relayout
