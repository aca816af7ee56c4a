#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "bindings/buffer.h"
#include "bindings/interrupts.h"
#include "general/program.h"

namespace {

using namespace relayout::general;
using relayout::Dim;
using relayout::Int;
using relayout::Loop;
using relayout::Pair;
using Numbers = nb::ndarray<const Int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Int integer(nb::handle x) {
    if (!PyLong_Check(x.ptr())) throw nb::type_error("expected an integer");
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(x.ptr(), &overflow);
    if (overflow) throw nb::value_error("an integer does not fit in 64 bits");
    return value;
}

nb::tuple parts(nb::handle x, std::size_t count, const char *what) {
    if (!PyTuple_Check(x.ptr()) || (count && nb::len(x) != count)) throw nb::type_error(what);
    return nb::borrow<nb::tuple>(x);
}

// Two arrays of equal length, as pairs.
std::vector<Pair> pairs(nb::handle x) {
    constexpr const char *what = "a table is a pair of contiguous 1-D int64 arrays of one length";
    const nb::tuple both = parts(x, 2, what);
    Numbers first, second;
    if (!nb::try_cast(both[0], first, false) || !nb::try_cast(both[1], second, false)) throw nb::type_error(what);
    if (first.size() != second.size()) throw nb::value_error(what);
    std::vector<Pair> found;
    found.reserve(first.size());
    for (std::size_t i = 0; i < first.size(); ++i) found.push_back({first.data()[i], second.data()[i]});
    return found;
}

Side side(nb::handle swizzle, nb::handle block) {
    Side made;
    if (!swizzle.is_none()) {
        const nb::tuple numbers = parts(swizzle, 3, "a swizzle is (bits, base, shift)");
        const auto number = [&](std::size_t k) { return int(std::clamp<Int>(integer(numbers[k]), -64, 64)); };
        made.swizzle = {number(0), number(1), number(2)};
    }
    if (!block.is_none()) {
        made.block = integer(block);
        if (made.block < 1) throw nb::value_error("a block has at least one element");
    }
    return made;
}

void create(GeneralProgram *self, int bits, nb::handle source, nb::handle target, nb::handle dims,
            nb::handle source_swizzle, nb::handle target_swizzle, nb::handle source_block, nb::handle target_block) {
    std::vector<Dim> made;
    std::vector<std::vector<Pair>> tables;
    for (nb::handle dim : parts(dims, 0, "dims is a tuple of dimensions")) {
        made.emplace_back();
        for (nb::handle item : parts(dim, 0, "a dimension is a tuple of boxes")) {
            const nb::tuple box = parts(item, 4, "a box is (source, target, loops, table)");
            made.back().push_back({{integer(box[0]), integer(box[1])}, {}});
            std::vector<Loop> &loops = made.back().back().loops;
            for (nb::handle one : parts(box[2], 0, "the loops of a box are a tuple")) {
                const nb::tuple loop = parts(one, 3, "a loop is (steps, source, target)");
                loops.push_back({integer(loop[0]), {integer(loop[1]), integer(loop[2])}});
            }
            if (!box[3].is_none()) {
                tables.push_back(pairs(box[3]));
                loops.push_back({Int(tables.back().size()), {0, 0}, tables.back().data()});
            }
        }
    }
    new (self) GeneralProgram(bits, {integer(source), integer(target)}, std::move(made), std::move(tables),
                              {side(source_swizzle, source_block), side(target_swizzle, target_block)});
}

using Buffers = std::deque<BufferView>;

Buffers buffers_of(nb::handle objects, bool writable) {
    Buffers buffers;
    for (nb::handle object : objects) {
        buffers.emplace_back(object.ptr(), writable, PyBUF_SIMPLE);
        if (buffers.back().held()) continue;
        if (PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
        PyErr_Clear();
        throw nb::buffer_error(writable ? "the target is not contiguous, or cannot be written"
                                        : "the source is not contiguous");
    }
    return buffers;
}

std::uintptr_t address(const BufferView &view) { return reinterpret_cast<std::uintptr_t>(view.data()); }

// Bytes of one side that may be used.
struct Extent {
    std::uintptr_t begin, end;
    int side;
};

bool inside(const GeneralProgram &general, int s, Int room) {
    if (general.high(s) <= room) return true;
    nb::gil_scoped_release release;
    return general.end(s) <= room;
}

// Where the elements of a side are; every offset is proven to be inside, and what is used is added to `extents`.
Memory locate(const GeneralProgram &general, int s, const Buffers &buffers, nb::handle table,
              std::vector<Extent> &extents) {
    Memory made;
    const Int bits = general.bits(), block = general.side(s).block;
    if (!block) {
        if (!table.is_none()) throw nb::value_error("a table is given, and no size of blocks was");
        if (buffers.size() != 1) throw nb::value_error("elements without a table are in one buffer");
        const Int room = buffers[0].size() * 8 / bits;
        if (!inside(general, s, room)) throw nb::index_error("an element is outside its buffer");
        made.address = address(buffers[0]);
        const Int high = std::min(general.high(s), room);
        extents.push_back({made.address + std::uintptr_t(general.low(s) * bits / 8),
                           made.address + std::uintptr_t((high * bits + 7) / 8), s});
        return made;
    }
    if (table.is_none()) throw nb::value_error("blocks are given, and no table of them");
    const std::vector<Pair> entries = pairs(table);
    if (Int(entries.size()) < limit / block && !inside(general, s, Int(entries.size()) * block))
        throw nb::index_error("an element is in no block of the table");
    made.blocks.reserve(entries.size());
    for (const auto &[buffer, start] : entries) {
        if (buffer < 0 || std::size_t(buffer) >= buffers.size()) throw nb::index_error("a block is in no buffer");
        const BufferView &held = buffers[std::size_t(buffer)];
        const Int room = held.size() * 8 / bits;
        if (start < 0 || block > room || start > room - block) throw nb::index_error("a block is outside its buffer");
        made.blocks.push_back({address(held) + std::uintptr_t(start * bits / 8), int(start * bits % 8)});
        extents.push_back(
            {made.blocks.back().address, address(held) + std::uintptr_t(((start + block) * bits + 7) / 8), s});
    }
    return made;
}

bool apart(std::vector<Extent> extents) {
    std::sort(extents.begin(), extents.end(), [](const Extent &a, const Extent &b) { return a.begin < b.begin; });
    std::uintptr_t ends[2] = {0, 0};
    for (const Extent &extent : extents) {
        if (extent.begin < ends[1 - extent.side]) return false;
        ends[extent.side] = std::max(ends[extent.side], extent.end);
    }
    return true;
}

bool call(const GeneralProgram &general, nb::handle x, nb::handle out, nb::handle x_table, nb::handle out_table,
          int threads) {
    if (threads < 1) throw nb::value_error("at least one thread copies");
    const Buffers source = buffers_of(x, false), target = buffers_of(out, true);
    if (!general.count()) return true;
    std::vector<Extent> extents;
    const std::array<Memory, 2> memories{locate(general, 0, source, x_table, extents),
                                         locate(general, 1, target, out_table, extents)};
    if (!apart(std::move(extents))) return false;
    if (general.count() / 8 * general.bits() < release_gil_from) {
        general.run(memories, 1);
    } else {
        run_in_parts(general.tiles(), general.count() / 8 * general.bits(),
                     [&](Int begin, Int end) { general.run(memories, threads, begin, end); });
    }
    return true;
}

}  // namespace

void bind_general(nb::module_ &m) {
    nb::class_<GeneralProgram>(m, "GeneralProgram",
                               "A copy between two sets of offsets: all combinations of one box of each dimension.")
        .def("__init__", &create, nb::arg("bits"), nb::arg("source"), nb::arg("target"), nb::arg("dims"),
             nb::arg("source_swizzle").none(), nb::arg("target_swizzle").none(), nb::arg("source_block").none(),
             nb::arg("target_block").none())
        .def_prop_ro("count_by_networks", &GeneralProgram::count_by_networks,
                     "How many of the elements change places in vectors; the others are copied run by run.")
        .def("__call__", &call, nb::arg("x"), nb::arg("out"), nb::arg("x_table").none(), nb::arg("out_table").none(),
             nb::arg("threads"), "Copy; False, and nothing is written, where source and target share memory.");
}
