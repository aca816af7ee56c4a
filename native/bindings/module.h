#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_offsets(nb::module_ &m);
void bind_nested(nb::module_ &m);
void bind_repack(nb::module_ &m);
void bind_convert(nb::module_ &m);
void bind_general(nb::module_ &m);
