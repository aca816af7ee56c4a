#include "general/program.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "common/caches.h"
#include "common/thread_pool.h"
#include "general/tuning.h"
#include "kernels/kernels.h"
#include "packed/tuning.h"

namespace relayout::general {
namespace {

// A tile of a nest: the sum of the offsets of the outer loops there.
class TileBase {
public:
    TileBase(const Nest &nest, Int number) : outer(nest.outer), digits(outer.size()) {
        for (std::size_t k = digits.size(); k-- > 0;) {
            digits[k] = number % outer[k].count;
            number /= outer[k].count;
            at = at + outer[k].at(digits[k]);
        }
    }

    Pair at{0, 0};

    // To the next tile, and from the last to the first.
    void advance() {
        for (std::size_t k = digits.size(); k-- > 0;) {
            const Int digit = digits[k] + 1 < outer[k].count ? digits[k] + 1 : 0;
            at = at + outer[k].at(digit) - outer[k].at(digits[k]);
            digits[k] = digit;
            if (digit) break;
        }
    }

private:
    const std::vector<Loop> &outer;
    std::vector<Int> digits;
};

// Calls f(base, next) for the tiles of a nest from `begin` to before `end`: where a tile is, and the tile after it.
template <typename F> void each_tile(const Nest &nest, Int begin, Int end, F f) {
    TileBase tile(nest, begin);
    for (Int i = begin; i < end; ++i) {
        const Pair base = tile.at;
        tile.advance();
        f(base, tile.at);
    }
}

template <std::size_t size>
void copy_pieces(std::uintptr_t source, std::uintptr_t target, const Int *from, const Int *to, Int count) {
    for (Int j = 0; j < count; ++j)
        std::memcpy(reinterpret_cast<Byte *>(target + std::uintptr_t(to[j])),
                    reinterpret_cast<const Byte *>(source + std::uintptr_t(from[j])), size);
}

using Copy = void (*)(std::uintptr_t, std::uintptr_t, const Int *, const Int *, Int);
constexpr Copy copies[] = {copy_pieces<1>,  copy_pieces<2>,  copy_pieces<4>, copy_pieces<8>,
                           copy_pieces<16>, copy_pieces<32>, copy_pieces<64>};

// The pieces of one side of a tile: at fixed distances from an origin, or looked up.
class Pieces {
public:
    // `moved`: by how many bytes this tile is moved; `ahead`: how many more the next one is.
    Pieces(const Tile &tile, int s, const Side &side, bool folded, int bits, const Memory &held, Int moved, Int ahead)
        : swizzle(side.swizzle), block(side.block * bits / 8), base(moved), next(moved + ahead), memory(held),
          pieces(tile.pieces[s]), lines(tile.lines[s]) {
        for (int n = bits; n > 8; n /= 2) ++swizzle.base;
        for (int n = bits; n < 8; n *= 2) --swizzle.base;
        if (folded) swizzle.bits = 0;
        const Int number = block ? (base + tile.low[s]) / block : 0;
        fixed = folded && (!block || (base + tile.high[s] - 1) / block == number);
        if (fixed)
            origin = (block ? memory.blocks[std::size_t(number)].address : memory.address) +
                     std::uintptr_t(base - number * block);
    }

    bool fixed;
    std::uintptr_t origin = 0;

    // The distances of pieces from the origin; `room` is for as many as are looked up.
    const Int *at(Int begin, Int count, Int *room) const {
        const Int *found = pieces.data() + begin;
        if (fixed) return found;
        for (Int j = 0; j < count; ++j) room[j] = base + found[j];
        for (Int j = 0; swizzle.bits && j < count; ++j) room[j] = swizzle(room[j]);
        for (Int j = 0; j < count; ++j)
            room[j] = block ? Int(memory.blocks[std::size_t(room[j] / block)].address) + room[j] % block
                            : Int(memory.address) + room[j];
        return room;
    }

