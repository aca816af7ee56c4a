#include "bindings/tiled.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <utility>
#include <vector>

#include "bindings/buffer.h"
#include "bindings/convert.h"
#include "bindings/interrupts.h"
#include "common/thread_pool.h"

namespace {

using relayout::Box;
using relayout::Byte;
using relayout::Conversion;
using relayout::Dim;
using relayout::Int;
using relayout::tiled::ByteRange;
using relayout::tiled::KernelCall;
using relayout::tiled::Pass;
using relayout::tiled::TiledCopy;
using relayout::tiled::TileLoop;
using relayout::tiled::Tuning;

constexpr int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT;

// Flat, and of one of the formats that the elements have.
bool fits(const BufferView &view, const std::string &formats) {
    if (view.ndim() != 1) return false;
    const char *format = view.format();
    const std::size_t length = std::strlen(format);
    for (std::size_t at = formats.find(format); at != std::string::npos; at = formats.find(format, at + 1))
        if (at && formats[at - 1] == ' ' && formats[at + length] == ' ') return true;
    return false;
}

std::optional<Conversion> parse_optional_conversion(nb::object description) {
    if (description.is_none()) return std::nullopt;
    std::optional<Conversion> conversion = parse_conversion(description, relayout::isa());
    if (!conversion || conversion->per_channel()) throw nb::value_error("there is no such conversion");
    return conversion;
}

nb::tuple entries(nb::handle x, std::size_t count) {
    const nb::tuple tuple = nb::cast<nb::tuple>(x);
    if (tuple.size() != count) throw nb::value_error("a box has four entries, and a loop three");
    return tuple;
}

Int in_bytes(Int x, Int width) {
    Int bytes;
    if (__builtin_mul_overflow(x, width, &bytes)) throw nb::value_error("an offset is too large");
    return bytes;
}

Int in_bytes(nb::handle x, Int width) { return in_bytes(nb::cast<Int>(x), width); }

std::vector<Dim> parse_dims(nb::sequence dims, Int width) {
    std::vector<Dim> out;
    for (nb::handle dim : dims) {
        out.emplace_back();
        for (nb::handle item : nb::borrow<nb::sequence>(dim)) {
            const nb::tuple box = entries(item, 4);
            const bool valid = nb::cast<bool>(box[0]);
            Box parsed{{valid ? in_bytes(box[1], width) : 0, in_bytes(box[2], width)}, {}, valid};
            for (nb::handle loop : nb::borrow<nb::sequence>(box[3])) {
                const nb::tuple l = entries(loop, 3);
                parsed.loops.push_back(
                    {nb::cast<Int>(l[0]), {valid ? in_bytes(l[1], width) : 0, in_bytes(l[2], width)}});
            }
            out.back().push_back(std::move(parsed));
        }
    }
    return out;
}

// 16 bytes of the fill, repeated, or null.
const Byte *pattern(nb::object fill, int width) {
    static thread_local Byte repeated[16];
    if (width < 1 || width > 16 || 16 % width) throw nb::value_error("elements have 1, 2, 4, 8 or 16 bytes");
    if (fill.is_none()) return nullptr;
    const nb::bytes one = nb::cast<nb::bytes>(fill);
    if (Int(one.size()) != width) throw nb::value_error("the fill is one element");
    for (int k = 0; k < 16; ++k) repeated[k] = Byte(one.c_str()[k % width]);
    return repeated;
}

Tuning tuned(Int nontemporal_from) {
    Tuning tuning;
    tuning.nontemporal_from = nontemporal_from;
    return tuning;
}

}  // namespace

TiledProgramObject::TiledProgramObject(int width, Int source, Int target, nb::sequence dims, nb::object fill,
                                       const std::string &formats, Int nontemporal_from, nb::object convert,
                                       const std::string &target_formats, int threads)
    : threads_(threads), formats_(formats), target_formats_(convert.is_none() ? formats : target_formats),
      program_(width, {in_bytes(source, width), in_bytes(target, width)}, parse_dims(dims, width), pattern(fill, width),
               parse_optional_conversion(convert), tuned(nontemporal_from)) {}

