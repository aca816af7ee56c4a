#pragma once

#include <cstdint>

namespace relayout {

using Byte = unsigned char;
using Int = std::int64_t;

constexpr Int line = 64;  // bytes of a line of the cache

}  // namespace relayout
