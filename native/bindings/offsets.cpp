#include "bindings/module.h"
#include "common/loop_nest.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

// Offsets are added modulo 2^64, so nothing here overflows with undefined behaviour.
using Word = std::uint64_t;
using Table = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Entries of a tile: 16 KiB, so that it stays in the first-level cache beside the output it is written to. The row of
// offsets() in docs/benchmarks.md writes at the speed of np.full with it.
constexpr std::size_t tile_limit = 2048;

// A dimension of the table: so many entries, a stride apart or looked up.
struct OffsetLoop {
    Word count, step;
    const Word *table;  // null for an affine dim

    Word at(Word i) const { return table ? table[i] : i * step; }
};

// Adjacent affine dims that step as one become one; dims of size 1 go into `start`.
std::vector<OffsetLoop> simplify(const std::vector<OffsetLoop> &dims, Word &start) {
    std::vector<OffsetLoop> longer;
    for (const OffsetLoop &dim : dims)
        if (dim.count == 1)
            start += dim.at(0);
        else
            longer.push_back(dim);
    return relayout::merge_neighbours(longer);
}

// The table is walked as rows, one per coordinate of `outer`. A row is `row` entries long and made of tiles, the
// last one possibly cut: tile number t holds tile[j] + t * step.
struct RowPlan {
    std::vector<OffsetLoop> outer;
    std::vector<Word> storage;
    const Word *tile;
    std::size_t tile_size;
    std::size_t row;
    Word step = 0;

    explicit RowPlan(std::vector<OffsetLoop> dims) : outer(std::move(dims)), storage{0}, row(1) {
        while (!outer.empty() && outer.back().count <= tile_limit / row) {
            grow(outer.back().count);
            row = storage.size();
            outer.pop_back();
        }
        tile = storage.data();
        tile_size = row;
        if (outer.empty()) return;
        const OffsetLoop dim = outer.back();
        if (dim.table && row == 1) {
            tile = dim.table;
            tile_size = row = dim.count;
            outer.pop_back();
        } else if (!dim.table && tile_limit / row > 1) {
            const std::size_t count = tile_limit / row;
            grow(count);
            tile = storage.data();
            tile_size = storage.size();
            step = dim.at(count);
            row *= dim.count;
            outer.pop_back();
        }
    }

    void grow(std::size_t count) {
        std::vector<Word> wider;
        wider.reserve(count * storage.size());
        for (std::size_t i = 0; i < count; ++i)
            for (const Word offset : storage) wider.push_back(outer.back().at(i) + offset);
        storage = std::move(wider);
    }
};

template <typename Move> void fill(const RowPlan &plan, std::size_t depth, Word base, Word *&out, Move swizzle) {
    if (depth < plan.outer.size()) {
        const OffsetLoop &dim = plan.outer[depth];
        for (std::size_t i = 0; i < dim.count; ++i) fill(plan, depth + 1, base + dim.at(i), out, swizzle);
        return;
    }
    for (std::size_t done = 0; done < plan.row; done += plan.tile_size, base += plan.step) {
        const std::size_t count = std::min(plan.tile_size, plan.row - done);
        const Word *tile = plan.tile;
        Word *to = out;
        for (std::size_t j = 0; j < count; ++j) to[j] = swizzle(tile[j] + base);
        out += count;
    }
}

void fill_offsets(Output out, nb::sequence dims, std::int64_t start, int bits, int base, int shift) {
    if (bits < 0 || base < 0 || bits > 63 || base > 63 || shift < -63 || shift > 63 ||
        bits + base + (shift < 0 ? -shift : shift) > 63)
        throw nb::value_error("a swizzle must stay within 63 bits");

    std::vector<Table> tables;
    std::vector<OffsetLoop> parsed;
    for (nb::handle item : dims) {
        std::pair<std::int64_t, std::int64_t> pair;
        Table table;
        if (nb::isinstance<nb::tuple>(item) && nb::try_cast(item, pair, false)) {
            if (pair.first < 0) throw nb::value_error("a size must not be negative");
            parsed.push_back({Word(pair.first), Word(pair.second), nullptr});
        } else if (nb::try_cast(item, table, false)) {
            parsed.push_back({table.size(), 0, reinterpret_cast<const Word *>(table.data())});
            tables.push_back(std::move(table));
        } else {
            throw nb::type_error("a dim is a pair (size, stride) of int64 or a contiguous 1-D int64 array");
        }
    }

    const bool empty = std::any_of(parsed.begin(), parsed.end(), [](const OffsetLoop &dim) { return dim.count == 0; });
    std::size_t total = empty ? 0 : 1;
    for (const OffsetLoop &dim : parsed) {
        if (!empty && total > out.size() / dim.count) throw nb::value_error("the sizes do not multiply to out.size");
        total *= dim.count;
    }
    if (total != out.size()) throw nb::value_error("the sizes do not multiply to out.size");
    if (empty) return;

    nb::gil_scoped_release release;
    Word first = Word(start);
    const RowPlan plan(simplify(parsed, first));
    Word *to = reinterpret_cast<Word *>(out.data());
    const Word mask = ((Word(1) << bits) - 1) << (base + std::max(shift, 0));
    if (bits == 0)
        fill(plan, 0, first, to, [](Word x) { return x; });
    else if (shift >= 0)
        fill(plan, 0, first, to, [mask, shift](Word x) { return x ^ ((x & mask) >> shift); });
    else
        fill(plan, 0, first, to, [mask, left = -shift](Word x) { return x ^ ((x & mask) << left); });
}

}  // namespace

void bind_offsets(nb::module_ &m) {
    m.def("fill_offsets", &fill_offsets, nb::arg("out").noconvert(), nb::arg("dims"), nb::arg("start"), nb::arg("bits"),
          nb::arg("base"), nb::arg("shift"),
          "Write out[i] = swizzle(start + the sum of each dim's value at C-order index i).");
}
