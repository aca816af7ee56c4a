#pragma once

#include <cstdint>

namespace relayout {

using Byte = unsigned char;
using Int = std::int64_t;

constexpr Int cache_line = 64;  // bytes

}  // namespace relayout