    // Prefetches lines of the next tile, as many in all as `done` of the pieces.
    template <int write> void prefetch(Int done) {
        if (block) return;
        const std::size_t until = lines.size() * std::size_t(done) / pieces.size();
        for (; asked < until; ++asked) {
            const Int at = swizzle(next + lines[asked]);
            __builtin_prefetch(reinterpret_cast<const void *>(memory.address + std::uintptr_t(at)), write, 2);
        }
    }

private:
    Swizzle swizzle;
    Int block, base, next;
    const Memory &memory;
    const std::vector<Int> &pieces, &lines;
    std::size_t asked = 0;
};

void copy_tile(const Tile &tile, Pieces source, Pieces target) {
    Int rooms[2][pieces_at_once];
    for (std::size_t k = 0; k < std::size(copies); ++k)
        for (Int begin = tile.first[k], count; begin < tile.first[k + 1]; begin += count) {
            count = std::min(tile.first[k + 1] - begin, pieces_at_once);
            source.prefetch<0>(begin + count);
            target.prefetch<1>(begin + count);
            copies[k](source.origin, target.origin, source.at(begin, count, rooms[0]),
                      target.at(begin, count, rooms[1]), count);
        }
}

// Where an element starts: a byte, and a bit of it.
struct BitPlace {
    Byte *byte;
    int bit;

