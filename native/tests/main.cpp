#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/isa.h"
#include "kernels/kernels.h"
#include "tests/check.h"

namespace relayout::tests {

void fail(const std::string &what) {
    std::fprintf(stderr, "wrong: %s\n", what.c_str());
    std::exit(1);
}

std::mt19937_64 &random_engine() {
    static std::mt19937_64 engine(15);
    return engine;
}

GuardedBytes::GuardedBytes(Int size, bool aligned, bool at_start) : size_(size) {
    const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
    if (aligned) size_ = (size + cache_line - 1) / cache_line * cache_line;
    const std::size_t room = (std::size_t(size_) + page - 1) / page * page;
    mapped_ = room + 2 * page;
    void *start = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(start != MAP_FAILED, "there is no memory");
    mapping_ = static_cast<Byte *>(start);
    check(!mprotect(mapping_, page, PROT_NONE), "a page cannot be guarded");
    check(!mprotect(mapping_ + page + room, page, PROT_NONE), "a page cannot be guarded");
    data_ = at_start ? mapping_ + page : mapping_ + page + room - size_;
    for (Int k = 0; k < size_; ++k) data_[k] = Byte(random_engine()());
}

GuardedBytes::~GuardedBytes() { munmap(mapping_, mapped_); }

bool GuardedBytes::operator==(const Bytes &other) const {
    return Int(other.size()) == size_ && !std::memcmp(data_, other.data(), other.size());
}

void GuardedBytes::restore(const Bytes &before) { std::memcpy(data_, before.data(), before.size()); }

}  // namespace relayout::tests

int main() {
    using namespace relayout;
    tests::test_kernels();
    tests::test_conversions();
    tests::test_networks();
    tests::test_tiled();
    tests::test_general();
    for (int k = 0; k <= int(isa()); ++k)
        std::printf("%s: %s non-temporal stores\n", isa_names[k],
                    kernels_for(Isa(k)).nontemporal_stores ? "has" : "no");
}