int TiledProgramObject::call(nb::handle x, nb::handle out, int threads) const {
    const BufferView from(x.ptr(), false, flags);
    if (!from.held()) PyErr_Clear();
    const BufferView to(out.ptr(), true, flags);
    if (!to.held()) PyErr_Clear();
    if (!from.held() || !to.held() || !fits(from, formats_) || !fits(to, target_formats_)) return unsuitable;
    return copy(from.data(), from.size(), to.data(), to.size(), threads);
}

bool TiledProgramObject::call_untyped(nb::handle x, nb::handle room, Int start) const {
    const BufferView from(x.ptr(), false, PyBUF_C_CONTIGUOUS), to(room.ptr(), true, PyBUF_SIMPLE);
    if (!from.held() || !to.held() || start < 0 || start > to.size()) {
        PyErr_Clear();
        return false;
    }
    return copy(from.data(), from.size(), to.data() + start, to.size() - start, threads_) == done;
}

int TiledProgramObject::copy(const Byte *a, Int a_size, Byte *b, Int b_size, int threads) const {
    const ByteRange s = program_.source_range(), t = program_.target_range();
    if (a_size < s.high || b_size < t.high) return too_short;
    if (s.low == s.high || t.low == t.high) return done;
    if (a + s.low < b + t.high && b + t.low < a + s.high) return overlapping;
    bool complete = true;
    if (program_.bytes() < release_gil_from) {
        complete = program_.run(a, b, 1);
    } else {
        // The environment may only be read while no other thread of Python changes it.
        const int workers = threads > 0 ? threads : relayout::default_threads();
        const TiledCopy made(program_, a, b, workers);
        run_in_parts(program_.chunks(), program_.bytes(),
                     [&](Int begin, Int end) { complete &= made.run(begin, end); });
        made.finish();
    }
    return complete ? done : refused;
}

nb::list TiledProgramObject::passes(bool aligned) const {
    static const char *names[] = {"runs",         "padded runs", "transpose", "widened transpose", "interleave",
                                  "deinterleave", "scatter",     "gather",    "permute",           "fill"};
    nb::list all;
    for (const Pass &pass : program_.passes(aligned, program_.kept_variation(aligned))) {
        const KernelCall &call = (pass.inner ? *pass.inner : pass).calls[0];
        nb::dict d;
        d["kernel"] = names[int(call.kind)];
        d["width"] = 1 << call.width;
        d["calls"] = pass.calls.size();
        d["count"] = call.count;
        d["height"] = call.height;
        d["length"] = call.length;
        d["iterations"] = pass.tiles;
        d["tile_bytes"] = pass.tile_bytes;
        d["segments"] = pass.segments.size();
        d["padded"] = pass.padded;
        d["nontemporal"] = program_.is_nontemporal(pass);
        d["shifted"] = pass.shifted;
        d["speed"] = (pass.inner ? *pass.inner : pass).speed;
        d["slabs"] = pass.inner && !pass.outer;
        nb::list loops;
        for (const TileLoop &loop : pass.loops)
            loops.append(nb::make_tuple(loop.count, loop.tile, loop.extent, loop.step.source, loop.step.target));
        d["outer"] = loops;
        all.append(d);
    }
    return all;
}

void bind_tiled(nb::module_ &m) {
    nb::class_<TiledProgramObject>(m, "TiledProgram", "A copy between two layouts, compiled.")
        .def(nb::init<int, Int, Int, nb::sequence, nb::object, const std::string &, Int, nb::object,
                      const std::string &, int>(),
             nb::arg("width"), nb::arg("source"), nb::arg("target"), nb::arg("dims"), nb::arg("fill").none(),
             nb::arg("formats"), nb::arg("nontemporal_from") = Tuning{}.nontemporal_from,
             nb::arg("convert") = nb::none(), nb::arg("target_formats") = "", nb::arg("threads") = 0)
        .def("__call__", &TiledProgramObject::call)
        .def("call_untyped", &TiledProgramObject::call_untyped)
        .def("passes", &TiledProgramObject::passes);
}