    BitPlace(const Side &side, bool folded, int bits, const Memory &memory, Int v) {
        if (!folded) v = side.swizzle(v);
        const BlockStart block =
            side.block ? memory.blocks[std::size_t(v / side.block)] : BlockStart{memory.address, 0};
        const Int place = (side.block ? v % side.block : v) * bits + block.bit;
        byte = reinterpret_cast<Byte *>(block.address + std::uintptr_t(place / 8));
        bit = int(place % 8);
    }
};

// Copies bits, a byte of the target at a time; other bits of its first and last byte stay.
void copy_bits(BitPlace source, BitPlace target, Int count) {
    if (source.bit == 0 && target.bit == 0) {
        std::memcpy(target.byte, source.byte, std::size_t(count / 8));
        source.byte += count / 8;
        target.byte += count / 8;
        count %= 8;
    }
    while (count > 0) {
        const int now = int(std::min<Int>(count, 8 - target.bit));
        unsigned value = unsigned(*source.byte) >> source.bit;
        if (source.bit + now > 8) value |= unsigned(source.byte[1]) << (8 - source.bit);
        const unsigned mask = ((1u << now) - 1) << target.bit;
        *target.byte = Byte((*target.byte & ~mask) | ((value << target.bit) & mask));
        source.bit += now;
        source.byte += source.bit / 8;
        source.bit %= 8;
        ++target.byte;
        target.bit = 0;
        count -= now;
    }
}

// Copies single elements that cross no byte.
void copy_singles(const std::vector<ElementRun> &runs, const Pair &base, int bits, std::uintptr_t source,
                  std::uintptr_t target) {
    const unsigned all = (1u << bits) - 1;
    for (const ElementRun &run : runs) {
        const Int from = (base[0] + run.at[0]) * bits, to = (base[1] + run.at[1]) * bits;
        const unsigned value = *reinterpret_cast<const Byte *>(source + std::uintptr_t(from / 8));
        Byte &byte = *reinterpret_cast<Byte *>(target + std::uintptr_t(to / 8));
        byte = Byte((byte & ~(all << (to % 8))) | ((value >> (from % 8) & all) << (to % 8)));
    }
}

void check(int bits, const Sides &sides) {
    if (bits < 1 || bits > 128 || (bits > 8 && (bits & (bits - 1))))
        throw std::invalid_argument("elements have 1 to 8, 16, 32, 64 or 128 bits");
    constexpr int most = 54;
    for (const Side &side : sides) {
        const auto &[many, base, shift] = side.swizzle;
        if (many < 0 || base < 0 || many > most || base > most || many + base > most - std::min(most, std::abs(shift)))
            throw std::invalid_argument("a swizzle stays within 54 bits");
        if (side.block < 0 || side.block >= limit)
            throw std::invalid_argument("a block has at least one element, and fits into memory");
    }
}

}  // namespace

GeneralProgram::GeneralProgram(int bits, Pair start, std::vector<Dim> dims, std::vector<std::vector<Pair>> tables,
                               const Sides &sides)
    : bits_(bits), tables_(std::move(tables)), sides_(sides), count_(count_elements(dims)) {
    check(bits, sides);
    for (std::atomic<Int> &end : ends_) end = -1;
    if (!count_) return;
    for (Dim &dim : dims) dim = split_tables(dim);
    for (const int side : {0, 1}) {
        const OffsetRange reached = dims_range(start[side], dims, side);
        if (reached.low < 0) throw std::invalid_argument("an offset is below 0");
        low_[side] = reached.low;
        high_[side] = reached.high + 1;
        Swizzle &swizzle = sides_[side].swizzle;
        const bool moves = reached.high >> (swizzle.base + std::max(swizzle.shift, 0));
        if (!moves) swizzle.bits = 0;
    }
    nests_ = make_nests(start, dims, sides_, bits_, network_kernels_for(isa()));
    prefetched_ = count_ / 8 * bits_ >= prefetch_from;
    Int kept = 0;
    for (Nest &nest : nests_) {
        if (kept > max_kept_pieces) break;
        if (nest.network) continue;
        nest.tile = std::make_shared<Tile>(make_tile(nest, sides_, bits_, true, prefetched_));
        kept += Int(nest.tile->pieces[0].size() + nest.tile->runs.size());
    }
}

Int GeneralProgram::count_by_networks() const {
    Int all = 0;
    for (const Nest &nest : nests_)
        if (nest.network) all += nest.tiles * nest.network->tile_bytes * 8 / bits_;
    return all;
}

Int GeneralProgram::low(int side) const {
    const Swizzle &swizzle = sides_[side].swizzle;
    return swizzle.bits ? low_[side] / swizzle.period() * swizzle.period() : low_[side];
}

Int GeneralProgram::high(int side) const {
    const Swizzle &swizzle = sides_[side].swizzle;
    return swizzle.bits ? ceil_div(high_[side], swizzle.period()) * swizzle.period() : high_[side];
}

Int GeneralProgram::end(int side) const {
    if (!sides_[side].swizzle.bits) return high_[side];
    Int found = ends_[side].load(std::memory_order_relaxed);
    if (found >= 0) return found;
    for (const Nest &nest : nests_) {
        const std::vector<ElementRun> runs = make_runs(nest, sides_);
        Int most = std::numeric_limits<Int>::min();
        if (nest.folded[side]) {
            for (const ElementRun &run : runs) most = std::max(most, run.at[side] + run.length);
            for (const Loop &loop : nest.outer) most += loop_range(loop, side).high;
        } else {
            each_tile(nest, 0, nest.tiles, [&](const Pair &base, const Pair &) {
                for (const ElementRun &run : runs)
                    most = std::max(most, sides_[side].swizzle(base[side] + run.at[side]) + run.length);
            });
        }
        found = std::max(found, most);
    }
    ends_[side].store(found, std::memory_order_relaxed);
    return found;
}

void GeneralProgram::run(const std::array<Memory, 2> &memories, int threads, Int begin, Int end) const {
    bool in_bytes = true;
    for (const Memory &memory : memories)
        for (const BlockStart &block : memory.blocks) in_bytes = in_bytes && block.bit == 0;
    // Elements that share bytes are written one after the other.
    const auto apart = [&](const Nest &nest) { return nest.network || (in_bytes && nest.tile && nest.tile->in_bytes); };
    if (bits_ < 8 && !std::all_of(nests_.begin(), nests_.end(), apart)) threads = 1;
    threads = int(std::min<Int>(threads, 1 + count_ / 8 * bits_ / bytes_per_thread));
    std::atomic<bool> failed{false};
    parallel(threads, end - begin, [&](Int first, Int last) {
        try {
            copy(memories, in_bytes, begin + first, begin + last);
        } catch (const std::bad_alloc &) {
            failed.store(true, std::memory_order_relaxed);
        }
    });
    if (failed.load(std::memory_order_relaxed)) throw std::bad_alloc();
}

void GeneralProgram::copy_by_network(const Nest &nest, const std::array<Memory, 2> &memories, Int begin,
                                     Int end) const {
    const packed::Network &network = *nest.network;
    const auto place = [&](const Pair &base, int side) {
        return memories[side].address + std::uintptr_t((nest.start[side] + base[side]) * bits_ / 8);
    };
    bool nontemporal =
        network.lines && count_ / 8 * bits_ >= beyond_caches() && place({0, 0}, target_side) % cache_line == 0;
    for (const Loop &loop : nest.outer) nontemporal = nontemporal && loop.step.target * bits_ / 8 % cache_line == 0;
    for (const Int offset : network.stages.back().to) nontemporal = nontemporal && offset % cache_line == 0;
    const Int ahead = std::max<Int>(1, packed::prefetched_bytes / network.tile_bytes);
    TileBase tile(nest, begin), later(nest, begin + ahead);
    std::vector<Byte> scratch(std::size_t(network.stages.size() > 1 ? network.tile_bytes + cache_line : 0));
    Byte *const aligned = scratch.data() + -reinterpret_cast<std::uintptr_t>(scratch.data()) % cache_line;
    for (Int i = begin; i < end; ++i, tile.advance(), later.advance())
        network.run(reinterpret_cast<const Byte *>(place(tile.at, source_side)),
                    reinterpret_cast<Byte *>(place(tile.at, target_side)), nontemporal,
                    i + ahead < end ? reinterpret_cast<const Byte *>(place(later.at, source_side)) : nullptr, aligned);
    if (nontemporal) kernels().store_fence();
}

// Copies the tiles from `begin` to before `end`.
void GeneralProgram::copy(const std::array<Memory, 2> &memories, bool in_bytes, Int begin, Int end) const {
    const auto alone = [](const ElementRun &run) { return run.length == 1; };
    const auto after = [](Int number, const Nest &nest) { return number < nest.first; };
    auto nest = std::upper_bound(nests_.begin(), nests_.end(), begin, after) - 1;
    for (Int last; begin < end; begin = last, ++nest) {
        last = std::min(end, nest->first + nest->tiles);
        if (nest->network) {
            copy_by_network(*nest, memories, begin - nest->first, last - nest->first);
            continue;
        }
        const bool kept = nest->tile && (in_bytes || !nest->tile->in_bytes);
        const Tile made = kept ? Tile{} : make_tile(*nest, sides_, bits_, in_bytes, prefetched_);
        const Tile &tile = kept ? *nest->tile : made;
        const bool plain = nest->folded[0] && nest->folded[1] && !sides_[0].block && !sides_[1].block;
        const bool singles = plain && 8 % bits_ == 0 && std::all_of(tile.runs.begin(), tile.runs.end(), alone);
        each_tile(*nest, begin - nest->first, last - nest->first, [&](const Pair &base, const Pair &next) {
            const auto pieces = [&](int s) {
                return Pieces(tile, s, sides_[s], nest->folded[s], bits_, memories[s], base[s] * bits_ / 8,
                              (next[s] - base[s]) * bits_ / 8);
            };
            if (tile.in_bytes) return copy_tile(tile, pieces(0), pieces(1));
            if (singles) return copy_singles(tile.runs, base, bits_, memories[0].address, memories[1].address);
            for (const ElementRun &run : tile.runs) {
                const auto place = [&](int s) {
                    return BitPlace(sides_[s], nest->folded[s], bits_, memories[s], base[s] + run.at[s]);
                };
                copy_bits(place(0), place(1), run.length * bits_);
            }
        });
    }
}

}  // namespace relayout::general
