#pragma once

#include <cstdint>

namespace relayout {

using Byte = unsigned char;
using Int = std::int64_t;

}  // namespace relayout
