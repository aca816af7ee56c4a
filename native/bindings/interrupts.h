#pragma once

#include <algorithm>
#include <chrono>

#include "bindings/module.h"
#include "common/bytes.h"

// Bytes of the first part of a long copy: about 10 ms of the slowest kernels, so that signals are looked at soon.
constexpr relayout::Int first_part_bytes = relayout::Int(4) << 20;

// How long a part should take. An interrupt is heard within a few of them, on a busy machine as well (a transpose of
// 900 MB: 0.16 s at most with this, 0.6 s with 0.04); the GIL is taken once in each.
constexpr double part_seconds = 0.01;

// Raises what the handler of a signal raised, if one came meanwhile; the error says that the target is not whole.
inline void check_signals() {
    if (!PyErr_CheckSignals()) return;
    nb::python_error error;
    nb::object noted = nb::borrow(error.value());
    if (nb::hasattr(noted, "add_note"))
        noted.attr("add_note")("relayout: the copy was interrupted, and its target is partly written.");
    throw error;
}

// Does the steps 0 to `steps` of a copy of so many bytes, in order, without the GIL. `work(begin, end)` does a part of
// them; between parts the handlers of signals run.
template <typename F> void run_in_parts(relayout::Int steps, relayout::Int bytes, const F &work) {
    using Clock = std::chrono::steady_clock;
    const double per_byte = bytes > 0 ? double(steps) / double(bytes) : 1.0;
    double size = std::max(1.0, per_byte * double(first_part_bytes));
    for (relayout::Int begin = 0; begin < steps;) {
        const relayout::Int end = size < double(steps - begin) ? begin + relayout::Int(size) : steps;
        const Clock::time_point start = Clock::now();
        {
            nb::gil_scoped_release release;
            work(begin, end);
        }
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        size = std::max(1.0, size * std::clamp(part_seconds / std::max(seconds, 1e-9), 0.25, 2.0));
        begin = end;
        if (begin < steps) check_signals();
    }
}
