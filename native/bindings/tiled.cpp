#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tiled/program.h"
#include "kernels/kernels.h"
#include "bindings/module.h"
#include "common/thread_pool.h"

#include <structmember.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace {

using relayout::Byte;
using relayout::Int;

constexpr Int release_from = 64 << 10;  // shorter copies are done before another thread gets the GIL

// What a call comes to; Python turns everything but `done` into an error or another way.
enum Outcome { done, unsuitable, read_only, too_short, overlapping };

class View {
public:
    View(PyObject *object, bool writable) {
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
        held = PyObject_GetBuffer(object, &buffer, flags) == 0;
        if (!held) PyErr_Clear();
    }
    ~View() {
        if (held) PyBuffer_Release(&buffer);
    }
    View(const View &) = delete;
    View &operator=(const View &) = delete;

    bool held;
    Py_buffer buffer;

    Byte *data() const { return static_cast<Byte *>(buffer.buf); }
    Int size() const { return buffer.len; }
};

class Copier {
public:
    Copier(int width, Int source, Int target, nb::sequence dims, nb::object fill, const std::string &formats,
           Int nontemporal_from, nb::object convert, const std::string &target_formats, int threads)
        : threads(threads),
          formats(formats),
          target_formats(convert.is_none() ? formats : target_formats),
          program(width, scaled(source, width), scaled(target, width), parse(dims, width), pattern(fill, width),
                  nontemporal_from, converter(convert)) {}

    bool into(PyObject *x, PyObject *out) const { return call(x, out, threads) == done; }

    int call(nb::handle x, nb::handle out, int threads) const {
        const View from(x.ptr(), false);
        const View to(out.ptr(), true);
        if (!from.held || !to.held || !fits(from, formats) || !fits(to, target_formats)) return unsuitable;
        const relayout::Reach s = program.source_reach(), t = program.target_reach();
        if (from.size() < s.high || to.size() < t.high) return too_short;
        if (s.low == s.high || t.low == t.high) return done;
        const Byte *a = from.data(), *b = to.data();
        if (a + s.low < b + t.high && b + t.low < a + s.high) return overlapping;
        if (program.bytes() < release_from) {
            program.run(a, to.data(), 1);
        } else {
            // The environment may only be read while no other thread of Python changes it.
            const int workers = threads > 0 ? threads : relayout::default_threads();
            nb::gil_scoped_release release;
            program.run(a, to.data(), workers);
        }
        return done;
    }

    nb::list passes(bool aligned) const {
        static const char *names[] = {"runs", "padded runs", "transpose", "interleave", "deinterleave", "scatter", "fill"};
        nb::list all;
        for (const relayout::Step &step : program.steps(aligned)) {
            const relayout::Op &op = step.ops[0];
            nb::dict d;
            d["kernel"] = names[int(op.kind)];
            d["width"] = 1 << op.width;
            d["calls"] = step.ops.size();
            d["count"] = op.count;
            d["height"] = op.height;
            d["length"] = op.length;
            d["iterations"] = step.iterations;
            d["tile_bytes"] = step.tile_bytes;
            d["segments"] = step.segments.size();
            d["padded"] = step.padded;
            d["nontemporal"] = step.streams || step.long_runs;
            d["shifted"] = step.shifted;
            nb::list outer;
            for (const relayout::Outer &o : step.outer)
                outer.append(nb::make_tuple(o.count, o.tile, o.extent, o.source, o.target));
            d["outer"] = outer;
            all.append(d);
        }
        return all;
    }

private:
    int threads;
    std::string formats, target_formats;
    relayout::Program program;

    // Flat, and of one of the formats that the elements have.
    static bool fits(const View &view, const std::string &formats) {
        if (view.buffer.ndim != 1) return false;
        const char *format = view.buffer.format ? view.buffer.format : "B";
        const std::size_t length = std::strlen(format);
        for (std::size_t at = formats.find(format); at != std::string::npos; at = formats.find(format, at + 1))
            if (at && formats[at - 1] == ' ' && formats[at + length] == ' ') return true;
        return false;
    }

