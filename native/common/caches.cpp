#include "common/caches.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace relayout {
namespace {

// The first CPU's cache of a level that holds data; of 0 bytes where the system tells of none.
Cache told_by_system(int level) {
    for (int index = 0; index < 8; ++index) {
        const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
        std::ifstream levels(folder + "level"), types(folder + "type"), sizes(folder + "size"),
            associativities(folder + "ways_of_associativity");
        int found = 0;
        std::string type;
        if (!(levels >> found)) break;
        if (found != level || (types >> type && type == "Instruction")) continue;
        Int size = 0, ways = 0;
        char unit = 0;
        if (!(sizes >> size)) break;
        const Int bytes = sizes >> unit && unit == 'M' ? size << 20 : size << 10;
        // A cache of a single set is told as one of no ways.
        const bool plausible = associativities >> ways && ways > 0 && bytes % (ways * cache_line) == 0;
        return {bytes, plausible ? ways : 8};
    }
    return {0, 0};
}

Cache told_or(int level, Int bytes) {
    const Cache told = told_by_system(level);
    return told.bytes > 0 ? told : Cache{bytes, 8};
}

}  // namespace

const Cache &first_level_cache() {
    static const Cache told = told_or(1, 32 << 10);
    return told;
}

const Cache &second_level_cache() {
    static const Cache told = told_or(2, 1 << 20);
    return told;
}

bool is_crowded(const Cache &cache, const Int *offsets, Int count) {
    const std::size_t sets = std::size_t(cache.sets());
    if (count <= cache.ways) return false;
    std::vector<Int> used(sets, 0);
    return std::any_of(offsets, offsets + count,
                       [&](Int offset) { return ++used[std::size_t(offset / cache_line) % sets] > cache.ways; });
}

Int beyond_caches() {
    static const Int told = told_by_system(3).bytes, most = Int(24) << 20;
    return told > 0 ? std::min(told / 4 * 3, most) : most;
}

}  // namespace relayout
