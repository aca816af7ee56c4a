#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "bindings/buffer.h"
#include "bindings/interrupts.h"
#include "bindings/module.h"

#if !defined(_WIN32)
#include <unistd.h>

namespace {

using relayout::Byte;
using relayout::Int;

// Moves runs of one length between memory, where one follows the other, and the places of a file, in order and without
// the GIL; now and then the handlers of signals run. `move(memory, count, place)` does one call of the system, up to
// the next multiple of `most` in the file. Returns how many bytes were moved before the file ended.
template <typename Move>
Int move_runs(Byte *memory, Int size, const std::vector<Int> &places, Int most, const Move &move) {
    const Int count = Int(places.size());
    if (!count || size % count || most < 1) throw nb::value_error("the runs have one length");
    const Int length = size / count;
    int failure = 0;
    Int done = 0;
    run_in_parts(count, size, [&](Int first, Int last) {
        for (Int k = first; k < last && !failure; ++k) {
            const Int end = done + length;
            for (Int at = places[k]; done < end && !failure;) {
                const ssize_t moved = move(memory + done, std::size_t(std::min(end - done, most - at % most)), at);
                if (moved > 0) {
                    done += moved;
                    at += moved;
                } else if (moved == 0 || errno != EINTR) {
                    failure = moved ? errno : -1;
                }
            }
        }
    });
    if (failure > 0) {
        errno = failure;
        PyErr_SetFromErrno(PyExc_OSError);
        throw nb::python_error();
    }
    return done;
}

Int read_runs(int file, nb::handle out, const std::vector<Int> &places, Int most) {
    const BufferView view(out.ptr(), true, PyBUF_SIMPLE);
    if (!view.held()) throw nb::python_error();
    return move_runs(view.data(), view.size(), places, most,
                     [file](Byte *memory, std::size_t count, Int at) { return pread(file, memory, count, off_t(at)); });
}

Int write_runs(int file, nb::handle data, const std::vector<Int> &places, Int most) {
    const BufferView view(data.ptr(), false, PyBUF_SIMPLE);
    if (!view.held()) throw nb::python_error();
    return move_runs(view.data(), view.size(), places, most, [file](const Byte *memory, std::size_t count, Int at) {
        return pwrite(file, memory, count, off_t(at));
    });
}

}  // namespace

void bind_file_runs(nb::module_ &m) {
    m.def("read_runs", &read_runs, nb::arg("file"), nb::arg("out"), nb::arg("places"), nb::arg("most"),
          "Fill memory with runs of a file, one after another; the bytes until its end.");
    m.def("write_runs", &write_runs, nb::arg("file"), nb::arg("data"), nb::arg("places"), nb::arg("most"),
          "Write memory as runs to these places of a file; the bytes that it took.");
}
#else
void bind_file_runs(nb::module_ &) {}
#endif