    static std::unique_ptr<relayout::Converter> converter(nb::object description) {
        if (description.is_none()) return nullptr;
        std::unique_ptr<relayout::Converter> found = relayout::make_converter(description);
        if (!found) throw nb::value_error("there is no such conversion");
        return found;
    }

    static std::vector<relayout::Dim> parse(nb::sequence dims, Int width) {
        std::vector<relayout::Dim> out;
        for (nb::handle dim : dims) {
            out.emplace_back();
            for (nb::handle item : nb::borrow<nb::sequence>(dim)) {
                const nb::tuple box = entries(item, 4);
                const bool valid = nb::cast<bool>(box[0]);
                relayout::Box parsed{valid, valid ? scaled(box[1], width) : 0, scaled(box[2], width), {}};
                for (nb::handle loop : nb::borrow<nb::sequence>(box[3])) {
                    const nb::tuple l = entries(loop, 3);
                    parsed.loops.push_back(
                        {nb::cast<Int>(l[0]), valid ? scaled(l[1], width) : 0, scaled(l[2], width)});
                }
                out.back().push_back(std::move(parsed));
            }
        }
        return out;
    }

    static nb::tuple entries(nb::handle x, std::size_t count) {
        const nb::tuple found = nb::cast<nb::tuple>(x);
        if (found.size() != count) throw nb::value_error("a box has four entries, and a loop three");
        return found;
    }

    static Int scaled(nb::handle x, Int width) { return scaled(nb::cast<Int>(x), width); }

    static Int scaled(Int x, Int width) {
        Int bytes;
        if (__builtin_mul_overflow(x, width, &bytes)) throw nb::value_error("an offset is too large");
        return bytes;
    }

    static const Byte *pattern(nb::object fill, int width) {
        static thread_local Byte repeated[16];
        if (width < 1 || width > 16 || 16 % width) throw nb::value_error("elements have 1, 2, 4, 8 or 16 bytes");
        if (fill.is_none()) return nullptr;
        const nb::bytes one = nb::cast<nb::bytes>(fill);
        if (Int(one.size()) != width) throw nb::value_error("the fill is one element");
        for (int k = 0; k < 16; ++k) repeated[k] = Byte(one.c_str()[k % width]);
        return repeated;
    }
};

// The base of plans. A call runs the program, if there is one for its arguments, and else `_run` of the plan. It is no
// class of nanobind, since for small copies most of the time is the call.
struct NativeCallable {
    PyObject_HEAD
    PyObject *program;
};

PyTypeObject *program_type = nullptr;

// numpy.ndarray, or null as long as nobody has imported numpy.
PyObject *array_type() {
    static PyObject *found = nullptr;
    if (found) return found;
    PyObject *numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
    if (numpy) found = PyObject_GetAttrString(numpy, "ndarray");
    PyErr_Clear();
    return found;
}

// Whether an object is its memory and no more. Arrays of classes that add to it, such as a mask, are left to Python.
bool is_plain(PyObject *x) {
    return reinterpret_cast<PyObject *>(Py_TYPE(x)) == array_type() || PyMemoryView_Check(x) || PyByteArray_Check(x) ||
           PyBytes_Check(x);
}

// Python makes and names the error, if there is one.
bool runs(PyObject *program, PyObject *x, PyObject *out) noexcept {
    try {
        return is_plain(x) && is_plain(out) && nb::inst_ptr<Copier>(program)->into(x, out);
    } catch (const std::exception &) {
        return false;
    }
}

PyObject *native_callable_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *program = reinterpret_cast<NativeCallable *>(self)->program;
    if (program && Py_TYPE(program) == program_type) {
        PyObject *x = nullptr, *out = nullptr;
        const Py_ssize_t given = PyTuple_Size(args), named = kwargs ? PyDict_Size(kwargs) : 0;
        if (given == 2 && named == 0) {
            out = PyTuple_GetItem(args, 1);
        } else if (given == 1 && named == 1) {
            static PyObject *word = PyUnicode_InternFromString("out");
            out = PyDict_GetItemWithError(kwargs, word);
            if (!out && PyErr_Occurred()) return nullptr;
        }
        if (out && out != Py_None) {
            x = PyTuple_GetItem(args, 0);
            if (runs(program, x, out)) {
                Py_INCREF(out);
                return out;
            }
        }
    }
    PyObject *run = PyObject_GetAttrString(self, "_run");
    if (!run) return nullptr;
    PyObject *result = PyObject_Call(run, args, kwargs);
    Py_DECREF(run);
    return result;
}

