#pragma once

#include <optional>

#include "bindings/module.h"
#include "convert/conversion.h"

// The conversion that relayout.engine.conversion describes, or none where there are no kernels for it or some value
// could be refused. What is no description raises TypeError or ValueError.
std::optional<relayout::Conversion> parse_conversion(nb::handle description, relayout::Isa isa);
