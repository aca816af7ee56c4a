#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/bytes.h"

// What the tests of the compiled core without Python are made of. Every judge is a plain loop over single elements.
namespace relayout::tests {

using Bytes = std::vector<Byte>;

// Prints what is wrong and ends the process.
[[noreturn]] void fail(const std::string &what);

inline void check(bool holds, const std::string &what) {
    if (!holds) fail(what);
}

std::mt19937_64 &random_engine();

// From `low` to `high`, both included.
inline Int pick(Int low, Int high) { return std::uniform_int_distribution<Int>(low, high)(random_engine()); }

inline Int one_of(const std::vector<Int> &values) { return values[std::size_t(pick(0, Int(values.size()) - 1))]; }

// Random bytes right before a page that cannot be touched, so that a read or write behind them ends the process; right
// behind such a page where `at_start`. `aligned`: they start at a cache line, and a multiple of its length is there.
class GuardedBytes {
public:
    explicit GuardedBytes(Int size, bool aligned = false, bool at_start = false);
    ~GuardedBytes();
    GuardedBytes(const GuardedBytes &) = delete;
    GuardedBytes &operator=(const GuardedBytes &) = delete;

    Byte *data() const { return data_; }
    Int size() const { return size_; }
    Bytes copy() const { return {data_, data_ + size_}; }
    bool operator==(const Bytes &other) const;
    void restore(const Bytes &before);

private:
    Byte *mapping_, *data_;
    std::size_t mapped_;
    Int size_;
};

void test_kernels();
void test_conversions();
void test_networks();
void test_tiled();
void test_general();

}  // namespace relayout::tests