void native_callable_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_CLEAR(reinterpret_cast<NativeCallable *>(self)->program);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyObject *native_callable_type() {
    static PyMemberDef members[] = {{"_compiled", T_OBJECT, offsetof(NativeCallable, program), 0, nullptr},
                                    {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void *>(native_callable_call)},
                                  {Py_tp_dealloc, reinterpret_cast<void *>(native_callable_dealloc)},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec = {"relayout._native.NativeCallable", sizeof(NativeCallable), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    PyObject *type = PyType_FromSpec(&spec);
    if (!type) throw nb::python_error();
    return type;
}

using Flat = nb::ndarray<Byte, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstFlat = nb::ndarray<const Byte, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void copy_nontemporal(Flat out, ConstFlat x, int threads) {
    if (out.size() != x.size()) throw nb::value_error("the sizes differ");
    nb::gil_scoped_release release;
    const relayout::Kernels &k = relayout::kernels();
    constexpr Int chunk = 1 << 20;
    const Int size = Int(x.size());
    relayout::parallel(threads, (size + chunk - 1) / chunk, [&](Int begin, Int end) {
        const Int last = std::min(end * chunk, size);
        for (Int at = begin * chunk; at < last; at += 4096) k.flush(x.data() + at, out.data() + at, std::min<Int>(4096, last - at));
        k.fence();
    });
}

// Zeroed memory at a multiple of 2 MiB, on huge pages where the system has some.
nb::object allocate(std::size_t size) {
#if defined(__linux__)
    constexpr std::size_t huge = std::size_t(2) << 20;
    const std::size_t room = (size + huge - 1) / huge * huge + huge;
    void *start = room < size ? MAP_FAILED
                              : mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(start) + huge - 1) / huge * huge;
    madvise(reinterpret_cast<void *>(first), room - huge, MADV_HUGEPAGE);
    struct Mapping {
        void *start;
        std::size_t room;
    };
    nb::capsule owner(new Mapping{start, room}, [](void *p) noexcept {
        Mapping *mapping = static_cast<Mapping *>(p);
        munmap(mapping->start, mapping->room);
        delete mapping;
    });
    const std::size_t shape[1] = {size};
    return nb::cast(nb::ndarray<nb::numpy, Byte, nb::ndim<1>>(reinterpret_cast<Byte *>(first), 1, shape, owner));
#else
    (void)size;
    return nb::none();
#endif
}

}  // namespace

void bind_repack(nb::module_ &m) {
    nb::class_<Copier>(m, "TiledProgram", "A copy between two layouts, compiled.")
        .def(nb::init<int, Int, Int, nb::sequence, nb::object, const std::string &, Int, nb::object,
                      const std::string &, int>(), nb::arg("width"),
             nb::arg("source"), nb::arg("target"), nb::arg("dims"), nb::arg("fill").none(), nb::arg("formats"),
             nb::arg("nontemporal_from") = Int(24) << 20, nb::arg("convert") = nb::none(),
             nb::arg("target_formats") = "", nb::arg("threads") = 0)
        .def("__call__", &Copier::call)
        .def("passes", &Copier::passes);
    program_type = reinterpret_cast<PyTypeObject *>(m.attr("TiledProgram").ptr());
    m.attr("NativeCallable") = nb::steal(native_callable_type());
    m.def("copy_nontemporal", &copy_nontemporal, nb::arg("out").noconvert(), nb::arg("x").noconvert(), nb::arg("threads"),
          "Copy flat bytes by non-temporal stores.");
    m.def("allocate", &allocate, "Zeroed bytes on huge pages; None where the system has none.");
    m.def("default_threads", &relayout::default_threads);
}
