#pragma once

#include <nanobind/nanobind.h>

#include "common/bytes.h"

namespace nb = nanobind;

// Bytes from which on the GIL is released: less is done before another thread would get its turn, and calls of
// `benchmarks/repack.py --small`, 0.2 microseconds each, would be slower for it.
constexpr relayout::Int release_gil_from = 64 << 10;

void bind_offsets(nb::module_ &m);
void bind_nested(nb::module_ &m);
void bind_tiled(nb::module_ &m);
void bind_callable(nb::module_ &m);
void bind_memory(nb::module_ &m);
void bind_convert(nb::module_ &m);
void bind_general(nb::module_ &m);
void bind_file_runs(nb::module_ &m);
